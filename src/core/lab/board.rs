//! The state of an experiment: every sample so far. Screen and reports are drawn from it.

use super::experiment::Experiment;
use crate::session::ledger::Usage;
use crate::session::takes::TakeId;
use std::path::PathBuf;
use std::sync::Arc;

/// An experiment with what came of it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub experiment: Arc<Experiment>,
    /// The journal of each trial, which opens like any recording.
    pub journals: Vec<PathBuf>,
    /// By trial and variant, in the order of the requests.
    pub samples: Vec<Vec<Vec<LabSample>>>,
    /// Questions on their way by their numbers ([`LabSample::number`]), by trial and variant.
    pub in_flight: Vec<Vec<Vec<u32>>>,
    pub spent: Spending,
    /// Which trials are over, and why.
    pub ended: Vec<Option<TrialEnd>>,
    pub phase: LabPhase,
}

/// What was spent, failed questions with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Requests: a question that failed at first may have taken several.
    pub requests: u32,
    /// Tokens, as providers counted them.
    pub usage: Usage,
    /// Tokens by estimate, where a provider reported none.
    pub estimated: Usage,
}

impl Spending {
    /// Counts the tokens of a question.
    pub fn add(&mut self, tokens: TokenCount) {
        match tokens {
            TokenCount::Counted(usage) => self.usage.add(&usage),
            TokenCount::Estimated(usage) => self.estimated.add(&usage),
        }
    }

    /// All tokens, sent and answered, counted and estimated.
    pub fn tokens(&self) -> u64 {
        let mut all = self.usage;
        all.add(&self.estimated);
        all.input.saturating_add(all.output)
    }

    /// Tokens by estimate among them, sent and answered.
    pub fn estimated_tokens(&self) -> u64 {
        self.estimated.input.saturating_add(self.estimated.output)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabPhase {
    Running,
    /// No request is sent until the operator goes on.
    Paused,
    /// No more samples are taken; what is on its way is waited for.
    Ending(TrialEnd),
    Ended(TrialEnd),
}

/// Why a trial, or the experiment, is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum TrialEnd {
    /// Every wording was tried as often as was ordered.
    Complete,
    /// One wording is clearly the best.
    Clear { leader: usize },
    /// The cap on questions is reached.
    Requests,
    /// The cap on tokens is reached.
    Tokens,
    /// The operator ended it, or a signal.
    Stopped,
    /// The model could not be reached several times in a row.
    ModelFailed,
}

impl TrialEnd {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Board {
    /// An experiment of which nothing is known yet.
    pub fn new(experiment: Arc<Experiment>, journals: Vec<PathBuf>) -> Self {
        let trials = experiment.trials.iter();
        let by_variant = trials.map(|trial| trial.variants.len());
        let by_variant: Vec<usize> = by_variant.collect();
        Self {
            samples: by_variant.iter().map(|n| vec![Vec::new(); *n]).collect(),
            in_flight: by_variant.iter().map(|n| vec![Vec::new(); *n]).collect(),
            ended: vec![None; by_variant.len()],
            spent: Spending::default(),
            phase: LabPhase::Running,
            experiment,
            journals,
        }
    }

    /// How many samples a trial has, and how many of them are from an earlier run.
    pub fn samples_of(&self, trial: usize) -> (usize, usize) {
        let samples = self.samples.get(trial).into_iter().flatten().flatten();
        let earlier = samples.clone().filter(|sample| sample.is_earlier);
        (samples.clone().count(), earlier.count())
    }

    /// What was sampled of a variant, in order.
    pub fn samples(&self, trial: usize, variant: usize) -> &[LabSample] {
        let of_trial = self.samples.get(trial).and_then(|trial| trial.get(variant));
        of_trial.map_or(&[], Vec::as_slice)
    }

    /// The answers to a variant that a sequential test may hear: those up to the first question without one.
    /// What is quickly answered would come first otherwise, and speed may have to do with what the answer says.
    pub fn in_order(&self, trial: usize, variant: usize) -> impl Iterator<Item = &LabSample> {
        let numbered = self.samples(trial, variant).iter().zip(0..);
        let in_a_row = numbered.take_while(|(sample, number)| sample.number == *number);
        let samples = in_a_row.map(|(sample, _)| sample);
        samples.filter(|sample| sample.class != Class::Failed)
    }

    /// The samples of a variant that count for its rate: those with a reply.
    pub fn answered(&self, trial: usize, variant: usize) -> impl Iterator<Item = &LabSample> {
        let samples = self.samples(trial, variant).iter();
        samples.filter(|sample| sample.class != Class::Failed)
    }
}

// What became of one question.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It did what was meant, and the rules find nothing in the turn.
    Corrected,
    /// The same rule finds the same fault with the same tool.
    SameMistake,
    /// The rules find something else, or a sound call went to a tool that was not meant.
    OtherMistake,
    /// It called nothing, and its text is not what was meant.
    GaveUp,
    /// It called nothing and asked the user.
    AskedUser,
    /// It made a call that it had made in vain at least twice before.
    Looped,
    /// There is no reply: the request failed. It counts for no rate.
    Failed,
}

/// Every class with its word in reports, its mark on the screen (one column, and in ASCII), and what it means;
/// in the order of tables.
#[rustfmt::skip]
pub const CLASSES: &[(Class, &str, [char; 2], &str)] = &[
    (Class::Corrected, "corrected", ['✓', '+'], "a sound turn that does what was meant"),
    (Class::SameMistake, "same-mistake", ['=', '='], "the same fault with the same tool"),
    (Class::OtherMistake, "other-mistake", ['≠', '#'], "another fault, or a sound call of another tool than was meant"),
    (Class::GaveUp, "gave-up", ['…', '.'], "words in place of what was meant"),
    (Class::AskedUser, "asked-user", ['?', '?'], "a question to the user"),
    (Class::Looped, "looped", ['↻', '@'], "a call that was made in vain twice before"),
    (Class::Failed, "failed", ['✗', 'x'], "no reply; counts for no rate"),
];

impl Class {
    /// The word for it in reports and journals.
    pub fn word(self) -> &'static str {
        CLASSES[self as usize].1
    }

    pub fn mark(self, is_ascii: bool) -> char {
        CLASSES[self as usize].2[usize::from(is_ascii)]
    }

    pub fn meaning(self) -> &'static str {
        CLASSES[self as usize].3
    }

    /// The class of this word.
    pub fn named(word: &str) -> Option<Self> {
        let found = CLASSES.iter().find(|(_, known, ..)| *known == word);
        found.map(|(class, ..)| *class)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCount {
    /// As the provider counted them.
    Counted(Usage),
    /// The provider reported none: as they are guessed from the bytes of request and reply.
    Estimated(Usage),
}

/// Bytes of JSON that are taken for a token where nobody counts.
const BYTES_OF_A_TOKEN: usize = 4;

impl TokenCount {
    /// What the provider reported; a provider that counts nothing at all has reported nothing. Else what so many
    /// bytes may come to.
    pub fn of(counted: Usage, sent: usize, answered: usize) -> Self {
        if counted != Usage::default() {
            return Self::Counted(counted);
        }
        let [input, output] = [sent, answered].map(|bytes| bytes.div_ceil(BYTES_OF_A_TOKEN) as u64);
        Self::Estimated(Usage { input, output })
    }

    /// Of a question that nothing is known to have been spent on.
    pub fn none() -> Self {
        Self::Estimated(Usage::default())
    }

    /// What the provider counted.
    pub fn counted(self) -> Option<Usage> {
        match self {
            Self::Counted(usage) => Some(usage),
            Self::Estimated(_) => None,
        }
    }
}

/// One question, answered or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabSample {
    pub class: Class,
    /// Why it is of that class, in a few words; it holds text from outside.
    pub why: String,
    /// Which of the questions with its wording it answers, from 0, in the order in which they were sent.
    pub number: u32,
    pub tokens: TokenCount,
    /// Milliseconds until the reply was whole.
    pub ms: u64,
    /// The take with the reply, in the journal of the trial; none where the request failed.
    pub take: Option<TakeId>,
    /// Whether it is of an earlier run of the same experiment.
    pub is_earlier: bool,
}
