//! supply-output: the operator writes the output of a call.

use super::answer::{answer, ends_on_outputs, replace};
use super::evidence::check_value;
use super::{Choice, Planned, Refusal, Scene};
use crate::session::Kind;

pub(super) fn plan(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    supply(scene, choice.needed("the output")?)
}

/// Lets a call have this output; it is checked against the output schema of the tool.
pub(super) fn supply(scene: &Scene<'_>, text: &str) -> Result<Planned, Refusal> {
    let call = scene.call();
    if let Ok(call) = call {
        check(scene, call, text)?;
    }
    let mut planned = Planned::default();
    match scene.item()?.kind {
        Kind::Output => replace(scene, scene.item, text, false, &mut planned)?,
        _ => answer(scene, call?, text.to_owned(), false, &mut planned)?,
    }
    planned.asks_model = ends_on_outputs(scene, &planned);
    Ok(planned)
}

fn check(scene: &Scene<'_>, call: u32, text: &str) -> Result<(), Refusal> {
    let name = scene.at(call)?.name;
    let offered = scene.around.offered(call as usize);
    let tool = offered.and_then(|offered| offered.tool(name));
    let schema = tool.and_then(|tool| tool.output_schema.as_ref());
    check_value(text, schema, &format!("the output of {}", scene.tool(call)))
}
