//! Files that people write in TOML: agents, policies, specs, scripts.
//!
//! What a file may hold is a const table of [`Keys`]; help and README print it. [`read`] checks the whole file
//! against its table, so that every error is reported at once with its line, what is allowed and what was
//! probably meant. Serde then turns the values into the types of the program ([`Section`]).

mod check;
mod keys;
mod wordings;

pub(crate) use check::quoted;
pub use check::{
    Checker, ConfigError, ConfigErrors, Section, duration, looks_like_key, millis, one_or_many,
};
pub(crate) use keys::keys;
pub use keys::{COUNT, Key, Keys, Rule, Shape, TEXTS};
pub use wordings::{OwnWording, read_wordings};

use toml::de::DeTable;

/// Reads a file whose top level has these keys.
///
/// `build` makes the value from what was checked. It also runs where something is wrong, so that it can report
/// further errors to the [`Checker`]; where the syntax is broken it does not.
///
/// # Errors
/// All that is wrong with the file.
pub fn read<T>(
    text: &str,
    most_bytes: usize,
    keys: &'static Keys,
    build: impl FnOnce(Section<'_>, &mut Checker<'_>) -> Option<T>,
) -> Result<T, ConfigErrors> {
    let mut checker = Checker::new(text);
    if text.len() > most_bytes {
        checker.push(0, format!("more than {} KB", most_bytes / 1024));
        return checker.finish(None);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let is_broken = !errors.is_empty();
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        checker.push_syntax(at, error.message());
    }
    let file = Section::new(0, table.get_ref());
    checker.check(keys, file);
    let value = (!is_broken).then(|| build(file, &mut checker));
    checker.finish(value.flatten())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
