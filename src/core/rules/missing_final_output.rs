//! missing-final-output: the run requires a final output of a certain shape, and the last reply is empty.

use super::invalid_final_output::final_reply;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;

pub(crate) static RULE: Rule = Rule {
    id: "missing-final-output",
    severity: Severity::Warning,
    summary: "an output schema is set and the last reply is empty",
    message: "the last reply holds no text, but an output of the schema[ {schema}] is required",
    page: RulePage {
        what: "The run asks for a final output, and the model's last reply holds no text and no call: it is \
            empty, or reasoning only.",
        why: "openai-agents asks again without a word, so such a run mostly ends at its turn limit: this is the \
            real cause.",
        example: "A reply with a reasoning item and nothing else.",
        what_to_do: "Retry with a message that asks for the output, or accept a fallback.",
        limits: "Only where the output schema is known, and only the last reply, if nothing follows it. \
            Empty because of a limit is truncated-response, because of a refusal refused.",
    },
    offers: &[Offer::unsafe_("retry"), Offer::unsafe_("fallback")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let Some(schema) = &run.session.contract.output_schema else {
        return;
    };
    if let Some(reply) = final_reply(run).filter(|reply| reply.text.is_none()) {
        findings.push(Finding::new(&RULE, reply.item).fact("schema", schema.name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::json;

    fn asked(text: &str) -> Fixture {
        fixture(text).output_schema(json!({"type": "object"}))
    }

    #[test]
    fn an_empty_reply_is_missing_and_not_invalid() {
        asked(r#"[{"role":"user","content":"x"},{"role":"assistant","content":""}]"#)
            .expect_all(&["missing-final-output #2"]);
        asked(r#"[{"type":"message","role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[]}]"#)
            .expect(&RULE, &["#2"]);
    }

    #[test]
    fn a_pending_call_is_no_missing_output() {
        asked(r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#)
            .expect(&RULE, &[]);
        asked(
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}
            {"type":"function_call_output","call_id":"c","output":"10"}"#,
        )
        .expect(&RULE, &[]);
    }

    #[test]
    fn a_text_a_question_and_a_run_without_schema_are_fine() {
        asked(r#"[{"role":"user","content":"x"},{"role":"assistant","content":"{}"}]"#)
            .expect_all(&[]);
        asked(r#"[{"role":"assistant","content":"hi"},{"role":"user","content":"x"}]"#)
            .expect(&RULE, &[]);
        fixture(r#"[{"role":"user","content":"x"},{"role":"assistant","content":""}]"#)
            .expect(&RULE, &[]);
    }
}
