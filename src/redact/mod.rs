//! Secrets leave a text before it is written, logged or shown.
//!
//! What is taken out is replaced by a placeholder and kept in a [`Vault`] in memory, so that what goes to the model or to a tool can be
//! given back as it was, byte for byte. Known secrets (the keys that retake itself was given) are found by value, also in base64 and in
//! escaped spelling; others by what keys of known services look like, and by the names of the members that hold them. Signatures and
//! encrypted reasoning stay as they are: providers check them.

mod patterns;
mod places;
mod vault;

pub use vault::{Vault, holds_placeholder, without_tags};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
pub use patterns::names_a_secret;

use aho_corasick::AhoCorasick;
use patterns::{Suspected, beginning, is_kept, suspected};
use places::{Meaning, Places, Quoted, texts};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// How deep JSON in strings of JSON is looked into.
const DEPTH: u32 = 4;
/// A known secret that is shorter is not looked for: it would be found everywhere.
const SHORTEST: usize = 6;

/// Finds secrets.
#[derive(Default)]
pub struct Redactor {
    known: Vec<(String, String)>,
    /// Finds all of them in one walk.
    finder: Option<AhoCorasick>,
}

/// Says how many secrets are known, and nothing else.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("known", &self.known.len())
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
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let long = secrets
            .into_iter()
            .filter(|(_, secret)| secret.len() >= SHORTEST);
        let spelled = long.flat_map(|(what, secret)| {
            let bytes = secret.as_bytes();
            let encoded = [
                STANDARD.encode(bytes),
                STANDARD_NO_PAD.encode(bytes),
                URL_SAFE_NO_PAD.encode(bytes),
            ];
            let all = std::iter::once(secret.clone()).chain(encoded);
            all.map(move |spelling| (what.clone(), spelling))
                .collect::<Vec<_>>()
        });
        let known: Vec<(String, String)> = spelled.collect();
        let spellings = known.iter().map(|(_, spelling)| spelling);
        Self {
            // Without it each is looked for by itself.
            finder: AhoCorasick::new(spellings).ok(),
            known,
        }
    }

    /// A plain text without its secrets.
    pub fn text<'a>(&self, text: &'a str, vault: &mut Vault) -> Cow<'a, str> {
        let hits = self.hits_of_text(text);
        match replaced(text.as_bytes(), &hits, vault) {
            None => Cow::Borrowed(text),
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// A text that is still growing, for the screen: without its secrets, and without what may become one. Nothing is kept.
    pub fn growing<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hits = self.hits_of_text(text);
        let mut known = self.known.iter();
        let begins = known.find_map(|(what, secret)| {
            let longest = secret.len().min(text.len());
            let begun = (SHORTEST..longest).rev().find(|length| {
                secret.is_char_boundary(*length) && text.ends_with(&secret[..*length])
            })?;
            Some(hit(text.len() - begun..text.len(), what))
        });
        let may_become = beginning().and_then(|regex| regex.find(text));
        hits.extend(begins);
        hits.extend(may_become.map(|found| hit(found.range(), "secret")));
        match replaced(text.as_bytes(), &merged(hits), &mut Vault::default()) {
            None => Cow::Borrowed(text),
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }

    /// A JSON text without its secrets; everything else of it stays byte for byte.
    pub fn json<'a>(&self, bytes: &'a [u8], vault: &mut Vault) -> Cow<'a, [u8]> {
        let mut hits = Vec::new();
        self.look_into(bytes, &Places::From(0), Suspects::ALL, DEPTH, &mut hits);
        match replaced(bytes, &merged(hits), vault) {
            None => Cow::Borrowed(bytes),
            Some(bytes) => Cow::Owned(bytes),
        }
    }

    /// Whether a text holds a secret.
    pub fn finds(&self, text: &str) -> bool {
        !self.hits_of_text(text).is_empty()
    }

    fn hits_of_text(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.look_at(&Meaning::plain(text), Suspects::ALL, DEPTH, &mut hits);
        merged(hits)
    }

    /// What may be in a text.
    fn suspects(&self, text: &str) -> Suspects {
        Suspects {
            patterns: suspected(text),
            has_known: match &self.finder {
                Some(finder) => finder.is_match(text),
                None => !self.known.is_empty(),
            },
        }
    }

    /// Looks at what a text means, and into it where it is JSON itself. `within` is what may be in the text that it is a part of.
    fn look_at(&self, meaning: &Meaning<'_>, within: Suspects, depth: u32, hits: &mut Vec<Hit>) {
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

    /// What is found in a text as it stands: what it is called, where what gives it away stands, and where the secret itself does.
    fn found<'t>(
        &'t self,
        text: &'t str,
        suspects: Suspects,
    ) -> impl Iterator<Item = (&'t str, Range<usize>, Range<usize>)> {
        let known = self.known.iter().filter(move |_| suspects.has_known);
        let known = known.flat_map(move |(what, secret)| {
            let found = text.match_indices(secret.as_str());
            found.map(move |(at, found)| {
                let range = at..at + found.len();
                (what.as_str(), range.clone(), range)
            })
        });
        let by_looks = suspects.patterns.compiled().flat_map(move |(what, regex)| {
            regex.captures_iter(text).filter_map(move |found| {
                let secret = found.iter().flatten().last()?;
                let is_secret = !is_placeholder(secret.as_str());
                is_secret.then(|| (what, found.get_match().range(), secret.range()))
            })
        });
        known.chain(by_looks)
    }

    /// Looks into the strings of a JSON text, the names of members among them; `places` tells where its bytes came from.
    fn look_into(
        &self,
        bytes: &[u8],
        places: &Places<'_>,
        within: Suspects,
        depth: u32,
        hits: &mut Vec<Hit>,
    ) {
        for text in texts(bytes) {
            let name = text.name.map(|name| Meaning::inside(bytes, name, places));
            let name = name.as_ref().map_or("", |name| &*name.text);
            // Providers check members of the request itself; what a tool calls so is any text.
            if depth == DEPTH && is_kept(name) {
                continue;
            }
            let meaning = Meaning::inside(bytes, text.inside, places);
            let whole = 0..meaning.text.len();
            if names_a_secret(name) && !whole.is_empty() && !is_placeholder(&meaning.text) {
                hits.push(hit(meaning.range(whole), name));
            } else if whole.len() >= SHORTEST {
                self.look_at(&meaning, within, depth, hits);
            }
        }
    }
}

/// What may be in a text: what is not suspected is not in it.
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

/// In order, none meeting another; of those that meet the one that begins first holds, of equal beginnings the longest, then the earlier.
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
        // What stands for a secret already is none.
        if vault.stands_at(&bytes[hit.at.start..], hit.at.len()) {
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
