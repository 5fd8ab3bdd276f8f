//! What became of one question.

use crate::session::ledger::Usage;
use crate::session::takes::TakeId;

/// What the model did in its next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It did what was meant, and the rules find nothing in the turn.
    Corrected,
    /// The same rule finds the same fault with the same tool.
    SameMistake,
    /// The rules find something else, or a sound call went to a tool that was not meant.
    OtherMistake,
    /// It called nothing and said something that is not what was meant.
    GaveUp,
    /// It called nothing and asked the user.
    AskedUser,
    /// It made a call that it had made in vain at least twice before.
    Looped,
    /// There is no reply: the request failed. It counts for no rate.
    Failed,
}

/// Every class with its word in reports, its mark on the screen (one column, and in ASCII), and what it means;
/// in the order of tables.
pub const CLASSES: &[(Class, &str, [char; 2], &str)] = &[
    (
        Class::Corrected,
        "corrected",
        ['✓', '+'],
        "a sound turn that does what was meant",
    ),
    (
        Class::SameMistake,
        "same-mistake",
        ['=', '='],
        "the same fault with the same tool",
    ),
    (
        Class::OtherMistake,
        "other-mistake",
        ['≠', '#'],
        "another fault, or a sound call of another tool than was meant",
    ),
    (
        Class::GaveUp,
        "gave-up",
        ['…', '.'],
        "words in place of what was meant",
    ),
    (
        Class::AskedUser,
        "asked-user",
        ['?', '?'],
        "a question to the user",
    ),
    (
        Class::Looped,
        "looped",
        ['↻', '@'],
        "a call that was made in vain twice before",
    ),
    (
        Class::Failed,
        "failed",
        ['✗', 'x'],
        "no reply; counts for no rate",
    ),
];

impl Class {
    /// The word for it in reports and journals.
    pub fn word(self) -> &'static str {
        let mut classes = CLASSES.iter();
        let found = classes.find(|(class, ..)| *class == self);
        found.map_or("", |(_, word, ..)| word)
    }

    /// The class of this word.
    pub fn named(word: &str) -> Option<Self> {
        let mut classes = CLASSES.iter();
        let found = classes.find(|(_, known, ..)| *known == word);
        found.map(|(class, ..)| *class)
    }
}

/// The tokens of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// As the provider counted them.
    Told(Usage),
    /// The provider told none: as they are guessed from the bytes of request and reply.
    Estimated(Usage),
}

/// Bytes of JSON that are taken for a token where nobody counts.
const BYTES_OF_A_TOKEN: usize = 4;

impl Tokens {
    /// What the provider told; a provider that counts nothing at all has told nothing. Else what so many
    /// bytes may come to.
    pub fn of(told: Usage, sent: usize, answered: usize) -> Self {
        if told != Usage::default() {
            return Self::Told(told);
        }
        let [input, output] = [sent, answered].map(|bytes| bytes.div_ceil(BYTES_OF_A_TOKEN) as u64);
        Self::Estimated(Usage { input, output })
    }

    /// Of a question that nothing is known to have been spent on.
    pub fn none() -> Self {
        Self::Estimated(Usage::default())
    }

    /// What the provider counted.
    pub fn told(self) -> Option<Usage> {
        match self {
            Self::Told(usage) => Some(usage),
            Self::Estimated(_) => None,
        }
    }

    /// What is known, or guessed.
    pub fn usage(self) -> Usage {
        match self {
            Self::Told(usage) | Self::Estimated(usage) => usage,
        }
    }
}

/// One question, answered or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// What the model did.
    pub class: Class,
    /// Why it is of that class, in a few words; it holds text from outside.
    pub why: String,
    /// Which of the questions with its wording it answers, from 0, in the order in which they were asked.
    pub number: u32,
    pub tokens: Tokens,
    /// Milliseconds until the reply was whole.
    pub ms: u64,
    /// The take with the reply, in the journal of the trial; none where the request failed.
    pub take: Option<TakeId>,
    /// Whether an earlier run of the same experiment asked.
    pub is_earlier: bool,
}
