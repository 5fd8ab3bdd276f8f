//! invalid-final-output: the final message does not satisfy the output schema.

use super::invalid_arguments::{violations_of, with_violations};
use super::malformed_arguments::known_defects;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::repair::first_error;
use crate::schema::Validator;
use crate::session::{Flags, Kind, Speaker};

pub(crate) static RULE: Rule = Rule {
    id: "invalid-final-output",
    severity: Severity::Error,
    summary: "the final message does not satisfy the output schema",
    message: "the final output[ is not JSON: {error}][ breaks its schema: {told}][; {defects}]",
    page: RulePage {
        what: "The run asks for a final output of a certain shape, and the model's last message does not have \
            it: no JSON, or JSON that breaks the schema.",
        why: "The SDK raises and the run is lost, although the work may be done.",
        example: "Asked for {\"amount_eur\": number}, answered: about ten euros.",
        what_to_do: "Retry with feedback that shows what is wrong, or accept a fallback, which is checked \
            against the schema.",
        limits: "Only where the recording holds the output schema, or --output-schema gives it, and only the \
            last reply, if nothing follows it. JSON inside a code fence is invalid: SDKs do not take the \
            fence off.",
    },
    offers: &[
        Offer::unsafe_("retry"),
        Offer::unsafe_("fallback"),
        Offer::manual("edit"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let Some(schema) = &run.session.contract.output_schema else {
        return;
    };
    let Some(FinalOutput {
        item,
        text: Some(text),
    }) = final_reply(run)
    else {
        return;
    };
    let finding = Finding::new(&RULE, item).fact("schema", schema.name.as_str());
    let value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(_) => {
            // Without an error of grammar it is JSON that is too deep or too large to be judged.
            if let Some(error) = first_error(&text) {
                let finding = finding.fact("error", error.to_string());
                findings.push(finding.fact("defects", known_defects(&text)));
            }
            return;
        }
    };
    // A schema that cannot be used, or a check that could take too long, says nothing about the output.
    if let Ok(validator) = Validator::compile_either(&schema.schema) {
        let violations = violations_of(&validator, &value);
        findings.extend((!violations.is_empty()).then(|| with_violations(finding, &violations)));
    }
}

/// The reply that ends a run.
pub(crate) struct FinalOutput {
    /// Its last message, or its last item if it has none.
    pub(crate) item: usize,
    /// Its text; `None` if it is empty or absent.
    pub(crate) text: Option<String>,
}

/// The last reply, if it ends the session: it calls no tool, was not refused, cut or broken off, and
/// nothing follows it.
pub(crate) fn final_reply(run: &Run<'_>) -> Option<FinalOutput> {
    let session = run.session;
    let last = session
        .turns
        .last()
        .filter(|turn| turn.speaker == Speaker::Model)?;
    let items = || {
        last.items()
            .filter_map(|index| Some((index, session.items.get(index)?)))
    };
    let goes_on = items().any(|(index, item)| {
        let is_open = !matches!(
            item.kind,
            Kind::Assistant | Kind::Reasoning | Kind::HostedCall | Kind::HostedOutput | Kind::Other
        );
        is_open || item.flags.has(Flags::REFUSAL) || run.is_cut(index)
    });
    let ended = session
        .stops
        .iter()
        .rev()
        .take_while(|stop| stop.item >= last.first);
    let finished = |reason: &str| {
        matches!(
            reason,
            "stop" | "end_turn" | "stop_sequence" | "STOP" | "completed"
        )
    };
    if goes_on || ended.into_iter().any(|stop| !finished(&stop.reason)) {
        return None;
    }
    let messages = items()
        .filter(|(_, item)| item.kind == Kind::Assistant)
        .collect::<Vec<_>>();
    let Some((item, message)) = messages.last() else {
        let item = (last.end as usize).checked_sub(1)?;
        return Some(FinalOutput { item, text: None });
    };
    // The blocks of one message; elsewhere each item is a message, and the
    // last one counts (openai-agents).
    let texts = match message.is_block() {
        true => messages.iter().map(|(index, _)| run.text(*index)).collect(),
        false => run.text(*item),
    };
    let text = Some(texts).filter(|text| !text.trim().is_empty());
    Some(FinalOutput { item: *item, text })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::json;

    fn answer(text: &str) -> Fixture {
        let messages = json!([{"role": "user", "content": "how much?"}, {"role": "assistant", "content": text}]);
        asked(&messages.to_string())
    }

    fn asked(text: &str) -> Fixture {
        fixture(text).output_schema(json!({"type": "object", "required": ["amount"],
            "properties": {"amount": {"type": "number"}}}))
    }

    #[test]
    fn every_violation_is_reported() {
        let finding = answer(r#"{"amount": "ten", "reason": 1}"#).finding(&RULE);
        assert_eq!(finding.pointer.as_deref(), Some("/amount"));
        assert!(
            finding
                .message()
                .starts_with("the final output breaks its schema: /amount: ")
        );
        answer("{}").expect(&RULE, &["#2"]);
        answer("[]").expect(&RULE, &["#2"]);
    }

    #[test]
    fn words_are_no_json_and_a_code_fence_is_still_invalid() {
        answer("About ten euros.").expect(&RULE, &["#2"]);
        let finding = answer("```json\n{\"amount\": 10}\n```").finding(&RULE);
        let message = finding.message();
        assert!(
            message.starts_with("the final output is not JSON: "),
            "{message}"
        );
        assert!(message.ends_with("; inside a code fence"), "{message}");
    }

    #[test]
    fn a_valid_output_and_a_run_without_schema_are_fine() {
        answer(" {\"amount\": 10}\n").expect(&RULE, &[]);
        fixture(r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ten"}]"#)
            .expect(&RULE, &[]);
    }

    #[test]
    fn a_run_that_goes_on_has_no_final_output_yet() {
        let call = r#"{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        asked(&format!("[{call}]")).expect(&RULE, &[]);
        asked(&format!(
            r#"[{call},{{"role":"tool","tool_call_id":"c","content":"10"}}]"#
        ))
        .expect(&RULE, &[]);
        asked(r#"[{"role":"assistant","content":"Which one?"},{"role":"user","content":"The first."}]"#)
            .expect(&RULE, &[]);
    }

    #[test]
    fn refusals_and_cut_replies_are_left_to_other_rules() {
        asked(r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"refusal":"No."}]"#)
            .expect_all(&["refused #2"]);
        asked(
            r#"{"request":{"model":"m","input":[{"role":"user","content":"x"}]},"response":{"object":"response",
                "status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[
                {"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"{\"am"}]}]}}"#,
        )
        .expect_all(&["truncated-response #2"]);
    }

    #[test]
    fn the_last_message_of_a_reply_counts() {
        asked(
            r#"[{"type":"message","role":"user","content":"x"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I think of ten."}]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"amount\":10}"}]}]"#,
        )
        .expect(&RULE, &[]);
    }
}
