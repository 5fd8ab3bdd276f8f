//! Requests that are held before they leave, or that their provider refused.

use super::*;
use retake_core::engine::{ModelFault, RunCommand};

/// A call that nobody answered, after which the user goes on.
const ORPHAN: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"},
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]},
{"role":"user","content":"well?"},{"role":"assistant","content":"hm"},{"role":"user","content":"go on"}]}"#;

/// A request that ends on a call.
const OPEN: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"},
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}]}"#;

/// Two outputs that answer nothing.
const OUTPUTS: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"},
{"role":"tool","tool_call_id":"x","content":"1"},{"role":"user","content":"and?"},{"role":"tool","tool_call_id":"y","content":"2"},{"role":"user","content":"go on"}]}"#;

fn refusal() -> ModelFault {
    ModelFault {
        status: Some(400),
        why: format!("400 Bad Request: no ({KEY})"),
        is_recoverable: true,
        retry_after_ms: None,
        was_streaming: false,
    }
}

#[test]
fn a_sound_request_passes_and_is_not_judged_for_what_a_provider_takes() {
    let theatre = Theatre::new(attended(""));
    let odd = REQUEST.replace("\"role\":\"user\",\"content\":\"go\"", r#""role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"serch","arguments":"{"}}]},{"role":"tool","tool_call_id":"a","content":"Error: no""#);
    for (id, request) in [(1, REQUEST), (2, odd.as_str())] {
        let held = theatre.start(theatre.order(
            id,
            "http://127.0.0.1:9",
            request,
            UpstreamResult::Nothing,
        ));
        assert_eq!(held.outcome(), released("operator"), "{request}");
    }
}

#[test]
fn orphans_hold_a_request_wherever_they_stand_and_its_repair_goes_to_the_provider() {
    for (request, rule, action) in [
        (ORPHAN, "orphan-call", "inject-error"),
        (OPEN, "orphan-call", "inject-error"),
        (OUTPUTS, "orphan-output", "output-to-text"),
    ] {
        let theatre = Theatre::new(attended(""));
        let held =
            theatre.start(theatre.order(1, "http://127.0.0.1:9", request, UpstreamResult::Nothing));
        let why = held.paused();
        assert!(why.starts_with(rule), "{why}");
        let mut sitting = theatre.sit(&held);
        let count = why.matches(rule).count();
        for _ in 0..count {
            sitting.mend(rule, action, Some("nothing is known of it"));
        }
        let outcome = held.outcome();
        assert!(matches!(outcome, HoldOutcome::Request(_)), "{outcome:?}");
        let take = take_of(&outcome);
        let expected = if rule == "orphan-call" {
            "nothing is known"
        } else {
            "1"
        };
        assert!(take.contains(expected), "{take}");
        assert_eq!(theatre.decided().len(), count);
    }
}

#[test]
fn a_policy_repairs_every_orphan_of_a_request() {
    let policy = "[on.orphan-output]\ndo = \"drop\"\n[on.orphan-call]\ndo = \"inject\"\n";
    for request in [ORPHAN, OPEN, OUTPUTS] {
        let theatre = Theatre::new(alone(policy));
        let held =
            theatre.start(theatre.order(1, "http://127.0.0.1:9", request, UpstreamResult::Nothing));
        let take = take_of(&held.outcome());
        assert!(!take.contains("\"x\"") && !take.contains("\"y\""), "{take}");
    }
}

#[test]
fn a_refused_request_waits_for_its_repair_or_is_released() {
    let theatre = Theatre::new(attended(""));
    let url = "http://127.0.0.1:9";
    let held = theatre.start(theatre.order(1, url, REQUEST, UpstreamResult::Refusal(refusal())));
    let why = held.paused();
    assert!(
        why.contains("400 Bad Request") && !why.contains(KEY),
        "{why}"
    );
    let mut sitting = theatre.sit(&held);
    sitting.handle(RunInput::Operator(RunCommand::Release));
    assert_eq!(held.outcome(), released("operator"));
    // What is wrong with it is told instead, and mended.
    let held = theatre.start(theatre.order(2, url, ORPHAN, UpstreamResult::Refusal(refusal())));
    assert!(held.paused().starts_with("orphan-call"));
    let mut sitting = theatre.sit(&held);
    sitting.mend("orphan-call", "inject-error", None);
    assert!(matches!(held.outcome(), HoldOutcome::Request(_)));
    // With nobody there the agent gets its refusal.
    let theatre = Theatre::new(alone(""));
    let held = theatre.start(theatre.order(3, url, REQUEST, UpstreamResult::Refusal(refusal())));
    assert!(matches!(held.outcome(), HoldOutcome::Release { .. }));
}
