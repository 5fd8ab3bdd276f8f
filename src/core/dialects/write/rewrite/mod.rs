//! Replies that a provider could have given, around a turn that was mended: whole, or as the rest of a stream.

pub(in crate::dialects) mod anthropic;
pub(in crate::dialects) mod chat;
pub(in crate::dialects) mod gemini;
mod object;
pub(in crate::dialects) mod responses;

pub use object::Object;

use crate::session::ledger::Usage;
use serde_json::Value;

/// What a client has seen of a stream.
#[derive(Debug, Default)]
pub struct Begun {
    /// The data of its events, with their JSON.
    pub events: Vec<(String, Value)>,
    /// The number of the next event; `None` where events of this stream have none.
    pub next_number: Option<u64>,
}

/// The usage of a reply with these tokens in place of its own, in members of these names; `None` where neither
/// is known.
fn counted(
    [input_key, output_key]: [&'static str; 2],
    own: Option<&str>,
    usage: Usage,
) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    counted.set(input_key, usage.input.to_string());
    counted.set(output_key, usage.output.to_string());
    let total = usage.input.saturating_add(usage.output);
    counted.set("total_tokens", total.to_string());
    Some(counted.json())
}

/// Adds an event. Its data stands on one line: line ends between the tokens of a reply become spaces.
pub(crate) fn push_event(out: &mut Vec<u8>, name: Option<&str>, data: &str) {
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
