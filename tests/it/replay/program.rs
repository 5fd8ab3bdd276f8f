//! `retake replay` as a process: its lines, its agent, its exit codes.

use super::client::{DIALECTS, ask, recording, request};
use retake_core::session::takes::Take;
use retake_core::session::{Dialect, Edit, Patch};
use retake_live::takes::wall_clock;
use retake_live::{ReadOptions, TakeStore, read_path};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with the recording.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.json"), recording().to_string()).unwrap();
    folder
}

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("HOME", folder)
        .env_remove("OPENAI_API_KEY")
        .arg("replay")
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Exit code, stdout and stderr.
fn told(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = program(folder, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A replay that waits for requests.
struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = program(folder, arguments);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Interrupts it, and gives its exit code, its last lines and its stderr.
    fn end(mut self) -> (Option<i32>, Vec<String>, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        let lines = self.lines.by_ref().map(Result::unwrap).collect();
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        (self.child.wait().unwrap().code(), lines, stderr)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // One that was waited for is gone.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

#[test]
fn its_first_line_is_the_address_and_each_request_is_a_line() {
    let folder = folder();
    let mut serving = Serving::start(folder.path(), &["run.json"]);
    let address = serving.line();
    let address = address.strip_prefix("http://").unwrap().parse().unwrap();
    let (dialect, path) = DIALECTS[0];
    let ask = |turn, city| {
        ask(
            address,
            "POST",
            path,
            &request(dialect, turn, city, true).to_string(),
        )
    };
    assert_eq!(ask(3, "Bern").status, 200);
    assert_eq!(serving.line(), "turn 3  responses, streamed");
    assert_eq!(ask(3, "Rome").status, 400);
    let refused = "refused  responses: the request differs from every recorded history; the nearest is that of turn 3, where";
    assert_eq!(serving.line(), refused);
    assert_eq!(serving.line(), "  item 2, user: … it in [-Bern-]{+Rome+}?");
    let (code, lines, stderr) = serving.end();
    assert_eq!(code, Some(130));
    assert_eq!(
        lines,
        [
            "1 request served, 1 refused",
            "not requested: turn 4, turn 6"
        ]
    );
    assert!(
        stderr.contains("export OPENAI_BASE_URL=http://"),
        "{stderr}"
    );
}

#[test]
fn as_json_each_line_is_an_object() {
    let folder = folder();
    let mut serving = Serving::start(
        folder.path(),
        &["run.json", "--lenient", "--format", "json"],
    );
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let first = parse(&serving.line());
    assert_eq!(
        (&first["type"], &first["turns"]),
        (&"listening".into(), &3.into())
    );
    let address = first["address"].as_str().unwrap();
    let address = address.strip_prefix("http://").unwrap().parse().unwrap();
    let request = request(Dialect::Chat, 4, "Rome", false).to_string();
    assert_eq!(ask(address, "POST", DIALECTS[1].1, &request).status, 200);
    let served = parse(&serving.line());
    assert_eq!(served["type"], "served");
    assert_eq!(
        (&served["session"], &served["turn"]),
        (&1.into(), &4.into())
    );
    assert_eq!(served["lenient"], true);
    let difference = &served["differences"][0];
    assert_eq!(
        (&difference["item"], &difference["kind"]),
        (&2.into(), &"user".into())
    );
    let (code, lines, _) = serving.end();
    let end = parse(&lines[0]);
    assert_eq!(
        (code, &end["why"], &end["served"]),
        (Some(130), &"signal".into(), &1.into())
    );
    assert_eq!(end["never"].as_array().unwrap().len(), 2);
}

/// An agent that asks for one turn and prints the status of the reply; bash has sockets.
fn agent(request: &Value) -> String {
    let body = request.to_string();
    let length = body.len();
    format!(
        "host=${{OPENAI_BASE_URL#http://}}; host=${{host%/v1}}; exec 3<>/dev/tcp/${{host%:*}}/${{host#*:}}; \
         printf 'POST /v1/chat/completions HTTP/1.0\\r\\nhost: %s\\r\\ncontent-length: {length}\\r\\n\\r\\n%s' \"$host\" '{}' >&3; \
         head -c 12 <&3; echo; cat <&3 >/dev/null; echo \"key $OPENAI_API_KEY\"",
        body.replace('\'', "'\\''")
    )
}

#[test]
fn an_agent_is_started_pointed_at_it_and_how_it_went_is_the_exit_code() {
    let folder = folder();
    let run = |script: &str| told(folder.path(), &["run.json", "--", "bash", "-c", script]);
    let good = agent(&request(Dialect::Chat, 3, "Bern", false));
    let (code, stdout, stderr) = run(&good);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let lines = stdout.lines().skip(1).collect::<Vec<_>>();
    assert!(lines.contains(&"turn 3  chat, whole"), "{stdout}");
    assert!(
        lines.contains(&"| HTTP/1.0 200") && lines.contains(&"| key retake-placeholder"),
        "{stdout}"
    );
    assert!(lines.contains(&"not requested: turn 4, turn 6"), "{stdout}");
    let (code, stdout, _) = run(&agent(&request(Dialect::Chat, 3, "Rome", false)));
    assert_eq!(code, 1, "{stdout}");
    let (code, stdout, _) = run(&format!("{good}; exit 3"));
    assert_eq!(code, 4, "{stdout}");
    let (code, _, stderr) = told(folder.path(), &["run.json", "--", "/nonexistent/agent"]);
    assert!(
        code == 2 && stderr.contains("cannot be started"),
        "{stderr}"
    );
}

#[test]
fn a_take_is_served_instead_of_the_recording() {
    let folder = folder();
    let path = folder.path().join("run.json");
    let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
    let session = recording.sessions[0].clone();
    let root = folder.path().join("state");
    let (mut workbench, _) = TakeStore::open(recording, Some(&path), Some(&root), wall_clock);
    let item = session.items.len() - 1;
    let text = String::from_utf8(session.bytes(&session.items[item]).unwrap()).unwrap();
    let at = text.find("Gladly").unwrap();
    let edit = Edit::Rewrite {
        item: item as u32,
        patches: vec![Patch {
            at: at..at + "Gladly".len(),
            with: b"Any time".to_vec(),
        }],
    };
    workbench
        .take(0, &session, &[edit], Take::default())
        .unwrap();
    assert!(workbench.not_recording().is_none());
    for (option, wanted) in [
        (&["--takes"][..], true),
        (&["--take", "1"], true),
        (&[], false),
    ] {
        let arguments = [&["run.json"], option].concat();
        let mut serving = Serving::start(folder.path(), &arguments);
        let address = serving.line();
        let address = address.strip_prefix("http://").unwrap().parse().unwrap();
        let request = request(Dialect::Chat, 6, "Bern", false).to_string();
        let reply = ask(address, "POST", DIALECTS[1].1, &request);
        assert_eq!(
            reply.body.contains("Any time."),
            wanted,
            "{option:?}: {}",
            reply.body
        );
    }
    let (code, _, stderr) = told(folder.path(), &["run.json", "--take", "9"]);
    assert!(
        code == 2 && stderr.contains("there is no take 9"),
        "{stderr}"
    );
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = folder();
    std::fs::write(
        folder.path().join("mute.json"),
        r#"[{"role":"user","content":"hi"}]"#,
    )
    .unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let (code, stdout, stderr) = told(folder.path(), arguments);
        assert!(
            code == 2 && stdout.is_empty() && stderr.contains(words),
            "{stderr}"
        );
    };
    refused(&["mute.json"], "has no model reply");
    refused(&["none.json"], "none.json");
    refused(&["run.json", "--session", "2"], "there is no session 2");
    refused(&["run.json", "--listen", "0.0.0.0:0"], "loopback");
}
