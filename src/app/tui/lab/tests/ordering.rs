//! Stories of the form.

use super::*;
use crate::tui::layer::Input;
use crate::tui::stack::Screen as _;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use retake_core::lab::{Named, Spec};
use retake_core::wording::Channel;

/// The spec that `enter` begins with.
fn begun(wishes: &[Effect]) -> &Spec {
    match wishes {
        [Effect::Begin(order)] => &order.spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_lab_opens_on_a_finding_with_every_wording_in() {
    let mut lab = lab();
    insta::assert_snapshot!("form", screen(&lab, (100, 30)));
    insta::assert_snapshot!("form_80", screen(&lab, (80, 24)));
    let wishes = press(&mut lab, "enter");
    let spec = begun(&wishes);
    assert!(spec.wordings.recorded);
    assert_eq!(spec.wordings.named, Named::All);
    assert_eq!((spec.samples, spec.concurrency), (20, 4));
    assert_eq!(spec.findings[0].rule.as_deref(), Some("unknown-tool"));
    assert_eq!(spec.stop, Stop::Never);
    assert!(spec.models[0].is_scripted());
    assert!(screen(&lab, (80, 24)).contains("preparing"));
}

#[test]
fn the_field_of_the_model_has_the_cursor_where_none_is_named() {
    let wordings = Wordings::default();
    let subject = subject();
    let models = read_models("", subject.dialect, &wordings);
    let mut lab = Lab::new(subject, String::new(), models, 1);
    let wishes = press(&mut lab, "e `gpt-5.2` enter");
    assert!(
        matches!(&wishes[..], [Effect::ReadModels(written)] if written == "gpt-5.2"),
        "{wishes:?}"
    );
}

#[test]
fn on_the_output_of_an_unknown_tool_the_lab_is_about_the_call() {
    let failed = UNKNOWN_TOOL.replace("Tool not found.", "Tool 'serch_flights' not found.");
    let of_call = subject_after(&failed, &["]", "W"]);
    // A finding of its own is about the output.
    let subject = subject_after(&failed, &["]", "]", "W"]);
    assert_eq!(
        (subject.rule, subject.kind),
        ("unknown-tool", FailureKind::UnknownTool)
    );
    assert_eq!(subject.nearest.as_deref(), Some("search_flights"));
    assert_eq!(subject.place, of_call.place);
}

#[test]
fn wordings_are_left_out_but_never_that_of_the_recording() {
    let mut lab = lab();
    press(&mut lab, "space");
    assert!(screen(&lab, (100, 30)).contains("the recorded wording is always included"));
    press(&mut lab, "j space");
    let wishes = press(&mut lab, "enter");
    let spec = begun(&wishes);
    assert!(spec.wordings.recorded);
    let Named::These(names) = &spec.wordings.named else {
        panic!("{:?}", spec.wordings);
    };
    let all = retake_core::wording::library(FailureKind::UnknownTool).map(|wording| &*wording.name);
    assert!(all.skip(1).eq(names.iter().map(String::as_str)));
}

#[test]
fn values_are_typed_and_what_cannot_be_is_said() {
    let mut lab = lab();
    // From the end: fresh, stop, tokens, requests, at once, samples, meant.
    press(&mut lab, "G space k space");
    press(&mut lab, "k e `200k` enter k e `50` enter k e ^u `0` enter");
    assert!(screen(&lab, (80, 24)).contains("a number from 1 to 64"));
    press(&mut lab, "^u `2` enter k e ^u `30` enter k e `book` enter");
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("50 requests at most"), "{shown}");
    let wishes = press(&mut lab, "enter");
    let spec = begun(&wishes);
    assert_eq!((spec.samples, spec.concurrency), (30, 2));
    assert_eq!(spec.caps.requests, Some(50));
    assert_eq!(spec.caps.tokens, Some(200_000));
    assert_eq!(spec.findings[0].meant.as_deref(), Some("book"));
    assert!(matches!(spec.stop, Stop::Clear { .. }));
    assert!(matches!(&*wishes, [Effect::Begin(order)] if order.is_fresh));
    let wishes = press(&mut super::lab(), "enter");
    assert!(matches!(&*wishes, [Effect::Begin(order)] if !order.is_fresh));
}

#[test]
fn words_of_ones_own_are_written_with_what_they_make_beside_them() {
    let mut lab = lab();
    press(&mut lab, "a");
    insta::assert_snapshot!("own_words", screen(&lab, (100, 30)));
    lab.give_to_layers(Input::Edited("There is no {{ tool }}; ask."));
    press(&mut lab, "F2 c c");
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("[x] own-1"), "{shown}");
    assert!(shown.contains("as a user message"), "{shown}");
    let wishes = press(&mut lab, "enter");
    let own = &begun(&wishes).wordings.added[0];
    assert_eq!(own.text, "There is no {{ tool }}; ask.");
    assert_eq!(own.channel, Channel::UserMessage);
    let mut lab = super::lab();
    press(&mut lab, "a F2");
    assert!(screen(&lab, (100, 30)).contains("own-1"));
    press(&mut lab, "x");
    assert!(!screen(&lab, (100, 30)).contains("own-1"));
}

#[test]
fn tab_completes_the_last_of_the_files_that_are_named_as_models() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(at("trip.script.toml"), "").unwrap();
    let mut lab = lab();
    press(&mut lab, "G k k k k k k k e ^u");
    press(&mut lab, &format!("`gpt-5.2, {}` tab", at("tr")));
    let wishes = press(&mut lab, "enter");
    let wanted = format!("gpt-5.2, {}", at("trip.script.toml"));
    assert!(
        matches!(&wishes[..], [Effect::ReadModels(written)] if *written == wanted),
        "{wishes:?}"
    );
    press(&mut lab, "e ^u `no/such` tab");
    assert!(screen(&lab, (100, 30)).contains("no matching folder or .toml file"));
}

#[test]
fn a_second_tab_puts_one_after_the_other_of_the_files_that_are_possible() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(at("trap.toml"), "").unwrap();
    std::fs::write(at("trip.toml"), "").unwrap();
    for (tabs, name) in [
        (1, "tr"),
        (2, "trap.toml"),
        (3, "trip.toml"),
        (4, "trap.toml"),
    ] {
        let mut lab = lab();
        press(&mut lab, "G k k k k k k k e ^u");
        press(&mut lab, &format!("`{}`", at("t")));
        press(&mut lab, &"tab ".repeat(tabs));
        let shown = screen(&lab, (200, 30));
        assert!(shown.contains("2: trap.toml  trip.toml"), "{shown}");
        let wishes = press(&mut lab, "enter");
        assert!(
            matches!(&wishes[..], [Effect::ReadModels(written)] if *written == at(name)),
            "{wishes:?}"
        );
    }
}

#[test]
fn a_mistyped_path_is_no_name_of_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let dialect = lab().subject().dialect;
    let missing = at("stock.script.toml");
    for written in [
        "sess/lab/stock.",
        "sess/lab/stock",
        "stock.jsonl",
        "sess/",
        "./stock",
        "~/stock",
        &at("stock"),
        &missing,
    ] {
        let mut lab = lab();
        lab.learn_models(read_models(written, dialect, &Wordings::default()));
        let shown = screen(&lab, (200, 30));
        assert!(
            shown.contains(&format!("{written}: no such file or folder")),
            "{shown}"
        );
        assert!(press(&mut lab, "enter").is_empty());
    }
    assert!(read_models("meta-llama/llama-4", dialect, &Wordings::default()).is_ok());
}

#[test]
fn a_key_that_is_not_set_is_missed_before_anything_begins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    let agent = "name = \"a\"\ninput = \"hi\"\n[model]\ndialect = \"responses\"\nname = \"m\"\n\
                 base_url = \"http://127.0.0.1:1/v1\"\nkey_env = \"RETAKE_TEST_NO_SUCH_KEY\"\n";
    std::fs::write(&file, agent).unwrap();
    let mut lab = lab();
    let dialect = lab.subject().dialect;
    let written = file.to_string_lossy().into_owned();
    lab.learn_models(read_models(&written, dialect, &Wordings::default()));
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("$RETAKE_TEST_NO_SUCH_KEY is not set"));
    assert!(!shown.contains("sending along"), "{shown}");
}

#[test]
fn a_script_is_a_model_whatever_its_file_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.toml");
    std::fs::write(&file, "[[rule]]\ntext = \"Done.\"\n").unwrap();
    let written = file.to_string_lossy().into_owned();
    let read = read_models(&written, lab().subject().dialect, &Wordings::default());
    assert!(read.unwrap()[0].model.is_scripted());
}

#[test]
fn the_help_of_the_editor_lists_the_names_that_a_template_may_use() {
    let mut lab = lab();
    press(&mut lab, "a");
    assert!(screen(&lab, (80, 24)).contains("F1 lists all"));
    press(&mut lab, "F1");
    let shown = screen(&lab, (100, 40));
    assert!(
        shown.contains("call_id") && shown.contains("the id of the call"),
        "{shown}"
    );
}

#[test]
fn a_model_is_read_before_anybody_is_asked() {
    let mut lab = lab();
    let wishes = press(&mut lab, "G k k k k k k k e ^u `gpt-5.2, o5` enter");
    assert!(
        matches!(&wishes[..], [Effect::ReadModels(written)] if written == "gpt-5.2, o5"),
        "{wishes:?}"
    );
    let dialect = lab.subject().dialect;
    let read = |written| read_models(written, dialect, &Wordings::default());
    lab.learn_models(read("gpt-5.2, o5"));
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("$OPENAI_API_KEY"), "{shown}");
    assert!(press(&mut lab, "enter").is_empty());
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("set it and restart retake, or"), "{shown}");
    let mut lab = super::lab();
    lab.learn_models(read("nowhere.toml"));
    assert!(press(&mut lab, "enter").is_empty());
    assert!(screen(&lab, (100, 30)).contains("nowhere.toml: no such file"));
    lab.learn_models(read(" "));
    press(&mut lab, "enter");
    assert!(screen(&lab, (100, 30)).contains("no model is named"));
}

#[test]
fn a_file_that_is_not_trusted_sends_no_key_before_the_operator_has_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    let agent = "name = \"a\"\ninput = \"hi\"\n[model]\ndialect = \"responses\"\nname = \"m\"\n\
                 base_url = \"http://127.0.0.1:1/v1\"\nkey_env = \"OPENAI_API_KEY\"\n";
    std::fs::write(&file, agent).unwrap();
    let mut lab = lab();
    let written = file.to_string_lossy().into_owned();
    let dialect = lab.subject().dialect;
    lab.learn_models(read_models(&written, dialect, &Wordings::default()));
    assert!(press(&mut lab, "enter").is_empty());
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("not trusted this agent's file"), "{shown}");
    assert!(press(&mut lab, "n").is_empty());
    assert_eq!(begun(&press(&mut lab, "enter y")).models.len(), 1);
}

#[test]
fn the_lab_asks_before_it_sends_anything_to_a_server_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    let begun_with = |server: &str| {
        // A variable that is set wherever tests run takes the place of a key.
        let agent = format!(
            "name = \"a\"\ninput = \"hi\"\n[model]\ndialect = \"responses\"\nname = \"m\"\n\
             key_env = \"CARGO_MANIFEST_DIR\"\n{server}\n"
        );
        std::fs::write(&file, agent).unwrap();
        let mut lab = lab();
        let dialect = lab.subject().dialect;
        let written = file.to_string_lossy().into_owned();
        let mut models = read_models(&written, dialect, &Wordings::default()).unwrap();
        models[0].is_untrusted = false;
        lab.learn_models(Ok(models));
        let effects = press(&mut lab, "enter");
        (lab, effects)
    };
    let here = begun_with("base_url = \"http://127.0.0.1:1/v1\"");
    assert_eq!(begun(&here.1).models.len(), 1);
    let (mut lab, effects) = begun_with("");
    assert!(effects.is_empty());
    let shown = screen(&lab, (100, 30));
    for part in [
        "requests to a server",
        "times at most",
        "api.openai.com",
        "$CARGO_MANIFEST_DIR",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(press(&mut lab, "enter n").is_empty());
    assert_eq!(begun(&press(&mut lab, "enter y")).models.len(), 1);
}

#[test]
fn the_spec_is_saved_and_the_form_is_left() {
    let mut lab = lab();
    let wishes = press(&mut lab, "w ^u `lab.toml` enter");
    let [Effect::Save(saving)] = &wishes[..] else {
        panic!("{wishes:?}");
    };
    assert_eq!((saving.path.as_str(), saving.force), ("lab.toml", false));
    lab.ask_to_replace(saving.clone());
    assert!(screen(&lab, (80, 24)).contains("lab.toml exists: replace it?"));
    let wishes = press(&mut lab, "y");
    assert!(matches!(&wishes[..], [Effect::Save(saving)] if saving.force));
    assert!(matches!(press(&mut lab, "q")[..], [Effect::Close]));
    assert!(matches!(press(&mut lab, "Q")[..], [Effect::Quit]));
}

#[test]
fn everything_has_a_key_in_the_help_and_a_name_in_the_palette() {
    let mut lab = lab();
    press(&mut lab, "?");
    assert!(screen(&lab, (120, 50)).contains("add your own wording"));
    press(&mut lab, "esc : `to the bottom` enter k space");
    assert!(screen(&lab, (100, 30)).contains("[x] stop when clear"));
    press(&mut lab, "g t");
    assert!(screen(&lab, (100, 30)).contains("esc close"));
}

#[test]
fn a_second_click_takes_a_wording_out_and_the_wheel_moves() {
    let mut lab = lab();
    screen(&lab, (100, 30));
    let mouse = |kind| MouseEvent {
        kind,
        column: 5,
        row: 3,
        modifiers: KeyModifiers::NONE,
    };
    let down = MouseEventKind::Down(MouseButton::Left);
    lab.mouse(mouse(down));
    assert!(lab.form.wordings.iter().all(|(_, is_in)| *is_in));
    lab.mouse(mouse(down));
    assert_eq!(lab.form.chosen() + 1, lab.form.wordings.len());
    lab.mouse(mouse(MouseEventKind::ScrollDown));
    assert_eq!(lab.form.cursor.get(), 4);
}

#[test]
fn where_nothing_is_told_to_the_model_the_debugger_says_so() {
    let fine = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}]"#;
    let mut state = opened(fine, (100, 30));
    let effects = update(&mut state, Message::Key(keymap::event("W").unwrap()));
    assert!(effects.is_empty());
    let notice = state.notice.unwrap();
    assert!(
        notice.contains("needs a finding with an error for the model"),
        "{notice}"
    );
}

#[test]
fn the_offers_of_a_finding_lead_to_the_lab_too() {
    let mut state = opened(UNKNOWN_TOOL, (100, 30));
    let mut effects = Vec::new();
    for key in ["]", "enter", "W"] {
        let key = keymap::event(key).unwrap();
        effects.extend(update(&mut state, Message::Key(key)));
        state.prepare();
    }
    assert!(matches!(&effects[..], [Effect::Lab(_)]), "{effects:?}");
    assert!(!state.has_overlay());
}

#[test]
fn a_turn_that_is_asked_for_again_is_compared_with_no_words_which_can_be_left_out() {
    let recording = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sessions/invalid-final-output.jsonl"
    );
    let recording = std::fs::read_to_string(recording).unwrap();
    let mut lab = lab_on(subject_in(&recording));
    let known = retake_core::wording::library(FailureKind::InvalidFinalOutput).count();
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("[x] plain"), "{shown}");
    let requests = format!("{} requests at most", (known + 1) * 20);
    assert!(shown.contains(&requests), "{shown}");
    let wanted = |lab: &Lab| lab.form.order().unwrap().spec.wordings;
    assert!(wanted(&lab).recorded && wanted(&lab).named == Named::All);
    press(&mut lab, "space");
    assert!(!wanted(&lab).recorded && wanted(&lab).named == Named::All);
    let requests = format!("{} requests at most", known * 20);
    assert!(screen(&lab, (100, 30)).contains(&requests));
}
