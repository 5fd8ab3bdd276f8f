//! The transcript of one session as text: turns, their items, and the findings under the items they are about.

use super::flatten::FindingReport;
use super::output::safe_line;
use super::report::details;
use super::style::Palette;
use retake_core::json::complete;
use retake_core::rules::{Finding, Severity};
use retake_core::safe_text::SafeText;
use retake_core::session::{Item, Kind, PairStatus, Session, SourceError, Turn};
use retake_core::wire::{Body, body_of};
use std::collections::HashMap;
use std::io::{self, Write};

/// Most of an item that is read unless everything is requested.
const HEAD: u64 = 16 * 1024;
/// Most lines of an item that are printed unless everything is requested.
const LINES: usize = 30;
/// Most bytes of them.
const BYTES: usize = 2000;

/// A session as text.
pub(super) struct Transcript<'a> {
    session: &'a Session,
    by_item: HashMap<u32, Vec<&'a Finding>>,
    of_session: Vec<&'a Finding>,
    palette: Palette,
    full: bool,
}

/// Why a transcript ends early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It cannot be written.
    Output(io::Error),
    /// The recording cannot be read any more.
    Source(SourceError),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl<'a> Transcript<'a> {
    /// A session with its findings; `full` prints whole texts.
    pub(super) fn new(
        session: &'a Session,
        findings: &'a [Finding],
        palette: Palette,
        full: bool,
    ) -> Self {
        let mut by_item: HashMap<u32, Vec<&Finding>> = HashMap::new();
        let mut of_session = Vec::new();
        for finding in findings {
            match finding.item {
                Some(item) => by_item.entry(item).or_default().push(finding),
                None => of_session.push(finding),
            }
        }
        Self {
            session,
            by_item,
            of_session,
            palette,
            full,
        }
    }

    /// Writes the turn of this number, counted from 1, or all of them and the notes about the session.
    pub(super) fn write(&self, out: &mut impl Write, turn: Option<u32>) -> Result<(), Stopped> {
        for (index, found) in self.session.turns.iter().enumerate() {
            if turn.is_none_or(|turn| turn as usize == index + 1) {
                self.turn(out, index, found)?;
            }
        }
        if turn.is_none() {
            for finding in &self.of_session {
                writeln!(out)?;
                self.finding(out, finding)?;
            }
        }
        Ok(())
    }

    fn turn(&self, out: &mut impl Write, index: usize, turn: &Turn) -> Result<(), Stopped> {
        let title = format!("turn {}  {}", index + 1, turn.word(&self.session.items));
        writeln!(out, "\n{}", self.palette.bold(title))?;
        for index in turn.items() {
            if let Some(item) = self.session.items.get(index) {
                self.item(out, index, item)?;
            }
        }
        Ok(())
    }

    fn item(&self, out: &mut impl Write, index: usize, item: &Item) -> Result<(), Stopped> {
        let number = self.palette.dim(format!("{:>5}", index + 1));
        let name = safe_line(self.session.name(item));
        let id = safe_line(&self.session.call_id(item)?);
        let facts = [name, id, self.standing(index)];
        let facts = facts.into_iter().filter(|fact| !fact.is_empty());
        let facts = facts.collect::<Vec<_>>().join("  ");
        let kind = self.palette.info(item.kind.word());
        writeln!(
            out,
            "{number}  {kind}{}{facts}",
            if facts.is_empty() { "" } else { "  " }
        )?;
        self.body(out, item)?;
        for finding in self.by_item.get(&(index as u32)).into_iter().flatten() {
            self.finding(out, finding)?;
        }
        Ok(())
    }

    /// What the pairing says of an item.
    fn standing(&self, index: usize) -> String {
        match self.session.pairing.standing(index) {
            PairStatus::Paired(partner) => format!("⇄ item {}", partner + 1),
            PairStatus::Duplicate(call) => format!("again for item {}", call + 1),
            PairStatus::Severed(partner) => format!("cut off from item {}", partner + 1),
            PairStatus::Pending => "waits".to_owned(),
            PairStatus::Orphan => "alone".to_owned(),
            PairStatus::Alone => String::new(),
        }
    }

    fn body(&self, out: &mut impl Write, item: &Item) -> Result<(), Stopped> {
        let is_cut = !self.full && item.span.len() > HEAD;
        let span = if is_cut {
            item.span.head(HEAD)
        } else {
            item.span
        };
        let bytes = self.session.source.read(span)?;
        let read = if is_cut {
            body_of(item, &complete(&bytes))
        } else {
            body_of(item, &bytes)
        };
        let text = match read {
            Ok(body) if !matches!(item.kind, Kind::Unreadable | Kind::Other) => words(&body),
            _ => String::new(),
        };
        let text = if text.is_empty() {
            SafeText::from_bytes(&bytes)
        } else {
            SafeText::from_str(&text)
        };
        self.indented(
            out,
            text.as_plain(),
            if is_cut { item.span.len() - HEAD } else { 0 },
        )
    }

    /// Writes a text under its item; `unread` bytes of it are not even in it.
    fn indented(&self, out: &mut impl Write, text: &str, unread: u64) -> Result<(), Stopped> {
        let shown = if self.full { text } else { beginning(text) };
        for line in shown.lines() {
            writeln!(out, "       {line}")?;
        }
        let left = unread + (text.len() - shown.len()) as u64;
        if left > 0 {
            let more = format!("… {left} bytes more; --full shows them");
            writeln!(out, "       {}", self.palette.dim(more))?;
        }
        Ok(())
    }

    fn finding(&self, out: &mut impl Write, finding: &Finding) -> Result<(), Stopped> {
        let report = FindingReport::new(self.session, finding, None)?;
        let sign = match finding.severity {
            Severity::Error => "●",
            Severity::Warning => "▲",
            Severity::Info => "○",
        };
        let severity = self.palette.severity(finding.severity);
        let rule = self.palette.bold(finding.rule.id);
        writeln!(
            out,
            "     {sign} {severity} {rule}: {}",
            safe_line(&report.message)
        )?;
        for line in details(&report) {
            if line.starts_with("offers") || finding.item.is_none() {
                writeln!(out, "       {}", self.palette.dim(line))?;
            }
        }
        Ok(())
    }
}

/// What an item says: arguments laid out where they are JSON, then its text.
fn words(body: &Body) -> String {
    let written = body.arguments.as_written();
    let laid_out = serde_json::from_str::<serde_json::Value>(written)
        .and_then(|value| serde_json::to_string_pretty(&value));
    let arguments = match laid_out {
        Ok(laid_out) if laid_out.len() > 60 => laid_out,
        _ => written.to_owned(),
    };
    let parts = [arguments.as_str(), body.text.as_str()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// The part of a text that is printed: some lines, and not too many bytes of them.
fn beginning(text: &str) -> &str {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).nth(LINES - 1);
    let end = lines.unwrap_or(text.len()).min(BYTES);
    &text[..text.floor_char_boundary(end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(beginning("a\nb"), "a\nb");
        assert_eq!(beginning(&"x\n".repeat(100)).lines().count(), LINES);
        assert_eq!(beginning(&"漢".repeat(1000)).len(), 1998);
    }
}
