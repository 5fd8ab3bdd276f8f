//! What an agent receives from a proxy that injects faults, whole and streamed, in every dialect.

use crate::proxy::speech::{Agent, GOOD, body, events, http, read_stream, turn, ways};
use crate::proxy::stage::{PATIENCE, keeping, options, upstream};
use crate::proxy_wire::client::{Client, Got};
use crate::proxy_wire::fake::Fake;
use retake_core::chaos::{ChaosSpec, Injection, InjectionPlan, Reaction};
use retake_core::session::Dialect;
use retake_core::wire::stream::visible;
use retake_core::wire::write::{calls_of, history_of};
use retake_live::proxy::{Chaos, Proxy};
use retake_live::{ReadOptions, check_recording, read_path};
use std::net::SocketAddr;
use std::sync::Arc;
use tempfile::TempDir;

/// A proxy that injects faults.
struct Stage {
    folder: TempDir,
    upstream: Fake,
    address: SocketAddr,
    chaos: Arc<Chaos>,
    proxy: Option<Proxy>,
}

impl Stage {
    fn new(upstream: Fake, spec: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec = ChaosSpec::parse(spec).unwrap();
        let chaos = Arc::new(Chaos::new(&spec, InjectionPlan::InTurn(spec.trials())));
        let options = options(&[upstream.url()], folder.path().join("proxy.jsonl"));
        let (report, news) = keeping();
        let proxy = Proxy::start_with_chaos(options, chaos.clone(), report).unwrap();
        let address = crate::proxy::stage::addresses(&news)[0];
        Self {
            folder,
            upstream,
            address,
            chaos,
            proxy: Some(proxy),
        }
    }

    fn ask(&self, agent: &Agent) -> Got {
        let (path, body) = (
            crate::proxy::speech::path((agent.dialect, agent.streams)),
            agent.request(),
        );
        let (address, length) = (self.address, body.len());
        let mut client = Client::connect(address);
        client.send(format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes());
        client.receive(PATIENCE)
    }

    fn injection(&self) -> Injection {
        let injections = self.chaos.injections();
        assert_eq!(injections.len(), 1, "{injections:?}");
        injections[0].clone()
    }
}

fn whole(agent: &Agent, got: &Got) -> String {
    match agent.streams {
        true => read_stream(agent.dialect, &got.body),
        false => got.text(),
    }
}

fn says(fault: &str) -> String {
    format!("seed = 5\nfaults = [\"{fault}\"]\n[slow]\npause = \"1ms\"\n")
}

#[test]
fn a_chosen_reply_is_another_and_all_others_pass_byte_for_byte() {
    for way in ways() {
        let (dialect, streams) = way;
        let first = turn("1", "I look.", &[GOOD]);
        let second = turn("2", "It is warm in Oslo.", &[]);
        let replies = [&first, &second].map(|reply| http(dialect, streams, reply));
        let stage = Stage::new(upstream(replies.to_vec()), &says("unknown-tool-far"));
        let mut agent = Agent::new(way);
        let calls = agent.reads(&stage.ask(&agent));
        assert_eq!(calls.len(), 1, "{dialect:?}");
        assert_eq!(calls[0].0, GOOD.0);
        assert_ne!(calls[0].1, GOOD.1, "{dialect:?} {streams}");
        agent.answers(GOOD.0, "error: there is no such tool");
        let got = stage.ask(&agent);
        assert_eq!(got.body, body(dialect, streams, &second));
        let injection = stage.injection();
        assert_eq!(
            (injection.turn, injection.times, injection.requests_after),
            (1, 1, 1)
        );
        assert_eq!(injection.how, Some(Reaction::Answered));
    }
}

#[test]
fn a_streamed_fault_says_what_the_whole_one_says() {
    for fault in [
        "malformed-arguments",
        "cut-arguments",
        "schema-break",
        "duplicate-call-id",
        "call-as-text",
    ] {
        for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
            if dialect == Dialect::Anthropic && fault.ends_with("-arguments") {
                // Its whole replies hold an object.
                continue;
            }
            let told = [false, true].map(|streams| {
                let agent = Agent::new((dialect, streams));
                let reply = http(dialect, streams, &turn("1", "I look.", &[GOOD]));
                let stage = Stage::new(upstream(vec![reply]), &says(fault));
                let got = stage.ask(&agent);
                assert_eq!(got.status, Some(200), "{}", got.text());
                let json = whole(&agent, &got);
                (
                    history_of(dialect, &json).unwrap(),
                    calls_of(dialect, &json).unwrap(),
                )
            });
            assert_eq!(told[0].1, told[1].1, "{fault} {dialect:?}");
            let values = told.map(|(elements, _)| {
                let read = |text: &String| serde_json::from_str::<serde_json::Value>(text).unwrap();
                let mut values: Vec<_> = elements.iter().map(read).collect();
                values.iter_mut().for_each(plain);
                values
            });
            assert_eq!(values[0], values[1], "{fault} {dialect:?}");
        }
    }
}

/// Without what a stream does not tell.
fn plain(value: &mut serde_json::Value) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, value| !value.is_null());
        members.remove("logprobs");
        members.values_mut().for_each(plain);
    } else if let Some(values) = value.as_array_mut() {
        values.iter_mut().for_each(plain);
    }
}

#[test]
fn an_error_comes_without_asking_the_upstream_and_its_retry_is_answered() {
    for way in ways() {
        let (dialect, streams) = way;
        let reply = turn("1", "Warm.", &[]);
        for (fault, status) in [("http-429", 429), ("http-500", 500), ("http-503", 503)] {
            let stage = Stage::new(upstream(vec![http(dialect, streams, &reply)]), &says(fault));
            let agent = Agent::new(way);
            let refused = stage.ask(&agent);
            assert_eq!(refused.status, Some(status));
            assert_eq!(stage.upstream.requests().len(), 0);
            let told = serde_json::from_str::<serde_json::Value>(&refused.text()).unwrap();
            // The error of Converse is the body itself.
            let error = told.get("error").unwrap_or(&told);
            assert!(error["message"].is_string(), "{told}");
            let retry_after = refused.header("retry-after").map(str::to_owned);
            assert_eq!(retry_after.is_some(), status == 429);
            assert_eq!(refused.header("x-should-retry"), None);
            assert_eq!(stage.ask(&agent).body, body(dialect, streams, &reply));
            assert_eq!(stage.injection().how, Some(Reaction::Retried));
        }
    }
}

#[test]
fn a_conversation_gets_the_fault_as_often_in_a_row_as_the_spec_says() {
    let way = (Dialect::Chat, false);
    let reply = turn("1", "Warm.", &[]);
    let spec = format!("times = 3\n{}", says("http-500"));
    let stage = Stage::new(upstream(vec![http(way.0, way.1, &reply)]), &spec);
    let agent = Agent::new(way);
    let statuses = [0; 5].map(|_| stage.ask(&agent).status);
    // Whoever has a reply and asks the same once more is another run.
    assert_eq!(statuses, [500, 500, 500, 200, 500].map(Some));
    let injections = stage.chaos.injections();
    assert_eq!(injections.len(), 2);
    assert_eq!((injections[0].times, injections[0].requests_after), (3, 3));
}

#[test]
fn a_cut_stream_is_the_beginning_of_what_came_and_a_slow_one_all_of_it() {
    for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
        let reply = turn("1", "It is rather warm in Rome today.", &[]);
        let all = events(dialect, &reply).concat();
        let agent = Agent::new((dialect, true));
        let stage = Stage::new(
            upstream(vec![http(dialect, true, &reply)]),
            &says("cut-stream"),
        );
        let got = stage.ask(&agent);
        assert!(!got.is_whole, "{dialect:?}");
        assert!(!got.body.is_empty() && got.body.len() < all.len());
        assert!(all.starts_with(&got.body), "{dialect:?}");
        assert!(!got.body.ends_with(b"\n\n"), "an event is torn");
        let slow = Stage::new(
            upstream(vec![http(dialect, true, &reply)]),
            &says("slow-stream"),
        );
        let got = slow.ask(&agent);
        assert!(got.is_whole);
        assert_eq!(got.body, all);
        assert!(slow.injection().was_read);
        // A whole reply is not a stream.
        let agent = Agent::new((dialect, false));
        let none = Stage::new(
            upstream(vec![http(dialect, false, &reply)]),
            &says("cut-stream"),
        );
        assert_eq!(none.ask(&agent).body, body(dialect, false, &reply));
        assert_eq!(none.chaos.injections(), []);
    }
}

#[test]
fn a_fault_waits_for_the_turn_that_it_is_for() {
    let way = (Dialect::Responses, true);
    let replies = [turn("1", "", &[GOOD]), turn("2", "Warm.", &[])];
    let replies = replies.map(|reply| http(way.0, way.1, &reply));
    let spec = format!("turns = [2]\n{}", says("empty-final-output"));
    let stage = Stage::new(upstream(replies.to_vec()), &spec);
    let mut agent = Agent::new(way);
    assert_eq!(agent.reads(&stage.ask(&agent))[0].1, GOOD.1);
    agent.answers(GOOD.0, "12 degrees");
    let last = whole(&agent, &stage.ask(&agent));
    assert!(!visible(&last).contains("Warm"), "{last}");
    assert_eq!(stage.injection().turn, 2);
}

#[test]
fn a_client_that_goes_on_behind_a_reply_is_known_by_the_id_of_that_reply() {
    for streams in [false, true] {
        let way = (Dialect::Responses, streams);
        let replies = ["1", "2", "3", "4"].map(|tag| http(way.0, streams, &turn(tag, "Yes.", &[])));
        let spec = format!("turns = [2]\n{}", says("empty-final-output"));
        let stage = Stage::new(upstream(replies.to_vec()), &spec);
        let asks = |behind: Option<&str>| {
            let mut agent = Agent::new(way);
            if let Some(id) = behind {
                agent.members = serde_json::json!({"previous_response_id": id});
            }
            let reply = whole(&agent, &stage.ask(&agent));
            let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
            reply["id"].as_str().unwrap().to_owned()
        };
        let [one, other] = [asks(None), asks(None)];
        assert_ne!(one, other);
        asks(Some(&one));
        let third = asks(Some(&other));
        let injections = stage.chaos.injections();
        let of: Vec<usize> = injections.iter().map(|one| one.conversation).collect();
        assert_eq!(of, [1, 2], "{streams}");
        // A reply that got a fault is gone on behind, too.
        asks(Some(&third));
        assert_eq!(stage.chaos.injections()[1].how, Some(Reaction::Told));
        assert_eq!(stage.chaos.conversations(), 2);
    }
}

#[test]
fn what_the_agent_got_is_in_the_journal_and_found_there() {
    let has_text = |(dialect, streams): &(Dialect, bool)| {
        let facts = dialect.facts();
        !facts.object_arguments || (*streams && !facts.streams_objects)
    };
    for way in ways().filter(has_text) {
        let reply = http(way.0, way.1, &turn("1", "", &[GOOD]));
        let mut stage = Stage::new(upstream(vec![reply]), &says("malformed-arguments"));
        stage.ask(&Agent::new(way));
        drop(stage.proxy.take());
        let path = stage.folder.path().join("proxy.jsonl");
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        let findings = check_recording(&recording, None).unwrap();
        let rules: Vec<&str> = findings.iter().flatten().map(|one| one.rule.id).collect();
        assert!(rules.contains(&"malformed-arguments"), "{way:?} {rules:?}");
    }
}

#[test]
fn each_conversation_gets_a_fault_of_its_own_in_the_same_order_for_the_same_seed() {
    let order = |seed: u64| {
        let way = (Dialect::Chat, false);
        let reply = http(way.0, way.1, &turn("1", "", &[GOOD]));
        let spec = format!(
            "seed = {seed}\nfaults = [\"unknown-tool-near\", \"unknown-tool-far\", \"cut-arguments\", \"schema-break\", \"http-500\"]"
        );
        let stage = Stage::new(upstream(vec![reply]), &spec);
        let mut bodies = Vec::new();
        for number in 0..5 {
            let mut agent = Agent::new(way);
            agent.history[0]["content"] = format!("Question {number}").into();
            bodies.push(stage.ask(&agent).body);
        }
        let injections = stage.chaos.injections();
        let faults: Vec<&str> = injections.iter().map(|one| one.trial.fault.id).collect();
        (faults, bodies)
    };
    let (faults, bodies) = order(1);
    assert_eq!((faults.clone(), bodies), order(1));
    let mut sorted = faults.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 5, "{faults:?}");
    assert!((2..9).any(|seed| order(seed).0 != faults));
}
