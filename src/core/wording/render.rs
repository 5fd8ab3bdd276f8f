//! Rendering: strict about names, bounded in time and in size.

use super::context::{FailureContext, VARIABLES};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, UndefinedBehavior};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest template, in bytes.
pub const TEMPLATE: usize = 256 * 1024;
/// Longest text that a template may give, in bytes.
pub const OUTPUT: usize = 256 * 1024;

/// Most instructions of a template with loops: a thousand tools take about ten thousand.
const FUEL: usize = 30_000;
/// Most bytes that a loop can write when each instruction writes the longest text of the template.
const LITERAL: usize = 64 * 1024 * 1024;

/// The text that the model will read.
pub fn render(template: &str, context: &FailureContext) -> Result<String, TemplateError> {
    let pieces = readable(template)?;
    let environment = environment(fuel(&pieces)).map_err(fault)?;
    let compiled = environment.template_from_str(template).map_err(fault)?;
    let text = compiled.render(context.values()).map_err(fault)?;
    if text.len() > OUTPUT {
        return Err(TemplateError::TooMuch);
    }
    Ok(text)
}

/// Whether a template can be read at all, and uses only names that stand ready. It can still fail for a failure
/// that lacks what it asks for (`nearest[0]` where nothing is near).
pub fn check(template: &str) -> Result<(), TemplateError> {
    readable(template).map(|_| ())
}

/// Checks a template and takes it apart.
fn readable(template: &str) -> Result<Vec<TemplatePart<'_>>, TemplateError> {
    if template.len() > TEMPLATE {
        return Err(TemplateError::TooLong);
    }
    let pieces = pieces(template)?;
    let environment = environment(None).map_err(fault)?;
    let compiled = environment.template_from_str(template).map_err(fault)?;
    let mut unknown = compiled
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| VARIABLES.iter().all(|variable| variable.name != name))
        .map(|name| (line_of(&pieces, &name), name))
        .collect::<Vec<_>>();
    unknown.sort();
    match unknown.into_iter().next() {
        Some((line, name)) => Err(TemplateError::UnknownName { name, line }),
        None => Ok(pieces),
    }
}

/// How many instructions a template may take: without loops as many as it has.
fn fuel(pieces: &[TemplatePart<'_>]) -> Option<u64> {
    let longest = pieces.iter().map(|piece| match piece {
        TemplatePart::Text(text) => text.len(),
        TemplatePart::Value(_) | TemplatePart::Statement(_) => 1,
    });
    let most = FUEL.min(LITERAL / longest.max().unwrap_or(1));
    uses_name(pieces, "for").then_some(most as u64)
}

/// The template language of wordings. It begins empty: what is here cannot make more
/// than [`OUTPUT`] of anything.
fn environment(fuel: Option<u64>) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.keep_trailing_newline(true).build()?);
    environment.set_fuel(fuel);
    let written = AtomicUsize::new(0);
    environment.set_formatter(move |out, _, value| write(out, value, &written));
    environment.add_filter("join", join);
    environment.add_filter("length", minijinja::filters::length);
    environment.add_filter("first", minijinja::filters::first);
    environment.add_filter("last", minijinja::filters::last);
    environment.add_filter("trim", minijinja::filters::trim);
    environment.add_filter("lower", minijinja::filters::lower);
    environment.add_filter("upper", minijinja::filters::upper);
    environment.add_filter("default", minijinja::filters::default);
    environment.add_filter("tojson", |value: &Value| as_json(value));
    Ok(environment)
}

/// Writes a value: a text as it is, nothing for none, a list of texts with commas, all else as JSON.
fn write(out: &mut Output<'_>, value: &Value, written: &AtomicUsize) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => return Ok(()),
        ValueKind::Seq | ValueKind::Iterable => listed(value)?,
        ValueKind::Map => as_json(value)?,
        _ => value.to_string(),
    };
    if written.fetch_add(text.len(), Ordering::Relaxed) + text.len() > OUTPUT {
        return Err(too_much());
    }
    out.write_str(&text).map_err(Error::from)
}

fn listed(value: &Value) -> Result<String, Error> {
    if value.try_iter()?.all(|item| item.as_str().is_some()) {
        join(value, Some(", "))
    } else {
        as_json(value)
    }
}

fn join(values: &Value, separator: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            text.push_str(separator.unwrap_or_default());
        }
        match value.as_str() {
            Some(value) => text.push_str(value),
            None => text.push_str(&as_json(&value)?),
        }
        if text.len() > OUTPUT {
            return Err(too_much());
        }
    }
    Ok(text)
}

fn as_json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn too_much() -> Error {
    Error::from(ErrorKind::WriteFailure)
}

/// The engine's error in our words.
fn fault(error: Error) -> TemplateError {
    let line = error.line().unwrap_or(1);
    let reason = match error.kind() {
        ErrorKind::OutOfFuel => return TemplateError::Endless,
        ErrorKind::WriteFailure => return TemplateError::TooMuch,
        ErrorKind::UndefinedError => "this has no value here".to_owned(),
        kind => error
            .detail()
            .map_or_else(|| kind.to_string(), str::to_owned),
    };
    TemplateError::Failed { reason, line }
}

// Why a template cannot be used, with the line and what would help.

/// Why a template cannot be used. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is too long.
    #[error("the template is too long: {} KB at most", TEMPLATE / 1024)]
    TooLong,
    /// It uses an unknown name.
    #[error("line {line}: unknown name `{name}`; available: {}", known_names())]
    UnknownName { name: String, line: usize },
    /// It uses a part of the template language that wordings leave out.
    #[error("line {line}: `{what}` is not for wordings; {hint}")]
    NotForWordings {
        /// The statement or operator.
        what: String,
        /// What to use instead.
        hint: &'static str,
        line: usize,
    },
    /// It cannot be read, or fails for this failure.
    #[error("line {line}: {reason}")]
    Failed { reason: String, line: usize },
    /// It runs on and on.
    #[error("the template does not come to an end; loop over fewer things")]
    Endless,
    /// What it says is too long.
    #[error("the text is too long: {} KB at most", OUTPUT / 1024)]
    TooMuch,
}

impl TemplateError {
    /// The line of the template, where one is to blame.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::UnknownName { line, .. }
            | Self::NotForWordings { line, .. }
            | Self::Failed { line, .. } => Some(*line),
            Self::TooLong | Self::Endless | Self::TooMuch => None,
        }
    }
}

impl TemplateError {
    /// Its line in a TOML file whose template starts, quotes included, at byte `at`. A multi-line text usually
    /// starts on the line after its quotes.
    pub fn line_in_toml(&self, file: &str, at: usize) -> usize {
        let (before, text) = file.split_at_checked(at).unwrap_or((file, ""));
        let quotes = text.starts_with("\"\"\"") || text.starts_with("'''");
        let skipped = usize::from(quotes && text[3..].trim_start_matches('\r').starts_with('\n'));
        let inside = match quotes {
            true => self.line().unwrap_or(1) - 1 + skipped,
            false => 0,
        };
        before.matches('\n').count() + 1 + inside
    }
}

fn known_names() -> String {
    let names = VARIABLES.iter().map(|variable| variable.name);
    names.collect::<Vec<_>>().join(", ")
}

// Templates taken apart, and the part of the template language that wordings use.
//
// A project can bring wordings of its own, so what could grow without end is refused before anything runs:
// variables that are set, literals of lists and maps, operators that join or multiply texts. What is left
// (values, slices, filters, `if`, `for`, `raw`) cannot make more than a few times what it was given.

/// Statements of wordings; `raw` is text to us.
const STATEMENTS: [&str; 6] = ["if", "elif", "else", "endif", "for", "endfor"];
/// What to use instead of another filter.
const FILTERS_HINT: &str =
    "the filters are join, length, first, last, trim, lower, upper, default and tojson";
const FILTERS: [&str; 9] = [
    "join", "length", "first", "last", "trim", "lower", "upper", "default", "tojson",
];
/// Most statements of a template; engines handle what is nested by recursion.
const MOST_STATEMENTS: usize = 200;
/// Most words and signs of a tag, for the same reason.
const MOST_TOKENS: usize = 100;
/// Signs of more than one character.
const LONG_SIGNS: [&str; 6] = ["//", "**", "==", "!=", ">=", "<="];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplatePart<'a> {
    Text(&'a str),
    Value(Tag<'a>),
    Statement(Tag<'a>),
}

/// The contents of a tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tag<'a> {
    /// Where it begins, from 1.
    pub(crate) line: usize,
    /// Its words and signs.
    pub(crate) tokens: Vec<TemplateToken<'a>>,
}

/// A word or sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateToken<'a> {
    /// A name or keyword, and its line.
    Name(&'a str, usize),
    Number(&'a str),
    /// A text with its quotes, unchanged.
    Literal(&'a str),
    Sign(&'a str),
}

/// Takes a template apart; fails where it uses what wordings leave out. A tag that is left open ends the
/// pieces: the engine, which reads the template afterwards, says so better.
pub(crate) fn pieces(template: &str) -> Result<Vec<TemplatePart<'_>>, TemplateError> {
    let mut scanner = Scanner {
        template,
        at: 0,
        trims: false,
        counted: 0,
        lines: 0,
        pieces: Vec::new(),
    };
    while scanner.piece() {}
    let pieces = scanner.pieces;
    let mut statements = 0;
    for piece in &pieces {
        match piece {
            TemplatePart::Text(_) => {}
            TemplatePart::Value(tag) => allowed(tag)?,
            TemplatePart::Statement(tag) => {
                statements += 1;
                known(tag)?;
                allowed(tag)?;
                if statements > MOST_STATEMENTS {
                    let reason = format!("more than {MOST_STATEMENTS} statements");
                    let line = tag.line;
                    return Err(TemplateError::Failed { reason, line });
                }
            }
        }
    }
    Ok(pieces)
}

/// Whether a name occurs outside texts.
pub(crate) fn uses_name(pieces: &[TemplatePart<'_>], wanted: &str) -> bool {
    tokens(pieces).any(|token| matches!(token, TemplateToken::Name(name, _) if *name == wanted))
}

/// The line of a name's first occurrence outside texts; 1 if there is none.
pub(crate) fn line_of(pieces: &[TemplatePart<'_>], wanted: &str) -> usize {
    let line = tokens(pieces).find_map(|token| match token {
        TemplateToken::Name(name, line) if *name == wanted => Some(*line),
        _ => None,
    });
    line.unwrap_or(1)
}

fn tokens<'p, 'a>(pieces: &'p [TemplatePart<'a>]) -> impl Iterator<Item = &'p TemplateToken<'a>> {
    let tags = pieces.iter().filter_map(|piece| match piece {
        TemplatePart::Text(_) => None,
        TemplatePart::Value(tag) | TemplatePart::Statement(tag) => Some(tag),
    });
    tags.flat_map(|tag| &tag.tokens)
}

fn known(tag: &Tag<'_>) -> Result<(), TemplateError> {
    match tag.tokens.first() {
        Some(TemplateToken::Name(name, line)) if !STATEMENTS.contains(name) => {
            Err(TemplateError::NotForWordings {
                what: (*name).to_owned(),
                hint: "there are `if`, `elif`, `else`, `endif`, `for`, `endfor` and `raw`",
                line: *line,
            })
        }
        _ => Ok(()),
    }
}

fn allowed(tag: &Tag<'_>) -> Result<(), TemplateError> {
    if tag.tokens.len() > MOST_TOKENS {
        return Err(TemplateError::Failed {
            reason: format!("more than {MOST_TOKENS} words and signs in one tag"),
            line: tag.line,
        });
    }
    let mut before = None;
    for token in &tag.tokens {
        if let Some((what, hint)) = objection(before, token) {
            return Err(TemplateError::NotForWordings {
                what: what.to_owned(),
                hint,
                line: tag.line,
            });
        }
        before = Some(token);
    }
    Ok(())
}

/// The part of a token that is not allowed, and what to use instead.
fn objection<'a>(
    before: Option<&TemplateToken<'_>>,
    token: &TemplateToken<'a>,
) -> Option<(&'a str, &'static str)> {
    match *token {
        TemplateToken::Name(name, _)
            if before == Some(&TemplateToken::Sign("|")) && !FILTERS.contains(&name) =>
        {
            Some((name, FILTERS_HINT))
        }
        TemplateToken::Sign("{") => Some((
            "{",
            "put a name inside `{{ }}`, as `{{ name }}`; `{% raw %}` before and `{% endraw %}` after keep \
            braces as they are",
        )),
        TemplateToken::Sign(sign @ ("+" | "~" | "*" | "**")) => {
            Some((sign, "write the parts one after the other"))
        }
        TemplateToken::Sign(sign @ "[") if !is_operand(before) => {
            Some((sign, "use one of the available lists"))
        }
        _ => None,
    }
}

/// Whether a token ends a value, so that a bracket after it is an index.
fn is_operand(token: Option<&TemplateToken<'_>>) -> bool {
    const WORDS: [&str; 8] = ["if", "elif", "else", "in", "and", "or", "not", "is"];
    match token {
        Some(TemplateToken::Name(name, _)) => !WORDS.contains(name),
        Some(TemplateToken::Literal(_) | TemplateToken::Sign(")" | "]")) => true,
        _ => false,
    }
}

struct Scanner<'a> {
    template: &'a str,
    at: usize,
    /// Whether the previous tag trims the white space after it.
    trims: bool,
    /// Up to where line feeds are counted, and how many there are.
    counted: usize,
    lines: usize,
    pieces: Vec<TemplatePart<'a>>,
}

impl<'a> Scanner<'a> {
    /// Reads text up to the next tag, and the tag; whether there may be more.
    fn piece(&mut self) -> bool {
        let rest = &self.template[self.at..];
        let opening = rest
            .match_indices('{')
            .find(|(at, _)| rest[at + 1..].starts_with(['{', '%', '#']));
        let Some((at, _)) = opening else {
            self.text(rest, false);
            return false;
        };
        let inside = self.at + at + 2;
        let trims_before = self.template[inside..].starts_with('-');
        self.text(&rest[..at], trims_before);
        self.at = inside;
        match rest.as_bytes()[at + 1] {
            b'#' => self.comment(),
            b'%' => match marked(&self.template[inside..], "raw") {
                Some((length, trims)) => self.raw(length, trims),
                None => self.tag("%}", TemplatePart::Statement),
            },
            _ => self.tag("}}", TemplatePart::Value),
        }
    }

    fn text(&mut self, text: &'a str, trims_end: bool) {
        let text = if self.trims { text.trim_start() } else { text };
        let text = if trims_end { text.trim_end() } else { text };
        self.trims = false;
        if !text.is_empty() {
            self.pieces.push(TemplatePart::Text(text));
        }
    }

    fn comment(&mut self) -> bool {
        let rest = &self.template[self.at..];
        let Some(end) = rest.find("#}") else {
            return false;
        };
        self.trims = rest[..end].ends_with('-');
        self.at += end + 2;
        true
    }

    /// A raw block, starting after `{%`; `length` is that of the rest of its tag.
    fn raw(&mut self, length: usize, trims: bool) -> bool {
        let start = self.at + length;
        let inside = &self.template[start..];
        let end = inside.match_indices("{%").find_map(|(at, _)| {
            let tag = &inside[at + 2..];
            let trims_before = tag.starts_with('-');
            let name = tag.strip_prefix(['-', '+']).unwrap_or(tag);
            let (length, trims_after) = marked(name, "endraw")?;
            let after = inside.len() - name.len() + length;
            Some((at, after, trims_before, trims_after))
        });
        let Some((end, after, trims_before, trims_after)) = end else {
            return false;
        };
        self.trims = trims;
        self.text(&inside[..end], trims_before);
        self.trims = trims_after;
        self.at = start + after;
        true
    }

    fn tag(&mut self, close: &str, piece: fn(Tag<'a>) -> TemplatePart<'a>) -> bool {
        let mut tag = Tag {
            line: self.line(),
            tokens: Vec::new(),
        };
        let mut line = tag.line;
        if self.template[self.at..].starts_with(['-', '+']) {
            self.at += 1;
        }
        loop {
            let rest = &self.template[self.at..];
            let Some(first) = rest.chars().next() else {
                return false;
            };
            let unmarked = rest.strip_prefix(['-', '+']).unwrap_or(rest);
            if unmarked.starts_with(close) {
                self.trims = rest.starts_with('-');
                self.at += rest.len() - unmarked.len() + close.len();
                self.pieces.push(piece(tag));
                return true;
            }
            if first.is_ascii_whitespace() {
                line += usize::from(first == '\n');
                self.at += 1;
                continue;
            }
            let Some((token, length)) = token(rest, line) else {
                return false;
            };
            line += rest[..length].matches('\n').count();
            tag.tokens.push(token);
            self.at += length;
        }
    }

    fn line(&mut self) -> usize {
        self.lines += self.template[self.counted..self.at].matches('\n').count();
        self.counted = self.at;
        self.lines + 1
    }
}

/// The length of `name` with its end of tag, and whether the white space after it is trimmed.
fn marked(tag: &str, name: &str) -> Option<(usize, bool)> {
    let space = |text: &'_ str| {
        text.trim_start_matches(|c: char| c.is_ascii_whitespace())
            .len()
    };
    let rest = tag[tag.len() - space(tag)..].strip_prefix(name)?;
    let rest = &rest[rest.len() - space(rest)..];
    let trims = rest.starts_with('-');
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let rest = rest.strip_prefix("%}")?;
    Some((tag.len() - rest.len(), trims))
}

/// The word or sign at the start, with its length; `None` where a text is left open.
fn token(rest: &str, line: usize) -> Option<(TemplateToken<'_>, usize)> {
    let first = rest.chars().next()?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if matches!(first, '"' | '\'') {
        let mut escaped = false;
        let end = rest[1..].find(|c: char| {
            let ends = c == first && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        return Some((TemplateToken::Literal(&rest[..end + 2]), end + 2));
    }
    if is_word(first) {
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        let token = if first.is_ascii_digit() {
            TemplateToken::Number(word)
        } else {
            TemplateToken::Name(word, line)
        };
        return Some((token, length));
    }
    let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let length = long.map_or(first.len_utf8(), |sign| sign.len());
    Some((TemplateToken::Sign(&rest[..length]), length))
}
