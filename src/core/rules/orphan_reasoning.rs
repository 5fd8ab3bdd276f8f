//! orphan-reasoning: reasoning without the item that it led to.

use super::pairs::OrphanCauses;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Item, Kind, Session, Turn};
use serde_json::Value;

pub(crate) static RULE: Rule = Rule {
    id: "orphan-reasoning",
    severity: Severity::Error,
    summary: "a reasoning item without the item that it must precede",
    message: "this reasoning has lost the item that it led to[; cause: {cause}]",
    page: RulePage {
        what: "A reasoning item that no message or call of the same reply follows.",
        why: "OpenAI refuses it: \"Item 'rs_...' of type 'reasoning' was provided without its required \
            following item\".",
        example: "reasoning rs_1, then the user's next message: the call between them was dropped as an orphan, \
            its reasoning was not.",
        what_to_do: "Drop the reasoning as well: without its follower it is of no use to the model.",
        limits: "The reverse, a call whose reasoning was removed, cannot be seen in the items: a call with an \
            fc_ id may never have had any. For Anthropic it is a warning: servers differ. Reasoning without an \
            id is kept by no provider and is a warning, too.",
    },
    offers: &[Offer::safe("drop-item"), Offer::unsafe_("retry")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let facts = run.target.facts();
    if !facts.keeps_reasoning {
        return;
    }
    let mut aftermath = None;
    let last = session.last_spoken_turn();
    for (number, turn) in session.turns.iter().enumerate() {
        let may_go_on = last == Some(number) && session.contract.may_go_on();
        if may_go_on || next_is_compaction(session, *turn) {
            continue;
        }
        for index in without_follower(&session.items, *turn) {
            let item = &session.items[index];
            if item.dialect != Some(run.target) || item.flags.has(Flags::COMPACTED) {
                continue;
            }
            let kept = facts.item_ids && has_id(session, item);
            let cause = aftermath
                .get_or_insert_with(|| OrphanCauses::of(session))
                .cause(run, index);
            findings.push(
                Finding::new(&RULE, index)
                    .because(Some(cause))
                    .warning_if(!kept)
                    .in_branch_of(session),
            );
        }
    }
}

/// Reasoning that a compaction cuts from its call is split-pair.
fn next_is_compaction(session: &Session, turn: Turn) -> bool {
    let next = session.items.get(turn.end as usize);
    next.is_some_and(|item| item.kind == Kind::Compaction)
}

/// The reasoning at the end of a reply, after everything else in it.
fn without_follower(items: &[Item], turn: Turn) -> impl Iterator<Item = usize> {
    let spoken = turn.items().rfind(|index| {
        let kind = items[*index].kind;
        kind.is_from_model() && kind != Kind::Reasoning
    });
    let from = spoken.map_or(turn.first as usize, |spoken| spoken + 1);
    (from..turn.end as usize).filter(|index| items[*index].kind == Kind::Reasoning)
}

/// Whether the item has an id by which the provider knows it. Read only for reasoning that was
/// found without a follower.
fn has_id(session: &Session, item: &Item) -> bool {
    let bytes = session.bytes(item).unwrap_or_default();
    let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    value["id"].as_str().is_some_and(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::OrphanCause;
    use crate::rules::fixture::fixture;

    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    const PAIR: &str = r#"{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"1"}"#;
    const USER: &str = r#"{"role":"user","content":"hi"}"#;

    #[test]
    fn reasoning_before_a_message_of_the_user() {
        let text = format!("[{USER},{REASONING},{USER},{PAIR}]");
        fixture(&text).expect(&RULE, &["#2"]);
        let finding = fixture(&text).finding(&RULE);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.cause, Some(OrphanCause::UserMessage));
    }

    #[test]
    fn reasoning_whose_call_was_dropped_and_whose_output_was_not() {
        let text = format!(
            r#"[{USER},{REASONING},{{"type":"function_call_output","call_id":"call_9","output":"1"}},{USER}]"#
        );
        fixture(&text).expect(&RULE, &["#2"]);
    }

    #[test]
    fn thinking_without_follower_is_a_warning_for_anthropic() {
        let text = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]},{"role":"user","content":"well?"}]"#;
        assert_eq!(fixture(text).finding(&RULE).severity, Severity::Warning);
    }

    #[test]
    fn several_reasoning_items_lead_to_one_call() {
        fixture(&format!("[{USER},{REASONING},{REASONING},{PAIR},{USER}]")).expect(&RULE, &[]);
    }

    #[test]
    fn a_recording_may_end_on_reasoning_and_a_request_may_not() {
        fixture(&format!("[{USER},{PAIR},{REASONING}]")).expect(&RULE, &[]);
        let request = format!(r#"{{"model":"m","input":[{USER},{PAIR},{REASONING}]}}"#);
        fixture(&request).expect(&RULE, &["#4"]);
    }

    #[test]
    fn a_call_without_its_reasoning_cannot_be_judged() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"call_1","output":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
