//! unknown-tool: a call names a tool that was not offered.

use super::invalid_arguments::violations_of;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{Offer, OfferedTools};
use crate::session::{Family, Flags, Item, Kind, NameId, Tool, ToolKind};
use crate::suggest::home_of;
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-tool",
    severity: Severity::Error,
    summary: "a call names a tool that is not offered",
    message: "{tool} is not offered[; nearest: {nearest}][ ({why})][: {kind}][; it is a tool of {home}][; {note}]",
    page: RulePage {
        what: "The model called a tool by a name that was not among the tools of the request at that turn.",
        why: "Most runtimes raise and the run is lost; others answer with an error, and the model may try the \
            same name again.",
        example: "Offered: search_flights, book_flight. Called: serch_flights.",
        what_to_do: "Take the suggestion if one is near. Otherwise inject an error that names the tools which \
            do exist, or retry the turn.",
        limits: "Silent where the tools are not recorded: give them with --tools. Calls of built-in tools \
            (shell, apply_patch, computer) need a tool of their type. Tools that arrive later (tool_search, \
            additional_tools) count from there on. A call with an output is only a warning: with an error the \
            model was told, without one the tool may have been offered when it ran.",
    },
    offers: &[
        Offer::unsafe_("take-suggestion"),
        Offer::safe("inject-error"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Session(check),
};

/// How many wrong names are compared with how many offered ones, at most: beyond that a file is made to be
/// slow, and its further wrong names get no suggestion.
const MOST_COMPARISONS: usize = 500_000;

const RAN: &str = "but it was answered, so it may have been offered when it ran";

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    if !run.session.contract.tools_known() {
        return;
    }
    let mut suggestions: HashMap<(usize, NameId), (String, &'static str)> = HashMap::new();
    let mut comparisons = 0;
    for (index, item) in run.session.items.iter().enumerate() {
        let is_call = item.kind == Kind::Call && !item.flags.has(Flags::FOREIGN_CALLER);
        if !is_call || item.name.is_none() {
            continue;
        }
        let Some(offered) = run.offered(index) else {
            continue;
        };
        let name = run.session.name(item);
        let is_json_output = run.session.contract.json_output(name).is_some();
        let found = if is_json_output {
            ToolMatch::Offered
        } else {
            tool_match(&offered, item, name)
        };
        let (nearest, why, kind) = match found {
            ToolMatch::Offered => continue,
            ToolMatch::OtherKind(note) => (String::new(), "", note),
            ToolMatch::Unknown => {
                let near = suggestions.entry((run.epoch(index), item.name));
                let (nearest, why) = near.or_insert_with(|| {
                    comparisons += offered.count();
                    if comparisons > MOST_COMPARISONS {
                        return (String::new(), "");
                    }
                    nearest_of(&offered, name)
                });
                (nearest.clone(), *why, "")
            }
        };
        let ran = run.answer(index).is_some_and(|(_, reports)| !reports);
        let has_suggestion = nearest
            .split(", ")
            .next()
            .is_some_and(|nearest| !nearest.is_empty() && fits(run, &offered, index, nearest));
        let finding = Finding::new(&RULE, index)
            .fact("tool", name)
            .fact("nearest", nearest)
            .fact("why", why)
            .fact("kind", kind)
            .fact("home", home_of(name).unwrap_or_default())
            .fact("note", if ran { RAN } else { "" })
            .beside(run.session.pairing.partner(index))
            .warning_if(ran)
            .answered_in(run);
        findings.push(
            finding
                .offering(|offer| offer.action != "take-suggestion" || has_suggestion)
                .of_call(run.session),
        );
    }
}

/// Whether a tool takes the arguments of a call, as far as that can be checked.
fn fits(run: &Run<'_>, offered: &OfferedTools<'_>, index: usize, name: &str) -> bool {
    let Some(Ok(validator)) = offered.validator_of(name) else {
        return true;
    };
    let arguments = run.body(index);
    let arguments = arguments.as_ref().and_then(|body| body.arguments.json());
    let value = arguments.and_then(|text| serde_json::from_str(text).ok());
    value.is_none_or(|value| violations_of(validator, &value).is_empty())
}

/// Whether the tool of a call is offered.
enum ToolMatch {
    Offered,
    /// There is a tool of the name, and it is called in another way.
    OtherKind(&'static str),
    Unknown,
}

fn tool_match(offered: &OfferedTools<'_>, item: &Item, name: &str) -> ToolMatch {
    let has_type = |kind: &str| {
        let mut tools = offered.tools();
        tools.any(|tool| tool.kind == ToolKind::Hosted && tool.name.starts_with(kind))
    };
    let is_offered = match item.family {
        Family::Function | Family::Legacy | Family::Custom => {
            let (other, note) = match item.family {
                Family::Custom => (
                    ToolKind::Function,
                    "it is a function, and was called as a custom tool",
                ),
                _ => (
                    ToolKind::Custom,
                    "it is a custom tool, and was called as a function",
                ),
            };
            return match offered.tool(item.name) {
                Some(tool) if tool.kind == other && is_told_apart(item, tool) => {
                    ToolMatch::OtherKind(note)
                }
                Some(_) => ToolMatch::Offered,
                None => ToolMatch::Unknown,
            };
        }
        // A tool of this type is offered without a name.
        Family::Computer => has_type("computer"),
        Family::Shell | Family::LocalShell | Family::ApplyPatch => has_type(name),
        Family::ToolSearch | Family::Program | Family::Hosted | Family::Approval | Family::None => {
            true
        }
    };
    if is_offered {
        ToolMatch::Offered
    } else {
        ToolMatch::OtherKind("no tool of this type is among the tools")
    }
}

/// Whether the dialect spells calls of functions and of custom tools differently, and the tool is known to be
/// the one or the other: a bare name in a list may be either.
fn is_told_apart(item: &Item, tool: &Tool) -> bool {
    let is_known = tool.kind == ToolKind::Custom || tool.parameters.is_some();
    is_known && item.facts().is_some_and(|facts| facts.custom_tools)
}

/// The names that may have been meant, and why the first of them is near.
fn nearest_of(offered: &OfferedTools<'_>, name: &str) -> (String, &'static str) {
    let near = offered.catalogue().nearest(name);
    let names: Vec<&str> = near
        .iter()
        .map(|suggestion| suggestion.name.as_str())
        .collect();
    let why = near.first().map_or("", |first| first.because);
    (names.join(", "), why)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::Severity;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::session::Flags;
    use serde_json::json;

    /// One call of `name`, answered with `output`, where these tools are offered.
    fn called(name: &str, output: &str, offered: &[&str]) -> Fixture {
        let messages = json!([
            {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": name, "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": output}]);
        fixture(&messages.to_string()).offering(offered)
    }

    #[test]
    fn story_1_a_tool_that_was_never_offered_gets_the_nearest_name() {
        // openai-agents #325: the second of the turns calls what does not exist, and the run is lost.
        let story = fixture(
            r#"[{"role":"user","content":"to Rome"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",
                "function":{"name":"book_flight","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_1","content":"which one?"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function",
                "function":{"name":"serch_flights","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_2","content":"Tool 'serch_flights' not found."}]"#,
        )
        .offering(&["search_flights", "book_flight"]);
        story.expect(&RULE, &["call_2"]);
        let finding = story.finding(&RULE);
        assert_eq!(
            finding.message(),
            "serch_flights is not offered; nearest: search_flights (typo) (answered by item 5)"
        );
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.offers[0].action, "take-suggestion");
    }

    #[test]
    fn a_near_tool_that_does_not_take_the_arguments_is_named_and_not_suggested() {
        let call = |arguments: &str| {
            let call = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "serch_flights", "arguments": arguments}}]}]);
            let tool = json!([{"name": "search_flights", "parameters": {"type": "object",
                "properties": {"to": {"type": "string"}}, "required": ["to"]}}]);
            fixture(&call.to_string()).tools(tool).finding(&RULE)
        };
        let (fits, breaks) = (call(r#"{"to":"Rome"}"#), call(r#"{"to":7}"#));
        assert_eq!(fits.offers[0].action, "take-suggestion");
        assert_eq!(breaks.offers[0].action, "inject-error");
        assert_eq!(breaks.get("nearest"), Some("search_flights"));
    }

    #[test]
    fn without_a_tool_list_nothing_is_known_to_be_unknown() {
        fixture(
            r#"[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"anything","arguments":"{}"}}]}]"#,
        )
        .expect(&RULE, &[]);
        // An empty list is a list.
        called("anything", "Error: no", &[]).expect(&RULE, &["call_1"]);
    }

    #[test]
    fn story_4_the_same_tool_in_another_spelling_is_recognised() {
        let error = "unsupported call: x";
        for name in ["mcp__files__read", "files__read", "read"] {
            let finding = called(name, error, &["files.read", "write"]).finding(&RULE);
            assert_eq!(finding.get("nearest"), Some("files.read"), "{name}");
        }
        called("files.read", "text", &["files.read"]).expect(&RULE, &[]);
        let far = called("paint", error, &["files.read"]).finding(&RULE);
        assert_eq!(far.get("nearest"), None);
        assert!(
            far.offers
                .iter()
                .all(|offer| offer.action != "take-suggestion")
        );
    }

    #[test]
    fn what_answers_a_call_says_how_bad_it_is() {
        let injected = "There is no tool named \"paint\". The nearest on offer: print.";
        for (output, told) in [
            ("Error: no", "(answered by item 2)"),
            (injected, "(answered by item 2)"),
            ("done", super::RAN),
        ] {
            let finding = called("paint", output, &["print"]).finding(&RULE);
            assert_eq!(finding.severity, Severity::Warning, "{output}");
            assert!(finding.message().ends_with(told), "{}", finding.message());
        }
        let unanswered = r#"[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function",
            "function":{"name":"paint","arguments":"{}"}}]}]"#;
        let finding = fixture(unanswered).offering(&["print"]).finding(&RULE);
        assert_eq!(finding.severity, Severity::Error);
    }

    #[test]
    fn a_namespaced_call_is_looked_up_with_its_namespace() {
        fixture(
            r#"{"type":"function_call","call_id":"call_1","namespace":"files","name":"read","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_1","output":"unsupported call: files.read"}
            {"type":"function_call","call_id":"call_2","namespace":"crm","name":"find","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_2","output":"found"}"#,
        )
        .tools(json!([{"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}]},
            {"type": "function", "name": "read"}]))
        .expect(&RULE, &["call_1"]);
    }

    #[test]
    fn story_5_the_pseudo_tool_of_an_output_schema_is_legal() {
        let story = called("json_tool_call", "Error: no", &["search"]);
        story
            .clone()
            .output_schema(json!({"type": "object"}))
            .expect(&RULE, &[]);
        story.expect(&RULE, &["call_1"]);
    }

    #[test]
    fn what_the_provider_runs_itself_needs_no_offer() {
        fixture(
            r#"[{"role":"assistant","content":[
                {"type":"server_tool_use","id":"srvtoolu_1","name":"bash_code_execution","input":{}},
                {"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}},
                {"type":"tool_use","id":"toolu_1","name":"search","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}]"#,
        )
        .offering(&["search"])
        .expect(&RULE, &[]);
        fixture(
            r#"{"type":"web_search_call","id":"ws_1","status":"completed"}
            {"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"}
            {"type":"shell_call","call_id":"s","action":{}}"#,
        )
        .tools(json!([{"type": "custom", "name": "apply_patch"}, {"type": "shell"}]))
        .expect(&RULE, &[]);
        // xAI spells what it runs for its own search as custom calls.
        fixture(
            r#"[{"type":"message","role":"user","content":"hi"},
            {"type":"custom_tool_call","id":"ctc_1","call_id":"xs_1","name":"x_keyword_search","input":"{}","status":"completed"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"found"}]}]"#,
        )
        .tools(json!([{"type": "x_search"}]))
        .expect_all(&[]);
    }

    #[test]
    fn built_in_calls_need_a_tool_of_their_type() {
        let calls = r#"{"type":"local_shell_call","call_id":"l","action":{"type":"exec","command":["ls"]}}
            {"type":"local_shell_call_output","call_id":"l","output":"x"}
            {"type":"shell_call","call_id":"s","action":{"commands":["ls"]}}
            {"type":"apply_patch_call","call_id":"a","operation":{}}
            {"type":"computer_call","call_id":"c","action":{"type":"screenshot"}}"#;
        let none = fixture(calls).tools(json!([{"type": "function", "name": "f"}]));
        none.expect(&RULE, &["l", "s", "a", "c"]);
        let first = &none.findings(&RULE)[0];
        assert!(
            first
                .message()
                .starts_with("local_shell is not offered: no tool of this type is among the tools"),
            "{}",
            first.message()
        );
        fixture(calls)
            .tools(json!([{"type": "local_shell"}, {"type": "shell"}, {"type": "apply_patch"}, {"type": "computer_use_preview"}]))
            .expect(&RULE, &[]);
        // Where the tools are not known, nothing is reported.
        fixture(calls).expect(&RULE, &[]);
    }

    #[test]
    fn a_custom_tool_is_no_function_and_a_function_no_custom_tool() {
        let story = fixture(
            r#"{"type":"function_call","call_id":"f","name":"run_sql","arguments":"{}"}
            {"type":"custom_tool_call","call_id":"c","name":"search","input":"x"}
            {"type":"custom_tool_call","call_id":"ok","name":"run_sql","input":"select 1"}"#,
        )
        .tools(json!([{"type": "custom", "name": "run_sql"}, {"type": "function", "name": "search", "parameters": {"type": "object"}}]));
        story.expect(&RULE, &["f", "c"]);
        let finding = &story.findings(&RULE)[0];
        assert_eq!(
            finding.message(),
            "run_sql is not offered: it is a custom tool, and was called as a function"
        );
        assert!(
            finding
                .offers
                .iter()
                .all(|offer| offer.action != "take-suggestion")
        );
    }

    #[test]
    fn a_tool_that_a_search_loaded_is_called_with_its_own_name_as_the_namespace() {
        fixture(
            r#"{"type":"tool_search_call","call_id":"s1","execution":"server","arguments":{}}
            {"type":"tool_search_output","call_id":"s1","execution":"server","tools":[{"type":"function","name":"rate","defer_loading":true}]}
            {"type":"function_call","call_id":"c","name":"rate","namespace":"rate","arguments":"{}"}
            {"type":"function_call_output","call_id":"c","output":"1.1"}"#,
        )
        .offering(&["search"])
        .expect(&RULE, &[]);
    }

    #[test]
    fn tools_that_a_search_finds_are_offered_from_there_on() {
        fixture(
            r#"{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_1","output":"unknown tool weather"}
            {"type":"tool_search_call","call_id":"s1","execution":"client","arguments":{}}
            {"type":"tool_search_output","call_id":"s1","execution":"client","tools":[{"type":"function","name":"weather"}]}
            {"type":"function_call","call_id":"call_2","name":"weather","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_2","output":"sunny"}"#,
        )
        .offering(&["tool_search"])
        .expect(&RULE, &["call_1"]);
        // The provider's own search finds and the same reply calls.
        fixture(
            r#"{"type":"tool_search_call","id":"s1","execution":"server","arguments":{}}
            {"type":"tool_search_output","id":"s2","execution":"server","tools":[{"type":"function","name":"weather"}]}
            {"type":"function_call","call_id":"call_2","name":"weather","arguments":"{}"}
            {"type":"function_call_output","call_id":"call_2","output":"sunny"}"#,
        )
        .offering(&["search"])
        .expect(&RULE, &[]);
    }

    #[test]
    fn a_handoff_is_a_tool_like_any_other_and_the_agents_name_is_not() {
        let offered = ["transfer_to_booking_agent"];
        called(
            "transfer_to_booking_agent",
            "{\"assistant\":\"booking\"}",
            &offered,
        )
        .expect(&RULE, &[]);
        let finding =
            called("booking_agent", "Tool 'booking_agent' not found.", &offered).finding(&RULE);
        assert_eq!(finding.get("nearest"), Some("transfer_to_booking_agent"));
    }

    #[test]
    fn a_call_that_was_answered_was_offered_when_it_ran() {
        let finding = called("old_search", "three hits", &["search"]).finding(&RULE);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding
                .message()
                .ends_with("but it was answered, so it may have been offered when it ran")
        );
    }

    #[test]
    fn the_simulated_users_calls_are_not_the_agents() {
        let mut sessions = called("toggle_data", "Error: no", &["search"]).sessions();
        let find = |session: &crate::session::Session| {
            let findings = crate::rules::check(&mut crate::rules::Run::new(session, None)).unwrap();
            findings.iter().any(|finding| finding.rule.id == RULE.id)
        };
        assert!(find(&sessions[0]));
        let call = &mut sessions[0].items[0];
        call.flags = call.flags.with(Flags::FOREIGN_CALLER);
        assert!(!find(&sessions[0]));
    }
}
