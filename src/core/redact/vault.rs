//! The secrets that were replaced, each under its placeholder, as long as retake runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

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
