//! A window over lines that are wrapped only where they are seen: the place is a line and a row of it, never a
//! row of the whole.

use super::{DetailRow, Line};

/// The upper left corner of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scroll {
    /// Index of the line.
    pub line: usize,
    /// Row of that line.
    pub row: usize,
}

impl Scroll {
    /// Moves down, at most until the last row is at the top.
    pub fn down(&mut self, mut rows: usize, lines: &[Line], width: usize) {
        while rows > 0 {
            let Some(line) = lines.get(self.line) else {
                return;
            };
            let left = line.rows(width).len().saturating_sub(self.row + 1);
            if rows <= left {
                self.row += rows;
                return;
            }
            if self.line + 1 >= lines.len() {
                self.row += left;
                return;
            }
            rows -= left + 1;
            *self = Self {
                line: self.line + 1,
                row: 0,
            };
        }
    }

    pub fn up(&mut self, mut rows: usize, lines: &[Line], width: usize) {
        while rows > 0 {
            if rows <= self.row {
                self.row -= rows;
                return;
            }
            let Some(before) = self.line.checked_sub(1) else {
                self.row = 0;
                return;
            };
            rows -= self.row + 1;
            let height = lines.get(before).map_or(1, |line| line.rows(width).len());
            *self = Self {
                line: before,
                row: height.saturating_sub(1),
            };
        }
    }

    /// The place from which the last row stands at the bottom of a window.
    pub fn end(lines: &[Line], width: usize, height: usize) -> Self {
        let Some(last) = lines.len().checked_sub(1) else {
            return Self::default();
        };
        let mut scroll = Self {
            line: last,
            row: lines[last].rows(width).len().saturating_sub(1),
        };
        scroll.up(height.saturating_sub(1), lines, width);
        scroll
    }

    /// Moves back where the text ends above the bottom of the window.
    pub fn stop_at_end(&mut self, lines: &[Line], width: usize, height: usize) {
        if *self != Self::default() && self.window(lines, width, height).len() < height {
            *self = (*self).min(Self::end(lines, width, height));
        }
    }

    /// The rows that are seen.
    pub fn window(&self, lines: &[Line], width: usize, height: usize) -> Vec<DetailRow> {
        let lines = lines.get(self.line..).unwrap_or_default();
        let rows = lines.iter().flat_map(|line| line.rows(width));
        rows.skip(self.row).take(height).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tone;
    use super::*;
    use retake_core::safe_text::SafeText;

    fn lines() -> Vec<Line> {
        ["one two three", "four", "five six"]
            .map(|text| Line::new(Tone::Plain, SafeText::from_static(text)))
            .to_vec()
    }

    fn seen(scroll: Scroll) -> Vec<String> {
        let rows = scroll.window(&lines(), 5, 3);
        rows.iter()
            .map(|row| {
                row.pieces
                    .iter()
                    .map(|(_, text)| text.as_plain().trim_end())
                    .collect()
            })
            .collect()
    }

    #[test]
    fn the_window_moves_by_rows_and_stops_at_both_ends() {
        let mut scroll = Scroll::default();
        assert_eq!(seen(scroll), ["one", "two", "three"]);
        scroll.down(2, &lines(), 5);
        assert_eq!(seen(scroll), ["three", "four", "five"]);
        scroll.down(99, &lines(), 5);
        scroll.stop_at_end(&lines(), 5, 3);
        assert_eq!(scroll, Scroll::end(&lines(), 5, 3));
        assert_eq!(seen(scroll), ["four", "five", "six"]);
        scroll.up(99, &lines(), 5);
        assert_eq!(scroll, Scroll::default());
    }
}
