//! Elements of a history that are spelled anew, from what they say.

use super::draft::response;
use super::{quoted, text_block};
use crate::session::Shape;
use crate::wire::{Element, Input, Part, Role, ToolCall, ToolResult, inline_data};

/// The items of Responses. What the model said is a message for each text: only a message with the id that the
/// provider gave it has parts of type `output_text` or `refusal` (`EasyInputMessage`, OpenAI API reference).
pub(in crate::dialects) fn responses(element: &Element) -> Vec<String> {
    let role = element.role.word();
    let message =
        |content: String| format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#);
    let parts = element.parts.iter();
    match element.role {
        Role::Model | Role::Tool => parts
            .filter_map(|part| match part {
                Part::Call(call) => Some(responses_call(call)),
                Part::Result(result) => Some(responses_output(result)),
                said => said.text().map(|text| message(quoted(text))),
            })
            .collect(),
        Role::System | Role::Developer | Role::User => {
            vec![message(responses_content(&element.parts))]
        }
    }
}

fn responses_call(call: &ToolCall) -> String {
    let id = id_member("call_id", &call.id);
    let name = quoted(&call.name);
    match &call.input {
        Input::Json(json) => format!(
            r#"{{"type":"function_call",{id}"name":{name},"arguments":{}}}"#,
            quoted(json)
        ),
        Input::Free(text) => format!(
            r#"{{"type":"custom_tool_call",{id}"name":{name},"input":{}}}"#,
            quoted(text)
        ),
    }
}

fn responses_output(result: &ToolResult) -> String {
    let of_type = match result.is_custom {
        true => "custom_tool_call_output",
        false => "function_call_output",
    };
    let id = id_member("call_id", &result.id);
    let content = responses_content(&result.content);
    format!(r#"{{"type":"{of_type}",{id}"output":{content}}}"#)
}

/// One text by itself, or a list of parts.
fn responses_content(parts: &[Part]) -> String {
    content(parts, |part| match part {
        Part::Image(url) => format!(
            r#"{{"type":"input_image","detail":"auto","image_url":{}}}"#,
            quoted(url)
        ),
        other => typed_text("input_text", other),
    })
}

/// The messages of Chat: one for all that the model said and called, one for each output.
pub(in crate::dialects) fn chat(element: &Element) -> Vec<String> {
    let role = element.role.word();
    let parts = element.parts.iter();
    match element.role {
        Role::Model => vec![chat_reply(&element.parts)],
        Role::Tool => parts
            .filter_map(|part| match part {
                Part::Result(result) => {
                    let id = id_member("tool_call_id", &result.id);
                    let content = chat_content(&result.content);
                    Some(format!(r#"{{"role":"{role}",{id}"content":{content}}}"#))
                }
                _ => None,
            })
            .collect(),
        Role::System | Role::Developer | Role::User => {
            let content = chat_content(&element.parts);
            vec![format!(r#"{{"role":"{role}","content":{content}}}"#)]
        }
    }
}

fn chat_reply(parts: &[Part]) -> String {
    let (mut texts, mut refusals, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Refusal(text) => refusals.push(text.as_str()),
            Part::Call(call) => calls.push(chat_call(call)),
            other => texts.push(other.clone()),
        }
    }
    let has_more = !calls.is_empty() || !refusals.is_empty();
    let content = match &texts[..] {
        [] if has_more => "null".to_owned(),
        texts => chat_content(texts),
    };
    let mut message = format!(r#"{{"role":"assistant","content":{content}"#);
    if !refusals.is_empty() {
        let refusal = quoted(&refusals.join("\n"));
        message.push_str(&format!(r#","refusal":{refusal}"#));
    }
    if !calls.is_empty() {
        message.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    message + "}"
}

fn chat_call(call: &ToolCall) -> String {
    let id = id_member("id", &call.id);
    let name = quoted(&call.name);
    match &call.input {
        Input::Json(json) => format!(
            r#"{{{id}"type":"function","function":{{"name":{name},"arguments":{}}}}}"#,
            quoted(json)
        ),
        Input::Free(text) => format!(
            r#"{{{id}"type":"custom","custom":{{"name":{name},"input":{}}}}}"#,
            quoted(text)
        ),
    }
}

fn chat_content(parts: &[Part]) -> String {
    content(parts, |part| match part {
        Part::Image(url) => format!(
            r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#,
            quoted(url)
        ),
        other => typed_text("text", other),
    })
}

/// The blocks of a message of Anthropic.
pub(in crate::dialects) fn anthropic(element: &Element) -> Vec<String> {
    element.parts.iter().map(anthropic_block).collect()
}

fn anthropic_block(part: &Part) -> String {
    match part {
        Part::Image(url) => {
            let source = match inline_data(url) {
                Some((media_type, data)) => format!(
                    r#"{{"type":"base64","media_type":{},"data":{}}}"#,
                    quoted(media_type),
                    quoted(data)
                ),
                None => format!(r#"{{"type":"url","url":{}}}"#, quoted(url)),
            };
            format!(r#"{{"type":"image","source":{source}}}"#)
        }
        Part::Call(call) => {
            let id = id_member("id", &call.id);
            let name = quoted(&call.name);
            let input = match &call.input {
                Input::Json(json) => json.clone(),
                Input::Free(text) => format!(r#"{{"input":{}}}"#, quoted(text)),
            };
            format!(r#"{{"type":"tool_use",{id}"name":{name},"input":{input}}}"#)
        }
        Part::Result(result) => {
            let id = id_member("tool_use_id", &result.id);
            let content = content(&result.content, anthropic_block);
            // `content cannot be empty if is_error is true` (inspect_ai#169).
            let mark = match result.is_error && !result.content.is_empty() {
                true => r#","is_error":true"#,
                false => "",
            };
            format!(r#"{{"type":"tool_result",{id}"content":{content}{mark}}}"#)
        }
        Part::Text(text) | Part::Refusal(text) | Part::Json(text) | Part::Other(text) => {
            text_block(Shape::Anthropic, text)
        }
    }
}

/// The parts of a content of Gemini.
pub(in crate::dialects) fn gemini(element: &Element) -> Vec<String> {
    element.parts.iter().map(gemini_part).collect()
}

fn gemini_part(part: &Part) -> String {
    match part {
        Part::Image(url) => match inline_data(url) {
            Some((media_type, data)) => format!(
                r#"{{"inlineData":{{"mimeType":{},"data":{}}}}}"#,
                quoted(media_type),
                quoted(data)
            ),
            None => format!(r#"{{"fileData":{{"fileUri":{}}}}}"#, quoted(url)),
        },
        Part::Call(call) => {
            let id = id_member("id", &call.id);
            let name = quoted(&call.name);
            let args = match &call.input {
                Input::Json(json) => json.clone(),
                Input::Free(text) => format!(r#"{{"input":{}}}"#, quoted(text)),
            };
            format!(r#"{{"functionCall":{{{id}"name":{name},"args":{args}}}}}"#)
        }
        Part::Result(result) => {
            let id = id_member("id", &result.id);
            let name = quoted(&result.name);
            let said = result.content.iter().filter_map(Part::text);
            let said = quoted(&said.collect::<Vec<_>>().join("\n"));
            let response = response(&said, result.is_error);
            format!(r#"{{"functionResponse":{{{id}"name":{name},"response":{response}}}}}"#)
        }
        Part::Text(text) | Part::Refusal(text) | Part::Json(text) | Part::Other(text) => {
            text_block(Shape::Gemini, text)
        }
    }
}

/// One text by itself, or a list of parts.
fn content(parts: &[Part], spell: impl Fn(&Part) -> String) -> String {
    match parts {
        [] => quoted(""),
        [Part::Text(text) | Part::Json(text)] => quoted(text),
        parts => {
            let spelled = parts.iter().map(spell).collect::<Vec<_>>();
            format!("[{}]", spelled.join(","))
        }
    }
}

fn typed_text(of_type: &str, part: &Part) -> String {
    let text = quoted(part.text().unwrap_or_default());
    format!(r#"{{"type":"{of_type}","text":{text}}}"#)
}

/// The member of an id, with the comma behind it.
fn id_member(key: &str, id: &Option<String>) -> String {
    let id = id.as_ref();
    id.map_or_else(String::new, |id| format!(r#""{key}":{},"#, quoted(id)))
}
