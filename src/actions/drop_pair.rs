//! drop-pair: call, outputs and the reasoning that led to the call leave the history.

use super::belonging::drop_all;
use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Family, Flags, Kind, index_number};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    let item = scene.item()?;
    let partner = scene.session().pairing.partner(scene.item as usize);
    let partner = partner.map(index_number);
    let (call, output) = match item.kind {
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => (Some(scene.item), partner),
        Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => (partner, Some(scene.item)),
        _ => return Err(Refusal::WrongKind("call, and no output of one")),
    };
    let mut going = call.into_iter().chain(output).collect::<Vec<_>>();
    if let Some(call) = call {
        if scene.at(call)?.family == Family::Program {
            return Err(Refusal::NotInDialect(
                "the calls that the program made belong to it: retry the turn instead".to_owned(),
            ));
        }
        let first = scene.session().pairing.partner(call as usize);
        going.extend(first.map(index_number));
        going.extend(scene.around.further_outputs(call));
    }
    going.sort_unstable();
    going.dedup();
    let mut planned = drop_all(scene, &going)?;
    let ran = output.filter(|_| call.is_some_and(|call| is_clean(scene, call)));
    if ran.is_some_and(|output| is_clean(scene, output)) {
        planned.note(format!(
            "{} ran; the model will not know of it",
            scene.tool(scene.item)
        ));
    }
    Ok(planned)
}

fn is_clean(scene: &Scene<'_>, index: u32) -> bool {
    let failed = Flags::ERROR;
    scene
        .at(index)
        .is_ok_and(|item| !item.flags.has(failed) && !item.flags.has(Flags::REJECTED))
}
