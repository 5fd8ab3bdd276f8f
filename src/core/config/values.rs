//! What single values mean.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The units of durations, in milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
/// Longest duration that can be written: a day.
const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// Milliseconds of a duration as files write it: a whole number with its unit, `500ms`, `30s`, `2m`, `1h`;
/// a day at most.
pub fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let number: u64 = number.parse().ok()?;
    let millis = number.checked_mul(*factor);
    millis.filter(|millis| *millis <= LONGEST)
}

/// For `#[serde(deserialize_with)]`: milliseconds of a duration.
///
/// # Errors
/// Where the value is no duration.
pub fn millis<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let millis = duration(&String::deserialize(value)?);
    millis
        .map(Some)
        .ok_or_else(|| D::Error::custom("this is no time"))
}

/// For `#[serde(deserialize_with)]`: a text, or a list of texts.
///
/// # Errors
/// Where the value is neither.
pub fn one_or_many<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(value)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}

/// How keys of known providers begin.
const KEY_PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "hf_",
];
/// How long what follows is at least.
const KEY: usize = 16;

/// Whether a part of a text looks like the API key of a known provider, which no message may quote.
pub fn looks_like_key(text: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let mut words = text.split(|character| !is_letter(character));
    words.any(|word| {
        let rest = KEY_PREFIXES
            .iter()
            .find_map(|start| word.strip_prefix(start));
        rest.is_some_and(|rest| rest.len() >= KEY)
    })
}
