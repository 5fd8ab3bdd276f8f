//! Anthropic: a system prompt apart, and messages of blocks, user and assistant by turns; outputs come first
//! in the user's message.

use super::call::{Input, NewCall};
use super::order::{Order, Step, is_of_reply};
use super::parts::{Part, Room, inline_data};
use super::{Conversion, LossKind, Out, is_with_role, request};
use crate::dialects::write::{quoted, text_block};
use crate::session::{Flags, Kind, Shape, SourceError};

/// Writes `{system, messages}`, or the request that holds them.
pub(super) fn write<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    request::open(conversion, out)?;
    let first = first_of_conversation(conversion);
    write_system(conversion, first, out)?;
    out.put("\"messages\":[")?;
    let mut messages = Messages {
        role: None,
        is_first_block: true,
    };
    let order = Order::of(conversion.session);
    for turn in 0..conversion.session.turns.len() {
        for step in order.steps(conversion, turn) {
            match step {
                Step::Reply(items) => {
                    for index in items {
                        add(conversion, index, &mut messages, out)?;
                    }
                }
                Step::One(index) if is_in_prompt(conversion, first, index) => {}
                Step::One(index) => add(conversion, index, &mut messages, out)?,
            }
        }
    }
    messages.close(out)?;
    out.put("\n]")?;
    request::close(conversion, out)?;
    out.put("\n")
}

/// The first item that is no system text.
fn first_of_conversation(conversion: &Conversion<'_>) -> usize {
    let items = &conversion.session.items;
    let is_spoken =
        |index: &usize| conversion.is_visible(*index) && items[*index].kind != Kind::System;
    (0..items.len()).find(is_spoken).unwrap_or(items.len())
}

/// Whether a system text goes to the prompt: those at the start, and those of other dialects wherever they
/// stand. Anthropic itself takes a message of the system in mid-conversation (API reference).
fn is_in_prompt(conversion: &Conversion<'_>, first: usize, index: usize) -> bool {
    let item = conversion.item(index);
    item.kind == Kind::System && (index < first || item.shape != Shape::Anthropic)
}

fn write_system<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    first: usize,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let mut is_open = false;
    for index in 0..conversion.session.items.len() {
        if !conversion.is_visible(index) || !is_in_prompt(conversion, first, index) {
            continue;
        }
        if index > first {
            conversion.lose(index, LossKind::MovedToSystem);
        }
        for block in system_blocks(conversion, index)? {
            out.put(if is_open { ",\n" } else { "\"system\":[\n" })?;
            is_open = true;
            out.put(block)?;
        }
    }
    if is_open {
        out.put("\n],\n")?;
    }
    Ok(())
}

fn system_blocks(
    conversion: &mut Conversion<'_>,
    index: usize,
) -> Result<Vec<Vec<u8>>, SourceError> {
    if let Some(bytes) = conversion.copied(index)? {
        match bytes.first() {
            Some(b'{') => return Ok(vec![bytes]),
            Some(b'[') => {
                // The list as it stands, without its brackets: its blocks with whatever stands between them.
                let inside = bytes[1..bytes.len() - 1].trim_ascii();
                return Ok((!inside.is_empty())
                    .then(|| inside.to_vec())
                    .into_iter()
                    .collect());
            }
            _ => {}
        }
    }
    let room = Room {
        images: false,
        blanks: false,
    };
    let (_, parts) = conversion.parts(index, room)?;
    let texts = parts.iter().filter_map(Part::text);
    let blocks = texts.map(|text| text_block(text).into_bytes());
    Ok(blocks.collect())
}

/// The message that is being written.
struct Messages {
    role: Option<&'static str>,
    is_first_block: bool,
}

impl Messages {
    /// Adds a block to the message at hand, or to a new one where another speaks.
    fn block<E>(
        &mut self,
        role: &'static str,
        block: impl AsRef<[u8]>,
        out: &mut Out<'_, E>,
    ) -> Result<(), E> {
        if self.role != Some(role) {
            let is_first = self.role.is_none();
            self.close(out)?;
            out.put(if is_first { "\n" } else { ",\n" })?;
            out.put(format!(r#"{{"role":"{role}","content":["#))?;
            self.role = Some(role);
            self.is_first_block = true;
        }
        if !std::mem::replace(&mut self.is_first_block, false) {
            out.put(",")?;
        }
        out.put(block)
    }

    fn close<E>(&self, out: &mut Out<'_, E>) -> Result<(), E> {
        match self.role {
            Some(_) => out.put("]}"),
            None => Ok(()),
        }
    }
}

fn add<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    index: usize,
    messages: &mut Messages,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let role = role(conversion, index);
    if let Some(bytes) = conversion.copied(index)? {
        let item = conversion.item(index);
        let is_stranger = item.kind == Kind::Other && item.flags.has(Flags::MALFORMED);
        if is_stranger {
            return Ok(conversion.leave_out(index)?);
        }
        return match bytes.first() {
            Some(b'{') if is_with_role(&bytes) => {
                conversion.lose(index, LossKind::Empty);
                Ok(())
            }
            Some(b'{') => messages.block(role, bytes, out),
            _ => {
                let block = [br#"{"type":"text","text":"#, &bytes[..], b"}"].concat();
                messages.block(role, block, out)
            }
        };
    }
    for block in spell(conversion, index)? {
        messages.block(role, block, out)?;
    }
    Ok(())
}

fn role(conversion: &Conversion<'_>, index: usize) -> &'static str {
    let kind = conversion.item(index).kind;
    match kind {
        Kind::System => "system",
        Kind::Compaction => "assistant",
        _ if is_of_reply(conversion.session, index) => "assistant",
        _ => "user",
    }
}

fn spell(conversion: &mut Conversion<'_>, index: usize) -> Result<Vec<String>, SourceError> {
    match conversion.item(index).kind {
        Kind::User | Kind::Assistant => {
            let room = Room {
                images: conversion.item(index).kind == Kind::User,
                blanks: false,
            };
            let (_, parts) = conversion.parts(index, room)?;
            if parts.iter().any(|part| matches!(part, Part::Refusal(_))) {
                conversion.lose(index, LossKind::RefusalMark);
            }
            Ok(parts.iter().map(block).collect())
        }
        Kind::Call => {
            let call = conversion.new_call(index)?;
            Ok(call.map(tool_use).into_iter().collect())
        }
        Kind::Output if conversion.is_of_server(index) => {
            let text = conversion.text_for_output(index)?;
            Ok(vec![text_block(&text)])
        }
        Kind::Output => tool_result(conversion, index).map(|block| vec![block]),
        _ => conversion.leave_out(index).map(|()| Vec::new()),
    }
}

fn block(part: &Part) -> String {
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Other(text) => text_block(text),
        Part::Image(url) => {
            let source = match inline_data(url) {
                Some((media_type, data)) => format!(
                    r#"{{"type":"base64","media_type":{},"data":{}}}"#,
                    quoted(media_type),
                    quoted(data)
                ),
                None => format!(r#"{{"type":"url","url":{}}}"#, quoted(url)),
            };
            format!(r#"{{"type":"image","source":{source}}}"#)
        }
    }
}

fn tool_use(call: NewCall) -> String {
    let id = call
        .id
        .map_or(String::new(), |id| format!(r#""id":{},"#, quoted(&id)));
    let name = quoted(&call.name);
    let input = match call.input {
        Input::Json(json) => json,
        Input::Free(text) => format!(r#"{{"input":{}}}"#, quoted(&text)),
    };
    format!(r#"{{"type":"tool_use",{id}"name":{name},"input":{input}}}"#)
}

fn tool_result(conversion: &mut Conversion<'_>, index: usize) -> Result<String, SourceError> {
    let room = Room {
        images: true,
        blanks: false,
    };
    let (_, parts) = conversion.parts(index, room)?;
    let content = match &parts[..] {
        [] => quoted(""),
        [Part::Text(text)] => quoted(text),
        parts => format!(
            "[{}]",
            parts.iter().map(block).collect::<Vec<_>>().join(",")
        ),
    };
    let mark = if !conversion.item(index).flags.has(Flags::ERROR) {
        ""
    } else if parts.is_empty() {
        // `content cannot be empty if is_error is true` (inspect_ai#169).
        conversion.lose(index, LossKind::ErrorMark);
        ""
    } else {
        r#","is_error":true"#
    };
    let id = conversion.id(index)?.map_or(String::new(), |id| {
        format!(r#""tool_use_id":{},"#, quoted(&id))
    });
    Ok(format!(
        r#"{{"type":"tool_result",{id}"content":{content}{mark}}}"#
    ))
}
