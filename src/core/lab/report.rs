//! What tables show of a board: how each wording of a trial fares, and how those of one name fare over several
//! trials.

use super::board::{Board, CLASSES, Class, LabSample};
use super::experiment::{Origin, Trial, WordingVariant};
use super::interval::{Difference, Interval, Proportion};
use crate::wording::FailureKind;

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Corrected turns of all answers: the rate, and its interval.
    pub corrected: Proportion,
    /// Questions without a reply, which count for no rate.
    pub failed: u32,
    /// How many samples are of each class, in the order of [`CLASSES`].
    pub counts: [u32; CLASSES.len()],
    /// Tokens sent: the median of the answers whose provider reported them. `None` without any, as
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
    pub fn of<'a>(samples: impl Iterator<Item = &'a LabSample>) -> Self {
        let mut counts = [0; CLASSES.len()];
        let mut answered = Vec::new();
        for sample in samples {
            counts[sample.class as usize] += 1;
            if sample.class != Class::Failed {
                answered.push(sample);
            }
        }
        let sorted = |value: fn(&LabSample) -> Option<u64>| {
            let mut values: Vec<u64> = { answered.iter() }
                .filter_map(|sample| value(sample))
                .collect();
            values.sort_unstable();
            values
        };
        let ms = sorted(|sample| Some(sample.ms));
        Self {
            corrected: Proportion::new(counts[Class::Corrected as usize], answered.len() as u32),
            failed: counts[Class::Failed as usize],
            input: median(&sorted(|sample| Some(sample.tokens.counted()?.input))),
            output: median(&sorted(|sample| Some(sample.tokens.counted()?.output))),
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

    /// Where the true rate lies; `None` where nothing was answered.
    pub fn known_interval(&self) -> Option<Interval> {
        self.rate().map(|_| self.interval())
    }

    /// The classes that occurred, with how often.
    pub fn occurred(&self) -> impl Iterator<Item = (Class, u32)> {
        let counts = CLASSES.iter().zip(self.counts);
        let counts = counts.map(|((class, ..), count)| (*class, count));
        counts.filter(|(_, count)| *count > 0)
    }

    /// How many samples are of this class.
    pub fn count(&self, class: Class) -> u32 {
        self.counts[class as usize]
    }
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

/// A wording in a table: in one trial, or by its name in several. What recordings hold is one wording in several
/// trials, though each has its own words.
#[derive(Debug, Clone, PartialEq)]
pub struct WordingRow {
    pub name: String,
    pub title: String,
    pub origin: Origin,
    pub trials: Vec<usize>,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
    pub measured: Measured,
    /// How much higher its rate is than that of the baseline; `None` for the baseline itself, and until both have
    /// answers. Of several trials each counts with as many answers of the one as of the other, so that no wording
    /// profits from having been tried more often where the model does well; so it may differ a little from the
    /// difference of the two rates.
    pub difference: Option<Difference>,
}

impl WordingRow {
    /// Whether it is clearly better than the baseline, or clearly worse; `None` where the two are not distinguished.
    pub fn is_better(&self) -> Option<bool> {
        let difference = self.difference?;
        difference.tells_apart().then_some(difference.value > 0.0)
    }
}

/// How the wordings of a trial stand, in the order of its variants; empty where there is no such trial.
pub fn standings(board: &Board, trial: usize) -> Vec<WordingRow> {
    let Some(of_trial) = board.experiment.trials.get(trial) else {
        return Vec::new();
    };
    let measured = |variant| Measured::of(board.samples(trial, variant).iter());
    let baseline = of_trial.baseline();
    let compared_with = measured(baseline).corrected;
    let variants = of_trial.variants.iter().enumerate();
    let rows = variants.map(|(at, variant)| {
        let (measured, is_baseline) = (measured(at), at == baseline);
        let difference = measured.corrected.minus(compared_with);
        WordingRow {
            name: variant.name.clone(),
            title: variant.title.clone(),
            origin: variant.origin,
            trials: vec![trial],
            is_baseline,
            difference: difference.filter(|_| !is_baseline),
            measured,
        }
    });
    rows.collect()
}

/// The wordings that share the highest rate, mostly one; none where no answer was corrected.
pub fn highest(rows: &[WordingRow]) -> Vec<usize> {
    let rate = |row: &WordingRow| row.measured.rate().filter(|rate| *rate > 0.0);
    let most = rows.iter().filter_map(rate).fold(0.0, f64::max);
    let best = (0..rows.len()).filter(|at| rate(&rows[*at]).is_some_and(|rate| rate >= most));
    best.collect()
}

/// Several trials of one kind of failure, taken together.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// The kind: other kinds have other wordings, even where a name is the same.
    pub kind: FailureKind,
    /// The trials, at least two.
    pub trials: Vec<usize>,
    /// The model, where it is the trials of one.
    pub model: Option<String>,
    /// Each wording by its name, in the order in which the trials name them.
    pub rows: Vec<WordingRow>,
}

impl Overall {
    /// That some rates are over fewer trials than others, so that they say nothing about each other; text from
    /// outside is in it.
    pub fn remark(&self) -> Option<String> {
        let all = self.trials.len();
        let fewer = self.rows.iter().filter(|row| row.trials.len() < all);
        let fewer = fewer.map(|row| format!("{} in {}", row.name, row.trials.len()));
        let fewer = fewer.collect::<Vec<_>>().join(", ");
        (!fewer.is_empty()).then(|| {
            format!(
                "not every wording was tried in each of the {all} trials: {fewer}; their rates are no measure \
                against the others. A difference counts only the trials that have both"
            )
        })
    }

    /// What it is: "unknown-tool with flights: trials 1, 2 and 5 together". Text from outside is in it.
    pub fn title(&self) -> String {
        let numbers = self.trials.iter().map(|trial| (trial + 1).to_string());
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let model = self.model.as_deref().unwrap_or("all models");
        format!(
            "{} with {model}: trials {numbers} together",
            self.kind.name()
        )
    }
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
        .map(|(kind, trials)| together(board, kind, model, trials))
        .collect()
}

/// A wording and the trials that have it: trial and variant.
struct Places<'a> {
    wording: &'a WordingVariant,
    places: Vec<(usize, usize)>,
}

fn together(board: &Board, kind: FailureKind, model: Option<&str>, trials: Vec<usize>) -> Overall {
    let by_name = by_name(board, &trials);
    let mut names = by_name.iter();
    let recorded = names.position(|places| places.wording.origin == Origin::Recorded);
    let baseline = recorded.unwrap_or(0);
    let rows = by_name.iter().enumerate().map(|(at, places)| {
        let compared_with = by_name.get(baseline).filter(|_| at != baseline);
        let of_each = places.places.iter();
        let of_each = of_each.flat_map(|(trial, variant)| board.samples(*trial, *variant));
        WordingRow {
            name: places.wording.name.clone(),
            title: places.wording.title.clone(),
            origin: places.wording.origin,
            trials: places.places.iter().map(|(trial, _)| *trial).collect(),
            is_baseline: at == baseline,
            measured: Measured::of(of_each),
            difference: compared_with.and_then(|baseline| balanced(board, places, baseline)),
        }
    });
    Overall {
        kind,
        rows: rows.collect(),
        model: model.map(str::to_owned),
        trials,
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
