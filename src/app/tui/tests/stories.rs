//! Stories of a reader, as keys and what they show, and what holds for any recording at any size.

use super::desk::Desk;
use super::transcript::{flowing, log, task_log};
use super::*;
use crate::tui::transcript::page::Page;
use ratatui::style::Modifier;
use retake_core::usage::{ResultUsage, Tokens, TurnUsage};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;

const SIZES: [(u16, u16); 4] = [(80, 24), (100, 30), (140, 42), (200, 60)];
const VARIANTS: [Variant; 3] = [Variant::Dark, Variant::Light, Variant::Mono];

/// Recordings of agents, read in place: they are not part of the program.
const CORPUS: &str = "/../../../shared/corpus";
const RECORDINGS: [&str; 10] = [
    "claude_code_jsonl/agentcmd-full-session-four.jsonl",
    "claude_code_jsonl/agentcmd-full-session-three.jsonl",
    "claude_code_jsonl/agentcmd-askuserquestion.jsonl",
    "claude_code_jsonl/ccv-sidechains.jsonl",
    "codex_rollout_jsonl/rollout-2025-09-25T15-12-14-019982b8-3422-79e0-8b3b-05abaf4f3c3e.jsonl",
    "openai_chat/tau-bench-gpt4o-airline-12.json",
    "openai_chat/bfcl-deepseek-v3.1-long_context_0.json",
    "anthropic_messages/bfcl-claude-base_0.json",
    "openai_chat/bfcl-deepseek-v3.1-miss_func_0.json",
    "openai_chat/toolbench-G1_69-deepest-branch.json",
];

#[test]
fn enter_shows_the_result_of_a_call_and_what_a_call_writes() {
    let mut state = flowing(&log(), (120, 40));
    press(&mut state, "g J j j enter");
    let shown = screen(&state);
    assert!(shown.contains("Item 5  output"), "{shown}");
    press(&mut state, "%");
    let shown = screen(&state);
    assert!(
        shown.contains("Item 4  call") && shown.contains("\"file_path\""),
        "{shown}"
    );
    press(&mut state, "esc J enter");
    let shown = screen(&state);
    assert!(
        shown.contains("Item 6  call") && shown.contains("saturating_mul"),
        "{shown}"
    );
}

#[test]
fn a_finding_is_explained_in_full_with_what_its_provider_says() {
    let mut desk = Desk::with(
        "a.json",
        r#"[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"call_9","content":"orphan"}]"#,
    );
    desk.press("!").sees("orphan-output (error)");
    desk.sees("OpenAI Chat, for example")
        .sees("Why it matters")
        .sees("What to do");
    desk.press("esc").misses("Why it matters");
    desk.press("g !").sees("no finding in this turn");
}

#[test]
fn every_finding_of_an_item_is_explained() {
    let mut desk = Desk::of("unknown-tool.json");
    assert_eq!(desk.rules()[..2], ["unknown-tool", "pending-call"]);
    desk.state.size = (100, 50);
    desk.press("!").sees(" 2 findings ");
    desk.sees("unknown-tool (error)");
    desk.press("G").sees("pending-call (info)");
}

#[test]
fn reasoning_beside_a_text_comes_first_and_has_the_look_of_reasoning() {
    let text = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":"Let me compute.","reasoning_content":"I should use the tool."}]"#;
    let state = flowing(text, (80, 24));
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let terminal = terminal(&state, &theme);
    let shown = terminal.backend().to_string();
    let row_of = |words: &str| shown.lines().position(|row| row.contains(words)).unwrap();
    let (thought, said) = (row_of("I should use"), row_of("Let me compute"));
    assert!(thought < said, "{shown}");
    let buffer = terminal.backend().buffer();
    let look = |row: usize| {
        let row = u16::try_from(row).unwrap();
        let cells = (0..80).map(|x| &buffer[(x, row)]);
        let mut letters = cells.filter(|cell| ["I", "L"].contains(&cell.symbol()));
        letters.next().unwrap().modifier
    };
    let reasoning = theme.reasoning.add_modifier;
    assert!(!reasoning.is_empty() && look(thought).contains(reasoning));
    assert!(!look(said).contains(reasoning));
}

#[test]
fn enter_on_a_finding_opens_its_fixes_at_every_width() {
    for size in SIZES {
        let mut state = opened(BROKEN_JSON, size);
        press(&mut state, "| ] enter");
        let shown = screen(&state);
        assert!(
            shown.contains("malformed-arguments") && shown.contains("esc"),
            "{shown}"
        );
        assert!(state.has_overlay(), "{size:?}: {shown}");
    }
}

#[test]
fn the_flow_shows_items_rendered_unescaped_or_raw() {
    let mut state = flowing(&log(), (120, 40));
    press(&mut state, "g t");
    let shown = screen(&state);
    assert!(
        shown.contains("**Cap it**") && shown.contains("unescaped"),
        "{shown}"
    );
    press(&mut state, "t");
    let shown = screen(&state);
    assert!(shown.contains("\"type\":\"tool_use\""), "{shown}");
    press(&mut state, "t");
    let shown = screen(&state);
    assert!(
        shown.contains("Cap it") && !shown.contains("**Cap it**"),
        "{shown}"
    );
}

#[test]
fn the_header_has_model_turn_context_tokens_and_cost_at_80_columns() {
    let mut state = flowing(&log(), (80, 24));
    press(&mut state, "G");
    let shown = screen(&state);
    let header = shown.lines().next().unwrap();
    let mut at = 0;
    for part in [
        "test.json",
        "sonnet-4-5",
        "turn 5/5",
        "ctx 5%",
        "23.4k tok",
        "$0.023",
        "▲ 1",
    ] {
        let found = header[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part}: {header}"));
    }
}

#[test]
fn raw_says_whether_the_json_stands_so_in_the_file() {
    let pi = concat!(
        r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#,
        "\n",
        r#"{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#,
    );
    for (text, words) in [
        (log(), "raw: the JSON of the file"),
        (pi.to_owned(), "raw: the JSON that retake reads the file as"),
    ] {
        let mut state = flowing(&text, (100, 24));
        press(&mut state, "t t");
        assert_eq!(state.notice.as_deref(), Some(words));
    }
}

#[test]
fn the_list_of_findings_begins_at_the_one_that_the_footer_shows_and_the_footer_follows() {
    let mut desk = Desk::of("invalid-tool-name.json");
    desk.press("4")
        .sees(" ● invalid-tool-name +1  the tool name");
    desk.press("!").sees(" invalid-tool-name (error) ");
    desk.press("esc j")
        .sees(" ▲ unknown-tool +1  functions.get_tide_table");
    desk.press("!").sees(" unknown-tool (warning) ");
}

#[test]
fn rows_of_the_totals_lead_to_what_they_count() {
    let mut state = flowing(&log(), (80, 24));
    press(&mut state, "g U");
    let shown = screen(&state);
    assert!(shown.contains("most expensive turns"), "{shown}");
    assert!(
        shown.contains("token counts for") && shown.contains("3 of 5 turns"),
        "{shown}"
    );
    assert!(!shown.contains('…'), "{shown}");
    press(&mut state, "enter");
    assert!(!state.has_overlay());
    assert_eq!(state.turn(), 2, "{}", screen(&state));
    press(&mut state, "U j j j enter");
    let shown = screen(&state);
    assert_eq!(
        state.item().map(|item| item.kind),
        Some(retake_core::session::Kind::Call),
        "{shown}"
    );

    let mut state = flowing(&task_log(), (100, 30));
    let document = state.document.clone().unwrap();
    let usage = TurnUsage {
        tokens: Some(Tokens {
            input: 9_000,
            output: 10,
            ..Default::default()
        }),
        ..Default::default()
    };
    let nested = retake_core::usage::SessionUsage {
        turns: 2,
        by_tool: vec![retake_core::usage::ToolUsage {
            name: "Grep".to_owned(),
            calls: 3,
            ..Default::default()
        }],
        largest_turns: vec![(1, usage)],
        results: vec![ResultUsage {
            call: 1,
            turn: 1,
            bytes: 77_000,
            took: None,
            cost: None,
        }],
        ..Default::default()
    };
    state.take_totals(document, 1, Arc::new(nested));
    press(&mut state, "g U");
    let shown = screen(&state);
    let rows = ["turn 2", "9.0k", "in Task(find callers)"];
    let has_all = |row: &str, parts: &[&str]| parts.iter().all(|part| row.contains(part));
    assert!(
        shown.lines().any(|row| has_all(row, &rows)),
        "a turn of the sub-agent: {shown}"
    );
    let rows = ["turn 2", "77", "in Task(find callers)"];
    assert!(
        shown.lines().any(|row| has_all(row, &rows)),
        "a result in the sub-agent: {shown}"
    );
    assert!(
        shown.contains("1 sub-agent") && shown.contains("2 turns"),
        "{shown}"
    );
    let mut rows = shown
        .lines()
        .skip_while(|row| !row.contains("in sub-agents"));
    assert!(
        rows.any(|row| row.contains("Grep     ") && row.contains(" 3 ")),
        "{shown}"
    );
    press(&mut state, "enter");
    assert_eq!(state.session, 1, "{}", screen(&state));
}

#[test]
fn json_in_a_string_of_json_is_laid_out_where_it_is_pretty() {
    let inner = serde_json::json!({"query": {"city": "Oslo"}, "deep": "[1, {\"two\": 2}]"});
    let result = serde_json::json!({"status": 200, "body": inner.to_string()});
    let text = serde_json::json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": result.to_string()},
    ]});
    let mut state = opened(&text.to_string(), (140, 40));
    press(&mut state, "G 3");
    let shown = screen(&state);
    for part in [
        "\"body\": JSON in a string",
        "│ {",
        "│     \"city\": \"Oslo\"",
        "│   \"deep\": JSON in a string",
        "│     │     \"two\": 2",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    press(&mut state, "t");
    let shown = screen(&state);
    assert!(!shown.contains("JSON in a string"), "{shown}");
    assert!(shown.contains(r#""body": "{"#), "{shown}");
}

#[test]
fn the_palette_knows_other_words() {
    let words = [
        ("cost", "where tokens, money and time went"),
        ("price", "where tokens, money and time went"),
        ("money", "where tokens, money and time went"),
        ("tokens", "where tokens, money and time went"),
        ("yank", "copy"),
        ("clipboard", "copy"),
        ("delete", "drop the pair"),
        ("remove", "drop the pair"),
        ("agents", "the sessions of the file"),
        ("task", "the sessions of the file"),
        ("jump", "a number goes to that turn"),
        ("goto", "a number goes to that turn"),
        ("time", "the run as bars over time"),
        ("slow", "the run as bars over time"),
        ("duration", "the run as bars over time"),
    ];
    for (word, title) in words {
        let mut state = opened(BROKEN_JSON, (120, 30));
        let keys: Vec<String> = word.chars().map(String::from).collect();
        press(&mut state, &format!(": {}", keys.join(" ")));
        let shown = screen(&state);
        let at = shown.lines().position(|line| line.contains(" commands "));
        // The frame, what was typed, the first row.
        let first = shown.lines().nth(at.unwrap() + 2).unwrap();
        assert!(first.contains(title), "{word}: {shown}");
    }
}

#[test]
fn a_log_is_drawn_as_reviewed_at_every_size() {
    for size in SIZES {
        let mut state = flowing(&log(), size);
        press(&mut state, "g");
        insta::assert_snapshot!(format!("log_{}", size.0), screen(&state));
        let mut state = opened(BROKEN_JSON, size);
        press(&mut state, "| ]");
        insta::assert_snapshot!(format!("broken_{}", size.0), screen(&state));
    }
}

/// What holds on any screen of the flow.
fn holds(state: &State, variant: Variant) {
    let theme = Theme::new(variant, Glyphs::UNICODE);
    let terminal = terminal(state, &theme);
    let buffer = terminal.backend().buffer();
    let shown = || terminal.backend().to_string();
    for cell in buffer.content() {
        let is_plain = !cell.symbol().chars().any(char::is_control);
        assert!(is_plain, "{:?}: {}", cell.symbol(), shown());
    }
    let (width, height) = state.size;
    let edge = (1..height).find(|y| buffer[(0, *y)].symbol() == theme.glyphs.edge);
    let row = edge.unwrap_or_else(|| panic!("no cursor: {}", shown()));
    let look = |x: u16| {
        let cell = &buffer[(x, row)];
        (cell.bg, cell.modifier.contains(Modifier::REVERSED))
    };
    let looks: Vec<_> = (1..width - 2).map(look).collect();
    assert!(
        looks.windows(2).all(|pair| pair[0] == pair[1]),
        "{looks:?}: {}",
        shown()
    );
}

#[test]
fn recordings_of_agents_are_drawn_at_every_size_in_every_theme() {
    let corpus = format!("{}{CORPUS}", env!("CARGO_MANIFEST_DIR"));
    for name in RECORDINGS {
        let path = Path::new(&corpus).join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("skipped: {} is not there", path.display());
            continue;
        };
        for size in SIZES {
            let mut state = flowing(&text, size);
            press(&mut state, "g");
            let session = state.session().unwrap();
            let kinds = session.items.iter().map(|item| item.kind);
            let first = kinds
                .clone()
                .position(|kind| kind == retake_core::session::Kind::User);
            let item = &session.items[first.unwrap()];
            let body = retake_core::wire::body_within(session, item, 64 * 1024).unwrap();
            let mut words = body.text.split(|letter: char| !letter.is_alphanumeric());
            let word = words.find(|word| word.len() > 2).unwrap().to_owned();
            while state.item != first.unwrap() {
                press(&mut state, "j");
            }
            let shown = screen(&state);
            assert!(shown.contains(&word), "{name}, {size:?}: {word}: {shown}");
            for variant in VARIANTS {
                holds(&state, variant);
            }
            press(&mut state, "G");
            VARIANTS.iter().for_each(|variant| holds(&state, *variant));
            let document = state.document.clone().unwrap();
            let sessions = &document.recording.sessions;
            let checked = state.checked().unwrap();
            let page = Page::new(sessions, state.session, checked, &state.prices).unwrap();
            let width = usize::from(size.0) - 3;
            for (item, rows) in page.printed(width, false).take(200) {
                for row in rows {
                    let cells: usize = row.left.iter().map(|(_, text)| text.width()).sum();
                    assert!(row.indent + cells <= width, "{name}, item {item}: {row:?}");
                }
            }
        }
    }
}

/// The texts of the recordings are not this project's, so of each screen its digest is kept. What changed is seen in
/// the folder that `RETAKE_SCREENS` names, where each screen is written.
#[test]
fn the_screens_of_recordings_are_as_they_were() {
    let corpus = format!("{}{CORPUS}", env!("CARGO_MANIFEST_DIR"));
    let mut table = String::new();
    for name in RECORDINGS {
        let path = Path::new(&corpus).join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return println!("skipped: {} is not there", path.display());
        };
        for size in SIZES {
            let mut state = flowing(&text, size);
            for (place, keys) in [("top", "g"), ("end", "G"), ("columns", "|")] {
                press(&mut state, keys);
                for variant in VARIANTS {
                    let (width, height) = size;
                    let word = format!("{variant:?}").to_lowercase();
                    let what = format!("{name} {width}x{height} {place} {word}");
                    let digest = screen_digest(&state, variant, &what);
                    writeln!(table, "{digest} {what}").unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!("screens_of_recordings", table);
}

/// A digest of every cell with its style.
fn screen_digest(state: &State, variant: Variant, what: &str) -> String {
    let terminal = terminal(state, &Theme::new(variant, Glyphs::UNICODE));
    let mut digest = Sha256::new();
    for cell in terminal.backend().buffer().content() {
        digest.update(format!(
            "{} {:?} {:?} {:?};",
            cell.symbol(),
            cell.fg,
            cell.bg,
            cell.modifier
        ));
    }
    if let Some(folder) = std::env::var_os("RETAKE_SCREENS") {
        let file = Path::new(&folder).join(what.replace(['/', ' '], "-"));
        std::fs::write(file, terminal.backend().to_string()).unwrap();
    }
    let digest = digest.finalize();
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
