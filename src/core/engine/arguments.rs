//! When the arguments of two calls are the same: as JSON, not as text.

use serde_json::{Number, Value};

/// Whether two arguments say the same: equal JSON, or, where one of them is no JSON, equal text. Nothing at
/// all counts as `{}`.
pub fn says_the_same(one: &str, other: &str) -> bool {
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => is_same(&one, &other),
        _ => one == other,
    }
}

/// Arguments as JSON; `None` where they are none.
pub fn parsed(arguments: &str) -> Option<Value> {
    if arguments.trim().is_empty() {
        return Some(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(arguments).ok()
}

/// Whether two values are the same: members in any order, numbers by what they are worth.
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(name, value)| {
                let found = other.get::<str>(name);
                found.is_some_and(|other| is_same(value, other))
            };
            one.len() == other.len()
                && one
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .all(has_same)
        }
        _ => one == other,
    }
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    // Large whole numbers, such as ids, stay different that would be equal as floating point.
    if one.is_f64() || other.is_f64() {
        one.as_f64() == other.as_f64()
    } else {
        one == other
    }
}

#[cfg(test)]
mod tests {
    use super::says_the_same;

    #[test]
    fn spelling_and_order_tell_nothing_apart() {
        for (one, other) in [
            ("{\"a\":1,\"b\":[2]}", "{ \"b\": [2.0], \"a\": 1e0 }"),
            ("{\"a\":\"\\u0041\"}", "{\"a\":\"A\"}"),
            ("", "{}"),
            ("free text", "free text"),
        ] {
            assert!(says_the_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_differs_differs() {
        for (one, other) in [
            ("{\"a\":1}", "{\"a\":2}"),
            ("{\"a\":1}", "{\"a\":1,\"b\":null}"),
            ("{\"a\":[1,2]}", "{\"a\":[2,1]}"),
            ("{\"a\":9007199254740993}", "{\"a\":9007199254740992}"),
            ("{\"a\":1}", "{\"a\":\"1\"}"),
            ("free text", "Free text"),
        ] {
            assert!(!says_the_same(one, other), "{one} {other}");
        }
    }
}
