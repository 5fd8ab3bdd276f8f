//! Where a filter is typed.

use super::{Filter, FilterError, Need};
use crate::tui::prompt::{Prompt, Typing};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

/// What a key did to the bar.
#[derive(Debug, Clone)]
pub enum Filtering {
    Pending,
    /// A filter that costs nothing: it can be shown while it is typed.
    Preview(Filter),
    /// This is to be shown from now on.
    Apply(Filter),
    /// What was shown before is to be shown again.
    Cancelled,
}

/// The filter bar. What was applied last stands in it when it is opened again.
#[derive(Debug, Clone)]
pub struct FilterBar {
    prompt: Prompt,
    applied: String,
}

impl Default for FilterBar {
    fn default() -> Self {
        Self {
            prompt: Prompt::new(
                "filter",
                "text  !not  ~fuzzy  kind: tool: rule:  error  .jq",
            ),
            applied: String::new(),
        }
    }
}

impl FilterBar {
    pub fn open(&mut self) {
        self.prompt.open(&self.applied);
    }

    /// The filter that is applied, as it was written; empty where everything is shown.
    pub fn applied(&self) -> &str {
        &self.applied
    }

    pub fn key(&mut self, key: KeyEvent) -> Filtering {
        let typing = self.prompt.key(key);
        self.take(typing)
    }

    /// Takes a pasted text.
    pub fn paste(&mut self, text: &str) -> Filtering {
        let typing = self.prompt.paste(text);
        self.take(typing)
    }

    fn take(&mut self, typing: Typing) -> Filtering {
        match typing {
            Typing::Pending => Filtering::Pending,
            Typing::Cancelled => Filtering::Cancelled,
            Typing::Changed => match Filter::parse(&self.prompt.text()) {
                Ok(filter) if filter.need() == Need::Head => Filtering::Preview(filter),
                Err(error @ FilterError::TooManyWords) => self.complain(&error),
                // What is half typed is no error yet.
                _ => Filtering::Pending,
            },
            Typing::Submitted(text) => match Filter::parse(&text) {
                Ok(filter) => {
                    self.applied = text.trim().to_owned();
                    Filtering::Apply(filter)
                }
                Err(error) => self.complain(&error),
            },
        }
    }

    fn complain(&mut self, error: &FilterError) -> Filtering {
        let complaint = SafeText::single_line(&error.to_string(), 200);
        self.prompt.complain(complaint);
        Filtering::Pending
    }

    /// Draws the bar in the first row of `area`.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        self.prompt.view(frame, area, theme);
    }
}
