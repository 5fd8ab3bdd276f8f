//! What another dialect cannot say, or says otherwise: each fact once, with its item, and its
//! words in one place.

use crate::session::Family;
use std::fmt;

/// One thing that did not go over as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Index of the item; `None` for the session as a whole.
    pub item: Option<u32>,
    /// What happened to it.
    pub kind: LossKind,
}

/// What happened to an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Reasoning is signed or encrypted for the provider that wrote it.
    Reasoning,
    /// A call that the provider ran itself, or its result.
    Hosted { tool: String },
    /// A request for a decision, or the decision.
    Approval,
    /// Tools that were offered in the middle of the history.
    ToolDefinitions,
    /// A mark or summary of older history that only its provider can read.
    Compaction,
    /// A note of the runtime.
    Notice,
    /// A type that the target does not know.
    Unknown { of_type: String },
    /// A reference to an item that the provider keeps; what it points to is not in the recording.
    Reference,
    /// Bytes that are no JSON.
    Unreadable,
    /// Items that stand before the last compaction: the provider no longer sees them.
    Earlier { count: usize },
    /// `previous_response_id` or `conversation`: older items are kept by the provider and are
    /// not in the recording.
    ServerState,
    /// An output whose call is kept by the provider became a text of the user.
    OutputAsText,
    /// A part of a content that the target has no place for there.
    Part { of_type: String },
    /// A message or text without words, which the target refuses.
    Empty,
    /// Citations or annotations of a text.
    Annotations,
    /// The mark that an output is an error.
    ErrorMark,
    /// The mark that a message is a refusal; its text stays.
    RefusalMark,
    /// Another name for a tool.
    Renamed {
        /// As it was recorded.
        from: String,
        /// As it is written.
        to: String,
    },
    /// Another call id; the output has it, too.
    NewId {
        /// As it was recorded; empty where there was none.
        from: String,
        /// As it is written.
        to: String,
    },
    /// A call id that the target need not have: calls and outputs pair by name and order.
    CallId,
    /// The signature of a call or a text, which its provider checks.
    Signature,
    /// Arguments that were not JSON were repaired: a guess.
    ArgumentsRepaired,
    /// Arguments that are no JSON object went, as they are, into the member `_raw` of one.
    ArgumentsWrapped,
    /// A call of a type that the target does not have became a function call.
    AsFunction {
        /// The type in words, as `custom`.
        was: &'static str,
    },
    /// The output went to where the target wants it, after its call.
    Moved,
    /// A system text from the middle of the history went to the system prompt.
    MovedToSystem,
    /// The system prompt of another agent, where the target is one with a prompt of its own.
    SystemPrompt,
    /// Arguments got the names that the target's tool gives them.
    ArgumentNames,
    /// Arguments stay that the target's tool does not have.
    UnknownArguments { names: String },
    /// A tool that the provider runs is not offered in the request.
    HostedTool { name: String },
    /// The grammar of a free-form tool is not in the request.
    ToolFormat { name: String },
    /// Records of agents have times, and the recording has none.
    Times,
    /// Times that are not recorded.
    SomeTimes { count: usize },
    /// The tools are not known, so that the request offers none.
    ToolsUnknown,
    /// The model is not known, so that the request names none.
    ModelUnknown,
}

impl LossKind {
    pub(super) fn part(of_type: &str) -> Self {
        let of_type = of_type.to_owned();
        Self::Part { of_type }
    }

    /// A call of this type became a function call.
    pub(crate) fn as_function(family: Family) -> Self {
        let was = match family {
            Family::Custom => "custom",
            Family::Computer => "computer",
            Family::Shell => "shell",
            Family::LocalShell => "local shell",
            Family::ApplyPatch => "patch",
            Family::ToolSearch => "tool search",
            Family::Program => "program",
            Family::None
            | Family::Function
            | Family::Legacy
            | Family::Hosted
            | Family::Approval => "provider's",
        };
        Self::AsFunction { was }
    }

    /// Its id in reports.
    pub fn id(&self) -> &'static str {
        self.described().0
    }

    /// The id, and its description.
    fn described(&self) -> (&'static str, String) {
        let (id, words) = match self {
            Self::Hosted { tool } => {
                return (
                    "hosted-call",
                    format!("left out: {tool} was run by the provider"),
                );
            }
            Self::Unknown { of_type } => {
                return (
                    "unknown-type",
                    format!("left out: the target has no {of_type}"),
                );
            }
            Self::Earlier { count } => {
                return (
                    "before-compaction",
                    format!("{count} left out that stand before the last compaction"),
                );
            }
            Self::Part { of_type } => {
                return ("content-part", format!("content part left out: {of_type}"));
            }
            Self::SomeTimes { count } => {
                return (
                    "some-times",
                    format!(
                        "{count} without a recorded time: theirs is between those of their neighbours"
                    ),
                );
            }
            Self::Renamed { from, to } => {
                return ("renamed", format!("tool \"{from}\" is written as {to}"));
            }
            Self::NewId { from, to } if from.is_empty() => {
                return ("new-id", format!("new call id {to}"));
            }
            Self::NewId { from, to } => {
                return ("new-id", format!("call id \"{from}\" is written as {to}"));
            }
            Self::AsFunction { was } => {
                return ("as-function", format!("{was} call became a function call"));
            }
            Self::HostedTool { name } => {
                return (
                    "hosted-tool",
                    format!("tool {name} left out: the provider ran it"),
                );
            }
            Self::ToolFormat { name } => {
                return (
                    "tool-format",
                    format!("grammar of the tool {name} left out"),
                );
            }
            Self::UnknownArguments { names } => {
                return (
                    "unknown-arguments",
                    format!("the agent's own tool has no argument {names}"),
                );
            }
            Self::Reasoning => (
                "reasoning",
                "reasoning left out: only the provider that wrote it takes it back",
            ),
            Self::Approval => ("approval", "approval left out"),
            Self::ToolDefinitions => ("tool-definitions", "tools offered in mid-history left out"),
            Self::Compaction => ("compaction", "compaction mark left out"),
            Self::Notice => ("notice", "note of the runtime left out"),
            Self::Reference => (
                "item-reference",
                "reference left out: what it points to is not in the recording",
            ),
            Self::Unreadable => ("unreadable", "left out: not JSON"),
            Self::ServerState => (
                "server-state",
                "older items are kept by the provider and are not in the recording",
            ),
            Self::OutputAsText => (
                "output-as-text",
                "output became a text of the user: its call is not in the history",
            ),
            Self::Empty => (
                "empty-text",
                "text without words left out: the target refuses it",
            ),
            Self::Annotations => ("annotations", "annotations of a text left out"),
            Self::ErrorMark => (
                "error-mark",
                "the mark that this output is an error left out",
            ),
            Self::RefusalMark => ("refusal-mark", "the mark that this is a refusal left out"),
            Self::CallId => ("call-id", "call id left out: pairs go by name and order"),
            Self::Signature => (
                "signature",
                "signature left out: only the provider that wrote it takes it back",
            ),
            Self::ArgumentsRepaired => (
                "arguments-repaired",
                "arguments were not JSON and were repaired",
            ),
            Self::ArgumentsWrapped => (
                "arguments-wrapped",
                "arguments are no JSON object and went into its member _raw",
            ),
            Self::Moved => ("moved", "output moved after its call"),
            Self::MovedToSystem => ("moved-to-system", "moved to the system prompt"),
            Self::SystemPrompt => (
                "system-prompt",
                "system text left out: the agent sends its own",
            ),
            Self::ArgumentNames => (
                "argument-names",
                "arguments are named as the agent's own tool names them",
            ),
            Self::Times => (
                "times",
                "times are made up: they count from the conversion on",
            ),
            Self::ToolsUnknown => (
                "tools-unknown",
                "the request has no tools: they are not known",
            ),
            Self::ModelUnknown => (
                "model-unknown",
                "the request names no model: it is not known",
            ),
        };
        (id, words.to_owned())
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described().1)
    }
}
