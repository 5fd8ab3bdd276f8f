//! What an agent's file would run, shown before its first command runs.

use super::approval::{Vetted, whole};
use super::vetting::Vetting;
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::state::State;
use crate::tui::state::live::TrustRequest;
use crate::tui::text::{Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

/// What is said until the end was seen.
const MORE: &str = "G shows the rest: nothing can be trusted before";

#[derive(Debug, Clone)]
pub struct Trust {
    title: SafeText,
    text: Vetting,
}

impl Trust {
    /// Asks about a file.
    pub fn new(request: &TrustRequest) -> Self {
        let mut lines = vec![Line::new(Tone::Title, whole(&request.agent))];
        if !request.why.is_empty() {
            lines.push(Line::new(Tone::Warning, SafeText::from_str(&request.why)));
        }
        let said = match &request.powers[..] {
            [] => "It runs nothing and reaches nobody.",
            _ => "What it may do, once you say yes:",
        };
        lines.push(Line::new(Tone::Plain, SafeText::from_static(said)));
        for power in &request.powers {
            lines.push(Line::default());
            lines.push(Line {
                indent: 2,
                ..Line::new(Tone::Plain, whole(power))
            });
        }
        Self {
            title: SafeText::from_static("trust this agent?"),
            text: Vetting::new(lines),
        }
    }
}

impl Layer<State> for Trust {
    /// Whether it is trusted.
    type Output = bool;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Trust]
    }

    fn key(&mut self, key: KeyEvent, state: &mut State) -> Step<bool> {
        if !self.text.hears(state.now) {
            return Step::Stay;
        }
        match command(Context::Trust, &key) {
            Some(Command::Leave | Command::No) => Step::Done(false),
            Some(Command::Yes) if self.text.was_read() => Step::Done(true),
            _ => {
                self.text.key(key);
                Step::Stay
            }
        }
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut State) -> Step<bool> {
        self.text.mouse(event);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let dialog = Vetted {
            title: &self.title,
            context: Context::Trust,
            gated: &[Command::Yes],
            text: &self.text,
            more: MORE,
        };
        dialog.view(frame, area, state.now, theme);
    }
}
