//! Trajectories of mini-swe-agent: a document whose `messages` are those of Chat, with what the agent knows
//! beside the model in `extra`. Agents that take commands from text have no calls.

use super::{Contents, Document, Format, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, JsonError};
use crate::session::{Dialect, Fragment, Source, SourceError};
use crate::wire::chat;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "mini-swe-agent",
    title: "trajectories of mini-swe-agent",
    dialect: Dialect::Chat,
    sniff: |sample: &Sample<'_>| {
        let is_run = |document: &Document<'_>| {
            let format = document.text("trajectory_format");
            format.is_some_and(|format| format.starts_with("mini-swe-agent"))
        };
        // Large files name their format after what is looked at.
        let is_begun = |document: &Document<'_>| {
            let info = document.object("info");
            info.has("mini_version") && info.has("model_stats")
        };
        match sample.any(is_run) || sample.any(is_begun) {
            true => 98,
            false => 0,
        }
    },
    reading: Reading::Records(Records {
        spells: false,
        line: chat::read_message,
        element: chat::read_message,
        member: |key, cursor, _, out| note_model(key, cursor, out),
        arrays: &["messages"],
        assemble,
    }),
};

/// The name of the model is in `info.config.model.model_name`.
fn note_model(key: &[u8], cursor: &mut Cursor<'_>, out: &mut Fragment) -> Result<(), JsonError> {
    match key {
        b"info" | b"config" | b"model" if cursor.peek() == Some(b'{') => {
            cursor.object(|cursor, key| note_model(key, cursor, out))?;
        }
        b"model_name" => {
            if let Some(model) = cursor.string()? {
                out.note_model(model);
            }
        }
        _ => {}
    }
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> Result<Contents, SourceError> {
    assemble_plain(FORMAT.id, FORMAT.dialect, fragment, source)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{Kind, PairStatus};

    #[test]
    fn messages_and_the_model_are_read() {
        let text = br#"{"info":{"mini_version":"2.2.8","model_stats":{"api_calls":1},"config":{"model":{"model_name":"gpt-5-mini"}}},
"messages":[{"role":"system","content":"You can run commands."},{"role":"user","content":"Count the boats."},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],"extra":{"actions":[{"command":"ls"}]}},
{"role":"tool","tool_call_id":"c1","content":"a","extra":{"returncode":0}},
{"role":"exit","content":"three","extra":{"exit_status":"Submitted"}}],"trajectory_format":"mini-swe-agent-1.1"}"#;
        let contents = read(FORMAT.id, text);
        assert_eq!(contents.problems, []);
        let session = &contents.sessions[0];
        assert_eq!(session.model.as_deref(), Some("gpt-5-mini"));
        assert_eq!(session.count(Kind::Call), 1);
        assert_eq!(session.pairing.standing(2), PairStatus::Paired(3));
    }
}
