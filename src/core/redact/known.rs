//! Secrets that are known by value, in every spelling in which they may stand in a text.

use super::names::is_key;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::VecDeque;
use std::ops::Range;

/// Fewer letters of the beginning of a secret show nothing, and fewer of base64 are found everywhere.
const SHORTEST: usize = 6;
/// How many secrets are known that come and go.
const FLEETING: usize = 16;

#[derive(Default)]
pub(crate) struct KnownSecrets {
    count: usize,
    spellings: Vec<Spelling>,
    /// Finds all spellings in one walk.
    finder: Option<AhoCorasick>,
    /// The latest cookies, which are looked for one by one: no automaton is made anew for each.
    fleeting: VecDeque<(String, String)>,
}

/// How a secret is spelled.
struct Spelling {
    what: String,
    text: String,
    /// Whether the base64 letter before it holds bits of the secret, and the one after it.
    reaches: [bool; 2],
}

impl KnownSecrets {
    /// Knows these, each with what its placeholder calls it. What is not a key is left out: see [`is_key`].
    pub(crate) fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut known = Self::default();
        for (what, secret) in secrets {
            if is_key(&secret) {
                known.count += 1;
                known.spellings.extend(spellings(&what, &secret));
            }
        }
        let texts = known.spellings.iter().map(|one| &one.text);
        // Without it each is looked for by itself.
        known.finder = AhoCorasick::new(texts).ok();
        known
    }

    /// Knows one more, until others have come.
    pub(crate) fn add_fleeting(&mut self, what: &str, secret: &str) {
        self.fleeting
            .push_back((what.to_owned(), secret.to_owned()));
        let too_many = self.fleeting.len().saturating_sub(FLEETING);
        self.fleeting.drain(..too_many);
    }

    /// How many are known.
    pub(crate) fn count(&self) -> usize {
        self.count + self.fleeting.len()
    }

    /// Whether a condition holds for one of them.
    pub(crate) fn any(&self, mut condition: impl FnMut(&str) -> bool) -> bool {
        let spelled = self.spellings.iter().map(|one| &one.text);
        let mut fleeting = self.fleeting.iter().map(|(_, secret)| secret);
        spelled.chain(&mut fleeting).any(|text| condition(text))
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        let is_spelled = match &self.finder {
            Some(finder) => finder.is_match(text),
            None => self.spellings.iter().any(|one| text.contains(&one.text)),
        };
        let mut fleeting = self.fleeting.iter();
        is_spelled || fleeting.any(|(_, secret)| text.contains(secret))
    }

    /// Where they are in the text, with what each is called.
    pub(crate) fn found<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = (&'t str, Range<usize>)> {
        let by_finder = self.finder.iter().flat_map(move |finder| {
            let found = finder.find_overlapping_iter(text);
            found.map(|one| (&self.spellings[one.pattern()], one.range()))
        });
        let each = self.spellings.iter().filter(|_| self.finder.is_none());
        let by_itself = each.flat_map(move |one| {
            let found = text.match_indices(one.text.as_str());
            found.map(move |(at, found)| (one, at..at + found.len()))
        });
        let spelled = by_finder.chain(by_itself);
        let spelled = spelled.map(move |(one, at)| (one.what.as_str(), one.whole(text, at)));
        let fleeting = self.fleeting.iter().flat_map(move |(what, secret)| {
            let found = text.match_indices(secret.as_str());
            found.map(move |(at, found)| (what.as_str(), at..at + found.len()))
        });
        spelled.chain(fleeting)
    }

    /// The beginning of one of them at the end of a text that grows: what it is called, and how long it is.
    pub(crate) fn begun(&self, text: &str) -> Option<(&str, usize)> {
        self.spellings.iter().find_map(|one| {
            let secret = one.text.as_str();
            let longest = secret.len().min(text.len());
            let begun = (SHORTEST..longest).rev().find(|length| {
                secret.is_char_boundary(*length) && text.ends_with(&secret[..*length])
            })?;
            Some((one.what.as_str(), begun))
        })
    }
}

impl Spelling {
    /// All letters that hold bits of the secret, with the signs that fill base64 up.
    fn whole(&self, text: &str, at: Range<usize>) -> Range<usize> {
        let [before, after] = self.reaches;
        let bytes = text.as_bytes();
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
        let Range { mut start, mut end } = at;
        if before && start > 0 && is_base64(bytes[start - 1]) {
            start -= 1;
        }
        if after && bytes.get(end).copied().is_some_and(is_base64) {
            end += 1;
            let filled = bytes[end..].iter().take(2);
            end += filled.take_while(|byte| **byte == b'=').count();
        }
        start..end
    }
}

fn spellings(what: &str, secret: &str) -> Vec<Spelling> {
    let mut spellings: Vec<Spelling> = Vec::new();
    let mut add = |text: String, reaches| {
        if text.len() >= SHORTEST && spellings.iter().all(|one| one.text != text) {
            let what = what.to_owned();
            spellings.push(Spelling {
                what,
                text,
                reaches,
            });
        }
    };
    add(secret.to_owned(), [false; 2]);
    add(in_url(secret, false), [false; 2]);
    add(in_url(secret, true), [false; 2]);
    // After so many bytes of a group of three: other letters spell it.
    for before in 0..3 {
        let bytes = [&[0; 3][..before], secret.as_bytes()].concat();
        // Letters of six bits that hold nothing else.
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        let reaches = [before > 0, bytes.len() * 8 % 6 > 0];
        for encoded in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            add(encoded[own.clone()].to_owned(), reaches);
        }
    }
    spellings
}

/// Its spelling in a URL (RFC 3986, 2.1), with lowercase or uppercase hex digits.
fn in_url(secret: &str, is_small: bool) -> String {
    let mut text = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                text.push(char::from(byte));
            }
            byte if is_small => text.push_str(&format!("%{byte:02x}")),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
