//! Arguments of commands that serve: `scripted`, `replay`.

use super::LineFormat;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `scripted`.
#[derive(Debug, Args)]
pub struct ScriptedArguments {
    /// The script, such as sessions/agents/flights.script.toml
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Where to listen, on the loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The recordings, - for standard input; the beginning of a request selects the session
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Serve the debugger's current take of the recording
    #[arg(long, conflicts_with = "take")]
    pub takes: bool,
    /// Serve this take
    #[arg(long, value_name = "N")]
    pub take: Option<u32>,
    /// Serve this session only, counted from 1 over all recordings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub session: Option<u32>,
    /// Answer a request that differs with the nearest turn, and report what differs
    #[arg(long)]
    pub lenient: bool,
    /// Where to listen, on the loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Format of the lines about requests (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// Inject faults to test the agent's error handling, as `proxy --chaos` does, with the nearest
    /// turns as its model
    #[arg(long, value_name = "SPEC")]
    pub chaos: Option<PathBuf>,
    /// The journal of the faults, or with CMD the folder of the journals
    #[arg(long, value_name = "FILE", requires = "chaos")]
    pub journal: Option<PathBuf>,
    /// How long replies take
    #[arg(long, value_enum, value_name = "DELAY", default_value_t)]
    pub delay: Delay,
    /// Read the recordings in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = super::formats())]
    pub read_as: Option<String>,
    /// The agent to start, pointed at the replay; it ends when retake ends
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// How long replies take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Delay {
    /// No delay
    #[default]
    None,
    /// As recorded, where the recording has times
    Recorded,
}
