//! `lab`: wordings compared on a model, without a screen.

mod bar;
mod csv;
mod html;
mod json;
mod results;
mod text;
mod watching;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::arguments::LabArguments;
use super::exit::{Exit, Failure};

/// Runs the experiment and reports it.
pub(super) fn run(_arguments: &LabArguments) -> Result<Exit, Failure> {
    Err(Failure::refused("not yet"))
}
