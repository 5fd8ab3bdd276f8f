//! The closed list of what a refusal can mean, and who says so.

use crate::bundled;
use crate::session::{Dialect, Kind};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Who speaks: a provider's API, or a program between the model and the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    #[strum(serialize = "OpenAI")]
    OpenAi,
    #[strum(serialize = "OpenAI Responses")]
    OpenAiResponses,
    #[strum(serialize = "OpenAI Chat")]
    OpenAiChat,
    Anthropic,
    Gemini,
    Mistral,
    Bedrock,
    Groq,
    DeepSeek,
    Qwen,
    Moonshot,
    MiniMax,
    #[strum(serialize = "llama.cpp")]
    LlamaCpp,
    /// A gateway that speaks a provider's dialect.
    #[strum(serialize = "a gateway")]
    Gateway,
    /// Whoever answered with a status and nothing else.
    #[strum(serialize = "HTTP")]
    Http,
    #[strum(serialize = "Claude Code")]
    ClaudeCode,
    #[strum(serialize = "Gemini CLI")]
    GeminiCli,
    Codex,
    #[strum(serialize = "OpenAI Agents SDK")]
    AgentsSdk,
    #[strum(serialize = "openai-node")]
    OpenAiNode,
    #[strum(serialize = "Vercel AI SDK")]
    VercelAi,
    LangGraph,
    #[strum(serialize = "Pydantic AI")]
    PydanticAi,
    #[strum(serialize = "MCP")]
    Mcp,
}

impl Provider {
    /// Whether requests of a dialect are answered by this provider itself, not by one that speaks alike.
    pub fn owns(self, dialect: Dialect) -> bool {
        let facts = dialect.facts();
        [facts.vendor, facts.title].contains(&self.name())
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What is wrong, whatever the provider calls it. `faults.toml` explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    CallWithoutOutput,
    OutputWithoutCall,
    CountMismatch,
    TurnOrder,
    DuplicateOutput,
    DuplicateCallId,
    DuplicateItemId,
    MissingCallId,
    WrongIdPrefix,
    IdTooLong,
    IdCharacters,
    ItemNotStored,
    ReasoningWithoutFollower,
    CallWithoutReasoning,
    ReasoningNotAccepted,
    ThinkingModified,
    ThinkingMissing,
    BadSignature,
    MissingThoughtSignature,
    ServerPairBroken,
    UnknownToolRefused,
    UnknownTool,
    InvalidArgumentsRefused,
    MalformedCallRefused,
    InputNotObject,
    ArgumentsNotString,
    WrongFieldType,
    EmptyContent,
    EmptyErrorContent,
    EmptyToolCalls,
    UnknownItemType,
    UnknownRole,
    InvalidToolName,
    DuplicateToolNames,
    ToolSchemaInvalid,
    AssistantPrefill,
    ImageTooLarge,
    TooManyImages,
    RequestTooLarge,
    TooManyTools,
    ToolsNotOffered,
    ContextTooLong,
    Truncated,
    MaxTurns,
    MissingFinalOutput,
    InvalidFinalOutput,
    Refused,
    OutputNotCommitted,
    ApprovalMismatch,
    UnsupportedParameter,
    Overloaded,
    RateLimited,
    KeyRefused,
    NoCredit,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explanation {
    rule: Option<String>,
    meaning: String,
    remedy: String,
}

impl Fault {
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    fn explanation(self) -> &'static Explanation {
        static ALL: LazyLock<HashMap<Fault, Explanation>> =
            LazyLock::new(|| bundled::table(include_str!("faults.toml")));
        static NONE: Explanation = Explanation {
            rule: None,
            meaning: String::new(),
            remedy: String::new(),
        };
        ALL.get(&self).unwrap_or(&NONE)
    }

    /// The id of the rule that finds this fault in a recording, when one does.
    pub fn rule(self) -> Option<&'static str> {
        self.explanation().rule.as_deref()
    }

    /// Whether a reply is at fault, or a run as a whole, and nothing that the request holds.
    pub fn is_of_reply(self) -> bool {
        matches!(
            self,
            Self::UnknownToolRefused
                | Self::UnknownTool
                | Self::InvalidArgumentsRefused
                | Self::MalformedCallRefused
                | Self::Truncated
                | Self::MaxTurns
                | Self::MissingFinalOutput
                | Self::InvalidFinalOutput
                | Self::Refused
        )
    }

    /// Whether the request is at fault, not a reply or the service.
    pub fn is_of_request(self) -> bool {
        !self.is_of_reply() && !self.is_of_service()
    }

    /// Whether the history is at fault: it is refused again with each request that repeats it. A
    /// request can offer other tools, end otherwise or send less.
    pub fn is_of_history(self) -> bool {
        let is_beside = matches!(
            self,
            Self::ToolSchemaInvalid
                | Self::DuplicateToolNames
                | Self::TooManyTools
                | Self::ToolsNotOffered
                | Self::AssistantPrefill
                | Self::ContextTooLong
                | Self::OutputNotCommitted
                | Self::ApprovalMismatch
                | Self::UnsupportedParameter
        );
        self.is_of_request() && !is_beside
    }

    /// Whether the service, the key or the account is at fault, and nothing that a request says.
    pub fn is_of_service(self) -> bool {
        matches!(
            self,
            Self::Overloaded | Self::RateLimited | Self::KeyRefused | Self::NoCredit
        )
    }

    /// Which half of a pair it is about.
    pub fn half(self) -> Kind {
        match self {
            Self::OutputWithoutCall | Self::DuplicateOutput | Self::EmptyErrorContent => {
                Kind::Output
            }
            _ => Kind::Call,
        }
    }

    /// Whether a rule finds a fault for which a provider refuses the request that holds it.
    pub fn is_refused(rule: &str) -> bool {
        let mut faults = Self::ALL.iter();
        faults.any(|fault| !fault.is_of_reply() && fault.rule() == Some(rule))
    }

    /// What it means, in one sentence.
    pub fn meaning(self) -> &'static str {
        &self.explanation().meaning
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        &self.explanation().remedy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_explanation_is_a_sentence() {
        for fault in Fault::ALL {
            for text in [fault.meaning(), fault.remedy()] {
                assert!(
                    text.ends_with('.') && text.starts_with(char::is_uppercase),
                    "{fault:?}: {text}"
                );
            }
        }
    }

    /// The rules of a recording; a refusal may point at these and no others.
    const RULES: &[&str] = &[
        "unknown-tool",
        "malformed-arguments",
        "invalid-arguments",
        "orphan-call",
        "orphan-output",
        "misplaced-output",
        "duplicate-call-id",
        "duplicate-output",
        "missing-call-id",
        "invalid-tool-name",
        "invalid-tool-definition",
        "malformed-message",
        "missing-signature",
        "assistant-prefill",
        "image-limits",
        "orphan-hosted-result",
        "orphan-reasoning",
        "invalid-final-output",
        "missing-final-output",
        "truncated-response",
        "refused",
        "turn-limit",
    ];

    #[test]
    fn faults_point_at_rules_that_exist() {
        for fault in Fault::ALL {
            assert!(
                fault.rule().is_none_or(|rule| RULES.contains(&rule)),
                "{fault:?}"
            );
        }
    }
}
