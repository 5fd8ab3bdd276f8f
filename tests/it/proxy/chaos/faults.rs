//! Each fault of each dialect, judged by the rules as recordings are: what its id promises is found, and nothing else.

use crate::proxy::speech::{Agent, Call, DIALECTS, GOOD, THEN, list, turn};
use proptest::prelude::*;
use retake_core::chaos::{
    ChaosFault, ChaosRequest, FAULTS, FaultKind, FaultyReply, NotHere, inject,
};
use retake_core::dice::Dice;
use retake_core::session::Dialect;
use retake_core::wire::write::{NewReply, history_of};
use retake_live::{Input, ReadOptions, check_recording, read_input};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const TEXTS: [&str; 3] = ["", "I look it up.", "One moment.\nHere it comes:"];

/// A request for a turn; with `asks` it says what the final output must look like.
fn asked(dialect: Dialect, asks: bool) -> Agent {
    // As a stream, for there is no fault that a stream has no room for.
    let mut agent = Agent::new((dialect, true));
    if asks {
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}}, "required": ["city", "degrees"]});
        agent.members = match dialect {
            Dialect::Responses => {
                json!({"text": {"format": {"type": "json_schema", "name": "a", "schema": schema}}})
            }
            Dialect::Converse => {
                json!({"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
                    "schema": schema.to_string(),
                }}}}})
            }
            Dialect::Gemini => json!({"generationConfig": {"responseJsonSchema": schema}}),
            Dialect::Anthropic => {
                json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}})
            }
            _ => {
                json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}})
            }
        };
    }
    agent
}

/// What the rules find in a request with a reply behind it: how often each.
fn found(agent: &Agent, reply: &str) -> BTreeMap<&'static str, usize> {
    let mut request: Value = serde_json::from_str(&agent.request()).unwrap();
    let elements = history_of(agent.dialect, reply).unwrap();
    let elements = elements
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).unwrap());
    let history = request[list(agent.dialect)].as_array_mut().unwrap();
    history.extend(elements);
    let text = Arc::new(request.to_string().into_bytes());
    let input = Input {
        buffer: Some(text.clone()),
        ..Input::of("request.json", text)
    };
    let recording = read_input(input, &ReadOptions::default()).unwrap();
    let findings = check_recording(&recording, None).unwrap();
    let mut counts = BTreeMap::new();
    for finding in findings.into_iter().flatten() {
        *counts.entry(finding.rule.id).or_default() += 1;
    }
    counts
}

fn injected(fault: &ChaosFault, agent: &Agent, reply: &str, seed: u64) -> Result<String, NotHere> {
    let mut request = ChaosRequest::read(agent.dialect, agent.request().as_bytes()).unwrap();
    // In some dialects the path has it.
    request.streams = agent.streams;
    let mut dice = Dice::new(seed, fault.id, &[]);
    match inject(fault, &request, Some(reply), None, &mut dice)? {
        FaultyReply::Changed(json) => Ok(json),
        other => panic!("{other:?}"),
    }
}

/// A reply that each fault fits: one that calls, or a final output.
fn fitting(fault: &ChaosFault, text: &str, calls: &[Call<'_>]) -> (bool, NewReply) {
    match fault.id {
        "empty-final-output" | "wrong-final-output" => {
            (true, turn("1", r#"{"city": "Oslo", "degrees": 3.5}"#, &[]))
        }
        _ => (false, turn("1", text, calls)),
    }
}

#[track_caller]
fn expect(fault: &ChaosFault, dialect: Dialect, seed: u64, text: &str, calls: &[Call<'_>]) {
    let (asks, reply) = fitting(fault, text, calls);
    let agent = asked(dialect, asks);
    let reply = reply.spell(dialect);
    let before = found(&agent, &reply);
    let told = injected(fault, &agent, &reply, seed)
        .unwrap_or_else(|why| panic!("{} in {dialect:?}: {why}", fault.id));
    let again = injected(fault, &agent, &reply, seed).unwrap();
    assert_eq!(told, again, "the same seed draws the same");
    let mut new = found(&agent, &told);
    for (rule, count) in before {
        let left = new.entry(rule).or_default();
        *left = left.saturating_sub(count);
    }
    new.retain(|rule, count| {
        // Another call waits for its output where a call is made twice.
        *count > 0
            && (!["pending-call", "orphan-call"].contains(rule) || fault.id != "duplicate-call-id")
    });
    let wanted = BTreeMap::from([(fault.rule.unwrap(), 1)]);
    let new: BTreeMap<_, _> = new.into_keys().map(|rule| (rule, 1)).collect();
    assert_eq!(new, wanted, "{} in {dialect:?}: {told}", fault.id);
}

/// Whether a stream of the dialect has room for it: some hold arguments as objects everywhere.
fn fits(fault: &ChaosFault, dialect: Dialect) -> bool {
    let breaks_json = matches!(fault.id, "malformed-arguments" | "cut-arguments");
    // Converse has the schema as a text, which is not read: no final output is expected.
    let is_final = fault.id.ends_with("-final-output");
    match dialect {
        Dialect::Converse => !is_final,
        _ => !(breaks_json && dialect.facts().streams_objects),
    }
}

fn changes() -> impl Iterator<Item = &'static ChaosFault> {
    FAULTS
        .iter()
        .filter(|fault| matches!(fault.kind, FaultKind::Change(_)))
}

#[test]
fn every_fault_of_every_dialect_is_found_as_what_it_is() {
    for fault in changes() {
        for dialect in DIALECTS {
            if !fits(fault, dialect) {
                continue;
            }
            for seed in 0..20 {
                expect(fault, dialect, seed, TEXTS[1], &[GOOD]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_drawn_nothing_else_is_found(
        seed: u64,
        fault in 0..9_usize,
        dialect in 0..3_usize,
        text in 0..3_usize,
        is_two: bool,
        city in "[ -~äé漢]{0,12}",
    ) {
        let fault = changes().nth(fault).unwrap();
        let arguments = json!({"city": city}).to_string();
        let calls = [("call_one_0123456789", "search", &*arguments), THEN];
        let calls = if is_two { &calls[..] } else { &calls[..1] };
        expect(fault, DIALECTS[dialect], seed, TEXTS[text], calls);
    }
}

#[test]
fn members_that_no_fault_is_about_stay() {
    for fault in changes() {
        for dialect in DIALECTS {
            if !fits(fault, dialect) {
                continue;
            }
            let (asks, reply) = fitting(fault, TEXTS[1], &[GOOD]);
            let mut reply: Value = serde_json::from_str(&reply.spell(dialect)).unwrap();
            reply["service_tier"] = json!("of_tomorrow");
            let told = injected(fault, &asked(dialect, asks), &reply.to_string(), 3).unwrap();
            let mut told: Value = serde_json::from_str(&told).unwrap();
            for key in [
                "output",
                "choices",
                "content",
                "stop_reason",
                "stopReason",
                "candidates",
            ] {
                for value in [&mut told, &mut reply] {
                    value.as_object_mut().unwrap().remove(key);
                }
            }
            assert_eq!(told, reply, "{} in {dialect:?}", fault.id);
        }
    }
}

#[test]
fn a_fault_does_not_fit_where_what_it_needs_is_not_there() {
    for dialect in DIALECTS {
        let calls = turn("1", "", &[GOOD]).spell(dialect);
        let says = turn("1", "It is warm in Rome.", &[]).spell(dialect);
        let broken = turn("1", "", &[("c", "search", "{\"city\"")]).spell(dialect);
        for fault in changes() {
            let of = |reply: &str| injected(fault, &asked(dialect, false), reply, 1).err();
            if !fits(fault, dialect) {
                let why = match dialect {
                    Dialect::Converse if fault.id == "empty-final-output" => NotHere::NotFinal,
                    Dialect::Converse => NotHere::NoOutputSchema,
                    _ => NotHere::HoldsObject,
                };
                assert_eq!(of(&calls), Some(why));
                continue;
            }
            let (on_calls, on_says, on_broken) = (of(&calls), of(&says), of(&broken));
            match fault.id {
                "empty-final-output" => {
                    assert_eq!((on_calls, on_says), (Some(NotHere::NotFinal), None));
                }
                "wrong-final-output" => {
                    assert_eq!(on_calls, Some(NotHere::NoOutputSchema));
                    assert_eq!(on_says, Some(NotHere::NoOutputSchema));
                }
                _ => assert_eq!(
                    (on_calls, on_says),
                    (None, Some(NotHere::NoCall)),
                    "{}",
                    fault.id
                ),
            }
            if fault.id.ends_with("-arguments") || fault.id == "schema-break" {
                assert_eq!(on_broken, Some(NotHere::BrokenAlready), "{}", fault.id);
            }
            assert_eq!(of("no JSON"), Some(NotHere::Unreadable));
        }
    }
}

#[test]
fn a_whole_reply_that_holds_arguments_as_an_object_has_no_broken_ones() {
    for dialect in DIALECTS {
        let reply = turn("1", "", &[GOOD]).spell(dialect);
        let mut agent = asked(dialect, false);
        agent.streams = false;
        for fault in ["malformed-arguments", "cut-arguments"] {
            let fault = retake_core::chaos::find(fault).unwrap();
            let holds_object = dialect.facts().object_arguments;
            let wanted = holds_object.then_some(NotHere::HoldsObject);
            assert_eq!(injected(fault, &agent, &reply, 1).err(), wanted);
        }
    }
}

#[test]
fn where_any_json_is_asked_for_the_wrong_output_is_prose() {
    let format = json!({"type": "json_object"});
    let fault = retake_core::chaos::find("wrong-final-output").unwrap();
    for (dialect, members) in [
        (Dialect::Chat, json!({"response_format": format})),
        (Dialect::Responses, json!({"text": {"format": format}})),
    ] {
        let mut agent = asked(dialect, false);
        agent.members = members;
        let reply = turn("1", r#"{"city": "Oslo"}"#, &[]);
        let reply = reply.spell(dialect);
        let told = injected(fault, &agent, &reply, 1).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let places = ["/choices/0/message/content", "/output/0/content/0/text"];
        let said = places.into_iter().find_map(|place| told.pointer(place));
        let said = said.and_then(Value::as_str).unwrap();
        assert!(!said.is_empty(), "{told}");
        assert!(serde_json::from_str::<Value>(said).is_err(), "{told}");
    }
}

#[test]
fn a_tool_whose_schema_allows_everything_cannot_be_broken() {
    let mut agent = asked(Dialect::Anthropic, false);
    agent.members = json!({"tools": [{"name": "search", "input_schema": {"type": "object"}}]});
    let reply = turn("1", "", &[GOOD]).spell(agent.dialect);
    let fault = retake_core::chaos::find("schema-break").unwrap();
    assert_eq!(injected(fault, &agent, &reply, 1), Err(NotHere::NoSchema));
}
