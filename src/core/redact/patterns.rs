//! What secrets look like: the keys of known services, and values in places that hold secrets.

use super::assigned::{ENDINGS, separator};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder};
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
            for word in pattern.holds.iter().chain(folded) {
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
        let names = words.len();
        words.extend(ENDINGS.iter().map(|name| (*name, 0, 0)));
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
    static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| Words::of(PATTERNS));
    let Some(words) = &*WORDS else {
        return Suspected::ALL;
    };
    let mut suspected = 0;
    for found in words.automaton.find_overlapping_iter(text) {
        if found.pattern().as_usize() >= words.names {
            let is_new = suspected & ASSIGNED == 0;
            if is_new && separator(text, found.range()).is_some() {
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
        assert!(Words::of(PATTERNS).is_some());
        assert!(beginning().is_some() && named_at_end().is_some());
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
