//! A WebSocket at a path where Responses are spoken: it passes byte for byte, and its messages are read along.
//!
//! Compression is not negotiated (`sec-websocket-extensions` is left out in both directions), so that the
//! frames can be read.

use super::body::{self, Body, Outgoing};
use super::news::{Observer, OpenedSocket, SocketDirection, Watch};
use super::origin::UpstreamOrigin;
use super::{headers, pass};
use crate::lock::lock;
use http_body_util::BodyExt;
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_EXTENSIONS, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Response, StatusCode};
use hyper_util::rt::TokioIo;
use retake_core::wire::WEBSOCKET;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tungstenite::protocol::{Message, Role, WebSocket, WebSocketConfig};

/// Longest message that is read along, in bytes.
const MESSAGE: usize = 16 << 20;
/// Bytes that are copied at a time.
const PIECE: usize = 64 * 1024;

/// How long a side may go on that the other has left.
const PARTING: Duration = Duration::from_secs(10);

/// Both ends of a WebSocket, ready to be joined.
pub(crate) struct Tunnel {
    client: OnUpgrade,
    upstream: OnUpgrade,
    observer: Option<Box<dyn Observer>>,
}

/// Asks the upstream for a WebSocket. Whatever it answers goes to the client; where it agrees,
/// there is a tunnel.
pub(crate) async fn open<W: Watch>(
    upstream: &UpstreamOrigin,
    watch: &Arc<W>,
    mut head: Parts,
    client: SocketAddr,
    path_and_query: PathAndQuery,
    at: SystemTime,
) -> (Response<Body>, Option<Tunnel>) {
    let mut lines = headers::end_to_end(&head.headers);
    lines.remove(SEC_WEBSOCKET_EXTENSIONS);
    let opened = OpenedSocket {
        client,
        at,
        path_and_query: path_and_query.clone(),
        lines: lines.clone(),
    };
    upgrade(&mut lines);
    let nothing = Outgoing::Whole(None);
    let mut reply = match upstream
        .send(head.method.clone(), &path_and_query, lines, nothing)
        .await
    {
        Ok(reply) => reply,
        Err(error) => return (pass::no_reply(Some(WEBSOCKET), &error), None),
    };
    if reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        let onward = pass::head(&head.method, &reply, ());
        let body = reply.into_body().map_err(|_| body::Cut::Upstream);
        return (onward.map(|()| body.boxed_unsync()), None);
    }
    let mut onward = pass::head(&head.method, &reply, body::whole(Vec::new()));
    onward.headers_mut().remove(TRANSFER_ENCODING);
    upgrade(onward.headers_mut());
    let client = head.extensions.remove::<OnUpgrade>();
    let tunnel = client.map(|client| Tunnel {
        client,
        upstream: hyper::upgrade::on(&mut reply),
        observer: watch.socket(opened),
    });
    (onward, tunnel)
}

fn upgrade(lines: &mut HeaderMap) {
    lines.remove(SEC_WEBSOCKET_EXTENSIONS);
    lines.insert(UPGRADE, HeaderValue::from_static("websocket"));
    lines.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
}

impl Tunnel {
    /// Passes bytes both ways until one side ends.
    pub(crate) async fn run(mut self) {
        let (Ok(client), Ok(upstream)) = tokio::join!(self.client, self.upstream) else {
            return; // one side has gone before it began
        };
        let (mut from_client, mut to_client) = tokio::io::split(TokioIo::new(client));
        let (mut from_upstream, mut to_upstream) = tokio::io::split(TokioIo::new(upstream));
        let observer = &std::sync::Mutex::new(self.observer.take());
        let there = copy(
            &mut from_client,
            &mut to_upstream,
            SocketDirection::ToUpstream,
            observer,
        );
        let back = copy(
            &mut from_upstream,
            &mut to_client,
            SocketDirection::ToClient,
            observer,
        );
        tokio::pin!(there, back);
        // A side that ends says so to the other, which may still have something to say; a side
        // that breaks ends both.
        tokio::select! {
            ended = &mut there => if ended.is_ok() {
                let _ = timeout(PARTING, back).await;
            },
            ended = &mut back => if ended.is_ok() {
                let _ = timeout(PARTING, there).await;
            },
        }
        if let Some(observer) = lock(observer).as_mut() {
            observer.over();
        }
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    direction: SocketDirection,
    observer: &std::sync::Mutex<Option<Box<dyn Observer>>>,
) -> io::Result<()> {
    let mut reading = Reading::new(direction);
    let mut piece = vec![0; PIECE];
    loop {
        let count = from.read(&mut piece).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..count]).await?;
        if let Some(observer) = lock(observer).as_mut() {
            reading.read(&piece[..count], observer.as_mut());
        }
    }
}

/// Reads the messages of one direction.
struct Reading {
    direction: SocketDirection,
    /// `None` when they cannot be read any more.
    socket: Option<WebSocket<SocketBuffer>>,
}

/// Bytes that have passed and were not read yet. What the reader would say itself is not wanted.
#[derive(Default)]
struct SocketBuffer(VecDeque<u8>);

impl Read for SocketBuffer {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buf) {
            Ok(0) => Err(ErrorKind::WouldBlock.into()),
            read => read,
        }
    }
}

impl Write for SocketBuffer {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Reading {
    fn new(direction: SocketDirection) -> Self {
        // Whoever receives reads: a server reads what clients mask.
        let role = match direction {
            SocketDirection::ToUpstream => Role::Server,
            SocketDirection::ToClient => Role::Client,
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE))
            .max_frame_size(Some(MESSAGE));
        let socket = WebSocket::from_raw_socket(SocketBuffer::default(), role, Some(config));
        Self {
            direction,
            socket: Some(socket),
        }
    }

    fn read(&mut self, bytes: &[u8], observer: &mut dyn Observer) {
        let Some(socket) = &mut self.socket else {
            return;
        };
        socket.get_mut().0.extend(bytes);
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => observer.text(self.direction, &text),
                Ok(Message::Close(_)) => {
                    self.socket = None;
                    return;
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    return;
                }
                Err(_) => {
                    self.socket = None;
                    observer.unreadable(self.direction);
                    return;
                }
            }
        }
    }
}
