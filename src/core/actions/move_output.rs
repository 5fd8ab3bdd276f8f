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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::stage::{USER, history, only, stage};

    #[test]
    fn an_output_behind_a_message_goes_to_its_call() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let out = r#"{"role":"tool","tool_call_id":"a","content":"1"}"#;
        let late = stage(&history(&[USER, call, USER, out, USER]));
        let planned = late
            .mend("misplaced-output", "move-output", &Choice::default())
            .unwrap();
        assert_eq!(only(&planned), &Edit::Move { output: 3, call: 1 });
        let fine = stage(&history(&[USER, call, out, USER]));
        assert_eq!(
            fine.act(2, "move-output", &Choice::default()),
            Err(Refusal::NothingToDo)
        );
        assert!(matches!(
            fine.act(1, "move-output", &Choice::default()),
            Err(Refusal::WrongKind(_))
        ));
    }
}
