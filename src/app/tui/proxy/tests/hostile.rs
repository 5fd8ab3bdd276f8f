//! Hostile text wherever an exchange has text: none of it reaches a cell as it is, whatever the size.

use super::*;
use crate::tui::tests::hostile::{is_harmless, texts};
use retake_core::session::takes::Author;

/// A list with this text in every place.
fn everywhere(text: &str) -> ExchangeBoard {
    let own = || text.to_owned();
    let mut board = ExchangeBoard::new(ProxyInfo {
        upstreams: vec![own(), own()],
        unverified: vec![own()],
        connect: vec![own(), own()],
        recording: Some(text.into()),
        child: Some(own()),
        is_intercepting: true,
        breakpoints: Vec::new(),
    });
    let seen = |id, phase| ExchangeSummary {
        client: own(),
        method: own(),
        path: own(),
        model: own(),
        notes: vec![own()],
        found: vec![ExchangeFinding {
            tool: Some(own()),
            message: own(),
            ..unknown_tool()
        }],
        ..exchange(id, phase)
    };
    let holding = Holding {
        is_gone: false,
        has: retake_core::exchange::AgentHas::default(),
        is_request: true,
        since_ms: 0,
        until_ms: None,
        why: own(),
    };
    let ends = [
        ExchangeEnding::Released { by: own() },
        ExchangeEnding::Refused { why: own() },
        ExchangeEnding::NoReply { why: own() },
    ];
    let mut told = vec![
        ProxyNews::Listening {
            base: String::new(),
            address: ([127, 0, 0, 1], 4000).into(),
            upstream: own(),
        },
        ProxyNews::Output {
            text: own(),
            is_error: false,
        },
        ProxyNews::Decided {
            id: ExchangeId(1),
            rule: Some(own()),
            action: own(),
            by: Author::Policy,
            wording: Some(own()),
            text_sent: false,
        },
        news(seen(1, ExchangePhase::Held(holding))),
        ProxyNews::Notice(own()),
    ];
    for (number, ending) in (2..).zip(ends) {
        told.push(news(seen(number, ExchangePhase::Ended(ending))));
        told.push(news(ExchangeSummary {
            found: Vec::new(),
            ..seen(number + 10, ExchangePhase::Asking)
        }));
    }
    board.hear(told);
    board
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    // Several texts at once: a screen shows the beginning of each place's text, and each text is at the beginning of one.
    for text in texts() {
        let mut board = everywhere(&text);
        for (keys, size) in [
            ("g", (190, 16)),
            ("o", (60, 12)),
            ("L", (100, 14)),
            ("esc b", (60, 12)),
        ] {
            press(&mut board, keys);
            let backend = drawn(&board, size, &theme);
            for cell in backend.buffer().content() {
                let symbol = cell.symbol();
                assert!(is_harmless(symbol), "{symbol:?} after {keys:?}: {text:?}");
            }
        }
        let empty = ExchangeBoard::new(ProxyInfo {
            connect: vec![text.clone()],
            ..ProxyInfo::default()
        });
        let backend = drawn(&empty, (60, 15), &theme);
        let mut cells = backend.buffer().content().iter();
        assert!(cells.all(|cell| is_harmless(cell.symbol())), "{text:?}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    let mut board = everywhere("漢字 and \u{1b}[2J more ".repeat(6).as_str());
    for keys in [
        "", "o", "L", "esc c", "esc y", "esc B", "esc X", "esc f", "esc :",
    ] {
        press(&mut board, keys);
        for width in [1, 2, 20, 39, 40, 41, 47, 59, 61, 80, 99, 100, 180] {
            for height in [1, 2, 9, 10, 11, 12, 24] {
                screen(&board, (width, height));
            }
        }
    }
}
