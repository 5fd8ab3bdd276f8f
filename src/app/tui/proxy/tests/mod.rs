//! Keys and news in, screens and commands out.

mod deciding;
mod fake;
mod giving_back;
mod hostile;
mod list;
mod many;

use super::ProxyInfo;
use super::board::ExchangeBoard;
use crate::tui::effect::Effect;
use crate::tui::keymap;
use crate::tui::theme::{Glyphs, Theme, Variant};
use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use retake_core::exchange::{
    ExchangeEnding, ExchangeFinding, ExchangeId, ExchangePhase, ExchangeSummary, Holding,
};
use retake_core::rules::Severity;
use retake_core::session::Dialect;
use retake_live::proxy::ProxyNews;
use std::sync::Arc;

/// When the first request came, in milliseconds since 1970.
const BEGAN: u64 = 1_790_000_000_000;

/// What is known of the proxy of these tests.
fn about() -> ProxyInfo {
    ProxyInfo {
        upstreams: vec!["api.openai.com".to_owned()],
        connect: vec![
            "openai, openai-agents   OPENAI_BASE_URL=http://127.0.0.1:4000/v1".to_owned(),
            "anthropic, Claude Code  ANTHROPIC_BASE_URL=http://127.0.0.1:4000".to_owned(),
        ],
        recording: Some("/data/proxy-1.jsonl".into()),
        is_intercepting: true,
        ..ProxyInfo::default()
    }
}

/// An exchange that is doing this.
fn exchange(id: u32, phase: ExchangePhase) -> ExchangeSummary {
    let is_answered = !matches!(phase, ExchangePhase::Asking | ExchangePhase::Waiting);
    ExchangeSummary {
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
        total_ms: matches!(phase, ExchangePhase::Ended(_)).then_some(12_345),
        phase,
        ..ExchangeSummary::default()
    }
}

/// A tool that was never offered.
fn unknown_tool() -> ExchangeFinding {
    ExchangeFinding {
        rule: "unknown-tool",
        severity: Severity::Error,
        tool: Some("serch_flights".to_owned()),
        message: "serch_flights is not offered; nearest: search_flights".to_owned(),
    }
}

/// An exchange whose reply is held until a time, counted from the beginning.
fn held(id: u32, until_s: Option<u64>) -> ExchangeSummary {
    let holding = Holding {
        is_gone: false,
        has: retake_core::exchange::AgentHas::default(),
        is_request: false,
        since_ms: BEGAN,
        until_ms: until_s.map(|seconds| BEGAN + seconds * 1000),
        why: "unknown-tool serch_flights".to_owned(),
    };
    ExchangeSummary {
        found: vec![unknown_tool()],
        ..exchange(id, ExchangePhase::Held(holding))
    }
}

fn news(seen: ExchangeSummary) -> ProxyNews {
    ProxyNews::Exchange(Arc::new(seen))
}

/// A list that is watched for so many seconds.
fn board(seconds: u64) -> ExchangeBoard {
    let mut board = ExchangeBoard::new(about());
    board.set_now(BEGAN + seconds * 1000);
    board.hear(vec![ProxyNews::Listening {
        base: String::new(),
        address: ([127, 0, 0, 1], 4000).into(),
        upstream: "api.openai.com".to_owned(),
    }]);
    board
}

/// A list with exchanges of all sorts.
fn busy() -> ExchangeBoard {
    let mut board = board(30);
    let ended = |id, ending| exchange(id, ExchangePhase::Ended(ending));
    let released = ExchangeEnding::Released {
        by: "policy".to_owned(),
    };
    board.hear(
        [
            ended(1, ExchangeEnding::Passed),
            ExchangeSummary {
                found: vec![unknown_tool()],
                ..ended(2, ExchangeEnding::Mended)
            },
            ended(3, released),
            held(4, Some(302)),
            ExchangeSummary {
                client: "anthropic-node 1.11.0".to_owned(),
                path: "/v1/messages".to_owned(),
                dialect: Some(Dialect::Anthropic),
                model: "claude-sonnet-5".to_owned(),
                retries: 2,
                ..held(5, None)
            },
            ended(6, ExchangeEnding::Truncated),
            ExchangeSummary {
                method: "GET".to_owned(),
                path: "/v1/models".to_owned(),
                dialect: None,
                model: String::new(),
                status: Some(404),
                notes: vec!["not intercepted".to_owned()],
                ..ended(7, ExchangeEnding::Passed)
            },
            exchange(8, ExchangePhase::Replying),
            exchange(9, ExchangePhase::Waiting),
        ]
        .map(news)
        .to_vec(),
    );
    board
}

/// Presses keys, written as in the table of keys; what is in quotes is typed.
fn press(board: &mut ExchangeBoard, keys: &str) -> Vec<Effect> {
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

fn drawn(board: &ExchangeBoard, (width, height): (u16, u16), theme: &Theme) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| board.view(frame, theme)).unwrap();
    terminal.backend().clone()
}

fn screen(board: &ExchangeBoard, size: (u16, u16)) -> String {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    drawn(board, size, &theme).to_string().replace('"', "")
}

#[track_caller]
fn assert_asks(effects: Vec<Effect>, wanted: &[Effect]) {
    assert_eq!(format!("{effects:?}"), format!("{wanted:?}"));
}
