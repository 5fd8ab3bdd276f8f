//! `usage`: where tokens and time went in recordings.

use super::arguments::{UsageArguments, UsageFormat};
use super::exit::{Exit, Failure, print_error};
use super::flatten::session_names;
use super::inputs::{Inputs, describe, hint_for, name_of};
use super::output::{Output, csv_cell, safe_line};
use super::report::write_line;
use super::style::Palette;
use super::walk::{Skipped, Walked, expand, is_no_recording};
use crate::tui::usage::{call_line, report};
use retake_core::session::Session;
use retake_core::usage::{SessionUsage, Tokens};
use retake_live::{InputError, exit_on_interrupt};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Cells of a printed line.
const WIDTH: usize = 110;

/// Prints the report of each session.
pub(super) fn run(arguments: &UsageArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading)?;
    exit_on_interrupt();
    let Walked { files, failures } = expand(&arguments.paths);
    for (path, error) in &failures {
        print_error(&describe(path, error), hint_for(error).as_deref());
    }
    let (mut read, mut unreadable) = (0, failures.len());
    let mut skipped = Skipped::default();
    let mut output = match arguments.format {
        UsageFormat::Text => Output::paged(),
        UsageFormat::Json | UsageFormat::Csv => Output::stdout(),
    };
    let mut writer = UsageWriter {
        out: &mut output,
        format: arguments.format,
        palette: Palette::of_stdout(arguments.color),
        is_first: true,
    };
    if arguments.format == UsageFormat::Csv {
        writeln!(writer.out, "{CSV_HEADING}")?;
    }
    for file in &files {
        match usage_of(&inputs, &file.path) {
            Ok((sessions, totals)) => {
                read += 1;
                let names = session_names(&sessions);
                for ((name, session), totals) in names.iter().zip(&sessions).zip(&totals) {
                    writer.session(&file.path, name, session, totals)?;
                }
            }
            Err(error) if file.in_folder && is_no_recording(&error) => skipped.add(file, &error),
            Err(error) => {
                unreadable += 1;
                print_error(&describe(&file.path, &error), hint_for(&error).as_deref());
            }
        }
    }
    output.finish()?;
    skipped.report();
    Ok(match (read, unreadable) {
        (0, _) => Exit::Usage,
        (_, 0) => Exit::Clean,
        _ => Exit::Unreadable,
    })
}

fn usage_of(inputs: &Inputs, path: &Path) -> Result<(Vec<Session>, Vec<SessionUsage>), InputError> {
    let sessions = inputs.read(path)?.recording.sessions;
    let totals = sessions.iter().map(|session| {
        let totals = SessionUsage::of(session, &|| false).map_err(InputError::Source)?;
        Ok(totals.unwrap_or_default())
    });
    let totals = totals.collect::<Result<_, InputError>>()?;
    Ok((sessions, totals))
}

const CSV_HEADING: &str =
    "path,session,turn,at_ms,took_ms,input_tokens,cached_tokens,output_tokens";

struct UsageWriter<'a> {
    out: &'a mut Output,
    format: UsageFormat,
    palette: Palette,
    is_first: bool,
}

impl UsageWriter<'_> {
    fn session(
        &mut self,
        path: &Path,
        name: &str,
        session: &Session,
        totals: &SessionUsage,
    ) -> io::Result<()> {
        match self.format {
            UsageFormat::Text => self.text(path, name, session, totals),
            UsageFormat::Json => self.json(path, name, session, totals),
            UsageFormat::Csv => self.csv(path, name, totals),
        }
    }

    fn text(
        &mut self,
        path: &Path,
        name: &str,
        session: &Session,
        totals: &SessionUsage,
    ) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        let model = session.model.as_deref().unwrap_or_default();
        let heading = format!(
            "{}  {}  {}",
            name_of(path),
            safe_line(name),
            safe_line(model)
        );
        writeln!(self.out, "{}", self.palette.bold(heading.trim_end()))?;
        for line in report(session, totals, WIDTH) {
            match line.is_heading {
                true => writeln!(self.out, "{}", self.palette.bold(line.text))?,
                false => writeln!(self.out, "{}", line.text)?,
            }
        }
        Ok(())
    }

    fn json(
        &mut self,
        path: &Path,
        name: &str,
        session: &Session,
        totals: &SessionUsage,
    ) -> io::Result<()> {
        let path = path.to_string_lossy();
        let line = UsageRecord::Session {
            path: &path,
            session: name,
            model: session.model.as_deref(),
            turns: totals.turns,
            counted: totals.counted,
            tokens: totals.tokens.into(),
            model_ms: totals.model,
            tools_ms: totals.tools,
            waiting_ms: totals.waiting,
            span_ms: totals.span,
        };
        write_line(self.out, &line)?;
        for tool in &totals.by_tool {
            let line = UsageRecord::Tool {
                session: name,
                tool: &tool.name,
                calls: tool.calls,
                errors: tool.errors,
                took_ms: tool.took,
                result_bytes: tool.bytes,
            };
            write_line(self.out, &line)?;
        }
        for (turn, usage) in &totals.by_turn {
            let line = UsageRecord::Turn {
                session: name,
                turn: turn + 1,
                at_ms: usage.at,
                took_ms: usage.took,
                tokens: usage.tokens.map(Into::into),
                context_window: usage.window,
            };
            write_line(self.out, &line)?;
        }
        for result in &totals.results {
            let line = UsageRecord::Result {
                session: name,
                turn: result.turn + 1,
                item: result.call + 1,
                call: call_line(session, result.call),
                result_bytes: result.bytes,
                took_ms: result.took,
            };
            write_line(self.out, &line)?;
        }
        Ok(())
    }

    fn csv(&mut self, path: &Path, name: &str, totals: &SessionUsage) -> io::Result<()> {
        let number = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        let (path, name) = (csv_cell(&path.to_string_lossy()), csv_cell(name));
        for (turn, usage) in &totals.by_turn {
            let tokens = usage.tokens;
            writeln!(
                self.out,
                "{path},{name},{},{},{},{},{},{}",
                turn + 1,
                number(usage.at),
                number(usage.took),
                number(tokens.map(|it| it.input)),
                number(tokens.map(|it| it.cached)),
                number(tokens.map(|it| it.output))
            )?;
        }
        Ok(())
    }
}

/// One object a line; what the recording does not say is null.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum UsageRecord<'a> {
    Session {
        path: &'a str,
        session: &'a str,
        model: Option<&'a str>,
        turns: usize,
        /// Turns that say how many tokens they took.
        counted: usize,
        #[serde(flatten)]
        tokens: TokenCounts,
        model_ms: u64,
        tools_ms: u64,
        waiting_ms: u64,
        span_ms: Option<u64>,
    },
    Tool {
        session: &'a str,
        tool: &'a str,
        calls: usize,
        errors: usize,
        took_ms: Option<u64>,
        result_bytes: u64,
    },
    Turn {
        session: &'a str,
        turn: usize,
        at_ms: Option<u64>,
        took_ms: Option<u64>,
        tokens: Option<TokenCounts>,
        context_window: Option<u64>,
    },
    Result {
        session: &'a str,
        turn: usize,
        item: usize,
        call: String,
        result_bytes: u64,
        took_ms: Option<u64>,
    },
}

#[derive(Serialize)]
struct TokenCounts {
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
}

impl From<Tokens> for TokenCounts {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.input,
            cached_tokens: tokens.cached,
            output_tokens: tokens.output,
        }
    }
}
