//! Requests that their provider would refuse, or has refused.

use super::speech::{Agent, GOOD, THEN, complaints, http, output, spoken, turn, ways};
use super::stage::{PATIENCE, Stage, upstream};
use crate::proxy_wire::fake::reply;
use retake_core::exchange::{ExchangeEnding, ExchangePhase};
use retake_core::session::Dialect;
use retake_live::proxy::ProxyCommand;

/// An agent that has forgotten to answer a call, and goes on.
pub(super) fn forgetful(way: (Dialect, bool)) -> Agent {
    let mut agent = Agent::new(way);
    agent
        .history
        .extend(spoken(way.0, &turn("0", "I look.", &[GOOD])));
    agent.says("Well?");
    agent
}

/// An agent with an output that answers nothing.
fn inventive(way: (Dialect, bool)) -> Agent {
    let mut agent = Agent::new(way);
    agent.history.push(output(way.0, THEN.0, "9 degrees"));
    agent.says("Well?");
    agent
}

#[test]
fn a_policy_repairs_a_request_before_it_leaves_and_the_same_again_in_silence() {
    for way in ways() {
        for (agent, policy) in [
            (forgetful(way), "[on.orphan-call]\ndo = \"inject\"\n"),
            (forgetful(way), "[on.orphan-call]\ndo = \"drop\"\n"),
            (inventive(way), "[on.orphan-output]\ndo = \"drop\"\n"),
        ] {
            let replies = vec![http(way.0, way.1, &turn("1", "It is warm.", &[]))];
            let stage = Stage::by(upstream(replies), policy);
            let mut agent = agent;
            assert!(!complaints(agent.request().as_bytes()).is_empty());
            stage.turn(&mut agent);
            let asked = stage.asked();
            assert_eq!(asked.len(), 1, "{way:?} {policy}");
            assert_eq!(
                complaints(asked[0].to_string().as_bytes()),
                [""; 0],
                "{way:?} {policy}: {:#}",
                asked[0]
            );
            assert_eq!(stage.ending(1), ExchangeEnding::Mended);
            let rewritten = stage.seen(1).unwrap().rewritten;
            assert!(rewritten.request && !rewritten.reply, "{rewritten:?}");
            let decided = stage.decided().len();
            assert_eq!(decided, 1);
            // The agent repeats what was broken.
            agent.says("Thanks.");
            stage.turn(&mut agent);
            let asked = stage.asked();
            assert_eq!(
                complaints(asked[1].to_string().as_bytes()),
                [""; 0],
                "{way:?} {policy}: {:#}",
                asked[1]
            );
            assert_eq!(stage.ending(2), ExchangeEnding::Passed);
            assert_eq!(stage.decided().len(), decided, "it was repaired in silence");
            let second = stage.seen(2).unwrap();
            assert!(!second.notes.is_empty() && second.rewritten.again);
        }
    }
}

#[test]
fn a_request_that_is_to_pass_as_it_is_passes() {
    let way = (Dialect::Chat, false);
    let replies = || vec![http(way.0, way.1, &turn("1", "It is warm.", &[]))];
    for change in [0, 1] {
        let stage = Stage::new(upstream(replies()), |options| {
            options.has_operator = true;
            options.holds_requests = change != 0;
            options.intercepts = change != 1;
        });
        let agent = forgetful(way);
        assert_eq!(stage.ask(&agent).status, Some(200));
        assert_eq!(
            stage.upstream.requests()[0].body,
            agent.request().as_bytes()
        );
        let found = stage.over(1).found;
        assert!(
            found.iter().any(|one| one.rule == "orphan-call"),
            "{found:?}"
        );
    }
}

#[test]
fn what_a_decision_takes_is_counted_apart_from_what_the_upstream_takes() {
    const DECIDES: u64 = 400;
    let way = (Dialect::Chat, false);
    let stage = Stage::attended(upstream(vec![http(way.0, way.1, &turn("1", "Warm.", &[]))]));
    let mut client = stage.send(&forgetful(way), "");
    stage.held(1);
    std::thread::sleep(std::time::Duration::from_millis(DECIDES));
    stage.command(&ProxyCommand::ReleaseAll);
    client.receive(PATIENCE);
    let over = stage.over(1);
    assert!(
        over.held_ms[0] >= DECIDES && over.held_ms[1] == 0,
        "{over:?}"
    );
    assert!(over.total_ms.is_some_and(|took| took < DECIDES), "{over:?}");
}

#[test]
fn an_operator_lets_a_request_go_as_it_is() {
    for way in ways() {
        let stage = Stage::attended(upstream(vec![http(way.0, way.1, &turn("1", "Warm.", &[]))]));
        let agent = forgetful(way);
        let mut client = stage.send(&agent, "");
        let why = stage.held(1);
        assert!(why.contains("orphan-call"), "{why}");
        assert!(stage.upstream.requests().is_empty());
        stage.command(&ProxyCommand::ReleaseAll);
        let got = client.receive(PATIENCE);
        assert_eq!(got.status, Some(200), "{}", got.text());
        assert_eq!(
            stage.upstream.requests()[0].body,
            agent.request().as_bytes()
        );
        assert_eq!(
            stage.ending(1),
            ExchangeEnding::Released {
                by: "operator".to_owned()
            }
        );
    }
}

/// What OpenAI says of a call without an output (error of the Chat Completions API).
const REFUSAL: &str = r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_good_0123456789","type":"invalid_request_error","param":"messages","code":null}}"#;

#[test]
fn a_refusal_is_held_and_goes_on_as_it_came() {
    let lines = "content-type: application/json\r\nx-request-id: r1\r\n";
    for streams in [false, true] {
        let refusal = reply("400 Bad Request", lines, REFUSAL);
        let stage = Stage::attended(upstream(vec![refusal]));
        // The provider is stricter than the rules.
        let agent = Agent::new((Dialect::Chat, streams));
        let mut client = stage.send(&agent, "");
        let seen = stage.until(1, "held", |seen| {
            matches!(seen.phase, ExchangePhase::Held(_))
        });
        assert_eq!(seen.status, Some(400));
        stage.until(1, "told why", |seen| {
            format!("{:?}", seen.phase).contains("must be followed by tool messages")
        });
        stage.command(&ProxyCommand::ReleaseAll);
        let got = client.receive(PATIENCE);
        assert_eq!((got.status, got.text().as_str()), (Some(400), REFUSAL));
        assert_eq!(got.header("x-request-id"), Some("r1"));
        assert_eq!(stage.upstream.requests().len(), 1);
        assert_eq!(
            stage.ending(1),
            ExchangeEnding::Released {
                by: "operator".to_owned()
            }
        );
    }
}

#[test]
fn with_nobody_there_a_refusal_passes_at_once() {
    let lines = "content-type: application/json\r\n";
    let policy = "[on.unknown-tool]\ndo = \"inject\"\n";
    let stage = Stage::by(
        upstream(vec![reply("400 Bad Request", lines, REFUSAL)]),
        policy,
    );
    let got = stage.ask(&forgetful((Dialect::Chat, true)));
    assert_eq!((got.status, got.text().as_str()), (Some(400), REFUSAL));
    assert_eq!(stage.upstream.requests().len(), 1);
    assert!(matches!(stage.ending(1), ExchangeEnding::Released { .. }));
}

#[test]
fn names_that_no_provider_takes_are_repaired() {
    for way in ways() {
        let replies = vec![http(way.0, way.1, &turn("1", "It is warm.", &[]))];
        let stage = Stage::attended(upstream(replies));
        let mut agent = Agent::new(way);
        let named = (GOOD.0, "search the web", GOOD.2);
        agent
            .history
            .extend(spoken(way.0, &turn("0", "I look.", &[named])));
        agent.history.push(output(way.0, GOOD.0, "9 degrees"));
        let mut client = stage.send(&agent, "");
        let why = stage.held(1);
        assert!(why.contains("invalid-tool-name"), "{way:?}: {why}");
        assert!(stage.upstream.requests().is_empty());
        stage.command(&ProxyCommand::ReleaseAll);
        assert_eq!(client.receive(PATIENCE).status, Some(200));
    }
}
