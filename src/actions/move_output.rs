//! move-output: an output goes to where the provider wants it.

use super::{Choice, Planned, Refusal, Scene};
use crate::dialects::{Misplacement, misplaced};
use crate::session::{Edit, Kind, Standing};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    let output = scene.item;
    let (Kind::Output, Standing::Paired(call)) = (scene.item()?.kind, scene.standing(output))
    else {
        return Err(Refusal::WrongKind("output that has its call"));
    };
    scene.may_touch(output)?;
    scene.may_touch(call)?;
    if scene.defect.rule != "misplaced-output" && !is_misplaced(scene) {
        return Err(Refusal::NothingToDo);
    }
    Ok(Planned::of(vec![Edit::Move { output, call }]))
}

fn is_misplaced(scene: &Scene<'_>) -> bool {
    let found = misplaced(scene.session(), scene.target);
    found.iter().any(|misplaced| {
        let about_text = matches!(
            misplaced.fact,
            Misplacement::TextBehindCall(_) | Misplacement::OpensHistory
        );
        misplaced.item == scene.item as usize && !about_text
    })
}
