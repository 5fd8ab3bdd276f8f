//! The kinds of failure that have wordings.

/// The kinds of failure that are reported to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The call names a tool that is not offered.
    UnknownTool,
    /// The arguments are no JSON object.
    MalformedArguments,
    /// The arguments break the schema of the tool.
    InvalidArguments,
    /// The call never got its output.
    MissingOutput,
    ToolError,
    /// The same call came again and again.
    RepeatedCall,
    /// A call as text in a message.
    LeakedCall,
    /// The reply was cut off at the token limit.
    CutOff,
    /// The final message breaks the output schema.
    InvalidFinalOutput,
    /// There is no final message.
    MissingFinalOutput,
}

/// Every kind with its name in files and menus, and the rules whose findings are of it.
const KINDS: &[(FailureKind, &str, &[&str])] = &[
    (FailureKind::UnknownTool, "unknown-tool", &["unknown-tool"]),
    (
        FailureKind::MalformedArguments,
        "malformed-arguments",
        &["malformed-arguments", "duplicate-argument-key"],
    ),
    (
        FailureKind::InvalidArguments,
        "invalid-arguments",
        &["invalid-arguments"],
    ),
    (
        FailureKind::MissingOutput,
        "missing-output",
        &["orphan-call", "split-pair"],
    ),
    (
        FailureKind::ToolError,
        "tool-error",
        &["tool-error", "failing-tool"],
    ),
    (
        FailureKind::RepeatedCall,
        "repeated-call",
        &["repeated-call", "turn-limit"],
    ),
    (
        FailureKind::LeakedCall,
        "leaked-call",
        &["leaked-tool-call"],
    ),
    (FailureKind::CutOff, "cut-off", &["truncated-response"]),
    (
        FailureKind::InvalidFinalOutput,
        "invalid-final-output",
        &["invalid-final-output"],
    ),
    (
        FailureKind::MissingFinalOutput,
        "missing-final-output",
        &["missing-final-output"],
    ),
];

impl FailureKind {
    /// Every kind, in the order of the library.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// The kind that findings of this rule are of; `None` where there is nothing to tell the model.
    pub fn of_rule(rule: &str) -> Option<Self> {
        let mut kinds = KINDS.iter();
        kinds
            .find(|(.., rules)| rules.contains(&rule))
            .map(|(kind, ..)| *kind)
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut kinds = KINDS.iter();
        kinds
            .find(|(_, known, _)| *known == name)
            .map(|(kind, ..)| *kind)
    }

    /// Whether a call failed, so that its output can report it; otherwise the turn is requested again.
    pub fn is_of_call(self) -> bool {
        matches!(
            self,
            Self::UnknownTool
                | Self::MalformedArguments
                | Self::InvalidArguments
                | Self::MissingOutput
                | Self::ToolError
                | Self::RepeatedCall
        )
    }

    pub fn name(self) -> &'static str {
        let mut kinds = KINDS.iter();
        kinds
            .find(|(kind, ..)| *kind == self)
            .map_or("", |(_, name, _)| name)
    }
}
