//! New elements at the end of the history: behind the last one, or into a list that has none yet.

use super::list::insertion;
use super::{CannotWrite, Lowering, on_one_line};
use crate::json::{Cursor, JsonError, JsonErrorKind};
use crate::session::{Dialect, MessageRole, Span, Splice};
use std::ops::Range;

/// The largest request without a history that is looked through for the place of one, in
/// bytes: instructions and tools.
const LARGEST: u64 = 64 << 20;

impl Lowering<'_> {
    /// Appends elements, each the JSON of one object of the dialect.
    pub(super) fn extend(&mut self, items: &[String]) -> Result<(), CannotWrite> {
        if !is_plain(self.ground.session.format) {
            return Err(CannotWrite::NotAppended);
        }
        let mut elements = Vec::with_capacity(items.len());
        for item in items {
            check_object(item)?;
            let flat = on_one_line(item.as_bytes());
            elements.push(String::from_utf8_lossy(&flat).into_owned());
        }
        let Some(last) = self.last_in_a_list()? else {
            return self.begin_list(elements);
        };
        let is_reply = self.ground.is_in_output(last)?;
        let place = self.ground.place(last)?;
        if is_reply || place.seat.span != place.unit {
            return Err(CannotWrite::NotAppended);
        }
        let seat = self.ground.last_seat(place.seat)?;
        for element in elements {
            self.put_after(seat, element);
        }
        Ok(())
    }

    /// A message at the end of a history that has no element yet.
    pub(super) fn say_first(&mut self, voice: MessageRole, text: &str) -> Result<(), CannotWrite> {
        let codec = self.ground.session.dialect.codec();
        self.extend(&[codec.message(voice, text)])
    }

    /// Whether no item is an element of a list: there is none, or instructions, or all of the
    /// input is one text.
    pub(super) fn has_no_list(&mut self) -> Result<bool, CannotWrite> {
        let is_plain = is_plain(self.ground.session.format);
        Ok(is_plain && self.last_in_a_list()?.is_none())
    }

    /// The last item that is an element of a list, or stands in one.
    fn last_in_a_list(&mut self) -> Result<Option<u32>, CannotWrite> {
        let count = crate::session::index_number(self.ground.session.items.len());
        for index in (0..count).rev() {
            match self.ground.place(index) {
                Ok(_) => return Ok(Some(index)),
                Err(CannotWrite::NoPlace(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Fills the list of a request that holds nothing, or only a text.
    fn begin_list(&mut self, elements: Vec<String>) -> Result<(), CannotWrite> {
        let source = &self.ground.session.source;
        let end = source.len();
        if end > LARGEST {
            return Err(CannotWrite::EmptyList);
        }
        let bytes = source.read(Span { start: 0, end })?;
        let text = elements.join(",");
        match list_of(&bytes)? {
            Holder::List(list) => {
                let inside = &bytes[list.start + 1..list.end - 1];
                let comma = if inside.trim_ascii().is_empty() {
                    ""
                } else {
                    ","
                };
                let behind = list.start + 1 + inside.trim_ascii_end().len();
                self.splices
                    .push(insertion(behind as u64, comma.to_owned() + &text));
            }
            Holder::Text(input) => {
                // What was said stays as it is written; only what is around it comes.
                let opens = insertion(input.start as u64, INPUT_OPENS.to_owned());
                let closes = insertion(input.end as u64, format!("}},{text}]"));
                self.close_list(opens, closes, &text);
            }
        }
        Ok(())
    }

    fn close_list(&mut self, opens: Splice, closes: Splice, text: &str) {
        let earlier = self
            .splices
            .iter_mut()
            .find(|splice| splice.at == closes.at && splice.with.ends_with(b"]"));
        match earlier {
            Some(earlier) => {
                earlier.with.pop();
                earlier
                    .with
                    .extend_from_slice(format!(",{text}]").as_bytes());
            }
            None => self.splices.extend([opens, closes]),
        }
    }
}

/// What stands before the text of an input that becomes the first item of a list (OpenAI API reference: a
/// string as `input` is a text input with the role `user`).
const INPUT_OPENS: &str = r#"[{"role":"user","content":"#;

/// Whether a history in this format is a plain list of what the provider is sent.
fn is_plain(format: &str) -> bool {
    Dialect::ALL
        .iter()
        .any(|dialect| dialect.facts().format == format)
}

/// Whether a member of a request holds its history.
fn holds_history(key: &[u8]) -> bool {
    let mut keys = Dialect::ALL
        .iter()
        .map(|dialect| dialect.facts().history_key);
    key == b"items" || keys.any(|known| known.as_bytes() == key)
}

/// Where a request holds its history.
enum Holder {
    List(Range<usize>),
    /// A text, with its quotes.
    Text(Range<usize>),
}

/// The history of a text that is one request, or one list.
fn list_of(bytes: &[u8]) -> Result<Holder, CannotWrite> {
    let mut cursor = Cursor::new(bytes);
    let opens = cursor.peek();
    let mut found = None;
    if opens == Some(b'[') {
        found = Some(Holder::List(cursor.skip()?));
    } else {
        cursor.object(|cursor, key| {
            let opens = cursor.peek();
            let value = cursor.skip()?;
            match opens {
                Some(b'[') if holds_history(key) => found = Some(Holder::List(value)),
                Some(b'"') if key == b"input" => found = Some(Holder::Text(value)),
                _ => {}
            }
            Ok(())
        })?;
    }
    // Several requests on lines of their own are a log.
    if cursor.peek().is_some() {
        return Err(CannotWrite::Exchanges);
    }
    found.ok_or(CannotWrite::EmptyList)
}

/// Whether a text is one JSON object and nothing else.
fn check_object(text: &str) -> Result<(), CannotWrite> {
    let bytes = text.as_bytes();
    let mut cursor = Cursor::new(bytes);
    let opens = cursor.peek();
    let fault = |at, found: Option<u8>| JsonError {
        at,
        kind: found.map_or(JsonErrorKind::End, JsonErrorKind::Byte),
    };
    if opens != Some(b'{') {
        return Err(fault(cursor.position(), opens).into());
    }
    cursor.skip()?;
    match cursor.peek() {
        None => Ok(()),
        found => Err(fault(cursor.position(), found).into()),
    }
}
