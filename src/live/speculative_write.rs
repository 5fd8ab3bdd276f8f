//! Writes a take while it is still checked: most fixed texts need no second round, and are on the
//! disk when that is known.

use super::replace::{Draft, NewFile, ReplaceError};
use super::save::write_text;
use crate::lock::lock;
use retake_core::session::{Rope, Source, Span};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A file that is written ahead of the decision what it is to hold.
#[derive(Debug)]
pub struct SpeculativeWrite {
    path: PathBuf,
    mode: Option<u32>,
    running: Mutex<Option<Running>>,
}

/// One text on its way to the disk.
#[derive(Debug)]
struct Running {
    rope: Arc<Rope>,
    is_stale: Arc<AtomicBool>,
    thread: JoinHandle<Result<Draft, ReplaceError>>,
}

impl SpeculativeWrite {
    /// Nothing is written yet. A file that is not there yet gets at most `mode`.
    pub fn new(path: &Path, mode: Option<u32>) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            running: Mutex::new(None),
        }
    }

    /// Begins to write a text beside the file; the one before is thrown away.
    pub fn begin(&self, rope: &Arc<Rope>) {
        self.stop();
        let is_stale = Arc::new(AtomicBool::new(false));
        let (path, text, stop) = (self.path.clone(), rope.clone(), is_stale.clone());
        let mode = self.mode;
        let thread = std::thread::spawn(move || {
            let copy = |out: &mut NewFile<'_>, source: &dyn Source, span: Span| {
                if stop.load(Ordering::Relaxed) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                out.copy(source, span)
            };
            Draft::write(&path, mode, |out| write_text(&text, out, copy))
        });
        *self.running() = Some(Running {
            rope: rope.clone(),
            is_stale,
            thread,
        });
    }

    /// What was written, if it is this text; waits for the end of it.
    pub fn finish(&self, rope: &Arc<Rope>) -> Option<Result<Draft, ReplaceError>> {
        let running = self
            .running()
            .take_if(|running| Arc::ptr_eq(&running.rope, rope))?;
        running.thread.join().ok()
    }

    fn stop(&self) {
        if let Some(running) = self.running().take() {
            running.is_stale.store(true, Ordering::Relaxed);
            // What failed is as good as what was thrown away.
            drop(running.thread.join());
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        lock(&self.running)
    }
}

impl Drop for SpeculativeWrite {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::replace::Backup;

    #[test]
    fn only_the_last_text_takes_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let [first, last] =
            ["first", "last"].map(|text| Arc::new(Rope::new(Arc::new(text.as_bytes().to_vec()))));
        let ahead = SpeculativeWrite::new(&path, None);
        ahead.begin(&first);
        ahead.begin(&last);
        assert!(ahead.finish(&first).is_none());
        let draft = ahead.finish(&last).unwrap().unwrap();
        assert!(!path.exists());
        draft.take_place(Backup::None).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "last");
        ahead.begin(&first);
        drop(ahead);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
