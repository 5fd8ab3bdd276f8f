//! Why a model did not answer, as the engine needs it.

use super::endpoint::{Endpoint, ModelError, mask};
use crate::http::{Broken, Incoming};
use retake_core::engine::ModelFault;
use retake_core::json::display_text;
use retake_core::wire::Refusal;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Of an error text so many characters are kept: providers quote the schema that they refuse.
const WHY: usize = 16_000;

/// Most characters of the title of a page.
const TITLE: usize = 200;

/// Of the body of a refusal so many bytes are read.
const ERROR_BODY: usize = 64 * 1024;

/// So long a refusal may take to say why.
const PATIENCE: Duration = Duration::from_secs(10);

/// What went wrong with one question.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The question cannot be sent.
    Unsent(ModelError),
    /// There was no head.
    NoHead(Broken),
    /// The head did not come in time.
    NoHeadFor(Duration),
    /// The body broke off.
    Cut(Broken, u64),
    /// Nothing came for so long, after so many bytes.
    Silent(Duration, u64),
    /// The reply was not whole in time.
    Long(Duration),
    /// The body is whole and has no bytes.
    Empty,
    Refused(Box<RefusedStatus>),
    /// The provider reported a failure in its reply.
    Reported(Value),
    /// It is not what a model answers.
    Strange(String),
    /// It stops within a value although the connection ended in order.
    Short,
    /// It is larger than it may be.
    Large(&'static str),
    /// The operator called it off.
    Cancelled,
}

/// A status that is no success.
#[derive(Debug)]
pub(crate) struct RefusedStatus {
    status: u16,
    reason: &'static str,
    refusal: Option<Refusal>,
    body: String,
    location: Option<String>,
    request_id: Option<String>,
    retry_after_ms: Option<u64>,
    should_retry: Option<bool>,
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        Self::Unsent(error)
    }
}

impl RefusedStatus {
    /// Reads what a refusal says.
    pub(crate) async fn read(mut reply: Incoming, request_id: Option<String>) -> Self {
        let (status, reason) = (reply.status(), reply.reason());
        let retry_after_ms = retry_after_ms(
            reply.header("retry-after-ms"),
            reply.header("retry-after"),
            SystemTime::now(),
        );
        // The word of OpenAI and Anthropic to their own clients.
        let should_retry = match reply.header("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let is_redirect = (300..400).contains(&status);
        let location = reply.header("location").filter(|_| is_redirect);
        let location =
            location.map(|to| to.split(['?', '#']).next().unwrap_or_default().to_owned());
        // A refusal that does not say why in time is one without a text.
        let body = tokio::time::timeout(PATIENCE, reply.beginning(ERROR_BODY)).await;
        let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let value = serde_json::from_str::<Value>(&body).ok();
        Self {
            status,
            reason,
            refusal: value.as_ref().and_then(Refusal::of),
            body,
            location,
            request_id,
            retry_after_ms,
            should_retry,
        }
    }

    fn why(&self) -> String {
        let mut why = format!("{} {}", self.status, self.reason).trim().to_owned();
        match (&self.location, &self.refusal) {
            (Some(to), _) => why.push_str(&format!(": a redirect to {to}, which is not followed")),
            (None, Some(refusal)) => why.push_str(&format!(": {}", refusal.line())),
            (None, None) if self.body.trim().is_empty() => {}
            (None, None) => {
                let said = titled(&self.body).unwrap_or_else(|| self.body.trim().to_owned());
                why.push_str(&format!(": {said}"));
            }
        }
        if let Some(id) = &self.request_id {
            why.push_str(&format!(" [request {id}]"));
        }
        why
    }

    fn is_recoverable(&self) -> bool {
        let by_status = matches!(self.status, 408 | 409 | 429 | 500..);
        let is_used_up = self.refusal.as_ref().is_some_and(Refusal::is_used_up);
        self.should_retry.unwrap_or(by_status && !is_used_up)
    }
}

impl Trouble {
    /// The fault for the engine; without secrets, whatever the server repeated of them.
    pub(crate) fn fault(self, endpoint: &Endpoint, host: &str, was_streaming: bool) -> ModelFault {
        let (status, retry_after_ms) = match &self {
            Self::Refused(refused) => (Some(refused.status), refused.retry_after_ms),
            _ => (None, None),
        };
        let why = mask(&self.why(host), &endpoint.secrets());
        ModelFault {
            status,
            why: capped(&why, WHY),
            is_recoverable: self.is_recoverable(),
            retry_after_ms,
            was_streaming,
        }
    }

    fn is_recoverable(&self) -> bool {
        match self {
            Self::NoHead(broken) | Self::Cut(broken, _) => !matches!(broken, Broken::Tls(_)),
            Self::NoHeadFor(_) | Self::Silent(..) | Self::Long(_) | Self::Empty | Self::Short => {
                true
            }
            Self::Refused(refused) => refused.is_recoverable(),
            Self::Reported(error) => Refusal::of(error).is_none_or(|refusal| refusal.may_pass()),
            Self::Unsent(_) | Self::Strange(_) | Self::Large(_) | Self::Cancelled => false,
        }
    }

    fn why(&self, host: &str) -> String {
        match self {
            Self::Unsent(error) => error.to_string(),
            Self::NoHead(broken @ Broken::Cut(_)) => {
                format!("{host}: {broken}, before any answer; the model may have got the question")
            }
            Self::NoHead(broken) => format!("{host}: {broken}"),
            Self::NoHeadFor(limit) => format!("{host}: no answer within {limit:?}"),
            Self::Cut(broken, bytes) => {
                format!("{host}: {broken}, after {bytes} bytes of the reply")
            }
            Self::Silent(limit, bytes) => {
                format!("{host}: nothing came for {limit:?}, after {bytes} bytes of the reply")
            }
            Self::Long(limit) => format!("{host}: the reply was not whole within {limit:?}"),
            Self::Empty => format!("{host}: the reply is empty"),
            Self::Refused(refused) => refused.why(),
            Self::Reported(error) => match Refusal::of(error) {
                Some(refusal) => format!("the provider reports in its reply: {}", refusal.line()),
                None => format!("the provider reports in its reply: {error}"),
            },
            Self::Strange(what) => format!("{host}: {what}"),
            Self::Short => format!("{host}: the reply stops in the middle"),
            Self::Large(what) => format!("{host}: {what}"),
            Self::Cancelled => "called off".to_owned(),
        }
    }
}

/// What a text that nobody expected says, as far as it is kept; of a page its title first.
pub(crate) fn beginning(text: &str) -> String {
    match titled(text) {
        Some(page) => page,
        None => format!("it begins \"{}\"", capped(text.trim(), WHY)),
    }
}

/// A page of HTML after its title; `None` for another text.
fn titled(text: &str) -> Option<String> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let length = lower[start..].find("</title>")?;
    let title = text.get(start..start + length)?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let (title, text) = (capped(&title, TITLE), capped(text, WHY));
    Some(format!("a page with the title \"{title}\": {text}"))
}

/// The first characters of a text, with a mark where there were more.
fn capped(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How long a provider asks to wait, in milliseconds: `retry-after-ms` (OpenAI) before `Retry-After` (RFC 9110,
/// 10.2.3), which is a number of seconds or a date; a date that has passed is 0. Absurd values stay as they
/// are; who waits judges them.
fn retry_after_ms(ms: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<u64> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    if let Some(ms) = ms.and_then(number) {
        return Some(ms.ceil() as u64);
    }
    let after = after?;
    if let Some(seconds) = number(after) {
        return Some((seconds * 1000.0).ceil() as u64);
    }
    let date = httpdate::parse_http_date(after.trim()).ok()?;
    let wait = date.duration_since(now).unwrap_or_default();
    Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

/// A raw member of a JSON object as the text that it is; empty where it is none.
pub(crate) fn text_of(raw: &str) -> String {
    let inside = raw
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    display_text(inside.unwrap_or_default().as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_wait_is_understood() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |ms, after| retry_after_ms(ms, after, now);
        assert_eq!(wait(None, Some("7")), Some(7_000));
        assert_eq!(wait(None, Some("0.25")), Some(250));
        assert_eq!(wait(Some("1500.5"), Some("7")), Some(1_501));
        assert_eq!(wait(Some("soon"), Some("7")), Some(7_000));
        assert_eq!(wait(None, Some("1000000000")), Some(1_000_000_000_000));
        assert_eq!(wait(None, Some("1e300")), Some(u64::MAX));
        let date = "Sun, 06 Nov 1994 08:50:07 GMT";
        assert_eq!(wait(None, Some(date)), Some(30_000));
        let past = "Sun, 06 Nov 1994 08:00:00 GMT";
        assert_eq!(wait(None, Some(past)), Some(0));
        for nothing in [
            None,
            Some(""),
            Some("-1"),
            Some("NaN"),
            Some("inf"),
            Some("tomorrow"),
        ] {
            assert_eq!(wait(None, nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_page_is_whole_after_its_title() {
        let page = "<html><TITLE> 502 Bad\nGateway </TITLE>İ</html>";
        let said = "a page with the title \"502 Bad Gateway\": ";
        assert_eq!(beginning(page), format!("{said}{page}"));
        assert_eq!(beginning("<title>"), "it begins \"<title>\"");
        let long = beginning(&"é".repeat(WHY + 1));
        assert_eq!(long.chars().count(), 11 + WHY + 1 + 1);
    }
}
