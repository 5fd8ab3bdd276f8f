//! What an agent's file would run, shown before its first command runs.

use super::approval::{Vetted, whole};
use super::vetting::Vetting;
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::state::State;
use crate::tui::state::detail::{Line, Tone};
use crate::tui::theme::Theme;
use crate::tui::update;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

/// What is said until the end was seen.
const MORE: &str = "G shows the rest: nothing can be trusted before";

/// What an agent's file names that would run, or be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRequest {
    pub agent: String,
    /// Why it is asked about now: it is new here, or it has changed.
    pub why: String,
    /// What it may do, a sentence each: which programs run with which environment, which servers are reached.
    pub powers: Vec<String>,
}

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
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Trust]
    }

    fn key(&mut self, key: KeyEvent, state: &mut State) -> Step {
        if !self.text.hears(state.now) {
            return Step::Stay;
        }
        let is_trusted = match command(Context::Trust, &key) {
            Some(Command::Leave | Command::No) => false,
            Some(Command::Yes) if self.text.was_read() => true,
            _ => {
                self.text.key(key);
                return Step::Stay;
            }
        };
        update::answer_trust(state, is_trusted);
        Step::Leave
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut State) -> Step {
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
