//! What an item says, read from its bytes when it is shown or checked: the same view of all dialects.
//!
//! By the kind of the item, members of all dialects are read: items of agents' own formats have no dialect, and the
//! kind leaves no two meanings for a name. Only where a member holds the others is the dialect's to say.

use crate::json::{Cursor, Result, complete, display_text, lossy_text};
use crate::session::{Item, Kind, Session};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;

/// The readable content of one item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// Message text, reasoning summary, output text; parts are joined by line feeds, what is not text
    /// is named in brackets.
    pub text: String,
    /// Where the values that make up the text are in the item's bytes: strings, or other JSON that is shown as it is.
    pub texts_at: Vec<Range<usize>>,
    /// How many bytes of the text are reasoning that a Chat message has beside its content: the text begins with it.
    pub thought: usize,
    /// What a call was called with.
    pub arguments: Arguments,
    /// Where the value of the arguments is in the item's bytes.
    pub arguments_at: Option<Range<usize>>,
}

/// The arguments of a call as they stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Arguments {
    #[default]
    None,
    /// JSON text inside a string, as OpenAI sends it; escapes of the outer string are resolved.
    Text(String),
    /// A JSON value in place, as Anthropic and Gemini send it.
    Value(String),
    /// Free-form input of a custom tool; not JSON.
    FreeForm(String),
}

impl Arguments {
    /// The text that is, or should be, the JSON of the arguments; `None` for free-form input. No
    /// arguments count as `{}`.
    pub fn json(&self) -> Option<&str> {
        match self {
            Self::None => Some("{}"),
            Self::Text(text) | Self::Value(text) if text.trim().is_empty() => Some("{}"),
            Self::Text(text) | Self::Value(text) => Some(text),
            Self::FreeForm(_) => None,
        }
    }

    /// The arguments as they are written.
    pub fn as_written(&self) -> &str {
        match self {
            Self::None => "",
            Self::Text(text) | Self::Value(text) | Self::FreeForm(text) => text,
        }
    }
}

/// The body of an item as far as its first `limit` bytes hold it; `None` where they cannot be read.
pub fn body_within(session: &Session, item: &Item, limit: u64) -> Option<Body> {
    let head = item.span.head(limit);
    let bytes = session.source.read(head).ok()?;
    match head.len() < item.span.len() {
        true => body_of(item, &complete(&bytes)).ok(),
        false => body_of(item, &bytes).ok(),
    }
}

/// Reads the body of an item from its bytes. Fails where the bytes are not JSON; the item is then shown raw.
pub fn body_of(item: &Item, bytes: &[u8]) -> Result<Body> {
    let (mut thought, mut body) = thought_and_body(item, bytes)?;
    if thought.text.is_empty() {
        return Ok(body);
    }
    body.thought = thought.text.len();
    if !body.text.is_empty() {
        push_line(&mut thought.text, &body.text);
    }
    body.text = thought.text;
    body.texts_at.splice(0..0, thought.texts_at);
    Ok(body)
}

/// A call with its arguments as a value in the member `arguments`, in every dialect: as an expression is to find them.
/// Other items, and arguments that are no JSON, as they are.
pub fn with_parsed_arguments<'b>(item: &Item, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let is_call = matches!(
        item.kind,
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest
    );
    let parsed = || {
        let body = body_of(item, bytes).ok()?;
        let arguments: Value = serde_json::from_str(body.arguments.json()?).ok()?;
        let mut members: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        members.insert("arguments".to_owned(), arguments);
        serde_json::to_vec(&members).ok()
    };
    let parsed = is_call.then(parsed).flatten();
    parsed.map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// What an item says, without the reasoning that a Chat message may have beside its text: a client need
/// not send that again.
pub fn body_without_reasoning(item: &Item, bytes: &[u8]) -> Result<Body> {
    Ok(thought_and_body(item, bytes)?.1)
}

/// The reasoning that a message has beside its text, and all else that an item says.
fn thought_and_body(item: &Item, bytes: &[u8]) -> Result<(Body, Body)> {
    let (mut thought, mut body) = (Body::default(), Body::default());
    let mut cursor = Cursor::new(bytes);
    if cursor.peek() != Some(b'{') {
        collect_text(&mut cursor, &mut body)?;
        return Ok((thought, body));
    }
    cursor.object(|cursor, key| match (item.kind, key) {
        // Servers that write both write the same twice.
        (Kind::Assistant, b"reasoning_content" | b"reasoning") => match thought.text.is_empty() {
            true => collect_text(cursor, &mut thought),
            false => Ok(()),
        },
        _ => read_member(item, cursor, key, &mut body, 0),
    })?;
    Ok((thought, body))
}

/// Members of an item that hold its members nest twice at most (`reasoningContent.reasoningText` of Bedrock); of
/// deeper ones nothing is read, so no text can exhaust the stack.
const ENVELOPES: usize = 2;

fn read_member(
    item: &Item,
    cursor: &mut Cursor<'_>,
    key: &[u8],
    body: &mut Body,
    depth: usize,
) -> Result<()> {
    match (item.kind, key) {
        (
            Kind::Call | Kind::HostedCall | Kind::ApprovalRequest,
            b"arguments" | b"input" | b"action" | b"operation" | b"code" | b"args",
        ) => read_arguments(item, cursor, key, body),
        (kind, key) if depth < ENVELOPES && is_envelope(item, kind, key) => cursor
            .object(|cursor, key| match key {
                b"response" if kind != Kind::Call => collect_response(cursor, body),
                _ => read_member(item, cursor, key, body, depth + 1),
            })
            .map(|_| ()),
        (Kind::Call, _) => Ok(()),
        (Kind::HostedCall, b"output" | b"error" | b"results" | b"result") => {
            collect_text(cursor, body)
        }
        (
            Kind::Output | Kind::HostedOutput,
            b"output" | b"content" | b"result" | b"response" | b"tools",
        ) => collect_text(cursor, body),
        (Kind::Reasoning, b"summary" | b"content" | b"thinking" | b"text") => {
            collect_text(cursor, body)
        }
        (
            Kind::System | Kind::User | Kind::Assistant | Kind::Other,
            b"content" | b"text" | b"refusal" | b"reasoning_content" | b"parts",
        ) => collect_text(cursor, body),
        (Kind::ApprovalResponse, b"approve" | b"reason") => collect_text(cursor, body),
        (
            Kind::Compaction | Kind::Notice,
            b"content" | b"message" | b"summary" | b"reason" | b"subtype",
        ) => collect_text(cursor, body),
        _ => Ok(()),
    }
}

/// Whether a member holds the members of an item.
fn is_envelope(item: &Item, kind: Kind, key: &[u8]) -> bool {
    let of_codec = item.codec().map_or(&[][..], |codec| codec.envelopes(kind));
    (kind == Kind::Notice && key == b"payload")
        || of_codec.iter().any(|name| name.as_bytes() == key)
}

fn read_arguments(item: &Item, cursor: &mut Cursor<'_>, key: &[u8], body: &mut Body) -> Result<()> {
    let is_string = cursor.peek() == Some(b'"');
    let range = cursor.skip()?;
    let raw = &cursor.bytes()[range.clone()];
    let free_form = item.family == crate::session::Family::Custom || key == b"code";
    body.arguments = match (is_string, free_form) {
        (true, true) => Arguments::FreeForm(display_text(&raw[1..raw.len() - 1]).into_owned()),
        (true, false) => Arguments::Text(display_text(&raw[1..raw.len() - 1]).into_owned()),
        (false, true) => Arguments::FreeForm(lossy_text(raw).into_owned()),
        (false, false) if raw == b"null" => Arguments::None,
        (false, false) => Arguments::Value(lossy_text(raw).into_owned()),
    };
    body.arguments_at = Some(range);
    Ok(())
}

/// The members that hold all of what a tool answered: by the Gemini API reference, and as its SDKs write them.
const ANSWERS: &[&[u8]] = &[b"output", b"error", b"result", b"content"];

/// Adds what a tool answered: the text where the object holds nothing else, or else the object.
fn collect_response(cursor: &mut Cursor<'_>, body: &mut Body) -> Result<()> {
    let start = cursor.position();
    let (mut only, mut members) = (None, 0);
    cursor.object(|cursor, key| {
        members += 1;
        if ANSWERS.contains(&key) && cursor.peek() == Some(b'"') {
            only = Some(cursor.skip()?);
        }
        Ok(())
    })?;
    match only {
        Some(answer) if members == 1 => push_string(body, cursor.bytes(), answer),
        _ => collect_text(&mut Cursor::at(cursor.bytes(), start), body)?,
    }
    Ok(())
}

/// Adds the text of a value: strings as they are, parts by their text, other values as JSON.
fn collect_text(cursor: &mut Cursor<'_>, body: &mut Body) -> Result<()> {
    collect_within(cursor, body, 0)
}

/// Lists nest once (a tool result holds parts); what hides deeper than this is shown as JSON, and no text
/// can exhaust the stack.
const LISTS: usize = 8;

fn collect_within(cursor: &mut Cursor<'_>, body: &mut Body, lists: usize) -> Result<()> {
    match cursor.peek() {
        Some(b'"') => {
            let at = cursor.skip()?;
            push_string(body, cursor.bytes(), at);
        }
        Some(b'[') if lists < LISTS => {
            cursor.array(|cursor| collect_part(cursor, body, lists + 1))?;
        }
        _ => {
            let at = cursor.skip()?;
            let raw = &cursor.bytes()[at.clone()];
            if raw != b"null" {
                push_line(&mut body.text, &lossy_text(raw));
                body.texts_at.push(at);
            }
        }
    }
    Ok(())
}

/// One part of a content list.
fn collect_part(cursor: &mut Cursor<'_>, body: &mut Body, lists: usize) -> Result<()> {
    if cursor.peek() != Some(b'{') {
        return collect_within(cursor, body, lists);
    }
    let start = cursor.position();
    let (mut kind, mut found) = (None, false);
    // What a hit of a web search is called, and where it is; the page itself is encrypted.
    let (mut title, mut address, mut is_encrypted) = (String::new(), String::new(), false);
    cursor.object(|cursor, key| {
        match key {
            b"type" => kind = cursor.string()?,
            b"title" | b"url" if cursor.peek() == Some(b'"') => {
                let at = cursor.skip()?;
                let text = display_text(&cursor.bytes()[at.start + 1..at.end - 1]).into_owned();
                match key {
                    b"url" => address = text,
                    _ => title = text,
                }
            }
            b"encrypted_content" => is_encrypted = true,
            b"text" | b"refusal" | b"thinking" | b"stdout" | b"stderr"
                if cursor.peek() == Some(b'"') =>
            {
                found = true;
                collect_text(cursor, body)?;
            }
            // Parts of a result of Bedrock, each known by its member.
            b"json" => {
                found = true;
                cursor.peek();
                let at = cursor.skip()?;
                let raw = &cursor.bytes()[at.clone()];
                push_line(&mut body.text, &lossy_text(raw));
                body.texts_at.push(at);
            }
            b"image" | b"document" | b"video" if cursor.peek() == Some(b'{') => kind = Some(key),
            _ => {}
        }
        Ok(())
    })?;
    match kind {
        _ if found => {}
        Some(b"web_search_result") if !title.is_empty() || !address.is_empty() => {
            push_line(&mut body.text, format!("{title}  {address}").trim());
        }
        Some(kind) => push_line(&mut body.text, &format!("[{}]", display_text(kind))),
        // A hit that is cut within its page.
        None if is_encrypted => push_line(&mut body.text, "[web_search_result]"),
        None => push_line(
            &mut body.text,
            &lossy_text(&cursor.bytes()[start..cursor.position()]),
        ),
    }
    Ok(())
}

/// Adds the text of the string that is here.
fn push_string(body: &mut Body, bytes: &[u8], at: Range<usize>) {
    push_line(
        &mut body.text,
        &display_text(&bytes[at.start + 1..at.end - 1]),
    );
    body.texts_at.push(at);
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Dialect, Family, Span};

    fn body(kind: Kind, family: Family, dialect: Option<Dialect>, text: &str) -> Body {
        let item = Item::new(kind, dialect, Span::within(0, 0..text.len()));
        body_of(&Item { family, ..item }, text.as_bytes()).unwrap()
    }

    #[test]
    fn reasoning_that_a_server_writes_under_two_names_is_read_once() {
        let message = r#"{"role":"assistant","reasoning":"go by sea","reasoning_content":"go by sea","content":"Ahoy."}"#;
        let assistant = Item::new(
            Kind::Assistant,
            Some(Dialect::Chat),
            Span::within(0, 0..message.len()),
        );
        assert_eq!(
            body_of(&assistant, message.as_bytes()).unwrap().text,
            "go by sea\nAhoy."
        );
        let plain = body_without_reasoning(&assistant, message.as_bytes()).unwrap();
        assert_eq!(plain.text, "Ahoy.");
    }

    #[test]
    fn hits_of_a_web_search_are_shown_by_title_and_address() {
        let hits = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[
            {"encrypted_content":"Ep==","page_age":null,"title":"A \"day\"","type":"web_search_result","url":"https://a.example/9"},
            {"encrypted_content":"Eq==","type":"web_search_result"}]}"#;
        let family = Family::Hosted;
        let body = body(Kind::HostedOutput, family, Some(Dialect::Anthropic), hits);
        assert_eq!(
            body.text,
            "A \"day\"  https://a.example/9\n[web_search_result]"
        );
    }

    #[test]
    fn arguments_are_found_in_every_dialect() {
        let spellings = [
            (
                Some(Dialect::Responses),
                r#"{"type":"function_call","arguments":"{\"a\":1}"}"#,
            ),
            (
                Some(Dialect::Chat),
                r#"{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}"#,
            ),
            (
                Some(Dialect::Chat),
                r#"{"name":"f","arguments":"{\"a\":1}"}"#,
            ),
            (
                Some(Dialect::Anthropic),
                r#"{"type":"tool_use","input":{"a":1}}"#,
            ),
        ];
        for (dialect, text) in spellings {
            let body = body(Kind::Call, Family::Function, dialect, text);
            assert_eq!(body.arguments.json(), Some(r#"{"a":1}"#), "{text}");
            let at = body.arguments_at.unwrap();
            assert!(text[at].contains("a"), "{text}");
        }
    }

    #[test]
    fn empty_arguments_count_as_an_empty_object_and_free_form_input_as_no_json() {
        let empty = body(
            Kind::Call,
            Family::Function,
            Some(Dialect::Responses),
            r#"{"arguments":""}"#,
        );
        assert_eq!(empty.arguments.json(), Some("{}"));
        let patch = body(
            Kind::Call,
            Family::Custom,
            Some(Dialect::Responses),
            r#"{"input":"*** Begin Patch"}"#,
        );
        assert_eq!(patch.arguments.json(), None);
    }

    #[test]
    fn texts_are_read_from_strings_and_from_parts() {
        let parts = r#"{"role":"user","content":[{"type":"text","text":"a\nb"},{"type":"image","source":{}}]}"#;
        assert_eq!(
            body(Kind::User, Family::None, Some(Dialect::Chat), parts).text,
            "a\nb\n[image]"
        );
        let output = r#"{"type":"tool_result","content":[{"type":"text","text":"done"}]}"#;
        assert_eq!(
            body(
                Kind::Output,
                Family::Function,
                Some(Dialect::Anthropic),
                output
            )
            .text,
            "done"
        );
        assert_eq!(
            body(
                Kind::User,
                Family::None,
                Some(Dialect::Anthropic),
                r#""plain""#
            )
            .text,
            "plain"
        );
        let shell =
            r#"{"type":"shell_call_output","output":[{"stdout":"ok","stderr":"","outcome":{}}]}"#;
        assert_eq!(
            body(Kind::Output, Family::Shell, Some(Dialect::Responses), shell).text,
            "ok\n"
        );
    }

    #[test]
    fn lists_and_envelopes_that_nest_without_end_do_not_exhaust_the_stack() {
        let levels = 200_000;
        let lists = format!(
            r#"{{"output":{}"deep"{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        );
        let deep = body(
            Kind::Output,
            Family::Function,
            Some(Dialect::Responses),
            &lists,
        );
        assert!(deep.text.starts_with("[[") && deep.text.contains("deep"));
        let few = r#"{"output":[["deep"]]}"#;
        assert_eq!(
            body(
                Kind::Output,
                Family::Function,
                Some(Dialect::Responses),
                few
            )
            .text,
            "deep"
        );
        let envelopes = format!(
            "{}{{}}{}",
            r#"{"payload":"#.repeat(levels),
            "}".repeat(levels)
        );
        body(Kind::Notice, Family::None, None, &envelopes);
        for (kind, dialect, key) in [
            (Kind::Call, Dialect::Chat, "function"),
            (Kind::Call, Dialect::Gemini, "functionCall"),
            (Kind::Output, Dialect::Gemini, "functionResponse"),
            (Kind::Call, Dialect::Converse, "toolUse"),
            (Kind::Output, Dialect::Converse, "toolResult"),
            (Kind::Reasoning, Dialect::Converse, "reasoningContent"),
        ] {
            let start = format!(r#"{{"{key}":"#).repeat(100_000);
            let nested = format!("{start}{{}}{}", "}".repeat(100_000));
            let read = body(kind, Family::Function, Some(dialect), &nested);
            assert_eq!(read, Body::default(), "{key}");
        }
    }
}
