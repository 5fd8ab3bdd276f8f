//! Strings that this reader understands and JSON does not allow (RFC 8259 section 7): every strict parser
//! refuses the text around them.

use super::string_end;
use std::borrow::Cow;
use std::ops::Range;

/// What a string holds that JSON does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpellingError {
    /// A control character that is not escaped.
    Control,
    /// An escape that JSON does not know, as `\x41` or `\u12`.
    Escape,
    /// Bytes that are not UTF-8.
    Encoding,
}

/// The strings of a JSON text that are spelled as JSON does not allow, each with its quotes.
pub fn bad_strings(text: &[u8]) -> Vec<(Range<usize>, SpellingError)> {
    let mut found = Vec::new();
    if !may_hold_any(text) {
        return found;
    }
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &text[at..]).map(|place| at + place) {
        let Ok(end) = string_end(text, open) else {
            break;
        };
        if let Some(bad) = bad_spelling(&text[open + 1..end - 1]) {
            found.push((open..end, bad));
        }
        at = end;
    }
    found
}

/// The text with every string spelled as JSON allows it. What it says is what was read: an unknown escape is
/// its characters, bytes that are not UTF-8 are U+FFFD.
pub fn respelled(text: &[u8]) -> Cow<'_, [u8]> {
    let bad = bad_strings(text);
    if bad.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut new = Vec::with_capacity(text.len() + 8 * bad.len());
    let mut at = 0;
    for (range, _) in bad {
        new.extend_from_slice(&text[at..=range.start]);
        spell(&text[range.start + 1..range.end - 1], &mut new);
        at = range.end - 1;
    }
    new.extend_from_slice(&text[at..]);
    Cow::Owned(new)
}

/// A quick look at the bytes alone: most texts hold nothing that needs the strings to be walked. Control
/// characters may stand between strings, backslashes stand in strings only.
fn may_hold_any(text: &[u8]) -> bool {
    let has_control = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | (*byte < 0x20));
    text.chunks(4096).any(has_control) || has_bad_escape(text) || std::str::from_utf8(text).is_err()
}

/// What is wrong with the inside of a string.
fn bad_spelling(inside: &[u8]) -> Option<SpellingError> {
    if inside.iter().fold(false, |any, byte| any | (*byte < 0x20)) {
        return Some(SpellingError::Control);
    }
    if has_bad_escape(inside) {
        return Some(SpellingError::Escape);
    }
    std::str::from_utf8(inside)
        .is_err()
        .then_some(SpellingError::Encoding)
}

fn has_bad_escape(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(place) = memchr::memchr(b'\\', &text[at..]) {
        match escape_length(&text[at + place..]) {
            Some(length) => at += place + length,
            None => return true,
        }
    }
    false
}

/// The length of the escape at the start of a text; `None` for one that JSON does not know.
fn escape_length(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let digits = text.get(2..6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
        }
        _ => None,
    }
}

fn spell(inside: &[u8], new: &mut Vec<u8>) {
    let mut rest = inside;
    while let Some(first) = rest.first() {
        let taken = match first {
            b'\\' => match escape_length(rest) {
                Some(length) => {
                    new.extend_from_slice(&rest[..length]);
                    length
                }
                None => {
                    new.extend_from_slice(b"\\\\");
                    1
                }
            },
            b'\n' => put(new, b"\\n"),
            b'\r' => put(new, b"\\r"),
            b'\t' => put(new, b"\\t"),
            control if *control < 0x20 => put(new, format!("\\u{control:04x}").as_bytes()),
            _ => {
                let plain = |byte: &u8| *byte >= 0x20 && *byte != b'\\';
                let length = rest.iter().take_while(|byte| plain(byte)).count();
                new.extend_from_slice(String::from_utf8_lossy(&rest[..length]).as_bytes());
                length
            }
        };
        rest = &rest[taken..];
    }
}

/// Adds the spelling of one byte.
fn put(new: &mut Vec<u8>, spelling: &[u8]) -> usize {
    new.extend_from_slice(spelling);
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_json_does_not_allow_is_found_and_spelled_anew() {
        let cases: [(&[u8], &str); 6] = [
            (b"{\"a\":\"x\x1b[31m\ty\"}", r#"{"a":"x\u001b[31m\ty"}"#),
            (br#"{"a":"\x41"}"#, r#"{"a":"\\x41"}"#),
            (br#"["\u12","\u00e9\""]"#, r#"["\\u12","\u00e9\""]"#),
            (b"[\"a\xff\xfeb\"]", "[\"a\u{fffd}\u{fffd}b\"]"),
            (b"{\"k\ney\":1}", r#"{"k\ney":1}"#),
            (
                b"{\n\t\"a\" : \"\\n \\\\ \"\r\n}",
                "{\n\t\"a\" : \"\\n \\\\ \"\r\n}",
            ),
        ];
        for (text, expected) in cases {
            let new = respelled(text);
            assert_eq!(String::from_utf8_lossy(&new), expected);
            assert!(
                serde_json::from_slice::<serde_json::Value>(&new).is_ok(),
                "{expected}"
            );
            assert_eq!(respelled(&new), new);
            assert_eq!(bad_strings(text).is_empty(), expected.as_bytes() == text);
        }
    }

    proptest! {
        #[test]
        fn a_string_is_bad_where_a_strict_parser_refuses_it(inside in proptest::collection::vec(
            prop_oneof![Just(b'\\'), Just(b'u'), Just(b'0'), Just(b'n'), Just(b'/'), 0_u8..=255], 0..12)) {
            let mut text = vec![b'"'];
            text.extend(&inside);
            text.push(b'"');
            prop_assume!(string_end(&text, 0).is_ok_and(|end| end == text.len()));
            let spells_half_a_pair = String::from_utf8_lossy(&text).to_ascii_lowercase().contains("\\ud");
            if !spells_half_a_pair {
                let is_strict = serde_json::from_slice::<String>(&text).is_ok();
                prop_assert_eq!(bad_strings(&text).is_empty(), is_strict);
            }
            let new = respelled(&text).into_owned();
            prop_assert!(bad_strings(&new).is_empty());
        }
    }
}
