//! One element of a request's list, as far as turns are identified by it.

use crate::session::{Dialect, Family, IgnoredParts, Item, Kind, Meaning, hash};
use crate::wire::body_of;
use crate::wire::write::edit::{call_id, items_of, member};
use std::collections::BTreeSet;
use std::ops::Range;

/// An element: an item of Responses, a message of Chat or Anthropic.
#[derive(Debug, Clone)]
pub(crate) struct ListElement {
    pub(crate) text: String,
    pub(crate) side: ElementOwner,
    /// Whether it is reasoning and nothing else.
    pub(crate) is_reasoning: bool,
    /// The calls in it that the client answers, in their order.
    pub(crate) calls: Vec<Call>,
    /// The ids of the calls that it answers, as numbers; 0 for an answer without one.
    pub(crate) answers: Vec<u64>,
}

/// Whose an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementOwner {
    /// Said by the model.
    Model,
    /// Outputs of calls, and nothing else.
    Outputs,
    /// Anything else: the user, instructions.
    Other,
}

/// A call in an element.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    item: Item,
    /// Its position in the element.
    pub(crate) at: Range<usize>,
    /// Its id as a number; 0 where it has none.
    pub(crate) id: u64,
    /// Whether its id looks drawn at random: where they are counted two conversations have the same ones.
    pub(crate) is_drawn: bool,
    pub(crate) tool: String,
}

/// So many letters and digits stand together in an id that is drawn, and so many different ones are
/// among them. Servers that count (`call_0`, `functions.search:1`, `call_00000000001`) give the same
/// ids in every conversation.
const DRAWN: (usize, usize) = (10, 8);

impl ListElement {
    /// Reads an element. What cannot be read is nobody's.
    pub(crate) fn read(dialect: Dialect, text: &str) -> Self {
        let fragment = items_of(dialect, text);
        let items = &fragment.items;
        let of = |kind| items.iter().filter(move |item| item.kind == kind);
        let id = |item: &Item| raw_id(text, item).map_or(0, hash);
        Self {
            text: text.to_owned(),
            side: side_of(dialect, items),
            is_reasoning: !items.is_empty() && of(Kind::Reasoning).count() == items.len(),
            calls: of(Kind::Call)
                .map(|item| Call::of(text, item, fragment.names.text(item.name)))
                .collect(),
            answers: of(Kind::Output).map(id).collect(),
        }
    }

    /// What an item of Responses is known by beside its words: its own id, or what is encrypted in
    /// it; as a number.
    pub(crate) fn own_mark(&self) -> Option<u64> {
        let marks = ["id", "encrypted_content"].into_iter();
        let mut marks = marks.filter_map(|key| member(&self.text, key));
        let found = marks
            .find(|at| self.text[at.clone()].len() > 2 && self.text[at.start..].starts_with('"'));
        found.map(|at| hash(self.text[at].as_bytes()))
    }

    /// What it says, however it is spelled.
    pub(crate) fn meaning(&self, unsaid: &IgnoredParts) -> Meaning {
        Meaning::of_json(&self.text, unsaid)
    }

    /// What it adds to a conversation, in whatever spelling its agent repeats that. Nothing where it is reasoning,
    /// or instructions: they hold dates.
    pub(crate) fn repeated(&self) -> Option<Meaning> {
        let is_instructions = self.has_role("system") || self.has_role("developer");
        (!self.is_reasoning && !is_instructions).then(|| self.meaning(&UNREPEATED))
    }

    /// Whether it is a message of this role.
    pub(crate) fn has_role(&self, role: &str) -> bool {
        let at = member(&self.text, "role");
        at.is_some_and(|at| self.text[at].trim_matches('"') == role)
    }

    /// Whether it holds a call that another element holds as well.
    pub(crate) fn holds(&self, call: &Call, of: &Self) -> bool {
        self.calls.iter().any(|own| own.is(self, call, of))
    }

    pub(crate) fn answers_any(&self, calls: &[Call]) -> bool {
        self.answers
            .iter()
            .any(|id| *id != 0 && calls.iter().any(|call| call.id == *id))
    }
}

impl Call {
    fn of(text: &str, item: &Item, tool: &str) -> Self {
        let id = raw_id(text, item);
        Self {
            item: *item,
            at: place(item.span.start, item.span.end),
            id: id.map_or(0, hash),
            is_drawn: id.is_some_and(is_drawn),
            tool: tool.to_owned(),
        }
    }

    /// Whether both are one call, however it is spelled: id, tool and arguments. Each is in
    /// the element beside it.
    pub(crate) fn is(&self, own: &ListElement, other: &Self, theirs: &ListElement) -> bool {
        self.id == other.id
            && self.tool == other.tool
            && self.arguments(own) == other.arguments(theirs)
    }

    /// What the arguments say.
    fn arguments(&self, element: &ListElement) -> Meaning {
        let own = element.text.get(self.at.clone()).unwrap_or_default();
        match body_of(&self.item, own.as_bytes()).map(|body| body.arguments) {
            Ok(arguments) => match arguments.json() {
                Some(json) => Meaning::of_json(json, &IgnoredParts::default()),
                None => Meaning::of(arguments.as_written().as_bytes()),
            },
            Err(_) => Meaning::of(own.as_bytes()),
        }
    }
}

/// Whether an id looks drawn at random: no word, and no word followed by a number.
fn is_drawn(id: &[u8]) -> bool {
    let mut runs = id.split(|byte| !byte.is_ascii_alphanumeric());
    runs.any(|run| {
        let mut pairs = run.windows(2);
        let is_mixed = pairs.any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
        let is_number = run.iter().all(u8::is_ascii_digit);
        let different = run.iter().collect::<BTreeSet<_>>().len();
        run.len() >= DRAWN.0 && different >= DRAWN.1 && (is_mixed || is_number)
    })
}

/// The text of an item's call id, as it is written.
fn raw_id<'a>(text: &'a str, item: &Item) -> Option<&'a [u8]> {
    let is_named = item.family != Family::Legacy;
    let id = call_id(text, item).filter(|id| is_named && !id.is_empty());
    id.map(str::as_bytes)
}

fn place(start: u64, end: u64) -> Range<usize> {
    // Places in a text that is in memory fit.
    let fit = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    fit(start)..fit(end)
}

fn side_of(dialect: Dialect, items: &[Item]) -> ElementOwner {
    let is_of_user = |kind| matches!(kind, Kind::User | Kind::System | Kind::ApprovalResponse);
    let is_output = |item: &Item| item.kind == Kind::Output;
    if items.is_empty() || items.iter().any(|item| is_of_user(item.kind)) {
        return ElementOwner::Other;
    }
    if items.iter().all(is_output) {
        return ElementOwner::Outputs;
    }
    // An item of a type that is not known comes from the model: replies are where providers add types.
    let is_open = dialect.facts().calls_key.is_none() && !items.iter().any(is_output);
    match is_open || items.iter().any(|item| item.kind.is_from_model()) {
        true => ElementOwner::Model,
        false => ElementOwner::Other,
    }
}

/// Marks for the provider's cache: clients move them on from request to request.
pub(crate) const MARKS: IgnoredParts = IgnoredParts::members(&["cache_control"]);

/// Members that clients leave away, fill in or move although the meaning is the same.
pub(crate) const PASSING: IgnoredParts =
    IgnoredParts::members(&["cache_control", "id", "status", "annotations", "logprobs"]);

/// What agents leave away, fill in or move when they repeat a conversation.
const UNREPEATED: IgnoredParts = IgnoredParts {
    members: &[
        "cache_control",
        "id",
        "status",
        "annotations",
        "logprobs",
        "type",
        "thoughtSignature",
        "thought_signature",
        "reasoning",
        "reasoning_content",
    ],
    blocks: &["thinking", "redacted_thinking"],
    texts: &["content"],
    // The arguments of a call.
    in_full: &["input", "args"],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_in_another_spelling_and_not_with_other_arguments() {
        let read = |text: &str| ListElement::read(Dialect::Anthropic, text);
        let call = read(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0123456789","name":"f","input":{"a":1,"b":[2]}}]}"#,
        );
        let again = read(
            r#"{"content":[{"type":"text","text":"x"},{"cache_control":{"type":"ephemeral"},"name":"f","input":{ "b":[2],"a":1},"id":"toolu_0123456789","type":"tool_use"}],"role":"assistant"}"#,
        );
        assert!(again.holds(&call.calls[0], &call));
        let other = read(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0123456789","name":"f","input":{"a":2}}]}"#,
        );
        assert!(other.calls[0].id == call.calls[0].id);
        assert!(!other.holds(&call.calls[0], &call));
    }

    #[test]
    fn ids_that_are_counted_are_not_taken_for_drawn_ones() {
        for id in [
            "call_aB3dE5fG7hI9jK1lM3nO5pQ7",
            "toolu_01A09q90qw90lq917835lq9",
            "chatcmpl-tool-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "8b1e4a52-93c0-4d6f-8a7b-1c2d3e4f5a6b",
            "function-call-13742180953756021894",
        ] {
            assert!(is_drawn(id.as_bytes()), "{id}");
        }
        for id in [
            "",
            "call_0",
            "functions.search:1",
            "call_search_0001a",
            "call_00000000000000001",
            "call_2025_11_22_10_30_59",
            "searchTheWholeLibrary12",
        ] {
            assert!(!is_drawn(id.as_bytes()), "{id}");
        }
    }

    #[test]
    fn an_element_belongs_to_the_model_to_its_tools_or_to_the_user() {
        let side = |dialect, text: &str| ListElement::read(dialect, text).side;
        for (dialect, text, expected) in [
            (
                Dialect::Responses,
                r#"{"type":"reasoning","summary":[]}"#,
                ElementOwner::Model,
            ),
            (
                Dialect::Responses,
                r#"{"type":"hologram"}"#,
                ElementOwner::Model,
            ),
            (
                Dialect::Responses,
                r#"{"role":"user","content":"x"}"#,
                ElementOwner::Other,
            ),
            (
                Dialect::Responses,
                r#"{"type":"function_call_output","call_id":"a","output":""}"#,
                ElementOwner::Outputs,
            ),
            (
                Dialect::Chat,
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f"}}]}"#,
                ElementOwner::Model,
            ),
            (
                Dialect::Chat,
                r#"{"role":"tool","tool_call_id":"a","content":"x"}"#,
                ElementOwner::Outputs,
            ),
            (
                Dialect::Chat,
                r#"{"role":"developer","content":"x"}"#,
                ElementOwner::Other,
            ),
            (
                Dialect::Anthropic,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#,
                ElementOwner::Outputs,
            ),
            (
                Dialect::Anthropic,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"x"}]}"#,
                ElementOwner::Other,
            ),
            (
                Dialect::Anthropic,
                r#"{"role":"assistant","content":"x"}"#,
                ElementOwner::Model,
            ),
            (Dialect::Chat, "17", ElementOwner::Other),
            (Dialect::Chat, "{", ElementOwner::Other),
        ] {
            assert_eq!(side(dialect, text), expected, "{text}");
        }
    }

    fn said(dialect: Dialect, elements: &[&str]) -> Meaning {
        let read = elements.iter().map(|text| ListElement::read(dialect, text));
        read.filter_map(|element| element.repeated())
            .fold(Meaning::NOTHING, Meaning::and)
    }

    #[test]
    fn a_conversation_is_the_same_in_every_spelling_of_its_agent() {
        let question = r#"{"role":"user","content":"go"}"#;
        for (dialect, once, later) in [
            (
                Dialect::Responses,
                &[question, r#"{"type":"reasoning","summary":[]}"#][..],
                &[
                    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#,
                ][..],
            ),
            (
                Dialect::Anthropic,
                &[
                    question,
                    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"}]}"#,
                ],
                &[
                    r#"{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]}"#,
                    r#"{"content":"ok","role":"assistant"}"#,
                ],
            ),
            (
                Dialect::Chat,
                &[
                    r#"{"role":"system","content":"It is Monday."}"#,
                    question,
                    r#"{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[]}"#,
                ],
                &[
                    r#"{"role":"developer","content":"It is Tuesday."}"#,
                    question,
                    r#"{"role":"assistant","tool_calls":[]}"#,
                ],
            ),
        ] {
            assert_eq!(said(dialect, once), said(dialect, later), "{dialect:?}");
        }
    }

    #[test]
    fn another_word_another_order_and_other_arguments_are_another_conversation() {
        let call = |id: u32| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{"id":{id}}}}}]}}"#
            )
        };
        let (one, two) = (call(1), call(2));
        let (a, b) = (
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"b"}"#,
        );
        let all = [
            &[][..],
            &[a],
            &[b],
            &[a, b],
            &[b, a],
            &[a, &one],
            &[a, &two],
        ];
        let all = all.map(|elements| said(Dialect::Anthropic, elements));
        let apart = all.iter().collect::<std::collections::HashSet<_>>();
        assert_eq!(apart.len(), all.len());
    }
}
