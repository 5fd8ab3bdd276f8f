//! An agent's client: it asks in a thread of its own, and gives up when nothing comes for longer than it is ready to wait.

use retake_core::session::Dialect;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

/// How long a client waits in silence. It announces half of it, so that a busy machine may be late.
pub(super) const SILENCE: Duration = Duration::from_secs(2);
/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// A reply: its status and its body, without the chunks' lengths.
    Reply(String, String),
    /// Nothing came for too long.
    GaveUp,
    /// The connection ended before the reply did.
    Cut,
}

/// A client that has asked.
pub(super) struct Client {
    stream: TcpStream,
    came: Receiver<Came>,
}

impl Client {
    /// Asks. The words are what the user says.
    pub(super) fn ask(port: u16, dialect: Dialect, streams: bool, words: &str) -> Self {
        Self::send(port, dialect, &request(dialect, streams, words))
    }

    /// Sends a request.
    pub(super) fn send(port: u16, dialect: Dialect, request: &Value) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        let body = request.to_string();
        let path = match dialect {
            Dialect::Responses => "/v1/responses",
            Dialect::Chat => "/v1/chat/completions",
            _ => "/v1/messages",
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nuser-agent: OpenAI/Python 2.0.0\r\nx-stainless-read-timeout: 1\r\n\
             authorization: Bearer none\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        (&stream).write_all((head + &body).as_bytes()).unwrap();
        let (sender, came) = channel();
        let mut reader = stream.try_clone().unwrap();
        spawn(move || {
            // A story that has ended does not want it any more.
            let _ = sender.send(read(&mut reader));
        });
        Self { stream, came }
    }

    /// Waits for what comes.
    pub(super) fn came(&self) -> Came {
        self.came.recv_timeout(PATIENCE).unwrap()
    }

    /// The body of the reply.
    #[track_caller]
    pub(super) fn body(&self) -> String {
        match self.came() {
            Came::Reply(status, body) if status == "200" => body,
            other => panic!("{other:?}"),
        }
    }

    /// Whether nothing has come yet, neither a whole reply nor an end.
    pub(super) fn waits(&self) -> bool {
        self.came.try_recv().is_err()
    }

    /// Goes away.
    pub(super) fn leave(self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
    }
}

fn read(stream: &mut TcpStream) -> Came {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return Came::GaveUp;
        }
        Err(_) => return Came::Cut,
    }
    let text = String::from_utf8(bytes).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Came::Cut;
    };
    let status = head.split(' ').nth(1).unwrap().to_owned();
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = match is_chunked {
        true => unchunked(body),
        false => Some(body.to_owned()),
    };
    body.map_or(Came::Cut, |body| Came::Reply(status, body))
}

/// A body in chunks (RFC 9112, section 7.1), where it has its end.
fn unchunked(mut rest: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, behind) = rest.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(behind.get(..length)?);
        rest = behind.get(length + 2..)?;
    }
}

pub(super) fn request(dialect: Dialect, streams: bool, words: &str) -> Value {
    let schema = json!({"type": "object"});
    let tools = ["search_flights", "book_flight", "get_weather"].map(|name| match dialect {
        Dialect::Responses => json!({"type": "function", "name": name, "parameters": schema}),
        Dialect::Chat => {
            json!({"type": "function", "function": {"name": name, "parameters": schema}})
        }
        _ => json!({"name": name, "input_schema": schema}),
    });
    let list = match dialect {
        Dialect::Responses => "input",
        _ => "messages",
    };
    json!({
        "model": "any", "max_tokens": 1000, "stream": streams, "tools": tools,
        list: [{"role": "user", "content": words}],
    })
}
