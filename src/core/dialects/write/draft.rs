//! Items that did not happen: outputs and messages in the spelling of a dialect.

use super::quoted;
use crate::session::{Family, Item, MessageRole, Shape};

/// The output that answers a call, as an item of its dialect: an item of Responses, a `tool` message of Chat, a
/// `tool_result` block of Anthropic. `id` is the call id as it stands in its JSON string, `name` the tool's.
/// `None` where the dialect has no textual output for this type of call (a screenshot answers a
/// `computer_call`, a list of tools a `tool_search_call`).
pub fn draft_output(
    call: &Item,
    id: &str,
    name: &str,
    text: &str,
    is_error: bool,
) -> Option<String> {
    let text = quoted(text);
    match call.shape {
        Shape::Responses => responses_output(call.family, id, &text, is_error),
        Shape::Chat if call.family == Family::Legacy => Some(format!(
            r#"{{"role":"function","name":{},"content":{text}}}"#,
            quoted(name)
        )),
        Shape::Chat => Some(format!(
            r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#
        )),
        Shape::Anthropic => {
            let mark = if is_error { r#","is_error":true"# } else { "" };
            Some(format!(
                r#"{{"type":"tool_result","tool_use_id":"{id}","content":{text}{mark}}}"#
            ))
        }
        Shape::Gemini => {
            let id = match id {
                "" => String::new(),
                id => format!(r#""id":"{id}","#),
            };
            let (name, response) = (quoted(name), response(&text, is_error));
            Some(format!(
                r#"{{"functionResponse":{{{id}"name":{name},"response":{response}}}}}"#
            ))
        }
        Shape::Format => None,
    }
}

/// What a tool answered, as the object that Gemini wants; `text` is quoted (Gemini API reference,
/// `FunctionResponse`).
pub(super) fn response(text: &str, is_error: bool) -> String {
    let key = if is_error { "error" } else { "output" };
    format!(r#"{{"{key}":{text}}}"#)
}

/// Output types of the OpenAI API reference, by the type of their call.
fn responses_output(family: Family, id: &str, text: &str, is_error: bool) -> Option<String> {
    let plain = |kind: &str| {
        Some(format!(
            r#"{{"type":"{kind}","call_id":"{id}","output":{text}}}"#
        ))
    };
    match family {
        Family::Function => plain("function_call_output"),
        Family::Custom => plain("custom_tool_call_output"),
        Family::ApplyPatch => {
            let status = if is_error { "failed" } else { "completed" };
            Some(format!(
                r#"{{"type":"apply_patch_call_output","call_id":"{id}","status":"{status}","output":{text}}}"#
            ))
        }
        Family::LocalShell => Some(format!(
            r#"{{"type":"local_shell_call_output","id":"{id}","output":{text}}}"#
        )),
        Family::Shell => {
            let result = shell_result(text, is_error);
            Some(format!(
                r#"{{"type":"shell_call_output","call_id":"{id}","output":{result}}}"#
            ))
        }
        Family::None
        | Family::Computer
        | Family::ToolSearch
        | Family::Program
        | Family::Legacy
        | Family::Hosted
        | Family::Approval => None,
    }
}

/// The result of a shell call with one text; `text` is quoted.
pub(super) fn shell_result(text: &str, is_error: bool) -> String {
    let (stdout, stderr, code) = if is_error {
        (r#""""#, text, 1)
    } else {
        (text, r#""""#, 0)
    };
    format!(
        r#"[{{"stdout":{stdout},"stderr":{stderr},"outcome":{{"type":"exit","exit_code":{code}}}}}]"#
    )
}

/// A message with one text, as every dialect takes it for input. In Responses that is a text for either
/// voice: a message of the model made of `output_text` parts would have to name the id of a reply
/// (OpenAI API reference, `EasyInputMessage`).
pub fn draft_message(shape: Shape, voice: MessageRole, text: &str) -> String {
    if shape == Shape::Gemini {
        let role = match voice {
            MessageRole::User => "user",
            MessageRole::Assistant => "model",
        };
        return message_of(shape, role, &text_block(shape, text));
    }
    let kind = match shape {
        Shape::Responses => r#""type":"message","#,
        Shape::Chat | Shape::Anthropic | Shape::Gemini | Shape::Format => "",
    };
    let (role, text) = (role(voice), quoted(text));
    format!(r#"{{{kind}"role":"{role}","content":{text}}}"#)
}

/// A message of Responses with one text as a part: rollouts of Codex hold no other.
pub fn draft_parts(voice: MessageRole, text: &str) -> String {
    let part = match voice {
        MessageRole::User => "input_text",
        MessageRole::Assistant => "output_text",
    };
    let (role, text) = (role(voice), quoted(text));
    format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":{text}}}]}}"#)
}

/// A message that holds these blocks.
pub fn message_of(shape: Shape, role: &str, blocks: &str) -> String {
    let key = match shape {
        Shape::Gemini => "parts",
        _ => "content",
    };
    format!(r#"{{"role":"{role}","{key}":[{blocks}]}}"#)
}

/// A text block of a message that is a list of blocks.
pub fn text_block(shape: Shape, text: &str) -> String {
    let kind = match shape {
        Shape::Gemini => "",
        _ => r#""type":"text","#,
    };
    format!(r#"{{{kind}"text":{}}}"#, quoted(text))
}

fn role(voice: MessageRole) -> &'static str {
    match voice {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_model_claims_no_reply_that_it_came_from() {
        assert_eq!(
            draft_message(Shape::Responses, MessageRole::Assistant, "ten \"o'clock\""),
            r#"{"type":"message","role":"assistant","content":"ten \"o'clock\""}"#
        );
        assert_eq!(
            draft_message(Shape::Chat, MessageRole::Assistant, "ten"),
            r#"{"role":"assistant","content":"ten"}"#
        );
        assert_eq!(
            draft_parts(MessageRole::Assistant, "ten"),
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten"}]}"#
        );
    }
}
