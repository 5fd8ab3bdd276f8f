//! Stories of the lab with what works for it.

use super::super::desk::{Desk, World};
use super::super::subject::{ExperimentOrder, LabBench};
use super::fake::{Done, Fake};
use super::*;
use crate::tui::effect::Effect;
use crate::tui::layer::Input;
use retake_core::engine::agent::ModelEndpoint;
use retake_core::lab::LabCommand;
use retake_live::lab::LabNews;
use std::sync::mpsc::{Receiver, channel};

/// The lab in front of a bench, and its wakes.
fn desk(fake: &Arc<Fake>) -> (Desk, Receiver<()>) {
    let (waker, wakes) = channel();
    let subject = LabSubject {
        agent: Some(SCRIPT.to_owned()),
        ..subject()
    };
    let wake = move || {
        // The test is over.
        let _ = waker.send(());
    };
    let wordings = Arc::default();
    (Desk::new(subject, fake.clone(), wordings, wake), wakes)
}

fn take(desk: &mut Desk, keys: &str) -> Vec<Effect> {
    let keys = keys.split(' ').map(|name| keymap::event(name).unwrap());
    keys.flat_map(|key| desk.take(Input::Key(key))).collect()
}

#[test]
fn an_experiment_begins_beside_the_screen_and_ends_with_the_lab() {
    let (fake, done) = Fake::new(None);
    let (mut desk, wakes) = desk(&fake);
    assert!(take(&mut desk, "enter").is_empty());
    let begun = Done::Begun("unknown-tool serch_flights".to_owned());
    assert_eq!(done.recv().unwrap(), begun);
    wakes.recv().unwrap();
    desk.collect();
    let report = fake.report.lock().unwrap().clone().unwrap();
    report(LabNews::Notice("the key is old".to_owned()));
    report(LabNews::Board(halfway(LabPhase::Running)));
    wakes.recv().unwrap();
    desk.collect();
    let shown = screen(&desk.lab, (100, 30));
    assert!(shown.contains("the key is old"), "{shown}");
    assert!(shown.contains("90 %"), "{shown}");
    take(&mut desk, "p");
    assert_eq!(done.recv().unwrap(), Done::Commanded(LabCommand::Pause));
    let nexts = take(&mut desk, "j enter enter");
    assert!(
        matches!(&nexts[..], [Effect::Sample(_, TakeId(21))]),
        "{nexts:?}"
    );
    let nexts = take(&mut desk, "q q y");
    assert!(matches!(nexts[..], [Effect::Close]), "{nexts:?}");
    drop(desk);
    assert_eq!(done.recv().unwrap(), Done::Dropped);
}

#[test]
fn what_begins_after_the_lab_was_left_ends_at_once() {
    let (fake, done) = Fake::new(None);
    let (mut desk, _wakes) = desk(&fake);
    take(&mut desk, "enter");
    drop(desk);
    assert!(matches!(done.recv().unwrap(), Done::Begun(_)));
    assert_eq!(done.recv().unwrap(), Done::Dropped);
}

#[test]
fn a_refusal_is_read_in_the_form() {
    let (fake, _done) = Fake::new(Some("no such finding"));
    let (mut desk, wakes) = desk(&fake);
    take(&mut desk, "enter");
    wakes.recv().unwrap();
    desk.collect();
    assert!(screen(&desk.lab, (80, 24)).contains("no such finding"));
}

#[test]
fn a_spec_is_written_where_the_operator_wants_it_and_nothing_is_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    let (fake, _done) = Fake::new(None);
    let (mut desk, _wakes) = desk(&fake);
    let name = path.to_string_lossy().into_owned();
    let save = |desk: &mut Desk| {
        take(desk, "w ^u");
        desk.take(Input::Paste(&name));
        take(desk, "enter");
    };
    save(&mut desk);
    let expected = format!("unknown-tool serch_flights in {}", folder.path().display());
    let written = || std::fs::read_to_string(&path).unwrap();
    assert!(written().contains(&expected), "{}", written());
    std::fs::write(&path, "mine").unwrap();
    save(&mut desk);
    assert!(screen(&desk.lab, (200, 24)).contains("exists: replace it?"));
    assert_eq!(written(), "mine");
    take(&mut desk, "y");
    assert!(written().contains(&expected));
}

#[test]
fn a_test_of_the_winner_is_written_for_the_folder_that_it_is_saved_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    let (fake, done) = Fake::new(None);
    let (mut desk, wakes) = desk(&fake);
    take(&mut desk, "enter");
    done.recv().unwrap();
    wakes.recv().unwrap();
    desk.collect();
    // What is there was measured with this model.
    let mut measured = halfway(LabPhase::Paused);
    let experiment = Arc::make_mut(&mut Arc::make_mut(&mut measured).experiment);
    experiment.trials[0].model = "scripted".to_owned();
    let report = fake.report.lock().unwrap().clone().unwrap();
    report(LabNews::Board(measured));
    wakes.recv().unwrap();
    desk.collect();
    take(&mut desk, "j y tab tab");
    take(&mut desk, "w ^u");
    desk.take(Input::Paste(&path.to_string_lossy()));
    take(&mut desk, "enter");
    let written = std::fs::read_to_string(&path).unwrap();
    let expected = format!("nearest in {}", folder.path().display());
    assert!(written.contains(&expected), "{written}");
    assert!(written.contains("[[assert]]"), "{written}");
}

#[test]
fn a_spec_names_its_files_so_that_they_are_found_from_its_folder() {
    let lab = lab();
    let subject = LabSubject {
        file: Some("sessions/unknown-tool.json".into()),
        ..lab.subject().clone()
    };
    let mut spec = lab.form.order().unwrap().spec;
    let ModelEndpoint::Script { file, .. } = &mut spec.models[0].at else {
        panic!("{:?}", spec.models[0]);
    };
    "sessions/agents/flights.script.toml".clone_into(file);
    let order = ExperimentOrder {
        spec,
        subject: Arc::new(subject),
        is_fresh: false,
    };
    let world = World::new(Arc::default(), None);
    let files = |folder: &str| {
        let spec = world.spec(&order, folder.as_ref()).unwrap();
        let ModelEndpoint::Script { file, .. } = &spec.models[0].at else {
            panic!("{:?}", spec.models[0]);
        };
        [spec.findings[0].path.clone(), file.clone()]
    };
    let here = [
        "sessions/unknown-tool.json",
        "sessions/agents/flights.script.toml",
    ];
    assert_eq!(files(""), here);
    let root = std::env::current_dir().unwrap();
    let absolute = here.map(|file| root.join(file).to_string_lossy().into_owned());
    assert_eq!(files("elsewhere"), absolute);
}
