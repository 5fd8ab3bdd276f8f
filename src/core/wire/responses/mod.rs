//! OpenAI Responses: a flat list of typed items. Types are those of the OpenAI API reference (`responses`,
//! openapi 2.3.0).

mod decode;
mod events;
mod read;
mod reply;

use super::chat;
use super::codec::{Codec, InsertedCalls, TextDelta, content, id_member, schema_name, typed_text};
use super::edit::has_member;
use super::facts::{
    CallIds, Facts, IdsNeeded, NameRules, OutputPlacement, Repeats, RequestUnit, ServerState,
};
use super::faults::ShapeFault;
use super::fields::Fields;
use super::history::{NoReply, list_of, without};
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::quoted;
use super::stream::{Decoder, EventSummary, text};
use super::turn::{Element, Input, Part, Role, ToolCall, ToolResult};
use crate::json::{Cursor, Result};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Family, Fragment, Item, Kind, OutputSchema, Patch};
use read::{CONTENT_TYPES, fault_of_item};
pub use read::{push_item, read_item};
use serde_json::{Map, Value, json};
use std::ops::Range;

pub(crate) const FACTS: Facts = Facts {
    dialect: Dialect::Responses,
    word: "responses",
    title: "OpenAI Responses",
    history_title: "Responses items",
    format: "openai-responses",
    path: "responses",
    history_key: "input",
    holders: &["input", "items", "output"],
    instructions_key: Some("instructions"),
    calls_key: None,
    legacy_call_key: None,
    content_types: CONTENT_TYPES,
    plain_outputs: false,
    own_members: &["model", "input", "instructions", "tools", "stream"],
    limit_keys: &["max_output_tokens"],
    tells_usage_last: false,
    formats: &[&["text", "format"]],
    has_status: true,
    repeats_tools: true,
    numbers_events: true,
    server_state: ServerState::Replies,
    unit: RequestUnit::Item,
    call_marks: &["_call\"", "\"program\""],
    reply_key: Some(("output", b'[')),
    stop_paths: &[&["incomplete_details", "reason"]],
    early_stops: &["max_output_tokens", "content_filter"],
    input_counts: &["input_tokens"],
    output_counts: &["output_tokens"],
    // `FunctionToolParam`
    names: NameRules {
        longest: 128,
        extra: b"",
    },
    call_ids: CallIds {
        longest: 64,
        plain: false,
        // `call_id` of outputs is nullable since 2026.
        needed: IdsNeeded::Call,
        repeats: Repeats::AnsweredOrSame,
    },
    placement: OutputPlacement::Behind,
    images_in_outputs: true,
    marks_refusals: false,
    made_custom_calls: true,
    namespaces: true,
    keeps_reasoning: true,
    item_ids: true,
    is_common: false,
    ..chat::FACTS
};

pub(crate) struct Responses;

impl Codec for Responses {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read_element(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_item(cursor, base, out)
    }

    fn fault(&self, item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
        let mut cursor = Cursor::new(bytes);
        if cursor.peek() == Some(b'"') {
            return None;
        }
        // The bytes were walked without a fault when the item was read.
        let fields = Fields::read(&mut cursor).ok()?;
        fault_of_item(bytes, &fields, item.kind, item.family)
    }

    fn takes_unknown(&self, fields: &Fields<'_>) -> bool {
        fields.kind.is_some_and(|kind| kind != b"message") || fields.role.is_some()
    }

    /// What the model said is a message for each text: only a message with the id that the provider gave it has
    /// parts of type `output_text` or `refusal` (`EasyInputMessage`, OpenAI API reference).
    fn write_element(&self, element: &Element) -> Vec<String> {
        let role = element.role.word();
        let message = |content: String| {
            format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#)
        };
        let parts = element.parts.iter();
        match element.role {
            Role::Model | Role::Tool => parts
                .filter_map(|part| match part {
                    Part::Call(call) => Some(call_item(call)),
                    Part::Result(result) => Some(output_item(result)),
                    part => part.text().map(|text| message(quoted(text))),
                })
                .collect(),
            Role::System | Role::Developer | Role::User => {
                vec![message(message_content(&element.parts))]
            }
        }
    }

    /// Output types of the OpenAI API reference, by the type of their call.
    fn output(&self, call: &Item, id: &str, _: &str, text: &str, is_error: bool) -> Option<String> {
        let text = quoted(text);
        let of_type = |kind: &str, output: &str| {
            format!(r#"{{"type":"{kind}","call_id":"{id}","output":{output}}}"#)
        };
        match call.family {
            Family::Function => Some(of_type("function_call_output", &text)),
            Family::Custom => Some(of_type("custom_tool_call_output", &text)),
            Family::ApplyPatch => {
                let status = status(is_error);
                Some(format!(
                    r#"{{"type":"apply_patch_call_output","call_id":"{id}","status":{status},"output":{text}}}"#
                ))
            }
            Family::LocalShell => Some(format!(
                r#"{{"type":"local_shell_call_output","id":"{id}","output":{text}}}"#
            )),
            Family::Shell => Some(of_type("shell_call_output", &shell_result(&text, is_error))),
            Family::None
            | Family::Computer
            | Family::ToolSearch
            | Family::Program
            | Family::Legacy
            | Family::Hosted
            | Family::Approval => None,
        }
    }

    fn insert_calls(
        &self,
        bytes: &[u8],
        at: Range<usize>,
        calls: &[ToolCall],
        left: &str,
    ) -> Result<InsertedCalls> {
        let mut calls = calls.iter().map(call_item);
        let mut inserted = match left {
            "" => InsertedCalls::whole(bytes, calls.next().unwrap_or_default()),
            text => {
                let with = quoted(text).into_bytes();
                InsertedCalls {
                    patches: vec![Patch { at, with }],
                    after: Vec::new(),
                }
            }
        };
        inserted.after = calls.collect();
        Ok(inserted)
    }

    fn call_id_key(&self, item: &Item, bytes: &[u8]) -> Result<(&'static str, bool)> {
        let key = match (item.family, item.kind) {
            (Family::LocalShell, _) if has_member(bytes, b"call_id")? => "call_id",
            (Family::LocalShell, _) | (_, Kind::ApprovalRequest) => "id",
            (_, Kind::ApprovalResponse) => "approval_request_id",
            _ => "call_id",
        };
        Ok((key, false))
    }

    fn output_members(
        &self,
        output: &Item,
        bytes: &[u8],
        text: &str,
        is_error: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        let text = quoted(text);
        let mut members = match output.family {
            Family::Function | Family::Custom | Family::LocalShell | Family::ApplyPatch => {
                vec![("output", text)]
            }
            Family::Shell => return Ok(vec![("output", shell_result(&text, is_error))]),
            _ => return Ok(Vec::new()),
        };
        // Of the other types none has a status for a failure.
        let says_so = !is_error || output.family == Family::ApplyPatch;
        if says_so && has_member(bytes, b"status")? {
            members.push(("status", status(is_error).to_owned()));
        }
        Ok(members)
    }

    fn tool(&self, of_type: &'static str, members: Map<String, Value>) -> Value {
        let mut tool = Map::new();
        tool.insert("type".to_owned(), of_type.into());
        tool.extend(members);
        tool.into()
    }

    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value) {
        let (name, schema) = (schema_name(output), &output.schema);
        let format = json!({"type": "json_schema", "name": name, "schema": schema});
        ("text", json!({"format": format}))
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        let output = list_of(reply, "output")?;
        let mut items = Vec::new();
        Cursor::new(output.as_bytes()).array(|cursor| {
            let item = cursor.skip()?;
            // `status` is an enumeration in a request; servers that do not fill it send null.
            let item = without(&output[item], |key, value| {
                key == "status" && value == "null"
            })?;
            items.push(item);
            Ok(())
        })?;
        Ok(items)
    }

    fn holds_refusal(&self, reply: &Value) -> bool {
        let items = reply["output"].as_array().into_iter().flatten();
        let parts = items.filter_map(|item| item["content"].as_array());
        parts.flatten().any(|part| part["type"] == "refusal")
    }

    fn encode_reply(&self, reply: &NewReply) -> String {
        reply::whole(reply).to_string()
    }

    fn failure(&self, message: &str) -> NewEvent {
        NewEvent::named(&json!({
            "type": "error", "code": "server_error", "message": message, "param": null,
        }))
    }

    fn final_message(&self, text: &str) -> String {
        let text = quoted(text);
        let part = format!(r#"{{"type":"output_text","text":{text},"annotations":[]}}"#);
        format!(
            r#"{{"id":"msg_retake","type":"message","status":"completed","role":"assistant","content":[{part}]}}"#
        )
    }

    fn unsent(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        turn.get(sent.len()..).unwrap_or_default().to_vec()
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        reply::reply_with(template, elements, usage)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesStream::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        text(event, "type").starts_with("response.")
    }

    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e> {
        let mut found = TextDelta::default();
        match text(event, "type") {
            "response.output_text.delta" | "response.refusal.delta" => {
                found.text = text(event, "delta");
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                found.reasoning = text(event, "delta");
            }
            _ => {}
        }
        found
    }

    fn classify<'e>(&self, event: &mut Cursor<'e>) -> Result<EventSummary<'e>> {
        decode::classify(event)
    }

    fn encode_stream(&self, rest: &StreamRest<'_>) -> Vec<NewEvent> {
        reply::stream(rest)
    }
}

/// The status of an output, as JSON.
fn status(is_error: bool) -> &'static str {
    match is_error {
        true => "\"failed\"",
        false => "\"completed\"",
    }
}

fn call_item(call: &ToolCall) -> String {
    let id = id_member("call_id", &call.id);
    let name = quoted(&call.name);
    match &call.input {
        Input::Json(json) => format!(
            r#"{{"type":"function_call",{id}"name":{name},"arguments":{}}}"#,
            quoted(json)
        ),
        Input::Free(text) => format!(
            r#"{{"type":"custom_tool_call",{id}"name":{name},"input":{}}}"#,
            quoted(text)
        ),
    }
}

fn output_item(result: &ToolResult) -> String {
    let of_type = match result.is_custom {
        true => "custom_tool_call_output",
        false => "function_call_output",
    };
    let id = id_member("call_id", &result.id);
    let content = message_content(&result.content);
    format!(r#"{{"type":"{of_type}",{id}"output":{content}}}"#)
}

/// One text by itself, or a list of parts.
fn message_content(parts: &[Part]) -> String {
    content(parts, |part| match part {
        Part::Image(url) => format!(
            r#"{{"type":"input_image","detail":"auto","image_url":{}}}"#,
            quoted(url)
        ),
        other => typed_text("input_text", other),
    })
}

/// The result of a shell call with one text; `text` is quoted.
fn shell_result(text: &str, is_error: bool) -> String {
    let (stdout, stderr, code) = if is_error {
        (r#""""#, text, 1)
    } else {
        (text, r#""""#, 0)
    };
    format!(
        r#"[{{"stdout":{stdout},"stderr":{stderr},"outcome":{{"type":"exit","exit_code":{code}}}}}]"#
    )
}
