//! The filter language: which items, exchanges or recordings are shown.
//!
//! What can be written stands in [`SYNTAX`] and in the terms of what is filtered ([`Filtered::TERMS`]); the help is
//! made from both. Several words must all be true.
//!
//! [`Filter::matches_head`] decides from what is in memory wherever it can, so that a filter by kind or tool is
//! instant; where it cannot, the bytes are read in the background and [`Filter::matches`] decides.

use super::fuzzy::Fuzzy;
use super::keymap::{Context, Group, KeyEntry};
use super::layer::{Input, Layer, Placement, Step};
use super::prompt::{Prompt, Typing};
use super::theme::Theme;
use crossterm::event::KeyEvent;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::content::{any_name_of, display_name};
use retake_core::jq::{Expression, ExpressionError};
use retake_core::pattern::Pattern;
use retake_core::rules::{RULES, Severity};
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_core::suggest::did_you_mean;
use retake_live::search::{Needle, NeedleError};
use std::borrow::Cow;

/// What every filter takes, with what it keeps; each in the words of the help.
pub const SYNTAX: &[(&str, &str)] = &[
    ("flight", "contains the text; lower case matches both cases"),
    ("\"two words\"", "contains the text in quotes"),
    (
        "/exit [1-9]/",
        "matches the regular expression between the slashes",
    ),
    (
        "~srchflt",
        "the row has these letters in this order, with gaps",
    ),
    ("!tool:read", "does not match what follows the !"),
    (
        "tool:a,search_*",
        "one of several; * and ? stand for any letters",
    ),
    ("error tool:read", "matches all of them"),
];
/// What only a filter of items takes.
const JQ: (&str, &str) = (
    ".arguments.city == \"Oslo\"",
    "a jq expression holds for the item as recorded; `.arguments` of a call are its arguments in every format",
);

/// A word or a field of a filter, as the help shows it.
#[derive(Debug, Clone, Copy)]
pub struct FilterTerm {
    /// `error`, or a field with an example: `tool:search_*`.
    pub written: &'static str,
    values: Values,
    pub help: &'static str,
}

impl FilterTerm {
    pub const fn word(written: &'static str, help: &'static str) -> Self {
        Self {
            written,
            values: Values::Nothing,
            help,
        }
    }

    pub const fn field(written: &'static str, values: Values, help: &'static str) -> Self {
        Self {
            written,
            values,
            help,
        }
    }

    /// The word, or what stands before the colon of the field.
    fn name(&self) -> &'static str {
        self.written
            .split_once(':')
            .map_or(self.written, |(name, _)| name)
    }

    fn is_word(&self) -> bool {
        self.values == Values::Nothing
    }
}

/// The filter of what is filtered, for the help of a prompt.
pub fn key_entries<T: Filtered>() -> Vec<KeyEntry> {
    let rows = written::<T>().into_iter();
    rows.map(|(key, title)| KeyEntry {
        title,
        key,
        group: Group::Filters.title(),
        aliases: &[],
        is_destructive: false,
    })
    .collect()
}

/// All that a filter takes.
fn written<T: Filtered>() -> Vec<(&'static str, &'static str)> {
    let terms = T::TERMS.iter().map(|term| (term.written, term.help));
    let jq = T::TAKES_JQ.then_some(JQ);
    terms.chain(SYNTAX.iter().copied()).chain(jq).collect()
}

/// Rows of a table of `retake help filters`.
pub fn markdown_table(rows: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let rows = rows.map(|(written, help)| format!("| `{written}` | {help} |\n"));
    format!(
        "| written | keeps what |\n|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// The table of the words and fields of what is filtered.
pub fn markdown_of<T: Filtered>() -> String {
    let jq = T::TAKES_JQ.then_some(JQ);
    let terms = T::TERMS.iter().map(|term| (term.written, term.help));
    markdown_table(terms.chain(jq))
}

/// Something that a filter decides about.
pub trait Filtered {
    /// Words that are no texts, and what may stand before a colon.
    const TERMS: &'static [FilterTerm];
    /// Whether a jq expression is a filter, too.
    const TAKES_JQ: bool = false;

    fn is(&self, word: &str) -> bool;

    /// Whether one of the names in a field fits.
    fn any_name(&self, field: &str, fits: &dyn Fn(&str) -> bool) -> bool;

    /// The number in a field; an age is in seconds.
    fn number(&self, _field: &str) -> Option<f64> {
        None
    }

    /// Where texts are looked for; `None` while it is not in memory.
    fn text(&self) -> Option<Cow<'_, [u8]>>;

    /// Whether a text or an expression is in it.
    fn contains(&self, needle: &Needle) -> bool {
        self.text()
            .is_some_and(|text| match needle.is_expression() {
                true => needle.is_in(&String::from_utf8_lossy(&text)),
                false => needle.find(&text, 0).is_some(),
            })
    }

    /// Where letters with gaps are looked for.
    fn row(&self) -> Cow<'_, str>;
}

/// The value after the colon of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// It is a word, without any.
    Nothing,
    Names,
    /// Names of which a part is enough.
    PartNames,
    /// The same of rules, all of which are known.
    Rules,
    Kinds,
    /// Names that are all known.
    OneOf(&'static [&'static str]),
    /// A time such as `7d`, or a date: that old at most.
    Age,
    /// The same: older.
    LeastAge,
    /// `>10k`, `<3`, or exactly so much.
    Number,
}

/// What of an item is in memory.
#[derive(Debug, Clone, Copy)]
pub struct ItemHead<'a> {
    pub kind: Kind,
    /// Its tool; empty where it has none.
    pub tool: &'a str,
    /// The rule ids of its findings.
    pub findings: &'a [(&'static str, Severity)],
    /// Whether it is a result that reports an error, or the call of one.
    pub is_failed: bool,
    /// Whether the operator wrote a note on it.
    pub has_note: bool,
}

impl Filtered for ItemHead<'_> {
    const TERMS: &'static [FilterTerm] = &[
        FilterTerm::word(
            "error",
            "has a finding of severity error, or is a failed call or its result",
        ),
        FilterTerm::word("warning", "has a finding of severity warning"),
        FilterTerm::word("finding", "has any finding"),
        FilterTerm::word("note", "has a note of yours"),
        FilterTerm::field(
            "kind:call,output",
            Values::Kinds,
            "is of one of these kinds",
        ),
        FilterTerm::field(
            "tool:search",
            Values::PartNames,
            "belongs to this tool; a part of the name is enough",
        ),
        FilterTerm::field(
            "rule:unknown",
            Values::Rules,
            "has a finding of this rule; a part of the name is enough",
        ),
        FilterTerm::field(
            "severity:error",
            Values::Names,
            "has a finding of this severity",
        ),
    ];
    const TAKES_JQ: bool = true;

    fn is(&self, word: &str) -> bool {
        let mut severities = self.findings.iter().map(|(_, severity)| *severity);
        match word {
            "error" => self.is_failed || severities.any(|severity| severity == Severity::Error),
            "warning" => severities.any(|severity| severity == Severity::Warning),
            "note" => self.has_note,
            _ => !self.findings.is_empty(),
        }
    }

    fn any_name(&self, field: &str, fits: &dyn Fn(&str) -> bool) -> bool {
        match field {
            "kind" => fits(self.kind.word()),
            "tool" => !self.tool.is_empty() && any_name_of(self.tool, fits),
            "severity" => {
                let mut severities = self.findings.iter().map(|(_, severity)| severity.word());
                severities.any(fits)
            }
            _ => self.findings.iter().any(|(rule, _)| fits(rule)),
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn row(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
}

/// An item with what it says.
#[derive(Clone, Copy)]
pub struct ItemView<'a> {
    /// What is in memory.
    pub head: ItemHead<'a>,
    /// What its row in the list says.
    pub row: &'a str,
    pub bytes: &'a [u8],
    /// Whether an expression matches in what is shown of it: in the bytes it may match more.
    pub shows: &'a dyn Fn(&Needle) -> bool,
}

impl Filtered for ItemView<'_> {
    const TERMS: &'static [FilterTerm] = ItemHead::TERMS;
    const TAKES_JQ: bool = true;

    fn is(&self, word: &str) -> bool {
        self.head.is(word)
    }

    fn any_name(&self, field: &str, fits: &dyn Fn(&str) -> bool) -> bool {
        self.head.any_name(field, fits)
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.bytes))
    }

    fn contains(&self, needle: &Needle) -> bool {
        let is_shown = |name: &str| !needle.ranges_in(name).is_empty();
        let is_found = needle.find(self.bytes, 0).is_some();
        let is_named = || self.head.kind == Kind::Call && is_shown(&display_name(self.head.tool));
        (is_found && (!needle.is_expression() || (self.shows)(needle))) || is_named()
    }

    fn row(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.row)
    }
}

/// Which items the operator wants to see. Each thread that filters has its own clone.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    #[default]
    Everything,
    Terms(Terms),
    /// What a jq expression gives something true for.
    Jq(Expression),
}

/// Words that must all be true.
#[derive(Debug, Clone, Default)]
pub struct Terms(Vec<Term>);

#[derive(Debug, Clone)]
struct Term {
    is_inverse: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Text(Needle),
    Fuzzy(Box<Fuzzy>),
    Word(&'static str),
    Name(&'static str, Pattern),
    /// The number of a field is at least, and at most, this.
    Number(&'static str, f64, f64),
}

/// What an item has to give for a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// What is in memory.
    Head,
    Body,
}

/// Most words of a filter: each is a search of its own, and what was pasted by mistake has a million.
const MOST: usize = 100;

/// Why a text is not a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No kind has this name.
    #[error("unknown kind `{0}`; kinds: {all}", all = kinds())]
    UnknownKind(String),
    #[error("unknown {0} `{1}`; it is one of: {all}", all = .2.join(" "))]
    UnknownValue(&'static str, String, &'static [&'static str]),
    /// A `!` or `~` or `kind:` with nothing after it.
    #[error("`{0}` needs a value")]
    Incomplete(String),
    #[error("no rule is called `{0}`{meant}", meant = did_you_mean(.0, &rules()))]
    UnknownRule(String),
    #[error("{0}: takes 7d, 12h, 30m or a date such as 2026-11-20, not `{1}`")]
    NoAge(String, String),
    #[error("`{0}` is not a number such as 3, >10k or <2M")]
    NoNumber(String),
    /// More words than are looked for one by one.
    #[error("a filter takes {MOST} words; \"quotes\" look for the text as a whole")]
    TooManyWords,
    /// A word before a colon that no field has.
    #[error("unknown field `{0}`; fields: {1}; \"quotes\" look for the text")]
    UnknownField(String, String),
    /// A text that cannot be searched for.
    #[error(transparent)]
    Text(#[from] NeedleError),
    /// A jq expression that is none.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

impl FilterError {
    /// Whether more letters can make a filter of it.
    fn is_half_typed(&self) -> bool {
        match self {
            Self::UnknownKind(word) => Kind::ALL.iter().any(|kind| kind.word().starts_with(word)),
            Self::UnknownValue(_, word, all) => all.iter().any(|one| one.starts_with(word)),
            Self::UnknownField(..) | Self::UnknownRule(_) | Self::TooManyWords => false,
            Self::Text(NeedleError::Expression(_)) => false,
            Self::Incomplete(_) | Self::NoAge(..) | Self::NoNumber(_) => true,
            Self::Text(_) | Self::Expression(_) => true,
        }
    }
}

fn rules() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).collect()
}

/// The rules with these names, of which a part is enough.
fn rules_named(names: &str) -> Result<Pattern, FilterError> {
    let pattern = Pattern::of_parts(names);
    match rules().into_iter().any(|rule| pattern.matches(rule)) {
        true => Ok(pattern),
        false => Err(FilterError::UnknownRule(names.to_owned())),
    }
}

/// The name of a tool in a filter.
pub fn tool_in(filter: &str) -> Option<&str> {
    let mut words = filter.split_whitespace();
    words.find_map(|word| word.strip_prefix("tool:"))
}

/// Which tools the name of one in a filter means.
pub fn tools_named(name: &str) -> impl Fn(&str) -> bool {
    let pattern = Pattern::of_parts(name);
    move |tool| any_name_of(tool, &|name| pattern.matches(name))
}

/// The name of a tool in a filter that no tool has which was called, with the nearest one.
pub fn unknown_tool(filter: &str, called: &[&str]) -> Option<String> {
    let name = tool_in(filter)?;
    let is_meant = tools_named(name);
    let meant = did_you_mean(name, called);
    let is_known = called.iter().any(|tool| is_meant(tool));
    (!is_known).then(|| format!("no tool is called `{name}` here{meant}"))
}

fn kinds() -> String {
    let words = Kind::ALL.iter().map(|kind| kind.word().replace(' ', "-"));
    words.collect::<Vec<_>>().join(" ")
}

impl Filter {
    /// Reads a filter as the operator writes it.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let text = text.trim();
        if text.starts_with('.') {
            return Ok(Self::Jq(Expression::parse(text)?));
        }
        let terms = Terms::parse::<ItemHead<'_>>(text)?;
        Ok(match terms.is_empty() {
            true => Self::Everything,
            false => Self::Terms(terms),
        })
    }

    /// What items have to give.
    pub fn need(&self) -> Need {
        match self {
            Self::Everything => Need::Head,
            Self::Jq(_) => Need::Body,
            Self::Terms(terms) => terms.need(),
        }
    }

    /// Whether what the rules find changes what is shown.
    pub fn asks_for_findings(&self) -> bool {
        match self {
            Self::Everything | Self::Jq(_) => false,
            Self::Terms(Terms(terms)) => terms.iter().any(|term| match term.test {
                Test::Word(word) => word != "note",
                Test::Name(field, _) => matches!(field, "rule" | "severity"),
                Test::Text(_) | Test::Fuzzy(_) | Test::Number(..) => false,
            }),
        }
    }

    /// Whether an item is shown, as far as its head tells; `None` where its bytes have to be read.
    pub fn matches_head(&self, head: &ItemHead<'_>) -> Option<bool> {
        match self {
            Self::Everything => Some(true),
            Self::Jq(_) => None,
            Self::Terms(Terms(terms)) => {
                let in_memory = terms.iter().filter(|term| term.need() == Need::Head);
                let is_true = in_memory.clone().all(|term| term.clone().holds(head));
                (!is_true || self.need() == Need::Head).then_some(is_true)
            }
        }
    }

    /// Whether an item is shown.
    pub fn matches(&mut self, item: &ItemView<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Jq(expression) => expression.is_true_of(item.bytes),
            Self::Terms(terms) => terms.match_all(item),
        }
    }
}

impl Terms {
    /// Reads words as the operator writes them, for what is filtered.
    pub fn parse<T: Filtered>(text: &str) -> Result<Self, FilterError> {
        let terms = words(text)?
            .into_iter()
            .map(|(word, is_quoted)| Term::parse::<T>(word, is_quoted));
        terms.collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a word that is not text is one of them: `unread`.
    pub fn asks_for(&self, word: &str) -> bool {
        let is_asked = |term: &Term| matches!(term.test, Test::Word(it) if it == word);
        self.0.iter().any(|term| !term.is_inverse && is_asked(term))
    }

    pub fn match_all(&mut self, subject: &impl Filtered) -> bool {
        self.0.iter_mut().all(|term| term.holds(subject))
    }

    fn need(&self) -> Need {
        let needs = self.0.iter().map(Term::need);
        needs.max().unwrap_or(Need::Head)
    }
}

impl Term {
    fn parse<T: Filtered>(text: &str, is_quoted: bool) -> Result<Self, FilterError> {
        let (is_inverse, text) = match text.strip_prefix('!') {
            Some(rest) if !is_quoted => (true, rest),
            _ => (false, text),
        };
        let test = match is_quoted {
            true => Test::Text(Needle::new(text)?),
            false => Test::parse::<T>(text)?,
        };
        Ok(Self { is_inverse, test })
    }

    fn need(&self) -> Need {
        match self.test {
            Test::Text(_) | Test::Fuzzy(_) => Need::Body,
            Test::Word(_) | Test::Name(..) | Test::Number(..) => Need::Head,
        }
    }

    fn holds(&mut self, subject: &impl Filtered) -> bool {
        let holds = match &mut self.test {
            Test::Text(needle) => subject.contains(needle),
            Test::Fuzzy(fuzzy) => fuzzy.score(&subject.row()).is_some(),
            Test::Word(word) => subject.is(word),
            Test::Name(field, pattern) => subject.any_name(field, &|name| pattern.matches(name)),
            Test::Number(field, least, most) => subject
                .number(field)
                .is_some_and(|number| (*least..=*most).contains(&number)),
        };
        holds != self.is_inverse
    }
}

impl Test {
    fn parse<T: Filtered>(text: &str) -> Result<Self, FilterError> {
        let given = |value: &str, prefix: &str| match value {
            "" => Err(FilterError::Incomplete(prefix.to_owned())),
            _ => Ok(()),
        };
        given(text, "!")?;
        if text.starts_with('/') {
            return Ok(Self::Text(Needle::parse(text)?));
        }
        if let Some(letters) = text.strip_prefix('~') {
            given(letters, "~")?;
            return Ok(Self::Fuzzy(Box::new(Fuzzy::new(letters))));
        }
        let mut words = T::TERMS.iter().filter(|term| term.is_word());
        if let Some(word) = words.find(|term| term.written == text) {
            return Ok(Self::Word(word.written));
        }
        let Some((key, value)) = text.split_once(':') else {
            return Ok(Self::Text(Needle::new(text)?));
        };
        let fields = || T::TERMS.iter().filter(|term| !term.is_word());
        let Some(term) = fields().find(|term| term.name() == key) else {
            if is_field(key, value) {
                let fields: Vec<&str> = fields().map(FilterTerm::name).collect();
                let fields = fields.join(" ");
                return Err(FilterError::UnknownField(key.to_owned(), fields));
            }
            return Ok(Self::Text(Needle::new(text)?));
        };
        given(value, &format!("{key}:"))?;
        let field = term.name();
        Ok(match term.values {
            Values::Nothing => Self::Word(field),
            Values::Names => Self::Name(field, Pattern::new(value)),
            Values::PartNames => Self::Name(field, Pattern::of_parts(value)),
            Values::Rules => Self::Name(field, rules_named(value)?),
            Values::Kinds => Self::Name(field, kinds_named(value)?),
            Values::OneOf(all) => {
                let pattern = Pattern::new(value);
                if !all.iter().any(|one| pattern.matches(one)) {
                    return Err(FilterError::UnknownValue(field, value.to_owned(), all));
                }
                Self::Name(field, pattern)
            }
            Values::Age => Self::Number(field, f64::NEG_INFINITY, age_of(key, value)?),
            Values::LeastAge => Self::Number(field, age_of(key, value)?.next_up(), f64::INFINITY),
            Values::Number => {
                let no_number = || FilterError::NoNumber(value.to_owned());
                let (least, most) = limits(value).ok_or_else(no_number)?;
                Self::Number(field, least, most)
            }
        })
    }
}

/// Whether a word with a colon is meant as a field: not a time, an address or a path.
fn is_field(key: &str, value: &str) -> bool {
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && !value.starts_with(['/', ':', '\\'])
}

/// How many seconds ago the time in a field was.
fn age_of(field: &str, value: &str) -> Result<f64, FilterError> {
    let age = age(value).or_else(|| age_of_date(value));
    age.ok_or_else(|| FilterError::NoAge(field.to_owned(), value.to_owned()))
}

/// `7d` in seconds.
fn age(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        "y" => 31_536_000.0,
        _ => return None,
    };
    finite(number).map(|number| number * seconds)
}

/// The seconds since the beginning of a day such as `2026-11-20`.
fn age_of_date(text: &str) -> Option<f64> {
    let date: Date = text.parse().ok()?;
    let start = date.to_zoned(TimeZone::system()).ok()?;
    Some(
        Timestamp::now()
            .duration_since(start.timestamp())
            .as_secs_f64(),
    )
}

/// The least and the most that `>10k`, `<3` or `5` lets through.
fn limits(text: &str) -> Option<(f64, f64)> {
    let (sign, number) = match text.strip_prefix('>') {
        Some(rest) => ('>', rest),
        None => text
            .strip_prefix('<')
            .map_or(('=', text), |rest| ('<', rest)),
    };
    let (number, factor) = match number.trim_end_matches(['k', 'K', 'm', 'M']) {
        short if short.len() == number.len() => (number, 1.0),
        short if number.ends_with(['k', 'K']) => (short, 1e3),
        short => (short, 1e6),
    };
    let number = finite(number)? * factor;
    Some(match sign {
        '>' => (number.next_up(), f64::INFINITY),
        '<' => (f64::NEG_INFINITY, number.next_down()),
        _ => (number, number),
    })
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The kinds with these names: each exactly, or else those that begin so.
fn kinds_named(names: &str) -> Result<Pattern, FilterError> {
    let mut found = Vec::new();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let wanted = name.to_lowercase().replace('-', " ");
        let words = || Kind::ALL.iter().map(|kind| kind.word());
        let mut kinds: Vec<_> = words().filter(|word| *word == wanted).collect();
        if kinds.is_empty() {
            kinds = words().filter(|word| word.starts_with(&wanted)).collect();
        }
        if kinds.is_empty() {
            return Err(FilterError::UnknownKind(name.to_owned()));
        }
        found.extend(kinds);
    }
    Ok(Pattern::new(&found.join(",")))
}

/// Takes a text apart at spaces; true for what stood in quotes, which is a text and nothing else. A quote at the
/// start of a word runs to the next quote or to the end, a slash to one that ends a word, if there is any.
fn words(text: &str) -> Result<Vec<(&str, bool)>, FilterError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, is_quoted, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (word, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                (word, true, after)
            }
            None => {
                let space = || rest.find(char::is_whitespace).unwrap_or(rest.len());
                let end = end_of_expression(rest).unwrap_or_else(space);
                (&rest[..end], false, &rest[end..])
            }
        };
        if words.len() == MOST {
            return Err(FilterError::TooManyWords);
        }
        if !word.is_empty() {
            words.push((word, is_quoted));
        }
        rest = after.trim_start();
    }
    Ok(words)
}

/// Where an expression between slashes ends that a text begins with.
fn end_of_expression(text: &str) -> Option<usize> {
    let begin = text.find(|letter| letter != '!')?;
    let inner = text[begin..].strip_prefix('/')?;
    let mut slashes = inner.match_indices('/').map(|(at, _)| at);
    let ends_word = |at: &usize| {
        let after = &inner[at + 1..];
        !inner[..*at].ends_with('\\')
            && (after.is_empty() || after.starts_with(char::is_whitespace))
    };
    Some(begin + 1 + slashes.find(ends_word)? + 1)
}

/// What is to be shown.
#[derive(Debug, Clone)]
pub enum Filtering {
    /// A filter that costs nothing: it can be shown while it is typed.
    Preview(Filter),
    /// This is to be shown from now on.
    Apply(Filter),
}

/// The filter bar. It opens with what was applied last.
#[derive(Debug, Clone)]
pub struct FilterBar {
    prompt: Prompt,
    applied: String,
    /// Whether the filter that is typed takes effect only with enter.
    is_pending: bool,
}

impl Default for FilterBar {
    fn default() -> Self {
        Self {
            prompt: Prompt::new(
                "filter",
                "text  !not  ~fuzzy  /expression/  error  kind: tool: rule:  .jq",
            )
            .with_terms(key_entries::<ItemHead<'_>>()),
            applied: String::new(),
            is_pending: false,
        }
    }
}

impl FilterBar {
    pub fn open(&mut self) {
        self.is_pending = false;
        self.prompt.open(&self.applied);
    }

    /// Begins empty the next time.
    pub fn clear(&mut self) {
        self.applied.clear();
    }

    /// The filter that is applied, as it was written; empty where everything is shown.
    pub fn applied(&self) -> &str {
        &self.applied
    }

    pub fn is_pending(&self) -> bool {
        self.is_pending
    }

    fn take(&mut self, typing: Typing) -> Step<Filtering> {
        match typing {
            Typing::Pending => Step::Stay,
            Typing::Cancelled => Step::Leave,
            Typing::Changed => {
                let parsed = Filter::parse(&self.prompt.text());
                let is_cheap = |filter: &Filter| filter.need() == Need::Head;
                self.is_pending = !parsed.as_ref().is_ok_and(is_cheap);
                match parsed {
                    Ok(filter) if !self.is_pending => Step::Done(Filtering::Preview(filter)),
                    Err(error) if !error.is_half_typed() => self.complain(&error),
                    Ok(_) | Err(_) => Step::Stay,
                }
            }
            Typing::Submitted(text) => match Filter::parse(&text) {
                Ok(filter) => {
                    self.applied = text.trim().to_owned();
                    Step::Done(Filtering::Apply(filter))
                }
                Err(error) => self.complain(&error),
            },
        }
    }

    fn complain(&mut self, error: &FilterError) -> Step<Filtering> {
        let complaint = SafeText::single_line(&error.to_string(), 200);
        self.prompt.complain(complaint);
        Step::Stay
    }
}

impl<S> Layer<S> for FilterBar {
    type Output = Filtering;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Line]
    }

    fn terms(&self) -> &[KeyEntry] {
        self.prompt.terms()
    }

    fn asks_for_help(&self, key: &KeyEvent) -> bool {
        self.prompt.asks_for_help(key)
    }

    fn placement(&self) -> Placement {
        Placement::Footer
    }

    fn handle(&mut self, input: Input<'_>, _: &mut S) -> Step<Filtering> {
        match input {
            Input::Key(key) => {
                let typing = self.prompt.key(key);
                self.take(typing)
            }
            Input::Paste(text) => {
                let typing = self.prompt.paste(text);
                self.take(typing)
            }
            Input::Mouse(_) | Input::Edited(_) => Step::Pass,
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.prompt.draw(frame, area, theme);
    }
}

#[cfg(test)]
mod tests;
