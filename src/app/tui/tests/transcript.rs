//! The transcript: one flowing view with the cursor of the columns.

use super::desk::Desk;
use super::*;
use retake_core::usage::SessionUsage;

const CUT: &str = include_str!("../../../../sessions/orphan-at-compaction.jsonl");
const UNKNOWN: &str = include_str!("../../../../sessions/unknown-tool.json");

/// A log of Claude Code with times, tokens, an edit, a failing command and a thought.
fn log() -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut push = |role: &str, at: &str, message: serde_json::Value| {
        let number = lines.len();
        let parent = number.checked_sub(1).map(|before| before.to_string());
        lines.push(
            serde_json::json!({
                "type": role, "uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
                "cwd": "/home/me/backoff", "message": message, "timestamp": format!("2026-03-02T{at}Z"),
            })
            .to_string(),
        );
    };
    let user = |content: serde_json::Value| serde_json::json!({"role": "user", "content": content});
    let said = |id: &str, block: serde_json::Value, input: u64, output: u64| {
        let usage = serde_json::json!({
            "input_tokens": 4, "cache_read_input_tokens": input, "output_tokens": output,
        });
        serde_json::json!({
            "id": id, "role": "assistant", "model": "claude-sonnet-4-5", "content": [block], "usage": usage,
        })
    };
    let call = |id: &str, name: &str, input: serde_json::Value| serde_json::json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let result = |id: &str, text: &str, is_error: bool| serde_json::json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]);
    push(
        "user",
        "14:02:11.000",
        user("The retry delay overflows. **Cap it** at a minute.".into()),
    );
    let thought = serde_json::json!({"type": "thinking", "thinking": "First the code.\nThen the tests.\nThen the cap.", "signature": "x"});
    push("assistant", "14:02:13.100", said("m1", thought, 3_100, 1));
    let text = serde_json::json!({"type": "text", "text": "I'll look at `retry_delay` first."});
    push("assistant", "14:02:13.200", said("m1", text, 3_100, 1));
    push(
        "assistant",
        "14:02:13.300",
        said(
            "m1",
            call(
                "t1",
                "Read",
                serde_json::json!({"file_path": "/home/me/backoff/src/backoff.rs"}),
            ),
            3_100,
            140,
        ),
    );
    push(
        "user",
        "14:02:13.400",
        user(result("t1", &"a line\n".repeat(82), false)),
    );
    let edit = serde_json::json!({
        "file_path": "/home/me/backoff/src/backoff.rs",
        "old_string": "fn delay() {\n    base * 2u64.pow(n)\n}",
        "new_string": "fn delay() {\n    base.saturating_mul(2u64.saturating_pow(n)).min(60_000)\n}",
    });
    push(
        "assistant",
        "14:02:21.000",
        said("m2", call("t2", "Edit", edit), 9_000, 512),
    );
    push(
        "user",
        "14:02:21.100",
        user(result("t2", "The file has been updated.", false)),
    );
    push(
        "assistant",
        "14:02:29.000",
        said(
            "m3",
            call("t3", "Bash", serde_json::json!({"command": "cargo test"})),
            10_200,
            466,
        ),
    );
    let failed = format!(
        "Exit code 101\n\u{1b}[31mtest caps_at_a_minute ... FAILED\u{1b}[0m\n{}",
        "more\n".repeat(20)
    );
    push("user", "14:03:10.000", user(result("t3", &failed, true)));
    push("user", "14:08:10.000", user("And now?".into()));
    lines.join("\n")
}

fn flowing(text: &str, size: (u16, u16)) -> State {
    let mut state = opened(text, size);
    press(&mut state, "|");
    let document = state.document.clone().unwrap();
    let session = document.session(0).unwrap();
    let totals = SessionUsage::of(session, &state.prices, &|| false, &mut |_, _| ());
    state.take_totals(document.clone(), 0, Arc::new(totals.unwrap().unwrap()));
    state
}

#[test]
fn a_log_reads_as_one_conversation() {
    let mut state = flowing(&log(), (120, 40));
    insta::assert_snapshot!("flowing_120", screen(&state));
    press(&mut state, "] space");
    insta::assert_snapshot!("flowing_unfolded", screen(&state));
    let mut state = flowing(&log(), (80, 24));
    press(&mut state, "G");
    insta::assert_snapshot!("flowing_80", screen(&state));
}

#[test]
fn what_is_broken_and_what_was_compacted_is_seen_in_the_flow() {
    let mut state = flowing(CUT, (100, 30));
    insta::assert_snapshot!("flowing_compacted", screen(&state));
    state = flowing(UNKNOWN, (80, 24));
    press(&mut state, "]");
    insta::assert_snapshot!("flowing_finding", screen(&state));
}

#[test]
fn every_key_acts_on_the_item_under_the_cursor_as_in_the_columns() {
    for name in [
        "unknown-tool.json",
        "broken-json.json",
        "orphan-at-compaction.jsonl",
    ] {
        for keys in [
            "] s", "] i", "] x", "] a", "] e", "] o", "] r", "] enter", "G m", "% '",
        ] {
            let seen = |flowing: &str| {
                let mut desk = Desk::of(name);
                desk.press(flowing).press(keys);
                (
                    desk.state.item,
                    desk.state.notice.clone(),
                    desk.state.has_overlay(),
                    desk.items(),
                )
            };
            assert_eq!(seen("|"), seen("="), "{name} {keys}");
        }
    }
}

#[test]
fn the_cursor_passes_every_item_with_rows_and_comes_back() {
    let mut state = flowing(&log(), (100, 24));
    press(&mut state, "g");
    let mut there = vec![state.item];
    while there.len() < 50 {
        press(&mut state, "j");
        if state.item == there[there.len() - 1] {
            break;
        }
        there.push(state.item);
    }
    let all: Vec<usize> = (0..state.session().unwrap().items.len()).collect();
    let results_that_say_no_more = [4, 6];
    let expected: Vec<usize> = all
        .into_iter()
        .filter(|it| !results_that_say_no_more.contains(it))
        .collect();
    assert_eq!(there, expected);
    let mut back = vec![state.item];
    while state.item > 0 {
        press(&mut state, "k");
        back.push(state.item);
    }
    back.reverse();
    assert_eq!(back, there);
    press(&mut state, "j j j %");
    assert_eq!(
        state.item, 4,
        "a result without rows is shown once the cursor is on it"
    );
    assert!(screen(&state).contains("│ a line"), "{}", screen(&state));
}

#[test]
fn a_text_taller_than_the_screen_is_read_by_stepping() {
    let text = (1..=200)
        .map(|number| format!("row {number}\n"))
        .collect::<String>();
    let text = serde_json::json!([
        {"role": "user", "content": "go"}, {"role": "assistant", "content": text}, {"role": "user", "content": "end"},
    ]);
    let mut state = flowing(&text.to_string(), (80, 24));
    press(&mut state, "g j space");
    let mut rows = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let shown = screen(&state);
        rows.extend((1..=200).filter(|number| shown.contains(&format!("row {number} "))));
        press(&mut state, "j");
    }
    assert_eq!(rows.len(), 200, "every row was seen");
    assert_eq!(state.item, 2);
    assert!(screen(&state).contains("row 200 "));
    press(&mut state, "k");
    assert!(
        screen(&state).contains("row 200 "),
        "its end comes first from below"
    );
    press(&mut state, "g PgDn PgDn PgUp PgUp");
    assert!(screen(&state).contains("turn 1 "), "{}", screen(&state));
}

#[test]
fn the_detail_opens_beside_or_over_the_flow() {
    let mut state = flowing(&log(), (120, 24));
    press(&mut state, "g j enter");
    let shown = screen(&state);
    assert!(
        shown.contains("Item 2") && shown.contains("you  turn 1"),
        "{shown}"
    );
    press(&mut state, "esc");
    assert!(!screen(&state).contains("Item 2"));
    let mut state = flowing(&log(), (80, 24));
    press(&mut state, "g j enter");
    let shown = screen(&state);
    assert!(
        shown.contains("Item 2") && !shown.contains("you  turn 1"),
        "{shown}"
    );
    press(&mut state, "h |");
    assert!(screen(&state).contains(" Turns "));
}

#[test]
fn a_click_puts_the_cursor_on_an_item_and_the_wheel_scrolls() {
    let mut state = flowing(&log(), (100, 16));
    press(&mut state, "g");
    let mouse = |kind, row| {
        Message::Mouse(MouseEvent {
            kind,
            column: 20,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    update(
        &mut state,
        mouse(MouseEventKind::Down(MouseButton::Left), 5),
    );
    state.prepare();
    assert_eq!(state.item, 1, "{}", screen(&state));
    update(&mut state, mouse(MouseEventKind::ScrollDown, 5));
    state.prepare();
    assert!(!screen(&state).contains("turn 1 "), "{}", screen(&state));
}

#[test]
fn the_flow_is_drawn_at_any_size_and_without_colours() {
    let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
    for size in [(200, 60), (100, 24), (60, 15), (40, 10), (39, 9), (1, 1)] {
        let mut state = flowing(&log(), size);
        press(&mut state, "= G k k -");
        let terminal = terminal(&state, &theme);
        for cell in terminal.backend().buffer().content() {
            assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        }
    }
}

#[test]
fn where_tokens_and_time_went_is_one_key_away() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.state.size = (110, 34);
    desk.press("| U")
        .sees("by tool")
        .sees("turns that cost most")
        .sees("largest results");
    insta::assert_snapshot!("usage", desk.screen());
    desk.press("esc").sees("5m59s").sees("23.");
}

#[test]
fn a_task_opens_the_transcript_of_its_sub_agent_and_q_comes_back() {
    let line = |uuid: &str,
                parent: Option<&str>,
                chain: bool,
                role: &str,
                content: serde_json::Value| {
        serde_json::json!({
            "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": chain,
            "message": {"role": role, "content": content},
        })
        .to_string()
    };
    let prompt = "Find every caller of retry_delay.";
    let task = serde_json::json!([{"type": "tool_use", "id": "t", "name": "Task",
        "input": {"description": "find callers", "prompt": prompt}}]);
    let result =
        serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": "two callers"}]);
    let text = [
        line("1", None, false, "user", "Cap the delay.".into()),
        line("2", Some("1"), false, "assistant", task),
        line("11", None, true, "user", prompt.into()),
        line(
            "12",
            Some("11"),
            true,
            "assistant",
            "In backoff.rs and in net.rs.".into(),
        ),
        line("3", Some("2"), false, "user", result),
    ]
    .join("\n");
    let mut state = flowing(&text, (100, 20));
    press(&mut state, "g j");
    let shown = screen(&state);
    assert!(
        shown.contains("Task(find callers)") && shown.contains("sub-agent, 2 turns"),
        "{shown}"
    );
    press(&mut state, "enter");
    assert!(
        screen(&state).contains("In backoff.rs and in net.rs."),
        "{}",
        screen(&state)
    );
    press(&mut state, "q");
    assert!(
        screen(&state).contains("Task(find callers)"),
        "{}",
        screen(&state)
    );
    assert_eq!((state.session, state.item), (0, 1));
    assert!(matches!(press(&mut state, "q")[..], [Effect::Close]));
}

#[test]
fn another_model_an_interrupt_and_pictures_leave_marks() {
    let line = |number: usize, role: &str, message: serde_json::Value| {
        let parent = number.checked_sub(1).map(|before| before.to_string());
        let line = serde_json::json!({
            "type": role, "uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
            "message": message, "timestamp": format!("2026-03-02T14:02:1{number}Z"),
        });
        line.to_string()
    };
    let user = |text: &str| serde_json::json!({"role": "user", "content": text});
    let reply = |model: &str| {
        let text = serde_json::json!({"type": "text", "text": "Yes."});
        serde_json::json!({"id": model, "role": "assistant", "model": model, "content": [text]})
    };
    let stop = serde_json::json!({"type": "text", "text": "[Request interrupted by user]"});
    let lines = [
        line(0, "user", user("Well?")),
        line(1, "assistant", reply("claude-sonnet-4-5-20250929")),
        line(
            2,
            "user",
            serde_json::json!({"role": "user", "content": [stop]}),
        ),
        line(3, "assistant", reply("claude-opus-4-5")),
    ];
    let state = flowing(&lines.join("\n"), (100, 20));
    let seen = screen(&state);
    assert!(
        seen.contains("────── from here on claude-opus-4-5 ──────"),
        "{seen}"
    );
    assert!(
        seen.contains("────── [Request interrupted by user] ──────"),
        "{seen}"
    );
    let pictures = include_str!("../../../../sessions/too-many-pictures.json");
    let seen = screen(&flowing(pictures, (100, 20)));
    assert!(seen.contains("│ [image 48x32]"), "{seen}");
}

#[test]
fn the_run_stands_as_bars_over_time() {
    let mut state = flowing(&log(), (120, 40));
    press(&mut state, "Z");
    insta::assert_snapshot!("timeline", screen(&state));
}

/// The rows of the transcript that hold a text.
fn rows_with<'a>(screen: &'a str, text: &str) -> Vec<&'a str> {
    screen.lines().filter(|line| line.contains(text)).collect()
}

#[test]
fn what_a_turn_took_leaves_room_for_who_speaks_and_when() {
    for width in (40..=140).rev() {
        let mut state = flowing(&log(), (width, 40));
        for keys in ["g j", "enter"] {
            press(&mut state, keys);
            let shown = screen(&state);
            // Narrow screens have the detail alone.
            if !shown.contains("turn 1") {
                continue;
            }
            for (turn, clock) in [(2, "14:02:13  assistant"), (3, "14:02:21  assistant")] {
                let head = format!("{clock}  turn {turn}");
                assert!(shown.contains(&head), "{width}: {head}\n{shown}");
            }
            assert!(shown.contains("Bash(cargo test"), "{width}\n{shown}");
        }
    }
    let costs = |width| rows_with(&screen(&flowing(&log(), (width, 40))), "turn 2 ").concat();
    let (wide, narrow) = (costs(120), costs(60));
    assert!(wide.contains("cached") && wide.contains("$0."), "{wide}");
    assert!(
        !narrow.contains("cached") && narrow.contains("$0."),
        "{narrow}"
    );
}

/// A call of a tool with its result.
fn called(tool: &str, input: serde_json::Value, result: &str) -> String {
    let messages = serde_json::json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": tool, "input": input}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]},
    ]);
    messages.to_string()
}

#[test]
fn a_file_that_is_written_shows_its_first_lines_and_unfolds_from_its_title() {
    for lines in [77, 1_200] {
        let content: String = (1..=lines).map(|line| format!("row {line}\n")).collect();
        let input = serde_json::json!({"file_path": "/a/notes.md", "content": content});
        let mut state = flowing(&called("Write", input, "File created."), (100, 24));
        press(&mut state, "g j");
        let shown = screen(&state);
        let title = rows_with(&shown, "Write(/a/notes.md)").concat();
        assert!(title.contains(&format!("+{lines}")), "{shown}");
        assert!(
            !title.contains("-0") && !title.contains("1 line"),
            "{shown}"
        );
        assert!(
            shown.contains("+ row 1 ") && !shown.contains("row 11 "),
            "{shown}"
        );
        press(&mut state, "space");
        let shown = screen(&state);
        assert!(shown.contains("Write(/a/notes.md)"), "{shown}");
        assert!(
            shown.contains("+ row 1 ") && shown.contains("+ row 12 "),
            "{shown}"
        );
    }
}

#[test]
fn counts_of_the_first_chunk_are_marked_wherever_they_are_summed_up() {
    let text = log().replace(
        "I'll look at `retry_delay` first.",
        &"I'll look at `retry_delay` first. ".repeat(20),
    );
    let mut state = flowing(
        &text.replace("\"output_tokens\":140", "\"output_tokens\":3"),
        (120, 40),
    );
    let shown = screen(&state);
    let head = rows_with(&shown, "turn 2 ").concat();
    assert!(head.contains("≥3 out") && head.contains("≥$0."), "{shown}");
    assert!(
        rows_with(&shown, "turn 3 ").concat().contains("  512 out"),
        "{shown}"
    );
    let header = shown.lines().next().unwrap_or_default();
    assert!(
        header.contains("≥23.") && header.contains("≥$0.0"),
        "{shown}"
    );
    press(&mut state, "U");
    let shown = screen(&state);
    assert!(
        shown.contains("≥: of 1 reply the recording counts only the beginning"),
        "{shown}"
    );
    assert!(shown.contains("other context"), "{shown}");
}

#[test]
fn lines_that_are_left_out_are_counted_as_in_the_row_of_the_call() {
    let result: String = (1..=22).map(|line| format!("row {line}\n\n")).collect();
    let text = called("Bash", serde_json::json!({"command": "ls"}), &result);
    let shown = screen(&flowing(&text, (100, 24)));
    assert!(shown.contains("43 lines"), "{shown}");
    assert!(
        shown.contains("row 3 ") && !shown.contains("row 4 "),
        "{shown}"
    );
    assert!(shown.contains("40 lines"), "{shown}");
}

#[test]
fn a_filter_is_named_in_the_flow_and_every_turn_keeps_its_head() {
    let mut state = flowing(&log(), (120, 40));
    assert!(screen(&state).contains("turn 2"), "{}", screen(&state));
    let session = state.session().unwrap();
    let calls: Vec<u32> = (0_u32..)
        .zip(&session.items)
        .filter(|(_, item)| item.kind.word() == "call")
        .map(|(index, _)| index)
        .collect();
    let turns: Vec<usize> = calls
        .iter()
        .map(|call| session.items[*call as usize].turn as usize + 1)
        .collect();
    let shown = Arc::new(Shown::new(session, calls));
    let effects = press(&mut state, "f k i n d : c a l l enter");
    let sifting = effects.iter().rev().find_map(|effect| match effect {
        Effect::Sift(sifting) => Some(sifting.document.clone()),
        _ => None,
    });
    let report = Report::Sifted {
        document: sifting.unwrap(),
        session: 0,
        shown,
        is_preview: false,
    };
    update(&mut state, Message::Report(report));
    state.prepare();
    let seen = screen(&state);
    assert!(seen.contains("3 items of f kind:call"), "{seen}");
    for turn in turns {
        assert!(seen.contains(&format!("turn {turn}")), "{turn}: {seen}");
    }
    press(&mut state, "esc f");
    let seen = screen(&state);
    assert!(!seen.contains("kind:call"), "{seen}");
}

#[test]
fn a_hit_in_folded_text_is_unfolded_and_seen() {
    let long: Vec<String> = (0..300).map(|line| format!("line {line}")).collect();
    let text = serde_json::json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "one", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": long.join("\n")},
        {"role": "assistant", "content": "done"},
    ]);
    let mut state = flowing(&text.to_string(), (100, 24));
    assert!(!screen(&state).contains("line 277"));
    state.needle = Some(Arc::new(
        retake_live::search::Needle::new("line 277").unwrap(),
    ));
    let place = super::super::state::document::Place {
        session: 0,
        item: 2,
    };
    update(
        &mut state,
        Message::Report(Report::Found(Some((place, false)))),
    );
    state.prepare();
    assert!(screen(&state).contains("line 277"), "{}", screen(&state));
    state.prepare();
    assert!(screen(&state).contains("line 277"), "it stays there");
}

#[test]
fn q_and_esc_close_the_pane_of_the_item_before_the_program() {
    for (size, key) in [((120, 24), "q"), ((120, 24), "esc"), ((80, 24), "q")] {
        let mut state = flowing(&log(), size);
        press(&mut state, "tab");
        let pane = super::super::state::layout::Pane::Detail;
        assert_eq!(state.focus, pane);
        assert!(press(&mut state, key).is_empty(), "{key}");
        assert_ne!(state.focus, pane, "{key}");
    }
    let mut state = flowing(&log(), (120, 24));
    assert!(matches!(press(&mut state, "tab q q")[..], [Effect::Close]));
}

#[test]
fn the_title_of_a_call_is_found_by_its_argument() {
    let mut state = flowing(&log(), (120, 24));
    press(&mut state, "/ B a s h ( c a r g o enter");
    let searched = |state: &mut State| -> usize {
        let effects = update(state, Message::Report(Report::Found(None)));
        let searches = effects.iter().filter(|it| matches!(it, Effect::Search(_)));
        searches.count()
    };
    assert_eq!(searched(&mut state), 1);
    let needle = state.needle.clone().unwrap();
    assert_eq!(needle.find(b"cargo test", 0), Some(0));
    assert_eq!(searched(&mut state), 0, "only once");
    assert_eq!(state.notice.as_deref(), Some("not found"));
}
