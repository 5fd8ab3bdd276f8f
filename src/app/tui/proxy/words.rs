//! Exchanges in words: what one is doing, how it ended, times and counts. All of it holds text from outside.

use retake_core::exchange::{Ending, Holding, Phase, Seen};

/// What an exchange is doing, in few words; `now` in milliseconds since 1970.
pub fn phase(seen: &Seen, now: u64) -> String {
    match &seen.phase {
        Phase::Asking => "asking".to_owned(),
        Phase::Waiting => "waiting".to_owned(),
        Phase::Replying if seen.streams => "streaming".to_owned(),
        Phase::Replying => "replying".to_owned(),
        Phase::Held(holding) => held_for(holding, now),
        Phase::AskingAgain(holding) if holding.is_gone => "client gone".to_owned(),
        Phase::AskingAgain(_) => "asking again".to_owned(),
        Phase::Ended(ending) => ended(ending).to_owned(),
    }
}

/// How an exchange is held, so short that the time that is left has room.
fn held_for(holding: &Holding, now: u64) -> String {
    match holding.until_ms {
        _ if holding.is_gone => "client gone".to_owned(),
        Some(_) => format!("held {}", countdown(holding, now)),
        None => "held, alive".to_owned(),
    }
}

/// How long is left for a decision, or that its client waits as long as it is kept alive.
pub fn countdown(holding: &Holding, now: u64) -> String {
    match holding.until_ms {
        Some(until) => minutes(until.saturating_sub(now).div_ceil(1000)),
        None => "kept alive".to_owned(),
    }
}

fn minutes(seconds: u64) -> String {
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// How an exchange ended, in few words.
pub fn ended(ending: &Ending) -> &'static str {
    match ending {
        Ending::Passed => "passed",
        Ending::Released { .. } => "released",
        Ending::Mended => "mended",
        Ending::Refused { .. } => "refused",
        Ending::Cut => "cut",
        Ending::NoReply { .. } => "no reply",
        Ending::Truncated => "truncated",
        Ending::ClientLeft => "client left",
        Ending::Interrupted => "interrupted",
    }
}

/// Why an exchange had no good end, where there is more to say.
pub fn why(phase: &Phase) -> Option<&str> {
    match phase {
        // That there is none is said by the state.
        Phase::Ended(Ending::NoReply { why }) => Some(why.split_once(": ").map_or(why, |it| it.1)),
        Phase::Ended(Ending::Refused { why }) => Some(why),
        _ => None,
    }
}

/// Whether an end is one that the operator should look at.
pub fn is_trouble(ending: &Ending) -> bool {
    match ending {
        Ending::Passed | Ending::Released { .. } | Ending::Mended => false,
        Ending::Refused { .. }
        | Ending::Cut
        | Ending::NoReply { .. }
        | Ending::Truncated
        | Ending::ClientLeft
        | Ending::Interrupted => true,
    }
}

/// What came of an exchange for its agent, in a sentence. `decided` is the last decision about it.
pub fn outcome(seen: &Seen, decided: Option<&str>) -> String {
    let what = match &seen.phase {
        Phase::Ended(Ending::Passed) => "the agent got the reply".to_owned(),
        Phase::Ended(Ending::Released { by }) if decided.is_none() => {
            format!("released by {by}: the agent got it as it came")
        }
        Phase::Ended(Ending::Released { .. }) => "released: the agent got it as it came".to_owned(),
        Phase::Ended(Ending::Mended) => "mended: the agent got the corrected reply".to_owned(),
        Phase::Ended(Ending::Refused { why }) => format!("refused: the agent got an error: {why}"),
        Phase::Ended(Ending::Cut) => "cut: the agent's connection was broken off".to_owned(),
        Phase::Ended(Ending::NoReply { why }) => why.clone(),
        Phase::Ended(Ending::Truncated) => {
            "truncated: the reply broke off, and so did the agent's connection".to_owned()
        }
        Phase::Ended(Ending::ClientLeft) => "the client left".to_owned(),
        Phase::Ended(Ending::Interrupted) => {
            "interrupted: retake was ended while it was under way".to_owned()
        }
        Phase::Replying => "goes on: the agent gets the reply".to_owned(),
        Phase::Asking | Phase::Waiting => "goes on: the upstream is asked".to_owned(),
        Phase::AskingAgain(_) => "the upstream is asked again".to_owned(),
        Phase::Held(holding) => format!("held: {}", holding.why),
    };
    let decided = decided.map_or_else(String::new, |words| format!(" ({words})"));
    format!("exchange {}: {what}{decided}", seen.id)
}

/// Whether anything is held.
pub fn interception(on: bool) -> &'static str {
    match on {
        true => "interception is on",
        false => "interception is off: everything passes as it comes",
    }
}

/// That leaving ends held exchanges.
pub fn held(count: usize) -> String {
    match count {
        1 => "1 exchange is held and would end with the proxy".to_owned(),
        _ => format!("{count} exchanges are held and would end with the proxy"),
    }
}

pub const IN_USE: &str = "agents have used this proxy and reach no model without it";

/// The time of the day in UTC: `02:46:31`.
pub fn time(at_ms: u64) -> String {
    let seconds = at_ms / 1000 % 86_400;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

/// A span of time in at most five cells: `0.4s`, `12s`, `3m`.
pub fn span(ms: Option<u64>) -> String {
    match ms {
        None => String::new(),
        Some(ms) if ms < 10_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        Some(ms) if ms < 600_000 => format!("{}s", ms / 1000),
        Some(ms) => format!("{}m", (ms / 60_000).min(9999)),
    }
}

pub fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_a_decision_is_counted_down() {
        let held = |is_request, until_ms| Seen {
            phase: Phase::Held(Holding {
                is_gone: false,
                has: retake_core::exchange::AgentHas::default(),
                is_request,
                since_ms: 0,
                until_ms,
                why: String::new(),
            }),
            ..Seen::default()
        };
        assert_eq!(phase(&held(false, Some(272_000)), 500), "held 4:32");
        assert_eq!(phase(&held(false, Some(272_000)), 900_000), "held 0:00");
        assert_eq!(phase(&held(true, Some(3_661_000)), 0), "held 1:01:01");
        assert_eq!(phase(&held(false, None), 0), "held, alive");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(1_700_000_000_000), "22:13:20");
        let spans = [None, Some(430), Some(12_000), Some(7_200_000)].map(span);
        assert_eq!(spans, ["", "0.4s", "12s", "120m"]);
    }
}
