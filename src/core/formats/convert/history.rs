//! The history in the order of the target, item by item.
//!
//! Responses has a flat list, in which an output may stand anywhere behind its call. Chat has messages: the calls
//! of a reply hang on one message of the model, their outputs follow it. A dialect of blocks has a system prompt
//! apart, and messages of user and model by turns; outputs come first in the user's message.

use super::order::{Order, Step, is_of_reply};
use super::{Conversion, LossKind, Out, is_with_role, reply, request};
use crate::session::{Flags, Kind, SourceError};

/// Writes the history, or the request that holds it. A history with a prompt apart is an object as well.
pub(super) fn write<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let facts = conversion.to.facts();
    let is_object = conversion.options.as_request || facts.has_blocks;
    let first = first_of_conversation(conversion);
    if is_object {
        request::open(conversion, out)?;
        if facts.has_blocks {
            write_system(conversion, first, out)?;
        }
        out.put(format!("\"{}\":", facts.history_key))?;
    }
    out.put("[")?;
    let mut list = List {
        is_first: true,
        blocks_key: facts.calls_key.unwrap_or_default(),
        role: None,
    };
    for step in Order::steps(conversion) {
        match step {
            Step::Reply(items) if facts.has_blocks => {
                for index in items {
                    list.add_block(conversion, index, out)?;
                }
            }
            Step::Reply(items) => {
                for message in reply::messages(conversion, &items)? {
                    list.element(message, out)?;
                }
            }
            Step::One(index) if !facts.has_blocks => {
                for element in spell(conversion, index)? {
                    list.element(element, out)?;
                }
            }
            Step::One(index) if is_in_prompt(conversion, first, index) => {}
            Step::One(index) => list.add_block(conversion, index, out)?,
        }
    }
    list.close(out)?;
    out.put("\n]")?;
    if is_object {
        request::close(conversion, out)?;
    }
    out.put("\n")
}

/// The elements that an item becomes; in a dialect of blocks its blocks.
fn spell(conversion: &mut Conversion<'_>, index: usize) -> Result<Vec<Vec<u8>>, SourceError> {
    match conversion.copied(index)? {
        Some(bytes) => Ok(vec![bytes]),
        None => spell_anew(conversion, index),
    }
}

fn spell_anew(conversion: &mut Conversion<'_>, index: usize) -> Result<Vec<Vec<u8>>, SourceError> {
    let element = conversion.element(index)?;
    let codec = conversion.to.codec();
    let elements = element.map_or_else(Vec::new, |element| codec.write_element(&element));
    Ok(elements.into_iter().map(String::into_bytes).collect())
}

/// The first item that is no system text.
fn first_of_conversation(conversion: &Conversion<'_>) -> usize {
    let items = &conversion.session.items;
    let is_spoken =
        |index: &usize| conversion.is_visible(*index) && items[*index].kind != Kind::System;
    (0..items.len()).find(is_spoken).unwrap_or(items.len())
}

/// Whether a system text goes to the prompt: those at the start, and those of other dialects wherever they
/// stand. Anthropic itself takes a message of the system in mid-conversation (API reference), Gemini none.
fn is_in_prompt(conversion: &Conversion<'_>, first: usize, index: usize) -> bool {
    let item = conversion.item(index);
    let facts = conversion.to.facts();
    let stays = item.dialect == Some(conversion.to) && facts.prompt_parts.is_none();
    item.kind == Kind::System && (index < first || !stays)
}

fn write_system<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    first: usize,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let facts = conversion.to.facts();
    let key = facts.instructions_key.unwrap_or_default();
    let (opens, closes) = match facts.prompt_parts {
        Some(parts) => (format!("\"{key}\":{{\"{parts}\":[\n"), "\n]},\n"),
        None => (format!("\"{key}\":[\n"), "\n],\n"),
    };
    let mut is_open = false;
    for index in 0..conversion.session.items.len() {
        if !conversion.is_visible(index) || !is_in_prompt(conversion, first, index) {
            continue;
        }
        if index > first {
            conversion.lose(index, LossKind::MovedToSystem);
        }
        for block in system_blocks(conversion, index)? {
            out.put(if is_open { ",\n" } else { &opens })?;
            is_open = true;
            out.put(block)?;
        }
    }
    if is_open {
        out.put(closes)?;
    }
    Ok(())
}

fn system_blocks(
    conversion: &mut Conversion<'_>,
    index: usize,
) -> Result<Vec<Vec<u8>>, SourceError> {
    let Some(bytes) = conversion.copied(index)? else {
        return spell_anew(conversion, index);
    };
    Ok(match bytes.first() {
        Some(b'{') if !conversion.to.codec().is_prompt_message(&bytes) => vec![bytes],
        Some(b'[') => {
            // The list as it stands, without its brackets: its blocks with whatever stands between them.
            let inside = bytes[1..bytes.len() - 1].trim_ascii();
            let inside = Some(inside).filter(|inside| !inside.is_empty());
            inside.into_iter().map(<[u8]>::to_vec).collect()
        }
        _ => spell_anew(conversion, index)?,
    })
}

/// The list that is being written.
struct List {
    is_first: bool,
    /// The member of a message that holds its blocks.
    blocks_key: &'static str,
    /// Who speaks in the message that is open.
    role: Option<&'static str>,
}

impl List {
    fn element<E>(&mut self, element: impl AsRef<[u8]>, out: &mut Out<'_, E>) -> Result<(), E> {
        out.element(&mut self.is_first, element)
    }

    /// Adds a block to the message at hand, or to a new one where another speaks.
    fn block<E>(
        &mut self,
        role: &'static str,
        block: impl AsRef<[u8]>,
        out: &mut Out<'_, E>,
    ) -> Result<(), E> {
        if self.role == Some(role) {
            out.put(",")?;
        } else {
            self.close(out)?;
            let key = self.blocks_key;
            self.element(format!(r#"{{"role":"{role}","{key}":["#), out)?;
            self.role = Some(role);
        }
        out.put(block)
    }

    fn close<E>(&self, out: &mut Out<'_, E>) -> Result<(), E> {
        match self.role {
            Some(_) => out.put("]}"),
            None => Ok(()),
        }
    }

    fn add_block<E: From<SourceError>>(
        &mut self,
        conversion: &mut Conversion<'_>,
        index: usize,
        out: &mut Out<'_, E>,
    ) -> Result<(), E> {
        let role = role(conversion, index);
        let item = conversion.item(index);
        let is_stranger = item.kind == Kind::Other && item.flags.has(Flags::MALFORMED);
        if is_stranger && item.dialect == Some(conversion.to) {
            return Ok(conversion.leave_out(index)?);
        }
        for block in spell(conversion, index)? {
            match block.first() {
                Some(b'{') if is_with_role(&block) => {
                    conversion.lose(index, LossKind::Empty);
                }
                Some(b'{') => self.block(role, block, out)?,
                // A text stands for a list of one block.
                _ => {
                    let block = [br#"{"type":"text","text":"#, &block[..], b"}"].concat();
                    self.block(role, block, out)?;
                }
            }
        }
        Ok(())
    }
}

fn role(conversion: &Conversion<'_>, index: usize) -> &'static str {
    let model = conversion.to.facts().model_role;
    match conversion.item(index).kind {
        Kind::System => "system",
        Kind::Compaction => model,
        _ if is_of_reply(conversion.session, index) => model,
        _ => "user",
    }
}
