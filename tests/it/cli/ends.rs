//! How commands end: exit codes, what they say when they cannot read, closed pipes, interrupts, missing terminals.

use super::{CLEAN, STORY, folder, told};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

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
        (&["check"], 0),
        (&["check", "clean.json", "--format", "nonsense"], 2),
        (&["check", "clean.json", "--as", "nonsense"], 2),
        (&["check", "clean.json", "--tools", "missing.json"], 2),
        (&["show", "story.json"], 0),
        (&["show", "missing.json"], 2),
        (&["show", "."], 2),
        (&["convert", "story.json", "--to", "anthropic"], 0),
        (&["convert", "story.json"], 2),
        (&["convert", "story.json", "--to", "gemini"], 0),
        (&["convert", "missing.json", "--to", "chat"], 2),
        (&["convert", ".", "--to", "chat"], 2),
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
    for command in ["fix", "takes"] {
        let line = format!("retake: bare: a folder; `retake {command}` takes one recording\n");
        assert_eq!(told(here.path(), &[command, "bare"]).2, line);
    }
    let (code, _, err) = told(here.path(), &["fix", "prose.txt", "image.bin"]);
    assert_eq!(code, 2);
    assert!(err.contains("`retake fix` takes one file"), "{err}");
    for (path, line) in [
        (
            "prose.txt",
            "retake: prose.txt: format not recognised\n  hint: `retake help formats` lists what retake reads; ",
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
    assert_eq!(err, "retake: skipped package.json: format not recognised\n");
}

#[test]
fn a_long_list_of_tools_in_a_folder_is_named_as_one_and_passed_over() {
    let long = "What it is for. ".repeat(400);
    let tool = json!({"name": "find it!", "description": long, "input_schema": {"type": "object"}});
    let tools = json!({"tools": vec![tool; 60]}).to_string();
    let here = folder(&[("story.json", CLEAN), ("offered.json", &tools)]);
    let (code, _, err) = told(here.path(), &["check", "."]);
    let said =
        "retake: skipped offered.json: format not known: this is a list of tool definitions\n";
    assert_eq!((code, err.as_str()), (0, said));
}

#[test]
fn an_unknown_option_is_answered_with_the_nearest_one_or_the_help_of_its_command() {
    let here = folder(&[("clean.json", CLEAN)]);
    for (arguments, tip) in [
        (
            &["check", "--strict", "."][..],
            "tip: `retake help check` lists the options",
        ),
        (
            &["check", "--formt", "json"],
            "tip: a similar argument exists: '--format'",
        ),
        (&["--strict"], "tip: `retake --help` lists the options"),
    ] {
        let (code, _, err) = told(here.path(), arguments);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(tip) && !err.contains("-- --"), "{err}");
    }
}

#[test]
fn a_report_of_standard_input_names_it() {
    let mut check = super::retake();
    let check = check.args(["check", "-", "--fail-on", "never"]);
    let output = check.write_stdin(STORY).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("<stdin>  openai-chat, "), "{text}");
    assert!(text.contains("<stdin>:7: warning unknown-tool: "), "{text}");
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
fn a_pipe_that_is_closed_early_is_no_clean_bill() {
    let here = folder(&[("clean.json", CLEAN)]);
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["check", "--format", "json"])
        .args(["clean.json"; 2000])
        .current_dir(here.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    drop(out);
    let ended = process.wait_with_output().unwrap();
    assert_eq!(ended.stderr, b"");
    assert_eq!(ended.status.code(), Some(141));
}

#[test]
fn a_call_that_waits_is_offered_only_what_can_be_done() {
    let waiting = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/sessions/waiting-approval.json"
    );
    let here = folder(&[]);
    for format in ["text", "json"] {
        let (_, out, _) = told(here.path(), &["check", "--format", format, waiting]);
        assert!(out.contains("pending-call"), "{out}");
        assert!(
            !out.contains("wait (safe)") && !out.contains("\"wait\""),
            "{out}"
        );
    }
}

#[test]
fn a_file_of_another_kind_is_named_for_what_it_is() {
    let agent = "name = \"a\"\n[model]\nscript = \"s.toml\"\n";
    let script = "name = \"s\"\n[[rule]]\ntext = \"hi\"\n";
    let spec = "name = \"l\"\n[[finding]]\npath = \"gone.json\"\n[[model]]\nscript = \"s.toml\"\ndialect = \"chat\"\n";
    let here = folder(&[
        ("story.json", STORY),
        ("a.toml", agent),
        ("s.toml", script),
        ("bare.json", r#"[{"role":"user","content":"hi"}]"#),
        ("l.toml", spec),
        (
            "tools.json",
            r#"[{"type":"function","name":"f","parameters":{}}]"#,
        ),
    ]);
    let table: &[(&[&str], &str)] = &[
        (
            &["run", "story.json"],
            "story.json: this is a recording, not an agent file\n  hint: `retake story.json` opens it\n",
        ),
        (
            &["run", "s.toml"],
            "s.toml: this is a script of a model, not an agent file\n  hint: `retake scripted s.toml` serves it\n",
        ),
        (
            &["run", "l.toml"],
            "l.toml: this is a spec of the lab, not an agent file\n  hint: `retake lab l.toml` runs it\n",
        ),
        (
            &["scripted", "story.json"],
            "story.json: this is a recording, not a script of a model\n  hint: `retake story.json` opens it\n",
        ),
        (
            &["scripted", "a.toml"],
            "a.toml: this is an agent file, not a script of a model\n  hint: `retake run a.toml` runs it\n",
        ),
        (
            &["lab", "story.json", "--model", "story.json"],
            "story.json: this is a recording, not an agent file or a script of a model\n  hint: `retake story.json` opens it\n",
        ),
        (
            &["lab", "l.toml"],
            "l.toml:3: `path`: gone.json: no such file or folder\n  hint: paths of a spec begin at the folder of the spec\n",
        ),
        (
            &["check", "story.json", "--tools", "bare.json"],
            "bare.json: this is a recording, not a list of tools\n",
        ),
        (
            &["check", "tools.json"],
            "tools.json: format not known: this is a list of tool definitions\n  hint: give it to --tools together with a recording\n",
        ),
    ];
    for (arguments, said) in table {
        let (code, _, err) = told(here.path(), arguments);
        assert_eq!(
            (code, err.as_str()),
            (2, &*format!("retake: {said}")),
            "{arguments:?}"
        );
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
fn without_a_terminal_the_debugger_says_what_does_not_need_one() {
    let here = folder(&[("a.json", r#"[{"role":"user","content":"hi"}]"#)]);
    let (code, out, err) = told(here.path(), &["a.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err.lines().count(), 2, "{err}");
    assert!(err.contains("`retake show a.json`"), "{err}");
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
fn rules_are_completed() {
    let here = folder(&[]);
    let (_, script, _) = told(here.path(), &["completions", "bash"]);
    let only = script.split("--only)").nth(1).unwrap();
    assert!(
        only.lines().nth(1).unwrap().contains("unknown-tool"),
        "{only}"
    );
    let explain = script.split("retake__subcmd__explain)").last().unwrap();
    assert!(
        explain.lines().nth(1).unwrap().contains("unknown-tool"),
        "{explain}"
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
