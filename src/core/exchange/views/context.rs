//! What stands before a turn, as a number: by it a conversation is known, in whatever spelling
//! its agent repeats it.

use super::element::{Element, digest_of, mixed};
use crate::session::hash;
use serde_json::{Value, json};

/// Members that say nothing, or that agents leave away, fill in or move.
const UNSAID: &[&str] = &[
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
];
/// Blocks that agents may leave away.
const UNSAID_BLOCKS: &[&str] = &["thinking", "redacted_thinking"];

/// What an element adds to the context of those behind it. Nothing where it is reasoning, or
/// instructions: they hold dates.
pub(crate) fn said(element: &Element) -> Option<u64> {
    let is_instructions = || element.has_role("system") || element.has_role("developer");
    if element.is_reasoning || is_instructions() {
        return None;
    }
    Some(match serde_json::from_str(&element.text) {
        Ok(value) => number(&value),
        Err(_) => hash(element.text.as_bytes()),
    })
}

/// The context behind an element, from the one before it and what the element says.
pub(crate) fn behind(before: u64, said: Option<u64>) -> u64 {
    said.map_or(before, |said| mixed(before, said))
}

/// `serde_json` reads no deeper than 128 levels, so this does not go deeper either.
fn number(value: &Value) -> u64 {
    match value {
        Value::Object(members) => {
            let members = members.iter();
            let said =
                members.filter(|(key, value)| !UNSAID.contains(&key.as_str()) && !value.is_null());
            let said = said.map(|(key, value)| mixed(hash(key.as_bytes()), member(key, value)));
            said.fold(1, u64::wrapping_add)
        }
        Value::Array(list) => {
            let said = list.iter().filter(|one| !is_unsaid(one));
            said.fold(2, |before, one| mixed(before, number(one)))
        }
        scalar => digest_of(scalar, &[]),
    }
}

fn member(key: &str, value: &Value) -> u64 {
    match (key, value) {
        // A text alone stands for a list of one part.
        ("content", Value::String(text)) => number(&json!([{ "text": text }])),
        // The arguments of a call: there every member counts.
        ("input" | "args", arguments) => digest_of(arguments, &[]),
        _ => number(value),
    }
}

fn is_unsaid(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    let is_thought = block.get("thought").and_then(Value::as_bool) == Some(true);
    is_thought || kind.is_some_and(|kind| UNSAID_BLOCKS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Dialect;

    fn context(dialect: Dialect, elements: &[&str]) -> u64 {
        let read = elements.iter().map(|text| Element::read(dialect, text));
        read.fold(0, |before, element| behind(before, said(&element)))
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
            assert_eq!(
                context(dialect, once),
                context(dialect, later),
                "{dialect:?}"
            );
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
        let all = all.map(|elements| context(Dialect::Anthropic, elements));
        let apart = all.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(apart.len(), all.len());
    }
}
