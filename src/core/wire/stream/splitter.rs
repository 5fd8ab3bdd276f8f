//! Server-sent events out of bytes that arrive in pieces (WHATWG HTML, section 9.2.6), each with its
//! place in the stream.
//!
//! The `sseer` crate parses the same grammar, but hands events out through an asynchronous stream and without
//! their places; retake must cut recordings and held streams exactly where an event begins.

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamEvent {
    /// Its type; `message` where the stream names none.
    pub name: String,
    /// Its data lines, joined by line feeds; bytes that are no UTF-8 are replaced.
    pub data: String,
    /// The last event id that the stream has set; shared, as each event has it.
    pub id: Arc<str>,
    /// Its bytes in the stream, with the blank line after it.
    pub range: Range<u64>,
}

/// Cuts a stream into events. Time and memory are linear in what is pushed.
#[derive(Debug, Default)]
pub struct Splitter {
    /// A line whose end was not seen yet.
    line: Vec<u8>,
    /// How many bytes were pushed before `line`.
    position: u64,
    after_return: bool,
    name: String,
    data: String,
    has_data: bool,
    id: Arc<str>,
    /// Where the event at hand begins.
    start: Option<u64>,
    retry: Option<u64>,
}

impl Splitter {
    /// Takes the next bytes and calls `each` for each event that is complete.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(StreamEvent)) {
        if bytes.is_empty() {
            return;
        }
        if take(&mut self.after_return) && bytes[0] == b'\n' {
            self.position += 1;
            bytes = &bytes[1..];
        }
        while let Some(found) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.line.extend_from_slice(&bytes[..found]);
            let line = take(&mut self.line);
            let mut ending = 1;
            if bytes[found] == b'\r' {
                match bytes.get(found + 1) {
                    Some(b'\n') => ending = 2,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            let start = self.position;
            self.position += (line.len() + ending) as u64;
            if let Some(event) = self.take_line(&line, start) {
                each(event);
            }
            bytes = &bytes[found + ending..];
            self.line = line;
            self.line.clear();
        }
        self.line.extend_from_slice(bytes);
    }

    /// What a stream that ends here leaves after: an event without its blank line, which a browser would drop,
    /// with the last line that may be cut.
    pub fn finish(mut self) -> Option<StreamEvent> {
        let line = take(&mut self.line);
        let start = self.position;
        if !line.is_empty() {
            self.position += line.len() as u64;
            self.take_line(&line, start);
        }
        self.dispatch()
    }

    /// Whether the last line that was pushed has no end yet.
    pub fn is_within_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// The reconnection time in milliseconds that the stream asks for.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    fn take_line(&mut self, line: &[u8], start: u64) -> Option<StreamEvent> {
        let line = match start {
            0 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        };
        if line.is_empty() {
            return self.dispatch();
        }
        self.start.get_or_insert(start);
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if take(&mut self.has_data) {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.id = String::from_utf8_lossy(value).into(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry = String::from_utf8_lossy(value).parse().ok().or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<StreamEvent> {
        let start = self.start.take();
        let name = take(&mut self.name);
        let data = take(&mut self.data);
        if !take(&mut self.has_data) {
            return None;
        }
        Some(StreamEvent {
            name: if name.is_empty() {
                "message".to_owned()
            } else {
                name
            },
            data,
            id: self.id.clone(),
            range: start.unwrap_or(self.position)..self.position,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_arrives_between_a_return_and_its_line_feed_ends_no_event() {
        let mut events = Vec::new();
        let mut splitter = Splitter::default();
        for bytes in [&b"data: a\r"[..], b"", b"\ndata: b\r\n\r\n"] {
            splitter.push(bytes, |event| events.push(event.data));
        }
        assert_eq!(events, ["a\nb"]);
    }

    #[test]
    fn events_know_where_they_stand() {
        let text = b": hello\r\n\r\nevent: a\r\ndata: 1\r\n\r\ndata: 2\n\ndata: cut";
        let mut events = Vec::new();
        let mut splitter = Splitter::default();
        splitter.push(text, |event| events.push(event));
        let places = events.iter().map(|event| {
            let range = event.range.start as usize..event.range.end as usize;
            String::from_utf8_lossy(&text[range]).into_owned()
        });
        let expected = ["event: a\r\ndata: 1\r\n\r\n", "data: 2\n\n"];
        assert_eq!(places.collect::<Vec<_>>(), expected);
        assert!(splitter.is_within_line());
        assert_eq!(
            splitter.finish().map(|event| event.data),
            Some("cut".to_owned())
        );
    }
}
