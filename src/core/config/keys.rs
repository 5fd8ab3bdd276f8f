//! The keys of a file as const tables, from which checks, messages and help come.

use std::fmt::{self, Write as _};

/// The keys of one table of a file.
#[derive(Debug)]
pub struct Keys {
    /// The table as messages and help call it: `[model]`, or `the file` for the top level.
    pub place: &'static str,
    pub keys: &'static [Key],
    /// What holds for several keys together.
    pub rules: &'static [Rule],
}

/// A key that a table may hold.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// What it means, for the help.
    pub meaning: &'static str,
    /// What holds where it is left out, as it would be written in the file.
    pub default: Option<&'static str>,
    pub is_required: bool,
}

/// What a value looks like.
#[derive(Debug)]
pub enum Shape {
    /// A text that is not empty.
    Text,
    /// A text that may be empty.
    AnyText,
    /// A text that passes a check, whose error follows the name of the key in a sentence.
    CheckedText(fn(&str) -> Result<(), String>),
    /// A template of the wordings.
    Template,
    /// One of a few words; with a noun for them where they are too many to list.
    Word(Option<&'static str>, fn() -> Vec<&'static str>),
    Flag,
    /// `true` and nothing else.
    True,
    /// A whole number within these limits.
    Whole(u64, u64),
    /// A number from 0 to 1.
    Chance,
    /// A number above 0 and not above 1.
    Rate,
    /// A time such as `"30s"`, of at least so many milliseconds.
    Duration(u64),
    /// A list that is not empty, with a noun for its elements.
    List(&'static str, &'static Shape),
    /// A list that may be empty, with a noun for its elements.
    AnyList(&'static str, &'static Shape),
    /// The first shape of these that is a text, a list or a table as the value is.
    Either(&'static [Shape]),
    /// A value that JSON has, too.
    Json,
    /// A table of such values.
    JsonTable,
    /// A table of texts.
    TextTable,
    Table(&'static Keys),
    Tables(&'static Keys),
    /// Tables that are checked by whoever reads them.
    OtherTables,
    /// A table of tables, whose keys are names.
    Named(&'static Keys),
}

/// What holds for several keys of a table.
#[derive(Debug)]
pub enum Rule {
    /// They exclude each other.
    AtMostOne(&'static [&'static str]),
    AtLeastOne(&'static [&'static str]),
    /// The first ones mean nothing without one of the second.
    Needs(&'static [&'static str], &'static [&'static str]),
    /// In a list of such tables, no two have the same text under this key.
    Unique(&'static str),
    /// A list has so many of these tables at most.
    AtMost(usize),
}

/// A whole number above 0.
pub const COUNT: Shape = Shape::Whole(1, u32::MAX as u64);
pub const TEXTS: Shape = Shape::List("texts", &Shape::Text);

/// Declares a table of keys. A key that is `[required]` has to be there; `or` gives what holds without it.
macro_rules! keys {
    (
        $(#[$doc:meta])*
        $vis:vis static $table:ident = $place:literal {
            $($name:ident $([$required:ident])?: $shape:expr, $meaning:literal $(, or $default:literal)?;)*
        }
        $(rules [$($rule:expr),* $(,)?])?
    ) => {
        $(#[$doc])*
        $vis static $table: $crate::config::Keys = {
            #[allow(unused_imports)]
            use $crate::config::{COUNT, Rule::*, Shape::*, TEXTS};
            $crate::config::Keys {
                place: $place,
                keys: &[$($crate::config::Key {
                    name: stringify!($name),
                    shape: $shape,
                    meaning: $meaning,
                    default: keys!(@default $($default)?),
                    is_required: keys!(@required $($required)?),
                }),*],
                rules: &[$($($rule),*)?],
            }
        };
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@required) => { false };
    (@required required) => { true };
}
pub(crate) use keys;

impl Keys {
    pub(super) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// The keys as a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut table = "| key | value | meaning |\n|---|---|---|\n".to_owned();
        for key in self.keys {
            let (name, shape, meaning) = (key.name, &key.shape, key.meaning);
            let rest = match key.default {
                Some(default) => format!("; {default} without it"),
                None if key.is_required => "; needed".to_owned(),
                None => String::new(),
            };
            // Writing to a text cannot fail.
            let _ = writeln!(table, "| `{name}` | {shape} | {meaning}{rest} |");
        }
        table
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text | Self::AnyText | Self::CheckedText(_) => f.write_str("a text"),
            Self::Template => f.write_str("a template"),
            Self::Word(Some(noun), _) => f.write_str(noun),
            Self::Word(None, words) => {
                let words = words().into_iter().map(|word| format!("\"{word}\""));
                f.write_str(&with_or(&words.collect::<Vec<_>>()))
            }
            Self::Flag => f.write_str("true or false"),
            Self::True => f.write_str("true"),
            Self::Whole(0, u64::MAX) => f.write_str("a whole number"),
            Self::Whole(1, most) if *most >= u32::MAX.into() => {
                f.write_str("a whole number above 0")
            }
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Chance => f.write_str("a number from 0 to 1"),
            Self::Rate => f.write_str("a number above 0 and not above 1"),
            Self::Duration(least) => {
                let above = if *least > 0 { " above zero" } else { "" };
                write!(
                    f,
                    "a time{above} such as \"500ms\", \"30s\" or \"2m\", a day at most"
                )
            }
            Self::List(items, _) | Self::AnyList(items, _) => write!(f, "a list of {items}"),
            Self::Either(shapes) => {
                let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
                f.write_str(&with_or(&shapes))
            }
            Self::Json => f.write_str("any value"),
            Self::JsonTable => f.write_str("a table"),
            Self::TextTable => f.write_str("a table of texts"),
            Self::Table(_) => f.write_str("a table with keys of its own"),
            Self::Tables(_) | Self::OtherTables => f.write_str("tables with keys of their own"),
            Self::Named(_) => f.write_str("tables by name"),
        }
    }
}

/// `a, b or c`.
fn with_or(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} or {last}", before.join(", ")),
    }
}
