//! Exchanges in words: what one is doing, how it ended, times and counts. All of it holds text from outside.

use retake_core::exchange::{
    ExchangeEnding, ExchangeFinding, ExchangePhase, ExchangeSummary, Holding, Rewritten,
};
use retake_core::session;
use retake_core::session::takes::Author;
use std::cmp::Reverse;

/// What an exchange is doing, in few words; `now` in milliseconds since 1970.
pub fn phase(seen: &ExchangeSummary, now: u64) -> String {
    match &seen.phase {
        ExchangePhase::Asking => "asking".to_owned(),
        ExchangePhase::Waiting => "waiting".to_owned(),
        ExchangePhase::Replying if seen.streams => "streaming".to_owned(),
        ExchangePhase::Replying => "replying".to_owned(),
        ExchangePhase::Held(holding) | ExchangePhase::AskingAgain(holding) if holding.is_gone => {
            ended(&ExchangeEnding::ClientLeft).to_owned()
        }
        ExchangePhase::Held(holding) => held_for(holding, now),
        ExchangePhase::AskingAgain(_) => "retrying".to_owned(),
        ExchangePhase::Ended(ExchangeEnding::Passed) if seen.rewritten.again => {
            "fixed again".to_owned()
        }
        ExchangePhase::Ended(ending) => match error_status(seen) {
            Some(status) => format!("error {status}"),
            None => ended(ending).to_owned(),
        },
    }
}

/// The status of an error that the provider answered with and the agent got.
pub fn error_status(seen: &ExchangeSummary) -> Option<u16> {
    let has_passed = seen.phase == ExchangePhase::Ended(ExchangeEnding::Passed);
    seen.status.filter(|status| *status >= 400 && has_passed)
}

/// What was found: first what the exchange is held for, then the worst.
pub fn ranked(seen: &ExchangeSummary) -> Vec<&ExchangeFinding> {
    let why = seen.phase.hold().map_or("", |holding| &holding.why);
    let held_for = why.split([' ', ':']).next().unwrap_or_default();
    let mut found: Vec<_> = seen.found.iter().collect();
    found.sort_by_key(|one| (one.rule != held_for, Reverse(one.severity)));
    found
}

/// How an exchange is held, so short that the time that is left has room.
fn held_for(holding: &Holding, now: u64) -> String {
    match holding.until_ms {
        Some(_) => format!("held {}", countdown(holding, now)),
        None => "held".to_owned(),
    }
}

/// How long is left for a decision, or that its client waits as long as it is kept alive.
pub fn countdown(holding: &Holding, now: u64) -> String {
    match holding.until_ms {
        Some(until) => minutes(until.saturating_sub(now).div_ceil(1000)),
        None => "keep-alive".to_owned(),
    }
}

fn minutes(seconds: u64) -> String {
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// How an exchange ended, in few words.
pub fn ended(ending: &ExchangeEnding) -> &'static str {
    match ending {
        ExchangeEnding::Passed => "passed",
        ExchangeEnding::Released { .. } => "released",
        ExchangeEnding::Mended => "fixed",
        ExchangeEnding::Refused { .. } => "refused",
        ExchangeEnding::Cut => "cut",
        ExchangeEnding::NoReply { .. } => "no reply",
        ExchangeEnding::Truncated => "truncated",
        ExchangeEnding::ClientLeft => "client left",
        ExchangeEnding::Interrupted => "interrupted",
    }
}

/// Why an exchange had no good end, where there is more to say.
pub fn why(phase: &ExchangePhase) -> Option<&str> {
    match phase {
        // The state says that there is none.
        ExchangePhase::Ended(ExchangeEnding::NoReply { why }) => {
            Some(why.split_once(": ").map_or(why, |it| it.1))
        }
        ExchangePhase::Ended(ExchangeEnding::Refused { why }) => Some(why),
        _ => None,
    }
}

/// Whether an end is one that the operator should look at.
pub fn is_trouble(ending: &ExchangeEnding) -> bool {
    match ending {
        ExchangeEnding::Passed | ExchangeEnding::Released { .. } | ExchangeEnding::Mended => false,
        ExchangeEnding::Refused { .. }
        | ExchangeEnding::Cut
        | ExchangeEnding::NoReply { .. }
        | ExchangeEnding::Truncated
        | ExchangeEnding::ClientLeft
        | ExchangeEnding::Interrupted => true,
    }
}

/// What came of an exchange for its agent, in a sentence. `decided` is the last decision about it.
pub fn outcome(seen: &ExchangeSummary, decided: Option<&str>) -> String {
    let what = match &seen.phase {
        ExchangePhase::Ended(ExchangeEnding::Passed) if seen.rewritten.again => {
            "fixed again: the provider got the request corrected as before".to_owned()
        }
        ExchangePhase::Ended(ExchangeEnding::Passed) => match error_status(seen) {
            Some(status) => format!("the agent got the provider's error {status}"),
            None => "the agent got the reply".to_owned(),
        },
        ExchangePhase::Ended(ExchangeEnding::Released { by }) if decided.is_none() => {
            format!("released unchanged by {by}")
        }
        ExchangePhase::Ended(ExchangeEnding::Released { .. }) => "released unchanged".to_owned(),
        ExchangePhase::Ended(ExchangeEnding::Mended) => {
            let Rewritten { request, reply, .. } = seen.rewritten;
            let what = match (request, reply) {
                (true, true) => "the request and the reply were corrected",
                (true, false) => "the provider got the corrected request",
                (false, _) => "the agent got the corrected reply",
            };
            format!("fixed: {what}")
        }
        ExchangePhase::Ended(ExchangeEnding::Refused { why }) => {
            format!("refused: the agent got an error: {why}")
        }
        ExchangePhase::Ended(ExchangeEnding::Cut) => {
            "cut: the agent's connection was closed".to_owned()
        }
        ExchangePhase::Ended(ExchangeEnding::NoReply { why }) => why.clone(),
        ExchangePhase::Ended(ExchangeEnding::Truncated) => {
            "truncated: the reply ended early, and so did the agent's connection".to_owned()
        }
        ExchangePhase::Ended(ExchangeEnding::ClientLeft) => "the client left".to_owned(),
        ExchangePhase::Ended(ExchangeEnding::Interrupted) => {
            "interrupted: retake exited during it".to_owned()
        }
        ExchangePhase::Replying => "continuing: the agent gets the reply".to_owned(),
        ExchangePhase::Asking | ExchangePhase::Waiting => "waiting for the upstream".to_owned(),
        ExchangePhase::AskingAgain(_) => "waiting for the upstream (retry)".to_owned(),
        ExchangePhase::Held(holding) => format!("held: {}", holding.why),
    };
    let decided = decided.map_or_else(String::new, |words| format!(" ({words})"));
    format!("exchange {}: {what}{decided}", seen.id)
}

/// Who decided what: `the policy: inject-error for unknown-tool, wording nearest`.
pub fn decision(by: Author, action: &str, rule: Option<&str>, wording: Option<&str>) -> String {
    let by = match by {
        Author::Operator => "the operator",
        Author::Policy => "the policy",
        Author::Fix => "retake fix",
    };
    let rule = rule.map_or_else(String::new, |rule| format!(" for {rule}"));
    let wording = wording.map_or_else(String::new, |name| format!(", wording {name}"));
    format!("{by}: {action}{rule}{wording}")
}

/// What the log says of an exchange that was held or has ended, `was` being what it did before, and whether that
/// is trouble.
pub fn change(seen: &ExchangeSummary, was: Option<&ExchangePhase>) -> Option<(bool, String)> {
    match &seen.phase {
        ExchangePhase::Held(holding) if !matches!(was, Some(ExchangePhase::Held(_))) => {
            let what = match holding.is_request {
                true => "the request of exchange",
                false => "exchange",
            };
            let words = format!("{what} {} is held: {}", seen.id, holding.why);
            Some((true, words))
        }
        ExchangePhase::Ended(ending) if was != Some(&seen.phase) => {
            let is_known = was.is_some_and(|was| was.hold().is_some());
            let is_told = is_known || is_trouble(ending);
            is_told.then(|| (is_trouble(ending), outcome(seen, None)))
        }
        _ => None,
    }
}

/// How an exchange ended by the word of its journal, and whether that is trouble; `None` where everything passed
/// as it came.
pub fn recorded(how: &str) -> Option<(String, bool)> {
    match how {
        session::HELD => return Some(("held".to_owned(), true)),
        session::BEGAN => return Some(("unfinished".to_owned(), true)),
        session::MENDED_AGAIN => return Some(("fixed again".to_owned(), false)),
        _ => {}
    }
    let ending = serde_json::json!({ "how": how, "by": "", "why": "" });
    let ending = serde_json::from_value(ending).ok()?;
    let is_passed = ending == ExchangeEnding::Passed;
    (!is_passed).then(|| (ended(&ending).to_owned(), is_trouble(&ending)))
}

/// Whether anything is held.
pub fn interception(on: bool) -> &'static str {
    match on {
        true => "interception is on",
        false => "interception is off: everything is forwarded unchanged",
    }
}

/// That leaving ends held exchanges.
pub fn held(count: usize) -> String {
    match count {
        1 => "1 held exchange would end with the proxy".to_owned(),
        _ => format!("{count} held exchanges would end with the proxy"),
    }
}

/// That leaving ends exchanges that are under way.
pub fn open(count: usize) -> String {
    match count {
        1 => "1 exchange is in progress and would be cut off".to_owned(),
        _ => format!("{count} exchanges are in progress and would be cut off"),
    }
}

/// That leaving takes the model from clients that are connected.
pub fn connected(count: usize) -> String {
    match count {
        1 => "1 client is connected and would lose its model".to_owned(),
        _ => format!("{count} clients are connected and would lose their model"),
    }
}

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
        let held = |is_request, until_ms| ExchangeSummary {
            phase: ExchangePhase::Held(Holding {
                is_gone: false,
                has: retake_core::exchange::AgentHas::default(),
                is_request,
                since_ms: 0,
                until_ms,
                why: String::new(),
            }),
            ..ExchangeSummary::default()
        };
        assert_eq!(phase(&held(false, Some(272_000)), 500), "held 4:32");
        assert_eq!(phase(&held(false, Some(272_000)), 900_000), "held 0:00");
        assert_eq!(phase(&held(true, Some(3_661_000)), 0), "held 1:01:01");
        assert_eq!(phase(&held(false, None), 0), "held");
    }

    #[test]
    fn what_was_fixed_is_named_and_what_was_fixed_before_did_not_pass() {
        let ended = |ending, rewritten| ExchangeSummary {
            phase: ExchangePhase::Ended(ending),
            rewritten,
            ..ExchangeSummary::default()
        };
        let mended = |request, reply| {
            let again = false;
            let rewritten = Rewritten {
                again,
                request,
                reply,
            };
            outcome(&ended(ExchangeEnding::Mended, rewritten), None)
        };
        assert!(mended(true, false).ends_with("fixed: the provider got the corrected request"));
        assert!(mended(false, true).ends_with("fixed: the agent got the corrected reply"));
        let both = "fixed: the request and the reply were corrected";
        assert!(mended(true, true).ends_with(both));
        let again = Rewritten {
            again: true,
            ..Rewritten::default()
        };
        assert_eq!(
            phase(&ended(ExchangeEnding::Passed, again), 0),
            "fixed again"
        );
        assert_eq!(
            phase(&ended(ExchangeEnding::Passed, Rewritten::default()), 0),
            "passed"
        );
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(1_700_000_000_000), "22:13:20");
        let spans = [None, Some(430), Some(12_000), Some(7_200_000)].map(span);
        assert_eq!(spans, ["", "0.4s", "12s", "120m"]);
    }
}
