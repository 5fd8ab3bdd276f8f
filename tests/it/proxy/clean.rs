//! What is in order, or what nobody is there to decide about, passes byte for byte.

use super::speech::{Agent, BAD, GOOD, THEN, body, events, http, stream_head, turn, user, ways};
use super::stage::{PATIENCE, Stage, addresses, upstream};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::fake::{Fake, chunk, reply};
use retake_core::engine::Policy;
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

#[test]
fn what_is_in_order_passes_byte_for_byte_in_both_directions() {
    for (dialect, streams) in ways() {
        let answer = turn("1", "Let me look.", &[GOOD]);
        let stage = Stage::by(upstream(vec![http(dialect, streams, &answer)]), INJECT);
        let agent = Agent::new((dialect, streams));
        let lines = "User-Agent: tester/1\r\nAuthorization: Bearer key\r\nX-Own: a\r\nX-Own: b\r\n";
        let got = stage.send(&agent, lines).receive(PATIENCE);
        assert_eq!(got.status, Some(200));
        assert!(got.is_whole);
        assert_eq!(
            got.body,
            body(dialect, streams, &answer),
            "{dialect:?} {streams}"
        );
        assert_eq!(got.header("content-length").is_some(), !streams);
        let requests = stage.upstream.requests();
        assert_eq!(requests.len(), 1, "{dialect:?} {streams}");
        assert_eq!(requests[0].body, agent.request().as_bytes());
        assert_eq!(requests[0].all("x-own"), ["a", "b"]);
        assert_eq!(requests[0].header("authorization"), Some("Bearer key"));
        assert_eq!(requests[0].header("user-agent"), Some("tester/1"));
        assert!(requests[0].line.contains("beta=1"));
        assert_eq!(stage.ending(1), ExchangeEnding::Passed);
        assert!(stage.found().is_empty() && stage.decided().is_empty());
    }
}

#[test]
fn a_call_of_a_stream_flows_before_the_stream_has_ended() {
    // Chat says that a call is complete only with all of them.
    for dialect in [Dialect::Responses, Dialect::Anthropic] {
        let pieces = events(dialect, &turn("1", "Let me look.", &[GOOD, THEN]));
        let whole = pieces.concat();
        let at = 1 + pieces
            .iter()
            .position(|piece| contains(piece, THEN.0))
            .unwrap();
        let (first, rest) = (pieces[..at].concat(), pieces[at..].concat());
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let upstream = Fake::start(move |_, stream| {
            stream.write_all(stream_head(dialect).as_bytes()).unwrap();
            stream.write_all(&chunk(&first)).unwrap();
            let _ = wait.lock().unwrap().recv_timeout(super::stage::PATIENCE);
            stream.write_all(&chunk(&rest)).unwrap();
            stream.write_all(b"0\r\n\r\n").is_ok()
        });
        let stage = Stage::by(upstream, INJECT);
        let mut client = stage.send(&Agent::new((dialect, true)), "");
        // The second call is not complete yet.
        client.until_comes(GOOD.0);
        go.send(()).unwrap();
        let got = client.receive(PATIENCE);
        assert!(
            got.is_whole && got.body == whole,
            "{dialect:?}: {}",
            got.text()
        );
    }
}

fn contains(bytes: &[u8], what: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(what)
}

#[test]
fn with_nobody_there_and_no_policy_everything_passes_and_is_told() {
    for (dialect, streams) in ways() {
        let answer = turn("1", "Let me look.", &[GOOD, BAD]);
        let stage = Stage::new(upstream(vec![http(dialect, streams, &answer)]), |_| {});
        let mut agent = Agent::new((dialect, streams));
        let got = stage.ask(&agent);
        assert_eq!(
            got.body,
            body(dialect, streams, &answer),
            "{dialect:?} {streams}"
        );
        assert_eq!(agent.reads(&got).len(), 2);
        let seen = stage.over(1);
        assert_eq!(stage.ending(1), ExchangeEnding::Passed);
        let found = seen.found.iter().map(|one| one.rule).collect::<Vec<_>>();
        assert_eq!(found, ["unknown-tool"], "{dialect:?} {streams}");
        assert_eq!(stage.found(), ["unknown-tool"]);
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn errors_of_the_provider_pass_with_their_status_and_their_lines() {
    for (status, code) in [
        ("429 Too Many Requests", 429),
        ("401 Unauthorized", 401),
        ("503 Service Unavailable", 503),
        ("400 Bad Request", 400),
    ] {
        let text = r#"{"error":{"message":"no","type":"x","code":null}}"#;
        let lines = "content-type: application/json\r\nretry-after: 7\r\nx-request-id: r1\r\n";
        let stage = Stage::by(upstream(vec![reply(status, lines, text)]), INJECT);
        let got = stage.ask(&Agent::new((Dialect::Chat, true)));
        assert_eq!((got.status, got.text().as_str()), (Some(code), text));
        assert_eq!(got.header("retry-after"), Some("7"));
        assert_eq!(got.header("x-request-id"), Some("r1"));
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn an_encoded_reply_passes_as_it_came_and_is_flagged() {
    let bytes = b"\x1f\x8b\x08\x00no gzip at all".to_vec();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    let stage = Stage::by(upstream(vec![[head.as_bytes(), &bytes].concat()]), INJECT);
    let agent = Agent::new((Dialect::Chat, false));
    let got = stage
        .send(&agent, "Accept-Encoding: gzip\r\n")
        .receive(PATIENCE);
    assert_eq!(got.body, bytes);
    assert_eq!(got.header("content-encoding"), Some("gzip"));
    assert_eq!(
        stage.upstream.requests()[0].header("accept-encoding"),
        Some("identity")
    );
    let notes = stage.over(1).notes;
    assert!(notes.iter().any(|note| note.contains("gzip")), "{notes:?}");
}

#[test]
fn what_the_provider_keeps_itself_passes_and_is_looked_at() {
    let answer = turn("1", "", &[BAD]);
    let stage = Stage::new(
        upstream(vec![http(Dialect::Responses, false, &answer)]),
        |_| {},
    );
    let mut agent = Agent::new((Dialect::Responses, false));
    agent.members = json!({"previous_response_id": "resp_0"});
    let got = stage.ask(&agent);
    assert_eq!(got.body, body(Dialect::Responses, false, &answer));
    assert_eq!(stage.over(1).found.len(), 1);
    assert_eq!(
        stage.upstream.requests()[0].body,
        agent.request().as_bytes()
    );
}

#[test]
fn what_the_agent_could_not_be_told_again_later_is_not_mended() {
    for streams in [false, true] {
        let replies = [turn("1", "", &[BAD]), turn("2", "", &[THEN])];
        let replies = replies
            .iter()
            .map(|reply| http(Dialect::Responses, streams, reply))
            .collect();
        let stage = Stage::by(upstream(replies), INJECT);
        let mut agent = Agent::new((Dialect::Responses, streams));
        agent.members = json!({"previous_response_id": "resp_0"});
        assert_eq!(
            stage.turn(&mut agent),
            [(BAD.0.to_owned(), BAD.1.to_owned())]
        );
        let ExchangeEnding::Released { by } = stage.ending(1) else {
            panic!("released");
        };
        assert!(
            by.contains("the provider keeps this conversation itself"),
            "{by}"
        );
        assert_eq!(stage.upstream.requests().len(), 1);
        // A good call beside it is another matter: its output is spliced in by its call alone.
        let replies = [turn("1", "", &[GOOD, BAD]), turn("2", "", &[])];
        let replies = replies
            .iter()
            .map(|reply| http(Dialect::Responses, streams, reply))
            .collect();
        let stage = Stage::by(upstream(replies), INJECT);
        assert_eq!(
            stage.turn(&mut agent),
            [(GOOD.0.to_owned(), GOOD.1.to_owned())]
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        agent.history = vec![super::speech::output(
            Dialect::Responses,
            GOOD.0,
            "9 degrees",
        )];
        agent.members = json!({"previous_response_id": "resp_1"});
        stage.ask(&agent);
        let second = stage.asked().remove(1).to_string();
        assert!(
            second.contains(BAD.0) && second.contains(GOOD.0),
            "{second}"
        );
    }
}

#[test]
fn what_was_hidden_from_one_agent_is_told_to_no_other_upstream_and_in_no_other_conversation() {
    for (dialect, streams) in ways() {
        let bad = ("call_search_0001a", BAD.1, BAD.2);
        let good = ("call_search_0002a", GOOD.1, GOOD.2);
        let [bad, good] = [("1", bad), ("2", good)].map(|(tag, call)| turn(tag, "", &[call]));
        let replies = [&bad, &good, &good, &good, &good];
        let replies = replies.map(|reply| http(dialect, streams, reply)).to_vec();
        let stage = Stage::new(upstream(replies), |options| {
            options.policy = Policy::parse(INJECT).unwrap();
            options.upstreams.push(options.upstreams[0].clone());
        });
        let ask = |address: SocketAddr, agent: &mut Agent| {
            let spelled = stage.spelled(agent, "");
            let mut client = Client::connect(address);
            client.send(
                spelled
                    .replace(&stage.address.to_string(), &address.to_string())
                    .as_bytes(),
            );
            agent.reads(&client.receive(PATIENCE))
        };
        let user = |text: &str| user(dialect, text);
        let mut first = Agent::new((dialect, streams));
        first.history = vec![user("Hello."), user("Go on.")];
        let mut same = first.clone();
        let mut other = first.clone();
        other.history = vec![user("Where were we?"), user("Go on.")];
        assert_eq!(ask(stage.address, &mut first)[0].0, "call_search_0002a");
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        // The same words at another upstream, and other words at the same one.
        for (address, agent) in [
            (addresses(&stage.news)[1], &mut same),
            (stage.address, &mut other),
        ] {
            ask(address, agent);
            agent.answers("call_search_0002a", "9 degrees");
            ask(address, agent);
        }
        first.answers("call_search_0002a", "9 degrees");
        ask(stage.address, &mut first);
        let asked = stage.asked();
        let told = asked[2..].iter().map(ToString::to_string);
        let told = told.map(|asked| asked.contains("call_search_0001a"));
        let told = told.collect::<Vec<_>>();
        assert_eq!(
            told,
            [false, false, false, false, true],
            "{dialect:?} {streams}"
        );
    }
}
