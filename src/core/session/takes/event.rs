//! The take and the events of the tree of takes: the entries of its journal.

use super::anchor::{AnchoredSplice, ContentDigest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A take by its number; 0 is the recording itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TakeId(pub u32);

impl TakeId {
    pub const MAIN: Self = Self(0);
}

impl fmt::Display for TakeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MAIN => f.write_str("main"),
            Self(number) => write!(f, "{number}"),
        }
    }
}

/// A branch of a session: what was done differently, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Take {
    /// The take that it branches off.
    pub parent: TakeId,
    /// Its label in the tree.
    pub title: String,
    /// The session of the file that it is about, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session: u32,
    /// The item at which it branches off, as a number in its parent from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub forked_at: Option<u32>,
    /// Which finding it fixes, by which action, and who decided it.
    pub cause: TakeCause,
    /// Name of the wording.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wording: Option<String>,
    /// The words as the model reads them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub words: Option<String>,
    /// The notes that the operator read before accepting.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notes: Vec<String>,
    /// Which sample of its parent's words it holds, from 0, in a journal of the lab.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample: Option<u32>,
    /// A value that was accepted as fallback and enters no history.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fallback: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub outcome: TakeOutcome,
    /// A text of its own in the place of its parent's: the history written as one request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub own: Option<OwnText>,
    /// What changes, in the places of its parent.
    pub splices: Vec<AnchoredSplice>,
}

/// A text that a take replaces its parent's with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnText {
    /// Id of the format that reads it.
    pub format: String,
    #[serde(with = "super::spelling::bytes")]
    pub text: Vec<u8>,
}

/// Why there is a take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TakeCause {
    /// Id of the rule whose finding it mends; `None` where the operator acted without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rule: Option<String>,
    /// The item that it is about, as a number in the parent from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub item: Option<u32>,
    /// Id of the action; `None` for a branch without a change.
    #[serde(default, skip_serializing_if = "is_default")]
    pub action: Option<String>,
    #[serde(default)]
    pub by: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// The operator, on the screen.
    #[default]
    Operator,
    Fix,
    Policy,
}

/// The result of a take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TakeOutcome {
    /// The findings of its parent.
    #[serde(default)]
    pub before: FindingCounts,
    #[serde(default)]
    pub after: FindingCounts,
    /// Whether it ends where it is the model's turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks_model: bool,
    /// What the model did next, in the words of the live run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub live: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FindingCounts {
    pub errors: u32,
    pub warnings: u32,
    /// Findings of severity info.
    pub infos: u32,
}

/// An item of a take: where its bytes begin, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemMark {
    /// Byte at which the item begins in the take.
    pub at: u64,
    /// Digest of its bytes: the item may have gone from there.
    pub digest: ContentDigest,
}

impl ItemMark {
    /// The mark of an item with these bytes.
    pub fn new(at: u64, bytes: &[u8]) -> Self {
        let digest = ContentDigest::of(bytes);
        Self { at, digest }
    }
}

/// One change of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum TakeEvent {
    /// A new take, which becomes the current one.
    Taken { id: TakeId, take: Box<Take> },
    /// A take grew: something was appended to its text.
    Grown {
        take: TakeId,
        /// Which of its steps this is, from 0: what follows a lost step has no place.
        step: u32,
        /// What changes, in the places of its text so far.
        splices: Vec<AnchoredSplice>,
    },
    /// Another take became the current one.
    Moved { to: TakeId },
    /// A take got another title.
    Titled { take: TakeId, title: String },
    /// A note was written on an item; empty takes it away.
    Noted {
        take: TakeId,
        item: ItemMark,
        text: String,
    },
    /// A bookmark was set on an item, or taken away.
    Bookmarked {
        take: TakeId,
        item: ItemMark,
        /// Whether it is set.
        set: bool,
    },
    /// The result of a take is known.
    Judged { take: TakeId, outcome: TakeOutcome },
}

/// Why an event cannot be applied to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TakeEventError {
    /// It is about a take that is not there.
    #[error("take {0} does not exist")]
    NoTake(TakeId),
    /// The take that it branches off is not there.
    #[error("take {take} branches off take {parent}, which does not exist")]
    NoParent {
        take: TakeId,
        /// The one that is missing.
        parent: TakeId,
    },
    /// There is a take of this number already.
    #[error("there are two takes {0}")]
    Twice(TakeId),
    /// The recording does not grow by a take's event.
    #[error("nothing can be appended to the recording itself")]
    Recording,
    /// Other takes build on its text.
    #[error("other takes branch off take {0}, so nothing can be appended to it")]
    HasBranches(TakeId),
    /// Steps before it are missing, or one of them occurs twice.
    #[error("step {step} of take {take} does not follow its previous step")]
    NoStep { take: TakeId, step: u32 },
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
