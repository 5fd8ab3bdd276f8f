//! The program as a process.

mod config;
mod converse;
mod convert;
mod ends;
mod export;
mod fix;
mod fixed_point;
mod gemini;
mod health;
mod hostile;
mod lab;
mod lab_trust;
mod list;
mod looking;
mod mcp_serve;
mod mended;
mod pages;
#[cfg(feature = "query")]
mod query;
mod recognise;
mod reports;
mod run_faults;
mod run_journal;
mod samples;
mod scripted;
mod secrets;
mod skill;
mod spelling;
mod split;
mod usage;

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// One call that names a tool which was not offered, and was answered all the same.
const STORY: &str = r#"{
  "model": "gpt-4o",
  "tools": [{"type": "function", "function": {"name": "search_flights", "parameters": {"type": "object"}}}],
  "messages": [
    {"role": "user", "content": "A flight to Lisbon, please."},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "serch_flights", "arguments": "{\"to\": \"LIS\"}"}}
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "KS 218 at nine"},
    {"role": "assistant", "content": "KS 218 leaves at nine."}
  ]
}
"#;

const CLEAN: &str =
    r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]"#;

fn retake() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
    command
        .env_remove("NO_COLOR")
        .env_remove("PAGER")
        .env_remove("RUST_BACKTRACE");
    command
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Exit code, stdout and stderr of a command in a folder.
fn told(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = retake()
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// The rules that find something in a text, in its order, but for what tools report of themselves.
fn rules(text: &str) -> Vec<String> {
    let here = folder(&[("request.json", text)]);
    let (_, out, err) = told(here.path(), &["check", "request.json", "--format", "json"]);
    let lines = out.lines().map(serde_json::from_str::<Value>);
    let lines = lines.map(|line| line.unwrap_or_else(|_| panic!("{out}{err}")));
    let rules = lines.filter_map(|line| Some(line.get("rule")?.as_str()?.to_owned()));
    rules.filter(|rule| rule != "tool-error").collect()
}
