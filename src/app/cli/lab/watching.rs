//! Progress of an experiment on stderr: a bar that is hidden without a terminal, and a line for
//! each trial that ends.

use super::results::place;
use crate::cli::exit::print_error;
use crate::cli::output::safe_line;
use crate::cli::style::Palette;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use retake_core::lab::{Board, Class, words};
use std::io::Write;

/// What was told of an experiment so far.
pub(super) struct Watching {
    bar: ProgressBar,
    /// Which trials were told to be over.
    told: Vec<bool>,
}

impl Watching {
    /// Nothing was told yet.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{spinner} {pos} of {len} samples {wide_bar} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            told: Vec::new(),
        }
    }

    /// The same without a bar, wherever it runs.
    #[cfg(test)]
    pub(super) fn hidden() -> Self {
        let watching = Self::new();
        watching.bar.set_draw_target(ProgressDrawTarget::hidden());
        watching
    }

    /// Tells how it stands.
    pub(super) fn board(&mut self, board: &Board) {
        let (done, asked) = done_and_asked(board);
        self.bar.set_length(asked as u64);
        self.bar.set_position(done as u64);
        let spent = board.spent;
        let about = if spent.estimated_tokens() > 0 {
            "~"
        } else {
            ""
        };
        self.bar
            .set_message(format!("{about}{} tokens", spent.tokens()));
        self.told.resize(board.ended.len(), false);
        for (at, end) in board.ended.iter().enumerate() {
            if let (Some(_), false) = (end, self.told[at]) {
                self.told[at] = true;
                let line = line_of(board, at);
                self.aside(|| {
                    let palette = Palette::of_stderr();
                    // Without stderr there is nobody to tell.
                    let _unread = writeln!(std::io::stderr(), "{}", palette.dim(line));
                });
            }
        }
    }

    /// Tells a notice; text from outside may be in it.
    pub(super) fn notice(&self, notice: &str) {
        self.aside(|| print_error(&safe_line(notice), None));
    }

    /// Writes while the bar is out of the way.
    fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Samples that are there, and those that there will be. Failed questions are none; what an ended trial did not
/// need is not waited for.
fn done_and_asked(board: &Board) -> (usize, usize) {
    let wanted = board.experiment.samples as usize;
    let (mut done, mut asked) = (0, 0);
    for (at, variants) in board.samples.iter().enumerate() {
        let is_over = board.ended.get(at).is_some_and(Option::is_some);
        for samples in variants {
            let answered = samples
                .iter()
                .filter(|one| one.class != Class::Failed)
                .count();
            done += answered;
            asked += if is_over {
                answered
            } else {
                wanted.max(answered)
            };
        }
    }
    (done, asked)
}

/// A trial that is over, in a line.
fn line_of(board: &Board, at: usize) -> String {
    let (Some(trial), Some(Some(end))) = (
        board.experiment.trials.get(at),
        board.ended.get(at).copied(),
    ) else {
        return String::new();
    };
    let (rule, place, model) = (&trial.subject.rule, place(&trial.subject), &trial.model);
    let end = words::ended(&board.experiment, Some(trial), end);
    let number = at + 1;
    safe_line(&format!(
        "trial {number}: {rule} at {place}, {model}: {end}"
    ))
}
