//! A session as one file to share, which looks like the transcript: an HTML page, or Markdown.
//!
//! A page is made of blocks of the transcript. All text of the recording is escaped piece by piece, but for the
//! Markdown of messages in Markdown; nothing in it becomes a tag, and a page loads nothing. Pictures that the
//! recording holds are in an HTML page.

mod html;
mod inert;
mod markdown;
mod writer;

use crate::tui::state::document::Checked;
use crate::tui::transcript::nested::{NestedPlace, nested_calls};
use crate::usage::summary;
use crate::words::{day, local};
use html::HtmlPage;
use jiff::tz::TimeZone;
use markdown::MarkdownPage;
use retake_core::session::{Dialect, Session, SourceError};
use retake_core::usage::{Prices, SessionUsage, UsageReader};
use retake_live::{Recording, check_session};
use std::io::Write;
use std::path::Path;
use writer::{PageLink, PageSession, PageWriter};

pub(crate) use writer::PageError;

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
    pub(crate) prices: &'a Prices,
    /// The take that it is, where it is not what was recorded.
    pub(crate) take: Option<String>,
    /// Whether the recording was read without its secrets.
    pub(crate) is_redacted: bool,
}

impl PageForm {
    pub(crate) const ALL: [Self; 2] = [Self::Html, Self::Markdown];

    /// What it is called among other formats.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Html => "HTML page, secrets removed",
            Self::Markdown => "Markdown page, secrets removed",
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
                facts.extend(totals_of(session, self.prices)?);
            }
            several => facts.push(number_of(several.len(), "session")),
        }
        facts.extend(self.take.clone());
        // Folders are nobody's business.
        let name = &self.recording.name;
        let title = Path::new(name)
            .file_name()
            .map(|name| name.to_string_lossy());
        page.begin(title.as_deref().unwrap_or(name), &facts)?;
        if self.sessions.len() > 1 {
            let named = self.sessions.iter();
            let named = named.map(|(number, name)| {
                let session = &sessions[*number];
                let mut facts = vec![number_of(session.turns.len(), "turn")];
                facts.extend(sums_of(session, self.prices)?);
                Ok((name.as_str(), facts.join(" · ")))
            });
            page.contents(&named.collect::<Result<Vec<_>, SourceError>>()?)?;
        }
        let links = self.links();
        for (section, (number, name)) in self.sessions.iter().enumerate() {
            let findings = check_session(&sessions[*number], self.target)?;
            page.session(&PageSession {
                links: links.iter().filter(|link| link.is_of(section)).collect(),
                section,
                name: match self.sessions.len() {
                    1 => "",
                    _ => name,
                },
                sessions,
                number: *number,
                checked: &Checked::new(findings),
                prices: self.prices,
            })?;
        }
        page.end(self.is_redacted)
    }

    /// The calls on the page that began sub-agents whose work is on it, too.
    fn links(&self) -> Vec<PageLink<'_>> {
        let sessions = &self.recording.sessions;
        let section_of = |index| {
            self.sessions
                .iter()
                .position(|(number, _)| *number == index)
        };
        let callers = self.sessions.iter().enumerate();
        let links = callers.flat_map(|(caller, (number, name))| {
            let calls = nested_calls(sessions, &[], *number).into_iter();
            calls.filter_map(move |(call, place)| {
                let NestedPlace::Session(index) = place else {
                    return None;
                };
                let agent = section_of(index)?;
                Some(PageLink {
                    caller,
                    caller_name: name,
                    call,
                    turn: sessions[*number].items.get(call)?.turn,
                    agent,
                    agent_name: &self.sessions[agent].1,
                })
            })
        });
        links.collect()
    }
}

/// When a session began, how long it took, its tokens and cost, as far as they are recorded.
pub(crate) fn totals_of(session: &Session, prices: &Prices) -> Result<Vec<String>, SourceError> {
    let began = UsageReader::new(session, prices).item_time(0)?;
    let began = began.map(|at| day(local(at, &TimeZone::UTC)));
    Ok(began.into_iter().chain(sums_of(session, prices)?).collect())
}

/// How long a session took, its tokens and cost, as far as they are recorded.
fn sums_of(session: &Session, prices: &Prices) -> Result<Vec<String>, SourceError> {
    let totals = SessionUsage::of(session, prices, &|| false, &mut |_, _| ())?;
    Ok(totals.iter().flat_map(summary).collect())
}

fn number_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
