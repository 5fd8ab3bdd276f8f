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
    /// The output went to where the target wants it, behind its call.
    Moved,
    /// A system text from the middle of the history went to the system prompt.
    MovedToSystem,
    /// A tool that the provider runs is not offered in the request.
    HostedTool { name: String },
    /// The grammar of a free-form tool is not in the request.
    ToolFormat { name: String },
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
        match self {
            Self::Reasoning => "reasoning",
            Self::Hosted { .. } => "hosted-call",
            Self::Approval => "approval",
            Self::ToolDefinitions => "tool-definitions",
            Self::Compaction => "compaction",
            Self::Notice => "notice",
            Self::Unknown { .. } => "unknown-type",
            Self::Reference => "item-reference",
            Self::Unreadable => "unreadable",
            Self::Earlier { .. } => "before-compaction",
            Self::ServerState => "server-state",
            Self::OutputAsText => "output-as-text",
            Self::Part { .. } => "content-part",
            Self::Empty => "empty-text",
            Self::Annotations => "annotations",
            Self::ErrorMark => "error-mark",
            Self::RefusalMark => "refusal-mark",
            Self::Renamed { .. } => "renamed",
            Self::NewId { .. } => "new-id",
            Self::CallId => "call-id",
            Self::Signature => "signature",
            Self::ArgumentsRepaired => "arguments-repaired",
            Self::ArgumentsWrapped => "arguments-wrapped",
            Self::AsFunction { .. } => "as-function",
            Self::Moved => "moved",
            Self::MovedToSystem => "moved-to-system",
            Self::HostedTool { .. } => "hosted-tool",
            Self::ToolFormat { .. } => "tool-format",
            Self::ToolsUnknown => "tools-unknown",
            Self::ModelUnknown => "model-unknown",
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reasoning => write!(
                f,
                "reasoning left out: only the provider that wrote it takes it back"
            ),
            Self::Hosted { tool } => write!(f, "left out: {tool} was run by the provider"),
            Self::Approval => write!(f, "approval left out"),
            Self::ToolDefinitions => write!(f, "tools offered in mid-history left out"),
            Self::Compaction => write!(f, "compaction mark left out"),
            Self::Notice => write!(f, "note of the runtime left out"),
            Self::Unknown { of_type } => write!(f, "left out: the target has no {of_type}"),
            Self::Reference => write!(
                f,
                "reference left out: what it points to is not in the recording"
            ),
            Self::Unreadable => write!(f, "left out: not JSON"),
            Self::Earlier { count } => {
                write!(f, "{count} left out that stand before the last compaction")
            }
            Self::ServerState => write!(
                f,
                "older items are kept by the provider and are not in the recording"
            ),
            Self::OutputAsText => write!(
                f,
                "output became a text of the user: its call is kept by the provider"
            ),
            Self::Part { of_type } => write!(f, "content part left out: {of_type}"),
            Self::Empty => write!(f, "text without words left out: the target refuses it"),
            Self::Annotations => write!(f, "annotations of a text left out"),
            Self::ErrorMark => write!(f, "the mark that this output is an error left out"),
            Self::RefusalMark => write!(f, "the mark that this is a refusal left out"),
            Self::Renamed { from, to } => write!(f, "tool \"{from}\" is written as {to}"),
            Self::NewId { from, to } if from.is_empty() => write!(f, "new call id {to}"),
            Self::NewId { from, to } => write!(f, "call id \"{from}\" is written as {to}"),
            Self::CallId => write!(f, "call id left out: pairs go by name and order"),
            Self::Signature => write!(
                f,
                "signature left out: only the provider that wrote it takes it back"
            ),
            Self::ArgumentsRepaired => write!(f, "arguments were not JSON and were repaired"),
            Self::ArgumentsWrapped => write!(
                f,
                "arguments are no JSON object and went into its member _raw"
            ),
            Self::AsFunction { was } => write!(f, "{was} call became a function call"),
            Self::Moved => write!(f, "output moved behind its call"),
            Self::MovedToSystem => write!(f, "moved to the system prompt"),
            Self::HostedTool { name } => {
                write!(f, "tool {name} left out: the provider ran it")
            }
            Self::ToolFormat { name } => write!(f, "grammar of the tool {name} left out"),
            Self::ToolsUnknown => write!(f, "the request has no tools: they are not known"),
            Self::ModelUnknown => write!(f, "the request names no model: it is not known"),
        }
    }
}
