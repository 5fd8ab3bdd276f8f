//! The program itself: an agent that is started anew for each fault, and the report.
#![allow(clippy::print_stderr)]

use crate::proxy::speech::{Agent, GOOD, http, turn};
use crate::proxy::stage::PATIENCE;
use crate::proxy_wire::client::{Client, Got};
use crate::proxy_wire::fake::Fake;
use retake_core::chaos::FAULTS;
use retake_core::session::Dialect;
use retake_core::wire::stream::{Splitter, event_value, rejoin};
use retake_core::wire::write::history_of;
use retake_live::{ReadOptions, read_path};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// What the agent below is like; without it that is no agent but an empty test.
const NATURE: &str = "RETAKE_TEST_CHAOS_AGENT";
const NUDGE: &str = "Call the tool, or answer as JSON.";
const DONE: &str = r#"{"answer": "It is warm."}"#;

/// A model that calls a tool, and answers once it has the output.
fn model() -> Fake {
    Fake::start(|arrived, stream| {
        let body: Value = serde_json::from_slice(&arrived.body).unwrap();
        let mut messages = body["messages"].as_array().unwrap().iter();
        let reply = match messages.any(|message| message["content"] == "12 degrees") {
            true => turn("2", DONE, &[]),
            false => turn("1", "I look it up.", &[GOOD]),
        };
        let reply = http(Dialect::Chat, true, &reply);
        stream.write_all(&reply).is_ok()
    })
}

/// The agent that campaigns start: this test in a process of its own.
#[test]
fn an_agent() {
    let Ok(nature) = std::env::var(NATURE) else {
        return;
    };
    let base = std::env::var("OPENAI_BASE_URL").unwrap();
    let address = base.trim_start_matches("http://").trim_end_matches("/v1");
    let mut agent = Agent::new((Dialect::Chat, true));
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": false});
    agent.members = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}});
    if nature == "failing" {
        fail("SetupError: there is no config");
    }
    for _ in 0..8 {
        let got = ask(address, &agent);
        match step(&mut agent, &got) {
            Ok(true) if nature == "chatty" => next_question(&mut agent),
            Ok(true) => std::process::exit(0),
            Ok(false) => {}
            Err(why) if nature == "naive" => fail(&why),
            Err(_) if nature == "stubborn" => loop {
                std::thread::park();
            },
            Err(_) => {}
        }
        if nature == "lax" {
            let tools = agent.history.iter_mut();
            for output in tools.filter(|message| message["role"] == "tool") {
                output["content"] = "12 degrees".into();
            }
        }
        let last = agent.history.last();
        let is_text = last.is_some_and(|last| last["role"] == "user" && last["content"] == NUDGE);
        match &*nature {
            // These take any text for an answer.
            "naive" if is_text => std::process::exit(0),
            "chatty" if is_text => {
                agent.history.pop();
                next_question(&mut agent);
            }
            "checking" if is_text => fail("OutputError: that is not an answer"),
            _ => {}
        }
    }
    fail("MaxTurnsExceeded: 8");
}

/// Asks one more question in the same conversation, and no third.
fn next_question(agent: &mut Agent) {
    let next = json!({"role": "user", "content": "And tomorrow?"});
    if agent.history.contains(&next) {
        std::process::exit(0);
    }
    agent.history.push(next);
}

fn fail(why: &str) -> ! {
    eprintln!("Traceback (most recent call last):\n{why}");
    std::process::exit(1);
}

fn ask(address: &str, agent: &Agent) -> Got {
    let body = agent.request();
    let mut client = Client::connect(address.parse().unwrap());
    client.send(format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    client.receive_any(PATIENCE)
}

/// Takes a reply into the history and answers its calls; whether it ends the run, or why it was a bad one.
fn step(agent: &mut Agent, got: &Got) -> Result<bool, String> {
    if got.status != Some(200) {
        return Err(format!("ApiError: status {:?}", got.status));
    }
    if !got.is_whole {
        return Err("StreamError: it was cut".to_owned());
    }
    let (mut reply, mut splitter) = (Dialect::Chat.codec().decoder(), Splitter::default());
    splitter.push(&got.body, |event| {
        if let Some(value) = event_value(&event.data) {
            reply.push(&value);
        }
    });
    let reply = reply.finish().json;
    let message = history_of(Dialect::Chat, &rejoin(&reply))
        .unwrap()
        .remove(0);
    let message: Value = serde_json::from_str(&message).unwrap();
    agent.history.push(message.clone());
    let calls = message["tool_calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if calls.is_empty() {
        let said: Option<BTreeMap<String, String>> =
            serde_json::from_str(message["content"].as_str().unwrap_or_default()).ok();
        if said.is_some_and(|said| said.keys().eq(["answer"])) {
            return Ok(true);
        }
        let again = json!({"role": "user", "content": NUDGE});
        agent.history.push(again);
        return Ok(false);
    }
    let mut ids = Vec::new();
    let mut wrong = None;
    for call in &calls {
        let (id, function) = (call["id"].as_str().unwrap(), &call["function"]);
        let arguments: Option<BTreeMap<String, String>> =
            serde_json::from_str(function["arguments"].as_str().unwrap()).ok();
        let why = if function["name"] != "search" {
            Some(format!(
                "ModelBehaviorError: Tool {} not found",
                function["name"]
            ))
        } else if arguments.is_none_or(|arguments| !arguments.keys().eq(["city"])) {
            Some("ModelBehaviorError: Invalid JSON input for tool search".to_owned())
        } else if ids.contains(&id) {
            Some("ValueError: an id twice".to_owned())
        } else {
            None
        };
        ids.push(id);
        let output = why.as_ref().map_or("12 degrees", |why| why);
        agent
            .history
            .push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        wrong = wrong.or(why);
    }
    wrong.map_or(Ok(false), Err)
}

/// What a campaign over the agent of this nature prints.
fn campaign(folder: &Path, nature: &str, upstream: &str, spec: &str, more: &[&str]) -> Output {
    std::fs::write(folder.join("chaos.toml"), spec).unwrap();
    Command::new(env!("CARGO_BIN_EXE_retake"))
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("HOME", folder)
        .env(NATURE, nature)
        .args(["proxy", "--chaos", "chaos.toml", "--upstream", upstream])
        .args(["--listen", "127.0.0.1:0", "--journal", "journals"])
        .args(more)
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "proxy::chaos::campaign::an_agent", "--nocapture"])
        .output()
        .unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Each fault with what became of the agent.
fn outcomes(lines: &[Value]) -> BTreeMap<&str, &str> {
    let trials = lines.iter().filter(|line| line["type"] == "trial");
    let of = trials.map(|line| {
        (
            line["fault"].as_str().unwrap(),
            line["outcome"].as_str().unwrap(),
        )
    });
    of.collect()
}

const ALL: &str = "seed = 3\n[slow]\npause = \"1ms\"\n";

#[test]
fn an_agent_that_handles_everything_survives_everything_twice_in_the_same_way() {
    let model = model();
    let runs = [0; 2].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        let output = campaign(
            folder.path(),
            "careful",
            &model.url(),
            ALL,
            &["--format", "json"],
        );
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}");
        let lines = lines(&output);
        let outcomes = outcomes(&lines);
        assert_eq!(outcomes.len(), FAULTS.len());
        assert!(
            outcomes.values().all(|outcome| *outcome == "survived"),
            "{outcomes:?}"
        );
        for line in lines.iter().filter(|line| line["type"] == "trial") {
            // It answers both calls under the id that they share.
            let is_refused = line["fault"] == "duplicate-call-id";
            let wanted = is_refused.then_some("duplicate-call-id");
            assert_eq!(line["refused_by"], json!(wanted), "{line}");
        }
        for line in lines.iter().filter(|line| line["journal"].is_string()) {
            let journal = folder
                .path()
                .join("journals")
                .join(line["journal"].as_str().unwrap());
            let recording = read_path(&journal, &ReadOptions::default()).unwrap();
            assert!(!recording.sessions.is_empty(), "{line}");
        }
        told
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn an_agent_that_handles_nothing_is_killed_by_what_it_notices_and_the_report_says_how() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let output = campaign(
        folder.path(),
        "naive",
        &model.url(),
        ALL,
        &["--format", "json"],
    );
    assert_eq!(output.status.code(), Some(1));
    let lines = lines(&output);
    for (fault, outcome) in outcomes(&lines) {
        let wanted = match fault {
            "call-as-text" | "empty-final-output" | "wrong-final-output" => "unnoticed",
            "slow-stream" => "survived",
            _ => "killed",
        };
        assert_eq!(outcome, wanted, "{fault}");
    }
    let far = lines
        .iter()
        .find(|line| line["fault"] == "unknown-tool-far")
        .unwrap();
    let error = far["error"].as_str().unwrap();
    assert!(error.starts_with("ModelBehaviorError: Tool "), "{far}");
    assert_eq!(
        (&far["exit"], &far["at"], &far["how"]),
        (&json!(1), &json!(1), &Value::Null)
    );
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["survived"], &last["killed"], &last["unnoticed"]),
        (&json!(1), &json!(10), &json!(3))
    );
}

#[test]
fn the_report_for_people_is_a_table_with_what_ended_the_agent_below_each_fault() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec =
        "faults = [\"unknown-tool-near\", \"http-503\", \"empty-final-output\"]\nturns = [1]\n";
    let output = campaign(folder.path(), "naive", &model.url(), spec, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "without a fault the agent ends well (2 requests)",
        "fault                survived  killed  hung  unnoticed  not reached\n",
        "unknown-tool-near           ·       1     ·          ·            ·\n  killed at turn 1, ends with code 1: ModelBehaviorError: Tool ",
        "  expected: tells the model which tools there are, and goes on\n",
        "  not reached (turn 1): it does not fit turn 1: the reply does not end the run\n    02-empty-final-output-1-1.jsonl\n",
        "\n3 trials: 0 survived, 2 killed, 0 hung, 0 unnoticed, 1 not reached\n",
    ] {
        assert!(text.contains(words), "{words}\nis not in\n{text}");
    }
}

#[test]
fn an_agent_that_does_not_end_is_ended_and_hung() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"http-500\"]\ntimeout = \"10s\"\n";
    let output = campaign(
        folder.path(),
        "stubborn",
        &model.url(),
        spec,
        &["--format", "json"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        outcomes(&lines(&output)),
        BTreeMap::from([("http-500", "hung")])
    );
}

#[test]
fn without_a_sound_run_before_it_nothing_is_tried() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let output = campaign(
        folder.path(),
        "failing",
        &model.url(),
        ALL,
        &["--format", "json"],
    );
    assert_eq!(output.status.code(), Some(4));
    let told = lines(&output);
    assert_eq!((told.len(), &told[0]["is_sound"]), (2, &json!(false)));
    assert_eq!(told[0]["error"], "SetupError: there is no config");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let url = format!("http://{address}");
    let other = tempfile::tempdir().unwrap();
    let output = campaign(other.path(), "careful", &url, ALL, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(4));
    let told = lines(&output);
    let why = told[1]["broken_off"].as_str().unwrap();
    assert!(why.starts_with("no reply from the upstream"), "{why}");
}

#[test]
fn a_campaign_that_reaches_no_fault_proves_nothing() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"http-500\"]\nturns = [9]\n";
    let output = campaign(folder.path(), "careful", &model.url(), spec, &[]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("no fault was reached"), "{complaint}");
}

#[test]
fn a_turn_of_the_spec_that_no_conversation_comes_to_is_said_and_no_success() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"http-500\"]\nturns = [1, 9]\n";
    let json = ["--format", "json"];
    let output = campaign(folder.path(), "careful", &model.url(), spec, &json);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains("no fault was reached at turn 9"),
        "{complaint}"
    );
    let lines = lines(&output);
    assert_eq!(lines.last().unwrap()["turns_not_reached"], json!(["9"]));
    let missed = lines.iter().find(|line| line["outcome"] == "not-reached");
    let why = &missed.unwrap()["why_not_reached"];
    assert_eq!(why, "the conversation ended at turn 2");
}

#[test]
fn the_next_question_of_its_user_saves_no_agent_that_took_a_fault_for_an_answer() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"call-as-text\", \"empty-final-output\", \"http-500\"]\n";
    let json = ["--format", "json"];
    let output = campaign(folder.path(), "chatty", &model.url(), spec, &json);
    let lines = lines(&output);
    assert_eq!(lines[0]["requests"], 3, "{lines:?}");
    let wanted = [
        ("call-as-text", "unnoticed"),
        ("empty-final-output", "unnoticed"),
        ("http-500", "survived"),
    ];
    assert_eq!(outcomes(&lines), BTreeMap::from(wanted), "{lines:?}");
}

#[test]
fn an_agent_that_answers_a_broken_call_like_any_other_has_not_noticed_it() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"unknown-tool-far\", \"schema-break\", \"http-500\"]\n";
    let output = campaign(folder.path(), "lax", &model.url(), spec, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = "unnoticed at turn 1, sent an output without an error back, 1 request after it\n";
    assert_eq!(text.matches(line).count(), 2, "{text}");
    let counts = "3 trials: 1 survived, 0 killed, 0 hung, 2 unnoticed, 0 not reached\n";
    assert!(text.contains(counts), "{text}");
}

#[test]
fn an_agent_that_ends_with_an_error_over_a_bad_final_output_survives_and_shows_it() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"empty-final-output\", \"wrong-final-output\"]\n";
    let output = campaign(folder.path(), "checking", &model.url(), spec, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let line = "survived at turn 2, ends with code 1: OutputError: that is not an answer";
    assert_eq!(text.matches(line).count(), 2, "{text}");
}

#[test]
fn a_spec_that_is_wrong_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let spec = "seed = 1\nfaults = [\"unknown-tool\"]\n";
    let output = campaign(folder.path(), "careful", "http://127.0.0.1:9", spec, &[]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains(
            "chaos.toml:2: each of `faults` is the name of a fault, not \"unknown-tool\""
        ),
        "{complaint}"
    );
}

#[test]
fn journals_of_another_campaign_are_not_mixed_with_new_ones() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let spec = "faults = [\"http-500\"]\n";
    let first = campaign(folder.path(), "careful", &model.url(), spec, &[]);
    assert_eq!(first.status.code(), Some(0));
    let second = campaign(folder.path(), "careful", &model.url(), spec, &[]);
    assert_eq!(second.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&second.stderr);
    assert!(
        complaint.contains("journals holds another campaign"),
        "{complaint}"
    );
}

#[test]
fn a_recording_is_the_model_behind_the_faults() {
    let folder = tempfile::tempdir().unwrap();
    let call = json!({"id": GOOD.0, "type": "function", "function": {"name": GOOD.1, "arguments": GOOD.2}});
    let recording = json!({"model": "m", "messages": [
        {"role": "user", "content": "Where is it warm?"},
        {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": GOOD.0, "content": "12 degrees"},
        {"role": "assistant", "content": DONE},
    ]});
    std::fs::write(folder.path().join("recording.json"), recording.to_string()).unwrap();
    std::fs::write(
        folder.path().join("chaos.toml"),
        "faults = [\"unknown-tool-far\", \"http-500\"]\n",
    )
    .unwrap();
    let of = |nature: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_retake"))
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env(NATURE, nature)
            .args([
                "replay",
                "recording.json",
                "--chaos",
                "chaos.toml",
                "--format",
                "json",
                "--journal",
                nature,
                "--",
            ])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "proxy::chaos::campaign::an_agent", "--nocapture"])
            .output()
            .unwrap();
        (output.status.code(), lines(&output))
    };
    let (code, told) = of("careful");
    assert_eq!(code, Some(0), "{told:?}");
    assert_eq!(outcomes(&told).len(), 2);
    let (code, told) = of("naive");
    assert_eq!(code, Some(1), "{told:?}");
    assert!(
        outcomes(&told).values().all(|outcome| *outcome == "killed"),
        "{told:?}"
    );
}
