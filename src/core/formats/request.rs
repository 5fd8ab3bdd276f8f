//! A request to a model, read like any file of its dialect.

use super::{of_dialect, read_buffer};
use crate::session::{Dialect, Session, Source, SourceError};
use crate::wire::RequestHead;
use serde::de::IgnoredAny;
use std::sync::Arc;

/// Why a request cannot be answered, whatever is recorded or scripted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("the request is not a JSON object: {0}")]
    NotJson(String),
    /// Requests of the dialect are not read.
    #[error("requests are not answered in the dialect {0}")]
    Dialect(&'static str),
    #[error("the request cannot be read: {0}")]
    Unreadable(String),
    /// Older items are not in it.
    #[error(
        "the request goes on from what is kept elsewhere (previous_response_id, conversation): send the whole history"
    )]
    ServerState,
}

impl From<SourceError> for RequestError {
    fn from(error: SourceError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The history of a request with what is asked for beside it.
pub fn read_request(dialect: Dialect, body: &[u8]) -> Result<(RequestHead, Session), RequestError> {
    let not_json = || match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) => RequestError::NotJson(error.to_string()),
        Ok(_) => RequestError::NotJson("it is another value".to_owned()),
    };
    let head = RequestHead::read(dialect, body).ok_or_else(not_json)?;
    let format = of_dialect(dialect).ok_or(RequestError::Dialect(dialect.word()))?;
    let source: Arc<dyn Source> = Arc::new(body.to_vec());
    let session = read_buffer(format, &source, body)?
        .sessions
        .into_iter()
        .next();
    let session = session.unwrap_or_else(|| Session::empty(source, format.id, dialect));
    match session.contract.server_state {
        true => Err(RequestError::ServerState),
        false => Ok((head, session)),
    }
}
