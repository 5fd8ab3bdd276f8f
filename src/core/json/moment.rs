//! Moments as RFC 3339 writes them.

use jiff::Timestamp;

/// `2026-03-02T09:00:00.250Z` in milliseconds since 1970.
pub fn milliseconds(text: &str) -> Option<u64> {
    let moment: Timestamp = text.parse().ok()?;
    moment.as_millisecond().try_into().ok()
}

/// Milliseconds since 1970 in whole seconds of UTC: `2026-11-22T18:00:00Z`.
pub fn rfc3339(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
    let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    format!("{moment:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_are_read() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-03-02T09:00:00.250Z", 1_772_442_000_250),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("2024-02-29T01:00:00+01:00", 1_709_164_800_000),
        ] {
            assert_eq!(milliseconds(text), Some(millis), "{text}");
        }
        for none in [
            "",
            "yesterday",
            "2026-13-02T09:00:00Z",
            "1969-12-31T00:00:00Z",
        ] {
            assert_eq!(milliseconds(none), None, "{none}");
        }
    }

    #[test]
    fn times_are_written_in_whole_seconds() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-28T23:59:59Z",
            "2100-03-01T00:00:00Z",
        ] {
            assert_eq!(rfc3339(milliseconds(text).unwrap_or(1) + 999), text);
        }
    }
}
