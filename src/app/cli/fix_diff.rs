//! What a take changes, for a terminal: item by item, as lines of laid-out JSON.

use super::output::{Output, safe_line};
use super::style::Palette;
use crate::tui::state::pretty::lay_out;
use retake_core::session::{Change, Session, compare};
use retake_live::{Base, Mended};
use similar::{Change as Line, ChangeTag, DiffOp, DiffTag, TextDiff};
use std::borrow::Cow;
use std::io::{self, Write};

/// How many unchanged lines are shown around a changed one.
const CONTEXT: usize = 3;

/// A longer line is shown from near its first difference on: behind its end, where it is cut, it may be all
/// there is to see.
const LONG: usize = 500;
/// How many characters of a long line are shown at its beginning, and before its first difference.
const KEPT: usize = 60;

/// Prints what was changed.
pub(super) fn print(
    output: &mut Output,
    palette: Palette,
    base: &Base,
    mended: &Mended,
) -> io::Result<()> {
    let sessions = base
        .recording()
        .sessions
        .iter()
        .zip(&mended.recording.sessions);
    for (number, (before, after)) in sessions.enumerate() {
        let changes =
            compare((before, base.rope()), (after, &mended.rope)).map_err(io::Error::other)?;
        if changes
            .iter()
            .all(|change| matches!(change, Change::Same { .. }))
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
                Change::Same { .. } => {}
                Change::Changed {
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
                Change::Removed { before: old } => {
                    hunk(output, palette, '-', Some((before, old)), None)?
                }
                Change::Added { after: new } => {
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
    let difference = TextDiff::from_lines(&old, &new);
    for group in difference.grouped_ops(CONTEXT) {
        for operation in &group {
            for change in difference.iter_changes(operation) {
                let line = change.value().trim_end_matches('\n');
                let other = counterpart(&difference, operation, &change);
                let line = safe_line(&other.map_or_else(|| line.into(), |it| around(line, it)));
                match change.tag() {
                    ChangeTag::Delete => {
                        writeln!(output, "{}", palette.error(format!("- {line}")))?
                    }
                    ChangeTag::Insert => {
                        writeln!(output, "{}", palette.added(format!("+ {line}")))?
                    }
                    ChangeTag::Equal => writeln!(output, "  {line}")?,
                }
            }
        }
    }
    Ok(())
}

/// The line that stands on the other side in the place of a changed one.
fn counterpart<'a>(
    difference: &'a TextDiff<'_, '_, str>,
    operation: &DiffOp,
    line: &Line<&str>,
) -> Option<&'a str> {
    let (tag, old, new) = operation.as_tag_tuple();
    if tag != DiffTag::Replace || old.len() != new.len() {
        return None;
    }
    match line.tag() {
        ChangeTag::Delete => difference.new_slice(new.start + line.old_index()? - old.start),
        ChangeTag::Insert => difference.old_slice(old.start + line.new_index()? - new.start),
        ChangeTag::Equal => None,
    }
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
