//! The members of a request body beside the history: model, tools, the schema of the final output.

use super::{Conversion, LossKind, Out};
use crate::schema::normalise_gemini;
use crate::session::{SourceError, Tool, ToolKind, index_number};
use crate::wire::write::quoted;
use crate::wire::write::request::{Offered, tool_definition};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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
    let facts = conversion.to.facts();
    if let (Some(limit), [key, ..]) = (facts.default_limit, facts.limit_keys) {
        out.put(format!("\"{key}\":{limit},\n"))?;
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
        if let Some(known) = &conversion.session.contract.output_schema {
            let (key, setting) = conversion.to.codec().output_setting(known);
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
    let offered = session.contract.tools_at(last);
    let is_any = offered.iter().any(|tool| tool.kind != ToolKind::Hosted);
    let facts = conversion.to.facts();
    if !is_any && facts.no_tools.is_empty() {
        return Ok(());
    }
    let [opens, closes] = match is_any {
        true => facts.tools_member,
        false => [r#""tools":["#, "]"],
    };
    out.put(format!(",\n{opens}"))?;
    let mut is_first = true;
    for tool in offered {
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
    out.put(format!("\n{closes}"))
}

/// Namespace and name of a tool, where the calls are copied that use both.
fn namespace_of<'t>(conversion: &Conversion<'_>, tool: &'t Tool) -> Option<(String, &'t str)> {
    let is_copied = conversion.to.facts().namespaces && conversion.session.dialect == conversion.to;
    let (namespace, name) = tool.name.split_once('.').filter(|_| is_copied)?;
    Some((namespace.to_owned(), name))
}

/// A tool in the target's spelling.
fn definition(conversion: &mut Conversion<'_>, tool: &Tool, name: &str) -> Value {
    if tool.kind == ToolKind::Custom {
        let name = tool.name.clone();
        conversion.lose_of_all(LossKind::ToolFormat { name });
    }
    let facts = conversion.session.dialect.facts();
    let parameters = tool.parameters.as_ref();
    let tool = Tool {
        name: name.to_owned(),
        parameters: match facts.schemas.has_upper_case_types {
            true => parameters.map(normalise_gemini),
            false => parameters.cloned(),
        },
        ..tool.clone()
    };
    tool_definition(conversion.to, &Offered { tool, strict: None })
}
