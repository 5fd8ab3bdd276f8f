//! fallback: a value is accepted as the final message, or as the output of a tool.
//!
//! It is checked against the schema before it is accepted, replays nothing, and says whether it enters the history. A final message
//! is added behind what the model said, as openai-agents' error handlers do; one that does not enter the history is the result of the
//! take and changes nothing else. The output of a tool always enters it: the model asked for it.

use super::close_turn;
use super::evidence::check_value;
use super::supply_output;
use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Edit, Kind, Voice};

/// Rules about how a run ends, whatever item their findings point at.
const OF_THE_END: &[&str] = &[
    "invalid-final-output",
    "missing-final-output",
    "refused",
    "truncated-response",
    "turn-limit",
];

pub(super) fn plan(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    let is_half = matches!(scene.item()?.kind, Kind::Call | Kind::Output);
    if is_half && !OF_THE_END.contains(&scene.defect.rule) {
        return supply_output::supply(scene, choice.needed("the output")?);
    }
    final_message(scene, choice)
}

fn final_message(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    let turn = scene.reply()?;
    let value = choice.needed("the final message")?;
    let schema = scene.session().contract.output_schema.as_ref();
    check_value(
        value,
        schema.map(|schema| &schema.schema),
        "the final output",
    )?;
    let mut planned = Planned {
        result: Some(value.to_owned()),
        ..Planned::default()
    };
    if !choice.include_in_history {
        planned.note("the value is the result of the take and enters no history");
        return Ok(planned);
    }
    close_turn::answer_what_is_open(scene, turn, None, &mut planned)?;
    planned.edits.push(Edit::Say {
        after: turn.end.saturating_sub(1),
        voice: Voice::Assistant,
        text: value.to_owned(),
    });
    Ok(planned)
}
