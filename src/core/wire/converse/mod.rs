//! Bedrock's `Converse`: messages of blocks, each known by its member; calls and outputs are blocks (Amazon Bedrock
//! API reference, `Converse` and `ConverseStream`, and the provider's own error texts).

mod decode;
mod read;
mod reply;

use super::blocks;
use super::chat;
use super::codec::{Codec, TextDelta, id_member, named, schema_name};
use super::facts::{
    CallIds, Facts, Family as Wire, IdsNeeded, Methods, NameRules, OutputPlacement, Repeats,
    RequestUnit, Schemas,
};
use super::faults::ShapeFault;
use super::fields::Fields;
use super::head::RequestHead;
use super::history::NoReply;
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::{Object, elements, list, quoted};
use super::stream::{Decoder, EventSummary, FRAMES, is_exception, text, typed_event};
use super::turn::{Part, inline_data};
use crate::json::{Cursor, Result};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Fact, Fragment, Item, Kind, MessageRole, OutputSchema, Span};
pub use read::read_message;
use read::{BlockFields, fault_of_block};
use serde_json::{Map, Value, json};

pub(crate) const FACTS: Facts = Facts {
    dialect: Dialect::Converse,
    word: "converse",
    vendor: "Bedrock",
    title: "Bedrock Converse",
    history_title: "Converse messages",
    format: "bedrock-converse",
    family: Wire::Amazon,
    base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
    // Requests are not signed (SigV4): the keys are those of Bedrock itself.
    key_variable: "AWS_BEARER_TOKEN_BEDROCK",
    path: "model",
    methods: Some(Methods {
        whole: "converse",
        streamed: "converse-stream",
        separator: '/',
        query: "",
    }),
    version: "",
    stream_type: FRAMES,
    sdk_base: "",
    instructions_key: Some("system"),
    calls_key: Some("content"),
    legacy_call_key: None,
    tools_member: [r#""toolConfig":{"tools":["#, "]}"],
    no_tools: "",
    schema_key: "inputSchema",
    own_members: &[
        "model",
        "modelId",
        "messages",
        "system",
        "toolConfig",
        "stream",
    ],
    settings_key: Some("inferenceConfig"),
    limit_keys: &["maxTokens"],
    tells_usage_last: false,
    formats: &[],
    // A type that no SDK knows.
    heartbeat: "data: {\"ping\":{}}\n\n",
    has_blocks: true,
    call_prefix: "tooluse_",
    unit: RequestUnit::Role,
    call_marks: &["\"toolUse\""],
    reply_key: Some(("output", b'{')),
    stop_paths: &[&["stopReason"]],
    early_stops: &[
        "max_tokens",
        "model_context_window_exceeded",
        "content_filtered",
        "guardrail_intervened",
        "malformed_model_output",
        "malformed_tool_use",
    ],
    input_counts: &[
        "inputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
    ],
    output_counts: &["outputTokens"],
    total_count: Some("totalTokens"),
    // `ToolName`
    names: NameRules {
        longest: 64,
        extra: b"",
    },
    schemas: Schemas {
        barred: &[],
        needs_items: false,
        is_checked: true,
        needs_type: true,
        takes_empty: false,
        limits_keys: false,
        is_needed: true,
        has_upper_case_types: false,
    },
    call_ids: CallIds {
        longest: 64,
        plain: true,
        needed: IdsNeeded::Both,
        repeats: Repeats::Answered,
    },
    placement: OutputPlacement::NextTurn,
    refuses_repeated_tools: true,
    object_arguments: true,
    needs_arguments: true,
    plain_outputs: false,
    mixes_outputs: true,
    images_in_outputs: true,
    marks_errors: true,
    marks_refusals: false,
    blank_texts: false,
    custom_tools: false,
    keeps_reasoning: true,
    opens_with_user: true,
    refuses_tool_role: true,
    is_common: false,
    tells_cut_late: true,
    ..chat::FACTS
};

pub(crate) struct Converse;

impl Codec for Converse {
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
        // The bytes were walked without a fault when the item was read.
        match Fields::read(&mut Cursor::new(bytes)).ok()?.role.is_some() {
            true => Some(ShapeFault::EmptyMessage),
            false => fault_of_block(bytes, &BlockFields::read(&mut Cursor::new(bytes)).ok()?),
        }
    }

    /// A block is known by its member.
    fn unknown_type(&self, bytes: &[u8]) -> String {
        let json = String::from_utf8_lossy(bytes);
        let block = Object::read(&json);
        let first = block.members().next().map(|(key, _)| key);
        named("block", first.unwrap_or_default().as_bytes())
    }

    fn takes_unknown(&self, _: &Fields<'_>) -> bool {
        true
    }

    fn block(&self, part: &Part) -> String {
        match part {
            Part::Image(url) => image(url).unwrap_or_else(|| self.text_block(url)),
            Part::Call(call) => {
                let id = id_member("toolUseId", &call.id);
                let (name, input) = (quoted(&call.name), call.input.as_object());
                format!(r#"{{"toolUse":{{{id}"name":{name},"input":{input}}}}}"#)
            }
            Part::Result(result) => {
                let id = id_member("toolUseId", &result.id);
                let content = result.content.iter().map(|part| match part {
                    Part::Json(json) if json.starts_with('{') => format!(r#"{{"json":{json}}}"#),
                    part => self.block(part),
                });
                let content = list(&content.collect::<Vec<_>>());
                let status = status(result.is_error);
                format!(r#"{{"toolResult":{{{id}"content":{content},"status":{status}}}}}"#)
            }
            Part::Text(text) | Part::Refusal(text) | Part::Json(text) | Part::Other(text) => {
                self.text_block(text)
            }
        }
    }

    fn message(&self, role: MessageRole, text: &str) -> String {
        FACTS.message_of(role.word(), &self.text_block(text))
    }

    fn text_block(&self, text: &str) -> String {
        format!(r#"{{"text":{}}}"#, quoted(text))
    }

    fn output(&self, _: &Item, id: &str, _: &str, text: &str, is_error: bool) -> Option<String> {
        let (block, status) = (self.text_block(text), status(is_error));
        Some(format!(
            r#"{{"toolResult":{{"toolUseId":"{id}","content":[{block}],"status":{status}}}}}"#
        ))
    }

    fn envelopes(&self, kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Call | Kind::HostedCall => &["toolUse"],
            Kind::Output | Kind::HostedOutput => &["toolResult"],
            Kind::Reasoning => &["reasoningContent", "reasoningText"],
            _ => &[],
        }
    }

    fn call_id_key(&self, _: &Item, _: &[u8]) -> Result<(&'static str, bool)> {
        Ok(("toolUseId", true))
    }

    fn arguments_key(&self, _: bool) -> &'static str {
        "input"
    }

    fn output_members(
        &self,
        _: &Item,
        _: &[u8],
        text: &str,
        is_error: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![
            ("content", list(&[self.text_block(text)])),
            ("status", status(is_error).to_owned()),
        ])
    }

    fn tool(&self, _: &'static str, mut members: Map<String, Value>) -> Value {
        if let Some(schema) = members.get_mut(FACTS.schema_key) {
            *schema = json!({"json": schema.take()});
        }
        json!({ "toolSpec": members })
    }

    fn instructions(&self, text: &str) -> String {
        list(&[self.text_block(text)])
    }

    /// The schema is the text of one.
    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value) {
        let (name, schema) = (schema_name(output), output.schema.to_string());
        let structure = json!({"jsonSchema": {"name": name, "schema": schema}});
        let format = json!({"type": "json_schema", "structure": structure});
        ("outputConfig", json!({"textFormat": format}))
    }

    fn read_setting(
        &self,
        head: &mut RequestHead,
        cursor: &mut Cursor<'_>,
        key: &[u8],
    ) -> Result<()> {
        match key {
            b"toolConfig" => {
                cursor.object(|cursor, key| match key {
                    b"tools" => head.read_tools(cursor),
                    _ => Ok(()),
                })?;
            }
            b"outputConfig" => {
                cursor.object(|cursor, key| {
                    if key == b"textFormat" && cursor.peek() == Some(b'{') {
                        // No value of the schema is here, only its text.
                        (head.wants_json, head.has_output_schema) = (true, true);
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn note_member(
        &self,
        key: &[u8],
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<bool> {
        match key {
            b"modelId" => {
                if let Some(model) = cursor.string()? {
                    out.note_model(model);
                }
                out.note(Fact::Request);
            }
            b"toolConfig" => {
                cursor.object(|cursor, key| {
                    if key == b"tools" && cursor.peek() == Some(b'[') {
                        out.note(Fact::Tools(Span::within(base, cursor.skip()?)));
                    }
                    Ok(())
                })?;
                out.note(Fact::Request);
            }
            b"system" if is_prompt(&mut cursor.clone())? => {
                let span = Span::within(base, cursor.skip()?);
                blocks::push_member(Kind::System, Dialect::Converse, span, out);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_reply(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        cursor.object(|cursor, key| match key {
            b"message" => self.read_element(cursor, base, out),
            _ => Ok(()),
        })?;
        Ok(())
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        // What is no JSON is reported as such.
        crate::json::skip_value(reply.as_bytes(), 0)?;
        let message = reply::message_of(reply).ok_or(NoReply::Absent("output"))?;
        let content = reply::content_of(&message);
        Ok(vec![format!(
            r#"{{"role":"assistant","content":{content}}}"#
        )])
    }

    fn encode_reply(&self, reply: &NewReply) -> String {
        reply::whole(reply)
    }

    fn error(&self, status: u16, message: &str, code: Option<&str>, _: &str) -> Value {
        let mut error = json!({"__type": error_type(status), "message": message});
        if let Some(code) = code {
            error["code"] = code.into();
        }
        error
    }

    fn failure(&self, message: &str) -> NewEvent {
        let data = json!({"modelStreamErrorException": {"message": message}});
        NewEvent {
            name: None,
            data: data.to_string(),
        }
    }

    /// The message without its first blocks.
    fn unsent_message(&self, sent: &str, message: &str) -> Option<String> {
        let (sent, content) = (reply::content_of(sent), reply::content_of(message));
        let blocks = elements(&content);
        let left = blocks.get(elements(&sent).len()..).unwrap_or_default();
        let mut message = Object::read(message);
        let content = list(left);
        message.set("content", content);
        (!left.is_empty()).then(|| message.json())
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        reply::reply_with(template, elements, usage)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ConverseStream::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        typed_event(event).is_some_and(|(kind, value)| {
            let is_one = match kind {
                "messageStart" | "contentBlockStart" | "contentBlockDelta" | "contentBlockStop"
                | "messageStop" => true,
                "metadata" => value.get("usage").is_some(),
                kind => is_exception(kind),
            };
            is_one && value.is_object()
        })
    }

    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e> {
        let delta = event.pointer("/contentBlockDelta/delta");
        let delta = delta.unwrap_or(&Value::Null);
        TextDelta {
            text: text(delta, "text"),
            reasoning: text(
                delta.get("reasoningContent").unwrap_or(&Value::Null),
                "text",
            ),
        }
    }

    fn classify<'e>(&self, event: &mut Cursor<'e>) -> Result<EventSummary<'e>> {
        decode::classify(event)
    }

    fn encode_stream(&self, rest: &StreamRest<'_>) -> Vec<NewEvent> {
        reply::stream(rest)
    }
}

/// A picture that the provider takes: data, or an object in its own store.
fn image(url: &str) -> Option<String> {
    let (format, source) = match inline_data(url) {
        Some((media_type, data)) => {
            let format = media_type.strip_prefix("image/")?;
            (format, format!(r#"{{"bytes":{}}}"#, quoted(data)))
        }
        None => {
            let (_, format) = url.strip_prefix("s3://")?.rsplit_once('.')?;
            (
                format,
                format!(r#"{{"s3Location":{{"uri":{}}}}}"#, quoted(url)),
            )
        }
    };
    let format = quoted(&format.replace("jpg", "jpeg"));
    Some(format!(
        r#"{{"image":{{"format":{format},"source":{source}}}}}"#
    ))
}

/// Whether the value at the cursor is a list of blocks that name no type, as those of Anthropic do.
fn is_prompt(cursor: &mut Cursor<'_>) -> Result<bool> {
    let mut is_prompt = false;
    if cursor.peek() == Some(b'[') {
        cursor.array(|cursor| {
            is_prompt = cursor.peek() == Some(b'{') && Fields::read(cursor)?.kind.is_none();
            Ok(())
        })?;
    }
    Ok(is_prompt)
}

/// Whether a result is an error, as JSON.
fn status(is_error: bool) -> &'static str {
    if is_error { "\"error\"" } else { "\"success\"" }
}

/// The errors of `Converse` by their HTTP status.
fn error_type(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 | 529 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}
