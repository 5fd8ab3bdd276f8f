//! When a leader is clear: a test that may be looked at after every answer and still keeps its error rate.
//!
//! For each ordered pair of wordings (a, b) the k-th answer of a and the k-th answer of b make a block. A block
//! multiplies the evidence that a is better by
//!
//! ```text
//! pa(x) pb(y)
//! -------------    with x, y the answers (1: corrected), pa and pb what earlier blocks let expect, p0 = (pa + pb) / 2
//! p0(x) p0(y)
//! ```
//!
//! and by 1 while pa <= pb. This is the E-variable for two Bernoulli streams of R. J. Turner, A. Ly and P. D.
//! Grünwald, "Generic E-variables for exact sequential k-sample tests that allow for optional stopping",
//! Journal of Statistical Planning and Inference 230 (2024), 106116, for balanced blocks, used on one side.
//!
//! **Why the evidence seldom lies.** Let a be no better than b: ta <= tb. With d = (pa - pb) / 2 > 0 and c(t) =
//! (t - p0) / (p0 (1 - p0)) the expectation of a block, given those before it, is (1 + d c(ta)) (1 - d c(tb)).
//! As c(ta) <= c(tb) and the second factor is never negative, that is at most (1 + d c(tb)) (1 - d c(tb)) = 1 -
//! (d c(tb))^2 <= 1. So the evidence is a supermartingale that begins at 1, and ever reaches a bound of B with
//! a chance of at most 1 / B (Ville), whenever one looks or stops.
//!
//! **Why a leader is seldom false.** A wording of K is the leader when its evidence against each other one has
//! reached K / error rate. Let b be one of the best. A leader that is not better than all others is either
//! another wording, whose evidence against b lies (K - 1 pairs), or b while some b' is as good, so that the
//! evidence of b against b' lies (one more). These are K pairs, each of which lies with a chance of at most
//! error rate / K.
//!
//! What it takes for granted: the answers to one wording come from one rate, in an order that does not depend
//! on what they say.

use super::board::{Board, Class};
use super::experiment::Stop;

/// Before the first block every rate is as likely as every other: a Beta prior of 1 and 1. It is never certain,
/// so that no answer takes all evidence away. The error rate does not depend on it, only how soon a leader is
/// clear; of priors from 0.05 to 2 this one and its neighbours were soonest among five wordings with leads of
/// 0.3 and of 0.6.
const PRIOR: f64 = 1.0;

/// Wordings that compete for being the best, heard answer by answer.
///
/// What it says depends only on the order of answers within each wording: a race that is rebuilt says the same.
#[derive(Debug, Clone)]
pub struct Race {
    /// The logarithm of the evidence that counts as clear.
    bound: f64,
    /// Whether each answer was a corrected turn, by variant.
    answers: Vec<Vec<bool>>,
    /// Each pair of variants.
    duels: Vec<Duel>,
}

/// Two wordings, one against the other.
#[derive(Debug, Clone)]
struct Duel {
    first: Side,
    second: Side,
    /// How many answers of each were compared.
    blocks: usize,
}

/// One of two wordings.
#[derive(Debug, Clone)]
struct Side {
    variant: usize,
    /// Its corrected turns in the blocks so far.
    corrected: u32,
    /// The logarithm of the evidence that it is better than the other.
    evidence: f64,
    most: f64,
}

impl Race {
    /// Nobody has answered. `error_rate` is the chance, at most, that a leader is ever named that is not better
    /// than all others; at 0 or below none is named.
    pub fn new(variants: usize, error_rate: f64) -> Self {
        let pairs = (0..variants)
            .flat_map(|first| (first + 1..variants).map(move |second| Duel::new(first, second)));
        Self {
            bound: (variants as f64 / error_rate.max(0.0)).ln(),
            answers: vec![Vec::new(); variants],
            duels: pairs.collect(),
        }
    }

    /// A wording was answered. One that does not compete is not heard.
    pub fn hear(&mut self, variant: usize, is_corrected: bool) {
        let Some(answers) = self.answers.get_mut(variant) else {
            return;
        };
        answers.push(is_corrected);
        for duel in &mut self.duels {
            if duel.first.variant == variant || duel.second.variant == variant {
                duel.go_on(&self.answers);
            }
        }
    }

    /// The wording that is better than each of the others, once that is clear; what comes later does not take
    /// that back. That a second one gets there too is within the error rate, and then the earlier variant is
    /// named. One that competes with nobody is not a leader.
    pub fn leader(&self) -> Option<usize> {
        let is_clear =
            |variant: &usize| self.sides_of(*variant).all(|side| side.most >= self.bound);
        let mut variants = 0..self.answers.len();
        variants.find(|variant| !self.duels.is_empty() && is_clear(variant))
    }

    /// The wording in each pair that it belongs to.
    fn sides_of(&self, variant: usize) -> impl Iterator<Item = &Side> {
        let sides = self
            .duels
            .iter()
            .flat_map(|duel| [&duel.first, &duel.second]);
        sides.filter(move |side| side.variant == variant)
    }
}

impl Duel {
    fn new(first: usize, second: usize) -> Self {
        Self {
            first: Side::new(first),
            second: Side::new(second),
            blocks: 0,
        }
    }

    /// Takes up every block that is whole.
    fn go_on(&mut self, answers: &[Vec<bool>]) {
        let answer = |variant: usize, block: usize| answers.get(variant)?.get(block).copied();
        while let Some(first) = answer(self.first.variant, self.blocks)
            && let Some(second) = answer(self.second.variant, self.blocks)
        {
            self.take_up(first, second);
        }
    }

    fn take_up(&mut self, first: bool, second: bool) {
        if self.first.corrected != self.second.corrected {
            let expected_first = self.first.expected(self.blocks);
            let expected_second = self.second.expected(self.blocks);
            let alike = (expected_first + expected_second) / 2.0;
            let apart = chance(expected_first, first) * chance(expected_second, second);
            // The quotient is the same for both sides, but only the one that is expected to be better moves.
            let better = if expected_first > expected_second {
                &mut self.first
            } else {
                &mut self.second
            };
            better.evidence += (apart / (chance(alike, first) * chance(alike, second))).ln();
            better.most = better.most.max(better.evidence);
        }
        self.first.corrected += u32::from(first);
        self.second.corrected += u32::from(second);
        self.blocks += 1;
    }
}

impl Side {
    fn new(variant: usize) -> Self {
        Self {
            variant,
            corrected: 0,
            evidence: 0.0,
            most: 0.0,
        }
    }

    /// The rate that so many blocks let expect of the next one.
    fn expected(&self, blocks: usize) -> f64 {
        (f64::from(self.corrected) + PRIOR) / (blocks as f64 + 2.0 * PRIOR)
    }
}

/// How likely this answer is at that rate.
fn chance(rate: f64, is_corrected: bool) -> f64 {
    if is_corrected { rate } else { 1.0 - rate }
}

/// The clear leader of a trial whose experiment looks for one; samples without a reply do not count.
pub fn leader_of(board: &Board, trial: usize) -> Option<usize> {
    race_of(board, trial)?.leader()
}

/// The race of a trial as far as it has come; `None` where the experiment looks for no leader.
pub fn race_of(board: &Board, trial: usize) -> Option<Race> {
    let Stop::Clear { error_rate } = board.experiment.stop else {
        return None;
    };
    let variants = board.samples.get(trial)?.len();
    let mut race = Race::new(variants, error_rate);
    for variant in 0..variants {
        for sample in board.in_order(trial, variant) {
            race.hear(variant, sample.class == Class::Corrected);
        }
    }
    Some(race)
}

#[cfg(test)]
mod tests;
