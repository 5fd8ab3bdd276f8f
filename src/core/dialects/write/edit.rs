//! Members and elements of JSON text, found and exchanged where they stand: everything beside them
//! stays byte for byte.

use crate::json::Cursor;
use crate::session::{Dialect, Fragment, Item};
use std::ops::Range;

/// The members of an object: each key as it stands between its quotes, and where its value is. None where
/// it is no object.
fn members(object: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let read = Cursor::new(object.as_bytes()).object(|cursor, key| {
        cursor.peek();
        found.push((std::str::from_utf8(key).unwrap_or_default(), cursor.skip()?));
        Ok(())
    });
    if read.is_err() {
        found.clear();
    }
    found
}

/// Where the value of a member of an object stands; of a key that stands twice the last one counts,
/// as for most readers.
pub fn member(object: &str, wanted: &str) -> Option<Range<usize>> {
    let mut found = members(object).into_iter().rev();
    found
        .find(|(key, _)| *key == wanted)
        .map(|(_, value)| value)
}

/// Where the blocks of a message stand: its content, or its parts.
pub fn blocks(message: &str) -> Option<Range<usize>> {
    member(message, "content").or_else(|| member(message, "parts"))
}

/// Where the elements of a list stand, counted from the start of `text`. None where the value at
/// `list` is no list.
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

/// An object with another value where one of its values stands.
pub fn with_value(object: &str, value: &Range<usize>, new: &str) -> String {
    [&object[..value.start], new, &object[value.end..]].concat()
}

pub fn without_member(object: &str, unwanted: &str) -> String {
    let kept = members(object).into_iter();
    let kept = kept.filter(|(key, _)| *key != unwanted);
    let kept = kept.map(|(key, value)| format!("\"{key}\":{}", &object[value]));
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
}
