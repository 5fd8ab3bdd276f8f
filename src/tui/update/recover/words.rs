//! The texts that actions ask for: the wording of an error with its library and its preview, and plain words.

use super::{findings_of, plan};
use crate::actions::{Defect, wording_kind};
use crate::rules::{Finding, Run};
use crate::session::{Dialect, Kind, Session};
use crate::tui::recovery::changes::result_of;
use crate::tui::recovery::forms::{WordsForm, WordsSetup};
use crate::tui::recovery::takes::TakeRow;
use crate::tui::recovery::wording::{Entry, Fault, Previewer, Setup, WordingEditor};
use crate::tui::state::document::Document;
use crate::tui::state::pretty::lay_out;
use crate::tui::state::recovery::Attempt;
use crate::tui::state::{Overlay, State};
use crate::wording;
use std::sync::Arc;

/// Rules about calls that one error text each can settle.
const FAULTY_CALLS: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "orphan-call",
];

/// The kind of failure that an attempt answers.
pub(super) fn kind_of(
    document: &Document,
    attempt: &Attempt,
    target: Option<Dialect>,
) -> Option<wording::Kind> {
    let session = document.session(attempt.place.session)?;
    let run = Run::new(session, target);
    let defect = attempt.finding.as_ref().map_or_else(
        || Defect {
            item: u32::try_from(attempt.place.item).ok(),
            ..Defect::default()
        },
        Finding::defect,
    );
    Some(wording_kind(&run.scene(defect, &[])?))
}

/// The editor for the wording of an error.
pub(super) fn wording_editor(state: &State, attempt: &Attempt) -> Option<Overlay> {
    let document = state.document.clone()?;
    let session = document.session(attempt.place.session)?;
    let kind = kind_of(&document, attempt, state.recovery.target)?;
    let findings = findings_of(state, attempt.place.session);
    let item = session.items.get(attempt.place.item)?;
    let kept = state
        .recovery
        .drafts
        .find((item.span.start, attempt.action.id));
    let text = kept
        .unwrap_or(wording::default_of(kind).template)
        .to_owned();
    let faulty = faulty_calls(session, &findings, attempt);
    let (shown, tried, target) = (document.clone(), attempt.clone(), state.recovery.target);
    let setup = Setup {
        title: format!("inject error: {}", session.name(item)),
        text,
        library: library(state, session, attempt, kind),
        placeholders: wording::VARIABLES
            .iter()
            .map(|variable| format!("{{{{ {} }}}}", variable.name))
            .collect(),
        faulty,
        whole_turn: attempt.whole_turn,
        last_try: last_try(state, attempt),
        previewer: Previewer::new(move |template, whole_turn| {
            preview(&shown, &tried, &findings, target, template, whole_turn)
        }),
    };
    Some(Overlay::Wording(Box::new(WordingEditor::new(setup))))
}

/// The JSON of the items that a template makes, or why it makes none.
fn preview(
    document: &Arc<Document>,
    attempt: &Attempt,
    findings: &[Finding],
    target: Option<Dialect>,
    template: &str,
    whole_turn: bool,
) -> Result<String, Fault> {
    let attempt = Attempt {
        words: Some(template.to_owned()),
        whole_turn,
        ..attempt.clone()
    };
    let line = wording::check(template)
        .err()
        .and_then(|fault| fault.line());
    let planned = plan(document, &attempt, findings, target).map_err(|refusal| Fault {
        line,
        message: refusal.to_string(),
    })?;
    let session = document.session(attempt.place.session);
    Ok(session.map_or_else(String::new, |session| result_of(session, &planned.edits)))
}

fn faulty_calls(session: &Session, findings: &[Finding], attempt: &Attempt) -> usize {
    let turn = session.items.get(attempt.place.item).map(|item| item.turn);
    let faulty = findings
        .iter()
        .filter(|finding| FAULTY_CALLS.contains(&finding.rule.id));
    let mut calls: Vec<u32> = faulty
        .filter_map(|finding| finding.item)
        .filter(|index| {
            let item = session.items.get(*index as usize);
            item.is_some_and(|item| item.kind == Kind::Call && Some(item.turn) == turn)
        })
        .collect();
    calls.sort_unstable();
    calls.dedup();
    calls.len()
}

/// The library for a kind of failure: the wording of the recording first, then the operator's own, then ours.
fn library(state: &State, session: &Session, attempt: &Attempt, kind: wording::Kind) -> Vec<Entry> {
    let output = session.pairing.partner(attempt.place.item);
    let output = output
        .and_then(|output| session.items.get(output))
        .filter(|output| output.kind == Kind::Output);
    let recorded = output.and_then(|output| {
        let bytes = session.bytes(output).ok()?;
        let body = crate::dialects::body_of(output, &bytes).ok()?;
        Some(Entry {
            name: "recorded".to_owned(),
            title: "what the recording says".to_owned(),
            axes: String::new(),
            text: wording::recorded(&body.text),
        })
    });
    let known = state
        .recovery
        .wordings
        .of(kind)
        .into_iter()
        .map(|choice| Entry {
            name: choice.name.to_owned(),
            title: choice.title.to_owned(),
            axes: wording::find(kind, choice.name)
                .filter(|wording| wording.template == choice.template)
                .map_or_else(|| "your own".to_owned(), |wording| wording.axes.to_string()),
            text: choice.template.to_owned(),
        });
    recorded.into_iter().chain(known).collect()
}

/// What came of the last take that was made for this finding.
fn last_try(state: &State, attempt: &Attempt) -> Option<String> {
    let rule = attempt.finding.as_ref().map(|finding| finding.rule.id)?;
    let same = |row: &&TakeRow| row.rule == rule && row.fork == Some(attempt.place.item + 1);
    let row = state.recovery.takes.rows.iter().rev().find(same)?;
    let (before, after) = row.findings?;
    Some(format!(
        "take {}: findings {before} -> {after}; {}",
        row.id, row.wording
    ))
}

/// A form for plain words.
pub(super) fn words_form(state: &State, attempt: &Attempt, purpose: &str) -> Option<Overlay> {
    let session = state.document.as_ref()?.session(attempt.place.session)?;
    let item = session.items.get(attempt.place.item)?;
    let kept = state
        .recovery
        .drafts
        .find((item.span.start, attempt.action.id));
    let text = match (kept, attempt.action.id) {
        (Some(kept), _) => kept.to_owned(),
        (None, "edit") => laid_out(&String::from_utf8_lossy(&session.bytes(item).ok()?)),
        (None, _) => String::new(),
    };
    let setup = WordsSetup {
        title: format!("{}: {}", attempt.action.title, session.name(item)),
        purpose: purpose.to_owned(),
        text,
        in_history: (attempt.action.id == "fallback").then_some(attempt.in_history),
    };
    Some(Overlay::Words(Box::new(WordsForm::new(&setup))))
}

/// JSON in lines, to be edited.
fn laid_out(text: &str) -> String {
    let lines = lay_out(text).into_iter().map(|line| {
        let pieces = line.pieces.iter().map(|(_, range)| &text[range.clone()]);
        format!("{}{}", "  ".repeat(line.depth), pieces.collect::<String>())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Edited JSON without the white space of its lines.
pub(in crate::tui::update) fn flattened(text: &str) -> String {
    text.lines().map(str::trim).collect()
}
