//! Pictures in an item, and their size in pixels as their own headers tell it.

use crate::json::{Cursor, JsonError, display_text};
use crate::session::{Item, Kind};

/// How much of the text of a picture is decoded: headers stand at its beginning, in JPEG behind
/// whatever the camera wrote.
const HEAD: usize = 256 * 1024;
/// Blocks nest once: a result holds parts.
const DEPTH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// Width and height in pixels; `None` where it stands elsewhere, or its header cannot be read.
    pub size: Option<(u32, u32)>,
}

/// The pictures of an item, in its order: blocks of Anthropic, parts of Chat.
pub fn images_of(item: &Item, bytes: &[u8]) -> Vec<Image> {
    let mut found = Vec::new();
    let may_hold = matches!(item.kind, Kind::User | Kind::Output)
        && memchr::memmem::find(bytes, b"\"image").is_some();
    let mut cursor = Cursor::new(bytes);
    if may_hold && cursor.peek() == Some(b'{') {
        // The item was walked without a fault when it was read.
        let _ = collect(&mut cursor, 0, &mut found);
    }
    found
}

/// Takes the pictures of the object at the cursor: of itself, or of the parts of its content.
fn collect(cursor: &mut Cursor<'_>, depth: usize, found: &mut Vec<Image>) -> Result<(), JsonError> {
    let (mut kind, mut data) = (None, None);
    cursor.object(|cursor, key| {
        match key {
            b"type" => kind = cursor.string()?,
            b"content" if depth < DEPTH && cursor.peek() == Some(b'[') => {
                cursor.array(|cursor| match cursor.peek() {
                    Some(b'{') => collect(cursor, depth + 1, found),
                    _ => cursor.skip().map(|_| ()),
                })?;
            }
            b"source" | b"image_url" if cursor.peek() == Some(b'{') => {
                cursor.object(|cursor, key| {
                    if matches!(key, b"data" | b"url") {
                        data = cursor.string()?;
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if matches!(kind, Some(b"image" | b"image_url")) {
        let size = data.and_then(size_of_text);
        found.push(Image { size });
    }
    Ok(())
}

/// The size of a picture that stands as base64, or as a `data:` address of it.
fn size_of_text(raw: &[u8]) -> Option<(u32, u32)> {
    let head = &raw[..raw.len().min(HEAD)];
    let text = display_text(head);
    let data = match text.strip_prefix("data:") {
        Some(address) => address.split_once(";base64,")?.1,
        None => &text,
    };
    size_of(&decode(data.as_bytes()))
}

/// Base64 as far as it goes; of the rest nothing is known.
fn decode(text: &[u8]) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for six in text.iter().map_while(|byte| value(*byte)) {
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

/// Width and height by the header of PNG, GIF, WebP or JPEG.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return webp(bytes);
    }
    bytes.starts_with(&[0xff, 0xd8]).then(|| jpeg(bytes))?
}

/// The three forms of a WebP file: extended, lossless, lossy.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let packed = little(bytes, 21, 4)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little(bytes, 26, 2)? & 0x3fff,
            little(bytes, 28, 2)? & 0x3fff,
        )),
        _ => None,
    }
}

/// The first frame header (SOF) of a JPEG file.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        while *bytes.get(at)? == 0xff && *bytes.get(at + 1)? == 0xff {
            at += 1;
        }
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            // These have no length.
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + big(bytes, at + 2, 2)?.max(2) as usize,
        }
    }
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at + length)?.iter();
    Some(part.fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at + length)?.iter().rev();
    Some(part.fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_tells_its_size() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 8, 114, 0, 0, 0, 64]);
        assert_eq!(size_of(&png), Some((2162, 64)));
        assert_eq!(size_of(b"GIF89a\x20\x03\x10\x27"), Some((800, 10_000)));
        let jpeg = [
            0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xc2, 0, 17, 8, 0x03, 0xe8, 0x1f, 0x41,
        ];
        assert_eq!(size_of(&jpeg), Some((8001, 1000)));
        let mut extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0".to_vec();
        extended.extend([0xcf, 7, 0, 99, 0, 0]);
        assert_eq!(size_of(&extended), Some((2000, 100)));
        let mut lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".to_vec();
        lossless.extend((1999_u32 | 99 << 14).to_le_bytes());
        assert_eq!(size_of(&lossless), Some((2000, 100)));
        let mut lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a".to_vec();
        lossy.extend([0xd0, 7, 100, 0]);
        assert_eq!(size_of(&lossy), Some((2000, 100)));
    }

    #[test]
    fn what_is_cut_or_no_picture_has_no_size() {
        for bytes in [
            &b""[..],
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff",
            b"RIFF\0\0\0\0WEBP",
            b"%PDF",
        ] {
            assert_eq!(size_of(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn base64_in_both_alphabets() {
        assert_eq!(decode(b"iVBORw0K"), b"\x89PNG\r\n");
        assert_eq!(decode(b"_-8="), decode(b"/+8="));
    }
}
