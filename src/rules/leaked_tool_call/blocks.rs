//! Finds whole calls in text: blocks that begin a line, outside of code fences, and are closed.
//!
//! Spellings seen in published transcripts: Anthropic's `invoke` (with or without its prefix), Qwen's `function=`, Hermes'
//! `tool_call`, Gemini's `call:`, `declaration:` and `tool_code`, ReAct's `Action:`, and bare JSON.

use crate::json::{Cursor, display_text, skip_value};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// What Anthropic's own tags begin with.
const PREFIX: &str = "antml:";

/// How many beginnings without an end are tried: each costs a look at the rest of the text.
const MOST_MISSES: usize = 64;

/// One call as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The name, without the prefix that Gemini puts before it.
    pub(super) tool: &'a str,
    /// The spelling, for people.
    pub(super) form: &'static str,
    /// The line where it begins, counted from 1.
    pub(super) line: usize,
}

/// A quicker look, at the text as it stands in JSON, where `<` may be spelled `\u003c` and quotes have backslashes.
pub(super) fn may_stand_in(raw: &[u8]) -> bool {
    static SIGNATURES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"invoke name=|function=|tool_call(>|\\u003e)|call:|Action Input:|tool_code|declaration:|\\"name"#).ok()
    });
    SIGNATURES
        .as_ref()
        .is_none_or(|signatures| signatures.is_match(raw))
}

/// A quick look: most texts hold none of the signatures.
pub(super) fn may_hold_any(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has = |signature: &str| memchr::memmem::find(bytes, signature.as_bytes()).is_some();
    let tags = || has("invoke name=") || has("<function=") || has("<tool_call>") || has("<call:");
    (memchr::memchr(b'<', bytes).is_some() && tags())
        || has("Action Input:")
        || has("tool_code")
        || has("declaration:")
        || (memchr::memchr(b'{', bytes).is_some() && has("\"name\""))
}

/// The blocks of a text, in its order.
pub(super) fn find(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    // What stands inside a block that was found is not looked at again.
    let mut behind = 0;
    let (mut at, mut misses) = (0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (start, trimmed) = (at, line.trim());
        at += line.len();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => continue,
            (None, Some(mark)) => {
                fence = Some(mark);
                if trimmed[mark.len()..].trim() == "tool_code" {
                    let code = tool_code(&text[at..], mark);
                    found.extend(code.map(|tool| block(tool, "tool_code block", number)));
                }
            }
            (None, None) if start >= behind && begins_like_one(trimmed) => {
                let indent = line.len() - line.trim_start().len();
                match block_at(&text[start + indent..], indent) {
                    Some((tool, form, length)) => {
                        behind = start + indent + length;
                        found.push(block(tool, form, number));
                    }
                    None if misses == MOST_MISSES => break,
                    None => misses += 1,
                }
            }
            (None, None) => {}
        }
    }
    found
}

fn begins_like_one(line: &str) -> bool {
    let tag = line
        .strip_prefix('<')
        .map(|tag| tag.strip_prefix(PREFIX).unwrap_or(tag));
    let is_tag = tag.is_some_and(|tag| {
        [
            "invoke name=",
            "function=",
            "function_calls>",
            "tool_call>",
            "call:",
        ]
        .iter()
        .any(|start| tag.starts_with(start))
    });
    is_tag
        || line.starts_with('{')
        || line.starts_with("Action:")
        || line.starts_with("declaration:")
}

fn block<'a>(tool: &'a str, form: &'static str, line: usize) -> Block<'a> {
    let tool = tool.strip_prefix("default_api:").unwrap_or(tool);
    let tool = tool.strip_prefix("default_api.").unwrap_or(tool);
    Block {
        tool,
        form,
        line: line + 1,
    }
}

/// A tool's name, its spelling and the length of the block at the start of `rest`.
type Found<'a> = (&'a str, &'static str, usize);

fn block_at(rest: &str, indent: usize) -> Option<Found<'_>> {
    let unwrapped = ["function_calls>", "tool_call>"]
        .into_iter()
        .find_map(|wrapper| {
            let tag = rest.strip_prefix('<')?;
            tag.strip_prefix(PREFIX)
                .unwrap_or(tag)
                .strip_prefix(wrapper)
        });
    let inner = unwrapped.map_or(rest, str::trim_start);
    let skipped = rest.len() - inner.len();
    let found = match inner.as_bytes().first()? {
        b'<' => tagged(inner),
        b'{' if unwrapped.is_some() => {
            let (tool, length) = json_call(inner)?;
            let closed = inner[length..].trim_start().starts_with("</tool_call>");
            closed.then_some((tool, "tool_call block", length))
        }
        b'{' if indent == 0 => {
            let (tool, length) = json_call(inner)?;
            let line_end = inner[length..].lines().next().unwrap_or_default();
            line_end.trim().is_empty().then_some((tool, "JSON", length))
        }
        b'A' => react(inner),
        b'd' => braces(inner, "declaration:", "declaration"),
        _ => None,
    };
    found.map(|(tool, form, length)| (tool, form, length + skipped))
}

/// `<invoke name="X">...</invoke>`, `<function=X>...</function>`, `<call:X{...}/>`.
fn tagged(rest: &str) -> Option<Found<'_>> {
    if rest.starts_with("<call:") {
        let (tool, _, length) = braces(rest, "<call:", "")?;
        return rest[length..]
            .trim_start()
            .starts_with("/>")
            .then_some((tool, "call tag", length));
    }
    let name = rest.strip_prefix('<')?;
    let bare = name.strip_prefix(PREFIX).unwrap_or(name);
    let forms = [
        ("invoke name=\"", "\"", "invoke>", "invoke block"),
        ("function=", ">", "function>", "function block"),
    ];
    forms.into_iter().find_map(|(open, end, close, form)| {
        let (tool, behind) = bare.strip_prefix(open)?.split_once(end)?;
        let closed = behind.match_indices(close).find(|(at, _)| {
            let before = &behind[..*at];
            before
                .strip_suffix(PREFIX)
                .unwrap_or(before)
                .ends_with("</")
        });
        let length = rest.len() - behind.len() + closed?.0 + close.len();
        is_name(tool).then_some((tool, form, length))
    })
}

/// `prefix` `X{...}`: the arguments are no strict JSON, so the next closing brace ends them.
fn braces<'a>(rest: &'a str, prefix: &str, form: &'static str) -> Option<Found<'a>> {
    let inside = rest.strip_prefix(prefix)?;
    let (tool, arguments) = inside.split_once('{')?;
    let close = matching_brace(arguments)?;
    let length = prefix.len() + tool.len() + 1 + close + 1;
    is_name(tool).then_some((tool, form, length))
}

/// The place of the brace that closes what was opened before `text`.
fn matching_brace(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    text.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// `Action: X` and on the next line `Action Input: {...}`.
fn react(rest: &str) -> Option<Found<'_>> {
    let (tool, behind) = rest.strip_prefix("Action:")?.split_once('\n')?;
    let input = behind
        .trim_start()
        .strip_prefix("Action Input:")?
        .trim_start();
    let length = skip_value(input.as_bytes(), 0)
        .ok()
        .filter(|_| input.starts_with('{'))?;
    let start = rest.len() - input.len();
    is_name(tool.trim()).then_some((tool.trim(), "ReAct action", start + length))
}

/// `{"name": X, "arguments": {...}}`; Llama writes `parameters`.
fn json_call(rest: &str) -> Option<(&str, usize)> {
    let bytes = rest.as_bytes();
    let end = skip_value(bytes, 0).ok()?;
    let (mut name, mut has_arguments) = (None, false);
    let walked = Cursor::new(&bytes[..end]).object(|cursor, key| {
        match key {
            b"name" => name = cursor.string()?,
            b"arguments" | b"parameters" => has_arguments = true,
            _ => {}
        }
        Ok(())
    });
    let raw = name.filter(|_| walked.is_ok() && has_arguments)?;
    let name = std::str::from_utf8(raw).ok()?;
    (display_text(raw) == name && is_name(name)).then_some((name, end))
}

/// The function that a block of Gemini's Python calls; the fence must be closed.
fn tool_code<'a>(rest: &'a str, fence: &str) -> Option<&'a str> {
    let code = rest[..rest.find(fence)?].trim();
    let code = code.strip_prefix("print(").unwrap_or(code);
    let (tool, _) = code.split_once('(')?;
    is_name(tool).then_some(tool)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && !text.contains(|c: char| c.is_whitespace() || "<>{}\"".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_blocks_are_found_once_each_with_their_lines() {
        let text = "Now:\n<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>\nand\n{\"name\":\"b\",\"parameters\":{}}\n";
        let found = find(text);
        let told = found.iter().map(|block| (block.tool, block.line));
        assert_eq!(told.collect::<Vec<_>>(), [("a", 2), ("b", 6)]);
        assert!(may_hold_any(text));
    }

    #[test]
    fn an_unclosed_fence_hides_the_rest() {
        assert_eq!(find("```\n<function=a></function>"), []);
        assert_eq!(find("```tool_code\nprint(default_api.a())"), []);
    }

    #[test]
    fn hostile_texts_stay_cheap() {
        for begin in [
            "<invoke name=\"a\">\n",
            "{\n",
            "<tool_call>{\n",
            "declaration:a{\n",
        ] {
            assert_eq!(find(&begin.repeat(10_000)), []);
        }
    }
}
