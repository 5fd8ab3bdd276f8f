//! One story for each row.

use super::{block_on, lives, program, script, wait_until};
use retake_core::session::ledger::CallFailure;
use retake_live::tools::command::{CommandTool, run};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[test]
fn e1_a_command_that_never_ends_is_asked_to_end_when_its_time_is_up_and_the_output_says_so() {
    let tool = script("echo begun; sleep 1000 & wait").within(300);
    let ran = tool.run();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Timeout));
    assert!(ran.outcome.is_error);
    assert_eq!(
        ran.outcome.output,
        "Error: the tool timed out: it was stopped after 0.3 s\nstdout:\nbegun"
    );
    assert!(ran.outcome.ms >= 300);
    assert_eq!(ran.facts.signal, Some(15));
}

#[test]
fn e1_the_operator_stops_a_command() {
    let tool = script("echo $$ > pid; sleep 1000");
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let path = tool.folder().join("pid");
    let operator = std::thread::spawn(move || {
        wait_until("the tool runs", || path.exists());
        stop.cancel();
    });
    let ran = tool.call("{}", &cancel);
    operator.join().unwrap();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Stopped));
    assert!(ran.outcome.output.starts_with("Error: aborted by user"));
    assert!(!lives(&tool.written("pid")));
}

#[test]
fn e1_what_was_called_off_before_it_began_does_not_begin() {
    let tool = script("touch began");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ran = tool.call("{}", &cancel);
    assert_eq!(ran.outcome.failure, Some(CallFailure::Stopped));
    assert!(!tool.folder().join("began").exists());
}

#[test]
fn e2_a_command_that_ignores_sigterm_is_killed_after_its_grace() {
    let tool = script("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done").within(500);
    let ran = tool.run();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Timeout));
    assert!(
        ran.outcome.output.contains("and was killed"),
        "{}",
        ran.outcome.output
    );
    assert_eq!(ran.facts.signal, Some(9));
    assert!(!lives(&tool.written("pid")));
}

#[test]
fn e2_a_command_may_use_its_grace_to_clean_up() {
    let mut tool = script("trap 'echo cleaned > mark; exit 0' TERM; echo ready; sleep 1000 & wait")
        .within(500);
    tool.tool.grace = Duration::from_secs(30);
    let ran = tool.run();
    assert_eq!(
        ran.outcome.failure,
        Some(CallFailure::Timeout),
        "it did not do what it was called for"
    );
    assert_eq!(tool.written("mark"), "cleaned\n");
}

#[test]
fn e4_a_flood_is_kept_at_both_ends_in_little_memory() {
    let flood = "seq 1 8300000; echo end of flood";
    let ran = script(&format!("{{ {flood}; }} >&2; {flood}")).run();
    assert_eq!(ran.outcome.failure, None);
    for stream in [&ran.facts.stdout, &ran.facts.stderr] {
        assert!(stream.text.starts_with("1\n2\n3\n"));
        assert!(stream.text.ends_with("8300000\nend of flood\n"));
        assert!(stream.dropped > 60 << 20, "{}", stream.dropped);
        assert!(
            stream
                .text
                .contains(&format!("\n[{} bytes dropped]\n", stream.dropped))
        );
        assert!(stream.text.len() < 129 << 10);
    }
    assert_eq!(ran.outcome.output, ran.facts.stdout.text);
}

/// A gigabyte, in a process of its own whose peak can be told: the tests of this binary run beside each other.
#[test]
fn e4_a_flood_of_a_gigabyte_takes_no_more_memory_than_a_small_one() {
    if std::env::var_os("RETAKE_LONG").is_none() {
        return;
    }
    let before = peak_of_this_process();
    let ran = script("yes | head -c 1073741824").run();
    assert_eq!(ran.facts.stdout.dropped, (1 << 30) - (128 << 10));
    let grown = peak_of_this_process() - before;
    assert!(grown < 64 << 10, "grew by {grown} KiB");
}

/// In KiB.
fn peak_of_this_process() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn e5_there_is_no_terminal_to_write_to() {
    let ran = script("if (echo harm > /dev/tty) 2>/dev/null; then echo a terminal; else echo none; fi; ps -o tty= -p $$ 2>/dev/null").run();
    assert!(
        ran.outcome.output.starts_with("none\n"),
        "{}",
        ran.outcome.output
    );
    let ran = script("cut -d' ' -f1,5,6,7 /proc/$$/stat").run();
    let fields = ran.outcome.output.split_whitespace().collect::<Vec<_>>();
    let [pid, group, session, terminal] = fields[..] else {
        panic!("{fields:?}")
    };
    assert_eq!(pid, group, "a process group of its own");
    assert_ne!(session, our_session(), "a session of its own");
    assert_ne!(
        session, pid,
        "no leader, so it cannot get a terminal by opening one"
    );
    assert_eq!(terminal, "0");
}

fn our_session() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let behind_name = stat.rsplit(')').next().unwrap();
    behind_name.split_whitespace().nth(3).unwrap().to_owned()
}

#[test]
fn e6_the_arguments_come_on_standard_input_which_then_ends() {
    let arguments = "{\"text\":\"g\u{FC}nstig\",\"n\":1}";
    let ran = script("cat").call(arguments, &CancellationToken::new());
    assert_eq!(ran.outcome.output, arguments);
    let ran = script("cat > /dev/null; if read answer; then echo got; else echo ended; fi").run();
    assert_eq!(ran.outcome.output, "ended\n");
}

#[test]
fn e6_a_command_that_asks_for_a_password_gets_none() {
    let ran =
        script("cat > /dev/null; stty -echo < /dev/tty || { echo no terminal >&2; exit 1; }").run();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Reported));
    assert!(ran.outcome.output.contains("no terminal"));
}

#[test]
fn e6_arguments_larger_than_any_pipe_are_handed_over_or_left_unread() {
    let arguments = format!("\"{}\"", "x".repeat(4 << 20));
    let ran = script("wc -c").call(&arguments, &CancellationToken::new());
    assert_eq!(ran.outcome.output.trim(), arguments.len().to_string());
    let ran = script("echo done").call(&arguments, &CancellationToken::new());
    assert_eq!(ran.outcome.output, "done\n");
}

#[test]
fn e7_output_that_is_no_text_is_marked_and_the_model_is_told() {
    let ran = script(r"printf 'a\377b\000c\033[31mred\n'").run();
    assert_eq!(ran.outcome.failure, None);
    assert_eq!(
        ran.outcome.output,
        "a\u{FFFD}b\u{FFFD}c\u{1b}[31mred\n[2 places that are no UTF-8 text, or NUL, are shown as \u{FFFD}]\n"
    );
    assert_eq!(ran.facts.stdout.marks, 2);
}

#[test]
fn e8_each_way_not_to_start_has_its_own_text() {
    let missing = program(&["no-such-program-here"]).run();
    assert_eq!(missing.outcome.failure, Some(CallFailure::Unknown));
    assert!(
        missing.outcome.output.contains("not found"),
        "{}",
        missing.outcome.output
    );

    let tool = program(&["./plain"]);
    std::fs::write(tool.folder().join("plain"), "#!/bin/sh\necho ok\n").unwrap();
    let refused = tool.run();
    assert_eq!(refused.outcome.failure, Some(CallFailure::Permission));
    assert!(refused.outcome.output.contains("permission denied"));

    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tool.folder().join("plain"), executable.clone()).unwrap();
    assert_eq!(
        tool.run().outcome.output,
        "ok\n",
        "beside the folder of the tool"
    );

    std::fs::write(tool.folder().join("plain"), "no program\n").unwrap();
    let unknown = tool.run();
    assert_eq!(unknown.outcome.failure, Some(CallFailure::Unknown));
    assert!(
        unknown.outcome.output.contains("`#!`"),
        "{}",
        unknown.outcome.output
    );

    let long = "x".repeat(256 << 10);
    let too_long = program(&["echo", &long]).run();
    assert!(
        too_long
            .outcome
            .output
            .contains("longer than the system takes")
    );

    let mut nowhere = program(&["true"]);
    nowhere.tool.folder = "/no/such/folder".into();
    assert!(nowhere.run().outcome.output.contains("its folder"));
    for ran in [missing, refused, unknown, too_long] {
        assert!(ran.outcome.is_error && ran.outcome.output.starts_with("Error: "));
    }
}

#[test]
fn e8_each_way_to_fail_has_its_own_text_that_is_never_empty() {
    let said = |text: &str| script(text).run().outcome;
    let failed = said("echo half; echo boom >&2; exit 3");
    assert_eq!(
        failed.output,
        "Error: the tool ended with exit code 3\nstderr:\nboom\nstdout:\nhalf"
    );
    assert_eq!(failed.failure, Some(CallFailure::Reported));
    assert_eq!(
        said("exit 1").output,
        "Error: the tool ended with exit code 1"
    );
    assert_eq!(said("exit 126").failure, Some(CallFailure::Permission));
    let killed = said("kill -9 $$");
    assert_eq!(
        killed.output,
        "Error: the tool was ended by signal 9 (SIGKILL)"
    );
    assert_eq!(killed.failure, Some(CallFailure::Unknown));
    let silent = said("true");
    assert_eq!((silent.output.as_str(), silent.is_error), ("", false));
}

#[test]
fn e8_a_failing_tool_tells_the_kind_of_its_failure() {
    let hint = r#"echo '{"error": {"kind": "connection", "message": "db:5432 is down"}}'; exit 1"#;
    let ran = script(hint).run();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Connection));
    assert!(ran.outcome.failure.unwrap().is_recoverable());
    assert_eq!(
        ran.outcome.output,
        "Error: the tool ended with exit code 1: db:5432 is down"
    );
}

#[test]
fn e8_a_keeper_that_is_killed_leaves_a_call_that_may_have_run() {
    let tool = script("echo $$ > pid; kill -9 $PPID; sleep 1000");
    let ran = tool.run();
    assert_eq!(
        ran.outcome.failure,
        Some(CallFailure::Unknown),
        "not tried again by itself"
    );
    assert!(ran.outcome.output.contains("may have done its work"));
    let pid = tool.written("pid");
    wait_until("the tool is gone", || !lives(&pid));
}

#[test]
fn e9_the_environment_is_what_is_named() {
    // Cargo sets both for the tests that it runs.
    let mut tool = script("env");
    tool.tool.variables = vec!["CARGO_PKG_NAME".to_owned()];
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let ran = tool.run();
    let lines = ran.outcome.output.lines().collect::<Vec<_>>();
    // `PWD`, `OLDPWD`, `SHLVL` and `_` are the shell's own.
    let known = [
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "TERM",
        "CARGO_PKG_NAME",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    for line in &lines {
        let (name, _) = line.split_once('=').unwrap();
        assert!(known.contains(&name) || name.starts_with("LC_"), "{line}");
    }
    assert!(lines.contains(&"TERM=dumb"));
    assert!(lines.contains(&"CARGO_PKG_NAME=retake"));
}

#[test]
fn e9_the_process_above_a_tool_knows_no_more_than_the_tool() {
    let ran = script("tr '\\0' '\\n' < /proc/$PPID/environ").run();
    assert!(ran.outcome.output.contains("TERM=dumb"));
    assert!(
        !ran.outcome.output.contains("CARGO"),
        "{}",
        ran.outcome.output
    );
}

#[test]
fn e9_only_the_standard_files_are_open() {
    // `ls` has one more: the folder that it reads.
    let ran = script(
        "for file in /proc/self/fd/*; do echo ${file##*/}; done | sort -n; exec ls /proc/self/fd",
    )
    .run();
    let files = ran.outcome.output.lines().collect::<Vec<_>>();
    assert!(
        files.iter().all(|file| ["0", "1", "2", "3"].contains(file)),
        "{files:?}"
    );
}

/// What was open, and not marked to be closed, when retake itself was started: `exec 7< file` of a shell does that.
#[test]
fn e9_files_that_retake_was_started_with_are_not_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let keeper = folder.path().join("keeper");
    let text = format!(
        "#!/bin/sh\nexec 7< '{}'\nexec '{}' \"$@\"\n",
        secret.display(),
        env!("CARGO_BIN_EXE_retake")
    );
    std::fs::write(&keeper, text).unwrap();
    std::fs::set_permissions(&keeper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tool = CommandTool {
        folder: folder.path().to_owned(),
        ..script("cat <&7 2> /dev/null; echo files:; ls /proc/self/fd")
            .tool
            .clone()
    };
    let keeper = retake_live::tools::Supervisor::at(keeper);
    let ran = block_on(run(&tool, &keeper, "{}", &CancellationToken::new()));
    assert_eq!(ran.outcome.output, "files:\n0\n1\n2\n3\n");
}
