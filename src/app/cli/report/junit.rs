//! JUnit XML: a suite for each file, a case for each finding; a session without findings is a case that passes.

use super::{FailOn, FileReport, FindingReport, Report, SessionReport, Totals, place, safe_line};
use crate::cli::report::text::details;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::io::{self, Write};

/// The JUnit report. It is written at the end: its head holds the totals.
pub(super) struct Junit {
    report: quick_junit::Report,
    fail_on: FailOn,
}

impl Junit {
    /// An empty report; findings that do not make the exit code 1 pass, with their text as the
    /// output of the case.
    pub(super) fn new(fail_on: FailOn) -> Self {
        Self {
            report: quick_junit::Report::new("retake check"),
            fail_on,
        }
    }

    fn case(
        &self,
        file: &FileReport,
        session: &SessionReport,
        finding: &FindingReport,
    ) -> TestCase {
        let place = place(file, session, finding);
        let message = safe_line(&finding.message);
        let fails = self.fail_on.includes(finding.severity);
        let status = if fails {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(finding.rule.id)
                .set_message(message.as_str());
            status.set_description(description(file, finding, &message));
            status
        } else {
            TestCaseStatus::success()
        };
        let name = format!("{} ({place})", finding.rule.id);
        let mut case = TestCase::new(name, status);
        case.set_classname(safe_line(&file.path));
        if !fails {
            case.set_system_out(description(file, finding, &message));
        }
        case
    }
}

/// What a reader of the report sees first.
fn description(file: &FileReport, finding: &FindingReport, message: &str) -> String {
    let line = finding
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    let path = safe_line(&file.path);
    let word = finding.severity.word();
    let first = format!("{path}{line}: {word} {}: {message}", finding.rule.id);
    std::iter::once(first)
        .chain(details(finding))
        .collect::<Vec<_>>()
        .join("\n")
}

impl Report for Junit {
    fn file(&mut self, _out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let mut suite = TestSuite::new(safe_line(&file.path));
        for session in &file.sessions {
            if session.findings.is_empty() {
                let name = format!("session {}", safe_line(&session.name));
                let mut case = TestCase::new(name, TestCaseStatus::success());
                case.set_classname(safe_line(&file.path));
                suite.add_test_case(case);
            }
            let cases = session.findings.iter();
            suite.add_test_cases(cases.map(|finding| self.case(file, session, finding)));
        }
        let problems = file
            .sessions
            .iter()
            .flat_map(|session| &session.problems)
            .chain(&file.problems)
            .map(|problem| {
                let line = problem
                    .line
                    .map(|line| format!(":{line}"))
                    .unwrap_or_default();
                let message = safe_line(&problem.message);
                format!("{}{line}: problem: {message}", safe_line(&file.path))
            })
            .collect::<Vec<_>>();
        if !problems.is_empty() {
            suite.set_system_err(problems.join("\n"));
        }
        self.report.add_test_suite(suite);
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        self.report.serialize(out).map_err(io::Error::other)
    }
}
