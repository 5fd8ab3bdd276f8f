//! A whole reply that is changed, in the spelling of its dialect.

use crate::session::Dialect;
use serde_json::{Map, Value, json};

/// A whole reply. Members that no change is about stay.
#[derive(Debug, Clone)]
pub struct Reply {
    dialect: Dialect,
    json: Value,
}

/// A call of a function tool in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// As the model wrote them.
    pub(super) arguments: String,
}

impl Reply {
    /// Reads a reply; `None` where it is none of the dialect.
    pub(super) fn read(dialect: Dialect, json: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(json).ok()?;
        let mut reply = Self { dialect, json };
        reply.parts().is_some().then_some(reply)
    }

    pub(super) fn into_json(mut self) -> String {
        if self.dialect == Dialect::Chat
            && let Some(message) = self.message()
            && message
                .get("tool_calls")
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty)
        {
            message.remove("tool_calls");
        }
        self.json.to_string()
    }

    /// What holds the parts of the turn: the items of a Response, the blocks of a message, the calls of Chat.
    fn parts(&mut self) -> Option<&mut Vec<Value>> {
        match self.dialect {
            Dialect::Responses => self.json.get_mut("output")?.as_array_mut(),
            Dialect::Anthropic => self.json.get_mut("content")?.as_array_mut(),
            Dialect::Chat => {
                let message = self.message()?;
                let calls = message
                    .entry("tool_calls")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if calls.is_null() {
                    *calls = Value::Array(Vec::new());
                }
                calls.as_array_mut()
            }
            Dialect::Gemini => None,
        }
    }

    fn choice(&mut self) -> Option<&mut Value> {
        self.json.get_mut("choices")?.as_array_mut()?.first_mut()
    }

    fn message(&mut self) -> Option<&mut Map<String, Value>> {
        self.choice()?.get_mut("message")?.as_object_mut()
    }

    fn is_call(dialect: Dialect, part: &Value) -> bool {
        let kind = part.get("type").and_then(Value::as_str);
        match dialect {
            Dialect::Responses => kind == Some("function_call"),
            Dialect::Anthropic => kind == Some("tool_use"),
            Dialect::Chat => part.get("function").is_some(),
            Dialect::Gemini => false,
        }
    }

    fn call_parts(&mut self) -> Vec<&mut Value> {
        let dialect = self.dialect;
        let parts = self.parts().into_iter().flatten();
        parts.filter(|part| Self::is_call(dialect, part)).collect()
    }

    /// The calls of function tools, in the order of the reply.
    pub(super) fn calls(&mut self) -> Vec<Call> {
        let dialect = self.dialect;
        let parts = self.call_parts();
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let read = |part: &mut Value| match dialect {
            Dialect::Chat => Call {
                name: text(part.pointer("/function/name")),
                arguments: text(part.pointer("/function/arguments")),
            },
            Dialect::Anthropic => Call {
                name: text(part.get("name")),
                arguments: match part.get("input") {
                    Some(Value::String(broken)) => broken.clone(),
                    input => input.map(Value::to_string).unwrap_or_default(),
                },
            },
            Dialect::Responses | Dialect::Gemini => Call {
                name: text(part.get("name")),
                arguments: text(part.get("arguments")),
            },
        };
        parts.into_iter().map(read).collect()
    }

    /// Changes the tool of the call at this place.
    pub(super) fn rename(&mut self, place: usize, name: &str) {
        let dialect = self.dialect;
        if let Some(part) = self.call_parts().into_iter().nth(place) {
            let at = if dialect == Dialect::Chat {
                "/function/name"
            } else {
                "/name"
            };
            set(part, at, name.into());
        }
    }

    /// Changes the arguments of the call at this place. A dialect that holds them as an object holds those that
    /// are none as a text.
    pub(super) fn set_arguments(&mut self, place: usize, arguments: &str) {
        let dialect = self.dialect;
        let Some(part) = self.call_parts().into_iter().nth(place) else {
            return;
        };
        match dialect {
            Dialect::Chat => set(part, "/function/arguments", arguments.into()),
            Dialect::Anthropic => {
                let whole = serde_json::from_str(arguments).ok();
                let input = whole.filter(Value::is_object);
                set(part, "/input", input.unwrap_or_else(|| arguments.into()));
            }
            Dialect::Responses | Dialect::Gemini => set(part, "/arguments", arguments.into()),
        }
    }

    fn id_key(&self) -> &'static str {
        match self.dialect {
            Dialect::Responses => "call_id",
            _ => "id",
        }
    }

    /// Gives the call at one place the id of another.
    pub(super) fn share_id(&mut self, from: usize, to: usize) {
        let key = self.id_key();
        let mut parts = self.call_parts();
        let id = parts.get(from).and_then(|part| part.get(key)).cloned();
        if let (Some(id), Some(part)) = (id, parts.get_mut(to)) {
            part[key] = id;
        }
    }

    /// Makes the call at this place twice.
    pub(super) fn repeat_call(&mut self, place: usize) {
        let mut parts = self.call_parts();
        let Some(mut copy) = parts.get_mut(place).map(|part| part.clone()) else {
            return;
        };
        if self.dialect == Dialect::Responses
            && let Some(Value::String(id)) = copy.get_mut("id")
        {
            // Items have ids beside those of calls, and these stay unique.
            id.push_str("_2");
        }
        let dialect = self.dialect;
        if let Some(parts) = self.parts() {
            let at = parts.iter().rposition(|part| Self::is_call(dialect, part));
            parts.insert(at.map_or(0, |at| at + 1), copy);
        }
    }

    /// Takes all calls out; the turn ends as one without calls does.
    pub(super) fn remove_calls(&mut self) {
        let dialect = self.dialect;
        if let Some(parts) = self.parts() {
            parts.retain(|part| !Self::is_call(dialect, part));
        }
        match dialect {
            Dialect::Chat => {
                if let Some(message) = self.message() {
                    message.remove("tool_calls");
                }
                if let Some(choice) = self.choice() {
                    choice["finish_reason"] = "stop".into();
                }
            }
            Dialect::Anthropic => self.json["stop_reason"] = "end_turn".into(),
            Dialect::Responses | Dialect::Gemini => {}
        }
    }

    /// Whether the turn ends the run: it is complete, and calls nothing.
    pub(super) fn is_final(&mut self) -> bool {
        let dialect = self.dialect;
        let calls = |part: &Value| {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            match dialect {
                Dialect::Responses => !matches!(kind, "message" | "reasoning"),
                Dialect::Anthropic => !matches!(kind, "text" | "thinking" | "redacted_thinking"),
                _ => true,
            }
        };
        let has_calls = self.parts().is_none_or(|parts| parts.iter().any(calls));
        let end = match dialect {
            Dialect::Responses => self.json.get("status"),
            Dialect::Anthropic => self.json.get("stop_reason"),
            _ => self.choice().and_then(|choice| choice.get("finish_reason")),
        };
        let end = end.and_then(Value::as_str);
        !has_calls && matches!(end, Some("completed" | "end_turn" | "stop"))
    }

    /// What the turn says.
    pub(super) fn text(&mut self) -> String {
        let dialect = self.dialect;
        if dialect == Dialect::Chat {
            let content = self.message().and_then(|message| message.get("content"));
            return content
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
        }
        let Some(parts) = self.parts() else {
            return String::new();
        };
        let texts = parts.iter().flat_map(|part| match dialect {
            Dialect::Responses => part
                .get("content")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            _ => vec![part.clone()],
        });
        let texts =
            texts.filter_map(|part| part.get("text").and_then(Value::as_str).map(str::to_owned));
        texts.collect::<Vec<_>>().concat()
    }

    /// Says this text and no other; nothing with an empty one.
    pub(super) fn say(&mut self, text: &str) {
        match self.dialect {
            Dialect::Chat => {
                if let Some(message) = self.message() {
                    message.insert("content".to_owned(), text.into());
                }
            }
            Dialect::Anthropic => {
                if let Some(parts) = self.parts() {
                    let is_text = |part: &Value| part["type"] == "text";
                    let at = parts.iter().position(is_text).unwrap_or(parts.len());
                    parts.retain(|part| part["type"] != "text");
                    if !text.is_empty() {
                        parts.insert(at.min(parts.len()), json!({"type": "text", "text": text}));
                    }
                }
            }
            Dialect::Responses | Dialect::Gemini => self.say_in_response(text),
        }
    }

    fn say_in_response(&mut self, text: &str) {
        let id = self
            .json
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let id = format!("msg_{}", id.trim_start_matches("resp_"));
        let Some(items) = self.parts() else { return };
        let is_message = |item: &Value| item["type"] == "message";
        let content =
            json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]);
        let Some(at) = items.iter().position(is_message) else {
            items.push(json!({
                "id": id, "type": "message", "status": "completed", "role": "assistant", "content": content,
            }));
            return;
        };
        let mut first = items.remove(at);
        first["content"] = content;
        items.retain(|item| !is_message(item));
        items.insert(at.min(items.len()), first);
    }
}

fn set(part: &mut Value, at: &str, value: Value) {
    if let Some(place) = part.pointer_mut(at) {
        *place = value;
    }
}
