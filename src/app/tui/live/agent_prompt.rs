//! The path of the agent's file that goes on from here: a line with completion.

use crate::tui::effect::Effect;
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Input, Layer, Placement, Step};
use crate::tui::prompt::Prompt;
use crate::tui::report::Paths;
use crate::tui::state::State;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

#[derive(Debug)]
pub struct AgentPrompt(Prompt);

impl AgentPrompt {
    pub fn new(proposed: &str) -> Self {
        let mut prompt = Prompt::new("agent", "agent file to continue from here  tab completes");
        prompt.open(proposed);
        Self(prompt)
    }

    pub fn complain(&mut self, complaint: &'static str) {
        self.0.complain(SafeText::from_static(complaint));
    }

    /// Completes the path as far as that is certain; says what it may be where there are several.
    pub fn complete(&mut self, paths: &Paths) {
        // What was typed meanwhile counts.
        if self.0.text() != paths.typed {
            return;
        }
        if !paths.typed.is_empty() || !paths.found.is_empty() {
            self.0.complete_to("", &paths.found);
        }
    }
}

impl Layer<State> for AgentPrompt {
    type Output = String;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Line]
    }

    fn placement(&self) -> Placement {
        Placement::Footer
    }

    fn handle(&mut self, input: Input<'_>, state: &mut State) -> Step<String> {
        if let Input::Key(key) = input
            && command(Context::Line, &key) == Some(Command::Complete)
        {
            if !self.0.complete_again() {
                state.effects.push(Effect::Complete(self.0.text()));
            }
            return Step::Stay;
        }
        match self.0.handle(input, state) {
            Step::Done(path) => Step::Done(path.trim().to_owned()),
            step => step,
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &State, theme: &Theme) {
        self.0.draw(frame, area, theme);
    }
}
