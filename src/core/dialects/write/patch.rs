//! Parts of an item that is there: its call id, its name, its arguments.

use super::draft::{response, shell_result};
use super::quoted;
use crate::dialects::body_of;
use crate::json::{Cursor, JsonError};
use crate::session::{Family, Item, Kind, Patch, Shape};
use std::ops::Range;

/// Gives an item another call id: calls and outputs in every spelling. `bytes` are those of the item; `id` is
/// the new id as text.
pub fn set_call_id(item: &Item, bytes: &[u8], id: &str) -> Result<Vec<Patch>, JsonError> {
    let key = call_id_key(item, bytes)?;
    let holder = call_id_holder(item, bytes)?;
    set_member(bytes, holder, key, &quoted(id)).map(|patch| vec![patch])
}

/// Where the object stands in an item that holds its call id.
fn call_id_holder(item: &Item, bytes: &[u8]) -> Result<usize, JsonError> {
    match item.shape {
        Shape::Gemini => holder_of(item, bytes),
        _ => Ok(0),
    }
}

/// The member of an item that holds its call id.
pub fn call_id_key(item: &Item, bytes: &[u8]) -> Result<&'static str, JsonError> {
    Ok(match (item.shape, item.kind) {
        (Shape::Responses, _) if item.family == Family::LocalShell && has(bytes, b"call_id")? => {
            "call_id"
        }
        (Shape::Responses, _) if item.family == Family::LocalShell => "id",
        (Shape::Responses, Kind::ApprovalRequest) => "id",
        (Shape::Responses, Kind::ApprovalResponse) => "approval_request_id",
        (Shape::Responses | Shape::Format, _) => "call_id",
        (Shape::Chat, Kind::Output) => "tool_call_id",
        (Shape::Anthropic, Kind::Output | Kind::HostedOutput) => "tool_use_id",
        (Shape::Chat | Shape::Anthropic | Shape::Gemini, _) => "id",
    })
}

/// Gives an output another text, and says of it whether it is an error where the dialect can say so. `None`
/// where an output of this type has no text.
pub fn replace_output(
    item: &Item,
    bytes: &[u8],
    text: &str,
    is_error: bool,
) -> Result<Option<Vec<Patch>>, JsonError> {
    let text = quoted(text);
    let mut patches = match (item.shape, item.family) {
        (Shape::Chat, _) => vec![set_member(bytes, 0, "content", &text)?],
        (Shape::Anthropic, Family::Function) => {
            let mut patches = vec![set_member(bytes, 0, "content", &text)?];
            if is_error || has(bytes, b"is_error")? {
                patches.push(set_member(bytes, 0, "is_error", &is_error.to_string())?);
            }
            patches
        }
        (Shape::Gemini, Family::Function | Family::Legacy) => {
            let answer = response(&text, is_error);
            vec![set_member(
                bytes,
                holder_of(item, bytes)?,
                "response",
                &answer,
            )?]
        }
        (Shape::Responses, Family::Function | Family::Custom | Family::LocalShell) => {
            let mut patches = vec![set_member(bytes, 0, "output", &text)?];
            patches.extend(status(bytes, is_error)?.filter(|_| !is_error));
            patches
        }
        (Shape::Responses, Family::ApplyPatch) => {
            let mut patches = vec![set_member(bytes, 0, "output", &text)?];
            patches.extend(status(bytes, is_error)?);
            patches
        }
        (Shape::Responses, Family::Shell) => {
            vec![set_member(
                bytes,
                0,
                "output",
                &shell_result(&text, is_error),
            )?]
        }
        _ => return Ok(None),
    };
    patches.sort_by_key(|patch| patch.at.start);
    patches.dedup_by(|later, earlier| {
        let joins = later.at == earlier.at;
        if joins {
            earlier.with.extend_from_slice(&later.with);
        }
        joins
    });
    Ok(Some(patches))
}

/// The status of an output that has one, made to fit.
fn status(bytes: &[u8], is_error: bool) -> Result<Option<Patch>, JsonError> {
    let word = if is_error { "failed" } else { "completed" };
    has(bytes, b"status")?
        .then(|| set_member(bytes, 0, "status", &quoted(word)))
        .transpose()
}

/// Gives a call another name. An item of Responses holds the namespace of `namespace.name` in a member of its
/// own, and no such member where the name has none; elsewhere the name stands as it is.
pub fn rename(item: &Item, bytes: &[u8], name: &str) -> Result<Vec<Patch>, JsonError> {
    let holder = holder_of(item, bytes)?;
    let qualified = name
        .rsplit_once('.')
        .filter(|_| item.shape == Shape::Responses);
    let mut patches = match qualified {
        Some((namespace, name)) => vec![
            set_member(bytes, holder, "name", &quoted(name))?,
            set_member(bytes, holder, "namespace", &quoted(namespace))?,
        ],
        None => {
            let mut patches = vec![set_member(bytes, holder, "name", &quoted(name))?];
            if item.shape == Shape::Responses {
                patches.extend(remove_member(bytes, holder, "namespace")?);
            }
            patches
        }
    };
    patches.sort_by_key(|patch| patch.at.start);
    Ok(patches)
}

/// Gives a call other arguments; `json` is their JSON (or the free-form input of a custom tool). OpenAI holds
/// them as text, Anthropic as a value.
pub fn replace_arguments(item: &Item, bytes: &[u8], json: &str) -> Result<Patch, JsonError> {
    let is_free = item.family == Family::Custom;
    let with = match item.shape {
        Shape::Responses | Shape::Chat => quoted(json),
        Shape::Anthropic | Shape::Gemini | Shape::Format if is_free => quoted(json),
        Shape::Anthropic | Shape::Gemini | Shape::Format => json.to_owned(),
    };
    if let Some(at) = body_of(item, bytes)?.arguments_at {
        let with = with.into_bytes();
        return Ok(Patch { at, with });
    }
    let key = match (item.shape, is_free) {
        (Shape::Gemini, _) => "args",
        (Shape::Anthropic, _) | (_, true) => "input",
        _ => "arguments",
    };
    set_member(bytes, holder_of(item, bytes)?, key, &with)
}

/// Where the object stands that holds name and arguments: inside `function` or `custom` in Chat, inside
/// `functionCall` or `functionResponse` in Gemini, the item itself elsewhere.
fn holder_of(item: &Item, bytes: &[u8]) -> Result<usize, JsonError> {
    let holders: &[&[u8]] = match (item.shape, item.kind) {
        (Shape::Chat, Kind::Call) => &[b"function", b"custom"],
        (Shape::Gemini, Kind::Call) => &[b"functionCall", b"function_call"],
        (Shape::Gemini, Kind::Output) => &[b"functionResponse", b"function_response"],
        _ => return Ok(0),
    };
    let mut inner = None;
    for holder in holders {
        inner = inner.or(member(bytes, 0, holder)?);
    }
    Ok(inner
        .filter(|inner| bytes.get(inner.start) == Some(&b'{'))
        .map_or(0, |inner| inner.start))
}

fn has(bytes: &[u8], key: &[u8]) -> Result<bool, JsonError> {
    member(bytes, 0, key).map(|found| found.is_some())
}

/// Where the value of a member stands, in the object at `at`. Of a key that stands twice the last one counts,
/// as for most readers.
fn member(bytes: &[u8], at: usize, wanted: &[u8]) -> Result<Option<Range<usize>>, JsonError> {
    let mut found = None;
    Cursor::at(bytes, at).object(|cursor, key| {
        if key == wanted {
            cursor.peek();
            found = Some(cursor.skip()?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Takes a member out of the object at `at`, with the comma that parts it from its neighbour; `None`
/// where there is none.
fn remove_member(bytes: &[u8], at: usize, key: &str) -> Result<Option<Patch>, JsonError> {
    let Some(value) = member(bytes, at, key.as_bytes())? else {
        return Ok(None);
    };
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
    let colon = bytes[..value.start]
        .iter()
        .rev()
        .take_while(|byte| is_space(byte))
        .count();
    // A key that is spelled with escapes stays; its value says that there is none.
    let Some(start) = bytes[..value.start - colon]
        .strip_suffix(quoted(key).as_bytes())
        .map(<[u8]>::len)
    else {
        let with = b"null".to_vec();
        return Ok(Some(Patch { at: value, with }));
    };
    let behind = crate::json::skip_whitespace(bytes, value.end);
    let gone = match bytes.get(behind) {
        Some(b',') => start..crate::json::skip_whitespace(bytes, behind + 1),
        _ => {
            let before = bytes[..start].trim_ascii_end();
            let before = before
                .strip_suffix(b",")
                .map_or(&bytes[..start], <[u8]>::trim_ascii_end);
            before.len()..value.end
        }
    };
    let with = Vec::new();
    Ok(Some(Patch { at: gone, with }))
}

/// Sets a member of the object at `at`: in its place, or before the first member.
pub fn set_member(bytes: &[u8], at: usize, key: &str, value: &str) -> Result<Patch, JsonError> {
    if let Some(at) = member(bytes, at, key.as_bytes())? {
        let with = value.as_bytes().to_vec();
        return Ok(Patch { at, with });
    }
    let mut cursor = Cursor::at(bytes, at);
    cursor.peek();
    let open = cursor.position() + 1;
    let is_empty = Cursor::at(bytes, open).peek() == Some(b'}');
    let comma = if is_empty { "" } else { "," };
    Ok(Patch {
        at: open..open,
        with: format!("{}:{value}{comma}", quoted(key)).into_bytes(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dialects::{chat, responses};
    use crate::session::{Fragment, Span};

    fn patched(bytes: &str, patches: Vec<Patch>) -> String {
        let mut text = bytes.to_owned();
        for patch in patches.into_iter().rev() {
            text.replace_range(patch.at, std::str::from_utf8(&patch.with).unwrap());
        }
        text
    }

    fn item(text: &str) -> Item {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        let mut cursor = Cursor::new(text.as_bytes());
        if text.contains("\"function\":") {
            let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{text}]}}"#);
            chat::read_message(&mut Cursor::new(message.as_bytes()), 0, &mut out).unwrap();
        } else {
            responses::read_item(&mut cursor, 0, &mut out).unwrap();
        }
        out.items[0]
    }

    #[test]
    fn a_call_gets_another_id_and_keeps_the_rest() {
        let text = r#"{ "type":"function_call", "call_id": "a\"b" ,"name":"f","arguments":"{}"}"#;
        assert_eq!(
            patched(
                text,
                set_call_id(&item(text), text.as_bytes(), "new").unwrap()
            ),
            r#"{ "type":"function_call", "call_id": "new" ,"name":"f","arguments":"{}"}"#
        );
        let missing = r#"{"type":"function_call_output","output":"x"}"#;
        assert_eq!(
            patched(
                missing,
                set_call_id(&item(missing), missing.as_bytes(), "new").unwrap()
            ),
            r#"{"call_id":"new","type":"function_call_output","output":"x"}"#
        );
    }

    #[test]
    fn names_and_arguments_are_found_where_the_dialect_keeps_them() {
        let chat =
            r#"{"id":"c","type":"function","function":{"name":"serch","arguments":"{\"a\":1,}"}}"#;
        let call = item(chat);
        let named = patched(chat, rename(&call, chat.as_bytes(), "search").unwrap());
        assert!(named.contains(r#""function":{"name":"search","#), "{named}");
        let repaired = replace_arguments(&call, chat.as_bytes(), r#"{"a":1}"#).unwrap();
        assert_eq!(patched(chat, vec![repaired]), chat.replace(",}", "}"));
        let spaced = r#"{"type":"function_call","call_id":"c","name":"opne","namespace":"tabs","arguments":"{}"}"#;
        assert_eq!(
            patched(
                spaced,
                rename(&item(spaced), spaced.as_bytes(), "browser.open").unwrap()
            ),
            spaced.replace("opne", "open").replace("tabs", "browser")
        );
    }

    #[test]
    fn a_namespace_comes_and_goes_with_the_name() {
        let renamed = |text: &str, name: &str| {
            patched(text, rename(&item(text), text.as_bytes(), name).unwrap())
        };
        let bare = r#"{"type":"function_call","call_id":"c","name":"search","arguments":"{}"}"#;
        let qualified = renamed(bare, "finance.search");
        assert_eq!(
            qualified,
            r#"{"namespace":"finance","type":"function_call","call_id":"c","name":"search","arguments":"{}"}"#
        );
        assert_eq!(renamed(&qualified, "search"), bare);
        let last = r#"{"type":"function_call","call_id":"c","name":"search" , "namespace" : "x" }"#;
        assert_eq!(
            renamed(last, "find"),
            r#"{"type":"function_call","call_id":"c","name":"find" }"#
        );
        // Chat knows no namespaces.
        let chat = r#"{"id":"c","type":"function","function":{"name":"search","arguments":"{}"}}"#;
        assert_eq!(renamed(chat, "a.b"), chat.replace("search", "a.b"));
    }
}
