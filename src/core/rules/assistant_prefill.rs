//! assistant-prefill: a request ends on an assistant message, and its model does not continue one.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Kind, Speaker};
use crate::wire::models::family_of;

pub(crate) static RULE: Rule = Rule {
    id: "assistant-prefill",
    severity: Severity::Error,
    summary: "a request ends on an assistant message, which its model refuses",
    message: "the request ends on this message of the assistant: {model} refuses that ({source}, {seen})",
    page: RulePage {
        what: "The last message of a request is the assistant's, and the model belongs to a family that does \
            not continue such a message.",
        why: "Anthropic refuses it from Claude 4.6 on: \"This model does not support assistant message prefill. \
            The conversation must end with a user message.\" Each try with the same history is refused again.",
        example: r#"{"model": "claude-opus-4-7", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}"#,
        what_to_do: "Drop the message, or let the user say what is to be done next. Where it was meant to steer \
            the reply, give an output schema or say it in the instructions.",
        limits: "Judged by a dated table of model families in a request that is about to be sent: a model \
            that is not listed is never reported, and a recording that ends with the model's answer is sound. A \
            message with a call that the provider runs may be continued (`pause_turn`).",
    },
    offers: &[Offer::unsafe_("drop-item"), Offer::manual("edit")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    if session.contract.may_go_on() {
        return;
    }
    let model = session.model.as_deref().unwrap_or_default();
    let Some(family) = family_of(model).filter(|family| !family.continues_assistant) else {
        return;
    };
    let Some(last) = session.items.len().checked_sub(1) else {
        return;
    };
    let turn = session.turns.get(session.items[last].turn as usize);
    let Some(turn) = turn.filter(|turn| turn.speaker == Speaker::Model) else {
        return;
    };
    let is_paused = session.items[turn.items()]
        .iter()
        .any(|item| matches!(item.kind, Kind::HostedCall | Kind::HostedOutput));
    if session.items[last].kind == Kind::Assistant && !is_paused {
        findings.push(
            Finding::new(&RULE, last)
                .fact("model", family.name)
                .fact("source", family.source)
                .fact("seen", family.seen),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};

    fn request(model: &str, last: &str) -> Fixture {
        fixture(&format!(
            r#"{{"model":"{model}","max_tokens":100,"system":"s","messages":[{{"role":"user","content":"hi"}},{last}]}}"#
        ))
    }

    const ANSWER: &str = r#"{"role":"assistant","content":"hello"}"#;

    #[test]
    fn a_model_that_continues_no_message_refuses_the_request() {
        request("claude-opus-4-7", ANSWER).expect(&RULE, &["#3"]);
        request("anthropic/claude-sonnet-4.6", ANSWER).expect(&RULE, &["#3"]);
        assert_eq!(
            request("claude-opus-5", ANSWER).finding(&RULE).message(),
            "the request ends on this message of the assistant: claude-opus-5 refuses that (CLIProxyAPI#5319, 2026-09-23)"
        );
    }

    #[test]
    fn a_chat_request_to_such_a_model_is_refused_as_well() {
        fixture(r#"{"model":"claude-opus-4-6","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"{","tool_calls":null}]}"#)
            .expect(&RULE, &["#2"]);
    }

    #[test]
    fn models_that_continue_it_and_unknown_models_are_not_reported() {
        for model in [
            "claude-haiku-4-5-20251001",
            "claude-opus-5-5",
            "gpt-5",
            "claude-3-opus-20240229",
        ] {
            request(model, ANSWER).expect(&RULE, &[]);
        }
    }

    #[test]
    fn what_ends_otherwise_is_sound() {
        request("claude-opus-4-7", r#"{"role":"user","content":"go on"}"#).expect(&RULE, &[]);
        // The provider's own call was paused and goes on.
        let paused = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"text","text":"I look"}]}"#;
        request("claude-opus-4-7", paused).expect(&RULE, &[]);
    }

    #[test]
    fn a_recording_that_ends_with_the_answer_is_sound() {
        fixture(
            r#"{"request":{"model":"claude-opus-4-7","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]},
            "response":{"type":"message","role":"assistant","model":"claude-opus-4-7","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}}"#,
        )
        .expect(&RULE, &[]);
        fixture(&format!(
            r#"[{{"role":"user","content":[{{"type":"text","text":"hi"}}]}},{ANSWER}]"#
        ))
        .expect(&RULE, &[]);
    }
}
