//! How JSON may spell a character.

use std::fmt::Write as _;

/// Backslashes before an escaped character: seven are three JSON texts inside of each other.
const BACKSLASHES: usize = 7;

/// Whether JSON has one spelling only for a character, that of the recorders at least.
pub(super) fn is_plain(character: char) -> bool {
    matches!(character, ' '..='~')
        && !matches!(character, '"' | '\\' | '/' | '<' | '>' | '&' | '\'')
}

/// Writes the pattern for one character; gives the length of its longest spelling. At the start of a needle,
/// the backslashes before its first character are not part of the hit: a pattern that begins with a definite
/// byte is found much faster.
pub(super) fn write_spellings(
    pattern: &mut String,
    character: char,
    first: bool,
    any_case: bool,
) -> usize {
    if is_plain(character) {
        pattern.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
        return 1;
    }
    let slashes = if first {
        "\\\\".to_owned()
    } else {
        format!("\\\\{{1,{}}}", BACKSLASHES + 1)
    };
    let optional = if first {
        String::new()
    } else {
        format!("\\\\{{0,{BACKSLASHES}}}")
    };
    let mut spellings = Vec::new();
    match character {
        '"' | '/' => spellings.push(format!("{optional}{character}")),
        '\\' => spellings.push(slashes.clone()),
        '\n' => spellings.extend(["\\n".to_owned(), format!("{slashes}n")]),
        '\t' => spellings.extend(["\\t".to_owned(), format!("{slashes}t")]),
        '\r' => spellings.extend(["\\r".to_owned(), format!("{slashes}r")]),
        _ => {}
    }
    for variant in variants(character, any_case) {
        if !matches!(variant, '"' | '/' | '\\' | '\n' | '\t' | '\r') {
            spellings.push(bytes_pattern(variant));
        }
        spellings.push(format!("{slashes}{}", unicode_escape(variant, &slashes)));
    }
    let _infallible = write!(pattern, "(?:{})", spellings.join("|"));
    // Twice `\uXXXX`, each with its backslashes.
    2 * (BACKSLASHES + 6)
}

/// The character and, where case does not matter, its other cases.
fn variants(character: char, any_case: bool) -> Vec<char> {
    let mut variants = vec![character];
    if any_case {
        let mut upper = character.to_uppercase();
        if let (Some(single), None) = (upper.next(), upper.next())
            && single != character
        {
            variants.push(single);
        }
    }
    variants
}

fn bytes_pattern(character: char) -> String {
    let mut pattern = String::new();
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        let _infallible = write!(pattern, "\\x{byte:02x}");
    }
    pattern
}

/// `uXXXX`, without the first backslash; two of them where UTF-16 needs two units.
fn unicode_escape(character: char, slashes: &str) -> String {
    let mut units = [0; 2];
    let escapes = character.encode_utf16(&mut units).iter().map(|unit| {
        // The hexadecimal digits stand in either case, the `u` does not.
        format!("u(?i:{unit:04x})")
    });
    escapes.collect::<Vec<_>>().join(slashes)
}
