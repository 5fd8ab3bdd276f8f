//! Anthropic Messages: messages of content blocks; calls and outputs are blocks (Anthropic API reference, and the
//! provider's own error texts).

mod decode;
mod read;
mod reply;

use super::blocks;
use super::chat;
use super::codec::{Codec, TextDelta, content, id_member};
use super::edit::has_member;
use super::facts::{
    CallIds, Facts, Family as Wire, IdsNeeded, NameRules, OutputPlacement, Repeats, RequestUnit,
    Schemas, ServerState,
};
use super::faults::ShapeFault;
use super::fields::Fields;
use super::history::{NoReply, list_of};
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::{Object, elements, list, quoted};
use super::stream::{Decoder, EventSummary, input_of, text};
use super::turn::{Part, inline_data};
use crate::json::{Cursor, Result};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Family, Fragment, Item, Kind, MessageRole, OutputSchema, Span};
use read::fault_of_block;
pub use read::read_message;
use serde_json::{Value, json};

pub(crate) const FACTS: Facts = Facts {
    dialect: Dialect::Anthropic,
    word: "anthropic",
    vendor: "Anthropic",
    title: "Anthropic",
    history_title: "Anthropic messages",
    format: "anthropic-messages",
    family: Wire::Anthropic,
    base_url: "https://api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    path: "messages",
    sdk_base: "",
    key_header: ("x-api-key", ""),
    // Later versions refuse members that recorded requests hold (`temperature`).
    headers: &[("anthropic-version", "2023-06-01")],
    instructions_key: Some("system"),
    calls_key: Some("content"),
    legacy_call_key: None,
    schema_key: "input_schema",
    own_members: &["model", "messages", "system", "tools", "stream"],
    limit_keys: &["max_tokens"],
    default_limit: Some(4096),
    tells_usage_last: false,
    formats: &[&["output_config", "format"], &["output_format"]],
    heartbeat: "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    has_blocks: true,
    server_state: ServerState::Threads,
    call_prefix: "toolu_",
    unit: RequestUnit::Role,
    call_marks: &["\"tool_use\""],
    // A whole reply is a message.
    reply_key: None,
    stop_paths: &[&["stop_reason"]],
    early_stops: &["max_tokens", "model_context_window_exceeded", "refusal"],
    input_counts: &[
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ],
    output_counts: &["output_tokens"],
    total_count: None,
    names: NameRules {
        longest: 128,
        extra: b"",
    },
    schemas: Schemas {
        barred: &["oneOf", "anyOf", "allOf"],
        needs_items: false,
        is_checked: true,
        needs_type: true,
        takes_empty: false,
        limits_keys: true,
        is_needed: true,
        has_upper_case_types: false,
    },
    call_ids: CallIds {
        // It names no limit; nothing that is longer than the longest of the others comes from a provider.
        longest: 64,
        plain: true,
        needed: IdsNeeded::Both,
        repeats: Repeats::None,
    },
    placement: OutputPlacement::FirstInNextMessage,
    refuses_repeated_tools: true,
    object_arguments: true,
    needs_arguments: true,
    plain_outputs: false,
    mixes_outputs: true,
    splits_texts: true,
    images_in_outputs: true,
    marks_errors: true,
    marks_refusals: false,
    blank_texts: false,
    custom_tools: false,
    keeps_reasoning: true,
    signs_reasoning: true,
    pairs_hosted_results: true,
    opens_with_user: true,
    refuses_tool_role: true,
    caps_many_images: true,
    model_word: Some("claude"),
    is_common: false,
    tells_cut_late: true,
    ..chat::FACTS
};

/// Adds a prompt or an input that is a member of a request: a text, or a list of blocks.
pub(crate) fn push_member(kind: Kind, span: Span, out: &mut Fragment) {
    blocks::push_member(kind, FACTS.dialect, span, out);
}

pub(crate) struct Anthropic;

impl Codec for Anthropic {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read_element(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_message(cursor, base, out).map(|_| ())
    }

    fn fault(&self, item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
        if item.kind == Kind::Other {
            return Some(ShapeFault::UnknownRole);
        }
        let mut cursor = Cursor::new(bytes);
        if cursor.peek() == Some(b'"') {
            return Some(ShapeFault::EmptyMessage);
        }
        // The bytes were walked without a fault when the item was read.
        let fields = Fields::read(&mut cursor).ok()?;
        match fields.role.is_some() {
            true => Some(ShapeFault::EmptyMessage),
            false => fault_of_block(bytes, &fields),
        }
    }

    fn block(&self, part: &Part) -> String {
        match part {
            Part::Image(url) => {
                let source = match inline_data(url) {
                    Some((media_type, data)) => format!(
                        r#"{{"type":"base64","media_type":{},"data":{}}}"#,
                        quoted(media_type),
                        quoted(data)
                    ),
                    None => format!(r#"{{"type":"url","url":{}}}"#, quoted(url)),
                };
                format!(r#"{{"type":"image","source":{source}}}"#)
            }
            Part::Call(call) => {
                let id = id_member("id", &call.id);
                let (name, input) = (quoted(&call.name), call.input.as_object());
                format!(r#"{{"type":"tool_use",{id}"name":{name},"input":{input}}}"#)
            }
            Part::Result(result) => {
                let id = id_member("tool_use_id", &result.id);
                let content = content(&result.content, |part| self.block(part));
                // `content cannot be empty if is_error is true` (inspect_ai#169).
                let mark = match result.is_error && !result.content.is_empty() {
                    true => r#","is_error":true"#,
                    false => "",
                };
                format!(r#"{{"type":"tool_result",{id}"content":{content}{mark}}}"#)
            }
            Part::Text(text) | Part::Refusal(text) | Part::Json(text) | Part::Other(text) => {
                self.text_block(text)
            }
        }
    }

    /// A message with one text holds it as a string.
    fn message(&self, role: MessageRole, text: &str) -> String {
        let text = quoted(text);
        format!(r#"{{"role":"{}","content":{text}}}"#, role.word())
    }

    fn output(&self, _: &Item, id: &str, _: &str, text: &str, is_error: bool) -> Option<String> {
        let text = quoted(text);
        let mark = if is_error { r#","is_error":true"# } else { "" };
        Some(format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":{text}{mark}}}"#
        ))
    }

    fn call_id_key(&self, item: &Item, _: &[u8]) -> Result<(&'static str, bool)> {
        let is_output = matches!(item.kind, Kind::Output | Kind::HostedOutput);
        Ok((if is_output { "tool_use_id" } else { "id" }, false))
    }

    fn arguments_key(&self, _: bool) -> &'static str {
        "input"
    }

    fn output_members(
        &self,
        output: &Item,
        bytes: &[u8],
        text: &str,
        is_error: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        if output.family != Family::Function {
            return Ok(Vec::new());
        }
        let mut members = vec![("content", quoted(text))];
        if is_error || has_member(bytes, b"is_error")? {
            members.push(("is_error", is_error.to_string()));
        }
        Ok(members)
    }

    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value) {
        let format = json!({"type": "json_schema", "schema": output.schema});
        ("output_config", json!({"format": format}))
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        let content = list_of(reply, "content")?;
        Ok(vec![format!(
            "{{\"role\":\"assistant\",\"content\":{content}}}"
        )])
    }

    fn encode_reply(&self, reply: &NewReply) -> String {
        reply::whole(reply, input_of)
    }

    fn encode_for_stream(&self, reply: &NewReply) -> String {
        reply::whole(reply, quoted)
    }

    /// There is no place for a code of its own; clients pass over what they do not know.
    fn error(&self, status: u16, message: &str, code: Option<&str>, tag: &str) -> Value {
        let mut error = json!({
            "type": "error",
            "error": {"type": error_type(status), "message": message},
            "request_id": format!("req_{tag}"),
        });
        if let Some(code) = code {
            error["error"]["code"] = code.into();
        }
        error
    }

    fn failure(&self, message: &str) -> NewEvent {
        NewEvent::named(&json!({
            "type": "error",
            "error": {"type": "overloaded_error", "message": message},
        }))
    }

    fn final_message(&self, text: &str) -> String {
        let block = self.text_block(text);
        format!(r#"{{"role":"assistant","content":[{block}]}}"#)
    }

    /// The message without its first blocks.
    fn unsent_message(&self, sent: &str, message: &str) -> Option<String> {
        let sent = Object::read(sent);
        let blocks = elements(sent.get("content").unwrap_or_default()).len();
        let mut left = Object::read(message);
        let content = left
            .get("content")
            .filter(|content| content.starts_with('['));
        let content = content.map(elements).unwrap_or_default();
        let content = content.get(blocks..).unwrap_or_default();
        if content.is_empty() {
            return None;
        }
        let content = list(content);
        left.set("content", content);
        Some(left.json())
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        reply::reply_with(template, elements, usage)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::AnthropicStream::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        matches!(
            text(event, "type"),
            "message_start"
                | "content_block_start"
                | "content_block_delta"
                | "content_block_stop"
                | "message_delta"
                | "message_stop"
        )
    }

    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e> {
        let mut found = TextDelta::default();
        let delta = match text(event, "type") {
            "content_block_delta" => event.get("delta"),
            "content_block_start" => event.get("content_block"),
            _ => None,
        };
        let Some(delta) = delta else { return found };
        match text(delta, "type") {
            "text" | "text_delta" => found.text = text(delta, "text"),
            "thinking" | "thinking_delta" => found.reasoning = text(delta, "thinking"),
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

/// Anthropic API reference, errors.
fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
