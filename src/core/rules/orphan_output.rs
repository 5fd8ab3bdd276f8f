//! orphan-output: an output whose call is not in the history.

use super::{Finding, OrphanCause, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Family, Flags, Kind, PairStatus};

pub(crate) static RULE: Rule = Rule {
    id: "orphan-output",
    severity: Severity::Error,
    summary: "an output without call",
    message: "[{tool}: ]this output answers no call of the history[; {note}][; cause: {cause}]",
    page: RulePage {
        what: "An output whose call id no call of the history has.",
        why: "Providers refuse a history with such an output: \"No tool call found\", \"unexpected \
            tool_use_id\", \"must be a response to a preceding message with tool_calls\".",
        example: "A session is cut to its last ten items; the cut falls between call_1 and its output, and the \
            history now opens with the output.",
        what_to_do: "Turn the output into plain text, so that the model keeps what it knew, or drop it. Cut \
            histories where no pair is split.",
        limits: "With previous_response_id or a conversation the call may be kept by the provider: then it \
            cannot be judged, and is only reported. At the beginning of a log the call is probably in an earlier \
            file. In abandoned branches and side chains it is only a warning.",
    },
    offers: &[Offer::safe("output-to-text"), Offer::unsafe_("drop-item")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    // Why a call would be missing at this point: what was cut away before it.
    let mut opening = Some(if session.contract.is_request {
        OrphanCause::Pruned
    } else {
        OrphanCause::StartsLate
    });
    for (index, item) in session.items.iter().enumerate() {
        match item.kind {
            Kind::Compaction => opening = Some(OrphanCause::Compaction),
            Kind::User if !item.flags.has(Flags::SYNTHETIC) => opening = None,
            kind if kind.is_from_model() => opening = None,
            _ => {}
        }
        let is_orphan =
            item.kind == Kind::Output && session.pairing.standing(index) == PairStatus::Orphan;
        // Without an id there is nothing to look for: that is missing-call-id.
        if !is_orphan || (item.call_id.is_none() && item.family != Family::Legacy) {
            continue;
        }
        let elsewhere = session.contract.server_state || item.flags.has(Flags::SERVER_STATE);
        let finding = Finding::new(&RULE, index).fact("tool", session.name(item));
        findings.push(if elsewhere {
            finding
                .fact(
                    "note",
                    "the provider keeps older items, so it cannot be judged",
                )
                .as_bad_as(Severity::Info)
                .offering(|_| false)
        } else {
            finding.because(opening).in_branch_of(session)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    #[test]
    fn an_output_that_answers_nobody() {
        let text = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"x"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"20C"}]}]"#;
        fixture(text).expect(&RULE, &["toolu_9"]);
        assert_eq!(fixture(text).finding(&RULE).cause, None);
    }

    #[test]
    fn a_trimmed_request_and_a_log_that_starts_in_the_middle() {
        let items = r#"[{"role":"developer","content":"be kind"},{"type":"function_call_output","call_id":"call_1","output":"1"},
            {"type":"function_call","call_id":"call_2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_2","output":"1"}]"#;
        let log = fixture(items).finding(&RULE);
        assert_eq!(log.cause, Some(OrphanCause::StartsLate));
        let request = fixture(&format!(r#"{{"model":"m","input":{items}}}"#)).finding(&RULE);
        assert_eq!(request.cause, Some(OrphanCause::Pruned));
    }

    #[test]
    fn with_state_at_the_provider_it_cannot_be_judged() {
        let text = r#"{"model":"m","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"call_1","output":"20C"}]}"#;
        let finding = fixture(text).finding(&RULE);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.offers.is_empty());
    }

    #[test]
    fn an_output_before_its_call_has_a_call() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"call_1","output":"1"},
            {"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn what_the_provider_ran_is_its_own_affair() {
        let text = r#"[{"role":"user","content":"hi"},
            {"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
