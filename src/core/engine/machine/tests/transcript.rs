//! Effects as lines of a transcript.

use crate::engine::{Reason, RunEffect};
use crate::session::ledger::{CallFailure, LedgerEvent};

/// An effect as a line; what the ledger only counts is left out.
pub(crate) fn told(effect: &RunEffect) -> Option<String> {
    Some(match effect {
        RunEffect::Record(event) => return recorded(event),
        RunEffect::Ask { ask, attempt } => format!("ask {}, attempt {attempt}", ask.0),
        RunEffect::CancelAsk(ask) => format!("cancel question {}", ask.0),
        RunEffect::Run {
            call,
            tool,
            arguments,
            attempt,
        } => {
            format!(
                "run {}: {tool} {arguments}, attempt {attempt}",
                call.call_id
            )
        }
        RunEffect::StopTools => "stop tools".to_owned(),
        RunEffect::Answer {
            call,
            output,
            is_error,
        } => {
            let error = if *is_error { " (error)" } else { "" };
            format!("answer {}{error}: {output}", call.call_id)
        }
        RunEffect::Act(decision) => format!("act: {} about {}", decision.action, decision.rule),
        RunEffect::Close => "close open calls".to_owned(),
        RunEffect::Pause(reasons) => {
            let reasons = reasons.iter().map(Reason::words).collect::<Vec<_>>();
            format!("pause: {}", reasons.join("; "))
        }
        RunEffect::Wait { timer, for_ms } => format!("wait {for_ms} ms for {timer:?}"),
        RunEffect::Webhook { url, change } => format!("webhook {url} {:?}", change.state),
        RunEffect::Note(text) => format!("note: {text}"),
        RunEffect::Finish(ending) => format!("finish: {ending:?}"),
    })
}

fn recorded(event: &LedgerEvent) -> Option<String> {
    Some(match event {
        LedgerEvent::Started { call, .. } => format!("record: {} starts", call.call_id),
        LedgerEvent::Finished { call, outcome, .. } => {
            let failure = outcome.failure.map_or("", CallFailure::word);
            format!("record: {} ended {failure}", call.call_id)
                .trim_end()
                .to_owned()
        }
        LedgerEvent::Decided {
            call,
            rule,
            action,
            by,
            proposed,
            effective,
            ..
        } => {
            let call = call.as_ref().map_or("", |call| call.call_id.as_str());
            let rule = rule.as_deref().unwrap_or("");
            let edited = match (proposed, effective) {
                (Some(proposed), Some(effective)) => format!(", {proposed} became {effective}"),
                _ => String::new(),
            };
            format!("record: {by:?} decided {action} {rule} {call}{edited}")
        }
        LedgerEvent::NotReplied {
            why, again_in_ms, ..
        } => {
            format!("record: no reply, {why}, again in {again_in_ms:?}")
        }
        LedgerEvent::Breaker {
            tool,
            state,
            errors,
        } => {
            format!("record: {tool} is {state} after {errors} errors")
        }
        LedgerEvent::Refused {
            rule, action, why, ..
        } => format!("record: {action} about {rule} was refused: {why}"),
        LedgerEvent::ApprovedAlways { tool } => format!("record: {tool} approved for good"),
        LedgerEvent::Replied { .. }
        | LedgerEvent::Began { .. }
        | LedgerEvent::Failed { .. }
        | LedgerEvent::Asked { .. }
        | LedgerEvent::Breakpoints { .. }
        | LedgerEvent::Paused { .. }
        | LedgerEvent::Ended { .. } => return None,
    })
}
