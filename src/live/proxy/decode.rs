//! Bodies without their compression, for looking only: what passes is never touched.

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::Read;

/// Most bytes that a body may unpack to; a few kilobytes may claim to be terabytes.
pub const DECODED: u64 = 64 << 20;
/// Most codings on top of each other.
const CODINGS: usize = 3;
/// Largest window of zstd that is held, as a power of two: what a server may use over HTTP (RFC 9659).
const WINDOW: u32 = 23;

/// What a body holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedBody<'a> {
    /// The decoded bytes, as far as decoding got.
    pub bytes: Cow<'a, [u8]>,
    /// Why these are not all, or not decoded at all.
    pub fault: Option<DecodeFault>,
}

/// Why a body could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeFault {
    #[error("the decoded view is cut at {} MiB", DECODED >> 20)]
    TooLong,
    #[error("the body is not encoded as its content-encoding says")]
    Lying,
    #[error("the body has a content-encoding that is not known")]
    Unknown,
}

/// Decodes a body by its `Content-Encoding`, which may name several codings.
pub fn decode<'a>(content_encoding: &str, body: &'a [u8]) -> DecodedBody<'a> {
    let codings = content_encoding.split(',').map(str::trim);
    let codings = codings.filter(|coding| !coding.is_empty() && !is(coding, "identity"));
    let codings = codings.collect::<Vec<_>>();
    let mut decoded = DecodedBody {
        bytes: Cow::Borrowed(body),
        fault: None,
    };
    if codings.len() > CODINGS {
        decoded.fault = Some(DecodeFault::Unknown);
    }
    for coding in codings.iter().rev() {
        if decoded.fault.is_some() {
            break;
        }
        let (bytes, fault) = undo(coding, &decoded.bytes);
        decoded.fault = fault;
        if fault.is_none() || !bytes.is_empty() {
            decoded.bytes = Cow::Owned(bytes);
        }
    }
    decoded
}

fn is(coding: &str, name: &str) -> bool {
    coding.eq_ignore_ascii_case(name)
}

/// What came out, and why not all of it.
type Undone = (Vec<u8>, Option<DecodeFault>);

fn undo(coding: &str, packed: &[u8]) -> Undone {
    if is(coding, "gzip") || is(coding, "x-gzip") {
        read(MultiGzDecoder::new(packed))
    } else if is(coding, "deflate") {
        // The name means the zlib format (RFC 9110, section 8.4.1.2); some servers send bare deflate data.
        match read(ZlibDecoder::new(packed)) {
            (bytes, Some(DecodeFault::Lying)) if bytes.is_empty() => {
                read(DeflateDecoder::new(packed))
            }
            undone => undone,
        }
    } else if is(coding, "br") {
        read(Decompressor::new(packed, 4096))
    } else if is(coding, "zstd") {
        match zstd::stream::read::Decoder::new(packed) {
            Ok(mut decoder) => match decoder.window_log_max(WINDOW) {
                Ok(()) => read(decoder),
                Err(_) => (Vec::new(), Some(DecodeFault::Unknown)),
            },
            Err(_) => (Vec::new(), Some(DecodeFault::Lying)),
        }
    } else {
        (Vec::new(), Some(DecodeFault::Unknown))
    }
}

fn read(decoder: impl Read) -> Undone {
    let mut bytes = Vec::new();
    match decoder.take(DECODED + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > DECODED => {
            bytes.truncate(DECODED as usize);
            (bytes, Some(DecodeFault::TooLong))
        }
        Ok(_) => (bytes, None),
        Err(_) => (bytes, Some(DecodeFault::Lying)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write;

    const TEXT: &[u8] = br#"{"role":"assistant","content":"hi"}"#;
    /// `hello, hello, hello` in brotli, uncompressed metablock, as RFC 7932 section 9.2 lays it out.
    const HELLO_BR: &[u8] = &[0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn plain(encoding: &str, body: &[u8]) -> Vec<u8> {
        let decoded = decode(encoding, body);
        assert_eq!(decoded.fault, None, "{encoding}");
        decoded.bytes.into_owned()
    }

    #[test]
    fn a19_every_encoding_that_is_asked_for_is_decoded() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(TEXT).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
        bare.write_all(TEXT).unwrap();
        assert_eq!(plain("gzip", &gzip(TEXT)), TEXT);
        assert_eq!(plain("X-GZIP", &gzip(TEXT)), TEXT);
        assert_eq!(plain("deflate", &zlib.finish().unwrap()), TEXT);
        assert_eq!(plain("deflate", &bare.finish().unwrap()), TEXT);
        assert_eq!(plain("zstd", &zstd::encode_all(TEXT, 1).unwrap()), TEXT);
        assert_eq!(plain("br", HELLO_BR), b"hello");
        assert_eq!(
            plain("zstd, gzip", &gzip(&zstd::encode_all(TEXT, 1).unwrap())),
            TEXT
        );
        assert_eq!(plain("", TEXT), TEXT);
        assert_eq!(plain("identity", TEXT), TEXT);
    }

    #[test]
    fn a19_u013_an_encoding_that_lies_is_flagged_and_the_bytes_stay() {
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let decoded = decode(encoding, b"{}");
            assert_eq!(decoded.fault, Some(DecodeFault::Lying), "{encoding}");
        }
        let decoded = decode("gzip", b"{}");
        assert_eq!(&*decoded.bytes, b"{}");
        assert_eq!(decode("compress", TEXT).fault, Some(DecodeFault::Unknown));
        assert_eq!(
            decode("gzip,gzip,gzip,gzip", TEXT).fault,
            Some(DecodeFault::Unknown)
        );
    }

    #[test]
    fn a20_u011_a_bomb_is_cut_at_the_bound() {
        let bomb = gzip(&vec![0; (DECODED as usize) + (1 << 20)]);
        let decoded = decode("gzip", &bomb);
        assert_eq!(decoded.fault, Some(DecodeFault::TooLong));
        assert_eq!(decoded.bytes.len() as u64, DECODED);
        assert!(DecodeFault::TooLong.to_string().ends_with("64 MiB"));
        let nested = gzip(&bomb);
        assert_eq!(
            decode("gzip, gzip", &nested).fault,
            Some(DecodeFault::TooLong)
        );
    }

    #[test]
    fn what_came_before_a_break_is_shown() {
        let long = (0..10_000).map(|n| format!("{n}\n")).collect::<String>();
        let packed = gzip(long.as_bytes());
        let decoded = decode("gzip", &packed[..packed.len() / 2]);
        assert_eq!(decoded.fault, Some(DecodeFault::Lying));
        assert!(!decoded.bytes.is_empty() && long.as_bytes().starts_with(&decoded.bytes));
    }
}
