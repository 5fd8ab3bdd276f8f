//! Intervals against published values, their symmetries, and how often they hold what is true.

use super::*;
use crate::dice::Dice;
use proptest::prelude::*;

/// The rates of a scripted model that is known.
const RATES: [f64; 5] = [0.95, 0.8, 0.5, 0.2, 0.05];
const ANSWERS: u32 = 40;
const EXPERIMENTS: u64 = 1_000;

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high].map(|end| (end * 1e4).round() / 1e4)
}

#[test]
fn the_intervals_of_one_rate_are_those_of_newcombes_first_paper() {
    // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I, method 3.
    for (hits, of, published) in [
        (81, 263, [0.2553, 0.3662]),
        (15, 148, [0.0624, 0.1605]),
        (0, 20, [0.0, 0.1611]),
        (1, 29, [0.0061, 0.1718]),
    ] {
        assert_eq!(ends(Proportion::new(hits, of).interval()), published);
    }
}

#[test]
fn the_intervals_of_a_difference_are_those_of_newcombes_second_paper() {
    // Table II, method 10.
    for (mine, theirs, published) in [
        ((56, 70), (48, 80), [0.0524, 0.3339]),
        ((9, 10), (3, 10), [0.1705, 0.8090]),
        ((6, 7), (2, 7), [0.0582, 0.8062]),
        ((5, 56), (0, 29), [-0.0381, 0.1926]),
        ((0, 10), (0, 20), [-0.1611, 0.2775]),
        ((0, 10), (0, 10), [-0.2775, 0.2775]),
        ((10, 10), (0, 20), [0.6791, 1.0]),
        ((10, 10), (0, 10), [0.6075, 1.0]),
    ] {
        let difference = Proportion::new(mine.0, mine.1).minus(Proportion::new(theirs.0, theirs.1));
        assert_eq!(ends(difference.unwrap().interval), published);
    }
}

#[test]
fn of_nothing_everything_is_possible() {
    let nothing = Proportion::new(0, 0);
    assert_eq!(nothing.rate(), None);
    assert_eq!(ends(nothing.interval()), [0.0, 1.0]);
    assert_eq!(nothing.minus(Proportion::new(3, 4)), None);
    assert_eq!(Proportion::new(3, 4).minus(nothing), None);
}

#[test]
fn none_and_all_reach_their_own_end_exactly() {
    for of in 1..500 {
        assert_eq!(Proportion::new(0, of).interval().low, 0.0);
        assert_eq!(Proportion::new(of, of).interval().high, 1.0);
        let difference = Proportion::new(of, of).minus(Proportion::new(0, of));
        assert_eq!(difference.unwrap().interval.high, 1.0);
    }
}

#[test]
fn a_half_width_is_reached_by_the_answers_that_are_named_and_by_no_fewer() {
    for (half_width, answers) in [(0.2, 21), (0.15, 39), (0.1, 93), (0.05, 381)] {
        assert_eq!(answers_for(half_width), answers);
        assert!(widest_half(answers) <= half_width && half_width < widest_half(answers - 1));
    }
    for hits in 0..=93 {
        assert!(Proportion::new(hits, 93).interval().width() <= 0.2);
    }
}

fn proportion() -> impl Strategy<Value = Proportion> {
    (1_u32..2_000).prop_flat_map(|of| (0..=of).prop_map(move |hits| Proportion::new(hits, of)))
}

fn mirrored(counted: Proportion) -> Proportion {
    Proportion::new(counted.of() - counted.hits(), counted.of())
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

proptest! {
    #[test]
    fn an_interval_holds_its_rate_and_stays_between_none_and_all(counted in proportion()) {
        let interval = counted.interval();
        prop_assert!(interval.contains(counted.rate().unwrap()));
        prop_assert!(0.0 <= interval.low && interval.high <= 1.0);
        let mirror = mirrored(counted).interval();
        prop_assert!(is_near(mirror.low, 1.0 - interval.high) && is_near(mirror.high, 1.0 - interval.low));
    }

    #[test]
    fn another_hit_moves_both_ends_up_and_more_answers_narrow_it(counted in proportion()) {
        let interval = counted.interval();
        let another = Proportion::new(counted.hits() + 1, counted.of()).interval();
        prop_assert!(counted.hits() == counted.of() || (interval.low < another.low && interval.high < another.high + f64::EPSILON));
        let doubled = Proportion::new(counted.hits() * 2, counted.of() * 2).interval();
        prop_assert!(doubled.width() < interval.width());
    }

    #[test]
    fn a_difference_turned_round_is_the_same_with_the_other_sign(mine in proportion(), theirs in proportion()) {
        let (there, back) = (mine.minus(theirs).unwrap(), theirs.minus(mine).unwrap());
        prop_assert!(there.interval.contains(there.value));
        prop_assert!(-1.0 <= there.interval.low && there.interval.high <= 1.0);
        prop_assert!(is_near(there.value, -back.value));
        prop_assert!(is_near(there.interval.low, -back.interval.high));
        prop_assert!(is_near(there.interval.high, -back.interval.low));
        prop_assert_eq!(there.tells_apart(), back.tells_apart());
    }

    #[test]
    fn intervals_that_do_not_overlap_tell_two_rates_apart(mine in proportion(), theirs in proportion()) {
        if mine.interval().low > theirs.interval().high {
            prop_assert!(mine.minus(theirs).unwrap().tells_apart());
        }
    }
}

/// How likely each count of hits is.
fn binomial(rate: f64) -> Vec<f64> {
    let mut chance = (1.0 - rate).powi(ANSWERS as i32);
    let mut chances = Vec::new();
    for hits in 0..=ANSWERS {
        chances.push(chance);
        chance *= f64::from(ANSWERS - hits) / f64::from(hits + 1) * rate / (1.0 - rate);
    }
    chances
}

fn covers_one(hits: u32, rate: f64) -> bool {
    Proportion::new(hits, ANSWERS).interval().contains(rate)
}

fn covers_two(mine: u32, theirs: u32, difference: f64) -> bool {
    let counted = Proportion::new(mine, ANSWERS).minus(Proportion::new(theirs, ANSWERS));
    counted.unwrap().interval.contains(difference)
}

/// How often Wilson's interval covers this rate: the sum over every count that can come.
fn exact_of_one(rate: f64) -> f64 {
    let chances = binomial(rate);
    let counts = (0..=ANSWERS).zip(&chances);
    let covering = counts.filter(|(hits, _)| covers_one(*hits, rate));
    covering.map(|(_, chance)| chance).sum()
}

/// The same for Newcombe's interval and two rates.
fn exact_of_two(mine: f64, theirs: f64) -> f64 {
    let (mine_by_hits, theirs_by_hits) = (binomial(mine), binomial(theirs));
    let mut covered = 0.0;
    for (my_hits, my_chance) in (0..=ANSWERS).zip(&mine_by_hits) {
        for (their_hits, their_chance) in (0..=ANSWERS).zip(&theirs_by_hits) {
            if covers_two(my_hits, their_hits, mine - theirs) {
                covered += my_chance * their_chance;
            }
        }
    }
    covered
}

/// Every experiment: the hits of each rate, drawn.
fn drawn() -> Vec<[u32; 5]> {
    let experiments = 0..EXPERIMENTS;
    let of = |seed| {
        let mut dice = Dice::from_state(seed);
        RATES.map(|rate| (0..ANSWERS).filter(|_| dice.happens(rate)).count() as u32)
    };
    experiments.map(of).collect()
}

/// Asserts that what was counted lies within four standard deviations of what is exact; gives what was counted.
fn counted(what: &str, covering: usize, exact: f64) -> f64 {
    let counted = covering as f64 / EXPERIMENTS as f64;
    let deviation = (exact * (1.0 - exact) / EXPERIMENTS as f64).sqrt();
    println!("{what:<24} covers {counted:.3}, exactly {exact:.4}");
    assert!((counted - exact).abs() < 4.0 * deviation, "{what}");
    counted
}

/// Asserts that it is near 95 % over all: the exact coverage of each rate lies between 0.92 and 0.985, since counts are whole and the
/// coverage jumps with them.
fn overall(what: &str, counted: &[f64]) {
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    println!(
        "{what:<24} covers {mean:.3} over all, {EXPERIMENTS} experiments of {ANSWERS} answers\n"
    );
    assert!((0.92..=0.985).contains(&mean), "{what}: {mean}");
}

#[test]
fn wilsons_interval_covers_the_known_rates_in_a_thousand_experiments() {
    let drawn = drawn();
    let of_rate = |(at, rate): (usize, &f64)| {
        let covering = drawn.iter().filter(|hits| covers_one(hits[at], *rate));
        let exact = exact_of_one(*rate);
        assert!((0.92..=0.985).contains(&exact));
        counted(&format!("Wilson at {rate}"), covering.count(), exact)
    };
    let all: Vec<f64> = RATES.iter().enumerate().map(of_rate).collect();
    overall("Wilson", &all);
}

#[test]
fn newcombes_interval_covers_the_known_differences_in_a_thousand_experiments() {
    let drawn = drawn();
    let mut all = Vec::new();
    for (one, mine) in RATES.iter().enumerate() {
        for (other, theirs) in RATES.iter().enumerate().skip(one + 1) {
            let difference = mine - theirs;
            let covers = |hits: &&[u32; 5]| covers_two(hits[one], hits[other], difference);
            let covering = drawn.iter().filter(covers).count();
            let exact = exact_of_two(*mine, *theirs);
            assert!((0.92..=0.985).contains(&exact));
            let what = format!("Newcombe at {mine} - {theirs}");
            all.push(counted(&what, covering, exact));
        }
    }
    overall("Newcombe", &all);
}
