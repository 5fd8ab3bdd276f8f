//! Streams of OpenAI Chat Completions, and what the many servers make of its deltas: no index, no id, an id or a name
//! in every piece, all indices 0, whole calls in one piece, arguments that are an object.

use crate::json::{Cursor, Result};
use crate::wire::stream::{
    CallPart, Decoder, EventSummary, PartialCall, Reply, Step, append, is_early_word, is_whole,
    text,
};
use serde_json::{Map, Value, json};

/// A chat completion so far; of several choices the first one.
#[derive(Debug, Default)]
pub(crate) struct ChatStream {
    head: Map<String, Value>,
    message: Map<String, Value>,
    calls: Vec<Call>,
    /// The old `function_call` without an id.
    legacy: Option<Call>,
    finish_reason: Option<Value>,
    done: bool,
    failures: Vec<Value>,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    kind: String,
    name: String,
    arguments: String,
}

/// One piece of a call.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    kind: &'a str,
    name: &'a str,
    arguments: String,
}

impl<'a> Piece<'a> {
    fn new(piece: &'a Value) -> Self {
        let inner = piece.get("function").or_else(|| piece.get("custom"));
        let inner = inner.unwrap_or(piece);
        let arguments = inner.get("arguments").or_else(|| inner.get("input"));
        Self {
            index: piece.get("index").and_then(Value::as_u64),
            id: text(piece, "id"),
            kind: match piece.get("custom") {
                Some(_) => "custom",
                None => text(piece, "type"),
            },
            name: text(inner, "name"),
            arguments: match arguments {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            },
        }
    }
}

impl Call {
    /// Whether a piece that comes with this call's index, or without any, begins another call.
    fn is_over_for(&self, piece: &Piece<'_>) -> bool {
        if piece.name.is_empty() {
            return false;
        }
        let same_id = !piece.id.is_empty() && piece.id == self.id;
        let other_id = !piece.id.is_empty() && !self.id.is_empty() && !same_id;
        if same_id || self.name.is_empty() {
            false
        } else if self.name != piece.name {
            true
        } else {
            // A name in every piece goes on with the same call until its arguments are whole.
            is_whole(&self.arguments) || (other_id && self.arguments.is_empty())
        }
    }

    fn take(&mut self, piece: Piece<'_>) {
        let fill = |slot: &mut String, text: &str| {
            if slot.is_empty() {
                text.clone_into(slot);
            }
        };
        fill(&mut self.id, piece.id);
        fill(&mut self.kind, piece.kind);
        fill(&mut self.name, piece.name);
        self.index = self.index.or(piece.index);
        self.arguments.push_str(&piece.arguments);
    }

    fn to_value(&self) -> Value {
        let mut call = Map::new();
        if !self.id.is_empty() {
            call.insert("id".to_owned(), self.id.clone().into());
        }
        let is_custom = self.kind == "custom";
        let (kind, input) = if is_custom {
            ("custom", "input")
        } else {
            ("function", "arguments")
        };
        call.insert("type".to_owned(), kind.into());
        call.insert(
            kind.to_owned(),
            json!({"name": self.name, input: self.arguments}),
        );
        call.into()
    }
}

impl Decoder for ChatStream {
    fn push_done(&mut self) -> Step {
        self.done = true;
        Step::Ends
    }

    fn begins_next(&self, event: &Value) -> bool {
        let known = self.head.get("id").and_then(Value::as_str);
        let (known, id) = (known.unwrap_or_default(), text(event, "id"));
        let is_over = self.done || self.finish_reason.is_some();
        let speaks = first_choice(event).is_some();
        is_over && speaks && (self.done || (!id.is_empty() && id != known))
    }

    fn push(&mut self, event: &Value) -> Step {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            self.failures.push(error.clone());
            return Step::Failed;
        }
        for key in ["id", "created", "model"] {
            if let Some(value) = event.get(key).filter(|value| !value.is_null()) {
                self.head.entry(key).or_insert_with(|| value.clone());
            }
        }
        // Some servers count in every chunk; the last count is that of the whole reply.
        if let Some(usage) = event.get("usage").filter(|usage| !usage.is_null()) {
            self.head.insert("usage".to_owned(), usage.clone());
        }
        let Some(choice) = first_choice(event) else {
            return Step::Nothing;
        };
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        let mut step = delta.map_or(Step::Nothing, |delta| self.grow(delta));
        if let Some(reason) = choice
            .get("finish_reason")
            .filter(|reason| reason.as_str().is_some_and(|reason| !reason.is_empty()))
        {
            self.finish_reason = Some(reason.clone());
            step = Step::Ends;
        }
        step
    }

    fn calls(&self) -> Vec<PartialCall<'_>> {
        let is_complete = self.done || self.finish_reason.is_some();
        let calls = self.calls.iter().chain(&self.legacy);
        calls
            .map(|call| PartialCall {
                id: &call.id,
                name: call.name.as_str().into(),
                arguments: &call.arguments,
                is_complete,
            })
            .collect()
    }

    fn finish(mut self: Box<Self>) -> Reply {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), Value::Null);
        message.append(&mut self.message);
        if !self.calls.is_empty() {
            // A stable sort: calls that share an index, or have none, stay in the order of their arrival.
            self.calls.sort_by_key(|call| call.index);
            let calls = self.calls.iter().map(Call::to_value).collect::<Value>();
            message.insert("tool_calls".to_owned(), calls);
        }
        if let Some(call) = &self.legacy {
            let call = json!({"name": call.name, "arguments": call.arguments});
            message.insert("function_call".to_owned(), call);
        }
        let ended = self.done || self.finish_reason.is_some();
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish_reason});
        self.head
            .insert("object".to_owned(), "chat.completion".into());
        self.head.insert("choices".to_owned(), json!([choice]));
        Reply {
            json: Value::Object(self.head).to_string(),
            ended,
            failures: self.failures,
        }
    }
}

impl ChatStream {
    fn grow(&mut self, delta: &Value) -> Step {
        let mut step = Step::Nothing;
        for key in ["content", "refusal", "reasoning_content", "reasoning"] {
            if let Some(Value::String(more)) = delta.get(key) {
                append(&mut self.message, key, more);
                step = Step::Text;
            }
        }
        if let Some(call) = delta.get("function_call").filter(|call| call.is_object()) {
            self.legacy.get_or_insert_default().take(Piece::new(call));
            step = Step::CallGrows(self.calls.len());
        }
        let pieces = delta.get("tool_calls").and_then(Value::as_array);
        for piece in pieces.into_iter().flatten() {
            step = Step::CallGrows(self.take(Piece::new(piece)));
        }
        step
    }

    /// Adds a piece to its call, or begins another one.
    fn take(&mut self, piece: Piece<'_>) -> usize {
        let known = match piece.index {
            Some(_) => self
                .calls
                .iter()
                .rposition(|call| call.index == piece.index),
            None if piece.id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| call.id == piece.id),
        };
        let place = known.filter(|place| !self.calls[*place].is_over_for(&piece));
        let place = place.unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.calls.len() - 1
        });
        self.calls[place].take(piece);
        place
    }
}

/// The choice with the index 0, or without one.
pub(crate) fn first_choice(event: &Value) -> Option<&Value> {
    let choices = event.get("choices").and_then(Value::as_array)?;
    choices
        .iter()
        .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// A chunk of Chat.
pub(crate) fn classify<'a>(cursor: &mut Cursor<'a>) -> Result<EventSummary<'a>> {
    let mut look = EventSummary::default();
    cursor.object(|cursor, key| {
        match key {
            b"choices" => {
                cursor.array(|cursor| choice(cursor, &mut look))?;
            }
            b"error" => look.fails = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(look)
}

fn choice(cursor: &mut Cursor<'_>, look: &mut EventSummary<'_>) -> Result<()> {
    let (mut is_first, mut finishes, mut has_call) = (true, false, false);
    let (mut is_early, mut refuses) = (false, false);
    cursor.object(|cursor, key| {
        match key {
            b"index" => is_first = matches!(cursor.raw()?, b"0" | b"null"),
            b"finish_reason" => {
                let why = cursor.string()?.unwrap_or_default();
                (finishes, is_early) = (!why.is_empty(), is_early_word(why));
            }
            b"delta" | b"message" => {
                cursor.object(|cursor, key| {
                    match (key, cursor.peek()) {
                        (b"refusal", Some(b'"')) => {
                            refuses |= cursor.string()?.is_some_and(|text| !text.is_empty());
                        }
                        (b"function_call", Some(b'{')) => has_call = true,
                        (b"tool_calls", Some(b'[')) => {
                            cursor.array(|_| {
                                has_call = true;
                                Ok(())
                            })?;
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if has_call {
        look.part = Some(CallPart {
            key: b"",
            is_call: true,
            ends: false,
        });
    }
    // Of several choices the first is the reply that is judged.
    look.completes |= is_first && finishes;
    look.stops_early |= is_first && is_early;
    look.refuses |= is_first && refuses;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
        let mut reply = Box::new(ChatStream::default());
        for delta in deltas {
            reply.push(&json!({"choices": [{"index": 0, "delta": delta}]}));
        }
        let own = |call: &PartialCall<'_>| {
            (
                call.id.to_owned(),
                call.name.to_string(),
                call.arguments.to_owned(),
            )
        };
        reply.calls().iter().map(own).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn pieces_find_their_call_by_index() {
        let pieces = [
            json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]}),
            json!({"tool_calls": [{"index": 0, "id": null, "function": {"arguments": "{}"}}, {"index": 1, "function": {"arguments": "}"}}]}),
        ];
        assert_eq!(calls(&pieces), [call("a", "f", "{}"), call("b", "g", "{}")]);
    }

    #[test]
    fn calls_that_share_index_0_are_told_apart_by_whole_arguments_and_names() {
        let pieces = [
            json!({"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": "{\"p\":0}"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"name": "write", "arguments": "{\"p\":1}"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"name": "write", "arguments": "{\"p\":2}"}}]}),
        ];
        assert_eq!(calls(&pieces).len(), 3);
    }

    #[test]
    fn an_id_and_a_name_in_every_piece_is_still_one_call() {
        let pieces = [
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}]}),
            json!({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": "1}"}}]}),
        ];
        assert_eq!(calls(&pieces), [call("a", "f", "{\"x\":1}")]);
        let without_index = [
            json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}),
            json!({"tool_calls": [{"function": {"arguments": "}"}}]}),
        ];
        assert_eq!(calls(&without_index), [call("a", "f", "{}")]);
    }

    #[test]
    fn arguments_may_be_an_object() {
        let piece = json!({"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]});
        assert_eq!(calls(&[piece]), [call("", "f", "{\"x\":1}")]);
    }
}
