//! `check --format parquet` and `--format arrow`: recordings in parts, the parts side by side.

use super::folder::{FileEntry, FolderError, TableFolder};
use super::part::{PartError, PartWriter, TableFormat, create, discard, finish};
use crate::cli::choice::FindingChoice;
use crate::cli::config;
use crate::cli::exit::{Exit, Failure};
use crate::cli::inputs::report_unreadable;
use crate::cli::output::{Output, Progress, name_of};
use crate::cli::report::{Totals, summary};
use crate::cli::walk::{Skipped, in_order};
use retake_core::usage::Prices;
use retake_live::tables::{RowsError, SCHEMA_VERSION, write_rows};
use retake_live::{
    InputError, Inputs, NamedRecording, Walked, exit_on_interrupt, expand, is_no_recording,
    lock::lock,
};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

/// Least and most bytes of the recordings of one part: what is read again after a kill, on each core.
const PART_BYTES: (u64, u64) = (4 << 20, 256 << 20);
/// Least and most recordings of one part.
const PART_FILES: (usize, usize) = (64, 1024);
/// Parts for each core, where there is enough to read: the last ones end at about the same time.
const PARTS_OF_CORE: usize = 4;

/// A file that is to be read.
struct Input {
    file: NamedRecording,
    size: u64,
    /// What tells whether it changed; `None` where that cannot be told.
    stamp: Option<String>,
}

/// What came of the files of a part.
#[derive(Default)]
struct PartReport {
    totals: Vec<Totals>,
    refused: Vec<(NamedRecording, InputError)>,
}

#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{name}: {error}", name = name_of(path))]
    Rows {
        path: PathBuf,
        error: RowsError<PartError>,
    },
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
    let refused = |error: &dyn std::error::Error| Failure::of_file(path, error);
    let settings = config::load(None)?;
    let prices = config::prices(None, &settings)?;
    let of_config = settings.prices.as_deref().zip(settings.file.as_deref());
    let of_config = of_config.map(|(prices, file)| file.with_file_name(prices));
    let digest = digest_of(&choice, of_config.as_deref());
    exit_on_interrupt();
    let mut folder = TableFolder::open(path, format, digest).map_err(|error| refused(&error))?;
    let Walked { files, failures } = expand(&arguments.paths);
    for (path, error) in &failures {
        report_unreadable(path, error);
    }
    let mut seen = HashSet::new();
    let files = files
        .into_iter()
        .filter(|file| seen.insert(file.path.clone()));
    let named: Vec<Input> = files.map(|file| Input::new(inputs, file)).collect();
    let stamps: HashMap<_, _> = named.iter().filter_map(Input::key).collect();
    let is_wanted = |entry: &FileEntry| {
        entry.stamp.is_some() && stamps.get(&*entry.path).copied() == entry.stamp.as_deref()
    };
    folder.keep(is_wanted).map_err(|error| refused(&error))?;
    let mut totals = Totals::default();
    let mut done = HashSet::new();
    for file in folder.files() {
        totals.merge(&file.totals, arguments.fail_on);
        done.insert(file.path.clone());
    }
    let is_done = |input: &Input| input.key().is_some_and(|(path, _)| done.contains(path));
    let (kept, first, starts_anew) = (done.len(), folder.next, folder.starts_anew);
    drop(stamps);
    let left: Vec<Input> = named.into_iter().filter(|input| !is_done(input)).collect();
    let parts = divide(left);
    let bytes = parts.iter().flatten().map(|input| input.size).sum();
    let count: usize = parts.iter().map(Vec::len).sum();
    let writer = Writer {
        inputs,
        prices,
        choice: Mutex::new(choice),
        path: folder.path.clone(),
        folder: Mutex::new(folder),
        format,
        bytes: AtomicU64::new(0),
        files: AtomicU64::new(0),
    };
    let numbered: Vec<(u32, &Vec<Input>)> = (first..).zip(&parts).collect();
    let mut unreadable = failures.len();
    let mut skipped = Skipped::default();
    let progress = RefCell::new(Progress::of_bytes(bytes, count));
    let written = in_order(
        &numbered,
        |(number, part)| writer.part(*number, part),
        |_, report| {
            let report = report?;
            for of_file in &report.totals {
                totals.merge(of_file, arguments.fail_on);
            }
            for (file, error) in &report.refused {
                if file.in_folder && is_no_recording(error) {
                    skipped.add(file, error);
                } else {
                    unreadable += 1;
                    progress
                        .borrow()
                        .aside(|| report_unreadable(&file.path, error));
                }
            }
            Ok(())
        },
        |_| {
            let files = writer.files.load(Ordering::Relaxed);
            let bytes = writer.bytes.load(Ordering::Relaxed);
            progress.borrow_mut().at_byte(bytes, files);
        },
    );
    drop(progress);
    written.map_err(|error: RunError| refused(&error))?;
    skipped.report(totals.files);
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

impl Input {
    fn new(inputs: &Inputs, file: NamedRecording) -> Self {
        // What is read beside a recording counts: the log of a database, the definitions of its tools.
        let mut log = file.path.clone().into_os_string();
        log.push("-wal");
        let beside = [Some(PathBuf::from(log)), inputs.tools_beside(&file.path)];
        let own = stamp_of(&file.path);
        let beside = beside.into_iter().flatten();
        let beside = beside.filter_map(|path| Some(stamp_of(&path)?.1));
        let beside: String = beside.map(|stamp| format!(" {stamp}")).collect();
        Self {
            size: own.as_ref().map_or(0, |(size, _)| *size),
            stamp: own.map(|(_, stamp)| stamp + &beside),
            file,
        }
    }

    /// What it is known by in the log, where it can be known again.
    fn key(&self) -> Option<(&str, &str)> {
        Some((self.file.path.to_str()?, self.stamp.as_deref()?))
    }
}

/// The size of a file, and a word that changes with it.
fn stamp_of(path: &Path) -> Option<(u64, String)> {
    let facts = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let size = facts.len();
    Some((size, format!("{size}@{}", changed.as_nanos())))
}

/// Files in parts, in their order.
fn divide(files: Vec<Input>) -> Vec<Vec<Input>> {
    let wanted = PARTS_OF_CORE * rayon::current_num_threads();
    let bytes: u64 = files.iter().map(|input| input.size).sum();
    let most_bytes = (bytes / wanted as u64).clamp(PART_BYTES.0, PART_BYTES.1);
    let most_files = (files.len() / wanted).clamp(PART_FILES.0, PART_FILES.1);
    let mut parts: Vec<Vec<Input>> = Vec::new();
    let mut room = 0;
    for file in files {
        match parts.last_mut() {
            Some(part) if room >= file.size && part.len() < most_files => {
                room -= file.size;
                part.push(file);
            }
            _ => {
                room = most_bytes.saturating_sub(file.size);
                parts.push(vec![file]);
            }
        }
    }
    parts
}

struct Writer<'a> {
    inputs: &'a Inputs,
    prices: Prices,
    choice: Mutex<FindingChoice<'a>>,
    path: PathBuf,
    folder: Mutex<TableFolder>,
    format: TableFormat,
    bytes: AtomicU64,
    files: AtomicU64,
}

impl Writer<'_> {
    /// Writes a part, and has it count.
    fn part(&self, number: u32, inputs: &[Input]) -> Result<PartReport, RunError> {
        let mut part = create(&self.path, number, self.format)?;
        let mut report = PartReport::default();
        let mut entries = Vec::new();
        for Input { file, size, stamp } in inputs {
            match self.file(&mut part, file) {
                Ok(totals) => {
                    entries.push(FileEntry {
                        path: file.path.to_string_lossy().into_owned(),
                        stamp: stamp.clone().filter(|_| file.path.to_str().is_some()),
                        totals: totals.clone(),
                    });
                    report.totals.push(totals);
                }
                Err(RowsError::Input(error)) => report.refused.push((file.clone(), error)),
                Err(RowsError::Sink(error)) => return Err(error.into()),
                Err(error) => {
                    let path = file.path.clone();
                    return Err(RunError::Rows { path, error });
                }
            }
            self.bytes.fetch_add(*size, Ordering::Relaxed);
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        if entries.is_empty() {
            drop(part);
            discard(&self.path, number, self.format).map_err(PartError::Io)?;
            return Ok(report);
        }
        finish(part)?;
        lock(&self.folder).add(number, entries)?;
        Ok(report)
    }

    fn file(
        &self,
        part: &mut PartWriter,
        file: &NamedRecording,
    ) -> Result<Totals, RowsError<PartError>> {
        let (mut report, recording) = self.inputs.check_with_recording(&file.path)?;
        let mut choice = lock(&self.choice);
        let known = choice.apply(&mut report);
        let fail_on = choice.arguments.fail_on;
        drop(choice);
        let mut totals = Totals::default();
        totals.add(&report, fail_on);
        totals.known = known;
        write_rows(part, &report, &recording, &self.prices)?;
        Ok(totals)
    }
}
