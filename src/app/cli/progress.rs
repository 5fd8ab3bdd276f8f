//! A bar on stderr for work that takes over a second; hidden where stderr is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress over a number of files.
pub(super) struct Progress {
    bar: ProgressBar,
    since: Instant,
    shown: bool,
}

impl Progress {
    /// Starts to count time; nothing is drawn yet.
    pub(super) fn new(files: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        let template = if files == 1 {
            "{spinner} checking {elapsed}"
        } else {
            "{spinner} checked {pos} of {len} files {wide_bar} {eta}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            since: Instant::now(),
            shown: false,
        }
    }

    /// Says how many files are done.
    pub(super) fn at(&mut self, done: usize) {
        if !self.shown && self.since.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(done as u64);
        if self.shown {
            self.bar.tick();
        }
    }

    /// Writes while the bar is out of the way.
    pub(super) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        if self.shown {
            self.bar.suspend(write)
        } else {
            write()
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
