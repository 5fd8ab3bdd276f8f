//! Servers that speak the Model Context Protocol, over the pipes of a process of ours or over streamable HTTP.
//!
//! A server is started when the run begins, and again when it went away, though not for ever: [`RESTARTS`]
//! times in [`WINDOW`]. A call that was under way when it went away ends with an error; it is not made again,
//! since nobody knows how far it came.

use crate::http::{Broken, ClientError, Headers, Http, HttpTarget};
use process_wrap::tokio::{CommandWrap, KillOnDrop, ProcessSession};
use retake_core::session::ledger::{CallFailure, CallOutcome};
use retake_core::session::{Tool, ToolKind};
use rmcp::ServiceExt;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    ClientRequest, ContentBlock, Implementation, ListToolsRequest, PaginatedRequestParams,
    ResourceContents, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, RequestHandle,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// A server with its connection, which may be lost and made again.
pub struct Server {
    spec: ServerSpec,
    listener: Listener,
    link: Mutex<Link>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.spec.name).finish()
    }
}

#[derive(Default)]
struct Link {
    connection: Option<Arc<ServerConnection>>,
    /// When it was started, the oldest first.
    starts: VecDeque<Instant>,
}

impl Server {
    /// A server that is started when it is needed. `listener` hears what it writes to its standard error.
    pub fn new(spec: ServerSpec, listener: Listener) -> Self {
        Self {
            spec,
            listener,
            link: Mutex::default(),
        }
    }

    pub async fn list(&self) -> Result<Listing, ServerFault> {
        let connection = self.connection().await?;
        list(&connection, self.spec.only.as_deref()).await
    }

    /// Carries out one call. The arguments are the text of a JSON object.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &str,
        cancel: &CancellationToken,
    ) -> CallOutcome {
        let started = Instant::now();
        let object: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(object) => object,
            Err(error) => {
                let why = format!("the arguments are no JSON object: {error}");
                return failed(CallFailure::Reported, why, started);
            }
        };
        let connection = tokio::select! {
            connection = self.connection() => connection,
            () = cancel.cancelled() => {
                return failed(CallFailure::Stopped, "stopped by the operator".to_owned(), started);
            }
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(fault) => {
                let why = format!("the MCP server {} cannot be used: {fault}", self.spec.name);
                return failed(CallFailure::Connection, why, started);
            }
        };
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(object);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(request));
        let options = PeerRequestOptions::with_timeout(self.spec.timeout);
        let handle = connection.peer().send_cancellable_request(request, options);
        match handle.await {
            Ok(handle) => self.answer(handle, cancel, started).await,
            Err(error) => self.fault(error, started),
        }
    }

    async fn answer(
        &self,
        handle: RequestHandle<RoleClient>,
        cancel: &CancellationToken,
        started: Instant,
    ) -> CallOutcome {
        let (peer, id) = (handle.peer.clone(), handle.id.clone());
        tokio::select! {
            answer = handle.await_response() => match answer {
                Ok(ServerResult::CallToolResult(result)) => answered(result, started),
                Ok(_) => failed(
                    CallFailure::Unknown,
                    format!("the MCP server {} answered something else", self.spec.name),
                    started,
                ),
                Err(error) => self.fault(error, started),
            },
            () = cancel.cancelled() => {
                let reason = Some("the operator stopped it".to_owned());
                let cancelled = rmcp::model::CancelledNotificationParam::new(Some(id), reason);
                // A server that is gone needs no notice.
                let _ = tokio::time::timeout(Duration::from_secs(1), peer.notify_cancelled(cancelled)).await;
                failed(CallFailure::Stopped, "stopped by the operator".to_owned(), started)
            }
        }
    }

    fn fault(&self, error: ServiceError, started: Instant) -> CallOutcome {
        let name = &self.spec.name;
        match error {
            ServiceError::McpError(error) => {
                let why = format!("the MCP server {name} refused the call: {}", error.message);
                failed(CallFailure::Reported, why, started)
            }
            ServiceError::Timeout { .. } => {
                let limit = self.spec.timeout.as_secs_f64();
                let why = format!("the tool gave no answer within {limit} s");
                failed(CallFailure::Timeout, why, started)
            }
            ServiceError::TransportSend(error) if never_arrived(&error) => {
                let why = format!(
                    "the MCP server {name} cannot be used: {}",
                    transport(&error)
                );
                failed(CallFailure::Connection, why, started)
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let why = format!(
                    "the MCP server {name} went away while the tool ran; it may or may not have done its work"
                );
                failed(CallFailure::Unknown, why, started)
            }
            other => failed(
                CallFailure::Unknown,
                format!("the MCP server {name}: {other}"),
                started,
            ),
        }
    }

    /// The connection; a new one where there is none any more.
    async fn connection(&self) -> Result<Arc<ServerConnection>, ServerFault> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.connection.as_ref().filter(|known| known.is_open()) {
            return Ok(connection.clone());
        }
        // What is left of the old one goes first.
        link.connection = None;
        let now = Instant::now();
        link.starts
            .retain(|start| now.duration_since(*start) < WINDOW);
        if link.starts.len() > RESTARTS {
            return Err(ServerFault::GoneTooOften);
        }
        link.starts.push_back(now);
        let connection = Arc::new(connect(&self.spec, &self.listener).await?);
        link.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Ends the server: closes its input, then sends SIGTERM, then kills it.
    pub async fn stop(&self) {
        let connection = self.link.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }
}

// How a server is described.

/// How often a server is started again within [`WINDOW`].
pub const RESTARTS: usize = 3;
/// The time in which restarts are counted.
pub const WINDOW: Duration = Duration::from_secs(60);

/// A server, as an agent file names it.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// What notices call it.
    pub name: String,
    pub reach: McpReach,
    /// How long one call may take; starting and listing have their own limits.
    pub timeout: Duration,
    /// The tools that are offered; `None` for all of them.
    pub only: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum McpReach {
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

// Why a server cannot be used, in words that name no part of a library.

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerFault {
    #[error("it does not start: {0}")]
    NotStarted(String),
    #[error("it cannot be called: {0}")]
    BadAddress(String),
    #[error("it gave no answer within {} s ({what})", within.as_secs())]
    Silent {
        what: &'static str,
        within: Duration,
    },
    #[error("{0}")]
    Refused(String),
    #[error("it went away {RESTARTS} times within a minute and is not started again")]
    GoneTooOften,
}

impl ServerFault {
    /// What went wrong while a server was to say hello.
    pub(crate) fn of_hello(error: &ClientInitializeError) -> Self {
        Self::Refused(match error {
            ClientInitializeError::ConnectionClosed(_) => {
                "it ended before it answered the handshake".to_owned()
            }
            ClientInitializeError::TransportError { error, .. } => transport(error),
            ClientInitializeError::JsonRpcError(error) => shortened(&error.message),
            // Both ways to say hello went wrong; the older one is the one that most servers know.
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                return Self::of_hello(fallback);
            }
            other => shortened(&other.to_string()),
        })
    }
}

/// Whether a message surely did not reach its server.
pub(crate) fn never_arrived(error: &DynamicTransportError) -> bool {
    broken(error).is_some_and(|broken| !broken.may_have_arrived())
}

/// What went wrong on the way to a server.
pub(crate) fn transport(error: &DynamicTransportError) -> String {
    let text = broken(error).map_or_else(|| error.error.to_string(), |broken| broken.to_string());
    shortened(&text)
}

/// The failure of an HTTP connection.
fn broken(error: &DynamicTransportError) -> Option<Broken> {
    match error
        .error
        .downcast_ref::<StreamableHttpError<ClientError>>()?
    {
        // Its own words would hold the address, and that may hold a key.
        StreamableHttpError::Client(error) => Some(Broken::of(error, "no reply".to_owned())),
        _ => None,
    }
}

pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(500).collect()
}

// What the model reads of a server's answer.

/// How much of an answer the model reads from its start, and as much from its end.
const ENDS: usize = 64 * 1024;

/// An answer as text: its texts, and for what is not text a word about it.
pub(crate) fn answered(result: CallToolResult, started: Instant) -> CallOutcome {
    let texts: Vec<String> = result.content.iter().map(text_of).collect();
    let text = match (texts.is_empty(), &result.structured_content) {
        (true, Some(value)) => value.to_string(),
        _ => texts.join("\n"),
    };
    let is_error = result.is_error == Some(true);
    let output = match (text.trim().is_empty(), is_error) {
        (true, true) => "the tool reported an error without saying which".to_owned(),
        _ => bounded(text),
    };
    CallOutcome {
        output,
        is_error,
        failure: is_error.then_some(CallFailure::Reported),
        ms: passed(started),
    }
}

/// A call that brought no answer.
pub(crate) fn failed(failure: CallFailure, why: String, started: Instant) -> CallOutcome {
    CallOutcome {
        ms: passed(started),
        ..CallOutcome::failed(failure, bounded(why))
    }
}

fn passed(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(held) => match &held.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents {
                mime_type, blob, ..
            } => left_out(
                "file",
                mime_type.as_deref().unwrap_or("unknown type"),
                blob.len(),
            ),
            _ => "[a file of an unknown kind, not shown to the model]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[link to {}]", link.uri),
        _ => "[something that is not text, not shown to the model]".to_owned(),
    }
}

fn left_out(what: &str, kind: &str, base64: usize) -> String {
    format!(
        "[{what}, {kind}, {} bytes, not shown to the model]",
        base64 / 4 * 3
    )
}

/// The start and the end of a long text.
fn bounded(text: String) -> String {
    if text.len() <= 2 * ENDS {
        return text;
    }
    let head = text.floor_char_boundary(ENDS);
    let tail = text.ceil_char_boundary(text.len() - ENDS);
    let dropped = tail - head;
    format!(
        "{}\n[{dropped} bytes dropped]\n{}",
        &text[..head],
        &text[tail..]
    )
}

// The tools of a server that a model can use.

/// How long a server may take to list its tools.
const LIMIT: Duration = Duration::from_secs(30);
/// How many tools are taken over.
const TOOLS: usize = 1000;
/// How many pages are requested.
const PAGES: usize = 200;

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The tools, each name once.
    pub tools: Vec<Tool>,
    /// What was left out, and why; it holds text of the server.
    pub notes: Vec<String>,
}

/// Asks for all pages of the list.
pub(crate) async fn list(
    connection: &ServerConnection,
    only: Option<&[String]>,
) -> Result<Listing, ServerFault> {
    let silent = |_| ServerFault::Silent {
        what: "tools/list",
        within: LIMIT,
    };
    tokio::time::timeout(LIMIT, pages(connection, only))
        .await
        .map_err(silent)?
        .map_err(|error| ServerFault::Refused(shortened(&error.to_string())))
}

async fn pages(
    connection: &ServerConnection,
    only: Option<&[String]>,
) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let page = page(connection, cursor.clone()).await?;
        for definition in page.tools {
            listing.read(definition, only, &mut seen);
        }
        let next = page.next_cursor;
        // A server that names the same page again would be queried for ever.
        if next.is_none() || next == cursor || listing.tools.len() >= TOOLS {
            break;
        }
        cursor = next;
    }
    let missing = only
        .unwrap_or_default()
        .iter()
        .filter(|name| !seen.contains(*name));
    let missing = missing.map(|name| format!("the server offers no tool {name}"));
    listing.notes.extend(missing);
    Ok(listing)
}

/// A page of the list whose tools are read one by one, so that one that cannot be read costs itself only.
#[derive(serde::Deserialize)]
struct Page {
    tools: Vec<Value>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
}

async fn page(connection: &ServerConnection, cursor: Option<String>) -> Result<Page, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params);
    let reply = connection.peer().send_request(request.into()).await?;
    // The reply of rmcp is a list only where every tool of it is sound; otherwise it is whatever else it
    // may be taken for.
    let reply = serde_json::to_value(reply).map_err(|_| ServiceError::UnexpectedResponse)?;
    serde_json::from_value(reply).map_err(|_| ServiceError::UnexpectedResponse)
}

impl Listing {
    /// Adds a tool by its definition if it is wanted, or a note why it cannot be.
    fn read(&mut self, definition: Value, only: Option<&[String]>, seen: &mut HashSet<String>) {
        let name = definition.get("name").and_then(Value::as_str);
        let name = name.unwrap_or("a tool without a name").to_owned();
        if only.is_some_and(|only| !only.contains(&name)) {
            return;
        }
        match serde_json::from_value(definition) {
            Ok(tool) => self.add(tool, seen),
            Err(error) => {
                let note = format!("{name} is left out: its definition cannot be read: {error}");
                self.notes.push(shortened(&note));
            }
        }
    }

    fn add(&mut self, tool: rmcp::model::Tool, seen: &mut HashSet<String>) {
        let name = tool.name.into_owned();
        if !is_speakable(&name) {
            let note = format!("a tool is left out: no provider takes the name {name:?}");
            self.notes.push(shortened(&note));
        } else if !seen.insert(name.clone()) {
            self.notes
                .push(format!("{name} is offered twice; the first one counts"));
        } else if self.tools.len() == TOOLS {
            let note = format!("only the first {TOOLS} tools are taken over");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        } else if self.tools.len() < TOOLS {
            let object = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone());
            self.tools.push(Tool {
                name,
                kind: ToolKind::Function,
                description: tool.description.unwrap_or_default().into_owned(),
                parameters: Some(object(&tool.input_schema)),
                output_schema: tool.output_schema.as_deref().map(object),
            });
        }
    }
}

/// Whether every provider takes the name: letters, digits, `_` and `-`, at most 64 (wire-formats: the
/// pattern of function names).
fn is_speakable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

// From the description of a server to an initialized connection.

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
        let notice = "the server offers other tools now; the run keeps those that it knows";
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
            McpReach::Command {
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
            McpReach::Url { url, headers } => {
                let bad =
                    |error: &dyn std::fmt::Display| ServerFault::BadAddress(error.to_string());
                let target = HttpTarget::parse(url).map_err(|error| bad(&error))?;
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
