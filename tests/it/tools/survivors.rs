//! Row E3: commands that leave processes behind, however they hide them.

use super::{Script, keeper, lives, program, script, wait_until};
use retake_core::session::ledger::CallFailure;
use retake_live::tools::command::run;
use std::io::Write;
use std::process::{Command, Stdio};
use tokio_util::sync::CancellationToken;

/// Leaves a process behind that writes its number, and ends once that is written.
fn leaving(how: &str) -> Script {
    script(&format!(
        "{how} sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.02; done; echo done"
    ))
}

#[test]
fn e3_children_in_the_background_are_ended_and_named() {
    let tool = leaving("");
    let ran = tool.run();
    assert_eq!(ran.outcome.failure, None);
    let pid = tool.written("pid");
    assert!(!lives(&pid));
    let left = format!("sleep ({})", pid.trim());
    assert_eq!(ran.facts.left, left);
    assert_eq!(
        ran.outcome.output,
        format!("done\n[processes that the tool left running were ended: {left}]\n")
    );
    assert!(
        ran.outcome.ms < 30_000,
        "their hold on the pipes is not waited for"
    );
}

#[test]
fn e3_children_that_ignore_hang_ups_are_ended() {
    let tool = leaving("nohup");
    let ran = tool.run();
    assert!(!lives(&tool.written("pid")));
    assert!(ran.facts.left.starts_with("sleep ("), "{}", ran.facts.left);
}

#[test]
fn e3_children_in_a_session_of_their_own_are_ended() {
    let tool = leaving("setsid");
    let ran = tool.run();
    assert!(!lives(&tool.written("pid")));
    assert!(ran.facts.left.starts_with("sleep ("), "{}", ran.facts.left);
}

#[test]
fn e3_a_double_fork_leads_nowhere() {
    let tool = script(
        "setsid sh -c 'setsid sh -c \"echo \\$\\$ > pid; trap \\\"\\\" TERM; while :; do sleep 0.05; done\" & exit 0'; \
         while [ ! -s pid ]; do sleep 0.02; done; echo done",
    );
    let ran = tool.run();
    assert_eq!(ran.outcome.failure, None);
    assert!(!lives(&tool.written("pid")), "ignored SIGTERM, was killed");
    assert!(ran.facts.left.contains("sh ("), "{}", ran.facts.left);
    assert_eq!(ran.facts.remain, "");
}

#[test]
fn e3_a_timeout_ends_what_left_the_group_as_well() {
    let tool = script("setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000").within(700);
    let ran = tool.run();
    assert_eq!(ran.outcome.failure, Some(CallFailure::Timeout));
    assert!(!lives(&tool.written("pid")));
}

#[test]
fn e3_when_nobody_waits_for_the_tool_any_longer_it_is_ended() {
    let tool = script("setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000");
    super::block_on(async {
        let cancel = CancellationToken::new();
        let keeper = keeper();
        let running = run(&tool.tool, &keeper, "{}", &cancel);
        let path = tool.folder().join("pid");
        let begun = async {
            while !std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            ran = running => panic!("{ran:?}"),
            () = begun => {}
        }
    });
    let pid = tool.written("pid");
    wait_until("the tool is gone", || !lives(&pid));
}

/// The keeper's side of a run that is killed: its end of the line closes.
#[test]
fn e3_a_run_that_is_killed_leaves_no_tool_behind() {
    let tool = script("true");
    let pid = tool.folder().join("pid");
    let order = serde_json::json!({
        "argv": ["sh", "-c", format!("echo $$ > '{}'; exec sleep 1000", pid.display())],
        "input": "", "timeout_ms": 600_000, "grace_ms": 300,
    });
    let (mut ours, its) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_retake"))
        .arg("--keep-tool")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(its)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(ours, "{order}").unwrap();
    let pid = tool.written("pid");
    assert!(lives(&pid));
    drop(ours);
    wait_until("the tool is gone", || !lives(&pid));
    wait_until("its keeper is gone", || {
        keeper.try_wait().unwrap().is_some()
    });
}

#[test]
fn e3_a_tool_that_starts_nothing_leaves_nothing() {
    let ran = program(&["true"]).run();
    assert_eq!(
        (ran.facts.left.as_str(), ran.facts.remain.as_str()),
        ("", "")
    );
    assert_eq!(ran.facts.exit, Some(0));
}
