//! A proxy that runs: its listeners, its exchanges, its journal, on a thread of its own.

use super::chaos::Chaos;
use super::connect::Reach;
use super::exchanges::{ProxyState, UpstreamWatcher, replay_all};
use super::holds::HoldHandle;
use super::listen::{Listen, ListenError};
use super::news::{ProxyCommand, ProxyNews, Report};
use super::options::{ProxyOptions, Upstream};
use super::origin::{CertificateTrust, TlsError, UpstreamOrigin};
use super::recent::StoredRequest;
use super::recorder::{self, Recorder};
use super::server::{ServeError, serve};
use crate::Input;
use crate::takes::{NotRecording, usual_root, wall_clock};
use retake_core::exchange::ExchangeId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long judges that are at work, and exchanges that are under way, may take once a proxy ends.
const END: Duration = Duration::from_secs(1);
/// How long what is released may take to reach its clients.
const RELEASE: Duration = Duration::from_secs(3);
/// How often these are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Notice if other machines can connect: listeners speak plain HTTP.
const IN_CLEAR: &str = "other machines may come: the token, the agent's keys and all it says go over the \
    network in clear; on one that others share let only a tunnel come here (ssh -L, a VPN) or a TLS server in \
    front";

/// A proxy that runs, until it is dropped.
pub struct Proxy {
    state: Arc<ProxyState>,
    journal: PathBuf,
    reaches: Vec<Reach>,
    stop: CancellationToken,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Listener(#[from] ListenError),
    #[error(transparent)]
    Served(#[from] ServeError),
    #[error(transparent)]
    Journal(#[from] NotRecording),
    #[error("the proxy cannot be set up: {0}")]
    System(#[from] io::Error),
}

impl ProxyError {
    /// Whether another program listens on the address.
    pub fn is_port_taken(&self) -> bool {
        let taken = io::ErrorKind::AddrInUse;
        matches!(self, Self::Listener(ListenError::Address { error, .. }) if error.kind() == taken)
    }
}

impl Proxy {
    /// Starts a proxy. `report` hears of it on threads of its own, and must not wait.
    pub fn start(options: ProxyOptions, report: Report) -> Result<Self, ProxyError> {
        Self::start_with(options, None, report)
    }

    /// Starts a proxy that injects faults and holds nothing.
    pub fn start_with_chaos(
        mut options: ProxyOptions,
        chaos: Arc<Chaos>,
        report: Report,
    ) -> Result<Self, ProxyError> {
        options.intercepts = false;
        Self::start_with(options, Some(chaos), report)
    }

    fn start_with(
        options: ProxyOptions,
        chaos: Option<Arc<Chaos>>,
        report: Report,
    ) -> Result<Self, ProxyError> {
        let origins = options.upstreams.iter();
        let origins = origins
            .map(|upstream| origin(upstream, &options.insecure))
            .collect::<Result<Vec<_>, _>>()?;
        let listeners = listeners(&options)?;
        for (listen, origin) in listeners.iter().zip(&origins) {
            if origin.base().is_at(listen.address()) {
                return Err(ServeError::Itself(origin.base().host()).into());
            }
        }
        let hosts: Vec<String> = origins.iter().map(|origin| origin.base().host()).collect();
        let tokens: Vec<(String, String)> = listeners.iter().filter_map(token).collect();
        let (recorder, notices) = recorder(&options, (&hosts, &tokens), &report)?;
        let journal = recorder.path();
        let reaches = listeners.iter().zip(&options.upstreams);
        let reaches = reaches.map(|(listen, upstream)| Reach {
            base: listen.base_url(),
            upstream: upstream.clone(),
        });
        let reaches = reaches.collect();
        let state = ProxyState::new(options, recorder, (hosts, tokens), report.clone())?;
        let state = Arc::new(state);
        for (listen, origin) in listeners.iter().zip(&origins) {
            report(ProxyNews::Listening {
                address: listen.address(),
                base: listen.base_url(),
                upstream: origin.base().host(),
            });
            if !origin.is_verified() {
                let host = origin.base().host();
                report(ProxyNews::Notice(format!(
                    "the certificate of {host} is not verified"
                )));
            }
        }
        let in_clear = in_clear(&listeners).map(|words| ProxyNews::Notice(words.to_owned()));
        in_clear.into_iter().for_each(|notice| report(notice));
        for notice in notices {
            report(ProxyNews::Notice(notice));
        }
        let stop = CancellationToken::new();
        let places = listeners.into_iter().zip(origins);
        let tells = report.clone();
        let thread = run(places.collect(), chaos, state.clone(), stop.clone(), report)?;
        let earlier = report_earlier(&journal, stop.clone(), tells)?;
        Ok(Self {
            state,
            journal,
            reaches,
            stop,
            threads: vec![earlier, thread],
        })
    }

    /// Where clients reach each upstream through it.
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// Where it is written down.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// How many connections of clients are open.
    pub fn clients(&self) -> usize {
        Arc::strong_count(&self.state.connected).saturating_sub(1)
    }

    /// Does what the operator wants.
    pub fn command(&self, command: &ProxyCommand) {
        self.state.command(command);
    }

    /// Releases everything that is held, and waits until all that is under way is over,
    /// for at most [`RELEASE`].
    pub fn release_all(&self) {
        self.state.command(&ProxyCommand::ReleaseAll);
        let since = Instant::now();
        while !self.state.is_idle() && since.elapsed() < RELEASE {
            std::thread::sleep(LOOK);
        }
    }

    /// An exchange that is over, to be read like a recording; `None` where it is no longer at hand:
    /// its journal has it.
    pub fn recording(&self, id: ExchangeId) -> Option<serde_json::Result<Input>> {
        let (upstreams, tokens) = (self.state.upstreams(), self.state.tokens());
        self.state.recent().recording(id, upstreams, tokens)
    }

    /// The request of an exchange that is over; `None` where it is no longer at hand.
    pub fn stored_request(&self, id: ExchangeId) -> Option<StoredRequest> {
        self.state.recent().request(id)
    }

    /// Hands the run of a held exchange over to whoever watches it; see [`super::holds::Holder::take_over`].
    pub fn take_over(
        &self,
        id: ExchangeId,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> Option<HoldHandle> {
        self.state.holds().take_over(id, wake)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
        for thread in self.threads.drain(..) {
            // The panic hook has reported a panic in it.
            let _ = thread.join();
        }
        self.state.end();
    }
}

/// Notices if other machines can connect.
fn in_clear(listeners: &[Listen]) -> Option<&'static str> {
    let may_come = |listen: &Listen| listen.token().is_some();
    listeners.iter().any(may_come).then_some(IN_CLEAR)
}

/// The token of a listener, with what its placeholder calls it.
fn token(listen: &Listen) -> Option<(String, String)> {
    let token = listen.token()?;
    Some(("listener token".to_owned(), token.reveal().to_owned()))
}

fn origin(upstream: &Upstream, insecure: &[String]) -> Result<Arc<UpstreamOrigin>, TlsError> {
    let trust = CertificateTrust::unless_named(&upstream.base, insecure);
    Ok(Arc::new(UpstreamOrigin::new(
        upstream.base.clone(),
        &trust,
    )?))
}

fn listeners(options: &ProxyOptions) -> Result<Vec<Listen>, ListenError> {
    let taken = io::ErrorKind::AddrInUse;
    let is_in_use = |error: &ListenError| matches!(error, ListenError::Address { error, .. } if error.kind() == taken);
    let listen = |address| Listen::new(address, options.allow_remote);
    let opened = options
        .ports
        .open(options.upstreams.len(), listen, is_in_use)?;
    let opened = opened.into_iter().zip(&options.upstreams);
    let named = opened.map(|(listen, upstream)| {
        let names = options.host_names.iter();
        names.fold(listen.leading_to(upstream), |listen, name| {
            listen.named(name)
        })
    });
    Ok(named.collect())
}

/// Tells what earlier proxies left held in the folder of a journal, on a thread of its own: there may
/// be much to read.
fn report_earlier(
    journal: &Path,
    stop: CancellationToken,
    report: Report,
) -> io::Result<JoinHandle<()>> {
    let folder = journal
        .parent()
        .unwrap_or_else(|| Path::new("."))
        .to_owned();
    let thread = std::thread::Builder::new().name("earlier journals".to_owned());
    thread.spawn(move || {
        let notice = |words: String| report(ProxyNews::Notice(words));
        let mut count = 0;
        let closed = recorder::close_interrupted(&folder, &|| stop.is_cancelled(), |left| {
            count += 1;
            notice(format!(
                "exchange {} was held when retake was ended: {}; nothing of it is sent again; it is in {}",
                left.id,
                left.why,
                left.journal.display()
            ));
        });
        let failed = match closed {
            Ok(failed) => failed,
            Err(error) => {
                let folder = folder.display();
                return notice(format!("earlier journals in {folder} cannot be read: {error}"));
            }
        };
        if count > 1 {
            notice(format!("{count} exchanges were held when retake was ended"));
        }
        if failed > 0 {
            notice(format!("{failed} of these journals cannot be written to"));
        }
    })
}

/// The journal, and notices about it and its folder.
fn recorder(
    options: &ProxyOptions,
    (hosts, tokens): (&[String], &[(String, String)]),
    report: &Report,
) -> Result<(Recorder, Vec<String>), ProxyError> {
    let tell = report.clone();
    let recorder = Recorder::begin(recorder::RecorderOptions {
        path: options.journal.clone(),
        root: usual_root(),
        upstreams: hosts.to_vec(),
        secrets: tokens.to_vec(),
        clock: wall_clock,
        tell: Box::new(move |words: String| tell(ProxyNews::Notice(words))),
    })?;
    let warning = recorder.warning().map(str::to_owned);
    let mut notices: Vec<String> = warning.into_iter().collect();
    if let Some(wanted) = options.journal.as_ref().filter(|wanted| wanted.exists())
        && recorder.path().file_name() != wanted.file_name()
    {
        let (wanted, path) = (wanted.display(), recorder.path());
        notices.push(format!(
            "{wanted} is there already: what passes is recorded in {}",
            path.display()
        ));
    }
    Ok((recorder, notices))
}

/// Serves all listeners on a thread of its own.
fn run(
    places: Vec<(Listen, Arc<UpstreamOrigin>)>,
    chaos: Option<Arc<Chaos>>,
    state: Arc<ProxyState>,
    stop: CancellationToken,
    report: Report,
) -> io::Result<JoinHandle<()>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("proxy".to_owned());
    thread.spawn(move || {
        runtime.block_on(async {
            let mut serving = JoinSet::new();
            let mut watchers = Vec::new();
            for (place, (listen, origin)) in places.into_iter().enumerate() {
                let watcher = Arc::new(UpstreamWatcher::new(
                    state.clone(),
                    origin.clone(),
                    place,
                    chaos.clone(),
                ));
                watchers.push(watcher.clone());
                serving.spawn(serve(listen, origin, watcher, stop.clone()));
            }
            tokio::spawn(replay_all(state.clone(), watchers, stop));
            while let Some(served) = serving.join_next().await {
                if let Ok(Err(error)) = served {
                    report(ProxyNews::Notice(error.to_string()));
                }
            }
            // Their clients are gone, so they end; that they were is written down.
            let since = Instant::now();
            while !state.is_settled() && since.elapsed() < END {
                tokio::time::sleep(LOOK).await;
            }
        });
        runtime.shutdown_timeout(END);
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn where_others_may_come_it_is_said_that_keys_travel_in_clear_and_the_token_is_a_secret() {
        let listen = |ip: [u8; 4]| Listen::new(SocketAddr::from((ip, 0)), true).unwrap();
        let (local, open) = (listen([127, 0, 0, 1]), listen([0, 0, 0, 0]));
        assert_eq!(in_clear(std::slice::from_ref(&local)), None);
        assert!(token(&local).is_none());
        let (_, secret) = token(&open).unwrap();
        assert_eq!(secret, open.token().unwrap().reveal());
        assert!(in_clear(&[local, open]).unwrap().contains("in clear"));
    }
}
