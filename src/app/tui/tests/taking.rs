//! Takes: back and forth, the tree, what is written on them, and how they leave the debugger.

use super::desk::Desk;
use crate::tui::effect::{Effect, TakesCommand};
use crate::tui::keymap::{self, Binding, CHOSEN_HERE, Command};
use crate::tui::report::Report;
use crate::tui::tests::messages::{Message, update};
use crate::tui::theme;
use retake_core::session::Kind;
use std::fs;

/// Two takes beside each other: an error with other words, and the suggestion.
fn two_takes() -> Desk {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter u s enter");
    desk
}

#[test]
fn messages_name_the_keys_that_the_operator_chose() {
    let rows = keymap::defaults().iter().map(|row| {
        let keys = match row.command {
            Command::Undo => "backspace",
            Command::SaveAs => "",
            _ => row.keys,
        };
        Binding { keys, ..*row }
    });
    CHOSEN_HERE.set(Some(rows.collect::<Vec<_>>().leak()));
    let mut desk = Desk::of("unknown-tool.json");
    desk.go_to(1)
        .press("D")
        .sees("backspace undoes it, T shows");
    desk.press("esc G Y")
        .sees("one take; backspace undoes it")
        .misses("which u");
    let saves = [(Command::SaveAs, "saves it")];
    assert_eq!(keymap::with_ways("take 1; ", &saves), "take 1");
    CHOSEN_HERE.set(None);
}

#[test]
fn takes_are_taken_back_and_made_again() {
    let mut desk = Desk::of("unknown-tool.json");
    let recorded = desk.items();
    desk.press("u")
        .sees("nothing to undo: this is the recording");
    desk.press("i ^s enter").sees("take 1 of 1");
    desk.press("u")
        .sees("recording, 1 take")
        .sees("Item 7  call");
    assert_eq!(desk.items(), recorded);
    desk.press("^r").sees("take 1 of 1").sees("Item 9  output");
    desk.press("^r").sees("nothing to redo");
    desk.press("J J J D").sees("nothing after this item");
    desk.go_to(5).press("D").sees("fork up to item 5");
    desk.sees("what comes after leaves the take: 4 items; the recording keeps them");
    desk.press("esc").sees("take 1 of 1");
    desk.press("D enter").sees("take 2 of 2");
    assert_eq!(desk.items(), recorded[..5]);
    desk.press("u").sees("take 1 of 2");
}

#[test]
fn a_fork_ends_after_the_item_with_the_cursor_also_where_its_turn_is_folded() {
    let mut desk = Desk::of("broken-json.json");
    let recorded = desk.items();
    // In the list of turns it is the turn; among the items, the item.
    desk.press("] 1 D enter").sees("take 1 of 1");
    assert_eq!(desk.items(), recorded[..6]);
    desk.press("u 2 g j j j D enter").sees("take 2 of 2");
    assert_eq!(desk.items(), recorded[..4]);
    desk.press("u 2 j D enter").sees("take 3 of 3");
    assert_eq!(desk.items(), recorded[..5]);
}

#[test]
fn a_fork_in_the_transcript_leaves_no_call_without_its_result() {
    let parallel = r#"{"model":"m","messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"one","arguments":"{}"}},
            {"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"2"},
        {"role":"tool","tool_call_id":"a","content":"1"},
        {"role":"assistant","content":"done"}]}"#;
    for item in [2, 3, 4, 5] {
        let mut desk = Desk::on("parallel.json", parallel.as_bytes(), None);
        desk.press("|").go_to(item).press("D enter").sees("take 1");
        let is_last = item == 5;
        let words = if is_last {
            "up to item 5;"
        } else {
            "up to item 5, the last result of its calls;"
        };
        desk.sees(words);
        assert_eq!(desk.items().len(), 5, "{item}");
        assert!(desk.rules().is_empty(), "{item}: {:?}", desk.rules());
    }
}

#[test]
fn the_tree_shows_where_takes_came_from_and_compares_them() {
    let mut desk = two_takes();
    desk.press("T");
    insta::assert_snapshot!("tree", desk.screen());
    desk.press("r `by name` enter n `keeps the pair` enter");
    desk.sees("take the suggestion  by name")
        .sees("note: keeps the pair");
    desk.press("d").sees("the recording / take 2");
    desk.press("esc k d");
    insta::assert_snapshot!("compared", desk.screen());
    desk.press("esc enter").sees("take 1 of 2");
    assert_eq!(desk.items().len(), 9);
}

#[test]
fn a_take_is_dropped_from_the_tree_with_all_that_came_of_it_and_restored() {
    let mut desk = two_takes();
    let recorded = desk.recorded();
    desk.go_to(3).press("D enter").sees("take 3 of 3");
    // Take 2, which take 3 came from.
    desk.press("T k x")
        .sees("Drop take 2 and the take below it?");
    desk.press("n").sees("take 3");
    desk.press("x y").misses("take 2").misses("take 3");
    desk.press("esc").sees("recording, 1 take");
    desk.press("^r").sees("take 1 of 1").press("u");
    desk.press("T g x")
        .sees("what they come from stays")
        .press("esc");
    // It stays dropped, and can be restored, when the file is opened again.
    let mut desk = desk.again();
    desk.press("T x y").misses("take 2");
    desk.press("g j x y").misses("take 1");
    desk.press("esc T u").sees("take 1").misses("take 2");
    desk.press("u")
        .sees("take 3")
        .press("esc")
        .sees("recording, 3 takes");
    desk.press("T u").sees("no take was dropped");
    assert_eq!(desk.recorded(), recorded);
}

#[test]
fn the_tree_counts_findings_as_the_header_does() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("} i ^s enter").sees("○1  ✓ 1 answered");
    desk.press("T")
        .sees("1 error, 2 info")
        .sees("0 errors, 1 info (1 error fewer)");
    desk.press("esc");
    desk.send(Message::Resize(120, 30));
    desk.sees("○ 1 info  ✓ 1 answered");
    desk.press("u").sees("● 1 error  ○ 2 info");
}

#[test]
fn zooming_where_there_is_one_pane_says_so() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("1 z").sees("z shows all panes again");
    desk.press("z |").press("z").sees("this is the only pane");
    assert!(!desk.state.is_zoomed);
}

#[test]
fn the_transcript_has_a_scrollbar_only_where_rows_are_out_of_sight() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("1 | i ^s enter");
    desk.send(Message::Resize(100, 40));
    desk.sees("search_onestop_flights(").misses("█");
    desk.send(Message::Resize(100, 12));
    desk.sees("█").misses("▲");
}

#[test]
fn notes_are_found_filtered_and_listed_with_the_marks() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("M").sees("nothing is marked");
    desk.go_to(6).press("' `KS 218 is sold out` enter").go_to(1);
    let steps = [
        ("/ `ks 218` enter", "1/3", 2),
        ("n", "2/3", 3),
        ("n", "3/3", 5),
        ("n", "search wrapped", 2),
        ("N", "3/3", 5),
        ("N", "2/3", 3),
    ];
    for (keys, seen, item) in steps {
        desk.press(keys).sees(seen);
        assert_eq!(desk.state.item, item, "{keys} {seen}");
    }
    desk.press("f `note` enter").sees("filter note: 1 item");
    desk.press("esc").go_to(3).press("m M");
    desk.sees("2 items marked/noted").press("M");
    // A note that is removed is found no more.
    desk.go_to(6).press("' ^u enter / `sold out` enter");
    desk.sees("not found: sold out");
}

/// Three calls, of which none has a result, and a refused tool name in front of them.
fn three_lost_results() -> Desk {
    let call = |id: &str, name: &str| {
        let call = format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}"#
        );
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"user","content":"on"}}"#
        )
    };
    let named = format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{}]}},{}"#,
        r#"{"id":"z","type":"function","function":{"name":"bad name","arguments":"{}"}}"#,
        r#"{"role":"tool","tool_call_id":"z","content":"ok"}"#
    );
    let calls = [call("a", "one"), call("b", "two"), call("c", "three")].join(",");
    let text =
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}},{named},{calls}]}}"#);
    Desk::with("lost.json", &text)
}

#[test]
fn a_filter_by_findings_is_applied_to_each_take() {
    for (filter, before, after) in [
        ("rule:orphan-call", "3 items", "2 items"),
        ("error", "4 items", "3 items"),
        ("severity:error", "4 items", "3 items"),
        ("finding !rule:invalid-tool-name", "3 items", "2 items"),
        ("tool:one,two,three", "3 items", "2 items"),
    ] {
        let mut desk = three_lost_results();
        desk.press(&format!("f `{filter}` enter"));
        desk.sees(&format!(": {before}"));
        desk.press("] ] x enter").sees("take 1 of 1");
        desk.sees(&format!(": {after}"));
        desk.press("u").sees(&format!(": {before}"));
    }
}

#[test]
fn the_next_finding_stays_inside_the_filter() {
    let mut desk = three_lost_results();
    desk.press("f `tool:one,two` enter g ]");
    desk.sees("filter tool:one,two: 2 items").press("] ]");
    desk.sees("no further finding in this filter: [ goes back")
        .sees("filter tool:one,two: 2 items");
    desk.press("[ [ [")
        .sees("no earlier finding in this filter")
        .sees("filter tool:one,two: 2 items");
    desk.press("esc ] ] ] ]").misses("in this filter");
}

#[test]
fn notes_and_marks_stay_with_their_items() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("m ' `ask the airline` enter");
    desk.press("tab");
    insta::assert_snapshot!("noted", desk.screen());
    desk.press("|");
    desk.sees("  note: ask the airline").press("|");
    desk.press("i ^s enter").go_to(7);
    desk.sees("note: ask the airline").sees("◆");
    desk.go_to(9)
        .press("' `try this` enter m")
        .sees("note: try this");
    desk.go_to(7).press("m").misses("◆ ");
    desk.press("u").sees("note: ask the airline").misses("◆");
    let mut desk = desk.again();
    desk.sees("1 take: ^r opens take 1 (inject error), the latest; T lists them")
        .sees("note: ask the airline");
    desk.press("' ^u enter").misses("note: ask");
    desk.press("^r")
        .sees("take 1 of 1")
        .go_to(9)
        .sees("note: try this");
}

#[test]
fn a_file_that_is_opened_again_shows_the_take_in_which_it_was_left() {
    let mut desk = two_takes().again();
    desk.sees("take 2 (take the suggestion) as you left it: u returns to the recording")
        .sees("take 2 of 2");
    desk.press("u").sees("recording, 2 takes");
    desk.press("i ^s enter").sees("take 3 of 3");
    desk.press("T").sees("from the recording at item 7");
    desk.press("esc x enter").sees("take 4 of 4");
    let mut desk = desk.again();
    desk.sees("take 4 (drop pair) as you left it: T leads to the recording");
    desk.press("T g enter").sees("recording, 4 takes");
    let mut desk = desk.again();
    desk.sees("4 takes: ^r opens take 4 (drop pair), the latest; T lists them")
        .sees("recording, 4 takes");
}

#[test]
fn a_take_is_called_in_the_header_as_it_was_named_however_narrow_the_screen_is() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter T r `without the call` enter esc");
    for (width, name) in [
        (160, "without the call"),
        (100, "without the call"),
        (80, "without the…"),
    ] {
        desk.send(Message::Resize(width, 24));
        assert!(
            desk.screen().lines().next().unwrap().contains(name),
            "{}",
            desk.screen()
        );
    }
    desk.press("u x enter");
    let head = desk.screen().lines().next().unwrap().to_owned();
    assert!(!head.contains("drop pair"), "{head}");
}

#[test]
fn one_key_opens_the_latest_take_of_a_file_that_is_opened_again() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter x enter").sees("take 2 of 2");
    let mut desk = desk.again();
    desk.press("^r").sees("take 2 of 2");
    desk.press("u u ^r").sees("take 1 of 2");
}

#[test]
fn a_take_is_saved_beside_the_recording_and_asks_before_it_replaces() {
    let mut desk = Desk::of("unknown-tool.json");
    let recorded = desk.recorded();
    desk.press("i ^s enter w")
        .sees("(*) as recorded (openai-responses)");
    desk.press("enter").sees("take 1 is saved as");
    let saved = desk.file("unknown-tool.take-1.json");
    let written = fs::read(&saved).unwrap();
    assert!(written.starts_with(&recorded[..recorded.len() - 10]));
    fs::write(&saved, "mine").unwrap();
    desk.press("w enter").sees("File exists. Overwrite?");
    desk.press("n");
    assert_eq!(fs::read(&saved).unwrap(), b"mine");
    desk.press("enter y").sees("take 1 is saved as");
    assert_eq!(fs::read(&saved).unwrap(), written);
    desk.press("w down down down enter y")
        .sees("Anthropic messages");
    assert_eq!(desk.recorded(), recorded);
}

#[test]
fn a_saved_take_keeps_the_tools_that_were_beside_its_recording() {
    let of_saved = |keys: &str, name: &str| {
        let mut desk = Desk::of("unknown-tool.json");
        desk.press(keys).sees("its tools as");
        let read = |name: String| fs::read(desk.file(&name)).unwrap();
        let (saved, tools) = (
            read(format!("{name}.json")),
            read(format!("{name}.tools.json")),
        );
        Desk::on(&format!("{name}.json"), &saved, Some(&tools)).rules()
    };
    let recorded = Desk::of("unknown-tool.json").rules();
    assert_eq!(of_saved("w enter", "unknown-tool.copy"), recorded);
    assert_eq!(of_saved("w tab enter", "unknown-tool.copy")[0], recorded[0]);
    let answered = of_saved("i ^s enter w enter", "unknown-tool.take-1");
    assert_eq!(answered[0], recorded[0]);

    let mut desk = Desk::of("unknown-tool.json");
    let tools = desk.file("unknown-tool.copy.tools.json");
    fs::write(&tools, "[]").unwrap();
    desk.press("w enter").sees("without its tools:");
    assert_eq!(fs::read(&tools).unwrap(), b"[]");
}

#[test]
fn where_the_tools_are_is_said_and_another_folder_gets_them() {
    let mut desk = Desk::of("unknown-tool.json");
    let tools = fs::read(desk.file("tools.json")).unwrap();
    fs::write(desk.file("unknown-tool.tools.json"), &tools).unwrap();
    desk.press("w")
        .sees("nothing is lost; its tools are in unknown-tool.tools.json; elsewhere");
    desk.press("enter").sees("; its tools are in");
    fs::create_dir(desk.file("other")).unwrap();
    let other = desk.file("other/x.json");
    desk.press(&format!("w ^u `{}` enter", other.display()));
    assert!(desk.file("other/x.tools.json").exists());
}

#[test]
fn a_take_is_shared_as_a_page_without_secrets() {
    let key = format!("sk-proj-{}", "Ab3dE6gH".repeat(5));
    let recorded = String::from_utf8(Desk::of("unknown-tool.json").recorded()).unwrap();
    let recorded = recorded.replacen("on Monday", &format!("on Monday {key}"), 1);
    assert!(recorded.contains(&key));
    let mut desk = Desk::on("unknown-tool.json", recorded.as_bytes(), None);
    desk.go_to(3)
        .press("D enter w down down down down down down down down down down down")
        .sees("(*) HTML page, secrets removed")
        .sees("take-1.html");
    desk.press("enter").sees("the page is");
    let page = fs::read_to_string(desk.file("unknown-tool.take-1.html")).unwrap();
    assert!(
        page.contains("id=\"turn-1\"") && page.contains("take 1 of the recording"),
        "{page}"
    );
    assert!(!page.contains(&key));
    desk.press("w up enter").sees("the page is");
    let page = fs::read_to_string(desk.file("unknown-tool.take-1.md")).unwrap();
    assert!(
        page.starts_with("# unknown-tool") && !page.contains(&key),
        "{page}"
    );
}

#[test]
fn pictures_that_the_recording_holds_are_in_its_page() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let picture = |url: &str| serde_json::json!({"type": "image_url", "image_url": {"url": url}});
    let parts = [
        format!("data:image/png;base64,{png}"),
        format!("data:image/svg+xml;base64,{png}\"onload=\"x"),
        "data:image/svg+xml;base64,PHN2Zy8+".to_owned(),
        "https://page.test/picture.png".to_owned(),
    ];
    let content: Vec<_> = parts.iter().map(|url| picture(url)).collect();
    let said = serde_json::json!([{"role": "user", "content": content}]);
    let mut desk = Desk::with("a.json", &said.to_string());
    desk.sees("[image png 1x1, 70 B, P s");
    desk.press("w up up enter").sees("the page is");
    let page = fs::read_to_string(desk.file("a.html")).unwrap();
    let pictures: Vec<_> = page.match_indices("<img ").collect();
    assert_eq!(pictures.len(), 2, "{page}");
    let shown = format!("src=\"data:image/png;base64,{png}\">");
    assert_eq!(page.matches(&shown).count(), 2, "the file says what it is");
    assert!(
        !page.contains("svg+xml") && !page.contains("page.test"),
        "{page}"
    );
    assert!(page.contains("img-src data:;"));
}

#[test]
fn a_take_is_saved_as_a_session_of_an_agent() {
    let mut desk = Desk::of("broken-chain.jsonl");
    desk.press("w down down down down down down down")
        .sees("(*) session of Codex")
        .sees("rollout-");
    let path = desk.file("new.jsonl");
    desk.press(&format!("^u `{}` enter", path.display()))
        .sees("saved as session of Codex");
    let session = fs::read_to_string(path).unwrap();
    assert!(session.contains(r#""type":"session_meta""#), "{session}");
}

#[test]
fn every_kind_of_recording_is_saved_in_its_own_format_and_reads_again() {
    let stories = [
        ("library-desk.db", "o `ordered` ^s enter"),
        ("orphan-at-compaction.jsonl", "o `all green` ^s enter"),
        ("aborted-turn.jsonl", "o `stopped` ^s enter"),
        ("endless-repeat.jsonl", "i ^s enter"),
        ("broken-json.json", "x enter"),
    ];
    for (name, keys) in stories {
        let mut desk = Desk::of(name);
        let recorded = desk.recorded();
        let rules = desk.press("g ]").press(keys).rules();
        let taken = desk.items();
        desk.press("w enter").sees(" saved as");
        assert_eq!(desk.recorded(), recorded, "{name}");
        let number = desk.state.recovery.takes.current;
        let (stem, ending) = name.split_once('.').unwrap();
        let saved = fs::read(desk.file(&format!("{stem}.take-{number}.{ending}"))).unwrap();
        let session = desk.state.session;
        let mut copy = Desk::on(name, &saved, None);
        copy.state.session = session.min(copy.state.checked.len() - 1);
        assert_eq!((copy.items(), copy.rules()), (taken, rules), "{name}");
    }
}

#[test]
fn what_cannot_be_recorded_is_said_until_it_works_again() {
    let desk = Desk::of("unknown-tool.json");
    let state = desk.file("state");
    fs::write(&state, "in the way").unwrap();
    let mut desk = desk.again();
    desk.press("i ^s enter")
        .sees("NOT RECORDING since 00:00:00 UTC");
    desk.press("k k J").sees("NOT RECORDING since 00:00:00 UTC");
    desk.press("L").sees("NOT RECORDING since 00:00:00 UTC: ");
    desk.press("esc");
    fs::remove_file(&state).unwrap();
    desk.wait();
    desk.sees("takes can be recorded again")
        .misses("NOT RECORDING");
    desk.again().sees("take 1 (inject error) as you left it");
}

#[test]
fn a_file_that_is_opened_for_one_of_its_takes_shows_the_end_of_it() {
    let mut desk = Desk::of("unknown-tool-recovered.jsonl");
    desk.press("] i ^s enter");
    let take = desk.state.recovery.takes.current;
    desk.press("u");
    let mut desk = desk.again();
    assert_eq!(desk.state.recovery.takes.current, 0);
    desk.state.recovery.wanted = Some(take);
    let document = desk.state.document.clone().unwrap();
    desk.send(Message::Report(Report::Finished(document)));
    assert_eq!(desk.state.recovery.takes.current, take);
    assert_eq!(desk.state.item, desk.items().len() - 1);
    // What is chosen later is shown as ever: at its change.
    desk.press("u");
    assert_eq!((desk.state.recovery.takes.current, desk.state.item), (0, 3));
}

#[test]
fn what_lies_over_the_panes_is_left_by_its_keys_and_takes_pastes_and_sizes() {
    let mut desk = two_takes();
    for (open, left) in [
        ("T", "q"),
        ("T", "^c"),
        ("T d", "q esc"),
        ("enter", "q"),
        ("i", "^c"),
        ("w", "esc"),
    ] {
        desk.press("g J J J").go_to(8).press(open);
        assert!(desk.state.has_overlay(), "{open}");
        desk.press(left);
        assert!(
            !desk.state.has_overlay(),
            "{open} {left}\n{}",
            desk.screen()
        );
    }
    desk.press("u i");
    desk.send(Message::Paste("one\r\ntwo\u{1b}[31m\n".to_owned()));
    for size in [(40, 10), (60, 20), (20, 5), (200, 60)] {
        desk.send(Message::Resize(size.0, size.1));
        desk.screen();
        super::terminal(
            &desk.state,
            &theme::Theme::new(theme::Variant::Mono, theme::Glyphs::ASCII),
        );
    }
    desk.sees("two").press("^e");
    assert!(matches!(&desk.left[..], [Effect::Edit(text)] if text.starts_with("one\ntwo")));
}

#[test]
fn one_change_is_made_after_the_other_whatever_is_told_meanwhile() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("x");
    desk.state.recovery.is_busy = true;
    let view = desk.state.recovery.takes.clone();
    desk.send(Message::Report(Report::TakeTree(view)));
    desk.press("enter");
    assert!(desk.state.has_overlay() && desk.state.recovery.takes.count() < 2);
    desk.press("esc");
    for key in ["i", "m", "'", "u"] {
        desk.press(key).sees("the last change is still in progress");
        assert!(!desk.state.has_overlay(), "{key}");
    }
    assert!(desk.state.marks.is_empty());
    desk.send(Message::Report(Report::TakesDone));
    desk.press("x enter").sees("take 1: drop pair");
    assert!(!desk.state.recovery.is_busy);
    desk.press("m");
    assert!(!desk.state.recovery.is_busy, "nobody waits for a mark");
}

#[test]
fn an_order_for_a_history_that_is_no_longer_shown_is_refused() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter u x");
    let accept = Message::Key(keymap::event("enter").unwrap());
    let late = update(&mut desk.state, accept);
    assert!(matches!(&late[..], [Effect::Take(_)]));
    desk.perform(vec![Effect::Takes(TakesCommand::Redo)]);
    let taken = desk.items();
    desk.perform(late);
    desk.sees("the history has changed since this was planned: nothing was changed");
    assert_eq!(
        (desk.items(), desk.state.recovery.takes.count()),
        (taken, 2)
    );
    desk.press("x enter").sees("take 2");
}

#[test]
fn a_take_is_shown_before_it_is_checked_and_the_check_is_called_off_by_the_next() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.loader.hold_checks();
    desk.press("i ^s enter").sees("take 1: inject error");
    assert!(!desk.state.recovery.is_busy && desk.state.checked().is_none());
    desk.press("u").sees("undone: back in the recording");
    desk.press("^r").sees("redone: take 1").press("u");
    desk.loader.make_checks(&mut desk.state);
    assert_eq!(desk.rules()[0], "unknown-tool");
    let findings = |desk: &Desk| desk.state.recovery.takes.rows[1].findings;
    assert_eq!(findings(&desk), None, "nobody looked at it to the end");
    desk.press("^r");
    let (before, after) = findings(&desk).unwrap();
    assert_eq!((before.errors, after.errors), (1, 0));
    assert_eq!(desk.again().state.recovery.takes.count(), 2);
}

#[test]
fn a_recovery_that_is_asked_for_before_the_check_waits_for_it_and_is_forgotten_by_the_next_key() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.loader.hold_checks();
    desk.press("i ^s enter").sees("take 1: inject error");
    desk.press("e")
        .sees("edit: as soon as the session is checked");
    desk.press("k j");
    desk.loader.make_checks(&mut desk.state);
    assert!(desk.state.recovery.attempt.is_none());

    desk.press("u").loader.hold_checks();
    desk.press("x enter").sees("take 2: drop");
    desk.press("e")
        .sees("edit: as soon as the session is checked");
    desk.loader.make_checks(&mut desk.state);
    assert!(desk.state.recovery.attempt.is_some());
}

#[test]
fn quick_marks_are_kept_in_the_order_in_which_they_were_made() {
    let mut desk = Desk::of("unknown-tool.json");
    let item = desk.state.item().unwrap();
    let (at, bytes) = (item.span.start, desk.state.session().unwrap().bytes(item));
    let bytes = bytes.unwrap();
    let marks = (0..21).map(|number| TakesCommand::Mark {
        at,
        bytes: bytes.clone(),
        set: number % 2 == 0,
    });
    let marks = marks.collect();
    desk.loader.obey_in_threads(&mut desk.state, marks);
    assert!(desk.state.marks.contains(&at));
    assert!(desk.again().state.marks.contains(&at));
}

#[test]
fn takes_that_would_be_lost_are_asked_about_before_it_ends() {
    let desk = Desk::of("unknown-tool.json");
    fs::write(desk.file("state"), "in the way").unwrap();
    let mut desk = desk.again();
    desk.press("i ^s enter u s enter Q")
        .sees("2 takes are only in memory and will be lost: quit?");
    desk.press("n").misses("will be lost");
    assert!(desk.left.is_empty());
    desk.press("q").sees("will be lost: close?").press("y");
    assert!(matches!(desk.left[..], [Effect::Close]));

    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter Q");
    assert!(matches!(desk.left[..], [Effect::Quit]), "it is recorded");

    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter T Q");
    assert!(
        matches!(desk.left[..], [Effect::Quit]),
        "Q quits in the tree, too"
    );

    // What was saved is not lost.
    let mut desk = Desk::of("unknown-tool.json");
    fs::write(desk.file("state"), "in the way").unwrap();
    desk = desk.again();
    desk.press("i ^s enter Q").sees("1 take is only in memory");
    desk.press("n w enter").sees("saved as").press("Q");
    assert!(matches!(desk.left[..], [Effect::Quit]), "{:?}", desk.left);
}

#[test]
#[cfg(not(feature = "images"))]
fn pictures_are_saved_as_files_that_are_never_overwritten() {
    let said = serde_json::json!([
        {"role": "user", "content": "look"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url":
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
    ]);
    let mut desk = Desk::with("a.json", &said.to_string());
    desk.press("g P").sees("no image here");
    desk.press("G").press("t").sees("[image_url]").press("t t");
    desk.press("G").sees("[image png 1x1, 70 B, P saves it]");
    desk.press("P")
        .sees("save the image as")
        .sees("a.item-2.png");
    let file = desk.file("other.png");
    let save = format!("^u `{}` enter", file.display());
    desk.press(&save).sees("the picture is saved as");
    let saved = fs::read(&file).unwrap();
    assert!(saved.starts_with(b"\x89PNG") && saved.len() == 70);
    desk.press("P").press(&save);
    desk.sees("the picture is saved as");
    fs::write(&file, "mine").unwrap();
    desk.press("P").press(&save).sees("holds something else");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn what_is_said_beside_a_large_picture_is_read() {
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let url = format!("data:image/png;base64,{pixel}{}", "A".repeat(64 * 1024));
    let said = serde_json::json!([{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "what is it?"},
    ]}]);
    let mut desk = Desk::with("a.json", &said.to_string());
    desk.sees("[image png 1x1,").sees("what is it?");
}

#[test]
fn what_is_saved_as_recorded_has_the_ending_of_the_recording() {
    let mut desk = Desk::with("a.har", r#"[{"role":"user","content":"hi"}]"#);
    desk.press("w").sees("a.copy.har").press("esc");
    desk.press("!").sees("no findings in this session");
}

#[test]
fn the_take_of_an_edited_prompt_has_one_name() {
    let mut desk = Desk::of("unknown-tool.json");
    let session = desk.state.session().unwrap();
    let mut kinds = session.items.iter().map(|item| item.kind);
    let prompt = kinds.position(|kind| kind == Kind::User).unwrap();
    desk.go_to(prompt + 1)
        .press("e")
        .press("`Please. `")
        .press("^s enter");
    desk.sees("take 1: edited the prompt; u undoes it");
    desk.press("T").sees("edited the prompt");
}

#[test]
fn a_fork_shows_the_first_items_that_leave_and_counts_the_others() {
    let mut desk = Desk::of("broken-json.json");
    let more = desk.items().len() - 1 - 3;
    desk.press("|").go_to(1).press("D");
    desk.press("G")
        .sees(&format!("… {more} more items are removed"));
}

#[test]
fn a_question_over_the_tree_of_takes_leaves_its_own_keys_alone_on_the_screen() {
    let mut desk = two_takes();
    desk.press("T").sees("d compare");
    desk.press("x").sees("y yes").misses("d compare");
    desk.press("n").sees("d compare");
}
