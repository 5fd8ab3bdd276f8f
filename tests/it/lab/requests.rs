//! What is sent: every bundled finding that words can mend, in every dialect, ends on a question that its provider would take.

use super::{prepared, scripted, sessions, spec, try_prepare, which};
use retake_core::lab::{Class, Meant, Named, Origin, Which};
use retake_core::rules::Severity;
use retake_core::session::Dialect;
use retake_core::session::takes::TakeId;
use retake_core::wording::FailureKind;
use retake_live::{ReadOptions, TakeStore, check_session, read_path};

/// A script that says one word.
const DONE: &str = "[[rule]]\ntext = \"Done.\"\n";

/// Recordings with a finding that words can mend, and its rule.
fn findings() -> Vec<(String, String)> {
    let files = std::fs::read_dir(sessions()).unwrap().flatten();
    let mut found = Vec::new();
    for file in files {
        let path = file.path();
        let Ok(recording) = read_path(&path, &ReadOptions::default()) else {
            continue;
        };
        let name = file.file_name().to_string_lossy().into_owned();
        for session in &recording.sessions {
            for finding in check_session(session, None).unwrap() {
                let is_fault = finding.severity >= Severity::Warning;
                if is_fault
                    && FailureKind::of_rule(finding.rule.id).is_some()
                    && finding.item.is_some()
                {
                    found.push((name.clone(), finding.rule.id.to_owned()));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn each_bundled_finding_is_told_in_each_dialect_and_answered() {
    let findings = findings();
    assert!(findings.len() >= 10, "{findings:?}");
    let mut trials = 0;
    for (path, rule) in findings {
        for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
            let which = Which {
                path: path.clone(),
                rule: Some(rule.clone()),
                ..Which::default()
            };
            let spec = spec(which, vec![scripted(dialect, DONE)], 1);
            let folder = tempfile::tempdir().unwrap();
            let prepared = match try_prepare(&spec, folder.path()) {
                Ok(prepared) => prepared,
                // Arguments that are no JSON cannot be written for Anthropic, which takes objects only.
                Err(error) => {
                    eprintln!("{path} {rule} {dialect:?}: {error}");
                    assert!(
                        error
                            .to_string()
                            .contains("is not there when the history is written"),
                        "{error}"
                    );
                    continue;
                }
            };
            let (_lab, news) = super::go(prepared);
            let board = super::wait(&news, super::is_over);
            for (trial, samples) in board.experiment.trials.iter().zip(&board.samples) {
                trials += 1;
                assert!(!trial.variants.is_empty());
                for sample in samples.iter().flatten() {
                    assert_ne!(
                        sample.class,
                        Class::Failed,
                        "{path} {rule} {dialect:?}: {}",
                        sample.why
                    );
                }
            }
            for journal in &board.journals {
                sound(journal, &format!("{path} {rule} {dialect:?}"));
            }
        }
    }
    assert!(trials >= 40, "{trials} trials");
}

/// No request holds what its provider would refuse: a call without output before the end, an output without call.
fn sound(journal: &std::path::Path, what: &str) {
    let (mut bench, _) = TakeStore::open_run(journal, retake_live::takes::wall_clock).unwrap();
    for take in bench.takes().children(TakeId::MAIN).to_vec() {
        let read = bench.read(take, &|_, _| ()).unwrap();
        for finding in check_session(&read.sessions[0], None).unwrap() {
            let refused = [
                "orphan-call",
                "orphan-output",
                "misplaced-output",
                "pending-call",
            ];
            assert!(!refused.contains(&finding.rule.id), "{what}: {finding:?}");
        }
    }
}

#[test]
fn the_failed_output_of_an_unknown_tool_means_the_tool_that_the_call_meant() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = super::stock(1);
    spec.findings[0].rule = Some("tool-error".to_owned());
    let prepared = prepared(&spec, folder.path());
    let subject = &prepared.experiment.trials[0].subject;
    assert_eq!(
        (&*subject.rule, &*subject.tool),
        ("tool-error", "lookup_stock")
    );
    assert_eq!(subject.meant, Meant::Tool("stock_lookup".to_owned()));
}

#[test]
fn no_more_requests_are_on_their_way_at_once_than_an_endpoint_takes() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = super::stock(1);
    spec.concurrency = 600;
    let prepared = prepared(&spec, folder.path());
    assert_eq!(prepared.experiment.concurrency, 64);
    assert!(prepared.notes.iter().any(|note| note.contains("not 600")));
}

#[test]
fn words_of_the_recording_come_first_and_read_as_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared(&super::stock(1), folder.path());
    let trial = &prepared.experiment.trials[0];
    let names: Vec<&str> = trial.variants.iter().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        [
            "recorded",
            "nearest-and-list",
            "bare",
            "nearest",
            "list-all",
            "with-arguments",
            "no-repeat"
        ]
    );
    assert_eq!(trial.variants[0].origin, Origin::Recorded);
    assert_eq!(trial.variants[0].words, "Tool 'lookup_stock' not found.");
    assert_eq!(
        trial.variants[2].words,
        "There is no tool named \"lookup_stock\"."
    );
    assert!(
        trial.variants[3]
            .words
            .contains("Did you mean stock_lookup")
    );
    assert!(
        std::fs::read_dir(folder.path()).unwrap().next().is_none(),
        "nothing is kept before it begins"
    );
}

#[test]
fn asking_again_without_a_word_is_tried_unless_the_spec_leaves_it_out() {
    let which = which("invalid-final-output.jsonl", "invalid-final-output");
    let mut spec = spec(which, vec![scripted(Dialect::Responses, DONE)], 1);
    let tried = |spec: &retake_core::lab::Spec| {
        let folder = tempfile::tempdir().unwrap();
        let prepared = prepared(spec, folder.path());
        let variants = prepared.experiment.trials[0].variants.iter();
        variants.map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    let library = retake_core::wording::library(FailureKind::InvalidFinalOutput);
    let library: Vec<&str> = library.map(|wording| &*wording.name).collect();
    assert_eq!(tried(&spec), [&["plain"], &library[..]].concat());
    spec.wordings.recorded = false;
    assert_eq!(tried(&spec), library);
    spec.wordings.named = Named::These(vec!["plain".to_owned()]);
    assert_eq!(tried(&spec), ["plain"]);
}
