//! Stories of holds in every dialect: how the agent's requests look, and how the provider is to get them.

mod many;
mod repairs;
mod spelling;
mod stories;
mod telling;

use super::*;
use crate::formats::{Sample, read_buffer, recognise};
use crate::rules::{Run, Severity, check};
use crate::session::Source;
use serde_json::Value;
use spelling::{Call, outputs, request, turn, user};
use std::sync::Arc;

const DIALECTS: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

/// A call that the agent can run, one that it cannot, and one that the model makes instead.
const GOOD: Call = Call(
    "call_good_0123456789",
    "read",
    r#"{"path": "a.rs", "deep": {"n": 1}}"#,
);
const BAD: Call = Call("call_bad_0123456789", "reed", r#"{"path":"b.rs"}"#);
const THEN: Call = Call("call_then_0123456789", "read", r#"{"path":"b.rs"}"#);

/// What rules say against a request that the provider would refuse: everything about pairs, places and shapes.
fn complaints(body: &str) -> Vec<String> {
    let bytes = body.as_bytes();
    let format =
        recognise(&Sample::new(bytes, true)).unwrap_or_else(|| panic!("no format claims {body}"));
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    let mut contents = read_buffer(format, &source, bytes).unwrap();
    let session = contents.sessions.remove(0);
    let findings = check(&mut Run::new(&session, None)).unwrap();
    let findings = findings.iter();
    let bad = findings
        .filter(|finding| finding.severity == Severity::Error && finding.rule.id != "unknown-tool");
    bad.map(|finding| finding.message()).collect()
}

fn value(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

/// Two bodies say the same; ids of items, which agents drop, and members that are null aside.
#[track_caller]
fn assert_same(dialect: Dialect, got: &str, expected: &str, what: &str) {
    let list = |body: &str| {
        let list = RequestList::read(dialect, body.as_bytes()).unwrap();
        list.iter()
            .map(|element| element.meaning(&element::PASSING))
            .collect::<Vec<_>>()
    };
    let shown = |body: &str| serde_json::to_string_pretty(&value(body.as_bytes())).unwrap();
    assert!(
        list(got) == list(expected),
        "{dialect:?}, {what}: got {}\nexpected {}",
        shown(got),
        shown(expected)
    );
}

fn restored(views: &Views, dialect: Dialect, body: &str) -> String {
    match views.restore(dialect, body.as_bytes()) {
        Some(restored) => String::from_utf8(restored.body).unwrap(),
        None => body.to_owned(),
    }
}
