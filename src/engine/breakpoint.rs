//! Breakpoints: where a run stops although nothing is wrong.

/// A breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Breakpoint {
    /// Its number, from 1; it keeps it.
    pub number: u32,
    /// What it looks for.
    pub on: Place,
    /// Whether it goes once it has stopped the run.
    pub is_one_shot: bool,
    /// Whether it stops anything at present.
    pub is_enabled: bool,
}

/// What a breakpoint looks for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A call of this tool; `*` stands for any letters.
    Tool(String),
    /// An item of this kind, by its word.
    Kind(String),
    /// A finding of this rule.
    Rule(String),
    /// A call whose arguments satisfy this jq expression.
    Argument(String),
    /// The reply of this number, from 1.
    Turn(u32),
}
