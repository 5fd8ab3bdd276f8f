//! A recovery as an entry of a policy: what to do about findings of its rule without asking.

use super::{RecipeError, RecoveryCase};
use crate::wording::{FailureKind, check, find, in_vain, reads_as_name, verb_of};
use toml::{Table, Value};

/// How often a policy asks the model again before it gives up.
const TIMES: i64 = 2;

/// The entry: TOML to add to the other entries of a policy.
pub fn policy(recovery: &RecoveryCase<'_>) -> Result<String, RecipeError> {
    let Some(verb) = verb_of(recovery.action) else {
        return Err(RecipeError::NoCounterpart(
            "a policy cannot do this by itself: it can inject, suggest, repair, retry, fall back, drop and release",
        ));
    };
    if let Some(why) = in_vain(recovery.rule, verb.word) {
        return Err(RecipeError::NoCounterpart(why));
    }
    let mut entry = Table::new();
    entry.insert("do".to_owned(), verb.word.into());
    if verb.has_wording && !recovery.template.is_empty() {
        check(recovery.template)?;
        entry.insert("wording".to_owned(), wording(recovery).into());
    }
    if verb.has_wording {
        entry.insert("times".to_owned(), TIMES.into());
        entry.insert("otherwise".to_owned(), "raise".into());
    }
    if verb.has_value {
        let Some(value) = recovery.value else {
            let reason = "choose the value of the fallback first".to_owned();
            return Err(RecipeError::Unfit(reason));
        };
        entry.insert(
            "include_in_history".to_owned(),
            recovery.include_in_history.into(),
        );
        entry.insert("value".to_owned(), as_toml(value)?);
    }
    let rules = Table::from_iter([(recovery.rule.to_owned(), Value::Table(entry))]);
    let document = Table::from_iter([("on".to_owned(), Value::Table(rules))]);
    toml::to_string(&document).map_err(|error| RecipeError::Unfit(error.to_string()))
}

/// The name where the library has these very words under it, else the words. Words that could be taken for
/// a name are quoted.
fn wording(recovery: &RecoveryCase<'_>) -> String {
    let known = |name: &str| FailureKind::of_rule(recovery.rule).and_then(|kind| find(kind, name));
    if known(recovery.wording).is_some_and(|known| known.template == recovery.template) {
        return recovery.wording.to_owned();
    }
    if reads_as_name(recovery.template) {
        return format!("{{{{ '{}' }}}}", recovery.template);
    }
    recovery.template.to_owned()
}

fn as_toml(value: &serde_json::Value) -> Result<Value, RecipeError> {
    use serde_json::Value as Json;
    let unfit = |reason: &str| RecipeError::Unfit(reason.to_owned());
    match value {
        Json::Null => Err(unfit(
            "a policy is TOML, which has no null: leave the member out",
        )),
        Json::Bool(value) => Ok(Value::Boolean(*value)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(Value::Integer(whole)),
            (None, Some(float)) if !number.is_u64() => Ok(Value::Float(float)),
            _ => Err(unfit(
                "a policy is TOML, which has no numbers as large as this",
            )),
        },
        Json::String(text) => Ok(Value::String(text.clone())),
        Json::Array(items) => {
            let items = items.iter().map(as_toml);
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        Json::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| Ok((key.clone(), as_toml(value)?)));
            Ok(Value::Table(members.collect::<Result<_, RecipeError>>()?))
        }
    }
}
