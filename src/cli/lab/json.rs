//! The report for programs: one JSON object a line, a contract like that of `check`.
//!
//! `trial` before the samples of the trial, then `sample` for each, `standing` for each wording, `remark` for each sentence; `assertion` and
//! `experiment` come last. Numbers of trials, samples, sessions and items count from 1; rates and differences are shares, from 0 to 1
//! and from -1 to 1; what is absent is null.

use super::results::{Results, Standing, TrialResults, end_words};
use crate::cli::report::write_line;
use crate::lab::{CLASSES, Meant};
use crate::session::takes::TakeId;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

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
        /// `tool`, `any-tool` or `message`.
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
        number: usize,
        class: &'static str,
        why: &'a str,
        input_tokens: u64,
        output_tokens: u64,
        ms: u64,
        take: Option<TakeId>,
    },
    Standing {
        trial: usize,
        wording: &'a str,
        origin: &'static str,
        words: &'a str,
        /// By the word of the class, each of them.
        counts: Map<String, Value>,
        answered: u32,
        corrected: u32,
        rate: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
        difference: Option<DifferenceLine>,
        input_tokens: Option<f64>,
        output_tokens: Option<f64>,
        ms: Option<f64>,
    },
    Remark {
        trial: usize,
        message: &'a str,
    },
    Assertion {
        message: &'a str,
        verdict: &'static str,
    },
    Experiment {
        name: &'a str,
        end: Option<&'static str>,
        samples: usize,
        asked: usize,
        requests: u32,
        input_tokens: u64,
        output_tokens: u64,
        seed: u64,
    },
}

/// How much better a wording is than the baseline.
#[derive(Serialize)]
struct DifferenceLine {
    value: f64,
    low: f64,
    high: f64,
}

/// Writes the report.
pub(super) fn json(out: &mut dyn Write, results: &Results<'_>) -> io::Result<()> {
    for trial in &results.trials {
        write_line(out, &trial_line(trial))?;
        for standing in &trial.standings {
            samples(out, trial, standing)?;
        }
        for standing in &trial.standings {
            write_line(out, &standing_line(trial, standing))?;
        }
        for remark in &trial.remarks {
            let (trial, message) = (trial.number, remark);
            write_line(out, &Line::Remark { trial, message })?;
        }
    }
    for assertion in &results.assertions {
        let (message, verdict) = (&assertion.sentence, assertion.verdict.word());
        write_line(out, &Line::Assertion { message, verdict })?;
    }
    let (samples, asked) = results.samples();
    let spent = results.board.spent;
    let experiment = Line::Experiment {
        name: &results.experiment().name,
        end: results.end().map(|end| end_words(end).0),
        samples,
        asked,
        requests: spent.requests,
        input_tokens: spent.usage.input,
        output_tokens: spent.usage.output,
        seed: results.experiment().seed,
    };
    write_line(out, &experiment)
}

fn trial_line<'a>(of: &'a TrialResults<'a>) -> Line<'a> {
    let subject = &of.trial.subject;
    let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    let (meant, meant_tool) = match &subject.meant {
        Meant::Tool(tool) => ("tool", Some(tool.as_str())),
        Meant::AnyTool => ("any-tool", None),
        Meant::Message => ("message", None),
    };
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
        baseline: of.baseline().map_or("", |variant| &variant.name),
        journal: given(&of.journal),
    }
}

fn samples(out: &mut dyn Write, of: &TrialResults<'_>, standing: &Standing<'_>) -> io::Result<()> {
    for (number, sample) in standing.samples.iter().enumerate() {
        let line = Line::Sample {
            trial: of.number,
            wording: &standing.variant.name,
            number: number + 1,
            class: sample.class.word(),
            why: &sample.why,
            input_tokens: sample.usage.input,
            output_tokens: sample.usage.output,
            ms: sample.ms,
            take: sample.take,
        };
        write_line(out, &line)?;
    }
    Ok(())
}

fn standing_line<'a>(of: &TrialResults<'_>, standing: &'a Standing<'a>) -> Line<'a> {
    let interval = standing.interval();
    let counts = CLASSES.iter().zip(&standing.counts);
    let counts = counts.map(|((_, word, ..), count)| ((*word).to_owned(), (*count).into()));
    Line::Standing {
        trial: of.number,
        wording: &standing.variant.name,
        origin: standing.variant.origin.word(),
        words: &standing.variant.words,
        counts: counts.collect(),
        answered: standing.corrected.of(),
        corrected: standing.corrected.hits(),
        rate: standing.rate().map(rounded),
        low: interval.map(|interval| rounded(interval.low)),
        high: interval.map(|interval| rounded(interval.high)),
        difference: standing.difference.map(|difference| DifferenceLine {
            value: rounded(difference.value),
            low: rounded(difference.interval.low),
            high: rounded(difference.interval.high),
        }),
        input_tokens: standing.cost.map(|cost| rounded(cost.input)),
        output_tokens: standing.cost.map(|cost| rounded(cost.output)),
        ms: standing.cost.map(|cost| cost.ms),
    }
}

/// To six places: more would be noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
