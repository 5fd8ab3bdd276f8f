//! Formats that retake knows by sight and does not read yet, so that it can say so by name.

use super::{Document, Sample};

/// A format that is recognised and not read.
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    /// What it is.
    pub title: &'static str,
    /// What to do instead, where there is something.
    pub hint: &'static str,
    recognise: fn(&Sample<'_>) -> bool,
}

/// The formats known by sight, the surest first.
const FOREIGN: &[Foreign] = &[
    Foreign {
        title: "a VCR cassette (YAML)",
        hint: "extract the request and response bodies as {\"request\", \"response\"} lines",
        recognise: is_cassette,
    },
    Foreign {
        title: "an Inspect eval log (zip)",
        hint: "",
        recognise: |sample| sample.bytes.starts_with(b"PK\x03\x04"),
    },
    Foreign {
        title: "an HTTP archive (HAR)",
        hint: "extract the bodies as {\"request\", \"response\"} lines",
        recognise: |sample| sample.any(|document| document.object("log").has("entries")),
    },
    Foreign {
        title: "an MCP transcript",
        hint: "give its tools/list result to --tools",
        recognise: is_mcp,
    },
    Foreign {
        title: "a Gemini CLI session",
        hint: "",
        recognise: |sample| {
            sample.any(|document| {
                document.has("sessionId") && document.has("messages") && document.has("startTime")
            })
        },
    },
    Foreign {
        title: "an Inspect eval log",
        hint: "",
        recognise: |sample| {
            sample.any(|document| {
                document.has("eval") && (document.has("samples") || document.has("plan"))
            })
        },
    },
    Foreign {
        title: "a tau2 simulation file",
        hint: "",
        recognise: |sample| sample.any(|document| document.has("simulations")),
    },
    Foreign {
        title: "a SWE-agent trajectory",
        hint: "its \"history\" is a list of chat messages",
        recognise: |sample| {
            sample.any(|document| {
                document.has("trajectory")
                    && (document.has("history") || document.has("environment"))
            })
        },
    },
    Foreign {
        title: "a mini-swe-agent trajectory",
        hint: "",
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
        recognise: |sample| {
            sample.any(|document| {
                document.has("observations") && document.has("trace")
                    || document.has("observations")
            })
        },
    },
    Foreign {
        title: "OpenTelemetry spans",
        hint: "",
        recognise: |sample| {
            sample.any(|document| document.has("resourceSpans") || document.has("spans"))
        },
    },
    Foreign {
        title: "a ToolBench answer",
        hint: "",
        recognise: |sample| sample.any(|document| document.has("answer_generation")),
    },
    Foreign {
        title: "a llama-stack recording",
        hint: "",
        recognise: |sample| {
            sample.any(|document| {
                document.has("response") && document.object("request").has("endpoint")
            })
        },
    },
    Foreign {
        title: "an ADK session",
        hint: "",
        recognise: |sample| {
            sample.any(|document| {
                document.has("events") && (document.has("context") || document.has("app_name"))
            })
        },
    },
    Foreign {
        title: "OpenHands events",
        hint: "",
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
        recognise: |sample| {
            sample.any(|document| {
                document.says("type", "thread.started") || document.says("type", "item.completed")
            })
        },
    },
    Foreign {
        title: "a pi session log",
        hint: "",
        recognise: is_pi,
    },
    Foreign {
        title: "Gemini request or reply bodies",
        hint: "",
        recognise: |sample| {
            sample.any(|document| document.has("contents") || document.has("candidates"))
        },
    },
];

/// Names a text that no format claims.
pub fn recognise_foreign(sample: &Sample<'_>) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| (foreign.recognise)(sample))
}

fn is_cassette(sample: &Sample<'_>) -> bool {
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
        assert_eq!(title(r#"{"a":1}"#), None);
    }
}
