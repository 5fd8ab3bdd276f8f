//! Heads of replies must end their lines as HTTP does (RFC 9112, section 2.2). The parser below takes a line
//! feed alone for the end of a line, so that a server beyond the upstream that lets one through could add
//! header lines of its own; such a reply is none.

use hyper::Uri;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// How much of a head is read at a time.
const PIECE: usize = 4096;
/// What the first line of a request ends with.
const REQUEST: &[u8] = b" HTTP/1.1";

/// Makes connections whose replies are looked at.
#[derive(Debug, Clone)]
pub(crate) struct StrictHeads<C>(pub(crate) C);

impl<C> Service<Uri> for StrictHeads<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = CheckedConnection<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { connecting.await.map(CheckedConnection::new) })
    }
}

/// A connection whose replies are looked at, from each request to the end of the head that answers it.
#[derive(Debug)]
pub(crate) struct CheckedConnection<T> {
    inner: T,
    head: Head,
    /// A reply came before, so that the connection was kept for this request.
    is_kept: bool,
}

/// A server has closed a connection that was kept, before a byte of the next reply came.
#[derive(Debug, thiserror::Error)]
#[error("the upstream closed a kept connection over the request")]
pub(crate) struct KeptClosed;

/// How far the head of a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// It is over, and the body passes.
    Over,
    Comes {
        /// So many bytes of the blank line that ends it have come (of CR LF CR LF), in their order.
        ended: u8,
        /// How many bytes have come, as far as its status.
        place: u8,
        /// Whether it is an interim one, which another follows: its status begins with 1.
        is_interim: bool,
    },
}

/// Where the status begins after `HTTP/1.1`.
const STATUS: u8 = 9;

impl<T> CheckedConnection<T> {
    fn new(inner: T) -> Self {
        Self {
            inner,
            head: Head::BEGINS,
            is_kept: false,
        }
    }

    /// Whether a request was sent on a kept connection, and nothing of its reply has come.
    fn awaits_next(&self) -> bool {
        self.is_kept && self.head == Head::BEGINS
    }

    /// Where a request begins with what is written, the next that comes is the head of its reply.
    fn writes(&mut self, pieces: &[&[u8]]) {
        if self.head == Head::Over && begins_request(pieces) {
            self.head = Head::BEGINS;
            self.is_kept = true;
        }
    }
}

/// Whether bytes begin with the first line of a request. The body of one that was answered early is still
/// written, and may hold such a line further on.
fn begins_request(pieces: &[&[u8]]) -> bool {
    let bytes = pieces.iter().flat_map(|piece| piece.iter().copied());
    let method = bytes.clone().take_while(u8::is_ascii_uppercase).count();
    if method == 0 || bytes.clone().nth(method) != Some(b' ') {
        return false;
    }
    let line: Vec<u8> = bytes.take_while(|byte| *byte != b'\r').collect();
    line.ends_with(REQUEST)
}

impl Head {
    const BEGINS: Self = Self::Comes {
        ended: 0,
        place: 0,
        is_interim: false,
    };

    /// Takes bytes of a head; those after it belong to the body.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            let Self::Comes {
                ended,
                place,
                is_interim,
            } = self
            else {
                return Ok(());
            };
            *is_interim |= *place == STATUS && *byte == b'1';
            *place = place.saturating_add(1);
            *ended = match (byte, *ended) {
                (b'\r', 0 | 2) | (b'\n', 1 | 3) => *ended + 1,
                (b'\n', _) | (_, 1 | 3) => {
                    let why = "a line of the reply's head does not end as HTTP wants it";
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
                _ => 0,
            };
            if *ended == 4 {
                *self = match *is_interim {
                    true => Self::BEGINS,
                    false => Self::Over,
                };
            }
        }
        Ok(())
    }
}

impl<T: Read + Unpin> Read for CheckedConnection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head == Head::Over {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let mut piece = [0; PIECE];
        let room = buf.remaining().min(PIECE);
        let mut read = ReadBuf::new(&mut piece[..room]);
        let result = ready!(Pin::new(&mut self.inner).poll_read(cx, read.unfilled()));
        if self.awaits_next() && (result.is_err() || read.filled().is_empty()) {
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionReset, KeptClosed)));
        }
        result?;
        self.head.take(read.filled())?;
        buf.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> Write for CheckedConnection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes(&[bytes]);
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.head == Head::Over {
            self.writes(&pieces.iter().map(|piece| &**piece).collect::<Vec<_>>());
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<T: Connection> Connection for CheckedConnection<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pieces: &[&str]) -> Result<Head, ErrorKind> {
        let mut head = Head::BEGINS;
        for piece in pieces {
            head.take(piece.as_bytes()).map_err(|error| error.kind())?;
        }
        Ok(head)
    }

    #[test]
    fn a_request_is_known_by_its_first_line_wherever_it_is_cut() {
        for pieces in [
            &["POST /v1/messages HTTP/1.1\r\nhost: x\r\n\r\n"][..],
            &["GET /", "a HTTP", "/1.1\r\nhost: x\r\n\r\n"],
            &["", "GET / HTTP/1.1\r\n"],
        ] {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            assert!(begins_request(&pieces), "{pieces:?}");
        }
        for body in [
            "{\"text\":\"GET / HTTP/1.1\r\n\"}",
            "Words, then\r\nGET / HTTP/1.1\r\n",
            "GET",
            "",
        ] {
            assert!(!begins_request(&[body.as_bytes()]), "{body}");
        }
    }

    #[test]
    fn u006_a_line_feed_alone_ends_no_line_of_a_head() {
        let good = "HTTP/1.1 200 OK\r\nx: a\r\n\r\n";
        assert_eq!(taken(&[good, "body\nwith\n\nlines"]), Ok(Head::Over));
        for cut in 0..good.len() {
            let (one, other) = good.split_at(cut);
            assert_eq!(taken(&[one, other]), Ok(Head::Over), "{cut}");
        }
        for bad in [
            "HTTP/1.1 200 OK\r\nx: a\nset-cookie: evil\r\n\r\n",
            "HTTP/1.1 200 OK\n\n",
            "HTTP/1.1 200 OK\r\nx: a\rset-cookie: evil\r\n\r\n",
            "HTTP/1.1 200 OK\r\nx: a\r\n\n",
        ] {
            assert_eq!(taken(&[bad]), Err(ErrorKind::InvalidData), "{bad:?}");
            let behind = format!("HTTP/1.1 103 Early Hints\r\n\r\n{bad}");
            assert_eq!(taken(&[&behind]), Err(ErrorKind::InvalidData), "{behind:?}");
        }
    }
}
