//! Prompts, searches and what footers name: keys in, screens out.

use super::desk::Desk;
use super::{BROKEN_JSON, opened, press, screen};
use crate::tui::effect::Effect;
use crate::tui::report::Report;
use crate::tui::state::layout::Pane;
use crate::tui::tests::messages::Message;
use std::fs;

/// What the help says above the keys.
const HELP: &str = "help: the keys of this screen";

#[test]
fn every_footer_names_the_help_however_narrow_it_is() {
    for width in [40, 60, 80, 120] {
        let mut state = opened(BROKEN_JSON, (width, 24));
        for (keys, key) in [
            ("", "? help"),
            ("]", "? help"),
            ("3", "? help"),
            ("4", "? help"),
            ("4 L", "? help"),
            ("y", "? help"),
            ("/", "F1 help"),
            ("f", "? help"),
            (":", "F1 help"),
            ("i", "F1 help"),
            ("w", "? help"),
        ] {
            press(&mut state, keys);
            // What is said for a moment takes no room from it.
            state.notice = Some("a notice ".repeat(20));
            let shown = screen(&state);
            assert!(shown.contains(key), "{width} {keys}\n{shown}");
            press(&mut state, "esc esc esc");
            state.recovery.typed = None;
        }
    }
}

#[test]
fn the_help_comes_on_in_prompts_and_dialogs_and_what_was_typed_stays() {
    let mut desk = Desk::of("unknown-tool.json");
    for (keys, there) in [
        ("/", "clear the line"),
        ("f", "clear the line"),
        ("'", "clear the line"),
        (":", "palette: run the command"),
        ("B a", "clear the line"),
    ] {
        desk.press(keys).press("`ab?c`").misses(HELP);
        desk.press("F1").sees(HELP).sees(there);
        desk.press("F1").misses(HELP).sees("ab?c");
        desk.press("F1 / `zz` F1").misses(HELP).sees("ab?c");
        desk.press("^u").misses("ab?c").press("esc esc");
    }
    for (keys, key, there) in [
        ("y", "?", "cancel; nothing is copied"),
        ("x", "F1", "accept the change that is shown"),
        ("enter", "?", "select the entry"),
        ("i", "F1", "accept the text"),
        ("b", "?", "set the breakpoint"),
        ("B", "F1", "on or off"),
        ("w", "F1", "next format"),
    ] {
        desk.press(keys).press(key).sees(HELP).sees(there);
        desk.press("esc").misses(HELP).press("esc esc");
    }
    desk.press("i ^s enter").press("T ?").sees("go to the take");
    desk.press("esc n `a?b` F1").sees("clear the line");
    desk.press("esc").sees("a?b").press("esc esc");
}

#[test]
fn a_line_is_cleared_and_a_word_is_deleted_wherever_one_is_asked_for() {
    let mut desk = Desk::of("unknown-tool.json");
    for (keys, text) in [
        ("/", "one two"),
        ("f", "one two"),
        (":", "one two"),
        ("'", "one two"),
        ("w", "one two"),
        ("B a", "one two"),
    ] {
        desk.press(keys).press("^u").press(&format!("`{text}`"));
        desk.sees(text);
        desk.press("^w").misses("two").sees("one");
        // Wherever the cursor is.
        desk.press("`x` ^a ^u `new`").sees("new").misses("onex");
        desk.press("^u esc esc");
    }
}

#[test]
fn a_search_says_which_of_how_many_places_it_found() {
    let text = r#"[{"role":"user","content":"a needle"},
        {"role":"assistant","content":"nothing"},
        {"role":"user","content":"needle and needle"},
        {"role":"assistant","content":"the last needle"},
        {"role":"user","content":"end"}]"#;
    let mut desk = Desk::with("a.json", text);
    desk.press("/ `needle` enter").sees("1/4");
    desk.press("n").sees("2/4").press("n").sees("3/4");
    desk.press("n").sees("4/4").press("n").sees("1/4 ");
    desk.sees("search wrapped").press("N").sees("4/4");
    desk.press("N").sees("3/4").press("j").sees("4/4");
    desk.press("K K").misses("/4").press("J J").sees("4/4");
    desk.press("/ `last` enter").sees("1/1");
    desk.press("%").sees("no counterpart").misses("1/1");
    desk.press("/ `absent` enter").sees("not found");
}

#[test]
fn a_tool_is_found_by_the_name_that_the_screen_shows() {
    let text = serde_json::json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "mcp__happy__change_title", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "b", "type": "function", "function": {"name": "mcp__happy__change_title", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "b", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]);
    let mut desk = Desk::with("a.json", &text.to_string());
    desk.state.set_flowing(true);
    desk.press("/ `happy.change` enter").sees("1/2");
    assert_eq!(desk.state.item, 1);
    desk.press("n").sees("2/2");
    assert_eq!(desk.state.item, 3);
    desk.press("N").sees("1/2").misses("folded");
    desk.press("/ `mcp__happy` enter");
    desk.sees("the match is in the recorded name of the tool, mcp__happy__change_title");
    for filter in ["happy.change", "tool:happy.change", "tool:change_title"] {
        desk.press(&format!("esc esc f `{filter}` enter"));
        desk.misses("no item matches").misses("no tool is called");
        desk.misses("done");
    }
}

#[test]
fn a_text_between_slashes_is_a_regular_expression() {
    let arguments = r#"{"path":"src/main.rs","line":42}"#;
    let text = serde_json::json!([
        {"role": "user", "content": "exit code 7 of \"make all\"\nError 12 in line 3"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "no error here\nerror 404"},
    ]);
    let mut desk = Desk::with("a.json", &text.to_string());
    desk.state.set_flowing(true);
    desk.press("/ `/error \\d+/` enter").sees("1/2");
    desk.press("n")
        .sees("2/2")
        .press("n")
        .sees("search wrapped");
    // A capital letter is found as it is; anchors are those of the lines on the screen.
    desk.press("/ `/Error \\d+/` enter").sees("1/1");
    desk.press("/ `/^error \\d+$/` enter").sees("1/1");
    assert_eq!(desk.state.item, 2);
    desk.press("g / `/\"make\\s\\w+\"$/` enter").sees("1/1");
    desk.press("/ `/main\\.[a-z]{2}/` enter").sees("1/1");
    assert_eq!(desk.state.item, 1);
    // Neither the names of JSON nor what lies between two of its texts.
    desk.press("/ `/role|content/` enter").sees("not found");
    desk.press("/ `/code.*here/` enter").sees("not found");
}

#[test]
fn a_faulty_expression_is_reported_while_it_is_typed() {
    let mut desk = Desk::with("a.json", r#"[{"role":"user","content":"a(b"}]"#);
    desk.press("/ `/a(b`").misses("unclosed");
    desk.press("`/`").sees("unclosed group at character 2");
    desk.press("enter").sees("unclosed group at character 2");
    desk.press("backspace enter").sees("not found: /a(b");
    desk.press("/ `/a\\(b/` enter").sees("1/1");
    desk.press("/ `/x*/`").sees("matches the empty text");
}

#[test]
fn a_search_stays_in_its_session_as_long_as_it_can_and_says_when_it_leaves() {
    let line = |uuid: &str, parent: Option<&str>, chain: bool, text: &str| {
        let role = "user";
        serde_json::json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": chain,
            "message": {"role": role, "content": text}})
        .to_string()
    };
    let lines = [
        line("1", None, false, "begin"),
        line("11", None, true, "a needle aside"),
        line("2", Some("1"), false, "the first needle"),
        line("3", Some("2"), false, "the last needle"),
    ];
    let mut desk = Desk::with("a.jsonl", &lines.join("\n"));
    desk.press("/ `needle` enter")
        .sees("1/3")
        .sees("the first needle");
    desk.press("n").sees("2/3").press("n").sees("3/3");
    desk.sees("in session 2, sub-agent 1");
    desk.press("n").sees("1/3").sees("search wrapped");
}

#[test]
fn a_filter_says_what_it_matches_in_sub_agents_and_the_list_of_sessions_keeps_it() {
    let line = |uuid: &str, parent: Option<&str>, chain: bool, text: &str| {
        let role = "user";
        serde_json::json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": chain,
            "message": {"role": role, "content": text}})
        .to_string()
    };
    let lines = [
        line("1", None, false, "begin"),
        line("11", None, true, "a needle aside"),
        line("12", Some("11"), true, "something else"),
        line("2", Some("1"), false, "the last needle"),
    ];
    let mut desk = Desk::with("a.jsonl", &lines.join("\n"));
    desk.press("| f `needle` enter");
    desk.sees("filter needle: 1 item, 1 in 1 sub-agent");
    desk.sees("1 in 1 sub-agent match, too: S lists the sessions");
    desk.press("S j enter").sees("a needle aside");
    desk.misses("something else");
    desk.press("esc f `aside` enter")
        .sees("filter aside: 1 item");
    desk.press("S k enter")
        .sees("no item matches the filter here");
    desk.sees("1 in 1 sub-agent match: S lists them");
}

#[test]
fn expressions_work_in_the_filter_and_in_full_screen_texts_as_in_the_search() {
    let text = r#"{"messages":[{"role":"user","content":"run it"},
        {"role":"assistant","content":"exit code 3\nThen done."},
        {"role":"user","content":"and the exit code?"}]}"#;
    let mut desk = Desk::with("a.json", text);
    desk.press("f `/exit code \\d+$/` enter");
    desk.sees("exit code 3").misses("and the exit code?");
    desk.press("esc f `/(/`")
        .sees("unclosed group at character 1");
    desk.press("esc / `/(/`")
        .sees("unclosed group at character 1");
    desk.press("esc H / `/(/`")
        .sees("unclosed group at character 1");
    let mut desk = Desk::of("failing-tool.json");
    desk.press("U").sees("by tool").sees("by kind");
    desk.press("/ `/by .ool/`");
    desk.sees("by tool").misses("by kind");
}

#[test]
fn esc_undoes_one_thing_after_the_other() {
    let text = r#"{"messages":[{"role":"user","content":"a needle"},{"role":"assistant","content":"no needle"}]}"#;
    let mut desk = Desk::with("a.json", text);
    desk.press("tab tab z / `needle` enter").sees("1/2");
    assert!(desk.state.is_zoomed && desk.state.highlighted().is_some());
    desk.press("esc");
    assert!(desk.state.is_zoomed && desk.state.highlighted().is_none());
    desk.press("esc");
    assert!(!desk.state.is_zoomed && desk.state.focus == Pane::Detail);
    desk.press("esc");
    assert_eq!(desk.state.focus, Pane::Turns);
}

#[test]
fn the_number_of_an_item_goes_to_it_as_the_screen_writes_it() {
    let mut desk = Desk::of("broken-json.json");
    for typed in ["#5", "i5", "item 5", "Item5"] {
        desk.press("g")
            .press(&format!(": `{typed}`"))
            .sees("enter goes to item 5");
        desk.press("enter");
        assert_eq!(desk.state.item, 4, "{typed}");
        desk.press("3").sees("Item 5  call").press("esc");
    }
    desk.press(": `#99` enter")
        .sees("no item 99: the last one is");
    desk.press(":").sees("12 turn  #40 item");
}

#[test]
fn a_call_is_found_as_the_transcript_writes_it_and_only_in_calls_of_that_tool() {
    let call = |name: &str| {
        serde_json::json!({"role": "assistant", "content": null, "tool_calls": [{"id": name, "type": "function",
            "function": {"name": name, "arguments": "{\"command\":\"npm test\",\"timeout\":1}"}}]})
    };
    let result = |id: &str| serde_json::json!({"role": "tool", "tool_call_id": id, "content": "npm test: 1 passed"});
    let history = serde_json::json!([{"role": "user", "content": "npm test (all)"}, call("shell"), result("shell"),
        call("bash"), result("bash")]);
    let mut desk = Desk::with("a.json", &history.to_string());
    desk.press("/ `bash(npm` enter").sees("1/1");
    assert_eq!(desk.state.turn(), 2);
    desk.press("g / `bash(` enter").misses("not found");
    assert_eq!(desk.state.turn(), 2);
    desk.press("/ `shell(npm test, timeout: 1` enter")
        .sees("not found: shell(npm");
    desk.press("/ `all(npm` enter").sees("not found: all(npm");
}

#[test]
fn the_next_theme_has_a_key_and_a_command() {
    let mut desk = Desk::with("a.json", r#"[{"role":"user","content":"hi"}]"#);
    desk.press("^t");
    assert!(matches!(desk.left[..], [Effect::NextTheme]));
    desk.press(": `theme` enter");
    assert!(matches!(
        desk.left[..],
        [Effect::NextTheme, Effect::NextTheme]
    ));
}

fn footer(desk: &Desk) -> String {
    let screen = desk.screen();
    screen.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_count_grows_while_it_is_made() {
    let text = r#"[{"role":"user","content":"x needle"},{"role":"assistant","content":"needle"}]"#;
    let mut desk = Desk::with("a.json", text);
    let counting = {
        desk.press("/ `needle` enter n");
        assert!(footer(&desk).contains("2/2"), "{}", desk.screen());
        desk.state.hits.as_ref().unwrap().counting().clone()
    };
    desk.state.hits = Some(crate::tui::state::hits::Hits::new(counting.clone()));
    assert!(!footer(&desk).contains("2/"), "{}", desk.screen());
    let place = |item| crate::tui::state::document::Place { session: 0, item };
    let counted = |place, is_done| {
        let counting = counting.clone();
        Message::Report(Report::Counted(counting, vec![(place, 1)], is_done))
    };
    desk.send(counted(place(1), false));
    desk.sees("1/1+");
    desk.send(counted(place(0), true));
    desk.sees("1/2 ");
}

#[test]
fn what_is_typed_for_the_save_dialog_waits_for_it() {
    let mut desk = Desk::of("unknown-tool.json");
    let path = desk.file("mine.json");
    desk.press("i ^s enter").sees("take 1: inject error");
    // As it is until the loader says that the take is made.
    desk.state.recovery.is_busy = true;
    desk.press("w ^u").press(&format!("`{}`", path.display()));
    desk.press("enter").misses("save as ");
    assert!(!path.exists());
    desk.send(Message::Report(Report::TakesDone));
    desk.sees("take 1 is saved as").misses("save as ");
    assert!(fs::read_to_string(&path).unwrap().contains("function_call"));

    // Leaving calls it off.
    desk.state.recovery.is_busy = true;
    desk.press("w `x` esc");
    desk.send(Message::Report(Report::TakesDone));
    desk.misses("save as ");
    desk.press("j w").sees("save as ");
}

#[test]
fn the_prompt_for_an_agent_proposes_the_one_beside_the_recording_and_completes_paths() {
    let mut desk = Desk::of("broken-json.json");
    for name in ["broken-json.toml", "broken-two.toml", "other.toml"] {
        fs::write(desk.file(name), "[model]\nscript = \"no\"\n").unwrap();
    }
    desk.state.size = (200, 30);
    desk.press("c").sees("broken-json.toml");
    let typed = desk.file("bro").display().to_string();
    desk.press("^u").press(&format!("`{typed}`"));
    desk.misses("broken-json.toml").press("tab");
    desk.sees("2: broken-json.toml  broken-two.toml");
    desk.sees(&desk.file("broken-").display().to_string());
    desk.press("`t` tab")
        .sees("broken-two.toml")
        .misses("2: broken");
    desk.press("`x` tab")
        .sees("no matching folder or .toml file");
}

#[test]
fn what_a_policy_did_stays_at_the_item_that_it_did_it_to() {
    let mut desk = Desk::run("final.toml");
    desk.comes("finished");
    desk.state.size = (160, 30);
    let row = |desk: &Desk, begins: &str| {
        let screen = desk.screen();
        let row = screen.lines().find(|row| row.contains(begins));
        row.map(str::to_owned).unwrap_or_default()
    };
    let mark = "policy: retry turn (invalid-final-output)";
    desk.press("esc").misses(mark);
    assert!(row(&desk, " 3 user").contains("policy"));
    assert!(!row(&desk, " 4 assistant").contains("policy"));
    desk.press("K").sees(mark);
    // Whatever is pressed, it stays.
    desk.press("esc T esc j k").sees(mark);
    desk.press("2").sees(mark);
    let marks = desk.screen().matches("policy").count();
    assert_eq!(marks, 3, "turn, item and detail\n{}", desk.screen());
}

#[test]
fn what_was_pasted_by_mistake_is_turned_away_at_once_with_the_limit() {
    let mut desk = Desk::of("unknown-tool.json");
    for keys in ["/", "f", ":", "'"] {
        desk.press(keys).press("`ab`");
        desk.send(Message::Paste("word ".repeat(200_000)));
        desk.sees("1000000 bytes pasted; a prompt takes 16384");
        desk.sees("ab").press("`c`").sees("abc").misses("pasted");
        desk.press("^u esc");
    }
    // The limit of a filter is told before enter is pressed.
    desk.press("f");
    desk.send(Message::Paste("word ".repeat(101)));
    desk.sees("a filter takes 100 words; \"quotes\" look for the text");
    desk.press("^u").misses("a filter takes");
}
