//! Moments as logs write them.

/// `2026-03-02T09:00:00.250Z` in milliseconds since 1970; only UTC, which is what logs are written in.
pub fn milliseconds(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<u64>);
    let mut next = || date.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let mut time = time.splitn(3, ':');
    let mut next = || time.next();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    let seconds = seconds
        .parse::<f64>()
        .ok()
        .filter(|real| (0.0..61.0).contains(real))?;
    let (hours, minutes) = (hours.parse::<u64>().ok()?, minutes.parse::<u64>().ok()?);
    let is_sound = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hours < 24
        && minutes < 60;
    let days = is_sound.then(|| days_since_1970(year, month, day))?;
    let minutes = (days * 24 + hours) * 60 + minutes;
    Some(minutes * 60_000 + (seconds * 1000.0) as u64)
}

/// Days from 1 January 1970 in the Gregorian calendar, counted in years that begin in March.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_are_read() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            milliseconds("2026-03-02T09:00:00.250Z"),
            Some(1_772_442_000_250)
        );
        assert_eq!(
            milliseconds("2024-02-29T00:00:00Z"),
            Some(1_709_164_800_000)
        );
        for none in ["", "yesterday", "2026-13-02T09:00:00Z", "2026-03-02T09:00Z"] {
            assert_eq!(milliseconds(none), None, "{none}");
        }
    }
}
