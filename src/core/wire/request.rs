//! Requests to a model: the first one of a run, and a history with the settings of the run laid over it.
//!
//! Each part has its member in each API (request bodies of the OpenAI, Anthropic and Gemini API references).

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::head::RequestHead;
use super::object::{Member, members_at, quoted};
use super::route::{Route, encoded};
use crate::json::{JsonError, skip_whitespace, unescape};
use crate::session::{Dialect, MessageRole, OutputSchema, Tool, ToolKind};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A tool as the model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub tool: Tool,
    /// Whether the provider is to keep the model to the schema; `None` leaves it to the provider.
    pub strict: Option<bool>,
}

/// What is laid over a history when it is sent.
#[derive(Debug, Clone, Copy)]
pub struct RequestSettings<'a> {
    /// How the provider spells it.
    pub dialect: Dialect,
    pub model: &'a str,
    /// Most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// The member of Chat that holds it: the API has two.
    pub max_tokens_key: &'static str,
    /// Further members of the body. Objects are merged member by member, all else replaces what is there.
    pub members: &'a Map<String, Value>,
}

/// What a run begins with.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// What the model reads before all else; empty where there is nothing.
    pub instructions: &'a str,
    /// The first message of the user; without it the history is empty.
    pub input: Option<&'a str>,
    pub tools: &'a [Offered],
    /// What the final output must look like.
    pub output_schema: Option<&'a OutputSchema>,
}

/// The body that begins a run: model, limit, instructions, history, tools, output schema, settings, in this
/// order. Messages and tools stand on lines of their own.
pub fn first_request(
    opening: &Opening<'_>,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, NoRequest> {
    let dialect = settings.dialect;
    let mut members = vec![format!("\"model\":{}", quoted(settings.model))];
    let facts = dialect.facts();
    let mut laid = settings.members.clone();
    if let Some(limit) = settings.max_tokens.or(facts.default_limit) {
        match facts.settings_key {
            Some(_) => set_limit(&mut laid, settings, limit),
            None => members.push(format!("\"{}\":{limit}", limit_key(settings))),
        }
    }
    let mut messages = Vec::new();
    if !opening.instructions.is_empty() {
        let text = dialect.codec().instructions(opening.instructions);
        match facts.instructions_key {
            Some(key) => members.push(format!("\"{key}\":{text}")),
            None => messages.push(format!(r#"{{"role":"system","content":{text}}}"#)),
        }
    }
    let input = opening.input;
    messages.extend(input.map(|text| dialect.codec().message(MessageRole::User, text)));
    members.push(list(facts.history_key, &messages));
    let tools = opening.tools.iter();
    let tools = tools.map(|offered| tool_definition(dialect, offered).to_string());
    let [opens, closes] = facts.tools_member;
    members.push(match tools.collect::<Vec<_>>() {
        tools if tools.is_empty() => facts.no_tools.to_owned(),
        tools => format!("{opens}\n{}\n{closes}", tools.join(",\n")),
    });
    if let Some(schema) = opening.output_schema {
        let (key, setting) = dialect.codec().output_setting(schema);
        members.push(format!("\"{key}\":{setting}"));
    }
    members.retain(|member| !member.is_empty());
    let body = format!("{{{}}}\n", members.join(",\n"));
    laid_over(body.as_bytes(), &laid, &[])
}

/// A history as it is sent: the model, its settings and how the reply comes are laid over it, all else
/// stays byte for byte.
///
/// Fails where the body is no JSON object.
pub fn wire_request(
    body: &[u8],
    settings: &RequestSettings<'_>,
    stream: bool,
) -> Result<Vec<u8>, NoRequest> {
    let keys = keys(body)?;
    let has = |key: &str| keys.iter().any(|known| known == key);
    let mut laid = settings.members.clone();
    laid.insert("model".to_owned(), settings.model.into());
    let limit_key = limit_key(settings);
    let is_missing = !has(limit_key) && !laid.contains_key(limit_key);
    let facts = settings.dialect.facts();
    let usual = facts.default_limit.filter(|_| is_missing);
    if let Some(limit) = settings.max_tokens.or(usual) {
        set_limit(&mut laid, settings, limit);
    }
    let mut without = Vec::new();
    if facts.limit_keys.iter().any(|key| laid.contains_key(*key)) {
        // Chat refuses a request that holds both.
        let mut others = facts.limit_keys.to_vec();
        others.retain(|key| !laid.contains_key(*key));
        without = others;
    }
    if stream {
        laid.insert("stream".to_owned(), true.into());
        if facts.tells_usage_last {
            // Without it no chunk tells the tokens.
            let options = laid.entry("stream_options").or_insert_with(|| json!({}));
            match options.as_object_mut() {
                Some(options) => {
                    options.insert("include_usage".to_owned(), true.into());
                }
                None => *options = json!({"include_usage": true}),
            }
        }
    } else {
        if has("stream") || laid.contains_key("stream") {
            laid.insert("stream".to_owned(), false.into());
        }
        // The API refuses it in a request that is not streamed.
        laid.shift_remove("stream_options");
        without.push("stream_options");
    }
    laid_over(body, &laid, &without)
}

/// Puts the limit of tokens where the dialect has it.
fn set_limit(laid: &mut Map<String, Value>, settings: &RequestSettings<'_>, limit: u32) {
    let key = limit_key(settings).to_owned();
    let Some(holder) = settings.dialect.facts().settings_key else {
        laid.insert(key, limit.into());
        return;
    };
    let holder = laid.entry(holder).or_insert_with(|| json!({}));
    if let Some(holder) = holder.as_object_mut() {
        holder.insert(key, limit.into());
    }
}

/// Where a request goes after the base of its provider, and its body: in a dialect with methods the path says
/// what `model` and `stream` say of it, and the body does not.
pub fn addressed(dialect: Dialect, body: &[u8]) -> (String, Cow<'_, [u8]>) {
    let facts = dialect.facts();
    let Some(methods) = facts.methods else {
        return (facts.path.to_owned(), Cow::Borrowed(body));
    };
    let head = RequestHead::read(dialect, body).unwrap_or_default();
    let separator = methods.separator;
    let model = match separator {
        '/' => encoded(&head.model),
        _ => head.model.rsplit('/').next().unwrap_or_default().to_owned(),
    };
    let before = format!("{}/{model}{separator}", facts.path);
    let path = match (head.streams, methods.query) {
        (true, "") => format!("{before}{}", methods.streamed),
        (true, query) => format!("{before}{}?{query}", methods.streamed),
        (false, _) => format!("{before}{}", methods.whole),
    };
    // What cannot be read the provider refuses.
    let left = laid_over(body, &Map::new(), &["model", "stream"]);
    (path, left.map_or(Cow::Borrowed(body), Cow::Owned))
}

/// A body that says what the path of its request says; itself where the path says nothing.
pub fn with_route<'a>(route: &Route, body: &'a [u8]) -> Cow<'a, [u8]> {
    let Some((model, streams)) = &route.asks else {
        return Cow::Borrowed(body);
    };
    let mut required = Map::new();
    required.insert("model".to_owned(), model.as_str().into());
    required.insert("stream".to_owned(), (*streams).into());
    // What is not an object is refused by whoever reads it.
    laid_over(body, &required, &[]).map_or(Cow::Borrowed(body), Cow::Owned)
}

fn limit_key(settings: &RequestSettings<'_>) -> &'static str {
    match settings.dialect.facts().limit_keys {
        [only] => only,
        _ => settings.max_tokens_key,
    }
}

/// A tool in the spelling of a dialect. One with free-form input gets a text where the dialect has no such tools.
pub fn tool_definition(dialect: Dialect, offered: &Offered) -> Value {
    let tool = &offered.tool;
    let is_free = tool.kind == ToolKind::Custom;
    let mut inside = Map::new();
    inside.insert("name".to_owned(), tool.name.as_str().into());
    if !tool.description.is_empty() {
        inside.insert("description".to_owned(), tool.description.as_str().into());
    }
    let facts = dialect.facts();
    let schema = match (&tool.parameters, is_free) {
        (_, true) if !facts.custom_tools => Some(
            json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}),
        ),
        (_, true) => None,
        (Some(parameters), false) => Some(parameters.clone()),
        (None, false) => Some(json!({"type": "object", "properties": {}})),
    };
    if let Some(schema) = schema {
        inside.insert(facts.schema_key.to_owned(), schema);
        if let Some(strict) = offered.strict {
            inside.insert("strict".to_owned(), strict.into());
        }
    }
    let of_type = if is_free { "custom" } else { "function" };
    dialect.codec().tool(of_type, inside)
}

/// A member that is a list, each element on a line of its own.
fn list(key: &str, elements: &[String]) -> String {
    if elements.is_empty() {
        return format!("\"{key}\":[]");
    }
    format!("\"{key}\":[\n{}\n]", elements.join(",\n"))
}

// Members laid over a JSON object: what they do not name stays byte for byte.

/// Why a text is not a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    /// A list, a text or nothing at all.
    #[error("a request body is a JSON object, and this is not one")]
    NoObject,
    /// It breaks off, or is no JSON.
    #[error("the request body cannot be read at byte {}: {}", .0.at, .0.kind)]
    NoJson(JsonError),
}

impl From<JsonError> for NoRequest {
    fn from(fault: JsonError) -> Self {
        Self::NoJson(fault)
    }
}

fn keys(object: &[u8]) -> Result<Vec<String>, NoRequest> {
    let (_, members) = members(object)?;
    let text = |member: Member<'_>| String::from_utf8_lossy(&unescape(member.key)).into_owned();
    Ok(members.into_iter().map(text).collect())
}

/// Lays members over an object and leaves some out. Objects are merged member by member; a key that is
/// twice is set twice, since readers differ in which of them counts.
fn laid_over(
    object: &[u8],
    set: &Map<String, Value>,
    without: &[&str],
) -> Result<Vec<u8>, NoRequest> {
    let (open, members) = members(object)?;
    let mut out = Vec::with_capacity(object.len() + 256);
    out.extend_from_slice(&object[..open]);
    let mut at = open;
    let mut is_first = true;
    for member in &members {
        let between = at..member.start;
        at = member.value.end;
        if without
            .iter()
            .any(|key| *unescape(member.key) == *key.as_bytes())
        {
            continue;
        }
        if is_first && between.start != open {
            // What stood before it is gone, and its comma with that.
            let space = skip_whitespace(object, open);
            out.extend_from_slice(&object[open..space]);
        } else {
            out.extend_from_slice(&object[between]);
        }
        is_first = false;
        let old = &object[member.value.clone()];
        out.extend_from_slice(&object[member.start..member.value.start]);
        let new = set
            .iter()
            .find(|(key, _)| *unescape(member.key) == *key.as_bytes());
        match new {
            Some((_, Value::Object(inner))) if old.first() == Some(&b'{') => {
                out.extend(laid_over(old, inner, &[])?);
            }
            Some((_, value)) => out.extend_from_slice(value.to_string().as_bytes()),
            None => out.extend_from_slice(old),
        }
    }
    let is_there = |key: &str| {
        members
            .iter()
            .any(|known| *unescape(known.key) == *key.as_bytes())
    };
    for (key, value) in set.iter().filter(|(key, _)| !is_there(key)) {
        if !is_first {
            out.extend_from_slice(b",\n");
        }
        is_first = false;
        let key = quoted(key);
        out.extend_from_slice(format!("{key}:{value}").as_bytes());
    }
    out.extend_from_slice(&object[at..]);
    Ok(out)
}

/// Where the object opens, after its bracket, and its members.
fn members(object: &[u8]) -> Result<(usize, Vec<Member<'_>>), NoRequest> {
    let open = skip_whitespace(object, 0);
    let members = members_at(object, 0)?;
    match object.get(open) {
        Some(b'{') => Ok((open + 1, members)),
        _ => Err(NoRequest::NoObject),
    }
}
