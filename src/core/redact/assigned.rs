//! Secrets that a text gives a name: `password: X`, `export TOKEN=X`, `--api-key X`, `"api_key":
//! "X"` amid other words.

use super::names::{is_secret_in_text, is_secret_under};
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

/// How further names of members end whose text is a secret.
pub(crate) const MEMBERS: &[&str] = &[
    "authorization",
    "authentication",
    "cookie",
    "dsn",
    "code",
    "word",
    "phrase",
];

/// Most bytes of a name, and of a value.
const NAME: usize = 64;
const VALUE: usize = 512;
/// Most signs that close a name.
const CLOSING: usize = 4;
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
fn separator(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let (mut at, mut closing) = (word.end, 0);
    while closing < CLOSING && matches!(byte(at), b'"' | b'\'' | b'`' | b']' | b'\\' | b'*') {
        // However often it was quoted.
        closing += usize::from(byte(at) != b'\\');
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

/// Whether a word may end the name of a secret in a text whose escapes are not decoded, however deep they are nested:
/// all that [`assigned`] and the names of members find once they are, and what no look at the escapes can tell.
pub(crate) fn may_assign(text: &str, word: Range<usize>) -> bool {
    // Names are compared without these signs.
    let rest = text[word.end..].trim_start_matches(['_', '-']);
    let word = word.start..text.len() - rest.len();
    let Some(span) = separator(text, word.clone()) else {
        return is_before_tab(text, &word);
    };
    let closing = text[word.end..].trim_start_matches('\\');
    let is_member = closing.starts_with('"');
    let whole = &text[name(text, word.clone())];
    let start = word.end - whole.len();
    // The letter after a backslash belongs to the escape: `\nPASSWORD`.
    let is_escaped = text[..start].trim_end_matches('-').ends_with('\\');
    if is_escaped && whole.starts_with('u') {
        return true;
    }
    let escaped = whole.get(1..).filter(|_| is_escaped);
    let escaped = escaped.map(|name| name.trim_start_matches('-'));
    let mut names = std::iter::once(whole).chain(escaped);
    names.any(|name| may_be_secret(text, name, span.clone(), is_member))
}

/// Whether an escaped tab parts a name and its value.
fn is_before_tab(text: &str, word: &Range<usize>) -> bool {
    let rest = text[word.end..].trim_start_matches(['"', '\'', '`', ']', '*', ' ']);
    let Some(tab) = rest.trim_start_matches('\\').strip_prefix('t') else {
        return false;
    };
    let next = tab.trim_start_matches(['\\', 't', ' ']);
    let is_flag = is_flag(text, word) || text[name(text, word.clone())].contains("--");
    rest.starts_with('\\') && (next.starts_with(['=', ':']) || is_flag)
}

fn may_be_secret(text: &str, name: &str, span: Range<usize>, is_member: bool) -> bool {
    let bytes = text.as_bytes();
    let blank = skip_blanks(bytes, span.start);
    let is_tight = blank == span.start;
    let escape = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        (at + slashes, rest.get(slashes).copied().unwrap_or_default())
    };
    let (open, first) = escape(blank);
    let is_quoted = matches!(first, b'"' | b'\'' | b'`');
    if open > blank && first != b'"' {
        // After a line feed there is no value; other escapes may be anything.
        return !matches!(first, b'n' | b'r');
    }
    let inside = open + usize::from(is_quoted)..span.end;
    let Some(rest) = bytes.get(inside.clone()) else {
        return false;
    };
    let length = rest
        .iter()
        .position(|byte| ends_value(*byte, is_quoted.then_some(first)));
    let end = length.map_or(inside.end, |length| inside.start + length);
    let found = text.get(inside.start..end).unwrap_or_default();
    let (place, next) = escape(end);
    let is_doubtful = place > end
        && match next {
            b'n' | b'r' => is_member,
            // A quote within the text of a member was quoted once more than those around it.
            b'"' => is_quoted && first != b'"' || is_member && place - end != open - blank,
            b't' => is_quoted,
            b'u' | b'b' | b'f' | b'/' => true,
            _ => is_member,
        };
    let is_type = !is_quoted && found.bytes().all(|byte| byte.is_ascii_alphabetic());
    let next = skip_blanks(bytes, end);
    if is_type && next > end && bytes.get(next) == Some(&b'=') && !is_tight {
        return may_be_secret(text, name, next + 1..inside.end, is_member);
    }
    let bare = found.strip_suffix('.').filter(|_| !is_quoted);
    let is_secret = |found| is_secret_in_text(name, found, is_quoted, is_tight);
    is_doubtful
        || is_secret(bare.unwrap_or(found))
        || is_member && (length.is_none() || is_secret_under(name, found))
}

/// Whether a byte ends a value that this quote opened, or none.
fn ends_value(byte: u8, quote: Option<u8>) -> bool {
    match quote {
        Some(quote) => byte == quote || matches!(byte, b'\n' | b'\r' | b'\\'),
        None => byte.is_ascii_whitespace() || b",;\"'`)]}<>|&\\".contains(&byte),
    }
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
    let length = bytes
        .get(inside.clone())?
        .iter()
        .position(|byte| ends_value(*byte, quote.copied()));
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
