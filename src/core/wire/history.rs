//! What of a reply belongs to the history: the elements for the list of the next request, as
//! the provider spelled them.
//!
//! A reply says things that a request must not: nulls where a member may only be absent, notes of the server.
//! Those go; whatever else a reply holds (ids, reasoning, encrypted content, signatures) stays byte for byte.

use super::edit::{call_id, items_of};
use super::object::members_at;
use crate::json::{Cursor, JsonError, Result, display_text};
use crate::session::{Dialect, Kind};

/// Why nothing of a reply can stand in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// The text is not JSON, or not UTF-8.
    #[error("the reply is not JSON, at byte {at}: {fault}", at = .0.at, fault = .0.kind)]
    NotJson(JsonError),
    /// It is JSON, but no reply of this dialect.
    #[error("the reply has no {0}")]
    Absent(&'static str),
}

impl From<JsonError> for NoReply {
    fn from(fault: JsonError) -> Self {
        Self::NotJson(fault)
    }
}

/// The elements of the next request's list that a whole reply becomes: the items of a Response, the message of
/// a chat completion (of several choices the first), an Anthropic message with its content.
///
/// What a reply lacks is not made up: an empty message stays one, and the rules find it.
pub fn history_of(dialect: Dialect, reply: &str) -> Result<Vec<String>, NoReply> {
    dialect.codec().history_of(reply)
}

/// The ids of the calls of a whole reply that its client answers, in its order; empty text for
/// a call without one.
pub fn calls_of(dialect: Dialect, reply: &str) -> Result<Vec<String>, NoReply> {
    let mut calls = Vec::new();
    for element in history_of(dialect, reply)? {
        let found = items_of(dialect, &element).items;
        let found = found.iter().filter(|item| item.kind == Kind::Call);
        calls.extend(found.map(|item| {
            let id = call_id(&element, item).unwrap_or_default();
            display_text(id.as_bytes()).into_owned()
        }));
    }
    Ok(calls)
}

/// The value of a member of the reply that is a list, as it is.
pub(crate) fn list_of<'a>(reply: &'a str, key: &'static str) -> Result<&'a str, NoReply> {
    let (mut cursor, mut found) = (Cursor::new(reply.as_bytes()), None);
    cursor.object(|cursor, member| {
        if member == key.as_bytes() && cursor.peek() == Some(b'[') {
            found = Some(cursor.skip()?);
        }
        Ok(())
    })?;
    found
        .and_then(|range| reply.get(range))
        .ok_or(NoReply::Absent(key))
}

/// An object without some of its members; byte for byte itself where none goes. A value that is not an object
/// stays as it is.
pub(crate) fn without(object: &str, mut goes: impl FnMut(&str, &str) -> bool) -> Result<String> {
    let members = members_at(object.as_bytes(), 0)?;
    let count = members.len();
    let members = members.into_iter().map(|member| {
        let key = String::from_utf8_lossy(member.key);
        (key, &object[member.value])
    });
    let kept = members.filter(|(key, value)| !goes(key, value));
    let kept = kept.map(|(key, value)| format!("\"{key}\":{value}"));
    let kept = kept.collect::<Vec<_>>();
    Ok(match kept.len() < count {
        true => format!("{{{}}}", kept.join(",")),
        false => object.to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_message_loses_what_a_request_refuses_and_nothing_else() {
        let reply = r#"{"id":"c","choices":[{"index":1,"message":{"role":"assistant","content":"other"}},{"index":0,"finish_reason":"tool_calls","message":{ "role":"assistant", "content":null,"refusal":null,"annotations":[],"audio":null,"function_call":null,"reasoning_content":"h\u006dm","tool_calls":[{"id":"a\u0062","type":"function","function":{"name":"f","arguments":"{\"x\": 1e2}"}},{"type":"function","function":{"name":"g","arguments":""}}]}}]}"#;
        let history = history_of(Dialect::Chat, reply).unwrap();
        let expected = r#"{"role":"assistant","content":null,"reasoning_content":"h\u006dm","tool_calls":[{"id":"a\u0062","type":"function","function":{"name":"f","arguments":"{\"x\": 1e2}"}},{"type":"function","function":{"name":"g","arguments":""}}]}"#;
        assert_eq!(history, [expected]);
        assert_eq!(calls_of(Dialect::Chat, reply).unwrap(), ["ab", ""]);
        let plain = r#"{"choices":[{"message":{ "content": "ok", "role": "assistant" }}]}"#;
        assert_eq!(
            history_of(Dialect::Chat, plain).unwrap(),
            [r#"{ "content": "ok", "role": "assistant" }"#]
        );
        let bare = r#"{"choices":[{"message":{"content":"ok","tool_calls":[ ]}}]}"#;
        assert_eq!(
            history_of(Dialect::Chat, bare).unwrap(),
            [r#"{"role":"assistant","content":"ok"}"#]
        );
    }

    #[test]
    fn items_of_a_response_keep_ids_reasoning_and_encrypted_content() {
        let reasoning =
            r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA\/=="}"#;
        let call = r#"{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{ }"}"#;
        let reply = format!(
            r#"{{"id":"resp_1","output":[ {reasoning} ,{call},{{"type":"message","status":null,"role":"assistant","content":[]}},{{"type":"web_search_call","id":"ws_1","status":"completed"}},{{"type":"custom_tool_call","call_id":"call_2","name":"g","input":"x"}}],"usage":null}}"#
        );
        let history = history_of(Dialect::Responses, &reply).unwrap();
        assert_eq!(history[..2], [reasoning, call]);
        assert_eq!(
            history[2],
            r#"{"type":"message","role":"assistant","content":[]}"#
        );
        let calls = calls_of(Dialect::Responses, &reply).unwrap();
        assert_eq!(calls, ["call_1", "call_2"]);
    }

    #[test]
    fn thinking_and_its_signature_are_byte_identical() {
        let content = r#"[{"type":"thinking","thinking":"a\u00e9\/b","signature":"Er+=/"},{"type":"redacted_thinking","data":"xx"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1,"a":2e0}},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]"#;
        let reply = format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"tool_use"}}"#
        );
        assert_eq!(
            history_of(Dialect::Anthropic, &reply).unwrap(),
            [format!(r#"{{"role":"assistant","content":{content}}}"#)]
        );
        assert_eq!(calls_of(Dialect::Anthropic, &reply).unwrap(), ["toolu_1"]);
    }

    #[test]
    fn what_is_no_reply_says_what_is_missing() {
        for (dialect, missing) in [
            (Dialect::Responses, "output"),
            (Dialect::Chat, "choices"),
            (Dialect::Anthropic, "content"),
        ] {
            assert_eq!(
                history_of(dialect, r#"{"ok":true}"#),
                Err(NoReply::Absent(missing))
            );
            assert!(matches!(
                history_of(dialect, "{\"output\":["),
                Err(NoReply::NotJson(_))
            ));
        }
        assert_eq!(
            history_of(Dialect::Chat, r#"{"choices":[]}"#),
            Err(NoReply::Absent("message"))
        );
    }
}
