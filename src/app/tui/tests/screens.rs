//! What a person relies on at any screen: one size, one colour for the cursor, messages in full, help where it is asked for.

use super::desk::Desk;
use super::live_phases::paused;
use super::messages::Message;
use super::*;
use crate::tui::state::document::list_findings;
use crate::tui::state::layout::{DetailPlace, LayoutSettings};
use retake_core::engine::{Reason, RunCommand};
use retake_core::session::ledger::{Ask, LedgerEvent};
use retake_core::usage::SessionUsage;
use retake_live::live::RunNews;

/// The row of the screen that holds a text.
#[track_caller]
fn row_with(screen: &str, text: &str) -> usize {
    let row = screen.lines().position(|row| row.contains(text));
    row.unwrap_or_else(|| panic!("{text:?} is not on\n{screen}"))
}

#[test]
fn the_screen_is_drawn_at_the_size_that_it_has() {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    for told in [(140, 50), (100, 24), (40, 10), (20, 5)] {
        for real in [(140, 50), (100, 24), (80, 24), (40, 10), (39, 9), (1, 1)] {
            let mut state = opened(SCHEMA_BREAK, told);
            press(&mut state, "] i");
            let mut terminal = Terminal::new(TestBackend::new(real.0, real.1)).unwrap();
            terminal
                .draw(|frame| view::fit(frame, &mut state, &theme))
                .unwrap();
            assert_eq!(state.size, real);
        }
    }
}

#[test]
fn a_long_message_does_not_hide_the_row_with_the_cursor() {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let mut state = opened(BROKEN_JSON, (80, 12));
    press(&mut state, "| G");
    let mut terminal = Terminal::new(TestBackend::new(80, 12)).unwrap();
    let mut drawn = |state: &mut State| {
        let drawn = terminal.draw(|frame| view::fit(frame, state, &theme));
        drawn.unwrap();
        terminal.backend().to_string()
    };
    let before = row_with(&drawn(&mut state), "\u{258c}");
    state.notice = Some("cannot be written. ".repeat(12));
    let screen = drawn(&mut state);
    let message = row_with(&screen, "cannot be written");
    assert!((message - 1..message + 3).contains(&before), "{screen}");
    assert!(row_with(&screen, "\u{258c}") < message, "{screen}");
}

#[test]
fn the_row_with_the_cursor_is_of_one_colour() {
    let themes = [Theme::new, Theme::true_colour];
    for (variant, theme) in Variant::ALL
        .iter()
        .flat_map(|(it, _)| themes.map(|new| (it, new)))
    {
        let mut state = opened(BROKEN_JSON, (120, 16));
        press(&mut state, "]");
        let terminal = terminal(&state, &theme(*variant, Glyphs::UNICODE));
        let buffer = terminal.backend().buffer();
        let width = state.layout.panes[0].1.width;
        let row = state.tree().unwrap().row_of(state.tree_row()) - state.tops.turns;
        let y = u16::try_from(row).unwrap() + 2;
        let style = |x| buffer[(x, y)].style();
        for x in 2..width - 1 {
            assert_eq!(style(x), style(1), "{variant:?} column {x}");
        }
        assert_ne!(style(1), buffer[(1, y - 1)].style(), "it is seen");
    }
}

/// In every list the row with the cursor is reversed from end to end, in one colour, also where there are no colours and no signs.
#[test]
fn the_row_with_the_cursor_is_seen_in_every_list_without_colours_and_signs() {
    let reversed = |desk: &super::desk::Desk, theme: &Theme| -> Vec<(usize, _)> {
        let terminal = terminal(&desk.state, theme);
        let cells = terminal.backend().buffer().content.iter().enumerate();
        cells
            .filter(|(_, cell)| cell.modifier.contains(ratatui::style::Modifier::REVERSED))
            .map(|(at, cell)| (at, (cell.fg, cell.bg)))
            .collect()
    };
    for (variant, _) in Variant::ALL {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            let theme = Theme::new(variant, glyphs);
            let mut desk = super::desk::Desk::of("unknown-tool.json");
            desk.press("B a `tool x` enter esc i ^s enter");
            let mut last = Vec::new();
            for keys in ["", "2", "4", "5", "1 :", "[ enter", "B", "b", "T"] {
                desk.press(keys);
                let cells = reversed(&desk, &theme);
                assert!(
                    cells.len() > 10 && cells != last,
                    "{keys}\n{}",
                    desk.screen()
                );
                let colour = cells[0].1;
                assert!(cells.iter().all(|cell| cell.1 == colour), "{keys}");
                last = cells;
                desk.press("esc");
            }
        }
    }
}

/// A turn has one number: in the list, in the title of its pane, in a breakpoint, in what is found and counted.
#[test]
fn every_place_counts_turns_alike() {
    let corpus = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("../shared/corpus");
    let files = [
        "claude_code_jsonl/agentcmd-full-session-three.jsonl",
        "claude_code_jsonl/ccv-sidechains.jsonl",
    ];
    for name in files {
        let path = corpus.join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            println!("skipped: {} is not there", path.display());
            continue;
        };
        let options = retake_live::ReadOptions::default();
        let prices = retake_core::usage::Prices::built_in();
        let summary = retake_live::inspect::inspect(&path, &options, &prices, &|_, _| None);
        let summary = summary.unwrap();
        let mut desk = super::desk::Desk::on("a.jsonl", &bytes, None);
        desk.state.size = (160, 40);
        let document = desk.state.document.clone().unwrap();
        let sessions = &document.recording.sessions;
        let all: usize = sessions.iter().map(|session| session.turns.len()).sum();
        assert_eq!(summary.turns, all, "{name}: the picker");
        desk.press("G");
        let last = desk.state.session().unwrap().turns.len();
        desk.sees(&format!("turn {last}/{last}"))
            .sees(&format!(" Turn {last} "));
        desk.press(": `3` enter").sees(" Turn 3 ");
    }
    let mut desk = super::desk::Desk::run("flights.toml");
    desk.comes("paused: unknown-tool");
    desk.press("B a `turn 4` enter esc s enter");
    desk.comes("breakpoint 1, turn 4")
        .press("G")
        .sees(" Turn 4 ");
}

#[test]
fn a_number_in_the_palette_goes_to_that_turn() {
    let mut state = opened(BROKEN_JSON, (120, 16));
    press(&mut state, ": 3 enter");
    assert_eq!(state.turn(), 2);
    assert!(screen(&state).contains("Turn 3"), "{}", screen(&state));
    press(&mut state, ": 9 9 9 enter");
    assert_eq!(state.turn(), 2);
    let shown = screen(&state);
    assert!(shown.contains("no turn 999"), "{shown}");
}

#[test]
fn where_no_item_matches_the_list_is_empty_and_says_how_to_clear_the_filter() {
    for view in ["", "|"] {
        let mut desk = super::desk::Desk::of("broken-json.json");
        desk.press(view)
            .press("f `rule:turn-limit`")
            .sees("0 items");
        desk.press("` x text`").sees("filter: enter applies");
        desk.press("esc f `rule:turn-limit` enter j");
        desk.sees("no item matches");
        assert_eq!(desk.screen().matches("no item matches").count(), 1);
        desk.misses("turn 1").misses("unknown-tool");
        desk.misses("Compare l").press("e");
        assert!(!desk.state.has_overlay(), "what is not seen is not changed");
        desk.press("esc").sees("Compare l");
    }
}

#[test]
fn a_screen_that_is_too_small_takes_only_the_keys_that_leave() {
    let mut state = opened(BROKEN_JSON, (120, 30));
    press(&mut state, "] x");
    assert!(state.has_overlay());
    state.size = (20, 5);
    state.lay_out();
    assert!(press(&mut state, "enter").is_empty());
    assert!(state.has_overlay(), "it is not accepted unseen");
    press(&mut state, "esc");
    assert!(!state.has_overlay());
    press(&mut state, "i");
    assert!(!state.has_overlay());
    assert!(matches!(press(&mut state, "q")[..], [Effect::Close]));
}

#[test]
fn a_session_that_the_list_led_to_is_left_to_the_one_before() {
    for (view, key) in [("", "q"), ("|", "q"), ("|", "esc")] {
        let mut state = opened(TWO_SESSIONS, (120, 14));
        press(&mut state, view);
        press(&mut state, "S j enter");
        assert_eq!(state.session, 1);
        assert!(screen(&state).contains("q back"), "{}", screen(&state));
        assert!(press(&mut state, "S q").is_empty());
        assert_eq!(state.session, 1, "it closes the list first");
        assert!(!screen(&state).contains("Sessions 2"));
        assert!(press(&mut state, key).is_empty());
        assert_eq!(state.session, 0, "{key}");
        press(&mut state, "S j enter S k enter");
        assert_eq!(state.session, 0);
        assert!(matches!(press(&mut state, "q")[..], [Effect::Close]));
    }
}

#[test]
fn the_detail_below_the_list_and_longer_results_as_the_operator_sets_them() {
    for size in [(80, 24), (140, 42)] {
        let mut desk = Desk::of("unknown-tool.json");
        desk.state.set_layout(LayoutSettings {
            detail_place: DetailPlace::Below,
            ..LayoutSettings::default()
        });
        desk.send(Message::Resize(size.0, size.1));
        let row_of = |desk: &Desk, words: &str| {
            let screen = desk.screen();
            screen.lines().position(|row| row.contains(words))
        };
        desk.press("j j").sees("Item ");
        assert_eq!(row_of(&desk, "┌ Turns "), Some(1));
        assert!(row_of(&desk, "┌ Item ") > Some(8), "{}", desk.screen());
        desk.press("2").sees("┌ Turn ").press("4").sees("Findings");
        assert!(row_of(&desk, "┌ Item ") > Some(8), "{}", desk.screen());
        // In the transcript it comes with enter.
        desk.press("1 |")
            .misses("┌ Item ")
            .press("J 3")
            .sees("┌ Item ");
        assert!(row_of(&desk, "┌ Item ") > Some(8), "{}", desk.screen());
    }
    let lines: Vec<String> = (1..20).map(|line| format!("line {line}")).collect();
    let text = serde_json::json!([
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "list", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": lines.join("\n")},
    ]);
    let mut desk = Desk::with("a.json", &text.to_string());
    desk.state.set_layout(LayoutSettings {
        result_rows: Some(6),
        ..LayoutSettings::default()
    });
    desk.press("|")
        .sees("line 6")
        .misses("line 7")
        .sees("13 more lines");
}

#[test]
fn a_file_that_is_cut_before_its_first_item_says_where_and_what_to_do() {
    let text = "[{\"role\": \"user\",\n  \"content\": \"Where is";
    for is_flowing in [false, true] {
        let mut desk = Desk::with("trunc.json", text);
        desk.state.set_flowing(is_flowing);
        desk.press("").sees("line 2:23");
        desk.press("L").sees("line 2:23");
        desk.sees("the file ends in the middle of its JSON")
            .sees("copy it again");
    }
}

#[test]
fn enter_on_a_finding_without_a_fix_says_so() {
    let text = failed_request(&["Go.", "API Error: Connection error."]);
    for view in ["", "|"] {
        let mut state = opened(&text, (120, 24));
        press(&mut state, view);
        press(&mut state, "] enter");
        let shown = screen(&state);
        assert!(!state.has_overlay(), "{shown}");
        assert!(
            shown.contains("no fix is offered for this finding"),
            "{shown}"
        );
    }
}

#[test]
fn a_session_that_a_finding_led_to_is_left_to_the_one_before() {
    for key in ["q", "esc"] {
        let mut state = opened(TWO_SESSIONS, (120, 14));
        assert_eq!(state.session, 0);
        press(&mut state, "]");
        assert_eq!(state.session, 1);
        assert!(
            screen(&state).contains("session 2: q goes back"),
            "{}",
            screen(&state)
        );
        let shown = screen(&state);
        let finding = state.findings_here()[0].clone();
        let message = finding.message();
        let begin: String = message.chars().take(30).collect();
        assert!(shown.contains(finding.rule.id), "{shown}");
        assert!(shown.contains(&begin), "{shown}");
        press(&mut state, "k");
        assert!(screen(&state).contains("q back"), "{}", screen(&state));
        assert!(press(&mut state, key).is_empty());
        assert_eq!(state.session, 0, "{key}");
        assert!(matches!(press(&mut state, "q")[..], [Effect::Close]));
    }
}

#[test]
fn a_file_that_cannot_be_followed_is_not_followed() {
    let mut state = opened(BROKEN_JSON, (120, 14));
    press(&mut state, "F");
    assert_eq!(state.follow, Follow::On);
    update(&mut state, Message::Report(Report::NotFollowed));
    assert_eq!(state.follow, Follow::Off);
    assert!(screen(&state).contains("cannot be followed"));
}

#[test]
fn unrelated_words_run_nothing_and_what_is_of_a_proxy_is_not_listed() {
    for word in ["s o r t", "b u y"] {
        let mut state = opened(BROKEN_JSON, (120, 30));
        let effects = press(&mut state, &format!(": {word} enter"));
        assert!(effects.is_empty(), "{word}: {effects:?}");
        assert!(screen(&state).contains("no command \""), "{word}");
    }
    let mut state = opened(BROKEN_JSON, (120, 30));
    press(&mut state, ": t i m e enter");
    assert!(
        screen(&state).contains(" Timeline "),
        "it is known where time went"
    );
    for word in [
        "resume",
        "html",
        "stats",
        "replay",
        "reload",
        "collapse",
        "expand",
        "convert",
        "fix",
        "repair",
        "expensive",
        "find error",
        "compare",
    ] {
        let mut state = opened(BROKEN_JSON, (120, 30));
        let keys: Vec<String> = word.chars().map(|letter| letter.to_string()).collect();
        let keys = keys.join(" ").replace("   ", " space ");
        press(&mut state, &format!(": {keys}"));
        assert!(!screen(&state).contains("no command \""), "{word}");
    }
    let mut state = opened(BROKEN_JSON, (120, 30));
    press(&mut state, ": i n t e r c e p t i o n");
    assert!(screen(&state).contains("no command \""));
}

#[test]
fn the_help_is_that_of_the_screen_it_is_asked_for_on() {
    let mut state = opened(BROKEN_JSON, (140, 60));
    press(&mut state, "?");
    let shown = screen(&state);
    assert!(shown.contains("the keys of this screen"), "{shown}");
    for elsewhere in ["interception", "accept the text", "samples of a wording"] {
        assert!(!shown.contains(elsewhere), "{elsewhere}: {shown}");
    }
    assert!(!shown.contains('…'), "nothing is cut: {shown}");
    press(&mut state, "tab");
    let shown = screen(&state);
    assert!(shown.contains("help: all keys"), "{shown}");
    press(&mut state, "/ a c c e p t enter");
    let shown = screen(&state);
    assert!(shown.contains("accept the text"), "{shown}");
    press(&mut state, "esc q ] i F1");
    let shown = screen(&state);
    assert!(shown.contains("accept the text"), "{shown}");
    assert!(!shown.contains("next finding"), "{shown}");
    press(&mut state, "esc");
    let shown = screen(&state);
    assert!(shown.contains("the model reads"), "{shown}");
}

#[test]
fn what_fails_is_told_in_full_and_asked_again() {
    let why = format!(
        "the server cannot answer now: {}the end of it",
        "because ".repeat(20)
    );
    let mut desk = Desk::live(&[super::live_phases::SAID]);
    desk.tell(RunNews::Recorded(LedgerEvent::NotReplied {
        ask: Ask(1),
        attempt: 1,
        status: Some(503),
        why: why.clone(),
        again_in_ms: None,
    }));
    desk.tell(paused(&[Reason::Model { why }]));
    desk.sees("the end of it").sees("ask again");
    desk.press("r");
    assert_eq!(desk.asked_engine(), [RunCommand::Continue], "r asks again");
    desk.press("L").sees("the end of it");
}

#[test]
fn a_finding_has_the_room_of_the_keys_that_it_does_not_offer() {
    let mut state = opened(SCHEMA_BREAK, (200, 30));
    press(&mut state, "]");
    let finding = state.worst_here().unwrap().message();
    let shown = screen(&state);
    let last = shown.lines().last().unwrap();
    assert!(
        last.contains("? help") && last.contains("i inject"),
        "{shown}"
    );
    let begin: String = finding.chars().take(120).collect();
    assert!(
        shown.contains(&format!("invalid-arguments  {begin}")),
        "{finding}\n{shown}"
    );
}

#[test]
fn the_title_of_the_turns_says_what_is_left_out() {
    let mut state = opened(BROKEN_JSON, (140, 16));
    let effects = press(&mut state, "f k i n d : c a l l enter");
    let Some(Effect::Sift(_)) = effects.last() else {
        panic!("{effects:?}");
    };
    let session = state.session().unwrap();
    let calls = session.items.iter().enumerate();
    let calls = calls.filter(|(_, item)| item.kind == retake_core::session::Kind::Call);
    let calls: Vec<u32> = calls.map(|(index, _)| index as u32).collect();
    let shown = Arc::new(Shown::new(session, calls));
    let sifted = Report::Sifted {
        document: state.document.clone().unwrap(),
        session: 0,
        shown,
        is_preview: false,
    };
    update(&mut state, Message::Report(sifted));
    state.prepare();
    let shown = screen(&state);
    assert_eq!(row_with(&shown, "filter kind:call"), 1, "{shown}");
}

#[test]
fn a_file_opens_in_its_conversation_and_lists_first_words() {
    let line = |number: u32, parent: Option<u32>, chain: bool, role: &str, text: &str| {
        serde_json::json!({
            "type": role, "uuid": number.to_string(), "parentUuid": parent.map(|it| it.to_string()), "sessionId": "s",
            "isSidechain": chain, "message": {"role": role, "content": text},
        })
        .to_string()
    };
    let call = serde_json::json!({
        "type": "assistant", "uuid": "12", "parentUuid": "11", "sessionId": "s", "isSidechain": true,
        "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
    })
    .to_string();
    let stray = serde_json::json!({
        "type": "user", "uuid": "13", "parentUuid": "12", "sessionId": "s", "isSidechain": true,
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "zzz", "content": "x"}]},
    })
    .to_string();
    let text = [
        line(1, None, false, "user", "Tidy the shop"),
        line(2, Some(1), false, "assistant", "Done."),
        line(11, None, true, "user", "Look for stray files"),
        call,
        stray,
    ]
    .join("\n");
    let mut state = opened(&text, (120, 16));
    assert!(state.checked[1].as_ref().unwrap().counts().warnings > 0);
    finish(&mut state);
    assert_eq!(state.session, 0, "{}", screen(&state));
    press(&mut state, "S");
    let shown = screen(&state);
    assert!(shown.contains("Look for stray files"), "{shown}");
}

/// Findings of one rule stand together, the rule with the worst and the most of them first; the cursor goes through them as
/// they stand.
#[test]
fn findings_stand_by_rule() {
    let calls: String = (0..3)
        .map(|number| {
            format!(
                r#"{{"role":"assistant","tool_calls":[{{"id":"c{number}","type":"function","function":{{"name":"fly","arguments":"{{}}"}}}}]}},
                {{"role":"tool","tool_call_id":"c{number}","content":"Error: no such tool"}},"#
            )
        })
        .collect();
    let text = format!(
        r#"{{"model":"m","tools":[{{"type":"function","function":{{"name":"book","parameters":{{}}}}}}],"messages":[
        {{"role":"user","content":"Go"}},{calls}
        {{"role":"assistant","tool_calls":[{{"id":"d","type":"function","function":{{"name":"book","arguments":"{{\"a\":"}}}}]}}]}}"#
    );
    let mut desk = super::desk::Desk::on("a.json", text.as_bytes(), None);
    desk.press("| 4 g");
    insta::assert_snapshot!("findings_by_rule", desk.screen());
    let first = desk.state.finding;
    desk.press("j j");
    assert_ne!(desk.state.finding, first);
    desk.press("G");
    let rows = list_findings(&desk.state.checked).count();
    assert_eq!(desk.state.finding_row(), rows - 1);
}

#[test]
fn an_item_of_recorded_http_shows_its_exchange_without_secrets() {
    let request =
        serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let reply =
        serde_json::json!({"choices": [{"message": {"role": "assistant", "content": "Hello."}}]});
    let headers = serde_json::json!([{"name": "X-Request-Id", "value": "req_7"}, {"name": "Set-Cookie", "value": "c00kie"}]);
    let archive = serde_json::json!({"log": {"entries": [{
        "request": {"url": "https://me:pa55@api.example.com/v1/chat/completions?key=s3cret",
            "headers": [{"name": "authorization", "value": "Bearer s3cret"}],
            "postData": {"text": request.to_string()}},
        "response": {"status": 200, "headers": headers, "content": {"text": reply.to_string()}}}]}});
    let entry = serde_json::json!({"type": "exchange", "id": 1, "at": 1, "dialect": "openai-chat", "status": 200,
        "upstream": "https://api.example.com", "path": "/v1/chat/completions?key=s3cret",
        "headers": {"request": [["x-api-key", "s3cret"]], "response": [["x-request-id", "req_7"]]},
        "request": request, "response": reply});
    let journal = retake_core::formats::retake_journal::encode_line(1, &entry.to_string());
    let journal = retake_core::formats::retake_journal::encode_header() + &journal;
    for text in [archive.to_string(), journal] {
        let mut state = opened(&text, (120, 24));
        press(&mut state, "G 3");
        let shown = screen(&state);
        let seen = [
            "HTTP 200",
            "https://api.example.com/v1/chat/completions",
            "x-request-id: req_7",
        ];
        assert!(seen.iter().all(|part| shown.contains(part)), "{shown}");
        let hidden = ["s3cret", "pa55", "c00kie"];
        assert!(!hidden.iter().any(|part| shown.contains(part)), "{shown}");
    }
}

#[test]
fn the_columns_of_the_sessions_stand_below_each_other() {
    let mut state = opened(TWO_SESSIONS, (160, 30));
    let document = state.document.clone().unwrap();
    let usage = SessionUsage {
        span: Some(61_000),
        ..SessionUsage::default()
    };
    state.take_totals(document, 0, Arc::new(usage));
    press(&mut state, "5 z");
    let shown = screen(&state);
    let places = shown.lines().filter_map(|line| {
        let (before, _) = line.split_once(" turns ")?;
        Some(before.chars().count())
    });
    let places: Vec<usize> = places.collect();
    assert!(
        places.len() > 1 && places.iter().all(|it| *it == places[0]),
        "{shown}"
    );
}
