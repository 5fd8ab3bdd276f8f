//! refused: the model refused, or the provider withheld its reply.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind, Session};
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "refused",
    severity: Severity::Warning,
    summary: "the model refused, or the provider withheld the reply",
    message: "{what}[ ({reason})][: {text}]",
    page: RulePage {
        what: "The model declined to answer, or the provider's filter withheld the reply.",
        why: "The run ends without what it was for, and asking the same again usually gives the same.",
        example: "A message part of type refusal; stop_reason \"refusal\"; finish_reason \"content_filter\" or SAFETY.",
        what_to_do: "Accept a fallback, or retry with other words.",
        limits: "Seen by the provider's own marks. A polite no in plain text is not recognised. A refusal that \
            another message of the model follows at once, such as a fallback, is made up for.",
    },
    offers: &[
        Offer::unsafe_("fallback"),
        Offer::unsafe_("retry"),
        Offer::manual("edit"),
    ],
    scope: Scope::Session(check),
};

/// Stop reasons and who gave them. Chat, Responses, Bedrock; Anthropic; Gemini (`FinishReason`).
const REASONS: &[(&str, &str)] = &[
    ("refusal", MODEL),
    ("content_filter", PROVIDER),
    ("content_filtered", PROVIDER),
    ("guardrail_intervened", PROVIDER),
    ("SAFETY", PROVIDER),
    ("RECITATION", PROVIDER),
    ("BLOCKLIST", PROVIDER),
    ("PROHIBITED_CONTENT", PROVIDER),
    ("SPII", PROVIDER),
    ("IMAGE_SAFETY", PROVIDER),
];

const MODEL: &str = "the model refused";
const PROVIDER: &str = "the provider withheld the reply";

/// Whether another message of the model follows at once: the run got its final message all the same,
/// as by a fallback.
fn is_made_up_for(session: &Session, index: usize) -> bool {
    let refusal = &session.items[index];
    let mut later = session.items[index + 1..].iter();
    let next = later.find(|item| !matches!(item.kind, Kind::Reasoning | Kind::Notice));
    next.is_some_and(|next| {
        // Where a message holds its calls, its parts are items of one turn.
        let is_alone = next.facts().is_some_and(|facts| facts.calls_key.is_none());
        let is_apart = next.turn != refusal.turn || is_alone;
        is_apart && next.kind == Kind::Assistant && !next.flags.has(Flags::REFUSAL)
    })
}

/// One refusal for each turn: by the mark of a message, by the reason to stop, or both.
fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let mut turns: HashMap<u32, (usize, &str, &str)> = HashMap::new();
    for (index, item) in session.items.iter().enumerate() {
        if item.flags.has(Flags::REFUSAL) && !is_made_up_for(session, index) {
            turns.entry(item.turn).or_insert((index, MODEL, ""));
        }
    }
    for stop in &session.stops {
        let index = stop.item as usize;
        let reason = REASONS.iter().find(|(known, _)| *known == stop.reason);
        let (Some((reason, who)), Some(item)) = (reason, session.items.get(index)) else {
            continue;
        };
        turns.entry(item.turn).or_insert((index, who, "")).2 = reason;
    }
    let mut found = turns.into_values().collect::<Vec<_>>();
    found.sort_unstable_by_key(|(index, ..)| *index);
    for (index, who, reason) in found {
        let is_text = session.items[index].kind == Kind::Assistant;
        let text = if is_text {
            run.quote(index)
        } else {
            String::new()
        };
        findings.push(
            Finding::new(&RULE, index)
                .fact("what", who)
                .fact("reason", reason)
                .fact("text", text),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::fixture;

    #[test]
    fn a_refusal_part_is_quoted() {
        let story = fixture(
            r#"[{"type":"message","role":"user","content":"x"},
            {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I can't help with that."}]}]"#,
        );
        story.expect(&RULE, &["#2"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "the model refused: I can't help with that."
        );
    }

    #[test]
    fn a_stop_reason_and_its_text_are_one_refusal() {
        let story = fixture(
            r#"[{"role":"user","content":[{"type":"text","text":"x"}]},
            {"type":"message","role":"assistant","stop_reason":"refusal","content":[
                {"type":"text","text":"No."},{"type":"text","text":"Sorry."}]}]"#,
        );
        assert_eq!(
            story.finding(&RULE).message(),
            "the model refused (refusal): No."
        );
    }

    #[test]
    fn a_provider_filter_has_its_own_message() {
        let story = fixture(
            r#"{"request":{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]},
            "response":{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":""}}]}}"#,
        );
        assert_eq!(
            story.finding(&RULE).message(),
            "the provider withheld the reply (content_filter)"
        );
    }

    #[test]
    fn words_about_refusals_are_none() {
        fixture(
            r#"[{"role":"user","content":"write a refusal"},
            {"role":"assistant","content":"I can't help with that.","refusal":null},
            {"role":"assistant","content":null,"refusal":"","tool_calls":[
                {"id":"c","type":"function","function":{"name":"refusal","arguments":"{}"}}]}]"#,
        )
        .expect(&RULE, &[]);
        fixture(
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"content_filter"}]}"#,
        )
        .expect(&RULE, &[]);
    }
}
