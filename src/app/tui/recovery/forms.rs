//! What an action asks before it is planned: words, a confirmation with its reason, or which of
//! two readings was meant.

mod readings;
mod values;
mod words;

pub use readings::{ArgumentReading, Readings};
pub use values::{ValueChoice, ValueRow, ValuesMenu};
pub use words::{TextCheck, WordsForm, WordsSetup, WrittenWords};

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::style::Style;
use retake_core::safe_text::SafeText;

/// The widest that a question grows.
const WIDEST: u16 = 76;

/// A question that is answered with yes or no. Enter is not an answer: what is confirmed here cannot be undone
/// in the world outside.
#[derive(Debug, Clone)]
pub struct Confirmation {
    title: SafeText,
    reason: SafeText,
    question: SafeText,
}

impl Confirmation {
    /// Asks `question`; `reason` says what the operator has to know to answer.
    pub fn new(title: &str, reason: &str, question: &str) -> Self {
        Self {
            title: SafeText::single_line(title, 200),
            reason: SafeText::from_str(reason),
            question: SafeText::single_line(question, 400),
        }
    }
}

impl<S> Layer<S> for Confirmation {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Question]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step {
        match command(Context::Question, &key) {
            Some(Command::Yes) => Step::Done(()),
            Some(Command::No | Command::Leave) => Step::Leave,
            _ => Step::Stay,
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let width = usize::from(WIDEST.min(area.width).saturating_sub(4)).max(1);
        let mut lines: Vec<_> = self
            .reason
            .wrapped(width)
            .map(|line| (line, theme.text))
            .collect();
        // The question is seen, however long the reason.
        let room = usize::from(area.height).saturating_sub(4).max(1);
        lines.truncate(room);
        lines.push((SafeText::default(), theme.text));
        let question = self.question.wrapped(width);
        lines.extend(question.map(|line| (line, theme.title)));
        let surplus = lines.len().saturating_sub(room + 1).min(room);
        lines.drain(..surplus);
        let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let popup = Popup {
            title: &self.title,
            context: Context::Question,
            without: &[],
        };
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        for (row, (line, style)) in rows(inside).zip(lines) {
            write(frame, row, theme.spans(&line, style), Style::new(), theme);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, event, plain_screen, screen,
    };

    #[test]
    fn what_may_run_again_is_confirmed_with_its_reason() {
        let mut question = Confirmation::new(
            "retry turn 7",
            "These tools ran in this turn: book_flight, send_mail. A model that is asked again may call them again, and what they did \
             is not undone.",
            "Ask the model again?",
        );
        let view = |frame: &mut Frame<'_>, area: Rect, theme: &Theme| {
            question.view(frame, area, &(), theme)
        };
        insta::assert_snapshot!("confirmation", screen((60, 12), view));
        assert!(plain_screen((80, 24), view).contains("y yes  n no"));
        assert!(screen((40, 6), view).contains("Ask the model again?"));
        assert_draws_at_any_size(view);
        assert_eq!(question.key(event("enter"), &mut ()), Step::Stay);
        assert_eq!(question.key(event("n"), &mut ()), Step::Leave);
        assert_eq!(question.key(event("esc"), &mut ()), Step::Leave);
        assert_eq!(question.key(event("y"), &mut ()), Step::Done(()));
    }
}
