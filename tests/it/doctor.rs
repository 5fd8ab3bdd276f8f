//! `doctor` over a home folder that was made up: stores of eleven agents, 43 sessions, and in some a planted defect.

use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// What is wrong with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Defect {
    None,
    OrphanCall,
    OrphanOutput,
    DuplicateOutput,
}

use Defect::{DuplicateOutput, None as Sound, OrphanCall, OrphanOutput};

impl Defect {
    fn rule(self) -> Option<&'static str> {
        match self {
            Sound => None,
            OrphanCall => Some("orphan-call"),
            OrphanOutput => Some("orphan-output"),
            DuplicateOutput => Some("duplicate-output"),
        }
    }
}

/// What happens in a session, whatever spells it.
enum Event {
    Says(&'static str),
    Answers(&'static str),
    Calls(&'static str),
    Returns(&'static str),
}

use Event::{Answers, Calls, Returns, Says};

fn events(defect: Defect) -> Vec<Event> {
    let mut events = vec![Says("Count the boats."), Calls("c1")];
    match defect {
        Sound => events.push(Returns("c1")),
        OrphanCall => {}
        OrphanOutput => events.extend([Returns("c1"), Says("More."), Returns("c9")]),
        DuplicateOutput => events.extend([Returns("c1"), Returns("c1")]),
    }
    events.extend([Says("Go on."), Answers("Three."), Says("Thanks.")]);
    events
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values
        .into_iter()
        .map(|value| format!("{value}\n"))
        .collect()
}

fn anthropic(event: &Event) -> Value {
    let call =
        |id| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
    let output = |id| json!({"type": "tool_result", "tool_use_id": id, "content": "a\nb\nc"});
    match event {
        Says(text) => json!({"role": "user", "content": text}),
        Answers(text) => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
        }
        Calls(id) => json!({"role": "assistant", "content": [call(id)]}),
        Returns(id) => json!({"role": "user", "content": [output(id)]}),
    }
}

fn claude_code(defect: Defect) -> String {
    let mut parent = Value::Null;
    let entries = events(defect).into_iter().enumerate().map(|(index, event)| {
        let mut message = anthropic(&event);
        if message["role"] == "assistant" {
            message["id"] = format!("msg_{index}").into();
        }
        let id = Value::from(format!("00000000-0000-4000-8000-{index:012}"));
        let entry = json!({
            "type": message["role"], "uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
            "timestamp": format!("2026-01-01T00:00:{index:02}.000Z"), "cwd": "/p", "message": message,
        });
        parent = id;
        entry
    });
    lines(entries)
}

fn responses(event: &Event) -> Value {
    match event {
        Says(text) => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        Answers(text) => {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        }
        Calls(id) => {
            json!({"type": "function_call", "call_id": id, "name": "shell", "arguments": "{}"})
        }
        Returns(id) => json!({"type": "function_call_output", "call_id": id, "output": "a"}),
    }
}

fn codex(defect: Defect) -> String {
    let head = json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/p"}});
    let items = events(defect).into_iter().map(|event| {
        json!({"timestamp": "2026-01-01T00:00:01.000Z", "type": "response_item", "payload": responses(&event)})
    });
    lines(std::iter::once(head).chain(items))
}

fn qwen_code(defect: Defect) -> String {
    let entries = events(defect)
        .into_iter()
        .enumerate()
        .map(|(index, event)| {
            let (kind, role, part) = match event {
                Says(text) => ("user", "user", json!({"text": text})),
                Answers(text) => ("assistant", "model", json!({"text": text})),
                Calls(id) => {
                    let call = json!({"id": id, "name": "ls", "args": {}});
                    ("assistant", "model", json!({"functionCall": call}))
                }
                Returns(id) => {
                    let output = json!({"id": id, "name": "ls", "response": {"output": "a"}});
                    ("tool_result", "user", json!({"functionResponse": output}))
                }
            };
            json!({
                "uuid": index.to_string(), "parentUuid": null, "sessionId": "s", "type": kind,
                "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": role, "parts": [part]},
            })
        });
    lines(entries)
}

fn pi(defect: Defect) -> String {
    let head = json!({"type": "session", "version": 1, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"});
    let messages = events(defect).into_iter().map(|event| {
        let said = |content: Value, stop: &str| {
            json!({"role": "assistant", "api": "a", "provider": "p", "model": "claude-sonnet-4-5", "content": content, "stopReason": stop})
        };
        let message = match event {
            Says(text) => json!({"role": "user", "content": text}),
            Answers(text) => said(json!([{"type": "text", "text": text}]), "stop"),
            Calls(id) => said(
                json!([{"type": "toolCall", "id": id, "name": "ls", "arguments": {}}]),
                "toolUse",
            ),
            Returns(id) => {
                let parts = json!([{"type": "text", "text": "a"}]);
                json!({"role": "toolResult", "toolCallId": id, "toolName": "ls", "content": parts})
            }
        };
        json!({"type": "message", "message": message})
    });
    lines(std::iter::once(head).chain(messages))
}

/// The same with entries that name the one before, as since version 2.
fn linked_pi(defect: Defect) -> String {
    let (mut parent, mut entries) = (Value::Null, Vec::new());
    for (number, line) in pi(defect).lines().enumerate() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        if entry["type"] == "message" {
            let id = Value::from(format!("{number:08x}"));
            entry["id"] = id.clone();
            entry["parentId"] = std::mem::replace(&mut parent, id);
            entry["timestamp"] = "2026-01-01T00:00:01.000Z".into();
        }
        entries.push(entry);
    }
    lines(entries)
}

fn goose(defect: Defect) -> String {
    let head = json!({"description": "Boats", "working_dir": "/p"});
    let messages = events(defect).into_iter().map(|event| {
        let (role, part) = match event {
            Says(text) => ("user", json!({"type": "text", "text": text})),
            Answers(text) => ("assistant", json!({"type": "text", "text": text})),
            Calls(id) => {
                let call =
                    json!({"status": "success", "value": {"name": "shell", "arguments": {}}});
                (
                    "assistant",
                    json!({"type": "toolRequest", "id": id, "toolCall": call}),
                )
            }
            Returns(id) => {
                let result = json!({"status": "success", "value": [{"type": "text", "text": "a"}]});
                (
                    "user",
                    json!({"type": "toolResponse", "id": id, "toolResult": result}),
                )
            }
        };
        json!({"role": role, "created": 1_760_000_000, "content": [part]})
    });
    lines(std::iter::once(head).chain(messages))
}

fn copilot(defect: Defect) -> String {
    let head = json!({"type": "session.start", "data": {"sessionId": "s"}, "id": "h", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z"});
    let events = events(defect).into_iter().enumerate().map(|(index, event)| {
        let (kind, data) = match event {
            Says(text) => ("user.message", json!({"content": text})),
            Answers(text) => ("assistant.message", json!({"content": text, "toolRequests": []})),
            Calls(id) => {
                let calls = json!([{"toolCallId": id, "name": "view", "arguments": {}}]);
                ("assistant.message", json!({"content": "", "toolRequests": calls}))
            }
            Returns(id) => {
                let data = json!({"toolCallId": id, "success": true, "result": {"content": "a"}});
                ("tool.execution_complete", data)
            }
        };
        json!({"type": kind, "data": data, "id": index.to_string(), "parentId": "h", "timestamp": "2026-01-01T00:00:01.000Z"})
    });
    lines(std::iter::once(head).chain(events))
}

fn gemini_cli(defect: Defect) -> String {
    let head = json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z"});
    let user = |id: &str, text: &str| json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "type": "user", "content": text});
    let response =
        json!([{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}]);
    let call = match defect {
        OrphanCall => json!({"id": "c1", "name": "ls", "args": {}, "status": "executing"}),
        _ => json!({"id": "c1", "name": "ls", "args": {}, "status": "success", "result": response}),
    };
    let reply = json!({"id": "m2", "timestamp": "2026-01-01T00:00:02.000Z", "type": "gemini", "content": "", "model": "gemini-2.5-pro", "toolCalls": [call]});
    lines([head, user("m1", "Count."), reply, user("m3", "Go on.")])
}

fn cline(defect: Defect) -> String {
    let task =
        json!({"role": "user", "content": [{"type": "text", "text": "<task>\nCount.\n</task>"}]});
    let messages = events(defect);
    let messages = std::iter::once(task).chain(messages.iter().skip(1).map(anthropic));
    Value::from_iter(messages).to_string()
}

type Write = fn(Defect) -> String;

/// Agent, where its sessions are (`#` is a number), how they are spelled, and what is wrong with each.
const STORES: &[(&str, &str, Write, &[Defect])] = &[
    (
        "claude-code",
        ".claude/projects/-p/#.jsonl",
        claude_code,
        &[
            Sound,
            OrphanCall,
            OrphanOutput,
            DuplicateOutput,
            Sound,
            OrphanCall,
            Sound,
            Sound,
            OrphanCall,
            Sound,
        ],
    ),
    (
        "codex",
        ".codex/sessions/2026/01/01/rollout-#.jsonl",
        codex,
        &[
            Sound,
            OrphanCall,
            OrphanOutput,
            DuplicateOutput,
            Sound,
            Sound,
        ],
    ),
    (
        "qwen-code",
        ".qwen/projects/-p/chats/#.jsonl",
        qwen_code,
        &[Sound, OrphanCall, OrphanOutput, Sound, Sound],
    ),
    (
        "pi",
        ".pi/agent/sessions/--p--/#.jsonl",
        linked_pi,
        &[Sound, OrphanCall, OrphanOutput, DuplicateOutput, Sound],
    ),
    (
        "oh-my-pi",
        ".omp/agent/sessions/-p/#.jsonl",
        pi,
        &[Sound, OrphanCall],
    ),
    (
        "openclaw",
        ".openclaw/agents/main/sessions/#.jsonl",
        pi,
        &[Sound, OrphanOutput],
    ),
    (
        "gemini-cli",
        ".gemini/tmp/h/chats/session-#.jsonl",
        gemini_cli,
        &[Sound, OrphanCall, Sound],
    ),
    (
        "copilot-cli",
        ".copilot/session-state/#/events.jsonl",
        copilot,
        &[Sound, OrphanCall],
    ),
    (
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/#/api_conversation_history.json",
        cline,
        &[Sound, OrphanCall, OrphanOutput],
    ),
    (
        "goose",
        ".local/share/goose/sessions/#.jsonl",
        goose,
        &[Sound, OrphanOutput],
    ),
];

type Insert = fn(&Connection, &str, Defect);
type Sessions = &'static [(&'static str, Defect)];

/// Agent, its database, the tables, what writes a session into it, and the sessions.
const DATABASES: &[(&str, &str, &str, Insert, Sessions)] = &[
    (
        "openai-agents",
        DATABASE,
        "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY);
         CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT);",
        insert_items,
        &[
            ("anna", Sound),
            ("bert", OrphanCall),
            ("carl", OrphanOutput),
            ("dora", Sound),
        ],
    ),
    (
        "hermes",
        ".hermes/state.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, model TEXT, title TEXT, started_at REAL NOT NULL);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
            role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
            finish_reason TEXT);",
        insert_hermes,
        &[
            ("emil", OrphanCall),
            ("fritz", OrphanOutput),
            ("gerda", DuplicateOutput),
            ("hans", Sound),
        ],
    ),
    (
        "goose",
        ".local/share/goose/sessions/sessions.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, created_at TIMESTAMP);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
            role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
            timestamp TIMESTAMP DEFAULT '2026-01-01 00:00:00', metadata_json TEXT);",
        insert_goose,
        &[
            ("ida", OrphanCall),
            ("jens", OrphanOutput),
            ("karl", Sound),
        ],
    ),
    (
        "opencode",
        ".local/share/opencode/opencode.db",
        "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, revert TEXT, time_created INTEGER);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
        insert_opencode,
        &[("ses_lena", OrphanCall), ("ses_max", Sound)],
    ),
    (
        "openclaw",
        ".openclaw/agents/main/agent/openclaw-agent.sqlite",
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, PRIMARY KEY (session_id, seq));",
        insert_openclaw,
        &[("nora", OrphanOutput), ("otto", Sound)],
    ),
];

fn insert_items(database: &Connection, session: &str, defect: Defect) {
    for event in events(defect) {
        let sql = "INSERT INTO agent_messages (session_id, message_data) VALUES (?1, ?2)";
        let item = responses(&event).to_string();
        database.execute(sql, [session, &item]).unwrap();
    }
}

fn insert_hermes(database: &Connection, session: &str, defect: Defect) {
    let sql = "INSERT INTO sessions VALUES (?1, 'm', ?1, 1760000000.0)";
    database.execute(sql, [session]).unwrap();
    for event in events(defect) {
        let (role, content, call, calls) = match event {
            Says(text) => ("user", text, None, None),
            Answers(text) => ("assistant", text, None, None),
            Calls(id) => {
                let function = json!({"name": "terminal", "arguments": "{}"});
                let calls = json!([{"id": id, "type": "function", "function": function}]);
                ("assistant", "", None, Some(calls.to_string()))
            }
            Returns(id) => ("tool", "a", Some(id), None),
        };
        let sql =
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, timestamp)
            VALUES (?1, ?2, ?3, ?4, ?5, 1760000001.5)";
        database
            .execute(sql, rusqlite::params![session, role, content, call, calls])
            .unwrap();
    }
}

fn insert_goose(database: &Connection, session: &str, defect: Defect) {
    let sql = "INSERT INTO sessions VALUES (?1, ?1, 'user', '2026-01-01')";
    database.execute(sql, [session]).unwrap();
    for message in goose(defect).lines().skip(1) {
        let message: Value = serde_json::from_str(message).unwrap();
        let (role, content) = (message["role"].as_str(), message["content"].to_string());
        let sql = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?1, ?2, ?3, 1760000000)";
        database
            .execute(sql, rusqlite::params![session, role, content])
            .unwrap();
    }
}

fn insert_opencode(database: &Connection, session: &str, defect: Defect) {
    let sql = "INSERT INTO session (id, title, time_created) VALUES (?1, ?1, 1)";
    database.execute(sql, [session]).unwrap();
    for (number, event) in (0_i64..).zip(events(defect)) {
        let (role, part) = match event {
            Says(text) => ("user", json!({"type": "text", "text": text})),
            Answers(text) => ("assistant", json!({"type": "text", "text": text})),
            Calls(id) => {
                let state = match defect {
                    OrphanCall => json!({"status": "running", "input": {}, "time": {"start": 1}}),
                    _ => {
                        json!({"status": "completed", "input": {}, "output": "a", "title": "", "metadata": {}, "time": {"start": 1, "end": 2}})
                    }
                };
                let part = json!({"type": "tool", "tool": "bash", "callID": id, "state": state});
                ("assistant", part)
            }
            Returns(_) => continue,
        };
        let (message, data) = (
            format!("msg_{session}{number}"),
            json!({"role": role, "modelID": "claude-sonnet-4-5"}),
        );
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        database
            .execute(
                sql,
                rusqlite::params![message, session, number, data.to_string()],
            )
            .unwrap();
        let sql = "INSERT INTO part VALUES (?1 || 'p', ?1, ?2, ?3)";
        database
            .execute(sql, [&message, session, &part.to_string()])
            .unwrap();
    }
}

fn insert_openclaw(database: &Connection, session: &str, defect: Defect) {
    for (number, entry) in (0_i64..).zip(linked_pi(defect).lines()) {
        let sql = "INSERT INTO transcript_events VALUES (?1, ?2, ?3)";
        database
            .execute(sql, rusqlite::params![session, number, entry])
            .unwrap();
    }
}

const DATABASE: &str = "conversations.db";
/// How many files are healed: each that holds a defect.
const HEALED_FILES: usize = 25;

/// The home folder; everything in it is an hour old.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    for (_, pattern, write, defects) in STORES {
        for (index, defect) in defects.iter().enumerate() {
            let path = home.path().join(pattern.replace('#', &index.to_string()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, write(*defect)).unwrap();
        }
    }
    for (_, path, tables, insert, sessions) in DATABASES {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let database = Connection::open(path).unwrap();
        database.execute_batch(tables).unwrap();
        for (session, defect) in *sessions {
            insert(&database, session, *defect);
        }
    }
    for path in files(home.path()).into_keys() {
        age(&home.path().join(path));
    }
    home
}

fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(3600);
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(old)
        .unwrap();
}

/// The files of a folder with their bytes, without those that a killed process left and the next one removes.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                // It may be renamed meanwhile.
                false => {
                    let inside = path.strip_prefix(root).unwrap().to_owned();
                    let bytes = fs::read(&path);
                    if path.extension().is_none_or(|ending| ending != "tmp") {
                        bytes
                            .into_iter()
                            .for_each(|bytes| drop(found.insert(inside.clone(), bytes)));
                    }
                }
            }
        }
    }
    found
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
    command.args(["doctor", "--home"]).arg(home).args(arguments);
    // Variables of this machine move no store of that home.
    command
        .env("CLAUDE_CONFIG_DIR", "/nowhere")
        .env("XDG_DATA_HOME", "/nowhere");
    command
}

fn doctor(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = command(home, arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn objects(text: &str, kind: &str) -> Vec<Value> {
    let objects = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    objects.filter(|object| object["type"] == kind).collect()
}

#[test]
fn each_planted_defect_is_found_with_the_words_of_its_provider_and_nothing_is_written() {
    let home = home();
    let before = files(home.path());
    let (code, out, err) = doctor(home.path(), &["--format", "json"]);
    assert_eq!((code, &*err), (1, ""), "{out}");
    assert_eq!(files(home.path()), before);
    let sessions = objects(&out, "session");
    assert_eq!(sessions.len(), 55);
    for (agent, pattern, _, defects) in STORES {
        for (index, defect) in defects.iter().enumerate() {
            let path = home.path().join(pattern.replace('#', &index.to_string()));
            let own = sessions
                .iter()
                .find(|session| session["path"] == path.to_str().unwrap());
            let own = own.unwrap_or_else(|| panic!("{}", path.display()));
            assert_eq!(own["agent"], *agent);
            judge(own, agent, *defect);
        }
    }
    for (agent, _, _, _, own) in DATABASES {
        for (name, defect) in *own {
            let is_own = |session: &&Value| session["session"].as_str().unwrap().contains(name);
            let own = sessions.iter().find(is_own).unwrap();
            judge(own, agent, *defect);
        }
    }
    let agents = objects(&out, "agent");
    assert_eq!(agents.len(), 13, "{out}");
    let claude = agents
        .iter()
        .find(|agent| agent["agent"] == "claude-code")
        .unwrap();
    assert_eq!(
        (&claude["sessions"], &claude["refused"], &claude["loses"]),
        (&json!(10), &json!(1), &json!(4))
    );
}

fn judge(session: &Value, agent: &str, defect: Defect) {
    let findings = session["findings"].as_array().unwrap();
    let rules = findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap());
    let rules: Vec<&str> = rules.collect();
    assert_eq!(rules.first().copied(), defect.rule(), "{agent}: {session}");
    let repairs = [
        "claude-code",
        "codex",
        "pi",
        "oh-my-pi",
        "openclaw",
        "goose",
        "opencode",
    ]
    .contains(&agent)
        && !(agent.contains("pi") && defect == OrphanOutput)
        && defect != DuplicateOutput;
    let expected = match defect {
        Sound => "goes-on",
        _ if repairs => "loses",
        _ => "refused",
    };
    assert_eq!(session["resume"], expected, "{agent}: {session}");
    if let Some(finding) = findings.first() {
        let is_said = !finding["provider_text"].is_null() || defect == DuplicateOutput;
        assert_eq!(is_said, !repairs, "{session}");
        assert_eq!(finding["repair"].is_string(), repairs, "{session}");
    }
}

#[test]
fn the_report_for_people_names_each_broken_session_and_ends_with_a_table() {
    let home = home();
    let (code, out, _) = doctor(home.path(), &[]);
    assert_eq!(code, 1);
    let text = out.replace(home.path().to_str().unwrap(), "~");
    insta::assert_snapshot!(text);
}

#[test]
fn healed_copies_are_written_elsewhere_and_only_once() {
    let home = home();
    let before = files(home.path());
    let to = tempfile::tempdir().unwrap();
    let folder = to.path().to_str().unwrap();
    let (code, out, _) = doctor(home.path(), &["--copy-to", folder]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(files(home.path()), before);
    let copies = files(to.path());
    assert_eq!(copies.len(), HEALED_FILES, "{:?}", copies.keys());
    let copy = to.path().join("claude-code/-p/1.jsonl");
    assert!(copy.exists());
    let check = Command::new(env!("CARGO_BIN_EXE_retake"))
        .arg("check")
        .arg(to.path())
        .output();
    assert_eq!(check.unwrap().status.code(), Some(0));
    let (_, out, _) = doctor(home.path(), &["--copy-to", folder]);
    assert!(out.contains("already exists"), "{out}");
    assert_eq!(files(to.path()), copies);
}

/// The rows of a database.
fn rows(path: &Path) -> Vec<(String, String)> {
    let database = Connection::open(path).unwrap();
    let sql = "SELECT session_id, message_data FROM agent_messages ORDER BY id";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn healing_in_place_keeps_what_was_there_and_a_second_run_changes_nothing() {
    let home = home();
    let before = files(home.path());
    let time = |path: &str| {
        home.path()
            .join(path)
            .metadata()
            .unwrap()
            .modified()
            .unwrap()
    };
    let old = time(".claude/projects/-p/1.jsonl");
    let (code, out, err) = doctor(home.path(), &["--in-place", "--format", "json"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert_eq!(time(".claude/projects/-p/1.jsonl"), old);
    let after = files(home.path());
    let healed = objects(&out, "healing");
    let written = healed
        .iter()
        .filter(|healing| healing["written"].is_string());
    assert_eq!(written.clone().count(), HEALED_FILES, "{out}");
    for healing in written {
        assert!(
            !healing["changes"].as_array().unwrap().is_empty(),
            "{healing}"
        );
        let inside = |name: &str| {
            let path = Path::new(healing[name].as_str().unwrap());
            path.strip_prefix(home.path()).unwrap().to_owned()
        };
        let (path, backup) = (inside("written"), inside("backup"));
        assert_eq!(after[&backup], before[&path]);
        assert_ne!(after[&path], before[&path]);
    }
    let untouched = before
        .iter()
        .filter(|(path, bytes)| after[*path] == **bytes);
    assert_eq!(untouched.count(), before.len() - HEALED_FILES);
    // Lines that were not changed are there byte for byte.
    let path = Path::new(".claude/projects/-p/1.jsonl");
    let text = |files: &BTreeMap<PathBuf, Vec<u8>>| String::from_utf8(files[path].clone()).unwrap();
    let healed = text(&after);
    let kept = text(&before)
        .lines()
        .filter(|line| healed.contains(line))
        .count();
    assert!(kept + 1 >= text(&before).lines().count(), "{healed}");
    // The counts are those of the store as it is now.
    let agents = objects(&out, "agent");
    let counts = |agent: &str| {
        let own = agents.iter().find(|counts| counts["agent"] == agent);
        ["goes_on", "loses", "refused", "healed"].map(|key| own.unwrap()[key].clone())
    };
    assert_eq!(
        counts("claude-code"),
        [json!(10), json!(0), json!(0), json!(5)]
    );
    assert_eq!(
        counts("openai-agents"),
        [json!(4), json!(0), json!(0), json!(2)]
    );
    let (code, out, _) = doctor(home.path(), &["--in-place", "--format", "json"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(files(home.path()), after);
}

#[test]
fn sessions_that_somebody_is_at_work_on_are_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-p/1.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, claude_code(OrphanCall)).unwrap();
    let (code, out, _) = doctor(home.path(), &["--in-place"]);
    assert_eq!(code, 1);
    assert!(out.contains("within the last minute"), "{out}");
    let (_, out, _) = doctor(home.path(), &[]);
    assert!(out.contains("  just written"), "{out}");
    assert!(
        out.contains("1 session could be healed but is in use (written to within"),
        "{out}"
    );
    assert!(!out.contains("--in-place heals"), "{out}");
    let (_, out, _) = doctor(home.path(), &["--format", "json"]);
    assert_eq!(objects(&out, "agent")[0]["healed"], 0, "{out}");
    age(&path);
    let (_, out, _) = doctor(home.path(), &[]);
    assert!(out.contains("--in-place heals 1 session"), "{out}");
    if cfg!(target_os = "linux") {
        let _open = File::options().append(true).open(&path).unwrap();
        let (code, out, _) = doctor(home.path(), &["--in-place"]);
        assert!(code == 1 && out.contains("has it open"), "{out}");
        assert_eq!(fs::read_to_string(&path).unwrap(), claude_code(OrphanCall));
        let (code, out, _) = doctor(home.path(), &["--in-place", "--force"]);
        assert_eq!(code, 0, "{out}");
    }
}

#[test]
fn a_database_that_is_locked_or_open_is_never_replaced_and_a_log_that_was_left_is_kept() {
    let home = home();
    let path = home.path().join(DATABASE);
    let owner = Connection::open(&path).unwrap();
    owner.pragma_update(None, "journal_mode", "WAL").unwrap();
    let sql = "INSERT INTO agent_messages (session_id, message_data) VALUES ('anna', ?1)";
    owner
        .execute(sql, [&responses(&Says("In the log.")).to_string()])
        .unwrap();
    let before = rows(&path);
    if cfg!(target_os = "linux") {
        let (_, out, _) = doctor(home.path(), &["--in-place", "--force"]);
        assert!(
            out.contains("another process has the database open"),
            "{out}"
        );
    }
    owner.execute_batch("BEGIN IMMEDIATE").unwrap();
    doctor(home.path(), &["--in-place", "--force"]);
    owner.execute_batch("ROLLBACK").unwrap();
    assert_eq!(rows(&path), before);
    // The files as a killed owner leaves them.
    let kept = ["", "-wal"].map(|end| fs::read(format!("{}{end}", path.display())).unwrap());
    drop(owner);
    for (end, bytes) in ["", "-wal"].iter().zip(kept) {
        let part = PathBuf::from(format!("{}{end}", path.display()));
        fs::write(&part, bytes).unwrap();
        age(&part);
    }
    let (_, out, _) = doctor(home.path(), &["--in-place"]);
    assert!(out.contains("conversations.db.bak"), "{out}");
    let after = rows(&path);
    let of = |all: &[(String, String)], name: &str| {
        all.iter()
            .filter(|(session, _)| session == name)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&after, "anna"), of(&before, "anna"));
    assert_ne!(of(&after, "bert"), of(&before, "bert"));
    assert_eq!(of(&after, "dora"), of(&before, "dora"));
}

#[test]
fn what_a_compaction_took_out_keeps_no_agent_from_going_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-p/1.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let entry = |id: &str, parent: Value, more: Value| {
        let mut entry =
            json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false});
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        entry
    };
    let said = |event: &Event| {
        let message = anthropic(event);
        json!({"type": message["role"], "message": message})
    };
    let boundary =
        json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "b"});
    let mut summary = said(&Says("There are boats."));
    summary["isCompactSummary"] = true.into();
    let log = lines([
        entry("a", Value::Null, said(&Says("Count the boats."))),
        entry("b", json!("a"), said(&Calls("c1"))),
        entry("c", Value::Null, boundary),
        entry("d", json!("c"), summary),
        entry("e", json!("d"), said(&Answers("Three."))),
    ]);
    fs::write(&path, log).unwrap();
    let (code, out, _) = doctor(home.path(), &["--format", "json"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(objects(&out, "session")[0]["resume"], "goes-on", "{out}");
}

#[test]
fn a_session_of_opencode_that_is_a_tree_of_files_is_healed_in_the_file_of_the_part() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join(".local/share/opencode");
    let write = |path: &str, text: &str| {
        let path = data.join("storage").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        age(&path);
    };
    write("session/p/ses_1.json", r#"{"id":"ses_1","projectID":"p"}"#);
    for (id, role) in [("msg_1", "assistant"), ("msg_2", "user")] {
        let info =
            format!("{{\n  \"id\": \"{id}\", \"sessionID\": \"ses_1\", \"role\": \"{role}\"\n}}");
        write(&format!("message/ses_1/{id}.json"), &info);
    }
    let call = "{\n  \"id\": \"prt_1\", \"type\": \"tool\", \"tool\": \"bash\", \"callID\": \"c1\",\n  \"state\": ";
    let open = r#"{"status":"running","input":{"a":1},"time":{"start":5}}"#;
    write("part/msg_1/prt_1.json", &format!("{call}{open}\n}}"));
    let said = r#"{"id":"prt_2","type":"text","text":"Go on."}"#;
    write("part/msg_2/prt_2.json", said);
    let before = files(&data);
    let (code, out, err) = doctor(home.path(), &["--in-place", "--unsafe"]);
    assert_eq!(code, 0, "{out}{err}");
    let mut after = files(&data);
    let export = after.remove(Path::new("ses_1.json.bak")).unwrap();
    assert!(export.starts_with(br#"{"info":{"id":"ses_1""#), "{out}");
    let part = Path::new("storage/part/msg_1/prt_1.json");
    let healed: Value = serde_json::from_slice(&after[part]).unwrap();
    assert_eq!(healed["state"]["status"], "error", "{healed}");
    after.insert(part.to_owned(), before[part].clone());
    assert_eq!(after, before);
    assert_eq!(doctor(home.path(), &[]).0, 0);
}

#[test]
fn arguments_are_repaired_in_the_rows_of_a_database_and_nothing_else_changes() {
    let broken = r#""{\"a\": 1,}""#;
    let text = |json: &str| Value::from(json).to_string();
    let cases = [
        (
            "hermes",
            ("messages", "tool_calls"),
            (r#""arguments":"{}""#, format!(r#""arguments":{broken}"#)),
            format!(r#""arguments":{}"#, text(r#"{"a": 1}"#)),
        ),
        (
            "goose",
            ("messages", "content_json"),
            (r#""arguments":{}"#, format!(r#""arguments":{broken}"#)),
            r#""arguments":{"a": 1}"#.to_owned(),
        ),
        (
            "opencode",
            ("part", "data"),
            (r#""input":{}"#, format!(r#""input":{{}},"raw":{broken}"#)),
            r#""input":{"a": 1},"raw":"""#.to_owned(),
        ),
        (
            "openclaw",
            ("transcript_events", "event_json"),
            (r#""arguments":{}"#, format!(r#""arguments":{broken}"#)),
            r#""arguments":{"a": 1}"#.to_owned(),
        ),
    ];
    for (agent, (table, column), (sound, broken), repaired) in cases {
        let (_, _, tables, insert, _) = DATABASES.iter().find(|it| it.0 == agent).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let database = Connection::open(&from).unwrap();
        database.execute_batch(tables).unwrap();
        insert(&database, "anna", Sound);
        insert(&database, "bert", Sound);
        let sql =
            format!("UPDATE {table} SET {column} = replace({column}, ?1, ?2) WHERE rowid < 4");
        database.execute(&sql, [sound, &broken]).unwrap();
        let columns = |path: &Path| -> Vec<Option<String>> {
            let database = Connection::open(path).unwrap();
            let sql = format!("SELECT {column} FROM {table} ORDER BY rowid");
            let mut rows = database.prepare(&sql).unwrap();
            let rows = rows.query_map([], |row| row.get(0)).unwrap();
            rows.collect::<Result<_, _>>().unwrap()
        };
        drop(database);
        let mut fix = Command::new(env!("CARGO_BIN_EXE_retake"));
        let output = fix.arg("fix").arg(&from).arg("-o").arg(&to).output();
        let output = output.unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("repair-arguments"), "{agent}: {err}");
        let before = columns(&from).into_iter();
        let expected = before.map(|text| text.map(|text| text.replace(&broken, &repaired)));
        assert_eq!(columns(&to), expected.collect::<Vec<_>>(), "{agent}: {err}");
    }
}

#[test]
fn a_last_line_that_was_not_written_to_its_end_is_cut_and_its_bytes_are_in_the_backup() {
    for (name, folder, sound) in [
        ("pi", ".pi/agent/sessions/--p--", linked_pi(Sound)),
        ("claude-code", ".claude/projects/-p", claude_code(Sound)),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(folder).join("s.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let torn = format!("{sound}{{\"type\":\"message\",\"id\":\"zz\",\"mess");
        fs::write(&path, &torn).unwrap();
        age(&path);
        let run = |more: &[&str]| doctor(home.path(), &[&["--format", "json"], more].concat());
        let (code, out, _) = run(&[]);
        let healing = &objects(&out, "healing")[0];
        assert_eq!((code, &healing["cut"]), (3, &33.into()), "{name}: {out}");
        assert_eq!(healing["healed"], 1, "{name}: {out}");
        assert_eq!(fs::read_to_string(&path).unwrap(), torn);
        let (_, text, _) = doctor(home.path(), &[]);
        assert!(
            text.contains("half-written last line: its agent was ended"),
            "{text}"
        );
        assert!(!text.contains("unreadable:"), "{text}");
        assert!(text.contains("\n--in-place heals 1 session"), "{text}");
        assert!(
            text.lines()
                .all(|line| !line.starts_with("agent ") || line.len() <= 80),
            "{text}"
        );
        let (code, out, _) = run(&["--in-place"]);
        assert_eq!(code, 0, "{name}: {out}");
        assert_eq!(fs::read_to_string(&path).unwrap(), sound, "{name}");
        let backup = path.with_file_name("s.jsonl.bak");
        assert_eq!(fs::read_to_string(backup).unwrap(), torn, "{name}");
        assert_eq!(run(&[]).0, 0, "{name}");
    }
}

#[test]
fn files_that_no_agent_can_load_are_reported() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-p");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("zeros.jsonl"), [0; 512]).unwrap();
    fs::write(folder.join("sound.jsonl"), claude_code(Sound)).unwrap();
    fs::write(home.path().join("other.db"), "no database").unwrap();
    let (code, out, err) = doctor(home.path(), &["--format", "json"]);
    assert_eq!(code, 3, "{out}");
    let unreadable = objects(&out, "unreadable");
    assert_eq!(unreadable.len(), 1, "{out}{err}");
    assert!(
        unreadable[0]["path"]
            .as_str()
            .unwrap()
            .ends_with("zeros.jsonl")
    );
}

#[test]
fn a_home_without_agents_and_files_that_are_named() {
    let empty = tempfile::tempdir().unwrap();
    let (code, out, err) = doctor(empty.path(), &[]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("no agent sessions found"), "{err}");
    let home = home();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
        let output = command
            .arg("doctor")
            .args(arguments)
            .current_dir(&home)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, out) = run(&[DATABASE]);
    assert_eq!(code, 1);
    assert!(
        out.contains("openai-agents") && out.contains("bert") && !out.contains("anna"),
        "{out}"
    );
    assert_eq!(run(&[DATABASE, "--in-place"]).0, 0);
    assert_eq!(run(&[DATABASE]).0, 0);
}

/// Kills the process once `count` backups are there, at the latest when it ends.
fn kill_at(mut child: Child, home: &Path, count: usize, pause: Duration) {
    let backups = || {
        let names = files(home).into_keys();
        names
            .filter(|name| name.to_string_lossy().contains(".bak"))
            .count()
    };
    while child.try_wait().unwrap().is_none() && (count > 0 && backups() < count) {
        std::thread::yield_now();
    }
    std::thread::sleep(pause);
    // It may be over already.
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_moment_each_file_is_as_before_or_healed_and_the_next_run_finishes() {
    let sound = home();
    let before = files(sound.path());
    doctor(sound.path(), &["--in-place"]);
    let healed = files(sound.path());
    let changed = before.keys().filter(|path| healed[*path] != before[*path]);
    assert_eq!(changed.count(), HEALED_FILES);
    for round in 0..=HEALED_FILES {
        let home = home();
        let home = home.path();
        // The database is made anew each time; its bytes are not.
        let before = files(home);
        let child = command(home, &["--in-place"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pause = Duration::from_micros((round as u64 % 5) * 900);
        kill_at(child, home, round, pause);
        let after = files(home);
        for (path, old) in &before {
            let new = &after[path];
            if new != old {
                assert_eq!(*new, healed[path], "round {round}: {}", path.display());
                let backup = PathBuf::from(format!("{}.bak", path.display()));
                assert_eq!(after[&backup], *old, "round {round}: {}", path.display());
            }
        }
        doctor(home, &["--in-place"]);
        let finished = files(home);
        for path in before.keys() {
            assert_eq!(
                finished[path],
                healed[path],
                "round {round}: {}",
                path.display()
            );
        }
    }
}
