//! The secrets of a proxy: those that it was given, and those that clients showed in their headers.

use super::repeated::{Repeated, Repeats};
use bytes::Bytes;
use retake_core::redact::{HeaderSecret, Redactor, Vault, is_key};
use retake_core::session::Dialect;
use std::borrow::Cow;
use std::collections::VecDeque;

/// How many that clients showed are remembered.
const REMEMBERED: usize = 256;
/// How many cookies are: the latest ones.
const COOKIES: usize = 16;

/// Takes secrets out of what is written.
#[derive(Debug)]
pub(super) struct Secrets {
    given: Vec<(String, String)>,
    shown: VecDeque<String>,
    /// Servers give another one again and again, so nothing is made anew for them.
    cookies: VecDeque<String>,
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
            cookies: VecDeque::new(),
            vault: Vault::default(),
            repeated: Repeated::default(),
        }
    }

    /// Knows what a client or a server showed in its header lines. What is no key is none: it
    /// would be found everywhere.
    pub(super) fn learn(&mut self, shown: &[HeaderSecret]) {
        let mut learned = false;
        for one in shown.iter().filter(|one| is_key(&one.secret)) {
            if self.shown.contains(&one.secret) || self.cookies.contains(&one.secret) {
                continue;
            }
            if one.is_cookie {
                self.redactor.add_fleeting("cookie", &one.secret);
                self.repeated.forget_those_with(&one.secret);
                self.cookies.push_back(one.secret.clone());
                let too_many = self.cookies.len().saturating_sub(COOKIES);
                self.cookies.drain(..too_many);
            } else {
                self.shown.push_back(one.secret.clone());
                learned = true;
            }
        }
        if learned {
            let too_many = self.shown.len().saturating_sub(REMEMBERED);
            self.shown.drain(..too_many);
            let shown = self.shown.iter();
            let shown = shown.map(|secret| ("credentials".to_owned(), secret.clone()));
            self.redactor = Redactor::new(self.given.iter().cloned().chain(shown));
            for cookie in &self.cookies {
                self.redactor.add_fleeting("cookie", cookie);
            }
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

    /// A request that repeats one without secrets, where what is new of it holds none, either: it is written as
    /// it stands, and is JSON on one line.
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

    /// What is new of a text that grows, from this place on: without secrets that began before it, and without
    /// what may become one.
    pub(super) fn grown(&self, text: &str, from: usize) -> String {
        self.redactor.grown(text, from)
    }

    /// Whether a text, or JSON in it, holds a secret.
    pub(super) fn finds(&self, text: &str) -> bool {
        self.redactor.finds(text)
    }
}
