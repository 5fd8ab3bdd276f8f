//! An agent file's tools, each called by its name.

use super::{block_on, keeper};
use retake_core::session::ledger::CallFailure;
use retake_live::agents::AgentFile;
use retake_live::tools::{ToolRequest, ToolResponse, Toolbox, ToolboxError};
use retake_live::wordings::Wordings;
use std::path::Path;
use tokio_util::sync::CancellationToken;

const AGENT: &str = r#"
name = "library desk"
[model]
dialect = "chat"
name = "model"
base_url = "http://127.0.0.1:1/v1"
key_env = "MODEL_API_KEY"

[[tools]]
name = "count"
command = ["sh", "-c", "wc -c; pwd; echo unread >&2"]
cwd = "desk"

[[tools]]
name = "opening_hours"
canned = [
  { when = { day = 7 }, output = "closed on Sundays", error = true },
  { output = "9 to 17" },
]

[[tools]]
name = "judge"
ask = true

[[tools]]
name = "find_book"
recorded = "run.json"
"#;

const RUN: &str = r#"{"model": "m", "messages": [{"role": "user", "content": "find two"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "find_book", "arguments": "{\"title\": \"Emma\"}"}},
        {"id": "2", "type": "function", "function": {"name": "find_book", "arguments": "{\"title\": \"Ulysses\"}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "shelf 4"},
    {"role": "tool", "tool_call_id": "2", "content": "lent out"}]}"#;

fn toolbox(folder: &Path) -> Result<Toolbox, ToolboxError> {
    let path = folder.join("AGENT.toml");
    std::fs::write(&path, AGENT).unwrap();
    let file = AgentFile::read(&path, &Wordings::default()).unwrap();
    Toolbox::of_agent(&file, None, keeper())
}

fn called(toolbox: &Toolbox, tool: &str, earlier: &[&str], arguments: &str) -> ToolResponse {
    let call = ToolRequest {
        tool,
        arguments,
        earlier,
    };
    block_on(toolbox.call(call, &CancellationToken::new()))
}

fn output(called: ToolResponse) -> String {
    match called {
        ToolResponse::Ended { outcome, .. } => outcome.output,
        ToolResponse::NeedsOperator(note) => panic!("the operator: {note}"),
    }
}

#[test]
fn each_tool_is_carried_out_by_what_the_agent_file_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("desk")).unwrap();
    std::fs::write(folder.path().join("run.json"), RUN).unwrap();
    let toolbox = toolbox(folder.path()).unwrap();

    let ToolResponse::Ended { outcome, notes } = called(&toolbox, "count", &[], "{\"a\":1}") else {
        panic!("the operator is not needed")
    };
    let desk = folder.path().join("desk").canonicalize().unwrap();
    assert_eq!(outcome.output, format!("7\n{}\n", desk.display()));
    assert_eq!(
        notes,
        ["on standard error, which the model does not read: unread"]
    );

    let hours = |arguments: &str| called(&toolbox, "opening_hours", &[], arguments);
    assert_eq!(output(hours("{\"day\": 7.0}")), "closed on Sundays");
    assert_eq!(output(hours("{\"day\": 1}")), "9 to 17");

    assert_eq!(
        called(&toolbox, "judge", &[], "{}"),
        ToolResponse::NeedsOperator(String::new())
    );

    let emma = "{\"title\":\"Emma\"}";
    assert_eq!(output(called(&toolbox, "find_book", &[], emma)), "shelf 4");
    let ulysses = called(&toolbox, "find_book", &[emma], "{\"title\":\"Ulysses\"}");
    assert_eq!(output(ulysses), "lent out");
    assert_eq!(
        called(&toolbox, "find_book", &[emma], emma),
        ToolResponse::NeedsOperator(
            "call 2 of find_book was recorded with {\"title\": \"Ulysses\"}".to_owned()
        )
    );
}

#[test]
fn a_tool_that_is_not_there_is_an_error_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.json"), RUN).unwrap();
    let toolbox = toolbox(folder.path()).unwrap();
    let ToolResponse::Ended { outcome, .. } = called(&toolbox, "cuont", &[], "{}") else {
        panic!("the operator is not needed")
    };
    assert_eq!(outcome.failure, Some(CallFailure::Unknown));
    assert!(outcome.output.contains("no tool named \"cuont\""));
}

#[test]
fn a_recording_that_is_not_there_is_told_before_the_run_begins() {
    let folder = tempfile::tempdir().unwrap();
    let error = toolbox(folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the recording run.json of the tool find_book: no such file or folder"
    );
}
