//! The head of an item: what it is and where its bytes are, in 56 bytes.

use super::contract::NameId;
use super::source::Span;
use foldhash::quality::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::OnceLock;

/// One thing that happened. Its body stays in the source.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// The bytes of the item itself: a whole element, a content block, one entry of `tool_calls`.
    pub span: Span,
    /// The id that joins a call and its output.
    pub call_id: CallId,
    /// Index of the record that holds it, in [`super::Session::records`].
    pub record: u32,
    /// Index of the turn it belongs to, in [`super::Session::turns`].
    pub turn: u32,
    /// The tool's name, qualified with its namespace where it has one.
    pub name: NameId,
    pub kind: Kind,
    /// Which call type it belongs to; outputs answer calls of their own family only.
    pub family: Family,
    /// Whose spelling its bytes have; `None` for something of the file format itself: a compaction mark, an event.
    pub dialect: Option<Dialect>,
    /// What was seen in passing.
    pub flags: Flags,
}

impl Item {
    /// An item without name, id and flags, that is of no call.
    #[inline]
    pub fn new(kind: Kind, dialect: Option<Dialect>, span: Span) -> Self {
        Self {
            span,
            call_id: CallId::default(),
            record: 0,
            turn: 0,
            name: NameId::default(),
            kind,
            family: Family::None,
            dialect,
            flags: Flags::default(),
        }
    }
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A system or developer message.
    System,
    /// A message of the user.
    User,
    /// A message of the model: text or a refusal.
    Assistant,
    Reasoning,
    /// A call that the client must answer.
    Call,
    /// The answer to such a call.
    Output,
    /// A call that the provider runs itself, with or without its result.
    #[strum(serialize = "hosted call")]
    HostedCall,
    /// The result of a hosted call, as an item of its own.
    #[strum(serialize = "hosted output")]
    HostedOutput,
    /// A request for a decision of the operator.
    #[strum(serialize = "approval")]
    ApprovalRequest,
    #[strum(serialize = "decision")]
    ApprovalResponse,
    /// A mark that older history was replaced or summarised.
    Compaction,
    /// Tools that are offered from here on.
    #[strum(serialize = "tools")]
    ToolDefinitions,
    /// A note of the runtime: an interrupt, an API failure, an aborted turn.
    Notice,
    /// A type that this version does not know; kept as it is.
    Other,
    /// A record that is not JSON; kept as it is.
    Unreadable,
}

impl Kind {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The word that the screen and the filter use for it.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Whether the model made it.
    pub fn is_from_model(self) -> bool {
        matches!(
            self,
            Self::Assistant
                | Self::Reasoning
                | Self::Call
                | Self::HostedCall
                | Self::HostedOutput
                | Self::ApprovalRequest
        )
    }
}

/// The type of a call. The pairs are those of the OpenAI API reference and of openai-agents' own table; Chat,
/// Anthropic and Gemini know [`Family::Function`] (and [`Family::Legacy`], which has no ids) only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Family {
    None,
    /// `function_call`, `tool_calls[]`, `tool_use`, `functionCall`.
    Function,
    /// `custom_tool_call`: free-form input, never JSON.
    Custom,
    Computer,
    Shell,
    /// `local_shell_call`, whose output may carry the id as `id`.
    LocalShell,
    ApplyPatch,
    /// `tool_search_call` run by the client; ids may be absent.
    ToolSearch,
    Program,
    /// `function_call` of old Chat: paired by name and place.
    Legacy,
    /// `server_tool_use`, `mcp_tool_use`, `web_search_call`, ...: the provider's own.
    Hosted,
    /// `mcp_approval_request` and its response.
    Approval,
}

/// The call id of an item: a hash to find it by, and its place in the item to be sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallId {
    /// Keyed hash of the raw text; 0 where there is no id.
    pub hash: u64,
    /// Place of the raw text, counted from the start of the item.
    pub offset: u32,
    /// Length of the raw text in bytes.
    pub length: u32,
}

impl CallId {
    /// An id at `offset` in its item. Empty text is no id.
    pub fn new(raw: &[u8], offset: usize) -> Self {
        match (u32::try_from(offset), u32::try_from(raw.len())) {
            (Ok(offset), Ok(length)) if length > 0 => Self {
                hash: hash(raw).max(1),
                offset,
                length,
            },
            _ => Self::default(),
        }
    }

    /// Whether there is no id.
    pub fn is_none(self) -> bool {
        self.hash == 0
    }

    /// The span of the id in the source.
    pub fn span(self, item: Span) -> Option<Span> {
        let start = item.start + u64::from(self.offset);
        (!self.is_none()).then(|| Span::new(start, start + u64::from(self.length)))
    }
}

/// A keyed 64-bit hash. The key is drawn once per process, so that nobody can write a transcript whose ids
/// collide; by chance a collision among a million ids has the odds of one in forty million.
pub fn hash(bytes: &[u8]) -> u64 {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    KEY.get_or_init(RandomState::default).hash_one(bytes)
}

/// An index as heads and tables keep it, in 32 bits. A session of four thousand million items would need 240 GB
/// for its heads, so the bound is never reached.
pub fn index_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// What a reader saw in passing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u32);

impl Flags {
    /// The output says itself that it is an error (`is_error`, `status: failed`, `success: false`).
    pub const ERROR: Self = Self(1);
    /// The reply was cut or is not finished (`status: incomplete`, a stream without its end).
    pub const INCOMPLETE: Self = Self(1 << 1);
    /// The model's message is a refusal.
    pub const REFUSAL: Self = Self(1 << 2);
    /// The first item of a new reply, where the format says so.
    pub const STARTS_REPLY: Self = Self(1 << 3);
    /// The user broke the run off here.
    pub const INTERRUPT: Self = Self(1 << 4);
    /// The user rejected the call.
    pub const REJECTED: Self = Self(1 << 5);
    /// The item comes before a compaction: the provider no longer sees it.
    pub const COMPACTED: Self = Self(1 << 6);
    /// The call's partner is kept by the provider (`previous_response_id`, `conversation`).
    pub const SERVER_STATE: Self = Self(1 << 7);
    /// The call waits for the operator's approval.
    pub const AWAITS_APPROVAL: Self = Self(1 << 8);
    /// The runtime itself made it up (a synthetic message, a repaired output).
    pub const SYNTHETIC: Self = Self(1 << 9);
    /// The call belongs to the simulated user's own tool set, not to the agent's.
    pub const FOREIGN_CALLER: Self = Self(1 << 10);
    /// Continues the reply of the item before it although an output comes between (one
    /// message over many lines).
    pub const CONTINUES_REPLY: Self = Self(1 << 11);
    /// Its shape is one that the provider whose spelling it has takes in
    /// no request (see `wire::shape_fault`).
    pub const MALFORMED: Self = Self(1 << 12);
    /// It has an id of its own beside its call id.
    pub const OWN_ID: Self = Self(1 << 13);
    /// The record that holds it, or one right before that, names a record before it that is not in the file.
    pub const BROKEN_CHAIN: Self = Self(1 << 14);
    /// It is of a type that its dialect does not have, or a part of its
    /// content is (see `wire::unknown_in`).
    pub const UNKNOWN: Self = Self(1 << 15);
    /// It certainly holds no picture, so that nobody need read it for one.
    pub const NO_PICTURE: Self = Self(1 << 16);
    /// It ends a reply that is complete, in a stream that ended without its end mark (Chat's `[DONE]`).
    pub const UNMARKED: Self = Self(1 << 17);
    /// The call ends the run: its producer records no output of it.
    pub const ENDS_RUN: Self = Self(1 << 18);

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the other.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Adds the flags of `other` where `condition` holds.
    pub fn set_if(&mut self, other: Self, condition: bool) {
        if condition {
            self.0 |= other.0;
        }
    }

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One line, array element or row: the unit in which a file is written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Its bytes, without the separator.
    pub span: Span,
    /// The line on which it begins, counted from 1, where that is known; in a file without lines what
    /// [`crate::formats::record_word`] says.
    pub number: u64,
}

/// From when to when a tool ran, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolRun {
    pub start: u64,
    pub end: u64,
}

// Changes that are laid over a session: what an action asks for, in the words of the history. `formats`
// turns them into bytes.

/// One change. Items are numbers in the session that the change was made for; the edits of one list never touch
/// each other's items in contrary ways (an item is dropped or rewritten, not both).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Other bytes for parts of an item; everything else of it stays as it is.
    Rewrite {
        item: u32,
        /// The parts, in order, none overlapping another.
        patches: Vec<Patch>,
    },
    /// The item leaves the history.
    Drop { item: u32 },
    /// A call gets an output, where the dialect wants it.
    Answer {
        call: u32,
        /// What the model will read.
        text: String,
        /// Whether the output says of itself that it is an error, where the dialect can say so.
        is_error: bool,
    },
    /// An output goes to where the dialect wants it, as it is.
    Move {
        output: u32,
        /// The call that it answers.
        call: u32,
    },
    /// The item becomes a plain message of the user, in its place.
    Degrade {
        item: u32,
        /// What the message says.
        text: String,
    },
    /// A new message after an item and what belongs to it. In a history without items it is the first one.
    Say {
        after: u32,
        voice: MessageRole,
        text: String,
    },
    /// A new element right after an item, in the same reply.
    Insert {
        after: u32,
        /// The JSON of one object as the dialect's list holds it.
        element: String,
    },
    /// New elements at the end of the history.
    Extend {
        /// Each the JSON of one object as the dialect's list holds it: an item of Responses, a message
        /// of Chat or Anthropic.
        items: Vec<String>,
    },
    /// The entry of an item, whose parent is not in the file, gets the one before it as
    /// its parent (Claude Code).
    Relink { item: u32 },
    /// Everything from an item on leaves the history.
    Cut {
        /// The first item that goes.
        from: u32,
    },
}

impl Edit {
    pub(crate) fn rewrite(item: u32, patches: Vec<Patch>) -> Self {
        Self::Rewrite { item, patches }
    }
}

/// Other bytes for a part of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The part, counted from the start of the item; an empty range inserts.
    pub at: Range<usize>,
    pub with: Vec<u8>,
}

/// Who speaks in a message that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum MessageRole {
    User,
    Assistant,
}

impl MessageRole {
    /// The word for it in the dialects of OpenAI and Anthropic.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

// The dialects of providers.

/// How a provider spells requests, replies and streams. What is known of each is in [`crate::wire`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI Responses API; meant where nothing says which.
    #[default]
    Responses,
    /// OpenAI Chat Completions API, and the many servers that speak it.
    Chat,
    Anthropic,
    Gemini,
    Converse,
}

impl Dialect {
    pub const ALL: [Self; 5] = [
        Self::Responses,
        Self::Chat,
        Self::Anthropic,
        Self::Gemini,
        Self::Converse,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_stays_small() {
        assert!(size_of::<Item>() <= 56, "{}", size_of::<Item>());
    }

    #[test]
    fn an_empty_id_is_none() {
        assert!(CallId::new(b"", 3).is_none());
        assert!(!CallId::new(b"call_1", 3).is_none());
    }

    #[test]
    fn every_kind_has_its_word() {
        let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        let expected = "system user assistant reasoning call output hosted call hosted output approval decision \
            compaction tools notice other unreadable";
        assert_eq!(words.join(" "), expected);
    }
}
