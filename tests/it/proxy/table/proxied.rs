//! Proxied: an agent asks through the proxy; a policy decides where it has a word for the recovery, and an operator where it has none.

use super::histories::History;
use super::recorded::planned;
use super::replies::Reply;
use super::{Fault, Way, policy};
use crate::proxy::operator::{mends_by, seat_of};
use crate::proxy::speech::{Agent, complaints, http, http_body, path, turn};
use crate::proxy::stage::{PATIENCE, addresses, keeping, options, upstream};
use crate::proxy_wire::client::Client;
use retake_core::engine;
use retake_core::exchange::{ExchangeId, ExchangePhase};
use retake_live::proxy::{Proxy, ProxyCommand, ProxyNews};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A proxy before a model.
struct Stage {
    proxy: Proxy,
    address: SocketAddr,
    news: Arc<Mutex<Vec<ProxyNews>>>,
    /// Last, since the proxy writes into it until it is dropped.
    _folder: tempfile::TempDir,
}

impl Stage {
    fn new(url: String, policy: &str, has_operator: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&[url], folder.path().join("proxy.jsonl"));
        options.policy = engine::Policy::parse(policy).unwrap();
        options.has_operator = has_operator;
        let (report, news) = keeping();
        let proxy = Proxy::start(options, report).unwrap();
        Self {
            _folder: folder,
            proxy,
            address: addresses(&news)[0],
            news,
        }
    }

    /// Asks, and lets an operator decide where it is held; whether it was.
    fn ask(
        &self,
        client: &mut Client,
        number: u32,
        fault: &Fault,
        recovery: &str,
    ) -> Result<bool, String> {
        let id = ExchangeId(number);
        let since = Instant::now();
        loop {
            let phase = self.phase(id);
            match phase {
                Some(ExchangePhase::Held(_)) => break,
                Some(ExchangePhase::Ended(_)) => return Ok(false),
                _ => {}
            }
            assert!(
                since.elapsed() < PATIENCE,
                "neither held nor over: {phase:?}"
            );
            std::thread::sleep(Duration::from_millis(3));
        }
        let mut seat = seat_of(&self.proxy, number);
        let mended = mends_by(&mut seat, fault.rule, recovery, |scene| {
            planned(scene, recovery)
        });
        drop(seat);
        // A note mends nothing.
        if mended.is_err() || recovery == "edit" {
            self.proxy.command(&ProxyCommand::ReleaseAll);
        }
        if mended.is_err() {
            client.receive(PATIENCE);
        }
        mended.map(|_| true)
    }

    fn phase(&self, id: ExchangeId) -> Option<ExchangePhase> {
        let news = self.news.lock().unwrap();
        news.iter().rev().find_map(|one| match one {
            ProxyNews::Exchange(seen) if seen.id == id => Some(seen.phase.clone()),
            _ => None,
        })
    }

    /// Whether something was decided so about a rule.
    fn expect(&self, rule: &str, wanted: &str) -> Result<(), String> {
        let news = self.news.lock().unwrap();
        let decided = news.iter().filter_map(|one| match one {
            ProxyNews::Decided { rule, action, .. } => Some((rule.as_deref()?, action.as_str())),
            _ => None,
        });
        let decided = decided.collect::<Vec<_>>();
        match decided.contains(&(rule, wanted)) {
            true => Ok(()),
            false => Err(format!("decided: {decided:?}")),
        }
    }
}

/// The agent asks until nothing is called any more.
pub(super) fn reply(fault: &Fault, reply: &Reply, recovery: &str, way: Way) -> Result<(), String> {
    let model = reply.model(way);
    let decides = policy(fault.rule, recovery, reply.has_schema);
    let is_by_hand = decides.is_none();
    let decides = decides.unwrap_or_else(|| format!("[on.{}]\ndo = \"ask\"\n", fault.rule));
    let stage = Stage::new(model.url(), &decides, is_by_hand);
    let mut agent = reply.agent(way);
    let mut is_mended = false;
    for number in 1..=5 {
        let mut client = Client::connect(stage.address);
        client.send(&http_body(stage.address, &agent));
        if is_by_hand {
            is_mended |= stage.ask(&mut client, number, fault, recovery)?;
        }
        let got = client.receive(PATIENCE);
        // What was raised in a stream is its last event.
        let failed = ["event: error", "data: {\"error\""];
        if is_mended
            || got.status != Some(200)
            || failed.iter().any(|mark| got.text().contains(mark))
        {
            break;
        }
        let calls = agent.reads(&got);
        if calls.is_empty() {
            break;
        }
        calls
            .iter()
            .for_each(|(id, _)| agent.answers(id, reply.tool));
    }
    match is_by_hand {
        true if is_mended => Ok(()),
        true => Err("it was never held".to_owned()),
        false => stage.expect(fault.rule, recovery),
    }
}

/// The agent sends a history that its provider would refuse.
pub(super) fn request(
    fault: &Fault,
    history: &History,
    recovery: &str,
    way: Way,
) -> Result<(), String> {
    let request = history(way).ok_or("the dialect has no way to say it")?;
    let replies = vec![http(way.0, way.1, &turn("1", "It is warm.", &[]))];
    let provider = upstream(replies);
    let decides = policy(fault.rule, recovery, false);
    let is_by_hand = decides.is_none();
    let decides = decides.unwrap_or_else(|| format!("[on.{}]\ndo = \"ask\"\n", fault.rule));
    let stage = Stage::new(provider.url(), &decides, is_by_hand);
    let (address, path, length) = (stage.address, path(way), request.len());
    let mut client = Client::connect(address);
    client.send(
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{request}"
        )
        .as_bytes(),
    );
    if is_by_hand && !stage.ask(&mut client, 1, fault, recovery)? {
        return Err("it was never held".to_owned());
    }
    client.receive(PATIENCE);
    if !is_by_hand {
        stage.expect(fault.rule, recovery)?;
    }
    let asked = provider.requests();
    match (recovery, asked.first()) {
        ("raise", None) => Ok(()),
        ("raise", Some(_)) => Err("the provider was asked all the same".to_owned()),
        (_, None) => Err("the provider was not asked".to_owned()),
        ("release", Some(asked)) if asked.body == request.as_bytes() => Ok(()),
        ("release", Some(_)) => Err("the request was changed".to_owned()),
        ("edit", Some(_)) => Ok(()),
        (_, Some(asked)) => {
            let before = complaints(request.as_bytes()).len();
            let after = complaints(&asked.body);
            let is_less = after.len() < before;
            is_less
                .then_some(())
                .ok_or_else(|| format!("left: {after:?}"))
        }
    }
}

/// What an agent sends with these elements in its history.
pub(super) fn spelled(way: Way, change: impl FnOnce(&mut Agent)) -> String {
    let mut agent = Agent::new(way);
    change(&mut agent);
    agent.request()
}
