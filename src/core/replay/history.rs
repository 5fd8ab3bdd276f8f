//! A history in the form that is compared, from the items of a session.
//!
//! Dialects order what belongs together differently: Chat has the text of a reply before its calls, outputs of
//! parallel calls come in any order, and a message over many lines has outputs in between. So a history has two
//! forms, by turns and as its items stand; whoever has one of them in common says the same.

use super::content::{content, words};
use super::said::{Input, Said, Who};
use crate::dialects::{Arguments, body_of};
use crate::redact::{holds_placeholder, without_tags};
use crate::session::{Kind, Session, SourceError};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Reads an item; `None` for what is not compared, and for a message without words.
pub(super) fn piece(session: &Session, index: usize) -> Result<Option<Said>, SourceError> {
    let item = &session.items[index];
    let who = match item.kind {
        Kind::User => Who::User,
        Kind::Assistant => Who::Assistant,
        Kind::Call => Who::Call,
        Kind::Output => Who::Output,
        _ => return Ok(None),
    };
    let mut piece = Said {
        item: index,
        who,
        name: String::new(),
        text: String::new(),
        input: Input::Json(Value::Null),
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
pub(super) fn input(arguments: &Arguments) -> Input {
    match arguments {
        Arguments::FreeForm(text) => Input::Json(json!({"input": without_tags(text)})),
        other => {
            let text = without_tags(other.json().unwrap_or_default());
            let read = serde_json::from_str(&text);
            read.map_or_else(|_| Input::Broken(text.into_owned()), Input::Json)
        }
    }
}

/// The same history in both forms, each once.
pub(super) fn forms(session: &Session, pieces: Vec<Said>) -> Vec<Vec<Said>> {
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
    pub(super) fn push(&mut self, piece: &Said) {
        let is_of_reply = piece.is_of_reply();
        self.count += usize::from(is_of_reply && !self.is_open);
        self.is_open = is_of_reply;
    }
}

/// Each reply whole, the outputs of its calls right behind it.
fn by_turns(session: &Session, pieces: &[Said]) -> Vec<Said> {
    let mut outputs: HashMap<usize, Vec<&Said>> = HashMap::new();
    let known = pieces.iter().filter(|piece| piece.who == Who::Call);
    let known: HashSet<usize> = known.map(|piece| piece.item).collect();
    let belongs = |piece: &Said| piece.answers.filter(|call| known.contains(call));
    for piece in pieces {
        if let Some(call) = belongs(piece) {
            outputs.entry(call).or_default().push(piece);
        }
    }
    let turn = |piece: &Said| session.items[piece.item].turn;
    let mut ordered = Vec::with_capacity(pieces.len());
    for of_turn in pieces.chunk_by(|one, other| turn(one) == turn(other)) {
        let (reply, rest): (Vec<&Said>, Vec<&Said>) = of_turn
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
fn settled(pieces: Vec<Said>) -> Vec<Said> {
    let run = |piece: &Said| match piece.who {
        Who::User => Run::User,
        Who::Assistant | Who::Call => Run::Reply,
        Who::Output => Run::Outputs,
    };
    let mut all: Vec<Said> = Vec::with_capacity(pieces.len());
    let mut calls: HashMap<usize, usize> = HashMap::new();
    for pieces in pieces.chunk_by(|one, other| run(one) == run(other)) {
        let (texts, others): (Vec<&Said>, Vec<&Said>) = pieces
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
fn joined(texts: &[&Said]) -> Option<Said> {
    let first = (*texts.first()?).clone();
    let lines = texts.iter().map(|piece| piece.text.as_str());
    let text = lines.collect::<Vec<_>>().join("\n");
    Some(Said { text, ..first })
}
