//! Source code as pieces with looks, by the name of its file or of its fence: comments, strings, numbers, keywords.
//!
//! One walk over each line with a table per language, and nothing that could go back: the work is that of reading
//! the text once. A line is cut nowhere and no letter of it changes. What a language is recognised by here is
//! enough to read its code; it is not parsed.

use super::look::{Look, StyledLine};
use crate::bundled;
use serde::Deserialize;
use std::sync::LazyLock;

/// Longer lines are generated: they stay plain.
const LONGEST: usize = 2_000;
/// Bytes of a text that get looks; the rest stays plain.
const MOST: usize = 256 * 1024;

/// What the lines of a language are distinguished by. `languages.toml` holds them, and says what each member is.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    names: Vec<String>,
    #[serde(default = "slashes")]
    comments: Vec<String>,
    #[serde(default = "stars")]
    block: Vec<String>,
    #[serde(default)]
    long_strings: Vec<String>,
    #[serde(default = "both_quotes")]
    quotes: String,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    shape: Shape,
}

fn slashes() -> Vec<String> {
    vec!["//".to_owned()]
}

fn stars() -> Vec<String> {
    vec!["/*".to_owned(), "*/".to_owned()]
}

fn both_quotes() -> String {
    "\"'".to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shape {
    #[default]
    Words,
    AnyCase,
    Letters,
    Keys(char),
    Tags,
}

static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| bundled::rows(include_str!("languages.toml")));

/// The language of a file or of a fence; `None` where it is none that is known.
pub fn language_of(name: &str) -> Option<&'static Language> {
    let file = name.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let file = file.to_ascii_lowercase();
    let extension = file.rsplit('.').next().unwrap_or_default();
    let mut all = LANGUAGES.iter();
    all.find(|it| {
        it.names
            .iter()
            .any(|name| *name == file || name == extension)
    })
}

/// Gives the lines of a text their looks, one after the other.
#[derive(Debug, Clone)]
pub struct Highlighter {
    language: &'static Language,
    /// What ends the comment or string that is open at the end of a line, and its look.
    open: Option<(&'static str, Look)>,
    /// Bytes that may still be looked at.
    left: usize,
}

impl Highlighter {
    /// At the beginning of a text.
    pub fn new(language: &'static Language) -> Self {
        Self {
            language,
            open: None,
            left: MOST,
        }
    }

    /// Lines are left out: the next one begins a statement, as far as anyone knows.
    pub fn skip(&mut self) {
        self.open = None;
    }

    /// The next line, without its end, in pieces.
    pub fn line<'t>(&mut self, line: &'t str) -> Vec<(Look, &'t str)> {
        if line.len() > LONGEST.min(self.left) {
            return vec![(Look::Plain, line)];
        }
        self.left -= line.len();
        let mut ends: Vec<(Look, usize)> = Vec::new();
        let mut at = 0;
        if let Some((close, look)) = self.open {
            at = match line.find(close) {
                Some(end) => {
                    self.open = None;
                    end + close.len()
                }
                None => line.len(),
            };
            ends.push((look, at));
        } else if let Shape::Keys(sign) = self.language.shape {
            at = key(line, sign);
            ends.push((Look::Keyword, at));
        }
        while at < line.len() {
            let (look, length) = self.token(&line[..at], &line[at..]);
            at += length;
            match ends.last_mut() {
                Some((last, end)) if *last == look => *end = at,
                _ => ends.push((look, at)),
            }
        }
        let mut start = 0;
        let pieces = ends.into_iter().map(|(look, end)| {
            let piece = &line[start..end];
            start = end;
            (look, piece)
        });
        pieces.filter(|(_, piece)| !piece.is_empty()).collect()
    }

    /// The look and the length of what comes next, at least one character.
    fn token(&mut self, before: &str, rest: &str) -> (Look, usize) {
        let language = self.language;
        let first = rest.chars().next().unwrap_or_default();
        if is_comment(language, before, rest) {
            return (Look::Comment, rest.len());
        }
        let block = match &language.block[..] {
            [open, close] => Some(((open, close), Look::Comment)),
            _ => None,
        };
        let strings = language.long_strings.iter();
        let strings = strings.map(|mark| ((mark, mark), Look::Text));
        for ((open, close), look) in block.into_iter().chain(strings) {
            if let Some(inside) = rest.strip_prefix(open.as_str()) {
                return match inside.find(close.as_str()) {
                    Some(end) => (look, open.len() + end + close.len()),
                    None => {
                        self.open = Some((close, look));
                        (look, rest.len())
                    }
                };
            }
        }
        if language.quotes.contains(first) {
            return (Look::Text, string(rest, first));
        }
        if first == '\'' && language.shape == Shape::Letters {
            return letter(rest);
        }
        if first == '<' && language.shape == Shape::Tags {
            let is_name = |letter: char| letter.is_alphanumeric() || "/-:!".contains(letter);
            return (Look::Keyword, 1 + while_is(&rest[1..], is_name));
        }
        if first.is_ascii_digit() {
            let is_digit = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
            return (Look::Number, while_is(rest, is_digit));
        }
        let length = while_is(rest, |letter| letter.is_alphanumeric() || letter == '_');
        let word = &rest[..length];
        let is_keyword = match language.shape {
            Shape::AnyCase => {
                let mut keywords = language.keywords.iter();
                keywords.any(|keyword| keyword.eq_ignore_ascii_case(word))
            }
            _ => language.keywords.iter().any(|keyword| keyword == word),
        };
        match is_keyword {
            true => (Look::Keyword, length),
            false => (Look::Plain, length.max(first.len_utf8())),
        }
    }
}

/// Whether a comment begins that ends with the line.
fn is_comment(language: &Language, before: &str, rest: &str) -> bool {
    let is_apart = before.is_empty() || before.ends_with([' ', '\t', ';']);
    let mut marks = language.comments.iter();
    marks.any(|mark| rest.starts_with(mark) && (is_apart || mark == "//"))
}

/// The length of the key that a line begins with, of a section's head all of it; 0 where there is none.
fn key(line: &str, sign: char) -> usize {
    let start = line.trim_start_matches([' ', '\t', '-']);
    let indent = line.len() - start.len();
    if sign == '=' && start.starts_with('[') {
        return line.rfind(']').map_or(0, |end| end + 1);
    }
    let Some((name, after)) = start.split_once(sign) else {
        return 0;
    };
    let name = name.trim_end();
    let is_name = |letter: char| letter.is_alphanumeric() || "_-./$@\"'".contains(letter);
    let ends = sign == '=' || after.is_empty() || after.starts_with(' ');
    match ends && !name.is_empty() && name.chars().all(is_name) {
        true => indent + name.len(),
        false => 0,
    }
}

/// The length of a string with its quotes; to the end of the line where it is not closed.
fn string(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A letter in quotes; else the quote alone, which begins a lifetime.
fn letter(text: &str) -> (Look, usize) {
    let inside = &text[1..];
    let first = inside.chars().next().unwrap_or_default();
    let length = match first {
        '\\' => inside[1..]
            .find('\'')
            .filter(|end| *end < 10)
            .map(|end| end + 3),
        _ => inside[first.len_utf8().min(inside.len())..]
            .starts_with('\'')
            .then(|| first.len_utf8() + 2),
    };
    length.map_or((Look::Plain, 1), |length| (Look::Text, length))
}

/// How many bytes the letters take that are so.
fn while_is(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is(letter)).unwrap_or(text.len())
}

/// The lines of a file. Where a tool numbered them, the numbers are faint and other lines its own words.
pub fn code_lines(text: &str, language: &'static Language) -> Vec<StyledLine> {
    let mut highlighter = Highlighter::new(language);
    let is_numbered = text.lines().next().is_some_and(|line| numbered(line) > 0);
    let lines = text.lines().map(|line| {
        let (number, code) =
            line.split_at(numbered(line).min(if is_numbered { usize::MAX } else { 0 }));
        let mut styled = StyledLine::default();
        styled.push(Look::Faint, number);
        match is_numbered && number.is_empty() {
            true => styled.push(Look::Plain, code),
            false => {
                for (look, text) in highlighter.line(code) {
                    styled.push(look, text);
                }
            }
        }
        styled
    });
    lines.collect()
}

/// The length of the number that `cat -n` and its like put before a line; 0 where there is none.
fn numbered(line: &str) -> usize {
    let digits = line.trim_start();
    let after = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let sign = ['→', '\t'].iter().find(|sign| after.starts_with(**sign));
    match sign {
        Some(sign) if after.len() < digits.len() => line.len() - after.len() + sign.len_utf8(),
        _ => 0,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The pieces with a look of their own.
    fn looks(name: &str, text: &str) -> Vec<(Look, String)> {
        let lines = code_lines(text, language_of(name).unwrap()).into_iter();
        let pieces = lines.flat_map(|line| line.pieces);
        pieces.filter(|(look, _)| *look != Look::Plain).collect()
    }

    #[test]
    fn languages_are_known_by_file_and_by_fence() {
        for name in [
            "src/main.rs",
            "C:\\x\\A.RS",
            "rust",
            "Makefile",
            "a/Dockerfile",
            "x.test.tsx",
            "```".trim_matches('`'),
        ] {
            assert_eq!(language_of(name).is_some(), !name.is_empty(), "{name}");
        }
        for name in ["notes.txt", "README", "rs.bak", "/"] {
            assert_eq!(language_of(name), None, "{name}");
        }
    }

    #[test]
    fn comments_strings_numbers_and_keywords_have_looks() {
        use Look::{Comment, Faint, Keyword, Number, Text};
        type Row = (&'static str, &'static str, &'static [(Look, &'static str)]);
        let table: &[Row] = &[
            (
                "a.rs",
                "let x: &'a str = \"\\\"//\"; // 'no'\n/* one\ntwo */ 'x' 0x1f returned",
                &[
                    (Keyword, "let"),
                    (Keyword, "str"),
                    (Text, "\"\\\"//\""),
                    (Comment, "// 'no'"),
                    (Comment, "/* one"),
                    (Comment, "two */"),
                    (Text, "'x'"),
                    (Number, "0x1f"),
                ],
            ),
            (
                "a.py",
                "def f(): # it's\n    \"\"\"a\n    b\"\"\" + 'c",
                &[
                    (Keyword, "def"),
                    (Comment, "# it's"),
                    (Text, "\"\"\"a"),
                    (Text, "    b\"\"\""),
                    (Text, "'c"),
                ],
            ),
            (
                "a.sql",
                "SELECT 1 -- x",
                &[(Keyword, "SELECT"), (Number, "1"), (Comment, "-- x")],
            ),
            (
                "a.sh",
                "echo $#; if x; # y",
                &[(Keyword, "if"), (Comment, "# y")],
            ),
            (
                "a.yml",
                "- name: it's 5 # x",
                &[(Keyword, "- name"), (Text, "'s 5 # x")],
            ),
            (
                "a.toml",
                "[a.b]\nkey = true",
                &[(Keyword, "[a.b]"), (Keyword, "key"), (Keyword, "true")],
            ),
            (
                "a.html",
                "<a href=\"x\">it's</a>",
                &[(Keyword, "<a"), (Text, "\"x\""), (Keyword, "</a")],
            ),
            ("a.ts", "`a\nb` + c", &[(Text, "`a"), (Text, "b`")]),
            (
                "a.rs",
                "     1→fn a() {}\n     2→\n<system-reminder>for</system-reminder>",
                &[(Faint, "     1→"), (Keyword, "fn"), (Faint, "     2→")],
            ),
        ];
        for (name, text, expected) in table {
            let expected: Vec<_> = expected.iter().map(|it| (it.0, it.1.to_owned())).collect();
            assert_eq!(looks(name, text), expected, "{text}");
        }
    }

    #[test]
    fn no_text_is_lost_and_the_work_is_bounded() {
        let hostile = [
            "\u{1b}[31m'\\",
            "'",
            "\"\\",
            "/*",
            "é'é'",
            "'\\u{1F600}'",
            "<",
            "<!--",
            "\u{202e}\"x\u{301}\"\u{301}",
            "0",
            "",
            "#",
            "- ",
            ":",
            "=",
            "[",
            "\t\"\"\"",
            "1→",
            "→",
            "\u{0}let\u{0}",
        ];
        for language in LANGUAGES.iter() {
            for (one, two) in hostile
                .iter()
                .flat_map(|one| hostile.iter().map(move |two| (one, two)))
            {
                let text = format!("{one}{two}\n{two} {one}x");
                let lines = code_lines(&text, language).into_iter();
                let lines =
                    lines.map(|line| line.pieces.into_iter().map(|it| it.1).collect::<String>());
                let lines: Vec<String> = lines.collect();
                assert_eq!(lines, text.lines().collect::<Vec<_>>());
            }
        }
        // Of five megabytes a quarter of one is looked at, and of a long line nothing.
        let rust = language_of("rs").unwrap();
        let line = "let x = 1;\n";
        let lines = code_lines(&line.repeat((5 << 20) / line.len()), rust);
        let looked_at = lines.iter().filter(|line| line.pieces.len() > 1).count();
        assert_eq!(looked_at, MOST / (line.len() - 1));
        let long = code_lines(&"let ".repeat(LONGEST), rust);
        assert_eq!(long[0].pieces.len(), 1);
    }
}
