//! What the envelope of one record says beside its item: when it was written, what its reply took.

use super::prices::{Cost, RequestCost};
use super::tokens::Tokens;
use crate::json::{
    Cursor, Result, complete, display_text, first_text_member, milliseconds, skip_value,
};
use crate::session::{Item, Session, SourceError, Span};
use crate::wire::write::edit::member;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Envelope {
    pub(super) at: Option<u64>,
    pub(super) tokens: Option<Tokens>,
    /// What they cost, as it is recorded beside them.
    pub(super) cost: Option<RequestCost>,
    /// What the run had cost once this was there.
    pub(super) accumulated_cost: Option<Cost>,
    /// The model that answered.
    pub(super) model: Option<Arc<str>>,
    /// How long the tool ran whose result it is, in milliseconds.
    pub(super) took: Option<u64>,
    /// How long the provider took for its reply, in milliseconds.
    pub(super) replied_in: Option<u64>,
    /// How long a decision about its request was awaited, and one about its reply, in milliseconds.
    pub(super) held: [u64; 2],
    /// Where the requests of an exchange are, in the record: what they repeat is not what its reply took.
    requests: Vec<Range<u64>>,
}

impl Envelope {
    /// The envelope as that of an item of its record, which begins at `start` in it.
    fn of_item(&self, start: u64) -> Self {
        match self.requests.iter().any(|request| request.contains(&start)) {
            false => self.clone(),
            true => Self {
                at: self.at,
                took: self.took,
                ..Self::default()
            },
        }
    }
}

/// The envelopes of a session. Those that were read last are kept: a turn, its calls and their results ask
/// for the same ones.
pub(super) struct Envelopes<'a> {
    session: &'a Session,
    read: HashMap<u32, Envelope>,
    buffer: Vec<u8>,
    model: Option<Arc<str>>,
}

/// How many envelopes are kept before all are forgotten.
const KEPT: usize = 1024;
/// Larger records are not read whole: only where an envelope begins and where it goes on after the item.
const WHOLE: u64 = 64 * 1024;
/// The same of an exchange, whose request has the whole history.
const EXCHANGE: u64 = 8 * 1024 * 1024;
/// How much is read there.
const WINDOW: u64 = 2048;

impl<'a> Envelopes<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        Self {
            session,
            read: HashMap::new(),
            buffer: Vec::new(),
            model: None,
        }
    }

    /// The envelope of the record that holds an item.
    pub(super) fn of(&mut self, item: &Item) -> Result<Envelope, SourceError> {
        let Some(record) = self.session.records.get(item.record as usize) else {
            return Ok(Envelope::default());
        };
        let start = item.span.start.saturating_sub(record.span.start);
        if let Some(envelope) = self.read.get(&item.record) {
            return Ok(envelope.of_item(start));
        }
        let most = match self.session.format {
            "retake-journal" | "vcr" | "har" | "mitmproxy" | "llama-stack" | "otel"
            | "langsmith" | "langfuse" | "litellm" => EXCHANGE,
            _ => WHOLE,
        };
        let envelope = match record.span.len() <= most {
            true => {
                let mut buffer = std::mem::take(&mut self.buffer);
                self.session.source.read_into(record.span, &mut buffer)?;
                let envelope = self.parse(&buffer);
                self.buffer = buffer;
                envelope
            }
            false => self.search(record.span, item)?,
        };
        if self.read.len() >= KEPT {
            self.read.clear();
        }
        let of_item = envelope.of_item(start);
        self.read.insert(item.record, envelope);
        Ok(of_item)
    }

    fn parse(&mut self, bytes: &[u8]) -> Envelope {
        let mut envelope = Envelope::default();
        // What precedes a fault counts.
        let _ = self.members(&mut Cursor::new(bytes), &mut envelope);
        if self.session.format == "codex" {
            envelope.took = tool_seconds(bytes);
        }
        envelope
    }

    fn members(&mut self, cursor: &mut Cursor<'_>, envelope: &mut Envelope) -> Result<()> {
        cursor.object(|cursor, key| {
            let opens = cursor.peek();
            match (key, opens) {
                (b"timestamp", _) if envelope.at.is_none() => {
                    let text = cursor.string()?.map(display_text);
                    envelope.at = text.and_then(|text| milliseconds(&text));
                }
                // The time of a request that a proxy passed on, and how long its reply took.
                (b"at", Some(b'0'..=b'9')) => {
                    envelope.at = String::from_utf8_lossy(cursor.raw()?).parse().ok();
                }
                (b"ms", Some(b'[')) => {
                    cursor.array(|cursor| {
                        let number = String::from_utf8_lossy(cursor.raw()?).parse().ok();
                        envelope.replied_in = number.or(envelope.replied_in);
                        Ok(())
                    })?;
                }
                (b"held_ms", Some(b'[')) => {
                    let mut parts = envelope.held.iter_mut();
                    cursor.array(|cursor| {
                        let number = String::from_utf8_lossy(cursor.raw()?).parse();
                        if let (Some(part), Ok(number)) = (parts.next(), number) {
                            *part = number;
                        }
                        Ok(())
                    })?;
                }
                (b"usage" | b"usageMetadata", Some(b'{')) => {
                    let raw = String::from_utf8_lossy(cursor.raw()?);
                    if let Some(tokens) = Tokens::of_value(&raw) {
                        envelope.tokens = Some(tokens);
                        envelope.cost = cost_of(&raw, &tokens);
                    }
                }
                (b"accumulated_cost", Some(b'0'..=b'9')) => {
                    let dollars = String::from_utf8_lossy(cursor.raw()?).parse().ok();
                    envelope.accumulated_cost = dollars.and_then(Cost::of_dollars);
                }
                (b"model", Some(b'"')) => {
                    let name = cursor.string()?.map(display_text).unwrap_or_default();
                    envelope.model = self.model(&name).or(envelope.model.take());
                }
                (b"request" | b"sent", Some(b'{')) => {
                    let Range { start, end } = cursor.skip()?;
                    envelope.requests.push(start as u64..end as u64);
                }
                (b"message" | b"response" | b"entry", Some(b'{')) => {
                    self.members(cursor, envelope)?;
                }
                (b"toolUseResult", Some(b'{')) => {
                    cursor.object(|cursor, key| {
                        if let b"durationMs" | b"totalDurationMs" = key {
                            let number = String::from_utf8_lossy(cursor.raw()?).parse().ok();
                            envelope.took = number.or(envelope.took);
                        }
                        Ok(())
                    })?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(())
    }

    /// A model by its name, which is mostly that of the record before.
    fn model(&mut self, name: &str) -> Option<Arc<str>> {
        if name.is_empty() || name == SYNTHETIC {
            return None;
        }
        if self.model.as_deref() != Some(name) {
            self.model = Some(name.into());
        }
        self.model.clone()
    }

    /// Searches a giant record around its item.
    fn search(&mut self, record: Span, item: &Item) -> Result<Envelope, SourceError> {
        let rest = Span::new(item.span.end.min(record.end), record.end);
        let source = &self.session.source;
        let (head, tail) = (
            source.read(record.head(WINDOW))?,
            source.read(rest.head(WINDOW))?,
        );
        let own_end = Span {
            start: item.span.end.saturating_sub(WINDOW).max(item.span.start),
            ..item.span
        };
        let took = match self.session.format {
            "codex" => tool_seconds(&source.read(own_end)?),
            _ => None,
        };
        let (head, tail) = (
            String::from_utf8_lossy(&head),
            String::from_utf8_lossy(&tail),
        );
        let text_of = |name: &str| {
            [&tail, &head].into_iter().find_map(|text| {
                let start = text.find(name)? + name.len();
                text[start..].split('"').next()
            })
        };
        let at = text_of("\"timestamp\":\"").and_then(milliseconds);
        let usage = tail.find(USAGE).and_then(|start| {
            let value = &tail[start + USAGE.len()..];
            let length = Cursor::new(value.as_bytes()).skip().ok()?.end;
            let tokens = Tokens::of_value(&value[..length])?;
            Some((tokens, cost_of(&value[..length], &tokens)))
        });
        let closing = self.closing(rest)?;
        let opening = self.opening(record, item)?;
        Ok(Envelope {
            at: closing.at.or(at).or(opening.at),
            tokens: usage.map_or(closing.tokens.or(opening.tokens), |(it, _)| Some(it)),
            cost: usage.map_or(closing.cost.or(opening.cost), |(_, cost)| cost),
            accumulated_cost: closing.accumulated_cost.or(opening.accumulated_cost),
            model: text_of("\"model\":\"")
                .and_then(|name| self.model(name))
                .or(closing.model)
                .or(opening.model),
            took: took.or(closing.took),
            ..Envelope::default()
        })
    }

    /// What a giant record says after its item and what else is as long: its last members, in any spelling.
    fn closing(&mut self, rest: Span) -> Result<Envelope, SourceError> {
        let start = rest.end.saturating_sub(WINDOW).max(rest.start);
        let end = self.session.source.read(Span::new(start, rest.end))?;
        let mut closing = Envelope::default();
        for comma in memchr::memchr_iter(b',', &end) {
            let members = [b"{", &end[comma + 1..]].concat();
            // Members of the record itself end where it does.
            let is_whole = |end: usize| members[end..].trim_ascii().is_empty();
            if skip_value(&members, 0).is_ok_and(is_whole) {
                // What cannot be read says nothing.
                let _ = self.members(&mut Cursor::new(&members), &mut closing);
                break;
            }
        }
        Ok(closing)
    }

    /// What a giant record says before its item: all that a record says which was spelled anew.
    fn opening(&mut self, record: Span, item: &Item) -> Result<Envelope, SourceError> {
        let before = Span::new(
            record.start,
            item.span.start.clamp(record.start, record.end),
        );
        let text = complete(&self.session.source.read(before.head(WINDOW))?);
        let mut opening = Envelope::default();
        // What cannot be read says nothing.
        let _ = self.members(&mut Cursor::new(&text), &mut opening);
        Ok(opening)
    }
}

/// The cost that the value of a `usage` member holds beside its tokens.
fn cost_of(usage: &str, tokens: &Tokens) -> Option<RequestCost> {
    let start = member(usage, "cost").filter(|_| usage.contains("\"cost\""))?;
    RequestCost::recorded(&serde_json::from_str(&usage[start]).ok()?, tokens)
}

const USAGE: &str = "\"usage\":";
/// What Claude Code calls itself where no model answered.
const SYNTHETIC: &str = "<synthetic>";

/// How long a tool of Codex ran, in milliseconds: `\"duration_seconds\":0.1` at the end of a result, or
/// `Wall time: 0.1 seconds` at its beginning.
fn tool_seconds(bytes: &[u8]) -> Option<u64> {
    let number = |start: usize, skipped: &[u8]| {
        let rest = bytes.get(start..)?;
        let rest = &rest[rest.iter().position(|byte| !skipped.contains(byte))?..];
        let end = rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'.'));
        let text = std::str::from_utf8(&rest[..end?]).ok()?;
        let seconds = text.parse::<f64>().ok()?;
        Some((seconds * 1000.0).round() as u64)
    };
    let named = memchr::memmem::rfind(bytes, DURATION);
    let named = named.and_then(|start| number(start + DURATION.len(), b"\\\": "));
    named.or_else(|| {
        let start = memchr::memmem::find(bytes, WALL_TIME)?;
        number(start + WALL_TIME.len(), b" ")
    })
}

const DURATION: &[u8] = b"duration_seconds";
const WALL_TIME: &[u8] = b"Wall time:";

/// The folder in which an agent worked, with a slash at its end, where the beginning of the recording names it.
pub fn working_folder(session: &Session) -> Option<String> {
    let whole = Span::new(0, session.source.len());
    let head = session.source.read(whole.head(BEGINNING)).ok()?;
    let folder = first_text_member(&head, "cwd")?;
    let folder = folder.trim_end_matches('/');
    (folder.len() > 1).then(|| format!("{folder}/"))
}

/// How much of a recording is searched for it.
const BEGINNING: u64 = 32 * 1024;
