//! How a server is described.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How often a server is started again within [`WINDOW`].
pub const RESTARTS: usize = 3;
/// The time in which restarts are counted.
pub const WINDOW: Duration = Duration::from_secs(60);

/// A server, as an agent file names it.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// What notices call it.
    pub name: String,
    pub reach: Reach,
    /// How long one call may take; starting and listing have their own limits.
    pub timeout: Duration,
    /// The tools that are offered; `None` for all of them.
    pub only: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program of ours that speaks over its standard input and output.
    Command {
        command: Vec<String>,
        /// Where it runs; `None` for where retake runs.
        folder: Option<PathBuf>,
        /// The whole environment of the program.
        environment: BTreeMap<String, String>,
    },
    Url {
        url: String,
        /// Headers of every request, keys among them.
        headers: BTreeMap<String, String>,
    },
}
