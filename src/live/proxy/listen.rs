//! Where retake listens, and the host names that it accepts.

use super::body::Patience;
use super::options::Upstream;
use rustls::crypto::ring::default_provider;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::{fmt, io};
use subtle::ConstantTimeEq;

/// A listener, before or while it serves.
#[derive(Debug)]
pub struct Listen {
    listener: TcpListener,
    address: SocketAddr,
    names: Vec<Name>,
    token: Option<Token>,
    patience: Patience,
    upstream: Option<Upstream>,
}

/// A host name that requests may use: with the port of the listener, or with one of its own
/// where ports are mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    host: String,
    port: Option<u16>,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "{0} can be reached from other machines: whoever reaches retake uses the agent's model. Listen on \
        127.0.0.1, or say --allow-remote; then a token is wanted"
    )]
    Remote(IpAddr),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("cannot listen on {address}: {error}")]
    Address {
        address: SocketAddr,
        error: io::Error,
    },
}

impl Listen {
    /// Listens on an address of the loopback, or on any where others are allowed to come; then each of them
    /// must bring a token.
    pub fn new(address: SocketAddr, allow_remote: bool) -> Result<Self, ListenError> {
        let is_local = address.ip().to_canonical().is_loopback();
        if !is_local && !allow_remote {
            return Err(ListenError::Remote(address.ip()));
        }
        let token = match is_local {
            true => None,
            false => Some(Token::new()?),
        };
        let failed = |error| ListenError::Address { address, error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            names: Vec::new(),
            token,
            patience: Patience::default(),
            upstream: None,
        })
    }

    /// The same, with one more accepted host name: `devbox`, or `devbox:9000` where another port leads here.
    pub fn named(mut self, name: &str) -> Self {
        if let Some((host, port)) = split(name) {
            let host = host.to_ascii_lowercase();
            self.names.push(Name { host, port });
        }
        self
    }

    /// The same, for this upstream: a key that is surely another provider's is turned away.
    pub fn leading_to(self, upstream: &Upstream) -> Self {
        let upstream = Some(upstream.clone());
        Self { upstream, ..self }
    }

    pub fn patient(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients must bring, where others than this machine can reach the listener.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// What clients call their base URL, without `/v1`.
    pub fn base_url(&self) -> String {
        match &self.token {
            None => format!("http://{}", self.address),
            Some(token) => format!("http://{}/t/{}", self.address, token.reveal()),
        }
    }

    /// The listener itself and what it demands.
    pub(crate) fn open(self) -> (TcpListener, Door) {
        let door = Door {
            port: self.address.port(),
            names: self.names,
            token: self.token,
            patience: self.patience,
            upstream: self.upstream,
        };
        (self.listener, door)
    }
}

/// What a listener demands of whoever comes.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    port: u16,
    names: Vec<Name>,
    pub(crate) token: Option<Token>,
    pub(crate) patience: Patience,
    pub(crate) upstream: Option<Upstream>,
}

impl Door {
    /// The demands of a listener on the loopback with this port: no token, and no name but `localhost`.
    pub(crate) fn local(port: u16) -> Self {
        Self {
            port,
            names: Vec::new(),
            token: None,
            patience: Patience::default(),
            upstream: None,
        }
    }

    /// Whether a `Host` line means this listener. A browser that was led here by a name of somebody else (DNS
    /// rebinding) says that name. After a token any address will do: no name leads to an address.
    pub(crate) fn is_host(&self, line: &str) -> bool {
        let Some((host, port)) = split(line) else {
            return false;
        };
        let is_our_port = port.unwrap_or(80) == self.port;
        let is_named = |name: &Name| {
            let is_port = name.port.map_or(is_our_port, |own| port == Some(own));
            name.host.eq_ignore_ascii_case(host) && is_port
        };
        if self.names.iter().any(is_named) {
            return true;
        }
        let literal = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_allowed = match literal.unwrap_or(host).parse::<IpAddr>() {
            Ok(ip) if ip.is_ipv6() != literal.is_some() => false,
            Ok(ip) => ip.is_loopback() || self.token.is_some(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        };
        is_allowed && is_our_port
    }
}

/// Host and port of a `Host` line; `None` for anything else, a user before the host among it.
fn split(line: &str) -> Option<(&str, Option<u16>)> {
    let ends = match line.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => line.find(':').unwrap_or(line.len()),
    };
    let (host, rest) = line.split_at(ends);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_plain) {
        return None;
    }
    match rest.strip_prefix(':') {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(port.parse().ok()?)))
        }
        Some(_) => None,
        None => rest.is_empty().then_some((host, None)),
    }
}

/// Bytes of a token: 128 bits.
const LENGTH: usize = 16;

/// A secret that every client must bring, 32 hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

/// The system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes for a token")]
pub struct TokenError;

impl Token {
    pub fn new() -> Result<Self, TokenError> {
        let mut bytes = [0; LENGTH];
        let random = default_provider().secure_random;
        random.fill(&mut bytes).map_err(|_| TokenError)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }

    /// The token itself; it is shown once, to the operator.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is the token; takes as long for a near miss as for a far one.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c01_only_names_of_this_machine_with_our_port_are_meant() {
        let door = Door::local(8000);
        for host in [
            "127.0.0.1:8000",
            "127.1.2.3:8000",
            "[::1]:8000",
            "localhost:8000",
            "LOCALHOST:8000",
        ] {
            assert!(door.is_host(host), "{host}");
        }
        for host in [
            "",
            ":8000",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.0.0.1:",
            "127.0.0.1:+8000",
            "evil.example:8000",
            "localhost.evil.example:8000",
            "127.0.0.1.nip.io:8000",
            "[::ffff:1.2.3.4]:8000",
            "0x7f.1:8000",
            "evil@127.0.0.1:8000",
            "127.0.0.1:8000@evil",
            "192.168.1.2:8000",
            "0.0.0.0:8000",
            "::1:8000",
            "[127.0.0.1]:8000",
            "[::1:8000",
            "localhost.:8000",
            "127.0.0.1:8000, evil",
            "127.0.0.1:18000000",
        ] {
            assert!(!door.is_host(host), "{host}");
        }
        assert!(Door::local(80).is_host("localhost"));
    }

    #[test]
    fn c07_an_address_that_others_reach_is_refused_or_wants_a_token() {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let refused = Listen::new(any, false).unwrap_err();
        assert!(matches!(refused, ListenError::Remote(_)));
        assert!(refused.to_string().contains("--allow-remote"));
        let listen = Listen::new(any, true)
            .unwrap()
            .named("devbox")
            .named("gate:9000");
        let token = listen.token().unwrap().reveal().to_owned();
        assert!(listen.base_url().ends_with(&format!("/t/{token}")));
        let (_, door) = listen.open();
        let port = door.port;
        for host in [
            format!("192.168.1.2:{port}"),
            format!("devbox:{port}"),
            "gate:9000".to_owned(),
        ] {
            assert!(door.is_host(&host), "{host}");
        }
        for host in ["devbox:9000", "gate", "evil.example:9000"] {
            assert!(!door.is_host(host), "{host}");
        }
        let local = Listen::new(SocketAddr::from(([127, 0, 0, 1], 0)), true).unwrap();
        assert!(local.token().is_none());
    }

    #[test]
    fn c07_tokens_have_128_bits_and_only_the_whole_one_fits() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.reveal().len(), 32);
        assert_ne!(one.reveal(), other.reveal());
        assert!(one.is(one.reveal().as_bytes()));
        for wrong in [
            "",
            other.reveal(),
            &one.reveal()[..31],
            &format!("{}0", one.reveal()),
        ] {
            assert!(!one.is(wrong.as_bytes()));
        }
        assert_eq!(format!("{one:?}"), "Token");
    }
}
