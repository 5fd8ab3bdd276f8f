//! Holds against an upstream that answers what it is told: the wire's side, the operator's seat, and what is left on the disk.

mod broken_off;
mod deciding;
mod policies;
mod requests;
mod seats;

use super::{HoldHandle, HoldOrder, HoldOutcome, HoldSettings, HoldUpdate, Holder};
use crate::TakeStore;
use crate::http::{Headers, HttpTarget};
use crate::live::{Phase, RunInput, RunNews, UpstreamResult};
use crate::model::Answer;
use crate::proxy::ProxyNews;
use crate::takes::wall_clock;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use retake_core::actions::{self, ActionInput};
use retake_core::engine::{Breakpoint, Policy, Reason};
use retake_core::exchange::ExchangeId;
use retake_core::rules;
use retake_core::session::Dialect;
use retake_core::session::ledger::Usage;
use retake_core::session::takes::{Take, TakeCause, TakeId};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that gives these bodies, one a request, and the last one from then on.
struct Upstream {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    fn start(bodies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "http://{}/v1/chat/completions?beta=1",
            listener.local_addr().unwrap()
        );
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let number = seen.lock().unwrap().len();
                let Some(request) = read_request(client.as_ref().unwrap()) else {
                    continue;
                };
                seen.lock().unwrap().push(request);
                let body = bodies.get(number).or(bodies.last());
                answer(client.unwrap(), body.map_or("{}", String::as_str));
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(mut client: &TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 16 * 1024];
        let count = client.read(&mut more).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&more[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length?.parse::<usize>().unwrap() {
            return Some(text.into_owned());
        }
    }
}

fn answer(mut client: TcpStream, body: &str) {
    let kind = match body.starts_with('{') {
        true => "application/json",
        false => "text/event-stream",
    };
    let status = match body.starts_with("{\"error\"") {
        true => "401 Unauthorized",
        false => "200 OK",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has left hears nothing.
    let _ = client.write_all(head.as_bytes());
    let _ = client.write_all(body.as_bytes());
}

/// A holder in a folder of its own.
struct Theatre {
    folder: TempDir,
    holder: Holder,
    told: Arc<Mutex<Vec<ProxyNews>>>,
}

/// An exchange that is held, as the wire sees it.
struct Held {
    id: ExchangeId,
    journal: PathBuf,
    waits: Receiver<HoldUpdate>,
    decided: Receiver<HoldOutcome>,
}

impl Held {
    fn outcome(&self) -> HoldOutcome {
        self.decided.recv_timeout(PATIENCE).unwrap()
    }

    fn waits(&self) -> HoldUpdate {
        self.waits.recv_timeout(PATIENCE).unwrap()
    }

    /// Waits for a pause; gives why.
    fn paused(&self) -> String {
        loop {
            if let HoldUpdate::AwaitsDecision(why) = self.waits() {
                return why;
            }
        }
    }

    /// No second decision comes.
    fn is_decided_once(&self) -> bool {
        self.decided
            .recv_timeout(Duration::from_millis(20))
            .is_err()
    }
}

impl Theatre {
    fn new(settings: HoldSettings) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let on_update = told.clone();
        let report = Arc::new(move |news| on_update.lock().unwrap().push(news));
        Self {
            folder: tempfile::tempdir().unwrap(),
            holder: Holder::new(settings, report).unwrap(),
            told,
        }
    }

    fn order(&self, id: u32, url: &str, request: &str, came: UpstreamResult) -> HoldOrder {
        HoldOrder {
            id: ExchangeId(id),
            dialect: Dialect::Chat,
            model: "m".to_owned(),
            is_verified: true,
            target: HttpTarget::parse(url).unwrap(),
            headers: lines(),
            request: request.as_bytes().to_vec(),
            came,
            closed: None,
            text_sent: false,
            journal: self.folder.path().join(format!("{id}.jsonl")),
        }
    }

    fn start(&self, order: HoldOrder) -> Held {
        let (id, journal) = (order.id, order.journal.clone());
        let (waits_to, waits) = channel();
        let (decided_to, decided) = channel();
        self.holder.start(
            order,
            move |update| match update {
                HoldUpdate::Found(_) => {}
                update => waits_to.send(update).unwrap_or(()),
            },
            move |outcome| decided_to.send(outcome).unwrap_or(()),
        );
        Held {
            id,
            journal,
            waits,
            decided,
        }
    }

    /// Holds a reply of an upstream.
    fn hold(&self, upstream: &Upstream, reply: &str) -> Held {
        self.start(self.order(1, &upstream.url, REQUEST, replied(reply)))
    }

    /// The actions that were told as decided, with their rules.
    fn decided(&self) -> Vec<(Option<String>, String)> {
        let told = self.told.lock().unwrap();
        let decided = told.iter().filter_map(|news| match news {
            ProxyNews::Decided { rule, action, .. } => Some((rule.clone(), action.clone())),
            _ => None,
        });
        decided.collect()
    }

    /// The rules of what was told as found.
    fn found(&self) -> Vec<&'static str> {
        let told = self.told.lock().unwrap();
        let found = told.iter().filter_map(|news| match news {
            ProxyNews::Found { findings, .. } => Some(findings.clone()),
            _ => None,
        });
        let findings = found.flat_map(|findings| findings.to_vec());
        findings.map(|finding| finding.rule.id).collect()
    }

    /// Sits down at an exchange that has come to a pause, as soon as the seat is free.
    fn sit(&self, held: &Held) -> Sitting {
        let (woken_to, woken) = channel();
        let wake = Arc::new(move || woken_to.send(()).unwrap_or(()));
        let mut seat = None;
        until("the seat is free", || {
            seat = self.holder.take_over(held.id, wake.clone());
            seat.is_some()
        });
        let mut seat = seat.unwrap();
        let (mut store, damages) = TakeStore::open_run(&held.journal, wall_clock).unwrap();
        assert!(damages.is_empty() && store.not_recording().is_none());
        let news = seat.start(&mut store).unwrap();
        Sitting {
            seat,
            store,
            woken,
            news,
        }
    }
}

/// The operator at an exchange.
struct Sitting {
    seat: HoldHandle,
    store: TakeStore,
    woken: Receiver<()>,
    news: Vec<RunNews>,
}

impl Sitting {
    fn handle(&mut self, input: RunInput) {
        let news = self.seat.handle(&mut self.store, input);
        self.news.extend(news);
    }

    /// Waits until something has happened, and hears it.
    fn look_up(&mut self) {
        self.woken.recv_timeout(PATIENCE).unwrap();
        let news = self.seat.handle_io(&mut self.store);
        self.news.extend(news);
    }

    /// Goes on until the run waits for somebody, or ended.
    fn rest(&mut self) -> Phase {
        loop {
            let phase = self.seat.phase();
            if matches!(phase, Phase::Paused { .. } | Phase::Ended(_)) {
                return phase;
            }
            self.look_up();
        }
    }

    /// Mends the finding of a rule as the screen does it.
    fn mend(&mut self, rule: &str, action: &str, words: Option<&str>) -> TakeId {
        let judged = self.news.iter().rev().find_map(|news| match news {
            RunNews::Judged(judged) => Some(judged.clone()),
            _ => None,
        });
        let judged = judged.unwrap();
        let findings = judged.findings();
        let mut open = findings.iter().filter(|one| !one.is_settled);
        let finding = open.find(|one| one.rule.id == rule).unwrap();
        let session = &judged.recording().sessions[0];
        let beside = rules::beside(session, findings, finding);
        let run = rules::Run::new(session, None);
        let scene = run.scene(finding.defect(), &beside).unwrap();
        let choice = ActionInput {
            words,
            confirmed: true,
            ..ActionInput::default()
        };
        let planned = (actions::find(action).unwrap().plan)(&scene, &choice);
        let planned = planned.unwrap_or_else(|why| panic!("{action}: {why}"));
        let about = Take {
            title: action.to_owned(),
            cause: TakeCause {
                rule: Some(rule.to_owned()),
                item: finding.item,
                action: Some(action.to_owned()),
                ..TakeCause::default()
            },
            fallback: planned.result.clone(),
            ..Take::default()
        };
        self.store.go_to(self.seat.take()).unwrap();
        let take = self.store.take(0, session, &planned.edits, about).unwrap();
        self.handle(RunInput::Edited(take));
        take
    }

    fn leave(self) {
        drop(self.store);
        drop(self.seat);
    }
}

fn reasons(phase: &Phase) -> String {
    let Phase::Paused { reasons } = phase else {
        return format!("{phase:?}");
    };
    let words = reasons.iter().map(Reason::words);
    words.collect::<Vec<_>>().join("; ")
}

fn attended(policy: &str) -> HoldSettings {
    HoldSettings {
        policy: Policy::parse(policy).unwrap(),
        has_operator: true,
        ..HoldSettings::default()
    }
}

fn alone(policy: &str) -> HoldSettings {
    HoldSettings {
        has_operator: false,
        ..attended(policy)
    }
}

fn breaking_at(what: &str) -> HoldSettings {
    HoldSettings {
        breakpoints: vec![Breakpoint::parse(1, what).unwrap()],
        ..attended("")
    }
}

/// The key of the client, which goes to the upstream and nowhere else.
const KEY: &str = "sk-test-4711471147114711471147114711";

fn lines() -> Headers {
    let mut lines = HeaderMap::new();
    for (name, value) in [
        ("authorization", format!("Bearer {KEY}")),
        ("x-beta", "tools".to_owned()),
        ("accept-encoding", "gzip".to_owned()),
        ("host", "retake.invalid".to_owned()),
        ("content-type", "application/json".to_owned()),
    ] {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        lines.append(name, HeaderValue::from_str(&value).unwrap());
    }
    Headers::passed_on(&lines)
}

/// A request that offers `search` and `pay`.
const REQUEST: &str = r#"{"model":"m","temperature":0.5,"tools":[{"type":"function","function":{"name":"search","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}},{"type":"function","function":{"name":"pay","parameters":{"type":"object","properties":{"eur":{"type":"number"}},"required":["eur"]}}}],
"messages":[{"role":"user","content":"go"}]}"#;

fn call(id: &str, name: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    format!(
        r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

/// A reply with these calls.
fn calls(calls: &[String]) -> String {
    let calls = calls.join(",");
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}}}"#
    )
}

fn good(id: &str) -> String {
    call(id, "search", r#"{"q":"x"}"#)
}

fn unknown(id: &str) -> String {
    call(id, "serch", r#"{"q":"x"}"#)
}

fn says(text: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-2","object":"chat.completion","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
    )
}

fn replied(json: &str) -> UpstreamResult {
    UpstreamResult::Reply(Answer {
        json: json.to_owned(),
        usage: Usage {
            input: 7,
            output: 3,
        },
        first_ms: 1,
        total_ms: 2,
        ended: true,
        unreadable: 0,
        late: 0,
        was_streamed: false,
        request_id: None,
    })
}

/// The take of an outcome that changed something, as text.
fn take_of(outcome: &HoldOutcome) -> String {
    match outcome {
        HoldOutcome::Request(edited) | HoldOutcome::Reply(edited) => {
            String::from_utf8(edited.take.clone()).unwrap()
        }
        other => panic!("nothing was mended: {other:?}"),
    }
}

fn released(by: &str) -> HoldOutcome {
    HoldOutcome::Release { by: by.to_owned() }
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
