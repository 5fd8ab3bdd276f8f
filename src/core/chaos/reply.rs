//! A whole reply that is changed, in the spelling of its dialect.

use crate::session::Dialect;
use crate::wire::{ReplySpelling, Texts};
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
        if self.parts().is_some_and(|parts| parts.is_empty()) {
            self.leave_out_calls();
        }
        self.json.to_string()
    }

    fn spelling(&self) -> &'static ReplySpelling {
        &self.dialect.facts().reply
    }

    fn holder(&mut self) -> Option<&mut Map<String, Value>> {
        let (holder, _) = self.spelling().parts;
        self.json.pointer_mut(holder)?.as_object_mut()
    }

    /// What holds the parts of the turn: the items of a Response, the blocks of a message, the calls of Chat.
    fn parts(&mut self) -> Option<&mut Vec<Value>> {
        let ReplySpelling {
            parts: (_, key),
            call_type,
            ..
        } = self.spelling();
        let holder = self.holder()?;
        if call_type.is_none() && holder.get(*key).is_none_or(Value::is_null) {
            holder.insert((*key).to_owned(), Value::Array(Vec::new()));
        }
        holder.get_mut(*key)?.as_array_mut()
    }

    /// Takes out the list of the calls, where there is one for them alone.
    fn leave_out_calls(&mut self) {
        let spelling = self.spelling();
        if let (None, Some(holder)) = (spelling.call_type, self.holder()) {
            holder.remove(spelling.parts.1);
        }
    }

    fn is_call(spelling: &ReplySpelling, part: &Value) -> bool {
        match spelling.call_type {
            Some(call_type) => part.get("type").and_then(Value::as_str) == Some(call_type),
            None => part.pointer(spelling.function).is_some(),
        }
    }

    fn call_parts(&mut self) -> Vec<&mut Value> {
        let spelling = self.spelling();
        let parts = self.parts().into_iter().flatten();
        parts.filter(|part| Self::is_call(spelling, part)).collect()
    }

    /// What holds name and arguments of the call at this place.
    fn function(&mut self, place: usize) -> Option<&mut Map<String, Value>> {
        let function = self.spelling().function;
        let part = self.call_parts().into_iter().nth(place)?;
        part.pointer_mut(function)?.as_object_mut()
    }

    /// The calls of function tools, in the order of the reply.
    pub(super) fn calls(&mut self) -> Vec<Call> {
        let spelling = self.spelling();
        let holds_objects = self.dialect.facts().object_arguments;
        let read = |part: &mut Value| {
            let function = part.pointer(spelling.function);
            let member = |key| function.and_then(|function| function.get(key));
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other if holds_objects => other.to_string(),
                _ => String::new(),
            };
            Call {
                name: member("name").map(text).unwrap_or_default(),
                arguments: member(spelling.arguments_key).map(text).unwrap_or_default(),
            }
        };
        self.call_parts().into_iter().map(read).collect()
    }

    /// Changes the tool of the call at this place.
    pub(super) fn rename(&mut self, place: usize, name: &str) {
        let known = self.function(place);
        if let Some(known) = known.and_then(|function| function.get_mut("name")) {
            *known = name.into();
        }
    }

    /// Changes the arguments of the call at this place. A dialect that holds them as an object holds those that
    /// are none as a text.
    pub(super) fn set_arguments(&mut self, place: usize, arguments: &str) {
        let key = self.spelling().arguments_key;
        let whole = match self.dialect.facts().object_arguments {
            true => serde_json::from_str(arguments).ok(),
            false => None,
        };
        let known = self.function(place);
        if let Some(known) = known.and_then(|function| function.get_mut(key)) {
            let whole = whole.filter(Value::is_object);
            *known = whole.unwrap_or_else(|| arguments.into());
        }
    }

    /// Gives the call at one place the id of another.
    pub(super) fn share_id(&mut self, from: usize, to: usize) {
        let key = self.spelling().id_key;
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
        if self.dialect.facts().item_ids
            && let Some(Value::String(id)) = copy.get_mut("id")
        {
            // Items have ids beside those of calls, and these stay unique.
            id.push_str("_2");
        }
        let spelling = self.spelling();
        if let Some(parts) = self.parts() {
            let at = parts.iter().rposition(|part| Self::is_call(spelling, part));
            parts.insert(at.map_or(0, |at| at + 1), copy);
        }
    }

    /// Takes all calls out; the turn ends as one without calls does.
    pub(super) fn remove_calls(&mut self) {
        let spelling = self.spelling();
        if let Some(parts) = self.parts() {
            parts.retain(|part| !Self::is_call(spelling, part));
        }
        self.leave_out_calls();
        let (holder, key) = spelling.end;
        let holder = self.json.pointer_mut(holder).and_then(Value::as_object_mut);
        if let (Some(word), Some(holder)) = (spelling.natural_end, holder) {
            holder.insert(key.to_owned(), word.into());
        }
    }

    /// Whether the turn ends the run: it is complete, and calls nothing.
    pub(super) fn is_final(&mut self) -> bool {
        let spelling = self.spelling();
        let calls = |part: &Value| {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            !spelling.said.contains(&kind)
        };
        let has_calls = self.parts().is_none_or(|parts| parts.iter().any(calls));
        let (holder, key) = spelling.end;
        let end = self.json.pointer(holder).and_then(|holder| holder.get(key));
        let end = end.and_then(Value::as_str);
        !has_calls && matches!(end, Some("completed" | "end_turn" | "stop"))
    }

    /// What the turn says.
    pub(super) fn text(&mut self) -> String {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let texts = self.spelling().texts;
        if let Texts::Member(key) = texts {
            return text(self.holder().and_then(|holder| holder.get(key)));
        }
        let Some(parts) = self.parts() else {
            return String::new();
        };
        let blocks = parts.iter().flat_map(|part| match texts {
            Texts::Messages => {
                let content = part.get("content").and_then(Value::as_array);
                content.map(Vec::as_slice).unwrap_or_default()
            }
            _ => std::slice::from_ref(part),
        });
        blocks.map(|block| text(block.get("text"))).collect()
    }

    /// Says this text and no other; nothing with an empty one.
    pub(super) fn say(&mut self, text: &str) {
        match self.spelling().texts {
            Texts::Messages => self.say_in_response(text),
            Texts::Member(key) => {
                if let Some(holder) = self.holder() {
                    holder.insert(key.to_owned(), text.into());
                }
            }
            Texts::Blocks => {
                let Some(parts) = self.parts() else { return };
                let is_text = |part: &Value| part["type"] == "text";
                let at = parts.iter().position(is_text).unwrap_or(parts.len());
                parts.retain(|part| !is_text(part));
                if !text.is_empty() {
                    parts.insert(at.min(parts.len()), json!({"type": "text", "text": text}));
                }
            }
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
