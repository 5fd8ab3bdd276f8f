//! Keys into the wording editor, screens out of it.

use super::*;
use crate::tui::recovery::tests::fixture::{
    assert_draws_at_any_size, event, events, plain_screen, screen,
};
use crate::tui::state::recovery::Drafts;

/// A previewer that knows one placeholder and refuses others.
fn previewer() -> Previewer {
    Previewer::new(|template, whole_turn| {
        for (number, line) in template.lines().enumerate() {
            let known = line.replace("{{ tool }}", "");
            if known.contains("{{") {
                return Err(TemplateFault {
                    line: Some(number + 1),
                    message: "no such placeholder; known are: tool".to_owned(),
                });
            }
        }
        let text = template.replace("{{ tool }}", "serch_flights");
        Ok(match whole_turn {
            true => format!("{text}\n\n{text}"),
            false => text,
        })
    })
}

fn entry(name: &str, title: &str, axes: &str, text: &str) -> WordingEntry {
    WordingEntry {
        name: name.to_owned(),
        title: title.to_owned(),
        rate: String::new(),
        axes: axes.to_owned(),
        text: text.to_owned(),
    }
}

fn setup() -> Setup {
    Setup {
        title: "inject error: serch_flights".to_owned(),
        text: "Error: {{ tool }} is not a tool.\nUse search_flights.".to_owned(),
        library: vec![
            entry(
                "recorded",
                "as it stands in the recording",
                "",
                "Tool not found.",
            ),
            entry(
                "bare",
                "names the tool and no more",
                "names the tool",
                "No tool {{ tool }}.",
            ),
            entry(
                "no-repeat",
                "warns against the same call again",
                "names the tool, warns",
                "No {{ tool }}!\nDo not repeat the call.",
            ),
        ],
        placeholders: ["tool", "tools", "nearest", "arguments"]
            .map(str::to_owned)
            .to_vec(),
        faulty: 1,
        whole_turn: false,
        last_try: None,
        previewer: previewer(),
    }
}

fn press(editor: &mut WordingEditor, keys: &str) -> Step<Worded> {
    let mut last = Step::Stay;
    for event in events(keys) {
        last = editor.key(event, &mut ());
    }
    last
}

fn shown(editor: &WordingEditor, size: (u16, u16)) -> String {
    screen(size, |frame, area, theme| editor.draw(frame, area, theme))
}

#[test]
fn what_is_typed_is_seen_as_the_provider_will_see_it() {
    let mut editor = WordingEditor::new(setup());
    press(&mut editor, r#"down end " Now.""#);
    insta::assert_snapshot!("typed", shown(&editor, (80, 24)));
    let accepted = press(&mut editor, "^s");
    let template = "Error: {{ tool }} is not a tool.\nUse search_flights. Now.".to_owned();
    let expected = Step::Done(Worded {
        template,
        whole_turn: false,
    });
    assert_eq!(accepted, expected);
    assert_eq!(press(&mut editor, "F2"), expected);
}

#[test]
fn a_fault_is_shown_with_its_line_above_the_last_good_preview() {
    let mut editor = WordingEditor::new(setup());
    press(&mut editor, r#"down end " {{ who }}""#);
    insta::assert_snapshot!("faulty", shown(&editor, (80, 20)));
    assert_eq!(press(&mut editor, "^s"), Step::Stay, "nothing to accept");
    editor.key(event("^z"), &mut ());
    let mut undone = 1;
    while editor.text().contains("{{ w") {
        editor.key(event("^z"), &mut ());
        undone += 1;
        assert!(undone < 20);
    }
}

#[test]
fn the_library_is_previewed_and_taken_in_one_step_that_can_be_undone() {
    let mut editor = WordingEditor::new(setup());
    let text = editor.text();
    press(&mut editor, "tab j j");
    insta::assert_snapshot!("library", shown(&editor, (100, 20)));
    assert_eq!(editor.text(), text, "looking changes nothing");
    press(&mut editor, "enter");
    assert_eq!(editor.text(), "No {{ tool }}!\nDo not repeat the call.");
    press(&mut editor, "^z");
    assert_eq!(editor.text(), text);
    press(&mut editor, "^r");
    assert!(editor.text().starts_with("No {{ tool }}!"));
    let accepted = press(&mut editor, "tab g ^s");
    let seen = Step::Done(Worded {
        template: "Tool not found.".to_owned(),
        whole_turn: false,
    });
    assert_eq!(accepted, seen, "what is previewed is what is accepted");
}

#[test]
fn all_faulty_calls_of_the_turn_can_be_answered_at_once() {
    let mut editor = WordingEditor::new(Setup {
        faulty: 2,
        last_try: Some("the same mistake again: serch_\u{1b}flights".to_owned()),
        ..setup()
    });
    press(&mut editor, "^t");
    insta::assert_snapshot!("whole_turn", shown(&editor, (60, 24)));
    assert!(matches!(
        press(&mut editor, "^s"),
        Step::Done(Worded {
            whole_turn: true,
            ..
        })
    ));
    let mut single = WordingEditor::new(setup());
    press(&mut single, "^t");
    assert!(matches!(
        press(&mut single, "^s"),
        Step::Done(Worded {
            whole_turn: false,
            ..
        })
    ));
}

#[test]
fn leaving_keeps_the_words_for_this_finding() {
    let mut drafts = Drafts::default();
    let mut editor = WordingEditor::new(setup());
    press(&mut editor, r#"down end " More.""#);
    assert_eq!(press(&mut editor, "esc"), Step::Leave);
    drafts.keep((120, "unknown-tool".to_owned()), editor.text());
    let text = drafts
        .find(&(120, "unknown-tool".to_owned()))
        .unwrap()
        .to_owned();
    let again = WordingEditor::new(Setup { text, ..setup() });
    assert!(again.text().ends_with(" More."));
    assert_eq!(drafts.find(&(7, "unknown-tool".to_owned())), None);
}

#[test]
fn the_operators_own_editor_gets_the_text_and_gives_it_back() {
    let mut editor = WordingEditor::new(setup());
    let Step::Edit(text) = press(&mut editor, "^e") else {
        panic!("^e opens the editor");
    };
    editor.edited(&format!("{text}\nThird.\n"), &mut ());
    assert!(editor.text().ends_with("Third."));
    press(&mut editor, "^z");
    assert_eq!(editor.text(), text);
    editor.paste("one\r\ntwo", &mut ());
    assert!(editor.text().contains("one\ntwo"));
}

#[test]
fn it_is_drawn_without_colour_and_utf_8_and_at_any_size() {
    let mut editor = WordingEditor::new(Setup {
        faulty: 2,
        ..setup()
    });
    press(&mut editor, "tab j");
    editor.tried("other mistake");
    let view = |frame: &mut ratatui::Frame<'_>, area, theme: &_| editor.draw(frame, area, theme);
    insta::assert_snapshot!("plain", plain_screen((80, 20), view));
    assert_draws_at_any_size(view);
    let alone = WordingEditor::new(Setup {
        library: Vec::new(),
        ..setup()
    });
    assert_draws_at_any_size(|frame, area, theme| alone.draw(frame, area, theme));
}

#[test]
fn typing_replaces_the_words_that_were_there_and_a_movement_keeps_them() {
    let typed = |keys: &str| {
        let mut editor = WordingEditor::new(setup());
        press(&mut editor, keys);
        editor.text()
    };
    assert_eq!(typed(r#""No.""#), "No.");
    assert_eq!(typed("^u"), "");
    let old = setup().text;
    assert_eq!(typed("enter"), old);
    assert_eq!(typed(r#"enter " Now.""#), format!("{old} Now."));
    assert_eq!(typed(r#"end " Now.""#), format!("{old} Now."));
    let (first, _) = old.split_once('\n').unwrap();
    assert_eq!(
        typed(r#"up home "No. ""#),
        old.replace(first, &format!("No. {first}"))
    );
    assert_eq!(typed(r#"tab g enter "No.""#), "No.", "of the library, too");
}
