//! What is wrong with a file.

use std::fmt;

/// One thing that is wrong. The text quotes the file: draw it through [`crate::safe_text::SafeText`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, what is allowed, and what was probably meant.
    pub text: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// All that is wrong with a file, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    /// 50 at most.
    pub errors: Vec<ConfigError>,
    /// How many more there are.
    pub more: usize,
}

impl std::error::Error for ConfigErrors {}

impl ConfigErrors {
    /// The errors, each on a line that begins with `path:line:`.
    pub fn in_file(&self, path: &str) -> String {
        let lines = self.errors.iter();
        let lines = lines.map(|error| format!("{path}:{}: {}", error.line, error.text));
        self.joined(lines, &format!("{path}: "))
    }

    fn joined(&self, lines: impl Iterator<Item = String>, before_more: &str) -> String {
        let mut lines: Vec<String> = lines.collect();
        if self.more > 0 {
            lines.push(format!("{before_more}and {} more", self.more));
        }
        lines.join("\n")
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.joined(self.errors.iter().map(ToString::to_string), ""))
    }
}
