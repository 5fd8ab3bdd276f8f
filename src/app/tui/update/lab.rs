//! From a finding to the wording lab: what is compared on it, and which words there are.

use super::recover::words;
use crate::tui::effect::Effect;
use crate::tui::keymap::Command;
use crate::tui::lab::subject::LabSubject;
use crate::tui::stack::Screen as _;
use crate::tui::state::State;
use crate::tui::state::document::Place;
use crate::tui::state::recovery::{Attempt, Awaited};
use retake_core::actions;
use retake_core::lab::{Origin, PLAIN, RECORDED, WordingVariant, is_reserved};
use retake_core::rules::{Finding, Severity, nearest_of};
use retake_core::session::{Family, Kind as ItemKind, Session};
use retake_core::wording::{Channel, FailureKind};
use retake_live::lab::{recorded_text, variant_of};

/// Opens the lab for the finding at the cursor, or says why not.
pub(super) fn begin(state: &mut State) {
    if !state.is_known() {
        return state.wait(Awaited::Lab, "the wording lab");
    }
    match subject(state) {
        Ok(subject) => state.effects.push(Effect::Lab(Box::new(subject))),
        Err(why) => {
            state.notice = Some(why.to_owned());
        }
    }
}

/// Opens it for the finding of this number among those at the cursor.
pub(super) fn begin_on(state: &mut State, finding: usize) {
    state.leave_layers();
    let finding = state.offering_here().nth(finding).cloned();
    match finding.and_then(|finding| subject_of(state, &finding)) {
        Some(subject) => state.effects.push(Effect::Lab(Box::new(subject))),
        None => begin(state),
    }
}

/// Opens the editor of the error for a finding of the lab, with the words that were chosen there.
pub(crate) fn inject(state: &mut State, place: Place, rule: &str, template: String) {
    let document = state.document.clone();
    let Some(action) = actions::find("inject-error") else {
        return;
    };
    let findings = state.findings_of(place.session);
    let is_meant =
        |it: &&Finding| it.rule.id == rule && it.item.map(|item| item as usize) == Some(place.item);
    let finding = findings.iter().find(is_meant).cloned();
    let attempt = document
        .filter(|_| place.session == state.session)
        .map(|document| Attempt::new(document, action, place, finding));
    let Some(key) = attempt.and_then(|attempt| attempt.draft_key("")) else {
        return;
    };
    state.recovery.drafts.keep(key, template);
    state.go_to(place.item);
    super::obey(state, Command::Recover("inject-error"));
}

/// Whether there is anything to tell the model about a finding.
pub(super) fn has_words(finding: &Finding) -> bool {
    let is_told = FailureKind::of_rule(finding.rule.id).is_some();
    is_told && finding.item.is_some() && finding.severity >= Severity::Warning
}

fn subject(state: &State) -> Result<LabSubject, &'static str> {
    if state.findings_here().is_empty() && state.offering_here().next().is_some() {
        return Err("the call still waits for its output: nothing to compare yet");
    }
    let finding = finding_for(state).ok_or(
        "the wording lab needs a finding with an error for the model: ] goes to the next one",
    )?;
    subject_of(state, finding).ok_or("the wording lab: this finding has no error for the model")
}

/// The finding at the cursor or at its partner, of several the most telling, as in a spec; else one in the
/// turn with the cursor.
fn finding_for(state: &State) -> Option<&Finding> {
    let (session, checked) = (state.session()?, state.checked()?);
    let is_told = |finding: &&Finding| has_words(finding);
    let partner = session.pairing.partner(state.item);
    let of_partner = partner.map_or(&[][..], |partner| checked.of_item(partner));
    let of_pair = state.findings_here().iter().chain(of_partner);
    let most_telling =
        { of_pair.filter(is_told) }.min_by_key(|finding| FailureKind::of_rule(finding.rule.id));
    let of_turn = || {
        let turn = session.turns.get(state.turn()).filter(|_| state.on_turn)?;
        let range = checked.range(turn.items());
        checked.findings()[range].iter().find(is_told)
    };
    most_telling.or_else(of_turn)
}

fn subject_of(state: &State, finding: &Finding) -> Option<LabSubject> {
    let document = state.document.clone()?;
    let session = document.session(state.session)?;
    let kind = FailureKind::of_rule(finding.rule.id).filter(|_| has_words(finding))?;
    let item = finding.item? as usize;
    let memory = &state.recovery.lab;
    Some(LabSubject {
        place: Place {
            session: state.session,
            item,
        },
        file: None,
        has_tools_from_outside: false,
        name: state.name.clone(),
        rule: finding.rule.id,
        message: finding.message(),
        kind,
        tool: finding.tool(session).unwrap_or_default().to_owned(),
        is_custom: is_custom(session, item),
        dialect: session.dialect,
        candidates: candidates(state, session, item, kind),
        nearest: nearest_of(session, state.checked()?.findings(), finding).map(str::to_owned),
        agent: state
            .live
            .agent
            .as_ref()
            .map(|agent| agent.path.clone())
            .filter(|path| !path.is_empty())
            .or_else(|| memory.models().filter(|_| memory.is_of_now()))
            .or_else(|| state.live.proposed_agent.clone())
            .or_else(|| memory.models()),
        previewer: words::previewer(state, finding, &document),
        memory: state.recovery.lab.clone(),
        is_main: state.recovery.takes.current == 0 && !state.live.is_on(),
        document,
    })
}

/// Whether the tool of a call, or of the call that an output answers, takes free-form input.
fn is_custom(session: &Session, item: usize) -> bool {
    let partner = session.pairing.partner(item);
    let items = [Some(item), partner].into_iter().flatten();
    let mut items = items.filter_map(|item| session.items.get(item));
    items.any(|item| item.kind == ItemKind::Call && item.family == Family::Custom)
}

/// What the others are compared with first, then the operator's own and those of the library.
fn candidates(
    state: &State,
    session: &Session,
    item: usize,
    kind: FailureKind,
) -> Vec<WordingVariant> {
    let baseline = match kind.is_of_call() {
        true => recorded_text(session, item)
            .map(|text| WordingVariant::new(RECORDED.name, RECORDED.title, Origin::Recorded, text)),
        false => Some(WordingVariant {
            channel: Channel::UserMessage,
            ..WordingVariant::new(PLAIN.name, PLAIN.title, Origin::Library, String::new())
        }),
    };
    let known = state.recovery.wordings.of(kind).into_iter();
    let known = known.filter(|choice| !is_reserved(choice.name));
    let known = known.map(|choice| variant_of(kind, &choice));
    baseline.into_iter().chain(known).collect()
}
