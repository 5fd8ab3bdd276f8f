//! A model that is called over HTTP: one request in a provider's dialect, one reply, streamed or whole.
//!
//! Nothing here tries again, waits, or judges the model's output; a reply comes back as one piece of JSON in
//! the shape of its dialect, or a [`ModelFault`] says why there is none.

use crate::http::{Headers, Http, HttpTarget, Incoming};
use bytes::Bytes;
pub use endpoint::{ApiKey, Endpoint, ModelError, Timeouts};
use fault::{RefusedStatus, Trouble};
use retake_core::engine::ModelFault;
use retake_core::json::Cursor;
use retake_core::session::Dialect;
use retake_core::session::ledger::Usage;
use retake_core::wire::stream::PartialCall;
use retake_core::wire::write::request::addressed;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

mod endpoint;
mod fault;
mod streamed;
#[cfg(test)]
mod tests;
mod whole;

/// The longest id of a request that is kept, in characters.
const REQUEST_ID: usize = 128;

/// What comes of a reply while it is on its way. Texts are from outside; events come as often as
/// the provider sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyProgress<'a> {
    /// The first byte of the reply came.
    First {
        /// Milliseconds since the request.
        ms: u64,
    },
    /// The text grows by this.
    Text(&'a str),
    /// The reasoning, or its summary, grows by this.
    Reasoning(&'a str),
    /// A call began (its place is new), grew, or is complete.
    Call {
        /// Which of the reply's calls, from 0.
        place: usize,
        /// The call as far as it is known.
        call: PartialCall<'a>,
    },
    /// Nothing has come for this many milliseconds; repeated while it lasts.
    Silent { ms: u64 },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The reply as one piece of JSON, as the dialect sends it when it is not streamed.
    pub json: String,
    pub usage: Usage,
    /// Milliseconds until its first byte.
    pub first_ms: u64,
    /// Milliseconds until it was whole.
    pub total_ms: u64,
    /// Whether the provider marked the end. A stream that just stops leaves a part of a reply.
    pub ended: bool,
    /// Events of the stream that could not be read: something may be missing in the middle.
    pub unreadable: u32,
    /// Events after the end of the reply, which belong to nothing.
    pub late: u32,
    /// Whether it came as a stream.
    pub was_streamed: bool,
    /// The provider's name for the request, for asking it about a problem.
    pub request_id: Option<String>,
}

impl Answer {
    /// Whether all of the reply is here.
    pub fn is_whole(&self) -> bool {
        self.ended && self.unreadable == 0
    }
}

/// The receiver of progress: called once per piece, on the requesting task. It may be sent along with that task.
pub type Watcher<'a> = &'a mut (dyn FnMut(ReplyProgress<'_>) + Send);

/// The one who watches a question, and what it has seen.
struct Watch<'a> {
    on: Watcher<'a>,
    started: Instant,
    first_ms: Option<u64>,
    /// Whether a part of the reply was shown.
    showed: bool,
}

impl Watch<'_> {
    fn ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn bytes_came(&mut self) {
        if self.first_ms.is_none() {
            let ms = self.ms();
            self.first_ms = Some(ms);
            (self.on)(ReplyProgress::First { ms });
        }
    }

    /// A part of the reply is shown.
    fn show(&mut self, progress: ReplyProgress<'_>) {
        self.showed = true;
        (self.on)(progress);
    }
}

/// An endpoint that is ready for calls. Its connections belong to the tokio runtime of the first call.
#[derive(Debug, Clone)]
pub struct Model {
    endpoint: Endpoint,
    target: HttpTarget,
    /// The lines of the client whose request it is; without them those of the endpoint.
    lines: Option<Headers>,
    http: Http,
}

impl Model {
    /// Checks the endpoint, so that nothing but the world can keep a question from being sent.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let target = endpoint.target()?;
        endpoint.headers(true)?;
        let http = Http::new(&target, endpoint.timeouts.connect)?;
        Ok(Self {
            endpoint,
            target,
            lines: None,
            http,
        })
    }

    /// The model that another client asks: at the very URL, with the client's own lines
    /// ([`Headers::passed_on`]). Its connections are those of `http`.
    pub(crate) fn of_client(
        dialect: Dialect,
        target: HttpTarget,
        lines: Headers,
        http: Http,
    ) -> Self {
        let endpoint = Endpoint {
            dialect,
            base_url: String::new(),
            headers: lines.secrets(),
            key: None,
            timeouts: Timeouts::default(),
        };
        Self {
            endpoint,
            target,
            lines: Some(lines),
            http,
        }
    }

    /// Host and port of the endpoint.
    pub fn host(&self) -> String {
        self.target.host()
    }

    /// Asks once. `body` is the request in the endpoint's dialect and is sent as it is; whether it asks for a
    /// stream, it says itself, also where that and the model go into the path.
    ///
    /// Ends at once when it is cancelled, with the connection.
    pub async fn ask(
        &self,
        body: Vec<u8>,
        on: Watcher<'_>,
        cancel: CancellationToken,
    ) -> Result<Answer, ModelFault> {
        let mut watch = Watch {
            on,
            started: Instant::now(),
            first_ms: None,
            showed: false,
        };
        let total = self.endpoint.timeouts.total;
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Trouble::Cancelled),
            outcome = timeout(total, self.converse(body, &mut watch)) => {
                outcome.unwrap_or(Err(Trouble::Long(total)))
            }
        };
        outcome.map_err(|trouble| trouble.fault(&self.endpoint, &self.host(), watch.showed))
    }

    async fn converse(&self, body: Vec<u8>, watch: &mut Watch<'_>) -> Result<Answer, Trouble> {
        let headers = match &self.lines {
            Some(lines) => lines
                .with("accept-encoding", "identity")
                .map_err(ModelError::from)?,
            None => self.endpoint.headers(asks_for_stream(&body))?,
        };
        let dialect = self.endpoint.dialect;
        let (target, body) = match dialect.facts().methods {
            Some(_) if self.lines.is_none() => {
                let (path, body) = addressed(dialect, &body);
                (self.target.with_path_behind(&path), body.into_owned())
            }
            _ => (self.target.clone(), body),
        };
        let limit = self.endpoint.timeouts.first;
        let reply = timeout(limit, self.http.post(&target, headers, body)).await;
        let reply = reply.map_err(|_| Trouble::NoHeadFor(limit))?;
        let reply = reply.map_err(Trouble::NoHead)?;
        let request_id = ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| reply.header(name))
            .map(|id| id.chars().take(REQUEST_ID).collect::<String>());
        if !(200..300).contains(&reply.status()) {
            let refused = RefusedStatus::read(reply, request_id).await;
            return Err(Trouble::Refused(Box::new(refused)));
        }
        if let Some(encoding) = reply.header("content-encoding")
            && !encoding.trim().eq_ignore_ascii_case("identity")
        {
            let what = format!("the reply is encoded ({encoding}), which was not requested");
            return Err(Trouble::Strange(what));
        }
        let mut body = Body::new(reply, self.endpoint.timeouts);
        let mut answer = match body.begin(watch).await? {
            Some(b'{' | b'[') => whole::read(self.endpoint.dialect, body, watch).await?,
            Some(b'<') => {
                let page = body.look(watch).await;
                let what = format!("unreadable reply: {}", fault::beginning(&page));
                return Err(Trouble::Strange(what));
            }
            Some(_) => streamed::read(self.endpoint.dialect, body, watch).await?,
            None => return Err(Trouble::Empty),
        };
        answer.request_id = request_id;
        Ok(answer)
    }
}

/// Whether a request asks for a stream. A body that cannot be read is the provider's to refuse.
fn asks_for_stream(body: &[u8]) -> bool {
    let mut asks = false;
    let walked = Cursor::new(body).object(|cursor, key| {
        if key == b"stream" {
            asks = cursor.is_true()?;
        }
        Ok(())
    });
    walked.is_ok() && asks
}

// The body of a reply, piece by piece: with limits of time between the pieces and of size for all of them.

/// The most bytes of a reply.
const MOST: u64 = 64 * 1024 * 1024;

/// Of something that is not a reply so many bytes are looked at.
const LOOK: usize = 4096;

/// A body that is being read.
struct Body {
    reply: Incoming,
    timeouts: Timeouts,
    /// What was read to learn what it is.
    head: Vec<u8>,
    /// How many bytes have come.
    came: u64,
}

impl Body {
    fn new(reply: Incoming, timeouts: Timeouts) -> Self {
        Self {
            reply,
            timeouts,
            head: Vec::new(),
            came: 0,
        }
    }

    /// The first byte that is no whitespace, which tells JSON from a page and from a stream; the type in the
    /// header often does not. `None` where there is none.
    async fn begin(&mut self, watch: &mut Watch<'_>) -> Result<Option<u8>, Trouble> {
        while let Some(more) = self.receive(self.timeouts.idle, watch).await? {
            self.head.extend_from_slice(&more);
            let head = self.head.strip_prefix(b"\xef\xbb\xbf");
            let head = head.unwrap_or(&self.head).trim_ascii_start();
            // Half a byte order mark says nothing yet.
            let is_half_mark = self.head.len() < 3 && self.head[0] == 0xef;
            if let (Some(first), false) = (head.first(), is_half_mark) {
                return Ok(Some(*first));
            }
        }
        Ok(None)
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self, watch: &mut Watch<'_>) -> Result<Option<Bytes>, Trouble> {
        self.next_within(self.timeouts.idle, watch).await
    }

    /// The next bytes, if they come before the limit or the idle time is over.
    async fn next_within(
        &mut self,
        limit: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bytes>, Trouble> {
        if !self.head.is_empty() {
            return Ok(Some(std::mem::take(&mut self.head).into()));
        }
        self.receive(limit.min(self.timeouts.idle), watch).await
    }

    /// The beginning of a body that is not a reply.
    async fn look(&mut self, watch: &mut Watch<'_>) -> String {
        let mut seen = Vec::new();
        while seen.len() < LOOK
            && let Ok(Some(more)) = self.next(watch).await
        {
            seen.extend_from_slice(&more);
        }
        seen.truncate(LOOK);
        String::from_utf8_lossy(&seen).into_owned()
    }

    async fn receive(
        &mut self,
        limit: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bytes>, Trouble> {
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Trouble::Silent(limit, self.came));
            }
            let quiet = self.timeouts.quiet.max(Duration::from_millis(1));
            let Ok(came) = timeout(left.min(quiet), self.reply.next()).await else {
                let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                (watch.on)(ReplyProgress::Silent { ms });
                continue;
            };
            let came = came.map_err(|broken| Trouble::Cut(broken, self.came))?;
            let Some(bytes) = came else { return Ok(None) };
            self.came += bytes.len() as u64;
            if self.came > MOST {
                return Err(Trouble::Large("the reply has more than 64 MiB"));
            }
            if !bytes.is_empty() {
                watch.bytes_came();
                return Ok(Some(bytes));
            }
        }
    }
}
