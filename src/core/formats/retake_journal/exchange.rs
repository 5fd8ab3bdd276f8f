//! An exchange as a proxy's journal holds it: the agent's request, the provider's reply in one piece, what
//! the agent got instead.
//!
//! `{"type":"exchange","id":7,"dialect":"chat","model":..,"request":{..},"response":{..},"told":{..},"incomplete":true,"failures":[..]}`;
//! A request that continues the one of exchange 6 may be
//! `"continues":{"exchange":6,"before":1800,"elements":[..],"after":200}` instead: the first 1,800 bytes of that
//! request, these elements, its last 200 bytes. `response` is an error body where the provider refused, and
//! `response_text` what is no JSON. A `held` or `began` entry has the same members as far as they are known, and
//! `notice`, a sentence for the reader who finds no `exchange` after it. The members that are only reported (times,
//! headers, status, ...) are in `exchange::entry`, which writes them.

use super::super::body;
use crate::json::{Cursor, Result, display_text};
use crate::session::{
    BEGAN, Dialect, ExchangeFacts, Fact, Flags, Fragment, HELD, Kind, MENDED, MENDED_AGAIN,
    RecordLink, RequestBase, Span,
};
use std::ops::Range;

/// How an exchange ends, in the words of `exchange::ExchangeEnding`.
const ENDINGS: [&str; 9] = [
    "passed",
    "released",
    MENDED,
    "refused",
    "cut",
    "no-reply",
    "truncated",
    "client-left",
    "interrupted",
];

#[derive(Default)]
struct Members {
    number: u32,
    /// What it waited for when it was written, where it was written before its end.
    before_end: Option<&'static str>,
    ending: &'static str,
    incomplete: bool,
    model: Option<String>,
    request: Option<Range<usize>>,
    /// What the request continues, and the list of its new elements.
    continues: Option<(RequestBase, Range<usize>)>,
    response: Option<Range<usize>>,
    /// What the provider said that is not a reply: an error page, failures in the middle of a stream.
    told: Option<Range<usize>>,
    /// What the provider was asked instead of the request.
    sent: Option<Range<usize>>,
    status: u32,
    /// Whether each is an error of the provider.
    notices: Vec<(Range<usize>, bool)>,
}

pub(in crate::formats) fn read(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    base: u64,
    out: &mut Fragment,
) -> Result<()> {
    let bytes = cursor.bytes();
    let members = walk(cursor)?;
    let has_body = members.request.is_some() || members.response.is_some();
    let elements = members.continues.as_ref().map(|(_, list)| list.clone());
    // Without the brackets of the list.
    let new = elements.clone().map(|list| list.start + 1..list.end - 1);
    let request = members.request.clone().or(new).unwrap_or_default();
    if !has_body && elements.is_none() && members.notices.is_empty() && members.number == 0 {
        return Ok(());
    }
    let member = |body: &Option<Range<usize>>, names: &[&[u8]]| match body {
        Some(body) => id_in(bytes, body.start, names),
        None => Ok(0),
    };
    out.note(Fact::Exchange(ExchangeFacts {
        number: members.number,
        dialect,
        how: match (members.before_end, members.ending) {
            (Some(word), _) => word,
            (None, "passed") if members.sent.is_some() => MENDED_AGAIN,
            (None, ending) => ending,
        },
        earlier: member(
            &members.request,
            &[b"previous_response_id", b"conversation", b"thread"],
        )?,
        own: member(&members.response, &[b"id"])?,
        request: Span::within(base, request),
        continues: members.continues.map(|(continued, _)| continued),
    }));
    if let Some(model) = members.model {
        out.note(Fact::Model(model));
    }
    if let Some(request) = &members.request {
        body::read_body(dialect, bytes, request.start, base, out)?;
    } else if let Some(list) = elements {
        body::read_list(
            dialect,
            &mut Cursor::at(&bytes[..list.end], list.start),
            base,
            out,
        )?;
        out.note(Fact::RequestEnds);
    }
    out.note(Fact::ReplyBegins);
    if let Some(response) = &members.response {
        match members.status {
            REFUSED.. => push_error(response, base, out),
            _ => read_reply(dialect, bytes, response, members.incomplete, base, out)?,
        }
    }
    for (notice, is_error) in members.notices {
        let item = out.push(Kind::Notice, None, Span::within(base, notice));
        item.flags.set_if(Flags::ERROR, is_error);
    }
    if let Some(told) = &members.told {
        out.note(Fact::ReplacementBegins);
        read_reply(dialect, bytes, told, false, base, out)?;
    }
    if let Some(sent) = &members.sent {
        out.note(Fact::SentBegins);
        body::read_body(dialect, bytes, sent.start, base, out)?;
    }
    Ok(())
}

/// The lowest status of a reply that is an error.
const REFUSED: u32 = 400;

fn push_error(reply: &Range<usize>, base: u64, out: &mut Fragment) {
    let span = Span::within(base, reply.clone());
    out.push(Kind::Notice, None, span).flags = Flags::ERROR;
}

fn walk(cursor: &mut Cursor<'_>) -> Result<Members> {
    let (mut members, mut text) = (Members::default(), None);
    cursor.object(|cursor, key| {
        let opens = cursor.peek();
        match (key, opens) {
            (b"type", _) => {
                members.before_end = match cursor.string()? {
                    Some(b"held") => Some(HELD),
                    Some(b"began") => Some(BEGAN),
                    _ => None,
                };
            }
            (b"id", _) => {
                let number = String::from_utf8_lossy(cursor.raw()?).parse();
                members.number = number.unwrap_or_default();
            }
            (b"model", _) => {
                let model = cursor.string()?.filter(|model| !model.is_empty());
                members.model = model.map(|model| display_text(model).into_owned());
            }
            (b"ending", Some(b'{')) => {
                cursor.object(|cursor, key| {
                    if key == b"how" {
                        let how = cursor.string()?.unwrap_or_default();
                        let known = ENDINGS.iter().find(|known| known.as_bytes() == how);
                        members.ending = known.copied().unwrap_or_default();
                    }
                    Ok(())
                })?;
            }
            (b"incomplete", _) => members.incomplete = cursor.raw()? == b"true",
            (b"request", Some(b'{')) => members.request = Some(cursor.skip()?),
            (b"continues", Some(b'{')) => members.continues = continued(cursor)?,
            (b"response", Some(b'{')) => members.response = Some(cursor.skip()?),
            (b"told", Some(b'{')) => members.told = Some(cursor.skip()?),
            (b"sent", Some(b'{')) => members.sent = Some(cursor.skip()?),
            (b"status", _) => {
                members.status = String::from_utf8_lossy(cursor.raw()?)
                    .parse()
                    .unwrap_or_default();
            }
            (b"response_text", Some(b'"')) => text = Some(cursor.skip()?),
            (b"notice", Some(b'"')) => members.notices.push((cursor.skip()?, false)),
            (b"failures", Some(b'[')) => {
                cursor.array(|cursor| {
                    members.notices.push((cursor.skip()?, true));
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    // No model answers in plain text: a client cannot read the reply, whatever its status says.
    let is_asked = members.request.is_some() || members.continues.is_some();
    let is_error = is_asked || members.status >= REFUSED;
    let text = text.map(|text| (text, is_error));
    members.notices.splice(0..0, text);
    Ok(members)
}

/// What a request continues, and the list of its new elements; `None` where a member of it is absent.
fn continued(cursor: &mut Cursor<'_>) -> Result<Option<(RequestBase, Range<usize>)>> {
    let (mut exchange, mut before, mut after, mut elements) = (None, None, None, None);
    cursor.object(|cursor, key| {
        let slot = match (key, cursor.peek()) {
            (b"exchange", _) => &mut exchange,
            (b"before", _) => &mut before,
            (b"after", _) => &mut after,
            (b"elements", Some(b'[')) => {
                elements = Some(cursor.skip()?);
                return Ok(());
            }
            _ => return Ok(()),
        };
        *slot = String::from_utf8_lossy(cursor.raw()?).parse::<u64>().ok();
        Ok(())
    })?;
    let base = || {
        Some(RequestBase {
            exchange: u32::try_from(exchange?).ok()?,
            before: before?,
            after: after?,
        })
    };
    Ok(base().zip(elements))
}

/// The id that is under one of these names: a string, or the `id` or `previous_message_id` of an object.
/// Keyed hash; 0 for none.
fn id_in(bytes: &[u8], at: usize, names: &[&[u8]]) -> Result<u64> {
    let mut id = 0;
    Cursor::at(bytes, at).object(|cursor, key| {
        if !names.contains(&key) {
            return Ok(());
        }
        match cursor.peek() {
            Some(b'"') => id = RecordLink::key(cursor.string()?.unwrap_or_default()),
            Some(b'{') => {
                cursor.object(|cursor, key| {
                    if matches!(key, b"id" | b"previous_message_id") {
                        id = RecordLink::key(cursor.string()?.unwrap_or_default());
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(id)
}

/// A reply, or what is in its place: an error, which is shown as it is.
fn read_reply(
    dialect: Dialect,
    bytes: &[u8],
    reply: &Range<usize>,
    is_incomplete: bool,
    base: u64,
    out: &mut Fragment,
) -> Result<()> {
    let first = out.items.len();
    if is_error(bytes, reply.start)? {
        push_error(reply, base, out);
        return Ok(());
    }
    body::read_reply(dialect, bytes, reply.start, base, out)?;
    out.note(Fact::Reply);
    let items = &mut out.items[first..];
    if let Some(item) = items.iter_mut().find(|item| item.kind.is_from_model()) {
        item.flags = item.flags.with(Flags::STARTS_REPLY);
    }
    if let Some(item) = items.last_mut() {
        item.flags.set_if(Flags::INCOMPLETE, is_incomplete);
    }
    Ok(())
}

/// Whether an object is the body of an error and no reply: it has an `error`, and nothing of what
/// replies are made of.
fn is_error(bytes: &[u8], at: usize) -> Result<bool> {
    let (mut has_error, mut has_reply) = (false, false);
    Cursor::at(bytes, at).object(|cursor, key| {
        match key {
            b"error" => has_error |= !matches!(cursor.peek(), Some(b'n')),
            b"output" | b"choices" | b"content" | b"role" => has_reply = true,
            _ => {}
        }
        Ok(())
    })?;
    Ok(has_error && !has_reply)
}
