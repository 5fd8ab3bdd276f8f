//! Keys in, screens out.

use super::*;
use crate::tui::theme::{Glyphs, Theme, Variant};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::ffi::OsStr;
use std::time::Duration;

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

fn press(picker: &mut Picker, keys: &str) -> Step<PathBuf> {
    let mut last = Step::Stay;
    for character in keys.chars() {
        last = picker.key(match character {
            '\n' => KeyCode::Enter.into(),
            '\u{1b}' => KeyCode::Esc.into(),
            '↓' => KeyCode::Down.into(),
            _ => KeyCode::Char(character).into(),
        });
    }
    last
}

fn screen(picker: &Picker, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
    terminal
        .draw(|frame| picker.view(frame, frame.area(), &theme))
        .unwrap();
    terminal.backend().to_string().replace('"', "")
}

fn summary(errors: usize, warnings: usize) -> Result<Summary, String> {
    Ok(Summary {
        format: "openai-chat",
        sessions: 1,
        turns: 7,
        errors,
        warnings,
        folder: Some("/home/me/desk".into()),
        words: "Book\na flight".into(),
    })
}

#[test]
fn rows_stand_newest_first_and_counts_fill_in() {
    let mut picker = picker(&[("old.json", 50), ("new.json", 1), ("mid.json", 2)]);
    assert_eq!(picker.by_age(), [1, 2, 0]);
    picker.learn(1, summary(3, 12));
    picker.learn(0, summary(0, 0));
    picker.learn(2, Err("format not recognised".into()));
    picker.discover(Discovery::Finished);
    assert_eq!(
        screen(&picker, 60, 9),
        "\
┌ recordings  3 ───────────────────────────────────────────┐
│▸●3   ▲12     1h  1.2K  new.json                          │
│ ?            2h  1.2K  mid.json                          │
│ ✓            2d  1.2K  old.json                          │
│                                                          │
│                                                          │
│7 turns  /home/me/desk  Book⏎a flight                     │
│/s/new.json           enter open  / filter  ? help  q quit│
└──────────────────────────────────────────────────────────┘
"
    );
    let wide = screen(&picker, 120, 9);
    assert!(
        wide.contains("openai-chat") && wide.contains("Book⏎a flight"),
        "{wide}"
    );
    press(&mut picker, "j");
    assert!(screen(&picker, 60, 9).contains("format not recognised"));
}

#[test]
fn the_cursor_stays_on_its_row_while_others_come() {
    let mut picker = picker(&[("a.json", 5), ("b.json", 6)]);
    picker.discover(Discovery::Found(vec![candidate(b"newer.json", 1)]));
    assert_eq!(picker.selected(), Some(Path::new("/s/newer.json")));
    press(&mut picker, "↓");
    picker.discover(Discovery::Found(vec![candidate(b"newest.json", 0)]));
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
    press(&mut picker, "/rtl3");
    assert!(screen(&picker, 60, 9).contains("1 of 3"));
    assert!(screen(&picker, 60, 9).contains("│/ rtl3"));
    assert_eq!(picker.selected(), Some(Path::new("/s/retail-3.json")));
    press(&mut picker, "\u{1b}");
    assert!(screen(&picker, 60, 9).contains("recordings  3"));
    assert_eq!(
        press(&mut picker, "/flight\n"),
        Step::Done("/s/other.json".into())
    );
    press(&mut picker, "/zzz");
    assert!(screen(&picker, 60, 9).contains("nothing matches; esc shows all"));
}

#[test]
fn a_name_is_a_better_match_than_words_inside() {
    let mut picker = picker(&[("lift.json", 1), ("broken.json", 2)]);
    let told = Summary {
        words: "the lift was broken".to_owned(),
        ..summary(0, 0).unwrap()
    };
    picker.learn(0, Ok(told));
    press(&mut picker, "/broken");
    assert_eq!(picker.selected(), Some(Path::new("/s/broken.json")));
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
    assert_eq!(picker.shown, [0, 1, 2]);
}

#[test]
fn nothing_found_says_where_it_looked() {
    let places = vec![
        place("sessions", Origin::Sessions),
        place("/home/me/.claude/projects", Origin::ClaudeCode),
    ];
    let mut picker = Picker::new(places, now());
    assert!(screen(&picker, 70, 8).contains("looking for recordings in sessions, /home/me"));
    picker.discover(Discovery::Finished);
    let shown = screen(&picker, 70, 8);
    assert!(
        shown.contains("no recording in sessions, /home/me/.claude/projects;"),
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
    press(&mut picker, "G");
    let shown = screen(&picker, 80, 24);
    assert!(shown.contains("recordings  10000"), "{shown}");
    assert_eq!(picker.visible().len(), 19);
    assert_eq!(picker.visible().last(), picker.shown.last());
}

#[test]
fn a_second_click_opens() {
    let mut picker = picker(&[("a.json", 1), ("b.json", 2)]);
    screen(&picker, 60, 9);
    let click = MouseEvent {
        kind: MouseEventKind::Down(ratatui::crossterm::event::MouseButton::Left),
        column: 5,
        row: 2,
        modifiers: KeyModifiers::NONE,
    };
    assert_eq!(picker.mouse(click), Step::Stay);
    assert_eq!(picker.mouse(click), Step::Done("/s/b.json".into()));
}

#[test]
fn every_size_can_be_drawn() {
    let mut picker = picker(&[("a.json", 1)]);
    picker.learn(0, summary(1000, 2_000_000));
    for filter in ["", "/a"] {
        press(&mut picker, filter);
        for (width, height) in [(1, 1), (2, 3), (3, 3), (12, 4), (40, 10), (200, 60)] {
            screen(&picker, width, height);
        }
    }
}
