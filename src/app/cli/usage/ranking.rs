//! What `usage` prints of several sessions: a row each, the dearest first, with its sub-agents.

use crate::usage::{ReportStyle, UsageLine, at_least};
use crate::words::{count, duration};
use retake_core::safe_text::SafeText;
use retake_core::usage::{Cost, SessionUsage, UsageOrder};
use std::cmp::Reverse;
use std::path::PathBuf;

/// Most sessions that are listed.
const SESSIONS: usize = 20;
/// Most sub-agents of a session that are listed.
const AGENTS: usize = 3;

/// A session, or a sub-agent.
pub(super) struct RankedUsage {
    pub(super) path: PathBuf,
    /// Its file and its first words, or those of its task.
    pub(super) name: String,
    /// Together with its sub-agents.
    pub(super) usage: SessionUsage,
    pub(super) agents: Vec<RankedUsage>,
}

impl RankedUsage {
    fn tokens(&self) -> u64 {
        let tokens = &self.usage.tokens;
        tokens.input.saturating_add(tokens.output)
    }

    fn rank(&self, order: UsageOrder) -> (u64, u64) {
        let cost = self.usage.cost.map_or(0, Cost::raw);
        match order {
            UsageOrder::Cost => (cost, self.tokens()),
            UsageOrder::Time => (self.usage.span.unwrap_or(0), cost),
            UsageOrder::Size => (self.tokens(), cost),
        }
    }

    fn row(&self, depth: usize) -> String {
        let usage = &self.usage;
        let mark = at_least(usage.undercounted > 0);
        let tokens = Some(self.tokens()).filter(|tokens| *tokens > 0);
        let tokens = tokens.map(|tokens| format!("{mark}{}", count(tokens)));
        let cost = usage.cost.map(|cost| format!("{mark}{cost}"));
        let time = usage.span.filter(|span| *span > 0).map(duration);
        let [cost, tokens, time] = [cost, tokens, time].map(Option::unwrap_or_default);
        let figures = figures([&cost, &tokens, &time, &usage.turns.to_string()]);
        let indent = 2 * depth;
        format!("{figures}{:indent$}{}", "", self.name)
    }
}

fn figures([cost, tokens, time, turns]: [&str; 4]) -> String {
    format!("{cost:>9}{tokens:>9}{time:>9}{turns:>7}  ")
}

fn row(text: &str, style: ReportStyle, is_heading: bool) -> UsageLine {
    UsageLine {
        text: SafeText::single_line(text, style.width),
        is_heading,
        target: None,
    }
}

/// The rows of the dearest sessions, each with its dearest sub-agents, below their headings.
pub(super) fn ranking(mut sessions: Vec<RankedUsage>, style: ReportStyle) -> Vec<UsageLine> {
    let order = style.order.unwrap_or(UsageOrder::Cost);
    let heading = figures(["cost", "tokens", "time", "turns"]);
    let mut rows = vec![row(&format!("{heading}session"), style, true)];
    sessions.sort_by_key(|session| Reverse(session.rank(order)));
    for session in sessions.iter_mut().take(SESSIONS) {
        rows.push(row(&session.row(0), style, false));
        let agents = &mut session.agents;
        agents.sort_by_key(|agent| Reverse(agent.rank(order)));
        let listed = agents.iter().take(AGENTS);
        rows.extend(listed.map(|agent| row(&agent.row(1), style, false)));
        if let Some(more @ 1..) = agents.len().checked_sub(AGENTS) {
            let more = format!("{}  {more} more sub-agents", figures([""; 4]));
            rows.push(row(&more, style, false));
        }
    }
    if let Some(more @ 1..) = sessions.len().checked_sub(SESSIONS) {
        rows.push(row(
            &format!("{}{more} more", figures([""; 4])),
            style,
            false,
        ));
    }
    rows
}
