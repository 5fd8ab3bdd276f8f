//! A proxy that passes everything on, on a thread of its own, until it is dropped.

use retake_live::proxy::{
    Body, CertificateTrust, Listen, Observer, OpenedSocket, Outgoing, Passed, ProxyRequest,
    TurnedAway, UpstreamBase, UpstreamOrigin, Watch, no_reply, onward, serve,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Any free port of the loopback.
pub(super) const LOCAL: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// What was told of what passed.
#[derive(Default)]
pub(super) struct Told {
    pub(super) passed: Mutex<Vec<Passed>>,
    pub(super) turned: Mutex<Vec<TurnedAway>>,
    pub(super) tls: Mutex<usize>,
    /// Texts that were read on WebSockets, each with its direction.
    pub(super) texts: Arc<Mutex<Vec<String>>>,
}

/// Passes everything on and keeps what it is told.
pub(super) struct Keeping {
    upstream: Arc<UpstreamOrigin>,
    told: Arc<Told>,
}

/// Sends on what comes; the reply comes back as it is.
pub(super) async fn pass_on<W: Watch>(
    upstream: &UpstreamOrigin,
    question: ProxyRequest,
) -> hyper::Response<Body> {
    let (method, body) = (question.method, Outgoing::whole(question.body));
    let sent = upstream.send(
        method.clone(),
        &question.path_and_query,
        question.lines,
        body,
    );
    match sent.await {
        Ok(reply) => onward::<W>(&method, reply, None),
        Err(error) => no_reply(Some(question.dialect), &error),
    }
}

impl Keeping {
    pub(super) fn new(upstream: &Arc<UpstreamOrigin>) -> Arc<Self> {
        Arc::new(Self {
            upstream: upstream.clone(),
            told: Arc::default(),
        })
    }
}

impl Watch for Keeping {
    async fn exchange(&self, question: ProxyRequest) -> hyper::Response<Body> {
        pass_on::<Self>(&self.upstream, question).await
    }

    fn passed(&self, passed: Passed) {
        self.told.passed.lock().unwrap().push(passed);
    }

    fn turned_away(&self, turned: TurnedAway) {
        self.told.turned.lock().unwrap().push(turned);
    }

    fn spoke_tls(&self, _: SocketAddr) {
        *self.told.tls.lock().unwrap() += 1;
    }

    fn socket(&self, _: OpenedSocket) -> Option<Box<dyn Observer>> {
        Some(Box::new(super::sockets::Texts(self.told.texts.clone())))
    }
}

pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    pub(super) told: Arc<Told>,
    pub(super) token: Option<String>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(super) fn to(url: &str) -> Self {
        Self::believing(url, &CertificateTrust::System)
    }

    pub(super) fn believing(url: &str, trust: &CertificateTrust) -> Self {
        Self::at(Listen::new(LOCAL, false).unwrap(), url, trust)
    }

    pub(super) fn at(listen: Listen, url: &str, trust: &CertificateTrust) -> Self {
        let upstream = UpstreamOrigin::new(UpstreamBase::parse(url).unwrap(), trust).unwrap();
        let upstream = Arc::new(upstream);
        let address = listen.address();
        let token = listen.token().map(|token| token.reveal().to_owned());
        let watch = Keeping::new(&upstream);
        let told = watch.told.clone();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime
                .block_on(serve(listen, upstream, watch, stopped))
                .unwrap();
        });
        Self {
            address,
            told,
            token,
            stop,
            thread: Some(thread),
        }
    }

    /// Waits until so many exchanges that only passed are over.
    pub(super) fn until_passed(&self, count: usize) -> Vec<Passed> {
        let since = Instant::now();
        loop {
            let passed = self.told.passed.lock().unwrap().clone();
            if passed.len() >= count {
                return passed;
            }
            assert!(
                since.elapsed() < Duration::from_secs(30),
                "nothing has passed"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
