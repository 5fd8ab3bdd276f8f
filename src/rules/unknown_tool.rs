//! unknown-tool: a call names a tool that was not offered.

use super::{Digests, Finding, Page, Rule, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Family, Flags, Kind, NameId};
use crate::suggest::home_of;
use std::collections::HashMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "unknown-tool",
    severity: Severity::Error,
    summary: "a call names a tool that is not offered",
    message: "{tool} is not offered[; nearest: {nearest}][; it is a tool of {home}][; {note}]",
    page: Page {
        what: "The model called a tool by a name that was not among the tools of the request at that turn.",
        why: "Most runtimes raise and the run is lost; others answer with an error, and the model may try the same name again.",
        example: "Offered: search_flights, book_flight. Called: serch_flights.",
        what_to_do: "Take the suggestion if one is near. Otherwise inject an error that names the tools which do exist, or retry the turn.",
        limits: "Silent where the tools are not recorded: give them with --tools. Tools that arrive later (tool_search, additional_tools) count from there on. A call that was answered without an error is only a warning: the tool was offered when it ran.",
    },
    offers: &[
        Offer::unsafe_("take-suggestion"),
        Offer::safe("inject-error"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Session(check),
};

/// LiteLLM's pseudo tool for structured output; legal when the request has an output schema (openai-agents, run loop).
const JSON_TOOL_CALL: &str = "json_tool_call";

fn check(run: &Run<'_>, digests: &Digests, findings: &mut Vec<Finding>) {
    if !run.session.contract.tools_known() {
        return;
    }
    let mut suggestions: HashMap<(usize, NameId), String> = HashMap::new();
    for (index, item) in run.session.items.iter().enumerate() {
        let is_named_call = item.kind == Kind::Call
            && matches!(
                item.family,
                Family::Function | Family::Custom | Family::Legacy
            );
        if !is_named_call || item.name.is_none() || item.flags.has(Flags::FOREIGN_CALLER) {
            continue;
        }
        let Some(offered) = run.offered(index) else {
            continue;
        };
        let name = run.session.name(item);
        let is_json_output = name == JSON_TOOL_CALL && run.session.contract.output_schema.is_some();
        if offered.tool(item.name).is_some() || is_json_output {
            continue;
        }
        let epoch = run.session.contract.epoch(index as u32);
        let nearest = suggestions.entry((epoch, item.name)).or_insert_with(|| {
            let near = offered.catalogue().nearest(name);
            near.iter()
                .map(|suggestion| suggestion.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        });
        let output = run.session.pairing.partner(index);
        let ran = output.is_some_and(|output| {
            digests
                .get(output)
                .is_some_and(|digest| digest.error.is_none())
        });
        let finding = Finding::new(&RULE, index)
            .fact("tool", name)
            .fact("nearest", nearest.as_str())
            .fact("home", home_of(name).unwrap_or_default())
            .fact(
                "note",
                if ran {
                    "but it was answered, so it was offered when it ran"
                } else {
                    ""
                },
            )
            .beside(output)
            .as_bad_as(if ran {
                Severity::Warning
            } else {
                Severity::Error
            });
        let has_suggestion = !nearest.is_empty();
        findings
            .push(finding.offering(|offer| offer.action != "take-suggestion" || has_suggestion));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::fixture;

    #[test]
    fn story_1_a_tool_that_was_never_offered_gets_the_nearest_name() {
        let story = fixture(
            r#"[{"role":"user","content":"to Rome"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",
                "function":{"name":"serch_flights","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_1","content":"Tool 'serch_flights' not found."}]"#,
        )
        .offering(&["search_flights", "book_flight"]);
        story.expect(&RULE, &["call_1"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "serch_flights is not offered; nearest: search_flights"
        );
    }
}
