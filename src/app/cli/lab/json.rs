//! The report for programs: one JSON object a line, a contract like that of `check`.
//!
//! `trial` before the samples of the trial, then `sample` for each, `standing` for each wording, `remark` for
//! each sentence; `overall` for each wording over several trials, `left-out` for each finding that cannot be
//! tried with a model, `assertion`, and `experiment` come last. Numbers of trials, samples, sessions and items
//! count from 1; rates and differences are shares, from 0 to 1 and from -1 to 1; tokens and milliseconds of a
//! wording are medians; what is absent is null.

use super::results::{Results, Row, Standing, Together, TrialResults, end_word};
use crate::cli::report::write_line;
use retake_core::lab::{CLASSES, Claim, Judged, LeftOut};
use retake_core::session::ledger::Usage;
use retake_core::session::takes::TakeId;
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
        trials: &'a [usize],
        /// Those of them that tried the wording.
        tried: &'a [usize],
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
        /// As providers told them; null where none told any.
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        /// Those of replies whose provider told none, sent and answered, by estimate.
        estimated_tokens: u64,
        seed: u64,
    },
}

/// What was measured of a wording.
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
    difference: Option<DifferenceLine>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    ms: Option<u64>,
}

#[derive(Serialize)]
struct DifferenceLine {
    value: f64,
    low: f64,
    high: f64,
}

pub(super) fn json(out: &mut dyn Write, results: &Results<'_>) -> io::Result<()> {
    for trial in &results.trials {
        write_line(out, &trial_line(trial))?;
        for standing in &trial.standings {
            samples(out, trial, standing)?;
        }
        for standing in &trial.standings {
            let line = Line::Standing {
                trial: trial.number,
                wording: &standing.row.name,
                origin: standing.row.origin.word(),
                words: &standing.variant.words,
                figures: Figures::of(&standing.row),
            };
            write_line(out, &line)?;
        }
        for remark in &trial.remarks {
            let (trial, message) = (trial.number, remark);
            write_line(out, &Line::Remark { trial, message })?;
        }
    }
    for together in &results.together {
        overall(out, together)?;
    }
    for left_out in &results.experiment().left_out {
        write_line(out, &left_out_line(left_out))?;
    }
    for judged in &results.assertions {
        write_line(out, &assertion_line(results, judged))?;
    }
    let (samples, asked) = results.samples();
    let spent = results.board.spent;
    let told = Some(spent.usage).filter(|usage| *usage != Usage::default());
    let experiment = Line::Experiment {
        name: &results.experiment().name,
        end: results.end().map(|end| end_word(end)),
        samples,
        earlier: results.earlier().1,
        asked,
        requests: spent.requests,
        input_tokens: told.map(|told| told.input),
        output_tokens: told.map(|told| told.output),
        estimated_tokens: spent.estimated_tokens(),
        seed: results.experiment().seed,
    };
    write_line(out, &experiment)
}

fn assertion_line<'a>(results: &Results<'a>, judged: &'a Judged) -> Line<'a> {
    let trial = results.experiment().trials.get(judged.trial);
    let name = |variant: usize| {
        let variant = trial.and_then(|trial| trial.variants.get(variant));
        variant.map_or("", |variant| &variant.name)
    };
    let (at_least, better_than) = match judged.claim {
        Claim::AtLeast(rate) => (Some(rate), None),
        Claim::BetterThan { variant, .. } => (None, Some(name(variant))),
    };
    Line::Assertion {
        assertion: judged.assertion + 1,
        trial: judged.trial + 1,
        wording: name(judged.variant),
        at_least,
        better_than,
        verdict: judged.verdict.word(),
        message: &judged.sentence,
    }
}

fn left_out_line(of: &LeftOut) -> Line<'_> {
    Line::LeftOut {
        path: &of.subject.path,
        session: of.subject.session + 1,
        item: of.subject.item + 1,
        rule: &of.subject.rule,
        model: &of.model,
        message: &of.why,
    }
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
        baseline: of
            .rows()
            .find(|row| row.is_baseline)
            .map_or("", |row| &row.name),
        journal: given(&of.journal),
    }
}

fn samples(out: &mut dyn Write, of: &TrialResults<'_>, standing: &Standing<'_>) -> io::Result<()> {
    for sample in standing.samples {
        let told = sample.tokens.told();
        let line = Line::Sample {
            trial: of.number,
            wording: &standing.variant.name,
            number: u64::from(sample.number) + 1,
            class: sample.class.word(),
            why: &sample.why,
            input_tokens: told.map(|told| told.input),
            output_tokens: told.map(|told| told.output),
            ms: sample.ms,
            take: sample.take,
            earlier: sample.is_earlier,
        };
        write_line(out, &line)?;
    }
    Ok(())
}

fn overall(out: &mut dyn Write, together: &Together) -> io::Result<()> {
    for (row, tried) in together.rows_with_trials() {
        let line = Line::Overall {
            kind: together.kind.name(),
            model: &together.model,
            trials: &together.trials,
            tried,
            wording: &row.name,
            origin: row.origin.word(),
            figures: Figures::of(row),
        };
        write_line(out, &line)?;
    }
    Ok(())
}

impl Figures {
    fn of(row: &Row) -> Self {
        let (measured, interval) = (&row.measured, row.interval());
        let counts = CLASSES.iter().zip(measured.counts);
        let counts = counts.map(|((_, word, ..), count)| ((*word).to_owned(), count.into()));
        Self {
            counts: counts.collect(),
            answered: measured.answered(),
            corrected: measured.corrected.hits(),
            rate: measured.rate().map(rounded),
            low: interval.map(|interval| rounded(interval.low)),
            high: interval.map(|interval| rounded(interval.high)),
            difference: row.difference.map(|difference| DifferenceLine {
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
