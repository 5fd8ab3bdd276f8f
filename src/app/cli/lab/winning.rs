//! What the best wording of a trial becomes: a policy entry, a recipe, or a spec that tests it again.

use crate::cli::arguments::WinnerForm;
use crate::cli::exit::{Failure, print_error};
use crate::cli::output::safe_line;
use crate::cli::run::refused;
use retake_core::lab::{Board, Experiment, Spec, highest, leader_of, standings, winner, words};

/// Whether there is a trial of this number, counted from 0.
pub(super) fn is_there(experiment: &Experiment, trial: usize) -> Result<(), Failure> {
    let (number, trials) = (trial + 1, experiment.trials.len());
    match trial < trials {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "there is no trial {number}; there are {trials}"
        ))),
    }
}

/// The text for a trial, counted from 0. What is said of the trial goes to stderr.
pub(super) fn winning(
    board: &Board,
    spec: &Spec,
    form: WinnerForm,
    trial: usize,
) -> Result<String, Failure> {
    let trials = board.experiment.trials.len();
    let variant = best(board, trial).ok_or_else(|| {
        let number = trial + 1;
        Failure::refused(format!(
            "trial {number} has no answer that was corrected, so nothing won"
        ))
    })?;
    let won = winner(board, spec, (trial, variant), false);
    let won = won.ok_or_else(|| Failure::refused("there is no such wording"))?;
    let text = match form {
        WinnerForm::Policy => won.policy.map_err(refused),
        WinnerForm::OpenaiAgents => won.recipe.map_err(refused),
        WinnerForm::Spec => won.test.map_err(refused).and_then(|spec| {
            let written = spec.write();
            written.map_err(|error| Failure::refused(error.to_string()))
        }),
    }?;
    if trials > 1 {
        print_error(
            &format!(
                "of trial {}, one of {trials}; --trial N takes another",
                trial + 1
            ),
            None,
        );
    }
    for remark in words::remarks(board, trial) {
        print_error(&safe_line(&remark), None);
    }
    Ok(text)
}

/// The clear leader, or the first with the highest rate; `None` where no answer was corrected.
fn best(board: &Board, trial: usize) -> Option<usize> {
    if let Some(leader) = leader_of(board, trial) {
        return Some(leader);
    }
    let standings = standings(board, trial);
    highest(&standings).first().map(|best| best.variant)
}

#[cfg(test)]
mod tests {
    use super::super::tests::board;
    use super::*;

    #[test]
    fn the_highest_rate_wins_and_without_a_corrected_answer_nobody_does() {
        let mut board = board();
        assert_eq!(best(&board, 0), Some(1));
        board.samples[0][1].clear();
        assert_eq!(best(&board, 0), Some(2));
        board.samples[0][2].clear();
        assert!(board.answered(0, 0).next().is_some());
        assert_eq!(best(&board, 0), None);
        for samples in &mut board.samples[0] {
            samples.clear();
        }
        assert_eq!(best(&board, 0), None);
        assert_eq!(best(&board, 9), None);
        assert!(is_there(&board.experiment, 1).is_ok());
        assert!(is_there(&board.experiment, 2).is_err());
    }
}
