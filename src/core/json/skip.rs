//! Jumps over one JSON value and says where it ends.

use super::{JsonError, JsonErrorKind};
use memchr::memchr;

/// The position of the first byte at or after `at` that is not JSON white space.
#[inline]
pub fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The position after the closing quote of the string whose opening quote is at `open`.
///
/// A quote closes the string unless an odd run of backslashes precedes it.
#[inline]
pub fn string_end(bytes: &[u8], open: usize) -> Result<usize, JsonError> {
    let from = open + 1;
    let rest = bytes.get(from..).unwrap_or_default();
    let Some(found) = memchr(b'"', rest) else {
        return Err(JsonError {
            at: bytes.len(),
            kind: JsonErrorKind::End,
        });
    };
    let quote = from + found;
    if bytes[quote - 1] != b'\\' {
        return Ok(quote + 1);
    }
    let escapes = bytes[from..quote]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    if escapes % 2 == 0 {
        return Ok(quote + 1);
    }
    escaped_end(bytes, quote + 1)
}

/// Bytes that are looked at together: one bit of a word each.
const BLOCK: usize = 64;

/// The same for the rest of a string that holds escaped quotes; `at` is after a whole letter. JSON nested
/// in JSON has one every few bytes, and looking at every byte costs less than jumping from one to the next.
fn escaped_end(bytes: &[u8], mut at: usize) -> Result<usize, JsonError> {
    // 1 where the next byte is escaped.
    let mut carried = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let slashes = places(block, b'\\');
        let escaped = escaped_by(slashes, carried);
        let closing = places(block, b'"') & !escaped;
        if closing != 0 {
            return Ok(at + closing.trailing_zeros() as usize + 1);
        }
        carried = (slashes & !escaped) >> (BLOCK - 1);
        at += BLOCK;
    }
    let mut is_escaped = carried == 1;
    for (place, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Ok(place + 1),
            _ => {}
        }
    }
    Err(JsonError {
        at: bytes.len(),
        kind: JsonErrorKind::End,
    })
}

/// Which bytes of a block are this one.
#[inline]
fn places(block: &[u8; BLOCK], byte: u8) -> u64 {
    let same = block.map(|one| u8::from(one == byte));
    let (eights, _) = same.as_chunks();
    let words = eights.iter().map(|eight| {
        // Moves the lowest bits of eight bytes side by side into the highest byte.
        u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    words.rev().fold(0, |places, word| places << 8 | word)
}

/// Which bytes of a block are escaped, by its backslashes.
#[inline]
fn escaped_by(slashes: u64, carried: u64) -> u64 {
    let escaped = slashes << 1 | carried;
    if slashes & escaped == 0 {
        return escaped;
    }
    // Of a run of backslashes each second one is escaped itself.
    let (mut escaped, mut left) = (carried, slashes & !carried);
    while left != 0 {
        let first = left & left.wrapping_neg();
        escaped |= first << 1;
        left &= !(first | first << 1);
    }
    escaped
}

/// The position after the value that starts at `at` (white space before it is allowed).
pub fn skip_value(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    let mut open = Containers::default();
    let mut at = skip_whitespace(bytes, at);
    loop {
        match byte_at(bytes, at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' => {
                at = skip_whitespace(bytes, at + 1);
                if byte_at(bytes, at)? == b'}' {
                    at += 1;
                } else {
                    open.push(Container::Object);
                    at = skip_key(bytes, at)?;
                    continue;
                }
            }
            b'[' => {
                at = skip_whitespace(bytes, at + 1);
                if byte_at(bytes, at)? == b']' {
                    at += 1;
                } else {
                    open.push(Container::Array);
                    continue;
                }
            }
            _ => at = skip_scalar(bytes, at)?,
        }
        loop {
            let Some(container) = open.last() else {
                return Ok(at);
            };
            at = skip_whitespace(bytes, at);
            match (container, byte_at(bytes, at)?) {
                (Container::Object, b',') => {
                    at = skip_key(bytes, skip_whitespace(bytes, at + 1))?;
                    break;
                }
                (Container::Array, b',') => {
                    at = skip_whitespace(bytes, at + 1);
                    break;
                }
                (Container::Object, b'}') | (Container::Array, b']') => {
                    at += 1;
                    open.pop();
                }
                (_, byte) => {
                    return Err(JsonError {
                        at,
                        kind: JsonErrorKind::Byte(byte),
                    });
                }
            }
        }
    }
}

/// From the opening quote of a key to the first byte of its value.
#[inline]
fn skip_key(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    expect(bytes, at, b'"')?;
    let colon = skip_whitespace(bytes, string_end(bytes, at)?);
    expect(bytes, colon, b':')?;
    Ok(skip_whitespace(bytes, colon + 1))
}

#[inline]
pub(super) fn byte_at(bytes: &[u8], at: usize) -> Result<u8, JsonError> {
    bytes.get(at).copied().ok_or(JsonError {
        at,
        kind: JsonErrorKind::End,
    })
}

#[inline]
pub(super) fn expect(bytes: &[u8], at: usize, wanted: u8) -> Result<(), JsonError> {
    match byte_at(bytes, at)? {
        byte if byte == wanted => Ok(()),
        byte => Err(JsonError {
            at,
            kind: JsonErrorKind::Byte(byte),
        }),
    }
}

fn skip_scalar(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
        .count();
    let word = &bytes[at..at + length];
    let cut = at + length == bytes.len();
    match word.first() {
        None => Err(JsonError {
            at,
            kind: JsonErrorKind::Byte(bytes[at]),
        }),
        Some(b'-' | b'0'..=b'9') if is_number(word) => Ok(at + length),
        _ if [&b"true"[..], b"false", b"null"].contains(&word) => Ok(at + length),
        _ if cut
            && [&b"true"[..], b"false", b"null"]
                .iter()
                .any(|whole| whole.starts_with(word)) =>
        {
            Err(JsonError {
                at: bytes.len(),
                kind: JsonErrorKind::End,
            })
        }
        Some(b'-' | b'0'..=b'9') if cut => Err(JsonError {
            at: bytes.len(),
            kind: JsonErrorKind::End,
        }),
        Some(b'-' | b'0'..=b'9') => Err(JsonError {
            at,
            kind: JsonErrorKind::Number,
        }),
        Some(_) => Err(JsonError {
            at,
            kind: JsonErrorKind::Word,
        }),
    }
}

/// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`, RFC 8259 section 6.
fn is_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(b'e' | b'E') = rest.first() {
        rest = &rest[1..];
        if let Some(b'+' | b'-') = rest.first() {
            rest = &rest[1..];
        }
        let length = digits(rest);
        return length > 0 && length == rest.len();
    }
    rest.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// The open containers, one bit each: five million levels take 625 KB.
#[derive(Default)]
struct Containers {
    bits: Vec<u64>,
    top: u64,
    depth: usize,
}

impl Containers {
    #[inline]
    fn push(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits.push(self.top);
        }
        self.top = self.top << 1 | u64::from(container == Container::Array);
        self.depth += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.top >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.bits.pop().unwrap_or_default();
        }
    }

    #[inline]
    fn last(&self) -> Option<Container> {
        match (self.depth, self.top & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Object),
            (_, _) => Some(Container::Array),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(text: &str) -> Result<usize, JsonErrorKind> {
        skip_value(text.as_bytes(), 0).map_err(|fault| fault.kind)
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        for text in [
            "{}",
            "[]",
            "\"a\"",
            "1",
            "-0.5e+3",
            "true",
            "null",
            r#"{"a":[1,{"b":"}]"}],"c":""}"#,
            r#" [ 1 , 2 ] "#,
        ] {
            assert_eq!(end(text), Ok(text.trim_end().len()), "{text}");
        }
        assert_eq!(end("{} {}"), Ok(2));
    }

    #[test]
    fn a_quote_after_an_odd_run_of_backslashes_does_not_close() {
        assert_eq!(end(r#""a\"b""#), Ok(6));
        assert_eq!(end(r#""a\\""#), Ok(5));
        assert_eq!(end(r#""a\\\"b""#), Ok(8));
    }

    proptest! {
        #[test]
        fn a_string_of_many_escapes_ends_where_it_ends_letter_by_letter(text in r#"["\\\\ab]{0,300}"#) {
            let text = format!("\"\\\"{text}");
            let (mut end, mut is_escaped) = (None, false);
            for (place, byte) in text.bytes().enumerate().skip(1) {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => {
                        end = Some(place + 1);
                        break;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(string_end(text.as_bytes(), 0).ok(), end);
        }

        #[test]
        fn runs_of_backslashes_end_in_any_place_of_a_block(before in 0..130_usize, run in 0..130_usize) {
            let text = format!(r#""\"{}{}"x"#, "a".repeat(before), "\\".repeat(run));
            let end = text.len() - 1;
            let expected = if run % 2 == 0 { Some(end) } else { None };
            prop_assert_eq!(string_end(text.as_bytes(), 0).ok(), expected);
        }
    }

    #[test]
    fn a_cut_value_says_that_it_is_cut() {
        for text in [
            "",
            "{",
            "[",
            "\"a",
            r#"{"a"#,
            r#"{"a":"#,
            r#"{"a":1"#,
            "[1,",
            "tru",
            "-",
            "\"\\\"",
        ] {
            assert_eq!(end(text), Err(JsonErrorKind::End), "{text}");
        }
    }

    #[test]
    fn what_json_refuses_is_refused_with_its_reason() {
        assert_eq!(end("{oops}"), Err(JsonErrorKind::Byte(b'o')));
        assert_eq!(end("[1,]"), Err(JsonErrorKind::Byte(b']')));
        assert_eq!(end("{'a':1}"), Err(JsonErrorKind::Byte(b'\'')));
        assert_eq!(end("[NaN]"), Err(JsonErrorKind::Word));
        assert_eq!(end("[01]"), Err(JsonErrorKind::Number));
        assert_eq!(end("[1.]"), Err(JsonErrorKind::Number));
        assert_eq!(end("[}"), Err(JsonErrorKind::Byte(b'}')));
    }

    #[test]
    fn five_million_levels_neither_recurse_nor_mix_up_their_kinds() {
        let levels = 5_000_000;
        let mut text = "[{\"a\":".repeat(levels / 2);
        text.push('1');
        text.push_str(&"}]".repeat(levels / 2));
        assert_eq!(end(&text), Ok(text.len()));
        assert_eq!(end(&"[".repeat(levels)), Err(JsonErrorKind::End));
    }

    #[test]
    fn many_backslashes_stay_linear() {
        let text = format!("\"{}\"", "\\\\".repeat(5_000_000));
        assert_eq!(end(&text), Ok(text.len()));
    }
}
