//! duplicate-output: a call that was answered twice.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::{Offer, Safety};
use crate::session::{Kind, PairStatus};

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-output",
    severity: Severity::Error,
    summary: "two outputs for one call",
    message: "{tool} was answered already at item {first}[; {note}]",
    page: RulePage {
        what: "A second output for a call that has one.",
        why: "Anthropic refuses it (\"each tool_use must have a single result\"), others give the model two \
            answers that may disagree. A tool that answered twice may have run twice.",
        example: "A retry after a lost connection: the tool ran, its output was saved, and the repaired history \
            holds \"interrupted\" for the same call as well.",
        what_to_do: "Drop the one that is not true. Where both say the same, nothing is lost.",
        limits: "An id that comes back for a new call starts a new pair and is no duplicate output: see \
            duplicate-call-id. Whether OpenAI's own endpoints refuse it is not known.",
    },
    offers: &[Offer::safe("drop-item"), Offer::unsafe_("drop-item")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    for (index, item) in session.items.iter().enumerate() {
        let PairStatus::Duplicate(call) = session.pairing.standing(index) else {
            continue;
        };
        if item.kind != Kind::Output {
            continue;
        }
        let first = session.pairing.partner(call as usize);
        let content = |index: usize| run.digest(index).map(|digest| digest.content);
        let is_same = first.is_some_and(|first| content(first) == content(index));
        let safety = if is_same {
            Safety::Safe
        } else {
            Safety::Unsafe
        };
        findings.push(
            Finding::new(&RULE, index)
                .fact("tool", pairs::tool(session, index))
                .fact("first", first.map(pairs::ordinal).unwrap_or_default())
                .fact("note", if is_same { "both say the same" } else { "" })
                .beside(first)
                .offering(|offer| offer.safety == safety)
                .in_branch_of(session),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    fn answered(outputs: &[&str]) -> String {
        let outputs = outputs.iter().map(|output| {
            format!(r#",{{"type":"function_call_output","call_id":"call_1","output":"{output}"}}"#)
        });
        format!(
            r#"[{{"role":"user","content":"hi"}},{{"type":"function_call","call_id":"call_1","name":"pay","arguments":"{{}}"}}{}]"#,
            outputs.collect::<String>()
        )
    }

    #[test]
    fn two_answers_that_disagree() {
        let finding = fixture(&answered(&["paid", "interrupted"])).finding(&RULE);
        assert_eq!((finding.item, finding.related), (Some(3), Some(2)));
        assert_eq!(finding.offers, [Offer::unsafe_("drop-item")]);
        assert_eq!(finding.message(), "pay was answered already at item 3");
    }

    #[test]
    fn the_same_answer_twice_can_be_dropped_without_loss() {
        let finding = fixture(&answered(&["paid", "paid"])).finding(&RULE);
        assert_eq!(finding.offers, [Offer::safe("drop-item")]);
    }

    #[test]
    fn one_answer_is_enough() {
        fixture(&answered(&["paid"])).expect(&RULE, &[]);
    }

    #[test]
    fn an_id_that_comes_back_with_a_new_call_has_its_own_answer() {
        let text = r#"[{"role":"user","content":"hi"},
            {"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_0","output":"1"},
            {"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_0","output":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
