//! Secrets that a text gives a name: `password: X`, `export TOKEN=X`, `--api-key X`, `"api_key":
//! "X"` amid other words.

use super::names::is_secret_in_text;
use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// How names end that such a text may give.
pub(crate) const ENDINGS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "pat",
    "auth",
    "bearer",
    "jwt",
    "credential",
    "credentials",
    "pin",
    "otp",
    "connection_string",
    "connectionstring",
    "database_url",
];

/// Most bytes of a name, and of a value.
const NAME: usize = 64;
const VALUE: usize = 512;
/// Most blanks between a name and its value.
const BLANKS: usize = 8;

/// A value with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) name: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// Every secret that the text gives a name.
pub(crate) fn assigned(text: &str) -> impl Iterator<Item = Assigned> {
    static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let builder = &mut AhoCorasick::builder();
        builder.ascii_case_insensitive(true).build(ENDINGS).ok()
    });
    let words = FINDER
        .iter()
        .flat_map(move |finder| finder.find_overlapping_iter(text));
    words.filter_map(move |word| {
        let span = separator(text, word.range())?;
        let assigned = Assigned {
            name: name(text, word.range()),
            value: span,
        };
        value(text, assigned)
    })
}

/// The name that ends with this word, without the dashes of a flag and what it is a member of.
fn name(text: &str, word: Range<usize>) -> Range<usize> {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let before = text.as_bytes()[..word.start].iter().rev().take(NAME);
    let start = word.start - before.take_while(is_of_name).count();
    let dashes = text[start..word.end]
        .bytes()
        .take_while(|byte| *byte == b'-');
    start + dashes.count()..word.end
}

/// The span after a name that may hold its value; `None` where the word does not end a name with a value.
pub(crate) fn separator(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let mut at = word.end;
    while at < word.end + 4 && matches!(byte(at), b'"' | b'\'' | b'`' | b']' | b'\\' | b'*') {
        at += 1;
    }
    let is_closed = at > word.end;
    let separated = skip_blanks(bytes, at);
    at = match (byte(separated), byte(separated + 1)) {
        (b'=' | b':', b'=' | b':' | b'>') if byte(separated) == byte(separated + 1) => return None,
        (b':', b'=') | (b'=', b'>') => separated + 2,
        (b'=' | b':', _) => separated + 1,
        _ if separated > at && !is_closed && is_flag(text, &word) => separated,
        _ => return None,
    };
    let end = (at + VALUE).min(bytes.len());
    Some(at..end)
}

fn is_flag(text: &str, word: &Range<usize>) -> bool {
    text[..name(text, word.clone()).start].ends_with("--")
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes.iter().skip(at).take(BLANKS);
    at + blanks
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// The value in the span after the name, if it is a secret.
fn value(text: &str, assigned: Assigned) -> Option<Assigned> {
    let bytes = text.as_bytes();
    let name = text.get(assigned.name.clone())?;
    let Range { start, end } = assigned.value;
    let mut open = skip_blanks(bytes, start);
    let is_tight = open == start;
    // Of JSON in a text in quotes.
    open += usize::from(bytes.get(open) == Some(&b'\\') && bytes.get(open + 1) == Some(&b'"'));
    let quote = bytes
        .get(open)
        .filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let inside = open + usize::from(quote.is_some())..end;
    let ends = |byte: &u8| match quote {
        Some(quote) => byte == quote || matches!(byte, b'\n' | b'\r' | b'\\'),
        None => byte.is_ascii_whitespace() || b",;\"'`)]}<>|&\\".contains(byte),
    };
    let length = bytes.get(inside.clone())?.iter().position(ends);
    let mut end = length.map_or(inside.end, |length| inside.start + length);
    if quote.is_none() && bytes[..end].ends_with(b".") {
        end -= 1;
    }
    let found = text.get(inside.start..end)?;
    let is_type = quote.is_none() && found.bytes().all(|byte| byte.is_ascii_alphabetic());
    let next = skip_blanks(bytes, end);
    if is_type && next > end && bytes.get(next) == Some(&b'=') && !is_tight {
        // `password: str = "X"`
        return value(
            text,
            Assigned {
                value: next + 1..inside.end,
                ..assigned
            },
        );
    }
    let found_range = inside.start..end;
    is_secret_in_text(name, found, quote.is_some(), is_tight).then_some(Assigned {
        value: found_range,
        ..assigned
    })
}
