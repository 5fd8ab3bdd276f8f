//! Formats that retake knows by sight and does not read yet, so that it can say so by name.

mod messages;

pub(super) use messages::{any_message, any_part};

use super::sample::{Document, Layout, Sample};

/// A format that is recognised and not read.
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    pub title: &'static str,
    /// Several of it, where it is a recording of an agent that could be read.
    pub recordings: Option<&'static str>,
    /// What to do instead, where there is something.
    pub hint: &'static str,
    /// Whether it is asked before the formats: parts of it look like one of theirs.
    comes_first: bool,
    recognise: fn(&Sample<'_>) -> bool,
}

/// The formats known by sight, the surest first.
pub const FOREIGN: &[Foreign] = &[
    Foreign {
        title: "a list of tool definitions",
        recordings: None,
        hint: "give it to --tools together with a recording",
        comes_first: true,
        recognise: is_tool_list,
    },
    Foreign {
        title: "a ShareGPT conversation",
        recordings: Some("ShareGPT conversations"),
        hint: "",
        comes_first: false,
        recognise: messages::is_sharegpt,
    },
    Foreign {
        title: "a zip archive",
        recordings: None,
        hint: "",
        comes_first: false,
        recognise: |sample| sample.bytes.starts_with(b"PK\x03\x04"),
    },
    Foreign {
        title: "what Cline or Roo Code shows of a task (ui_messages.json)",
        recordings: None,
        hint: "api_conversation_history.json beside it holds what was sent",
        comes_first: false,
        recognise: |sample| {
            let shows = |document: &Document<'_>| document.has("say") || document.has("ask");
            let mut first = sample.first().into_iter();
            first.any(|first| first.has("ts") && first.has("type") && shows(first))
        },
    },
    Foreign {
        title: "a Python literal",
        recordings: None,
        hint: "write it as JSON, with json.dumps",
        comes_first: false,
        recognise: |sample| {
            let text = sample.bytes.trim_ascii_start();
            let element = text
                .strip_prefix(b"[")
                .map_or(text, <[u8]>::trim_ascii_start);
            element.starts_with(b"{'")
        },
    },
];

/// Names a text that no format claims.
pub fn recognise_foreign(sample: &Sample<'_>) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| (foreign.recognise)(sample))
}

/// Names a text that looks like one of the formats in parts, but is another thing as a whole.
pub(super) fn is_rather_foreign(sample: &Sample<'_>) -> bool {
    let mut first = FOREIGN.iter().filter(|foreign| foreign.comes_first);
    first.any(|foreign| (foreign.recognise)(sample))
}

/// Definitions in any spelling, bare or as the result of `tools/list`, without a conversation beside them.
fn is_tool_list(sample: &Sample<'_>) -> bool {
    let defines = |tool: &Document<'_>| {
        if tool.has("functionDeclarations") || tool.has("function_declarations") {
            return true;
        }
        let inner = tool.object("function");
        let tool = if inner.is_empty() { tool } else { &inner };
        let schema = ["parameters", "input_schema", "inputSchema"];
        tool.has("name") && !tool.has("role") && schema.iter().any(|key| tool.has(key))
    };
    let is_list = matches!(sample.layout, Layout::Array(_)) && sample.first().is_some_and(defines);
    let is_document = matches!(sample.layout, Layout::Object(_))
        && sample.complete
        && sample.first().is_some_and(|document| {
            let result = document.object("result");
            let talks = [
                "messages", "input", "output", "items", "contents", "request",
            ];
            let holder = if result.is_empty() { document } else { &result };
            !talks.iter().any(|key| document.has(key)) && holder.array("tools").iter().any(defines)
        });
    is_list || is_document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_still_named() {
        let title = |text: &str| {
            recognise_foreign(&Sample::new(text.as_bytes(), true)).map(|foreign| foreign.title)
        };
        assert_eq!(
            title(r#"[{"type":"function","function":{"name":"f","parameters":{}}}]"#),
            Some("a list of tool definitions")
        );
        assert_eq!(title(r#"{"a":1}"#), None);
    }
}
