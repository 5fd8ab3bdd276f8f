//! Arguments that are no JSON, that end in the middle, that break their schema.

use super::inject::NotHere;
use super::names::called;
use super::reply::Reply;
use super::request::Request;
use crate::dice::Dice;
use crate::schema::Validator;
use serde_json::{Map, Value, json};

/// The arguments of a call of a tool that is offered: its place, its tool, the text of an object.
fn sound(
    request: &Request,
    reply: &mut Reply,
    dice: &mut Dice,
) -> Result<(usize, String, String), NotHere> {
    let (place, tool) = called(request, reply, dice)?;
    let text = reply.calls().swap_remove(place).arguments;
    let text = text.trim().to_owned();
    let is_object = serde_json::from_str::<Map<String, Value>>(&text).is_ok();
    match is_object {
        true => Ok((place, tool, text)),
        false => Err(NotHere::BrokenAlready),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The arguments of a call of a tool that is offered, where a text can stand in their place.
fn text(request: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(usize, String), NotHere> {
    let (place, _, text) = sound(request, reply, dice)?;
    // Only a stream spells an object out letter by letter.
    let facts = request.dialect.facts();
    match facts.object_arguments && (!request.streams || facts.streams_objects) {
        true => Err(NotHere::HoldsObject),
        false => Ok((place, text)),
    }
}

/// Arguments as models spoil them.
pub(super) fn malformed(
    request: &Request,
    reply: &mut Reply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, text) = text(request, reply, dice)?;
    let inside = text.trim_start_matches('{').trim_end_matches('}').trim();
    let mut ways = vec![format!("{text}}}"), format!("{{{text}")];
    if !inside.is_empty() {
        ways.push(text.replace('"', "'"));
        ways.push(text.replacen("\":", "\" ", 1));
        ways.push(text.replacen("{\"", "{", 1));
    }
    ways.retain(|way| !is_json(way));
    let way = dice.pick(&ways).ok_or(NotHere::BrokenAlready)?;
    reply.set_arguments(place, way);
    Ok(())
}

/// Arguments that end in the middle.
pub(super) fn cut(request: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(), NotHere> {
    let (place, text) = text(request, reply, dice)?;
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    // At least half of them, so that it looks like what it is.
    let later = &ends[ends.len() / 2..];
    let end = dice.pick(later).copied().unwrap_or(1);
    reply.set_arguments(place, &text[..end]);
    Ok(())
}

/// Arguments without one that is required, or with one of another type.
pub(super) fn break_schema(
    request: &Request,
    reply: &mut Reply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, name, text) = sound(request, reply, dice)?;
    let tool = request.tool(&name).ok_or(NotHere::NoSchema)?;
    let schema = tool.parameters.as_ref().ok_or(NotHere::NoSchema)?;
    let arguments = serde_json::from_str(&text).map_err(|_| NotHere::BrokenAlready)?;
    let broken = broken(schema, &arguments, dice).ok_or(NotHere::NoSchema)?;
    reply.set_arguments(place, &Value::Object(broken).to_string());
    Ok(())
}

/// The object with one change that its schema does not allow; `None` where there is none that could be told.
pub(super) fn broken(
    schema: &Value,
    object: &Map<String, Value>,
    dice: &mut Dice,
) -> Option<Map<String, Value>> {
    let validator = Validator::compile_either(schema).ok()?;
    let breaks = |object: &Map<String, Value>| {
        let found = validator.violations(&Value::Object(object.clone()));
        found.is_ok_and(|found| !found.is_empty())
    };
    if breaks(object) {
        // It is broken already: nobody could tell this fault from that one.
        return None;
    }
    let mut ways = Vec::new();
    for key in object.keys() {
        let mut without = object.clone();
        without.shift_remove(key);
        ways.push(without);
        for other in [json!("about two"), json!(7), json!([]), json!({})] {
            let mut with = object.clone();
            with.insert(key.clone(), other);
            ways.push(with);
        }
    }
    dice.shuffle(&mut ways);
    ways.into_iter().find(breaks)
}
