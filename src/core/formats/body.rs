//! Requests, replies and exchanges of the dialects as they appear in files: bodies on a line,
//! or one large document.

use crate::json::{Cursor, JsonError, skip_whitespace};
use crate::session::{Dialect, Fact, Fragment, Kind, Span};
use crate::wire::{Fields, anthropic, chat, gemini};
use std::ops::Range;

/// Reads a member of a request or reply other than the conversation itself. Both name a model and tools; what
/// only replies have tells that it is one.
pub(super) fn read_member(
    key: &[u8],
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
) -> Result<(), JsonError> {
    match key {
        b"model" => {
            if let Some(model) = cursor.string()? {
                out.note_model(model);
                out.note(Fact::Request);
            }
        }
        b"modelVersion" | b"model_version" => {
            if let Some(model) = cursor.string()? {
                out.note_model(model);
            }
            out.note(Fact::Reply);
        }
        b"tools" | b"functions" if cursor.peek() == Some(b'[') => {
            out.note(Fact::Tools(Span::within(base, cursor.skip()?)));
            out.note(Fact::Request);
        }
        b"choices" | b"output" | b"usage" | b"object" | b"status" | b"candidates"
        | b"usageMetadata" => out.note(Fact::Reply),
        b"generationConfig" | b"generation_config" => {
            cursor.object(|cursor, key| {
                let is_schema = matches!(
                    key,
                    b"responseJsonSchema"
                        | b"response_json_schema"
                        | b"responseSchema"
                        | b"response_schema"
                );
                if is_schema {
                    out.note(Fact::OutputSchema(Span::within(base, cursor.skip()?)));
                }
                Ok(())
            })?;
        }
        // The contents that are cached come before those of the request.
        b"cachedContent" | b"cached_content" if cursor.peek() == Some(b'"') => {
            cursor.skip()?;
            out.note(Fact::ServerState);
        }
        // `output_format` is what Anthropic's beta of structured outputs calls it.
        b"response_format" | b"output_format" => {
            out.note(Fact::OutputSchema(Span::within(base, cursor.skip()?)))
        }
        b"text" | b"output_config" => {
            cursor.object(|cursor, key| {
                if key == b"format" {
                    out.note(Fact::OutputSchema(Span::within(base, cursor.skip()?)));
                }
                Ok(())
            })?;
        }
        b"previous_response_id" | b"conversation" if !matches!(cursor.peek(), Some(b'n')) => {
            cursor.skip()?;
            out.note(Fact::ServerState);
        }
        // A thread that is continued (Anthropic, beta `message-threads-2026-08-12`).
        b"thread" => {
            cursor.object(|cursor, key| {
                if key == b"previous_message_id" && cursor.string()?.is_some() {
                    out.note(Fact::ServerState);
                }
                Ok(())
            })?;
        }
        b"max_turns" => {
            let raw = cursor.raw()?;
            if let Ok(limit) = String::from_utf8_lossy(raw).parse() {
                out.note(Fact::TurnLimit(limit));
            }
        }
        b"instructions" | b"system" | b"systemInstruction" | b"system_instruction"
            if !matches!(cursor.peek(), Some(b'n')) =>
        {
            let span = Span::within(base, cursor.skip()?);
            let dialect = match key {
                b"systemInstruction" | b"system_instruction" => Some(Dialect::Gemini),
                _ => Some(Dialect::Anthropic),
            };
            push_member(Kind::System, dialect, span, out);
        }
        _ => {}
    }
    Ok(())
}

/// A system prompt or input that is a member of the request and no message. In a document it is a
/// record of its own.
fn push_member(kind: Kind, dialect: Option<Dialect>, span: Span, out: &mut Fragment) {
    // The record at hand, a line, gets its end only when it was read; one that has its end
    // was the element before.
    let is_member_of_line = out
        .records
        .last()
        .is_some_and(|record| record.span.is_empty());
    if !is_member_of_line {
        out.begin_record(span);
    }
    out.push(kind, dialect, span);
}

/// What kind of body an object is, by its members.
#[derive(Debug, Default)]
struct Outline {
    request: Option<Range<usize>>,
    response: Option<Range<usize>>,
    conversation: Option<Range<usize>>,
    output: Option<Range<usize>>,
    choices: Option<Range<usize>>,
    trajectory: Option<Range<usize>>,
    body: Option<Range<usize>>,
}

/// Reads an object that is a body or an exchange: a request, a reply, `{request, response}`, or a
/// record that wraps one.
///
/// Gives `false`, with nothing read, for an object that is none of these.
pub(super) fn read_body(
    dialect: Dialect,
    bytes: &[u8],
    at: usize,
    base: u64,
    out: &mut Fragment,
) -> Result<bool, JsonError> {
    read_wrapped(dialect, bytes, at, base, 0, out)
}

/// How many wrappings are opened: an exchange in a record, a body in a request. Each is walked once more,
/// and the walk recurses.
const WRAPPINGS: usize = 8;

fn read_wrapped(
    dialect: Dialect,
    bytes: &[u8],
    at: usize,
    base: u64,
    depth: usize,
    out: &mut Fragment,
) -> Result<bool, JsonError> {
    if depth > WRAPPINGS {
        return Ok(false);
    }
    let outline = outline(bytes, at)?;
    let part = |range: &Range<usize>| Cursor::at(&bytes[..range.end], range.start);
    if outline.request.is_some() || outline.response.is_some() {
        if let Some(request) = &outline.request {
            out.note(Fact::RequestBegins);
            read_inner(dialect, bytes, request.start, base, depth, out)?;
            out.note(Fact::RequestEnds);
        }
        if let Some(response) = &outline.response {
            read_inner(dialect, bytes, response.start, base, depth, out)?;
        }
        return Ok(true);
    }
    if let Some(body) = &outline.body {
        return read_wrapped(dialect, bytes, body.start, base, depth + 1, out);
    }
    if let Some(trajectory) = &outline.trajectory {
        out.note(Fact::NextSession);
        read_list(dialect, &mut part(trajectory), base, out)?;
        return Ok(true);
    }
    let is_body =
        outline.conversation.is_some() || outline.output.is_some() || outline.choices.is_some();
    if !is_body {
        return Ok(false);
    }
    let is_reply = outline.output.is_some();
    // Requests that stand one behind the other repeat the history as those of exchanges do.
    let is_request = !is_reply && outline.choices.is_none();
    if is_request {
        out.note(Fact::RequestBegins);
    }
    if is_reply && outline.conversation.is_none() {
        out.note(Fact::Reply);
    }
    Cursor::at(bytes, at).object(|cursor, key| match key {
        // A Response repeats the instructions of its request.
        b"instructions" if is_reply => Ok(()),
        _ => read_member(key, cursor, base, out),
    })?;
    if let Some(conversation) = &outline.conversation {
        read_list(dialect, &mut part(conversation), base, out)?;
    }
    if is_request {
        out.note(Fact::RequestEnds);
    }
    if let Some(output) = &outline.output {
        read_list(dialect, &mut part(output), base, out)?;
        read_incomplete(bytes, at, out)?;
    }
    if let Some(choices) = &outline.choices {
        read_choices(&mut part(choices), base, out)?;
    }
    Ok(true)
}

/// Reads a whole reply in its dialect.
pub(super) fn read_reply(
    dialect: Dialect,
    bytes: &[u8],
    at: usize,
    base: u64,
    out: &mut Fragment,
) -> Result<(), JsonError> {
    let at = skip_whitespace(bytes, at);
    if dialect != Dialect::Anthropic {
        read_body(dialect, bytes, at, base, out)?;
        return Ok(());
    }
    let message = anthropic::read_message(&mut Cursor::at(bytes, at), base, out)?;
    if let Some(model) = message.model {
        out.note_model(model);
    }
    Ok(())
}

/// Whether the content holds blocks that only Anthropic knows.
pub(super) fn has_blocks(bytes: &[u8], fields: &Fields<'_>) -> bool {
    let Some(content) = fields
        .content
        .clone()
        .filter(|content| bytes[content.start] == b'[')
    else {
        return false;
    };
    let mut found = false;
    // The content was walked once without a fault.
    let _ = Cursor::at(&bytes[..content.end], content.start).array(|cursor| {
        found |= cursor.peek() == Some(b'{')
            && matches!(
                Fields::read(cursor)?.kind,
                Some(b"tool_use" | b"tool_result")
            );
        Ok(())
    });
    found
}

/// A request or reply inside an exchange: itself a body, or an Anthropic reply, which is a message.
fn read_inner(
    dialect: Dialect,
    bytes: &[u8],
    at: usize,
    base: u64,
    depth: usize,
    out: &mut Fragment,
) -> Result<(), JsonError> {
    if bytes.get(at) != Some(&b'{') || read_wrapped(dialect, bytes, at, base, depth + 1, out)? {
        return Ok(());
    }
    let mut cursor = Cursor::at(bytes, at);
    if Fields::read(&mut cursor.clone())?.role.is_some() {
        anthropic::read_message(&mut cursor, base, out)?;
        out.note(Fact::Reply);
    }
    Ok(())
}

fn outline(bytes: &[u8], at: usize) -> Result<Outline, JsonError> {
    let mut outline = Outline::default();
    Cursor::at(bytes, at).object(|cursor, key| {
        let opens = cursor.peek();
        let slot = match (key, opens) {
            (b"request", Some(b'{')) => &mut outline.request,
            (b"response", Some(b'{')) => &mut outline.response,
            (b"messages" | b"input" | b"items" | b"contents", Some(b'[')) => {
                &mut outline.conversation
            }
            (b"input", Some(b'"')) => &mut outline.conversation,
            (b"output", Some(b'[')) => &mut outline.output,
            (b"choices" | b"candidates", Some(b'[')) => &mut outline.choices,
            (b"traj" | b"trajectory", Some(b'[')) => &mut outline.trajectory,
            (b"body", Some(b'{')) => &mut outline.body,
            _ => return Ok(()),
        };
        *slot = Some(cursor.skip()?);
        Ok(())
    })?;
    Ok(outline)
}

/// A conversation: a list of items, or the plain string that the Responses API takes for one user message.
fn read_list(
    dialect: Dialect,
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
) -> Result<(), JsonError> {
    if cursor.peek() == Some(b'"') {
        let span = Span::within(base, cursor.skip()?);
        push_member(Kind::User, Some(Dialect::Anthropic), span, out);
        return Ok(());
    }
    cursor.array(|cursor| match cursor.peek() {
        Some(b'{') => dialect.codec().read_element(cursor, base, out),
        _ => Ok(()),
    })?;
    Ok(())
}

/// Responses: `status: incomplete` with `incomplete_details.reason`.
fn read_incomplete(bytes: &[u8], at: usize, out: &mut Fragment) -> Result<(), JsonError> {
    Cursor::at(bytes, at).object(|cursor, key| {
        if key == b"incomplete_details" {
            cursor.object(|cursor, key| {
                if let (b"reason", Some(reason)) = (key, cursor.string()?) {
                    out.note_stop(reason);
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Chat and Gemini: the first choice is the reply; further choices are alternatives that no history holds.
fn read_choices(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<(), JsonError> {
    let mut seen = false;
    cursor.array(|cursor| {
        if std::mem::replace(&mut seen, true) {
            return Ok(());
        }
        let mut reason = None;
        cursor.object(|cursor, key| match key {
            b"message" => chat::read_message(cursor, base, out),
            b"content" => gemini::read_content(cursor, base, out).map(|_| ()),
            b"finish_reason" | b"finishReason" => {
                reason = cursor.string()?;
                Ok(())
            }
            _ => Ok(()),
        })?;
        if let Some(reason) = reason {
            out.note_stop(reason);
        }
        Ok(())
    })?;
    Ok(())
}
