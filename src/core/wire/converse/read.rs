//! Reads messages of Converse, and tells which of their blocks the provider refuses.

use crate::json::{Cursor, Result, display_text};
use crate::session::{Dialect, Family, Flags, Fragment, Kind, NameId, Span};
use crate::wire::blocks::{self, BlockMessage};
use crate::wire::faults::{self, ShapeFault, first_byte, is_blank, is_longer};
use crate::wire::fields::{call_id_within, role_kind};
use std::ops::Range;

/// The longest id of a call, in characters (`ToolUseId`).
const LONGEST_ID: usize = 64;

/// Reads the message at the cursor and adds its blocks; `base` is where the walked text begins in the source.
pub fn read_message<'a>(
    cursor: &mut Cursor<'a>,
    base: u64,
    out: &mut Fragment,
) -> Result<BlockMessage<'a>> {
    let read_blocks = |cursor: &mut Cursor<'a>, base, out: &mut Fragment| {
        cursor.array(|cursor| read_block(cursor, base, out))
    };
    let list = (Dialect::Converse, &b"content"[..]);
    blocks::read_message(cursor, base, out, list, read_blocks, role_kind)
}

/// What a block is, by the member that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BlockKind {
    #[default]
    Empty,
    /// A member that this version does not know.
    Unknown,
    /// Text, or data of the speaker.
    Said,
    Reasoning,
    Call,
    Result,
    /// A call of a tool of the provider, and its result.
    HostedCall,
    HostedResult,
}

/// The telling members of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockFields<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) kind: BlockKind,
    text: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    /// Where the arguments of a call stand, or the content of a result.
    value: Option<Range<usize>>,
    is_error: bool,
}

impl<'a> BlockFields<'a> {
    /// Walks the block at the cursor.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let mut block = Self::default();
        cursor.peek();
        let start = cursor.position();
        cursor.object(|cursor, key| block.member(cursor, key))?;
        block.range = start..cursor.position();
        Ok(block)
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Result<()> {
        if cursor.peek() == Some(b'n') {
            return Ok(());
        }
        match key {
            b"text" => {
                self.kind = BlockKind::Said;
                self.text = cursor.string()?;
            }
            b"image" | b"document" | b"video" | b"audio" | b"guardContent" | b"cachePoint"
            | b"citationsContent" | b"searchResult" => self.kind = BlockKind::Said,
            b"reasoningContent" => self.kind = BlockKind::Reasoning,
            b"toolUse" => {
                let of_type = self.inner(cursor, b"input")?;
                self.kind = match of_type {
                    Some(b"server_tool_use") => BlockKind::HostedCall,
                    _ => BlockKind::Call,
                };
            }
            b"toolResult" => {
                let of_type = self.inner(cursor, b"content")?;
                self.kind = match of_type {
                    None | Some(b"" | b"tool_result") => BlockKind::Result,
                    Some(_) => BlockKind::HostedResult,
                };
            }
            _ if self.kind == BlockKind::Empty => self.kind = BlockKind::Unknown,
            _ => {}
        }
        Ok(())
    }

    /// Reads a call or a result, whose arguments or content stand in `value`, and gives its type.
    fn inner(&mut self, cursor: &mut Cursor<'a>, value: &'static [u8]) -> Result<Option<&'a [u8]>> {
        let mut of_type = None;
        cursor.object(|cursor, key| {
            match key {
                b"toolUseId" => self.id = cursor.string()?,
                b"name" => self.name = cursor.string()?,
                b"status" => self.is_error = cursor.string()? == Some(b"error"),
                b"type" => of_type = cursor.string()?,
                _ if key == value => {
                    cursor.peek();
                    self.value = Some(cursor.skip()?);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(of_type)
    }

    fn item_kind(&self) -> (Kind, Family) {
        match self.kind {
            BlockKind::Call => (Kind::Call, Family::Function),
            BlockKind::Result => (Kind::Output, Family::Function),
            BlockKind::HostedCall => (Kind::HostedCall, Family::Hosted),
            BlockKind::HostedResult => (Kind::HostedOutput, Family::Hosted),
            BlockKind::Reasoning => (Kind::Reasoning, Family::None),
            BlockKind::Said | BlockKind::Empty => (Kind::User, Family::None),
            BlockKind::Unknown => (Kind::Other, Family::None),
        }
    }
}

fn read_block(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let bytes = cursor.bytes();
    let block = BlockFields::read(cursor)?;
    let name = match block.name {
        Some(name) => out.names.intern(&display_text(name)),
        None => NameId::default(),
    };
    let (kind, family) = block.item_kind();
    let span = Span::within(base, block.range.clone());
    let item = out.push(kind, Some(Dialect::Converse), span);
    item.family = family;
    item.call_id = call_id_within(bytes, block.range.start, block.id);
    item.name = name;
    item.flags = faults::mark(fault_of_block(bytes, &block));
    item.flags.set_if(Flags::ERROR, block.is_error);
    Ok(())
}

/// What is wrong with a block. Arguments that are no object are what `malformed-arguments` is about. Refusals:
/// `The text field in the ContentBlock object at messages.0.content.0 is blank`; `Value at
/// 'messages.1.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must have length less
/// than or equal to 64`, `... must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+`.
pub(crate) fn fault_of_block(bytes: &[u8], block: &BlockFields<'_>) -> Option<ShapeFault> {
    let is_id_byte = |byte: &u8| faults::is_id_byte(*byte) || matches!(byte, b'.' | b':');
    let has_odd_id = || block.id.is_some_and(|id| !id.iter().all(is_id_byte));
    match block.kind {
        BlockKind::Empty => Some(ShapeFault::EmptyPart),
        BlockKind::Said if block.text.is_some_and(is_blank) => Some(ShapeFault::EmptyText),
        BlockKind::Call if matches!(first_byte(bytes, &block.value), None | Some(b'n')) => {
            Some(ShapeFault::NoInput)
        }
        BlockKind::Result if first_byte(bytes, &block.value) != Some(b'[') => {
            Some(ShapeFault::ContentType)
        }
        BlockKind::Call | BlockKind::Result if is_longer(block.id, LONGEST_ID) => {
            Some(ShapeFault::LongCallId { limit: LONGEST_ID })
        }
        BlockKind::Call | BlockKind::Result if has_odd_id() => Some(ShapeFault::CallIdCharacters),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::body_of;

    fn read(text: &str) -> Fragment {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        read_message(&mut Cursor::new(text.as_bytes()), 0, &mut out).unwrap();
        out
    }

    fn body(text: &str, index: usize) -> crate::wire::Body {
        let item = read(text).items[index];
        body_of(
            &item,
            &text.as_bytes()[item.span.start as usize..item.span.end as usize],
        )
        .unwrap()
    }

    #[test]
    fn a_block_is_what_its_member_says() {
        let text = r#"{"role":"assistant","content":[
            {"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"text":"ok"},
            {"toolUse":{"toolUseId":"t1","name":"read","input":{"p":1}}},
            {"toolUse":{"toolUseId":"t2","name":"nova_code_interpreter","input":{},"type":"server_tool_use"}},
            {"toolResult":{"toolUseId":"t2","content":[{"json":{}}],"type":"nova_code_interpreter_result"}},
            {"cachePoint":{"type":"default"}},{"newThing":{}}]}"#;
        let read = read(text);
        let kinds = read.items.iter().map(|item| item.kind).collect::<Vec<_>>();
        let expected = [
            Kind::Reasoning,
            Kind::Assistant,
            Kind::Call,
            Kind::HostedCall,
            Kind::HostedOutput,
            Kind::Assistant,
            Kind::Other,
        ];
        assert_eq!(kinds, expected);
        assert_eq!(read.names.text(read.items[2].name), "read");
        assert_eq!(body(text, 0).text, "hm");
        assert_eq!(body(text, 2).arguments.json(), Some(r#"{"p":1}"#));
    }

    #[test]
    fn results_tell_their_text_and_whether_they_are_errors() {
        let text = r#"{"role":"user","content":[
            {"toolResult":{"toolUseId":"a","content":[{"text":"no"},{"image":{"format":"png","source":{"bytes":""}}}],"status":"error"}},
            {"toolResult":{"toolUseId":"b","status":"success","content":[{"json":{"n": 1}}]}}]}"#;
        let read = read(text);
        let errors = read.items.iter().map(|item| item.flags.has(Flags::ERROR));
        assert_eq!(errors.collect::<Vec<_>>(), [true, false]);
        assert_eq!(body(text, 0).text, "no\n[image]");
        assert_eq!(body(text, 1).text, r#"{"n": 1}"#);
    }

    #[test]
    fn what_the_provider_refuses_is_marked() {
        let long = format!(
            r#"{{"toolUse":{{"toolUseId":"{}","name":"f","input":{{}}}}}}"#,
            "x".repeat(65)
        );
        for block in [
            r#"{"text":" "}"#,
            r#"{"toolUse":{"toolUseId":"a b","name":"f","input":{}}}"#,
            r#"{"toolUse":{"toolUseId":"a","name":"f"}}"#,
            r#"{"toolResult":{"toolUseId":"a","content":"text"}}"#,
            "{}",
            &long,
        ] {
            let message = format!(r#"{{"role":"user","content":[{block}]}}"#);
            assert!(
                read(&message).items[0].flags.has(Flags::MALFORMED),
                "{block}"
            );
        }
        assert!(
            read(r#"{"role":"user","content":[]}"#).items[0]
                .flags
                .has(Flags::MALFORMED)
        );
    }
}
