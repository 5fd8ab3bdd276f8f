//! Members and elements of JSON text, found and exchanged where they stand: everything beside them
//! stays byte for byte.

use super::body::body_of;
use super::object::{Object, members_at, quoted};
use crate::json::{Cursor, Result, display_text};
use crate::session::{CallId, Dialect, Family, Fragment, Item, Kind, Patch};
use std::ops::Range;

/// Where the value of a member of an object is; of a key that occurs twice the last one counts,
/// as for most readers.
pub fn member(object: &str, wanted: &str) -> Option<Range<usize>> {
    value_of(object.as_bytes(), 0, wanted.as_bytes())
        .ok()
        .flatten()
}

/// Where the blocks of a message stand: its content, or its parts.
pub fn blocks(message: &str) -> Option<Range<usize>> {
    member(message, "content").or_else(|| member(message, "parts"))
}

/// Where the elements of a list stand, counted from the start of `text`. None where the value at
/// `list` is not a list.
pub fn elements(text: &str, list: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let read = Cursor::at(&text.as_bytes()[..list.end], list.start).array(|cursor| {
        cursor.peek();
        found.push(cursor.skip()?);
        Ok(())
    });
    if read.is_err() {
        found.clear();
    }
    found
}

/// An object with another value where one of its values is.
pub fn with_value(object: &str, value: &Range<usize>, new: &str) -> String {
    [&object[..value.start], new, &object[value.end..]].concat()
}

pub fn without_member(object: &str, unwanted: &str) -> String {
    let kept = Object::read(object);
    let kept = kept.members().filter(|(key, _)| *key != unwanted);
    let kept = kept.map(|(key, value)| format!("\"{key}\":{value}"));
    format!("{{{}}}", kept.collect::<Vec<_>>().join(","))
}

/// An object whose list at `list` holds these elements.
pub fn with_elements(object: &str, list: &Range<usize>, elements: &[&str]) -> String {
    with_value(object, list, &format!("[{}]", elements.join(",")))
}

/// The items in an element of a history; none where it cannot be read.
pub fn items_of(dialect: Dialect, element: &str) -> Fragment {
    let mut fragment = Fragment::default();
    let mut cursor = Cursor::new(element.as_bytes());
    let read = dialect.codec().read_element(&mut cursor, 0, &mut fragment);
    read.map_or_else(|_| Fragment::default(), |()| fragment)
}

/// The call id of an item, as it is spelled in its element.
pub fn call_id<'e>(element: &'e str, item: &Item) -> Option<&'e str> {
    let span = item.call_id.span(item.span)?;
    element.get(span.start as usize..span.end as usize)
}

/// An element without the calls that begin at these places; `None` where nothing of it remains.
pub fn without_calls(dialect: Dialect, element: &str, gone: &[usize]) -> Option<String> {
    if gone.is_empty() {
        return Some(element.to_owned());
    }
    let key = dialect.facts().calls_key?;
    let list = member(element, key)?;
    let inside = elements(element, &list).into_iter();
    let kept = inside.filter(|at| !gone.contains(&at.start));
    let kept = kept.map(|at| &element[at]).collect::<Vec<_>>();
    Some(match kept.is_empty() && !dialect.facts().has_blocks {
        // The API refuses an empty list of calls.
        true => without_member(element, key),
        false => with_elements(element, &list, &kept),
    })
}

// Items: their call ids, names, arguments and outputs.

/// Gives an item another call id: calls and outputs in every spelling. `bytes` are those of the item; `id` is
/// the new id as text. It replaces the id that was read, which some formats have in a member of their own.
pub fn set_call_id(item: &Item, bytes: &[u8], id: &str) -> Result<Vec<Patch>> {
    let id = quoted(id);
    let at = item.call_id.offset as usize;
    let read = at..at + item.call_id.length as usize;
    let is_there = |raw: &[u8]| !item.call_id.is_none() && CallId::new(raw, at) == item.call_id;
    if bytes.get(read.clone()).is_some_and(is_there) {
        let at = at - 1..read.end + 1;
        return Ok(vec![Patch {
            at,
            with: id.into_bytes(),
        }]);
    }
    set_at_key(item, bytes, &id).map(|patch| vec![patch])
}

/// The bytes of a call or an output with its call id where the dialect has it; as they are where they are not JSON.
pub fn with_plain_call_id(item: &Item, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = item.call_id.offset as usize;
    let is_of_pair = matches!(item.kind, Kind::Call | Kind::Output);
    let read = bytes.get(at.saturating_sub(1)..at + item.call_id.length as usize + 1);
    if let Some(id) = read.filter(|_| is_of_pair && !item.call_id.is_none()) {
        let id = String::from_utf8_lossy(id).into_owned();
        if let Ok(patch) = set_at_key(item, &bytes, &id)
            && patch.at.start + 1 != at
        {
            bytes.splice(patch.at, patch.with);
        }
    }
    bytes
}

/// Sets the member that holds the call id in the dialect; `id` is JSON.
fn set_at_key(item: &Item, bytes: &[u8], id: &str) -> Result<Patch> {
    let (key, is_within) = match item.codec() {
        Some(codec) => codec.call_id_key(item, bytes)?,
        None => ("call_id", false),
    };
    let holder = match is_within {
        true => holder_of(item, bytes)?,
        false => 0,
    };
    set_member(bytes, holder, key, id)
}

/// The member of an item that holds its call id.
pub fn call_id_key(item: &Item, bytes: &[u8]) -> Result<&'static str> {
    let key = item.codec().map(|codec| codec.call_id_key(item, bytes));
    key.map_or(Ok("call_id"), |key| key.map(|(key, _)| key))
}

/// Gives an output another text, and says of it whether it is an error where the dialect can say so. `None`
/// where an output of this type has no text.
pub fn replace_output(
    item: &Item,
    bytes: &[u8],
    text: &str,
    is_error: bool,
) -> Result<Option<Vec<Patch>>> {
    let Some(codec) = item.codec() else {
        return Ok(None);
    };
    let holder = holder_of(item, bytes)?;
    let members = codec.output_members(item, bytes, text, is_error)?;
    let patches = members
        .iter()
        .map(|(key, value)| set_member(bytes, holder, key, value));
    let mut patches = patches.collect::<Result<Vec<_>, _>>()?;
    patches.sort_by_key(|patch| patch.at.start);
    patches.dedup_by(|later, earlier| {
        let joins = later.at == earlier.at;
        if joins {
            earlier.with.extend_from_slice(&later.with);
        }
        joins
    });
    Ok(Some(patches).filter(|patches| !patches.is_empty()))
}

/// The output that answers a call, as an element of its dialect. `id` is the call id as it is in its JSON
/// string, `name` the tool's. `None` where the dialect has no textual output for this type of call (a screenshot
/// answers a `computer_call`, a list of tools a `tool_search_call`).
pub fn draft_output(
    call: &Item,
    id: &str,
    name: &str,
    text: &str,
    is_error: bool,
) -> Option<String> {
    call.codec()?.output(call, id, name, text, is_error)
}

/// Gives a call another name. An item of Responses holds the namespace of `namespace.name` in a member of its
/// own, and no such member where the name has none; elsewhere the name is as it is.
pub fn rename(item: &Item, bytes: &[u8], name: &str) -> Result<Vec<Patch>> {
    let holder = holder_of(item, bytes)?;
    let has_namespaces = item.facts().is_some_and(|facts| facts.namespaces);
    let qualified = name.rsplit_once('.').filter(|_| has_namespaces);
    let mut patches = match qualified {
        Some((namespace, name)) => vec![
            set_member(bytes, holder, "name", &quoted(name))?,
            set_member(bytes, holder, "namespace", &quoted(namespace))?,
        ],
        None => {
            let mut patches = vec![set_member(bytes, holder, "name", &quoted(name))?];
            if has_namespaces {
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
pub fn replace_arguments(item: &Item, bytes: &[u8], json: &str) -> Result<Patch> {
    let is_custom = item.family == Family::Custom;
    let is_text = item.facts().is_some_and(|facts| !facts.object_arguments);
    let with = match is_text || is_custom {
        true => quoted(json),
        false => json.to_owned(),
    };
    if let Some(at) = body_of(item, bytes)?.arguments_at {
        let with = with.into_bytes();
        return Ok(Patch { at, with });
    }
    let key = item.codec().map(|codec| codec.arguments_key(is_custom));
    let key = key.unwrap_or("arguments");
    set_member(bytes, holder_of(item, bytes)?, key, &with)
}

/// Where the object is that holds name and arguments: the envelope in an item, or the item itself.
fn holder_of(item: &Item, bytes: &[u8]) -> Result<usize> {
    let envelopes = item.codec().map(|codec| codec.envelopes(item.kind));
    let mut inner = None;
    for envelope in envelopes.unwrap_or_default() {
        inner = inner.or(value_of(bytes, 0, envelope.as_bytes())?);
    }
    Ok(inner
        .filter(|inner| bytes.get(inner.start) == Some(&b'{'))
        .map_or(0, |inner| inner.start))
}

/// Whether an object has a member of this name.
pub(crate) fn has_member(bytes: &[u8], key: &[u8]) -> Result<bool> {
    value_of(bytes, 0, key).map(|found| found.is_some())
}

/// Where the value of a member is, in the object at `at`. Of a key that occurs twice the last one counts,
/// as for most readers.
fn value_of(bytes: &[u8], at: usize, wanted: &[u8]) -> Result<Option<Range<usize>>> {
    let mut members = members_at(bytes, at)?.into_iter().rev();
    let found = members.find(|member| member.key == wanted);
    Ok(found.map(|member| member.value))
}

/// Takes a member out of the object at `at`, with the comma that parts it from its neighbour; `None`
/// where there is none.
fn remove_member(bytes: &[u8], at: usize, key: &str) -> Result<Option<Patch>> {
    let Some(value) = value_of(bytes, at, key.as_bytes())? else {
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
    let after = crate::json::skip_whitespace(bytes, value.end);
    let gone = match bytes.get(after) {
        Some(b',') => start..crate::json::skip_whitespace(bytes, after + 1),
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
pub fn set_member(bytes: &[u8], at: usize, key: &str, value: &str) -> Result<Patch> {
    if let Some(at) = value_of(bytes, at, key.as_bytes())? {
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

/// The texts of a message of the model, each with the place of its string in the bytes of the item.
pub fn texts_of(bytes: &[u8]) -> Result<Vec<(Range<usize>, String)>> {
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

fn take(cursor: &mut Cursor<'_>, found: &mut Vec<(Range<usize>, String)>) -> Result<()> {
    let start = cursor.position();
    if let Some(inside) = cursor.string()? {
        found.push((start..cursor.position(), display_text(inside).into_owned()));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::Span;
    use crate::wire::{chat, responses};

    #[test]
    fn what_is_not_changed_stays_as_it_is_written() {
        let object = r#"{ "a" : [1 , {"b":"]"}], "c":1e2 , "a": [ 2,3 ] }"#;
        let list = member(object, "a").unwrap();
        assert_eq!(&object[list.clone()], "[ 2,3 ]");
        let inside = elements(object, &list).into_iter();
        assert_eq!(inside.map(|at| &object[at]).collect::<Vec<_>>(), ["2", "3"]);
        assert_eq!(
            with_elements(object, &list, &["2", "4"]),
            object.replace("[ 2,3 ]", "[2,4]")
        );
        assert_eq!(without_member(object, "a"), r#"{"c":1e2}"#);
        assert_eq!(member("[1]", "a"), None);
        assert!(elements(object, &member(object, "c").unwrap()).is_empty());
    }

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
