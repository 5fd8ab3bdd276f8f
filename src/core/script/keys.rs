//! The keys of a script.

use super::Last;
use super::answer::check_template;
use crate::config::{Keys, Shape, keys};

/// The tables of a script, for the help.
pub static SCRIPT_TABLES: [&Keys; 3] = [&SCRIPT_KEYS, &RULE_KEYS, &CALL_KEYS];

/// The keys of `[[rule]]` that are conditions.
pub(super) const CONDITIONS: [&str; 11] = [
    "turn",
    "last",
    "last_contains",
    "last_matches",
    "last_is_error",
    "called",
    "offers",
    "lacks",
    "times",
    "chance",
    "attempt",
];

/// Turns, times and attempts.
const COUNTED: Shape = Shape::Whole(1, 1_000_000);
/// Milliseconds of a wait, and seconds of `Retry-After`.
const WAIT: Shape = Shape::Whole(0, 600_000);
const TOOLS: Shape = Shape::Either(&[Shape::AnyText, Shape::AnyList("tools", &Shape::AnyText)]);
const TEMPLATE: Shape = Shape::CheckedText(check_template);

keys! {
    pub(super) static SCRIPT_KEYS = "the file" {
        name: CheckedText(check_name), "what replies call the model: `scripted:NAME`; the file's name without it";
        seed: Whole(0, u64::MAX), "what `chance` and the ids begin with", or "0";
        rule: Tables(&RULE_KEYS), "the rules; the first that fits answers";
    }
}

keys! {
    pub(super) static RULE_KEYS = "[[rule]]" {
        turn: COUNTED, "fits where this reply is asked for, from 1";
        last: Word(None, last_words), "fits where the history ends on this";
        last_contains: AnyText,
            "fits where what is new since the last reply (outputs, messages) contains it, letter case told apart";
        last_matches: CheckedText(check_pattern),
            "a regular expression; fits where what is new since the last reply matches it";
        last_is_error: Flag, "fits where an output since the last reply reports an error; false: where none does";
        called: AnyText, "fits where the last call of the history called this tool";
        offers: TOOLS, "fits where all of these tools are on offer";
        lacks: TOOLS, "fits where none of these tools is on offer";
        times: COUNTED, "fits for so many replies in one history at most, counted in the history itself";
        chance: Chance,
            "the share of histories that it fits, drawn from the history, the seed and the sample: the header \
             `x-retake-sample` or `seed` of the request";
        attempt: COUNTED,
            "fits where the endpoint was asked exactly this so often; the only condition that is no function of the \
             history";
        text: TEMPLATE, "the text of the answer, a template";
        reasoning: TEMPLATE, "reasoning before it, a template";
        refusal: TEMPLATE, "a refusal, a template";
        calls: Tables(&CALL_KEYS), "calls, as `{ name = \"...\", arguments = { ... } }`";
        finish: Word(None, || vec!["length", "content_filter"]),
            "why the reply ends, where it does not end by itself";
        delay_ms: WAIT, "how many milliseconds nothing is sent", or "0";
        chunk_ms: WAIT, "milliseconds between two events of a stream", or "0";
        chunk: Whole(1, 1_000_000), "characters of a text or of arguments in one event", or "24";
        status: Whole(400, 599), "an error instead of a reply, with this HTTP status";
        error: AnyText,
            "what that error says; beside `cut_after`, the failure that the stream reports before it ends";
        retry_after: Either(&[WAIT, CheckedText(check_date)]), "its header `Retry-After`: seconds or a date";
        cut_after: Whole(0, 1_000_000),
            "the connection ends after so many events of the stream; a reply that is not streamed ends in the middle";
        hang: Flag, "nothing comes any more: at once, or behind `cut_after`";
    }
    rules [AtMost(1000)]
}

keys! {
    static CALL_KEYS = "an entry of `calls`" {
        name [required]: AnyText, "the tool that is called, on offer or not";
        arguments: Either(&[JsonTable, AnyText]),
            "the arguments; the texts of a table are templates, and a text is sent as it is, JSON or not", or "{}";
        id: AnyText, "the id of the call; made from the history without it";
    }
}

fn last_words() -> Vec<&'static str> {
    Last::ALL.map(|(_, word)| word).to_vec()
}

fn check_name(name: &str) -> Result<(), String> {
    match (1..=60).contains(&name.len()) && name.chars().all(is_of_name) {
        true => Ok(()),
        false => Err("has 1 to 60 letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

/// Whether headers and model names take a character.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    let Err(error) = regex::Regex::new(pattern) else {
        return Ok(());
    };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    Err(format!("is no regular expression: {reason}"))
}

fn check_date(date: &str) -> Result<(), String> {
    match date.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true => Ok(()),
        false => Err("holds what no header can".to_owned()),
    }
}
