//! Whom an upstream must prove to be: what the system trusts, and nobody at all only where the
//! operator named the host.

use super::base::UpstreamBase;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::sync::Arc;

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
pub struct TlsError(#[from] Error);

/// The TLS configuration of the client: versions 1.2 and 1.3.
pub(crate) fn config(trust: &CertificateTrust) -> Result<ClientConfig, TlsError> {
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
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
