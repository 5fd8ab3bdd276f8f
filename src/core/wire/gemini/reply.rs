//! Replies of Gemini, new ones and the rest of those that a client knows in part (Gemini API reference,
//! `GenerateContentResponse`).

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::new_reply::{End, NewEvent, NewReply, SentStream, pieces, push_event};
use crate::wire::object::{Object, elements, list, quoted, suffix};
use crate::wire::stream::{Decoder, input_of, rejoin};
use serde_json::{Value, json};

/// The whole reply. Arguments stand in it as they were written; those that are no object stand as a text.
pub(crate) fn whole(reply: &NewReply) -> String {
    let mut parts = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        parts.push(thought(reasoning));
    }
    parts.extend(words(reply).map(|text| said(text)));
    parts.extend(calls(reply));
    chunk(reply, &parts, Some(finish_reason(reply)))
}

/// Text and refusal: for this provider both are text.
fn words(reply: &NewReply) -> impl Iterator<Item = &String> {
    reply.texts.iter().chain(&reply.refusal)
}

fn said(text: &str) -> String {
    format!(r#"{{"text":{}}}"#, quoted(text))
}

fn thought(text: &str) -> String {
    format!(r#"{{"text":{},"thought":true}}"#, quoted(text))
}

/// Of several calls the first one carries the signature (Gemini API, thought signatures).
fn calls(reply: &NewReply) -> impl Iterator<Item = String> {
    let calls = reply.calls.iter().enumerate();
    calls.map(|(place, call)| {
        let (id, name) = (quoted(&call.id), quoted(&call.name));
        let args = input_of(&call.arguments);
        let signature = match place {
            0 => format!(r#","thoughtSignature":"{}""#, signature(reply)),
            _ => String::new(),
        };
        format!(r#"{{"functionCall":{{"id":{id},"name":{name},"args":{args}}}{signature}}}"#)
    })
}

/// Base64, as SDKs decode it: letters and digits, filled up to whole groups of four.
fn signature(reply: &NewReply) -> String {
    let mut signature = format!("scripted{}", reply.tag);
    while !signature.len().is_multiple_of(4) {
        signature.push('A');
    }
    signature
}

fn finish_reason(reply: &NewReply) -> &'static str {
    match reply.end {
        End::Length => "MAX_TOKENS",
        End::ContentFilter => "SAFETY",
        End::Natural if reply.refusal.is_some() => "PROHIBITED_CONTENT",
        End::Natural => "STOP",
    }
}

/// A chunk with these parts; the last one tells why the turn ends, and the usage.
fn chunk(reply: &NewReply, parts: &[String], finish: Option<&str>) -> String {
    let content = format!(r#"{{"parts":[{}],"role":"model"}}"#, parts.join(","));
    let end = finish.map(|word| format!(r#","finishReason":"{word}""#));
    let usage = json!({
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.output_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    });
    let usage = finish.map(|_| format!(r#","usageMetadata":{usage}"#));
    let [end, usage] = [end, usage].map(Option::unwrap_or_default);
    let model = Value::from(reply.model.as_str());
    let tag = &reply.tag;
    format!(
        r#"{{"candidates":[{{"content":{content}{end},"index":0}}]{usage},"modelVersion":{model},"responseId":"{tag}"}}"#
    )
}

/// The chunks of its stream. Nothing marks their end but the reason to finish.
pub(crate) fn events(reply: &NewReply, piece: usize) -> Vec<NewEvent> {
    let mut parts = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        parts.extend(pieces(reasoning, piece).into_iter().map(thought));
    }
    for text in words(reply) {
        parts.extend(pieces(text, piece).into_iter().map(said));
    }
    parts.extend(calls(reply));
    let last = parts.pop().unwrap_or_else(|| said(""));
    let chunks = parts.into_iter().map(|part| chunk(reply, &[part], None));
    let end = chunk(reply, &[last], Some(finish_reason(reply)));
    let data = chunks.chain([end]);
    // Arguments may stand on several lines; an event has one.
    data.map(|data| NewEvent {
        name: None,
        data: data.replace(['\n', '\r'], " "),
    })
    .collect()
}

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let candidates = elements(reply.get("candidates").unwrap_or_default());
    let candidates = candidates.into_iter().map(str::to_owned);
    let mut candidates = candidates.collect::<Vec<_>>();
    let first = candidates.iter().position(|candidate| is_first(candidate));
    let old = first.map(|place| candidates[place].clone());
    let old = old.unwrap_or_default();
    let mut candidate = Object::read(&old);
    let contents = turn.iter().map(|content| parts_of(content));
    let parts = contents.collect::<Vec<_>>();
    let parts = parts.iter().flat_map(|parts| elements(parts));
    let parts = parts.collect::<Vec<_>>();
    let reason = fitting(&parts, candidate.get("finishReason"));
    if candidate.get("finishReason") != Some(&*reason) {
        candidate.remove("finishMessage");
    }
    let mut content = Object::default();
    content.set("parts", list(&parts));
    content.set("role", "\"model\"");
    candidate.set("content", content.json());
    candidate.set("finishReason", reason);
    candidate.add("index", "0");
    match first {
        Some(place) => candidates[place] = candidate.json(),
        None => candidates.push(candidate.json()),
    }
    reply.set("candidates", list(&candidates));
    if let Some(told) = counted(reply.get("usageMetadata"), usage) {
        reply.set("usageMetadata", told);
    }
    reply.json()
}

fn is_first(candidate: &str) -> bool {
    matches!(Object::read(candidate).get("index"), None | Some("0"))
}

/// The parts of a content, as a list.
fn parts_of(content: &str) -> String {
    let content = Object::read(content);
    content.get("parts").unwrap_or("[]").to_owned()
}

fn is_call(part: &str) -> bool {
    let part = Object::read(part);
    part.has("functionCall") || part.has("function_call")
}

/// Why a turn of these parts ends, as JSON: one with calls ends like any other, and what was wrong with a call
/// that is gone is no reason any more.
fn fitting<Part: AsRef<str>>(parts: &[Part], said: Option<&str>) -> String {
    let has_calls = parts.iter().any(|part| is_call(part.as_ref()));
    let word = match said {
        Some(said) if !has_calls && !said.ends_with("_CALL\"") && !said.ends_with("_CALLS\"") => {
            said
        }
        _ => "\"STOP\"",
    };
    word.to_owned()
}

/// The usage of a reply with these tokens in place of its own; `None` where neither is known.
fn counted(own: Option<&str>, usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    // Thoughts and what the provider's own tools gave are counted beside the others.
    let count = |key| counted.get(key).and_then(|count| count.parse::<u64>().ok());
    let thoughts = count("thoughtsTokenCount").unwrap_or(0);
    let given = count("toolUsePromptTokenCount").unwrap_or(0);
    let total = usage.input.saturating_add(usage.output);
    let (input, output) = (
        usage.input.saturating_sub(given),
        usage.output.saturating_sub(thoughts),
    );
    counted.set("promptTokenCount", input.to_string());
    counted.set("candidatesTokenCount", output.to_string());
    counted.set("totalTokenCount", total.to_string());
    Some(counted.json())
}

/// What a client has seen of a reply: its parts, each as JSON, whether it was told why the turn ends, and what
/// every chunk says.
#[derive(Default)]
struct Seen {
    parts: Vec<String>,
    is_finished: bool,
    head: Option<String>,
}

impl Seen {
    fn read(sent: &SentStream) -> Self {
        let mut reply = Box::new(decode::Gemini::default());
        let mut seen = Self::default();
        for (data, event) in &sent.events {
            reply.push(event);
            if event.get("candidates").is_some() && seen.head.is_none() {
                seen.head = Some(data.clone());
            }
        }
        let reply = reply.finish();
        seen.is_finished = reply.ended;
        let json = rejoin(&reply.json);
        let (_, parts) = first_of(&Object::read(&json));
        seen.parts = elements(&parts).into_iter().map(str::to_owned).collect();
        seen
    }
}

/// The first candidate of a reply without its content, and the list of its parts.
fn first_of(reply: &Object<'_>) -> (String, String) {
    let candidates = elements(reply.get("candidates").unwrap_or_default());
    let first = candidates.into_iter().find(|candidate| is_first(candidate));
    let mut candidate = Object::read(first.unwrap_or("{}"));
    let parts = parts_of(candidate.get("content").unwrap_or("{}"));
    candidate.remove("content");
    (candidate.json(), parts)
}

pub(crate) fn continuation(sent: &SentStream, reply: &str, usage: Usage) -> Vec<u8> {
    let seen = Seen::read(sent);
    let mut out = Vec::new();
    if seen.is_finished {
        return out;
    }
    let reply = Object::read(reply);
    let (candidate, parts) = first_of(&reply);
    let parts = elements(&parts);
    let left = unsent_parts(&seen.parts, &parts);
    // A call that the client has already is to be answered, whatever is still to come.
    let all = seen.parts.iter().map(String::as_str);
    let all = all.chain(left.iter().map(String::as_str));
    let mut candidate = Object::read(&candidate);
    let reason = fitting(&all.collect::<Vec<_>>(), candidate.get("finishReason"));
    let mut content = Object::default();
    content.set(
        "parts",
        match left.is_empty() {
            true => r#"[{"text":""}]"#.to_owned(),
            false => list(&left),
        },
    );
    content.set("role", "\"model\"");
    candidate.set("content", content.json());
    candidate.set("finishReason", reason);
    let candidate = candidate.json();
    let mut chunk = reply.clone();
    chunk.set("candidates", format!("[{candidate}]"));
    // The reply is the one that the client knows.
    let head = Object::read(seen.head.as_deref().unwrap_or_default());
    for key in ["responseId", "modelVersion"] {
        if let Some(value) = head.get(key) {
            chunk.set(key, value);
        }
    }
    if let Some(told) = counted(reply.get("usageMetadata"), usage) {
        chunk.set("usageMetadata", told);
    }
    push_event(&mut out, None, &chunk.json());
    out
}

/// The parts behind those that were seen; of the last one that was seen its rest, where it is a text that goes on.
pub(crate) fn unsent_parts<Part: AsRef<str>>(seen: &[Part], parts: &[&str]) -> Vec<String> {
    let is_same = |seen: &Part, part: &str| {
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
        value(seen.as_ref()) == value(part)
    };
    let pairs = seen.iter().zip(parts);
    let same = pairs.take_while(|(seen, part)| is_same(seen, part)).count();
    let mut left = parts[same..]
        .iter()
        .map(|part| (*part).to_owned())
        .collect::<Vec<_>>();
    let grown = seen.get(same).filter(|_| same + 1 == seen.len());
    if let (Some(seen), Some(first)) = (grown, left.first_mut())
        && let Some(rest) = rest_of(seen.as_ref(), first)
    {
        *first = rest;
    }
    left
}

/// A text without its beginning that was seen; `None` where it does not begin so.
fn rest_of(seen: &str, part: &str) -> Option<String> {
    let (seen, mut part) = (Object::read(seen), Object::read(part));
    let text = part.get("text")?;
    let is_one = seen.has("text") && seen.get("thought") == part.get("thought");
    let rest = suffix(&seen.text("text"), text).filter(|_| is_one)?;
    part.set("text", rest);
    Some(part.json())
}
