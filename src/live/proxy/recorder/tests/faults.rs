//! A disk that is full, that fails, and that is slow.

use super::*;
use crate::journal::Storage;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

/// A file on the disk of one test.
#[derive(Debug)]
struct Faulty {
    file: File,
    disk: &'static Disk,
}

#[derive(Debug)]
struct Disk {
    is_full: AtomicBool,
    failing_syncs: AtomicU32,
    is_stuck: AtomicBool,
}

impl Disk {
    const fn new() -> Self {
        Self {
            is_full: AtomicBool::new(false),
            failing_syncs: AtomicU32::new(0),
            is_stuck: AtomicBool::new(false),
        }
    }
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while self.disk.is_stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.disk.is_full.load(Ordering::SeqCst) {
            // Half a line fits.
            self.file.write_all(&bytes[..bytes.len().min(10)])?;
            return Err(rustix::io::Errno::NOSPC.into());
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Storage for Faulty {
    fn file(&self) -> &File {
        &self.file
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        let left = self.disk.failing_syncs.load(Ordering::SeqCst);
        if left > 0 {
            self.disk.failing_syncs.store(left - 1, Ordering::SeqCst);
            return Err(rustix::io::Errno::IO.into());
        }
        self.file.sync_all()
    }
}

fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn on_a_full_disk_exchanges_go_on_and_the_journal_catches_up() {
    static DISK: Disk = Disk::new();
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let home = tempfile::tempdir().unwrap();
    let mut options = options(home.path());
    options.tell = Box::new(|text| TOLD.lock().unwrap().push(text));
    let mount: OpenFile = |file| Box::new(Faulty { file, disk: &DISK });
    let recorder = Recorder::begin_on(mount, QUEUE, options).unwrap();
    let path = recorder.path();
    recorder.exchange(chat(1, ASKS, CALLS));
    until(|| text_of(&path).lines().count() == 2);
    DISK.is_full.store(true, Ordering::SeqCst);
    recorder.exchange(chat(2, ASKS, CALLS));
    // Who waits for a decision to be on the disk is told at once that it is not.
    let waits = recorder.held(held(chat(3, ASKS, CALLS)), None);
    assert_eq!(waits.blocking_recv(), Ok(false));
    recorder.exchange(chat(4, ASKS, CALLS));
    let told = || TOLD.lock().unwrap().clone();
    until(|| told().len() == 1);
    assert!(told()[0].starts_with("NOT RECORDING since"));
    assert_eq!(text_of(&path).lines().count(), 2, "no half line stays");
    DISK.is_full.store(false, Ordering::SeqCst);
    until(|| told().len() == 2);
    recorder.exchange(chat(3, ASKS, CALLS));
    drop(recorder);
    let recording = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems, []);
    for id in 1..=4 {
        assert!(text_of(&path).contains(&format!("\"id\":{id},")), "{id}");
    }
    let told = told();
    assert_eq!(told.len(), 2, "said once each: {told:?}");
    assert!(told[1].starts_with("recording again"));
}

#[test]
fn after_a_failed_sync_another_file_has_what_may_be_lost() {
    static DISK: Disk = Disk::new();
    let home = tempfile::tempdir().unwrap();
    let mount: OpenFile = |file| Box::new(Faulty { file, disk: &DISK });
    let recorder = Recorder::begin_on(mount, QUEUE, options(home.path())).unwrap();
    let first = recorder.path();
    DISK.failing_syncs.store(1, Ordering::SeqCst);
    let on_disk = recorder.held(held(chat(7, ASKS, CALLS)), None);
    assert_eq!(on_disk.blocking_recv(), Ok(true));
    until(|| recorder.path() != first);
    let second = recorder.path();
    assert!(text_of(&second).contains("\"id\":7,"));
    assert!(second.to_string_lossy().ends_with("-2.jsonl"));
}

#[test]
fn every_file_that_is_begun_anew_has_the_whole_of_what_its_requests_continue() {
    static DISK: Disk = Disk::new();
    let home = tempfile::tempdir().unwrap();
    let mount: OpenFile = |file| Box::new(Faulty { file, disk: &DISK });
    let recorder = Recorder::begin_on(mount, QUEUE, options(home.path())).unwrap();
    let first = recorder.path();
    let mut conversation = Conversation::new(5_000);
    for id in 1..=3 {
        let on_disk = recorder.held(held(conversation.next(id)), None);
        assert_eq!(on_disk.blocking_recv(), Ok(true));
    }
    DISK.failing_syncs.store(1, Ordering::SeqCst);
    for id in 4..=6 {
        let on_disk = recorder.held(held(conversation.next(id)), None);
        assert_eq!(on_disk.blocking_recv(), Ok(true));
    }
    let second = recorder.path();
    assert_ne!(first, second);
    drop(recorder);
    for (path, requests) in [(first, 1..=3), (second, 4..=6)] {
        let text = text_of(&path);
        assert!(text.matches("\"continues\":").count() >= 2, "{text}");
        let [session] = &texts(&path)[..] else {
            panic!("not one conversation: {text}");
        };
        let last = format!("step {}", requests.end());
        assert!(session.iter().any(|text| text.contains("go on go on")));
        assert!(
            session.iter().any(|text| text.contains(&last)),
            "{session:?}"
        );
    }
}

#[test]
fn ten_thousand_exchanges_before_a_disk_that_hangs_stay_within_the_bound() {
    static DISK: Disk = Disk::new();
    const BOUND: usize = 1 << 20;
    let home = tempfile::tempdir().unwrap();
    let mount: OpenFile = |file| Box::new(Faulty { file, disk: &DISK });
    let recorder = Recorder::begin_on(mount, BOUND, options(home.path())).unwrap();
    let path = recorder.path();
    DISK.is_stuck.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let big = Bytes::from(vec![b' '; 200 << 10]);
    for id in 1..=10_000 {
        let mut one = chat(id, ASKS, CALLS);
        one.reply.push_reply(&big);
        recorder.exchange(one);
        assert!(recorder.queued().0 <= BOUND);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "nobody waits for the disk"
    );
    DISK.is_stuck.store(false, Ordering::SeqCst);
    drop(recorder);
    let text = text_of(&path);
    let lines = text
        .lines()
        .filter(|line| line.contains("\"type\":\"exchange\""));
    let (mut all, mut bare) = (0, 0);
    for line in lines {
        all += 1;
        bare += usize::from(line.contains("its bodies were not recorded"));
    }
    assert_eq!(all, 10_000);
    assert!(bare > 9_000 && bare < 10_000, "{bare}");
}

#[test]
fn long_entries_that_come_together_are_all_written_while_the_disk_is_well() {
    let home = tempfile::tempdir().unwrap();
    let location = location(&options(home.path())).unwrap();
    let mut journal = ProxyJournal::begin(location, || NOW).unwrap();
    let (acknowledge, on_disk) = tokio::sync::oneshot::channel();
    let mut acknowledge = Some(acknowledge);
    for id in 1..=2 {
        let text = "x".repeat(40 << 20);
        let entry = format!("{{\"type\":\"exchange\",\"id\":{id},\"text\":\"{text}\"}}");
        journal.add(entry, acknowledge.take());
    }
    journal.flush(true);
    assert_eq!(on_disk.blocking_recv(), Ok(true));
    let text = text_of(&journal.path());
    assert!(text.contains("\"id\":1,") && text.contains("\"id\":2,"));
    assert!(!text.contains("\"type\":\"lost\""));
}
