//! Names under which secrets stand - members of JSON, variables, flags, fields of a text - and which values
//! under them are secrets.

use crate::bundled;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The words of `names.toml`, which says what each list is.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    names: Vec<String>,
    endings: Vec<String>,
    likely: Vec<String>,
    places: Vec<String>,
    codes: Vec<String>,
    variables: Vec<String>,
    stand_ins: Vec<String>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| bundled::table(include_str!("names.toml")));

/// Letters alone are a key from so many on.
const LONG: usize = 24;

/// What a name says of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Certain,
    /// A secret if it looks like one.
    Likely,
    /// A secret if it is a short number.
    Code,
    Nothing,
}

/// Whether the value of this name is a secret: a member of JSON, an environment variable.
pub fn names_a_secret(name: &str) -> bool {
    sign(name) == Sign::Certain
}

/// Whether the text of a member of this name is a secret.
pub(crate) fn is_secret_under(name: &str, text: &str) -> bool {
    match sign(name) {
        Sign::Certain => !text.is_empty() && !is_stand_in(text) && !is_sentence(name, text),
        Sign::Likely => looks_secret(text) || holds_password(text),
        Sign::Code => is_code(text),
        Sign::Nothing => false,
    }
}

/// Whether a value that a text gives a name is a secret. Texts hold prose and code: words, variables, calls and
/// types are none. `is_quoted`: it is in quotes; `is_tight`: it follows its `=` directly, as in a file of
/// variables.
pub(crate) fn is_secret_in_text(name: &str, value: &str, is_quoted: bool, is_tight: bool) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_sign = value.bytes().any(|byte| b"!@#%^*+~?".contains(&byte));
    // Most of what code assigns is a word.
    let may_be_key = has_digit || has_sign || is_tight || value.len() >= LONG;
    if value.len() < 4 || !may_be_key {
        return false;
    }
    let sign = sign(name);
    match sign {
        Sign::Nothing => return false,
        Sign::Code => return is_code(value),
        Sign::Certain | Sign::Likely => {}
    }
    // People make passwords of the word `password` and a number.
    let is_variable_named = !(has_digit && is_password(name)) && is_named_variable(value);
    let is_code = is_variable_named || is_code_of_a_program(value, is_quoted);
    if is_stand_in(value) || !is_one_word(value) || is_code {
        return false;
    }
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".,_%".contains(&byte));
    if is_number {
        return sign == Sign::Certain && is_password(name) && value.len() >= 6;
    }
    match sign {
        Sign::Certain if is_tight && is_variable(name) => value.len() >= 6,
        Sign::Certain => {
            value.len() >= 6 && (has_digit || has_sign && is_quoted) || is_long_key(value)
        }
        _ => value.len() >= 8 && has_digit,
    }
}

fn sign(name: &str) -> Sign {
    if name.is_empty() || name.len() > 128 {
        return Sign::Nothing;
    }
    let plain = plain(name);
    let is_one_of = |names: &[String]| names.iter().any(|name| *name == plain);
    let ends_like = |endings: &[String]| endings.iter().any(|ending| plain.ends_with(ending));
    if is_variable(name) || is_one_of(&WORDS.names) || ends_like(&WORDS.endings) {
        Sign::Certain
    } else if is_one_of(&WORDS.likely) || (plain.ends_with("token") && !ends_like(&WORDS.places)) {
        Sign::Likely
    } else if is_one_of(&WORDS.codes) {
        Sign::Code
    } else {
        Sign::Nothing
    }
}

/// Whether this is how variables of the environment are spelled that hold secrets.
fn is_variable(name: &str) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() > 4
        && name.bytes().all(is_capital)
        && (WORDS.variables.iter().any(|ending| name.ends_with(ending))
            || matches!(name, "TOKEN" | "SECRET" | "PASSWORD" | "PASSWD")
            || name.ends_with("PASSWORD"))
}

fn is_password(name: &str) -> bool {
    plain(name).contains("pass")
}

/// A name in small letters, without `_` and `-`.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    Cow::Owned(letters.flat_map(char::to_lowercase).collect())
}

/// Whether this fills the place of a secret: a placeholder, a variable, a mask, the name of a type.
pub(crate) fn is_stand_in(text: &str) -> bool {
    let text = text.trim();
    let is_masked = || {
        let mut letters = text.chars().filter(|letter| *letter != '-');
        letters.all(|letter| matches!(letter, '*' | 'x' | 'X' | '.' | '\u{2022}'))
    };
    let is_variable = || {
        let mut rest = text.strip_prefix('$').unwrap_or_default().chars();
        let next = rest.next();
        next.is_some_and(|next| next.is_ascii_uppercase() || matches!(next, '{' | '(' | '_'))
    };
    super::is_placeholder(text)
        || (text.starts_with('<') && text.ends_with('>'))
        || text.starts_with("{{")
        || { WORDS.stand_ins.iter() }.any(|word| text.eq_ignore_ascii_case(word))
        || is_variable()
        || is_masked()
}

/// Whether a text is about a secret without being one: `forgot_password` names a label as `db_password` names a
/// password. The value of `password` itself is always one.
fn is_sentence(name: &str, text: &str) -> bool {
    let plain = plain(name);
    let mut certain = WORDS.names.iter().chain(&WORDS.endings);
    let is_itself = certain.any(|known| *known == plain);
    !is_itself && text.split_whitespace().nth(2).is_some()
}

/// Whether a value is not a sentence, no path and no address.
fn is_one_word(value: &str) -> bool {
    let is_path = value.starts_with(['/', '.', '~', '\\']) || value.get(1..3) == Some(":\\");
    !is_path && !value.contains("://") && !value.contains(char::is_whitespace)
}

/// Whether a text by itself looks like a secret: one word with digits in it, and no number.
fn looks_secret(text: &str) -> bool {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_long = text.len() >= 8 && has_digit && has_letter;
    (is_long || is_long_key(text)) && is_one_word(text) && !is_stand_in(text)
}

/// Whether an address or a list of settings holds a password.
fn holds_password(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let settings = ["password=", "pwd=", "accountkey=", "sharedaccesskey="];
    settings.iter().any(|setting| small.contains(setting))
}

/// Letters of both cases and more than words have.
fn is_long_key(value: &str) -> bool {
    let upper = value.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower = value.bytes().any(|byte| byte.is_ascii_lowercase());
    value.len() >= LONG && upper && lower && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_code(text: &str) -> bool {
    (4..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value is what a program computes: a call, a place in a list, a member.
fn is_code_of_a_program(value: &str, is_quoted: bool) -> bool {
    let is_member = || !is_quoted && value.contains('.') && value.split('.').all(is_word);
    value.contains(['(', '[', '{', '`']) || value.contains("->") || is_member()
}

/// Whether a value is a variable whose name says that it holds a secret.
fn is_named_variable(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    let names = ["token", "secret", "passw", "key", "credential"];
    is_word(value) && names.iter().any(|name| small.contains(name))
}

fn is_word(word: &str) -> bool {
    let mut letters = word.chars();
    letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Whether a value that somebody calls a key is one. Words for a missing one (`ollama`, `EMPTY`,
/// `not-needed`) and those of JSON, of providers and of tools (`function`, `message`, `call_id`)
/// are in every text.
pub fn is_key(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_words = value
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.');
    let is_type = value == "b64_json" || {
        let dated = value.rsplit_once("_20");
        dated.is_some_and(|(_, date)| {
            date.len() == 6 && date.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let is_long = value.len() >= 20 && !(is_words && value.contains(['_', '.']));
    !is_type && (is_long || (value.len() >= 8 && has_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_every_spelling() {
        for name in [
            "api_key",
            "API-Key",
            "apiKey",
            "password",
            "client_secret",
            "GITHUB_TOKEN",
            "db_password",
            "ssh_key",
            "signing_key",
            "encryption_key",
            "webhook_secret",
            "TOKEN",
            "PASSWORD",
            "PGPASSWORD",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "",
            "next_page_token",
            "max_tokens",
            "token_count",
            "author",
            "key",
            "keyword",
            "passwordless",
            "PWD",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn words_of_json_of_providers_and_of_those_who_need_no_key_are_no_keys() {
        for word in [
            "ollama",
            "lm-studio",
            "EMPTY",
            "not-needed",
            "function",
            "message",
            "content",
            "call_id",
            "b64_json",
            "function_call_output",
            "mcp_approval_request",
            "chat.completion.chunk",
            "web_search_20250305",
        ] {
            assert!(!is_key(word), "{word}");
        }
        for key in ["a1b2c3d4", "correct horse battery", "plain words 1"] {
            assert!(is_key(key), "{key}");
        }
    }
}
