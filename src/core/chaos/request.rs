//! What of a request decides whether a fault fits its reply.

use crate::formats::read_request_part;
use crate::rules::reports_error;
use crate::session::{Dialect, Kind, Session, SourceError, Tool, ToolKind};
use crate::wire::tools::read_tools;
use crate::wire::{Content, RequestHead, body_of};
use foldhash::fast::FixedState;
use serde_json::Value;
use std::hash::BuildHasher;

/// A request, as far as it matters here.
#[derive(Debug, Clone)]
pub struct ChaosRequest {
    pub dialect: Dialect,
    /// Whether the reply is to be a stream.
    pub streams: bool,
    /// The function tools on offer.
    pub(super) tools: Vec<Tool>,
    /// The names of all tools on offer.
    pub(super) names: Vec<String>,
    /// What the final output must look like.
    pub(super) output_schema: Option<Value>,
    /// Whether the final output must be JSON, whatever it looks like.
    pub(super) wants_json: bool,
    /// The history, but for instructions: agents change them while a conversation goes on.
    pub(super) elements: Vec<HistoryElement>,
    /// Where the provider keeps what is before them; `None` where nothing does.
    pub(super) kept: Option<HistoryPlace>,
}

/// An item of a history, however it is spelled: clients spell one item in several ways, from one request to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryElement {
    pub(super) kind: Kind,
    /// Whether it is an output that may report an error.
    pub(super) has_error: bool,
    pub(super) hash: u64,
}

/// Where a provider keeps what came before a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HistoryPlace {
    /// After the reply of this id.
    After(String),
    /// In the conversation of this id.
    In(String),
}

impl ChaosRequest {
    /// Reads the body of a request; `None` where it is none.
    pub fn read(dialect: Dialect, body: &[u8]) -> Option<Self> {
        let (head, session) = read_request_part(dialect, body).ok()?;
        let (tools, _) = read_tools(&tools_of(&head, body));
        let kept = kept(&head);
        Some(Self {
            dialect,
            streams: head.streams,
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            tools: tools
                .into_iter()
                .filter(|tool| tool.kind == ToolKind::Function)
                .collect(),
            output_schema: RequestHead::value(body, &head.output_schema),
            wants_json: head.wants_json,
            elements: elements(&session).ok()?,
            kept,
        })
    }

    /// The function tool of a name.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The definitions of tools, in both members that Chat has for them.
fn tools_of(head: &RequestHead, body: &[u8]) -> Value {
    let lists = [&head.tools, &head.functions].into_iter();
    let lists = lists.filter_map(|place| match RequestHead::value(body, place) {
        Some(Value::Array(tools)) => Some(tools),
        _ => None,
    });
    lists.flatten().collect()
}

fn kept(head: &RequestHead) -> Option<HistoryPlace> {
    let previous = head.continues.clone().filter(|_| !head.has_thread);
    let inside = || head.conversation.clone().map(HistoryPlace::In);
    previous.map(HistoryPlace::After).or_else(inside)
}

fn elements(session: &Session) -> Result<Vec<HistoryElement>, SourceError> {
    let items = session
        .items
        .iter()
        .filter(|item| item.kind != Kind::System);
    let elements = items.map(|item| {
        let bytes = session.bytes(item)?;
        let body = body_of(item, &bytes).unwrap_or_default();
        // What is no JSON says nothing.
        let arguments = body.arguments;
        let arguments = match serde_json::from_str::<Value>(arguments.as_written()) {
            Ok(mut value) => {
                value.sort_all_objects();
                value.to_string()
            }
            Err(_) => arguments.as_written().to_owned(),
        };
        let content = Content::of(item, &bytes).unwrap_or_default();
        let id = session.call_id(item)?;
        let identity = format!(
            "{:?} {} {id} {arguments} {:?}",
            item.kind,
            session.name(item),
            content.parts
        );
        let has_error = item.kind == Kind::Output
            && (reports_error(session, item, &body.text) || may_report_error(&body.text));
        Ok(HistoryElement {
            kind: item.kind,
            has_error,
            hash: FixedState::default().hash_one(identity),
        })
    });
    elements.collect()
}

/// Words of agents that refuse a call, lower case. Better too many: an agent that says in its own words what is wrong has
/// noticed it.
const REFUSALS: &[&str] = &[
    "error",
    "exception",
    "invalid",
    "unknown",
    "unsupported",
    "unrecogni",
    "malformed",
    "missing",
    "required",
    "expected",
    "fail",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "must ",
    "not found",
    "not exist",
    "n't exist",
    "not valid",
    "not available",
    "no tool",
    "no such",
    "available tools",
];

/// How much of an output is looked through for them, in characters.
const REFUSAL_HEAD: usize = 400;

fn may_report_error(text: &str) -> bool {
    let head: String = text.chars().take(REFUSAL_HEAD).collect();
    let head = head.to_lowercase();
    REFUSALS.iter().any(|word| head.contains(word))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_element_is_the_same_however_it_is_spelled() {
        let hash_of = |dialect: Dialect, element: &Value| {
            let body = json!({"input": [element], "messages": [element]}).to_string();
            ChaosRequest::read(dialect, body.as_bytes())
                .unwrap()
                .elements[0]
                .hash
        };
        let plain = json!({"role": "user", "content": "a"});
        let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        for (dialect, same) in [
            (
                Dialect::named("chat").unwrap(),
                json!({"content": "a", "role": "user", "name": null}),
            ),
            (
                Dialect::named("responses").unwrap(),
                json!({"type": "message", "role": "user", "content": "a"}),
            ),
            (
                Dialect::named("anthropic").unwrap(),
                json!({"role": "user", "content": [marked]}),
            ),
            (
                Dialect::named("responses").unwrap(),
                json!({"role": "user", "content": [{"type": "input_text", "text": "a"}]}),
            ),
        ] {
            assert_eq!(hash_of(dialect, &same), hash_of(dialect, &plain), "{same}");
        }
        for other in [
            json!({"role": "user", "content": "b"}),
            json!({"role": "assistant", "content": "a"}),
        ] {
            let dialect = Dialect::named("anthropic").unwrap();
            assert_ne!(
                hash_of(dialect, &other),
                hash_of(dialect, &plain),
                "{other}"
            );
        }
    }
}
