//! Filters as they are written, and what they keep.

use super::*;
use crate::tui::theme::{Glyphs, Theme, Variant};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;

const UNKNOWN: &[(&str, Severity)] = &[("unknown-tool", Severity::Error)];

fn head<'a>(kind: Kind, tool: &'a str, findings: &'a [(&'static str, Severity)]) -> ItemHead<'a> {
    ItemHead {
        kind,
        tool,
        findings,
        is_failed: kind == Kind::Output,
        has_note: false,
    }
}

/// A bad call, its output, and a message.
fn items() -> [ItemView<'static>; 3] {
    [
        ItemView {
            shows: &|_| true,
            head: head(Kind::Call, "serch_flights", UNKNOWN),
            row: "serch_flights",
            bytes: br#"{"name":"serch_flights","arguments":"{\"from\":\"Oslo\"}"}"#,
        },
        ItemView {
            shows: &|_| true,
            head: head(Kind::Output, "serch_flights", &[]),
            row: "no such tool",
            bytes: br#"{"output":"Tool not found: say \"sorry\""}"#,
        },
        ItemView {
            shows: &|_| true,
            head: head(Kind::Assistant, "", &[("refused", Severity::Warning)]),
            row: "I am sorry",
            bytes: br#"{"role":"assistant","content":"I am sorry"}"#,
        },
    ]
}

fn kept(filter: &str) -> Vec<usize> {
    let mut filter = Filter::parse(filter).unwrap();
    let items = items();
    let mut kept = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let of_head = filter.matches_head(&item.head);
        let of_all = filter.matches(item);
        assert!(of_head.is_none_or(|holds| holds == of_all));
        if of_all {
            kept.push(index);
        }
    }
    kept
}

#[test]
fn each_word_keeps_what_it_says() {
    let table: &[(&str, &[usize])] = &[
        ("", &[0, 1, 2]),
        ("/tool not fou?nd/", &[1]),
        ("/Tool not/ sorry", &[1]),
        ("/Tool Not/", &[]),
        ("!/s[a-z]rch_flights/", &[1, 2]),
        ("/no/such/path", &[]),
        ("sorry", &[1, 2]),
        ("oslo", &[0]),
        ("OSLO", &[]),
        ("!sorry", &[0]),
        ("\"say \"", &[1]),
        ("~srch", &[0]),
        ("!~srch", &[1, 2]),
        ("kind:call", &[0]),
        ("kind:call,output", &[0, 1]),
        ("!kind:call", &[1, 2]),
        ("tool:se*", &[0, 1]),
        ("tool:ERCH_fl", &[0, 1]),
        ("rule:unknown-*", &[0]),
        ("rule:unknown", &[0]),
        ("error", &[0, 1]),
        ("warning", &[2]),
        ("severity:error", &[0]),
        ("severity:error,warning", &[0, 2]),
        ("severity:error !error", &[]),
        ("!error finding", &[2]),
        ("finding", &[0, 2]),
        ("!finding", &[1]),
        ("\"error\"", &[]),
        ("kind:output tool:s* sorry", &[1]),
        ("kind:call sorry", &[]),
        (".output", &[1]),
        (".role == \"assistant\"", &[2]),
    ];
    for (filter, expected) in table {
        assert_eq!(kept(filter), *expected, "{filter}");
    }
}

#[test]
fn names_that_nothing_has_are_told_with_the_nearest() {
    let error = Filter::parse("rule:unkown-tool").unwrap_err().to_string();
    assert_eq!(
        error,
        "no rule is called `unkown-tool` (did you mean `unknown-tool`?)"
    );
    let tools = ["Bash", "Read"];
    assert_eq!(
        unknown_tool("error tool:bsh", &tools).as_deref(),
        Some("no tool is called `bsh` here (did you mean `Bash`?)")
    );
    for known in ["tool:bash", "tool:B*", "Bash", "tool:x,Read"] {
        assert_eq!(unknown_tool(known, &tools), None, "{known}");
    }
}

#[test]
fn a_tool_is_found_by_its_name_as_recorded_and_as_shown() {
    let call = head(Kind::Call, "mcp__happy__change_title", &[]);
    for filter in [
        "tool:happy.change_title",
        "tool:happy.change",
        "tool:happy.*",
        "tool:mcp__happy",
        "tool:change_title",
    ] {
        let filter = Filter::parse(filter).unwrap();
        assert_eq!(filter.matches_head(&call), Some(true));
    }
    let item = ItemView {
        head: call,
        row: "",
        bytes: br#"{"name":"mcp__happy__change_title"}"#,
        shows: &|_| true,
    };
    for (filter, is_kept) in [
        ("happy.change", true),
        ("happy__change", true),
        ("happy.do", false),
    ] {
        assert_eq!(
            Filter::parse(filter).unwrap().matches(&item),
            is_kept,
            "{filter}"
        );
    }
    assert_eq!(
        unknown_tool("tool:happy.change", &["mcp__happy__change_title"]),
        None
    );
}

#[test]
fn heads_decide_where_they_can() {
    let call = head(Kind::Call, "read", &[]);
    let decided = |filter: &str| Filter::parse(filter).unwrap().matches_head(&call);
    assert_eq!(decided("kind:call tool:read"), Some(true));
    assert_eq!(
        decided("kind:output text"),
        Some(false),
        "the text need not be read"
    );
    assert_eq!(decided("kind:call text"), None);
    assert_eq!(decided(".a"), None);
    assert_eq!(Filter::parse("kind:call error").unwrap().need(), Need::Head);
    assert_eq!(Filter::parse("kind:call x").unwrap().need(), Need::Body);
}

#[test]
fn kinds_are_found_by_their_beginning_and_unknown_ones_are_told() {
    let hosted = Filter::parse("kind:hosted").unwrap();
    let is_kept = |kind| hosted.matches_head(&head(kind, "", &[]));
    assert_eq!(is_kept(Kind::HostedCall), Some(true));
    assert_eq!(is_kept(Kind::HostedOutput), Some(true));
    assert_eq!(is_kept(Kind::Call), Some(false));
    let error = Filter::parse("kind:banana").unwrap_err().to_string();
    assert!(
        error.starts_with("unknown kind `banana`; kinds: system user"),
        "{error}"
    );
    for (text, prefix) in [
        ("kind:", "kind:"),
        ("!", "!"),
        ("~", "~"),
        ("!tool:", "tool:"),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert_eq!(error, FilterError::Incomplete(prefix.into()));
    }
    assert!(
        Filter::parse("https://x.y").is_ok(),
        "a colon alone is text"
    );
}

fn press(bar: &mut FilterBar, key: KeyCode) -> Step<Filtering> {
    bar.handle(Input::Key(key.into()), &mut ())
}

#[test]
fn the_bar_previews_what_is_cheap_and_says_what_is_wrong() {
    let mut bar = FilterBar::default();
    bar.open();
    let mut type_in = |text: &str| {
        let mut last = Step::Stay;
        for character in text.chars() {
            last = press(
                &mut bar,
                match character {
                    '\n' => KeyCode::Enter,
                    _ => KeyCode::Char(character),
                },
            );
        }
        last
    };
    assert!(matches!(
        type_in("kind:call"),
        Step::Done(Filtering::Preview(_))
    ));
    assert!(matches!(type_in(" x"), Step::Stay));
    assert!(matches!(
        type_in("\n"),
        Step::Done(Filtering::Apply(Filter::Terms(_)))
    ));
    bar.open();
    assert_eq!(bar.applied(), "kind:call x");
    bar.handle(Input::Paste(" kind:zebra"), &mut ());
    assert!(matches!(press(&mut bar, KeyCode::Enter), Step::Stay));
    let mut terminal = Terminal::new(TestBackend::new(80, 1)).unwrap();
    let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
    terminal
        .draw(|frame| bar.view(frame, frame.area(), &(), &theme))
        .unwrap();
    let shown = terminal.backend().to_string();
    assert!(shown.contains("unknown kind `zebra`"), "{shown}");
    assert!(matches!(press(&mut bar, KeyCode::Esc), Step::Leave));
    assert_eq!(bar.applied(), "kind:call x");
}

#[test]
fn a_filter_by_kind_and_tool_is_instant_for_many_items() {
    let filter = Filter::parse("kind:call tool:serch* !error").unwrap();
    let heads = [
        head(Kind::Call, "serch_flights", &[]),
        head(Kind::Output, "x", &[]),
    ];
    let count = (0..400_000)
        .filter(|index| filter.matches_head(&heads[index % 2]) == Some(true))
        .count();
    assert_eq!(count, 200_000);
}

#[test]
fn unknown_fields_are_told_and_times_and_addresses_are_texts() {
    let error = Filter::parse("foo:bar").unwrap_err().to_string();
    assert!(error.contains("unknown field `foo`"), "{error}");
    for text in [
        "12:30",
        "https://example.com",
        "a::b",
        "\"foo:bar\"",
        "C:\\x",
    ] {
        assert!(Filter::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn thousands_of_words_are_refused_before_any_is_compiled() {
    let words = "paste line ".repeat(1_000);
    assert_eq!(
        Filter::parse(&words).unwrap_err(),
        FilterError::TooManyWords
    );
    let mut bar = FilterBar::default();
    assert!(matches!(
        bar.handle(Input::Paste(&words), &mut ()),
        Step::Stay
    ));
    assert!(matches!(press(&mut bar, KeyCode::Enter), Step::Stay));
    assert!(Filter::parse(&"word ".repeat(MOST)).is_ok());
}
