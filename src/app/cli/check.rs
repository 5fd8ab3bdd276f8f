//! `check`: what is broken in recordings, in the order in which they are named, as soon as it is known.

use super::arguments::{CheckArguments, ReportFormat};
use super::exit::{Exit, Failure, print_error};
use super::flatten::{FileReport, Totals};
use super::inputs::{Inputs, describe, hint_for};
use super::output::{Output, Progress, counted};
use super::report::{self, Report};
use super::walk::{Named, Walked, expand, in_order};
use retake_live::{InputError, exit_on_interrupt};
use std::io::{self, Write};

/// Checks recordings and reports what is broken.
pub(super) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading)?;
    exit_on_interrupt();
    let Walked { files, failures } = expand(&arguments.paths);
    for (path, error) in &failures {
        print_error(&describe(path, error), hint_for(error).as_deref());
    }
    let mut check = Check {
        arguments,
        report: report::new(arguments.format, arguments.color, arguments.fail_on),
        output: Output::stdout(),
        totals: Totals::default(),
        unreadable: failures.len(),
        skipped: Skipped::default(),
    };
    // One object a line has no need of lines; whoever wants them has the item.
    let with_lines = arguments.format != ReportFormat::Json;
    let progress = std::cell::RefCell::new(Progress::new(files.len()));
    let done = in_order(
        &files,
        |file| FileReport::read(&inputs, &file.path, with_lines),
        |file, result| {
            let take = || check.take(file, result);
            progress.borrow().aside(take)
        },
        |done| progress.borrow_mut().at(done),
    );
    drop(progress);
    let ended = done.and_then(|()| check.finish());
    check.skipped.report();
    match ended {
        Ok(()) => Ok(check.exit()),
        Err(error) => Err(Failure::Output {
            error,
            so_far: check.exit(),
        }),
    }
}

struct Check<'a> {
    arguments: &'a CheckArguments,
    report: Box<dyn Report>,
    output: Output,
    totals: Totals,
    unreadable: usize,
    skipped: Skipped,
}

impl Check<'_> {
    fn take(&mut self, file: &Named, result: Result<FileReport, InputError>) -> io::Result<()> {
        match result {
            Ok(report) => {
                self.totals.add(&report, self.arguments.fail_on);
                self.report.file(&mut self.output, &report)?;
                self.output.flush()
            }
            Err(error) if file.in_folder && is_no_recording(&error) => {
                self.skipped.add(file, &error);
                Ok(())
            }
            Err(error) => {
                self.unreadable += 1;
                print_error(&describe(&file.path, &error), hint_for(&error).as_deref());
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.totals.files > 0 || self.arguments.format != ReportFormat::Text {
            self.report.finish(&mut self.output, &self.totals)?;
        }
        self.output.flush()
    }

    /// What could not be read weighs more than what was found: a part of the question has no answer.
    fn exit(&self) -> Exit {
        let is_unread = self.unreadable > 0 || self.totals.is_unread;
        match (self.totals.files, is_unread, self.totals.failed) {
            (0, _, _) => Exit::Usage,
            (_, true, _) => Exit::Unreadable,
            (_, false, true) => Exit::Findings,
            (_, false, false) => Exit::Clean,
        }
    }
}

/// Whether a file that a folder happens to hold is something else than a recording.
pub(super) fn is_no_recording(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Empty
            | InputError::Binary
            | InputError::Unrecognised
            | InputError::Foreign { .. }
    )
}

/// Files of folders that are not recordings; reported once, at the end.
#[derive(Default)]
pub(super) struct Skipped {
    count: usize,
    first: Option<String>,
}

impl Skipped {
    pub(super) fn add(&mut self, file: &Named, error: &InputError) {
        self.count += 1;
        self.first
            .get_or_insert_with(|| describe(&file.path, error));
    }

    /// Says on stderr which files were left out.
    pub(super) fn report(&self) {
        let Some(first) = &self.first else { return };
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "other file")),
        };
        print_error(&format!("skipped {first}{more}"), None);
    }
}
