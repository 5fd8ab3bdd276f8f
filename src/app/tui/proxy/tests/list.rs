//! Stories of the list.

use super::*;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::style::Color;
use retake_core::engine::BreakpointTarget;
use retake_core::session::takes::Author;
use retake_live::proxy::ProxyCommand;

#[test]
fn an_empty_list_says_how_agents_are_pointed_at_the_proxy() {
    let mut board = board(0);
    insta::assert_snapshot!("empty", screen(&board, (100, 14)));
    insta::assert_snapshot!("empty_small", screen(&board, (60, 15)));
    board.hear(vec![news(exchange(1, ExchangePhase::Waiting))]);
    assert!(!screen(&board, (100, 14)).contains("OPENAI_BASE_URL"));
    press(&mut board, "c");
    assert!(screen(&board, (100, 14)).contains("OPENAI_BASE_URL"));
    let wishes = press(&mut board, "y");
    assert!(
        matches!(&wishes[..], [Effect::Copy(bytes)] if bytes.ends_with(b"127.0.0.1:4000\n")),
        "{wishes:?}"
    );
}

#[test]
fn a_busy_list_tells_what_each_exchange_is_doing() {
    let mut board = busy();
    insta::assert_snapshot!("busy", screen(&board, (170, 16)));
    press(&mut board, "g");
    insta::assert_snapshot!("busy_80", screen(&board, (80, 24)));
    insta::assert_snapshot!("busy_60", screen(&board, (60, 15)));
    assert!(screen(&board, (39, 10)).contains("too small"));
    assert!(screen(&board, (40, 10)).contains("held 4:32"));
}

#[test]
fn what_a_client_has_left_is_held_no_more() {
    let mut board = board(30);
    let mut left = held(5, Some(302));
    let ExchangePhase::Held(holding) = &mut left.phase else {
        panic!("{left:?}");
    };
    holding.is_gone = true;
    left.held_since_ms = Some(BEGAN);
    board.hear(vec![news(held(4, Some(302))), news(left)]);
    let shown = screen(&board, (170, 16));
    assert!(shown.contains("● 1 held"), "{shown}");
    let row = shown.lines().find(|line| line.contains("client left"));
    assert!(!row.unwrap().contains("30s"), "{shown}");
    for _ in 0..2 {
        press(&mut board, "}");
        assert_eq!(board.here(), Some(ExchangeId(4)));
    }
    press(&mut board, "G");
    let shown = screen(&board, (170, 16));
    assert!(
        shown.contains("the client left: nothing to decide"),
        "{shown}"
    );
    assert!(!shown.contains("a release"), "{shown}");
    assert!(press(&mut board, "a").is_empty());
}

#[test]
fn held_exchanges_count_down_and_stand_in_the_header_wherever_the_cursor_is() {
    let mut board = busy();
    for id in 10..60 {
        board.hear(vec![news(exchange(id, ExchangePhase::Replying))]);
    }
    let shown = screen(&board, (100, 14));
    assert!(
        shown.contains("● 2 held") && !shown.contains("held 4:32"),
        "{shown}"
    );
    assert!(
        shown.contains("} held"),
        "the footer names the key: {shown}"
    );
    press(&mut board, "}");
    assert_eq!(board.here(), Some(ExchangeId(4)));
    insta::assert_snapshot!("held", screen(&board, (100, 14)));
    board.set_now(BEGAN + 31_000);
    assert!(screen(&board, (100, 14)).contains("held 4:31"));
    press(&mut board, "}");
    let shown = screen(&board, (100, 14));
    assert!(
        shown.contains(" unknown-tool serch_flights (held, kept alive)"),
        "{shown}"
    );
    assert!(shown.contains("● held +2"), "{shown}");
    press(&mut board, "}");
    assert_eq!(board.here(), Some(ExchangeId(4)), "around the end");
    press(&mut board, "f `model:claude*` enter }");
    assert_eq!(board.here(), Some(ExchangeId(5)));
    press(&mut board, "esc f `status:404` enter }");
    assert_eq!(
        board.here(),
        Some(ExchangeId(4)),
        "the filter hid what is held"
    );
}

#[test]
fn what_is_held_is_released_one_by_one_or_all_together() {
    let mut board = busy();
    assert!(press(&mut board, "a").is_empty());
    assert!(screen(&board, (100, 14)).contains("exchange 9 is not held"));
    let released = [Effect::Proxy(ProxyCommand::Release(ExchangeId(4)))];
    assert_asks(press(&mut board, "} a"), &released);
    assert!(press(&mut board, "A").is_empty());
    assert!(screen(&board, (100, 14)).contains("Release all 2 held exchanges?"));
    assert_asks(
        press(&mut board, "y"),
        &[Effect::Proxy(ProxyCommand::ReleaseAll)],
    );
    let ending = ExchangeEnding::Released {
        by: "operator".to_owned(),
    };
    for id in [4, 5] {
        board.hear(vec![news(exchange(
            id,
            ExchangePhase::Ended(ending.clone()),
        ))]);
    }
    assert!(press(&mut board, "a A").is_empty());
    assert!(screen(&board, (100, 14)).contains("nothing is held"));
}

#[test]
fn a_connection_is_cut_only_after_a_question() {
    let mut board = busy();
    assert!(press(&mut board, "{ X").is_empty());
    assert!(screen(&board, (100, 14)).contains("Cut the connection of exchange 5?"));
    assert!(press(&mut board, "n").is_empty());
    let cut = [Effect::Proxy(ProxyCommand::Cut(ExchangeId(5)))];
    assert_asks(press(&mut board, "X y"), &cut);
    assert!(press(&mut board, "g X").is_empty());
    assert!(screen(&board, (100, 14)).contains("exchange 1 has ended"));
}

#[test]
fn a_finished_request_is_sent_again_only_after_a_question() {
    let mut board = busy();
    assert!(press(&mut board, "g r").is_empty());
    let shown = screen(&board, (120, 20));
    assert!(
        shown.contains("Send the request of exchange 1 again?"),
        "{shown}"
    );
    assert!(shown.contains("It asks gpt-5.2 at api.openai.com once more, which may cost money"));
    assert!(press(&mut board, "n").is_empty());
    let replay = [Effect::Proxy(ProxyCommand::Replay(ExchangeId(1)))];
    assert_asks(press(&mut board, "r y"), &replay);
    assert!(press(&mut board, "} r").is_empty());
    assert!(screen(&board, (100, 14)).contains("exchange 4 has not ended"));
    board.go_to(ExchangeId(7));
    assert!(press(&mut board, "r").is_empty());
    assert!(screen(&board, (100, 14)).contains("exchange 7 asks no model"));
}

#[test]
fn interception_is_switched_and_that_is_seen() {
    let mut board = busy();
    assert!(screen(&board, (100, 14)).contains("  intercepting"));
    let told = press(&mut board, "I");
    assert_asks(told, &[Effect::Proxy(ProxyCommand::Intercept(false))]);
    for width in [40, 60, 80, 100] {
        let shown = screen(&board, (width, 14));
        assert!(shown.contains("NOT INTERCEPTING"), "{shown}");
        assert!(shown.contains("2 held"), "{shown}");
    }
    assert_asks(
        press(&mut board, "I"),
        &[Effect::Proxy(ProxyCommand::Intercept(true))],
    );
}

#[test]
fn findings_texts_and_filters_lead_to_exchanges() {
    let mut board = busy();
    press(&mut board, "g ]");
    assert_eq!(board.here(), Some(ExchangeId(2)));
    press(&mut board, "] ]");
    assert_eq!(board.here(), Some(ExchangeId(5)));
    press(&mut board, "[");
    assert_eq!(board.here(), Some(ExchangeId(4)));
    press(&mut board, "/ `models` enter");
    assert_eq!(board.here(), Some(ExchangeId(7)));
    press(&mut board, "n");
    assert_eq!(board.here(), Some(ExchangeId(7)), "the only hit");
    press(&mut board, "/ `/anthropic-node \\d+/` enter");
    assert_eq!(board.here(), Some(ExchangeId(5)));
    press(&mut board, "/ `/(/`");
    assert!(
        screen(&board, (100, 14)).contains("at character"),
        "while it is typed"
    );
    press(&mut board, "esc");
    let shown = |board: &mut ExchangeBoard, filter: &str| {
        press(board, &format!("f ^u `{filter}` enter g"));
        let mut ids = Vec::new();
        for _ in 0..board.rows.len() {
            ids.extend(board.here().map(|id| id.0));
            press(board, "j");
        }
        ids
    };
    for (filter, expected) in [
        ("held", &[4, 5][..]),
        ("open", &[4, 5, 8, 9]),
        ("rule:unknown-* !held", &[2]),
        ("tool:serch*", &[2, 4, 5]),
        ("error", &[2, 4, 5]),
        ("client:anthropic*", &[5]),
        ("status:404", &[7]),
        ("state:fixed", &[2]),
        ("state:mended", &[2]),
        ("!finding !open", &[1, 3, 6, 7]),
        ("~anthrpc", &[5]),
        ("\"not intercepted\"", &[7]),
        ("", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ] {
        assert_eq!(shown(&mut board, filter), expected, "{filter}");
    }
    press(&mut board, "f `state:fixd` enter");
    let said = screen(&board, (140, 14));
    assert!(
        said.contains("unknown state `fixd`; it is one of: asking"),
        "{said}"
    );
    press(&mut board, "esc");
    press(&mut board, "f `model:` enter");
    assert!(screen(&board, (100, 14)).contains("`model:` needs a value"));
    press(&mut board, "esc f ^u `nowhere` enter");
    assert!(screen(&board, (100, 14)).contains("no matches; esc clears the filter"));
    press(&mut board, "esc");
    assert_eq!(board.rows.len(), 9);
}

#[test]
fn the_newest_exchange_is_followed_until_the_operator_moves_up() {
    let mut board = busy();
    assert_eq!(board.here(), Some(ExchangeId(9)));
    board.hear(vec![news(exchange(10, ExchangePhase::Waiting))]);
    assert_eq!(board.here(), Some(ExchangeId(10)));
    press(&mut board, "k");
    board.hear(vec![news(exchange(11, ExchangePhase::Waiting))]);
    assert_eq!(board.here(), Some(ExchangeId(9)));
    press(&mut board, "F");
    assert_eq!(board.here(), Some(ExchangeId(11)));
    press(&mut board, "k G");
    board.hear(vec![news(exchange(12, ExchangePhase::Waiting))]);
    assert_eq!(
        board.here(),
        Some(ExchangeId(12)),
        "at the end it follows again"
    );
}

#[test]
fn an_exchange_is_opened_by_enter_and_by_a_second_click() {
    let mut board = busy();
    let opened = [Effect::Enter(ExchangeId(9))];
    assert_asks(press(&mut board, "enter"), &opened);
    screen(&board, (100, 20));
    let click = |row| MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 5,
        row,
        modifiers: KeyModifiers::NONE,
    };
    assert!(board.mouse(click(6)).is_empty());
    assert_eq!(board.here(), Some(ExchangeId(4)));
    assert_asks(board.mouse(click(6)), &[Effect::Enter(ExchangeId(4))]);
}

#[test]
fn breakpoints_are_set_on_what_an_exchange_holds_and_hold_for_all() {
    let mut board = busy();
    press(&mut board, "} b");
    assert!(screen(&board, (100, 14)).contains("tool serch_flights"));
    let told = press(&mut board, "enter");
    let Some(Effect::Proxy(ProxyCommand::Breakpoints(set))) = told.first() else {
        panic!("{told:?}");
    };
    assert_eq!(
        set[0].on,
        BreakpointTarget::Tool("serch_flights".to_owned())
    );
    let told = press(&mut board, "B a `arg .n > 9` enter");
    assert!(
        matches!(&told[..], [Effect::Proxy(ProxyCommand::Breakpoints(set))] if set.len() == 2),
        "{told:?}"
    );
    let told = press(&mut board, "space");
    assert!(
        matches!(&told[..], [Effect::Proxy(ProxyCommand::Breakpoints(set))] if !set[1].is_enabled),
        "{told:?}"
    );
}

#[test]
fn an_error_that_the_agent_got_is_no_success() {
    let mut board = busy();
    board.hear(vec![news(ExchangeSummary {
        status: Some(502),
        ..exchange(1, ExchangePhase::Ended(ExchangeEnding::Passed))
    })]);
    press(&mut board, "g f `state:error` enter");
    for size in [(100, 14), (40, 10)] {
        let shown = screen(&board, size);
        assert!(shown.contains("▲ error 502"), "{shown}");
        assert!(!shown.contains("passed"), "{shown}");
    }
    let shown = screen(&board, (100, 14));
    assert!(shown.contains("the agent got the provider's error 502"));
    assert!(shown.contains("▲ error 404"), "{shown}");
}

#[test]
fn the_finding_that_holds_an_exchange_comes_first_and_the_others_are_counted() {
    let found = |rule, severity| ExchangeFinding {
        rule,
        severity,
        ..unknown_tool()
    };
    let mut board = board(30);
    board.hear(vec![news(ExchangeSummary {
        found: vec![
            found("repeated-call", Severity::Warning),
            found("orphan-output", Severity::Error),
            unknown_tool(),
        ],
        ..held(1, None)
    })]);
    let row = |size| {
        let shown = screen(&board, size);
        let row = shown.lines().find(|line| line.contains("/v1/"));
        row.unwrap_or_default().to_owned()
    };
    let narrow = row((60, 15));
    assert!(narrow.contains("● unknown-t… +2"), "{narrow}");
    let wide = row((220, 15));
    assert!(
        wide.contains("● unknown-tool  ● orphan-output  ▲ repeated-call "),
        "{wide}"
    );
    let warnings = ["tool-error", "repeated-call"].map(|rule| found(rule, Severity::Warning));
    board.hear(vec![news(ExchangeSummary {
        found: [&warnings[..], &[unknown_tool()]].concat(),
        ..exchange(1, ExchangePhase::Ended(ExchangeEnding::Passed))
    })]);
    let shown = screen(&board, (140, 15));
    assert!(shown.contains("● unknown-tool +2"), "{shown}");
    assert!(
        shown.contains(" unknown-tool  serch_flights is not"),
        "{shown}"
    );
}

#[test]
fn quitting_asks_only_where_something_would_be_lost() {
    let mut board = board(30);
    let ended = ExchangePhase::Ended(ExchangeEnding::Passed);
    board.hear(vec![news(exchange(1, ended))]);
    assert_asks(press(&mut board, "q"), &[Effect::Quit]);
    board.clients = 2;
    assert!(press(&mut board, "q").is_empty());
    let shown = screen(&board, (100, 14));
    assert!(shown.contains("2 clients are connected and would lose their model"));
    press(&mut board, "n");
    board.clients = 0;
    board.hear(vec![news(exchange(2, ExchangePhase::Replying))]);
    assert!(press(&mut board, "q").is_empty());
    let shown = screen(&board, (100, 14));
    assert!(shown.contains("1 exchange is in progress and would be cut off"));
}

#[test]
fn quitting_asks_where_calls_are_held_or_the_agent_runs() {
    let mut board = busy();
    assert!(press(&mut board, "q").is_empty());
    assert!(screen(&board, (100, 14)).contains("2 held exchanges would end"));
    assert_asks(press(&mut board, "y"), &[Effect::Quit]);
    let mut quiet = super::board(0);
    assert_asks(press(&mut quiet, "q"), &[Effect::Quit]);
    quiet.about.child = Some("python agent.py".to_owned());
    assert!(press(&mut quiet, "Q").is_empty());
    assert!(screen(&quiet, (100, 14)).contains("python agent.py is running and would be stopped"));
    press(&mut quiet, "esc");
    quiet.hear(vec![ProxyNews::AgentEnded(
        std::os::unix::process::ExitStatusExt::from_raw(0 << 8),
    )]);
    assert_asks(press(&mut quiet, "Q"), &[Effect::Quit]);
    press(&mut board, "^z");
    assert!(screen(&board, (100, 14)).contains("Suspend the proxy?"));
}

#[test]
fn the_agent_that_was_started_has_a_pane() {
    let mut board = busy();
    press(&mut board, "o");
    assert!(screen(&board, (100, 14)).contains("no agent was started"));
    board.about.child = Some("python agent.py".to_owned());
    let lines = (0..EVENTS_SAID).map(|number| ProxyNews::Output {
        text: format!("\u{1b}[1;32mline {number}\u{1b}[0m\u{1b}[2J"),
        is_error: false,
    });
    board.hear(lines.collect());
    press(&mut board, "o");
    insta::assert_snapshot!("child", screen(&board, (100, 20)));
    board.hear(vec![ProxyNews::AgentEnded(
        std::os::unix::process::ExitStatusExt::from_raw(3 << 8),
    )]);
    insta::assert_snapshot!("child_narrow", screen(&board, (60, 15)));
    assert_eq!(board.child.lines.len(), 2000);
    press(&mut board, "q");
    assert!(!screen(&board, (60, 15)).contains("line 2999"));
}

const EVENTS_SAID: u32 = 3000;

#[test]
fn what_is_decided_and_what_goes_wrong_stands_in_the_log() {
    let mut board = busy();
    board.hear(vec![
        ProxyNews::Decided {
            id: ExchangeId(4),
            rule: Some("unknown-tool".to_owned()),
            action: "inject-error".to_owned(),
            by: Author::Operator,
            wording: Some("nearest".to_owned()),
            text_sent: false,
        },
        news(exchange(4, ExchangePhase::Ended(ExchangeEnding::Mended))),
        ProxyNews::Notice("the journal cannot be written: disk full".to_owned()),
    ]);
    assert!(screen(&board, (100, 20)).contains("disk full"));
    press(&mut board, "L");
    insta::assert_snapshot!("log", screen(&board, (100, 20)));
}

#[test]
fn who_did_what_about_an_exchange_stays_in_its_footer() {
    let mut board = busy();
    board.hear(vec![
        ProxyNews::Decided {
            id: ExchangeId(4),
            rule: Some("unknown-tool".to_owned()),
            action: "inject-error".to_owned(),
            by: Author::Policy,
            wording: None,
            text_sent: false,
        },
        news(exchange(4, ExchangePhase::Ended(ExchangeEnding::Mended))),
    ]);
    board.go_to(ExchangeId(4));
    for keys in ["", "k j", "? esc"] {
        press(&mut board, keys);
        let shown = screen(&board, (200, 20));
        let words = "(the policy: inject-error for unknown-tool)";
        assert!(shown.contains(words), "{keys}\n{shown}");
    }
}

#[test]
fn an_upstream_whose_tls_is_not_verified_is_never_out_of_sight() {
    let mut board = busy();
    board.about.unverified = vec!["localhost:8443".to_owned()];
    for keys in ["", "o", "?", "esc L", "esc f"] {
        press(&mut board, keys);
        let shown = screen(&board, (60, 15));
        assert!(
            keys == "?" || shown.contains("TLS of localhost:8443 is NOT VERIFIED"),
            "{shown}"
        );
    }
}

#[test]
fn that_nothing_is_recorded_is_said_on_the_frame_and_hides_no_exchange() {
    let mut board = busy();
    let rows = |shown: &str| shown.lines().filter(|line| line.starts_with('│')).count();
    let before = rows(&screen(&board, (60, 15)));
    board.about.recording = None;
    let words = "the journal cannot be written: no space left on the device";
    board.hear(vec![ProxyNews::Notice(words.to_owned())]);
    let shown = screen(&board, (80, 15));
    assert!(shown.contains(words), "{shown}");
    assert_eq!(shown.matches("NOT RECORDING").count(), 1, "{shown}");
    press(&mut board, "k");
    let shown = screen(&board, (60, 15));
    assert_eq!(shown.matches("NOT RECORDING").count(), 1, "{shown}");
    assert_eq!(rows(&shown), before, "{shown}");
}

#[test]
fn everything_has_a_key_in_the_help_and_a_name_in_the_palette() {
    let mut board = busy();
    press(&mut board, "?");
    assert!(screen(&board, (120, 50)).contains("interception on or off"));
    press(&mut board, "esc : `interception` enter");
    assert!(!board.is_intercepting);
    press(&mut board, ": `to the top` enter");
    assert_eq!(board.here(), Some(ExchangeId(1)));
}

#[test]
fn without_colour_and_without_utf_8_everything_is_still_told() {
    let mut board = busy();
    press(&mut board, "}");
    let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
    let backend = drawn(&board, (120, 16), &theme);
    for cell in backend.buffer().content() {
        assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    insta::assert_snapshot!("ascii", backend);
}
