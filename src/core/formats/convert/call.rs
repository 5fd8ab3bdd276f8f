//! A call in the target's words: its id, its name, and what it was called with.

use super::{Conversion, LossKind};
use crate::dialects::write::quoted;
use crate::dialects::{Arguments, body_of};
use crate::session::{Family, SourceError};
use serde::de::IgnoredAny;

/// A call that is spelled anew.
pub(super) struct NewCall {
    /// `None` where there is none.
    pub id: Option<String>,
    pub name: String,
    pub input: Input,
}

/// What it was called with.
pub(super) enum Input {
    /// What is, or should be, the JSON of an object.
    Json(String),
    /// Free-form text of a custom tool.
    Free(String),
}

impl Conversion<'_> {
    /// A call as the target says it; `None` for bytes that are no call.
    pub(super) fn new_call(&mut self, index: usize) -> Result<Option<NewCall>, SourceError> {
        let item = self.item(index);
        let bytes = self.session.bytes(item)?;
        let Ok(body) = body_of(item, &bytes) else {
            self.lose(index, LossKind::Unreadable);
            return Ok(None);
        };
        let input = self.input(index, item.family, &body.arguments);
        Ok(Some(NewCall {
            id: self.id(index)?,
            name: self.name(index),
            input,
        }))
    }

    fn input(&mut self, index: usize, family: Family, arguments: &Arguments) -> Input {
        if family == Family::Custom && self.to.facts().custom_tools {
            return Input::Free(arguments.as_written().to_owned());
        }
        if matches!(family, Family::Function | Family::Legacy) {
            return Input::Json(self.function_arguments(index, arguments));
        }
        let was = type_in_words(family);
        self.lose(index, LossKind::AsFunction { was });
        Input::Json(match arguments {
            Arguments::None => "{}".to_owned(),
            Arguments::Value(text) | Arguments::Text(text) if is_object(text) => text.clone(),
            Arguments::Value(json) if is_json(json) => format!(r#"{{"input":{json}}}"#),
            Arguments::Value(text) | Arguments::Text(text) | Arguments::FreeForm(text) => {
                format!(r#"{{"input":{}}}"#, quoted(text))
            }
        })
    }

    /// OpenAI takes any text, so that it stays as it is; Anthropic wants an object.
    fn function_arguments(&mut self, index: usize, arguments: &Arguments) -> String {
        let written = match arguments {
            Arguments::None => "{}",
            other => other.as_written(),
        };
        if !self.to.facts().object_arguments || is_object(written) {
            return written.to_owned();
        }
        if written.trim().is_empty() {
            return "{}".to_owned();
        }
        let repaired = (self.options.repair)(written).filter(|text| is_object(text));
        match repaired {
            Some(repaired) => {
                self.lose(index, LossKind::ArgumentsRepaired);
                repaired
            }
            None => {
                self.lose(index, LossKind::ArgumentsWrapped);
                format!(r#"{{"_raw":{}}}"#, quoted(written))
            }
        }
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && is_json(text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn type_in_words(family: Family) -> &'static str {
    match family {
        Family::Custom => "custom",
        Family::Computer => "computer",
        Family::Shell => "shell",
        Family::LocalShell => "local shell",
        Family::ApplyPatch => "patch",
        Family::ToolSearch => "tool search",
        Family::Program => "program",
        Family::None | Family::Function | Family::Legacy | Family::Hosted | Family::Approval => {
            "provider's"
        }
    }
}
