//! Pictures in an item, and their size in pixels by their own headers.

use super::content::{Content, PICTURES};
use super::turn::{Part, inline_data};
use crate::session::{Dialect, Item, Kind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How much of the text of a picture is decoded: headers are at its beginning, in JPEG after
/// whatever the camera wrote.
const HEAD: usize = 256 * 1024;

/// What an item tells of a picture; nothing where the picture is not in it, or its header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Image {
    /// `png`, `jpeg`, `gif` or `webp`.
    pub kind: Option<&'static str>,
    /// Width and height in pixels.
    pub size: Option<(u32, u32)>,
    /// Bytes of its file.
    pub length: u64,
}

/// The pictures of an item, in its order.
pub fn images_of(item: &Item, bytes: &[u8]) -> Vec<Image> {
    let images = urls_of(item, bytes).into_iter();
    let images = images.map(|url| {
        let head = url.as_deref().map(|url| file_of(url, HEAD));
        let size = head.as_deref().and_then(size_of);
        match (url, head, size) {
            (Some(url), Some(head), Some(_)) => Image {
                kind: kind_of(&head),
                size,
                length: length_of(&url),
            },
            _ => Image::default(),
        }
    });
    images.collect()
}

/// The pictures that an item holds itself as addresses that hold them: made anew of the files, of which nothing but the
/// pictures is kept.
pub fn image_addresses(item: &Item, bytes: &[u8]) -> Vec<String> {
    let files = image_files(item, bytes).into_iter();
    let addresses = files.filter_map(|file| {
        let kind = kind_of(&file)?;
        Some(format!(
            "data:image/{kind};base64,{}",
            STANDARD.encode(file)
        ))
    });
    addresses.collect()
}

/// About how many tokens a picture of so many pixels is, by the rules that providers publish for Claude before Opus 4.7,
/// GPT-4o and Gemini 2 (checked 2026-11). Later models read large pictures finer: they cost more than this.
pub fn tokens_of((width, height): (u32, u32), dialect: Dialect) -> u64 {
    let (width, height) = (f64::from(width), f64::from(height));
    let fitting = |most: f64| (most / width.max(height)).min(1.0);
    let tiles =
        |side: f64, scale: f64| (width * scale / side).ceil() * (height * scale / side).ceil();
    let tokens = match dialect {
        // docs.claude.com, "Vision": width times height by 750, scaled to 1568 pixels and to about 1,600 tokens.
        Dialect::Anthropic | Dialect::Converse => {
            let scale = fitting(1568.0);
            (width * scale * height * scale / 750.0).clamp(1.0, 1600.0)
        }
        // platform.openai.com, "Images and vision": 85, and 170 for each tile of 512 pixels, scaled to 2048 pixels and
        // the shorter side to 768.
        Dialect::Responses | Dialect::Chat => {
            let scale = fitting(2048.0);
            let scale = scale.min(768.0 / width.min(height));
            85.0 + 170.0 * tiles(512.0, scale)
        }
        // ai.google.dev, "Count tokens": 258, of a larger one for each tile of 768 pixels.
        Dialect::Gemini if width.max(height) <= 384.0 => 258.0,
        Dialect::Gemini => 258.0 * tiles(768.0, 1.0),
    };
    tokens as u64
}

/// The files of the pictures that an item holds itself.
pub fn image_files(item: &Item, bytes: &[u8]) -> Vec<Vec<u8>> {
    let urls = urls_of(item, bytes).into_iter().flatten();
    let urls = urls.filter(|url| size_of(&file_of(url, HEAD)).is_some());
    urls.map(|url| file_of(&url, usize::MAX)).collect()
}

/// Whether pictures may be in a JSON text: a glance.
pub(crate) fn may_hold_pictures(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"\"image").is_some()
}

/// The address of each picture; `None` where the provider keeps the file.
fn urls_of(item: &Item, bytes: &[u8]) -> Vec<Option<String>> {
    if !matches!(item.kind, Kind::User | Kind::Output) || !may_hold_pictures(bytes) {
        return Vec::new();
    }
    // The item was walked without a fault when it was read.
    let content = Content::of(item, bytes).unwrap_or_default();
    let urls = content.parts.into_iter().filter_map(|part| match part {
        Part::Image(url) => Some(Some(url)),
        Part::Other(kind) if PICTURES.contains(&&*kind) => Some(None),
        Part::Other(_) | Part::Text(_) | Part::Refusal(_) | Part::Json(_) => None,
        Part::Call(_) | Part::Result(_) => None,
    });
    urls.collect()
}

/// The first bytes of a picture, from so much of its text; none of an address that leads elsewhere.
fn file_of(url: &str, most: usize) -> Vec<u8> {
    let data = inline_data(url).map_or("", |(_, data)| data).as_bytes();
    decode(&data[..data.len().min(most)])
}

/// Bytes of the file of a picture.
fn length_of(url: &str) -> u64 {
    let data = inline_data(url).map_or("", |(_, data)| data);
    data.trim_end_matches('=').len() as u64 * 3 / 4
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

/// The kind of a picture by its header.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], _); 4] = [
        (b"\x89PNG", "png"),
        (b"GIF8", "gif"),
        (b"RIFF", "webp"),
        (&[0xff, 0xd8], "jpeg"),
    ];
    let found = kinds
        .into_iter()
        .find(|(start, _)| bytes.starts_with(start));
    found.map(|(_, kind)| kind)
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
    fn a_picture_is_as_many_tokens_as_its_provider_says() {
        for (size, dialect, tokens) in [
            ((320, 200), Dialect::Anthropic, 85),
            ((1092, 1092), Dialect::Anthropic, 1589),
            ((4000, 3000), Dialect::Anthropic, 1600),
            ((512, 512), Dialect::Chat, 255),
            ((1024, 1024), Dialect::Responses, 765),
            ((2048, 4096), Dialect::Responses, 1105),
            ((320, 200), Dialect::Gemini, 258),
            ((960, 540), Dialect::Gemini, 516),
        ] {
            assert_eq!(tokens_of(size, dialect), tokens, "{size:?} {dialect:?}");
        }
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
