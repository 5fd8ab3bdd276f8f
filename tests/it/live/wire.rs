//! A scripted model whose wire is listened to: every byte that it is sent is kept.

use retake_core::script::Script;
use retake_core::session::Dialect;
use retake_live::scripted::{ANY_PORT, ScriptedServer};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

type Kept = Arc<Mutex<Vec<Arc<Mutex<Vec<u8>>>>>>;

/// The wire.
pub(super) struct Wire {
    /// The model; it listens until this is dropped.
    _model: ScriptedServer,
    address: SocketAddr,
    kept: Kept,
}

impl Wire {
    pub(super) fn to(script: &str) -> Self {
        let script = Script::parse("wire.script.toml", script).unwrap();
        let model = ScriptedServer::start(script, ANY_PORT).unwrap();
        let behind = model.address();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Kept::default();
        let keep = kept.clone();
        // It ends with the process of the tests.
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let bytes = Arc::default();
                keep.lock().unwrap().push(Arc::clone(&bytes));
                lead(stream, (address, behind), bytes);
            }
        });
        Self {
            _model: model,
            address,
            kept,
        }
    }

    /// What clients of a dialect call its base URL.
    pub(super) fn base_url(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::Responses | Dialect::Chat => format!("http://{}/v1", self.address),
            Dialect::Anthropic | Dialect::Gemini | Dialect::Converse => {
                format!("http://{}", self.address)
            }
        }
    }

    /// The bodies of the requests that were sent.
    pub(super) fn bodies(&self) -> Vec<Value> {
        let kept = self.kept.lock().unwrap();
        let connections = kept.iter().map(|bytes| bytes.lock().unwrap().clone());
        connections.flat_map(|bytes| bodies_of(&bytes)).collect()
    }
}

/// Leads a connection on; its requests are told to be for the model, which answers no others.
fn lead(client: TcpStream, (own, behind): (SocketAddr, SocketAddr), bytes: Arc<Mutex<Vec<u8>>>) {
    let Ok(server) = TcpStream::connect(behind) else {
        return;
    };
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            bytes.lock().unwrap().extend_from_slice(&buffer[..read]);
            let host = |address: SocketAddr| format!("host: {address}\r\n").into_bytes();
            let (ours, models) = (host(own), host(behind));
            let mut piece = buffer[..read].to_vec();
            if let Some(at) = piece.windows(ours.len()).position(|line| line == ours) {
                piece.splice(at..at + ours.len(), models);
            }
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        // Whichever side ended, the other is told; it may be gone already.
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    spawn(move || {
        // A side that is gone ends it.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn bodies_of(mut bytes: &[u8]) -> Vec<Value> {
    let mut bodies = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.unwrap().trim().parse().unwrap();
        let body = &bytes[end + 4..];
        if body.len() < length {
            break;
        }
        bodies.push(serde_json::from_slice(&body[..length]).unwrap());
        bytes = &body[length..];
    }
    bodies
}
