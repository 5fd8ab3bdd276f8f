//! What secrets look like: the keys of known services, and values in places that hold secrets.

use super::assigned::{ENDINGS, MEMBERS, may_assign};
use crate::bundled;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::sync::LazyLock;

/// One kind of secret. `patterns.toml` holds them, and says what each member is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    what: String,
    holds: Vec<String>,
    regex: String,
}

static PATTERNS: LazyLock<Vec<Pattern>> =
    LazyLock::new(|| bundled::rows(include_str!("patterns.toml")));

/// How secrets begin, at the end of a text that is still growing: keys of services, and values after the name
/// of a secret.
const BEGINNINGS: &str = r#"\b(?:sk-[A-Za-z0-9_-]*|AIza[A-Za-z0-9_-]*|gsk_[A-Za-z0-9]*|xai-[A-Za-z0-9]*|hf_[A-Za-z0-9]*|gh[pousr]_[A-Za-z0-9]*|github_pat_[A-Za-z0-9_]*|gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]*|npm_[A-Za-z0-9]*|SG\.[A-Za-z0-9_.-]*|pplx-[A-Za-z0-9]*|vc[paikr]_[A-Za-z0-9]*|nvapi-[A-Za-z0-9_-]*|dckr_pat_[A-Za-z0-9_-]*|xox[abeoprs]-[A-Za-z0-9-]*|[rs]k_(?:live|test)_[A-Za-z0-9]*|(?:AKIA|ASIA)[A-Z0-9]*|eyJ[A-Za-z0-9_.-]*)\z|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*\z"#;

impl Pattern {
    fn is_case_sensitive(&self) -> bool {
        !self.regex.starts_with("(?i)")
    }
}

/// Letters beyond ASCII that `(?i)` takes for a `k` and an `s`.
const FOLDED: &[&str] = &["\u{212a}", "\u{17f}"];

/// The bit of values that a text gives a name ([`super::assigned`]).
const ASSIGNED: u64 = 1 << 63;

/// The patterns that may match, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suspected(u64);

impl Suspected {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// Whether the text may give a secret a name.
    pub(crate) fn may_assign(self) -> bool {
        self.0 & ASSIGNED != 0
    }

    /// These, compiled, each with what it finds.
    pub(crate) fn compiled(self) -> impl Iterator<Item = (&'static str, &'static Regex)> {
        static COMPILED: LazyLock<Vec<Option<Regex>>> =
            LazyLock::new(|| PATTERNS.iter().map(|one| regex(&one.regex)).collect());
        let all = PATTERNS.iter().zip(&*COMPILED).enumerate();
        all.filter(move |(place, _)| self.0 & (1 << place) != 0)
            .filter_map(|(_, (pattern, regex))| Some((&*pattern.what, regex.as_ref()?)))
    }
}

/// The words of all patterns in one automaton, each with the places of its patterns.
struct Words {
    automaton: AhoCorasick,
    /// For each word how it is spelled, and its patterns: those that mind its case, and those that do not.
    words: Vec<(&'static str, u64, u64)>,
    /// Where the names of secrets begin.
    names: usize,
}

impl Words {
    fn of(patterns: &'static [Pattern]) -> Option<Self> {
        let mut words: Vec<(&'static str, u64, u64)> = Vec::new();
        for (place, pattern) in patterns.iter().enumerate() {
            let folded = if pattern.is_case_sensitive() {
                &[]
            } else {
                FOLDED
            };
            let holds = pattern.holds.iter().map(String::as_str);
            for word in holds.chain(folded.iter().copied()) {
                let known = words.iter().position(|(known, ..)| *known == word);
                let known = known.unwrap_or_else(|| {
                    words.push((word, 0, 0));
                    words.len() - 1
                });
                let (_, exact, any) = &mut words[known];
                *(if pattern.is_case_sensitive() {
                    exact
                } else {
                    any
                }) |= 1 << place;
            }
        }
        let names = words.len();
        words.extend(ENDINGS.iter().chain(MEMBERS).map(|name| (*name, 0, 0)));
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words.iter().map(|(word, ..)| word));
        Some(Self {
            automaton: automaton.ok()?,
            words,
            names,
        })
    }
}

/// The patterns that may find something in a text, by the words that it holds: one walk in place of thirty.
pub(crate) fn suspected(text: &str) -> Suspected {
    static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| Words::of(&PATTERNS));
    let Some(words) = &*WORDS else {
        return Suspected::ALL;
    };
    let mut suspected = 0;
    for found in words.automaton.find_overlapping_iter(text) {
        if found.pattern().as_usize() >= words.names {
            let is_new = suspected & ASSIGNED == 0;
            if is_new && may_assign(text, found.range()) {
                suspected |= ASSIGNED;
            }
            continue;
        }
        let (word, exact, any) = words.words[found.pattern()];
        suspected |= any;
        if exact & !suspected != 0 && text.as_bytes()[found.range()] == *word.as_bytes() {
            suspected |= exact;
        }
    }
    Suspected(suspected)
}

/// What may become a secret, at the end of a text.
pub(crate) fn beginning() -> Option<&'static Regex> {
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| regex(BEGINNINGS));
    COMPILED.as_ref()
}

/// The value at the end of a text after the name of a secret.
pub(crate) fn named_at_end() -> Option<&'static Regex> {
    const NAMED: &str = r#"(?i)(?:(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|auth(?:orization)?|credentials?|cookie)["'\\]*\s*[:=]\s*["'\\]*(?:bearer\s+|basic\s+)?|--[a-z-]*(?:key|token|password|secret)\s+|\b(?:bearer|basic)\s+)([^\s"']+)\z"#;
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| regex(NAMED));
    COMPILED.as_ref()
}

fn regex(pattern: &str) -> Option<Regex> {
    // That each of them compiles is a test's to see.
    RegexBuilder::new(pattern).size_limit(1 << 20).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(Suspected::ALL.compiled().count(), PATTERNS.len());
        assert!(Words::of(&PATTERNS).is_some());
        assert!(beginning().is_some() && named_at_end().is_some());
    }

    #[test]
    fn every_pattern_is_suspected_where_it_finds_something() {
        let long = "0aA1".repeat(10);
        let found = |text: &str| {
            let found = PATTERNS.iter().zip(0..).filter(|(pattern, place)| {
                let regex = regex(&pattern.regex);
                let finds = regex.is_some_and(|regex| regex.is_match(text));
                let is_suspected = suspected(text).0 & (1 << place) != 0;
                assert!(!finds || is_suspected, "{}: {text}", pattern.what);
                finds
            });
            found.fold(0, |all, (_, place)| all | 1_u64 << place)
        };
        let mut all: u64 = 0;
        for words in [
            "-----BEGIN PRIVATE KEY-----x",
            "sk-ant-",
            "sk-or-",
            "sk-",
            "AIza",
            "gsk_",
            "xai-",
            "hf_",
            "ghp_",
            "ghr_",
            "github_pat_",
            "xoxb-",
            "rk_live_",
            "sk_test_",
            "AKIA0123456789ABCDEF ",
            "Aws_Secret_Access_Key=",
            "eyJaaaaaaaa.aaaa.",
            "BEARER ",
            "ba\u{17f}ic ",
            "X-Auth-Token: ",
            "api-\u{212a}ey:",
            "Set-Cookie: ",
            "?api_\u{212a}ey=",
            "&Password=",
            "http://user:secret@host ",
            "MY_PASSWD = ",
            "glpat-",
            "npm_",
            "SG.0aA10aA10aA1.",
            "pplx-",
            "vcp_",
            "nvapi-",
            "dckr_pat_",
            "<token>0aA10aA1</token>",
            "machine h login u password ",
            "curl -u u:",
            "mysqldump -p",
            "sshpass -p ",
            "docker login -p ",
        ] {
            let one = found(&format!("{words}{long}"));
            assert_ne!(one, 0, "{words}");
            all |= one;
        }
        assert_eq!(all.count_ones() as usize, PATTERNS.len());
        assert_eq!(suspected("plain words about a flight"), Suspected::NONE);
    }
}
