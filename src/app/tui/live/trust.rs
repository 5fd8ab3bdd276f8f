//! What an agent's file would run, shown before its first command runs.

use super::approval::{vetted, whole};
use super::vetting::Vetting;
use crate::tui::keymap::Context;
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::state::detail::{Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use retake_core::engine::Millis;
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

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that concerns others.
    Pending,
    /// It is trusted, or not.
    Answer(bool),
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

    /// It is on the screen now.
    pub fn show(&mut self, now: Millis) {
        self.text.show(now);
    }

    /// Takes a key of this moment.
    pub fn key(&mut self, key: KeyEvent, now: Millis) -> Outcome {
        if !self.text.hears(now) {
            return Outcome::Pending;
        }
        match act(Context::Trust, &key) {
            Some(Act::Leave | Act::No) => Outcome::Answer(false),
            Some(Act::Yes) if self.text.was_read() => Outcome::Answer(true),
            _ => {
                self.text.key(key);
                Outcome::Pending
            }
        }
    }

    pub fn mouse(&mut self, event: MouseEvent) {
        self.text.mouse(event);
    }

    /// Draws the dialog in the middle of `area`.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let gated = [Act::Yes];
        vetted(
            frame,
            area,
            theme,
            (&self.title, Context::Trust, &gated),
            &self.text,
            MORE,
        );
    }
}
