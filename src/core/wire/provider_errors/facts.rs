//! The closed list of what a refusal can mean, and who says so. Every word of explanation is here, once.

use crate::session::{Dialect, Kind};
use serde::Deserialize;

/// Who speaks: a provider's API, or a program between the model and the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    OpenAi,
    OpenAiResponses,
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
    LlamaCpp,
    /// A gateway that speaks a provider's dialect.
    Gateway,
    ClaudeCode,
    GeminiCli,
    Codex,
    AgentsSdk,
    OpenAiNode,
    VercelAi,
    LangGraph,
    PydanticAi,
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
        match self {
            Provider::OpenAi => "OpenAI",
            Provider::OpenAiResponses => "OpenAI Responses",
            Provider::OpenAiChat => "OpenAI Chat",
            Provider::Anthropic => "Anthropic",
            Provider::Gemini => "Gemini",
            Provider::Mistral => "Mistral",
            Provider::Bedrock => "Bedrock",
            Provider::Groq => "Groq",
            Provider::DeepSeek => "DeepSeek",
            Provider::Qwen => "Qwen",
            Provider::Moonshot => "Moonshot",
            Provider::MiniMax => "MiniMax",
            Provider::LlamaCpp => "llama.cpp",
            Provider::Gateway => "a gateway",
            Provider::ClaudeCode => "Claude Code",
            Provider::GeminiCli => "Gemini CLI",
            Provider::Codex => "Codex",
            Provider::AgentsSdk => "OpenAI Agents SDK",
            Provider::OpenAiNode => "openai-node",
            Provider::VercelAi => "Vercel AI SDK",
            Provider::LangGraph => "LangGraph",
            Provider::PydanticAi => "Pydantic AI",
            Provider::Mcp => "MCP",
        }
    }
}

macro_rules! faults {
    ($($name:ident, $rule:expr, $meaning:literal, $remedy:literal;)*) => {
        /// What is wrong, whatever the provider calls it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Fault {
            $(#[doc = $meaning] $name,)*
        }

        impl Fault {
            pub const ALL: &'static [Fault] = &[$(Fault::$name),*];

            /// The id of the rule that finds this fault in a recording, when one does.
            pub fn rule(self) -> Option<&'static str> {
                match self { $(Fault::$name => $rule,)* }
            }

            /// Whether a reply is at fault, or a run as a whole, and nothing that the request holds.
            pub fn is_of_reply(self) -> bool {
                matches!(
                    self,
                    Fault::UnknownToolRefused
                        | Fault::UnknownTool
                        | Fault::InvalidArgumentsRefused
                        | Fault::MalformedCallRefused
                        | Fault::Truncated
                        | Fault::MaxTurns
                        | Fault::MissingFinalOutput
                        | Fault::InvalidFinalOutput
                        | Fault::Refused
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
                    Fault::ToolSchemaInvalid
                        | Fault::DuplicateToolNames
                        | Fault::TooManyTools
                        | Fault::ToolsNotOffered
                        | Fault::AssistantPrefill
                        | Fault::ContextTooLong
                        | Fault::OutputNotCommitted
                        | Fault::ApprovalMismatch
                        | Fault::UnsupportedParameter
                );
                self.is_of_request() && !is_beside
            }

            /// Whether the service, the key or the account is at fault, and nothing that a request says.
            pub fn is_of_service(self) -> bool {
                matches!(
                    self,
                    Fault::Overloaded | Fault::RateLimited | Fault::KeyRefused | Fault::NoCredit
                )
            }

            /// Which half of a pair it is about.
            pub fn half(self) -> Kind {
                match self {
                    Fault::OutputWithoutCall | Fault::DuplicateOutput | Fault::EmptyErrorContent => {
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
                match self { $(Fault::$name => $meaning,)* }
            }

            /// What to do about it.
            pub fn remedy(self) -> &'static str {
                match self { $(Fault::$name => $remedy,)* }
            }
        }
    };
}

faults! {
    CallWithoutOutput, Some("orphan-call"),
        "The history holds a tool call whose output is missing or not where this provider looks for it.",
        "Supply an output for the call, move the output to where it belongs, or drop the call.";
    OutputWithoutCall, Some("orphan-output"),
        "The history holds a tool output whose call is missing or not right before it.",
        "Drop the output, or bring back the call it answers.";
    CountMismatch, Some("orphan-call"),
        "A turn's tool calls and the outputs that answer them differ in number.",
        "Give each call of the turn exactly one output, all of them in the turn that follows.";
    TurnOrder, Some("misplaced-output"),
        "Two neighbouring messages stand in an order that this provider forbids.",
        "Move the tool outputs to right after their calls and merge or drop what is between.";
    DuplicateOutput, Some("duplicate-output"),
        "One tool call has more than one output.",
        "Keep one output and drop the others.";
    DuplicateCallId, Some("duplicate-call-id"),
        "Two tool calls carry the same id.",
        "Give the later call, and the output that answers it, an id of its own.";
    DuplicateItemId, Some("malformed-message"),
        "The request holds the same item twice.",
        "Drop the copy; it often comes from sending both a stored response and its items.";
    MissingCallId, Some("missing-call-id"),
        "A tool call or its output has no call id.",
        "Give the call an id and repeat it in the output.";
    WrongIdPrefix, Some("malformed-message"),
        "An item's id has the prefix of another item type, or was made up by a client.",
        "Leave the item's `id` out, or use the one the provider gave it; `call_id` is another field.";
    IdTooLong, Some("malformed-message"),
        "An id is longer than this provider allows.",
        "Shorten the id in the call and in its output alike.";
    IdCharacters, Some("malformed-message"),
        "An id is empty or has characters that this provider refuses, as happens with history from another provider.",
        "Rewrite the id in the call and in its output alike, with letters, digits, `_` and `-` only.";
    ItemNotStored, None,
        "The request refers to an item or response that the provider has not stored.",
        "Send the item's content in place of its id, or store responses.";
    ReasoningWithoutFollower, Some("orphan-reasoning"),
        "A reasoning item has lost the message or call that it led to.",
        "Drop the reasoning item, or bring back what followed it.";
    CallWithoutReasoning, Some("orphan-reasoning"),
        "An item has lost the reasoning item that it belongs to.",
        "Bring back the reasoning item, or leave out the item's `id`.";
    ReasoningNotAccepted, None,
        "The history holds reasoning items, and the model does not reason.",
        "Drop the reasoning items, or send them to a reasoning model.";
    ThinkingModified, None,
        "A thinking block of the last assistant message differs from what the model wrote.",
        "Send the thinking blocks back unchanged, or drop all of them.";
    ThinkingMissing, None,
        "Thinking is on, but an assistant message with tool calls has lost its thinking.",
        "Send the thinking back with the message, or turn thinking off for this request.";
    BadSignature, Some("missing-signature"),
        "The signature of a thinking block is missing or not the provider's own.",
        "Drop the thinking block, or send back the signature that came with it.";
    MissingThoughtSignature, None,
        "A function call came with a thought signature that the history has lost.",
        "Send each function call part back with its signature.";
    ServerPairBroken, Some("orphan-hosted-result"),
        "A call to a tool that the provider runs itself has been parted from its result.",
        "Keep both blocks in the same assistant message, the result after the call, or drop both.";
    UnknownToolRefused, Some("unknown-tool"),
        "The model called a tool that was not offered, and the provider refused the reply.",
        "Offer the tool, or ask again with the names that exist.";
    UnknownTool, Some("unknown-tool"),
        "The model called a tool that the runtime does not know.",
        "Offer the tool, or answer the call with an error that names the tools that exist.";
    InvalidArgumentsRefused, Some("invalid-arguments"),
        "The arguments of a call break the tool's schema.",
        "Correct the arguments, or answer the call with the violations.";
    MalformedCallRefused, Some("malformed-arguments"),
        "The model's tool call could not be read at all.",
        "Repair the arguments, or ask again; a shorter tool list and simpler schemas help.";
    InputNotObject, Some("malformed-arguments"),
        "The arguments of a call in the history are no JSON object.",
        "Repair the arguments to an object; what cannot be repaired becomes `{}` with an error as its output.";
    ArgumentsNotString, Some("malformed-message"),
        "This provider wants arguments as a string of JSON, and the request has them as an object.",
        "Encode the arguments as a string.";
    WrongFieldType, Some("malformed-message"),
        "A field of the request has the wrong JSON type.",
        "Turn the field into the type that the error names; tool outputs are mostly strings.";
    EmptyContent, Some("malformed-message"),
        "A message or a block of text is empty.",
        "Drop the empty block or put text into it.";
    EmptyErrorContent, Some("malformed-message"),
        "A tool output is marked as an error and says nothing.",
        "Put the error's text into the output.";
    EmptyToolCalls, Some("malformed-message"),
        "An assistant message has an empty list of tool calls.",
        "Leave the list out.";
    UnknownItemType, None,
        "The provider, or a gateway before it, does not know an item of the history.",
        "Drop the item, or convert the history to the provider's dialect.";
    UnknownRole, Some("malformed-message"),
        "A message has a role that this dialect does not know.",
        "Convert the history to the dialect; a `tool` role is Chat's, Anthropic and Gemini answer in user messages.";
    InvalidToolName, Some("invalid-tool-name"),
        "A tool name, offered or in the history, breaks the provider's pattern or length.",
        "Rename the tool; in the history a made-up name can be rewritten with its output saying so.";
    DuplicateToolNames, Some("invalid-tool-definition"),
        "Two offered tools have the same name.",
        "Rename one; tools of several servers need a prefix.";
    ToolSchemaInvalid, Some("invalid-tool-definition"),
        "The parameter schema of an offered tool is not accepted.",
        "Correct the schema; an object type with properties, and items for arrays, satisfy every provider.";
    AssistantPrefill, Some("assistant-prefill"),
        "The request ends on an assistant message, and this model does not continue one.",
        "Drop the message, or end the history with what the user wants next.";
    ImageTooLarge, Some("image-limits"),
        "A picture of the history has more pixels than the provider takes with so many pictures in the request.",
        "Drop the picture or make it smaller; a compaction takes old pictures out.";
    TooManyImages, Some("image-limits"),
        "The request holds more pictures than the provider takes.",
        "Drop old pictures; a compaction takes them out.";
    RequestTooLarge, None,
        "The request has more bytes than the provider takes, mostly for the pictures and files in it.",
        "Drop old pictures and large outputs, or compact the history at a boundary that splits no pair.";
    TooManyTools, None,
        "More tools are offered than the provider accepts.",
        "Offer fewer tools.";
    ToolsNotOffered, None,
        "The history holds tool calls, and the request offers no tools.",
        "Send the tool list again with every request.";
    ContextTooLong, None,
        "The request is longer than the model's context.",
        "Compact or cut the history at a boundary that splits no pair.";
    Truncated, Some("truncated-response"),
        "The reply reached the token limit before it was of use.",
        "Raise the output limit, or ask for less at once.";
    MaxTurns, Some("turn-limit"),
        "The run reached its turn limit.",
        "Look for the call that repeats before raising the limit.";
    MissingFinalOutput, Some("missing-final-output"),
        "The run ended without the final output it needs.",
        "Ask again, or accept a fallback value.";
    InvalidFinalOutput, Some("invalid-final-output"),
        "The final output does not satisfy its schema.",
        "Show the model the violations and ask again, or accept a fallback value.";
    Refused, Some("refused"),
        "The model or a content filter refused.",
        "Change the request; the same one is refused again.";
    OutputNotCommitted, None,
        "A tool ran, but its output was never saved; running it again would repeat its effects.",
        "Look up what the tool did and supply its output by hand.";
    ApprovalMismatch, None,
        "An approval does not belong to the call it is meant for.",
        "Approve the call again from the state it was asked in.";
    UnsupportedParameter, None,
        "The request has a parameter that the model does not take.",
        "Leave the parameter out, or use the one that the error names; it is set beside the history.";
    Overloaded, None,
        "The service is overloaded; nothing in the history causes it.",
        "Wait and send the same request again.";
    RateLimited, None,
        "The account has sent too many requests or tokens in a short time; nothing in the history causes it.",
        "Wait as long as the error says and send the same request again; smaller or fewer requests help.";
    KeyRefused, None,
        "The provider does not accept the API key or login; nothing in the history causes it.",
        "Check the key or log in again, and that the key belongs to this provider and its base URL.";
    NoCredit, None,
        "The account has no credit or quota left; nothing in the history causes it.",
        "Add credit or raise the limit of the account, or use another key; waiting does not help.";
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
