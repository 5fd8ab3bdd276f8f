//! A live run in words: its phase for the header, the reasons of a pause, the events of its ledger. All of them
//! hold text from outside.

use retake_core::engine::{Millis, Reason};
use retake_core::session::ledger::{Ending, LedgerEvent, Usage};
use retake_core::session::takes::Author;
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
                true => "running: the model replies",
                false => "asking model",
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
            format!("trying again in {left} s ({why})")
        }
        Phase::Paused { reasons } => match &reasons[..] {
            [] => "paused".to_owned(),
            [only] => format!("paused: {}", named(only)),
            [first, more @ ..] => format!("paused: {} +{}", named(first), more.len()),
        },
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
        Reason::AskOperator { tool, .. } => format!("you are the tool {tool}"),
        Reason::MayHaveRun { tool, .. } => format!("{tool} may have run"),
        Reason::Model { .. } => "the model cannot be asked".to_owned(),
        Reason::TurnLimit { turns } => format!("all {turns} replies are used"),
        Reason::Stepped => "c continues".to_owned(),
        Reason::NothingSaid => "nothing is said yet".to_owned(),
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
            format!("{tool} asks you for its output")
        }
        Reason::AskOperator { tool, note, .. } => {
            format!("{tool} asks you for its output: {note}")
        }
        Reason::MayHaveRun { tool, .. } => {
            format!("{tool} started before retake was ended, and may have run")
        }
        Reason::Model { why } => format!("the model cannot be asked: {why}"),
        Reason::TurnLimit { turns } => {
            format!("the run has used all of its {turns} replies (max_turns)")
        }
        Reason::Stepped => "the run waits: c continues".to_owned(),
        Reason::NothingSaid => "nothing is said yet: o writes the first message".to_owned(),
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
        Ending::Unattended { why } => format!("nobody is there to decide: {why}"),
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
            format!("began: take {take}, agent {agent}, model {model}{scripted}")
        }
        LedgerEvent::Asked { ask, attempt, take } => {
            let again = attempt_words(*attempt);
            format!("question {} from take {take}{again}", ask.0)
        }
        LedgerEvent::NotReplied {
            ask,
            status,
            why,
            again_in_ms,
            ..
        } => {
            is_trouble = true;
            // What the server says begins with the status where there is one.
            let status = status.map(|status| status.to_string());
            let status = status.filter(|status| !why.starts_with(status.as_str()));
            let status = status.map_or_else(String::new, |status| format!(" {status}"));
            let again = again_in_ms.map_or_else(String::new, |ms| format!("; again in {ms} ms"));
            format!("no reply {}{status}: {why}{again}", ask.0)
        }
        LedgerEvent::Replied { ended, .. } => {
            is_trouble = !ended;
            replied(event)
        }
        LedgerEvent::Decided { .. } => decided(event),
        LedgerEvent::Refused {
            rule, action, why, ..
        } => {
            is_trouble = true;
            format!("policy about {rule}: {action} was refused: {why}")
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
        LedgerEvent::ApprovedAlways { tool } => format!("approved for good: {tool}"),
        LedgerEvent::Started {
            call,
            tool,
            attempt,
            ..
        } => format!("started {tool}, {call}{}", attempt_words(*attempt)),
        LedgerEvent::Finished {
            tool,
            is_error,
            failure,
            output,
            ms,
            ..
        } => {
            is_trouble = *is_error || failure.is_some();
            let how = match failure {
                Some(failure) => format!("failed ({})", failure.word()),
                None if *is_error => "an error".to_owned(),
                None => "done".to_owned(),
            };
            format!("finished {tool}: {how}, {ms} ms, {} bytes", output.len())
        }
        LedgerEvent::Breaker {
            tool,
            state,
            errors,
        } => {
            is_trouble = state == "open";
            format!("breaker of {tool}: {state}, {errors} errors in a row")
        }
        LedgerEvent::Paused { why, .. } => format!("paused: {why}"),
        LedgerEvent::Ended { how, take } => format!("ended in take {take}: {}", ending(how)),
    };
    (is_trouble, words)
}

fn attempt_words(attempt: u32) -> String {
    match attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    }
}

fn replied(event: &LedgerEvent) -> String {
    let LedgerEvent::Replied {
        ask,
        calls,
        usage,
        first_ms,
        total_ms,
        ended,
        stop,
        ..
    } = event
    else {
        return String::new();
    };
    let cut = if *ended { "" } else { ", cut off" };
    let stop = stop
        .as_ref()
        .map_or_else(String::new, |stop| format!(", ended on {stop}"));
    format!(
        "reply {}: {}, {}+{} tokens, first byte {first_ms} ms, whole {total_ms} ms{cut}{stop}",
        ask.0,
        match calls.len() {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        },
        usage.input,
        usage.output
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
