//! What an experiment would do: findings, wordings as the model would read them, and how
//! many questions that is.

use super::results::{Results, TrialResults};
use super::text::{Lines, Looks};
use retake_core::lab::{Stop, words};

/// The plan of an experiment in which nobody was asked yet.
pub(super) fn plan(results: &Results<'_>, looks: Looks) -> String {
    let experiment = results.experiment();
    let mut out = Lines::new(looks);
    out.title(&experiment.name);
    out.wrapped("", &questions(results));
    if let Some(tokens) = experiment.caps.tokens {
        let tokens = words::thousands(tokens);
        out.wrapped("", &format!("it ends when {tokens} tokens are spent"));
    }
    if let Stop::Clear { error_rate } = experiment.stop {
        let chance = words::chance(error_rate);
        out.wrapped(
            "",
            &format!("a trial ends before that when one wording is clearly the best; chance of a false leader \
                at most {chance}"),
        );
    }
    for trial in &results.trials {
        out.heading(trial);
        wordings(&mut out, trial);
    }
    out.left_out(results);
    out.text
}

/// How many questions it would be.
fn questions(results: &Results<'_>) -> String {
    let (_, asked) = results.samples();
    let experiment = results.experiment();
    let most = experiment
        .caps
        .requests
        .map_or(asked, |most| asked.min(most as usize));
    let samples = experiment.samples;
    let rows = results.trials.iter().map(|trial| trial.standings.len());
    let wordings = rows.sum::<usize>();
    let most = words::thousands(most as u64);
    let trials = match results.trials.len() {
        1 => "1 trial".to_owned(),
        trials => format!("{trials} trials"),
    };
    let capped = match experiment.caps.requests {
        Some(cap) if (cap as usize) < asked => ", which is the cap",
        _ => "",
    };
    format!(
        "{trials}, {wordings} wordings in all, {samples} samples of each: {most} requests at most{capped}"
    )
}

fn wordings(out: &mut Lines, trial: &TrialResults<'_>) {
    for standing in &trial.standings {
        let variant = standing.variant;
        let origin = variant.origin.word();
        let axes = variant
            .axes
            .map_or_else(String::new, |axes| format!("; {axes}"));
        out.wrapped("   ", &format!("{} ({origin}{axes})", variant.name));
        for line in variant.words.lines() {
            out.dim_wrapped("     ", line);
        }
    }
}
