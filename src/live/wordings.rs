//! The operator's own wordings: `retake/wordings.toml` in the config folder, and
//! `.retake/wordings.toml` in the project.
//!
//! ```toml
//! [polite]
//! title = "a polite one"                # optional: what menus call it
//! kinds = ["unknown-tool"]              # optional: every kind without it
//! template = "Sorry, there is no {{ tool }}."
//! ```
//!
//! The project's win over those of the config folder, and these over the library. A file or an entry that
//! cannot be used costs itself and is told with its line.

use super::files::{InputError, read_text};
use etcetera::BaseStrategy;
use retake_core::wording::{self, Kind};
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest file, in bytes.
const FILE: u64 = 1024 * 1024;
/// Most wordings of one file.
const MOST: usize = 500;
/// Longest name and longest title, in characters.
const NAME: usize = 100;
/// Most faults that are told about one file.
const MOST_FAULTS: usize = 50;

/// Where a wording comes from, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// retake brings it along.
    Library,
    /// The operator's config folder.
    Config,
    Project,
}

/// A file that may hold wordings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordingFile {
    pub path: PathBuf,
    pub origin: Origin,
}

/// A wording that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    /// Its name; unique for one kind of failure.
    pub name: &'a str,
    /// What menus call it.
    pub title: &'a str,
    pub template: &'a str,
    /// Where it comes from.
    pub origin: Origin,
}

/// A file, or an entry of one, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordingFault {
    pub path: PathBuf,
    /// The line, from 1; `None` where the file as a whole is to blame.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for WordingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The operator's own wordings, laid over the library.
#[derive(Debug, Clone, Default)]
pub struct Wordings {
    own: Vec<Own>,
    /// What could not be used.
    pub faults: Vec<WordingFault>,
}

#[derive(Debug, Clone)]
struct Own {
    name: String,
    title: String,
    kinds: Vec<Kind>,
    template: String,
    origin: Origin,
}

impl Own {
    fn is_for(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// The files to look for: in the config folder (on Linux and macOS `$XDG_CONFIG_HOME` or `~/.config`; left out
/// where no home is known) and in the project.
pub fn usual_files(project: &Path) -> Vec<WordingFile> {
    let config = etcetera::choose_base_strategy().ok().map(|strategy| {
        let path = strategy.config_dir().join("retake/wordings.toml");
        let origin = Origin::Config;
        WordingFile { path, origin }
    });
    let project = WordingFile {
        path: project.join(".retake/wordings.toml"),
        origin: Origin::Project,
    };
    config.into_iter().chain([project]).collect()
}

impl Wordings {
    /// Reads the files; those that are not there are left out.
    pub fn read(files: &[WordingFile]) -> Self {
        let mut wordings = Self::default();
        for file in files {
            let mut reader = Reader {
                file,
                text: String::new(),
                wordings: &mut wordings,
                faults: 0,
            };
            reader.read();
        }
        wordings
            .own
            .sort_by_key(|own| std::cmp::Reverse(own.origin));
        wordings
    }

    /// The wordings for a kind of failure: the operator's own, then those of the library whose names they leave
    /// free. The default of the library keeps its place before the others of the library.
    pub fn of(&self, kind: Kind) -> Vec<Choice<'_>> {
        let own = self.own.iter().filter(|own| own.is_for(kind));
        let own = own.map(|own| Choice {
            name: &own.name,
            title: &own.title,
            template: &own.template,
            origin: own.origin,
        });
        let library = wording::library(kind).map(|wording| Choice {
            name: wording.name,
            title: wording.title,
            template: wording.template,
            origin: Origin::Library,
        });
        let mut choices: Vec<Choice<'_>> = Vec::new();
        for choice in own.chain(library) {
            if choices.iter().all(|known| known.name != choice.name) {
                choices.push(choice);
            }
        }
        choices
    }

    /// The wording of this name for a kind of failure.
    pub fn find(&self, kind: Kind, name: &str) -> Option<Choice<'_>> {
        let mut choices = self.of(kind).into_iter();
        choices.find(|choice| choice.name == name)
    }
}

struct Reader<'a> {
    file: &'a WordingFile,
    text: String,
    wordings: &'a mut Wordings,
    faults: usize,
}

impl Reader<'_> {
    fn read(&mut self) {
        match read_text(&self.file.path, FILE) {
            Ok(text) => self.text = text,
            Err(InputError::Missing) => return,
            Err(InputError::EmptyFolder | InputError::NotAFile(_)) => {
                return self.fault(None, "this is no file".to_owned());
            }
            Err(error) => return self.fault(None, error.to_string()),
        }
        let text = std::mem::take(&mut self.text);
        let (table, errors) = DeTable::parse_recoverable(&text);
        self.text.clone_from(&text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            self.fault(Some(at), error.message().to_owned());
        }
        let entries = table.get_ref();
        for (name, entry) in entries.iter().take(MOST) {
            self.entry(name, entry);
        }
        if let Some((name, _)) = entries.iter().nth(MOST) {
            let at = name.span().start;
            self.fault(
                Some(at),
                format!("more than {MOST} wordings; the rest is left out"),
            );
        }
    }

    fn entry(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, entry: &Spanned<DeValue<'_>>) {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        if name.is_empty() || name.chars().count() > NAME || name.chars().any(char::is_control) {
            let message = format!("a name has 1 to {NAME} characters and stands on one line");
            return self.fault(Some(at), message);
        }
        let DeValue::Table(members) = entry.get_ref() else {
            let message = format!(
                "`{name}` is no wording: write `[{name}]` and `template = \"...\"` below it"
            );
            return self.fault(Some(at), message);
        };
        let mut own = Own {
            name: name.to_owned(),
            title: name.to_owned(),
            kinds: Vec::new(),
            template: String::new(),
            origin: self.file.origin,
        };
        let mut is_usable = true;
        for (key, value) in members {
            is_usable &= self.member(&mut own, key, value);
        }
        if !members.contains_key("template") {
            return self.fault(Some(at), format!("`{name}` has no `template`"));
        }
        if is_usable {
            self.wordings.own.push(own);
        }
    }

    /// Takes a member over; whether the wording can still be used.
    fn member(
        &mut self,
        own: &mut Own,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> bool {
        if value.span().is_empty() {
            // The value is not there: a fault of the syntax, told already.
            return false;
        }
        let at = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("template", DeValue::String(template)) => return self.template(own, template, value),
            ("title", DeValue::String(title)) if title.chars().count() <= NAME => {
                own.title = title.to_string();
            }
            ("title", _) => {
                self.fault(
                    Some(at),
                    format!("a title is a text of {NAME} characters at most"),
                );
            }
            ("kinds", DeValue::Array(kinds)) => {
                let known = kinds
                    .iter()
                    .map(|kind| self.kind(kind))
                    .collect::<Option<Vec<_>>>();
                own.kinds = known.unwrap_or_default();
                return !own.kinds.is_empty();
            }
            (key @ ("template" | "kinds"), _) => {
                let wanted = if key == "template" {
                    "a text"
                } else {
                    "a list of texts"
                };
                self.fault(Some(at), format!("`{key}` is {wanted}"));
                return false;
            }
            (other, _) => {
                let at = key.span().start;
                let message =
                    format!("`{other}` is not known; there are template, kinds and title");
                self.fault(Some(at), message);
            }
        }
        true
    }

    fn template(&mut self, own: &mut Own, template: &str, value: &Spanned<DeValue<'_>>) -> bool {
        let Err(fault) = wording::check(template) else {
            own.template = template.to_owned();
            return true;
        };
        let line = fault.line_in_toml(&self.text, value.span().start);
        self.tell(Some(line), format!("the template, {fault}"));
        false
    }

    fn kind(&mut self, kind: &Spanned<DeValue<'_>>) -> Option<Kind> {
        let name = kind.get_ref().as_str();
        let found = name.and_then(Kind::named);
        if found.is_none() {
            let names = Kind::all().map(Kind::name).collect::<Vec<_>>().join(", ");
            let name = name.unwrap_or("this");
            let message = format!("`{name}` is no kind of failure; there are {names}");
            self.fault(Some(kind.span().start), message);
        }
        found
    }

    fn fault(&mut self, at: Option<usize>, message: String) {
        let line = at.map(|at| self.line(at));
        self.tell(line, message);
    }

    fn tell(&mut self, line: Option<usize>, message: String) {
        self.faults += 1;
        let message = match self.faults {
            ..MOST_FAULTS => message,
            MOST_FAULTS => "more faults follow that are not told".to_owned(),
            _ => return,
        };
        let path = self.file.path.clone();
        let fault = WordingFault {
            path,
            line,
            message,
        };
        self.wordings.faults.push(fault);
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
