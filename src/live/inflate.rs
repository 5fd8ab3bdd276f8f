//! Unpacks gzip, zstd and archives of samples, with a bound: a few kilobytes may claim to be terabytes.

use super::{InputError, archive};
use std::io::Read;

/// Most bytes that a compressed file may unpack to.
const LIMIT: u64 = 1 << 30;
/// From this size on, a file that shrank more than [`RATIO`] times is not a transcript.
const SUSPICIOUS: u64 = 64 << 20;
/// Transcripts shrink 5 to 30 times.
const RATIO: u64 = 400;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether the bytes begin like a compressed file.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD) || archive::is_archive(head)
}

/// Refuses a packed file that is larger than what it may unpack to: it would be held in memory.
pub(crate) fn refuse_giant(packed: u64) -> Result<(), InputError> {
    if packed > LIMIT {
        return Err(InputError::TooLarge {
            limit_mib: LIMIT >> 20,
        });
    }
    Ok(())
}

/// What came out of packed bytes, and why no more came out where the packing is broken.
type Inflated = (Vec<u8>, Option<String>);

/// The bytes that were packed; other bytes as they are. A file that breaks off gives what came
/// out before the break.
pub(crate) fn inflate(packed: Vec<u8>) -> Result<Inflated, InputError> {
    let failed = |error: std::io::Error| InputError::Compressed(error.to_string());
    if packed.starts_with(GZIP) {
        read_bounded(flate2::read::MultiGzDecoder::new(&packed[..]), packed.len())
    } else if packed.starts_with(ZSTD) {
        read_bounded(
            zstd::stream::read::Decoder::new(&packed[..]).map_err(failed)?,
            packed.len(),
        )
    } else if let Some(files) = archive::samples(&packed) {
        unpack(&files, packed.len())
    } else {
        Ok((packed, None))
    }
}

/// The files of an archive, one after the other. One that cannot be unpacked costs itself.
fn unpack(files: &[archive::Packed<'_>], packed: usize) -> Result<Inflated, InputError> {
    const STORED: u16 = 0;
    const DEFLATED: u16 = 8;
    const ZSTANDARD: u16 = 93;
    let (mut text, mut broken) = (Vec::new(), None);
    for file in files {
        let unpacked = match file.method {
            STORED => Ok((file.bytes.to_vec(), None)),
            DEFLATED => read_bounded(flate2::read::DeflateDecoder::new(file.bytes), packed),
            ZSTANDARD => inflate(file.bytes.to_vec()),
            method => Err(InputError::Compressed(format!("method {method} of zip"))),
        };
        match unpacked {
            Ok((bytes, reason)) => {
                text.extend(bytes);
                text.push(b'\n');
                broken = reason.or(broken);
            }
            Err(InputError::Compressed(reason)) => broken = Some(reason),
            Err(error) => return Err(error),
        }
        if text.len() as u64 > LIMIT {
            return Err(InputError::TooLarge {
                limit_mib: LIMIT >> 20,
            });
        }
    }
    Ok((text, broken))
}

fn read_bounded(mut reader: impl Read, packed: usize) -> Result<Inflated, InputError> {
    let mut bytes = Vec::new();
    loop {
        let step = reader.by_ref().take(16 << 20).read_to_end(&mut bytes);
        let unpacked = bytes.len() as u64;
        if unpacked > LIMIT || (unpacked > SUSPICIOUS && unpacked / RATIO > packed as u64) {
            return Err(InputError::TooLarge {
                limit_mib: if unpacked > LIMIT {
                    LIMIT >> 20
                } else {
                    SUSPICIOUS >> 20
                },
            });
        }
        match step {
            Ok(0) => return Ok((bytes, None)),
            Ok(_) => {}
            // A rollout that is being written has no end frame yet; what is there counts.
            Err(error) if !bytes.is_empty() => return Ok((bytes, Some(error.to_string()))),
            Err(error) => return Err(InputError::Compressed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_bytes_come_out_as_they_went_in() {
        let text = br#"{"role":"user","content":"hi"}"#;
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        for packed in [gzip(text), zstd, text.to_vec()] {
            assert_eq!(inflate(packed).unwrap(), (text.to_vec(), None));
        }
    }

    #[test]
    fn a_file_that_breaks_off_gives_what_came_before() {
        let text = (0..100_000)
            .map(|number| format!("{number}\n"))
            .collect::<String>();
        let packed = gzip(text.as_bytes());
        let (part, broken) = inflate(packed[..packed.len() / 2].to_vec()).unwrap();
        assert!(!part.is_empty() && text.as_bytes().starts_with(&part));
        assert!(broken.is_some());
    }

    #[test]
    fn samples_of_an_archive_come_out_behind_its_header() {
        let zstd = zstd::encode_all(&b"{\"id\":1}"[..], 1).unwrap();
        let mut deflate =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        deflate.write_all(b"{\"id\":2}").unwrap();
        let archive = super::archive::tests::archive(&[
            ("samples/1.json", 93, zstd),
            ("samples/2.json", 8, deflate.finish().unwrap()),
            ("samples/3.json", 99, vec![0]),
            ("header.json", 0, b"{}".to_vec()),
        ]);
        let (text, broken) = inflate(archive).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "{}\n{\"id\":1}\n{\"id\":2}\n"
        );
        assert!(broken.unwrap().contains("method 99"));
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![b' '; 80 << 20]);
        assert!(matches!(inflate(bomb), Err(InputError::TooLarge { .. })));
    }
}
