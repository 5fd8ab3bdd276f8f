//! What an item says, in words that all dialects share.

use crate::dialects::body_of;
use crate::session::{Item, Kind};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The words of a message or an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Its texts, part by part; what is no text stands in brackets.
    texts: Vec<String>,
    /// What the model said instead of an answer, part by part.
    refusals: Vec<String>,
    /// Reasoning that stands beside the text (`reasoning_content` of compatible servers).
    pub(super) reasoning: String,
}

impl Content {
    /// Reads it from the bytes of an item. What is no JSON says nothing.
    pub(super) fn of(item: &Item, bytes: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => Self::of_value(item.kind, &value),
            // A lone surrogate, or nesting that is too deep: what is shown of it will do.
            Err(_) => Self {
                texts: vec![body_of(item, bytes).unwrap_or_default().text],
                ..Self::default()
            },
        }
    }

    fn of_value(kind: Kind, value: &Value) -> Self {
        let mut content = Self::default();
        let Some(members) = value.as_object() else {
            content.add(value);
            return content;
        };
        let keys: &[&str] = match kind {
            Kind::Output => &["output", "content", "result", "response", "tools"],
            Kind::Reasoning => &["summary", "content", "thinking", "text"],
            _ => &["content"],
        };
        let is_whole =
            members.contains_key("role") || keys.iter().any(|key| members.contains_key(*key));
        if !is_whole {
            content.add_part(value);
            return content;
        }
        for found in keys.iter().filter_map(|key| members.get(*key)) {
            content.add(found);
        }
        if let Some(refusal) = members.get("refusal").and_then(Value::as_str) {
            content.refusals.push(refusal.to_owned());
        }
        let reasoning = ["reasoning_content", "reasoning"];
        let reasoning = reasoning.iter().find_map(|key| members.get(*key)?.as_str());
        content.reasoning = reasoning.unwrap_or_default().to_owned();
        content
    }

    /// What a message says: a text that is cut into parts goes on from one to the next.
    pub(super) fn text(&self) -> String {
        self.texts.concat()
    }

    /// What it says instead of an answer.
    pub(super) fn refusal(&self) -> String {
        self.refusals.concat()
    }

    /// Text and refusal, the parts one below the other: in a history they are one. A part without words is
    /// none, since not every provider takes one.
    pub(super) fn words(&self) -> String {
        let parts = self.texts.iter().chain(&self.refusals);
        let parts = parts.filter(|part| !part.trim().is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Array(parts) => parts.iter().for_each(|part| self.add_part(part)),
            _ => self.add_part(value),
        }
    }

    fn add_part(&mut self, part: &Value) {
        match part {
            Value::Null => {}
            Value::String(text) => self.texts.push(text.clone()),
            Value::Object(_) => self.add_object(part),
            Value::Array(_) | Value::Bool(_) | Value::Number(_) => {
                self.texts.push(part.to_string());
            }
        }
    }

    fn add_object(&mut self, part: &Value) {
        let word = |key: &str| part.get(key).and_then(Value::as_str);
        let of_type = word("type");
        let printed = [word("stdout"), word("stderr")];
        let printed = printed.into_iter().flatten().collect::<Vec<_>>();
        if let Some(refusal) = word("refusal") {
            return self.refusals.push(refusal.to_owned());
        }
        self.texts
            .push(if let Some(picture) = picture(part, of_type) {
                picture
            } else if let Some(text) = word("text").or(word("thinking")) {
                text.to_owned()
            } else if !printed.is_empty() {
                printed.concat()
            } else if let Some(of_type) = of_type {
                format!("[{of_type}]")
            } else {
                part.to_string()
            });
    }
}

/// A picture in brackets: where it is, or which one of so many characters it is.
fn picture(part: &Value, of_type: Option<&str>) -> Option<String> {
    let types = ["image", "image_url", "input_image", "computer_screenshot"];
    if of_type.is_some_and(|of_type| !types.contains(&of_type)) {
        return None;
    }
    let url = part.get("image_url");
    let url = url.and_then(|url| url.as_str().or_else(|| url.get("url")?.as_str()));
    let source = part.get("source");
    let word = |key: &str| source.and_then(|source| source.get(key)?.as_str());
    let url = match (url.or(word("url")), word("media_type"), word("data")) {
        (Some(url), ..) => url.to_owned(),
        (None, Some(kind), Some(data)) => format!("data:{kind};base64,{data}"),
        _ => return None,
    };
    if !url.starts_with("data:") {
        return Some(format!("[picture {url}]"));
    }
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let (length, hash) = (url.len(), hasher.finish());
    Some(format!("[picture of {length} characters, {hash:016x}]"))
}
