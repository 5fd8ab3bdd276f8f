//! A text that the run asks for: the output of a call where the operator is the tool, why a call is rejected,
//! the first message. What it answers stands above it.

use crate::tui::keymap::{Command, Context, Direction, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, rule, write};
use crate::tui::text::Line;
use crate::tui::text::Page;
use crate::tui::textbox::TextBox;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// The widest that the form grows.
const WIDEST: u16 = 96;
/// Least rows of the text.
const LEAST: u16 = 4;

/// The text that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub text: String,
    /// Whether it reports an error.
    pub is_error: bool,
}

#[derive(Debug, Clone)]
pub struct Answer {
    title: SafeText,
    told: Page,
    text: TextBox,
    /// `None` where that is no question.
    is_error: Option<bool>,
    complaint: Option<&'static str>,
}

impl Answer {
    /// Opens the form with what it answers above it.
    pub fn new(title: &str, told: Vec<Line>, text: &str, is_error: Option<bool>) -> Self {
        Self {
            title: SafeText::single_line(title, 200),
            told: Page::new(told),
            text: TextBox::multi(text),
            is_error,
            complaint: None,
        }
    }

    /// The text so far.
    pub fn text(&self) -> String {
        self.text.text()
    }

    /// Says what is wrong with the text, until it changes.
    pub fn complain(&mut self, complaint: &'static str) {
        self.complaint = Some(complaint);
    }
}

impl<S> Layer<S> for Answer {
    type Output = Answered;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Answer]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Answered> {
        match command(Context::Answer, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Editor) => return Step::Edit(self.text()),
            Some(Command::Accept) => {
                return Step::Done(Answered {
                    text: self.text(),
                    is_error: self.is_error.unwrap_or(false),
                });
            }
            Some(Command::OtherAnswer) => self.is_error = self.is_error.map(|answer| !answer),
            Some(Command::Preview(Direction::Forward)) => self.told.turn(Direction::Forward),
            Some(Command::Preview(Direction::Backward)) => self.told.turn(Direction::Backward),
            Some(Command::Undo) if self.text.undo() => self.complaint = None,
            Some(Command::Redo) if self.text.redo() => self.complaint = None,
            Some(_) => {}
            None if self.text.key(key) => self.complaint = None,
            None => {}
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        if self.text.paste(text) {
            self.complaint = None;
        }
    }

    fn edited(&mut self, text: &str, _: &mut S) {
        self.text.replace(text.strip_suffix('\n').unwrap_or(text));
        self.complaint = None;
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let mut without = Vec::new();
        if self.is_error.is_none() {
            without.push(Command::OtherAnswer);
        }
        if self.told.is_empty() {
            without.extend([
                Command::Preview(Direction::Forward),
                Command::Preview(Direction::Backward),
            ]);
        }
        let popup = Popup {
            title: &self.title,
            context: Context::Answer,
            without: &without,
        };
        let wide = WIDEST.min(area.width).saturating_sub(4);
        let told = self.told.rows(wide.into(), area.height.into());
        let told = u16::try_from(told).unwrap_or(area.height);
        let foot = u16::from(self.is_error.is_some()) + u16::from(self.complaint.is_some());
        let text = self.text.rows(wide, area.height).max(LEAST);
        let needed = told.saturating_add(text).saturating_add(foot + 4);
        let inside = popup.view(frame, centred(area, WIDEST, needed), theme);
        // The text has its rows before what it answers: that can be scrolled.
        let least = (LEAST + foot + 1).min(inside.height);
        let told = told.min(inside.height - least);
        let above = Rect {
            height: told,
            ..inside
        };
        let has_more = self.told.view(frame, above, theme);
        let mut below = Rect {
            y: inside.y + told,
            height: inside.height - told,
            ..inside
        };
        if told > 0 && below.height > 0 {
            let words = match has_more || self.told.top() > 0 {
                true => vec![Span::styled("PgDn PgUp scroll this", theme.dim)],
                false => Vec::new(),
            };
            let bar = Rect { height: 1, ..below };
            rule(frame, bar, words, theme);
            below.y += 1;
            below.height -= 1;
        }
        let foot = foot.min(below.height);
        let text = Rect {
            height: below.height - foot,
            ..below
        };
        self.text.view(frame, text, theme);
        let foot = Rect {
            y: text.bottom(),
            height: foot,
            ..below
        };
        let mut foot = rows(foot);
        if let Some((is_error, row)) = self.is_error.and_then(|it| Some((it, foot.next()?))) {
            write(frame, row, question(is_error, theme), Style::new());
        }
        if let Some((complaint, row)) = self.complaint.and_then(|it| Some((it, foot.next()?))) {
            let words = SafeText::from_static(complaint).truncated(row.width.into());
            write(frame, row, theme.spans(&words, theme.error), Style::new());
        }
    }
}

/// `reports an error: yes [no]   ^t`.
fn question(is_error: bool, theme: &Theme) -> Vec<Span<'static>> {
    let (yes, no) = if is_error {
        ("[yes]", " no ")
    } else {
        (" yes ", "[no]")
    };
    let style = |is_chosen| if is_chosen { theme.title } else { theme.dim };
    vec![
        Span::raw("reports an error: "),
        Span::styled(yes, style(is_error)),
        Span::styled(no, style(!is_error)),
        Span::styled("  ^t", theme.key),
    ]
}
