//! A scripted model as an endpoint: HTTP on loopback, in the dialects of OpenAI Responses, OpenAI Chat and
//! Anthropic Messages, streamed and whole.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use retake_live::scripted::{ANY_PORT, ScriptedServer, read_script};
//! let script = read_script("sessions/agents/flights.script.toml".as_ref())?;
//! let endpoint = ScriptedServer::start(script, ANY_PORT)?;
//! println!("{}", endpoint.address());
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a thread of its own, so that it can be called from anywhere, and stops when its
//! [`ScriptedServer`] is dropped. What it answers is labelled: the model is `scripted:NAME`, and each reply
//! has the header `x-retake-scripted`.

use crate::files::{InputError, read_text};
use crate::lock::lock;
use crate::proxy::body::Body;
use crate::proxy::server::ClientConnection;
pub use crate::serving::{ANY_PORT, served_paths};
use crate::serving::{Answers, Asking, BodyEnding, Listening, Sending, asking, models, paced};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use retake_core::config::ConfigErrors;
use retake_core::exchange::views::{Keeping, StoredReplies};
use retake_core::script::{LENGTH, Script, ScriptAnswer, ScriptRequest, ScriptRule, ScriptedFault};
use retake_core::session::Dialect;
use retake_core::wire::write::NewReply;
use retake_core::wire::{RequestHead, ServerState};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A scripted model that listens, until this is dropped.
#[derive(Debug)]
pub struct ScriptedServer {
    listening: Listening,
}

impl ScriptedServer {
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
    /// It is not a script; everything that is wrong with it.
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

// One request and its reply.

/// What the ids of refusals are made of.
pub(crate) const TAG: &str = "scripted";
/// How many different requests are remembered; beyond that counting begins anew.
pub(crate) const REMEMBERED: usize = 100_000;
/// Says that a reply is scripted, and by what.
const SCRIPTED: HeaderName = HeaderName::from_static("x-retake-scripted");
/// Says which rule answered.
const RULE: HeaderName = HeaderName::from_static("x-retake-rule");
/// Tells samples of one history apart.
const SAMPLE: HeaderName = HeaderName::from_static("x-retake-sample");

/// A script, and its memory of earlier requests.
pub(crate) struct Serving {
    script: Script,
    /// How often each request came.
    attempts: Mutex<HashMap<u64, u32>>,
    stored: Stored,
}

impl Serving {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            attempts: Mutex::default(),
            stored: Stored::default(),
        }
    }

    /// Answers a request in a dialect.
    async fn reply(&self, dialect: Dialect, headers: &HeaderMap, body: &[u8]) -> Sending {
        let full = match self.stored.full(dialect, headers, body) {
            Ok(full) => full,
            Err(refused) => return refused.spelled(dialect),
        };
        let request = match ScriptRequest::read(dialect, &full.body) {
            Ok(request) => request,
            Err(why) => return refusal(dialect, StatusCode::BAD_REQUEST, &why.to_string()),
        };
        let sample = headers.get(SAMPLE).and_then(|word| word.to_str().ok());
        let request = match sample {
            Some(word) => request.for_sample(word),
            None => request,
        };
        let attempt = self.count(request.fingerprint());
        let Some((index, rule)) = self.script.choose(&request, attempt) else {
            let message = self.script.nothing_fits(&request);
            return refusal(dialect, StatusCode::BAD_REQUEST, &message);
        };
        let mut sending = self.carry_out(rule, &request, (&full, attempt)).await;
        let place = format!("{}, line {}", index + 1, rule.line);
        if let Ok(place) = HeaderValue::from_str(&place) {
            sending.headers.insert(RULE, place);
        }
        sending
    }

    async fn carry_out(
        &self,
        rule: &ScriptRule,
        request: &ScriptRequest,
        (full, attempt): (&Full, u32),
    ) -> Sending {
        let answer = &rule.answer;
        tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        match &answer.fault {
            Some(ScriptedFault::Status {
                status,
                message,
                retry_after,
            }) => {
                let status = StatusCode::from_u16(*status);
                let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let mut sending = refusal(request.dialect, status, message);
                let wait = retry_after.as_deref().map(HeaderValue::from_str);
                if let Some(Ok(wait)) = wait {
                    sending.headers.insert(RETRY_AFTER, wait);
                }
                return sending;
            }
            Some(ScriptedFault::Hang { after: 0 }) => return std::future::pending().await,
            Some(ScriptedFault::Hang { .. } | ScriptedFault::Cut { .. }) | None => {}
        }
        match self.script.answer(rule, request) {
            Ok(mut reply) => {
                if attempt > 1 && full.is_of_thread() {
                    // Two threads that say the same are two.
                    reply.tag = format!("{}{attempt}", reply.tag);
                }
                let whole = reply.spell(request.dialect);
                self.stored.keep(request.dialect, full, &whole);
                reply_to(request, answer, &reply)
            }
            Err(reason) => {
                let file = &self.script.file;
                let message = format!("{file}, the rule in line {}: {reason}", rule.line);
                refusal(request.dialect, StatusCode::BAD_REQUEST, &message)
            }
        }
    }

    /// How often this request has come, this time included.
    fn count(&self, fingerprint: u64) -> u32 {
        let mut attempts = lock(&self.attempts);
        if attempts.len() >= REMEMBERED {
            attempts.clear();
        }
        let count = attempts.entry(fingerprint).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

impl Answers for Serving {
    const WHAT: &'static str = "a scripted model";

    async fn answer(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let sending = match asking(connection, request, TAG).await {
            Asking::Models => models([&*self.script.model()]),
            Asking::Nothing(sending) => sending,
            Asking::Reply {
                dialect,
                headers,
                body,
            } => self.reply(dialect, &headers, &body).await,
        };
        let mut response = sending.into_response();
        if let Ok(name) = HeaderValue::from_str(&self.script.name) {
            response.headers_mut().insert(SCRIPTED, name);
        }
        response
    }
}

fn refusal(dialect: Dialect, status: StatusCode, message: &str) -> Sending {
    Sending::error(dialect, status, message, TAG)
}

/// A reply as it goes over the wire.
fn reply_to(request: &ScriptRequest, answer: &ScriptAnswer, reply: &NewReply) -> Sending {
    let fault = answer.fault.as_ref();
    if !request.head.streams {
        let text = reply.spell(request.dialect);
        let half = text.floor_char_boundary(text.len() / 2);
        return match fault {
            None => Sending::json(StatusCode::OK, text),
            Some(fault) => {
                let pieces = vec![text[..half].to_owned()];
                let body = paced(pieces, Duration::ZERO, ending(fault));
                Sending::of("application/json", body)
            }
        };
    }
    let events = reply.events(request.dialect, answer.chunk, request.head.wants_usage);
    let sent = match fault {
        Some(ScriptedFault::Cut { after, .. } | ScriptedFault::Hang { after }) => *after,
        Some(ScriptedFault::Status { .. }) | None => events.len(),
    };
    let mut events = events.iter().take(sent).collect::<Vec<_>>();
    let failure = match fault {
        Some(ScriptedFault::Cut { error, .. }) => error.as_deref(),
        Some(ScriptedFault::Hang { .. } | ScriptedFault::Status { .. }) | None => None,
    };
    let failure = failure.map(|message| request.dialect.codec().failure(message));
    events.extend(&failure);
    let ending = match (fault, &failure) {
        // Who reports a failure ends the stream in good order.
        (None, _) | (_, Some(_)) => BodyEnding::End,
        (Some(fault), None) => ending(fault),
    };
    let pause = Duration::from_millis(answer.chunk_ms);
    Sending::events(events, pause, ending)
}

fn ending(fault: &ScriptedFault) -> BodyEnding {
    match fault {
        ScriptedFault::Cut { .. } => BodyEnding::Cut,
        ScriptedFault::Hang { .. } => BodyEnding::Silence,
        ScriptedFault::Status { .. } => BodyEnding::End,
    }
}

// What a scripted model keeps for its clients: stored Responses, and threads of Anthropic, which it refuses
// as their providers do.

/// The beta that a request with a `thread` asks for (anthropic SDK for Python 2.12, `lib/threads`).
const THREADS: &str = "message-threads-2026-08-12";
/// Members that a request cannot have beside a `thread` (the same, `ThreadUnsupportedFeatureName`).
const UNSUPPORTED: [&str; 4] = [
    "cache_control",
    "context_management",
    "fallbacks",
    "thinking",
];
/// Members that the provider takes from the thread, and refuses where a request that continues it repeats them.
const OF_THREAD: [&str; 2] = ["system", "tools"];

/// The replies that are kept.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    conversations: Arc<StoredReplies>,
    /// The replies of threads that were continued: each can be once.
    continued: Mutex<HashSet<String>>,
}

/// A request with its whole history.
#[derive(Debug)]
pub(crate) struct Full {
    pub(crate) body: Bytes,
    /// What is read of it; it names no earlier reply.
    head: Option<RequestHead>,
    /// The reply of a thread that it continues.
    continues: Option<String>,
}

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    message: String,
    /// What programs know it by.
    code: &'static str,
    /// Members that do not go with a thread.
    unsupported: Vec<&'static str>,
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            code,
            unsupported: Vec::new(),
        }
    }

    /// As its provider spells it.
    pub(crate) fn spelled(&self, dialect: Dialect) -> Sending {
        let status = self.status.as_u16();
        let mut error = dialect
            .codec()
            .error(status, &self.message, Some(self.code), TAG);
        match dialect.facts().server_state {
            ServerState::Threads => {
                if self.code.is_empty() {
                    error["error"]["code"].take();
                } else {
                    error["error"]["details"] = json!({"error_code": self.code});
                }
                if !self.unsupported.is_empty() {
                    error["error"]["details"]["unsupported"] = json!(self.unsupported);
                }
            }
            _ => error["error"]["param"] = json!("input"),
        }
        Sending::json(self.status, error.to_string())
    }
}

impl Stored {
    /// The request with what is kept of its conversation.
    pub(crate) fn full(
        &self,
        dialect: Dialect,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Full, Refused> {
        let head = RequestHead::read(dialect, body);
        let continues = head.as_ref().and_then(|head| head.continues.clone());
        if has_threads(dialect) && head.as_ref().is_some_and(|head| head.has_thread) {
            allows_thread(headers, body, continues.is_some())?;
        }
        let Some(id) = continues else {
            let body = Bytes::copy_from_slice(body);
            return Ok(Full {
                body,
                head,
                continues: None,
            });
        };
        let continued = self.conversations.continued(dialect, body);
        let Some(continued) = continued else {
            return Err(unknown(dialect, &id));
        };
        let is_thread = has_threads(dialect);
        if is_thread && self.was_continued(&id) {
            let message = "the response that previous_message_id names has already been continued";
            let status = StatusCode::BAD_REQUEST;
            return Err(Refused::new(status, "thread_already_continued", message));
        }
        unanswered(dialect, &continued.body)?;
        Ok(Full {
            head: RequestHead::read(dialect, &continued.body),
            body: Bytes::from(continued.body),
            continues: is_thread.then_some(id),
        })
    }

    /// Keeps a whole reply, where its client can continue it.
    pub(crate) fn keep(&self, dialect: Dialect, full: &Full, reply: &str) {
        let head = full.head.as_ref();
        let keeping =
            head.and_then(|head| Keeping::of(&self.conversations, dialect, &full.body, head));
        if let Some(mut keeping) = keeping {
            keeping.push(reply.as_bytes());
        }
        if let Some(id) = &full.continues {
            let mut continued = lock(&self.continued);
            if continued.len() >= REMEMBERED {
                continued.clear();
            }
            continued.insert(id.clone());
        }
    }

    fn was_continued(&self, id: &str) -> bool {
        lock(&self.continued).contains(id)
    }
}

impl Full {
    /// Whether its reply is one of a thread, which nobody else may have the id of.
    pub(crate) fn is_of_thread(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.has_thread)
    }
}

/// Whether a request with a `thread` is one.
fn allows_thread(headers: &HeaderMap, body: &[u8], continues: bool) -> Result<(), Refused> {
    let refused = |code, message: String| Refused::new(StatusCode::BAD_REQUEST, code, message);
    let betas = headers.get_all("anthropic-beta").into_iter();
    let mut betas = betas.filter_map(|line| line.to_str().ok());
    if !betas.any(|line| line.contains(THREADS)) {
        return Err(refused(
            "",
            "thread: Extra inputs are not permitted".to_owned(),
        ));
    }
    let request = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let has = |key: &str| request.get(key).is_some_and(|value| !value.is_null());
    let unsupported = UNSUPPORTED.into_iter().filter(|key| has(key));
    let unsupported = unsupported.collect::<Vec<_>>();
    if !unsupported.is_empty() {
        let message = format!("thread cannot be used with {}", unsupported.join(", "));
        let refused = refused("thread_unsupported_request", message);
        return Err(Refused {
            unsupported,
            ..refused
        });
    }
    match OF_THREAD.into_iter().find(|key| continues && has(key)) {
        Some(key) => {
            let message = format!("{key}: cannot be set on a request that continues a thread");
            Err(refused("", message))
        }
        None => Ok(()),
    }
}

fn has_threads(dialect: Dialect) -> bool {
    dialect.facts().server_state == ServerState::Threads
}

fn unknown(dialect: Dialect, id: &str) -> Refused {
    match dialect.facts().server_state {
        ServerState::Threads => Refused::new(
            StatusCode::NOT_FOUND,
            "thread_not_found",
            format!("no thread was found for previous_message_id {id}"),
        ),
        _ => Refused::new(
            StatusCode::BAD_REQUEST,
            "previous_response_not_found",
            format!("Previous response with id '{id}' not found."),
        ),
    }
}

/// Refuses a history in which a call has no output, or an output no call.
fn unanswered(dialect: Dialect, body: &[u8]) -> Result<(), Refused> {
    let request = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let message = match has_threads(dialect) {
        true => in_messages(&request),
        false => in_items(&request),
    };
    match message {
        Some(message) => Err(Refused::new(StatusCode::BAD_REQUEST, "", message)),
        None => Ok(()),
    }
}

/// Each `tool_use` is answered in the next message.
fn in_messages(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let ids = |message: Option<&Value>, kind: &str, key: &str| {
        let blocks = message.and_then(|message| message["content"].as_array());
        let blocks = blocks.into_iter().flatten();
        let blocks = blocks.filter(|block| block["type"] == kind);
        let ids = blocks.filter_map(|block| block[key].as_str());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    for (place, message) in messages.iter().enumerate() {
        let calls = ids(Some(message), "tool_use", "id");
        let results = ids(messages.get(place + 1), "tool_result", "tool_use_id");
        if let Some(open) = calls.iter().find(|id| !results.contains(id)) {
            return Some(format!(
                "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: \
                {open}. Each `tool_use` block must have a corresponding `tool_result` block in the next \
                message."
            ));
        }
        if let Some(odd) = results.iter().find(|id| !calls.contains(id)) {
            let place = place + 1;
            return Some(format!(
                "messages.{place}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {odd}. \
                Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
    }
    None
}

/// Each call has an output, and each output a call.
fn in_items(request: &Value) -> Option<String> {
    let items = request["input"].as_array()?;
    let ids = |ends: &'static str| {
        let items = items.iter();
        let items = items.filter(move |item| {
            item["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with(ends))
        });
        let ids = items.filter_map(|item| item["call_id"].as_str());
        ids.collect::<Vec<_>>()
    };
    let (calls, outputs) = (ids("_call"), ids("_call_output"));
    let open = calls.iter().find(|id| !outputs.contains(id));
    let odd = outputs.iter().find(|id| !calls.contains(id));
    match (open, odd) {
        (Some(id), _) => Some(format!("No tool output found for function call {id}.")),
        (_, Some(id)) => Some(format!(
            "No tool call found for function call output with call_id {id}."
        )),
        _ => None,
    }
}
