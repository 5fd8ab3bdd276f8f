//! What the reports of an experiment tell: its board with the rates, differences and sentences that follow from it, so that every report
//! tells the same.

use crate::lab::{
    Board, CLASSES, Class, Difference, End, Experiment, Interval, Meant, Origin, Phase, Proportion,
    Sample, Subject, Trial, Variant,
};

/// An experiment as reports tell it.
pub(in crate::cli) struct Results<'a> {
    /// Where it stands.
    pub(super) board: &'a Board,
    /// Its trials, in order.
    pub(super) trials: Vec<TrialResults<'a>>,
    /// What became of the assertions of the spec; empty where nobody asked.
    pub(super) assertions: Vec<AssertionResult>,
}

/// One finding with one model.
pub(super) struct TrialResults<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// What is tried.
    pub(super) trial: &'a Trial,
    /// Its wordings, in order.
    pub(super) standings: Vec<Standing<'a>>,
    /// What the figures say in words; text from outside is in it.
    pub(super) remarks: Vec<String>,
    /// Why it is over, where it is.
    pub(super) end: Option<End>,
    /// Its journal; empty where there is none.
    pub(super) journal: String,
}

/// How a wording stands in a trial.
pub(super) struct Standing<'a> {
    /// The wording.
    pub(super) variant: &'a Variant,
    /// What was sampled, in order.
    pub(super) samples: &'a [Sample],
    /// Whether the others are compared with it.
    pub(super) is_baseline: bool,
    /// How many samples are of each class, in the order of [`CLASSES`].
    pub(super) counts: Vec<usize>,
    /// Corrected turns out of those that were answered.
    pub(super) corrected: Proportion,
    /// How much better it is than the baseline; `None` for the baseline, and where nothing was answered.
    pub(super) difference: Option<Difference>,
    /// What an answer cost; `None` without one.
    pub(super) cost: Option<Cost>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// Tokens that were sent, on average.
    pub(super) input: f64,
    /// Tokens that were answered, on average.
    pub(super) output: f64,
    /// Milliseconds until the reply was whole: the median.
    pub(super) ms: f64,
}

/// What became of an assertion.
pub(super) struct AssertionResult {
    /// What was asserted and what came out, in words; text from outside is in it.
    pub(super) sentence: String,
    /// Whether it holds.
    pub(super) verdict: Verdict,
}

/// Whether an assertion holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Undecided,
    Fails,
}

impl<'a> Results<'a> {
    /// What the board says.
    pub(in crate::cli) fn of(board: &'a Board) -> Self {
        let trials = board.experiment.trials.iter().enumerate();
        Self {
            board,
            trials: trials.map(|(at, _)| TrialResults::of(board, at)).collect(),
            assertions: Vec::new(),
        }
    }

    /// What is measured.
    pub(super) fn experiment(&self) -> &'a Experiment {
        &self.board.experiment
    }

    /// Why the experiment is over; `None` while it is not.
    pub(super) fn end(&self) -> Option<End> {
        match self.board.phase {
            Phase::Ended(end) | Phase::Ending(end) => Some(end),
            Phase::Running | Phase::Paused => None,
        }
    }

    /// Samples that are there, and samples that were asked for.
    pub(super) fn samples(&self) -> (usize, usize) {
        let standings = || self.trials.iter().flat_map(|trial| &trial.standings);
        let there = standings().map(|standing| standing.samples.len()).sum();
        let asked = self.experiment().samples as usize;
        (there, standings().count() * asked)
    }
}

impl<'a> TrialResults<'a> {
    fn of(board: &'a Board, at: usize) -> Self {
        let trial = &board.experiment.trials[at];
        let baseline = trial.baseline();
        let samples = |variant: usize| {
            let of_trial = board.samples.get(at);
            of_trial
                .and_then(|trial| trial.get(variant))
                .map_or(&[][..], Vec::as_slice)
        };
        let compared = corrected(samples(baseline));
        let variants = trial.variants.iter().enumerate();
        let standings = variants.map(|(number, variant)| {
            let (samples, is_baseline) = (samples(number), number == baseline);
            let corrected = corrected(samples);
            let difference = match is_baseline {
                true => None,
                false => corrected.minus(compared),
            };
            Standing {
                variant,
                samples,
                is_baseline,
                counts: counts(samples),
                corrected,
                difference,
                cost: Cost::of(samples),
            }
        });
        let journal = board.journals.get(at);
        Self {
            number: at + 1,
            trial,
            standings: standings.collect(),
            remarks: Vec::new(),
            end: board.ended.get(at).copied().flatten(),
            journal: journal.map_or_else(String::new, |path| path.display().to_string()),
        }
    }

    /// What the others are compared with.
    pub(super) fn baseline(&self) -> Option<&'a Variant> {
        self.trial.variants.get(self.trial.baseline())
    }
}

impl Standing<'_> {
    /// The rate of corrected turns; `None` where nothing was answered.
    pub(super) fn rate(&self) -> Option<f64> {
        self.corrected.rate()
    }

    /// Where the true rate lies, with 95 % confidence; `None` where nothing was answered.
    pub(super) fn interval(&self) -> Option<Interval> {
        self.rate().map(|_| self.corrected.interval())
    }

    /// The classes that occurred, with how often.
    pub(super) fn occurred(&self) -> impl Iterator<Item = (Class, usize)> {
        let counts = CLASSES.iter().zip(&self.counts);
        let counts = counts.map(|((class, ..), count)| (*class, *count));
        counts.filter(|(_, count)| *count > 0)
    }
}

impl Cost {
    fn of(samples: &[Sample]) -> Option<Self> {
        let answered: Vec<&Sample> = samples
            .iter()
            .filter(|one| one.class != Class::Failed)
            .collect();
        let count = answered.len() as f64;
        let mean = |tokens: fn(&Sample) -> u64| {
            answered
                .iter()
                .map(|sample| tokens(sample) as f64)
                .sum::<f64>()
                / count
        };
        let mut times: Vec<u64> = answered.iter().map(|sample| sample.ms).collect();
        times.sort_unstable();
        let upper = *times.get(times.len() / 2)?;
        let lower = *times.get((times.len() - 1) / 2)?;
        Some(Self {
            input: mean(|sample| sample.usage.input),
            output: mean(|sample| sample.usage.output),
            ms: (lower as f64 + upper as f64) / 2.0,
        })
    }
}

impl Verdict {
    /// The word for it in reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Undecided => "undecided",
            Self::Fails => "fails",
        }
    }
}

fn corrected(samples: &[Sample]) -> Proportion {
    let of = |wanted: &dyn Fn(Class) -> bool| {
        let wanted = samples.iter().filter(|sample| wanted(sample.class));
        u32::try_from(wanted.count()).unwrap_or(u32::MAX)
    };
    let answered = of(&|class| class != Class::Failed);
    Proportion::new(of(&|class| class == Class::Corrected), answered)
}

fn counts(samples: &[Sample]) -> Vec<usize> {
    let of = |class: Class| {
        samples
            .iter()
            .filter(|sample| sample.class == class)
            .count()
    };
    CLASSES.iter().map(|(class, ..)| of(*class)).collect()
}

/// Where the finding is: "item 5 of run.json", with the session where it is not the first.
pub(super) fn place(subject: &Subject) -> String {
    let (item, path) = (subject.item + 1, &subject.path);
    match subject.session {
        0 => format!("item {item} of {path}"),
        session => format!("item {item} of session {} of {path}", session + 1),
    }
}

/// What a corrected turn is.
pub(super) fn corrected_is(meant: &Meant) -> String {
    match meant {
        Meant::Tool(tool) => format!("a sound turn that calls {tool}"),
        Meant::AnyTool => "a sound turn that calls any tool on offer".to_owned(),
        Meant::Message => "a sound final message".to_owned(),
    }
}

/// Why something is over: its word in reports for programs, and in words for people.
pub(super) fn end_words(end: End) -> (&'static str, &'static str) {
    match end {
        End::Complete => ("complete", "every wording was tried as often as asked for"),
        End::Clear { .. } => ("clear", "one wording is clearly the best"),
        End::Requests => ("requests", "the cap on requests is reached"),
        End::Tokens => ("tokens", "the cap on tokens is reached"),
        End::Stopped => ("stopped", "it was ended before it was complete"),
        End::ModelFailed => ("model-failed", "the model could not be asked"),
    }
}

/// The label of what others are compared with: "recorded", or the name of the first wording.
pub(super) fn baseline_name(variant: Option<&Variant>) -> &str {
    match variant {
        Some(variant) if variant.origin == Origin::Recorded => Origin::Recorded.word(),
        Some(variant) => &variant.name,
        None => "",
    }
}
