//! What tables show: how each wording of a trial stands, and how those of one name stand over several trials.

use super::{
    Board, CLASSES, Class, Difference, Interval, Origin, Proportion, Sample, Trial, Variant,
};
use crate::wording::FailureKind;

/// What was measured of a wording.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Corrected turns of all answers: the rate, and its interval.
    pub corrected: Proportion,
    /// Questions without a reply, which count for no rate.
    pub failed: u32,
    /// How many samples are of each class, in the order of [`CLASSES`].
    pub counts: [u32; CLASSES.len()],
    /// Tokens sent: the median of the answers whose provider told them. `None` without any, as
    /// for all that follow.
    pub input: Option<u64>,
    /// Tokens answered: the median.
    pub output: Option<u64>,
    /// Milliseconds until a reply was whole: the median.
    pub ms: Option<u64>,
    /// The same for the slow ones: nine in ten took no longer.
    pub slow_ms: Option<u64>,
}

impl Measured {
    /// What these samples come to.
    pub fn of<'a>(samples: impl Iterator<Item = &'a Sample>) -> Self {
        let mut counts = [0; CLASSES.len()];
        let mut answered = Vec::new();
        for sample in samples {
            for (count, (class, ..)) in counts.iter_mut().zip(CLASSES) {
                *count += u32::from(*class == sample.class);
            }
            if sample.class != Class::Failed {
                answered.push(sample);
            }
        }
        let sorted = |value: fn(&Sample) -> Option<u64>| {
            let mut values: Vec<u64> = { answered.iter() }
                .filter_map(|sample| value(sample))
                .collect();
            values.sort_unstable();
            values
        };
        let ms = sorted(|sample| Some(sample.ms));
        let of_class = |class| count_of(&counts, class);
        Self {
            corrected: Proportion::new(of_class(Class::Corrected), answered.len() as u32),
            failed: of_class(Class::Failed),
            input: median(&sorted(|sample| Some(sample.tokens.told()?.input))),
            output: median(&sorted(|sample| Some(sample.tokens.told()?.output))),
            ms: median(&ms),
            slow_ms: ninth_decile(&ms),
            counts,
        }
    }

    /// Questions with a reply.
    pub fn answered(&self) -> u32 {
        self.corrected.of()
    }

    /// Corrected turns of all answers, from 0 to 1; `None` without answers.
    pub fn rate(&self) -> Option<f64> {
        self.corrected.rate()
    }

    /// Where the true rate lies, with 95 % confidence.
    pub fn interval(&self) -> Interval {
        self.corrected.interval()
    }

    /// How many samples are of this class.
    pub fn count(&self, class: Class) -> u32 {
        count_of(&self.counts, class)
    }
}

fn count_of(counts: &[u32; CLASSES.len()], class: Class) -> u32 {
    let mut classes = counts.iter().zip(CLASSES);
    let found = classes.find(|(_, (of, ..))| *of == class);
    found.map_or(0, |(count, _)| *count)
}

/// The middle of sorted values; of an even number the mean of the two in the middle, rounded down.
fn median(sorted: &[u64]) -> Option<u64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(lower + (upper - lower) / 2)
}

/// The least of sorted values that nine in ten do not exceed.
fn ninth_decile(sorted: &[u64]) -> Option<u64> {
    let rank = (sorted.len() * 9).div_ceil(10);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// How a wording of a trial stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub variant: usize,
    pub measured: Measured,
    /// How much higher its rate is than that of the trial's baseline; `None` for the baseline itself, and
    /// until both have answers.
    pub difference: Option<Difference>,
}

/// How the wordings of a trial stand, in the order of its variants; empty where there is no such trial.
pub fn standings(board: &Board, trial: usize) -> Vec<Standing> {
    let Some(of_trial) = board.experiment.trials.get(trial) else {
        return Vec::new();
    };
    let variants = 0..of_trial.variants.len();
    let measured: Vec<Measured> = variants
        .map(|variant| Measured::of(samples(board, trial, variant)))
        .collect();
    let baseline = of_trial.baseline();
    let compared_with = measured.get(baseline).map(|measured| measured.corrected);
    let numbered = measured.into_iter().enumerate();
    numbered
        .map(|(variant, measured)| Standing {
            variant,
            difference: compared_with
                .filter(|_| variant != baseline)
                .and_then(|baseline| measured.corrected.minus(baseline)),
            measured,
        })
        .collect()
}

/// The wordings that share the highest rate, mostly one; none where no answer was corrected.
pub fn highest(standings: &[Standing]) -> Vec<&Standing> {
    let rate = |standing: &Standing| standing.measured.rate().filter(|rate| *rate > 0.0);
    let most = standings.iter().filter_map(rate).fold(0.0, f64::max);
    let standings = standings.iter();
    let best = standings.filter(|one| rate(one).is_some_and(|rate| rate >= most));
    best.collect()
}

fn samples(board: &Board, trial: usize, variant: usize) -> impl Iterator<Item = &Sample> {
    let of_trial = board
        .samples
        .get(trial)
        .and_then(|trial| trial.get(variant));
    of_trial.into_iter().flatten()
}

/// Several trials of one kind of failure, taken together.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// The kind: other kinds have other wordings, even where a name is the same.
    pub kind: FailureKind,
    /// The trials, at least two.
    pub trials: Vec<usize>,
    /// Each wording by its name, in the order in which the trials name them.
    pub wordings: Vec<Merged>,
    /// Which of them the others are compared with.
    pub baseline: usize,
}

/// How the wordings of one name stand over several trials. What recordings hold is one wording here, though
/// each has its own words.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub name: String,
    /// What tables call them.
    pub title: String,
    /// Where they come from.
    pub origin: Origin,
    /// The trials that tried them.
    pub trials: Vec<usize>,
    /// What was measured in these.
    pub measured: Measured,
    /// How much higher the rate is than that of the baseline, each trial counting with as many answers of the
    /// one as of the other, so that no wording profits from having been tried more often where the model does
    /// well; it may differ a little from the difference of the two rates. `None` for the baseline, and where no
    /// trial has answers of both.
    pub difference: Option<Difference>,
}

/// The trials of a model, or of all models, by the kinds of failure that have at least two of them: a single
/// one says it all itself.
pub fn overall(board: &Board, model: Option<&str>) -> Vec<Overall> {
    let of_kind = |kind: FailureKind| {
        let trials = board.experiment.trials.iter().enumerate();
        let fits = |trial: &Trial| {
            trial.subject.kind == kind && model.is_none_or(|model| trial.model == model)
        };
        let trials = trials.filter(|(_, trial)| fits(trial)).map(|(at, _)| at);
        trials.collect::<Vec<usize>>()
    };
    let kinds = FailureKind::all().map(|kind| (kind, of_kind(kind)));
    kinds
        .filter(|(_, trials)| trials.len() > 1)
        .map(|(kind, trials)| together(board, kind, trials))
        .collect()
}

/// A wording and the trials that have it: trial and variant.
struct Places<'a> {
    wording: &'a Variant,
    places: Vec<(usize, usize)>,
}

fn together(board: &Board, kind: FailureKind, trials: Vec<usize>) -> Overall {
    let by_name = by_name(board, &trials);
    let mut names = by_name.iter();
    let recorded = names.position(|places| places.wording.origin == Origin::Recorded);
    let baseline = recorded.unwrap_or(0);
    let compared_with = by_name.get(baseline);
    let merged = |(at, places): (usize, &Places<'_>)| {
        let compared_with = compared_with.filter(|_| at != baseline);
        let of_each = places.places.iter();
        let of_each = of_each.flat_map(|(trial, variant)| samples(board, *trial, *variant));
        Merged {
            name: places.wording.name.clone(),
            title: places.wording.title.clone(),
            origin: places.wording.origin,
            trials: places.places.iter().map(|(trial, _)| *trial).collect(),
            measured: Measured::of(of_each),
            difference: compared_with.and_then(|baseline| balanced(board, places, baseline)),
        }
    };
    Overall {
        kind,
        trials,
        wordings: by_name.iter().enumerate().map(merged).collect(),
        baseline,
    }
}

fn by_name<'a>(board: &'a Board, trials: &[usize]) -> Vec<Places<'a>> {
    let mut by_name: Vec<Places<'a>> = Vec::new();
    for at in trials {
        let variants = board
            .experiment
            .trials
            .get(*at)
            .map(|trial| &trial.variants);
        for (variant, wording) in variants.into_iter().flatten().enumerate() {
            let mut known = by_name.iter_mut();
            match known.find(|places| places.wording.name == wording.name) {
                Some(places) => places.places.push((*at, variant)),
                None => by_name.push(Places {
                    wording,
                    places: vec![(*at, variant)],
                }),
            }
        }
    }
    by_name
}

/// The difference of two wordings over the trials that have both, with the same number of answers of each in
/// each trial: the first ones.
fn balanced(board: &Board, mine: &Places<'_>, theirs: &Places<'_>) -> Option<Difference> {
    let (mut my_hits, mut their_hits, mut answers) = (0, 0, 0);
    for (trial, my_variant) in &mine.places {
        let mut places = theirs.places.iter();
        let Some((_, their_variant)) = places.find(|(other, _)| other == trial) else {
            continue;
        };
        let answered = |variant| board.answered(*trial, variant);
        let both = answered(*my_variant).zip(answered(*their_variant));
        for (mine, theirs) in both {
            my_hits += u32::from(mine.class == Class::Corrected);
            their_hits += u32::from(theirs.class == Class::Corrected);
            answers += 1;
        }
    }
    Proportion::new(my_hits, answers).minus(Proportion::new(their_hits, answers))
}

#[cfg(test)]
mod tests;
