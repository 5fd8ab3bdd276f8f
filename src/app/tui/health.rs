//! The table of tool health as rows of text, for the overlay and for `retake health`.

use crate::words::counted;
use retake_core::rules::{ErrorClass, Health, ToolHealth};
use retake_core::safe_text::SafeText;

/// Cells of the figures after the name, the widest breaker among them.
const FIGURES: usize = 44 + "not offered".len() + 2;
/// Least cells of a name that are worth reading.
const SHORTEST_NAME: usize = 12;
/// By how much details are indented.
const INDENT: usize = 4;

#[derive(Debug, Clone)]
pub struct HealthTable {
    /// The names of the columns.
    pub heading: String,
    /// A row for each tool, those with most errors first, and the sum.
    pub rows: Vec<HealthRow>,
}

/// One tool, or the sum.
#[derive(Debug, Clone)]
pub struct HealthRow {
    /// The tool's name, cut to its column.
    pub name: SafeText,
    /// What follows the name, aligned with the heading.
    pub figures: String,
    /// What went wrong, in rows that are indented already.
    pub details: Vec<String>,
    /// Whether a breaker would be open at the end.
    pub is_open: bool,
}

impl HealthTable {
    /// The table in at most `width` cells, of which it needs 69 at least.
    pub fn new(health: &Health, width: usize) -> Self {
        let tools = health.tools();
        let rows = tools.iter().map(|tool| (name(tool, width), tool));
        let rows = rows.collect::<Vec<_>>();
        let sum = SafeText::single_line(&format!("total, tools: {}", tools.len()), width);
        let widest = rows.iter().map(|(name, _)| name).chain([&sum]);
        let widest = widest.map(SafeText::width).max().unwrap_or_default();
        let room = width.saturating_sub(FIGURES).max(SHORTEST_NAME);
        let column = widest.clamp(SHORTEST_NAME, room);
        let mut table = Self {
            heading: format!(
                "{:<column$}{:>6}{:>9}{:>7}{:>6}{:>9}{:>5}  breaker",
                "tool", "calls", "answered", "errors", "rate", "95%", "run"
            ),
            rows: Vec::new(),
        };
        for (name, tool) in &rows {
            let (breaker, notes) = (breaker(tool, health.sessions), details(tool));
            table.push(
                name.truncated(column),
                column,
                tool,
                &breaker,
                &notes,
                width,
            );
        }
        let total = health.total();
        let breaker = match total.open {
            0 => "closed".to_owned(),
            open => format!("{open} open"),
        };
        let notes = details_of_total(health, &total);
        table.push(
            sum.truncated(column),
            column,
            &total,
            &breaker,
            &notes,
            width,
        );
        table
    }

    fn push(
        &mut self,
        name: SafeText,
        column: usize,
        tool: &ToolHealth,
        breaker: &str,
        notes: &[String],
        width: usize,
    ) {
        let gap = column.saturating_sub(name.width());
        self.rows.push(HealthRow {
            name,
            figures: format!("{:gap$}{}", "", figures(tool, breaker)),
            details: in_rows(notes, width),
            is_open: tool.open > 0,
        });
    }
}

fn name(tool: &ToolHealth, width: usize) -> SafeText {
    match tool.name.as_str() {
        "" if tool.calls == 0 => {
            let outputs = counted(tool.outputs, "output");
            SafeText::single_line(&format!("({outputs}, no call)"), width)
        }
        "" => SafeText::from_static("(no name)"),
        name => SafeText::single_line(name, width),
    }
}

fn breaker(tool: &ToolHealth, sessions: usize) -> String {
    match (tool.open, sessions) {
        _ if tool.is_not_offered() => "not offered".to_owned(),
        (0, _) => "closed".to_owned(),
        (_, 1) if tool.open_in_run > 0 => "open".to_owned(),
        (_, 1) => "would open".to_owned(),
        (open, _) => format!("open in {open}"),
    }
}

fn figures(tool: &ToolHealth, breaker: &str) -> String {
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let (rate, interval) = match tool.error_rate() {
        Some(rate) => (
            format!("{}%", percent(rate.share)),
            format!("{}-{}%", percent(rate.low), percent(rate.high)),
        ),
        None => ("-".to_owned(), "-".to_owned()),
    };
    // What has no call was none.
    let number = |count: usize| match tool.calls {
        0 if tool.outputs > 0 => "-".to_owned(),
        _ => count.to_string(),
    };
    format!(
        "{:>6}{:>9}{:>7}{rate:>6}{interval:>9}{:>5}  {breaker}",
        number(tool.calls),
        number(tool.answered),
        tool.errors(),
        tool.longest_run
    )
}

/// What went wrong in words: errors by class, then what is wrong with calls.
fn details(tool: &ToolHealth) -> Vec<String> {
    let classes = ErrorClass::ALL.iter().zip(tool.classes);
    let classes = classes.map(|(class, count)| (count, class.words()));
    let faults = [
        (tool.unknown, "not offered"),
        (tool.malformed, "malformed"),
        (tool.invalid, "against the schema"),
        (tool.orphans, "unpaired"),
        (tool.repeated, "repeated"),
    ];
    let notes = classes.chain(faults).filter(|(count, _)| *count > 0);
    notes
        .map(|(count, words)| format!("{count} {words}"))
        .collect()
}

fn details_of_total(health: &Health, total: &ToolHealth) -> Vec<String> {
    let mut notes = details(total);
    match (health.without_tools, health.sessions) {
        (0, _) => {}
        (without, all) if without == all => notes.push("offered tools not known".to_owned()),
        (without, all) => notes.push(format!(
            "offered tools not known in {without} of {all} sessions"
        )),
    }
    notes
}

/// Puts details one after the other, in rows of at most `width` cells.
fn in_rows(notes: &[String], width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for detail in notes {
        match rows.last_mut() {
            Some(row) if row.len() + ", ,".len() + detail.len() <= width => {
                row.push_str(", ");
                row.push_str(detail);
            }
            last => {
                last.into_iter().for_each(|row| row.push(','));
                rows.push(format!("{:INDENT$}{detail}", ""));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::state::tests::recording;

    #[test]
    fn the_widest_table_fits_the_room_that_it_is_given() {
        let name = "\u{202e}漢".repeat(40);
        let message = format!(
            r#"[{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"{name}","arguments":"{{"}}}}]}},
            {{"role":"tool","tool_call_id":"c","content":"Error: no"}}]"#
        );
        let session = recording(&message).sessions.remove(0);
        let findings = retake_live::check_session(&session, None).unwrap();
        let mut health = Health::default();
        health.add(&session, &findings);
        for _ in 0..17 {
            let twice = health.clone();
            health.merge(&twice);
        }
        for width in [69, 75, 80, 120] {
            let HealthTable { heading, rows } = HealthTable::new(&health, width);
            assert!(heading.len() <= width, "{heading}");
            for row in &rows {
                assert!(row.name.width() + row.figures.len() <= width, "{row:?}");
                assert!(
                    row.details.iter().all(|detail| detail.len() <= width),
                    "{row:?}"
                );
            }
            assert!(rows[0].name.to_string().contains("202e"));
            assert_eq!(rows[0].details, ["    131072 exception, 131072 malformed"]);
        }
    }
}
