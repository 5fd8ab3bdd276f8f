//! Where a filter is typed.

use super::{Filter, FilterError, Need};
use crate::tui::keymap::Context;
use crate::tui::layer::{Input, Layer, Placement, Step};
use crate::tui::prompt::{Prompt, Typing};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

/// What is to be shown.
#[derive(Debug, Clone)]
pub enum Filtering {
    /// A filter that costs nothing: it can be shown while it is typed.
    Preview(Filter),
    /// This is to be shown from now on.
    Apply(Filter),
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

    fn take(&mut self, typing: Typing) -> Step<Filtering> {
        match typing {
            Typing::Pending => Step::Stay,
            Typing::Cancelled => Step::Leave,
            Typing::Changed => match Filter::parse(&self.prompt.text()) {
                Ok(filter) if filter.need() == Need::Head => Step::Done(Filtering::Preview(filter)),
                Err(error @ FilterError::TooManyWords) => self.complain(&error),
                // What is half typed is no error yet.
                _ => Step::Stay,
            },
            Typing::Submitted(text) => match Filter::parse(&text) {
                Ok(filter) => {
                    self.applied = text.trim().to_owned();
                    Step::Done(Filtering::Apply(filter))
                }
                Err(error) => self.complain(&error),
            },
        }
    }

    fn complain(&mut self, error: &FilterError) -> Step<Filtering> {
        let complaint = SafeText::single_line(&error.to_string(), 200);
        self.prompt.complain(complaint);
        Step::Stay
    }
}

impl<S> Layer<S> for FilterBar {
    type Output = Filtering;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Line]
    }

    fn placement(&self) -> Placement {
        Placement::Footer
    }

    fn handle(&mut self, input: Input<'_>, _: &mut S) -> Step<Filtering> {
        match input {
            Input::Key(key) => {
                let typing = self.prompt.key(key);
                self.take(typing)
            }
            Input::Paste(text) => {
                let typing = self.prompt.paste(text);
                self.take(typing)
            }
            Input::Mouse(_) | Input::Edited(_) => Step::Pass,
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.prompt.draw(frame, area, theme);
    }
}
