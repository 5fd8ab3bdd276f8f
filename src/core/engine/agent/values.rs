//! What single values of an agent file say: times, words, JSON, addresses, headers, names of variables.

use super::Header;
use super::fault::Wrong;
use crate::config::duration;
use crate::engine::Millis;
use crate::session::Dialect;
use crate::wire::SPOKEN;
use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// Longest name of an environment variable.
const VARIABLE: usize = 128;

/// How keys of known providers begin, and how long what follows is at least.
const KEYS: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "hf_",
];
const KEY: usize = 16;

/// Headers whose values are secrets.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];
/// Headers that belong to the connection (RFC 9110), or to the body.
const OWN_HEADERS: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "upgrade",
];

/// A whole number above 0.
pub(super) fn count(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    let number = u32::from_str_radix(number.as_str(), number.radix()).ok()?;
    (number > 0).then_some(number)
}

/// A time that something may take.
pub(super) fn time(text: &str) -> Option<Millis> {
    duration(text).filter(|time| *time > 0)
}

pub(super) fn dialect(word: &str) -> Option<Dialect> {
    SPOKEN.into_iter().find(|dialect| dialect.word() == word)
}

/// A table as JSON; `Err` names what JSON does not know.
pub(super) fn object(table: &DeTable<'_>) -> Result<Map<String, Value>, &'static str> {
    let members = table.iter();
    let members =
        members.map(|(key, value)| Ok((key.get_ref().to_string(), json(value.get_ref())?)));
    members.collect()
}

fn json(value: &DeValue<'_>) -> Result<Value, &'static str> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(number) => {
            let (text, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(text, radix).map(Value::from);
            let number = signed.or_else(|_| u64::from_str_radix(text, radix).map(Value::from));
            number.map_err(|_| "a number of more than 64 bits")?
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or("a number that is infinite or none")?)
        }
        DeValue::Datetime(_) => return Err("a date"),
        DeValue::Array(list) => {
            let list = list.iter().map(|value| json(value.get_ref()));
            Value::Array(list.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Object(object(table)?),
    })
}

/// Whether a text can name an environment variable (POSIX: letters, digits and underscores, no digit first).
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.len() <= VARIABLE
        && name.bytes().all(is_letter)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a part of a text looks like the key of a known provider.
pub(super) fn holds_key(text: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let words = text.split(|character| !is_letter(character));
    words.into_iter().any(|word| {
        let rest = KEYS.iter().find_map(|start| word.strip_prefix(start));
        rest.is_some_and(|rest| rest.len() >= KEY)
    })
}

/// The name of an environment variable.
pub(super) fn variable(key: &'static str, text: &str) -> Result<String, Wrong> {
    // A key of one kind of letters could be a name, but nobody calls a variable so.
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    let is_mixed = text.len() > 20
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit);
    if holds_key(text) || is_mixed {
        return Err(Wrong::Secret(key));
    }
    if !is_variable(text) {
        return Err(Wrong::NoVariable(key));
    }
    Ok(text.to_owned())
}

/// An address of a server.
pub(super) fn address(key: &'static str, text: &str) -> Result<String, Wrong> {
    let refused = |why| Err(Wrong::Address { key, why });
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return refused("it begins with http:// or https://");
    };
    if text
        .chars()
        .any(|character| character.is_control() || character.is_whitespace())
    {
        return refused("there is white space in it");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Wrong::Secret(key));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return refused("it names no host");
    }
    if text.contains('#') || (key == "base_url" && text.contains('?')) {
        return refused("nothing may follow its path");
    }
    if holds_key(text) {
        return Err(Wrong::Secret(key));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// A header: its value may end with `env:NAME`, at its beginning or behind a space.
pub(super) fn header(name: &str, value: &str) -> Result<Header, Wrong> {
    // RFC 9110: a token.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 100 || !name.bytes().all(is_token) {
        return Err(Wrong::Header(
            "a name is made of letters, digits and hyphens",
        ));
    }
    let is_among = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is_among(&OWN_HEADERS) {
        return Err(Wrong::Header("one of them is set by the client itself"));
    }
    if value.chars().any(char::is_control) {
        return Err(Wrong::Control("headers"));
    }
    let split = match value.rsplit_once(' ') {
        Some((_, last)) if last.starts_with("env:") => value.split_at(value.len() - last.len()),
        _ => ("", value),
    };
    let (text, env) = match split.1.strip_prefix("env:") {
        Some(variable_name) => (split.0, Some(variable("headers", variable_name)?)),
        None => (value, None),
    };
    if holds_key(text) || (env.is_none() && is_among(&SECRET_HEADERS)) {
        return Err(Wrong::Header("a value is a secret"));
    }
    Ok(Header {
        name: name.to_owned(),
        text: text.to_owned(),
        env,
    })
}
