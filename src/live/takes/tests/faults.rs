//! A disk that is full, that fails, and that recovers.

use super::*;
use crate::journal::Storage;
use std::cell::Cell;
use std::io::Write;

thread_local! {
    /// How many bytes fit on the disk.
    static ROOM: Cell<u64> = const { Cell::new(u64::MAX) };
    /// How many syncs fail.
    static FAILING_SYNCS: Cell<u32> = const { Cell::new(0) };
    /// Whether files cannot be cut.
    static UNCUTTABLE: Cell<bool> = const { Cell::new(false) };
}

/// A file on the disk of this test.
#[derive(Debug)]
struct Faulty(File);

pub(crate) fn mount(file: File) -> Box<dyn Storage> {
    Box::new(Faulty(file))
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = ROOM.get();
        if room == 0 {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let written = self.0.write(&bytes[..fits])?;
        ROOM.set(room.saturating_sub(written as u64));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Storage for Faulty {
    fn file(&self) -> &File {
        &self.0
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if UNCUTTABLE.get() {
            return Err(rustix::io::Errno::IO.into());
        }
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        match FAILING_SYNCS.get() {
            0 => self.0.sync_all(),
            left => {
                FAILING_SYNCS.set(left - 1);
                Err(rustix::io::Errno::IO.into())
            }
        }
    }
}

#[test]
fn on_a_full_disk_no_half_line_stays_and_what_was_missed_is_written_later() {
    let home = Home::new();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    let path = home.journal();
    let before = fs::read(&path).unwrap();
    for room in [0, 1, 50] {
        ROOM.set(room);
        assert!(!keep_take(&mut opened));
        assert_eq!(fs::read(&path).unwrap(), before, "room for {room}");
        let banner = opened.journal.not_recording().unwrap().to_string();
        assert!(
            banner.starts_with("NOT RECORDING since 01:46:40 UTC: "),
            "{banner}"
        );
        assert!(banner.contains("No space left"), "{banner}");
    }
    assert_eq!(opened.takes.count(), 5);
    ROOM.set(u64::MAX);
    opened.journal.catch_up().unwrap();
    assert!(opened.journal.not_recording().is_none());
    let takes = opened.takes;
    drop(opened.journal);
    let again = home.open();
    assert_eq!((again.takes, again.damages), (takes, vec![]));
}

#[test]
fn on_a_full_disk_no_empty_journal_is_left() {
    let home = Home::new();
    for room in [0, 10, 300] {
        ROOM.set(room);
        let mut opened = home.open();
        assert!(!keep_take(&mut opened));
        assert_eq!(home.names(), Vec::<String>::new(), "room for {room}");
        ROOM.set(u64::MAX);
        opened.journal.catch_up().unwrap();
        drop(opened);
        fs::remove_file(home.journal()).unwrap();
    }
}

#[test]
fn a_half_line_that_cannot_be_cut_off_ends_the_file() {
    let home = Home::new();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    ROOM.set(30);
    UNCUTTABLE.set(true);
    assert!(!keep_take(&mut opened));
    ROOM.set(u64::MAX);
    assert!(keep_take(&mut opened));
    UNCUTTABLE.set(false);
    let takes = opened.takes;
    drop(opened.journal);
    assert_eq!(home.names(), ["run_1.jsonl.failed", "run_1.jsonl.jsonl"]);
    let again = home.open();
    assert_eq!((again.takes, again.damages), (takes, vec![]));
}

#[test]
fn after_a_failed_sync_the_file_is_given_up_and_everything_is_written_anew() {
    let home = Home::new();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    let path = home.journal();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let first = inode(&path);
    FAILING_SYNCS.set(1);
    assert!(keep_take(&mut opened));
    assert_ne!(inode(&path), first);
    assert_eq!(inode(&path.with_extension("failed")), first);

    // The new file fails as well: nothing is acknowledged, and nothing is lost.
    FAILING_SYNCS.set(2);
    assert!(!keep_take(&mut opened));
    assert!(opened.journal.not_recording().is_some());
    assert!(keep_take(&mut opened));
    assert!(opened.journal.not_recording().is_none());
    let names = [
        "run_1.jsonl.2.failed",
        "run_1.jsonl.failed",
        "run_1.jsonl.jsonl",
    ];
    assert_eq!(home.names(), names);
    let takes = opened.takes;
    drop(opened.journal);
    let again = home.open();
    assert_eq!((again.takes, again.damages), (takes, vec![]));
}

#[test]
fn a_folder_that_cannot_be_made_leaves_takes_in_memory_until_it_can() {
    let home = Home::new();
    fs::write(home.root(), "a file where a folder should be").unwrap();
    let source = lines_of("one", 30);
    let mut opened = Journal::open(Some(&home.root()), Some(&home.recording), &source, clock);
    assert!(!keep_take(&mut opened) && !keep_take(&mut opened));
    let banner = opened.journal.not_recording().unwrap().to_string();
    assert!(banner.contains(home.root().to_str().unwrap()), "{banner}");
    fs::remove_file(home.root()).unwrap();
    assert!(keep_take(&mut opened));
    let takes = opened.takes;
    drop(opened.journal);
    assert_eq!(home.open().takes, takes);
}

#[test]
fn in_a_read_only_folder_takes_stay_in_memory() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: a superuser may write everywhere");
        return;
    }
    let home = Home::new();
    let mut opened = home.open();
    fs::create_dir(home.root()).unwrap();
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(home.root(), mode).unwrap();
    };
    mode(0o500);
    assert!(!keep_take(&mut opened));
    mode(0o700);
    assert!(keep_take(&mut opened));
}
