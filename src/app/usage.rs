//! Where tokens, money and time went, as rows of text: for the screen and for `retake usage`.

use crate::words::{bytes, clock, count, duration, local};
use jiff::tz::TimeZone;
use retake_core::content::{display_name, summarize_call};
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, Session};
use retake_core::usage::{
    Activity, CacheMiss, Cost, KindUsage, SessionUsage, Timeline, TurnUsage, working_folder,
};
use retake_core::wire::body_within;

/// A row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageLine {
    pub(crate) text: SafeText,
    /// Whether it names what stands below it.
    pub(crate) is_heading: bool,
}

/// Most cells of the name of a tool.
const NAME: usize = 28;
/// Cells of the longest bar.
const BAR: u64 = 20;
/// How much of a call is read for its line.
const HEAD: u64 = 8 * 1024;

/// The sum in one line, as much of it as the recording says: `6m12s`, `214k tok`, `$0.83`.
pub(crate) fn summary(totals: &SessionUsage) -> Vec<String> {
    let tokens = totals.tokens.input.saturating_add(totals.tokens.output);
    let mark = at_least(totals.undercounted > 0);
    let mut facts = Vec::new();
    facts.extend(totals.span.filter(|span| *span > 0).map(duration));
    if tokens > 0 {
        facts.push(format!("{mark}{} tok", count(tokens)));
    }
    facts.extend(totals.cost.map(|cost| format!("{mark}{cost}")));
    facts
}

/// What stands before a number that counts only a part.
pub(crate) fn at_least(is_undercounted: bool) -> &'static str {
    if is_undercounted { "≥" } else { "" }
}

/// The whole report in at most `width` cells; `nested` is what sub-agents took, `bar` a cell of a bar.
pub(crate) fn report(
    session: &Session,
    totals: &SessionUsage,
    nested: &[&SessionUsage],
    width: usize,
    bar: &str,
) -> Vec<UsageLine> {
    let mut report = Report {
        lines: Vec::new(),
        width,
        bar,
        has_prices: totals.cost.is_some(),
    };
    let folder = working_folder(session).unwrap_or_default();
    report.sums(totals);
    report.sub_agents(totals, nested);
    report.tools(totals);
    report.turns(&totals.largest_turns);
    report.results(session, totals, &folder);
    report.misses(&totals.misses);
    report.kinds(&totals.by_kind);
    report.lines
}

struct Report<'a> {
    lines: Vec<UsageLine>,
    width: usize,
    bar: &'a str,
    /// Whether there is a column for money.
    has_prices: bool,
}

impl Report<'_> {
    fn push(&mut self, text: &str, is_heading: bool) {
        self.lines.push(UsageLine {
            text: SafeText::single_line(text, self.width),
            is_heading,
        });
    }

    fn row(&mut self, text: &str) {
        self.push(text, false);
    }

    fn heading(&mut self, text: &str) {
        self.row("");
        self.push(text, true);
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
        let percent = part.saturating_mul(100) / all.max(1);
        let cells = usize::try_from(part.saturating_mul(BAR) / all.max(1)).unwrap_or(0);
        format!("{percent:>3}% {}", self.bar.repeat(cells))
    }

    fn sums(&mut self, totals: &SessionUsage) {
        let tokens = totals.tokens;
        match totals.counted {
            0 => self.row("the recording does not say how many tokens were used"),
            replies => {
                let cached = tokens.cached.saturating_mul(100) / tokens.input.max(1);
                let mark = at_least(totals.undercounted > 0);
                let cost = totals.cost.map(|cost| format!("{mark}{cost} for "));
                self.row(&format!(
                    "{}{} tokens in, {cached}% of them cached; {mark}{} out; {replies} of {} turns say so",
                    cost.unwrap_or_default(),
                    count(tokens.input),
                    count(tokens.output),
                    totals.turns
                ));
            }
        }
        if totals.undercounted > 0 {
            self.row(&format!(
                "≥: of {} the recording counts only the beginning; they say more than that",
                replies(totals.undercounted)
            ));
        }
        match totals.span {
            None | Some(0) => self.row("the recording does not say when things happened"),
            Some(span) => self.row(&format!(
                "{} from beginning to end: model {}, tools {}, waiting for the user {}",
                duration(span),
                duration(totals.model),
                duration(totals.tools),
                duration(totals.waiting)
            )),
        }
        if totals.without_price > 0 {
            let models: Vec<&str> = totals.models.iter().map(|(model, _)| &**model).collect();
            self.row(&format!(
                "no price is known for {} of {}: --prices FILE adds one",
                replies(totals.without_price),
                models.join(", ")
            ));
        } else if totals.models.len() > 1 {
            let models = totals.models.iter();
            let models = models.map(|(model, count)| format!("{model} ({})", replies(*count)));
            self.row(&models.collect::<Vec<_>>().join(", "));
        }
    }

    /// What sub-agents took, and all of it together.
    fn sub_agents(&mut self, totals: &SessionUsage, nested: &[&SessionUsage]) {
        let mut sum = SessionUsage::default();
        for usage in nested {
            sum.tokens.add(usage.tokens);
            sum.undercounted += usage.undercounted;
            if let Some(cost) = usage.cost {
                sum.cost.get_or_insert_default().add(cost);
            }
        }
        if nested.is_empty() {
            return;
        }
        let mut words = match nested.len() {
            1 => "1 sub-agent".to_owned(),
            count => format!("{count} sub-agents"),
        };
        for fact in summary(&sum) {
            words.push_str(&format!(", {fact}"));
        }
        if let (Some(mut own), Some(cost)) = (totals.cost, sum.cost) {
            own.add(cost);
            let mark = at_least(totals.undercounted + sum.undercounted > 0);
            words.push_str(&format!("; {mark}{own} with them"));
        }
        self.row(&words);
    }

    fn tools(&mut self, totals: &SessionUsage) {
        let tools = &totals.by_tool;
        if tools.is_empty() {
            return;
        }
        self.heading(&format!(
            "{:<NAME$}{:>7}{:>8}{:>9}{:>11}{}  share of all results",
            "by tool",
            "calls",
            "errors",
            "time",
            "results",
            self.cost_heading()
        ));
        let all: u64 = tools.iter().map(|tool| tool.bytes).sum();
        for tool in tools {
            let name = SafeText::single_line(&display_name(&tool.name), NAME - 1);
            let gap = NAME.saturating_sub(name.width());
            self.row(&format!(
                "{}{:gap$}{:>7}{:>8}{:>9}{:>11}{}  {}",
                name.as_plain(),
                "",
                tool.calls,
                tool.errors,
                tool.took.map_or_else(|| "-".to_owned(), duration),
                bytes(tool.bytes),
                self.cost(tool.cost, "~"),
                self.share(tool.bytes, all)
            ));
        }
        if let Some(cost) = totals.other_cost {
            let about = match totals.undercounted {
                0 => "~",
                _ => at_least(true),
            };
            let cost = self.cost(Some(cost), about);
            self.row(&format!("{:<NAME$}{:>35}{cost}", "other context", ""));
        }
    }

    fn turns(&mut self, turns: &[(usize, TurnUsage)]) {
        if turns.is_empty() {
            return;
        }
        let title = match self.has_prices {
            true => "turns that cost most",
            false => "turns with most new tokens",
        };
        self.heading(&format!(
            "{title:<NAME$}{:>7}{:>8}{:>9}{:>11}{}",
            "in",
            "cached",
            "out",
            "time",
            self.cost_heading()
        ));
        for (turn, usage) in turns {
            let tokens = usage.tokens.unwrap_or_default();
            let cached = tokens.cached.saturating_mul(100) / tokens.input.max(1);
            let mark = at_least(usage.is_undercounted);
            self.row(&format!(
                "{:<NAME$}{:>7}{cached:>7}%{:>9}{:>11}{}",
                format!("turn {}", turn + 1),
                count(tokens.input),
                format!("{mark}{}", count(tokens.output)),
                usage.took.map_or_else(|| "-".to_owned(), duration),
                self.cost(usage.cost.map(|cost| cost.all), mark)
            ));
        }
    }

    fn results(&mut self, session: &Session, totals: &SessionUsage, folder: &str) {
        if totals.results.is_empty() {
            return;
        }
        self.heading("largest results");
        for result in &totals.results {
            self.row(&format!(
                "turn {:<6}{:>9}{:>9}{}  {}",
                result.turn + 1,
                bytes(result.bytes),
                result.took.map_or_else(String::new, duration),
                self.cost(result.cost, "~"),
                call_line(session, result.call, folder)
            ));
        }
    }

    fn misses(&mut self, misses: &[CacheMiss]) {
        if misses.is_empty() {
            return;
        }
        self.heading("what the cache no longer held");
        for miss in misses {
            let idle = miss.idle.map(|idle| format!("  after {}", duration(idle)));
            self.row(&format!(
                "turn {:<6}{:>9} tokens{}",
                miss.turn + 1,
                count(miss.lost),
                idle.unwrap_or_default()
            ));
        }
    }

    fn kinds(&mut self, kinds: &[KindUsage]) {
        self.heading(&format!(
            "{:<NAME$}{:>7}{:>28}  share of the history",
            "by kind", "items", "size"
        ));
        let all: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        for kind in kinds {
            let name = match kind.kind {
                Kind::Output => "results",
                kind => kind.word(),
            };
            self.row(&format!(
                "{name:<NAME$}{:>7}{:>28}  {}",
                kind.items,
                bytes(kind.bytes),
                self.share(kind.bytes, all)
            ));
        }
    }
}

fn replies(count: usize) -> String {
    match count {
        1 => "1 reply".to_owned(),
        count => format!("{count} replies"),
    }
}

/// Cells of what a lane is called and of how long it took.
const LANE: usize = 18;
const TOOK: usize = 8;
/// Least columns of a lane.
const LEAST: usize = 20;
/// How busy a column is, in eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const PLAIN: [char; 9] = [' ', '.', '.', ':', ':', '=', '=', '#', '#'];

/// A session as bars over time in at most `width` cells: the model, each tool, waiting for the user.
pub(crate) fn timeline(
    timeline: &Timeline,
    width: usize,
    zone: &TimeZone,
    is_ascii: bool,
) -> Vec<UsageLine> {
    let line = |text: &str, is_heading| UsageLine {
        text: SafeText::single_line(text, width),
        is_heading,
    };
    if timeline.lanes.is_empty() {
        let words = "the recording does not say when things happened";
        return vec![line(words, false)];
    }
    let columns = width.saturating_sub(LANE + TOOK + 3).max(LEAST);
    let at = |part: u64| clock(local(timeline.start + timeline.span * part / 2, zone));
    let half = (columns / 2).saturating_sub(4);
    let axis = format!(
        "{:<space$}{:<half$}{}{:>rest$}",
        "",
        at(0),
        at(1),
        at(2),
        space = LANE + TOOK + 2,
        rest = columns.saturating_sub(half + 8)
    );
    let bars = if is_ascii { PLAIN } else { EIGHTHS };
    let mut lines = vec![line(&axis, true)];
    for lane in &timeline.lanes {
        let name = match &lane.activity {
            Activity::Model => "model".to_owned(),
            Activity::Tool(tool) => display_name(tool),
            Activity::Waiting => "waiting for you".to_owned(),
        };
        let name = SafeText::single_line(&name, LANE - 1);
        let gap = LANE.saturating_sub(name.width());
        let busy = lane.columns(columns, timeline.span).into_iter();
        let bar: String = busy.map(|eighths| bars[usize::from(eighths)]).collect();
        let took = duration(lane.took);
        lines.push(line(
            &format!("{}{:gap$}{took:>TOOK$}  {bar}", name.as_plain(), ""),
            false,
        ));
    }
    lines
}

/// A call as its program names it, with paths as seen from the folder in which it worked.
pub(crate) fn call_line(session: &Session, call: usize, folder: &str) -> String {
    let Some(item) = session.items.get(call) else {
        return String::new();
    };
    let body = body_within(session, item, HEAD).unwrap_or_default();
    let summary = summarize_call(session.name(item), body.arguments.as_written());
    let argument = match folder {
        "" => summary.argument,
        folder => summary.argument.replace(folder, ""),
    };
    format!("{}({argument})", summary.name)
}
