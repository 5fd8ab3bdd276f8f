//! Where tokens, money and time went, as rows of text: for the screen and for `retake usage`.

use crate::words::{bytes, count, duration, shortened};
use retake_core::content::{CallSummary, display_name, summarize_call};
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, Session};
use retake_core::usage::{
    CacheMiss, Cost, KindUsage, ResultUsage, SessionUsage, ToolUsage, TurnUsage, UsageOrder,
    working_folder,
};
use retake_core::wire::body_within;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageLine {
    pub(crate) text: SafeText,
    /// Whether it names the columns below it.
    pub(crate) is_heading: bool,
    pub(crate) target: Option<UsageTarget>,
}

/// Where the transcript shows what a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageTarget {
    /// An item by its index.
    Item(usize),
    /// The sub-agent of the call with this index.
    SubAgent(usize),
}

/// A sub-agent of the session.
pub(crate) struct NestedUsage<'a> {
    /// The index of the call that began it, where that is known.
    pub(crate) call: Option<usize>,
    pub(crate) name: String,
    pub(crate) usage: &'a SessionUsage,
    /// Its history, where it is in the same file.
    pub(crate) session: Option<&'a Session>,
}

impl<'a> NestedUsage<'a> {
    /// The sub-agent that a call of a session began; without the call its own first words name it.
    pub(crate) fn new(
        caller: &Session,
        call: Option<usize>,
        words: impl FnOnce() -> String,
        usage: &'a SessionUsage,
        session: Option<&'a Session>,
    ) -> Self {
        let name = call.map_or_else(words, |call| call_line(caller, call, ""));
        Self {
            call,
            name,
            usage,
            session,
        }
    }
}

/// How the report is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportStyle {
    /// Cells of a row.
    pub(crate) width: usize,
    /// A cell of a bar.
    pub(crate) bar: &'static str,
    /// What replaces letters that are left out.
    pub(crate) more: &'static str,
    /// What everything is sorted by; `None` sorts each list by what it is mostly read for.
    pub(crate) order: Option<UsageOrder>,
}

/// The heading of what the tools of sub-agents took.
const IN_SUB_AGENTS: &str = "in sub-agents";

/// Cells of the widest report.
const WIDE: usize = 100;
/// Cells of the names of tools in wide and in narrow reports.
const NAME: usize = 28;
const SHORT_NAME: usize = 18;
/// Cells of the longest bar, in wide and in narrow reports.
const BAR: u64 = 20;
const SHORT_BAR: u64 = 5;
/// Most turns and most results of a list.
pub(crate) const LISTED: usize = 10;
/// The same where the operator chose the order.
const LISTED_SORTED: usize = 25;
/// The same of the slowest, where they are not the order.
const LISTED_SLOWEST: usize = 5;
/// How much of a call is read for its line.
const HEAD: u64 = 8 * 1024;

/// The sums in short, as far as the recording has them: `6m12s`, `214k tok`, `$0.83`.
pub(crate) struct UsageSummary {
    pub(crate) span: Option<String>,
    pub(crate) tokens: Option<String>,
    pub(crate) cost: Option<String>,
}

impl UsageSummary {
    pub(crate) fn of(totals: &SessionUsage) -> Self {
        let tokens = totals.tokens.input.saturating_add(totals.tokens.output);
        let is_part = totals.undercounted > 0 || totals.tokens.sent().is_none();
        let mark = at_least(is_part);
        Self {
            span: totals.span.filter(|span| *span > 0).map(duration),
            tokens: (tokens > 0).then(|| format!("{mark}{} tok", count(tokens))),
            cost: totals.cost.map(|cost| format!("{mark}{cost}")),
        }
    }
}

/// The sums in one line.
pub(crate) fn summary(totals: &SessionUsage) -> Vec<String> {
    let UsageSummary { span, tokens, cost } = UsageSummary::of(totals);
    [span, tokens, cost].into_iter().flatten().collect()
}

/// The order after this one that sorts anything in the session.
pub(crate) fn next_order(totals: &SessionUsage, order: Option<UsageOrder>) -> Option<UsageOrder> {
    let sorts = |order: &UsageOrder| {
        let turns = totals.largest_turns.iter();
        let mut turns = turns.map(|(_, usage)| usage.rank(*order));
        let mut results = totals.results.iter().map(|result| result.rank(*order));
        turns.any(|rank| rank > (0, 0)) || results.any(|rank| rank > (0, 0))
    };
    let place = UsageOrder::ALL.iter().position(|it| Some(*it) == order);
    let after = UsageOrder::ALL.into_iter().cycle();
    let after = after.skip(place.map_or(0, |place| place + 1));
    after.take(UsageOrder::ALL.len()).find(sorts)
}

/// What the operator reads of an order.
pub(crate) fn words_of(order: UsageOrder) -> &'static str {
    match order {
        UsageOrder::Cost => "cost",
        UsageOrder::Time => "time",
        UsageOrder::Size => "size",
    }
}

/// What is before a number that counts only a part.
pub(crate) fn at_least(is_undercounted: bool) -> &'static str {
    if is_undercounted { "≥" } else { "" }
}

pub(crate) fn report(
    session: &Session,
    totals: &SessionUsage,
    nested: &[NestedUsage<'_>],
    style: ReportStyle,
) -> Vec<UsageLine> {
    let mut report = Report::new(totals, style);
    let folder = working_folder(session).unwrap_or_default();
    report.sums(totals);
    report.largest(totals, nested);
    report.sub_agents(totals, nested);
    report.tools("by tool", &totals.by_tool);
    report.others(totals);
    report.tools_of_sub_agents(nested);
    let listed = match style.order {
        Some(_) => LISTED_SORTED,
        None => LISTED,
    };
    let of_turns = style.order.unwrap_or(UsageOrder::Cost);
    let of_results = style.order.unwrap_or(UsageOrder::Size);
    report.turns(session, totals, nested, of_turns, listed);
    report.results(session, totals, nested, &folder, of_results, listed);
    if style.order.is_none() {
        report.turns(session, totals, nested, UsageOrder::Time, LISTED_SLOWEST);
        report.results(
            session,
            totals,
            nested,
            &folder,
            UsageOrder::Time,
            LISTED_SLOWEST,
        );
    }
    report.misses(session, &totals.misses);
    report.kinds(&totals.by_kind);
    report.lines
}

/// The sums of several sessions.
pub(crate) fn total_report(totals: &SessionUsage, style: ReportStyle) -> Vec<UsageLine> {
    let mut report = Report::new(totals, style);
    report.sums(totals);
    report.lines
}

/// What the session took, and what each of its sub-agents did.
fn with_agents<'a>(
    totals: &'a SessionUsage,
    nested: &'a [NestedUsage<'a>],
) -> impl Iterator<Item = (Option<&'a NestedUsage<'a>>, &'a SessionUsage)> {
    let nested = nested.iter().map(|agent| (Some(agent), agent.usage));
    std::iter::once((None, totals)).chain(nested)
}

/// The largest turns of the session and of its sub-agents.
fn turns_of<'a>(
    totals: &'a SessionUsage,
    nested: &'a [NestedUsage<'a>],
) -> impl Iterator<Item = (Option<&'a NestedUsage<'a>>, usize, &'a TurnUsage)> {
    with_agents(totals, nested).flat_map(|(agent, usage)| {
        let turns = usage.largest_turns.iter();
        turns.map(move |(turn, usage)| (agent, *turn, usage))
    })
}

struct Report {
    lines: Vec<UsageLine>,
    style: ReportStyle,
    /// Cells of names.
    name: usize,
    /// Whether there is a column for money.
    has_prices: bool,
}

impl Report {
    fn new(totals: &SessionUsage, style: ReportStyle) -> Self {
        Self {
            lines: Vec::new(),
            style,
            name: if style.width < WIDE { SHORT_NAME } else { NAME },
            has_prices: totals.cost.is_some(),
        }
    }

    fn push(&mut self, text: &str, is_heading: bool, target: Option<UsageTarget>) {
        self.lines.push(UsageLine {
            text: SafeText::single_line(text, self.style.width),
            is_heading,
            target,
        });
    }

    fn row(&mut self, text: &str) {
        self.push(text, false, None);
    }

    /// A sentence in as many rows as it needs, broken after commas and semicolons as far as what is between them fits.
    fn sentence(&mut self, text: &str) {
        let width = self.style.width;
        let text = SafeText::from_str(text);
        let plain = text.as_plain();
        let ends = plain.match_indices([',', ';']).map(|(at, _)| at + 1);
        let ends = ends.filter(|at| plain[*at..].starts_with(' '));
        let (mut rows, mut start, mut end) = (Vec::new(), 0, 0);
        for next in ends.chain([plain.len()]) {
            if end > start && text.part(start..next).width() > width {
                rows.push(start..end);
                start = end + 1;
            }
            end = next;
        }
        rows.push(start..end);
        let rows = rows.into_iter().map(|row| text.part(row));
        let rows = rows.flat_map(|row| row.wrapped(width).collect::<Vec<_>>());
        self.lines.extend(rows.map(|text| UsageLine {
            text,
            is_heading: false,
            target: None,
        }));
    }

    /// A row that leads to an item.
    fn row_to(&mut self, text: &str, item: usize) {
        self.push(text, false, Some(UsageTarget::Item(item)));
    }

    fn heading(&mut self, text: &str) {
        self.row("");
        self.push(text, true, None);
    }

    /// The cell of money of a row, `about` where it is shared out by size; empty where nothing has a price.
    fn cost(&self, cost: Option<Cost>, about: &str) -> String {
        match (self.has_prices, cost) {
            (false, _) => String::new(),
            (true, None) => format!("{:>9}", "-"),
            (true, Some(cost)) => format!("{:>9}", format!("{about}{cost}")),
        }
    }

    fn cost_heading(&self) -> &'static str {
        if self.has_prices { "     cost" } else { "" }
    }

    fn share(&self, part: u64, all: u64) -> String {
        let percent = percent(part, all);
        let longest = if self.style.width < WIDE {
            SHORT_BAR
        } else {
            BAR
        };
        let cells = usize::try_from(part.saturating_mul(longest) / all.max(1)).unwrap_or(0);
        format!("{percent:>3}% {}", self.style.bar.repeat(cells))
    }

    fn sums(&mut self, totals: &SessionUsage) {
        let tokens = totals.tokens;
        match totals.counted {
            0 => self.sentence("the recording has no token counts"),
            counted => {
                let cached = tokens.cached_percent();
                let cached = cached.map(|cached| format!(", {cached}% of them cached"));
                let mark = at_least(totals.undercounted > 0);
                let cost = totals.cost.map(|cost| {
                    let priced = counted.saturating_sub(totals.without_price);
                    let source = match totals.recorded_costs {
                        0 => String::new(),
                        recorded if recorded == priced => " (recorded)".to_owned(),
                        recorded => format!(" (recorded for {recorded} of {})", replies(priced)),
                    };
                    format!("{mark}{cost}{source} for ")
                });
                let sent = match tokens.sent() {
                    None => "what was sent is not counted".to_owned(),
                    Some(sent) => format!("{} tokens in", count(sent)),
                };
                let reasoning = match tokens.reasoning {
                    0 => String::new(),
                    reasoning => format!(", {} of them reasoning", count(reasoning)),
                };
                self.sentence(&format!(
                    "{}{sent}{}; {mark}{} out{reasoning}; token counts for {counted} of {} turns",
                    cost.unwrap_or_default(),
                    cached.unwrap_or_default(),
                    count(tokens.output),
                    totals.turns
                ));
            }
        }
        if totals.undercounted > 0 {
            self.sentence(&format!(
                "≥: for {} the recording has only the count of the first chunk; the actual numbers are higher",
                replies(totals.undercounted)
            ));
        }
        let [work, elapsed] = [totals.tools, totals.tools_elapsed].map(duration);
        let tools = match totals.parallel {
            2.. if work == elapsed => format!("tools {work} (up to {} at once)", totals.parallel),
            2.. => format!(
                "tools: {work} of work in {elapsed} of clock time (up to {} at once)",
                totals.parallel
            ),
            _ => format!("tools {work}"),
        };
        let parts = [
            (totals.model, format!("model {}", duration(totals.model))),
            (totals.held, format!("held {}", duration(totals.held))),
            (totals.tools, tools),
            (
                totals.waiting,
                format!("waiting for you {}", duration(totals.waiting)),
            ),
        ];
        let parts = parts.into_iter().filter(|(took, _)| *took > 0);
        let parts: Vec<String> = parts.map(|(_, words)| words).collect();
        match totals.span {
            None | Some(0) if parts.is_empty() => self.sentence("the recording has no times"),
            None | Some(0) => self.sentence(&parts.join(", ")),
            Some(span) => {
                let gap = if parts.is_empty() { "" } else { ": " };
                let parts = parts.join(", ");
                self.sentence(&format!("{} elapsed{gap}{parts}", duration(span)));
            }
        }
        if totals.without_price > 0 && totals.tokens.sent().is_some() {
            let models = &totals.models_without_price;
            let count = replies(totals.without_price);
            self.sentence(&match models.is_empty() {
                true if !totals.models.is_empty() => {
                    format!("cost unknown for {count}: the recording has no input token count")
                }
                true => format!("no price for {count}: the recording does not name the model"),
                false => format!(
                    "no price is known for {count} of {}: --prices FILE adds one",
                    models.join(", ")
                ),
            });
        } else if totals.models.len() > 1 {
            let models = totals.models.iter();
            let models = models.map(|(model, count)| format!("{model} ({})", replies(*count)));
            self.sentence(&models.collect::<Vec<_>>().join(", "));
        }
    }

    /// The tool that took most time, and the turn that cost most.
    fn largest(&mut self, totals: &SessionUsage, nested: &[NestedUsage<'_>]) {
        let slowest = totals.by_tool.iter().max_by_key(|tool| tool.took);
        let slowest = slowest.and_then(|tool| {
            let took = tool.took.filter(|took| *took > 0)?;
            let calls = match tool.calls {
                1 => "1 call".to_owned(),
                calls => format!("{calls} calls"),
            };
            let name = display_name(&tool.name);
            Some(format!("most time: {name}, {} in {calls}", duration(took)))
        });
        let turns = turns_of(totals, nested);
        let rank = |usage: &TurnUsage| usage.rank(UsageOrder::Cost);
        // Of equal ones the first.
        let dearest = turns.min_by_key(|(_, _, usage)| Reverse(rank(usage)));
        let dearest = dearest.and_then(|(agent, turn, usage)| {
            let mark = at_least(usage.is_undercounted);
            let cost = usage.cost?.all;
            let agent = agent.map_or_else(String::new, |agent| {
                format!(" in {}", self.shortened(&agent.name, self.style.width / 2))
            });
            Some(format!(
                "most money: turn {}{agent}, {mark}{cost}",
                turn + 1
            ))
        });
        let words: Vec<String> = slowest.into_iter().chain(dearest).collect();
        if !words.is_empty() {
            self.sentence(&words.join("; "));
        }
    }

    /// What sub-agents took, and all of it together.
    fn sub_agents(&mut self, totals: &SessionUsage, nested: &[NestedUsage<'_>]) {
        if nested.is_empty() {
            return;
        }
        let mut sum = SessionUsage::default();
        sum.add_sub_agents(nested.iter().map(|nested| nested.usage));
        let mut words = match nested.len() {
            1 => "1 sub-agent".to_owned(),
            count => format!("{count} sub-agents"),
        };
        for fact in summary(&sum) {
            words.push_str(&format!(", {fact}"));
        }
        sum.add(totals);
        if let Some(all) = sum.cost.filter(|_| totals.cost.is_some()) {
            let mark = at_least(sum.undercounted > 0);
            words.push_str(&format!("; {mark}{all} in all"));
        }
        self.heading(&words);
        let mut nested: Vec<_> = nested.iter().collect();
        nested.sort_by_key(|nested| {
            let usage = nested.usage;
            Reverse(match self.style.order {
                None | Some(UsageOrder::Cost) => usage.cost.map_or(0, Cost::raw),
                Some(UsageOrder::Time) => usage.span.unwrap_or(0),
                Some(UsageOrder::Size) => usage.tokens.input.saturating_add(usage.tokens.output),
            })
        });
        for NestedUsage {
            call, name, usage, ..
        } in nested
        {
            let UsageSummary { span, tokens, cost } = UsageSummary::of(usage);
            let [span, tokens, cost] = [span, tokens, cost].map(Option::unwrap_or_default);
            let figures = format!("{:>4} turns{span:>8}{tokens:>12}{cost:>9}  ", usage.turns);
            let name = self.shortened(name, figures.len());
            let target = call.map(UsageTarget::SubAgent);
            self.push(&format!("{figures}{name}"), false, target);
        }
    }

    /// A text without its middle, where it has no room beside `used` cells.
    fn shortened(&self, text: &str, used: usize) -> SafeText {
        let room = self.style.width.saturating_sub(used);
        shortened(text.as_bytes(), room, self.style.more)
    }

    /// What the tools of all sub-agents took together.
    fn tools_of_sub_agents(&mut self, nested: &[NestedUsage<'_>]) {
        let mut tools: BTreeMap<&str, ToolUsage> = BTreeMap::new();
        for tool in nested.iter().flat_map(|nested| &nested.usage.by_tool) {
            let sum = tools.entry(&tool.name).or_insert_with(|| ToolUsage {
                name: tool.name.clone(),
                ..ToolUsage::default()
            });
            sum.add(tool);
        }
        let tools: Vec<ToolUsage> = tools.into_values().collect();
        self.tools(IN_SUB_AGENTS, &tools);
    }

    fn tools(&mut self, title: &str, tools: &[ToolUsage]) {
        if tools.is_empty() {
            return;
        }
        let name = self.name;
        // Those that took most time come first, where the recording has times.
        let has_times = tools
            .iter()
            .any(|tool| tool.took.is_some_and(|took| took > 0));
        // Those of sub-agents are shares of what all sub-agents took.
        let share = match (has_times, self.style.width < WIDE) {
            (true, true) => "% of time",
            (true, false) if title == IN_SUB_AGENTS => "% of their tool time",
            (true, false) => "% of tool time",
            (false, true) => "% of size",
            (false, false) if title == IN_SUB_AGENTS => "% of their result size",
            (false, false) => "% of result size",
        };
        let part = |tool: &ToolUsage| match has_times {
            true => tool.took.unwrap_or(0),
            false => tool.bytes,
        };
        let mut tools: Vec<&ToolUsage> = tools.iter().collect();
        tools.sort_by_key(|tool| match self.style.order {
            None => Reverse((part(tool), tool.bytes)),
            Some(order) => Reverse(tool.rank(order)),
        });
        self.heading(&format!(
            "{:<name$}{:>7}{:>8}{:>9}{:>11}{}  {share}",
            title,
            "calls",
            "failed",
            "time",
            "results",
            self.cost_heading()
        ));
        let all: u64 = tools.iter().map(|tool| part(tool)).sum();
        for tool in tools {
            let name = SafeText::single_line(&display_name(&tool.name), self.name - 1);
            let gap = self.name.saturating_sub(name.width());
            self.row(&format!(
                "{}{:gap$}{:>7}{:>8}{:>9}{:>11}{}  {}",
                name.as_plain(),
                "",
                tool.calls,
                tool.errors,
                measured(tool.took),
                bytes(tool.bytes),
                self.cost(tool.cost, "~"),
                self.share(part(tool), all)
            ));
        }
    }

    /// What was sent and received beside the results of tools.
    fn others(&mut self, totals: &SessionUsage) {
        let name = self.name;
        if let Some(cost) = totals.other_cost.filter(|_| !totals.by_tool.is_empty()) {
            let about = match totals.undercounted {
                0 => "~",
                _ => at_least(true),
            };
            let cost = self.cost(Some(cost), about);
            self.row(&format!("{:<name$}{:>35}{cost}", "prompts, replies", ""));
        }
    }

    fn turns(
        &mut self,
        session: &Session,
        totals: &SessionUsage,
        nested: &[NestedUsage<'_>],
        order: UsageOrder,
        listed: usize,
    ) {
        let has_part = |usage: &TurnUsage| match order {
            UsageOrder::Time => usage.took > Some(0),
            UsageOrder::Cost | UsageOrder::Size => usage.tokens.is_some(),
        };
        let turns = turns_of(totals, nested);
        let mut turns: Vec<_> = turns.filter(|(_, _, usage)| has_part(usage)).collect();
        turns.sort_by_key(|(_, _, usage)| Reverse(usage.rank(order)));
        turns.truncate(listed);
        if turns.is_empty() {
            return;
        }
        let title = match order {
            UsageOrder::Cost if self.has_prices => "most expensive turns",
            UsageOrder::Cost => "most new tokens",
            UsageOrder::Time => "slowest turns",
            UsageOrder::Size => "turns with most tokens",
        };
        let name = self.name;
        self.heading(&format!(
            "{title:<name$}{:>9}{:>8}{:>9}{:>11}{}",
            "in",
            "cached",
            "out",
            "time",
            self.cost_heading()
        ));
        for (agent, turn, usage) in turns {
            let mark = at_least(usage.is_undercounted);
            let [input, cached, output] = match usage.tokens {
                None => Default::default(),
                Some(tokens) => [
                    tokens.sent().map_or_else(String::new, count),
                    tokens
                        .cached_percent()
                        .map_or_else(String::new, |cached| format!("{cached}%")),
                    format!("{mark}{}", count(tokens.output)),
                ],
            };
            let text = format!(
                "{:<name$}{input:>9}{cached:>8}{output:>9}{:>11}{}",
                format!("turn {}", turn + 1),
                measured(usage.took),
                self.cost(usage.cost.map(|cost| cost.all), mark)
            );
            match agent {
                None => self.row_to(&text, first_item(session, turn)),
                Some(agent) => self.row_of(agent, &text, None),
            }
        }
    }

    fn results(
        &mut self,
        session: &Session,
        totals: &SessionUsage,
        nested: &[NestedUsage<'_>],
        folder: &str,
        order: UsageOrder,
        listed: usize,
    ) {
        let results = with_agents(totals, nested)
            .flat_map(|(agent, usage)| usage.results.iter().map(move |result| (agent, result)));
        let mut results: Vec<(_, &ResultUsage)> = results
            .filter(|(_, result)| order != UsageOrder::Time || result.took > Some(0))
            .collect();
        results.sort_by_key(|(_, result)| Reverse(result.rank(order)));
        results.truncate(listed);
        if results.is_empty() {
            return;
        }
        self.heading(match order {
            UsageOrder::Cost if self.has_prices => "most expensive results",
            UsageOrder::Cost | UsageOrder::Size => "largest results",
            UsageOrder::Time => "slowest calls",
        });
        for (agent, result) in results {
            let figures = format!(
                "turn {:<6}{:>9}{:>9}{}",
                result.turn + 1,
                bytes(result.bytes),
                measured(result.took),
                self.cost(result.cost, "~"),
            );
            if let Some(agent) = agent {
                let session = agent.session;
                let call = session.map(|session| call_line(session, result.call, folder));
                self.row_of(agent, &figures, call);
                continue;
            }
            let call = call_line(session, result.call, folder);
            let call = self.shortened(&call, figures.len() + 2);
            self.row_to(&format!("{figures}  {call}"), result.call);
        }
    }

    /// A row about a turn of a sub-agent, or about a call in it.
    fn row_of(&mut self, agent: &NestedUsage<'_>, figures: &str, call: Option<String>) {
        let mut text = figures.to_owned();
        if let Some(call) = call {
            // The name of the sub-agent needs room too.
            let room = self
                .style
                .width
                .saturating_sub(SafeText::from_str(&text).width())
                / 2;
            let call = self.shortened(&call, self.style.width.saturating_sub(room));
            text.push_str(&format!("  {call}"));
        }
        let name = self.shortened(
            &agent.name,
            SafeText::from_str(&text).width() + "  in ".len(),
        );
        text.push_str(&format!("  in {name}"));
        self.push(&text, false, agent.call.map(UsageTarget::SubAgent));
    }

    fn misses(&mut self, session: &Session, misses: &[CacheMiss]) {
        if misses.is_empty() {
            return;
        }
        self.heading("cache misses");
        for miss in misses {
            let idle = miss.idle.map(|idle| format!("  after {}", duration(idle)));
            let text = format!(
                "turn {:<6}{:>9} tokens{}",
                miss.turn + 1,
                count(miss.lost),
                idle.unwrap_or_default()
            );
            self.row_to(&text, first_item(session, miss.turn));
        }
    }

    fn kinds(&mut self, kinds: &[KindUsage]) {
        let name = self.name;
        self.heading(&format!(
            "{:<name$}{:>7}{:>28}  share of the history",
            "by kind", "items", "size"
        ));
        let all: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        for kind in kinds {
            let word = match kind.kind {
                Kind::Output => "results",
                kind => kind.word(),
            };
            self.row(&format!(
                "{word:<name$}{:>7}{:>28}  {}",
                kind.items,
                bytes(kind.bytes),
                self.share(kind.bytes, all)
            ));
        }
    }
}

/// A part in percent, rounded, so that parts add up as well as whole numbers can.
fn percent(part: u64, all: u64) -> String {
    match (part.saturating_mul(100).saturating_add(all / 2)) / all.max(1) {
        0 if part > 0 => "<1".to_owned(),
        percent => percent.to_string(),
    }
}

/// A duration; empty where the recording has none.
fn measured(took: Option<u64>) -> String {
    match took {
        None => String::new(),
        // Some agents round to tenths of a second.
        Some(0) => "<0.1s".to_owned(),
        Some(took) => duration(took),
    }
}

/// The first item of a turn.
fn first_item(session: &Session, turn: usize) -> usize {
    let turn = session.turns.get(turn);
    turn.map_or(0, |turn| turn.items().start)
}

fn replies(count: usize) -> String {
    match count {
        1 => "1 reply".to_owned(),
        count => format!("{count} replies"),
    }
}

/// A call as its program names it, with paths as seen from the folder in which it worked.
pub(crate) fn call_line(session: &Session, call: usize, folder: &str) -> String {
    let Some(item) = session.items.get(call) else {
        return String::new();
    };
    let body = body_within(session, item, HEAD).unwrap_or_default();
    let summary = summarize_call(session.name(item), body.arguments.as_written());
    let CallSummary { name, argument, .. } = summary.seen_from(folder);
    format!("{name}({argument})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(totals: &SessionUsage, width: usize) -> Vec<String> {
        let style = ReportStyle {
            width,
            bar: "#",
            more: "...",
            order: None,
        };
        let lines = total_report(totals, style).into_iter();
        lines.map(|line| line.text.to_string()).collect()
    }

    #[test]
    fn the_sums_break_between_their_items() {
        let totals = SessionUsage {
            span: Some(359_000),
            model: 17_800,
            tools: 41_200,
            tools_elapsed: 41_200,
            waiting: 2_000,
            ..SessionUsage::default()
        };
        assert_eq!(
            sums(&totals, 60)[1..],
            [
                "5m59s elapsed: model 17.8s, tools 41.2s,",
                "waiting for you 2.0s"
            ]
        );
    }

    #[test]
    fn the_time_of_tools_is_said_once_where_work_and_clock_agree() {
        let totals = |elapsed| SessionUsage {
            tools: 116_400,
            tools_elapsed: elapsed,
            parallel: 4,
            ..SessionUsage::default()
        };
        let last = |elapsed| sums(&totals(elapsed), 100).pop();
        assert_eq!(
            last(116_000).as_deref(),
            Some("tools 1m56s (up to 4 at once)")
        );
        assert_eq!(
            last(60_000).as_deref(),
            Some("tools: 1m56s of work in 1m00s of clock time (up to 4 at once)")
        );
    }

    #[test]
    fn shares_are_rounded_and_small_ones_are_not_nothing() {
        let parts = [67_000, 28_900, 4_400, 400, 0];
        let all = parts.iter().sum();
        let shares = parts.map(|part| percent(part, all));
        assert_eq!(shares, ["67", "29", "4", "<1", "0"]);
    }
}
