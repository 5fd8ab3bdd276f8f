//! Keys in, screens out.

mod any_run;
mod deciding;
mod desk;
pub(super) mod hostile;
mod live_phases;
mod live_run;
pub(in crate::tui) mod messages;
mod paused;
mod prompts;
mod recovering;
mod screens;
mod stories;
mod taking;
mod transcript;

use super::effect::Effect;
use super::keymap;
use super::report::Report;
use super::state::document::{Document, Extent};
use super::state::tests::{opened, recording};
use super::state::tree::Shown;
use super::state::{Follow, State};
use super::theme::{Glyphs, Theme, Variant};
use super::view;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use messages::{Message, update};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use std::sync::Arc;

const BROKEN_JSON: &str = include_str!("../../../../sessions/broken-json.json");
const FAILING_TOOL: &str = include_str!("../../../../sessions/failing-tool.json");
const SCHEMA_BREAK: &str = include_str!("../../../../sessions/schema-break.json");
const MISPLACED: &str = include_str!("../../../../sessions/misplaced-results.json");
const TWO_SESSIONS: &str = include_str!("../../../../sessions/reused-call-id.json");

/// Presses keys, written as in the table of keys.
fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for name in keys.split(' ').filter(|name| !name.is_empty()) {
        let event = keymap::event(name).unwrap();
        effects.extend(update(state, Message::Key(event)));
        view::prepare(state, state.size);
    }
    effects
}

/// Everything that is shown was checked.
fn finish(state: &mut State) {
    let document = state.document.clone().unwrap();
    update(state, Message::Report(Report::Finished(document)));
}

fn terminal(state: &State, theme: &Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    terminal
        .draw(|frame| view::draw(frame, state, theme))
        .unwrap();
    terminal
}

fn screen(state: &State) -> String {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    terminal(state, &theme).backend().to_string()
}

#[test]
fn a_session_opens_on_its_turns_and_the_finding_key_leads_to_the_broken_call() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    insta::assert_snapshot!("opened", screen(&state));
    press(&mut state, "]");
    insta::assert_snapshot!("finding", screen(&state));
    press(&mut state, "%");
    insta::assert_snapshot!("partner", screen(&state));
}

#[test]
fn it_begins_at_the_first_error_and_says_so_and_at_the_start_where_there_is_none() {
    let mut state = opened(TWO_SESSIONS, (100, 14));
    assert_eq!((state.session, state.item), (0, 0));
    finish(&mut state);
    assert_eq!((state.session, state.item), (0, 0), "the second is a peer");
    let mut state = opened(FAILING_TOOL, (100, 14));
    finish(&mut state);
    let rules: Vec<_> = state.findings_here().iter().map(|it| it.rule.id).collect();
    assert!(rules.is_empty() && state.notice.is_none(), "{rules:?}");
    assert!(state.counts().unwrap().warnings > 0);
    let mut state = opened(MISPLACED, (140, 20));
    finish(&mut state);
    let expected = "opened at the first error, turn 5; g goes to the start · misplaced-output: ";
    assert!(screen(&state).contains(expected), "{}", screen(&state));
    press(&mut state, "g");
    finish(&mut state);
    assert_eq!(state.item, 0, "the cursor is the operator's");
}

#[test]
fn a_fault_of_the_settings_comes_before_what_opening_says_until_a_key_is_pressed() {
    let mut state = opened(MISPLACED, (140, 20));
    state.fault = Some("config.toml: unknown key nope".to_owned());
    state.say_fault();
    finish(&mut state);
    let shown = screen(&state);
    for words in ["config.toml: unknown key nope", "opened at the first error"] {
        assert!(shown.contains(words), "{shown}");
    }
    press(&mut state, "g");
    finish(&mut state);
    assert!(
        !screen(&state).contains("config.toml"),
        "{}",
        screen(&state)
    );
}

#[test]
fn a_routine_failure_does_not_move_the_cursor_nor_does_anything_after_a_key() {
    let mut state = opened(&transcript::log(), (100, 14));
    let mut rules = state.checked().unwrap().findings().iter();
    assert!(rules.len() > 0 && rules.all(|it| it.rule.id == "tool-error"));
    finish(&mut state);
    assert_eq!(state.item, 0);
    let mut state = opened(MISPLACED, (100, 14));
    press(&mut state, "t");
    finish(&mut state);
    assert_eq!(state.item, 0, "the operator reads already");
    let mut state = opened(MISPLACED, (100, 14));
    finish(&mut state);
    assert!(state.item > 0);
}

#[test]
fn the_header_counts_what_is_shown_and_what_could_not_be_read() {
    let header = |state: &State| screen(state).lines().next().unwrap_or_default().to_owned();
    let state = opened(TWO_SESSIONS, (120, 14));
    let shown = header(&state);
    assert!(
        shown.contains("✓ no findings here · 1 warning elsewhere"),
        "{shown}"
    );
    for width in [70, 80, 100, 119] {
        let shown = header(&opened(TWO_SESSIONS, (width, 14)));
        assert!(shown.contains("▲ 1 elsewhere"), "{width}: {shown}");
        assert!(!shown.contains("✓"), "{width}: {shown}");
        assert!(!shown.contains("no findings"), "{width}: {shown}");
        assert!(!shown.contains("   recording"), "{width}: {shown}");
    }
    let text = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n{\"messages\":[{\"ro\n";
    let state = opened(text, (120, 14));
    assert!(state.problems() > 0);
    let shown = header(&state);
    assert!(!shown.contains("no findings"), "{shown}");
    assert!(shown.contains(" 1 read error"), "{shown}");
}

#[test]
fn where_a_line_could_not_be_read_the_keys_of_findings_and_the_footer_name_the_log() {
    let text = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n{\"messages\":[{\"ro\n";
    for width in [80, 120] {
        let mut state = opened(text, (width, 14));
        let footer = screen(&state).lines().last().unwrap_or_default().to_owned();
        assert!(footer.contains("L read errors"), "{footer}");
        for (key, words) in [
            ("]", "no further finding; L shows 1 read error"),
            ("!", "no findings in this session; L shows 1 read error"),
        ] {
            press(&mut state, key);
            let shown = screen(&state);
            assert!(shown.contains(words), "{shown}");
        }
    }
}

/// A log of Claude Code in which user and assistant take turns; an `API Error` stands in place of a reply.
fn failed_request(texts: &[&str]) -> String {
    let entries = texts.iter().enumerate().map(|(number, text)| {
        let role = ["user", "assistant"][number % 2];
        let parent = number.checked_sub(1).map(|before| before.to_string());
        let entry = serde_json::json!({
            "type": role, "uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
            "isApiErrorMessage": text.starts_with("API Error"),
            "message": {
                "id": number.to_string(), "role": role, "model": "m",
                "content": [{"type": "text", "text": text}],
            },
        });
        entry.to_string()
    });
    entries.collect::<Vec<_>>().join("\n")
}

#[test]
fn notes_are_counted_beside_the_absence_of_errors_and_warnings() {
    let text = failed_request(&["Go.", "API Error: Connection error.", "Go on.", "Done."]);
    for (width, expected) in [
        (140, "○ 1 info  ✓ no errors or warnings "),
        (119, "○1  ✓ "),
        (80, "○1  ✓ "),
    ] {
        let shown = screen(&opened(&text, (width, 14)));
        assert!(shown.contains(expected), "{width}: {shown}");
        assert!(!shown.contains("no findings"), "{width}: {shown}");
    }
}

#[test]
fn violations_stand_at_their_place() {
    let mut state = opened(SCHEMA_BREAK, (120, 40));
    press(&mut state, "]");
    insta::assert_snapshot!("violations", screen(&state));
    press(&mut state, "!");
    let shown = screen(&state);
    for row in [
        "│   /recipient/country: expected one of \"DE\", \"AT\", \"CH\", got \"Austria\" (string) ",
        "│   /parcels/0/weight_kg: expected number, got \"2.5 kg\" (string) ",
    ] {
        assert!(shown.contains(row), "{shown}");
    }
}

#[test]
fn below_a_hundred_columns_one_pane_is_shown() {
    let mut state = opened(BROKEN_JSON, (80, 24));
    press(&mut state, "] l");
    insta::assert_snapshot!("narrow_turns", screen(&state));
    press(&mut state, "j l");
    insta::assert_snapshot!("narrow_detail", screen(&state));
}

#[test]
fn the_footer_of_the_item_has_its_own_keys() {
    for width in [100, 140] {
        let mut state = opened(FAILING_TOOL, (width, 24));
        press(&mut state, "| tab");
        let shown = screen(&state);
        for hint in ["t pretty/raw", "z zoom", "< wider", "> narrower"] {
            assert!(shown.contains(hint), "{width} {hint}: {shown}");
        }
        press(&mut state, "z");
        state.notice = None;
        assert!(!screen(&state).contains("< wider"), "{}", screen(&state));
        press(&mut state, "esc esc");
        assert!(!screen(&state).contains("pretty/raw"), "{}", screen(&state));
    }
}

#[test]
fn a_small_terminal_shows_the_findings_too() {
    let mut state = opened(BROKEN_JSON, (60, 15));
    press(&mut state, "4");
    insta::assert_snapshot!("small_findings", screen(&state));
    press(&mut state, "enter enter");
    assert!(screen(&state).contains("Item 5  call"), "the item first");
    press(&mut state, "enter");
    insta::assert_snapshot!("small_offers", screen(&state));
}

#[test]
fn a_file_with_several_sessions_lists_them_and_findings_lead_from_one_to_the_next() {
    let mut state = opened(TWO_SESSIONS, (100, 14));
    press(&mut state, "S");
    insta::assert_snapshot!("sessions", screen(&state));
    press(&mut state, "esc ]");
    assert_eq!(state.session, 1);
    press(&mut state, "S k enter");
    assert_eq!(
        (state.session, state.focus),
        (0, super::state::layout::Pane::Turns)
    );
}

#[test]
fn a_session_without_findings_names_the_keys_that_lead_to_those_of_others() {
    let state = opened(TWO_SESSIONS, (140, 14));
    assert!(state.checked().unwrap().findings().is_empty());
    let shown = screen(&state);
    for hint in ["] finding", "4 list findings"] {
        assert!(shown.contains(hint), "{hint}: {shown}");
    }
}

#[test]
fn turns_fold_and_unfold() {
    let mut state = opened(BROKEN_JSON, (80, 24));
    press(&mut state, "J J space");
    insta::assert_snapshot!("unfolded", screen(&state));
    press(&mut state, "=");
    let all = state.tree().unwrap().rows();
    assert_eq!(
        all,
        state.session().unwrap().items.len() + state.session().unwrap().turns.len()
    );
    press(&mut state, "-");
    assert_eq!(
        state.tree().unwrap().rows(),
        state.session().unwrap().turns.len()
    );
}

#[test]
fn marked_items_can_be_seen_alone() {
    let mut state = opened(BROKEN_JSON, (120, 14));
    press(&mut state, "J m J J m M");
    insta::assert_snapshot!("marked", screen(&state));
    press(&mut state, "esc");
    assert!(state.shown.is_none());
}

#[test]
fn the_health_of_the_tools_lies_over_the_panes_and_goes_away() {
    let mut state = opened(FAILING_TOOL, (80, 24));
    press(&mut state, "H");
    insta::assert_snapshot!("health", screen(&state));
    press(&mut state, "H");
    assert!(!state.has_overlay());
    press(&mut state, "H esc");
    assert!(!state.has_overlay());
    let mut state = opened(TWO_SESSIONS, (100, 14));
    state.checked[1] = None;
    press(&mut state, "H");
    assert!(screen(&state).contains("Tool health: 1 of 2 sessions are checked"));
}

#[test]
fn closing_leads_back_step_by_step() {
    let mut state = opened(BROKEN_JSON, (120, 14));
    assert!(press(&mut state, "4 ? q q").is_empty());
    assert!(matches!(press(&mut state, "q")[..], [Effect::Close]));
    assert!(matches!(press(&mut state, "4 Q")[..], [Effect::Quit]));
}

#[test]
fn a_click_puts_the_cursor_on_a_row_and_the_wheel_moves_the_pane_below_it() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    let mouse = |kind, column, row| {
        Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    update(
        &mut state,
        mouse(MouseEventKind::Down(MouseButton::Left), 3, 5),
    );
    state.prepare();
    assert_eq!(state.turn(), 3);
    update(&mut state, mouse(MouseEventKind::ScrollUp, 3, 5));
    assert_eq!(state.turn(), 0);
    update(
        &mut state,
        mouse(MouseEventKind::Down(MouseButton::Left), 60, 99),
    );
    assert_eq!(state.turn(), 0);
}

#[test]
fn without_colour_and_without_utf_8_everything_is_still_told() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    press(&mut state, "]");
    let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
    let terminal = terminal(&state, &theme);
    let buffer = terminal.backend().buffer();
    for cell in buffer.content() {
        assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    insta::assert_snapshot!("ascii", terminal.backend());
}

#[test]
fn a_text_that_is_asked_for_is_searched_for() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    press(&mut state, "/ l o a n s");
    assert!(screen(&state).contains("/ loans"), "{}", screen(&state));
    let effects = press(&mut state, "enter");
    let [Effect::Search(_), Effect::Count(_)] = &effects[..] else {
        panic!("{} effects", effects.len());
    };
}

#[test]
fn what_a_filter_found_in_a_file_that_was_replaced_meanwhile_is_passed_over() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    let old = state.document.clone().unwrap();
    let session = state.session().unwrap();
    let last = session.items.len() as u32 - 1;
    let shown = Arc::new(Shown::new(session, vec![last]));
    let text = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}]"#;
    let recording = recording(text);
    let extent = Extent::Whole;
    let recording = Arc::new(recording);
    let document = Arc::new(Document { recording, extent });
    update(&mut state, Message::Report(Report::Grown(document)));
    let late = Report::Sifted {
        document: old,
        session: 0,
        shown,
        is_preview: false,
    };
    update(&mut state, Message::Report(late));
    state.prepare();
    assert!(screen(&state).contains("hi"), "{}", screen(&state));
}

#[test]
fn the_palette_runs_what_is_chosen() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    press(&mut state, ": f i n i s h enter");
    assert!(
        screen(&state).contains("no counterpart"),
        "{}",
        screen(&state)
    );
}

#[test]
fn following_keeps_the_end_in_sight_until_the_operator_moves_up() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    let effects = press(&mut state, "F");
    assert!(matches!(effects[..], [Effect::Watch(true)]), "{effects:?}");
    assert_eq!(state.item + 1, state.session().unwrap().items.len());
    press(&mut state, "k");
    assert_eq!(state.follow, Follow::Paused);
    assert!(screen(&state).contains("follow paused"));
    press(&mut state, "F");
    assert_eq!(state.follow, Follow::On);
    for key in ["G", "end"] {
        press(&mut state, "k");
        assert!(screen(&state).contains("follow paused"));
        press(&mut state, key);
        assert_eq!(state.follow, Follow::On, "the end resumes it");
        assert_eq!(state.item + 1, state.session().unwrap().items.len());
    }
    let effects = press(&mut state, "F");
    assert!(matches!(effects[..], [Effect::Watch(false)]), "{effects:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the size and whatever is pressed: no panic, and the cursor stays on an item.
    #[test]
    fn no_size_and_no_key_can_break_it(
        width in 0_u16..130,
        height in 0_u16..40,
        keys in prop::collection::vec(prop_oneof![any::<char>(), prop::sample::select(vec!['j', 'J', 'l', ']', '%', '4', '=', 'G'])], 0..12),
    ) {
        let mut state = opened(SCHEMA_BREAK, (width, height));
        for key in keys {
            let event = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
            update(&mut state, Message::Key(event));
            state.prepare();
            terminal(&state, &Theme::new(Variant::Dark, Glyphs::UNICODE));
            prop_assert!(state.item().is_some());
        }
    }
}

#[test]
fn of_a_fault_that_is_found_at_a_call_and_at_its_result_the_keys_stop_at_the_call() {
    let call = |id: &str, name: &str| {
        serde_json::json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]})
    };
    let result = |id: &str| serde_json::json!({"role": "tool", "tool_call_id": id, "content": "Error: no such thing"});
    let tools = serde_json::json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]);
    let messages = serde_json::json!([{"role": "user", "content": "Go."},
        call("a", "lok"), result("a"), call("b", "look"), result("b"), {"role": "assistant", "content": "So."}]);
    let text = serde_json::json!({"messages": messages, "tools": tools}).to_string();
    let mut state = opened(&text, (120, 30));
    let found = state.checked().unwrap().findings().iter();
    let found: Vec<_> = found.map(|it| (it.rule.id, it.item.unwrap())).collect();
    let expected = [("unknown-tool", 1), ("tool-error", 2), ("tool-error", 4)];
    assert_eq!(found, expected);
    let mut stops = Vec::new();
    for key in ["]", "]", "]", "[", "["] {
        press(&mut state, key);
        stops.push(state.item);
    }
    assert_eq!(stops, [1, 4, 4, 1, 1]);
}
