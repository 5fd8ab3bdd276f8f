//! `proxy --chaos`: faults on purpose, and a report of what the agent made of them.

mod ambient;
mod campaign;
mod exception;
mod report;

use super::arguments::{LineFormat, ProxyArguments};
use super::exit::{Exit, Failure};
use super::output::safe_line;
use super::style::{Color, Palette};
use crate::chaos::Spec;
use crate::runtime::note_ends;
use crate::runtime::proxy::{NoSpec, Options, read_spec};
use report::Report;
use std::io;
use std::path::Path;

/// Runs a proxy that injects faults to its end: with a command once for each trial, without one until it is interrupted.
pub(super) fn run(
    spec: &Path,
    arguments: &ProxyArguments,
    options: Options,
) -> Result<Exit, Failure> {
    let spec = read(spec)?;
    let palette = Palette::of_stdout(Color::Auto);
    let report = match arguments.format {
        LineFormat::Text => Report::text(palette),
        LineFormat::Json => Report::json(),
    };
    let signal = note_ends();
    let out = &mut io::stdout().lock();
    match arguments.command.is_empty() {
        true => ambient::run(&spec, options, &signal, &report, out),
        false => campaign::run(&spec, options, &arguments.command, &signal, &report, out),
    }
}

fn read(path: &Path) -> Result<Spec, Failure> {
    let name = safe_line(&path.to_string_lossy());
    read_spec(path).map_err(|error| match error {
        NoSpec::Unreadable(error) => Failure::refused(format!("{name}: {error}")),
        NoSpec::Faulty(faults) => {
            let lines = faults.0.iter();
            let lines =
                lines.map(|one| format!("{name}:{}: {}", one.line, safe_line(&one.message)));
            Failure::with_hint(
                lines.collect::<Vec<_>>().join("\n"),
                "the README lists what a spec can say",
            )
        }
    })
}
