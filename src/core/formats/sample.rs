//! The head of a file, digested once for all formats to judge: how the text is laid out, and the first
//! documents with their keys.

use crate::json::{
    Cursor, JsonError, JsonErrorKind, Result, display_text, skip_value, skip_whitespace,
};
use std::borrow::Cow;

/// How many documents of the head are digested.
const DOCUMENTS: usize = 48;

/// The head of a text.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The bytes, without a byte-order mark.
    pub bytes: &'a [u8],
    /// How many bytes of a byte-order mark, code fence or log lines were left out before them.
    pub skipped: usize,
    /// How many line ends stand in what was left out.
    pub skipped_lines: u64,
    /// Whether text that belongs to nothing (log lines) is among them.
    pub has_leading_text: bool,
    /// Whether this is the whole text.
    pub complete: bool,
    /// How the text is laid out.
    pub layout: Layout,
    /// The first documents: lines, or elements of the array.
    pub documents: Vec<Document<'a>>,
}

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Value after value, mostly one a line.
    Lines,
    /// One array; the number is the position after its bracket, in [`Sample::bytes`].
    Array(usize),
    /// One object; the number is the position after its bracket.
    Object(usize),
    Text,
}

/// The members of a JSON object in the head, each with its raw value (cut where the sample ends).
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    members: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Document<'a> {
    fn read(cursor: &mut Cursor<'a>) -> (Self, Result<bool>) {
        let mut document = Self::default();
        let bytes = cursor.bytes();
        let walked = cursor.object(|cursor, key| {
            cursor.peek();
            let start = cursor.position();
            match cursor.skip() {
                Ok(range) => {
                    document.members.push((key, &bytes[range]));
                    Ok(())
                }
                Err(fault) => {
                    document.members.push((key, &bytes[start..]));
                    Err(fault)
                }
            }
        });
        (document, walked)
    }

    /// Whether the object has a member of this name.
    pub fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// The raw text of a member's value.
    pub fn raw(&self, key: &str) -> Option<&'a [u8]> {
        self.members
            .iter()
            .find(|(name, _)| *name == key.as_bytes())
            .map(|(_, value)| *value)
    }

    /// The text of a member that is a string.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let inside = self.raw(key)?.strip_prefix(b"\"")?;
        Some(display_text(inside.strip_suffix(b"\"").unwrap_or(inside)))
    }

    /// Whether the member is a string with this text.
    pub fn says(&self, key: &str, text: &str) -> bool {
        self.text(key).is_some_and(|found| found == text)
    }

    /// The members of a member that is an object.
    pub fn object(&self, key: &str) -> Document<'a> {
        self.raw(key)
            .map(|raw| Self::read(&mut Cursor::new(raw)).0)
            .unwrap_or_default()
    }

    /// The first objects of a member that is an array.
    pub fn array(&self, key: &str) -> Vec<Document<'a>> {
        let Some(raw) = self.raw(key) else {
            return Vec::new();
        };
        elements(raw, skip_whitespace(raw, 1.min(raw.len())))
    }

    /// Whether the object has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl<'a> Sample<'a> {
    /// Digests the head of a text.
    pub fn new(bytes: &'a [u8], complete: bool) -> Self {
        let marks = leading_marks(bytes);
        let text = leading_text(&bytes[marks..]);
        let skipped = marks + text;
        let skipped_lines = memchr::memchr_iter(b'\n', &bytes[..skipped]).count() as u64;
        let bytes = &bytes[skipped..];
        let start = skip_whitespace(bytes, 0);
        let (layout, documents) = match bytes.get(start) {
            Some(b'[') => {
                let first = skip_whitespace(bytes, start + 1);
                (Layout::Array(start + 1), elements(bytes, first))
            }
            Some(b'{') => {
                let documents = stream(bytes, start, complete);
                let layout = if documents.len() == 1 && is_alone(bytes, start) {
                    Layout::Object(start + 1)
                } else {
                    Layout::Lines
                };
                (layout, documents)
            }
            _ => (Layout::Text, stream(bytes, start, complete)),
        };
        Self {
            bytes,
            skipped,
            skipped_lines,
            has_leading_text: text > 0,
            complete,
            layout,
            documents,
        }
    }

    /// Whether the head mentions a text, outside of JSON strings or as a whole one.
    pub fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }

    /// Whether any of the first documents meets a condition.
    pub fn any(&self, condition: impl Fn(&Document<'a>) -> bool) -> bool {
        self.documents.iter().any(condition)
    }

    pub fn first(&self) -> Option<&Document<'a>> {
        self.documents.first()
    }
}

/// How much is before the JSON: a byte-order mark, the first line of a code fence, record separators.
fn leading_marks(bytes: &[u8]) -> usize {
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    if bytes[at..].starts_with(b"```") {
        at += memchr::memchr(b'\n', &bytes[at..]).map_or(0, |line_end| line_end + 1);
    }
    while let Some(0x1e) = bytes.get(at) {
        at += 1;
    }
    at
}

/// How many bytes of log lines stand before an array of objects that begins a line. Before lines of JSON they
/// need no care: each is a line that is not JSON.
fn leading_text(bytes: &[u8]) -> usize {
    const LOOK: usize = 4096;
    let first = skip_whitespace(bytes, 0);
    if matches!(bytes.get(first), None | Some(b'{' | b'[')) {
        return 0;
    }
    let mut at = next_line(bytes, first);
    while at < bytes.len().min(LOOK) {
        let opens = bytes[at] == b'[' && bytes.get(skip_whitespace(bytes, at + 1)) == Some(&b'{');
        if opens {
            return at;
        }
        at = next_line(bytes, at);
    }
    0
}

/// Whether nothing but white space (or a closing fence) follows the first value.
fn is_alone(bytes: &[u8], start: usize) -> bool {
    match skip_value(bytes, start) {
        Ok(end) => {
            let rest = skip_whitespace(bytes, end);
            rest == bytes.len() || !matches!(bytes[rest], b'{' | b'[' | b',' | 0x1e | 0xef | b'"')
        }
        // A first line that does not close is one large document unless further lines begin like documents.
        Err(_) => memchr::memmem::find(&bytes[start..], b"\n{\"").is_none(),
    }
}

/// Whether a fault in a text says that it is one document of several lines, and ends in the middle: all of it is
/// the beginning of a value, and no line begins as a record of its own does.
pub(super) fn is_cut_document(text: &[u8], fault: JsonError) -> bool {
    let mut lines = text.splitn(2, |byte| *byte == b'\n');
    let has_lines = lines
        .nth(1)
        .is_some_and(|rest| !rest.trim_ascii().is_empty());
    fault.kind == JsonErrorKind::End && has_lines && memchr::memmem::find(text, b"\n{\"").is_none()
}

fn elements<'a>(bytes: &'a [u8], from: usize) -> Vec<Document<'a>> {
    let mut documents = Vec::new();
    let mut cursor = Cursor::at(bytes, from);
    while documents.len() < DOCUMENTS {
        match cursor.peek() {
            Some(b']') | None => break,
            Some(b',') => cursor = Cursor::at(bytes, cursor.position() + 1),
            Some(b'{') => {
                let (document, walked) = Document::read(&mut cursor);
                documents.push(document);
                if walked.is_err() {
                    break;
                }
            }
            Some(_) if cursor.skip().is_ok() => {}
            Some(_) => break,
        }
    }
    documents
}

/// The first documents of a text of lines; lines that are none are jumped over.
fn stream(bytes: &[u8], from: usize, complete: bool) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut at = from;
    let mut misses = 0;
    while documents.len() < DOCUMENTS && misses < 200 {
        at = skip_whitespace(bytes, at);
        match bytes.get(at) {
            None => break,
            Some(b'{') => {
                let mut cursor = Cursor::at(bytes, at);
                let (document, walked) = Document::read(&mut cursor);
                documents.push(document);
                at = match walked {
                    Ok(_) => cursor.position(),
                    Err(fault) if complete && is_cut_document(&bytes[at..], fault) => break,
                    Err(_) => next_line(bytes, at),
                };
            }
            Some(b',' | 0x1e) => at += 1,
            Some(_) => {
                misses += 1;
                at = next_line(bytes, at);
            }
        }
    }
    documents
}

fn next_line(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> (Layout, usize) {
        let sample = Sample::new(text.as_bytes(), true);
        (sample.layout, sample.documents.len())
    }

    #[test]
    fn layouts_are_told_apart() {
        assert_eq!(layout("{\"a\":1}\n{\"a\":2}\n"), (Layout::Lines, 2));
        assert_eq!(layout("{\"a\":1}"), (Layout::Object(1), 1));
        assert_eq!(layout("{\n \"a\":1\n}\n{\"a\":2}"), (Layout::Lines, 2));
        assert_eq!(layout(" [{\"a\":1},{\"a\":2}]"), (Layout::Array(2), 2));
        assert_eq!(layout("\u{feff}[]"), (Layout::Array(1), 0));
        assert_eq!(layout("```json\n[{\"a\":1}]\n```"), (Layout::Array(1), 1));
        assert_eq!(layout("data: {}\n\n"), (Layout::Text, 0));
    }

    #[test]
    fn a_cut_document_shows_what_it_has() {
        let text = br#"{"model":"m","messages":[{"role":"user","content":"he"#;
        let sample = Sample::new(text, false);
        let document = sample.first().unwrap();
        assert!(document.says("model", "m"));
        assert!(document.array("messages")[0].says("role", "user"));
        assert_eq!(sample.layout, Layout::Object(1));
    }
}
