//! Files that people write in TOML: agents, policies, specs, scripts.
//!
//! What a file may hold is a const table of [`Keys`]; help and README print it. [`read`] checks the whole file
//! against its table, so that every error is reported at once with its line, what is allowed and what was
//! probably meant. Serde then turns the values into the types of the program ([`Section`]).

use crate::wording::{self, FailureKind};
pub use check::{
    COUNT, Checker, ConfigError, ConfigErrors, Key, Keys, Section, Shape, TEXTS, TableRule,
    duration, looks_like_key, millis, one_or_many,
};
pub(crate) use check::{keys, quoted};
use toml::de::DeTable;

pub(crate) mod check;

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

// The operator's own wordings: a file with a table for each, under its name.

/// Most wordings of one file.
const MOST: usize = 500;
/// Longest name and longest title, in characters.
const NAME: usize = 100;

/// A wording of the operator's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWording {
    pub name: String,
    /// What menus call it.
    pub title: String,
    /// The kinds of failures that it is for; empty for all.
    pub kinds: Vec<FailureKind>,
    pub template: String,
}

keys! {
    static WORDING_KEYS = "a wording" {
        template [required]: Template, "what the model reads";
        kinds: List("kinds of failures", &Word(Some("a kind of failure"), kind_names)),
            "the kinds of failures that it is for; all without it";
        title: CheckedText(check_title), "what menus call it; its name without it";
    }
}

/// Reads wordings. What is wrong with one costs that one; the others are read.
pub fn read_wordings(text: &str) -> (Vec<OwnWording>, Option<ConfigErrors>) {
    let mut checker = Checker::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        checker.push(at, error.message());
    }
    let mut wordings = Vec::new();
    for (number, (name, node)) in table.get_ref().iter().enumerate() {
        let (name, at) = (name.get_ref().as_ref(), name.span().start);
        if number == MOST {
            let text = format!("more than {MOST} wordings; the rest is left out");
            checker.push(at, text);
            break;
        }
        if !(1..=NAME).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            let text = format!("a name has 1 to {NAME} characters on one line");
            checker.push(at, text);
            continue;
        }
        let Some(members) = node.get_ref().as_table() else {
            let hint = format!("write `[{name}]` and `template = \"...\"` below it");
            checker.push(at, format!("`{name}` is not a wording: {hint}"));
            continue;
        };
        let members = Section::new(at, members);
        checker.check(&WORDING_KEYS, members);
        wordings.extend(wording(name, members));
    }
    (wordings, checker.finish(Some(())).err())
}

/// A wording whose template and kinds can be used.
fn wording(name: &str, members: Section<'_>) -> Option<OwnWording> {
    let template = members.text("template")?;
    wording::check(template).ok()?;
    let kinds = match members.get::<Vec<String>>("kinds") {
        Some(kinds) => { kinds.iter() }
            .map(|kind| FailureKind::named(kind))
            .collect::<Option<_>>()?,
        None if members.has("kinds") => return None,
        None => Vec::new(),
    };
    let title = members.text("title");
    let title = title.filter(|title| check_title(title).is_ok());
    Some(OwnWording {
        name: name.to_owned(),
        title: title.unwrap_or(name).to_owned(),
        kinds,
        template: template.to_owned(),
    })
}

fn check_title(title: &str) -> Result<(), String> {
    match title.chars().count() <= NAME {
        true => Ok(()),
        false => Err(format!("has {NAME} characters at most")),
    }
}

fn kind_names() -> Vec<&'static str> {
    FailureKind::all().map(FailureKind::name).collect()
}
