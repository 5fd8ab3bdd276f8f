//! Responses: a flat list of items in the order of the history; an output may stand anywhere behind its call.

use super::call::{Input, NewCall};
use super::ids::visible_partner;
use super::parts::{Part, Room};
use super::{Conversion, LossKind, Out, request};
use crate::dialects::write::quoted;
use crate::session::{Family, Flags, Kind, SourceError};

/// Writes the items, or the request that holds them.
pub(super) fn write<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let as_request = conversion.options.as_request;
    if as_request {
        request::open(conversion, out)?;
        out.put("\"input\":")?;
    }
    out.put("[")?;
    let mut is_first = true;
    for index in 0..conversion.session.items.len() {
        if !conversion.is_visible(index) {
            continue;
        }
        match conversion.copied(index)? {
            Some(bytes) => out.element(&mut is_first, bytes)?,
            None => {
                for item in spell(conversion, index)? {
                    out.element(&mut is_first, item)?;
                }
            }
        }
    }
    out.put("\n]")?;
    if as_request {
        request::close(conversion, out)?;
    }
    out.put("\n")
}

fn spell(conversion: &mut Conversion<'_>, index: usize) -> Result<Vec<String>, SourceError> {
    match conversion.item(index).kind {
        Kind::Assistant => said(conversion, index),
        Kind::System | Kind::User => Ok(message(conversion, index)?.into_iter().collect()),
        Kind::Call => Ok(conversion.new_call(index)?.map(call).into_iter().collect()),
        Kind::Output if conversion.is_of_server(index) => {
            let text = quoted(&conversion.text_for_output(index)?);
            Ok(vec![format!(
                r#"{{"type":"message","role":"user","content":{text}}}"#
            )])
        }
        Kind::Output => output(conversion, index).map(|output| vec![output]),
        _ => conversion.leave_out(index).map(|()| Vec::new()),
    }
}

/// What the model said: a message for each text. Only a message with the id that the provider gave it has parts
/// of type `output_text` or `refusal` (`EasyInputMessage`, OpenAI API reference).
fn said(conversion: &mut Conversion<'_>, index: usize) -> Result<Vec<String>, SourceError> {
    let room = Room {
        images: false,
        blanks: true,
    };
    let (_, parts) = conversion.parts(index, room)?;
    if parts.iter().any(|part| matches!(part, Part::Refusal(_))) {
        conversion.lose(index, LossKind::RefusalMark);
    }
    let texts = parts.iter().filter_map(Part::text);
    let messages = texts.map(|text| {
        let text = quoted(text);
        format!(r#"{{"type":"message","role":"assistant","content":{text}}}"#)
    });
    Ok(messages.collect())
}

fn message(conversion: &mut Conversion<'_>, index: usize) -> Result<Option<String>, SourceError> {
    let Some((role, parts)) = conversion.instruction(index)? else {
        return Ok(None);
    };
    let content = content(&parts);
    Ok(Some(format!(
        r#"{{"type":"message","role":"{role}","content":{content}}}"#
    )))
}

/// One text by itself, or a list of parts.
fn content(parts: &[Part]) -> String {
    match parts {
        [] => return quoted(""),
        [Part::Text(text)] => return quoted(text),
        _ => {}
    }
    let spelled = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Refusal(text) | Part::Other(text) => {
            format!(r#"{{"type":"input_text","text":{}}}"#, quoted(text))
        }
        Part::Image(url) => format!(
            r#"{{"type":"input_image","detail":"auto","image_url":{}}}"#,
            quoted(url)
        ),
    });
    format!("[{}]", spelled.collect::<Vec<_>>().join(","))
}

fn call(call: NewCall) -> String {
    let id = id_member(call.id);
    let name = quoted(&call.name);
    match call.input {
        Input::Json(json) => format!(
            r#"{{"type":"function_call",{id}"name":{name},"arguments":{}}}"#,
            quoted(&json)
        ),
        Input::Free(text) => format!(
            r#"{{"type":"custom_tool_call",{id}"name":{name},"input":{}}}"#,
            quoted(&text)
        ),
    }
}

fn output(conversion: &mut Conversion<'_>, index: usize) -> Result<String, SourceError> {
    let room = Room {
        images: true,
        blanks: true,
    };
    let (_, parts) = conversion.parts(index, room)?;
    let item = conversion.item(index);
    if item.flags.has(Flags::ERROR) {
        conversion.lose(index, LossKind::ErrorMark);
    }
    let call = visible_partner(conversion.session, index);
    let family = call.map_or(item.family, |call| conversion.item(call).family);
    let of_type = match family {
        Family::Custom => "custom_tool_call_output",
        _ => "function_call_output",
    };
    let content = content(&parts);
    let id = id_member(conversion.id(index)?);
    Ok(format!(r#"{{"type":"{of_type}",{id}"output":{content}}}"#))
}

fn id_member(id: Option<String>) -> String {
    id.map_or(String::new(), |id| format!(r#""call_id":{},"#, quoted(&id)))
}
