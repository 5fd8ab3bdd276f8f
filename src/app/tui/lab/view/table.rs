//! How the table looks: a row for each wording, and below it the words of the one with the cursor and what is
//! to be said of it all.

use crate::tui::columns::{fit, titles};
use crate::tui::lab::state::Lab;
use crate::tui::lab::table::Table;
use crate::tui::lab::view::columns::{COLUMNS, Id};
use crate::tui::lab::view::{pane, paragraphs};
use crate::tui::lab::words;
use crate::tui::popup::{split_right, split_top, write};
use crate::tui::state::layout::WIDE;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::lab::words::{interval, points_between, rate};
use retake_core::lab::{Class, Interval, Proportion, Row, Variant};
use retake_core::safe_text::SafeText;

/// Rows of the table besides those of wordings: its frame, and its titles.
const AROUND: u16 = 3;
/// Rows of remarks where they stand above the words.
const REMARKS: u16 = 7;

impl Lab {
    pub(super) fn view_table(
        &self,
        table: &Table,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) {
        let count = table.order().len();
        let wanted = u16::try_from(count)
            .unwrap_or(u16::MAX)
            .saturating_add(AROUND);
        let high = wanted.min((area.height * 3 / 5).max(5)).min(area.height);
        let [above, below] = split_top(area, high);
        self.view_wordings(table, frame, above, theme);
        if below.height < 3 {
            return;
        }
        let [left, right] = match area.width >= WIDE {
            true => split_right(below, area.width / 2),
            false => {
                let high = REMARKS.min(below.height.saturating_sub(3));
                let [remarks, words] = split_top(below, high);
                [words, remarks]
            }
        };
        if right.height > 2 {
            self.view_remarks(table, frame, right, theme);
        }
        self.view_words(table, frame, left, theme);
    }

    fn view_wordings(&self, table: &Table, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let order = table.order();
        let experiment = &table.board.experiment;
        let sorted = if table.is_sorted {
            ", the best first"
        } else {
            ""
        };
        let title = format!(
            "{} to {}{sorted}",
            words::count(order.len() as u64, "wording"),
            words::count(u64::from(experiment.samples), "sample")
        );
        let mut inside = pane(frame, area, &SafeText::from_str(&title), true, theme);
        let columns = fit(&COLUMNS, usize::from(inside.width).saturating_sub(1));
        if inside.height > 2 {
            write(frame, inside, titles(&columns, theme), Style::new());
            [_, inside] = split_top(inside, 1);
        }
        let standings = table.standings();
        let draw = |number: usize, _: Rect| {
            let variant = order.get(number).copied().unwrap_or_default();
            let Some(standing) = standings.get(variant) else {
                return Vec::new();
            };
            let asked = table.asked(variant);
            let mut spans = vec![Span::raw(match number == table.cursor.get() {
                true => theme.glyphs.cursor,
                false => " ",
            })];
            for (column, width) in &columns {
                let cell = cell(column.id, standing, asked, *width, theme);
                spans.extend(column.cell(cell, *width));
            }
            spans
        };
        let cursor = &table.cursor;
        cursor.draw(frame, inside, order.len(), theme.selected, draw);
    }

    fn view_remarks(&self, table: &Table, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let inside = pane(
            frame,
            area,
            &SafeText::from_static("what it says"),
            false,
            theme,
        );
        let mut texts = Vec::new();
        let standings = table.standings();
        if let Some(standing) = table.variant().and_then(|it| standings.get(it)) {
            texts.push((counted(standing, theme), theme.dim));
        }
        let remarks = table
            .remarks()
            .into_iter()
            .chain(self.notes.iter().cloned());
        texts.extend(remarks.map(|remark| (SafeText::single_line(&remark, 600), theme.text)));
        paragraphs(frame, inside, &texts, theme);
    }

    fn view_words(&self, table: &Table, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let Some(variant) = table.wording() else {
            return;
        };
        let title = format!("{} as the model reads it", variant.name);
        let inside = pane(
            frame,
            area,
            &SafeText::single_line(&title, 100),
            false,
            theme,
        );
        let about = (SafeText::single_line(&about(variant), 400), theme.dim);
        let text = (SafeText::from_str(&variant.words), theme.text);
        paragraphs(frame, inside, &[about, text], theme);
    }
}

/// Where a wording comes from, and where it stands on the axes.
fn about(variant: &Variant) -> String {
    match variant.axes {
        Some(axes) => format!("{}: {axes}", variant.origin.word()),
        None if variant.title == variant.name => variant.origin.word().to_owned(),
        None => format!("{}: {}", variant.origin.word(), variant.title),
    }
}

/// `13 corrected, 4 same-mistake`: what became of the samples of a wording.
fn counted(standing: &Row, theme: &Theme) -> SafeText {
    let parts = standing.measured.occurred().map(|(class, count)| {
        let mark = class.mark(theme.glyphs.ascii);
        format!("{mark} {count} {}", class.word())
    });
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => SafeText::from_static("no sample yet"),
        false => SafeText::from_str(&parts.join("  ")),
    }
}

fn cell(column: Id, standing: &Row, asked: u32, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let plain = |text: String, style| vec![Span::styled(text, style)];
    let measured = &standing.measured;
    let number =
        |number: Option<u64>| plain(number.map_or_else(String::new, words::short), theme.dim);
    let is_baseline = standing.is_baseline;
    match column {
        Id::Name => {
            let style = if is_baseline { theme.info } else { theme.text };
            theme.spans(&SafeText::single_line(&standing.name, width), style)
        }
        Id::Bar => bar(measured.corrected, width, theme),
        Id::Rate => plain(rate(measured.rate()), theme.title),
        Id::Interval if measured.answered() == 0 => Vec::new(),
        Id::Interval => plain(interval(measured.interval()), theme.text),
        Id::Difference if is_baseline => plain("compared with".to_owned(), theme.dim),
        Id::Difference => {
            let Some(difference) = standing.difference else {
                return Vec::new();
            };
            let style = match standing.is_better() {
                Some(true) => theme.ok,
                Some(false) => theme.error,
                None => theme.dim,
            };
            plain(points_between(difference), style)
        }
        Id::Samples => {
            let mut spans = plain(measured.answered().to_string(), theme.text);
            if asked > 0 {
                spans.push(Span::styled(format!("+{asked}"), theme.info));
            }
            spans
        }
        Id::Classes => classes(standing, width, theme),
        Id::Tokens => {
            let both = measured.input.zip(measured.output);
            number(both.map(|(sent, answered)| sent + answered))
        }
        Id::Time => number(measured.ms),
    }
}

/// The mark of each class with how many samples are of it, as far as they fit.
fn classes(standing: &Row, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut room = width;
    for (class, count) in standing.measured.occurred() {
        let gap = if spans.is_empty() { "" } else { " " };
        let text = format!("{gap}{}{count}", class.mark(theme.glyphs.ascii));
        let cells = text.chars().count();
        if cells > room {
            continue;
        }
        room -= cells;
        spans.push(Span::styled(text, class_style(class, theme)));
    }
    spans
}

pub(super) fn class_style(class: Class, theme: &Theme) -> Style {
    match class {
        Class::Corrected => theme.ok,
        Class::SameMistake | Class::Looped | Class::Failed => theme.error,
        Class::OtherMistake => theme.warning,
        Class::GaveUp | Class::AskedUser => theme.dim,
    }
}

/// What a cell of the bar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// Below the interval: reached in all likelihood.
    Solid,
    /// The lower end of the interval.
    Low,
    Within,
    /// The rate as counted.
    Rate,
    High,
    Empty,
}

/// The bar: solid up to where the interval begins, the interval as a line with its ends, the rate
/// a point on it.
pub(super) fn bar(rate: Proportion, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let (solid, low, within, point, high, empty) = match theme.glyphs.ascii {
        true => ("#", "[", "-", "o", "]", "."),
        false => ("█", "├", "─", "●", "┤", "·"),
    };
    let cells = cells(rate, width).into_iter();
    let spans = cells.map(|cell| match cell {
        Cell::Solid => Span::styled(solid, theme.ok),
        Cell::Low => Span::styled(low, theme.info),
        Cell::Within => Span::styled(within, theme.info),
        Cell::Rate => Span::styled(point, theme.title),
        Cell::High => Span::styled(high, theme.info),
        Cell::Empty => Span::styled(empty, theme.dim),
    });
    spans.collect()
}

fn cells(rate: Proportion, width: usize) -> Vec<Cell> {
    let Some(counted) = rate.rate() else {
        return vec![Cell::Empty; width];
    };
    let Interval { low, high } = rate.interval();
    let last = width.saturating_sub(1);
    // Rates lie between 0 and 1, so that this is a cell.
    let place = |value: f64| ((value * width as f64) as usize).min(last);
    let (low, point, high) = (place(low), place(counted), place(high));
    let cells = (0..width).map(|cell| match cell {
        _ if cell == point => Cell::Rate,
        _ if cell < low => Cell::Solid,
        _ if cell == low => Cell::Low,
        _ if cell == high => Cell::High,
        _ if cell < high => Cell::Within,
        _ => Cell::Empty,
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Glyphs, Variant};

    fn drawn(hits: u32, of: u32, width: usize) -> String {
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        let spans = bar(Proportion::new(hits, of), width, &theme);
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn the_interval_is_drawn_around_the_rate_and_narrows_as_samples_come() {
        assert_eq!(drawn(0, 0, 20), "....................");
        assert_eq!(drawn(5, 10, 20), "####[-----o----]....");
        assert_eq!(drawn(50, 100, 20), "########[-o]........");
        assert_eq!(drawn(20, 20, 20), "################[--o");
        assert_eq!(drawn(0, 20, 20), "o--]................");
    }

    #[test]
    fn a_bar_is_as_wide_as_its_room() {
        for width in 0..40 {
            for hits in 0..=7 {
                assert_eq!(drawn(hits, 7, width).len(), width);
            }
        }
    }
}
