//! Journals of takes on a disk: found again, damaged, shared, replaced.

mod damage;
mod faults;
mod places;
mod power;
mod runs;

use super::*;
use retake_core::session::takes::{ItemMark, Take, TakeEvent, TakeId, anchor};
use retake_core::session::{Span, Splice};
use std::fs;
use tempfile::TempDir;

/// A recording and an empty folder for what is remembered; in memory where the system has such a folder.
struct Home {
    folder: TempDir,
    recording: PathBuf,
}

/// 2001-09-09, 01:46:40.
fn clock() -> u64 {
    1_000_000_000_000
}

fn lines_of(name: &str, count: usize) -> Vec<u8> {
    let line = |number| format!("{{\"role\":\"user\",\"content\":\"{name} {number}\"}}\n");
    (0..count).map(line).collect::<String>().into_bytes()
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        let recording = folder.path().join("run 1.jsonl");
        fs::write(&recording, lines_of("one", 30)).unwrap();
        Self { folder, recording }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> OpenedTakes {
        self.open_as(&self.recording)
    }

    fn open_as(&self, path: &Path) -> OpenedTakes {
        let source = fs::read(path).unwrap();
        Journal::open_on(
            faults::mount,
            Some(&self.root()),
            Some(path),
            &source,
            clock,
        )
    }

    fn journal(&self) -> PathBuf {
        self.open().journal.path().unwrap()
    }

    /// The names in the folder of the journals, without what is before the name of the recording.
    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(Subfolder::Takes.path(&self.root())) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.map(|name| name[17..].to_owned()).collect();
        names.sort();
        names
    }
}

fn fork(opened: &mut OpenedTakes) -> TakeEvent {
    let take = Take {
        parent: opened.takes.current(),
        title: format!("take {}", opened.takes.count()),
        ..Take::default()
    };
    opened.takes.fork(take).unwrap()
}

/// Makes the current take longer.
fn grow(opened: &mut OpenedTakes) -> TakeEvent {
    let take = opened.takes.current();
    let with = format!("step {}", opened.takes.growth(take)).into_bytes();
    let at = Span::default();
    let splices = anchor(&lines_of("one", 30), vec![Splice { at, with }], false);
    opened.takes.grow(take, splices.unwrap()).unwrap()
}

/// Makes a take and keeps it.
fn keep_take(opened: &mut OpenedTakes) -> bool {
    let event = fork(opened);
    opened.journal.append(&event).is_ok()
}

/// A journal of twenty lines, among them two takes that others branch off.
fn twenty(home: &Home) -> Vec<TakeEvent> {
    let mut opened = home.open();
    let mut events = vec![fork(&mut opened), fork(&mut opened)];
    events.extend((0..4).map(|_| grow(&mut opened)));
    let item = ItemMark::new(7, b"item");
    while events.len() < 18 {
        let text = format!("note {}", events.len());
        events.push(opened.takes.note(TakeId::MAIN, item, text).unwrap());
    }
    events.push(opened.takes.undo().unwrap());
    events.push(fork(&mut opened));
    for event in &events {
        opened.journal.append(event).unwrap();
    }
    events
}

#[test]
fn takes_are_there_again_when_the_file_is_opened_again() {
    let home = Home::new();
    let mut opened = home.open();
    assert_eq!(home.names(), Vec::<String>::new());
    assert!(keep_take(&mut opened) && keep_take(&mut opened));
    let undone = opened.takes.undo().unwrap();
    opened.journal.append(&undone).unwrap();
    assert_eq!(home.names(), ["run_1.jsonl.jsonl"]);
    let takes = opened.takes;
    drop(opened.journal);
    let mut again = home.open();
    assert_eq!(
        (&again.takes, again.damages.as_slice()),
        (&takes, [].as_slice())
    );
    assert!(keep_take(&mut again));
    let takes = again.takes;
    drop(again.journal);
    assert_eq!(home.open().takes, takes);
}

#[test]
fn a_closed_journal_is_free_although_a_child_process_has_a_copy_of_its_file() {
    thread_local! {
        static COPIES: std::cell::RefCell<Vec<File>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let mount = |file: File| -> Box<dyn crate::journal::Storage> {
        COPIES.with_borrow_mut(|copies| copies.push(file.try_clone().unwrap()));
        Box::new(file)
    };
    let home = Home::new();
    let source = lines_of("one", 30);
    for takes in 1..4 {
        let (root, path) = (home.root(), &home.recording);
        let mut opened = Journal::open_on(mount, Some(&root), Some(path), &source, clock);
        assert!(
            keep_take(&mut opened),
            "{:?}",
            opened.journal.not_recording()
        );
        assert_eq!(opened.takes.count(), takes + 1);
    }
}

#[test]
fn a_journal_of_takes_is_a_journal_of_retake() {
    use retake_core::formats::{Sample, read_buffer, recognise};
    use std::sync::Arc;
    let home = Home::new();
    twenty(&home);
    let bytes = fs::read(home.journal()).unwrap();
    let format = recognise(&Sample::new(&bytes, true)).unwrap();
    assert_eq!(format.id, "retake-journal");
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    let contents = read_buffer(format, &source, &bytes).unwrap();
    assert_eq!(contents.problems, []);
}

#[test]
fn what_is_no_file_and_who_has_no_home_is_told() {
    let home = Home::new();
    let source = lines_of("one", 30);
    let mut piped = Journal::open(Some(&home.root()), None, &source, clock);
    assert!(!keep_take(&mut piped));
    let banner = piped.journal.not_recording().unwrap().to_string();
    assert_eq!(
        banner,
        "NOT RECORDING since 01:46:40 UTC: takes are kept for files only"
    );
    let homeless = Journal::open(None, Some(&home.recording), &source, clock);
    let trouble = homeless.journal.not_recording().unwrap();
    assert!(matches!(trouble.why, JournalError::NoHome));
    assert_eq!(piped.takes.count(), 2);
}
