//! A recording as an endpoint: its model turns are served again, in the dialects of OpenAI Responses, OpenAI
//! Chat, Anthropic Messages and Gemini, streamed and whole, on loopback.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use retake_core::replay::Tape;
//! use retake_live::replay::{ANY_PORT, ReplayServer, ReplayOptions};
//! use retake_live::{ReadOptions, read_path};
//! let recording = read_path("sessions/failing-tool.json".as_ref(), &ReadOptions::default())?;
//! let tape = Tape::of(recording.sessions)?;
//! let endpoint = ReplayServer::start(tape, ReplayOptions::default(), ANY_PORT, |_| {})?;
//! println!("{}", endpoint.address());
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a thread of its own and stops when its [`ReplayServer`] is dropped. Each reply names its turn in the
//! header `x-retake-replay`. A request that no turn answers is refused with status 400, which SDKs do not
//! repeat, and the code `replay_mismatch`.

pub use super::serving::ANY_PORT;
use super::serving::{Answers, Asking, BodyEnding, Listening, Sending, asking, models};
use crate::lock::lock;
use crate::proxy::body::Body;
use crate::proxy::server::ClientConnection;
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use retake_core::formats::convert::LossKind;
use retake_core::replay::{
    Differences, Found, Matching, NotFound, ReplayRequest, ServedReply, Tape, TapePlace,
};
use retake_core::session::Dialect;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayOptions {
    pub matching: Matching,
    /// Whether a reply takes as long as it was recorded to take; otherwise it comes at once.
    pub keeps_pace: bool,
}

/// What became of a request. Texts may hold text from outside.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplayEvent {
    /// A turn was served.
    Served {
        place: TapePlace,
        /// It in words, as `turn 3`.
        turn: String,
        dialect: Dialect,
        streams: bool,
        /// What differs from the request, where only the nearest turn was found.
        differences: Option<Differences>,
        /// What the reply could not hold.
        left_out: Vec<LossKind>,
    },
    Refused {
        dialect: Dialect,
        code: &'static str,
        /// Why, over several lines where something differs.
        why: String,
        /// The nearest turn, and what differs from it.
        nearest: Option<(TapePlace, Differences)>,
    },
}

/// A recording that is served, until this is dropped.
#[derive(Debug)]
pub struct ReplayServer {
    listening: Listening,
    tape: Arc<Tape>,
    served: Arc<Served>,
}

impl ReplayServer {
    /// Serves a tape. `report` hears of each request on the endpoint's thread, before its reply is sent,
    /// and must not wait.
    ///
    /// Fails where the address is not of the loopback, or cannot be had.
    pub fn start(
        tape: Tape,
        options: ReplayOptions,
        listen: SocketAddr,
        report: impl Fn(ReplayEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (tape, served) = (Arc::new(tape), Arc::<Served>::default());
        let serving = Serving {
            tape: tape.clone(),
            served: served.clone(),
            options,
            report: Box::new(report),
        };
        let listening = Listening::start(serving, listen)?;
        Ok(Self {
            listening,
            tape,
            served,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// What clients of a dialect call their base URL: those of OpenAI add `/responses` to it,
    /// those of Anthropic `/v1/messages`.
    pub fn base_url(&self, dialect: Dialect) -> String {
        self.listening.base_url(dialect)
    }

    /// An agent begins anew: of several turns after the same history the first comes first again.
    pub fn rewind(&self) {
        self.served.lock().clear();
    }

    pub fn tape(&self) -> &Tape {
        &self.tape
    }
}

/// Says that a reply is replayed, and which turn it is.
const REPLAY: HeaderName = HeaderName::from_static("x-retake-replay");
/// What the ids of refusals are made of.
const TAG: &str = "replay";
/// Characters of a text or of arguments in one event.
const CHUNK: usize = 24;

/// The turns that were served.
#[derive(Debug, Default)]
struct Served(Mutex<BTreeSet<TapePlace>>);

impl Served {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<TapePlace>> {
        lock(&self.0)
    }
}

/// A recording to serve, and the receiver of its events.
struct Serving {
    tape: Arc<Tape>,
    served: Arc<Served>,
    options: ReplayOptions,
    report: Box<dyn Fn(ReplayEvent) + Send + Sync>,
}

impl Answers for Serving {
    const WHAT: &'static str = "a replay";

    async fn answer(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let sending = match asking(connection, request, TAG).await {
            Asking::Models => return models(self.tape.models()).into_response(),
            Asking::Nothing(sending) => sending,
            Asking::Reply { dialect, body, .. } => self.reply(dialect, &body).await,
        };
        let mut response = sending.into_response();
        let headers = response.headers_mut();
        headers
            .entry(REPLAY)
            .or_insert(HeaderValue::from_static("refused"));
        response
    }
}

impl Serving {
    async fn reply(&self, dialect: Dialect, body: &[u8]) -> Sending {
        let request = match self.tape.read(dialect, body) {
            Ok(request) => request,
            Err(why) => return self.refuse(dialect, "replay_unreadable", why.to_string(), None),
        };
        let (found, reply) = match self.found(&request) {
            Ok(found) => found,
            Err(why) => return self.not_found(dialect, why),
        };
        let Found { place, differences } = found;
        let turn = self.tape.turn(place);
        let mut header = format!("turn={turn}");
        if self.tape.sessions().count() > 1 {
            header.push_str(&format!("; session={}", place.session + 1));
        }
        if differences.is_some() {
            header.push_str("; lenient");
        }
        (self.report)(ReplayEvent::Served {
            place,
            turn: self.tape.words(place),
            dialect,
            streams: request.head.streams,
            differences,
            left_out: reply.left_out.clone(),
        });
        let mut sending = self.sent(&request, &reply).await;
        if let Ok(header) = HeaderValue::from_str(&header) {
            sending.headers.insert(REPLAY, header);
        }
        sending
    }

    /// The turn that answers, as it is sent.
    fn found(&self, request: &ReplayRequest) -> Result<(Found, ServedReply), NotFound> {
        let mut served = self.served.lock();
        let matching = self.options.matching;
        let found = self.tape.find_next(request, matching, &served)?;
        let mut reply = self
            .tape
            .reply(found.place, request.dialect, &request.head.model)?;
        reply.new_reply.tools.clone_from(&request.tools);
        served.insert(found.place);
        Ok((found, reply))
    }

    async fn sent(&self, request: &ReplayRequest, reply: &ServedReply) -> Sending {
        let [first, total] = match self.options.keeps_pace {
            true => reply.took,
            false => [None; 2],
        };
        let (reply, dialect) = (&reply.new_reply, request.dialect);
        if !request.head.streams {
            tokio::time::sleep(Duration::from_millis(total.or(first).unwrap_or(0))).await;
            let text = reply.spell(dialect);
            return Sending::json(StatusCode::OK, text);
        }
        let first = first.unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(first)).await;
        let events = reply.events(dialect, CHUNK, request.head.wants_usage);
        let rest = total.unwrap_or(first).saturating_sub(first);
        let pause = rest / events.len().max(1) as u64;
        Sending::events(&events, Duration::from_millis(pause), BodyEnding::End)
    }

    fn not_found(&self, dialect: Dialect, why: NotFound) -> Sending {
        let words = why.words(&self.tape);
        let (code, nearest) = match why {
            NotFound::Differs {
                nearest,
                differences,
            } => ("replay_mismatch", Some((nearest, differences))),
            NotFound::AfterTheLast { .. } | NotFound::Nothing => ("replay_ended", None),
            NotFound::Unreadable(_) => ("replay_unreadable", None),
        };
        self.refuse(dialect, code, words, nearest)
    }

    fn refuse(
        &self,
        dialect: Dialect,
        code: &'static str,
        why: String,
        nearest: Option<(TapePlace, Differences)>,
    ) -> Sending {
        let status = StatusCode::BAD_REQUEST;
        let message = format!("retake replay: {why}");
        let text = dialect
            .codec()
            .error(status.as_u16(), &message, Some(code), TAG)
            .to_string();
        (self.report)(ReplayEvent::Refused {
            dialect,
            code,
            why,
            nearest,
        });
        Sending::json(status, text)
    }
}
