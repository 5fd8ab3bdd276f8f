//! Arguments of what serves: `scripted`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `scripted`.
#[derive(Debug, Args)]
pub struct ScriptedArguments {
    /// The script, as sessions/agents/flights.script.toml
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Where to listen, on the loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}
