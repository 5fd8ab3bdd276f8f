//! raise-limit: only a run that goes on can ask with another limit.

use super::{Choice, Planned, Refusal, Scene};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    scene.item()?;
    Err(Refusal::Elsewhere(
        "a recording has no limit to raise: retry the turn in a live run, with a higher one",
    ))
}
