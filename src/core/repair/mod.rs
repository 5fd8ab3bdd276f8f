//! What broken JSON probably meant, and what is wrong with it.
//!
//! Repair is a guess. Text is read strictly first; only when that fails do two independent libraries guess, and
//! only when both mean the same value is it called likely. Where words precede the JSON and the libraries
//! make something of the words, the text between the outermost braces is read instead. Every text given back
//! was read strictly again.

use jsonfix::{Options, Repairs};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Deepest nesting that is read; serde_json builds no deeper values either.
pub const MAX_DEPTH: usize = 128;
/// Longest text that is repaired, in bytes.
pub const MAX_REPAIRED: usize = 16 << 20;

/// What a text probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// It is JSON already.
    Valid,
    /// Both libraries mean the same value; the text keeps as much of the original's spacing as possible.
    Likely { text: String },
    /// Only one library has an opinion.
    OneOpinion { text: String },
    /// The two libraries mean different values: the operator picks.
    Disagree {
        /// JSON, the more conservative reading.
        a: String,
        /// JSON, the more tolerant reading.
        b: String,
    },
    /// Nothing to repair from: empty, plain text, arithmetic, too deep, too large.
    None,
}

/// The first place where a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line} column {column}")]
pub struct SyntaxError {
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// Byte offset, at a character's start.
    pub byte: usize,
    /// What was wrong there, without the place.
    pub message: String,
}

/// What a text that is not JSON probably meant, where both libraries mean the same.
#[must_use]
pub fn likely(text: &str) -> Option<String> {
    match repair(text) {
        Repair::Likely { text } => Some(text),
        Repair::Valid | Repair::OneOpinion { .. } | Repair::Disagree { .. } | Repair::None => None,
    }
}

/// The same, where nothing that the model wrote is lost or made up: a text that was cut off says no longer
/// how it went on.
#[must_use]
pub fn certain(text: &str) -> Option<String> {
    let likely = likely(text)?;
    let is_whole = !invents(text, &likely) && !defects(text).contains(&SyntaxDefect::Truncated);
    is_whole.then_some(likely)
}

/// Guesses what a text meant. Nothing is guessed that makes up a key, or that was to be computed.
#[must_use]
pub fn repair(text: &str) -> Repair {
    if is_json(text) {
        return Repair::Valid;
    }
    if text.len() > MAX_REPAIRED || nothing_to_repair(text) {
        return Repair::None;
    }
    match read_twice(text) {
        Repair::None => within(text).map_or(Repair::None, |text| Repair::OneOpinion { text }),
        // What one library alone makes of words around JSON counts less than the JSON among the words.
        Repair::OneOpinion { text: guessed } => match within(text) {
            Some(text) => Repair::OneOpinion { text },
            None if invents(text, &guessed) => Repair::None,
            None => Repair::OneOpinion { text: guessed },
        },
        // The same, where each makes something else of the words.
        Repair::Disagree { a, b } => match within(text) {
            Some(found) if !(same_value(&found, &a) || same_value(&found, &b)) => {
                Repair::Disagree { a: found, b }
            }
            _ => Repair::Disagree { a, b },
        },
        other => other,
    }
}

/// What the two libraries make of a text.
fn read_twice(text: &str) -> Repair {
    if has_arithmetic(text) {
        return Repair::None;
    }
    let is_sound = |repaired: &String| is_json(repaired) && has_only_keys_of(text, repaired);
    let a = jsonrepair_rs::jsonrepair(text).ok().filter(is_sound);
    let tolerant = if starts_as_prose(text) {
        jsonfix::repair_extract(text)
    } else {
        jsonfix::repair(text)
    };
    let b = tolerant.ok().filter(is_sound);
    match (a, b) {
        (Some(a), Some(b)) if same_value(&a, &b) => Repair::Likely { text: a },
        (Some(a), Some(b)) => Repair::Disagree { a, b },
        (Some(text), None) | (None, Some(text)) => Repair::OneOpinion { text },
        (None, None) => Repair::None,
    }
}

/// The JSON among words that stand before it: what a fence holds, else from the first brace to the
/// last one, else from the first one to the end. What is left out was perhaps meant, so this is never
/// more than one opinion.
fn within(text: &str) -> Option<String> {
    // After a quote it would be a part of a text.
    let first = text.find(['{', '[']).filter(|first| {
        let before = &text[..*first];
        !before.trim().is_empty() && !before.contains('"')
    })?;
    let closing = if text[first..].starts_with('{') {
        '}'
    } else {
        ']'
    };
    let last = text.rfind(closing).filter(|last| *last > first);
    let spans = [
        jsonfix::extract(text),
        last.map(|last| &text[first..=last]),
        Some(&text[first..]),
    ];
    let read = |span: &str| match (is_json(span), read_twice(span)) {
        (true, _) => Some(span.to_owned()),
        (false, Repair::Likely { text }) => Some(text),
        _ => None,
    };
    let spans = spans.into_iter().flatten().filter(|span| *span != text);
    let mut found = spans
        .filter_map(read)
        .filter(|found| holds_something(found));
    found.next()
}

/// Whether a text is an object or a list with something in it.
fn holds_something(json: &str) -> bool {
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Object(members)) => !members.is_empty(),
        Ok(Value::Array(values)) => !values.is_empty(),
        _ => false,
    }
}

/// Whether a guess gives more keys no value than the text does: words that the reader took for keys.
fn invents(text: &str, guessed: &str) -> bool {
    let spelled = ["null", "Null", "NULL", "None", "undefined", "NaN"];
    let spelled = spelled.iter().map(|word| text.matches(word).count());
    let nulls = serde_json::from_str(guessed).map_or(0, |value| count_nulls(&value));
    nulls > spelled.sum()
}

/// Whether the keys of a guess are keys of the text, in its order: where a member begins, or before a colon or `=`.
fn has_only_keys_of(text: &str, guessed: &str) -> bool {
    let is_quote = |it: char| matches!(it, '"' | '\'' | '`' | '´' | '“' | '”' | '‘' | '’');
    let mut rest = text;
    let mut is_written = |key: &str| {
        // Other characters may be escaped in one of the two.
        let is_plain = |it: char| matches!(it, ' '..='~') && !matches!(it, '"' | '\'' | '\\');
        if !key.chars().all(is_plain) {
            return true;
        }
        let found = rest.match_indices(key).find_map(|(at, _)| {
            let before = rest[..at].trim_end_matches(is_quote).trim_end();
            let after = &rest[at + key.len()..];
            let next = after.trim_start_matches("&quot;");
            let next = next
                .trim_start_matches(|it: char| it.is_whitespace() || it == '\\' || is_quote(it));
            (before.ends_with(['{', ',']) || next.starts_with([':', '='])).then_some(after)
        });
        rest = found.unwrap_or(rest);
        found.is_some()
    };
    serde_json::from_str(guessed).is_ok_and(|value| all_keys(&value, &mut is_written))
}

fn all_keys(value: &Value, passes: &mut dyn FnMut(&str) -> bool) -> bool {
    match value {
        Value::Array(values) => values.iter().all(|value| all_keys(value, passes)),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| passes(key) && all_keys(value, passes)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Whether a value outside quotes is to be computed, as `4.1/100/12`.
fn has_arithmetic(text: &str) -> bool {
    let (mut inside, mut escaped) = (false, false);
    let mut outside = text.to_owned();
    outside.retain(|it| {
        let is_outside = !inside;
        match it {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            _ => {}
        }
        is_outside
    });
    let separators = [',', ':', '{', '}', '[', ']', '"', '\n'];
    outside.split(separators).any(is_arithmetic)
}

/// Whether a text without quotes is numbers or names with operators between them. Dates, ranges of words and
/// comments are not.
fn is_arithmetic(text: &str) -> bool {
    let text = text.trim();
    let is_operand =
        |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b' ' | b'(' | b')');
    let is_operator = |it: u8| matches!(it, b'*' | b'/' | b'+' | b'-' | b'%' | b'^');
    let is_expression = text.bytes().all(|it| is_operand(it) || is_operator(it));
    let is_value = text.parse::<f64>().is_ok();
    if !is_expression
        || is_value
        || text.contains("//")
        || text.contains("/*")
        || text.starts_with('/')
    {
        return false;
    }
    let is_number =
        text.starts_with(|it: char| it.is_ascii_digit() || matches!(it, '(' | '.' | '-' | '+'));
    let mut operators = text.match_indices(['*', '/', '+', '-', '%', '^']);
    operators.any(|(at, operator)| {
        let (before, after) = (text[..at].trim_end(), text[at + 1..].trim_start());
        let after = after.trim_start_matches('*').trim_start();
        let is_between = before.ends_with(|it: char| it.is_ascii_alphanumeric() || it == ')')
            && after.starts_with(|it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '('));
        let is_before_number = after.starts_with(|it: char| !it.is_ascii_alphabetic());
        is_between
            && match operator {
                "*" | "^" => true,
                // One of them divides or subtracts; with two it is a date.
                "-" => is_number && is_before_number && text.matches('-').count() == 1,
                _ => is_number && is_before_number,
            }
    })
}

fn count_nulls(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Array(values) => values.iter().map(count_nulls).sum(),
        Value::Object(members) => members.values().map(count_nulls).sum(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The inner JSON of a JSON string that holds an object or a list as text (arguments that were encoded twice).
#[must_use]
pub fn decoded_twice(text: &str) -> Option<String> {
    let inner: String = serde_json::from_str(text).ok()?;
    let container = inner.trim_start().starts_with(['{', '[']);
    (container && is_json(&inner)).then_some(inner)
}

/// Where a text first breaks the grammar of JSON (RFC 8259), or exceeds [`MAX_DEPTH`]; `None` when it is JSON.
///
/// Numbers beyond a double's range and lone surrogate escapes are not an error here: the grammar allows them,
/// and clients read them.
#[must_use]
pub fn first_error(text: &str) -> Option<SyntaxError> {
    if let Some(byte) = too_deep_at(text) {
        return Some(place(
            text,
            byte,
            format!("nested deeper than {MAX_DEPTH} levels"),
        ));
    }
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(message, _)| message);
    // The parser's own words for an early end name its grammar.
    let message = match message.strip_prefix("EOF while parsing ") {
        Some("a value") => "it ends where a value is missing".to_owned(),
        Some(inside) => format!("it ends within {inside}"),
        None => message.to_owned(),
    };
    let line_start = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    let byte = if error.is_eof() {
        text.len()
    } else {
        line_start + error.column().saturating_sub(1)
    };
    Some(place(text, byte, message))
}

fn place(text: &str, byte: usize, message: String) -> SyntaxError {
    let byte = text.floor_char_boundary(byte);
    let before = &text[..byte];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    SyntaxError {
        line,
        column: before[line_start..].chars().count() + 1,
        byte,
        message,
    }
}

/// Whether a text is JSON by the grammar and not too deep.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok() && too_deep_at(text).is_none()
}

fn same_value(a: &str, b: &str) -> bool {
    match (
        serde_json::from_str::<Value>(a),
        serde_json::from_str::<Value>(b),
    ) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;

// What is wrong with a broken JSON text, by name.
//
// A tolerant parser with one switch per repair says which repairs a text needs: those without which it means
// another value or nothing. What has no switch is seen by a scan of the text.

/// Longest text that is tried with each repair switched off; longer texts are only scanned.
const MAX_TRIED: usize = 1 << 20;

/// One thing that is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display)]
#[non_exhaustive]
pub enum SyntaxDefect {
    #[strum(serialize = "empty")]
    Empty,
    #[strum(serialize = "plain text, no JSON")]
    PlainText,
    /// Nested deeper than [`MAX_DEPTH`] levels.
    #[strum(serialize = "nested too deeply")]
    TooDeep,
    #[strum(serialize = "cut off before its end")]
    Truncated,
    #[strum(serialize = "inside a code fence")]
    CodeFence,
    /// Words before the JSON.
    #[strum(serialize = "words around the JSON")]
    Prose,
    #[strum(serialize = "encoded twice: a JSON string that holds JSON")]
    DoubleEncoded,
    #[strum(serialize = "single or typographic quotes")]
    SingleQuotes,
    #[strum(serialize = "unquoted key or text")]
    Unquoted,
    /// `True`, `None`, `undefined`, `NaN`: words of another language.
    #[strum(serialize = "literals of another language (True, None, NaN)")]
    ForeignLiterals,
    #[strum(serialize = "comments")]
    Comments,
    #[strum(serialize = "trailing comma")]
    TrailingComma,
    #[strum(serialize = "several values where one belongs")]
    SeveralValues,
    /// A number that JSON does not write so (`.5`, `007`).
    #[strum(serialize = "a number that is not written as JSON")]
    BadNumber,
    /// A line break or another control character inside a string.
    #[strum(serialize = "raw control character in a string")]
    ControlCharacters,
    /// Operators between numbers or names, outside quotes.
    #[strum(serialize = "arithmetic, which cannot be repaired without guessing")]
    Arithmetic,
    #[strum(serialize = "strings joined with +")]
    JoinedStrings,
    #[strum(serialize = "wrapped in a function call")]
    Call,
    #[strum(serialize = "HTML entities")]
    Entities,
    #[strum(serialize = "white space that JSON does not know")]
    OddWhitespace,
    /// Not JSON for another reason; see [`first_error`].
    #[strum(serialize = "not JSON")]
    Other,
}

/// Each repair of the tolerant parser with the defect that needs it.
const SWITCHES: [(Repairs, SyntaxDefect); 12] = [
    (Repairs::FENCES, SyntaxDefect::CodeFence),
    (Repairs::COMMENTS, SyntaxDefect::Comments),
    (Repairs::UNQUOTED, SyntaxDefect::Unquoted),
    (Repairs::KEYWORDS, SyntaxDefect::ForeignLiterals),
    (Repairs::NUMBERS, SyntaxDefect::BadNumber),
    (Repairs::CONCATENATION, SyntaxDefect::JoinedStrings),
    (Repairs::CALLS, SyntaxDefect::Call),
    (Repairs::ENTITIES, SyntaxDefect::Entities),
    (Repairs::QUOTES, SyntaxDefect::SingleQuotes),
    (Repairs::WHITESPACE, SyntaxDefect::OddWhitespace),
    (Repairs::TRUNCATION, SyntaxDefect::Truncated),
    (Repairs::NDJSON, SyntaxDefect::SeveralValues),
];

/// Everything that is wrong with a text as the JSON of arguments; empty when it is JSON
/// (and not encoded twice).
#[must_use]
pub fn defects(text: &str) -> Vec<SyntaxDefect> {
    if is_json(text) {
        return if decoded_twice(text).is_some() {
            vec![SyntaxDefect::DoubleEncoded]
        } else {
            Vec::new()
        };
    }
    if text.trim().is_empty() {
        return vec![SyntaxDefect::Empty];
    }
    if too_deep_at(text).is_some() {
        return vec![SyntaxDefect::TooDeep];
    }
    if !has_json(text) {
        return vec![SyntaxDefect::PlainText];
    }
    let mut found = scanned(text);
    // Of arithmetic the tolerant parser makes something else.
    if has_arithmetic(text) {
        found.push(SyntaxDefect::Arithmetic);
    } else if text.len() <= MAX_TRIED {
        found.extend(needed_repairs(text));
    }
    if starts_as_prose(text)
        && jsonfix::extract(text).is_some()
        && !found.contains(&SyntaxDefect::CodeFence)
    {
        found.push(SyntaxDefect::Prose);
    }
    if value_follows(text) {
        found.push(SyntaxDefect::SeveralValues);
    }
    if found.is_empty() {
        found.push(SyntaxDefect::Other);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a whole value is followed by another, as when a stream's arguments were joined twice.
fn value_follows(text: &str) -> bool {
    let trailing = first_error(text).filter(|error| error.message == "trailing characters");
    trailing.is_some_and(|error| text[error.byte..].starts_with(['{', '[', '"']))
}

/// Whether there is nothing that a repair could start from.
fn nothing_to_repair(text: &str) -> bool {
    !has_json(text) || too_deep_at(text).is_some()
}

/// Whether anything in a text can begin an object, a list or a string.
fn has_json(text: &str) -> bool {
    text.contains(['{', '[', '"', '“']) || text.trim_start().starts_with(['\'', '`', '‘'])
}

/// Whether a text begins with words and holds an object or a list later.
fn starts_as_prose(text: &str) -> bool {
    let text = text.trim_start();
    let word: String = text
        .chars()
        .take_while(|character| character.is_alphanumeric())
        .collect();
    !word.is_empty()
        && text[word.len()..].starts_with([' ', ',', ':', '!', '.', '\n'])
        && text.contains(['{', '['])
}

/// The byte where a text nests deeper than [`MAX_DEPTH`], were it JSON: brackets outside double quotes.
fn too_deep_at(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut inside = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(at);
        }
    }
    None
}

/// What a walk over the text sees.
fn scanned(text: &str) -> Vec<SyntaxDefect> {
    let mut found = Vec::new();
    let (mut inside, mut escaped, mut depth) = (false, false, 0_usize);
    let mut before = b' ';
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            0..=31 if inside => found.push(SyntaxDefect::ControlCharacters),
            _ if inside => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if before == b',' {
                    found.push(SyntaxDefect::TrailingComma);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        found.dedup();
    }
    if before == b',' && depth == 0 {
        found.push(SyntaxDefect::TrailingComma);
    }
    if inside || depth > 0 {
        found.push(SyntaxDefect::Truncated);
    }
    found
}

/// The repairs without which the text means something else or nothing.
fn needed_repairs(text: &str) -> Vec<SyntaxDefect> {
    let Ok(meant) = jsonfix::repair(text) else {
        return Vec::new();
    };
    let without = |repair: Repairs| {
        let options = Options::all().with_repairs(Repairs::ALL.without(repair));
        jsonfix::repair_with(text, options)
    };
    SWITCHES
        .iter()
        .filter(|(repair, _)| without(*repair).as_ref() != Ok(&meant))
        .map(|(_, defect)| *defect)
        .collect()
}
