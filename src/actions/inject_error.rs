//! inject-error: the call is answered with an error that the model can read.

use super::answer::{answer, ends_on_outputs};
use super::evidence::{ordinal, render};
use super::{Choice, Defect, Planned, Refusal, Scene};
use crate::dialects::write::replace_arguments;
use crate::repair::{Repair, repair};
use crate::session::{Dialect, Edit, Family, Kind, Shape};
use serde_json::{Value, json};

/// Rules about calls that are faulty in themselves, the most telling one first: what is wrong with a call says more than that it was
/// not answered.
const FAULTS: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "duplicate-argument-key",
    "invalid-arguments",
    "orphan-call",
];

pub(super) fn plan(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    let mut planned = Planned::default();
    let call = scene.call()?;
    tell(scene, call, choice, &mut planned)?;
    if choice.whole_turn {
        for other in faulty_calls(scene, call)? {
            if scene.awaits_approval(other) {
                planned.note(format!(
                    "the call at item {} awaits an approval and is left alone",
                    ordinal(other)
                ));
            } else {
                tell(scene, other, choice, &mut planned)?;
            }
        }
    }
    planned.asks_model = ends_on_outputs(scene, &planned);
    Ok(planned)
}

/// The other faulty calls of the turn, each once, in their order.
fn faulty_calls(scene: &Scene<'_>, call: u32) -> Result<Vec<u32>, Refusal> {
    let turn = scene.turn(call)?;
    let faulty = scene.beside.iter();
    let faulty = faulty.filter(|defect| FAULTS.contains(&defect.rule));
    let mut calls = faulty
        .filter_map(|defect| defect.item)
        .filter(|index| *index != call && turn.items().contains(&(*index as usize)))
        .filter(|index| scene.at(*index).is_ok_and(|item| item.kind == Kind::Call))
        .collect::<Vec<_>>();
    calls.sort_unstable();
    calls.dedup();
    Ok(calls)
}

fn tell(
    scene: &Scene<'_>,
    call: u32,
    choice: &Choice<'_>,
    planned: &mut Planned,
) -> Result<(), Refusal> {
    let defect = telling(scene, call);
    let text = render(scene, &defect, call, choice.words)?;
    answer(scene, call, text, true, planned)?;
    keep_replayable(scene, call, planned)
}

/// The defect that the model is told about. That a call was not answered is only what came of its fault.
fn telling<'a>(scene: &Scene<'a>, call: u32) -> Defect<'a> {
    let rank = |defect: &&Defect<'_>| {
        let place = FAULTS.iter().position(|rule| *rule == defect.rule);
        place.unwrap_or(FAULTS.len())
    };
    let own = scene.defect;
    let is_own = own.item == Some(call) || scene.item == call || scene.call() == Ok(call);
    if is_own && own.rule != "orphan-call" && own.rule != "pending-call" {
        return own;
    }
    let known = scene.defects_of(call).min_by_key(rank).copied();
    known.unwrap_or(Defect {
        item: Some(call),
        ..Defect::default()
    })
}

/// Anthropic and Gemini take arguments as an object only: broken ones would make every later request fail, whatever answers the call.
fn keep_replayable(scene: &Scene<'_>, call: u32, planned: &mut Planned) -> Result<(), Refusal> {
    let item = scene.at(call)?;
    let takes_objects = item.shape == Shape::Anthropic
        || matches!(scene.target, Dialect::Anthropic | Dialect::Gemini);
    if !takes_objects || !matches!(item.family, Family::Function | Family::Legacy) {
        return Ok(());
    }
    let body = scene.body(call)?;
    let Some(text) = body.arguments.json() else {
        return Ok(());
    };
    let is_object =
        |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    let is_quoted = item.shape == Shape::Anthropic
        && matches!(body.arguments, crate::dialects::Arguments::Text(_));
    if is_object(text) && !is_quoted {
        return Ok(());
    }
    let (json, what) = match repair(text) {
        Repair::Valid if is_object(text) => (text.to_owned(), "the object that they quote"),
        Repair::Likely { text } if is_object(&text) => (text, "what they probably meant"),
        _ => (
            json!({ "_raw": text }).to_string(),
            "{\"_raw\": ...}, which holds them as text",
        ),
    };
    planned.note(format!(
        "the provider takes only an object as arguments: those at item {} become {what}",
        ordinal(call)
    ));
    let patch = replace_arguments(item, &scene.bytes(call)?, &json)?;
    planned.edits.push(Edit::Rewrite {
        item: call,
        patches: vec![patch],
    });
    Ok(())
}
