//! A rate with its interval on a scale from 0 to 100 %.

use crate::tui::theme::Theme;
use ratatui::text::Span;
use retake_core::lab::{Interval, Proportion};

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
