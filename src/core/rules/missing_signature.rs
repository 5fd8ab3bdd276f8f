//! missing-signature: thinking that the provider wants back as it was, without its signature
//! or without its text.

use super::malformed_message::first_unproven;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{Offer, Safety};
use crate::json::{Cursor, display_text};
use crate::session::{Dialect, Flags, Item, Kind, Session};
use crate::wire::models::family_of;
use crate::wire::{ShapeFault, body_of, shape_fault};

pub(crate) static RULE: Rule = Rule {
    id: "missing-signature",
    severity: Severity::Error,
    summary: "thinking without its signature, or without the text that was signed",
    message: "this {part} {fault}[; {note}]",
    page: RulePage {
        what: "A thinking block without a signature or with an empty one; as a warning, a block of the reply at \
            hand whose text is empty while its signature was kept.",
        why: "Anthropic takes thinking back only as it came: \"Invalid `signature` in `thinking` block\", \
            \"`thinking` blocks in the latest assistant message cannot be modified\". A log that lost its \
            signatures cannot be resumed.",
        example: r#"{"type": "thinking", "thinking": "hmm", "signature": ""}"#,
        what_to_do: "Drop the block: without its signature it is of no use to the model. Thinking of earlier \
            turns may always go; that of a turn whose calls are still being answered may be required, and then \
            the turn is requested again.",
        limits: "Judged for Anthropic's own models in requests and in the logs of Claude Code; other models \
            send thinking without signatures. In requests to Gemini 3 the first call of each reply since the \
            user spoke must have its thoughtSignature. Whether a signature is genuine only the provider can tell. From \
            Opus 4.7 on the provider itself sends an empty text unless a request asks for it: of such a model a \
            kept signature is enough.",
    },
    offers: &[Offer::safe("drop-item"), Offer::unsafe_("retry")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let is_log = session.format == "claude-code";
    let from = if is_log {
        Some(0)
    } else {
        first_unproven(session)
    };
    if run.target.facts().signs_calls && from.is_some() {
        check_calls(session, findings);
    }
    let Some(from) = from.filter(|_| run.target.facts().signs_reasoning) else {
        return;
    };
    let open = open_reply(session);
    for (index, item) in session.items.iter().enumerate().skip(from) {
        let is_sent = item.kind == Kind::Reasoning
            && item.facts().is_some_and(|facts| facts.signs_reasoning)
            && !item.flags.has(Flags::COMPACTED);
        if !is_sent || (!item.flags.has(Flags::MALFORMED) && index < open) {
            continue;
        }
        // Bytes that cannot be read have been reported by the item pass.
        let Ok(bytes) = session.bytes(item) else {
            continue;
        };
        let model = model_of(session, item);
        let is_foreign = model.as_deref().is_some_and(|model| {
            Dialect::of_model(model).is_none_or(|dialect| !dialect.facts().signs_reasoning)
        });
        let fault = fault_of(item, &bytes, model.as_deref()).filter(|_| !is_foreign);
        let Some((fault, severity)) = fault else {
            continue;
        };
        let is_proven_bad = session.contract.is_request || is_log;
        let mut finding = Finding::new(&RULE, index)
            .as_bad_as(severity)
            .warning_if(!is_proven_bad)
            .fact("part", "thinking")
            .fact("fault", fault);
        if index >= open {
            finding = finding
                .fact(
                    "note",
                    "its turn is not over, so the provider may ask for it",
                )
                .with_safety("drop-item", Safety::Unsafe);
        }
        findings.push(finding.in_branch_of(session));
    }
}

/// Gemini 3: of the replies that the user has not spoken after, the first call of each wants its signature back
/// (Gemini API, thought signatures).
fn check_calls(session: &Session, findings: &mut Vec<Finding>) {
    let is_signed = |item: &Item| {
        let bytes = session.bytes(item);
        bytes.is_ok_and(|bytes| item.codec().is_some_and(|codec| codec.is_signed(&bytes)))
    };
    let is_call = |item: &&Item| {
        item.kind == Kind::Call && item.facts().is_some_and(|facts| facts.signs_calls)
    };
    // A request does not name its model.
    let is_known = session
        .model
        .as_deref()
        .is_some_and(|model| model.contains("gemini-3"));
    if !is_known && !session.items.iter().filter(is_call).any(is_signed) {
        return;
    }
    let mut last = None;
    let from = open_reply(session);
    for (index, item) in session.items.iter().enumerate().skip(from) {
        if !is_call(&item) || last.replace(item.turn) == Some(item.turn) || is_signed(item) {
            continue;
        }
        let finding = Finding::new(&RULE, index)
            .warning_if(!session.contract.is_request)
            .fact("part", "call")
            .fact("fault", "has no signature")
            .with_safety("drop-item", Safety::Unsafe);
        findings.push(finding.in_branch_of(session));
    }
}

/// What is wrong with a block of thinking, and how bad that is.
fn fault_of(item: &Item, bytes: &[u8], model: Option<&str>) -> Option<(&'static str, Severity)> {
    if item.flags.has(Flags::MALFORMED) {
        let is_unsigned = shape_fault(item, bytes) == Some(ShapeFault::BlankSignature);
        return is_unsigned.then_some(("has no signature", Severity::Error));
    }
    let shows_thinking = family_of(model?).is_some_and(|family| family.shows_thinking);
    let is_thinking = memchr::memmem::find(bytes, b"redacted_thinking").is_none();
    let is_empty = body_of(item, bytes).is_ok_and(|body| body.text.trim().is_empty());
    (shows_thinking && is_thinking && is_empty).then_some((
        "has lost its text and kept its signature",
        Severity::Warning,
    ))
}

/// Where the replies begin that the user has not spoken after, apart from outputs, if they made a call.
fn open_reply(session: &Session) -> usize {
    let items = &session.items;
    let spoke = items.iter().rposition(|item| item.kind == Kind::User);
    let from = spoke.map_or(0, |spoke| spoke + 1);
    let has_call = items[from..].iter().any(|item| item.kind == Kind::Call);
    if has_call { from } else { items.len() }
}

/// The model that wrote an item: each line of a Claude Code log names its own.
fn model_of(session: &Session, item: &Item) -> Option<String> {
    if session.format != "claude-code" {
        return session.model.clone();
    }
    let record = session.records.get(item.record as usize)?;
    let bytes = session.source.read(record.span).ok()?;
    let mut model = None;
    Cursor::new(&bytes)
        .object(|cursor, key| {
            if key == b"message" && cursor.peek() == Some(b'{') {
                cursor.object(|cursor, key| {
                    if key == b"model" {
                        model = cursor.string()?.map(|raw| display_text(raw).into_owned());
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })
        .ok()?;
    model
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rules::fixture::{Fixture, fixture};

    fn request(model: &str, thinking: &str) -> Fixture {
        fixture(&format!(
            r#"{{"model":"{model}","max_tokens":10,"messages":[{{"role":"user","content":"x"}},
            {{"role":"assistant","content":[{thinking},{{"type":"text","text":"ok"}}]}},{{"role":"user","content":"go"}}]}}"#
        ))
    }

    /// A log of Claude Code: a question, thinking, a call and its output.
    fn log(model: &str, thinking: &str) -> Fixture {
        let line = |kind: &str, uuid: &str, parent: &str, message: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","isSidechain":false,"message":{message}}}"#
            )
        };
        let reply = |block: &str| {
            format!(
                r#"{{"id":"msg_1","type":"message","role":"assistant","model":"{model}","content":[{block}],"stop_reason":null}}"#
            )
        };
        let lines = [
            line("user", "a1", "null", r#"{"role":"user","content":"do it"}"#),
            line("assistant", "b2", r#""a1""#, &reply(thinking)),
            line(
                "assistant",
                "b3",
                r#""b2""#,
                &reply(
                    r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}"#,
                ),
            ),
            line(
                "user",
                "b4",
                r#""b3""#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}"#,
            ),
        ];
        fixture(&lines.join("\n"))
    }

    const UNSIGNED: &str = r#"{"type":"thinking","thinking":"hm"}"#;
    const BLANK: &str = r#"{"type":"thinking","thinking":"hm","signature":""}"#;
    const SIGNED: &str = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    const EMPTIED: &str = r#"{"type":"thinking","thinking":"","signature":"c2ln"}"#;

    #[test]
    fn thinking_without_a_signature_breaks_requests_and_logs() {
        for thinking in [UNSIGNED, BLANK] {
            request("claude-opus-4-8", thinking).expect(&RULE, &["#2"]);
            log("claude-opus-4-8", thinking).expect(&RULE, &["#2"]);
        }
        request("claude-opus-4-8", SIGNED).expect(&RULE, &[]);
        log("claude-opus-4-8", SIGNED).expect(&RULE, &[]);
        let finding = request("claude-opus-4-8", BLANK).finding(&RULE);
        assert_eq!(finding.message(), "this thinking has no signature");
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.offers[0], Offer::safe("drop-item"));
    }

    #[test]
    fn thinking_of_a_turn_that_goes_on_is_not_dropped_as_safe() {
        let finding = log("claude-opus-4-8", UNSIGNED).finding(&RULE);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.offers[0], Offer::unsafe_("drop-item"));
    }

    #[test]
    fn text_that_was_emptied_is_a_warning_where_the_model_shows_it() {
        let finding = log("claude-opus-4-6", EMPTIED).finding(&RULE);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding
                .message()
                .contains("has lost its text and kept its signature")
        );
        // From Opus 4.7 on the provider sends it so.
        log("claude-opus-4-8", EMPTIED).expect(&RULE, &[]);
        // Earlier turns are not sent back as they were.
        request("claude-opus-4-6", EMPTIED).expect(&RULE, &[]);
    }

    #[test]
    fn other_models_sign_nothing() {
        request("deepseek-reasoner", UNSIGNED).expect(&RULE, &[]);
        log("glm-4.6", UNSIGNED).expect(&RULE, &[]);
    }

    #[test]
    fn no_other_rule_says_the_same() {
        request("claude-opus-4-8", BLANK).expect_all(&["missing-signature #2"]);
    }

    #[test]
    fn the_first_call_of_an_open_reply_to_gemini_3_wants_its_signature() {
        let call = |signature: &str| {
            format!(r#"{{"functionCall":{{"name":"f","args":{{}}}}{signature}}}"#)
        };
        let answers =
            r#"{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}"#;
        let request = |first: &str, second: &str| {
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"go"}}]}},
                {{"role":"model","parts":[{first}]}},{answers},
                {{"role":"model","parts":[{second}]}},{answers}],"tools":[{{"functionDeclarations":[{{"name":"f"}}]}}]}}"#
            )
        };
        let (signed, bare) = (call(r#","thoughtSignature":"c2ln""#), call(""));
        let judged = |first: &str, second: &str| {
            fixture(&request(first, second)).target(crate::session::Dialect::Gemini)
        };
        judged(&signed, &bare).expect(&RULE, &["#4"]);
        judged(&signed, &signed).expect(&RULE, &[]);
        // Nothing tells that the model signs its calls.
        judged(&bare, &bare).expect(&RULE, &[]);
    }
}
