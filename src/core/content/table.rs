//! Tables of Markdown with their columns below each other. The marks of the table stay; cells that have no
//! room are wrapped.

use super::look::{Look, StyledLine};
use std::iter::repeat_n;
use unicode_width::UnicodeWidthChar;

/// Least cells of a column that is made narrower.
const NARROWEST: usize = 6;
/// Cells of the marks around a cell: `| ` and the space after it.
const MARKS: usize = 3;

/// Where the text of a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Left,
    Right,
    Centre,
}

/// A letter with its look.
type Letter = (Look, char);

/// The lines of the table at the start of `lines` in at most `width` cells, and how many lines of the text it takes;
/// `None` where no table is.
pub(super) fn table(lines: &[&str], width: usize) -> Option<(Vec<StyledLine>, usize)> {
    let (head, rule) = (*lines.first()?, *lines.get(1)?);
    let alignments = alignments(rule)?;
    let head = cells(head)?;
    if head.len() != alignments.len() {
        return None;
    }
    let body = lines[2..].iter().map_while(|line| cells(line));
    let body: Vec<Vec<&str>> = body.collect();
    let taken = 2 + body.len();
    let bold = |cell: &&str| {
        letters(cell).into_iter().map(|(look, letter)| match look {
            Look::Plain => (Look::Strong, letter),
            look => (look, letter),
        })
    };
    let head: Vec<Vec<Letter>> = head.iter().map(|cell| bold(cell).collect()).collect();
    let body = body.iter().map(|row| {
        let cells = row.iter().map(|cell| letters(cell));
        let mut cells: Vec<Vec<Letter>> = cells.collect();
        cells.resize(cells.len().max(alignments.len()), Vec::new());
        cells
    });
    let rows: Vec<Vec<Vec<Letter>>> = std::iter::once(head).chain(body).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cells_of(cell)).max().unwrap_or(0).max(3)
    };
    let mut widths: Vec<usize> = (0..columns).map(widest).collect();
    narrow(&mut widths, width.saturating_sub(columns * MARKS + 1))?;
    let alignment = |column: usize| alignments.get(column).copied().unwrap_or(Alignment::Left);
    let mut out = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<&[Letter]>> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| wrapped(cell, *width))
            .collect();
        let high = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for line in 0..high {
            let mut styled = StyledLine::default();
            for (column, width) in widths.iter().enumerate() {
                let part = cells.get(column).and_then(|cell| cell.get(line));
                let part = part.copied().unwrap_or_default();
                styled.push(Look::Faint, "| ");
                padded(&mut styled, part, *width, alignment(column));
                styled.push(Look::Plain, " ");
            }
            styled.push(Look::Faint, "|");
            out.push(styled);
        }
        if number == 0 {
            let rule: String = widths
                .iter()
                .map(|width| format!("|{}", "-".repeat(width + 2)))
                .collect();
            out.push(StyledLine::new(Look::Faint, &format!("{rule}|")));
        }
    }
    Some((out, taken))
}

/// The alignments of the columns from the line below the head: `|---|:-:|--:|`.
fn alignments(rule: &str) -> Option<Vec<Alignment>> {
    let found = cells(rule)?.into_iter().map(|cell| {
        let (left, right) = (cell.starts_with(':'), cell.ends_with(':'));
        let dashes = cell.trim_matches(':');
        let is_rule = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
        is_rule.then_some(match (left, right) {
            (true, true) => Alignment::Centre,
            (false, true) => Alignment::Right,
            (_, false) => Alignment::Left,
        })
    });
    found.collect()
}

/// The cells of a row; `None` of a line that is none.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let inside = line.strip_prefix('|').unwrap_or(line);
    let inside = match inside.strip_suffix('|') {
        Some(before) if !before.ends_with('\\') => before,
        _ => inside,
    };
    let (mut cells, mut start, mut is_code, mut last) = (Vec::new(), 0, false, ' ');
    for (at, letter) in inside.char_indices() {
        match letter {
            '`' => is_code = !is_code,
            '|' if !is_code && last != '\\' => {
                cells.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        last = letter;
    }
    cells.push(inside[start..].trim());
    let is_row = cells.len() > 1 || line.starts_with('|') && line.len() > 1;
    is_row.then_some(cells)
}

fn letters(cell: &str) -> Vec<Letter> {
    let styled = StyledLine::inline(&cell.replace("\\|", "|"));
    let pieces = styled.pieces.into_iter();
    let letters =
        pieces.flat_map(|(look, text)| text.chars().map(|it| (look, it)).collect::<Vec<_>>());
    letters.collect()
}

fn cells_of(letters: &[Letter]) -> usize {
    letters
        .iter()
        .map(|(_, letter)| letter.width().unwrap_or(0))
        .sum()
}

/// Takes from the widest columns until all have room; `None` where they cannot have any.
fn narrow(widths: &mut [usize], room: usize) -> Option<()> {
    if widths.len() * NARROWEST > room && widths.iter().sum::<usize>() > room {
        return None;
    }
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max()?;
        *widest -= 1;
    }
    Some(())
}

/// The lines of a cell of this width, broken between words where that is possible.
fn wrapped(mut rest: &[Letter], width: usize) -> Vec<&[Letter]> {
    let mut lines = Vec::new();
    while cells_of(rest) > width {
        let mut used = 0;
        let fits = rest.iter().take_while(|(_, letter)| {
            used += letter.width().unwrap_or(0);
            used <= width
        });
        let fits = fits.count().max(1);
        let is_space = |letter: &Letter| letter.1 == ' ';
        let space = rest[..(fits + 1).min(rest.len())]
            .iter()
            .rposition(is_space);
        let end = space.filter(|at| *at > 0).unwrap_or(fits);
        lines.push(&rest[..end]);
        let skipped = rest[end..].iter().take_while(|it| is_space(it)).count();
        rest = &rest[end + skipped..];
    }
    lines.push(rest);
    lines
}

fn padded(styled: &mut StyledLine, part: &[Letter], width: usize, alignment: Alignment) {
    let gap = width.saturating_sub(cells_of(part));
    let before = match alignment {
        Alignment::Left => 0,
        Alignment::Right => gap,
        Alignment::Centre => gap / 2,
    };
    let spaces = |count| repeat_n((Look::Plain, ' '), count);
    let all = spaces(before)
        .chain(part.iter().copied())
        .chain(spaces(gap - before));
    for (look, letter) in all {
        styled.push(look, letter.encode_utf8(&mut [0; 4]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> Option<Vec<String>> {
        let lines: Vec<&str> = text.lines().collect();
        let (lines, taken) = table(&lines, width)?;
        assert!(taken <= text.lines().count());
        let plain = |line: StyledLine| line.pieces.into_iter().map(|(_, text)| text).collect();
        Some(lines.into_iter().map(plain).collect())
    }

    #[test]
    fn columns_are_below_each_other_and_long_cells_are_wrapped() {
        let text = "| file | `a|b` lines | |\n|:--|--:|---|\n| src/**main**.rs | 1,204 |\nx | 7 | 漢字 | more\n\nafter";
        let expected = [
            "| file        | `a|b` lines |      |      |",
            "|-------------|-------------|------|------|",
            "| src/main.rs |       1,204 |      |      |",
            "| x           |           7 | 漢字 | more |",
        ];
        assert_eq!(shown(text, 60).unwrap(), expected);
        let long = "| what | why |\n|---|---|\n| a | one two three four five |";
        let expected = [
            "| what | why         |",
            "|------|-------------|",
            "| a    | one two     |",
            "|      | three four  |",
            "|      | five        |",
        ];
        assert_eq!(shown(long, 22).unwrap(), expected);
    }

    #[test]
    fn what_is_no_table_is_left_alone() {
        for text in [
            "a | b",
            "a | b\nc | d",
            "| a |\n|---|---|\n",
            "a\n---",
            "| a | b |\n|---|---|",
        ] {
            let width = if text.ends_with("|---|---|") { 8 } else { 60 };
            assert!(
                shown(text, width).is_none() || text.starts_with("| a | b"),
                "{text}"
            );
        }
    }
}
