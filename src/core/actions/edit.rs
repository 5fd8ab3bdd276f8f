//! edit: the operator writes the item anew, as JSON of the same kind.

use super::evidence::named;
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::json::{not_json, skip_whitespace, string_end};
use crate::session::{Edit, Family, Item, Kind, PairStatus, Patch, operations};
use crate::wire::write::{call_id_key, quoted};
use crate::wire::{Arguments, body_of};
use serde_json::Value;
use similar::DiffOp;
use std::collections::HashMap;
use std::ops::Range;

/// Members that a provider made and checks, in any dialect: signatures, encrypted reasoning.
const SEALED: &[&str] = &[
    "signature",
    "encrypted_content",
    "thought_signature",
    "thoughtSignature",
    "encrypted_stdout",
    "encrypted_index",
];

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    scene.may_touch(scene.item)?;
    let item = scene.item()?;
    let words = choice.needed("the new item")?.trim();
    let old_bytes = scene.bytes(scene.item)?;
    let closed = with_arguments_as_text(item, &old_bytes, words)
        .or_else(|| with_arguments_as_object(item, &old_bytes, words));
    let words = closed.as_deref().unwrap_or(words);
    let new = serde_json::from_str::<Value>(words)
        .map_err(|error| ActionError::BadWords(not_json(&error)))?;
    let patches = patches(&old_bytes, &one_line(words, &old_bytes));
    if patches.is_empty() {
        return Err(ActionError::NothingToDo);
    }
    // What is no JSON has no kind that could be kept.
    if let Ok(old) = serde_json::from_slice::<Value>(&old_bytes) {
        same_kind(item, &old, &new)?;
        same_seals(item, &old, &new)?;
        same_calls(item, &old, &new)?;
        same_call_id(scene, item, &old_bytes, &new)?;
    }
    Ok(Plan::of(vec![Edit::rewrite(scene.item, patches)]))
}

/// What has to change for the item to say what the words say: how the rest is spelled, its spaces too, stays
/// as it was recorded.
fn patches(old: &[u8], new: &str) -> Vec<Patch> {
    let new = new.as_bytes();
    let (Some(before), Some(after)) = (tokens(old), tokens(new)) else {
        return vec![Patch {
            at: 0..old.len(),
            with: new.to_vec(),
        }];
    };
    let mut known: HashMap<&[u8], u64> = HashMap::new();
    let mut keys = |text, tokens: &[Range<usize>]| -> Vec<u64> {
        let keys = tokens.iter().map(|token| key_of(&mut known, text, token));
        keys.collect()
    };
    let (old_keys, new_keys) = (keys(old, &before), keys(new, &after));
    let changed = operations(&old_keys, &new_keys).into_iter();
    let changed = changed.filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
    let patches = changed.map(|operation| {
        let (gone, come) = (operation.old_range(), operation.new_range());
        let is_replaced = !gone.is_empty() && !come.is_empty();
        Patch {
            at: bytes_of(&before, gone, is_replaced),
            with: new[bytes_of(&after, come, is_replaced)].to_vec(),
        }
    });
    patches.collect()
}

/// The number of a token: the same for the same bytes.
fn key_of<'a>(known: &mut HashMap<&'a [u8], u64>, text: &'a [u8], token: &Range<usize>) -> u64 {
    let next = known.len() as u64;
    *known.entry(&text[token.clone()]).or_insert(next)
}

/// The bytes of some tokens: with the space before them where they come or go as a whole.
fn bytes_of(tokens: &[Range<usize>], range: Range<usize>, without_space: bool) -> Range<usize> {
    let before = range
        .start
        .checked_sub(1)
        .map_or(0, |last| tokens[last].end);
    match tokens[range].split_first() {
        None => before..before,
        Some((first, rest)) => {
            let start = if without_space { first.start } else { before };
            start..rest.last().unwrap_or(first).end
        }
    }
}

/// Where the strings, numbers, words and signs of a JSON text stand; `None` where a string does not end.
fn tokens(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut tokens = Vec::new();
    let mut at = skip_whitespace(text, 0);
    while let Some(byte) = text.get(at) {
        let end = match byte {
            b'"' => string_end(text, at).ok()?,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
            _ => {
                let rest = text[at..].iter();
                let length = rest.take_while(|byte| !b"{}[],:\" \t\r\n".contains(byte));
                at + length.count()
            }
        };
        tokens.push(at..end);
        at = skip_whitespace(text, end);
    }
    Some(tokens)
}

/// An item on one line stays on it: in JSON Lines a line is a record. JSON has no line
/// break inside a string.
fn one_line(words: &str, old: &[u8]) -> String {
    if old.contains(&b'\n') {
        words.to_owned()
    } else {
        words.replace(['\r', '\n'], " ")
    }
}

fn same_kind(item: &Item, old: &Value, new: &Value) -> Result<()> {
    if std::mem::discriminant(old) != std::mem::discriminant(new) {
        let reason = "the item is of another type: an object stays an object, a text a text";
        return Err(ActionError::BadWords(reason.to_owned()));
    }
    // What has no role or type that is known is edited to get one.
    if item.kind == Kind::Other {
        return Ok(());
    }
    for key in ["type", "role"] {
        if old.get(key) != new.get(key) {
            return Err(ActionError::BadWords(format!("its {key} stays as it is")));
        }
    }
    Ok(())
}

/// Signed and encrypted parts go back to the provider byte for byte, and what is signed with them.
fn same_seals(item: &Item, old: &Value, new: &Value) -> Result<()> {
    let sealed = seals(old);
    let is_redacted = old.get("type").and_then(Value::as_str) == Some("redacted_thinking");
    let is_signed = item.kind == Kind::Reasoning && (!sealed.is_empty() || is_redacted);
    if is_signed || sealed != seals(new) {
        let reason = "the provider checks its own signature on this: it stays as it is, or leaves with its reply";
        return Err(ActionError::WouldBreak(reason.to_owned()));
    }
    Ok(())
}

fn seals(value: &Value) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    // serde_json reads no value that is nested deeply enough to exhaust the stack.
    collect_seals(value, &mut found);
    found
}

fn collect_seals<'a>(value: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let is_empty = member.is_null() || member.as_str().is_some_and(str::is_empty);
                if SEALED.contains(&key.as_str()) && !is_empty {
                    found.push((key, member));
                }
                collect_seals(member, found);
            }
        }
        Value::Array(members) => {
            for member in members {
                collect_seals(member, found);
            }
        }
        _ => {}
    }
}

/// The calls of a Chat message are items of their own.
fn same_calls(item: &Item, old: &Value, new: &Value) -> Result<()> {
    let holds_calls = item.is_message_with_calls() && item.kind == Kind::Assistant;
    let is_list_of_calls = |value: Option<&Value>| {
        value.is_some_and(|value| value.as_array().is_none_or(|calls| !calls.is_empty()))
    };
    for key in ["tool_calls", "function_call"] {
        let matters = is_list_of_calls(old.get(key)) || is_list_of_calls(new.get(key));
        if holds_calls && matters && old.get(key) != new.get(key) {
            let reason = "the calls of this message are items of their own: edit them there";
            return Err(ActionError::WouldBreak(reason.to_owned()));
        }
    }
    Ok(())
}

/// An id that joins two items is changed in both: that is another action.
fn same_call_id(
    scene: &ActionContext<'_>,
    item: &Item,
    old_bytes: &[u8],
    new: &Value,
) -> Result<()> {
    let (PairStatus::Paired(partner)
    | PairStatus::Duplicate(partner)
    | PairStatus::Severed(partner)) = scene.standing(scene.item)
    else {
        return Ok(());
    };
    let is_kept = |key: &str, old: &str| new.get(key).and_then(Value::as_str) == Some(old);
    let partner = named(scene, partner);
    if item.family == Family::Legacy && !is_kept("name", scene.session().name(item)) {
        return Err(ActionError::WouldBreak(format!(
            "its name joins it with {partner}: old Chat has no ids"
        )));
    }
    if item.call_id.is_none() {
        return Ok(());
    }
    let old = scene.session().call_id(item)?;
    if is_kept(call_id_key(item, old_bytes)?, &old) {
        return Ok(());
    }
    Err(ActionError::WouldBreak(format!(
        "its id joins it with {partner}: take a new id for both"
    )))
}

// The arguments of a call as an object, where the dialect holds them as a text: so they
// are edited and compared.

/// The JSON of an item with the arguments of a call as an object where OpenAI's dialects hold them as a
/// text. `None` where there is nothing to open: another item or dialect, free-form input, or a text that
/// is no JSON object.
pub fn with_open_arguments(item: &Item, json: &str) -> Option<String> {
    let (at, arguments) = arguments_as_text(item, json)?;
    if !arguments.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Value>(&arguments).ok()?;
    let open = format!("{}{arguments}{}", &json[..at.start], &json[at.end..]);
    // The whole is nested more deeply than its part, and what cannot be read could not be saved either.
    serde_json::from_str::<Value>(&open).ok()?;
    Some(open)
}

/// What an operator wrote with the arguments as the text that they were in the item, if they are an object now.
/// What did not change in them keeps its spelling. `None` where the words stand as they are.
fn with_arguments_as_text(item: &Item, old: &[u8], words: &str) -> Option<String> {
    let old = std::str::from_utf8(old).ok()?;
    let (was_at, was) = arguments_as_text(item, old)?;
    let body = body_of(item, words.as_bytes()).ok()?;
    let Arguments::Value(_) = body.arguments else {
        return None;
    };
    let at = body.arguments_at?;
    let changes = patches(
        was.as_bytes(),
        &one_line(&words[at.clone()], was.as_bytes()),
    );
    let text = if changes.is_empty() {
        old[was_at].to_owned()
    } else {
        let mut bytes = was.into_bytes();
        for patch in changes.into_iter().rev() {
            bytes.splice(patch.at, patch.with);
        }
        quoted(&String::from_utf8_lossy(&bytes))
    };
    Some(format!("{}{text}{}", &words[..at.start], &words[at.end..]))
}

/// What an operator wrote with the arguments as an object, if they are a text in it that changed and is an object now,
/// and the dialect wants objects: so broken arguments that were kept as a text are completed by hand.
fn with_arguments_as_object(item: &Item, old: &[u8], words: &str) -> Option<String> {
    if !item.facts()?.object_arguments {
        return None;
    }
    let text_in = |json: &[u8]| {
        let body = body_of(item, json).ok()?;
        match body.arguments {
            Arguments::Text(text) => Some((body.arguments_at?, text)),
            Arguments::None | Arguments::Value(_) | Arguments::FreeForm(_) => None,
        }
    };
    let (at, text) = text_in(words.as_bytes())?;
    let is_changed = text_in(old).is_none_or(|(_, was)| was != text);
    let is_object = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object());
    (is_changed && is_object)
        .then(|| format!("{}{}{}", &words[..at.start], text.trim(), &words[at.end..]))
}

/// The span of the arguments' text, quotes included, and the text itself. A text that is no sound Unicode
/// is not taken apart: it could not be written back as it was.
fn arguments_as_text(item: &Item, json: &str) -> Option<(Range<usize>, String)> {
    if item.facts().is_none_or(|facts| facts.object_arguments) {
        return None;
    }
    let body = body_of(item, json.as_bytes()).ok()?;
    let Arguments::Text(_) = body.arguments else {
        return None;
    };
    let at = body.arguments_at?;
    let text = serde_json::from_str(&json[at.clone()]).ok()?;
    Some((at, text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history};

    const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    const OUT: &str = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;

    #[test]
    fn an_item_is_written_anew_on_one_line() {
        let fixture = fixture(&history(&[USER, CALL, OUT]));
        let words =
            "{\"type\":\"function_call\",\n\"call_id\":\"c\",\"name\":\"g\",\"arguments\":\"{}\"}";
        let planned = fixture.act(1, "edit", &ActionInput::words(words)).unwrap();
        assert_eq!(fixture.after(&planned, 1), CALL.replace("\"f\"", "\"g\""));
        assert_eq!(
            fixture.act(1, "edit", &ActionInput::words(CALL)),
            Err(ActionError::NothingToDo)
        );
    }

    #[test]
    fn what_is_not_edited_keeps_its_spelling() {
        let spelled = r#"{ "type":"message",  "role": "user", "content" : [ 1.0, "a\u0062" ] }"#;
        let edited = |words: &str| {
            let mut text = spelled.as_bytes().to_vec();
            for patch in patches(spelled.as_bytes(), words).into_iter().rev() {
                text.splice(patch.at, patch.with);
            }
            String::from_utf8(text).unwrap()
        };
        let same = r#"{"type":"message","role":"user","content":[1.0,"a\u0062"]}"#;
        assert_eq!(edited(same), spelled);
        assert_eq!(
            edited(&same.replace("1.0", "2")),
            spelled.replace("1.0", "2")
        );
        assert_eq!(
            edited(&same.replace(r#","role":"user""#, "")),
            spelled.replace(r#",  "role": "user""#, "")
        );
        assert_eq!(
            edited(&same.replace(r#"user","#, r#"user","id": 7,"#)),
            spelled.replace(r#"user","#, r#"user","id": 7,"#)
        );
        assert_eq!(edited("[]").replace(' ', ""), "[]");
        assert_eq!(patches(b"{\"a", "{}").len(), 1);
    }

    #[test]
    fn kind_and_joints_stay() {
        let fixture = fixture(&history(&[USER, CALL, OUT]));
        let refusal = |words: &str| {
            fixture
                .act(1, "edit", &ActionInput::words(words))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(refusal(OUT), "its type stays as it is");
        assert_eq!(
            refusal(&CALL.replace(r#""c""#, r#""d""#)),
            "its id joins it with the output of f in turn 2: take a new id for both"
        );
        assert!(refusal("{").starts_with("not JSON: it ends too early"));
        assert!(refusal("[]").starts_with("the item is of another type"));
    }

    #[test]
    fn what_is_signed_or_encrypted_is_never_touched() {
        let sealed = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
        let fixture = fixture(&history(&[USER, sealed, CALL, OUT]));
        for words in [
            sealed.replace("gAAA", "gBBB"),
            sealed.replace("rs_1", "rs_2"),
        ] {
            let refusal = fixture.act(1, "edit", &ActionInput::words(&words));
            assert!(
                matches!(refusal, Err(ActionError::WouldBreak(_))),
                "{refusal:?}"
            );
        }
    }

    #[test]
    fn the_calls_of_a_chat_message_are_edited_apart_from_its_text() {
        let reply = r#"{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let fixture = fixture(&history(&[USER, reply]));
        assert!(
            fixture
                .act(1, "edit", &ActionInput::words(&reply.replace("so", "well")))
                .is_ok()
        );
        let refusal = fixture.act(
            1,
            "edit",
            &ActionInput::words(r#"{"role":"assistant","content":"so"}"#),
        );
        assert!(matches!(refusal, Err(ActionError::WouldBreak(_))));
    }

    #[test]
    fn a_name_that_pairs_stays() {
        let call =
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
        let out = r#"{"role":"function","name":"f","content":"1"}"#;
        let fixture = fixture(&history(&[USER, call, out]));
        let refusal = fixture.act(
            2,
            "edit",
            &ActionInput::words(&out.replace("\"f\"", "\"g\"")),
        );
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
        assert!(
            fixture
                .act(2, "edit", &ActionInput::words(&out.replace('1', "2")))
                .is_ok()
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod arguments_tests {
    use super::with_open_arguments;
    use crate::actions::fixture::{USER, anthropic, fixture, history};
    use crate::actions::{ActionError, ActionInput};
    use crate::session::Kind;
    use serde_json::Value;

    const OUT: &str = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;

    /// A call whose arguments are this JSON string.
    fn call(arguments: &str) -> String {
        format!(r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{arguments}}}"#)
    }

    /// What becomes of a call when it is opened and this is done to it.
    fn edited(call: &str, edit: impl Fn(&str) -> String) -> Result<String, ActionError> {
        let fixture = fixture(&history(&[USER, call, OUT]));
        let item = &fixture.session.items[1];
        let open = with_open_arguments(item, call).unwrap_or_else(|| call.to_owned());
        let planned = fixture.act(1, "edit", &ActionInput::words(&edit(&open)))?;
        Ok(fixture.after(&planned, 1))
    }

    #[test]
    fn an_argument_changes_and_the_rest_of_the_text_keeps_its_spelling() {
        let spelled = call(r#""{ \"a\":1.0,  \"b\" : \"\\u00e9\" }""#);
        let opened = spelled.replace(
            r#""{ \"a\":1.0,  \"b\" : \"\\u00e9\" }""#,
            r#"{ "a":1.0,  "b" : "\u00e9" }"#,
        );
        let same = edited(&spelled, |open| {
            assert_eq!(open, opened);
            open.replace("  ", " ")
        });
        assert_eq!(same, Err(ActionError::NothingToDo));
        let other = edited(&spelled, |open| open.replace("1.0", "2").replace("  ", " "));
        assert_eq!(other.unwrap(), spelled.replace("1.0", "2"));
        // The escapes of the outer string stay where nothing inside it changed.
        let escaped = call(r#""{\u0022a\u0022:1}""#);
        let renamed = edited(&escaped, |open| open.replace(r#""f""#, r#""g""#));
        assert_eq!(renamed.unwrap(), escaped.replace(r#""f""#, r#""g""#));
    }

    #[test]
    fn what_is_no_object_is_edited_as_the_text_that_it_is() {
        for text in [
            r#""""#,
            r#""{'a': 1}""#,
            r#""[1]""#,
            r#""{\"a\":1},\"b\":{}""#,
            r#""{\"a\":\"\\ud800\"}""#,
        ] {
            let spelled = call(text);
            let same = edited(&spelled, |open| {
                assert_eq!(open, spelled);
                open.to_owned()
            });
            assert_eq!(same, Err(ActionError::NothingToDo), "{text}");
        }
        // An object in its place is taken, and so is a text in the place of an object, broken or not.
        let mended = edited(&call(r#""{'a': 1}""#), |open| {
            open.replace(r#""{'a': 1}""#, r#"{"a": 1}"#)
        });
        assert_eq!(mended.unwrap(), call(r#""{\"a\": 1}""#));
        let broken = edited(&call(r#""{\"a\":1}""#), |open| {
            open.replace(r#"{"a":1}"#, r#""{oops""#)
        });
        assert_eq!(broken.unwrap(), call(r#""{oops""#));
    }

    #[test]
    fn broken_arguments_that_are_completed_by_hand_are_the_object_that_anthropic_wants() {
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":"{\"path\": \"a.md"}"#;
        let reply = format!(r#"{{"role":"assistant","content":[{call}]}}"#);
        let output =
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"?"}]}"#;
        let fixture = fixture(&anthropic(&[USER, &reply, output]));
        let item = fixture
            .session
            .items
            .iter()
            .position(|it| it.kind == Kind::Call);
        let item = item.unwrap() as u32;
        let edited = |with: &str| {
            let words = call.replace(r#""{\"path\": \"a.md""#, with);
            let words = ActionInput::words(&words);
            Ok::<_, ActionError>(fixture.after(&fixture.act(item, "edit", &words)?, item))
        };
        let object = call.replace(r#""{\"path\": \"a.md""#, r#"{"path": "a.md"}"#);
        assert_eq!(edited(r#""{\"path\": \"a.md\"}""#).unwrap(), object);
        let still_broken = edited(r#""{\"path\": \"a.txt""#).unwrap();
        assert_eq!(still_broken, call.replace("a.md", "a.txt"));
    }

    #[test]
    fn free_form_input_stays_a_text() {
        let call = r#"{"type":"custom_tool_call","call_id":"c","name":"f","input":"{\"a\":1}"}"#;
        let out = r#"{"type":"custom_tool_call_output","call_id":"c","output":"1"}"#;
        let fixture = fixture(&history(&[USER, call, out]));
        assert_eq!(with_open_arguments(&fixture.session.items[1], call), None);
    }

    #[test]
    fn no_depth_of_nesting_opens_what_could_not_be_saved() {
        for depth in 120..130 {
            let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
            let spelled = call(&Value::from(deep).to_string());
            let saved = edited(&spelled, |open| open.replace(r#""f""#, r#""g""#));
            assert_eq!(
                saved.unwrap(),
                spelled.replace(r#""f""#, r#""g""#),
                "{depth}"
            );
        }
    }
}
