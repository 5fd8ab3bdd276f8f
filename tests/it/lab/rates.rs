//! What is measured is what is there: a script whose rates are known.

use super::{count, is_over, run, stock};
use retake_core::lab::{Class, LabPhase, TrialEnd, standings};
use std::collections::BTreeMap;

/// What `sessions/lab/stock.script.toml` says of itself.
const TRUE_RATES: [(&str, f64); 7] = [
    ("recorded", 0.30),
    ("nearest-and-list", 0.90),
    ("bare", 0.20),
    ("nearest", 0.80),
    ("list-all", 0.60),
    ("with-arguments", 0.75),
    ("no-repeat", 0.85),
];

#[test]
fn seven_wordings_are_measured_and_their_intervals_hold_the_true_rates() {
    let (_folder, board) = run(&stock(40));
    assert!(is_over(&board));
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Complete));
    assert_eq!(count(&board), 7 * 40);
    let trial = &board.experiment.trials[0];
    assert!(trial.is_scripted);
    assert_eq!(trial.variants[trial.baseline()].name, "recorded");
    let rates = BTreeMap::from(TRUE_RATES);
    for standing in standings(&board, 0) {
        let name = &*standing.name;
        let (rate, interval) = (rates[name], standing.measured.interval());
        eprintln!("{name}: {rate} is to lie in {interval:?}");
        assert!(interval.contains(rate), "{name}");
    }
    let classes: Vec<Class> = board
        .samples
        .iter()
        .flatten()
        .flatten()
        .map(|it| it.class)
        .collect();
    for class in [
        Class::Corrected,
        Class::SameMistake,
        Class::OtherMistake,
        Class::GaveUp,
        Class::AskedUser,
    ] {
        assert!(classes.contains(&class), "{class:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let outcome = || {
        let (_folder, board) = run(&stock(4));
        let mut samples: Vec<Vec<(Class, String)>> = Vec::new();
        for variant in board.samples.iter().flatten() {
            let mut variant: Vec<_> = variant
                .iter()
                .map(|it| (it.class, it.why.clone()))
                .collect();
            variant.sort();
            samples.push(variant);
        }
        samples
    };
    assert_eq!(outcome(), outcome());
}
