//! Reads messages of Anthropic, and tells which of their blocks the provider refuses.

use crate::json::{Cursor, Result};
use crate::session::{Dialect, Family, Flags, Fragment, Kind, NameId, Span};
use crate::wire::blocks::{self, BlockMessage};
use crate::wire::faults::{self, ShapeFault, first_byte, is_blank, is_empty_list, is_id_byte};
use crate::wire::fields::{Fields, call_id_within, role_kind};

/// Reads the message at the cursor and adds its blocks; `base` is where the walked text begins in the source.
pub fn read_message<'a>(
    cursor: &mut Cursor<'a>,
    base: u64,
    out: &mut Fragment,
) -> Result<BlockMessage<'a>> {
    let list = (Dialect::Anthropic, &b"content"[..]);
    blocks::read_message(cursor, base, out, list, read_content, role_kind)
}

/// The content of a message: blocks, or a string, which means one text block.
fn read_content(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<bool> {
    if cursor.peek() != Some(b'[') {
        let range = cursor.skip()?;
        let is_blank = match &cursor.bytes()[range.clone()] {
            [b'"', inside @ .., b'"'] => is_blank(inside),
            _ => false,
        };
        out.push(
            Kind::User,
            Some(Dialect::Anthropic),
            Span::within(base, range),
        )
        .flags
        .set_if(Flags::MALFORMED, is_blank);
        return Ok(false);
    }
    cursor.array(|cursor| read_block(cursor, base, out))
}

/// Reads one content block.
fn read_block(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
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
    let item = out.push(kind, Some(Dialect::Anthropic), fields.span(base));
    item.family = family;
    item.call_id = call_id_within(bytes, fields.range.start, id);
    item.name = name;
    item.flags = faults::mark(fault_of_block(bytes, &fields));
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

/// A content block of Anthropic.
pub(crate) fn fault_of_block(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    match fields.kind? {
        b"text" if fields.text.is_some_and(is_blank) => Some(ShapeFault::EmptyText),
        b"thinking" if fields.signature.is_none_or(is_blank) => Some(ShapeFault::BlankSignature),
        b"tool_use" => fault_of_tool_use(bytes, fields),
        b"server_tool_use" => {
            let is_odd = |id: &[u8]| {
                !id.starts_with(b"srvtoolu_") || !id.iter().all(|byte| is_id_byte(*byte))
            };
            fields
                .id
                .is_some_and(is_odd)
                .then_some(ShapeFault::CallIdCharacters)
        }
        b"tool_result" => fault_of_tool_result(bytes, fields),
        _ => None,
    }
}

/// An input that is there and no object is what `malformed-arguments` is about.
fn fault_of_tool_use(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let is_odd = |id: &[u8]| !id.iter().all(|byte| is_id_byte(*byte));
    let nothing = fields
        .arguments
        .as_ref()
        .is_none_or(|input| matches!(&bytes[input.clone()], b"null" | b"\"\""));
    if nothing {
        Some(ShapeFault::NoInput)
    } else {
        fields
            .id
            .is_some_and(is_odd)
            .then_some(ShapeFault::CallIdCharacters)
    }
}

fn fault_of_tool_result(bytes: &[u8], fields: &Fields<'_>) -> Option<ShapeFault> {
    let content = first_byte(bytes, &fields.content);
    let is_empty = fields
        .content
        .as_ref()
        .is_none_or(|content| matches!(&bytes[content.clone()], b"null" | b"\"\""))
        || is_empty_list(bytes, &fields.content);
    if fields.is_error && is_empty {
        return Some(ShapeFault::EmptyError);
    }
    (!matches!(content, None | Some(b'n' | b'"' | b'['))).then_some(ShapeFault::ContentType)
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
