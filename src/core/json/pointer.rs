//! JSON pointers (RFC 6901), and how they are shown to people.

use std::borrow::Cow;

/// Adds a key to a JSON pointer.
pub fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// The pointer of a member of what `parent` points at.
pub fn child(parent: &str, key: &str) -> String {
    let mut pointer = parent.to_owned();
    push_key(&mut pointer, key);
    pointer
}

/// A pointer for people to read: with its keys as they are in the value.
pub fn readable(pointer: &str) -> Cow<'_, str> {
    match pointer.contains('~') {
        true => pointer.replace("~1", "/").replace("~0", "~").into(),
        false => pointer.into(),
    }
}
