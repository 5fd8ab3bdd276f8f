//! The key of an endpoint, and what a provider's error text repeats of it.

use std::fmt;

/// A secret that goes into a header. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key that a variable of the environment holds; `None` where it is not set or blank,
    /// which local servers accept.
    pub fn from_env(variable: &str) -> Option<Self> {
        std::env::var(variable)
            .ok()
            .and_then(|text| Self::new(&text))
    }

    /// A key out of a text; `None` of a blank one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The secret itself: for the header that carries it, and for whoever takes it out of texts.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The placeholder of a secret.
const MASK: &str = "[secret]";

/// So much of a key in a word makes the word a part of the key.
const SHARED: usize = 8;

/// What remains of a key before or after the stars of the provider's own mask.
const REMNANT: usize = 3;

/// A text without the words that repeat one of the keys, or a part of it: `Incorrect
/// API key provided: sk-ab***yz.`
///
/// Words that a provider masked itself (three stars in a row) go whether or not they are known: what they leave
/// is a part of a key.
pub(crate) fn mask(text: &str, keys: &[&str]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_key) {
        masked.push_str(&rest[..start]);
        let word = &rest[start..];
        let end = word.find(|char| !is_of_key(char)).unwrap_or(word.len());
        let (word, tail) = word.split_at(end);
        // The full stop of a sentence is not part of its last word.
        let bare = word.trim_end_matches('.');
        if word.contains("***") || keys.iter().any(|key| repeats(bare, key)) {
            masked.push_str(MASK);
            masked.push_str(&word[bare.len()..]);
        } else {
            masked.push_str(word);
        }
        rest = tail;
    }
    masked.push_str(rest);
    masked
}

/// The characters of keys, and of the masks that providers put over them.
fn is_of_key(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '*' | '/' | '+' | '=' | '~')
}

fn repeats(word: &str, key: &str) -> bool {
    let (word, key) = (word.as_bytes(), key.as_bytes());
    if key.len() < SHARED {
        return !key.is_empty() && memchr::memmem::find(word, key).is_some();
    }
    let shares = key
        .windows(SHARED)
        .any(|part| memchr::memmem::find(word, part).is_some());
    let is_masked = memchr::memmem::find(word, b"..").is_some() || word.contains(&b'*');
    let ends = word.starts_with(&key[..REMNANT]) || word.ends_with(&key[key.len() - REMNANT..]);
    shares || (is_masked && ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-test-0123456789abcdefXYZ";

    #[test]
    fn a_key_shows_nothing_of_itself() {
        let key = Key::new(&format!(" {KEY}\n"));
        assert_eq!(format!("{key:?}"), "Some(Key(…))");
        assert_eq!(key.as_ref().map(Key::expose), Some(KEY));
        assert_eq!(Key::new(" \n"), None);
    }

    #[test]
    fn every_echo_of_a_key_is_masked() {
        for (text, expected) in [
            (
                "Incorrect API key provided: sk-te***********fXYZ. You can find yours.",
                "Incorrect API key provided: [secret]. You can find yours.",
            ),
            ("got sk-test-0123456789abcdefXYZ", "got [secret]"),
            ("{\"key\":\"0123456789\"}", "{\"key\":\"[secret]\"}"),
            ("Bearer sk-...XYZ is unknown", "Bearer [secret] is unknown"),
            ("…abcdefXYZ", "…[secret]"),
            ("no key here... really", "no key here... really"),
            ("another's key: ab***", "another's key: [secret]"),
        ] {
            assert_eq!(mask(text, &[KEY]), expected);
        }
        assert_eq!(mask("sk-test", &[]), "sk-test");
    }
}
