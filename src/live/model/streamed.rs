//! A reply that comes as a stream of events.

use super::fault::{Trouble, beginning};
use super::{Answer, Body, ReplyProgress, Watch};
use retake_core::session::Dialect;
use retake_core::wire::stream::{
    Decoder, FrameReader, Splitter, Step, StreamEvent, dialect_of, event_value, rejoin, visible,
};
use retake_core::wire::usage_of;
use serde_json::Value;
use std::time::{Duration, Instant};

/// The most bytes of one event.
const EVENT: u64 = 16 * 1024 * 1024;

/// The most calls of one reply; each event is matched with all of them.
const CALLS: usize = 1024;

/// A chat reply whose `finish_reason` has come is whole; so long its usage and the end mark are waited for.
const AFTERMATH: Duration = Duration::from_secs(5);

/// After the end so long is waited for the connection to be free again.
const DRAIN: Duration = Duration::from_millis(200);

/// Of a stream without any event that fits so many bytes are kept, to say what it is.
const BEGINNING: usize = 1024;

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Grows,
    /// Chat: there is a `finish_reason`, and the usage may follow.
    Finishes,
    /// Nothing more belongs to it.
    Over,
}

/// A reply that is being put together.
struct Streamed {
    dialect: Dialect,
    reply: Box<dyn Decoder>,
    stage: Stage,
    since: Instant,
    /// How many calls were shown.
    calls: usize,
    /// Whether an event was one of the dialect.
    fits: bool,
    /// Whether one was not.
    is_foreign: bool,
    failure: Option<Value>,
    unreadable: u32,
    late: u32,
}

/// Reads the rest of the body.
pub(crate) async fn read(
    dialect: Dialect,
    mut body: Body,
    watch: &mut Watch<'_>,
) -> Result<Answer, Trouble> {
    let mut streamed = Streamed {
        dialect,
        reply: dialect.codec().decoder(),
        stage: Stage::Grows,
        since: Instant::now(),
        calls: 0,
        fits: false,
        is_foreign: false,
        failure: None,
        unreadable: 0,
        late: 0,
    };
    let mut frames = FrameReader::default();
    let (mut splitter, mut pushed, mut cut) = (Splitter::default(), 0, 0);
    let mut start = Vec::new();
    loop {
        let limit = match streamed.stage {
            Stage::Grows => None,
            Stage::Finishes => Some(AFTERMATH),
            Stage::Over => Some(DRAIN),
        };
        let bytes = match limit {
            None => body.next(watch).await?,
            // The reply is whole; that what may follow does not come is not a fault.
            Some(limit) => {
                let left = limit.saturating_sub(streamed.since.elapsed());
                body.next_within(left, watch).await.ok().flatten()
            }
        };
        let Some(bytes) = bytes else { break };
        let room = BEGINNING.saturating_sub(start.len()).min(bytes.len());
        start.extend_from_slice(&bytes[..room]);
        let events = frames.push(&bytes);
        let bytes = events.map_err(|error| Trouble::Strange(error.to_string()))?;
        pushed += bytes.len() as u64;
        splitter.push(&bytes, |event| {
            cut = event.range.end;
            streamed.take(&event, watch);
        });
        if let Some(failure) = streamed.failure.take() {
            return Err(Trouble::Reported(failure));
        }
        if pushed - cut > EVENT {
            return Err(Trouble::Large(
                "an event of the stream has more than 16 MiB",
            ));
        }
        if streamed.calls > CALLS {
            return Err(Trouble::Large("the reply has more than 1024 calls"));
        }
    }
    if let Some(event) = splitter.finish() {
        streamed.take_last(&event, watch);
    }
    match streamed.failure.take() {
        Some(failure) => Err(Trouble::Reported(failure)),
        None => streamed.finish(&start, watch),
    }
}

impl Streamed {
    fn take(&mut self, event: &StreamEvent, watch: &mut Watch<'_>) {
        let data = event.data.trim();
        if data.is_empty() || self.failure.is_some() {
            return;
        }
        if data == "[DONE]" {
            self.reply.push_done();
            self.fits |= self.dialect.facts().tells_usage_last;
            return self.end(Stage::Over, watch);
        }
        if self.stage == Stage::Over {
            self.late = self.late.saturating_add(1);
            return;
        }
        match event_value(data).filter(Value::is_object) {
            Some(value) => self.push(&value, watch),
            None if event.name == "error" => self.failure = Some(Value::from(data)),
            None => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    /// Takes an event without its blank line, at the end of the stream: some servers forget it, and a cut
    /// leaves such a part, too.
    fn take_last(&mut self, event: &StreamEvent, watch: &mut Watch<'_>) {
        let data = event.data.trim();
        if data == "[DONE]" || event_value(data).is_some() {
            self.take(event, watch);
        }
    }

    fn push(&mut self, event: &Value, watch: &mut Watch<'_>) {
        let of = dialect_of(event);
        let is_ping = event.get("type").is_some_and(|kind| kind == "ping");
        self.fits |= of == Some(self.dialect);
        self.is_foreign |= of != Some(self.dialect) && !is_ping;
        let words = self.dialect.codec().text_of(event);
        let (reasoning, text) = (visible(words.reasoning), visible(words.text));
        if !reasoning.is_empty() {
            watch.show(ReplyProgress::Reasoning(&reasoning));
        }
        if !text.is_empty() {
            watch.show(ReplyProgress::Text(&text));
        }
        match self.reply.push(event) {
            Step::Failed => {
                let error = event.pointer("/response/error").or(event.get("error"));
                let error = error.filter(|error| !error.is_null());
                self.failure = Some(error.unwrap_or(event).clone());
            }
            Step::CallGrows(place) | Step::CallEnds(place) => self.show_calls(place, watch),
            Step::Ends => {
                let stage = match self.dialect.facts().tells_usage_last {
                    true => Stage::Finishes,
                    false => Stage::Over,
                };
                self.end(stage, watch);
            }
            Step::Nothing if of.is_none() => {
                // Gateways report failures in OpenAI's shape whatever the dialect of the stream is.
                let error = event.get("error").filter(|error| !error.is_null());
                self.failure = error.cloned();
            }
            Step::Nothing | Step::Text => {}
        }
    }

    /// Goes to a later stage. All calls are complete then; Chat does not say so of each.
    fn end(&mut self, stage: Stage, watch: &mut Watch<'_>) {
        if self.stage == Stage::Grows {
            self.calls = 0;
            self.show_calls(usize::MAX, watch);
        }
        if self.stage != stage {
            self.since = Instant::now();
        }
        self.stage = stage;
    }

    /// Shows the call at this place, and those that were not shown yet.
    fn show_calls(&mut self, grown: usize, watch: &mut Watch<'_>) {
        let calls = self.reply.calls();
        let (known, count) = (self.calls, calls.len());
        for (place, call) in calls.into_iter().enumerate() {
            if place == grown || place >= known {
                watch.show(ReplyProgress::Call { place, call });
            }
        }
        self.calls = count;
    }

    fn finish(self, start: &[u8], watch: &Watch<'_>) -> Result<Answer, Trouble> {
        if !self.fits {
            let start = String::from_utf8_lossy(start);
            return Err(
                if is_stream(&start) && !self.is_foreign && self.unreadable == 0 {
                    Trouble::Short
                } else {
                    let (word, start) = (self.dialect.word(), beginning(&start));
                    Trouble::Strange(format!(
                        "the reply is neither JSON nor a stream of the dialect {word}; {start}"
                    ))
                },
            );
        }
        let reply = self.reply.finish();
        let json = rejoin(&reply.json).into_owned();
        Ok(Answer {
            usage: usage_of(&json),
            json,
            first_ms: watch.first_ms.unwrap_or_default(),
            total_ms: watch.ms(),
            ended: reply.ended,
            unreadable: self.unreadable,
            late: self.late,
            was_streamed: true,
            request_id: None,
        })
    }
}

/// Whether a text begins as a stream of events does.
fn is_stream(start: &str) -> bool {
    const FIELDS: &[&str] = &[":", "data", "event", "id", "retry"];
    let start = start.trim_start_matches('\u{feff}').trim_start();
    FIELDS.iter().any(|field| start.starts_with(field))
}
