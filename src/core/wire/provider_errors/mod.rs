//! A provider's refusal, decoded: from the text of a 400 (or of an SDK's exception) to the fact after it.
//!
//! The text may be a bare sentence, a JSON body, a Python or JavaScript rendering of one, or a log line around
//! any of these: [`decode`] folds them all to one spelling (see `text.rs`) and looks for the sentences of
//! [`table`]. The table is data: one row per sentence, each with the example that its test decodes.
//!
//! Places and indices are those of the **request as it was sent**. A recording may number its messages
//! differently (system prompt taken out, messages of one role merged, earlier history on the server), so
//! without the request they are estimates.

mod facts;
mod place;
mod text;

use crate::bundled;
use std::ops::Range;
use std::sync::LazyLock;

use crate::session::Dialect;
use regex::{Captures, Match, Regex};
use serde::Deserialize;

pub use facts::{Fault, Provider};
pub use place::ErrorPlace;

use text::FoldedText;

/// One refusal, as facts. What the text does not say stays empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// Who speaks like this.
    pub provider: Provider,
    pub fault: Fault,
    /// The rule that finds the same fault in a recording.
    pub rule: Option<&'static str>,
    /// The call ids that the text names, in its order.
    pub call_ids: Vec<String>,
    /// The ids of other items that the text names (`rs_...`, `fc_...`, `msg_...`).
    pub item_ids: Vec<String>,
    /// The tool that the text names.
    pub tool: Option<String>,
    /// Where in the request as sent.
    pub place: Option<ErrorPlace>,
    /// The offending value that the text quotes: an item type, a role, a reason.
    pub value: Option<String>,
    /// What would have been accepted: an id prefix or a pattern, without its quotes.
    pub expected: Option<String>,
    /// The numbers that the text compares.
    pub limits: Option<Limits>,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// When the text also appears for another reason: which.
    pub misleading: Option<&'static str>,
}

impl Decoded {
    /// Whether the history is at fault, and not what a request sends beside it ([`Fault::is_of_history`]).
    pub fn is_of_history(&self) -> bool {
        self.fault.is_of_history() && self.rule != Some("invalid-tool-definition")
    }
}

/// The numbers of an error, in the unit of the error: characters, tokens, tools, parts or turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub limit: Option<u64>,
    pub actual: Option<u64>,
}

/// One sentence repeated without end in a log is reported this many times at most.
const MATCHES_PER_ROW: usize = 32;

/// Every sentence that is recognised, from the specific to the general.
pub fn table() -> &'static [ErrorSentence] {
    static ROWS: LazyLock<Vec<ErrorSentence>> =
        LazyLock::new(|| bundled::rows(include_str!("rows.toml")));
    &ROWS
}

/// How the provider of a dialect refuses a request for what a rule finds in it: an example of its words. `None`
/// where it is not known to, or where one rule finds many faults with texts of their own.
pub fn refusal_of(rule: &str, dialect: Dialect) -> Option<&'static ErrorSentence> {
    table().iter().find(|row| {
        let is_one = row.fault.rule() == Some(rule) && rule != "malformed-message";
        is_one && !row.fault.is_of_reply() && row.provider.owns(dialect)
    })
}

/// The facts in a provider's error text, best first: the more specific sentence, then the earlier one.
///
/// Ordinary prose and errors of other kinds give nothing. Of a very long text only the beginning and
/// the end are read.
pub fn decode(text: &str) -> Vec<Decoded> {
    decode_rows(text)
        .into_iter()
        .map(|(_, decoded)| decoded)
        .collect()
}

/// As [`decode`], with the row that each result comes from.
fn decode_rows(text: &str) -> Vec<(&'static ErrorSentence, Decoded)> {
    static COMPILED: LazyLock<Vec<(&'static ErrorSentence, Regex)>> = LazyLock::new(|| {
        let rows = table().iter();
        rows.filter_map(|row| Some((row, Regex::new(&row.pattern).ok()?)))
            .collect()
    });
    let folded = FoldedText::new(text);
    let mut taken: Vec<Range<usize>> = Vec::new();
    let mut found: Vec<(&'static ErrorSentence, Decoded)> = Vec::new();
    for (row, regex) in COMPILED.iter() {
        for captures in regex.captures_iter(&folded.lower).take(MATCHES_PER_ROW) {
            let Some(span) = captures.get(0).map(|whole| whole.range()) else {
                continue;
            };
            if taken
                .iter()
                .any(|other| span.start < other.end && other.start < span.end)
            {
                continue;
            }
            let decoded = read(row, &folded, &captures);
            taken.push(span);
            absorb(&mut found, row, decoded);
        }
    }
    found
}

/// Adds a result unless the text said the same before; a repetition may still bring the place.
fn absorb(
    found: &mut Vec<(&'static ErrorSentence, Decoded)>,
    row: &'static ErrorSentence,
    decoded: Decoded,
) {
    let known = found.iter_mut().find(|(other_row, other)| {
        std::ptr::eq(*other_row, row)
            && other.call_ids == decoded.call_ids
            && other.item_ids == decoded.item_ids
            && other.tool == decoded.tool
            && (other.place == decoded.place || other.place.is_none() || decoded.place.is_none())
    });
    match known {
        Some((_, other)) => {
            if other.place.is_none() {
                other.place = decoded.place;
                other.provider = decoded.provider;
            }
        }
        None => found.push((row, decoded)),
    }
}

/// A sentence that a provider or an agent runtime says. `rows.toml` holds them, and says what each member is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSentence {
    pub provider: Provider,
    pub fault: Fault,
    pub source: String,
    pub pattern: String,
    pub example: String,
    #[serde(default)]
    pub names: NamedItems,
    pub misleading: Option<String>,
}

/// What a text names: ids, a tool, a place, numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NamedItems {
    pub calls: Vec<String>,
    /// Ids of other items.
    pub items: Vec<String>,
    pub tool: Option<String>,
    pub place: Option<String>,
    pub indices: Vec<usize>,
    pub value: Option<String>,
    /// What would have been accepted.
    pub accepted: Option<String>,
    pub limit: Option<u64>,
    pub actual: Option<u64>,
}

/// Reads what a match names.
fn read(row: &'static ErrorSentence, folded: &FoldedText, captures: &Captures<'_>) -> Decoded {
    let written = |group: Match<'_>| &folded.text[group.range()];
    let name = |group| captures.name(group).map(written).and_then(named);
    let number = |group| captures.name(group).and_then(|group| count(group.as_str()));
    let place = captures
        .name("place")
        .and_then(|group| ErrorPlace::parse(written(group)))
        .or_else(|| {
            number("message").map(|index| {
                ErrorPlace::element("messages", usize::try_from(index).unwrap_or(usize::MAX))
            })
        })
        .or_else(|| {
            captures
                .get(0)
                .and_then(|whole| ErrorPlace::around(folded, whole.start(), whole.end()))
        });
    let place = place.filter(|_| !row.fault.is_of_service());
    let (limit, actual) = (number("limit"), number("actual"));
    Decoded {
        provider: match (
            row.provider,
            place.as_ref().map(|place| place.path.as_str()),
        ) {
            (Provider::OpenAi, Some("input")) => Provider::OpenAiResponses,
            (Provider::OpenAi, Some("messages")) => Provider::OpenAiChat,
            (provider, _) => provider,
        },
        fault: row.fault,
        rule: rule_of(row.fault, place.as_ref()),
        call_ids: captures
            .name("ids")
            .map(|group| ids(written(group)))
            .unwrap_or_default(),
        item_ids: ["item", "other"]
            .into_iter()
            .filter_map(|group| captures.name(group))
            .flat_map(|group| ids(written(group)))
            .collect(),
        tool: name("tool"),
        place,
        value: name("value"),
        expected: name("expected"),
        limits: (limit.is_some() || actual.is_some()).then_some(Limits { limit, actual }),
        meaning: row.fault.meaning(),
        remedy: row.fault.remedy(),
        misleading: row.misleading.as_deref(),
    }
}

/// The rule that finds a fault; the names among the tools of a request are those of their definitions.
fn rule_of(fault: Fault, place: Option<&ErrorPlace>) -> Option<&'static str> {
    let of_tools = place.is_some_and(|place| place.path == "tools");
    match fault {
        Fault::InvalidToolName if of_tools => Some("invalid-tool-definition"),
        fault => fault.rule(),
    }
}

/// The ids of a list such as `call_a, call_b.`; a placeholder (`call_...` cut with an ellipsis) or the next key
/// of the body is none.
fn ids(list: &str) -> Vec<String> {
    list.split(", ")
        .take_while(|id| !id.ends_with(':'))
        .map(|id| {
            id.trim_matches(|char: char| {
                !(char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '…' | '<' | '>'))
            })
        })
        .filter(|id| !id.is_empty() && !id.contains(['…', '<', '>', '[']))
        .map(str::to_owned)
        .collect()
}

/// A name without the punctuation of the sentence or body around it.
fn named(text: &str) -> Option<String> {
    let name = text.trim_end_matches(['.', ',', ';', ':', '}', ' ']);
    (!name.is_empty() && !name.contains('…')).then(|| name.to_owned())
}

/// A count such as `200000` or `200,000`.
fn count(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    impl NamedItems {
        fn of(decoded: &Decoded) -> Self {
            let place = decoded.place.clone();
            let limits = decoded.limits;
            Self {
                calls: decoded.call_ids.clone(),
                items: decoded.item_ids.clone(),
                tool: decoded.tool.clone(),
                indices: place
                    .iter()
                    .flat_map(|place| place.indices.clone())
                    .collect(),
                place: place.map(|place| place.path),
                value: decoded.value.clone(),
                accepted: decoded.expected.clone(),
                limit: limits.and_then(|limits| limits.limit),
                actual: limits.and_then(|limits| limits.actual),
            }
        }
    }

    #[test]
    fn id_lists_end_where_the_body_goes_on() {
        assert_eq!(ids("call_a, call_b."), ["call_a", "call_b"]);
        assert_eq!(ids("call_a, type:"), ["call_a"]);
        assert_eq!(ids("[functions.eval:301]"), ["functions.eval:301"]);
        assert_eq!(ids("rs_…"), [] as [&str; 0]);
        assert_eq!(ids("<id>"), [] as [&str; 0]);
    }

    /// What is wrong with a row, judged by its own example.
    fn complaint(row: &ErrorSentence) -> Option<String> {
        if row.pattern != row.pattern.to_lowercase() || row.source.is_empty() {
            return Some(format!(
                "pattern not in lower case, or no source: {}",
                row.pattern
            ));
        }
        let results = decode_rows(&row.example);
        let [(found, decoded)] = results.as_slice() else {
            return Some(format!(
                "{} results for: {}\n{results:#?}",
                results.len(),
                row.example
            ));
        };
        if found.pattern != row.pattern || decoded.fault != row.fault {
            return Some(format!(
                "another row claims: {}\n{}",
                row.example, found.pattern
            ));
        }
        let (named, expected) = (NamedItems::of(decoded), &row.names);
        (named != *expected).then(|| {
            format!(
                "{}\n named    {named:?}\n expected {expected:?}",
                row.example
            )
        })
    }

    #[test]
    fn each_dialect_has_a_text_for_each_half_of_a_pair_that_is_missing() {
        for dialect in Dialect::ALL {
            for rule in ["orphan-call", "orphan-output"] {
                let sentence = refusal_of(rule, dialect).unwrap();
                assert_eq!(sentence.fault.rule(), Some(rule));
                assert!(Fault::is_refused(rule));
            }
        }
        let text = &refusal_of("orphan-call", Dialect::Anthropic)
            .unwrap()
            .example;
        assert!(text.contains("`tool_use` ids were found without"), "{text}");
        for rule in ["unknown-tool", "invalid-arguments", "tool-error"] {
            assert!(!Fault::is_refused(rule), "{rule}");
        }
    }

    #[test]
    fn every_example_decodes_to_its_own_row_with_what_it_names() {
        assert_eq!(table().len(), 157);
        let complaints: Vec<_> = table().iter().filter_map(complaint).collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    }

    #[test]
    fn every_fault_is_reached_by_a_row() {
        for fault in Fault::ALL {
            assert!(
                table().iter().any(|row| row.fault == *fault),
                "{fault:?} has no row"
            );
        }
    }

    #[test]
    fn no_two_rows_share_a_pattern() {
        let mut patterns: Vec<_> = table().iter().map(|row| &row.pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        assert_eq!(patterns.len(), table().len());
    }

    #[test]
    fn one_fault_said_twice_is_one_result_and_keeps_the_place() {
        let text = "No tool output found for function call call_a.\n\
            {\"error\":{\"message\":\"No tool output found for function call call_a.\",\"param\":\"input[4]\"}}";
        let results = decode(text);
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].place.as_ref().unwrap().indices, [4]);
    }

    #[test]
    fn errors_of_the_service_and_the_account_are_known() {
        for (text, fault) in [
            ("overloaded_error", Fault::Overloaded),
            ("Overloaded", Fault::Overloaded),
            ("API Error: 529", Fault::Overloaded),
            (
                "API Error: Repeated 529 Overloaded errors",
                Fault::Overloaded,
            ),
            ("429 Too Many Requests", Fault::RateLimited),
            ("HTTP 429", Fault::RateLimited),
            (
                "Rate limit reached for gpt-4o in organization org-1 on tokens per min",
                Fault::RateLimited,
            ),
            ("rate_limit_error", Fault::RateLimited),
            ("invalid x-api-key", Fault::KeyRefused),
            ("authentication_error", Fault::KeyRefused),
            ("Incorrect API key provided: sk-1", Fault::KeyRefused),
            (
                "Your credit balance is too low to access the Anthropic API.",
                Fault::NoCredit,
            ),
            ("insufficient_quota", Fault::NoCredit),
            (
                "Unsupported parameter: 'max_tokens' is not supported",
                Fault::UnsupportedParameter,
            ),
        ] {
            let decoded = decode(text);
            let faults = decoded.iter().map(|one| (one.fault, one.is_of_history()));
            assert_eq!(faults.collect::<Vec<_>>(), [(fault, false)], "{text}");
        }
        for prose in [
            "The road is overloaded.",
            "Line 429 of main.rs",
            "He paid 529 euros.",
        ] {
            assert_eq!(decode(prose), [], "{prose}");
        }
    }

    #[test]
    fn two_faults_are_two_results() {
        let text = "No tool output found for function call call_a.\nNo tool output found for function call call_b.";
        let ids: Vec<_> = decode(text)
            .into_iter()
            .flat_map(|decoded| decoded.call_ids)
            .collect();
        assert_eq!(ids, ["call_a", "call_b"]);
    }
}
