//! Requests, replies and exchanges of the dialects as they appear in files: bodies on a line,
//! or one large document.

use crate::json::{Cursor, Result, skip_whitespace};
use crate::session::{Dialect, Fact, Fragment, Kind, Span};
use crate::wire::{Fields, anthropic, stop_in};
use std::ops::Range;

/// Reads a member of a request or reply other than the conversation itself. Both name a model and tools; what
/// only replies have tells that it is one.
pub(super) fn read_member(
    key: &[u8],
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
) -> Result<()> {
    match key {
        b"model" => {
            if let Some(model) = cursor.string()? {
                out.note_model(model);
                out.note(Fact::Request);
            }
        }
        b"tools" | b"functions" if cursor.peek() == Some(b'[') => {
            out.note(Fact::Tools(Span::within(base, cursor.skip()?)));
            out.note(Fact::Request);
        }
        b"output" | b"usage" | b"object" | b"status" => out.note(Fact::Reply),
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
        b"instructions" | b"system" if !matches!(cursor.peek(), Some(b'n')) => {
            let span = Span::within(base, cursor.skip()?);
            anthropic::push_member(Kind::System, span, out);
        }
        _ => {
            for dialect in Dialect::ALL {
                let reply = dialect.facts().reply_key;
                if reply.is_some_and(|(name, _)| name.as_bytes() == key) {
                    out.note(Fact::Reply);
                    break;
                }
                if dialect.codec().note_member(key, cursor, base, out)? {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// What kind of body an object is, by its members.
#[derive(Debug, Default)]
struct Outline {
    request: Option<Range<usize>>,
    response: Option<Range<usize>>,
    conversation: Option<Range<usize>>,
    output: Option<Range<usize>>,
    /// The member of a reply that holds its turn.
    reply: Option<(Dialect, Range<usize>)>,
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
) -> Result<bool> {
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
) -> Result<bool> {
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
        outline.conversation.is_some() || outline.output.is_some() || outline.reply.is_some();
    if !is_body {
        return Ok(false);
    }
    let is_reply = outline.output.is_some();
    // Requests that stand one after the other repeat the history as those of exchanges do.
    let is_request = !is_reply && outline.reply.is_none();
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
    }
    if let Some((dialect, reply)) = &outline.reply {
        dialect.codec().read_reply(&mut part(reply), base, out)?;
    }
    if !is_request {
        let of_reply = outline.reply.as_ref().map(|(dialect, _)| *dialect);
        let dialect = of_reply.or_else(|| dialect_of_reply(b"output", Some(b'[')));
        if let Some(stop) = dialect.and_then(|dialect| stop_in(dialect, &bytes[at..])) {
            out.note_stop(stop.as_bytes());
        }
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
) -> Result<()> {
    let at = skip_whitespace(bytes, at);
    // Elsewhere a whole reply is a message.
    if dialect.facts().reply_key.is_some() {
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
) -> Result<()> {
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

/// The dialect whose whole replies hold the turn in such a member.
fn dialect_of_reply(key: &[u8], opens: Option<u8>) -> Option<Dialect> {
    let mut all = Dialect::ALL.into_iter();
    all.find(|dialect| {
        let reply = dialect.facts().reply_key;
        reply.is_some_and(|(name, byte)| (name.as_bytes(), Some(byte)) == (key, opens))
    })
}

fn outline(bytes: &[u8], at: usize) -> Result<Outline> {
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
            (b"traj" | b"trajectory", Some(b'[')) => &mut outline.trajectory,
            (b"body", Some(b'{')) => &mut outline.body,
            _ => {
                if let Some(dialect) = dialect_of_reply(key, opens) {
                    outline.reply = Some((dialect, cursor.skip()?));
                }
                return Ok(());
            }
        };
        *slot = Some(cursor.skip()?);
        Ok(())
    })?;
    Ok(outline)
}

/// A conversation: a list of items, or the plain string that the Responses API takes for one user message.
pub(super) fn read_list(
    dialect: Dialect,
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
) -> Result<()> {
    if cursor.peek() == Some(b'"') {
        let span = Span::within(base, cursor.skip()?);
        anthropic::push_member(Kind::User, span, out);
        return Ok(());
    }
    cursor.array(|cursor| match cursor.peek() {
        Some(b'{') => dialect.codec().read_element(cursor, base, out),
        _ => Ok(()),
    })?;
    Ok(())
}
