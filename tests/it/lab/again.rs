//! What an earlier run answered counts where the very same is asked, and nowhere else.

use super::{
    count, is_over, prepared, run, scripted, spec, start, stock, stock_script, wait, which,
};
use retake_core::lab::{Board, Class, LabPhase, Named, Spec, TrialEnd};
use retake_core::session::Dialect;
use std::path::Path;
use std::sync::Arc;

/// Every wording is told: nothing comes of it but these words.
const SILENT: &str = "name = \"stock\"\n[[rule]]\ntext = \"I cannot.\"\n";

/// Two wordings of the failing call.
fn two(samples: u32) -> Spec {
    let mut spec = stock(samples);
    spec.wordings.named = Named::These(vec!["nearest".to_owned()]);
    spec
}

fn run_in(spec: &Spec, folder: &Path) -> Arc<Board> {
    let (_lab, news) = start(spec, folder);
    wait(&news, is_over)
}

fn journals(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
    names.sort();
    names
}

/// What came, by wording.
fn told(board: &Board) -> Vec<Vec<(Class, String)>> {
    let of_each = board.samples.iter().flatten();
    let told = of_each.map(|samples| {
        let samples = samples.iter();
        let told = samples.map(|sample| (sample.class, sample.why.clone()));
        told.collect()
    });
    told.collect()
}

#[test]
fn a_model_that_is_another_one_is_asked_anew() {
    let folder = tempfile::tempdir().unwrap();
    let first = run_in(&two(3), folder.path());
    let mut silent = two(3);
    silent.models = vec![scripted(Dialect::Responses, SILENT)];
    let second = run_in(&silent, folder.path());
    assert_ne!(second.journals, first.journals);
    let classes = second.samples.iter().flatten().flatten();
    assert!(classes.clone().all(|sample| sample.class == Class::GaveUp));
    let mut warm = two(3);
    warm.models[0]
        .settings
        .insert("temperature".to_owned(), 1.into());
    let mut whole = two(3);
    whole.models[0].stream = false;
    let mut short = two(3);
    short.models[0].max_tokens = Some(100);
    for (number, spec) in (3..).zip([warm, whole, short]) {
        run_in(&spec, folder.path());
        assert_eq!(journals(folder.path()).len(), number);
    }
    let again = run_in(&two(3), folder.path());
    assert_eq!(again.journals, first.journals);
    assert_eq!(told(&again), told(&first));
}

#[test]
fn what_counts_as_corrected_decides_which_answers_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let first = run_in(&two(10), folder.path());
    let mut other = two(10);
    other.findings[0].meant = Some("open_orders".to_owned());
    let second = run_in(&other, folder.path());
    assert_ne!(second.journals, first.journals);
    let mut samples = second.samples.iter().flatten().flatten();
    assert!(samples.all(|sample| {
        (sample.class == Class::Corrected) == (sample.why == "calls open_orders")
    }));
    // How long a reply may take does not change what it means.
    let mut patient = two(10);
    patient.models[0].timeout_ms += 1;
    assert_eq!(run_in(&patient, folder.path()).journals, first.journals);
}

#[test]
fn an_experiment_that_was_begun_anew_goes_on_in_its_newest_journal() {
    let folder = tempfile::tempdir().unwrap();
    let first = run_in(&two(1), folder.path());
    let anew = || {
        let (_lab, news) = super::go(super::afresh(&two(1), folder.path()));
        wait(&news, is_over)
    };
    let second = anew();
    assert_ne!(second.journals, first.journals);
    let gone_on = run_in(&two(2), folder.path());
    assert_eq!(gone_on.journals, second.journals);
    let third = anew();
    // One that was taken away leaves its number free, and is not what comes next.
    std::fs::remove_file(&second.journals[0]).unwrap();
    assert_eq!(run_in(&two(1), folder.path()).journals, third.journals);
    assert_eq!(journals(folder.path()).len(), 2);
}

#[test]
fn a_finding_that_a_spec_names_twice_is_tried_once_and_that_is_said() {
    let mut spec = two(2);
    spec.findings.push(spec.findings[0].clone());
    spec.findings
        .push(which("./unknown-tool-recovered.jsonl", "unknown-tool"));
    let folder = tempfile::tempdir().unwrap();
    let notes = prepared(&spec, folder.path()).notes;
    let said = notes.iter().filter(|note| note.contains("tried once"));
    assert_eq!(said.count(), 2, "{notes:?}");
    let board = run_in(&spec, folder.path());
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Complete));
    assert_eq!((board.experiment.trials.len(), count(&board)), (1, 4));
}

#[test]
fn models_of_one_name_are_told_apart_and_the_very_same_one_is_asked_once() {
    let mut spec = two(2);
    let silent = scripted(Dialect::Responses, SILENT);
    spec.models.extend([silent.clone(), silent]);
    let (_folder, board) = run(&spec);
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Complete));
    let trials = board.experiment.trials.iter();
    let names: Vec<&str> = trials.map(|trial| &*trial.model).collect();
    assert_eq!(names, ["scripted #1", "scripted #2"]);
}

#[test]
fn an_experiment_that_goes_on_gets_the_answers_that_it_would_have_got_at_once() {
    // Some requests fail, which leaves gaps in what is answered; not so many that several in a row end the experiment.
    let failing = "name = \"stock\"\n[[rule]]\nchance = 0.1\nstatus = 400\nerror = \"no\"\n";
    let script = stock_script().replacen("name = \"stock\"\n", failing, 1);
    let mut whole = two(30);
    whole.models = vec![scripted(Dialect::Responses, &script)];
    let (_folder, at_once) = run(&whole);
    let classes = at_once.samples.iter().flatten().flatten();
    assert!(classes.clone().any(|sample| sample.class == Class::Failed));
    let folder = tempfile::tempdir().unwrap();
    let mut part = whole.clone();
    part.samples = 12;
    run_in(&part, folder.path());
    let gone_on = run_in(&whole, folder.path());
    assert!(
        gone_on
            .ended
            .iter()
            .all(|end| *end == Some(TrialEnd::Complete))
    );
    assert_eq!(told(&gone_on), told(&at_once));
}

#[test]
fn what_is_left_out_stands_in_the_experiment() {
    let mut spec = spec(
        which("unknown-tool-recovered.jsonl", "unknown-tool"),
        vec![scripted(Dialect::Responses, &stock_script())],
        1,
    );
    spec.wordings.named = Named::These(vec!["nearest".to_owned()]);
    spec.findings
        .push(which("broken-json.json", "malformed-arguments"));
    spec.models.push(scripted(Dialect::Anthropic, SILENT));
    let folder = tempfile::tempdir().unwrap();
    let experiment = prepared(&spec, folder.path()).experiment;
    let left_out = &experiment.left_out;
    assert!(!left_out.is_empty());
    assert!(left_out.iter().all(|one| {
        let subject = (&*one.subject.path, &*one.subject.rule);
        subject == ("broken-json.json", "malformed-arguments") && one.model == "scripted #2"
    }));
    assert!(
        left_out.iter().all(|one| !one.is_all),
        "the other model is asked"
    );
    spec.models.remove(0);
    let experiment = prepared(&spec, folder.path()).experiment;
    assert!(experiment.left_out.iter().all(|one| one.is_all));
}
