//! Messages of frameworks, in any of their spellings, on their way into a transcript or into an exchange.
//!
//! Frameworks copy from each other: a role, a content of typed parts, calls in the content or beside it, and
//! results that name their call. What differs are the names of the members, which are accepted side by side.

use super::http_exchanges::{Exchanges, HttpExchange, SentChat};
use super::transcript::{Head, Spent, Transcript, UnreadValue, call, content, read_values, result};
use super::{Contents, Format, Layout, Sample};
use crate::json::{Cursor, JsonError, JsonErrorKind, complete, skip_value, skip_whitespace};
use crate::session::{CallId, Flags, Kind, ProblemKind, RequestBase, SourceResult};
use crate::wire::chat::Chat;
use crate::wire::write::quoted;
use crate::wire::{Codec, Element, Part, Role, ToolCall};
use serde_json::{Value, json};

/// Where a JSON value is in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The value, and what follows it in a document that breaks off in it.
    text: &'a [u8],
    pub(super) at: u64,
    /// The line on which it begins, counted from 1.
    pub(super) line: u64,
    /// Its number among its siblings, counted from 1.
    pub(super) number: u64,
}

impl<'a> Place<'a> {
    /// The place of the document that a text is.
    pub(super) fn whole(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            number: 1,
        }
    }

    /// The place of a member; of the value itself where it has no such member.
    pub(super) fn member(self, name: &str) -> Self {
        let mut found = None;
        // What precedes a fault counts, and nothing after the member is looked at.
        let _ = Cursor::new(self.text).object(|cursor, key| match key == name.as_bytes() {
            true => {
                found = Some(self.moved(cursor.position()));
                Err(JsonError::new(cursor.position(), JsonErrorKind::End))
            }
            false => Ok(()),
        });
        found.unwrap_or(self)
    }

    /// The places of the elements of a member that is a list, each found when it is asked for.
    pub(super) fn elements(self, name: &str) -> impl Iterator<Item = Self> + use<'a> {
        let list = self.member(name);
        let mut last: Option<Self> = None;
        std::iter::from_fn(move || {
            let (before, opens, passed) = match last {
                None => (list, b'[', 0),
                Some(last) => (last, b',', skip_value(last.text, 0).ok()?),
            };
            let open = skip_whitespace(before.text, passed);
            let at = skip_whitespace(before.text, open + 1);
            let is_element = before.text.get(open) == Some(&opens)
                && before.text.get(at).is_some_and(|byte| *byte != b']');
            let number = last.map_or(1, |last| last.number + 1);
            last = is_element.then(|| Self {
                number,
                ..before.moved(at)
            });
            last
        })
    }

    /// The place that is so many bytes on.
    fn moved(self, passed: usize) -> Self {
        let (before, text) = self.text.split_at(passed.min(self.text.len()));
        Self {
            text,
            at: self.at + passed as u64,
            line: self.line + memchr::memchr_iter(b'\n', before).count() as u64,
            number: 1,
        }
    }

    /// The digits that the value begins with.
    pub(super) fn digits(self) -> String {
        let digits = self.text.iter().take_while(|byte| byte.is_ascii_digit());
        digits.map(|digit| char::from(*digit)).collect()
    }

    /// Its byte position and its line.
    pub(super) fn pair(self) -> (u64, u64) {
        (self.at, self.line)
    }
}

/// The elements of a member that is a list, with their places.
pub(super) fn placed<'v, 'a>(
    value: &'v Value,
    place: Place<'a>,
    name: &str,
) -> impl Iterator<Item = (&'v Value, Place<'a>)> + use<'v, 'a> {
    let places = place.elements(name).chain(std::iter::repeat(place));
    list(value, name).iter().zip(places)
}

/// The same, of a value that is taken apart.
pub(super) fn placed_mut<'v, 'a>(
    value: &'v mut Value,
    place: Place<'a>,
    name: &str,
) -> impl Iterator<Item = (&'v mut Value, Place<'a>)> + use<'v, 'a> {
    let places = place.elements(name).chain(std::iter::repeat(place));
    let list = value.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().zip(places)
}

/// Walks the JSON values of a text: its lines, the elements of its array, or the one document that it is. `take` gets
/// each with its place, or why it cannot be read.
pub(super) fn each_value(
    bytes: &[u8],
    mut take: impl FnMut(Result<Value, ProblemKind>, Place<'_>),
) {
    let sample = Sample::new(bytes, true);
    let inside = match sample.layout {
        Layout::Array(inside) => inside,
        Layout::Lines | Layout::Object(_) | Layout::Text => 0,
    };
    let mut last = Place {
        number: 0,
        ..Place::whole(bytes)
    };
    read_values(bytes, sample.skipped + inside, |value, at| {
        let number = last.number + 1;
        last = last.moved(at - last.at as usize);
        last.number = number;
        match value {
            Ok(text) => take(parsed(text), Place { text, ..last }),
            Err(UnreadValue { at, kind }) => take(
                Err(kind),
                Place {
                    at: at as u64,
                    ..last
                },
            ),
        }
    });
}

/// Reads a transcript of messages that stand alone, one after the other, or in the `messages` of an object. `add` gets
/// each with its line.
pub(super) fn read_messages(
    format: &Format,
    bytes: &[u8],
    mut add: impl FnMut(&mut Transcript, u64, &Value),
) -> SourceResult<Contents> {
    let mut out = Transcript::new(format.id, format.dialect());
    each_value(bytes, |value, place| match value {
        Ok(value) if list(&value, "messages").is_empty() => add(&mut out, place.line, &value),
        Ok(value) => {
            for (message, place) in placed(&value, place, "messages") {
                add(&mut out, place.line, message);
            }
        }
        Err(kind) => out.report(place.at, kind),
    });
    out.finish()
}

/// The document that a text is; of one that its end cuts as much as there is, which is reported to `cut`.
pub(super) fn document(bytes: &[u8], mut report: impl FnMut(u64, ProblemKind)) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            let closed = error
                .is_eof()
                .then(|| serde_json::from_slice(&complete(bytes)));
            let (at, kind) = match &closed {
                Some(Ok(_)) => (bytes.len() as u64, ProblemKind::Unclosed),
                _ => (0, ProblemKind::Undecodable(error.to_string())),
            };
            report(at, kind);
            closed.and_then(Result::ok).unwrap_or_default()
        }
    }
}

fn parsed(text: &[u8]) -> Result<Value, ProblemKind> {
    serde_json::from_slice(text).map_err(|error| ProblemKind::Undecodable(error.to_string()))
}

/// A member by the first of its names that is there and not null.
pub(super) fn member<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| value.get(*name));
    found.find(|value| !value.is_null())
}

/// A member that is a string; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, names: &[&str]) -> &'a str {
    let mut found = names.iter().filter_map(|name| value.get(*name)?.as_str());
    found.next().unwrap_or_default()
}

/// The elements of a member that is a list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let found = value.get(name).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// The text of a value: of a string what it says, of another value its JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value that may be spelled as a text of its JSON.
pub(super) fn unquoted(value: &Value) -> Value {
    let inside = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    inside.unwrap_or_else(|| value.clone())
}

const CALLS_OF_GEMINI: [&str; 2] = ["functionCall", "function_call"];
const RESULTS_OF_GEMINI: [&str; 2] = ["functionResponse", "function_response"];

/// What a message says, in order.
#[derive(Debug)]
pub(super) enum MessagePiece {
    Thought(String),
    Said(Role, Vec<Part>),
}

/// What a message says, with what is known of its calls and results beside that.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) pieces: Vec<MessagePiece>,
    parts: Vec<Part>,
    results: Vec<Part>,
    /// Calls and outputs by their ids.
    flags: Vec<(u64, Kind, Flags)>,
}

impl Message {
    /// Reads a message in any spelling; `None` for what is none.
    fn read(value: &Value) -> Option<Self> {
        let role = role_of(value)?;
        let value = flat(value);
        let mut message = Self::default();
        let calls = calls_of(value);
        if role == Role::Tool && !has_results(value) {
            message.result(value);
        } else {
            message.contents(role, value, calls.is_empty());
        }
        for one in calls {
            message.call(one);
        }
        if value.get("parts").is_none() {
            let invocations = list(value, "toolInvocations").iter();
            invocations.for_each(|one| message.invocation(one));
        }
        message.flush(role);
        Some(message)
    }

    fn contents(&mut self, role: Role, value: &Value, takes_calls: bool) {
        let thought = text(value, &["reasoning_content", "reasoning"]);
        self.think(thought);
        match member(value, &["parts", "content", "contents"]) {
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(role, part, takes_calls);
                }
            }
            Some(Value::String(text)) => self.parts.push(Part::Text(text.clone())),
            Some(other) => self.part(role, other, takes_calls),
            None => {}
        }
    }

    fn think(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(MessagePiece::Thought(text.to_owned()));
        }
    }

    fn part(&mut self, role: Role, part: &Value, takes_calls: bool) {
        // OpenInference wraps the parts of a content.
        let part = part.get("message_content").unwrap_or(part);
        let kind = text(part, &["type"]);
        match kind {
            "text" | "input_text" | "output_text" | "refusal" => {
                if !self.results.is_empty() {
                    self.flush(role);
                }
                let words = text(part, &["text", "content", "refusal"]);
                self.parts.push(Part::Text(words.to_owned()));
            }
            "reasoning" | "thinking" | "redacted_thinking" => {
                if !self.parts.is_empty() {
                    self.flush(role);
                }
                self.think(text(part, &["text", "thinking", "content", "reasoning"]));
            }
            "step-start" => self.flush(role),
            "tool-call" | "tool_call" | "tool_use" | "function_call" | "server_tool_call"
            | "server_tool_use" | "mcp_tool_use" => {
                if takes_calls {
                    self.call(part);
                }
            }
            "tool-result"
            | "tool_result"
            | "tool_call_response"
            | "server_tool_call_response"
            | "mcp_tool_result" => self.result(part),
            "tool-approval-request" => self.flag(part, Kind::Call, Flags::AWAITS_APPROVAL),
            "tool-invocation" => self.invocation(&part["toolInvocation"]),
            kind if kind == "dynamic-tool" || kind.starts_with("tool-") => self.invocation(part),
            "" if member(part, &CALLS_OF_GEMINI).is_some() => {
                self.call(member(part, &CALLS_OF_GEMINI).unwrap_or(part));
            }
            "" if member(part, &RESULTS_OF_GEMINI).is_some() => {
                self.result(member(part, &RESULTS_OF_GEMINI).unwrap_or(part));
            }
            "" if part.is_string() || part.get("text").is_some() => {
                let words = part.as_str().unwrap_or_else(|| text(part, &["text"]));
                self.parts.push(Part::Text(words.to_owned()));
            }
            // What only the screen of an application shows.
            "source-url" | "source-document" => {}
            kind if kind.starts_with("data-") => {}
            _ => self
                .parts
                .push(picture(part).unwrap_or_else(|| Part::Json(part.to_string()))),
        }
    }

    fn call(&mut self, value: &Value) {
        // OpenInference wraps a call, OpenAI its name and arguments.
        let value = value.get("tool_call").unwrap_or(value);
        let inner = value
            .get("function")
            .filter(|inner| inner.is_object())
            .unwrap_or(value);
        let name = text(
            inner,
            &["toolName", "name", "tool_name", "function", "tool.name"],
        );
        let input = [
            "input",
            "arguments",
            "args",
            "rawInput",
            "server_tool_call",
            "tool.args",
        ];
        let input = member(inner, &input).map(Value::to_string);
        self.parts.push(call(id_of(value), name, input.as_deref()));
    }

    fn result(&mut self, value: &Value) {
        let found = [
            "output",
            "result",
            "response",
            "content",
            "server_tool_call_response",
        ];
        let found = member(value, &found).unwrap_or(&Value::Null);
        let kind = text(found, &["type"]);
        let error = member(value, &["error"]);
        let is_error = kind.starts_with("error-")
            || kind == "execution-denied"
            || error.is_some_and(|error| *error != Value::Bool(false))
            || matches!(text(value, &["status"]), "error" | "failed")
            || ["is_error", "isError"]
                .iter()
                .any(|key| value[*key] == true);
        let inside = match kind {
            "execution-denied" => member(found, &["reason"]),
            "" => Some(found),
            _ => member(found, &["value"]).or(Some(found)),
        };
        let says_nothing = |value: &&Value| value.as_str().is_none_or(|text| !text.is_empty());
        let words = inside
            .filter(says_nothing)
            .or_else(|| member(error?, &["message"]));
        let words = words.or(error.filter(|error| error.is_string()));
        self.put_result(value, words.unwrap_or(&Value::Null), is_error);
        if kind == "execution-denied" || error.is_some_and(|it| it["type"] == "approval") {
            self.flag(value, Kind::Output, Flags::REJECTED);
        }
    }

    fn put_result(&mut self, value: &Value, words: &Value, is_error: bool) {
        let name = text(value, &["toolName", "name", "tool_name", "function"]);
        let content_parts = match words {
            Value::Null => vec![Part::Text(String::new())],
            words => content(Some(&words.to_string())),
        };
        self.results
            .push(result(id_of_result(value), name, content_parts, is_error));
    }

    /// A call with its result in one part, by its state.
    fn invocation(&mut self, part: &Value) {
        let kind = text(part, &["type"]);
        let name = text(part, &["toolName"]);
        let name = if name.is_empty() {
            kind.trim_start_matches("tool-")
        } else {
            name
        };
        let input = member(part, &["rawInput", "input", "args"]).map(Value::to_string);
        self.parts.push(call(id_of(part), name, input.as_deref()));
        match text(part, &["state"]) {
            "output-available" | "result" => {
                let found = member(part, &["output", "result"]).unwrap_or(&Value::Null);
                self.put_result(part, found, false);
            }
            "output-error" => self.put_result(part, &part["errorText"], true),
            "output-denied" => {
                let reason = member(&part["approval"], &["reason"]).unwrap_or(&Value::Null);
                self.put_result(part, reason, true);
                self.flag(part, Kind::Output, Flags::REJECTED);
            }
            "approval-requested" => self.flag(part, Kind::Call, Flags::AWAITS_APPROVAL),
            "input-streaming" => self.flag(part, Kind::Call, Flags::INCOMPLETE),
            _ => {}
        }
    }

    fn flag(&mut self, value: &Value, kind: Kind, flags: Flags) {
        let id = CallId::new(id_of_result(value).as_bytes(), 0).hash;
        self.flags.push((id, kind, flags));
    }

    fn flush(&mut self, role: Role) {
        for (role, parts) in [(role, &mut self.parts), (Role::Tool, &mut self.results)] {
            if !parts.is_empty() {
                self.pieces
                    .push(MessagePiece::Said(role, std::mem::take(parts)));
            }
        }
    }

    /// Adds a message in any spelling, with when, by which model and at what cost it was made. What is not a message
    /// adds nothing.
    pub(super) fn add(out: &mut Transcript, number: u64, value: &Value) {
        let Some(message) = Self::read(value) else {
            return;
        };
        let is_reply = role_of(value) == Some(Role::Model);
        let value = flat(value);
        let head = head_of(number, value, is_reply);
        if is_reply {
            out.begin_reply();
        }
        for piece in message.pieces {
            match piece {
                MessagePiece::Thought(text) => out.think(&head, &text),
                MessagePiece::Said(role, parts) => {
                    out.add(&head, role, parts);
                }
            }
        }
        for (id, kind, flags) in message.flags {
            let mut items = out.items().iter_mut().rev();
            if let Some(item) = items.find(|item| item.kind == kind && item.call_id.hash == id) {
                item.flags = item.flags.with(flags);
            }
        }
        let metadata = value.get("response_metadata").unwrap_or(value);
        let stop = text(metadata, &["finish_reason", "stop_reason"]);
        if is_reply && !stop.is_empty() {
            out.stop(stop);
        }
    }

    /// What is said to the model and by it, as OpenAI's Chat takes it.
    fn in_chat(self) -> Vec<ChatElement> {
        let mut thought = String::new();
        let mut elements = Vec::new();
        for piece in self.pieces {
            match piece {
                MessagePiece::Thought(text) => thought = text,
                MessagePiece::Said(role, parts) => elements.push(ChatElement {
                    thought: std::mem::take(&mut thought),
                    element: Element::new(role, parts),
                }),
            }
        }
        elements
    }
}

/// An element of a chat, with what the model thought before it.
#[derive(Debug)]
pub(super) struct ChatElement {
    thought: String,
    pub(super) element: Element,
}

impl ChatElement {
    pub(super) fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            thought: String::new(),
            element: Element::new(role, parts),
        }
    }

    /// The JSON of its messages: one for each result of a tool.
    pub(super) fn messages(&self) -> Vec<String> {
        let mut written = Chat.write_element(&self.element);
        if let (Some(first), false) = (written.first_mut(), self.thought.is_empty()) {
            let members = first.trim_start_matches('{');
            *first = format!(
                r#"{{"reasoning_content":{},{members}"#,
                quoted(&self.thought)
            );
        }
        written
    }

    pub(super) fn calls(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        let parts = self.element.parts.iter_mut();
        parts.filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// What a file says beside a message.
fn head_of(number: u64, value: &Value, is_reply: bool) -> Head {
    let time = member(value, &["timestamp", "createdAt", "created_at"]).map(Value::to_string);
    let head = Head::new(number).at(time.as_deref());
    if !is_reply {
        return head;
    }
    let took = value["replied_in_ms"].as_u64();
    let head = took.map_or(head.clone(), |took| head.replied_in(took));
    let metadata = value.get("response_metadata").unwrap_or(value);
    let usage = member(value, &["usage_metadata", "usage"]).or(member(metadata, &["token_usage"]));
    let head = head.of_model(text(metadata, &["model_name", "model", "model_id"]));
    usage.map_or(head.clone(), |usage| head.spent(spent(usage)))
}

/// Tokens in the spelling of any framework.
pub(super) fn spent(usage: &Value) -> Spent {
    let count = |value: &Value, names: &[&str]| {
        member(value, names)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    let details = [
        "input_token_details",
        "prompt_tokens_details",
        "input_tokens_details",
    ];
    let details = member(usage, &details).unwrap_or(&Value::Null);
    let own = [
        "cache_read_tokens",
        "cachedInputTokens",
        "input_tokens_cache_read",
        "cache_read.input_tokens",
    ];
    let within = count(details, &["cache_read", "cached_tokens"]).max(count(usage, &own));
    let input = [
        "input_tokens",
        "prompt_tokens",
        "inputTokens",
        "promptTokens",
        "input",
        "request_tokens",
    ];
    let output = [
        "output_tokens",
        "completion_tokens",
        "outputTokens",
        "completionTokens",
        "output",
        "response_tokens",
    ];
    Spent {
        input: count(usage, &input).saturating_sub(within),
        cache_read: within + count(usage, &["cache_read_input_tokens"]),
        cache_write: count(
            usage,
            &["cache_creation_input_tokens", "cache_write_tokens"],
        ),
        output: count(usage, &output),
        cost: usage["total_cost"].as_f64().unwrap_or_default(),
    }
}

/// A message out of its wrapping: a constructor of LangChain, its `data`, OpenInference's `message`.
fn flat(value: &Value) -> &Value {
    let wrapped = ["kwargs", "data", "message"];
    let inside = wrapped.iter().filter_map(|key| value.get(*key));
    let mut inside = inside.filter(|inside| inside.is_object());
    match value.get("role") {
        Some(_) => value,
        None => inside.next().unwrap_or(value),
    }
}

/// The role of a message: its own, its type in LangChain, or the class of a constructor.
fn role_of(value: &Value) -> Option<Role> {
    let inside = flat(value);
    let class = list(value, "id").last().and_then(Value::as_str);
    let named = [
        text(inside, &["role"]),
        class.unwrap_or_default(),
        text(value, &["type"]),
    ];
    let mut named = named.iter().filter(|named| !named.is_empty());
    let named = named.next()?.to_ascii_lowercase();
    match named.trim_end_matches("chunk").trim_end_matches("message") {
        "system" => Some(Role::System),
        "developer" => Some(Role::Developer),
        "user" | "human" => Some(Role::User),
        "assistant" | "ai" | "model" => Some(Role::Model),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

/// The calls beside the content: as they were parsed, those that could not be, and as the provider gave them.
fn calls_of(value: &Value) -> Vec<&Value> {
    let mut calls: Vec<&Value> = Vec::new();
    calls.extend(list(value, "tool_calls"));
    calls.extend(list(value, "invalid_tool_calls"));
    if calls.is_empty()
        && let Some(raw) = value.get("additional_kwargs")
    {
        calls.extend(list(raw, "tool_calls"));
        calls.extend(raw.get("function_call").filter(|call| call.is_object()));
    }
    calls.extend(value.get("function_call").filter(|call| call.is_object()));
    calls
}

fn has_results(value: &Value) -> bool {
    let parts = list(value, "content").iter().chain(list(value, "parts"));
    let mut kinds = parts.map(|part| text(part, &["type"]));
    let results = [
        "tool-result",
        "tool_result",
        "tool_call_response",
        "tool-approval-response",
    ];
    kinds.any(|kind| results.contains(&kind))
}

/// The id of a call; in its result `id` may be that of the message.
fn id_of(value: &Value) -> &str {
    text(value, &["toolCallId", "call_id", "id", "tool_call_id"])
}

fn id_of_result(value: &Value) -> &str {
    text(
        value,
        &["toolCallId", "tool_call_id", "tool_use_id", "call_id", "id"],
    )
}

fn picture(part: &Value) -> Option<Part> {
    let holder = part.get("image_url").unwrap_or(part);
    let url = holder
        .as_str()
        .unwrap_or_else(|| text(holder, &["url", "image", "uri"]));
    let is_url = url.starts_with("http") || url.starts_with("data:");
    is_url.then(|| Part::Image(url.to_owned()))
}

// Calls of a model whose input and output are messages of a framework.

/// One call of a model, as tracing tools record it.
#[derive(Debug, Default)]
pub(super) struct ModelCall {
    pub(super) model: String,
    /// The messages that were sent: a list of them, or a text.
    pub(super) input: Value,
    /// The reply: a message, several, a text, or the body of the provider's reply.
    pub(super) output: Value,
    /// What was offered; null where that is not known.
    pub(super) tools: Value,
    pub(super) usage: Value,
    /// What it cost in US dollars: the sum, or an object with `total`, `input` and `output`; null where that is not
    /// recorded.
    pub(super) cost: Value,
    pub(super) stop: String,
    /// As of [`HttpExchange`].
    pub(super) sent: Value,
    pub(super) took: Option<u64>,
    pub(super) place: (u64, u64),
}

impl Exchanges {
    /// Adds the call of a model as the exchange that it was, or as one that says the same.
    pub(super) fn push_call(&mut self, call: &ModelCall) {
        let is_item = |item: &Value| text(item, &["type"]).starts_with("function_call");
        let items = call.input.as_array();
        let is_responses = call.output["object"] == "response"
            || items.is_some_and(|items| items.iter().any(is_item));
        let (path, key) = match is_responses {
            true => ("/v1/responses", "input"),
            false => ("/v1/chat/completions", "messages"),
        };
        let list = match is_responses {
            true => call.input.to_string(),
            false => {
                let elements = chat_elements(&call.input, Role::User);
                let messages = elements.iter().flat_map(ChatElement::messages);
                format!("[{}]", messages.collect::<Vec<_>>().join(","))
            }
        };
        let is_body = |body: &Value| {
            ["choices", "error"]
                .iter()
                .any(|key| body.get(key).is_some())
        };
        let response = match &call.output {
            Value::Null => String::new(),
            body if is_responses && body.is_object() || is_body(body) => call.response_of(body),
            output => call.reply_of(chat_elements(output, Role::Model)),
        };
        let request = format!(r#"{{"{key}":{list}{}"#, call.settings());
        self.push_bodies(call, path, request, None, response);
    }

    /// Adds a call whose messages are in OpenAI's Chat already.
    pub(super) fn push_chat(
        &mut self,
        call: &ModelCall,
        messages: &[String],
        response: String,
        goes_on: bool,
    ) {
        let tail = format!("]{}", call.settings());
        let last = self.last_chat.take().filter(|last| {
            goes_on && last.tail == tail && (1..=messages.len()).contains(&last.messages)
        });
        let new = &messages[last.as_ref().map_or(0, |last| last.messages)..];
        let list = new.join(",");
        let request = format!("{CHAT}{list}{tail}");
        let continues = last.as_ref().map(|last| RequestBase {
            exchange: last.exchange,
            // A comma is between them.
            before: last.end + 1,
            after: tail.len() as u64,
        });
        let start = continues.map_or(CHAT.len() as u64, |base| base.before);
        let has_new = !new.is_empty() || last.is_none();
        self.last_chat = Some(SentChat {
            exchange: self.count + 1,
            messages: messages.len(),
            end: match has_new {
                true => start + list.len() as u64,
                false => start - 1,
            },
            tail,
        });
        self.push_bodies(call, "/v1/chat/completions", request, continues, response);
    }

    fn push_bodies(
        &mut self,
        call: &ModelCall,
        path: &str,
        request: String,
        continues: Option<RequestBase>,
        response: String,
    ) {
        self.push(&HttpExchange {
            url: path,
            request: request.into(),
            response: response.into(),
            status: 0,
            headers: [&Value::Null; 2],
            sent: call.sent.clone(),
            took: call.took,
            place: call.place,
            continues,
        });
    }
}

/// What the body of a request begins with whose messages come first.
const CHAT: &str = r#"{"messages":["#;

impl ModelCall {
    /// The end of the body of a request: its model, and its tools.
    fn settings(&self) -> String {
        let model = match self.model.is_empty() {
            true => String::new(),
            false => format!(r#","model":{}"#, quoted(&self.model)),
        };
        match &self.tools {
            Value::Null => format!("{model}}}"),
            tools => format!(r#"{model},"tools":{tools}}}"#),
        }
    }

    /// The body of a reply that was recorded as one, with what it took beside it.
    pub(super) fn response_of(&self, body: &Value) -> String {
        let mut body = body.clone();
        if body.is_object() && body.get("usage").is_none_or(Value::is_null) {
            body["usage"] = self.usage.clone();
        }
        if let Some(usage) = body.get_mut("usage").filter(|usage| usage.is_object())
            && !self.cost.is_null()
        {
            usage["cost"] = self.cost.clone();
        }
        body.to_string()
    }

    /// The body of a reply of OpenAI's Chat.
    pub(super) fn reply_of(&self, elements: Vec<ChatElement>) -> String {
        let message = one_message(elements);
        let (stop, usage) = (quoted(&self.stop), self.response_of(&json!({})));
        let usage = usage.trim_start_matches('{');
        format!(r#"{{"choices":[{{"message":{message},"finish_reason":{stop}}}],{usage}"#)
    }
}

/// What a value says in OpenAI's Chat; a text is said in this role.
pub(super) fn chat_elements(value: &Value, role: Role) -> Vec<ChatElement> {
    let messages = match value {
        Value::Array(messages) => messages.as_slice(),
        Value::Null => &[],
        Value::String(text) => return vec![ChatElement::new(role, vec![Part::Text(text.clone())])],
        one => std::slice::from_ref(one),
    };
    let read = |message: &Value| {
        Message::read(message).or_else(|| {
            let mut message = message.clone();
            let members = message.as_object_mut()?;
            members.insert("role".to_owned(), json!(role.word()));
            Message::read(&message)
        })
    };
    let messages = messages.iter().filter_map(read);
    messages.flat_map(Message::in_chat).collect()
}

/// The message of a reply that says several things.
fn one_message(elements: Vec<ChatElement>) -> String {
    let is_call = |part: &Part| matches!(part, Part::Call(_));
    let replies = elements
        .into_iter()
        .filter(|one| one.element.role == Role::Model);
    let reply = replies.reduce(|mut reply, next| {
        let says = reply.element.parts.iter().any(|part| !is_call(part));
        let more = next.element.parts.into_iter();
        let more = more.filter(|part| is_call(part) || !says);
        reply.element.parts.extend(more);
        reply
    });
    let empty = || ChatElement::new(Role::Model, vec![Part::Text(String::new())]);
    reply.unwrap_or_else(empty).messages().concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod testing {
    use crate::formats::{Contents, Sample, read_buffer, recognise};
    use crate::session::{Flags, Item, Kind, PairStatus, Session, Source};
    use std::sync::Arc;

    /// Reads a text that must be recognised as this format.
    pub(in crate::formats) fn read(format: &str, text: &(impl AsRef<[u8]> + ?Sized)) -> Contents {
        let bytes = text.as_ref();
        let found = recognise(&Sample::new(bytes, true)).unwrap();
        assert_eq!(found.id, format);
        let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
        read_buffer(found, &source, bytes).unwrap()
    }

    /// The items of a session in letters: `s` system, `u` user, `a` assistant, `r` reasoning, `c` call, `o` output,
    /// `n` notice; after a letter `!` an error, `?` a call without output, `w` one that waits, `x` a rejected one.
    pub(in crate::formats) fn outline(session: &Session) -> String {
        let letter = |(place, item): (usize, &Item)| {
            let kind = match item.kind {
                Kind::System => 's',
                Kind::User => 'u',
                Kind::Assistant => 'a',
                Kind::Reasoning => 'r',
                Kind::Call => 'c',
                Kind::Output => 'o',
                Kind::Notice => 'n',
                _ => '-',
            };
            let is_open = item.kind == Kind::Call
                && !matches!(session.pairing.standing(place), PairStatus::Paired(_));
            let marks = [
                (item.flags.has(Flags::ERROR), '!'),
                (item.flags.has(Flags::AWAITS_APPROVAL), 'w'),
                (item.flags.has(Flags::REJECTED), 'x'),
                (is_open, '?'),
            ];
            let marks = marks
                .into_iter()
                .filter_map(|(is_so, mark)| is_so.then_some(mark));
            std::iter::once(kind).chain(marks).collect::<String>()
        };
        let items = session.items.iter().enumerate();
        items.map(letter).collect::<Vec<_>>().join(" ")
    }

    /// The outlines of all sessions of a text without problems.
    pub(in crate::formats) fn outlines(
        format: &str,
        text: &(impl AsRef<[u8]> + ?Sized),
    ) -> Vec<String> {
        let contents = read(format, text);
        assert_eq!(contents.problems, []);
        contents.sessions.iter().map(outline).collect()
    }
}
