//! What is handed to the recorder: pieces of bodies that nobody copies, and the headers that may be recorded.

use super::secrets::Secrets;
use crate::http::secrets_shown;
use crate::proxy::headers::content_encoding;
use crate::proxy::judge::Continuation;
use bytes::Bytes;
use hyper::HeaderMap;
use retake_core::exchange::ExchangeSummary;
use retake_core::exchange::gate::StreamEnd;
use retake_core::redact::{HeaderSecret, header_holds_a_secret};
use retake_core::session::Dialect;
use retake_core::wire::stop_of;
use retake_core::wire::stream::{Splitter, Step, StreamEvent};
use serde_json::Value;
use std::collections::HashMap;

/// Most bytes of a reply that are recorded; the rest only passes.
pub const REPLY_CAP: u64 = 16 << 20;
/// Most bytes of a request that are recorded: as many as a proxy takes.
pub const REQUEST_CAP: u64 = 64 << 20;
/// Most bytes of the value of a recorded header.
const VALUE_CAP: usize = 512;

/// An exchange with its bodies, as they went over the wire.
#[derive(Debug, Clone, Default)]
pub struct RecordedExchange {
    /// What is known of it.
    pub seen: ExchangeSummary,
    pub request: RecordedBody,
    /// Which request it continues, where that is known.
    pub(crate) continuation: Option<Continuation>,
    pub request_head: RecordedHead,
    /// The provider's first reply.
    pub reply: RecordedBody,
    pub reply_head: RecordedHead,
    /// What the agent got instead: a whole reply of its dialect, or a stream of one. Without an encoding.
    pub told: Option<RecordedBody>,
    /// What the provider was sent instead of the request. Without an encoding.
    pub sent: Option<Bytes>,
}

impl RecordedExchange {
    /// What it keeps in memory, in bytes.
    pub(crate) fn cost(&self) -> usize {
        let told = self.told.as_ref().map_or(0, RecordedBody::memory);
        let sent = self.sent.as_ref().map_or(0, Bytes::len);
        self.request.memory() + self.reply.memory() + told + sent
    }

    pub(crate) fn without_bodies(mut self) -> Self {
        self.request = RecordedBody::nothing_of(&self.request);
        self.reply = RecordedBody::nothing_of(&self.reply);
        self.told = None;
        self.sent = None;
        let note = "its bodies were not recorded: the disk was too slow for what came";
        self.seen.notes.push(note.to_owned());
        self
    }
}

/// Received bytes are gathered in blocks of this size.
const BLOCK: usize = 64 * 1024;

/// A body as it came, up to a bound. Clones share its blocks.
#[derive(Debug, Clone, Default)]
pub struct RecordedBody {
    blocks: Vec<Bytes>,
    /// The bytes after the blocks; fewer than a block.
    tail: Vec<u8>,
    kept: u64,
    total: u64,
}

impl RecordedBody {
    /// A body that is there as a whole; its bytes are shared, not copied.
    pub fn whole(bytes: Bytes) -> Self {
        let total = bytes.len() as u64;
        let cap = usize::try_from(REQUEST_CAP).unwrap_or(usize::MAX);
        let kept = bytes.slice(..bytes.len().min(cap));
        Self {
            kept: kept.len() as u64,
            blocks: Some(kept)
                .filter(|kept| !kept.is_empty())
                .into_iter()
                .collect(),
            tail: Vec::new(),
            total,
        }
    }

    /// Copies the next piece; what goes beyond `cap` bytes in all is only counted.
    ///
    /// A piece is a slice of the buffer that the connection reads into: sharing it would keep all of that
    /// buffer in memory, up to 256 KiB for a few bytes.
    pub fn push(&mut self, piece: &[u8], cap: u64) {
        let room = usize::try_from(cap.saturating_sub(self.kept)).unwrap_or(usize::MAX);
        let mut rest = &piece[..piece.len().min(room)];
        self.total += piece.len() as u64;
        self.kept += rest.len() as u64;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK - self.tail.len()));
            self.tail.extend_from_slice(now);
            rest = later;
            if self.tail.len() == BLOCK {
                self.blocks.push(std::mem::take(&mut self.tail).into());
            }
        }
    }

    /// Takes the next piece of a reply.
    pub fn push_reply(&mut self, piece: &[u8]) {
        self.push(piece, REPLY_CAP);
    }

    /// Nothing more comes: clones share all of it from now on.
    pub(crate) fn end(&mut self) {
        if !self.tail.is_empty() {
            self.blocks.push(std::mem::take(&mut self.tail).into());
        }
    }

    /// How many bytes went over the wire.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether bytes are missing at its end.
    pub fn is_cut(&self) -> bool {
        self.kept < self.total
    }

    /// All of it, where it is there in one piece.
    pub(crate) fn as_whole(&self) -> Option<&Bytes> {
        match &self.blocks[..] {
            [only] if !self.is_cut() && self.tail.is_empty() => Some(only),
            _ => None,
        }
    }

    /// What is kept of it, in one piece.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.kept).unwrap_or_default());
        for block in &self.blocks {
            bytes.extend_from_slice(block);
        }
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// What is kept of it, piece by piece.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Bytes> {
        let tail = Some(&self.tail).filter(|tail| !tail.is_empty());
        let tail = tail.map(|tail| Bytes::copy_from_slice(tail));
        self.blocks.iter().cloned().chain(tail)
    }

    /// What it takes in memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let blocks = self.blocks.iter().map(Bytes::len);
        blocks.sum::<usize>() + self.tail.capacity()
    }

    fn nothing_of(other: &Self) -> Self {
        Self {
            total: other.total,
            ..Self::default()
        }
    }
}

/// What is taken from the head of a request or reply.
#[derive(Clone, Default)]
pub struct RecordedHead {
    pub(crate) kept: Vec<(String, String)>,
    pub(crate) encoding: String,
    pub(crate) is_stream: bool,
    /// What must not be in any file, wherever it turns up.
    pub(crate) secrets: Vec<HeaderSecret>,
}

/// Says nothing of the secrets.
impl std::fmt::Debug for RecordedHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Head")
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

/// The headers that are recorded; any other may hold a secret.
const ALLOWED: &[&str] = &[
    "content-type",
    "content-encoding",
    "content-length",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "openai-version",
    "openai-processing-ms",
    "request-id",
    "x-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];
/// How the names of further ones begin.
const ALLOWED_BEGINNINGS: &[&str] = &["x-stainless-", "x-ratelimit-", "anthropic-ratelimit-"];
impl RecordedHead {
    /// Takes from a head what is recorded, and what must not be.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut head = Self {
            secrets: secrets_shown(headers),
            encoding: content_encoding(headers),
            ..Self::default()
        };
        for (name, value) in headers {
            let name = name.as_str();
            let value = String::from_utf8_lossy(value.as_bytes());
            if header_holds_a_secret(name) {
                continue;
            }
            if name == "content-type" {
                head.is_stream = value.trim_start().starts_with("text/event-stream");
            }
            let begins = |begin: &&str| name.starts_with(*begin);
            if ALLOWED.contains(&name) || ALLOWED_BEGINNINGS.iter().any(begins) {
                let value = value.chars().take(VALUE_CAP).collect();
                head.kept.push((name.to_owned(), value));
            }
        }
        head
    }
}

// A streamed reply in one piece, and whether it was odd: then it is worth to be kept as it came.

/// Most bytes of an odd stream that are kept as they came.
const RAW_CAP: usize = 1 << 20;

/// A stream that was put together.
#[derive(Debug, Default)]
pub(crate) struct Assembled {
    /// The reply in the shape of its dialect; `None` where there was none.
    pub(crate) reply: Option<String>,
    /// What the provider reported in the middle of it.
    pub(crate) failures: Vec<Value>,
    /// Whether it did not reach its end.
    pub(crate) incomplete: bool,
    /// How it ended.
    pub(crate) end: StreamEnd,
    /// Whether it holds what the reply in one piece does not tell.
    pub(crate) is_odd: bool,
}

pub(crate) fn looks_streamed(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"]
        .iter()
        .any(|field| text.starts_with(field))
}

pub(crate) fn assemble(dialect: Option<Dialect>, bytes: &[u8]) -> Assembled {
    let Some(dialect) = dialect else {
        return Assembled {
            is_odd: true,
            ..Assembled::default()
        };
    };
    let mut reply = dialect.codec().decoder();
    let (mut any, mut ended, mut is_odd) = (false, false, false);
    let mut take = |event: StreamEvent| {
        let data = event.data.trim();
        if data == "[DONE]" {
            reply.push_done();
            ended = true;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(event) if event.is_object() => {
                any = true;
                let step = reply.push(&event);
                // Usage may follow the end of a chat reply; a call or a text may not.
                is_odd |=
                    step == Step::Failed || (ended && step != Step::Nothing && step != Step::Ends);
                ended |= step == Step::Ends && !dialect.facts().tells_usage_last;
            }
            _ => is_odd = true,
        }
    };
    let mut splitter = Splitter::default();
    splitter.push(bytes, &mut take);
    let rest = splitter.finish();
    if let Some(event) = rest {
        // An event without its blank line: whole, or cut.
        take(event);
    }
    let finished = reply.finish();
    Assembled {
        is_odd: is_odd || !finished.ended,
        incomplete: !finished.ended,
        end: match ended {
            _ if !finished.failures.is_empty() => StreamEnd::Failed,
            true => StreamEnd::Whole,
            false if stop_of(&finished.json).is_some() => StreamEnd::Unmarked,
            false => StreamEnd::Short,
        },
        failures: finished.failures,
        reply: any.then_some(finished.json),
    }
}

/// A stream as it came, without its secrets; `None` where one of them is spread over its events, so that none
/// of its pieces shows it.
pub(crate) fn raw(bytes: &[u8], secrets: &mut Secrets) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(RAW_CAP)]);
    let mut spread: HashMap<String, String> = HashMap::new();
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            spread
                .entry(String::new())
                .or_default()
                .push_str(line.trim_end());
            out.push_str(line);
            continue;
        };
        match serde_json::from_str::<Value>(data) {
            Ok(value) => gather("", &value, &mut spread),
            Err(_) => spread.entry(String::new()).or_default().push_str(data),
        }
        // Names of secrets count in broken JSON, too.
        out.push_str("data: ");
        out.push_str(&secrets.redact(data.to_owned()));
        out.push_str(&line[line.trim_end().len()..]);
    }
    let is_clean = spread.values().all(|text| !secrets.finds(text));
    is_clean.then_some(out)
}

/// The texts of events by their names, one after the other: deltas join to what
/// they are deltas of.
fn gather(name: &str, value: &Value, out: &mut HashMap<String, String>) {
    match value {
        Value::String(text) => out.entry(name.to_owned()).or_default().push_str(text),
        Value::Array(values) => values.iter().for_each(|value| gather(name, value, out)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| gather(name, value, out)),
        _ => {}
    }
}
