//! `proxy --chaos` and `replay --chaos`: faults on purpose, and a report of what the agent made of them.

mod ambient;
mod campaign;
mod exception;
mod recording;
mod report;

pub(super) use recording::{Recording, Strayed};

use super::arguments::LineFormat;
use super::exit::{Exit, Failure, print_error};
use super::output::safe_line;
use super::style::{Color, Palette};
use report::{Report, Results};
use retake_core::chaos::Spec;
use retake_live::note_ends;
use retake_live::proxy::{ChaosSpecError, ProxyOptions, read_spec};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Variables that an agent gets where retake's own environment does not have them: name and value.
type Defaults = &'static [(&'static str, &'static str)];

/// Options of a proxy that injects faults.
pub(super) struct Wish<'a> {
    /// The file of the spec.
    pub(super) spec: &'a Path,
    /// The agent that is started anew for each trial; without one whatever connects gets faults.
    pub(super) command: &'a [OsString],
    /// What an agent needs to begin at all.
    pub(super) defaults: Defaults,
    /// Form of the report.
    pub(super) format: LineFormat,
    /// The upstream of the proxy, if it is a recording.
    pub(super) recording: Option<&'a dyn Recording>,
}

/// Runs a proxy that injects faults to its end: with a command once for each trial, without one
/// until it is interrupted.
pub(super) fn run(
    wish: &Wish<'_>,
    options: impl FnOnce() -> Result<ProxyOptions, Failure>,
) -> Result<Exit, Failure> {
    let spec = read(wish.spec)?;
    let options = options()?;
    let report = match wish.format {
        LineFormat::Text => Report::text(Palette::of_stdout(Color::Auto)),
        LineFormat::Json => Report::json(),
    };
    let signal = note_ends();
    let out = &mut io::stdout().lock();
    match wish.command.is_empty() {
        true => ambient::run(&spec, options, &signal, &report, out),
        false => campaign::run(&spec, options, wish, &signal, &report, out),
    }
}

/// Writes the report, says what was not tested, and gives the exit code that all of it amounts to.
fn conclude(results: &Results, report: &Report, out: &mut dyn Write) -> Result<Exit, Failure> {
    report.write(out, results)?;
    out.flush()?;
    let hint =
        "no reply came to where one of the faults fits; see `turns` and `faults` of the spec";
    let turns = results.turns_not_reached();
    let missed = match results.has_any() {
        false => Some("no fault was reached: nothing was tested".to_owned()),
        true if !turns.is_empty() => {
            let turns = turns.join(", ");
            Some(format!("no fault was reached at turn {turns}"))
        }
        true => None,
    };
    // What was not tried was not missed.
    if let Some(missed) = missed.filter(|_| results.broken_off.is_none()) {
        print_error(&missed, Some(hint));
    }
    Ok(results.exit())
}

fn read(path: &Path) -> Result<Spec, Failure> {
    let name = safe_line(&path.to_string_lossy());
    read_spec(path).map_err(|error| match error {
        ChaosSpecError::Unreadable(error) => Failure::refused(format!("{name}: {error}")),
        ChaosSpecError::Invalid(errors) => Failure::invalid_file(path, &errors, "chaos"),
    })
}
