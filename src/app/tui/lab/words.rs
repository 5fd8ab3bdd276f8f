//! Numbers in few cells.

use crate::tui::theme::Glyphs;
use retake_core::lab::{CLASSES, Class, Difference, Interval};

/// A difference of rates as `+25 (+3..+45)`, in points of a hundred.
pub(super) fn difference(difference: Difference) -> String {
    let points = |value: f64| {
        let points = (value * 100.0).round();
        // There is no minus nought.
        format!("{:+.0}", if points == 0.0 { 0.0 } else { points })
    };
    let Interval { low, high } = difference.interval;
    let value = points(difference.value);
    format!("{value} ({}..{})", points(low), points(high))
}

/// A number in four cells: `87`, `1234`, `12k`, `3.4M`.
pub(super) fn short(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=999_999 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

pub(super) fn mark(class: Class, glyphs: &Glyphs) -> char {
    let mut classes = CLASSES.iter();
    let found = classes.find(|(known, ..)| *known == class);
    found.map_or(
        ' ',
        |(_, _, [mark, ascii], _)| if glyphs.ascii { *ascii } else { *mark },
    )
}

/// `1 request`, `2 requests`.
pub(super) fn count(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
