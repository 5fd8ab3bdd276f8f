//! What one turn and one call took.

use super::counted::{Counted, counted, replies_of_state};
use super::order::UsageOrder;
use super::prices::{Cost, Prices, RequestCost};
use super::record::Envelopes;
use super::tokens::Tokens;
use crate::session::ledger::ReplyCost;
use crate::session::{Item, Kind, Session, SourceError, Span, Speaker, ToolRun, Turn};
use crate::wire::body_within;
use std::ops::Range;
use std::sync::Arc;

/// What a recording says of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnUsage {
    pub at: Option<u64>,
    /// How long nothing happened before it: of what the user says, how long that took. Milliseconds.
    pub gap: Option<u64>,
    /// How long the model took to answer. Milliseconds.
    pub took: Option<u64>,
    /// How long a proxy awaited a decision about the request, and one about the answer. Milliseconds.
    pub held: [u64; 2],
    /// When the answer was there.
    pub ended: Option<u64>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    pub tokens: Option<Tokens>,
    /// Whether the reply says far more than its output tokens can hold: Claude Code may log the count that came
    /// with the first chunk of a stream.
    pub is_undercounted: bool,
    /// What they cost, as it is recorded, else where the prices of the model are known.
    pub cost: Option<RequestCost>,
    pub has_recorded_cost: bool,
    /// How many tokens the model takes at most.
    pub window: Option<u64>,
}

impl TurnUsage {
    /// Its place in an order: the larger the earlier.
    pub fn rank(&self, order: UsageOrder) -> (u64, u64) {
        let tokens = self.tokens.unwrap_or_default();
        let cost = self.cost.map_or(0, |cost| cost.all.raw());
        match order {
            UsageOrder::Cost => (cost, tokens.fresh()),
            UsageOrder::Time => (self.took.unwrap_or(0), cost),
            UsageOrder::Size => (tokens.input.saturating_add(tokens.output), cost),
        }
    }

    /// How much of its window the model had used after its answer, in percent.
    pub fn fullness(&self) -> Option<u64> {
        let (tokens, window) = (self.tokens?, self.window.filter(|window| *window > 0)?);
        let used = tokens.sent()?.saturating_add(tokens.output);
        Some(used.saturating_mul(100) / window)
    }
}

/// Most records of a turn that are read: a turn may be the whole file.
const MOST: usize = 64;

/// How many bytes of a text are taken for a token.
pub(super) const BYTES_OF_TOKEN: u64 = 4;
/// So many times the text that its tokens hold is no matter of language.
const FAR_MORE: u64 = 3;
/// How much of an item is read for the length of its text.
const LONGEST: u64 = 64 * 1024;

/// Reads what a session took; what was read last is kept.
pub struct UsageReader<'a> {
    session: &'a Session,
    prices: &'a Prices,
    envelopes: Envelopes<'a>,
    /// What the replies of a state of a stopped run took, in order, once it is read.
    replies: Option<Vec<Tokens>>,
}

impl<'a> UsageReader<'a> {
    pub fn new(session: &'a Session, prices: &'a Prices) -> Self {
        Self {
            session,
            prices,
            envelopes: Envelopes::new(session),
            replies: None,
        }
    }

    /// When an item was recorded; of a result whose tool has its own time, when that ended.
    pub fn item_time(&mut self, index: usize) -> Result<Option<u64>, SourceError> {
        let session = self.session;
        let Some(item) = session.items.get(index) else {
            return Ok(None);
        };
        if matches!(item.kind, Kind::Output | Kind::HostedOutput) {
            let call = session.pairing.partner(index);
            if let Some(run) = call.and_then(|call| self.tool_run(call)) {
                return Ok(Some(run.end));
            }
        }
        let envelope = self.envelopes.of(item)?;
        // An exchange is one record: it holds the request and the reply.
        let later = envelope.replied_in.filter(|_| item.kind.is_from_model());
        let held = envelope.held.iter().sum::<u64>();
        let at = envelope
            .at
            .map(|at| at + later.map_or(0, |later| later + held));
        Ok(at.or_else(|| self.time_in_run(item)))
    }

    /// When a run got a reply; of what was there before its first one, when it began.
    fn time_in_run(&self, item: &Item) -> Option<u64> {
        let run = self.session.run.as_ref()?;
        let turn = self.session.turns.get(item.turn as usize)?;
        match turn.speaker {
            Speaker::Model if item.kind.is_from_model() => reply_of_run(self.session, turn)?.at,
            Speaker::System | Speaker::User => {
                let is_first = run
                    .replies
                    .keys()
                    .next()
                    .is_none_or(|first| turn.first < *first);
                run.began.filter(|_| is_first)
            }
            Speaker::Model | Speaker::File => None,
        }
    }

    /// What a turn took.
    pub fn turn(&mut self, turn: usize) -> Result<TurnUsage, SourceError> {
        let session = self.session;
        let Some(found) = session.turns.get(turn).copied() else {
            return Ok(TurnUsage::default());
        };
        let items = found.items();
        let mut usage = TurnUsage {
            at: self.item_time(items.start)?,
            ..TurnUsage::default()
        };
        let before = match items.start.checked_sub(1) {
            Some(before) => self.item_time(before)?,
            None => None,
        };
        let since = |moment: Option<u64>| moment?.checked_sub(before?);
        if found.speaker != Speaker::Model {
            usage.gap = since(usage.at);
            return Ok(usage);
        }
        let (mut last_record, mut ended, mut accumulated) = (None, None, None);
        for index in items.clone().take(MOST) {
            let item = &session.items[index];
            if !item.kind.is_from_model() || last_record == Some(item.record) {
                continue;
            }
            last_record = Some(item.record);
            ended = self.item_time(index)?.or(ended);
            let envelope = self.envelopes.of(item)?;
            // A reply over several lines counts what it has so far on each.
            let is_later = |tokens: &Tokens| {
                let known = usage.tokens.map_or(0, |known: Tokens| known.output);
                tokens.output >= known
            };
            if envelope.tokens.as_ref().is_some_and(is_later) {
                (usage.tokens, usage.cost) = (envelope.tokens, envelope.cost);
            }
            accumulated = envelope.accumulated_cost.or(accumulated);
            usage.model = envelope.model.or(usage.model);
            usage.took = envelope.replied_in.or(usage.took);
            usage.held = envelope.held;
        }
        if let Some(now) = accumulated.filter(|_| usage.cost.is_none()) {
            let cost = now.without(self.accumulated_before(items.start)?);
            let tokens = usage.tokens.unwrap_or_default();
            usage.cost = RequestCost::recorded(&cost.dollars().into(), &tokens);
        }
        if let Some(cost) = reply_of_run(session, &found) {
            usage.tokens = usage.tokens.or_else(|| Tokens::of_run(cost.usage));
            usage.took = usage.took.or(Some(cost.took));
        }
        usage.took = usage.took.or(since(ended));
        usage.ended = ended;
        match session.format {
            "codex" => {
                let Counted { tokens, window } = counted(session, around(session, turn, &found))?;
                (usage.tokens, usage.window) = (tokens, window);
                let models = session.models.iter().rev();
                let mut earlier = models.filter(|(from, _)| *from as usize <= items.start);
                usage.model = earlier.next().map(|(_, model)| model.clone());
            }
            "agents-runstate" => usage.tokens = self.reply_of_state(turn)?,
            "claude-code" => {
                let holds = usage.tokens.map(|it| FAR_MORE * BYTES_OF_TOKEN * it.output);
                usage.is_undercounted = holds.is_some_and(|holds| self.says_more(items, holds));
            }
            _ => {}
        }
        let recorded = session.model.as_deref().map(Arc::from);
        usage.model = usage.model.or(recorded);
        let model = usage.model.as_deref();
        let model = model.and_then(|model| self.prices.model(model));
        usage.has_recorded_cost = usage.cost.is_some();
        let priced = model.zip(usage.tokens.filter(|tokens| tokens.sent().is_some()));
        usage.cost = usage.cost.or(priced.map(|(it, tokens)| it.cost(&tokens)));
        usage.window = usage.window.or(model.and_then(|model| model.window));
        Ok(usage)
    }

    /// What the run had cost before an item.
    fn accumulated_before(&mut self, item: usize) -> Result<Cost, SourceError> {
        for earlier in self.session.items[..item].iter().rev() {
            if !earlier.kind.is_from_model() {
                continue;
            }
            if let Some(cost) = self.envelopes.of(earlier)?.accumulated_cost {
                return Ok(cost);
            }
        }
        Ok(Cost::default())
    }

    /// Whether the model wrote more than so many bytes in these items, its thoughts aside.
    fn says_more(&self, items: Range<usize>, bytes: u64) -> bool {
        let items = items.take(MOST).map(|index| &self.session.items[index]);
        let written = |item: &Item| item.kind.is_from_model() && item.kind != Kind::Reasoning;
        let items: Vec<&Item> = items.filter(|item| written(item)).collect();
        let recorded: u64 = items.iter().map(|item| item.span.len()).sum();
        // Most turns need no reading.
        if recorded <= bytes {
            return false;
        }
        let texts = items.iter().map(|item| {
            let body = body_within(self.session, item, LONGEST).unwrap_or_default();
            (body.text.len() + body.arguments.as_written().len()) as u64
        });
        texts.sum::<u64>() > bytes
    }

    /// The tokens of a reply of a stopped run: its state lists them apart from the history, whose end is theirs.
    fn reply_of_state(&mut self, turn: usize) -> Result<Option<Tokens>, SourceError> {
        let session = self.session;
        let replies = match self.replies.take() {
            Some(replies) => replies,
            None => replies_of_state(session)?,
        };
        let later = session.turns[turn + 1..].iter();
        let later = later.filter(|turn| turn.speaker == Speaker::Model).count();
        let place = replies.len().checked_sub(later + 1);
        let tokens = place.and_then(|place| replies.get(place)).copied();
        self.replies = Some(replies);
        Ok(tokens)
    }

    fn tool_run(&self, call: usize) -> Option<ToolRun> {
        let call = u32::try_from(call).ok()?;
        self.session.tool_runs.get(&call).copied()
    }

    /// When the tool of a call began; where that is not recorded, when the call was there.
    pub fn call_start(&mut self, call: usize) -> Result<Option<u64>, SourceError> {
        match self.tool_run(call) {
            Some(run) => Ok(Some(run.start)),
            None => self.item_time(call),
        }
    }

    /// How long a call took, in milliseconds: as the recording of its tool or its result says, else from the moment it
    /// was recorded to that of its result.
    pub fn call_duration(&mut self, call: usize) -> Result<Option<u64>, SourceError> {
        let session = self.session;
        if let Some(ToolRun { start, end }) = self.tool_run(call) {
            return Ok(end.checked_sub(start));
        }
        let Some(output) = session.pairing.partner(call) else {
            return Ok(None);
        };
        let Some(item) = session.items.get(output) else {
            return Ok(None);
        };
        if let Some(took) = self.envelopes.of(item)?.took {
            return Ok(Some(took));
        }
        let (end, start) = (self.item_time(output)?, self.item_time(call)?);
        let took = end.zip(start);
        let took = took.and_then(|(end, start)| end.checked_sub(start));
        // Codex writes a call and its result at the same moment, once both are there.
        Ok(took.filter(|took| *took > 0 || session.format != "codex"))
    }
}

/// What a run recorded of the reply of a turn.
fn reply_of_run(session: &Session, turn: &Turn) -> Option<ReplyCost> {
    let items = turn.items();
    let items = u32::try_from(items.start).ok()?..u32::try_from(items.end).ok()?;
    let mut replies = session.run.as_ref()?.replies.range(items);
    Some(*replies.next_back()?.1)
}

/// The bytes of a turn with what precedes its first record, and follows its last one where no reply comes.
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
    Span::new(start, end.unwrap_or(start).max(start))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::read_buffer;
    use crate::session::Source;

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
        let prices = Prices::built_in();
        let mut reader = UsageReader::new(&session, &prices);
        let reply = reader.turn(1).unwrap();
        let tokens = Tokens {
            input: 100,
            cached: 90,
            written: 7,
            written_1h: 0,
            output: 42,
            reasoning: 0,
        };
        assert_eq!(reply.tokens, Some(tokens));
        assert_eq!(reply.took, Some(3_000));
        assert_eq!(reader.call_duration(2).unwrap(), Some(1_250));
        let asked = reader.turn(2).unwrap();
        assert_eq!((asked.gap, asked.tokens), (Some(55_750), None));
    }

    #[test]
    fn a_giant_record_is_dated_by_its_last_members_however_it_is_spelled() {
        let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": "x, y ".repeat(20_000)}]);
        let record = |repeated: &str| {
            serde_json::json!({
                "type": "user", "uuid": "3", "parentUuid": "2", "sessionId": "s",
                "message": {"role": "user", "content": result},
                "toolUseResult": {"stdout": repeated, "timestamp": "2020-01-01T00:00:00Z"},
                "slug": "a, {\"b\"", "timestamp": "2026-01-01T00:00:09.000Z",
            })
        };
        let long = record(&"z, ".repeat(20_000)).to_string();
        let spaced = record("").to_string();
        let spaced = spaced.replace("\":", "\": ").replace(",\"", ", \"");
        for record in [long, spaced] {
            let session = read(
                "claude-code",
                &format!(
                    r#"{{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"hi"}}}}
{{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{}}}}]}}}}
{record}
{{"type":"assistant","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:13.000Z","message":{{"id":"n","role":"assistant","content":[{{"type":"text","text":"ok"}}]}}}}
"#
                ),
            );
            let prices = Prices::built_in();
            let mut reader = UsageReader::new(&session, &prices);
            assert_eq!(reader.call_duration(1).unwrap(), Some(7_000));
            let last = session.turns.len() - 1;
            assert_eq!(reader.turn(last).unwrap().took, Some(4_000));
        }
    }

    #[test]
    fn a_count_of_the_first_chunk_is_known_by_what_the_reply_says() {
        let log = |words: usize, output: u64| {
            let user = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
            let reply = serde_json::json!({
                "type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s",
                "message": {
                    "id": "m", "role": "assistant", "model": "claude-sonnet-4-5",
                    "content": [{"type": "text", "text": "word ".repeat(words)}],
                    "usage": {"input_tokens": 3, "output_tokens": output},
                },
            });
            format!("{user}\n{reply}\n")
        };
        let prices = Prices::built_in();
        for (words, output, expected) in [
            (1, 1, false),
            (1_000, 5, true),
            (1_000, 1_000, false),
            (1_000, 450, false),
        ] {
            let session = read("claude-code", &log(words, output));
            let reply = UsageReader::new(&session, &prices).turn(1).unwrap();
            assert_eq!(
                reply.is_undercounted, expected,
                "{words} words, {output} tokens"
            );
        }
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
            assert_eq!(session.models, []);
            let prices = Prices::default();
            let mut reader = UsageReader::new(&session, &prices);
            let turns = [0, 1, 2].map(|turn| reader.turn(turn).unwrap());
            let input = turns.each_ref().map(|turn| turn.tokens.map(|it| it.input));
            assert_eq!(input, [None, Some(10), Some(20)]);
            assert_eq!(turns[1].window, Some(272_000));
            // Both stand there at the same moment: nothing says how long it took.
            assert_eq!(reader.call_duration(1).unwrap(), None);
        }
    }

    #[test]
    fn a_switch_of_the_model_of_codex_holds_from_its_context_on() {
        let context = |model: &str| {
            format!(r#"{{"type":"turn_context","payload":{{"cwd":"/a","model":"{model}"}}}}"#)
        };
        let message = |role: &str| {
            let content = r#"[{"type":"output_text","text":"a"}]"#;
            format!(
                r#"{{"type":"response_item","payload":{{"type":"message","role":"{role}","content":{content}}}}}"#
            )
        };
        let round =
            |model: &str| [context(model), message("user"), message("assistant")].join("\n");
        let log = ["gpt-5-codex", "gpt-5-codex", "gpt-5-mini"]
            .map(round)
            .join("\n");
        let session = read("codex", &log);
        let prices = Prices::built_in();
        let mut reader = UsageReader::new(&session, &prices);
        let models = [1, 3, 5].map(|turn| reader.turn(turn).unwrap().model.unwrap().to_string());
        assert_eq!(models, ["gpt-5-codex", "gpt-5-codex", "gpt-5-mini"]);
    }

    #[test]
    fn models_are_those_of_the_replies_and_have_prices_and_windows() {
        let line = |number: usize, model: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"{number}","parentUuid":"0","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","message":{{"id":"m{number}","model":"{model}","role":"assistant","content":[{{"type":"text","text":"ok"}}],"usage":{{"input_tokens":100000,"output_tokens":0}}}}}}"#
            )
        };
        let user = r#"{"type":"user","uuid":"0","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
        let prices = Prices::built_in();
        for (model, cost, full) in [
            ("claude-sonnet-4-5", Some("$0.30"), Some(50)),
            ("claude-opus-4-5", Some("$0.50"), Some(50)),
            ("claude-sonnet-4-5-nobody-knows", None, None),
        ] {
            let session = read("claude-code", &format!("{user}\n{}\n", line(1, model)));
            let reply = UsageReader::new(&session, &prices).turn(1).unwrap();
            assert_eq!(reply.model.as_deref(), Some(model));
            let all = reply.cost.map(|cost| cost.all.to_string());
            assert_eq!((all.as_deref(), reply.fullness()), (cost, full));
        }
    }

    #[test]
    fn tools_of_codex_say_how_long_they_ran() {
        let item = |payload: serde_json::Value| {
            let line = serde_json::json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload});
            line.to_string()
        };
        let call = serde_json::json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"});
        let old = serde_json::json!({"output": "x\n", "metadata": {"exit_code": 0, "duration_seconds": 1.25}});
        let new = "Chunk ID: 7\nWall time: 0.5 seconds\nProcess exited with code 0\nOutput:\nx";
        let huge = serde_json::json!({"output": "x".repeat(100_000), "metadata": {"duration_seconds": 3.0}});
        for (output, expected) in [
            (old.to_string(), Some(1250)),
            (new.to_owned(), Some(500)),
            (huge.to_string(), Some(3000)),
            ("plain".to_owned(), None),
        ] {
            let result = serde_json::json!({"type": "function_call_output", "call_id": "c", "output": output});
            let session = read(
                "codex",
                &format!("{}\n{}\n", item(call.clone()), item(result)),
            );
            let prices = Prices::default();
            let took = UsageReader::new(&session, &prices)
                .call_duration(0)
                .unwrap();
            assert_eq!(took, expected, "{}", &output[..output.len().min(80)]);
        }
    }

    #[test]
    fn a_proxy_notes_when_a_request_came_and_how_long_its_reply_took() {
        let session = crate::formats::retake_journal::encode_line(
            1,
            r#"{"type":"exchange","id":1,"at":1000000,"dialect":"chat","model":"gpt-4.1","ms":[20,1500],"request":{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]},"response":{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":10}}}"#,
        );
        let header = crate::formats::retake_journal::encode_header();
        let session = read("retake-journal", &(header + &session));
        let prices = Prices::built_in();
        let reply = UsageReader::new(&session, &prices).turn(1).unwrap();
        assert_eq!((reply.at, reply.took), (Some(1_001_500), Some(1500)));
        assert_eq!(reply.cost.unwrap().all.to_string(), "$0.002");
    }

    #[test]
    fn what_a_proxy_waited_for_a_decision_is_not_the_time_of_the_model() {
        let line = crate::formats::retake_journal::encode_line(
            1,
            r#"{"type":"exchange","id":1,"at":1000000,"dialect":"chat","ms":[20,1500],"held_ms":[30000,4000],"request":{"model":"m","messages":[{"role":"user","content":"hi"}]},"response":{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}}"#,
        );
        let header = crate::formats::retake_journal::encode_header();
        let session = read("retake-journal", &(header + &line));
        let prices = Prices::default();
        let totals = crate::usage::SessionUsage::of(&session, &prices, &|| false, &mut |_, _| ());
        let totals = totals.unwrap().unwrap();
        let times = (totals.span, totals.model, totals.held);
        assert_eq!(times, (Some(35_500), 1_500, 34_000));
        let bars = totals.timeline.bars.iter();
        let bars: Vec<_> = bars.map(|bar| (bar.lane, bar.start, bar.took)).collect();
        assert_eq!(
            bars,
            [(1, 0, 30_000), (0, 30_000, 1_500), (1, 31_500, 4_000)]
        );
    }

    #[test]
    fn what_a_request_repeats_did_not_take_what_its_reply_took() {
        let line = crate::formats::retake_journal::encode_line(
            1,
            r#"{"type":"exchange","id":1,"at":1000000,"dialect":"chat","model":"gpt-4.1","ms":[20,1500],"request":{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"},{"role":"user","content":"and?"}]},"response":{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"no"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":10}}}"#,
        );
        let header = crate::formats::retake_journal::encode_header();
        let session = read("retake-journal", &(header + &line));
        let prices = Prices::built_in();
        let mut reader = UsageReader::new(&session, &prices);
        let mut outputs = |turn| reader.turn(turn).unwrap().tokens.map(|it| it.output);
        assert_eq!([outputs(1), outputs(3)], [None, Some(10)]);
        let totals = crate::usage::SessionUsage::of(&session, &prices, &|| false, &mut |_, _| ());
        assert_eq!(totals.unwrap().unwrap().tokens.output, 10);
    }
}
