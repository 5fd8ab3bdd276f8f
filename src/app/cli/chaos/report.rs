//! What became of an agent that got faults: a table for people, or one JSON object a line.

use super::{Strayed, exception_line};
use crate::cli::exit::Exit;
use crate::cli::output::{counted, safe_line};
use crate::cli::report::write_line;
use crate::cli::style::Palette;
use retake_core::chaos::{End, FAULTS, Fault, Injection, Outcome};
use serde::Serialize;
use std::io::{self, Write};

/// How many of the last lines of an agent's standard error a JSON report holds.
const LINES: usize = 10;

/// One trial, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    pub(super) fault: &'static Fault,
    /// Which reply was to get it: a number, or `any`.
    pub(super) turn: String,
    /// Which time it was tried, from 1.
    pub(super) number: u32,
    pub(super) outcome: Outcome,
    pub(super) injection: Option<Injection>,
    /// How long it was silent by the end of the proxy, in milliseconds, if no request followed.
    pub(super) silent_ms: Option<u64>,
    /// How the agent ended, where it was started for this.
    pub(super) end: Option<End>,
    pub(super) stderr: Vec<String>,
    /// The name of its journal.
    pub(super) journal: String,
}

impl Tried {
    /// Whether what it wrote tells why it ended.
    fn shows_error(&self) -> bool {
        let failed = matches!(self.end, Some(End::Exit(code)) if code != Some(0));
        let counts = self.outcome != Outcome::NotReached;
        self.outcome.is_bad() || failed && counts
    }
}

/// The run without a fault.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Control {
    pub(super) end: End,
    pub(super) requests: u32,
    pub(super) stderr: Vec<String>,
    pub(super) journal: String,
    /// How far its requests were from the recording, where that is the model.
    pub(super) strayed: Option<Strayed>,
}

impl Control {
    pub(super) fn is_sound(&self) -> bool {
        self.end == End::Exit(Some(0))
    }
}

/// Everything that was tried.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) seed: u64,
    /// The folder of the journals, or the journal.
    pub(super) journals: String,
    pub(super) control: Option<Control>,
    pub(super) tried: Vec<Tried>,
    /// What can become of a trial, in the order of reports.
    pub(super) outcomes: &'static [Outcome],
    /// Why not everything was tried, where that is so.
    pub(super) broken_off: Option<String>,
}

impl Results {
    /// How many ended so.
    fn count(&self, outcome: Outcome) -> usize {
        let of = self.tried.iter();
        of.filter(|tried| tried.outcome == outcome).count()
    }

    /// Whether any fault was injected.
    pub(super) fn has_any(&self) -> bool {
        self.count(Outcome::NotReached) < self.tried.len()
    }

    /// The turns that the spec names and at which no fault was injected.
    pub(super) fn turns_not_reached(&self) -> Vec<&str> {
        let mut turns: Vec<&str> = Vec::new();
        let is_missed = |tried: &&Tried| tried.outcome == Outcome::NotReached;
        for missed in self.tried.iter().filter(is_missed) {
            let turn = missed.turn.as_str();
            let mut of_turn = self.tried.iter().filter(|tried| tried.turn == turn);
            if turn != "any" && of_turn.all(|one| is_missed(&one)) && !turns.contains(&turn) {
                turns.push(turn);
            }
        }
        turns
    }

    /// The exit code that they amount to; a report without a fault that was injected, at all or at a turn that
    /// the spec names, proves nothing.
    pub(super) fn exit(&self) -> Exit {
        if self.tried.iter().any(|tried| tried.outcome.is_bad()) {
            return Exit::Findings;
        }
        match self.has_any() && self.turns_not_reached().is_empty() {
            true => Exit::Clean,
            false => Exit::Usage,
        }
    }
}

/// A form of report.
pub(super) enum Report {
    Text(Palette),
    Json,
}

impl Report {
    pub(super) fn text(palette: Palette) -> Self {
        Self::Text(palette)
    }

    pub(super) fn json() -> Self {
        Self::Json
    }

    pub(super) fn write(&self, out: &mut dyn Write, results: &Results) -> io::Result<()> {
        match self {
            Self::Text(palette) => text(out, *palette, results),
            Self::Json => json(out, results),
        }
    }
}

fn text(out: &mut dyn Write, palette: Palette, results: &Results) -> io::Result<()> {
    let journals = safe_line(&results.journals);
    writeln!(out, "seed {}, journals in {journals}", results.seed)?;
    if let Some(control) = &results.control {
        let how = match control.is_sound() {
            true => "ends well".to_owned(),
            false => format!("{}: {}", ended(control.end), last_line(&control.stderr)),
        };
        let requests = counted(control.requests as usize, "request");
        writeln!(out, "without a fault the agent {how} ({requests})")?;
        if let Some(words) = control.strayed.as_ref().and_then(Strayed::words) {
            writeln!(out, "{}", palette.warning(safe_line(&words)))?;
        }
    }
    if !results.tried.is_empty() {
        table(out, palette, results)?;
    }
    let counts = results.outcomes.iter();
    let counts = counts.map(|outcome| format!("{} {}", results.count(*outcome), outcome.words()));
    let counts: Vec<String> = counts.collect();
    let trials = counted(results.tried.len(), "trial");
    writeln!(out, "\n{trials}: {}", counts.join(", "))?;
    if let Some(why) = &results.broken_off {
        writeln!(out, "{}", palette.warning(safe_line(why)))?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, palette: Palette, results: &Results) -> io::Result<()> {
    let width = FAULTS.iter().map(|fault| fault.id.len()).max();
    let width = width.unwrap_or_default();
    let heads = results.outcomes.iter().map(|outcome| outcome.words());
    let heads = heads.collect::<Vec<_>>().join("  ");
    let head = format!("{:width$}  {heads}", "fault");
    writeln!(out, "\n{}", palette.bold(head))?;
    let faults = FAULTS.iter();
    for fault in faults {
        let of: Vec<&Tried> = results
            .tried
            .iter()
            .filter(|tried| tried.fault == fault)
            .collect();
        if of.is_empty() {
            continue;
        }
        let counts = results.outcomes.iter().map(|outcome| {
            let count = of.iter().filter(|tried| tried.outcome == *outcome);
            let count = count.count();
            let count = if count == 0 {
                "·".to_owned()
            } else {
                count.to_string()
            };
            format!("{count:>width$}", width = outcome.words().len())
        });
        let counts = counts.collect::<Vec<_>>().join("  ");
        writeln!(out, "{:width$}  {counts}", fault.id)?;
        for tried in &of {
            writeln!(out, "  {}", line(palette, tried))?;
        }
        if of.iter().any(|tried| tried.outcome.is_bad()) {
            writeln!(out, "  {} {}", palette.dim("expected:"), fault.expected)?;
        }
    }
    Ok(())
}

fn line(palette: Palette, tried: &Tried) -> String {
    let word = match tried.outcome {
        Outcome::Survived => palette.added(tried.outcome.words()),
        Outcome::NotReached => palette.dim(tried.outcome.words()),
        _ => palette.error(tried.outcome.words()),
    };
    let mut line = match &tried.injection {
        Some(injection) => format!("{word} at turn {}", injection.turn),
        None => format!("{word} (turn {})", tried.turn),
    };
    if let Some(injection) = &tried.injection {
        line += &after_fault(tried, injection);
    }
    let is_plain = tried.outcome == Outcome::Survived || tried.outcome == Outcome::NotReached;
    let shows_end =
        tried.outcome == Outcome::Killed || is_plain && tried.end != Some(End::Exit(Some(0)));
    if let Some(end) = tried.end.filter(|_| shows_end) {
        line += &format!(", {}", ended(end));
    }
    if tried.shows_error() && !tried.stderr.is_empty() {
        line += &format!(": {}", last_line(&tried.stderr));
    }
    format!("{line}  {}", palette.dim(safe_line(&tried.journal)))
}

/// What followed a fault.
fn after_fault(tried: &Tried, injection: &Injection) -> String {
    let mut line = String::new();
    if injection.times > 1 {
        line += &format!(", {} times", injection.times);
    }
    if tried.end.is_none() {
        line += &format!(", conversation {}", injection.conversation);
    }
    if let Some(silent_ms) = tried.silent_ms {
        line += &format!(", for {} s", silent_ms / 1000);
    }
    let after = counted(injection.requests_after as usize, "request");
    match injection.how {
        Some(_) if tried.outcome == Outcome::Unnoticed => {
            line += &format!(", {after} after it as without a fault");
        }
        Some(how) => line += &format!(", {}, {after} after it", how.words()),
        None => {}
    }
    if let Some(rule) = injection.refused_by {
        line += &format!(", but a provider would refuse the first: {rule}");
    }
    line
}

fn ended(end: End) -> String {
    match end {
        End::Exit(Some(code)) => format!("ends with code {code}"),
        End::Exit(None) => "is ended by a signal".to_owned(),
        End::TimedOut => "does not end in time".to_owned(),
    }
}

fn last_line(stderr: &[String]) -> String {
    safe_line(exception_line(stderr).unwrap_or("it says nothing"))
}

/// The lines of the JSON report.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Control {
        is_sound: bool,
        exit: Option<i32>,
        requests: u32,
        error: Option<&'a str>,
        journal: &'a str,
        recording: Option<&'a Strayed>,
    },
    Trial {
        fault: &'static str,
        turn: &'a str,
        number: u32,
        outcome: Outcome,
        /// The reply that had the fault first.
        at: Option<u32>,
        conversation: Option<usize>,
        times: u32,
        how: Option<retake_core::chaos::How>,
        /// Whether the first request after it is without a fault as well.
        as_usual: bool,
        /// The rule by which a provider would refuse that request.
        refused_by: Option<&'static str>,
        requests_after: u32,
        silent_ms: Option<u64>,
        exit: Option<i32>,
        error: Option<&'a str>,
        stderr: &'a [String],
        expected: &'static str,
        journal: &'a str,
    },
    Summary {
        seed: u64,
        journals: &'a str,
        trials: usize,
        survived: usize,
        killed: usize,
        hung: usize,
        unnoticed: usize,
        silent: usize,
        not_reached: usize,
        turns_not_reached: Vec<&'a str>,
        broken_off: Option<&'a str>,
    },
}

fn json(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    if let Some(control) = &results.control {
        let line = Line::Control {
            is_sound: control.is_sound(),
            exit: code(Some(control.end)),
            requests: control.requests,
            error: exception_line(&control.stderr).filter(|_| !control.is_sound()),
            journal: &control.journal,
            recording: control.strayed.as_ref(),
        };
        write_line(out, &line)?;
    }
    for tried in &results.tried {
        write_line(out, &trial(tried))?;
    }
    let summary = Line::Summary {
        seed: results.seed,
        journals: &results.journals,
        trials: results.tried.len(),
        survived: results.count(Outcome::Survived),
        killed: results.count(Outcome::Killed),
        hung: results.count(Outcome::Hung),
        unnoticed: results.count(Outcome::Unnoticed),
        silent: results.count(Outcome::Silent),
        not_reached: results.count(Outcome::NotReached),
        turns_not_reached: results.turns_not_reached(),
        broken_off: results.broken_off.as_deref(),
    };
    write_line(out, &summary)
}

fn trial(tried: &Tried) -> Line<'_> {
    let injection = tried.injection.as_ref();
    let from = tried.stderr.len().saturating_sub(LINES);
    Line::Trial {
        fault: tried.fault.id,
        turn: &tried.turn,
        number: tried.number,
        outcome: tried.outcome,
        at: injection.map(|injection| injection.turn),
        conversation: injection.map(|injection| injection.conversation),
        times: injection.map_or(0, |injection| injection.times),
        how: injection.and_then(|injection| injection.how),
        as_usual: injection.is_some_and(|injection| injection.was_usual),
        refused_by: injection.and_then(|injection| injection.refused_by),
        requests_after: injection.map_or(0, |injection| injection.requests_after),
        silent_ms: tried.silent_ms,
        exit: code(tried.end),
        error: exception_line(&tried.stderr).filter(|_| tried.shows_error()),
        stderr: &tried.stderr[from..],
        expected: tried.fault.expected,
        journal: &tried.journal,
    }
}

fn code(end: Option<End>) -> Option<i32> {
    match end {
        Some(End::Exit(code)) => code,
        Some(End::TimedOut) | None => None,
    }
}
