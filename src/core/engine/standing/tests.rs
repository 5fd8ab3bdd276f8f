//! How requests stand, in each dialect.

use super::*;
use crate::formats::{Sample, read_buffer, recognise};
use crate::rules::{Run, check};
use crate::session::ledger::{Ask, Ledger, LedgerEvent, ReplySummary};
use crate::session::{Session, Source};
use std::sync::Arc;

fn read(text: &str) -> Session {
    let bytes = text.as_bytes();
    let format = recognise(&Sample::new(bytes, true)).expect("no format claims it");
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    let mut contents = read_buffer(format, &source, bytes).unwrap();
    contents.sessions.remove(0)
}

fn stand(text: &str, ledger: &Ledger) -> RunStatus {
    let session = read(text);
    let findings = check(&mut Run::new(&session, None)).unwrap();
    run_status(&session, &findings, ledger, TakeId(1), &[TakeId(1)]).unwrap()
}

/// A request of Chat Completions that offers `pay`, with these messages after the user's.
fn chat(messages: &str) -> String {
    format!(
        r#"{{"model":"m","tools":[{{"type":"function","function":{{"name":"pay","parameters":{{"type":"object","properties":{{"eur":{{"type":"number"}}}},"required":["eur"]}}}}}}],
        "messages":[{{"role":"user","content":"go"}}{messages}]}}"#
    )
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    format!(
        r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

fn reply(calls: &[String]) -> String {
    let calls = calls.join(",");
    format!(r#",{{"role":"assistant","content":null,"tool_calls":[{calls}]}}"#)
}

const PAID: &str = r#",{"role":"tool","tool_call_id":"a","content":"paid"}"#;

fn told(standing: &RunStatus) -> Vec<(&'static str, Option<&str>)> {
    let faults = standing.faults.iter();
    faults
        .map(|fault| {
            (
                fault.rule,
                fault.call.as_ref().map(|call| call.call_id.as_str()),
            )
        })
        .collect()
}

#[test]
fn a_request_stands_with_what_its_provider_would_refuse_wherever_it_is() {
    let orphans = chat(&format!(
        r#"{}{},{{"role":"user","content":"well?"}},{{"role":"tool","tool_call_id":"x","content":"1"}},{{"role":"user","content":"go on"}}"#,
        reply(&[call("a", "pay", "{}"), call("b", "pya", "{")]),
        PAID,
    ));
    let session = read(&orphans);
    let findings = check(&mut Run::new(&session, None)).unwrap();
    let take = TakeId(1);
    let standing = request_status(&session, &findings, &Ledger::default(), take, &[take]).unwrap();
    // Arguments and names that only the agent minds are not among them.
    assert_eq!(
        told(&standing),
        [("orphan-call", Some("b")), ("orphan-output", Some("x"))]
    );
    assert_eq!(standing.tail, Tail::AsksModel);
}

#[test]
fn a_message_of_the_user_asks_the_model() {
    let standing = stand(&chat(""), &Ledger::default());
    assert_eq!((standing.turns, standing.tail), (0, Tail::AsksModel));
    assert_eq!(standing.items, [(0, Kind::User)]);
    assert_eq!(told(&standing), []);
}

#[test]
fn open_calls_are_no_faults_and_bad_ones_are() {
    let text = chat(&reply(&[
        call("a", "pay", r#"{"eur":1}"#),
        call("b", "pai", "{}"),
        call("c", "pay", r#"{"eur":"#),
    ]));
    let standing = stand(&text, &Ledger::default());
    assert_eq!((standing.turns, standing.tail), (1, Tail::OpenCalls));
    assert!(
        standing
            .calls
            .iter()
            .all(|call| call.is_open && call.ran == ExecutionStatus::No)
    );
    assert_eq!(standing.calls[0].arguments, r#"{"eur":1}"#);
    let expected = [
        ("unknown-tool", Some("b")),
        ("malformed-arguments", Some("c")),
    ];
    assert_eq!(told(&standing), expected);
    assert_eq!(standing.faults[0].tool.as_deref(), Some("pai"));
}

#[test]
fn a_reply_whose_calls_are_answered_asks_the_model_and_an_answer_settles_its_faults() {
    let one = call("a", "pai", "{}");
    let standing = stand(
        &chat(&(reply(std::slice::from_ref(&one)) + PAID)),
        &Ledger::default(),
    );
    assert_eq!((standing.turns, standing.tail), (1, Tail::AsksModel));
    assert_eq!(told(&standing), []);
    let both = [one, call("b", "pay", r#"{"eur":1}"#)];
    let standing = stand(&chat(&(reply(&both) + PAID)), &Ledger::default());
    assert_eq!(standing.tail, Tail::OpenCalls);
    let open = standing.calls.iter().map(|call| call.is_open);
    assert_eq!(open.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_reply_without_calls_is_final() {
    let done = r#",{"role":"assistant","content":"done"}"#;
    let standing = stand(&chat(done), &Ledger::default());
    assert_eq!(standing.tail, Tail::Final { item: Some(1) });
    let one = reply(&[call("a", "pay", r#"{"eur":1}"#)]);
    let standing = stand(&chat(&(one + PAID + done)), &Ledger::default());
    assert_eq!(
        (standing.turns, standing.tail),
        (2, Tail::Final { item: Some(3) })
    );
}

#[test]
fn the_other_dialects_stand_alike() {
    let anthropic = r#"{"model":"m","max_tokens":9,"tools":[{"name":"pay","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"text","text":"I pay"},{"type":"tool_use","id":"a","name":"pay","input":{"eur":1}},{"type":"tool_use","id":"b","name":"pai","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"paid"}]}]}"#;
    let responses = r#"{"model":"m","tools":[{"type":"function","name":"pay","parameters":{"type":"object"}}],"input":[{"role":"user","content":"go"},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I pay"}]},
        {"type":"function_call","call_id":"a","name":"pay","arguments":"{\"eur\":1}"},
        {"type":"function_call","call_id":"b","name":"pai","arguments":"{}"},
        {"type":"function_call_output","call_id":"a","output":"paid"}]}"#;
    for text in [anthropic, responses] {
        let standing = stand(text, &Ledger::default());
        assert_eq!(
            (standing.turns, standing.tail),
            (1, Tail::OpenCalls),
            "{text}"
        );
        let calls = standing.calls.iter();
        let calls = calls.map(|call| {
            (
                call.key.call_id.as_str(),
                call.is_open,
                call.arguments.as_str(),
            )
        });
        let expected = [("a", false, r#"{"eur":1}"#), ("b", true, "{}")];
        assert_eq!(calls.collect::<Vec<_>>(), expected, "{text}");
        let unknown = ("unknown-tool", Some("b"));
        assert!(told(&standing).contains(&unknown), "{:?}", standing.faults);
        let open = told(&standing);
        assert!(
            !open.iter().any(|(rule, _)| OF_OPEN.contains(rule)),
            "{open:?}"
        );
    }
}

const OF_OPEN: &[&str] = &["orphan-call", "pending-call", "turn-limit"];

#[test]
fn the_ledger_says_what_ran_with_these_arguments() {
    let mut ledger = Ledger::default();
    let (ask, take) = (Ask(4), TakeId(1));
    let arguments = r#"{"eur":1}"#;
    let digest = LedgerEvent::digest("pay", arguments);
    let key = CallKey {
        ask,
        call_id: "a".to_owned(),
    };
    for event in [
        LedgerEvent::Asked {
            ask,
            take,
            attempt: 1,
        },
        LedgerEvent::Replied {
            ask,
            take,
            reply: ReplySummary {
                calls: vec!["a".to_owned()],
                ended: true,
                ..ReplySummary::default()
            },
        },
        LedgerEvent::Started {
            call: key.clone(),
            take,
            tool: "pay".to_owned(),
            arguments: digest,
            attempt: 1,
        },
    ] {
        ledger.apply(&event);
    }
    let same = stand(&chat(&reply(&[call("a", "pay", arguments)])), &ledger);
    assert_eq!(
        (&same.calls[0].key, &same.calls[0].ran),
        (&key, &ExecutionStatus::MayHave)
    );
    let other = stand(&chat(&reply(&[call("a", "pay", r#"{"eur":2}"#)])), &ledger);
    assert_eq!(other.calls[0].ran, ExecutionStatus::No);
}

#[test]
fn a_standing_is_written_and_read_as_it_is() {
    let standing = stand(&chat(&reply(&[call("b", "pai", "{}")])), &Ledger::default());
    let text = serde_json::to_string(&standing).unwrap();
    assert_eq!(serde_json::from_str::<RunStatus>(&text).unwrap(), standing);
    let invented = text.replace("unknown-tool", "no-such-rule");
    assert!(serde_json::from_str::<RunStatus>(&invented).is_err());
}
