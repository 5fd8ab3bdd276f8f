//! move-output: an output goes to where the provider wants it.

use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Edit, Kind, PairStatus};
use crate::wire::{Misplacement, misplaced};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let output = scene.item;
    let (Kind::Output, PairStatus::Paired(call)) = (scene.item()?.kind, scene.standing(output))
    else {
        return Err(ActionError::WrongKind("a result with a call"));
    };
    scene.may_touch(output)?;
    scene.may_touch(call)?;
    if scene.defect.rule != "misplaced-output" && !is_misplaced(scene) {
        return Err(ActionError::NothingToDo);
    }
    Ok(Plan::of(vec![Edit::Move { output, call }]))
}

fn is_misplaced(scene: &ActionContext<'_>) -> bool {
    let found = misplaced(scene.session(), scene.target);
    found.iter().any(|misplaced| {
        let about_text = matches!(
            misplaced.fact,
            Misplacement::TextBehindCall(_) | Misplacement::OpensHistory
        );
        misplaced.item == scene.item as usize && !about_text
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history, only};

    #[test]
    fn an_output_after_a_message_moves_to_its_call() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let out = r#"{"role":"tool","tool_call_id":"a","content":"1"}"#;
        let late = fixture(&history(&[USER, call, USER, out, USER]));
        let planned = late
            .apply("misplaced-output", "move-output", &ActionInput::default())
            .unwrap();
        assert_eq!(only(&planned), &Edit::Move { output: 3, call: 1 });
        let fine = fixture(&history(&[USER, call, out, USER]));
        assert_eq!(
            fine.act(2, "move-output", &ActionInput::default()),
            Err(ActionError::NothingToDo)
        );
        assert!(matches!(
            fine.act(1, "move-output", &ActionInput::default()),
            Err(ActionError::WrongKind(_))
        ));
    }
}
