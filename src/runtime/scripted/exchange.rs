//! One request and its reply.

use super::body::{self, Behind, Body};
use crate::dialects::write::{NewEvent, NewReply, spell_error, spell_failure};
use crate::exchange::route::dialect_at;
use crate::script::{Answer, Asked, Rule, Script, ScriptedFault};
use crate::session::Dialect;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest request, in bytes.
const REQUEST: usize = 64 * 1024 * 1024;
/// How long a client may take to send it.
const SENDING: Duration = Duration::from_secs(60);
/// How many different requests are remembered; beyond that counting begins anew.
const REMEMBERED: usize = 100_000;
/// Says that a reply is scripted, and by what.
const SCRIPTED: HeaderName = HeaderName::from_static("x-retake-scripted");
/// Says which rule answered.
const RULE: HeaderName = HeaderName::from_static("x-retake-rule");
/// Tells samples of one history apart.
const SAMPLE: HeaderName = HeaderName::from_static("x-retake-sample");

/// A script, and what is remembered about who asked it what.
pub(super) struct Serving {
    script: Script,
    /// How often each request came.
    attempts: Mutex<HashMap<u64, u32>>,
}

/// What is to be sent.
struct Sending {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Serving {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            attempts: Mutex::default(),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let sending = self.sending(request).await;
        let mut response = Response::new(sending.body);
        *response.status_mut() = sending.status;
        *response.headers_mut() = sending.headers;
        if let Ok(name) = HeaderValue::from_str(&self.script.name) {
            response.headers_mut().insert(SCRIPTED, name);
        }
        response
    }

    async fn sending(&self, request: Request<Incoming>) -> Sending {
        let (head, body) = request.into_parts();
        let path = head.uri.path().trim_end_matches('/').to_owned();
        if head.method == Method::GET && path.ends_with("/models") {
            return Sending::json(StatusCode::OK, self.models());
        }
        let Some(dialect) = dialect_at(&path) else {
            let message = format!(
                "nothing is served at {path}; there are /v1/responses, /v1/chat/completions and /v1/messages"
            );
            return Sending::error(Dialect::Chat, StatusCode::NOT_FOUND, &message);
        };
        if head.method != Method::POST {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            return Sending::error(dialect, status, "only POST is served here");
        }
        let bytes = match received(body).await {
            Ok(bytes) => bytes,
            Err((status, message)) => return Sending::error(dialect, status, message),
        };
        let asked = match Asked::read(dialect, &bytes) {
            Ok(asked) => asked,
            Err(why) => return Sending::error(dialect, StatusCode::BAD_REQUEST, &why.to_string()),
        };
        let sample = head.headers.get(SAMPLE).and_then(|word| word.to_str().ok());
        let asked = match sample {
            Some(word) => asked.for_sample(word),
            None => asked,
        };
        let attempt = self.count(asked.fingerprint());
        let Some((index, rule)) = self.script.choose(&asked, attempt) else {
            let message = self.script.nothing_fits(&asked);
            return Sending::error(dialect, StatusCode::BAD_REQUEST, &message);
        };
        let mut sending = self.carry_out(rule, &asked).await;
        let place = format!("{}, line {}", index + 1, rule.line);
        if let Ok(place) = HeaderValue::from_str(&place) {
            sending.headers.insert(RULE, place);
        }
        sending
    }

    async fn carry_out(&self, rule: &Rule, asked: &Asked) -> Sending {
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
                let mut sending = Sending::error(asked.dialect, status, message);
                let wait = retry_after.as_deref().map(HeaderValue::from_str);
                if let Some(Ok(wait)) = wait {
                    sending.headers.insert(RETRY_AFTER, wait);
                }
                return sending;
            }
            Some(ScriptedFault::Hang { after: 0 }) => return std::future::pending().await,
            Some(ScriptedFault::Hang { .. } | ScriptedFault::Cut { .. }) | None => {}
        }
        match self.script.answer(rule, asked) {
            Ok(reply) => reply_to(asked, answer, &reply),
            Err(reason) => {
                let file = &self.script.file;
                let message = format!("{file}, the rule in line {}: {reason}", rule.line);
                Sending::error(asked.dialect, StatusCode::BAD_REQUEST, &message)
            }
        }
    }

    /// How often this was asked, this time included.
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

    fn models(&self) -> String {
        let model = serde_json::json!({
            "id": self.script.model(), "object": "model", "created": 0, "owned_by": "retake",
        });
        serde_json::json!({"object": "list", "data": [model]}).to_string()
    }
}

/// A reply as it goes over the wire.
fn reply_to(asked: &Asked, answer: &Answer, reply: &NewReply) -> Sending {
    let fault = answer.fault.as_ref();
    if !asked.streams {
        let Some(text) = reply.spell(asked.dialect) else {
            return Sending::unspoken(asked.dialect);
        };
        let half = text.floor_char_boundary(text.len() / 2);
        return match fault {
            None => Sending::json(StatusCode::OK, text),
            Some(fault) => {
                let pieces = vec![text[..half].to_owned()];
                let body = body::paced(pieces, Duration::ZERO, behind(fault));
                Sending::of("application/json", body)
            }
        };
    }
    let Some(events) = reply.events(asked.dialect, answer.chunk, asked.wants_usage) else {
        return Sending::unspoken(asked.dialect);
    };
    let sent = match fault {
        Some(ScriptedFault::Cut { after, .. } | ScriptedFault::Hang { after }) => *after,
        Some(ScriptedFault::Status { .. }) | None => events.len(),
    };
    let mut events = events.iter().take(sent).collect::<Vec<_>>();
    let failure = match fault {
        Some(ScriptedFault::Cut { error, .. }) => error.as_deref(),
        Some(ScriptedFault::Hang { .. } | ScriptedFault::Status { .. }) | None => None,
    };
    let failure = failure.map(|message| spell_failure(asked.dialect, message));
    events.extend(&failure);
    let events = events.into_iter().map(NewEvent::to_wire).collect();
    let behind = match (fault, &failure) {
        // Who reports a failure ends the stream in good order.
        (None, _) | (_, Some(_)) => Behind::End,
        (Some(fault), None) => behind(fault),
    };
    let pause = Duration::from_millis(answer.chunk_ms);
    let body = body::paced(events, pause, behind);
    let mut sending = Sending::of("text/event-stream; charset=utf-8", body);
    let headers = &mut sending.headers;
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    sending
}

fn behind(fault: &ScriptedFault) -> Behind {
    match fault {
        ScriptedFault::Cut { .. } => Behind::Cut,
        ScriptedFault::Hang { .. } => Behind::Silence,
        ScriptedFault::Status { .. } => Behind::End,
    }
}

impl Sending {
    fn of(kind: &'static str, body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let status = StatusCode::OK;
        Self {
            status,
            headers,
            body,
        }
    }

    fn json(status: StatusCode, text: String) -> Self {
        let sending = Self::of("application/json", body::whole(text));
        Self { status, ..sending }
    }

    fn error(dialect: Dialect, status: StatusCode, message: &str) -> Self {
        let text = spell_error(dialect, status.as_u16(), message, "scripted");
        Self::json(status, text)
    }

    fn unspoken(dialect: Dialect) -> Self {
        let message = format!("a scripted model does not speak {}", dialect.word());
        Self::error(dialect, StatusCode::NOT_FOUND, &message)
    }
}

/// The bytes of a request.
async fn received(body: Incoming) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    let too_long = (
        StatusCode::PAYLOAD_TOO_LARGE,
        "the request is longer than 64 MB",
    );
    if body.size_hint().lower() > REQUEST as u64 {
        return Err(too_long);
    }
    let collected = tokio::time::timeout(SENDING, Limited::new(body, REQUEST).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the request broke off")),
        Err(_) => Err((
            StatusCode::REQUEST_TIMEOUT,
            "the request did not come to an end",
        )),
    }
}
