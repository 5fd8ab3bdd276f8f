//! `proxy --chaos` and `replay --chaos`: faults on purpose, and a report of what the agent made of them.

use super::arguments::LineFormat;
use super::exit::{Exit, Failure, print_error};
use super::output::safe_line;
use super::style::{Color, Palette};
use regex::Regex;
use report::{Report, Results};
use retake_core::chaos::Spec;
use retake_live::note_ends;
use retake_live::proxy::{ChaosSpecError, ProxyOptions, read_spec};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;

mod ambient;
mod campaign;
mod report;

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

// The line of an agent's standard error that says what ended it.

/// The last line that names an exception, as Python, Node and others print them; the last one that says
/// anything where none does.
fn exception_line(stderr: &[String]) -> Option<&str> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let name = r"^(Uncaught |Caused by: |\[?error\]?:? )?[A-Za-z_][\w.:]*(Error|Exception|Exceeded|Timeout|Interrupt|Panic)\b|panicked at";
        Regex::new(name).ok()
    });
    let named = |line: &&String| NAMED.as_ref().is_some_and(|named| named.is_match(line));
    let last = || stderr.iter().rev();
    let line = last().find(named);
    let line = line.or_else(|| last().find(|line| !line.trim().is_empty()));
    line.map(|line| line.trim())
}

// A recording as the model of an agent that gets faults.

/// A recording that is served, as far as trials know it.
pub(in crate::cli) trait Recording {
    /// An agent begins anew.
    fn rewind(&self);

    /// How far the requests since then differ from the recorded ones.
    fn strayed(&self) -> Strayed;
}

/// Requests that are not as they were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(in crate::cli) struct Strayed {
    /// How many the nearest turn answered.
    pub(in crate::cli) nearest: usize,
    /// How many were refused.
    pub(in crate::cli) refused: usize,
    /// What differs in the first of them. May hold text from outside.
    pub(in crate::cli) first: Option<String>,
}

impl Strayed {
    /// It in words; `None` where nothing differs.
    fn words(&self) -> Option<String> {
        let first = self.first.as_deref()?;
        let count = |count: usize, what: &str| match count {
            0 => None,
            count => Some(format!("{count} {what}")),
        };
        let counts = [
            count(self.nearest, "answered by the nearest turn"),
            count(self.refused, "refused"),
        ];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Some(format!(
            "its requests differ from the recording: {counts}; the first: {first}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_exception_is_found_among_others() {
        let of = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            exception_line(&lines).map(str::to_owned)
        };
        let python = [
            "Traceback (most recent call last):",
            "  File \"agent.py\", line 3, in <module>",
            "agents.exceptions.ModelBehaviorError: Tool serch not found in agent a",
        ];
        assert_eq!(of(&python).as_deref(), Some(python[2]));
        let node = [
            "    throw error;",
            "TypeError: x is not a function",
            "    at main (a.js:1:1)",
            "",
            "Node.js v22",
        ];
        assert_eq!(of(&node).as_deref(), Some(node[1]));
        assert_eq!(
            of(&["it went wrong", " "]).as_deref(),
            Some("it went wrong")
        );
        assert_eq!(of(&[]), None);
    }
}
