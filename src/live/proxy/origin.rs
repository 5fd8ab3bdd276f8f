//! The upstream server of a listener, and requests to it.
//!
//! A request is built anew, never copied: fresh framing, the upstream's own `Host`. No redirect is followed, no
//! proxy is taken from the environment, nothing is decompressed. A request is sent again only where a kept
//! connection turned out to be closed: before a byte of the request was written, or before a byte of the reply
//! came, once, where the client says that it may be repeated (RFC 9110, 9.2.2, or an `Idempotency-Key`). A
//! model is never silently called twice.

use super::body::{Cut, Outgoing};
use super::headers::{self, KeptClosed, StrictHeads};
use super::options::UpstreamBase;
use crate::http::Broken;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue, UPGRADE};
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a connection is kept that nobody uses: shorter than servers keep theirs, so that few turn
/// out to be closed.
const KEPT: Duration = Duration::from_secs(30);
/// Most bytes of a reply's head; also of what is read at a time.
const HEAD: usize = 256 * 1024;

/// One upstream, with the connections to it. They belong to the tokio runtime of the first call.
#[derive(Debug, Clone)]
pub struct UpstreamOrigin {
    base: UpstreamBase,
    host: HeaderValue,
    is_verified: bool,
    client: Client<StrictHeads<HttpsConnector<HttpConnector>>, Outgoing>,
}

#[derive(Debug, thiserror::Error)]
pub enum UpstreamFailure {
    #[error("no reply from the upstream: {0}")]
    Broken(Broken),
    /// It broke off after the request: the model may have been called, and paid for.
    #[error(
        "no reply from the upstream: {0}; the request may have reached the model, so it is not sent again"
    )]
    MayHaveArrived(Broken),
    /// It closed a connection over the request that it had kept: servers do that after some idle seconds, and
    /// then nobody has read it.
    #[error(
        "no reply from the upstream: it closed a kept connection over the request; the request may have reached \
        the model, so it is not sent again"
    )]
    KeptClosed,
    #[error("the request did not come to its end: {0}")]
    Body(Cut),
    /// It answers with another protocol, which the request does not offer.
    #[error("no reply from the upstream: it switched to another protocol unasked")]
    Switched,
    #[error("the request cannot be sent on")]
    Unsendable,
}

impl UpstreamFailure {
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Broken(_) | Self::MayHaveArrived(_) | Self::KeptClosed | Self::Switched => {
                StatusCode::BAD_GATEWAY
            }
            Self::Body(Cut::TooLong) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Body(_) | Self::Unsendable => StatusCode::BAD_REQUEST,
        }
    }

    /// Whether the client may try again by itself, as it would without the proxy.
    pub fn may_be_retried(&self) -> bool {
        matches!(self, Self::KeptClosed)
    }

    fn new(error: &ClientError) -> Self {
        let mut cause = error.source();
        while let Some(at) = cause {
            let io = at.downcast_ref::<io::Error>();
            if io
                .and_then(io::Error::get_ref)
                .is_some_and(|io| io.is::<KeptClosed>())
            {
                return Self::KeptClosed;
            }
            if let Some(cut) = at.downcast_ref::<Cut>() {
                return Self::Body(*cut);
            }
            cause = at.source();
        }
        let broken = Broken::because(error.source(), error.to_string(), error.is_connect());
        match error.is_connect() {
            true => Self::Broken(broken),
            false => Self::MayHaveArrived(broken),
        }
    }
}

impl UpstreamOrigin {
    /// An upstream that is believed as `trust` says; certificates of the system are read where TLS is spoken.
    pub fn new(base: UpstreamBase, trust: &CertificateTrust) -> Result<Self, TlsError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT));
        // Where nothing is encrypted, no certificate is read: that takes tens of milliseconds.
        let trust = match base.is_encrypted() {
            true => trust,
            false => &CertificateTrust::Anybody,
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(trust)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .http1_max_buf_size(HEAD)
            .set_host(false)
            .build(StrictHeads(connector));
        let host = HeaderValue::from_str(base.authority()).map_err(|_| {
            rustls::Error::General("the name of the host cannot be sent".to_owned())
        })?;
        Ok(Self {
            is_verified: !(base.is_encrypted() && matches!(trust, CertificateTrust::Anybody)),
            base,
            host,
            client,
        })
    }

    pub fn base(&self) -> &UpstreamBase {
        &self.base
    }

    /// Whether it must prove who it is; not so for a host that was named as insecure.
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// Sends a request and waits for the head of the reply, as long as the caller does. `lines` are end to end:
    /// what belongs to a connection is made here.
    pub async fn send(
        &self,
        method: Method,
        path_and_query: &PathAndQuery,
        mut lines: HeaderMap,
        body: Outgoing,
    ) -> Result<Response<Incoming>, UpstreamFailure> {
        let uri = self
            .base
            .join(path_and_query)
            .map_err(|_| UpstreamFailure::Unsendable)?;
        let asks_for_upgrade = lines.contains_key(UPGRADE);
        lines.insert(HOST, self.host.clone());
        headers::sign(&mut lines);
        let again = match &body {
            Outgoing::Whole(bytes) if may_be_repeated(&method, &lines) => Some((
                method.clone(),
                lines.clone(),
                Outgoing::Whole(bytes.clone()),
            )),
            _ => None,
        };
        let once = |(method, lines, body)| {
            let mut request = Request::new(body);
            *request.method_mut() = method;
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = lines;
            self.client.request(request)
        };
        let mut reply = once((method, lines, body))
            .await
            .map_err(|error| UpstreamFailure::new(&error));
        if let (Err(UpstreamFailure::KeptClosed), Some(again)) = (&reply, again) {
            reply = once(again)
                .await
                .map_err(|error| UpstreamFailure::new(&error));
        }
        let reply = reply?;
        match reply.status() == StatusCode::SWITCHING_PROTOCOLS && !asks_for_upgrade {
            true => Err(UpstreamFailure::Switched),
            false => Ok(reply),
        }
    }
}

/// Whether a request may be sent twice: it changes nothing, or its client has marked it so that the
/// server knows it again.
fn may_be_repeated(method: &Method, lines: &HeaderMap) -> bool {
    method.is_safe() || lines.contains_key("idempotency-key")
}

// Whom an upstream must prove to be: what the system trusts, and nobody at all only where the
// operator named the host.

/// Which certificates are believed.
#[derive(Debug, Clone, Default)]
pub enum CertificateTrust {
    /// Those that the system believes.
    #[default]
    System,
    /// Those, and these authorities.
    Also(Vec<CertificateDer<'static>>),
    /// Every one: whoever sits between reads and writes everything, the key included.
    Anybody,
}

impl CertificateTrust {
    /// What the system believes, except for a host that the operator has named as insecure
    /// (`--insecure-upstream`), without its port.
    pub fn unless_named(base: &UpstreamBase, insecure: &[String]) -> Self {
        match insecure
            .iter()
            .any(|name| name.eq_ignore_ascii_case(base.name()))
        {
            true => Self::Anybody,
            false => Self::System,
        }
    }
}

/// There is no TLS.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

/// The TLS configuration of the client: versions 1.2 and 1.3.
pub(crate) fn tls_config(trust: &CertificateTrust) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        CertificateTrust::System => Arc::new(Verifier::new(provider.clone())?),
        CertificateTrust::Also(roots) => Arc::new(Verifier::new_with_extra_roots(
            roots.clone(),
            provider.clone(),
        )?),
        CertificateTrust::Anybody => Arc::new(Anybody(provider.clone())),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Believes whatever certificate comes; signatures must still be its own.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
