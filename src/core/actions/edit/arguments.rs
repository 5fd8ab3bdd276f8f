//! The arguments of a call as an object, where the dialect holds them as a text: so they
//! are edited and compared.

use super::{one_line, patches};
use crate::dialects::write::quoted;
use crate::dialects::{Arguments, body_of};
use crate::session::{Item, Shape};
use serde_json::Value;
use std::ops::Range;

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
pub(super) fn with_arguments_as_text(item: &Item, old: &[u8], words: &str) -> Option<String> {
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

/// The span of the arguments' text, quotes included, and the text itself. A text that is no sound Unicode
/// is not taken apart: it could not be written back as it was.
fn arguments_as_text(item: &Item, json: &str) -> Option<(Range<usize>, String)> {
    if !matches!(item.shape, Shape::Chat | Shape::Responses) {
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::with_open_arguments;
    use crate::actions::fixture::{USER, fixture, history};
    use crate::actions::{ActionError, ActionInput};
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
