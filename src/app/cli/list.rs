//! `list`: what the picker shows, for scripts: recordings, the newest first, with what is broken in them.

use super::arguments::{LineFormat, ListArguments};
use super::config;
use super::exit::{Exit, Failure, print_error};
use super::inputs::{inputs_of, report_unreadable};
use super::output::{Output, counted, safe_line};
use super::report::write_line;
use super::style::Palette;
use crate::tui::filter::Terms;
use crate::tui::picker::rows::PickerRow;
use crate::usage::at_least;
use crate::words::{count, local, model_name};
use jiff::tz::TimeZone;
use rayon::prelude::*;
use retake_core::safe_text::SafeText;
use retake_core::usage::Prices;
use retake_live::discover::{Candidate, Discovery, Origin, Place, usual_places, walk};
use retake_live::inspect::{Summary, inspect};
use retake_live::{InputError, Inputs, exit_on_interrupt};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many files are inspected before it is looked whether there are enough.
const AT_ONCE: usize = 32;
/// How many cells of the first words are printed.
const WORDS: usize = 90;

/// Prints the newest recordings that the filter lets through.
pub(super) fn run(arguments: &ListArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let prices = config::prices(None, &config::load(None)?)?;
    let mut terms = Terms::parse::<PickerRow>(arguments.filter.as_deref().unwrap_or_default())
        .map_err(|error| Failure::with_hint(error.to_string(), "`retake help filters`"))?;
    exit_on_interrupt();
    let places = match arguments.paths.is_empty() {
        true => usual_places(&|name| std::env::var_os(name)),
        false => {
            let place = |path: &PathBuf| Place {
                path: path.clone(),
                origin: Origin::Named,
            };
            arguments.paths.iter().map(place).collect()
        }
    };
    let (mut candidates, mut unreadable) = find(&places);
    let mut known = HashSet::new();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    candidates.retain(|candidate| known.insert(real(&candidate.path)));
    candidates.sort_by_key(|candidate| Reverse(candidate.modified));
    let wanted = arguments.limit.unwrap_or(usize::MAX);
    let mut list = List {
        out: Output::stdout(),
        format: arguments.format,
        palette: Palette::of_stdout(arguments.color),
        zone: TimeZone::system(),
    };
    let mut shown = 0;
    let mut left = candidates.len();
    let mut waiting: Vec<PickerRow> = Vec::new();
    for batch in candidates.chunks(AT_ONCE) {
        if shown >= wanted {
            break;
        }
        left -= batch.len();
        for row in rows(batch, &places, &inputs, &prices) {
            match &row.summary {
                Some(Err(why)) if row.is_named => {
                    unreadable += 1;
                    let why = InputError::Refused(why.clone());
                    report_unreadable(&row.candidate.path, &why);
                }
                Some(Ok(_)) if terms.match_all(&row) => waiting.push(row),
                _ => {}
            }
        }
        waiting.sort_by_key(|row| Reverse(row.last_entry()));
        // No file was changed before its last entry was written: those to come are older than this.
        let next = candidates.get(candidates.len() - left);
        let next = next.and_then(|next| next.modified);
        let newer = waiting.partition_point(|row| left == 0 || row.last_entry() >= next);
        for row in waiting.drain(..newer.min(wanted - shown)) {
            if let Some(summary) = row.known() {
                list.row(&row, summary)?;
                shown += 1;
            }
        }
        list.out.flush()?;
    }
    list.out.finish()?;
    let left = left + waiting.len();
    if left > 0 {
        let more = counted(left, "older file");
        let hint = format!("--limit {} lists all of them", wanted + left);
        print_error(&format!("{more} not listed"), Some(&hint));
    }
    Ok(match (shown, unreadable) {
        (0, _) => {
            print_error("no recording found", None);
            Exit::Usage
        }
        (_, 0) => Exit::Clean,
        _ => Exit::Unreadable,
    })
}

/// The files that may hold recordings, and how many folders could not be read.
fn find(places: &[Place]) -> (Vec<Candidate>, usize) {
    let (mut found, mut unreadable) = (Vec::new(), 0);
    walk(
        places,
        &AtomicBool::new(false),
        &mut |discovery| match discovery {
            Discovery::Found(batch) => found.extend(batch),
            Discovery::Refused(path, reason) => {
                unreadable += 1;
                let is_missing = path
                    .symlink_metadata()
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound);
                let why = match is_missing {
                    true => InputError::Missing,
                    false => InputError::Refused(reason),
                };
                report_unreadable(&path, &why);
            }
            Discovery::Finished => {}
        },
    );
    (found, unreadable)
}

fn rows(batch: &[Candidate], places: &[Place], inputs: &Inputs, prices: &Prices) -> Vec<PickerRow> {
    let now = SystemTime::now();
    let judge = inputs.judge();
    let inspected = batch
        .par_iter()
        .map(|candidate| inspect(&candidate.path, &inputs.options, prices, &judge));
    let inspected: Vec<_> = inspected.collect();
    let rows = batch.iter().zip(inspected);
    let row = |(candidate, summary): (&Candidate, _)| {
        let mut row = PickerRow::new(candidate.clone(), places, now);
        row.learn(summary);
        row
    };
    rows.map(row).collect()
}

struct List {
    out: Output,
    format: LineFormat,
    palette: Palette,
    zone: TimeZone,
}

/// A recording, in the JSON report.
#[derive(Serialize)]
struct ListedRecording<'a> {
    path: &'a str,
    agent: &'a str,
    format: &'a str,
    size: u64,
    /// When its last entry was recorded, else when the file was changed, in milliseconds since 1970.
    time: Option<u64>,
    models: &'a [String],
    folder: Option<&'a str>,
    sessions: usize,
    turns: usize,
    errors: usize,
    warnings: usize,
    rules: Vec<(&'a str, usize)>,
    tools: &'a [String],
    tokens: Option<u64>,
    cost: Option<f64>,
    title: &'a str,
}

impl List {
    fn row(&mut self, row: &PickerRow, summary: &Summary) -> io::Result<()> {
        let path = row.candidate.path.to_string_lossy();
        let time = row.last_entry();
        let time = time.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let time = time.and_then(|at| u64::try_from(at.as_millis()).ok());
        let title = row.title();
        match self.format {
            LineFormat::Json => write_line(
                &mut self.out,
                &ListedRecording {
                    path: &path,
                    agent: row.agent(),
                    format: summary.format,
                    size: row.candidate.size,
                    time,
                    models: &summary.models,
                    folder: summary.folder.as_deref(),
                    sessions: summary.sessions,
                    turns: summary.turns,
                    errors: summary.errors,
                    warnings: summary.warnings,
                    rules: summary
                        .rules
                        .iter()
                        .map(|(rule, _, count)| (*rule, *count))
                        .collect(),
                    tools: &summary.tools,
                    tokens: summary.tokens,
                    cost: summary.cost.map(|cost| cost.dollars()),
                    title: &title,
                },
            ),
            LineFormat::Text => self.text(row, summary, time, &title),
        }
    }

    fn text(
        &mut self,
        row: &PickerRow,
        summary: &Summary,
        time: Option<u64>,
        title: &str,
    ) -> io::Result<()> {
        let palette = self.palette;
        let path = safe_line(&row.candidate.path.to_string_lossy());
        writeln!(self.out, "{}", palette.bold(path))?;
        let mut facts = vec![safe_line(row.agent())];
        if let Some(time) = time {
            facts.push(
                local(time, &self.zone)
                    .strftime("%Y-%m-%d %H:%M")
                    .to_string(),
            );
        }
        facts.extend(
            summary
                .models
                .first()
                .map(|model| safe_line(model_name(model))),
        );
        if summary.sessions > 1 {
            facts.push(counted(summary.sessions, "session"));
        }
        facts.push(counted(summary.turns, "turn"));
        let mark = at_least(summary.is_undercounted);
        if let Some(tokens) = summary.tokens {
            facts.push(format!("{mark}{} tokens", count(tokens)));
        }
        facts.extend(summary.cost.map(|cost| format!("{mark}{cost}")));
        let mut line = palette.dim(facts.join(", ")).to_string();
        if summary.errors > 0 {
            let errors = counted(summary.errors, "error");
            line.push_str(&format!(", {}", palette.error(errors)));
        }
        if summary.warnings > 0 {
            let warnings = counted(summary.warnings, "warning");
            line.push_str(&format!(", {}", palette.warning(warnings)));
        }
        writeln!(self.out, "  {line}")?;
        if !title.is_empty() {
            let title = SafeText::single_line(title, WORDS);
            writeln!(self.out, "  {title}")?;
        }
        Ok(())
    }
}
