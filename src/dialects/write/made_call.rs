//! A call that the model wrote as text, spelled as the call that it is.

use super::patch::set_member;
use super::{quoted, text_block};
use crate::json::{Cursor, Fault, display_text};
use crate::session::{Item, Patch, Shape};
use std::ops::Range;

/// The call to be made of a part of a text.
#[derive(Debug)]
pub struct MadeCall<'a> {
    /// Its id, which nothing else has.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments, a JSON object.
    pub arguments: &'a str,
    /// What is left of the text; empty where it was the call and nothing else.
    pub left: &'a str,
}

/// How an item changes for the call to be made.
#[derive(Debug)]
pub struct Made {
    /// What becomes of the item.
    pub patches: Vec<Patch>,
    /// The call, where it is an item of its own behind it.
    pub behind: Option<String>,
}

/// The texts of a message of the model, each with the place of its string in the bytes of the item.
pub fn texts_of(bytes: &[u8]) -> Result<Vec<(Range<usize>, String)>, Fault> {
    let mut cursor = Cursor::new(bytes);
    let mut found = Vec::new();
    match cursor.peek() {
        Some(b'"') => take(&mut cursor, &mut found)?,
        Some(b'{') => {
            cursor.object(|cursor, key| match (key, cursor.peek()) {
                (b"text" | b"content", Some(b'"')) => take(cursor, &mut found),
                (b"content", Some(b'[')) => cursor
                    .array(|part| {
                        if part.peek() != Some(b'{') {
                            return part.skip().map(|_| ());
                        }
                        part.object(|part, key| match (key, part.peek()) {
                            (b"text", Some(b'"')) => take(part, &mut found),
                            _ => Ok(()),
                        })
                        .map(|_| ())
                    })
                    .map(|_| ()),
                _ => Ok(()),
            })?;
        }
        _ => {}
    }
    Ok(found)
}

fn take(cursor: &mut Cursor<'_>, found: &mut Vec<(Range<usize>, String)>) -> Result<(), Fault> {
    let start = cursor.position();
    if let Some(inside) = cursor.string()? {
        found.push((start..cursor.position(), display_text(inside).into_owned()));
    }
    Ok(())
}

/// Makes a call of a part of the text that stands at `at` in an item. `None` where the dialect has no place for it.
pub fn make_call(
    item: &Item,
    bytes: &[u8],
    at: Range<usize>,
    call: &MadeCall<'_>,
) -> Result<Option<Made>, Fault> {
    let (id, tool) = (quoted(call.id), quoted(call.tool));
    let whole = |with: String| {
        let at = 0..bytes.len();
        let with = with.into_bytes();
        Made {
            patches: vec![Patch { at, with }],
            behind: None,
        }
    };
    let left = |spelled: String| Patch {
        at: at.clone(),
        with: spelled.into_bytes(),
    };
    Ok(match item.shape {
        Shape::Chat => {
            let is_whole_content = bytes[..at.start].trim_ascii_end().ends_with(b":");
            let text = match call.left {
                "" if is_whole_content => "null".to_owned(),
                text => quoted(text),
            };
            let entry = format!(
                r#"[{{"id":{id},"type":"function","function":{{"name":{tool},"arguments":{}}}}}]"#,
                quoted(call.arguments)
            );
            let mut patches = vec![left(text), set_member(bytes, 0, "tool_calls", &entry)?];
            patches.sort_by_key(|patch| patch.at.start);
            Some(Made {
                patches,
                behind: None,
            })
        }
        Shape::Anthropic => {
            let block = format!(
                r#"{{"type":"tool_use","id":{id},"name":{tool},"input":{}}}"#,
                call.arguments
            );
            let blocks = match call.left {
                "" => block,
                text => format!("{},{block}", text_block(text)),
            };
            let is_bare = bytes.first() == Some(&b'"');
            Some(whole(if is_bare {
                format!("[{blocks}]")
            } else {
                blocks
            }))
        }
        Shape::Responses => {
            let entry = format!(
                r#"{{"type":"function_call","call_id":{id},"name":{tool},"arguments":{}}}"#,
                quoted(call.arguments)
            );
            Some(match call.left {
                "" => whole(entry),
                text => Made {
                    patches: vec![left(quoted(text))],
                    behind: Some(entry),
                },
            })
        }
        Shape::Format => None,
    })
}
