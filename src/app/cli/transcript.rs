//! The transcript of one session as text: turns, their items, and the findings under the items they are about.

use super::output::safe_line;
use super::report::details;
use super::style::Palette;
use crate::tui::state::document::Checked;
use crate::tui::transcript::block::RowKind;
use crate::tui::transcript::page::Page;
use crate::tui::transcript::print::{MOST, RowPrinter, columns_of_stdout};
use retake_core::rules::{Finding, Severity};
use retake_core::safe_text::SafeText;
use retake_core::session::SourceError;
use retake_live::FilePlace;
use retake_live::report::FindingReport;
use std::io::{self, IsTerminal, Write};

/// A session as text.
pub(super) struct Transcript<'a> {
    page: Page<'a>,
    checked: &'a Checked,
    palette: Palette,
    is_full: bool,
    /// The columns that findings are wrapped at, where a terminal shows them.
    columns: Option<usize>,
}

/// Columns before the lines below a finding.
const HANGING: usize = 7;
/// Least columns of their text.
const LEAST: usize = 20;

/// Why a transcript ends early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It cannot be written.
    Output(io::Error),
    /// The recording cannot be read any more.
    Source(SourceError),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl<'a> Transcript<'a> {
    /// A session with its findings; `is_full` prints whole texts.
    pub(super) fn new(
        page: Page<'a>,
        checked: &'a Checked,
        palette: Palette,
        is_full: bool,
    ) -> Self {
        let columns = io::stdout().is_terminal().then(columns_of_stdout).flatten();
        Self {
            page,
            checked,
            palette,
            is_full,
            columns: columns.map(|columns| columns.min(MOST)),
        }
    }

    /// Writes the turn of this number, counted from 1, or all of them and the notes about the session.
    pub(super) fn write(&self, out: &mut impl Write, turn: Option<u32>) -> Result<(), Stopped> {
        let printer = RowPrinter::of_stdout(self.palette.is_on());
        let items = &self.page.session().items;
        let is_wanted = |item: usize| turn.is_none_or(|turn| items[item].turn + 1 == turn);
        let first = (0..items.len()).find(|item| is_wanted(*item));
        for (item, rows) in self.page.printed(printer.width, self.is_full) {
            if !is_wanted(item) {
                continue;
            }
            // The number of an item is where it begins.
            let begins = rows
                .iter()
                .position(|row| !matches!(row.kind, RowKind::Gap | RowKind::Head));
            for (at, row) in rows.iter().enumerate() {
                if row.kind == RowKind::Gap && first == Some(item) {
                    continue;
                }
                let number = begins.filter(|begins| *begins == at).map(|_| item + 1);
                writeln!(out, "{}", printer.line(row, number))?;
            }
            for finding in self.checked.of_item(item) {
                self.finding(out, finding)?;
            }
        }
        let of_session = self.checked.findings().iter();
        for finding in of_session.filter(|finding| finding.item.is_none() && turn.is_none()) {
            writeln!(out)?;
            self.finding(out, finding)?;
        }
        Ok(())
    }

    fn finding(&self, out: &mut impl Write, finding: &Finding) -> Result<(), Stopped> {
        let place = FilePlace::default();
        let report = FindingReport::new(self.page.session(), finding, place)?;
        let sign = match finding.severity {
            Severity::Error => "●",
            Severity::Warning => "▲",
            Severity::Info => "○",
        };
        let severity = self.palette.severity(finding.severity);
        let rule = self.palette.bold(finding.rule.id);
        let begun = 5 + 2 + finding.severity.word().len() + 1 + finding.rule.id.len() + 2;
        let message = hanging(&report.message, begun, self.columns);
        writeln!(out, "     {sign} {severity} {rule}: {message}")?;
        for line in details(&report) {
            if line.starts_with("offers") || finding.item.is_none() {
                let line = hanging(&line, HANGING, self.columns);
                writeln!(out, "{:HANGING$}{}", "", self.palette.dim(line))?;
            }
        }
        Ok(())
    }
}

/// A text that follows so many columns, in lines of the terminal that begin below the sentence; whoever reads a pipe
/// gets one line.
fn hanging(text: &str, begun: usize, columns: Option<usize>) -> String {
    let text = safe_line(text);
    let Some(columns) = columns else {
        return text;
    };
    let room = |used: usize| columns.saturating_sub(used).max(LEAST);
    let text = SafeText::from_str(&text);
    let rows = text.wrapped_behind(room(begun), room(HANGING));
    let rows = rows.map(|row| row.as_plain().trim_end().to_owned());
    rows.collect::<Vec<_>>().join(&format!("\n{:HANGING$}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_finding_end_at_the_edge_and_a_pipe_gets_one() {
        let text = "the output of Bash is an error: exit code 1, no such file or directory";
        assert_eq!(
            hanging(text, 30, Some(60)),
            "the output of Bash is an\n       error: exit code 1, no such file or directory"
        );
        assert_eq!(hanging(text, 30, None), text);
    }
}
