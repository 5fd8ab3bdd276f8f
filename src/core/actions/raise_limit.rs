//! raise-limit: only a run that goes on can ask with another limit.

use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    scene.item()?;
    Err(ActionError::Elsewhere(
        "a recording has no limit to raise: retry the turn in a live run, with a higher one",
    ))
}
