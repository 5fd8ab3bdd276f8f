//! Where the events of a stream end, and the data of one (WHATWG HTML, section 9.2.6).
//!
//! [`crate::wire::stream::Splitter`] reads events and copies what they say. What passes is only cut here,
//! in place: most events are looked at once and kept as bytes.

use std::borrow::Cow;
use std::ops::Range;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Finds the ends of events in a buffer that grows at its end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cutter {
    /// So far the buffer was searched.
    at: usize,
    /// Where the line at hand begins.
    line: usize,
    /// Where the event at hand begins.
    event: usize,
    after_return: bool,
}

impl Cutter {
    /// Where the event at hand ends, after its blank line; `None` as long as that has not come. A line feed
    /// that comes late after its carriage return is an event of its own, without data.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<usize> {
        loop {
            if self.after_return && self.at < bytes.len() {
                self.after_return = false;
                if bytes[self.at] == b'\n' {
                    let ends = self.event == self.at;
                    self.at += 1;
                    self.line = self.at;
                    if ends {
                        self.event = self.at;
                        return Some(self.at);
                    }
                }
            }
            let rest = bytes.get(self.at..)?;
            let Some(found) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.at = bytes.len();
                return None;
            };
            let end = self.at + found;
            let is_blank = end == self.line;
            self.at = end + 1;
            if bytes[end] == b'\r' {
                match bytes.get(end + 1) {
                    Some(b'\n') => self.at += 1,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            self.line = self.at;
            if is_blank {
                self.event = self.at;
                return Some(self.at);
            }
        }
    }
}

/// The whole events of a stream that was there from its first byte, each with its place.
pub(crate) fn events(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let (mut cutter, mut start) = (Cutter::default(), 0);
    std::iter::from_fn(move || {
        let end = cutter.next(bytes)?;
        let event = start..end;
        start = end;
        Some(event)
    })
}

/// The data of the event at this place of a stream: its lines, joined; `None` where it has none.
pub(crate) fn data_of(stream: &[u8], event: Range<usize>) -> Option<Cow<'_, [u8]>> {
    let mut data: Option<Cow<'_, [u8]>> = None;
    for line in data_lines(stream, event) {
        let line = &stream[line];
        match &mut data {
            None => data = Some(Cow::Borrowed(line)),
            Some(data) => {
                let data = data.to_mut();
                data.push(b'\n');
                data.extend_from_slice(line);
            }
        }
    }
    data
}

/// Where the values of the data lines of an event stand.
pub(crate) fn data_lines(stream: &[u8], event: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = event.start;
    std::iter::from_fn(move || {
        while at < event.end {
            let rest = &stream[at..event.end];
            let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let mut line = at..at + length;
            at = line.end + 1;
            if line.start == 0 && stream.starts_with(BOM) {
                line.start = BOM.len();
            }
            let field = stream.get(line.clone()).unwrap_or_default();
            if let Some(value) = field.strip_prefix(b"data") {
                match value {
                    [] => return Some(line.end..line.end),
                    [b':', b' ', ..] => return Some(line.start + 6..line.end),
                    [b':', ..] => return Some(line.start + 5..line.end),
                    _ => {}
                }
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Option<String>> {
        let text = |data: Cow<'_, [u8]>| String::from_utf8_lossy(&data).into_owned();
        events(bytes)
            .map(|event| data_of(bytes, event).map(text))
            .collect()
    }

    #[test]
    fn data_is_found_whatever_ends_the_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!(
                "\u{feff}data: a{end}{end}: hello{end}{end}event: x{end}data:b{end}data{end}data: c{end}{end}data: cut"
            );
            let expected = [Some("a".to_owned()), None, Some("b\n\nc".to_owned())];
            assert_eq!(all(stream.as_bytes()), expected, "{end:?}");
        }
    }

    #[test]
    fn a_mark_counts_only_at_the_start() {
        assert_eq!(all("\n\u{feff}data: a\n\n".as_bytes()), [None, None]);
        assert_eq!(all("\u{feff}\ndata: a\n\n".as_bytes()).len(), 1);
    }
}
