//! The events of a stream of Responses, in the order of the reference.

use crate::wire::new_reply::{NewEvent, json_pieces};
use crate::wire::object::{Object, elements, quoted, suffix};

/// The events that are written.
pub(crate) struct Stream {
    pub(crate) events: Vec<NewEvent>,
    /// The number of the next event; `None` where events of this stream have none.
    pub(crate) number: Option<u64>,
    /// Characters of a text or of arguments in one event.
    pub(crate) piece: usize,
}

/// An item that a client was sent, or its beginning.
pub(crate) struct BegunItem {
    pub(crate) index: u64,
    pub(crate) json: String,
    pub(crate) is_done: bool,
    /// The part that has begun and not ended: whether it is one of a summary, and its number.
    pub(crate) part: Option<(bool, u64)>,
}

/// Where an event is: the index of its item, and its id as JSON.
#[derive(Clone, Copy)]
struct Place<'a> {
    index: &'a str,
    id: &'a str,
}

/// The lists of parts of an item, and what events about them are called.
struct Parts {
    is_summary: bool,
    list: &'static str,
    count: &'static str,
    events: &'static str,
}

const PARTS: [Parts; 2] = [
    Parts {
        is_summary: true,
        list: "summary",
        count: "summary_index",
        events: "response.reasoning_summary_part",
    },
    Parts {
        is_summary: false,
        list: "content",
        count: "content_index",
        events: "response.content_part",
    },
];

/// The first part that is to be written: its number, whether it was opened, and what of it was said.
#[derive(Default)]
struct First {
    number: usize,
    is_open: bool,
    seen_text: String,
}

impl Stream {
    pub(crate) fn push(&mut self, kind: &str, members: &[(&str, &str)]) {
        let kind_json = quoted(kind);
        let mut event = Object::default();
        event.set("type", kind_json);
        for (key, value) in members {
            event.set(key, *value);
        }
        if let Some(number) = self.number {
            event.set("sequence_number", number.to_string());
            self.number = number.checked_add(1);
        }
        self.events.push(NewEvent::new(Some(kind), &event.json()));
    }

    fn about(&mut self, kind: &str, place: Place<'_>, members: &[(&str, &str)]) {
        let about = [("item_id", place.id), ("output_index", place.index)];
        self.push(kind, &[&about, members].concat());
    }

    /// The events that open a Response.
    pub(crate) fn open(&mut self, response: &Object<'_>) {
        let mut opening = response.clone();
        opening.set("status", "\"in_progress\"");
        opening.set("output", "[]");
        for key in ["usage", "incomplete_details", "error", "completed_at"] {
            opening.change(key, "null");
        }
        let opening = opening.json();
        for kind in ["response.created", "response.in_progress"] {
            self.push(kind, &[("response", &opening)]);
        }
    }

    /// All events of an item.
    pub(crate) fn item(&mut self, index: u64, json: &str) {
        let item = Object::read(json);
        let mut added = item.clone();
        added.change("status", "\"in_progress\"");
        match &*item.text("type") {
            "function_call" => added.change("arguments", "\"\""),
            "custom_tool_call" => added.change("input", "\"\""),
            "message" => added.change("content", "[]"),
            "reasoning" => {
                added.change("summary", "[]");
                added.change("content", "[]");
            }
            _ => {}
        }
        let (index, added) = (index.to_string(), added.json());
        let members = [("output_index", &*index), ("item", &added)];
        self.push("response.output_item.added", &members);
        let id = item.get("id").unwrap_or("\"\"");
        let place = Place { index: &index, id };
        match &*item.text("type") {
            "function_call" => self.call(place, &item, "function_call_arguments", "arguments"),
            "custom_tool_call" => self.call(place, &item, "custom_tool_call_input", "input"),
            "message" | "reasoning" => {
                for parts in &PARTS {
                    self.parts(place, &item, parts, &First::default());
                }
            }
            _ => {}
        }
        let members = [("output_index", &*index), ("item", json)];
        self.push("response.output_item.done", &members);
    }

    /// The rest of an item that has begun. Gives what it ends as.
    pub(crate) fn complete(&mut self, begun: &BegunItem, json: &str) -> String {
        let (item, seen) = (Object::read(json), Object::read(&begun.json));
        let index = begun.index.to_string();
        let id = seen.get("id").or(item.get("id")).unwrap_or("\"\"");
        let place = Place { index: &index, id };
        match &*item.text("type") {
            "message" | "reasoning" => {
                for parts in &PARTS {
                    let seen = seen.get(parts.list).map(elements).unwrap_or_default();
                    let open = begun
                        .part
                        .filter(|(is_summary, _)| *is_summary == parts.is_summary);
                    let number = open.map_or(seen.len(), |(_, number)| number as usize);
                    let first = First {
                        number,
                        is_open: open.is_some(),
                        seen_text: seen
                            .get(number)
                            .map(|part| said_in(part))
                            .unwrap_or_default(),
                    };
                    self.parts(place, &item, parts, &first);
                }
            }
            // A call that has begun is kept back, and hosted items tell nothing on their way that their
            // end does not tell.
            _ => {}
        }
        let members = [("output_index", &*index), ("item", json)];
        self.push("response.output_item.done", &members);
        json.to_owned()
    }

    fn call(&mut self, place: Place<'_>, item: &Object<'_>, stem: &str, field: &str) {
        let text = item.get(field).unwrap_or("\"\"");
        for piece in json_pieces(text, self.piece) {
            let kind = format!("response.{stem}.delta");
            self.about(&kind, place, &[("delta", &piece)]);
        }
        if item.text("status") == "incomplete" {
            return;
        }
        let name = item.get("name").unwrap_or("\"\"");
        let done = [(field, text), ("name", name)];
        // Only calls of functions repeat their name.
        let count = if field == "arguments" { 2 } else { 1 };
        self.about(&format!("response.{stem}.done"), place, &done[..count]);
    }

    fn parts(&mut self, place: Place<'_>, item: &Object<'_>, parts: &Parts, first: &First) {
        let list = item.get(parts.list).map(elements).unwrap_or_default();
        for (number, json) in list.into_iter().enumerate().skip(first.number) {
            let (seen_text, is_open) = match number == first.number {
                true => (first.seen_text.as_str(), first.is_open),
                false => ("", false),
            };
            let part = Object::read(json);
            let number = number.to_string();
            let at = (parts.count, number.as_str());
            if !is_open {
                let empty = emptied(&part).json();
                let members = [at, ("part", &empty)];
                self.about(&format!("{}.added", parts.events), place, &members);
            }
            if let Some((_, stem, field)) = text_of_part(&part) {
                self.text(place, at, &part, (stem, field), seen_text);
            }
            let members = [at, ("part", json)];
            self.about(&format!("{}.done", parts.events), place, &members);
        }
    }

    /// The text of a part, after what was said of it.
    fn text(
        &mut self,
        place: Place<'_>,
        at: (&str, &str),
        part: &Object<'_>,
        (stem, field): (&str, &str),
        seen_text: &str,
    ) {
        let text = part.get(field).unwrap_or("\"\"");
        let logprobs = stem.ends_with("output_text").then_some(("logprobs", "[]"));
        let rest = suffix(seen_text, text).unwrap_or_default();
        for piece in json_pieces(&rest, self.piece) {
            let mut members = vec![at, ("delta", piece.as_str())];
            members.extend(logprobs);
            self.about(&format!("{stem}.delta"), place, &members);
        }
        let annotations = part.get("annotations").map(elements).unwrap_or_default();
        for (number, annotation) in annotations.into_iter().enumerate() {
            let number = number.to_string();
            let about = [
                ("annotation_index", number.as_str()),
                ("annotation", annotation),
            ];
            let kind = "response.output_text.annotation.added";
            self.about(kind, place, &[at, about[0], about[1]]);
        }
        let mut members = vec![at, (field, text)];
        members.extend(logprobs);
        self.about(&format!("{stem}.done"), place, &members);
    }
}

/// Parts that grow: their type, what the events about their text are called, the member that grows.
const TEXTS: &[(&str, &str, &str)] = &[
    ("output_text", "response.output_text", "text"),
    ("refusal", "response.refusal", "refusal"),
    ("summary_text", "response.reasoning_summary_text", "text"),
    ("reasoning_text", "response.reasoning_text", "text"),
];

fn text_of_part(part: &Object<'_>) -> Option<(&'static str, &'static str, &'static str)> {
    let kind = part.text("type");
    TEXTS.iter().copied().find(|(name, ..)| *name == kind)
}

/// A part as it begins.
fn emptied<'a>(part: &Object<'a>) -> Object<'a> {
    let mut empty = part.clone();
    if let Some((_, _, field)) = text_of_part(part) {
        empty.change(field, "\"\"");
        empty.change("annotations", "[]");
        empty.change("logprobs", "[]");
    }
    empty
}

/// The text of a part.
fn said_in(part: &str) -> String {
    let part = Object::read(part);
    text_of_part(&part).map_or_else(String::new, |(_, _, field)| part.text(field))
}
