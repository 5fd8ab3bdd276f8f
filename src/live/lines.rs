//! Line numbers from byte positions. Records know the line on which they begin, so that only what comes
//! between a record and the position in it is read.

use retake_core::session::{Record, Source, SourceError, Span};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// How much is read at once.
const BLOCK: u64 = 1 << 20;

/// A place in a file that an editor goes to. Written as it follows the path: `:35`, `:1:48213`, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FilePlace {
    /// Counted from 1; `None` where the file has no lines.
    pub line: Option<u64>,
    /// In characters, counted from 1; `None` where only white space precedes it on its line, or each line is a record.
    pub column: Option<u64>,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.line, self.column].into_iter().flatten();
        numbers
            .into_iter()
            .try_for_each(|number| write!(f, ":{number}"))
    }
}

/// The place of each byte position. `records` stand in the order of the file and know their lines, so that of each
/// only what precedes the position is read; where they share a line the file is read from its beginning, and there are
/// columns.
pub fn file_places(
    source: &dyn Source,
    records: &[Record],
    mut positions: Vec<u64>,
) -> Result<HashMap<u64, FilePlace>, SourceError> {
    positions.sort_unstable();
    positions.dedup();
    let mut places = HashMap::with_capacity(positions.len());
    let (mut at, mut line) = (0, 1);
    let share_lines = records
        .windows(2)
        .take(1)
        .all(|two| two[0].number == two[1].number);
    let mut before = LineStart::default();
    let mut buffer = Vec::new();
    for position in positions {
        let count = records.partition_point(|record| record.span.start <= position);
        if let Some(record) = count.checked_sub(1).and_then(|last| records.get(last))
            && record.span.start > at
            && !share_lines
        {
            (at, line) = (record.span.start, record.number);
        }
        let end = position.min(source.len());
        while at < end {
            let span = Span { start: at, end }.head(BLOCK);
            source.read_into(span, &mut buffer)?;
            line += memchr::memchr_iter(b'\n', &buffer).count() as u64;
            if share_lines {
                before.add(&buffer);
            }
            at = span.end;
        }
        let place = FilePlace {
            line: Some(line),
            column: before.has_text.then_some(before.characters + 1),
        };
        places.insert(position, place);
    }
    Ok(places)
}

/// What precedes a position on its line.
#[derive(Default)]
struct LineStart {
    characters: u64,
    /// Whether it is more than white space.
    has_text: bool,
}

impl LineStart {
    fn add(&mut self, text: &[u8]) {
        let mut text = text;
        if let Some(end) = memchr::memrchr(b'\n', text) {
            *self = Self::default();
            text = &text[end + 1..];
        }
        self.characters += characters(text);
        self.has_text |= !text.trim_ascii().is_empty();
    }
}

/// Characters that begin in a text. Sums that fit into a byte are added up sixteen at once.
fn characters(text: &[u8]) -> u64 {
    let begins = |byte: &u8| u8::from(byte & 0xc0 != 0x80);
    let sums = text
        .chunks(u8::MAX.into())
        .map(|part| part.iter().map(begins).sum::<u8>());
    sums.map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_across_parts() {
        for count in [0, 1, 100, 127, 128, 255, 256, 1000] {
            let text = "aé日🦀".repeat(count);
            assert_eq!(characters(text.as_bytes()), 4 * count as u64);
        }
    }

    #[test]
    fn lines_count_from_one_on_both_sides_of_a_block() {
        let mut text = "a\n".repeat((BLOCK / 2) as usize + 10).into_bytes();
        text.push(b'z');
        let length = text.len() as u64;
        let positions = vec![length + 5, 2, 0, 1, BLOCK, length - 1];
        let places = file_places(&text, &[], positions).unwrap();
        let lines: HashMap<_, _> = places
            .iter()
            .map(|(at, it)| (*at, it.line.unwrap()))
            .collect();
        assert_eq!((lines[&0], lines[&1], lines[&2]), (1, 1, 2));
        assert_eq!(lines[&BLOCK], BLOCK / 2 + 1);
        assert_eq!(lines[&(length - 1)], BLOCK / 2 + 11);
        assert_eq!(lines[&(length + 5)], BLOCK / 2 + 11);
    }

    #[test]
    fn a_record_knows_its_line_and_the_rest_is_counted_from_there() {
        let text = b"{\n}\n\n{\n\n\n}\n".to_vec();
        let record = |start, end, number| Record {
            span: Span { start, end },
            number,
        };
        let records = [record(0, 3, 1), record(5, 10, 4)];
        let places = file_places(&text, &records, vec![2, 5, 9]).unwrap();
        let words = [2, 5, 9].map(|at| places[&at].to_string());
        assert_eq!(words, [":2", ":4", ":7"]);
    }

    #[test]
    fn no_position_reads_nothing() {
        assert!(
            file_places(&Vec::new(), &[], Vec::new())
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_column_counts_characters_and_indents_have_none() {
        let text = "{\"é\":\n  [1,\n{}".as_bytes().to_vec();
        let places = file_places(&text, &[], vec![0, 6, 9, 10, 13]).unwrap();
        let words = [0, 6, 9, 10, 13].map(|at| places[&at].to_string());
        assert_eq!(words, [":1", ":1:6", ":2", ":2:4", ":3"]);
        let record = |start, end| Record {
            span: Span { start, end },
            number: 1,
        };
        let text = b"[{},{}]".to_vec();
        for records in [vec![record(0, 7)], vec![record(1, 3), record(4, 6)]] {
            let places = file_places(&text, &records, vec![1, 4]).unwrap();
            let words = [1, 4].map(|at| places[&at].to_string());
            assert_eq!(words, [":1:2", ":1:5"]);
        }
        // Over several blocks, and on from an earlier position.
        let mut text = "é".repeat(BLOCK as usize).into_bytes();
        text.push(b'x');
        let end = text.len() as u64 - 1;
        let places = file_places(&text, &[], vec![2, end]).unwrap();
        let words = [2, end].map(|at| places[&at].to_string());
        assert_eq!(words, [":1:2".to_owned(), format!(":1:{}", BLOCK + 1)]);
    }
}
