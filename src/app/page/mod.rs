//! A session as one file to share, which looks like the transcript: an HTML page, or Markdown.
//!
//! A page is made of blocks of the transcript. All text of the recording is escaped piece by piece; nothing in it
//! becomes a tag or an image, and a page loads nothing.

mod html;
mod markdown;

use crate::tui::state::document::Checked;
use crate::tui::text::{Glyph, Tone};
use crate::tui::theme::Glyphs;
use crate::tui::transcript::block::{BlockRow, RowKind};
use html::HtmlPage;
use markdown::MarkdownPage;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::{Dialect, Session, SourceError};
use retake_live::{Recording, check_session};
use std::io::{self, Write};
use std::path::Path;

/// A form of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageForm {
    Html,
    Markdown,
}

/// What a page is written of.
pub(crate) struct PageSource<'a> {
    pub(crate) recording: &'a Recording,
    /// The indexes of its sessions that are written, with their names.
    pub(crate) sessions: Vec<(usize, String)>,
    /// The dialect to judge for, if not that of the recording.
    pub(crate) target: Option<Dialect>,
    /// Whether the recording was read without its secrets.
    pub(crate) is_redacted: bool,
}

impl PageForm {
    pub(crate) const ALL: [Self; 2] = [Self::Html, Self::Markdown];

    /// What it is called among other formats.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Html => "page of HTML to share, without secrets",
            Self::Markdown => "page of Markdown to share, without secrets",
        }
    }

    /// Its word on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
        }
    }

    /// How its files end.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Html => ".html",
            Self::Markdown => ".md",
        }
    }
}

impl PageSource<'_> {
    pub(crate) fn write(&self, form: PageForm, out: &mut dyn Write) -> Result<(), PageError> {
        let mut page: Box<dyn PageWriter> = match form {
            PageForm::Html => Box::new(HtmlPage::new(out)),
            PageForm::Markdown => Box::new(MarkdownPage::new(out)),
        };
        let sessions = &self.recording.sessions;
        let mut facts = vec![self.recording.format.id.to_owned()];
        match &self.sessions[..] {
            [(only, _)] => {
                let session = &sessions[*only];
                facts.extend(session.model.clone());
                facts.push(number_of(session.turns.len(), "turn"));
            }
            several => facts.push(number_of(several.len(), "session")),
        }
        // Folders are nobody's business.
        let name = &self.recording.name;
        let title = Path::new(name)
            .file_name()
            .map(|name| name.to_string_lossy());
        page.begin(title.as_deref().unwrap_or(name), &facts)?;
        for (number, name) in &self.sessions {
            let findings = check_session(&sessions[*number], self.target)?;
            page.session(&PageSession {
                name: match self.sessions.len() {
                    1 => "",
                    _ => name,
                },
                sessions,
                number: *number,
                checked: &Checked::new(findings),
            })?;
        }
        page.end(self.is_redacted)
    }
}

fn number_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A session on a page.
struct PageSession<'a> {
    /// Empty where it is the only one.
    name: &'a str,
    /// The sessions of the file.
    sessions: &'a [Session],
    /// Its index.
    number: usize,
    checked: &'a Checked,
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
trait PageWriter {
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
