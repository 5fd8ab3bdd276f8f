//! A page of Markdown, for issues and chats: messages as they were formatted, calls as lines, what is long folded.
//!
//! The Markdown of a message is kept, without what is active in it; of all else every letter that could mean
//! something is escaped: so that nothing becomes HTML or an image.

use super::inert::{escaped, inert};
use super::writer::{
    PageError, PageSession, PageWriter, ending, listed_turns, parted, prefix_of, words_of,
};
use crate::tui::text::{Glyph, Tone};
use crate::tui::transcript::block::{BlockRow, RowKind};
use crate::tui::transcript::page::{Page, PageBlock};
use retake_core::content::Look;
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use std::io::Write;

/// Most rows below a call that stand open.
const OPEN: usize = 8;

/// Writes a page of Markdown.
pub(super) struct MarkdownPage<W> {
    out: W,
}

impl<W: Write> MarkdownPage<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    fn findings(&mut self, session: &PageSession<'_>) -> Result<(), PageError> {
        for finding in session.checked.findings() {
            let sign = words_of(&[(Tone::Sign(finding.severity), SafeText::default())]);
            let message = SafeText::single_line(&finding.message(), 400);
            let message = escaped(message.as_plain());
            let place = finding
                .item
                .map_or_else(String::new, |item| format!("item {}: ", item + 1));
            writeln!(self.out, "- {sign}**{}** {place}{message}", finding.rule.id)?;
        }
        if !session.checked.findings().is_empty() {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// A list that is folded: each row leads to its place.
    fn turns(&mut self, session: &PageSession<'_>, page: &Page<'_>) -> Result<(), PageError> {
        let prefix = prefix_of(session.section);
        let turns = listed_turns(page);
        if turns.is_empty() {
            return Ok(());
        }
        let count = turns.len();
        writeln!(
            self.out,
            "<details><summary>contents: {count} turns</summary>\n"
        )?;
        for (turn, words) in turns {
            let words = escaped(&words);
            writeln!(self.out, "- [{turn} {words}](#{prefix}turn-{turn})")?;
        }
        writeln!(self.out, "\n</details>\n")?;
        Ok(())
    }

    fn block(
        &mut self,
        block: &PageBlock,
        (kind, text): (Kind, Option<[SafeText; 2]>),
        prefix: &str,
    ) -> Result<(), PageError> {
        let (heads, _) = parted(&block.own.folded);
        let (titles, mut below) = parted(&block.own.unfolded);
        let is_said = matches!(kind, Kind::User | Kind::Assistant | Kind::Reasoning);
        // The first row of a message is its text, but for what is wrong with it.
        let is_text = |row: &BlockRow| {
            let is_fault = matches!(row.left.first(), Some((Tone::Sign(_), _)));
            row.kind == RowKind::Title && is_said && !is_fault
        };
        let has_text = text.is_some() || !below.is_empty();
        if has_text {
            let texts = titles.into_iter().filter(|row| is_text(row));
            below = texts.chain(below).collect();
        }
        let mut lines = Vec::new();
        for row in heads {
            let (left, right) = (on_one_line(&row.left), on_one_line(&row.right));
            let right = match &right[..] {
                "" => right,
                right => format!(" <sub>{}</sub>", escaped(right)),
            };
            match block.begins_turn.filter(|_| row.kind == RowKind::Head) {
                Some(turn) => {
                    let (turn, left) = (turn + 1, escaped(&left));
                    writeln!(
                        self.out,
                        "### <a id=\"{prefix}turn-{turn}\"></a>{left}{right}\n"
                    )?;
                }
                None if has_text && is_text(row) => {}
                None => lines.push(format!("{}{right}\n", code(&left))),
            }
        }
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        if let Some([thought, text]) = text {
            self.message(&thought, "> ")?;
            return self.message(&text, "");
        }
        self.below(&below)?;
        match &block.output {
            Some(output) => self.below(&parted(&output.unfolded).1),
            None => Ok(()),
        }
    }

    /// What hangs below a call: as it is written, folded where it is long.
    fn below(&mut self, rows: &[&BlockRow]) -> Result<(), PageError> {
        if rows.is_empty() {
            return Ok(());
        }
        let margin = rows.iter().map(|row| row.indent).min().unwrap_or(0);
        let lines = rows.iter().map(|row| {
            let hangs = matches!(row.left.first(), Some((Tone::Glyph(Glyph::Bar), _)));
            let words = words_of(&row.left[if hangs { 2 } else { 0 }..]);
            " ".repeat(row.indent - margin) + &words
        });
        let lines = lines.collect::<Vec<_>>();
        let is_diff = rows.iter().flat_map(|row| &row.left).any(|(tone, _)| {
            matches!(
                tone,
                Tone::Look(Look::Added | Look::Removed) | Tone::Added | Tone::Removed
            )
        });
        let is_long = lines.len() > OPEN;
        if is_long {
            let count = lines.len();
            writeln!(self.out, "<details><summary>{count} lines</summary>\n")?;
        }
        let fence = fence_for(&lines);
        writeln!(self.out, "{fence}{}", if is_diff { "diff" } else { "text" })?;
        for line in &lines {
            writeln!(self.out, "{}", line.trim_end())?;
        }
        writeln!(self.out, "{fence}\n")?;
        if is_long {
            writeln!(self.out, "</details>\n")?;
        }
        Ok(())
    }

    /// What is said, in Markdown; `margin` begins each line.
    fn message(&mut self, text: &SafeText, margin: &str) -> Result<(), PageError> {
        if text.as_plain().is_empty() {
            return Ok(());
        }
        for line in inert(text.as_plain()).lines() {
            let margin = if line.is_empty() {
                margin.trim_end()
            } else {
                margin
            };
            writeln!(self.out, "{margin}{line}")?;
        }
        writeln!(self.out)?;
        Ok(())
    }
}

impl<W: Write> PageWriter for MarkdownPage<W> {
    fn begin(&mut self, title: &str, facts: &[String]) -> Result<(), PageError> {
        let title = SafeText::single_line(title, 200);
        let facts = facts
            .iter()
            .map(|fact| escaped(SafeText::single_line(fact, 200).as_plain()));
        let facts = facts.collect::<Vec<_>>().join(" · ");
        writeln!(self.out, "# {}\n\n{facts}\n", escaped(title.as_plain()))?;
        Ok(())
    }

    fn contents(&mut self, sessions: &[(&str, String)]) -> Result<(), PageError> {
        for (section, (name, facts)) in (1..).zip(sessions) {
            let name = escaped(SafeText::single_line(name, 200).as_plain());
            let facts = escaped(facts);
            writeln!(self.out, "- [{name}](#session-{section}) {facts}")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn session(&mut self, session: &PageSession<'_>) -> Result<(), PageError> {
        if !session.name.is_empty() {
            let name = SafeText::single_line(session.name, 200);
            let section = session.section + 1;
            let name = escaped(name.as_plain());
            writeln!(self.out, "## <a id=\"session-{section}\"></a>{name}\n")?;
        }
        if let Some(link) = session.caller() {
            let (prefix, turn) = (prefix_of(link.caller), link.turn + 1);
            let name = escaped(SafeText::single_line(link.caller_name, 200).as_plain());
            writeln!(
                self.out,
                "[called in turn {turn} of {name}](#{prefix}turn-{turn})\n"
            )?;
        }
        self.findings(session)?;
        let page = session.page()?;
        self.turns(session, &page)?;
        let prefix = prefix_of(session.section);
        for block in page.blocks() {
            let item = page.session().items.get(block.own.index);
            let kind = item.map_or(Kind::Other, |item| item.kind);
            let text = page.message(block.own.index);
            self.block(&block, (kind, text), &prefix)?;
            if let Some(link) = session.agent_of(block.own.index) {
                let name = escaped(SafeText::single_line(link.agent_name, 200).as_plain());
                let section = link.agent + 1;
                writeln!(self.out, "[{name}](#session-{section})\n")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, is_redacted: bool) -> Result<(), PageError> {
        let end = ending(is_redacted);
        writeln!(self.out, "---\n\n{end}")?;
        self.out.flush()?;
        Ok(())
    }
}

/// The words of pieces with single spaces between them.
fn on_one_line(pieces: &[(Tone, SafeText)]) -> String {
    let words = words_of(pieces);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text as code in a line.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_ticks(text) + 1);
    format!("{ticks} {text} {ticks}")
}

/// How many backticks stand side by side in a text.
fn longest_ticks(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// A fence that no line ends.
fn fence_for(lines: &[String]) -> String {
    let longest = lines.iter().map(|line| longest_ticks(line)).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}
