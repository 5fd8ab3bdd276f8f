//! Where an experiment stands: every sample so far. Screen and reports are drawn from it.

use super::{Class, Experiment, Sample, Tokens};
use crate::session::ledger::Usage;
use std::path::PathBuf;
use std::sync::Arc;

/// An experiment with what came of it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub experiment: Arc<Experiment>,
    /// The journal of each trial, which opens like any recording.
    pub journals: Vec<PathBuf>,
    /// By trial and variant, in the order in which they were asked for.
    pub samples: Vec<Vec<Vec<Sample>>>,
    /// Questions on their way by their numbers ([`Sample::number`]), by trial and variant.
    pub asked: Vec<Vec<Vec<u32>>>,
    pub spent: Spent,
    /// Which trials are over, and why.
    pub ended: Vec<Option<End>>,
    pub phase: Phase,
}

/// What was spent, failed questions with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Requests: a question that failed at first may have taken several.
    pub requests: u32,
    /// Tokens, as providers counted them.
    pub usage: Usage,
    /// Tokens by estimate, where a provider told none.
    pub estimated: Usage,
}

impl Spent {
    /// Counts the tokens of a question.
    pub fn add(&mut self, tokens: Tokens) {
        match tokens {
            Tokens::Told(usage) => self.usage.add(&usage),
            Tokens::Estimated(usage) => self.estimated.add(&usage),
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
pub enum Phase {
    Running,
    /// Nobody is asked until the operator goes on.
    Paused,
    /// No more samples are taken; what is on its way is waited for.
    Ending(End),
    Ended(End),
}

/// Why a trial, or the experiment, is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every wording was tried as often as was asked for.
    Complete,
    /// One wording is clearly the best.
    Clear { leader: usize },
    /// The cap on questions is reached.
    Requests,
    /// The cap on tokens is reached.
    Tokens,
    /// The operator ended it, or a signal.
    Stopped,
    /// The model could not be asked several times in a row.
    ModelFailed,
}

impl Board {
    /// An experiment of which nothing is known yet.
    pub fn new(experiment: Arc<Experiment>, journals: Vec<PathBuf>) -> Self {
        let trials = experiment.trials.iter();
        let by_variant = trials.map(|trial| trial.variants.len());
        let by_variant: Vec<usize> = by_variant.collect();
        Self {
            samples: by_variant.iter().map(|n| vec![Vec::new(); *n]).collect(),
            asked: by_variant.iter().map(|n| vec![Vec::new(); *n]).collect(),
            ended: vec![None; by_variant.len()],
            spent: Spent::default(),
            phase: Phase::Running,
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

    /// The answers to a variant that a sequential test may hear: those up to the first question without one.
    /// What is quickly answered would come first otherwise, and speed may have to do with what the answer says.
    pub fn in_order(&self, trial: usize, variant: usize) -> impl Iterator<Item = &Sample> {
        let of_trial = self.samples.get(trial).and_then(|trial| trial.get(variant));
        let numbered = of_trial.into_iter().flatten().zip(0..);
        let in_a_row = numbered.take_while(|(sample, number)| sample.number == *number);
        let samples = in_a_row.map(|(sample, _)| sample);
        samples.filter(|sample| sample.class != Class::Failed)
    }

    /// The samples of a variant that count for its rate: those with a reply.
    pub fn answered(&self, trial: usize, variant: usize) -> impl Iterator<Item = &Sample> {
        let of_trial = self.samples.get(trial).and_then(|trial| trial.get(variant));
        let samples = of_trial.into_iter().flatten();
        samples.filter(|sample| sample.class != Class::Failed)
    }
}
