//! One recovery that the operator chose, instead of everything that is safe.

use super::{Applied, FixRefusalReason, FixReport, FixRun, State, unsafe_offers};
use crate::InputError;
use retake_core::actions::{Action, ActionError, ActionInput};
use retake_core::formats::lower;
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::Session;
use std::sync::Arc;

/// What is done about the finding for which it was chosen.
#[derive(Debug)]
pub struct ChosenFix {
    pub action: &'static Action,
    /// What the action is given: a template, new arguments, an output, a value.
    pub words: Option<String>,
    pub include_in_history: bool,
}

/// Why a chosen recovery was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ChosenError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("no finding fits")]
    NoFinding,
    #[error("{rule}, {action}: {reason}")]
    Refused {
        rule: &'static str,
        action: &'static str,
        reason: FixRefusalReason,
    },
}

impl FixRun<'_> {
    /// Carries out the first choice that is made among the findings, and nothing else.
    ///
    /// # Errors
    ///
    /// Where nothing is chosen, or the action refuses.
    pub fn run_chosen(
        &self,
        mut choose: impl FnMut(usize, &Session, &Finding) -> Option<ChosenFix>,
    ) -> Result<FixReport, ChosenError> {
        let mut faultless = Vec::new();
        let (rope, recording) = (self.base.rope().clone(), self.base.recording().clone());
        let checked = Arc::new(self.check(&recording, &rope, &mut faultless)?);
        let sessions = recording.sessions.iter().zip(&checked.findings).enumerate();
        let mut all = sessions.flat_map(|(number, (session, findings))| {
            findings
                .iter()
                .map(move |finding| (number, session, findings, finding))
        });
        let chosen = all.find_map(|(number, session, findings, finding)| {
            let chosen = choose(number, session, finding)?;
            Some((number, session, findings, finding, chosen))
        });
        let (number, session, findings, finding, chosen) = chosen.ok_or(ChosenError::NoFinding)?;
        let refused = |reason: FixRefusalReason| ChosenError::Refused {
            rule: finding.rule.id,
            action: chosen.action.id,
            reason,
        };
        let run = Run::new(session, self.target);
        let beside = beside(session, findings, finding);
        let scene = run.scene(finding.defect(), &beside);
        let input = ActionInput {
            words: chosen.words.as_deref(),
            include_in_history: chosen.include_in_history,
            // Whoever names an action has seen what it guesses; no tool runs here.
            confirmed: true,
            ..ActionInput::default()
        };
        let plan = scene
            .ok_or(ActionError::NoItem)
            .and_then(|scene| (chosen.action.plan)(&scene, &input))
            .map_err(|error| refused(FixRefusalReason::Action(error)))?;
        if plan.edits.is_empty() {
            let reason = FixRefusalReason::Action(ActionError::NothingToDo);
            return Err(refused(reason));
        }
        let splices = lower(session, &plan.edits)
            .map_err(|error| refused(FixRefusalReason::Writing(error)))?;
        let applied = Applied {
            round: 1,
            session: number,
            item: finding.item.unwrap_or_default(),
            rule: finding.rule.id,
            action: chosen.action.id,
            notes: plan.notes,
        };
        let first = checked.tally.clone();
        let before = State {
            rope,
            recording: recording.clone(),
            checked: checked.clone(),
        };
        let after = self.follow(&before, &splices, &mut faultless)?;
        Ok(FixReport {
            unsafe_offers: unsafe_offers(&after.checked.findings),
            found: [first, after.checked.tally.clone()],
            rope: after.rope,
            recording: after.recording,
            applied: vec![applied],
            respelled: 0,
            torn: 0,
            is_cut: false,
            refused: Vec::new(),
        })
    }
}
