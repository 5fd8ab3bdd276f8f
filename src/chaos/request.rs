//! What of a request decides whether a fault fits its reply.

use crate::dialects::tools::read_tools;
use crate::session::{Dialect, Tool, ToolKind};
use serde_json::Value;

/// A request, as far as it matters here.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is spoken.
    pub dialect: Dialect,
    /// Whether the reply is to be a stream.
    pub streams: bool,
    /// The function tools on offer.
    pub(super) tools: Vec<Tool>,
    /// The names of all tools on offer.
    pub(super) names: Vec<String>,
    /// What the final output must look like.
    pub(super) output_schema: Option<Value>,
    /// The elements of the history, but for instructions.
    pub(super) elements: Vec<Value>,
    /// Whether the provider remembers what stands before them.
    pub(super) has_server_state: bool,
}

impl Request {
    /// Reads the body of a request; `None` where it is none.
    pub fn read(dialect: Dialect, body: &[u8]) -> Option<Self> {
        let mut request: Value = serde_json::from_slice(body).ok()?;
        let list = match dialect {
            Dialect::Responses => "input",
            Dialect::Chat | Dialect::Anthropic => "messages",
            Dialect::Gemini => return None,
        };
        let history = request.get_mut(list).map(Value::take)?;
        let (tools, _) = read_tools(&Value::Array(tools_of(&request)));
        let is_set = |key: &str| request.get(key).is_some_and(|value| !value.is_null());
        Some(Self {
            dialect,
            streams: request.get("stream").and_then(Value::as_bool) == Some(true),
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            tools: tools
                .into_iter()
                .filter(|tool| tool.kind == ToolKind::Function)
                .collect(),
            output_schema: output_schema(dialect, &request).cloned(),
            elements: elements(history),
            has_server_state: is_set("previous_response_id") || is_set("conversation"),
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
    let places: &[&str] = match dialect {
        Dialect::Responses => &["/text/format/schema"],
        Dialect::Chat => &["/response_format/json_schema/schema"],
        Dialect::Anthropic => &["/output_config/format/schema", "/output_format/schema"],
        Dialect::Gemini => &[],
    };
    places.iter().find_map(|place| request.pointer(place))
}

/// The elements of a history without those that instruct: agents change them while a conversation goes on.
fn elements(history: Value) -> Vec<Value> {
    let Value::Array(elements) = history else {
        return vec![history];
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
