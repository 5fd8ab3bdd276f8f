//! pending-call: a call that waits, for the end of the recording to be reached or for somebody's decision.

use super::pairs::{self, OrphanCauses};
use super::{Finding, OrphanCause, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::ledger::{CallResult, RunState};
use crate::session::{Flags, Item, Kind, PairStatus, Session};

const STARTED: &str =
    "had started when the recording ended: it may have run, and its output is not known";

pub(crate) static RULE: Rule = Rule {
    id: "pending-call",
    severity: Severity::Info,
    summary: "the session ends on the call, or the call awaits an approval",
    message: "{tool} [waits {for}][{started}]",
    page: RulePage {
        what: "The session ends on a call, or a call awaits a decision of the operator.",
        why: "A call that only waits is not broken: its output is still to come, and a repair would write a text where \
            the real answer belongs. A tool that had started when its run broke off may have done its work.",
        example: "assistant calls refund (call_1), which needs an approval; the state is saved while it waits.",
        what_to_do: "Nothing, or decide what waits and go on with the run. If the run is over, supply the \
            output by hand or close the turn. If the tool had started, find out what it did and supply its output; \
            once the run goes on, an error or, confirmed, another run of the tool are possible too.",
        limits: "The journal of a run of retake says whether the tool had started when the recording ended: then it \
            may have run, which is a warning, and it is not run again without your word. Other recordings do not \
            say; there, too, it may have run.",
    },
    offers: &[Offer::manual("supply-output"), Offer::unsafe_("close-turn")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let mut aftermath = None;
    for (index, item) in session.items.iter().enumerate() {
        if session.pairing.standing(index) != PairStatus::Pending {
            continue;
        }
        if has_started(session, item) {
            findings.push(
                Finding::new(&RULE, index)
                    .as_bad_as(Severity::Warning)
                    .fact("tool", pairs::tool(session, index))
                    .fact("started", STARTED)
                    .because(Some(OrphanCause::BrokenOff)),
            );
            continue;
        }
        let awaits = item.kind == Kind::ApprovalRequest || item.flags.has(Flags::AWAITS_APPROVAL);
        let cause = if awaits {
            OrphanCause::Approval
        } else {
            aftermath
                .get_or_insert_with(|| OrphanCauses::of(session))
                .cause(run, index)
        };
        let what = if awaits {
            "for your decision"
        } else {
            "for its output; the recording ends here"
        };
        findings.push(
            Finding::new(&RULE, index)
                .fact("tool", pairs::tool(session, index))
                .fact("for", what)
                .because(Some(cause))
                .offering(|_| !awaits),
        );
    }
}

/// Whether the journal of the run says that the tool of a call started, and not that it ended.
fn has_started(session: &Session, call: &Item) -> bool {
    let has = |run: &RunState| {
        let id = session.call_id(call).unwrap_or_default();
        run.results.get(&id) == Some(&CallResult::Ran) && !run.tool_runs.contains_key(&id)
    };
    session.run.as_ref().is_some_and(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    #[test]
    fn a_recording_that_ends_on_its_calls() {
        let text = r#"[{"role":"user","content":"hi"},
            {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{}},{"type":"tool_use","id":"toolu_2","name":"list","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]"#;
        fixture(text).expect(&RULE, &["toolu_2"]);
        assert_eq!(
            fixture(text).finding(&RULE).cause,
            Some(OrphanCause::EndOfFile)
        );
    }

    #[test]
    fn a_call_that_ends_the_run_does_not_wait() {
        let ending = |tool: &str, description: &str| {
            let request = serde_json::json!({"model": "m", "tools": [{"type": "function",
                "function": {"name": tool, "description": description, "parameters": {}}}],
                "messages": [{"role": "user", "content": "hi"}]});
            let reply = serde_json::json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": "{}"}}]}}]});
            fixture(&format!(
                "[{}]",
                serde_json::json!({"request": request, "response": reply})
            ))
        };
        let last = "An answer. The final response which ends this conversation";
        ending("final_result", last).expect(&RULE, &[]);
        let finish =
            "Signals the completion of the current task or conversation.\n\nUse this tool when:";
        ending("finish", finish).expect(&RULE, &[]);
        // The name alone says nothing.
        ending("finish", "Finishes an order.").expect(&RULE, &["call_1"]);
    }

    #[test]
    fn the_end_of_openhands_has_no_output_wherever_it_is() {
        let text = r#"[{"id":1,"timestamp":"2025-01-27T22:45:00","source":"user","message":"hi","action":"message","args":{"content":"hi"}},
            {"id":2,"timestamp":"2025-01-27T22:45:18","source":"agent","message":"Done.","action":"finish","args":{"final_thought":"Done."},
            "tool_call_metadata":{"function_name":"finish","tool_call_id":"toolu_1","model_response":{"id":"r1","choices":[{"message":{"role":"assistant","content":"Done.",
            "tool_calls":[{"function":{"arguments":"{}","name":"finish"},"id":"toolu_1","type":"function"}]}}]}}},
            {"id":3,"timestamp":"2025-01-27T22:46:00","source":"user","message":"More","action":"message","args":{"content":"More"}}]"#;
        fixture(text).expect_all(&[]);
    }

    #[test]
    fn an_approval_request_is_pending_at_any_position() {
        let text = r#"[{"role":"user","content":"hi"},
            {"type":"mcp_approval_request","id":"mcpr_1","server_label":"shop","name":"refund","arguments":"{}"}]"#;
        let finding = fixture(text).finding(&RULE);
        assert_eq!(finding.cause, Some(OrphanCause::Approval));
        assert_eq!(finding.message(), "refund waits for your decision");
        assert!(finding.offers.is_empty(), "{:?}", finding.offers);
    }

    #[test]
    fn an_answered_call_does_not_wait() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"call_1","output":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn a_request_that_goes_to_the_provider_does_not_wait() {
        let text = r#"{"model":"m","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}]}"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn a_decision_that_was_made_does_not_wait() {
        let text = r#"[{"role":"user","content":"hi"},
            {"type":"mcp_approval_request","id":"mcpr_1","server_label":"shop","name":"refund","arguments":"{}"},
            {"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
