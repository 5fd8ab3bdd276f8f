//! What of a turn is still to be told to a client that has read the beginning of it.
//!
//! A turn that was edited begins like the one that the provider streamed: its words have passed before its call
//! was held. They are not told twice.

use super::rewrite::gemini::left_of;
use crate::json::{Cursor, JsonError, unescape};

/// The rest of a turn whose first message is compared with the first that was sent; the whole turn where the two
/// cannot be compared.
pub(in crate::dialects) fn of_message(
    sent: &[String],
    turn: &[String],
    rest: impl Fn(&str, &str) -> Result<Option<String>, JsonError>,
) -> Vec<String> {
    let (Some(sent), Some((first, others))) = (sent.first(), turn.split_first()) else {
        return turn.to_vec();
    };
    match rest(sent, first) {
        Ok(first) => first.into_iter().chain(others.iter().cloned()).collect(),
        Err(_) => turn.to_vec(),
    }
}

/// The members of an object as they stand.
fn members(object: &str) -> Result<Vec<(&str, &str)>, JsonError> {
    let (mut members, mut cursor) = (Vec::new(), Cursor::new(object.as_bytes()));
    cursor.object(|cursor, key| {
        let value = cursor.skip()?;
        let key = std::str::from_utf8(key).unwrap_or_default();
        members.push((key, &object[value]));
        Ok(())
    })?;
    Ok(members)
}

fn elements(list: &str) -> Result<Vec<&str>, JsonError> {
    let mut elements = Vec::new();
    if list.starts_with('[') {
        Cursor::new(list.as_bytes()).array(|cursor| {
            elements.push(&list[cursor.skip()?]);
            Ok(())
        })?;
    }
    Ok(elements)
}

fn find<'a>(members: &[(&'a str, &'a str)], key: &str) -> &'a str {
    let found = members.iter().find(|(name, _)| *name == key);
    found.map_or("", |(_, value)| value)
}

/// A message of Chat without the beginning of its words, and without its first calls.
pub(in crate::dialects) fn chat(sent: &str, turn: &str) -> Result<Option<String>, JsonError> {
    let sent = members(sent)?;
    let calls = elements(find(&sent, "tool_calls"))?.len();
    let (mut kept, mut says) = (Vec::new(), false);
    for (key, value) in members(turn)? {
        let known = find(&sent, key);
        let value = match key {
            "content" | "reasoning_content" | "reasoning" | "refusal" => without(known, value),
            "tool_calls" => match elements(value)?.get(calls..) {
                Some(left) if !left.is_empty() => format!("[{}]", left.join(",")),
                _ => continue,
            },
            _ => value.to_owned(),
        };
        says |= key != "role" && value != "null" && value != "\"\"";
        kept.push(format!("\"{key}\":{value}"));
    }
    Ok(says.then(|| format!("{{{}}}", kept.join(","))))
}

/// A text of JSON without its beginning; `null` where nothing is left.
fn without(beginning: &str, text: &str) -> String {
    let (Some(beginning), Some(whole)) = (inside(beginning), inside(text)) else {
        return text.to_owned();
    };
    match unescape(whole).strip_prefix(&*unescape(beginning)) {
        Some([]) => "null".to_owned(),
        Some(rest) => crate::dialects::write::quoted(&String::from_utf8_lossy(rest)),
        None => text.to_owned(),
    }
}

fn inside(string: &str) -> Option<&[u8]> {
    Some(string.strip_prefix('"')?.strip_suffix('"')?.as_bytes())
}

/// A content of Gemini without its first parts, and without the beginning of a text.
pub(in crate::dialects) fn gemini(sent: &str, turn: &str) -> Result<Option<String>, JsonError> {
    let sent = members(sent)?;
    let seen = elements(find(&sent, "parts"))?;
    let (mut kept, mut says) = (Vec::new(), false);
    for (key, value) in members(turn)? {
        if key == "parts" {
            let left = left_of(&seen, &elements(value)?);
            says |= !left.is_empty();
            kept.push(format!("\"parts\":[{}]", left.join(",")));
        } else {
            kept.push(format!("\"{key}\":{value}"));
        }
    }
    Ok(says.then(|| format!("{{{}}}", kept.join(","))))
}

/// A message of Anthropic without its first blocks.
pub(in crate::dialects) fn anthropic(sent: &str, turn: &str) -> Result<Option<String>, JsonError> {
    let blocks = elements(find(&members(sent)?, "content"))?.len();
    let (mut kept, mut says) = (Vec::new(), false);
    for (key, value) in members(turn)? {
        if key == "content" && value.starts_with('[') {
            let all = elements(value)?;
            let left = all.get(blocks..).unwrap_or_default();
            says |= !left.is_empty();
            kept.push(format!("\"content\":[{}]", left.join(",")));
        } else {
            kept.push(format!("\"{key}\":{value}"));
        }
    }
    Ok(says.then(|| format!("{{{}}}", kept.join(","))))
}

#[cfg(test)]
mod tests {
    use crate::session::Dialect;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_message_of_chat_loses_the_words_and_calls_that_were_told() {
        let sent = strings(&[
            r#"{"role":"assistant","content":"Let me \u006cook.","tool_calls":[{"id":"a"}]}"#,
        ]);
        let turn = strings(&[
            r#"{"role":"assistant","content":"Let me look. Now","tool_calls":[{"id":"a"},{"id":"b","x":1e2}]}"#,
        ]);
        assert_eq!(
            Dialect::Chat.codec().behind(&sent, &turn),
            [r#"{"role":"assistant","content":" Now","tool_calls":[{"id":"b","x":1e2}]}"#]
        );
    }

    #[test]
    fn nothing_is_left_of_a_turn_that_was_told() {
        let chat = strings(&[r#"{"role":"assistant","content":"ok"}"#]);
        assert!(Dialect::Chat.codec().behind(&chat, &chat).is_empty());
        let anthropic =
            strings(&[r#"{"role":"assistant","content":[{"type":"text","text":"ok"}]}"#]);
        assert!(
            Dialect::Anthropic
                .codec()
                .behind(&anthropic, &anthropic)
                .is_empty()
        );
        assert!(Dialect::Responses.codec().behind(&chat, &chat).is_empty());
    }

    #[test]
    fn blocks_and_items_that_were_told_go_by_their_number() {
        let sent = strings(&[r#"{"role":"assistant","content":[{"type":"thinking"}]}"#]);
        let turn = strings(&[
            r#"{"role":"assistant","content":[{"type":"thinking"},{"type":"tool_use","input":{"a": 1.0}}]}"#,
        ]);
        assert_eq!(
            Dialect::Anthropic.codec().behind(&sent, &turn),
            [r#"{"role":"assistant","content":[{"type":"tool_use","input":{"a": 1.0}}]}"#]
        );
        let items = strings(&["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(
            Dialect::Responses.codec().behind(&items[..1], &items),
            items[1..]
        );
    }

    #[test]
    fn words_that_were_changed_are_told_whole() {
        let sent = strings(&[r#"{"role":"assistant","content":"Let me look."}"#]);
        let turn = strings(&[r#"{"role":"assistant","content":"Other"}"#]);
        assert_eq!(Dialect::Chat.codec().behind(&sent, &turn), turn);
    }
}
