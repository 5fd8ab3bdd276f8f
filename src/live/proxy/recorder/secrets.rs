//! The secrets of a proxy: those that it was given, and those that clients showed in their headers.

use crate::proxy::judge::Continuation;
use bytes::Bytes;
use retake_core::exchange::ExchangeId;
use retake_core::json::{skip_value, skip_whitespace};
use retake_core::redact::{HeaderSecret, Redactor, Vault, is_key};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// How many that clients showed are remembered.
const REMEMBERED: usize = 256;
/// How many cookies are: the latest ones.
const COOKIES: usize = 16;

/// How many requests without secrets are remembered: the last two of eight conversations.
const CLEAN: usize = 16;
/// Most bytes of them.
const CLEAN_BYTES: usize = 8 << 20;

/// A request that is one JSON object on one line, and holds no secret that is known.
#[derive(Debug)]
struct CleanRequest {
    /// The number of its reading.
    reading: u64,
    body: Bytes,
}

/// Takes secrets out of what is written.
#[derive(Debug)]
pub(crate) struct Secrets {
    given: Vec<(String, String)>,
    shown: VecDeque<String>,
    /// Servers give another one again and again, so nothing is made anew for them.
    cookies: VecDeque<String>,
    redactor: Redactor,
    vault: Vault,
    /// The latest first: what the next request of a conversation repeats is not looked through again.
    clean: VecDeque<CleanRequest>,
}

impl Secrets {
    pub(crate) fn new(given: Vec<(String, String)>) -> Self {
        Self {
            redactor: Redactor::new(given.clone()),
            given,
            shown: VecDeque::new(),
            cookies: VecDeque::new(),
            vault: Vault::default(),
            clean: VecDeque::new(),
        }
    }

    /// Knows what a client or a server showed in its header lines. What is not a key is none: it
    /// would be found everywhere.
    pub(crate) fn learn(&mut self, shown: &[HeaderSecret]) {
        let mut learned = false;
        for one in shown.iter().filter(|one| is_key(&one.secret)) {
            if self.shown.contains(&one.secret) || self.cookies.contains(&one.secret) {
                continue;
            }
            if one.is_cookie {
                self.redactor.add_fleeting("cookie", &one.secret);
                let finder = memchr::memmem::Finder::new(&one.secret);
                self.clean.retain(|one| finder.find(&one.body).is_none());
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
            self.clean.clear();
        }
    }

    /// A JSON text without its secrets; one that is broken loses them as well.
    pub(crate) fn redact(&mut self, entry: String) -> String {
        self.redacted(entry).0
    }

    /// The same; says whether there were any.
    pub(crate) fn redacted(&mut self, entry: String) -> (String, bool) {
        let redacted = match self.redactor.json(entry.as_bytes(), &mut self.vault) {
            Cow::Borrowed(_) => return (entry, false),
            Cow::Owned(redacted) => String::from_utf8_lossy(&redacted).into_owned(),
        };
        // What was taken out is not needed again, only its placeholder.
        self.vault.forget();
        (redacted, true)
    }

    /// Whether a request continues one without secrets, and what is new of it holds none, either: it is written
    /// as it is, and is JSON on one line.
    pub(crate) fn stays_clean(&mut self, continuation: &Continuation, body: &[u8]) -> bool {
        let is_clean = |reading| self.clean.iter().any(|one| one.reading == reading);
        let Some((_, new)) = continuation.of.as_ref().filter(|(of, _)| is_clean(*of)) else {
            return is_clean(continuation.reading);
        };
        if !are_elements(&body[..new.end], new.start) {
            return false;
        }
        let new = &body[new.clone()];
        let stays_clean = matches!(self.redactor.json(new, &mut self.vault), Cow::Borrowed(_));
        self.vault.forget();
        stays_clean
    }

    /// Remembers a request that was JSON and in which no secret was found.
    pub(crate) fn found_none(&mut self, continuation: &Continuation, body: &Bytes) {
        let is_clean = |reading| self.clean.iter().any(|one| one.reading == reading);
        let new = match &continuation.of {
            _ if is_clean(continuation.reading) => 0..0,
            Some((of, new)) if is_clean(*of) => new.clone(),
            _ => 0..body.len(),
        };
        let is_one_object = body.starts_with(b"{") && body.ends_with(b"}");
        let is_on_one_line = || memchr::memchr2(b'\n', b'\r', &body[new]).is_none();
        if body.len() > CLEAN_BYTES || !is_one_object || !is_on_one_line() {
            return;
        }
        // The one that it continues stays: the next one may continue that, too, where this one is not read yet.
        let reading = continuation.reading;
        self.clean.retain(|one| one.reading != reading);
        let body = body.clone();
        self.clean.push_front(CleanRequest { reading, body });
        let mut bytes = 0;
        let fits = |one: &CleanRequest| {
            bytes += one.body.len();
            bytes <= CLEAN_BYTES
        };
        let count = self.clean.iter().map(fits).take_while(|fits| *fits).count();
        self.clean.truncate(count.min(CLEAN));
    }

    /// What is new of a text that grows, from this place on: without secrets that began before it, and without
    /// what may become one.
    pub(crate) fn grown(&self, text: &str, from: usize) -> String {
        self.redactor.grown(text, from)
    }

    /// Whether a text, or JSON in it, holds a secret.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.redactor.finds(text)
    }
}

/// Whether the end of a text, from this place on, is elements of a list: JSON on one line.
fn are_elements(text: &[u8], from: usize) -> bool {
    let mut at = from;
    loop {
        let Ok(end) = skip_value(text, at) else {
            return false;
        };
        // Whether its strings are in order, too.
        if serde_json::from_slice::<&RawValue>(&text[at..end]).is_err() {
            return false;
        }
        at = skip_whitespace(text, end);
        match text.get(at) {
            Some(b',') => at = skip_whitespace(text, at + 1),
            Some(_) => return false,
            None => return memchr::memchr2(b'\n', b'\r', &text[from..]).is_none(),
        }
    }
}

/// How much of a text is remembered, in bytes, once it has grown beyond twice as much: more than any key has.
const KEPT: usize = 8 << 10;
/// Most texts that grow at a time; beyond it nothing of a delta is written.
const TEXTS: usize = 1024;

/// Types of the messages that end a response and all its texts.
const ENDS: &[&str] = &[
    "response.completed",
    "response.done",
    "response.failed",
    "response.incomplete",
];

/// What deltas have put together so far, by the exchange and the text that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Spread(HashMap<(ExchangeId, String), String>);

impl Spread {
    /// Takes out of a delta what belongs to a secret that its text holds, or may hold once it has grown.
    pub(crate) fn redact(&mut self, id: ExchangeId, message: &mut Value, secrets: &Secrets) {
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        let Some(kind) = text("type").map(str::to_owned) else {
            return;
        };
        let item = text("item_id").unwrap_or_default().to_owned();
        let place = ["output_index", "content_index", "summary_index"]
            .map(|name| message.get(name).map(Value::to_string).unwrap_or_default());
        let (Some(whole), Some(Value::String(delta))) =
            (kind.strip_suffix(".delta"), message.get_mut("delta"))
        else {
            if ENDS.contains(&&*kind) {
                self.ends(id);
            } else if let Some(whole) = kind.strip_suffix(".done") {
                self.0.remove(&(id, key(whole, &item, &place)));
            }
            return;
        };
        let key = (id, key(whole, &item, &place));
        if self.0.len() >= TEXTS && !self.0.contains_key(&key) {
            *delta = format!("[{} bytes]", delta.len());
            return;
        }
        let text_so_far = self.0.entry(key).or_default();
        let before = text_so_far.len();
        text_so_far.push_str(delta);
        *delta = secrets.grown(text_so_far, before);
        if text_so_far.len() > 2 * KEPT {
            let from = text_so_far.ceil_char_boundary(text_so_far.len() - KEPT);
            text_so_far.drain(..from);
        }
    }

    /// Nothing of an exchange goes on.
    pub(crate) fn ends(&mut self, id: ExchangeId) {
        self.0.retain(|(of, _), _| *of != id);
    }
}

fn key(kind: &str, item: &str, place: &[String]) -> String {
    format!("{kind} {item} {}", place.join(" "))
}
