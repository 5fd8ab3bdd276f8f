//! missing-call-id: a call or an output without the id that the target pairs by.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::Offer;
use crate::session::{Dialect, Family, Item, Kind};
use crate::wire::IdsNeeded;

pub(crate) static RULE: Rule = Rule {
    id: "missing-call-id",
    severity: Severity::Error,
    summary: "the dialect needs an id and it is missing",
    message: "{tool}: this {kind} has no call id",
    page: RulePage {
        what: "A call or an output without a call id, where the provider pairs by ids.",
        why: "The provider refuses the request, and a client cannot tell which output answers which call.",
        example: "{\"role\": \"tool\", \"content\": \"20C\"} after a call with the id call_1.",
        what_to_do: "Give the call and its output the same new id. Small model servers leave ids out: a client \
            must make them up before it saves the reply.",
        limits: "Old Chat function_call messages have no ids and need none, nor does Gemini. OpenAI Responses \
            allows outputs and tool searches without an id.",
    },
    offers: &[Offer::safe("renew-id"), Offer::unsafe_("drop-pair")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    for (index, item) in session.items.iter().enumerate() {
        if item.call_id.is_none() && needs_id(item, run.target) {
            findings.push(
                Finding::new(&RULE, index)
                    .fact("tool", pairs::tool(session, index))
                    .fact("kind", item.kind.word())
                    .beside(session.pairing.partner(index))
                    .in_branch_of(session),
            );
        }
    }
}

/// OpenAI API reference: `call_id` of outputs is nullable since 2026, that of `tool_search_call` always was.
fn needs_id(item: &Item, target: Dialect) -> bool {
    let may_need = match target.facts().call_ids.needed {
        IdsNeeded::Neither => false,
        IdsNeeded::Call => item.kind == Kind::Call,
        IdsNeeded::Both => matches!(item.kind, Kind::Call | Kind::Output),
    };
    may_need && !matches!(item.family, Family::Legacy | Family::ToolSearch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    const NO_IDS: &str = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","content":"1"}]"#;

    #[test]
    fn both_halves_need_their_id_in_chat() {
        fixture(NO_IDS).expect(&RULE, &["#2", "#3"]);
        fixture(NO_IDS)
            .target(Dialect::Responses)
            .expect(&RULE, &["#2"]);
    }

    #[test]
    fn an_empty_id_is_none() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"","name":"f","arguments":"{}"}]"#;
        fixture(text).expect(&RULE, &["#2"]);
    }

    #[test]
    fn gemini_pairs_by_name_and_order() {
        fixture(NO_IDS).target(Dialect::Gemini).expect(&RULE, &[]);
    }

    #[test]
    fn old_function_calls_never_had_ids() {
        let text = r#"[{"role":"user","content":"hi"},
            {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn a_tool_search_may_be_anonymous() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"tool_search_call","execution":"client","call_id":null,"arguments":{}},
            {"type":"tool_search_output","execution":"client","call_id":null,"tools":[]}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
