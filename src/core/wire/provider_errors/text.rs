//! Folds the many renderings of one error text into one: escapes undone, quotes dropped, whitespace single.
//!
//! A message reaches us as JSON, as JSON inside JSON, as a Python dictionary, wrapped by a terminal or coloured
//! by a logger. With quotes and escapes gone, `'tool_calls'`, `\"tool_calls\"` and `` `tool_calls` `` are the
//! same word, and `param: input` is found in all of them. Nothing is parsed, so nesting costs nothing.

/// Of a longer text the first and the last part are read; errors stand at the edges of a log.
const HEAD_BYTES: usize = 192 * 1024;
const TAIL_BYTES: usize = 64 * 1024;

/// A text without quotes and escapes, twice: as written, and in lower case. Byte positions agree.
pub(crate) struct FoldedText {
    pub(crate) text: String,
    pub(crate) lower: String,
}

impl FoldedText {
    pub(crate) fn new(source: &str) -> FoldedText {
        let mut folder = Folder {
            text: String::with_capacity(source.len().min(HEAD_BYTES + TAIL_BYTES)),
        };
        if source.len() <= HEAD_BYTES + TAIL_BYTES {
            folder.fold(source);
        } else {
            folder.fold(&source[..source.floor_char_boundary(HEAD_BYTES)]);
            folder.push(' ');
            folder.fold(&source[source.ceil_char_boundary(source.len() - TAIL_BYTES)..]);
        }
        let lower = folder.text.to_ascii_lowercase();
        FoldedText {
            text: folder.text,
            lower,
        }
    }
}

struct Folder {
    text: String,
}

impl Folder {
    fn fold(&mut self, source: &str) {
        let mut chars = source.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => self.escape(&mut chars),
                '\u{1b}' => skip_colour(&mut chars),
                _ => self.push(char),
            }
        }
    }

    /// Reads what follows a backslash. JSON inside JSON doubles them, so any number counts as one.
    fn escape(&mut self, chars: &mut std::str::Chars<'_>) {
        let rest = chars.as_str().trim_start_matches('\\');
        *chars = rest.chars();
        match chars.next() {
            Some('n' | 'r' | 't') => self.push(' '),
            Some('u') => match rest
                .get(1..5)
                .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            {
                Some(code) => {
                    *chars = rest[5..].chars();
                    self.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                None => self.push('u'),
            },
            Some(other) => self.push(other),
            None => {}
        }
    }

    fn push(&mut self, char: char) {
        match char {
            '\'' | '"' | '`' | '\u{b4}' | '\u{2018}'..='\u{201f}' => {}
            // The frames that terminals draw around a message.
            '\u{2500}'..='\u{257f}' => self.space(),
            _ if char.is_whitespace() || char.is_control() => self.space(),
            _ => self.text.push(char),
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

/// Skips a terminal colour (`ESC [ ... m`).
fn skip_colour(chars: &mut std::str::Chars<'_>) {
    if let Some(rest) = chars.as_str().strip_prefix('[') {
        let length = rest
            .find(|char: char| ('@'..='~').contains(&char))
            .map_or(0, |end| end + 1);
        *chars = rest[length..].chars();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(source: &str) -> String {
        FoldedText::new(source).text
    }

    #[test]
    fn quotes_of_every_kind_vanish() {
        assert_eq!(
            folded("`a` 'b' \"c\" \u{2018}d\u{2019} \u{201c}e\u{201d}"),
            "a b c d e"
        );
    }

    #[test]
    fn escapes_of_json_inside_json_are_undone() {
        assert_eq!(
            folded(r#"{\\\"message\\\":\\\"a\\nb\\u0027\\\"}"#),
            "{message:a b}"
        );
        assert_eq!(
            folded(r"tools\[0\].function\_declarations"),
            "tools[0].function_declarations"
        );
    }

    #[test]
    fn lines_frames_and_colours_become_single_spaces() {
        assert_eq!(folded("a\r\n  │ b │\n\u{1b}[31mc\u{1b}[0m"), "a b c");
    }

    #[test]
    fn broken_escapes_do_no_harm() {
        for source in [
            "\\",
            "\\u",
            "\\u12",
            "\\uD800",
            "\\uxyzé",
            "\\é",
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[31",
        ] {
            folded(source);
        }
    }

    #[test]
    fn both_spellings_have_the_same_positions() {
        let folded = FoldedText::new("ÄÖ İ Tool X");
        assert_eq!(folded.text.len(), folded.lower.len());
    }
}
