//! Gemini's `generateContent`: contents of parts, each known by its member (Gemini API reference, `Content` and
//! `Part`, and the provider's own error texts). The API takes the names of members in camel case and in snake case.

mod decode;
mod read;
mod reply;

use super::blocks;
use super::chat;
use super::codec::{Codec, TextDelta, id_member, named, read_first};
use super::edit::has_member;
use super::facts::{
    CallIds, Facts, Family as Wire, IdsNeeded, Methods, NameRules, OutputPlacement, Repeats,
    RequestUnit, Schemas,
};
use super::faults::ShapeFault;
use super::fields::Fields;
use super::head::{RequestHead, count};
use super::history::{NoReply, list_of};
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::{Object, elements, list, quoted};
use super::stream::{Decoder, EventSummary, text};
use super::turn::{Part, inline_data, joined};
use crate::json::{Cursor, Result};
use crate::session::ledger::Usage;
use crate::session::{
    Dialect, Fact, Family, Fragment, Item, Kind, MessageRole, OutputSchema, Span,
};
use decode::first_candidate;
pub use read::read_content;
use read::{PartFields, fault_of_part};
use serde_json::{Map, Value, json};

pub(crate) const FACTS: Facts = Facts {
    dialect: Dialect::Gemini,
    word: "gemini",
    vendor: "Gemini",
    title: "Gemini",
    history_title: "Gemini contents",
    format: "gemini-contents",
    family: Wire::Google,
    base_url: "https://generativelanguage.googleapis.com",
    key_variable: "GEMINI_API_KEY",
    path: "models",
    methods: Some(Methods {
        whole: "generateContent",
        streamed: "streamGenerateContent",
        separator: ':',
        query: "alt=sse",
    }),
    version: "v1beta",
    other_at: Some(("/openai", Dialect::Chat)),
    sdk_base: "",
    key_header: ("x-goog-api-key", ""),
    history_key: "contents",
    holders: &["contents"],
    instructions_key: Some("systemInstruction"),
    prompt_parts: Some("parts"),
    model_role: "model",
    calls_key: Some("parts"),
    legacy_call_key: None,
    tools_member: [r#""tools":[{"functionDeclarations":["#, "]}]"],
    schema_key: "parametersJsonSchema",
    own_members: &["model", "contents", "systemInstruction", "tools", "stream"],
    settings_key: Some("generationConfig"),
    limit_keys: &["maxOutputTokens"],
    tells_usage_last: false,
    formats: &[],
    has_blocks: true,
    unit: RequestUnit::Role,
    call_marks: &["\"functionCall\"", "\"function_call\""],
    reply_key: Some(("candidates", b'[')),
    // A prompt that is blocked gets no candidate.
    stop_paths: &[
        &["candidates", "0", "finishReason"],
        &["promptFeedback", "blockReason"],
    ],
    // `FinishReason`, `BlockReason`
    early_stops: &[
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
    ],
    usage_key: "usageMetadata",
    input_counts: &["promptTokenCount", "toolUsePromptTokenCount"],
    output_counts: &["candidatesTokenCount", "thoughtsTokenCount"],
    total_count: Some("totalTokenCount"),
    names: NameRules {
        longest: 64,
        extra: b".:",
    },
    schemas: Schemas {
        barred: &[],
        needs_items: true,
        is_checked: false,
        needs_type: false,
        takes_empty: true,
        limits_keys: false,
        is_needed: false,
        has_upper_case_types: true,
    },
    call_ids: CallIds {
        longest: 64,
        plain: false,
        needed: IdsNeeded::Neither,
        repeats: Repeats::All,
    },
    placement: OutputPlacement::NextTurn,
    refuses_repeated_tools: true,
    object_arguments: true,
    names_outputs: true,
    plain_outputs: false,
    streams_objects: true,
    custom_tools: false,
    images_in_outputs: false,
    marks_errors: true,
    marks_refusals: false,
    blank_texts: false,
    keeps_reasoning: true,
    signs_calls: true,
    opens_with_user: true,
    model_word: Some("gemini"),
    is_common: false,
    ..chat::FACTS
};

/// The members that parts of calls and of their outputs are known by.
const PARTS_OF_CALLS: [&str; 8] = [
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];

pub(crate) struct Gemini;

impl Codec for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read_element(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_content(cursor, base, out).map(|_| ())
    }

    fn fault(&self, item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
        if item.kind == Kind::Other {
            return Some(ShapeFault::UnknownRole);
        }
        let is_content = memchr::memmem::find(bytes, b"\"parts\"").is_some();
        match is_content {
            true => Some(ShapeFault::EmptyMessage),
            false => fault_of_part(bytes, &PartFields::read(&mut Cursor::new(bytes)).ok()?),
        }
    }

    /// A part is known by its member.
    fn unknown_type(&self, bytes: &[u8]) -> String {
        let mut first = None;
        // The object was walked without a fault when it was read.
        let _ = Cursor::new(bytes).object(|_, key| {
            first.get_or_insert(key);
            Ok(())
        });
        named("part", first.unwrap_or_default())
    }

    fn takes_unknown(&self, _: &Fields<'_>) -> bool {
        true
    }

    fn is_signed(&self, part: &[u8]) -> bool {
        // A part that is no JSON was reported as such.
        let part = PartFields::read(&mut Cursor::new(part)).unwrap_or_default();
        part.signature
            .is_some_and(|signature| !signature.is_empty())
    }

    /// The instructions of a request are a content.
    fn is_prompt_message(&self, object: &[u8]) -> bool {
        // What is no JSON was reported as such.
        has_member(object, b"parts").unwrap_or(false)
    }

    fn block(&self, part: &Part) -> String {
        match part {
            Part::Image(url) => match inline_data(url) {
                Some((media_type, data)) => format!(
                    r#"{{"inlineData":{{"mimeType":{},"data":{}}}}}"#,
                    quoted(media_type),
                    quoted(data)
                ),
                None => format!(r#"{{"fileData":{{"fileUri":{}}}}}"#, quoted(url)),
            },
            Part::Call(call) => {
                let id = id_member("id", &call.id);
                let (name, args) = (quoted(&call.name), call.input.as_object());
                format!(r#"{{"functionCall":{{{id}"name":{name},"args":{args}}}}}"#)
            }
            Part::Result(result) => {
                let id = id_member("id", &result.id);
                let name = quoted(&result.name);
                let response = response(&quoted(&joined(&result.content)), result.is_error);
                format!(r#"{{"functionResponse":{{{id}"name":{name},"response":{response}}}}}"#)
            }
            Part::Text(text) | Part::Refusal(text) | Part::Json(text) | Part::Other(text) => {
                self.text_block(text)
            }
        }
    }

    fn message(&self, role: MessageRole, text: &str) -> String {
        let role = match role {
            MessageRole::User => "user",
            MessageRole::Assistant => FACTS.model_role,
        };
        FACTS.message_of(role, &self.text_block(text))
    }

    fn text_block(&self, text: &str) -> String {
        format!(r#"{{"text":{}}}"#, quoted(text))
    }

    fn output(&self, _: &Item, id: &str, name: &str, text: &str, is_error: bool) -> Option<String> {
        let id = match id {
            "" => String::new(),
            id => format!(r#""id":"{id}","#),
        };
        let (name, response) = (quoted(name), response(&quoted(text), is_error));
        Some(format!(
            r#"{{"functionResponse":{{{id}"name":{name},"response":{response}}}}}"#
        ))
    }

    fn envelopes(&self, kind: Kind) -> &'static [&'static str] {
        let is_of_call = matches!(
            kind,
            Kind::Call | Kind::Output | Kind::HostedCall | Kind::HostedOutput
        );
        if is_of_call { &PARTS_OF_CALLS } else { &[] }
    }

    fn call_id_key(&self, _: &Item, _: &[u8]) -> Result<(&'static str, bool)> {
        Ok(("id", true))
    }

    fn arguments_key(&self, _: bool) -> &'static str {
        "args"
    }

    fn output_members(
        &self,
        output: &Item,
        _: &[u8],
        text: &str,
        is_error: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        let has_text = matches!(output.family, Family::Function | Family::Legacy);
        let members = has_text.then(|| ("response", response(&quoted(text), is_error)));
        Ok(members.into_iter().collect())
    }

    /// There is a mode of calling for all tools instead of `strict`.
    fn tool(&self, _: &'static str, mut members: Map<String, Value>) -> Value {
        members.shift_remove("strict");
        members.into()
    }

    fn instructions(&self, text: &str) -> String {
        format!(r#"{{"parts":[{}]}}"#, self.text_block(text))
    }

    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value) {
        let schema = &output.schema;
        let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
        ("generationConfig", config)
    }

    fn read_setting(
        &self,
        head: &mut RequestHead,
        cursor: &mut Cursor<'_>,
        key: &[u8],
    ) -> Result<()> {
        if !is_config(key) {
            return Ok(());
        }
        cursor.object(|cursor, key| {
            match key {
                b"seed" => head.seed = Some(cursor.skip()?),
                b"responseMimeType" | b"response_mime_type" => {
                    head.wants_json |= cursor.string()? == Some(b"application/json");
                }
                key if is_schema(key) && cursor.peek() == Some(b'{') => {
                    (head.wants_json, head.has_output_schema) = (true, true);
                    head.output_schema = Some(cursor.skip()?);
                }
                b"candidateCount" | b"candidate_count" => head.choices = count(cursor.raw()?),
                _ => {}
            }
            Ok(())
        })?;
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
            b"modelVersion" | b"model_version" => {
                if let Some(model) = cursor.string()? {
                    out.note_model(model);
                }
                out.note(Fact::Reply);
            }
            b"usageMetadata" => out.note(Fact::Reply),
            key if is_config(key) => {
                cursor.object(|cursor, key| {
                    if is_schema(key) {
                        out.note(Fact::OutputSchema(Span::within(base, cursor.skip()?)));
                    }
                    Ok(())
                })?;
            }
            // The contents that are cached come before those of the request.
            b"cachedContent" | b"cached_content" => {
                if cursor.peek() == Some(b'"') {
                    out.note(Fact::ServerState);
                }
            }
            b"systemInstruction" | b"system_instruction" => {
                if cursor.peek() != Some(b'n') {
                    let span = Span::within(base, cursor.skip()?);
                    blocks::push_member(Kind::System, Dialect::Gemini, span, out);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_reply(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
        read_first(self, b"content", cursor, base, out)
    }

    /// The content of the first candidate; none where a prompt was blocked, or a candidate has none.
    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        let candidates = match list_of(reply, "candidates") {
            Err(NoReply::Absent(_)) if has_member(reply.as_bytes(), b"promptFeedback")? => {
                return Ok(Vec::new());
            }
            candidates => candidates?,
        };
        let (mut contents, mut is_first) = (Vec::new(), true);
        Cursor::new(candidates.as_bytes()).array(|cursor| {
            let is_taken = std::mem::replace(&mut is_first, false);
            cursor.object(|cursor, key| {
                if is_taken && key == b"content" && cursor.peek() == Some(b'{') {
                    contents.push(&candidates[cursor.skip()?]);
                }
                Ok(())
            })?;
            Ok(())
        })?;
        contents.into_iter().map(with_role).collect()
    }

    fn encode_reply(&self, reply: &NewReply) -> String {
        reply::whole(reply)
    }

    /// The shape of Google's APIs (AIP-193). A code of its own is as the reason in the details.
    fn error(&self, status: u16, message: &str, code: Option<&str>, _: &str) -> Value {
        let mut error = json!({"code": status, "message": message, "status": error_status(status)});
        if let Some(code) = code {
            let kind = "type.googleapis.com/google.rpc.ErrorInfo";
            error["details"] = json!([{"@type": kind, "reason": code}]);
        }
        json!({ "error": error })
    }

    /// The content without its first parts, and without the beginning of a text.
    fn unsent_message(&self, sent: &str, message: &str) -> Option<String> {
        let sent = Object::read(sent);
        let sent = elements(sent.get("parts").unwrap_or_default());
        let mut content = Object::read(message);
        let parts = elements(content.get("parts").unwrap_or_default());
        let left = reply::unsent_parts(&sent, &parts);
        if left.is_empty() {
            return None;
        }
        let left = list(&left);
        content.set("parts", left);
        Some(content.json())
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        reply::reply_with(template, elements, usage)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::GeminiStream::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        event.get("candidates").is_some_and(Value::is_array)
            || event.get("promptFeedback").is_some()
            || event.get("usageMetadata").is_some()
    }

    /// Of several texts of a chunk the last one of each sort: providers send one.
    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e> {
        let parts = first_candidate(event).and_then(|one| one.pointer("/content/parts"));
        let mut found = TextDelta::default();
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            match part.get("thought").and_then(Value::as_bool) {
                Some(true) => found.reasoning = text(part, "text"),
                _ if part.get("text").is_some() => found.text = text(part, "text"),
                _ => {}
            }
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

/// Whether a member says how the model is to answer (Gemini API reference, `GenerationConfig`).
fn is_config(key: &[u8]) -> bool {
    matches!(key, b"generationConfig" | b"generation_config")
}

/// Whether a member of it is the schema of the answer.
fn is_schema(key: &[u8]) -> bool {
    matches!(
        key,
        b"responseJsonSchema" | b"response_json_schema" | b"responseSchema" | b"response_schema"
    )
}

/// The codes of gRPC by their HTTP status (`google.rpc.Code`).
fn error_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

/// A content with the role of the model, which some replies leave out.
fn with_role(content: &str) -> Result<String, NoReply> {
    let has_role = has_member(content.as_bytes(), b"role")?;
    Ok(
        match (has_role, content.strip_prefix('{').map(str::trim_start)) {
            (false, Some("}")) => r#"{"role":"model"}"#.to_owned(),
            (false, Some(members)) => format!("{{\"role\":\"model\",{members}"),
            _ => content.to_owned(),
        },
    )
}

/// What a tool answered, as the object that Gemini wants; `text` is quoted (Gemini API reference,
/// `FunctionResponse`).
fn response(text: &str, is_error: bool) -> String {
    let key = if is_error { "error" } else { "output" };
    format!(r#"{{"{key}":{text}}}"#)
}
