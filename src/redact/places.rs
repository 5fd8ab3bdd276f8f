//! Where the strings of a JSON text are, and which byte of the text each byte of a string's meaning came from: what is found in the
//! meaning, however it is escaped and however deep JSON stands in JSON, is known by its place in the bytes.

use crate::json::{skip_whitespace, string_end};
use std::ops::Range;

/// A string that is a value.
#[derive(Debug)]
pub(super) struct Text {
    /// What lies between its quotes.
    pub(super) inside: Range<usize>,
    /// What lies between the quotes of its member's name, where it is a member's value.
    pub(super) name: Option<Range<usize>>,
}

/// The strings that are values in a JSON text, in order. What is no JSON is skipped over, byte by byte, so that nothing hides behind
/// a mistake.
pub(super) fn texts(bytes: &[u8]) -> Vec<Text> {
    let mut texts = Vec::new();
    let (mut at, mut name) = (0, None);
    while let Some(open) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let open = at + open;
        // A name holds for the value right behind its colon only.
        let is_next = bytes[at..open].trim_ascii().is_empty();
        let held = name.take().filter(|_| is_next);
        let Ok(end) = string_end(bytes, open) else {
            let inside = open + 1..bytes.len();
            texts.push(Text { inside, name: held });
            break;
        };
        let inside = open + 1..end - 1;
        let behind = skip_whitespace(bytes, end);
        if bytes.get(behind) == Some(&b':') {
            name = Some(inside);
            at = behind + 1;
        } else {
            texts.push(Text { inside, name: held });
            at = end;
        }
    }
    texts
}

/// What the inside of a JSON string means, with the place of each of its bytes.
#[derive(Debug)]
pub(super) struct Meaning {
    /// The text; what is no text is marked.
    pub(super) text: String,
    /// For each byte of the text where it came from; one more for the end.
    places: Vec<usize>,
}

impl Meaning {
    /// A text that means itself, which stands at this place.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            places: (0..=text.len()).collect(),
        }
    }

    /// Reads the inside of a string of a text that itself came from `outer`.
    pub(super) fn inside(
        bytes: &[u8],
        inside: Range<usize>,
        outer: impl Fn(usize) -> usize,
    ) -> Self {
        let mut meaning = Self {
            text: String::with_capacity(inside.len()),
            places: Vec::with_capacity(inside.len() + 1),
        };
        let mut at = inside.start;
        while at < inside.end {
            let (length, letter) = letter(&bytes[at..inside.end]);
            let before = meaning.text.len();
            meaning.text.push(letter);
            for _ in before..meaning.text.len() {
                meaning.places.push(outer(at));
            }
            at += length;
        }
        meaning.places.push(outer(inside.end));
        meaning
    }

    /// Where a byte of the text came from.
    pub(super) fn place(&self, at: usize) -> usize {
        let last = self.places.last().copied().unwrap_or_default();
        self.places.get(at).copied().unwrap_or(last)
    }

    /// Where a stretch of the text came from.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end)
    }
}

/// The letter at the start, and how many bytes spell it.
fn letter(bytes: &[u8]) -> (usize, char) {
    let unknown = char::REPLACEMENT_CHARACTER;
    match bytes {
        [b'\\', b'u', ..] => escaped(bytes).unwrap_or((2, unknown)),
        [b'\\', letter, ..] => {
            let meant = match letter {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                other => char::from(*other),
            };
            (2, meant)
        }
        [first, ..] if first.is_ascii() => (1, char::from(*first)),
        _ => {
            let head = &bytes[..bytes.len().min(4)];
            let valid = match std::str::from_utf8(head) {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
            };
            let letter = valid.chars().next();
            letter.map_or((1, unknown), |letter| (letter.len_utf8(), letter))
        }
    }
}

fn escaped(bytes: &[u8]) -> Option<(usize, char)> {
    let first = unit(bytes)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((6, letter));
    }
    let second = bytes.get(6..).and_then(unit);
    let pair = second.and_then(|second| {
        let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
        char::decode_utf16(units).next()?.ok()
    });
    Some(pair.map_or((6, char::REPLACEMENT_CHARACTER), |letter| (12, letter)))
}

fn unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
