//! Keys and news in, screens and commands out.

mod deciding;
mod fake;
mod giving_back;
mod hostile;
mod list;
mod many;

use super::About;
use super::board::Board;
use crate::tui::effect::Effect;
use crate::tui::keymap;
use crate::tui::theme::{Glyphs, Theme, Variant};
use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use retake_core::exchange::{Ending, ExchangeId, Found, Holding, Phase, Seen};
use retake_core::rules::Severity;
use retake_core::session::Dialect;
use retake_live::proxy::News;
use std::sync::Arc;

/// When the first request came, in milliseconds since 1970.
const BEGAN: u64 = 1_790_000_000_000;

/// What is known of the proxy of these tests.
fn about() -> About {
    About {
        upstreams: vec!["api.openai.com".to_owned()],
        connect: vec![
            "openai, openai-agents   OPENAI_BASE_URL=http://127.0.0.1:4000/v1".to_owned(),
            "anthropic, Claude Code  ANTHROPIC_BASE_URL=http://127.0.0.1:4000".to_owned(),
        ],
        recording: Some("/data/proxy-1.jsonl".into()),
        is_intercepting: true,
        ..About::default()
    }
}

/// An exchange that is doing this.
fn exchange(id: u32, phase: Phase) -> Seen {
    let is_answered = !matches!(phase, Phase::Asking | Phase::Waiting);
    Seen {
        id: ExchangeId(id),
        at_ms: BEGAN + u64::from(id) * 1000,
        client: "openai-python 3.52.0".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/responses".to_owned(),
        dialect: Some(Dialect::Responses),
        model: "gpt-5.2".to_owned(),
        streams: true,
        status: is_answered.then_some(200),
        sent: 12_000,
        received: if is_answered { 4321 } else { 0 },
        first_ms: is_answered.then_some(420),
        total_ms: matches!(phase, Phase::Ended(_)).then_some(12_345),
        phase,
        ..Seen::default()
    }
}

/// A tool that was never offered.
fn unknown_tool() -> Found {
    Found {
        rule: "unknown-tool",
        severity: Severity::Error,
        tool: Some("serch_flights".to_owned()),
        message: "serch_flights is not offered; nearest: search_flights".to_owned(),
    }
}

/// An exchange whose reply is held until a time, counted from the beginning.
fn held(id: u32, until_s: Option<u64>) -> Seen {
    let holding = Holding {
        is_gone: false,
        has: retake_core::exchange::AgentHas::default(),
        is_request: false,
        since_ms: BEGAN,
        until_ms: until_s.map(|seconds| BEGAN + seconds * 1000),
        why: "unknown-tool serch_flights".to_owned(),
    };
    Seen {
        found: vec![unknown_tool()],
        ..exchange(id, Phase::Held(holding))
    }
}

fn news(seen: Seen) -> News {
    News::Exchange(Arc::new(seen))
}

/// A list that is watched for so many seconds.
fn board(seconds: u64) -> Board {
    let mut board = Board::new(about());
    board.set_now(BEGAN + seconds * 1000);
    board.hear(vec![News::Listening {
        base: String::new(),
        address: ([127, 0, 0, 1], 4000).into(),
        upstream: "api.openai.com".to_owned(),
    }]);
    board
}

/// A list with exchanges of all sorts.
fn busy() -> Board {
    let mut board = board(30);
    let ended = |id, ending| exchange(id, Phase::Ended(ending));
    let released = Ending::Released {
        by: "policy".to_owned(),
    };
    board.hear(
        [
            ended(1, Ending::Passed),
            Seen {
                found: vec![unknown_tool()],
                ..ended(2, Ending::Mended)
            },
            ended(3, released),
            held(4, Some(302)),
            Seen {
                client: "anthropic-node 1.11.0".to_owned(),
                path: "/v1/messages".to_owned(),
                dialect: Some(Dialect::Anthropic),
                model: "claude-sonnet-5".to_owned(),
                retries: 2,
                ..held(5, None)
            },
            ended(6, Ending::Truncated),
            Seen {
                method: "GET".to_owned(),
                path: "/v1/models".to_owned(),
                dialect: None,
                model: String::new(),
                status: Some(404),
                notes: vec!["not intercepted".to_owned()],
                ..ended(7, Ending::Passed)
            },
            exchange(8, Phase::Replying),
            exchange(9, Phase::Waiting),
        ]
        .map(news)
        .to_vec(),
    );
    board
}

/// Presses keys, written as in the table of keys; what stands in quotes is typed.
fn press(board: &mut Board, keys: &str) -> Vec<Effect> {
    let mut wishes = Vec::new();
    for (number, part) in keys.split('`').enumerate() {
        if number % 2 == 1 {
            let letters = part.chars().map(|letter| KeyCode::Char(letter).into());
            wishes.extend(letters.flat_map(|key| board.key(key)));
        } else {
            let names = part.split(' ').filter(|name| !name.is_empty());
            let keys = names.map(|name| keymap::event(name).unwrap());
            wishes.extend(keys.flat_map(|key| board.key(key)));
        }
    }
    wishes
}

fn drawn(board: &Board, (width, height): (u16, u16), theme: &Theme) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| board.view(frame, theme)).unwrap();
    terminal.backend().clone()
}

fn screen(board: &Board, size: (u16, u16)) -> String {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    drawn(board, size, &theme).to_string().replace('"', "")
}

#[track_caller]
fn assert_asks(effects: Vec<Effect>, wanted: &[Effect]) {
    assert_eq!(format!("{effects:?}"), format!("{wanted:?}"));
}
