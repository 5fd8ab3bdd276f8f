//! One row of the table: a sentence, what it means, and an example that proves the row works.

use regex::{Captures, Match};
use serde::Deserialize;

use super::place::Place;
use super::text::Folded;
use super::{Decoded, Fault, Limits, Provider};

/// A sentence that a provider or an agent runtime says. `rows.toml` holds them, and says what each member is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub provider: Provider,
    pub fault: Fault,
    pub source: String,
    pub pattern: String,
    pub example: String,
    #[serde(default)]
    pub names: Names,
    pub misleading: Option<String>,
}

/// What a text names: ids, a tool, a place, numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
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
pub(super) fn read(row: &'static Row, folded: &Folded, captures: &Captures<'_>) -> Decoded {
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
        misleading: row.misleading.as_deref(),
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

    impl Names {
        pub(in super::super) fn of(decoded: &Decoded) -> Self {
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
}
