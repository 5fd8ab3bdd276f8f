//! Line numbers from byte positions. Records know the line on which they begin, so that only what comes
//! between a record and the position in it is read.

use retake_core::session::{Record, Source, SourceError, Span};
use std::collections::HashMap;

/// How much is read at once.
const BLOCK: u64 = 1 << 20;

/// The line, counted from 1, of each byte position. `records` stand in the order of the file and know their
/// lines; without records the file is read from its beginning.
pub fn line_numbers(
    source: &dyn Source,
    records: &[Record],
    mut positions: Vec<u64>,
) -> Result<HashMap<u64, u64>, SourceError> {
    positions.sort_unstable();
    positions.dedup();
    let mut lines = HashMap::with_capacity(positions.len());
    let (mut at, mut line) = (0, 1);
    let mut buffer = Vec::new();
    for position in positions {
        let count = records.partition_point(|record| record.span.start <= position);
        if let Some(record) = count.checked_sub(1).and_then(|last| records.get(last))
            && record.span.start > at
        {
            (at, line) = (record.span.start, record.number);
        }
        let end = position.min(source.len());
        while at < end {
            let span = Span { start: at, end }.head(BLOCK);
            source.read_into(span, &mut buffer)?;
            line += memchr::memchr_iter(b'\n', &buffer).count() as u64;
            at = span.end;
        }
        lines.insert(position, line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_on_both_sides_of_a_block() {
        let mut text = "a\n".repeat((BLOCK / 2) as usize + 10).into_bytes();
        text.push(b'z');
        let length = text.len() as u64;
        let positions = vec![length + 5, 2, 0, 1, BLOCK, length - 1];
        let lines = line_numbers(&text, &[], positions).unwrap();
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
        let lines = line_numbers(&text, &records, vec![2, 5, 9]).unwrap();
        assert_eq!((lines[&2], lines[&5], lines[&9]), (2, 4, 7));
    }

    #[test]
    fn no_position_reads_nothing() {
        assert!(
            line_numbers(&Vec::new(), &[], Vec::new())
                .unwrap()
                .is_empty()
        );
    }
}
