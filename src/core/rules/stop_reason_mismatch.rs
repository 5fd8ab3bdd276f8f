//! stop-reason-mismatch: what a reply says of its end contradicts what is in it.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::json::Cursor;
use crate::session::{Family, Flags, Item, Kind, Session, TurnStop};
use crate::wire::{body_of, usage_of};
use serde_json::Value;
use std::ops::Range;

pub(crate) static RULE: Rule = Rule {
    id: "stop-reason-mismatch",
    severity: Severity::Warning,
    summary: "the stop reason of a reply contradicts its content",
    message: "{fault}",
    page: RulePage {
        what: "A reply that ended with `end_turn` although it holds a call; one that ended for a call \
            (`tool_use`, `tool_calls`) and holds none; a call without arguments in a reply that cost far more \
            tokens than it shows; a stream that ended after its stop reason, without its end mark (`[DONE]`, \
            `message_stop`).",
        why: "Agents go by the stop reason: a call beside `end_turn` is never run, and a `tool_use` without a \
            call makes them wait or raise. It is how a gateway loses calls when it translates a stream.",
        example: "content: one tool_use with input {}, stop_reason: end_turn, output_tokens: 126.",
        what_to_do: "Ask again, without the gateway if there is one, and report it there with the stream. The \
            content is the part of the model's reply that came through.",
        limits: "Judged where the recording says why a reply ended. OpenAI itself says `stop` beside a call \
            that was forced, so in Chat only a missing call counts. Tokens are compared in Anthropic's replies \
            only, where the reply holds its thinking, and not in logs of Claude Code, which notes partial sums.",
    },
    offers: &[Offer::unsafe_("retry")],
    scope: Scope::Session(check),
};

/// What a call costs beside its arguments, in tokens: its name, its id and the words around it, generously.
const TOKENS_OF_CALL: u64 = 50;
/// The stop reasons of a reply that is complete.
const COMPLETE: &[&str] = &[
    "stop",
    "end_turn",
    "stop_sequence",
    "tool_use",
    "tool_calls",
    "function_call",
];
/// What any reply may cost beside what it shows.
const TOKENS_OF_REPLY: u64 = 60;

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    for stop in &session.stops {
        let Some(reply) = reply_of(session, stop.item as usize) else {
            continue;
        };
        let items = &session.items[reply.clone()];
        if items.iter().any(|item| item.flags.has(Flags::COMPACTED)) {
            continue;
        }
        let last = stop.item as usize;
        let contradiction = contradiction(stop, items)
            .map(|(item, fault)| (item.map_or(last, |item| reply.start + item), fault));
        let found = match (contradiction, lost_arguments(run, reply)) {
            (Some((item, fault)), Some((_, lost))) => Some((item, format!("{fault}; {lost}"))),
            (found, lost) => found.or(lost),
        };
        if let Some((item, fault)) = found {
            findings.push(Finding::new(&RULE, item).fact("fault", fault));
        }
    }
}

/// The items of the model in the reply that ends with an item.
fn reply_of(session: &Session, last: usize) -> Option<Range<usize>> {
    let turn = session.turns.get(session.items.get(last)?.turn as usize)?;
    Some(turn.items())
}

/// Whether it is spelled as by the provider whose stop reasons and token counts are known to fit the content.
fn signs_reasoning(item: &Item) -> bool {
    item.facts().is_some_and(|facts| facts.signs_reasoning)
}

/// A stop reason that the content contradicts, with the item that shows it.
fn contradiction(stop: &TurnStop, items: &[Item]) -> Option<(Option<usize>, String)> {
    let is_call = |item: &Item| {
        matches!(
            item.kind,
            Kind::Call | Kind::HostedCall | Kind::ApprovalRequest
        )
    };
    let is_unmarked = items
        .last()
        .map(|last| last.flags)
        .is_some_and(|flags| flags.has(Flags::INCOMPLETE) || flags.has(Flags::UNMARKED));
    match &*stop.reason {
        reason if is_unmarked && COMPLETE.contains(&reason) => {
            let fault = format!(
                "the stream ended without its end mark, after the reply was complete ({reason})"
            );
            Some((None, fault))
        }
        reason @ ("tool_use" | "tool_calls" | "function_call") if !items.iter().any(is_call) => {
            let fault = format!("the reply ended for a call ({reason}), and there is none in it");
            Some((None, fault))
        }
        reason @ "end_turn" => {
            let is_own = |item: &Item| item.kind == Kind::Call && signs_reasoning(item);
            let call = items.iter().position(is_own)?;
            let fault = format!(
                "the reply ended as if it were the last ({reason}), and there is a call in it"
            );
            Some((Some(call), fault))
        }
        _ => None,
    }
}

/// A call without arguments that cannot be all that the reply's tokens were spent on.
fn lost_arguments(run: &Run<'_>, reply: Range<usize>) -> Option<(usize, String)> {
    let session = run.session;
    let items = &session.items[reply.clone()];
    let is_plain = |item: &Item| item.kind == Kind::Call && item.family == Family::Function;
    let has_hidden = items
        .iter()
        .any(|item| item.kind == Kind::Reasoning || !signs_reasoning(item));
    if session.format == "claude-code" || has_hidden || !items.iter().any(is_plain) {
        return None;
    }
    let calls = items.iter().filter(|item| item.kind == Kind::Call).count() as u64;
    let (mut empty, mut shown) = (None, 0);
    for (index, item) in reply.clone().zip(items) {
        match item.kind {
            Kind::Call => {
                let body = body_of(item, &session.bytes(item).ok()?).ok()?;
                let arguments = body.arguments.json().unwrap_or_default();
                let is_empty = arguments.bytes().all(|byte| b"{} \t\r\n".contains(&byte));
                if is_empty && empty.is_none() && !takes_nothing(run, index) {
                    empty = Some(index);
                }
                shown += arguments.len() as u64;
            }
            Kind::Output => {}
            _ => shown += run.text(index).len() as u64,
        }
    }
    let empty = empty?;
    let spent = tokens_of(session, &items[0])?;
    // No token is shorter than two bytes for long.
    let explained = TOKENS_OF_REPLY + calls * TOKENS_OF_CALL + shown / 2;
    (spent > explained).then(|| {
        let tool = session.name(&session.items[empty]);
        let fault =
            format!("{tool} came without arguments, although the reply cost {spent} tokens");
        (empty, fault)
    })
}

/// Whether the tool of a call is known to need no arguments.
fn takes_nothing(run: &Run<'_>, call: usize) -> bool {
    let name = run.session.name(&run.session.items[call]);
    let offered = run.offered(call);
    let tool = offered
        .as_ref()
        .and_then(|offered| offered.tools().find(|tool| tool.name == name));
    tool.is_some_and(|tool| {
        let required = tool
            .parameters
            .as_ref()
            .and_then(|schema| schema.get("required"));
        required.and_then(Value::as_array).is_none_or(Vec::is_empty)
    })
}

/// The tokens of the reply that holds an item, where its record says so.
fn tokens_of(session: &Session, item: &Item) -> Option<u64> {
    let record = session.records.get(item.record as usize)?;
    let bytes = session.source.read(record.span).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let own = usage_of(text).output;
    if own > 0 {
        return Some(own);
    }
    let mut response = None;
    Cursor::new(&bytes)
        .object(|cursor, key| {
            if key == b"response" {
                response = Some(cursor.skip()?);
            }
            Ok(())
        })
        .ok()?;
    let within = usage_of(text.get(response?)?).output;
    (within > 0).then_some(within)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    fn anthropic(stop: &str, tokens: u64, content: Value) -> Fixture {
        let reply = json!({"type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop, "usage": {"input_tokens": 9, "output_tokens": tokens}});
        fixture(&reply.to_string())
    }

    fn call(input: Value) -> Value {
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": input})
    }

    fn chat(stop: &str, message: Value) -> Fixture {
        let exchange = json!({"request": {"model": "m", "messages": [{"role": "user", "content": "go"}]},
            "response": {"choices": [{"index": 0, "finish_reason": stop, "message": message}]}});
        fixture(&exchange.to_string())
    }

    #[test]
    fn a_call_beside_the_end_of_the_turn() {
        let story = anthropic(
            "end_turn",
            30,
            json!([{"type": "text", "text": "I look"}, call(json!({"path": "a"}))]),
        );
        story.expect(&RULE, &["toolu_1"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "the reply ended as if it were the last (end_turn), and there is a call in it"
        );
        anthropic("tool_use", 30, json!([call(json!({"path": "a"}))])).expect(&RULE, &[]);
    }

    #[test]
    fn no_call_where_the_reply_ended_for_one() {
        anthropic("tool_use", 30, json!([{"type": "text", "text": "hm"}])).expect(&RULE, &["#1"]);
        chat("tool_calls", json!({"role": "assistant", "content": "hm"})).expect(&RULE, &["#2"]);
        anthropic("end_turn", 30, json!([{"type": "text", "text": "hm"}])).expect(&RULE, &[]);
    }

    #[test]
    fn a_stream_that_is_complete_and_lacks_its_end_mark() {
        let events = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hm"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":8}}

"#;
        assert_eq!(
            fixture(events).finding(&RULE).message(),
            "the stream ended without its end mark, after the reply was complete (end_turn)"
        );
        let marked =
            format!("{events}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n");
        fixture(&marked).expect(&RULE, &[]);
    }

    #[test]
    fn a_captured_chat_stream_that_is_complete_and_lacks_its_done() {
        let chunk = |delta: &str, finish: &str| {
            format!(
                "data: {{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
            )
        };
        let text =
            chunk(r#"{"role":"assistant","content":"hm"}"#, "null") + &chunk("{}", "\"stop\"");
        assert_eq!(
            fixture(&text).finding(&RULE).message(),
            "the stream ended without its end mark, after the reply was complete (stop)"
        );
        fixture(&format!("{text}data: [DONE]\n\n")).expect(&RULE, &[]);
        // A list of chunks, as programs keep it, has no end mark.
        fixture(&text.replace("data: ", "")).expect(&RULE, &[]);
    }

    #[test]
    fn chat_says_stop_beside_a_forced_call() {
        let forced = json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "f", "arguments": "{}"}}]});
        chat("stop", forced).expect(&RULE, &[]);
    }

    #[test]
    fn arguments_that_were_paid_for_and_did_not_come() {
        let story = anthropic("tool_use", 126, json!([call(json!({}))]));
        assert_eq!(
            story.finding(&RULE).message(),
            "Read came without arguments, although the reply cost 126 tokens"
        );
        anthropic("tool_use", 40, json!([call(json!({}))])).expect(&RULE, &[]);
        let long = "word ".repeat(100);
        anthropic(
            "tool_use",
            126,
            json!([{"type": "text", "text": long}, call(json!({}))]),
        )
        .expect(&RULE, &[]);
        anthropic(
            "tool_use",
            900,
            json!([{"type": "thinking", "thinking": "", "signature": "c2ln"}, call(json!({}))]),
        )
        .expect(&RULE, &[]);
        let paid = anthropic("tool_use", 126, json!([call(json!({}))]));
        paid.tools(json!([{"name": "Read", "input_schema": {"type": "object", "properties": {}}}]))
            .expect(&RULE, &[]);
    }
}
