//! A session as one file to share, which looks like the transcript: an HTML page, or Markdown.
//!
//! A page is made of blocks of the transcript. All text of the recording is escaped piece by piece; nothing in it
//! becomes a tag or an image, and a page loads nothing.

mod html;
mod markdown;

pub(crate) use html::HtmlPage;
pub(crate) use markdown::MarkdownPage;

use crate::tui::state::document::Checked;
use crate::tui::text::{Glyph, Tone};
use crate::tui::theme::Glyphs;
use crate::tui::transcript::block::{BlockRow, RowKind};
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::{Session, SourceError};
use std::io;

/// What a page is written of.
pub(crate) struct PageSession<'a> {
    /// How the session is called among those of its file; empty where it is the only one.
    pub(crate) name: String,
    /// The sessions of the file.
    pub(crate) sessions: &'a [Session],
    /// Its index.
    pub(crate) number: usize,
    pub(crate) checked: &'a Checked,
    /// The findings in words, with the indexes of their items.
    pub(crate) findings: Vec<PageFinding>,
}

/// A finding in words.
pub(crate) struct PageFinding {
    pub(crate) severity: Severity,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    /// The index of its item.
    pub(crate) item: Option<u32>,
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
pub(crate) trait PageWriter {
    /// Begins the page; `facts` are about the file.
    fn begin(&mut self, title: &str, facts: &[String]) -> Result<(), PageError>;
    fn session(&mut self, session: &PageSession<'_>) -> Result<(), PageError>;
    /// Ends it; `is_redacted` is said there.
    fn end(&mut self, is_redacted: bool) -> Result<(), PageError>;
}

/// What a sign is drawn as; `None` for words.
fn sign(tone: Tone, text: &SafeText) -> Option<String> {
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
fn words_of(pieces: &[(Tone, SafeText)]) -> String {
    let words = pieces
        .iter()
        .map(|(tone, text)| sign(*tone, text).unwrap_or_else(|| text.as_plain().to_owned()));
    words.collect()
}

/// The rows below the first one of an item, and the rows up to it, without the space above.
fn parted(rows: &[BlockRow]) -> (Vec<&BlockRow>, Vec<&BlockRow>) {
    let rows = rows.iter().filter(|row| row.kind != RowKind::Gap);
    rows.partition(|row| matches!(row.kind, RowKind::Head | RowKind::Title))
}

/// Whether two blocks show the same, however their lines break.
fn is_same(one: &[&BlockRow], other: &[&BlockRow]) -> bool {
    let letters = |rows: &[&BlockRow]| {
        let words = rows.iter().map(|row| words_of(&row.left));
        let mut letters = words.collect::<String>();
        letters.retain(|letter| !letter.is_whitespace() && letter != '│');
        letters
    };
    letters(one) == letters(other)
}

/// The last line of a page.
fn ending(is_redacted: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match is_redacted {
        true => format!(
            "Written by retake {version}. Keys and passwords were replaced by placeholders."
        ),
        false => format!("Written by retake {version}. Keys and passwords were kept."),
    }
}
