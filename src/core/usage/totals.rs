//! Where tokens and time went in a session: in all, by tool, by turn, and which results were the largest.

use super::tokens::Tokens;
use super::turn::{TurnUsage, call_duration, item_time, turn_usage};
use crate::session::{Flags, Kind, Session, SourceError, Speaker};
use std::collections::BTreeMap;

/// What a session took. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionUsage {
    pub turns: usize,
    /// Replies that say how many tokens they took.
    pub counted: usize,
    pub tokens: Tokens,
    /// While the model answered.
    pub model: u64,
    /// While tools ran; of those that ran side by side each on its own.
    pub tools: u64,
    /// Before the user said something.
    pub waiting: u64,
    /// From the first moment to the last.
    pub span: Option<u64>,
    /// By the name of the tool, those with the largest results first.
    pub by_tool: Vec<ToolUsage>,
    /// Every reply with its turn, counted from 0.
    pub by_turn: Vec<(usize, TurnUsage)>,
    /// The largest results, the largest first.
    pub results: Vec<ResultUsage>,
}

/// What the calls of a tool took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolUsage {
    pub name: String,
    pub calls: usize,
    /// Results that say that they are errors.
    pub errors: usize,
    /// Milliseconds; `None` where the recording does not say.
    pub took: Option<u64>,
    /// Bytes of the results, as they are recorded.
    pub bytes: u64,
}

/// A large result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultUsage {
    /// Index of the call.
    pub call: usize,
    /// Index of its turn.
    pub turn: usize,
    /// Bytes of the result, as it is recorded.
    pub bytes: u64,
    pub took: Option<u64>,
}

/// How many of the largest results are kept.
const LARGEST: usize = 10;

impl SessionUsage {
    /// Reads the envelopes of all records; `None` where `is_cancelled` says so on the way.
    pub fn of(
        session: &Session,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, SourceError> {
        let mut totals = Self {
            turns: session.turns.len(),
            ..Self::default()
        };
        for (turn, found) in session.turns.iter().enumerate() {
            if is_cancelled() {
                return Ok(None);
            }
            let usage = turn_usage(session, turn)?;
            totals.model += usage.took.unwrap_or(0);
            if found.speaker == Speaker::User {
                totals.waiting += usage.gap.unwrap_or(0);
            }
            if let Some(tokens) = usage.tokens {
                totals.counted += 1;
                totals.tokens.add(tokens);
            }
            if found.speaker == Speaker::Model {
                totals.by_turn.push((turn, usage));
            }
        }
        let mut tools: BTreeMap<&str, ToolUsage> = BTreeMap::new();
        for (index, item) in session.items.iter().enumerate() {
            if !matches!(item.kind, Kind::Call | Kind::HostedCall) {
                continue;
            }
            if is_cancelled() {
                return Ok(None);
            }
            let tool = tools.entry(session.name(item)).or_default();
            tool.calls += 1;
            let output = session.pairing.partner(index);
            let Some(output) = output.and_then(|output| session.items.get(output)) else {
                continue;
            };
            let took = call_duration(session, index)?;
            tool.errors += usize::from(output.flags.has(Flags::ERROR));
            tool.bytes += output.span.len();
            if let Some(took) = took {
                tool.took = Some(tool.took.unwrap_or(0) + took);
                totals.tools += took;
            }
            totals.results.push(ResultUsage {
                call: index,
                turn: item.turn as usize,
                bytes: output.span.len(),
                took,
            });
            if totals.results.len() > 4 * LARGEST {
                totals.keep_largest();
            }
        }
        totals.keep_largest();
        totals.by_tool = tools
            .into_iter()
            .map(|(name, usage)| ToolUsage {
                name: name.to_owned(),
                ..usage
            })
            .collect();
        totals
            .by_tool
            .sort_by_key(|tool| std::cmp::Reverse(tool.bytes));
        let first = item_time(session, 0)?;
        let last = item_time(session, session.items.len().saturating_sub(1))?;
        totals.span = last
            .zip(first)
            .and_then(|(last, first)| last.checked_sub(first));
        Ok(Some(totals))
    }

    fn keep_largest(&mut self) {
        self.results
            .sort_by_key(|result| std::cmp::Reverse(result.bytes));
        self.results.truncate(LARGEST);
    }

    /// The replies that took the most tokens, the most first.
    pub fn largest_turns(&self) -> Vec<(usize, TurnUsage)> {
        let mut turns = self.by_turn.clone();
        let uncached = |usage: &TurnUsage| {
            let tokens = usage.tokens.unwrap_or_default();
            tokens.input - tokens.cached + tokens.output
        };
        turns.retain(|(_, usage)| usage.tokens.is_some());
        turns.sort_by_key(|(_, usage)| std::cmp::Reverse(uncached(usage)));
        turns.truncate(LARGEST);
        turns
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::{FORMATS, read_buffer};
    use crate::session::Source;
    use std::sync::Arc;

    const LOG: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:03Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}}}
{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}
{"type":"assistant","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:06Z","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":200,"output_tokens":7}}}
{"type":"user","uuid":"5","parentUuid":"4","sessionId":"s","timestamp":"2026-01-01T00:01:06Z","message":{"role":"user","content":"bye"}}
"#;

    #[test]
    fn sums_are_those_of_the_turns_and_of_the_calls() {
        let source: Arc<dyn Source> = Arc::new(LOG.as_bytes().to_vec());
        let format = FORMATS.iter().find(|it| it.id == "claude-code").unwrap();
        let contents = read_buffer(format, &source, LOG.as_bytes()).unwrap();
        let session = &contents.sessions[0];
        let totals = SessionUsage::of(session, &|| false).unwrap().unwrap();
        let tokens = Tokens {
            input: 300,
            cached: 90,
            output: 12,
        };
        assert_eq!((totals.tokens, totals.counted), (tokens, 2));
        assert_eq!(
            (totals.model, totals.tools, totals.waiting),
            (5_000, 1_000, 60_000)
        );
        assert_eq!(totals.span, Some(66_000));
        let bash = &totals.by_tool[0];
        assert_eq!(
            (bash.name.as_str(), bash.calls, bash.errors, bash.took),
            ("Bash", 1, 1, Some(1_000))
        );
        assert_eq!(totals.largest_turns()[0].0, 2, "what is not cached counts");
        assert_eq!(totals.results[0].turn, 1);
        assert_eq!(SessionUsage::of(session, &|| true).unwrap(), None);
    }
}
