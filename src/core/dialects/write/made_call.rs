//! A call that the model wrote as text, spelled as the call that it is.

use super::patch::set_member;
use super::{quoted, text_block};
use crate::json::{Cursor, JsonError, display_text};
use crate::session::{Item, Patch, Shape};
use std::ops::Range;

/// The call to be made of a part of a text.
#[derive(Debug)]
pub struct MadeCall<'a> {
    /// Its id, which nothing else has.
    pub id: &'a str,
    pub tool: &'a str,
    /// The arguments, a JSON object.
    pub arguments: &'a str,
}

/// How an item changes for the call to be made.
#[derive(Debug)]
pub struct Made {
    /// What becomes of the item.
    pub patches: Vec<Patch>,
    /// The calls that are items of their own behind it.
    pub behind: Vec<String>,
}

/// The texts of a message of the model, each with the place of its string in the bytes of the item.
pub fn texts_of(bytes: &[u8]) -> Result<Vec<(Range<usize>, String)>, JsonError> {
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

fn take(cursor: &mut Cursor<'_>, found: &mut Vec<(Range<usize>, String)>) -> Result<(), JsonError> {
    let start = cursor.position();
    if let Some(inside) = cursor.string()? {
        found.push((start..cursor.position(), display_text(inside).into_owned()));
    }
    Ok(())
}

/// Makes calls of a part of the text that stands at `at` in an item; `left` is what is left of the text, empty
/// where it was calls and nothing else. `None` where the dialect has no place for them.
pub fn make_call(
    item: &Item,
    bytes: &[u8],
    at: Range<usize>,
    calls: &[MadeCall<'_>],
    left: &str,
) -> Result<Option<Made>, JsonError> {
    let whole = |with: String| {
        let at = 0..bytes.len();
        let with = with.into_bytes();
        Made {
            patches: vec![Patch { at, with }],
            behind: Vec::new(),
        }
    };
    let text_is = |spelled: String| Patch {
        at: at.clone(),
        with: spelled.into_bytes(),
    };
    Ok(match item.shape {
        Shape::Chat => {
            let is_whole_content = bytes[..at.start].trim_ascii_end().ends_with(b":");
            let text = match left {
                "" if is_whole_content => "null".to_owned(),
                text => quoted(text),
            };
            let entries = calls.iter().map(|call| {
                let [id, tool, arguments] = [call.id, call.tool, call.arguments].map(quoted);
                format!(
                    r#"{{"id":{id},"type":"function","function":{{"name":{tool},"arguments":{arguments}}}}}"#
                )
            });
            let entries = format!("[{}]", entries.collect::<Vec<_>>().join(","));
            let mut patches = vec![text_is(text), set_member(bytes, 0, "tool_calls", &entries)?];
            patches.sort_by_key(|patch| patch.at.start);
            Some(Made {
                patches,
                behind: Vec::new(),
            })
        }
        shape @ (Shape::Anthropic | Shape::Gemini) => {
            let text = (!left.is_empty()).then(|| text_block(shape, left));
            let blocks = calls.iter().map(|call| {
                let [id, tool] = [call.id, call.tool].map(quoted);
                let input = call.arguments;
                match shape {
                    Shape::Gemini => {
                        format!(r#"{{"functionCall":{{"id":{id},"name":{tool},"args":{input}}}}}"#)
                    }
                    _ => {
                        format!(r#"{{"type":"tool_use","id":{id},"name":{tool},"input":{input}}}"#)
                    }
                }
            });
            let blocks = text.into_iter().chain(blocks).collect::<Vec<_>>().join(",");
            let is_bare = bytes.first() == Some(&b'"');
            Some(whole(if is_bare {
                format!("[{blocks}]")
            } else {
                blocks
            }))
        }
        Shape::Responses => {
            let mut entries = calls.iter().map(|call| {
                let [id, tool, arguments] = [call.id, call.tool, call.arguments].map(quoted);
                format!(
                    r#"{{"type":"function_call","call_id":{id},"name":{tool},"arguments":{arguments}}}"#
                )
            });
            let patches = match left {
                "" => whole(entries.next().unwrap_or_default()).patches,
                text => vec![text_is(quoted(text))],
            };
            Some(Made {
                patches,
                behind: entries.collect(),
            })
        }
        Shape::Format => None,
    })
}
