//! JSON text laid out in lines. Works on tokens, not values, so that numbers, escapes and the order of keys
//! stay as they are written, and a text that breaks off or is broken is laid out as far as it goes.

use retake_core::json::pointer::child;
use retake_core::json::string_end;
use std::borrow::Cow;
use std::ops::Range;

/// What a piece of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    Punctuation,
    Key,
    String,
    /// A number, `true`, `false`, `null`, or something that is no JSON.
    Scalar,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonLine {
    /// How deep it is indented, in levels.
    pub depth: usize,
    /// Its pieces: places in the text.
    pub pieces: Vec<(TokenKind, Range<usize>)>,
    /// JSON pointer (RFC 6901) of the value that begins on the line; `None` for closing brackets and for what
    /// nests so deep that its pointer is longer than [`LONGEST_POINTER`].
    pub pointer: Option<String>,
}

/// Most levels of indentation; deeper ones stand in one column.
const DEEPEST: usize = 40;

/// Longest pointer to a container whose members get pointers of their own, in bytes: every line holds its
/// pointer, so that without a bound a few hundred kilobytes of brackets would take gigabytes.
const LONGEST_POINTER: usize = 512;

pub fn lay_out(text: &str) -> Vec<JsonLine> {
    let mut layout = Layout {
        text: text.as_bytes(),
        lines: vec![JsonLine {
            pointer: Some(String::new()),
            ..JsonLine::default()
        }],
        open: Vec::new(),
    };
    let mut at = retake_core::json::skip_whitespace(layout.text, 0);
    while at < layout.text.len() {
        at = retake_core::json::skip_whitespace(layout.text, layout.token(at));
    }
    layout.lines.retain(|line| !line.pieces.is_empty());
    layout.lines
}

/// JSON in one line, as far as it goes; another text as it is.
pub fn compact(text: &str) -> Cow<'_, str> {
    if !text.starts_with(['{', '[']) || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut line = String::new();
    for (token, range) in lay_out(text).into_iter().flat_map(|line| line.pieces) {
        let is_word = token != TokenKind::Punctuation;
        let is_apart = is_word && !line.is_empty() && !line.ends_with(['{', '[']);
        if is_apart || line.ends_with([',', ':']) {
            line.push(' ');
        }
        line.push_str(&text[range]);
    }
    Cow::Owned(line)
}

/// A bracket that is open.
struct Open {
    is_object: bool,
    /// The number of the member that comes next.
    next: usize,
    /// Whether the next string is a key.
    expects_key: bool,
    /// The pointer to the container; `None` where its members get none.
    pointer: Option<String>,
}

struct Layout<'a> {
    text: &'a [u8],
    lines: Vec<JsonLine>,
    open: Vec<Open>,
}

impl Layout<'_> {
    /// Lays out the token at `at`; gives the place after it.
    fn token(&mut self, at: usize) -> usize {
        let end = match self.text[at] {
            b'{' | b'[' => return self.opens(at),
            b'}' | b']' => {
                self.open.pop();
                self.break_line(None);
                at + 1
            }
            b',' => {
                self.push(TokenKind::Punctuation, at..at + 1);
                self.begin_member();
                return at + 1;
            }
            b':' => {
                self.push(TokenKind::Punctuation, at..at + 1);
                return at + 1;
            }
            b'"' => return self.string(at),
            _ => {
                let end = self.text[at..]
                    .iter()
                    .position(|byte| b",:{}[]\" \t\r\n".contains(byte))
                    .map_or(self.text.len(), |length| at + length);
                self.push(TokenKind::Scalar, at..end);
                return end;
            }
        };
        self.push(TokenKind::Punctuation, at..end);
        end
    }

    fn opens(&mut self, at: usize) -> usize {
        self.push(TokenKind::Punctuation, at..at + 1);
        let next = retake_core::json::skip_whitespace(self.text, at + 1);
        if matches!(self.text.get(next), Some(b'}' | b']')) {
            self.push(TokenKind::Punctuation, next..next + 1);
            return next + 1;
        }
        let pointer = self.lines.last().and_then(|line| line.pointer.clone());
        self.open.push(Open {
            is_object: self.text[at] == b'{',
            next: 0,
            expects_key: false,
            pointer: pointer.filter(|pointer| pointer.len() <= LONGEST_POINTER),
        });
        self.begin_member();
        at + 1
    }

    fn string(&mut self, at: usize) -> usize {
        let end = string_end(self.text, at).unwrap_or(self.text.len());
        let is_key = self.open.last().is_some_and(|open| open.expects_key);
        if is_key {
            let inside = &self.text[at + 1..end.saturating_sub(1).max(at + 1)];
            if let (Some(open), Some(line)) = (self.open.last_mut(), self.lines.last_mut()) {
                open.expects_key = false;
                line.pointer = open.pointer.as_ref().map(|container| {
                    let key = retake_core::json::display_text(inside);
                    child(container, &key)
                });
            }
        }
        self.push(
            if is_key {
                TokenKind::Key
            } else {
                TokenKind::String
            },
            at..end,
        );
        end
    }

    fn begin_member(&mut self) {
        let pointer = self.open.last_mut().and_then(|open| {
            let member = open.next;
            open.next += 1;
            open.expects_key = open.is_object;
            let container = open.pointer.as_ref()?;
            Some(format!("{container}/{member}"))
        });
        self.break_line(pointer);
    }

    fn break_line(&mut self, pointer: Option<String>) {
        self.lines.push(JsonLine {
            depth: self.open.len().min(DEEPEST),
            pieces: Vec::new(),
            pointer,
        });
    }

    fn push(&mut self, token: TokenKind, range: Range<usize>) {
        if let Some(line) = self.lines.last_mut() {
            line.pieces.push((token, range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, Option<String>)> {
        lay_out(text)
            .into_iter()
            .map(|line| {
                let words: Vec<&str> = line
                    .pieces
                    .iter()
                    .map(|(_, range)| &text[range.clone()])
                    .collect();
                (
                    format!("{}{}", "  ".repeat(line.depth), words.join(" ")),
                    line.pointer,
                )
            })
            .collect()
    }

    #[test]
    fn every_value_has_its_line_and_its_pointer() {
        let lines = told(r#"{"a/b":[1,{}],"c":"x,y"}"#);
        let expected = [
            ("{", Some("")),
            (r#"  "a/b" : ["#, Some("/a~1b")),
            ("    1 ,", Some("/a~1b/0")),
            ("    { }", Some("/a~1b/1")),
            ("  ] ,", None),
            (r#"  "c" : "x,y""#, Some("/c")),
            ("}", None),
        ];
        let expected =
            expected.map(|(line, pointer)| (line.to_owned(), pointer.map(str::to_owned)));
        assert_eq!(lines, expected);
    }

    #[test]
    fn laid_out_json_stands_in_one_line() {
        let text = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x  y\",\n  \"c\": tr";
        assert_eq!(compact(text), r#"{"a": [1, {}], "b": "x  y", "c": tr"#);
        assert_eq!(compact("[INFO] a,b"), "[INFO] a,b");
    }

    #[test]
    fn a_hundred_thousand_brackets_take_no_gigabytes() {
        let levels = 100_000;
        let lines = lay_out(&"[".repeat(levels));
        let pointers: usize = lines
            .iter()
            .filter_map(|line| line.pointer.as_ref())
            .map(String::len)
            .sum();
        assert_eq!(lines.len(), levels);
        assert!(pointers < 1 << 20, "{pointers}");
    }

    #[test]
    fn broken_text_is_laid_out_as_far_as_it_goes() {
        assert_eq!(
            told(r#"{"rate": 4.1/100, "name": "no en"#)
                .into_iter()
                .map(|(line, _)| line)
                .collect::<Vec<_>>(),
            ["{", r#"  "rate" : 4.1/100 ,"#, r#"  "name" : "no en"#]
        );
    }
}
