//! The copy menu: what to copy, and the way to the clipboard.
//!
//! The clipboard is reached through the terminal (OSC 52), so it works over SSH and needs no display server.
//! The text is copied as it reads, whole and without colours; `raw` copies the bytes of the recording.

use super::keymap::{Command, Context, command};
use super::layer::{Layer, Placement, Step};
use super::popup::{framed, rows, write};
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::clipboard::CopyToClipboard;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::crossterm::execute;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use std::io::{self, Write};

pub const NOTE: &str = "Copying goes through the terminal (OSC 52), also over SSH. tmux needs `set -g \
    set-clipboard on`; some terminals want to be asked for permission in their settings.";

/// The longest text in base64 that terminals take: xterm and hterm cut or drop longer ones.
const BASE64_LIMIT: usize = 74_994;
/// The same before base64, which makes four letters of three bytes.
pub const LIMIT: usize = BASE64_LIMIT / 4 * 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// What the item says: of a call that writes a file, edits or runs a command, the file, the diff or the command.
    Text,
    /// The arguments of the call.
    Arguments,
    /// The output of the call.
    Output,
    CallId,
    /// The path of the file.
    Path,
    /// The bytes of the item as they stand in the file.
    Raw,
    /// The error for which the run is paused.
    Error,
}

impl Copied {
    /// Everything, with its key and its name.
    pub const ALL: [(Self, char, &'static str); 7] = [
        (Self::Text, 'y', "item text"),
        (Self::Arguments, 'a', "arguments"),
        (Self::Output, 'o', "output"),
        (Self::CallId, 'i', "call id"),
        (Self::Path, 'p', "path"),
        (Self::Raw, 'r', "raw"),
        (Self::Error, 'e', "the error"),
    ];
}

/// A menu of what can be copied: keys with names, and what each copies.
#[derive(Debug, Clone)]
pub struct CopyMenu<T> {
    rows: Vec<(char, &'static str, T)>,
    /// Says that the last key chooses nothing.
    title: SafeText,
}

impl CopyMenu<Copied> {
    /// A menu of what the item has.
    pub fn of_item(available: &[Copied]) -> Self {
        let rows = Copied::ALL.into_iter().map(|(what, key, name)| {
            let is_available = available.contains(&what);
            (key, name, is_available.then_some(what))
        });
        Self::new(rows.collect())
    }
}

impl<T> CopyMenu<T> {
    /// A menu of what there is.
    pub fn new(rows: Vec<(char, &'static str, Option<T>)>) -> Self {
        let title = SafeText::from_static("copy");
        let rows = rows.into_iter();
        let rows = rows.filter_map(|(key, name, what)| Some((key, name, what?)));
        let rows = rows.collect();
        Self { rows, title }
    }
}

impl<S, T: Clone + Send + 'static> Layer<S> for CopyMenu<T> {
    type Output = T;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Copying]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<T> {
        let chosen = match key.code {
            KeyCode::Enter => self.rows.first(),
            KeyCode::Char(letter) => self.rows.iter().find(|(key, ..)| *key == letter),
            _ => None,
        };
        if let Some((.., what)) = chosen {
            return Step::Done(what.clone());
        }
        if command(Context::Copying, &key) == Some(Command::Leave) {
            return Step::Leave;
        }
        let name = SafeText::single_line(&key.code.to_string(), 12);
        self.title = SafeText::from_static("copy: ");
        self.title.push(&name);
        self.title
            .push(&SafeText::from_static(" is no choice; esc closes"));
        Step::Stay
    }

    fn mouse(&mut self, _: MouseEvent, _: &mut S) -> Step<T> {
        Step::Pass
    }

    /// Draws the menu at the bottom right.
    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let longest = self.rows.iter().map(|(_, name, _)| name.len()).max();
        let wanted = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
        let inside = (longest.unwrap_or(0) + 5).max(self.title.width());
        let width = wanted(inside + 4).min(area.width);
        let height = wanted(self.rows.len() + 2).min(area.height);
        let popup = Rect {
            x: area.right() - width,
            y: area.bottom() - height,
            width,
            height,
        };
        let inside = framed(frame, popup, &self.title, "", theme);
        for (row, (key, name, _)) in rows(inside).zip(&self.rows) {
            let key = Span::styled(format!("{key}  "), theme.key);
            let spans = vec![key, Span::styled(*name, theme.text)];
            write(frame, row, spans, Style::new(), theme);
        }
    }
}

/// Sends bytes to the terminal's clipboard. Gives the words that say what happened; whether the terminal obeys,
/// it does not say.
pub fn copy(terminal: &mut impl Write, bytes: &[u8]) -> io::Result<String> {
    let count = bytes.len();
    if count > LIMIT {
        return Ok(format!(
            "too long for the clipboard: {count} bytes, a terminal takes {LIMIT}"
        ));
    }
    execute!(terminal, CopyToClipboard::to_clipboard_from(bytes))?;
    Ok(format!("copied {count} bytes"))
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn letters_choose_what_the_item_has() {
        let mut menu = CopyMenu::of_item(&[Copied::Text, Copied::Arguments]);
        assert_eq!(
            menu.key(KeyCode::Char('a').into(), &mut ()),
            Step::Done(Copied::Arguments)
        );
        assert_eq!(menu.key(KeyCode::Char('o').into(), &mut ()), Step::Stay);
        assert_eq!(
            menu.key(KeyCode::Enter.into(), &mut ()),
            Step::Done(Copied::Text)
        );
        assert_eq!(menu.key(KeyCode::Char('k').into(), &mut ()), Step::Stay);
        for key in [KeyCode::Esc, KeyCode::Char('q')] {
            let mut left = menu.clone();
            assert_eq!(left.key(key.into(), &mut ()), Step::Leave);
        }
        let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
        for (width, height) in [(1, 1), (2, 3), (40, 10)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal
                .draw(|frame| menu.view(frame, frame.area(), &(), &theme))
                .unwrap();
            let shown = terminal.backend().to_string();
            for words in ["a  arguments", "copy: k is no choice; esc closes"] {
                assert!(width < 40 || shown.contains(words), "{shown}");
            }
            assert!(!shown.contains("output"), "{shown}");
        }
    }

    #[test]
    fn bytes_are_copied_as_they_are_and_too_many_are_refused() {
        let mut sent = Vec::new();
        let said = copy(&mut sent, b"a\x1b[m\xff").unwrap();
        assert_eq!(sent, b"\x1b]52;c;YRtbbf8=\x1b\\");
        assert_eq!(said, "copied 5 bytes");
        sent.clear();
        copy(&mut sent, &vec![b'x'; LIMIT]).unwrap();
        assert!(sent.len() <= BASE64_LIMIT + 16, "{}", sent.len());
        sent.clear();
        let said = copy(&mut sent, &vec![b'x'; LIMIT + 1]).unwrap();
        assert!(sent.is_empty());
        assert!(said.starts_with("too long for the clipboard: 56245 bytes"));
    }
}
