//! Replies that a provider could have given, around a turn that was mended: whole, or as the rest of a stream
//! whose beginning the client has seen.
//!
//! What a turn holds is spelled as it was given: numbers, escapes, signatures and encrypted content stay byte
//! for byte. What the client has seen at the beginning of the turn is not said again.

mod anthropic;
mod chat;
mod object;
mod responses;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::gate::Sent;
use crate::session::Dialect;
use crate::session::ledger::Usage;
use object::Object;

/// The rest of a stream of which `sent` was sent: with it the client has what it has seen already, and behind
/// that the turn of `reply`, a whole reply of the dialect.
///
/// The Response keeps the id that the client knows, indexes and sequence numbers go on, what was begun is
/// ended, and the stream ends once. `usage` is what is told of the tokens, where it is not zero; Chat tells it
/// only where `tells_usage` says that the client has asked for it (`stream_options.include_usage`). A stream
/// that has ended already gets nothing more.
pub fn continuation(
    dialect: Dialect,
    sent: &Sent,
    reply: &str,
    usage: Usage,
    tells_usage: bool,
) -> Vec<u8> {
    if sent.is_over(dialect) {
        return Vec::new();
    }
    match dialect {
        Dialect::Responses => responses::continuation(sent, reply, usage),
        Dialect::Chat => chat::continuation(sent, reply, usage, tells_usage),
        Dialect::Anthropic => anthropic::continuation(sent, reply, usage),
        Dialect::Gemini => Vec::new(),
    }
}

/// A whole reply whose turn are these elements of a history, as [`crate::dialects::write::history_of`] gives
/// them. All else is that of `template`, a whole reply of the same provider, except what must fit the turn: why
/// it ends, and the usage where it is not zero. What a history may leave out and a reply may not (the id of a
/// message, its status) is filled in.
pub fn reply_with(dialect: Dialect, template: &str, elements: &[String], usage: Usage) -> String {
    match dialect {
        Dialect::Responses => responses::reply_with(template, elements, usage),
        Dialect::Chat => chat::reply_with(template, elements, usage),
        Dialect::Anthropic => anthropic::reply_with(template, elements, usage),
        Dialect::Gemini => template.to_owned(),
    }
}

/// The usage of a reply with these tokens in place of its own; `None` where neither is known.
fn counted(dialect: Dialect, own: Option<&str>, usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    let total = usage.input.saturating_add(usage.output).to_string();
    let output = usage.output.to_string();
    match dialect {
        Dialect::Chat => {
            counted.set("prompt_tokens", usage.input.to_string());
            counted.set("completion_tokens", output);
            counted.set("total_tokens", total);
        }
        Dialect::Anthropic => {
            // Tokens of the cache are counted beside the others.
            let count = |key| counted.get(key).and_then(|count| count.parse::<u64>().ok());
            let cached = count("cache_read_input_tokens")
                .unwrap_or(0)
                .saturating_add(count("cache_creation_input_tokens").unwrap_or(0));
            let input = usage.input.saturating_sub(cached).to_string();
            counted.set("input_tokens", input);
            counted.set("output_tokens", output);
        }
        Dialect::Responses | Dialect::Gemini => {
            counted.set("input_tokens", usage.input.to_string());
            counted.set("output_tokens", output);
            counted.set("total_tokens", total);
        }
    }
    Some(counted.json())
}

/// Adds an event. Its data stands on one line: line ends between the tokens of a reply become spaces.
fn push_event(out: &mut Vec<u8>, name: Option<&str>, data: &str) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    let bytes = data.bytes().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        byte => byte,
    });
    out.extend(bytes);
    out.extend_from_slice(b"\n\n");
}
