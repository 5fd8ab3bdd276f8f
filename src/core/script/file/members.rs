//! Reads single members of a script file, and keeps what is wrong with them.

use crate::script::ScriptFault;
use crate::script::answer::template_fault;
use crate::script::keys::{KEYS, Place};
use crate::suggest::nearest;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

/// The largest number of turns, times and attempts.
const MOST_COUNTED: u64 = 1_000_000;

/// A key with its place.
pub(super) type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
/// A value with its place.
pub(super) type Member<'a> = Spanned<DeValue<'a>>;

/// The text of a file, and what was found to be wrong with it.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) faults: Vec<ScriptFault>,
}

impl Reader<'_> {
    pub(super) fn names(&mut self, key: &Key<'_>, value: &Member<'_>) -> Vec<String> {
        match value.get_ref() {
            DeValue::String(name) => vec![name.to_string()],
            _ => self.read(key, value, "a list of tools").unwrap_or_default(),
        }
    }

    /// A number from 1.
    pub(super) fn counted(&mut self, key: &Key<'_>, value: &Member<'_>) -> Option<u32> {
        let number = self.number(key, value, 1, MOST_COUNTED)?;
        u32::try_from(number).ok()
    }

    pub(super) fn number(
        &mut self,
        key: &Key<'_>,
        value: &Member<'_>,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        let wanted = format!("a whole number from {least} to {most}");
        let number = self.read::<u64>(key, value, &wanted)?;
        if (least..=most).contains(&number) {
            return Some(number);
        }
        self.fault(
            value.span().start,
            format!("`{}` is {wanted}", key.get_ref()),
            None,
        );
        None
    }

    pub(super) fn word(
        &mut self,
        key: &Key<'_>,
        value: &Member<'_>,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let given = value.get_ref().as_str();
        let known = words.iter().find(|word| Some(**word) == given);
        if known.is_none() {
            let message = format!("`{}` is one of {}", key.get_ref(), words.join(", "));
            self.fault(value.span().start, message, None);
        }
        known.copied()
    }

    pub(super) fn template(&mut self, key: &Key<'_>, value: &Member<'_>) -> Option<String> {
        let text = self.read::<String>(key, value, "a text")?;
        if let Some(message) = template_fault(&text) {
            self.fault(value.span().start, message, None);
        }
        Some(text)
    }

    /// Every text of a value is a template.
    pub(super) fn templates(&mut self, value: &Value, at: usize) {
        match value {
            Value::String(text) => {
                if let Some(message) = template_fault(text) {
                    self.fault(at, message, None);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.templates(value, at)),
            Value::Object(members) => members.values().for_each(|value| self.templates(value, at)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn read<T: DeserializeOwned>(
        &mut self,
        key: &Key<'_>,
        value: &Member<'_>,
        wanted: &str,
    ) -> Option<T> {
        if value.span().is_empty() {
            // The value is not there: a fault of the syntax, told already.
            return None;
        }
        let read = T::deserialize(ValueDeserializer::from(value.clone()));
        if read.is_err() {
            let message = format!("`{}` is {wanted}", key.get_ref());
            self.fault(value.span().start, message, None);
        }
        read.ok()
    }

    pub(super) fn unknown(&mut self, key: &Key<'_>, places: &[Place]) {
        let here = KEYS.iter().filter(|known| places.contains(&known.place));
        let names = here.map(|known| known.name).collect::<Vec<_>>();
        let name = key.get_ref();
        let hint = match nearest(name, &names).first() {
            Some(near) => format!("did you mean `{}`?", near.name),
            None => format!("there are {}", names.join(", ")),
        };
        self.fault(
            key.span().start,
            format!("`{name}` is not known here"),
            Some(hint),
        );
    }

    pub(super) fn fault(&mut self, at: usize, message: String, hint: Option<String>) {
        let line = self.line(at);
        self.faults.push(ScriptFault {
            line,
            message,
            hint,
        });
    }

    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }
}
