//! Which exchanges are shown.
//!
//! | written | keeps exchanges |
//! |---|---|
//! | `flight` `"two words"` | with the text in one of their columns or findings; small letters match both cases |
//! | `~opnai` | whose columns match the letters with gaps |
//! | `held` `open` `error` `warning` `finding` | that wait for a decision; that are not over; with a finding that bad, or any |
//! | `rule:` `tool:` `model:` `client:` `path:` `status:` `state:` | where it is this; `*` and `?` stand for any letters |
//! | `!tool:search*` | for which the rest is not true |
//!
//! Several words must all be true.

use super::rows::{is_held, is_over};
use super::words;
use crate::tui::filter::{FilterError, Word, is_field, words as split};
use crate::tui::fuzzy::Fuzzy;
use retake_core::exchange::Seen;
use retake_core::pattern::Pattern;
use retake_core::rules::Severity;
use retake_live::search::Needle;

/// What the operator wants to see; without a term everything.
#[derive(Debug, Clone, Default)]
pub struct Sift(Vec<Term>);

#[derive(Debug, Clone)]
struct Term {
    is_inverse: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Text(Needle),
    Fuzzy(Box<Fuzzy>),
    Held,
    Open,
    Severity(Severity),
    Finding,
    Rule(Pattern),
    Tool(Pattern),
    /// One of the columns, by its word.
    Column(&'static str, Pattern),
}

const COLUMNS: [&str; 5] = ["model", "client", "path", "status", "state"];

impl Sift {
    /// Reads a filter as the operator writes it.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let terms = split(text.trim())?
            .into_iter()
            .map(|word| Term::parse(&word));
        terms.collect::<Result<_, _>>().map(Self)
    }

    /// Whether an exchange is shown.
    pub fn lets_through(&mut self, seen: &Seen) -> bool {
        let mut terms = self.0.iter_mut();
        terms.all(|term| term.test.holds(seen) != term.is_inverse)
    }
}

impl Term {
    fn parse(word: &Word) -> Result<Self, FilterError> {
        let text = word.text.as_str();
        if word.is_quoted {
            let test = Test::Text(Needle::new(text)?);
            return Ok(Self {
                is_inverse: false,
                test,
            });
        }
        let (is_inverse, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let test = Test::parse(text)?;
        Ok(Self { is_inverse, test })
    }
}

impl Test {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let given = |value: &str, prefix: &str| match value {
            "" => Err(FilterError::Incomplete(prefix.to_owned())),
            _ => Ok(()),
        };
        if let Some(letters) = text.strip_prefix('~') {
            given(letters, "~")?;
            return Ok(Self::Fuzzy(Box::new(Fuzzy::new(letters))));
        }
        if let Some((key, value)) = text.split_once(':') {
            let column = COLUMNS.into_iter().find(|column| *column == key);
            if column.is_some() || matches!(key, "rule" | "tool") {
                given(value, &format!("{key}:"))?;
                let pattern = Pattern::new(value);
                return Ok(match (key, column) {
                    ("rule", _) => Self::Rule(pattern),
                    (_, Some(column)) => Self::Column(column, pattern),
                    _ => Self::Tool(pattern),
                });
            }
            if is_field(key, value) {
                let fields = format!("rule tool {}", COLUMNS.join(" "));
                return Err(FilterError::UnknownField(key.to_owned(), fields));
            }
        }
        Ok(match text {
            "" => return Err(FilterError::Incomplete("!".to_owned())),
            "held" => Self::Held,
            "open" => Self::Open,
            "error" => Self::Severity(Severity::Error),
            "warning" => Self::Severity(Severity::Warning),
            "finding" => Self::Finding,
            _ => Self::Text(Needle::new(text)?),
        })
    }

    fn holds(&mut self, seen: &Seen) -> bool {
        let mut found = seen.found.iter();
        match self {
            Self::Text(needle) => holds(needle, seen),
            Self::Fuzzy(fuzzy) => fuzzy.score(&line(seen)).is_some(),
            Self::Held => is_held(seen),
            Self::Open => !is_over(seen),
            Self::Severity(severity) => found.any(|found| found.severity == *severity),
            Self::Finding => !seen.found.is_empty(),
            Self::Rule(pattern) => found.any(|found| pattern.matches(found.rule)),
            Self::Tool(pattern) => {
                let mut tools = found.filter_map(|found| found.tool.as_deref());
                tools.any(|tool| pattern.matches(tool))
            }
            Self::Column(column, pattern) => pattern.matches(&column_of(seen, column)),
        }
    }
}

fn column_of(seen: &Seen, column: &str) -> String {
    match column {
        "model" => seen.model.clone(),
        "client" => seen.client.clone(),
        "path" => seen.path.clone(),
        "status" => seen.status.map_or_else(String::new, |it| it.to_string()),
        // The time that is left is no part of it.
        _ => words::phase(seen, 0)
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Whether a text stands in an exchange.
pub fn holds(needle: &Needle, seen: &Seen) -> bool {
    needle.find(line(seen).as_bytes(), 0).is_some()
}

/// What an exchange says, in one line.
fn line(seen: &Seen) -> String {
    let dialect = seen.dialect.map_or("", |dialect| dialect.word());
    let status = column_of(seen, "status");
    let state = column_of(seen, "state");
    let mut line = [
        &seen.id.to_string(),
        &seen.client,
        dialect,
        &seen.method,
        &seen.model,
        &seen.path,
        &status,
        &state,
    ]
    .join(" ");
    for found in &seen.found {
        for part in [
            found.rule,
            found.tool.as_deref().unwrap_or_default(),
            &found.message,
        ] {
            line.push(' ');
            line.push_str(part);
        }
    }
    for note in &seen.notes {
        line.push(' ');
        line.push_str(note);
    }
    line
}
