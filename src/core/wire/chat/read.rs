//! Reads messages of Chat, and tells which of them the provider refuses.

use crate::json::{Cursor, Result};
use crate::session::{Dialect, Family, Flags, Fragment, Item, Kind, Span};
use crate::wire::faults::{
    self, ShapeFault, first_byte, has_unknown_part, is_empty_list, is_longer,
};
use crate::wire::fields::{Fields, call_id_within, role_kind};
use std::ops::Range;

/// Reads the message at the cursor; `base` is where the walked text begins in the source.
pub fn read_message(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let bytes = cursor.bytes();
    let fields = Fields::read(cursor)?;
    push_message(bytes, base, &fields, out)
}

/// Adds the items of the message whose members were walked: its text, then its calls.
pub fn push_message(
    bytes: &[u8],
    base: u64,
    fields: &Fields<'_>,
    out: &mut Fragment,
) -> Result<()> {
    match fields.role {
        Some(b"tool") => push_output(bytes, base, fields, Family::Function, out),
        Some(b"function") => push_output(bytes, base, fields, Family::Legacy, out),
        Some(b"assistant") => return push_reply(bytes, base, fields, out),
        role => push(message(bytes, base, fields, role_kind(role)), out),
    }
    Ok(())
}

fn push_reply(bytes: &[u8], base: u64, fields: &Fields<'_>, out: &mut Fragment) -> Result<()> {
    let first = out.items.len();
    let says_something = fields
        .content
        .clone()
        .is_some_and(|content| !matches!(&bytes[content], b"null" | b"\"\"" | b"[]"));
    let opens = |value: &Option<Range<usize>>, open| {
        value
            .as_ref()
            .is_some_and(|value| bytes[value.start] == open)
    };
    let has_calls = opens(&fields.function_call, b'{')
        || (opens(&fields.tool_calls, b'[') && !is_empty_list(bytes, &fields.tool_calls));
    if says_something || fields.refusal || !has_calls {
        let mut item = message(bytes, base, fields, Kind::Assistant);
        item.flags.set_if(Flags::REFUSAL, fields.refusal);
        push(item, out);
    }
    if let Some(call) = fields.function_call.clone()
        && bytes[call.start] == b'{'
    {
        let call = Fields::read(&mut Cursor::at(bytes, call.start))?;
        push_call(bytes, base, &call, Family::Legacy, out);
    }
    if let Some(calls) = fields.tool_calls.clone() {
        Cursor::at(bytes, calls.start).array(|cursor| {
            let (call, is_known) = walk_call(cursor)?;
            let family = if call.kind == Some(b"custom") {
                Family::Custom
            } else {
                Family::Function
            };
            push_call(bytes, base, &call, family, out);
            if let Some(item) = out.items.last_mut() {
                item.flags.set_if(Flags::UNKNOWN, !is_known);
            }
            Ok(())
        })?;
    }
    if let Some(item) = out.items.get_mut(first) {
        item.flags = item.flags.with(Flags::STARTS_REPLY);
    }
    Ok(())
}

/// The same, and whether it has a `function` (or `custom`).
pub(crate) fn walk_call<'a>(cursor: &mut Cursor<'a>) -> Result<(Fields<'a>, bool)> {
    let mut call = Fields::read(cursor)?;
    let mut is_known = false;
    Cursor::at(cursor.bytes(), call.range.start).object(|cursor, key| {
        if matches!(key, b"function" | b"custom") && cursor.peek() == Some(b'{') {
            is_known = true;
            let function = Fields::read(cursor)?;
            call.name = function.name.or(call.name);
            call.arguments = function.arguments.or(call.arguments.take());
        }
        Ok(())
    })?;
    Ok((call, is_known))
}

fn push_call(bytes: &[u8], base: u64, call: &Fields<'_>, family: Family, out: &mut Fragment) {
    let name = call
        .name
        .map(|raw| out.names.intern(&crate::json::display_text(raw)))
        .unwrap_or_default();
    let id = if family == Family::Legacy {
        None
    } else {
        call.id
    };
    push(
        Item {
            span: call.span(base),
            call_id: call_id_within(bytes, call.range.start, id),
            record: 0,
            turn: 0,
            name,
            kind: Kind::Call,
            family,
            dialect: Some(Dialect::Chat),
            flags: faults::mark(fault_of_call(bytes, call, family)),
        },
        out,
    );
}

fn push_output(bytes: &[u8], base: u64, fields: &Fields<'_>, family: Family, out: &mut Fragment) {
    let mut item = message(bytes, base, fields, Kind::Output);
    item.family = family;
    if family == Family::Function {
        item.call_id = call_id_within(bytes, fields.range.start, fields.tool_call_id);
    }
    item.name = fields
        .name
        .map(|raw| out.names.intern(&crate::json::display_text(raw)))
        .unwrap_or_default();
    push(item, out);
}

fn message(bytes: &[u8], base: u64, fields: &Fields<'_>, kind: Kind) -> Item {
    let mut flags = faults::mark(fault_of_message(bytes, fields));
    let is_unknown = kind == Kind::Other || has_unknown_part(bytes, &fields.content, CONTENT_TYPES);
    flags.set_if(Flags::UNKNOWN, is_unknown);
    let span = Span::within(base, fields.range.clone());
    let item = Item::new(kind, Some(Dialect::Chat), span);
    Item { flags, ..item }
}

fn push(item: Item, out: &mut Fragment) {
    let record = out.record();
    out.items.push(Item { record, ..item });
}

/// The longest call id of Chat, in characters.
const CHAT_CALL_ID: usize = 40;

/// A message of Chat, without its calls.
pub(crate) fn fault_of_message(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let content = first_byte(bytes, &fields.content);
    let is_text = matches!(content, Some(b'"' | b'['));
    match fields.role? {
        b"assistant" => fault_of_reply(bytes, fields, content),
        // Old function outputs may be null (OpenAI API reference).
        b"function" if matches!(content, Some(b'n')) => None,
        b"system" | b"developer" | b"user" | b"tool" | b"function" => {
            (!is_text).then_some(ShapeFault::ContentType)
        }
        _ => Some(ShapeFault::UnknownRole),
    }
}

fn fault_of_reply(bytes: &[u8], fields: &Fields<'_>, content: Option<u8>) -> Option<ShapeFault> {
    if is_empty_list(bytes, &fields.tool_calls) {
        return Some(ShapeFault::EmptyToolCalls);
    }
    match content {
        Some(b'"') => None,
        Some(b'[') if !is_empty_list(bytes, &fields.content) => None,
        None | Some(b'n' | b'[') => {
            let has_calls = first_byte(bytes, &fields.tool_calls) == Some(b'[')
                || first_byte(bytes, &fields.function_call) == Some(b'{');
            let says_otherwise = fields.refusal || fields.has_audio;
            (!has_calls && !says_otherwise).then_some(ShapeFault::NothingSaid)
        }
        Some(_) => Some(ShapeFault::ContentType),
    }
}

/// One call of Chat, its function's members among its own.
pub(crate) fn fault_of_call(bytes: &[u8], call: &Fields<'_>, family: Family) -> Option<ShapeFault> {
    if !matches!(first_byte(bytes, &call.arguments), None | Some(b'"')) {
        return Some(ShapeFault::ArgumentsNotString);
    }
    let limit = CHAT_CALL_ID;
    let is_long = family != Family::Legacy && is_longer(call.id, limit);
    is_long.then_some(ShapeFault::LongCallId { limit })
}

/// Types of content parts of Chat: the OpenAI API reference (`ChatCompletionContentPart...`), and those that
/// servers of its family take in addition (vLLM, Mistral, LiteLLM).
pub(crate) const CONTENT_TYPES: &[&[u8]] = &[
    b"text",
    b"image_url",
    b"input_audio",
    b"file",
    b"refusal",
    b"audio_url",
    b"video_url",
    b"audio",
    b"document",
    b"document_url",
    b"image",
    b"input_file",
    b"input_image",
    b"input_text",
    b"output_text",
    b"reasoning",
    b"redacted_thinking",
    b"reference",
    b"thinking",
    b"video",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Kind, Family, String, String)> {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        read_message(&mut Cursor::new(text.as_bytes()), 0, &mut out).unwrap();
        out.items
            .iter()
            .map(|item| {
                let id = item
                    .call_id
                    .span(item.span)
                    .map_or("", |span| &text[span.start as usize..span.end as usize]);
                (
                    item.kind,
                    item.family,
                    out.names.text(item.name).to_owned(),
                    id.to_owned(),
                )
            })
            .collect()
    }

    #[test]
    fn an_assistant_message_gives_its_text_and_each_of_its_calls() {
        let text = r#"{"role":"assistant","content":"let me see","tool_calls":[
            {"id":"call_1","type":"function","function":{"name":"search","arguments":"{}"}},
            {"id":"call_2","type":"custom","custom":{"name":"patch","input":"x"}}]}"#;
        let expected = [
            (Kind::Assistant, Family::None, String::new(), String::new()),
            (
                Kind::Call,
                Family::Function,
                "search".to_owned(),
                "call_1".to_owned(),
            ),
            (
                Kind::Call,
                Family::Custom,
                "patch".to_owned(),
                "call_2".to_owned(),
            ),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_message_without_words_is_its_calls() {
        let text = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f"}}]}"#;
        assert_eq!(read(text).len(), 1);
        assert_eq!(
            read(r#"{"role":"assistant","content":null}"#)[0].0,
            Kind::Assistant
        );
    }

    #[test]
    fn old_function_calls_have_names_and_no_ids() {
        let call = read(
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
        );
        assert_eq!(
            call,
            [(Kind::Call, Family::Legacy, "f".to_owned(), String::new())]
        );
        let output = read(r#"{"role":"function","name":"f","content":"1"}"#);
        assert_eq!(
            output,
            [(Kind::Output, Family::Legacy, "f".to_owned(), String::new())]
        );
    }

    #[test]
    fn an_unknown_role_is_kept() {
        assert_eq!(read(r#"{"role":"wizard","content":"x"}"#)[0].0, Kind::Other);
    }
}
