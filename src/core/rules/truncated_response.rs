//! truncated-response: the reply was cut off by a token limit, or its stream ended early.

use super::{Finding, OrphanCause, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind};

pub(crate) static RULE: Rule = Rule {
    id: "truncated-response",
    severity: Severity::Warning,
    summary: "a reply was cut off by the token limit",
    message: "the reply was cut off[ at the token limit ({reason})][; the arguments of {tool} are incomplete]",
    page: RulePage {
        what: "The provider stopped the reply because it had reached a token limit, or the stream ended before \
            the reply did.",
        why: "A call in it has half its arguments and looks like broken JSON, a text stops in the middle. No \
            wording helps: the model had no room.",
        example: "finish_reason \"length\", and arguments that end with {\"path\": \"src/ma",
        what_to_do: "Ask again with a higher limit, or for less at once.",
        limits: "Seen only where the recording says why a reply ended. Without that, cut arguments are \
            malformed-arguments.",
    },
    offers: &[
        Offer::unsafe_("raise-limit"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("inject-error"),
        Offer::unsafe_("drop-pair"),
        Offer::unsafe_("drop-item"),
        Offer::manual("edit"),
    ],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let stop_at = |index: usize| {
        let place = session
            .stops
            .partition_point(|stop| (stop.item as usize) < index);
        let here = session.stops.get(place);
        here.filter(|stop| stop.item as usize == index)
    };
    let mut last_turn = None;
    // From the end: what a limit cut is the last item of its reply.
    for (index, item) in session.items.iter().enumerate().rev() {
        let stop = stop_at(index);
        let is_other = stop.is_some_and(|stop| !stop.is_token_limit());
        // What a stream ended with is an error of the provider, which is a finding of its own.
        let next = session.items.get(index + 1);
        let is_refused =
            next.is_some_and(|next| next.kind == Kind::Notice && next.flags.has(Flags::ERROR));
        if !run.is_cut(index) || is_other || is_refused || last_turn == Some(item.turn) {
            continue;
        }
        last_turn = Some(item.turn);
        let is_broken = item.kind == Kind::Call
            && run
                .digests
                .get(index)
                .is_some_and(|digest| digest.is_malformed);
        let tool = if is_broken { session.name(item) } else { "" };
        findings.push(
            Finding::new(&RULE, index)
                .fact("reason", stop.map_or("", |stop| &stop.reason))
                .fact("tool", tool)
                .because(stop.map(|_| OrphanCause::TokenLimit))
                .offering(|offer| match offer.action {
                    "inject-error" | "drop-pair" => item.kind == Kind::Call,
                    "drop-item" => matches!(item.kind, Kind::Assistant | Kind::Reasoning),
                    _ => true,
                }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};

    fn reply(reason: &str, message: &str) -> Fixture {
        fixture(&format!(
            r#"{{"request":{{"model":"m","messages":[{{"role":"user","content":"go"}}],"tools":[{{"type":"function","function":{{"name":"save"}}}}]}},
            "response":{{"choices":[{{"finish_reason":"{reason}","message":{{"role":"assistant",{message}}}}}]}}}}"#
        ))
    }

    const CUT: &str = r#""tool_calls":[{"id":"call_1","type":"function","function":{"name":"save","arguments":"{\"pa"}}]"#;

    #[test]
    fn a_call_that_the_limit_cut_is_named() {
        let finding = reply("length", CUT).finding(&RULE);
        assert_eq!(
            finding.message(),
            "the reply was cut off at the token limit (length); the arguments of save are incomplete"
        );
        assert_eq!(finding.offers[0].action, "raise-limit");
    }

    #[test]
    fn a_text_that_the_limit_cut_is_found_too() {
        reply("length", r#""content":"and then the""#).expect(&RULE, &["#2"]);
        fixture(
            r#"[{"role":"user","content":[{"type":"text","text":"go"}]},
                {"type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"text","text":"and then the"},
                {"type":"tool_use","id":"toolu_1","name":"save","input":{}}]}]"#,
        )
        .expect(&RULE, &["toolu_1"]);
    }

    #[test]
    fn what_responses_repeats_is_reported_once() {
        fixture(
            r#"{"request":{"model":"m","input":[{"role":"user","content":"go"}]},
                "response":{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},
                "output":[{"type":"reasoning","id":"rs_1","summary":[],"status":"completed"},
                {"type":"function_call","call_id":"call_1","name":"save","arguments":"{\"pa","status":"incomplete"}]}}"#,
        )
        .expect(&RULE, &["call_1"]);
    }

    #[test]
    fn other_ends_are_no_truncation() {
        reply("tool_calls", CUT).expect(&RULE, &[]);
        reply("stop", r#""content":"the length of max_tokens""#).expect(&RULE, &[]);
        reply("content_filter", r#""content":"and then""#).expect(&RULE, &[]);
    }
}
