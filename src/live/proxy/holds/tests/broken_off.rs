//! What a hold leaves on the disk: private, without secrets, and listed when its proxy was killed.

use super::*;
use crate::{ReadOptions, read_path};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn a_journal_is_private_opens_and_holds_no_secret_while_the_wire_has_it() {
    let upstream = Upstream::start(vec![calls(&[good("b")])]);
    let theatre = Theatre::new(alone("[on.unknown-tool]\ndo = \"inject\"\n"));
    let request = REQUEST.replace("go\"", &format!("my key is {KEY}\""));
    let came = replied(&calls(&[call(
        "a",
        "serch",
        &format!("{{\"key\":\"{KEY}\"}}"),
    )]));
    let held = theatre.start(theatre.order(1, &upstream.url, &request, came));
    let take = take_of(&held.outcome());
    assert_eq!(take.matches(KEY).count(), 2, "{take}");
    assert_eq!(upstream.requests()[0].matches(KEY).count(), 3);
    let journal = std::fs::read_to_string(&held.journal).unwrap();
    assert!(!journal.contains(KEY) && !journal.contains("47114711"));
    let mode = std::fs::metadata(&held.journal)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let recording = read_path(&held.journal, &ReadOptions::default()).unwrap();
    assert!(recording.problems.is_empty());
    assert_eq!(recording.sessions.len(), 1);
}

#[test]
fn a_large_request_is_held_and_comes_back_as_it_was() {
    let theatre = Theatre::new(attended(""));
    let text = "long ".repeat(1024 * 1024);
    let request = REQUEST.replace("\"go\"", &format!("\"{text}\""));
    let reply = calls(&[good("a"), unknown("b")]);
    let held = theatre.start(theatre.order(1, "http://127.0.0.1:9", &request, replied(&reply)));
    held.paused();
    let mut sitting = theatre.sit(&held);
    sitting.mend("unknown-tool", "inject-error", None);
    let HoldOutcome::Reply(edited) = held.outcome() else {
        panic!("a reply");
    };
    assert_eq!(edited.base, request.as_bytes());
    assert!(edited.take.len() > request.len());
}

/// The folder in which the process of the next test holds exchanges.
const FOLDER: &str = "RETAKE_TEST_HOLDS";

#[test]
fn the_holds_of_a_proxy_that_was_killed_open_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let name = "proxy::holds::tests::broken_off::the_process_that_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("three exchanges are held", || {
        folder.path().join("ready").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    for id in 1..=3 {
        let path = folder.path().join(format!("{id}.jsonl"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("unknown-tool: ") && !text.contains("\"type\":\"ended\""));
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        assert!(recording.problems.is_empty());
        let (store, damages) = TakeStore::open_run(&path, wall_clock).unwrap();
        assert!(damages.is_empty() && store.not_recording().is_none());
    }
}

/// Holds three exchanges until it is killed; does nothing when it runs as a test.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let theatre = Theatre::new(attended(""));
    let held = (1..=4).map(|id| {
        let reply = calls(&[unknown("a")]);
        let journal = folder.join(format!("{id}.jsonl"));
        theatre.start(HoldOrder {
            journal,
            ..theatre.order(id, "http://127.0.0.1:9", REQUEST, replied(&reply))
        })
    });
    let held: Vec<Held> = held.collect();
    for held in &held {
        held.paused();
    }
    // One is decided, and is none of them.
    theatre.holder.release(ExchangeId(4), "operator");
    held[3].outcome();
    until("it is over", || {
        theatre
            .holder
            .take_over(ExchangeId(4), Arc::new(|| ()))
            .is_none()
    });
    until("its journal ends", || {
        let text = std::fs::read_to_string(&held[3].journal).unwrap();
        text.contains("\"type\":\"ended\"")
    });
    std::fs::write(folder.join("ready"), "").unwrap();
    std::thread::sleep(PATIENCE);
}
