//! The member of a request that says what the final output must look like.

use super::{Facts, ToolSpelling};
use crate::session::OutputSchema;
use serde_json::{Value, json};

impl Facts {
    /// The member and its value: `text.format` of Responses, `response_format` of Chat, `output_config.format` of
    /// Anthropic, `generationConfig` of Gemini.
    pub fn output_setting(&self, known: &OutputSchema) -> (&'static str, Value) {
        let schema = &known.schema;
        let name = match known.name.as_str() {
            "" => "output",
            name => name,
        };
        let format = match self.tool {
            ToolSpelling::Flat => json!({"type": "json_schema", "name": name, "schema": schema}),
            ToolSpelling::Nested => {
                json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
            }
            ToolSpelling::Untyped => json!({"type": "json_schema", "schema": schema}),
            ToolSpelling::Declared => schema.clone(),
        };
        match self.formats {
            [[key, inner], ..] if self.tool == ToolSpelling::Declared => (
                key,
                json!({"responseMimeType": "application/json", *inner: format}),
            ),
            [[key, inner], ..] => (key, json!({*inner: format})),
            [[key], ..] => (key, format),
            _ => ("text", format),
        }
    }
}
