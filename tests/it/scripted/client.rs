//! A client as small as can be: what it sends and gets is bytes.

use retake_core::session::Dialect;
use retake_live::scripted::ScriptedServer;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than anything that comes takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// Whether the body has its end.
    pub(super) is_whole: bool,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(super) fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses => "/v1/responses",
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Anthropic | Dialect::Gemini | Dialect::Converse => "/v1/messages",
    }
}

pub(super) fn connect(endpoint: &ScriptedServer) -> TcpStream {
    let stream = TcpStream::connect(endpoint.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request over a connection and leaves it open.
pub(super) fn send(stream: &mut TcpStream, head: &str, body: &str) {
    send_with(stream, head, "", body);
}

/// The same with headers, each with its line end.
pub(super) fn send_with(stream: &mut TcpStream, head: &str, headers: &str, body: &str) {
    let host = stream.peer_addr().unwrap();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: {host}\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
}

/// Reads one reply of a connection.
pub(super) fn receive(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let end = loop {
        let mut byte = [0];
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "the connection ended in the head"
        );
        bytes.push(byte[0]);
        if bytes.ends_with(b"\r\n\r\n") {
            break bytes.len();
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut reply = Reply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: Vec::new(),
        is_whole: false,
    };
    match reply
        .header("content-length")
        .map(|length| length.parse().unwrap())
    {
        Some(length) => {
            reply.body = vec![0; length];
            stream.read_exact(&mut reply.body).unwrap();
            reply.is_whole = true;
        }
        None => (reply.body, reply.is_whole) = chunks(stream),
    }
    reply
}

/// A body in chunks (RFC 9112, section 7.1), and whether its last one came.
fn chunks(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => line.push(byte[0]),
                // The end, also by force.
                _ => return (body, false),
            }
        }
        let length = std::str::from_utf8(&line).unwrap().trim();
        let length = usize::from_str_radix(length, 16).unwrap();
        let mut chunk = vec![0; length + 2];
        if stream.read_exact(&mut chunk).is_err() {
            return (body, false);
        }
        if length == 0 {
            return (body, true);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// Asks once, over a connection of its own.
pub(super) fn ask(endpoint: &ScriptedServer, dialect: Dialect, request: &Value) -> Reply {
    let mut stream = connect(endpoint);
    send(
        &mut stream,
        &format!("POST {}", path(dialect)),
        &request.to_string(),
    );
    receive(&mut stream)
}
