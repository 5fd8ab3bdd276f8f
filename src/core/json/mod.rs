//! Where things stand in JSON text, without building values: the ground under every reader.
//!
//! A transcript of a gigabyte is mostly strings that nobody looks at. This room walks the text once, jumps
//! from quote to quote, and hands out byte ranges. It checks structure, literals and numbers; what is inside
//! strings (escapes, UTF-8) is judged only where a string is read. Nothing here recurses, so no nesting depth
//! can overflow the stack.

pub use complete::complete;
use memchr::memchr;
pub use moment::{milliseconds, rfc3339};
use std::borrow::Cow;
use std::ops::Range;
use wide::u8x16;

mod complete;
mod moment;
pub mod pointer;

/// Why a text is not JSON, and where: `at` counts bytes from the start of the slice that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// Byte position in the slice.
    pub at: usize,
    /// What was found there.
    pub kind: JsonErrorKind,
}

impl JsonError {
    pub(crate) fn new(at: usize, kind: JsonErrorKind) -> Self {
        Self { at, kind }
    }
}

/// What was found where JSON does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    #[error("the text stops inside a value")]
    End,
    /// A byte that cannot start or continue here.
    #[error("unexpected {}", match .0.is_ascii_graphic() {
        true => format!("`{}`", *.0 as char),
        false => format!("byte 0x{:02x}", .0),
    })]
    Byte(u8),
    /// As `01`, `.5` or `1.`.
    #[error("a number that JSON does not know")]
    Number,
    /// Other than `true`, `false` and `null`, as `NaN` or `None`.
    #[error("a word that JSON does not know")]
    Word,
}

/// What walking JSON text comes to.
pub type Result<T, E = JsonError> = std::result::Result<T, E>;

/// Where a text is not JSON, for people: the parser's own words name its grammar.
pub fn not_json(error: &serde_json::Error) -> String {
    let ends = if error.is_eof() {
        "it ends too early, "
    } else {
        ""
    };
    let (line, column) = (error.line(), error.column());
    format!("not JSON: {ends}line {line}, column {column}")
}

// Jumps over one JSON value and says where it ends.

/// The position of the first byte at or after `at` that is not JSON white space.
#[inline]
pub fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The position after the closing quote of the string whose opening quote is at `open`.
///
/// A quote closes the string unless an odd run of backslashes precedes it.
#[inline]
pub fn string_end(bytes: &[u8], open: usize) -> Result<usize> {
    let from = open + 1;
    let rest = bytes.get(from..).unwrap_or_default();
    // Names and most values are short: they need no search.
    if let Some(head) = rest.first_chunk() {
        let closing = in_lane(head, b'"').trailing_zeros();
        if closing < in_lane(head, b'\\').trailing_zeros() {
            return Ok(from + closing as usize + 1);
        }
    }
    let Some(found) = memchr(b'"', rest) else {
        return Err(JsonError::new(bytes.len(), JsonErrorKind::End));
    };
    let quote = from + found;
    if bytes[quote - 1] != b'\\' {
        return Ok(quote + 1);
    }
    let escapes = bytes[from..quote]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    if escapes % 2 == 0 {
        return Ok(quote + 1);
    }
    escaped_end(bytes, quote + 1)
}

/// Bytes that are looked at together: one bit of a word each.
const BLOCK: usize = 64;

/// The same for the rest of a string that holds escaped quotes; `at` is after a whole letter. JSON nested
/// in JSON has one every few bytes, and looking at every byte costs less than jumping from one to the next.
fn escaped_end(bytes: &[u8], mut at: usize) -> Result<usize> {
    // 1 where the next byte is escaped.
    let mut carried = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let (slashes, quotes) = (places(block, b'\\'), places(block, b'"'));
        let escaped = escaped_by(slashes, carried);
        let closing = quotes & !escaped;
        if closing != 0 {
            return Ok(at + closing.trailing_zeros() as usize + 1);
        }
        carried = (slashes & !escaped) >> (BLOCK - 1);
        at += BLOCK;
    }
    let mut is_escaped = carried == 1;
    for (place, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Ok(place + 1),
            _ => {}
        }
    }
    Err(JsonError::new(bytes.len(), JsonErrorKind::End))
}

/// Which bytes of a block are this one.
#[inline]
fn places(block: &[u8; BLOCK], byte: u8) -> u64 {
    let (lanes, _) = block.as_chunks();
    let lanes = lanes.iter().rev();
    lanes.fold(0, |places, lane| {
        places << LANE | u64::from(in_lane(lane, byte))
    })
}

/// Bytes that the processor compares at once.
const LANE: usize = 16;

#[inline]
fn in_lane(lane: &[u8; LANE], byte: u8) -> u32 {
    u8x16::new(*lane).simd_eq(u8x16::splat(byte)).to_bitmask()
}

/// Where the first byte is that a JSON string escapes.
pub(crate) fn first_escaped(text: &[u8]) -> Option<usize> {
    let (lanes, rest) = text.as_chunks();
    for (number, lane) in lanes.iter().enumerate() {
        let bytes = u8x16::new(*lane);
        let found = bytes.simd_lt(u8x16::splat(0x20)).to_bitmask()
            | in_lane(lane, b'"')
            | in_lane(lane, b'\\');
        if found != 0 {
            return Some(number * LANE + found.trailing_zeros() as usize);
        }
    }
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    let place = rest.iter().position(is_escaped)?;
    Some(text.len() - rest.len() + place)
}

/// Which bytes of a block are escaped, by its backslashes.
#[inline]
fn escaped_by(slashes: u64, carried: u64) -> u64 {
    let escaped = slashes << 1 | carried;
    if slashes & escaped == 0 {
        return escaped;
    }
    // Of a run of backslashes each second one is escaped itself.
    let (mut escaped, mut left) = (carried, slashes & !carried);
    while left != 0 {
        let first = left & left.wrapping_neg();
        escaped |= first << 1;
        left &= !(first | first << 1);
    }
    escaped
}

/// The first text member of this name in JSON text that may break off, wherever it is nested.
pub fn first_text_member(text: &[u8], key: &str) -> Option<String> {
    let quoted = format!("\"{key}\"");
    let mut places = memchr::memmem::find_iter(text, &quoted);
    places.find_map(|place| {
        let colon = skip_whitespace(text, place + quoted.len());
        let open = skip_whitespace(text, colon + 1);
        if text.get(colon) != Some(&b':') || text.get(open) != Some(&b'"') {
            return None;
        }
        let end = string_end(text, open).ok()?;
        let inside = text.get(open + 1..end - 1)?;
        Some(display_text(inside).into_owned())
    })
}

/// The position after the value that starts at `at` (white space before it is allowed).
pub fn skip_value(bytes: &[u8], at: usize) -> Result<usize> {
    let mut open = Containers::default();
    let mut at = skip_whitespace(bytes, at);
    loop {
        match byte_at(bytes, at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' => {
                at = skip_whitespace(bytes, at + 1);
                if byte_at(bytes, at)? == b'}' {
                    at += 1;
                } else {
                    open.push(Container::Object);
                    at = skip_key(bytes, at)?;
                    continue;
                }
            }
            b'[' => {
                at = skip_whitespace(bytes, at + 1);
                if byte_at(bytes, at)? == b']' {
                    at += 1;
                } else {
                    open.push(Container::Array);
                    continue;
                }
            }
            _ => at = skip_scalar(bytes, at)?,
        }
        loop {
            let Some(container) = open.last() else {
                return Ok(at);
            };
            at = skip_whitespace(bytes, at);
            match (container, byte_at(bytes, at)?) {
                (Container::Object, b',') => {
                    at = skip_key(bytes, skip_whitespace(bytes, at + 1))?;
                    break;
                }
                (Container::Array, b',') => {
                    at = skip_whitespace(bytes, at + 1);
                    break;
                }
                (Container::Object, b'}') | (Container::Array, b']') => {
                    at += 1;
                    open.pop();
                }
                (_, byte) => {
                    return Err(JsonError::new(at, JsonErrorKind::Byte(byte)));
                }
            }
        }
    }
}

/// From the opening quote of a key to the first byte of its value.
#[inline]
fn skip_key(bytes: &[u8], at: usize) -> Result<usize> {
    expect(bytes, at, b'"')?;
    let colon = skip_whitespace(bytes, string_end(bytes, at)?);
    expect(bytes, colon, b':')?;
    Ok(skip_whitespace(bytes, colon + 1))
}

#[inline]
fn byte_at(bytes: &[u8], at: usize) -> Result<u8> {
    bytes
        .get(at)
        .copied()
        .ok_or(JsonError::new(at, JsonErrorKind::End))
}

#[inline]
fn expect(bytes: &[u8], at: usize, wanted: u8) -> Result<()> {
    match byte_at(bytes, at)? {
        byte if byte == wanted => Ok(()),
        byte => Err(JsonError::new(at, JsonErrorKind::Byte(byte))),
    }
}

fn skip_scalar(bytes: &[u8], at: usize) -> Result<usize> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
        .count();
    let word = &bytes[at..at + length];
    let cut = at + length == bytes.len();
    match word.first() {
        None => Err(JsonError::new(at, JsonErrorKind::Byte(bytes[at]))),
        Some(b'-' | b'0'..=b'9') if is_number(word) => Ok(at + length),
        _ if [&b"true"[..], b"false", b"null"].contains(&word) => Ok(at + length),
        _ if cut
            && [&b"true"[..], b"false", b"null"]
                .iter()
                .any(|whole| whole.starts_with(word)) =>
        {
            Err(JsonError::new(bytes.len(), JsonErrorKind::End))
        }
        Some(b'-' | b'0'..=b'9') if cut => Err(JsonError::new(bytes.len(), JsonErrorKind::End)),
        Some(b'-' | b'0'..=b'9') => Err(JsonError::new(at, JsonErrorKind::Number)),
        Some(_) => Err(JsonError::new(at, JsonErrorKind::Word)),
    }
}

/// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`, RFC 8259 section 6.
fn is_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(b'e' | b'E') = rest.first() {
        rest = &rest[1..];
        if let Some(b'+' | b'-') = rest.first() {
            rest = &rest[1..];
        }
        let length = digits(rest);
        return length > 0 && length == rest.len();
    }
    rest.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// The open containers, one bit each: five million levels take 625 KB.
#[derive(Default)]
struct Containers {
    bits: Vec<u64>,
    top: u64,
    depth: usize,
}

impl Containers {
    #[inline]
    fn push(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits.push(self.top);
        }
        self.top = self.top << 1 | u64::from(container == Container::Array);
        self.depth += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.top >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.bits.pop().unwrap_or_default();
        }
    }

    #[inline]
    fn last(&self) -> Option<Container> {
        match (self.depth, self.top & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Object),
            (_, _) => Some(Container::Array),
        }
    }
}

// Strings that this reader understands and JSON does not allow (RFC 8259 section 7): every strict parser
// refuses the text around them.

/// What a string holds that JSON does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpellingError {
    /// A control character that is not escaped.
    Control,
    /// An escape that JSON does not know, as `\x41` or `\u12`.
    Escape,
    /// Bytes that are not UTF-8.
    Encoding,
}

/// The strings of a JSON text that are spelled as JSON does not allow, each with its quotes.
pub fn bad_strings(text: &[u8]) -> Vec<(Range<usize>, SpellingError)> {
    let mut found = Vec::new();
    if Glance::at(text).is_clean() {
        return found;
    }
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &text[at..]).map(|place| at + place) {
        let Ok(end) = string_end(text, open) else {
            break;
        };
        if let Some(bad) = Glance::at(&text[open + 1..end - 1]).error() {
            found.push((open..end, bad));
        }
        at = end;
    }
    found
}

/// The text with every string spelled as JSON allows it. What it says is what was read: an unknown escape is
/// its characters, bytes that are not UTF-8 are U+FFFD.
pub fn respelled(text: &[u8]) -> Cow<'_, [u8]> {
    let bad = bad_strings(text);
    if bad.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut new = Vec::with_capacity(text.len() + 8 * bad.len());
    let mut at = 0;
    for (range, _) in bad {
        new.extend_from_slice(&text[at..=range.start]);
        spell(&text[range.start + 1..range.end - 1], &mut new);
        at = range.end - 1;
    }
    new.extend_from_slice(&text[at..]);
    Cow::Owned(new)
}

/// What a quick look at the bytes of a text shows: most texts hold nothing that needs the strings to be walked.
/// Control characters may stand between strings, backslashes stand in strings only.
struct Glance {
    has_control: bool,
    has_bad_escape: bool,
    is_utf8: bool,
}

impl Glance {
    fn at(text: &[u8]) -> Self {
        let look = |(has_control, all), byte: &u8| (has_control | (*byte < 0x20), all | byte);
        let (has_control, all) = text.iter().fold((false, 0), look);
        Self {
            has_control,
            has_bad_escape: has_bad_escape(text),
            is_utf8: all < 0x80 || simdutf8::basic::from_utf8(text).is_ok(),
        }
    }

    fn is_clean(&self) -> bool {
        !self.has_control && !self.has_bad_escape && self.is_utf8
    }

    /// What is wrong with the text where it is the inside of a string.
    fn error(&self) -> Option<SpellingError> {
        match self {
            Self {
                has_control: true, ..
            } => Some(SpellingError::Control),
            Self {
                has_bad_escape: true,
                ..
            } => Some(SpellingError::Escape),
            Self { is_utf8, .. } => (!is_utf8).then_some(SpellingError::Encoding),
        }
    }
}

fn has_bad_escape(text: &[u8]) -> bool {
    let (mut at, mut carried) = (0, 0);
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let slashes = places(block, b'\\');
        let escaped = escaped_by(slashes, carried);
        // Most are line feeds and quotes.
        let mut others = escaped & !(places(block, b'n') | places(block, b'"'));
        while others != 0 {
            let letter = at + others.trailing_zeros() as usize;
            if escape_length(&text[letter - 1..]).is_none() {
                return true;
            }
            others &= others - 1;
        }
        carried = (slashes & !escaped) >> (BLOCK - 1);
        at += BLOCK;
    }
    at -= usize::from(carried == 1);
    while let Some(place) = memchr::memchr(b'\\', text.get(at..).unwrap_or_default()) {
        match escape_length(&text[at + place..]) {
            Some(length) => at += place + length,
            None => return true,
        }
    }
    false
}

/// The length of the escape at the start of a text; `None` for one that JSON does not know.
#[inline]
fn escape_length(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let digits = text.get(2..6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
        }
        _ => None,
    }
}

fn spell(inside: &[u8], new: &mut Vec<u8>) {
    let mut rest = inside;
    while let Some(first) = rest.first() {
        let taken = match first {
            b'\\' => match escape_length(rest) {
                Some(length) => {
                    new.extend_from_slice(&rest[..length]);
                    length
                }
                None => {
                    new.extend_from_slice(b"\\\\");
                    1
                }
            },
            b'\n' => put(new, b"\\n"),
            b'\r' => put(new, b"\\r"),
            b'\t' => put(new, b"\\t"),
            control if *control < 0x20 => put(new, format!("\\u{control:04x}").as_bytes()),
            _ => {
                let plain = |byte: &u8| *byte >= 0x20 && *byte != b'\\';
                let length = rest.iter().take_while(|byte| plain(byte)).count();
                new.extend_from_slice(String::from_utf8_lossy(&rest[..length]).as_bytes());
                length
            }
        };
        rest = &rest[taken..];
    }
}

/// Adds the spelling of one byte.
fn put(new: &mut Vec<u8>, spelling: &[u8]) -> usize {
    new.extend_from_slice(spelling);
    1
}

// Walks objects and arrays in place: the caller names the members it wants, the rest is jumped over.

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
    pub fn skip(&mut self) -> Result<Range<usize>> {
        let start = skip_whitespace(self.bytes, self.at);
        self.at = skip_value(self.bytes, start)?;
        Ok(start..self.at)
    }

    /// The next value as raw text.
    pub fn raw(&mut self) -> Result<&'a [u8]> {
        let range = self.skip()?;
        Ok(&self.bytes[range])
    }

    /// The inside of the next value if it is a string (escapes as they stand); any other value is jumped over.
    #[inline]
    pub fn string(&mut self) -> Result<Option<&'a [u8]>> {
        if self.peek() != Some(b'"') {
            self.skip()?;
            return Ok(None);
        }
        let open = self.at;
        self.at = string_end(self.bytes, open)?;
        Ok(Some(&self.bytes[open + 1..self.at - 1]))
    }

    /// Whether the next value is `true`; it is jumped over.
    pub fn is_true(&mut self) -> Result<bool> {
        Ok(self.raw()? == b"true")
    }

    /// Calls `visit` for each member with the cursor at its value. What `visit` leaves unread is jumped over.
    ///
    /// A value that is not an object is jumped over and gives `false`.
    pub fn object(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'a [u8]) -> Result<()>,
    ) -> Result<bool> {
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
    pub fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Result<()>) -> Result<bool> {
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
    fn close_or_next(&mut self, close: u8) -> Result<bool> {
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
            byte => Err(JsonError::new(self.at, JsonErrorKind::Byte(byte))),
        }
    }

    #[inline]
    fn visit_one(&mut self, visit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let start = self.at;
        visit(self)?;
        if self.at == start {
            self.at = skip_value(self.bytes, start)?;
        }
        Ok(())
    }
}

// What a JSON string says: escapes resolved, and nothing lost where it cannot be resolved.

/// The text of the inside of a JSON string.
///
/// A lone surrogate (`\ud83d` without its partner) and an escape that JSON does not know stay as they are
/// spelled: they have no text. Bytes that are not UTF-8 stay as bytes.
pub fn unescape(inside: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', inside) else {
        return Cow::Borrowed(inside);
    };
    let mut text = Vec::with_capacity(inside.len());
    text.extend_from_slice(&inside[..first]);
    let mut at = first;
    while at < inside.len() {
        if inside[at] != b'\\' {
            let plain = memchr::memchr(b'\\', &inside[at..]).unwrap_or(inside.len() - at);
            text.extend_from_slice(&inside[at..at + plain]);
            at += plain;
            continue;
        }
        at += match resolve(&inside[at..]) {
            Some((character, length)) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                length
            }
            None => {
                text.push(b'\\');
                1
            }
        };
    }
    Cow::Owned(text)
}

/// The text of the inside of a JSON string, for comparing and for templates: bytes that are
/// not UTF-8 become U+FFFD.
pub fn display_text(inside: &[u8]) -> Cow<'_, str> {
    match unescape(inside) {
        Cow::Borrowed(bytes) => lossy_text(bytes),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        },
    }
}

/// The text of bytes; those that are not UTF-8 become U+FFFD. Fast where there are none.
pub(crate) fn lossy_text(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The character of the escape at the start of `text` and the length of its spelling.
fn resolve(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return resolve_unicode(text),
        _ => return None,
    };
    Some((character, 2))
}

fn resolve_unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = hex_unit(text)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, 6));
    }
    let low = hex_unit(text.get(6..)?)?;
    let both_surrogates = (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low);
    let code = both_surrogates.then(|| 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?;
    char::from_u32(code).map(|character| (character, 12))
}

/// The UTF-16 unit of `\uXXXX`.
fn hex_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit << 4 | (*digit as char).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(text: &str) -> Result<usize, JsonErrorKind> {
        skip_value(text.as_bytes(), 0).map_err(|fault| fault.kind)
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        for text in [
            "{}",
            "[]",
            "\"a\"",
            "1",
            "-0.5e+3",
            "true",
            "null",
            r#"{"a":[1,{"b":"}]"}],"c":""}"#,
            r#" [ 1 , 2 ] "#,
        ] {
            assert_eq!(end(text), Ok(text.trim_end().len()), "{text}");
        }
        assert_eq!(end("{} {}"), Ok(2));
    }

    #[test]
    fn a_quote_after_an_odd_run_of_backslashes_does_not_close() {
        assert_eq!(end(r#""a\"b""#), Ok(6));
        assert_eq!(end(r#""a\\""#), Ok(5));
        assert_eq!(end(r#""a\\\"b""#), Ok(8));
    }

    proptest! {
        #[test]
        fn a_string_of_many_escapes_ends_where_it_ends_letter_by_letter(text in r#"["\\\\ab]{0,300}"#) {
            let text = format!("\"\\\"{text}");
            let (mut end, mut is_escaped) = (None, false);
            for (place, byte) in text.bytes().enumerate().skip(1) {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => {
                        end = Some(place + 1);
                        break;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(string_end(text.as_bytes(), 0).ok(), end);
        }

        #[test]
        fn runs_of_backslashes_end_in_any_place_of_a_block(before in 0..130_usize, run in 0..130_usize) {
            let text = format!(r#""\"{}{}"x"#, "a".repeat(before), "\\".repeat(run));
            let end = text.len() - 1;
            let expected = if run % 2 == 0 { Some(end) } else { None };
            prop_assert_eq!(string_end(text.as_bytes(), 0).ok(), expected);
        }
    }

    #[test]
    fn a_cut_value_says_that_it_is_cut() {
        for text in [
            "",
            "{",
            "[",
            "\"a",
            r#"{"a"#,
            r#"{"a":"#,
            r#"{"a":1"#,
            "[1,",
            "tru",
            "-",
            "\"\\\"",
        ] {
            assert_eq!(end(text), Err(JsonErrorKind::End), "{text}");
        }
    }

    #[test]
    fn what_json_refuses_is_refused_with_its_reason() {
        assert_eq!(end("{oops}"), Err(JsonErrorKind::Byte(b'o')));
        assert_eq!(end("[1,]"), Err(JsonErrorKind::Byte(b']')));
        assert_eq!(end("{'a':1}"), Err(JsonErrorKind::Byte(b'\'')));
        assert_eq!(end("[NaN]"), Err(JsonErrorKind::Word));
        assert_eq!(end("[01]"), Err(JsonErrorKind::Number));
        assert_eq!(end("[1.]"), Err(JsonErrorKind::Number));
        assert_eq!(end("[}"), Err(JsonErrorKind::Byte(b'}')));
    }

    #[test]
    fn five_million_levels_neither_recurse_nor_mix_up_their_kinds() {
        let levels = 5_000_000;
        let mut text = "[{\"a\":".repeat(levels / 2);
        text.push('1');
        text.push_str(&"}]".repeat(levels / 2));
        assert_eq!(end(&text), Ok(text.len()));
        assert_eq!(end(&"[".repeat(levels)), Err(JsonErrorKind::End));
    }

    #[test]
    fn many_backslashes_stay_linear() {
        let text = format!("\"{}\"", "\\\\".repeat(5_000_000));
        assert_eq!(end(&text), Ok(text.len()));
    }
}

#[cfg(test)]
mod spelling_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_json_does_not_allow_is_found_and_spelled_anew() {
        let cases: [(&[u8], &str); 6] = [
            (b"{\"a\":\"x\x1b[31m\ty\"}", r#"{"a":"x\u001b[31m\ty"}"#),
            (br#"{"a":"\x41"}"#, r#"{"a":"\\x41"}"#),
            (br#"["\u12","\u00e9\""]"#, r#"["\\u12","\u00e9\""]"#),
            (b"[\"a\xff\xfeb\"]", "[\"a\u{fffd}\u{fffd}b\"]"),
            (b"{\"k\ney\":1}", r#"{"k\ney":1}"#),
            (
                b"{\n\t\"a\" : \"\\n \\\\ \"\r\n}",
                "{\n\t\"a\" : \"\\n \\\\ \"\r\n}",
            ),
        ];
        for (text, expected) in cases {
            let new = respelled(text);
            assert_eq!(String::from_utf8_lossy(&new), expected);
            assert!(
                serde_json::from_slice::<serde_json::Value>(&new).is_ok(),
                "{expected}"
            );
            assert_eq!(respelled(&new), new);
            assert_eq!(bad_strings(text).is_empty(), expected.as_bytes() == text);
        }
    }

    proptest! {
        #[test]
        fn a_string_is_bad_where_a_strict_parser_refuses_it(inside in proptest::collection::vec(
            prop_oneof![Just(b'\\'), Just(b'u'), Just(b'0'), Just(b'n'), Just(b'/'), 0_u8..=255], 0..12)) {
            let mut text = vec![b'"'];
            text.extend(&inside);
            text.push(b'"');
            prop_assume!(string_end(&text, 0).is_ok_and(|end| end == text.len()));
            let spells_half_a_pair = String::from_utf8_lossy(&text).to_ascii_lowercase().contains("\\ud");
            if !spells_half_a_pair {
                let is_strict = serde_json::from_slice::<String>(&text).is_ok();
                prop_assert_eq!(bad_strings(&text).is_empty(), is_strict);
            }
            let new = respelled(&text).into_owned();
            prop_assert!(bad_strings(&new).is_empty());
        }
    }
}

#[cfg(test)]
mod cursor_tests {
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

#[cfg(test)]
mod text_tests {
    use super::*;

    #[test]
    fn escapes_become_their_characters() {
        assert_eq!(
            display_text(br#"a\n\t\"\\\/\u00e9\ud83d\ude00"#),
            "a\n\t\"\\/é😀"
        );
        assert!(matches!(unescape(b"plain"), Cow::Borrowed(b"plain")));
    }

    #[test]
    fn what_has_no_text_stays_as_it_is_spelled() {
        for spelled in [r"\ud83d", r"\ud83d\u0041", r"\q", r"\u12", r"\", r"\ude00"] {
            let expected = spelled.replace(r"\u0041", "A");
            assert_eq!(
                unescape(spelled.as_bytes()),
                expected.as_bytes(),
                "{spelled}"
            );
        }
        assert_eq!(unescape(b"caf\xe9\\n"), &b"caf\xe9\n"[..]);
    }
}
