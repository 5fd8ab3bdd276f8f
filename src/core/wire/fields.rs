//! The members of one JSON object that show what it is, in whatever dialect: read in one walk, decided on
//! afterwards. One list for all dialects, since the dialect of a file is often known only from them.

use crate::json::{Cursor, Result};
use crate::session::{CallId, Kind, Span};
use std::ops::Range;

/// The telling members of an object; ranges count from the start of the walked text.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a> {
    /// Where the object is.
    pub range: Range<usize>,
    pub kind: Option<&'a [u8]>,
    pub role: Option<&'a [u8]>,
    pub id: Option<&'a [u8]>,
    pub call_id: Option<&'a [u8]>,
    pub tool_call_id: Option<&'a [u8]>,
    pub tool_use_id: Option<&'a [u8]>,
    pub approval_request_id: Option<&'a [u8]>,
    pub name: Option<&'a [u8]>,
    pub namespace: Option<&'a [u8]>,
    pub server_label: Option<&'a [u8]>,
    pub status: Option<&'a [u8]>,
    pub execution: Option<&'a [u8]>,
    pub is_error: bool,
    /// Where the value of `content` is.
    pub content: Option<Range<usize>>,
    /// Where the value of `tools` is.
    pub tools: Option<Range<usize>>,
    /// Where the value of `tool_calls` is.
    pub tool_calls: Option<Range<usize>>,
    /// Where the value of `function_call` is.
    pub function_call: Option<Range<usize>>,
    /// Where the value of `arguments`, or of `input`, is.
    pub arguments: Option<Range<usize>>,
    /// Where the value of `output` is.
    pub output: Option<Range<usize>>,
    pub text: Option<&'a [u8]>,
    pub signature: Option<&'a [u8]>,
    /// Whether `refusal` holds text.
    pub refusal: bool,
    /// Whether `audio` is an object.
    pub has_audio: bool,
    /// A telling key that stood twice.
    pub twice: Option<&'static str>,
}

impl<'a> Fields<'a> {
    /// Walks the object at the cursor. A value that is not an object gives no fields but its range.
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let mut fields = Self::default();
        cursor.peek();
        let start = cursor.position();
        cursor.object(|cursor, key| fields.take(cursor, key))?;
        fields.range = start..cursor.position();
        Ok(fields)
    }

    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'a>, key: &'a [u8]) -> Result<()> {
        let (slot, name) = match key {
            b"type" => (&mut self.kind, "type"),
            b"role" => (&mut self.role, "role"),
            b"id" => (&mut self.id, "id"),
            b"call_id" => (&mut self.call_id, "call_id"),
            b"tool_call_id" => (&mut self.tool_call_id, "tool_call_id"),
            b"tool_use_id" => (&mut self.tool_use_id, "tool_use_id"),
            b"approval_request_id" => (&mut self.approval_request_id, "approval_request_id"),
            b"name" => (&mut self.name, "name"),
            b"namespace" => (&mut self.namespace, "namespace"),
            b"server_label" => (&mut self.server_label, "server_label"),
            b"status" => (&mut self.status, "status"),
            b"execution" => (&mut self.execution, "execution"),
            b"content" => return keep(&mut self.content, cursor),
            b"tools" => return keep(&mut self.tools, cursor),
            b"tool_calls" => return keep(&mut self.tool_calls, cursor),
            b"function_call" => return keep(&mut self.function_call, cursor),
            b"arguments" | b"input" => return keep(&mut self.arguments, cursor),
            b"output" => return keep(&mut self.output, cursor),
            b"text" => {
                self.text = cursor.string()?;
                return Ok(());
            }
            b"signature" => {
                self.signature = cursor.string()?;
                return Ok(());
            }
            b"audio" => {
                self.has_audio = cursor.peek() == Some(b'{');
                return Ok(());
            }
            b"is_error" => {
                self.is_error = cursor.is_true()?;
                return Ok(());
            }
            b"refusal" => {
                self.refusal = cursor.string()?.is_some_and(|text| !text.is_empty());
                return Ok(());
            }
            _ => return Ok(()),
        };
        if slot.is_some() {
            self.twice = Some(name);
        }
        *slot = cursor.string()?;
        Ok(())
    }

    /// The place of the object in the source, `base` being where the walked text begins.
    pub fn span(&self, base: u64) -> Span {
        Span::within(base, self.range.clone())
    }

    /// The name with its namespace, as `namespace.name`. A tool that a search loaded is called with its own
    /// name as the namespace, which says nothing.
    pub fn qualified_name(&self) -> String {
        let text = |raw: &[u8]| crate::json::display_text(raw).into_owned();
        let name = self.name.map(text).unwrap_or_default();
        let is_telling = |namespace: &&[u8]| !namespace.is_empty() && Some(*namespace) != self.name;
        match self.namespace.filter(is_telling) {
            Some(namespace) => format!("{}.{name}", text(namespace)),
            None => name,
        }
    }
}

/// A call id whose raw text is a part of `bytes`, counted from `item_start`.
pub(crate) fn call_id_within(bytes: &[u8], item_start: usize, raw: Option<&[u8]>) -> CallId {
    let Some(raw) = raw else {
        return CallId::default();
    };
    // Both slices come from the same buffer, so the distance of their addresses is the place of the id in it.
    let place = (raw.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
    CallId::new(raw, place.wrapping_sub(item_start))
}

/// What a message of this role is, in the dialects whose roles are those of OpenAI.
pub(crate) fn role_kind(role: Option<&[u8]>) -> Kind {
    match role {
        Some(b"system" | b"developer") => Kind::System,
        Some(b"user") => Kind::User,
        Some(b"assistant") => Kind::Assistant,
        _ => Kind::Other,
    }
}

#[inline]
fn keep(slot: &mut Option<Range<usize>>, cursor: &mut Cursor<'_>) -> Result<()> {
    *slot = Some(cursor.skip()?);
    Ok(())
}
