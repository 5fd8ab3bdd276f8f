//! turn-limit: the run ended because it had used up its turns.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, failing_tool, repeated_call};
use crate::actions::Offer;
use crate::session::ledger::Ending;
use crate::session::{Kind, Speaker};

pub(crate) static RULE: Rule = Rule {
    id: "turn-limit",
    severity: Severity::Info,
    summary: "the run ended at its turn limit",
    message: "the run ended at its limit of {limit} turns[; before it: {loop}]",
    page: RulePage {
        what: "The model made as many replies as the run may take, and the last one still calls tools.",
        why: "The limit is where it ended, not why: the cause is mostly a loop or a failing tool.",
        example: "Max turns (10) exceeded, after six times the same call.",
        what_to_do: "Go to the loop that caused it and fork there; or accept a fallback as the final output.",
        limits: "Only where the recording holds the limit, and counted from the last message of the user on; \
            the journal of a run says itself that it ended so, which is an error there.",
    },
    offers: &[
        Offer::unsafe_("fallback"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("raise-limit"),
    ],
    scope: Scope::Findings(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let used_up = match session.run.as_ref().map(|run| &run.ending) {
        Some(Some(Ending::TurnLimit { turns })) => Some(*turns),
        // A run of retake tells how it ended.
        Some(_) => return,
        None => None,
    };
    let Some(limit) = used_up.or(session.contract.turn_limit) else {
        return;
    };
    let replies = session
        .turns
        .iter()
        .rev()
        .take_while(|turn| turn.speaker != Speaker::User);
    let replies = replies
        .filter(|turn| turn.speaker == Speaker::Model)
        .collect::<Vec<_>>();
    let is_reached = used_up.is_some() || replies.len() >= limit as usize;
    let is_called = |index: &usize| session.items[*index].kind == Kind::Call;
    let last = replies.first().filter(|_| is_reached);
    let call = last.and_then(|last| last.items().rev().find(is_called));
    // A policy may have taken the last reply out of the history.
    let end = used_up.and_then(|_| session.items.len().checked_sub(1));
    let Some(call) = call.or(end) else {
        return;
    };
    let earlier = findings
        .iter()
        .filter(|finding| {
            [repeated_call::RULE.id, failing_tool::RULE.id].contains(&finding.rule.id)
        })
        .max_by_key(|finding| finding.item);
    let cause = earlier.map(Finding::message).unwrap_or_default();
    let place = earlier
        .and_then(|finding| finding.item)
        .map(|item| item as usize);
    findings.push(
        Finding::new(&RULE, call)
            .fact("limit", limit.to_string())
            .fact("loop", cause)
            .beside(place)
            .as_bad_as(match used_up {
                Some(_) => Severity::Error,
                None => RULE.severity,
            }),
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    /// A question, and this many calls with the same answer, each followed by its output.
    fn run(calls: usize, last: Option<&str>) -> Fixture {
        let mut messages = vec![json!({"role": "user", "content": "where is it?"})];
        for number in 1..=calls {
            let id = format!("call_{number}");
            messages.push(
                json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "status", "arguments": "{}"}}]}),
            );
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": "late"}));
        }
        messages.extend(last.map(|text| json!({"role": "assistant", "content": text})));
        fixture(&Value::from(messages).to_string())
    }

    #[test]
    fn the_limit_names_the_loop_that_caused_it() {
        let story = run(4, None).turn_limit(4);
        story.expect(&RULE, &["call_4"]);
        let message = story.finding(&RULE).message();
        assert!(
            message.starts_with(
                "the run ended at its limit of 4 turns; before it: status was called 4 times"
            ),
            "{message}"
        );
        let finding = run(2, None).turn_limit(2).finding(&RULE);
        assert_eq!(finding.message(), "the run ended at its limit of 2 turns");
    }

    #[test]
    fn a_run_that_came_to_its_answer_did_not_end_at_the_limit() {
        run(3, Some("It is late.")).turn_limit(4).expect(&RULE, &[]);
        run(3, None).turn_limit(4).expect(&RULE, &[]);
        run(3, None).expect(&RULE, &[]);
    }
}
