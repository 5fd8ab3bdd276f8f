//! The report for people: a table for each trial, with bars, then what the figures say in words.

use super::bar::bar;
use super::results::{
    Results, Standing, TrialResults, Verdict, baseline_name, corrected_is, end_words, place,
};
use crate::cli::output::{counted, safe_line};
use crate::cli::style::Palette;
use crate::lab::Interval;
use crate::safe_text::SafeText;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// How the report looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    /// Cells of a line.
    pub(super) width: usize,
    /// Colours.
    pub(super) palette: Palette,
    /// Only ASCII in what retake draws itself.
    pub(super) ascii: bool,
}

/// Lines of fewer cells are not made, and not of more.
pub(super) const WIDTHS: RangeInclusive<usize> = 64..=140;

/// Cells of a rate, as `100 %`.
const RATE: usize = 5;
/// Cells of an interval, as `12-100 %`.
const RANGE: usize = 8;
/// Cells of a difference, as `-100 [-100, -66]`.
const DIFFERENCE: usize = 16;
/// Cells of a row that are neither name nor bar: the columns with two spaces between, and the indent.
const FIGURES: usize = 2 + 2 + 2 + RATE + 2 + RANGE + 2 + DIFFERENCE;
/// Most cells of a bar.
const LONGEST_BAR: usize = 51;
/// Least cells of a bar.
const SHORTEST_BAR: usize = 11;

/// The report.
pub(super) fn text(results: &Results<'_>, looks: Looks) -> String {
    let looks = Looks {
        width: looks.width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        ..looks
    };
    let mut out = Lines {
        text: String::new(),
        looks,
    };
    out.opening(results);
    for trial in &results.trials {
        out.trial(trial);
    }
    out.assertions(results);
    out.journals(results);
    out.text
}

struct Lines {
    text: String,
    looks: Looks,
}

impl Lines {
    /// Writing to a text does not fail.
    fn line(&mut self, line: impl std::fmt::Display) {
        let _infallible = writeln!(self.text, "{line}");
    }

    /// Lines of text from outside, wrapped; `first` stands before the first, spaces before the others.
    fn wrapped(&mut self, first: &str, text: &str) {
        let indent = first.chars().count();
        let text = SafeText::single_line(text, 2000);
        for (number, row) in text.wrapped(self.looks.width - indent).enumerate() {
            let row = row.as_plain().trim_end();
            match number {
                0 => self.line(format_args!("{first}{row}")),
                _ => self.line(format_args!("{:indent$}{row}", "")),
            }
        }
    }

    fn opening(&mut self, results: &Results<'_>) {
        let palette = self.looks.palette;
        let name = safe_line(&results.experiment().name);
        self.line(palette.bold(name));
        let (there, asked) = results.samples();
        let end = results.end().map_or("it goes on", |end| end_words(end).1);
        self.wrapped("", &format!("{there} of {asked} samples: {end}"));
        let spent = results.board.spent;
        let (sent, answered) = (spent.usage.input, spent.usage.output);
        let requests = counted(spent.requests as usize, "request");
        let seed = results.experiment().seed;
        let spent = format!("{requests}, {sent} tokens sent, {answered} answered; seed {seed}");
        self.line(palette.dim(spent));
    }

    fn trial(&mut self, trial: &TrialResults<'_>) {
        let palette = self.looks.palette;
        let subject = &trial.trial.subject;
        let mut title = format!("{}. {} at {}", trial.number, subject.rule, place(subject));
        if !subject.tool.is_empty() {
            let _infallible = write!(title, ": {}", subject.tool);
        }
        self.line("");
        let title = SafeText::single_line(&title, 2000);
        for row in title.wrapped(self.looks.width) {
            self.line(palette.bold(row.as_plain().trim_end()));
        }
        let scripted = if trial.trial.is_scripted {
            " [scripted]"
        } else {
            ""
        };
        self.wrapped("   ", &format!("model {}{scripted}", trial.trial.model));
        self.wrapped(
            "   ",
            &format!("corrected: {}", corrected_is(&subject.meant)),
        );
        if let Some(end) = trial.end {
            self.wrapped("   ", end_words(end).1);
        }
        self.line("");
        self.table(trial);
        if !trial.remarks.is_empty() {
            self.line("");
        }
        let bullet = if self.looks.ascii { " - " } else { " · " };
        for remark in &trial.remarks {
            self.wrapped(bullet, remark);
        }
    }

    fn table(&mut self, trial: &TrialResults<'_>) {
        let names = trial.standings.iter();
        let names = names.map(|one| SafeText::single_line(&one.variant.name, self.looks.width));
        let longest = names.map(|name| name.width()).max().unwrap_or(0);
        let room = self.looks.width - FIGURES;
        let name = longest.max("wording".len()).min(room * 7 / 16);
        let cells = (room - name).clamp(SHORTEST_BAR, LONGEST_BAR);
        let compared = format!("vs {}", baseline_name(trial.baseline()));
        let compared = SafeText::single_line(&compared, DIFFERENCE);
        let scale = format!("0 %{:>1$}", "100 %", cells - 3);
        let heading = format!(
            "  {:name$}  {scale}  {:>RATE$}  {:>RANGE$}  {compared}",
            "wording", "rate", "95 %"
        );
        self.line(self.looks.palette.dim(heading));
        for standing in &trial.standings {
            self.standing(standing, name, cells);
        }
    }

    fn standing(&mut self, standing: &Standing<'_>, name: usize, cells: usize) {
        let Looks { palette, ascii, .. } = self.looks;
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        let interval = standing.interval();
        let bar = bar(
            standing.rate(),
            interval.unwrap_or(everything),
            cells,
            ascii,
        );
        let title = SafeText::single_line(&standing.variant.name, name);
        let padding = " ".repeat(name - title.width());
        let rate = standing.rate().map_or_else(|| "-".to_owned(), percent);
        let range = interval.map_or_else(|| "-".to_owned(), range);
        let figures = format!("{rate:>RATE$}  {range:>RANGE$}");
        let difference = difference(standing);
        let tells = standing.difference.filter(|one| one.tells_apart());
        let row = |difference: &dyn std::fmt::Display| {
            format!("  {title}{padding}  {bar}  {figures}  {difference}")
        };
        let row = match tells.map(|difference| difference.value > 0.0) {
            Some(true) => row(&palette.added(difference)),
            Some(false) => row(&palette.error(difference)),
            None => row(&difference),
        };
        self.line(row.trim_end());
        let details = SafeText::single_line(&details(standing), 2000);
        for row in details.wrapped(self.looks.width - 4) {
            let row = row.as_plain().trim_end();
            self.line(palette.dim(format_args!("    {row}")));
        }
    }

    fn assertions(&mut self, results: &Results<'_>) {
        if !results.assertions.is_empty() {
            self.line("");
            self.line(self.looks.palette.bold("assertions"));
        }
        for assertion in &results.assertions {
            let word = format!("  {:<9}  ", assertion.verdict.word());
            let from = self.text.len();
            self.wrapped(&word, &assertion.sentence);
            let painted = match assertion.verdict {
                Verdict::Holds => self.looks.palette.added(&word).to_string(),
                Verdict::Undecided => self.looks.palette.warning(&word).to_string(),
                Verdict::Fails => self.looks.palette.error(&word).to_string(),
            };
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
fn details(standing: &Standing<'_>) -> String {
    let classes = standing.occurred();
    let classes = classes.map(|(class, count)| format!("{count} {}", class.word()));
    let classes = classes.collect::<Vec<_>>().join(", ");
    match standing.cost {
        None if classes.is_empty() => "not asked yet".to_owned(),
        None => classes,
        Some(cost) => {
            let (input, output, ms) = (cost.input, cost.output, cost.ms);
            format!("{classes}; {input:.0} tokens in, {output:.0} out, {ms:.0} ms")
        }
    }
}

/// A share as `75 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// An interval as `53-89 %`.
fn range(interval: Interval) -> String {
    format!("{:.0}-{:.0} %", interval.low * 100.0, interval.high * 100.0)
}

/// A difference in points with its interval, as `+45 [+12, +66]`.
fn difference(standing: &Standing<'_>) -> String {
    let Some(difference) = standing.difference else {
        return if standing.is_baseline {
            String::new()
        } else {
            "-".to_owned()
        };
    };
    let points = |share: f64| {
        // Half a point below nothing is nothing, without a sign.
        let points = (share * 100.0).round() + 0.0;
        if points == 0.0 {
            "0".to_owned()
        } else {
            format!("{points:+}")
        }
    };
    let (low, high) = (difference.interval.low, difference.interval.high);
    format!(
        "{} [{}, {}]",
        points(difference.value),
        points(low),
        points(high)
    )
}
