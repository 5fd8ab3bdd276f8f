//! Servers that work, and servers that go wrong: the rows E10 to E16 of the faults that a live run has to stand.

use super::*;
use std::sync::Mutex as Shared;

const SCRIPT: &str = include_str!("tests/server.py");

struct Story {
    server: Arc<Server>,
    heard: Arc<Shared<Vec<String>>>,
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

/// A story with a server that goes wrong like this; `None` where there is no Python to run it.
fn story(how: &str) -> Option<Story> {
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        eprintln!("skipped: the server of this test is a Python program, and there is no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.py");
    std::fs::write(&script, SCRIPT).unwrap();
    let environment = ["PATH", "HOME"].into_iter();
    let environment =
        environment.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let spec = ServerSpec {
        name: "test".to_owned(),
        reach: McpReach::Command {
            command: vec![
                "python3".to_owned(),
                text(&script),
                how.to_owned(),
                text(&folder.path().join("mark")),
            ],
            folder: None,
            environment: environment.collect(),
        },
        timeout: Duration::from_secs(20),
        only: None,
    };
    let heard: Arc<Shared<Vec<String>>> = Arc::default();
    let hears = heard.clone();
    let listener: Listener = Arc::new(move |_, line| hears.lock().unwrap().push(line.to_owned()));
    Some(Story {
        server: Arc::new(Server::new(spec, listener)),
        heard,
        folder,
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap(),
    })
}

impl Story {
    fn within(self, seconds: u64) -> Self {
        let mut server = Arc::into_inner(self.server).unwrap();
        server.spec.timeout = Duration::from_secs(seconds);
        Self {
            server: Arc::new(server),
            ..self
        }
    }

    fn call(&self, tool: &str) -> CallOutcome {
        let cancel = CancellationToken::new();
        let call = self.server.call(tool, r#"{"words":"hi"}"#, &cancel);
        self.runtime.block_on(call)
    }

    fn list(&self) -> Result<Listing, ServerFault> {
        self.runtime.block_on(self.server.list())
    }
}

fn told(outcome: &CallOutcome) -> (&str, Option<CallFailure>) {
    (&outcome.output, outcome.failure)
}

#[test]
fn a_tool_is_listed_and_called() {
    let Some(story) = story("well") else { return };
    let names: Vec<_> = story
        .list()
        .unwrap()
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["say", "fail"]);
    assert_eq!(told(&story.call("say")), ("said hi", None));
    let failed = story.call("fail");
    assert!(failed.is_error);
    assert_eq!(
        told(&failed),
        (
            "the tool reported an error without saying which",
            Some(CallFailure::Reported)
        )
    );
}

#[test]
fn e9_a_server_has_its_own_session_and_no_variable_that_it_was_not_given() {
    let Some(story) = story("environment") else {
        return;
    };
    let said = story.call("say").output;
    // The shim of a version switcher may add its own; what cargo gives to this test is not there.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(said.contains("PATH") && !said.contains("CARGO"), "{said}");
    assert!(said.ends_with("session True"), "{said}");
}

#[test]
fn e10_a_server_that_dies_is_told_and_started_again_three_times() {
    for how in ["die-at-start", "die-at-hello"] {
        let Some(story) = story(how) else { return };
        assert!(
            matches!(story.list(), Err(ServerFault::Refused(_))),
            "{how}"
        );
        for _ in 0..RESTARTS {
            assert_eq!(
                story.call("say").failure,
                Some(CallFailure::Connection),
                "{how}"
            );
        }
        assert_eq!(story.list(), Err(ServerFault::GoneTooOften));
    }
}

#[test]
fn e10_a_call_under_which_the_server_dies_ends_once_and_the_next_one_finds_a_new_server() {
    let Some(story) = story("die-once") else {
        return;
    };
    let lost = story.call("say");
    assert!(
        lost.is_error && lost.output.contains("may or may not have done its work"),
        "{lost:?}"
    );
    // What may have been done is not tried again by itself.
    assert_eq!(lost.failure, Some(CallFailure::Unknown));
    assert!(story.folder.path().join("mark").exists());
    assert_eq!(told(&story.call("say")), ("said hi", None));
}

#[test]
fn e11_a_server_that_hangs_costs_its_time_limit_and_the_late_reply_reaches_nobody() {
    let Some(story) = story("hang-in-call") else {
        return;
    };
    let story = story.within(1);
    let outcome = story.call("say");
    assert_eq!(
        told(&outcome),
        (
            "the tool gave no answer within 1 s",
            Some(CallFailure::Timeout)
        )
    );
}

#[test]
fn e11_the_operator_can_stop_a_call() {
    let Some(story) = story("hang-in-call") else {
        return;
    };
    let cancel = CancellationToken::new();
    let outcome = story.runtime.block_on(async {
        story.server.list().await.unwrap();
        let (server, token) = (story.server.clone(), cancel.clone());
        let call = tokio::spawn(async move { server.call("say", "{}", &token).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
        call.await.unwrap()
    });
    assert_eq!(
        told(&outcome),
        ("stopped by the operator", Some(CallFailure::Stopped))
    );
}

#[test]
fn e12_lines_that_are_no_messages_are_passed_over() {
    for how in ["garbage", "flood"] {
        let Some(story) = story(how) else { return };
        assert_eq!(told(&story.call("say")), ("said hi", None), "{how}");
    }
}

#[test]
fn e13_replies_to_others_requests_to_us_and_second_replies_change_nothing() {
    let Some(story) = story("abuse") else { return };
    for _ in 0..3 {
        assert_eq!(told(&story.call("say")), ("said hi", None));
    }
}

#[test]
fn e14_standard_error_is_read_to_its_end_and_told_in_part() {
    let Some(story) = story("stderr") else { return };
    assert_eq!(told(&story.call("say")), ("said hi", None));
    story.runtime.block_on(async {
        for _ in 0..200 {
            let is_done = story
                .heard
                .lock()
                .unwrap()
                .iter()
                .any(|line| line.contains("left out"));
            if is_done {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let heard = story.heard.lock().unwrap();
    assert_eq!(heard.len(), 201, "{:?}", heard.last());
    assert!(heard.iter().all(|line| line.len() <= 500));
}

#[test]
fn e15_ten_thousand_tools_and_names_that_nobody_takes() {
    let Some(many) = story("many") else { return };
    let listing = many.list().unwrap();
    assert_eq!(listing.tools.len(), 1000);
    assert_eq!(
        listing.notes.first().map(String::as_str),
        Some("only the first 1000 tools are taken over")
    );
    let Some(odd) = story("names") else { return };
    let listing = odd.list().unwrap();
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(listing.notes.len(), 4);
    assert!(listing.notes.iter().all(|note| !note.contains('\x1b')));
}

#[test]
fn a_tool_whose_definition_cannot_be_read_is_left_out_and_the_others_stay() {
    let Some(story) = story("schemas") else {
        return;
    };
    let listing = story.list().unwrap();
    let names = listing.tools.iter().map(|tool| &*tool.name);
    assert_eq!(names.collect::<Vec<_>>(), ["good", "circle", "last"]);
    assert_eq!(listing.notes.len(), 4, "{:?}", listing.notes);
    for (note, name) in listing
        .notes
        .iter()
        .zip(["null", "list", "a tool", "a tool"])
    {
        let begins = note.starts_with(&format!("{name} "));
        assert!(begins && note.contains("left out"), "{note}");
    }
}

#[test]
fn e16_pictures_values_and_long_answers_are_told_in_text() {
    let Some(picture) = story("picture") else {
        return;
    };
    assert_eq!(
        picture.call("say").output,
        "here\n[image, image/png, 3 bytes, not shown to the model]"
    );
    let Some(structured) = story("structured") else {
        return;
    };
    assert_eq!(structured.call("say").output, r#"{"n":1}"#);
    let Some(long) = story("long") else { return };
    let output = long.call("say").output;
    assert!(output.len() < 140_000 && output.contains("bytes dropped"));
}

#[test]
fn a_server_that_does_not_end_is_ended() {
    let Some(story) = story("stays") else { return };
    story.list().unwrap();
    let began = Instant::now();
    story.runtime.block_on(story.server.stop());
    assert!(began.elapsed() < Duration::from_secs(30));
}
