//! wait: nothing is broken, somebody else decides.

use super::{Choice, Planned, Refusal, Scene};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    scene.item()?;
    Err(Refusal::Elsewhere(if scene.awaits_approval(scene.item) {
        "it is decided in the program that asked; the run goes on from there"
    } else {
        "the output is still to come: the run that made this recording brings it"
    }))
}
