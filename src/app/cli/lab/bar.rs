//! A rate with its interval, drawn in a row of cells.

use retake_core::lab::Interval;

/// The characters of a bar.
struct Strokes {
    empty: char,
    low: char,
    high: char,
    between: char,
    rate: char,
}

const UNICODE: Strokes = Strokes {
    empty: '·',
    low: '├',
    high: '┤',
    between: '─',
    rate: '█',
};

const ASCII: Strokes = Strokes {
    empty: '.',
    low: '[',
    high: ']',
    between: '-',
    rate: '#',
};

/// The rate and its interval on a scale from 0 to 100 % of so many cells; only the scale where
/// there is no rate.
pub(super) fn bar(rate: Option<f64>, interval: Interval, cells: usize, ascii: bool) -> String {
    let strokes = if ascii { ASCII } else { UNICODE };
    let at = |share: f64| (share.clamp(0.0, 1.0) * cells.saturating_sub(1) as f64).round() as usize;
    let Some(rate) = rate.map(at) else {
        return strokes.empty.to_string().repeat(cells);
    };
    let (low, high) = (at(interval.low), at(interval.high));
    let cell = |at: usize| match at {
        at if at == rate => strokes.rate,
        at if at == low => strokes.low,
        at if at == high => strokes.high,
        at if low < at && at < high => strokes.between,
        _ => strokes.empty,
    };
    (0..cells).map(cell).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn drawn(low: f64, rate: f64, high: f64, ascii: bool) -> String {
        bar(Some(rate), Interval { low, high }, 11, ascii)
    }

    #[test]
    fn a_bar_shows_the_rate_between_the_ends_of_its_interval() {
        assert_eq!(drawn(0.1, 0.4, 0.7, false), "·├──█──┤···");
        assert_eq!(drawn(0.1, 0.4, 0.7, true), ".[--#--]...");
    }

    #[test]
    fn the_rate_wins_over_an_end_that_it_lies_on() {
        assert_eq!(drawn(0.0, 0.0, 0.3, false), "█──┤·······");
        assert_eq!(drawn(0.7, 1.0, 1.0, false), "·······├──█");
        assert_eq!(drawn(0.5, 0.5, 0.5, true), ".....#.....");
    }

    #[test]
    fn without_a_rate_only_the_scale_is_drawn() {
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        assert_eq!(bar(None, everything, 4, false), "····");
    }

    #[test]
    fn a_scale_of_no_or_one_cell_is_drawn_too() {
        let interval = Interval {
            low: 0.2,
            high: 0.9,
        };
        assert_eq!(bar(Some(0.5), interval, 0, false), "");
        assert_eq!(bar(Some(0.5), interval, 1, false), "█");
    }
}
