//! Samples are takes in a journal: they survive whatever ends the experiment, and each can be opened.

use super::{count, is_over, run, start, stock, wait};
use retake_core::lab::LabCommand;
use retake_core::lab::{LabPhase, TrialEnd};
use retake_core::session::takes::TakeId;
use retake_live::takes::wall_clock;
use retake_live::{ReadOptions, TakeStore, check_session, read_path};

#[test]
fn an_experiment_that_was_ended_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let spec = stock(12);
    let (lab, news) = start(&spec, folder.path());
    let board = wait(&news, |board| count(board) >= 5);
    drop(lab);
    let early = count(&board);
    let (_lab, news) = start(&spec, folder.path());
    let first = wait(&news, |_| true);
    assert!(count(&first) >= early, "{} < {early}", count(&first));
    let board = wait(&news, is_over);
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Complete));
    assert_eq!(count(&board), 7 * 12);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn more_samples_can_be_asked_for_when_it_is_over_and_while_it_is_paused_nobody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, news) = start(&stock(2), folder.path());
    wait(&news, is_over);
    lab.command(LabCommand::Pause);
    lab.command(LabCommand::More(1));
    lab.command(LabCommand::Resume);
    let board = wait(&news, |board| is_over(board) && count(board) > 14);
    assert_eq!(count(&board), 21);
}

#[test]
fn when_it_is_over_others_may_write_to_its_journals_and_it_goes_on_with_more() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, news) = start(&stock(1), folder.path());
    let board = wait(&news, is_over);
    let journal = &board.journals[0];
    // The news comes a moment before the journal is let go.
    super::until("the journal is free", || {
        let (bench, _) = TakeStore::open_run(journal, wall_clock).unwrap();
        bench.not_recording().is_none()
    });
    lab.command(LabCommand::More(1));
    let board = wait(&news, |board| is_over(board) && count(board) == 14);
    assert_eq!(board.journals[0], *journal);
}

#[test]
fn an_experiment_that_is_killed_keeps_what_was_answered_and_asks_for_the_rest_only() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["stock.toml", "stock.script.toml"] {
        let text = std::fs::read_to_string(super::sessions().join("lab").join(name)).unwrap();
        let text = text.replace("../", &format!("{}/", super::sessions().display()));
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let journals = folder.path().join("journals");
    let lab = |samples: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_retake"));
        command.current_dir(folder.path());
        command.args([
            "lab",
            "stock.toml",
            "--journals",
            "journals",
            "--format",
            "json",
        ]);
        command.args(["--samples", samples]);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        command
    };
    let kept = || {
        let file = std::fs::read_dir(&journals).ok()?.flatten().next()?.path();
        let text = std::fs::read_to_string(file).ok()?;
        Some(text.matches("\"type\":\"judged\"").count())
    };
    let mut running = lab("500").spawn().unwrap();
    super::until("something is answered", || {
        kept().is_some_and(|kept| kept >= 10)
    });
    running.kill().unwrap();
    running.wait().unwrap();
    let before = kept().unwrap();
    assert!(before < 3500, "it was killed on its way");
    let samples = (before / 7 + 5).to_string();
    let output = lab(&samples).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let wanted = 7 * (before / 7 + 5);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        told.matches("\"type\":\"sample\"").count(),
        wanted.max(before)
    );
    assert_eq!(kept(), Some(wanted), "nothing was asked twice");
}

#[test]
fn every_sample_is_a_take_of_a_journal_that_opens_like_any_recording() {
    let (_folder, board) = run(&stock(2));
    let journal = &board.journals[0];
    let recording = read_path(journal, &ReadOptions::default()).unwrap();
    assert_eq!(recording.sessions.len(), 1);
    let (mut bench, damages) = TakeStore::open_run(journal, wall_clock).unwrap();
    assert!(damages.is_empty());
    let variants = &board.experiment.trials[0].variants;
    assert_eq!(bench.takes().children(TakeId::MAIN).len(), variants.len());
    for (variant, samples) in variants.iter().zip(&board.samples[0]) {
        let told = bench.takes().get(variant.take).unwrap().clone();
        assert_eq!(told.wording.as_deref(), Some(&*variant.name));
        assert_eq!(told.words.as_deref(), Some(&*variant.words));
        for sample in samples {
            let id = sample.take.unwrap();
            assert_eq!(bench.takes().parent(id), Some(variant.take));
            let read = bench.read(id, &|_, _| ()).unwrap();
            let findings = check_session(&read.sessions[0], None).unwrap();
            let outcome = &bench.takes().get(id).unwrap().outcome;
            let live = format!("{}: {}", sample.class.word(), sample.why);
            assert_eq!(outcome.live.as_deref(), Some(&*live));
            let orphans = findings.iter().any(|it| it.rule.id == "orphan-call");
            assert!(!orphans, "the calls of a reply are pending");
        }
    }
}
