//! Tool definitions in every spelling: OpenAI flat and nested, namespaces, Anthropic, Gemini, Bedrock, MCP
//! `tools/list`, bare lists. One reader for all of them: a list that is given with `--tools` has no dialect.

use super::fields::Fields;
use crate::json::Cursor;
use crate::session::{Dialect, Item, Session, Tool, ToolKind};
use serde_json::{Map, Value};

/// Reads a list of tool definitions, or a document that holds one, and says what in it is no definition.
pub fn read_tools(value: &Value) -> (Vec<Tool>, Vec<String>) {
    let mut reader = Reader::default();
    reader.list_or_document(value);
    (reader.tools, reader.complaints)
}

/// Where documents keep their list: `tools` (requests, MCP results), `functions` (old
/// Chat), `result.tools` (MCP replies).
const LISTS: [&str; 4] = [
    "tools",
    "functions",
    "functionDeclarations",
    "function_declarations",
];

#[derive(Default)]
struct Reader {
    tools: Vec<Tool>,
    complaints: Vec<String>,
}

impl Reader {
    fn list_or_document(&mut self, value: &Value) {
        match value {
            Value::Array(entries) => entries.iter().for_each(|entry| self.entry(entry, None)),
            Value::Object(document) => {
                let inside = document
                    .get("result")
                    .and_then(Value::as_object)
                    .unwrap_or(document);
                match LISTS.iter().find_map(|key| inside.get(*key)) {
                    Some(list) => self.list_or_document(list),
                    None => self.entry(value, None),
                }
            }
            other => self.complaints.push(format!(
                "expected a list of tools, got {}",
                type_word(other)
            )),
        }
    }

    fn entry(&mut self, entry: &Value, namespace: Option<&str>) {
        // Some logs give the names alone.
        if let Some(name) = entry.as_str().filter(|name| !name.is_empty()) {
            let definition = Map::from_iter([("name".to_owned(), name.into())]);
            return self.add(&definition, namespace, ToolKind::Function);
        }
        let Some(object) = entry.as_object() else {
            self.complaints.push(format!(
                "expected a tool definition, got {}",
                type_word(entry)
            ));
            return;
        };
        // Gemini groups declarations: {"functionDeclarations": [...]}.
        if let Some(Value::Array(declarations)) = LISTS[2..].iter().find_map(|key| object.get(*key))
        {
            declarations
                .iter()
                .for_each(|declaration| self.entry(declaration, namespace));
            return;
        }
        // Bedrock names the kind of each by its member.
        for (key, kind) in [
            ("toolSpec", ToolKind::Function),
            ("systemTool", ToolKind::Hosted),
        ] {
            if let Some(definition) = object.get(key).and_then(Value::as_object) {
                return self.add(definition, namespace, kind);
            }
        }
        if object.contains_key("cachePoint") {
            return;
        }
        let kind = text(object, "type");
        match kind {
            "namespace" => {
                let name = text(object, "name").to_owned();
                let inside = object.get("tools").and_then(Value::as_array);
                inside
                    .into_iter()
                    .flatten()
                    .for_each(|tool| self.entry(tool, Some(&name)));
            }
            "custom" if object.get("input_schema").is_none() => {
                let inner = object
                    .get("custom")
                    .and_then(Value::as_object)
                    .unwrap_or(object);
                self.add(inner, namespace, ToolKind::Custom);
            }
            _ => match object.get("function").and_then(Value::as_object) {
                Some(function) => self.add(function, namespace, ToolKind::Function),
                None if object.contains_key("name") && !is_hosted(kind) => {
                    self.add(object, namespace, ToolKind::Function)
                }
                None if !kind.is_empty() => self.hosted(object, kind),
                None => self
                    .complaints
                    .push("a tool definition without a name".to_owned()),
            },
        }
    }

    fn add(&mut self, definition: &Map<String, Value>, namespace: Option<&str>, kind: ToolKind) {
        let namespace = namespace
            .or_else(|| definition.get("namespace").and_then(Value::as_str))
            .filter(|namespace| !namespace.is_empty() && *namespace != text(definition, "name"));
        let name = text(definition, "name");
        if name.is_empty() {
            self.complaints
                .push("a tool definition without a name".to_owned());
            return;
        }
        let schema = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| definition.get(*key))
                .filter(|value| !value.is_null())
                .cloned()
        };
        self.tools.push(Tool {
            name: namespace.map_or_else(
                || name.to_owned(),
                |namespace| format!("{namespace}.{name}"),
            ),
            kind,
            description: text(definition, "description").to_owned(),
            parameters: schema(&[
                "parameters",
                "input_schema",
                "inputSchema",
                "parametersJsonSchema",
                "parameters_json_schema",
            ])
            .map(|schema| {
                schema
                    .get("json")
                    .filter(|json| json.is_object())
                    .cloned()
                    .unwrap_or(schema)
            }),
            output_schema: schema(&["output_schema", "outputSchema"]),
        });
    }

    fn hosted(&mut self, definition: &Map<String, Value>, kind: &str) {
        let name = Some(text(definition, "name"))
            .filter(|name| !name.is_empty())
            .unwrap_or(kind);
        self.tools.push(Tool {
            name: name.to_owned(),
            kind: ToolKind::Hosted,
            description: String::new(),
            parameters: None,
            output_schema: None,
        });
    }
}

/// Anthropic names its server tools by dated types (`web_search_20250305`); client tools have
/// no type or `custom`.
fn is_hosted(kind: &str) -> bool {
    !matches!(kind, "" | "function" | "custom")
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What a provider has against the name of a tool; of a namespaced one both parts are judged. Patterns: OpenAI
/// API reference (`FunctionToolParam`, `FunctionObject`), Anthropic's and Gemini's own error texts.
pub fn name_fault(target: Dialect, name: &str, namespaced: bool) -> Option<String> {
    let rule = &target.facts().names;
    let parts = match name.split_once('.').filter(|_| namespaced) {
        Some((namespace, name)) => vec![namespace, name],
        None => vec![name],
    };
    parts.into_iter().find_map(|part| {
        let stranger = part.chars().find(|character| {
            let is_known = u8::try_from(*character).is_ok_and(|byte| rule.extra.contains(&byte));
            !character.is_ascii_alphanumeric() && !matches!(character, '_' | '-') && !is_known
        });
        match stranger {
            _ if part.is_empty() => Some("is empty".to_owned()),
            Some(' ') => Some("has a space in it".to_owned()),
            Some(stranger) => Some(format!("has {stranger} in it")),
            None if part.len() > rule.longest => {
                Some(format!("is longer than {} characters", rule.longest))
            }
            None => None,
        }
    })
}

/// What a provider has against the name of a recorded call. A namespace that is a member of its own is not part
/// of the name.
pub fn call_name_fault(target: Dialect, session: &Session, call: &Item) -> Option<String> {
    let name = session.name(call);
    let is_dotted = target.facts().namespaces && name.contains('.');
    name_fault(target, name, is_dotted && has_namespace(session, call))
}

fn has_namespace(session: &Session, call: &Item) -> bool {
    // Bytes that cannot be read are reported as such, and not for their name.
    let Ok(bytes) = session.bytes(call) else {
        return true;
    };
    let fields = Fields::read(&mut Cursor::new(&bytes));
    let namespace = fields.ok().and_then(|fields| fields.namespace);
    namespace.is_some_and(|namespace| !namespace.is_empty())
}

/// The JSON type of a value in a word.
pub fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(value: &Value) -> Vec<(String, ToolKind, bool)> {
        let (tools, complaints) = read_tools(value);
        assert_eq!(complaints, Vec::<String>::new());
        tools
            .into_iter()
            .map(|tool| (tool.name, tool.kind, tool.parameters.is_some()))
            .collect()
    }

    #[test]
    fn every_spelling_of_one_function_is_the_same_tool() {
        let schema = json!({"type": "object"});
        let spellings = [
            json!([{"type": "function", "name": "read", "parameters": schema}]),
            json!([{"type": "function", "function": {"name": "read", "parameters": schema}}]),
            json!([{"name": "read", "input_schema": schema}]),
            json!([{"type": "custom", "name": "read", "input_schema": schema}]),
            json!({"tools": [{"name": "read", "inputSchema": schema}]}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read", "inputSchema": schema}]}}),
            json!([{"functionDeclarations": [{"name": "read", "parameters": schema}]}]),
            json!({"functions": [{"name": "read", "parameters": schema}]}),
            json!([{"name": "read", "parameters": schema}]),
            json!([{"toolSpec": {"name": "read", "inputSchema": {"json": schema}}}, {"cachePoint": {"type": "default"}}]),
        ];
        for spelling in spellings {
            assert_eq!(
                names(&spelling),
                [("read".to_owned(), ToolKind::Function, true)],
                "{spelling}"
            );
        }
    }

    #[test]
    fn a_namespace_qualifies_its_tools() {
        let value = json!([{"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}]}]);
        assert_eq!(
            names(&value),
            [("crm.find".to_owned(), ToolKind::Function, false)]
        );
    }

    #[test]
    fn the_providers_own_tools_are_told_apart() {
        let value = json!([{"type": "web_search"}, {"type": "web_search_20250305", "name": "web_search"},
            {"type": "custom", "name": "patch", "format": {"type": "text"}}]);
        let kinds = names(&value)
            .into_iter()
            .map(|(name, kind, _)| (name, kind))
            .collect::<Vec<_>>();
        let expected = [
            ("web_search", ToolKind::Hosted),
            ("web_search", ToolKind::Hosted),
            ("patch", ToolKind::Custom),
        ];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn what_is_no_definition_is_said() {
        let (tools, complaints) = read_tools(&json!([5, {"description": "x"}]));
        assert!(tools.is_empty());
        assert_eq!(
            complaints,
            [
                "expected a tool definition, got a number",
                "a tool definition without a name"
            ]
        );
    }
}
