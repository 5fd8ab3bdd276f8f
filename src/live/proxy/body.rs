//! Bodies as they pass: whole where they are looked at, piece by piece where they are not, and never ended
//! where they were cut.

use crate::lock::lock;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::http::response::Parts;
use hyper_util::rt::TokioIo;
use retake_core::session::Dialect;
use retake_core::wire::stream::{FRAMES, FrameReader, FrameWriter};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream as StdStream;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Longest body of a request that is looked at, in bytes.
pub(crate) const LOOKED_AT: u64 = 64 << 20;

/// Most room that is made for a body before it comes, in bytes.
const ANNOUNCED: usize = 1 << 20;

/// Longest body of a request that only passes, in bytes: files that are uploaded have up to 512 MB
/// (OpenAI API reference, files).
pub(crate) const PASSED: u64 = 1 << 30;

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
pub(crate) async fn collect(mut body: Incoming, contact: &Contact) -> Result<Bytes, Cut> {
    let expected = body.size_hint().exact().unwrap_or_default();
    // What a client announces is not there yet.
    let expected = usize::try_from(expected).map_or(ANNOUNCED, |length| length.min(ANNOUNCED));
    // A copy, for a piece that is kept would keep the buffer that the connection reads into.
    let mut all = BodyBuffer::with_capacity(expected);
    contact.receives(!body.is_end_stream());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Cut::Client)?.into_data() else {
            continue; // trailers are not part of a request that is looked at
        };
        if (all.0.len() + data.len()) as u64 > LOOKED_AT {
            return Err(Cut::TooLong);
        }
        all.0.extend_from_slice(&data);
    }
    contact.receives(false);
    Ok(all.into())
}

/// The memory of a request's body. It is kept for the bodies after it: an allocator gives memory back to the system
/// while the exchange is still looked at, and getting it again, page by page, costs as much as passing the body.
struct BodyBuffer(Vec<u8>);

/// Shorter bodies are no trouble for an allocator.
const REUSED: usize = 32 * 1024;
/// Most bytes that are kept for later bodies.
const SPARE: usize = 8 << 20;

/// The memory that is kept, the latest last.
static SPARES: Mutex<VecDeque<Vec<u8>>> = Mutex::new(VecDeque::new());

impl BodyBuffer {
    /// Memory for so many bytes, which may be more than twice what they need only where they grow.
    fn with_capacity(bytes: usize) -> Self {
        if bytes < REUSED {
            return Self(Vec::with_capacity(bytes));
        }
        let mut spares = lock(&SPARES);
        let fits = |spare: &Vec<u8>| (bytes..=2 * bytes).contains(&spare.capacity());
        let latest = spares.iter().rposition(fits);
        let spare = latest.and_then(|place| spares.remove(place));
        // The next request of a conversation is a little longer.
        Self(spare.unwrap_or_else(|| Vec::with_capacity(bytes + bytes / 4)))
    }
}

impl From<BodyBuffer> for Bytes {
    fn from(mut buffer: BodyBuffer) -> Self {
        if buffer.is_reused() {
            return Self::from_owner(buffer);
        }
        let mut bytes = std::mem::take(&mut buffer.0);
        bytes.shrink_to_fit();
        bytes.into()
    }
}

impl BodyBuffer {
    fn is_reused(&self) -> bool {
        let (length, capacity) = (self.0.len(), self.0.capacity());
        (REUSED..=SPARE / 4).contains(&capacity) && capacity <= 2 * length
    }
}

impl AsRef<[u8]> for BodyBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for BodyBuffer {
    fn drop(&mut self) {
        if !(REUSED..=SPARE / 4).contains(&self.0.capacity()) {
            return;
        }
        let mut spare = std::mem::take(&mut self.0);
        spare.clear();
        let mut spares = lock(&SPARES);
        spares.push_back(spare);
        let mut bytes: usize = spares.iter().map(Vec::capacity).sum();
        while bytes > SPARE {
            bytes -= spares.pop_front().map_or(bytes, |oldest| oldest.capacity());
        }
    }
}

/// The body of a reply from the upstream. One in frames of AWS comes as server-sent events.
pub(crate) struct UpstreamBody {
    body: Incoming,
    frames: Option<FrameReader>,
}

impl UpstreamBody {
    /// Opens a reply, and gives its head as it is of what [`UpstreamBody::next`] gives.
    pub(crate) fn open(reply: Response<Incoming>) -> (Parts, Self) {
        let (mut head, body) = reply.into_parts();
        let kind = head.headers.get(CONTENT_TYPE);
        let is_framed = kind.is_some_and(|kind| kind.as_bytes().starts_with(FRAMES.as_bytes()));
        if is_framed {
            let kind = HeaderValue::from_static(EVENTS);
            head.headers.insert(CONTENT_TYPE, kind);
            head.headers.remove(CONTENT_LENGTH);
        }
        let frames = is_framed.then(FrameReader::default);
        (head, Self { body, frames })
    }

    /// The next bytes, or why it broke off; `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else {
                        continue;
                    };
                    let Some(frames) = &mut self.frames else {
                        return Some(Ok(bytes));
                    };
                    let events = frames.push(&bytes).map(Cow::into_owned);
                    return Some(events.map(Bytes::from).map_err(|error| error.to_string()));
                }
                Some(Err(error)) => return Some(Err(error.to_string())),
                None => {
                    let frames = self.frames.take();
                    let is_cut = frames.is_some_and(|frames| frames.is_cut());
                    return is_cut.then(|| Err("a frame of the event stream was cut".to_owned()));
                }
            }
        }
    }
}

/// The media type of server-sent events.
const EVENTS: &str = "text/event-stream";

/// A reply to a client of a dialect: one whose streams are frames of AWS gets them.
pub(crate) fn framed(dialect: Option<Dialect>, mut reply: Response<Body>) -> Response<Body> {
    let kind = reply.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENTS.as_bytes()));
    if !is_stream || dialect.is_none_or(|dialect| dialect.facts().stream_type != FRAMES) {
        return reply;
    }
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(FRAMES));
    headers.remove(CONTENT_LENGTH);
    let mut writer = FrameWriter::default();
    reply.map(|body| {
        let frames =
            move |frame: Frame<Bytes>| frame.map_data(|data| Bytes::from(writer.push(&data)));
        body.map_frame(frames).boxed_unsync()
    })
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
    pub(crate) async fn begin(mut rest: Incoming, contact: Arc<Contact>) -> Result<Self, Cut> {
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

// The connection to one client: how far its request has come, and whether the client is still there.
//
// A client that has only closed its sending side still wants its answer, and one that went away looks the same
// until something is written to it. Before the head of the reply, an interim answer (`100 Continue`, which
// every client skips) finds that out.

/// How often a connection is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// How long a reply may stand still whose client has closed its sending side: nothing tells whether
/// it is still there.
const DOUBTED: Duration = Duration::from_secs(60);
/// How long a connection is kept without a request. Clients keep theirs for less, so that none is closed
/// while a request comes.
const KEPT: Duration = Duration::from_secs(180);
/// So long a new connection may be without a byte before it gives way to others.
const FRESH: Duration = Duration::from_secs(2);
/// A body that comes for longer than this gives way to other clients where there is no room,
const SLOW: Duration = Duration::from_secs(10);
/// if it brings fewer bytes a second.
const SLOWEST: u64 = 1024;
/// How long a client that was refused may go on sending, so that it reads why.
const LINGER: Duration = Duration::from_secs(2);
/// And how much of it is read.
const LINGERING: usize = 8 << 20;

/// Asks whether anybody is there, without a meaning.
const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The first byte of a TLS handshake.
const TLS: u8 = 0x16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the head of a request, from its first byte.
    pub head: Duration,
    /// While nothing of a body comes.
    pub body: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body: Duration::from_secs(60),
        }
    }
}

/// How far the exchange on a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// No byte of a request has come.
    Idle,
    Head,
    /// The request is there, or its body comes; no reply has begun.
    Asked,
    /// The head of the reply is made.
    Replying,
}

/// What is known of a connection, shared by whoever reads, answers and looks after it.
#[derive(Debug)]
pub(crate) struct Contact {
    since: Instant,
    stage: AtomicU8,
    /// When the stage began, in milliseconds since the connection was made.
    stage_at: AtomicU64,
    read_at: AtomicU64,
    written_at: AtomicU64,
    is_receiving: AtomicBool,
    /// All bytes of the last write were taken.
    is_written: AtomicBool,
    /// Interim answers are known (HTTP/1.1).
    knows_interim: AtomicBool,
    is_tls: AtomicBool,
    was_read: AtomicBool,
    /// When a body was awaited first, and how much of it has come since.
    body_at: AtomicU64,
    body_bytes: AtomicU64,
    /// Another connection needs the room.
    leave: Notify,
    ended: CancellationToken,
}

impl Contact {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            since: Instant::now(),
            stage: AtomicU8::new(Stage::Idle as u8),
            stage_at: AtomicU64::new(0),
            read_at: AtomicU64::new(0),
            written_at: AtomicU64::new(0),
            is_receiving: AtomicBool::new(false),
            is_written: AtomicBool::new(true),
            knows_interim: AtomicBool::new(false),
            is_tls: AtomicBool::new(false),
            was_read: AtomicBool::new(false),
            body_at: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            leave: Notify::new(),
            ended: CancellationToken::new(),
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_past(&self, at: &AtomicU64, limit: Duration) -> bool {
        u128::from(self.now().saturating_sub(at.load(Relaxed))) >= limit.as_millis()
    }

    fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
        self.stage_at.store(self.now(), Relaxed);
    }

    fn is_in(&self, stage: Stage) -> bool {
        self.stage.load(Relaxed) == stage as u8
    }

    /// A request has come.
    pub(crate) fn begin(&self, knows_interim: bool) {
        self.knows_interim.store(knows_interim, Relaxed);
        self.enter(Stage::Asked);
    }

    /// The head of its reply is made, and this is its body.
    pub(crate) fn reply(self: &Arc<Self>, body: Body) -> Attended {
        self.enter(Stage::Replying);
        Attended {
            body,
            contact: self.clone(),
        }
    }

    /// Whether a body is awaited of the client.
    pub(crate) fn receives(&self, is_receiving: bool) {
        let now = self.now();
        self.read_at.store(now, Relaxed);
        self.body_at.store(now, Relaxed);
        self.body_bytes.store(0, Relaxed);
        self.is_receiving.store(is_receiving, Relaxed);
    }

    /// How long the connection has been of no use, where it is of none: no request has come, or a body comes so
    /// slowly that it might never end.
    pub(crate) fn useless_for(&self) -> Option<Duration> {
        let since =
            |at: &AtomicU64| Duration::from_millis(self.now() - at.load(Relaxed).min(self.now()));
        if self.is_receiving.load(Relaxed) {
            let bytes = self.body_bytes.load(Relaxed);
            let expected = SLOW + Duration::from_secs(bytes / SLOWEST);
            return since(&self.body_at).checked_sub(expected);
        }
        let is_idle = self.is_in(Stage::Idle) && self.is_written.load(Relaxed);
        let idle = is_idle.then(|| since(&self.stage_at))?;
        match self.was_read.load(Relaxed) {
            true => Some(idle),
            // Its first request may be on its way.
            false => idle.checked_sub(FRESH),
        }
    }

    /// The connection is used for something else than requests, or ends.
    pub(crate) fn has_no_more_requests(&self) {
        self.enter(Stage::Asked);
    }

    /// Asks the connection to close, where it is still of no use.
    pub(crate) fn ask_to_leave(&self) {
        self.leave.notify_one();
    }

    /// Whether a TLS handshake came first.
    pub(crate) fn is_tls(&self) -> bool {
        self.is_tls.load(Relaxed)
    }

    fn has_read(&self, bytes: &[u8]) {
        let Some(first) = bytes.first() else { return };
        self.read_at.store(self.now(), Relaxed);
        self.body_bytes.fetch_add(bytes.len() as u64, Relaxed);
        if !self.was_read.swap(true, Relaxed) {
            self.is_tls.store(*first == TLS, Relaxed);
        }
        if self.is_in(Stage::Idle) {
            self.enter(Stage::Head);
        }
    }
}

/// The body of a reply on a connection; when it is over, the connection waits for the next request.
pub(crate) struct Attended {
    body: Body,
    contact: Arc<Contact>,
}

impl HttpBody for Attended {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.contact.enter(Stage::Idle);
    }
}

/// Whether a client is still there, as far as can be known without writing to it.
#[derive(Debug, Clone)]
pub struct ClientPresence(Arc<Contact>);

impl ClientPresence {
    pub(crate) fn new(contact: &Arc<Contact>) -> Self {
        Self(contact.clone())
    }

    /// Of a request that no client sent.
    pub(crate) fn of_nobody() -> Self {
        Self(Contact::new())
    }

    /// Waits until the client has closed its sending side. It may be gone, or wait for its answer: what is
    /// written next tells, and everything about the exchange is dropped then.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Whether the client has closed its sending side.
    pub fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }
}

/// The socket as hyper reads and writes it.
pub(crate) struct Socket {
    stream: TcpStream,
    contact: Arc<Contact>,
}

/// The socket of a client as whoever looks after it sees it.
pub(crate) struct Spare {
    stream: StdStream,
    patience: Patience,
    contact: Arc<Contact>,
}

/// Takes a connection: a socket for hyper, one to look after it, and what both know.
pub(crate) fn take(
    stream: TcpStream,
    patience: Patience,
) -> std::io::Result<(TokioIo<Socket>, Spare, Arc<Contact>)> {
    // Without it pieces that are ready would wait for the client's acknowledgements; where the
    // system refuses, they do.
    let _ = stream.set_nodelay(true);
    let stream = stream.into_std()?;
    let spare = stream.try_clone()?;
    let contact = Contact::new();
    let socket = Socket {
        stream: TcpStream::from_std(stream)?,
        contact: contact.clone(),
    };
    let spare = Spare {
        stream: spare,
        patience,
        contact: contact.clone(),
    };
    Ok((TokioIo::new(socket), spare, contact))
}

impl Spare {
    /// Looks after the connection until it is of no use any more: the client is gone, or too slow.
    pub(crate) async fn look_after(&self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => if self.is_of_no_use() {
                    return;
                },
                () = self.contact.leave.notified() => if self.leaves() {
                    return;
                },
            }
        }
    }

    /// Whether the connection is of no use still: a request may have come meanwhile that nobody has read.
    fn leaves(&self) -> bool {
        let has_come = matches!(self.stream.peek(&mut [0]), Ok(1..));
        let is_idle = self.contact.is_in(Stage::Idle);
        self.contact.useless_for().is_some() && !(is_idle && has_come)
    }

    fn is_of_no_use(&self) -> bool {
        let contact = &self.contact;
        if contact.is_receiving.load(Relaxed) {
            return contact.is_past(&contact.read_at, self.patience.body);
        }
        if contact.is_in(Stage::Idle) {
            return contact.is_past(&contact.stage_at, KEPT);
        }
        if contact.is_in(Stage::Head) {
            return contact.is_past(&contact.stage_at, self.patience.head);
        }
        self.is_gone()
    }

    /// Whether a client that waits for its answer is gone for sure.
    fn is_gone(&self) -> bool {
        if matches!(self.stream.take_error(), Ok(Some(_)) | Err(_)) {
            return true;
        }
        let contact = &self.contact;
        if contact.ended.is_cancelled() {
            return contact.is_in(Stage::Replying) && contact.is_past(&contact.written_at, DOUBTED);
        }
        match self.stream.peek(&mut [0]) {
            Ok(0) => {
                contact.ended.cancel();
                !self.is_answered()
            }
            Ok(_) => false,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Writes to a client where that means nothing, so that the system hears whether it is there.
    fn is_answered(&self) -> bool {
        let contact = &self.contact;
        let may_write = contact.is_in(Stage::Asked)
            && contact.knows_interim.load(Relaxed)
            && contact.is_written.load(Relaxed);
        !may_write || matches!((&self.stream).write(INTERIM), Ok(count) if count == INTERIM.len())
    }

    /// Reads what a client still sends that was refused: a socket that is closed over unread bytes
    /// takes the reply back.
    pub(crate) async fn linger(&self) {
        let mut rest = vec![0; 64 * 1024];
        let mut left = LINGERING;
        let until = Instant::now() + LINGER;
        while left > 0 && Instant::now() < until {
            match (&self.stream).read(&mut rest) {
                Ok(0) => return,
                Ok(count) => {
                    left = left.saturating_sub(count);
                    tokio::task::yield_now().await;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(_) => return,
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.contact.has_read(&buf.filled()[before..]);
        read
    }
}

impl Socket {
    fn note(
        &self,
        wanted: usize,
        written: Poll<std::io::Result<usize>>,
    ) -> Poll<std::io::Result<usize>> {
        let is_written = matches!(&written, Poll::Ready(Ok(count)) if *count == wanted);
        self.contact.is_written.store(is_written, Relaxed);
        if is_written {
            let now = self.contact.now();
            self.contact.written_at.store(now, Relaxed);
        }
        written
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(buf.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let wanted = bufs.iter().map(|buf| buf.len()).sum();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(wanted, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(length: usize) -> Bytes {
        let mut body = BodyBuffer::with_capacity(length);
        body.0.resize(length, b'x');
        body.into()
    }

    #[test]
    fn the_memory_of_a_long_body_is_used_again_once_nobody_holds_it() {
        let (first, second) = (received(1_500_000), received(1_500_000));
        let place = first.as_ptr();
        assert_ne!(place, second.as_ptr());
        drop((first, second.clone()));
        assert_eq!(received(1_400_000).as_ptr(), place);
        assert!(second.iter().all(|byte| *byte == b'x'));
        // Memory that is much longer than a body is left to longer ones.
        assert_ne!(received(100_000).as_ptr(), place);
    }
}
