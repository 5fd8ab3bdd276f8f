//! What the lines of a journal tell: takes, what was done in the world, and of a run the request
//! that it began with.

use crate::journal::{Damage, JournalLine};
use retake_core::session::ledger::{Ledger, LedgerEvent};
use retake_core::session::takes::{TakeEvent, TakeId, Takes, spelling};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What can be entered in a journal. Takes and the ledger tell their entries apart by `type`; no word
/// is used by both.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum JournalEntry<'a> {
    /// The tree of takes has changed.
    Take(&'a TakeEvent),
    /// Something happened in the world.
    Ledger(&'a LedgerEvent),
}

impl<'a> From<&'a TakeEvent> for JournalEntry<'a> {
    fn from(event: &'a TakeEvent) -> Self {
        Self::Take(event)
    }
}

impl<'a> From<&'a LedgerEvent> for JournalEntry<'a> {
    fn from(event: &'a LedgerEvent) -> Self {
        Self::Ledger(event)
    }
}

/// The word of the entry that holds the request that a run began with.
const BASE: &str = "base";

/// The request that a run began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstRequest {
    #[serde(rename = "type")]
    kind: String,
    /// Id of the format that reads it.
    pub format: String,
    #[serde(with = "spelling::bytes")]
    pub text: Vec<u8>,
}

impl FirstRequest {
    /// A request in a format.
    pub(crate) fn new(format: &str, text: &[u8]) -> Self {
        Self {
            kind: BASE.to_owned(),
            format: format.to_owned(),
            text: text.to_owned(),
        }
    }
}

/// An entry of the ledger, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub event: LedgerEvent,
    pub current: TakeId,
    /// The time that was told with it, in milliseconds since 1970; 0 where none was.
    pub time: u64,
}

/// Everything that a journal tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct JournalState {
    pub(crate) takes: Takes,
    pub(crate) ledger: Ledger,
    pub(crate) happened: Vec<Happened>,
    pub(crate) base: Option<FirstRequest>,
}

/// What every entry says besides.
#[derive(Deserialize)]
struct Common<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    time: u64,
}

impl JournalState {
    /// Takes over what a line says; gives what is wrong with it.
    pub(crate) fn apply(&mut self, line: &JournalLine) -> Option<Damage> {
        let (seq, at) = (line.seq, line.at);
        let told = self.entry(&line.entry);
        let unknown = |error: serde_json::Error| Damage::Unknown {
            seq,
            at,
            why: error.to_string(),
        };
        match told {
            Ok(None) => None,
            Ok(Some(event)) => {
                let why = self.takes.apply(event).err()?;
                Some(Damage::Misfit { seq, at, why })
            }
            Err(error) => Some(unknown(error)),
        }
    }

    /// Reads an entry. A change of the tree is given back; the rest is taken over.
    fn entry(&mut self, entry: &str) -> serde_json::Result<Option<TakeEvent>> {
        let Common { kind, time } = serde_json::from_str(entry)?;
        if kind == BASE {
            let base = serde_json::from_str(entry)?;
            self.base.get_or_insert(base);
        } else if LedgerEvent::TYPES.contains(&&*kind) {
            let event = serde_json::from_str(entry)?;
            self.ledger.apply_beside(&event, &self.takes);
            self.happened.push(Happened {
                event,
                current: self.takes.current(),
                time,
            });
        } else {
            return serde_json::from_str(entry).map(Some);
        }
        Ok(None)
    }
}
