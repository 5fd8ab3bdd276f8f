//! Chat: messages; the calls of a reply hang on one message of the model, their outputs follow it.

use super::call::{Input, NewCall};
use super::order::{Order, Step};
use super::parts::{Part, Room};
use super::{Conversion, LossKind, Out, request};
use crate::dialects::write::quoted;
use crate::session::{Family, Flags, Kind, SourceError, Span};

/// Writes the messages, or the request that holds them.
pub(super) fn write<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let as_request = conversion.options.as_request;
    if as_request {
        request::open(conversion, out)?;
        out.put("\"messages\":")?;
    }
    out.put("[")?;
    let mut is_first = true;
    let order = Order::of(conversion.session);
    for turn in 0..conversion.session.turns.len() {
        for step in order.steps(conversion, turn) {
            let messages = match step {
                Step::Reply(items) => reply(conversion, &items)?,
                Step::One(index) => one(conversion, index)?.into_iter().collect(),
            };
            for message in messages {
                out.element(&mut is_first, message)?;
            }
        }
    }
    out.put("\n]")?;
    if as_request {
        request::close(conversion, out)?;
    }
    out.put("\n")
}

/// A reply that is spelled anew.
#[derive(Default)]
struct NewReply {
    texts: Vec<String>,
    refusals: Vec<String>,
    calls: Vec<String>,
    /// Whether there was a message, be it without words.
    speaks: bool,
}

/// The messages of one reply: one, but where the recording has several of this spelling.
fn reply(conversion: &mut Conversion<'_>, items: &[usize]) -> Result<Vec<Vec<u8>>, SourceError> {
    let mut messages = Vec::new();
    let mut new = NewReply::default();
    let mut bare_calls: Vec<usize> = Vec::new();
    let mut copied_until = Span::default();
    for index in items.iter().copied() {
        let item = conversion.item(index);
        let is_inside = !copied_until.is_empty() && copied_until.contains(item.span.start);
        if is_inside && item.shape == conversion.to.facts().shape {
            continue;
        }
        if item.shape == conversion.to.facts().shape && item.kind == Kind::Call {
            bare_calls.push(index);
            continue;
        }
        if let Some(bytes) = conversion.copied(index)? {
            messages.extend(new.take());
            messages.extend(bare(conversion, &mut bare_calls)?);
            copied_until = item.span;
            messages.push(bytes);
            continue;
        }
        add(conversion, index, &mut new)?;
    }
    messages.extend(new.take());
    messages.extend(bare(conversion, &mut bare_calls)?);
    Ok(messages)
}

fn add(
    conversion: &mut Conversion<'_>,
    index: usize,
    new: &mut NewReply,
) -> Result<(), SourceError> {
    match conversion.item(index).kind {
        Kind::Assistant => {
            let room = Room {
                images: false,
                blanks: true,
            };
            let (_, parts) = conversion.parts(index, room)?;
            new.speaks = true;
            for part in parts {
                match part {
                    Part::Text(text) => new.texts.push(text),
                    Part::Refusal(text) => new.refusals.push(text),
                    Part::Image(_) | Part::Other(_) => {}
                }
            }
        }
        Kind::Call => new.calls.extend(conversion.new_call(index)?.map(call)),
        _ => conversion.leave_out(index)?,
    }
    Ok(())
}

impl NewReply {
    /// The message of what was gathered; `None` where nothing was.
    fn take(&mut self) -> Option<Vec<u8>> {
        let reply = std::mem::take(self);
        if !reply.speaks && reply.calls.is_empty() {
            return None;
        }
        let has_more = !reply.calls.is_empty() || !reply.refusals.is_empty();
        let content = match &reply.texts[..] {
            [] if has_more => "null".to_owned(),
            texts => text_content(texts),
        };
        let mut message = format!(r#"{{"role":"assistant","content":{content}"#);
        if !reply.refusals.is_empty() {
            let refusal = quoted(&reply.refusals.join("\n"));
            message.push_str(&format!(r#","refusal":{refusal}"#));
        }
        if !reply.calls.is_empty() {
            let calls = reply.calls.join(",");
            message.push_str(&format!(r#","tool_calls":[{calls}]"#));
        }
        message.push('}');
        Some(message.into_bytes())
    }
}

/// The message of calls that stand in the recording without a text: as it is where it is a record of its own.
fn bare(
    conversion: &Conversion<'_>,
    calls: &mut Vec<usize>,
) -> Result<Option<Vec<u8>>, SourceError> {
    let calls = std::mem::take(calls);
    let session = conversion.session;
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else {
        return Ok(None);
    };
    let record = session.items[*first].record;
    let is_of_record = |index: &usize| session.items[*index].record == record;
    let before = first.checked_sub(1).filter(is_of_record);
    let behind = Some(last + 1).filter(|index| *index < session.items.len());
    let is_alone =
        before.is_none() && behind.filter(is_of_record).is_none() && calls.iter().all(is_of_record);
    if let (true, Some(record)) = (is_alone, session.records.get(record as usize)) {
        let bytes = session.source.read(record.span)?;
        if super::is_message_of_model(&bytes) {
            return Ok(Some(bytes));
        }
    }
    let mut message = br#"{"role":"assistant","content":null,"#.to_vec();
    if session.items[*first].family == Family::Legacy {
        message.extend_from_slice(br#""function_call":"#);
        message.extend(session.bytes(&session.items[*first])?);
        message.push(b'}');
        return Ok(Some(message));
    }
    message.extend_from_slice(br#""tool_calls":["#);
    for (number, index) in calls.iter().enumerate() {
        if number > 0 {
            message.push(b',');
        }
        message.extend(session.bytes(&session.items[*index])?);
    }
    message.extend_from_slice(b"]}");
    Ok(Some(message))
}

fn one(conversion: &mut Conversion<'_>, index: usize) -> Result<Option<Vec<u8>>, SourceError> {
    if let Some(bytes) = conversion.copied(index)? {
        return Ok(Some(bytes));
    }
    let message = match conversion.item(index).kind {
        Kind::System | Kind::User => message(conversion, index)?,
        Kind::Output if conversion.is_of_server(index) => {
            let text = quoted(&conversion.text_for_output(index)?);
            Some(format!(r#"{{"role":"user","content":{text}}}"#))
        }
        Kind::Output => Some(output(conversion, index)?),
        _ => {
            conversion.leave_out(index)?;
            None
        }
    };
    Ok(message.map(String::into_bytes))
}

fn message(conversion: &mut Conversion<'_>, index: usize) -> Result<Option<String>, SourceError> {
    let Some((role, parts)) = conversion.instruction(index)? else {
        return Ok(None);
    };
    let content = match &parts[..] {
        [Part::Text(text)] => quoted(text),
        parts => {
            let spelled = parts.iter().map(spell_part).collect::<Vec<_>>();
            format!("[{}]", spelled.join(","))
        }
    };
    Ok(Some(format!(r#"{{"role":"{role}","content":{content}}}"#)))
}

fn spell_part(part: &Part) -> String {
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Other(text) => text_part(text),
        Part::Image(url) => {
            format!(
                r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#,
                quoted(url)
            )
        }
    }
}

fn text_part(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

/// A text by itself, or a list of several.
fn text_content(texts: &[String]) -> String {
    match texts {
        [] => quoted(""),
        [text] => quoted(text),
        texts => {
            let parts = texts.iter().map(|text| text_part(text)).collect::<Vec<_>>();
            format!("[{}]", parts.join(","))
        }
    }
}

fn call(call: NewCall) -> String {
    let id = call
        .id
        .map_or(String::new(), |id| format!(r#""id":{},"#, quoted(&id)));
    let name = quoted(&call.name);
    match call.input {
        Input::Json(json) => format!(
            r#"{{{id}"type":"function","function":{{"name":{name},"arguments":{}}}}}"#,
            quoted(&json)
        ),
        Input::Free(text) => format!(
            r#"{{{id}"type":"custom","custom":{{"name":{name},"input":{}}}}}"#,
            quoted(&text)
        ),
    }
}

fn output(conversion: &mut Conversion<'_>, index: usize) -> Result<String, SourceError> {
    let room = Room {
        images: false,
        blanks: true,
    };
    let (_, parts) = conversion.parts(index, room)?;
    if conversion.item(index).flags.has(Flags::ERROR) {
        conversion.lose(index, LossKind::ErrorMark);
    }
    let id = conversion.id(index)?.map_or(String::new(), |id| {
        format!(r#""tool_call_id":{},"#, quoted(&id))
    });
    let texts = parts.iter().filter_map(Part::text).map(str::to_owned);
    let texts: Vec<String> = texts.collect();
    Ok(format!(
        r#"{{"role":"tool",{id}"content":{}}}"#,
        text_content(&texts)
    ))
}
