//! Assertions about boards whose counts are given.

use super::{AssertionFault, Claim, Verdict, judge, together};
use crate::lab::{Assertion, Board, Class, Stop, boards};
use Verdict::{Fails, Holds, Undecided};

/// A wording with how often it was corrected, and out of how many answers.
pub(in crate::lab) type Counts = (&'static str, usize, usize);

/// A board with a trial for each model, and these counts in each.
pub(in crate::lab) fn board(trials: &[(&str, &[Counts])]) -> Board {
    let names = trials
        .iter()
        .map(|(_, counts)| counts.iter().map(|(name, ..)| *name).collect());
    let names: Vec<Vec<&str>> = names.collect();
    let names: Vec<&[&str]> = names.iter().map(Vec::as_slice).collect();
    let mut board = boards::board(&names, Stop::Never);
    for (at, (model, counts)) in trials.iter().enumerate() {
        boards::experiment(&mut board).trials[at].model = (*model).to_owned();
        for (variant, (_, hits, of)) in counts.iter().enumerate() {
            boards::corrected(&mut board, at, variant, *hits, *of);
            // It counts for no rate.
            boards::answer(&mut board, at, variant, Class::Failed, 1);
        }
    }
    board
}

fn asks(wording: &str) -> Assertion {
    Assertion {
        wording: wording.to_owned(),
        at_least: None,
        better_than: None,
        model: None,
    }
}

fn at_least(rate: f64) -> Assertion {
    Assertion {
        at_least: Some(rate),
        ..asks("nearest")
    }
}

fn better_than(other: &str) -> Assertion {
    Assertion {
        better_than: Some(other.to_owned()),
        ..asks("nearest")
    }
}

/// Verdict and sentence about one trial.
fn told(counts: &[Counts], assertion: Assertion) -> (Verdict, String) {
    let judged = judge(&board(&[("m", counts)]), &[assertion]).unwrap();
    assert_eq!(judged.len(), 1);
    (judged[0].verdict, judged[0].sentence.clone())
}

#[test]
fn a_rate_is_reached_once_its_whole_interval_reaches_it() {
    // Wilson's interval of 38 of 40: 0.8350 to 0.9862.
    let counts: &[Counts] = &[("nearest", 38, 40)];
    let (verdict, sentence) = told(counts, at_least(0.83));
    assert_eq!(verdict, Holds);
    assert_eq!(
        sentence,
        "nearest corrects 38 of 40: 95.0 % (95 %: 83.5 % to 98.6 %); at least 83.0 % is required"
    );
    let (verdict, sentence) = told(counts, at_least(0.9));
    assert_eq!(verdict, Undecided);
    assert!(sentence.ends_with("which the rate meets, but the interval begins below it"));
    let (verdict, sentence) = told(counts, at_least(0.97));
    assert_eq!(verdict, Undecided);
    assert!(sentence.ends_with("which the rate misses, but the interval ends above it"));
    assert_eq!(told(counts, at_least(0.99)).0, Fails);
}

#[test]
fn a_wording_is_better_where_the_difference_leaves_no_doubt() {
    let counts = |own, other| [("recorded", other, 40), ("nearest", own, 40)];
    let better = better_than("recorded");
    let (verdict, sentence) = told(&counts(36, 10), better.clone());
    assert_eq!(verdict, Holds);
    assert!(sentence.contains("; +65.0 points (95 %: +"), "{sentence}");
    assert_eq!(told(&counts(20, 18), better.clone()).0, Undecided);
    assert_eq!(told(&counts(10, 36), better).0, Fails);
}

#[test]
fn nothing_is_decided_without_answers() {
    let none = [("recorded", 0, 0), ("nearest", 0, 0)];
    for assertion in [at_least(0.1), better_than("recorded")] {
        let (verdict, sentence) = told(&none, assertion);
        assert_eq!(verdict, Undecided);
        assert!(
            sentence.contains("nearest corrects nothing yet"),
            "{sentence}"
        );
    }
}

#[test]
fn every_claim_is_judged_for_every_model_unless_one_is_named() {
    let good: &[Counts] = &[("recorded", 1, 40), ("nearest", 40, 40)];
    let bad: &[Counts] = &[("recorded", 1, 40), ("nearest", 1, 40)];
    let board = board(&[("small", bad), ("large", good)]);
    let both = Assertion {
        at_least: Some(0.5),
        ..better_than("recorded")
    };
    let judged = judge(&board, std::slice::from_ref(&both)).unwrap();
    let told: Vec<_> = judged
        .iter()
        .map(|judged| (judged.trial, judged.verdict))
        .collect();
    assert_eq!(told, [(0, Fails), (1, Holds), (0, Undecided), (1, Holds)]);
    assert_eq!(together(&judged), Fails);
    let large = Assertion {
        model: Some("large".to_owned()),
        ..both
    };
    let judged = judge(&board, &[large]).unwrap();
    assert!(judged.iter().all(|judged| judged.trial == 1));
    assert!(matches!(
        judged[1].claim,
        Claim::BetterThan { variant: 0, .. }
    ));
    assert_eq!(together(&judged), Holds);
    assert_eq!(together(&[]), Holds);
}

#[test]
fn an_assertion_about_what_is_not_tried_is_a_fault() {
    let board = board(&[
        ("small", &[("nearest", 1, 2)]),
        ("large", &[("bare", 1, 2)]),
    ]);
    let fault = |assertion: Assertion| judge(&board, &[assertion]).unwrap_err().to_string();
    let near = Assertion {
        at_least: Some(0.5),
        ..asks("nearst")
    };
    assert_eq!(
        fault(near),
        "no wording `nearst` is tried; did you mean `nearest`?"
    );
    assert_eq!(
        fault(better_than("zzz")),
        "no wording `zzz` is tried; there are bare, nearest"
    );
    let model = Assertion {
        model: Some("huge".to_owned()),
        ..at_least(0.5)
    };
    assert_eq!(
        fault(model),
        "the spec asks no model `huge`; there are large, small"
    );
    let together = AssertionFault::NeverTogether {
        one: "nearest".to_owned(),
        other: "bare".to_owned(),
    };
    assert_eq!(judge(&board, &[better_than("bare")]), Err(together));
}
