//! A reply in one piece of JSON.

use super::fault::{Trouble, beginning, text_of};
use super::{Answer, Body, Watch};
use retake_core::json::{Cursor, JsonError, JsonErrorKind};
use retake_core::session::Dialect;
use retake_core::wire::usage_of;
use retake_core::wire::write::{NoReply, history_of};
use serde_json::Value;

/// Reads the rest of the body and makes sure that it is a reply of this dialect.
pub(crate) async fn read(
    dialect: Dialect,
    mut body: Body,
    watch: &mut Watch<'_>,
) -> Result<Answer, Trouble> {
    let mut bytes = Vec::new();
    while let Some(more) = body.next(watch).await? {
        bytes.extend_from_slice(&more);
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Trouble::Strange("the reply is not UTF-8".to_owned()))?;
    let json = text.trim_start_matches('\u{feff}').trim().to_owned();
    judge(dialect, &json)?;
    Ok(Answer {
        usage: usage_of(&json),
        json,
        first_ms: watch.first_ms.unwrap_or_default(),
        total_ms: watch.ms(),
        ended: true,
        unreadable: 0,
        late: 0,
        was_streamed: false,
        request_id: None,
    })
}

/// Whether a text is a complete reply.
fn judge(dialect: Dialect, json: &str) -> Result<(), Trouble> {
    let broken = |fault: JsonError| match fault.kind {
        JsonErrorKind::End => Trouble::Short,
        kind => Trouble::Strange(format!(
            "the reply is not JSON, at byte {}: {kind}",
            fault.at
        )),
    };
    let (mut error, mut status) = (None, None);
    let mut cursor = Cursor::new(json.as_bytes());
    cursor
        .object(|cursor, key| {
            match key {
                b"error" => error = Some(cursor.skip()?),
                b"status" => status = Some(cursor.skip()?),
                _ => {}
            }
            Ok(())
        })
        .map_err(broken)?;
    if let Some(byte) = cursor.peek() {
        let (at, kind) = (cursor.position(), JsonErrorKind::Byte(byte));
        return Err(broken(JsonError { at, kind }));
    }
    let error = error.map(|range| &json[range]).filter(|raw| *raw != "null");
    let status = status
        .map(|range| text_of(&json[range]))
        .unwrap_or_default();
    let history = history_of(dialect, json);
    match (error, dialect.facts().has_status, &*status) {
        (Some(error), ..) if history.is_err() || status == "failed" => {
            let error = serde_json::from_str(error).unwrap_or_else(|_| Value::from(error));
            Err(Trouble::Reported(error))
        }
        (_, true, "failed" | "cancelled") => Err(Trouble::Strange(format!(
            "the reply has the status {status}"
        ))),
        (_, true, "queued" | "in_progress") => Err(Trouble::Strange(format!(
            "the reply is not there yet (status {status}); replies in the background are not fetched"
        ))),
        _ => history.map(drop).map_err(|fault| match fault {
            NoReply::NotJson(fault) => broken(fault),
            NoReply::Absent(_) => Trouble::Strange(format!(
                "the reply is JSON, but not of the dialect {} ({fault}); {}",
                dialect.word(),
                beginning(json)
            )),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn json_that_is_no_reply_is_told_from_one() {
        let strange = |dialect, json: &str| match judge(dialect, json) {
            Err(Trouble::Strange(what)) => what,
            other => panic!("{json}: {other:?}"),
        };
        assert!(
            judge(
                Dialect::Chat,
                r#"{"choices":[{"message":{}}],"error":null}"#
            )
            .is_ok()
        );
        assert!(judge(Dialect::Responses, r#"{"output":[],"status":"incomplete"}"#).is_ok());
        assert!(judge(Dialect::Anthropic, r#"{"content":[]} "#).is_ok());
        assert!(strange(Dialect::Chat, r#"{"content":[]}"#).contains("dialect chat"));
        assert!(strange(Dialect::Chat, r#"{"a":01}"#).contains("not JSON"));
        assert!(strange(Dialect::Chat, r#"{"choices":[]} {}"#).contains("byte 15"));
        assert!(
            strange(Dialect::Responses, r#"{"output":[],"status":"queued"}"#).contains("queued")
        );
        assert!(matches!(
            judge(Dialect::Chat, r#"{"choices":["#),
            Err(Trouble::Short)
        ));
        for json in [
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#,
            r#"{"output":[],"status":"failed","error":{"message":"Busy"}}"#,
        ] {
            let judged = judge(Dialect::Responses, json);
            assert!(
                matches!(judged, Err(Trouble::Reported(_))),
                "{json}: {judged:?}"
            );
        }
    }
}
