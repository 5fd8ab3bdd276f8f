//! An MCP server whose tools are commands of this program, over standard input and output or HTTP on the loopback.
//!
//! Each call starts its command as a process of its own: a recording that takes gigabytes, a crash, or a call that
//! the client cancels costs that process alone. What it prints goes back in pages of a bounded size; a command
//! whose page is full is ended.

use crate::proxy::body::Body;
use crate::proxy::listen::Token;
use crate::proxy::server::ClientConnection;
use crate::serving::{Answers, Listening};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Request, Response};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServiceExt};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, duplex,
};
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::sync::Semaphore;

/// How many commands run at a time; more calls wait.
const AT_ONCE: usize = 4;
/// How much of what a command prints on standard error is kept, in bytes.
const COMPLAINTS: u64 = 8 * 1024;

/// Bytes that wait between standard input and the server.
const PIPE: usize = 64 * 1024;
/// The answer to a line that is not JSON, as JSON-RPC wants it.
const NOT_JSON: &str = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error: this line is not JSON\"}}\n";

/// What stands in the place of the beginning of a long output.
const LEFT_OUT: &str = "(the beginning is left out)\n";

/// Passes the lines on that are JSON. The library drops others without an answer.
async fn answer_garbage(input: impl AsyncRead + Unpin, mut sound: impl AsyncWrite + Unpin) {
    let (mut lines, mut output) = (BufReader::new(input), tokio::io::stdout());
    let mut line = Vec::new();
    loop {
        line.clear();
        // Whoever cannot read or write any more is gone, and the server ends with it.
        let Ok(1..) = lines.read_until(b'\n', &mut line).await else {
            return;
        };
        let is_json = serde_json::from_slice::<IgnoredAny>(&line).is_ok();
        let done = match is_json || line.trim_ascii().is_empty() {
            true => sound.write_all(&line).await,
            false => output
                .write_all(NOT_JSON.as_bytes())
                .await
                .and(output.flush().await),
        };
        if done.is_err() {
            return;
        }
    }
}

/// What a client is told of a tool.
#[derive(Debug, Clone)]
pub struct McpTool {
    pub name: &'static str,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Map<String, Value>,
    /// Whether it writes files.
    pub writes: bool,
    /// Whether it runs an agent or asks a model.
    pub runs: bool,
}

/// A call as a command line of this program.
#[derive(Debug, Default)]
pub struct McpCommand {
    pub words: Vec<OsString>,
    /// What the command reads from standard input.
    pub input: Vec<u8>,
    /// Where in its output the page begins, in bytes.
    pub from: u64,
    /// The most bytes of a page.
    pub most: usize,
    /// Whether it does what must not be done twice: it is not ended where its page is full, and has one page.
    pub runs_once: bool,
}

/// A part of what a command printed.
#[derive(Debug, PartialEq, Eq)]
pub struct McpPage {
    pub text: String,
    /// Where the next page begins; `None` where the output ends.
    pub next: Option<u64>,
    /// What the command printed on standard error.
    pub complaints: String,
    /// The exit code; `None` where the command was ended since the page was full, or by a signal.
    pub code: Option<u8>,
}

/// The tools of a server.
pub trait McpTools: Send + Sync + 'static {
    /// What a client's model is told about the server.
    fn instructions(&self) -> String;

    fn tools(&self) -> Vec<McpTool>;

    /// The command that a call is. The error goes to the client's model; it says what to do instead.
    fn command(&self, tool: &str, arguments: &Map<String, Value>) -> Result<McpCommand, String>;

    /// Whether a call that is a command may be made: asked once for each, on a thread that may wait.
    fn admit(&self, tool: &str, arguments: &Map<String, Value>) -> Result<(), String>;

    /// What the client gets of a page, or the error that it gets.
    fn answer(&self, page: McpPage) -> Result<String, String>;
}

/// A server of tools.
pub struct McpServer<T> {
    tools: Arc<T>,
    program: PathBuf,
    permits: Arc<Semaphore>,
}

impl<T> Clone for McpServer<T> {
    fn clone(&self) -> Self {
        Self {
            tools: self.tools.clone(),
            program: self.program.clone(),
            permits: self.permits.clone(),
        }
    }
}

impl<T: McpTools> McpServer<T> {
    /// Serves these tools; `program` is started for each call.
    pub fn new(tools: T, program: PathBuf) -> Self {
        Self {
            tools: Arc::new(tools),
            program,
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Serves one client over standard input and output, until it closes them.
    pub fn serve_stdio(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let ended = runtime.block_on(async {
            let (input, output) = stdio();
            let (readable, sound) = duplex(PIPE);
            tokio::spawn(answer_garbage(input, sound));
            let service = self
                .serve((readable, output))
                .await
                .map_err(io::Error::other)?;
            service.waiting().await.map_err(io::Error::other)
        });
        // The thread that waits for standard input does not end before a line comes.
        runtime.shutdown_background();
        match ended? {
            QuitReason::JoinError(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Serves any number of clients over streamable HTTP on the loopback, until the endpoint is dropped; whoever
    /// comes must bring the token.
    pub fn serve_http(self, listen: SocketAddr, token: Token) -> io::Result<McpEndpoint> {
        // A server without sessions can be started anew while clients stay.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        let service = StreamableHttpService::new(
            move || Ok(self.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        let url_token = token.reveal().to_owned();
        let listening = Listening::with_token(HttpAnswers(service), listen, Some(token))?;
        let url = format!("http://{}/t/{url_token}/mcp", listening.address());
        Ok(McpEndpoint {
            url,
            _listening: listening,
        })
    }

    async fn call(&self, name: &str, arguments: &Map<String, Value>) -> Result<String, String> {
        let command = self.tools.command(name, arguments)?;
        let (tools, tool, given) = (self.tools.clone(), name.to_owned(), arguments.clone());
        let admitted = tokio::task::spawn_blocking(move || tools.admit(&tool, &given)).await;
        admitted.map_err(|error| format!("the call could not be looked at: {error}"))??;
        let failed = |error: io::Error| format!("the command cannot be run: {error}");
        let page = self.run(command).await.map_err(failed)?;
        self.tools.answer(page)
    }

    async fn run(&self, command: McpCommand) -> io::Result<McpPage> {
        let _permit = self.permits.acquire().await.map_err(io::Error::other)?;
        let mut process = Command::new(&self.program)
            .args(&command.words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pipes = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        );
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        let write = async {
            // A command that does not want all of it says so by its exit code.
            let _ = stdin.write_all(&command.input).await;
            drop(stdin);
        };
        let read = async {
            match command.runs_once {
                true => Ok((tail(stdout, command.most).await?, true)),
                false => window(stdout, command.from, command.most).await,
            }
        };
        let ((), read, complaints) = tokio::join!(write, read, complaints(stderr));
        let (bytes, is_all) = read?;
        let (text, next) = match is_all {
            true => (String::from_utf8_lossy(&bytes).into_owned(), None),
            false => {
                let length = end_of_page(&bytes);
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                (text, Some(command.from + length as u64))
            }
        };
        let code = match is_all {
            true => process.wait().await?.code(),
            false => {
                process.kill().await?;
                None
            }
        };
        Ok(McpPage {
            text,
            next,
            complaints: complaints?,
            code: code.and_then(|code| u8::try_from(code).ok()),
        })
    }
}

/// What a command prints after the first `from` bytes, `most` bytes of it; and whether that is all.
async fn window(stdout: ChildStdout, from: u64, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut stdout = BufReader::new(stdout);
    let mut skipped = 0;
    while skipped < from {
        let have = stdout.fill_buf().await?.len();
        if have == 0 {
            return Ok((Vec::new(), true));
        }
        let left = usize::try_from(from - skipped).unwrap_or(usize::MAX);
        stdout.consume(have.min(left));
        skipped += have.min(left) as u64;
    }
    let mut bytes = Vec::new();
    (&mut stdout)
        .take(most as u64)
        .read_to_end(&mut bytes)
        .await?;
    let is_all = bytes.len() < most || stdout.fill_buf().await?.is_empty();
    Ok((bytes, is_all))
}

/// The last lines of what a command prints, `most` bytes of them.
async fn tail(mut stdout: ChildStdout, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut is_cut = false;
    while stdout.read_buf(&mut bytes).await? > 0 {
        if bytes.len() > 2 * most {
            bytes.drain(..bytes.len() - most);
            is_cut = true;
        }
    }
    if bytes.len() > most || is_cut {
        let from = bytes.len().saturating_sub(most);
        let line = memchr::memchr(b'\n', &bytes[from..]).map_or(from, |at| from + at + 1);
        bytes.drain(..line);
        bytes.splice(..0, LEFT_OUT.bytes());
    }
    Ok(bytes)
}

async fn complaints(stderr: ChildStderr) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut stderr = BufReader::new(stderr);
    (&mut stderr)
        .take(COMPLAINTS)
        .read_to_end(&mut bytes)
        .await?;
    // What is not kept is read all the same: a full pipe would hold the command.
    tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a page that is not the last one is cut: after its last line, else after its last whole character.
fn end_of_page(bytes: &[u8]) -> usize {
    if let Some(newline) = memchr::memrchr(b'\n', bytes) {
        return newline + 1;
    }
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

impl<T: McpTools> ServerHandler for McpServer<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new("retake", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(self.tools.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.tools().into_iter().map(|tool| {
            let hints = ToolAnnotations::new()
                .read_only(!tool.writes && !tool.runs)
                .destructive(tool.runs)
                .open_world(tool.runs);
            Tool::new(tool.name, tool.description, tool.schema).with_annotations(hints)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = tokio::select! {
            answer = self.call(&request.name, &arguments) => answer,
            // The command ends with the future that waits for it.
            () = context.ct.cancelled() => Err("the call was cancelled".to_owned()),
        };
        let result = match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(unknown_method("prompts/get"))
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(unknown_method("resources/read"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_method(&request.method))
    }
}

fn unknown_method(method: &str) -> ErrorData {
    let message = format!(
        "unknown method \"{method}\": this server has tools only; tools/list lists them, tools/call calls one"
    );
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// A server that listens, until this is dropped.
#[derive(Debug)]
pub struct McpEndpoint {
    url: String,
    _listening: Listening,
}

impl McpEndpoint {
    /// What clients connect to; the token is part of it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

struct HttpAnswers<T: McpTools>(StreamableHttpService<McpServer<T>, NeverSessionManager>);

impl<T: McpTools> Answers for HttpAnswers<T> {
    const WHAT: &'static str = "mcp-serve";

    async fn answer(&self, _: &ClientConnection, request: Request<Incoming>) -> Response<Body> {
        let reply = self.0.handle(request).await;
        reply.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_a_line_or_else_with_a_character() {
        assert_eq!(end_of_page(b"one\ntwo"), 4);
        assert_eq!(end_of_page(b"one two"), 7);
        assert_eq!(end_of_page("one \u{e9}".as_bytes()), 6);
        assert_eq!(end_of_page(&"one \u{e9}".as_bytes()[..5]), 4);
    }
}
