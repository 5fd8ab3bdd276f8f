//! Stories of the table and of samples.

use super::*;
use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::style::Color;
use retake_core::lab::LabCommand;
use retake_core::lab::TrialEnd;

#[test]
fn the_table_fills_in_as_samples_arrive() {
    let mut lab = lab();
    press(&mut lab, "enter");
    lab.hear(board(&[], LabPhase::Running));
    insta::assert_snapshot!("table_empty", screen(&lab, (100, 30)));
    lab.hear(halfway(LabPhase::Running));
    press(&mut lab, "j");
    insta::assert_snapshot!("table", screen(&lab, (100, 30)));
    insta::assert_snapshot!("table_80", screen(&lab, (80, 24)));
    insta::assert_snapshot!("table_wide", screen(&lab, (160, 30)));
    insta::assert_snapshot!("table_40", screen(&lab, (40, 10)));
    assert!(screen(&lab, (39, 10)).contains("too small"));
}

#[test]
fn the_best_stand_first_and_the_cursor_stays_on_its_wording() {
    let mut lab = measuring(LabPhase::Running);
    let nearest_stands_first = |lab: &Lab| {
        let shown = screen(lab, (100, 30));
        let at = |name: &str| shown.lines().position(|row| row.contains(name)).unwrap();
        at("nearest  ") < at("recorded  ")
    };
    assert!(!nearest_stands_first(&lab));
    press(&mut lab, "s");
    assert!(nearest_stands_first(&lab));
    assert!(screen(&lab, (100, 30)).contains("recorded as the model reads it"));
    press(&mut lab, "g");
    lab.hear(halfway(LabPhase::Paused));
    assert!(screen(&lab, (100, 30)).contains("nearest as the model reads it"));
}

#[test]
fn an_experiment_pauses_goes_on_takes_more_and_stops_after_a_question() {
    let mut lab = measuring(LabPhase::Running);
    let told = |wishes: Vec<Effect>| match &wishes[..] {
        [Effect::Experiment(command)] => Some(*command),
        _ => None,
    };
    assert_eq!(told(press(&mut lab, "p")), Some(LabCommand::Pause));
    lab.hear(halfway(LabPhase::Paused));
    let shown = screen(&lab, (100, 30));
    assert!(
        shown.contains("paused") && shown.contains("p go on"),
        "{shown}"
    );
    assert_eq!(told(press(&mut lab, "space")), Some(LabCommand::Resume));
    assert_eq!(told(press(&mut lab, "+")), Some(LabCommand::More(10)));
    assert_eq!(told(press(&mut lab, "X")), None);
    assert!(screen(&lab, (100, 30)).contains("End the experiment?"));
    assert_eq!(told(press(&mut lab, "n X y")), Some(LabCommand::Stop));
    lab.hear(halfway(LabPhase::Ended(TrialEnd::Stopped)));
    assert!(
        screen(&lab, (100, 30))
            .contains("stopped before the last sample: y exports the wording under the cursor")
    );
    assert_eq!(told(press(&mut lab, "p")), None);
    assert!(screen(&lab, (100, 30)).contains("the experiment has ended: + takes more samples"));
    assert_eq!(told(press(&mut lab, "X")), None);
}

#[test]
fn who_leaves_while_it_runs_is_asked() {
    let mut lab = measuring(LabPhase::Running);
    assert!(press(&mut lab, "q").is_empty());
    assert!(screen(&lab, (100, 30)).contains("End it and leave?"));
    assert!(matches!(press(&mut lab, "n q y")[..], [Effect::Close]));
    assert!(press(&mut lab, "Q").is_empty());
    assert!(matches!(press(&mut lab, "y")[..], [Effect::Quit]));
    let mut lab = measuring(LabPhase::Ended(TrialEnd::Complete));
    assert!(matches!(press(&mut lab, "q")[..], [Effect::Close]));
}

#[test]
fn each_sample_opens_its_take() {
    let mut lab = measuring(LabPhase::Ended(TrialEnd::Complete));
    press(&mut lab, "j enter");
    insta::assert_snapshot!("samples", screen(&lab, (100, 30)));
    insta::assert_snapshot!("samples_80", screen(&lab, (80, 24)));
    let wishes = press(&mut lab, "j enter");
    let [Effect::Sample(journal, take)] = &wishes[..] else {
        panic!("{wishes:?}");
    };
    assert_eq!(journal.to_str(), Some("/state/labs/trial-1.jsonl"));
    assert_eq!(*take, TakeId(22));
    assert!(press(&mut lab, "esc j enter G enter").is_empty());
    let shown = screen(&lab, (100, 30));
    assert!(
        shown.contains("there is no take: 503 overloaded"),
        "{shown}"
    );
}

#[test]
fn samples_that_come_while_they_are_listed_move_nothing() {
    let mut lab = measuring(LabPhase::Running);
    let wishes = press(&mut lab, "j enter j j enter");
    let counts: [&[(Class, u32)]; 2] = [
        &[(Class::Corrected, 2), (Class::SameMistake, 8)],
        &[(Class::Corrected, 9), (Class::GaveUp, 5)],
    ];
    lab.hear(board(&counts, LabPhase::Running));
    let again = press(&mut lab, "enter");
    assert_eq!(format!("{wishes:?}"), format!("{again:?}"));
    assert!(screen(&lab, (100, 30)).contains("nearest: 14 samples"));
}

#[test]
fn several_models_are_looked_at_one_after_the_other() {
    let mut lab = lab();
    press(&mut lab, "enter");
    let mut experiment = experiment();
    let mut second = experiment.trials[0].clone();
    second.model = "sonnet".to_owned();
    second.is_scripted = true;
    experiment.trials.push(second);
    let journals = vec!["one.jsonl".into(), "two.jsonl".into()];
    lab.hear(Arc::new(Board::new(Arc::new(experiment), journals)));
    assert!(screen(&lab, (100, 30)).contains("1/2  gpt-5.2"));
    press(&mut lab, "tab");
    assert!(screen(&lab, (100, 30)).contains("2/2  sonnet  [scripted]"));
    press(&mut lab, "tab");
    assert!(screen(&lab, (100, 30)).contains("1/2"));
    let mut lab = measuring(LabPhase::Running);
    press(&mut lab, "tab");
    assert!(screen(&lab, (100, 30)).contains("a single model is used"));
}

#[test]
fn what_cannot_begin_is_said_in_the_form() {
    let mut lab = lab();
    press(&mut lab, "enter");
    lab.cannot_begin("sessions/x.json: there is no finding".to_owned());
    let shown = screen(&lab, (100, 30));
    assert!(shown.contains("there is no finding"), "{shown}");
    assert!(!press(&mut lab, "enter").is_empty());
}

#[test]
fn the_wheel_moves_through_wordings() {
    let mut lab = measuring(LabPhase::Running);
    screen(&lab, (100, 30));
    lab.mouse(MouseEvent {
        kind: MouseEventKind::ScrollDown,
        column: 5,
        row: 3,
        modifiers: KeyModifiers::NONE,
    });
    assert!(screen(&lab, (100, 30)).contains("own-1 as the model reads it"));
}

#[test]
fn without_colour_and_without_utf_8_everything_is_still_told() {
    let theme = Theme::new(Looks::Mono, Glyphs::ASCII);
    let mut lab = measuring(LabPhase::Running);
    press(&mut lab, "j");
    for (name, keys) in [("table_ascii", ""), ("samples_ascii", "enter")] {
        press(&mut lab, keys);
        let backend = drawn(&lab, (100, 30), &theme);
        for cell in backend.buffer().content() {
            assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        }
        insta::assert_snapshot!(name, backend);
    }
    let backend = drawn(&super::lab(), (80, 24), &theme);
    insta::assert_snapshot!("form_ascii", backend);
}

#[test]
fn an_experiment_whose_requests_all_fail_shows_why_and_no_longer_asks_whether_it_is_left() {
    let failing = |phase| {
        let mut board = board(&[&[], &[(Class::Failed, 3)], &[]], phase);
        let samples = &mut Arc::make_mut(&mut board).samples[0][1];
        for sample in samples {
            sample.why = "the name of the host cannot be resolved".to_owned();
        }
        board
    };
    let mut lab = lab();
    press(&mut lab, "enter");
    lab.hear(failing(LabPhase::Running));
    assert!(screen(&lab, (160, 30)).contains("for no rate: the name of the host"));
    press(&mut lab, "q");
    assert!(screen(&lab, (160, 30)).contains("End it and leave?"));
    lab.hear(failing(LabPhase::Ended(TrialEnd::ModelFailed)));
    let shown = screen(&lab, (160, 30));
    assert!(!shown.contains("End it and leave?"), "{shown}");
    let words = "in a row failed: the name of the host cannot be resolved";
    assert!(shown.contains(words), "{shown}");
    assert!(!shown.contains("y exports"), "{shown}");
}
