//! What the operator decides about a live run: approvals, outputs, breakpoints, tools; and the events of it.

use super::desk::Desk;
use super::live_phases::{CALLED, SAID, approval, asking, call, paused, running};
use crate::tui::effect::LiveCommand;
use crate::tui::live::approval as heading;
use retake_core::engine::{Breakpoint, BreakpointTarget, Reason, RunCommand};
use retake_core::session::ledger::{CallFailure, CallOutcome, LedgerEvent};
use retake_core::session::takes::{Author, ContentDigest, TakeId};
use retake_live::live::{RunNews, ToolState};

#[test]
fn an_approval_is_read_to_its_end_before_it_is_given() {
    let long = format!("{{\"why\":[{}]}}", vec!["\"x\""; 60].join(","));
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(running(&[]))
        .tell(paused(&[approval("call_2", &long)]));
    desk.at(2250).press("y q esc A enter");
    assert!(desk.state.has_overlay(), "typed before it was seen");
    desk.at(2300).sees("G shows the rest").press("y A enter");
    assert!(desk.state.has_overlay() && desk.asked().is_empty());
    insta::assert_snapshot!("approval", desk.screen());
    // Drawing is what shows the end.
    desk.press("G").sees("y run it");
    desk.press("enter space");
    assert!(desk.asked().is_empty(), "there is no answer by itself");
    desk.press("y");
    let approved = |always| RunCommand::Approve {
        call: call("call_2"),
        always,
    };
    assert_eq!(desk.asked_engine(), [approved(false)]);
    desk.press("a").at(2700).screen();
    desk.press("G").sees("A always").press("A");
    assert_eq!(desk.asked_engine(), [approved(true)]);
}

#[test]
fn what_is_asked_each_time_is_not_approved_for_good() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    let mut each_time = approval("call_2", "{}");
    if let Reason::Approval { is_each_time, .. } = &mut each_time {
        *is_each_time = true;
    }
    desk.tell(running(&[])).tell(paused(&[each_time]));
    desk.at(3000).sees("y run it").misses("A always").press("A");
    assert!(desk.asked().is_empty() && desk.state.has_overlay());
    desk.press("y");
    assert_eq!(desk.asked().len(), 1);
}

#[test]
fn a_call_is_rejected_with_words_or_edited_or_left() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(running(&[]))
        .tell(paused(&[approval("call_2", "{}")]));
    desk.sees("runs python3 tools/refund.py")
        .at(3000)
        .press("esc");
    desk.sees("the call is still waiting: a opens the question again");
    assert_eq!(desk.state.item, 2);
    desk.press("i").sees("The operator rejected this call.");
    desk.press("^z")
        .press("`Ask first.` esc i")
        .sees("Ask first.");
    desk.press("^s");
    let words = "The operator rejected this call. Ask first.".to_owned();
    let rejected = RunCommand::Reject {
        call: call("call_2"),
        words,
    };
    assert_eq!(desk.asked_engine(), [rejected]);
    desk.press("a").at(4000).press("e").sees("edit: refund");
    desk.tell(asking());
    desk.press("esc").tell(paused(&[approval("call_2", "{}")]));
    desk.tell(asking()).sees("the open dialog was closed");
    assert!(!desk.state.has_overlay());
}

#[test]
fn a_dialog_about_arguments_that_have_changed_since_is_asked_anew() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(running(&[]))
        .tell(paused(&[approval("call_2", "{}")]));
    desk.at(3000).sees("y run it");
    desk.tell(paused(&[approval("call_2", "{\"amount\":9}")]));
    desk.sees("\"amount\": 9").press("y");
    assert!(desk.asked().is_empty(), "it has just come");
    desk.at(3400).press("y");
    assert_eq!(desk.asked().len(), 1);
}

#[test]
fn the_operator_is_the_tool() {
    let asks = Reason::AskOperator {
        call: call("call_2"),
        tool: "refund".to_owned(),
        arguments: r#"{"amount":120,"to":["card"]}"#.to_owned(),
        note: "no recorded output fits".to_owned(),
    };
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(running(&[])).tell(paused(&[asks]));
    desk.sees("paused: refund needs your result")
        .sees("o output");
    // The run waits for it wherever the cursor is.
    desk.go_to(1).press("o").sees("the output of refund");
    desk.press("esc");
    assert_eq!(desk.state.item, 2);
    desk.press("o `{\"ok\":true}`");
    insta::assert_snapshot!("supply", desk.screen());
    desk.press("^s");
    let supplied = |output: &str, is_error| RunCommand::Supply {
        call: call("call_2"),
        output: output.to_owned(),
        is_error,
    };
    assert_eq!(desk.asked_engine(), [supplied("{\"ok\":true}", false)]);
    desk.press("i ^s").sees("enter a text for the model");
    desk.press("`no card` ^s");
    assert_eq!(desk.asked_engine(), [supplied("no card", true)]);
    desk.press("c `half` ").tell(asking()).sees("was closed");
}

#[test]
fn a_tool_that_the_operator_answers_for_runs_nothing() {
    let lines = |runs| {
        let lines = heading::heading("refund", "call_2", runs);
        let words = lines.iter().flat_map(|line| &line.pieces);
        words.map(|(_, words)| words.as_plain()).collect::<String>()
    };
    let by_operator = lines(Some(heading::BY_OPERATOR));
    assert!(
        by_operator.contains("you answer in place of the tool"),
        "{by_operator}"
    );
    assert!(!by_operator.contains("runs"), "{by_operator}");
    assert!(lines(Some("refund.py")).contains("runs refund.py"));
}

#[test]
fn what_may_have_run_runs_again_only_when_that_is_confirmed() {
    let may = Reason::MayHaveRun {
        call: call("call_2"),
        tool: "refund".to_owned(),
    };
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(paused(&[may])).sees("refund may have run");
    desk.press("r");
    insta::assert_snapshot!("run_again", desk.screen());
    desk.press("enter n");
    assert!(desk.asked().is_empty());
    desk.press("r y");
    let again = RunCommand::RunAgain {
        call: call("call_2"),
    };
    assert_eq!(desk.asked_engine(), vec![again.clone()]);
    desk.misses("c continue").misses(". step");
    desk.press("enter")
        .sees("run the call again")
        .sees("inject error")
        .sees("supply output");
    desk.press("r y");
    assert_eq!(desk.asked_engine(), [again]);
    desk.press("enter i")
        .sees("reports an error: [yes]")
        .press("esc");
    desk.press("o ^s");
    assert!(matches!(
        &desk.asked_engine()[..],
        [RunCommand::Supply { .. }]
    ));
}

#[test]
fn other_pauses_are_left_by_their_keys() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(paused(&[Reason::Stepped])).press("c .");
    assert_eq!(
        desk.asked_engine(),
        [RunCommand::Continue, RunCommand::Step]
    );
    desk.tell(paused(&[Reason::TurnLimit { turns: 10 }]));
    // A turn is what the list counts; what is limited are replies, as in the header.
    desk.sees("all 10 replies are used")
        .misses("turns are used");
    desk.press("c")
        .sees("more replies 10")
        .press("^u `x` enter");
    desk.sees("enter a number from 1").press("^u `3` enter");
    assert_eq!(desk.asked_engine(), [RunCommand::MoreTurns(3)]);
    let why = "401: no key".to_owned();
    desk.tell(paused(&[Reason::Model { why }]));
    desk.sees("the request to the model failed: 401: no key")
        .press("c");
    assert_eq!(desk.asked_engine(), [RunCommand::Continue]);
    let why = format!(
        "400: {} (type: x, param: tools.0.name)",
        "wrong ".repeat(60)
    );
    desk.tell(paused(&[Reason::Model { why }]));
    desk.misses("tools.0.name").press("!").sees("tools.0.name");
    desk.press("esc y").sees("the error").press("esc");
    desk.tell(paused(&[Reason::NothingSaid])).press("o ^s");
    desk.press("`hello` ^s");
    assert_eq!(desk.asked(), [LiveCommand::Say("hello".to_owned())]);
}

#[test]
fn breakpoints_are_set_at_the_cursor_listed_and_written() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.go_to(3).press("b");
    insta::assert_snapshot!("places", desk.screen());
    desk.press("enter").sees("breakpoint 1: tool refund");
    desk.press("b o j j enter").sees("breakpoint 2: kind call");
    desk.press("b G enter")
        .sees("break arg .")
        .press("`amount > 100` enter");
    desk.press("B a `turn` enter").misses("breakpoint 4");
    desk.press("` 5` enter").press("k space");
    insta::assert_snapshot!("breakpoints", desk.screen());
    desk.press("g d");
    let sent = desk.asked().pop().unwrap();
    let LiveCommand::SetBreakpoints(sent) = sent else {
        panic!("{sent:?}");
    };
    let breakpoint = |number, on, is_one_shot, is_enabled| Breakpoint {
        number,
        on,
        is_one_shot,
        is_enabled,
    };
    let expected = [
        breakpoint(2, BreakpointTarget::Kind("call".to_owned()), true, true),
        breakpoint(
            3,
            BreakpointTarget::Argument(".amount > 100".to_owned()),
            false,
            false,
        ),
        breakpoint(4, BreakpointTarget::Turn(5), false, true),
    ];
    assert_eq!(sent, expected);
    desk.press("esc").tell(paused(&[Reason::Breakpoint {
        number: 2,
        what: "kind call".to_owned(),
        item: Some(1),
    }]));
    desk.sees("paused: breakpoint 2, kind call");
    assert_eq!(desk.state.live.breakpoints.len(), 2, "once is once");
}

#[test]
fn tools_of_the_run_are_listed_and_switched_on_again() {
    let tool = |tool: &str, errors, breaker| ToolState {
        tool: tool.to_owned(),
        calls: 4,
        errors: u64::from(errors),
        consecutive: errors,
        breaker,
        again_in_ms: None,
    };
    let mut desk = Desk::live(&[SAID, CALLED]);
    let tools = vec![
        tool("search_flights", 0, "closed"),
        tool("refund", 3, "open"),
    ];
    desk.tell(RunNews::Tools(tools)).press("H");
    insta::assert_snapshot!("tools", desk.screen());
    desk.press("e").sees("its breaker is closed").press("j e");
    let tool = "refund".to_owned();
    assert_eq!(desk.asked_engine(), [RunCommand::Enable { tool }]);
    desk.press("H").sees("Tool health");
}

#[test]
fn events_are_logged_with_their_times_and_the_newest_is_seen_first() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    let started = || LedgerEvent::Started {
        call: call("call_2"),
        take: TakeId(1),
        tool: "refund".to_owned(),
        arguments: ContentDigest::of(b""),
        attempt: 1,
    };
    desk.at(2500).tell(RunNews::Recorded(started()));
    desk.at(4750).tell(RunNews::Recorded(LedgerEvent::Finished {
        call: call("call_2"),
        take: TakeId(1),
        tool: "refund".to_owned(),
        arguments: ContentDigest::of(b""),
        attempt: 1,
        outcome: CallOutcome {
            ms: 2250,
            ..CallOutcome::failed(CallFailure::Timeout, "late".to_owned())
        },
    }));
    desk.tell(RunNews::Recorded(LedgerEvent::Decided {
        take: TakeId(1),
        call: Some(call("call_1")),
        rule: Some("unknown-tool".to_owned()),
        action: "inject-error".to_owned(),
        by: Author::Policy,
        wording: Some("nearest".to_owned()),
        proposed: None,
        effective: None,
    }));
    desk.tell(RunNews::Notice("the webhook did not answer".to_owned()));
    desk.sees("the webhook did not answer").press("L");
    insta::assert_snapshot!("events", desk.screen());
    desk.press("esc");
    for _ in 0..3000 {
        desk.state.live.hear(RunNews::Recorded(started()), 9000);
    }
    desk.press("L").sees("Events 2000").misses("the webhook");
    desk.press("g k G k").sees("started refund");
    assert_eq!(desk.state.live.log.len(), 2000);
}
