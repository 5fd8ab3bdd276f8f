//! Characters that are split over two events: a server that cuts its text by UTF-16 sends `\ud83d` in one delta
//! and `\ude00` in the next.
//!
//! Neither half is text, so no JSON value can hold it. [`event_value`] puts a private character in place of each
//! half; once the reply is together, [`rejoin`] makes one character of two halves, and spells a half that
//! stayed alone as the escape that it was.

use serde_json::Value;
use std::borrow::Cow;

/// The last 2,048 private characters of Unicode, one for each half.
const FIRST: u32 = 0x0010_F800;
const HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// The data of an event as JSON; `None` where it is none.
pub fn event_value(data: &str) -> Option<Value> {
    serde_json::from_str(data).ok().or_else(|| {
        let marked = (!may_hold_half(data)).then(|| mark(data))?;
        serde_json::from_str(&marked).ok()
    })
}

/// A reply's JSON with its halves put together.
pub fn rejoin(json: &str) -> Cow<'_, str> {
    join(json, |half, joined| {
        joined.push_str(&format!("\\u{half:04x}"));
    })
}

/// Words of a stream to be looked at: without a half whose other half is in another event.
pub fn visible(words: &str) -> Cow<'_, str> {
    join(words, |_, _| {})
}

/// Whether a text holds one of the private characters, or one of their neighbours: the first two bytes
/// of all of them.
fn may_hold_half(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"\xf4\x8f").is_some()
}

/// Puts halves together and has the others spelled.
fn join(text: &str, alone: impl Fn(u32, &mut String)) -> Cow<'_, str> {
    if !may_hold_half(text) {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let Some(half) = half_of(char) else {
            joined.push(char);
            continue;
        };
        let next = chars.peek().copied().and_then(half_of);
        match next.and_then(|next| pair(half, next)) {
            Some(whole) => {
                joined.push(whole);
                chars.next();
            }
            None => alone(half, &mut joined),
        }
    }
    Cow::Owned(joined)
}

/// The JSON with a private character for each escape of half a character.
fn mark(data: &str) -> String {
    let mut marked = String::with_capacity(data.len());
    let mut rest = data;
    while let Some(at) = rest.find('\\') {
        marked.push_str(&rest[..at]);
        let escape = &rest[at..];
        let first = half_at(escape);
        let second = first.and_then(|_| half_at(&escape[6..]));
        let length = match (first, second) {
            (Some(first), Some(second)) if pair(first, second).is_some() => {
                marked.push_str(&escape[..12]);
                12
            }
            (Some(half), _) => {
                marked.extend(char::from_u32(FIRST + half - HALVES.start()));
                6
            }
            (None, _) => {
                let length = escape.chars().take(2).map(char::len_utf8).sum();
                marked.push_str(&escape[..length]);
                length
            }
        };
        rest = &escape[length..];
    }
    marked.push_str(rest);
    marked
}

/// The half whose escape is at the start of a text.
fn half_at(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let half = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    HALVES.contains(&half).then_some(half)
}

/// The half that a private character replaces.
fn half_of(char: char) -> Option<u32> {
    let half = u32::from(char).checked_sub(FIRST)? + HALVES.start();
    HALVES.contains(&half).then_some(half)
}

fn pair(high: u32, low: u32) -> Option<char> {
    match (high, low) {
        (0xD800..=0xDBFF, 0xDC00..=0xDFFF) => {
            char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn halves_in_two_events_are_one_character() {
        let piece = |data: &str| {
            let value = event_value(data).unwrap();
            value["d"].as_str().unwrap().to_owned()
        };
        let text = piece(r#"{"d":"a\\\ud83d"}"#) + &piece(r#"{"d":"\ude00b\uD83D\uDE00"}"#);
        let json = Value::from(text).to_string();
        assert_eq!(rejoin(&json), "\"a\\\\\u{1f600}b\u{1f600}\"");
    }

    #[test]
    fn a_half_that_stays_alone_is_spelled_as_it_came() {
        let value = event_value(r#"{"d":"\udE00x\ud83d"}"#).unwrap();
        assert_eq!(rejoin(&value.to_string()), r#"{"d":"\ude00x\ud83d"}"#);
        assert_eq!(visible(value["d"].as_str().unwrap()), "x");
    }

    #[test]
    fn what_is_no_json_stays_none_and_what_needs_nothing_stays_itself() {
        for data in [
            "{\"broken",
            "\\ud83d",
            "{\"d\":\"\\ud8",
            "{\"d\":\"\\u+83d\"}",
        ] {
            assert_eq!(event_value(data), None, "{data}");
        }
        let private = "{\"d\":\"\u{10f900}\"}";
        assert_eq!(event_value(private).unwrap().to_string(), private);
        assert_eq!(rejoin("\u{10f7ff}"), "\u{10f7ff}");
        assert!(matches!(rejoin("\"plain\""), Cow::Borrowed(_)));
    }
}
