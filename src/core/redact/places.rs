//! The strings of a JSON text, decoded, with the source byte of every decoded byte: a secret found in decoded
//! text can be located in the bytes however it is escaped and however deep JSON is nested in JSON.

use crate::json::{skip_whitespace, string_end};
use std::borrow::Cow;
use std::ops::Range;

/// A string: a value, or the name of a member.
#[derive(Debug)]
pub(crate) struct JsonString {
    /// What lies between its quotes.
    pub(crate) inside: Range<usize>,
    /// What lies between the quotes of its member's name, where it is a member's value.
    pub(crate) name: Option<Range<usize>>,
    /// The object that it is a member of, by its place among those of the text.
    pub(crate) object: usize,
}

/// The strings of a JSON text, and what its objects are.
#[derive(Debug, Default)]
pub(crate) struct JsonStrings {
    pub(crate) all: Vec<JsonString>,
    objects: Vec<Object>,
    /// The objects and lists that are open, the innermost last; a list is `None`.
    open: Vec<Option<usize>>,
}

/// The members of an object that say what it is.
#[derive(Debug, Default)]
struct Object {
    /// The value of `type`.
    kind: Option<Range<usize>>,
    /// The value of `media_type`, `mimeType` or `mime_type`.
    media: Option<Range<usize>>,
    /// Whether it is, or is inside, the arguments of a call: all text there is the model's.
    is_of_call: bool,
}

/// Members that hold the arguments of a call as an object.
const ARGUMENTS: &[&[u8]] = &[b"input", b"arguments", b"args", b"parameters"];

/// Members of a provider's own objects that providers check to the byte, or that hold what is not text: name,
/// and the types of the object.
const OWN: &[(&str, &[&str])] = &[
    (
        "signature",
        &["thinking", "signature_delta", "reasoning.text"],
    ),
    ("data", &["redacted_thinking", "reasoning.encrypted"]),
    (
        "encrypted_content",
        &["reasoning", "compaction", "web_search_result"],
    ),
    ("b64_json", &["image_generation_call"]),
];
/// Types of what `data` holds in base64, as they begin.
const MEDIA: &[&str] = &["image/", "audio/", "video/", "application/pdf"];

/// The strings of a JSON text, in order. Invalid JSON is skipped byte by byte, so that no mistake hides a
/// string.
pub(crate) fn texts(bytes: &[u8]) -> JsonStrings {
    let mut texts = JsonStrings::default();
    let (mut at, mut name) = (0, None);
    while let Some(open) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let open = at + open;
        let between = &bytes[at..open];
        texts.pass(bytes, between, name.as_ref());
        // A name applies only to the value right after its colon.
        let is_next = between.trim_ascii().is_empty();
        let held = name.take().filter(|_| is_next);
        let Ok(end) = string_end(bytes, open) else {
            texts.push(bytes, open + 1..bytes.len(), held);
            break;
        };
        let inside = open + 1..end - 1;
        let next = skip_whitespace(bytes, end);
        if bytes.get(next) == Some(&b':') {
            name = Some(inside.clone());
            texts.push(bytes, inside, None);
            at = next + 1;
        } else {
            texts.push(bytes, inside, held);
            at = end;
        }
    }
    texts
}

impl JsonStrings {
    /// Reads the bytes between two strings, after this name.
    fn pass(&mut self, bytes: &[u8], between: &[u8], name: Option<&Range<usize>>) {
        let mut name = name.and_then(|name| bytes.get(name.clone()));
        for byte in between {
            match byte {
                b'{' => {
                    let outer = self.open.iter().rev().flatten().next();
                    let outer = outer.and_then(|outer| self.objects.get(*outer));
                    let is_of_call = outer.is_some_and(|outer| outer.is_of_call)
                        || name.is_some_and(|name| ARGUMENTS.contains(&name));
                    self.open.push(Some(self.objects.len()));
                    self.objects.push(Object {
                        is_of_call,
                        ..Object::default()
                    });
                }
                b'[' => self.open.push(None),
                b'}' | b']' => {
                    self.open.pop();
                }
                _ => continue,
            }
            name = None;
        }
    }

    fn push(&mut self, bytes: &[u8], inside: Range<usize>, name: Option<Range<usize>>) {
        let object = self.open.last().copied().flatten().unwrap_or(usize::MAX);
        let named = name.as_ref().and_then(|name| bytes.get(name.clone()));
        if let Some(of) = self.objects.get_mut(object) {
            match named {
                Some(b"type") => of.kind = Some(inside.clone()),
                Some(b"media_type" | b"mimeType" | b"mime_type") => of.media = Some(inside.clone()),
                _ => {}
            }
        }
        self.all.push(JsonString {
            inside,
            name,
            object,
        });
    }

    /// Whether a member of this name is the provider's own: it is checked to the byte when it comes back, or
    /// holds an image or the like.
    pub(crate) fn is_own(&self, bytes: &[u8], name: &str, text: &JsonString) -> bool {
        let object = self.objects.get(text.object);
        let Some(object) = object.filter(|object| !object.is_of_call) else {
            return false;
        };
        let of = |range: &Option<Range<usize>>| {
            let bytes = range.clone().and_then(|range| bytes.get(range));
            bytes.and_then(|bytes| std::str::from_utf8(bytes).ok())
        };
        let is_of_kind =
            |kinds: &[&str]| of(&object.kind).is_some_and(|kind| kinds.contains(&kind));
        let is_media = || {
            let media = of(&object.media);
            name == "data"
                && media.is_some_and(|media| MEDIA.iter().any(|own| media.starts_with(own)))
        };
        let mut own = OWN.iter().filter(|(own, _)| *own == name);
        own.any(|(_, kinds)| is_of_kind(kinds)) || is_media()
    }
}

/// The strings of a text that is or holds JSON, perhaps broken: a secret that begins in one of them ends in it,
/// so that whoever repairs the text finds its quotes where they were.
#[derive(Debug)]
pub(crate) struct Quoted<'a> {
    text: &'a str,
    strings: Vec<Range<usize>>,
    /// Whether each string is looked into by itself.
    is_looked_into: bool,
}

impl<'a> Quoted<'a> {
    /// The strings after the first bracket: words before it are not JSON.
    pub(crate) fn of(text: &'a str, is_looked_into: bool) -> Self {
        let opens = text.find(['{', '[']).unwrap_or(text.len());
        let strings = texts(&text.as_bytes()[opens..]).all.into_iter();
        let strings = strings.map(|one| opens + one.inside.start..opens + one.inside.end);
        Self {
            text,
            strings: strings.collect(),
            is_looked_into,
        }
    }

    /// The part of a secret inside the string where it starts; `whole` is the span that the pattern matched.
    /// `None` where a search of that string finds the same.
    pub(crate) fn part(&self, whole: &Range<usize>, secret: Range<usize>) -> Option<Range<usize>> {
        let index = self.strings.partition_point(|one| one.end <= secret.start);
        let string = self.strings.get(index);
        let Some(string) = string.filter(|one| one.start <= secret.start) else {
            return Some(secret);
        };
        if self.is_looked_into && string.contains(&whole.start) {
            return None;
        }
        let end = secret.end.min(string.end);
        // Half an escape is left to its other half.
        let part = &self.text.as_bytes()[secret.start..end];
        let slashes = part.iter().rev().take_while(|byte| **byte == b'\\');
        let half = slashes.count() % 2;
        Some(secret.start..end - half)
    }
}

/// Where the bytes of a text came from.
#[derive(Debug)]
pub(crate) enum ByteOrigins<'a> {
    /// They stand together, from this place on.
    From(usize),
    /// For each byte its place; one more for the end.
    Each(Cow<'a, [usize]>),
}

impl ByteOrigins<'_> {
    /// Where a byte of the text came from.
    fn at(&self, at: usize) -> usize {
        match self {
            Self::From(start) => start + at,
            Self::Each(places) => {
                let last = places.last().copied().unwrap_or_default();
                places.get(at).copied().unwrap_or(last)
            }
        }
    }

    /// The same for a part of the text.
    fn of(&self, part: Range<usize>) -> ByteOrigins<'_> {
        match self {
            Self::From(start) => ByteOrigins::From(start + part.start),
            Self::Each(places) => {
                let part = places.get(part.start..=part.end);
                ByteOrigins::Each(Cow::Borrowed(part.unwrap_or_default()))
            }
        }
    }
}

/// What the inside of a JSON string means, with the place of each of its bytes.
#[derive(Debug)]
pub(crate) struct DecodedText<'a> {
    /// The text; what is not text is marked.
    pub(crate) text: Cow<'a, str>,
    /// Where its bytes came from.
    pub(crate) places: ByteOrigins<'a>,
}

impl<'a> DecodedText<'a> {
    /// A text without escapes, starting at 0.
    pub(crate) fn plain(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            places: ByteOrigins::From(0),
        }
    }

    /// Reads the inside of a string of a text that itself came from `outer`.
    pub(crate) fn inside(
        bytes: &'a [u8],
        inside: Range<usize>,
        outer: &'a ByteOrigins<'_>,
    ) -> Self {
        let own = bytes.get(inside.clone()).unwrap_or_default();
        if memchr::memchr(b'\\', own).is_none()
            && let Ok(text) = simdutf8::basic::from_utf8(own)
        {
            return Self {
                text: Cow::Borrowed(text),
                places: outer.of(inside),
            };
        }
        let mut text = String::with_capacity(own.len());
        let mut places = Vec::with_capacity(own.len() + 1);
        let mut at = inside.start;
        while at < inside.end {
            let rest = &bytes[at..inside.end];
            let length = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            let end = match simdutf8::basic::from_utf8(&rest[..length]) {
                Ok(run) => {
                    text.push_str(run);
                    places.extend((at..at + length).map(|at| outer.at(at)));
                    at += length;
                    // The escape.
                    (at + 1).min(inside.end)
                }
                // Letter by letter, to mark what is none.
                Err(_) => at + length,
            };
            while at < end {
                let (length, letter) = letter(&bytes[at..inside.end]);
                text.push(letter);
                places.extend((0..letter.len_utf8()).map(|_| outer.at(at)));
                at += length;
            }
        }
        places.push(outer.at(inside.end));
        Self {
            text: Cow::Owned(text),
            places: ByteOrigins::Each(Cow::Owned(places)),
        }
    }

    /// Whether every byte of the text is the byte it came from.
    pub(crate) fn is_as_it_stands(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }

    /// Where a stretch of the text came from.
    pub(crate) fn range(&self, range: Range<usize>) -> Range<usize> {
        self.places.at(range.start)..self.places.at(range.end)
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
