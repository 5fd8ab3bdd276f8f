//! The texts that actions ask for: the wording of an error with its library and its preview, and plain words.

use crate::tui::recovery::changes::result_of;
use crate::tui::recovery::difference::lines_of;
use crate::tui::recovery::forms::{WordsForm, WordsSetup};
use crate::tui::recovery::wording::{Entry, Fault, Previewer, Setup, WordingEditor};
use crate::tui::state::State;
use crate::tui::state::document::Document;
use crate::tui::state::preview::tool_of;
use crate::tui::state::recovery::{Attempt, TakeRow};
use retake_core::actions::{self, wording_kind};
use retake_core::engine::TURN_LIMIT;
use retake_core::rules::{Finding, Run};
use retake_core::session::{Dialect, Item, Kind, Session};
use retake_core::wording;
use serde_json::Value;
use std::sync::Arc;

/// Rules about calls that one error text each can settle.
const FAULTY_CALLS: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "orphan-call",
];

pub(super) fn kind_of(attempt: &Attempt, target: Option<Dialect>) -> Option<wording::FailureKind> {
    let session = attempt.document.session(attempt.place.session)?;
    let run = Run::new(session, target);
    Some(wording_kind(&run.scene(attempt.defect(), &[])?))
}

pub(super) fn wording_editor(state: &State, attempt: &Attempt) -> Option<WordingEditor> {
    let session = attempt.document.session(attempt.place.session)?;
    let kind = kind_of(attempt, state.recovery.target)?;
    let findings = state.findings_of(attempt.place.session);
    let item = session.items.get(attempt.place.item)?;
    let kept = state
        .recovery
        .drafts
        .find((item.span.start, attempt.action.id));
    let text = kept
        .unwrap_or(wording::default_of(kind).template)
        .to_owned();
    let faulty = faulty_calls(session, &findings, attempt);
    let (tried, target) = (attempt.clone(), state.recovery.target);
    let setup = Setup {
        title: format!("inject error: {}", named(session, attempt.place.item)),
        text,
        library: library(state, session, attempt, kind),
        placeholders: wording::VARIABLES
            .iter()
            .map(|variable| variable.name.to_owned())
            .collect(),
        faulty,
        whole_turn: attempt.whole_turn,
        last_try: last_try(state, attempt),
        previewer: Previewer::new(move |template, whole_turn| {
            preview(&tried, &findings, target, template, whole_turn)
        }),
    };
    Some(WordingEditor::new(setup))
}

/// Shows what a template makes of a finding. Where no error can be injected, a sound template is
/// shown as it is.
pub(crate) fn previewer(state: &State, finding: &Finding, document: &Arc<Document>) -> Previewer {
    let action = actions::find("inject-error");
    let attempt = action.map(|action| {
        Attempt::new(
            document.clone(),
            action,
            state.place(),
            Some(finding.clone()),
        )
    });
    let findings = state.findings_of(state.session);
    let target = state.recovery.target;
    Previewer::new(move |template, whole_turn| {
        if let Err(fault) = wording::check(template) {
            return Err(Fault {
                line: fault.line(),
                message: fault.to_string(),
            });
        }
        let made = attempt
            .as_ref()
            .map(|attempt| preview(attempt, &findings, target, template, whole_turn));
        Ok(made
            .and_then(Result::ok)
            .unwrap_or_else(|| template.to_owned()))
    })
}

/// The JSON of the items that a template makes, or why it makes none.
fn preview(
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
    let planned = attempt.plan(findings, target).map_err(|refusal| Fault {
        line,
        message: refusal.to_string(),
    })?;
    let session = attempt.document.session(attempt.place.session);
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
fn library(
    state: &State,
    session: &Session,
    attempt: &Attempt,
    kind: wording::FailureKind,
) -> Vec<Entry> {
    let output = session.pairing.partner(attempt.place.item);
    let output = output
        .and_then(|output| session.items.get(output))
        .filter(|output| output.kind == Kind::Output);
    let recorded = output.and_then(|output| {
        let bytes = session.bytes(output).ok()?;
        let body = retake_core::wire::body_of(output, &bytes).ok()?;
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

pub(super) fn words_form(state: &State, attempt: &Attempt, purpose: &str) -> Option<WordsForm> {
    let session = attempt.document.session(attempt.place.session)?;
    let item = session.items.get(attempt.place.item)?;
    let kept = state
        .recovery
        .drafts
        .find((item.span.start, attempt.action.id));
    let text = match (kept, attempt.action.id) {
        (Some(kept), _) => kept.to_owned(),
        (None, "edit") => {
            let bytes = session.bytes(item).ok()?;
            let json = String::from_utf8_lossy(&bytes);
            let open = actions::with_open_arguments(item, &json);
            lines_of(open.as_deref().unwrap_or(&json)).join("\n")
        }
        (None, "fallback") => final_value(session, item),
        (None, _) => String::new(),
    };
    let title = format!(
        "{}: {}",
        attempt.action.title,
        named(session, attempt.place.item)
    );
    let is_fallback = attempt.action.id == "fallback";
    let question = ("into the history that the model sees", attempt.in_history);
    Some(WordsForm::new(WordsSetup {
        question: is_fallback.then_some(question),
        ..WordsSetup::for_purpose(title, purpose, text)
    }))
}

/// What the model gave as its final output, where that is JSON: there is a value to mend.
fn final_value(session: &Session, item: &Item) -> String {
    let bytes = session.bytes(item).unwrap_or_default();
    match retake_core::wire::body_of(item, &bytes) {
        Ok(body) if item.kind == Kind::Assistant && body.text.trim_start().starts_with('{') => {
            lines_of(&body.text).join("\n")
        }
        _ => String::new(),
    }
}

/// What a fallback is for, and what it has to satisfy.
pub(super) fn fallback_purpose(attempt: &Attempt) -> String {
    let session = attempt.document.session(attempt.place.session);
    let item = session.and_then(|session| session.items.get(attempt.place.item));
    let schema = session.and_then(|session| session.contract.output_schema.as_ref());
    let finding = attempt.finding.as_ref();
    let is_end = finding.is_some_and(|finding| finding.rule.id == TURN_LIMIT);
    match (item.map(|item| item.kind).filter(|_| !is_end), schema) {
        (Some(Kind::Call | Kind::Output), _) => "the output to go on with".to_owned(),
        (_, Some(schema)) => format!("the value to go on with: {}", outline(&schema.schema)),
        (_, None) => "the value to go on with".to_owned(),
    }
}

/// A schema in few words: what an object holds, else the schema itself.
fn outline(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return schema.to_string();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let members = properties.iter().map(|(name, member)| {
        let kind = match (member.get("enum"), member.get("type")) {
            (Some(Value::Array(values)), _) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                format!(" ({})", values.join(" or "))
            }
            (_, Some(Value::String(kind))) => format!(" ({kind})"),
            _ => String::new(),
        };
        let is_required = required.is_some_and(|names| names.iter().any(|it| it == name));
        let optional = if is_required { "" } else { ", optional" };
        format!("{name}{kind}{optional}")
    });
    format!("an object with {}", members.collect::<Vec<_>>().join("; "))
}

/// What an item is called: its tool, that of the call which it answers, else its kind.
pub(super) fn named(session: &Session, index: usize) -> &str {
    match (tool_of(session, index), session.items.get(index)) {
        ("", Some(item)) => item.kind.word(),
        (name, _) => name,
    }
}

/// Edited JSON without the white space of its lines.
pub(super) fn flattened(text: &str) -> String {
    text.lines().map(str::trim).collect()
}
