//! What the operator sees: the terminal UI and the command line.

pub mod cli;
mod page;
pub mod tui;
mod usage;
mod words;
