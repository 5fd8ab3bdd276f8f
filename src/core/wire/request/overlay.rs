//! Members laid over a JSON object: what they do not name stays byte for byte.

use crate::json::{Cursor, JsonError, skip_whitespace, unescape};
use crate::wire::object::quoted;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;

/// Why a text is no request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    /// A list, a text or nothing at all.
    #[error("a request body is a JSON object, and this is none")]
    NoObject,
    /// It breaks off, or is no JSON.
    #[error("the request body cannot be read at byte {}: {}", .0.at, .0.kind)]
    NoJson(JsonError),
}

impl From<JsonError> for NoRequest {
    fn from(fault: JsonError) -> Self {
        Self::NoJson(fault)
    }
}

/// A member by its places in the text.
struct Member<'a> {
    key: Cow<'a, [u8]>,
    /// Where the quote of its key stands.
    start: usize,
    value: Range<usize>,
}

pub(crate) fn keys(object: &[u8]) -> Result<Vec<String>, NoRequest> {
    let (_, members) = members(object)?;
    let text = |member: Member<'_>| String::from_utf8_lossy(&member.key).into_owned();
    Ok(members.into_iter().map(text).collect())
}

/// Lays members over an object and leaves some out. Objects are merged member by member; a key that stands
/// twice is set twice, since readers differ in which of them counts.
pub(crate) fn laid_over(
    object: &[u8],
    set: &Map<String, Value>,
    without: &[&str],
) -> Result<Vec<u8>, NoRequest> {
    let (open, members) = members(object)?;
    let mut out = Vec::with_capacity(object.len() + 256);
    out.extend_from_slice(&object[..open]);
    let mut at = open;
    let mut is_first = true;
    for member in &members {
        let between = at..member.start;
        at = member.value.end;
        if without.iter().any(|key| *member.key == *key.as_bytes()) {
            continue;
        }
        if is_first && between.start != open {
            // What stood before it is gone, and its comma with that.
            let space = skip_whitespace(object, open);
            out.extend_from_slice(&object[open..space]);
        } else {
            out.extend_from_slice(&object[between]);
        }
        is_first = false;
        let old = &object[member.value.clone()];
        out.extend_from_slice(&object[member.start..member.value.start]);
        let new = set.iter().find(|(key, _)| *member.key == *key.as_bytes());
        match new {
            Some((_, Value::Object(inner))) if old.first() == Some(&b'{') => {
                out.extend(laid_over(old, inner, &[])?);
            }
            Some((_, value)) => out.extend_from_slice(value.to_string().as_bytes()),
            None => out.extend_from_slice(old),
        }
    }
    let is_there = |key: &str| members.iter().any(|known| *known.key == *key.as_bytes());
    for (key, value) in set.iter().filter(|(key, _)| !is_there(key)) {
        if !is_first {
            out.extend_from_slice(b",\n");
        }
        is_first = false;
        let key = quoted(key);
        out.extend_from_slice(format!("{key}:{value}").as_bytes());
    }
    out.extend_from_slice(&object[at..]);
    Ok(out)
}

/// Where the object opens, behind its bracket, and its members.
fn members(object: &[u8]) -> Result<(usize, Vec<Member<'_>>), NoRequest> {
    let mut members = Vec::new();
    let is_object = Cursor::new(object).object(|cursor, key| {
        // The key is a part of the text, so that the distance of their addresses is its place in it.
        let start = (key.as_ptr() as usize).wrapping_sub(object.as_ptr() as usize) - 1;
        members.push(Member {
            key: unescape(key),
            start,
            value: cursor.skip()?,
        });
        Ok(())
    })?;
    if !is_object {
        return Err(NoRequest::NoObject);
    }
    Ok((skip_whitespace(object, 0) + 1, members))
}
