//! What `fix` says on stderr: what was done, what is left, and why offers could not be carried out.

use super::exit::print_error;
use super::output::{counted, safe_line};
use retake_core::rules::Severity;
use retake_live::{Applied, FixRefusal, FixReport};
use std::collections::BTreeMap;
use std::io::Write;

/// How many actions and how many refusals are listed one by one.
const MOST_LINES: usize = 20;

/// How many findings of a severity are left.
pub(super) fn left(report: &FixReport, severity: Severity) -> usize {
    let left = report.found[1].iter();
    left.filter(|((of, _), _)| *of == severity)
        .map(|(_, count)| count)
        .sum()
}

/// Says what was done, or with `--diff` would be, what is left, and what was refused.
pub(super) fn print_report(report: &FixReport, is_trial: bool) {
    let [applied, left_over] = if is_trial {
        ["would be applied", "would be left"]
    } else {
        ["applied", "left"]
    };
    let errors = left(report, Severity::Error);
    let answered = match report.answered {
        0 => String::new(),
        1 if errors == 1 => " (answered in this copy: check still names it)".to_owned(),
        all if all == errors => " (answered in this copy: check still names them)".to_owned(),
        some => format!(" ({some} answered in this copy: check still names what was answered)"),
    };
    let summary = format!(
        "{} {applied}, {} {left_over}{answered}",
        counted(report.applied.len(), "action"),
        counted(errors, "error")
    );
    print_error(&summary, None);
    if report.respelled > 0 {
        let strings = counted(report.respelled, "string");
        print(&[format!("{strings} spelled as JSON allows")]);
    }
    print(&applied_lines(report));
    let unread = report.recording.problems.iter();
    let unread = unread.filter(|problem| problem.kind.is_unread()).count();
    if unread > 0 {
        let lines = [format!("{} could not be read", counted(unread, "place"))];
        print(&lines);
    }
    print(&left_lines(report));
    let refused = refusals(report);
    if !refused.is_empty() {
        print_error("could not be done:", None);
        print(&first_of(refused));
    }
}

/// The errors that are left, by rule, and the calls that wait: they are no fault, but no provider takes a
/// history that ends with them.
fn left_lines(report: &FixReport) -> Vec<String> {
    let found = || report.found[1].iter();
    let errors = found().filter(|((severity, _), _)| *severity == Severity::Error);
    let errors = errors.map(|((_, rule), count)| format!("{rule} {count}"));
    let errors = errors.collect::<Vec<_>>().join(", ");
    let waiting: usize = found()
        .filter(|((_, rule), _)| *rule == "pending-call")
        .map(|(_, count)| count)
        .sum();
    let errors = (!errors.is_empty()).then(|| format!("left: {errors}"));
    let waiting = (waiting > 0).then(|| match waiting {
        1 => "1 call still waits for its output".to_owned(),
        _ => format!("{waiting} calls still wait for their outputs"),
    });
    errors.into_iter().chain(waiting).collect()
}

fn print(lines: &[String]) {
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        // Without stderr there is nobody to tell.
        let _ = writeln!(stderr, "  {line}");
    }
}

fn applied_lines(report: &FixReport) -> Vec<String> {
    let rounds = report.applied.last().map_or(0, |applied| applied.round);
    let listed = report.applied.iter().take(MOST_LINES);
    let mut lines = listed
        .map(|applied| applied_line(report, rounds, applied))
        .collect::<Vec<_>>();
    if report.applied.len() > MOST_LINES {
        let mut by_action: BTreeMap<_, usize> = BTreeMap::new();
        for applied in &report.applied {
            *by_action.entry(applied.action).or_default() += 1;
        }
        let all = by_action
            .iter()
            .map(|(action, count)| format!("{action} {count}"));
        lines.push(format!("in all: {}", all.collect::<Vec<_>>().join(", ")));
    }
    lines
}

fn applied_line(report: &FixReport, rounds: usize, applied: &Applied) -> String {
    let round = if rounds > 1 {
        format!("round {}, ", applied.round)
    } else {
        String::new()
    };
    let notes = applied.notes.iter();
    let notes = notes.map(|note| format!("; {}", safe_line(note)));
    format!(
        "{round}{}  {}  {}{}",
        place(report, applied.session, applied.item),
        applied.rule,
        applied.action,
        notes.collect::<String>()
    )
}

fn place(report: &FixReport, session: usize, item: u32) -> String {
    if report.recording.sessions.len() > 1 {
        format!("session {}, item {}", session + 1, item + 1)
    } else {
        format!("item {}", item + 1)
    }
}

/// A line for each finding and reason; actions that are refused for the same reason share it.
fn refusals(report: &FixReport) -> Vec<String> {
    let line_of = |refused: &FixRefusal| {
        let place = place(report, refused.session, refused.item);
        let reason = safe_line(&refused.reason.to_string());
        (format!("{place}  {}", refused.rule), reason)
    };
    let mut lines: Vec<((String, String), Vec<&str>)> = Vec::new();
    for refused in &report.refused {
        let line = line_of(refused);
        match lines.last_mut() {
            Some((last, actions)) if *last == line => actions.push(refused.action),
            _ => lines.push((line, vec![refused.action])),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|((place, reason), actions)| format!("{place}  {}: {reason}", actions.join(", ")))
        .collect()
}

fn first_of(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.truncate(MOST_LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}
