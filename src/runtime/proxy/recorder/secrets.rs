//! The secrets of a proxy: those that it was given, and those that clients showed in their headers.

use super::repeated::{Repeated, Repeats};
use crate::redact::{Redactor, Vault};
use crate::session::Dialect;
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::VecDeque;

/// How many that clients showed are remembered.
const REMEMBERED: usize = 256;

/// Takes secrets out of what is written.
#[derive(Debug)]
pub(super) struct Secrets {
    given: Vec<(String, String)>,
    shown: VecDeque<String>,
    redactor: Redactor,
    vault: Vault,
    repeated: Repeated,
}

impl Secrets {
    pub(super) fn new(given: Vec<(String, String)>) -> Self {
        Self {
            redactor: Redactor::new(given.clone()),
            given,
            shown: VecDeque::new(),
            vault: Vault::default(),
            repeated: Repeated::default(),
        }
    }

    /// Knows what a client showed. Words that stand for no key (`ollama`, `lm-studio`, `EMPTY`) are none: they would be found everywhere.
    pub(super) fn learn(&mut self, shown: &[String]) {
        let is_key = |secret: &&String| {
            let has_digit = secret.bytes().any(|byte| byte.is_ascii_digit());
            secret.len() >= 20 || (secret.len() >= 8 && has_digit)
        };
        let mut learned = false;
        for secret in shown.iter().filter(is_key) {
            if !self.shown.contains(secret) {
                self.shown.push_back(secret.clone());
                learned = true;
            }
        }
        if learned {
            let too_many = self.shown.len().saturating_sub(REMEMBERED);
            self.shown.drain(..too_many);
            let shown = self.shown.iter();
            let shown = shown.map(|secret| ("credentials".to_owned(), secret.clone()));
            self.redactor = Redactor::new(self.given.iter().cloned().chain(shown));
            self.repeated.forget();
        }
    }

    /// A JSON text without its secrets; one that is broken loses them as well.
    pub(super) fn redact(&mut self, entry: String) -> String {
        self.redacted(entry).0
    }

    /// The same; says whether there were any.
    pub(super) fn redacted(&mut self, entry: String) -> (String, bool) {
        let redacted = match self.redactor.json(entry.as_bytes(), &mut self.vault) {
            Cow::Borrowed(_) => return (entry, false),
            Cow::Owned(redacted) => String::from_utf8_lossy(&redacted).into_owned(),
        };
        // What was taken out is not needed again, only its placeholder.
        self.vault.forget();
        (redacted, true)
    }

    /// A request that repeats one without secrets, where what is new of it holds none, either: it is written as it stands, and is JSON on one
    /// line.
    pub(super) fn repeats(&mut self, dialect: Dialect, body: &Bytes) -> Option<Repeats> {
        let repeats = self.repeated.find(dialect, body)?;
        let new = &body[repeats.new.clone()];
        let is_clean = matches!(self.redactor.json(new, &mut self.vault), Cow::Borrowed(_));
        self.vault.forget();
        is_clean.then_some(repeats)
    }

    /// Remembers such a request.
    pub(super) fn went_on(&mut self, body: Bytes, repeats: Repeats) {
        self.repeated.go_on(body, repeats);
    }

    /// Remembers a request that was JSON and in which no secret was found.
    pub(super) fn found_none(&mut self, dialect: Dialect, body: &Bytes) {
        self.repeated.keep(dialect, body);
    }

    /// Whether a text, or JSON in it, holds a secret.
    pub(super) fn finds(&self, text: &str) -> bool {
        self.redactor.finds(text)
    }
}
