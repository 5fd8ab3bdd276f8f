//! Files that are being written beside others: a process that is ended removes its own, and the next one those
//! of a process that was killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files that this process is writing.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn drafts() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a file that is about to be made.
pub(super) fn note(path: &Path) {
    drafts().push(path.to_owned());
}

/// Forgets a file that is gone or has its final name.
pub(super) fn forget(path: &Path) {
    drafts().retain(|draft| draft != path);
}

/// Marks a file as being written. Where the file system knows no locks, the number of the process in its
/// name has to do.
pub(super) fn lock(file: &File) {
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
}

/// Ends the process, without the files that it has not finished.
pub(crate) fn exit_without_drafts(code: i32) -> ! {
    // No further file is begun while this one waits for the end.
    let drafts = drafts();
    for draft in drafts.iter() {
        // What cannot be removed is removed by the next run.
        let _ = fs::remove_file(draft);
    }
    std::process::exit(code)
}

/// Removes what killed processes left beside a file. Whatever cannot be looked at is left alone:
/// it does no harm.
pub(super) fn remove_stale(target: &Path) {
    let Some(name) = target.file_name() else {
        return;
    };
    let start = format!(".{}.", name.to_string_lossy());
    let Ok(entries) = fs::read_dir(super::folder_of(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name
            .strip_prefix(&start)
            .and_then(|rest| rest.strip_suffix(".tmp"));
        let process = middle.and_then(|middle| {
            let (process, number) = middle.split_once('-')?;
            number.parse::<u32>().ok()?;
            rustix::process::Pid::from_raw(process.parse().ok()?)
        });
        if process.is_some_and(is_gone) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let path = entry.path();
            // A process of another container has its own numbers; it holds the lock.
            let locked = File::open(&path).is_ok_and(|file| {
                let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
                rustix::fs::flock(&file, lock).is_ok()
            });
            if locked {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// Whether there is no process of this number.
fn is_gone(process: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
}
