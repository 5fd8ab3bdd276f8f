//! Captured streams: server-sent events, or their data as a list of JSON values.
//!
//! No item is in such a file as it is, so each reply is put together into a line of a buffer, in the shape
//! that its provider gives to replies that are not streamed. Problems keep their places in the file.

use super::assemble::take_dialect_of_items;
use super::transcript::{UnreadValue, read_values};
use super::{Contents, Document, Format, Layout, Reading, Sample, assemble_plain, body};
use crate::json::{JsonError, skip_value};
use crate::session::{
    Dialect, Fact, Flags, Fragment, Kind, ProblemKind, Source, SourceResult, Span,
};
use crate::wire::stream::{Decoder, Reply, Splitter, dialect_of};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format. The dialect is that of the captured provider.
pub(super) const FORMAT: Format = Format {
    id: "sse",
    title: "captured streams: SSE or lists of chunks",
    sniff,
    reading: Reading::Whole(read),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    if sample.layout == Layout::Text {
        let head = &sample.bytes[..sample.bytes.len().min(64 * 1024)];
        let knows = |mark: &str| memchr::memmem::find(head, mark.as_bytes()).is_some();
        let marks = [
            "\"response.",
            "\"choices\"",
            "\"message_start\"",
            "\"content_block_",
            "[DONE]",
            "\"candidates\"",
            "\"contentBlock",
        ];
        return if is_event_stream(head) && marks.into_iter().any(knows) {
            95
        } else {
            0
        };
    }
    // Without `alt=sse` a stream of Gemini is a list; a lone reply, or one a line, is not a stream.
    let is_list = matches!(sample.layout, Layout::Array(_));
    let chunk = |document: &Document<'_>| {
        document.says("object", "chat.completion.chunk")
            || (is_list && document.has("candidates"))
            || ["messageStart", "contentBlockDelta", "contentBlockStart"]
                .iter()
                .any(|kind| {
                    document.object(kind).has(match *kind {
                        "messageStart" => "role",
                        _ => "contentBlockIndex",
                    })
                })
            || document.text("type").is_some_and(|kind| {
                kind.starts_with("response.")
                    || kind == "message_start"
                    || kind.starts_with("content_block_")
            })
    };
    if sample.any(chunk) { 96 } else { 0 }
}

/// Whether the first line that is no comment is a field of an event.
fn is_event_stream(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines
        .find(|line| !line.is_empty() && !line.starts_with(b":"))
        .is_some_and(|line| {
            [&b"data:"[..], b"event:", b"id:", b"retry:"]
                .iter()
                .any(|field| line.starts_with(field))
        })
}

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let sample = Sample::new(bytes, true);
    let mut capture = Capture::default();
    match sample.layout {
        Layout::Text => read_events(&bytes[sample.skipped..], sample.skipped, &mut capture),
        Layout::Array(inside) => read_all(bytes, sample.skipped + inside, &mut capture),
        Layout::Lines | Layout::Object(_) => read_all(bytes, sample.skipped, &mut capture),
    }
    capture.finish(bytes)
}

fn read_events(bytes: &[u8], base: usize, capture: &mut Capture) {
    let mut splitter = Splitter::default();
    let base = base as u64;
    capture.are_events = true;
    splitter.push(bytes, |event| {
        capture.take(&event.data, base + event.range.start);
    });
    // A browser drops an event without the blank line after it. Editors and scripts drop that line from files,
    // so what is whole counts.
    if let Some(event) = splitter.finish() {
        let at = base + event.range.start;
        let end = skip_value(event.data.as_bytes(), 0);
        if event.data.trim() == "[DONE]" || end.is_ok() {
            capture.take(&event.data, at);
        } else {
            capture.fragment.report(at, ProblemKind::Torn);
        }
    }
}

/// JSON values one after another, in lines or in an array.
fn read_all(bytes: &[u8], from: usize, capture: &mut Capture) {
    read_values(bytes, from, |value, at| match value {
        Ok(value) => capture.take(&String::from_utf8_lossy(value), at as u64),
        Err(UnreadValue { at, kind }) => capture.fragment.report(at as u64, kind),
    });
}

/// The replies of a capture, one line each.
#[derive(Default)]
struct Capture {
    buffer: Vec<u8>,
    fragment: Fragment,
    current: Option<(Dialect, Box<dyn Decoder>)>,
    last: Option<Dialect>,
    /// Whether these are events, which Chat ends with `[DONE]`, and not their data alone.
    are_events: bool,
    /// Whether the end mark of the reply at hand has come.
    is_marked: bool,
    /// Where the last event is in the file.
    at: u64,
    /// Where the first event of the reply at hand is.
    begins: u64,
    /// Where the first event of each record is.
    places: Vec<u64>,
}

impl Capture {
    /// Takes the data of one event.
    fn take(&mut self, data: &str, at: u64) {
        let data = data.trim();
        self.at = at;
        if data == "[DONE]" {
            if let Some((_, reply)) = &mut self.current {
                reply.push_done();
                self.is_marked = true;
            }
            return;
        }
        let event = match serde_json::from_str::<Value>(data) {
            Ok(event) if event.is_object() => event,
            Ok(_) => return self.fragment.report(at, ProblemKind::NotARecord),
            Err(error) => {
                let kind = match skip_value(data.as_bytes(), 0) {
                    Err(fault) => ProblemKind::NotJson(fault.kind),
                    Ok(_) => ProblemKind::Undecodable(error.to_string()),
                };
                return self.fragment.report(at, kind);
            }
        };
        let dialect = dialect_of(&event);
        let goes_on = self.current.as_ref().is_some_and(|(known, reply)| {
            dialect.is_none_or(|dialect| dialect == *known) && !reply.begins_next(&event)
        });
        if !goes_on && let Some(dialect) = dialect {
            self.flush();
            (self.begins, self.is_marked) = (at, false);
            self.current = Some((dialect, dialect.codec().decoder()));
        }
        match &mut self.current {
            Some((_, reply)) => {
                reply.push(&event);
            }
            // A failure before any reply: gateways answer so.
            None if event.get("error").is_some() => {
                self.begins = at;
                self.push_failure(&event);
            }
            None => {}
        }
    }

    /// Writes the reply at hand and reads its items.
    fn flush(&mut self) {
        let Some((dialect, reply)) = self.current.take() else {
            return;
        };
        let Reply {
            json,
            ended,
            failures,
        } = reply.finish();
        if self
            .last
            .replace(dialect)
            .is_some_and(|last| last != dialect)
        {
            self.fragment.note(Fact::NextSession);
        }
        let first = self.fragment.items.len();
        let start = self.begin_line(&json);
        // What was just written is JSON.
        let read = body::read_reply(dialect, &self.buffer, start, 0, &mut self.fragment);
        if let Err(JsonError { kind, .. }) = read {
            self.fragment.report(self.at, ProblemKind::NotJson(kind));
        }
        let items = &mut self.fragment.items[first..];
        if let Some(item) = items.iter_mut().find(|item| item.kind.is_from_model()) {
            item.flags = item.flags.with(Flags::STARTS_REPLY);
        }
        let needs_mark = self.are_events && dialect.codec().facts().tells_usage_last;
        match items.last_mut() {
            Some(item) => {
                item.flags.set_if(Flags::INCOMPLETE, !ended);
                let is_unmarked = ended && needs_mark && !self.is_marked;
                item.flags.set_if(Flags::UNMARKED, is_unmarked);
            }
            None if !ended => self.fragment.report(self.at, ProblemKind::Torn),
            None => {}
        }
        for failure in failures {
            self.push_failure(&failure);
        }
    }

    fn begin_line(&mut self, json: &str) -> usize {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(json.as_bytes());
        let span = Span::within(0, start..self.buffer.len());
        self.fragment.begin_record(span);
        self.places.push(self.begins);
        self.buffer.push(b'\n');
        start
    }

    /// A failure that the provider reported in the stream.
    fn push_failure(&mut self, failure: &Value) {
        let failure = failure.get("error").unwrap_or(failure);
        let start = self.begin_line(&failure.to_string());
        let span = Span::within(0, start..self.buffer.len() - 1);
        self.fragment.push(Kind::Notice, None, span).flags = Flags::ERROR;
    }

    /// `file` is what was read.
    fn finish(mut self, file: &[u8]) -> SourceResult<Contents> {
        self.flush();
        let (mut counted, mut line) = (0, 1);
        for (record, place) in self.fragment.records.iter_mut().zip(&self.places) {
            let place = *place as usize;
            line += memchr::memchr_iter(b'\n', &file[counted..place]).count() as u64;
            counted = place;
            record.number = line;
        }
        let problems = std::mem::take(&mut self.fragment.problems);
        let source: Arc<dyn Source> = Arc::new(self.buffer);
        let mut contents = assemble_plain(FORMAT.id, FORMAT.dialect(), self.fragment, &source)?;
        contents.sessions.iter_mut().for_each(take_dialect_of_items);
        Ok(contents.after(problems))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::{read_buffer, recognise};

    fn read_text(text: &str) -> Contents {
        let format = recognise(&Sample::new(text.as_bytes(), true)).unwrap();
        assert_eq!(format.id, "sse", "{text}");
        let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
        read_buffer(format, &source, text.as_bytes()).unwrap()
    }

    const CHUNK: &str = r#"{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"ok"}}]}"#;
    const END: &str = r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

    #[test]
    fn a_stream_without_its_end_is_incomplete() {
        let whole = read_text(&format!("data: {CHUNK}\n\ndata: {END}\n\ndata: [DONE]\n\n"));
        assert!(!whole.sessions[0].items[0].flags.has(Flags::INCOMPLETE));
        assert_eq!(whole.sessions[0].model.as_deref(), Some("m"));
        let cut = read_text(&format!("data: {CHUNK}\n\ndata: {{\"id\":"));
        assert!(cut.sessions[0].items[0].flags.has(Flags::INCOMPLETE));
        assert_eq!(cut.problems[0].kind, ProblemKind::Torn);
        assert_eq!(cut.problems[0].at, 8 + CHUNK.len() as u64);
    }

    #[test]
    fn replies_follow_each_other() {
        let next = CHUNK.replace("\"1\"", "\"2\"");
        let contents = read_text(&format!("{CHUNK}\n{END}\n{next}\n"));
        let session = &contents.sessions[0];
        assert_eq!((session.turns.len(), session.records.len()), (2, 2));
        assert_eq!(session.dialect, Dialect::Chat);
        let starts = session
            .items
            .iter()
            .map(|item| item.flags.has(Flags::STARTS_REPLY));
        assert_eq!(starts.collect::<Vec<_>>(), [true, true]);
        let lines = session.records.iter().map(|record| record.number);
        assert_eq!(lines.collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn a_failure_in_the_middle_is_shown() {
        let text = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
        let contents = read_text(&format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"role\":\"assistant\",\"content\":[]}}}}\n\n{text}"
        ));
        let kinds = contents.sessions[0].items.iter().map(|item| item.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::Assistant, Kind::Notice]);
    }
}
