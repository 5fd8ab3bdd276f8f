//! Shapes that a provider refuses whatever stands in them: an empty list, an object where a string belongs, an
//! id that is too long.
//!
//! Readers ask about every object that they walk and mark its item ([`Flags::MALFORMED`]); [`shape_fault`] asks
//! again about a marked item and tells what it is, so that the two never disagree. Each fault names where the
//! provider's refusal was seen.

use super::gemini::{Part, PartKind};
use super::{Fields, chat};
use crate::json::Cursor;
use crate::session::{Family, Flags, Item, Kind, Shape};
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
    /// What is wrong, in words that go behind "this call".
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

/// The longest call id of Chat, in characters.
const CHAT_CALL_ID: usize = 40;

/// The longest call id and item id of Responses, in characters (OpenAI API reference).
const RESPONSES_ID: usize = 64;

/// What is wrong with an item that was marked when it was read; `bytes` are those of its span.
pub fn shape_fault(item: &Item, bytes: &[u8]) -> Option<ShapeFault> {
    let mut cursor = Cursor::new(bytes);
    if item.shape.is_block() && item.kind == Kind::Other {
        return Some(ShapeFault::UnknownRole);
    }
    if item.shape == Shape::Gemini {
        let is_content = memchr::memmem::find(bytes, b"\"parts\"").is_some();
        return match is_content {
            true => Some(ShapeFault::EmptyMessage),
            false => of_part(bytes, &Part::read(&mut cursor).ok()?),
        };
    }
    if cursor.peek() == Some(b'"') {
        return (item.shape == Shape::Anthropic).then_some(ShapeFault::EmptyMessage);
    }
    // The bytes were walked without a fault when the item was read.
    let fields = match (item.shape, item.kind) {
        (Shape::Chat, Kind::Call) => chat::read_call(&mut cursor),
        _ => Fields::read(&mut cursor),
    }
    .ok()?;
    match item.shape {
        Shape::Chat if item.kind == Kind::Call => of_chat_call(bytes, &fields, item.family),
        Shape::Chat => of_chat_message(bytes, &fields),
        Shape::Responses => of_item(bytes, &fields, item.kind, item.family),
        Shape::Anthropic if fields.role.is_some() => Some(ShapeFault::EmptyMessage),
        Shape::Anthropic => of_block(bytes, &fields),
        Shape::Gemini | Shape::Format => None,
    }
}

/// A message of Chat, without its calls.
pub(super) fn of_chat_message(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let content = first_byte(bytes, &fields.content);
    let is_text = matches!(content, Some(b'"' | b'['));
    match fields.role? {
        b"assistant" => of_chat_reply(bytes, fields, content),
        // Old function outputs may be null (OpenAI API reference).
        b"function" if matches!(content, Some(b'n')) => None,
        b"system" | b"developer" | b"user" | b"tool" | b"function" => {
            (!is_text).then_some(ShapeFault::ContentType)
        }
        _ => Some(ShapeFault::UnknownRole),
    }
}

fn of_chat_reply(bytes: &[u8], fields: &Fields<'_>, content: Option<u8>) -> Option<ShapeFault> {
    if is_empty_list(bytes, &fields.tool_calls) {
        return Some(ShapeFault::EmptyToolCalls);
    }
    match content {
        Some(b'"') => None,
        Some(b'[') if !is_empty_list(bytes, &fields.content) => None,
        None | Some(b'n' | b'[') => {
            let has_calls = first_byte(bytes, &fields.tool_calls) == Some(b'[')
                || first_byte(bytes, &fields.function_call) == Some(b'{');
            let says_otherwise = fields.refusal || fields.has_audio;
            (!has_calls && !says_otherwise).then_some(ShapeFault::NothingSaid)
        }
        Some(_) => Some(ShapeFault::ContentType),
    }
}

/// One call of Chat, its function's members among its own.
pub(super) fn of_chat_call(bytes: &[u8], call: &Fields<'_>, family: Family) -> Option<ShapeFault> {
    if !matches!(first_byte(bytes, &call.arguments), None | Some(b'"')) {
        return Some(ShapeFault::ArgumentsNotString);
    }
    let limit = CHAT_CALL_ID;
    let is_long = family != Family::Legacy && is_longer(call.id, limit);
    is_long.then_some(ShapeFault::LongCallId { limit })
}

/// An item of Responses.
pub(super) fn of_item(
    bytes: &[u8],
    fields: &Fields<'_>,
    kind: Kind,
    family: Family,
) -> Option<ShapeFault> {
    let is_text = |value| matches!(first_byte(bytes, value), Some(b'"' | b'['));
    let is_plain = matches!(family, Family::Function | Family::Custom);
    let limit = RESPONSES_ID;
    match kind {
        Kind::Call
            if is_plain && !matches!(first_byte(bytes, &fields.arguments), None | Some(b'"')) =>
        {
            Some(ShapeFault::ArgumentsNotString)
        }
        Kind::Call if is_longer(fields.call_id, limit) => Some(ShapeFault::LongCallId { limit }),
        Kind::Output if is_plain && !is_text(&fields.output) => Some(ShapeFault::ContentType),
        Kind::System | Kind::User | Kind::Assistant
            if is_message(fields) && !is_text(&fields.content) =>
        {
            Some(ShapeFault::ContentType)
        }
        _ => of_item_id(fields),
    }
}

fn of_item_id(fields: &Fields<'_>) -> Option<ShapeFault> {
    let id = fields.id?;
    let prefix = match fields.kind {
        Some(b"function_call") => "fc",
        Some(b"custom_tool_call") => "ctc",
        Some(b"reasoning") => "rs",
        Some(b"message") => "msg",
        _ => "",
    };
    if id.is_empty() || !id.iter().all(|byte| is_id_byte(*byte)) {
        Some(ShapeFault::ItemIdCharacters)
    } else if !id.starts_with(prefix.as_bytes()) {
        Some(ShapeFault::ItemIdPrefix { prefix })
    } else {
        (id.len() > RESPONSES_ID).then_some(ShapeFault::LongItemId)
    }
}

fn is_message(fields: &Fields<'_>) -> bool {
    matches!(fields.kind, None | Some(b"message"))
}

/// A content block of Anthropic.
pub(super) fn of_block(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    match fields.kind? {
        b"text" if fields.text.is_some_and(is_blank) => Some(ShapeFault::EmptyText),
        b"thinking" if fields.signature.is_none_or(is_blank) => Some(ShapeFault::BlankSignature),
        b"tool_use" => of_tool_use(bytes, fields),
        b"server_tool_use" => {
            let is_odd = |id: &[u8]| {
                !id.starts_with(b"srvtoolu_") || !id.iter().all(|byte| is_id_byte(*byte))
            };
            fields
                .id
                .is_some_and(is_odd)
                .then_some(ShapeFault::CallIdCharacters)
        }
        b"tool_result" => of_tool_result(bytes, fields),
        _ => None,
    }
}

/// An input that is there and no object is what `malformed-arguments` is about.
fn of_tool_use(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let is_odd = |id: &[u8]| !id.iter().all(|byte| is_id_byte(*byte));
    let nothing = fields
        .arguments
        .as_ref()
        .is_none_or(|input| matches!(&bytes[input.clone()], b"null" | b"\"\""));
    if nothing {
        Some(ShapeFault::NoInput)
    } else {
        fields
            .id
            .is_some_and(is_odd)
            .then_some(ShapeFault::CallIdCharacters)
    }
}

fn of_tool_result(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let content = first_byte(bytes, &fields.content);
    let is_empty = fields
        .content
        .as_ref()
        .is_none_or(|content| matches!(&bytes[content.clone()], b"null" | b"\"\""))
        || is_empty_list(bytes, &fields.content);
    if fields.is_error && is_empty {
        return Some(ShapeFault::EmptyError);
    }
    (!matches!(content, None | Some(b'n' | b'"' | b'['))).then_some(ShapeFault::ContentType)
}

/// A part of Gemini. Arguments that are no object are what `malformed-arguments` is about.
pub(super) fn of_part(bytes: &[u8], part: &Part<'_>) -> Option<ShapeFault> {
    match part.kind {
        PartKind::Response if first_byte(bytes, &part.value) != Some(b'{') => {
            Some(ShapeFault::ResponseNotObject)
        }
        PartKind::Empty => Some(ShapeFault::EmptyPart),
        _ => None,
    }
}

/// The flag of an item whose object has, or has not, a fault.
pub(super) fn mark(fault: Option<ShapeFault>) -> Flags {
    let mut flags = Flags::default();
    flags.set_if(Flags::MALFORMED, fault.is_some());
    flags
}

fn first_byte(bytes: &[u8], value: &Option<Range<usize>>) -> Option<u8> {
    value
        .as_ref()
        .and_then(|value| bytes.get(value.start))
        .copied()
}

/// Whether the value is a list with nothing in it.
pub(super) fn is_empty_list(bytes: &[u8], value: &Option<Range<usize>>) -> bool {
    let Some(raw) = value.as_ref().map(|value| &bytes[value.clone()]) else {
        return false;
    };
    raw.first() == Some(&b'[') && raw[1..raw.len() - 1].iter().all(u8::is_ascii_whitespace)
}

/// Whether the inside of a string holds white space only, spelled out or as an escape.
pub(super) fn is_blank(inside: &[u8]) -> bool {
    let mut rest = inside;
    while let [b' ', tail @ ..] | [b'\\', b'n' | b'r' | b't', tail @ ..] = rest {
        rest = tail;
    }
    rest.is_empty()
}

fn is_longer(id: Option<&[u8]>, limit: usize) -> bool {
    id.is_some_and(|id| id.len() > limit)
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
