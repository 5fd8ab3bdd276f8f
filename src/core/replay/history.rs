//! A history in the form that is compared, from the items of a session.
//!
//! Dialects order what belongs together differently: Chat has the text of a reply before its calls, outputs of
//! parallel calls come in any order, and a message over many lines has outputs in between. So a history has two
//! forms, by turns and as its items stand; whoever has one of them in common says the same.

use crate::formats::convert::sanitised;
use crate::redact::{holds_placeholder, without_tags};
use crate::session::{Item, Kind, Session, SourceResult};
use crate::wire::{Arguments, Content, Part, body_of};
use serde_json::{Map, Number, Value, json};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Reads an item; `None` for what is not compared, and for a message without words.
pub(super) fn piece(session: &Session, index: usize) -> SourceResult<Option<HistoryEntry>> {
    let item = &session.items[index];
    let who = match item.kind {
        Kind::User => Who::User,
        Kind::Assistant => Who::Assistant,
        Kind::Call => Who::Call,
        Kind::Output => Who::Output,
        _ => return Ok(None),
    };
    let mut piece = HistoryEntry {
        item: index,
        who,
        name: String::new(),
        text: String::new(),
        input: CallText::Json(Value::Null),
        answers: None,
        is_redacted: false,
    };
    if who == Who::Call {
        let body = body_of(item, &session.bytes(item)?).unwrap_or_default();
        piece.name = session.name(item).to_owned();
        piece.is_redacted = holds_placeholder(body.arguments.as_written());
        piece.input = input(&body.arguments);
        return Ok(Some(piece));
    }
    let words = words(&content(session, item)?);
    piece.is_redacted = holds_placeholder(&words);
    piece.text = without_tags(&words).into_owned();
    if who == Who::Output {
        let partner = session.pairing.partner(index);
        piece.answers = partner.filter(|call| session.items[*call].kind == Kind::Call);
    } else if piece.text.is_empty() {
        return Ok(None);
    }
    Ok(Some(piece))
}

/// What a call was called with, whoever spelled it.
pub(super) fn input(arguments: &Arguments) -> CallText {
    match arguments {
        Arguments::FreeForm(text) => CallText::Json(json!({"input": without_tags(text)})),
        other => {
            let text = without_tags(other.json().unwrap_or_default());
            let read = serde_json::from_str(&text);
            read.map_or_else(|_| CallText::Broken(text.into_owned()), CallText::Json)
        }
    }
}

/// The same history in both forms, each once.
pub(super) fn forms(session: &Session, pieces: Vec<HistoryEntry>) -> Vec<Vec<HistoryEntry>> {
    let by_turns = settled(by_turns(session, &pieces));
    let as_they_stand = settled(pieces);
    if by_turns == as_they_stand {
        return vec![by_turns];
    }
    vec![by_turns, as_they_stand]
}

/// How many replies a history holds, by its pieces in their order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Replies {
    pub(super) count: usize,
    is_open: bool,
}

impl Replies {
    pub(super) fn push(&mut self, piece: &HistoryEntry) {
        let is_of_reply = piece.is_of_reply();
        self.count += usize::from(is_of_reply && !self.is_open);
        self.is_open = is_of_reply;
    }
}

/// Each reply whole, the outputs of its calls right after it.
fn by_turns(session: &Session, pieces: &[HistoryEntry]) -> Vec<HistoryEntry> {
    let mut outputs: HashMap<usize, Vec<&HistoryEntry>> = HashMap::new();
    let known = pieces.iter().filter(|piece| piece.who == Who::Call);
    let known: HashSet<usize> = known.map(|piece| piece.item).collect();
    let belongs = |piece: &HistoryEntry| piece.answers.filter(|call| known.contains(call));
    for piece in pieces {
        if let Some(call) = belongs(piece) {
            outputs.entry(call).or_default().push(piece);
        }
    }
    let turn = |piece: &HistoryEntry| session.items[piece.item].turn;
    let mut ordered = Vec::with_capacity(pieces.len());
    for of_turn in pieces.chunk_by(|one, other| turn(one) == turn(other)) {
        let (reply, rest): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) = of_turn
            .iter()
            .filter(|piece| belongs(piece).is_none())
            .partition(|piece| piece.is_of_reply());
        let calls = reply.iter().map(|piece| piece.item);
        let answers = calls.filter_map(|call| outputs.get(&call));
        let answers = answers.flatten().copied().collect::<Vec<_>>();
        ordered.extend(reply.into_iter().chain(answers).chain(rest).cloned());
    }
    ordered
}

/// What a run of pieces is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    User,
    Reply,
    Outputs,
}

/// Runs of the same kind in one order: the texts of a reply before its calls, outputs in the
/// order of the calls.
fn settled(pieces: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let run = |piece: &HistoryEntry| match piece.who {
        Who::User => Run::User,
        Who::Assistant | Who::Call => Run::Reply,
        Who::Output => Run::Outputs,
    };
    let mut all: Vec<HistoryEntry> = Vec::with_capacity(pieces.len());
    let mut calls: HashMap<usize, usize> = HashMap::new();
    for pieces in pieces.chunk_by(|one, other| run(one) == run(other)) {
        let (texts, others): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) = pieces
            .iter()
            .partition(|piece| matches!(piece.who, Who::User | Who::Assistant));
        all.extend(joined(&texts));
        for piece in &others {
            if piece.who == Who::Call {
                let number = calls.len();
                calls.insert(piece.item, number);
            }
            all.push((*piece).clone());
        }
    }
    for one in &mut all {
        // An output may stand before its call, so that all calls have their numbers first.
        one.answers = one.answers.and_then(|call| calls.get(&call).copied());
    }
    for outputs in all.chunk_by_mut(|one, other| one.who == Who::Output && other.who == Who::Output)
    {
        outputs.sort_by_key(|output| output.answers.unwrap_or(usize::MAX));
    }
    all
}

/// Messages in a row as one.
fn joined(texts: &[&HistoryEntry]) -> Option<HistoryEntry> {
    let first = (*texts.first()?).clone();
    let lines = texts.iter().map(|piece| piece.text.as_str());
    let text = lines.collect::<Vec<_>>().join("\n");
    Some(HistoryEntry { text, ..first })
}

// One thing of a history, in the form that is compared.

/// A message, a call or an output, as it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HistoryEntry {
    /// Who speaks: what it is.
    pub(super) who: Who,
    /// Index of the item in its session; of several that count as one, the first.
    pub(super) item: usize,
    /// The tool of a call, as it is recorded.
    pub(super) name: String,
    /// What a message or an output says.
    pub(super) text: String,
    /// What a call is called with.
    pub(super) input: CallText,
    /// The call that an output answers: its index in the session; in a form of a history its number among the
    /// calls, from 0.
    pub(super) answers: Option<usize>,
    /// Whether a secret was taken out of it when it was written.
    pub(super) is_redacted: bool,
}

/// What a part of a history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Who {
    /// A message of the user.
    User,
    /// A message of the model.
    Assistant,
    Call,
    Output,
}

impl Who {
    pub(super) fn word(self) -> &'static str {
        self.into()
    }
}

/// What a call is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallText {
    /// JSON; of a free-form tool `{"input": text}`, which is what a dialect without such tools makes of it.
    Json(Value),
    /// A text that is no JSON.
    Broken(String),
}

impl HistoryEntry {
    /// A number that does not depend on the order of the messages, nor on how the text is divided into
    /// messages. The model's text does not count: it may be divided anywhere.
    pub(super) fn fingerprint(&self) -> u64 {
        let name = match self.who {
            Who::Assistant => return 0,
            Who::Call => name_for_all(&self.name),
            Who::User | Who::Output => String::new(),
        };
        let lines = self.text.lines().chain([name.as_str()]);
        let lines = lines.filter(|line| !line.trim().is_empty());
        lines.fold(0, |sum: u64, line| {
            let mut hasher = DefaultHasher::new();
            line.trim().hash(&mut hasher);
            sum.wrapping_add(hasher.finish())
        })
    }

    /// Whether it is a part of a reply.
    pub(super) fn is_of_reply(&self) -> bool {
        matches!(self.who, Who::Assistant | Who::Call)
    }

    /// Whether a request says the same as this, which is recorded. Some dialects take JSON objects only, so that
    /// there any object means other arguments.
    pub(super) fn is_repeated_by(&self, request: &Self, takes_objects_only: bool) -> bool {
        let is_same_input = match (&self.input, &request.input) {
            (CallText::Json(one), CallText::Json(other)) if equal(one, other) => true,
            (CallText::Json(one), CallText::Json(_)) => takes_objects_only && !one.is_object(),
            (CallText::Broken(_), CallText::Json(_)) => takes_objects_only,
            (one, other) => one == other,
        };
        self.who == request.who
            && name_for_all(&self.name) == name_for_all(&request.name)
            && self.is_same_text(request)
            && self.answers == request.answers
            && is_same_input
    }

    /// A reply is divided into messages and parts by each dialect and SDK in its own way, so that where white
    /// space is in what the model says means nothing.
    fn is_same_text(&self, request: &Self) -> bool {
        match self.who {
            Who::Assistant => letters(&self.text).eq(letters(&request.text)),
            Who::User | Who::Call | Who::Output => self.text == request.text,
        }
    }

    /// All that is compared, as one text.
    pub(super) fn key(&self) -> String {
        let input = match &self.input {
            CallText::Json(value) => canonical(value).to_string(),
            CallText::Broken(text) => text.clone(),
        };
        let (who, name) = (self.who.word(), name_for_all(&self.name));
        let answers = self.answers.map_or(-1, |call| call as i64);
        let text = match self.who {
            Who::Assistant => letters(&self.text).collect(),
            Who::User | Who::Call | Who::Output => self.text.clone(),
        };
        format!("{who}\0{name}\0{answers}\0{input}\0{text}")
    }

    /// What there is to read of it: a text, or the tool with its arguments.
    pub(super) fn words(&self) -> String {
        match (self.who, &self.input) {
            (Who::Call, CallText::Json(value)) => format!("{} {value}", self.name),
            (Who::Call, CallText::Broken(text)) => format!("{} {text}", self.name),
            _ => self.text.clone(),
        }
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| !letter.is_whitespace())
}

/// A tool's name in the letters that every provider takes, as `convert` writes it.
pub(super) fn name_for_all(name: &str) -> String {
    sanitised(name, LONGEST_NAME)
}

/// Chat takes no longer name (OpenAI API reference, `FunctionObject`).
const LONGEST_NAME: usize = 64;

/// Whether two values are the same: members in any order, `1` and `1.0` are one number.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    one == other || canonical(one) == canonical(other)
}

/// The value with its members in order and each number in one spelling.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(canonical).collect()),
        Value::Object(members) => {
            let mut sorted = members.iter().collect::<Vec<_>>();
            sorted.sort_by_key(|(key, _)| *key);
            let sorted = sorted.into_iter();
            let sorted = sorted.map(|(key, value)| (key.clone(), canonical(value)));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|real| {
                // Beyond 2^53 a double is no exact whole number.
                real.fract() == 0.0 && real.abs() < 9_007_199_254_740_992.0
            });
            whole.map_or_else(
                || value.clone(),
                |whole| Value::Number(Number::from(whole as i64)),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

// What an item says, in words that all dialects share: what is not text is put in brackets.

/// The content of an item. What is no JSON says nothing.
pub(super) fn content(session: &Session, item: &Item) -> SourceResult<Content> {
    let bytes = session.bytes(item)?;
    Ok(Content::of(item, &bytes).unwrap_or_default())
}

/// The texts of a content and its refusals, part by part.
pub(super) fn texts_and_refusals(content: &Content) -> [Vec<String>; 2] {
    let is_refusal = |part: &&Part| matches!(part, Part::Refusal(_));
    let (refusals, texts): (Vec<&Part>, Vec<&Part>) = content.parts.iter().partition(is_refusal);
    [texts, refusals].map(|parts| parts.into_iter().map(words_of).collect())
}

/// Text and refusal, the parts one below the other: in a history they are one. A part without words is
/// none, since not every provider takes one.
pub(super) fn words(content: &Content) -> String {
    let mut parts = texts_and_refusals(content).concat();
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

fn words_of(part: &Part) -> String {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.clone(),
        Part::Json(json) => match serde_json::from_str::<Value>(json) {
            Ok(value) => value.to_string(),
            Err(_) => json.clone(),
        },
        Part::Image(url) => picture(url),
        Part::Other(of_type) => format!("[{of_type}]"),
        Part::Call(_) | Part::Result(_) => String::new(),
    }
}

/// A picture in brackets: where it is, or which one of so many characters it is.
fn picture(url: &str) -> String {
    if !url.starts_with("data:") {
        return format!("[picture {url}]");
    }
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let (length, hash) = (url.len(), hasher.finish());
    format!("[picture of {length} characters, {hash:016x}]")
}
