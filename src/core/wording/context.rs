//! The variables of a template: the facts of one failure, and the one table of their names.

use minijinja::value::{Serde, Value};
use std::collections::BTreeMap;

/// The facts of one failure. What is not known is empty; every template of the library copes with that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The names of all tools on offer.
    pub tools: Vec<String>,
    /// The offered names that the model probably meant, the best first.
    pub nearest: Vec<String>,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// The message of the parser, the tool or the runtime.
    pub error: String,
    /// Where a value breaks its schema.
    pub violations: Vec<ViolationText>,
    pub call_id: String,
    /// The schema that the arguments or the final message must satisfy.
    pub schema: Option<serde_json::Value>,
    /// The agent that made the call.
    pub agent: String,
    /// What kind of error an output reports, in the words of reports: `timeout`, `permission`.
    pub error_class: String,
    /// What the caller can do about an error of that kind.
    pub suggestion: String,
    /// Whether the model can do better after reading it.
    pub recoverable: bool,
}

/// One place where a value breaks its schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ViolationText {
    /// JSON pointer (RFC 6901); empty for the value as a whole.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// A name that templates may use.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    /// What it holds, in one line.
    pub what: &'static str,
    value: fn(&Context) -> Value,
}

/// Every name that templates may use, in the order in which help lists them.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "tool",
        what: "the name of the tool, as the model wrote it",
        value: |context| Value::from(context.tool.as_str()),
    },
    Variable {
        name: "tools",
        what: "the names of all tools on offer, as a list",
        value: |context| Value::from(context.tools.clone()),
    },
    Variable {
        name: "nearest",
        what: "the offered names that were probably meant, the best first, as a list",
        value: |context| Value::from(context.nearest.clone()),
    },
    Variable {
        name: "arguments",
        what: "the arguments as the model wrote them",
        value: |context| Value::from(context.arguments.as_str()),
    },
    Variable {
        name: "error",
        what: "the message of the parser, the tool or the runtime",
        value: |context| Value::from(context.error.as_str()),
    },
    Variable {
        name: "violations",
        what: "where the schema is broken, as a list; each has a pointer and a message",
        value: |context| Value::from(Serde(&context.violations)),
    },
    Variable {
        name: "call_id",
        what: "the id of the call",
        value: |context| Value::from(context.call_id.as_str()),
    },
    Variable {
        name: "schema",
        what: "the JSON Schema of the arguments or of the final message",
        value: |context| {
            let schema = context.schema.as_ref();
            schema.map_or_else(|| Value::from(()), |schema| Value::from(Serde(schema)))
        },
    },
    Variable {
        name: "agent",
        what: "the agent that made the call",
        value: |context| Value::from(context.agent.as_str()),
    },
    Variable {
        name: "error_class",
        what: "what kind of error the tool reports, as `timeout`; empty where none is known",
        value: |context| Value::from(context.error_class.as_str()),
    },
    Variable {
        name: "suggestion",
        what: "what can be done about an error of that kind, in one sentence; empty where none is known",
        value: |context| Value::from(context.suggestion.as_str()),
    },
    Variable {
        name: "recoverable",
        what: "whether the model can do better after reading the error",
        value: |context| Value::from(context.recoverable),
    },
];

impl Context {
    /// The facts by name.
    pub(super) fn values(&self) -> BTreeMap<&'static str, Value> {
        let named = |variable: &Variable| (variable.name, (variable.value)(self));
        VARIABLES.iter().map(named).collect()
    }
}
