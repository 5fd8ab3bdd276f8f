//! A proxy without a screen, told what no proxy has done.

#![allow(clippy::unwrap_used)]

use super::Backlog;
use super::{Watched, watch};
use crate::cli::arguments::ProxyArguments;
use crate::cli::exit::{Exit, Failure};
use clap::{Args, FromArgMatches};
use retake_core::exchange::{
    ExchangeEnding, ExchangeFinding, ExchangeId, ExchangePhase, ExchangeSummary, Holding,
};
use retake_core::rules::Severity;
use retake_core::session::Dialect;
use retake_core::session::takes::Author;
use retake_live::proxy::agent::AgentCommand;
use retake_live::proxy::connect::Reach;
use retake_live::proxy::{Ports, ProxyNews, Report, Upstream};
use retake_live::{ReadOptions, check_recording, read_path};
use serde_json::Value;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

const UPSTREAMS: [&str; 2] = ["https://api.openai.com", "anthropic=http://127.0.0.1:9"];

/// What clap makes of these words.
fn arguments(words: &[&str]) -> Result<ProxyArguments, clap::Error> {
    let command = ProxyArguments::augment_args(clap::Command::new("proxy"));
    let words = ["proxy"].iter().chain(words);
    ProxyArguments::from_arg_matches(&command.try_get_matches_from(words)?)
}

#[test]
fn what_is_not_said_is_the_usual() {
    let given = [
        "--upstream",
        "https://api.openai.com",
        "--journal",
        "proxy.jsonl",
    ];
    let options = super::options(&arguments(&given).unwrap()).unwrap();
    assert_eq!(options.ports, Ports::default());
    assert_eq!(options.ports.first.to_string(), "127.0.0.1:8484");
    assert!(options.has_operator && options.intercepts && options.holds_requests);
    assert!(!options.allow_remote);
}

#[test]
fn what_is_said_is_done() {
    let given = [
        "--upstream",
        "https://api.openai.com",
        "--upstream",
        "mine=http://127.0.0.1:9",
        "--listen",
        "127.0.0.1:0",
        "--journal",
        "proxy.jsonl",
        "--headless",
        "--no-intercept",
        "--pass-requests",
        "--max-asks",
        "2",
        "--host-name",
        "devbox",
        "--insecure-upstream",
        "127.0.0.1",
        "--output",
        "/dev/null",
        "--",
        "python",
        "agent.py",
        "--headless",
    ];
    let arguments = arguments(&given).unwrap();
    let options = super::options(&arguments).unwrap();
    let names = options
        .upstreams
        .iter()
        .map(|upstream| upstream.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["api.openai.com", "mine"]);
    assert!(options.ports.are_fixed && !options.has_operator);
    assert!(!options.intercepts && !options.holds_requests);
    assert_eq!(
        (options.max_asks, options.host_names),
        (2, vec!["devbox".to_owned()])
    );
    let order = super::order(&arguments).unwrap().unwrap();
    assert_eq!(order.argv, ["python", "agent.py", "--headless"]);
    assert!(order.output.is_some());
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let one = ["--upstream", "http://127.0.0.1:9"];
    let refused = |more: &[&str]| {
        let words = one.iter().chain(more).copied().collect::<Vec<_>>();
        arguments(&words).unwrap_err().to_string()
    };
    assert!(
        arguments(&["--headless"])
            .unwrap_err()
            .to_string()
            .contains("--upstream")
    );
    assert!(refused(&["--upstream", "api.openai.com"]).contains("begins with https://"));
    assert!(refused(&["--headless", "--break", "tool pay"]).contains("cannot be used with"));
    assert!(refused(&["--output", "file"]).contains("CMD"));
    let words = [&one[..], &["--journal", "j", "--listen", "0.0.0.0:8484"]].concat();
    let far = super::options(&arguments(&words).unwrap());
    let Err(Failure::Refused { message, hint }) = far else {
        unreachable!("it was refused")
    };
    assert!(message.contains("0.0.0.0") && hint.unwrap().contains("--allow-remote"));
    let words = [&words[..], &["--allow-remote"]].concat();
    assert!(super::options(&arguments(&words).unwrap()).is_ok());
    let words = [
        &one[..],
        &["--journal", "j", "--policy", "/nonexistent.toml"],
    ]
    .concat();
    assert!(super::options(&arguments(&words).unwrap()).is_err());
}

/// What came of it: the lines, the hints, how it ended.
struct Came {
    lines: Vec<Value>,
    text: String,
    hints: String,
    exit: Result<Exit, Failure>,
}

impl Came {
    fn all(&self, kind: &str) -> Vec<&Value> {
        let lines = self.lines.iter();
        lines.filter(|line| line["type"] == kind).collect()
    }
}

/// A channel of news whose sender can be shared between threads.
fn wire() -> (Sender<ProxyNews>, Receiver<ProxyNews>, Report) {
    let (sender, news) = channel();
    let shared = Mutex::new(sender.clone());
    let report: Report = Arc::new(move |one| shared.lock().unwrap().send(one).unwrap());
    (sender, news, report)
}

fn listening(port: u16) -> ProxyNews {
    ProxyNews::Listening {
        address: ([127, 0, 0, 1], port).into(),
        base: format!("http://127.0.0.1:{port}"),
        upstream: "api.openai.com".to_owned(),
    }
}

/// A proxy that tells this and then gets a signal; `last` is told while it stops.
fn after(news: Vec<ProxyNews>, last: Vec<ProxyNews>) -> Came {
    let (sender, received, report) = wire();
    for one in news {
        sender.send(one).unwrap();
    }
    let left = Cell::new(50);
    // The signal comes when there is nothing new for a while.
    let signal = || {
        left.set(left.get() - 1);
        (left.get() == 0).then_some(15)
    };
    let stop = || last.into_iter().for_each(|one| sender.send(one).unwrap());
    came(1, &received, &report, None, signal, stop)
}

/// An agent that is started when two listeners are ready.
fn with_agent(script: &str) -> Came {
    let (sender, received, report) = wire();
    sender.send(listening(8484)).unwrap();
    sender.send(listening(8485)).unwrap();
    let order = AgentCommand {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        inherits_input: false,
        defaults: &[],
        output: None,
    };
    came(2, &received, &report, Some(order), || None, || {})
}

fn came(
    upstreams: usize,
    news: &Receiver<ProxyNews>,
    report: &Report,
    order: Option<AgentCommand>,
    signal: impl Fn() -> Option<i32>,
    stop: impl FnOnce(),
) -> Came {
    let (mut out, mut hints) = (Vec::new(), Vec::new());
    let reaches = (8484..)
        .zip(&UPSTREAMS[..upstreams])
        .map(|(port, text)| Reach {
            base: format!("http://127.0.0.1:{port}"),
            upstream: Upstream::parse(text).unwrap(),
        });
    let watched = Watched {
        reaches: &reaches.collect::<Vec<_>>(),
        journal: Path::new("proxy.jsonl"),
        news,
        backlog: &Backlog::default(),
        report,
        order,
    };
    let exit = watch(watched, signal, stop, &mut out, &mut hints);
    let text = String::from_utf8(out).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Came {
        lines: lines.collect(),
        text: text.clone(),
        hints: String::from_utf8(hints).unwrap(),
        exit,
    }
}

fn seen(id: u32, phase: ExchangePhase) -> ProxyNews {
    ProxyNews::Exchange(Arc::new(ExchangeSummary {
        id: ExchangeId(id),
        client: "openai-python 3.52.0".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/responses".to_owned(),
        dialect: Some(Dialect::Responses),
        model: "gpt\u{1b}[2J".to_owned(),
        status: Some(200),
        found: vec![ExchangeFinding {
            rule: "unknown-tool",
            severity: Severity::Error,
            tool: Some("serch".to_owned()),
            message: "no tool is called serch".to_owned(),
        }],
        phase,
        ..ExchangeSummary::default()
    }))
}

fn holding(since_ms: u64) -> Holding {
    Holding {
        is_request: false,
        since_ms,
        until_ms: Some(since_ms + 600_000),
        is_gone: false,
        has: retake_core::exchange::AgentHas::default(),
        why: "unknown-tool".to_owned(),
    }
}

fn held(since_ms: u64) -> ExchangePhase {
    ExchangePhase::Held(holding(since_ms))
}

fn asking_again(since_ms: u64) -> ExchangePhase {
    ExchangePhase::AskingAgain(holding(since_ms))
}

#[test]
fn the_address_comes_first_and_how_a_client_gets_there_goes_to_stderr_in_a_line() {
    let notice = ProxyNews::Notice("the folder is open to others".to_owned());
    let came = after(vec![notice, listening(8484)], Vec::new());
    assert_eq!(came.lines[1]["message"], "the folder is open to others");
    let first = &came.lines[0];
    assert_eq!(first["type"], "listening");
    assert_eq!(first["address"], "http://127.0.0.1:8484");
    assert_eq!(first["upstream"], "api.openai.com");
    assert_eq!(first["journal"], "proxy.jsonl");
    assert!(
        came.hints
            .contains("export OPENAI_BASE_URL=http://127.0.0.1:8484/v1")
    );
    assert!(came.hints.lines().count() <= 3, "{}", came.hints);
    assert_eq!(came.exit.unwrap(), Exit::Signal(15));
}

#[test]
fn an_exchange_is_told_when_it_is_over_and_once() {
    let news = vec![
        listening(8484),
        seen(1, ExchangePhase::Asking),
        seen(2, ExchangePhase::Waiting),
        seen(2, ExchangePhase::Ended(ExchangeEnding::Passed)),
        seen(1, ExchangePhase::Ended(ExchangeEnding::Mended)),
        seen(2, ExchangePhase::Ended(ExchangeEnding::Passed)),
    ];
    let why = "the connection was refused".to_owned();
    let came = after(
        news,
        vec![seen(
            3,
            ExchangePhase::Ended(ExchangeEnding::NoReply { why }),
        )],
    );
    let told = came.all("exchange");
    let told = told.iter().map(|line| (&line["exchange"], &line["how"]));
    let told = told.map(|(id, how)| format!("{id} {how}"));
    let told = told.collect::<Vec<_>>();
    assert_eq!(told, ["2 \"passed\"", "1 \"mended\"", "3 \"no-reply\""]);
    let line = came.all("exchange")[0];
    assert_eq!(line["upstream"], "api.openai.com");
    assert_eq!(line["dialect"], "responses");
    assert_eq!(line["findings"][0]["rule"], "unknown-tool");
    assert_eq!(came.all("exchange")[2]["why"], "the connection was refused");
    let end = came.lines.last().unwrap();
    assert_eq!(end["type"], "end");
    assert_eq!(
        (&end["why"], &end["signal"]),
        (&"signal".into(), &15.into())
    );
    for (count, wanted) in [
        ("exchanges", 3),
        ("passed", 1),
        ("mended", 1),
        ("no_reply", 1),
        ("held", 0),
    ] {
        assert_eq!(end[count], wanted, "{count}");
    }
}

#[test]
fn a_hold_is_told_when_it_begins_and_again_when_it_begins_again() {
    let came = after(
        vec![
            listening(8484),
            seen(1, held(1000)),
            seen(1, held(1000)),
            seen(1, asking_again(1000)),
            seen(1, held(2000)),
            seen(1, ExchangePhase::Ended(ExchangeEnding::Cut)),
        ],
        Vec::new(),
    );
    let held = came.all("held");
    assert_eq!(held.len(), 2);
    assert_eq!(held[0]["of"], "reply");
    assert_eq!(held[0]["until_ms"], 601_000);
    assert_eq!(held[1]["since_ms"], 2000);
    assert_eq!(came.lines.last().unwrap()["held"], 2);
}

#[test]
fn findings_are_those_of_check_with_the_exchange_before() {
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sessions/unknown-tool.json"
    ));
    let recording = Arc::new(read_path(path, &ReadOptions::default()).unwrap());
    let findings = Arc::new(check_recording(&recording, None).unwrap().remove(0));
    assert!(!findings.is_empty());
    let found = |id| ProxyNews::Found {
        id: ExchangeId(id),
        findings: findings.clone(),
        session: recording.clone(),
    };
    let decided = ProxyNews::Decided {
        id: ExchangeId(7),
        rule: Some("unknown-tool".to_owned()),
        action: "inject".to_owned(),
        by: Author::Policy,
        wording: Some("nearest".to_owned()),
        text_sent: false,
    };
    let came = after(
        vec![listening(8484), found(7), found(7), found(8), decided],
        Vec::new(),
    );
    let told = came.all("finding");
    assert_eq!(
        told.len(),
        findings.len() * 2,
        "each once for each exchange"
    );
    assert_eq!(told[0]["exchange"], 7);
    assert_eq!(told[0]["rule"], findings[0].rule.id);
    assert!(told[0]["offers"].is_array());
    let decision = came.all("decision")[0];
    let words =
        ["exchange", "rule", "action", "by", "wording"].map(|key| decision[key].to_string());
    assert_eq!(
        words.join(" "),
        r#"7 "unknown-tool" "inject" "policy" "nearest""#
    );
}

#[test]
fn nothing_that_a_terminal_obeys_is_told() {
    let notice = ProxyNews::Notice("cut\u{202e}off".to_owned());
    let came = after(
        vec![
            listening(8484),
            notice,
            seen(1, ExchangePhase::Ended(ExchangeEnding::Passed)),
        ],
        Vec::new(),
    );
    assert!(!came.text.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(came.all("exchange")[0]["model"], "gpt\u{1b}[2J");
}

#[test]
fn an_agent_is_started_when_all_listeners_are_ready_and_its_exit_code_is_passed_on() {
    let came = with_agent("echo $OPENAI_BASE_URL; echo $ANTHROPIC_BASE_URL; exit 7");
    assert_eq!(came.exit.unwrap(), Exit::Command(7));
    let output = came.lines.iter().filter(|line| line["type"] == "output");
    let output = output.map(|line| {
        (
            line["stream"].as_str().unwrap(),
            line["text"].as_str().unwrap(),
        )
    });
    let wanted = [
        ("stdout", "http://127.0.0.1:8484/v1"),
        ("stdout", "http://127.0.0.1:8485"),
    ];
    assert_eq!(output.collect::<Vec<_>>(), wanted);
    let end = came.lines.last().unwrap();
    assert_eq!((&end["why"], &end["code"]), (&"agent".into(), &7.into()));
    assert_eq!(came.hints, "", "the agent knows already");
}

#[test]
fn an_agent_that_a_signal_ended_ends_the_proxy_the_same_way() {
    let came = with_agent("kill -9 $$");
    assert_eq!(came.exit.unwrap(), Exit::Signal(9));
}

#[test]
fn an_agent_that_cannot_be_started_is_refused() {
    let (sender, received, report) = wire();
    sender.send(listening(8484)).unwrap();
    let order = AgentCommand {
        argv: vec!["/nonexistent/agent".into()],
        inherits_input: false,
        defaults: &[],
        output: None,
    };
    let came = came(1, &received, &report, Some(order), || None, || {});
    let Err(Failure::Refused { message, .. }) = came.exit else {
        unreachable!("it was refused")
    };
    assert!(
        message.starts_with("/nonexistent/agent cannot be started"),
        "{message}"
    );
}

#[test]
fn no_line_shows_the_token_of_a_listener_again_nor_a_key() {
    let token = "0123456789abcdef".repeat(2);
    let key = format!("sk-proj-{}", "Ab3dE6gH".repeat(5));
    let base = format!("http://192.0.2.1:8484/t/{token}");
    let first = ProxyNews::Listening {
        address: "192.0.2.1:8484".parse().unwrap(),
        base: base.clone(),
        upstream: "api.openai.com:443".to_owned(),
    };
    let says = |text: String| ProxyNews::Output {
        text,
        is_error: false,
    };
    let news = vec![
        first,
        says(format!("OPENAI_BASE_URL={base}/v1")),
        says(format!("my key is {key}")),
    ];
    let came = after(news, Vec::new());
    assert_eq!(came.lines[0]["address"], base);
    let told = came.text.split_once('\n').unwrap().1;
    assert!(!told.contains(&token) && !told.contains(&key), "{told}");
    assert_eq!(
        came.lines[2]["text"].as_str().map(|text| &text[..10]),
        Some("my key is ")
    );
}
