//! relink: an entry whose parent is not there hangs on the entry before it in the file.

use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Edit, Flags};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    if !scene.item()?.flags.has(Flags::BROKEN_CHAIN) {
        return Err(Refusal::NothingToDo);
    }
    Ok(Planned::of(vec![Edit::Relink { item: scene.item }]))
}
