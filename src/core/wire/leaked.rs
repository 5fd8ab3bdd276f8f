//! Whole calls in text: blocks that begin a line, outside of code fences, and are closed; what a template marks
//! with tokens of its own may follow a text.
//!
//! Spellings seen in published transcripts: Anthropic's `invoke` (with or without its prefix), Qwen's
//! `function=`, Hermes' `tool_call`, Gemini's `call:`, `declaration:` and `tool_code`, ReAct's `Action:`,
//! Mistral's `[TOOL_CALLS]`, the channels of gpt-oss (harmony), DeepSeek's and Llama's tokens, and JSON, bare
//! or alone in a fence at the end.

mod tokens;

use crate::json::{Cursor, display_text, skip_value};
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What Anthropic's own tags begin with.
const PREFIX: &str = "antml:";

/// How many beginnings without an end are tried: each costs a look at the rest of the text.
const MOST_MISSES: usize = 64;

/// One call as text.
#[derive(Debug, PartialEq, Eq)]
pub struct LeakedBlock<'a> {
    /// The name, without the prefix that Gemini puts before it.
    pub tool: &'a str,
    /// The spelling, for people.
    pub form: &'static str,
    /// The line where it begins, counted from 1.
    pub line: usize,
    /// Where it is in the text; for the calls of a list, where the list does.
    pub at: Range<usize>,
    /// What it is called with.
    pub arguments: Written<'a>,
}

/// The arguments of a call that was written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written<'a> {
    /// JSON, or what is meant to be.
    Json(&'a str),
    /// Each value as text under its name.
    Named(Vec<(&'a str, &'a str)>),
    /// Code; it is not read.
    Code,
}

/// A quicker look, at the text as it is in JSON, where `<` may be spelled `\u003c`
/// and quotes have backslashes.
pub fn may_stand_in(raw: &[u8]) -> bool {
    static SIGNATURES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"invoke name=|function=|tool_call(>|\\u003e)|call:|Action Input:|tool_code|declaration:|\\"name|TOOL_CALLS\]|to=functions|python_tag|tool(\u{2581}|\\u2581)call"#).ok()
    });
    SIGNATURES
        .as_ref()
        .is_none_or(|signatures| signatures.is_match(raw))
}

/// A quick look: most texts hold none of the signatures.
pub fn may_hold_any(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has = |signature: &str| memchr::memmem::find(bytes, signature.as_bytes()).is_some();
    let tags = || has("invoke name=") || has("<function=") || has("<tool_call>") || has("<call:");
    (memchr::memchr(b'<', bytes).is_some() && tags())
        || has("Action Input:")
        || has("tool_code")
        || tokens::MARKS.iter().any(|mark| has(mark))
        || has("declaration:")
        || (memchr::memchr(b'{', bytes).is_some() && has("\"name\""))
}

/// The blocks of a text, in its order.
pub fn find(text: &str) -> Vec<LeakedBlock<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    // What is inside a block that was found is not looked at again.
    let mut after = 0;
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
                let block = fenced(&text[at..], mark, trimmed[mark.len()..].trim());
                found.extend(block.map(|found| found.block(number, start, at - start)));
            }
            (None, None) if start >= after => {
                let block = match begins_like_one(trimmed) {
                    true => {
                        let indent = line.len() - line.trim_start().len();
                        let block = block_at(&text[start + indent..], indent);
                        Some((start + indent, Vec::from_iter(block)))
                    }
                    false => tokens::begin(line)
                        .map(|at| (start + at, tokens::blocks_at(&text[start + at..]))),
                };
                match block {
                    Some((begin, blocks)) if !blocks.is_empty() => {
                        for block in blocks {
                            after = begin + block.length;
                            found.push(block.block(number, begin, 0));
                        }
                    }
                    Some(_) if misses == MOST_MISSES => break,
                    Some(_) => misses += 1,
                    None => {}
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

/// A call at the start of a text.
#[derive(Debug)]
struct Found<'a> {
    tool: &'a str,
    form: &'static str,
    /// How long the block is.
    length: usize,
    arguments: Written<'a>,
}

impl<'a> Found<'a> {
    /// The block that begins at `start`, with `more` bytes before what was looked at.
    fn block(self, line: usize, start: usize, more: usize) -> LeakedBlock<'a> {
        let tool = self.tool.strip_prefix("default_api:").unwrap_or(self.tool);
        let tool = tool.strip_prefix("default_api.").unwrap_or(tool);
        LeakedBlock {
            tool,
            form: self.form,
            line: line + 1,
            at: start..start + more + self.length,
            arguments: self.arguments,
        }
    }
}

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
    let mut found = match inner.as_bytes().first()? {
        b'<' => tagged(inner),
        b'{' if unwrapped.is_some() => {
            let found = json_call(inner, "tool_call block")?;
            let closed = inner[found.length..]
                .trim_start()
                .starts_with("</tool_call>");
            closed.then_some(found)
        }
        b'{' if indent == 0 => {
            let found = json_call(inner, "JSON")?;
            let line_end = inner[found.length..].lines().next().unwrap_or_default();
            line_end.trim().is_empty().then_some(found)
        }
        b'A' => react(inner),
        b'd' => braces(inner, "declaration:", "declaration"),
        _ => None,
    }?;
    found.length += skipped;
    if unwrapped.is_some() {
        let rest = &rest[found.length..];
        let end = rest.trim_start();
        let close = ["</function_calls>", "</tool_call>", "</function_calls>"];
        let close = close.into_iter().find(|close| end.starts_with(close));
        found.length += close.map_or(0, |close| rest.len() - end.len() + close.len());
    }
    Some(found)
}

/// `<invoke name="X">...</invoke>`, `<function=X>...</function>`, `<call:X{...}/>`.
fn tagged(rest: &str) -> Option<Found<'_>> {
    if rest.starts_with("<call:") {
        let mut found = braces(rest, "<call:", "call tag")?;
        let end = rest[found.length..].trim_start();
        let after = end.strip_prefix("/>")?;
        found.length = rest.len() - after.len();
        return Some(found);
    }
    let name = rest.strip_prefix('<')?;
    let bare = name.strip_prefix(PREFIX).unwrap_or(name);
    let forms = [
        ("invoke name=\"", "\"", "invoke>", "invoke block"),
        ("function=", ">", "function>", "function block"),
    ];
    forms.into_iter().find_map(|(open, end, close, form)| {
        let (tool, after) = bare.strip_prefix(open)?.split_once(end)?;
        let closed = after.match_indices(close).find(|(at, _)| {
            let before = &after[..*at];
            before
                .strip_suffix(PREFIX)
                .unwrap_or(before)
                .ends_with("</")
        });
        let (at, _) = closed?;
        let length = rest.len() - after.len() + at + close.len();
        let inside = after[..at].trim_end_matches(PREFIX).trim_end_matches("</");
        is_name(tool).then_some(Found {
            tool,
            form,
            length,
            arguments: parameters(inside.strip_prefix('>').unwrap_or(inside)),
        })
    })
}

/// `<parameter name="p">v</parameter>`, `<parameter=p>v</parameter>`; Llama writes an object in their place.
fn parameters(inside: &str) -> Written<'_> {
    let trimmed = inside.trim();
    if trimmed.starts_with('{') {
        return Written::Json(trimmed);
    }
    let mut named = Vec::new();
    let mut rest = trimmed;
    while let Some((_, after)) = rest.split_once("parameter") {
        let after = after.trim_start_matches(" name").trim_start_matches('=');
        let Some((name, value)) = after.split_once('>') else {
            return Written::Code;
        };
        // What follows the name in the tag (`string="true"`) says nothing of the value.
        let name = name.trim_start_matches('"');
        let name = name.split(['"', ' ']).next().unwrap_or_default();
        let Some((value, end)) = value.split_once("</") else {
            return Written::Code;
        };
        let value = value.strip_prefix('\n').unwrap_or(value);
        named.push((name, value.strip_suffix('\n').unwrap_or(value)));
        rest = end.split_once('>').map_or("", |(_, rest)| rest);
    }
    Written::Named(named)
}

/// `prefix` `X{...}`: the arguments are no strict JSON, so the next closing brace ends them.
fn braces<'a>(rest: &'a str, prefix: &str, form: &'static str) -> Option<Found<'a>> {
    let inside = rest.strip_prefix(prefix)?;
    let (tool, arguments) = inside.split_once('{')?;
    let close = matching_brace(arguments)?;
    let length = prefix.len() + tool.len() + 1 + close + 1;
    is_name(tool).then(|| Found {
        tool,
        form,
        length,
        arguments: Written::Json(&inside[tool.len()..tool.len() + close + 2]),
    })
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
    let (tool, after) = rest.strip_prefix("Action:")?.split_once('\n')?;
    let input = after
        .trim_start()
        .strip_prefix("Action Input:")?
        .trim_start();
    let length = skip_value(input.as_bytes(), 0)
        .ok()
        .filter(|_| input.starts_with('{'))?;
    let start = rest.len() - input.len();
    is_name(tool.trim()).then_some(Found {
        tool: tool.trim(),
        form: "ReAct action",
        length: start + length,
        arguments: Written::Json(&input[..length]),
    })
}

/// `{"name": X, "arguments": {...}}`; Llama writes `parameters`.
fn json_call<'a>(rest: &'a str, form: &'static str) -> Option<Found<'a>> {
    let bytes = rest.as_bytes();
    let length = skip_value(bytes, 0).ok()?;
    let (mut name, mut arguments) = (None, None);
    let walked = Cursor::new(&bytes[..length]).object(|cursor, key| {
        match key {
            b"name" => name = cursor.string()?,
            b"arguments" | b"parameters" => {
                cursor.peek();
                arguments = Some(cursor.skip()?);
            }
            _ => {}
        }
        Ok(())
    });
    walked.ok()?;
    let raw = name?;
    let arguments = rest.get(arguments?)?;
    let tool = std::str::from_utf8(raw).ok()?;
    (display_text(raw) == tool && is_name(tool)).then_some(Found {
        tool,
        form,
        length,
        arguments: Written::Json(arguments),
    })
}

/// What a fence holds: the function that Gemini's Python calls, or one call as JSON and nothing after it. The
/// fence must be closed.
fn fenced<'a>(rest: &'a str, fence: &str, language: &str) -> Option<Found<'a>> {
    let end = rest.find(fence)?;
    let (inside, length) = (rest[..end].trim(), end + fence.len());
    match language {
        "tool_code" => {
            let code = inside.strip_prefix("print(").unwrap_or(inside);
            let (tool, _) = code.split_once('(')?;
            is_name(tool).then_some(Found {
                tool,
                form: "tool_code block",
                length,
                arguments: Written::Code,
            })
        }
        "" | "json" | "tool_call" | "tool_calls" => {
            let is_last = rest[length..].trim().is_empty();
            let found = json_call(inside, "JSON in a fence")?;
            (is_last && found.length == inside.len()).then_some(Found { length, ..found })
        }
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && !text.contains(|c: char| c.is_whitespace() || "<>{}\"".contains(c))
}

#[cfg(test)]
#[allow(clippy::panic)]
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
    fn arguments_and_places_come_with_each_block() {
        let text =
            "I look.\n<tool_call>\n{\"name\":\"a\",\"arguments\":{\"x\":1}}\n</tool_call>\nThen.";
        let [block] = &find(text)[..] else {
            panic!("{:?}", find(text));
        };
        assert_eq!(block.arguments, Written::Json("{\"x\":1}"));
        let left = text.replace(&text[block.at.clone()], "");
        assert_eq!(left, "I look.\n\nThen.");
        let named = "<invoke name=\"a\">\n<parameter name=\"p\">one\ntwo</parameter>\n<parameter name=\"q\">2</parameter>\n</invoke>";
        let arguments = Written::Named(vec![("p", "one\ntwo"), ("q", "2")]);
        assert_eq!(find(named)[0].arguments, arguments);
        assert_eq!(find(named)[0].at, 0..named.len());
        let qwen = "<function=a>\n<parameter=p>\none\n</parameter>\n</function>";
        assert_eq!(find(qwen)[0].arguments, Written::Named(vec![("p", "one")]));
    }

    #[test]
    fn hostile_texts_stay_cheap() {
        for begin in [
            "<invoke name=\"a\">\n",
            "{\n",
            "<tool_call>{\n",
            "declaration:a{\n",
            "[TOOL_CALLS][{\n",
            "<|channel|>commentary to=functions.a <|message|>{\n",
            "<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>a\n",
        ] {
            assert_eq!(find(&begin.repeat(10_000)), []);
        }
    }
}
