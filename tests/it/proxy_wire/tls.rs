//! Upstreams whose certificates prove nothing.

use super::client::{CHAT, ask};
use super::place::Proxy;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use retake_live::proxy::{CertificateTrust, UpstreamBase, UpstreamOrigin};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct Authority {
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap().der().clone();
        let issuer = Issuer::new(params, key);
        Self { root, issuer }
    }

    fn sign(&self, host: &str, last_year: i32) -> Server {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Server::start(certificate.der().clone(), &key)
    }
}

/// A server whose certificate nobody believes; it gives these replies, one a request, and the last one from then on.
pub(crate) fn unproven(replies: Vec<Vec<u8>>) -> Server {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Server::answering(certificate.der().clone(), &key, replies)
}

/// Speaks TLS with a certificate and answers every request, until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Server {
    fn start(certificate: CertificateDer<'static>, key: &KeyPair) -> Self {
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec();
        Self::answering(certificate, key, vec![reply])
    }

    fn answering(
        certificate: CertificateDer<'static>,
        key: &KeyPair,
        replies: Vec<Vec<u8>>,
    ) -> Self {
        let number = AtomicUsize::new(0);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        // As most providers do.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let config = Arc::new(config);
        Self::playing(move |mut client| {
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            let mut stream = Stream::new(&mut connection, &mut client);
            let mut bytes = Vec::new();
            let mut piece = [0; 1024];
            while !bytes.trim_ascii_end().ends_with(b"}") {
                match stream.read(&mut piece) {
                    Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
                    _ => return, // no trust
                }
            }
            let line = bytes
                .split(|byte| *byte == b'\r')
                .next()
                .unwrap_or_default();
            let reply = match line.ends_with(b" HTTP/1.1") {
                true => {
                    let number = number.fetch_add(1, Ordering::SeqCst);
                    &replies[number.min(replies.len() - 1)][..]
                }
                false => b"HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-length: 2\r\n\r\n{}",
            };
            let _ = stream.write_all(reply);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        })
    }

    fn playing(play: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = is_over.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                play(client);
            }
        });
        Self { address, is_over }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

#[track_caller]
fn assert_distrusted(server: &Server, trust: &CertificateTrust) {
    let proxy = Proxy::believing(&server.url(), trust);
    let got = ask(proxy.address, CHAT);
    assert_eq!(got.status, Some(502), "{got:?}");
    let error: Value = serde_json::from_slice(&got.body).unwrap();
    let text = error["error"]["message"].as_str().unwrap();
    assert!(
        text.starts_with("retake: no reply from the upstream: no safe connection: "),
        "{text}"
    );
    assert!(!text.contains("may have reached"), "{text}");
}

#[test]
fn a02_u018_an_upstream_that_proves_nothing_is_refused() {
    let authority = Authority::new();
    let trust = CertificateTrust::Also(vec![authority.root.clone()]);
    assert_distrusted(&authority.sign("localhost", 2021), &trust);
    assert_distrusted(&authority.sign("other.example", 4000), &trust);
    assert_distrusted(&Authority::new().sign("localhost", 4000), &trust);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let alone = params.self_signed(&key).unwrap();
    assert_distrusted(&Server::start(alone.der().clone(), &key), &trust);
    // An old server answers the handshake with the alert "protocol version".
    let old = Server::playing(|mut client| {
        let _ = client.read(&mut [0; 1024]);
        let _ = client.write_all(&[0x15, 3, 1, 0, 2, 2, 70]);
    });
    assert_distrusted(&old, &trust);
}

#[test]
fn a02_an_upstream_that_proves_itself_is_asked() {
    let authority = Authority::new();
    let server = authority.sign("localhost", 4000);
    let proxy = Proxy::believing(
        &server.url(),
        &CertificateTrust::Also(vec![authority.root.clone()]),
    );
    let got = ask(proxy.address, CHAT);
    assert_eq!((got.status, got.text().as_str()), (Some(200), "{}"));
    assert_distrusted(&server, &CertificateTrust::System);
}

/// No frame of HTTP/2 can come, neither GOAWAY nor REFUSED_STREAM: it is not spoken with upstreams.
#[test]
fn a25_an_upstream_that_offers_http_2_is_asked_in_http_1() {
    let authority = Authority::new();
    let server = authority.sign("localhost", 4000);
    let proxy = Proxy::believing(
        &server.url(),
        &CertificateTrust::Also(vec![authority.root.clone()]),
    );
    let got = ask(proxy.address, CHAT);
    assert_eq!((got.status, got.text().as_str()), (Some(200), "{}"));
}

#[test]
fn a02_only_a_host_that_was_named_as_insecure_is_asked_without_proof() {
    let server = Authority::new().sign("other.example", 2021);
    let proxy = Proxy::believing(&server.url(), &CertificateTrust::Anybody);
    assert_eq!(ask(proxy.address, CHAT).status, Some(200));
    let verified = |url: &str, trust| {
        let base = UpstreamBase::parse(url).unwrap();
        UpstreamOrigin::new(base, trust).unwrap().is_verified()
    };
    assert!(!verified("https://a.example", &CertificateTrust::Anybody));
    assert!(verified("https://a.example", &CertificateTrust::System));
    let named = ["a.example".to_owned()];
    let trust =
        |url: &str| CertificateTrust::unless_named(&UpstreamBase::parse(url).unwrap(), &named);
    assert!(matches!(
        trust("https://A.example:8443"),
        CertificateTrust::Anybody
    ));
    assert!(matches!(
        trust("https://b.a.example"),
        CertificateTrust::System
    ));
}
