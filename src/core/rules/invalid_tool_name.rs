//! invalid-tool-name: a name that the provider's pattern refuses.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Dialect, Family, Kind, NameId};
use crate::wire::tools::call_name_fault;
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "invalid-tool-name",
    severity: Severity::Error,
    summary: "a tool name that the provider does not accept",
    message: "the tool name[ {tool}] {reason}: {provider} refuses every request that holds it",
    page: RulePage {
        what: "A call in the history has a name that does not fit the provider's pattern.",
        why: "The whole history goes out with every request, so one such name, though the call was answered \
            long ago, makes each later request fail.",
        example: "functions.get_weather: letters, digits, _ and - are accepted, the dot is not.",
        what_to_do: "Sanitise the name, or drop the pair. Of the definitions that a request offers \
            invalid-tool-definition speaks.",
        limits: "Judged for the target: up to 64 characters of a-z A-Z 0-9 _ - in Chat, 128 in Responses and \
            Anthropic; Gemini also takes dots and colons. A namespaced name of the Responses API is judged by \
            its parts. Compatible servers may accept more.",
    },
    offers: &[
        Offer::safe("sanitise-name"),
        Offer::unsafe_("drop-pair"),
        Offer::manual("edit"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let mut known: HashMap<(NameId, Option<Dialect>), Option<String>> = HashMap::new();
    for (index, item) in run.session.items.iter().enumerate() {
        let is_named = item.kind == Kind::Call
            && matches!(
                item.family,
                Family::Function | Family::Custom | Family::Legacy
            );
        if !is_named || item.flags.has(crate::session::Flags::COMPACTED) {
            continue;
        }
        let fault = known
            .entry((item.name, item.dialect))
            .or_insert_with(|| call_name_fault(run.target, run.session, item));
        if let Some(reason) = fault {
            let name = run.session.name(item);
            findings.push(
                Finding::new(&RULE, index)
                    .fact("tool", name)
                    .fact("reason", reason.as_str())
                    .fact("provider", run.target.facts().vendor),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::session::Dialect;
    use serde_json::json;

    fn call(name: &str) -> Fixture {
        let call = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": name, "arguments": "{}"}}]}]);
        fixture(&call.to_string())
    }

    #[test]
    fn a_name_with_a_dot_poisons_the_history() {
        call("functions.get_tide_table").expect(&RULE, &["call_1"]);
        assert_eq!(
            call("functions.get").finding(&RULE).message(),
            "the tool name functions.get has . in it: OpenAI refuses every request that holds it"
        );
        call("").expect(&RULE, &["call_1"]);
        call("größe").expect(&RULE, &["call_1"]);
    }

    #[test]
    fn what_the_pattern_allows_is_no_fault() {
        call("mcp__files-2__read").expect(&RULE, &[]);
        call(&"x".repeat(64)).expect(&RULE, &[]);
        call("files.read")
            .target(Dialect::Gemini)
            .expect(&RULE, &[]);
    }

    #[test]
    fn length_is_judged_for_the_target() {
        let long = call(&"x".repeat(65));
        long.expect(&RULE, &["call_1"]);
        long.target(Dialect::Responses).expect(&RULE, &[]);
        call(&"x".repeat(129))
            .target(Dialect::Anthropic)
            .expect(&RULE, &["call_1"]);
    }

    #[test]
    fn a_namespace_is_no_part_of_the_name() {
        let story = fixture(
            r#"{"type":"function_call","call_id":"call_1","namespace":"files","name":"read","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_1","output":"text"}
            // the model wrote the dot into the name itself
            {"type":"function_call","call_id":"call_2","name":"functions.read","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_2","output":"text"}
            {"type":"web_search_call","id":"ws_1","name":"web.search","status":"completed"}"#,
        );
        story.expect(&RULE, &["call_2"]);
        // Chat knows no namespaces.
        story
            .target(Dialect::Chat)
            .expect(&RULE, &["call_1", "call_2"]);
    }

    #[test]
    fn definitions_are_another_rules_matter() {
        fixture(
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],
                "tools":[{"type":"function","function":{"name":"get weather"}}]}"#,
        )
        .expect_all(&["invalid-tool-definition session"]);
        call("read")
            .offering(&["admin.tools.list", "read"])
            .expect(&RULE, &[]);
    }
}
