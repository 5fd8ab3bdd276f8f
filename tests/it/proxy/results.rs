//! A policy about what tools answer acts on the request that brings the answer.

use super::speech::{Agent, GOOD, complaints, http, spoken, turn, ways};
use super::stage::{Stage, upstream};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use std::process::Command;

const SAID: &str = "Error: user not found";

/// A proxy whose agent has called a tool that failed.
fn failed((dialect, streams): (Dialect, bool), policy: &str) -> (Stage, Agent) {
    let reply = turn("2", "It is warm.", &[]);
    let stage = Stage::by(upstream(vec![http(dialect, streams, &reply)]), policy);
    let mut agent = Agent::new((dialect, streams));
    agent
        .history
        .extend(spoken(dialect, &turn("1", "Let me look.", &[GOOD])));
    agent.answers(GOOD.0, SAID);
    (stage, agent)
}

#[test]
fn a_failed_tool_ends_the_agent_where_the_policy_says_so() {
    for way in ways() {
        let (stage, agent) = failed(way, "[on.tool-error]\ndo = \"raise\"\n");
        let got = stage.ask(&agent);
        assert_eq!(got.status, Some(422), "{way:?}: {}", got.text());
        assert!(got.text().contains("tool-error"), "{}", got.text());
        assert!(
            matches!(stage.ending(1), ExchangeEnding::Refused { .. }),
            "{way:?}"
        );
        assert!(stage.upstream.requests().is_empty());
    }
}

#[test]
fn the_model_reads_other_words_about_a_failed_tool_and_so_in_every_later_request() {
    let words = "The search is down. Answer from what you know.";
    let policy = format!("[on.tool-error]\ndo = \"inject\"\nwording = \"{words}\"\n");
    for way in ways() {
        let (stage, mut agent) = failed(way, &policy);
        assert!(stage.turn(&mut agent).is_empty());
        assert_eq!(stage.decided(), ["inject-error"], "{way:?}");
        assert_eq!(stage.ending(1), ExchangeEnding::Mended, "{way:?}");
        agent.says("Thanks.");
        stage.turn(&mut agent);
        for asked in stage.asked() {
            let asked = asked.to_string();
            assert!(
                asked.contains(words) && !asked.contains(SAID),
                "{way:?}: {asked}"
            );
            assert_eq!(complaints(asked.as_bytes()), [""; 0]);
        }
        // It is decided about once.
        assert_eq!(stage.decided().len(), 1, "{way:?}");
    }
}

#[test]
fn without_an_entry_a_failed_tool_is_the_models_to_deal_with() {
    for way in ways() {
        let (stage, mut agent) = failed(way, "[on.unknown-tool]\ndo = \"raise\"\n");
        let body = agent.request();
        stage.turn(&mut agent);
        assert_eq!(stage.ending(1), ExchangeEnding::Passed, "{way:?}");
        assert_eq!(stage.upstream.requests()[0].body, body.as_bytes());
    }
}

#[test]
fn a_policy_that_would_run_a_tool_again_is_refused_with_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "[on.tool-error]\ndo = \"retry\"\n[on.failing-tool]\ndo = \"raise\"\ntimes = 1\notherwise = \"retry\"\n[tools.pay.on.tool-error]\ndo = \"retry\"\n";
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_retake"))
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .args(["proxy", "--headless", "--policy", "policy.toml"])
        .args([
            "--upstream",
            "http://127.0.0.1:1",
            "--listen",
            "127.0.0.1:0",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(
        (refused.status.code(), refused.stdout.as_slice()),
        (Some(2), &b""[..]),
        "{said}"
    );
    for (line, rule) in [(2, "tool-error"), (6, "failing-tool"), (8, "tool-error")] {
        let told = format!(
            "policy.toml:{line}: `retry` never applies to {rule}: the tool has run by then"
        );
        assert!(said.contains(&told), "{told} is not in\n{said}");
    }
}
