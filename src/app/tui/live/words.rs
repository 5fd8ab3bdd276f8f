//! A live run in words: its phase for the header, the reasons of a pause, the events of its ledger. All of them
//! hold text from outside.

use retake_core::engine::{Millis, Reason};
use retake_core::session::ledger::{Ask, Ending, LedgerEvent, ReplySummary, Usage};
use retake_core::session::takes::{Author, TakeId};
use retake_live::live::Phase;

/// What the run does, for the header; `named` tells the tool of a reason's item.
pub fn phase(
    phase: &Phase,
    for_ms: Millis,
    is_streaming: bool,
    named: &dyn Fn(&Reason) -> String,
) -> Option<String> {
    let seconds = for_ms / 1000;
    let words = match phase {
        Phase::Idle => return None,
        Phase::Asking { attempt, .. } => {
            let what = match is_streaming {
                true => "streaming the reply",
                false => "waiting for the model",
            };
            let again = match attempt {
                0 | 1 => String::new(),
                attempt => format!(", attempt {attempt}"),
            };
            format!("{what}, {seconds} s{again}")
        }
        Phase::Running { calls } => match &calls[..] {
            [] => "running".to_owned(),
            [(_, tool)] => format!("waiting for tool {tool} {seconds} s"),
            several => {
                let tools: Vec<&str> = several.iter().map(|(_, tool)| tool.as_str()).collect();
                format!(
                    "waiting for {} tools {seconds} s: {}",
                    several.len(),
                    tools.join(", ")
                )
            }
        },
        Phase::Waiting { why, for_ms: whole } => {
            let left = whole.saturating_sub(for_ms).div_ceil(1000);
            format!("retrying in {left} s ({why})")
        }
        Phase::Paused { reasons } => match &reasons[..] {
            [] => "paused".to_owned(),
            [only] => format!("paused: {}", named(only)),
            [first, more @ ..] => format!("paused: {} +{}", named(first), more.len()),
        },
        Phase::Ended(Ending::Final) => "finished".to_owned(),
        Phase::Ended(ending) => format!("ended: {}", self::ending(ending)),
    };
    Some(words)
}

/// A reason in few words; `tool` is that of its item.
pub fn reason(reason: &Reason, tool: &str) -> String {
    match reason {
        Reason::Fault { rule, .. } => format!("{rule} {tool}").trim_end().to_owned(),
        Reason::Breakpoint { number, what, .. } => format!("breakpoint {number}, {what}"),
        Reason::Approval { tool, .. } => format!("approval of {tool}"),
        Reason::AskOperator { tool, .. } => format!("{tool} needs your result"),
        Reason::MayHaveRun { tool, .. } => format!("{tool} may have run"),
        Reason::Model { .. } => "the request to the model failed".to_owned(),
        Reason::TurnLimit { turns } => format!("all {turns} replies are used"),
        Reason::Stepped => "c continues".to_owned(),
        Reason::NothingSaid => "no message yet".to_owned(),
    }
}

pub fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Fault { rule, message, .. } => format!("{rule}  {message}"),
        Reason::Breakpoint { number, what, .. } => format!("breakpoint {number}: {what}"),
        Reason::Approval {
            tool, arguments, ..
        } => format!("approval: {tool} {arguments}"),
        Reason::AskOperator { tool, note, .. } if note.is_empty() => {
            format!("{tool} needs a result from you")
        }
        Reason::AskOperator { tool, note, .. } => {
            format!("{tool} needs a result from you: {note}")
        }
        Reason::MayHaveRun { tool, .. } => {
            format!("{tool} had started when retake exited, and may have run")
        }
        Reason::Model { why } => format!("the request to the model failed: {why}"),
        Reason::TurnLimit { turns } => {
            format!("the run has used all {turns} replies (max_turns)")
        }
        Reason::Stepped => "paused: c continues".to_owned(),
        Reason::NothingSaid => "no message yet: o writes the first one".to_owned(),
    }
}

/// How a run ended.
pub fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Final => "final message".to_owned(),
        Ending::Fallback => "fallback accepted".to_owned(),
        Ending::HandedOver => "handed over to the agent".to_owned(),
        Ending::TurnLimit { turns } => format!("limit of {turns} replies"),
        Ending::Aborted => "aborted".to_owned(),
        Ending::Raised { rule } => format!("raised by the policy: {rule}"),
        Ending::ModelFailed { why } => format!("the model failed: {why}"),
        Ending::Unattended { why } => format!("unattended: {why}"),
    }
}

/// Tokens for the header.
pub fn tokens(usage: &Usage) -> Option<String> {
    let short = |count: u64| match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    };
    (*usage != Usage::default())
        .then(|| format!("{}+{} tokens", short(usage.input), short(usage.output)))
}

/// An event in a line, and whether something went wrong.
pub fn event(event: &LedgerEvent) -> (bool, String) {
    let mut is_trouble = false;
    let words = match event {
        LedgerEvent::Began {
            take,
            agent,
            model,
            scripted,
            ..
        } => {
            let scripted = if *scripted { " (scripted)" } else { "" };
            let take = named(*take, "", ", ");
            format!("began: {take}agent {agent}, model {model}{scripted}")
        }
        LedgerEvent::Asked { ask, attempt, take } => {
            let again = attempt_words(*attempt);
            format!("request {}{}{again}", ask.0, named(*take, " from ", ""))
        }
        LedgerEvent::NotReplied {
            ask,
            status,
            why,
            again_in_ms,
            ..
        } => {
            if let Some(why) = why.strip_prefix("called off: ") {
                return (false, format!("request {} was cancelled: {why}", ask.0));
            }
            is_trouble = true;
            // What the server says begins with the status where there is one.
            let status = status.map(|status| status.to_string());
            let status = status.filter(|status| !why.starts_with(status.as_str()));
            let status = status.map_or_else(String::new, |status| format!(" {status}"));
            let again = again_in_ms.map_or_else(String::new, |ms| format!("; again in {ms} ms"));
            format!("request {} failed{status}: {why}{again}", ask.0)
        }
        LedgerEvent::Replied { ask, reply, .. } => {
            is_trouble = !reply.ended;
            replied(*ask, reply)
        }
        LedgerEvent::Decided { .. } => decided(event),
        LedgerEvent::Refused {
            rule, action, why, ..
        } => {
            is_trouble = true;
            format!("policy for {rule}: {action} not possible: {why}")
        }
        LedgerEvent::Failed {
            tool,
            call,
            failure,
            text,
            ..
        } => {
            is_trouble = true;
            let class = failure.map_or(String::new(), |failure| format!(" ({})", failure.word()));
            format!("{tool} failed{class}, {call}: {text}")
        }
        LedgerEvent::ApprovedAlways { tool } => format!("always approved: {tool}"),
        LedgerEvent::Started {
            call,
            tool,
            attempt,
            ..
        } => format!("started {tool}, {call}{}", attempt_words(*attempt)),
        LedgerEvent::Finished { tool, outcome, .. } => {
            is_trouble = outcome.is_error || outcome.failure.is_some();
            let how = match outcome.failure {
                Some(failure) => format!("failed ({})", failure.word()),
                None if outcome.is_error => "an error".to_owned(),
                None => "done".to_owned(),
            };
            let (ms, bytes) = (outcome.ms, outcome.output.len());
            format!("finished {tool}: {how}, {ms} ms, {bytes} bytes")
        }
        LedgerEvent::Breaker {
            tool,
            state,
            errors,
        } => {
            is_trouble = state == "open";
            format!("breaker of {tool}: {state}, {errors} errors in a row")
        }
        LedgerEvent::Breakpoints { places, .. } if places.is_empty() => "no breakpoints".to_owned(),
        LedgerEvent::Breakpoints { places, .. } => format!("breakpoints: {}", places.join(", ")),
        LedgerEvent::Paused { why, .. } => format!("paused: {why}"),
        LedgerEvent::Ended { how, take } => {
            format!("ended{}: {}", named(*take, " in ", ""), ending(how))
        }
    };
    (is_trouble, words)
}

/// A take between two texts; nothing of that which a run begins with.
fn named(take: TakeId, before: &str, after: &str) -> String {
    match take {
        TakeId::MAIN => String::new(),
        take => format!("{before}{take}{after}"),
    }
}

fn attempt_words(attempt: u32) -> String {
    match attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    }
}

fn replied(Ask(number): Ask, reply: &ReplySummary) -> String {
    let cut = if reply.ended { "" } else { ", cut off" };
    let stop = reply.stop.as_ref();
    let stop = stop.map_or_else(String::new, |stop| format!(", ended on {stop}"));
    let calls = match reply.calls.len() {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let Usage { input, output } = reply.usage;
    let (first, whole) = (reply.first_ms, reply.total_ms);
    format!(
        "reply {number}: {calls}, {input}+{output} tokens, \
         first byte {first} ms, whole {whole} ms{cut}{stop}"
    )
}

fn decided(event: &LedgerEvent) -> String {
    let LedgerEvent::Decided {
        call,
        rule,
        action,
        by,
        wording,
        ..
    } = event
    else {
        return String::new();
    };
    let call = call.iter().map(|call| call.call_id.clone());
    let about: Vec<String> = rule.iter().cloned().chain(call).collect();
    let by = match by {
        Author::Operator => "the operator",
        Author::Fix => "retake fix",
        Author::Policy => "the policy",
    };
    let wording = wording
        .as_ref()
        .map_or_else(String::new, |name| format!(", wording {name}"));
    format!("{by} decided: {action} {}{wording}", about.join(", "))
}
