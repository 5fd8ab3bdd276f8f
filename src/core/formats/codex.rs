//! Codex rollouts: JSONL of `{timestamp, type, payload}` around Responses items (codex-rs, rollout payload).
//!
//! Only `response_item` payloads are the history. `event_msg` says the same again for the screen, so only what
//! the history does not say is taken from it: aborted turns and failures. `compacted` replaces the history with
//! its `replacement_history`. The schemas of the built-in tools are not recorded; `dynamic_tools` are added to
//! a list that stays unknown.

use super::{Contents, Document, Format, Reading, Records, Sample, assemble_plain};
use crate::content::result_text;
use crate::json::{Cursor, Result};
use crate::session::{Fact, Flags, Fragment, Item, Kind, MessageRole, Source, SourceResult, Span};
use crate::wire::write::quoted;
use crate::wire::{body_of, responses};
use std::ops::Range;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "codex",
    title: "Codex rollouts",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: |_, _, _, _| Ok(()),
        arrays: &[],
        assemble,
    }),
};

/// Line types that carry a payload.
const ENVELOPES: &[&str] = &[
    "session_meta",
    "response_item",
    "turn_context",
    "event_msg",
    "compacted",
    "world_state",
];

fn sniff(sample: &Sample<'_>) -> u8 {
    let envelope = |document: &Document<'_>| {
        document.has("payload")
            && document
                .text("type")
                .is_some_and(|kind| ENVELOPES.contains(&&*kind))
    };
    // Before the envelope: a first line about the session, then bare items and lines
    // about the recorder's state.
    let is_bare = || {
        sample.first().is_some_and(|document| {
            document.has("id")
                && document.has("timestamp")
                && document.has("instructions")
                && !document.has("type")
        }) || sample.any(|document| document.has("record_type"))
    };
    if sample.any(envelope) {
        96
    } else if is_bare() {
        92
    } else {
        0
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let (mut kind, mut payload, mut has_role) = (None, None, false);
    cursor.object(|cursor, key| {
        match (key, kind) {
            (b"type", _) => kind = cursor.string()?,
            (b"role", _) => has_role = true,
            // The type is first in every rollout; then one walk reads the item, too.
            (b"payload", Some(kind)) => {
                cursor.peek();
                let at = cursor.position();
                read_payload(kind, cursor, base, out)?;
                payload = Some(at..cursor.position());
            }
            (b"payload", None) => payload = Some(cursor.skip()?),
            _ => {}
        }
        Ok(())
    })?;
    let late = payload
        .clone()
        .filter(|payload| kind_stands_behind(bytes, kind, payload));
    match (kind, late, payload) {
        (Some(kind), Some(late), _) => read_payload(
            kind,
            &mut Cursor::at(&bytes[..late.end], late.start),
            base,
            out,
        ),
        (kind, _, None) if has_role || kind.is_some_and(is_bare_item) => {
            responses::read_item(&mut Cursor::at(bytes, start), base, out)
        }
        _ => Ok(()),
    }
}

/// Whether the type was read only after the payload.
fn kind_stands_behind(bytes: &[u8], kind: Option<&[u8]>, payload: &Range<usize>) -> bool {
    kind.is_some_and(|kind| {
        (kind.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize) > payload.start
    })
}

/// A line without a payload whose type is that of an item, as the first versions wrote it.
fn is_bare_item(kind: &[u8]) -> bool {
    !ENVELOPES.iter().any(|envelope| envelope.as_bytes() == kind)
}

fn read_payload(kind: &[u8], cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    if cursor.peek() != Some(b'{') {
        return Ok(());
    }
    match kind {
        b"response_item" => {
            let (bytes, start) = (cursor.bytes(), cursor.position());
            responses::read_item(cursor, base, out)?;
            if let Some(item) = out.items.last_mut() {
                let has_failed = has_failed(item, &bytes[start..cursor.position()]);
                item.flags.set_if(Flags::ERROR, has_failed);
            }
            Ok(())
        }
        b"turn_context" => read_context(cursor, out),
        b"session_meta" => read_meta(cursor, base, out),
        b"compacted" => read_compacted(cursor, base, out),
        b"event_msg" => read_event(cursor, base, out),
        _ => Ok(()),
    }
}

/// Bytes before and after what a command printed in which its exit code stands.
const NEAR: usize = 256;

/// Whether an output is that of a command that ended with a code other than 0. A search that finds nothing ends with
/// 1, too, and prints nothing.
fn has_failed(item: &Item, output: &[u8]) -> bool {
    let ends = [
        &output[..output.len().min(NEAR)],
        &output[output.len().saturating_sub(NEAR)..],
    ];
    // Most outputs are of commands that succeeded, and are not read for it.
    if item.kind != Kind::Output || !ends.iter().any(|end| names_failure(end)) {
        return false;
    }
    let body = body_of(item, output).unwrap_or_default();
    let result = result_text(&body.text);
    match result.exit {
        None | Some(0) => false,
        Some(1) => !result.text.trim().is_empty(),
        Some(_) => true,
    }
}

/// Whether a piece of JSON text names an exit code other than 0.
fn names_failure(text: &[u8]) -> bool {
    let heads: [&[u8]; 3] = [b"exit_code", b"xit code: ", b"exited with code "];
    heads.iter().any(|head| {
        let found = text.windows(head.len()).position(|window| window == *head);
        let mut rest = found.map_or(&[][..], |at| &text[at + head.len()..]).iter();
        rest.find(|byte| byte.is_ascii_digit())
            .is_some_and(|digit| *digit != b'0')
    })
}

fn read_context(cursor: &mut Cursor<'_>, out: &mut Fragment) -> Result<()> {
    cursor.object(|cursor, key| {
        if let (b"model", Some(b'"')) = (key, cursor.peek())
            && let Some(model) = cursor.string()?
        {
            out.note_model(model);
        }
        Ok(())
    })?;
    Ok(())
}

fn read_meta(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    cursor.object(|cursor, key| {
        if let (b"dynamic_tools", Some(b'[')) = (key, cursor.peek()) {
            out.note(Fact::MoreTools(Span::within(base, cursor.skip()?)));
        }
        Ok(())
    })?;
    Ok(())
}

/// `{message, replacement_history?}`: the mark first, then the items that stand in for what was before.
fn read_compacted(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    out.note(Fact::HistoryReplaced);
    let start = cursor.position();
    let mark = out.items.len();
    out.push(Kind::Compaction, None, Span::within(base, start..start));
    cursor.object(|cursor, key| {
        if key == b"replacement_history" {
            cursor.array(|cursor| match cursor.peek() {
                Some(b'{') => responses::read_item(cursor, base, out),
                _ => Ok(()),
            })?;
        }
        Ok(())
    })?;
    out.items[mark].span = Span::within(base, start..cursor.position());
    Ok(())
}

/// Of the events only those that the history does not say itself.
fn read_event(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (start, mut kind) = (cursor.position(), None);
    cursor.object(|cursor, key| {
        if key == b"type" {
            kind = cursor.string()?;
        }
        Ok(())
    })?;
    let span = Span::within(base, start..cursor.position());
    match kind {
        Some(b"turn_aborted") => {
            out.push(Kind::Notice, None, span).flags = Flags::INTERRUPT;
        }
        Some(b"error" | b"stream_error") => {
            out.push(Kind::Notice, None, span).flags = Flags::ERROR;
        }
        _ => {}
    }
    Ok(())
}

/// A message with one text as a part: rollouts hold no other.
pub(super) fn message(role: MessageRole, text: &str) -> String {
    let part = match role {
        MessageRole::User => "input_text",
        MessageRole::Assistant => "output_text",
    };
    let (role, text) = (role.word(), quoted(text));
    format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":{text}}}]}}"#)
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::read_buffer;
    use crate::session::{PairStatus, Session};

    fn read(text: &str) -> Session {
        let sample = Sample::new(text.as_bytes(), true);
        assert!(sniff(&sample) > 90, "{text}");
        let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
        let contents = read_buffer(&FORMAT, &source, text.as_bytes()).unwrap();
        assert_eq!(contents.problems, []);
        contents.sessions.into_iter().next().unwrap()
    }

    fn kinds(session: &Session) -> Vec<Kind> {
        session.items.iter().map(|item| item.kind).collect()
    }

    const META: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"1"}}"#;

    #[test]
    fn events_do_not_count_again_what_the_history_says() {
        let session = read(&format!(
            "{META}\n{}\n{}\n{}\n{}\n",
            r#"{"type":"turn_context","payload":{"model":"gpt-5-codex"}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#,
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#,
            r#"{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
        ));
        assert_eq!(kinds(&session), [Kind::User, Kind::Notice]);
        assert!(session.items[1].flags.has(Flags::INTERRUPT));
        assert_eq!(session.model.as_deref(), Some("gpt-5-codex"));
    }

    #[test]
    fn a_command_that_ended_with_an_exit_code_failed_unless_it_searched_in_vain() {
        let long = "a".repeat(9_000);
        let wrapped = |text: &str, code: u8| {
            let metadata = serde_json::json!({"exit_code": code, "duration_seconds": 3.7});
            serde_json::json!({"output": text, "metadata": metadata}).to_string()
        };
        let lines = |code: u8| {
            format!(
                "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\nno"
            )
        };
        for (output, has_failed) in [
            (wrapped("error: no", 101), true),
            (wrapped(&long, 1), true),
            (wrapped("", 2), true),
            (wrapped("", 1), false),
            (wrapped("exit_code 1", 0), false),
            (lines(1), true),
            (lines(0), false),
            ("the log says: Process exited with code 1".to_owned(), false),
        ] {
            let item = serde_json::json!({"type": "function_call_output", "call_id": "c1", "output": output});
            let line = serde_json::json!({"type": "response_item", "payload": item});
            let session = read(&format!("{META}\n{line}\n"));
            assert_eq!(
                session.items[0].flags.has(Flags::ERROR),
                has_failed,
                "{output}"
            );
        }
    }

    #[test]
    fn a_compaction_replaces_the_history_and_pairs_do_not_cross_it() {
        let session = read(&format!(
            "{META}\n{}\n{}\n{}\n",
            r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c1"}}"#,
            r#"{"type":"compacted","payload":{"message":"short","replacement_history":[{"type":"message","role":"user","content":[]}]}}"#,
            r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"ok"}}"#,
        ));
        let expected = [Kind::Call, Kind::Compaction, Kind::User, Kind::Output];
        assert_eq!(kinds(&session), expected);
        let compacted = session
            .items
            .iter()
            .map(|item| item.flags.has(Flags::COMPACTED));
        assert_eq!(compacted.collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!(session.pairing.standing(3), PairStatus::Severed(0));
    }

    #[test]
    fn dynamic_tools_are_known_and_the_list_is_not() {
        let session = read(
            r#"{"type":"session_meta","payload":{"id":"1","dynamic_tools":[{"namespace":"crm","name":"find","inputSchema":{"type":"object"}}]}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c1"}}"#,
        );
        assert!(!session.contract.tools_known());
        assert_eq!(session.contract.tools_at(0)[0].name, "crm.find");
    }

    #[test]
    fn the_first_versions_wrote_items_without_an_envelope() {
        let session = read(
            r#"{"id":"1","timestamp":"t","instructions":null}
{"record_type":"state"}
{"type":"message","role":"user","content":[]}
{"type":"local_shell_call","call_id":"c1","status":"completed","action":{"type":"exec","command":["ls"]}}
"#,
        );
        assert_eq!(kinds(&session), [Kind::User, Kind::Call]);
    }

    #[test]
    fn the_type_may_stand_behind_the_payload() {
        let session = read(
            r#"{"payload":{"type":"message","role":"user","content":[]},"type":"response_item"}"#,
        );
        assert_eq!(kinds(&session), [Kind::User]);
    }
}
