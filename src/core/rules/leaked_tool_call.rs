//! leaked-tool-call: the model wrote a call into its text instead of making it.

use super::{CheckedItem, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind};
use crate::wire::leaked as blocks;

pub(crate) static RULE: Rule = Rule {
    id: "leaked-tool-call",
    severity: Severity::Warning,
    summary: "a call of an offered tool is written as text",
    message: "a call of {tool} is written as text ({form}), so it never ran[; {count} such calls]",
    page: RulePage {
        what: "The model's text holds a whole call, in the spelling of some provider or template: it names \
            a tool that is offered, and it is closed.",
        why: "Nothing runs, the run ends as if the text were the answer, and the bad example in the history \
            makes the model do it again.",
        example: "call\n<invoke name=\"open_record\"><parameter name=\"record\">P-2207</parameter></invoke>",
        what_to_do: "Make the call of it that it is, which the screen shows before anything changes, or retry \
            the turn. Deleting the text would lose the call.",
        limits: "Half blocks, unknown names, quotations and code fences are left alone (but for one call as \
            JSON alone in a fence at the end of the text), and so is a text beside a real call of the same \
            tool. Where tools are not recorded, only names that are called elsewhere in the session count.",
    },
    offers: &[
        Offer::unsafe_("salvage-call"),
        Offer::manual("edit"),
        Offer::unsafe_("retry"),
    ],
    scope: Scope::Item {
        kinds: &[Kind::Assistant],
        glance: blocks::may_stand_in,
        check,
    },
};

fn check(run: &Run<'_>, subject: &CheckedItem<'_>, findings: &mut Vec<Finding>) {
    let text = subject.body.text.as_str();
    if subject.item.flags.has(Flags::SYNTHETIC) || !blocks::may_hold_any(text) {
        return;
    }
    let blocks = blocks::find(text);
    let is_lost =
        |name: &str| is_tool(run, subject.index, name) && !is_called_beside(run, subject, name);
    let leaked = blocks
        .iter()
        .filter(|block| is_lost(block.tool))
        .collect::<Vec<_>>();
    let Some(first) = leaked.first() else {
        return;
    };
    let count = if leaked.len() > 1 {
        leaked.len().to_string()
    } else {
        String::new()
    };
    findings.push(
        Finding::new(&RULE, subject.index)
            .fact("tool", first.tool)
            .fact("form", first.form)
            .fact("line", first.line.to_string())
            .fact("count", count),
    );
}

fn is_tool(run: &Run<'_>, index: usize, name: &str) -> bool {
    let offered = run.offered(index);
    let is_offered = offered.is_some_and(|offered| offered.tools().any(|tool| tool.name == name));
    is_offered || run.session.names.find(name).is_some()
}

/// Whether the same reply makes a real call of the tool: then the text tells what it does.
fn is_called_beside(run: &Run<'_>, subject: &CheckedItem<'_>, name: &str) -> bool {
    let session = run.session;
    let turn = session.turns.get(subject.item.turn as usize);
    let mut items = turn
        .into_iter()
        .flat_map(|turn| &session.items[turn.items()]);
    items.any(|item| item.kind == Kind::Call && session.name(item) == name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::json;

    fn says(text: &str) -> Fixture {
        let messages = json!([{"role": "user", "content": "open P-1"}, {"role": "assistant", "content": text}]);
        fixture(&messages.to_string()).offering(&["open_record", "search"])
    }

    #[test]
    fn story_8_a_call_in_the_text_is_found_in_every_spelling() {
        let spellings = [
            "I open it.\n\ncall\n<invoke name=\"open_record\">\n<parameter name=\"record\">P-1</parameter>\n</invoke>",
            "<function_calls><invoke name=\"open_record\"><parameter name=\"r\">1</parameter></invoke></function_calls>",
            "<function=open_record>\n<parameter=record>P-1</parameter>\n</function>",
            "<tool_call>\n<function=open_record>\n</function>\n</tool_call>",
            "<tool_call>\n{\"name\": \"open_record\", \"arguments\": {\"record\": \"P-1\"}}\n</tool_call>",
            "<call:default_api:open_record{record:\"P-1\"}/>",
            "declaration:default_api:open_record{record:\"P-1\"}",
            "```tool_code\nprint(default_api.open_record(record=\"P-1\"))\n```",
            "Thought: I look.\nAction: open_record\nAction Input: {\"record\": \"P-1\"}",
            "{\"name\": \"open_record\", \"arguments\": {\"record\": \"P-1\"}}",
            "[TOOL_CALLS][{\"name\": \"open_record\", \"arguments\": {\"record\": \"P-1\"}}]",
            "<|channel|>commentary to=functions.open_record <|constrain|>json<|message|>{\"record\":\"P-1\"}<|call|>",
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}><\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>open_record<\u{ff5c}tool\u{2581}sep\u{ff5c}>{\"record\":\"P-1\"}<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>",
            "<|python_tag|>{\"name\": \"open_record\", \"parameters\": {\"record\": \"P-1\"}}",
            "I open it:\n```json\n{\"name\": \"open_record\", \"arguments\": {\"record\": \"P-1\"}}\n```",
        ];
        for text in spellings {
            assert_eq!(says(text).findings(&RULE).len(), 1, "{text}");
        }
        let prefix = "antml:";
        says(&format!(
            "count\n<{prefix}invoke name=\"open_record\"><{prefix}parameter name=\"r\">1</{prefix}parameter></{prefix}invoke>"
        ))
        .expect(&RULE, &["#2"]);
        assert_eq!(
            says(spellings[0]).finding(&RULE).message(),
            "a call of open_record is written as text (invoke block), so it never ran"
        );
    }

    #[test]
    fn prose_fences_and_half_blocks_are_left_alone() {
        let innocent = [
            "Write <invoke name=\"open_record\"></invoke> to call it.",
            "The format is:\n```xml\n<invoke name=\"open_record\">\n</invoke>\n```\nNothing more.",
            "~~~\n{\"name\": \"open_record\", \"arguments\": {}}\n~~~\nis how it is written.",
            "`<tool_call>{\"name\": \"open_record\", \"arguments\": {}}</tool_call>`",
            "<invoke name=\"open_record\">\n<parameter name=\"record\">P-",
            "<tool_call>\n{\"name\": \"open_record\", \"argum",
            "{\"name\": \"open_record\", \"arguments\": {",
            "Action: open_record the archive\nAction Input: none",
            "Action: open_record",
            "{\"name\": \"open_record\", \"size\": 5}",
            "> <invoke name=\"open_record\"></invoke>",
        ];
        for text in innocent {
            says(text).expect(&RULE, &[]);
        }
    }

    #[test]
    fn only_tools_that_are_offered_or_called_elsewhere_count() {
        says("<invoke name=\"open_door\">\n</invoke>").expect(&RULE, &[]);
        let unknown = r#"[{"role":"user","content":"x"},{"role":"assistant","content":"<invoke name=\"open_door\">\n</invoke>"}]"#;
        fixture(unknown).expect(&RULE, &[]);
        fixture(
            r#"[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"open_door","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"open"},
            {"role":"assistant","content":"<invoke name=\"open_door\">\n</invoke>"}]"#,
        )
        .expect(&RULE, &["#3"]);
    }

    #[test]
    fn text_next_to_the_real_call_is_no_leak() {
        fixture(
            r#"[{"role":"assistant","content":"Action: search\nAction Input: {}","tool_calls":[
                {"id":"c","type":"function","function":{"name":"search","arguments":"{}"}}]}]"#,
        )
        .expect(&RULE, &[]);
    }

    #[test]
    fn what_the_user_pastes_is_no_leak() {
        fixture(r#"[{"role":"user","content":"<invoke name=\"search\">\n</invoke>"},{"role":"assistant","content":"?"}]"#)
            .offering(&["search"])
            .expect(&RULE, &[]);
    }
}
