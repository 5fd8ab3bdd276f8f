//! The report for spreadsheets: one row for each trial and wording, quoted after RFC 4180.

use super::results::{Results, Standing, TrialResults, end_word};
use crate::cli::output::csv_cell;
use retake_core::lab::{CLASSES, LeftOut, Subject};
use std::fmt::Display;

/// The columns before and behind the counts of classes.
const BEFORE: [&str; 10] = [
    "trial", "path", "session", "item", "rule", "tool", "model", "scripted", "wording", "origin",
];
const BEHIND: [&str; 13] = [
    "answered",
    "earlier",
    "rate",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
    "input_tokens",
    "output_tokens",
    "ms",
    "end",
    "journal",
];

/// The report, a header first.
pub(super) fn csv(results: &Results<'_>) -> String {
    let classes = CLASSES.iter().map(|(_, word, ..)| *word);
    let header = BEFORE.into_iter().chain(classes).chain(BEHIND);
    let header = header.map(|column| column.replace('-', "_"));
    let mut rows = vec![header.collect()];
    for trial in &results.trials {
        let standings = trial.standings.iter();
        rows.extend(standings.map(|standing| cells(trial, standing)));
    }
    rows.extend(results.experiment().left_out.iter().map(left_out));
    let lines = rows.iter().map(|row: &Vec<String>| row.join(",") + "\r\n");
    lines.collect()
}

/// What cannot be tried: a row without a trial and without counts.
fn left_out(of: &LeftOut) -> Vec<String> {
    let mut cells = vec![String::new()];
    cells.extend(finding(&of.subject, &of.model));
    cells.resize(BEFORE.len() + CLASSES.len() + BEHIND.len(), String::new());
    let end = cells.len() - 2;
    cells[end] = "left-out".to_owned();
    cells
}

fn finding(subject: &Subject, model: &str) -> [String; 6] {
    [
        csv_cell(&subject.path),
        (subject.session + 1).to_string(),
        (subject.item + 1).to_string(),
        csv_cell(&subject.rule),
        csv_cell(&subject.tool),
        csv_cell(model),
    ]
}

fn cells(trial: &TrialResults<'_>, standing: &Standing<'_>) -> Vec<String> {
    let row = &standing.row;
    let mut cells = vec![trial.number.to_string()];
    cells.extend(finding(&trial.trial.subject, &trial.trial.model));
    cells.extend([
        trial.trial.is_scripted.to_string(),
        csv_cell(&row.name),
        row.origin.word().to_owned(),
    ]);
    let measured = &row.measured;
    cells.extend(measured.counts.iter().map(u32::to_string));
    cells.push(measured.answered().to_string());
    let earlier = standing.samples.iter().filter(|sample| sample.is_earlier);
    cells.push(earlier.count().to_string());
    let (interval, difference) = (row.interval(), row.difference);
    let shares = [
        measured.rate(),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        difference.map(|difference| difference.value),
        difference.map(|difference| difference.interval.low),
        difference.map(|difference| difference.interval.high),
    ];
    cells.extend(shares.map(|share| or_empty(share.map(|share| format!("{share:.4}")))));
    cells.extend([measured.input, measured.output, measured.ms].map(or_empty));
    cells.push(or_empty(trial.end.map(end_word)));
    cells.push(csv_cell(&trial.journal));
    cells
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_from_outside_is_no_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("  =1", "'  =1"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
        assert!(csv_cell("\t=1").starts_with('\''));
    }

    #[test]
    fn commas_and_quotes_stay_in_their_cell() {
        assert_eq!(csv_cell("a,b"), "\"a,b\"");
        assert_eq!(csv_cell("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(
            csv_cell("=HYPERLINK(\"x\",1)"),
            "\"'=HYPERLINK(\"\"x\"\",1)\""
        );
        // A line break is shown, not obeyed.
        assert_eq!(csv_cell("a\nb"), "a⏎b");
    }
}
