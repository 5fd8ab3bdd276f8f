//! Tables of boards that are known.

use super::*;
use crate::lab::Stop;
use crate::lab::boards::{answer, board, corrected, experiment, sample};

#[test]
fn a_wording_stands_by_its_answers_and_failed_requests_count_for_no_rate() {
    let mut board = board(&[&["recorded", "nearest"]], Stop::Never);
    for (class, times) in [
        (Class::Corrected, 6),
        (Class::SameMistake, 1),
        (Class::AskedUser, 1),
        (Class::Failed, 4),
    ] {
        answer(&mut board, 0, 1, class, times);
    }
    let standings = standings(&board, 0);
    let nearest = &standings[1].measured;
    assert_eq!((nearest.answered(), nearest.failed), (8, 4));
    assert_eq!(nearest.rate(), Some(0.75));
    assert_eq!(nearest.interval(), Proportion::new(6, 8).interval());
    assert_eq!(nearest.counts, [6, 1, 0, 0, 1, 0, 4]);
    assert_eq!(nearest.count(Class::AskedUser), 1);
    let recorded = &standings[0].measured;
    assert_eq!((recorded.answered(), recorded.rate()), (0, None));
    assert_eq!(
        (recorded.ms, recorded.slow_ms, recorded.input),
        (None, None, None)
    );
}

#[test]
fn differences_are_to_the_baseline_which_has_none_itself() {
    let mut board = board(&[&["short", "recorded", "nearest"]], Stop::Never);
    corrected(&mut board, 0, 1, 48, 80);
    corrected(&mut board, 0, 2, 56, 70);
    let standings = standings(&board, 0);
    assert_eq!(standings[0].difference, None, "it has no answers");
    assert_eq!(standings[1].difference, None, "it is the baseline");
    let difference = standings[2].difference.unwrap();
    assert!((difference.value - 0.2).abs() < 1e-12 && difference.tells_apart());
}

#[test]
fn medians_and_the_slow_ones_are_those_of_the_answers() {
    let of = |samples: &[LabSample]| Measured::of(samples.iter());
    let mut samples: Vec<LabSample> = (1..=10)
        .map(|n| sample(Class::GaveUp, n * 100, n * 10, n))
        .collect();
    samples.push(sample(Class::Failed, 60_000, 0, 0));
    samples.reverse();
    let ten = of(&samples);
    assert_eq!((ten.input, ten.output), (Some(55), Some(5)));
    assert_eq!((ten.ms, ten.slow_ms), (Some(550), Some(900)));
    let one = of(&[sample(Class::Looped, 7, 8, 9)]);
    assert_eq!(
        (one.input, one.output, one.ms, one.slow_ms),
        (Some(8), Some(9), Some(7), Some(7))
    );
}

#[test]
fn there_is_nothing_to_see_of_a_trial_that_is_not_there() {
    assert_eq!(standings(&board(&[], Stop::Never), 0), []);
}

#[test]
fn trials_of_one_kind_are_taken_together_by_the_names_of_their_wordings() {
    let mut board = board(
        &[&["recorded", "nearest"], &["nearest", "all"], &["nearest"]],
        Stop::Never,
    );
    experiment(&mut board).trials[2].subject.kind = FailureKind::CutOff;
    corrected(&mut board, 0, 0, 1, 4);
    corrected(&mut board, 0, 1, 3, 4);
    corrected(&mut board, 1, 0, 2, 4);
    corrected(&mut board, 1, 1, 4, 4);
    let overall = overall(&board, None);
    let [together] = overall.as_slice() else {
        panic!("{overall:?}");
    };
    assert_eq!(together.kind, FailureKind::UnknownTool);
    assert!(together.rows[0].is_baseline);
    assert_eq!(together.trials, [0, 1]);
    let rows = together.rows.iter();
    let rows = rows.map(|row| (row.name.as_str(), &row.trials[..], row.measured.rate()));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("recorded", &[0][..], Some(0.25)),
            ("nearest", &[0, 1], Some(0.625)),
            ("all", &[1], Some(1.0))
        ]
    );
    let value = |row: usize| together.rows[row].difference.map(|found| found.value);
    assert_eq!(value(0), None, "it is the baseline");
    assert_eq!(value(1), Some(0.5), "only the first trial has both");
    assert_eq!(value(2), None, "no trial has both");
}

#[test]
fn each_model_can_be_looked_at_alone() {
    let mut board = board(&[&["recorded"], &["recorded"], &["recorded"]], Stop::Never);
    experiment(&mut board).trials[1].model = "other".to_owned();
    let trials = |model| overall(&board, model).pop().map(|overall| overall.trials);
    assert_eq!(trials(None), Some(vec![0, 1, 2]));
    assert_eq!(trials(Some("one")), Some(vec![0, 2]));
    assert_eq!(
        trials(Some("other")),
        None,
        "a single trial says it all itself"
    );
}

#[test]
fn no_wording_profits_from_more_answers_where_the_model_does_well() {
    // Both are equally good in each trial, an easy one and a hard one, but `nearest` was tried more in the easy one.
    let names: &[&str] = &["recorded", "nearest"];
    let mut board = board(&[names, names], Stop::Never);
    for (trial, variant, of) in [(0, 0, 10), (0, 1, 40), (1, 0, 40), (1, 1, 10)] {
        let class = if trial == 0 {
            Class::Corrected
        } else {
            Class::GaveUp
        };
        answer(&mut board, trial, variant, class, of);
    }
    let together = overall(&board, None).remove(0);
    let rates = together.rows.iter().map(|row| row.measured.rate());
    assert_eq!(rates.collect::<Vec<_>>(), [Some(0.2), Some(0.8)]);
    let difference = together.rows[1].difference.unwrap();
    assert_eq!(difference.value, 0.0);
    assert!(!difference.tells_apart());
}
