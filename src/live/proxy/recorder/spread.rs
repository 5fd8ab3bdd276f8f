//! Secrets that are spread over the deltas of a WebSocket: each delta is written by itself, so what stood
//! before it is remembered.

use super::secrets::Secrets;
use retake_core::exchange::ExchangeId;
use serde_json::Value;
use std::collections::HashMap;

/// How much of a text is remembered, in bytes, once it has grown beyond twice as much: more than any key has.
const KEPT: usize = 8 << 10;
/// Most texts that grow at a time; beyond it nothing of a delta is written.
const TEXTS: usize = 1024;

/// Types of the messages that end a response and all its texts.
const ENDS: &[&str] = &[
    "response.completed",
    "response.done",
    "response.failed",
    "response.incomplete",
];

/// What deltas have put together so far, by the exchange and the text that they belong to.
#[derive(Debug, Default)]
pub(super) struct Spread(HashMap<(ExchangeId, String), String>);

impl Spread {
    /// Takes out of a delta what belongs to a secret that its text holds, or may hold once it has grown.
    pub(super) fn redact(&mut self, id: ExchangeId, message: &mut Value, secrets: &Secrets) {
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        let Some(kind) = text("type").map(str::to_owned) else {
            return;
        };
        let item = text("item_id").unwrap_or_default().to_owned();
        let place = ["output_index", "content_index", "summary_index"]
            .map(|name| message.get(name).map(Value::to_string).unwrap_or_default());
        let (Some(whole), Some(Value::String(delta))) =
            (kind.strip_suffix(".delta"), message.get_mut("delta"))
        else {
            if ENDS.contains(&&*kind) {
                self.ends(id);
            } else if let Some(whole) = kind.strip_suffix(".done") {
                self.0.remove(&(id, key(whole, &item, &place)));
            }
            return;
        };
        let key = (id, key(whole, &item, &place));
        if self.0.len() >= TEXTS && !self.0.contains_key(&key) {
            *delta = format!("[{} bytes]", delta.len());
            return;
        }
        let said = self.0.entry(key).or_default();
        let before = said.len();
        said.push_str(delta);
        *delta = secrets.grown(said, before);
        if said.len() > 2 * KEPT {
            let from = said.ceil_char_boundary(said.len() - KEPT);
            said.drain(..from);
        }
    }

    /// Nothing of an exchange goes on.
    pub(super) fn ends(&mut self, id: ExchangeId) {
        self.0.retain(|(of, _), _| *of != id);
    }
}

fn key(kind: &str, item: &str, place: &[String]) -> String {
    format!("{kind} {item} {}", place.join(" "))
}
