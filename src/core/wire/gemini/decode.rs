//! Streams of Gemini: chunks that are replies by themselves, with the parts that are new. Texts go on in the next
//! chunk, calls come whole (Gemini API reference, `streamGenerateContent`).

use super::read::read_content;
use crate::json::{Cursor, Result};
use crate::session::{Fragment, Kind};
use crate::wire::stream::{
    CallPart, Decoder, EventSummary, PartialCall, Reply, Step, append, is_early_word, text,
};
use serde_json::{Map, Value, json};

/// A reply so far; of several candidates the first one.
#[derive(Debug, Default)]
pub(crate) struct GeminiStream {
    /// What chunks say beside their candidates; the last one counts.
    head: Map<String, Value>,
    candidate: Map<String, Value>,
    role: Option<Value>,
    parts: Vec<Map<String, Value>>,
    calls: Vec<Call>,
    failures: Vec<Value>,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

pub(crate) fn call_in(part: &Map<String, Value>) -> Option<&Value> {
    let call = part
        .get("functionCall")
        .or_else(|| part.get("function_call"));
    call.filter(|call| call.is_object())
}

impl Decoder for GeminiStream {
    fn begins_next(&self, event: &Value) -> bool {
        let known = self.head.get("responseId").and_then(Value::as_str);
        let id = event.get("responseId").and_then(Value::as_str);
        self.has_ended() && first_candidate(event).is_some() && (known.is_none() || id != known)
    }

    fn push(&mut self, event: &Value) -> Step {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            self.failures.push(error.clone());
            return Step::Failed;
        }
        let members = event.as_object().into_iter().flatten();
        for (key, value) in members.filter(|(key, _)| *key != "candidates") {
            self.head.insert(key.clone(), value.clone());
        }
        let Some(candidate) = first_candidate(event).and_then(Value::as_object) else {
            return Step::Nothing;
        };
        let mut step = Step::Nothing;
        for (key, value) in candidate {
            if key != "content" {
                self.candidate.insert(key.clone(), value.clone());
                continue;
            }
            self.role = value.get("role").cloned().or(self.role.take());
            let parts = value.get("parts").and_then(Value::as_array);
            for part in parts.into_iter().flatten().filter_map(Value::as_object) {
                step = self.take(part);
            }
        }
        // Older models give a reason to finish in each chunk: the end of the connection is the end.
        step
    }

    fn calls(&self) -> Vec<PartialCall<'_>> {
        let calls = self.calls.iter();
        calls
            .map(|call| PartialCall {
                id: &call.id,
                name: call.name.as_str().into(),
                arguments: &call.arguments,
                is_complete: true,
            })
            .collect()
    }

    fn finish(mut self: Box<Self>) -> Reply {
        let ended = self.has_ended();
        let mut reply = Map::new();
        if !self.candidate.is_empty() || !self.parts.is_empty() {
            let role = self.role.take().unwrap_or_else(|| "model".into());
            let mut candidate = Map::new();
            let content = json!({"parts": self.parts, "role": role});
            candidate.insert("content".to_owned(), content);
            candidate.extend(self.candidate);
            reply.insert("candidates".to_owned(), json!([candidate]));
        }
        reply.extend(self.head);
        Reply {
            json: Value::Object(reply).to_string(),
            ended,
            failures: self.failures,
        }
    }
}

impl GeminiStream {
    fn has_ended(&self) -> bool {
        let is_word = |value: Option<&Value>| {
            value
                .and_then(Value::as_str)
                .is_some_and(|word| !word.is_empty())
        };
        let blocked = self.head.get("promptFeedback");
        is_word(self.candidate.get("finishReason"))
            || is_word(blocked.and_then(|feedback| feedback.get("blockReason")))
    }

    fn take(&mut self, part: &Map<String, Value>) -> Step {
        if let Some(call) = call_in(part) {
            let arguments = call.get("args").filter(|args| !args.is_null());
            self.calls.push(Call {
                id: text(call, "id").to_owned(),
                name: text(call, "name").to_owned(),
                arguments: arguments.map_or_else(|| "{}".to_owned(), Value::to_string),
            });
            self.parts.push(part.clone());
            return Step::CallEnds(self.calls.len() - 1);
        }
        let more = part.get("text").and_then(Value::as_str);
        match (self.parts.last_mut(), more) {
            (Some(last), Some(more)) if goes_on(last, part) => append(last, "text", more),
            _ => self.parts.push(part.clone()),
        }
        Step::Text
    }
}

/// Whether a text is more of the text before it. A signature closes a part, and is a part with an empty text.
fn goes_on(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let is_bare = |part: &Map<String, Value>| {
        part.contains_key("text") && part.keys().all(|key| key == "text" || key == "thought")
    };
    is_bare(last) && is_bare(next) && last.get("thought") == next.get("thought")
}

/// The candidate with the index 0, or without one.
pub(crate) fn first_candidate(event: &Value) -> Option<&Value> {
    let candidates = event.get("candidates").and_then(Value::as_array)?;
    let index = |one: &Value| one.get("index").and_then(Value::as_u64);
    candidates.iter().find(|one| index(one).unwrap_or(0) == 0)
}

/// A chunk of Gemini. Its calls are complete as they come, and there is no end mark but the reason to finish.
pub(crate) fn classify<'a>(cursor: &mut Cursor<'a>) -> Result<EventSummary<'a>> {
    let mut look = EventSummary::default();
    cursor.object(|cursor, key| {
        match key {
            b"candidates" => {
                cursor.array(|cursor| candidate(cursor, &mut look))?;
            }
            // A prompt that is blocked gets no candidate.
            b"promptFeedback" => {
                cursor.object(|cursor, key| {
                    if key == b"blockReason" {
                        finishes(cursor.string()?.unwrap_or_default(), &mut look);
                    }
                    Ok(())
                })?;
            }
            b"error" => look.fails = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(look)
}

fn finishes(why: &[u8], look: &mut EventSummary<'_>) {
    if !why.is_empty() {
        (look.completes, look.ends) = (true, true);
        look.stops_early = is_early_word(why);
    }
}

fn candidate(cursor: &mut Cursor<'_>, look: &mut EventSummary<'_>) -> Result<()> {
    let (mut is_first, mut why) = (true, None);
    let mut fragment = Fragment::default();
    cursor.object(|cursor, key| {
        match key {
            b"index" => is_first = matches!(cursor.raw()?, b"0" | b"null"),
            b"finishReason" => why = cursor.string()?,
            b"content" if cursor.peek() == Some(b'{') => {
                read_content(cursor, 0, &mut fragment)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if fragment.items.iter().any(|item| item.kind == Kind::Call) {
        look.part = Some(CallPart {
            key: b"",
            is_call: true,
            ends: true,
        });
    }
    if is_first {
        finishes(why.unwrap_or_default(), look);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_grow_calls_come_whole_and_signatures_stay_where_they_came() {
        let mut reply = Box::new(GeminiStream::default());
        let chunks = [
            json!({"candidates": [{"content": {"parts": [{"text": "h", "thought": true}], "role": "model"}}], "responseId": "r"}),
            json!({"candidates": [{"content": {"parts": [{"text": "m", "thought": true}, {"text": "Let "}]}}], "responseId": "r"}),
            json!({"candidates": [{"content": {"parts": [{"text": "me"}, {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "t"}]}, "finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 3}, "responseId": "r"}),
        ];
        let steps = chunks.iter().map(|chunk| reply.push(chunk));
        assert_eq!(
            steps.collect::<Vec<_>>(),
            [Step::Text, Step::Text, Step::CallEnds(0), Step::Text]
        );
        assert_eq!(reply.calls()[0].arguments, r#"{"a":1}"#);
        let next = json!({"candidates": [{"content": {}}], "responseId": "other"});
        assert!(!reply.begins_next(&chunks[3]) && reply.begins_next(&next));
        let reply = reply.finish();
        assert!(reply.ended);
        assert_eq!(
            reply.json,
            r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"Let me"},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"},{"text":"","thoughtSignature":"t"}],"role":"model"},"finishReason":"STOP","index":0}],"responseId":"r","usageMetadata":{"promptTokenCount":3}}"#
        );
    }

    #[test]
    fn a_blocked_prompt_is_a_reply_without_parts() {
        let mut reply = Box::new(GeminiStream::default());
        reply.push(&json!({"promptFeedback": {"blockReason": "SAFETY"}}));
        let reply = reply.finish();
        assert!(reply.ended);
        assert_eq!(reply.json, r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#);
    }
}
