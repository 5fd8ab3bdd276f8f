//! What is kept of a program's output: its first and its last 64 KiB, as the model will read them.

use std::fmt::Write;

/// How much is kept of the beginning, and as much again of the end, in bytes.
pub(crate) const HALF: usize = 64 * 1024;

/// The beginning and the end of a stream of any length, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    /// Its last [`HALF`] bytes are the end; what precedes them is dropped once it is as long again.
    tail: Vec<u8>,
    dropped: u64,
}

/// A kept stream as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedText {
    /// The text; what was dropped is named where it stood, what is not text is marked with U+FFFD.
    pub text: String,
    /// How many bytes were dropped from the middle.
    pub dropped: u64,
    /// How many marks replace bytes that are not text: invalid UTF-8 and NUL.
    pub marks: u64,
}

impl Capture {
    /// Adds what came next.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = HALF - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() >= 2 * HALF {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let over = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// What was kept, as text.
    pub(crate) fn into_text(mut self) -> CapturedText {
        self.cut_tail();
        let mut marks = 0;
        if self.dropped == 0 {
            self.head.append(&mut self.tail);
            let text = text_of(&self.head, &mut marks);
            return CapturedText {
                text,
                dropped: 0,
                marks,
            };
        }
        // A character that the cut goes through is dropped with the rest: it was valid when it was written.
        let head = whole_characters(&self.head);
        let begins = self.tail.iter().take(3);
        let begins = begins.take_while(|byte| **byte & 0xC0 == 0x80).count();
        let dropped = self.dropped + (self.head.len() - head.len() + begins) as u64;
        let mut text = text_of(head, &mut marks);
        // Writing to a string cannot fail.
        let _infallible = write!(text, "\n[{dropped} bytes dropped]\n");
        text.push_str(&text_of(
            self.tail.get(begins..).unwrap_or_default(),
            &mut marks,
        ));
        CapturedText {
            text,
            dropped,
            marks,
        }
    }
}

/// The bytes without the beginning of a character that they end on.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let last = bytes.utf8_chunks().last();
    let broken = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(broken) {
        Err(error) if error.error_len().is_none() => &bytes[..bytes.len() - broken.len()],
        _ => bytes,
    }
}

/// Bytes as text: a mark for each maximal part that is no UTF-8, and for each NUL, which
/// databases of providers refuse.
fn text_of(bytes: &[u8], marks: &mut u64) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        *marks += chunk.valid().matches('\0').count() as u64;
        text.push_str(&chunk.valid().replace('\0', "\u{FFFD}"));
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            *marks += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: &[u8], step: usize) -> CapturedText {
        let mut kept = Capture::default();
        for chunk in bytes.chunks(step) {
            kept.push(chunk);
            assert!(kept.head.len() + kept.tail.len() < 4 * HALF);
        }
        kept.into_text()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        for length in [0, 1, HALF - 1, HALF, HALF + 1, 2 * HALF] {
            let bytes = vec![b'x'; length];
            let text = kept(&bytes, 1000);
            assert_eq!((text.text.len(), text.dropped), (length, 0), "{length}");
        }
    }

    #[test]
    fn the_middle_of_a_flood_is_dropped_and_counted_however_it_comes() {
        let bytes = (0..1_000_000_u32)
            .flat_map(|number| format!("{number}\n").into_bytes())
            .collect::<Vec<_>>();
        for step in [777, 64 * 1024, bytes.len()] {
            let mut kept = Capture::default();
            for chunk in bytes.chunks(step) {
                kept.push(chunk);
            }
            let text = kept.into_text();
            assert_eq!(text.dropped, (bytes.len() - 2 * HALF) as u64);
            assert!(text.text.starts_with("0\n1\n2\n"));
            assert!(text.text.ends_with("\n999998\n999999\n"));
            let note = format!("\n[{} bytes dropped]\n", text.dropped);
            assert!(text.text.contains(&note));
            assert_eq!(text.text.len(), 2 * HALF + note.len());
        }
    }

    #[test]
    fn a_character_that_the_cut_goes_through_is_no_mark() {
        for shift in 0..3 {
            let mut bytes = vec![b'x'; shift];
            bytes.extend("\u{20AC}".repeat(HALF).into_bytes());
            let text = kept(&bytes, 4096);
            assert_eq!(text.marks, 0, "{shift}");
            let said = text.text.len() - format!("\n[{} bytes dropped]\n", text.dropped).len();
            assert_eq!(said as u64 + text.dropped, bytes.len() as u64);
        }
    }

    #[test]
    fn what_is_no_text_is_marked_and_counted() {
        let text = kept(b"a\xff\xfeb\0c\x1b[31m\xe2\x82", 1);
        assert_eq!(text.text, "a\u{FFFD}\u{FFFD}b\u{FFFD}c\u{1b}[31m\u{FFFD}");
        assert_eq!(text.marks, 4);
    }
}
