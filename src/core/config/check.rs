//! Checks a file against its table of keys.

use crate::suggest::did_you_mean;
use crate::wording;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue, ValueDeserializer};

/// Most errors that are reported.
const MOST: usize = 50;
/// Most errors whose lines are looked up.
const MOST_KEPT: usize = 1000;
/// So many words are listed only where none of them is near.
const MANY: usize = 12;
/// Most characters of the file that a message quotes at a time.
const QUOTED: usize = 60;

/// What a message is about.
#[derive(Debug, Clone, Copy)]
struct Subject<'k> {
    key: &'k str,
    /// An element of the list that the key holds.
    is_element: bool,
}

impl<'k> Subject<'k> {
    fn key(key: &'k str) -> Self {
        Self {
            key,
            is_element: false,
        }
    }

    fn element(self) -> Self {
        Self {
            is_element: true,
            ..self
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = if self.is_element { "each of " } else { "" };
        write!(f, "{each}`{}`", quoted(self.key))
    }
}

/// Collects what is wrong with a file.
#[derive(Debug)]
pub struct Checker<'t> {
    text: &'t str,
    errors: Vec<ConfigError>,
    /// How many more there are.
    more: usize,
    is_broken: bool,
}

impl<'t> Checker<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            errors: Vec::new(),
            more: 0,
            is_broken: false,
        }
    }

    /// The syntax is broken at a byte of the file.
    pub(crate) fn push_syntax(&mut self, at: usize, text: &str) {
        self.is_broken = true;
        self.push(at, text);
    }

    /// The value where nothing is wrong.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, ConfigErrors> {
        match value {
            Some(value) if self.errors.is_empty() => return Ok(value),
            None if self.errors.is_empty() => self.push(0, "this file cannot be used"),
            _ => {}
        }
        self.errors.sort_by_key(|error| error.line);
        let more = self.errors.len().saturating_sub(MOST) + self.more;
        self.errors.truncate(MOST);
        let errors = self.errors;
        Err(ConfigErrors { errors, more })
    }

    /// Whether nothing was found so far.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// The line of a byte of the file, from 1.
    pub fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    /// Something is wrong at a byte of the file.
    pub fn push(&mut self, at: usize, text: impl Into<String>) {
        if self.has_room() {
            let (line, text) = (self.line(at), text.into());
            self.errors.push(ConfigError { line, text });
        }
    }

    /// Whether one more error is kept; one that is not is counted.
    fn has_room(&mut self) -> bool {
        let has_room = self.errors.len() < MOST_KEPT;
        self.more += usize::from(!has_room);
        has_room
    }

    /// The value, or what is wrong with it at a byte of the file.
    pub fn ok<T>(&mut self, at: usize, value: Result<T, String>) -> Option<T> {
        value.map_err(|text| self.push(at, text)).ok()
    }

    /// A word that is none of those that are known; `what` says what it is not.
    pub fn unknown(&mut self, at: usize, word: &str, what: &str, known: &[&str]) {
        // To look for near words takes its time: not for thousands of them.
        if self.has_room() {
            let text = format!("`{}` is {what}{}", quoted(word), meant(word, known));
            self.push(at, text);
        }
    }

    /// Something is wrong in a template that begins at a byte of the file.
    pub fn check_template(&mut self, at: usize, template: &str) {
        if let Err(fault) = wording::check(template)
            && self.has_room()
        {
            let line = fault.line_in_toml(self.text, at);
            let text = format!("the template, {fault}");
            self.errors.push(ConfigError { line, text });
        }
    }

    pub fn check(&mut self, keys: &'static Keys, section: Section<'_>) {
        for (name, node) in section.table {
            match keys.find(name.get_ref()) {
                Some(key) => self.value(Subject::key(key.name), &key.shape, node),
                None => {
                    let what = format!("not known in {}", keys.place);
                    self.unknown(name.span().start, name.get_ref(), &what, &keys.names());
                }
            }
        }
        if self.is_broken {
            // What is missing from half a table may be in the other half.
            return;
        }
        for key in keys.keys.iter().filter(|key| key.is_required) {
            if !section.has(key.name) {
                self.push(section.at, format!("{} has no `{}`", keys.place, key.name));
            }
        }
        for rule in keys.rules {
            self.rule(rule, keys, section);
        }
    }

    fn rule(&mut self, rule: &TableRule, keys: &Keys, section: Section<'_>) {
        let is_there = |key: &&&str| section.has(key);
        match rule {
            TableRule::AtMostOne(names) => {
                let mut there = names.iter().filter(is_there);
                let Some(one) = there.next() else { return };
                for other in there {
                    let text = format!("`{one}` and `{other}` exclude each other");
                    self.push(section.at(other), text);
                }
            }
            TableRule::AtLeastOne(names) => {
                if !names.iter().any(|key| section.has(key)) {
                    let text = format!("{} needs one of {}", keys.place, ticked(names));
                    self.push(section.at, text);
                }
            }
            TableRule::Needs(names, others) => {
                if others.iter().any(|key| section.has(key)) {
                    return;
                }
                for name in names.iter().filter(is_there) {
                    let text = format!("`{name}` means nothing without {}", ticked(others));
                    self.push(section.at(name), text);
                }
            }
            // These are about lists.
            TableRule::Unique(_) | TableRule::AtMost(_) => {}
        }
    }

    fn value(&mut self, subject: Subject<'_>, shape: &Shape, node: &Node<'_>) {
        if node.span().is_empty() {
            // The value is not there: an error of the syntax, which is reported.
            return;
        }
        let at = node.span().start;
        match (shape, node.get_ref()) {
            (Shape::Table(keys), DeValue::Table(table)) => {
                self.check(keys, Section::new(at, table));
            }
            (Shape::Tables(keys), DeValue::Array(list)) => {
                self.tables(subject, keys, list);
            }
            (Shape::Named(keys), DeValue::Table(table)) => {
                for (name, node) in table {
                    let table = Shape::Table(keys);
                    self.value(Subject::key(name.get_ref()), &table, node);
                }
            }
            (Shape::List(_, item) | Shape::AnyList(_, item), DeValue::Array(list))
                if !list.is_empty() || matches!(shape, Shape::AnyList(..)) =>
            {
                for node in list {
                    self.value(subject.element(), item, node);
                }
            }
            (Shape::Either(shapes), value) => {
                let is_alike = |shape: &&Shape| accepts(shape, value);
                match shapes.iter().find(is_alike) {
                    Some(alike) if value.is_array() || value.is_table() => {
                        self.value(subject, alike, node);
                    }
                    Some(_) if shapes.iter().any(|shape| fits(shape, value)) => {}
                    _ => self.mismatch(subject, shape, node),
                }
            }
            (Shape::Json | Shape::JsonTable, value) if accepts(shape, value) => {
                if let Some(what) = no_json(value) {
                    let text = format!("{subject} holds {what}, which JSON does not know");
                    self.push(at, text);
                }
            }
            (Shape::Template, DeValue::String(template)) => self.check_template(at, template),
            (Shape::CheckedText(check), DeValue::String(text)) => {
                let checked = check(text).map_err(|why| format!("`{}` {why}", quoted(subject.key)));
                self.ok(at, checked);
            }
            (shape, value) if fits(shape, value) => {}
            (shape, _) => self.mismatch(subject, shape, node),
        }
    }

    fn tables(&mut self, subject: Subject<'_>, keys: &'static Keys, list: &[Node<'_>]) {
        let limits = keys.rules.iter().filter_map(|rule| match rule {
            TableRule::AtMost(most) => Some(*most),
            _ => None,
        });
        let most = limits.min().unwrap_or(usize::MAX);
        if let Some(node) = list.get(most) {
            let text = format!("more than {most} tables {}", keys.place);
            self.push(node.span().start, text);
        }
        for node in list.iter().take(most) {
            self.value(subject.element(), &Shape::Table(keys), node);
        }
        let sections = list.iter().take(most).filter_map(Section::of_node);
        for rule in keys.rules {
            let TableRule::Unique(key) = rule else {
                continue;
            };
            let mut lines = HashMap::new();
            for section in sections.clone() {
                let Some(text) = section.text(key) else {
                    continue;
                };
                let at = section.at(key);
                if let Some(line) = lines.get(text) {
                    let text = quoted(text);
                    let text = format!("the {key} `{text}` is there already, on line {line}");
                    self.push(at, text);
                } else {
                    lines.insert(text, self.line(at));
                }
            }
        }
    }

    /// A value that does not look as its key wants it.
    fn mismatch(&mut self, subject: Subject<'_>, shape: &Shape, node: &Node<'_>) {
        let value = node.get_ref();
        let is_empty = match value {
            DeValue::String(text) => text.is_empty() && is_text(shape),
            DeValue::Array(list) => list.is_empty() && accepts(shape, value),
            _ => false,
        };
        if is_empty {
            return self.push(node.span().start, format!("{subject} must not be empty"));
        }
        let written = self.text.get(node.span()).unwrap_or_default();
        let found = match value {
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            // It may be a secret: a value in the place of a table of headers, for one.
            DeValue::String(_) if holds_values(shape) => "a text".to_owned(),
            DeValue::String(_) if looks_like_key(written) => "this text".to_owned(),
            _ => quoted(written),
        };
        let near = match (shape, value) {
            // Without a noun the shape lists the words itself.
            (Shape::Word(None, words), DeValue::String(word)) => did_you_mean(word, &words()),
            (Shape::Word(Some(_), words), DeValue::String(word)) => meant(word, &words()),
            (Shape::Tables(_) | Shape::OtherTables, DeValue::Table(_)) => {
                format!("; write `[[{}]]` with two brackets", quoted(subject.key))
            }
            _ => String::new(),
        };
        let text = format!("{subject} is {shape}, not {found}{near}");
        self.push(node.span().start, text);
    }
}

/// What was probably meant, and what there is.
fn meant(word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known);
    match known.len() {
        0 => near,
        MANY.. if !near.is_empty() => near,
        _ => format!("{near}; there are {}", known.join(", ")),
    }
}

fn is_table(node: &Node<'_>) -> bool {
    node.get_ref().is_table()
}

fn is_text(shape: &Shape) -> bool {
    match shape {
        Shape::Text => true,
        Shape::Either(shapes) => shapes.iter().any(is_text),
        _ => false,
    }
}

/// Whether a shape is a list or a table.
fn holds_values(shape: &Shape) -> bool {
    let is_list = matches!(
        shape,
        Shape::List(..) | Shape::AnyList(..) | Shape::Tables(_)
    );
    let is_table = matches!(shape, Shape::Table(_) | Shape::Named(_) | Shape::TextTable);
    is_list || is_table || matches!(shape, Shape::JsonTable | Shape::OtherTables)
}

/// Whether a value is of the type of TOML that a shape has.
fn accepts(shape: &Shape, value: &DeValue<'_>) -> bool {
    match shape {
        Shape::List(..) | Shape::AnyList(..) => value.is_array(),
        Shape::Tables(_) | Shape::OtherTables => value
            .as_array()
            .is_some_and(|list| list.iter().all(is_table)),
        Shape::Table(_) | Shape::Named(_) | Shape::JsonTable | Shape::TextTable => value.is_table(),
        Shape::Json => true,
        Shape::Flag | Shape::True => value.is_bool(),
        Shape::Whole(..) => value.is_integer(),
        Shape::Chance | Shape::Rate => value.is_integer() || value.is_float(),
        Shape::Word(..) | Shape::Duration(_) => value.is_str(),
        Shape::Text | Shape::AnyText | Shape::CheckedText(_) | Shape::Template => value.is_str(),
        Shape::Either(shapes) => shapes.iter().any(|shape| accepts(shape, value)),
    }
}

/// Whether a single value is what a shape wants.
fn fits(shape: &Shape, value: &DeValue<'_>) -> bool {
    match (shape, value) {
        (Shape::Text, DeValue::String(text)) => !text.is_empty(),
        (Shape::CheckedText(check), DeValue::String(text)) => check(text).is_ok(),
        (Shape::Word(_, words), DeValue::String(text)) => words().contains(&text.as_ref()),
        (Shape::Duration(least), DeValue::String(text)) => {
            duration(text).is_some_and(|millis| millis >= *least)
        }
        (Shape::True, DeValue::Boolean(flag)) => *flag,
        (Shape::Whole(least, most), DeValue::Integer(number)) => {
            whole(number).is_some_and(|number| (*least..=*most).contains(&number))
        }
        (Shape::Chance, value) => float(value).is_some_and(|number| (0.0..=1.0).contains(&number)),
        (Shape::Rate, value) => float(value).is_some_and(|number| number > 0.0 && number <= 1.0),
        (Shape::TextTable, DeValue::Table(table)) => {
            table.values().all(|value| value.get_ref().is_str())
        }
        (Shape::AnyText | Shape::Flag | Shape::OtherTables, value) => accepts(shape, value),
        _ => false,
    }
}

fn whole(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn float(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        // The only whole numbers that are chances.
        DeValue::Integer(number) => match whole(number)? {
            0 => Some(0.0),
            1 => Some(1.0),
            _ => None,
        },
        _ => None,
    }
}

/// What of a value JSON does not have.
fn no_json(value: &DeValue<'_>) -> Option<&'static str> {
    match value {
        DeValue::String(_) | DeValue::Boolean(_) => None,
        DeValue::Integer(number) => {
            let (text, radix) = (number.as_str(), number.radix());
            let is_small = i64::from_str_radix(text, radix).is_ok() || whole(number).is_some();
            (!is_small).then_some("a number of more than 64 bits")
        }
        DeValue::Float(number) => {
            let number: Result<f64, _> = number.as_str().parse();
            let is_finite = number.is_ok_and(f64::is_finite);
            (!is_finite).then_some("a number that is infinite or none")
        }
        DeValue::Datetime(_) => Some("a date"),
        DeValue::Array(list) => list.iter().find_map(|node| no_json(node.get_ref())),
        DeValue::Table(table) => table.values().find_map(|node| no_json(node.get_ref())),
    }
}

fn ticked(keys: &[&str]) -> String {
    let keys = keys.iter().map(|key| format!("`{key}`"));
    keys.collect::<Vec<_>>().join(", ")
}

/// The beginning of the first line of a text from the file, for a message.
pub(crate) fn quoted(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().nth(QUOTED);
    let end = end.map_or(line.len(), |(end, _)| end);
    let more = if end < text.len() { "..." } else { "" };
    format!("{}{more}", &line[..end])
}

// What is wrong with a file.

/// One thing that is wrong. The text quotes the file: draw it through [`crate::safe_text::SafeText`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct ConfigError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, what is allowed, and what was probably meant.
    pub text: String,
}

/// All that is wrong with a file, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.joined(self.errors.iter().map(ToString::to_string), ""))]
pub struct ConfigErrors {
    /// 50 at most.
    pub errors: Vec<ConfigError>,
    /// How many more there are.
    pub more: usize,
}

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

// A table of a file with its place, from which serde reads values.

pub(crate) type Node<'d> = Spanned<DeValue<'d>>;

/// A table of a file. Values of another type are `None`: the check has reported
/// them.
#[derive(Debug, Clone, Copy)]
pub struct Section<'d> {
    /// The byte of the file at which it begins.
    pub at: usize,
    pub(crate) table: &'d DeTable<'d>,
}

impl<'d> Section<'d> {
    pub(crate) fn new(at: usize, table: &'d DeTable<'d>) -> Self {
        Self { at, table }
    }

    pub(crate) fn of_node(node: &'d Node<'d>) -> Option<Self> {
        Some(Self::new(node.span().start, node.get_ref().as_table()?))
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Where the value of a key begins; where the key is not there, the table.
    pub fn at(&self, key: &str) -> usize {
        let value = self.table.get(key);
        value.map_or(self.at, |value| value.span().start)
    }

    /// Where a key begins; where it is not there, the table.
    pub fn at_key(&self, key: &str) -> usize {
        let found = self.table.get_key_value(key);
        found.map_or(self.at, |(key, _)| key.span().start)
    }

    /// The value of a key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(ValueDeserializer::from(self.table.get(key)?.clone())).ok()
    }

    /// The whole table; keys that the type does not have are left out.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let table = DeValue::Table(self.table.clone());
        T::deserialize(ValueDeserializer::from(Spanned::new(
            self.at..self.at,
            table,
        )))
        .ok()
    }

    pub fn text(&self, key: &str) -> Option<&'d str> {
        self.table.get(key)?.get_ref().as_str()
    }

    /// Milliseconds of a time such as `"30s"`.
    pub fn millis(&self, key: &str) -> Option<u64> {
        super::duration(self.text(key)?)
    }

    pub fn table(&self, key: &str) -> Option<Self> {
        Self::of_node(self.table.get(key)?)
    }

    /// The tables of a list.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = Self> + use<'d> {
        let list = self
            .table
            .get(key)
            .and_then(|node| node.get_ref().as_array());
        list.into_iter().flatten().filter_map(Self::of_node)
    }

    /// The keys of the table, and where each begins.
    pub fn keys(&self) -> impl Iterator<Item = (&'d str, usize)> + use<'d> {
        let keys = self.table.keys();
        keys.map(|key| (key.get_ref().as_ref(), key.span().start))
    }

    /// The tables of a table of tables: the name of each, where the name begins, and the table.
    pub fn named(&self, key: &str) -> impl Iterator<Item = (&'d str, usize, Self)> + use<'d> {
        let tables = self
            .table
            .get(key)
            .and_then(|node| node.get_ref().as_table());
        tables.into_iter().flatten().filter_map(|(name, node)| {
            Some((
                name.get_ref().as_ref(),
                name.span().start,
                Self::of_node(node)?,
            ))
        })
    }
}

// What single values mean.

/// The units of durations, in milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
/// Longest duration that can be written: a day.
const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// Milliseconds of a duration as files write it: a whole number with its unit, `500ms`, `30s`, `2m`, `1h`;
/// a day at most.
pub fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let number: u64 = number.parse().ok()?;
    let millis = number.checked_mul(*factor);
    millis.filter(|millis| *millis <= LONGEST)
}

/// For `#[serde(deserialize_with)]`: milliseconds of a duration.
///
/// # Errors
/// Where the value is no duration.
pub fn millis<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let millis = duration(&String::deserialize(value)?);
    millis
        .map(Some)
        .ok_or_else(|| D::Error::custom("invalid time"))
}

/// For `#[serde(deserialize_with)]`: a text, or a list of texts.
///
/// # Errors
/// Where the value is neither.
pub fn one_or_many<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(value)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}

/// How keys of known providers begin.
const KEY_PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "hf_",
];
/// How long what follows is at least.
const KEY: usize = 16;

/// Whether a part of a text looks like the API key of a known provider, which no message may quote.
pub fn looks_like_key(text: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let mut words = text.split(|character| !is_letter(character));
    words.any(|word| {
        let rest = KEY_PREFIXES
            .iter()
            .find_map(|start| word.strip_prefix(start));
        rest.is_some_and(|rest| rest.len() >= KEY)
    })
}

// The keys of a file as const tables, from which checks, messages and help come.

/// The keys of one table of a file.
#[derive(Debug)]
pub struct Keys {
    /// The table as messages and help call it: `[model]`, or `the file` for the top level.
    pub place: &'static str,
    pub keys: &'static [Key],
    /// What holds for several keys together.
    pub rules: &'static [TableRule],
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
    /// An integer within these limits.
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
pub enum TableRule {
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

/// An integer above 0.
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
        $vis static $table: $crate::config::check::Keys = {
            #[allow(unused_imports)]
            use $crate::config::check::{COUNT, TableRule::*, Shape::*, TEXTS};
            $crate::config::check::Keys {
                place: $place,
                keys: &[$($crate::config::check::Key {
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
    pub(crate) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// The keys as a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut table = "| key | value | meaning |\n|---|---|---|\n".to_owned();
        for key in self.keys {
            let (name, shape, meaning) = (key.name, &key.shape, key.meaning);
            let rest = match key.default {
                Some(default) => format!("; {default} without it"),
                None if key.is_required => "; required".to_owned(),
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
            Self::Whole(0, u64::MAX) => f.write_str("an integer"),
            Self::Whole(1, most) if *most >= u32::MAX.into() => f.write_str("an integer above 0"),
            Self::Whole(least, most) => write!(f, "an integer from {least} to {most}"),
            Self::Chance => f.write_str("a number from 0 to 1"),
            Self::Rate => f.write_str("a number above 0 and not above 1"),
            Self::Duration(least) => {
                let positive = if *least > 0 { "positive " } else { "" };
                write!(
                    f,
                    "a {positive}duration such as \"500ms\", \"30s\" or \"2m\", at most a day"
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
