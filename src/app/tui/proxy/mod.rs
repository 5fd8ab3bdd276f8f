//! The screen of `retake proxy`: the list of exchanges, and the way from there into the debugger and back.
//!
//! ```text
//! News ─▶ inbox ─▶ board ─▶ view          keys ─▶ board ─▶ Command ─▶ the proxy
//!         (many become one wake)                    └─▶ enter ─▶ seat or recording ─▶ debugger ─▶ back
//! ```
//!
//! Whatever comes, the list is drawn at most once in [`inbox::PAUSE`], on the thread of the screen: what is
//! forwarded never waits for it.

pub mod board;
pub mod columns;
pub mod curl;
pub mod inbox;
mod keys;
pub mod past;
pub mod rows;
#[cfg(test)]
mod tests;
mod view;
pub(super) mod watching;
pub mod words;

pub use curl::CurlRequest;

use crate::tui::loader::takes::conductor::Seated;
use retake_core::engine::Breakpoint;
use retake_core::exchange::ExchangeId;
use retake_live::Input;
use retake_live::proxy::{ProxyCommand, ProxyNews};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// What the screen requests of its proxy. Nothing of it may wait for an upstream or a client.
pub trait Exchanges: Send + Sync {
    /// Does what the operator wants; what comes of it is news.
    fn obey(&self, command: ProxyCommand);

    /// How many connections of clients are open.
    fn clients(&self) -> usize;

    /// Takes a held exchange over: its journal, and who drives it. `None` where it is not held, or
    /// is taken over already.
    fn seat(&self, id: ExchangeId) -> Option<(PathBuf, Seated)>;

    /// The recording of an exchange, its request and its reply as far as it has come, to be read; or
    /// why there is none.
    fn recording(&self, id: ExchangeId) -> Result<Input, String>;

    /// The request of an exchange as its agent sent it; `None` where it is no longer at hand.
    fn request(&self, id: ExchangeId) -> Option<CurlRequest>;
}

/// What is known of a proxy before anything has passed.
#[derive(Debug, Clone, Default)]
pub struct ProxyInfo {
    /// The upstreams, host and port, in the order of the command line.
    pub upstreams: Vec<String>,
    /// Of them, those whose TLS is not verified.
    pub unverified: Vec<String>,
    /// The lines that point agents at the proxy.
    pub connect: Vec<String>,
    /// Where everything is recorded; `None` where nothing is.
    pub recording: Option<PathBuf>,
    /// The command of the agent that the proxy has started.
    pub child: Option<String>,
    /// Whether anything is held.
    pub is_intercepting: bool,
    /// Where exchanges are held although nothing is wrong.
    pub breakpoints: Vec<Breakpoint>,
}

/// A proxy that is to be watched.
pub struct Watched {
    pub proxy: Arc<dyn Exchanges>,
    pub news: Receiver<ProxyNews>,
    /// What is known of it.
    pub about: ProxyInfo,
}
