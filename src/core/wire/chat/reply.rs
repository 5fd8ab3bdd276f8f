//! Replies of OpenAI Chat Completions, new ones and the rest of those that a client knows in part (OpenAI API
//! reference). Reasoning stands where DeepSeek, vLLM and llama.cpp put it.

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::new_reply::{End, NewEvent, NewReply, SentStream, counted, pieces, push_event};
use crate::wire::object::{Object, elements, list, quoted, suffix, text_of};
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
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
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

/// Its chunks, and the mark that ends a stream.
pub(crate) fn events(reply: &NewReply, piece: usize, with_usage: bool) -> Vec<NewEvent> {
    let said = reply.one_text();
    let content = said.as_ref().map(|_| "");
    let mut deltas = vec![json!({"role": "assistant", "content": content})];
    for (key, text) in [
        ("reasoning_content", &reply.reasoning),
        ("content", &said),
        ("refusal", &reply.refusal),
    ] {
        let text = text.iter().flat_map(|text| match text.as_str() {
            // An empty text is one as well.
            "" => vec![""],
            text => pieces(text, piece),
        });
        deltas.extend(text.map(|delta| json!({key: delta})));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        // The first fragment has id and name, later ones only more of the arguments.
        deltas.push(json!({"tool_calls": [{
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }]}));
        for delta in pieces(&call.arguments, piece) {
            deltas
                .push(json!({"tool_calls": [{"index": index, "function": {"arguments": delta}}]}));
        }
    }
    let mut chunks = deltas
        .into_iter()
        .map(|delta| choice(&delta, None))
        .collect::<Vec<_>>();
    chunks.push(choice(&json!({}), Some(finish_reason(reply))));
    if with_usage {
        chunks.push(json!({"choices": [], "usage": usage(reply)}));
    }
    let chunk = |rest: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", reply.tag),
            "object": "chat.completion.chunk",
            "created": reply.created,
            "model": reply.model,
        });
        if let (Value::Object(chunk), Value::Object(rest)) = (&mut chunk, rest) {
            chunk.extend(rest);
        }
        chunk.to_string()
    };
    let chunks = chunks.into_iter().map(chunk);
    let data = chunks.chain(["[DONE]".to_owned()]);
    data.map(|data| NewEvent { name: None, data }).collect()
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]})
}

/// Texts that come in pieces, in the order in which they are thought and said.
const TEXTS: &[&str] = &["reasoning_content", "reasoning", "content", "refusal"];

/// The members of the usage.
const COUNTS: [&str; 2] = ["prompt_tokens", "completion_tokens"];

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let choices = elements(reply.get("choices").unwrap_or_default());
    let mut choices = choices.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let first = choices.iter().position(|choice| is_first(choice));
    let old = first
        .map(|place| choices[place].clone())
        .unwrap_or_default();
    let mut choice = Object::read(&old);
    choice.add("index", "0");
    // A turn of Chat is one message.
    let mut message = Object::read(turn.last().map_or("{}", String::as_str));
    message.add("role", "\"assistant\"");
    message.add("content", "null");
    let reason = fitting(&message, choice.get("finish_reason"));
    choice.set("message", message.json());
    choice.set("finish_reason", reason);
    match first {
        Some(place) => choices[place] = choice.json(),
        None => choices.push(choice.json()),
    }
    reply.add("object", "\"chat.completion\"");
    reply.set("choices", list(&choices));
    let told = counted(COUNTS, reply.get("usage"), usage);
    if let Some(told) = told {
        reply.set("usage", told);
    }
    reply.json()
}

fn is_first(choice: &str) -> bool {
    matches!(Object::read(choice).get("index"), None | Some("0"))
}

fn holds_calls(message: &Object<'_>) -> bool {
    let calls = message.get("tool_calls").map(elements).unwrap_or_default();
    !calls.is_empty() || message.get("function_call").is_some()
}

/// Why a turn ends with this message, as JSON.
fn fitting(message: &Object<'_>, said: Option<&str>) -> String {
    let calls = message.get("tool_calls").map(elements).unwrap_or_default();
    let word = if !calls.is_empty() {
        "\"tool_calls\""
    } else if message.get("function_call").is_some() {
        "\"function_call\""
    } else {
        match said {
            None | Some("\"tool_calls\"" | "\"function_call\"") => "\"stop\"",
            Some(said) => said,
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
        let mut reply = Box::new(decode::Chat::default());
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

pub(crate) fn continuation(
    sent: &SentStream,
    reply: &str,
    usage: Usage,
    tells_usage: bool,
) -> Vec<u8> {
    let begun = Seen::read(sent);
    let reply = Object::read(reply);
    let choices = elements(reply.get("choices").unwrap_or_default());
    let choice = choices.iter().copied().find(|choice| is_first(choice));
    let choice = Object::read(choice.unwrap_or_default());
    let message = Object::read(choice.get("message").unwrap_or("{}"));
    let mut stream = Stream {
        out: Vec::new(),
        head: head(begun.head.as_deref(), &reply),
    };
    if !begun.is_finished {
        if !begun.has_role {
            stream.delta(r#"{"role":"assistant"}"#, "null");
        }
        stream.message(&begun, &message);
        let seen = Object::read(&begun.message);
        // A call that the client has already is to be answered, whatever is still to come.
        let calls = [&message, &seen].into_iter().find(|one| holds_calls(one));
        let reason = fitting(calls.unwrap_or(&message), choice.get("finish_reason"));
        stream.delta("{}", &reason);
        let told = counted(COUNTS, reply.get("usage"), usage);
        if let Some(told) = told.filter(|_| tells_usage) {
            stream.push("[]", Some(&told));
        }
    }
    push_event(&mut stream.out, None, "[DONE]");
    stream.out
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
    out: Vec<u8>,
    head: Object<'a>,
}

impl Stream<'_> {
    fn push(&mut self, choices: &str, usage: Option<&str>) {
        let mut chunk = self.head.clone();
        chunk.set("choices", choices);
        if let Some(usage) = usage {
            chunk.set("usage", usage);
        }
        push_event(&mut self.out, None, &chunk.json());
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
            let is_said = text_of(&rest).is_empty() && seen.get(key).is_some();
            if !is_said {
                self.delta(&format!("{{\"{key}\":{rest}}}"), "null");
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
            let mut piece = Object::default();
            let number = index.to_string();
            piece.set("index", number);
            for (key, value) in call.members().filter(|(key, _)| *key != "index") {
                piece.set(key, value);
            }
            self.delta(&format!("{{\"tool_calls\":[{}]}}", piece.json()), "null");
            index += 1;
        }
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
