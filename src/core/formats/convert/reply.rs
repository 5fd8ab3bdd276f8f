//! The messages of one reply of Chat: its calls hang on one message of the model.

use super::{Conversion, is_message_of_model};
use crate::session::{Family, Kind, SourceError, Span};
use crate::wire::{Element, Role};

/// The messages of one reply: one, but where the recording has several of this spelling.
pub(super) fn messages(
    conversion: &mut Conversion<'_>,
    items: &[usize],
) -> Result<Vec<Vec<u8>>, SourceError> {
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
