//! Replies of Gemini, new ones and the rest of those that a client knows in part (Gemini API reference,
//! `GenerateContentResponse`).

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::codec::id_member;
use crate::wire::new_reply::{
    End, NewEvent, NewReply, SentStream, StreamRest, change_first, is_first, json_pieces, set_usage,
};
use crate::wire::object::{Object, elements, list, quoted, suffix};
use crate::wire::stream::{Decoder, input_of, rejoin};
use serde_json::json;

/// The whole reply. Arguments keep their spelling; those that are no object are a text.
pub(crate) fn whole(reply: &NewReply) -> String {
    let mut parts = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        parts.push(format!(
            r#"{{"text":{},"thought":true}}"#,
            quoted(reasoning)
        ));
    }
    // For this provider a refusal is text.
    let texts = reply.texts.iter().chain(&reply.refusal);
    parts.extend(texts.map(|text| format!(r#"{{"text":{}}}"#, quoted(text))));
    parts.extend(calls(reply));
    let finish_reason = match reply.end {
        End::Length => "MAX_TOKENS",
        End::ContentFilter => "SAFETY",
        End::Natural if reply.refusal.is_some() => "PROHIBITED_CONTENT",
        End::Natural => "STOP",
    };
    let content = format!(r#"{{"parts":{},"role":"model"}}"#, list(&parts));
    let usage = json!({
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.output_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    });
    let (model, tag) = (quoted(&reply.model), quoted(&reply.tag));
    format!(
        r#"{{"candidates":[{{"content":{content},"finishReason":"{finish_reason}","index":0}}],"usageMetadata":{usage},"modelVersion":{model},"responseId":{tag}}}"#
    )
}

/// Of several calls the first one carries the signature (Gemini API, thought signatures).
fn calls(reply: &NewReply) -> impl Iterator<Item = String> {
    let calls = reply.calls.iter().enumerate();
    calls.map(|(place, call)| {
        let (id, name) = (id_member("id", &call.id), quoted(&call.name));
        let args = input_of(&call.input.as_object());
        let signature = match place {
            0 => format!(r#","thoughtSignature":"{}""#, signature(reply)),
            _ => String::new(),
        };
        format!(r#"{{"functionCall":{{{id}"name":{name},"args":{args}}}{signature}}}"#)
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

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let contents = turn.iter().map(|content| parts_of(content));
    let contents = contents.collect::<Vec<_>>();
    let parts = contents.iter().flat_map(|parts| elements(parts));
    let parts = parts.collect::<Vec<_>>();
    change_first(&mut reply, "candidates", |candidate| {
        let reason = fitting(&parts, candidate.get("finishReason"));
        if candidate.get("finishReason") != Some(&*reason) {
            candidate.remove("finishMessage");
        }
        let content = format!(r#"{{"parts":{},"role":"model"}}"#, list(&parts));
        candidate.set("content", content);
        candidate.set("finishReason", reason);
        candidate.add("index", "0");
    });
    set_usage(&mut reply, &super::FACTS, usage);
    reply.json()
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
fn fitting<Part: AsRef<str>>(parts: &[Part], stop: Option<&str>) -> String {
    let has_calls = parts.iter().any(|part| is_call(part.as_ref()));
    let word = match stop {
        Some(stop) if !has_calls && !stop.ends_with("_CALL\"") && !stop.ends_with("_CALLS\"") => {
            stop
        }
        _ => "\"STOP\"",
    };
    word.to_owned()
}

/// What a client has seen of a reply: its parts, each as JSON, whether it has been sent why the turn ends, and what
/// every chunk says.
#[derive(Default)]
struct Seen {
    parts: Vec<String>,
    is_finished: bool,
    head: Option<String>,
}

impl Seen {
    fn read(sent: &SentStream) -> Self {
        let mut reply = Box::new(decode::GeminiStream::default());
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

/// The first candidate of a reply, and the list of its parts.
fn first_of(reply: &Object<'_>) -> (String, String) {
    let candidates = elements(reply.get("candidates").unwrap_or_default());
    let first = candidates.into_iter().find(|candidate| is_first(candidate));
    let candidate = first.unwrap_or("{}");
    let parts = parts_of(Object::read(candidate).get("content").unwrap_or("{}"));
    (candidate.to_owned(), parts)
}

/// The chunks that a client lacks: a new reply has one for each piece, the rest of a reply is one. Nothing marks
/// their end but the reason to finish.
pub(crate) fn stream(rest: &StreamRest<'_>) -> Vec<NewEvent> {
    let seen = Seen::read(rest.sent);
    if seen.is_finished {
        return Vec::new();
    }
    let mut reply = Object::read(rest.reply);
    let (candidate, parts) = first_of(&reply);
    let left = unsent_parts(&seen.parts, &elements(&parts));
    let mut candidate = Object::read(&candidate);
    let reason = match candidate.get("finishReason") {
        Some(reason) if rest.is_new() => reason.to_owned(),
        // A call that the client has already is to be answered, whatever is still to come.
        reason => {
            let all = seen.parts.iter().chain(&left);
            fitting(&all.collect::<Vec<_>>(), reason)
        }
    };
    // The reply is the one that the client knows.
    let head = Object::read(seen.head.as_deref().unwrap_or_default());
    for key in ["responseId", "modelVersion"] {
        if let Some(value) = head.get(key) {
            reply.set(key, value.to_owned());
        }
    }
    set_usage(&mut reply, &super::FACTS, rest.usage);
    let mut chunks = match rest.piece {
        usize::MAX => vec![list(&left)],
        size => {
            let pieces = left.iter().flat_map(|part| in_pieces(part, size));
            pieces.map(|part| list(&[part])).collect()
        }
    };
    let last = chunks.pop().filter(|parts| parts != "[]");
    let last = last.unwrap_or_else(|| r#"[{"text":""}]"#.to_owned());
    candidate.set("finishReason", reason);
    let end = chunk(&reply, candidate.clone(), &last);
    candidate.remove("finishReason");
    reply.remove("usageMetadata");
    let chunks = chunks
        .iter()
        .map(|parts| chunk(&reply, candidate.clone(), parts));
    chunks.chain([end]).collect()
}

/// A chunk with these parts.
fn chunk(reply: &Object<'_>, mut candidate: Object<'_>, parts: &str) -> NewEvent {
    let content = format!(r#"{{"parts":{parts},"role":"model"}}"#);
    candidate.set("content", content);
    let mut chunk = reply.clone();
    chunk.set("candidates", list(&[candidate.json()]));
    NewEvent::new(None, &chunk.json())
}

/// A text in pieces of so many characters; another part is whole.
fn in_pieces(part: &str, size: usize) -> Vec<String> {
    let mut part = Object::read(part);
    let Some(text) = part.get("text").map(|text| json_pieces(text, size)) else {
        return vec![part.json()];
    };
    let pieces = text.into_iter().map(|piece| {
        part.set("text", piece);
        part.json()
    });
    pieces.collect()
}

/// The parts after those that were seen; of the last one that was seen its rest, where it is a text that goes on.
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
