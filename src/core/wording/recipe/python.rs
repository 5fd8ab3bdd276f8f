//! Texts and JSON values as literals of Python.

/// A text as a literal of Python. What is neither ASCII nor a letter or digit is escaped, so that nothing in it
/// can hide in an editor.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(character),
            _ if character.is_alphanumeric() => literal.push(character),
            _ => literal.push_str(&escaped(character)),
        }
    }
    literal.push('"');
    literal
}

fn escaped(character: char) -> String {
    match u32::from(character) {
        number @ ..=0xffff => format!("\\u{number:04x}"),
        number => format!("\\U{number:08x}"),
    }
}

/// A JSON value as a literal of Python.
pub(super) fn literal(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items = items.iter().map(literal).collect::<Vec<_>>();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), literal(value));
            let members = members.iter().map(member).collect::<Vec<_>>();
            format!("{{{}}}", members.join(", "))
        }
    }
}
