//! Sessions of Google's Agent Development Kit: events with contents of Gemini, in either spelling of its members.

use super::messages::{Message, each_value, list, placed, text};
use super::transcript::Transcript;
use super::{Contents, Document, Format, Reading};
use crate::session::{Source, SourceResult};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "adk-session",
    title: "ADK sessions",
    sniff: |sample| {
        let is_event = |event: &Document<'_>| {
            event.has("author") && (event.has("invocation_id") || event.has("invocationId"))
        };
        let is_session = |session: &Document<'_>| session.array("events").iter().any(is_event);
        if sample.any(|document| is_event(document) || is_session(document)) {
            97
        } else {
            0
        }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    each_value(bytes, |value, place| match value {
        Ok(value) if list(&value, "events").is_empty() => add(&mut out, place.line, &value),
        Ok(value) => {
            out.begin_session(text(&value, &["id"]), true);
            for (event, place) in placed(&value, place, "events") {
                add(&mut out, place.line, event);
            }
        }
        Err(kind) => out.report(place.at, kind),
    });
    out.finish()
}

fn add(out: &mut Transcript, number: u64, event: &Value) {
    // A streamed text is in partial events first, then as a whole.
    let is_partial = event["partial"] == true || event["options"]["partial"] == true;
    let mut content = event["content"].clone();
    let (Some(members), false) = (content.as_object_mut(), is_partial) else {
        return;
    };
    for key in [
        "timestamp",
        "model_version",
        "usage_metadata",
        "usageMetadata",
        "finish_reason",
    ] {
        if let Some(value) = event.get(key) {
            members.insert(key.to_owned(), value.clone());
        }
    }
    Message::add(out, number, &content);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::outlines;
    use serde_json::json;

    #[test]
    fn events_are_contents_and_pair_by_name() {
        let event = |role: &str, parts: serde_json::Value| json!({"author": "x", "invocationId": "i", "timestamp": 1772442000.5, "content": {"role": role, "parts": parts}});
        let text = json!({"id": "s1", "appName": "a", "events": [
            event("user", json!([{"text": "Sum up."}])),
            event("model", json!([{"functionCall": {"name": "sum", "args": {}}}, {"functionCall": {"id": "c2", "name": "open", "args": {}}}])),
            event("user", json!([{"functionResponse": {"name": "sum", "response": {"is": 3}}}])),
            event("model", json!([{"text": "It is 3."}])),
            {"author": "x", "invocationId": "i", "partial": true, "content": {"role": "model", "parts": [{"text": "It"}]}},
        ]});
        assert_eq!(outlines("adk-session", &text.to_string()), ["u c c? o a"]);
    }
}
