//! relink: an entry whose parent is not there hangs on the entry before it in the file.

use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Edit, Flags};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    if !scene.item()?.flags.has(Flags::BROKEN_CHAIN) {
        return Err(ActionError::NothingToDo);
    }
    Ok(Plan::of(vec![Edit::Relink { item: scene.item }]))
}
