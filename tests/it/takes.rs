//! The journal of takes when processes die, and when one reads while another writes (D1, D13 and D14 of `hostile/faults.json`).

use retake_core::session::takes::{Take, TakeEvent, anchor};
use retake_core::session::{Span, Splice};
use retake_live::takes::{Damage, Journal, OpenedTakes};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Tells the child in which folder it works.
const FOLDER: &str = "RETAKE_TEST_TAKES";

fn open(folder: &Path) -> OpenedTakes {
    let path = folder.join("run.jsonl");
    let source = fs::read(&path).unwrap();
    Journal::open(Some(folder), Some(&path), &source, || 0)
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = "{\"role\":\"user\",\"content\":\"hello\"}\n";
    fs::write(folder.path().join("run.jsonl"), line.repeat(50)).unwrap();
    folder
}

fn fork(opened: &mut OpenedTakes, title: String) -> TakeEvent {
    let take = Take {
        parent: opened.takes.current(),
        title,
        words: Some("a sentence that makes the line longer ".repeat(20)),
        ..Take::default()
    };
    opened.takes.fork(take).unwrap()
}

/// Not a test of its own: makes takes until it is killed, and says which ones are on the disk.
#[test]
#[ignore = "the child of other tests"]
fn child_that_makes_takes() {
    let Some(folder) = env::var_os(FOLDER) else {
        return;
    };
    let mut opened = open(Path::new(&folder));
    let mut told = std::io::stdout().lock();
    loop {
        let title = opened.takes.count().to_string();
        let event = fork(&mut opened, title.clone());
        // What grew before it was told is there with it.
        let kept = opened.journal.append(&event).is_ok();
        let grown = grow(&mut opened, kept);
        let said = match opened.journal.append(&grown) {
            Ok(()) => writeln!(told, "\nkept {title}"),
            Err(trouble) => writeln!(told, "\n{trouble}"),
        };
        if said.and_then(|()| told.flush()).is_err() {
            return;
        }
    }
}

/// Makes the current take longer.
fn grow(opened: &mut OpenedTakes, kept: bool) -> TakeEvent {
    assert!(kept);
    let take = opened.takes.current();
    let at = Span { start: 0, end: 0 };
    let with = b"grown".to_vec();
    let splices = anchor(&Vec::new(), vec![Splice { at, with }], false).unwrap();
    opened.takes.grow(take, splices).unwrap()
}

fn child(folder: &Path) -> Child {
    let name = "takes::child_that_makes_takes";
    Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the child after some lines and gives the largest number that it acknowledged.
fn killed_after(mut child: Child, lines: usize, pause: Duration) -> usize {
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let kept = |line: &str| line.strip_prefix("kept ")?.parse::<usize>().ok();
    let mut largest = 0;
    for line in said.by_ref().take(lines) {
        largest = kept(&line.unwrap()).unwrap_or(largest).max(largest);
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    for line in said.map_while(Result::ok) {
        largest = kept(&line).unwrap_or(largest).max(largest);
    }
    largest
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment() {
    let rounds = if env::var_os("RETAKE_LONG").is_some() {
        1000
    } else {
        20
    };
    let folder = folder();
    let mut before = 0;
    // Takes at whose growth the process was killed.
    let mut cut_short = Vec::new();
    for round in 0..rounds {
        let pause = Duration::from_micros(round * 37 % 2000);
        let kept = killed_after(child(folder.path()), round as usize * 7 % 23, pause);
        let kept = kept.max(before);
        let opened = open(folder.path());
        assert!(opened.journal.not_recording().is_none(), "round {round}");
        let count = opened.takes.count() - 1;
        // The last one may be whole without having been acknowledged.
        let range = kept..=kept + 1;
        assert!(
            range.contains(&count),
            "round {round}: {kept} kept, {count} found"
        );
        for (number, branch) in opened.takes.branches().iter().enumerate().skip(1) {
            let take = opened.takes.get(branch.id).unwrap();
            assert_eq!(take.title, number.to_string(), "round {round}");
            let grown = opened.takes.growth(branch.id);
            if number == count && number > kept && grown == 0 {
                cut_short.push(number);
            }
            let is_whole = grown == 1 || cut_short.contains(&number);
            assert!(is_whole, "round {round}: take {number} of {count}");
        }
        let is_torn = |damage: &Damage| matches!(damage, Damage::Torn { .. } | Damage::Header);
        assert!(opened.damages.iter().all(is_torn), "{:?}", opened.damages);
        assert!(opened.damages.len() <= 1, "{:?}", opened.damages);
        before = count;
        if count > 500 {
            fs::remove_dir_all(folder.path().join("retake")).unwrap();
            before = 0;
            cut_short.clear();
        }
    }
}

#[test]
fn a_reader_sees_whole_takes_while_another_process_writes() {
    let folder = folder();
    let mut writer = child(folder.path());
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    let first = said.by_ref().map(Result::unwrap);
    assert!(first.take_while(|line| line != "kept 1").count() < 20);
    let mut seen = 0;
    for _ in 0..50 {
        let mut opened = open(folder.path());
        let trouble = opened.journal.not_recording().map(ToString::to_string);
        assert!(trouble.is_some_and(|trouble| trouble.contains("another retake")));
        let count = opened.takes.count();
        assert!(count > 1 && count >= seen);
        seen = count;
        let is_torn = |damage: &Damage| matches!(damage, Damage::Torn { .. });
        assert!(opened.damages.iter().all(is_torn), "{:?}", opened.damages);
        let event = fork(&mut opened, "mine".into());
        assert!(opened.journal.append(&event).is_err());
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let mut opened = open(folder.path());
    let event = fork(&mut opened, "mine".into());
    assert!(opened.journal.append(&event).is_ok());
    let mine = |opened: &OpenedTakes| {
        let branches = opened.takes.branches();
        let titles = branches
            .iter()
            .filter_map(|branch| opened.takes.get(branch.id));
        titles.filter(|take| take.title == "mine").count()
    };
    drop(opened.journal);
    assert_eq!(mine(&open(folder.path())), 1);
}
