//! The request to the screen, and how it was left.

use super::loader::Knowledge;
use super::loader::takes::conductor::Staged;
use super::picker::rows::PickerSettings;
use super::state::layout::LayoutSettings;
use super::theme::ThemeOptions;
use retake_live::{InputError, ReadOptions};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How a history is shown; `|` switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The whole conversation in one flowing view.
    Flow,
    /// Turns, items and the item in full, side by side.
    Columns,
}

impl View {
    /// Every view with the word for it.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Flow, "flow"), (Self::Columns, "columns")];
}

#[derive(Debug, Clone, Default)]
pub struct OpenRequest {
    /// Files and folders; `-` is standard input. Unless it is one file, the operator chooses.
    pub paths: Vec<PathBuf>,
    pub options: ReadOptions,
    pub knowledge: Knowledge,
    pub wish: ThemeOptions,
    /// How the list of recordings begins.
    pub picker: PickerSettings,
    /// Without it everything opens as a flow.
    pub view: Option<View>,
    pub layout: LayoutSettings,
    /// What is wrong with the file of settings, which holds as far as it can; said on the first screen.
    pub fault: Option<String>,
    /// Whether the mouse is left to the terminal.
    pub without_mouse: bool,
    /// A run that begins in the file that is opened first.
    pub staged: Staged,
    /// How many takes are kept with each recording that was open, and whether one of them was shown last.
    pub kept: Arc<Mutex<BTreeMap<PathBuf, (usize, bool)>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Quit,
    /// By a signal, by its number: SIGTERM, SIGINT or SIGQUIT, or SIGHUP when the terminal went away.
    Signal(i32),
    /// By a panic, whose message is on stderr.
    Panicked,
}

/// Why the debugger could not be opened, or had to be closed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The input cannot be read at all. Told before the screen is taken.
    #[error("{}: {error}", path.display())]
    Input { path: PathBuf, error: InputError },
    /// The terminal cannot be used.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}
