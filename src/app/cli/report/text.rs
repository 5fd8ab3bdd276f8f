//! The report for people: `path:line: severity rule: message`, with the place in the session and what can
//! be done under it.

use super::{FileReport, FindingReport, Palette, Report, SessionReport, Totals, safe_line};
use crate::cli::output::counted;
use retake_core::rules::Severity;
use std::io::{self, Write};

/// The report for people.
pub(super) struct Text {
    palette: Palette,
    /// Whether there is text above the next session.
    begun: bool,
}

impl Text {
    pub(super) fn new(palette: Palette) -> Self {
        Self {
            palette,
            begun: false,
        }
    }

    fn session(
        &mut self,
        out: &mut dyn Write,
        file: &FileReport,
        session: &SessionReport,
    ) -> io::Result<()> {
        if session.findings.is_empty() && session.problems.is_empty() {
            return Ok(());
        }
        if self.begun {
            writeln!(out)?;
        }
        self.begun = true;
        let path = safe_line(&file.path);
        writeln!(out, "{}", self.palette.bold(heading(file, session)))?;
        for problem in &session.problems {
            self.problem(out, &path, problem.line, &problem.message)?;
        }
        for finding in &session.findings {
            self.finding(out, &path, finding)?;
        }
        Ok(())
    }

    fn problem(
        &self,
        out: &mut dyn Write,
        path: &str,
        line: Option<u64>,
        message: &str,
    ) -> io::Result<()> {
        let place = placed(path, line);
        let word = self.palette.warning("problem");
        writeln!(out, "{place}: {word}: {}", safe_line(message))
    }

    fn finding(&self, out: &mut dyn Write, path: &str, finding: &FindingReport) -> io::Result<()> {
        let place = placed(path, finding.line);
        let severity = self.palette.severity(finding.severity);
        let rule = self.palette.bold(finding.rule.id);
        let message = safe_line(&finding.message);
        writeln!(out, "{place}: {severity} {rule}: {message}")?;
        for line in details(finding) {
            writeln!(out, "  {}", self.palette.dim(line))?;
        }
        Ok(())
    }
}

/// The lines under a finding: its place in the session with the cause, and its offers.
pub(in crate::cli) fn details(finding: &FindingReport) -> Vec<String> {
    let says_cause = finding.rule.message.contains("{cause}");
    let says_pointer = finding.rule.message.contains("{pointer}");
    let pointer = finding
        .pointer
        .as_deref()
        .filter(|pointer| !pointer.is_empty() && !says_pointer);
    let facts = [
        finding.turn.map(|turn| format!("turn {turn}")),
        finding.item.map(|item| format!("item {item}")),
        finding.call_id.as_deref().map(safe_line),
        pointer.map(|pointer| format!("at {}", safe_line(pointer))),
        finding
            .cause
            .filter(|_| !says_cause)
            .map(|cause| format!("cause: {cause}")),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let offers = finding
        .offers
        .iter()
        .map(|offer| format!("{} ({})", offer.action, offer.safety.word()))
        .collect::<Vec<_>>();
    let offers = (!offers.is_empty()).then(|| format!("offers: {}", offers.join(", ")));
    let facts = Some(facts).filter(|facts| !facts.is_empty());
    [facts, offers].into_iter().flatten().collect()
}

fn placed(path: &str, line: Option<u64>) -> String {
    match line {
        Some(line) => format!("{path}:{line}"),
        None => path.to_owned(),
    }
}

fn heading(file: &FileReport, session: &SessionReport) -> String {
    let mut words = safe_line(&file.path);
    if file.sessions.len() > 1 {
        words.push_str(&format!(", session {}", safe_line(&session.name)));
    }
    let turns = counted(session.turns, "turn");
    let items = counted(session.items, "item");
    words.push_str(&format!("  {}, {turns}, {items}", file.format));
    if let Some(tools) = &file.tools_from {
        words.push_str(&format!(", tools from {}", safe_line(tools)));
    }
    words
}

impl Report for Text {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        for problem in &file.problems {
            let path = safe_line(&file.path);
            self.problem(out, &path, problem.line, &problem.message)?;
        }
        for session in &file.sessions {
            self.session(out, file, session)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
        if self.begun {
            writeln!(out)?;
        }
        writeln!(out, "{}", self.palette.bold(summary(totals)))?;
        if totals.without_tools > 0 {
            let of = match totals.sessions {
                1 => "this session".to_owned(),
                all => format!("{} of {all} sessions", totals.without_tools),
            };
            let hint = "hint: the offered tools are not recorded in";
            let remedy = "--tools FILE lets the names and arguments of calls be judged";
            writeln!(
                out,
                "{}",
                self.palette.dim(format!("{hint} {of}; {remedy}"))
            )?;
        }
        if let Some((_, rule)) = totals.worst {
            let hint =
                format!("hint: `retake explain {rule}` tells what a rule means and what to do");
            writeln!(out, "{}", self.palette.dim(hint))?;
        }
        Ok(())
    }
}

/// "2 errors, 1 warning in 3 sessions of 2 files".
fn summary(totals: &Totals) -> String {
    let found = Severity::ALL.iter().rev().filter_map(|(severity, word)| {
        let count = totals.findings[*severity as usize];
        let noun = if *severity == Severity::Info {
            "note"
        } else {
            word
        };
        (count > 0).then(|| counted(count, noun))
    });
    let problems = (totals.problems > 0).then(|| counted(totals.problems, "problem"));
    let found = found.chain(problems).collect::<Vec<_>>();
    let found = match found.as_slice() {
        [] => "no findings".to_owned(),
        found => found.join(", "),
    };
    let (sessions, files) = (
        counted(totals.sessions, "session"),
        counted(totals.files, "file"),
    );
    format!("{found} in {sessions} of {files}")
}
