//! Line numbers from byte positions, all those of a file in one pass over it, on all cores.

use crate::session::{Source, SourceError, Span};
use memchr::memchr_iter;
use rayon::prelude::*;
use std::collections::HashMap;

/// How much is read at once.
const BLOCK: u64 = 1 << 20;

/// The line, counted from 1, of each byte position. Reads as far as the last position.
pub fn line_numbers(
    source: &dyn Source,
    mut positions: Vec<u64>,
) -> Result<HashMap<u64, u64>, SourceError> {
    positions.sort_unstable();
    positions.dedup();
    let Some(last) = positions.last().copied() else {
        return Ok(HashMap::new());
    };
    let end = last.min(source.len());
    let blocks = (0..end.div_ceil(BLOCK).max(1))
        .into_par_iter()
        .map_init(Vec::new, |buffer, block| {
            let start = block * BLOCK;
            let span = Span {
                start,
                end: (start + BLOCK).min(end),
            };
            source.read_into(span, buffer)?;
            Ok(count_block(buffer, start, within(&positions, start)))
        })
        .collect::<Result<Vec<_>, SourceError>>()?;
    let mut lines = HashMap::with_capacity(positions.len());
    let mut before = 1;
    for (breaks, found) in blocks {
        lines.extend(found.into_iter().map(|(at, line)| (at, before + line)));
        before += breaks;
    }
    // A position behind the end of the file is on its last line.
    for position in positions.into_iter().rev() {
        if lines.contains_key(&position) {
            break;
        }
        lines.insert(position, before);
    }
    Ok(lines)
}

/// The positions that lie in the block.
fn within(positions: &[u64], start: u64) -> &[u64] {
    let from = positions.partition_point(|at| *at < start);
    let to = positions.partition_point(|at| *at < start + BLOCK);
    &positions[from..to]
}

/// How many line breaks a block holds, and how many of them stand before each position.
fn count_block(bytes: &[u8], start: u64, positions: &[u64]) -> (u64, Vec<(u64, u64)>) {
    let mut found = Vec::with_capacity(positions.len());
    let (mut counted, mut breaks) = (0, 0);
    for position in positions {
        let at = bytes.len().min((position - start) as usize);
        breaks += memchr_iter(b'\n', &bytes[counted..at]).count() as u64;
        counted = at;
        found.push((*position, breaks));
    }
    breaks += memchr_iter(b'\n', &bytes[counted..]).count() as u64;
    (breaks, found)
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
        let lines = line_numbers(&text, positions).unwrap();
        assert_eq!((lines[&0], lines[&1], lines[&2]), (1, 1, 2));
        assert_eq!(lines[&BLOCK], BLOCK / 2 + 1);
        assert_eq!(lines[&(length - 1)], BLOCK / 2 + 11);
        assert_eq!(lines[&(length + 5)], BLOCK / 2 + 11);
    }

    #[test]
    fn no_position_reads_nothing() {
        assert!(line_numbers(&Vec::new(), Vec::new()).unwrap().is_empty());
    }
}
