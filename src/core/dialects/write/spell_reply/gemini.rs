//! A reply of Gemini (Gemini API reference, `GenerateContentResponse`).

use super::{End, NewEvent, NewReply, pieces};
use crate::dialects::stream::input_of;
use crate::dialects::write::quoted;
use serde_json::{Value, json};

/// The whole reply. Arguments stand in it as they were written; those that are no object stand as a text.
pub(in crate::dialects) fn whole(reply: &NewReply) -> String {
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
pub(in crate::dialects) fn events(reply: &NewReply, piece: usize) -> Vec<NewEvent> {
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
