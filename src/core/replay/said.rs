//! One thing of a history, in the form that is compared.

use crate::formats::convert::sanitised;
use serde_json::{Map, Number, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A message, a call or an output, as it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// Who speaks: what it is.
    pub(super) who: Who,
    /// Index of the item in its session; of several that count as one, the first.
    pub(super) item: usize,
    /// The tool of a call, as it is recorded.
    pub(super) name: String,
    /// What a message or an output says.
    pub(super) text: String,
    /// What a call is called with.
    pub(super) input: Input,
    /// The call that an output answers: its index in the session; in a form of a history its number among the
    /// calls, from 0.
    pub(super) answers: Option<usize>,
    /// Whether a secret was taken out of it when it was written.
    pub(super) is_redacted: bool,
}

/// What a part of a history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Who {
    /// A message of the user.
    User,
    /// A message of the model.
    Assistant,
    Call,
    Output,
}

impl Who {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Call => "call",
            Self::Output => "output",
        }
    }
}

/// What a call is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    /// JSON; of a free-form tool `{"input": text}`, which is what a dialect without such tools makes of it.
    Json(Value),
    /// A text that is no JSON.
    Broken(String),
}

impl Said {
    /// A number that does not hang on the order in which things are said, nor on how many messages they are
    /// said in. What the model says counts nothing: it may be divided anywhere.
    pub(super) fn fingerprint(&self) -> u64 {
        let name = match self.who {
            Who::Assistant => return 0,
            Who::Call => name_for_all(&self.name),
            Who::User | Who::Output => String::new(),
        };
        let lines = self.text.lines().chain([name.as_str()]);
        let lines = lines.filter(|line| !line.trim().is_empty());
        lines.fold(0, |sum: u64, line| {
            let mut hasher = DefaultHasher::new();
            line.trim().hash(&mut hasher);
            sum.wrapping_add(hasher.finish())
        })
    }

    /// Whether it is a part of a reply.
    pub(super) fn is_of_reply(&self) -> bool {
        matches!(self.who, Who::Assistant | Who::Call)
    }

    /// Whether a request says the same as this, which is recorded. Anthropic takes JSON objects only, so that
    /// there any object stands for arguments that are no JSON.
    pub(super) fn is_said_by(&self, asked: &Self, takes_objects_only: bool) -> bool {
        let is_same_input = match (&self.input, &asked.input) {
            (Input::Json(one), Input::Json(other)) => equal(one, other),
            (Input::Broken(_), Input::Json(_)) => takes_objects_only,
            (one, other) => one == other,
        };
        self.who == asked.who
            && name_for_all(&self.name) == name_for_all(&asked.name)
            && self.is_same_text(asked)
            && self.answers == asked.answers
            && is_same_input
    }

    /// A reply is divided into messages and parts by each dialect and SDK in its own way, so that where white
    /// space is in what the model says means nothing.
    fn is_same_text(&self, asked: &Self) -> bool {
        match self.who {
            Who::Assistant => letters(&self.text).eq(letters(&asked.text)),
            Who::User | Who::Call | Who::Output => self.text == asked.text,
        }
    }

    /// All that is compared, as one text.
    pub(super) fn key(&self) -> String {
        let input = match &self.input {
            Input::Json(value) => canonical(value).to_string(),
            Input::Broken(text) => text.clone(),
        };
        let (who, name) = (self.who.word(), name_for_all(&self.name));
        let answers = self.answers.map_or(-1, |call| call as i64);
        let text = match self.who {
            Who::Assistant => letters(&self.text).collect(),
            Who::User | Who::Call | Who::Output => self.text.clone(),
        };
        format!("{who}\0{name}\0{answers}\0{input}\0{text}")
    }

    /// What there is to read of it: a text, or the tool with its arguments.
    pub(super) fn words(&self) -> String {
        match (self.who, &self.input) {
            (Who::Call, Input::Json(value)) => format!("{} {value}", self.name),
            (Who::Call, Input::Broken(text)) => format!("{} {text}", self.name),
            _ => self.text.clone(),
        }
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| !letter.is_whitespace())
}

/// A tool's name in the letters that every provider takes, as `convert` writes it.
pub(super) fn name_for_all(name: &str) -> String {
    sanitised(name, LONGEST_NAME)
}

/// Chat takes no longer name (OpenAI API reference, `FunctionObject`).
const LONGEST_NAME: usize = 64;

/// Whether two values are the same: members in any order, `1` and `1.0` are one number.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    one == other || canonical(one) == canonical(other)
}

/// The value with its members in order and each number in one spelling.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(canonical).collect()),
        Value::Object(members) => {
            let mut sorted = members.iter().collect::<Vec<_>>();
            sorted.sort_by_key(|(key, _)| *key);
            let sorted = sorted.into_iter();
            let sorted = sorted.map(|(key, value)| (key.clone(), canonical(value)));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|real| {
                // Beyond 2^53 a double is no exact whole number.
                real.fract() == 0.0 && real.abs() < 9_007_199_254_740_992.0
            });
            whole.map_or_else(
                || value.clone(),
                |whole| Value::Number(Number::from(whole as i64)),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
