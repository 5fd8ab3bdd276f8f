//! The dialects of providers.

/// How a provider spells requests, replies and streams. What is known of each is in [`crate::wire`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI Responses API; meant where nothing says which.
    #[default]
    Responses,
    /// OpenAI Chat Completions API, and the many servers that speak it.
    Chat,
    Anthropic,
    Gemini,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Anthropic, Self::Gemini];
}
