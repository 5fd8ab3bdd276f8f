//! Recorded HTTP traffic with providers.
//!
//! Each format finds its requests and replies. Here their bodies are unpacked, put together where they were
//! streamed, and written as the exchanges of a proxy's journal, so that they are read and joined into
//! conversations like those. Traffic that asks no model is left out.

use super::Contents;
use super::retake_journal::{assemble_conversations, read_exchange};
use super::tool_runs::{RecordedRun, note_tool_runs};
use super::transcript::utc;
use crate::json::{Cursor, JsonError, bad_strings, display_text, milliseconds, skip_value};
use crate::session::{
    Dialect, Fragment, ProblemKind, RequestBase, Source, SourceResult, Span, ToolRun,
    shown_headers, without_query,
};
use crate::wire::stream::{Splitter, write_object};
use crate::wire::{dialect_at, route};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use brotli_decompressor::{BrotliResult, brotli_decode};
use miniz_oxide::inflate::{
    DecompressError, decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit,
};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use zstd::stream::raw::{Decoder, Operation};

/// One request with its reply, as a file spells them.
pub(super) struct HttpExchange<'a> {
    /// The URL or the path that was asked.
    pub(super) url: &'a str,
    pub(super) request: ExchangeBody<'a>,
    pub(super) response: ExchangeBody<'a>,
    /// The status of the reply; 0 where it is not recorded.
    pub(super) status: u64,
    /// The headers of the request and of the reply, in the spelling of any recorder; null where they are not recorded.
    pub(super) headers: [&'a Value; 2],
    /// When the request was sent, in milliseconds since 1970 or as text of ISO 8601.
    pub(super) sent: Value,
    /// How long the whole reply took, in milliseconds.
    pub(super) took: Option<u64>,
    /// Where it begins in the file: byte position, and line; in a file without lines the number of the exchange.
    pub(super) place: (u64, u64),
    /// The request that this one continues: `request` holds only the new elements of its list, which comes first in it.
    pub(super) continues: Option<RequestBase>,
}

/// A body as its file has it.
pub(super) enum ExchangeBody<'a> {
    /// As [`unpacked`] takes it; null for none.
    Parsed(Cow<'a, Value>),
    /// The inside of a JSON string in a text.
    Quoted { text: &'a [u8], at: Span },
}

impl<'a> From<&'a Value> for ExchangeBody<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Parsed(Cow::Borrowed(value))
    }
}

impl From<String> for ExchangeBody<'_> {
    fn from(text: String) -> Self {
        Self::Parsed(Cow::Owned(Value::String(text)))
    }
}

impl ExchangeBody<'_> {
    fn unpacked(&self) -> Result<String, String> {
        match self {
            Self::Parsed(value) => unpacked(value),
            Self::Quoted { text, at } => Ok(display_text(part(text, *at)).into_owned()),
        }
    }
}

fn part(text: &[u8], at: Span) -> &[u8] {
    let place = at.start as usize..at.end as usize;
    text.get(place).unwrap_or_default()
}

/// A request that the next one may repeat and go on from, as both are spelled.
struct Repeated {
    exchange: u32,
    dialect: Dialect,
    /// Up to the end of its last message.
    start: Span,
    /// What follows its messages.
    tail: Span,
    /// Where its last message ends in the body.
    end: u64,
    /// How many bytes of the body follow it.
    after: u64,
}

impl Repeated {
    /// A request whose list of messages is not empty.
    fn of(dialect: Dialect, exchange: u32, body: &str, request: &ExchangeBody<'_>) -> Option<Self> {
        let ExchangeBody::Quoted { text, at } = request else {
            return None;
        };
        let mut lists = Vec::new();
        let walked = Cursor::new(body.as_bytes()).object(|cursor, key| {
            let is_list = LISTS.contains(&key) && cursor.peek() == Some(b'[');
            lists.extend(is_list.then(|| cursor.skip()).transpose()?);
            Ok(())
        });
        let [list] = walked.ok().map(|_| &lists[..])? else {
            return None;
        };
        let end = list.end - 1;
        if body[list.start + 1..end].trim().is_empty() {
            return None;
        }
        // The end of the body as it is spelled is longer by its escapes.
        let (tail, spelled) = (&body[end..], part(text, *at));
        let mut length = tail.len();
        loop {
            let start = spelled.len().checked_sub(length)?;
            let said = display_text(&spelled[start..]);
            if said.len() < tail.len() {
                length += tail.len() - said.len();
                continue;
            }
            let place = at.start + start as u64;
            let [start, rest] =
                [(at.start, place), (place, at.end)].map(|(start, end)| Span { start, end });
            return (said == tail && text.get(place as usize) == Some(&b']')).then_some(Self {
                exchange,
                dialect,
                start,
                tail: rest,
                end: end as u64,
                after: tail.len() as u64,
            });
        }
    }

    /// What is new in the next request, as a journal says it.
    fn continued(
        self,
        dialect: Dialect,
        exchange: u32,
        request: &ExchangeBody<'_>,
    ) -> Option<(String, Self)> {
        let ExchangeBody::Quoted { text, at } = request else {
            return None;
        };
        let new = part(text, *at).strip_prefix(part(text, self.start))?;
        let new = new
            .strip_suffix(part(text, self.tail))?
            .strip_prefix(b",")?;
        let list = format!("[{}]", display_text(new));
        if dialect != self.dialect || !is_json(&list) {
            return None;
        }
        let elements = &list[1..list.len() - 1];
        let base = RequestBase {
            exchange: self.exchange,
            // A comma is between them.
            before: self.end + 1,
            after: self.after,
        };
        let tail = at.end - self.tail.len();
        let next = Self {
            exchange,
            start: Span::new(at.start, tail),
            tail: Span::new(tail, at.end),
            end: base.before + elements.len() as u64,
            ..self
        };
        Some((continues(base, elements), next))
    }
}

/// The members of a request that hold its messages.
const LISTS: [&[u8]; 3] = [b"messages", b"input", b"contents"];

/// The exchanges of a file.
#[derive(Default)]
pub(super) struct Exchanges {
    buffer: Vec<u8>,
    fragment: Fragment,
    pub(super) count: u32,
    /// The chat that was added last.
    pub(super) last_chat: Option<SentChat>,
    repeated: Option<Repeated>,
    /// When the request of each record was sent.
    sent: Vec<Option<u64>>,
    tool_runs: Vec<RecordedRun>,
}

/// A chat that was added, so that the next one may continue it.
pub(super) struct SentChat {
    pub(super) exchange: u32,
    pub(super) messages: usize,
    /// Where the last message ends in the body.
    pub(super) end: u64,
    /// The body after its messages.
    pub(super) tail: String,
}

impl Exchanges {
    pub(super) fn push(&mut self, exchange: &HttpExchange<'_>) {
        self.count += 1;
        let number = self.count;
        let failed = match Entry::of(exchange, number, &mut self.repeated) {
            Ok(None) => return,
            Ok(Some(entry)) => {
                let start = self.buffer.len();
                self.buffer.extend_from_slice(entry.json.as_bytes());
                self.fragment.begin_record(Span::within(0, start..start));
                self.sent.push(moment(&exchange.sent));
                if let Some(record) = self.fragment.records.last_mut() {
                    record.number = exchange.place.1;
                }
                let mut cursor = Cursor::at(&self.buffer, start);
                let read = read_exchange(&mut cursor, entry.dialect, 0, &mut self.fragment);
                self.fragment.end_record(self.buffer.len() as u64);
                self.buffer.push(b'\n');
                read.err()
                    .map(|JsonError { kind, .. }| ProblemKind::NotJson(kind))
            }
            Err(reason) => Some(ProblemKind::Undecodable(format!(
                "exchange {number}: {reason}"
            ))),
        };
        if let Some(kind) = failed {
            self.fragment.report(exchange.place.0, kind);
        }
    }

    pub(super) fn report(&mut self, at: u64, kind: ProblemKind) {
        self.fragment.report(at, kind);
    }

    /// Adds a run of a tool, from and to a moment in milliseconds since 1970, where both are recorded.
    pub(super) fn push_tool_run(&mut self, id: &str, name: &str, [start, end]: [Option<u64>; 2]) {
        if let Some((start, end)) = start.zip(end) {
            self.tool_runs.push(RecordedRun {
                id: id.to_owned(),
                name: name.to_owned(),
                run: ToolRun { start, end },
            });
        }
    }

    pub(super) fn finish(mut self, format: &'static str) -> SourceResult<Contents> {
        if self.fragment.records.is_empty() && self.fragment.problems.is_empty() {
            let reason = match self.count {
                0 => "it holds no exchanges".to_owned(),
                count => format!("none of its {count} exchanges asks a model"),
            };
            self.report(0, ProblemKind::Undecodable(reason));
        }
        let problems = std::mem::take(&mut self.fragment.problems);
        let source: Arc<dyn Source> = Arc::new(self.buffer);
        let mut contents = assemble_conversations(format, self.fragment, &source)?;
        note_tool_runs(&mut contents.sessions, self.tool_runs, &self.sent);
        Ok(contents.after(problems))
    }
}

/// A moment in milliseconds since 1970: a number of these, or text of ISO 8601.
pub(super) fn moment(time: &Value) -> Option<u64> {
    match time {
        Value::String(text) => utc(text).and_then(|time| milliseconds(&time)),
        time => time.as_u64(),
    }
}

/// The entry of a journal that an exchange becomes.
struct Entry {
    dialect: Dialect,
    json: String,
}

impl Entry {
    /// `None` for an exchange that asks no model. `repeated` is what the next request may repeat.
    fn of(
        exchange: &HttpExchange<'_>,
        number: u32,
        repeated: &mut Option<Repeated>,
    ) -> Result<Option<Self>, String> {
        let path = exchange.url.split(['?', '#']).next().unwrap_or_default();
        let route = route(path);
        let known = route.as_ref().map(|route| route.dialect);
        let goes_on = known
            .zip(repeated.take())
            .and_then(|(dialect, last)| last.continued(dialect, number, &exchange.request));
        let request = match goes_on {
            Some(_) => Ok(String::new()),
            None => exchange.request.unpacked(),
        };
        let bodies = request.and_then(|request| Ok((request, exchange.response.unpacked()?)));
        let (request, response) = match bodies {
            Ok((request, response)) => (request, response),
            Err(reason) if dialect_at(path).is_some() => return Err(reason),
            Err(_) => return Ok(None),
        };
        let body = request.trim();
        let shape = || dialect_of_bodies(&serde_json::from_str(body).ok()?, &response);
        let Some(dialect) = known.or_else(shape) else {
            return Ok(None);
        };
        if goes_on.is_none() && !is_object(body) {
            return match body.is_empty() {
                true => Ok(None),
                false => Err("a request that is no JSON object".to_owned()),
            };
        }
        let mut members = Map::new();
        members.insert("type".to_owned(), json!("exchange"));
        members.insert("id".to_owned(), json!(number));
        members.insert("dialect".to_owned(), json!(dialect.word()));
        let time = if exchange.sent.is_string() {
            "timestamp"
        } else {
            "at"
        };
        members.insert(time.to_owned(), exchange.sent.clone());
        members.insert("ms".to_owned(), json!(exchange.took.as_slice()));
        if let Some((model, _)) = route.and_then(|route| route.asks) {
            members.insert("model".to_owned(), json!(model));
        }
        if exchange.status > 0 {
            let [request, response] = exchange.headers.map(shown_headers);
            let headers = json!({ "request": request, "response": response });
            members.insert("path".to_owned(), json!(without_query(exchange.url)));
            members.insert("status".to_owned(), json!(exchange.status));
            members.insert("headers".to_owned(), headers);
        }
        let mut raw = vec![match (goes_on, exchange.continues) {
            (Some((continues, next)), _) => {
                *repeated = Some(next);
                ("continues", continues)
            }
            (None, Some(base)) => {
                let list = body.find('[').map_or(0, |start| start + 1);
                let end = body.len().saturating_sub(base.after as usize);
                let elements = body.get(list..end).unwrap_or_default();
                ("continues", continues(base, elements))
            }
            (None, None) => {
                if body.len() == request.len() {
                    *repeated = Repeated::of(dialect, number, body, &exchange.request);
                }
                ("request", body.to_owned())
            }
        }];
        match exchange.status {
            400.. => {
                raw.push(("response", error_body(response.trim())));
            }
            _ => put_reply(dialect, response.trim(), &mut members, &mut raw),
        }
        let mut json = String::new();
        write_object(&members, &raw, &mut json);
        Ok(Some(Self { dialect, json }))
    }
}

/// What a journal says of a request that continues another one with these elements.
fn continues(base: RequestBase, elements: &str) -> String {
    let RequestBase {
        exchange,
        before,
        after,
    } = base;
    format!(
        r#"{{"exchange":{exchange},"before":{before},"elements":[{elements}],"after":{after}}}"#
    )
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && is_json(text)
}

fn is_json(text: &str) -> bool {
    let bytes = text.as_bytes();
    skip_value(bytes, 0) == Ok(bytes.len()) && bad_strings(bytes).is_empty()
}

/// Which dialect two bodies are of, where the URL does not say it: test servers and gateways have their own.
fn dialect_of_bodies(request: &Value, response: &str) -> Option<Dialect> {
    let asks = |key: &str| request.get(key).is_some_and(|value| !value.is_null());
    let replies = |marks: &[&str]| marks.iter().any(|mark| response.contains(mark));
    let [messages, input] = [asks("messages"), asks("input")];
    match () {
        () if messages && replies(&["\"choices\""]) => Some(Dialect::Chat),
        () if messages && replies(&["\"stop_reason\"", "message_start"]) => {
            Some(Dialect::Anthropic)
        }
        () if input && replies(&["\"output\"", "response.created"]) => Some(Dialect::Responses),
        () if asks("contents") && replies(&["\"candidates\""]) => Some(Dialect::Gemini),
        () => None,
    }
}

/// The body of a refused request in the shape that most providers have: not all name their error.
fn error_body(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(body) if body.get("error").is_some() => text.to_owned(),
        Ok(Value::Array(list)) if list.iter().any(|one| one.get("error").is_some()) => {
            list[0].to_string()
        }
        Ok(body @ Value::Object(_)) => json!({ "error": body }).to_string(),
        _ => json!({ "error": text }).to_string(),
    }
}

/// Puts a reply into an entry: an object as it is, a stream put together, anything else as a text.
fn put_reply(
    dialect: Dialect,
    text: &str,
    members: &mut Map<String, Value>,
    raw: &mut Vec<(&str, String)>,
) {
    if is_object(text) {
        raw.push(("response", text.to_owned()));
        return;
    }
    let events = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(events)) => events,
        _ => events_of(text),
    };
    if events.is_empty() {
        if !text.is_empty() {
            members.insert("response_text".to_owned(), json!(text));
        }
        return;
    }
    let mut decoder = dialect.codec().decoder();
    for event in &events {
        match event {
            Value::String(_) => decoder.push_done(),
            event => decoder.push(event),
        };
    }
    let reply = decoder.finish();
    raw.push(("response", reply.json));
    members.insert("incomplete".to_owned(), json!(!reply.ended));
    members.insert("failures".to_owned(), json!(reply.failures));
}

/// The data of server-sent events; an end mark is a string.
fn events_of(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    let mut take = |data: &str| match serde_json::from_str(data) {
        Ok(event) => events.push(event),
        Err(_) if data.trim() == "[DONE]" => events.push(json!("[DONE]")),
        Err(_) => {}
    };
    let mut splitter = Splitter::default();
    splitter.push(text.as_bytes(), |event| take(&event.data));
    if let Some(event) = splitter.finish() {
        take(&event.data);
    }
    events
}

/// Most bytes that a body may unpack to.
const LIMIT: usize = 256 << 20;

/// The text of a body: a string; an object with `base64_string`, or with `string` or `text` beside its
/// `encoding`; another value is the JSON that it was parsed from.
fn unpacked(body: &Value) -> Result<String, String> {
    let member = |key: &str| body.get(key).and_then(Value::as_str);
    let text = member("string").or(member("text"));
    let packed = match (member("base64_string"), text) {
        (Some(packed), _) => packed,
        (None, Some(packed)) if member("encoding") == Some("base64") => packed,
        (None, Some(text)) => return Ok(text.to_owned()),
        (None, None) => {
            return match body {
                Value::Null => Ok(String::new()),
                Value::String(text) => Ok(text.clone()),
                Value::Object(parts) if parts.contains_key("string") => unpacked(&parts["string"]),
                parsed => Ok(parsed.to_string()),
            };
        }
    };
    let compact: String = packed.split_ascii_whitespace().collect();
    let bytes = BASE64
        .decode(compact)
        .map_err(|error| format!("a body in broken Base64: {error}"))?;
    text_of_bytes(bytes)
}

/// The text of a body's bytes, which may be packed as a content-encoding says. The encodings are distinguished by how
/// they begin, because recorders leave out headers or keep those of bodies that they unpacked. Brotli has no mark.
fn text_of_bytes(bytes: Vec<u8>) -> Result<String, String> {
    let limited = |unpacked: Result<Vec<u8>, DecompressError>| {
        unpacked.or_else(|broken| whatever_came(broken.output, broken.status))
    };
    let plain = match bytes.as_slice() {
        [0x1f, 0x8b, ..] => {
            let packed = inside_gzip(&bytes).ok_or("a packed body has a broken header")?;
            limited(decompress_to_vec_with_limit(packed, LIMIT))?
        }
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            limited(decompress_to_vec_zlib_with_limit(&bytes, LIMIT))?
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => inside_zstd(&bytes)?,
        _ if std::str::from_utf8(&bytes).is_ok() => bytes,
        _ => inside_brotli(&bytes).unwrap_or(bytes),
    };
    let unknown = |_| "a body that is neither text nor packed in a known way".to_owned();
    String::from_utf8(plain).map_err(unknown)
}

/// What came out before a break counts; it may end in space that was left free for more.
fn whatever_came(mut plain: Vec<u8>, reason: impl Debug) -> Result<Vec<u8>, String> {
    let length = plain.iter().rposition(|byte| *byte != 0);
    plain.truncate(length.map_or(0, |last| last + 1));
    match plain.is_empty() {
        true => Err(format!("a packed body is damaged: {reason:?}")),
        false => Ok(plain),
    }
}

fn inside_zstd(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut decoder = Decoder::new().map_err(|error| error.to_string())?;
    let (mut plain, mut chunk) = (Vec::new(), vec![0; 128 << 10]);
    let (mut at, mut missing) = (0, 0);
    while plain.len() < LIMIT {
        match decoder.run_on_buffers(&packed[at..], &mut chunk) {
            Ok(step) if step.bytes_read + step.bytes_written == 0 => break,
            Ok(step) => {
                at += step.bytes_read;
                missing = step.remaining;
                plain.extend_from_slice(&chunk[..step.bytes_written]);
            }
            Err(error) => return whatever_came(plain, error),
        }
    }
    match missing {
        0 => Ok(plain),
        _ => whatever_came(plain, "it breaks off"),
    }
}

fn inside_brotli(packed: &[u8]) -> Option<Vec<u8>> {
    let mut size = (packed.len() * 8).clamp(64 << 10, LIMIT);
    loop {
        let mut plain = vec![0; size];
        let decoded = brotli_decode(packed, &mut plain);
        plain.truncate(decoded.decoded_size);
        match decoded.result {
            BrotliResult::NeedsMoreOutput if size < LIMIT => size = (size * 4).min(LIMIT),
            BrotliResult::ResultFailure => return None,
            _ => return Some(plain).filter(|plain| !plain.is_empty()),
        }
    }
}

/// What follows the header of gzip (RFC 1952, section 2.3).
fn inside_gzip(bytes: &[u8]) -> Option<&[u8]> {
    let [checksum, extra, name, comment] = [2, 4, 8, 16];
    let (header, mut rest) = bytes.split_at_checked(10)?;
    let has = |flag: u8| header[3] & flag != 0;
    if has(extra) {
        let length = u16::from_le_bytes([*rest.first()?, *rest.get(1)?]);
        rest = rest.get(2 + usize::from(length)..)?;
    }
    for flag in [name, comment] {
        if has(flag) {
            rest = &rest[memchr::memchr(0, rest)? + 1..];
        }
    }
    if has(checksum) {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

/// Bytes of a body as [`unpacked`] takes them.
pub(super) fn body_of_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64_string": BASE64.encode(bytes) }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{Flags, Kind, PairStatus};
    use miniz_oxide::deflate::compress_to_vec;

    const URL: &str = "https://api.example.com/v1/chat/completions";
    const ASKED: &str = r#"{"model":"m-1","messages":[{"role":"user","content":"Where is the ferry?"}],"tools":[{"type":"function","function":{"name":"find_ferry","parameters":{"type":"object","properties":{}}}}]}"#;
    const CALLED: &str = r#"{"id":"r1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find_ferry","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#;
    const ASKED_AGAIN: &str = r#"{"model":"m-1","messages":[{"role":"user","content":"Where is the ferry?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find_ferry","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"at the north pier"}],"stream":true}"#;
    const STREAMED: &str = "data: {\"id\":\"r2\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"At the \"}}]}\n\ndata: {\"id\":\"r2\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"north pier.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

    /// Both exchanges are one conversation: a call of a known tool, its output, a streamed answer.
    fn assert_is_the_conversation(contents: &Contents) {
        assert_eq!(contents.problems, []);
        let [session] = contents.sessions.as_slice() else {
            unreachable!("{} sessions", contents.sessions.len());
        };
        let kinds: Vec<Kind> = session.items.iter().map(|item| item.kind).collect();
        let expected = [Kind::User, Kind::Call, Kind::Output, Kind::Assistant];
        assert_eq!(kinds, expected);
        assert_eq!(session.pairing.standing(1), PairStatus::Paired(2));
        assert!(session.contract.tools_known());
        assert_eq!(session.model.as_deref(), Some("m-1"));
        assert!(!session.items[3].flags.has(Flags::INCOMPLETE));
    }

    /// With a name in its header.
    fn gzip(text: &str) -> Vec<u8> {
        let mut packed = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255];
        packed.extend(b"reply.json\0");
        packed.extend(compress_to_vec(text.as_bytes(), 6));
        packed.extend([0; 8]);
        packed
    }

    fn indented(text: &str, spaces: usize) -> String {
        let lines = text.lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("{}{line}\n", " ".repeat(spaces)),
        });
        lines.collect()
    }

    /// In the spellings of vcrpy: text, parsed bodies, packed bytes, block scalars, an alias.
    fn cassette() -> String {
        let packed = BASE64.encode(gzip(CALLED));
        format!(
            "interactions:\n- request:\n    body: '{ASKED}'\n    headers: &headers\n      accept:\n      - '*/*'\n    \
             method: POST\n    uri: {URL}\n  response:\n    body:\n      string: !!binary |\n        {packed}\n    \
             status:\n      code: 200\n      message: OK\n- request:\n    parsed_body: {ASKED_AGAIN}\n    headers: *headers\n    \
             uri: {URL}?again=1\n  response:\n    body:\n      string: |+\n{}\n    status:\n      code: 200\nversion: 1\n",
            indented(STREAMED, 8)
        )
    }

    #[test]
    fn a_cassette_is_a_conversation() {
        let contents = read("vcr", cassette().as_bytes());
        assert_is_the_conversation(&contents);
        let lines = contents.sessions[0]
            .records
            .iter()
            .map(|record| record.number);
        assert_eq!(lines.collect::<Vec<_>>(), [2, 16]);
        let of_ruby = json!({"http_interactions": [
            {"request": {"method": "post", "uri": URL, "body": {"encoding": "UTF-8", "string": ASKED}},
             "response": {"status": {"code": 200}, "body": {"encoding": "ASCII-8BIT", "base64_string": BASE64.encode(CALLED)}}},
            {"request": {"uri": URL, "body": {"string": ASKED_AGAIN}}, "response": {"body": {"string": STREAMED}}},
            {"request": {"uri": "https://api.example.com/v1/models", "body": null}, "response": {"body": {"string": "{}"}}},
        ]});
        assert_is_the_conversation(&read("vcr", of_ruby.to_string().as_bytes()));
    }

    #[test]
    fn a_cassette_that_breaks_off_shows_what_it_has() {
        let whole = cassette();
        let cut = &whole[..whole.find("    headers: *headers").unwrap()];
        let contents = read("vcr", format!("{cut}    uri: \"{URL}\n").as_bytes());
        assert_eq!(contents.problems.len(), 1);
        assert!(
            contents.problems[0].kind.to_string().contains("YAML"),
            "{:?}",
            contents.problems
        );
        assert_eq!(contents.sessions[0].count(Kind::Call), 1);
    }

    #[test]
    fn a_cassette_that_is_cut_where_yaml_goes_on_is_reported() {
        let whole = cassette();
        let ruby = whole
            .replace("interactions:", "http_interactions:")
            .replace("version: 1", "recorded_with: VCR 6.1.0");
        assert_eq!(read("vcr", ruby.as_bytes()).problems, []);
        for (end, missing) in [
            ("north pier.", "exchange 2 has no status"),
            (
                "  response:\n    body:\n      string: |+",
                "exchange 2 has no response",
            ),
            ("version: 1", "it has no `version`"),
        ] {
            let cut = &whole[..whole.rfind(end).unwrap()];
            let problems = read("vcr", cut.as_bytes()).problems;
            let [problem] = problems.as_slice() else {
                unreachable!("{problems:?}");
            };
            let expected = format!("the YAML ends in the middle: {missing}");
            assert!(problem.kind.to_string().ends_with(&expected), "{problem:?}");
            assert_eq!(problem.at, cut.len() as u64);
        }
    }

    #[test]
    fn aliases_of_aliases_are_bounded() {
        let mut text =
            "interactions:\n- request: {uri: /}\n  response: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
                .to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            text += &format!("- &a{level} [{}]\n", [before.as_str(); 10].join(", "));
        }
        let contents = read("vcr", text.as_bytes());
        assert!(
            contents.problems[0].kind.to_string().contains("too many"),
            "{:?}",
            contents.problems
        );
    }

    #[test]
    fn an_archive_is_a_conversation() {
        let archive = json!({"log": {"version": "1.2", "entries": [
            {"startedDateTime": "2026-03-02T09:00:00.000Z", "time": 250.4,
             "request": {"method": "POST", "url": URL, "postData": {"mimeType": "application/json", "text": ASKED}},
             "response": {"status": 200, "content": {"mimeType": "application/json", "text": CALLED}}},
            {"request": {"method": "GET", "url": "https://example.com/style.css"},
             "response": {"status": 200, "content": {"text": "a{}"}}},
            {"request": {"method": "POST", "url": URL, "postData": {"text": ASKED_AGAIN}},
             "response": {"content": {"encoding": "base64", "text": BASE64.encode(STREAMED)}}},
        ]}});
        assert_is_the_conversation(&read("har", archive.to_string().as_bytes()));
    }

    /// The bodies of three exchanges: each request goes on from the one before, the last one is another conversation.
    fn long_conversation() -> Vec<[String; 2]> {
        let long = "salt \\ \"water\" \u{1f980}\n".repeat(60);
        let user = json!({"role": "user", "content": long});
        let call = |id: &str| {
            let function =
                json!({"name": "find_ferry", "arguments": json!({"at": long}).to_string()});
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
        };
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": long});
        let done = json!({"role": "assistant", "content": "At sea."});
        let histories = [
            (vec![user.clone()], call("c1")),
            (vec![user.clone(), call("c1"), result("c1")], call("c2")),
            (
                vec![
                    user.clone(),
                    call("c1"),
                    result("c1"),
                    call("c2"),
                    result("c2"),
                ],
                done.clone(),
            ),
            (vec![json!({"role": "user", "content": "Another."})], done),
        ];
        let bodies = histories.into_iter().map(|(messages, reply)| {
            let request = json!({"model": "m-1", "messages": messages, "tools": [{"type": "function", "function": {"name": "find_ferry"}}]});
            let reply = json!({"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": reply, "finish_reason": "stop"}]});
            [request.to_string(), reply.to_string()]
        });
        bodies.collect()
    }

    /// The sessions, each with what its items say.
    fn said(contents: &Contents) -> Vec<Vec<Value>> {
        assert_eq!(contents.problems, []);
        let items = |session: &crate::session::Session| {
            let items = session.items.iter();
            let json =
                items.map(|item| serde_json::from_slice(&session.bytes(item).unwrap()).unwrap());
            json.collect::<Vec<Value>>()
        };
        contents.sessions.iter().map(items).collect()
    }

    #[test]
    fn a_request_that_repeats_the_one_before_says_what_it_would_say_alone() {
        let exchanges = long_conversation();
        let archive = |spelled: fn(&str) -> String| {
            let entries = exchanges.iter().map(|[request, response]| {
                json!({"startedDateTime": "2026-03-01T00:00:00.000Z", "time": 9,
                    "request": {"method": "POST", "url": URL, "postData": {"text": spelled(request)}},
                    "response": {"status": 200, "content": {"text": response}}})
            });
            json!({"log": {"version": "1.2", "entries": entries.collect::<Vec<_>>()}}).to_string()
        };
        // In white space of its own each request is read alone.
        let alone = archive(|body| format!(" {body}"));
        let cassette = exchanges.iter().map(|[request, response]| {
            format!(
                "- request:\n    body: {}\n    method: POST\n    uri: {URL}\n  response:\n    body:\n      string: {}\n    status:\n      code: 200\n",
                json!(request), json!(response)
            )
        });
        let cassette = format!(
            "interactions:\n{}version: 1\n",
            cassette.collect::<String>()
        );
        let [alone, repeated, cassette] = [
            read("har", &alone),
            read("har", &archive(str::to_owned)),
            read("vcr", &cassette),
        ];
        let expected = said(&alone);
        assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [6, 2]);
        assert_eq!(said(&repeated), expected);
        assert_eq!(said(&cassette), expected);
        assert!(repeated.sessions[0].source.len() < alone.sessions[0].source.len());
        let lines = cassette.sessions[0]
            .records
            .iter()
            .map(|record| record.number);
        assert_eq!(lines.collect::<Vec<_>>(), [2, 11, 20, 29]);
    }

    #[test]
    fn a_line_that_looks_like_a_long_body_stays_in_its_text() {
        let [request, response] = &long_conversation()[0];
        let line = format!("body: \"{}\"", "it's ".repeat(200));
        let user = json!({"messages": [{"role": "user", "content": "?"}]}).to_string();
        let cassette = format!(
            "interactions:\n- request:\n    body: |-\n      {user}\n    headers:\n      note: |-\n        {line}\n      string: {}\n    uri: {URL}\n  response:\n    body: {}\n    status: 200\nversion: 1\n",
            json!(request),
            json!(response)
        );
        let contents = read("vcr", &cassette);
        assert_eq!(said(&contents)[0].len(), 2);
        let source = &contents.sessions[0].source;
        let text = source.read(Span::new(0, source.len())).unwrap();
        assert!(!String::from_utf8(text).unwrap().contains('\u{f8ff}'));
    }

    #[test]
    fn flows_are_a_conversation() {
        fn netstring(kind: char, inside: &[u8]) -> Vec<u8> {
            let mut text = format!("{}:", inside.len()).into_bytes();
            text.extend_from_slice(inside);
            text.push(kind as u8);
            text
        }
        let map = |members: &[(&str, Vec<u8>)]| {
            let parts = members.iter().flat_map(|(key, value)| {
                let mut member = netstring(';', key.as_bytes());
                member.extend_from_slice(value);
                member
            });
            netstring('}', &parts.collect::<Vec<u8>>())
        };
        let flow = |request: &[u8], response: &[u8]| {
            let path = netstring(',', b"/v1/chat/completions?x=1");
            let time = netstring('^', b"1772442000.5");
            let request = map(&[
                ("path", path),
                ("content", netstring(',', request)),
                ("timestamp_start", time),
            ]);
            let response = map(&[
                ("content", netstring(',', response)),
                ("trailers", netstring('~', b"")),
            ]);
            map(&[
                ("type", netstring(';', b"http")),
                ("request", request),
                ("response", response),
            ])
        };
        let mut flows = flow(ASKED.as_bytes(), &gzip(CALLED));
        flows.extend(flow(ASKED_AGAIN.as_bytes(), STREAMED.as_bytes()));
        assert_is_the_conversation(&read("mitmproxy", &flows));
        flows.truncate(flows.len() - 3);
        let cut = read("mitmproxy", &flows);
        assert_eq!(cut.problems[0].kind, ProblemKind::Torn);
        assert_eq!(cut.sessions[0].count(Kind::Call), 1);
    }

    /// A stored block and an empty last one (RFC 7932, section 9.2).
    fn brotli(text: &str) -> Vec<u8> {
        let [low, high] = u16::try_from(text.len() - 1).unwrap().to_le_bytes();
        let mut packed = vec![0x0b | low << 7, low >> 1 | high << 7, high >> 1 | 0x80];
        packed.extend(text.as_bytes());
        packed.push(3);
        packed
    }

    #[test]
    fn bodies_in_any_encoding_are_unpacked() {
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(CALLED.as_bytes(), 6);
        let zstd = zstd::bulk::compress(CALLED.as_bytes(), 1).unwrap();
        for packed in [gzip(CALLED), zlib, zstd, brotli(CALLED)] {
            assert_eq!(text_of_bytes(packed.clone()).as_deref(), Ok(CALLED));
            let cassette = json!({"interactions": [
                {"request": {"uri": URL, "body": ASKED}, "response": {"body": {"base64_string": BASE64.encode(&packed)}}},
                {"request": {"uri": URL, "body": ASKED_AGAIN}, "response": {"body": STREAMED}},
            ]});
            assert_is_the_conversation(&read("vcr", cassette.to_string().as_bytes()));
            // One that breaks off gives what came before.
            let cut = text_of_bytes(packed[..packed.len() - 9].to_vec());
            let is_prefix = |cut: &String| !cut.is_empty() && CALLED.starts_with(cut);
            assert!(cut.as_ref().map_or(true, is_prefix), "{cut:?}");
        }
    }

    #[test]
    fn what_unpacks_to_more_than_the_limit_is_cut_there() {
        let bomb = zstd::bulk::compress(&vec![b' '; LIMIT + (1 << 20)], 1).unwrap();
        let plain = text_of_bytes(bomb).unwrap();
        assert!((LIMIT..LIMIT + (1 << 18)).contains(&plain.len()));
    }

    #[test]
    fn a_recording_of_llama_stack_is_an_exchange() {
        let chunks: Vec<Value> = events_of(STREAMED)
            .into_iter()
            .filter(Value::is_object)
            .map(|chunk| json!({"__type__": "Chunk", "__data__": chunk}))
            .collect();
        let request: Value = serde_json::from_str(ASKED_AGAIN).unwrap();
        let recording = json!({"request": {"endpoint": "/v1/chat/completions", "url": URL, "body": request},
            "response": {"body": chunks, "is_streaming": true}});
        let contents = read("llama-stack", recording.to_string().as_bytes());
        assert_eq!(
            (contents.sessions.len(), contents.sessions[0].items.len()),
            (1, 4)
        );
    }

    #[test]
    fn what_cannot_be_read_is_reported_and_the_rest_is_read() {
        let packed = json!({"base64_string": BASE64.encode([0xff, 0x00, 0xcf, 0x81])});
        let cassette = json!({"interactions": [
            {"request": {"uri": URL, "body": ASKED}, "response": {"body": packed}},
            {"request": {"uri": URL, "body": ASKED}, "response": {"status": {"code": 500}, "body": "<html>busy</html>"}},
        ]});
        let contents = read("vcr", cassette.to_string().as_bytes());
        assert!(contents.problems[0].kind.to_string().contains("exchange 1"));
        let kinds = contents.sessions[0].items.iter().map(|item| item.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::User, Kind::Notice]);
        let nothing =
            json!({"interactions": [{"request": {"uri": "/health"}, "response": {"body": "ok"}}]});
        let contents = read("vcr", nothing.to_string().as_bytes());
        assert!(
            contents.problems[0]
                .kind
                .to_string()
                .contains("asks a model")
        );
    }

    #[test]
    fn a_reply_in_plain_text_is_an_error_whatever_its_status() {
        for status in [200, 502] {
            let response = json!({"status": {"code": status}, "body": "<html>Log in</html>"});
            let cassette = json!({"interactions": [{"request": {"uri": URL, "body": ASKED}, "response": response}]});
            let contents = read("vcr", cassette.to_string().as_bytes());
            let last = contents.sessions[0].items.last().unwrap();
            assert!(
                last.kind == Kind::Notice && last.flags.has(Flags::ERROR),
                "{status}"
            );
        }
    }
}
