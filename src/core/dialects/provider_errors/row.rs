//! One row of the table: a sentence, what it means, and an example that proves the row works.

use regex::{Captures, Match};

use super::place::Place;
use super::text::Folded;
use super::{Decoded, Fault, Limits, Provider};

/// A sentence that a provider or an agent runtime says.
#[derive(Debug)]
pub struct Row {
    /// Who says it. [`Provider::OpenAi`] is narrowed by the place: `input` is Responses, `messages` is Chat.
    pub provider: Provider,
    pub fault: Fault,
    /// Where the text was seen: an issue, a source file, a recording. `not re-checked` is from memory: the
    /// sentence is known, its exact wording has no reference.
    pub source: &'static str,
    /// A regular expression over folded text: lower case, no quotes, single spaces. Groups: `ids` (call ids,
    /// separated by a comma and a space), `item` and `other` (item ids), `tool`, `place`, `message` (an index
    /// into `messages`), `value`, `expected`, `limit` and `actual`.
    pub pattern: &'static str,
    /// A text as the provider writes it, long lists and ids shortened.
    pub example: &'static str,
    /// What the example names.
    pub expected: Expected<'static>,
    /// When the text also appears for another reason: which.
    pub misleading: Option<&'static str>,
}

/// What a text names: ids, a tool, a place, numbers.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub call_ids: &'a [&'a str],
    /// Ids of other items.
    pub item_ids: &'a [&'a str],
    pub tool: Option<&'a str>,
    pub place: Option<(&'a str, &'a [usize])>,
    pub value: Option<&'a str>,
    /// What would have been accepted.
    pub accepted: Option<&'a str>,
    /// Limit and actual number.
    pub limits: Option<Limits>,
}

impl Row {
    pub(super) const fn new(
        provider: Provider,
        fault: Fault,
        source: &'static str,
        pattern: &'static str,
        example: &'static str,
    ) -> Row {
        let expected = Expected {
            call_ids: &[],
            item_ids: &[],
            tool: None,
            place: None,
            value: None,
            accepted: None,
            limits: None,
        };
        Row {
            provider,
            fault,
            source,
            pattern,
            example,
            expected,
            misleading: None,
        }
    }

    pub(super) const fn calls(mut self, ids: &'static [&'static str]) -> Row {
        self.expected.call_ids = ids;
        self
    }

    pub(super) const fn items(mut self, ids: &'static [&'static str]) -> Row {
        self.expected.item_ids = ids;
        self
    }

    pub(super) const fn tool(mut self, name: &'static str) -> Row {
        self.expected.tool = Some(name);
        self
    }

    pub(super) const fn at(mut self, path: &'static str, indices: &'static [usize]) -> Row {
        self.expected.place = Some((path, indices));
        self
    }

    pub(super) const fn value(mut self, value: &'static str) -> Row {
        self.expected.value = Some(value);
        self
    }

    pub(super) const fn accepts(mut self, accepted: &'static str) -> Row {
        self.expected.accepted = Some(accepted);
        self
    }

    pub(super) const fn limit(mut self, limit: Option<u64>, actual: Option<u64>) -> Row {
        self.expected.limits = Some(Limits { limit, actual });
        self
    }

    pub(super) const fn misleading(mut self, reason: &'static str) -> Row {
        self.misleading = Some(reason);
        self
    }
}

/// Reads what a match names.
pub(super) fn read(row: &Row, folded: &Folded, captures: &Captures<'_>) -> Decoded {
    let written = |group: Match<'_>| &folded.text[group.range()];
    let name = |group| captures.name(group).map(written).and_then(named);
    let number = |group| captures.name(group).and_then(|group| count(group.as_str()));
    let place = captures
        .name("place")
        .and_then(|group| Place::parse(written(group)))
        .or_else(|| {
            number("message").map(|index| {
                Place::element("messages", usize::try_from(index).unwrap_or(usize::MAX))
            })
        })
        .or_else(|| {
            captures
                .get(0)
                .and_then(|whole| Place::around(folded, whole.start(), whole.end()))
        });
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
        misleading: row.misleading,
    }
}

/// The rule that finds a fault; the names among the tools of a request are those of their definitions.
fn rule_of(fault: Fault, place: Option<&Place>) -> Option<&'static str> {
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
mod tests {
    use super::*;

    /// What a result names, in the shape of [`Expected`] but owned.
    type Named = (
        Vec<String>,
        Vec<String>,
        Option<String>,
        Option<(String, Vec<usize>)>,
        Option<String>,
        Option<String>,
        Option<Limits>,
    );

    impl Expected<'_> {
        pub(in super::super) fn of(decoded: &Decoded) -> Named {
            (
                decoded.call_ids.clone(),
                decoded.item_ids.clone(),
                decoded.tool.clone(),
                decoded
                    .place
                    .as_ref()
                    .map(|place| (place.path.clone(), place.indices.clone())),
                decoded.value.clone(),
                decoded.expected.clone(),
                decoded.limits,
            )
        }

        pub(in super::super) fn owned(&self) -> Named {
            let all = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
            (
                all(self.call_ids),
                all(self.item_ids),
                self.tool.map(str::to_owned),
                self.place
                    .map(|(path, indices)| (path.to_owned(), indices.to_vec())),
                self.value.map(str::to_owned),
                self.accepted.map(str::to_owned),
                self.limits,
            )
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
}
