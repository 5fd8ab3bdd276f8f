//! The tools of a live run, each by its name: programs, answers of the agent file, recordings, the operator.

pub mod command;
pub mod mcp;
mod recorded;

use super::agents::AgentFile;
use super::{InputError, ReadOptions, read_path};
use command::CommandTool;
pub use command::{CapturedText, GRACE, ProgramFacts, Supervisor, keep_if_asked};
pub use recorded::RecordedTool;
use retake_core::engine::agent::{AgentTool, By, Canned, RecordedAnswers as Recording};
use retake_core::engine::arguments::parsed;
use retake_core::session::ledger::{CallFailure, CallOutcome};
use retake_core::session::{Session, SourceError};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What carries out a tool.
#[derive(Debug, Clone)]
pub enum Means {
    Command(CommandTool),
    /// Answers that stand in the agent file.
    Canned(Vec<Canned>),
    Recorded(RecordedTool),
    Mcp(Arc<mcp::Server>),
    Operator,
    /// What the call says is its output: a structured output that the model wrote as a call.
    Echo,
}

#[derive(Debug)]
pub struct Toolbox {
    supervisor: Supervisor,
    tools: HashMap<String, Means>,
}

/// A call that is to be carried out.
#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'a> {
    pub tool: &'a str,
    /// Its arguments: JSON text, or free text of a custom tool.
    pub arguments: &'a str,
    /// The arguments of the calls of this tool that the history shows as carried out before, in its order: a
    /// recording answers only while they are its own.
    pub earlier: &'a [&'a str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolResponse {
    Ended {
        outcome: CallOutcome,
        /// What the operator should know beside it; it holds text from outside.
        notes: Vec<String>,
    },
    /// The operator has to answer: why, where that needs a word.
    NeedsOperator(String),
}

/// Why a tool cannot be had. Names of tools and files are text from outside.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// The recording at hand is to answer, and there is none.
    #[error("the tool {tool} is answered by the recording at hand, and there is none")]
    NothingAtHand { tool: String },
    #[error("the recording {file} of the tool {tool}: {error}")]
    NoRecording {
        tool: String,
        /// The file, as the agent file names it.
        file: String,
        error: InputError,
    },
    #[error("the recording of the tool {tool}: {error}")]
    Unreadable { tool: String, error: SourceError },
}

impl Toolbox {
    /// The tools of an agent file; `at_hand` is the session that the run goes on from, as it was recorded.
    pub fn of_agent(
        file: &AgentFile,
        at_hand: Option<&Session>,
        supervisor: Supervisor,
    ) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::new(supervisor);
        for tool in &file.agent.tools {
            let means = match &tool.by {
                By::Command(command) => {
                    Means::Command(CommandTool::of(command, file.folder_for(command)))
                }
                By::Canned(answers) => Means::Canned(answers.clone()),
                By::Operator => Means::Operator,
                By::Recorded(recording) => {
                    Means::Recorded(recorded_answers(tool, recording, file.folder(), at_hand)?)
                }
            };
            toolbox.put(&tool.offered.tool.name, means);
        }
        Ok(toolbox)
    }

    pub fn new(supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            tools: HashMap::new(),
        }
    }

    /// Puts a tool in; one of the same name goes.
    pub fn put(&mut self, name: impl Into<String>, means: Means) {
        self.tools.insert(name.into(), means);
    }

    /// Ends the servers. Programs end with the calls that run them.
    pub async fn stop(&self) {
        for means in self.tools.values() {
            if let Means::Mcp(server) = means {
                server.stop().await;
            }
        }
    }

    /// Carries out a call. `cancel` stops what runs; it ends soon afterwards, and says so. When the future is
    /// dropped, what runs is ended as well.
    pub async fn call(&self, call: ToolRequest<'_>, cancel: &CancellationToken) -> ToolResponse {
        match self.tools.get(call.tool) {
            Some(Means::Command(tool)) => {
                let ran = command::run(tool, &self.supervisor, call.arguments, cancel).await;
                ToolResponse::Ended {
                    notes: ran.facts.notes(&ran.outcome),
                    outcome: ran.outcome,
                }
            }
            Some(Means::Canned(answers)) => {
                ended(canned_answer(call.tool, answers, call.arguments))
            }
            Some(Means::Recorded(recorded)) => {
                match recorded.answer(call.tool, call.earlier, call.arguments) {
                    Ok(outcome) => ended(outcome),
                    Err(note) => ToolResponse::NeedsOperator(note),
                }
            }
            Some(Means::Mcp(server)) => ended(server.call(call.tool, call.arguments, cancel).await),
            Some(Means::Echo) => ended(CallOutcome {
                output: call.arguments.to_owned(),
                ..CallOutcome::default()
            }),
            Some(Means::Operator) => ToolResponse::NeedsOperator(String::new()),
            None => ended(CallOutcome::failed(
                CallFailure::Unknown,
                format!("There is no tool named \"{}\" in this run.", call.tool),
            )),
        }
    }
}

fn ended(outcome: CallOutcome) -> ToolResponse {
    ToolResponse::Ended {
        outcome,
        notes: Vec::new(),
    }
}

/// The answers of the recording that a tool names. A file may hold several sessions: the first one that a run
/// would go on from answers.
fn recorded_answers(
    tool: &AgentTool,
    recording: &Recording,
    folder: &Path,
    at_hand: Option<&Session>,
) -> Result<RecordedTool, ToolboxError> {
    let tool = || tool.offered.tool.name.clone();
    let unreadable = |error| ToolboxError::Unreadable {
        tool: tool(),
        error,
    };
    let file = match (recording, at_hand) {
        (Recording::AtHand, Some(session)) => return RecordedTool::of(session).map_err(unreadable),
        (Recording::AtHand, None) => return Err(ToolboxError::NothingAtHand { tool: tool() }),
        (Recording::File(file), _) => file,
    };
    let read = read_path(&folder.join(file), &ReadOptions::default());
    let read = read.map_err(|error| ToolboxError::NoRecording {
        tool: tool(),
        file: file.clone(),
        error,
    })?;
    let session = read.sessions.iter().find(|session| session.active);
    let session = session.or(read.sessions.first());
    session
        .map_or_else(|| Ok(RecordedTool::default()), RecordedTool::of)
        .map_err(unreadable)
}

/// The answer to a call of `tool` with these arguments; an error where none fits. Arguments that are no
/// JSON have no members.
fn canned_answer(tool: &str, answers: &[Canned], arguments: &str) -> CallOutcome {
    let arguments = parsed(arguments).unwrap_or(Value::Null);
    match answers.iter().find(|answer| answer.fits(&arguments)) {
        Some(answer) => CallOutcome {
            output: spoken(tool, answer),
            is_error: answer.is_error,
            failure: answer.is_error.then_some(CallFailure::Reported),
            ms: 0,
        },
        None => CallOutcome::failed(
            CallFailure::Unknown,
            format!("Error: no answer of the tool \"{tool}\" is written for these arguments"),
        ),
    }
}

/// An error is never empty: providers refuse one that is.
fn spoken(tool: &str, answer: &Canned) -> String {
    if answer.is_error && answer.output.trim().is_empty() {
        format!("Error: the tool \"{tool}\" failed")
    } else {
        answer.output.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn when(when: &Value, output: &str, is_error: bool) -> Canned {
        Canned {
            when: when.as_object().unwrap().clone(),
            output: output.to_owned(),
            is_error,
        }
    }

    #[test]
    fn the_first_answer_whose_members_are_all_there_is_given() {
        let answers = [
            when(&json!({"city": "Oslo", "days": 2}), "snow", false),
            when(&json!({"city": "Oslo"}), "sun", false),
            when(&json!({"city": "Atlantis"}), "", true),
        ];
        let said = |arguments: &str| canned_answer("weather", &answers, arguments);
        assert_eq!(said("{\"days\":2.0,\"city\":\"Oslo\"}").output, "snow");
        assert_eq!(said("{\"city\":\"Oslo\",\"unit\":\"C\"}").output, "sun");
        let failed = said("{\"city\":\"Atlantis\"}");
        assert_eq!(failed.output, "Error: the tool \"weather\" failed");
        assert_eq!(failed.failure, Some(CallFailure::Reported));
        for arguments in ["{\"city\":\"Rome\"}", "{}", "", "not JSON", "[1]"] {
            let none = said(arguments);
            assert!(
                none.is_error && none.output.contains("no answer"),
                "{arguments}"
            );
        }
    }

    #[test]
    fn an_answer_without_conditions_fits_everything() {
        let answers = [when(&json!({}), "ok", false)];
        for arguments in ["", "{\"a\":1}", "free text"] {
            assert_eq!(canned_answer("note", &answers, arguments).output, "ok");
        }
    }
}
