//! A recording as it is served: its model turns, each with the history before it.

use super::history::{self, HistoryEntry, Replies};
use super::terms::RequestTerms;
use crate::formats::{RequestError, read_request};
use crate::redact::{Redactor, Vault};
use crate::session::{Dialect, Flags, Kind, Session, SourceResult, Speaker};
use crate::wire::RequestHead;
use serde_json::Value;
use std::collections::HashMap;

/// The model turns of one or more sessions, ready to be requested.
#[derive(Debug, Default)]
pub struct Tape {
    pub(super) reels: Vec<Reel>,
    /// The turns by the words of the history before them, whatever their order.
    by_words: HashMap<u64, Vec<TapePlace>>,
    /// Whether secrets were taken out of it when it was recorded.
    is_redacted: bool,
}

/// A session of a tape.
#[derive(Debug)]
pub(super) struct Reel {
    pub(super) session: Session,
    pub(super) turns: Vec<Recorded>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded {
    /// Its number in the session, from 0.
    pub(super) turn: usize,
    /// How many replies stand before it.
    pub(super) replies: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TapePlace {
    /// Number of the session on the tape, from 0.
    pub session: usize,
    /// Number among the session's turns that say something, from 0.
    pub(super) number: usize,
}

impl Tape {
    /// A tape of these sessions, in their order. Fails where their bytes cannot be read.
    pub fn of(sessions: Vec<Session>) -> SourceResult<Self> {
        let mut tape = Self::default();
        for (number, session) in sessions.into_iter().enumerate() {
            let Walked {
                turns,
                words,
                is_redacted,
            } = walk(&session)?;
            tape.is_redacted |= is_redacted;
            for (turn, words) in words.into_iter().enumerate() {
                let place = TapePlace {
                    session: number,
                    number: turn,
                };
                tape.by_words.entry(words).or_default().push(place);
            }
            tape.reels.push(Reel { session, turns });
        }
        Ok(tape)
    }

    /// Reads a request to this recording: where secrets were taken out of the recording, they are taken out of
    /// the request as well.
    pub fn read(&self, dialect: Dialect, body: &[u8]) -> Result<ReplayRequest, RequestError> {
        if !self.is_redacted {
            return ReplayRequest::read(dialect, body);
        }
        ReplayRequest::read(
            dialect,
            &Redactor::default().json(body, &mut Vault::default()),
        )
    }

    /// Every turn that can be requested, in the order of the recording.
    pub fn places(&self) -> impl Iterator<Item = TapePlace> {
        let reels = self.reels.iter().enumerate();
        reels.flat_map(|(session, reel)| {
            let numbers = 0..reel.turns.len();
            numbers.map(move |number| TapePlace { session, number })
        })
    }

    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.reels.iter().map(|reel| &reel.session)
    }

    /// The number of a turn in its session as the transcript counts: from 1, the turns of the user too.
    pub fn turn(&self, place: TapePlace) -> usize {
        self.recorded(place).turn + 1
    }

    /// The turn in words; which session it is of only where there are several.
    pub fn words(&self, place: TapePlace) -> String {
        let turn = self.turn(place);
        match self.reels.len() {
            1 => format!("turn {turn}"),
            _ => format!("turn {turn} of session {}", place.session + 1),
        }
    }

    /// The names of the models that the sessions were recorded with, each once.
    pub fn models(&self) -> Vec<&str> {
        let mut models = Vec::new();
        for model in self
            .sessions()
            .filter_map(|session| session.model.as_deref())
        {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }

    pub(super) fn recorded(&self, place: TapePlace) -> Recorded {
        self.reels[place.session].turns[place.number]
    }

    /// The turns before which the same words came, in whatever order.
    pub(super) fn with_words(&self, words: u64) -> &[TapePlace] {
        self.by_words.get(&words).map_or(&[], Vec::as_slice)
    }

    /// The history before a turn, in its forms.
    pub(super) fn history(&self, place: TapePlace) -> SourceResult<Vec<Vec<HistoryEntry>>> {
        let session = &self.reels[place.session].session;
        let items = items_before(session, self.first(place));
        Ok(history::forms(session, pieces(session, &items)?))
    }

    /// The history up to the end of a turn, its reply and the outputs included.
    pub(super) fn history_through(&self, place: TapePlace) -> SourceResult<Vec<Vec<HistoryEntry>>> {
        let session = &self.reels[place.session].session;
        let mut items = items_before(session, self.first(place));
        items.extend(session.turns[self.recorded(place).turn].items());
        Ok(history::forms(session, pieces(session, &items)?))
    }

    /// What a request that asks for a turn holds beside its messages.
    pub(super) fn terms(&self, place: TapePlace) -> SourceResult<RequestTerms> {
        let session = &self.reels[place.session].session;
        let first = self.first(place);
        RequestTerms::of_recording(session, &items_before(session, first), first)
    }

    fn first(&self, place: TapePlace) -> usize {
        let reel = &self.reels[place.session];
        reel.session.turns[reel.turns[place.number].turn].first as usize
    }
}

/// The indices of what the provider saw before the item at `first`. Of a turn before a compaction that is what
/// comes after the one before it; of others it is what no compaction has replaced.
fn items_before(session: &Session, first: usize) -> Vec<usize> {
    let is_compacted = |index: &usize| session.items[*index].flags.has(Flags::COMPACTED);
    if first < session.items.len() && is_compacted(&first) {
        let marks = session.items[..first].iter();
        let mark = marks.rev().position(|item| item.kind == Kind::Compaction);
        return (mark.map_or(0, |back| first - back)..first).collect();
    }
    (0..first).filter(|index| !is_compacted(index)).collect()
}

fn pieces(session: &Session, items: &[usize]) -> SourceResult<Vec<HistoryEntry>> {
    let pieces = items.iter().map(|index| history::piece(session, *index));
    let pieces = pieces.filter_map(Result::transpose);
    pieces.collect()
}

// A request to a recording, read by the readers of its dialect.

#[derive(Debug, Clone)]
pub struct ReplayRequest {
    /// How it is spelled.
    pub dialect: Dialect,
    pub head: RequestHead,
    /// The tools on offer, as a request of Responses spells them; its reply repeats them.
    pub tools: Vec<Value>,
    /// Its history, in its forms.
    pub(super) history: Vec<Vec<HistoryEntry>>,
    /// The words of its history, whatever their order.
    pub(super) words: u64,
    /// How many replies its history holds.
    pub(super) replies: usize,
    /// What it holds beside.
    pub(super) terms: RequestTerms,
}

impl ReplayRequest {
    pub fn read(dialect: Dialect, body: &[u8]) -> Result<Self, RequestError> {
        let (head, session) = read_request(dialect, body)?;
        let (mut pieces, mut words, mut replies) = (Vec::new(), 0_u64, Replies::default());
        for index in 0..session.items.len() {
            if let Some(piece) = history::piece(&session, index)? {
                words = words.wrapping_add(piece.fingerprint());
                replies.push(&piece);
                pieces.push(piece);
            }
        }
        Ok(Self {
            dialect,
            tools: head.repeated_tools(dialect, body),
            head,
            history: history::forms(&session, pieces),
            words,
            replies: replies.count,
            terms: RequestTerms::of_request(&session)?,
        })
    }
}

/// What a walk over a session finds.
#[derive(Default)]
struct Walked {
    /// The turns that say something.
    turns: Vec<Recorded>,
    /// For each a number of the words before it.
    words: Vec<u64>,
    is_redacted: bool,
}

fn walk(session: &Session) -> SourceResult<Walked> {
    let mut walked = Walked::default();
    // What comes after the last compaction, and of all before this item what no compaction has replaced.
    let mut latest = (0_u64, Replies::default());
    let mut kept = (0_u64, Replies::default());
    for (number, turn) in session.turns.iter().enumerate() {
        let items = turn.items();
        let is_reply = turn.speaker == Speaker::Model
            && items
                .clone()
                .any(|index| matches!(session.items[index].kind, Kind::Assistant | Kind::Call));
        if is_reply {
            let is_compacted = session.items[items.start].flags.has(Flags::COMPACTED);
            let (sum, replies) = if is_compacted { latest } else { kept };
            walked.words.push(sum);
            walked.turns.push(Recorded {
                turn: number,
                replies: replies.count,
            });
        }
        for index in items {
            let item = &session.items[index];
            if item.kind == Kind::Compaction {
                latest = Default::default();
            }
            let Some(piece) = history::piece(session, index)? else {
                continue;
            };
            walked.is_redacted |= piece.is_redacted;
            let fingerprint = piece.fingerprint();
            let count = |(sum, replies): &mut (u64, Replies)| {
                *sum = sum.wrapping_add(fingerprint);
                replies.push(&piece);
            };
            count(&mut latest);
            if !item.flags.has(Flags::COMPACTED) {
                count(&mut kept);
            }
        }
    }
    Ok(walked)
}
