//! What one turn and one call took.

use super::codex::{Counted, counted};
use super::record::Envelope;
use super::tokens::Tokens;
use crate::session::{Session, SourceError, Span, Speaker, Turn};

/// What a recording says of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnUsage {
    /// When it began.
    pub at: Option<u64>,
    /// How long nothing happened before it: of what the user says, how long that took. Milliseconds.
    pub gap: Option<u64>,
    /// How long the model took to answer. Milliseconds.
    pub took: Option<u64>,
    pub tokens: Option<Tokens>,
    /// How many tokens the model takes at most, where the recording says so.
    pub window: Option<u64>,
}

/// Most records of a turn that are read: a turn may be the whole file.
const MOST: usize = 64;

/// When an item was recorded.
pub fn item_time(session: &Session, index: usize) -> Result<Option<u64>, SourceError> {
    match session.items.get(index) {
        Some(item) => Ok(Envelope::of(session, item)?.at),
        None => Ok(None),
    }
}

/// What a turn took.
pub fn turn_usage(session: &Session, turn: usize) -> Result<TurnUsage, SourceError> {
    let Some(found) = session.turns.get(turn).copied() else {
        return Ok(TurnUsage::default());
    };
    let items = found.items();
    let mut usage = TurnUsage {
        at: item_time(session, items.start)?,
        ..TurnUsage::default()
    };
    let before = match items.start.checked_sub(1) {
        Some(before) => item_time(session, before)?,
        None => None,
    };
    let since = |moment: Option<u64>| moment?.checked_sub(before?);
    if found.speaker != Speaker::Model {
        usage.gap = since(usage.at);
        return Ok(usage);
    }
    let (mut last_record, mut ended) = (None, None);
    for index in items.clone().take(MOST) {
        let item = &session.items[index];
        if !item.kind.is_from_model() || last_record == Some(item.record) {
            continue;
        }
        last_record = Some(item.record);
        let envelope = Envelope::of(session, item)?;
        ended = envelope.at.or(ended);
        // A reply over several lines counts what it has so far on each.
        let is_later = |tokens: &Tokens| {
            let known = usage.tokens.map_or(0, |known: Tokens| known.output);
            tokens.output >= known
        };
        usage.tokens = envelope.tokens.filter(is_later).or(usage.tokens);
    }
    usage.took = since(ended);
    if session.format == "codex" {
        let Counted { tokens, window } = counted(session, around(session, turn, &found))?;
        (usage.tokens, usage.window) = (tokens, window);
    }
    Ok(usage)
}

/// The bytes of a turn with what stands before its first record, and behind its last one where no reply follows.
fn around(session: &Session, turn: usize, found: &Turn) -> Span {
    let record = |index: usize| {
        let item = session.items.get(index)?;
        session.records.get(item.record as usize)
    };
    let items = found.items();
    let start = items.start.checked_sub(1).and_then(record);
    let next = session.turns.get(turn + 1);
    let is_next_reply = next.is_some_and(|next| next.speaker == Speaker::Model);
    let end = match is_next_reply {
        true => record(items.end.saturating_sub(1)).map(|last| last.span.end),
        false => Some(record(items.end).map_or(session.source.len(), |next| next.span.start)),
    };
    let start = start.map_or(0, |before| before.span.end);
    Span {
        start,
        end: end.unwrap_or(start).max(start),
    }
}

/// How long a call took, in milliseconds: as its result says, else from the moment it was recorded to that of its
/// result.
pub fn call_duration(session: &Session, call: usize) -> Result<Option<u64>, SourceError> {
    let output = session
        .pairing
        .partner(call)
        .and_then(|it| session.items.get(it));
    let (Some(call), Some(output)) = (session.items.get(call), output) else {
        return Ok(None);
    };
    let end = Envelope::of(session, output)?;
    if end.took.is_some() {
        return Ok(end.took);
    }
    let start = Envelope::of(session, call)?;
    Ok(end
        .at
        .zip(start.at)
        .and_then(|(end, start)| end.checked_sub(start)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::read_buffer;
    use crate::session::{Session, Source};
    use std::sync::Arc;

    fn read(id: &str, text: &str) -> Session {
        let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
        let format = crate::formats::FORMATS
            .iter()
            .find(|format| format.id == id)
            .unwrap();
        let contents = read_buffer(format, &source, text.as_bytes()).unwrap();
        contents.sessions.into_iter().next().unwrap()
    }

    #[test]
    fn a_log_of_claude_code_says_when_how_long_and_how_much() {
        let session = read(
            "claude-code",
            r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:02.500Z","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":1}}}
{"type":"assistant","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":42}}}
{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:04.250Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}}
{"type":"user","uuid":"5","parentUuid":"4","sessionId":"s","timestamp":"2026-01-01T00:01:00.000Z","message":{"role":"user","content":"more"}}
"#,
        );
        let reply = turn_usage(&session, 1).unwrap();
        let tokens = Tokens {
            input: 100,
            cached: 90,
            output: 42,
        };
        assert_eq!(reply.tokens, Some(tokens));
        assert_eq!(reply.took, Some(3_000));
        assert_eq!(call_duration(&session, 2).unwrap(), Some(1_250));
        let asked = turn_usage(&session, 2).unwrap();
        assert_eq!((asked.gap, asked.tokens), (Some(55_750), None));
    }

    #[test]
    fn the_counts_of_codex_belong_to_the_reply_before_or_after_them() {
        let count = |input: u64| {
            format!(
                r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{{"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":1,"output_tokens":2}},"model_context_window":272000}}}}}}"#
            )
        };
        let item = |payload: &str| {
            format!(
                r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{payload}}}"#
            )
        };
        let call =
            item(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}"#);
        let output = item(r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#);
        let said = item(r#"{"type":"message","role":"assistant","content":[]}"#);
        let user = item(r#"{"type":"message","role":"user","content":[]}"#);
        let (early, late) = (count(10), count(20));
        let before = [&user, &early, &call, &output, &late, &said];
        let after = [&user, &call, &early, &output, &said, &late];
        for lines in [before, after] {
            let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
            let session = read("codex", &lines.join("\n"));
            let input = |turn: usize| {
                turn_usage(&session, turn)
                    .unwrap()
                    .tokens
                    .map(|it| it.input)
            };
            assert_eq!((input(0), input(1), input(2)), (None, Some(10), Some(20)));
            assert_eq!(turn_usage(&session, 1).unwrap().window, Some(272_000));
        }
    }
}
