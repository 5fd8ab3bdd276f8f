//! Races as stories, and 10,000 seeded experiments of each kind that show the error rate and how soon a leader is clear.

use super::*;
use crate::dice::Dice;
use crate::lab::boards;
use proptest::prelude::*;

const ERROR_RATE: f64 = 0.05;
const EXPERIMENTS: u64 = 10_000;

/// A race whose wordings are answered in turn, at these rates, `rounds` times or until it is over.
fn raced(seed: u64, rates: &[f64], rounds: u32, is_over: impl Fn(&Race) -> bool) -> (Race, u32) {
    let mut dice = Dice::from_state(seed);
    let mut race = Race::new(rates.len(), ERROR_RATE);
    for round in 1..=rounds {
        for (variant, rate) in rates.iter().enumerate() {
            race.hear(variant, dice.happens(*rate));
        }
        if is_over(&race) {
            return (race, round);
        }
    }
    (race, rounds)
}

/// Simulates 10,000 experiments of 60 answers to each wording and counts false leaders. A leader is not taken back, so whoever was
/// ever named is found at the end.
#[track_caller]
fn assert_keeps_the_error_rate(what: &str, rates: &[f64], best: Option<usize>) {
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..EXPERIMENTS {
        let (race, _) = raced(seed, rates, 60, |_| false);
        match race.leader() {
            Some(leader) if Some(leader) == best => right += 1,
            Some(_) => wrong += 1,
            None => {}
        }
    }
    let share = |count: u32| f64::from(count) / EXPERIMENTS as f64;
    println!(
        "{what}: {:.2} % of {EXPERIMENTS} experiments name a false leader (promised: at most 5 %), {:.2} % a true one",
        share(wrong) * 100.0,
        share(right) * 100.0
    );
    assert!(share(wrong) <= ERROR_RATE);
}

/// How far a wording is on its way to being the clear leader, from 0 to 1: by the logarithm of its evidence
/// against the one that it is distinguished from least.
fn clearness(race: &Race, variant: usize) -> f64 {
    let evidence = race.sides_of(variant).map(|side| side.most);
    let least = evidence.reduce(f64::min);
    least.map_or(0.0, |least| (least / race.bound).clamp(0.0, 1.0))
}

#[test]
fn among_five_equal_wordings_a_leader_is_named_seldom_enough() {
    assert_keeps_the_error_rate("five equal", &[0.5; 5], None);
}

#[test]
fn between_two_equal_wordings_too() {
    assert_keeps_the_error_rate("two equal", &[0.5; 2], None);
}

#[test]
fn of_two_that_are_equally_good_neither_is_named_more_often_than_promised() {
    assert_keeps_the_error_rate("two tied best", &[0.8, 0.8, 0.3, 0.2, 0.05], None);
}

#[test]
fn one_that_is_hardly_better_is_not_beaten_by_chance() {
    assert_keeps_the_error_rate("best by 0.02", &[0.52, 0.5, 0.5, 0.5, 0.5], Some(0));
}

/// How many answers of each wording it takes until the first is clear, soonest first, in 1,000 experiments that end after `most`.
fn answers_until_clear(rates: [f64; 5], most: u32) -> Vec<u32> {
    let until_clear = |seed| {
        let (race, answers) = raced(seed, &rates, most, |race| race.leader().is_some());
        (race.leader() == Some(0)).then_some(answers)
    };
    let mut answers: Vec<u32> = (0..1_000).filter_map(until_clear).collect();
    answers.sort_unstable();
    answers
}

#[test]
fn a_leader_that_is_far_ahead_is_clear_soon() {
    for (lead, rates, most, least_clear) in [
        (0.3, [0.9, 0.6, 0.6, 0.6, 0.6], 100, 800),
        (0.6, [0.9, 0.3, 0.3, 0.3, 0.3], 60, 990),
    ] {
        let answers = answers_until_clear(rates, most);
        let within = |share: usize| answers.get(share).map_or("more".to_owned(), u32::to_string);
        println!(
            "best by {lead}: clear in {} of 1,000 experiments of at most {most} answers each; half are after {}, 9 in 10 after {}",
            answers.len(),
            within(500),
            within(900)
        );
        assert!(answers.len() >= least_clear);
    }
}

/// The evidence that the first of two wordings is better, after these answers of both.
fn evidence(first: &[bool], second: &[bool]) -> f64 {
    let mut duel = Duel::new(0, 1);
    duel.go_on(&[first.to_vec(), second.to_vec()]);
    duel.first.evidence.exp()
}

#[test]
fn evidence_is_the_product_of_what_blocks_let_expect() {
    // The first block says nothing, since nothing was expected. Then pa = 2/3 and pb = 1/3, then 3/4 and 1/4; p0 stays 1/2.
    assert_eq!(evidence(&[true], &[false]), 1.0);
    let second = (2.0 / 3.0) * (2.0 / 3.0) / 0.25;
    assert!((evidence(&[true; 2], &[false; 2]) - second).abs() < 1e-12);
    let third = 0.75 * 0.25 / 0.25;
    let told = evidence(&[true; 3], &[false, false, true]);
    assert!((told - second * third).abs() < 1e-12);
}

/// The expectation of the evidence after the sequences of answers have grown to `blocks`, by walking every way they can.
fn expected(rates: [f64; 2], duel: &Duel, blocks: usize) -> f64 {
    if duel.blocks == blocks {
        return duel.first.evidence.exp();
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
    assert_eq!((race.leader(), clearness(&race, 0)), (None, 0.0));
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
    assert_eq!((race.leader(), clearness(&race, 0)), (Some(0), 1.0));
    for _ in 0..20 {
        race.hear(0, false);
    }
    assert_eq!(race.leader(), Some(0));
}

#[test]
fn a_board_names_its_leader_where_the_experiment_looks_for_one() {
    let clear = Stop::Clear {
        error_rate: ERROR_RATE,
    };
    let mut board = boards::board(&[&["recorded", "nearest"]], clear);
    boards::answer(&mut board, 0, 0, Class::GaveUp, 30);
    boards::answer(&mut board, 0, 1, Class::Corrected, 30);
    assert_eq!(leader_of(&board, 0), Some(1));
    assert_eq!(leader_of(&board, 1), None, "there is no such trial");
    let mut never = boards::board(&[&["recorded", "nearest"]], Stop::Never);
    never.samples = board.samples;
    assert_eq!(leader_of(&never, 0), None);
}

#[test]
fn requests_that_failed_take_no_part_in_the_race() {
    let clear = Stop::Clear {
        error_rate: ERROR_RATE,
    };
    let mut board = boards::board(&[&["recorded", "nearest"]], clear);
    boards::answer(&mut board, 0, 0, Class::Failed, 30);
    boards::answer(&mut board, 0, 1, Class::Corrected, 30);
    assert_eq!(clearness(&race_of(&board, 0).unwrap(), 1), 0.0);
    assert_eq!(leader_of(&board, 0), None);
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
            if let Some(answer) = answers.get(round) {
                race.hear(variant, *answer);
            }
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
            prop_assert_eq!(clearness(&apart, variant), clearness(&in_turn, variant));
        }
    }

    #[test]
    fn wordings_that_change_places_change_places_in_the_evidence(first in proptest::collection::vec(any::<bool>(), 30), second in proptest::collection::vec(any::<bool>(), 30)) {
        let there = heard_in_turn(&[first.clone(), second.clone()]);
        let back = heard_in_turn(&[second, first]);
        prop_assert_eq!(clearness(&there, 0), clearness(&back, 1));
        prop_assert_eq!(clearness(&there, 1), clearness(&back, 0));
    }
}
