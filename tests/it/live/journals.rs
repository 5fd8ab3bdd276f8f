//! What `check` and `health` say of the journal of a run is what the run itself said.

use super::{Stage, Told};
use serde_json::Value;

const DIALECTS: [&str; 3] = ["responses", "chat", "anthropic"];

const TOOLS: &str = "[[tools]]\nname = \"look\"\ncanned = [{ output = \"db down\", error = true }]\n\
                     [[tools]]\nname = \"pay\"\ncanned = \"paid\"\napproval = \"ask\"\n";

/// A run without a screen: its stage, and what it told.
fn run((dialect, head, script, policy): (&str, &str, &str, &str)) -> (Stage, Told) {
    run_with((dialect, head, script, policy), TOOLS)
}

fn run_with(
    (dialect, head, script, policy): (&str, &str, &str, &str),
    tools: &str,
) -> (Stage, Told) {
    let stage = Stage::new();
    stage.write("agent.script.toml", script);
    let agent = format!(
        "name = \"story\"\ninput = \"Begin.\"\n{head}\n[model]\ndialect = \"{dialect}\"\n\
         script = \"agent.script.toml\"\n{tools}"
    );
    let agent = stage.write("agent.toml", &agent);
    let told = stage.run_by(&agent, policy);
    (stage, told)
}

/// Exit code of `check`, and each finding as its severity and rule.
fn check(stage: &Stage, told: &Told, words: &[&str]) -> (i32, Vec<String>) {
    let journal = told.journal();
    let mut arguments = vec!["check", journal.to_str().unwrap(), "--format", "json"];
    arguments.extend(words);
    let (code, out, _) = stage.told(&arguments);
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let findings = lines.iter().filter(|line| line["type"] == "finding");
    let word = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let found = findings.map(|line| format!("{} {}", word(line, "severity"), word(line, "rule")));
    (code, found.collect())
}

#[test]
fn a_run_that_ended_without_a_result_is_not_clean() {
    let calls = "[[rule]]\ncalls = [{ name = \"look\", arguments = { q = \"{{ turn }}\" } }]\n";
    let pays = "[[rule]]\ncalls = [{ name = \"pay\" }]\n";
    let gone = "[[rule]]\nstatus = 401\nerror = \"no\"\n";
    let stories = [
        (calls, "max_turns = 2", "", "turn-limit", "error turn-limit"),
        (
            calls,
            "",
            "[on.tool-error]\ndo = \"raise\"\n",
            "raised",
            "error run-failed",
        ),
        (pays, "", "", "unattended", "error run-failed"),
        (gone, "", "", "model-failed", "error run-failed"),
    ];
    for dialect in DIALECTS {
        for (script, head, policy, how, expected) in stories {
            let (stage, told) = run((dialect, head, script, policy));
            assert_eq!(told.how(), how, "{}", told.out);
            let (code, found) = check(&stage, &told, &[]);
            assert_eq!(code, 1, "{dialect} {how}: {found:?}");
            assert!(
                found.iter().any(|one| one == expected),
                "{dialect} {how}: {found:?}"
            );
            let (code, out, _) = stage.told(&["explain", expected.rsplit(' ').next().unwrap()]);
            assert_eq!(code, 0, "{out}");
        }
        let (stage, told) = run((dialect, "", "[[rule]]\ntext = \"Done.\"\n", ""));
        assert_eq!(
            check(&stage, &told, &["--fail-on", "warning"]),
            (0, Vec::new())
        );
    }
}

#[test]
fn a_loop_that_was_answered_in_vain_is_not_settled() {
    let script = "[[rule]]\ncalls = [{ name = \"nope\", arguments = { q = 1 } }]\n";
    let policy = "[on.unknown-tool]\ndo = \"inject\"\n";
    for dialect in DIALECTS {
        let (stage, told) = run((dialect, "max_turns = 30", script, policy));
        assert_eq!(
            (told.how(), told.decided().len()),
            ("turn-limit", 30),
            "{}",
            told.out
        );
        let (code, found) = check(&stage, &told, &[]);
        assert_eq!(code, 1);
        for expected in ["error turn-limit", "warning repeated-call"] {
            assert!(
                found.iter().any(|one| one == expected),
                "{dialect}: {found:?}"
            );
        }
        let (_, out, _) = stage.told(&["check", told.journal().to_str().unwrap()]);
        assert!(out.contains("before it: nope was called 30 times"), "{out}");
        // One that the answer ended is.
        let ended = "[[rule]]\nturn = 4\ntext = \"I see.\"\n".to_owned() + script;
        let (stage, told) = run((dialect, "max_turns = 30", &ended, policy));
        assert_eq!(told.how(), "final", "{}", told.out);
        let (code, found) = check(&stage, &told, &["--fail-on", "warning"]);
        assert_eq!(code, 0, "{dialect}: {found:?}");
    }
}

/// The tools of a journal, as `health` counts them.
fn health_of(stage: &Stage, told: &Told) -> Vec<Value> {
    let journal = told.journal();
    let (_, out, _) = stage.told(&["health", journal.to_str().unwrap(), "--format", "json"]);
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["type"] == "tool")
        .collect()
}

#[test]
fn an_answer_of_a_policy_is_no_output_of_a_tool_in_any_dialect() {
    let call = |name: &str| {
        format!(
            "[[rule]]\nturn = 4\ntext = \"I give up.\"\n\
             [[rule]]\ncalls = [{{ name = \"{name}\", arguments = {{ id = \"{{{{ turn }}}}\" }} }}]\n"
        )
    };
    let cases = [
        ("invalid-arguments", "look", "invalid"),
        ("unknown-tool", "serch", "unknown"),
    ];
    for dialect in DIALECTS {
        for (rule, name, counted) in cases {
            let tools = "[[tools]]\nname = \"look\"\ncanned = \"Ann\"\n[tools.parameters]\n\
                        type = \"object\"\nproperties.id = { type = \"integer\" }\n";
            let policy =
                format!("[breaker]\n[on.{rule}]\ndo = \"inject\"\nwording = \"Not like that.\"\n");
            let (stage, told) = run_with((dialect, "", &call(name), &policy), tools);
            assert_eq!(told.how(), "final", "{}", told.out);
            assert_eq!(told.end()["errors"], serde_json::json!([]));
            let counted_tools = health_of(&stage, &told);
            let tool = counted_tools
                .iter()
                .find(|tool| tool["tool"] == name)
                .unwrap();
            let figures = [
                "calls",
                "answered",
                "outputs",
                "errors",
                "longest_run",
                counted,
            ];
            assert_eq!(
                figures.map(|key| tool[key].as_u64().unwrap()),
                [3, 3, 0, 0, 0, 3],
                "{dialect} {rule}: {tool}"
            );
        }
    }
}

#[test]
fn what_a_policy_says_of_a_failed_tool_changes_nothing_in_its_health() {
    let script = "[[rule]]\nturn = 6\ntext = \"I give up.\"\n[[rule]]\ncalls = [{ name = \"look\", arguments = { id = \"{{ turn }}\" } }]\n";
    let tools = "[[tools]]\nname = \"look\"\ncanned = [{ output = \"Error: connection refused\", error = true }]\n\
                [tools.parameters]\ntype = \"object\"\n";
    for dialect in DIALECTS {
        let mut counts = Vec::new();
        for policy in [
            "",
            "[on.tool-error]\ndo = \"inject\"\nwording = \"{{ tool }} is down.\"\n",
        ] {
            let policy = format!("[breaker]\nthreshold = 3\ncooldown = \"1h\"\n{policy}");
            let (stage, told) = run_with((dialect, "", script, &policy), tools);
            assert_eq!(told.how(), "final", "{}", told.out);
            let errors = told.end()["errors"].clone();
            let errors = errors.as_array().unwrap().iter();
            let classes: Vec<_> = errors.map(|error| error["class"].clone()).collect();
            assert_eq!(
                classes,
                [
                    "connection",
                    "connection",
                    "connection",
                    "switched off",
                    "switched off"
                ],
                "{dialect}"
            );
            counts.push(health_of(&stage, &told));
        }
        let [tool] = &counts[0][..] else {
            panic!("{counts:?}");
        };
        let expected = serde_json::json!({"connection": 3, "switched off": 2});
        assert_eq!(tool["classes"], expected, "{dialect}");
        assert_eq!(counts[0], counts[1], "{dialect}");
    }
}

#[test]
fn health_says_of_a_journal_what_its_ledger_says_in_every_dialect() {
    let script = "[[rule]]\nturn = 7\ntext = \"I give up.\"\n[[rule]]\ncalls = [{ name = \"look\", arguments = { q = \"{{ turn }}\" } }]\n";
    for dialect in DIALECTS {
        for (policy, errors, open) in [
            ("[breaker]\nthreshold = 2\ncooldown = \"1h\"\n", 2, 1),
            ("[breaker]\nthreshold = 0\n", 6, 0),
        ] {
            let (stage, told) = run((dialect, "", script, policy));
            assert_eq!(told.how(), "final", "{}", told.out);
            let breakers = told.of_type("breaker");
            let last = breakers.last().map(|line| line["state"].as_str().unwrap());
            assert_eq!(last, (open > 0).then_some("open"));
            let executed = told.of_type("finished").len();
            let journal = told.journal();
            let journal = journal.to_str().unwrap();
            let (_, out, _) = stage.told(&["health", journal, "--format", "json"]);
            let tool: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
            let figures = ["calls", "outputs", "errors", "breaker_open"].map(|key| &tool[key]);
            assert_eq!(
                figures,
                [6, executed, errors, open].map(Value::from).each_ref(),
                "{dialect} {out}"
            );
            assert_eq!(tool["rate"], 1.0);
            assert_eq!(
                tool["classes"]["switched off"].as_u64().unwrap_or(0),
                6 - errors as u64
            );
            let (_, out, _) = stage.told(&["health", journal]);
            let row = out.lines().find(|line| line.starts_with("look")).unwrap();
            let word = if open > 0 { "  open" } else { "  closed" };
            assert!(row.ends_with(word), "{out}");
        }
    }
}
