//! `check`: what is broken in recordings, in the order in which they are named, as soon as it is known.

use super::arguments::{CheckArguments, ReportFormat};
use super::exit::{Exit, Failure};
use super::flatten::{FileReport, Totals};
use super::inputs::Inputs;
use super::output::Output;
use super::report::{self, Report};
use super::walk::read_all;
use retake_live::exit_on_interrupt;
use std::io::{self, Write};

/// Checks recordings and reports what is broken.
pub(super) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading)?;
    exit_on_interrupt();
    let mut check = Check {
        arguments,
        report: report::new(arguments.format, arguments.color, arguments.fail_on),
        output: Output::stdout(),
        totals: Totals::default(),
    };
    // One object a line has no need of lines; whoever wants them has the item.
    let with_lines = arguments.format != ReportFormat::Json;
    let (unreadable, done) = read_all(
        &arguments.paths,
        |path| FileReport::read(&inputs, path, with_lines),
        |report| check.take(&report),
    );
    let ended = done.and_then(|()| check.finish());
    check.exit(unreadable).after(ended)
}

struct Check<'a> {
    arguments: &'a CheckArguments,
    report: Box<dyn Report>,
    output: Output,
    totals: Totals,
}

impl Check<'_> {
    fn take(&mut self, report: &FileReport) -> io::Result<()> {
        self.totals.add(report, self.arguments.fail_on);
        self.report.file(&mut self.output, report)?;
        self.output.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.totals.files > 0 || self.arguments.format != ReportFormat::Text {
            self.report.finish(&mut self.output, &self.totals)?;
        }
        self.output.flush()
    }

    /// What could not be read weighs more than what was found: a part of the question has no answer.
    fn exit(&self, unreadable: usize) -> Exit {
        let is_unread = unreadable > 0 || self.totals.is_unread;
        match (self.totals.files, is_unread, self.totals.failed) {
            (0, _, _) => Exit::Usage,
            (_, true, _) => Exit::Unreadable,
            (_, false, true) => Exit::Findings,
            (_, false, false) => Exit::Clean,
        }
    }
}
