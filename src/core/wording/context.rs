//! The variables of a template: the facts of one failure, and the one table of their names.

use minijinja::value::{Serde, Value};
use std::collections::BTreeMap;
use strum::VariantArray;

/// The facts of one failure. What is not known is empty; every template of the library copes with that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FailureContext {
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
    /// The way to it, as `/stops/0/city`, with keys as they are; empty for the value as a whole.
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
    value: fn(&FailureContext) -> Value,
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

impl FailureContext {
    /// The facts by name.
    pub(crate) fn values(&self) -> BTreeMap<&'static str, Value> {
        let named = |variable: &Variable| (variable.name, (variable.value)(self));
        VARIABLES.iter().map(named).collect()
    }
}

// The kinds of failure that have wordings.

/// The kinds of failure that are reported to the model.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FailureKind {
    /// The call names a tool that is not offered.
    UnknownTool,
    /// The arguments are no JSON object.
    MalformedArguments,
    /// The arguments break the schema of the tool.
    InvalidArguments,
    /// The call never got its output.
    MissingOutput,
    ToolError,
    /// The same call came again and again.
    RepeatedCall,
    /// A call as text in a message.
    LeakedCall,
    /// The reply was cut off at the token limit.
    CutOff,
    /// The final message breaks the output schema.
    InvalidFinalOutput,
    /// There is no final message.
    MissingFinalOutput,
}

impl FailureKind {
    /// Every kind, in the order of the library.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::VARIANTS.iter().copied()
    }

    /// The kind that findings of this rule are of; `None` where there is nothing to tell the model.
    pub fn of_rule(rule: &str) -> Option<Self> {
        Some(match rule {
            "unknown-tool" => Self::UnknownTool,
            "malformed-arguments" | "duplicate-argument-key" => Self::MalformedArguments,
            "invalid-arguments" => Self::InvalidArguments,
            "orphan-call" | "split-pair" => Self::MissingOutput,
            "tool-error" | "failing-tool" => Self::ToolError,
            "repeated-call" | "turn-limit" => Self::RepeatedCall,
            "leaked-tool-call" => Self::LeakedCall,
            "truncated-response" => Self::CutOff,
            "invalid-final-output" => Self::InvalidFinalOutput,
            "missing-final-output" => Self::MissingFinalOutput,
            _ => return None,
        })
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Whether a call failed, so that its output can report it; otherwise the turn is requested again.
    pub fn is_of_call(self) -> bool {
        matches!(
            self,
            Self::UnknownTool
                | Self::MalformedArguments
                | Self::InvalidArguments
                | Self::MissingOutput
                | Self::ToolError
                | Self::RepeatedCall
        )
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}

// A text found in a recording, as a template that says exactly that.

/// What opens a tag of the template language.
const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];

/// A template that renders as `text` whatever it holds: what would open a tag is written as a literal.
pub fn recorded(text: &str) -> String {
    let mut template = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, tail) = rest.split_at(at);
        template.push_str(before);
        let opening = OPENINGS.iter().find(|opening| tail.starts_with(**opening));
        let length = opening.map_or(1, |opening| opening.len());
        match opening {
            Some(opening) => template.push_str(&format!("{{{{ '{opening}' }}}}")),
            None => template.push('{'),
        }
        rest = &tail[length..];
    }
    template.push_str(rest);
    template
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wording::{FailureContext, render};
    use proptest::prelude::*;

    #[test]
    fn plain_texts_stay_as_they_are() {
        let text = "Tool 'serch' not found. {\"a\": {\"b\": 1}}";
        assert_eq!(recorded(text), text);
    }

    proptest! {
        #[test]
        fn any_text_comes_out_as_it_was(
            text in "(\\{|\\}|%|#|-|\\+|'|\"|\\\\|\\r|\\n| |a|\\{% raw %\\}|\\{% endraw %\\}|\\{%- endraw -%\\}|\\PC){0,24}"
        ) {
            prop_assert_eq!(render(&recorded(&text), &FailureContext::default()).unwrap(), text);
        }
    }
}
