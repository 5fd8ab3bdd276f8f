//! Times, durations and counts in few letters.

/// The time of day, UTC.
pub(crate) fn clock(at: u64) -> String {
    let seconds = at / 1000 % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..100 => format!("{ms}ms"),
        100..60_000 => format!("{:.1}s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

pub(crate) fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..100_000 => format!("{:.1}k", number as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

pub(crate) fn bytes(number: u64) -> String {
    retake_core::content::Size::Bytes(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_say_enough() {
        let durations = [33, 100, 2_140, 59_999, 61_000, 3_660_000, 90_000_000];
        let durations = durations.map(duration);
        assert_eq!(
            durations,
            ["33ms", "0.1s", "2.1s", "60.0s", "1m01s", "1h01m", "1d01h"]
        );
        let counts = [7, 3_100, 17_745, 214_000, 1_200_000].map(count);
        assert_eq!(counts, ["7", "3.1k", "17.7k", "214k", "1.2M"]);
        assert_eq!(clock(1_761_475_108_753), "10:38:28");
    }
}
