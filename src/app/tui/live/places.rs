//! What a breakpoint may be set on here: the tool of the call, the kind, the rule of the finding,
//! the turn, the arguments.

use super::breakpoints::{self, Stops};
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Placement, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{self, Popup, centred, rows};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::engine::BreakpointTarget;
use retake_core::safe_text::SafeText;

/// The widest that the menu grows.
const WIDEST: u16 = 72;

/// A row of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Place(BreakpointTarget),
    /// What the operator writes, beginning with this.
    Written(String),
}

#[derive(Debug, Clone)]
pub struct Places {
    choices: Vec<Choice>,
    cursor: ListCursor,
    is_one_shot: bool,
}

impl Places {
    /// The menu of these places; the first one is proposed.
    pub fn new(choices: Vec<Choice>) -> Self {
        Self {
            choices,
            cursor: ListCursor::default(),
            is_one_shot: false,
        }
    }
}

impl<S: Stops> Layer<S> for Places {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Places]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, screen: &mut S) -> Step {
        match command(Context::Places, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Choose) => {
                match self.choices.get(self.cursor.get()) {
                    Some(Choice::Place(place)) => {
                        breakpoints::set(screen, place.clone(), self.is_one_shot);
                    }
                    Some(Choice::Written(begun)) => {
                        let once = if self.is_one_shot { "once " } else { "" };
                        breakpoints::write(screen, &format!("{once}{begun}"));
                    }
                    None => return Step::Stay,
                }
                return Step::Leave;
            }
            Some(Command::Once) => self.is_one_shot = !self.is_one_shot,
            _ => drop(self.cursor.key(key, self.choices.len())),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step {
        self.cursor.mouse(event, self.choices.len());
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let title = match self.is_one_shot {
            true => "stop once at",
            false => "stop at",
        };
        let popup = Popup {
            title: &SafeText::from_static(title),
            context: Context::Places,
            without: &[],
        };
        let high = u16::try_from(self.choices.len() + 2).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let window = self.cursor.window(inside, self.choices.len());
        for (row, number) in rows(inside).zip(window) {
            let Some(choice) = self.choices.get(number) else {
                break;
            };
            let text = match choice {
                Choice::Place(place) => place.to_string(),
                Choice::Written(_) => "other words: tool, kind, rule, arg, turn".to_owned(),
            };
            let text = SafeText::single_line(&text, row.width.into());
            let style = match number == self.cursor.get() {
                true => theme.selected,
                false => Style::new(),
            };
            let mut spans = theme.spans(&text, theme.text);
            spans.push(Span::raw(" "));
            popup::write(frame, row, spans, style);
        }
    }
}
