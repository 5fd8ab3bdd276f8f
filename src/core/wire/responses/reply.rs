//! Replies of OpenAI Responses, new ones and the rest of those that a client knows in part (OpenAI API reference,
//! Responses and its streaming events).

use super::decode;
use super::events::{BegunItem, Stream};
use crate::session::ledger::Usage;
use crate::wire::new_reply::{End, NewEvent, NewReply, SentStream, StreamRest, set_usage};
use crate::wire::object::{Object, elements, list, quoted};
use crate::wire::stream::{Decoder, rejoin};
use crate::wire::turn::{Input, ToolCall};
use serde_json::{Value, json};

pub(crate) fn whole(reply: &NewReply) -> Value {
    let reason = match reply.end {
        End::Natural => None,
        End::Length => Some("max_output_tokens"),
        End::ContentFilter => Some("content_filter"),
    };
    let status = reason.map_or("completed", |_| "incomplete");
    json!({
        "id": format!("resp_{}", reply.tag),
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "instructions": null,
        "metadata": {},
        "model": reply.model,
        "output": output(reply),
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": reply.tools,
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
    })
}

fn output(reply: &NewReply) -> Vec<Value> {
    let mut output = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        output.push(json!({
            "id": format!("rs_{}", reply.tag),
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": reasoning}],
        }));
    }
    output.extend(messages(reply));
    let call = |(number, call): (usize, &ToolCall)| {
        let (prefix, kind, key) = match call.input {
            Input::Free(_) => ("ctc", "custom_tool_call", "input"),
            Input::Json(_) => ("fc", "function_call", "arguments"),
        };
        let mut item = json!({
            "id": format!("{prefix}_{}_{number}", reply.tag),
            "type": kind,
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            key: call.input.as_written(),
        });
        if let Some(namespace) = &call.namespace {
            item["namespace"] = namespace.as_str().into();
        }
        item
    };
    output.extend(reply.calls.iter().enumerate().map(call));
    if let Some(status) = output.last_mut().and_then(|last| last.get_mut("status"))
        && reply.end != End::Natural
    {
        *status = "incomplete".into();
    }
    output
}

fn messages(reply: &NewReply) -> impl Iterator<Item = Value> {
    let text = |text: &String| {
        vec![json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})]
    };
    let mut contents = reply.texts.iter().map(text).collect::<Vec<_>>();
    if let Some(refusal) = &reply.refusal {
        let refusal = json!({"type": "refusal", "refusal": refusal});
        match contents.last_mut() {
            Some(last) => last.push(refusal),
            None => contents.push(vec![refusal]),
        }
    }
    contents.into_iter().enumerate().map(|(number, content)| {
        let id = match number {
            0 => format!("msg_{}", reply.tag),
            _ => format!("msg_{}_{number}", reply.tag),
        };
        json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": content})
    })
}

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let id = reply.text("id");
    let items = turn.iter().enumerate();
    let items = items
        .map(|(place, item)| as_output(item, &id, place as u64))
        .collect::<Vec<_>>();
    let has_calls = items.iter().any(|item| is_call(item));
    let status = reply.text("status");
    if has_calls || !matches!(&*status, "completed" | "incomplete") {
        reply.set("status", "\"completed\"");
        reply.change("incomplete_details", "null");
        reply.change("error", "null");
    }
    reply.add("object", "\"response\"");
    reply.set("output", list(&items));
    set_usage(&mut reply, &super::FACTS, usage);
    reply.json()
}

fn is_call(item: &str) -> bool {
    matches!(
        &*Object::read(item).text("type"),
        "function_call" | "custom_tool_call"
    )
}

/// An item of a history as one of a reply: a message has an id, a status and parts, a call an id. Ids that are
/// missing are made of that of the Response.
fn as_output(item: &str, response: &str, index: u64) -> String {
    let mut object = Object::read(item);
    let kind = match object.text("type") {
        kind if kind.is_empty() && object.has("role") => "message".to_owned(),
        kind => kind,
    };
    let prefix = match &*kind {
        "message" => "msg",
        "function_call" => "fc",
        "custom_tool_call" => "ctc",
        "reasoning" => "rs",
        _ => return item.to_owned(),
    };
    let is_whole = object.get("id").is_some()
        && (kind != "message"
            || object
                .get("content")
                .is_some_and(|content| content.starts_with('[')))
        && (kind == "reasoning" || object.get("status").is_some());
    if is_whole {
        return item.to_owned();
    }
    object.add("type", quoted(&kind));
    if object.get("id").is_none() {
        let of = response.strip_prefix("resp_").unwrap_or(response);
        let of = of.chars().filter(char::is_ascii_alphanumeric).take(40);
        let id = format!("{prefix}_{}_{index}", of.collect::<String>());
        object.set("id", quoted(&id));
    }
    if kind != "reasoning" && object.get("status").is_none() {
        object.set("status", "\"completed\"");
    }
    if let Some(text) = object
        .get("content")
        .filter(|content| content.starts_with('"'))
    {
        let part = format!(r#"[{{"type":"output_text","text":{text},"annotations":[]}}]"#);
        object.set("content", part);
    }
    object.json()
}

/// What a client has seen of a Response.
#[derive(Default)]
struct Seen {
    /// The Response as its last event has it.
    response: Option<String>,
    items: Vec<BegunItem>,
}

impl Seen {
    fn read(sent: &SentStream) -> Self {
        let mut begun = Self::default();
        let mut reply = Box::new(decode::ResponsesStream::default());
        for (data, event) in &sent.events {
            reply.push(event);
            begun.take(data, event);
        }
        // The accumulator has the items in the order of their indexes as well.
        begun.items.sort_by_key(|item| item.index);
        let reply = reply.finish().json;
        let reply = rejoin(&reply);
        let reply = Object::read(&reply);
        let output = elements(reply.get("output").unwrap_or_default());
        // They differ where an item grew that nothing began.
        if output.len() == begun.items.len() {
            let items = begun.items.iter_mut().zip(output);
            for (item, json) in items.filter(|(item, _)| !item.is_done) {
                json.clone_into(&mut item.json);
            }
        }
        begun
    }

    fn take(&mut self, data: &str, event: &Value) {
        let kind = event.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or_default();
        let data = Object::read(data);
        if let Some(response) = data.get("response") {
            self.response = Some(response.to_owned());
        }
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        if kind == "response.output_item.added" {
            self.items.push(BegunItem {
                index: number("output_index").unwrap_or(self.items.len() as u64),
                json: data.get("item").unwrap_or_default().to_owned(),
                is_done: false,
                part: None,
            });
            return;
        }
        let index = number("output_index");
        let known = self
            .items
            .iter_mut()
            .rev()
            .find(|item| index.is_none_or(|index| index == item.index) && !item.is_done);
        match (kind, known) {
            ("response.output_item.done", Some(item)) => {
                item.is_done = true;
                data.get("item")
                    .unwrap_or_default()
                    .clone_into(&mut item.json);
            }
            ("response.output_item.done", None) => self.items.push(BegunItem {
                index: index.unwrap_or(self.items.len() as u64),
                json: data.get("item").unwrap_or_default().to_owned(),
                is_done: true,
                part: None,
            }),
            ("response.content_part.added", Some(item)) => {
                item.part = number("content_index").map(|place| (false, place));
            }
            ("response.reasoning_summary_part.added", Some(item)) => {
                item.part = number("summary_index").map(|place| (true, place));
            }
            ("response.content_part.done" | "response.reasoning_summary_part.done", Some(item)) => {
                item.part = None;
            }
            _ => {}
        }
    }
}

/// The events that a client lacks.
pub(crate) fn stream(rest: &StreamRest<'_>) -> Vec<NewEvent> {
    let begun = Seen::read(rest.sent);
    let mut response = Object::read(rest.reply);
    let known = Object::read(begun.response.as_deref().unwrap_or_default());
    for key in ["id", "created_at"] {
        if let Some(value) = known.get(key) {
            response.set(key, value);
        }
    }
    response.add("object", "\"response\"");
    let own = elements(response.get("output").unwrap_or_default());
    let own = own.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut stream = Stream {
        events: Vec::new(),
        number: rest.sent.next_number,
        piece: rest.piece,
    };
    if begun.response.is_none() {
        stream.open(&response);
    }
    let mut output = Vec::new();
    for item in &begun.items {
        let again = own.iter().find(|again| is_same(&item.json, again));
        output.push(match (item.is_done, again) {
            (true, _) => item.json.clone(),
            (false, Some(again)) => stream.complete(item, again),
            (false, None) => stream.complete(item, &closed(&item.json)),
        });
    }
    let next = begun.items.last();
    let next = next.map_or(0, |last| last.index.saturating_add(1));
    let is_new = |item: &&String| !begun.items.iter().any(|seen| is_same(&seen.json, item));
    let id = response.text("id");
    for (index, item) in (next..).zip(own.iter().filter(is_new)) {
        let item = as_output(item, &id, index);
        stream.item(index, &item);
        output.push(item);
    }
    response.set("output", list(&output));
    set_usage(&mut response, &super::FACTS, rest.usage);
    let status = match &*response.text("status") {
        status @ ("incomplete" | "failed") => status.to_owned(),
        _ => "completed".to_owned(),
    };
    response.set("status", quoted(&status));
    let json = response.json();
    stream.push(&format!("response.{status}"), &[("response", &json)]);
    stream.events
}

/// Whether an item is the one that the client has seen: the same id, or without one the same text.
fn is_same(seen: &str, item: &str) -> bool {
    match Object::read(item).text("id") {
        id if id.is_empty() => seen == item,
        id => Object::read(seen).text("id") == id,
    }
}

/// An item that ends where it is.
fn closed(item: &str) -> String {
    let mut item = Object::read(item);
    item.change("status", "\"completed\"");
    item.json()
}
