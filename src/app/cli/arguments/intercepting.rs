//! Arguments of `proxy`.

use super::{LineFormat, LookArguments};
use clap::Args;
use retake_live::proxy::{USUAL_ASKS, Upstream};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `proxy`.
#[derive(Debug, Args)]
pub struct ProxyArguments {
    /// Provider: the base URL that the agent used before, such as https://api.openai.com. Each upstream
    /// gets its own listener
    #[arg(long, value_name = "[NAME=]URL", required = true, value_parser = Upstream::parse)]
    pub upstream: Vec<Upstream>,
    /// Where to listen; further upstreams use the following ports; port 0 takes any free one [default:
    /// 127.0.0.1:8484, or the next port that is free]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Let other machines connect; every path then begins with a token, which is printed
    #[arg(long)]
    pub allow_remote: bool,
    /// A name, besides localhost, by which agents may address this machine
    #[arg(long = "host-name", value_name = "NAME")]
    pub host_names: Vec<String>,
    /// Do not verify the certificate of this host
    #[arg(long = "insecure-upstream", value_name = "HOST")]
    pub insecure: Vec<String>,
    /// The policy, which decides without asking
    #[arg(long, value_name = "FILE", conflicts_with = "chaos")]
    pub policy: Option<PathBuf>,
    /// Also hold here, even if nothing is wrong: `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`
    #[arg(long = "break", value_name = "PLACE", conflicts_with_all = ["headless", "chaos"])]
    pub breakpoints: Vec<String>,
    /// Run without a screen: the policy decides, and events are printed as one JSON object a line
    #[arg(long)]
    pub headless: bool,
    /// Inject faults to test the agent's error handling; with CMD the agent is started anew for each, and the
    /// exit code shows whether it survived
    #[arg(long, value_name = "SPEC")]
    pub chaos: Option<PathBuf>,
    /// Format of the fault report
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        requires = "chaos"
    )]
    pub format: LineFormat,
    /// The file of the proxy's journal, or with --chaos and CMD the folder of its journals; without it a
    /// new one among the operator's own data. A file that is there is left as it is: the journal gets a
    /// number, as in FILE-2.jsonl
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Hold nothing: watch and record only
    #[arg(long)]
    pub no_intercept: bool,
    /// Pass requests that the provider would refuse
    #[arg(long)]
    pub pass_requests: bool,
    /// The most retries for one exchange
    #[arg(long, value_name = "N", default_value_t = USUAL_ASKS)]
    pub max_asks: u32,
    /// The file that the command's output goes to as it comes
    #[arg(
        long,
        value_name = "FILE",
        requires = "command",
        conflicts_with = "chaos"
    )]
    pub output: Option<PathBuf>,
    /// How it looks.
    #[command(flatten)]
    pub look: LookArguments,
    /// The agent to start with the proxy, pointed at it; it ends when retake ends
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
