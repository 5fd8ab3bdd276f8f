//! From a key on a finding to a proposal: what the action needs is prompted for, what it would change is shown,
//! nothing is done yet.

mod follow;
pub(super) mod words;

use super::{exchange, fix_all, lab, layers, live, takes};
use crate::tui::effect::{Effect, TakeOrder};
use crate::tui::layer::Layer;
use crate::tui::recovery::changes::{changes_of, open_arguments};
use crate::tui::recovery::forms::{
    ArgumentReading, Confirmation, Readings, ValueChoice, ValuesMenu, WordsForm, WrittenWords,
};
use crate::tui::recovery::offers::{Chosen, OfferGroup, OfferRow, OffersMenu};
use crate::tui::recovery::proposal::{Proposal, ProposalVerdict, Proposed};
use crate::tui::recovery::wording::{Worded, WordingEditor};
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::state::State;
use crate::tui::state::document::Document;
use crate::tui::state::recovery::{Attempt, Awaited, DraftKey};
use follow::{end_before_reply, what_follows};
use retake_core::actions::{self, ActionError, ActionInput, Offer, Plan, Safety};
use retake_core::engine::{Reason, TURN_LIMIT};
use retake_core::repair::{Repair, repair};
use retake_core::rules::{self, Finding, OrphanCause, Run, argument_faults, beside};
use retake_core::session::takes::{Author, Take, TakeCause, TakeOutcome};
use retake_core::session::{Edit, Session};
use retake_core::wording;
use serde::de::IgnoredAny;
use std::sync::Arc;
use words::{
    EditedItem, fallback_purpose, flattened, kind_of, named, output_purpose, wording_editor,
    words_form,
};

/// What the form for the words of a retry is for.
const FEEDBACK: &str = "feedback to the model before the retry; may be empty";

/// What the form for the JSON of an item is for.
const AS_JSON: &str = "the item as JSON; its kind and its call id stay";

/// Why nothing need be done about a call that waits.
fn hope(finding: &Finding) -> Option<&'static str> {
    match (finding.rule.id, finding.cause) {
        ("pending-call", Some(OrphanCause::Approval)) => Some(
            "the program that requested the decision takes it, and the run continues from there",
        ),
        ("pending-call", Some(OrphanCause::BrokenOff)) => None,
        ("pending-call", _) => {
            Some("the call may still be answered by the run that made this recording")
        }
        _ => None,
    }
}

fn with_hope(finding: &Finding) -> String {
    match hope(finding) {
        Some(hope) => format!("{}; {hope}", finding.message()),
        None => finding.message(),
    }
}

/// Opens the menu of everything that can be done about the findings at the cursor.
pub(super) fn offers(state: &mut State) {
    let (Some(document), Some(checked)) = (state.document.clone(), state.checked()) else {
        return;
    };
    let Some(session) = document.session(state.session) else {
        return;
    };
    let findings = checked.findings();
    let run = Run::new(session, state.recovery.target);
    let has_output = |finding: &Finding| {
        let item = finding.item.map_or(state.item, |item| item as usize);
        session.pairing.partner(item).is_some()
    };
    let here = state.findings_here().iter().map(|finding| (finding, false));
    let waiting = checked.waiting(state.item).map(|finding| (finding, true));
    let groups = here.chain(waiting).map(|(finding, is_waiting)| {
        let beside = beside(session, findings, finding);
        let scene = run.scene(finding.defect(), &beside);
        let tried = scene.map_or_else(Vec::new, |scene| {
            actions::offers_of(&scene, &finding.offers, &ActionInput::default())
        });
        let mut offers = Vec::new();
        // What may have run is settled by the keys of the run, too.
        let is_offered = |action| tried.iter().any(|tried| tried.action.id == action);
        if is_offered("supply-output")
            && let Some(Reason::MayHaveRun { .. }) = state.live.reason_at(state.item)
        {
            let rows = [
                ("retry", "run the call again: it may have run before"),
                ("inject-error", "give the call an error as its output"),
            ];
            let rows = rows.into_iter().filter(|row| !is_offered(row.0));
            offers.extend(rows.map(|(action, what)| OfferRow {
                what,
                offer: Offer {
                    action,
                    safety: Safety::Unsafe,
                },
                refusal: None,
            }));
        }
        offers.extend(tried.into_iter().map(|tried| {
            OfferRow {
                what: match tried.action.id {
                    "supply-output" if has_output(finding) => "replace the output",
                    _ => tried.action.what,
                },
                offer: Offer {
                    action: tried.action.id,
                    safety: tried.safety,
                },
                refusal: tried
                    .outcome
                    .err()
                    .filter(|refusal| !refusal.is_question())
                    .map(|refusal| refusal.to_string()),
            }
        }));
        OfferGroup {
            rule: finding.rule,
            severity: finding.severity,
            message: match is_waiting {
                true => "the call waits for its output".to_owned(),
                false => with_hope(finding),
            },
            offers,
            has_words: !is_waiting && lab::has_words(finding),
        }
    });
    let groups: Vec<OfferGroup> = groups.collect();
    let may_begin = |group: &OfferGroup| group.has_words || !group.offers.is_empty();
    if !groups.iter().any(may_begin) {
        if let Some(hope) = state.findings_here().iter().find_map(|it| hope(it)) {
            return state.say(format!("nothing to fix: {hope}"));
        }
        let names_other = state.findings_here().iter().any(|it| it.related.is_some());
        return state.say(match names_other {
            true => "no fix is offered for this finding; % goes to the item that it names, 4 lists findings",
            false => "no fix is offered for this finding; 4 lists findings",
        });
    }
    let menu = OffersMenu::new(groups).with_fix_all(state.offers_safe_fix());
    let choose = |state: &mut State, _: &mut OffersMenu, chosen: Chosen| match chosen {
        Chosen::Action(finding, action) => {
            state.leave_layers();
            let is_of_run = live::decide::recover(state, action);
            if !is_of_run {
                begin_on(state, finding, action);
            }
            Flow::Close
        }
        Chosen::Lab(finding) => {
            lab::begin_on(state, finding);
            Flow::Close
        }
        Chosen::Explain => {
            layers::explain(state);
            Flow::Stay
        }
        Chosen::FixAll => {
            fix_all::begin(state);
            Flow::Stay
        }
    };
    open_planned(state, OpeningLayer::new(menu, choose), document);
}

/// Begins an action on the finding of this index among those at the cursor.
pub(super) fn begin_on(state: &mut State, finding: usize, action: &'static str) {
    let finding = state.offering_here().nth(finding).cloned();
    state.leave_layers();
    begin_with(state, action, finding)
}

/// Begins an action on what is at the cursor: the finding that offers it, else the item itself. While the rules
/// have not seen the session, the action waits for them; the next key makes it forgotten.
pub(super) fn begin(state: &mut State, action: &'static str) {
    if state.recovery.is_busy {
        takes::may_ask(state);
        return;
    }
    if !state.is_known() {
        let title = actions::find(action).map_or(action, |action| action.title);
        return state.wait(Awaited::Action(action), title);
    }
    let action = match (action, state.finding_for("salvage-call")) {
        // A call that was written as text is edited by making the call of it.
        ("edit", Some(leak)) if leak.item.is_some_and(|item| item as usize == state.item) => {
            "salvage-call"
        }
        ("take-suggestion", _) if suggests_repair(state) => "repair-arguments",
        _ => action,
    };
    let finding = state.finding_for(action).cloned();
    begin_with(state, action, finding)
}

/// Begins the fallback of a run that has used up its turns: a final message after the last message. False
/// where the cursor is elsewhere.
pub(super) fn end_at_limit(state: &mut State) -> bool {
    let may_begin = !state.recovery.is_busy && state.is_known();
    let finding = at_limit(state).filter(|_| may_begin);
    let is_there = finding.is_some();
    if is_there {
        begin_with(state, "fallback", finding);
    }
    is_there
}

fn at_limit(state: &State) -> Option<Finding> {
    let session = state.session()?;
    let last = session.turns[session.last_spoken_turn()?].items();
    let end = last.clone().next_back()?;
    let limit = rules::find(TURN_LIMIT).filter(|_| last.contains(&state.item))?;
    Some(Finding::new(limit, end))
}

/// Whether what is suggested at the cursor is other arguments, and not another name: a repair that the tool
/// would not refuse, which would follow everything else that is offered.
fn suggests_repair(state: &State) -> bool {
    if state.finding_for("take-suggestion").is_some() {
        return false;
    }
    let repairs = |finding: &Finding| {
        let mut offers = finding.offers.iter().rev().skip(1);
        offers.any(|offer| offer.action == "repair-arguments")
    };
    state.finding_for("repair-arguments").is_some_and(repairs)
}

/// Begins what waited for the rules, if they have seen the session now.
pub(super) fn begin_awaited(state: &mut State) {
    let may_begin = state.is_known() && !state.recovery.is_busy && !state.has_overlay();
    let Some(awaited) = state.recovery.awaited.take_if(|_| may_begin) else {
        return;
    };
    state.notice = None;
    match awaited {
        Awaited::Action(action) => begin(state, action),
        Awaited::FixAll => fix_all::begin(state),
        Awaited::Lab => lab::begin(state),
    }
}

fn begin_with(state: &mut State, action: &'static str, finding: Option<Finding>) {
    let (Some(action), Some(document)) = (actions::find(action), state.document.clone()) else {
        return;
    };
    let offer = finding.as_ref().and_then(|finding| {
        let mut offers = finding.offers.iter();
        offers.find(|offer| offer.action == action.id)
    });
    let attempt = Attempt {
        safety: offer.map_or(Safety::Unsafe, |offer| offer.safety),
        never_ran: exchange::held_calls(state),
        ..Attempt::new(document, action, state.place(), finding)
    };
    ask(state, attempt)
}

/// Proposes the item with the cursor as it was edited outside.
pub fn edited(state: &mut State, text: &str) {
    if let Some(attempt) = edit_here(state) {
        state.recovery.attempt = Some(Attempt {
            words: Some(flattened(text)),
            ..attempt
        });
        propose(state, None);
    }
}

/// Opens the item with the cursor as JSON.
pub(super) fn edit_json(state: &mut State) {
    if let Some(attempt) = edit_here(state) {
        state.recovery.attempt = Some(attempt.clone());
        ask_for_words(state, &attempt, AS_JSON);
    }
}

/// An edit of the item with the cursor.
fn edit_here(state: &mut State) -> Option<Attempt> {
    if !takes::may_ask(state) {
        return None;
    }
    let (action, document) = (actions::find("edit")?, state.document.clone()?);
    let finding = state.finding_for("edit").cloned();
    let place = state.place();
    Some(Attempt {
        place,
        ..Attempt::new(document, action, place, finding)
    })
}

/// Asks for what the action needs, or proposes it at once. What no words could make possible is refused before
/// any are asked for.
fn ask(state: &mut State, attempt: Attempt) {
    let findings = state.findings_of(attempt.place.session);
    let tried = attempt.plan(&findings, state.recovery.target);
    if let Err(refusal) = tried
        && !refusal.is_question()
        && !words_may_do(&attempt, &refusal)
    {
        return refused(state, &attempt, &refusal, None);
    }
    let purpose = match attempt.action.id {
        "fallback" => &fallback_purpose(&attempt),
        "supply-output" => &output_purpose(&attempt),
        _ => "",
    };
    state.recovery.attempt = Some(attempt.clone());
    let is_asked = match attempt.action.id {
        "inject-error" => ask_for_wording(state, &attempt),
        "edit" => ask_for_edit(state, &attempt),
        _ if purpose.is_empty() => false,
        _ => ask_for_words(state, &attempt, purpose),
    };
    if !is_asked {
        propose(state, None);
    }
}

/// Why an error with the words that a call was answered with is not injected.
const SAME_ANSWER: &str = "the call has this answer already: change the words";

/// Whether an action that is refused with the default words may be possible with others: an answer that is there
/// already can get another text.
fn words_may_do(attempt: &Attempt, refusal: &ActionError) -> bool {
    match refusal {
        ActionError::BadWords(_) => true,
        ActionError::NothingToDo => attempt.action.id == "inject-error",
        _ => false,
    }
}

/// Opens a layer about items of a document; it is left once another one is shown.
fn open_planned<L: Layer<State>>(
    state: &mut State,
    opening: OpeningLayer<State, L>,
    document: Arc<Document>,
) {
    let is_shown = move |state: &State| is_shown(state, &document);
    opening.as_long_as(is_shown).over(state);
}

/// Opens the editor for the wording of an error; false where there is nothing to word.
fn ask_for_wording(state: &mut State, attempt: &Attempt) -> bool {
    let Some(editor) = wording_editor(state, attempt) else {
        return false;
    };
    let subject = attempt.draft_key("");
    let left = subject.clone();
    let accept = move |state: &mut State, editor: &mut WordingEditor, worded: Worded| {
        keep(state, &subject, worded.template.clone());
        let attempt = state.recovery.attempt.clone();
        let is_same = attempt.is_some_and(|attempt| {
            let findings = state.findings_of(attempt.place.session);
            let words = Some(worded.template.clone());
            let whole_turn = worded.whole_turn;
            let attempt = Attempt {
                words,
                whole_turn,
                ..attempt
            };
            let planned = attempt.plan(&findings, state.recovery.target);
            matches!(planned, Err(ActionError::NothingToDo))
        });
        if is_same {
            editor.complain(SAME_ANSWER);
            return Flow::Stay;
        }
        accept_words(state, None, |attempt| {
            attempt.words = Some(worded.template);
            attempt.whole_turn = worded.whole_turn;
        })
    };
    let opening = OpeningLayer::new(editor, accept)
        .if_left(move |state, editor| leave_words(state, &left, editor.text()));
    open_planned(state, opening, attempt.document.clone());
    true
}

/// Opens the form for plain words; false where there is no item that they could be about.
fn ask_for_words(state: &mut State, attempt: &Attempt, purpose: &str) -> bool {
    let Some(form) = words_form(state, attempt, purpose) else {
        return false;
    };
    let subject = attempt.draft_key("");
    let left = subject.clone();
    let accept = move |state: &mut State, form: &mut WordsForm, written: WrittenWords| {
        keep(state, &subject, written.text.clone());
        accept_words(state, Some(form), |attempt| {
            attempt.words = Some(match attempt.action.id {
                "edit" => flattened(&written.text),
                _ => written.text,
            });
            attempt.in_history = written.is_yes;
        })
    };
    let opening = OpeningLayer::new(form, accept)
        .if_left(move |state, form| leave_words(state, &left, form.text()));
    open_planned(state, opening, attempt.document.clone());
    true
}

/// Opens the only value that an item has, the list of its values, or all of it as JSON where it has none.
fn ask_for_edit(state: &mut State, attempt: &Attempt) -> bool {
    let Some(edited) = EditedItem::new(state, attempt) else {
        return false;
    };
    let draft = edited.draft_key(attempt);
    let draft = draft.and_then(|key| state.recovery.drafts.find(&key));
    let edited = Arc::new(match draft {
        Some(json) => edited.with_json(json),
        None => edited,
    });
    match edited.open.values().len() {
        0 => return ask_for_words(state, attempt, AS_JSON),
        1 => ask_for_value(state, attempt, &edited, 0),
        _ => ask_which_value(state, attempt, &edited, None),
    }
    true
}

/// Opens the list of the values of an item, with the cursor on this one.
fn ask_which_value(
    state: &mut State,
    attempt: &Attempt,
    edited: &Arc<EditedItem>,
    at: Option<usize>,
) {
    let (again, edited) = (attempt.clone(), edited.clone());
    let menu = edited.menu(at);
    let draft = (edited.draft_key(attempt), edited.open.json().to_owned());
    let choose = move |state: &mut State, _: &mut ValuesMenu, chosen: ValueChoice| {
        state.recovery.attempt = Some(again.clone());
        match chosen {
            ValueChoice::Value(index) => ask_for_value(state, &again, &edited, index),
            ValueChoice::Whole => {
                ask_for_words(state, &again, AS_JSON);
            }
            ValueChoice::Without(index) => {
                let value = edited.open.values().get(index);
                let Some(json) = value.and_then(|value| edited.open.without(value)) else {
                    return Flow::Stay;
                };
                let name = &edited.open.values()[index].name;
                let edited = Arc::new(edited.with_edit(name, &json));
                ask_which_value(state, &again, &edited, index.checked_sub(1));
                return Flow::Close;
            }
            ValueChoice::Accept => {
                let json = edited.open.json().to_owned();
                let names = edited.edited.clone();
                return accept_words(state, None, |attempt| {
                    attempt.words = Some(json);
                    attempt.edited = names;
                });
            }
        }
        Flow::Stay
    };
    let opening = OpeningLayer::new(menu, choose);
    let opening = opening.if_left(move |state, menu| {
        state.recovery.attempt = None;
        let text = match menu.changed() {
            0 => String::new(),
            changed => {
                let values = if changed == 1 {
                    "value is"
                } else {
                    "values are"
                };
                state.notice = Some(format!(
                    "{changed} changed {values} kept as a draft: e continues"
                ));
                draft.1
            }
        };
        keep(state, &draft.0, text);
    });
    open_planned(state, opening, attempt.document.clone());
}

/// Opens the form for a value of an item.
fn ask_for_value(state: &mut State, attempt: &Attempt, edited: &Arc<EditedItem>, index: usize) {
    let Some(value) = edited.open.values().get(index).cloned() else {
        return;
    };
    let subject = attempt.draft_key(&format!("{}: {}", value.name, value.text));
    let left = subject.clone();
    let form = edited.form(state, subject.as_ref(), &value);
    let (name, opened_with) = (value.name.clone(), form.text());
    let (edited, again) = (edited.clone(), attempt.clone());
    let count = edited.open.values().len().max(1);
    let accept = move |state: &mut State, form: &mut WordsForm, written: WrittenWords| match (
        written.goes_on,
        edited.with_value(&value, &written.text),
    ) {
        (goes_on, Ok(words)) if count > 1 => {
            // The list with the values as they are now takes the place of the one below.
            keep(state, &subject, String::new());
            state.leave_layer();
            state.notice = None;
            state.recovery.attempt = Some(again.clone());
            let edited = Arc::new(edited.with_edit(&value.name, &words));
            let next = goes_on.map_or(index, |direction| edited.next_value(index, direction));
            ask_which_value(state, &again, &edited, Some(next));
            if goes_on.is_some() {
                ask_for_value(state, &again, &edited, next);
            }
            Flow::Close
        }
        (_, Ok(words)) => {
            keep(state, &subject, written.text);
            accept_words(state, Some(form), |attempt| attempt.words = Some(words))
        }
        (_, Err(fault)) => {
            form.complain(&format!("not accepted: {fault}"));
            Flow::Stay
        }
    };
    let opening = OpeningLayer::new(form, accept).if_left(move |state, form| {
        let text = form.text();
        if text != opened_with {
            let notice = format!("{name}: the text is kept as a draft, enter continues it");
            match state.layers.top_mut::<ValuesMenu>() {
                Some(menu) => menu.notify(&notice),
                None => {
                    state.notice = Some("Closed. Your draft is kept; e opens it again.".to_owned());
                }
            }
        }
        leave_words(state, &left, text)
    });
    open_planned(state, opening, attempt.document.clone());
}

/// Proposes what the attempt becomes with words; their form stays below the proposal.
fn accept_words(
    state: &mut State,
    form: Option<&mut WordsForm>,
    change: impl FnOnce(&mut Attempt),
) -> Flow {
    if exchange::comes_too_late(state) {
        state.recovery.attempt = None;
        return Flow::Close;
    }
    if let Some(attempt) = &mut state.recovery.attempt {
        change(attempt);
    }
    propose(state, form);
    Flow::Stay
}

/// Leaves a text; it is there again the next time.
fn leave_words(state: &mut State, subject: &Option<DraftKey>, text: String) {
    keep(state, subject, text);
    state.recovery.attempt = None;
}

fn keep(state: &mut State, subject: &Option<DraftKey>, text: String) {
    if let Some(subject) = subject {
        state.recovery.drafts.keep(subject.clone(), text);
    }
}

/// Plans the attempt and shows what it would change, or asks what is missing. What is wrong with words is
/// in their form.
fn propose(state: &mut State, form: Option<&mut WordsForm>) {
    let Some(attempt) = state.recovery.attempt.clone() else {
        return;
    };
    if is_of_another_document(state, &attempt) {
        return;
    }
    let findings = state.findings_of(attempt.place.session);
    let mut tried = attempt.plan(&findings, state.recovery.target);
    let mut warning = None;
    if let (Err(ActionError::NeedsConfirmation(reason)), "retry") = (&tried, attempt.action.id) {
        // The proposal shows it, and is the question.
        warning = Some(reason.clone());
        let attempt = Attempt {
            confirmed: true,
            ..attempt.clone()
        };
        tried = attempt.plan(&findings, state.recovery.target);
    }
    match tried {
        Ok(mut planned) => {
            end_before_reply(state, &attempt, &mut planned);
            let Some(session) = attempt.document.session(attempt.place.session) else {
                return;
            };
            let next = what_follows(state, &attempt, &planned).into_iter();
            let next = next.chain(exchange::text_sent(state).filter(|_| planned.asks_model));
            let proposal = Proposal::new(&proposed(session, &attempt, &planned, warning, next));
            let decide = move |state: &mut State, _: &mut Proposal, verdict| {
                decide(state, &planned, verdict)
            };
            let opening = OpeningLayer::new(proposal, decide).if_left(|state, _| reject(state));
            open_planned(state, opening, attempt.document);
        }
        Err(refusal) => refused(state, &attempt, &refusal, form),
    }
}

/// What the operator says to a proposal.
fn decide(state: &mut State, planned: &Plan, verdict: ProposalVerdict) -> Flow {
    match verdict {
        ProposalVerdict::Reword => ask_for_feedback(state),
        ProposalVerdict::Accept if exchange::comes_too_late(state) => {
            state.leave_layers();
            give_up(state);
        }
        ProposalVerdict::Accept if !takes::may_ask(state) => return Flow::Stay,
        ProposalVerdict::Accept => order(state, planned),
    }
    Flow::Close
}

/// Opens the form for the words of a retry, which is proposed without any at first.
fn ask_for_feedback(state: &mut State) {
    let attempt = state.recovery.attempt.clone();
    let attempt = attempt.filter(|attempt| attempt.action.id == "retry");
    if let Some(attempt) = attempt.filter(|_| state.layers.top::<WordsForm>().is_none()) {
        ask_for_words(state, &attempt, FEEDBACK);
    }
}

/// Leaves a proposal. Below it lies the form with its words, or nothing that would need the attempt.
fn reject(state: &mut State) {
    let layers = &state.layers;
    let is_asking = layers.top::<WordingEditor>().is_some() || layers.top::<WordsForm>().is_some();
    match &mut state.recovery.attempt {
        Some(attempt) if is_asking => attempt.confirmed = false,
        attempt => *attempt = None,
    }
}

fn refused(
    state: &mut State,
    attempt: &Attempt,
    refusal: &ActionError,
    form: Option<&mut WordsForm>,
) {
    let reason = refusal.to_string();
    let is_suggestion = attempt.action.id == "take-suggestion";
    if let Some(rule) = state.rule_without_suggestion().filter(|_| is_suggestion) {
        return state.say(format!("No suggestion for {rule}: enter lists its fixes"));
    }
    let form = form.or_else(|| state.layers.top_mut());
    match (form, refusal) {
        (Some(form), ActionError::BadWords(_) | ActionError::NeedsWords(_)) => {
            form.complain(&reason)
        }
        (_, ActionError::NeedsConfirmation(_)) => confirm(state, attempt, &reason),
        (_, ActionError::WrongKind(kind)) => {
            let title = attempt.action.title;
            state.notice = Some(format!("{title}: not possible here; select {kind}"));
        }
        _ if is_suggestion => {
            let arguments = arguments_of(attempt).filter(|text| !text.trim().is_empty());
            let is_json = |text: String| serde_json::from_str::<IgnoredAny>(&text).is_ok();
            let next = match arguments.is_none_or(is_json) {
                true => "",
                false => "; the arguments are broken. Press e.",
            };
            state.notice = Some(format!("No suggestion: {reason}{next}"));
        }
        (_, ActionError::NothingToDo) if attempt.action.id == "inject-error" => {
            state.notice = Some(format!("{SAME_ANSWER}; r asks the model again"));
        }
        _ => state.notice = Some(format!("{}: {reason}", attempt.action.title)),
    }
}

/// Asks what has to be confirmed before the attempt is planned: which reading is meant, or whether it is meant
/// at all.
fn confirm(state: &mut State, attempt: &Attempt, reason: &str) {
    let document = attempt.document.clone();
    if let Some(readings) = readings(attempt) {
        let choose = |state: &mut State, _: &mut Readings, index| {
            let text = reading(state, index);
            confirmed(state, |attempt| attempt.words = text);
        };
        return open_planned(state, OpeningLayer::new(readings, choose), document);
    }
    let title = attempt.action.title;
    let question = Confirmation::new(title, reason, &format!("{title}?"));
    let answer = |state: &mut State, _: &mut Confirmation, ()| confirmed(state, |_| {});
    open_planned(state, OpeningLayer::new(question, answer), document);
}

fn confirmed(state: &mut State, change: impl FnOnce(&mut Attempt)) {
    if let Some(attempt) = &mut state.recovery.attempt {
        attempt.confirmed = true;
        change(attempt);
    }
    propose(state, None);
}

/// What broken arguments may have meant, where two readers disagree.
fn readings(attempt: &Attempt) -> Option<Readings> {
    if attempt.action.id != "repair-arguments" {
        return None;
    }
    let written = arguments_of(attempt)?;
    let Repair::Disagree { a, b } = repair(&written) else {
        return None;
    };
    let readings = [("the careful reading", a), ("the tolerant reading", b)];
    let readings = readings.map(|(by, text)| ArgumentReading {
        by: by.to_owned(),
        text,
    });
    Some(Readings::new(
        "which of these was meant?",
        &written,
        readings,
    ))
}

fn reading(state: &State, index: usize) -> Option<String> {
    let attempt = state.recovery.attempt.as_ref()?;
    match (repair(&arguments_of(attempt)?), index) {
        (Repair::Disagree { a, .. }, 0) => Some(a),
        (Repair::Disagree { b, .. }, _) => Some(b),
        _ => None,
    }
}

fn arguments_of(attempt: &Attempt) -> Option<String> {
    let session = attempt.document.session(attempt.place.session)?;
    let item = session.items.get(attempt.place.item)?;
    let body = retake_core::wire::body_of(item, &session.bytes(item).ok()?).ok()?;
    Some(body.arguments.as_written().to_owned())
}

fn proposed(
    session: &Session,
    attempt: &Attempt,
    planned: &Plan,
    warning: Option<String>,
    next: impl Iterator<Item = &'static str>,
) -> Proposed {
    let (mut changes, more_removed) = changes_of(session, &planned.edits);
    open_arguments(session, &mut changes);
    let name = named(session, attempt.place.item);
    let warned = warning.as_deref().unwrap_or_default();
    let mut notes = planned.notes.clone();
    notes.retain(|note| !warned.starts_with(note.as_str()));
    notes.extend(next.map(str::to_owned));
    if attempt.action.id == "retry" && attempt.words.is_none() {
        notes.push("e writes feedback that the model reads before it replies".to_owned());
    }
    Proposed {
        title: format!("{} {name}", attempt.action.title),
        safety: attempt.safety,
        faults: warning
            .into_iter()
            .chain(still_wrong(session, attempt))
            .collect(),
        notes,
        changes,
        more_removed,
        has_words: matches!(
            attempt.action.id,
            "inject-error" | "retry" | "fallback" | "supply-output" | "edit"
        ),
    }
}

/// What is wrong with the arguments of a call after it was edited.
fn still_wrong(session: &Session, attempt: &Attempt) -> Vec<String> {
    let edited = attempt.words.as_deref();
    let Some(edited) = edited.filter(|_| attempt.action.id == "edit") else {
        return Vec::new();
    };
    let run = Run::new(session, None);
    let faults = argument_faults(&run, attempt.place.item, edited.as_bytes());
    let faults = faults.into_iter();
    faults
        .map(|fault| format!("still wrong: {fault}"))
        .collect()
}

/// The order that makes a take of what was proposed.
fn order(state: &mut State, planned: &Plan) {
    let Some(attempt) = state.recovery.attempt.take() else {
        return;
    };
    if is_of_another_document(state, &attempt) {
        return;
    }
    let edited = EditedItem::new(state, &attempt);
    let draft = edited
        .as_ref()
        .and_then(|edited| edited.draft_key(&attempt));
    let edited = edited.filter(|_| attempt.action.id == "edit");
    let title = edited
        .zip(attempt.words.as_deref())
        .map_or_else(String::new, |(edited, json)| {
            edited.label(json, attempt.edited.clone())
        });
    state.leave_layers();
    keep(state, &draft, String::new());
    state.notice = None;
    state.recovery.is_busy = true;
    let kind = kind_of(&attempt, state.recovery.target);
    let template = attempt
        .words
        .as_deref()
        .or_else(|| kind.map(|kind| &*wording::default_of(kind).template));
    let named = kind.and_then(|kind| {
        let mut known = state.recovery.wordings.of(kind).into_iter();
        known
            .find(|choice| Some(choice.template) == template)
            .map(|choice| choice.name.to_owned())
    });
    let is_worded = attempt.action.id == "inject-error";
    let answer = planned.edits.iter().find_map(|edit| match edit {
        Edit::Answer { text, .. } | Edit::Say { text, .. } => Some(text.clone()),
        _ => None,
    });
    let about = Take {
        title,
        forked_at: u32::try_from(attempt.place.item).ok(),
        cause: TakeCause {
            rule: attempt
                .finding
                .as_ref()
                .map(|finding| finding.rule.id.to_owned()),
            item: u32::try_from(attempt.place.item).ok(),
            action: Some(attempt.action.id.to_owned()),
            by: Author::Operator,
        },
        wording: is_worded.then(|| named.unwrap_or_else(|| "own".to_owned())),
        words: answer
            .or_else(|| planned.texts.first().cloned())
            .or(attempt.words.filter(|words| !words.trim().is_empty())),
        notes: planned.notes.clone(),
        fallback: planned.result.clone(),
        outcome: TakeOutcome {
            asks_model: planned.asks_model,
            ..TakeOutcome::default()
        },
        ..Take::default()
    };
    state.effects.push(Effect::Take(Box::new(TakeOrder {
        document: attempt.document,
        session: attempt.place.session,
        edits: planned.edits.clone(),
        about,
    })));
}

/// Gives up what was planned for a document that is no longer shown; words stand there again the next time.
/// Whether anything was open.
pub(super) fn abandon(state: &mut State) -> bool {
    let was_open = state.leave_outdated();
    state.recovery.attempt = None;
    if was_open {
        give_up(state);
    }
    was_open
}

fn give_up(state: &mut State) {
    state.recovery.attempt = None;
    state.notice = Some("the history has changed: the open dialog was closed".to_owned());
}

fn is_shown(state: &State, document: &Arc<Document>) -> bool {
    let shown = state.document.as_ref();
    shown.is_some_and(|shown| Arc::ptr_eq(shown, document))
}

/// Whether an attempt was planned for another document than the one that is shown; it is given up then.
fn is_of_another_document(state: &mut State, attempt: &Attempt) -> bool {
    let is_shown = is_shown(state, &attempt.document);
    if !is_shown {
        state.leave_outdated();
        give_up(state);
    }
    !is_shown
}
