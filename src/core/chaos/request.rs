//! What of a request decides whether a fault fits its reply.

use crate::dialects::tools::read_tools;
use crate::session::{Dialect, Tool, ToolKind};
use crate::wire::RequestHead;
use serde_json::{Value, json};

/// A request, as far as it matters here.
#[derive(Debug, Clone)]
pub struct Request {
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
    /// The elements of the history, but for instructions.
    pub(super) elements: Vec<Value>,
    /// Where the provider keeps what stands before them; `None` where nothing does.
    pub(super) kept: Option<Kept>,
}

/// Where a provider keeps what was said before a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// Behind the reply of this id.
    Behind(String),
    /// In the conversation of this id.
    In(String),
}

impl Request {
    /// Reads the body of a request; `None` where it is none.
    pub fn read(dialect: Dialect, body: &[u8]) -> Option<Self> {
        let head = RequestHead::read(dialect, body)?;
        let history = RequestHead::value(body, &head.history)?;
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
            elements: elements(history),
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

fn kept(head: &RequestHead) -> Option<Kept> {
    let behind = head.continues.clone().filter(|_| !head.has_thread);
    let inside = || head.conversation.clone().map(Kept::In);
    behind.map(Kept::Behind).or_else(inside)
}

/// The elements of a history without those that instruct: agents change them while a conversation goes on.
fn elements(history: Value) -> Vec<Value> {
    let elements = match history {
        Value::Array(elements) => elements,
        // A text in the place of a list is what the user says.
        text => return vec![json!({"role": "user", "content": text})],
    };
    let instructs = |element: &Value| {
        let role = element.get("role").and_then(Value::as_str);
        matches!(role, Some("system" | "developer"))
    };
    elements
        .into_iter()
        .filter(|element| !instructs(element))
        .collect()
}
