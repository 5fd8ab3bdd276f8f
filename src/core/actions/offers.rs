//! What each offer of a finding would do, or why it does not apply.

use super::{Action, ActionContext, ActionError, ActionInput, Offer, Plan, Safety, find};

/// An offer with what came of it.
#[derive(Debug, Clone)]
pub struct OfferPreview {
    pub action: &'static Action,
    /// How safe it is for this finding.
    pub safety: Safety,
    /// What it would do with what was chosen so far, or why it does not apply.
    pub outcome: Result<Plan, ActionError>,
}

/// Tries every offer of a finding; nothing is changed.
pub fn offers_of(
    scene: &ActionContext<'_>,
    offers: &[Offer],
    choice: &ActionInput<'_>,
) -> Vec<OfferPreview> {
    let known = offers
        .iter()
        .filter_map(|offer| Some((find(offer.action)?, offer.safety)));
    known
        .map(|(action, safety)| OfferPreview {
            action,
            safety,
            outcome: (action.plan)(scene, choice),
        })
        .collect()
}
