//! The lab in the world: recordings are read, histories with each wording are sent, replies are classed and kept as takes.
//!
//! Each trial has a journal of its own that opens like any recording: its base is the history up to the failing turn, each wording a
//! take, each reply a take below it.
//!
//! ```text
//! prepare(&Spec, Beside) ─▶ Prepared ─▶ Lab::start(prepared, report) ─▶ Report(News) ...; Lab::command(Command)
//! ```

use crate::lab::Board;
use std::sync::Arc;

/// What somebody is told of an experiment.
#[derive(Debug, Clone)]
pub enum News {
    /// It stands so now; at most some ten times a second, and once when it is over.
    Board(Arc<Board>),
    /// Something for the operator to read; it holds text from outside.
    Notice(String),
}

/// Who is told, on a thread of the lab.
pub type Report = Arc<dyn Fn(News) + Send + Sync>;

/// What an experiment can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Ask nobody until [`Command::Resume`].
    Pause,
    /// Go on.
    Resume,
    /// Take this many samples more of each wording.
    More(u32),
    /// End it; what is on its way is called off.
    Stop,
}
