//! Reports of `check`, one file per format.

use super::arguments::{FailOn, ReportFormat};
use super::flatten::{FileReport, FindingReport, SessionReport, Totals};
use super::output::safe_line;
use super::style::{Color, Palette};
pub(super) use json::{write_finding, write_line};
use retake_core::rules::Severity;
use std::io::{self, Write};
pub(super) use text::details;

mod json;
mod junit;
mod sarif;
mod text;

/// Writes what was found, file by file.
pub(super) trait Report {
    /// Writes one file, or keeps it for the end.
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()>;

    /// Writes what comes at the end.
    fn finish(&mut self, out: &mut dyn Write, totals: &Totals) -> io::Result<()>;
}

pub(super) fn new(format: ReportFormat, color: Color, fail_on: FailOn) -> Box<dyn Report> {
    match format {
        ReportFormat::Text => Box::new(text::Text::new(Palette::of_stdout(color))),
        ReportFormat::Json => Box::new(json::Json),
        ReportFormat::Sarif => Box::new(sarif::Sarif::default()),
        ReportFormat::Junit => Box::new(junit::Junit::new(fail_on)),
        ReportFormat::Github => Box::new(Github),
    }
}

/// Where a finding is, in words: "session reader-ben, turn 3, item 9"; the session only
/// where there are several.
fn place(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> String {
    let session =
        (file.sessions.len() > 1).then(|| format!("session {}", safe_line(&session.name)));
    let turn = finding.turn.map(|turn| format!("turn {turn}"));
    let item = finding.item.map(|item| format!("item {item}"));
    let parts = [session, turn, item];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The sentence of a finding with its place, for reports that know files and lines only.
fn placed_message(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> String {
    let message = safe_line(&finding.message);
    match place(file, session, finding) {
        place if place.is_empty() => message,
        place => format!("{message} ({place})"),
    }
}

// Workflow commands of GitHub Actions: annotations beside the changed files
// (GitHub Docs, "Workflow commands").

/// The report for GitHub Actions.
struct Github;

impl Report for Github {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        for problem in &file.problems {
            let message = safe_line(&problem.message);
            command(out, "warning", file, problem.line, "problem", &message)?;
        }
        for session in &file.sessions {
            for problem in &session.problems {
                let message = safe_line(&problem.message);
                command(out, "warning", file, problem.line, "problem", &message)?;
            }
            for finding in &session.findings {
                let level = match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Info => "notice",
                };
                let message = placed_message(file, session, finding);
                command(out, level, file, finding.line, finding.rule.id, &message)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}

fn command(
    out: &mut dyn Write,
    level: &str,
    file: &FileReport,
    line: Option<u64>,
    title: &str,
    message: &str,
) -> io::Result<()> {
    let path = property(&safe_line(&file.path));
    let line = line.map(|line| format!(",line={line}")).unwrap_or_default();
    let (title, message) = (property(&format!("retake {title}")), data(message));
    writeln!(out, "::{level} file={path}{line},title={title}::{message}")
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_its_command() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a:b,c=d::e"), "a%3Ab%2Cc=d%3A%3Ae");
    }
}
