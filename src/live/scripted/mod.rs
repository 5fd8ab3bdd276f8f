//! A scripted model as an endpoint: HTTP on loopback, in the dialects of OpenAI Responses, OpenAI Chat and
//! Anthropic Messages, streamed and whole.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use retake_live::scripted::{ANY_PORT, Endpoint, read_script};
//! let script = read_script("sessions/agents/flights.script.toml".as_ref())?;
//! let endpoint = Endpoint::start(script, ANY_PORT)?;
//! println!("{}", endpoint.address());
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a thread of its own, so that it can be called from anywhere, and stops when its
//! [`Endpoint`] is dropped. What it answers is labelled: the model is `scripted:NAME`, and each reply
//! has the header `x-retake-scripted`.

mod exchange;

pub use super::serving::ANY_PORT;

use super::files::{InputError, read_text};
use super::serving::Listening;
use exchange::Serving;
use retake_core::config::ConfigErrors;
use retake_core::script::{LENGTH, Script};
use retake_core::session::Dialect;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A scripted model that listens, until this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    listening: Listening,
}

impl Endpoint {
    /// Serves a script. Fails where the address is not of the loopback, or cannot be had.
    pub fn start(script: Script, listen: SocketAddr) -> io::Result<Self> {
        let listening = Listening::start(Serving::new(script), listen)?;
        Ok(Self { listening })
    }

    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// What clients of a dialect call their base URL: those of OpenAI add `/responses` to it,
    /// those of Anthropic `/v1/messages`.
    pub fn base_url(&self, dialect: Dialect) -> String {
        self.listening.base_url(dialect)
    }
}

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: InputError },
    /// It is no script; everything that is wrong with it.
    #[error("{}", errors.in_file(&path.to_string_lossy()))]
    Invalid { path: PathBuf, errors: ConfigErrors },
}

/// Reads a script file.
pub fn read_script(path: &Path) -> Result<Script, ScriptError> {
    let text = read_text(path, LENGTH as u64).map_err(|error| ScriptError::File {
        path: path.to_owned(),
        error,
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Script::parse(&name, &text).map_err(|errors| ScriptError::Invalid {
        path: path.to_owned(),
        errors,
    })
}
