//! What a client hears while its exchange is held: bytes that keep its connection alive and
//! that its SDK ignores.
//!
//! Measured with the SDKs of OpenAI and Anthropic in Python and Node: comment lines and white space before a
//! body count as life signs and reach nobody; `event: ping` is ignored by Anthropic's and handed to the program
//! by OpenAI's. Codex counts real events only, and hears its last `response.in_progress` again; nobody else
//! does, for openai-node begins its reply anew with each. A blank line behind a comment once broke a client
//! (openai-go#556), so there is none; nor is there ever an `id:`, a `retry:` or an empty `data:`.

use super::client::{Client, ClientKind};
use crate::json::Cursor;
use crate::session::Dialect;

/// The usual time between two heartbeats, in milliseconds.
const INTERVAL_MS: u64 = 5_000;
const SHORTEST_MS: u64 = 100;

/// The last `response.in_progress` event that the client was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InProgress<'a> {
    /// Its data, one JSON object.
    pub data: &'a str,
    /// The sequence number that it gets this time.
    pub sequence: u64,
}

/// What is sent to a client that waits and has the head of its reply. Empty where nothing counts for it: then
/// [`super::deadline`] ends the hold in time.
pub fn heartbeat(
    dialect: Dialect,
    client: &Client,
    is_stream: bool,
    last: Option<InProgress<'_>>,
) -> Vec<u8> {
    if !is_stream {
        // White space before a value is JSON (RFC 8259 section 2).
        return b" ".to_vec();
    }
    let facts = dialect.facts();
    if !(facts.numbers_events && counts_events(client)) {
        return facts.heartbeat.as_bytes().to_vec();
    }
    let again = last.and_then(|last| numbered(last.data, last.sequence));
    again.map_or_else(Vec::new, |data| event("response.in_progress", &data))
}

/// Whether a client counts nothing as a life sign but events.
pub fn counts_events(client: &Client) -> bool {
    client.kind == ClientKind::Codex
}

/// How long to wait between two heartbeats, in milliseconds: well within the time that the client announced.
pub fn interval_ms(client: &Client) -> u64 {
    let third = client.read_timeout_ms.map(|timeout| timeout / 3);
    third.map_or(INTERVAL_MS, |third| third.clamp(SHORTEST_MS, INTERVAL_MS))
}

fn event(name: &str, data: &str) -> Vec<u8> {
    let mut text = format!("event: {name}\n");
    for line in data.lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into_bytes()
}

/// The data of an event with another sequence number; `None` where it is no object.
fn numbered(data: &str, sequence: u64) -> Option<String> {
    let mut place = None;
    let is_object = Cursor::new(data.as_bytes()).object(|cursor, key| {
        if key == b"sequence_number" {
            place = Some(cursor.skip()?);
        }
        Ok(())
    });
    let mut text = data.to_owned();
    if let (Ok(true), Some(place)) = (is_object, place) {
        text.replace_range(place, &sequence.to_string());
    }
    matches!(is_object, Ok(true)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_PROGRESS: &str = r#"{"type":"response.in_progress","response":{"id":"resp_1","sequence_number":1},"sequence_number": 1}"#;

    fn client(kind: ClientKind) -> Client {
        Client {
            kind,
            ..Client::default()
        }
    }

    fn said(dialect: Dialect, kind: ClientKind, is_stream: bool, data: Option<&str>) -> String {
        let last = data.map(|data| InProgress { data, sequence: 7 });
        String::from_utf8(heartbeat(dialect, &client(kind), is_stream, last)).unwrap_or_default()
    }

    #[test]
    fn responses_hear_their_last_event_again_under_a_new_number() {
        let said = said(
            Dialect::Responses,
            ClientKind::Codex,
            true,
            Some(IN_PROGRESS),
        );
        let expected = r#"{"type":"response.in_progress","response":{"id":"resp_1","sequence_number":1},"sequence_number": 7}"#;
        assert_eq!(
            said,
            format!("event: response.in_progress\ndata: {expected}\n\n")
        );
    }

    #[test]
    fn a_comment_keeps_all_but_codex() {
        use ClientKind::{
            AnthropicNode, AnthropicPython, ClaudeCode, OpenaiNode, OpenaiPython, Other,
        };
        for kind in [OpenaiPython, OpenaiNode, Other] {
            for data in [None, Some("no json"), Some(IN_PROGRESS)] {
                assert_eq!(
                    said(Dialect::Responses, kind, true, data),
                    ": held by retake\n"
                );
            }
            assert_eq!(
                said(Dialect::Chat, kind, true, Some(IN_PROGRESS)),
                ": held by retake\n"
            );
        }
        assert_eq!(said(Dialect::Responses, ClientKind::Codex, true, None), "");
        for kind in [AnthropicPython, AnthropicNode, ClaudeCode, Other] {
            assert_eq!(
                said(Dialect::Anthropic, kind, true, None),
                "event: ping\ndata: {\"type\":\"ping\"}\n\n"
            );
        }
    }

    #[test]
    fn a_whole_reply_is_preceded_by_white_space() {
        for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
            assert_eq!(
                said(dialect, ClientKind::Other, false, Some(IN_PROGRESS)),
                " "
            );
        }
    }

    #[test]
    fn no_openai_stream_ever_gets_a_ping_or_a_blank_line_alone() {
        for data in [None, Some(IN_PROGRESS), Some("{\n\"sequence_number\":1\n}")] {
            for dialect in [Dialect::Responses, Dialect::Chat] {
                let said = said(dialect, ClientKind::OpenaiPython, true, data);
                assert!(!said.contains("ping") && !said.starts_with('\n'), "{said}");
                for line in said.lines().filter(|line| !line.is_empty()) {
                    let is_known = [": ", "event: ", "data: "]
                        .iter()
                        .any(|head| line.starts_with(head));
                    assert!(is_known, "{line}");
                }
            }
        }
    }

    #[test]
    fn heartbeats_come_every_five_seconds_or_well_within_an_announced_time() {
        let announced = |timeout| {
            interval_ms(&Client {
                read_timeout_ms: timeout,
                ..Client::default()
            })
        };
        assert_eq!(announced(None), 5_000);
        assert_eq!(announced(Some(600_000)), 5_000);
        assert_eq!(announced(Some(1_000)), 333);
        assert_eq!(announced(Some(0)), 100);
    }
}
