//! Secrets leave a text before it is written, logged or shown.
//!
//! What is taken out is replaced by a placeholder and kept in a [`Vault`] in memory, so that what goes to the
//! model or to a tool can be given back as it was, byte for byte. What a secret is says this module, for all of
//! retake: known values (keys that retake itself was given or that passed in header lines) in every spelling,
//! names of members and variables, names of header lines, what keys of known services look like, and what texts
//! give a name. Signatures and encrypted reasoning in objects of a provider stay as they are, but for known
//! values: providers check them.

use assigned::assigned;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use known::KnownSecrets;
use names::is_secret_under;
pub use names::{is_key, names_a_secret};
use patterns::{Suspected, beginning, named_at_end, suspected};
use places::{ByteOrigins, DecodedText, Quoted, texts};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

mod assigned;
mod known;
mod names;
mod patterns;
mod places;

/// How deep JSON in strings of JSON is looked into.
const DEPTH: u32 = 4;
/// Shorter texts hold no secret, unless their names say so.
const SHORTEST: usize = 6;

#[derive(Default)]
pub struct Redactor {
    known: KnownSecrets,
}

/// Says how many secrets are known, and nothing else.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("known", &self.known.count())
            .finish()
    }
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    at: Range<usize>,
    what: String,
}

impl Redactor {
    /// Knows these secrets by value besides what secrets look like; each with what its placeholder calls it.
    /// What is not a key ([`is_key`]) is not looked for: it would be found everywhere.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let known = KnownSecrets::new(secrets);
        Self { known }
    }

    /// The same without secrets that occur in one of these words: names of tools and models, which must not
    /// change.
    pub fn sparing<'w>(
        secrets: impl IntoIterator<Item = (String, String)>,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Self {
        let words: Vec<&str> = words.into_iter().collect();
        let occurs = |secret: &str| words.iter().any(|word| word.contains(secret));
        let secrets = secrets.into_iter();
        Self::new(secrets.filter(|(_, secret)| !occurs(secret)))
    }

    /// Knows one more secret until others like it have come: a cookie.
    pub fn add_fleeting(&mut self, what: &str, secret: &str) {
        self.known.add_fleeting(what, secret);
    }

    /// A plain text without its secrets.
    pub fn text<'a>(&self, text: &'a str, vault: &mut Vault) -> Cow<'a, str> {
        let hits = self.hits_of_text(text);
        match replaced(text.as_bytes(), &hits, vault) {
            None => Cow::Borrowed(text),
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// A text that is still growing, for the screen: without its secrets, and without what may become
    /// one. Nothing is kept.
    pub fn growing<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match replaced(
            text.as_bytes(),
            &self.hits_of_growing(text),
            &mut Vault::default(),
        ) {
            None => Cow::Borrowed(text),
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// The new part of a growing text, from this place on, for a file: as [`Self::growing`], and without a
    /// value at its end after the name of a secret, since what was written cannot be taken back.
    pub fn grown(&self, text: &str, from: usize) -> String {
        let mut hits = self.hits_of_growing(text);
        let named = named_at_end().and_then(|regex| regex.captures(text));
        let value = named.and_then(|found| found.get(1));
        hits.extend(value.map(|value| hit(value.range(), "secret")));
        let hits = merged(hits).into_iter().filter(|hit| hit.at.end > from);
        let hits = hits.map(|hit| Hit {
            at: hit.at.start.saturating_sub(from)..hit.at.end - from,
            ..hit
        });
        let new = text.get(from..).unwrap_or_default().as_bytes();
        let hits: Vec<Hit> = hits.collect();
        let bytes = replaced(new, &hits, &mut Vault::default());
        String::from_utf8_lossy(bytes.as_deref().unwrap_or(new)).into_owned()
    }

    fn hits_of_growing(&self, text: &str) -> Vec<Hit> {
        let mut hits = self.hits_of_text(text);
        let begun = self.known.begun(text);
        let begins = begun.map(|(what, length)| hit(text.len() - length..text.len(), what));
        let may_become = beginning().and_then(|regex| regex.find(text));
        hits.extend(begins);
        hits.extend(may_become.map(|found| hit(found.range(), "secret")));
        merged(hits)
    }

    /// A JSON text without its secrets; everything else of it stays byte for byte.
    pub fn json<'a>(&self, bytes: &'a [u8], vault: &mut Vault) -> Cow<'a, [u8]> {
        match replaced(bytes, &self.hits_of_json(bytes), vault) {
            None => Cow::Borrowed(bytes),
            Some(bytes) => Cow::Owned(bytes),
        }
    }

    fn hits_of_json(&self, bytes: &[u8]) -> Vec<Hit> {
        match self.is_surely_clean(bytes) {
            true => Vec::new(),
            false => self.hits_of_any_json(bytes),
        }
    }

    fn hits_of_any_json(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.look_into(
            bytes,
            &ByteOrigins::From(0),
            Suspects::ALL,
            DEPTH,
            &mut hits,
        );
        merged(hits)
    }

    /// Whether one walk over a JSON text, without decoding its strings, shows that it holds no secret: so for most.
    fn is_surely_clean(&self, bytes: &[u8]) -> bool {
        let Ok(text) = simdutf8::basic::from_utf8(bytes) else {
            return false;
        };
        let is_escaped = |secret: &str| secret.contains(['"', '\\', '/']);
        !hides_letters(bytes)
            && !self.known.any(is_escaped)
            && self.suspects(text).is_nothing()
            && memchr::memmem::find(bytes, b"\\/").is_none()
    }

    /// Whether a text holds a secret.
    pub fn finds(&self, text: &str) -> bool {
        !self.hits_of_text(text).is_empty()
    }

    fn hits_of_text(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.look_at(&DecodedText::plain(text), Suspects::ALL, DEPTH, &mut hits);
        merged(hits)
    }

    /// What may be in a text.
    fn suspects(&self, text: &str) -> Suspects {
        Suspects {
            patterns: suspected(text),
            has_known: self.known.is_in(text),
        }
    }

    /// Looks at what a text means, and into it where it is JSON itself. `within` is what may be in the text
    /// that it is a part of.
    fn look_at(
        &self,
        meaning: &DecodedText<'_>,
        within: Suspects,
        depth: u32,
        hits: &mut Vec<Hit>,
    ) {
        let text = &*meaning.text;
        let suspects = match within.is_nothing() && meaning.is_as_it_stands() {
            true => within,
            false => self.suspects(text),
        };
        let opens = text.trim_start().starts_with(['{', '[']);
        let inner = depth.checked_sub(1).filter(|_| opens);
        // Of whole JSON only the strings can hold a secret, and what is found across them would break it.
        let is_whole = || inner.is_some() && serde_json::from_str::<IgnoredAny>(text).is_ok();
        if !suspects.is_nothing() && !is_whole() {
            let quoted = Quoted::of(text, inner.is_some());
            let found = self.found(text, suspects);
            let found = found.filter_map(|(what, whole, secret)| {
                let secret = quoted.part(&whole, secret)?;
                Some(hit(meaning.range(secret), what))
            });
            hits.extend(found);
        }
        if let Some(depth) = inner {
            self.look_into(text.as_bytes(), &meaning.places, suspects, depth, hits);
        }
    }

    /// The matches in a text without decoding: the name, the span that the pattern matched, and the secret's
    /// span.
    fn found<'t>(
        &'t self,
        text: &'t str,
        suspects: Suspects,
    ) -> impl Iterator<Item = (&'t str, Range<usize>, Range<usize>)> {
        let known = suspects.has_known.then(|| self.known.found(text));
        let known = known.into_iter().flatten();
        let known = known.map(|(what, range)| (what, range.clone(), range));
        let by_looks = suspects.patterns.compiled().flat_map(move |(what, regex)| {
            regex.captures_iter(text).filter_map(move |found| {
                let secret = found.iter().flatten().last()?;
                // A placeholder has words in it, and many secrets end at the first.
                let is_secret = !is_placeholder(&text[secret.start()..]);
                is_secret.then(|| (what, found.get_match().range(), secret.range()))
            })
        });
        let by_name = suspects.patterns.may_assign().then(|| assigned(text));
        let by_name = by_name.into_iter().flatten().map(move |found| {
            let whole = found.name.start..found.value.end;
            (&text[found.name], whole, found.value)
        });
        known.chain(by_looks).chain(by_name)
    }

    /// Looks into the strings of a JSON text, the names of members among them; `places` tells where
    /// its bytes came from.
    fn look_into(
        &self,
        bytes: &[u8],
        places: &ByteOrigins<'_>,
        within: Suspects,
        depth: u32,
        hits: &mut Vec<Hit>,
    ) {
        let texts = texts(bytes);
        for text in &texts.all {
            let name = text.name.clone();
            let name = name.map(|name| DecodedText::inside(bytes, name, places));
            let name = name.as_ref().map_or("", |name| &*name.text);
            // A call's arguments may hold any text under any name.
            let is_own = depth == DEPTH && texts.is_own(bytes, name, text);
            let meaning = DecodedText::inside(bytes, text.inside.clone(), places);
            let whole = 0..meaning.text.len();
            if is_own {
                let known = self.known.found(&meaning.text);
                hits.extend(known.map(|(what, at)| hit(meaning.range(at), what)));
            } else if is_secret_under(name, &meaning.text) {
                hits.push(hit(meaning.range(whole), name));
            } else if whole.len() >= SHORTEST {
                self.look_at(&meaning, within, depth, hits);
            }
        }
    }
}

/// What may be in a text; everything else is certainly not in it.
#[derive(Debug, Clone, Copy)]
struct Suspects {
    patterns: Suspected,
    has_known: bool,
}

impl Suspects {
    const ALL: Self = Self {
        patterns: Suspected::ALL,
        has_known: true,
    };

    fn is_nothing(self) -> bool {
        self.patterns == Suspected::NONE && !self.has_known
    }
}

fn hit(at: Range<usize>, what: &str) -> Hit {
    // A member's name may be anything; in a placeholder it must stay plain in every spelling.
    let plain = what
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '_' | '-'));
    Hit {
        at,
        what: plain.take(32).collect(),
    }
}

fn is_placeholder(text: &str) -> bool {
    text.starts_with("[redacted ") || text.starts_with("[REDACTED")
}

/// In order, none meeting another; of those that meet the one that begins first holds, of equal beginnings the
/// longest, then the earlier.
fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.retain(|hit| !hit.at.is_empty());
    hits.sort_by_key(|hit| (hit.at.start, std::cmp::Reverse(hit.at.end)));
    let mut apart: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match apart.last_mut() {
            Some(last) if hit.at.start < last.at.end => last.at.end = last.at.end.max(hit.at.end),
            _ => apart.push(hit),
        }
    }
    apart
}

fn replaced(bytes: &[u8], hits: &[Hit], vault: &mut Vault) -> Option<Vec<u8>> {
    if hits.is_empty() {
        return None;
    }
    let (mut out, mut done) = (Vec::with_capacity(bytes.len()), 0);
    for hit in hits {
        // A placeholder is not a secret.
        if vault.has_placeholder_at(&bytes[hit.at.start..], hit.at.len()) {
            continue;
        }
        out.extend_from_slice(&bytes[done..hit.at.start]);
        out.extend_from_slice(vault.keep(&hit.what, &bytes[hit.at.clone()]).as_bytes());
        done = hit.at.end;
    }
    out.extend_from_slice(&bytes[done..]);
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

// Texts that leave the machine: what is taken out of them is not kept, and equal texts stay equal.

/// A text without what looks like a secret.
pub fn shareable(text: &str) -> String {
    let redacted = Redactor::default();
    let redacted = redacted.text(text, &mut Vault::default());
    without_tags(&redacted).into_owned()
}

/// JSON without what looks like a secret. What is not JSON as a whole is taken line by line.
pub fn shareable_json(bytes: &[u8]) -> Vec<u8> {
    let redactor = Redactor::default();
    let clean = |part: &[u8]| match redactor.json(part, &mut Vault::default()) {
        Cow::Borrowed(part) => part.to_vec(),
        Cow::Owned(redacted) => {
            let text = String::from_utf8_lossy(&redacted);
            without_tags(&text).into_owned().into_bytes()
        }
    };
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return clean(bytes);
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(clean).collect()
}

/// Whether escapes of a JSON text may hide what is looked for without decoding: letters, signs and blanks, what `(?i)`
/// takes for a `k` or an `s`, or that a flag begins. Others, as those of terminal colours, hide nothing.
fn hides_letters(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, b"\\u").any(|at| {
        let rest = &bytes[at + 2..];
        let digits = rest
            .get(..4)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let letter = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let is_sought = |letter| matches!(letter, 0x09..=0x0d | 0x20..0x7f | 0x17f | 0x212a);
        letter.is_some_and(is_sought) || rest.get(4) == Some(&b'-')
    })
}

/// What kinds of secrets a JSON text seems to hold, each once.
pub fn kinds_in_json(bytes: &[u8]) -> Vec<String> {
    let redactor = Redactor::default();
    let hits = redactor.hits_of_json(bytes).into_iter();
    // What was taken out of a line before leaves the rest of it.
    let was_taken_out = |hit: &Hit| {
        let bytes = bytes.get(hit.at.clone()).unwrap_or_default();
        memchr::memmem::find(bytes, b"[redacted ").is_some()
    };
    let kinds = hits.filter(|hit| !was_taken_out(hit)).map(|hit| hit.what);
    let kinds: BTreeSet<String> = kinds.collect();
    kinds.into_iter().collect()
}

// The secrets that were replaced, each under its placeholder, as long as retake runs.

const OPENS: &str = "[redacted ";

/// Whether a text holds a placeholder, of whatever run.
pub fn holds_placeholder(text: &str) -> bool {
    text.contains(OPENS)
}

/// A text whose placeholders name the kind of secret without its tag. Tags differ between runs; texts of two
/// runs compare equal without them.
pub fn without_tags(text: &str) -> Cow<'_, str> {
    if !holds_placeholder(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPENS) {
        let inside = at + OPENS.len();
        out.push_str(&rest[..inside]);
        rest = &rest[inside..];
        let end = rest.find(']').unwrap_or(0);
        let tagged = rest[..end].rsplit_once(' ');
        let is_tag = |tag: &str| tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some((what, _)) = tagged.filter(|(_, tag)| is_tag(tag)) {
            out.push_str(what);
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The secrets of one run by placeholder. They are in memory only: after a restart a placeholder cannot be
/// replaced by its secret any more.
#[derive(Default)]
pub struct Vault {
    /// Keys the tags of placeholders, so that a tag reveals nothing about its secret, and tags of an earlier
    /// run match none of this one.
    seed: RandomState,
    secrets: HashMap<String, Vec<u8>>,
}

/// Shows how many there are, and nothing else.
impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

impl Vault {
    /// Stores a secret; returns its placeholder, the same for the same bytes. `secret` keeps its spelling in
    /// the source: the secret of a placeholder in JSON is escaped as JSON.
    pub(crate) fn keep(&mut self, what: &str, secret: &[u8]) -> String {
        let tag = self.seed.hash_one(secret);
        let placeholder = format!("{OPENS}{what} {:08x}]", tag >> 32);
        self.secrets
            .entry(placeholder.clone())
            .or_insert_with(|| secret.to_vec());
        placeholder
    }

    /// Whether the bytes begin with a placeholder of a secret in here that is at least so long.
    pub(crate) fn has_placeholder_at(&self, bytes: &[u8], length: usize) -> bool {
        let end = memchr::memchr(b']', bytes).map(|end| end + 1);
        let end = end.filter(|end| *end >= length && bytes.starts_with(OPENS.as_bytes()));
        let placeholder = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
        placeholder.is_some_and(|placeholder| self.secrets.contains_key(placeholder))
    }

    /// Forgets every secret. One that comes again has the same placeholder as before, so that texts that
    /// repeat it stay alike.
    pub fn forget(&mut self) {
        self.secrets.clear();
    }

    /// Whether no secret was replaced.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The bytes with every secret back in its place: what goes over the wire, and to tools.
    pub fn restored<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let opens = memchr::memmem::Finder::new(OPENS);
        let (mut out, mut done) = (Vec::new(), 0);
        for at in opens.find_iter(bytes) {
            let end = memchr::memchr(b']', &bytes[at..]).map(|end| at + end + 1);
            let placeholder = end.and_then(|end| std::str::from_utf8(&bytes[at..end]).ok());
            let secret = placeholder.and_then(|placeholder| self.secrets.get(placeholder));
            if let (Some(secret), Some(end)) = (secret, end) {
                out.extend_from_slice(&bytes[done..at]);
                out.extend_from_slice(secret);
                done = end;
            }
        }
        if done == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[done..]);
        Cow::Owned(out)
    }
}

// Header lines that hold secrets: one list for the recorder, for holds and for WebSockets.

/// Words of the names of such lines.
const WORDS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];
/// Names with such words whose lines hold none: another value with each request, or what a server asks for.
const NONE: &[&str] = &[
    "idempotency-key",
    "x-idempotency-key",
    "sec-websocket-key",
    "www-authenticate",
    "proxy-authenticate",
    "access-control-allow-headers",
    "surrogate-key",
    "cache-key",
];

pub fn header_holds_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Limits count tokens.
    let is_count = name.contains("ratelimit") || name.contains("tokens");
    !is_count && !NONE.contains(&&*name) && WORDS.iter().any(|word| name.contains(word))
}

#[derive(Clone, PartialEq, Eq)]
pub struct HeaderSecret {
    /// The name of the header.
    pub header: String,
    /// The secret by itself: of `Bearer KEY` the key.
    pub secret: String,
    /// Whether it is a cookie: servers give another one again and again.
    pub is_cookie: bool,
}

/// Never shows the secret.
impl std::fmt::Debug for HeaderSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeaderSecret")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// The secrets of a header: in `Authorization` what follows the scheme, and the password in `Basic`; in
/// `Cookie` each value; in `Set-Cookie` the first one, before the attributes (RFC 6265, 4.1).
pub fn secrets_of_header(name: &str, value: &str) -> Vec<HeaderSecret> {
    if !header_holds_a_secret(name) {
        return Vec::new();
    }
    let name = name.to_ascii_lowercase();
    let is_cookie = name.ends_with("cookie");
    let shown = |secret: &str| HeaderSecret {
        header: name.clone(),
        secret: secret.to_owned(),
        is_cookie,
    };
    if is_cookie {
        let most = if name == "set-cookie" { 1 } else { usize::MAX };
        let pairs = value.split(';').take(most);
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        return pairs.map(|(_, secret)| shown(secret.trim())).collect();
    }
    let words = value.trim().split_once(char::is_whitespace);
    let (scheme, rest) = words.unwrap_or(("", value));
    let rest = rest.trim();
    let mut secrets = vec![shown(rest)];
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(decoded) = STANDARD.decode(rest)
        && let Some((_, password)) = String::from_utf8_lossy(&decoded).split_once(':')
    {
        secrets.push(shown(password));
    }
    secrets.retain(|one| !one.secret.is_empty());
    secrets
}

#[cfg(test)]
mod headers_tests {
    use super::*;

    fn secrets(name: &str, value: &str) -> Vec<String> {
        let shown = secrets_of_header(name, value).into_iter();
        shown.map(|one| one.secret).collect()
    }

    #[test]
    fn lines_that_hold_secrets_are_known_by_their_names() {
        for name in [
            "Authorization",
            "x-portkey-api-key",
            "helicone-auth",
            "cf-aig-authorization",
            "ocp-apim-subscription-key",
            "x-amz-security-token",
        ] {
            assert_eq!(
                secrets(name, "Bearer k-0123456789"),
                ["k-0123456789"],
                "{name}"
            );
        }
        for name in [
            "x-ratelimit-remaining-tokens",
            "anthropic-ratelimit-tokens-limit",
            "idempotency-key",
            "user-agent",
        ] {
            assert!(secrets(name, "0123456789").is_empty(), "{name}");
        }
    }

    #[test]
    fn of_a_cookie_that_is_set_its_attributes_are_no_secrets() {
        let set = "__cf_bm=value-1; Path=/; Expires=Fri, 01 Nov 2026 10:00:00 GMT; HttpOnly";
        assert_eq!(secrets("set-cookie", set), ["value-1"]);
        assert_eq!(secrets("cookie", "a=one; b=two"), ["one", "two"]);
        let basic = format!("Basic {}", STANDARD.encode("u:hunter2-abc"));
        assert_eq!(secrets("proxy-authorization", &basic)[1], "hunter2-abc");
    }
}
