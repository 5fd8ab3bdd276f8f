//! What of a request decides whether a fault fits its reply.

use crate::dialects::tools::read_tools;
use crate::session::{Dialect, Tool, ToolKind};
use crate::wire::ServerState;
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
        let mut request: Value = serde_json::from_slice(body).ok()?;
        let history = request.get_mut(dialect.facts().history_key);
        let history = history.map(Value::take)?;
        let (tools, _) = read_tools(&Value::Array(tools_of(&request)));
        Some(Self {
            dialect,
            streams: request.get("stream").and_then(Value::as_bool) == Some(true),
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            tools: tools
                .into_iter()
                .filter(|tool| tool.kind == ToolKind::Function)
                .collect(),
            output_schema: output_schema(dialect, &request).cloned(),
            wants_json: wants_json(dialect, &request),
            elements: elements(history),
            kept: kept(dialect, &request),
        })
    }

    /// The function tool of a name.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The definitions of tools, in both members that Chat has for them.
fn tools_of(request: &Value) -> Vec<Value> {
    let lists = ["tools", "functions"].into_iter();
    let lists = lists.filter_map(|key| request.get(key).and_then(Value::as_array));
    lists.flatten().cloned().collect()
}

fn output_schema(dialect: Dialect, request: &Value) -> Option<&Value> {
    let mut places = dialect.facts().schema_places.iter();
    places.find_map(|place| request.pointer(place))
}

fn wants_json(dialect: Dialect, request: &Value) -> bool {
    let place = dialect.facts().format_type;
    let kind = place.and_then(|place| request.pointer(place)?.as_str());
    matches!(kind, Some("json_object" | "json_schema"))
}

fn kept(dialect: Dialect, request: &Value) -> Option<Kept> {
    if dialect.facts().server_state != ServerState::Replies {
        return None;
    }
    let id = |value: &Value| {
        let id = value.as_str().filter(|id| !id.is_empty());
        id.map(str::to_owned)
    };
    let behind = request.get("previous_response_id").and_then(id);
    let conversation = request.get("conversation");
    let of_object = || conversation?.get("id").and_then(id);
    let inside = conversation.and_then(id).or_else(of_object);
    behind.map(Kept::Behind).or_else(|| inside.map(Kept::In))
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
