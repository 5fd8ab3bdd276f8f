//! A streamed reply in one piece, and whether it was odd: then it is worth to be kept as it came.

use super::secrets::Secrets;
use retake_core::dialects::stream::{Event, Splitter, Step};
use retake_core::session::Dialect;
use serde_json::Value;
use std::collections::HashMap;

/// Most bytes of an odd stream that are kept as they came.
const RAW_CAP: usize = 1 << 20;

/// A stream that was put together.
#[derive(Debug, Default)]
pub(crate) struct Assembled {
    /// The reply in the shape of its dialect; `None` where there was none.
    pub(crate) reply: Option<String>,
    /// What the provider reported in the middle of it.
    pub(crate) failures: Vec<Value>,
    /// Whether it did not reach its end.
    pub(crate) incomplete: bool,
    /// Whether it holds what the reply in one piece does not tell.
    pub(crate) is_odd: bool,
}

pub(crate) fn looks_streamed(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"]
        .iter()
        .any(|field| text.starts_with(field))
}

pub(crate) fn assemble(dialect: Option<Dialect>, bytes: &[u8]) -> Assembled {
    let Some(dialect) = dialect else {
        return Assembled {
            is_odd: true,
            ..Assembled::default()
        };
    };
    let mut reply = dialect.codec().decoder();
    let (mut any, mut ended, mut is_odd) = (false, false, false);
    let mut take = |event: Event| {
        let data = event.data.trim();
        if data == "[DONE]" {
            reply.push_done();
            ended = true;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(event) if event.is_object() => {
                any = true;
                let step = reply.push(&event);
                // Usage may follow the end of a chat reply; a call or a text may not.
                is_odd |=
                    step == Step::Failed || (ended && step != Step::Nothing && step != Step::Ends);
                ended |= step == Step::Ends && !dialect.facts().tells_usage_last;
            }
            _ => is_odd = true,
        }
    };
    let mut splitter = Splitter::default();
    splitter.push(bytes, &mut take);
    let rest = splitter.finish();
    if let Some(event) = rest {
        // An event without its blank line: whole, or cut.
        take(event);
    }
    let finished = reply.finish();
    Assembled {
        is_odd: is_odd || !finished.ended,
        incomplete: !finished.ended,
        failures: finished.failures,
        reply: any.then_some(finished.json),
    }
}

/// A stream as it came, without its secrets; `None` where one of them is spread over its events, so that none
/// of its pieces shows it.
pub(crate) fn raw(bytes: &[u8], secrets: &mut Secrets) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(RAW_CAP)]);
    let mut spread: HashMap<String, String> = HashMap::new();
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            spread
                .entry(String::new())
                .or_default()
                .push_str(line.trim_end());
            out.push_str(line);
            continue;
        };
        match serde_json::from_str::<Value>(data) {
            Ok(value) => gather("", &value, &mut spread),
            Err(_) => spread.entry(String::new()).or_default().push_str(data),
        }
        // Names of secrets count in broken JSON, too.
        out.push_str("data: ");
        out.push_str(&secrets.redact(data.to_owned()));
        out.push_str(&line[line.trim_end().len()..]);
    }
    let is_clean = spread.values().all(|text| !secrets.finds(text));
    is_clean.then_some(out)
}

/// The texts of events by the names that they stand under, one behind the other: deltas join to what
/// they are deltas of.
fn gather(name: &str, value: &Value, out: &mut HashMap<String, String>) {
    match value {
        Value::String(text) => out.entry(name.to_owned()).or_default().push_str(text),
        Value::Array(values) => values.iter().for_each(|value| gather(name, value, out)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| gather(name, value, out)),
        _ => {}
    }
}
