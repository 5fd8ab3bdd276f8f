//! Replies of OpenAI Chat Completions, new ones and the rest of those that a client knows in part (OpenAI API
//! reference). Reasoning is where DeepSeek, vLLM and llama.cpp put it.

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::new_reply::{
    End, NewEvent, NewReply, SentStream, StreamRest, change_first, is_first, json_pieces, set_usage,
};
use crate::wire::object::{Object, elements, quoted, suffix};
use crate::wire::stream::{Decoder, rejoin};
use serde_json::{Map, Value, json};

/// The whole chat completion.
pub(crate) fn whole(reply: &NewReply) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), json!(reply.one_text()));
    message.insert("refusal".to_owned(), json!(reply.refusal));
    if let Some(reasoning) = &reply.reasoning {
        message.insert("reasoning_content".to_owned(), reasoning.clone().into());
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            let arguments = call.input.as_object();
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments},
            })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    json!({
        "id": format!("chatcmpl-{}", reply.tag),
        "object": "chat.completion",
        "created": reply.created,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)}],
        "usage": usage(reply),
    })
}

fn finish_reason(reply: &NewReply) -> &'static str {
    match reply.end {
        End::Length => "length",
        End::ContentFilter => "content_filter",
        End::Natural if reply.calls.is_empty() => "stop",
        End::Natural => "tool_calls",
    }
}

fn usage(reply: &NewReply) -> Value {
    json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    })
}

/// Texts that come in pieces, in the order in which they are thought and said.
const TEXTS: &[&str] = &["reasoning_content", "reasoning", "content", "refusal"];

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    reply.add("object", "\"chat.completion\"");
    // A turn of Chat is one message.
    let mut message = Object::read(turn.last().map_or("{}", String::as_str));
    message.add("role", "\"assistant\"");
    message.add("content", "null");
    change_first(&mut reply, "choices", |choice| {
        choice.add("index", "0");
        let reason = fitting(&message, choice.get("finish_reason"));
        choice.set("message", message.json());
        choice.set("finish_reason", reason);
    });
    set_usage(&mut reply, &super::FACTS, usage);
    reply.json()
}

fn holds_calls(message: &Object<'_>) -> bool {
    let calls = message.get("tool_calls").map(elements).unwrap_or_default();
    !calls.is_empty() || message.get("function_call").is_some()
}

/// Why a turn ends with this message, as JSON.
fn fitting(message: &Object<'_>, stop: Option<&str>) -> String {
    let calls = message.get("tool_calls").map(elements).unwrap_or_default();
    let word = if !calls.is_empty() {
        "\"tool_calls\""
    } else if message.get("function_call").is_some() {
        "\"function_call\""
    } else {
        match stop {
            None | Some("\"tool_calls\"" | "\"function_call\"") => "\"stop\"",
            Some(stop) => stop,
        }
    };
    word.to_owned()
}

/// What a client has seen of a chat completion.
#[derive(Default)]
struct Seen {
    /// What every chunk says: id, model, time.
    head: Option<String>,
    /// The message so far.
    message: String,
    has_role: bool,
    is_finished: bool,
    /// The index of the next call.
    next: u64,
}

impl Seen {
    fn read(sent: &SentStream) -> Self {
        let mut begun = Self::default();
        let mut reply = Box::new(decode::ChatStream::default());
        for (data, event) in &sent.events {
            reply.push(event);
            if event.get("choices").is_some() && begun.head.is_none() {
                begun.head = Some(data.clone());
            }
            let choices = event.get("choices").and_then(Value::as_array);
            let first = choices.into_iter().flatten().next();
            let Some(choice) = first else { continue };
            begun.is_finished |= choice.get("finish_reason").is_some_and(Value::is_string);
            let Some(delta) = choice.get("delta") else {
                continue;
            };
            begun.has_role |= delta.get("role").is_some();
            let calls = delta.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                let index = call.get("index").and_then(Value::as_u64).unwrap_or(0);
                begun.next = begun.next.max(index.saturating_add(1));
            }
        }
        let reply = reply.finish().json;
        let reply = rejoin(&reply);
        let reply = Object::read(&reply);
        let choices = elements(reply.get("choices").unwrap_or_default());
        let choice = Object::read(choices.first().copied().unwrap_or_default());
        begun.message = choice.get("message").unwrap_or("{}").to_owned();
        begun
    }
}

/// The chunks that a client lacks, and the mark that ends a stream.
pub(crate) fn stream(rest: &StreamRest<'_>) -> Vec<NewEvent> {
    let begun = Seen::read(rest.sent);
    let reply = Object::read(rest.reply);
    let choices = elements(reply.get("choices").unwrap_or_default());
    let choice = choices.iter().copied().find(|choice| is_first(choice));
    let choice = Object::read(choice.unwrap_or_default());
    let message = Object::read(choice.get("message").unwrap_or("{}"));
    let mut stream = Stream {
        events: Vec::new(),
        head: head(begun.head.as_deref(), &reply),
        piece: rest.piece,
    };
    if !begun.is_finished {
        if !begun.has_role {
            let mut delta = Object::default();
            delta.set("role", "\"assistant\"");
            if rest.is_new() {
                let content = message.get("content").map_or("null", |_| "\"\"");
                delta.set("content", content);
            }
            stream.delta(&delta.json(), "null");
        }
        stream.message(&begun, &message);
        let seen = Object::read(&begun.message);
        // A call that the client has already is to be answered, whatever is still to come.
        let calls = [&message, &seen].into_iter().find(|one| holds_calls(one));
        let reason = match choice.get("finish_reason") {
            Some(reason) if rest.is_new() => reason.to_owned(),
            reason => fitting(calls.unwrap_or(&message), reason),
        };
        stream.delta("{}", &reason);
        let counts = rest.counts(&super::FACTS, reply.get("usage"));
        if let Some(counts) = counts.filter(|_| rest.reports_usage) {
            stream.push("[]", Some(&counts));
        }
    }
    stream.events.push(NewEvent::new(None, "[DONE]"));
    stream.events
}

/// What every chunk says beside its choices.
fn head<'a>(seen: Option<&'a str>, reply: &'a Object<'a>) -> Object<'a> {
    let mut head = match seen {
        Some(seen) => Object::read(seen),
        None => {
            let mut head = reply.clone();
            head.set("object", "\"chat.completion.chunk\"");
            head.remove("usage");
            head
        }
    };
    // Padding of one chunk (OpenAI API reference, `include_obfuscation`).
    head.remove("obfuscation");
    head.change("usage", "null");
    head
}

struct Stream<'a> {
    events: Vec<NewEvent>,
    head: Object<'a>,
    piece: usize,
}

impl Stream<'_> {
    fn push(&mut self, choices: &str, usage: Option<&str>) {
        let mut chunk = self.head.clone();
        chunk.set("choices", choices);
        if let Some(usage) = usage {
            chunk.set("usage", usage);
        }
        self.events.push(NewEvent::new(None, &chunk.json()));
    }

    fn delta(&mut self, delta: &str, reason: &str) {
        let choice =
            format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}]"#);
        self.push(&choice, None);
    }

    /// What a message says beyond what has begun.
    fn message(&mut self, begun: &Seen, message: &Object<'_>) {
        let seen = Object::read(&begun.message);
        for key in TEXTS {
            let Some(text) = message.get(key).map(joined) else {
                continue;
            };
            // Text that does not go on with what was said follows it.
            let rest = suffix(&seen.text(key), &text).unwrap_or(text);
            let mut pieces = json_pieces(&rest, self.piece);
            // An empty text is one as well, unless it is the end of one.
            if pieces.is_empty() && seen.get(key).is_none() {
                pieces.push(rest);
            }
            for piece in pieces {
                self.delta(&format!("{{\"{key}\":{piece}}}"), "null");
            }
        }
        let mut others = Object::default();
        for (key, value) in message.members().filter(|(_, value)| *value != "null") {
            let is_other = !matches!(key, "role" | "tool_calls" | "function_call");
            if is_other && !TEXTS.contains(&key) {
                others.set(key, value);
            }
        }
        if others.members().next().is_some() {
            self.delta(&others.json(), "null");
        }
        if let Some(call) = message.get("function_call")
            && seen.get("function_call").is_none()
        {
            self.delta(&format!("{{\"function_call\":{call}}}"), "null");
        }
        let known = seen.get("tool_calls").map(elements).unwrap_or_default();
        let is_known = |id: &str| known.iter().any(|call| Object::read(call).text("id") == id);
        let mut index = begun.next;
        for call in message.get("tool_calls").map(elements).unwrap_or_default() {
            let call = Object::read(call);
            let id = call.text("id");
            if !id.is_empty() && is_known(&id) {
                continue;
            }
            let mut entry = Object::default();
            let number = index.to_string();
            entry.set("index", number);
            for (key, value) in call.members().filter(|(key, _)| *key != "index") {
                entry.set(key, value);
            }
            let function = call.object("function");
            let arguments = function.get("arguments").unwrap_or("\"\"");
            if self.piece == usize::MAX {
                self.call(&entry);
            } else {
                // The first piece has id and name, later ones only more of the arguments.
                let mut start = function.clone();
                start.set("arguments", "\"\"");
                entry.set("function", start.json());
                self.call(&entry);
                for piece in json_pieces(arguments, self.piece) {
                    let mut more = Object::default();
                    more.set("index", index.to_string());
                    more.set("function", format!("{{\"arguments\":{piece}}}"));
                    self.call(&more);
                }
            }
            index += 1;
        }
    }

    fn call(&mut self, entry: &Object<'_>) {
        self.delta(&format!("{{\"tool_calls\":[{}]}}", entry.json()), "null");
    }
}

/// A text that may stand as a list of parts, as one JSON string.
fn joined(value: &str) -> String {
    if value.starts_with('"') {
        return value.to_owned();
    }
    let parts = elements(value).into_iter().map(|part| {
        let part = Object::read(part);
        let key = if part.has("refusal") {
            "refusal"
        } else {
            "text"
        };
        part.text(key)
    });
    quoted(&parts.collect::<String>())
}
