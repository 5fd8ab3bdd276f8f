//! Workflow commands of GitHub Actions: annotations beside the changed files
//! (GitHub Docs, "Workflow commands").

use super::{FileReport, Report, Totals, placed_message, safe_line};
use retake_core::rules::Severity;
use std::io::{self, Write};

/// The report for GitHub Actions.
pub(super) struct Github;

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
