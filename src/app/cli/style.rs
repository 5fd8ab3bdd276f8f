//! Colours of the printed reports: few, and none where nobody sees them.

use clap::ValueEnum;
use std::fmt;
use std::io::IsTerminal;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is "dumb".
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    on: bool,
}

pub(super) struct Painted<T> {
    code: Option<&'static str>,
    word: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "\x1b[{code}m{}\x1b[0m", self.word),
            None => self.word.fmt(f),
        }
    }
}

impl Palette {
    pub(super) fn of_stdout(color: Color) -> Self {
        Self::choose(color, std::io::stdout().is_terminal())
    }

    pub(super) fn of_stderr() -> Self {
        Self::choose(Color::Auto, std::io::stderr().is_terminal())
    }

    fn choose(color: Color, is_terminal: bool) -> Self {
        let refused = || {
            std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
        };
        let on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !refused(),
        };
        Self { on }
    }

    pub(super) fn is_on(self) -> bool {
        self.on
    }

    fn paint<T>(self, code: &'static str, word: T) -> Painted<T> {
        Painted {
            code: self.on.then_some(code),
            word,
        }
    }

    pub(super) fn error<T>(self, word: T) -> Painted<T> {
        self.paint("1;31", word)
    }

    pub(super) fn warning<T>(self, word: T) -> Painted<T> {
        self.paint("1;33", word)
    }

    /// What is worth knowing.
    pub(super) fn info<T>(self, word: T) -> Painted<T> {
        self.paint("1;36", word)
    }

    pub(super) fn added<T>(self, word: T) -> Painted<T> {
        self.paint("32", word)
    }

    pub(super) fn bold<T>(self, word: T) -> Painted<T> {
        self.paint("1", word)
    }

    /// What is beside the point.
    pub(super) fn dim<T>(self, word: T) -> Painted<T> {
        self.paint("2", word)
    }

    /// The word of a severity in its colour.
    pub(super) fn severity(self, severity: retake_core::rules::Severity) -> Painted<&'static str> {
        use retake_core::rules::Severity;
        match severity {
            Severity::Error => self.error(severity.word()),
            Severity::Warning => self.warning(severity.word()),
            Severity::Info => self.info(severity.word()),
        }
    }
}
