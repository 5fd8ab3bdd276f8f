//! What is wrong with a broken JSON text, by name.
//!
//! A tolerant parser with one switch per repair says which repairs a text needs: those without which it means
//! another value or nothing. What has no switch is seen by a scan of the text.

use std::fmt;

use jsonfix::{Options, Repairs};

use super::{MAX_DEPTH, first_error, is_json};

/// Longest text that is tried with each repair switched off; longer texts are only scanned.
const MAX_TRIED: usize = 1 << 20;

/// One thing that is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SyntaxDefect {
    /// Nothing but white space.
    Empty,
    /// No JSON at all.
    PlainText,
    /// Nested deeper than [`MAX_DEPTH`] levels.
    TooDeep,
    /// Ends before everything that was opened is closed.
    Truncated,
    /// In a Markdown fence.
    CodeFence,
    /// Words before the JSON.
    Prose,
    /// A JSON string that holds JSON.
    DoubleEncoded,
    /// Single or typographic quotes.
    SingleQuotes,
    /// A key or text without quotes.
    Unquoted,
    /// `True`, `None`, `undefined`, `NaN`: words of another language.
    ForeignLiterals,
    Comments,
    /// A comma before a closing bracket.
    TrailingComma,
    /// Several values where one belongs.
    SeveralValues,
    /// A number that JSON does not write so (`.5`, `007`).
    BadNumber,
    /// A line break or another control character inside a string.
    ControlCharacters,
    /// Strings joined with `+`.
    JoinedStrings,
    /// A value wrapped in a function call.
    Call,
    /// HTML entities for quotes.
    Entities,
    /// White space that JSON does not know.
    OddWhitespace,
    /// Not JSON for another reason; see [`first_error`].
    Other,
}

impl fmt::Display for SyntaxDefect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "empty",
            Self::PlainText => "plain text, no JSON",
            Self::TooDeep => "nested too deeply",
            Self::Truncated => "cut off before its end",
            Self::CodeFence => "inside a code fence",
            Self::Prose => "words around the JSON",
            Self::DoubleEncoded => "encoded twice: a JSON string that holds JSON",
            Self::SingleQuotes => "single or typographic quotes",
            Self::Unquoted => "unquoted key or text",
            Self::ForeignLiterals => "literals of another language (True, None, NaN)",
            Self::Comments => "comments",
            Self::TrailingComma => "trailing comma",
            Self::SeveralValues => "several values where one belongs",
            Self::BadNumber => "a number that is not written as JSON",
            Self::ControlCharacters => "raw control character in a string",
            Self::JoinedStrings => "strings joined with +",
            Self::Call => "wrapped in a function call",
            Self::Entities => "HTML entities",
            Self::OddWhitespace => "white space that JSON does not know",
            Self::Other => "not JSON",
        })
    }
}

/// Each repair of the tolerant parser with the defect that needs it.
const SWITCHES: [(Repairs, SyntaxDefect); 12] = [
    (Repairs::FENCES, SyntaxDefect::CodeFence),
    (Repairs::COMMENTS, SyntaxDefect::Comments),
    (Repairs::UNQUOTED, SyntaxDefect::Unquoted),
    (Repairs::KEYWORDS, SyntaxDefect::ForeignLiterals),
    (Repairs::NUMBERS, SyntaxDefect::BadNumber),
    (Repairs::CONCATENATION, SyntaxDefect::JoinedStrings),
    (Repairs::CALLS, SyntaxDefect::Call),
    (Repairs::ENTITIES, SyntaxDefect::Entities),
    (Repairs::QUOTES, SyntaxDefect::SingleQuotes),
    (Repairs::WHITESPACE, SyntaxDefect::OddWhitespace),
    (Repairs::TRUNCATION, SyntaxDefect::Truncated),
    (Repairs::NDJSON, SyntaxDefect::SeveralValues),
];

/// Everything that is wrong with a text as the JSON of arguments; empty when it is JSON
/// (and not encoded twice).
#[must_use]
pub fn defects(text: &str) -> Vec<SyntaxDefect> {
    if is_json(text) {
        return if super::decoded_twice(text).is_some() {
            vec![SyntaxDefect::DoubleEncoded]
        } else {
            Vec::new()
        };
    }
    if text.trim().is_empty() {
        return vec![SyntaxDefect::Empty];
    }
    if too_deep_at(text).is_some() {
        return vec![SyntaxDefect::TooDeep];
    }
    if !has_json(text) {
        return vec![SyntaxDefect::PlainText];
    }
    let mut found = scanned(text);
    if text.len() <= MAX_TRIED {
        found.extend(needed_repairs(text));
    }
    if starts_as_prose(text)
        && jsonfix::extract(text).is_some()
        && !found.contains(&SyntaxDefect::CodeFence)
    {
        found.push(SyntaxDefect::Prose);
    }
    if value_follows(text) {
        found.push(SyntaxDefect::SeveralValues);
    }
    if found.is_empty() {
        found.push(SyntaxDefect::Other);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a whole value is followed by another, as when a stream's arguments were joined twice.
fn value_follows(text: &str) -> bool {
    let trailing = first_error(text).filter(|error| error.message == "trailing characters");
    trailing.is_some_and(|error| text[error.byte..].starts_with(['{', '[', '"']))
}

/// Whether there is nothing that a repair could start from.
pub(super) fn nothing_to_repair(text: &str) -> bool {
    !has_json(text) || too_deep_at(text).is_some()
}

/// Whether anything in a text can begin an object, a list or a string.
fn has_json(text: &str) -> bool {
    text.contains(['{', '[', '"', '“']) || text.trim_start().starts_with(['\'', '`', '‘'])
}

/// Whether a text begins with words and holds an object or a list later.
pub(super) fn starts_as_prose(text: &str) -> bool {
    let text = text.trim_start();
    let word: String = text
        .chars()
        .take_while(|character| character.is_alphanumeric())
        .collect();
    !word.is_empty()
        && text[word.len()..].starts_with([' ', ',', ':', '!', '.', '\n'])
        && text.contains(['{', '['])
}

/// The byte where a text nests deeper than [`MAX_DEPTH`], were it JSON: brackets outside double quotes.
pub(super) fn too_deep_at(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut inside = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(at);
        }
    }
    None
}

/// What a walk over the text sees.
fn scanned(text: &str) -> Vec<SyntaxDefect> {
    let mut found = Vec::new();
    let (mut inside, mut escaped, mut depth) = (false, false, 0_usize);
    let mut before = b' ';
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            0..=31 if inside => found.push(SyntaxDefect::ControlCharacters),
            _ if inside => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if before == b',' {
                    found.push(SyntaxDefect::TrailingComma);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        found.dedup();
    }
    if before == b',' && depth == 0 {
        found.push(SyntaxDefect::TrailingComma);
    }
    if inside || depth > 0 {
        found.push(SyntaxDefect::Truncated);
    }
    found
}

/// The repairs without which the text means something else or nothing.
fn needed_repairs(text: &str) -> Vec<SyntaxDefect> {
    let Ok(meant) = jsonfix::repair(text) else {
        return Vec::new();
    };
    let without = |repair: Repairs| {
        let options = Options::all().with_repairs(Repairs::ALL.without(repair));
        jsonfix::repair_with(text, options)
    };
    SWITCHES
        .iter()
        .filter(|(repair, _)| without(*repair).as_ref() != Ok(&meant))
        .map(|(_, defect)| *defect)
        .collect()
}
