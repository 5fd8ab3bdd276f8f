//! `takes`: the branches that were made of a recording in the debugger, or of a run.

use super::arguments::{LineFormat, TakesArguments};
use super::exit::{Exit, Failure};
use super::inputs::{self, inputs_of, takes_of};
use super::output::{Output, name_of, safe_line};
use super::report::write_line;
use super::style::Palette;
use crate::tui::loader::takes::view::take_rows;
use crate::tui::recovery::takes::counts_words;
use crate::tui::state::takes::TakeRow;
use retake_core::session::takes::FindingCounts;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;

/// Cells of the words that the model reads.
const WORDS: usize = 60;

pub(super) fn run(arguments: &TakesArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let opened = inputs::read_one(&inputs, &arguments.path, "takes")?;
    let store = takes_of(&arguments.path, Arc::new(opened.recording));
    let rows = take_rows(&store, store.takes().current());
    let mut output = Output::stdout();
    match arguments.format {
        LineFormat::Text => {
            let palette = Palette::of_stdout(arguments.color);
            for row in &rows {
                write_row(&mut output, row, palette)?;
            }
            if rows.len() == 1 {
                let name = name_of(&arguments.path);
                writeln!(output, "{name} has no takes; the debugger makes them")?;
            }
        }
        LineFormat::Json => {
            for row in &rows {
                write_line(
                    &mut output,
                    &Line::of(&arguments.path.to_string_lossy(), row),
                )?;
            }
        }
    }
    output.finish()?;
    Ok(Exit::Clean)
}

fn write_row(out: &mut impl Write, row: &TakeRow, palette: Palette) -> io::Result<()> {
    let indent = "  ".repeat(row.rails.len());
    let mark = if row.is_current { "*" } else { " " };
    let mut words = vec![row.number()];
    if !row.name.is_empty() && row.name != row.action {
        words.push(format!("\"{}\"", safe_line(&row.name)));
    }
    words.push(row.action.clone());
    words.push(row.rule.clone());
    words.extend(row.fork.map(|item| format!("at item {item}")));
    words.push(retake_core::safe_text::SafeText::single_line(&row.wording, WORDS).to_string());
    words.extend(row.findings.map(|(_, after)| counts_words(after)));
    words.push(safe_line(&row.note));
    words.retain(|word| !word.is_empty());
    let line = format!("{mark} {indent}{}", words.join("  "));
    match row.is_current {
        true => writeln!(out, "{}", palette.bold(line)),
        false => writeln!(out, "{line}"),
    }
}

/// One object a line, the recording first.
#[derive(Serialize)]
#[serde(tag = "type", rename = "take")]
struct Line<'a> {
    path: &'a str,
    /// 0 is the recording itself.
    take: u32,
    parent: Option<u32>,
    is_current: bool,
    name: &'a str,
    action: &'a str,
    rule: &'a str,
    /// The item at which it branches off, counted from 1.
    item: Option<usize>,
    wording: &'a str,
    note: &'a str,
    /// The errors and warnings that are left, where it was checked.
    errors: Option<u32>,
    warnings: Option<u32>,
}

impl<'a> Line<'a> {
    fn of(path: &'a str, row: &'a TakeRow) -> Self {
        let after: Option<FindingCounts> = row.findings.map(|(_, after)| after);
        Self {
            path,
            take: row.id,
            parent: row.parent,
            is_current: row.is_current,
            name: &row.name,
            action: &row.action,
            rule: &row.rule,
            item: row.fork,
            wording: &row.wording,
            note: &row.note,
            errors: after.map(|counts| counts.errors),
            warnings: after.map(|counts| counts.warnings),
        }
    }
}
