//! How a wrong name differs from the tool's that it was meant for, for people. The reason is true of the two
//! names as they are written, whichever way they were found to be near.

use super::SuggestionReason;
use super::known::verb_kind;
use super::words::Name;

/// Most letters that a typo gets wrong: more of them are another word.
const MOST_WRONG: usize = 2;
/// Names of fewer letters have one wrong letter at most.
const SHORT: usize = 6;

/// How the two names differ.
pub(super) fn of(wanted: &Name, offered: &Name, why: SuggestionReason) -> &'static str {
    match why {
        SuggestionReason::SameTool => of_the_same_tool(wanted, offered),
        SuggestionReason::Handoff => "name of the agent",
        SuggestionReason::SameWords => of_the_same_words(wanted, offered),
        SuggestionReason::Spelling if is_typo(wanted, offered) => "typo",
        SuggestionReason::Spelling => of_like_names(wanted, offered),
        SuggestionReason::Synonym => "another word for it",
        SuggestionReason::CommonWord if has_common_word(wanted, offered) => "word in common",
        SuggestionReason::CommonWord => "beginning of a word",
    }
}

fn of_the_same_tool(wanted: &Name, offered: &Name) -> &'static str {
    let (written, meant) = (letters(&wanted.given), letters(&offered.given));
    if wanted
        .given
        .trim()
        .eq_ignore_ascii_case(offered.given.trim())
    {
        "letter case"
    } else if written == meant {
        match offered.qualified && !wanted.qualified {
            true => "flattened namespace",
            false => "separators",
        }
    } else if written.ends_with(&meant) {
        "prefix"
    } else if offered.qualified && wanted.whole == offered.bare {
        "namespace left out"
    } else if offered.qualified && !wanted.qualified {
        "flattened namespace"
    } else {
        "namespace"
    }
}

fn of_the_same_words(wanted: &Name, offered: &Name) -> &'static str {
    if wanted.bare == offered.bare {
        "another namespace"
    } else if wanted.bare_words != offered.bare_words {
        "words in common"
    } else if wanted.bare.len() == offered.bare.len() {
        "same words in another order"
    } else {
        "a word twice"
    }
}

/// Names that are spelled alike although no slip of a finger leads from one to the other.
fn of_like_names(wanted: &Name, offered: &Name) -> &'static str {
    let lacks_a_verb = |one: &Name, other: &Name| {
        let words = one.bare_words.iter();
        let mut lacking = words.filter(|word| !other.bare_words.contains(word));
        let first = lacking.next().filter(|_| lacking.next().is_none());
        first.is_some_and(|only| verb_kind(only).is_some())
    };
    match has_common_word(wanted, offered) {
        true if lacks_a_verb(wanted, offered) && lacks_a_verb(offered, wanted) => "another verb",
        true => "word in common",
        false => "similar name",
    }
}

fn has_common_word(wanted: &Name, offered: &Name) -> bool {
    let mut words = wanted.bare_words.iter();
    words.any(|word| offered.bare_words.contains(word))
}

fn is_typo(wanted: &Name, offered: &Name) -> bool {
    let wrong = |one: &str, other: &str| {
        let most = match one.chars().count().max(other.chars().count()) {
            0..SHORT => 1,
            _ => MOST_WRONG,
        };
        strsim::osa_distance(one, other) <= most
    };
    wrong(&wanted.bare, &offered.bare) || wrong(&wanted.whole, &offered.whole)
}

/// What a name is made of besides separators, in lower case.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
