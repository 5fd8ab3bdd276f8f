//! A server on loopback that plays a script: it reads a request, then sends, waits, cuts or floods, byte for byte as it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One thing that the server does.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes one by one, each in a segment of its own as far as the system lets it.
    Drip(Vec<u8>),
    /// Sends the same bytes until nobody takes them.
    Flood(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Does nothing until the client goes away.
    Hang,
    /// Throws the connection away (RST).
    Reset,
    /// Reads another request on the same connection.
    Listen,
}

/// What was seen of the clients.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The requests, heads and bodies.
    pub(crate) requests: Vec<String>,
    /// How many connections ended by the client while the server hung.
    pub(crate) gone: usize,
}

/// A server that stops with the runtime of its test.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    /// Plays the script on each connection.
    pub(crate) async fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let inside = seen.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(play(client, script.clone(), inside.clone()));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// Waits until a client has gone away from a server that hung.
    pub(crate) async fn until_gone(&self) {
        while self.seen.lock().unwrap().gone == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn play(mut client: TcpStream, script: Vec<Act>, seen: Arc<Mutex<Seen>>) {
    client.set_nodelay(true).unwrap();
    let Some(request) = read_request(&mut client).await else {
        return;
    };
    seen.lock().unwrap().requests.push(request);
    for act in script {
        // A client that goes away in the middle is part of the play.
        let done = match act {
            Act::Send(bytes) => client.write_all(&bytes).await.is_ok(),
            Act::Drip(bytes) => drip(&mut client, &bytes).await,
            Act::Flood(bytes) => loop {
                if client.write_all(&bytes).await.is_err() {
                    break false;
                }
            },
            Act::Pause(time) => {
                tokio::time::sleep(time).await;
                true
            }
            Act::Hang => {
                let mut rest = [0; 64];
                while client.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                seen.lock().unwrap().gone += 1;
                false
            }
            Act::Reset => {
                client.set_zero_linger().unwrap();
                false
            }
            Act::Listen => match read_request(&mut client).await {
                Some(request) => {
                    seen.lock().unwrap().requests.push(request);
                    true
                }
                None => false,
            },
        };
        if !done {
            return;
        }
    }
}

async fn drip(client: &mut TcpStream, bytes: &[u8]) -> bool {
    for byte in bytes {
        if client.write_all(&[*byte]).await.is_err() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn read_request(client: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse::<usize>().unwrap());
            if body.len() >= length {
                return Some(text);
            }
        }
        let mut more = [0; 4096];
        match client.read(&mut more).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&more[..count]),
            _ => return None,
        }
    }
}

/// The head of a reply whose body is chunked, or ends with the connection.
pub(crate) fn head(status: &str, lines: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{lines}\r\n").into_bytes()
}

/// A whole reply with its length.
pub(crate) fn whole(status: &str, lines: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{lines}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// The head of a stream.
pub(crate) fn stream_head() -> Vec<u8> {
    head(
        "200 OK",
        "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n",
    )
}

/// A piece of a chunked body.
pub(crate) fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// A stream in one chunk that ends in order.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Vec<u8> {
    [stream_head(), chunk(body), b"0\r\n\r\n".to_vec()].concat()
}

/// Events without names, as Chat sends them.
pub(crate) fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

/// Events with their types as names, as Responses and Anthropic send them.
pub(crate) fn named(data: &[&str]) -> String {
    let name = |data: &str| {
        let value = serde_json::from_str::<serde_json::Value>(data).unwrap();
        value["type"].as_str().unwrap_or_default().to_owned()
    };
    data.iter()
        .map(|data| format!("event: {}\r\ndata: {data}\r\n\r\n", name(data)))
        .collect()
}
