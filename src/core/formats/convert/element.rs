//! An item as the target can say it, whoever spelled it.

use super::agent::AgentProgram;
use super::ids::visible_partner;
use super::{Conversion, LossKind};
use crate::session::{Family, Flags, Kind, PairStatus, SourceResult};
use crate::wire::write::quoted;
use crate::wire::{
    Arguments, Content, Element, Input, Part, Role, ToolCall, ToolResult, body_of, inline_data,
    joined,
};
use serde::de::IgnoredAny;

impl Conversion<'_> {
    /// What an item says in the target; `None` where it has no place there.
    pub(super) fn element(&mut self, index: usize) -> SourceResult<Option<Element>> {
        Ok(match self.item(index).kind {
            Kind::System | Kind::User => self.instruction(index)?,
            Kind::Assistant => {
                let (_, parts) = self.parts(index, false)?;
                let is_refusal = parts.iter().any(|part| matches!(part, Part::Refusal(_)));
                if is_refusal && !self.to.facts().marks_refusals {
                    self.lose(index, LossKind::RefusalMark);
                }
                Some(Element::new(Role::Model, parts))
            }
            Kind::Call => {
                let call = self.call(index)?;
                call.map(|call| Element::new(Role::Model, vec![Part::Call(call)]))
            }
            Kind::Output if self.is_of_server(index) || self.has_no_place(index) => {
                let text = self.text_for_output(index)?;
                Some(Element::new(Role::User, vec![Part::Text(text)]))
            }
            Kind::Output => {
                let result = self.result(index)?;
                Some(Element::new(Role::Tool, vec![Part::Result(result)]))
            }
            _ => {
                self.leave_out(index)?;
                None
            }
        })
    }

    /// A message of the user or of the system.
    fn instruction(&mut self, index: usize) -> SourceResult<Option<Element>> {
        let is_user = self.item(index).kind == Kind::User;
        let (role, parts) = self.parts(index, is_user)?;
        if parts.is_empty() {
            // Where texts without words have no place, each was noted.
            if self.to.facts().blank_texts {
                self.lose(index, LossKind::Empty);
            }
            return Ok(None);
        }
        let role = match role.as_str() {
            _ if is_user => Role::User,
            "developer" => Role::Developer,
            _ => Role::System,
        };
        Ok(Some(Element::new(role, parts)))
    }

    fn result(&mut self, index: usize) -> SourceResult<ToolResult> {
        let facts = self.to.facts();
        let takes_images = self
            .agent
            .map_or(facts.images_in_outputs, AgentProgram::images_in_outputs);
        let (_, content) = self.parts(index, takes_images)?;
        let item = self.item(index);
        let is_error = item.flags.has(Flags::ERROR);
        // A mark on nothing is refused where there is one.
        let is_told = self.session.format == "codex" && !content.is_empty();
        if is_error && !is_told && (!facts.marks_errors || content.is_empty()) {
            self.lose(index, LossKind::ErrorMark);
        }
        let call = visible_partner(self.session, index).map_or(item, |call| self.item(call));
        let name = self.names.target(self.session.name(call));
        Ok(ToolResult {
            id: self.id(index)?,
            name,
            content,
            is_error,
            is_custom: call.family == Family::Custom,
        })
    }

    /// The role of an item, and its parts as far as they have a place in the target.
    fn parts(&mut self, index: usize, takes_images: bool) -> SourceResult<(String, Vec<Part>)> {
        let item = self.item(index);
        let takes_blanks = self.to.facts().blank_texts;
        let Ok(mut content) = Content::of(item, &self.session.bytes(item)?) else {
            self.lose(index, LossKind::Unreadable);
            return Ok((String::new(), Vec::new()));
        };
        if content.has_reasoning {
            self.lose(index, LossKind::Reasoning);
        }
        if content.has_signature {
            self.lose(index, LossKind::Signature);
        }
        if content.has_annotations {
            self.lose(index, LossKind::Annotations);
        }
        let needs_data = self.agent.is_some_and(AgentProgram::needs_image_data);
        let takes = |url: &str| !needs_data || inline_data(url).is_some();
        content.parts.retain(|part| {
            let loss = match part {
                Part::Image(url) if takes_images && takes(url) => return true,
                Part::Image(_) => LossKind::part("image"),
                Part::Other(of_type) => LossKind::part(of_type),
                part if takes_blanks || !part.text().unwrap_or_default().trim().is_empty() => {
                    return true;
                }
                // An output may say nothing.
                _ if item.kind == Kind::Output => return false,
                _ => LossKind::Empty,
            };
            self.lose(index, loss);
            false
        });
        Ok((content.role, content.parts))
    }

    /// Whether an output answers a call that the provider keeps: nothing in the target's history
    /// could be its call.
    fn is_of_server(&self, index: usize) -> bool {
        let item = self.item(index);
        (self.session.contract.server_state || item.flags.has(Flags::SERVER_STATE))
            && self.session.pairing.standing(index) == PairStatus::Orphan
    }

    /// Whether an output answers no call in an agent's session whose calls hold their outputs.
    fn has_no_place(&self, index: usize) -> bool {
        let is_paired = matches!(self.session.pairing.standing(index), PairStatus::Paired(_));
        !is_paired && self.agent.is_some_and(AgentProgram::joins_outputs)
    }

    /// What the user says in the place of such an output.
    fn text_for_output(&mut self, index: usize) -> SourceResult<String> {
        let (_, parts) = self.parts(index, false)?;
        self.lose(index, LossKind::OutputAsText);
        let id = self.session.call_id(self.item(index))?;
        Ok(format!("Output of the call {id}: {}", joined(&parts)))
    }

    /// A call as the target says it; `None` for bytes that are not a call.
    fn call(&mut self, index: usize) -> SourceResult<Option<ToolCall>> {
        let item = self.item(index);
        let bytes = self.session.bytes(item)?;
        if item.codec().is_some_and(|codec| codec.is_signed(&bytes)) {
            self.lose(index, LossKind::Signature);
        }
        let Ok(body) = body_of(item, &bytes) else {
            self.lose(index, LossKind::Unreadable);
            return Ok(None);
        };
        let input = self.input(index, item.family, &body.arguments);
        let input = self.with_names_of_agent(index, input);
        Ok(Some(ToolCall {
            id: self.id(index)?,
            name: self.name(index),
            namespace: None,
            input,
        }))
    }

    /// The arguments under the names that the agent's own tool gives them.
    fn with_names_of_agent(&mut self, index: usize, input: Input) -> Input {
        let name = self.session.name(self.item(index));
        let tool = self
            .agent
            .and_then(|agent| agent.tool(self.session.format, name));
        let (Some(tool), Input::Json(json)) = (tool, &input) else {
            return input;
        };
        let arguments = tool.arguments(json);
        if !arguments.unknown.is_empty() {
            let names = arguments.unknown.join(", ");
            self.lose(index, LossKind::UnknownArguments { names });
        }
        match arguments.renamed {
            Some(renamed) => {
                self.lose(index, LossKind::ArgumentNames);
                Input::Json(renamed)
            }
            None => input,
        }
    }

    fn input(&mut self, index: usize, family: Family, arguments: &Arguments) -> Input {
        if family == Family::Custom && self.to.facts().custom_tools {
            return Input::Free(arguments.as_written().to_owned());
        }
        if matches!(family, Family::Function | Family::Legacy) {
            return Input::Json(self.function_arguments(index, arguments));
        }
        self.lose(index, LossKind::as_function(family));
        Input::Json(match arguments {
            Arguments::None => "{}".to_owned(),
            Arguments::Value(text) | Arguments::Text(text) if is_object(text) => text.clone(),
            Arguments::Value(json) if is_json(json) => format!(r#"{{"input":{json}}}"#),
            Arguments::Value(text) | Arguments::Text(text) | Arguments::FreeForm(text) => {
                Input::Free(text.clone()).as_object()
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
