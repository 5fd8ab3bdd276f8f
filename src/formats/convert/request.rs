//! The members of a request body beside the history: model, tools, the schema of the final output.

use super::{Conversion, LossKind, Out, To};
use crate::dialects::write::quoted;
use crate::session::{Dialect, SourceError, Tool, ToolKind, index_number};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Anthropic wants a limit in every request, and recordings do not tell it.
const MAX_TOKENS: u32 = 4096;

/// Opens the object: of a request, and of Anthropic's history, which is two members.
pub(super) fn open<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    out.put("{")?;
    if !conversion.options.as_request {
        return Ok(());
    }
    match &conversion.session.model {
        Some(model) => out.put(format!("\"model\":{},\n", quoted(model)))?,
        None => conversion.lose_of_all(LossKind::ModelUnknown),
    }
    if conversion.to == To::Anthropic {
        out.put(format!("\"max_tokens\":{MAX_TOKENS},\n"))?;
    }
    Ok(())
}

/// Closes the object, with the tools and the output schema before its bracket.
pub(super) fn close<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    if conversion.options.as_request {
        write_tools(conversion, out)?;
        if let Some((key, setting)) = output_schema(conversion) {
            out.put(format!(",\n\"{key}\":{setting}"))?;
        }
    }
    out.put("}")
}

fn write_tools<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let session = conversion.session;
    if !session.contract.tools_known() {
        conversion.lose_of_all(LossKind::ToolsUnknown);
        return Ok(());
    }
    let last = index_number(session.items.len()).saturating_sub(1);
    let mut namespaces: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    out.put(",\n\"tools\":[")?;
    let mut is_first = true;
    for tool in session.contract.tools_at(last) {
        let name = tool.name.clone();
        match (tool.kind, namespace_of(conversion, tool)) {
            (ToolKind::Hosted, _) => conversion.lose_of_all(LossKind::HostedTool { name }),
            (_, Some((namespace, name))) => {
                let inside = definition(conversion, tool, name);
                let tools = namespaces.entry(namespace).or_default();
                tools.push(inside);
            }
            _ => {
                let name = conversion.names.target(&tool.name);
                let definition = definition(conversion, tool, &name);
                out.element(&mut is_first, definition.to_string())?;
            }
        }
    }
    for (name, tools) in namespaces {
        let namespace =
            json!({"type": "namespace", "name": name, "description": "", "tools": tools});
        out.element(&mut is_first, namespace.to_string())?;
    }
    out.put("\n]")
}

/// Namespace and name of a tool, where the calls are copied that use both.
fn namespace_of<'t>(conversion: &Conversion<'_>, tool: &'t Tool) -> Option<(String, &'t str)> {
    let is_copied =
        conversion.session.dialect == Dialect::Responses && conversion.to == To::Responses;
    let (namespace, name) = tool.name.split_once('.').filter(|_| is_copied)?;
    Some((namespace.to_owned(), name))
}

/// A tool in the target's spelling: flat in Responses, nested in Chat, `input_schema` in Anthropic.
fn definition(conversion: &mut Conversion<'_>, tool: &Tool, name: &str) -> Value {
    let is_free = tool.kind == ToolKind::Custom;
    if is_free {
        let name = tool.name.clone();
        conversion.lose_of_all(LossKind::ToolFormat { name });
    }
    let mut inside = Map::new();
    inside.insert("name".to_owned(), name.into());
    if !tool.description.is_empty() {
        inside.insert("description".to_owned(), tool.description.as_str().into());
    }
    let no_parameters = || json!({"type": "object", "properties": {}});
    let parameters = || tool.parameters.clone().unwrap_or_else(no_parameters);
    match (conversion.to, is_free) {
        (To::Chat, true) => json!({"type": "custom", "custom": inside}),
        (To::Responses, true) => typed("custom", inside),
        (To::Chat, false) => {
            inside.insert("parameters".to_owned(), parameters());
            json!({"type": "function", "function": inside})
        }
        (To::Responses, false) => {
            inside.insert("parameters".to_owned(), parameters());
            typed("function", inside)
        }
        (To::Anthropic, _) => {
            let schema = if is_free {
                json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
            } else {
                parameters()
            };
            inside.insert("input_schema".to_owned(), schema);
            Value::Object(inside)
        }
    }
}

fn typed(of_type: &str, members: Map<String, Value>) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), of_type.into());
    object.extend(members);
    Value::Object(object)
}

/// `text.format` of Responses, `response_format` of Chat, `output_config.format` of Anthropic.
fn output_schema(conversion: &Conversion<'_>) -> Option<(&'static str, Value)> {
    let known = conversion.session.contract.output_schema.as_ref()?;
    let (name, schema) = (&known.name, &known.schema);
    let name = if name.is_empty() { "output" } else { name };
    Some(match conversion.to {
        To::Responses => {
            let format = json!({"type": "json_schema", "name": name, "schema": schema});
            ("text", json!({"format": format}))
        }
        To::Chat => {
            let carrier = json!({"name": name, "schema": schema});
            (
                "response_format",
                json!({"type": "json_schema", "json_schema": carrier}),
            )
        }
        To::Anthropic => {
            let format = json!({"type": "json_schema", "schema": schema});
            ("output_config", json!({"format": format}))
        }
    })
}
