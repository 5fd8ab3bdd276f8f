//! The reports of an experiment: text for people, JSON lines, CSV and a page of HTML. All are written from the same
//! [`Results`].

use crate::cli::arguments::LabFormat;
use crate::cli::output::{csv_cell, shell_word};
use crate::cli::report::write_line;
use crate::cli::style::Palette;
use retake_core::lab::{
    CLASSES, Claim, Interval, LabSample, LeftOut, Measured, Results, Subject, TrialEnd,
    TrialResults, Verdict, WordingRow, WordingVariant, baseline_name, left_out, place, words,
};
use retake_core::redact::shareable;
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::Usage;
use retake_core::session::takes::TakeId;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::ops::RangeInclusive;

pub(super) fn write(
    out: &mut dyn Write,
    format: LabFormat,
    looks: Looks,
    results: &Results<'_>,
) -> io::Result<()> {
    match format {
        LabFormat::Text => out.write_all(text(results, looks).as_bytes()),
        LabFormat::Json => json(out, results),
        LabFormat::Csv => out.write_all(csv(results).as_bytes()),
        LabFormat::Html => out.write_all(html(results).as_bytes()),
    }
}

/// How a rate differs from that of the baseline, in points, as `+45 (+12..+66)`.
fn points(row: &WordingRow) -> String {
    match row.difference {
        Some(difference) => words::points_between(difference),
        None => if row.is_baseline { "" } else { "-" }.to_owned(),
    }
}

// The report for people: a table for each trial, with bars, then what the figures say in words.

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
    let mut out = ReportLines::new(looks);
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
        out.table(&together.rows);
        if let Some(remark) = together.remark() {
            out.line("");
            out.point(&remark);
        }
    }
    out.all_left_out(results);
    out.assertions(results);
    out.line("");
    for line in words::legend(results.experiment()) {
        out.dim_wrapped("", &line);
    }
    out.journals(results);
    out.text
}

pub(super) struct ReportLines {
    pub(super) text: String,
    looks: Looks,
}

impl ReportLines {
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

    /// Lines of text from outside; `first` is before the first, spaces before the others.
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
        self.table(&trial.rows);
        if !trial.remarks.is_empty() {
            self.line("");
        }
        for remark in &trial.remarks {
            self.point(remark);
        }
    }

    fn table(&mut self, rows: &[WordingRow]) {
        let names = rows
            .iter()
            .map(|row| SafeText::single_line(&row.name, self.looks.width));
        let longest = names.map(|name| name.width()).max().unwrap_or(0);
        let room = self.looks.width - FIGURES;
        let name = longest.max("wording".len()).min(room * 7 / 16);
        let cells = (room - name).clamp(SHORTEST_BAR, LONGEST_BAR);
        let compared = format!("vs {}", baseline_name(rows));
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

    fn row(&mut self, row: &WordingRow, name: usize, cells: usize) {
        let Looks { palette, ascii, .. } = self.looks;
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        let (rate, interval) = (row.measured.rate(), row.measured.known_interval());
        let bar = bar(rate, interval.unwrap_or(everything), cells, ascii);
        let title = SafeText::single_line(&row.name, name);
        let padding = " ".repeat(name - title.width());
        let rate = words::rate(rate);
        let range = interval.map_or_else(|| "-".to_owned(), words::interval);
        let points = points(row);
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
    pub(super) fn all_left_out(&mut self, results: &Results<'_>) {
        let all = &results.experiment().left_out;
        if !all.is_empty() {
            self.line("");
            self.title("left out");
        }
        for one in all {
            self.point(&left_out(one));
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
            let path = shell_word(&trial.journal);
            self.line(format_args!("  retake {path}"));
        }
    }
}

/// What became of the samples, and what an answer cost.
fn details(row: &WordingRow) -> String {
    let classes = row.measured.occurred();
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

// A rate with its interval, drawn in a row of cells.

struct Strokes {
    empty: char,
    low: char,
    high: char,
    between: char,
    rate: char,
}

const UNICODE: Strokes = Strokes {
    empty: '·',
    low: '├',
    high: '┤',
    between: '─',
    rate: '█',
};

const ASCII: Strokes = Strokes {
    empty: '.',
    low: '[',
    high: ']',
    between: '-',
    rate: '#',
};

/// The rate and its interval on a scale from 0 to 100 % of so many cells; only the scale where
/// there is no rate.
fn bar(rate: Option<f64>, interval: Interval, cells: usize, ascii: bool) -> String {
    let strokes = if ascii { ASCII } else { UNICODE };
    let at = |share: f64| (share.clamp(0.0, 1.0) * cells.saturating_sub(1) as f64).round() as usize;
    let Some(rate) = rate.map(at) else {
        return strokes.empty.to_string().repeat(cells);
    };
    let (low, high) = (at(interval.low), at(interval.high));
    let cell = |at: usize| match at {
        at if at == rate => strokes.rate,
        at if at == low => strokes.low,
        at if at == high => strokes.high,
        at if low < at && at < high => strokes.between,
        _ => strokes.empty,
    };
    (0..cells).map(cell).collect()
}

// The report for programs: one JSON object a line, a contract like that of `check`.
//
// `trial` before the samples of the trial, then `sample` for each, `standing` for each wording, `remark` for
// each sentence; `overall` for each wording over several trials, `left-out` for each finding that cannot be
// tried with a model, `assertion`, and `experiment` come last. Numbers of trials, samples, sessions and items
// count from 1; rates and differences are shares, from 0 to 1 and from -1 to 1; tokens and milliseconds of a
// wording are medians; what is absent is null.

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Trial {
        trial: usize,
        path: &'a str,
        session: u32,
        item: u32,
        rule: &'a str,
        tool: Option<&'a str>,
        /// `tool`, `any-tool`, `otherwise` or `message`.
        meant: &'static str,
        meant_tool: Option<&'a str>,
        model: &'a str,
        scripted: bool,
        baseline: &'a str,
        journal: Option<&'a str>,
    },
    Sample {
        trial: usize,
        wording: &'a str,
        number: u64,
        class: &'static str,
        why: &'a str,
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        ms: u64,
        take: Option<TakeId>,
        /// Whether it is from an earlier run.
        earlier: bool,
    },
    Standing {
        trial: usize,
        wording: &'a str,
        origin: &'static str,
        words: &'a str,
        #[serde(flatten)]
        figures: Figures,
    },
    Remark {
        trial: usize,
        message: &'a str,
    },
    Overall {
        kind: &'static str,
        model: &'a str,
        trials: Vec<usize>,
        /// Those of them that tried the wording.
        tried: Vec<usize>,
        wording: &'a str,
        origin: &'static str,
        #[serde(flatten)]
        figures: Figures,
    },
    #[serde(rename = "left-out")]
    LeftOut {
        path: &'a str,
        session: u32,
        item: u32,
        rule: &'a str,
        model: &'a str,
        message: &'a str,
    },
    Assertion {
        /// Its number in the spec.
        assertion: usize,
        trial: usize,
        wording: &'a str,
        /// The rate that it has to reach.
        at_least: Option<f64>,
        /// The wording that it has to be better than.
        better_than: Option<&'a str>,
        verdict: &'static str,
        message: &'a str,
    },
    Experiment {
        name: &'a str,
        end: Option<&'static str>,
        samples: usize,
        /// Samples from an earlier run.
        earlier: usize,
        asked: usize,
        requests: u32,
        /// As providers reported them; null where none reported any.
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        /// Those of replies whose provider reported none, sent and answered, by estimate.
        estimated_tokens: u64,
        seed: u64,
    },
}

#[derive(Serialize)]
struct Figures {
    /// By the word of the class, each of them.
    counts: Map<String, Value>,
    answered: u32,
    corrected: u32,
    rate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// How much higher the rate is than that of the baseline.
    difference: Option<Figure>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    ms: Option<u64>,
}

#[derive(Serialize)]
struct Figure {
    value: f64,
    low: f64,
    high: f64,
}

pub(super) fn json(out: &mut dyn Write, results: &Results<'_>) -> io::Result<()> {
    for of in &results.trials {
        let trial = of.number;
        write_line(out, &trial_line(of))?;
        for (variant, _, samples) in of.wordings() {
            for sample in samples {
                let counted = sample.tokens.counted();
                let line = Line::Sample {
                    trial,
                    wording: &variant.name,
                    number: u64::from(sample.number) + 1,
                    class: sample.class.word(),
                    why: &sample.why,
                    input_tokens: counted.map(|counted| counted.input),
                    output_tokens: counted.map(|counted| counted.output),
                    ms: sample.ms,
                    take: sample.take,
                    earlier: sample.is_earlier,
                };
                write_line(out, &line)?;
            }
        }
        for (variant, row, _) in of.wordings() {
            let line = Line::Standing {
                trial,
                wording: &row.name,
                origin: row.origin.word(),
                words: &variant.words,
                figures: Figures::of(row),
            };
            write_line(out, &line)?;
        }
        for message in &of.remarks {
            write_line(out, &Line::Remark { trial, message })?;
        }
    }
    let numbers = |trials: &[usize]| trials.iter().map(|at| at + 1).collect::<Vec<_>>();
    for together in &results.together {
        for row in &together.rows {
            let line = Line::Overall {
                kind: together.kind.name(),
                model: together.model.as_deref().unwrap_or_default(),
                trials: numbers(&together.trials),
                tried: numbers(&row.trials),
                wording: &row.name,
                origin: row.origin.word(),
                figures: Figures::of(row),
            };
            write_line(out, &line)?;
        }
    }
    for LeftOut {
        subject,
        model,
        why,
        ..
    } in &results.experiment().left_out
    {
        let line = Line::LeftOut {
            path: &subject.path,
            session: subject.session + 1,
            item: subject.item + 1,
            rule: &subject.rule,
            model,
            message: why,
        };
        write_line(out, &line)?;
    }
    for judged in &results.assertions {
        let name = |variant: usize| {
            let trial = results.experiment().trials.get(judged.trial);
            let variant = trial.and_then(|trial| trial.variants.get(variant));
            variant.map_or("", |variant| variant.name.as_str())
        };
        let (at_least, better_than) = match judged.claim {
            Claim::AtLeast(rate) => (Some(rate), None),
            Claim::BetterThan { variant, .. } => (None, Some(name(variant))),
        };
        let line = Line::Assertion {
            assertion: judged.assertion + 1,
            trial: judged.trial + 1,
            wording: name(judged.variant),
            at_least,
            better_than,
            verdict: judged.verdict.word(),
            message: &judged.sentence,
        };
        write_line(out, &line)?;
    }
    let (samples, asked) = results.samples();
    let spent = results.board.spent;
    let counted = Some(spent.usage).filter(|usage| *usage != Usage::default());
    let experiment = Line::Experiment {
        name: &results.experiment().name,
        end: results.end().map(TrialEnd::word),
        samples,
        earlier: results.earlier().1,
        asked,
        requests: spent.requests,
        input_tokens: counted.map(|counted| counted.input),
        output_tokens: counted.map(|counted| counted.output),
        estimated_tokens: spent.estimated_tokens(),
        seed: results.experiment().seed,
    };
    write_line(out, &experiment)
}

fn trial_line<'a>(of: &'a TrialResults<'a>) -> Line<'a> {
    let subject = &of.trial.subject;
    let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    let (meant, meant_tool) = subject.meant.words();
    Line::Trial {
        trial: of.number,
        path: &subject.path,
        session: subject.session + 1,
        item: subject.item + 1,
        rule: &subject.rule,
        tool: given(&subject.tool),
        meant,
        meant_tool,
        model: &of.trial.model,
        scripted: of.trial.is_scripted,
        baseline: { of.rows.iter() }
            .find(|row| row.is_baseline)
            .map_or("", |row| &row.name),
        journal: given(&of.journal),
    }
}

impl Figures {
    fn of(row: &WordingRow) -> Self {
        let (measured, interval) = (&row.measured, row.measured.known_interval());
        let counts = CLASSES.iter().zip(measured.counts);
        let counts = counts.map(|((_, word, ..), count)| ((*word).to_owned(), count.into()));
        Self {
            counts: counts.collect(),
            answered: measured.answered(),
            corrected: measured.corrected.hits(),
            rate: measured.rate().map(rounded),
            low: interval.map(|interval| rounded(interval.low)),
            high: interval.map(|interval| rounded(interval.high)),
            difference: row.difference.map(|difference| Figure {
                value: rounded(difference.value),
                low: rounded(difference.interval.low),
                high: rounded(difference.interval.high),
            }),
            input_tokens: measured.input,
            output_tokens: measured.output,
            ms: measured.ms,
        }
    }
}

/// To six places: more would be noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

// The report for spreadsheets: one row for each trial and wording, quoted after RFC 4180.

/// The columns before and after the counts of classes.
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
        let wordings = trial.wordings();
        rows.extend(wordings.map(|(_, row, samples)| cells(trial, row, samples)));
    }
    rows.extend(results.experiment().left_out.iter().map(left_out_cells));
    let lines = rows.iter().map(|row: &Vec<String>| row.join(",") + "\r\n");
    lines.collect()
}

/// What cannot be tried: a row without a trial and without counts.
fn left_out_cells(of: &LeftOut) -> Vec<String> {
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

fn cells(trial: &TrialResults<'_>, row: &WordingRow, samples: &[LabSample]) -> Vec<String> {
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
    let earlier = samples.iter().filter(|sample| sample.is_earlier);
    cells.push(earlier.count().to_string());
    let (interval, difference) = (measured.known_interval(), row.difference);
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
    cells.push(or_empty(trial.end.map(TrialEnd::word)));
    cells.push(csv_cell(&trial.journal));
    cells
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

// The report as a page of its own: no script, nothing fetched, bars drawn as SVG, light and dark, good on paper.

const STYLE: &str = include_str!("page.css");

pub(super) fn html(results: &Results<'_>) -> String {
    let mut page = Page(String::new());
    let name = escaped(&results.experiment().name);
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
        http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
        'unsafe-inline'\">\n<meta name=\"viewport\" \
        content=\"width=device-width\">\n<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
    ));
    for sentence in results.opening() {
        page.add(format_args!("<p>{}</p>\n", escaped(&sentence)));
    }
    for trial in &results.trials {
        page.trial(trial);
    }
    for together in &results.together {
        let title = escaped(&together.title());
        page.add(format_args!("<section>\n<h2>{title}</h2>\n"));
        page.table(&together.rows);
        page.list(together.remark().as_slice());
        page.add(format_args!("</section>\n"));
    }
    page.all_left_out(results);
    page.assertions(results);
    page.list(&words::legend(results.experiment()));
    page.add(format_args!("</body>\n</html>\n"));
    page.0
}

struct Page(String);

impl Page {
    /// Writing to a text does not fail.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _infallible = self.0.write_fmt(text);
    }

    fn trial(&mut self, trial: &TrialResults<'_>) {
        let subject = &trial.trial.subject;
        let rule = escaped(&subject.rule);
        self.add(format_args!("<section>\n<h2>{}. {rule}", trial.number));
        if !subject.tool.is_empty() {
            self.add(format_args!(": <code>{}</code>", escaped(&subject.tool)));
        }
        let scripted = match trial.trial.is_scripted {
            true => " <strong>[scripted]</strong>",
            false => "",
        };
        let (place, model) = (escaped(&place(subject)), escaped(&trial.trial.model));
        let meant = escaped(&words::meant(&subject.meant));
        self.add(format_args!(
            "</h2>\n<p>{place}; model {model}{scripted}; {meant}</p>\n"
        ));
        self.table(&trial.rows);
        self.list(&trial.remarks);
        for (variant, _, samples) in trial.wordings() {
            self.wording(variant, samples);
        }
        if !trial.journal.is_empty() {
            let path = escaped(&shell_word(&trial.journal));
            self.add(format_args!(
                "<p>Every sample is a take; to open them: <code>retake {path}</code></p>\n"
            ));
        }
        self.add(format_args!("</section>\n"));
    }

    fn table(&mut self, rows: &[WordingRow]) {
        let baseline = escaped(baseline_name(rows));
        self.add(format_args!(
            "<table>\n<thead><tr><th>wording</th><th class=\"bar\">0 to 100 % corrected</th><th>rate</th><th>95 %</th>\
             <th>points vs {baseline}</th><th>answers</th><th>tokens</th><th>time</th></tr></thead>\n<tbody>\n"
        ));
        for row in rows {
            self.row(row);
        }
        self.add(format_args!("</tbody>\n</table>\n"));
    }

    fn row(&mut self, row: &WordingRow) {
        let [name, title] = [&row.name, &row.title].map(|text| escaped(text));
        let bar = drawing(row);
        let measured = &row.measured;
        let rate = words::rate(measured.rate());
        let interval = row
            .measured
            .known_interval()
            .map_or_else(String::new, words::interval);
        let class = match row.is_better() {
            Some(true) => "better",
            Some(false) => "worse",
            None => "same",
        };
        let points = points(row);
        let tokens = [measured.input, measured.output];
        let [input, output] = tokens.map(|tokens| words::thousands(tokens.unwrap_or(0)));
        let ms = measured.ms.map_or_else(String::new, words::milliseconds);
        let (hits, of) = (measured.corrected.hits(), measured.answered());
        self.add(format_args!(
            "<tr><th scope=\"row\" title=\"{title}\">{name}</th><td \
            class=\"bar\">{bar}</td><td>{rate}</td><td>{interval}</td><td \
            class=\"{class}\">{points}</td><td>{hits} of {of}</td><td>{input} + \
            {output}</td><td>{ms}</td></tr>\n"
        ));
    }

    /// The words of a wording and its samples by class.
    fn wording(&mut self, variant: &WordingVariant, samples: &[LabSample]) {
        let (name, words) = (escaped(&variant.name), escaped(&variant.words));
        let origin = variant.origin.word();
        self.add(format_args!(
            "<details>\n<summary><b>{name}</b> ({origin})</summary>\n<pre>{words}</pre>\n"
        ));
        for (class, count) in Measured::of(samples.iter()).occurred() {
            let (word, meaning) = (class.word(), class.meaning());
            self.add(format_args!(
                "<details>\n<summary>{count} {word}: {meaning}</summary>\n<ol>\n"
            ));
            for (number, sample) in (1..).zip(samples) {
                if sample.class == class {
                    let why = escaped(&sample.why);
                    let take = sample.take.map(|take| format!(" ({take})"));
                    let take = take.unwrap_or_default();
                    self.add(format_args!("<li value=\"{number}\">{why}{take}</li>\n"));
                }
            }
            self.add(format_args!("</ol>\n</details>\n"));
        }
        self.add(format_args!("</details>\n"));
    }

    fn list(&mut self, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.add(format_args!("<ul>\n"));
        for sentence in sentences {
            self.add(format_args!("<li>{}</li>\n", escaped(sentence)));
        }
        self.add(format_args!("</ul>\n"));
    }

    fn all_left_out(&mut self, results: &Results<'_>) {
        let all: Vec<String> = results.experiment().left_out.iter().map(left_out).collect();
        if all.is_empty() {
            return;
        }
        self.add(format_args!("<section>\n<h2>Left out</h2>\n"));
        self.list(&all);
        self.add(format_args!("</section>\n"));
    }

    fn assertions(&mut self, results: &Results<'_>) {
        if results.assertions.is_empty() {
            return;
        }
        self.add(format_args!("<section>\n<h2>Assertions</h2>\n<ul>\n"));
        for assertion in &results.assertions {
            let (word, sentence) = (assertion.verdict.word(), escaped(&assertion.sentence));
            self.add(format_args!(
                "<li><b class=\"{word}\">{word}</b>: {sentence}</li>\n"
            ));
        }
        self.add(format_args!("</ul>\n</section>\n"));
    }
}

/// The rate and its interval on a scale of 100 by 10.
fn drawing(row: &WordingRow) -> String {
    let mut svg =
        "<svg viewBox=\"-1 0 102 10\" preserveAspectRatio=\"none\" role=\"img\"".to_owned();
    let (Some(rate), Some(interval)) = (row.measured.rate(), row.measured.known_interval()) else {
        return svg + " aria-label=\"no answer\"><path class=\"scale\" d=\"M0 5H100\"/></svg>";
    };
    let label = format!("{}, {}", words::rate(Some(rate)), words::interval(interval));
    let (low, high) = (interval.low * 100.0, interval.high * 100.0);
    let left = rate * 100.0 - 1.0;
    let _infallible = write!(
        svg,
        " aria-label=\"{}\"><path class=\"scale\" d=\"M0 5H100M0 4V6M50 4V6M100 4V6\"/>\
         <path class=\"range\" d=\"M{low:.1} 5H{high:.1}M{low:.1} 2V8M{high:.1} 2V8\"/>\
         <rect class=\"rate\" x=\"{left:.1}\" y=\"1\" width=\"2\" height=\"8\"/></svg>",
        escaped(&label)
    );
    svg
}

/// Text from outside for any place of the page: drawable, no markup, and without secrets, for
/// pages are sent around.
fn escaped(text: &str) -> String {
    let safe = SafeText::from_str(&shareable(text));
    let mut out = String::with_capacity(text.len());
    for character in safe.as_plain().chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(low: f64, rate: f64, high: f64, ascii: bool) -> String {
        bar(Some(rate), Interval { low, high }, 11, ascii)
    }

    #[test]
    fn a_bar_shows_the_rate_between_the_ends_of_its_interval() {
        assert_eq!(drawn(0.1, 0.4, 0.7, false), "·├──█──┤···");
        assert_eq!(drawn(0.1, 0.4, 0.7, true), ".[--#--]...");
    }

    #[test]
    fn the_rate_wins_over_an_end_that_it_lies_on() {
        assert_eq!(drawn(0.0, 0.0, 0.3, false), "█──┤·······");
        assert_eq!(drawn(0.7, 1.0, 1.0, false), "·······├──█");
        assert_eq!(drawn(0.5, 0.5, 0.5, true), ".....#.....");
    }

    #[test]
    fn without_a_rate_only_the_scale_is_drawn() {
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        assert_eq!(bar(None, everything, 4, false), "····");
    }

    #[test]
    fn a_scale_of_no_or_one_cell_is_drawn_too() {
        let interval = Interval {
            low: 0.2,
            high: 0.9,
        };
        assert_eq!(bar(Some(0.5), interval, 0, false), "");
        assert_eq!(bar(Some(0.5), interval, 1, false), "█");
    }

    #[test]
    fn text_from_outside_is_no_markup() {
        assert_eq!(
            escaped("<script>a && 'b' \"c\"</script>"),
            "&lt;script&gt;a &amp;&amp; &#39;b&#39; &quot;c&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{202e}b"), "a\\u{202e}b");
        let arguments = r#"login {"user": "me", "password": "hunter2-Zq7v"}"#;
        assert!(!escaped(arguments).contains("hunter2"));
        assert!(escaped(arguments).contains("[redacted password]"));
    }

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
