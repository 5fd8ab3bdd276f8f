//! What is said about boards that are known.

use super::*;
use crate::lab::Interval;
use crate::lab::boards::{answer, board, corrected, experiment};

const CLEAR: Stop = Stop::Clear { error_rate: 0.05 };

#[track_caller]
fn assert_said(board: &Board, expected: &[&str]) {
    assert_eq!(remarks(board, 0), expected);
}

#[test]
fn numbers_are_written_so_that_nothing_looks_surer_than_it_is() {
    for (value, written) in [
        (None, "-"),
        (Some(0.0), "0 %"),
        (Some(0.004), "<1 %"),
        (Some(0.62), "62 %"),
        (Some(0.997), ">99 %"),
        (Some(1.0), "100 %"),
    ] {
        assert_eq!(rate(value), written);
    }
    let ends = |low, high| Interval { low, high };
    assert_eq!(interval(ends(0.48, 0.754)), "48..75 %");
    assert_eq!([0.05, 0.001, 0.29].map(chance), ["5 %", "0.1 %", "29 %"]);
    assert_eq!(
        [0, 999, 1_240, 9_949, 9_950, 75_400].map(milliseconds),
        ["0 ms", "999 ms", "1.2 s", "9.9 s", "10 s", "75 s"]
    );
    assert_eq!(
        [7, 999, 1_000, 1_234_567].map(thousands),
        ["7", "999", "1,000", "1,234,567"]
    );
}

#[test]
fn few_answers_are_said_with_how_many_would_be_enough() {
    let mut board = board(&[&["recorded", "nearest"]], Stop::Never);
    assert_said(&board, &["no answers yet"]);
    corrected(&mut board, 0, 1, 1, 1);
    assert_said(
        &board,
        &["0 to 1 answers each: of some wordings nothing is known yet"],
    );
    corrected(&mut board, 0, 0, 2, 7);
    corrected(&mut board, 0, 1, 5, 6);
    assert_said(
        &board,
        &[
            "nearest has the highest rate, 86 %, and is told apart from every other: no interval of a difference holds 0",
            "7 answers each: the intervals are wide, up to 30 points to each side; 40 would halve them",
        ],
    );
    corrected(&mut board, 0, 0, 10, 32);
    corrected(&mut board, 0, 1, 30, 40);
    assert_eq!(remarks(&board, 0).len(), 1, "39 answers are enough");
}

#[test]
fn wordings_that_may_be_as_good_are_named() {
    let mut board = board(&[&["recorded", "nearest", "all", "short"]], Stop::Never);
    for (variant, hits) in [(0, 4), (1, 30), (2, 26), (3, 28)] {
        corrected(&mut board, 0, variant, hits, 40);
    }
    assert_said(
        &board,
        &[
            "nearest has the highest rate, 75 %; not told apart from all and short: the interval of the difference holds 0",
        ],
    );
}

#[test]
fn a_rate_that_several_share_is_nobodys_alone() {
    let mut board = board(
        &[&["recorded", "nearest", "all", "short", "silent"]],
        Stop::Never,
    );
    for (variant, hits) in [(0, 4), (1, 30), (2, 26), (3, 30)] {
        corrected(&mut board, 0, variant, hits, 40);
    }
    let shared = "nearest and short share the highest rate, 75 %";
    let said = remarks(&board, 0);
    assert_eq!(
        said[0],
        format!("{shared}; not told apart from all: the interval of the difference holds 0")
    );
    board.samples[0][2].clear();
    let said = remarks(&board, 0);
    assert!(
        said[0].starts_with(&format!("{shared}, and are told apart")),
        "{said:?}"
    );
}

#[test]
fn where_no_answer_was_corrected_no_wording_is_called_the_best() {
    let mut board = board(&[&["recorded", "nearest"]], Stop::Never);
    for variant in [0, 1] {
        corrected(&mut board, 0, variant, 0, 40);
    }
    assert_said(&board, &["no answer was corrected, whichever the wording"]);
}

#[test]
fn a_clear_leader_is_named_with_the_chance_that_it_is_none() {
    let mut board = board(&[&["recorded", "nearest"]], CLEAR);
    corrected(&mut board, 0, 0, 4, 40);
    corrected(&mut board, 0, 1, 36, 40);
    let clear = "nearest is better than every other wording; chance of a false leader at most 5 %";
    assert_said(&board, &[clear]);
    board.ended[0] = Some(TrialEnd::Clear { leader: 1 });
    assert_said(
        &board,
        &[
            clear,
            "ended: nearest is clearly the best",
            "it ended as soon as the leader was clear: the leader's rate may look a little better than it is",
        ],
    );
}

#[test]
fn a_trial_that_ends_without_a_leader_says_so() {
    let mut board = board(&[&["recorded", "nearest"]], CLEAR);
    for variant in [0, 1] {
        corrected(&mut board, 0, variant, 20, 40);
    }
    let alike = "recorded and nearest share the highest rate, 50 %";
    assert_said(&board, &[alike]);
    board.ended[0] = Some(TrialEnd::Requests);
    assert_said(
        &board,
        &[
            "no wording is clearly better than every other",
            alike,
            "ended: the cap of 1,200 requests is reached",
        ],
    );
}

#[test]
fn scripts_failures_and_a_missing_baseline_are_said() {
    let mut board = board(&[&["nearest", "all"]], Stop::Never);
    experiment(&mut board).trials[0].is_scripted = true;
    answer(&mut board, 0, 0, Class::Corrected, 40);
    answer(&mut board, 0, 1, Class::GaveUp, 39);
    answer(&mut board, 0, 1, Class::Failed, 1);
    assert_said(
        &board,
        &[
            SCRIPTED,
            "nearest has the highest rate, 100 %, and is told apart from every other: no interval of a difference holds 0",
            "no wording of the recording is among these: compared with nearest instead",
            "1 of 80 requests failed and counts for no rate",
        ],
    );
}

#[test]
fn one_wording_is_compared_with_nothing() {
    let mut board = board(&[&["nearest"]], CLEAR);
    corrected(&mut board, 0, 0, 40, 40);
    board.ended[0] = Some(TrialEnd::Complete);
    assert_said(
        &board,
        &[
            "there is only one wording: nothing is compared",
            "ended: every wording was tried as often as requested",
        ],
    );
    assert_eq!(remarks(&board, 1), [""; 0], "there is no such trial");
}

#[test]
fn every_phase_and_every_end_has_its_words() {
    let mut board = board(&[&["nearest"]], Stop::Never);
    for (phase_of_board, said) in [
        (LabPhase::Running, "running"),
        (LabPhase::Paused, "paused"),
        (
            LabPhase::Ending(TrialEnd::Stopped),
            "ending: stopped before the last sample",
        ),
        (
            LabPhase::Ended(TrialEnd::Tokens),
            "ended: the cap on tokens is reached",
        ),
        (
            LabPhase::Ended(TrialEnd::Clear { leader: 0 }),
            "ended: the leader is clear",
        ),
        (
            LabPhase::Ended(TrialEnd::ModelFailed),
            "ended: several requests to the model in a row failed",
        ),
    ] {
        board.phase = phase_of_board;
        assert_eq!(phase(&board), said);
    }
}

#[test]
fn what_corrected_means_and_how_a_table_is_read_is_said() {
    let of = |what: Meant| meant(&what);
    assert_eq!(
        of(Meant::Tool("search_flights".to_owned())),
        "corrected means: a sound call of search_flights"
    );
    assert!(of(Meant::AnyTool).ends_with("any tool on offer"));
    assert!(of(Meant::Message).contains("final message"));
    let legend = |stop| legend(&board(&[], stop).experiment);
    assert_eq!(legend(Stop::Never).len(), 2);
    assert!(legend(CLEAR)[2].ends_with("chance of a false leader at most 5 %"));
}
