//! When a leader is clear: a test that may be looked at after every answer and still keeps its error rate.
//!
//! For each ordered pair of wordings (a, b) the k-th answer of a and the k-th answer of b make a block. A block multiplies the evidence
//! that a is better by
//!
//! ```text
//! pa(x) pb(y)
//! -------------    with x, y the answers (1: corrected), pa and pb what earlier blocks let expect, p0 = (pa + pb) / 2
//! p0(x) p0(y)
//! ```
//!
//! and by 1 while pa <= pb. This is the E-variable for two Bernoulli streams of R. J. Turner, A. Ly and P. D. Grünwald, "Generic
//! E-variables for exact sequential k-sample tests that allow for optional stopping", Journal of Statistical Planning and Inference
//! 230 (2024), 106116, for balanced blocks, used on one side.
//!
//! **Why the evidence seldom lies.** Let a be no better than b: ta <= tb. With d = (pa - pb) / 2 > 0 and c(t) = (t - p0) / (p0 (1 - p0))
//! the expectation of a block, given those before it, is (1 + d c(ta)) (1 - d c(tb)). As c(ta) <= c(tb) and the second factor is never
//! negative, that is at most (1 + d c(tb)) (1 - d c(tb)) = 1 - (d c(tb))^2 <= 1. So the evidence is a supermartingale that begins at 1,
//! and ever reaches a bound of B with a chance of at most 1 / B (Ville), whenever one looks or stops.
//!
//! **Why a leader is seldom false.** A wording of K is the leader when its evidence against each other one has reached K / error rate.
//! Let b be one of the best. A leader that is not better than all others is either another wording, whose evidence against b lies
//! (K - 1 pairs), or b while some b' is as good, so that the evidence of b against b' lies (one more). These are K pairs, each of
//! which lies with a chance of at most error rate / K.
//!
//! What it takes for granted: the answers to one wording come from one rate, in an order that does not depend on what they say.

use super::{Board, Class, Stop};

/// A Beta prior of one half each (Jeffreys) stands for what is expected before the first block: it is never certain, so that no answer
/// takes all evidence away, and gives way fast. The error rate does not depend on it, only how soon a leader is clear.
const PRIOR: f64 = 0.5;

/// Wordings that compete for being the best, heard answer by answer.
///
/// What it says depends only on the order of answers within each wording: a race that is rebuilt says the same.
#[derive(Debug, Clone)]
pub struct Race {
    /// The logarithm of the evidence that counts as clear.
    bound: f64,
    /// Whether each answer was a corrected turn, by variant.
    answers: Vec<Vec<bool>>,
    /// The variants of each pair with how they stand.
    duels: Vec<Duel>,
}

/// Two wordings, one against the other: `second` is the later variant.
#[derive(Debug, Clone)]
struct Duel {
    first: usize,
    second: usize,
    blocks: usize,
    /// Corrected turns of both in these blocks.
    corrected: [u32; 2],
    /// The logarithm of the evidence that the first is better, and that the second is.
    evidence: [f64; 2],
    /// The most that each of the two has been.
    most: [f64; 2],
}

impl Race {
    /// Nobody has answered. `error_rate` is the chance, at most, that a leader is ever named that is not better than all others; at 0
    /// or below none is named.
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
        let competing = self.duels.iter_mut();
        for duel in competing.filter(|duel| duel.first == variant || duel.second == variant) {
            duel.go_on(&self.answers);
        }
    }

    /// The wording that is better than each of the others, once that is clear; what comes later does not take that back. That a second
    /// one gets there too is within the error rate, and then the earlier variant is named. One that competes with nobody is no leader.
    pub fn leader(&self) -> Option<usize> {
        let mut variants = 0..self.answers.len();
        variants.find(|variant| self.clearness(*variant) >= 1.0)
    }

    /// How far a wording is on its way to being the clear leader, from 0 to 1: by the logarithm of its evidence against the one that it
    /// is told apart from least.
    pub fn clearness(&self, variant: usize) -> f64 {
        let own = |duel: &Duel| {
            let sides = [duel.first, duel.second];
            let side = sides.iter().position(|side| *side == variant)?;
            duel.most.get(side).copied()
        };
        let least = self.duels.iter().filter_map(own).reduce(f64::min);
        least.map_or(0.0, |least| (least / self.bound).clamp(0.0, 1.0))
    }
}

impl Duel {
    fn new(first: usize, second: usize) -> Self {
        Self {
            first,
            second,
            blocks: 0,
            corrected: [0; 2],
            evidence: [0.0; 2],
            most: [0.0; 2],
        }
    }

    /// Takes up every block that is whole.
    fn go_on(&mut self, answers: &[Vec<bool>]) {
        let answer = |variant: usize, block: usize| answers.get(variant)?.get(block).copied();
        while let (Some(first), Some(second)) = (
            answer(self.first, self.blocks),
            answer(self.second, self.blocks),
        ) {
            self.take_up(first, second);
        }
    }

    fn take_up(&mut self, first: bool, second: bool) {
        let expected = self
            .corrected
            .map(|corrected| (f64::from(corrected) + PRIOR) / (self.blocks as f64 + 2.0 * PRIOR));
        let [one, other] = expected;
        // Evidence moves on the side that is expected to be better; it is the same quotient for both.
        if one != other {
            let side = usize::from(one < other);
            let same = (one + other) / 2.0;
            let quotient = chance(one, first) * chance(other, second)
                / (chance(same, first) * chance(same, second));
            if let (Some(evidence), Some(most)) =
                (self.evidence.get_mut(side), self.most.get_mut(side))
            {
                *evidence += quotient.ln();
                *most = most.max(*evidence);
            }
        }
        self.corrected[0] += u32::from(first);
        self.corrected[1] += u32::from(second);
        self.blocks += 1;
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
        for sample in board.answered(trial, variant) {
            race.hear(variant, sample.class == Class::Corrected);
        }
    }
    Some(race)
}

#[cfg(test)]
mod tests;
