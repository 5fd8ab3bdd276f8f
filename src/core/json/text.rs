//! What a JSON string says: escapes resolved, and nothing lost where it cannot be resolved.

use std::borrow::Cow;

/// The text of the inside of a JSON string.
///
/// A lone surrogate (`\ud83d` without its partner) and an escape that JSON does not know stay as they are
/// spelled: they have no text. Bytes that are not UTF-8 stay as bytes.
pub fn unescape(inside: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', inside) else {
        return Cow::Borrowed(inside);
    };
    let mut text = Vec::with_capacity(inside.len());
    text.extend_from_slice(&inside[..first]);
    let mut at = first;
    while at < inside.len() {
        if inside[at] != b'\\' {
            let plain = memchr::memchr(b'\\', &inside[at..]).unwrap_or(inside.len() - at);
            text.extend_from_slice(&inside[at..at + plain]);
            at += plain;
            continue;
        }
        at += match resolve(&inside[at..]) {
            Some((character, length)) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                length
            }
            None => {
                text.push(b'\\');
                1
            }
        };
    }
    Cow::Owned(text)
}

/// The text of the inside of a JSON string, for comparing and for templates: bytes that are
/// not UTF-8 become U+FFFD.
pub fn display_text(inside: &[u8]) -> Cow<'_, str> {
    match unescape(inside) {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        },
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        },
    }
}

/// The character of the escape at the start of `text` and the length of its spelling.
fn resolve(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return resolve_unicode(text),
        _ => return None,
    };
    Some((character, 2))
}

fn resolve_unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = hex_unit(text)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, 6));
    }
    let low = hex_unit(text.get(6..)?)?;
    let both_surrogates = (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low);
    let code = both_surrogates.then(|| 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?;
    char::from_u32(code).map(|character| (character, 12))
}

/// The UTF-16 unit of `\uXXXX`.
fn hex_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit << 4 | (*digit as char).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_their_characters() {
        assert_eq!(
            display_text(br#"a\n\t\"\\\/\u00e9\ud83d\ude00"#),
            "a\n\t\"\\/é😀"
        );
        assert!(matches!(unescape(b"plain"), Cow::Borrowed(b"plain")));
    }

    #[test]
    fn what_has_no_text_stays_as_it_is_spelled() {
        for spelled in [r"\ud83d", r"\ud83d\u0041", r"\q", r"\u12", r"\", r"\ude00"] {
            let expected = spelled.replace(r"\u0041", "A");
            assert_eq!(
                unescape(spelled.as_bytes()),
                expected.as_bytes(),
                "{spelled}"
            );
        }
        assert_eq!(unescape(b"caf\xe9\\n"), &b"caf\xe9\n"[..]);
    }
}
