//! Whether what had to come out did: the assertions of a spec, judged by what was counted.
//!
//! A rate has been reached where the whole interval of the true rate reaches it, and has been missed where none
//! of it does; a wording is better than another where the interval of the difference lies above nothing. In
//! between it is undecided, which more samples may change.

use super::board::{Board, Class};
use super::interval::{Difference, Interval, Proportion};
use super::spec::Assertion;
use crate::suggest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    Holds,
    Undecided,
    Fails,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// A rate of corrected turns, from 0 to 1.
    AtLeast(f64),
    /// More corrected turns than with another wording.
    BetterThan {
        /// The other wording's variant.
        variant: usize,
        /// How often it was corrected.
        corrected: Proportion,
        /// How much higher the rate is; `None` where one of the two has no answer.
        difference: Option<Difference>,
    },
}

/// A claim of an assertion about a trial, with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedClaim {
    pub assertion: usize,
    pub trial: usize,
    pub variant: usize,
    pub claim: Claim,
    pub verdict: Verdict,
    pub corrected: Proportion,
    /// Where the true rate lies.
    pub interval: Interval,
    /// The verdict with its numbers, in one line; it holds names from outside.
    pub sentence: String,
}

/// Why an assertion cannot be judged. It quotes the spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssertionFault {
    #[error("no wording `{name}` is tried{hint}")]
    NoWording {
        name: String,
        /// What there is, or was meant.
        hint: String,
    },
    #[error("the spec asks no model `{name}`{hint}")]
    NoModel {
        name: String,
        /// What there is, or was meant.
        hint: String,
    },
    #[error("`{one}` and `{other}` are tried on no finding together")]
    NeverTogether { one: String, other: String },
}

/// Judges assertions by what was counted so far: each claim of each, for every trial that it is about. A trial
/// that does not try the wording, because it is not for that kind of failure, is left out.
pub fn judge(board: &Board, assertions: &[Assertion]) -> Result<Vec<JudgedClaim>, AssertionFault> {
    let mut judged = Vec::new();
    for (number, assertion) in assertions.iter().enumerate() {
        judge_one(board, number, assertion, &mut judged)?;
    }
    Ok(judged)
}

/// What comes of several claims together: the worst of them; of none, that it holds.
pub fn together(judged: &[JudgedClaim]) -> Verdict {
    let verdicts = judged.iter().map(|judged| judged.verdict);
    verdicts.max().unwrap_or(Verdict::Holds)
}

fn judge_one(
    board: &Board,
    number: usize,
    assertion: &Assertion,
    judged: &mut Vec<JudgedClaim>,
) -> Result<(), AssertionFault> {
    let trials = trials_of(board, assertion)?;
    let places = places_of(board, &trials, &assertion.wording)?;
    for &(trial, variant) in &places {
        if let Some(rate) = assertion.at_least {
            judged.push(at_least(board, number, (trial, variant), rate));
        }
    }
    let Some(other) = &assertion.better_than else {
        return Ok(());
    };
    let others = places_of(board, &trials, other)?;
    let before = judged.len();
    for &(trial, variant) in &places {
        let beside = others.iter().find(|(known, _)| *known == trial);
        let compared =
            beside.map(|(_, other)| better_than(board, number, (trial, variant), *other));
        judged.extend(compared);
    }
    if judged.len() == before {
        let (one, other) = (assertion.wording.clone(), other.clone());
        return Err(AssertionFault::NeverTogether { one, other });
    }
    Ok(())
}

/// The trials that an assertion is about.
fn trials_of(board: &Board, assertion: &Assertion) -> Result<Vec<usize>, AssertionFault> {
    let trials = &board.experiment.trials;
    let Some(model) = &assertion.model else {
        return Ok((0..trials.len()).collect());
    };
    let of_model = trials
        .iter()
        .enumerate()
        .filter(|(_, trial)| trial.model == *model);
    let of_model: Vec<usize> = of_model.map(|(index, _)| index).collect();
    if of_model.is_empty() {
        let known = trials.iter().map(|trial| trial.model.as_str()).collect();
        let (name, hint) = (model.clone(), hint(model, known));
        return Err(AssertionFault::NoModel { name, hint });
    }
    Ok(of_model)
}

/// Where a wording is tried: trials with its variant in each.
fn places_of(
    board: &Board,
    trials: &[usize],
    name: &str,
) -> Result<Vec<(usize, usize)>, AssertionFault> {
    let variants = |trial: usize| &board.experiment.trials[trial].variants;
    let place = |&trial: &usize| {
        let mut variants = variants(trial).iter();
        Some((trial, variants.position(|variant| variant.name == name)?))
    };
    let places: Vec<(usize, usize)> = trials.iter().filter_map(place).collect();
    if places.is_empty() {
        let known = trials.iter().flat_map(|trial| variants(*trial));
        let known = known.map(|variant| variant.name.as_str()).collect();
        let (name, hint) = (name.to_owned(), hint(name, known));
        return Err(AssertionFault::NoWording { name, hint });
    }
    Ok(places)
}

/// The nearest name, or all.
fn hint(name: &str, mut known: Vec<&str>) -> String {
    known.sort_unstable();
    known.dedup();
    match suggest::nearest(name, &known).first() {
        Some(nearest) => format!("; did you mean `{}`?", nearest.name),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// How often a wording was corrected, out of its answers.
pub(super) fn corrected(board: &Board, trial: usize, variant: usize) -> Proportion {
    let (mut corrected, mut answers) = (0_u32, 0_u32);
    for sample in board.answered(trial, variant) {
        answers = answers.saturating_add(1);
        corrected += u32::from(sample.class == Class::Corrected);
    }
    Proportion::new(corrected, answers)
}

fn at_least(board: &Board, assertion: usize, place: (usize, usize), rate: f64) -> JudgedClaim {
    let (trial, variant) = place;
    let corrected = corrected(board, trial, variant);
    let interval = corrected.interval();
    let verdict = if corrected.of() == 0 {
        Verdict::Undecided
    } else if interval.low >= rate {
        Verdict::Holds
    } else if interval.high < rate {
        Verdict::Fails
    } else {
        Verdict::Undecided
    };
    let name = &board.experiment.trials[trial].variants[variant].name;
    let measured = match corrected.rate() {
        Some(counted) if verdict == Verdict::Undecided && counted >= rate => {
            ", which the rate meets, but the interval begins below it"
        }
        Some(_) if verdict == Verdict::Undecided => {
            ", which the rate misses, but the interval ends above it"
        }
        _ => "",
    };
    JudgedClaim {
        assertion,
        trial,
        variant,
        claim: Claim::AtLeast(rate),
        verdict,
        corrected,
        interval,
        sentence: format!(
            "{name} corrects {}; at least {} is required{measured}",
            counted(corrected),
            percent(rate)
        ),
    }
}

fn better_than(
    board: &Board,
    assertion: usize,
    place: (usize, usize),
    other: usize,
) -> JudgedClaim {
    let (trial, variant) = place;
    let own = corrected(board, trial, variant);
    let theirs = corrected(board, trial, other);
    let difference = own.minus(theirs);
    let verdict = match &difference {
        Some(difference) if difference.interval.low > 0.0 => Verdict::Holds,
        Some(difference) if difference.interval.high < 0.0 => Verdict::Fails,
        _ => Verdict::Undecided,
    };
    let name = |variant: usize| &board.experiment.trials[trial].variants[variant].name;
    let comparison = difference.as_ref().map_or(String::new(), |difference| {
        let Interval { low, high } = difference.interval;
        let points = |rate: f64| format!("{:+.1}", rate * 100.0);
        let value = points(difference.value);
        format!(
            "; {value} points (95 %: {} to {})",
            points(low),
            points(high)
        )
    });
    JudgedClaim {
        assertion,
        trial,
        variant,
        verdict,
        corrected: own,
        interval: own.interval(),
        sentence: format!(
            "{} corrects {}, {} corrects {}{comparison}",
            name(variant),
            counted(own),
            name(other),
            counted(theirs)
        ),
        claim: Claim::BetterThan {
            variant: other,
            corrected: theirs,
            difference,
        },
    }
}

/// A count with its rate and interval.
fn counted(corrected: Proportion) -> String {
    let Some(rate) = corrected.rate() else {
        return "nothing yet".to_owned();
    };
    let Interval { low, high } = corrected.interval();
    format!(
        "{} of {}: {} (95 %: {} to {})",
        corrected.hits(),
        corrected.of(),
        percent(rate),
        percent(low),
        percent(high)
    )
}

fn percent(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
pub(super) mod tests;
