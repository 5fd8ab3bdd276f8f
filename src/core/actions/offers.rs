//! What each offer of a finding would do, or why it does not apply.

use super::{Action, Choice, Offer, Planned, Refusal, Safety, Scene, find};

/// An offer with what came of it.
#[derive(Debug, Clone)]
pub struct Tried {
    pub action: &'static Action,
    /// How safe it is for this finding.
    pub safety: Safety,
    /// What it would do with what was chosen so far, or why it does not apply.
    pub outcome: Result<Planned, Refusal>,
}

/// Tries every offer of a finding; nothing is changed.
pub fn offers_of(scene: &Scene<'_>, offers: &[Offer], choice: &Choice<'_>) -> Vec<Tried> {
    let known = offers
        .iter()
        .filter_map(|offer| Some((find(offer.action)?, offer.safety)));
    known
        .map(|(action, safety)| Tried {
            action,
            safety,
            outcome: (action.plan)(scene, choice),
        })
        .collect()
}
