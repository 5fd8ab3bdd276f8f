//! Tokens, in the spelling of any provider.

/// The tokens of one request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// What was sent, with what came from the provider's cache.
    pub input: u64,
    /// The part of `input` that came from the cache.
    pub cached: u64,
    /// What was answered, reasoning included.
    pub output: u64,
}

impl Tokens {
    /// Those of the value of a `usage` member, in the spelling of any provider.
    pub(super) fn of_value(raw: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(raw).ok()?;
        let usage = crate::dialects::usage_of(&format!("{{\"usage\":{raw}}}"));
        let details = ["input_tokens_details", "prompt_tokens_details"];
        let details = details.iter().filter_map(|key| match value.get(*key)? {
            serde_json::Value::Array(parts) => parts.first(),
            one => Some(one),
        });
        let detailed = details.filter_map(|it| it.get("cached_tokens")?.as_u64());
        let own = ["cache_read_input_tokens", "cached_input_tokens"];
        let own = own.iter().filter_map(|key| value.get(*key)?.as_u64());
        let tokens = Self {
            input: usage.input,
            cached: own.chain(detailed).max().unwrap_or(0).min(usage.input),
            output: usage.output,
        };
        (tokens != Self::default()).then_some(tokens)
    }

    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}
