//! How numbers of tables are written.

use crate::lab::Interval;

/// A rate from 0 to 1: "62 %"; "-" where there is none. What is neither none nor all is never written as such.
pub fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate > 0.0 && rate < 0.005 => "<1 %".to_owned(),
        Some(rate) if (0.995..1.0).contains(&rate) => ">99 %".to_owned(),
        Some(rate) => format!("{} %", points(rate)),
    }
}

/// Where a rate lies: "48..75 %".
pub fn interval(interval: Interval) -> String {
    format!("{}..{} %", points(interval.low), points(interval.high))
}

/// How much higher a rate is, from -1 to 1, in percentage points: "+12 pts", "0 pts", "-3 pts".
pub fn difference(difference: f64) -> String {
    format!("{} pts", signed(difference))
}

/// Where a difference lies: "-3..+27 pts".
pub fn difference_interval(interval: Interval) -> String {
    format!("{}..{} pts", signed(interval.low), signed(interval.high))
}

/// A small chance from 0 to 1 with the digits that it needs: "5 %", "0.1 %".
pub fn chance(chance: f64) -> String {
    let percent = (chance * 100.0 * 1e6).round() / 1e6;
    format!("{percent} %")
}

/// How long something took: "850 ms", "1.2 s", "75 s".
pub fn milliseconds(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..9_950 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} s", ms / 1_000 + u64::from(ms % 1_000 >= 500)),
    }
}

/// A large number in groups of three digits: "12,345".
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

fn points(share: f64) -> i64 {
    (share * 100.0).round() as i64
}

fn signed(share: f64) -> String {
    match points(share) {
        0 => "0".to_owned(),
        points => format!("{points:+}"),
    }
}
