//! Requests that their provider has refused: what it says is decoded to the item that it means, which is mended and sent again.

use super::operator::mends;
use super::speech::{Agent, GOOD, calls_in, http, list, output, spoken, turn, ways};
use super::stage::{PATIENCE, Stage, upstream};
use crate::proxy_wire::fake::{Fake, reply};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use serde_json::{Value, json};
use std::io::Write;

/// An agent whose history is in order, as far as the rules know: so many calls, each with its output.
fn orderly(way: (Dialect, bool), count: usize) -> Agent {
    let mut agent = Agent::new(way);
    for number in 0..count {
        let id = format!("call_{number}_0123456789");
        let call = (id.as_str(), GOOD.1, GOOD.2);
        let said = spoken(way.0, &turn(&number.to_string(), "I look.", &[call]));
        agent.history.extend(said);
        agent.history.push(output(way.0, &id, "9 degrees"));
    }
    agent.says("Well?");
    agent
}

/// What a provider says of a call without an output.
fn complaint(dialect: Dialect, id: &str) -> String {
    match dialect {
        Dialect::Responses => format!("No tool output found for function call {id}."),
        Dialect::Anthropic => format!(
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        ),
        _ => format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {id}"
        ),
    }
}

/// A refusal as it goes over the wire.
fn refused(dialect: Dialect, says: &str, param: &str) -> Vec<u8> {
    let error = json!({"type": "invalid_request_error", "message": says});
    let body = match dialect {
        Dialect::Anthropic => json!({"type": "error", "error": error}),
        _ => {
            json!({"error": {"type": "invalid_request_error", "message": says, "param": param, "code": null}})
        }
    };
    let lines = "content-type: application/json\r\n";
    reply("400 Bad Request", lines, &body.to_string())
}

/// The ids of the calls of a request.
fn call_ids(dialect: Dialect, request: &Value) -> Vec<String> {
    let history = request[list(dialect)].as_array().unwrap();
    let calls = calls_in(dialect, history);
    calls.into_iter().map(|(id, _)| id).collect()
}

#[test]
fn a17_a_refusal_is_decoded_to_its_item_repaired_by_a_policy_and_sent_again() {
    for way in ways() {
        let mut agent = orderly(way, 2);
        let says = complaint(way.0, "call_1_0123456789");
        let replies = vec![
            refused(way.0, &says, list(way.0)),
            http(way.0, way.1, &turn("9", "It is warm.", &[])),
        ];
        let stage = Stage::by(upstream(replies), "[on.orphan-call]\ndo = \"drop\"\n");
        stage.turn(&mut agent);
        let asked = stage.asked();
        assert_eq!(asked.len(), 2, "{way:?}");
        assert_eq!(
            call_ids(way.0, &asked[1]),
            ["call_0_0123456789"],
            "{way:?}: {:#}",
            asked[1]
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        assert_eq!(stage.decided(), ["drop-pair"]);
        assert_eq!(stage.found(), ["orphan-call"]);
        let found = stage.over(1).found;
        assert_eq!((found.len(), found[0].rule), (1, "orphan-call"));
        assert_eq!(found[0].tool.as_deref(), Some("search"));
        assert!(found[0].message.contains(&says), "{}", found[0].message);
    }
}

#[test]
fn a_refusal_and_the_reply_to_the_mended_request_are_recorded_as_two_replies() {
    for way in ways() {
        let mut agent = orderly(way, 2);
        let says = complaint(way.0, "call_1_0123456789");
        let replies = vec![
            refused(way.0, &says, list(way.0)),
            http(way.0, way.1, &turn("9", "It is warm.", &[])),
        ];
        let mut stage = Stage::by(upstream(replies), "[on.orphan-call]\ndo = \"drop\"\n");
        let lines = "Idempotency-Key: k-1\r\nContent-Digest: sha-256=:AA==:\r\nContent-MD5: AA==\r\nX-Mine: 1\r\n";
        let got = stage.send(&agent, lines).receive(PATIENCE);
        agent.reads(&got);
        stage.over(1);
        drop(stage.proxy.take());
        let journal = std::fs::read_to_string(stage.folder.path().join("proxy.jsonl")).unwrap();
        let lines = journal.lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut entries = lines.map(|line| line["entry"].clone());
        let entry = entries.find(|entry| entry["type"] == "exchange").unwrap();
        assert_eq!(entry["response"]["error"]["message"], says, "{entry:#}");
        assert_eq!(entry["response_text"], Value::Null);
        assert_eq!(entry["stream"], Value::Null);
        let told = entry["told"].to_string();
        assert!(told.contains("It is warm."), "{way:?}: {entry:#}");
        // What was about the agent's own request alone does not go with another one.
        let sent = stage.upstream.requests();
        for name in ["idempotency-key", "content-digest", "content-md5"] {
            assert!(sent[0].header(name).is_some(), "{name}");
            assert_eq!(sent[1].header(name), None, "{name}");
        }
        assert_eq!(sent[1].header("x-mine"), Some("1"));
    }
}

#[test]
fn a17_an_operator_sees_a_refusal_at_the_item_that_it_means_and_mends_it() {
    for way in ways() {
        let agent = orderly(way, 2);
        // Only a place is named: the second call.
        let at = agent
            .history
            .iter()
            .rposition(|one| !calls_in(way.0, std::slice::from_ref(one)).is_empty());
        let at = at.unwrap();
        let (says, param) = match way.0 {
            Dialect::Responses => (
                "Invalid 'input[AT].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                format!("input[{at}].name"),
            ),
            Dialect::Anthropic => (
                "messages.AT.content.1.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
                String::new(),
            ),
            _ => (
                "Invalid 'messages[AT].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                format!("messages[{at}].tool_calls[0].function.name"),
            ),
        };
        let says = says.replace("AT", &at.to_string());
        let replies = vec![
            refused(way.0, &says, &param),
            http(way.0, way.1, &turn("9", "It is warm.", &[])),
        ];
        let stage = Stage::attended(upstream(replies));
        let mut client = stage.send(&agent, "");
        let seen = stage.until(1, "told why", |seen| {
            format!("{:?}", seen.phase).contains("invalid-tool-name")
        });
        assert_eq!(seen.status, Some(400));
        let found = mends(&stage, 1, "invalid-tool-name", "drop-pair");
        assert!(found.message().contains(&says), "{found:?}");
        let got = client.receive(PATIENCE);
        assert_eq!(got.status, Some(200), "{}", got.text());
        let asked = stage.asked();
        assert_eq!(asked.len(), 2);
        assert_eq!(call_ids(way.0, &asked[1]), ["call_0_0123456789"], "{way:?}");
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
    }
}

#[test]
fn a17_what_the_rules_see_is_told_in_their_words() {
    let way = (Dialect::Chat, false);
    let mut agent = orderly(way, 1);
    agent.history.remove(2);
    let replies = vec![
        refused(way.0, &complaint(way.0, "call_0_0123456789"), "messages"),
        http(way.0, way.1, &turn("9", "It is warm.", &[])),
    ];
    let stage = Stage::new(upstream(replies), |options| {
        options.holds_requests = false;
        options.has_operator = true;
    });
    let mut client = stage.send(&agent, "");
    stage.until(1, "told why", |seen| {
        format!("{:?}", seen.phase).contains("search was called and never answered")
    });
    mends(&stage, 1, "orphan-call", "inject-error");
    assert_eq!(client.receive(PATIENCE).status, Some(200));
    assert_eq!(stage.found(), ["orphan-call"]);
    // It is seen with the exchange, too.
    let found = stage.over(1).found;
    assert_eq!((found.len(), found[0].rule), (1, "orphan-call"));
}

#[test]
fn a17_what_is_refused_again_and_again_goes_to_the_agent() {
    for way in ways() {
        let provider = Fake::start(move |arrived, stream| {
            let request = serde_json::from_slice(&arrived.body).unwrap();
            let first = call_ids(way.0, &request).remove(0);
            let refused = refused(way.0, &complaint(way.0, &first), list(way.0));
            stream.write_all(&refused).is_ok()
        });
        let stage = Stage::by(provider, "[on.orphan-call]\ndo = \"drop\"\n");
        let got = stage.ask(&orderly(way, 9));
        assert_eq!(got.status, Some(400), "{}", got.text());
        // The agent's own request, and five repairs of it.
        assert_eq!(stage.upstream.requests().len(), 6);
        let by = "the provider has refused it 6 times".to_owned();
        assert_eq!(stage.ending(1), ExchangeEnding::Released { by });
    }
}
