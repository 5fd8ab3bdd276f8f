//! Writes a spec, so that it can be read again.

use super::keys::CHANNELS;
use super::{Added, Assertion, Named, Spec, Which};
use crate::engine::agent::{Endpoint, Header, Model};
use crate::lab::Stop;
use serde_json::Value;
use std::fmt::{self, Write};

/// The spec as TOML. Written to a text, which cannot fail.
pub(super) fn write(spec: &Spec, to: &mut String) -> fmt::Result {
    line(to, "name", &text(&spec.name))?;
    line(to, "samples", &spec.samples)?;
    line(to, "concurrency", &spec.concurrency)?;
    maybe(to, "max_requests", spec.caps.requests.as_ref())?;
    maybe(to, "max_tokens", spec.caps.tokens.as_ref())?;
    line(to, "seed", &spec.seed)?;
    if let Stop::Clear { error_rate } = spec.stop {
        line(to, "stop", &text("clear"))?;
        line(to, "error_rate", &number(error_rate))?;
    }
    for finding in &spec.findings {
        which(to, finding)?;
    }
    writeln!(to, "\n[wordings]")?;
    line(to, "recorded", &spec.wordings.recorded)?;
    match &spec.wordings.named {
        Named::All => line(to, "named", &text("all"))?,
        Named::These(names) => {
            let names: Vec<String> = names.iter().map(|name| text(name)).collect();
            line(to, "named", &format_args!("[{}]", names.join(", ")))?;
        }
    }
    for words in &spec.wordings.added {
        added(to, words)?;
    }
    for asked in &spec.models {
        model(to, asked)?;
    }
    for assertion in &spec.assertions {
        assert(to, assertion)?;
    }
    Ok(())
}

fn which(to: &mut String, which: &Which) -> fmt::Result {
    writeln!(to, "\n[[finding]]")?;
    line(to, "path", &text(&which.path))?;
    maybe(to, "session", which.session.as_ref())?;
    maybe(to, "item", which.item.as_ref())?;
    maybe_text(to, "rule", which.rule.as_deref())?;
    maybe_text(to, "meant", which.meant.as_deref())?;
    maybe_text(to, "tools", which.tools.as_deref())
}

fn added(to: &mut String, words: &Added) -> fmt::Result {
    writeln!(to, "\n[[wordings.add]]")?;
    line(to, "name", &text(&words.name))?;
    line(to, "text", &text(&words.text))?;
    let channel = CHANNELS.iter().find(|(known, _)| *known == words.channel);
    maybe_text(to, "channel", channel.map(|(_, word)| *word))
}

fn model(to: &mut String, model: &Model) -> fmt::Result {
    writeln!(to, "\n[[model]]")?;
    line(to, "dialect", &text(model.dialect.word()))?;
    line(to, "name", &text(&model.name))?;
    let headers = match &model.at {
        Endpoint::Script { file, .. } => {
            line(to, "script", &text(file))?;
            &[][..]
        }
        Endpoint::Http {
            base_url,
            key_env,
            headers,
        } => {
            line(to, "base_url", &text(base_url))?;
            maybe_text(to, "key_env", key_env.as_deref())?;
            headers
        }
    };
    if !headers.is_empty() {
        let headers: Vec<String> = headers.iter().map(header).collect();
        line(to, "headers", &format_args!("{{ {} }}", headers.join(", ")))?;
    }
    line(to, "stream", &model.stream)?;
    line(to, "timeout", &format_args!("\"{}ms\"", model.timeout_ms))?;
    maybe(to, "max_tokens", model.max_tokens.as_ref())?;
    if model.settings.is_empty() {
        return Ok(());
    }
    line(
        to,
        "settings",
        &json(&Value::Object(model.settings.clone())),
    )
}

fn header(header: &Header) -> String {
    let variable = header.env.as_ref().map(|name| format!("env:{name}"));
    let value = format!("{}{}", header.text, variable.unwrap_or_default());
    format!("{} = {}", key(&header.name), text(&value))
}

fn assert(to: &mut String, assertion: &Assertion) -> fmt::Result {
    writeln!(to, "\n[[assert]]")?;
    line(to, "wording", &text(&assertion.wording))?;
    maybe(to, "at_least", assertion.at_least.map(number).as_ref())?;
    maybe_text(to, "better_than", assertion.better_than.as_deref())?;
    maybe_text(to, "model", assertion.model.as_deref())
}

fn line(to: &mut String, key: &str, value: &dyn fmt::Display) -> fmt::Result {
    writeln!(to, "{key} = {value}")
}

fn maybe<T: fmt::Display>(to: &mut String, key: &str, value: Option<&T>) -> fmt::Result {
    value.map_or(Ok(()), |value| line(to, key, value))
}

fn maybe_text(to: &mut String, key: &str, value: Option<&str>) -> fmt::Result {
    maybe(to, key, value.map(text).as_ref())
}

/// A text in quotes.
fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A key in quotes, which stands on one line.
fn key(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // Writing to a text cannot fail.
            _ if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A number with its point, which the shortest form of a small or large one may lack.
fn number(number: f64) -> String {
    format!("{number:?}")
}

/// JSON as TOML on one line. TOML has no null: a member without a value is left out.
fn json(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(whole) if !whole.is_f64() => whole.to_string(),
        Value::Number(broken) => number(broken.as_f64().unwrap_or_default()),
        Value::String(string) => text(string),
        Value::Array(list) => {
            let list = list.iter().filter(|value| !value.is_null()).map(json);
            format!("[{}]", list.collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members =
                members.map(|(key, value)| format!("{} = {}", self::key(key), json(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
