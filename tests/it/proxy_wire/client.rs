//! A client that sends bytes and reads what comes, however it ends.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What came back.
#[derive(Debug, Default, Clone)]
pub(crate) struct Got {
    /// The status; `None` where the connection was closed without one.
    pub(crate) status: Option<u16>,
    pub(crate) head: String,
    /// The body without its framing, as far as it came.
    pub(crate) body: Vec<u8>,
    /// The body came to its end as the framing says.
    pub(crate) is_whole: bool,
    /// The connection was closed, and not only silent.
    pub(crate) is_closed: bool,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self
            .head
            .split("\r\n")
            .filter_map(|line| line.split_once(':'));
        let line = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        line.map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection to the proxy.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
    is_closed: bool,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let patience = Some(Duration::from_millis(50));
        stream.set_read_timeout(patience).unwrap();
        Self {
            stream,
            buffer: Vec::new(),
            is_closed: false,
        }
    }

    /// Sends bytes; a server that does not want all of them may close.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    fn more(&mut self) -> bool {
        let mut piece = [0; 64 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => self.is_closed = true,
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                return true;
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => self.is_closed = true,
        }
        false
    }

    fn until<T>(&mut self, patience: Duration, found: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let since = Instant::now();
        loop {
            if let Some(found) = found(&self.buffer) {
                return Some(found);
            }
            if self.is_closed || since.elapsed() > patience {
                return None;
            }
            self.more();
        }
    }

    /// Reads until this has come.
    pub(crate) fn until_comes(&mut self, what: &str) {
        let what = what.as_bytes();
        let came = self.until(Duration::from_secs(30), |bytes| {
            bytes
                .windows(what.len())
                .any(|window| window == what)
                .then_some(())
        });
        let so_far = String::from_utf8_lossy(&self.buffer);
        assert!(
            came.is_some(),
            "{so_far:?} without {:?}",
            String::from_utf8_lossy(what)
        );
    }

    /// Whether the server closes the connection.
    pub(crate) fn is_closed_within(&mut self, patience: Duration) -> bool {
        self.until::<()>(patience, |_| None);
        self.is_closed
    }

    /// Reads one reply; interim ones are skipped.
    pub(crate) fn receive(&mut self, patience: Duration) -> Got {
        loop {
            let got = self.receive_any(patience);
            if !matches!(got.status, Some(100..200)) {
                return got;
            }
        }
    }

    /// Reads one reply, interim ones too.
    pub(crate) fn receive_any(&mut self, patience: Duration) -> Got {
        let end = self.until(patience, |bytes| {
            bytes.windows(4).position(|window| window == b"\r\n\r\n")
        });
        let mut got = Got::default();
        let Some(end) = end else {
            got.is_closed = self.is_closed;
            return got;
        };
        got.head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let status = got.head.split(' ').nth(1).unwrap();
        got.status = Some(status.parse().unwrap());
        if matches!(got.status, Some(100..200 | 204 | 304)) {
            got.is_whole = true;
        } else if let Some(length) = got.header("content-length") {
            let length = length.parse::<usize>().unwrap();
            self.until(patience, |bytes| (bytes.len() >= length).then_some(()));
            got.is_whole = self.buffer.len() >= length;
            let length = length.min(self.buffer.len());
            got.body = self.buffer.drain(..length).collect();
        } else if got.header("transfer-encoding").is_some() {
            got.is_whole = self.chunks(&mut got.body, patience);
        } else {
            self.until::<()>(patience, |_| None);
            got.is_whole = self.is_closed;
            got.body = std::mem::take(&mut self.buffer);
        }
        got.is_closed = self.is_closed;
        got
    }

    fn chunks(&mut self, body: &mut Vec<u8>, patience: Duration) -> bool {
        loop {
            let line = self.until(patience, |bytes| {
                bytes.windows(2).position(|window| window == b"\r\n")
            });
            let Some(line) = line else { return false };
            let size = std::str::from_utf8(&self.buffer[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            let whole = line + 2 + size + 2;
            let came = self.until(patience, |bytes| (bytes.len() >= whole).then_some(()));
            let data = self.buffer.len().min(line + 2 + size);
            body.extend_from_slice(&self.buffer[line + 2..data]);
            if came.is_none() {
                return false;
            }
            self.buffer.drain(..whole);
            if size == 0 {
                return true;
            }
        }
    }
}

/// A long time, for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Sends bytes on a new connection and reads one reply. `PORT` stands for the port.
pub(crate) fn ask(address: SocketAddr, request: &str) -> Got {
    let mut client = Client::connect(address);
    client.send(addressed(address, request).as_bytes());
    client.receive(LONG)
}

/// A request with the port of the proxy in it.
pub(crate) fn addressed(address: SocketAddr, request: &str) -> String {
    request.replace("PORT", &address.port().to_string())
}

/// Asks for a completion.
pub(crate) const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\
    Content-Type: application/json\r\nContent-Length: 27\r\n\r\n{\"model\":\"m\",\"messages\":[]}";

/// Asks at a path that only passes.
pub(crate) const MODELS: &str = "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n";
