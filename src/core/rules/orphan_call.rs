//! orphan-call: a call inside the history that was never answered.

use super::pairs::{self, OrphanCauses};
use super::{Finding, OrphanCause, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind, PairStatus};

pub(crate) static RULE: Rule = Rule {
    id: "orphan-call",
    severity: Severity::Error,
    summary: "a call without output inside the active history",
    message: "{tool} was called and never answered[; cause: {cause}]",
    page: RulePage {
        what: "A call that has no output although the history continues after it, or that ends a request as it \
            goes to the provider.",
        why: "Every provider refuses a history with an unanswered call, so the session cannot go on: each later \
            request fails in the same way.",
        example: "assistant calls book_flight (call_1); the user writes \"stop\"; no output for call_1 follows.",
        what_to_do: "Close a turn that was broken off, or answer the call with an error that says what \
            happened, or supply the output by hand if it is known. Dropping the call hides from the model that \
            it made one. If the tool may have run, never run it again: record its output.",
        limits: "The cause is read from what follows the call: a compaction, an interrupt, a message of \
            the user, a reply that failed, a faulty call; where the run simply went on, the entry was probably \
            never written. In abandoned branches, in side chains and before a \
            compaction it is only a warning.",
    },
    offers: &[
        Offer::safe("close-turn"),
        Offer::safe("inject-error"),
        Offer::manual("supply-output"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let mut aftermath = None;
    for (index, item) in session.items.iter().enumerate() {
        if item.kind != Kind::Call || session.pairing.standing(index) != PairStatus::Orphan {
            continue;
        }
        let aftermath = aftermath.get_or_insert_with(|| OrphanCauses::of(session));
        let cause = aftermath.cause(run, index);
        let was_broken_off = matches!(
            cause,
            OrphanCause::EndOfFile | OrphanCause::Interrupt | OrphanCause::FailedReply
        );
        // A reply that was broken off and is not sent again needs no output.
        if was_broken_off && item.flags.has(Flags::COMPACTED) {
            continue;
        }
        findings.push(
            Finding::new(&RULE, index)
                .fact("tool", pairs::tool(session, index))
                .because(Some(cause))
                .offering(|offer| offer.action != "close-turn" || was_broken_off)
                .in_branch_of(session),
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rules::OrphanCause;
    use crate::rules::fixture::fixture;

    fn cause(text: &str) -> Option<OrphanCause> {
        fixture(text).finding(&RULE).cause
    }

    #[test]
    fn a_user_message_in_place_of_the_output() {
        let text = r#"[{"role":"user","content":"book it"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","function":{"name":"book","arguments":"{}"}}]},
            {"role":"user","content":"stop"}]"#;
        fixture(text).expect(&RULE, &["call_1"]);
        assert_eq!(cause(text), Some(OrphanCause::UserMessage));
    }

    #[test]
    fn a_reply_that_goes_on_as_if_the_output_were_there() {
        let text = r#"[{"role":"user","content":"book it"},
            {"type":"function_call","call_id":"call_1","name":"book","arguments":"{}"},
            {"type":"function_call","call_id":"call_2","name":"pay","arguments":"{}"},
            {"type":"function_call_output","call_id":"call_2","output":"paid"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]"#;
        fixture(text).expect(&RULE, &["call_1"]);
        assert_eq!(cause(text), Some(OrphanCause::LostWrite));
    }

    #[test]
    fn a_stream_that_broke_and_a_turn_that_was_aborted() {
        let log = |event: &str| {
            format!(
                r#"{{"type":"session_meta","payload":{{"id":"1"}}}}
{{"type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"{{}}","call_id":"call_1"}}}}
{{"type":"event_msg","payload":{{"type":"{event}"}}}}
{{"type":"response_item","payload":{{"type":"message","role":"user","content":[]}}}}"#
            )
        };
        assert_eq!(cause(&log("stream_error")), Some(OrphanCause::FailedReply));
        assert_eq!(cause(&log("turn_aborted")), Some(OrphanCause::Interrupt));
    }

    #[test]
    fn a_call_of_a_tool_that_was_not_offered() {
        let text = r#"{"tools":[{"type":"function","function":{"name":"book"}}],"messages":[{"role":"user","content":"book it"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","function":{"name":"boook","arguments":"{}"}}]},
            {"role":"user","content":"well?"}]}"#;
        assert_eq!(cause(text), Some(OrphanCause::FaultyCall));
    }

    #[test]
    fn a_request_that_ends_on_a_call() {
        let text = r#"{"model":"m","input":[{"role":"user","content":"book it"},
            {"type":"function_call","call_id":"call_1","name":"book","arguments":"{}"}]}"#;
        assert_eq!(cause(text), Some(OrphanCause::EndOfFile));
    }

    #[test]
    fn a_recording_that_ends_on_a_call_is_not_lost() {
        let text = r#"[{"role":"user","content":"book it"},
            {"type":"function_call","call_id":"call_1","name":"book","arguments":"{}"}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn the_provider_answers_its_own_calls() {
        let text = r#"[{"role":"user","content":"news?"},{"type":"web_search_call","id":"ws_1","status":"completed"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"none"}]},{"role":"user","content":"ok"}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn outputs_in_another_order_are_outputs() {
        let text = r#"[{"role":"user","content":"book it"},
            {"type":"function_call","call_id":"call_1","name":"book","arguments":"{}"},
            {"type":"function_call","call_id":"call_2","name":"pay","arguments":"{}"},
            {"type":"function_call_output","call_id":"call_2","output":"paid"},
            {"type":"function_call_output","call_id":"call_1","output":"booked"},{"role":"user","content":"ok"}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
