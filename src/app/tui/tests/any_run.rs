//! Any run, with any text and any keys: nothing of it is obeyed, nothing panics, no pause is lost.

use super::desk::Desk;
use super::hostile::{is_harmless, texts};
use super::live_phases::{
    CALLED, QUESTION, SAID, agent, approval, asking, call, fault, paused, streaming,
};
use crate::tui::effect::LiveCommand;
use crate::tui::live::approval::ApprovalForm;
use crate::tui::report::Report;
use crate::tui::state::live::AgentInfo;
use crate::tui::state::live::TrustRequest;
use crate::tui::tests::messages::Message;
use crate::tui::theme::{Glyphs, Theme, Variant};
use proptest::prelude::*;
use retake_core::engine::{Breakpoint, BreakpointTarget, Reason, RunCommand};
use retake_core::session::ledger::{CallKey, Ending, LedgerEvent};
use retake_core::session::takes::TakeId;
use retake_live::live::{Phase, RunNews, ToolState};

/// Every phase, dialog and list, one after the other, with this text wherever a run has text; `seen` looks at each.
fn everything(text: &str, size: (u16, u16), mut seen: impl FnMut(&Desk)) {
    let own = || text.to_owned();
    let named = |id: &str| CallKey {
        ask: QUESTION,
        call_id: format!("{id}{text}"),
    };
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.send(Message::Resize(size.0, size.1));
    let mut look = |desk: &mut Desk, keys: &str| {
        desk.press(keys);
        seen(desk);
    };
    desk.send(Message::Report(Report::Agent(Box::new(AgentInfo {
        model: own(),
        path: own(),
        tools: vec![(own(), own())],
        ..agent()
    }))));
    look(&mut desk, "");
    let mut streamed = streaming();
    streamed.text = own();
    streamed.reasoning = own();
    streamed.calls[0].name = own();
    streamed.calls[0].arguments = own();
    streamed.calls[0].call_id = own();
    desk.tell(asking()).tell(RunNews::Streaming(streamed));
    look(&mut desk, "");
    look(&mut desk, "2");
    look(&mut desk, "3 1");
    desk.tell(RunNews::Phase(Phase::Running {
        calls: vec![(named("a"), own()), (named("b"), own())],
    }));
    look(&mut desk, "");
    look(&mut desk, "X");
    look(&mut desk, "esc");
    desk.tell(RunNews::Phase(Phase::Waiting {
        why: own(),
        for_ms: 9000,
    }));
    look(&mut desk, "");
    for ending in [
        Ending::Raised { rule: own() },
        Ending::ModelFailed { why: own() },
        Ending::Unattended { why: own() },
    ] {
        desk.tell(RunNews::Recorded(LedgerEvent::Ended {
            take: TakeId(1),
            how: ending.clone(),
        }));
        desk.tell(RunNews::Phase(Phase::Ended(ending)));
        look(&mut desk, "");
    }
    desk.tell(asking());
    let reasons = [
        Reason::Approval {
            call: named("c"),
            tool: own(),
            arguments: own(),
            is_each_time: false,
        },
        Reason::AskOperator {
            call: named("d"),
            tool: own(),
            arguments: own(),
            note: own(),
        },
        Reason::MayHaveRun {
            call: named("e"),
            tool: own(),
        },
        Reason::Fault {
            rule: own(),
            item: None,
            message: own(),
        },
        Reason::Breakpoint {
            number: 1,
            what: own(),
            item: None,
        },
        Reason::Model { why: own() },
    ];
    for (reason, keys) in reasons.into_iter().zip(["G", "o", "r", "", "", ""]) {
        desk.tell(paused(&[reason]));
        look(&mut desk, "");
        look(&mut desk, keys);
        look(&mut desk, "esc");
        look(&mut desk, "i");
        look(&mut desk, "esc esc esc 1");
    }
    desk.send(Message::Report(Report::Trust(TrustRequest {
        agent: own(),
        why: own(),
        powers: vec![own(), own()],
    })));
    look(&mut desk, "");
    desk.at(9000);
    look(&mut desk, "n");
    desk.press("b");
    look(&mut desk, "");
    look(&mut desk, "esc B a");
    desk.send(Message::Paste(text.to_owned()));
    look(&mut desk, "");
    look(&mut desk, "enter");
    look(&mut desk, "esc esc");
    desk.state.live.breakpoints = vec![Breakpoint {
        number: 1,
        on: BreakpointTarget::Tool(own()),
        is_one_shot: true,
        is_enabled: true,
    }];
    look(&mut desk, "B");
    desk.tell(RunNews::Tools(vec![ToolState {
        tool: own(),
        calls: u64::MAX,
        errors: u64::MAX,
        consecutive: u32::MAX,
        breaker: "half-open",
        again_in_ms: None,
    }]));
    look(&mut desk, "esc H");
    for event in [
        LedgerEvent::Began {
            take: TakeId(1),
            agent: own(),
            file: String::new(),
            model: own(),
            scripted: true,
        },
        LedgerEvent::NotReplied {
            ask: QUESTION,
            attempt: 2,
            status: Some(429),
            why: own(),
            again_in_ms: Some(1),
        },
        LedgerEvent::ApprovedAlways { tool: own() },
        LedgerEvent::Paused {
            take: TakeId(1),
            why: own(),
        },
    ] {
        desk.tell(RunNews::Recorded(event));
    }
    desk.tell(RunNews::Notice(own()));
    look(&mut desk, "esc");
    desk.tell(RunNews::Notice(own()));
    look(&mut desk, "L G");
    look(&mut desk, "esc");
}

#[test]
fn hostile_text_of_a_run_is_shown_and_never_obeyed() {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    for batch in texts().chunks(80) {
        everything(&batch.join(" "), (120, 30), |desk| {
            let terminal = super::terminal(&desk.state, &theme);
            for cell in terminal.backend().buffer().content() {
                assert!(is_harmless(cell.symbol()), "{:?}: {batch:?}", cell.symbol());
            }
        });
    }
}

#[test]
fn everything_is_drawn_at_any_size_without_colour_and_utf_8() {
    let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
    let long = "a long word and 漢字 ".repeat(60);
    for size in [(40, 10), (60, 12), (80, 24), (160, 50), (10, 3)] {
        everything(&long, size, |desk| {
            let terminal = super::terminal(&desk.state, &theme);
            for cell in terminal.backend().buffer().content() {
                assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
                assert_eq!(cell.fg, ratatui::style::Color::Reset);
            }
        });
    }
}

#[test]
fn on_a_narrow_screen_the_pause_and_its_keys_are_seen() {
    let mut desk = Desk::live(&[SAID]);
    desk.send(Message::Resize(80, 24));
    desk.tell(asking())
        .grow(&[SAID, CALLED])
        .tell(paused(&[fault()]));
    desk.sees("paused: unknown-tool serch_flights")
        .sees("[scripted]");
    desk.sees("i inject").sees("? help");
    insta::assert_snapshot!("narrow", desk.screen());
    desk.send(Message::Resize(40, 10));
    desk.sees("paused").sees("[scripted]");
}

fn phase_of(number: u8) -> Phase {
    let reasons = match number % 12 {
        0 => return Phase::Idle,
        1 => {
            return Phase::Asking {
                ask: QUESTION,
                attempt: 1,
            };
        }
        2 => {
            return Phase::Running {
                calls: vec![(call("call_2"), "refund".to_owned())],
            };
        }
        3 => {
            return Phase::Waiting {
                why: "429".to_owned(),
                for_ms: 500,
            };
        }
        4 => return Phase::Ended(Ending::Final),
        5 => vec![fault(), approval("call_2", "{}")],
        6 | 7 => vec![approval("call_2", "{}")],
        8 => vec![approval("gone", "{}"), Reason::Stepped],
        9 => vec![Reason::AskOperator {
            call: call("call_2"),
            tool: "refund".to_owned(),
            arguments: "{}".to_owned(),
            note: String::new(),
        }],
        10 => vec![Reason::MayHaveRun {
            call: call("call_1"),
            tool: "pay".to_owned(),
        }],
        _ => vec![Reason::TurnLimit { turns: 3 }],
    };
    Phase::Paused { reasons }
}

const KEYS: &[&str] = &[
    "y", "A", "a", "c", ".", "p", "X", "i", "o", "r", "e", "esc", "n", "q", "enter", "G", "k", "F",
    "b", "B", "d", "H", "L", "^s", "space", "tab", "/", ":", "u", "s", "x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_news_and_no_keys_lose_a_pause(steps in prop::collection::vec((0u8..4, any::<u8>()), 1..60)) {
        let mut desk = Desk::live(&[SAID, CALLED]);
        let mut told = Phase::Idle;
        for (number, (what, which)) in steps.into_iter().enumerate() {
            let was_read = desk.state.layers.top::<ApprovalForm>().is_some();
            match what {
                0 => {
                    told = phase_of(which);
                    desk.tell(RunNews::Phase(told.clone()));
                }
                1 if which % 2 == 0 => {
                    desk.tell(RunNews::Streaming(streaming()));
                }
                1 => {
                    desk.grow(&[SAID, CALLED, SAID]);
                }
                _ => {
                    let key = KEYS[usize::from(which) % KEYS.len()];
                    desk.press(key);
                }
            }
            desk.at(2000 + 200 * number as u64);
            let screen = desk.screen();
            prop_assert_eq!(&desk.state.live.phase, &told);
            if !desk.state.has_overlay() && matches!(told, Phase::Paused { .. }) {
                prop_assert!(screen.lines().next().unwrap().contains("paused: "), "{}", screen);
            }
            for command in desk.asked() {
                if let LiveCommand::Engine(RunCommand::Approve { .. }) = command {
                    prop_assert!(was_read, "approved without a dialog");
                }
            }
        }
        let Phase::Paused { reasons } = &told else { return Ok(()) };
        desk.press("esc esc esc esc esc esc").at(99_000);
        if let [Reason::Approval { .. }] = &reasons[..] {
            desk.press("c").screen();
            desk.at(99_500).press("y");
            let asked = desk.asked();
            let is_approved = matches!(&asked[..], [LiveCommand::Engine(RunCommand::Approve { .. })]);
            prop_assert!(is_approved, "{:?}", asked);
        }
    }
}
