//! Conversations that the provider keeps: threads of Anthropic, and Responses that name the one before. The provider is a scripted model,
//! which refuses what its original refuses; an agent sends only what is new.

use super::speech::{calls_in, list, output, path, read_stream};
use super::stage::{PATIENCE, addresses, keeping, options};
use crate::proxy_wire::client::{Client, Got};
use retake_core::engine::Policy;
use retake_core::exchange::{ExchangeEnding, ExchangePhase};
use retake_core::script::Script;
use retake_core::session::Dialect;
use retake_core::wire::write::history_of;
use retake_live::proxy::{Proxy, ProxyNews};
use retake_live::scripted::{ANY_PORT, ScriptedServer};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tempfile::TempDir;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\nwording = \"nearest\"\n";
const SUGGEST: &str = "[on.unknown-tool]\ndo = \"suggest\"\n";
const RETRY: &str = "[on.unknown-tool]\ndo = \"retry\"\n";
const DROP: &str = "[on.unknown-tool]\ndo = \"drop\"\n";

/// Tools: one that is offered, and one that is not.
const GOOD: &str = "search";
const BAD: &str = "serch";

/// Both APIs that keep conversations, whole and streamed.
fn ways() -> impl Iterator<Item = (Dialect, bool)> {
    [Dialect::Responses, Dialect::Anthropic]
        .into_iter()
        .flat_map(|dialect| [(dialect, false), (dialect, true)])
}

/// A call as scripts spell it; the number tells it from others.
fn call(tool: &str, number: usize) -> String {
    format!("{{ name = \"{tool}\", arguments = {{ city = \"Oslo {number}\" }} }}")
}

/// A model that makes these calls, turn by turn, and then says what it was told last.
fn model(turns: &[&[&str]]) -> ScriptedServer {
    let mut script = "name = \"kept\"\n".to_owned();
    for (turn, calls) in turns.iter().enumerate() {
        let calls = calls
            .iter()
            .enumerate()
            .map(|(place, tool)| call(tool, 10 * turn + place));
        let calls = calls.collect::<Vec<_>>().join(", ");
        let turn = turn + 1;
        script += &format!("[[rule]]\nturn = {turn}\ntext = \"Let me look.\"\ncalls = [{calls}]\n");
    }
    script += "[[rule]]\ntext = \"It is warm.\"\n";
    ScriptedServer::start(Script::parse("kept", &script).unwrap(), ANY_PORT).unwrap()
}

/// A proxy before it, with a policy.
struct Stage {
    _folder: TempDir,
    _model: ScriptedServer,
    _proxy: Proxy,
    address: SocketAddr,
    news: Arc<Mutex<Vec<ProxyNews>>>,
}

impl Stage {
    fn new(model: ScriptedServer, policy: &str) -> Self {
        Self::with(model, policy, false)
    }

    fn with(model: ScriptedServer, policy: &str, has_operator: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("http://{}", model.address());
        let mut options = options(&[url], folder.path().join("proxy.jsonl"));
        options.policy = Policy::parse(policy).unwrap();
        options.has_operator = has_operator;
        let (report, news) = keeping();
        let proxy = Proxy::start(options, report).unwrap();
        Self {
            _folder: folder,
            _model: model,
            _proxy: proxy,
            address: addresses(&news)[0],
            news,
        }
    }

    /// How the first exchanges ended, and the rules of what was found in them.
    fn ended(&self, count: u32) -> Vec<(ExchangeEnding, Vec<&'static str>)> {
        let since = Instant::now();
        loop {
            let news = self.news.lock().unwrap();
            let mut ended = std::collections::BTreeMap::new();
            for one in news.iter() {
                if let ProxyNews::Exchange(seen) = one
                    && let ExchangePhase::Ended(ending) = &seen.phase
                {
                    let rules = seen.found.iter().map(|found| found.rule).collect();
                    ended.insert(seen.id.0, (ending.clone(), rules));
                }
            }
            drop(news);
            if ended.len() as u32 >= count {
                return ended.into_values().collect();
            }
            assert!(since.elapsed() < PATIENCE, "{ended:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// An agent that leaves its history with the provider.
struct Agent {
    address: SocketAddr,
    dialect: Dialect,
    streams: bool,
    /// The reply that it goes on from.
    last: Option<String>,
    /// The tools that it was asked to run.
    ran: Vec<String>,
    text: String,
}

impl Agent {
    fn new(address: SocketAddr, (dialect, streams): (Dialect, bool)) -> Self {
        Self {
            address,
            dialect,
            streams,
            last: None,
            ran: Vec::new(),
            text: String::new(),
        }
    }

    fn ask(&self, own: &[Value]) -> Got {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let mut body = json!({"model": "m", "stream": self.streams, list(self.dialect): own});
        if self.dialect == Dialect::Anthropic {
            body["max_tokens"] = json!(100);
            body["thread"] = match &self.last {
                Some(id) => json!({"type": "continue", "previous_message_id": id}),
                None => {
                    body["system"] = json!("You know the weather.");
                    body["tools"] = json!([{"name": "search", "input_schema": schema}]);
                    json!({"type": "create"})
                }
            };
        } else {
            body["tools"] = json!([{"type": "function", "name": "search", "parameters": schema}]);
            body["previous_response_id"] = json!(self.last);
        }
        let (path, address, body) = (path((self.dialect, false)), self.address, body.to_string());
        let mut client = Client::connect(address);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nanthropic-beta: message-threads-2026-08-12\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        client.send(request.as_bytes());
        client.receive(PATIENCE)
    }

    /// Asks until the model calls nothing any more; gives how many requests that took.
    #[track_caller]
    fn run(&mut self) -> u32 {
        let mut own = vec![json!({"role": "user", "content": "Where is it warm?"})];
        for count in 1..10 {
            let got = self.ask(&own);
            assert_eq!(got.status, Some(200), "request {count}: {}", got.text());
            let json = match self.streams {
                true => read_stream(self.dialect, &got.body),
                false => got.text(),
            };
            let reply: Value = serde_json::from_str(&json).unwrap();
            self.last = Some(reply["id"].as_str().unwrap().to_owned());
            let turn = history_of(self.dialect, &json).unwrap();
            let turn: Vec<Value> = turn
                .iter()
                .map(|text| serde_json::from_str(text).unwrap())
                .collect();
            let calls = calls_in(self.dialect, &turn);
            if calls.is_empty() {
                self.text = json;
                return count;
            }
            self.ran.extend(calls.iter().map(|(_, tool)| tool.clone()));
            own = answers(self.dialect, &calls);
        }
        panic!("it goes on and on: {:?}", self.ran);
    }
}

/// What answers calls: in Anthropic one message.
fn answers(dialect: Dialect, calls: &[(String, String)]) -> Vec<Value> {
    let outputs = calls.iter().map(|(id, _)| output(dialect, id, "9 degrees"));
    let outputs = outputs.collect::<Vec<_>>();
    if dialect != Dialect::Anthropic {
        return outputs;
    }
    let blocks = outputs.iter().map(|message| message["content"][0].clone());
    vec![json!({"role": "user", "content": blocks.collect::<Vec<_>>()})]
}

#[test]
fn a_sound_conversation_passes_and_nothing_is_found_in_it() {
    for (way, policy) in ways().flat_map(|way| [(way, INJECT), (way, "")]) {
        let stage = Stage::new(model(&[&[GOOD], &[GOOD, GOOD]]), policy);
        let mut agent = Agent::new(stage.address, way);
        assert_eq!(agent.run(), 3, "{way:?}");
        for ended in stage.ended(3) {
            assert_eq!(ended, (ExchangeEnding::Passed, Vec::new()), "{way:?}");
        }
        let news = stage.news.lock().unwrap();
        let is_noted =
            |one: &ProxyNews| matches!(one, ProxyNews::Exchange(seen) if !seen.notes.is_empty());
        assert!(!news.iter().any(is_noted), "{way:?} {policy}");
    }
}

/// A policy, the calls of each turn, and the tools that the agent is to run.
type Case<'a> = (&'a str, &'a [&'a [&'a str]], &'a [&'a str]);

#[test]
fn a_mended_turn_is_continued_whatever_was_decided() {
    let cases: [Case<'_>; 6] = [
        (INJECT, &[&[BAD], &[GOOD]], &["search"]),
        (INJECT, &[&[GOOD, BAD]], &["search"]),
        (INJECT, &[&[BAD, GOOD]], &["search"]),
        (
            INJECT,
            &[&[GOOD], &[BAD], &[GOOD], &[GOOD, BAD]],
            &["search", "search", "search"],
        ),
        (
            SUGGEST,
            &[&[BAD], &[GOOD, BAD]],
            &["search", "search", "search"],
        ),
        (DROP, &[&[GOOD, BAD], &[GOOD]], &["search", "search"]),
    ];
    for way in ways() {
        for (policy, turns, ran) in cases {
            let stage = Stage::new(model(turns), policy);
            let mut agent = Agent::new(stage.address, way);
            let count = agent.run();
            assert_eq!(agent.ran, ran, "{way:?} {policy} {turns:?}");
            assert!(agent.text.contains("It is warm."), "{}", agent.text);
            let ended = stage.ended(count);
            let bad = turns.iter().flat_map(|calls| calls.iter());
            let bad = bad.filter(|call| **call == BAD).count();
            let mended = ended
                .iter()
                .filter(|(how, _)| *how == ExchangeEnding::Mended);
            assert_eq!(mended.count(), bad, "{way:?} {policy} {turns:?}: {ended:?}");
            let mut rules = ended.iter().flat_map(|(_, rules)| rules);
            assert!(rules.all(|rule| *rule == "unknown-tool"), "{ended:?}");
        }
    }
}

#[test]
fn a_model_that_is_asked_again_is_continued_behind_what_it_said_then() {
    for way in ways() {
        let script = format!(
            "name = \"again\"\n[[rule]]\nturn = 1\nattempt = 2\ncalls = [{}]\n[[rule]]\nturn = 1\ncalls = [{}]\n[[rule]]\ntext = \"It is warm.\"\n",
            call(GOOD, 1),
            call(BAD, 2)
        );
        let script = Script::parse("again", &script).unwrap();
        let stage = Stage::new(ScriptedServer::start(script, ANY_PORT).unwrap(), RETRY);
        let mut agent = Agent::new(stage.address, way);
        agent.run();
        assert_eq!(agent.ran, ["search"], "{way:?}");
        assert_eq!(stage.ended(2)[0].0, ExchangeEnding::Mended, "{way:?}");
    }
}

#[test]
fn what_goes_on_from_an_unknown_reply_is_not_judged_and_that_is_said() {
    for way in ways() {
        let model = model(&[&[GOOD], &[BAD]]);
        // The first turn goes past the proxy.
        let mut agent = Agent::new(model.address(), way);
        let first = agent.ask(&[json!({"role": "user", "content": "Where is it warm?"})]);
        let json = match way.1 {
            true => read_stream(way.0, &first.body),
            false => first.text(),
        };
        let reply: Value = serde_json::from_str(&json).unwrap();
        agent.last = Some(reply["id"].as_str().unwrap().to_owned());
        let turn = history_of(way.0, &json).unwrap();
        let turn: Vec<Value> = turn
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        let own = answers(way.0, &calls_in(way.0, &turn));
        let stage = Stage::new(model, "[on.orphan-output]\ndo = \"drop\"\n");
        agent.address = stage.address;
        assert_eq!(agent.ask(&own).status, Some(200));
        let (ending, rules) = stage.ended(1).remove(0);
        assert_eq!(ending, ExchangeEnding::Passed, "{way:?}");
        assert!(!rules.contains(&"orphan-output"), "{rules:?}");
        let news = stage.news.lock().unwrap();
        let said = news.iter().any(|one| match one {
            ProxyNews::Exchange(seen) => {
                seen.notes.iter().any(|note| note.contains("was not seen"))
            }
            _ => false,
        });
        assert!(said, "{way:?}");
    }
}

#[test]
fn a_refusal_about_a_thread_is_its_agents_to_answer_and_holds_nobody() {
    for streams in [false, true] {
        let stage = Stage::with(model(&[&[GOOD]]), INJECT, true);
        let mut agent = Agent::new(stage.address, (Dialect::Anthropic, streams));
        agent.last = Some("msg_of_no_thread".to_owned());
        let refused = agent.ask(&[json!({"role": "user", "content": "Go on."})]);
        assert_eq!(refused.status, Some(404));
        assert!(
            refused.text().contains("thread_not_found"),
            "{}",
            refused.text()
        );
        // Each reply can be continued once.
        agent.last = None;
        let first = agent.ask(&[json!({"role": "user", "content": "Where is it warm?"})]);
        let json = match streams {
            true => read_stream(Dialect::Anthropic, &first.body),
            false => first.text(),
        };
        let reply: Value = serde_json::from_str(&json).unwrap();
        agent.last = Some(reply["id"].as_str().unwrap().to_owned());
        let turn = history_of(Dialect::Anthropic, &json).unwrap();
        let turn = turn.iter().map(|text| serde_json::from_str(text).unwrap());
        let calls = calls_in(Dialect::Anthropic, &turn.collect::<Vec<Value>>());
        let own = answers(Dialect::Anthropic, &calls);
        assert_eq!(agent.ask(&own).status, Some(200));
        let again = agent.ask(&own);
        assert_eq!(again.status, Some(400));
        assert!(
            again.text().contains("thread_already_continued"),
            "{}",
            again.text()
        );
        for (ending, _) in stage.ended(4) {
            assert_eq!(ending, ExchangeEnding::Passed);
        }
    }
}
