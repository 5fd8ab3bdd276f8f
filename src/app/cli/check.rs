//! `check`: what is broken in recordings, in the order in which they are named, as soon as it is known.

use super::arguments::{CheckArguments, ReportFormat};
use super::baseline::Baseline;
use super::exit::{Exit, Failure};
use super::explain;
use super::inputs::inputs_of;
use super::output::Output;
use super::report::{self, Report, Totals};
use super::walk::{Unreadable, read_all};
use retake_core::rules;
use retake_live::exit_on_interrupt;
use retake_live::report::{FileReport, FindingReport};
use std::io::{self, Write};

/// Checks recordings and reports what is broken.
pub(super) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let named = arguments.only.iter().chain(&arguments.ignore);
    if let Some(id) = named.into_iter().find(|id| rules::find(id).is_none()) {
        return Err(explain::unknown(id));
    }
    let baseline = arguments.baseline.as_deref().map(Baseline::read);
    let baseline = baseline.transpose()?.unwrap_or_default();
    exit_on_interrupt();
    let mut check = Check {
        arguments,
        report: report::new(arguments.format, arguments.color, arguments.fail_on),
        output: Output::stdout(),
        totals: Totals::default(),
        baseline,
    };
    let (unreadable, done) = read_all(
        &arguments.paths,
        |path| inputs.check(path),
        |read| check.take(read),
    );
    let ended = done.and_then(|()| check.finish());
    check.exit(unreadable).after(ended)
}

struct Check<'a> {
    arguments: &'a CheckArguments,
    report: Box<dyn Report>,
    output: Output,
    totals: Totals,
    baseline: Baseline,
}

impl Check<'_> {
    fn take(&mut self, read: Result<FileReport, Unreadable<'_>>) -> io::Result<()> {
        match read {
            Ok(mut report) => {
                self.choose(&mut report);
                self.totals.add(&report, self.arguments.fail_on);
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

    /// Keeps the findings that count: of the chosen rules, and not in the baseline.
    fn choose(&mut self, report: &mut FileReport) {
        let CheckArguments { only, ignore, .. } = self.arguments;
        let is_in = |rules: &[String], finding: &FindingReport| {
            rules.iter().any(|rule| rule == finding.rule.id)
        };
        for session in &mut report.sessions {
            let name = &session.name;
            session.findings.retain(|finding| {
                let is_chosen = only.is_empty() || is_in(only, finding);
                if !is_chosen || is_in(ignore, finding) {
                    return false;
                }
                let is_known = self.baseline.take(&report.path, name, finding);
                self.totals.known += usize::from(is_known);
                !is_known
            });
        }
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
