//! Which offer of a finding is carried out.

use super::{ANSWER, FixRefusal, FixRefusalReason, Round};
use retake_core::actions::{self, ActionError, ActionInput, Defect, Offer, Plan, Safety};
use retake_core::rules::{Finding, Run, Severity};
use retake_core::session::Edit;

/// The offers of one finding.
pub(super) struct Offers<'a> {
    pub(super) place: (usize, u32),
    pub(super) finding: &'a Finding,
    pub(super) up_to: Safety,
    /// Whether an answered fault is fixed by an offer that comes before an answer.
    pub(super) goes_before_answers: bool,
}

impl Offers<'_> {
    /// The first that changes something by itself. If there is none, `round` gets the reasons why the
    /// safe ones are refused.
    pub(super) fn first(
        &self,
        run: &Run<'_>,
        beside: &[Defect<'_>],
        is_barred: impl Fn(&'static str) -> bool,
        round: &mut Round,
    ) -> Option<(Offer, Plan)> {
        let Round {
            refused, answered, ..
        } = round;
        // What the provider accepts is no reason to change what the model saw.
        let up_to = match self.finding.severity {
            Severity::Error => self.up_to,
            _ if self.finding.is_settled && self.goes_before_answers => self.up_to,
            Severity::Warning | Severity::Info => Safety::Safe,
        };
        let mut offers = self
            .finding
            .offers
            .iter()
            .filter(|offer| offer.safety <= up_to && !is_barred(offer.action))
            .peekable();
        offers.peek()?;
        let scene = run.scene(self.finding.defect(), beside)?;
        let known = refused.len();
        for offer in offers {
            let planned = (actions::find(offer.action)?.plan)(&scene, &ActionInput::default());
            match planned {
                Ok(planned) if changes_by_itself(&planned) => {
                    refused.truncate(known);
                    return Some((*offer, planned));
                }
                // The model has its answer: no other offer may undo that.
                Err(ActionError::NothingToDo) if offer.action == ANSWER => {
                    *answered += usize::from(self.finding.severity == Severity::Error);
                    return None;
                }
                Err(refusal) if self.is_worth_telling(*offer, &refusal) => {
                    refused.push(FixRefusal {
                        session: self.place.0,
                        item: self.place.1,
                        rule: self.finding.rule.id,
                        action: offer.action,
                        reason: FixRefusalReason::Action(refusal),
                    })
                }
                Ok(_) | Err(_) => {}
            }
        }
        None
    }

    fn is_worth_telling(&self, offer: Offer, refusal: &ActionError) -> bool {
        offer.safety == Safety::Safe
            && self.finding.severity > Severity::Info
            && !matches!(refusal, ActionError::Elsewhere(_))
    }
}

/// Whether a plan leads somewhere without a model: one that cuts the history waits for a new reply.
fn changes_by_itself(planned: &Plan) -> bool {
    let cuts = |edit: &Edit| matches!(edit, Edit::Cut { .. });
    !planned.edits.is_empty() && !planned.edits.iter().any(cuts)
}
