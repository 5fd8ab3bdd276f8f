//! The values of an item that are edited by themselves: the arguments of a call, the texts of a message or result.
//! The item is opened first ([`with_open_arguments`]); what an edit makes of it is the new item for the action
//! `edit`, which leaves everything else as it was recorded.

use super::edit::with_open_arguments;
use crate::json::pointer::{child, readable};
use crate::json::{Cursor, Result, display_text, not_json};
use crate::session::Item;
use crate::wire::write::quoted;
use crate::wire::{Arguments, body_of};
use serde_json::Value;
use std::ops::Range;

/// Most values that are listed.
const MOST: usize = 500;
/// Most containers within each other that are taken apart.
const DEEPEST: usize = 8;
/// Most references that are followed to the schema of a value.
const REFERENCES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemValue {
    /// The argument: `to`, `edits/0/new_string`; else what it is: `text`, `text 2`, `input`, `arguments`.
    pub name: String,
    /// JSON pointer (RFC 6901) into the arguments; empty for all of them, `None` for a text.
    pub pointer: Option<String>,
    /// What is edited: the contents of a string, else JSON. Empty for an argument that is not given.
    pub text: String,
    /// Whether what is written becomes a string.
    pub is_string: bool,
    /// Whether the call has it.
    pub is_given: bool,
    /// Whether the schema requires it; false for one that is given.
    pub is_required: bool,
    /// What the tool's schema says about it.
    pub schema: Option<Value>,
    at: Range<usize>,
    /// What is written before an argument that is not given.
    key: String,
}

/// An item with its values.
#[derive(Debug, Clone)]
pub struct OpenItem {
    json: String,
    values: Vec<ItemValue>,
}

impl OpenItem {
    /// Opens an item; `schema` is that of its arguments. An item that is no JSON has no values.
    pub fn new(item: &Item, bytes: &[u8], schema: Option<&Value>) -> Self {
        let json = String::from_utf8_lossy(bytes);
        let json = with_open_arguments(item, &json).unwrap_or_else(|| json.into_owned());
        let mut values = Values {
            json: &json,
            root: schema,
            values: Vec::new(),
        };
        if let Ok(body) = body_of(item, json.as_bytes()) {
            if let Some(at) = body.arguments_at {
                let name = match body.arguments {
                    Arguments::FreeForm(_) => "input",
                    Arguments::None | Arguments::Text(_) | Arguments::Value(_) => "arguments",
                };
                values.arguments(name, at);
            }
            let is_only = body.texts_at.len() == 1;
            for (number, at) in body.texts_at.into_iter().take(MOST).enumerate() {
                let name = match is_only {
                    true => "text".to_owned(),
                    false => format!("text {}", number + 1),
                };
                values.push(name, None, at, None);
            }
        }
        Self {
            values: values.values,
            json,
        }
    }

    /// The whole item, its arguments as an object.
    pub fn json(&self) -> &str {
        &self.json
    }

    pub fn values(&self) -> &[ItemValue] {
        &self.values
    }

    /// The item with this in the place of a value. Fails with the reason where a value that is not a string is no JSON.
    pub fn with(&self, value: &ItemValue, text: &str) -> Result<String, String> {
        let old = &self.json[value.at.clone()];
        let new = match value.is_string {
            // Escapes that nobody touched stay as they are spelled.
            true if text == value.text && old.starts_with(['"', 'n']) => old.to_owned(),
            true if value.text.contains("\r\n") && !text.contains('\r') => {
                quoted(&text.replace('\n', "\r\n"))
            }
            true => quoted(text),
            false => {
                let flat: String = text.lines().map(str::trim).collect();
                serde_json::from_str::<Value>(&flat).map_err(|error| {
                    // The lines are those of the text that is seen.
                    let error = serde_json::from_str::<Value>(text).err().unwrap_or(error);
                    format!("{}; a string needs quotes here", not_json(&error))
                })?;
                flat
            }
        };
        let (before, tail) = (&self.json[..value.at.start], &self.json[value.at.end..]);
        Ok(format!("{before}{}{new}{tail}", value.key))
    }

    /// The item without an argument, or without an element of one; `None` for what is not given, and for all of the
    /// arguments.
    pub fn without(&self, value: &ItemValue) -> Option<String> {
        let is_within = value.pointer.as_ref().is_some_and(|it| !it.is_empty());
        if !is_within || !value.is_given {
            return None;
        }
        let (before, tail) = (&self.json[..value.at.start], &self.json[value.at.end..]);
        let before = match before.trim_end().strip_suffix(':') {
            Some(before) => &before[..start_of_string(before)?],
            None => before,
        };
        Some(match tail.trim_start().strip_prefix(',') {
            Some(tail) => format!("{before}{}", tail.trim_start()),
            None => {
                let before = before.trim_end();
                format!("{}{tail}", before.strip_suffix(',').unwrap_or(before))
            }
        })
    }
}

/// Where the JSON string begins with which a text ends.
fn start_of_string(text: &str) -> Option<usize> {
    let inside = text.trim_end().strip_suffix('"')?;
    let mut quotes = inside.rmatch_indices('"').map(|(at, _)| at);
    quotes.find(|at| {
        let before = &inside[..*at];
        (before.len() - before.trim_end_matches('\\').len()) % 2 == 0
    })
}

/// The words for a JSON pointer: without its first slash, keys as they are.
fn name_of(pointer: &str) -> String {
    readable(&pointer[1..]).into_owned()
}

/// The values of an item as they are found.
struct Values<'a> {
    json: &'a str,
    root: Option<&'a Value>,
    values: Vec<ItemValue>,
}

impl<'a> Values<'a> {
    /// The arguments of a call: each by itself where they are an object or an array.
    fn arguments(&mut self, name: &str, at: Range<usize>) {
        let mut cursor = Cursor::at(self.json.as_bytes(), at.start);
        if !self.json[at.clone()].starts_with(['{', '[']) {
            return self.push(name.to_owned(), Some(String::new()), at, None);
        }
        // An item was read to its end: its arguments are sound.
        let _ = self.members(&mut cursor, "", self.root, 0);
    }

    fn members(
        &mut self,
        cursor: &mut Cursor<'a>,
        pointer: &str,
        schema: Option<&'a Value>,
        depth: usize,
    ) -> Result<()> {
        if depth == DEEPEST {
            return Ok(());
        }
        let schema = self.resolved(schema);
        if cursor.peek() == Some(b'[') {
            let schema = schema.and_then(|schema| schema.get("items"));
            let mut number = 0;
            cursor.array(|cursor| {
                let pointer = format!("{pointer}/{number}");
                number += 1;
                self.member(cursor, pointer, schema, depth)
            })?;
            return Ok(());
        }
        let properties = schema.and_then(|schema| schema.get("properties"));
        let start = cursor.position();
        let is_object = cursor.object(|cursor, key| {
            let key = display_text(key);
            let schema = properties.and_then(|properties| properties.get(&*key));
            self.member(cursor, child(pointer, &key), schema, depth)
        })?;
        if is_object {
            self.missing(pointer, start..cursor.position(), schema);
        }
        Ok(())
    }

    fn member(
        &mut self,
        cursor: &mut Cursor<'a>,
        pointer: String,
        schema: Option<&'a Value>,
        depth: usize,
    ) -> Result<()> {
        if self.values.len() < MOST {
            let at = cursor.clone().skip()?;
            self.push(name_of(&pointer), Some(pointer.clone()), at, schema);
            self.members(cursor, &pointer, schema, depth + 1)?;
        }
        Ok(())
    }

    /// The members of an object that the schema knows and the call has not.
    fn missing(&mut self, holder: &str, at: Range<usize>, schema: Option<&'a Value>) {
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        let Some(inside) = self.json[at.clone()].strip_suffix('}') else {
            return;
        };
        let inside = inside.trim_end();
        let end = at.start + inside.len();
        let comma = if inside.ends_with('{') { "" } else { ", " };
        for (key, schema) in properties.into_iter().flatten() {
            let pointer = child(holder, key);
            let mut values = self.values.iter();
            if values.any(|value| value.pointer.as_deref() == Some(&pointer))
                || self.values.len() >= MOST
            {
                continue;
            }
            self.push(name_of(&pointer), Some(pointer), end..end, Some(schema));
            if let Some(value) = self.values.last_mut() {
                value.key = format!("{comma}{}: ", quoted(key));
                value.is_required = required.is_some_and(|keys| keys.iter().any(|it| it == key));
            }
        }
    }

    fn push(
        &mut self,
        name: String,
        pointer: Option<String>,
        at: Range<usize>,
        schema: Option<&'a Value>,
    ) {
        let json = &self.json[at.clone()];
        let schema = self.resolved(schema);
        let types = schema.map(types_of).unwrap_or_default();
        let may_be_string = types.iter().any(|name| name == "string");
        let may_be_other = types.iter().any(|name| name != "string" && name != "null");
        // A string that JSON cannot hold soundly is edited as it is spelled.
        let string = serde_json::from_str::<String>(json).ok();
        let is_string = match &string {
            Some(_) => may_be_string || !may_be_other,
            None => may_be_string && !may_be_other,
        };
        let text = match (string, is_string) {
            (Some(text), true) => text,
            (None, true) if json == "null" => String::new(),
            _ => json.to_owned(),
        };
        self.values.push(ItemValue {
            name,
            pointer,
            text,
            is_string,
            is_given: !at.is_empty(),
            is_required: false,
            schema: schema.cloned(),
            at,
            key: String::new(),
        });
    }

    /// A schema without the references of its own document.
    fn resolved(&self, schema: Option<&'a Value>) -> Option<&'a Value> {
        let mut schema = schema?;
        for _ in 0..REFERENCES {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                return Some(schema);
            };
            schema = self.root?.pointer(reference.strip_prefix('#')?)?;
        }
        None
    }
}

/// The types that a schema allows, in lower case; none where it names none.
pub fn types_of(schema: &Value) -> Vec<String> {
    let type_of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut types: Vec<String> = match (schema.get("type"), schema.get("enum")) {
        (Some(Value::String(name)), _) => vec![name.to_ascii_lowercase()],
        (Some(Value::Array(names)), _) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(str::to_ascii_lowercase).collect()
        }
        (_, Some(Value::Array(values))) => values.iter().map(type_of).map(str::to_owned).collect(),
        _ => {
            let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key));
            let choices = choices.filter_map(Value::as_array).flatten();
            choices.flat_map(types_of).collect()
        }
    };
    types.sort_unstable();
    types.dedup();
    types
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::actions::ActionInput;
    use crate::actions::fixture::{USER, anthropic, fixture, history};
    use serde_json::json;

    const ARGUMENTS: &str =
        r#"{ "path":"a.rs",  "text" : "one\n\"two\"\u00e9", "seats": "2", "edits":[{"old":"x"}]}"#;

    fn schema() -> Value {
        json!({"$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}}}},
            "required": ["path", "when"],
            "properties": {"path": {"type": "string"}, "text": {}, "seats": {"type": "integer"},
                "when": {"type": ["string", "null"]}, "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}}}})
    }

    fn spelled(family: &str) -> String {
        let text = Value::from(ARGUMENTS);
        match family {
            "responses" => history(&[
                USER,
                &format!(
                    r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{text}}}"#
                ),
            ]),
            "chat" => history(&[
                USER,
                &format!(
                    r#"{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":{text}}}}}]}}"#
                ),
            ]),
            _ => anthropic(&[
                USER,
                &format!(
                    r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"f","input":{ARGUMENTS}}}]}}"#
                ),
            ]),
        }
    }

    /// What becomes of the arguments when this is written for a value.
    fn edited(family: &str, name: &str, text: &str) -> Result<String, String> {
        let fixture = fixture(&spelled(family));
        let is_call = |item: &Item| item.kind == crate::session::Kind::Call;
        let index = fixture.session.items.iter().position(is_call).unwrap();
        let number = u32::try_from(index).unwrap();
        let item = &fixture.session.items[index];
        let open = OpenItem::new(item, &fixture.session.bytes(item).unwrap(), Some(&schema()));
        let value = open.values().iter().find(|value| value.name == name);
        let words = open.with(value.unwrap(), text)?;
        let planned = fixture.act(number, "edit", &ActionInput::words(&words));
        let after = fixture.after(&planned.map_err(|error| error.to_string())?, number);
        let body = body_of(item, after.as_bytes()).unwrap();
        Ok(body.arguments.as_written().to_owned())
    }

    #[test]
    fn a_value_is_removed_with_its_key_and_its_comma() {
        let without = |arguments: &str, name: &str| {
            let call = format!(
                r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{}}}"#,
                Value::from(arguments)
            );
            let fixture = fixture(&history(&[USER, &call]));
            let item = &fixture.session.items[1];
            let open = OpenItem::new(item, &fixture.session.bytes(item).unwrap(), None);
            let value = open.values().iter().find(|value| value.name == name);
            let json = open.without(value.unwrap()).unwrap();
            let body = body_of(item, json.as_bytes()).unwrap();
            body.arguments.as_written().to_owned()
        };
        assert_eq!(without(r#"{"a": 1, "b": 2}"#, "a"), r#"{"b": 2}"#);
        assert_eq!(without(r#"{"a": 1 , "b": [2]}"#, "b"), r#"{"a": 1 }"#);
        assert_eq!(without(r#"{ "a" : 1 }"#, "a"), "{ }");
        assert_eq!(without(r#"{"a": [1, 2, 3]}"#, "a/1"), r#"{"a": [1, 3]}"#);
        assert_eq!(
            without(r#"{"a\"\\": 1, "/b~": "\","}"#, "a\"\\"),
            r#"{"/b~": "\","}"#
        );
        assert_eq!(without(r#"{"a": 1, "/b~": "\","}"#, "/b~"), r#"{"a": 1}"#);
    }

    #[test]
    fn one_value_is_written_and_everything_else_keeps_its_bytes_in_every_dialect() {
        for family in ["responses", "chat", "anthropic"] {
            let cases = [
                ("path", "b\n\"c\"", r#""a.rs""#, r#""b\n\"c\"""#),
                ("seats", "3", r#""2""#, "3"),
                ("edits/0/old", "}", r#""x""#, r#""}""#),
                (
                    "when",
                    "now",
                    r#"[{"old":"x"}]"#,
                    r#"[{"old":"x"}], "when": "now""#,
                ),
                ("edits", "[\n  1\n]", r#"[{"old":"x"}]"#, "[1]"),
            ];
            for (name, text, old, new) in cases {
                let expected = ARGUMENTS.replace(old, new);
                assert_eq!(
                    edited(family, name, text).unwrap(),
                    expected,
                    "{family} {name}"
                );
            }
            let same = edited(family, "text", "one\n\"two\"é").unwrap_err();
            assert!(same.contains("nothing to change"), "{same}");
            let fault = edited(family, "seats", "many").unwrap_err();
            assert!(fault.starts_with("not JSON: line 1, column 1"), "{fault}");
        }
    }

    #[test]
    fn the_texts_of_messages_and_results_are_values() {
        let said = r#"{"role":"user","content":[{"type":"input_text","text":"one\ntwo"},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"3"}]}"#;
        let out = r#"{"type":"function_call_output","call_id":"c","output":"a\r\nb"}"#;
        let fixture = fixture(&history(&[said, out]));
        let open = |index: usize| {
            let item = &fixture.session.items[index];
            OpenItem::new(item, &fixture.session.bytes(item).unwrap(), None)
        };
        let names = |open: &OpenItem| -> Vec<(String, String)> {
            let values = open.values().iter();
            values
                .map(|it| (it.name.clone(), it.text.clone()))
                .collect()
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            names(&open(0)),
            [pair("text 1", "one\ntwo"), pair("text 2", "3")]
        );
        let result = open(1);
        assert_eq!(names(&result), [pair("text", "a\r\nb")]);
        // Editors end lines in their own way.
        let changed = result.with(&result.values()[0], "a\nc").unwrap();
        assert_eq!(changed, out.replace(r"a\r\nb", r"a\r\nc"));
    }

    #[test]
    fn hostile_arguments_and_schemas_are_bounded() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        let wide = format!("[{}1]", "1,".repeat(10_000));
        let arguments = format!(r#"{{"deep":{deep},"wide":{wide}}}"#);
        let call = format!(
            r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{}}}"#,
            Value::from(arguments)
        );
        let fixture = fixture(&history(&[USER, &call]));
        let item = &fixture.session.items[1];
        let circular = json!({"$ref": "#"});
        let open = OpenItem::new(item, call.as_bytes(), Some(&circular));
        assert_eq!(open.values().len(), MOST);
        let names = open.values().iter().map(|value| value.name.as_str());
        assert_eq!(
            names.take_while(|name| name.starts_with("deep")).count(),
            DEEPEST
        );
    }
}
