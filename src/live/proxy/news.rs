//! News of a proxy for its watchers, and commands to it.

use retake_core::engine::Breakpoint;
use retake_core::exchange::{ExchangeId, Seen};
use retake_core::rules::Finding;
use retake_core::session::takes::Author;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

/// Something has happened. Texts may hold text from outside. What says all that there is to say of it is
/// serialized as the JSON lines of a proxy tell it; the rest is skipped.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum News {
    /// A listener is ready; they come in the order of the upstreams.
    #[serde(skip)]
    Listening {
        address: SocketAddr,
        /// What its clients call their base URL, without `/v1`; a token is part of it.
        base: String,
        /// The upstream that it leads to: host and port.
        upstream: String,
    },
    /// An exchange has begun, or its status has changed.
    #[serde(skip)]
    Exchange(Arc<Seen>),
    /// The reply or the request of an exchange was judged and something was found.
    #[serde(skip)]
    Found {
        id: ExchangeId,
        /// What, in the order of the history.
        findings: Arc<Vec<Finding>>,
        /// What they were found in, for a report.
        session: Arc<crate::Recording>,
    },
    /// Something was decided about an exchange.
    #[serde(rename = "decision")]
    Decided {
        #[serde(rename = "exchange")]
        id: ExchangeId,
        /// Id of the rule, where it is about a finding.
        rule: Option<String>,
        /// Id of the action, or `release`, `cut`.
        action: String,
        by: Author,
        /// The name of the wording.
        wording: Option<String>,
        /// Whether words of the held reply had reached the agent before: the decision follows them.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        text_sent: bool,
    },
    /// A hold has a journal of its own now, which opens like a recording.
    Journal {
        #[serde(rename = "exchange")]
        id: ExchangeId,
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
    },
    /// The agent that was started with the proxy has written a line.
    Output {
        /// The line without its end; a long one comes in pieces.
        text: String,
        /// Whether it is of its standard error.
        #[serde(rename = "stream", serialize_with = "stream_name")]
        is_error: bool,
    },
    /// The agent that was started with the proxy has ended, and all that it wrote was reported.
    #[serde(skip)]
    AgentEnded(ExitStatus),
    /// The operator should know this.
    #[serde(serialize_with = "message")]
    Notice(String),
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn stream_name<S: Serializer>(is_error: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_error { "stderr" } else { "stdout" })
}

fn message<S: Serializer>(message: &str, to: S) -> Result<S::Ok, S::Error> {
    BTreeMap::from([("message", message)]).serialize(to)
}

/// Who hears the news, in threads of the proxy.
pub type Report = Arc<dyn Fn(News) + Send + Sync>;

/// What the operator wants of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// What is held of an exchange passes as it came.
    Release(ExchangeId),
    /// Everything that is held passes as it came.
    ReleaseAll,
    /// The connection to the agent is cut.
    Cut(ExchangeId),
    /// Whether anything is held at all; what passes is still watched and recorded.
    Intercept(bool),
    /// All breakpoints: where exchanges are held although nothing is wrong.
    Breakpoints(Vec<Breakpoint>),
}
