//! What a take changes, for a terminal: item by item, as lines of laid-out JSON.

use super::output::{Output, safe_line};
use super::style::Palette;
use crate::tui::state::pretty::lay_out;
use retake_core::session::{HistoryChange, Session, compare, operations_of};
use retake_live::{Base, FixReport};
use similar::{DiffTag, group_diff_ops};
use std::borrow::Cow;
use std::io::{self, Write};

/// How many unchanged lines are shown around a changed one.
const CONTEXT: usize = 3;

/// A longer line is shown from near its first difference on: after the cut, it may be all
/// there is to see.
const LONG: usize = 500;
/// How many characters of a long line are shown at its beginning, and before its first difference.
const KEPT: usize = 60;

/// Prints what was changed.
pub(super) fn print(
    output: &mut Output,
    palette: Palette,
    base: &Base,
    report: &FixReport,
) -> io::Result<()> {
    let sessions = base
        .recording()
        .sessions
        .iter()
        .zip(&report.recording.sessions);
    for (number, (before, after)) in sessions.enumerate() {
        let changes =
            compare((before, base.rope()), (after, &report.rope)).map_err(io::Error::other)?;
        if changes
            .iter()
            .all(|change| matches!(change, HistoryChange::Same { .. }))
        {
            continue;
        }
        if base.recording().sessions.len() > 1 {
            let label = safe_line(&before.label);
            writeln!(
                output,
                "{}",
                palette.bold(format!("session {} {label}", number + 1))
            )?;
        }
        for change in changes {
            match change {
                HistoryChange::Same { .. } => {}
                HistoryChange::Changed {
                    before: old,
                    after: new,
                } => {
                    hunk(
                        output,
                        palette,
                        '~',
                        Some((before, old)),
                        Some((after, new)),
                    )?;
                }
                HistoryChange::Removed { before: old } => {
                    hunk(output, palette, '-', Some((before, old)), None)?
                }
                HistoryChange::Added { after: new } => {
                    hunk(output, palette, '+', None, Some((after, new)))?
                }
            }
        }
    }
    Ok(())
}

fn hunk(
    output: &mut Output,
    palette: Palette,
    mark: char,
    old: Option<(&Session, usize)>,
    new: Option<(&Session, usize)>,
) -> io::Result<()> {
    let Some((session, index)) = old.or(new) else {
        return Ok(());
    };
    let item = &session.items[index];
    let name = safe_line(session.name(item));
    let heading = format!("@@ {mark} item {}  {} {name}", index + 1, item.kind.word());
    writeln!(output, "{}", palette.info(heading.trim_end()))?;
    let texts = [old, new].map(|place| {
        place.map_or(Ok(String::new()), |(session, index)| {
            text_of(session, index)
        })
    });
    let [old, new] = texts;
    let (old, new) = (old?, new?);
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    for operation in group_diff_ops(operations_of(&old, &new), CONTEXT)
        .iter()
        .flatten()
    {
        let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
        if operation.tag() == DiffTag::Equal {
            for line in gone {
                writeln!(output, "  {}", safe_line(line))?;
            }
            continue;
        }
        // Lines that take each other's places are shown from where they differ on.
        let is_same_count = gone.len() == come.len();
        let shown = |line: &str, other: Option<&&str>| match other.filter(|_| is_same_count) {
            Some(other) => safe_line(&around(line, other)),
            None => safe_line(line),
        };
        for (at, line) in gone.iter().enumerate() {
            let line = shown(line, come.get(at));
            writeln!(output, "{}", palette.error(format!("- {line}")))?;
        }
        for (at, line) in come.iter().enumerate() {
            let line = shown(line, gone.get(at));
            writeln!(output, "{}", palette.added(format!("+ {line}")))?;
        }
    }
    Ok(())
}

/// A long line without most of what it begins with like the other one.
fn around<'a>(line: &'a str, other: &str) -> Cow<'a, str> {
    let same = line.chars().zip(other.chars());
    let same = same.take_while(|(one, two)| one == two).count();
    if line.len() <= LONG || same <= 2 * KEPT {
        return line.into();
    }
    let start: String = line.chars().take(KEPT).collect();
    let rest: String = line.chars().skip(same - KEPT).collect();
    format!("{start} … {rest}").into()
}

/// An item as lines of laid-out JSON.
fn text_of(session: &Session, index: usize) -> io::Result<String> {
    let bytes = session
        .bytes(&session.items[index])
        .map_err(io::Error::other)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = lay_out(&text).into_iter().map(|line| {
        let pieces = line.pieces.iter().map(|(_, range)| &text[range.clone()]);
        format!(
            "{}{}\n",
            "  ".repeat(line.depth),
            pieces.collect::<String>()
        )
    });
    Ok(lines.collect())
}
