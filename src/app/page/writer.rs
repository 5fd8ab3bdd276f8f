//! What the forms of a page share: the trait that writes one, and blocks of the transcript as words.

use crate::tui::state::document::Checked;
use crate::tui::text::{Glyph, Tone};
use crate::tui::theme::Glyphs;
use crate::tui::transcript::block::{BlockRow, RowKind};
use crate::tui::transcript::page::Page;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::{Session, SourceError};
use retake_core::usage::Prices;
use std::io;

/// A session on a page.
pub(super) struct PageSession<'a> {
    /// Empty where it is the only one.
    pub(super) name: &'a str,
    /// The sessions of the file.
    pub(super) sessions: &'a [Session],
    pub(super) number: usize,
    pub(super) checked: &'a Checked,
    pub(super) prices: &'a Prices,
    /// Which section of the page it is, from 0.
    pub(super) section: usize,
    /// The calls that lead from it to sub-agents, and those that began it.
    pub(super) links: Vec<&'a PageLink<'a>>,
}

/// A call that began a sub-agent, whose work is another section of the page.
#[derive(Debug)]
pub(super) struct PageLink<'a> {
    /// The section of the call.
    pub(super) caller: usize,
    pub(super) caller_name: &'a str,
    /// The index of the call, and of its turn.
    pub(super) call: usize,
    pub(super) turn: u32,
    /// The section of the sub-agent.
    pub(super) agent: usize,
    pub(super) agent_name: &'a str,
}

impl PageLink<'_> {
    /// Whether it leads from a section or to it.
    pub(super) fn is_of(&self, section: usize) -> bool {
        [self.caller, self.agent].contains(&section)
    }
}

/// The turns that the contents of a session list, by number from 1 and first words; a single one needs no contents.
pub(super) fn listed_turns(page: &Page<'_>) -> Vec<(u32, String)> {
    let turns = page.turns().map(|(turn, words)| (turn + 1, words));
    let turns: Vec<_> = turns.collect();
    if turns.len() < 2 { Vec::new() } else { turns }
}

/// What makes the anchors of a section unlike those of others on the page.
pub(super) fn prefix_of(section: usize) -> String {
    match section {
        0 => String::new(),
        before => format!("s{}-", before + 1),
    }
}

impl<'a> PageSession<'a> {
    /// The session as blocks.
    pub(super) fn page(&self) -> Result<Page<'a>, SourceError> {
        Page::new(self.sessions, self.number, self.checked, self.prices)
    }

    /// The sub-agent that a call began.
    pub(super) fn agent_of(&self, call: usize) -> Option<&'a PageLink<'a>> {
        let mut links = self.links.iter().copied();
        links.find(|link| link.caller == self.section && link.call == call)
    }

    /// The call that began it.
    pub(super) fn caller(&self) -> Option<&'a PageLink<'a>> {
        let mut links = self.links.iter().copied();
        links.find(|link| link.agent == self.section)
    }
}

/// Why a page ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// It cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// The recording cannot be read any more.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// A form of page. Sessions are written one after another between its head and its end.
pub(super) trait PageWriter {
    /// Begins the page; `facts` are about the file.
    fn begin(&mut self, title: &str, facts: &[String]) -> Result<(), PageError>;
    /// Lists the sessions that follow, each with how many turns it has and what it took.
    fn contents(&mut self, sessions: &[(&str, String)]) -> Result<(), PageError>;
    fn session(&mut self, session: &PageSession<'_>) -> Result<(), PageError>;
    /// Ends it; `is_redacted` is said there.
    fn end(&mut self, is_redacted: bool) -> Result<(), PageError>;
}

/// What a sign is drawn as; `None` for words.
pub(super) fn sign(tone: Tone, text: &SafeText) -> Option<String> {
    let glyphs = &Glyphs::UNICODE;
    let letter = match tone {
        Tone::Sign(Severity::Error) => return Some(format!("{} ", glyphs.error)),
        Tone::Sign(Severity::Warning) => return Some(format!("{} ", glyphs.warning)),
        Tone::Sign(Severity::Info) => return Some(format!("{} ", glyphs.info)),
        Tone::Glyph(Glyph::Ok) => glyphs.ok,
        Tone::Glyph(Glyph::Bar) => glyphs.vertical,
        Tone::Glyph(Glyph::Dot) => glyphs.dot,
        Tone::Glyph(Glyph::More) => glyphs.more,
        Tone::Glyph(Glyph::Across) => glyphs.horizontal,
        _ => return None,
    };
    Some(letter.repeat(text.width()))
}

/// The words of pieces, signs included.
pub(super) fn words_of(pieces: &[(Tone, SafeText)]) -> String {
    let words = pieces
        .iter()
        .map(|(tone, text)| sign(*tone, text).unwrap_or_else(|| text.as_plain().to_owned()));
    words.collect()
}

/// The rows below the first one of an item, and the rows up to it, without the space above.
pub(super) fn parted(rows: &[BlockRow]) -> (Vec<&BlockRow>, Vec<&BlockRow>) {
    let rows = rows.iter().filter(|row| row.kind != RowKind::Gap);
    rows.partition(|row| matches!(row.kind, RowKind::Head | RowKind::Title))
}

/// Whether two blocks show the same, however their lines break.
pub(super) fn is_same(one: &[&BlockRow], other: &[&BlockRow]) -> bool {
    let letters = |rows: &[&BlockRow]| {
        let words = rows.iter().map(|row| words_of(&row.left));
        let mut letters = words.collect::<String>();
        letters.retain(|letter| !letter.is_whitespace() && letter != '│');
        letters
    };
    letters(one) == letters(other)
}

/// The last line of a page.
pub(super) fn ending(is_redacted: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match is_redacted {
        true => format!(
            "Written by retake {version}. Keys and passwords were replaced by placeholders."
        ),
        false => format!("Written by retake {version}. Keys and passwords were kept."),
    }
}
