//! The history in the order of the target, item by item.
//!
//! Responses has a flat list, in which an output may stand anywhere after its call. Chat has messages: the calls
//! of a reply hang on one message of the model, their outputs follow it. A dialect of blocks has a system prompt
//! apart, and messages of user and model by turns; outputs come first in the user's message.

use super::ids::visible_partner;
use super::{Conversion, LossKind, Out, is_message_of_model, is_with_role, request};
use crate::session::{Family, Flags, Kind, PairStatus, Session, SourceError, SourceResult, Span};
use crate::wire::write::edit::items_of;
use crate::wire::{Element, IdsNeeded, Role};
use std::collections::HashMap;

/// Writes the history, or the request that holds it. A history with a prompt apart is an object as well.
pub(super) fn write<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    out: &mut Out<'_, E>,
) -> Result<(), E> {
    let facts = conversion.to.facts();
    let is_object = conversion.options.as_request || facts.has_blocks;
    if is_object {
        request::open(conversion, out)?;
        if facts.has_blocks {
            write_system(conversion, first_of_conversation(conversion), out)?;
        }
        out.put(format!("\"{}\":", facts.history_key))?;
    }
    out.put("[")?;
    let mut is_first = true;
    messages(conversion, &mut |_, message| {
        out.element(&mut is_first, message)
    })?;
    out.put("\n]")?;
    if is_object {
        request::close(conversion, out)?;
    }
    out.put("\n")
}

/// Takes a message as it is spelled, with the indexes of its items; of a message of blocks with that of each block.
type TakeMessage<'a, E> = &'a mut dyn FnMut(&[usize], Vec<u8>) -> Result<(), E>;

/// Gives each message of the history to `each`.
pub(super) fn messages<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    each: TakeMessage<'_, E>,
) -> Result<(), E> {
    let has_blocks = conversion.to.facts().has_blocks;
    let first = first_of_conversation(conversion);
    let mut blocks = Blocks::default();
    for step in Order::steps(conversion) {
        match step {
            Step::Reply(items) if has_blocks => {
                for index in items {
                    blocks.add(conversion, index, each)?;
                }
            }
            Step::Reply(items) => {
                for message in messages_of_reply(conversion, &items)? {
                    each(&items, message)?;
                }
            }
            Step::One(index) if conversion.is_prompt_of_agent(index) => {
                conversion.lose(index, LossKind::SystemPrompt);
            }
            Step::One(index) if !has_blocks => {
                for element in spell(conversion, index)? {
                    each(&[index], element)?;
                }
            }
            Step::One(index) if is_in_prompt(conversion, first, index) => {}
            Step::One(index) => blocks.add(conversion, index, each)?,
        }
    }
    blocks.close(each)
}

/// Gives each message of the history to `each`, as no dialect spells it, with the index of its first item.
pub(super) fn elements<E: From<SourceError>>(
    conversion: &mut Conversion<'_>,
    each: &mut dyn FnMut(usize, Element) -> Result<(), E>,
) -> Result<(), E> {
    for step in Order::steps(conversion) {
        let items = match step {
            Step::Reply(items) => items,
            Step::One(index) if conversion.is_prompt_of_agent(index) => {
                conversion.lose(index, LossKind::SystemPrompt);
                continue;
            }
            Step::One(index) => vec![index],
        };
        let mut message: Option<(usize, Element)> = None;
        for index in items {
            if let Some(element) = conversion.element(index)? {
                let empty = (index, Element::new(element.role, Vec::new()));
                let (_, message) = message.get_or_insert(empty);
                message.parts.extend(element.parts);
            }
        }
        if let Some((first, message)) = message.filter(|(_, message)| !message.parts.is_empty()) {
            each(first, message)?;
        }
    }
    Ok(())
}

/// The elements that an item becomes; in a dialect of blocks its blocks.
fn spell(conversion: &mut Conversion<'_>, index: usize) -> SourceResult<Vec<Vec<u8>>> {
    let Some(bytes) = conversion.copied(index)? else {
        return spell_anew(conversion, index);
    };
    // Where a recording marks errors, the items that were made of it need not say so.
    // The texts of Codex do.
    let is_told = conversion.session.format == "codex";
    if !is_told && conversion.item(index).flags.has(Flags::ERROR) {
        let mut element = String::from_utf8_lossy(&bytes).into_owned();
        let facts = conversion.to.facts();
        if let Some(key) = facts.calls_key.filter(|_| facts.has_blocks) {
            element = format!(r#"{{"role":"user","{key}":[{element}]}}"#);
        }
        let written = items_of(conversion.to, &element).items;
        if !written.iter().any(|item| item.flags.has(Flags::ERROR)) {
            conversion.lose(index, LossKind::ErrorMark);
        }
    }
    Ok(vec![bytes])
}

fn spell_anew(conversion: &mut Conversion<'_>, index: usize) -> SourceResult<Vec<Vec<u8>>> {
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

fn system_blocks(conversion: &mut Conversion<'_>, index: usize) -> SourceResult<Vec<Vec<u8>>> {
    let Some(bytes) = conversion.copied(index)? else {
        return spell_anew(conversion, index);
    };
    Ok(match bytes.first() {
        Some(b'{') if !conversion.to.codec().is_prompt_message(&bytes) => vec![bytes],
        Some(b'[') => {
            // The list as it is, without its brackets: its blocks with whatever is between them.
            let inside = bytes[1..bytes.len() - 1].trim_ascii();
            let inside = Some(inside).filter(|inside| !inside.is_empty());
            inside.into_iter().map(<[u8]>::to_vec).collect()
        }
        _ => spell_anew(conversion, index)?,
    })
}

/// The message of a dialect of blocks that is put together.
#[derive(Default)]
struct Blocks {
    /// Who speaks in it; nobody before the first.
    role: Option<&'static str>,
    text: Vec<u8>,
    /// The indexes of the items of its blocks.
    items: Vec<usize>,
}

impl Blocks {
    /// Adds a block to the message at hand, or to a new one where another speaks.
    fn block<E>(
        &mut self,
        role: &'static str,
        key: &str,
        (index, block): (usize, &[u8]),
        each: TakeMessage<'_, E>,
    ) -> Result<(), E> {
        if self.role == Some(role) {
            self.text.push(b',');
        } else {
            self.close(each)?;
            self.text = format!(r#"{{"role":"{role}","{key}":["#).into_bytes();
            self.role = Some(role);
        }
        self.text.extend_from_slice(block);
        self.items.push(index);
        Ok(())
    }

    fn close<E>(&mut self, each: TakeMessage<'_, E>) -> Result<(), E> {
        if self.role.take().is_none() {
            return Ok(());
        }
        self.text.extend_from_slice(b"]}");
        let items = std::mem::take(&mut self.items);
        each(&items, std::mem::take(&mut self.text))
    }

    fn add<E: From<SourceError>>(
        &mut self,
        conversion: &mut Conversion<'_>,
        index: usize,
        each: TakeMessage<'_, E>,
    ) -> Result<(), E> {
        let role = role(conversion, index);
        let key = conversion.to.facts().calls_key.unwrap_or_default();
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
                Some(b'{') => self.block(role, key, (index, &block), each)?,
                // A text means a list of one block.
                _ => {
                    let block = [br#"{"type":"text","text":"#, &block[..], b"}"].concat();
                    self.block(role, key, (index, &block), each)?;
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

// The order in which all but Responses want a history: each reply whole, the outputs of its calls right after it.

/// What is together in the target.
enum Step {
    /// What the model said and called in one reply; the calls come last where the recording's own
    /// dialect has no order.
    Reply(Vec<usize>),
    /// An output, or a message.
    One(usize),
}

/// The outputs that answer a call beside the one that it is paired with.
type Followers = HashMap<usize, Vec<usize>>;

/// The steps of a history.
struct Order {
    followers: Followers,
}

impl Order {
    /// All that the target's history holds; notes which outputs move.
    fn steps(conversion: &mut Conversion<'_>) -> Vec<Step> {
        let session = conversion.session;
        if conversion.to.facts().calls_key.is_none() {
            let visible = (0..session.items.len()).filter(|index| conversion.is_visible(*index));
            return visible.map(Step::One).collect();
        }
        let order = Self::of(session);
        let turns = 0..session.turns.len();
        turns
            .flat_map(|turn| order.steps_of_turn(conversion, turn))
            .collect()
    }

    fn of(session: &Session) -> Self {
        let mut followers = Followers::new();
        for (index, item) in session.items.iter().enumerate() {
            let standing = session.pairing.standing(index);
            if let (Kind::Output, PairStatus::Duplicate(call) | PairStatus::Severed(call)) =
                (item.kind, standing)
            {
                followers.entry(call as usize).or_default().push(index);
            }
        }
        Self { followers }
    }

    /// What is together in a turn, in order.
    fn steps_of_turn(&self, conversion: &mut Conversion<'_>, turn: usize) -> Vec<Step> {
        let session = conversion.session;
        let items = session.turns[turn].items();
        let visible = items.filter(|index| conversion.is_visible(*index));
        let (mut reply, rest): (Vec<usize>, Vec<usize>) =
            visible.partition(|index| is_of_reply(session, *index));
        let is_call = |index: &usize| session.items[*index].kind == Kind::Call;
        let calls: Vec<usize> = reply.iter().copied().filter(is_call).collect();
        if !session.dialect.facts().has_blocks {
            reply.sort_by_key(is_call);
        }
        let by_order = conversion.to.facts().call_ids.needed == IdsNeeded::Neither;
        let mut outputs: Vec<usize> = Vec::new();
        for call in calls {
            let answers = self.answers(conversion, call);
            for output in answers {
                let is_behind = output > call && session.items[output].turn as usize == turn;
                if !is_behind {
                    conversion.lose(output, LossKind::Moved);
                }
                outputs.push(output);
            }
        }
        // Without ids the outputs of one tool are distinguished by the order of its calls.
        if !by_order {
            outputs.sort_unstable();
        }
        let rest = rest
            .into_iter()
            .filter(|index| !goes_with_its_call(session, *index));
        let reply = Some(Step::Reply(reply)).filter(|step| !step.is_empty());
        let others = outputs.into_iter().chain(rest).map(Step::One);
        reply.into_iter().chain(others).collect()
    }

    fn answers(&self, conversion: &Conversion<'_>, call: usize) -> Vec<usize> {
        let paired = match conversion.session.pairing.standing(call) {
            PairStatus::Paired(output) => Some(output as usize),
            _ => None,
        };
        let more = self.followers.get(&call).into_iter().flatten().copied();
        let all = paired.into_iter().chain(more);
        all.filter(|output| conversion.is_visible(*output))
            .collect()
    }
}

impl Step {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Reply(items) if items.is_empty())
    }
}

/// Whether the output is written after its call, wherever it is.
fn goes_with_its_call(session: &Session, index: usize) -> bool {
    session.items[index].kind == Kind::Output && visible_partner(session, index).is_some()
}

/// Whether an item is a part of the model's message. A block of a type that nobody knows belongs to whom
/// its neighbours belong to.
fn is_of_reply(session: &Session, index: usize) -> bool {
    let item = &session.items[index];
    if item.kind.is_from_model() {
        return true;
    }
    if item.kind != Kind::Other || !item.is_block() {
        return false;
    }
    let is_same_message = |other: &usize| session.items[*other].record == item.record;
    let neighbour = index
        .checked_sub(1)
        .filter(is_same_message)
        .or(Some(index + 1))
        .filter(|other| *other < session.items.len())
        .filter(is_same_message);
    neighbour.is_some_and(|other| session.items[other].kind.is_from_model())
}

/// The messages of one reply: one, but where the recording has several of this spelling.
fn messages_of_reply(
    conversion: &mut Conversion<'_>,
    items: &[usize],
) -> SourceResult<Vec<Vec<u8>>> {
    let mut messages = Vec::new();
    let (codec, own) = (conversion.to.codec(), Some(conversion.to));
    let mut new: Option<Element> = None;
    let take = |new: &mut Option<Element>| {
        let messages = new.take().map(|element| codec.write_element(&element));
        messages.into_iter().flatten().map(String::into_bytes)
    };
    let mut bare_calls: Vec<usize> = Vec::new();
    let mut copied_until = Span::default();
    for index in items.iter().copied() {
        let item = conversion.item(index);
        let is_inside = !copied_until.is_empty() && copied_until.contains(item.span.start);
        if is_inside && item.dialect == own {
            continue;
        }
        if item.dialect == own && item.kind == Kind::Call {
            bare_calls.push(index);
            continue;
        }
        if let Some(bytes) = conversion.copied(index)? {
            messages.extend(take(&mut new));
            messages.extend(bare(conversion, &mut bare_calls)?);
            copied_until = item.span;
            messages.push(bytes);
            continue;
        }
        if let Some(element) = conversion.element(index)? {
            let parts = &mut new
                .get_or_insert(Element::new(Role::Model, Vec::new()))
                .parts;
            parts.extend(element.parts);
        }
    }
    messages.extend(take(&mut new));
    messages.extend(bare(conversion, &mut bare_calls)?);
    Ok(messages)
}

/// The message of calls that stand in the recording without a text: as it is where it is a record of its own.
fn bare(conversion: &Conversion<'_>, calls: &mut Vec<usize>) -> SourceResult<Option<Vec<u8>>> {
    let calls = std::mem::take(calls);
    let session = conversion.session;
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else {
        return Ok(None);
    };
    let record = session.items[*first].record;
    let is_of_record = |index: &usize| session.items[*index].record == record;
    let before = first.checked_sub(1).filter(is_of_record);
    let following = Some(last + 1).filter(|index| *index < session.items.len());
    let is_alone = before.is_none()
        && following.filter(is_of_record).is_none()
        && calls.iter().all(is_of_record);
    if let (true, Some(record)) = (is_alone, session.records.get(record as usize)) {
        let bytes = session.source.read(record.span)?;
        if is_message_of_model(&bytes) {
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
