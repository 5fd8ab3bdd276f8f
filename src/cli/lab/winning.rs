//! What the best wording of a trial becomes: a policy entry, a recipe, or a spec that tests it again.

use crate::cli::arguments::WinnerForm;
use crate::cli::exit::{Failure, complain};
use crate::cli::output::safe_line;
use crate::cli::run::refused;
use crate::lab::{Board, Spec, leader_of, standings, winner, words};

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
        match trial < trials {
            true => Failure::refused(format!("trial {number} has no answer, so nothing won")),
            false => Failure::refused(format!("there is no trial {number}; there are {trials}")),
        }
    })?;
    let won = winner(board, spec, (trial, variant), false);
    let won = won.ok_or_else(|| Failure::refused("there is no such wording"))?;
    let text = match form {
        WinnerForm::Policy => won.policy.map_err(refused),
        WinnerForm::OpenaiAgents => won.recipe.map_err(refused),
        WinnerForm::Spec => won.test.map_err(refused),
    }?;
    if trials > 1 {
        complain(
            &format!(
                "of trial {}, one of {trials}; --trial N takes another",
                trial + 1
            ),
            None,
        );
    }
    for remark in words::remarks(board, trial) {
        complain(&safe_line(&remark), None);
    }
    Ok(text)
}

/// The clear leader, or the first with the highest rate.
fn best(board: &Board, trial: usize) -> Option<usize> {
    if let Some(leader) = leader_of(board, trial) {
        return Some(leader);
    }
    let standings = standings(board, trial).into_iter();
    let rates = standings.filter_map(|one| Some((one.variant, one.measured.rate()?)));
    let best = rates.reduce(|best, other| if other.1 > best.1 { other } else { best });
    best.map(|(variant, _)| variant)
}

#[cfg(test)]
mod tests {
    use super::super::tests::board;
    use super::*;

    #[test]
    fn the_highest_rate_wins_and_without_answers_nobody_does() {
        let mut board = board();
        assert_eq!(best(&board, 0), Some(1));
        board.samples[0][1].clear();
        assert_eq!(best(&board, 0), Some(2));
        for samples in &mut board.samples[0] {
            samples.clear();
        }
        assert_eq!(best(&board, 0), None);
        assert_eq!(best(&board, 9), None);
    }
}
