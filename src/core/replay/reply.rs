//! A recorded turn in the words of whoever asks for it.

use super::content::{content, texts_and_refusals, words};
use super::record::{self, Noted};
use super::tape::{Place, Tape};
use crate::dialects::write::{End, NewCall, NewReply};
use crate::dialects::{Arguments, body_of};
use crate::formats::convert::LossKind;
use crate::session::{Dialect, Family, Flags, Item, Kind, Session, Shape, SourceError};
use std::ops::Range;

/// A turn as it is served.
#[derive(Debug, Clone)]
pub struct Reply {
    pub said: NewReply,
    /// What the recording has beside it and the reply has not; each once.
    pub left_out: Vec<LossKind>,
    /// Milliseconds until the reply began, and until it ended, as far as they were recorded.
    pub took: [Option<u64>; 2],
}

impl Tape {
    /// A turn as a reply in a dialect. `asked` is the model that was asked for: it is named where
    /// the recording names none.
    pub fn reply(&self, place: Place, dialect: Dialect, asked: &str) -> Result<Reply, SourceError> {
        let session = &self.reels[place.session].session;
        let turn = session.turns[self.recorded(place).turn];
        let mut writing = Writing::of(session, dialect);
        writing.said.model = session.model.clone().unwrap_or_else(|| asked.to_owned());
        writing.said.tag = format!("replay{}t{}", place.session + 1, self.turn(place));
        for index in turn.items() {
            writing.add(index)?;
        }
        writing.said.end = end_of(session, turn.items());
        let mut left_out = writing.left_out;
        left_out.sort();
        left_out.dedup();
        let Noted { usage, took } = record::noted(session, turn.items())?;
        (writing.said.input_tokens, writing.said.output_tokens) = (usage.input, usage.output);
        Ok(Reply {
            said: writing.said,
            left_out,
            took,
        })
    }
}

/// A reply that is being put together.
struct Writing<'a> {
    session: &'a Session,
    dialect: Dialect,
    said: NewReply,
    /// The index of the item that the last text is of.
    last_text: Option<usize>,
    left_out: Vec<LossKind>,
}

impl<'a> Writing<'a> {
    fn of(session: &'a Session, dialect: Dialect) -> Self {
        Self {
            session,
            dialect,
            said: NewReply::default(),
            last_text: None,
            left_out: Vec::new(),
        }
    }

    fn add(&mut self, index: usize) -> Result<(), SourceError> {
        let session = self.session;
        let item = &session.items[index];
        match item.kind {
            Kind::Assistant => {
                let content = content(session, item)?;
                let [mut text, mut refusal] =
                    texts_and_refusals(&content).map(|parts| parts.concat());
                if item.flags.has(Flags::REFUSAL) && refusal.is_empty() {
                    std::mem::swap(&mut text, &mut refusal);
                }
                if !refusal.is_empty() {
                    add_line(&mut self.said.refusal, &refusal);
                }
                if !text.is_empty() || refusal.is_empty() {
                    self.add_text(index, text);
                }
                self.add_reasoning(&content.reasoning);
            }
            Kind::Reasoning => match words(&content(session, item)?) {
                none if none.is_empty() => self.left_out.push(LossKind::Reasoning),
                text => self.add_reasoning(&text),
            },
            Kind::Call => self.call(index, item)?,
            Kind::HostedCall | Kind::HostedOutput => {
                let tool = Some(session.name(item)).filter(|name| !name.is_empty());
                let tool = tool.unwrap_or("a tool").to_owned();
                self.left_out.push(LossKind::Hosted { tool });
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the text of a message, or of a block of Anthropic: what a citation splits there
    /// is one message elsewhere.
    fn add_text(&mut self, index: usize, text: String) {
        let is_block = self.session.items[index].shape == Shape::Anthropic;
        let goes_on = self.last_text.is_some() && self.last_text == index.checked_sub(1);
        self.last_text = Some(index);
        match self.said.texts.last_mut() {
            Some(last) if is_block && goes_on && !self.dialect.facts().has_blocks => {
                last.push_str(&text);
            }
            Some(last) if last.is_empty() => *last = text,
            Some(_) if text.is_empty() => {}
            _ => self.said.texts.push(text),
        }
    }

    fn add_reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.dialect == self.session.dialect {
            true => add_line(&mut self.said.reasoning, text),
            false => self.left_out.push(LossKind::Reasoning),
        }
    }

    fn call(&mut self, index: usize, item: &Item) -> Result<(), SourceError> {
        let bytes = self.session.bytes(item)?;
        let written = body_of(item, &bytes).unwrap_or_default().arguments;
        let mut input = None;
        let arguments = match item.family {
            Family::Function | Family::Legacy => match written.as_written() {
                "" => "{}".to_owned(),
                written => written.to_owned(),
            },
            family => {
                input = match &written {
                    Arguments::FreeForm(text) if self.takes(family) => Some(text.clone()),
                    _ => {
                        self.left_out.push(LossKind::as_function(family));
                        None
                    }
                };
                match super::history::input(&written) {
                    super::Input::Json(value) if value.is_object() => value.to_string(),
                    _ => serde_json::json!({"input": written.as_written()}).to_string(),
                }
            }
        };
        let id = match self.session.call_id(item)? {
            id if id.is_empty() => format!("call_{}", index + 1),
            id => id,
        };
        self.said.calls.push(NewCall {
            id,
            name: self.session.name(item).to_owned(),
            arguments,
            input,
        });
        Ok(())
    }

    /// Whether whoever asks knows calls of custom tools, and this is one.
    fn takes(&self, family: Family) -> bool {
        family == Family::Custom && self.dialect.facts().made_custom_calls
    }
}

/// Adds a line to a text that may not be there yet.
fn add_line(text: &mut Option<String>, line: &str) {
    let text = text.get_or_insert_default();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Why a turn ended.
fn end_of(session: &Session, items: Range<usize>) -> End {
    let stops = session.stops.iter();
    let stop = stops
        .rev()
        .find(|stop| items.contains(&(stop.item as usize)));
    let is_cut = session.items[items.clone()]
        .iter()
        .any(|item| item.kind.is_from_model() && item.flags.has(Flags::INCOMPLETE));
    match stop {
        Some(stop) if stop.is_token_limit() => End::Length,
        Some(stop) if stop.reason == "content_filter" => End::ContentFilter,
        None if is_cut => End::Length,
        Some(_) | None => End::Natural,
    }
}
