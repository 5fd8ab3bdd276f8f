//! A proxy that looks, between clients and an upstream that plays what it is told.

use super::speech::{Agent, path};
use crate::proxy_wire::client::{Client, Got};
use crate::proxy_wire::fake::Fake;
use retake_core::engine::Policy;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary};
use retake_live::proxy::{Ports, Proxy, ProxyCommand, ProxyNews, ProxyOptions, Report, Upstream};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An upstream that gives these replies, one a request, and the last one from then on.
pub(super) fn upstream(replies: Vec<Vec<u8>>) -> Fake {
    let number = AtomicUsize::new(0);
    Fake::start(move |_, stream| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        let reply = replies.get(number).or(replies.last());
        stream.write_all(reply.unwrap()).is_ok()
    })
}

/// A proxy before an upstream.
pub(super) struct Stage {
    pub(super) upstream: Fake,
    pub(super) address: SocketAddr,
    pub(super) news: Arc<Mutex<Vec<ProxyNews>>>,
    pub(super) proxy: Option<Proxy>,
    /// Last, since the proxy writes into it until it is dropped.
    pub(super) folder: TempDir,
}

pub(super) fn options(urls: &[String], journal: PathBuf) -> ProxyOptions {
    ProxyOptions {
        upstreams: urls
            .iter()
            .map(|url| Upstream::parse(url).unwrap())
            .collect(),
        ports: Ports {
            first: SocketAddr::from(([127, 0, 0, 1], 0)),
            are_fixed: false,
        },
        allow_remote: false,
        host_names: Vec::new(),
        insecure: Vec::new(),
        policy: Policy::default(),
        breakpoints: Vec::new(),
        has_operator: false,
        journal: Some(journal),
        intercepts: true,
        holds_requests: true,
        max_asks: 5,
    }
}

/// The news of a proxy, kept.
pub(super) fn keeping() -> (Report, Arc<Mutex<Vec<ProxyNews>>>) {
    let news = Arc::new(Mutex::new(Vec::new()));
    let kept = news.clone();
    (Arc::new(move |one| kept.lock().unwrap().push(one)), news)
}

/// The addresses that were told as listened on.
pub(super) fn addresses(news: &Mutex<Vec<ProxyNews>>) -> Vec<SocketAddr> {
    let news = news.lock().unwrap();
    let told = news.iter().filter_map(|one| match one {
        ProxyNews::Listening { address, .. } => Some(*address),
        _ => None,
    });
    told.collect()
}

impl Stage {
    pub(super) fn new(upstream: Fake, change: impl FnOnce(&mut ProxyOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&[upstream.url()], folder.path().join("proxy.jsonl"));
        change(&mut options);
        let (report, news) = keeping();
        let proxy = Proxy::start(options, report).unwrap();
        let address = addresses(&news)[0];
        Self {
            folder,
            upstream,
            address,
            news,
            proxy: Some(proxy),
        }
    }

    /// Nobody is there; the policy decides.
    pub(super) fn by(upstream: Fake, policy: &str) -> Self {
        let policy = Policy::parse(policy).unwrap();
        Self::new(upstream, |options| options.policy = policy)
    }

    /// An operator is there.
    pub(super) fn attended(upstream: Fake) -> Self {
        Self::new(upstream, |options| options.has_operator = true)
    }

    pub(super) fn command(&self, command: &ProxyCommand) {
        self.proxy.as_ref().unwrap().command(command);
    }

    /// Sends an agent's request; further lines end with CRLF.
    pub(super) fn send(&self, agent: &Agent, lines: &str) -> Client {
        let mut client = Client::connect(self.address);
        client.send(self.spelled(agent, lines).as_bytes());
        client
    }

    pub(super) fn spelled(&self, agent: &Agent, lines: &str) -> String {
        let (path, body) = (path((agent.dialect, agent.streams)), agent.request());
        let (address, length) = (self.address, body.len());
        let query = if path.contains('?') {
            "&beta=1"
        } else {
            "?beta=1"
        };
        format!(
            "POST {path}{query} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{lines}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Asks and waits for the reply.
    pub(super) fn ask(&self, agent: &Agent) -> Got {
        self.send(agent, "").receive(PATIENCE)
    }

    /// Asks and waits for the turn, which the agent takes into its history; gives its calls.
    #[track_caller]
    pub(super) fn turn(&self, agent: &mut Agent) -> Vec<(String, String)> {
        let got = self.ask(agent);
        agent.reads(&got)
    }

    /// The bodies of what the upstream was asked.
    pub(super) fn asked(&self) -> Vec<serde_json::Value> {
        let requests = self.upstream.requests();
        requests
            .iter()
            .map(|one| serde_json::from_slice(&one.body).unwrap())
            .collect()
    }

    /// How an exchange stands.
    pub(super) fn seen(&self, id: u32) -> Option<ExchangeSummary> {
        let news = self.news.lock().unwrap();
        news.iter().rev().find_map(|one| match one {
            ProxyNews::Exchange(seen) if seen.id == ExchangeId(id) => Some((**seen).clone()),
            _ => None,
        })
    }

    /// Waits until an exchange stands so.
    #[track_caller]
    pub(super) fn until(
        &self,
        id: u32,
        what: &str,
        is: impl Fn(&ExchangeSummary) -> bool,
    ) -> ExchangeSummary {
        self.until_within(PATIENCE, id, what, is)
    }

    /// The same where that takes long.
    #[track_caller]
    pub(super) fn until_within(
        &self,
        patience: Duration,
        id: u32,
        what: &str,
        is: impl Fn(&ExchangeSummary) -> bool,
    ) -> ExchangeSummary {
        let since = Instant::now();
        loop {
            let seen = self.seen(id);
            if let Some(seen) = seen.as_ref().filter(|seen| is(seen)) {
                return seen.clone();
            }
            assert!(since.elapsed() < patience, "never {what}: {seen:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until an exchange is held; gives why.
    #[track_caller]
    pub(super) fn held(&self, id: u32) -> String {
        let seen = self.until(id, "held", |seen| {
            matches!(seen.phase, ExchangePhase::Held(_))
        });
        match seen.phase {
            ExchangePhase::Held(holding) => holding.why,
            _ => String::new(),
        }
    }

    /// Waits until an exchange is over.
    #[track_caller]
    pub(super) fn over(&self, id: u32) -> ExchangeSummary {
        self.until(id, "over", |seen| {
            matches!(seen.phase, ExchangePhase::Ended(_))
        })
    }

    #[track_caller]
    pub(super) fn ending(&self, id: u32) -> ExchangeEnding {
        match self.over(id).phase {
            ExchangePhase::Ended(ending) => ending,
            _ => ExchangeEnding::Passed,
        }
    }

    /// The actions that were told as decided.
    pub(super) fn decided(&self) -> Vec<String> {
        let news = self.news.lock().unwrap();
        let decided = news.iter().filter_map(|one| match one {
            ProxyNews::Decided { action, .. } => Some(action.clone()),
            _ => None,
        });
        decided.collect()
    }

    /// The rules of what was told as found.
    pub(super) fn found(&self) -> Vec<&'static str> {
        let news = self.news.lock().unwrap();
        let found = news.iter().filter_map(|one| match one {
            ProxyNews::Found { findings, .. } => Some(findings.clone()),
            _ => None,
        });
        let findings = found.flat_map(|findings| findings.to_vec());
        findings.map(|finding| finding.rule.id).collect()
    }

    /// The operator is told what was not said to anybody else.
    pub(super) fn notices(&self) -> Vec<String> {
        let news = self.news.lock().unwrap();
        let notices = news.iter().filter_map(|one| match one {
            ProxyNews::Notice(words) => Some(words.clone()),
            _ => None,
        });
        notices.collect()
    }
}
