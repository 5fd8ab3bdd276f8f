//! Numbers in few cells.

/// A number in four cells: `87`, `1234`, `12k`, `3.4M`.
pub(super) fn short(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=999_999 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

/// `1 request`, `2 requests`.
pub(super) fn count(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
