//! The pictures of an item in a real pseudo-terminal: they are written as its protocol wants them, and go when they
//! are closed.

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::fs;
use std::io::{Read as _, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// One pixel as PNG.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// What the program writes.
struct Output {
    pieces: Receiver<Vec<u8>>,
    read: Vec<u8>,
}

impl Output {
    /// Waits until a text is written after so many bytes; gives what is written from there.
    #[track_caller]
    fn until(&mut self, from: usize, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            let read = String::from_utf8_lossy(&self.read[from..]).into_owned();
            if read.contains(text) {
                return read;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(more) => self.read.extend(more),
                Err(_) => panic!("{text:?} is not in {read:?}"),
            }
        }
    }
}

#[test]
fn a_picture_is_drawn_as_the_terminal_wants_it_and_goes_when_it_is_closed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("picture.json");
    let image = serde_json::json!({"url": format!("data:image/png;base64,{PIXEL}")});
    let history = serde_json::json!([
        {"role": "user", "content": [{"type": "image_url", "image_url": image}]},
        {"role": "assistant", "content": "A pixel."},
    ]);
    fs::write(&path, history.to_string()).unwrap();
    let size = PtySize {
        rows: 30,
        cols: 100,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_retake"));
    command.arg(&path);
    command.cwd(folder.path());
    command.env_clear();
    command.env("LANG", "C.UTF-8");
    command.env("TERM", "xterm-kitty");
    command.env("XDG_STATE_HOME", folder.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut keys = pair.master.take_writer().unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (send, pieces) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut output = Output {
        pieces,
        read: Vec::new(),
    };
    output.until(0, "no findings");
    keys.write_all(b"gP").unwrap();
    if cfg!(feature = "images") {
        output.until(0, "picture 1/1");
        output.until(0, "\u{1b}_G");
        // The terminal shows it where this letter stands.
        output.until(0, "\u{10eeee}");
        let shown = output.read.len();
        keys.write_all(b"\x1b").unwrap();
        let after = output.until(shown, "A pixel.");
        let is_left = after.contains("\u{1b}_G") || after.contains('\u{10eeee}');
        assert!(after.contains("\u{1b}[2J") && !is_left, "{after:?}");
    } else {
        output.until(0, "save the image as");
        keys.write_all(b"\r").unwrap();
        output.until(0, "the picture is saved as");
    }
    keys.write_all(b"Q").unwrap();
    assert!(child.wait().unwrap().success());
}
