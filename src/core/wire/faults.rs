//! Shapes that a provider refuses whatever is in them (an empty list, an object where a string belongs, an id
//! that is too long), and types that a dialect does not have. What is of another type is kept, shown and written
//! back, but nothing judges it: readers mark its item ([`Flags::UNKNOWN`]), and [`unknown_in`] tells what it is.
//!
//! Readers ask about every object that they walk and mark its item ([`Flags::MALFORMED`]); [`shape_fault`] asks
//! again about a marked item and tells what it is, so that the two never disagree. Each fault names where the
//! provider's refusal was seen.

use super::fields::Fields;
use crate::json::{Cursor, display_text};
use crate::session::{Flags, Item, Kind};
use std::ops::Range;

/// What is wrong with the shape of one message, item or block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShapeFault {
    /// Chat: `[] is too short - 'messages.1.tool_calls'` (code `array_below_min_length`).
    EmptyToolCalls,
    /// Chat: `expected a string, got null`, of an assistant message with neither content nor calls.
    NothingSaid,
    /// `Invalid type for 'messages[2].content'`, `... 'input[2].output'`: neither a string nor a list of parts.
    ContentType,
    /// Chat, Responses: `Invalid type for 'input[1].arguments': expected a string, but got an object`.
    ArgumentsNotString,
    /// Anthropic: `tool_use.input: Input should be a valid dictionary` (greger.el#60); of a call with
    /// no input at all.
    NoInput,
    /// Chat: `string too long. Expected a string with maximum length 40` (agno#5382); Responses: 64 (pi#1022).
    LongCallId {
        /// The most characters that are accepted.
        limit: usize,
    },
    /// Anthropic: `tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`, with `srvtoolu_` before
    /// it for server tools.
    CallIdCharacters,
    /// Responses: the item's own id is longer than 64 characters.
    LongItemId,
    /// Responses: `Expected an ID that contains letters, numbers, underscores, or dashes` (langchainjs#11044).
    ItemIdCharacters,
    /// Responses: `Expected an ID that begins with 'fc'` (continue#11785),
    /// `'msg'` (codex#33176), `'rs'`, `'ctc'`.
    ItemIdPrefix {
        /// What it has to begin with.
        prefix: &'static str,
    },
    /// Anthropic: `all messages must have non-empty content except for the optional
    /// final assistant message` (claude-code#4416).
    EmptyMessage,
    /// Anthropic: `text content blocks must be non-empty` (claude-code#59812), `must
    /// contain non-whitespace text` (claude-code#23440).
    EmptyText,
    /// Anthropic: ``content cannot be empty if `is_error` is true`` (inspect_ai#169).
    EmptyError,
    /// Anthropic: ``Invalid `signature` in `thinking` block`` (hermes-agent#24107).
    BlankSignature,
    /// Chat: `Invalid value: 'wizard'. Supported values are: ...`; Anthropic: `Unexpected role "tool"`.
    UnknownRole,
    /// Gemini: `Invalid value at 'contents[1].parts[0].function_response.response'`: no object.
    ResponseNotObject,
    /// Gemini: `contents[1].parts[0].data: required oneof field 'data' must have one initialized field`.
    EmptyPart,
    /// Responses: `Duplicate item found with id msg_...`. It takes two items to see it.
    DuplicateItemId,
}

impl ShapeFault {
    /// What is wrong, in words that go after "this call".
    pub fn words(self) -> String {
        let fixed = match self {
            Self::LongCallId { limit } => {
                return format!("has a call id of more than {limit} characters");
            }
            Self::ItemIdPrefix { prefix } => {
                return format!("has an id that does not begin with {prefix}");
            }
            Self::EmptyToolCalls => "has an empty list of calls",
            Self::NothingSaid => "has neither content nor calls",
            Self::ContentType => "has content that is neither a string nor a list",
            Self::ArgumentsNotString => "has arguments that are not a string",
            Self::NoInput => "has no input object",
            Self::CallIdCharacters => "has a call id with characters other than a-z A-Z 0-9 _ -",
            Self::LongItemId => "has an id of more than 64 characters",
            Self::ItemIdCharacters => {
                "has an id that is empty or has characters other than a-z A-Z 0-9 _ -"
            }
            Self::EmptyMessage => "has no content",
            Self::EmptyText => "has no text",
            Self::EmptyError => "is an error that says nothing",
            Self::BlankSignature => "has no signature",
            Self::UnknownRole => "has no role that the dialect knows",
            Self::ResponseNotObject => "has a response that is not an object",
            Self::EmptyPart => "has no data",
            Self::DuplicateItemId => "has the id of an earlier item",
        };
        fixed.to_owned()
    }

    /// Whether a new call id cures it.
    pub fn is_of_call_id(self) -> bool {
        matches!(self, Self::LongCallId { .. } | Self::CallIdCharacters)
    }
}

/// What is wrong with an item that was marked when it was read; `bytes` are those of its span.
pub fn shape_fault(item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
    item.codec()?.fault(item, bytes)
}

/// What is unknown of an item, each as words for a list, and how many of its parts are known. An item that is
/// not marked is one known part.
pub fn unknown_in(item: &Item, bytes: &[u8]) -> (Vec<String>, usize) {
    if !item.flags.has(Flags::UNKNOWN) {
        return (Vec::new(), 1);
    }
    if item.kind == Kind::Call {
        return (vec!["a call without \"function\"".to_owned()], 0);
    }
    let Some(codec) = item.codec() else {
        return (vec!["an object of another type".to_owned()], 0);
    };
    let facts = codec.facts();
    if item.kind == Kind::Other {
        let is_role = facts.has_blocks && item.flags.has(Flags::MALFORMED);
        return match is_role {
            true => (vec!["a message of another role".to_owned()], 0),
            false => (vec![codec.unknown_type(bytes)], 0),
        };
    }
    // The bytes were walked without a fault when the item was read.
    let fields = Fields::read(&mut Cursor::new(bytes)).unwrap_or_default();
    let known = facts.content_types;
    let (mut unknown, mut count) = (Vec::new(), 0);
    each_part(bytes, &fields.content, |kind| match kind {
        Some(kind) if known.contains(&kind) => count += 1,
        Some(kind) => unknown.push(format!("type \"{}\"", display_text(kind))),
        None => unknown.push("a part without type".to_owned()),
    });
    (unknown, count)
}

/// Calls `see` with the type of each part of a content list. Parts that are strings are texts.
fn each_part<'a>(
    bytes: &'a [u8],
    content: &Option<Range<usize>>,
    mut see: impl FnMut(Option<&'a [u8]>),
) {
    let Some(content) = content
        .clone()
        .filter(|at| bytes.get(at.start) == Some(&b'['))
    else {
        return;
    };
    // The list was walked without a fault when the object around it was.
    let _ = Cursor::at(&bytes[..content.end], content.start).array(|cursor| {
        if cursor.peek() == Some(b'{') {
            see(Fields::read(cursor)?.kind);
        }
        Ok(())
    });
}

/// Whether a list of content parts holds one of a type that is not among these, or of none.
pub(crate) fn has_unknown_part(
    bytes: &[u8],
    content: &Option<Range<usize>>,
    known: &[&[u8]],
) -> bool {
    let mut found = false;
    each_part(bytes, content, |kind| {
        found |= !kind.is_some_and(|kind| known.contains(&kind));
    });
    found
}

/// The flag of an item whose object has, or has not, a fault.
pub(crate) fn mark(fault: Option<ShapeFault>) -> Flags {
    let mut flags = Flags::default();
    flags.set_if(Flags::MALFORMED, fault.is_some());
    flags
}

pub(crate) fn first_byte(bytes: &[u8], value: &Option<Range<usize>>) -> Option<u8> {
    value
        .as_ref()
        .and_then(|value| bytes.get(value.start))
        .copied()
}

/// Whether the value is a list with nothing in it.
pub(crate) fn is_empty_list(bytes: &[u8], value: &Option<Range<usize>>) -> bool {
    let Some(raw) = value.as_ref().map(|value| &bytes[value.clone()]) else {
        return false;
    };
    raw.first() == Some(&b'[') && raw[1..raw.len() - 1].iter().all(u8::is_ascii_whitespace)
}

/// Whether the inside of a string holds white space only, spelled out or as an escape.
pub(crate) fn is_blank(inside: &[u8]) -> bool {
    let mut rest = inside;
    while let [b' ', tail @ ..] | [b'\\', b'n' | b'r' | b't', tail @ ..] = rest {
        rest = tail;
    }
    rest.is_empty()
}

pub(crate) fn is_longer(id: Option<&[u8]>, limit: usize) -> bool {
    id.is_some_and(|id| id.len() > limit)
}

pub(crate) fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
