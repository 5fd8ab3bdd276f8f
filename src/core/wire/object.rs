//! JSON objects that are changed member by member; what is not changed keeps its spelling.

use crate::json::{Cursor, Result, display_text, first_escaped};
use std::borrow::Cow;
use std::ops::Range;

/// A member of an object by its places in the text.
#[derive(Debug)]
pub struct Member<'a> {
    /// The key as it is between its quotes.
    pub key: &'a [u8],
    /// Where the quote of the key is.
    pub start: usize,
    pub value: Range<usize>,
}

impl Member<'_> {
    /// From the quote of its key to the end of its value.
    pub fn range(&self) -> Range<usize> {
        self.start..self.value.end
    }
}

/// The members of the object at a place; none where it is another value.
pub fn members_at(bytes: &[u8], at: usize) -> Result<Vec<Member<'_>>> {
    let mut members = Vec::new();
    Cursor::at(bytes, at).object(|cursor, key| {
        // The key is a part of the text, so that the distance of their addresses is its place in it.
        let start = (key.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize) - 1;
        cursor.peek();
        let value = cursor.skip()?;
        members.push(Member { key, start, value });
        Ok(())
    })?;
    Ok(members)
}

/// An object: keys and values as they are spelled, in their order.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Object<'a> {
    /// Reads an object; what is none has no members.
    pub fn read(json: &'a str) -> Self {
        let members = members_at(json.as_bytes(), 0).unwrap_or_default();
        let members = members.into_iter().map(|member| {
            let key = member.start + 1..member.start + 1 + member.key.len();
            let key = json.get(key).unwrap_or_default();
            (Cow::Borrowed(key), Cow::Borrowed(&json[member.value]))
        });
        Self {
            members: members.collect(),
        }
    }

    /// The value of a member as it is spelled; `None` also where it is null.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.members.iter().find(|(name, _)| name == key);
        found
            .map(|(_, value)| value.as_ref())
            .filter(|value| *value != "null")
    }

    /// Whether there is a member of this name, null or not.
    pub fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    /// The text of a member that is a string; empty where it is none.
    pub fn text(&self, key: &str) -> String {
        self.get(key).map(text_of).unwrap_or_default()
    }

    /// A member that is an object; one without members where it is none.
    pub fn object(&self, key: &str) -> Object<'_> {
        Object::read(self.get(key).unwrap_or_default())
    }

    /// The elements of a member that is an array, as they are spelled.
    pub fn list(&self, key: &str) -> Vec<&str> {
        elements(self.get(key).unwrap_or_default())
    }

    /// A member that is a whole number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    /// A member that is a number.
    pub fn decimal(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }

    /// Whether a member is `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    /// The members, in their order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// Changes a member in its place, or adds it after the others.
    pub fn set(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.members.push((Cow::Borrowed(key), value)),
        }
    }

    /// Changes a member that is there.
    pub fn change(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        if self.has(key) {
            self.set(key, value);
        }
    }

    /// Adds a member unless it is there, null or not.
    pub fn add(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        if !self.has(key) {
            self.set(key, value);
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) {
        self.members.retain(|(name, _)| name != key);
    }

    /// The object as JSON.
    pub fn json(&self) -> String {
        let mut json = String::from("{");
        for (place, (key, value)) in self.members.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            json.push('"');
            json.push_str(key);
            json.push_str("\":");
            json.push_str(value);
        }
        json.push('}');
        json
    }
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + text.len() / 16 + 2);
    push_quoted(&mut json, text);
    json
}

/// Adds a text as a JSON string.
pub fn push_quoted(json: &mut String, text: &str) {
    json.push('"');
    let mut rest = text;
    while let Some(place) = first_escaped(rest.as_bytes()) {
        json.push_str(&rest[..place]);
        match rest.as_bytes()[place] {
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            8 => json.push_str("\\b"),
            12 => json.push_str("\\f"),
            byte @ (b'"' | b'\\') => json.extend(['\\', char::from(byte)]),
            control => json.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[place + 1..];
    }
    json.push_str(rest);
    json.push('"');
}

/// The elements of an array as they are spelled; none where it is none.
pub(crate) fn elements(json: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let walked = Cursor::new(json.as_bytes()).array(|cursor| {
        elements.push(&json[cursor.skip()?]);
        Ok(())
    });
    match walked {
        Ok(true) => elements,
        _ => Vec::new(),
    }
}

/// The text of a JSON string; empty where a value is none.
pub(crate) fn text_of(json: &str) -> String {
    let inside = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inside.map_or_else(String::new, |inside| {
        display_text(inside.as_bytes()).into_owned()
    })
}

/// A list of JSON values.
pub(crate) fn list<Element: AsRef<str>>(elements: &[Element]) -> String {
    let elements = elements.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    format!("[{}]", elements.join(","))
}

/// The suffix of a JSON string after a text that was sent already, as a JSON string; itself
/// where nothing was sent.
pub(crate) fn suffix(sent: &str, json: &str) -> Option<String> {
    if sent.is_empty() {
        return Some(json.to_owned());
    }
    text_of(json).strip_prefix(sent).map(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_is_quoted_as_serde_json_quotes_it(text in r#"([\x00-\x20"\\é\x7f]|[a-z]{3}){0,40}"#) {
            prop_assert_eq!(quoted(&text), serde_json::Value::from(&*text).to_string());
        }
    }
}
