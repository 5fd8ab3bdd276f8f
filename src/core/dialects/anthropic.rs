//! Anthropic Messages: messages of content blocks; calls and outputs are blocks.

use super::fields::call_id_within;
use super::{Fields, shapes};
use crate::json::{Cursor, JsonError};
use crate::session::{Family, Flags, Fragment, Kind, NameId, Shape, Span};
use std::ops::Range;

/// What the message said of itself beside its content.
#[derive(Debug, Clone, Default)]
pub struct Message<'a> {
    /// Where it stands in the walked text.
    pub range: Range<usize>,
    pub role: Option<&'a [u8]>,
    pub id: Option<&'a [u8]>,
    pub model: Option<&'a [u8]>,
    pub stop_reason: Option<&'a [u8]>,
    /// Whether there is a list `tool_calls`, which only Chat messages have.
    pub has_tool_calls: bool,
}

/// Reads the message at the cursor and adds its blocks; `base` is where the walked text begins in the source.
pub fn read_message<'a>(
    cursor: &mut Cursor<'a>,
    base: u64,
    out: &mut Fragment,
) -> Result<Message<'a>, JsonError> {
    let first = out.items.len();
    let mut message = Message::default();
    cursor.peek();
    let start = cursor.position();
    cursor.object(|cursor, key| {
        match key {
            b"role" => message.role = cursor.string()?,
            b"id" => message.id = cursor.string()?,
            b"model" => message.model = cursor.string()?,
            b"stop_reason" => message.stop_reason = cursor.string()?,
            b"tool_calls" => message.has_tool_calls = cursor.peek() == Some(b'['),
            b"content" => read_content(cursor, base, out)?,
            _ => {}
        }
        Ok(())
    })?;
    message.range = start..cursor.position();
    settle(&message, base, first, out);
    Ok(message)
}

/// The content of a message: blocks, or a string, which stands for one text block.
fn read_content(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<(), JsonError> {
    if cursor.peek() != Some(b'[') {
        let range = cursor.skip()?;
        let is_blank = match &cursor.bytes()[range.clone()] {
            [b'"', inside @ .., b'"'] => shapes::is_blank(inside),
            _ => false,
        };
        out.push(Kind::User, Shape::Anthropic, Span::within(base, range))
            .flags
            .set_if(Flags::MALFORMED, is_blank);
        return Ok(());
    }
    cursor
        .array(|cursor| read_block(cursor, base, out))
        .map(|_| ())
}

/// Reads one content block.
pub fn read_block(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<(), JsonError> {
    let bytes = cursor.bytes();
    let fields = Fields::read(cursor)?;
    let (kind, family) = classify(fields.kind.unwrap_or_default());
    let id = if matches!(kind, Kind::Output | Kind::HostedOutput) {
        fields.tool_use_id
    } else {
        fields.id
    };
    let name = if fields.name.is_some() {
        out.names.intern(&fields.qualified_name())
    } else {
        NameId::default()
    };
    let item = out.push(kind, Shape::Anthropic, fields.span(base));
    item.family = family;
    item.call_id = call_id_within(bytes, fields.range.start, id);
    item.name = name;
    item.flags = shapes::mark(shapes::of_block(bytes, &fields));
    item.flags.set_if(Flags::ERROR, fields.is_error);
    Ok(())
}

/// Block types of the Anthropic API reference; a text block is the user's until the role says otherwise.
fn classify(kind: &[u8]) -> (Kind, Family) {
    match kind {
        b"tool_use" => (Kind::Call, Family::Function),
        b"tool_result" => (Kind::Output, Family::Function),
        b"thinking" | b"redacted_thinking" => (Kind::Reasoning, Family::None),
        b"text" | b"image" | b"document" | b"search_result" | b"container_upload" => {
            (Kind::User, Family::None)
        }
        b"mid_conv_system" => (Kind::System, Family::None),
        b"compaction" => (Kind::Compaction, Family::None),
        b"server_tool_use" | b"mcp_tool_use" => (Kind::HostedCall, Family::Hosted),
        other if other.ends_with(b"_tool_result") => (Kind::HostedOutput, Family::Hosted),
        _ => (Kind::Other, Family::None),
    }
}

/// Gives the blocks of a message the kind that its role asks for.
fn settle(message: &Message<'_>, base: u64, first: usize, out: &mut Fragment) {
    let spoken = super::responses::role_kind(message.role);
    if out.items.len() == first {
        let span = Span::within(base, message.range.clone());
        out.push(spoken, Shape::Anthropic, span).flags = Flags::MALFORMED;
    }
    for item in &mut out.items[first..] {
        if item.kind == Kind::User {
            item.kind = spoken;
            item.flags.set_if(Flags::MALFORMED, spoken == Kind::Other);
        }
        item.flags.set_if(Flags::UNKNOWN, item.kind == Kind::Other);
    }
    if spoken == Kind::Assistant
        && let Some(item) = out.items.get_mut(first)
    {
        item.flags = item.flags.with(Flags::STARTS_REPLY);
        item.flags
            .set_if(Flags::REFUSAL, message.stop_reason == Some(b"refusal"));
    }
    if let Some(reason) = message.stop_reason {
        out.note_stop(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Fragment {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        read_message(&mut Cursor::new(text.as_bytes()), 0, &mut out).unwrap();
        out
    }

    fn kinds(text: &str) -> Vec<Kind> {
        read(text).items.iter().map(|item| item.kind).collect()
    }

    #[test]
    fn each_block_is_an_item() {
        let text = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"ok"},
            {"type":"tool_use","id":"toolu_1","name":"read","input":{}}],"stop_reason":"tool_use"}"#;
        assert_eq!(kinds(text), [Kind::Reasoning, Kind::Assistant, Kind::Call]);
        let read = read(text);
        assert!(read.items[0].flags.has(Flags::STARTS_REPLY));
        assert_eq!(
            read.facts,
            [(3, crate::session::Fact::Stop("tool_use".into()))]
        );
    }

    #[test]
    fn the_role_may_stand_behind_the_content() {
        assert_eq!(
            kinds(r#"{"content":[{"type":"text","text":"ok"}],"role":"assistant"}"#),
            [Kind::Assistant]
        );
        assert_eq!(kinds(r#"{"content":"ok","role":"user"}"#), [Kind::User]);
    }

    #[test]
    fn results_keep_their_error_mark_and_what_the_server_ran_stays_its_own() {
        let text = r#"{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","is_error":true,"content":"x"}]}"#;
        let read = read(text);
        assert_eq!(
            (read.items[0].kind, read.items[0].flags.has(Flags::ERROR)),
            (Kind::Output, true)
        );
        let hosted = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search"},
            {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1"}]}"#;
        assert_eq!(kinds(hosted), [Kind::HostedCall, Kind::HostedOutput]);
    }
}
