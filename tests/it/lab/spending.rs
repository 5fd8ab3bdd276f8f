//! What is sent and what it costs, at an endpoint that is counted from outside.

use super::endpoint::{Counting, says};
use super::{count, is_over, spec, start, wait, which};
use retake_core::lab::{Board, Class, LabCommand, LabPhase, Named, Spec, TrialEnd};
use retake_core::session::Dialect;
use retake_live::lab::LabNews;
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};

const TOKENS: &str = r#","usage":{"prompt_tokens":10,"completion_tokens":1}"#;

/// Two wordings for one finding.
fn two(endpoint: &Counting, dialect: Dialect, samples: u32) -> Spec {
    let which = which("unknown-tool-recovered.jsonl", "unknown-tool");
    let mut spec = spec(which, vec![endpoint.model(dialect)], samples);
    spec.wordings.named = Named::These(vec!["nearest".to_owned()]);
    spec.concurrency = 2;
    spec
}

fn run_in(spec: &Spec, journals: &Path) -> Arc<Board> {
    let (_lab, news) = start(spec, journals);
    wait(&news, is_over)
}

#[test]
fn an_empty_reply_is_a_sample_in_every_dialect() {
    let usage = r#""usage":{"input_tokens":10,"output_tokens":1}"#;
    let chat = |content: &str| {
        format!(
            r#"{{"choices":[{{"finish_reason":"stop","message":{{"role":"assistant","content":{content}}}}}]{TOKENS}}}"#
        )
    };
    let anthropic = |content: &str| {
        format!(
            r#"{{"type":"message","role":"assistant","content":{content},"stop_reason":"end_turn",{usage}}}"#
        )
    };
    let responses = |output: &str| {
        format!(r#"{{"object":"response","status":"completed","output":{output},{usage}}}"#)
    };
    for (dialect, body) in [
        (Dialect::Responses, responses("[]")),
        (
            Dialect::Responses,
            responses(
                r#"[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":""}]}]"#,
            ),
        ),
        (Dialect::Chat, chat("null")),
        (Dialect::Chat, chat("\"\"")),
        (Dialect::Anthropic, anthropic("[]")),
        (
            Dialect::Anthropic,
            anthropic(r#"[{"type":"text","text":""}]"#),
        ),
    ] {
        let reply = body.clone();
        let endpoint = Counting::new(move |_| Some((200, "", reply.clone())));
        let folder = tempfile::tempdir().unwrap();
        let spec = two(&endpoint, dialect, 3);
        for _again in 0..2 {
            let board = run_in(&spec, folder.path());
            assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Complete), "{body}");
            let samples: Vec<_> = board.samples.iter().flatten().flatten().collect();
            assert_eq!((samples.len(), endpoint.asked()), (6, 6));
            for sample in samples {
                let told = (sample.class, &*sample.why);
                assert_eq!(told, (Class::GaveUp, "an empty reply"), "{body}");
                assert!(sample.take.is_some());
                assert_eq!(sample.tokens.counted().map(|told| told.input), Some(10));
            }
        }
    }
}

#[test]
fn one_slow_request_holds_one_place_only() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let endpoint = Counting::new(move |number| {
        if number == 1 {
            // Until it is released, or nobody is there to do so.
            let _gone = held.lock().unwrap().recv();
        }
        says("hello", TOKENS)
    });
    let folder = tempfile::tempdir().unwrap();
    let (_lab, news) = start(&two(&endpoint, Dialect::Chat, 6), folder.path());
    let board = wait(&news, |board| count(board) == 11);
    assert!(!is_over(&board));
    release.send(()).unwrap();
    let board = wait(&news, is_over);
    assert_eq!((count(&board), endpoint.asked()), (12, 12));
    for samples in board.samples.iter().flatten() {
        let numbers = samples.iter().map(|sample| sample.number);
        assert!(numbers.eq(0..6));
    }
}

#[test]
fn a_cap_on_requests_holds_for_what_is_sent_again_and_for_later_runs() {
    let endpoint = Counting::new(|number| match number % 2 {
        1 => Some((429, "retry-after: 0\r\n", String::new())),
        _ => says("hello", TOKENS),
    });
    let folder = tempfile::tempdir().unwrap();
    let mut spec = two(&endpoint, Dialect::Chat, 20);
    spec.caps.requests = Some(8);
    for _again in 0..2 {
        let board = run_in(&spec, folder.path());
        assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Requests));
        assert_eq!((board.spent.requests, endpoint.asked()), (8, 8));
        assert!(count(&board) >= 4);
    }
}

#[test]
fn requests_that_fail_count_for_later_runs() {
    let endpoint = Counting::new(|_| Some((400, "", String::new())));
    let folder = tempfile::tempdir().unwrap();
    let mut spec = two(&endpoint, Dialect::Chat, 20);
    spec.caps.requests = Some(4);
    for _again in 0..2 {
        let board = run_in(&spec, folder.path());
        assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Requests));
        assert_eq!((board.spent.requests, endpoint.asked()), (4, 4));
    }
}

#[test]
fn what_was_called_off_was_sent_and_counts_for_later_runs() {
    let (release, held) = sync_channel::<()>(0);
    let held = Mutex::new(held);
    let endpoint = Counting::new(move |_| {
        // As long as the test runs.
        let _over = held.lock().unwrap().recv();
        None
    });
    let folder = tempfile::tempdir().unwrap();
    let mut spec = two(&endpoint, Dialect::Chat, 20);
    spec.caps.requests = Some(2);
    let (lab, news) = start(&spec, folder.path());
    super::until("both are sent", || endpoint.asked() == 2);
    lab.command(LabCommand::Stop);
    wait(&news, is_over);
    drop(lab);
    let board = run_in(&spec, folder.path());
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Requests));
    assert_eq!((board.spent.requests, endpoint.asked()), (2, 2));
    drop(release);
}

#[test]
fn tokens_that_no_reply_tells_are_unknown_and_a_cap_on_them_goes_by_an_estimate() {
    let endpoint = Counting::new(|_| says("hello", ""));
    let folder = tempfile::tempdir().unwrap();
    let mut spec = two(&endpoint, Dialect::Chat, 20);
    spec.concurrency = 1;
    spec.caps.tokens = Some(1_000);
    let (_lab, news) = start(&spec, folder.path());
    let mut notices = Vec::new();
    let board = loop {
        match news.recv_timeout(super::PATIENCE).unwrap() {
            LabNews::Board(board) if is_over(&board) => break board,
            LabNews::Board(_) => {}
            LabNews::Notice(notice) => notices.push(notice),
        }
    };
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Tokens));
    assert!(endpoint.asked() < 40);
    let said = notices.iter().filter(|notice| notice.contains("estimated"));
    assert_eq!(said.count(), 1, "{notices:?}");
    let samples: Vec<_> = board.samples.iter().flatten().flatten().collect();
    assert!(
        samples
            .iter()
            .all(|sample| sample.tokens.counted().is_none())
    );
    assert!(board.spent.estimated_tokens() >= 1_000);
    let again = run_in(&spec, folder.path());
    assert_eq!(again.spent, board.spent);
    let mut before = board.samples.clone();
    let taken = before.iter_mut().flatten().flatten();
    taken.for_each(|sample| sample.is_earlier = true);
    assert_eq!(again.samples, before);
    assert_eq!(endpoint.asked(), samples.len());
}
