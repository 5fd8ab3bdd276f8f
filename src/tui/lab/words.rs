//! What is said in words: how an experiment stands, numbers in few cells.

use crate::lab::{CLASSES, Class, Difference, End, Interval, Phase, Trial};
use crate::tui::theme::Glyphs;

/// How an experiment stands.
pub(super) fn phase(phase: Phase, trial: Option<&Trial>) -> String {
    match phase {
        Phase::Running => "running".to_owned(),
        Phase::Paused => "paused".to_owned(),
        Phase::Ending(why) => format!("ending: {}", end(why, trial)),
        Phase::Ended(why) => end(why, trial),
    }
}

/// Why it is over.
pub(super) fn end(end: End, trial: Option<&Trial>) -> String {
    match end {
        End::Complete => "complete".to_owned(),
        End::Clear { leader } => {
            let leader = trial.and_then(|trial| trial.variants.get(leader));
            leader.map_or_else(
                || "a leader is clear".to_owned(),
                |leader| format!("{} is clearly the best", leader.name),
            )
        }
        End::Requests => "the cap on requests is reached".to_owned(),
        End::Tokens => "the cap on tokens is reached".to_owned(),
        End::Stopped => "stopped".to_owned(),
        End::ModelFailed => "the model cannot be asked".to_owned(),
    }
}

/// A rate as `65 %`.
pub(super) fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

/// An interval of rates as `43-82 %`.
pub(super) fn interval(interval: Interval) -> String {
    let (low, high) = (interval.low * 100.0, interval.high * 100.0);
    format!("{low:.0}-{high:.0} %")
}

/// A difference of rates as `+25 (+3 +45)`, in points of a hundred.
pub(super) fn difference(difference: Difference) -> String {
    let points = |value: f64| {
        let points = (value * 100.0).round();
        // There is no minus nought.
        format!("{:+.0}", if points == 0.0 { 0.0 } else { points })
    };
    let Interval { low, high } = difference.interval;
    let value = points(difference.value);
    format!("{value} ({} {})", points(low), points(high))
}

/// A number in four cells: `87`, `1234`, `12k`, `3.4M`.
pub(super) fn short(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=999_999 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

/// The mark of a class.
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
