//! A recorder that is killed: what it acknowledged is there, and what it held is listed.

use super::*;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const CHILD: &str = "RETAKE_RECORDER_TEST";

/// Not a test of its own: records until it is killed, and says what is on the disk.
#[test]
#[ignore = "runs in a child process of the tests below"]
#[allow(clippy::print_stdout)]
fn the_child() {
    let Ok(home) = env::var(CHILD) else { return };
    let recorder = Recorder::begin(options(Path::new(&home))).unwrap();
    for id in 1..=3 {
        let on_disk = recorder.held(held(chat(id, ASKS, CALLS)), None);
        assert_eq!(on_disk.blocking_recv(), Ok(true));
        println!("held {id}");
    }
    for id in 4.. {
        recorder.exchange(chat(id, ASKS, CALLS));
        if id % 10 == 0 {
            let decision = decided("release", None, None);
            let on_disk = recorder.write(decision);
            assert_eq!(on_disk.blocking_recv(), Ok(true));
            println!("recorded {id}");
        }
    }
}

fn child(home: &Path) -> Child {
    // Whatever the umask of the operator, the journal is for the operator alone.
    let run = "umask 000; exec \"$0\" --ignored --exact --nocapture proxy::recorder::tests::kills::the_child";
    Command::new("sh")
        .args(["-c", run])
        .arg(env::current_exe().unwrap())
        .env(CHILD, home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills it after so many lines, and gives the last one.
fn killed_after(home: &Path, lines: usize) -> String {
    let mut child = child(home);
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let ours = said
        .map(Result::unwrap)
        .filter(|line| line.contains("held ") || line.contains("recorded "));
    let last = ours.take(lines).last().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    last
}

#[test]
fn c12_three_held_exchanges_are_listed_after_a_kill_and_their_files_are_for_the_operator_alone() {
    let home = tempfile::tempdir().unwrap();
    killed_after(home.path(), 3);
    let folder = proxies_folder(home.path());
    let found = interrupted(&folder);
    let ids: Vec<_> = found.iter().map(|one| one.id.0).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(found[0].why, "unknown tool `g`");
    let journal = &found[0].journal;
    let recording = read_path(journal, &ReadOptions::default()).unwrap();
    let notices = recording.sessions.iter().flat_map(|session| &session.items);
    let notices = notices.filter(|item| item.kind == retake_core::session::Kind::Notice);
    assert_eq!(notices.count(), 3);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(journal), mode(&folder)), (0o600, 0o700));
    assert_eq!(mode(folder.parent().unwrap()), 0o700);
    assert_eq!(interrupted(&folder), []);
    let text = text_of(journal);
    assert!(text.contains("\"how\":\"interrupted\"") && text.contains("\"closed\""));
    assert_eq!(findings(journal).len(), recording.sessions.len());
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_acknowledged() {
    for lines in 4..12 {
        let home = tempfile::tempdir().unwrap();
        let last = killed_after(home.path(), lines);
        let acknowledged: u32 = last.rsplit(' ').next().unwrap().parse().unwrap();
        let folder = proxies_folder(home.path());
        let journals: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|one| one.unwrap().path())
            .collect();
        let text = fs::read(&journals[0]).unwrap();
        let text = String::from_utf8_lossy(&text);
        for id in 1..=acknowledged {
            assert!(
                text.contains(&format!("\"id\":{id},")),
                "{id} of {acknowledged}"
            );
        }
        let recording = read_path(&journals[0], &ReadOptions::default()).unwrap();
        assert!(recording.problems.len() <= 1, "{:?}", recording.problems);
        assert_eq!(interrupted(&folder).len(), 3);
    }
}

#[test]
fn a_torn_line_stays_what_it_is_when_a_journal_is_closed() {
    let home = tempfile::tempdir().unwrap();
    killed_after(home.path(), 3);
    let folder = proxies_folder(home.path());
    let journal = interrupted(&folder)[0].journal.clone();
    let text = fs::read(&journal).unwrap();
    let third = memchr::memmem::rfind(&text, b"\"type\":\"held\",\"id\":3").unwrap();
    fs::write(&journal, &text[..third + 60]).unwrap();
    let found = interrupted(&folder);
    assert_eq!(found.len(), 2);
    let recording = read_path(&journal, &ReadOptions::default()).unwrap();
    assert_eq!(interrupted(&folder), []);
    assert!(!recording.problems.is_empty() && !recording.sessions.is_empty());
}
