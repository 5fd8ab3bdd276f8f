//! Why a server cannot be used, in words that name no part of a library.

use super::spec::RESTARTS;
use crate::http::{Broken, ClientError};
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::time::Duration;

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerFault {
    #[error("it does not start: {0}")]
    NotStarted(String),
    #[error("it cannot be called: {0}")]
    BadAddress(String),
    #[error("it gave no answer within {} s ({what})", within.as_secs())]
    Silent {
        what: &'static str,
        within: Duration,
    },
    #[error("{0}")]
    Refused(String),
    #[error("it went away {RESTARTS} times within a minute and is not started again")]
    GoneTooOften,
}

impl ServerFault {
    /// What went wrong while a server was to say hello.
    pub(crate) fn of_hello(error: &ClientInitializeError) -> Self {
        Self::Refused(match error {
            ClientInitializeError::ConnectionClosed(_) => {
                "it ended before it said hello".to_owned()
            }
            ClientInitializeError::TransportError { error, .. } => transport(error),
            ClientInitializeError::JsonRpcError(error) => shortened(&error.message),
            // Both ways to say hello went wrong; the older one is the one that most servers know.
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                return Self::of_hello(fallback);
            }
            other => shortened(&other.to_string()),
        })
    }
}

/// Whether a message surely did not reach its server.
pub(crate) fn never_arrived(error: &DynamicTransportError) -> bool {
    broken(error).is_some_and(|broken| !broken.may_have_arrived())
}

/// What went wrong on the way to a server.
pub(crate) fn transport(error: &DynamicTransportError) -> String {
    let text = broken(error).map_or_else(|| error.error.to_string(), |broken| broken.to_string());
    shortened(&text)
}

/// The failure of an HTTP connection.
fn broken(error: &DynamicTransportError) -> Option<Broken> {
    match error
        .error
        .downcast_ref::<StreamableHttpError<ClientError>>()?
    {
        // Its own words would hold the address, and that may hold a key.
        StreamableHttpError::Client(error) => Some(Broken::of(error, "no reply".to_owned())),
        _ => None,
    }
}

pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(500).collect()
}
