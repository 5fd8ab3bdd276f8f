//! The text that is searched for, as it may be spelled in JSON.
//!
//! A recording holds a text escaped, and where arguments are JSON inside of JSON, escaped twice. So a quote is
//! also found as `\"` and `\\\"`, a line break as `\n`, `é` as `\u00e9`. A needle without capital letters is
//! found in any case. A needle between slashes is a regular expression: see [`Expression`].

use super::expression::{Expression, LONGEST_MATCH, RegexError};
use super::spelling::{is_plain, write_spellings};
use regex::bytes::{Regex, RegexBuilder};
use retake_core::pattern::ignores_case;

/// How many bytes of text a needle may have.
const LIMIT: usize = 1024;
/// Bytes before a hit that are read to tell an escape from a letter.
pub(crate) const BEFORE: u64 = 16;

/// A text to search for.
#[derive(Debug, Clone)]
pub struct Needle {
    finder: Finder,
    longest: usize,
}

#[derive(Debug, Clone)]
enum Finder {
    /// The text is spelled in one way only.
    Literal(Box<memchr::memmem::Finder<'static>>),
    Spellings(Regex),
    Expression(Box<Expression>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedleError {
    #[error("nothing to search for")]
    Empty,
    #[error("the text is too long to search for: {LIMIT} bytes at most")]
    TooLong,
    #[error(transparent)]
    Expression(#[from] RegexError),
}

impl Needle {
    /// What an operator types: `/expression/`, or a text.
    pub fn parse(text: &str) -> Result<Self, NeedleError> {
        let inner = text.strip_prefix('/').and_then(|it| it.strip_suffix('/'));
        match inner.filter(|inner| !inner.is_empty() && text.len() <= LIMIT) {
            Some(inner) => Ok(Self {
                finder: Finder::Expression(Box::new(Expression::new(inner)?)),
                longest: LONGEST_MATCH,
            }),
            None => Self::new(text),
        }
    }

    /// Whether it has to be confirmed in the text that is shown: in JSON it may match more.
    pub fn is_expression(&self) -> bool {
        matches!(self.finder, Finder::Expression(_))
    }

    /// A needle with smart case: capital letters are found as they are, a text without any in every case.
    pub fn new(text: &str) -> Result<Self, NeedleError> {
        if text.is_empty() {
            return Err(NeedleError::Empty);
        }
        if text.len() > LIMIT {
            return Err(NeedleError::TooLong);
        }
        let any_case = ignores_case(text);
        let has_cases = text.chars().any(char::is_alphabetic);
        if text.chars().all(is_plain) && !(any_case && has_cases) {
            let finder = memchr::memmem::Finder::new(text.as_bytes()).into_owned();
            return Ok(Self {
                longest: text.len(),
                finder: Finder::Literal(Box::new(finder)),
            });
        }
        let (mut pattern, mut longest) = (String::new(), 0);
        for (index, character) in text.chars().enumerate() {
            longest += write_spellings(&mut pattern, character, index == 0, any_case);
        }
        let regex = RegexBuilder::new(&pattern)
            .unicode(false)
            .case_insensitive(any_case)
            .build()
            .map_err(|_| NeedleError::TooLong)?;
        Ok(Self {
            finder: Finder::Spellings(regex),
            longest,
        })
    }

    /// The longest spelling in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The first hit in `bytes` that begins at or after `from`. Hits of a text may overlap.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.find_with_next(bytes, from).map(|(hit, _)| hit)
    }

    /// The first hit at or after `from`, and where the next one may begin.
    fn find_with_next(&self, bytes: &[u8], mut from: usize) -> Option<(usize, usize)> {
        if from > bytes.len() {
            return None;
        }
        loop {
            let hit = match &self.finder {
                Finder::Literal(finder) => from + finder.find(&bytes[from..])?,
                Finder::Spellings(regex) => regex.find_at(bytes, from)?.start(),
                Finder::Expression(expression) => {
                    let range = expression.find_in_json(bytes, from)?;
                    return Some((range.start, range.end));
                }
            };
            if !is_escape_letter(bytes, hit) {
                return Some((hit, hit + 1));
            }
            from = hit + 1;
        }
    }

    /// The hits in `bytes` that begin at or after `from`, in order. Those of an expression do not overlap.
    pub fn find_all<'a>(
        &'a self,
        bytes: &'a [u8],
        from: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let mut next = from;
        std::iter::from_fn(move || {
            let (hit, after) = self.find_with_next(bytes, next)?;
            next = after;
            Some(hit)
        })
    }

    /// Whether it is in a text that is shown.
    pub fn is_in(&self, text: &str) -> bool {
        !self.ranges_in(text).is_empty()
    }

    /// The hits in a text that is shown: byte ranges, for highlighting. They do not overlap.
    pub fn ranges_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let bytes = text.as_bytes();
        match &self.finder {
            Finder::Literal(finder) => finder
                .find_iter(bytes)
                .map(|start| start..start + self.longest)
                .collect(),
            Finder::Spellings(regex) => regex.find_iter(bytes).map(|hit| hit.range()).collect(),
            Finder::Expression(expression) => expression.ranges_in(text),
        }
    }
}

/// Whether the byte at `hit` is the letter of an escape, as the `n` of `\n`: an odd number of
/// backslashes precedes it.
fn is_escape_letter(bytes: &[u8], hit: usize) -> bool {
    if !matches!(bytes[hit], b'n' | b'r' | b't' | b'b' | b'f' | b'u') {
        return false;
    }
    let before = bytes[..hit].iter().rev().take(BEFORE as usize);
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(needle: &str, text: &str) -> Vec<usize> {
        Needle::new(needle)
            .unwrap()
            .find_all(text.as_bytes(), 0)
            .collect()
    }

    #[test]
    fn a_needle_without_capitals_is_found_in_any_case() {
        assert_eq!(hits("flight", "Flight flight FLIGHT"), [0, 7, 14]);
        assert_eq!(hits("Flight", "Flight flight FLIGHT"), [0]);
        assert_eq!(hits("42", "42 and 42"), [0, 7]);
        assert_eq!(hits("é", "é É \\u00e9 \\u00C9"), [0, 3, 6, 13]);
        assert_eq!(hits("É", "é É \\u00e9 \\u00C9"), [3, 13]);
    }

    #[test]
    fn escaped_spellings_are_found() {
        assert_eq!(hits("say \"hi\"", r#"{"a":"say \"hi\""}"#), [6]);
        assert_eq!(
            hits("say \"hi\"", r#"{"a":"{\"b\":\"say \\\"hi\\\"\"}"}"#).len(),
            1
        );
        assert_eq!(hits("one\ntwo", r"one\ntwo one\\ntwo"), [0, 9]);
        assert_eq!(hits("C:\\dir", r"C:\\dir C:\\\\dir"), [0, 8]);
        assert_eq!(hits("a/b", r"a\/b a/b"), [0, 5]);
        assert_eq!(hits("<b>", r"\u003cb\u003e <b>"), [0, 14]);
        assert_eq!(
            hits("x👩y", r"x\ud83d\udc69y x👩y X\uD83D\uDC69Y"),
            [0, 15, 22]
        );
    }

    #[test]
    fn the_letter_of_an_escape_is_no_hit() {
        assert_eq!(hits("name", r#"{"name":"a\name b\\name"}"#), [2, 19]);
        assert_eq!(hits("u00", r"\u00e9 u00"), [7]);
    }

    #[test]
    fn overlapping_hits_count_and_highlights_do_not_overlap() {
        assert_eq!(hits("aa", "aaaa"), [0, 1, 2]);
        assert_eq!(Needle::new("Aa").unwrap().ranges_in("AaAa"), [0..2, 2..4]);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(Needle::new("").unwrap_err(), NeedleError::Empty);
        let long = "x".repeat(LIMIT + 1);
        assert_eq!(Needle::new(&long).unwrap_err(), NeedleError::TooLong);
        assert!(Needle::new(&"\u{1F469}".repeat(LIMIT / 4)).is_ok());
        assert!(Needle::new(&"\"".repeat(LIMIT)).is_ok());
    }
}
