//! The report for people: a table for each trial, with bars, then what the figures say in words.

use super::bar;
use super::results::{Results, Row, TrialResults, baseline_name, left_out, place};
use crate::cli::output::safe_line;
use crate::cli::style::Palette;
use retake_core::lab::{Interval, Verdict, words};
use retake_core::safe_text::SafeText;
use std::fmt::{Display, Write as _};
use std::ops::RangeInclusive;

/// How the report looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    /// Cells of a line.
    pub(super) width: usize,
    pub(super) palette: Palette,
    /// Only ASCII in what retake draws itself.
    pub(super) ascii: bool,
}

/// Lines of fewer cells are not made, and not of more.
const WIDTHS: RangeInclusive<usize> = 64..=140;
/// Cells of a rate, as `100 %`.
const RATE: usize = 5;
/// Cells of an interval, as `12..100 %`.
const RANGE: usize = 9;
/// Cells of a difference, as `-100 (-100..-66)`.
const DIFFERENCE: usize = 16;
/// Cells of a row that are neither name nor bar: the indent, and the columns with two spaces between.
const FIGURES: usize = 2 + 2 + 2 + RATE + 2 + RANGE + 2 + DIFFERENCE;
/// Most cells of a bar.
const LONGEST_BAR: usize = 51;
/// Least cells of a bar.
const SHORTEST_BAR: usize = 11;
/// Most cells of a foreign text.
const LONGEST_TEXT: usize = 2000;

pub(super) fn text(results: &Results<'_>, looks: Looks) -> String {
    let mut out = Lines::new(looks);
    out.title(&results.experiment().name);
    for sentence in results.opening() {
        out.wrapped("", &sentence);
    }
    for trial in &results.trials {
        out.trial(trial);
    }
    for together in &results.together {
        out.line("");
        out.title(&together.title());
        out.line("");
        out.table(together.rows.iter());
        if let Some(remark) = together.remark() {
            out.line("");
            out.point(&remark);
        }
    }
    out.left_out(results);
    out.assertions(results);
    out.line("");
    for line in words::legend(results.experiment()) {
        out.dim_wrapped("", &line);
    }
    out.journals(results);
    out.text
}

/// Lines of a report.
pub(super) struct Lines {
    pub(super) text: String,
    looks: Looks,
}

impl Lines {
    /// Nothing was written yet.
    pub(super) fn new(looks: Looks) -> Self {
        let width = looks.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        Self {
            text: String::new(),
            looks: Looks { width, ..looks },
        }
    }

    /// One line as it is. Writing to a text does not fail.
    pub(super) fn line(&mut self, line: impl Display) {
        let _infallible = writeln!(self.text, "{line}");
    }

    /// A heading; text from outside may be in it.
    pub(super) fn title(&mut self, title: &str) {
        let palette = self.looks.palette;
        for row in self.rows(title, 0) {
            self.line(palette.bold(row));
        }
    }

    /// Lines of text from outside; `first` stands before the first, spaces before the others.
    pub(super) fn wrapped(&mut self, first: &str, text: &str) {
        let indent = first.chars().count();
        for (number, row) in self.rows(text, indent).into_iter().enumerate() {
            match number {
                0 => self.line(format_args!("{first}{row}")),
                _ => self.line(format_args!("{:indent$}{row}", "")),
            }
        }
    }

    /// The same for what is beside the point.
    pub(super) fn dim_wrapped(&mut self, indent: &str, text: &str) {
        let palette = self.looks.palette;
        for row in self.rows(text, indent.chars().count()) {
            self.line(palette.dim(format_args!("{indent}{row}")));
        }
    }

    /// A point of a list.
    pub(super) fn point(&mut self, text: &str) {
        let bullet = if self.looks.ascii { " - " } else { " · " };
        self.wrapped(bullet, text);
    }

    fn rows(&self, text: &str, indent: usize) -> Vec<String> {
        let text = SafeText::single_line(text, LONGEST_TEXT);
        let rows = text.wrapped(self.looks.width - indent);
        rows.map(|row| row.as_plain().trim_end().to_owned())
            .collect()
    }

    /// What is tried, and with which model.
    pub(super) fn heading(&mut self, trial: &TrialResults<'_>) {
        let subject = &trial.trial.subject;
        let mut title = format!("{}. {} at {}", trial.number, subject.rule, place(subject));
        if !subject.tool.is_empty() {
            let _infallible = write!(title, ": {}", subject.tool);
        }
        self.line("");
        self.title(&title);
        let scripted = match trial.trial.is_scripted {
            true => " [scripted]",
            false => "",
        };
        let model = &trial.trial.model;
        self.wrapped("   ", &format!("model {model}{scripted}"));
        self.wrapped("   ", &words::meant(&subject.meant));
        self.line("");
    }

    fn trial(&mut self, trial: &TrialResults<'_>) {
        self.heading(trial);
        self.table(trial.rows());
        if !trial.remarks.is_empty() {
            self.line("");
        }
        for remark in &trial.remarks {
            self.point(remark);
        }
    }

    fn table<'a>(&mut self, rows: impl Iterator<Item = &'a Row> + Clone) {
        let names = rows.clone();
        let names = names.map(|row| SafeText::single_line(&row.name, self.looks.width));
        let longest = names.map(|name| name.width()).max().unwrap_or(0);
        let room = self.looks.width - FIGURES;
        let name = longest.max("wording".len()).min(room * 7 / 16);
        let cells = (room - name).clamp(SHORTEST_BAR, LONGEST_BAR);
        let compared = format!("vs {}", baseline_name(rows.clone()));
        let compared = SafeText::single_line(&compared, DIFFERENCE);
        let scale = format!("0 %{:>1$}", "100 %", cells - 3);
        let heading = format!(
            "  {:name$}  {scale}  {:>RATE$}  {:>RANGE$}  {compared}",
            "wording", "rate", "95 %"
        );
        self.line(self.looks.palette.dim(heading));
        for row in rows {
            self.row(row, name, cells);
        }
    }

    fn row(&mut self, row: &Row, name: usize, cells: usize) {
        let Looks { palette, ascii, .. } = self.looks;
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        let (rate, interval) = (row.measured.rate(), row.interval());
        let bar = bar(rate, interval.unwrap_or(everything), cells, ascii);
        let title = SafeText::single_line(&row.name, name);
        let padding = " ".repeat(name - title.width());
        let rate = words::rate(rate);
        let range = interval.map_or_else(|| "-".to_owned(), words::interval);
        let points = row.points();
        let points = match row.is_better() {
            Some(true) => palette.added(points).to_string(),
            Some(false) => palette.error(points).to_string(),
            None => points,
        };
        let line = format!("  {title}{padding}  {bar}  {rate:>RATE$}  {range:>RANGE$}  {points}");
        self.line(line.trim_end());
        self.dim_wrapped("    ", &details(row));
    }

    /// What the spec names and cannot be tried.
    pub(super) fn left_out(&mut self, results: &Results<'_>) {
        let left_out = &results.experiment().left_out;
        if !left_out.is_empty() {
            self.line("");
            self.title("left out");
        }
        for one in left_out {
            self.point(&self::left_out(one));
        }
    }

    fn assertions(&mut self, results: &Results<'_>) {
        if !results.assertions.is_empty() {
            self.line("");
            self.title("assertions");
        }
        for assertion in &results.assertions {
            let word = format!("  {:<9}  ", assertion.verdict.word());
            let from = self.text.len();
            self.wrapped(&word, &assertion.sentence);
            let palette = self.looks.palette;
            let painted = match assertion.verdict {
                Verdict::Holds => palette.added(&word),
                Verdict::Undecided => palette.warning(&word),
                Verdict::Fails => palette.error(&word),
            };
            let painted = painted.to_string();
            self.text.replace_range(from..from + word.len(), &painted);
        }
    }

    fn journals(&mut self, results: &Results<'_>) {
        let with = |trial: &&TrialResults<'_>| !trial.journal.is_empty();
        let mut trials = results.trials.iter().filter(with).peekable();
        if trials.peek().is_some() {
            self.line("");
            self.line("every sample is a take; to open them:");
        }
        for trial in trials {
            let path = safe_line(&shell_words::quote(&trial.journal));
            self.line(format_args!("  retake {path}"));
        }
    }
}

/// What became of the samples, and what an answer cost.
fn details(row: &Row) -> String {
    let classes = row.occurred();
    let classes = classes.map(|(class, count)| format!("{count} {}", class.word()));
    let classes = classes.collect::<Vec<_>>().join(", ");
    let measured = &row.measured;
    match (measured.input, measured.output, measured.ms) {
        (Some(input), Some(output), Some(ms)) => {
            let [input, output] = [input, output].map(words::thousands);
            let ms = words::milliseconds(ms);
            format!("{classes}; {input} tokens in, {output} out, {ms}")
        }
        _ if classes.is_empty() => "not answered yet".to_owned(),
        _ => classes,
    }
}
