//! Last replies that say nothing, or not what was asked for.

use super::arguments::broken;
use super::inject::NotHere;
use super::reply::Reply;
use super::request::Request;
use crate::dice::Dice;
use crate::schema::Validator;
use serde_json::Value;

/// What models say where JSON is asked for.
const PROSE: &[&str] = &[
    "I have everything that you asked for. Is there anything else?",
    "Done! Here is the result:",
    "Sure, I can help with that.",
];

pub(super) fn empty(_: &Request, reply: &mut Reply, _: &mut Dice) -> Result<(), NotHere> {
    if !reply.is_final() || reply.text().is_empty() {
        return Err(NotHere::NotFinal);
    }
    reply.say("");
    Ok(())
}

/// Prose where JSON is asked for, or JSON that breaks the schema.
pub(super) fn wrong(request: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(), NotHere> {
    let schema = request.output_schema.as_ref();
    if schema.is_none() && !request.wants_json {
        return Err(NotHere::NoOutputSchema);
    }
    if !reply.is_final() {
        return Err(NotHere::NotFinal);
    }
    if schema.is_some_and(|schema| Validator::compile_either(schema).is_err()) {
        return Err(NotHere::NoSchema);
    }
    let said = serde_json::from_str(&reply.text()).ok();
    let object = said
        .as_ref()
        .zip(schema)
        .and_then(|(object, schema)| broken(schema, object, dice));
    let prose = PROSE[dice.below(PROSE.len())];
    let text = match object {
        Some(object) if dice.below(2) == 0 => Value::Object(object).to_string(),
        _ => prose.to_owned(),
    };
    reply.say(&text);
    Ok(())
}
