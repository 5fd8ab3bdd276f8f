//! Errors that tools report in live runs: what is found in every dialect, and what a policy makes the model read of them.

use super::{Stage, Told};
use std::process::{Command, Stdio};

const DIALECTS: [&str; 3] = ["responses", "chat", "anthropic"];

/// An MCP server that goes wrong in the way its first argument names.
const SERVER: &str = include_str!("../../../src/live/tools/mcp/tests/server.py");

/// An agent whose first reply calls a tool, and which ends with the second one.
fn stage(dialect: &str, tool: &str, tools: &str) -> (Stage, std::path::PathBuf) {
    let stage = Stage::new();
    let script = format!(
        "[[rule]]\nturn = 1\ncalls = [{{ name = \"{tool}\", arguments = {{}} }}]\n[[rule]]\ntext = \"Done.\"\n"
    );
    stage.write("agent.script.toml", &script);
    let agent = format!(
        "name = \"story\"\ninput = \"Begin.\"\n[model]\ndialect = \"{dialect}\"\nscript = \"agent.script.toml\"\n{tools}"
    );
    let agent = stage.write("agent.toml", &agent);
    (stage, agent)
}

/// Whether the server can run here; says so where not.
#[allow(clippy::print_stderr)]
fn has_python() -> bool {
    let mut python = Command::new("python3");
    let is_there = python.arg("-V").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped: the server of this test is a Python program, and there is no python3");
    }
    is_there
}

fn run_with_server(dialect: &str, how: &str, tool: &str) -> (Stage, Told) {
    let tools = format!(
        "[[mcp]]\nname = \"desk\"\ncommand = [\"python3\", \"server.py\", \"{how}\", \"mark\"]\napproval = \"never\"\n"
    );
    let (stage, agent) = stage(dialect, tool, &tools);
    stage.write("server.py", SERVER);
    let told = stage.run(&agent, &[]);
    (stage, told)
}

#[test]
fn an_error_of_an_mcp_tool_and_a_refusal_of_its_server_are_tool_errors_in_every_dialect() {
    if !has_python() {
        return;
    }
    let stories = [
        (
            "well",
            "fail",
            "the tool reported an error without saying which",
        ),
        (
            "refuse",
            "say",
            "the MCP server desk refused the call: no such row",
        ),
    ];
    for dialect in DIALECTS {
        for (how, tool, text) in stories {
            let (stage, told) = run_with_server(dialect, how, tool);
            let what = format!("{dialect} {how}: {}{}", told.out, told.err);
            assert_eq!((told.how(), told.code), ("final", 0), "{what}");
            assert_eq!(told.found(), ["tool-error"], "{what}");
            let finding = told.of_type("finding")[0];
            assert_eq!(finding["tool"], tool, "{what}");
            let message = finding["message"].as_str().unwrap();
            assert!(message.ends_with(text), "{what}");
            let finished = told.of_type("finished")[0];
            assert_eq!(
                (&finished["output"], &finished["is_error"]),
                (&text.into(), &true.into()),
                "{what}"
            );
            // The journal says so to whoever reads it later.
            let journal = told.journal();
            let (_, out, _) = stage.told(&["check", journal.to_str().unwrap()]);
            assert!(out.contains("tool-error"), "{what}{out}");
        }
        let (_, told) = run_with_server(dialect, "well", "say");
        assert_eq!(told.found(), [""; 0], "{dialect}: {}{}", told.out, told.err);
    }
}

#[test]
fn a_policy_s_wording_says_what_kind_of_error_it_is_what_helps_and_whether_anything_does() {
    let wording = "{{ tool }}: {{ error_class }}. {{ suggestion }}{% if recoverable %} Try again.{% else %} Give up.{% endif %}";
    let policy = format!("[on.tool-error]\ndo = \"inject\"\nwording = \"{wording}\"\n");
    let failing = [
        (
            "canned = [{ output = \"Error: no row 7\", error = true }]",
            "look: exception. Check the arguments; try another way if it fails again. Try again.",
        ),
        (
            "timeout = \"100ms\"\ncommand = [\"sleep\", \"60\"]",
            "look: timeout. Ask for less at once, or try again later. Try again.",
        ),
        (
            "canned = [{ output = \"Permission denied\", error = true }]",
            "look: permission. Do not try again: go on without this tool, or ask for access. Give up.",
        ),
    ];
    for dialect in DIALECTS {
        for (does, read) in failing {
            let tools = format!(
                "[[tools]]\nname = \"look\"\napproval = \"never\"\n{does}\n[tools.parameters]\ntype = \"object\"\n"
            );
            let (stage, agent) = stage(dialect, "look", &tools);
            // The scripted model ends the run in other words unless it reads just this.
            let script = std::fs::read_to_string(stage.path("agent.script.toml")).unwrap();
            let reads =
                format!("[[rule]]\nlast_contains = \"{read}\"\ntext = \"I have read it.\"\n");
            stage.write("agent.script.toml", &(reads + &script));
            let told = stage.run_by(&agent, &policy);
            let what = format!("{dialect} {does}: {}{}", told.out, told.err);
            assert_eq!(told.decided(), ["inject-error"], "{what}");
            assert_eq!((told.how(), told.code), ("final", 0), "{what}");
            assert_eq!(told.output(), "I have read it.", "{what}");
        }
    }
}
