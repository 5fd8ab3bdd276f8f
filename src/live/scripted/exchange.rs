//! One request and its reply.

use super::super::serving::{Answers, Asking, BodyEnding, Sending, asking, models, paced};
use super::stored::{Full, Stored};
use crate::proxy::body::Body;
use crate::proxy::server::ClientConnection;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use retake_core::dialects::write::NewReply;
use retake_core::script::{Answer, Asked, Rule, Script, ScriptedFault};
use retake_core::session::Dialect;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the ids of refusals are made of.
pub(super) const TAG: &str = "scripted";
/// How many different requests are remembered; beyond that counting begins anew.
pub(super) const REMEMBERED: usize = 100_000;
/// Says that a reply is scripted, and by what.
const SCRIPTED: HeaderName = HeaderName::from_static("x-retake-scripted");
/// Says which rule answered.
const RULE: HeaderName = HeaderName::from_static("x-retake-rule");
/// Tells samples of one history apart.
const SAMPLE: HeaderName = HeaderName::from_static("x-retake-sample");

/// A script, and its memory of earlier requests.
pub(super) struct Serving {
    script: Script,
    /// How often each request came.
    attempts: Mutex<HashMap<u64, u32>>,
    stored: Stored,
}

impl Serving {
    pub(super) fn new(script: Script) -> Self {
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
        let request = match Asked::read(dialect, &full.body) {
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
        rule: &Rule,
        request: &Asked,
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
        // A thread that panicked while it counted leaves a count that can be used.
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
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
fn reply_to(request: &Asked, answer: &Answer, reply: &NewReply) -> Sending {
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
