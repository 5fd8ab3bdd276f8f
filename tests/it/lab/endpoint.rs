//! An endpoint that answers as a test wants it to, and counts what it is asked.

use retake_core::engine::agent::{AgentModel, ModelEndpoint};
use retake_core::session::Dialect;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::spawn;

/// Status, further lines of the head, and body of an answer; `None` where the connection ends without one.
pub(super) type Answer = Option<(u16, &'static str, String)>;

/// An endpoint on a port of its own. It ends with the process of the tests.
pub(super) struct Counting {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Counting {
    /// Requests are numbered from 1.
    pub(super) fn new(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let (count, answer) = (asked.clone(), Arc::new(answer));
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, answer) = (count.clone(), answer.clone());
                spawn(move || serve(stream, &count, &*answer));
            }
        });
        Self { address, asked }
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// A model there whose replies come whole.
    pub(super) fn model(&self, dialect: Dialect) -> AgentModel {
        AgentModel {
            at: ModelEndpoint::Http {
                base_url: format!("http://{}", self.address),
                key_env: None,
                headers: Vec::new(),
            },
            stream: false,
            max_tokens: Some(100),
            ..super::scripted(dialect, "")
        }
    }
}

/// Answers one request, and ends the connection.
fn serve(stream: TcpStream, count: &AtomicUsize, answer: &dyn Fn(usize) -> Answer) {
    let mut from = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while from.read_line(&mut line).is_ok_and(|read| read > 2) {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if length == 0 || from.read_exact(&mut body).is_err() {
        return;
    }
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some((status, head, body)) = answer(number) {
        let length = body.len();
        let mut to = stream;
        // The lab may have gone meanwhile.
        let _gone = write!(
            to,
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\n\
             content-length: {length}\r\n{head}\r\n{body}"
        );
    }
}

/// A reply of Chat that says something, with these members more.
pub(super) fn says(text: &str, more: &str) -> Answer {
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"{text}"}}}}]{more}}}"#
    );
    Some((200, "", body))
}
