//! Recordings on their way into tables: in parts, which are read side by side.

use crate::cli::arguments::FailOn;
use crate::cli::config;
use crate::cli::exit::Failure;
use crate::cli::inputs::report_unreadable;
use crate::cli::output::{Progress, name_of};
use crate::cli::report::Totals;
use crate::cli::walk::{Skipped, in_order};
use retake_core::session::SourceError;
use retake_core::usage::Prices;
use retake_live::report::FileReport;
use retake_live::tables::{BatchSink, RowsError, TableSet, write_rows};
use retake_live::{
    InputError, Inputs, NamedRecording, Walked, expand, is_no_recording, lock::lock,
};
use std::collections::HashSet;
use std::fs;
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
pub(super) struct Input {
    pub(super) file: NamedRecording,
    size: u64,
    /// What tells whether it changed; `None` where that cannot be told.
    pub(super) stamp: Option<String>,
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
    pub(super) fn key(&self) -> Option<(&str, &str)> {
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

/// Files that are read one after the other.
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) files: Vec<Input>,
}

/// Files in parts, in their order; `first` is the number of the first part.
pub(super) fn divide(first: u32, files: Vec<Input>) -> Vec<Part> {
    let wanted = PARTS_OF_CORE * rayon::current_num_threads();
    let bytes: u64 = files.iter().map(|input| input.size).sum();
    let most_bytes = (bytes / wanted as u64).clamp(PART_BYTES.0, PART_BYTES.1);
    let most_files = (files.len() / wanted).clamp(PART_FILES.0, PART_FILES.1);
    let mut parts: Vec<Part> = Vec::new();
    let mut room = 0;
    for file in files {
        match parts.last_mut() {
            Some(part) if room >= file.size && part.files.len() < most_files => {
                room -= file.size;
                part.files.push(file);
            }
            last => {
                room = most_bytes.saturating_sub(file.size);
                let number = last.map_or(first, |last| last.number + 1);
                let files = vec![file];
                parts.push(Part { number, files });
            }
        }
    }
    parts
}

/// What came of the files of a part, by their numbers in it.
#[derive(Default)]
pub(super) struct PartReport {
    pub(super) done: Vec<(usize, Totals)>,
    refused: Vec<(usize, InputError)>,
}

/// What came of all files.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) totals: Totals,
    pub(super) unreadable: usize,
    skipped: Skipped,
}

impl Outcome {
    /// Reports on stderr what was left out.
    pub(super) fn report_skipped(&self) {
        self.skipped.report(self.totals.files);
    }
}

/// Why the rows of a part are not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError<E> {
    #[error("{name}: {error}", name = name_of(path))]
    Recording { path: PathBuf, error: SourceError },
    #[error(transparent)]
    Sink(E),
}

pub(in crate::cli) struct TableReader {
    inputs: Inputs,
    prices: Prices,
    fail_on: FailOn,
    bytes: AtomicU64,
    files: AtomicU64,
    /// Gone once something else is written.
    progress: Mutex<Option<Progress>>,
}

impl TableReader {
    /// With the prices of the operator's settings, and the file that they are in.
    pub(in crate::cli) fn new(
        inputs: Inputs,
        fail_on: FailOn,
    ) -> Result<(Self, Option<PathBuf>), Failure> {
        let settings = config::load(None)?;
        let prices = config::prices(None, &settings)?;
        let file = settings.prices.as_deref().zip(settings.file.as_deref());
        let file = file.map(|(prices, file)| file.with_file_name(prices));
        let reader = Self {
            inputs,
            prices,
            fail_on,
            bytes: AtomicU64::new(0),
            files: AtomicU64::new(0),
            progress: Mutex::default(),
        };
        Ok((reader, file))
    }

    /// The files that paths name, each once; what cannot be walked is reported on stderr.
    pub(super) fn find(&self, paths: &[PathBuf], outcome: &mut Outcome) -> Vec<Input> {
        let Walked { files, failures } = expand(paths);
        for (path, error) in &failures {
            report_unreadable(path, error);
        }
        outcome.unreadable += failures.len();
        let mut seen = HashSet::new();
        let files = files.into_iter();
        let files = files.filter(|file| seen.insert(file.path.clone()));
        files.map(|file| Input::new(&self.inputs, file)).collect()
    }

    /// Reads parts on all cores: `work` reads one, and `take` gets what it made, in the order of the parts.
    pub(super) fn read<R: Send, E: Send>(
        &self,
        parts: &[Part],
        outcome: &mut Outcome,
        work: impl Fn(&Part) -> Result<(PartReport, R), E> + Sync,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let files = || parts.iter().flat_map(|part| &part.files);
        let bytes = files().map(|input| input.size).sum();
        *lock(&self.progress) = Some(Progress::of_bytes(bytes, files().count()));
        let done = in_order(
            parts,
            work,
            |part, read| {
                let (report, made) = read?;
                self.add(part, &report, outcome);
                take(made)
            },
            |_| {
                let files = self.files.load(Ordering::Relaxed);
                let bytes = self.bytes.load(Ordering::Relaxed);
                if let Some(progress) = &mut *lock(&self.progress) {
                    progress.at_byte(bytes, files);
                }
            },
        );
        self.hide_progress();
        done
    }

    fn add(&self, part: &Part, report: &PartReport, outcome: &mut Outcome) {
        for (_, totals) in &report.done {
            outcome.totals.merge(totals, self.fail_on);
        }
        for (number, error) in &report.refused {
            let file = &part.files[*number].file;
            if file.in_folder && is_no_recording(error) {
                outcome.skipped.add(file, error);
                continue;
            }
            outcome.unreadable += 1;
            match &*lock(&self.progress) {
                Some(progress) => progress.aside(|| report_unreadable(&file.path, error)),
                None => report_unreadable(&file.path, error),
            }
        }
    }

    /// Has the bar out of the way of what is written now.
    pub(super) fn hide_progress(&self) {
        lock(&self.progress).take();
    }

    /// Writes the rows of a part; `choose` leaves out findings, and gives how many are in the baseline.
    pub(super) fn rows<S: BatchSink>(
        &self,
        part: &Part,
        tables: &mut TableSet<S>,
        choose: impl Fn(&mut FileReport) -> usize,
    ) -> Result<PartReport, ReadError<S::Error>> {
        let mut report = PartReport::default();
        for (number, input) in part.files.iter().enumerate() {
            match self.file(input, tables, &choose) {
                Ok(totals) => report.done.push((number, totals)),
                Err(RowsError::Input(error)) => report.refused.push((number, error)),
                Err(RowsError::Sink(error)) => return Err(ReadError::Sink(error)),
                Err(RowsError::Source(error)) => {
                    let path = input.file.path.clone();
                    return Err(ReadError::Recording { path, error });
                }
            }
            self.bytes.fetch_add(input.size, Ordering::Relaxed);
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        Ok(report)
    }

    fn file<S: BatchSink>(
        &self,
        input: &Input,
        tables: &mut TableSet<S>,
        choose: &impl Fn(&mut FileReport) -> usize,
    ) -> Result<Totals, RowsError<S::Error>> {
        let (mut report, recording) = self.inputs.check_with_recording(&input.file.path)?;
        let known = choose(&mut report);
        let mut totals = Totals::default();
        totals.add(&report, self.fail_on);
        totals.known = known;
        write_rows(tables, &report, &recording, &self.prices)?;
        Ok(totals)
    }
}
