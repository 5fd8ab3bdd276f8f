//! OpenAI Chat Completions, and the many servers that speak it: a list of messages; calls hang on assistant
//! messages, outputs are messages of their own (OpenAI API reference, `chat`).

mod decode;
mod read;
mod reply;

use super::codec::{
    Codec, InsertedCalls, TextDelta, content, id_member, named, read_first, schema_name, typed_text,
};
use super::edit::set_member;
use super::facts::{
    CallIds, Facts, Family as Wire, IdsNeeded, NameRules, OutputPlacement, Repeats, RequestUnit,
    Schemas, ServerState,
};
use super::faults::ShapeFault;
use super::fields::Fields;
use super::history::{NoReply, list_of, without};
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::{Object, elements, list, quoted, suffix, text_of};
use super::stream::{Decoder, EventSummary, text};
use super::turn::{Element, Input, Part, Role, ToolCall};
use crate::json::{Cursor, Result};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Family, Fragment, Item, Kind, OutputSchema, Patch};
use decode::first_choice;
use read::{CONTENT_TYPES, fault_of_call, fault_of_message, walk_call};
pub use read::{push_message, read_message};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// The other dialects say what differs from these.
pub(crate) const FACTS: Facts = Facts {
    dialect: Dialect::Chat,
    word: "chat",
    vendor: "OpenAI",
    title: "OpenAI Chat",
    history_title: "Chat messages",
    format: "openai-chat",
    family: Wire::OpenAi,
    base_url: "https://api.openai.com/v1",
    key_variable: "OPENAI_API_KEY",
    path: "chat/completions",
    methods: None,
    version: "v1",
    other_at: None,
    stream_type: "text/event-stream",
    sdk_base: "/v1",
    key_header: ("authorization", "Bearer "),
    headers: &[],
    history_key: "messages",
    holders: &["messages"],
    instructions_key: None,
    prompt_parts: None,
    model_role: "assistant",
    calls_key: Some("tool_calls"),
    legacy_call_key: Some("function_call"),
    content_types: CONTENT_TYPES,
    tools_member: [r#""tools":["#, "]"],
    no_tools: r#""tools":[]"#,
    schema_key: "parameters",
    own_members: &["model", "messages", "tools", "stream"],
    settings_key: None,
    limit_keys: &["max_tokens", "max_completion_tokens"],
    default_limit: None,
    tells_usage_last: true,
    formats: &[&["response_format"]],
    has_status: false,
    repeats_tools: false,
    numbers_events: false,
    heartbeat: ": held by retake\n",
    has_blocks: false,
    server_state: ServerState::None,
    call_prefix: "call_",
    unit: RequestUnit::Record,
    call_marks: &["\"tool_calls\"", "\"function_call\""],
    reply_key: Some(("choices", b'[')),
    stop_paths: &[&["choices", "0", "finish_reason"]],
    early_stops: &["length", "content_filter"],
    usage_key: "usage",
    input_counts: &["prompt_tokens"],
    output_counts: &["completion_tokens"],
    total_count: Some("total_tokens"),
    // `FunctionObject`
    names: NameRules {
        longest: 64,
        extra: b"",
    },
    schemas: Schemas {
        barred: &["oneOf", "anyOf", "allOf", "enum", "not"],
        needs_items: true,
        is_checked: true,
        needs_type: true,
        takes_empty: true,
        limits_keys: false,
        is_needed: false,
        has_upper_case_types: false,
    },
    call_ids: CallIds {
        // agno#5382
        longest: 40,
        plain: false,
        needed: IdsNeeded::Both,
        repeats: Repeats::Answered,
    },
    placement: OutputPlacement::BehindMessage,
    refuses_repeated_tools: false,
    object_arguments: false,
    needs_arguments: false,
    streams_objects: false,
    names_outputs: false,
    plain_outputs: true,
    mixes_outputs: false,
    splits_texts: false,
    images_in_outputs: false,
    marks_errors: false,
    marks_refusals: true,
    blank_texts: true,
    custom_tools: true,
    made_custom_calls: false,
    namespaces: false,
    keeps_reasoning: false,
    signs_reasoning: false,
    signs_calls: false,
    pairs_hosted_results: false,
    item_ids: false,
    opens_with_user: false,
    refuses_tool_role: false,
    caps_many_images: false,
    model_word: None,
    is_common: true,
    tells_cut_late: false,
};

pub(crate) struct Chat;

impl Codec for Chat {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read_element(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_message(cursor, base, out)
    }

    fn fault(&self, item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
        let mut cursor = Cursor::new(bytes);
        if cursor.peek() == Some(b'"') {
            return None;
        }
        // The bytes were walked without a fault when the item was read.
        if item.kind == Kind::Call {
            return fault_of_call(bytes, &walk_call(&mut cursor).ok()?.0, item.family);
        }
        fault_of_message(bytes, &Fields::read(&mut cursor).ok()?)
    }

    fn unknown_type(&self, bytes: &[u8]) -> String {
        // The bytes were walked without a fault when the item was read.
        let fields = Fields::read(&mut Cursor::new(bytes)).unwrap_or_default();
        match (fields.kind, fields.role) {
            (_, Some(role)) => named("role", role),
            (Some(kind), None) => named("type", kind),
            (None, None) => "an object without type and role".to_owned(),
        }
    }

    fn takes_unknown(&self, fields: &Fields<'_>) -> bool {
        fields.role.is_some()
    }

    /// One message for all that the model said and called, one for each output.
    fn write_element(&self, element: &Element) -> Vec<String> {
        let role = element.role.word();
        let parts = element.parts.iter();
        match element.role {
            Role::Model => vec![reply_message(&element.parts)],
            Role::Tool => parts
                .filter_map(|part| match part {
                    Part::Result(result) => {
                        let id = id_member("tool_call_id", &result.id);
                        let content = message_content(&result.content);
                        Some(format!(r#"{{"role":"{role}",{id}"content":{content}}}"#))
                    }
                    _ => None,
                })
                .collect(),
            Role::System | Role::Developer | Role::User => {
                let content = message_content(&element.parts);
                vec![format!(r#"{{"role":"{role}","content":{content}}}"#)]
            }
        }
    }

    fn output(&self, call: &Item, id: &str, name: &str, text: &str, _: bool) -> Option<String> {
        let text = quoted(text);
        if call.family == Family::Legacy {
            let name = quoted(name);
            return Some(format!(
                r#"{{"role":"function","name":{name},"content":{text}}}"#
            ));
        }
        Some(format!(
            r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#
        ))
    }

    fn insert_calls(
        &self,
        bytes: &[u8],
        at: Range<usize>,
        calls: &[ToolCall],
        left: &str,
    ) -> Result<InsertedCalls> {
        let is_whole_content = bytes[..at.start].trim_ascii_end().ends_with(b":");
        let text = match left {
            "" if is_whole_content => "null".to_owned(),
            text => quoted(text),
        };
        let with = text.into_bytes();
        let calls = list(&calls.iter().map(call_entry).collect::<Vec<_>>());
        let mut patches = vec![
            Patch { at, with },
            set_member(bytes, 0, "tool_calls", &calls)?,
        ];
        patches.sort_by_key(|patch| patch.at.start);
        Ok(InsertedCalls {
            patches,
            after: Vec::new(),
        })
    }

    fn envelopes(&self, kind: Kind) -> &'static [&'static str] {
        let of_call = &["function", "custom"];
        if kind == Kind::Call { of_call } else { &[] }
    }

    fn call_id_key(&self, item: &Item, _: &[u8]) -> Result<(&'static str, bool)> {
        let is_output = item.kind == Kind::Output;
        Ok((if is_output { "tool_call_id" } else { "id" }, false))
    }

    fn output_members(
        &self,
        _: &Item,
        _: &[u8],
        text: &str,
        _: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![("content", quoted(text))])
    }

    /// The message of the first choice.
    fn tool(&self, of_type: &'static str, members: Map<String, Value>) -> Value {
        json!({"type": of_type, of_type: members})
    }

    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value) {
        let (name, schema) = (schema_name(output), &output.schema);
        let format =
            json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}});
        ("response_format", format)
    }

    fn read_reply(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_first(self, b"message", cursor, base, out)
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        history_message(reply).map(|message| vec![message])
    }

    fn holds_refusal(&self, reply: &Value) -> bool {
        reply["choices"][0]["message"]["refusal"].is_string()
    }

    fn encode_reply(&self, reply: &NewReply) -> String {
        reply::whole(reply).to_string()
    }

    /// The message without the beginning of its texts, and without its first calls.
    fn unsent_message(&self, sent: &str, message: &str) -> Option<String> {
        let (sent, message) = (Object::read(sent), Object::read(message));
        let calls = elements(sent.get("tool_calls").unwrap_or_default()).len();
        let (mut left, mut has_more) = (Object::default(), false);
        for (key, value) in message.members() {
            let value = match key {
                "content" | "reasoning_content" | "reasoning" | "refusal" => {
                    let seen = sent.get(key).unwrap_or_default();
                    match suffix(&text_of(seen), value).filter(|_| value.starts_with('"')) {
                        Some(rest) if rest == "\"\"" && seen.starts_with('"') => "null".to_owned(),
                        Some(rest) => rest,
                        None => value.to_owned(),
                    }
                }
                "tool_calls" => match elements(value).get(calls..) {
                    Some(calls) if !calls.is_empty() => list(calls),
                    _ => continue,
                },
                _ => value.to_owned(),
            };
            has_more |= key != "role" && value != "null" && value != "\"\"";
            left.set(key, value);
        }
        has_more.then(|| left.json())
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        reply::reply_with(template, elements, usage)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ChatStream::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        event.get("choices").is_some_and(Value::is_array)
    }

    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e> {
        let choice = first_choice(event);
        let delta = choice.and_then(|one| one.get("delta").or_else(|| one.get("message")));
        let first = |keys: [&str; 2]| {
            let mut found = keys
                .map(|key| delta.map_or("", |delta| text(delta, key)))
                .into_iter();
            found.find(|text| !text.is_empty()).unwrap_or_default()
        };
        TextDelta {
            text: first(["content", "refusal"]),
            reasoning: first(["reasoning_content", "reasoning"]),
        }
    }

    fn classify<'e>(&self, event: &mut Cursor<'e>) -> Result<EventSummary<'e>> {
        decode::classify(event)
    }

    fn drops_calls(&self, event: &mut Value) -> bool {
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            for key in ["delta", "message"] {
                if let Some(delta) = choice.get_mut(key).and_then(Value::as_object_mut) {
                    delta.remove("tool_calls");
                    delta.remove("function_call");
                }
            }
        }
        true
    }

    fn encode_stream(&self, rest: &StreamRest<'_>) -> Vec<NewEvent> {
        reply::stream(rest)
    }
}

fn reply_message(parts: &[Part]) -> String {
    let (mut texts, mut refusals, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Refusal(text) => refusals.push(text.as_str()),
            Part::Call(call) => calls.push(call_entry(call)),
            other => texts.push(other.clone()),
        }
    }
    let has_more = !calls.is_empty() || !refusals.is_empty();
    let content = match &texts[..] {
        [] if has_more => "null".to_owned(),
        texts => message_content(texts),
    };
    let mut message = format!(r#"{{"role":"assistant","content":{content}"#);
    if !refusals.is_empty() {
        let refusal = quoted(&refusals.join("\n"));
        message.push_str(&format!(r#","refusal":{refusal}"#));
    }
    if !calls.is_empty() {
        message.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    message + "}"
}

fn call_entry(call: &ToolCall) -> String {
    let id = id_member("id", &call.id);
    let name = quoted(&call.name);
    match &call.input {
        Input::Json(json) => format!(
            r#"{{{id}"type":"function","function":{{"name":{name},"arguments":{}}}}}"#,
            quoted(json)
        ),
        Input::Free(text) => format!(
            r#"{{{id}"type":"custom","custom":{{"name":{name},"input":{}}}}}"#,
            quoted(text)
        ),
    }
}

fn message_content(parts: &[Part]) -> String {
    content(parts, |part| match part {
        Part::Image(url) => format!(
            r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#,
            quoted(url)
        ),
        other => typed_text("text", other),
    })
}

/// The message of a chat completion.
fn history_message(reply: &str) -> Result<String, NoReply> {
    let choices = list_of(reply, "choices")?;
    let mut message = None;
    Cursor::new(choices.as_bytes()).array(|cursor| {
        let (mut index, mut found) = (None, None);
        cursor.object(|cursor, key| {
            match key {
                b"index" => index = Some(cursor.raw()?),
                b"message" if cursor.peek() == Some(b'{') => found = Some(cursor.skip()?),
                _ => {}
            }
            Ok(())
        })?;
        if matches!(index, None | Some(b"0" | b"null")) && message.is_none() {
            message = found;
        }
        Ok(())
    })?;
    let message = &choices[message.ok_or(NoReply::Absent("message"))?];
    let mut role = false;
    let message = without(message, |key, value| {
        role |= key == "role" && value != "null";
        match key {
            "content" => false,
            // Notes of the server, which requests do not know (OpenAI API reference, assistant message).
            "annotations" => true,
            // `[] is too short - 'messages.1.tool_calls'`.
            "tool_calls" => {
                value == "null" || (value.starts_with('[') && elements(value).is_empty())
            }
            _ => value == "null",
        }
    })?;
    Ok(match (role, message.strip_prefix('{')) {
        (false, Some("}")) => r#"{"role":"assistant"}"#.to_owned(),
        (false, Some(members)) => format!("{{\"role\":\"assistant\",{members}"),
        _ => message,
    })
}
