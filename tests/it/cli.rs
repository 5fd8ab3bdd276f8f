//! The program as a process: exit codes, streams, the five reports, and what it says when it cannot read.

#![allow(clippy::unwrap_used, clippy::panic)]

use assert_cmd::Command;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
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

pub(super) fn retake() -> Command {
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
        std::fs::write(folder.path().join(name), text).unwrap();
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

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions")
}

#[test]
fn exit_codes_tell_clean_findings_usage_and_unreadable_apart() {
    let here = folder(&[
        ("story.json", STORY),
        ("clean.json", CLEAN),
        ("empty.json", ""),
    ]);
    std::fs::create_dir(here.path().join("bare")).unwrap();
    let table: &[(&[&str], i32)] = &[
        (&["check", "clean.json"], 0),
        (&["check", "story.json"], 0),
        (&["check", "story.json", "--fail-on", "warning"], 1),
        (&["check", "story.json", "--fail-on", "never"], 0),
        (&["check", "clean.json", "missing.json"], 3),
        (
            &[
                "check",
                "story.json",
                "missing.json",
                "--fail-on",
                "warning",
            ],
            3,
        ),
        (&["check", "missing.json"], 2),
        (&["check", "empty.json"], 2),
        (&["check", "bare"], 2),
        (&["check", "."], 0),
        (&["check"], 2),
        (&["check", "clean.json", "--format", "nonsense"], 2),
        (&["check", "clean.json", "--as", "nonsense"], 2),
        (&["check", "clean.json", "--tools", "missing.json"], 2),
        (&["show", "story.json"], 0),
        (&["show", "missing.json"], 2),
        (&["show", "."], 2),
        (&["explain"], 0),
        (&["explain", "unknown-tool"], 0),
        (&["explain", "no-such-rule"], 2),
        (&["completions", "zsh"], 0),
        (&["man"], 0),
        (&["--version"], 0),
        (&["--help"], 0),
        (&["chekc", "story.json"], 2),
        (&[], 2),
        (&["story.json"], 2),
    ];
    for (arguments, code) in table {
        let (found, out, err) = told(here.path(), arguments);
        assert_eq!(found, *code, "{arguments:?}\n{out}\n{err}");
    }
}

#[test]
fn the_report_for_people_is_as_reviewed() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let (_, out, err) = told(here.path(), &["check", "."]);
    insta::assert_snapshot!("check_text", out);
    assert_eq!(err, "");
}

#[test]
fn the_reports_for_ci_are_as_reviewed() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let report = |format| {
        told(
            here.path(),
            &[
                "check",
                "clean.json",
                "story.json",
                "--format",
                format,
                "--fail-on",
                "warning",
            ],
        )
        .1
    };
    insta::assert_snapshot!("check_github", report("github"));
    insta::assert_snapshot!("check_junit", report("junit"));
    insta::assert_snapshot!("check_json", report("json"));
}

#[test]
fn the_transcript_is_as_reviewed() {
    let here = folder(&[("story.json", STORY)]);
    insta::assert_snapshot!("show", told(here.path(), &["show", "story.json"]).1);
}

#[test]
fn sarif_is_a_log_with_rules_results_and_places() {
    let here = folder(&[
        ("a b.json", STORY),
        ("c.json", STORY),
        (
            "broken.jsonl",
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\n{\"role\":\"user\",\"content\":\"b\"}\n",
        ),
    ]);
    let (_, out, _) = told(here.path(), &["check", ".", "--format", "sarif"]);
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&out).unwrap();
    let run = &log.runs[0];
    let rules = run.tool.driver.rules.as_ref().unwrap();
    assert!(rules.iter().any(|rule| rule.id == "unknown-tool"));
    let uris = run
        .results
        .as_ref()
        .unwrap()
        .iter()
        .filter(|result| result.rule_id.as_deref() == Some("unknown-tool"))
        .map(|result| {
            let place = result.locations.as_ref().unwrap()[0]
                .physical_location
                .as_ref()
                .unwrap();
            let line = place.region.as_ref().unwrap().start_line.unwrap();
            (
                place
                    .artifact_location
                    .as_ref()
                    .unwrap()
                    .uri
                    .clone()
                    .unwrap(),
                line,
            )
        })
        .collect::<Vec<_>>();
    assert_eq!(
        uris,
        [("a%20b.json".to_owned(), 7), ("c.json".to_owned(), 7)]
    );
    let invocation = &run.invocations.as_ref().unwrap()[0];
    assert_eq!(
        invocation
            .tool_execution_notifications
            .as_ref()
            .unwrap()
            .len(),
        1
    );
    let (_, none, _) = told(here.path(), &["check", "missing.json", "--format", "sarif"]);
    serde_json::from_str::<serde_sarif::sarif::Sarif>(&none).unwrap();
}

/// The lines of `check --format json`, with nothing beside what the contract names.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[allow(dead_code, reason = "the fields are the contract")]
enum Line {
    Finding {
        path: String,
        session: String,
        turn: Option<u32>,
        item: Option<u32>,
        rule: String,
        severity: String,
        tool: Option<String>,
        call_id: Option<String>,
        message: String,
        pointer: Option<String>,
        cause: Option<String>,
        offers: Vec<Offer>,
    },
    Problem {
        path: String,
        line: Option<u64>,
        byte: u64,
        message: String,
    },
    Session {
        path: String,
        session: String,
        format: String,
        target: String,
        turns: usize,
        items: usize,
        calls: usize,
        outputs: usize,
        tools_known: bool,
        findings: BTreeMap<String, usize>,
        problems: usize,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the fields are the contract")]
struct Offer {
    action: String,
    safety: String,
}

#[test]
fn json_lines_keep_their_contract_and_sessions_count_what_stands_before_them() {
    let (_, out, _) = told(&sessions(), &["check", ".", "--format", "json"]);
    let (mut found, mut broken) = (BTreeMap::new(), 0);
    let mut names = Vec::new();
    for text in out.lines() {
        let keys = serde_json::from_str::<serde_json::Map<_, _>>(text)
            .unwrap()
            .len();
        match serde_json::from_str::<Line>(text).unwrap_or_else(|error| panic!("{error}: {text}")) {
            Line::Finding {
                rule,
                turn,
                item,
                severity,
                ..
            } => {
                assert_eq!(keys, 13, "absent values are null: {text}");
                assert!(turn != Some(0) && item != Some(0), "{text}");
                assert!(["info", "warning", "error"].contains(&severity.as_str()));
                *found.entry(rule).or_insert(0) += 1;
            }
            Line::Problem { line, .. } => {
                assert_eq!(keys, 5, "{text}");
                assert_ne!(line, Some(0));
                broken += 1;
            }
            Line::Session {
                path,
                session,
                findings,
                problems,
                ..
            } => {
                assert_eq!(keys, 12, "{text}");
                assert_eq!(
                    (findings, problems),
                    (std::mem::take(&mut found), broken),
                    "{text}"
                );
                broken = 0;
                names.push((path, session));
            }
        }
    }
    assert!(names.len() > 15);
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    let paths = names
        .iter()
        .map(|(path, _)| path.clone())
        .collect::<Vec<_>>();
    assert!(paths.is_sorted(), "{paths:?}");
}

#[test]
fn reports_come_in_the_order_of_the_arguments() {
    let names = (0..60)
        .map(|number| format!("{number}.json"))
        .collect::<Vec<_>>();
    let files = names
        .iter()
        .map(|name| (name.as_str(), STORY))
        .collect::<Vec<_>>();
    let here = folder(&files);
    let shuffled = names.iter().rev().map(String::as_str);
    let arguments = ["check", "--format", "github"]
        .into_iter()
        .chain(shuffled)
        .collect::<Vec<_>>();
    let (_, out, _) = told(here.path(), &arguments);
    let order = out
        .lines()
        .filter_map(|line| line.split_once("file=")?.1.split_once(','))
        .map(|(file, _)| file.to_owned())
        .collect::<Vec<_>>();
    assert_eq!(order, names.iter().rev().cloned().collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_read_is_one_clear_line() {
    let here = folder(&[
        ("empty.json", ""),
        ("prose.txt", "Dear diary, nothing happened.\n"),
    ]);
    std::fs::write(
        here.path().join("image.bin"),
        [0_u8, 1, 2, 3, 0xff, 0, 0, 9].repeat(50),
    )
    .unwrap();
    std::fs::create_dir(here.path().join("bare")).unwrap();
    let table = [
        (
            "missing.json",
            "retake: missing.json: no such file or folder\n",
        ),
        ("empty.json", "retake: empty.json: empty file\n"),
        (
            "image.bin",
            "retake: image.bin: a binary file, not a recording\n",
        ),
        (
            "/dev/null",
            "retake: /dev/null: a device, not a file; pipe it in and name it `-`\n",
        ),
    ];
    for (path, line) in table {
        assert_eq!(
            told(here.path(), &["check", path]),
            (2, "".to_owned(), line.to_owned())
        );
        assert_eq!(told(here.path(), &["show", path]).2, line);
    }
    for (path, line) in [
        (
            "prose.txt",
            "retake: prose.txt: format not recognised\n  hint: `--as FORMAT` forces one of ",
        ),
        (
            "bare",
            "retake: bare: no recorded session in this folder\n  hint: ",
        ),
    ] {
        let (_, _, err) = told(here.path(), &["check", path]);
        assert!(err.starts_with(line), "{err}");
        assert_eq!(err.lines().count(), 2);
    }
}

#[test]
fn a_folder_is_searched_and_what_is_no_recording_is_passed_over() {
    let here = folder(&[
        ("b.json", CLEAN),
        ("a.json", STORY),
        ("package.json", "{\"name\": \"x\"}"),
    ]);
    let (code, out, err) = told(here.path(), &["check", ".", "--fail-on", "warning"]);
    assert_eq!(code, 1);
    assert!(out.contains("in 2 sessions of 2 files"), "{out}");
    assert_eq!(
        err,
        "retake: skipped package.json: format not recognised\n"
    );
}

#[test]
fn standard_input_is_a_recording() {
    let output = retake()
        .args(["check", "-", "--format", "github"])
        .write_stdin(STORY)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.starts_with("::warning file=-,line=7,title=retake unknown-tool::"),
        "{out}"
    );
}

#[test]
fn tools_are_taken_from_the_option_or_from_the_file_beside() {
    let messages = &STORY[STORY.find("  \"messages\"").unwrap()..];
    let bare = format!("{{\"model\": \"x\",\n{messages}");
    let tools = r#"[{"name": "search_flights", "input_schema": {"type": "object"}}]"#;
    let here = folder(&[("run.json", &bare), ("tools.json", tools)]);
    let lines = |arguments: &[&str]| told(here.path(), arguments).1;
    assert!(lines(&["check", "run.json"]).contains("not recorded in this session"));
    assert!(
        lines(&["check", "run.json", "--tools", "tools.json"]).contains("nearest: search_flights")
    );
    std::fs::rename(
        here.path().join("tools.json"),
        here.path().join("run.json.tools.json"),
    )
    .unwrap();
    let out = lines(&["check", "run.json"]);
    assert!(
        out.contains("nearest: search_flights") && out.contains("tools from run.json.tools.json"),
        "{out}"
    );
}

#[test]
fn a_closed_pipe_is_quiet() {
    let line = STORY.lines().collect::<String>();
    let here = folder(&[("long.jsonl", &format!("{line}\n").repeat(3000))]);
    for arguments in [
        &["check", "--fail-on", "warning"][..],
        &["check", "--format", "json"],
        &["show"],
    ] {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_retake"))
            .args(arguments)
            .arg("long.jsonl")
            .current_dir(here.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        assert!(first.contains("long.jsonl"), "{first}");
        let mut complaints = String::new();
        process
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complaints)
            .unwrap();
        assert_eq!(complaints, "");
        assert!(process.wait().unwrap().code().is_some_and(|code| code < 2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_a_command_with_130() {
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(b"[").unwrap();
    let pid = rustix::process::Pid::from_child(&process);
    let catches_interrupts = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap()
            .trim();
        u64::from_str_radix(caught, 16).unwrap() & 2 != 0
    };
    for _ in 0..500 {
        if catches_interrupts() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(130));
}

#[test]
fn a_transcript_is_cut_to_a_turn_and_long_texts_to_their_beginning() {
    let long = format!(
        r#"[{{"role":"user","content":"{}"}},{{"role":"assistant","content":"yes"}}]"#,
        "word ".repeat(9000)
    );
    let here = folder(&[("long.json", &long)]);
    let show = |more: &[&str]| told(here.path(), &[&["show", "long.json"], more].concat()).1;
    let cut = show(&[]);
    assert!(
        cut.len() < 4000 && cut.contains("bytes more; --full shows them"),
        "{cut}"
    );
    assert!(show(&["--full"]).len() > 45_000);
    let turn = show(&["--turn", "2"]);
    assert!(turn.contains("yes") && !turn.contains("word"), "{turn}");
    assert!(
        told(here.path(), &["show", "long.json", "--turn", "3"])
            .2
            .contains("no turn 3")
    );
}

#[test]
fn a_session_is_chosen_by_name_or_number() {
    let line = STORY.lines().collect::<String>();
    let trajectory = format!("{{\"task_id\": \"seven\", \"traj\": {CLEAN}}}");
    let here = folder(&[
        (
            "many.jsonl",
            &format!("{trajectory}\n{}\n", trajectory.replace("seven", "nine")),
        ),
        ("one.jsonl", &line),
    ]);
    let names = told(here.path(), &["check", "many.jsonl", "--format", "json"]).1;
    let names = names
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["session"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect::<Vec<_>>();
    assert_eq!(names.len(), 2);
    for (name, number) in names.iter().zip(["1", "2"]) {
        let by_name = told(here.path(), &["show", "many.jsonl", "--session", name]);
        assert_eq!(by_name.0, 0);
        assert_eq!(
            by_name,
            told(here.path(), &["show", "many.jsonl", "--session", number])
        );
    }
    let (code, _, err) = told(here.path(), &["show", "many.jsonl", "--session", "none"]);
    assert!(
        code == 2 && err.contains("no session none") && err.contains(&names[1]),
        "{err}"
    );
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let here = folder(&[("story.json", STORY)]);
    for command in [
        &["check", "story.json"][..],
        &["show", "story.json"],
        &["explain", "unknown-tool"],
    ] {
        let plain = told(here.path(), command).1;
        assert!(!plain.contains('\u{1b}'));
        let coloured = told(here.path(), &[command, &["--color", "always"]].concat()).1;
        assert!(coloured.contains("\u{1b}["));
    }
}

#[test]
fn every_rule_has_its_page_and_a_near_name_is_offered() {
    let here = folder(&[]);
    let (_, list, _) = told(here.path(), &["explain"]);
    assert_eq!(list.lines().count(), retake::rules::RULES.len());
    for rule in retake::rules::RULES {
        assert!(list.contains(rule.id) && list.contains(rule.summary));
        let (code, page, _) = told(here.path(), &["explain", rule.id]);
        assert_eq!(code, 0);
        for heading in [
            "What it finds",
            "Why it matters",
            "Example",
            "What to do",
            "Limits",
        ] {
            assert!(page.contains(heading), "{page}");
        }
    }
    let (_, _, err) = told(here.path(), &["explain", "unknown_tol"]);
    assert_eq!(
        err,
        "retake: no rule is called unknown_tol\n  hint: did you mean unknown-tool?\n"
    );
}

#[test]
fn a_refusal_is_traced_by_its_call_id_or_by_its_place() {
    let here = folder(&[("story.json", STORY)]);
    let by_id = "No tool call found for function call output with call_id call_1.";
    let (code, out, _) = told(here.path(), &["explain", "--error", by_id, "story.json"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("story.json:9: turn 2, item 3: output call_1\n    named by its call id"),
        "{out}"
    );
    let by_place = r#"Error code: 400 - {'error': {'message': "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", 'type': 'invalid_request_error', 'param': 'messages[1].tool_calls[0].function.name', 'code': 'invalid_value'}}"#;
    let (_, out, _) = told(here.path(), &["explain", "--error", by_place, "story.json"]);
    assert!(out.contains("story.json:7: turn 2, item 2: call serch_flights call_1\n    at the place that the error names\n"), "{out}");
    assert!(
        out.contains("warning unknown-tool: serch_flights is not offered"),
        "{out}"
    );
}

#[test]
fn a_place_in_a_recording_that_is_no_request_is_an_estimate() {
    let messages = STORY[STORY.find('[').unwrap()..]
        .split_once("\"messages\": ")
        .unwrap()
        .1;
    let list = messages.trim_end().strip_suffix('}').unwrap();
    let here = folder(&[("list.json", list)]);
    let error = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. param: messages.[2].role";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "list.json"]);
    assert!(
        out.contains("item 3: output call_1") && out.contains("estimated"),
        "{out}"
    );
}

#[test]
fn a_refusal_may_come_from_standard_input_and_need_no_recording() {
    let text = "No tool output found for function call call_a.";
    let output = retake()
        .args(["explain", "--error", "-"])
        .write_stdin(text)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("call_a") && out.contains("name the recording"),
        "{out}"
    );
    let prose = retake()
        .args(["explain", "--error", "the weather is fine"])
        .output()
        .unwrap();
    assert_eq!(prose.status.code(), Some(2));
    let both = retake()
        .args(["explain", "--error", "-", "-"])
        .output()
        .unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn without_a_terminal_the_debugger_gives_help_on_stderr() {
    let here = folder(&[]);
    let (code, out, err) = told(here.path(), &[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("Usage: retake"));
    let (_, _, err) = told(here.path(), &["shwo"]);
    assert_eq!(
        err,
        "retake: shwo: no such file, folder or command\n  hint: did you mean `retake show`?\n"
    );
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let here = folder(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (_, script, _) = told(here.path(), &["completions", shell]);
        assert!(
            ["check", "show", "explain"]
                .iter()
                .all(|name| script.contains(name)),
            "{shell}"
        );
    }
    let (_, page, _) = told(here.path(), &["man"]);
    assert!(page.contains("RETAKE CHECK") && page.contains("fail\\-on"));
}
