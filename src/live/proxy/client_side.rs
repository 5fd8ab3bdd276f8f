//! The side of an exchange that faces the agent: a head, then pieces of a body that ends well or is broken off.

use super::body::Cut;
use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::http::response::Parts;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};

/// How many pieces wait for a slow client before the upstream is read no further.
const PIECES: usize = 8;

/// A piece of a body.
pub(crate) enum Piece {
    Bytes(Bytes),
    End,
}

/// The body that a client reads. It ends normally only if the sender says so: a dropped sender breaks it off.
pub(crate) struct ClientBody {
    whole: Option<Bytes>,
    pieces: Option<mpsc::Receiver<Piece>>,
    /// Something was handed over in this round and may not have been written yet.
    is_fresh: bool,
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Some(whole) = self.whole.take() {
            return Poll::Ready(Some(Ok(Frame::data(whole))));
        }
        let Some(pieces) = &mut self.pieces else {
            return Poll::Ready(None);
        };
        match pieces.poll_recv(context) {
            Poll::Pending => {
                self.is_fresh = false;
                Poll::Pending
            }
            Poll::Ready(Some(Piece::Bytes(bytes))) => {
                self.is_fresh = true;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Some(Piece::End)) => {
                self.pieces = None;
                Poll::Ready(None)
            }
            Poll::Ready(None) if std::mem::take(&mut self.is_fresh) => {
                // hyper drops what it has not written when a body fails; it writes when nothing more is ready.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => {
                self.pieces = None;
                Poll::Ready(Some(Err(Cut::Upstream)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.whole.is_none() && self.pieces.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.whole, &self.pieces) {
            (Some(whole), _) => SizeHint::with_exact(whole.len() as u64),
            (None, None) => SizeHint::with_exact(0),
            (None, Some(_)) => SizeHint::default(),
        }
    }
}

impl ClientBody {
    /// A body that breaks off before it has begun.
    pub(crate) fn broken() -> Self {
        let (_, pieces) = mpsc::channel(1);
        Self {
            whole: None,
            pieces: Some(pieces),
            is_fresh: false,
        }
    }
}

/// The client has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// A client that waits for its reply.
pub(crate) enum ClientSide {
    /// It has no head yet.
    Awaiting(oneshot::Sender<Response<ClientBody>>),
    Reads(mpsc::Sender<Piece>),
    /// It has everything, or has left.
    Over,
}

impl ClientSide {
    /// A client, and what it waits for.
    pub(crate) fn new() -> (Self, oneshot::Receiver<Response<ClientBody>>) {
        let (sender, receiver) = oneshot::channel();
        (Self::Awaiting(sender), receiver)
    }

    /// Sends the head; the body follows piece by piece.
    pub(crate) fn begin(&mut self, head: Parts) -> Result<(), Gone> {
        let Self::Awaiting(sender) = std::mem::replace(self, Self::Over) else {
            return Err(Gone);
        };
        let (pieces, receiver) = mpsc::channel(PIECES);
        let body = ClientBody {
            whole: None,
            pieces: Some(receiver),
            is_fresh: false,
        };
        sender
            .send(Response::from_parts(head, body))
            .map_err(|_| Gone)?;
        *self = Self::Reads(pieces);
        Ok(())
    }

    pub(crate) fn give(&mut self, head: Parts, body: Bytes) -> Result<(), Gone> {
        let Self::Awaiting(sender) = std::mem::replace(self, Self::Over) else {
            return Err(Gone);
        };
        let body = ClientBody {
            whole: (!body.is_empty()).then_some(body),
            pieces: None,
            is_fresh: false,
        };
        sender
            .send(Response::from_parts(head, body))
            .map_err(|_| Gone)
    }

    /// Waits until the client takes another piece. Nothing is lost where this is dropped before.
    pub(crate) async fn ready(&mut self) -> Result<(), Gone> {
        let Self::Reads(pieces) = self else {
            return Err(Gone);
        };
        pieces.reserve().await.map(drop).map_err(|_| Gone)
    }

    /// Sends a piece, as soon as the client takes it.
    pub(crate) async fn send(&mut self, bytes: Bytes) -> Result<(), Gone> {
        let Self::Reads(pieces) = self else {
            return Err(Gone);
        };
        pieces.send(Piece::Bytes(bytes)).await.map_err(|_| Gone)
    }

    /// Ends the body well.
    pub(crate) async fn end(&mut self) -> Result<(), Gone> {
        let Self::Reads(pieces) = std::mem::replace(self, Self::Over) else {
            return Err(Gone);
        };
        pieces.send(Piece::End).await.map_err(|_| Gone)
    }

    pub(crate) fn abort(&mut self) {
        *self = Self::Over;
    }

    /// Waits until the client has left; for ever where it has everything.
    pub(crate) async fn left(&mut self) {
        match self {
            Self::Awaiting(sender) => sender.closed().await,
            Self::Reads(pieces) => pieces.closed().await,
            Self::Over => std::future::pending().await,
        }
    }
}
