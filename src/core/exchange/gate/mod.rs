//! The gate of a streamed reply: text passes as it comes, calls are kept back until they were checked.
//!
//! From the first event of a call on everything is kept in its order until that call is complete; then somebody
//! checks it ([`Gate::reply`]) and says [`Gate::sound`] or [`Gate::hold`]. What passes is what came, byte for
//! byte. Only whole events pass: half of one might turn out to begin a call.
//!
//! A call is complete where its provider says so: Responses with `response.output_item.done`, Anthropic with
//! `content_block_stop`. Chat says so only of all calls at once, with the `finish_reason`: pieces of several
//! calls may come in any order until then. Of several choices of Chat the first is judged; calls of the others
//! are kept and pass with it.

use crate::session::Dialect;
use crate::wire::stream::{CallPart, EventSummary, classify, event_value, rejoin};
use cut::{Cutter, data_of, events};
pub use sent::Sent;
use std::ops::Range;

mod cut;
mod sent;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// How much of a stream is kept, in bytes. Past a limit everything passes as it comes, and is
/// looked at no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// The whole reply, which a check needs.
    pub held: usize,
    /// One event that has not ended yet.
    pub event: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            held: 16 * 1024 * 1024,
            event: 16 * 1024 * 1024,
        }
    }
}

/// What bytes have brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStep {
    /// Nothing that awaits a check.
    Flows,
    /// A call is complete, and awaits a check.
    Complete,
}

/// The gate of one streamed reply.
#[derive(Debug, Clone)]
pub struct Gate {
    dialect: Dialect,
    limits: StreamLimits,
    sent: Sent,
    cutter: Cutter,
    /// Up to here the stream consists of whole events.
    whole: usize,
    calls: Calls,
    course: StreamProgress,
    in_progress: Option<String>,
    /// Everything waits for the end, not calls alone.
    holds_text: bool,
    mode: Mode,
}

/// Under these keys what is not a call waits for a check like one: the end of a reply that was cut off
/// or refused, and text.
const END: &[u8] = b"\0end";
const TEXT: &[u8] = b"\0text";

/// What becomes of whole events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They pass up to the first call that was not checked.
    Sifts,
    Holds,
    Passes,
    /// All pass unseen: a limit was passed.
    Blind,
}

impl Gate {
    /// A gate for one reply. Replies of Gemini pass as they come: its dialect is not gated.
    pub fn new(dialect: Dialect, limits: StreamLimits) -> Self {
        Self {
            dialect,
            limits,
            sent: Sent::default(),
            cutter: Cutter::default(),
            whole: 0,
            calls: Calls::default(),
            course: StreamProgress::default(),
            in_progress: None,
            holds_text: false,
            mode: Mode::Sifts,
        }
    }

    /// The same where words, too, are kept back until the reply has come to its end and was checked.
    pub fn holding_text(self) -> Self {
        Self {
            holds_text: true,
            ..self
        }
    }

    /// Takes the next bytes of the reply, cut anywhere; adds what passes to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> GateStep {
        if self.mode == Mode::Blind {
            out.extend_from_slice(bytes);
            return GateStep::Flows;
        }
        self.sent.stream.extend_from_slice(bytes);
        let mut is_complete = false;
        while let Some(end) = self.cutter.next(&self.sent.stream) {
            let event = std::mem::replace(&mut self.whole, end)..end;
            is_complete |= self.take(event);
        }
        self.flow(out);
        let length = self.sent.stream.len();
        let is_long = length > self.limits.held || length - self.whole > self.limits.event;
        if is_long || self.calls.are_too_many() {
            self.give_up(out);
            return GateStep::Flows;
        }
        match self.mode {
            Mode::Sifts if is_complete => GateStep::Complete,
            _ => GateStep::Flows,
        }
    }

    /// The complete calls are sound: they, and what follows them up to the next call that is not
    /// complete, are added to `out`.
    pub fn sound(&mut self, out: &mut Vec<u8>) {
        self.calls.sound();
        self.flow(out);
    }

    /// From now on everything is kept.
    pub fn hold(&mut self) {
        if self.mode == Mode::Sifts {
            self.mode = Mode::Holds;
        }
    }

    /// The reply has come to its end, as far as HTTP is concerned: calls that were not complete
    /// count as complete, as SDKs take them ([`Self::awaits_check`]). Where nothing is kept for a
    /// check, the rest passes.
    pub fn end(&mut self, out: &mut Vec<u8>) -> StreamEnd {
        if self.mode == Mode::Blind {
            return StreamEnd::Unseen;
        }
        let tail = self.whole..self.sent.stream.len();
        // Some servers forget the last blank line. What is no JSON was cut there.
        let data = data_of(&self.sent.stream, tail.clone());
        if data.is_some_and(|data| classify(self.dialect, &data).is_some()) {
            self.whole = tail.end;
            self.take(tail);
        }
        self.calls.complete();
        let end = self.course.end(&self.sent.stream[self.whole..]);
        if self.mode != Mode::Holds && self.calls.first().is_none() {
            self.sent.pass(self.sent.stream.len(), out);
        } else {
            // The tail goes where the calls before it go.
            self.whole = self.sent.stream.len();
        }
        end
    }

    /// Everything that is kept passes as it came, and so does what comes later.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        self.calls.clear();
        if self.mode != Mode::Blind {
            self.mode = Mode::Passes;
        }
        self.sent.pass(self.sent.stream.len(), out);
    }

    /// Whether the end mark of the stream has come.
    pub fn is_marked(&self) -> bool {
        self.course.is_marked
    }

    /// Whether a complete call awaits a check.
    pub fn awaits_check(&self) -> bool {
        self.mode == Mode::Sifts && self.calls.has_complete()
    }

    /// The reply so far as one JSON document of its dialect, with the calls that are complete; `None` where the
    /// dialect is not gated, or a limit was passed.
    pub fn reply(&self) -> Option<String> {
        if self.mode == Mode::Blind {
            return None;
        }
        let mut reply = self.dialect.codec().decoder();
        let stream = &self.sent.stream[..self.whole];
        for event in events(stream) {
            let at = event.start;
            let Some(data) = data_of(stream, event) else {
                continue;
            };
            let Some(look) = classify(self.dialect, &data) else {
                continue;
            };
            let is_open = look.part;
            let is_open = is_open.is_some_and(|part| self.calls.is_open_at(part.key, at));
            match event_value(&String::from_utf8_lossy(&data)) {
                // `[DONE]`
                None => {
                    reply.push_done();
                }
                Some(mut event) => {
                    if !is_open || self.dialect.codec().drops_calls(&mut event) {
                        reply.push(&event);
                    }
                }
            }
        }
        let json = reply.finish().json;
        Some(rejoin(&json).into_owned())
    }

    /// What the client has seen; nothing where a limit was passed.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Whether a limit was passed, so that everything passes unseen.
    pub fn is_over_bound(&self) -> bool {
        self.mode == Mode::Blind
    }

    /// What was odd so far.
    pub fn oddities(&self) -> Oddities {
        self.course.oddities
    }

    /// The data of the last event that passed and reported the Response as in progress, on one line; only
    /// Responses has such events.
    pub fn in_progress(&self) -> Option<&str> {
        self.in_progress.as_deref()
    }

    /// The `sequence_number` that an event which is inserted now has to have.
    pub fn next_number(&self) -> u64 {
        self.sent
            .next_number(self.dialect)
            .unwrap_or(self.sent.inserted)
    }

    /// So many numbered events were inserted after what has passed: the rest of the stream is renumbered.
    pub fn inserted(&mut self, events: u64) {
        self.sent.inserted = self.sent.inserted.saturating_add(events);
    }

    /// Takes a whole event. Gives whether a call is complete by it.
    fn take(&mut self, event: Range<usize>) -> bool {
        let at = event.start;
        let Some(data) = data_of(&self.sent.stream, event) else {
            return false;
        };
        if data.trim_ascii().is_empty() {
            return false;
        }
        self.course.events += 1;
        let Some(look) = classify(self.dialect, &data) else {
            self.course.oddities.malformed += 1;
            return false;
        };
        let is_late = self.course.is_marked && data.trim_ascii() != b"[DONE]";
        if is_late {
            self.course.oddities.late += 1;
        }
        if look.opens && self.mode != Mode::Holds && self.calls.first().is_none() {
            let data = String::from_utf8_lossy(&data).replace(['\r', '\n'], " ");
            self.in_progress = Some(data);
        }
        if self.holds_text && self.course.events == 1 {
            self.calls.begin(TEXT, at);
        }
        self.course.refuses |= look.refuses;
        let is_end = look.stops_early || (self.course.refuses && look.completes);
        if is_end && self.mode != Mode::Passes && !self.course.is_early {
            self.course.is_early = true;
            self.calls.begin(END, at);
        }
        self.course.is_said |= look.completes;
        self.course.is_marked |= look.ends;
        self.course.has_failed |= look.fails;
        if self.mode == Mode::Passes {
            return false;
        }
        // What could not be judged before the end mark can be now.
        follow(&mut self.calls, &look, at) || (look.ends && self.calls.has_complete())
    }

    fn flow(&mut self, out: &mut Vec<u8>) {
        let to = match self.mode {
            Mode::Sifts => self.calls.first().unwrap_or(self.whole),
            Mode::Holds => return,
            Mode::Passes | Mode::Blind => self.whole,
        };
        self.sent.pass(to, out);
    }

    /// More came than is kept.
    fn give_up(&mut self, out: &mut Vec<u8>) {
        self.release(out);
        self.mode = Mode::Blind;
        self.sent.stream = Vec::new();
        self.sent.passed = 0;
        self.whole = 0;
    }
}

/// Follows the calls through an event. Gives whether a call is complete by it.
fn follow(calls: &mut Calls, look: &EventSummary<'_>, at: usize) -> bool {
    let mut is_complete = look.part.is_some_and(|part| calls.take(part, at));
    if look.calls > calls.begun() {
        // The end of a Response brings calls that no earlier event reported.
        calls.begin(b"", at);
    }
    if look.completes {
        is_complete |= calls.complete();
    }
    is_complete
}

// The calls of a reply that were not found sound yet.

/// The most calls that wait at a time; each event is matched with all of them.
const MOST: usize = 1024;

/// A call that has begun.
#[derive(Debug, Clone)]
struct Call {
    key: Vec<u8>,
    /// Where its first event begins.
    begins: usize,
    is_complete: bool,
}

/// The calls that wait, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    waiting: Vec<Call>,
    /// How many have begun at all.
    begun: usize,
}

impl Calls {
    /// Takes an event about a part of the reply, which begins at `at`. Gives whether a call is complete by it.
    pub(crate) fn take(&mut self, part: CallPart<'_>, at: usize) -> bool {
        let known = self.place_of(part.key);
        let place = match known {
            Some(place) => place,
            None if part.is_call => {
                self.begin(part.key, at);
                self.waiting.len() - 1
            }
            None => return false,
        };
        self.waiting[place].is_complete |= part.ends;
        part.ends
    }

    /// A call begins with the event at `at`, or something else that waits like one.
    pub(crate) fn begin(&mut self, key: &[u8], at: usize) {
        self.begun += usize::from(!key.starts_with(b"\0"));
        self.waiting.push(Call {
            key: key.to_vec(),
            begins: at,
            is_complete: false,
        });
    }

    /// All that have begun are complete. Gives whether one was not before.
    pub(crate) fn complete(&mut self) -> bool {
        let mut changed = false;
        for call in self.waiting.iter_mut().filter(|call| !call.is_complete) {
            call.is_complete = true;
            changed = true;
        }
        changed
    }

    /// Those that are complete are sound, and wait no longer.
    pub(crate) fn sound(&mut self) {
        self.waiting.retain(|call| !call.is_complete);
    }

    /// None waits any longer.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// How many have begun at all.
    pub(crate) fn begun(&self) -> usize {
        self.begun
    }

    /// Where the first one that waits begins.
    pub(crate) fn first(&self) -> Option<usize> {
        self.waiting.first().map(|call| call.begins)
    }

    /// Whether a complete one waits.
    pub(crate) fn has_complete(&self) -> bool {
        self.waiting.iter().any(|call| call.is_complete)
    }

    /// Whether more wait than are kept apart.
    pub(crate) fn are_too_many(&self) -> bool {
        self.waiting.len() > MOST
    }

    /// Whether the event at `at` about the part with this key belongs to a call that is not complete.
    pub(crate) fn is_open_at(&self, key: &[u8], at: usize) -> bool {
        let place = self.place_of(key);
        place.is_some_and(|place| self.waiting[place].begins <= at)
    }

    /// The latest one with this key that is not complete.
    fn place_of(&self, key: &[u8]) -> Option<usize> {
        let is_it = |call: &Call| !call.is_complete && call.key == key;
        self.waiting.iter().rposition(is_it)
    }
}

// How a stream ended.

/// How a stream ended, as far as its bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamEnd {
    /// With its end mark.
    Whole,
    /// The reply is complete (Chat: a `finish_reason` has come), but the end mark is missing.
    Unmarked,
    /// Before the reply was complete. SDKs take this for a success (openai-python 3.52, openai-node 6.49).
    Short,
    InEvent,
    InCharacter,
    /// The provider reported a failure in it.
    Failed,
    /// It is not a stream of events: a page of HTML, a JSON document.
    Foreign,
    /// It was too long to be looked at to its end.
    #[default]
    Unseen,
}

impl StreamEnd {
    /// What the operator should know of it; `None` for an end as it should be.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::Unseen => None,
            Self::Unmarked => Some("the stream ended without its end mark; the reply is complete"),
            Self::Short => Some("the stream ended before the reply was complete"),
            Self::InEvent => Some("the stream ended within an event"),
            Self::InCharacter => Some("the stream ended within a character"),
            Self::Failed => Some("the provider reported a failure in the stream"),
            Self::Foreign => Some("a stream of events was announced, and something else came"),
        }
    }
}

/// What was odd about a stream; it passed all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oddities {
    /// Events whose data is no JSON.
    pub malformed: u32,
    /// Events after the end mark.
    pub late: u32,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamProgress {
    pub(crate) events: u64,
    pub(crate) is_said: bool,
    pub(crate) is_marked: bool,
    pub(crate) has_failed: bool,
    /// Whether the model says that it refuses.
    pub(crate) refuses: bool,
    /// Whether its end waits for a check: it was cut off or refused.
    pub(crate) is_early: bool,
    pub(crate) oddities: Oddities,
}

impl StreamProgress {
    /// How a stream ends with these bytes after its last whole event.
    pub(crate) fn end(&self, tail: &[u8]) -> StreamEnd {
        let is_cut = tail.iter().any(|byte| !byte.is_ascii_whitespace());
        if self.has_failed {
            StreamEnd::Failed
        } else if self.is_marked {
            StreamEnd::Whole
        } else if is_cut && is_cut_character(tail) {
            StreamEnd::InCharacter
        } else if self.events == 0 && is_cut {
            StreamEnd::Foreign
        } else if is_cut {
            StreamEnd::InEvent
        } else if self.is_said {
            StreamEnd::Unmarked
        } else {
            StreamEnd::Short
        }
    }
}

fn is_cut_character(tail: &[u8]) -> bool {
    // No character is longer than four bytes; earlier bytes cannot belong to it.
    let last = &tail[tail.len().saturating_sub(3)..];
    (0..last.len()).any(|at| {
        let fault = std::str::from_utf8(&last[at..]).err();
        fault.is_some_and(|fault| fault.valid_up_to() == 0 && fault.error_len().is_none())
    })
}
