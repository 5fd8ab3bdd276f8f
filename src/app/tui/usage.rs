//! Where tokens and time went, as rows of text: for the screen and for `retake usage`.

use super::transcript::words::{bytes, count, duration};
use retake_core::content::{display_name, summarize_call};
use retake_core::dialects::body_within;
use retake_core::safe_text::SafeText;
use retake_core::session::Session;
use retake_core::usage::{SessionUsage, ToolUsage, TurnUsage};

/// A row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLine {
    pub text: SafeText,
    /// Whether it names what stands below it.
    pub is_heading: bool,
}

/// Most cells of the name of a tool.
const NAME: usize = 28;
/// Cells of the longest bar.
const BAR: u64 = 20;
/// How much of a call is read for its line.
const HEAD: u64 = 8 * 1024;

/// The sum in one line, as much of it as the recording says: `6m12s`, `214k tok`.
pub fn summary(totals: &SessionUsage) -> Vec<String> {
    let tokens = totals.tokens.input.saturating_add(totals.tokens.output);
    let mut facts = Vec::new();
    facts.extend(totals.span.filter(|span| *span > 0).map(duration));
    if tokens > 0 {
        facts.push(format!("{} tok", count(tokens)));
    }
    facts
}

/// The whole report in at most `width` cells.
pub fn report(session: &Session, totals: &SessionUsage, width: usize) -> Vec<UsageLine> {
    let mut lines = ReportLines(Vec::new(), width);
    sums(totals, &mut lines);
    if !totals.by_tool.is_empty() {
        lines.gap();
        lines.heading(&format!(
            "{:<NAME$}{:>7}{:>8}{:>9}{:>11}  share of all results",
            "by tool", "calls", "errors", "time", "results"
        ));
        let all: u64 = totals.by_tool.iter().map(|tool| tool.bytes).sum();
        for tool in &totals.by_tool {
            lines.row(&tool_row(tool, all));
        }
    }
    let turns = totals.largest_turns();
    if !turns.is_empty() {
        lines.gap();
        lines.heading(&format!(
            "{:<NAME$}{:>7}{:>8}{:>9}{:>11}",
            "turns with most new tokens", "in", "cached", "out", "time"
        ));
        for (turn, usage) in &turns {
            lines.row(&turn_row(*turn, usage));
        }
    }
    if !totals.results.is_empty() {
        lines.gap();
        lines.heading("largest results");
        for result in &totals.results {
            let took = result.took.map_or_else(String::new, duration);
            let size = bytes(result.bytes);
            let call = call_line(session, result.call);
            lines.row(&format!(
                "turn {:<6}{size:>9}{took:>9}  {call}",
                result.turn + 1
            ));
        }
    }
    lines.0
}

fn sums(totals: &SessionUsage, lines: &mut ReportLines) {
    let tokens = totals.tokens;
    match totals.counted {
        0 => lines.row("the recording does not say how many tokens were used"),
        replies => {
            let cached = tokens.cached.saturating_mul(100) / tokens.input.max(1);
            lines.row(&format!(
                "{} tokens in, {cached}% of them cached; {} out; {replies} of {} turns say so",
                count(tokens.input),
                count(tokens.output),
                totals.turns
            ));
        }
    }
    match totals.span {
        None | Some(0) => lines.row("the recording does not say when things happened"),
        Some(span) => lines.row(&format!(
            "{} from beginning to end: model {}, tools {}, waiting for the user {}",
            duration(span),
            duration(totals.model),
            duration(totals.tools),
            duration(totals.waiting)
        )),
    }
}

fn tool_row(tool: &ToolUsage, all: u64) -> String {
    let name = SafeText::single_line(&display_name(&tool.name), NAME - 1);
    let gap = NAME.saturating_sub(name.width());
    let took = tool.took.map_or_else(|| "-".to_owned(), duration);
    let share = tool.bytes.saturating_mul(100) / all.max(1);
    let bar = usize::try_from(tool.bytes.saturating_mul(BAR) / all.max(1)).unwrap_or(0);
    format!(
        "{}{:gap$}{:>7}{:>8}{took:>9}{:>11}  {share:>3}% {}",
        name.as_plain(),
        "",
        tool.calls,
        tool.errors,
        bytes(tool.bytes),
        "#".repeat(bar)
    )
}

fn turn_row(turn: usize, usage: &TurnUsage) -> String {
    let tokens = usage.tokens.unwrap_or_default();
    let took = usage.took.map_or_else(|| "-".to_owned(), duration);
    let cached = tokens.cached.saturating_mul(100) / tokens.input.max(1);
    format!(
        "{:<NAME$}{:>7}{:>7}%{:>9}{took:>11}",
        format!("turn {}", turn + 1),
        count(tokens.input),
        cached,
        count(tokens.output)
    )
}

/// A call as its program names it.
pub fn call_line(session: &Session, call: usize) -> String {
    let Some(item) = session.items.get(call) else {
        return String::new();
    };
    let body = body_within(session, item, HEAD).unwrap_or_default();
    let summary = summarize_call(session.name(item), body.arguments.as_written());
    format!("{}({})", summary.name, summary.argument)
}

struct ReportLines(Vec<UsageLine>, usize);

impl ReportLines {
    fn push(&mut self, text: &str, is_heading: bool) {
        self.0.push(UsageLine {
            text: SafeText::single_line(text, self.1),
            is_heading,
        });
    }

    fn row(&mut self, text: &str) {
        self.push(text, false);
    }

    fn heading(&mut self, text: &str) {
        self.push(text, true);
    }

    fn gap(&mut self) {
        self.push("", false);
    }
}
