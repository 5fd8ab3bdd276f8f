//! Reports of `check`, one file per format.

mod github;
mod json;
mod junit;
mod sarif;
mod text;

use super::arguments::{FailOn, ReportFormat};
use super::flatten::{FileReport, FindingReport, SessionReport, Totals};
use super::output::safe_line;
use super::style::{Color, Palette};
use std::io::{self, Write};

pub(super) use json::{write_finding, write_line};
pub(super) use text::details;

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
        ReportFormat::Github => Box::new(github::Github),
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
