//! split-pair: a compaction separates two items that belong together.

use super::{Finding, OrphanCause, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::Offer;
use crate::session::{Flags, Item, Kind, PairStatus, Session};

pub(crate) static RULE: Rule = Rule {
    id: "split-pair",
    severity: Severity::Error,
    summary: "a compaction or trim boundary separates a pair, reasoning from its call, or a pending approval",
    message: "a compaction[ ({mark})] at item {boundary} separates {what}",
    page: RulePage {
        what: "A call before a compaction with its output after, reasoning before with its call after, or an \
            approval before it that is still pending.",
        why: "The provider sees only what comes after the compaction: an output without its call, which it \
            refuses, or a run that forgets what somebody has yet to decide.",
        example: "exec_command (call_1), compaction, the output of call_1: the summary replaced the call and \
            the output was kept.",
        what_to_do: "Cut where no pair is split: one item further back, or forward to the next complete turn. \
            In a recording: turn the output into text, or drop the pair; reasoning that lost its call is \
            dropped.",
        limits: "Only compactions that the recording marks are seen. A history that was trimmed without a mark \
            shows as orphan-output.",
    },
    offers: &[
        Offer::safe("output-to-text"),
        Offer::safe("drop-item"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let items = &session.items;
    let marks = (0..items.len()).filter(|index| items[*index].kind == Kind::Compaction);
    let marks = marks.collect::<Vec<_>>();
    let (Some(last), mut names) = (marks.last().copied(), Names::default()) else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let mark = marks.partition_point(|mark| *mark < index).checked_sub(1);
        let what = match (item.kind, session.pairing.standing(index)) {
            (Kind::Output, PairStatus::Severed(call)) => mark.map(|mark| {
                let tool = pairs::tool(session, index);
                let number = pairs::ordinal(call as usize);
                let what = format!("this output from its call of {tool} at item {number}");
                (marks[mark], Some(call as usize), what, "output-to-text")
            }),
            (Kind::ApprovalResponse, PairStatus::Severed(request)) => mark.map(|mark| {
                let what = "this decision from what it decides".to_owned();
                (marks[mark], Some(request as usize), what, "drop-pair")
            }),
            (_, PairStatus::Pending) if index < last => {
                let after = marks[mark.map_or(0, |mark| mark + 1)];
                let what = "a pending approval from the rest of the run".to_owned();
                Some((after, None, what, ""))
            }
            (Kind::Reasoning, _) => cut_from(items, index).map(|call| {
                let what = format!(
                    "reasoning from item {}, to which it led",
                    pairs::ordinal(call)
                );
                (index + 1, Some(call), what, "drop-item")
            }),
            _ => None,
        };
        let Some((mark, beside, what, offer)) = what else {
            continue;
        };
        findings.push(
            Finding::new(&RULE, index)
                .fact("what", what)
                .fact("boundary", pairs::ordinal(mark))
                .fact("mark", names.of(session, mark))
                .because(Some(OrphanCause::Compaction))
                .beside(beside)
                .offering(|known| {
                    known.action == offer
                        || (offer == "output-to-text" && known.action == "drop-pair")
                })
                .in_branch_of(session),
        );
    }
}

/// The item after the next compaction that this reasoning, directly before it, led to.
fn cut_from(items: &[Item], reasoning: usize) -> Option<usize> {
    let mark = items.get(reasoning + 1)?;
    let next = items.get(reasoning + 2)?;
    let goes_on = next.kind.is_from_model() && !next.flags.has(Flags::STARTS_REPLY);
    (mark.kind == Kind::Compaction && goes_on).then_some(reasoning + 2)
}

/// What compactions are called in the file; the last one is remembered.
#[derive(Debug, Default)]
struct Names {
    last: Option<(usize, String)>,
}

impl Names {
    /// Marks larger than this hold a whole history; their name is not worth reading it.
    const LIMIT: u64 = 64 * 1024;

    fn of(&mut self, session: &Session, mark: usize) -> String {
        if let Some((_, name)) = self.last.as_ref().filter(|(known, _)| *known == mark) {
            return name.clone();
        }
        let item = &session.items[mark];
        let bytes = Some(item.span.len())
            .filter(|length| *length < Self::LIMIT)
            .and_then(|_| session.bytes(item).ok());
        let value =
            bytes.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
        let name = value
            .as_ref()
            .and_then(|value| value.get("uuid").or_else(|| value.get("id"))?.as_str())
            .unwrap_or_default()
            .to_owned();
        self.last = Some((mark, name.clone()));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    const USER: &str = r#"{"role":"user","content":"hi"}"#;
    const CALL: &str = r#"{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}"#;
    const OUT: &str = r#"{"type":"function_call_output","call_id":"call_1","output":"1"}"#;
    const INNER: &str = r#"{"type":"compaction","id":"cmp_inner","encrypted_content":"x"}"#;
    const OUTER: &str = r#"{"type":"compaction","id":"cmp_outer","encrypted_content":"x"}"#;
    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;

    fn history(items: &[&str]) -> String {
        format!("[{}]", items.join(","))
    }

    #[test]
    fn an_output_that_outlives_its_call() {
        let text = history(&[USER, CALL, INNER, OUT, USER]);
        fixture(&text).expect_all(&["split-pair call_1"]);
        let finding = fixture(&text).finding(&RULE);
        assert_eq!(
            finding.message(),
            "a compaction (cmp_inner) at item 3 separates this output from its call of f at item 2"
        );
    }

    #[test]
    fn the_inner_of_two_compactions_is_named_and_pairs_after_the_outer_one_are_whole() {
        let kept = [
            CALL.replace("call_1", "call_0"),
            OUT.replace("call_1", "call_0"),
        ];
        let text = history(&[USER, OUTER, &kept[0], &kept[1], CALL, INNER, OUT, USER]);
        fixture(&text).expect(&RULE, &["call_1"]);
        assert_eq!(fixture(&text).finding(&RULE).get("mark"), Some("cmp_inner"));
    }

    #[test]
    fn reasoning_on_the_other_side_of_its_call() {
        let text = history(&[USER, REASONING, INNER, CALL, OUT]);
        fixture(&text).expect_all(&["split-pair #2"]);
    }

    #[test]
    fn an_approval_that_waits_is_forgotten() {
        let request = r#"{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"pay","arguments":"{}"}"#;
        let text = history(&[USER, request, INNER, USER]);
        fixture(&text).expect(&RULE, &["mcpr_1"]);
    }

    #[test]
    fn whole_pairs_on_both_sides_are_fine() {
        let text = history(&[USER, REASONING, CALL, OUT, INNER, CALL, OUT, USER]);
        fixture(&text).expect_all(&[]);
    }

    #[test]
    fn a_call_that_no_side_answers_is_an_orphan_and_no_split_pair() {
        let text = history(&[USER, CALL, INNER, USER]);
        fixture(&text).expect_all(&["orphan-call call_1"]);
    }
}
