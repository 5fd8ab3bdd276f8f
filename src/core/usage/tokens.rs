//! Tokens, in the spelling of any provider.

use crate::session::ledger::Usage;
use serde_json::Value;

/// The tokens of one request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// What was sent, with what came from the provider's cache and what was put there.
    pub input: u64,
    /// The part of `input` that came from the cache.
    pub cached: u64,
    /// The part of `input` that was put into the cache for the usual few minutes.
    pub written: u64,
    /// The part of `input` that was put into the cache for an hour.
    pub written_1h: u64,
    /// What was answered, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning, where the provider counts it.
    pub reasoning: u64,
}

impl Tokens {
    /// Those of a reply of a run; `None` where the provider counted none.
    pub(super) fn of_run(usage: Usage) -> Option<Self> {
        let Usage { input, output } = usage;
        (input > 0 || output > 0).then(|| Self {
            input,
            output,
            ..Self::default()
        })
    }

    /// Those of the value of a `usage` member, in the spelling of any provider.
    pub(super) fn of_value(raw: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(raw).ok()?;
        let usage = crate::wire::usage_of(&format!("{{\"usage\":{raw}}}"));
        let count = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64);
        let details = ["input_tokens_details", "prompt_tokens_details"];
        let details = details.iter().filter_map(|key| match value.get(*key)? {
            Value::Array(parts) => parts.first(),
            one => Some(one),
        });
        let detailed = details.filter_map(|it| count(it, "cached_tokens"));
        let own = [
            "cache_read_input_tokens",
            "cached_input_tokens",
            "cachedContentTokenCount",
        ];
        let own = own.iter().filter_map(|key| count(&value, key));
        let cached = own.chain(detailed).max().unwrap_or(0).min(usage.input);
        let written = count(&value, "cache_creation_input_tokens").unwrap_or(0);
        let written = written.min(usage.input - cached);
        let kept = value.get("cache_creation");
        let kept = kept.and_then(|it| count(it, "ephemeral_1h_input_tokens"));
        let written_1h = kept.unwrap_or(0).min(written);
        let details = ["output_tokens_details", "completion_tokens_details"];
        let details = details.iter().filter_map(|key| value.get(*key));
        let detailed = details.filter_map(|it| count(it, "reasoning_tokens"));
        let own = ["reasoning_output_tokens", "thoughtsTokenCount"];
        let own = own.iter().filter_map(|key| count(&value, key));
        let reasoning = own.chain(detailed).max().unwrap_or(0).min(usage.output);
        let tokens = Self {
            input: usage.input,
            cached,
            written: written - written_1h,
            written_1h,
            output: usage.output,
            reasoning,
        };
        (tokens != Self::default()).then_some(tokens)
    }

    /// What was sent; `None` where only the answer was counted, since no request is empty.
    pub fn sent(&self) -> Option<u64> {
        (self.input > 0).then_some(self.input)
    }

    /// The part of `input` that has nothing to do with the cache.
    pub fn plain(&self) -> u64 {
        let cache = self.cached + self.written + self.written_1h;
        self.input.saturating_sub(cache)
    }

    /// What the cache did not hold, and the answer.
    pub fn fresh(&self) -> u64 {
        self.input
            .saturating_sub(self.cached)
            .saturating_add(self.output)
    }

    /// How much of `input` came from the cache; `None` where nothing is recorded of a cache.
    pub fn cached_percent(&self) -> Option<u64> {
        let is_recorded = self.plain() < self.input;
        is_recorded.then(|| self.cached.saturating_mul(100) / self.input)
    }

    pub fn add(&mut self, other: Self) {
        let Self {
            input,
            cached,
            written,
            written_1h,
            output,
            reasoning,
        } = other;
        self.input = self.input.saturating_add(input);
        self.cached = self.cached.saturating_add(cached);
        self.written = self.written.saturating_add(written);
        self.written_1h = self.written_1h.saturating_add(written_1h);
        self.output = self.output.saturating_add(output);
        self.reasoning = self.reasoning.saturating_add(reasoning);
    }
}
