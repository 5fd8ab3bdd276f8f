//! The texts that actions ask for: the wording of an error with its library and its preview, and plain words.

use crate::tui::keymap::Direction;
use crate::tui::recovery::changes::result_of;
use crate::tui::recovery::difference::lines_of;
use crate::tui::recovery::forms::{TextCheck, ValueRow, ValuesMenu, WordsForm, WordsSetup};
use crate::tui::recovery::takes::counts_words;
use crate::tui::recovery::wording::{Previewer, Setup, TemplateFault, WordingEditor, WordingEntry};
use crate::tui::state::State;
use crate::tui::state::document::Document;
use crate::tui::state::preview::tool_of;
use crate::tui::state::recovery::{Attempt, DraftKey};
use crate::tui::state::takes::TakeRow;
use retake_core::actions::{self, ActionError, ItemValue, OpenItem, lines, types_of, wording_kind};
use retake_core::engine::TURN_LIMIT;
use retake_core::json::not_json;
use retake_core::lab::RECORDED;
use retake_core::repair::{SyntaxError, first_error};
use retake_core::rules::{Finding, Run};
use retake_core::safe_text::SafeText;
use retake_core::schema::{Validator, Violation};
use retake_core::session::{Dialect, Item, Kind, Session};
use retake_core::wire::body_of;
use retake_core::wording;
use retake_live::live::Phase;
use serde_json::Value;
use std::collections::BTreeSet;
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
    let key = attempt.draft_key("")?;
    let recorded = recorded_words(session, attempt.place.item);
    // In a run the answer that is there is what one wants to say in other words.
    let default = match &recorded {
        Some(words) if state.live.phase != Phase::Idle => words,
        _ => &wording::default_of(kind).template,
    };
    let text = state.recovery.drafts.find(&key).unwrap_or(default);
    let text = text.to_owned();
    let rule = attempt.finding.as_ref().map_or("", |it| it.rule.id);
    let faulty = faulty_calls(session, &findings, attempt);
    let (tried, target) = (attempt.clone(), state.recovery.target);
    let setup = Setup {
        title: format!("inject error: {}", named(session, attempt.place.item)),
        text,
        library: library(state, recorded, kind, rule),
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
            return Err(TemplateFault {
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

/// The text that the model reads of a template, else the JSON of the items, or why it makes none.
fn preview(
    attempt: &Attempt,
    findings: &[Finding],
    target: Option<Dialect>,
    template: &str,
    whole_turn: bool,
) -> Result<String, TemplateFault> {
    let attempt = Attempt {
        words: Some(template.to_owned()),
        whole_turn,
        ..attempt.clone()
    };
    let line = wording::check(template)
        .err()
        .and_then(|fault| fault.line());
    let session = attempt.document.session(attempt.place.session);
    let planned = match attempt.plan(findings, target) {
        Ok(planned) => planned,
        Err(ActionError::NothingToDo) => {
            let answer = session.and_then(|session| answer_text(session, attempt.place.item));
            return Ok(answer.unwrap_or_default());
        }
        Err(refusal) => {
            let message = refusal.to_string();
            return Err(TemplateFault { line, message });
        }
    };
    if !planned.texts.is_empty() {
        return Ok(planned.texts.join("\n\n"));
    }
    let json = session.map(|session| result_of(session, &planned.edits));
    Ok(lines_of(&json.unwrap_or_default()).join("\n"))
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

/// The text of the output of a call; the item is either of the two.
fn answer_text(session: &Session, item: usize) -> Option<String> {
    let is_output = |index: &usize| {
        session
            .items
            .get(*index)
            .is_some_and(|it| it.kind == Kind::Output)
    };
    let mut pair = [Some(item), session.pairing.partner(item)]
        .into_iter()
        .flatten();
    let output = &session.items[pair.find(is_output)?];
    Some(body_of(output, &session.bytes(output).ok()?).ok()?.text)
}

/// The answer that a call has, as a template.
fn recorded_words(session: &Session, item: usize) -> Option<String> {
    answer_text(session, item).map(|text| wording::recorded(&text))
}

/// The library for a kind of failure: the wording of the recording first, then the operator's own, then ours.
fn library(
    state: &State,
    recorded: Option<String>,
    kind: wording::FailureKind,
    rule: &str,
) -> Vec<WordingEntry> {
    let recorded = recorded.map(|text| WordingEntry {
        name: "recorded".to_owned(),
        title: "as recorded".to_owned(),
        axes: String::new(),
        rate: state.recovery.lab.rate(rule, RECORDED.name),
        text,
    });
    let known = state
        .recovery
        .wordings
        .of(kind)
        .into_iter()
        .map(|choice| WordingEntry {
            name: choice.name.to_owned(),
            title: choice.title.to_owned(),
            axes: wording::find(kind, choice.name)
                .filter(|wording| wording.template == choice.template)
                .map_or_else(|| "your own".to_owned(), |wording| wording.axes.to_string()),
            rate: state.recovery.lab.rate(rule, choice.name),
            text: choice.template.to_owned(),
        });
    recorded.into_iter().chain(known).collect()
}

/// What came of the last take that was made for this finding.
fn last_try(state: &State, attempt: &Attempt) -> Option<String> {
    let rule = attempt.finding.as_ref().map(|finding| finding.rule.id)?;
    let same = |row: &&TakeRow| {
        let is_here = row.rule == rule && row.fork == Some(attempt.place.item + 1);
        is_here && row.action == attempt.action.title
    };
    let row = state.recovery.takes.rows.iter().rev().find(same)?;
    let (before, after) = row.findings?;
    Some(format!(
        "take {}: {}, before {}; {}",
        row.id,
        counts_words(after),
        counts_words(before),
        row.wording
    ))
}

pub(super) fn words_form(state: &State, attempt: &Attempt, purpose: &str) -> Option<WordsForm> {
    let session = attempt.document.session(attempt.place.session)?;
    let item = session.items.get(attempt.place.item)?;
    let key = attempt.draft_key("")?;
    let text = match (state.recovery.drafts.find(&key), attempt.action.id) {
        (Some(kept), _) => kept.to_owned(),
        (None, "edit") => {
            let open = OpenItem::new(item, &session.bytes(item).ok()?, None);
            lines_of(open.json()).join("\n")
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
    let question = (
        "include in the history that the model sees",
        attempt.in_history,
    );
    Some(WordsForm::new(WordsSetup {
        question: is_fallback.then_some(question),
        ..WordsSetup::for_purpose(title, purpose, text)
    }))
}

/// An item whose values are edited one by one.
#[derive(Clone)]
pub(super) struct EditedItem {
    pub(super) open: OpenItem,
    /// The item as it was recorded.
    recorded: Arc<OpenItem>,
    schema: Option<Value>,
    item: Item,
    /// What it is called.
    name: String,
    /// Compiled from the schema of its arguments.
    validator: Option<Arc<Validator>>,
    /// Where its arguments break that schema.
    violations: Vec<Violation>,
    /// The names of the values that the operator edited.
    pub(super) edited: Vec<String>,
}

/// Larger items are not checked at every key.
const CHECKED: usize = 256 * 1024;
/// Most violations that are told of a value.
const TOLD: usize = 3;
/// Cells of a value in a list.
const SHOWN: usize = 200;

impl EditedItem {
    pub(super) fn new(state: &State, attempt: &Attempt) -> Option<Self> {
        let session = attempt.document.session(attempt.place.session)?;
        let item = session.items.get(attempt.place.item)?;
        let run = Run::new(session, state.recovery.target);
        let offered = run.offered(attempt.place.item);
        let tool = offered.and_then(|offered| offered.tool(item.name));
        let schema = tool.and_then(|tool| tool.parameters.as_ref());
        let schema = schema.filter(|_| item.kind == Kind::Call);
        let open = OpenItem::new(item, &session.bytes(item).ok()?, schema);
        let validator = schema.and_then(|schema| Validator::compile_either(schema).ok());
        let mut edited = Self {
            item: *item,
            name: named(session, attempt.place.item).to_owned(),
            violations: Vec::new(),
            edited: Vec::new(),
            validator: validator.map(Arc::new),
            schema: schema.cloned(),
            recorded: Arc::new(open.clone()),
            open,
        };
        edited.violations = edited.violations(edited.open.json());
        Some(edited)
    }

    /// The same item with other JSON.
    pub(super) fn with_json(&self, json: &str) -> Self {
        let open = OpenItem::new(&self.item, json.as_bytes(), self.schema.as_ref());
        Self {
            violations: self.violations(open.json()),
            open,
            ..self.clone()
        }
    }

    /// The same item with the JSON that it has once a value is edited.
    pub(super) fn with_edit(&self, name: &str, json: &str) -> Self {
        let mut item = self.with_json(json);
        item.edited.push(name.to_owned());
        item
    }

    /// The value to edit after this one: forward the next invalid one, where there is any.
    pub(super) fn next_value(&self, index: usize, direction: Direction) -> usize {
        let values = self.open.values();
        let count = values.len().max(1);
        let is_faulty = |at: &usize| {
            let mut places = self.violations.iter();
            places.any(|violation| self.is_place(&values[*at], violation))
        };
        let mut others = (index + 1..values.len()).chain(0..(index + 1).min(values.len()));
        match direction {
            Direction::Forward => others.find(is_faulty).unwrap_or((index + 1) % count),
            Direction::Backward => (index + count - 1) % count,
        }
    }

    /// What the list of its values is kept as a draft for.
    pub(super) fn draft_key(&self, attempt: &Attempt) -> Option<DraftKey> {
        attempt.draft_key(&format!("values {}", self.recorded.json()))
    }

    /// Whether a value differs from the recorded one.
    fn is_changed(&self, value: &ItemValue) -> bool {
        let mut recorded = self.recorded.values().iter();
        let same = recorded.find(|it| it.name == value.name);
        same.is_none_or(|same| same.text != value.text || same.is_given != value.is_given)
    }

    /// The names of the recorded values that are not there any more.
    fn removed(&self) -> impl Iterator<Item = &str> {
        let recorded = self.recorded.values().iter();
        let is_there = |name: &str| self.open.values().iter().any(|value| value.name == name);
        let names = recorded.map(|value| value.name.as_str());
        names.filter(move |name| !is_there(name))
    }

    /// The names of the values that differ from the recorded ones: those that were edited; where that is not known, of an
    /// object only its members.
    fn changed(&self) -> Vec<&str> {
        let values = self.open.values().iter();
        let names = values.filter(|value| self.is_changed(value));
        let names = names.map(|value| value.name.as_str());
        let names: Vec<&str> = names.chain(self.removed()).collect();
        let is_inside = |name: &str, other: &str| {
            let rest = other.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if !self.edited.is_empty() {
            let differs = |edited: &&str| {
                let mut names = names.iter();
                names.any(|name| name == edited || is_inside(edited, name))
            };
            let edited: BTreeSet<&str> = self.edited.iter().map(String::as_str).collect();
            let edited: Vec<&str> = edited.into_iter().filter(differs).collect();
            let is_whole = |name: &&str| !edited.iter().any(|other| is_inside(other, name));
            return edited.iter().copied().filter(is_whole).collect();
        }
        let of_members = |name: &&str| !names.iter().any(|other| is_inside(name, other));
        // Where the arguments were one text, which of their members are others is not known.
        let is_whole = |it: &ItemValue| it.pointer.as_deref() == Some("");
        let text = self.recorded.values().iter().find(|it| is_whole(it));
        let text = text.map(|it| it.name.as_str());
        let text = text.filter(|text| names.contains(text));
        let is_member = |name: &&str| {
            let mut values = self.open.values().iter();
            let value = values.find(|it| it.name == **name);
            value.is_some_and(|it| it.pointer.is_some())
        };
        let is_shown = |name: &&str| text.is_none_or(|text| text == *name) || !is_member(name);
        let names = names.iter().copied().filter(of_members);
        names.filter(is_shown).collect()
    }

    /// What is edited where its JSON becomes this: `edited city of get_weather`.
    pub(super) fn label(&self, json: &str, names: Vec<String>) -> String {
        let edited = Self {
            edited: names,
            ..self.with_json(json)
        };
        let what = match (self.item.kind, &*edited.changed().join(", ")) {
            (Kind::User, "text") => "the prompt".to_owned(),
            (Kind::System, "text") => "the system prompt".to_owned(),
            (Kind::Assistant, "text") => "the reply".to_owned(),
            (_, "") => self.name.clone(),
            (_, names) => format!("{names} of {}", self.name),
        };
        format!("edited {what}")
    }

    /// Where the arguments break the schema in the item as it is now.
    fn violations(&self, json: &str) -> Vec<Violation> {
        let found = || {
            let validator = self.validator.as_ref().filter(|_| json.len() <= CHECKED)?;
            let body = body_of(&self.item, json.as_bytes()).ok()?;
            let arguments = serde_json::from_str(body.arguments.json()?).ok()?;
            validator.violations(&arguments).ok()
        };
        found().unwrap_or_default()
    }

    /// Its JSON with a text in the place of a value. One that is not given and stays empty is left out.
    pub(super) fn with_value(&self, value: &ItemValue, text: &str) -> Result<String, String> {
        match !value.is_given && text.is_empty() {
            true => Ok(self.open.json().to_owned()),
            false => self.open.with(value, text),
        }
    }

    /// The list of its values, with the cursor on this one.
    pub(super) fn menu(&self, at: Option<usize>) -> ValuesMenu {
        let changed = self.changed();
        let rows = self.open.values().iter().map(|value| {
            let types = value.schema.as_ref().map(types_of).unwrap_or_default();
            let shown = match (value.is_given, value.is_required) {
                (true, _) => value.text.clone(),
                (false, true) => format!("not given, required: {}", types.join(" or ")),
                (false, false) => format!("not given: {}", types.join(" or ")),
            };
            ValueRow {
                name: SafeText::single_line(&value.name, SHOWN),
                value: SafeText::single_line(&shown, SHOWN),
                is_given: value.is_given,
                is_faulty: self.violations.iter().any(|it| self.is_place(value, it)),
                is_changed: changed.contains(&value.name.as_str()),
            }
        });
        let is_there = |name: &str| self.open.values().iter().any(|value| value.name == name);
        let removed = changed.iter().filter(|name| !is_there(name)).count();
        let rows = (rows.collect(), removed);
        ValuesMenu::new(&format!("edit: {}", self.name), rows, at)
    }

    /// Whether a violation is shown beside this value: at its own place, else at what should hold it.
    fn is_place(&self, value: &ItemValue, violation: &Violation) -> bool {
        let is_at = |it: &ItemValue, pointer: &str| it.pointer.as_deref() == Some(pointer);
        let mut values = self.open.values().iter();
        match values.any(|it| is_at(it, &violation.pointer)) {
            true => is_at(value, &violation.pointer),
            false => is_at(value, violation.holder()),
        }
    }

    /// The form for a value, with a draft of it.
    pub(super) fn form(
        self: &Arc<Self>,
        state: &State,
        draft: Option<&DraftKey>,
        value: &ItemValue,
    ) -> WordsForm {
        let kept = draft.and_then(|key| state.recovery.drafts.find(key));
        let text = match (kept, value.is_string) {
            (Some(kept), _) => kept.to_owned(),
            (None, true) => value.text.clone(),
            (None, false) => lines_of(&value.text).join("\n"),
        };
        let values = self.open.values();
        let place = values.iter().position(|it| it.name == value.name);
        let of_all = match values.len() {
            1 => String::new(),
            count => format!(" ({} of {count})", place.unwrap_or(0) + 1),
        };
        let title = format!("edit: {}, {}{of_all}", self.name, value.name);
        let is_argument = value.pointer.as_ref().is_some_and(|it| !it.is_empty());
        let (edited, checked) = (self.clone(), value.clone());
        WordsForm::new(WordsSetup {
            check: TextCheck::new(move |text| edited.fault(&checked, text)),
            has_others: self.open.values().len() > 1,
            is_line: is_argument && is_line(value, &text),
            choices: choices_of(value),
            ..WordsSetup::for_purpose(title, &value_purpose(value, self.item.kind), text)
        })
    }

    /// What is wrong with a text for a value.
    fn fault(&self, value: &ItemValue, text: &str) -> Option<String> {
        if !value.is_given && text.is_empty() {
            return None;
        }
        let json = match self.open.with(value, text) {
            Ok(json) => json,
            Err(fault) => return Some(fault),
        };
        let is_all = value.pointer.as_deref() == Some("") && value.name == "arguments";
        let fault = is_all.then(|| serde_json::from_str::<Value>(text).err());
        // The rules read an empty text as no arguments.
        if let Some(error) = fault.flatten().filter(|_| !text.trim().is_empty()) {
            let fault = match first_error(text) {
                Some(SyntaxError { line, column, .. }) => {
                    let ends = if error.is_eof() {
                        "it ends too early, "
                    } else {
                        ""
                    };
                    format!("not JSON: {ends}line {line}, column {column}")
                }
                None => not_json(&error),
            };
            return Some(format!("{fault} (you can still accept it)"));
        }
        let found = self.violations(&json).into_iter();
        let found: Vec<_> = found.filter(|it| is_at(it, value)).collect();
        let (own, rest) = found.split_at(found.len().min(TOLD));
        // Where it is the only value, the place says which member is meant.
        let mut reasons = match is_all {
            true => lines(own),
            false => own.iter().map(|it| it.message.clone()).collect(),
        };
        if !rest.is_empty() {
            reasons.push(format!("and {} more", rest.len()));
        }
        let subject = match is_all && text.trim().is_empty() {
            true => "empty is read as {}, which does not",
            false => "does not",
        };
        (!found.is_empty()).then(|| {
            let reasons = reasons.join("; ");
            format!("{subject} match the schema: {reasons} (you can still accept it)")
        })
    }
}

/// Whether a value is written in one line: it is no object or array, and has no line break.
fn is_line(value: &ItemValue, text: &str) -> bool {
    let types = value.schema.as_ref().map(types_of).unwrap_or_default();
    let is_container = match text.trim_start().chars().next() {
        _ if value.is_string => false,
        Some(first) => matches!(first, '{' | '['),
        None => types.iter().any(|it| it == "object" || it == "array"),
    };
    !is_container && !text.contains('\n')
}

/// What a value may be, as it is written, where its schema lists that.
fn choices_of(value: &ItemValue) -> Vec<String> {
    let Some(schema) = &value.schema else {
        return Vec::new();
    };
    let listed = match schema.get("enum") {
        Some(Value::Array(listed)) => listed.clone(),
        _ if types_of(schema) == ["boolean"] => vec![true.into(), false.into()],
        _ => Vec::new(),
    };
    let written = |choice: &Value| match (choice, value.is_string) {
        (Value::String(text), true) => Some(text.clone()),
        (_, true) => None,
        (choice, false) => Some(choice.to_string()),
    };
    listed.iter().filter_map(written).collect()
}

/// Whether a violation is about a value or something in it.
fn is_at(violation: &Violation, value: &ItemValue) -> bool {
    let inside = value.pointer.as_ref();
    let inside = inside.and_then(|pointer| violation.pointer.strip_prefix(pointer.as_str()));
    inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is edited, and what the schema says about it.
fn value_purpose(value: &ItemValue, kind: Kind) -> String {
    let how = if value.is_string {
        "as text"
    } else {
        "as JSON"
    };
    let name = match (value.name.as_str(), kind) {
        ("arguments" | "input", _) => format!("the {}", value.name),
        ("text", Kind::Output) => "the output".to_owned(),
        ("text", _) => "the message".to_owned(),
        (name, _) => name.to_owned(),
    };
    let mut purpose = format!("{name}, {how}");
    let Some(schema) = &value.schema else {
        return purpose;
    };
    let types = types_of(schema);
    if !types.is_empty() {
        purpose.push_str(&format!("; the schema: {}", types.join(" or ")));
    }
    if let Some(Value::Array(choices)) = schema.get("enum") {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        purpose.push_str(&format!(", one of {}", choices.join(", ")));
    }
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        purpose.push_str(&format!("\n{description}"));
    }
    purpose
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
        (Some(Kind::Call | Kind::Output), _) => {
            format!("the output to continue with{}", unchecked_output(attempt))
        }
        (_, Some(schema)) => format!("the value to continue with: {}", outline(&schema.schema)),
        (_, None) => format!("the value to continue with{UNCHECKED}"),
    }
}

/// What an output is for that the operator writes.
pub(super) fn output_purpose(attempt: &Attempt) -> String {
    format!("what the tool returns{}", unchecked_output(attempt))
}

const UNCHECKED: &str = "; no output schema recorded: not checked";

/// That an output of this tool cannot be checked; empty where it is.
fn unchecked_output(attempt: &Attempt) -> &'static str {
    let (session, item) = (
        attempt.document.session(attempt.place.session),
        attempt.place.item,
    );
    let is_checked = session.is_some_and(|session| {
        let item = session
            .pairing
            .partner(item)
            .map_or(item, |it| it.min(item));
        let run = Run::new(session, None);
        let tool = run.offered(item);
        let tool = tool.and_then(|offered| offered.tool(session.items.get(item)?.name));
        tool.is_some_and(|tool| tool.output_schema.is_some())
    });
    if is_checked { "" } else { UNCHECKED }
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
