//! Races as stories, and 10,000 seeded experiments of each kind that show the error rate and how soon a leader is clear.

use super::*;
use crate::lab::dice::Dice;
use proptest::prelude::*;

const ERROR_RATE: f64 = 0.05;
const EXPERIMENTS: u64 = 10_000;

/// Races whose wordings are answered in turn, at these rates, until a leader is clear or each has `most` answers.
struct Simulated {
    rates: [f64; 5],
    most: u32,
    experiments: u64,
}

/// What came of them.
struct Outcome {
    /// How often the first wording was named, of all experiments.
    first: f64,
    /// How often another one was.
    other: f64,
    /// The answers of each wording until a leader was named, in order.
    answers: Vec<u32>,
}

impl Simulated {
    fn one(&self, seed: u64) -> Option<(usize, u32)> {
        let mut dice = Dice(seed);
        let mut race = Race::new(self.rates.len(), ERROR_RATE);
        for answers in 1..=self.most {
            for (variant, rate) in self.rates.iter().enumerate() {
                race.hear(variant, dice.throws(*rate));
            }
            if let Some(leader) = race.leader() {
                return Some((leader, answers));
            }
        }
        None
    }

    fn outcome(&self) -> Outcome {
        let named: Vec<_> = (0..self.experiments)
            .filter_map(|seed| self.one(seed))
            .collect();
        let first = named.iter().filter(|(leader, _)| *leader == 0).count();
        let mut answers: Vec<u32> = named.iter().map(|(_, answers)| *answers).collect();
        answers.sort_unstable();
        Outcome {
            first: first as f64 / self.experiments as f64,
            other: (named.len() - first) as f64 / self.experiments as f64,
            answers,
        }
    }
}

/// Simulates 10,000 experiments and tells how often a leader was false.
#[track_caller]
fn assert_keeps_the_error_rate(what: &str, rates: [f64; 5], is_first_best: bool) {
    let simulated = Simulated {
        rates,
        most: 60,
        experiments: EXPERIMENTS,
    };
    let outcome = simulated.outcome();
    let wrong = outcome.other + if is_first_best { 0.0 } else { outcome.first };
    println!(
        "{what}: false leaders in {:.2} % of {EXPERIMENTS} experiments, promised at most 5 %; true ones in {:.2} %",
        wrong * 100.0,
        (outcome.first + outcome.other - wrong) * 100.0
    );
    assert!(wrong <= ERROR_RATE);
}

#[test]
fn among_five_equal_wordings_a_leader_is_named_seldom_enough() {
    assert_keeps_the_error_rate("five equal", [0.5; 5], false);
}

#[test]
fn of_two_that_are_equally_good_neither_is_named_more_often_than_promised() {
    assert_keeps_the_error_rate("two tied best", [0.8, 0.8, 0.3, 0.2, 0.05], false);
}

#[test]
fn one_that_is_hardly_better_is_not_beaten_by_chance() {
    assert_keeps_the_error_rate("best by 0.02", [0.52, 0.5, 0.5, 0.5, 0.5], true);
}

#[test]
fn a_leader_that_is_far_ahead_is_clear_soon() {
    for (lead, rates, most, clear) in [
        (0.3, [0.9, 0.6, 0.6, 0.6, 0.6], 100, 0.5),
        (0.6, [0.9, 0.3, 0.3, 0.3, 0.3], 60, 0.99),
    ] {
        let simulated = Simulated {
            rates,
            most,
            experiments: 1_000,
        };
        let outcome = simulated.outcome();
        let answers = |part: usize| outcome.answers[outcome.answers.len() * part / 100];
        println!(
            "lead of {lead}: clear within {most} answers of each in {:.1} % of 1,000 experiments, false in {:.1} %; where it was, after {} (half), {} (9 in 10)",
            outcome.first * 100.0,
            outcome.other * 100.0,
            answers(50),
            answers(90)
        );
        assert!(outcome.first >= clear, "{}", outcome.first);
        assert!(outcome.other <= ERROR_RATE);
    }
}

/// The evidence that the first of two wordings is better, after these answers of both.
fn evidence(first: &[bool], second: &[bool]) -> f64 {
    let mut duel = Duel::new(0, 1);
    duel.go_on(&[first.to_vec(), second.to_vec()]);
    duel.evidence[0].exp()
}

#[test]
fn evidence_is_the_product_of_what_blocks_let_expect() {
    // The first block says nothing, since nothing was expected. Then pa = 3/4, pb = 1/4, p0 = 1/2, and after two pa = 5/6, pb = 1/6.
    assert_eq!(evidence(&[true], &[false]), 1.0);
    let second = 0.75 * 0.75 / 0.25;
    assert!((evidence(&[true; 2], &[false; 2]) - second).abs() < 1e-12);
    let third = (5.0 / 6.0) * (1.0 / 6.0) / 0.25;
    let told = evidence(&[true; 3], &[false, false, true]);
    assert!((told - second * third).abs() < 1e-12);
}

/// The expectation of the evidence after the sequences of answers have grown to `blocks`, by walking every way they can.
fn expected(rates: [f64; 2], duel: &Duel, blocks: usize) -> f64 {
    if duel.blocks == blocks {
        return duel.evidence[0].exp();
    }
    let ways = [(true, true), (true, false), (false, true), (false, false)];
    let of_way = |(first, second): (bool, bool)| {
        let mut next = duel.clone();
        next.take_up(first, second);
        chance(rates[0], first) * chance(rates[1], second) * expected(rates, &next, blocks)
    };
    ways.into_iter().map(of_way).sum()
}

#[test]
fn the_evidence_for_a_wording_that_is_no_better_is_expected_to_be_at_most_one() {
    for rates in [
        [0.5, 0.5],
        [0.1, 0.1],
        [0.95, 0.95],
        [0.2, 0.3],
        [0.05, 0.9],
    ] {
        for blocks in 1..=6 {
            let expected = expected(rates, &Duel::new(0, 1), blocks);
            assert!(expected <= 1.0 + 1e-9, "{rates:?}: {expected}");
        }
    }
    assert!(expected([0.9, 0.2], &Duel::new(0, 1), 6) > 2.0);
}

#[test]
fn a_wording_alone_leads_nobody_and_strangers_are_not_heard() {
    let mut race = Race::new(1, ERROR_RATE);
    for _ in 0..100 {
        race.hear(0, true);
        race.hear(7, true);
    }
    assert_eq!((race.leader(), race.clearness(0)), (None, 0.0));
    assert_eq!(Race::new(0, ERROR_RATE).leader(), None);
}

#[test]
fn an_error_rate_of_nothing_names_nobody() {
    let mut race = Race::new(2, 0.0);
    for _ in 0..1_000 {
        race.hear(0, true);
        race.hear(1, false);
    }
    assert_eq!(race.leader(), None);
}

#[test]
fn a_leader_has_to_be_clear_of_every_other_wording_and_stays_one() {
    let mut race = Race::new(3, ERROR_RATE);
    for _ in 0..30 {
        race.hear(0, true);
        race.hear(1, true);
        race.hear(2, false);
    }
    assert_eq!(race.leader(), None, "the first two are alike");
    for _ in 0..30 {
        race.hear(0, true);
        race.hear(1, false);
        race.hear(2, false);
    }
    assert_eq!((race.leader(), race.clearness(0)), (Some(0), 1.0));
    for _ in 0..20 {
        race.hear(0, false);
    }
    assert_eq!(race.leader(), Some(0));
}

/// A race that hears each wording to its end, the last wording first.
fn heard_apart(answers: &[Vec<bool>]) -> Race {
    let mut race = Race::new(answers.len(), ERROR_RATE);
    for (variant, answers) in answers.iter().enumerate().rev() {
        for answer in answers {
            race.hear(variant, *answer);
        }
    }
    race
}

/// A race that hears them in turn.
fn heard_in_turn(answers: &[Vec<bool>]) -> Race {
    let mut race = Race::new(answers.len(), ERROR_RATE);
    let longest = answers.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..longest {
        for (variant, answers) in answers.iter().enumerate() {
            answers.get(round).map(|answer| race.hear(variant, *answer));
        }
    }
    race
}

proptest! {
    #[test]
    fn a_race_says_the_same_however_the_wordings_took_turns(answers in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 0..40), 0..5)) {
        let (apart, in_turn) = (heard_apart(&answers), heard_in_turn(&answers));
        prop_assert_eq!(apart.leader(), in_turn.leader());
        for variant in 0..answers.len() {
            prop_assert_eq!(apart.clearness(variant), in_turn.clearness(variant));
        }
    }

    #[test]
    fn wordings_that_change_places_change_places_in_the_evidence(first in proptest::collection::vec(any::<bool>(), 30), second in proptest::collection::vec(any::<bool>(), 30)) {
        let there = heard_in_turn(&[first.clone(), second.clone()]);
        let back = heard_in_turn(&[second, first]);
        prop_assert_eq!(there.clearness(0), back.clearness(1));
        prop_assert_eq!(there.clearness(1), back.clearness(0));
    }
}
