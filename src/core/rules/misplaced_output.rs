//! misplaced-output: call and output exist, but the target wants the output elsewhere.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::Offer;
use crate::session::{Kind, Session};
use crate::wire::{Misplaced, Misplacement, misplaced};

pub(crate) static RULE: Rule = Rule {
    id: "misplaced-output",
    severity: Severity::Error,
    summary: "the pair exists, but the target dialect forbids its place",
    message: "{tool}: {place}",
    page: RulePage {
        what: "A call and its output that are both in the history, in an order that the provider refuses; or text \
            before, between or after them where the provider allows none.",
        why: "The refusal says that the output is missing, although it is there; a repair that adds a second \
            output makes it worse.",
        example: "Anthropic: the user's message holds a text block before the tool_result. Chat: a user message \
            comes between the call and its tool message.",
        what_to_do: "Move the output to where the provider wants it: Chat, after the message of its call \
            before any other message; Anthropic, first in the very next message; everywhere, after its call.",
        limits: "Judged for the target dialect. OpenAI Responses takes an output anywhere after its call. Text \
            after a tool_use of the same Anthropic message is a warning: the refusal was seen in one probe of \
            the live API only.",
    },
    offers: &[
        Offer::safe("move-output"),
        Offer::unsafe_("drop-pair"),
        Offer::unsafe_("retry"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    for Misplaced { item, fact } in misplaced(session, run.target) {
        let (place, beside) = tell(session, fact);
        let finding = Finding::new(&RULE, item)
            .fact("tool", pairs::tool(session, item))
            .fact("place", place)
            .beside(Some(beside.unwrap_or(item)));
        let offered: &[&str] = match fact {
            Misplacement::TextBehindCall(_) => &["retry"],
            Misplacement::OpensHistory => &["drop-pair"],
            _ => &["move-output", "drop-pair"],
        };
        findings.push(
            finding
                .warning_if(matches!(fact, Misplacement::TextBehindCall(_)))
                .offering(|offer| offered.contains(&offer.action))
                .in_branch_of(session),
        );
    }
}

/// The fact in words, and the other item of the story.
fn tell(session: &Session, fact: Misplacement) -> (String, Option<usize>) {
    let with = |words: &str, other: usize| {
        let kind = match session.items.get(other).map(|item| item.kind) {
            Some(Kind::User | Kind::Assistant) => "text",
            Some(kind) => kind.word(),
            None => "text",
        };
        let words = words.replace("{kind}", kind);
        (words.replace("{}", &pairs::ordinal(other)), Some(other))
    };
    match fact {
        Misplacement::BeforeCall(call) => with("the output comes before its call, item {}", call),
        Misplacement::TooLate(between) => with(
            "{kind}, item {}, comes between the call and its output",
            between,
        ),
        Misplacement::NotFirst(before) => with(
            "{kind}, item {}, comes before the output in the user's turn",
            before,
        ),
        Misplacement::TextBehindCall(text) => with(
            "{kind}, item {}, follows the call in the same message",
            text,
        ),
        Misplacement::OpensHistory => (
            "the call opens the history; a turn of the user must come first".to_owned(),
            None,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;
    use crate::session::Dialect;

    const TEXT_FIRST: &str = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{}}]},
        {"role":"user","content":[{"type":"text","text":"and?"},{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]"#;

    const TEXT_BEHIND: &str = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{}},{"type":"text","text":"a moment"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]"#;

    #[test]
    fn text_before_the_result_is_refused_by_anthropic() {
        let finding = fixture(TEXT_FIRST).finding(&RULE);
        assert_eq!(
            finding.message(),
            "read: text, item 3, comes before the output in the user's turn"
        );
        assert_eq!(finding.severity, Severity::Error);
    }

    #[test]
    fn text_after_a_call_is_a_warning_for_anthropic_and_nothing_for_openai() {
        let finding = fixture(TEXT_BEHIND).finding(&RULE);
        assert_eq!(
            (finding.severity, finding.related),
            (Severity::Warning, Some(2))
        );
        assert_eq!(finding.offers.len(), 1);
        for target in [Dialect::Chat, Dialect::Responses] {
            fixture(TEXT_BEHIND).target(target).expect(&RULE, &[]);
        }
    }

    #[test]
    fn an_output_before_its_call() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"call_1","output":"1"},
            {"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}]"#;
        fixture(text).expect(&RULE, &["call_1"]);
    }

    #[test]
    fn responses_accepts_an_output_after_a_message_and_chat_does_not() {
        let text = r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},
            {"role":"user","content":"well?"},{"type":"function_call_output","call_id":"call_1","output":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
        fixture(text)
            .target(Dialect::Chat)
            .expect(&RULE, &["call_1"]);
    }

    #[test]
    fn text_before_the_calls_and_after_the_results_is_fine() {
        let text = r#"[{"role":"user","content":"hi"},
            {"role":"assistant","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"toolu_1","name":"read","input":{}},{"type":"tool_use","id":"toolu_2","name":"read","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"x"},{"type":"tool_result","tool_use_id":"toolu_1","content":"x"},{"type":"text","text":"and?"}]}]"#;
        fixture(text).expect(&RULE, &[]);
    }

    #[test]
    fn instructions_of_the_next_agent_split_no_pair() {
        let exchange = |prompt: &str, repeated: &str, reply: &str| {
            format!(
                r#"{{"request":{{"model":"m","messages":[{{"role":"system","content":"{prompt}"}},{{"role":"user","content":"hi"}}{repeated}]}},"response":{{"choices":[{{"index":0,"message":{reply}}}]}}}}"#
            )
        };
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"transfer_to_b","arguments":"{}"}}]}"#;
        let output = r#"{"role":"tool","tool_call_id":"call_1","content":"b"}"#;
        let answer = r#"{"role":"assistant","content":"ok"}"#;
        let handoff = [
            exchange("A", "", call),
            exchange("B", &format!(",{call},{output}"), answer),
        ];
        fixture(&handoff.join("\n")).expect(&RULE, &[]);
        // In one request the same order is refused.
        let system = r#"{"role":"system","content":"B"}"#;
        let user = r#"{"role":"user","content":"hi"}"#;
        fixture(&format!("[{user},{call},{system},{output}]")).expect(&RULE, &["call_1"]);
    }
}
