//! `check --format parquet` and `--format arrow`: recordings in parts, the parts side by side.

use super::folder::{FileEntry, FolderError, TableFolder};
use super::part::{PartError, TableFormat, create, discard, finish};
use super::reading::{Input, Outcome, Part, PartReport, ReadError, TableReader, divide};
use crate::cli::choice::FindingChoice;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, name_of};
use crate::cli::report::summary;
use retake_live::report::FileReport;
use retake_live::tables::SCHEMA_VERSION;
use retake_live::{Inputs, exit_on_interrupt, lock::lock};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Read(#[from] ReadError<PartError>),
}

pub(in crate::cli) fn run(
    inputs: &Inputs,
    choice: FindingChoice<'_>,
    format: TableFormat,
) -> Result<Exit, Failure> {
    let arguments = choice.arguments;
    let Some(path) = arguments.output.as_deref() else {
        return Err(Failure::with_hint(
            "tables are written to a folder",
            "-o FOLDER names it",
        ));
    };
    let refused = |error: &(dyn std::error::Error + 'static)| Failure::of_file(path, error);
    let (reader, prices) = TableReader::new(inputs.clone(), arguments.fail_on)?;
    let digest = digest_of(&choice, prices.as_deref());
    exit_on_interrupt();
    let mut folder = TableFolder::open(path, format, digest).map_err(|error| refused(&error))?;
    let mut outcome = Outcome::default();
    let named = reader.find(&arguments.paths, &mut outcome);
    let stamps: HashMap<_, _> = named.iter().filter_map(Input::key).collect();
    let is_wanted = |entry: &FileEntry| {
        entry.stamp.is_some() && stamps.get(&*entry.path).copied() == entry.stamp.as_deref()
    };
    folder.keep(is_wanted).map_err(|error| refused(&error))?;
    let mut done = HashSet::new();
    for file in folder.files() {
        outcome.totals.merge(&file.totals, arguments.fail_on);
        done.insert(file.path.clone());
    }
    let is_done = |input: &Input| input.key().is_some_and(|(path, _)| done.contains(path));
    let (kept, first, starts_anew) = (done.len(), folder.next, folder.starts_anew);
    drop(stamps);
    let left: Vec<Input> = named.into_iter().filter(|input| !is_done(input)).collect();
    let writer = Writer {
        reader: &reader,
        choice: Mutex::new(choice),
        path: folder.path.clone(),
        folder: Mutex::new(folder),
        format,
    };
    reader
        .read(
            &divide(first, left),
            &mut outcome,
            |part| Ok((writer.part(part)?, ())),
            |()| Ok(()),
        )
        .map_err(|error: RunError| refused(&error))?;
    outcome.report_skipped();
    let Outcome {
        totals, unreadable, ..
    } = outcome;
    let mut output = Output::stdout();
    let name = name_of(path);
    let written =
        writeln!(output, "{}; tables in {name}", summary(&totals)).and_then(|()| {
            match (kept, starts_anew) {
                (0, true) => writeln!(
                    output,
                    "they were made with other settings, and written anew"
                ),
                (0, false) => Ok(()),
                _ => writeln!(
                    output,
                    "{kept} of the files had not changed since the tables were written"
                ),
            }
        });
    totals
        .exit(unreadable)
        .after(written.and_then(|()| output.finish()))
}

/// A digest of everything beside the recordings that decides what is in the tables.
fn digest_of(choice: &FindingChoice<'_>, prices: Option<&Path>) -> String {
    let arguments = choice.arguments;
    let reading = &arguments.reading;
    let mut digest = Sha256::new();
    let words = format!(
        "{} {:?} {SCHEMA_VERSION} {:?} {:?} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        option_env!("RETAKE_COMMIT"),
        reading.target.0,
        reading.read_as,
        arguments.only,
        arguments.ignore
    );
    digest.update(words);
    let (tools, schema) = (reading.tools.as_deref(), reading.output_schema.as_deref());
    for file in [tools, schema, arguments.baseline.as_deref(), prices] {
        // Those that cannot be read were refused before.
        let content = file.map(|file| fs::read(file).unwrap_or_default());
        digest.update(format!("{:?} ", content.as_ref().map(Vec::len)));
        digest.update(content.unwrap_or_default());
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Writer<'a> {
    reader: &'a TableReader,
    choice: Mutex<FindingChoice<'a>>,
    path: PathBuf,
    folder: Mutex<TableFolder>,
    format: TableFormat,
}

impl Writer<'_> {
    /// Writes a part, and has it count.
    fn part(&self, part: &Part) -> Result<PartReport, RunError> {
        let mut tables = create(&self.path, part.number, self.format)?;
        let choose = |report: &mut FileReport| lock(&self.choice).apply(report);
        let report = self.reader.rows(part, &mut tables, choose)?;
        if report.done.is_empty() {
            drop(tables);
            discard(&self.path, part.number, self.format).map_err(PartError::Io)?;
            return Ok(report);
        }
        finish(tables)?;
        let entries = report.done.iter().map(|(number, totals)| {
            let input = &part.files[*number];
            let path = &input.file.path;
            FileEntry {
                path: path.to_string_lossy().into_owned(),
                stamp: input.stamp.clone().filter(|_| path.to_str().is_some()),
                totals: totals.clone(),
            }
        });
        lock(&self.folder).add(part.number, entries.collect())?;
        Ok(report)
    }
}
