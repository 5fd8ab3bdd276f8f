//! The words of script files: one table for the reader's hints and for `retake help scripted`.

/// A key of a script file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub place: Place,
    pub name: &'static str,
    pub takes: &'static str,
    pub means: &'static str,
}

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the top of the file.
    Top,
    /// In `[[rule]]`: when it fits.
    When,
    /// In `[[rule]]`: what it answers.
    Answer,
    /// In an entry of `calls`.
    Call,
}

impl Place {
    /// What a reader calls it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Top => "top of the file",
            Self::When => "when a rule fits",
            Self::Answer => "what it answers",
            Self::Call => "in `calls`",
        }
    }
}

const fn key(place: Place, name: &'static str, takes: &'static str, means: &'static str) -> Key {
    Key {
        place,
        name,
        takes,
        means,
    }
}

use Place::{Answer, Call, Top, When};

pub const KEYS: &[Key] = &[
    key(
        Top,
        "name",
        "a name",
        "what replies call the model: `scripted:NAME`; the file's name without it",
    ),
    key(
        Top,
        "seed",
        "a number",
        "what `chance` and the ids begin with",
    ),
    key(
        Top,
        "rule",
        "tables",
        "the rules; the first that fits answers",
    ),
    key(When, "turn", "a number", "which reply is asked for, from 1"),
    key(
        When,
        "last",
        "`user`, `output`, `model` or `nothing`",
        "what the history ends on",
    ),
    key(
        When,
        "last_contains",
        "a text",
        "what is new since the last reply (outputs, messages) contains it, letter case told apart",
    ),
    key(
        When,
        "last_matches",
        "a regular expression",
        "what is new since the last reply matches it",
    ),
    key(
        When,
        "last_is_error",
        "true or false",
        "whether an output since the last reply reports an error",
    ),
    key(
        When,
        "called",
        "a tool",
        "the last call of the history called it",
    ),
    key(When, "offers", "tools", "all of them are on offer"),
    key(When, "lacks", "tools", "none of them is on offer"),
    key(
        When,
        "times",
        "a number",
        "at most so many replies in one history, counted in the history itself",
    ),
    key(
        When,
        "chance",
        "0 to 1",
        "drawn from the history, the seed and the sample: the header `x-retake-sample` or `seed` of the request",
    ),
    key(
        When,
        "attempt",
        "a number",
        "how often the endpoint was asked exactly this; the only condition that is no function of the history",
    ),
    key(Answer, "text", "a template", "text"),
    key(Answer, "reasoning", "a template", "reasoning before it"),
    key(Answer, "refusal", "a template", "a refusal"),
    key(
        Answer,
        "calls",
        "tables",
        "calls, as `{ name = \"...\", arguments = { ... } }`",
    ),
    key(
        Answer,
        "finish",
        "`length` or `content_filter`",
        "why the reply ends, where it does not end by itself",
    ),
    key(
        Answer,
        "delay_ms",
        "milliseconds",
        "how long nothing is sent",
    ),
    key(
        Answer,
        "chunk_ms",
        "milliseconds",
        "between two events of a stream",
    ),
    key(
        Answer,
        "chunk",
        "a number",
        "characters of a text or of arguments in one event; 24 without it",
    ),
    key(
        Answer,
        "status",
        "400 to 599",
        "an error instead of a reply, with this HTTP status",
    ),
    key(
        Answer,
        "error",
        "a text",
        "what that error says; beside `cut_after`, the failure that the stream reports before it ends",
    ),
    key(
        Answer,
        "retry_after",
        "seconds or a date",
        "its header `Retry-After`",
    ),
    key(
        Answer,
        "cut_after",
        "a number",
        "the connection ends after so many events of the stream; a reply that is not streamed ends in the middle",
    ),
    key(
        Answer,
        "hang",
        "true",
        "nothing comes any more: at once, or behind `cut_after`",
    ),
    key(
        Call,
        "name",
        "a tool",
        "the tool that is called, on offer or not",
    ),
    key(
        Call,
        "arguments",
        "a table, or text",
        "the arguments; their texts are templates. Text is sent as it is, JSON or not",
    ),
    key(
        Call,
        "id",
        "a text",
        "the id of the call; made from the history without it",
    ),
];

/// The table as `retake help` shows it.
pub fn markdown_table() -> String {
    let mut table = "| where | key | takes | means |\n|---|---|---|---|\n".to_owned();
    for key in KEYS {
        let (place, name, takes, means) = (key.place.words(), key.name, key.takes, key.means);
        table.push_str(&format!("| {place} | `{name}` | {takes} | {means} |\n"));
    }
    table
}
