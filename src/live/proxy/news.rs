//! What a proxy tells whoever watches it, and what it can be told.

use retake_core::engine::Breakpoint;
use retake_core::exchange::{ExchangeId, Seen};
use retake_core::rules::Finding;
use retake_core::session::takes::Author;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

/// Something has happened. Texts may hold text from outside.
#[derive(Debug, Clone)]
pub enum News {
    /// A listener is ready; they come in the order of the upstreams.
    Listening {
        address: SocketAddr,
        /// What its clients call their base URL, without `/v1`; a token is part of it.
        base: String,
        /// Which upstream is behind it: host and port.
        upstream: String,
    },
    /// An exchange has begun, or stands otherwise than before.
    Exchange(Arc<Seen>),
    /// The reply or the request of an exchange was judged and something was found.
    Found {
        id: ExchangeId,
        /// What, in the order of the history.
        findings: Arc<Vec<Finding>>,
        /// What they were found in, for a report.
        session: Arc<crate::Recording>,
    },
    /// Something was decided about an exchange.
    Decided {
        id: ExchangeId,
        /// Id of the rule, where it is about a finding.
        rule: Option<String>,
        /// Id of the action, or `release`, `cut`.
        action: String,
        by: Author,
        /// The name of the wording.
        wording: Option<String>,
        /// Whether words of the held reply had reached the agent before: what is decided comes behind them.
        text_sent: bool,
    },
    /// A hold has a journal of its own now, which opens like a recording.
    Journal { id: ExchangeId, path: PathBuf },
    /// The agent that was started with the proxy has written a line.
    Output {
        /// The line without its end; a long one comes in pieces.
        text: String,
        /// Whether it is of its standard error.
        is_error: bool,
    },
    /// The agent that was started with the proxy has ended, and all that it wrote was told.
    AgentEnded(ExitStatus),
    /// The operator should know this.
    Notice(String),
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
