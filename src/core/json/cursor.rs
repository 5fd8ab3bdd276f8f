//! Walks objects and arrays in place: the caller names the members it wants, the rest is jumped over.

use super::skip::{byte_at, expect};
use super::{JsonError, JsonErrorKind, skip_value, skip_whitespace, string_end};
use std::ops::Range;

/// A position in JSON text. Every method that reads a value leaves the cursor after it.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// A cursor at a byte position of `bytes`.
    pub fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// The text that is walked.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The first byte of the next value; `None` at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.at = skip_whitespace(self.bytes, self.at);
        self.bytes.get(self.at).copied()
    }

    /// Jumps over the next value and gives its range.
    #[inline]
    pub fn skip(&mut self) -> Result<Range<usize>, JsonError> {
        let start = skip_whitespace(self.bytes, self.at);
        self.at = skip_value(self.bytes, start)?;
        Ok(start..self.at)
    }

    /// The next value as raw text.
    pub fn raw(&mut self) -> Result<&'a [u8], JsonError> {
        let range = self.skip()?;
        Ok(&self.bytes[range])
    }

    /// The inside of the next value if it is a string (escapes as they stand); any other value is jumped over.
    #[inline]
    pub fn string(&mut self) -> Result<Option<&'a [u8]>, JsonError> {
        if self.peek() != Some(b'"') {
            self.skip()?;
            return Ok(None);
        }
        let open = self.at;
        self.at = string_end(self.bytes, open)?;
        Ok(Some(&self.bytes[open + 1..self.at - 1]))
    }

    /// Whether the next value is `true`; it is jumped over.
    pub fn is_true(&mut self) -> Result<bool, JsonError> {
        Ok(self.raw()? == b"true")
    }

    /// Calls `visit` for each member with the cursor at its value. What `visit` leaves unread is jumped over.
    ///
    /// A value that is no object is jumped over and gives `false`.
    pub fn object(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'a [u8]) -> Result<(), JsonError>,
    ) -> Result<bool, JsonError> {
        if self.peek() != Some(b'{') {
            self.skip()?;
            return Ok(false);
        }
        self.at = skip_whitespace(self.bytes, self.at + 1);
        if byte_at(self.bytes, self.at)? == b'}' {
            self.at += 1;
            return Ok(true);
        }
        loop {
            expect(self.bytes, self.at, b'"')?;
            let key_end = string_end(self.bytes, self.at)?;
            let key = &self.bytes[self.at + 1..key_end - 1];
            let colon = skip_whitespace(self.bytes, key_end);
            expect(self.bytes, colon, b':')?;
            self.at = skip_whitespace(self.bytes, colon + 1);
            self.visit_one(|cursor| visit(cursor, key))?;
            if self.close_or_next(b'}')? {
                return Ok(true);
            }
        }
    }

    /// Calls `visit` for each element with the cursor at it. What `visit` leaves unread is jumped over.
    ///
    /// A value that is no array is jumped over and gives `false`.
    pub fn array(
        &mut self,
        mut visit: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<bool, JsonError> {
        if self.peek() != Some(b'[') {
            self.skip()?;
            return Ok(false);
        }
        self.at = skip_whitespace(self.bytes, self.at + 1);
        if byte_at(self.bytes, self.at)? == b']' {
            self.at += 1;
            return Ok(true);
        }
        loop {
            self.visit_one(&mut visit)?;
            if self.close_or_next(b']')? {
                return Ok(true);
            }
        }
    }

    /// Reads on after a comma (`false`), or past the closing bracket (`true`).
    #[inline]
    fn close_or_next(&mut self, close: u8) -> Result<bool, JsonError> {
        self.at = skip_whitespace(self.bytes, self.at);
        match byte_at(self.bytes, self.at)? {
            b',' => {
                self.at = skip_whitespace(self.bytes, self.at + 1);
                Ok(false)
            }
            byte if byte == close => {
                self.at += 1;
                Ok(true)
            }
            byte => Err(JsonError {
                at: self.at,
                kind: JsonErrorKind::Byte(byte),
            }),
        }
    }

    #[inline]
    fn visit_one(
        &mut self,
        visit: impl FnOnce(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        let start = self.at;
        visit(self)?;
        if self.at == start {
            self.at = skip_value(self.bytes, start)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_takes_what_it_wants_and_the_rest_is_jumped_over() {
        let text = br#"{"type":"call","args":{"a":[1,2]},"list":[{"n":1},{"n":2}],"last":true}"#;
        let mut cursor = Cursor::new(text);
        let (mut kind, mut numbers, mut last) = (None, Vec::new(), false);
        cursor
            .object(|cursor, key| {
                match key {
                    b"type" => kind = cursor.string()?,
                    b"list" => {
                        cursor.array(|cursor| {
                            cursor.object(|cursor, _| {
                                numbers.push(cursor.raw()?);
                                Ok(())
                            })?;
                            Ok(())
                        })?;
                    }
                    b"last" => last = cursor.is_true()?,
                    _ => {}
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(kind, Some(&b"call"[..]));
        assert_eq!(numbers, [b"1", b"2"]);
        assert!(last);
        assert_eq!(cursor.position(), text.len());
    }

    #[test]
    fn a_member_of_an_unexpected_type_is_skipped_alone() {
        let mut cursor = Cursor::new(b"{\"type\":5,\"id\":\"x\"}");
        let (mut kind, mut id) = (None, None);
        cursor
            .object(|cursor, key| {
                match key {
                    b"type" => kind = cursor.string()?,
                    _ => id = cursor.string()?,
                }
                Ok(())
            })
            .unwrap();
        assert_eq!((kind, id), (None, Some(&b"x"[..])));
    }

    #[test]
    fn faults_carry_their_place() {
        let fault = Cursor::new(b"{\"a\":1,}")
            .object(|_, _| Ok(()))
            .unwrap_err();
        assert_eq!((fault.at, fault.kind), (7, JsonErrorKind::Byte(b'}')));
    }
}
