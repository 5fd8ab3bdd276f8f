//! Requests to a model: the first one of a run, and a history with the settings of the run laid over it.
//!
//! Each part has its member in each of the three APIs (request bodies of the OpenAI and Anthropic API
//! references). Gemini is asked through its endpoint that speaks Chat.

mod overlay;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use overlay::NoRequest;

use super::{draft_message, quoted};
use crate::session::{Dialect, MessageRole, OutputSchema, Tool, ToolKind};
use crate::wire::ToolSpelling;
use overlay::laid_over;
use serde_json::{Map, Value, json};

/// A tool as the model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub tool: Tool,
    /// Whether the provider is to keep the model to the schema; `None` leaves it to the provider.
    pub strict: Option<bool>,
}

/// What is laid over a history when it is sent.
#[derive(Debug, Clone, Copy)]
pub struct RequestSettings<'a> {
    /// How the provider spells it.
    pub dialect: Dialect,
    pub model: &'a str,
    /// Most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// The member of Chat that holds it: the API has two.
    pub max_tokens_key: &'static str,
    /// Further members of the body. Objects are merged member by member, all else replaces what is there.
    pub members: &'a Map<String, Value>,
}

/// What a run begins with.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// What the model is told before all else; empty where there is nothing.
    pub instructions: &'a str,
    /// The first message of the user; without it the history is empty.
    pub input: Option<&'a str>,
    pub tools: &'a [Offered],
    /// What the final output must look like.
    pub output_schema: Option<&'a OutputSchema>,
}

/// The body that begins a run: model, limit, instructions, history, tools, output schema, settings, in this
/// order. Messages and tools stand on lines of their own.
pub fn first_request(
    opening: &Opening<'_>,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, NoRequest> {
    let dialect = settings.dialect;
    let mut members = vec![format!("\"model\":{}", quoted(settings.model))];
    let facts = dialect.facts();
    if let Some(limit) = settings.max_tokens.or(facts.default_limit) {
        members.push(format!("\"{}\":{limit}", limit_key(settings)));
    }
    let mut messages = Vec::new();
    if !opening.instructions.is_empty() {
        let text = quoted(opening.instructions);
        match facts.instructions_key {
            Some(key) => members.push(format!("\"{key}\":{text}")),
            None => messages.push(format!(r#"{{"role":"system","content":{text}}}"#)),
        }
    }
    let input = opening.input;
    messages.extend(input.map(|text| draft_message(facts.shape, MessageRole::User, text)));
    members.push(list(facts.history_key, &messages));
    let tools = opening.tools.iter();
    let tools = tools.map(|offered| tool_definition(dialect, offered).to_string());
    members.push(list("tools", &tools.collect::<Vec<_>>()));
    if let Some(schema) = opening.output_schema {
        let (key, setting) = facts.output_setting(schema);
        members.push(format!("\"{key}\":{setting}"));
    }
    let body = format!("{{{}}}\n", members.join(",\n"));
    laid_over(body.as_bytes(), settings.members, &[])
}

/// A history as it is sent: the model, its settings and how the reply comes are laid over it, all else
/// stays byte for byte.
///
/// Fails where the body is no JSON object.
pub fn wire_request(
    body: &[u8],
    settings: &RequestSettings<'_>,
    stream: bool,
) -> Result<Vec<u8>, NoRequest> {
    let keys = overlay::keys(body)?;
    let has = |key: &str| keys.iter().any(|known| known == key);
    let mut laid = settings.members.clone();
    laid.insert("model".to_owned(), settings.model.into());
    let limit_key = limit_key(settings);
    let is_missing = !has(limit_key) && !laid.contains_key(limit_key);
    let facts = settings.dialect.facts();
    let usual = facts.default_limit.filter(|_| is_missing);
    if let Some(limit) = settings.max_tokens.or(usual) {
        laid.insert(limit_key.to_owned(), limit.into());
    }
    let mut without = Vec::new();
    if facts.limit_keys.iter().any(|key| laid.contains_key(*key)) {
        // Chat refuses a request that holds both.
        let mut others = facts.limit_keys.to_vec();
        others.retain(|key| !laid.contains_key(*key));
        without = others;
    }
    if stream {
        laid.insert("stream".to_owned(), true.into());
        if facts.tells_usage_last {
            // Without it no chunk tells the tokens.
            let options = laid.entry("stream_options").or_insert_with(|| json!({}));
            match options.as_object_mut() {
                Some(options) => {
                    options.insert("include_usage".to_owned(), true.into());
                }
                None => *options = json!({"include_usage": true}),
            }
        }
    } else {
        if has("stream") || laid.contains_key("stream") {
            laid.insert("stream".to_owned(), false.into());
        }
        // The API refuses it in a request that is not streamed.
        laid.shift_remove("stream_options");
        without.push("stream_options");
    }
    laid_over(body, &laid, &without)
}

fn limit_key(settings: &RequestSettings<'_>) -> &'static str {
    match settings.dialect.facts().limit_keys {
        [only] => only,
        _ => settings.max_tokens_key,
    }
}

/// A tool in the spelling of a dialect: flat in Responses, nested in Chat, `input_schema` in Anthropic. One
/// with free-form input, which Anthropic has not, gets a text there.
pub fn tool_definition(dialect: Dialect, offered: &Offered) -> Value {
    let tool = &offered.tool;
    let is_free = tool.kind == ToolKind::Custom;
    let mut inside = Map::new();
    inside.insert("name".to_owned(), tool.name.as_str().into());
    if !tool.description.is_empty() {
        inside.insert("description".to_owned(), tool.description.as_str().into());
    }
    let spelling = dialect.facts().tool;
    let schema_key = match spelling {
        ToolSpelling::Untyped => "input_schema",
        _ => "parameters",
    };
    let schema = match (&tool.parameters, is_free) {
        (_, true) if spelling == ToolSpelling::Untyped => Some(
            json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}),
        ),
        (_, true) => None,
        (Some(parameters), false) => Some(parameters.clone()),
        (None, false) => Some(json!({"type": "object", "properties": {}})),
    };
    if let Some(schema) = schema {
        inside.insert(schema_key.to_owned(), schema);
        if let Some(strict) = offered.strict {
            inside.insert("strict".to_owned(), strict.into());
        }
    }
    let of_type = if is_free { "custom" } else { "function" };
    match spelling {
        ToolSpelling::Untyped => Value::Object(inside),
        ToolSpelling::Nested => json!({"type": of_type, of_type: inside}),
        ToolSpelling::Flat => {
            let mut object = Map::new();
            object.insert("type".to_owned(), of_type.into());
            object.extend(inside);
            Value::Object(object)
        }
    }
}

/// A member that is a list, each element on a line of its own.
fn list(key: &str, elements: &[String]) -> String {
    if elements.is_empty() {
        return format!("\"{key}\":[]");
    }
    format!("\"{key}\":[\n{}\n]", elements.join(",\n"))
}
