//! Bodies of replies: whole, or event by event at a pace, cut or left hanging where a script says so.

use crate::proxy::body::{Body, Cut};
use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use std::time::Duration;

/// How long what was sent may take to leave before a connection is cut: hyper drops what it still holds.
const LEAVES: Duration = Duration::from_millis(20);

/// What follows the last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnding {
    /// The end of the body.
    End,
    /// The end of the connection.
    Cut,
    /// Nothing, and the connection stays.
    Silence,
}

/// A body in pieces with a pause before each but the first.
pub(crate) fn paced(pieces: Vec<String>, pause: Duration, ending: BodyEnding) -> Body {
    let start = (pieces.into_iter(), true);
    let stream = unfold(start, move |(mut pieces, is_first)| async move {
        let Some(piece) = pieces.next() else {
            return match ending {
                BodyEnding::End => None,
                BodyEnding::Cut => {
                    tokio::time::sleep(LEAVES).await;
                    Some((Err(Cut::Decided), (pieces, false)))
                }
                BodyEnding::Silence => std::future::pending().await,
            };
        };
        if !is_first && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok(Frame::data(Bytes::from(piece))), (pieces, false)))
    });
    StreamBody::new(stream).boxed_unsync()
}
