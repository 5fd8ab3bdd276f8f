//! `check`: what is broken in recordings, in the order in which they are named, as soon as it is known.

use super::arguments::{CheckArguments, ReportFormat};
use super::baseline::Baseline;
use super::choice::FindingChoice;
use super::exit::{Exit, Failure};
use super::explain;
use super::inputs::inputs_of;
use super::output::Output;
use super::report::{self, Report, Totals};
#[cfg(feature = "tables")]
use super::tables::TableFormat;
use super::walk::{Unreadable, read_all};
use retake_core::rules;
use retake_live::report::FileReport;
use retake_live::{Inputs, exit_on_interrupt};
use std::io::{self, Write};

/// The signal of a closed pipe.
const SIGPIPE: i32 = 13;

/// Checks recordings and reports what is broken.
pub(super) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let named = arguments.only.iter().chain(&arguments.ignore);
    if let Some(id) = named.into_iter().find(|id| rules::find(id).is_none()) {
        return Err(explain::unknown(id));
    }
    let baseline = arguments.baseline.as_deref().map(Baseline::read);
    let baseline = baseline.transpose()?.unwrap_or_default();
    let choice = FindingChoice {
        arguments,
        baseline,
    };
    let Some(report) = report::new(arguments.format, arguments.color, arguments.fail_on) else {
        return write_tables(&inputs, choice);
    };
    if arguments.output.is_some() {
        return Err(Failure::with_hint(
            "-o names the folder of tables, and this report goes to standard output",
            "--format parquet writes tables (`retake help tables`)",
        ));
    }
    exit_on_interrupt();
    let mut check = Check {
        choice,
        report,
        output: Output::stdout(),
        totals: Totals::default(),
    };
    let (unreadable, done) = read_all(
        &arguments.paths,
        |path| inputs.check(path),
        |read| check.take(read),
    );
    let ended = done.and_then(|()| check.finish());
    match (check.totals.exit(unreadable), ended) {
        // What nobody read to its end is not known to be clean.
        (Exit::Clean, Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Signal(SIGPIPE))
        }
        (exit, ended) => exit.after(ended),
    }
}

#[cfg(feature = "tables")]
fn write_tables(inputs: &Inputs, choice: FindingChoice<'_>) -> Result<Exit, Failure> {
    let format = match choice.arguments.format {
        ReportFormat::Arrow => TableFormat::Arrow,
        _ => TableFormat::Parquet,
    };
    super::tables::run(inputs, choice, format)
}

#[cfg(not(feature = "tables"))]
fn write_tables(_inputs: &Inputs, _choice: FindingChoice<'_>) -> Result<Exit, Failure> {
    Err(Failure::with_hint(
        "this build of retake writes no tables",
        "`cargo install --path . --features tables` builds one that does",
    ))
}

struct Check<'a> {
    choice: FindingChoice<'a>,
    report: Box<dyn Report>,
    output: Output,
    totals: Totals,
}

impl Check<'_> {
    fn take(&mut self, read: Result<FileReport, Unreadable<'_>>) -> io::Result<()> {
        match read {
            Ok(mut report) => {
                self.totals.known += self.choice.apply(&mut report);
                self.totals.add(&report, self.choice.arguments.fail_on);
                self.report.file(&mut self.output, &report)?;
            }
            Err((path, error)) => {
                let path = path.to_string_lossy();
                let message = error.to_string();
                self.report.unreadable(&mut self.output, &path, &message)?;
            }
        }
        self.output.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.totals.files > 0 || self.choice.arguments.format != ReportFormat::Text {
            self.report.finish(&mut self.output, &self.totals)?;
        }
        self.output.flush()
    }
}
