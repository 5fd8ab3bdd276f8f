//! The columns of a table, and which of them fit.

use super::theme::Theme;
use ratatui::text::Span;

/// A column; a cell lies between two.
#[derive(Debug, Clone, Copy)]
pub struct Column<C> {
    pub id: C,
    pub title: &'static str,
    pub least: usize,
    /// The lower, the sooner it has to be seen.
    pub rank: usize,
    /// Cells that what matters more has before it has any.
    pub spare: usize,
    pub takes: SpareWidth,
    /// Whether it is at the right.
    pub is_number: bool,
}

/// What a column takes of the cells that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpareWidth {
    Nothing,
    /// One of so many parts, and so many cells at most.
    Share(usize, usize),
    Rest,
}

impl<C> Column<C> {
    pub const fn new(id: C, title: &'static str, least: usize, rank: usize) -> Self
    where
        C: Copy,
    {
        Self {
            id,
            title,
            least,
            rank,
            spare: 0,
            takes: SpareWidth::Nothing,
            is_number: false,
        }
    }

    /// A cell with the spaces that fill it up, and one after it.
    pub fn cell(&self, cell: Vec<Span<'static>>, width: usize) -> Vec<Span<'static>> {
        let used: usize = cell.iter().map(Span::width).sum();
        let gap = Span::raw(" ".repeat(width.saturating_sub(used)));
        let mut spans = cell;
        spans.insert(if self.is_number { 0 } else { spans.len() }, gap);
        spans.push(Span::raw(" "));
        spans
    }
}

/// The columns that fit into this width, in their order, with their widths.
pub fn fit<C: Copy>(columns: &[Column<C>], width: usize) -> Vec<(Column<C>, usize)> {
    let mut room = width;
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by_key(|number| columns[*number].rank);
    ranked.retain(|number| {
        let column = &columns[*number];
        let fits = column.least + column.spare < room;
        room -= if fits { column.least + 1 } else { 0 };
        fits
    });
    ranked.sort_unstable();
    let mut chosen: Vec<_> = ranked
        .into_iter()
        .map(|number| (columns[number], columns[number].least))
        .collect();
    let has_rest = chosen
        .iter()
        .any(|(column, _)| column.takes == SpareWidth::Rest);
    let mut rest = room;
    for (column, width) in &mut chosen {
        if let SpareWidth::Share(parts, most) = column.takes {
            // Without a column for what is left, the first one has it.
            let share = if has_rest {
                (room / parts).min(most)
            } else {
                rest
            };
            *width += share;
            rest -= share;
        }
    }
    for (column, width) in &mut chosen {
        if column.takes == SpareWidth::Rest {
            *width += rest;
        }
    }
    chosen
}

/// The titles of the columns; the one of `marked` has a mark after it.
pub fn titles<C: PartialEq>(
    columns: &[(Column<C>, usize)],
    marked: Option<(C, &str)>,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let titles = columns.iter().flat_map(|(column, width)| {
        let mark = marked.as_ref().filter(|(id, _)| *id == column.id);
        let mark = mark.map_or("", |(_, mark)| mark);
        let title = column.title.chars().chain(mark.chars());
        let title: String = title.take(*width).collect();
        column.cell(vec![Span::styled(title, theme.dim)], *width)
    });
    [Span::raw(" ")].into_iter().chain(titles).collect()
}

/// A size with its unit, in decimal steps: `812B`, `1.2M`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "K"),
    ];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, letter)) if bytes < 10 * unit => {
            format!("{}.{}{letter}", bytes / unit, bytes % unit * 10 / unit)
        }
        Some((unit, letter)) => format!("{}{letter}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1_250_000, 250_000_000_000].map(size);
        assert_eq!(sizes, ["0B", "999B", "1.2M", "250G"]);
    }
}
