//! Tools that a recording answers, as long as the run goes as the recording did.
//!
//! Nothing is remembered here about which call comes next: that follows from the calls that the history at hand
//! shows already, so that going back to another take, or starting again, asks for the same outputs again.

use retake_core::engine::arguments::says_the_same;
use retake_core::session::ledger::{CallFailure, CallOutcome};
use retake_core::session::{Flags, Kind, Session, SourceError};
use retake_core::wire::body_of;

/// How much of recorded arguments a note quotes, in characters.
const QUOTED: usize = 300;

/// The calls of a recording that were answered, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTool {
    calls: Vec<Call>,
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    tool: String,
    arguments: String,
    output: String,
    is_error: bool,
}

impl RecordedTool {
    /// The answered calls of a session. Outputs that hold no text, and calls that cannot be read, end the row
    /// of their tool: what came after them may not be the answer.
    pub fn of(session: &Session) -> Result<Self, SourceError> {
        let mut recorded = Self::default();
        let mut ended = Vec::new();
        for (index, item) in session.items.iter().enumerate() {
            if item.kind != Kind::Call || ended.contains(&item.name) {
                continue;
            }
            match read_call(session, index)? {
                Some(call) => recorded.calls.push(call),
                None => ended.push(item.name),
            }
        }
        Ok(recorded)
    }

    /// The output of a call: the next one recorded of this tool, if all `earlier` calls of it were those of the
    /// recording, and this one is too. `earlier` are the arguments of the calls of this tool that the history
    /// shows as carried out, in its order. Otherwise a note for the operator: what was recorded instead.
    pub fn answer(
        &self,
        tool: &str,
        earlier: &[&str],
        arguments: &str,
    ) -> Result<CallOutcome, String> {
        let calls = self.calls.iter().filter(|call| call.tool == tool);
        let calls = calls.collect::<Vec<_>>();
        if calls.is_empty() {
            return Err(format!("the recording holds no answered call of {tool}"));
        }
        for (number, (call, given)) in calls.iter().zip(earlier).enumerate() {
            if !says_the_same(&call.arguments, given) {
                return Err(format!(
                    "the run left the recording at call {} of {tool}, which was recorded with {}",
                    number + 1,
                    quoted(&call.arguments)
                ));
            }
        }
        let count = calls.len();
        match calls.get(earlier.len()) {
            None => Err(format!(
                "the recording holds {count} answered calls of {tool}, and this is another one"
            )),
            Some(call) if says_the_same(&call.arguments, arguments) => Ok(call.outcome()),
            Some(call) => Err(format!(
                "call {} of {tool} was recorded with {}",
                earlier.len() + 1,
                quoted(&call.arguments)
            )),
        }
    }
}

impl Call {
    fn outcome(&self) -> CallOutcome {
        let is_silent = self.is_error && self.output.trim().is_empty();
        CallOutcome {
            output: if is_silent {
                "Error: the tool failed without a word".to_owned()
            } else {
                self.output.clone()
            },
            is_error: self.is_error,
            failure: self.is_error.then_some(CallFailure::Reported),
            ms: 0,
        }
    }
}

/// A call with its output; `None` where one of them is not there or cannot be read.
fn read_call(session: &Session, index: usize) -> Result<Option<Call>, SourceError> {
    let partner = session.pairing.partner(index);
    let call = session.items.get(index);
    let output = partner.and_then(|partner| session.items.get(partner));
    let (Some(call), Some(output)) = (call, output) else {
        return Ok(None);
    };
    let call_body = body_of(call, &session.bytes(call)?);
    let output_body = body_of(output, &session.bytes(output)?);
    let (Ok(call_body), Ok(output_body)) = (call_body, output_body) else {
        return Ok(None);
    };
    let arguments = call_body.arguments;
    Ok(Some(Call {
        tool: session.name(call).to_owned(),
        arguments: arguments
            .json()
            .unwrap_or(arguments.as_written())
            .to_owned(),
        output: output_body.text,
        is_error: output.flags.has(Flags::ERROR),
    }))
}

fn quoted(arguments: &str) -> String {
    match arguments.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", arguments.get(..at).unwrap_or_default()),
        None => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use serde_json::json;

    /// Calls as (id, tool, arguments, output), as a Chat request holds them.
    fn recorded(calls: &[(&str, &str, &str, Option<&str>)]) -> RecordedTool {
        let mut messages = vec![json!({"role": "user", "content": "go"})];
        for (id, tool, arguments, output) in calls {
            messages.push(
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                "type": "function", "function": {"name": tool, "arguments": arguments}}]}),
            );
            if let Some(output) = output {
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let body = json!({"model": "m", "messages": messages}).to_string();
        std::fs::write(&path, body).unwrap();
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        RecordedTool::of(&recording.sessions[0]).unwrap()
    }

    fn two_tools() -> RecordedTool {
        recorded(&[
            (
                "1",
                "find",
                "{\"name\":\"Ada\",\"year\":1815}",
                Some("found"),
            ),
            ("2", "book", "{\"id\":1}", Some("booked")),
            ("3", "find", "{\"name\":\"Bob\"}", Some("nobody")),
        ])
    }

    #[test]
    fn each_tool_answers_in_its_own_order_while_arguments_are_equal_as_json() {
        let recorded = two_tools();
        let ada = "{ \"year\": 1815.0, \"name\": \"Ada\" }";
        assert_eq!(recorded.answer("find", &[], ada).unwrap().output, "found");
        assert_eq!(
            recorded.answer("book", &[], "{\"id\": 1}").unwrap().output,
            "booked"
        );
        let bob = recorded.answer("find", &[ada], "{\"name\":\"Bob\"}");
        assert_eq!(bob.unwrap().output, "nobody");
    }

    #[test]
    fn the_first_call_that_differs_is_the_operator_s_and_so_is_what_follows_it() {
        let recorded = two_tools();
        let eve = "{\"name\":\"Eve\"}";
        let note = recorded.answer("find", &[], eve).unwrap_err();
        assert_eq!(
            note,
            "call 1 of find was recorded with {\"name\":\"Ada\",\"year\":1815}"
        );
        let note = recorded
            .answer("find", &[eve], "{\"name\":\"Bob\"}")
            .unwrap_err();
        assert!(
            note.starts_with("the run left the recording at call 1 of find"),
            "{note}"
        );
        assert!(
            recorded.answer("book", &[], "{\"id\":1}").is_ok(),
            "another tool goes on"
        );
        // Gone back to before the call that differed, the recording answers again.
        assert!(
            recorded
                .answer("find", &[], "{\"name\":\"Ada\",\"year\":1815}")
                .is_ok()
        );
    }

    #[test]
    fn what_was_not_recorded_or_not_answered_is_not_made_up() {
        let note = two_tools()
            .answer("book", &["{\"id\":1}"], "{\"id\":1}")
            .unwrap_err();
        assert_eq!(
            note,
            "the recording holds 1 answered calls of book, and this is another one"
        );
        let note = two_tools().answer("cancel", &[], "{}").unwrap_err();
        assert_eq!(note, "the recording holds no answered call of cancel");
        let open = recorded(&[("1", "find", "{}", None), ("2", "find", "{}", Some("late"))]);
        assert!(
            open.answer("find", &[], "{}").is_err(),
            "an open call ends the row"
        );
    }
}
