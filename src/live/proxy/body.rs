//! Bodies as they pass: whole where they are looked at, piece by piece where they are not, and never ended
//! where they were cut.

use super::contact::Contact;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Longest body of a request that is looked at, in bytes.
pub(crate) const LOOKED_AT: u64 = 64 << 20;

/// Most room that is made for a body before it comes, in bytes.
const ANNOUNCED: usize = 1 << 20;

/// Longest body of a request that only passes, in bytes: files that are uploaded have up to 512 MB
/// (OpenAI API reference, files).
pub(super) const PASSED: u64 = 1 << 30;

/// The body of a reply to a client.
pub type Body = UnsyncBoxBody<Bytes, Cut>;

/// Why a body ends before its end. The connection that it goes to is cut as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    #[error("the upstream broke off")]
    Upstream,
    #[error("the client broke off")]
    Client,
    #[error("the body is too long")]
    TooLong,
    #[error("the connection was cut by a decision")]
    Decided,
}

/// A body in one piece.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Reads a request's body to its end.
pub(super) async fn collect(mut body: Incoming, contact: &Contact) -> Result<Bytes, Cut> {
    let expected = body.size_hint().exact().unwrap_or_default();
    // What a client announces is not there yet.
    let expected = usize::try_from(expected).map_or(ANNOUNCED, |length| length.min(ANNOUNCED));
    // A copy, for a piece that is kept would keep the buffer that the connection reads into.
    let mut all = Vec::with_capacity(expected);
    contact.receives(!body.is_end_stream());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Cut::Client)?.into_data() else {
            continue; // trailers are no part of a request that is looked at
        };
        if (all.len() + data.len()) as u64 > LOOKED_AT {
            return Err(Cut::TooLong);
        }
        all.extend_from_slice(&data);
    }
    contact.receives(false);
    all.shrink_to_fit();
    Ok(Bytes::from(all))
}

/// The next bytes of a reply, or why it broke off; `None` at its end.
pub(super) async fn next_data(body: &mut Incoming) -> Option<Result<Bytes, String>> {
    loop {
        match body.frame().await? {
            Ok(frame) => {
                if let Ok(bytes) = frame.into_data() {
                    return Some(Ok(bytes));
                }
            }
            Err(error) => return Some(Err(error.to_string())),
        }
    }
}

/// The body of a request to the upstream.
pub enum Outgoing {
    Whole(Option<Bytes>),
    /// As the client sends it.
    Passing(Box<PassingBody>),
}

/// The body of a client's request in transit, after its first piece.
pub struct PassingBody {
    first: Option<Bytes>,
    rest: Incoming,
    left: u64,
    contact: Arc<Contact>,
}

impl Outgoing {
    /// A body in one piece; an empty one is none.
    pub fn whole(bytes: Bytes) -> Self {
        Self::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// Waits for the first piece, so that no upstream is called for a client that sends none, or nonsense.
    pub(super) async fn begin(mut rest: Incoming, contact: Arc<Contact>) -> Result<Self, Cut> {
        contact.receives(!rest.is_end_stream());
        let first = loop {
            match rest.frame().await {
                None => break None,
                Some(Err(_)) => return Err(Cut::Client),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => break Some(data),
                    _ => {} // trailers never become headers
                },
            }
        };
        if first.is_none() || rest.is_end_stream() {
            contact.receives(false);
            return Ok(Self::Whole(first));
        }
        Ok(Self::Passing(Box::new(PassingBody {
            first,
            rest,
            left: PASSED,
            contact,
        })))
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Passing(sending) => sending.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Passing(sending) => sending.first.is_none() && sending.rest.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Passing(sending) => {
                let first = sending.first.as_ref().map_or(0, Bytes::len) as u64;
                match sending.rest.size_hint().exact() {
                    Some(rest) => SizeHint::with_exact(first + rest),
                    None => SizeHint::new(),
                }
            }
        }
    }
}

impl PassingBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let data = match self.first.take() {
            Some(first) => first,
            None => loop {
                match ready!(Pin::new(&mut self.rest).poll_frame(cx)) {
                    None => {
                        self.contact.receives(false);
                        return Poll::Ready(None);
                    }
                    Some(Err(_)) => return Poll::Ready(Some(Err(Cut::Client))),
                    Some(Ok(frame)) => {
                        // Trailers never become headers.
                        if let Ok(data) = frame.into_data() {
                            break data;
                        }
                    }
                }
            },
        };
        let Some(left) = self.left.checked_sub(data.len() as u64) else {
            return Poll::Ready(Some(Err(Cut::TooLong)));
        };
        self.left = left;
        if self.rest.is_end_stream() {
            self.contact.receives(false);
        }
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

impl Drop for PassingBody {
    fn drop(&mut self) {
        // An upstream may answer without reading all of it; then nothing more is awaited of the client.
        self.contact.receives(false);
    }
}
