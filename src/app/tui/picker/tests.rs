//! Keys in, screens out.

use super::*;
use crate::tui::theme::{Glyphs, Variant};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyModifiers;
use retake_live::discover::Candidate;
use retake_live::stores::AGENTS;
use std::ffi::OsStr;
use std::sync::Arc;

fn place(path: &str, origin: Origin) -> Place {
    Place {
        path: path.into(),
        origin,
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn candidate(name: &[u8], hours: u64) -> Candidate {
    Candidate {
        path: Path::new("/s").join(OsStr::from_bytes(name)),
        place: 0,
        origin: Origin::Sessions,
        size: 1200,
        modified: Some(now() - Duration::from_secs(hours * 3600)),
    }
}

fn picker(names: &[(&str, u64)]) -> Picker {
    let mut picker = Picker::new(vec![place("/s", Origin::Sessions)], now());
    let rows = names
        .iter()
        .map(|(name, age)| candidate(name.as_bytes(), *age));
    picker.discover(Discovery::Found(rows.collect()));
    picker
}

/// The file that is opened.
fn file(effects: Vec<Effect>) -> Step<PathBuf> {
    match effects.into_iter().next() {
        Some(Effect::Open(path)) => Step::Done(path),
        Some(Effect::OpenAt(found, _)) => Step::Done(found.path),
        Some(Effect::Quit) => Step::Leave,
        _ => Step::Stay,
    }
}

fn press(picker: &mut Picker, keys: &str) -> Step<PathBuf> {
    let mut last = Step::Stay;
    for character in keys.chars() {
        last = file(picker.press(match character {
            '\n' => KeyCode::Enter.into(),
            '\u{1b}' => KeyCode::Esc.into(),
            '↓' => KeyCode::Down.into(),
            '\t' => KeyCode::Tab.into(),
            _ => KeyCode::Char(character).into(),
        }));
    }
    last
}

fn screen(picker: &Picker, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
    terminal
        .draw(|frame| picker.draw(frame, frame.area(), &theme))
        .unwrap();
    terminal.backend().to_string().replace('"', "")
}

fn known(errors: usize, warnings: usize, folder: &str, words: &str) -> Summary {
    let rules = [
        ("unknown-tool", Severity::Error, errors),
        ("tool-error", Severity::Warning, warnings),
    ];
    Summary {
        format: "openai-chat",
        is_whole: true,
        sessions: 1,
        turns: 7,
        errors,
        warnings,
        rules: rules.into_iter().filter(|(.., count)| *count > 0).collect(),
        tokens: Some(214_000),
        cost: None,
        is_undercounted: false,
        last_entry: None,
        models: vec!["gpt-5.2".into()],
        tools: vec!["search_flights".into()],
        folder: Some(folder.into()),
        first: Some((Kind::User, words.into())),
        last: vec![(Kind::Assistant, "Nothing flies there".into())],
        parent: None,
    }
}

fn summary(errors: usize, warnings: usize) -> Result<Summary, String> {
    Ok(known(errors, warnings, "/home/me/desk", "Book\na flight"))
}

/// A picker with rows of two projects, and with one that could not be read.
fn filled() -> Picker {
    let mut picker = picker(&[
        ("old.json", 50),
        ("new.json", 1),
        ("mid.json", 2),
        ("odd.json", 900),
        ("agent-1.jsonl", 60),
        ("s1.jsonl", 49),
    ]);
    picker.home = Some("/home/me".into());
    picker.learn(0, Ok(known(0, 0, "/home/me/shop", "Checkout fails")));
    picker.learn(1, summary(3, 12));
    picker.learn(2, summary(0, 0));
    picker.learn(3, Err("format not recognised".into()));
    let child = Summary {
        parent: Some("s1".into()),
        ..known(1, 0, "/home/me/shop", "Find every caller")
    };
    picker.learn(4, Ok(child));
    picker.learn(5, Ok(known(0, 1, "/home/me/shop", "Delegate it")));
    picker.discover(Discovery::Finished);
    picker.arrange();
    picker
}

#[test]
fn recordings_stand_by_project_with_what_was_found_and_what_they_took() {
    let mut picker = filled();
    insta::assert_snapshot!("narrow", screen(&picker, 80, 24));
    press(&mut picker, "↓↓");
    insta::assert_snapshot!("wide", screen(&picker, 120, 40));
    press(&mut picker, ".G");
    assert!(screen(&picker, 80, 24).contains("format not recognised"));
    press(&mut picker, " ");
    let shown = screen(&picker, 80, 24);
    assert!(!shown.contains("format not recognised"), "{shown}");
}

#[test]
fn rows_are_sorted_and_grouped_by_keys() {
    let mut picker = filled();
    press(&mut picker, ".");
    let titles = |picker: &Picker| -> Vec<String> {
        let lines = picker.lines.iter().map(|line| match line {
            ListLine::Heading(name) => format!("# {name}"),
            ListLine::File(number, is_child) => {
                let sign = if *is_child { "- " } else { "" };
                format!("{sign}{}", picker.rows[*number].name.display())
            }
        });
        lines.collect()
    };
    assert_eq!(
        titles(&picker),
        [
            "# /home/me/desk",
            "new.json",
            "mid.json",
            "# /home/me/shop",
            "s1.jsonl",
            "- agent-1.jsonl",
            "old.json",
            "# /s",
            "odd.json"
        ]
    );
    // By size, the largest file of all folders is on top.
    press(&mut picker, "s");
    assert!(!titles(&picker).iter().any(|title| title.starts_with('#')));
    press(&mut picker, "\t");
    assert_eq!(titles(&picker)[0], "# openai-chat");
    press(&mut picker, "\tss");
    assert!(screen(&picker, 100, 24).contains("sort: tokens  group: none"));
    press(&mut picker, "ss");
    let screen_by_name = screen(&picker, 100, 24);
    assert!(screen_by_name.contains("sort: name"), "{screen_by_name}");
    assert_eq!(titles(&picker)[..2], ["mid.json", "new.json"]);
    press(&mut picker, "sss");
    assert_eq!(
        titles(&picker),
        [
            "new.json",
            "s1.jsonl",
            "- agent-1.jsonl",
            "mid.json",
            "old.json",
            "odd.json"
        ]
    );
    press(&mut picker, "\t\t");
    assert_eq!(titles(&picker)[0], "# openai-chat");
}

#[test]
fn the_column_of_agents_says_the_format_where_no_agent_is_known() {
    let mut picker = filled();
    let shown = |picker: &Picker| screen(picker, 160, 24);
    assert!(shown(&picker).contains("agent"), "{}", shown(&picker));
    let rows = |picker: &Picker, word: &str| {
        let rows = shown(picker);
        let list = rows.lines().take_while(|row| !row.contains("preview"));
        list.filter(|row| row.contains(word) && row.contains("ago"))
            .count()
    };
    assert!(rows(&picker, "openai-chat") > 0, "{}", shown(&picker));
    let summary = picker.rows[0].summary.as_mut().unwrap().as_mut().unwrap();
    summary.format = "claude-code";
    assert_eq!(rows(&picker, "claude-code"), 1, "{}", shown(&picker));
}

#[test]
fn a_key_of_recordings_says_in_the_list_where_it_works() {
    let mut picker = filled();
    press(&mut picker, "v");
    let shown = screen(&picker, 160, 24);
    assert!(
        shown.contains("v works in an open recording: exchange"),
        "{shown}"
    );
}

#[test]
fn the_order_can_be_turned_around_and_its_column_is_marked() {
    let mut picker = picker(&[("a.json", 1), ("b.json", 5), ("c.json", 3)]);
    assert!(screen(&picker, 100, 24).contains("when↓"));
    press(&mut picker, "S");
    assert_eq!(picker.selected(), Some(Path::new("/s/b.json")));
    let shown = screen(&picker, 100, 24);
    assert!(
        shown.contains("when↑") && shown.contains("sort: time reversed"),
        "{shown}"
    );
    press(&mut picker, "Ss");
    assert!(screen(&picker, 160, 24).contains("size↓"));
}

#[test]
fn the_contents_of_the_listed_recordings_are_searched_while_the_text_is_typed() {
    let mut picker = filled();
    let jobs = Arc::new(std::sync::Mutex::new(Vec::new()));
    let begun = jobs.clone();
    picker.search = Some(Box::new(move |job| begun.lock().unwrap().push(job)));
    press(&mut picker, "F");
    press(&mut picker, "z");
    assert!(jobs.lock().unwrap().is_empty(), "one letter is everywhere");
    press(&mut picker, "ebra");
    let jobs: Vec<ContentJob> = std::mem::take(&mut *jobs.lock().unwrap());
    let is_off = |job: &ContentJob| job.cancel.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(
        jobs.iter().map(is_off).collect::<Vec<_>>(),
        [true, true, true, false]
    );
    let last = jobs.last().unwrap();
    // Those that cannot be read are not listed.
    assert_eq!(last.recordings.len(), 5);
    let found = |recording: usize, turn: usize| FoundText {
        recording,
        path: format!("/s/{recording}").into(),
        place: Default::default(),
        is_of_several: turn == 4,
        turn,
        line: "the zebra crosses".to_owned(),
        more: 0,
    };
    picker.take_contents(last.number - 1, vec![found(2, 9)], 5);
    picker.take_contents(last.number, vec![found(0, 2), found(1, 4)], 4);
    picker.rows[1].summary = None;
    let shown = screen(&picker, 100, 24);
    assert!(shown.contains("new.json"), "not judged yet: {shown}");
    assert!(
        shown.contains("2 items in 2 recordings, 4 of 5 searched"),
        "{shown}"
    );
    assert!(
        shown.contains("Checkout fails") && shown.contains("turn 3     the zebra crosses"),
        "{shown}"
    );
    assert!(shown.contains("session 1   turn 5"), "{shown}");
    assert_eq!(press(&mut picker, "↓\n"), Step::Stay);
    assert_eq!(press(&mut picker, "\n"), Step::Done("/s/1".into()));
    press(&mut picker, "\u{1b}");
    assert!(is_off(last));
    assert!(screen(&picker, 100, 24).contains("enter open"));
}

#[test]
fn fields_narrow_the_list_and_what_is_no_filter_is_said() {
    let shown = |filter: &str| -> Vec<String> {
        let mut picker = filled();
        press(&mut picker, &format!("/{filter}"));
        let numbers = picker.lines.iter().filter_map(number_of);
        let names = numbers.map(|number| picker.rows[number].name.display().to_string());
        names.collect()
    };
    assert_eq!(shown("rule:unknown-*"), ["new.json", "agent-1.jsonl"]);
    assert_eq!(shown("error since:2h"), ["new.json"]);
    assert_eq!(shown("folder:shop !finding"), ["old.json"]);
    assert_eq!(shown("checkout tool:search* model:gpt-5*"), ["old.json"]);
    assert_eq!(
        shown("nothing\u{20}flies agent:openai-chat turns:>6 tokens:<1M").len(),
        5
    );
    assert_eq!(shown("agent:openai model:GPT tool:search").len(), 5);
    assert_eq!(shown("agent:claude model:gpt"), [""; 0]);
    assert_eq!(shown("findings:>10"), ["new.json"]);
    assert_eq!(shown("unknown-tool"), ["new.json", "agent-1.jsonl"]);
    assert_eq!(shown("gpt-5.2").len(), 5);
    let mut picker = filled();
    press(&mut picker, "/sonnet");
    let nothing = screen(&picker, 200, 24);
    assert!(nothing.contains("rule: tool: model: since:"), "{nothing}");
    let mut picker = filled();
    press(&mut picker, "/since:soon\n");
    let shown = screen(&picker, 100, 24);
    assert!(
        shown.contains("since: takes 7d, 12h, 30m or a date"),
        "{shown}"
    );
}

#[test]
fn what_is_no_filter_is_told_while_it_is_typed_and_lists_nothing() {
    for (filter, reason) in [
        ("foo:bar", "unknown field `foo`; fields: rule tool"),
        ("sinc:7d", "unknown field `sinc`"),
        ("since:zzz", "since: takes 7d, 12h, 30m or a date"),
        ("since:9", "since: takes 7d, 12h, 30m or a date"),
        ("turns:many", "`many` is not a number"),
    ] {
        let mut picker = filled();
        press(&mut picker, &format!("/{filter}"));
        let shown = screen(&picker, 80, 24);
        assert!(shown.contains(reason), "{shown}");
        assert_eq!(picker.lines, [], "{filter}");
        press(&mut picker, "\u{1b}");
        assert!(screen(&picker, 80, 24).contains("recordings 5"));
    }
    let mut picker = filled();
    press(&mut picker, "/");
    picker.paste_text("since:");
    assert!(!picker.lines.is_empty());
    press(&mut picker, "2001-09-01");
    assert_eq!(picker.fault, None);
    assert!(!picker.lines.is_empty());
}

#[test]
fn the_help_says_which_recordings_are_listed() {
    let mut picker = picker(&[("a.json", 1)]);
    press(&mut picker, "?");
    let shown = screen(&picker, 100, 60).replace('│', " ");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("the current folder, of agents and of retake"),
        "{shown}"
    );
}

#[test]
fn the_list_renews_itself_and_keeps_cursor_filter_and_sort() {
    let mut picker = picker(&[("a.json", 1), ("b.json", 2), ("c.json", 3)]);
    picker.discover(Discovery::Finished);
    press(&mut picker, "s↓");
    let (sort, chosen) = (picker.sort, picker.selected().map(Path::to_owned));
    press(&mut picker, "/json\n");
    picker.cursor.set(1);
    let shown = |picker: &Picker| screen(picker, 80, 24);
    let chosen_now = picker.selected().map(Path::to_owned);
    // Time passes: nothing else has changed.
    let later = now() + Duration::from_secs(7200);
    picker.renew(later);
    let files = || vec![candidate(b"a.json", 1), candidate(b"b.json", 2)];
    let grown = Candidate {
        size: 9999,
        ..candidate(b"b.json", 0)
    };
    let found = vec![candidate(b"new.json", 0), files().remove(0), grown.clone()];
    picker.discover(Discovery::Found(found));
    picker.discover(Discovery::Finished);
    let seen = shown(&picker);
    assert!(seen.contains("new.json"), "{seen}");
    assert!(!seen.contains("c.json"), "it is gone: {seen}");
    assert!(seen.contains("recordings 3"), "{seen}");
    assert!(seen.contains("3h"), "a.json is older now: {seen}");
    assert_eq!(picker.selected(), chosen_now.as_deref());
    assert_eq!((picker.sort, picker.filter.text().as_str()), (sort, "json"));
    assert!(chosen.is_some());
    // By key, with what it found.
    press(&mut picker, "R");
    assert!(shown(&picker).contains("looking for new and changed files"));
    let found = vec![
        candidate(b"new.json", 0),
        files().remove(0),
        grown,
        candidate(b"c.json", 3),
    ];
    picker.discover(Discovery::Found(found));
    picker.discover(Discovery::Finished);
    let seen = shown(&picker);
    assert!(!seen.contains("looking for"), "{seen}");
    assert!(
        seen.contains("recordings 4") && seen.contains("c.json"),
        "{seen}"
    );
    press(&mut picker, "R");
    picker.discover(Discovery::Found(files()));
    picker.discover(Discovery::Finished);
    let seen = shown(&picker);
    assert!(seen.contains("1 changed, 2 gone"), "{seen}");
    press(&mut picker, "R");
    picker.discover(Discovery::Found(files()));
    picker.discover(Discovery::Finished);
    let seen = shown(&picker);
    assert!(seen.contains("no new or changed files"), "{seen}");
}

#[test]
fn the_header_counts_what_is_listed_and_unread_files_are_listed_on_request() {
    let mut picker = filled();
    let shown = screen(&picker, 80, 24);
    assert!(
        shown.contains("recordings 5 · 1 not read · openai-chat 5"),
        "{shown}"
    );
    assert!(!shown.contains("odd.json"), "{shown}");
    press(&mut picker, "/error");
    let shown = screen(&picker, 80, 24);
    assert!(
        shown.contains("recordings 2 of 5 · openai-chat 2"),
        "{shown}"
    );
    press(&mut picker, "\u{1b}/unread");
    let shown = screen(&picker, 80, 24);
    assert!(shown.contains("recordings 1 of 6 · 1 not read"), "{shown}");
    assert!(shown.contains("odd.json"), "{shown}");
    press(&mut picker, "\u{1b}.");
    let shown = screen(&picker, 80, 24);
    assert!(shown.contains("recordings 6 · 1 not read"), "{shown}");
    assert!(shown.contains("odd.json"), "{shown}");
    press(&mut picker, "./odd");
    let shown = screen(&picker, 80, 24);
    assert!(
        shown.contains("1 unreadable file is hidden: . shows"),
        "{shown}"
    );
}

#[test]
fn the_cursor_stays_on_its_row_while_others_come() {
    let mut picker = picker(&[("a.json", 5), ("b.json", 6)]);
    picker.discover(Discovery::Found(vec![candidate(b"newer.json", 1)]));
    picker.arrange();
    assert_eq!(picker.selected(), Some(Path::new("/s/newer.json")));
    press(&mut picker, "↓");
    picker.discover(Discovery::Found(vec![candidate(b"newest.json", 0)]));
    picker.arrange();
    assert_eq!(picker.selected(), Some(Path::new("/s/a.json")));
    assert_eq!(press(&mut picker, "\n"), Step::Done("/s/a.json".into()));
}

#[test]
fn typing_filters_by_name_and_contents() {
    let mut picker = picker(&[
        ("airline-12.json", 5),
        ("retail-3.json", 6),
        ("other.json", 7),
    ]);
    picker.learn(2, summary(0, 0));
    press(&mut picker, "/~rtl3");
    assert!(screen(&picker, 60, 9).contains("recordings 1 of 3"));
    assert!(screen(&picker, 60, 9).contains("/ ~rtl3"));
    assert_eq!(picker.selected(), Some(Path::new("/s/retail-3.json")));
    press(&mut picker, "\u{1b}");
    assert!(screen(&picker, 60, 9).contains("recordings 3"));
    assert_eq!(press(&mut picker, "/flight\n"), Step::Stay);
    assert!(screen(&picker, 100, 24).contains("filter: flight"));
    let opened = press(&mut picker, "\n");
    assert_eq!(opened, Step::Done("/s/other.json".into()));
    press(&mut picker, "/zzz");
    let shown = screen(&picker, 200, 9);
    assert!(shown.contains("first and last messages; esc clears the filter, F searches"));
}

#[test]
fn files_of_the_same_age_stand_by_name() {
    let picker = picker(&[("b.json", 1), ("a.json", 1)]);
    assert_eq!(picker.selected(), Some(Path::new("/s/a.json")));
}

#[test]
fn q_leaves_and_esc_says_so() {
    assert_eq!(press(&mut picker(&[]), "q"), Step::Leave);
    let mut picker = picker(&[("a.json", 1)]);
    press(&mut picker, "/a");
    assert_eq!(press(&mut picker, "\u{1b}"), Step::Stay);
    assert_eq!(press(&mut picker, "\u{1b}"), Step::Stay);
    assert!(screen(&picker, 60, 9).contains("q quits"));
}

#[test]
fn named_files_stand_first_in_the_order_in_which_they_were_named() {
    let places = vec![
        place("b.json", Origin::Named),
        place("a.json", Origin::Named),
        place("/s", Origin::Named),
    ];
    let mut picker = Picker::new(places, now());
    let mut rows: Vec<Candidate> = Vec::new();
    for (index, path) in ["b.json", "a.json", "/s/new.json"].iter().enumerate() {
        rows.push(Candidate {
            path: path.into(),
            place: index,
            origin: Origin::Named,
            ..candidate(b"", 1)
        });
    }
    picker.discover(Discovery::Found(rows));
    let numbers: Vec<_> = picker.lines.iter().filter_map(number_of).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn nothing_found_says_where_it_looked() {
    let places = vec![
        place("sessions", Origin::Sessions),
        place("/home/me/.claude/projects", Origin::Agent(&AGENTS[0])),
        place("/home/me/notes", Origin::Named),
    ];
    let mut picker = Picker::new(places, now());
    assert!(screen(&picker, 70, 8).contains("looking for recordings in sessions, Claude Code"));
    picker.discover(Discovery::Finished);
    let shown = screen(&picker, 70, 8);
    assert!(
        shown.contains("no recording in sessions, Claude Code, /home/me/notes;"),
        "{shown}"
    );
    picker.discover(Discovery::Refused("/x\u{1b}".into(), "denied".into()));
    assert!(screen(&picker, 70, 8).contains("cannot read /x␛: denied"));
}

#[test]
fn hostile_names_are_shown_escaped_and_opened_exactly() {
    let mut picker = Picker::new(vec![place("/s", Origin::Sessions)], now());
    let name = b"-a\n\x1b[2J\xff\xe2\x80\xaeb.json";
    picker.discover(Discovery::Found(vec![candidate(name, 1)]));
    let shown = screen(&picker, 80, 8);
    assert!(shown.contains(r"-a⏎␛[2J\xff\u{202e}b.json"), "{shown}");
    let Step::Done(path) = press(&mut picker, "\n") else {
        panic!("opens nothing");
    };
    assert_eq!(path.as_os_str().as_bytes(), [b"/s/", &name[..]].concat());
}

#[test]
fn ten_thousand_rows_are_at_hand_and_only_the_visible_ones_are_preferred() {
    let mut picker = Picker::new(vec![place("/s", Origin::Sessions)], now());
    for batch in 0..40_u64 {
        let rows = (0..250).map(|row| candidate(format!("{batch}-{row}.json").as_bytes(), batch));
        picker.discover(Discovery::Found(rows.collect()));
    }
    picker.discover(Discovery::Finished);
    press(&mut picker, "G");
    let shown = screen(&picker, 80, 24);
    assert!(shown.contains("recordings 10,000"), "{shown}");
    assert_eq!(picker.visible().len(), 15);
    let last = picker.lines.last().and_then(number_of);
    assert_eq!(picker.visible().last().copied(), last);
}

#[test]
fn a_second_click_opens() {
    let mut picker = picker(&[("a.json", 1), ("b.json", 2)]);
    screen(&picker, 60, 9);
    let click = MouseEvent {
        kind: MouseEventKind::Down(ratatui::crossterm::event::MouseButton::Left),
        column: 5,
        row: 3,
        modifiers: KeyModifiers::NONE,
    };
    assert_eq!(file(picker.click(click)), Step::Stay);
    assert_eq!(file(picker.click(click)), Step::Done("/s/b.json".into()));
}

#[test]
fn every_size_can_be_drawn() {
    let mut picker = picker(&[("a.json", 1)]);
    picker.learn(0, summary(1000, 2_000_000));
    picker.home = Some("/home/me".into());
    for filter in ["", "/a"] {
        press(&mut picker, filter);
        for (width, height) in [(1, 1), (2, 3), (3, 3), (12, 4), (40, 10), (200, 60)] {
            screen(&picker, width, height);
        }
    }
}

#[test]
fn the_palette_runs_a_command_by_name_and_a_number_goes_to_that_recording() {
    let mut picker = filled();
    press(&mut picker, ":");
    assert!(screen(&picker, 80, 24).contains(" commands "));
    press(&mut picker, "reverse the order\n");
    assert!(screen(&picker, 80, 24).contains("sort: time reversed"));
    press(&mut picker, "S:preview of\n");
    assert!(!picker.has_preview);
    let control_p = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    picker.press(control_p);
    press(&mut picker, "4\n");
    assert_eq!(
        picker.selected(),
        Some(Path::new("/s/agent-1.jsonl")),
        "headings have no number"
    );
    press(&mut picker, ":99\n");
    assert!(screen(&picker, 80, 24).contains("no recording 99: the list has 5"));
    assert_eq!(press(&mut picker, ":quit!\n"), Step::Leave);
    press(&mut picker, ":\u{1b}");
    assert_eq!(
        press(&mut picker, "\n"),
        Step::Done("/s/agent-1.jsonl".into())
    );
}

#[test]
fn a_question_mark_in_the_filter_shows_what_it_takes_and_within_a_word_is_a_letter() {
    let mut picker = filled();
    press(&mut picker, "/?");
    let shown = screen(&picker, 100, 50);
    for words in ["rule:orphan", "tokens:>10k", "error", "clear the line"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    press(&mut picker, "q");
    press(&mut picker, "new.js?n");
    assert!(screen(&picker, 100, 24).contains("/ new.js?n"));
    press(&mut picker, " ?");
    assert!(screen(&picker, 100, 50).contains("rule:orphan"));
}

#[test]
fn a_message_that_is_cut_ends_in_one_ellipsis() {
    let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
    for words in ["word ".repeat(60), "a".repeat(300)] {
        for width in 30..60 {
            let lines = super::message("you", &words, 2, width, &theme);
            let last = lines.last().unwrap().to_string();
            assert!(last.ends_with('…') && !last.contains("……"), "{last}");
        }
    }
}

#[test]
fn another_order_is_looked_at_from_its_first_row() {
    let mut picker = filled();
    for key in ["s", "S"] {
        press(&mut picker, "G");
        press(&mut picker, key);
        let shown = screen(&picker, 120, 24);
        let mut rows = shown.lines().skip(2).filter(|row| !row.contains("──"));
        assert!(
            rows.next().is_some_and(|row| row.starts_with('▌')),
            "{shown}"
        );
    }
}
