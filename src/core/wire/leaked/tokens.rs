//! Calls that a chat template marks with tokens of its own, which a server did not take apart.

use super::{Found, Written, is_name, json_call};
use crate::json::skip_value;
use regex::Regex;
use std::sync::LazyLock;

/// What such calls begin with, wherever they stand in a line.
pub(crate) const MARKS: [&str; 5] = [
    "[TOOL_CALLS]",
    "to=functions.",
    "<|python_tag|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
];

/// The head of a message of gpt-oss to a function: `<|channel|>commentary to=functions.X
/// <|constrain|>json<|message|>`, its tokens there or not.
static HARMONY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let head = r"^(?:<\|start\|>)?(?:assistant)?\s*(?:<\|channel\|>)?(?:commentary|analysis)?\s*to=functions\.([A-Za-z0-9_.-]+)";
    let rest = r"\s*(?:<\|channel\|>(?:commentary|analysis))?\s*(?:<\|constrain\|>)?(?:json|code)?\s*(?:<\|message\|>)?\s*";
    Regex::new(&format!("{head}{rest}")).ok()
});

/// Where such a call begins in a line; what is quoted is none.
pub(crate) fn begin(line: &str) -> Option<usize> {
    let mark = MARKS
        .iter()
        .find_map(|mark| Some((*mark, line.find(mark)?)));
    let (mark, at) = mark?;
    let at = match mark {
        "to=functions." => {
            let head = [
                "<|start|>",
                "<|channel|>",
                "assistant",
                "commentary",
                "analysis",
            ];
            let before = &line[..at];
            head.iter()
                .filter_map(|word| before.find(word))
                .min()
                .unwrap_or(at)
        }
        _ => at,
    };
    let is_quoted =
        line[..at].ends_with(['`', '"', '\'', '>']) || line.trim_start().starts_with('>');
    (!is_quoted).then_some(at)
}

/// The calls at the start of a text: one, or all of a list, each as long as the list.
pub(crate) fn blocks_at(rest: &str) -> Vec<Found<'_>> {
    let block = mistral(rest)
        .or_else(|| deepseek(rest))
        .or_else(|| llama(rest))
        .or_else(|| harmony(rest));
    match block {
        Some(block) => vec![block],
        None => mistral_list(rest).unwrap_or_default(),
    }
}

/// What Mistral's templates put before calls.
const MISTRAL: &str = "[TOOL_CALLS]";

/// `[TOOL_CALLS][{"name": X, "arguments": {...}}, ...]`.
fn mistral_list(rest: &str) -> Option<Vec<Found<'_>>> {
    let inside = rest.strip_prefix(MISTRAL)?.trim_start();
    let length = rest.len() - inside.len() + skip_value(inside.as_bytes(), 0).ok()?;
    let mut list = inside.strip_prefix('[')?.trim_start();
    let mut found = Vec::new();
    loop {
        let call = json_call(list, MISTRAL)?;
        list = list[call.length..].trim_start();
        found.push(Found { length, ..call });
        match list.strip_prefix(',') {
            Some(next) => list = next.trim_start(),
            None => return list.starts_with(']').then_some(found),
        }
    }
}

fn mistral(rest: &str) -> Option<Found<'_>> {
    let inside = rest.strip_prefix(MISTRAL)?.trim_start();
    let (tool, arguments) = inside.split_at(inside.find(['{', '['])?);
    let arguments = match arguments.strip_prefix("[CALL_ID]") {
        Some(id) => &id[id.find('[')?..],
        None => arguments,
    };
    let arguments = arguments
        .strip_prefix("[ARGS]")
        .unwrap_or(arguments)
        .trim_start();
    object(rest, tool.trim(), MISTRAL, arguments)
}

fn harmony(rest: &str) -> Option<Found<'_>> {
    let head = HARMONY.as_ref()?.captures(rest)?;
    let (whole, tool) = (head.get(0)?, head.get(1)?);
    let mut found = object(rest, tool.as_str(), "harmony channel", &rest[whole.end()..])?;
    let after = &rest[found.length..];
    found.length += ["<|call|>", "<|end|>"]
        .into_iter()
        .find(|end| after.starts_with(end))
        .map_or(0, str::len);
    Some(found)
}

/// `<｜tool▁call▁begin｜>function<｜tool▁sep｜>X`, JSON in a fence, `<｜tool▁call▁end｜>`;
/// later models write `X<｜tool▁sep｜>{...}`.
fn deepseek(rest: &str) -> Option<Found<'_>> {
    let inside = rest
        .strip_prefix("<｜tool▁calls▁begin｜>")
        .unwrap_or(rest)
        .trim_start();
    let inside = inside.strip_prefix("<｜tool▁call▁begin｜>")?;
    let (first, after) = inside.split_once("<｜tool▁sep｜>")?;
    let (tool, arguments) = match first.trim() {
        "function" => after.split_once('\n')?,
        tool => (tool, after),
    };
    let arguments = arguments.trim_start();
    let json = arguments
        .strip_prefix("```json")
        .unwrap_or(arguments)
        .trim_start();
    let mut found = object(rest, tool.trim(), "DeepSeek tokens", json)?;
    const END: &str = "<｜tool▁call▁end｜>";
    const END_OF_ALL: &str = "<｜tool▁calls▁end｜>";
    let at = rest[found.length..].find(END)?;
    let between = rest[found.length..found.length + at].trim();
    if !matches!(between, "" | "```") {
        return None;
    }
    found.length += at + END.len();
    let after = &rest[found.length..];
    let last = after.trim_start();
    if last.starts_with(END_OF_ALL) {
        found.length += after.len() - last.len() + END_OF_ALL.len();
    }
    Some(found)
}

/// `<|python_tag|>{"name": X, "parameters": {...}}`, `<|python_tag|>X.call(...)`.
fn llama(rest: &str) -> Option<Found<'_>> {
    const FORM: &str = "Llama's python tag";
    let inside = rest.strip_prefix("<|python_tag|>")?.trim_start();
    let start = rest.len() - inside.len();
    if inside.starts_with('{') {
        let found = json_call(inside, FORM)?;
        return Some(Found {
            length: start + found.length,
            ..found
        });
    }
    let (tool, after) = inside.split_once(".call(")?;
    let end = after.find(')')?;
    is_name(tool).then_some(Found {
        tool,
        form: FORM,
        length: rest.len() - after.len() + end + 1,
        arguments: Written::Code,
    })
}

/// A call whose arguments are the object at the start of `arguments`, a tail of `rest`.
fn object<'a>(
    rest: &'a str,
    tool: &'a str,
    form: &'static str,
    arguments: &'a str,
) -> Option<Found<'a>> {
    let end = skip_value(arguments.as_bytes(), 0).ok()?;
    let is_call = arguments.starts_with('{') && is_name(tool);
    is_call.then(|| Found {
        tool,
        form,
        length: rest.len() - arguments.len() + end,
        arguments: Written::Json(&arguments[..end]),
    })
}

#[cfg(test)]
mod tests {
    use crate::wire::leaked::{Written, find};

    #[test]
    fn every_template_gives_tool_arguments_and_place() {
        let arguments = r#"{"path":"a"}"#;
        for text in [
            format!(r#"[TOOL_CALLS][{{"name": "read", "arguments": {arguments}}}]"#),
            format!("[TOOL_CALLS]read{arguments}"),
            format!("[TOOL_CALLS]read[CALL_ID]abc123[ARGS]{arguments}"),
            format!(
                "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{arguments}<|call|>"
            ),
            format!(
                "<|start|>assistant<|channel|>commentary to=functions.read<|message|>{arguments}"
            ),
            format!("commentary to=functions.read json{arguments}"),
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{arguments}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            format!("<｜tool▁call▁begin｜>read<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"),
            format!(r#"<|python_tag|>{{"name": "read", "parameters": {arguments}}}"#),
            format!("```json\n{{\"name\": \"read\", \"arguments\": {arguments}}}\n```"),
        ] {
            for before in ["", "I look first.\n"] {
                let text = format!("{before}{text}");
                let found = find(&text);
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(found[0].tool, "read", "{text}");
                assert_eq!(found[0].arguments, Written::Json(arguments), "{text}");
                assert_eq!(found[0].at, before.len()..text.len(), "{text}");
            }
        }
    }

    #[test]
    fn tokens_may_stand_behind_a_text_and_quotations_do_not_count() {
        assert_eq!(find(r#"I look.[TOOL_CALLS]read{"path":"a"}"#).len(), 1);
        for text in [
            r#"Mistral writes `[TOOL_CALLS]read{"path":"a"}`."#,
            r#"> [TOOL_CALLS]read{"path":"a"}"#,
            r#"[TOOL_CALLS]read{"path":"#,
            "<｜tool▁call▁begin｜>read<｜tool▁sep｜>{}",
            "The header is to=functions.read and then the message.",
            "```json\n{\"name\": \"read\", \"arguments\": {}}\n```\nis how it is written.",
            "```json\n{\"name\": \"read\", \"size\": 1}\n```",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
    }
}
