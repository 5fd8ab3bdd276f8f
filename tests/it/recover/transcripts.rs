//! Valid transcripts out of nothing, in every dialect and in every file that can be written.

use crate::convert::{OPTIONS, converted, histories, read};
use crate::read_properties::{Spelling, Writing, input, laid_out, messages, steps};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use retake_core::session::Dialect;
use retake_live::{ReadOptions, Recording, read_input, read_path};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// What a file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Plain(Spelling, Writing),
    ClaudeCode,
    Codex,
    Database,
}

impl Container {
    fn spelling(self) -> Spelling {
        match self {
            Self::Plain(spelling, _) => spelling,
            Self::ClaudeCode => Spelling::Anthropic,
            Self::Codex | Self::Database => Spelling::Responses,
        }
    }

    fn format(self) -> &'static str {
        match self {
            Self::Plain(Spelling::Chat, _) => "openai-chat",
            Self::Plain(Spelling::Responses, _) => "openai-responses",
            Self::Plain(Spelling::Anthropic, _) => "anthropic-messages",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Database => "agents-sqlite",
        }
    }
}

/// A recording, with the file that it is in where that is needed to change it.
pub(crate) struct Written {
    pub(crate) recording: Arc<Recording>,
    pub(crate) path: Option<PathBuf>,
    _folder: Option<tempfile::TempDir>,
}

/// Elements of a history and the file that holds them.
#[derive(Debug, Clone)]
pub(crate) struct Transcript {
    container: Container,
    elements: Vec<Value>,
}

fn containers() -> impl Strategy<Value = Container> {
    let spellings = [Spelling::Chat, Spelling::Responses, Spelling::Anthropic];
    let writings = [
        Writing::Lines,
        Writing::Windows,
        Writing::Array,
        Writing::Pretty,
        Writing::Document,
    ];
    let plain = spellings
        .into_iter()
        .flat_map(move |spelling| writings.map(|writing| Container::Plain(spelling, writing)));
    let plain = select(plain.collect::<Vec<_>>());
    let own = select(vec![
        Container::ClaudeCode,
        Container::Codex,
        Container::Database,
    ]);
    prop_oneof![3 => plain, 2 => own]
}

/// What became of a transcript on its way: most came through whole.
#[derive(Debug, Clone)]
enum Fate {
    Whole,
    /// The run died after so many elements.
    Ended(Index),
    /// An element was lost.
    Lost(Index),
    /// Two neighbours changed places.
    Swapped(Index),
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Whole),
        1 => any::<Index>().prop_map(Fate::Ended),
        1 => any::<Index>().prop_map(Fate::Lost),
        1 => any::<Index>().prop_map(Fate::Swapped),
    ]
}

impl Fate {
    fn befall(&self, elements: &mut Vec<Value>) {
        match self {
            Self::Whole => {}
            Self::Ended(index) => elements.truncate(index.index(elements.len()) + 1),
            Self::Lost(index) if elements.len() > 1 => {
                elements.remove(index.index(elements.len()));
            }
            Self::Swapped(index) if elements.len() > 1 => {
                let first = index.index(elements.len() - 1);
                elements.swap(first, first + 1);
            }
            Self::Lost(_) | Self::Swapped(_) => {}
        }
    }
}

/// Plain messages with long texts, or histories with reasoning, parallel and free-form calls; behind them what is rare.
pub(crate) fn transcripts() -> impl Strategy<Value = Transcript> {
    let rich = (containers(), histories())
        .prop_map(|(container, items)| (container, spelled(&items, container.spelling())));
    let plain = (containers(), steps(60, 8))
        .prop_map(|(container, steps)| (container, messages(container.spelling(), &steps)));
    let histories = prop_oneof![2 => rich, 1 => plain];
    let rare = prop::collection::vec(any::<Index>(), 0..3);
    (histories, rare, fates()).prop_map(|((container, mut elements), rare, fate)| {
        let known = rarities(container.spelling());
        for (number, index) in rare.into_iter().enumerate() {
            let group = known[index.index(known.len())].to_string();
            let group = group.replace("ID", &format!("rare_{number}"));
            let group: Vec<Value> = serde_json::from_str(&group).unwrap();
            elements.extend(group);
        }
        fate.befall(&mut elements);
        Transcript {
            container,
            elements,
        }
    })
}

/// What few histories hold, each group valid by itself.
fn rarities(spelling: Spelling) -> Vec<Value> {
    let groups = match spelling {
        Spelling::Responses => json!([
            [{"type": "web_search_call", "id": "ws_ID", "status": "completed", "action": {"type": "search", "query": "q"}}],
            [{"type": "mcp_approval_request", "id": "ID", "server_label": "s", "name": "pay", "arguments": "{}"},
             {"type": "mcp_approval_response", "approval_request_id": "ID", "approve": true}],
            [{"type": "mcp_approval_request", "id": "ID", "server_label": "s", "name": "pay", "arguments": "{}"}],
            [{"type": "local_shell_call", "id": "l_ID", "call_id": "ID", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}},
             {"type": "local_shell_call_output", "id": "ID", "output": "a"}],
            [{"type": "shell_call", "call_id": "ID", "status": "completed", "action": {"commands": ["ls"]}},
             {"type": "shell_call_output", "call_id": "ID", "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}],
            [{"type": "computer_call", "id": "c_ID", "call_id": "ID", "status": "completed", "pending_safety_checks": [], "action": {"type": "screenshot"}},
             {"type": "computer_call_output", "call_id": "ID", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}}],
            [{"type": "compaction", "id": "cmp_ID", "encrypted_content": "gA=="}],
            [{"type": "reasoning", "id": "rs_ID", "summary": [], "encrypted_content": "gA=="},
             {"type": "function_call", "id": "fc_ID", "call_id": "ID", "name": "look", "arguments": "{\"text\":"},
             {"type": "function_call_output", "call_id": "ID", "output": "no JSON"}],
        ]),
        Spelling::Chat => json!([
            [{"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{}"}},
             {"role": "function", "name": "look", "content": "seen"}],
            [{"role": "assistant", "content": "both", "tool_calls": [
                {"id": "ID", "type": "function", "function": {"name": "look", "arguments": "{"}},
                {"id": "IDb", "type": "custom", "custom": {"name": "patch", "input": "x"}}]},
             {"role": "tool", "tool_call_id": "IDb", "content": "1"},
             {"role": "tool", "tool_call_id": "ID", "content": "2"}],
            [{"role": "developer", "content": "short"}],
            [{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
            [{"role": "assistant", "content": null, "refusal": "no"}],
        ]),
        Spelling::Anthropic => json!([
            [{"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "both"},
                {"type": "tool_use", "id": "ID", "name": "look", "input": {}},
                {"type": "tool_use", "id": "IDb", "name": "see", "input": {"a": [1]}}]},
             {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "IDb", "content": "1"},
                {"type": "tool_result", "tool_use_id": "ID", "is_error": true, "content": [{"type": "text", "text": "2"}]},
                {"type": "text", "text": "and now?"}]}],
            [{"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "srvtoolu_ID", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_ID", "content": []},
                {"type": "text", "text": "found"}]}],
            [{"role": "user", "content": "a plain text"}, {"role": "assistant", "content": "another"}],
            [{"role": "assistant", "content": [
                {"type": "redacted_thinking", "data": "gA=="},
                {"type": "tool_use", "id": "ID", "name": "look", "input": {}}]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "ID"}]},
             {"role": "user", "content": "one more thing"}],
        ]),
    };
    groups.as_array().unwrap().clone()
}

/// A Responses history in another spelling.
fn spelled(items: &[Value], spelling: Spelling) -> Vec<Value> {
    let to = match spelling {
        Spelling::Responses => return items.to_vec(),
        Spelling::Chat => Dialect::Chat,
        Spelling::Anthropic => Dialect::Anthropic,
    };
    let session = read(serde_json::to_vec(items).unwrap(), Dialect::Responses).unwrap();
    let (text, _) = converted(&session, to, OPTIONS);
    let history: Value = serde_json::from_slice(&text).unwrap();
    let messages = history.get("messages").unwrap_or(&history);
    messages.as_array().unwrap().clone()
}

impl Transcript {
    /// The recording, as its own format reads it.
    pub(crate) fn written(&self) -> Written {
        let options = ReadOptions {
            format: Some(self.container.format().to_owned()),
            ..ReadOptions::default()
        };
        let text = match self.container {
            Container::Plain(spelling, writing) => laid_out(spelling, writing, &self.elements),
            Container::ClaudeCode => claude_code(&self.elements),
            Container::Codex => codex(&self.elements),
            Container::Database => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("sessions.db");
                database(&path, &self.elements);
                return Written {
                    recording: Arc::new(read_path(&path, &options).unwrap()),
                    path: Some(path),
                    _folder: Some(folder),
                };
            }
        };
        let recording = read_input(input(text.as_bytes(), true), &options).unwrap();
        Written {
            recording: Arc::new(recording),
            path: None,
            _folder: None,
        }
    }
}

/// One line for each block of the model and for each message of the user, linked by their ids.
fn claude_code(messages: &[Value]) -> String {
    let mut text = String::new();
    let mut parent = Value::Null;
    let mut line = |role: &str, message: Value, text: &mut String| {
        let uuid = json!(format!("line-{}", text.lines().count()));
        let line = json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": role,
            "message": message, "uuid": uuid, "timestamp": "2026-03-02T09:00:00.000Z"});
        text.push_str(&format!("{line}\n"));
        parent = uuid;
    };
    for (number, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap();
        match (&message["content"], role) {
            (Value::Array(blocks), "assistant") => {
                for block in blocks {
                    let id = format!("msg_{number}");
                    let part = json!({"id": id, "role": role, "model": "m", "content": [block], "stop_reason": null});
                    line(role, part, &mut text);
                }
            }
            _ => line(role, message.clone(), &mut text),
        }
    }
    text
}

fn codex(items: &[Value]) -> String {
    let meta = json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "cwd": "/", "originator": "codex_cli_rs"}});
    let items = items
        .iter()
        .map(|item| json!({"timestamp": "t", "type": "response_item", "payload": item}));
    let lines = std::iter::once(meta).chain(items);
    lines.map(|line| format!("{line}\n")).collect()
}

/// A database as `SQLiteSession` of openai-agents makes it.
fn database(path: &std::path::Path, items: &[Value]) {
    let database = Connection::open(path).unwrap();
    let tables = "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
        CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
        INSERT INTO agent_sessions (session_id) VALUES ('s');";
    database.execute_batch(tables).unwrap();
    for item in items {
        let row = "INSERT INTO agent_messages (session_id, message_data) VALUES ('s', ?1)";
        database.execute(row, [item.to_string()]).unwrap();
    }
}
