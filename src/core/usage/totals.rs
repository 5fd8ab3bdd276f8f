//! Where tokens, money and time went in a session: in all, by tool, by kind, by turn, and which results were the
//! largest.

use super::order::UsageOrder;
use super::prices::{Cost, Prices};
use super::timeline::{Activity, Timeline};
use super::tokens::Tokens;
use super::turn::{BYTES_OF_TOKEN, TurnUsage, UsageReader};
use crate::rules::reports_failure;
use crate::session::{Item, Kind, Session, SourceError, Speaker};
use crate::suggest::asks_person;
use crate::wire::images::{images_of, tokens_of};
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

/// What a session took. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionUsage {
    pub turns: usize,
    /// Replies that say how many tokens they took.
    pub counted: usize,
    pub tokens: Tokens,
    /// What the replies cost whose cost is recorded, or whose model has a price.
    pub cost: Option<Cost>,
    /// Replies whose cost is recorded.
    pub recorded_costs: usize,
    /// About what the replies cost without the results of tools: for all else that was sent, and for the answers.
    pub other_cost: Option<Cost>,
    /// Replies that say more than their count of output tokens can hold.
    pub undercounted: usize,
    /// Replies whose tokens are counted and whose cost is neither recorded nor known by a price.
    pub without_price: usize,
    /// The models of these replies, in the order in which they first answered.
    pub models_without_price: Vec<Arc<str>>,
    /// The models that answered, in the order in which they first did, with the number of their replies.
    pub models: Vec<(Arc<str>, usize)>,
    /// While the model answered.
    pub model: u64,
    /// While a proxy awaited decisions about requests and replies.
    pub held: u64,
    /// While tools ran; of those that ran side by side each on its own.
    pub tools: u64,
    /// While at least one tool ran.
    pub tools_elapsed: u64,
    /// How many tools ran side by side at most.
    pub parallel: usize,
    /// Before a message of the user, or before the answer to a tool that asks.
    pub waiting: u64,
    /// From the first moment to the last.
    pub span: Option<u64>,
    /// By the name of the tool, those with the largest results first.
    pub by_tool: Vec<ToolUsage>,
    /// What the history consists of, the largest first.
    pub by_kind: Vec<KindUsage>,
    /// The first replies in each order, with their turns; those that cost most come first.
    pub largest_turns: Vec<(usize, TurnUsage)>,
    /// The first results in each order, the largest first.
    pub results: Vec<ResultUsage>,
    /// Replies for which the provider's cache did not hold what had been sent before.
    pub misses: Vec<CacheMiss>,
    /// Items where older history was replaced.
    pub compactions: Vec<usize>,
    pub timeline: Timeline,
}

/// What the calls of a tool took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolUsage {
    pub name: String,
    pub calls: usize,
    /// Calls that failed, as the rule `tool-error` finds them.
    pub errors: usize,
    /// Milliseconds; `None` where the recording does not say.
    pub took: Option<u64>,
    /// Bytes of the results, as they are recorded.
    pub bytes: u64,
    /// About what its results cost as a part of each later request.
    pub cost: Option<Cost>,
}

impl ToolUsage {
    /// Its place in an order: the larger the earlier.
    pub fn rank(&self, order: UsageOrder) -> (u64, u64) {
        order.rank(self.cost, self.took, self.bytes)
    }

    /// Adds what other calls of the tool took.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.bytes += other.bytes;
        if let Some(took) = other.took {
            *self.took.get_or_insert_default() += took;
        }
        if let Some(cost) = other.cost {
            self.cost.get_or_insert_default().add(cost);
        }
    }
}

/// How much of a history is of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindUsage {
    pub kind: Kind,
    pub items: usize,
    /// As they are recorded.
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultUsage {
    /// Index of the call.
    pub call: usize,
    /// Index of its turn.
    pub turn: usize,
    /// Bytes of the result, as it is recorded, its pictures as their files.
    pub bytes: u64,
    pub took: Option<u64>,
    /// About what it cost as a part of each later request.
    pub cost: Option<Cost>,
}

impl ResultUsage {
    /// Its place in an order: the larger the earlier.
    pub fn rank(&self, order: UsageOrder) -> (u64, u64) {
        order.rank(self.cost, self.took, self.bytes)
    }
}

/// A reply for which the provider's cache did not hold what had been sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheMiss {
    pub turn: usize,
    /// Tokens that were in the request before and not in the cache.
    pub lost: u64,
    /// Milliseconds since the end of the turn before.
    pub idle: Option<u64>,
}

/// How many results and turns are kept of each order.
const LARGEST: usize = 50;
/// Most results and turns that wait to be compared.
const COMPARED: usize = 6 * LARGEST;
/// How many misses are kept.
const MISSES: usize = 10;
/// Smaller losses are not worth a line.
const LOST: u64 = 4096;
/// How large an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    /// As it is recorded, its pictures as their files.
    bytes: u64,
    /// As much text as the model reads it like: of pictures that of their tokens.
    sent: u64,
}

/// Smaller items hold no picture worth looking at, larger ones are not searched for any.
const PICTURES: Range<u64> = 4 * 1024..8 * 1024 * 1024;
/// Bytes in which the first picture of an item is named.
const BEFORE_PICTURE: u64 = 8 * 1024;

impl Size {
    fn of_text(item: &Item) -> Self {
        let all = item.span.len();
        Self {
            bytes: all,
            sent: all,
        }
    }

    fn of(session: &Session, item: &Item) -> Result<Self, SourceError> {
        let mut size = Self::of_text(item);
        let all = size.bytes;
        let may_hold = matches!(item.kind, Kind::Output | Kind::User) && PICTURES.contains(&all);
        if !may_hold
            || memmem::find(
                &session.source.read(item.span.head(BEFORE_PICTURE))?,
                b"image",
            )
            .is_none()
        {
            return Ok(size);
        }
        for image in images_of(item, &session.bytes(item)?) {
            if let Some(pixels) = image.size {
                let written = image.length * 4 / 3;
                let tokens = tokens_of(pixels, session.dialect);
                size.bytes = size.bytes.saturating_sub(written) + image.length;
                size.sent = size.sent.saturating_sub(written) + tokens * BYTES_OF_TOKEN;
            }
        }
        Ok(size)
    }
}

/// A result is a part of each later request until the history is compacted: what a byte of it cost, summed up
/// turn by turn. What a request paid for its input is shared out over all that was sent, by size: over what the
/// recording holds of it, or over the size of its tokens where these are more (the definitions of tools are
/// often not recorded). So the parts never exceed the whole.
#[derive(Default)]
struct TokenCosts {
    /// What a byte cost from the beginning to the end of each turn.
    through: Vec<u64>,
    /// Where the history is replaced, by turn.
    ends: Vec<usize>,
    has_prices: bool,
}

impl TokenCosts {
    /// Takes a turn before which the history had `recorded` bytes.
    fn push(&mut self, usage: &TurnUsage, recorded: u64) {
        let last = self.through.last().copied().unwrap_or(0);
        let one = usage.cost.zip(usage.tokens).map(|(cost, tokens)| {
            self.has_prices = true;
            let counted = tokens.input.saturating_mul(BYTES_OF_TOKEN);
            cost.input.share(1, counted.max(recorded))
        });
        self.through
            .push(last.saturating_add(one.map_or(0, Cost::raw)));
    }

    /// About what a result of a turn cost.
    fn of_result(&self, turn: usize, bytes: u64) -> Option<Cost> {
        let next = self.ends.partition_point(|end| *end <= turn);
        let until = match self.ends.get(next) {
            Some(end) => self.through.get(end.checked_sub(1)?)?,
            None => self.through.last()?,
        };
        let one = until.saturating_sub(*self.through.get(turn)?);
        self.has_prices
            .then(|| Cost::of_raw(one.saturating_mul(bytes)))
    }
}

impl SessionUsage {
    /// Reads the envelopes of all records, and gives each reply to `each` with its turn; `None` where
    /// `is_cancelled` says so on the way.
    pub fn of(
        session: &Session,
        prices: &Prices,
        is_cancelled: &dyn Fn() -> bool,
        each: &mut dyn FnMut(usize, &TurnUsage),
    ) -> Result<Option<Self>, SourceError> {
        let mut reader = UsageReader::new(session, prices);
        let mut totals = Self {
            turns: session.turns.len(),
            ..Self::default()
        };
        let first = reader.item_time(0)?;
        let last = reader.item_time(session.items.len().saturating_sub(1))?;
        totals.span = last
            .zip(first)
            .and_then(|(last, first)| last.checked_sub(first));
        let start = first.unwrap_or_default();
        let mut timeline = Timeline::new(start, totals.span.unwrap_or(0));
        let mut costs = TokenCosts::default();
        let mut last: Option<Tokens> = None;
        let mut idle = None;
        let mut recorded = 0;
        let mut pictured: BTreeMap<usize, Size> = BTreeMap::new();
        for (turn, found) in session.turns.iter().enumerate() {
            if is_cancelled() {
                return Ok(None);
            }
            let usage = reader.turn(turn)?;
            costs.push(&usage, recorded);
            match found.speaker {
                Speaker::Model => {
                    totals.add_reply(turn, &usage, last, idle);
                    if let Some((end, took)) = usage.ended.zip(usage.took) {
                        let item = found.items().start;
                        let [request, reply] = usage.held;
                        let answered = end.saturating_sub(reply);
                        timeline.add(Activity::Held, end, reply, item);
                        timeline.add(Activity::Model, answered, took, item);
                        let requested = answered.saturating_sub(took);
                        timeline.add(Activity::Held, requested, request, item);
                    }
                    each(turn, &usage);
                    last = usage.tokens.or(last);
                    idle = None;
                }
                Speaker::User => {
                    totals.waiting += usage.gap.unwrap_or(0);
                    if let Some((end, gap)) = usage.at.zip(usage.gap) {
                        timeline.add(Activity::Waiting, end, gap, found.items().start);
                    }
                    idle = usage.gap;
                }
                Speaker::System | Speaker::File => {}
            }
            let is_compaction = |item: &usize| session.items[*item].kind == Kind::Compaction;
            let compactions = found.items().filter(is_compaction);
            let known = totals.compactions.len();
            totals.compactions.extend(compactions);
            if totals.compactions.len() > known {
                costs.ends.push(turn);
                last = None;
                recorded = 0;
            }
            for item in found.items() {
                let size = Size::of(session, &session.items[item])?;
                recorded += size.sent;
                if size.sent != size.bytes {
                    pictured.insert(item, size);
                }
            }
        }
        let mut kinds: BTreeMap<&str, KindUsage> = BTreeMap::new();
        let mut tools: BTreeMap<&str, ToolUsage> = BTreeMap::new();
        let mut runs = Vec::new();
        for (index, item) in session.items.iter().enumerate() {
            let kind = kinds.entry(item.kind.word()).or_insert(KindUsage {
                kind: item.kind,
                items: 0,
                bytes: 0,
            });
            kind.items += 1;
            kind.bytes += item.span.len();
            if !matches!(item.kind, Kind::Call | Kind::HostedCall) {
                continue;
            }
            if is_cancelled() {
                return Ok(None);
            }
            let tool = tools.entry(session.name(item)).or_default();
            tool.calls += 1;
            let output = session.pairing.partner(index);
            let size = output.and_then(|output| pictured.get(&output)).copied();
            let Some(output) = output.and_then(|output| session.items.get(output)) else {
                continue;
            };
            let size = size.unwrap_or(Size::of_text(output));
            let mut took = reader.call_duration(index)?;
            if asks_person(session.name(item))
                && let Some(took) = took.take()
            {
                totals.waiting += took;
                if let Some(called) = reader.call_start(index)? {
                    timeline.add(Activity::Waiting, called + took, took, index);
                }
            }
            let result = ResultUsage {
                call: index,
                turn: item.turn as usize,
                bytes: size.bytes,
                took,
                cost: costs.of_result(output.turn as usize, size.sent),
            };
            tool.errors += usize::from(reports_failure(session, output)?);
            tool.bytes += result.bytes;
            if let Some(took) = result.took {
                tool.took = Some(tool.took.unwrap_or(0) + took);
                totals.tools += took;
                if let Some(called) = reader.call_start(index)? {
                    runs.push((called, called + took));
                    let tool = Activity::Tool(session.name(item).to_owned());
                    timeline.add(tool, called + took, took, index);
                }
            }
            if let Some(cost) = result.cost {
                tool.cost.get_or_insert_default().add(cost);
            }
            totals.results.push(result);
            if totals.results.len() > COMPARED {
                totals.keep_largest();
            }
        }
        (totals.tools_elapsed, totals.parallel) = side_by_side(&mut runs);
        totals.keep_largest();
        let size = |result: &ResultUsage| Reverse(result.rank(UsageOrder::Size));
        totals.results.sort_by_key(size);
        let cost = |(_, usage): &(_, TurnUsage)| Reverse(usage.rank(UsageOrder::Cost));
        totals.largest_turns.sort_by_key(cost);
        let of_tools = tools.values().filter_map(|tool| tool.cost);
        totals.other_cost = totals.cost.map(|all| of_tools.fold(all, Cost::without));
        totals.by_kind = kinds.into_values().collect();
        totals.by_kind.sort_by_key(|kind| Reverse(kind.bytes));
        totals.by_tool = tools
            .into_iter()
            .map(|(name, usage)| ToolUsage {
                name: name.to_owned(),
                ..usage
            })
            .collect();
        totals.by_tool.sort_by_key(|tool| Reverse(tool.bytes));
        timeline.sort();
        totals.timeline = timeline;
        Ok(Some(totals))
    }

    /// Adds what another session took: the sums, not the lists of single turns and results.
    pub fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.counted += other.counted;
        self.tokens.add(other.tokens);
        if let Some(cost) = other.cost {
            self.cost.get_or_insert_default().add(cost);
        }
        self.recorded_costs += other.recorded_costs;
        self.undercounted += other.undercounted;
        self.without_price += other.without_price;
        for model in &other.models_without_price {
            self.note_without_price(model);
        }
        for (model, replies) in &other.models {
            match self.models.iter_mut().find(|(known, _)| known == model) {
                Some((_, known)) => *known += replies,
                None => self.models.push((model.clone(), *replies)),
            }
        }
        self.model += other.model;
        self.held += other.held;
        self.tools += other.tools;
        self.tools_elapsed += other.tools_elapsed;
        self.parallel = self.parallel.max(other.parallel);
        self.waiting += other.waiting;
        if let Some(span) = other.span {
            *self.span.get_or_insert_default() += span;
        }
    }

    /// Adds what sub-agents took; their time has passed while the session ran that called them.
    pub fn add_sub_agents<'a>(&mut self, agents: impl IntoIterator<Item = &'a Self>) {
        let span = self.span;
        agents.into_iter().for_each(|agent| self.add(agent));
        self.span = span;
    }

    fn note_without_price(&mut self, model: &Arc<str>) {
        if !self.models_without_price.contains(model) {
            self.models_without_price.push(model.clone());
        }
    }

    fn add_reply(
        &mut self,
        turn: usize,
        usage: &TurnUsage,
        before: Option<Tokens>,
        idle: Option<u64>,
    ) {
        self.model += usage.took.unwrap_or(0);
        self.held += usage.held.iter().sum::<u64>();
        if let Some(model) = usage.model.as_ref().filter(|model| !model.is_empty()) {
            match self.models.iter_mut().find(|(known, _)| known == model) {
                Some((_, replies)) => *replies += 1,
                None => self.models.push((model.clone(), 1)),
            }
        }
        if usage.tokens.is_some() || usage.took.is_some() {
            self.largest_turns.push((turn, usage.clone()));
        }
        if self.largest_turns.len() > COMPARED {
            self.keep_largest();
        }
        let Some(tokens) = usage.tokens else {
            return;
        };
        self.counted += 1;
        self.recorded_costs += usize::from(usage.has_recorded_cost);
        self.undercounted += usize::from(usage.is_undercounted);
        self.tokens.add(tokens);
        match usage.cost {
            Some(cost) => self.cost.get_or_insert_default().add(cost.all),
            None => {
                self.without_price += 1;
                // Where what was sent is not counted, a price would not help.
                let model = usage.model.as_ref().filter(|model| !model.is_empty());
                if let Some(model) = model.filter(|_| tokens.sent().is_some()) {
                    self.note_without_price(model);
                }
            }
        }
        let lost = before.map_or(0, |before| before.input.saturating_sub(tokens.cached));
        let is_cached = before.is_some_and(|it| it.cached + it.written + it.written_1h > 0);
        if is_cached && lost > LOST && self.misses.len() < MISSES {
            self.misses.push(CacheMiss { turn, lost, idle });
        }
    }

    fn keep_largest(&mut self) {
        keep_largest(&mut self.results, ResultUsage::rank);
        keep_largest(&mut self.largest_turns, |(_, usage), order| {
            usage.rank(order)
        });
    }
}

/// How long at least one of these ran, and how many ran side by side at most; each is a beginning and an end.
fn side_by_side(runs: &mut [(u64, u64)]) -> (u64, usize) {
    runs.sort_unstable();
    let (mut elapsed, mut until, mut most) = (0, 0, 0);
    let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for (start, end) in runs.iter().copied().filter(|(start, end)| end > start) {
        while ends.peek().is_some_and(|Reverse(first)| *first <= start) {
            ends.pop();
        }
        ends.push(Reverse(end));
        most = most.max(ends.len());
        elapsed += end.max(until) - start.max(until);
        until = end.max(until);
    }
    (elapsed, most)
}

/// Keeps what is among the first in one of the orders at least.
fn keep_largest<T>(list: &mut Vec<T>, rank: impl Fn(&T, UsageOrder) -> (u64, u64)) {
    let mut kept = 0;
    for order in UsageOrder::ALL {
        list[kept..].sort_by_key(|it| Reverse(rank(it, order)));
        kept = list.len().min(kept + LARGEST);
    }
    list.truncate(kept);
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
        let prices = Prices::built_in();
        let mut replies = Vec::new();
        let mut each = |turn: usize, _: &TurnUsage| replies.push(turn);
        let totals = SessionUsage::of(session, &prices, &|| false, &mut each);
        let totals = totals.unwrap().unwrap();
        assert_eq!(replies, [1, 2]);
        let tokens = Tokens {
            input: 300,
            cached: 90,
            output: 12,
            ..Tokens::default()
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
        assert_eq!(totals.largest_turns[0].0, 2, "what is not cached counts");
        assert_eq!(totals.results[0].turn, 1);
        let cancelled = SessionUsage::of(session, &prices, &|| true, &mut |_, _| ());
        assert_eq!(cancelled.unwrap(), None);
    }

    #[test]
    fn what_a_person_takes_to_answer_a_tool_is_no_time_of_tools() {
        let log = LOG.replace("\"Bash\"", "\"AskUserQuestion\"");
        let source: Arc<dyn Source> = Arc::new(log.as_bytes().to_vec());
        let format = FORMATS.iter().find(|it| it.id == "claude-code").unwrap();
        let contents = read_buffer(format, &source, log.as_bytes()).unwrap();
        let prices = Prices::built_in();
        let totals = SessionUsage::of(&contents.sessions[0], &prices, &|| false, &mut |_, _| ());
        let totals = totals.unwrap().unwrap();
        assert_eq!((totals.tools, totals.waiting), (0, 61_000));
        assert_eq!(totals.by_tool[0].took, None);
        let lanes = totals.timeline.lanes.iter();
        let lanes: Vec<_> = lanes.map(|it| (it.activity.clone(), it.took)).collect();
        let expected = [(Activity::Model, 5_000), (Activity::Waiting, 61_000)];
        assert_eq!(lanes, expected);
    }

    #[test]
    fn a_picture_costs_its_pixels_and_not_the_letters_that_it_is_written_in() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x40\0\0\0\xc8".to_vec();
        png.resize(60_000, 7);
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &png);
        let picture = serde_json::json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]);
        let text = serde_json::json!("word ".repeat(16_000));
        let result_of = |content: serde_json::Value| {
            let content = serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": content}]);
            let user = serde_json::json!({"type": "user", "uuid": "3", "parentUuid": "2", "sessionId": "s",
                "message": {"role": "user", "content": content}});
            let log: Vec<String> = LOG
                .lines()
                .enumerate()
                .map(|(number, line)| match number {
                    2 => user.to_string(),
                    _ => line.replace(
                        r#""role":"assistant""#,
                        r#""role":"assistant","model":"claude-sonnet-4-5""#,
                    ),
                })
                .collect();
            let log = log.join("\n").replace("200,", "30000,");
            let source: Arc<dyn Source> = Arc::new(log.as_bytes().to_vec());
            let format = FORMATS.iter().find(|it| it.id == "claude-code").unwrap();
            let contents = read_buffer(format, &source, log.as_bytes()).unwrap();
            let prices = Prices::built_in();
            let totals =
                SessionUsage::of(&contents.sessions[0], &prices, &|| false, &mut |_, _| ());
            totals.unwrap().unwrap().results[0]
        };
        let (picture, text) = (result_of(picture), result_of(text));
        assert!((60_000..60_500).contains(&picture.bytes), "{picture:?}");
        let (picture, text) = (picture.cost.unwrap(), text.cost.unwrap());
        assert!(picture.raw() * 40 < text.raw(), "{picture} {text}");
    }

    #[test]
    fn tools_that_run_side_by_side_take_the_time_of_the_clock_once() {
        let mut runs = vec![(50, 60), (0, 10), (2, 30), (5, 12), (10, 11), (60, 60)];
        assert_eq!(side_by_side(&mut runs), (40, 3));
        assert_eq!(side_by_side(&mut [(5, 9), (9, 12)]), (7, 1));
        assert_eq!(side_by_side(&mut []), (0, 0));
    }

    #[test]
    fn what_is_first_in_any_order_is_kept() {
        let result = |call: usize| ResultUsage {
            call,
            turn: 0,
            bytes: call as u64,
            took: Some(10_000 - call as u64),
            cost: None,
        };
        let mut results: Vec<_> = (0..10_000).map(result).collect();
        keep_largest(&mut results, ResultUsage::rank);
        let kept: Vec<usize> = results.iter().map(|result| result.call).collect();
        assert!(kept.contains(&9_999) && kept.contains(&0), "{kept:?}");
        assert!(!kept.contains(&5_000), "{kept:?}");
    }

    #[test]
    fn a_result_costs_in_each_later_request_until_the_history_is_compacted() {
        let line = |number: usize, role: &str, content: &str, model: &str| {
            format!(
                r#"{{"type":"{role}","uuid":"{number}","parentUuid":{},"sessionId":"s","message":{{"role":"{role}","id":"m{number}","content":{content}{model}}}}}"#,
                match number {
                    0 => "null".to_owned(),
                    _ => format!("\"{}\"", number - 1),
                }
            )
        };
        let reply = r#","model":"claude-sonnet-4-5","usage":{"input_tokens":20000,"cache_read_input_tokens":80000,"output_tokens":0}"#;
        let call = r#"[{"type":"tool_use","id":"t","name":"Bash","input":{}}]"#;
        let result = format!(
            r#"[{{"type":"tool_result","tool_use_id":"t","content":"{}"}}]"#,
            "x".repeat(4_000_000)
        );
        let text = r#"[{"type":"text","text":"ok"}]"#;
        let lines = [
            line(0, "user", "\"go\"", ""),
            line(1, "assistant", call, reply),
            line(2, "user", &result, ""),
            line(3, "assistant", text, reply),
            line(4, "user", "\"more\"", ""),
            line(5, "assistant", text, reply),
        ];
        let log = lines.join("\n");
        let source: Arc<dyn Source> = Arc::new(log.as_bytes().to_vec());
        let format = FORMATS.iter().find(|it| it.id == "claude-code").unwrap();
        let contents = read_buffer(format, &source, log.as_bytes()).unwrap();
        let session = &contents.sessions[0];
        let prices = Prices::built_in();
        let totals = SessionUsage::of(session, &prices, &|| false, &mut |_, _| ());
        let totals = totals.unwrap().unwrap();
        // 20,000 at $3 and 80,000 at $0.30 a million: $0.084 for each request. The result is nearly all that the
        // second and the third one sent, whatever its size says of tokens.
        let cost = totals.by_tool[0].cost.unwrap();
        assert_eq!(cost.to_string(), "$0.17");
        assert_eq!(totals.results[0].cost, Some(cost));
        let mut all = totals.other_cost.unwrap();
        assert_eq!(all.to_string(), "$0.084");
        all.add(cost);
        assert_eq!(Some(all), totals.cost);
        assert_eq!(all.to_string(), "$0.25");
        assert_eq!(totals.models.len(), 1);
        assert_eq!(totals.by_kind[0].kind, Kind::Output);
        assert_eq!(
            totals.misses.len(),
            2,
            "100k were sent, 80k come from the cache"
        );
    }
}
