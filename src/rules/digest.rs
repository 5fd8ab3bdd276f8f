//! What the item pass remembers of each call and output, so that rules of the session need no body.

use crate::dialects::Body;
use crate::session::{Flags, Item};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is remembered of one call or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// Index of the item.
    pub item: u32,
    /// Hash of the arguments (canonical where they are JSON), or of the beginning of the output.
    pub content: u64,
    /// For outputs: what kind of error it is, if it is one.
    pub error: Option<ErrorClass>,
}

/// What kind of error an output reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The tool does not exist.
    UnknownTool,
    /// The arguments were refused.
    BadArguments,
    /// The tool failed.
    Exception,
    /// It took too long.
    Timeout,
    /// It was not allowed.
    Permission,
    /// The operator rejected the call.
    Rejected,
    /// The call was interrupted or cancelled.
    Interrupted,
}

impl ErrorClass {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown tool",
            Self::BadArguments => "bad arguments",
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::Permission => "permission",
            Self::Rejected => "rejected",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the model can do better after reading it.
    pub fn is_recoverable(self) -> bool {
        matches!(
            self,
            Self::UnknownTool | Self::BadArguments | Self::Exception | Self::Timeout
        )
    }
}

/// The digests of a session, by item.
#[derive(Debug, Clone, Default)]
pub struct Digests {
    sorted: Vec<Digest>,
}

impl Digests {
    /// Takes the digests of an item pass, in any order.
    pub fn new(mut digests: Vec<Digest>) -> Self {
        digests.sort_unstable_by_key(|digest| digest.item);
        Self { sorted: digests }
    }

    /// The digest of an item.
    pub fn get(&self, item: usize) -> Option<&Digest> {
        let item = u32::try_from(item).ok()?;
        let place = self
            .sorted
            .binary_search_by_key(&item, |digest| digest.item)
            .ok()?;
        self.sorted.get(place)
    }

    /// What kind of error the output at `item` reports.
    pub fn error(&self, item: usize) -> Option<ErrorClass> {
        self.get(item)?.error
    }
}

/// The digest of a call: its arguments without regard to white space and key order.
pub(super) fn of_call(index: u32, body: &Body, arguments: Option<&serde_json::Value>) -> Digest {
    let mut hasher = DefaultHasher::new();
    match arguments {
        Some(value) => hash_value(value, &mut hasher),
        None => body.arguments.as_written().hash(&mut hasher),
    }
    Digest {
        item: index,
        content: hasher.finish(),
        error: None,
    }
}

/// The digest of an output from its beginning.
pub(super) fn of_output(index: u32, item: &Item, body: &Body) -> Digest {
    let mut hasher = DefaultHasher::new();
    body.text.hash(&mut hasher);
    Digest {
        item: index,
        content: hasher.finish(),
        error: classify(item, &body.text),
    }
}

fn hash_value(value: &serde_json::Value, hasher: &mut DefaultHasher) {
    match value {
        serde_json::Value::Object(members) => {
            let mut sorted = members.iter().collect::<Vec<_>>();
            sorted.sort_unstable_by_key(|(key, _)| key.as_str());
            for (key, value) in sorted {
                key.hash(hasher);
                hash_value(value, hasher);
            }
        }
        serde_json::Value::Array(values) => {
            values.len().hash(hasher);
            values.iter().for_each(|value| hash_value(value, hasher));
        }
        other => other.to_string().hash(hasher),
    }
}

/// How the texts of known runtimes begin or what they contain, lower case. Texts: wire formats of openai-agents 0.22, openai-node,
/// Vercel AI SDK, LangGraph, Gemini CLI, Claude Code, Codex, MCP servers.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("no such tool available", ErrorClass::UnknownTool),
    ("unknown tool", ErrorClass::UnknownTool),
    ("unsupported call:", ErrorClass::UnknownTool),
    ("unsupported custom tool call", ErrorClass::UnknownTool),
    ("is not a valid tool, try one of", ErrorClass::UnknownTool),
    (
        "model tried to call unavailable tool",
        ErrorClass::UnknownTool,
    ),
    ("invalid tool_call:", ErrorClass::UnknownTool),
    ("no such function name", ErrorClass::UnknownTool),
    ("inputvalidationerror", ErrorClass::BadArguments),
    (
        "failed to parse function arguments",
        ErrorClass::BadArguments,
    ),
    (
        "an error occurred while parsing tool arguments",
        ErrorClass::BadArguments,
    ),
    ("invalid json input for tool", ErrorClass::BadArguments),
    ("invalid input for tool", ErrorClass::BadArguments),
    ("validation error", ErrorClass::BadArguments),
    (
        "the user doesn't want to proceed with this tool use",
        ErrorClass::Rejected,
    ),
    ("tool execution was not approved", ErrorClass::Rejected),
    ("sibling tool call errored", ErrorClass::Interrupted),
    ("[request interrupted by user", ErrorClass::Interrupted),
    ("cancelled: parallel tool call", ErrorClass::Interrupted),
    ("aborted by user", ErrorClass::Interrupted),
    ("timed out", ErrorClass::Timeout),
    ("permission denied", ErrorClass::Permission),
    ("permission to use", ErrorClass::Permission),
];

/// What kind of error an output is: by its own mark, or by the known texts of runtimes at its beginning.
fn classify(item: &Item, text: &str) -> Option<ErrorClass> {
    let head = text.chars().take(400).collect::<String>().to_lowercase();
    let head = head.trim_start();
    if item.flags.has(Flags::REJECTED) {
        return Some(ErrorClass::Rejected);
    }
    let flagged = item.flags.has(Flags::ERROR);
    let known = TEXTS
        .iter()
        .find(|(known, _)| head.contains(known))
        .map(|(_, class)| *class);
    let named_not_found = head.starts_with("tool '") && head.contains("' not found")
        || head.starts_with("tool \"") && head.contains("\" not found");
    let says_so = flagged || is_error_text(head);
    match (says_so, named_not_found, known) {
        (_, true, _) => Some(ErrorClass::UnknownTool),
        (true, _, Some(class)) => Some(class),
        (true, _, None) => Some(ErrorClass::Exception),
        // Unflagged: only texts that a runtime writes, at the very beginning.
        (false, _, _) => TEXTS
            .iter()
            .find(|(known, class)| {
                head.starts_with(known)
                    && !matches!(class, ErrorClass::Timeout | ErrorClass::Permission)
            })
            .map(|(_, class)| *class),
    }
}

/// Whether a text without an error mark says that it is an error: tau-bench, ToolBench and most hand-made runtimes write so.
fn is_error_text(head: &str) -> bool {
    let json_error = head
        .strip_prefix("{\"error\":")
        .map(str::trim_start)
        .is_some_and(|rest| {
            !rest.starts_with("\"\"") && !rest.starts_with("null") && !rest.starts_with("false")
        });
    json_error
        || [
            "error:",
            "error invoking tool",
            "error executing tool",
            "an error occurred while",
            "<tool_use_error>",
        ]
        .iter()
        .any(|start| head.starts_with(start))
}
