//! Which request comes next: the course of an experiment, without a clock or a socket.
//!
//! Every wording of every trial is tried once in each round, in an order that is drawn from the seed and the
//! number of the round; what lags, as after an interrupted experiment, is caught up first. A failed
//! request uses up its sample. A trial ends when each of its wordings was tried as often as was ordered, when
//! one is clearly the best, or when its model failed several times in a row; the experiment ends when all
//! trials are over, at a cap, or on command. Before it is over, all that is on its way is waited for,
//! unless the operator stopped it.

use super::board::{Board, Class, LabPhase, LabSample, TokenCount, TrialEnd};
use super::experiment::{Experiment, Stop};
use crate::dice::Dice;
use crate::session::index_number;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// How many requests of a trial fail in a row until it ends.
const FAILURES: u32 = 5;

/// Names the variant that is clearly the best of a trial, by its index, where there is one.
pub type Leader = fn(&Board, usize) -> Option<usize>;

/// What the operator wants of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabCommand {
    /// No request is sent until [`LabCommand::Resume`].
    Pause,
    Resume,
    /// This many samples more of each wording are taken. Trials that are over go on; one that had a clear
    /// leader is not tested again.
    More(u32),
    /// It ends; what is on its way is called off.
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabEffect {
    /// The history with this wording is sent.
    Ask(Question),
    /// All questions on their way are called off.
    CallOff,
    /// It is over. [`LabCommand::More`] may begin it anew.
    Ended(TrialEnd),
    /// The event did not belong, and changed nothing.
    OutOfPlace(OutOfPlace),
}

/// A question on its way: the history with a wording, which is sent to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    pub trial: usize,
    pub variant: usize,
    /// Which of the questions with this wording it is, from 0; no two have the same.
    pub number: u32,
    /// How often it was sent.
    pub attempts: u32,
}

/// Why an event does not belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutOfPlace {
    /// A sample came that is not on its way.
    #[error("nobody asked for this sample of trial {trial}, wording {variant}")]
    NotAsked { trial: usize, variant: usize },
    #[error("the experiment has begun already")]
    HasBegun,
    #[error("the experiment has not begun")]
    NotBegun,
    #[error("the experiment is paused already")]
    IsPaused,
    #[error("the experiment is not paused")]
    NotPaused,
    #[error("the experiment is over")]
    IsOver,
    /// It may ask nobody any more: a cap was reached, or it was stopped.
    #[error("the experiment can take no more samples")]
    IsSpent,
}

/// What was sent with a wording before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Earlier {
    /// What came of it. Questions that failed or were called off are sent again, with their numbers.
    pub samples: Vec<LabSample>,
    /// Requests, those that failed or were called off among them.
    pub requests: u32,
}

#[derive(Debug)]
pub struct LabMachine {
    board: Board,
    leader: Leader,
    has_begun: bool,
    /// The rest of the round.
    round: VecDeque<(usize, usize)>,
    /// Failed requests in a row, by trial.
    failures: Vec<u32>,
    /// Trials that are not tested for a leader any more.
    is_decided: Vec<bool>,
    /// Questions that were called off and may have been answered all the same, by trial and variant.
    called_off: Vec<Vec<Vec<u32>>>,
}

impl LabMachine {
    /// An experiment that has not begun. `earlier` is what was sent before, by trial and variant; what
    /// is missing in it is empty, what is more than is wanted of a variant is left out. All of it counts
    /// for what was spent.
    pub fn new(
        experiment: Arc<Experiment>,
        journals: Vec<PathBuf>,
        earlier: Vec<Vec<Earlier>>,
        leader: Leader,
    ) -> Self {
        let wanted = experiment.samples;
        let mut board = Board::new(experiment, journals);
        for (places, trial) in board.samples.iter_mut().zip(earlier) {
            for (place, earlier) in places.iter_mut().zip(trial) {
                for sample in &earlier.samples {
                    board.spent.add(sample.tokens);
                }
                board.spent.requests = board.spent.requests.saturating_add(earlier.requests);
                *place = earlier.samples;
                place.retain(|sample| sample.number < wanted);
                place.sort_by_key(|sample| sample.number);
            }
        }
        let trials = board.samples.len();
        Self {
            leader,
            has_begun: false,
            round: VecDeque::new(),
            failures: vec![0; trials],
            is_decided: vec![false; trials],
            called_off: board.in_flight.clone(),
            board,
        }
    }

    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Begins; gives what is to be done.
    pub fn begin(&mut self) -> Vec<LabEffect> {
        if self.has_begun {
            return vec![LabEffect::OutOfPlace(OutOfPlace::HasBegun)];
        }
        self.has_begun = true;
        (0..self.failures.len()).for_each(|trial| self.test(trial));
        self.go_on()
    }

    pub fn obey(&mut self, command: LabCommand) -> Vec<LabEffect> {
        let obeyed = match command {
            LabCommand::Pause => self.pause(),
            LabCommand::Resume => self.resume(),
            LabCommand::More(samples) => self.more(samples),
            LabCommand::Stop => return self.stop(),
        };
        match obeyed {
            Ok(()) => self.go_on(),
            Err(why) => vec![LabEffect::OutOfPlace(why)],
        }
    }

    /// Whether a question on its way may be sent once more, after its request failed; then that is
    /// counted. Not where a cap is reached: what comes of it is that it failed. `failed` is what the
    /// failed request may have cost.
    pub fn may_ask_again(&mut self, question: Question, failed: TokenCount) -> bool {
        let of_trial = self.board.in_flight.get(question.trial);
        let is_asked = { of_trial.and_then(|in_flight| in_flight.get(question.variant)) }
            .is_some_and(|in_flight| in_flight.contains(&question.number));
        let may = is_asked && self.reached_cap().is_none();
        if may {
            self.board.spent.add(failed);
            self.board.spent.requests = self.board.spent.requests.saturating_add(1);
        }
        may
    }

    fn pause(&mut self) -> Result<(), OutOfPlace> {
        match self.phase()? {
            LabPhase::Running => self.board.phase = LabPhase::Paused,
            LabPhase::Paused => return Err(OutOfPlace::IsPaused),
            LabPhase::Ending(_) | LabPhase::Ended(_) => return Err(OutOfPlace::IsOver),
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), OutOfPlace> {
        match self.phase()? {
            LabPhase::Paused => self.board.phase = LabPhase::Running,
            LabPhase::Running => return Err(OutOfPlace::NotPaused),
            LabPhase::Ending(_) | LabPhase::Ended(_) => return Err(OutOfPlace::IsOver),
        }
        Ok(())
    }

    fn more(&mut self, samples: u32) -> Result<(), OutOfPlace> {
        let is_spent = |end| {
            matches!(
                end,
                TrialEnd::Requests | TrialEnd::Tokens | TrialEnd::Stopped
            )
        };
        match self.phase()? {
            LabPhase::Ending(_) => return Err(OutOfPlace::IsSpent),
            LabPhase::Ended(end) if is_spent(end) => return Err(OutOfPlace::IsSpent),
            LabPhase::Ended(_) => self.board.phase = LabPhase::Running,
            LabPhase::Running | LabPhase::Paused => {}
        }
        let experiment = Arc::make_mut(&mut self.board.experiment);
        experiment.samples = experiment.samples.saturating_add(samples);
        self.board.ended.fill(None);
        self.failures.fill(0);
        Ok(())
    }

    /// The phase of an experiment that has begun.
    fn phase(&self) -> Result<LabPhase, OutOfPlace> {
        if self.has_begun {
            Ok(self.board.phase)
        } else {
            Err(OutOfPlace::NotBegun)
        }
    }

    fn stop(&mut self) -> Vec<LabEffect> {
        if matches!(self.board.phase, LabPhase::Ended(_)) {
            return vec![LabEffect::OutOfPlace(OutOfPlace::IsOver)];
        }
        self.has_begun = true;
        let is_waiting = self.on_its_way() > 0;
        for (called_off, in_flight) in self.called_off.iter_mut().zip(&mut self.board.in_flight) {
            for (called_off, in_flight) in called_off.iter_mut().zip(in_flight) {
                called_off.append(in_flight);
            }
        }
        self.complete_trials();
        let ended = self.end(TrialEnd::Stopped);
        is_waiting
            .then_some(LabEffect::CallOff)
            .into_iter()
            .chain([ended])
            .collect()
    }

    /// Takes what became of a question, which was answered or failed.
    pub fn sampled(&mut self, trial: usize, variant: usize, sample: LabSample) -> Vec<LabEffect> {
        // An answer that crossed with its being called off was paid for and counts.
        let lists = [&mut self.board.in_flight, &mut self.called_off];
        let of_variant = lists
            .into_iter()
            .filter_map(|lists| lists.get_mut(trial)?.get_mut(variant));
        let was_asked = { of_variant }.any(|numbers| {
            let place = numbers.iter().position(|number| *number == sample.number);
            place.map(|place| numbers.remove(place)).is_some()
        });
        if !was_asked {
            return vec![LabEffect::OutOfPlace(OutOfPlace::NotAsked {
                trial,
                variant,
            })];
        }
        self.board.spent.add(sample.tokens);
        let failures = &mut self.failures[trial];
        *failures = if sample.class == Class::Failed {
            *failures + 1
        } else {
            0
        };
        let has_failed = *failures >= FAILURES;
        let samples = &mut self.board.samples[trial][variant];
        let place = samples.partition_point(|other| other.number < sample.number);
        samples.insert(place, sample);
        if has_failed {
            self.board.ended[trial].get_or_insert(TrialEnd::ModelFailed);
        }
        self.test(trial);
        self.go_on()
    }

    /// Ends a trial that has a clear leader.
    fn test(&mut self, trial: usize) {
        let is_tested = matches!(self.board.experiment.stop, Stop::Clear { .. })
            && self.board.ended[trial].is_none()
            && !self.is_decided[trial];
        if let Some(leader) = is_tested
            .then(|| (self.leader)(&self.board, trial))
            .flatten()
        {
            self.is_decided[trial] = true;
            self.board.ended[trial] = Some(TrialEnd::Clear { leader });
        }
    }

    /// Asks whoever is next, and ends what is over.
    fn go_on(&mut self) -> Vec<LabEffect> {
        let mut effects = Vec::new();
        if self.board.phase == LabPhase::Running {
            self.ask(&mut effects);
        }
        self.complete_trials();
        if self.on_its_way() > 0 || !effects.is_empty() {
            return effects;
        }
        match self.board.phase {
            LabPhase::Ending(end) => effects.push(self.end(end)),
            LabPhase::Running | LabPhase::Paused
                if self.board.ended.iter().all(Option::is_some) =>
            {
                let end = self.common_end();
                effects.push(self.end(end));
            }
            LabPhase::Running | LabPhase::Paused | LabPhase::Ended(_) => {}
        }
        effects
    }

    fn ask(&mut self, effects: &mut Vec<LabEffect>) {
        let most = self.board.experiment.concurrency.max(1);
        let mut on_its_way = self.on_its_way();
        while on_its_way < most {
            let Some((trial, variant)) = self.next() else {
                return;
            };
            if let Some(cap) = self.reached_cap() {
                self.board.phase = LabPhase::Ending(cap);
                return;
            }
            let number = self.next_number(trial, variant);
            self.round.pop_front();
            self.board.in_flight[trial][variant].push(number);
            self.board.spent.requests = self.board.spent.requests.saturating_add(1);
            on_its_way += 1;
            effects.push(LabEffect::Ask(Question {
                trial,
                variant,
                number,
                attempts: 1,
            }));
        }
    }

    /// The wording that is tried next, left at the head of the round; a new round where this one is over.
    fn next(&mut self) -> Option<(usize, usize)> {
        while let Some((trial, variant)) = self.round.front().copied() {
            if self.is_wanted(trial, variant) {
                return Some((trial, variant));
            }
            self.round.pop_front();
        }
        let variants = self.board.samples.iter().enumerate();
        let all = variants
            .flat_map(|(trial, of_trial)| (0..of_trial.len()).map(move |variant| (trial, variant)));
        let wanted = { all }.filter(|(trial, variant)| self.is_wanted(*trial, *variant));
        let wanted: Vec<(usize, usize)> = wanted.collect();
        let taken = |&(trial, variant): &(usize, usize)| self.taken(trial, variant);
        let round = wanted.iter().map(taken).min()?;
        let mut late: Vec<_> = { wanted.iter().copied() }
            .filter(|place| taken(place) == round)
            .collect();
        shuffle(&mut late, self.board.experiment.seed, round);
        self.round = late.into();
        self.round.front().copied()
    }

    fn is_wanted(&self, trial: usize, variant: usize) -> bool {
        self.board.ended[trial].is_none()
            && self.taken(trial, variant) < self.board.experiment.samples
    }

    /// The number of the next question with a variant: the first that was not sent yet, or that was not
    /// answered in an earlier run.
    fn next_number(&self, trial: usize, variant: usize) -> u32 {
        let in_flight = &self.board.in_flight[trial][variant];
        let mut there = self.board.samples[trial][variant].iter().peekable();
        let is_free = |number: &u32| {
            while there.next_if(|sample| sample.number < *number).is_some() {}
            let is_there = there.peek().is_some_and(|sample| sample.number == *number);
            !is_there && !in_flight.contains(number)
        };
        (0..).find(is_free).unwrap_or(u32::MAX)
    }

    /// How many samples of a variant are there, or on their way.
    fn taken(&self, trial: usize, variant: usize) -> u32 {
        let there = self.board.samples[trial][variant].len();
        index_number(there + self.board.in_flight[trial][variant].len())
    }

    fn reached_cap(&self) -> Option<TrialEnd> {
        let caps = self.board.experiment.caps;
        let spent = &self.board.spent;
        if caps.requests.is_some_and(|cap| spent.requests >= cap) {
            Some(TrialEnd::Requests)
        } else if caps.tokens.is_some_and(|cap| spent.tokens() >= cap) {
            Some(TrialEnd::Tokens)
        } else {
            None
        }
    }

    fn on_its_way(&self) -> u32 {
        let in_flight = self.board.in_flight.iter().flatten();
        index_number(in_flight.map(Vec::len).sum())
    }

    /// Ends the trials of which every wording was tried as often as was ordered.
    fn complete_trials(&mut self) {
        for trial in 0..self.board.samples.len() {
            let mut variants = 0..self.board.samples[trial].len();
            let is_waited_for = self.board.in_flight[trial]
                .iter()
                .any(|in_flight| !in_flight.is_empty());
            if !is_waited_for && !variants.any(|variant| self.is_wanted(trial, variant)) {
                self.board.ended[trial].get_or_insert(TrialEnd::Complete);
            }
        }
    }

    fn end(&mut self, end: TrialEnd) -> LabEffect {
        for trial in &mut self.board.ended {
            trial.get_or_insert(end);
        }
        self.board.phase = LabPhase::Ended(end);
        LabEffect::Ended(end)
    }

    /// Why the experiment is over when all of its trials are: for the reason that they share, else because a
    /// model failed, else because everything was tried that was to be tried.
    fn common_end(&self) -> TrialEnd {
        let mut ends = self.board.ended.iter().flatten();
        let first = ends.next().copied().unwrap_or(TrialEnd::Complete);
        if ends.all(|end| *end == first) {
            first
        } else if self.board.ended.contains(&Some(TrialEnd::ModelFailed)) {
            TrialEnd::ModelFailed
        } else {
            TrialEnd::Complete
        }
    }
}

/// Shuffles what is tried in a round. The same seed and round give the same order on every machine.
fn shuffle<T>(items: &mut [T], seed: u64, round: u32) {
    let step = u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Dice::from_state(seed ^ step.rotate_left(17)).shuffle(items);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
