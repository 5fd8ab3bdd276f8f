//! The power fails in the middle of an append: what was not synced is gone, torn, or a hole.

use super::*;
use crate::journal::Storage;
use std::cell::Cell;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Up to where the file is on the disk.
    static SYNCED: Cell<u64> = const { Cell::new(0) };
    /// How many syncs there are until the power fails.
    static SYNCS_LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

#[derive(Debug)]
struct Powered(File);

fn mount(file: File) -> Box<dyn Storage> {
    Box::new(Powered(file))
}

impl Write for Powered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Storage for Powered {
    fn file(&self) -> &File {
        &self.0
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        let left = SYNCS_LEFT.get();
        assert!(left > 0, "the power fails");
        SYNCS_LEFT.set(left - 1);
        SYNCED.set(self.0.metadata()?.len());
        Ok(())
    }
}

/// A small generator of numbers, so that a seed tells its story again (Marsaglia, xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

#[test]
fn whatever_is_lost_with_the_power_was_not_acknowledged() {
    let seeds: u64 = if std::env::var_os("RETAKE_LONG").is_some() {
        10_000
    } else {
        200
    };
    for seed in 1..=seeds {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
        let home = Home::new();
        let source = fs::read(&home.recording).unwrap();
        let open = |root: &Path| {
            Journal::open_on(mount, Some(root), Some(&home.recording), &source, clock)
        };
        SYNCS_LEFT.set(u32::MAX);
        let mut opened = open(&home.root());
        let rounds = 1 + numbers.below(5);
        for _ in 0..rounds {
            assert!(keep_take(&mut opened), "seed {seed}");
        }
        let acknowledged = opened.takes.clone();
        let path = opened.journal.path().unwrap();
        SYNCS_LEFT.set(0);
        let crashed = catch_unwind(AssertUnwindSafe(|| keep_take(&mut opened)));
        assert!(crashed.is_err(), "seed {seed}");
        SYNCS_LEFT.set(u32::MAX);
        let more = opened.takes.clone();
        drop(opened);
        lose(&path, &mut numbers);
        let again = open(&home.root());
        let is_kept = again.takes == acknowledged || again.takes == more;
        assert!(is_kept, "seed {seed}: {:?}", again.damages);
        let mut again = again;
        assert!(keep_take(&mut again), "seed {seed}");
    }
}

/// Of what was not synced some stays, and some of that is a hole.
fn lose(path: &Path, numbers: &mut Numbers) {
    let length = fs::metadata(path).unwrap().len();
    let synced = SYNCED.get();
    let kept = synced + numbers.below(length - synced + 1);
    let mut file = File::options().write(true).open(path).unwrap();
    file.set_len(kept).unwrap();
    if numbers.below(2) == 1 {
        let hole = synced + numbers.below(kept - synced + 1);
        file.seek(SeekFrom::Start(hole)).unwrap();
        let zeros = vec![0; usize::try_from(kept - hole).unwrap()];
        file.write_all(&zeros).unwrap();
    }
}
