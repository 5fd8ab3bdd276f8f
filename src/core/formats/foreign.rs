//! Formats that retake knows by sight and does not read yet, so that it can say so by name.

mod messages;

use super::{Document, Layout, Sample};

/// A format that is recognised and not read.
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    pub title: &'static str,
    /// What to do instead, where there is something.
    pub hint: &'static str,
    /// Whether it is asked before the formats: parts of it look like one of theirs.
    comes_first: bool,
    recognise: fn(&Sample<'_>) -> bool,
}

/// The formats known by sight, the surest first.
const FOREIGN: &[Foreign] = &[
    Foreign {
        title: "a VCR cassette (YAML)",
        hint: "extract the request and response bodies as {\"request\", \"response\"} lines",
        comes_first: true,
        recognise: is_cassette,
    },
    Foreign {
        title: "a list of tool definitions",
        hint: "give it to --tools together with a recording",
        comes_first: true,
        recognise: is_tool_list,
    },
    Foreign {
        title: "a fast-agent message",
        hint: "",
        comes_first: true,
        recognise: |sample| {
            sample.any(|document| document.has("is_template") && document.has("channels"))
        },
    },
    Foreign {
        title: "a Bedrock Converse body",
        hint: "",
        comes_first: true,
        recognise: messages::is_converse,
    },
    Foreign {
        title: "AI SDK messages",
        hint: "",
        comes_first: true,
        recognise: messages::is_ai_sdk,
    },
    Foreign {
        title: "LangChain messages",
        hint: "write them with convert_to_openai_messages",
        comes_first: true,
        recognise: messages::is_langchain,
    },
    Foreign {
        title: "a tau2 simulation",
        hint: "",
        comes_first: true,
        recognise: messages::is_tau2,
    },
    Foreign {
        title: "a sample of an Inspect eval log",
        hint: "",
        comes_first: true,
        recognise: messages::is_inspect,
    },
    Foreign {
        title: "Letta messages",
        hint: "",
        comes_first: true,
        recognise: messages::is_letta,
    },
    Foreign {
        title: "an opencode session",
        hint: "",
        comes_first: false,
        recognise: messages::is_opencode,
    },
    Foreign {
        title: "messages of parts, as user interfaces keep them",
        hint: "",
        comes_first: false,
        recognise: messages::is_ui_messages,
    },
    Foreign {
        title: "Pydantic AI messages",
        hint: "",
        comes_first: false,
        recognise: messages::is_pydantic_ai,
    },
    Foreign {
        title: "a ShareGPT conversation",
        hint: "",
        comes_first: false,
        recognise: messages::is_sharegpt,
    },
    Foreign {
        title: "a stream of claude -p",
        hint: "open the session's own log under ~/.claude/projects instead",
        comes_first: false,
        recognise: messages::is_claude_stream,
    },
    Foreign {
        title: "an Inspect eval log (zip)",
        hint: "",
        comes_first: false,
        recognise: |sample| sample.bytes.starts_with(b"PK\x03\x04"),
    },
    Foreign {
        title: "an HTTP archive (HAR)",
        hint: "extract the bodies as {\"request\", \"response\"} lines",
        comes_first: false,
        recognise: |sample| sample.any(|document| document.object("log").has("entries")),
    },
    Foreign {
        title: "an MCP transcript",
        hint: "give its tools/list result to --tools",
        comes_first: false,
        recognise: is_mcp,
    },
    Foreign {
        title: "a Gemini CLI session",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("sessionId") && document.has("messages") && document.has("startTime")
            })
        },
    },
    Foreign {
        title: "an Inspect eval log",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("eval") && (document.has("samples") || document.has("plan"))
            })
        },
    },
    Foreign {
        title: "a tau2 simulation file",
        hint: "",
        comes_first: false,
        recognise: |sample| sample.any(|document| document.has("simulations")),
    },
    Foreign {
        title: "a SWE-agent trajectory",
        hint: "its \"history\" is a list of chat messages",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                let runs = document.has("trajectory") || document.has("environment");
                let is_demonstration = |message: &Document<'_>| message.has("message_type");
                document.has("trajectory") && document.has("environment")
                    || document.has("history") && runs
                    || document.array("history").iter().any(is_demonstration)
            })
        },
    },
    Foreign {
        title: "a mini-swe-agent trajectory",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("info")
                    && document.has("messages")
                    && document.has("trajectory_format")
            })
        },
    },
    Foreign {
        title: "an ATIF trajectory",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document
                    .text("schema_version")
                    .is_some_and(|version| version.starts_with("ATIF"))
            })
        },
    },
    Foreign {
        title: "a Langfuse trace",
        hint: "",
        comes_first: false,
        recognise: |sample| sample.any(|document| document.has("observations")),
    },
    Foreign {
        title: "OpenTelemetry spans",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| document.has("resourceSpans") || document.has("spans"))
        },
    },
    Foreign {
        title: "a ToolBench answer",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("answer_generation") || document.has("win") && document.has("tree")
            })
        },
    },
    Foreign {
        title: "a llama-stack recording",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("response") && document.object("request").has("endpoint")
            })
        },
    },
    Foreign {
        title: "an ADK session",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("events") && (document.has("context") || document.has("app_name"))
            })
        },
    },
    Foreign {
        title: "OpenHands events",
        hint: "",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.has("source")
                    && (document.has("action") || document.has("observation"))
                    && document.has("id")
            })
        },
    },
    Foreign {
        title: "a codex exec --json stream",
        hint: "open the rollout under ~/.codex/sessions instead",
        comes_first: false,
        recognise: |sample| {
            sample.any(|document| {
                document.says("type", "thread.started") || document.says("type", "item.completed")
            })
        },
    },
    Foreign {
        title: "a pi session log",
        hint: "",
        comes_first: false,
        recognise: is_pi,
    },
    Foreign {
        title: "a Python literal",
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

fn is_cassette(sample: &Sample<'_>) -> bool {
    if sample.layout != Layout::Text {
        return false;
    }
    let head = &sample.bytes[..sample.bytes.len().min(4096)];
    let text = String::from_utf8_lossy(head);
    text.lines()
        .any(|line| line == "interactions:" || line == "http_interactions:")
}

fn is_mcp(sample: &Sample<'_>) -> bool {
    sample.bytes.starts_with(b"STDIN:")
        || sample.bytes.starts_with(b"STDOUT:")
        || sample.any(|document: &Document<'_>| document.has("jsonrpc") && document.has("method"))
}

fn is_pi(sample: &Sample<'_>) -> bool {
    sample.any(|document| document.says("type", "session") && document.has("cwd"))
        || sample.any(|document| {
            document.says("type", "message")
                && document.object("message").says("role", "toolResult")
        })
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
            title(r#"{"log":{"version":"1.2","entries":[]}}"#),
            Some("an HTTP archive (HAR)")
        );
        assert_eq!(
            title("interactions:\n- request:\n"),
            Some("a VCR cassette (YAML)")
        );
        assert_eq!(
            title(r#"[{"type":"function","function":{"name":"f","parameters":{}}}]"#),
            Some("a list of tool definitions")
        );
        assert_eq!(title(r#"{"a":1}"#), None);
    }
}
