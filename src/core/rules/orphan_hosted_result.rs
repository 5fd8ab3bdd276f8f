//! orphan-hosted-result: the result of a call that the provider ran, without that call.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind, PairStatus};

pub(crate) static RULE: Rule = Rule {
    id: "orphan-hosted-result",
    severity: Severity::Error,
    summary: "the result of a call that the provider ran, without that call",
    message: "this result of a tool that the provider runs has lost its call[ {id}]",
    page: RulePage {
        what: "A block such as `advisor_tool_result`, `web_search_tool_result` or `code_execution_tool_result` \
            whose `server_tool_use` is not in the history before it.",
        why: "Anthropic refuses it: \"unexpected `tool_use_id` found in `advisor_tool_result` blocks: \
            srvtoolu_...\". Every later request of the session is refused, too.",
        example: r#"{"role": "assistant", "content": [{"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": "x"}, {"type": "text", "text": "hm"}]}"#,
        what_to_do: "Drop the result, or bring back the call from a copy of the history: it cannot be written \
            anew, since the provider made its id.",
        limits: "Judged for Anthropic, where call and result are blocks of their own; the hosted calls of \
            OpenAI hold their results. A call that has lost its result is not judged: the provider may have \
            paused.",
    },
    offers: &[Offer::unsafe_("drop-item"), Offer::manual("edit")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    if !run.target.facts().pairs_hosted_results || session.contract.server_state {
        return;
    }
    for (index, item) in session.items.iter().enumerate() {
        let is_result = item.kind == Kind::HostedOutput
            && item.facts().is_some_and(|facts| facts.pairs_hosted_results)
            && !item.flags.has(Flags::COMPACTED);
        if !is_result || session.pairing.standing(index) != PairStatus::Alone {
            continue;
        }
        // An id that cannot be read is not reported.
        let id = session.call_id(item).unwrap_or_default();
        findings.push(
            Finding::new(&RULE, index)
                .fact("id", id)
                .in_branch_of(session),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::session::Dialect;

    fn says(blocks: &str) -> Fixture {
        fixture(&format!(
            r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":[{blocks}]}},{{"role":"user","content":"go"}}]"#
        ))
    }

    #[test]
    fn a_result_of_the_providers_own_needs_its_call() {
        let alone = says(
            r#"{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":"x"},{"type":"text","text":"hm"}"#,
        );
        alone.expect(&RULE, &["srvtoolu_1"]);
        assert_eq!(
            alone.finding(&RULE).message(),
            "this result of a tool that the provider runs has lost its call srvtoolu_1"
        );
        for kind in [
            "web_search",
            "web_fetch",
            "code_execution",
            "bash_code_execution",
        ] {
            says(&format!(
                r#"{{"type":"{kind}_tool_result","tool_use_id":"srvtoolu_2","content":[]}}"#
            ))
            .expect(&RULE, &["srvtoolu_2"]);
        }
    }

    #[test]
    fn a_pair_is_sound_and_so_is_a_call_that_waits() {
        says(
            r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#,
        )
        .expect(&RULE, &[]);
        says(r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#)
            .expect(&RULE, &[]);
    }

    #[test]
    fn other_dialects_do_not_get_the_block() {
        says(r#"{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":"x"}"#)
            .target(Dialect::Chat)
            .expect(&RULE, &[]);
    }
}
