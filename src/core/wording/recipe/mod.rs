//! A recovery, carried out of the debugger: as code for the agent's framework, as an entry of a policy, as a
//! fixture for a test.

use super::TemplateError;
use crate::session::{Dialect, OutputSchema, Tool, ToolKind};
use crate::wire::ToolSpelling;
pub use agents::openai_agents;
pub use policy::policy;
use serde_json::{Map, Value, json};

mod agents;
mod policy;
mod python;

/// A recovery that helped.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecoveryCase<'a> {
    /// Id of the rule whose finding it resolved.
    pub rule: &'a str,
    /// Id of the action.
    pub action: &'a str,
    /// The name of the wording in the library; empty for words of one's own.
    pub wording: &'a str,
    /// The template of what the model reads; empty where the action has none.
    pub template: &'a str,
    /// The tool of the call; empty where there is none.
    pub tool: &'a str,
    /// Whether the tool takes free-form input.
    pub is_custom: bool,
    /// The value of a fallback.
    pub value: Option<&'a serde_json::Value>,
    /// Whether the fallback enters the history that the model sees later.
    pub include_in_history: bool,
}

/// Why a recovery cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The target has no counterpart.
    #[error("{0}")]
    NoCounterpart(&'static str),
    /// Something is missing or does not fit.
    #[error("{0}")]
    Unfit(String),
    /// The template cannot be used.
    #[error("the template, {0}")]
    Template(#[from] TemplateError),
}

// A recovery as a regression fixture: the request after the recovery, with what must hold for it.
//
// The file is a request body of its dialect, so `retake check` reads it as it reads any other, and it can be
// sent to the provider. `expect` names the rule, the call that it found something in, and how many findings of
// it are left there: a fault that was answered stays on record. Whatever the model adds to the history must
// not add to them.

/// The history after the recovery.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// How it is spelled.
    pub dialect: Dialect,
    /// The model of the request; empty if unknown.
    pub model: &'a str,
    /// `instructions` of Responses or `system` of Anthropic, where they do not stand in the history.
    pub instructions: Option<&'a Value>,
    /// The elements of `input` (Responses) or `messages` (Chat, Anthropic), up to and with the recovery,
    /// each as its JSON.
    pub elements: &'a [&'a [u8]],
    /// The tools on offer, as the contract knows them; `None` where they are not known.
    pub tools: Option<&'a [&'a Tool]>,
    /// What the final message must satisfy, if anything.
    pub output_schema: Option<&'a OutputSchema>,
    /// The call that was fixed; empty if there was none.
    pub call_id: &'a str,
    /// How many findings of the rule the history has about that call, or at all where there was none.
    pub findings: usize,
}

/// The fixture: a JSON text.
pub fn fixture(recovery: &RecoveryCase<'_>, history: &History<'_>) -> Result<String, RecipeError> {
    let facts = history.dialect.facts();
    let instructions = facts.instructions_key.unwrap_or("instructions");
    let mut body = Map::new();
    body.insert("expect".to_owned(), expectation(recovery, history));
    if !history.model.is_empty() {
        body.insert("model".to_owned(), history.model.into());
    }
    if let Some(text) = history.instructions {
        body.insert(instructions.to_owned(), text.clone());
    }
    if let Some(tools) = history.tools {
        let tools = tools.iter().map(|tool| spelled(tool, facts.tool));
        let tools = tools.collect::<Vec<_>>();
        let tools = match facts.tool {
            ToolSpelling::Declared => json!([{"functionDeclarations": tools}]),
            _ => tools.into(),
        };
        body.insert("tools".to_owned(), tools);
    }
    if let Some(output) = history.output_schema {
        let (key, value) = facts.output_setting(output);
        body.insert(key.to_owned(), value);
    }
    let mut text = serde_json::to_string_pretty(&body).map_err(unfit)?;
    // The elements stand as they were recorded, one a line.
    text.truncate(text.len() - "\n}".len());
    text.push_str(&format!(",\n  \"{}\": [", facts.history_key));
    for (index, element) in history.elements.iter().enumerate() {
        let element = std::str::from_utf8(element).map_err(unfit)?;
        serde_json::from_str::<&serde_json::value::RawValue>(element).map_err(unfit)?;
        text.push_str(if index == 0 { "\n    " } else { ",\n    " });
        text.push_str(element);
    }
    text.push_str("\n  ]\n}\n");
    Ok(text)
}

fn unfit(error: impl std::fmt::Display) -> RecipeError {
    RecipeError::Unfit(format!("an item of the history cannot be read: {error}"))
}

fn expectation(recovery: &RecoveryCase<'_>, history: &History<'_>) -> Value {
    let absent = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    json!({
        "rule": recovery.rule,
        "findings": history.findings,
        "call_id": absent(history.call_id),
        "tool": absent(recovery.tool),
        "action": recovery.action,
        "wording": absent(recovery.wording),
    })
}

/// A tool as its dialect writes it.
fn spelled(tool: &Tool, spelling: ToolSpelling) -> Value {
    let parameters = tool
        .parameters
        .clone()
        .unwrap_or_else(|| json!({"type": "object"}));
    let (name, what) = (&tool.name, &tool.description);
    match (tool.kind, spelling) {
        (ToolKind::Hosted, _) => json!({"type": name}),
        (ToolKind::Custom, ToolSpelling::Nested) => {
            json!({"type": "custom", "custom": {"name": name, "description": what}})
        }
        (ToolKind::Custom, _) => json!({"type": "custom", "name": name, "description": what}),
        (ToolKind::Function, ToolSpelling::Nested) => {
            json!({"type": "function", "function": {"name": name, "description": what, "parameters": parameters}})
        }
        (ToolKind::Function, ToolSpelling::Declared) => {
            json!({"name": name, "description": what, "parametersJsonSchema": parameters})
        }
        (ToolKind::Function, ToolSpelling::Untyped) => {
            json!({"name": name, "description": what, "input_schema": parameters})
        }
        (ToolKind::Function, _) => in_namespace(name, what, &parameters),
    }
}

/// A function of Responses; a name `namespace.name` is nested in its namespace
/// (`{"type":"namespace","name","tools"}`, OpenAI API reference).
fn in_namespace(name: &str, what: &str, parameters: &Value) -> Value {
    let (namespace, name) = name
        .rsplit_once('.')
        .map_or((None, name), |(namespace, name)| (Some(namespace), name));
    let function =
        json!({"type": "function", "name": name, "description": what, "parameters": parameters});
    match namespace {
        Some(namespace) => json!({"type": "namespace", "name": namespace, "tools": [function]}),
        None => function,
    }
}
