//! Streams of OpenAI Responses: items that are added, grow and are done, each found by its `output_index` or its id,
//! never by being the last.

use super::read::read_item;
use crate::json::{Cursor, Result};
use crate::session::{Fragment, Kind};
use crate::wire::stream::{
    CallNumber, CallPart, Decoder, EventSummary, PartialCall, Reply, Step, append, object, text,
    typed, write_object,
};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::ops::Range;

/// A Response so far.
#[derive(Debug, Default)]
pub(crate) struct ResponsesStream {
    response: Map<String, Value>,
    slots: Vec<Slot>,
    call_number: CallNumber,
    ended: bool,
    failures: Vec<Value>,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    item: Map<String, Value>,
    done: bool,
}

impl Slot {
    fn member(&self, key: &str) -> &str {
        let value = self.item.get(key).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    fn name(&self) -> Cow<'_, str> {
        match (self.member("namespace"), self.member("name")) {
            // A tool that a search loaded is called with its own name as the namespace.
            (namespace, name) if namespace.is_empty() || namespace == name => name.into(),
            (namespace, name) => format!("{namespace}.{name}").into(),
        }
    }

    fn is_call(&self) -> bool {
        matches!(self.member("type"), "function_call" | "custom_tool_call")
    }
}

/// Where the text of a pair of `.delta` and `.done` events goes.
struct Growth {
    /// The event's type without its ending.
    stem: &'static str,
    /// The type of an item that grows without having been added.
    item: &'static str,
    /// The list, the event's member that counts its parts, and the type of a part.
    part: Option<(&'static str, &'static str, &'static str)>,
    /// The member that grows; of the same name in `.done`.
    field: &'static str,
}

const fn whole(stem: &'static str, item: &'static str, field: &'static str) -> Growth {
    Growth {
        stem,
        item,
        part: None,
        field,
    }
}

const fn part(
    stem: &'static str,
    item: &'static str,
    part: (&'static str, &'static str, &'static str),
    field: &'static str,
) -> Growth {
    Growth {
        stem,
        item,
        part: Some(part),
        field,
    }
}

/// OpenAI API reference, streaming events.
const GROWTHS: &[Growth] = &[
    whole(
        "response.function_call_arguments",
        "function_call",
        "arguments",
    ),
    whole(
        "response.custom_tool_call_input",
        "custom_tool_call",
        "input",
    ),
    whole("response.mcp_call_arguments", "mcp_call", "arguments"),
    whole(
        "response.code_interpreter_call_code",
        "code_interpreter_call",
        "code",
    ),
    part(
        "response.output_text",
        "message",
        ("content", "content_index", "output_text"),
        "text",
    ),
    part(
        "response.refusal",
        "message",
        ("content", "content_index", "refusal"),
        "refusal",
    ),
    part(
        "response.reasoning_text",
        "reasoning",
        ("content", "content_index", "reasoning_text"),
        "text",
    ),
    part(
        "response.reasoning_summary_text",
        "reasoning",
        ("summary", "summary_index", "summary_text"),
        "text",
    ),
];

impl Decoder for ResponsesStream {
    fn begins_next(&self, event: &Value) -> bool {
        text(event, "type") == "response.created"
            && (!self.response.is_empty() || !self.slots.is_empty())
    }

    fn push(&mut self, event: &Value) -> Step {
        let kind = text(event, "type");
        match kind {
            "response.output_item.added" => {
                let place = self.add(event, object(event, "item").unwrap_or_default());
                return self.step(place);
            }
            "response.output_item.done" => return self.complete(event),
            "response.content_part.added" | "response.reasoning_summary_part.added" => {
                return self.add_part(event, kind.contains("summary"));
            }
            "response.failed" | "error" => {
                let response = event.get("response").unwrap_or(event);
                let error = response.get("error").filter(|error| !error.is_null());
                self.failures.push(error.unwrap_or(response).clone());
                self.ended |= kind == "response.failed";
                self.keep_response(event);
                return Step::Failed;
            }
            "response.completed" | "response.incomplete" => {
                self.ended = true;
                self.keep_response(event);
                return Step::Ends;
            }
            _ => {}
        }
        self.keep_response(event);
        let (stem, is_done) = match (kind.strip_suffix(".delta"), kind.strip_suffix(".done")) {
            (Some(stem), _) => (stem, false),
            (None, Some(stem)) => (stem, true),
            (None, None) => return Step::Nothing,
        };
        match GROWTHS.iter().find(|growth| growth.stem == stem) {
            Some(growth) => self.grow(growth, is_done, event),
            None => Step::Nothing,
        }
    }

    fn calls(&self) -> Vec<PartialCall<'_>> {
        let calls = self.slots.iter().filter(|slot| slot.is_call());
        calls
            .map(|slot| PartialCall {
                id: slot.member("call_id"),
                name: slot.name(),
                arguments: match slot.member("type") {
                    "custom_tool_call" => slot.member("input"),
                    _ => slot.member("arguments"),
                },
                is_complete: slot.done,
            })
            .collect()
    }

    fn finish(mut self: Box<Self>) -> Reply {
        self.slots.sort_by_key(|slot| slot.index);
        let ended = self.ended;
        let streamed = self.slots.into_iter().map(|mut slot| {
            if !slot.done && !ended {
                slot.item.insert("status".to_owned(), "incomplete".into());
            }
            Value::Object(slot.item)
        });
        // The last event repeats the whole output; SDKs read it there. Some servers leave it empty.
        let repeated = self.response.get("output").and_then(Value::as_array);
        let output = match repeated.filter(|output| ended && !output.is_empty()) {
            Some(output) => Value::from(output.clone()),
            None => streamed.collect(),
        };
        let object = self.response.entry("object").or_insert(Value::Null);
        if object.is_null() {
            *object = json!("response");
        }
        let mut json = String::new();
        write_object(&self.response, &[("output", output.to_string())], &mut json);
        Reply {
            json,
            ended,
            failures: self.failures,
        }
    }
}

impl ResponsesStream {
    fn keep_response(&mut self, event: &Value) {
        if let Some(response) = object(event, "response") {
            self.response = response;
        }
    }

    /// The item that an event means, by its index, or where servers send none by its id.
    fn find(&self, event: &Value) -> Option<usize> {
        let index = event.get("output_index").and_then(Value::as_u64);
        let id = match text(event, "item_id") {
            "" => event.get("item").map_or("", |item| text(item, "id")),
            id => id,
        };
        match (index, id) {
            (Some(_), _) => self.slots.iter().rposition(|slot| slot.index == index),
            (None, "") => self.slots.len().checked_sub(1),
            (None, id) => self.slots.iter().rposition(|slot| slot.member("id") == id),
        }
    }

    fn add(&mut self, event: &Value, item: Map<String, Value>) -> usize {
        self.slots.push(Slot {
            index: event.get("output_index").and_then(Value::as_u64),
            item,
            done: false,
        });
        self.slots.len() - 1
    }

    fn complete(&mut self, event: &Value) -> Step {
        let item = object(event, "item").unwrap_or_default();
        let open = self.find(event).filter(|place| !self.slots[*place].done);
        let place = open.unwrap_or_else(|| self.add(event, Map::new()));
        self.slots[place].item = item;
        self.slots[place].done = true;
        match self.step(place) {
            Step::CallGrows(call) => Step::CallEnds(call),
            step => step,
        }
    }

    fn add_part(&mut self, event: &Value, is_summary: bool) -> Step {
        let list = if is_summary {
            ("summary", "summary_index")
        } else {
            ("content", "content_index")
        };
        if let (Some(place), Some(new)) = (self.find(event), object(event, "part")) {
            change_part(&mut self.slots[place].item, list, event, |part| *part = new);
        }
        Step::Nothing
    }

    fn grow(&mut self, growth: &Growth, is_done: bool, event: &Value) -> Step {
        let place = self.find(event).unwrap_or_else(|| {
            // The item was added before the capture began.
            let mut item = Map::new();
            item.insert("type".to_owned(), growth.item.into());
            if let Some(id) = event.get("item_id") {
                item.insert("id".to_owned(), id.clone());
            }
            if growth.item == "message" {
                item.insert("role".to_owned(), "assistant".into());
            }
            self.add(event, item)
        });
        let item = &mut self.slots[place].item;
        if let (true, Some(name)) = (is_done && !item.contains_key("name"), event.get("name")) {
            item.insert("name".to_owned(), name.clone());
        }
        let change = |target: &mut Map<String, Value>| match (is_done, event.get(growth.field)) {
            (true, Some(Value::String(all))) => {
                target.insert(growth.field.to_owned(), all.clone().into());
            }
            (true, _) => {}
            (false, _) => append(target, growth.field, text(event, "delta")),
        };
        match growth.part {
            None => change(item),
            Some((list, count, kind)) => change_part(item, (list, count), event, |part| {
                part.entry("type").or_insert_with(|| kind.into());
                change(part);
            }),
        }
        self.step(place)
    }

    fn step(&mut self, place: usize) -> Step {
        if self.slots[place].is_call() {
            let before = self.call_number.of(&self.slots, place, Slot::is_call);
            Step::CallGrows(before)
        } else {
            Step::Text
        }
    }
}

/// Changes the part of a list that an event means; missing ones are made. No reply has a thousand parts.
fn change_part(
    item: &mut Map<String, Value>,
    (list, count): (&str, &str),
    event: &Value,
    change: impl FnOnce(&mut Map<String, Value>),
) {
    let place = event
        .get(count)
        .and_then(Value::as_u64)
        .unwrap_or(0)
        .min(1000) as usize;
    let entry = item.entry(list).or_insert_with(|| json!([]));
    if !entry.is_array() {
        *entry = json!([]);
    }
    if let Value::Array(parts) = entry {
        while parts.len() <= place {
            parts.push(json!({}));
        }
        if !parts[place].is_object() {
            parts[place] = json!({});
        }
        if let Value::Object(part) = &mut parts[place] {
            change(part);
        }
    }
}

/// An event of Responses.
pub(crate) fn classify<'a>(cursor: &mut Cursor<'a>) -> Result<EventSummary<'a>> {
    let (event, bytes) = (typed(cursor)?, cursor.bytes());
    let mut look = EventSummary {
        number: event.number,
        ..EventSummary::default()
    };
    let part = |ends, id: Option<&'a [u8]>| {
        Some(CallPart {
            key: event.key.or(event.item_id).or(id).unwrap_or_default(),
            is_call: true,
            ends,
        })
    };
    match event.kind {
        b"response.output_item.added" | b"response.output_item.done" => {
            let (is_call, id) = item(bytes, event.inner.clone())?;
            if is_call {
                look.part = part(event.kind.ends_with(b".done"), id);
            }
        }
        b"response.created" | b"response.in_progress" | b"response.queued" => look.opens = true,
        b"response.completed" | b"response.incomplete" => {
            look.completes = true;
            look.ends = true;
            look.stops_early = event.kind.ends_with(b".incomplete");
            look.calls = calls_in(bytes, event.inner.clone())?;
        }
        b"response.failed" | b"error" => {
            look.fails = true;
            look.ends = event.kind != b"error";
        }
        b"response.refusal.delta" | b"response.refusal.done" => look.refuses = true,
        // An item that began before anyone listened.
        kind if kind.starts_with(b"response.function_call_arguments.")
            || kind.starts_with(b"response.custom_tool_call_input.") =>
        {
            look.part = part(false, None);
        }
        kind => look.fails = kind.is_empty() && event.has_error,
    }
    Ok(look)
}

/// Whether an item of a Response is a call that the client answers, and its id.
fn item(bytes: &[u8], item: Option<Range<usize>>) -> Result<(bool, Option<&[u8]>)> {
    let Some(item) = item else {
        return Ok((false, None));
    };
    let (mut fragment, mut id) = (Fragment::default(), None);
    read_item(&mut Cursor::at(bytes, item.start), 0, &mut fragment)?;
    Cursor::at(bytes, item.start).object(|cursor, key| {
        if key == b"id" {
            id = cursor.string()?;
        }
        Ok(())
    })?;
    let is_call = fragment.items.iter().any(|item| item.kind == Kind::Call);
    Ok((is_call, id))
}

/// How many calls the output of a Response holds that the client answers.
fn calls_in(bytes: &[u8], response: Option<Range<usize>>) -> Result<usize> {
    let Some(response) = response else {
        return Ok(0);
    };
    let mut fragment = Fragment::default();
    Cursor::at(bytes, response.start).object(|cursor, key| {
        if key == b"output" {
            cursor.array(|cursor| read_item(cursor, 0, &mut fragment))?;
        }
        Ok(())
    })?;
    let calls = fragment.items.iter().filter(|item| item.kind == Kind::Call);
    Ok(calls.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(events: &[Value]) -> Box<ResponsesStream> {
        let mut reply = Box::new(ResponsesStream::default());
        for event in events {
            reply.push(event);
        }
        reply
    }

    #[test]
    fn items_that_interleave_stand_in_the_order_of_the_output() {
        let reply = run(&[
            json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "b", "call_id": "c2", "name": "g", "arguments": ""}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "id": "a", "call_id": "c1", "name": "f", "arguments": ""}}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"x\""}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"}),
        ]);
        let calls = reply
            .calls()
            .iter()
            .map(|call| (call.name.to_string(), call.arguments.to_owned()))
            .collect::<Vec<_>>();
        assert_eq!(
            calls,
            [
                ("g".to_owned(), "{\"x\":1}".to_owned()),
                ("f".to_owned(), "{}".to_owned())
            ]
        );
        let reply = reply.finish();
        assert!(!reply.ended);
        let value: Value = serde_json::from_str(&reply.json).unwrap_or_default();
        assert_eq!(value["output"][0]["call_id"], "c1");
        assert_eq!(value["output"][1]["status"], "incomplete");
    }

    #[test]
    fn items_without_an_index_are_found_by_their_id() {
        let reply = run(&[
            json!({"type": "response.output_item.added", "output_index": null, "item": {"type": "reasoning", "id": "r", "content": [], "summary": []}}),
            json!({"type": "response.output_item.added", "output_index": null, "item": {"type": "message", "id": "m", "role": "assistant", "content": []}}),
            json!({"type": "response.reasoning_text.delta", "item_id": "r", "delta": "hm"}),
            json!({"type": "response.output_text.delta", "item_id": "m", "content_index": null, "delta": "ok"}),
            json!({"type": "response.completed", "response": {"output": []}}),
        ]);
        let reply = reply.finish();
        let value: Value = serde_json::from_str(&reply.json).unwrap_or_default();
        assert!(reply.ended);
        assert_eq!(value["output"][0]["content"][0]["text"], "hm");
        assert_eq!(value["output"][1]["content"][0]["text"], "ok");
    }
}
