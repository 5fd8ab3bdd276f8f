//! Reads UTF-16 and UTF-32 as UTF-8: PowerShell's `>` writes the former.

use retake_core::session::{Problem, ProblemKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    name: &'static str,
    width: usize,
    big_endian: bool,
    mark: usize,
}

/// The wide encoding of a text that begins with these bytes, by its byte-order mark or by where its zeros are:
/// JSON begins with an ASCII character (RFC 4627 section 3).
pub(crate) fn encoding_of(head: &[u8]) -> Option<Encoding> {
    let found = |name, width, big_endian, mark| {
        Some(Encoding {
            name,
            width,
            big_endian,
            mark,
        })
    };
    match head {
        [0xff, 0xfe, 0, 0, ..] => found("UTF-32", 4, false, 4),
        [0, 0, 0xfe, 0xff, ..] => found("UTF-32", 4, true, 4),
        [0xff, 0xfe, ..] => found("UTF-16", 2, false, 2),
        [0xfe, 0xff, ..] => found("UTF-16", 2, true, 2),
        [first, 0, 0, 0, ..] if starts_json(*first) => found("UTF-32", 4, false, 0),
        [0, 0, 0, first, ..] if starts_json(*first) => found("UTF-32", 4, true, 0),
        [first, 0, second, 0, ..] if starts_json(*first) && *second != 0 => {
            found("UTF-16", 2, false, 0)
        }
        [0, first, 0, second, ..] if starts_json(*first) && *second != 0 => {
            found("UTF-16", 2, true, 0)
        }
        _ => None,
    }
}

fn starts_json(byte: u8) -> bool {
    matches!(byte, b'[' | b'{' | b' ' | b'\n' | b'\r' | b'\t')
}

/// The text in UTF-8, and a notice where it was not.
pub(crate) fn to_utf8(bytes: Vec<u8>) -> (Vec<u8>, Vec<Problem>) {
    let Some(encoding) = encoding_of(&bytes) else {
        return (bytes, Vec::new());
    };
    let units = bytes[encoding.mark..].chunks_exact(encoding.width);
    let is_cut = !units.remainder().is_empty();
    let units = units.map(|unit| {
        let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        if encoding.big_endian {
            unit.iter().fold(0, fold)
        } else {
            unit.iter().rev().fold(0, fold)
        }
    });
    let mut text: String = if encoding.width == 4 {
        units
            .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    } else {
        let units = units.map(|unit| u16::try_from(unit).unwrap_or_default());
        char::decode_utf16(units)
            .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    if is_cut {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    (
        text.into_bytes(),
        vec![Problem {
            at: 0,
            kind: ProblemKind::Transcoded(encoding.name),
        }],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_read_with_or_without_its_mark() {
        let text = "[{\"role\":\"user\",\"content\":\"né 😀\"}]";
        let wide =
            |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<_>>();
        for bytes in [
            wide(u16::to_le_bytes),
            wide(u16::to_be_bytes),
            [vec![0xff, 0xfe], wide(u16::to_le_bytes)].concat(),
            text.chars()
                .flat_map(|character| (character as u32).to_le_bytes())
                .collect(),
        ] {
            let (read, notices) = to_utf8(bytes);
            assert_eq!(
                (String::from_utf8(read).unwrap(), notices.len()),
                (text.to_owned(), 1)
            );
        }
    }

    #[test]
    fn a_character_that_is_cut_is_shown_as_unknown() {
        let (text, _) = to_utf8(b"[\0 \0]\0\n".to_vec());
        assert_eq!(String::from_utf8(text).unwrap(), "[ ]\u{fffd}");
    }

    #[test]
    fn utf_8_stays_as_it_is() {
        assert_eq!(
            to_utf8(b"{\"a\":1}".to_vec()),
            (b"{\"a\":1}".to_vec(), Vec::new())
        );
    }
}
