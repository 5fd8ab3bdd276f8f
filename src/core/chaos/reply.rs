//! The turn of a whole reply that is changed, in the spelling of its dialect.

use crate::json::{Result, display_text};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Family, Item, Kind, Patch};
use crate::wire::write::edit::{
    call_id, elements, items_of, member, with_elements, with_value, without_calls,
};
use crate::wire::write::{history_of, quoted, rename, replace_arguments, set_call_id, set_member};
use crate::wire::{Content, Element, Part, Role, body_of, stop_of};
use serde_json::{Map, Value};
use std::ops::Range;

/// A whole reply. Members that no change is about stay.
#[derive(Debug, Clone)]
pub struct ChaosReply {
    dialect: Dialect,
    whole: String,
    /// Its turn, as elements of a history.
    turn: Vec<String>,
}

/// A call of a function tool in a reply.
#[derive(Debug, Clone)]
pub(super) struct ReplyCall {
    pub(super) name: String,
    /// As the model wrote them.
    pub(super) arguments: String,
    /// The element that holds it, and where it is.
    element: usize,
    at: Range<usize>,
    item: Item,
}

impl ChaosReply {
    /// Reads a reply; `None` where it is none of the dialect.
    pub(super) fn read(dialect: Dialect, json: &str) -> Option<Self> {
        Some(Self {
            dialect,
            whole: json.to_owned(),
            turn: history_of(dialect, json).ok()?,
        })
    }

    pub(super) fn into_json(self) -> String {
        let codec = self.dialect.codec();
        codec.reply_with(&self.whole, &self.turn, Usage::default())
    }

    /// The calls of function tools, in the order of the reply.
    pub(super) fn calls(&self) -> Vec<ReplyCall> {
        let turn = self.turn.iter().enumerate();
        let calls = turn.flat_map(|(element, text)| {
            let found = items_of(self.dialect, text);
            let calls = found.items.iter();
            let calls = calls.filter(|item| item.kind == Kind::Call && is_function(item.family));
            let calls = calls.map(|item| {
                let at = place(item);
                let body = body_of(item, text[at.clone()].as_bytes()).unwrap_or_default();
                ReplyCall {
                    name: found.names.text(item.name).to_owned(),
                    arguments: body.arguments.as_written().to_owned(),
                    element,
                    at,
                    item: *item,
                }
            });
            calls.collect::<Vec<_>>()
        });
        calls.collect()
    }

    /// Changes the call at this place.
    fn change(&mut self, place: usize, patches: impl Fn(&Item, &[u8]) -> Result<Vec<Patch>>) {
        let Some(call) = self.calls().into_iter().nth(place) else {
            return;
        };
        let element = &mut self.turn[call.element];
        let mut text = element[call.at.clone()].to_owned();
        // What cannot be walked stays.
        for patch in patches(&call.item, text.clone().as_bytes())
            .into_iter()
            .flatten()
            .rev()
        {
            text.replace_range(patch.at, &String::from_utf8_lossy(&patch.with));
        }
        *element = with_value(element, &call.at, &text);
    }

    /// Changes the tool of the call at this place.
    pub(super) fn rename(&mut self, place: usize, name: &str) {
        self.change(place, |item, bytes| rename(item, bytes, name));
    }

    /// Changes the arguments of the call at this place. A dialect that holds them as an object holds those that
    /// are none as a text.
    pub(super) fn set_arguments(&mut self, place: usize, arguments: &str) {
        let is_object = || serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
        let arguments = match self.dialect.facts().object_arguments && !is_object() {
            true => quoted(arguments),
            false => arguments.to_owned(),
        };
        self.change(place, |item, bytes| {
            replace_arguments(item, bytes, &arguments).map(|patch| vec![patch])
        });
    }

    /// Gives the call at one place the id of another.
    pub(super) fn share_id(&mut self, from: usize, to: usize) {
        let calls = self.calls();
        let call = calls.get(from);
        let id = call.and_then(|call| call_id(&self.turn[call.element], &call.item));
        let id = display_text(id.unwrap_or_default().as_bytes()).into_owned();
        if id.is_empty() {
            return;
        }
        self.change(to, |item, bytes| set_call_id(item, bytes, &id));
    }

    /// Makes the call at this place twice.
    pub(super) fn repeat_call(&mut self, place: usize) {
        let calls = self.calls();
        let (Some(call), Some(last)) = (calls.get(place), calls.last()) else {
            return;
        };
        let mut copy = self.turn[call.element][call.at.clone()].to_owned();
        let own_id = member(&copy, "id").filter(|_| self.dialect.facts().item_ids);
        if let Some(at) = own_id {
            // Items have ids beside those of calls, and these stay unique.
            copy.insert_str(at.end - 1, "_2");
        }
        match self.dialect.facts().calls_key {
            None => self.turn.insert(last.element + 1, copy),
            Some(_) => self.turn[last.element].insert_str(last.at.end, &format!(",{copy}")),
        }
    }

    /// Takes all calls out; the turn ends as one without calls does.
    pub(super) fn remove_calls(&mut self) {
        let calls = self.calls();
        let turn = std::mem::take(&mut self.turn).into_iter().enumerate();
        let turn = turn.filter_map(|(element, text)| {
            let gone = calls.iter().filter(|call| call.element == element);
            let gone = gone.map(|call| call.at.start).collect::<Vec<_>>();
            without_calls(self.dialect, &text, &gone)
        });
        self.turn = turn.collect();
    }

    /// Whether the turn ends the run: it is complete, and calls nothing.
    pub(super) fn is_final(&self) -> bool {
        let found = self.turn.iter().map(|text| items_of(self.dialect, text));
        let mut items = found.flat_map(|found| found.items);
        let is_said = items.all(|item| matches!(item.kind, Kind::Assistant | Kind::Reasoning));
        let stop = stop_of(&self.whole);
        is_said && stop.is_none_or(|word| matches!(&*word, "end_turn" | "stop" | "STOP"))
    }

    /// What the turn says.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for element in &self.turn {
            let found = items_of(self.dialect, element).items.into_iter();
            for item in found.filter(|item| item.kind == Kind::Assistant) {
                let content = Content::of(&item, element[place(&item)].as_bytes());
                for part in content.unwrap_or_default().parts {
                    if let Part::Text(part) = part {
                        text.push_str(&part);
                    }
                }
            }
        }
        text
    }

    /// Says this text and no other; nothing with an empty one.
    pub(super) fn say(&mut self, text: &str) {
        let facts = self.dialect.facts();
        let parts = vec![Part::Text(text.to_owned())];
        let text_blocks = Element::new(Role::Model, parts);
        let text_blocks = self.dialect.codec().write_element(&text_blocks);
        let items = |element: &str| items_of(self.dialect, element).items;
        let is_text = |item: &Item| item.kind == Kind::Assistant;
        let Some(key) = facts.calls_key else {
            let turn = self.turn.iter();
            let turn = turn.map(|element| (items(element).iter().all(is_text), element.as_str()));
            self.turn = with_texts(turn.collect(), text_blocks);
            return;
        };
        let Some(message) = self.turn.last_mut() else {
            return;
        };
        if facts.has_blocks
            && let Some(list) = member(message, key)
        {
            let texts = items(message).into_iter().filter(is_text);
            let texts = texts.map(|item| place(&item)).collect::<Vec<_>>();
            let blocks = elements(message, &list).into_iter();
            let blocks = blocks.map(|at| (texts.contains(&at), &message[at]));
            // A block without words is refused.
            let text_blocks = if text.is_empty() {
                Vec::new()
            } else {
                text_blocks
            };
            let blocks = with_texts(blocks.collect(), text_blocks);
            let blocks = blocks.iter().map(String::as_str).collect::<Vec<_>>();
            *message = with_elements(message, &list, &blocks);
        } else if let Ok(patch) = set_member(message.as_bytes(), 0, "content", &quoted(text)) {
            message.replace_range(patch.at, &String::from_utf8_lossy(&patch.with));
        }
    }
}

/// Parts, of which some are texts, with others in the place of these.
fn with_texts(parts: Vec<(bool, &str)>, text_blocks: Vec<String>) -> Vec<String> {
    let first = parts.iter().position(|(is_text, _)| *is_text);
    let (before, after) = parts.split_at(first.unwrap_or(parts.len()));
    let others = |parts: &[(bool, &str)]| {
        let others = parts.iter().filter(|(is_text, _)| !is_text);
        others
            .map(|(_, part)| (*part).to_owned())
            .collect::<Vec<_>>()
    };
    [others(before), text_blocks, others(after)].concat()
}

/// Calls without an id are of functions, too.
fn is_function(family: Family) -> bool {
    matches!(family, Family::Function | Family::Legacy)
}

/// Where an item is in its element.
fn place(item: &Item) -> Range<usize> {
    item.span.start as usize..item.span.end as usize
}
