//! Breakpoints as stories: what stops a run, and how it is written.

use super::*;
use crate::engine::{RunFault, Tail};
use crate::rules::Severity;
use crate::session::ledger::{Ask, CallKey, ExecutionStatus};
use crate::session::takes::TakeId;

fn call(item: u32, tool: &str, arguments: &str) -> RunCall {
    RunCall {
        item,
        key: CallKey {
            ask: Ask(1),
            call_id: format!("call_{item}"),
        },
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        is_open: true,
        ran: ExecutionStatus::No,
    }
}

/// The third reply: a reasoning, two searches, and a payment that was answered.
fn standing() -> RunStatus {
    let paid = RunCall {
        is_open: false,
        ..call(7, "pay", r#"{"amount":900}"#)
    };
    RunStatus {
        take: TakeId::default(),
        turn: 7,
        turns: 3,
        tail: Tail::OpenCalls,
        items: vec![
            (4, Kind::Reasoning),
            (5, Kind::Call),
            (6, Kind::Call),
            (7, Kind::Call),
        ],
        calls: vec![
            call(5, "web.search_flights", r#"{"amount":50}"#),
            call(6, "Search_Hotels", r#"{"amount":150,"city":"Oslo"}"#),
            paid,
        ],
        faults: vec![RunFault {
            rule: "repeated-call",
            severity: Severity::Warning,
            item: Some(6),
            call: None,
            tool: None,
            message: String::new(),
        }],
    }
}

/// The items at which a breakpoint stops.
fn stops(text: &str) -> Vec<Option<u32>> {
    let breakpoint = Breakpoint::parse(1, text).unwrap();
    let found = hits(&[breakpoint], &standing(), &mut BreakpointCache::default());
    found.into_iter().map(|hit| hit.item).collect()
}

#[test]
fn a_run_stops_at_calls_items_findings_and_replies() {
    assert_eq!(stops("tool search_*"), [Some(5), Some(6)], "in any case");
    assert_eq!(stops("tool web.*"), [Some(5)]);
    assert_eq!(stops("tool Search_*"), [Some(6)]);
    assert_eq!(stops("kind call"), [Some(5), Some(6), Some(7)]);
    assert_eq!(stops("kind reasoning"), [Some(4)]);
    assert_eq!(stops("rule repeated-call"), [Some(6)]);
    assert_eq!(stops("rule unknown-tool"), []);
    assert_eq!(stops("arg .amount > 100"), [Some(6)]);
    assert_eq!(stops(r#"arg .city | test("^O")"#), [Some(6)]);
    assert_eq!(stops("turn 7"), [None]);
    assert_eq!(stops("turn 3"), [], "replies are not counted");
}

#[test]
fn what_was_answered_is_not_stopped_at() {
    assert_eq!(stops("tool pay"), []);
    assert_eq!(stops("arg .amount == 900"), []);
}

#[test]
fn several_breakpoints_tell_their_numbers_and_one_that_is_off_says_nothing() {
    let off = Breakpoint {
        is_enabled: false,
        ..Breakpoint::parse(2, "turn 7").unwrap()
    };
    let all = [
        Breakpoint::parse(1, "rule repeated-call").unwrap(),
        off,
        Breakpoint::parse(9, "turn 7").unwrap(),
    ];
    let item = |number, item| BreakpointHit { number, item };
    assert_eq!(
        hits(&all, &standing(), &mut BreakpointCache::default()),
        [item(1, Some(6)), item(9, None)]
    );
}

#[test]
fn a_breakpoint_is_written_as_it_was_read() {
    for text in [
        "tool search_*",
        "kind hosted-call",
        "rule unknown-tool",
        "arg .amount > 100",
        "turn 5",
        "once tool pay",
        "once arg .a  ==  \"two  spaces\"",
    ] {
        let read = Breakpoint::parse(4, text).unwrap();
        assert_eq!(read.to_string(), text);
        assert_eq!(read.is_one_shot, text.starts_with("once "));
        let saved = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Breakpoint>(&saved).unwrap(), read);
    }
    let loose = Breakpoint::parse(1, "  once \t kind  Hosted Call ").unwrap();
    assert_eq!(loose.to_string(), "once kind hosted-call");
}

#[test]
fn what_is_no_breakpoint_says_what_is() {
    let told = |text: &str| Breakpoint::parse(1, text).unwrap_err().to_string();
    let texts = [
        "",
        "once",
        "once turn",
        "tol pay",
        "tool",
        "kind cal",
        "rule unknown-tol",
        "rule qqq",
        "arg .amount >",
        "arg repeat(.)",
        "arg .a | frobnicate",
        "turn 0",
        "turn soon",
    ];
    let all = texts
        .map(|text| format!("{text:20} {}", told(text)))
        .join("\n");
    insta::assert_snapshot!(all);
    assert!(told(&format!("tool {}", "x".repeat(3000))).contains("too long"));
}

#[test]
fn what_a_journal_brings_stops_nothing_where_it_is_broken() {
    let broken = Breakpoint {
        number: 1,
        on: BreakpointTarget::Argument("def f: f; f".to_owned()),
        is_one_shot: false,
        is_enabled: true,
    };
    let mut ready = BreakpointCache::default();
    assert_eq!(hits(&[broken], &standing(), &mut ready), []);
    assert_eq!(stops("arg .amount | error"), []);
}

#[test]
fn each_place_is_told_with_an_example_that_is_one() {
    for (word, example, what) in PLACES {
        let read = BreakpointTarget::parse(&format!("{word} {example}")).unwrap();
        assert_eq!(read.to_string(), format!("{word} {example}"));
        assert!(!what.is_empty());
    }
}
