//! From the description of a server to an initialized connection.

use super::fault::ServerFault;
use super::spec::{Reach, ServerSpec};
use crate::http::{Headers, Http, Target};
use process_wrap::tokio::{CommandWrap, KillOnDrop, ProcessSession};
use rmcp::ServiceExt;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, Peer, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};

/// How long a server may take to say hello.
pub(crate) const HELLO: Duration = Duration::from_secs(15);
/// How long a connection to it may take.
const REACH: Duration = Duration::from_secs(10);
/// Grace period before the kill.
const GOODBYE: Duration = Duration::from_secs(8);
/// How much of one line of its standard error is reported.
const LINE: u64 = 500;
/// How many lines of it are reported at all.
const LINES: u32 = 200;

/// Hears what a server says besides its answers: `(server, line)`. It holds text from outside.
pub type Listener = Arc<dyn Fn(&str, &str) + Send + Sync>;

pub(crate) struct ServerConnection {
    service: RunningService<RoleClient, Hearing>,
}

impl ServerConnection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    pub(crate) async fn close(mut self) {
        // What does not end in time is killed when the connection is dropped.
        let _ = self.service.close_with_timeout(GOODBYE).await;
    }
}

/// retake as a client: it offers nothing to servers (no sampling, no roots), and hears when their tools change.
pub(crate) struct Hearing {
    name: String,
    listener: Listener,
}

impl ClientHandler for Hearing {
    fn get_info(&self) -> ClientConfig {
        let retake = Implementation::new("retake", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), retake)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let notice = "the server offers other tools now; the run keeps those that it was told of";
        (self.listener)(&self.name, notice);
    }
}

/// Starts or reaches a server, and says hello.
pub(crate) async fn connect(
    spec: &ServerSpec,
    listener: &Listener,
) -> Result<ServerConnection, ServerFault> {
    let hearing = Hearing {
        name: spec.name.clone(),
        listener: listener.clone(),
    };
    let hello = async {
        match &spec.reach {
            Reach::Command {
                command,
                folder,
                environment,
            } => {
                let (child, stderr) = spawn(command, folder.as_deref(), environment)?;
                if let Some(stderr) = stderr {
                    tokio::spawn(hear(stderr, spec.name.clone(), listener.clone()));
                }
                let connected = hearing.serve(child).await;
                connected.map_err(|error| ServerFault::of_hello(&error))
            }
            Reach::Url { url, headers } => {
                let bad =
                    |error: &dyn std::fmt::Display| ServerFault::BadAddress(error.to_string());
                let target = Target::parse(url).map_err(|error| bad(&error))?;
                let client = Http::new(&target, REACH).map_err(|error| bad(&error))?;
                let mut lines = Headers::default();
                for (name, value) in headers {
                    lines.set(name, value).map_err(|error| bad(&error))?;
                }
                let client = client.into_client();
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = lines.lines();
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let connected = hearing.serve(transport).await;
                connected.map_err(|error| ServerFault::of_hello(&error))
            }
        }
    };
    let service = tokio::time::timeout(HELLO, hello).await;
    let service = service.map_err(|_| ServerFault::Silent {
        what: "initialize",
        within: HELLO,
    })??;
    Ok(ServerConnection { service })
}

/// The process of a server: in a session of its own, without a terminal, with the environment that it was
/// given and no other.
fn spawn(
    command: &[String],
    folder: Option<&std::path::Path>,
    environment: &BTreeMap<String, String>,
) -> Result<(TokioChildProcess, Option<ChildStderr>), ServerFault> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(ServerFault::NotStarted("no program is named".to_owned()));
    };
    let mut process = Command::new(program);
    process.args(arguments).env_clear().envs(environment);
    if let Some(folder) = folder {
        process.current_dir(folder);
    }
    let mut wrapped = CommandWrap::from(process);
    wrapped.wrap(ProcessSession).wrap(KillOnDrop);
    let spawned = TokioChildProcess::builder(wrapped)
        .stderr(Stdio::piped())
        .spawn();
    spawned.map_err(|error| ServerFault::NotStarted(format!("{program}: {error}")))
}

/// Tells what a server writes to its standard error, line by line: the beginning of each, and not for ever. All
/// of it is read, so that the server never waits for us.
async fn hear(stderr: ChildStderr, name: String, listener: Listener) {
    let mut lines = BufReader::new(stderr);
    let reported = AtomicU32::new(0);
    loop {
        let mut line = Vec::new();
        match (&mut lines).take(LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if !line.ends_with(b"\n") && skip_line(&mut lines).await.is_err() {
            return;
        }
        match reported.fetch_add(1, Ordering::Relaxed) {
            number if number < LINES => {
                let text = String::from_utf8_lossy(&line);
                (listener)(&name, text.trim_end());
            }
            LINES => (listener)(
                &name,
                "(what else it writes to its standard error is left out)",
            ),
            _ => {}
        }
    }
}

async fn skip_line(lines: &mut BufReader<ChildStderr>) -> std::io::Result<()> {
    loop {
        let held = lines.fill_buf().await?;
        if held.is_empty() {
            return Ok(());
        }
        let end = memchr::memchr(b'\n', held);
        let length = end.map_or(held.len(), |end| end + 1);
        lines.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}
