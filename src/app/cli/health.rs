//! `health`: how the tools of one or many recordings fare.

use super::arguments::{HealthArguments, LineFormat};
use super::exit::{Exit, Failure};
use super::inputs::{self, inputs_of};
use super::output::{Output, counted};
use super::report::write_line;
use super::style::Palette;
use super::walk::read_all;
use crate::tui::health::HealthTable;
use crate::tui::transcript::print::columns_of_stdout;
use retake_core::rules::{ErrorClass, Health, ToolHealth};
use retake_live::{InputError, Inputs, check_recording, exit_on_interrupt};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// Cells of the printed table.
const WIDTH: usize = 80;

/// Reads recordings and prints the table.
pub(super) fn run(arguments: &HealthArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    exit_on_interrupt();
    let (mut health, mut files) = (Health::default(), 0);
    let (unreadable, done) = read_all(
        &arguments.paths,
        |path| health_of(&inputs, path),
        |one| {
            if let Ok(one) = one {
                files += 1;
                health.merge(&one);
            }
            Ok(())
        },
    );
    done?;
    let exit = match (files, unreadable) {
        (0, _) => return Ok(Exit::Usage),
        (_, 0) => Exit::Clean,
        _ => Exit::Unreadable,
    };
    let mut output = Output::stdout();
    let written = match arguments.format {
        LineFormat::Text => {
            let palette = Palette::of_stdout(arguments.color);
            write_text(&mut output, &health, files, palette)
        }
        LineFormat::Json => write_json(&mut output, &health, files),
    };
    exit.after(written.and_then(|()| output.finish()))
}

fn health_of(inputs: &Inputs, path: &Path) -> Result<Health, InputError> {
    let recording = inputs::read(inputs, path)?.recording;
    let findings = check_recording(&recording, inputs.target)?;
    let mut health = Health::default();
    for (session, findings) in recording.sessions.iter().zip(&findings) {
        health.add(session, findings);
    }
    Ok(health)
}

fn write_text(
    out: &mut dyn Write,
    health: &Health,
    files: usize,
    palette: Palette,
) -> io::Result<()> {
    // In a pipe nothing is cut.
    let width = match columns_of_stdout() {
        Some(columns) => columns.max(WIDTH),
        None => usize::from(u16::MAX),
    };
    let HealthTable { heading, rows } = HealthTable::new(health, width);
    writeln!(out, "{}", palette.bold(heading))?;
    for (number, row) in rows.iter().enumerate() {
        let line = format!("{}{}", row.name, row.figures);
        match (row.is_open, number + 1 == rows.len()) {
            (true, _) => writeln!(out, "{}", palette.error(line))?,
            (false, true) => writeln!(out, "{}", palette.bold(line))?,
            (false, false) => writeln!(out, "{line}")?,
        }
        for detail in &row.details {
            writeln!(out, "{}", palette.dim(detail))?;
        }
    }
    let sessions = counted(health.sessions, "session");
    writeln!(out, "{sessions} in {}", counted(files, "file"))
}

/// One object a line: a tool, or the sum. Rates are between 0 and 1, null without outputs.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Tool {
        tool: Option<&'a str>,
        offered: Option<bool>,
        #[serde(flatten)]
        figures: Figures,
    },
    Total {
        files: usize,
        sessions: usize,
        sessions_without_tools: usize,
        #[serde(flatten)]
        figures: Figures,
    },
}

#[derive(Serialize)]
struct Figures {
    calls: usize,
    answered: usize,
    outputs: usize,
    errors: usize,
    classes: BTreeMap<&'static str, usize>,
    unknown: usize,
    malformed: usize,
    invalid: usize,
    orphans: usize,
    repeated: usize,
    rate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    longest_run: u32,
    /// Sessions at whose end the breaker would be open.
    breaker_open: usize,
}

impl Figures {
    fn of(tool: &ToolHealth) -> Self {
        let rate = tool.error_rate();
        let classes = ErrorClass::ALL.iter().zip(tool.classes);
        let classes = classes.filter(|(_, count)| *count > 0);
        Self {
            calls: tool.calls,
            answered: tool.answered,
            outputs: tool.outputs,
            errors: tool.errors(),
            classes: classes
                .map(|(class, count)| (class.words(), count))
                .collect(),
            unknown: tool.unknown,
            malformed: tool.malformed,
            invalid: tool.invalid,
            orphans: tool.orphans,
            repeated: tool.repeated,
            rate: rate.map(|rate| rate.share),
            low: rate.map(|rate| rate.low),
            high: rate.map(|rate| rate.high),
            longest_run: tool.longest_run,
            breaker_open: tool.open,
        }
    }
}

fn write_json(out: &mut dyn Write, health: &Health, files: usize) -> io::Result<()> {
    let is_known = health.without_tools < health.sessions;
    for tool in &health.tools() {
        let line = Line::Tool {
            tool: Some(tool.name.as_str()).filter(|name| !name.is_empty()),
            offered: is_known.then(|| !tool.is_not_offered()),
            figures: Figures::of(tool),
        };
        write_line(out, &line)?;
    }
    let total = Line::Total {
        files,
        sessions: health.sessions,
        sessions_without_tools: health.without_tools,
        figures: Figures::of(&health.total()),
    };
    write_line(out, &total)
}
