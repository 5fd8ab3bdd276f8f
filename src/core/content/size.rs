//! How large a text is, in the unit that says most.

use std::fmt;

/// The size of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Lines(usize),
    /// Of one line, or of a text that is too long to be counted in lines.
    Bytes(u64),
}

/// From how many bytes on the size of a single line is shown.
const LONG_LINE: usize = 240;

impl Size {
    pub fn of(text: &str) -> Self {
        let lines = text.lines().count();
        match lines {
            0 | 1 if text.len() >= LONG_LINE => Self::Bytes(text.len() as u64),
            lines => Self::Lines(lines),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Lines(0) => write!(out, "empty"),
            Self::Lines(1) => write!(out, "1 line"),
            Self::Lines(lines) => write!(out, "{lines} lines"),
            Self::Bytes(bytes) if bytes < 1_000 => write!(out, "{bytes} B"),
            Self::Bytes(bytes) if bytes < 1_000_000 => {
                write!(out, "{:.1} KB", bytes as f64 / 1e3)
            }
            Self::Bytes(bytes) => write!(out, "{:.1} MB", bytes as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_one_long_line_is_weighed() {
        let long = "x".repeat(1_500);
        let table = [
            ("", "empty"),
            ("ok", "1 line"),
            ("a\nb\n", "2 lines"),
            (&long, "1.5 KB"),
        ];
        for (text, words) in table {
            assert_eq!(Size::of(text).to_string(), words);
        }
        assert_eq!(Size::Bytes(2_340_000).to_string(), "2.3 MB");
    }
}
