//! An upstream that notes what reaches it and plays whatever it is told.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
    pub(crate) line: String,
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Arrived {
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.lines.iter().filter(|(known, _)| known == name);
        lines.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<Arrived>>,
    connections: AtomicUsize,
    /// Connections that the other side ended while they were watched.
    gone: AtomicUsize,
    is_over: AtomicBool,
}

/// Stops when it is dropped.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

/// What it does with a request; `false` ends the connection.
type Play = dyn Fn(&Arrived, &mut TcpStream) -> bool + Send + Sync;

impl Fake {
    pub(crate) fn start(
        play: impl Fn(&Arrived, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (inside, play): (_, Arc<Play>) = (seen.clone(), Arc::new(play));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if inside.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (seen, play) = (inside.clone(), play.clone());
                std::thread::spawn(move || converse(stream, &seen, &*play));
            }
        });
        Self { address, seen }
    }

    /// Answers everything with these bytes and keeps the connection.
    pub(crate) fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, stream| stream.write_all(&bytes).is_ok())
    }

    /// Answers everything with these bytes and ends the connection.
    pub(crate) fn closing(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&bytes);
            false
        })
    }

    /// Takes requests and says nothing until the other side has gone.
    pub(crate) fn silent() -> Self {
        Self::speaking_then_silent("")
    }

    /// Says this, then nothing until the other side has gone.
    pub(crate) fn speaking_then_silent(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&bytes);
            while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
            false
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Arrived> {
        self.seen.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Waits until the other side has ended so many connections.
    pub(crate) fn until_gone(&self, count: usize) -> Duration {
        let since = Instant::now();
        while self.seen.gone.load(Ordering::SeqCst) < count {
            assert!(since.elapsed() < Duration::from_secs(30), "nobody has gone");
            std::thread::sleep(Duration::from_millis(5));
        }
        since.elapsed()
    }

    /// Waits for so many requests.
    pub(crate) fn until_asked(&self, count: usize) {
        let since = Instant::now();
        while self.seen.requests.lock().unwrap().len() < count {
            assert!(
                since.elapsed() < Duration::from_secs(30),
                "nobody has asked"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.seen.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(mut stream: TcpStream, seen: &Seen, play: &Play) {
    let connection = seen.connections.fetch_add(1, Ordering::SeqCst);
    stream.set_nodelay(true).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut buffer = Vec::new();
    while let Some(arrived) = receive(&mut stream, &mut buffer, connection) {
        seen.requests.lock().unwrap().push(arrived.clone());
        if !play(&arrived, &mut stream) {
            break;
        }
    }
    seen.gone.fetch_add(1, Ordering::SeqCst);
}

fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    let mut piece = [0; 16 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return false,
            Ok(count) => {
                buffer.extend_from_slice(&piece[..count]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Reads a request strictly: lines end with CRLF, and the framing is what the head says.
fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Arrived> {
    let end = loop {
        match find(buffer, b"\r\n\r\n") {
            Some(end) => break end,
            None if more(stream, buffer) => {}
            None => return None,
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let lines = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    let mut arrived = Arrived {
        connection,
        line,
        lines: lines.collect(),
        body: Vec::new(),
    };
    let lengths = arrived.all("content-length").len() + arrived.all("transfer-encoding").len();
    assert!(
        lengths <= 1,
        "two framings reached the upstream: {arrived:?}"
    );
    if let Some(length) = arrived.header("content-length") {
        let length = length.parse::<usize>().unwrap();
        while buffer.len() < length {
            if !more(stream, buffer) {
                return None;
            }
        }
        arrived.body = buffer.drain(..length).collect();
    } else if arrived.header("transfer-encoding").is_some() {
        loop {
            let line = loop {
                match find(buffer, b"\r\n") {
                    Some(line) => break line,
                    None if more(stream, buffer) => {}
                    None => return None,
                }
            };
            let size = usize::from_str_radix(std::str::from_utf8(&buffer[..line]).unwrap(), 16);
            let size = size.unwrap();
            while buffer.len() < line + 2 + size + 2 {
                if !more(stream, buffer) {
                    return None;
                }
            }
            arrived
                .body
                .extend_from_slice(&buffer[line + 2..line + 2 + size]);
            buffer.drain(..line + 2 + size + 2);
            if size == 0 {
                break;
            }
        }
    }
    Some(arrived)
}

/// A whole reply.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    reply("200 OK", "content-type: application/json\r\n", body)
}

/// A whole reply with a status and lines of its own.
pub(crate) fn reply(status: &str, lines: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{lines}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// The head of a stream.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A piece of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
