//! Which types a dialect has. What is of another type is kept, shown and written back, but nothing judges it:
//! readers mark its item ([`Flags::UNKNOWN`]), and [`unknown_in`] tells what it is.

use super::Fields;
use crate::json::{Cursor, display_text};
use crate::session::{Flags, Item, Kind, Shape};
use std::ops::Range;

/// Types of content parts of Chat: the OpenAI API reference (`ChatCompletionContentPart...`), and those that
/// servers of its family take in addition (vLLM, Mistral, LiteLLM).
pub(super) const CHAT_PARTS: &[&[u8]] = &[
    b"text",
    b"image_url",
    b"input_audio",
    b"file",
    b"refusal",
    b"audio_url",
    b"video_url",
    b"audio",
    b"document",
    b"document_url",
    b"image",
    b"input_file",
    b"input_image",
    b"input_text",
    b"output_text",
    b"reasoning",
    b"redacted_thinking",
    b"reference",
    b"thinking",
    b"video",
];

/// Types of content parts of Responses (OpenAI API reference: `InputContent`, `OutputContent`,
/// `ReasoningTextContent`, `SummaryTextContent`).
const RESPONSES_PARTS: &[&[u8]] = &[
    b"input_text",
    b"output_text",
    b"input_image",
    b"input_file",
    b"input_audio",
    b"refusal",
    b"text",
    b"reasoning_text",
    b"summary_text",
    b"computer_screenshot",
    b"encrypted_content",
];

/// Types of items of Responses that are no message, call or output and known all the same: a reference to a
/// kept item, and what Codex notes of the work tree.
const REFERENCES: &[&[u8]] = &[b"item_reference", b"ghost_snapshot"];

/// Whether a list of content parts holds one of a type that is not among these, or of none.
pub(super) fn has_unknown_part(
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

/// Whether an item of Responses, or a part of a message, is of an unknown type.
pub(super) fn is_unknown_item(bytes: &[u8], fields: &Fields<'_>, kind: Kind) -> bool {
    match kind {
        Kind::Other => !fields.kind.is_some_and(|kind| REFERENCES.contains(&kind)),
        Kind::System | Kind::User | Kind::Assistant => {
            has_unknown_part(bytes, &fields.content, RESPONSES_PARTS)
        }
        _ => false,
    }
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
    // The bytes were walked without a fault when the item was read.
    let fields = Fields::read(&mut Cursor::new(bytes)).unwrap_or_default();
    let quoted = |name: &str, word: &[u8]| format!("{name} \"{}\"", display_text(word));
    if item.kind == Kind::Other && item.shape.is_block() && item.flags.has(Flags::MALFORMED) {
        return (vec!["a message of another role".to_owned()], 0);
    }
    if item.shape == Shape::Gemini {
        return (vec![quoted("part", first_key(bytes))], 0);
    }
    if item.kind == Kind::Other {
        let of_message = item.shape == Shape::Chat || fields.kind == Some(b"message");
        let words = match (fields.kind, fields.role) {
            (_, Some(role)) if of_message || fields.kind.is_none() => quoted("role", role),
            (Some(kind), _) => quoted("type", kind),
            (None, _) => "an object without type and role".to_owned(),
        };
        return (vec![words], 0);
    }
    let known = match item.shape {
        Shape::Responses => RESPONSES_PARTS,
        Shape::Chat | Shape::Anthropic | Shape::Gemini | Shape::Format => CHAT_PARTS,
    };
    let (mut unknown, mut count) = (Vec::new(), 0);
    each_part(bytes, &fields.content, |kind| match kind {
        Some(kind) if known.contains(&kind) => count += 1,
        Some(kind) => unknown.push(quoted("type", kind)),
        None => unknown.push("a part without type".to_owned()),
    });
    (unknown, count)
}

/// The first key of an object.
fn first_key(object: &[u8]) -> &[u8] {
    let mut first = None;
    // The object was walked without a fault when it was read.
    let _ = Cursor::new(object).object(|_, key| {
        first.get_or_insert(key);
        Ok(())
    });
    first.unwrap_or_default()
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
