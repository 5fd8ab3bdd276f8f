//! What secrets look like: the keys of known services, and values in places that hold secrets.

use super::assigned::{ENDINGS, separator};
use foldhash::fast::FixedState;
use regex::{Regex, RegexBuilder};
use std::collections::HashMap;
use std::sync::LazyLock;

/// One kind of secret.
struct Pattern {
    /// What the placeholder calls it.
    what: &'static str,
    /// One of these is in every text that it finds: spelled so, or in any case where the regex says `(?i)`.
    holds: &'static [&'static str],
    regex: &'static str,
}

/// Every pattern, the more telling first: where two find the same text, the earlier one names it. Where one has
/// a group, the group is the secret; everything it finds otherwise. Word boundaries keep `risk-averse` and
/// `sk-learn` what they are. No secret starts with a quote or with what follows one in JSON: where a string ends
/// after `Cookie: `, there is none.
const PATTERNS: &[Pattern] = &[
    Pattern {
        what: "private key",
        holds: &["PRIVATE KEY-----"],
        regex: r"-----BEGIN [A-Z ]*PRIVATE KEY-----([\s\S]*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    },
    Pattern {
        what: "anthropic key",
        holds: &["sk-ant-"],
        regex: r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "openrouter key",
        holds: &["sk-or-"],
        regex: r"\bsk-or-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "openai key",
        holds: &["sk-"],
        regex: r"\bsk-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "google key",
        holds: &["AIza"],
        regex: r"\bAIza[A-Za-z0-9_-]{30,}",
    },
    Pattern {
        what: "groq key",
        holds: &["gsk_"],
        regex: r"\bgsk_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "xai key",
        holds: &["xai-"],
        regex: r"\bxai-[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "hugging face token",
        holds: &["hf_"],
        regex: r"\bhf_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "github token",
        holds: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        regex: r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    },
    Pattern {
        what: "slack token",
        holds: &["xox"],
        regex: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    },
    Pattern {
        what: "stripe key",
        holds: &["k_live_", "k_test_"],
        regex: r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    },
    Pattern {
        what: "gitlab token",
        holds: &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"],
        regex: r"\bgl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,}",
    },
    Pattern {
        what: "npm token",
        holds: &["npm_"],
        regex: r"\bnpm_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "sendgrid key",
        holds: &["SG."],
        regex: r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    },
    Pattern {
        what: "perplexity key",
        holds: &["pplx-"],
        regex: r"\bpplx-[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "vercel token",
        holds: &["vcp_", "vca_", "vci_", "vcr_", "vck_"],
        regex: r"\bvc[paikr]_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "nvidia key",
        holds: &["nvapi-"],
        regex: r"\bnvapi-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "docker token",
        holds: &["dckr_pat_"],
        regex: r"\bdckr_pat_[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "aws key id",
        holds: &["AKIA", "ASIA"],
        regex: r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    },
    Pattern {
        what: "aws secret",
        holds: &["aws_secret_access_key"],
        regex: r#"(?i)aws_secret_access_key["']?\s*[=:]\s*["']?([A-Za-z0-9/+=]{40})"#,
    },
    Pattern {
        what: "token",
        holds: &["eyJ"],
        regex: r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}",
    },
    Pattern {
        what: "credentials",
        holds: &["bearer", "basic"],
        regex: r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/_.~-]{16,}=*)",
    },
    Pattern {
        what: "credentials",
        holds: &["authorization", "api-key", "x-auth-token"],
        regex: r#"(?i)\b(?:authorization|x-api-key|api-key|x-goog-api-key|x-auth-token)\s*:\s*["']?(?:(?:bearer|basic)\s+["']?)?([^\s,;:}\]"'\\][^\s,;"'\\]{5,})"#,
    },
    Pattern {
        what: "cookie",
        holds: &["cookie:"],
        regex: r#"(?i)\b(?:set-)?cookie:\s*["']?([^\s,;:}\]"'][^\r\n]*)"#,
    },
    Pattern {
        what: "credentials",
        holds: &[
            "key=",
            "token=",
            "sig=",
            "signature=",
            "secret=",
            "password=",
        ],
        regex: r#"(?i)[?&](?:key|api_?key|access_token|auth_token|token|sig|signature|client_secret|password)=([^&\s"'#)${<][^&\s"'#)]{5,})"#,
    },
    Pattern {
        what: "password",
        holds: &["://"],
        regex: r#"://[^/\s:@"]+:([^@\s/"]+)@"#,
    },
    Pattern {
        what: "password",
        holds: &[
            "<pass", "<pwd", "<secret", "<token", "<api", "<auth", "<access", "<client", "<private",
        ],
        regex: r"(?i)<(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|auth[_-]?token|access[_-]?(?:key|token)|client[_-]?secret|private[_-]?key)>\s*([^<>\s$*{}\[(][^<>\s]{3,})\s*</",
    },
    Pattern {
        what: "password",
        holds: &["machine", "login"],
        regex: r#"\b(?:machine\s+\S+|login)\s+(?:login\s+)?\S+\s+(?:account\s+\S+\s+)?password\s+([^\s"'$<]+)"#,
    },
    Pattern {
        what: "password",
        holds: &["curl"],
        regex: r#"\bcurl\b[^\n|;]*?\s(?:-[a-zA-Z]*u|--user|--proxy-user)[\s=]*["']?[^\s:"'$-][^\s:"']*:([^\s"'$<{]+)"#,
    },
    Pattern {
        what: "password",
        holds: &["mysql", "mariadb"],
        regex: r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n|;]*?\s-p["']?([^\s"'$<=-][^\s"']{3,})"#,
    },
    Pattern {
        what: "password",
        holds: &["sshpass"],
        regex: r#"\bsshpass\s+-p\s*["']?([^\s"'$<]+)"#,
    },
    Pattern {
        what: "password",
        holds: &[
            "docker login",
            "podman login",
            "helm registry login",
            "az login",
            "skopeo login",
        ],
        regex: r#"\b(?:docker|podman|registry|az|skopeo) login\b[^\n|;]*?\s(?:-p|--password)[\s=]+["']?([^\s"'$<-][^\s"']*)"#,
    },
    Pattern {
        what: "secret",
        holds: &[
            "KEY",
            "SECRET",
            "TOKEN",
            "PASSWORD",
            "PASSWD",
            "CREDENTIALS",
        ],
        regex: r#"\b[A-Z][A-Z0-9_]*(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS)\s*=\s*["']?([^\s,:}\]"'${<][^\s"']{7,})"#,
    },
];

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
            LazyLock::new(|| PATTERNS.iter().map(|one| regex(one.regex)).collect());
        let all = PATTERNS.iter().zip(&*COMPILED).enumerate();
        all.filter(move |(place, _)| self.0 & (1 << place) != 0)
            .filter_map(|(_, (pattern, regex))| Some((pattern.what, regex.as_ref()?)))
    }
}

/// The words of all patterns, each by two pairs of bytes in it that follow each other: one of them begins at an even
/// place of a text, wherever the word stands. So a look at every second pair finds all words, several times as fast as
/// an automaton that takes byte after byte.
struct Words {
    /// Each word, and its patterns: those that mind its case, and those that do not.
    words: Vec<(&'static str, u64, u64)>,
    /// One bit for each pair.
    pairs: Vec<u64>,
    /// The words of a pair, each with the place of the pair in it.
    of_pair: HashMap<u16, Vec<(usize, usize)>, FixedState>,
    /// The patterns that do not mind the case.
    in_any_case: u64,
}

impl Words {
    fn of(patterns: &'static [Pattern]) -> Self {
        let mut words: Vec<(&'static str, u64, u64)> = Vec::new();
        for (place, pattern) in patterns.iter().enumerate() {
            for word in pattern.holds {
                let known = words.iter().position(|(known, ..)| known == word);
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
        let in_any_case = words.iter().fold(0, |all, (_, _, any)| all | any);
        words.extend(ENDINGS.iter().map(|name| (*name, 0, ASSIGNED)));
        let (mut pairs, mut of_pair) = (vec![0_u64; 1 << 10], HashMap::default());
        for (number, (word, _, any)) in words.iter().enumerate() {
            let bytes = word.as_bytes();
            let place = rarest(bytes);
            for place in [place, place + 1] {
                for pair in spellings([bytes[place], bytes[place + 1]], *any != 0) {
                    let pair = u16::from_le_bytes(pair);
                    pairs[usize::from(pair >> 6)] |= 1 << (pair & 63);
                    let words: &mut Vec<_> = of_pair.entry(pair).or_default();
                    words.push((number, place));
                }
            }
        }
        Self {
            words,
            pairs,
            of_pair,
            in_any_case,
        }
    }

    /// The patterns whose words are in a text.
    fn found_in(&self, text: &str) -> u64 {
        let mut found = 0;
        let (pairs, _) = text.as_bytes().as_chunks();
        for (number, pair) in pairs.iter().enumerate() {
            let pair = u16::from_le_bytes(*pair);
            if self.pairs[usize::from(pair >> 6)] >> (pair & 63) & 1 == 1 {
                for (word, place) in self.of_pair.get(&pair).into_iter().flatten() {
                    let start = (2 * number).checked_sub(*place);
                    found |= start.map_or(0, |start| self.found_at(text, start, *word, found));
                }
            }
        }
        found
    }

    /// The patterns of a word, as far as they are not found yet, if it stands at this place.
    fn found_at(&self, text: &str, start: usize, word: usize, found: u64) -> u64 {
        let (word, exact, any) = self.words[word];
        let range = start..start + word.len();
        let spelled = text.as_bytes().get(range.clone());
        let Some(spelled) = spelled.filter(|_| (exact | any) & !found != 0) else {
            return 0;
        };
        let is_same = spelled == word.as_bytes();
        if !is_same && !spelled.eq_ignore_ascii_case(word.as_bytes()) {
            return 0;
        }
        if any == ASSIGNED && separator(text, range).is_none() {
            return 0;
        }
        any | if is_same { exact } else { 0 }
    }
}

/// Where in a word of at least three bytes the two pairs begin that are the rarest in texts.
fn rarest(word: &[u8]) -> usize {
    /// From the most common letter on.
    const COMMON: &[u8] = b"etaoinsrhldcumfpgwybvkxjqz";
    let weight = |byte: &u8| match COMMON
        .iter()
        .position(|common| *common == byte.to_ascii_lowercase())
    {
        Some(place) if byte.is_ascii_lowercase() => 30 - place,
        Some(_) | None => 5,
    };
    let pair = |place: usize| weight(&word[place]) * weight(&word[place + 1]);
    let places = 0..word.len().saturating_sub(2);
    places
        .min_by_key(|place| pair(*place) + pair(place + 1))
        .unwrap_or_default()
}

/// The pair as it is, or in any case.
fn spellings([one, two]: [u8; 2], in_any_case: bool) -> Vec<[u8; 2]> {
    let cases = |byte: u8| match in_any_case {
        true => vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
        false => vec![byte],
    };
    let pairs = cases(one)
        .into_iter()
        .flat_map(|one| cases(two).into_iter().map(move |two| [one, two]));
    let mut pairs: Vec<[u8; 2]> = pairs.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The patterns that may find something in a text, by the words that it holds: one walk in place of thirty.
pub(crate) fn suspected(text: &str) -> Suspected {
    static WORDS: LazyLock<Words> = LazyLock::new(|| Words::of(PATTERNS));
    let words = &*WORDS;
    let folds = |letter: &&str| memchr::memmem::find(text.as_bytes(), letter.as_bytes()).is_some();
    let mut suspected = words.found_in(text);
    if FOLDED.iter().any(folds) {
        suspected |= words.in_any_case;
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
    use proptest::prelude::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(Suspected::ALL.compiled().count(), PATTERNS.len());
        let words = Words::of(PATTERNS).words;
        assert!(words.iter().all(|(word, ..)| word.len() > 2));
        assert!(beginning().is_some() && named_at_end().is_some());
    }

    proptest! {
        #[test]
        fn words_are_found_wherever_they_stand(pieces in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(PATTERNS.iter().flat_map(|one| one.holds).copied().collect::<Vec<_>>()),
                proptest::sample::select(ENDINGS.iter().copied().collect::<Vec<_>>()),
                proptest::sample::select(vec!["=", ":", " ", "\t", "\"", "\\", "--", "-", "x", "é", "\u{17f}", "K"]),
            ], 0..8), is_loud in any::<bool>()) {
            let mut text = pieces.concat();
            if is_loud {
                text = text.to_uppercase();
            }
            let small = text.to_ascii_lowercase();
            let mut expected = 0;
            for (pattern, place) in PATTERNS.iter().zip(0..) {
                let is_in = |word: &&str| match pattern.is_case_sensitive() {
                    true => text.contains(word),
                    false => small.contains(word),
                };
                let folds = !pattern.is_case_sensitive() && FOLDED.iter().any(|one| text.contains(one));
                expected |= u64::from(folds || pattern.holds.iter().any(|word| is_in(&word))) << place;
            }
            let mut names = ENDINGS.iter().flat_map(|name| small.match_indices(name));
            let assigns = names.any(|(at, name)| separator(&text, at..at + name.len()).is_some());
            expected |= if assigns { ASSIGNED } else { 0 };
            prop_assert_eq!(suspected(&text).0, expected, "{}", text);
        }
    }

    #[test]
    fn every_pattern_is_suspected_where_it_finds_something() {
        let long = "0aA1".repeat(10);
        let found = |text: &str| {
            let found = PATTERNS.iter().zip(0..).filter(|(pattern, place)| {
                let regex = regex(pattern.regex);
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
