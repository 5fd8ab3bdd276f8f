//! The transcript: one flowing view with the cursor of the columns.

use super::desk::Desk;
use super::*;
use crate::tui::state::Stage;
use crate::tui::state::layout::Pane;
use crate::tui::timeline::TimelinePage;
use ratatui::buffer::Cell;
use ratatui::style::Style;
use retake_core::usage::SessionUsage;

const CUT: &str = include_str!("../../../../sessions/orphan-at-compaction.jsonl");
const UNKNOWN: &str = include_str!("../../../../sessions/unknown-tool.json");

/// A log of Claude Code with times, tokens, an edit, a failing command and a thought.
pub(super) fn log() -> String {
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

pub(super) fn flowing(text: &str, size: (u16, u16)) -> State {
    let mut state = opened(text, size);
    press(&mut state, "|");
    let document = state.document.clone().unwrap();
    let session = document.session(0).unwrap();
    let totals = SessionUsage::of(session, &state.prices, &|| false, &mut |_, _| ());
    state.take_totals(document.clone(), 0, Arc::new(totals.unwrap().unwrap()));
    state
}

#[test]
fn the_diff_of_an_edit_that_failed_is_not_drawn_as_applied() {
    let done = r#""content":"The file has been updated.","is_error":false"#;
    let text = log();
    assert!(text.contains(done), "{text}");
    let failed = text.replace(done, r#""content":"File has changed.","is_error":true"#);
    let heading = "not applied: the call failed";
    for keys in ["", "|"] {
        let shown = |text: &str| {
            let mut state = flowing(text, (120, 60));
            press(&mut state, keys);
            state.go_to(5);
            state.prepare();
            screen(&state)
        };
        assert!(!shown(&text).contains(heading), "{}", shown(&text));
        assert!(shown(&failed).contains(heading), "{}", shown(&failed));
    }
}

#[test]
fn a_call_whose_result_has_a_finding_is_not_ticked() {
    for (name, fine, faulty) in [
        ("misplaced-results.json", "find_sample", "queue_assay"),
        ("output-before-call.json", "read_sensor", "set_vent"),
    ] {
        let mut desk = Desk::of(name);
        desk.state.set_flowing(true);
        desk.press("g").sees(&format!("✓ {fine}("));
        desk.sees(&format!("● {faulty}("));
    }
    let mut desk = Desk::of("misplaced-results.json");
    desk.go_to(4);
    let shown = desk.screen();
    let is_faulty = |row: &&str| row.contains("There is enough") || row.contains("queue_assay");
    let mut rows = shown.lines().filter(is_faulty);
    assert!(
        rows.clone().count() > 1 && !rows.any(|row| row.contains('✓')),
        "{shown}"
    );
}

/// A rollout of Codex with one call and what its runtime answered.
fn rollout(tool: &str, arguments: serde_json::Value, output: &str) -> String {
    let call = serde_json::json!({"type": "function_call", "name": tool, "call_id": "c1",
        "arguments": arguments.to_string()});
    let output =
        serde_json::json!({"type": "function_call_output", "call_id": "c1", "output": output});
    let lines = [("session_meta", serde_json::json!({"id": "1"}))]
        .into_iter()
        .chain([("response_item", call), ("response_item", output)]);
    let lines = lines.map(|(kind, payload)| {
        serde_json::json!({"timestamp": "t", "type": kind, "payload": payload}).to_string() + "\n"
    });
    lines.collect()
}

#[test]
fn a_command_of_codex_that_failed_says_so_with_its_exit_code() {
    let command = serde_json::json!({"command": ["bash", "-lc", "cargo test"]});
    let wrapped = |text: &str, code: u8| {
        serde_json::json!({"output": text, "metadata": {"exit_code": code, "duration_seconds": 3.7}})
            .to_string()
    };
    let lines = "Wall time: 1 seconds\nProcess exited with code 1\nOutput:\nerror: no";
    for (output, sign, exit) in [
        (
            &*wrapped("error: no", 101),
            "▲ shell(cargo test)",
            "exit 101",
        ),
        (lines, "▲ shell(cargo test)", "exit 1"),
        (&wrapped("", 1), "✓ shell(cargo test)", "exit 1"),
    ] {
        let shown = screen(&flowing(
            &rollout("shell", command.clone(), output),
            (100, 30),
        ));
        assert!(shown.contains(sign) && shown.contains(exit), "{shown}");
    }
    let shown = screen(&flowing(
        &rollout("shell", command, &wrapped("ok", 0)),
        (100, 30),
    ));
    assert!(!shown.contains("exit"), "{shown}");
}

#[test]
fn a_patch_of_codex_that_failed_is_not_drawn_as_applied() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: c.rs\n@@\n-old\n+new\n\
        *** Add File: b.rs\n+hi\n*** Delete File: d.rs\n*** End Patch";
    let arguments = serde_json::json!({"command": ["apply_patch", patch]});
    let heading = "not applied: the call failed";
    for output in [
        "apply_patch verification failed: Failed to find expected lines in /tmp/a.rs:\nold",
        "patch rejected by user",
    ] {
        let shown = screen(&flowing(
            &rollout("shell", arguments.clone(), output),
            (140, 30),
        ));
        assert!(shown.contains(heading), "{shown}");
        assert!(!shown.contains("✓ "), "{shown}");
    }
    for (code, has_failed) in [(1, true), (0, false)] {
        let output = serde_json::json!({"output": "done", "metadata": {"exit_code": code}});
        let text = rollout("shell", arguments.clone(), &output.to_string());
        let shown = screen(&flowing(&text, (140, 30)));
        assert_eq!(shown.contains(heading), has_failed, "{shown}");
        let files = "a.rs (moved to c.rs), b.rs (new file), d.rs (deleted)";
        assert!(shown.contains(files), "{shown}");
    }
}

#[test]
fn reasoning_beside_a_message_and_named_files_are_no_raw_json() {
    let chat = serde_json::json!([{"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "", "reasoning": "We need to look."}]);
    let shown = screen(&flowing(&chat.to_string(), (100, 30)));
    assert!(shown.contains("thinking  We need to look."), "{shown}");
    assert!(!shown.contains("\"reasoning\""), "{shown}");
    let file = serde_json::json!({"file_uri": "gs://a/small_video.mp4", "mime_type": "video/mp4"});
    let gemini = serde_json::json!({"contents": [
        {"role": "user", "parts": [{"text": "What is it?"}, {"file_data": file}]},
        {"role": "model", "parts": [{"text": "A film."}]}]});
    let shown = screen(&flowing(&gemini.to_string(), (100, 30)));
    assert!(shown.contains("[video/mp4 small_video.mp4]"), "{shown}");
}

#[test]
fn the_steps_of_a_plan_are_shown_while_it_is_folded() {
    let steps = [
        ("Read", "completed"),
        ("Write", "in_progress"),
        ("Test", "pending"),
    ];
    let steps = steps.map(|(step, status)| serde_json::json!({"step": step, "status": status}));
    let text = rollout(
        "update_plan",
        serde_json::json!({"plan": steps}),
        "Plan updated",
    );
    let shown = screen(&flowing(&text, (100, 30)));
    for step in ["[x] Read", "[>] Write", "[ ] Test"] {
        assert!(shown.contains(step), "{shown}");
    }
}

#[test]
fn folded_json_says_that_it_is_cut() {
    let calls = |result: &str| {
        serde_json::json!([{"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
                "function": {"name": "find", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": result}])
    };
    let long = serde_json::json!({"rows": vec!["a row of the table"; 90]}).to_string();
    let laid_out = "{\n  \"rows\": []\n}";
    for (result, is_cut) in [(&*long, true), ("{\"rows\": []}", false), (laid_out, false)] {
        let state = flowing(&calls(result).to_string(), (100, 30));
        let shown = screen(&state);
        assert!(is_cut || shown.contains(r#"│ {"rows": []}"#), "{shown}");
        assert_eq!(shown.contains(" more lines"), is_cut, "{shown}");
    }
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

/// A click of the left button.
fn click(state: &mut State, column: u16, row: usize) {
    let event = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    };
    update(state, Message::Mouse(event));
    state.prepare();
}

#[test]
fn a_click_on_what_is_left_out_unfolds_it_and_one_on_a_row_of_it_folds_nothing() {
    let mut state = flowing(&log(), (100, 40));
    press(&mut state, "g");
    let shown = screen(&state);
    let row = shown.lines().position(|row| row.contains("more lines"));
    click(&mut state, 20, row.unwrap());
    let shown = screen(&state);
    let unfolded = shown.matches("│ more ").count();
    assert!(unfolded > 10 && !shown.contains("more lines"), "{shown}");
    click(&mut state, 20, 20);
    assert_eq!(screen(&state), shown);
}

#[test]
fn a_click_on_the_scrollbar_scrolls_there() {
    let said = |number: usize| {
        let role = ["user", "assistant"][number % 2];
        serde_json::json!({"role": role, "content": format!("Words {number} here.")})
    };
    let mut messages: Vec<_> = (0..100).map(said).collect();
    let lines: Vec<_> = (1..=35).map(|line| format!("- point {line}")).collect();
    messages[99]["content"] = lines.join("\n").into();
    let text = serde_json::Value::from(messages).to_string();
    let mut state = flowing(&text, (100, 22));
    press(&mut state, "g");
    // Twenty rows of the flow below the header.
    for (row, item, top) in [
        (11, 50, "Words 50"),
        (6, 25, "Words 25"),
        (20, 99, "point 35"),
        (1, 0, "Words 0"),
    ] {
        click(&mut state, 99, row);
        let shown = screen(&state);
        assert_eq!(state.item, item, "{shown}");
        assert!(shown.contains(top), "{shown}");
    }
    let mut few = flowing(
        &serde_json::json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": lines.join("\n")},
        ])
        .to_string(),
        (100, 22),
    );
    press(&mut few, "g");
    click(&mut few, 99, 16);
    let shown = screen(&few);
    assert!(
        shown.contains("point 20") && !shown.contains("point 2 "),
        "{shown}"
    );
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
fn an_overview_has_one_line_for_each_message_and_call() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.press("| g")
        .sees("Then the cap.")
        .sees("Exit code 101");
    desk.press("-")
        .misses("Then the cap.")
        .misses("Exit code 101");
    desk.sees("First the code. …").sees("Edit(src/backoff.rs)");
    desk.press("-").sees("Then the cap.").press("-");
    desk.press("=").sees("Then the cap.").press("-");
    desk.sees("Then the cap.")
        .press("-")
        .misses("Then the cap.");
}

#[test]
fn where_tokens_and_time_went_is_one_key_away() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.state.size = (110, 34);
    desk.press("| U")
        .sees("by tool")
        .sees("most expensive turns")
        .sees("largest results");
    insta::assert_snapshot!("usage", desk.screen());
    desk.press("esc").sees("5m59s").sees("23.");
}

#[test]
fn the_totals_are_sorted_lead_to_a_turn_and_esc_comes_back() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.state.size = (110, 50);
    desk.press("| g j o").sees("most expensive turns");
    let from = desk.state.item;
    let first_row = |desk: &Desk, title: &str| {
        let screen = desk.screen();
        let mut rows = screen.lines().skip_while(|row| !row.contains(title));
        rows.nth(1).unwrap_or_default().to_owned()
    };
    desk.press("o")
        .sees("Usage, by cost")
        .sees("most expensive results");
    desk.press("o").sees("Usage, by time");
    let slowest = first_row(&desk, "slowest calls");
    assert!(slowest.contains("Bash(cargo test)"), "{slowest}");
    desk.press("o").sees("Usage, by size");
    let largest = first_row(&desk, "turns with most tokens");
    assert!(largest.contains("turn 4"), "{largest}");
    desk.press("enter")
        .sees(&format!("esc goes back to turn {}", 2));
    assert_eq!(desk.state.turn(), 3);
    // The totals are where they were left.
    desk.press("U").sees("Usage, by size").press("esc esc");
    assert_eq!(desk.state.item, from);
    desk.press("esc");
    assert_eq!(desk.state.item, from, "there is one way back");
}

/// The log of [`task_log`] with a finding in its sub-agent.
fn faulty_task_log() -> String {
    let stray = serde_json::json!([{"type": "tool_result", "tool_use_id": "zz", "content": "x"}]);
    let line = serde_json::json!({
        "type": "user", "uuid": "13", "parentUuid": "12", "sessionId": "s", "isSidechain": true,
        "message": {"role": "user", "content": stray},
    });
    format!("{}\n{line}", task_log())
}

/// A log with a call that began a sub-agent, whose messages are in the same file.
pub(super) fn task_log() -> String {
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
    [
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
    .join("\n")
}

#[test]
fn q_from_a_sub_agent_shows_its_task_in_the_row_where_it_was() {
    let line = |uuid: &str, parent: Option<&str>, content: String| {
        let message = serde_json::json!({"role": "user", "content": content});
        let entry = serde_json::json!({"type": "user", "uuid": uuid, "parentUuid": parent,
            "sessionId": "s", "isSidechain": false, "message": message});
        entry.to_string()
    };
    let words = |number: usize| vec![format!("words {number}"); 30].join("\n");
    let log = [
        task_log(),
        line("4", Some("3"), words(4)),
        line("5", Some("4"), words(5)),
    ];
    let mut state = flowing(&log.join("\n"), (100, 20));
    press(&mut state, "g j j j j k k k");
    let row_of_task = |state: &State| {
        let shown = screen(state);
        let row = shown.lines().position(|row| row.contains("Task(find"));
        row.unwrap_or_else(|| panic!("{shown}"))
    };
    let row = row_of_task(&state);
    press(&mut state, "enter");
    assert_eq!(state.session, 1);
    state.prepare();
    press(&mut state, "q");
    state.prepare();
    assert_eq!((state.session, row_of_task(&state)), (0, row));
}

#[test]
fn a_task_opens_the_transcript_of_its_sub_agent_and_q_comes_back() {
    let mut state = flowing(&task_log(), (100, 20));
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
fn the_result_of_a_task_opens_its_sub_agent_too_and_the_finding_key_goes_on_from_its_start() {
    let mut state = flowing(&faulty_task_log(), (100, 20));
    state.go_to(2);
    assert_eq!(
        (state.session, state.item().unwrap().kind),
        (0, retake_core::session::Kind::Output)
    );
    press(&mut state, "enter");
    assert_eq!((state.session, state.item), (1, 0), "{}", screen(&state));
    press(&mut state, "]");
    assert_eq!((state.session, state.item), (1, 2), "{}", screen(&state));
    press(&mut state, "q");
    assert_eq!((state.session, state.item), (0, 2));
}

#[test]
fn the_list_of_findings_has_those_of_sub_agents_and_leads_to_them() {
    let mut state = flowing(&faulty_task_log(), (140, 20));
    assert!(
        screen(&state).contains("in sub-agents"),
        "{}",
        screen(&state)
    );
    press(&mut state, "4");
    let shown = screen(&state);
    let parts = [
        "Findings 1",
        "session 2  sub-agent 1",
        "▲ orphan-output",
        "q goes back",
    ];
    assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
    press(&mut state, "enter");
    assert_eq!((state.session, state.item), (1, 2), "{}", screen(&state));
    press(&mut state, "esc esc");
    assert_eq!(state.session, 0, "{}", screen(&state));
    let agent = retake_live::SubAgent {
        path: "agent-1.jsonl".into(),
        id: "1".to_owned(),
        prompt: "Look around.".to_owned(),
        usage: SessionUsage::default(),
        errors: 3,
        warnings: 0,
    };
    let mut state = flowing(&log(), (140, 20));
    update(&mut state, Message::Report(Report::SubAgents(vec![agent])));
    press(&mut state, "4");
    let shown = screen(&state);
    assert!(shown.contains("●3  Look around."), "{shown}");
    assert!(shown.contains("enter on its call"), "{shown}");
}

#[test]
fn of_the_list_of_findings_only_enter_leaves_where_the_operator_reads() {
    let text = faulty_task_log();
    for keys in ["4 esc", "4 q", "4 tab esc", "4 1", "4 j k q", "4 4 esc"] {
        let mut state = flowing(&text, (140, 20));
        press(&mut state, "g j");
        let shown = screen(&state);
        press(&mut state, keys);
        assert_eq!(screen(&state), shown, "{keys}");
    }
    for keys in ["4 esc", "4 2"] {
        let mut state = opened(&text, (140, 20));
        press(&mut state, "| j space j");
        let place = (state.session, state.item, state.on_turn);
        press(&mut state, keys);
        let now = (state.session, state.item, state.on_turn);
        assert_eq!(now, place, "{keys}");
    }
    let mut state = flowing(&text, (140, 20));
    press(&mut state, "g 4 : 1 enter");
    assert_eq!(
        (state.session, state.item),
        (1, 0),
        "the turn of what was seen"
    );
    let mut desk = Desk::of("invalid-tool-name.json");
    desk.press("f `kind:user` enter");
    let item = desk.state.item;
    desk.press("4 j j");
    assert_ne!(desk.state.item, item);
    desk.press("esc").sees("kind:user");
    assert_eq!(desk.state.item, item);
}

#[test]
fn the_list_of_sessions_says_how_many_items_of_each_the_filter_lets_through() {
    let mut state = flowing(TWO_SESSIONS, (140, 24));
    press(&mut state, "f k i n d : u s e r enter");
    let document = state.document.clone().unwrap();
    for report in [
        Report::Sifted {
            document: document.clone(),
            session: 0,
            shown: Arc::new(Shown::new(state.session().unwrap(), Vec::new())),
            is_preview: false,
        },
        Report::SiftedElsewhere {
            document,
            items: vec![(1, 2)],
        },
    ] {
        update(&mut state, Message::Report(report));
    }
    let shown = screen(&state);
    assert!(shown.contains("2 in 1 other session"), "{shown}");
    press(&mut state, "S");
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let marked = letters_in(&state, &theme, theme.marked).join(" ");
    assert!(marked.contains("2 items"), "{marked}");
    let dim = letters_in(&state, &theme, theme.dim).join(" ");
    assert!(!dim.contains("task 1"), "{dim}");
    press(&mut state, "j");
    let dim = letters_in(&state, &theme, theme.dim).join(" ");
    assert!(dim.contains("task 0"), "{dim}");
    press(&mut state, "esc");
    assert!(state.filter.is_some(), "the list is closed first");
    assert_eq!(state.focus, Pane::Turns);
}

#[test]
fn the_calls_of_a_sub_agent_with_a_log_of_its_own_are_counted_by_a_part_of_the_name_of_their_tool()
{
    let called = retake_core::usage::ToolUsage {
        name: "mcp__happy__change_title".to_owned(),
        calls: 3,
        ..Default::default()
    };
    let usage = SessionUsage {
        by_tool: vec![called],
        ..SessionUsage::default()
    };
    let agent = retake_live::SubAgent {
        path: "agent-1.jsonl".into(),
        id: "1".to_owned(),
        prompt: "Look around.".to_owned(),
        usage,
        errors: 0,
        warnings: 0,
    };
    for (filter, count) in [("change", 3), ("happy.change", 3), ("other", 0)] {
        let mut state = flowing(&log(), (140, 20));
        let found = Report::SubAgents(vec![agent.clone()]);
        update(&mut state, Message::Report(found));
        let letters = filter.chars().map(|letter| format!("{letter} "));
        let keys = format!("f t o o l : {}enter", letters.collect::<String>());
        press(&mut state, &keys);
        let file = state.document.as_ref().unwrap().recording.sessions.len();
        assert_eq!(state.shown_of(file), Some(count), "{filter}");
    }
}

#[test]
fn pages_end_at_the_last_item_and_at_the_first_one() {
    for keys in ["PgDn", "^d"] {
        let mut state = flowing(&log(), (100, 14));
        let last = state.session().unwrap().items.len() - 1;
        press(&mut state, "g");
        let mut items = vec![state.item];
        while items.last() != Some(&last) {
            press(&mut state, keys);
            assert!(items.len() < 40 && state.item > 0, "{keys}: {items:?}");
            items.push(state.item);
        }
        assert!(items.is_sorted(), "{keys}: {items:?}");
        let back = if keys == "^d" { "^u" } else { "PgUp" };
        let presses = items.len() + 2;
        (0..presses).for_each(|_| drop(press(&mut state, back)));
        assert_eq!(state.item, 0, "{back}");
    }
    let mut state = flowing(&log(), (100, 60));
    press(&mut state, "g ^d");
    let last = state.session().unwrap().items.len() - 1;
    assert_eq!(state.item, last, "all of it is in sight");
    press(&mut state, "^u");
    assert_eq!(state.item, 0);
}

#[test]
fn the_line_of_a_call_names_the_picture_of_its_folded_result() {
    let pictures = include_str!("../../../../sessions/too-many-pictures.json");
    let pictures: serde_json::Value = serde_json::from_str(pictures).unwrap();
    let data = pictures.to_string();
    let begin = data.find("iVBOR").unwrap();
    let data = data[begin..].split('"').next().unwrap();
    let line = |role: &str, content: serde_json::Value| {
        let number = u8::from(role == "user");
        let parent = (number > 0).then_some("0");
        serde_json::json!({"type": role, "uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
            "message": {"role": role, "content": content}})
        .to_string()
    };
    let call = serde_json::json!([{"type": "tool_use", "id": "t", "name": "Read",
        "input": {"file_path": "/tmp/shot.png"}}]);
    let source = serde_json::json!({"type": "base64", "media_type": "image/png", "data": data});
    let image = serde_json::json!([{"type": "image", "source": source}]);
    let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": image}]);
    let text = [line("assistant", call), line("user", result)].join("\n");
    let mut state = flowing(&text, (100, 20));
    press(&mut state, "g");
    let shown = screen(&state);
    let row = shown.lines().find(|row| row.contains("Read(")).unwrap();
    assert!(row.contains("image png 48x32, "), "{shown}");
    assert!(!row.contains("1 line"), "{shown}");
    press(&mut state, "P");
    assert!(
        !screen(&state).contains("no image here"),
        "{}",
        screen(&state)
    );
}

#[test]
fn short_ends_and_the_last_answer_are_not_folded_away() {
    let text_of = |lines: usize| {
        let lines: Vec<String> = (1..=lines).map(|line| format!("line {line}")).collect();
        lines.join("\n\n")
    };
    let shown = |last: &str| {
        let text = serde_json::json!({"messages": [
            {"role": "user", "content": text_of(9)},
            {"role": "assistant", "content": text_of(60)},
            {"role": "user", "content": last},
            {"role": "assistant", "content": text_of(30)},
        ]});
        let mut state = flowing(&text.to_string(), (100, 200));
        press(&mut state, "g");
        screen(&state)
    };
    let seen = shown("and now?");
    assert!(
        seen.contains("more lines"),
        "the answer before it is folded: {seen}"
    );
    assert_eq!(seen.matches("more line").count(), 1, "{seen}");
    let call = serde_json::json!({"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}});
    let with_result = |lines: usize| {
        let lines: Vec<String> = (1..=lines).map(|line| format!("line {line}")).collect();
        let text = serde_json::json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": lines.join("\n")},
        ]});
        screen(&flowing(&text.to_string(), (100, 40)))
    };
    assert!(!with_result(5).contains("more line"), "{}", with_result(5));
    assert!(
        with_result(6).contains("3 more lines"),
        "{}",
        with_result(6)
    );
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
    assert!(seen.contains("│ [image png 48x32, "), "{seen}");
}

#[test]
fn the_run_is_bars_over_time_and_each_leads_to_its_item() {
    let mut state = flowing(&log(), (120, 40));
    press(&mut state, "g Z");
    insta::assert_snapshot!("timeline", screen(&state));
    for size in [(80, 24), (140, 42)] {
        let mut state = flowing(&log(), size);
        press(&mut state, "Z g j j j j j");
        let seen = screen(&state);
        let row = seen.lines().find(|row| row.contains("Bash(cargo test)"));
        assert!(row.unwrap().contains("41.0s"), "{seen}");
        assert!(
            seen.contains("model, turn 4  10.2k tokens in, 466 out  $0.010"),
            "{seen}"
        );
        assert!(seen.contains("waiting for you"), "{seen}");
        assert!(seen.contains("^^^"), "the columns of the bar: {seen}");
        press(&mut state, "enter");
        let item_of_bash = state.item;
        let item = &state.session().unwrap().items[state.item];
        assert_eq!(state.session().unwrap().name(item), "Bash");
        assert!(!screen(&state).contains("Timeline"));
        let axis = |state: &State| {
            let seen = screen(state);
            let mut rows = seen.lines().skip_while(|row| !row.contains("Timeline"));
            rows.nth(1).unwrap_or_default().to_owned()
        };
        press(&mut state, "esc Z G +");
        assert!(!axis(&state).contains("14:02:11"), "{}", axis(&state));
        assert!(
            axis(&state).contains("14:08:10") || axis(&state).contains("14:07"),
            "{}",
            axis(&state)
        );
        press(&mut state, "h h h h h h h h");
        assert!(axis(&state).contains("14:02:11"), "{}", axis(&state));
        assert!(!axis(&state).contains("14:08:10"), "{}", axis(&state));
        press(&mut state, "-");
        assert!(axis(&state).contains("14:08:10"), "{}", axis(&state));
        press(&mut state, "esc");
        state.go_to(item_of_bash);
        state.prepare();
        press(&mut state, "Z");
        let on = state.layers.top::<TimelinePage>().is_some();
        assert!(on, "again on the bar of the item");
        press(&mut state, "enter");
        let item = &state.session().unwrap().items[state.item];
        assert_eq!(state.session().unwrap().name(item), "Bash");
        press(&mut state, "Z q");
        assert!(!screen(&state).contains("Timeline"));
    }
}

#[test]
fn the_list_below_the_chart_has_the_bars_of_the_part_that_is_shown() {
    let mut state = flowing(&log(), (120, 40));
    let waiting = |state: &State| screen(state).matches("waiting for you").count();
    press(&mut state, "g Z");
    assert_eq!(waiting(&state), 2, "its lane and its bar");
    press(&mut state, "+ + + +");
    assert!(screen(&state).contains(" Timeline  6 of 7 bars "));
    assert_eq!(waiting(&state), 1, "{}", screen(&state));
    // Beyond its end the part moves to the next bar.
    press(&mut state, "G j");
    assert_eq!(waiting(&state), 2, "{}", screen(&state));
    assert!(screen(&state).contains(" Timeline  1 of 7 bars "));
    press(&mut state, "g k");
    assert!(screen(&state).contains("Bash(cargo test)"));
    press(&mut state, "- - - -");
    assert!(screen(&state).contains(" Timeline ──"));
}

#[test]
fn the_cursor_stays_on_its_item_from_the_transcript_to_the_columns() {
    for size in [(80, 24), (140, 42)] {
        let mut state = flowing(&log(), size);
        press(&mut state, "g j j j");
        let item = state.item;
        assert_ne!(
            state.session().unwrap().turns[state.turn()].items().start,
            item
        );
        press(&mut state, "|");
        assert_eq!(
            (state.item, state.on_turn),
            (item, false),
            "{}",
            screen(&state)
        );
        press(&mut state, "l");
        assert_eq!((state.item, state.focus), (item, Pane::Detail));
        press(&mut state, "h 1 - l l");
        assert_eq!(state.item, item, "from the folded turn");
        press(&mut state, "1 |");
        assert_eq!(state.item, item);
    }
}

#[test]
fn what_a_provider_said_in_place_of_a_reply_is_shown_in_full() {
    let long = "Overloaded: the request could not be served, try again later. ".repeat(4);
    let long = long.trim();
    let pi = [
        serde_json::json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        serde_json::json!({"type": "message", "id": "a1", "parentId": null, "message": {"role": "user", "content": "Go."}}),
        serde_json::json!({"type": "message", "id": "a2", "parentId": "a1", "message": {"role": "assistant", "model": "m-1",
            "content": [{"type": "text", "text": "I beg"}], "stopReason": "error", "errorMessage": long}}),
        serde_json::json!({"type": "message", "id": "a3", "parentId": "a2", "message": {"role": "user", "content": "Again."}}),
    ];
    let claude = [
        serde_json::json!({"type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s", "message": {"role": "user", "content": "Go."}}),
        serde_json::json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s", "isApiErrorMessage": true,
            "message": {"id": "m", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": long}]}}),
    ];
    let lines = |records: &[serde_json::Value]| {
        let lines = records.iter().map(serde_json::Value::to_string);
        lines.collect::<Vec<_>>().join("\n")
    };
    for text in [lines(&pi), lines(&claude)] {
        for size in [(80, 24), (140, 42)] {
            let mut state = flowing(&text, size);
            press(&mut state, "g");
            let seen = screen(&state);
            let words: Vec<&str> = seen.split_whitespace().collect();
            assert!(seen.contains("● error"), "{seen}");
            assert_eq!(
                words.iter().filter(|it| **it == "Overloaded:").count(),
                4,
                "{seen}"
            );
        }
    }
}

#[test]
fn a_text_without_a_letter_beside_others_takes_no_row() {
    let text = serde_json::json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "Done."}]},
    ]);
    let state = flowing(&text.to_string(), (100, 20));
    let seen = screen(&state);
    assert!(seen.contains("Done.") && !seen.contains("{\"t"), "{seen}");
}

#[test]
fn what_a_model_thinks_within_its_text_looks_like_reasoning() {
    let text = serde_json::json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "<think>\nponder\n</think>\n\nanswer"},
    ]);
    let state = flowing(&text.to_string(), (100, 20));
    let theme = Theme::true_colour(Variant::Dark, Glyphs::UNICODE);
    let thought = letters_in(&state, &theme, theme.reasoning).join(" ");
    assert!(
        thought.contains("ponder") && !thought.contains("answer"),
        "{thought}"
    );
}

#[test]
fn a_table_of_markdown_has_its_columns_below_each_other() {
    let table = "Found:\n\n| file | lines | what it does in more words than there is room for |\n|---|--:|---|\n| a.rs | 7 | reads |\n| long/name.rs | 1204 | writes the files that the other one reads, all of them |";
    let text = serde_json::json!([
        {"role": "user", "content": "which files?"},
        {"role": "assistant", "content": table},
    ]);
    for size in [(80, 24), (140, 42)] {
        let mut desk = Desk::with("a.json", &text.to_string());
        desk.state.size = size;
        desk.state.set_flowing(true);
        desk.press("g j");
        desk.sees("| a.rs         |     7 | reads ")
            .sees("| long/name.rs |  1204 | writes the files");
        let shown = desk.screen();
        let bars = |row: &str| row.match_indices('|').map(|(at, _)| at).collect::<Vec<_>>();
        let rows: Vec<_> = shown
            .lines()
            .filter(|row| row.contains('|'))
            .map(bars)
            .collect();
        assert!(
            rows.len() >= 4 && rows.iter().all(|row| *row == rows[0]),
            "{shown}"
        );
    }
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
fn an_unfolded_empty_result_says_so_once() {
    let input = serde_json::json!({"from": "a", "to": "b".repeat(90), "note": ["x", "y"]});
    let mut state = flowing(&called("move", input, ""), (80, 30));
    press(&mut state, "g j space");
    let shown = screen(&state);
    assert!(shown.contains("│ result "), "{shown}");
    assert_eq!(shown.matches("empty").count(), 1, "{shown}");
}

#[test]
fn the_words_of_an_interrupt_are_set_apart_from_its_name() {
    let pi = [
        serde_json::json!({"type": "session", "version": 3, "id": "s", "cwd": "/w", "timestamp": "2026-03-02T10:00:00.000Z"}),
        serde_json::json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-03-02T10:00:01.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}}),
        serde_json::json!({"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-03-02T10:00:02.000Z",
            "message": {"role": "assistant", "content": [], "stopReason": "aborted", "errorMessage": "Request was aborted", "provider": "p", "model": "m", "api": "x"}}),
    ];
    let text = pi.map(|line| line.to_string()).join("\n");
    let shown = screen(&flowing(&text, (100, 20)));
    assert!(
        shown.contains(" interrupted: Request was aborted "),
        "{shown}"
    );
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
fn a_plan_in_words_is_markdown_below_its_call_and_unfolds() {
    let steps: String = (1..=20).map(|step| format!("- step {step}\n")).collect();
    let input = serde_json::json!({"plan": format!("## Plan: scroll\n\n**First**\n{steps}")});
    let mut state = flowing(&called("ExitPlanMode", input, "Approved."), (100, 40));
    press(&mut state, "g j");
    let shown = screen(&state);
    assert!(
        shown.contains("│ First") && !shown.contains("step 20"),
        "{shown}"
    );
    assert!(shown.contains(" more lines"), "{shown}");
    press(&mut state, "space");
    assert!(screen(&state).contains("- step 20"), "{}", screen(&state));
}

#[test]
fn an_unfolded_call_shows_all_of_its_arguments() {
    let unfolded = |tool: &str, input: serde_json::Value, width: u16| {
        let mut state = flowing(&called(tool, input, "ok"), (width, 40));
        press(&mut state, "g j space");
        screen(&state)
    };
    let cell = serde_json::json!({"notebook_path": "/a/n.ipynb", "cell_id": "c7", "new_source": "x = 1\ny = 2"});
    let shown = unfolded("NotebookEdit", cell, 100);
    for part in ["NotebookEdit(/a/n.ipynb)", "+2", "c7", "+ x = 1", "+ y = 2"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let all = serde_json::json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": true});
    let shown = unfolded("Edit", all, 100);
    assert!(
        shown.contains("\"replace_all\": true") && shown.contains("+ y"),
        "{shown}"
    );
    // One argument that the row of the call has no room for.
    let command = format!("echo {} end", "word ".repeat(30));
    let shown = unfolded("Bash", serde_json::json!({"command": command}), 80);
    assert!(shown.contains(" end "), "{shown}");
}

#[test]
fn what_is_left_of_one_line_is_counted_in_the_rows_that_unfold() {
    let words = "word ".repeat(80);
    let input = serde_json::json!({"command": "ls"});
    let shown = screen(&flowing(&called("Bash", input, &words), (80, 30)));
    assert!(shown.contains(" 3 more lines"), "{shown}");
}

#[test]
fn totals_wait_for_the_whole_file_and_come_by_themselves() {
    let mut state = opened(&log(), (100, 30));
    let whole = state.document.clone().unwrap();
    let part = |extent| {
        let recording = whole.recording.clone();
        Arc::new(Document { recording, extent })
    };
    state.show(part(Extent::Head));
    state.stage = Stage::Reading {
        done: 12,
        total: 100,
    };
    for keys in ["U", "Z"] {
        let effects = press(&mut state, keys);
        let counts = |effect: &Effect| matches!(effect, Effect::Total(..));
        assert!(!effects.iter().any(counts), "{effects:?}");
        let shown = screen(&state);
        assert!(shown.contains("12 % of the file is read"), "{shown}");
        press(&mut state, "esc");
    }
    press(&mut state, "U");
    let whole = part(Extent::Whole);
    update(&mut state, Message::Report(Report::Whole(whole.clone())));
    let effects = update(&mut state, Message::Report(Report::Finished(whole)));
    let counts = |effect: &Effect| matches!(effect, Effect::Total(..));
    assert!(effects.iter().any(counts), "{effects:?}");
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
        shown.contains("≥: for 1 reply the recording has only the count of the first chunk"),
        "{shown}"
    );
    assert!(shown.contains("prompts, replies"), "{shown}");
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
    assert!(shown.contains("40 more lines"), "{shown}");
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
    assert!(seen.contains("filter kind:call: 3 items"), "{seen}");
    for turn in turns {
        assert!(seen.contains(&format!("turn {turn}")), "{turn}: {seen}");
    }
    press(&mut state, "esc f");
    let seen = screen(&state);
    assert!(!seen.contains("kind:call"), "{seen}");
}

#[test]
fn what_codex_says_of_an_aborted_turn_is_the_program_s() {
    let said = |text: &str| {
        let payload = serde_json::json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]});
        serde_json::json!({"timestamp": "t", "type": "response_item", "payload": payload})
            .to_string()
    };
    let aborted =
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>";
    let text = format!("{}\n{}\n", said("Fix it."), said(aborted));
    let shown = screen(&flowing(&text, (100, 24)));
    assert!(shown.contains("you  turn 1"), "{shown}");
    assert!(shown.contains("program"), "{shown}");
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
    let hit = crate::tui::effect::Hit {
        place,
        occurrence: 0,
    };
    update(
        &mut state,
        Message::Report(Report::Found(Some((hit, false)))),
    );
    state.prepare();
    assert!(screen(&state).contains("line 277"), "{}", screen(&state));
    state.prepare();
    assert!(screen(&state).contains("line 277"), "it stays there");
}

/// What is set apart as the place that was found last, with its row.
fn found_on(state: &State) -> (String, String) {
    let theme = Theme::true_colour(Variant::Dark, Glyphs::UNICODE);
    let terminal = terminal(state, &theme);
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let is_found = |cell: &&Cell| cell.modifier.contains(theme.matched.add_modifier);
    let found = rows.map(|row| {
        let letters = |cells: Vec<&Cell>| cells.iter().map(|it| it.symbol()).collect::<String>();
        let found = letters(row.iter().filter(is_found).collect());
        (found, letters(row.iter().collect()))
    });
    let mut found: Vec<_> = found.filter(|(found, _)| !found.is_empty()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_search_goes_from_place_to_place_in_folded_and_long_results() {
    let lines = (1..=300).map(|line| match line {
        7 | 30 | 31 => format!("line {line} has a needle"),
        _ => format!("line {line}"),
    });
    let text = serde_json::json!([
        {"role": "user", "content": "find the needle"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "list", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": lines.collect::<Vec<_>>().join("\n")},
        {"role": "assistant", "content": "one needle and another needle"},
    ]);
    for size in [(80, 24), (140, 42)] {
        let mut desk = Desk::with("a.json", &text.to_string());
        desk.state.size = size;
        desk.state.set_flowing(true);
        let mut goes = |keys: &str, label: &str, row: &str| {
            desk.press(keys).sees(label);
            let (found, on) = found_on(&desk.state);
            assert_eq!(found, "needle", "{keys} {label}");
            assert!(on.contains(row), "{label} {row}: {on}");
        };
        goes("/ `needle` enter", "1/6", "find the");
        goes("n", "2/6", "line 7 has");
        goes("n", "3/6", "line 30 has");
        goes("n", "4/6", "line 31 has");
        goes("n", "5/6", "one");
        // What was unfolded for the search is folded again.
        desk.sees("297 more lines").misses("line 31");
        desk.press("n").sees("6/6");
        assert_eq!(found_on(&desk.state).0, "needle");
        desk.press("N N").sees("4/6").sees("line 31");
        desk.press("esc").misses("4/6");
        desk.press("n").sees("/6");
    }
}

#[test]
fn json_that_its_producer_cut_is_laid_out_and_said_to_be_cut() {
    let rows: Vec<_> = (0..40)
        .map(|number| serde_json::json!({"id": number, "tags": ["a", "b"]}))
        .collect();
    let whole = serde_json::to_string_pretty(&serde_json::json!({ "rows": rows })).unwrap();
    let small = serde_json::to_string(&serde_json::json!({ "rows": rows })).unwrap();
    for size in [(80, 24), (140, 42)] {
        for (result, note) in [
            (&whole[..300], "truncated: the JSON ends here"),
            (&small[..300], "truncated: the JSON ends here"),
            (
                &*format!("{}\n... [900 bytes truncated]", &whole[..300]),
                "900 bytes truncated",
            ),
        ] {
            let text = called("list", serde_json::json!({}), result);
            let mut desk = Desk::with("a.jsonl", &text);
            desk.state.size = size;
            desk.state.set_flowing(true);
            desk.press("g =")
                .sees("\"rows\": [")
                .sees("\"id\": 0,")
                .sees("\"tags\": [");
            desk.press("G enter 3 G").sees(note);
            // A line of its own for each value, also where it came in one.
            let shown = desk.screen();
            assert!(!shown.contains("\"id\": 1,\"tags"), "{shown}");
        }
    }
    let text = called("list", serde_json::json!({}), "[INFO] one\n[INFO] two");
    let mut desk = Desk::with("a.jsonl", &text);
    desk.state.set_flowing(true);
    desk.press("g =").sees("[INFO] two").misses("cut:");
}

#[test]
fn words_of_the_json_alone_are_not_found() {
    let text = serde_json::json!([
        {"role": "user", "content": "tell me the content"},
        {"role": "assistant", "content": "nothing", "refusal": null},
    ]);
    let mut desk = Desk::with("a.json", &text.to_string());
    desk.state.set_flowing(true);
    desk.press("/ `content` enter").sees("1/1");
    desk.press("/ `refusal` enter").sees("not found");
    desk.press("t t n").sees("1/1");
}

#[test]
fn a_text_is_found_where_a_row_breaks_it() {
    use crate::tui::text::row_matches;
    let rows = ["  one two", "  three fo", "ur"].map(str::to_owned);
    let found = |text: &str| {
        let needle = retake_live::search::Needle::new(text).unwrap();
        let found = row_matches(&rows, &needle).into_iter();
        found
            .map(|it| (it.row, it.range, it.rest))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("one"), [(0, 2..5, None)]);
    assert_eq!(found("two three"), [(0, 6..9, Some(2..7))]);
    assert_eq!(found("four"), [(1, 8..10, Some(0..2))]);
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
    let notice = state.notice.as_deref();
    assert!(
        notice.is_some_and(|it| it.starts_with("not found")),
        "{notice:?}"
    );
}

/// The letters of a screen in this style.
fn letters_in(state: &State, theme: &Theme, style: Style) -> Vec<String> {
    let terminal = terminal(state, theme);
    let cells = terminal.backend().buffer().content.iter();
    let is_styled = |cell: &Cell| {
        cell.fg == style.fg.unwrap_or_default() && cell.modifier == style.add_modifier
    };
    let letters = cells.map(|cell| match is_styled(cell) {
        true => cell.symbol(),
        false => " ",
    });
    let letters: String = letters.collect();
    letters.split_whitespace().map(str::to_owned).collect()
}

const SOURCE: &str = "     1→fn delay() -> u64 {\n     2→    \"a\" // it's 7\n     3→}\n\n<system-reminder>fn</system-reminder>";

#[test]
fn code_has_the_colours_of_its_language_wherever_a_file_is_named() {
    let written = serde_json::json!({"file_path": "a.py", "content": "import os\nx = 'y'\n"});
    let edited = serde_json::json!({"file_path": "a.go", "old_string": "func a() {\n\treturn\n}", "new_string": "func a() {\n\tdefer b()\n\treturn\n}"});
    let read = serde_json::json!({"file_path": "a.rs"});
    let printed = serde_json::json!({"command": "cat src/a.rs"});
    for variant in Variant::ALL.map(|(variant, _)| variant) {
        let theme = Theme::true_colour(variant, Glyphs::UNICODE);
        let shown = |tool: &str, input: &serde_json::Value, result: &str| {
            let mut state = flowing(&called(tool, input.clone(), result), (100, 30));
            press(&mut state, "=");
            let keywords = letters_in(&state, &theme, theme.json_key);
            (keywords, letters_in(&state, &theme, theme.json_string))
        };
        let rows = [
            (shown("Read", &read, SOURCE), "fn u64", "\"a\""),
            (shown("Bash", &printed, "fn a() {\n\"a\"\n}"), "fn", "\"a\""),
            (shown("Write", &written, "written"), "import", "'y'"),
            (shown("Edit", &edited, "edited"), "func defer return", ""),
        ];
        for ((keywords, strings), keyword, string) in rows {
            if variant == Variant::Mono {
                continue;
            }
            let keywords = keywords.join(" ");
            assert!(keywords.contains(keyword), "{variant:?} {keywords}");
            assert!(
                strings.join(" ").contains(string),
                "{variant:?} {strings:?}"
            );
        }
    }
    let mono = Theme::new(Variant::Mono, Glyphs::UNICODE);
    let mut state = flowing(&called("Read", read, SOURCE), (100, 30));
    press(&mut state, "=");
    let drawn = terminal(&state, &mono);
    let mut cells = drawn.backend().buffer().content.iter();
    assert!(cells.all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn space_is_offered_where_something_is_folded() {
    let text = r#"[{"role":"user","content":"a short question"},{"role":"assistant","content":"an answer"}]"#;
    let mut state = flowing(text, (100, 20));
    let shown = screen(&state);
    assert!(!shown.contains("space"), "{shown}");
    press(&mut state, "space");
    assert!(screen(&state).contains("nothing here is folded"));
    let text = r#"{"model":"gpt-5","instructions":"","input":[{"role":"user","content":"Hi"}]}"#;
    let shown = screen(&flowing(text, (100, 20)));
    assert!(
        shown.contains("system  (empty)") && !shown.contains("space"),
        "{shown}"
    );
    let result = "row\n".repeat(9);
    let mut state = flowing(
        &called("Bash", serde_json::json!({"command": "ls"}), &result),
        (100, 20),
    );
    press(&mut state, "j");
    assert!(screen(&state).contains("space unfold"));
    press(&mut state, "space");
    assert!(screen(&state).contains("space fold"));
}

#[test]
fn findings_about_the_whole_session_stand_at_its_head() {
    let text = r#"{"model":"gpt-5","tools":[{"type":"function","name":"book","parameters":
        {"type":"object","properties":{"seats":{"type":"array"}}}}],
        "input":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}"#;
    let mut state = flowing(text, (100, 20));
    let shown = screen(&state);
    let head = shown.lines().nth(1).unwrap_or_default();
    assert!(
        head.contains("invalid-tool-definition  the tool book"),
        "{shown}"
    );
    press(&mut state, "G");
    assert_eq!(state.item, 2);
    press(&mut state, "[");
    assert_eq!(state.item, 0);
    press(&mut state, "!");
    assert!(screen(&state).contains("invalid-tool-definition (error)"));
}

#[test]
fn a_key_lays_out_only_what_is_seen_of_a_long_transcript() {
    let words = "word ".repeat(180);
    let mut text = String::with_capacity(21 << 20);
    text.push('[');
    for number in 0..11_000 {
        let call = format!(
            r#"{{"role":"assistant","content":"{number} {words}","tool_calls":[{{"id":"c{number}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},"#
        );
        let result =
            format!(r#"{{"role":"tool","tool_call_id":"c{number}","content":"{words}"}},"#);
        text.push_str(&call);
        text.push_str(&result);
    }
    text.push_str(r#"{"role":"user","content":"end"}]"#);
    assert!(text.len() > 20_000_000, "{}", text.len());
    for size in [(80, 24), (140, 42)] {
        let mut state = flowing(&text, size);
        let height = usize::from(size.1);
        for keys in [
            "g",
            "j",
            "PgDn",
            "^d",
            ": 7 0 0 0 enter",
            "k",
            "PgUp",
            "space",
            "G",
            "K",
            "=",
        ] {
            // What is laid out is forgotten: the key has to do it anew.
            state.renew();
            press(&mut state, keys);
            let made = state.transcript.laid_out();
            assert!(made > 0 && made <= 6 * height, "{keys}: {made} items");
        }
    }
}

#[test]
fn a_pane_fills_the_screen_and_the_detail_gets_wider() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.state.size = (140, 30);
    desk.press("3");
    let shown = |desk: &Desk| desk.state.layout.panes.len();
    assert_eq!(shown(&desk), 3);
    desk.press("z");
    assert_eq!(shown(&desk), 1);
    assert!(desk.state.layout.area(Pane::Detail).is_some());
    desk.press("z");
    assert_eq!(shown(&desk), 3);
    let width = |desk: &Desk| desk.state.layout.area(Pane::Detail).unwrap().width;
    let before = width(&desk);
    desk.press("<");
    assert_eq!(width(&desk), before + 7, "a twentieth of the screen");
    desk.press(">");
    assert_eq!(width(&desk), before);
}

#[test]
fn copying_a_call_gives_what_it_does_and_a_result_without_its_colours() {
    let mut desk = Desk::with("log.jsonl", &log());
    let copied = |desk: &mut Desk, keys: &str| {
        desk.press(keys);
        match desk.left.pop() {
            Some(Effect::Copy(bytes)) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    desk.press("/ `Edit(` enter");
    let text = copied(&mut desk, "y y");
    assert!(
        text.starts_with("/home/me/backoff/src/backoff.rs\n"),
        "{text}"
    );
    assert!(text.contains("\n-    base * 2u64.pow(n)\n+"), "{text}");
    let json = copied(&mut desk, "y a");
    assert!(json.starts_with(r#"{"file_path""#), "{json}");
    let input = serde_json::json!({"command": "cat <<X\nx\nX"});
    let mut desk = Desk::with("c.jsonl", &called("Bash", input, "\u{1b}[31mred\u{1b}[0m"));
    desk.press("/ `Bash(` enter");
    assert_eq!(copied(&mut desk, "y y"), "cat <<X\nx\nX");
    assert_eq!(copied(&mut desk, "y o"), "red");
}

#[test]
fn a_filter_says_what_it_does_not_know_while_it_is_typed() {
    let mut desk = Desk::with("log.jsonl", &log());
    desk.press("f `kind:ca`").misses("unknown kind");
    desk.press("`x`").sees("unknown kind `cax`");
    desk.press("esc f `kin:user`").sees("unknown field `kin`");
}

#[test]
fn the_end_is_the_last_row_even_of_a_message_that_is_taller_than_the_screen() {
    let lines: Vec<_> = (1..=36).map(|line| format!("- point {line}")).collect();
    let last = |count: usize| {
        serde_json::json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "First.\n\nSecond."},
            {"role": "user", "content": "All of it."},
            {"role": "assistant", "content": lines[..count].join("\n")},
        ])
        .to_string()
    };
    for (count, keys) in [(36, "G"), (36, "end"), (12, "G"), (2, "G")] {
        let mut state = flowing(&last(count), (100, 20));
        press(&mut state, "g");
        for _ in 0..2 {
            press(&mut state, keys);
            let shown = screen(&state);
            assert_eq!(state.item, 3, "{shown}");
            assert!(shown.contains(&lines[count - 1]), "{shown}");
        }
        press(&mut state, "g G k");
        assert_eq!(state.item == 2, count < 20, "a step goes up in a tall item");
    }
}

#[test]
fn a_turn_that_is_not_read_yet_is_shown_as_soon_as_it_is() {
    let whole = opened(&log(), (100, 30));
    let document = whole.document.clone().unwrap();
    let mut state = State::new("log.jsonl".to_owned(), (100, 30));
    press(&mut state, ": 3 enter");
    assert!(screen(&state).contains("turn 3 is shown once the file is read"));
    update(&mut state, Message::Report(Report::Whole(document.clone())));
    assert_eq!(state.turn(), 2);
    assert!(!screen(&state).contains("is shown once"), "it is shown");
    let mut state = State::new("log.jsonl".to_owned(), (100, 30));
    press(&mut state, ": # 5 enter");
    assert!(screen(&state).contains("item 5 is shown once the file is read"));
    update(&mut state, Message::Report(Report::Whole(document)));
    assert_eq!(state.item, 4);
}

#[test]
fn a_search_in_a_file_that_is_not_read_yet_is_carried_out_as_soon_as_it_is() {
    let document = opened(&log(), (100, 30)).document.unwrap();
    let mut state = State::new("log.jsonl".to_owned(), (100, 30));
    let effects = press(&mut state, "/ c a r g o enter");
    let searches = |effects: &[Effect]| {
        let mut all = effects.iter();
        all.any(
            |effect| matches!(effect, Effect::Search(request) if request.direction.is_forward()),
        )
    };
    assert!(!searches(&effects));
    let shown = screen(&state);
    assert!(
        shown.contains("the search begins once the file is read"),
        "{shown}"
    );
    let read = Message::Report(Report::Whole(document.clone()));
    let effects = update(&mut state, read);
    assert!(searches(&effects), "{effects:?}");
    let grown = update(&mut state, Message::Report(Report::Grown(document)));
    assert!(!searches(&grown), "it is carried out once");
}

#[test]
fn a_finding_that_has_no_room_beside_the_keys_stands_above_them_and_both_are_read() {
    for width in [80, 100, 140] {
        let mut state = flowing(BROKEN_JSON, (width, 24));
        press(&mut state, "]");
        let shown = screen(&state);
        let lines: Vec<&str> = shown.lines().collect();
        for key in ["i inject", "r retry", "e edit", "? help"] {
            assert!(lines[23].contains(key), "{width}: {}", lines[23]);
        }
        let above = lines[21].to_owned() + lines[22];
        for words in [
            "▲ malformed-arguments  the arguments of",
            "arithmetic, which",
        ] {
            assert!(above.contains(words), "{width}: {shown}");
        }
    }
    // A small screen has no row to give.
    let mut state = flowing(BROKEN_JSON, (80, 14));
    press(&mut state, "]");
    let shown = screen(&state);
    assert!(
        shown
            .lines()
            .last()
            .unwrap()
            .contains("malformed-arguments"),
        "{shown}"
    );
}

#[test]
fn a_patch_of_several_files_names_the_first_one_and_says_what_becomes_of_each() {
    let files: Vec<String> = (0..6)
        .map(|it| format!("src/folder/file_{it}.rs"))
        .collect();
    let mut patch = "*** Begin Patch\n".to_owned();
    for file in &files[..5] {
        patch.push_str(&format!("*** Update File: {file}\n@@\n-old\n+new\n"));
    }
    patch.push_str(&format!("*** Add File: {}\n+hi\n*** End Patch", files[5]));
    let text = rollout("apply_patch", serde_json::json!({"input": patch}), "ok");
    let mut state = flowing(&text, (100, 60));
    let shown = screen(&state);
    assert!(
        shown.contains("apply_patch(6 files: src/folder/file_0.rs, "),
        "{shown}"
    );
    press(&mut state, "g j space");
    let shown = screen(&state);
    assert!(shown.contains("src/folder/file_5.rs (new file)"), "{shown}");
}

#[test]
fn what_codex_says_about_a_command_is_a_line_beside_what_the_command_printed() {
    let heading = "Chunk ID: 7f\nWall time: 10.0 seconds\nProcess running with session ID 5\nOriginal token count: 9\n";
    let output = format!("{heading}Output:\nserver ready");
    let command = serde_json::json!({"cmd": "npm run dev"});
    let text = rollout("exec_command", command, &output);
    let mut state = flowing(&text, (100, 30));
    let shown = screen(&state);
    assert!(
        shown.contains("│ still running · session 5 · 10.0s"),
        "{shown}"
    );
    assert!(
        shown.contains("│ server ready") && !shown.contains("Chunk ID"),
        "{shown}"
    );
    press(&mut state, "t t");
    press(&mut state, "=");
    assert!(
        screen(&state).contains("Chunk ID: 7f"),
        "{}",
        screen(&state)
    );
}

#[test]
fn a_folded_result_shows_values_of_json_and_changes_of_a_diff() {
    let rows: Vec<String> = (0..9)
        .map(|it| format!("a long title of number {it}"))
        .collect();
    let json = serde_json::json!({"count": 9, "titles": rows, "next": "a page after it"});
    let text = rollout("list", serde_json::json!({}), &json.to_string());
    let shown = screen(&flowing(&text, (100, 30)));
    assert!(
        shown.contains("│ \"count\": 9,\n") || shown.contains("│ \"count\": 9,"),
        "{shown}"
    );
    assert!(shown.contains("\"titles\": ["), "{shown}");
    let short = rollout(
        "list",
        serde_json::json!({}),
        r#"{"count": 9, "next": null}"#,
    );
    let shown = screen(&flowing(&short, (100, 30)));
    assert!(shown.contains(r#"│ {"count": 9, "next": null}"#), "{shown}");
    let diff = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n";
    let command = serde_json::json!({"command": ["git", "diff"]});
    let shown = screen(&flowing(&rollout("shell", command, diff), (100, 30)));
    for part in ["+++ b/a.rs", "- old", "+ new"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("index 1..2"), "{shown}");
}

#[test]
fn raw_rows_have_a_space_after_their_sign_and_json_the_indentation_of_its_own() {
    let value: serde_json::Value = serde_json::from_str(UNKNOWN).unwrap();
    let text = serde_json::to_string_pretty(&value).unwrap();
    let mut state = flowing(&text, (100, 40));
    press(&mut state, "t t g =");
    let shown = screen(&state);
    assert!(
        shown.contains("✓ output") || shown.contains("✓ call"),
        "{shown}"
    );
    let at = |part: &str| {
        let line = shown.lines().find(|line| line.contains(part)).unwrap();
        line.chars().skip(1).take_while(|it| *it != '"').count()
    };
    let brace = shown.lines().find(|line| line.contains("│ {")).unwrap();
    let brace = brace.chars().skip(1).take_while(|it| *it != '{').count();
    assert_eq!(at("\"content\""), brace + 2, "{shown}");
}

#[test]
fn the_scrollbar_and_the_border_of_the_detail_can_be_dragged() {
    let texts: Vec<String> = (0..60).map(|it| format!("message {it}")).collect();
    let entries = texts.iter().enumerate().map(|(number, text)| {
        let role = ["user", "assistant"][number % 2];
        serde_json::json!({"role": role, "content": text})
    });
    let text = serde_json::Value::from_iter(entries).to_string();
    let mut state = flowing(&text, (120, 24));
    let mouse = |state: &mut State, kind, column, row| {
        let event = MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        };
        update(state, Message::Mouse(event));
        state.prepare();
    };
    let left = MouseButton::Left;
    mouse(&mut state, MouseEventKind::Down(left), 119, 2);
    let before = state.item;
    mouse(&mut state, MouseEventKind::Drag(left), 100, 12);
    assert!(state.item > before + 20, "{before} {}", state.item);
    mouse(&mut state, MouseEventKind::Drag(left), 119, 23);
    assert_eq!(state.item, 59);
    mouse(&mut state, MouseEventKind::Up(left), 119, 23);
    mouse(&mut state, MouseEventKind::Drag(left), 119, 2);
    assert_eq!(state.item, 59, "nothing is held");
    press(&mut state, "3");
    let detail = |state: &State| state.layout.area(Pane::Detail).unwrap().x;
    assert_eq!(detail(&state), 60);
    mouse(&mut state, MouseEventKind::Down(left), 60, 5);
    mouse(&mut state, MouseEventKind::Drag(left), 40, 5);
    assert!(detail(&state).abs_diff(40) <= 1, "{}", detail(&state));
    mouse(&mut state, MouseEventKind::Up(left), 40, 5);
    mouse(&mut state, MouseEventKind::Drag(left), 80, 5);
    assert!(detail(&state).abs_diff(40) <= 1, "{}", detail(&state));
}

#[test]
fn the_screen_in_the_readme_is_that_of_the_program() {
    let readme = include_str!("../../../../README.md");
    let block = readme.split("```").nth(1).unwrap();
    let mut state = flowing(BROKEN_JSON, (104, 21));
    state.name = "broken-json.json".to_owned();
    press(&mut state, "]");
    let shown = screen(&state);
    let shown: Vec<&str> = shown
        .lines()
        .map(|it| it.trim_matches('"').trim_end())
        .collect();
    let written: Vec<&str> = block.lines().skip(1).map(str::trim_end).collect();
    assert_eq!(shown, written);
}

#[test]
fn on_a_screen_of_a_hundred_columns_the_items_are_below_the_turns() {
    let mut state = opened(BROKEN_JSON, (100, 30));
    press(&mut state, "]");
    let shown = screen(&state);
    for words in [
        "user What would I pay a month for 310,000",
        "▲ call   monthly_payment",
        "malformed-arguments│",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let area = |pane| state.layout.area(pane).unwrap();
    let (turns, items, detail) = (area(Pane::Turns), area(Pane::Items), area(Pane::Detail));
    assert_eq!((turns.x, turns.width), (items.x, items.width));
    assert_eq!((items.y, detail.x), (turns.y + turns.height, turns.width));
}

/// A file that grew: its beginning, its end as it is read at once, and the whole.
fn grown(turns: usize) -> [Arc<Document>; 3] {
    let line = |number: usize| {
        let role = ["user", "assistant"][number % 2];
        let parent = number.checked_sub(1).map(|before| before.to_string());
        let words = format!("words of turn {}", number + 1);
        let message = match role {
            "user" => serde_json::json!({"role": role, "content": words}),
            _ => serde_json::json!({"role": role, "id": format!("m{number}"), "model": "m",
                "content": [{"type": "text", "text": words}]}),
        };
        let entry = serde_json::json!({
            "type": role, "uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
            "cwd": "/home/me", "timestamp": "2026-03-02T14:02:11.000Z", "message": message,
        });
        entry.to_string() + "\n"
    };
    let lines: Vec<String> = (0..=turns).map(line).collect();
    let read = |lines: &[String], extent| {
        let recording = Arc::new(recording(&lines.concat()));
        Arc::new(Document { recording, extent })
    };
    let whole = read(&lines, Extent::Whole);
    let mut end = recording(&lines[turns - 40..].concat());
    let skipped = lines[..turns - 40].concat().len() as u64;
    for session in &mut end.sessions {
        let items = session.items.iter().cloned();
        let items = items.map(|mut item| {
            item.span.start += skipped;
            item.span.end += skipped;
            item
        });
        session.items = items.collect();
        session.source = whole.recording.source.clone();
    }
    let recording = Arc::new(end);
    let extent = Extent::Tail;
    let end = Arc::new(Document { recording, extent });
    let before = read(&lines[..turns], Extent::Whole);
    [before, end, whole]
}

/// A debugger that follows the first of [`grown`].
fn following(before: Arc<Document>) -> State {
    let mut state = State::new("log.jsonl".to_owned(), (140, 30));
    state.set_flowing(true);
    update(&mut state, Message::Report(Report::Whole(before.clone())));
    update(&mut state, Message::Report(Report::Finished(before)));
    state.prepare();
    press(&mut state, "F");
    state
}

#[test]
fn the_end_of_a_large_file_that_grew_moves_nobody_who_reads_further_up() {
    let [before, end, whole] = grown(100);
    let mut state = following(before);
    press(&mut state, "g J J J");
    let (item, shown) = (state.item, screen(&state));
    assert!(shown.contains("follow paused"), "{shown}");
    for report in [Report::Tail(end), Report::Grown(whole)] {
        update(&mut state, Message::Report(report));
        state.prepare();
        assert_eq!(state.item, item);
        let now = screen(&state);
        let rows = |shown: &str| {
            shown
                .lines()
                .skip(1)
                .take(24)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(rows(&now), rows(&shown), "{now}");
    }
}

#[test]
fn turns_keep_their_numbers_and_the_file_its_totals_while_it_grows() {
    let [before, end, whole] = grown(100);
    let mut state = following(before.clone());
    let session = before.session(0).unwrap();
    let totals = SessionUsage::of(session, &state.prices, &|| false, &mut |_, _| ());
    state.take_totals(before, 0, Arc::new(totals.unwrap().unwrap()));
    assert!(state.last_totals().is_some());
    for report in [Report::Tail(end), Report::Grown(whole)] {
        update(&mut state, Message::Report(report));
        state.prepare();
        let now = screen(&state);
        assert!(now.contains("turn 101/101"), "{now}");
        assert!(now.contains("assistant  turn 100"), "{now}");
        assert!(now.contains("you  turn 101"), "{now}");
        assert!(state.last_totals().is_some());
    }
}

#[test]
fn the_beginning_of_a_large_file_that_grew_stays_in_reach_while_the_rest_is_read() {
    let [before, end, whole] = grown(100);
    for (keys, turn) in [("g", 0), (": 3 0 enter", 29), (": # 4 enter", 3)] {
        let mut state = following(before.clone());
        update(&mut state, Message::Report(Report::Tail(end.clone())));
        state.prepare();
        let shown = screen(&state);
        assert!(shown.contains("reading…"), "{shown}");
        press(&mut state, keys);
        assert_eq!((state.is_whole(), state.turn()), (true, turn), "{keys}");
        let shown = screen(&state);
        assert!(shown.contains("reading…"), "{shown}");
        let effects = press(&mut state, "G");
        let mut effects = effects.iter();
        assert!(effects.any(|effect| matches!(effect, Effect::ReadTail)));
        update(&mut state, Message::Report(Report::Tail(end.clone())));
        press(&mut state, keys);
        update(&mut state, Message::Report(Report::Grown(whole.clone())));
        update(&mut state, Message::Report(Report::Finished(whole.clone())));
        state.prepare();
        assert_eq!(state.turn(), turn, "{keys}");
        assert!(!screen(&state).contains("reading"));
    }
    let mut state = following(before);
    update(&mut state, Message::Report(Report::Tail(end)));
    press(&mut state, ": 2 0 0 enter");
    let shown = screen(&state);
    assert!(
        shown.contains("no turn 200: the last one is 101"),
        "{shown}"
    );
    press(&mut state, ": 1 0 1 enter");
    assert!(!state.is_whole());
    assert!(screen(&state).contains("turn 101/101"));
}

#[test]
fn who_moves_up_from_the_end_of_a_file_that_grew_sees_the_same_rows_once_it_is_whole() {
    let [before, end, whole] = grown(100);
    let mut state = following(before);
    update(&mut state, Message::Report(Report::Tail(end)));
    state.prepare();
    press(&mut state, "k k k ^u");
    // Without the times: the spans of this end hold none.
    let rows = |state: &State| {
        let shown = screen(state);
        let rows = shown.lines().skip(1).take(24);
        let rows = rows.map(|row| row.chars().skip(12).take(40).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    };
    let shown = rows(&state);
    update(&mut state, Message::Report(Report::Grown(whole)));
    state.prepare();
    assert_eq!(rows(&state), shown);
}

#[test]
fn what_was_appended_while_a_large_file_was_read_keeps_the_cursor_once_it_is() {
    let [before, end, whole] = grown(100);
    let mut state = State::new("log.jsonl".to_owned(), (140, 30));
    state.set_flowing(true);
    state.follow = Follow::On;
    update(&mut state, Message::Report(Report::Tail(end)));
    state.prepare();
    press(&mut state, "k j");
    assert_eq!(state.follow, Follow::Paused);
    let last = whole.session(0).unwrap().items.len() - 1;
    update(&mut state, Message::Report(Report::Whole(before.clone())));
    state.prepare();
    assert_eq!(state.item, last - 1, "the last one that was read");
    update(&mut state, Message::Report(Report::Grown(whole.clone())));
    state.prepare();
    assert_eq!(state.item, last);
    update(&mut state, Message::Report(Report::Whole(before)));
    press(&mut state, "k");
    update(&mut state, Message::Report(Report::Grown(whole)));
    assert_eq!(state.item, 0, "a file that was cut begins anew");
}

/// Six turns of the user, each answered by a text of 14 lines, a call and its result.
fn long_turns() -> String {
    let mut messages = Vec::new();
    for turn in 0..6 {
        let text: Vec<String> = (0..14)
            .map(|line| format!("line {line} of {turn}"))
            .collect();
        messages.push(serde_json::json!({"role": "user", "content": format!("question {turn}")}));
        let arguments = serde_json::json!({"query": format!("needle{turn}")}).to_string();
        messages.push(serde_json::json!({
            "role": "assistant", "content": text.join("\n\n"),
            "tool_calls": [{"id": format!("c{turn}"), "type": "function",
                "function": {"name": "look_up", "arguments": arguments}}],
        }));
        let result = format!("first of {turn}\nsecond of {turn}\nthird of {turn}");
        messages.push(serde_json::json!({
            "role": "tool", "tool_call_id": format!("c{turn}"), "content": result,
        }));
    }
    serde_json::Value::from(messages).to_string()
}

fn row_with(state: &State, words: &str) -> usize {
    let shown = screen(state);
    let row = shown.lines().position(|line| line.contains(words));
    row.unwrap_or_else(|| panic!("{words}: {shown}"))
}

#[test]
fn a_turn_that_is_jumped_to_begins_in_the_upper_third_unless_all_of_it_is_seen() {
    let mut state = flowing(&long_turns(), (100, 30));
    press(&mut state, "g");
    for turn in 2..=9 {
        press(&mut state, "J");
        let head = row_with(&state, &format!("  turn {turn} "));
        let is_question = turn % 2 == 1;
        assert!(head <= 11 || is_question, "{turn}: {}", screen(&state));
        if is_question {
            row_with(&state, &format!("question {}", turn / 2));
        }
    }
    press(&mut state, ": 4 enter");
    assert!(row_with(&state, "  turn 4 ") <= 11, "{}", screen(&state));
    press(&mut state, "G K K");
    assert!(row_with(&state, "  turn 10 ") <= 11, "{}", screen(&state));
}

#[test]
fn a_near_hit_is_shown_with_the_result_of_its_call() {
    for top in ["g", "g j", "g j j", "g j j j"] {
        let mut state = flowing(&long_turns(), (100, 22));
        press(&mut state, top);
        for _ in 0..2 {
            press(&mut state, "/ n e e d l e 0 enter");
            let session = state.session().unwrap();
            let mut items = session.items.iter();
            let item = items.position(|item| item.kind == retake_core::session::Kind::Call);
            let place = crate::tui::state::document::Place {
                session: 0,
                item: item.unwrap(),
            };
            let hit = crate::tui::effect::Hit {
                place,
                occurrence: 0,
            };
            update(
                &mut state,
                Message::Report(Report::Found(Some((hit, false)))),
            );
            state.prepare();
            row_with(&state, "needle0");
            row_with(&state, "third of 0");
        }
    }
}

#[test]
fn of_commands_given_while_the_file_is_read_the_last_one_is_carried_out() {
    let read = |keys: &str| {
        let done = flowing(BROKEN_JSON, (100, 30));
        let (document, checked) = (done.document.clone().unwrap(), done.checked.clone());
        let mut state = State::new("log.jsonl".to_owned(), (100, 30));
        state.set_flowing(true);
        state.prepare();
        press(&mut state, keys);
        let mut effects = update(&mut state, Message::Report(Report::Whole(document.clone())));
        for (session, checked) in checked.into_iter().enumerate() {
            let report = Report::Checked {
                document: document.clone(),
                session,
                checked: checked.unwrap(),
            };
            effects.extend(update(&mut state, Message::Report(report)));
        }
        effects.extend(update(
            &mut state,
            Message::Report(Report::Finished(document)),
        ));
        let mut effects = effects.iter();
        let has_searched = effects.any(|effect| matches!(effect, Effect::Search(_)));
        (
            state.turn(),
            has_searched,
            !state.findings_here().is_empty(),
        )
    };
    assert_eq!(read("/ l o a n enter : 2 enter"), (1, false, false));
    assert!(read(": 2 enter / l o a n enter").1);
    let (_, has_searched, is_on_finding) = read("/ l o a n enter ]");
    assert!(!has_searched && is_on_finding);
}

#[test]
fn a_row_is_between_the_arguments_of_a_call_and_its_result() {
    let arguments = r#"{\"from\":\"Paris\",\"to\":[\"Rome\",\"Oslo\"],\"note\":\"a long one that has no room in the row of the call at all\"}"#;
    let text = format!(
        r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":null,"tool_calls":[
            {{"id":"a","type":"function","function":{{"name":"fly","arguments":"{arguments}"}}}}]}},
            {{"role":"tool","tool_call_id":"a","content":"{{\"price\":1,\"seats\":[1,2]}}"}},
            {{"role":"user","content":"ok"}}]"#
    );
    for keys in ["g j space", "g ="] {
        let mut state = flowing(&text, (80, 40));
        let folded = screen(&state);
        assert!(!folded.contains("│ result"), "{folded}");
        press(&mut state, keys);
        let (arguments, label) = (
            row_with(&state, "\"Oslo\""),
            row_with(&state, "│ result · "),
        );
        assert!(arguments < label, "{}", screen(&state));
        assert!(label < row_with(&state, "price"), "{}", screen(&state));
    }
}

#[test]
fn raw_heads_keep_the_names_of_the_tools() {
    let mut state = flowing(&log(), (100, 60));
    press(&mut state, "t t");
    let shown = screen(&state);
    for head in [
        "✓ Read(src/backoff.rs)",
        "✓ output Read",
        "Bash(cargo test)",
    ] {
        assert!(shown.contains(head), "{head}: {shown}");
    }
}

#[test]
fn a_filter_leaves_the_name_of_the_file_and_the_turn_in_the_header() {
    for width in [80, 100, 120, 140] {
        let mut state = flowing(TWO_SESSIONS, (width, 24));
        press(&mut state, "f k i n d : c a l l enter");
        let session = state.session().unwrap();
        let items = (0..session.items.len() as u32).collect();
        let shown = Arc::new(Shown::new(session, items));
        let document = state.document.clone().unwrap();
        let sifted = Report::Sifted {
            document: document.clone(),
            session: 0,
            shown,
            is_preview: false,
        };
        update(&mut state, Message::Report(sifted));
        let elsewhere = Report::SiftedElsewhere {
            document,
            items: vec![(1, 230)],
        };
        update(&mut state, Message::Report(elsewhere));
        state.follow = Follow::On;
        state.prepare();
        let header = screen(&state).lines().next().unwrap_or_default().to_owned();
        for part in ["test.json", "  turn ", "filter ", " items"] {
            assert!(header.contains(part), "{width} {part}: {header}");
        }
    }
}

#[test]
fn a_command_that_is_shown_in_full_is_a_program_with_the_other_arguments_below() {
    let list = serde_json::json!({"command": ["bash", "-lc", "cd x\nif true; then\n  ls\nfi"],
        "workdir": "/w", "timeout_ms": 1000});
    let text = serde_json::json!({"cmd": "cd x\nif true; then\n  ls\nfi", "workdir": "/w"});
    for (tool, arguments) in [("shell", list), ("exec_command", text)] {
        for keys in ["g space", "| g j"] {
            let mut state = flowing(&rollout(tool, arguments.clone(), "ok"), (120, 30));
            press(&mut state, keys);
            let shown = screen(&state);
            let mut rows = shown.lines().skip_while(|row| !row.contains("│ cd x"));
            if keys == "g space" {
                for expected in [
                    "│ cd x",
                    "│ if true; then",
                    "│   ls",
                    "│ fi",
                    "│ \"workdir\": \"/w\"",
                ] {
                    assert!(
                        rows.next().is_some_and(|row| row.contains(expected)),
                        "{shown}"
                    );
                }
            }
            assert!(shown.contains("  ls ") && !shown.contains("-lc"), "{shown}");
            let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
            let keywords = letters_in(&state, &theme, theme.json_key);
            assert!(keywords.contains(&"then".to_owned()), "{keywords:?}");
        }
    }
}

#[test]
fn a_folded_call_says_how_many_lines_its_command_has_below() {
    let command = format!(
        "cd {} && python - <<'EOF'\nimport os\nprint(1)\nEOF",
        "x/".repeat(60)
    );
    let arguments = serde_json::json!({"cmd": command, "workdir": "/w"});
    let mut state = flowing(&rollout("exec_command", arguments, "ok"), (100, 30));
    assert!(
        screen(&state).contains("x… +3 lines)"),
        "{}",
        screen(&state)
    );
    press(&mut state, "g space");
    assert!(!screen(&state).contains("+3 lines"), "{}", screen(&state));
    let arguments = serde_json::json!({"cmd": "cat <<'EOF'\nEOF"});
    let shown = screen(&flowing(
        &rollout("exec_command", arguments, "ok"),
        (100, 30),
    ));
    assert!(
        shown.contains("exec_command(cat <<'EOF' … +1 line)"),
        "{shown}"
    );
}

#[test]
fn what_is_wrong_in_sub_agents_is_shortened_before_the_filter() {
    let mut state = flowing(&faulty_task_log(), (140, 20));
    press(&mut state, "f t o o l : E d i t enter");
    let session = state.session().unwrap();
    let shown = Arc::new(Shown::new(session, vec![0, 1]));
    let document = state.document.clone().unwrap();
    let sifted = Report::Sifted {
        document: document.clone(),
        session: 0,
        shown,
        is_preview: false,
    };
    update(&mut state, Message::Report(sifted));
    let items = vec![(1, 230)];
    let elsewhere = Report::SiftedElsewhere { document, items };
    update(&mut state, Message::Report(elsewhere));
    for width in 108..=140 {
        state.size.0 = width;
        state.prepare();
        let shown = screen(&state);
        let header = shown.lines().next().unwrap_or_default();
        assert!(header.contains("filter tool:Edit: 2 items"), "{header}");
        assert!(
            header.contains("1 in sub-agents") || width >= 120,
            "{header}"
        );
    }
}

#[test]
fn what_is_wrong_in_sub_agents_leaves_the_turn_its_room_in_the_header() {
    let role = "\"role\":\"assistant\"";
    let model = format!("{role},\"model\":\"a-model-with-a-name-of-many-letters\"");
    let text = faulty_task_log().replace(role, &model);
    for (width, expected) in [
        (120, "▲ 1 in sub-agents"),
        (160, "✓ no findings here · 1 warning in sub-agents"),
    ] {
        let shown = screen(&flowing(&text, (width, 20)));
        let header = shown.lines().next().unwrap_or_default();
        assert!(
            header.contains("turn 1/2") && header.contains(expected),
            "{header}"
        );
    }
}
