//! A history in the form that is compared, from the items of a session.
//!
//! Dialects order what belongs together differently: Chat has the text of a reply before its calls, outputs of
//! parallel calls come in any order, and a message over many lines has outputs in between. So a history has two
//! forms, by turns and as its items stand; whoever has one of them in common says the same.

use super::content::Content;
use super::said::{Input, Said, Who, name_for_all};
use crate::dialects::{Arguments, body_of};
use crate::redact::{holds_placeholder, without_tags};
use crate::session::{Kind, Session, SourceError};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An item as far as it is compared.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Its index in the session.
    pub(super) item: usize,
    who: Who,
    name: String,
    text: String,
    input: Input,
    /// The call that an output answers.
    call: Option<usize>,
    /// Whether a secret was taken out of it when it was written.
    pub(super) is_redacted: bool,
}

/// Reads an item; `None` for what is not compared, and for a message without words.
pub(super) fn piece(session: &Session, index: usize) -> Result<Option<Piece>, SourceError> {
    let item = &session.items[index];
    let who = match item.kind {
        Kind::User => Who::User,
        Kind::Assistant => Who::Assistant,
        Kind::Call => Who::Call,
        Kind::Output => Who::Output,
        _ => return Ok(None),
    };
    let bytes = session.bytes(item)?;
    let mut piece = Piece {
        item: index,
        who,
        name: String::new(),
        text: String::new(),
        input: Input::Json(Value::Null),
        call: None,
        is_redacted: false,
    };
    if who == Who::Call {
        let body = body_of(item, &bytes).unwrap_or_default();
        piece.name = session.name(item).to_owned();
        piece.is_redacted = holds_placeholder(body.arguments.as_written());
        piece.input = input(&body.arguments);
        return Ok(Some(piece));
    }
    let words = Content::of(item, &bytes).words();
    piece.is_redacted = holds_placeholder(&words);
    piece.text = without_tags(&words).into_owned();
    if who == Who::Output {
        let partner = session.pairing.partner(index);
        piece.call = partner.filter(|call| session.items[*call].kind == Kind::Call);
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

impl Piece {
    /// A number that does not hang on the order in which things are said, nor on how many messages they are
    /// said in. What the model says counts nothing: it may be divided anywhere.
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
}

/// The same history in both forms, each once.
pub(super) fn forms(session: &Session, pieces: Vec<Piece>) -> Vec<Vec<Said>> {
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
    pub(super) fn push(&mut self, piece: &Piece) {
        let is_of_reply = piece.is_of_reply();
        self.count += usize::from(is_of_reply && !self.is_open);
        self.is_open = is_of_reply;
    }
}

/// Each reply whole, the outputs of its calls right behind it.
fn by_turns(session: &Session, pieces: &[Piece]) -> Vec<Piece> {
    let mut outputs: HashMap<usize, Vec<&Piece>> = HashMap::new();
    let known = pieces.iter().filter(|piece| piece.who == Who::Call);
    let known: HashSet<usize> = known.map(|piece| piece.item).collect();
    let belongs = |piece: &Piece| piece.call.filter(|call| known.contains(call));
    for piece in pieces {
        if let Some(call) = belongs(piece) {
            outputs.entry(call).or_default().push(piece);
        }
    }
    let turn = |piece: &Piece| session.items[piece.item].turn;
    let mut ordered = Vec::with_capacity(pieces.len());
    for of_turn in pieces.chunk_by(|one, other| turn(one) == turn(other)) {
        let (reply, rest): (Vec<&Piece>, Vec<&Piece>) = of_turn
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
fn settled(pieces: Vec<Piece>) -> Vec<Said> {
    let run = |piece: &Piece| match piece.who {
        Who::User => Run::User,
        Who::Assistant | Who::Call => Run::Reply,
        Who::Output => Run::Outputs,
    };
    let mut all: Vec<Said> = Vec::with_capacity(pieces.len());
    let mut calls: HashMap<usize, usize> = HashMap::new();
    for pieces in pieces.chunk_by(|one, other| run(one) == run(other)) {
        let (texts, others): (Vec<&Piece>, Vec<&Piece>) = pieces
            .iter()
            .partition(|piece| matches!(piece.who, Who::User | Who::Assistant));
        all.extend(joined(&texts));
        for piece in &others {
            if piece.who == Who::Call {
                let number = calls.len();
                calls.insert(piece.item, number);
            }
            all.push(said(piece, piece.text.clone()));
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
fn joined(texts: &[&Piece]) -> Option<Said> {
    let first = texts.first()?;
    let lines = texts.iter().map(|piece| piece.text.as_str());
    Some(said(first, lines.collect::<Vec<_>>().join("\n")))
}

fn said(piece: &Piece, text: String) -> Said {
    Said {
        who: piece.who,
        item: piece.item,
        name: piece.name.clone(),
        text,
        input: piece.input.clone(),
        answers: piece.call,
    }
}
