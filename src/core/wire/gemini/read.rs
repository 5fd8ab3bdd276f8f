//! Reads contents of Gemini, and tells which of their parts the provider refuses.

use crate::json::{Cursor, Result, display_text};
use crate::session::{Dialect, Family, Flags, Fragment, Kind, NameId, Span};
use crate::wire::blocks::{self, BlockMessage};
use crate::wire::faults::{self, ShapeFault, first_byte};
use crate::wire::fields::call_id_within;
use std::ops::Range;

/// Reads the content at the cursor and adds its parts; `base` is where the walked text begins in the source.
pub fn read_content<'a>(
    cursor: &mut Cursor<'a>,
    base: u64,
    out: &mut Fragment,
) -> Result<BlockMessage<'a>> {
    let read_parts = |cursor: &mut Cursor<'a>, base, out: &mut Fragment| {
        cursor.array(|cursor| read_part(cursor, base, out))
    };
    let list = (Dialect::Gemini, &b"parts"[..]);
    blocks::read_message(cursor, base, out, list, read_parts, |role| match role {
        // Without a role a content is the user's; `function` is the role of outputs in old clients.
        None | Some(b"" | b"user" | b"function") => Kind::User,
        Some(b"model") => Kind::Assistant,
        Some(b"system") => Kind::System,
        Some(_) => Kind::Other,
    })
}

/// The telling members of a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartFields<'a> {
    pub range: Range<usize>,
    pub kind: PartKind,
    pub text: Option<&'a [u8]>,
    pub is_thought: bool,
    pub signature: Option<&'a [u8]>,
    pub id: Option<&'a [u8]>,
    pub name: Option<&'a [u8]>,
    /// Where the arguments of a call stand, or what a tool answered.
    pub value: Option<Range<usize>>,
    /// Whether an answer tells an error and no output.
    pub is_error: bool,
}

/// What a part is, by the member that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PartKind {
    /// Nothing but notes, as a signature.
    #[default]
    Empty,
    /// A member that this version does not know.
    Unknown,
    /// Text, or data of the speaker.
    Said,
    Call,
    Response,
    /// Code that the provider runs, and calls of its own tools.
    HostedCall,
    HostedResult,
}

impl<'a> PartFields<'a> {
    /// Walks the part at the cursor.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let mut part = Self::default();
        cursor.peek();
        let start = cursor.position();
        cursor.object(|cursor, key| part.member(cursor, key))?;
        part.range = start..cursor.position();
        Ok(part)
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Result<()> {
        if cursor.peek() == Some(b'n') {
            return Ok(());
        }
        match key {
            b"thought" => self.is_thought = cursor.is_true()?,
            b"thoughtSignature" | b"thought_signature" => self.signature = cursor.string()?,
            b"functionCall" | b"function_call" => {
                self.kind = PartKind::Call;
                cursor.object(|cursor, key| self.inner(cursor, key, b"args"))?;
            }
            b"functionResponse" | b"function_response" => {
                self.kind = PartKind::Response;
                cursor.object(|cursor, key| self.inner(cursor, key, b"response"))?;
                if let Some(response) = self.value.clone() {
                    self.is_error = tells_error(&mut Cursor::at(cursor.bytes(), response.start))?;
                }
            }
            b"executableCode" | b"executable_code" | b"toolCall" | b"tool_call" => {
                self.kind = PartKind::HostedCall;
            }
            b"codeExecutionResult"
            | b"code_execution_result"
            | b"toolResponse"
            | b"tool_response" => self.kind = PartKind::HostedResult,
            b"text" => {
                self.kind = PartKind::Said;
                self.text = cursor.string()?;
            }
            b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                self.kind = PartKind::Said;
            }
            b"videoMetadata" | b"video_metadata" | b"mediaResolution" | b"media_resolution"
            | b"partMetadata" | b"part_metadata" => {}
            _ if self.kind == PartKind::Empty => self.kind = PartKind::Unknown,
            _ => {}
        }
        Ok(())
    }

    fn inner(&mut self, cursor: &mut Cursor<'a>, key: &[u8], value: &'static [u8]) -> Result<()> {
        match key {
            b"id" => self.id = cursor.string()?.filter(|id| !id.is_empty()),
            b"name" => self.name = cursor.string()?,
            _ if key == value => {
                cursor.peek();
                self.value = Some(cursor.skip()?);
            }
            _ => {}
        }
        Ok(())
    }

    fn item_kind(&self) -> Kind {
        match self.kind {
            PartKind::Call => Kind::Call,
            PartKind::Response => Kind::Output,
            PartKind::HostedCall => Kind::HostedCall,
            PartKind::HostedResult => Kind::HostedOutput,
            PartKind::Said if self.is_thought => Kind::Reasoning,
            PartKind::Said | PartKind::Empty => Kind::User,
            PartKind::Unknown => Kind::Other,
        }
    }

    /// Calls and outputs without an id belong together by name and place.
    fn family(&self) -> Family {
        match self.kind {
            PartKind::Call | PartKind::Response if self.id.is_none() => Family::Legacy,
            PartKind::Call | PartKind::Response => Family::Function,
            PartKind::HostedCall | PartKind::HostedResult => Family::Hosted,
            PartKind::Said | PartKind::Empty | PartKind::Unknown => Family::None,
        }
    }
}

/// Whether the answer at the cursor has an `error` and no `output` (Gemini API reference, `FunctionResponse`).
fn tells_error(cursor: &mut Cursor<'_>) -> Result<bool> {
    let (mut error, mut output) = (false, false);
    cursor.object(|cursor, key| {
        let is_there = cursor.peek() != Some(b'n');
        error |= key == b"error" && is_there;
        output |= key == b"output" && is_there;
        Ok(())
    })?;
    Ok(error && !output)
}

fn read_part(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let bytes = cursor.bytes();
    let part = PartFields::read(cursor)?;
    let name = match part.name {
        Some(name) => out.names.intern(&display_text(name)),
        None => NameId::default(),
    };
    let span = Span::within(base, part.range.clone());
    let item = out.push(part.item_kind(), Some(Dialect::Gemini), span);
    item.family = part.family();
    item.call_id = call_id_within(bytes, part.range.start, part.id);
    item.name = name;
    item.flags = faults::mark(fault_of_part(bytes, &part));
    item.flags.set_if(Flags::ERROR, part.is_error);
    Ok(())
}

/// A part of Gemini. Arguments that are no object are what `malformed-arguments` is about.
pub(crate) fn fault_of_part(bytes: &[u8], part: &PartFields<'_>) -> Option<ShapeFault> {
    match part.kind {
        PartKind::Response if first_byte(bytes, &part.value) != Some(b'{') => {
            Some(ShapeFault::ResponseNotObject)
        }
        PartKind::Empty => Some(ShapeFault::EmptyPart),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::body_of;

    fn read(text: &str) -> Fragment {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        read_content(&mut Cursor::new(text.as_bytes()), 0, &mut out).unwrap();
        out
    }

    fn kinds(text: &str) -> Vec<Kind> {
        read(text).items.iter().map(|item| item.kind).collect()
    }

    #[test]
    fn a_part_is_what_its_member_says_in_either_case() {
        let text = r#"{"role":"model","parts":[{"text":"hm","thought":true},{"text":"ok"},
            {"functionCall":{"name":"read","args":{"p":1}},"thoughtSignature":"s"},
            {"function_call":{"id":"1","name":"read","args":{}}},
            {"executableCode":{"language":"PYTHON","code":"1"}},
            {"code_execution_result":{"outcome":"OUTCOME_OK","output":"1"}}]}"#;
        let expected = [
            Kind::Reasoning,
            Kind::Assistant,
            Kind::Call,
            Kind::Call,
            Kind::HostedCall,
            Kind::HostedOutput,
        ];
        assert_eq!(kinds(text), expected);
        let read = read(text);
        assert!(read.items[0].flags.has(Flags::STARTS_REPLY));
        let families = [read.items[2].family, read.items[3].family];
        assert_eq!(families, [Family::Legacy, Family::Function]);
        assert_eq!(read.names.text(read.items[2].name), "read");
    }

    #[test]
    fn outputs_tell_their_text_and_whether_they_are_errors() {
        let text = r#"{"parts":[{"functionResponse":{"name":"f","response":{"error":"no"}}},
            {"function_response":{"name":"f","response":{"output":"yes","error":null}}},
            {"inlineData":{"mimeType":"image/png","data":""}}]}"#;
        let read = read(text);
        let told = |index: usize| {
            let item = &read.items[index];
            let bytes = &text.as_bytes()[item.span.start as usize..item.span.end as usize];
            (
                body_of(item, bytes).unwrap().text,
                item.flags.has(Flags::ERROR),
            )
        };
        assert_eq!(told(0), ("no".to_owned(), true));
        assert_eq!(told(1).0, r#"{"output":"yes","error":null}"#);
        assert!(!told(1).1);
        assert_eq!(read.items[2].kind, Kind::User);
    }

    #[test]
    fn an_unknown_role_or_part_is_kept_and_an_empty_content_is_marked() {
        assert_eq!(
            kinds(r#"{"role":"wizard","parts":[{"text":"x"}]}"#),
            [Kind::Other]
        );
        assert_eq!(
            kinds(r#"{"role":"user","parts":[{"newThing":{}}]}"#),
            [Kind::Other]
        );
        let empty = read(r#"{"role":"model","parts":[]}"#);
        assert!(empty.items[0].flags.has(Flags::MALFORMED));
    }
}
