//! Event streams of AWS (`application/vnd.amazon.eventstream`, Smithy specification, Amazon Event Stream): binary
//! frames with a prelude, headers and checksums. Everything else here knows streams as server-sent events, so frames
//! become events where they come in, and events become frames where they leave. The data of such an event is an
//! object whose one member is called like the type of the frame, as SDKs give it: `{"messageStop":{...}}`.

use super::splitter::Splitter;
use crate::wire::new_reply::push_event;
use crate::wire::object::{Object, quoted};
use serde_json::Value;
use std::borrow::Cow;

/// The media type of a stream of frames.
pub const FRAMES: &str = "application/vnd.amazon.eventstream";
/// Lengths of the prelude with its checksum, and of the checksum after a frame, in bytes.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// The longest frame, in bytes: headers of 128 KiB and a payload of 16 MiB.
const LONGEST: usize = (16 << 20) + (128 << 10) + PRELUDE + CHECKSUM;
/// The type of a header whose value is text.
const TEXT: u8 = 7;

/// Why bytes are no frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of the event stream has a wrong checksum")]
    Checksum,
    #[error("a frame of the event stream has {0} bytes")]
    Length(usize),
    #[error("a frame of the event stream has a header of an unknown type")]
    Header,
}

/// Makes server-sent events of frames; a stream that is none of frames passes as it is. Such a one does not begin
/// with the byte 0, as the length of a frame does.
#[derive(Debug, Default)]
pub struct FrameReader {
    is_framed: Option<bool>,
    rest: Vec<u8>,
}

impl FrameReader {
    /// Takes the next bytes, cut anywhere, and gives the events that are complete.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, FrameError> {
        let Some(first) = bytes.first() else {
            return Ok(Cow::Borrowed(bytes));
        };
        if !*self.is_framed.get_or_insert(*first == 0) {
            return Ok(Cow::Borrowed(bytes));
        }
        self.rest.extend_from_slice(bytes);
        let (mut events, mut at) = (Vec::new(), 0);
        while let Some(length) = frame_length(&self.rest[at..])? {
            read_frame(&self.rest[at..at + length], &mut events)?;
            at += length;
        }
        self.rest.drain(..at);
        Ok(Cow::Owned(events))
    }

    /// Whether the last frame was cut.
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty()
    }
}

/// Whether bytes begin with a frame.
pub fn is_framed(head: &[u8]) -> bool {
    head.len() >= PRELUDE && frame_length(head).is_ok()
}

/// The length of the frame that begins here; `None` where it has not come as a whole.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(prelude) = bytes.get(..PRELUDE) else {
        return Ok(None);
    };
    if crc32fast::hash(&prelude[..8]) != number(prelude, 8) {
        return Err(FrameError::Checksum);
    }
    let length = number(prelude, 0) as usize;
    let headers = number(prelude, 4) as usize;
    if length > LONGEST || length < headers.saturating_add(PRELUDE + CHECKSUM) {
        return Err(FrameError::Length(length));
    }
    Ok((bytes.len() >= length).then_some(length))
}

fn read_frame(frame: &[u8], events: &mut Vec<u8>) -> Result<(), FrameError> {
    let (body, checksum) = frame.split_at(frame.len() - CHECKSUM);
    if crc32fast::hash(body) != number(checksum, 0) {
        return Err(FrameError::Checksum);
    }
    let (headers, payload) = body[PRELUDE..].split_at(number(frame, 4) as usize);
    let headers = read_headers(headers).ok_or(FrameError::Header)?;
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name.as_bytes());
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    };
    let payload = String::from_utf8_lossy(payload);
    let (name, value) = match (header(":event-type"), header(":exception-type")) {
        (Some(name), _) | (None, Some(name)) => (name, payload),
        (None, None) => {
            let message = quoted(&header(":error-message").unwrap_or_default());
            let code = header(":error-code").unwrap_or_default();
            (
                format!("{code}Exception"),
                format!(r#"{{"message":{message}}}"#).into(),
            )
        }
    };
    let value = Some(value.trim()).filter(|value| !value.is_empty());
    let data = format!("{{{}:{}}}", quoted(&name), value.unwrap_or("{}"));
    push_event(events, None, &data);
    Ok(())
}

/// The headers by name; those that are not text are passed over.
fn read_headers(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut headers = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            6 | &TEXT => {
                let (length, rest) = rest.split_first_chunk::<2>()?;
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        if *kind == TEXT {
            headers.push((name, value));
        }
        bytes = rest;
    }
    Some(headers)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Makes frames of server-sent events.
#[derive(Debug, Default)]
pub struct FrameWriter(Splitter);

impl FrameWriter {
    /// Takes the next bytes, cut anywhere, and gives the frames of the events that are complete. Comments, and data
    /// that is not an object of one member, have no frame.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut frames = Vec::new();
        self.0.push(bytes, |event| {
            let data = Object::read(&event.data);
            if let [(name, value)] = data.members().collect::<Vec<_>>()[..] {
                write_frame(name, value.as_bytes(), &mut frames);
            }
        });
        frames
    }
}

fn write_frame(name: &str, payload: &[u8], out: &mut Vec<u8>) {
    let (kind, key) = match is_exception(name) {
        true => ("exception", ":exception-type"),
        false => ("event", ":event-type"),
    };
    let mut headers = Vec::new();
    for (key, value) in [
        (key, name),
        (":content-type", "application/json"),
        (":message-type", kind),
    ] {
        // Keys and types are short.
        headers.push(u8::try_from(key.len()).unwrap_or(u8::MAX));
        headers.extend_from_slice(key.as_bytes());
        headers.push(TEXT);
        headers.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let length = PRELUDE + headers.len() + payload.len() + CHECKSUM;
    let start = out.len();
    for length in [length, headers.len()] {
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    out.extend(crc32fast::hash(&out[start..]).to_be_bytes());
    out.extend(headers);
    out.extend_from_slice(payload);
    out.extend(crc32fast::hash(&out[start..]).to_be_bytes());
}

/// The type of an event, and what it says.
pub(crate) fn typed_event(event: &Value) -> Option<(&str, &Value)> {
    let members = event.as_object().filter(|members| members.len() == 1)?;
    members
        .iter()
        .next()
        .map(|(kind, value)| (kind.as_str(), value))
}

/// Whether events of this type report a failure.
pub(crate) fn is_exception(name: &str) -> bool {
    name.ends_with("Exception")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const EVENTS: &[u8] = b"data: {\"messageStart\":{\"role\":\"assistant\"}}\n\ndata: {\"throttlingException\":{\"message\":\"slow\"}}\n\n";

    #[test]
    fn events_come_back_from_their_frames_wherever_they_are_cut() {
        for size in [1, 7, 1000] {
            let mut writer = FrameWriter::default();
            let frames = EVENTS.chunks(size).flat_map(|bytes| writer.push(bytes));
            let frames = frames.collect::<Vec<_>>();
            assert_eq!(frames[0], 0);
            let mut reader = FrameReader::default();
            let events = frames
                .chunks(size)
                .flat_map(|bytes| reader.push(bytes).unwrap().into_owned());
            assert_eq!(events.collect::<Vec<_>>(), EVENTS);
            assert!(!reader.is_cut());
        }
        // As botocore 1.43 tells it: its own decoder reads these bytes.
        let mut writer = FrameWriter::default();
        let frame = writer.push(b": comment\n\ndata: {\"metadata\":{}}\n\n");
        assert_eq!(&frame[12..24], b"\x0b:event-type");
    }

    #[test]
    fn what_is_broken_is_refused_and_what_is_no_frame_passes() {
        let mut frames = FrameWriter::default().push(EVENTS);
        let last = frames.len() - 1;
        frames[last] ^= 1;
        let broken = FrameReader::default().push(&frames).map(Cow::into_owned);
        assert_eq!(broken, Err(FrameError::Checksum));
        let broken = FrameReader::default().push(&[0; 12]).map(Cow::into_owned);
        assert_eq!(broken, Err(FrameError::Checksum));
        assert_eq!(FrameReader::default().push(EVENTS).unwrap(), EVENTS);
    }
}
