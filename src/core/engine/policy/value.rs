//! Values of a policy as JSON.

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeValue};

/// A value as a fallback takes it: a text as it is, anything else as JSON; or what JSON has no word for.
pub(super) fn of_fallback(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => json(value).map(|value| value.to_string()),
    }
}

fn json(value: &DeValue<'_>) -> Result<Value, &'static str> {
    Ok(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(number) => {
            let number = integer(number).ok_or("this number is too large")?;
            Value::Number(number.into())
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or("JSON has no such number")?)
        }
        DeValue::Datetime(_) => return Err("JSON has no dates: write it as a text"),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| json(item.get_ref()));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(members) => {
            let members = members.iter().map(|(key, value)| {
                let key = key.get_ref().clone().into_owned();
                Ok::<_, &'static str>((key, json(value.get_ref())?))
            });
            Value::Object(members.collect::<Result<Map<_, _>, _>>()?)
        }
    })
}

pub(super) fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
