//! wait: nothing is broken, somebody else decides.

use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    scene.item()?;
    Err(ActionError::Elsewhere(
        if scene.awaits_approval(scene.item) {
            "decide it in the program that requested it; the run continues from there"
        } else {
            "the output is still to come: the run that made this recording brings it"
        },
    ))
}
