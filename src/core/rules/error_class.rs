//! Whether an output reports an error, and of what kind: by its own mark, or by the texts
//! that known runtimes write.

use crate::json::complete;
use crate::session::ledger::CallFailure;
use crate::session::{Flags, Item, Session};
use serde_json::Value;

/// What kind of error an output reports.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    strum::IntoStaticStr,
    strum::EnumString,
    strum::VariantArray,
)]
pub enum ErrorClass {
    /// The tool does not exist.
    #[strum(serialize = "unknown tool")]
    UnknownTool,
    /// The arguments were refused.
    #[strum(serialize = "bad arguments")]
    BadArguments,
    #[strum(serialize = "exception")]
    Exception,
    /// It took too long.
    #[strum(serialize = "timeout")]
    Timeout,
    /// What runs it could not be reached, or went away.
    #[strum(serialize = "connection")]
    Connection,
    /// It was not allowed.
    #[strum(serialize = "permission")]
    Permission,
    /// The operator rejected the call.
    #[strum(serialize = "rejected")]
    Rejected,
    /// The call was interrupted or cancelled.
    #[strum(serialize = "interrupted")]
    Interrupted,
    /// The call was not run: the tool is switched off for a while, since it only failed.
    #[strum(serialize = "switched off")]
    SwitchedOff,
}

impl ErrorClass {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    pub fn words(self) -> &'static str {
        self.into()
    }

    /// The class of a failure that a run of retake itself saw; `None` where the output tells more.
    pub fn of_failure(failure: CallFailure) -> Option<Self> {
        match failure {
            CallFailure::Timeout => Some(Self::Timeout),
            CallFailure::Connection => Some(Self::Connection),
            CallFailure::Permission => Some(Self::Permission),
            CallFailure::Stopped => Some(Self::Interrupted),
            CallFailure::SwitchedOff => Some(Self::SwitchedOff),
            CallFailure::Reported | CallFailure::Unknown => None,
        }
    }

    /// What helps in general, for templates: what the caller can do about an error of this class.
    pub fn advice(self) -> &'static str {
        match self {
            Self::UnknownTool => "Call one of the tools on offer by its exact name.",
            Self::BadArguments => "Correct the arguments and call the tool again.",
            Self::Exception => "Check the arguments; try another way if it fails again.",
            Self::Timeout => "Ask for less at once, or try again later.",
            Self::Connection => "Try again later, or go on without this tool.",
            Self::Permission => "Do not try again: go on without this tool, or ask for access.",
            Self::Rejected => "Do not call it again: ask what is wanted instead.",
            Self::SwitchedOff => "Go on with another tool, or without it.",
            Self::Interrupted => "Check what was done before you call it again.",
        }
    }

    /// The class that these words name.
    pub fn of_words(words: &str) -> Option<Self> {
        words.parse().ok()
    }

    /// Whether the tool itself failed: a breaker counts no tool that does not exist, and no
    /// call that somebody stopped.
    pub fn is_of_the_tool(self) -> bool {
        !matches!(
            self,
            Self::UnknownTool | Self::Rejected | Self::Interrupted | Self::SwitchedOff
        )
    }

    /// Whether the model can do better after reading it.
    pub fn is_recoverable(self) -> bool {
        matches!(
            self,
            Self::UnknownTool
                | Self::BadArguments
                | Self::Exception
                | Self::Timeout
                | Self::Connection
        )
    }
}

/// Texts of known runtimes, lower case: how an output begins, or what one that is marked as an error contains.
/// Sources: wire formats of openai-agents 0.22, openai-node, Vercel AI SDK, LangGraph, deepagents, Gemini CLI,
/// Claude Code, Codex, MCP servers.
const TEXTS: &[(ErrorClass, &[&str])] = &[
    (
        ErrorClass::UnknownTool,
        &[
            "no such tool available",
            "unknown tool",
            "unknown function",
            "unsupported call:",
            "unsupported custom tool call",
            "is not a valid tool, try one of",
            "model tried to call unavailable tool",
            "invalid tool_call:",
            "no such function name",
        ],
    ),
    (
        ErrorClass::BadArguments,
        &[
            "inputvalidationerror",
            "failed to parse function arguments",
            "an error occurred while parsing tool arguments",
            "invalid json input for tool",
            "invalid input for tool",
            "error invoking tool",
            "validation error",
            "is malformed or truncated",
        ],
    ),
    (
        ErrorClass::Rejected,
        &[
            "the user doesn't want to proceed with this tool use",
            "the user doesn't want to take this action right now",
            "tool execution was not approved",
            "exec command rejected by user",
            "patch rejected by user",
            "rejected by user",
        ],
    ),
    (
        ErrorClass::Interrupted,
        &[
            "sibling tool call errored",
            "[request interrupted by user",
            "cancelled: parallel tool call",
            "aborted by user",
        ],
    ),
    (ErrorClass::Timeout, &["timed out"]),
    (
        ErrorClass::Connection,
        &[
            "connection refused",
            "connection reset",
            "connection error",
            "econnrefused",
            "econnreset",
            "could not connect",
        ],
    ),
    (
        ErrorClass::Permission,
        &[
            "permission denied",
            "permission to use",
            "claude requested permissions to",
        ],
    ),
];

/// What retake's own wordings say, lower case, of outputs that are marked as errors; those of a tool that failed
/// are not among them.
const OWN: &[(ErrorClass, &[&str])] = &[
    (ErrorClass::UnknownTool, &["there is no tool named \""]),
    (
        ErrorClass::BadArguments,
        &["\" break its schema", "\" are not a json object"],
    ),
    (
        ErrorClass::Interrupted,
        &[
            "was interrupted and its output was lost",
            "the run ended before this tool returned a result",
            "the run ended at this call",
            "the output of this call was lost.",
            "\" was lost. do not call it again",
            "\" was not run, and nothing was changed",
        ],
    ),
    (
        ErrorClass::Rejected,
        &[
            "\" with the same arguments before",
            "\" was made before, with the same outcome",
            "\" again with the same arguments changes nothing",
        ],
    ),
];

/// How an output without an error mark begins if it is an error nevertheless: tau-bench, ToolBench
/// and most hand-made runtimes; then Codex, which puts what a program prints after an exit code.
const BEGINNINGS: &[&str] = &[
    "error:",
    "tool calling failed with error",
    "error executing tool",
    "an error occurred while",
    "<tool_use_error>",
    "apply_patch verification failed",
    "failed to find expected lines in ",
    "failed to find context '",
    "invalid hunk at line ",
    "invalid patch: ",
    "invalid patch hunk on line ",
    "patch rejected: ",
    "exec_command failed for ",
    "write_stdin failed: ",
    "execution error: ",
    "failed in sandbox ",
    "command timed out after ",
    "tool call error: ",
];

/// What kind of error an output is, if it is one.
pub(crate) fn classify(session: &Session, item: &Item, text: &str) -> Option<ErrorClass> {
    if item.flags.has(Flags::REJECTED) {
        return Some(ErrorClass::Rejected);
    }
    let text = text.trim_start();
    if let Some(class) = told_whole(text) {
        return Some(class);
    }
    if item.flags.has(Flags::ERROR) || (!marks_errors(session) && is_error_text(text)) {
        return Some(class_of(text));
    }
    // Unmarked: only what a runtime writes, at the very beginning. Words that tools
    // use themselves tell nothing.
    let is_known =
        |(_, texts): &&(ErrorClass, &[&str])| texts.iter().any(|known| begins(text, known));
    let known = TEXTS.iter().find(is_known)?.0;
    let is_ambiguous = matches!(
        known,
        ErrorClass::Timeout | ErrorClass::Permission | ErrorClass::Connection
    );
    (!is_ambiguous || begins(text, "claude requested")).then_some(known)
}

/// Whether an output reports a failure to the model: the tool's own, or an injected one, which the dialects of
/// OpenAI do not mark.
pub fn reports_error(session: &Session, item: &Item, text: &str) -> bool {
    classify(session, item, text).is_some() || is_own(text)
}

/// Whether retake wrote an output: about the call, not about what its tool did.
pub(super) fn is_own(text: &str) -> bool {
    let head = lowercase_head(text);
    let mut own = OWN.iter().flat_map(|(_, texts)| *texts);
    own.any(|known| head.contains(known))
}

/// Claude Code marks every error; an unmarked output that begins like one is a file or a log that was read.
fn marks_errors(session: &Session) -> bool {
    session.format == "claude-code"
}

/// Sentences around a tool's name: `Tool 'x' not found`, `Tool 'x' timed out`, `Tool call x with
/// id y was cancelled`.
fn told_whole(text: &str) -> Option<ErrorClass> {
    if text.trim_end() == "aborted" {
        return Some(ErrorClass::Interrupted);
    }
    let line = text.lines().next().unwrap_or_default();
    // Pydantic's, as Pydantic AI sends them.
    let after_count = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if after_count.len() < line.len() && after_count.starts_with(" validation error") {
        return Some(ErrorClass::BadArguments);
    }
    // The command is before it, of any length.
    if begins(text, "exec_command failed for ") && text.contains("{ message: \"Rejected(") {
        return Some(ErrorClass::Rejected);
    }
    if !begins(text, "tool ") {
        return None;
    }
    let quoted = matches!(text.as_bytes().get(5), Some(b'\'' | b'"' | b'`'));
    [
        (
            quoted && line.contains(" not found"),
            ErrorClass::UnknownTool,
        ),
        (
            quoted && line.contains(" timed out after "),
            ErrorClass::Timeout,
        ),
        (
            begins(text, "the tool \"") && line.contains("\" is switched off for now"),
            ErrorClass::SwitchedOff,
        ),
        (
            begins(text, "tool call ") && line.contains(" was cancelled"),
            ErrorClass::Interrupted,
        ),
    ]
    .into_iter()
    .find_map(|(matches, class)| matches.then_some(class))
}

/// The class of an output that is known to be an error.
pub(crate) fn class_of_error(text: &str) -> ErrorClass {
    let text = text.trim_start();
    told_whole(text).unwrap_or_else(|| class_of(text))
}

/// The class of an output that is an error and no sentence of a runtime.
fn class_of(text: &str) -> ErrorClass {
    let head = lowercase_head(text);
    let mut known = TEXTS.iter().chain(OWN);
    let found = known.find(|(_, texts)| texts.iter().any(|known| head.contains(known)));
    found.map_or(ErrorClass::Exception, |(class, _)| *class)
}

fn lowercase_head(text: &str) -> String {
    text.chars().take(400).collect::<String>().to_lowercase()
}

fn is_error_text(text: &str) -> bool {
    BEGINNINGS.iter().any(|start| begins(text, start))
        || is_error_object(text)
        || is_http_object(text)
        || is_http_text(text)
        || is_failed_command(text)
}

/// The exit code that mini-swe-agent writes before what a command printed.
pub(super) fn return_code(text: &str) -> Option<i32> {
    let rest = match text.strip_prefix("<exception>") {
        Some(exception) => exception.split_once("</exception>")?.1.trim_start(),
        None => text,
    };
    let (code, _) = rest
        .strip_prefix("<returncode>")?
        .split_once("</returncode>")?;
    code.trim().parse().ok()
}

/// What a shell or an interpreter says of a command and nothing else: a log or a file that holds such a line has
/// others.
fn is_failed_command(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    return_code(text).is_some_and(|code| code != 0)
        || is_traceback(text)
        || (!text.is_empty() && lines.all(is_of_shell))
}

/// `bash: line 1: xxd: command not found`, `cat: notes.txt: No such file or directory`.
fn is_of_shell(line: &str) -> bool {
    const ENDS: &[&str] = &[
        ": command not found",
        ": No such file or directory",
        ": Permission denied",
        ": Is a directory",
        ": Not a directory",
    ];
    // A match that grep prints begins with its file and a colon.
    let is_program = |word: &str| !word.is_empty() && !word.contains([':', ' ', '\t', '"']);
    let program = line.split_once(": ").map(|(program, _)| program);
    program.is_some_and(is_program)
        && (ENDS.iter().any(|end| line.trim_end().ends_with(end))
            || line.starts_with("zsh: command not found: "))
}

/// A traceback of Python from the first line to the last.
fn is_traceback(text: &str) -> bool {
    const BETWEEN: &[&str] = &["During handling of ", "The above exception "];
    let mut is_inside = false;
    text.starts_with(TRACEBACK)
        && text.trim_end().lines().all(|line| {
            let was_inside = is_inside;
            is_inside = match line {
                TRACEBACK => true,
                line => was_inside && line.starts_with(' '),
            };
            let is_exception = || {
                let name = line.split(':').next().unwrap_or_default();
                let is_name = |letter: char| letter.is_alphanumeric() || "._".contains(letter);
                was_inside && !name.is_empty() && name.chars().all(is_name)
            };
            is_inside
                || line.is_empty()
                || BETWEEN.iter().any(|words| line.starts_with(words))
                || is_exception()
        })
}

/// The first line of a traceback of Python.
pub(super) const TRACEBACK: &str = "Traceback (most recent call last):";

/// An object with an error that is not its first member, or whose status is one of HTTP's for errors: as its first
/// member, or beside words about it. Elsewhere it may be what a tool found.
fn is_http_object(text: &str) -> bool {
    const STATUS: &[&str] = &["status", "statusCode", "status_code", "code"];
    const WORDS: &[&str] = &[
        "message",
        "error",
        "errors",
        "error_messages",
        "detail",
        "title",
    ];
    let is_worth_a_look = ["\"error\"", "\"status", "\"code\""]
        .iter()
        .any(|name| text.contains(name));
    if !text.starts_with('{') || !is_worth_a_look {
        return false;
    }
    // Of a long output only the beginning is known.
    let Ok(Value::Object(members)) = serde_json::from_slice(&complete(text.as_bytes())) else {
        return false;
    };
    let is_first = |name: &str| members.keys().next().is_some_and(|first| first == name);
    let is_told = WORDS.iter().any(|word| members.contains_key(*word));
    let has_status = STATUS.iter().any(|name| {
        let status = members.get(*name).and_then(Value::as_u64);
        let is_error = status.is_some_and(|status| (400..600).contains(&status));
        is_error && (is_told || (is_first(name) && *name != "code"))
    });
    let has_error = match members.get("error") {
        Some(Value::String(error)) => !error.is_empty(),
        Some(Value::Object(error)) => !error.is_empty(),
        _ => false,
    };
    has_status || has_error
}

/// `status: 401 Unauthorized` in the first line, and in no further one: many are a log.
fn is_http_text(text: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "status:",
        "status code:",
        "http error",
        "http ",
        "http/1.1",
        "http/2",
        "request failed with status code",
    ];
    let is_status = |line: &str| {
        BEGINNINGS.iter().any(|start| {
            let rest = line.get(start.len()..).filter(|_| begins(line, start));
            let rest = rest.map(|rest| rest.trim_start_matches([' ', ':']).as_bytes());
            matches!(rest, Some([b'4' | b'5', b'0'..=b'9', b'0'..=b'9', after @ ..])
                if after.first().is_none_or(|next| !next.is_ascii_alphanumeric()))
        })
    };
    let mut lines = text.lines();
    lines.next().is_some_and(is_status) && !lines.any(is_status)
}

/// `{"error": "..."}` with something in it; ToolBench writes `{"error": "", ...}` for success.
fn is_error_object(text: &str) -> bool {
    let after_key = text
        .strip_prefix('{')
        .and_then(|rest| rest.trim_start().strip_prefix("\"error\""))
        .and_then(|rest| rest.trim_start().strip_prefix(':'))
        .map(str::trim_start);
    after_key.is_some_and(|value| {
        let nothing = ["\"\"", "null", "false", "0", "[]", "{}"];
        !nothing.iter().any(|empty| value.starts_with(empty))
    })
}

fn begins(text: &str, start: &str) -> bool {
    let head = text.as_bytes().get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}
