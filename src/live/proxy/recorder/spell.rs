//! How an exchange is spelled in the journal: bodies decoded, streams in one piece, secrets taken out, and of a
//! request that continues a recorded one only what is new.

use super::recorded::{
    RecordedBody, RecordedExchange, RecordedHead, assemble, looks_streamed, raw,
};
use super::secrets::Secrets;
use crate::proxy::decode::{DecodeFault, decode};
use crate::proxy::judge::Continuation;
use bytes::Bytes;
use retake_core::exchange::ExchangeId;
use retake_core::exchange::entry::{
    AgentResponseEntry, ExchangeEntry, HeadersEntry, RequestEntry, ResponseEntry,
};
use retake_core::session::Dialect;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

/// How far an exchange has come that is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RecordStage {
    Over,
    /// Its reply takes a while.
    Began,
    /// It waits for a decision; the file is the journal of its hold.
    Held(Option<PathBuf>),
}

/// An entry of a journal: one JSON object without line feeds and without secrets.
#[derive(Debug)]
pub(crate) struct EntryText {
    text: String,
    request: Option<EntryRequest>,
}

/// The request of an exchange, where it is one JSON object without secrets on one line.
#[derive(Debug)]
struct EntryRequest {
    exchange: ExchangeId,
    continuation: Continuation,
    body: Bytes,
    /// Where it is to be put into the text of its entry; `None` where it is there.
    place: Option<Range<usize>>,
}

impl From<String> for EntryText {
    fn from(text: String) -> Self {
        Self {
            text,
            request: None,
        }
    }
}

impl EntryText {
    /// What it keeps in memory, and takes in a file at most, in bytes.
    pub(crate) fn len(&self) -> usize {
        let later = self.request.as_ref().filter(|one| one.place.is_some());
        self.text.len() + later.map_or(0, |request| request.body.len())
    }

    /// The entry as it stands in a file that has these requests already; its own one is among them then.
    pub(crate) fn in_file(&self, written: &mut WrittenRequests) -> Cow<'_, str> {
        let Some(request) = &self.request else {
            return Cow::Borrowed(&self.text);
        };
        let base = request
            .place
            .as_ref()
            .and_then(|_| written.base_of(request));
        written.add(request, base.as_ref());
        let Some(place) = &request.place else {
            return Cow::Borrowed(&self.text);
        };
        let json = |range: Range<usize>| String::from_utf8_lossy(&request.body[range]);
        let whole = 0..request.body.len();
        let member = match base {
            Some((base, new)) => format!(
                "\"continues\":{{\"exchange\":{},\"before\":{},\"elements\":[{}],\"after\":{}}}",
                base.exchange.0,
                new.start,
                json(new.clone()),
                whole.end - new.end
            ),
            None => format!("\"request\":{}", json(whole)),
        };
        let mut text = String::with_capacity(self.text.len() + member.len());
        text.push_str(&self.text[..place.start]);
        text.push_str(&member);
        text.push_str(&self.text[place.end..]);
        Cow::Owned(text)
    }
}

/// How many requests of a file are remembered: of so many conversations at a time, and their branches.
const WRITTEN: usize = 256;

/// The requests that a file has, the latest first.
#[derive(Debug, Default)]
pub(crate) struct WrittenRequests(VecDeque<WrittenRequest>);

#[derive(Debug, Clone, Copy)]
struct WrittenRequest {
    exchange: ExchangeId,
    /// The number of its reading.
    reading: u64,
    /// Bytes of the last one that is there as a whole, and of what is new of those that continue it.
    whole: usize,
    since: usize,
}

impl WrittenRequests {
    /// The request that this one continues, and what is new of it. Once what is new of several is as long as the
    /// one that is whole, the next is whole again: a line that is damaged costs no more than that.
    fn base_of(&self, request: &EntryRequest) -> Option<(WrittenRequest, Range<usize>)> {
        let find = |reading: u64| self.0.iter().find(|one| one.reading == reading).copied();
        let end = request.body.len();
        let same = || Some((find(request.continuation.reading)?, end..end));
        let (base, new) = same().or_else(|| {
            let (reading, new) = request.continuation.of.as_ref()?;
            Some((find(*reading)?, new.clone()))
        })?;
        (base.since + new.len() <= base.whole).then_some((base, new))
    }

    fn add(&mut self, request: &EntryRequest, base: Option<&(WrittenRequest, Range<usize>)>) {
        self.0.push_front(WrittenRequest {
            exchange: request.exchange,
            reading: request.continuation.reading,
            whole: base.map_or(request.body.len(), |(base, _)| base.whole),
            since: base.map_or(0, |(base, new)| base.since + new.len()),
        });
        self.0.truncate(WRITTEN);
    }
}

/// What is written of an exchange.
pub(crate) fn exchange(
    recorded: &RecordedExchange,
    upstreams: &[String],
    stage: &RecordStage,
    secrets: &mut Secrets,
) -> serde_json::Result<EntryText> {
    secrets.learn(&recorded.request_head.secrets);
    secrets.learn(&recorded.reply_head.secrets);
    let upstream = upstreams.get(recorded.seen.upstream);
    let mut entry = ExchangeEntry::of(&recorded.seen, upstream.map_or("", String::as_str));
    entry.headers = HeadersEntry {
        request: &recorded.request_head.kept,
        response: &recorded.reply_head.kept,
    };
    let dialect = recorded.seen.dialect;
    let notes = &mut entry.notes;
    let body = plain_request(recorded);
    let stays_clean =
        body.is_some_and(|(continuation, body)| secrets.stays_clean(continuation, body));
    entry.request = match stays_clean {
        true => RequestEntry {
            request: Some(RawValue::NULL.to_owned()),
            sent: sent(recorded),
            ..RequestEntry::default()
        },
        false => request(recorded, notes),
    };
    let is_json = entry.request.request.is_some();
    let replied = open(&recorded.reply, &recorded.reply_head, "reply", notes);
    let is_stream = recorded.reply_head.is_stream;
    entry.response = replied.map_or_else(ResponseEntry::default, |bytes| {
        reply(dialect, bytes, is_stream, secrets, notes)
    });
    if let Some(body) = &recorded.told {
        if body.is_cut() {
            notes.push(cut(body, "reply that the agent got"));
        }
        let received = reply(dialect, body.bytes(), false, secrets, notes);
        entry.told = AgentResponseEntry {
            told: received.response,
            told_text: received.response_text,
        };
    }
    match stage {
        RecordStage::Over => {}
        RecordStage::Began => {
            entry.kind = "began";
            entry.notice = Some(format!(
                "sent at {}, and no end of it is recorded: interrupted, or still under way",
                time(entry.at)
            ));
        }
        RecordStage::Held(journal) => {
            entry.kind = "held";
            if let Some(holding) = &mut entry.holding {
                entry.notice = Some(notice(holding.since, holding.why));
                holding.journal = journal
                    .as_ref()
                    .map(|path| path.to_string_lossy().into_owned());
            }
        }
    }
    let (text, had_secrets) = secrets.redacted(serde_json::to_string(&entry)?);
    let clean = body.filter(|_| is_json && (stays_clean || !had_secrets));
    let Some((continuation, body)) = clean else {
        return Ok(text.into());
    };
    secrets.found_none(continuation, body);
    let place = text.find(LATER).filter(|_| stays_clean);
    let request = EntryRequest {
        exchange: recorded.seen.id,
        continuation: continuation.clone(),
        body: body.clone(),
        place: place.map(|at| at..at + LATER.len()),
    };
    Ok(EntryText {
        text,
        request: Some(request),
    })
}

/// How an entry names a request that is put in later: no string of it can hold this, for its
/// quotes would be escaped.
const LATER: &str = r#""request":null"#;

/// A request that is there as it is written, whole and without an encoding, and what it continues.
fn plain_request(recorded: &RecordedExchange) -> Option<(&Continuation, &Bytes)> {
    let body = recorded.request.as_whole()?;
    let is_plain = recorded.request_head.encoding.is_empty();
    let continuation = recorded.continuation.as_ref().filter(|_| is_plain);
    Some((continuation?, body))
}

/// The notice for a reader of a hold without an end.
fn notice(since: u64, why: &str) -> String {
    let since = time(since);
    format!(
        "held since {since} ({why}), and no decision is recorded: interrupted, or still waiting"
    )
}

/// The time of day of a moment in milliseconds since 1970.
fn time(at: u64) -> String {
    let seconds = at / 1000;
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02} UTC", seconds % 60)
}

fn request(recorded: &RecordedExchange, notes: &mut Vec<String>) -> RequestEntry {
    let mut request = RequestEntry::default();
    if let Some(bytes) = open(&recorded.request, &recorded.request_head, "request", notes) {
        match piece(bytes) {
            Piece::Nothing => {}
            Piece::Json(json) => request.request = Some(json),
            Piece::Text(text) => request.request_text = Some(text),
            Piece::Binary(length) => notes.push(no_text("request", length)),
        }
    }
    request.sent = sent(recorded);
    request
}

fn sent(recorded: &RecordedExchange) -> Option<Box<RawValue>> {
    match piece(recorded.sent.as_ref()?.to_vec()) {
        Piece::Json(json) => Some(json),
        Piece::Nothing | Piece::Text(_) | Piece::Binary(_) => None,
    }
}

/// How much of a body that was cut is recorded.
fn cut(body: &RecordedBody, what: &str) -> String {
    let (kept, total) = (body.kept(), body.total());
    format!("{kept} of {total} bytes of the {what} are recorded")
}

/// A body without its encoding; what cannot be had is noted.
fn open(
    body: &RecordedBody,
    head: &RecordedHead,
    what: &str,
    notes: &mut Vec<String>,
) -> Option<Vec<u8>> {
    if body.is_cut() {
        notes.push(cut(body, what));
    }
    let bytes = decoded(&head.encoding, body.bytes());
    if bytes.is_none() {
        // Bytes that nobody can read may hold secrets that nobody can find.
        notes.push(format!(
            "the {what} is not recorded: its encoding cannot be decoded ({} bytes)",
            body.total()
        ));
    }
    bytes
}

/// The body without its encodings, as far as it can be decoded; `None` where nothing comes out.
fn decoded(encoding: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
    if encoding.is_empty() {
        return Some(bytes);
    }
    let decoded = decode(encoding, &bytes);
    let has_come_out = matches!(decoded.bytes, Cow::Owned(_)) && !decoded.bytes.is_empty();
    let is_plain = decoded.fault.is_none();
    (is_plain || (decoded.fault != Some(DecodeFault::Unknown) && has_come_out))
        .then(|| decoded.bytes.into_owned())
}

fn no_text(what: &str, length: usize) -> String {
    format!("the {what} is not recorded: {length} bytes that are not text")
}

fn reply(
    dialect: Option<Dialect>,
    bytes: Vec<u8>,
    is_stream: bool,
    secrets: &mut Secrets,
    notes: &mut Vec<String>,
) -> ResponseEntry {
    let mut response = ResponseEntry::default();
    if !is_stream && !looks_streamed(&bytes) {
        match piece(bytes) {
            Piece::Nothing => {}
            Piece::Json(json) => response.response = Some(json),
            Piece::Text(text) => response.response_text = Some(text),
            Piece::Binary(length) => notes.push(no_text("reply", length)),
        }
        return response;
    }
    let assembled = assemble(dialect, &bytes);
    response.incomplete = assembled.incomplete;
    response.failures = assembled.failures;
    let reply = assembled.reply.map(String::into_bytes).map(piece);
    if let Some(Piece::Json(json)) = reply {
        response.response = Some(json);
    }
    if assembled.is_odd && !bytes.is_empty() {
        response.stream = raw(&bytes, secrets);
        if response.stream.is_none() {
            notes.push(
                "the stream is not recorded as it came: a secret is spread over its events"
                    .to_owned(),
            );
        }
    }
    response
}

/// What a body is.
enum Piece {
    Nothing,
    Json(Box<RawValue>),
    Text(String),
    Binary(usize),
}

fn piece(bytes: Vec<u8>) -> Piece {
    if bytes.trim_ascii().is_empty() {
        return Piece::Nothing;
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Piece::Binary(error.as_bytes().len()),
    };
    let Ok(json) = serde_json::from_str::<&RawValue>(&text) else {
        return Piece::Text(text);
    };
    if memchr::memchr2(b'\n', b'\r', json.get().as_bytes()).is_none() {
        return Piece::Json(json.to_owned());
    }
    // In JSON a raw line feed occurs between tokens only, where a space means the same.
    match RawValue::from_string(text.replace(['\n', '\r'], " ")) {
        Ok(json) => Piece::Json(json),
        Err(_) => Piece::Text(text),
    }
}
