//! Times, durations, counts and names in few letters.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use retake_core::safe_text::SafeText;
use retake_core::session::{SIDE_CHAIN, Session, is_sub_agent};
pub(crate) use retake_core::usage::model_name;
use retake_live::inspect::first_words;
use retake_live::report::session_names;
use std::borrow::Cow;

/// A moment in milliseconds since 1970 as the clocks of a zone show it.
pub(crate) fn local(at: u64, zone: &TimeZone) -> DateTime {
    let moment = i64::try_from(at).ok().map(Timestamp::from_millisecond);
    zone.to_datetime(moment.and_then(Result::ok).unwrap_or_default())
}

/// The time of day.
pub(crate) fn clock(at: DateTime) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// The day, as `Mon 2 Mar 2026`.
pub(crate) fn day(at: DateTime) -> String {
    at.strftime("%a %-d %b %Y").to_string()
}

/// What tells a session from the others of its file, for people.
pub(crate) fn session_label(session: &Session) -> Cow<'_, str> {
    label_for_people(&session.label)
}

/// The label of a session for people.
pub(crate) fn label_for_people(label: &str) -> Cow<'_, str> {
    match label.strip_prefix(SIDE_CHAIN) {
        Some(number) => Cow::Owned(format!("sub-agent{number}")),
        None => Cow::Borrowed(label),
    }
}

/// The session of a file without a label.
pub(crate) const MAIN_HISTORY: &str = "main history";

/// Cells of the task of a sub-agent beside its number.
const TASK: usize = 60;

/// The names of the sessions of a file for people: `main history`, `sub-agent 1: TASK`; alike ones have numbers.
pub(crate) fn session_titles(sessions: &[Session]) -> Vec<String> {
    let without = sessions.iter().filter(|it| it.label.is_empty()).count();
    let named = session_names(sessions).into_iter().zip(sessions);
    let titles = named.map(|(name, session)| match &*session.label {
        "" if without == 1 => MAIN_HISTORY.to_owned(),
        label if label != name => format!("session {name}"),
        label => {
            let title = label_for_people(label);
            let is_bare = is_sub_agent(session) && !label.contains(": ");
            let task = first_words(session).filter(|_| is_bare);
            let task = task.map(|(_, words)| one_line(&words, TASK));
            match task.filter(|task| !task.is_empty()) {
                Some(task) => format!("{title}: {task}"),
                None => title.into_owned(),
            }
        }
    });
    titles.collect()
}

/// The beginning of a text in one row, its words with single spaces between them.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    SafeText::single_line(&words, width).as_plain().to_owned()
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
        1_000_000..999_950_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}B", number as f64 / 1e9),
    }
}

pub(crate) fn bytes(number: u64) -> String {
    retake_core::content::Size::Bytes(number).to_string()
}

/// A path that fits its room, without its middle: files of one folder differ at the end.
pub(crate) fn shortened(path: &[u8], room: usize, more: &'static str) -> SafeText {
    without_middle(path, room, more, |kept| kept * 2 / 3)
}

/// A label that fits its room, without its middle: what tells it from others is at both ends.
pub(crate) fn shortened_label(label: &str, room: usize, more: &'static str) -> SafeText {
    without_middle(label.as_bytes(), room, more, |kept| kept / 2)
}

/// A text that fits its room; `end` says how many of the cells that are left its end has.
fn without_middle(
    text: &[u8],
    room: usize,
    more: &'static str,
    end: fn(usize) -> usize,
) -> SafeText {
    let whole = SafeText::single_line_bytes(text, usize::from(u16::MAX));
    if whole.width() <= room {
        return whole;
    }
    let plain = whole.as_plain();
    let kept = room.saturating_sub(more.chars().count());
    let most = end(kept);
    let mut from = plain.len();
    for (at, _) in plain.char_indices().rev() {
        if SafeText::from_str(&plain[at..]).width() > most {
            break;
        }
        from = at;
    }
    let end = SafeText::from_str(&plain[from..]);
    let start = kept.saturating_sub(end.width());
    let mut to = 0;
    for (at, letter) in plain.char_indices() {
        if SafeText::from_str(&plain[..at + letter.len_utf8()]).width() > start {
            break;
        }
        to = at + letter.len_utf8();
    }
    let mut short = SafeText::from_str(&plain[..to]);
    short.push(&SafeText::from_static(more));
    short.push(&end);
    short
}

/// A count with its noun: "1 turn", "2 turns".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, _) | (_, "info") => format!("{count} {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_has_no_plural() {
        let words = [(1, "info"), (2, "info"), (2, "error")].map(|(it, noun)| counted(it, noun));
        assert_eq!(words, ["1 info", "2 info", "2 errors"]);
    }

    #[test]
    fn three_digits_say_enough() {
        let durations = [33, 100, 2_140, 59_999, 61_000, 3_660_000, 90_000_000];
        let durations = durations.map(duration);
        assert_eq!(
            durations,
            ["33ms", "0.1s", "2.1s", "60.0s", "1m01s", "1h01m", "1d01h"]
        );
        let counts = [
            7,
            3_100,
            17_745,
            214_000,
            1_200_000,
            999_960_000,
            1_233_200_000,
        ];
        let counts = counts.map(count);
        assert_eq!(
            counts,
            ["7", "3.1k", "17.7k", "214k", "1.2M", "1.0B", "1.2B"]
        );
        let at = local(1_761_475_108_753, &TimeZone::UTC);
        assert_eq!(
            (clock(at), day(at)),
            ("10:38:28".into(), "Sun 26 Oct 2025".into())
        );
        let east = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(clock(local(1_761_475_108_753, &east)), "19:38:28");
        let models = [
            "claude-sonnet-4-5-20250929",
            "gpt-5-2025-08-07",
            "o3",
            "gemini-2.5-pro",
        ];
        let names = models.map(model_name);
        assert_eq!(
            names,
            ["claude-sonnet-4-5", "gpt-5", "o3", "gemini-2.5-pro"]
        );
    }

    #[test]
    fn a_label_loses_its_middle() {
        let label = "sample 15, epoch 1, includes: incorrect";
        let short = |room| shortened_label(label, room, "…").as_plain().to_owned();
        assert_eq!(short(24), "sample 15, e…: incorrect");
        assert_eq!(short(60), label);
    }
}
