//! A regular expression, as it matches in a text that is shown and as it may match in JSON.
//!
//! In JSON a character may be escaped, and neither a dot nor a negated class may leave the string. Anchors mean
//! the lines that are shown, so they are dropped there: what is found in JSON is a candidate, which the text that
//! is shown confirms.

use super::spelling::{is_plain, write_spellings};
use regex::{Regex, RegexBuilder, bytes};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};
use regex_syntax::{Error, ParserBuilder};
use std::fmt::Write as _;
use std::ops::Range;

/// The bytes of JSON that a match has at most, where it goes on after the block in which it begins.
pub(super) const LONGEST_MATCH: usize = 64 * 1024;
/// Classes of so many characters are spelled one by one.
const FEW: usize = 4;
/// A character that JSON escapes, at any depth of JSON in JSON.
const ESCAPED: &str = r#"\\+(?:["/bfnrt]|u[0-9A-Fa-f]{4})?"#;

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    #[error("{error} at character {at}")]
    Syntax { error: String, at: usize },
    #[error("this expression matches the empty text everywhere")]
    MatchesNothing,
    #[error("this expression is too large")]
    TooLarge,
}

#[derive(Debug, Clone)]
pub(super) struct Expression {
    shown: Regex,
    in_json: bytes::Regex,
}

impl Expression {
    /// In the syntax of the crate `regex`. Without capital letters it matches in any case.
    pub(super) fn new(pattern: &str) -> Result<Self, RegexError> {
        let any_case = !has_capitals(pattern);
        let mut parser = ParserBuilder::new();
        let parser = parser.case_insensitive(any_case).multi_line(true);
        let hir = parser.build().parse(pattern).map_err(syntax_error)?;
        if hir.properties().minimum_len() == Some(0) {
            return Err(RegexError::MatchesNothing);
        }
        let mut in_json = String::new();
        write_for_json(&mut in_json, &hir);
        let shown = RegexBuilder::new(pattern)
            .case_insensitive(any_case)
            .multi_line(true)
            .build();
        Ok(Self {
            shown: shown.map_err(|_| RegexError::TooLarge)?,
            in_json: bytes::Regex::new(&in_json).map_err(|_| RegexError::TooLarge)?,
        })
    }

    /// The first candidate that begins at or after `from`.
    pub(super) fn find_in_json(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        self.in_json.find_at(bytes, from).map(|found| found.range())
    }

    pub(super) fn ranges_in(&self, text: &str) -> Vec<Range<usize>> {
        self.shown.find_iter(text).map(|it| it.range()).collect()
    }
}

fn syntax_error(error: Error) -> RegexError {
    let (error, at) = match &error {
        Error::Parse(error) => (error.kind().to_string(), error.span().start.column),
        Error::Translate(error) => (error.kind().to_string(), error.span().start.column),
        _ => (error.to_string(), 1),
    };
    RegexError::Syntax { error, at }
}

/// Whether a letter of the expression is a capital one: that of `\S` or `\p{Lu}` is not.
fn has_capitals(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let class = letters.next();
                if matches!(class, Some('p' | 'P' | 'x' | 'u' | 'U')) && letters.next() == Some('{')
                {
                    letters.by_ref().find(|it| *it == '}');
                }
            }
            _ if letter.is_uppercase() => return true,
            _ => {}
        }
    }
    false
}

/// Writes what matches in JSON wherever the expression matches in its text, and as few characters as possible.
fn write_for_json(pattern: &mut String, hir: &Hir) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => pattern.push_str("(?:)"),
        HirKind::Literal(literal) => {
            for character in String::from_utf8_lossy(&literal.0).chars() {
                write_character(pattern, character);
            }
        }
        HirKind::Class(Class::Unicode(class)) => write_class(pattern, class),
        HirKind::Class(Class::Bytes(class)) => {
            // Without Unicode a class has ASCII only: a text is UTF-8.
            let class = class.to_unicode_class();
            write_class(pattern, &class.unwrap_or_else(ClassUnicode::empty));
        }
        HirKind::Repetition(repeated) => {
            pattern.push_str("(?:");
            write_for_json(pattern, &repeated.sub);
            let most = repeated.max.map_or(String::new(), |most| most.to_string());
            let _infallible = write!(pattern, "){{{},{most}}}?", repeated.min);
        }
        HirKind::Capture(capture) => write_for_json(pattern, &capture.sub),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_for_json(pattern, part)),
        HirKind::Alternation(parts) => {
            for (number, part) in parts.iter().enumerate() {
                pattern.push_str(if number == 0 { "(?:" } else { "|" });
                write_for_json(pattern, part);
            }
            pattern.push(')');
        }
    }
}

fn write_character(pattern: &mut String, character: char) {
    pattern.push_str("(?-u:");
    write_spellings(pattern, character, false, false);
    pattern.push(')');
}

fn write_class(pattern: &mut String, class: &ClassUnicode) {
    let characters = || class.iter().flat_map(|range| range.start()..=range.end());
    if (1..=FEW).contains(&characters().take(FEW + 1).count()) {
        for (number, character) in characters().enumerate() {
            pattern.push_str(if number == 0 { "(?:" } else { "|" });
            write_character(pattern, character);
        }
        return pattern.push(')');
    }
    let mut unescaped = class.clone();
    let escaped = [('\0', '\x1f'), ('"', '"'), ('\\', '\\')];
    let escaped = escaped.map(|(first, last)| ClassUnicodeRange::new(first, last));
    unescaped.difference(&ClassUnicode::new(escaped));
    pattern.push_str("(?:[");
    for range in unescaped.iter() {
        let (first, last) = (u32::from(range.start()), u32::from(range.end()));
        let _infallible = write!(pattern, "\\x{{{first:x}}}-\\x{{{last:x}}}");
    }
    // A class without any character is written as what two classes have in common.
    let is_empty = unescaped.iter().next().is_none();
    pattern.push_str(if is_empty { "a&&b]" } else { "]" });
    if !characters().all(is_plain) {
        let _infallible = write!(pattern, "|{ESCAPED}");
    }
    pattern.push(')');
}

#[cfg(test)]
mod tests {
    use super::super::Needle;
    use super::*;

    /// Where a candidate begins in JSON.
    fn candidates(text: &str, json: &str) -> Vec<usize> {
        let needle = Needle::parse(text).unwrap();
        needle.find_all(json.as_bytes(), 0).collect()
    }

    fn shown(text: &str, shown: &str) -> Vec<String> {
        let ranges = Needle::parse(text).unwrap().ranges_in(shown).into_iter();
        ranges.map(|range| shown[range].to_owned()).collect()
    }

    #[test]
    fn text_between_slashes_is_an_expression_with_smart_case() {
        assert_eq!(shown("/err(or)?s?/", "Errors, err"), ["Errors", "err"]);
        assert_eq!(shown("/Err/", "Errors, err"), ["Err"]);
        assert_eq!(shown(r"/^\S+ \d+$/", "exit 1\nno exit 2"), ["exit 1"]);
        for plain in ["a/b/", "/usr/bin", "/", "//"] {
            assert!(!Needle::parse(plain).unwrap().is_expression(), "{plain}");
        }
    }

    #[test]
    fn every_match_in_a_text_has_a_candidate_in_its_json() {
        let texts = [
            "say \"hi\" to C:\\dir\\new\n\tand a/b <é> 👩 K ſ",
            "line one\nexit 12\r\n{\"a\": [1, 2]}\u{7f}",
        ];
        let patterns = [
            r"hi.",
            r"[^a-z ]{2,}",
            r"\\dir",
            r"^and",
            r"\bexit\s+\d+\b",
            r"<\w>",
            "a[/|]b",
            ".*",
            r"\p{L}\x22",
            "k",
            "S",
            r"[\r\n\t]",
            r"dir.new",
            r#"[{"}]"#,
            "(?s:one.*exit)",
            "👩|é",
            "[👩-👪]",
            "(?-u:[x-z])",
            "a(?:b|)c?",
        ];
        for text in texts {
            let once = serde_json::to_string(text).unwrap();
            let ascii: String = once.chars().map(ascii_only).collect();
            let twice = serde_json::to_string(&once).unwrap();
            for pattern in patterns.map(|it| format!("/{it}/")) {
                let found = !shown(&pattern.replace(".*", ".+"), text).is_empty();
                for json in [&once, &ascii, &twice] {
                    let has_candidate = !candidates(&pattern.replace(".*", ".+"), json).is_empty();
                    assert!(has_candidate || !found, "{pattern} in {json}");
                }
            }
        }
    }

    fn ascii_only(character: char) -> String {
        let mut units = [0; 2];
        match character.is_ascii() {
            true => character.to_string(),
            false => {
                let units = character.encode_utf16(&mut units).iter();
                units.map(|unit| format!("\\u{unit:04x}")).collect()
            }
        }
    }

    #[test]
    fn a_dot_and_a_negated_class_stay_in_their_string() {
        let json = r#"{"a":"one","b":"two"}"#;
        assert_eq!(candidates("/one.+two/", json), [0; 0]);
        assert_eq!(candidates("/one[^x]+two/", json), [0; 0]);
        assert_eq!(candidates("/one.two/", r#"{"a":"one\"two"}"#), [6]);
    }

    #[test]
    fn faults_say_where_they_are() {
        let fault = |text: &str| Needle::parse(text).unwrap_err().to_string();
        assert_eq!(fault("/a(b/"), "unclosed group at character 2");
        assert_eq!(
            fault("/[z-a]/"),
            "invalid character class range, the start must be <= the end at character 2"
        );
        assert_eq!(fault("/x*/"), RegexError::MatchesNothing.to_string());
        assert_eq!(fault("/^$/"), RegexError::MatchesNothing.to_string());
        assert_eq!(fault(r"/\w{900}{900}/"), RegexError::TooLarge.to_string());
    }
}
