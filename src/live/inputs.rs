//! How recordings are read and judged: files, and histories that a program holds in memory, with the tools and the
//! output schema that are laid under them.

use super::doctor::refusals;
use super::files::from_bytes;
use super::report::{FileReport, ProblemReport};
use super::{
    Base, BaseError, FilePlace, FixReport, FixRun, Input, InputError, ReadOptions, Recording,
    WriteError, as_sent, check_with_hints, open, read_input, read_stdin, through_take,
    tools_beside, unusable_tools_beside, without_secrets, write_take,
};
use retake_core::actions::Safety;
use retake_core::session::{Dialect, OutputSchema, SourceError, Tool};
use std::path::{Path, PathBuf};

/// How recordings are read and judged.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// How files are read.
    pub options: ReadOptions,
    /// The tools that were given.
    pub tools: Option<Vec<Tool>>,
    /// The schema of the final output that was given.
    pub output_schema: Option<OutputSchema>,
    /// The dialect to judge for; that of the recording if `None`.
    pub target: Option<Dialect>,
    /// Whether a recording is read as if it held no secrets.
    pub redacts: bool,
}

/// A recording that is ready to be judged.
#[derive(Debug, Clone)]
pub struct Opened {
    pub recording: Recording,
    /// The file beside the recording that its tools were taken from.
    pub tools_from: Option<PathBuf>,
    /// What is wrong with files of tools beside the recording: none of them was used.
    pub unusable: Vec<String>,
}

/// A history that was fixed in memory.
#[derive(Debug)]
pub struct FixedHistory {
    /// The text, in the format of the history.
    pub text: Vec<u8>,
    pub report: FixReport,
    /// What is left in it.
    pub left: FileReport,
}

/// Why a history in memory could not be fixed.
#[derive(Debug, thiserror::Error)]
pub enum FixHistoryError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Writing(#[from] WriteError),
}

impl Inputs {
    /// The same; recordings are read as if they held no secrets where `redacts`.
    pub fn redacting(self, redacts: bool) -> Self {
        Self { redacts, ..self }
    }

    /// Reads a recording; `-` is standard input.
    pub fn read(&self, path: &Path) -> Result<Opened, InputError> {
        if path == Path::new("-") {
            let recording = self.read_input(read_stdin()?)?;
            return Ok(self.prepare(recording, Beside::default()));
        }
        let recording = self.read_input(open(path)?)?;
        Ok(self.prepare(recording, self.beside(path)))
    }

    /// Reads what a program holds in memory; `name` is for people.
    pub fn read_bytes(&self, name: &str, bytes: Vec<u8>) -> Result<Opened, InputError> {
        let recording = self.read_input(from_bytes(name, bytes)?)?;
        Ok(self.prepare(recording, Beside::default()))
    }

    fn read_input(&self, input: Input) -> Result<Recording, InputError> {
        let input = match self.redacts {
            true => without_secrets(input)?,
            false => input,
        };
        read_input(input, &self.options)
    }

    /// Reads and checks a file.
    pub fn check(&self, path: &Path) -> Result<FileReport, InputError> {
        Ok(self.check_with_recording(path)?.0)
    }

    /// The same, for those who go on to read in the recording.
    pub fn check_with_recording(&self, path: &Path) -> Result<(FileReport, Recording), InputError> {
        let mut opened = self.read(path)?;
        let sources = opened.recording.sessions.iter();
        let sources: Vec<_> = sources.map(|session| session.source.clone()).collect();
        through_take(path, &mut opened.recording);
        let findings = check_with_hints(&opened.recording, self.target)?;
        // The text is the same, and lines are counted in the file.
        let sessions = opened.recording.sessions.iter_mut();
        for (session, source) in sessions.zip(sources) {
            session.source = source;
        }
        let mut report = FileReport::of(&opened.recording, &findings, self.target, true)?;
        let tools_from = opened.tools_from;
        report.tools_from = tools_from.map(|tools| tools.to_string_lossy().into_owned());
        let unusable = opened.unusable.into_iter();
        report
            .problems
            .extend(unusable.map(|message| ProblemReport {
                place: FilePlace::default(),
                byte: 0,
                message,
                is_unread: true,
            }));
        Ok((report, opened.recording))
    }

    /// Reads and checks what a program holds in memory.
    pub fn check_bytes(&self, name: &str, bytes: Vec<u8>) -> Result<FileReport, InputError> {
        Ok(self.check_read(&self.read_bytes(name, bytes)?.recording)?)
    }

    fn check_read(&self, recording: &Recording) -> Result<FileReport, SourceError> {
        let findings = check_with_hints(recording, self.target)?;
        FileReport::of(recording, &findings, self.target, true)
    }

    /// Checks a request that is about to be sent: everything that its provider would refuse it for. A call at its
    /// end is one that nobody answered.
    pub fn check_request(&self, name: &str, bytes: Vec<u8>) -> Result<FileReport, InputError> {
        let mut recording = self.read_bytes(name, bytes)?.recording;
        as_sent(&mut recording.sessions);
        let sessions = recording.sessions.iter();
        let findings = sessions.map(|session| refusals(session, self.target));
        let findings = findings.collect::<Result<Vec<_>, _>>()?;
        Ok(FileReport::of(&recording, &findings, self.target, true)?)
    }

    /// Fixes what a program holds in memory: what is safe, or for errors what is `up_to`. `is_request`: it is
    /// about to be sent.
    pub fn fix_bytes(
        &self,
        name: &str,
        bytes: Vec<u8>,
        up_to: Safety,
        is_request: bool,
    ) -> Result<FixedHistory, FixHistoryError> {
        let mut inputs = self.clone();
        inputs.options.keeps = true;
        let sends = |recording: &mut Recording| {
            if is_request {
                as_sent(&mut recording.sessions);
            }
        };
        let mut recording = inputs.read_bytes(name, bytes)?.recording;
        sends(&mut recording);
        let base = Base::of_records(recording, None)?;
        let report = FixRun {
            base: &base,
            up_to,
            target: self.target,
            wants: &|_| true,
            complete: &|recording| {
                self.supplement(recording, None);
                sends(recording);
            },
            progress: &|_, _| (),
            before_check: &|_| (),
            cuts_torn_line: up_to > Safety::Safe,
            names_format: self.options.format.is_some(),
        }
        .run()?;
        let mut text = Vec::new();
        write_take(&base, &report.rope, &mut text)?;
        let left = self
            .check_read(&report.recording)
            .map_err(InputError::from)?;
        Ok(FixedHistory { text, report, left })
    }

    /// Adds what is known from outside of a file to a recording that was made of it; gives what is wrong with files of
    /// tools beside it.
    pub fn complete(&self, path: &Path, recording: &mut Recording) -> Vec<String> {
        let beside = self.beside(path);
        self.supplement(recording, beside.tools());
        beside.unusable
    }

    /// Adds the same and names the dialect to judge for, where many files are inspected.
    pub fn judge(&self) -> impl Fn(&Path, &mut Recording) -> Option<Dialect> + Send + Sync + use<> {
        let inputs = self.clone();
        move |path, recording| {
            inputs.complete(path, recording);
            inputs.target
        }
    }

    /// The file of tools beside a recording, where none are given.
    pub fn tools_beside(&self, path: &Path) -> Option<PathBuf> {
        Some(self.beside(path).found?.0)
    }

    /// The tools beside a file, where none are given.
    fn beside(&self, path: &Path) -> Beside {
        if self.tools.is_some() || path == Path::new("-") {
            return Beside::default();
        }
        let found = tools_beside(path);
        let unusable = match found {
            Some(_) => Vec::new(),
            None => unusable_tools_beside(path),
        };
        let notes = unusable.iter();
        let notes = notes.map(|(file, why)| format!("{} is not used: {why}", file.display()));
        Beside {
            found,
            unusable: notes.collect(),
        }
    }

    /// Says whether any session took the tools beside the file.
    fn supplement(&self, recording: &mut Recording, beside: Option<&[Tool]>) -> bool {
        let (given, schema) = (self.tools.as_deref(), self.output_schema.as_ref());
        let sessions = recording.sessions.iter_mut();
        let took = sessions.map(|session| session.contract.supplement(given, beside, schema));
        took.fold(false, |any, took| any | took)
    }

    fn prepare(&self, mut recording: Recording, beside: Beside) -> Opened {
        let took_those_beside = self.supplement(&mut recording, beside.tools());
        let found = beside.found.filter(|_| took_those_beside);
        Opened {
            recording,
            tools_from: found.map(|(path, _)| path),
            unusable: beside.unusable,
        }
    }
}

/// Files of tools beside a recording.
#[derive(Debug, Default)]
struct Beside {
    /// The one that is used.
    found: Option<(PathBuf, Vec<Tool>)>,
    /// What is wrong with those that cannot be used, where there is no other.
    unusable: Vec<String>,
}

impl Beside {
    fn tools(&self) -> Option<&[Tool]> {
        self.found.as_ref().map(|(_, tools)| &tools[..])
    }
}
