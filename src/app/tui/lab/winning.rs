//! What a wording becomes once it was measured: texts to copy or to save.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, rows, split_top, write};
use crate::tui::text::Page;
use crate::tui::text::{Line, Tone};
use crate::tui::theme::Theme;
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::lab::{Board, Spec, winner};
use retake_core::safe_text::SafeText;
use retake_core::wording::recipe::RecipeError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kept {
    Copied(String),
    Saved {
        /// The name that is proposed.
        name: String,
        what: Becomes,
    },
}

/// What is to be saved.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Becomes {
    Text(String),
    /// The spec of a test, whose paths depend on where it is saved.
    Spec(Box<Spec>),
}

/// Something that a wording becomes.
#[derive(Debug, Clone)]
struct Becoming {
    title: &'static str,
    /// What a file of it is called.
    file: String,
    /// The text, or the reason why there is none.
    text: String,
    /// `None` where it is not possible.
    what: Option<Becomes>,
}

/// What a wording becomes.
#[derive(Debug)]
pub(super) struct Winning {
    title: SafeText,
    becomings: Vec<Becoming>,
    chosen: usize,
    page: Page,
}

impl Winning {
    /// What the variant of a trial becomes; `spec` is what the experiment was ordered with. `None` where there
    /// is no such variant.
    pub(super) fn of(
        board: &Board,
        spec: &Spec,
        (trial, variant): (usize, usize),
        is_custom: bool,
    ) -> Option<Self> {
        let becomes = winner(board, spec, (trial, variant), is_custom)?;
        let name = &board
            .experiment
            .trials
            .get(trial)?
            .variants
            .get(variant)?
            .name;
        let rule = &board.experiment.trials.get(trial)?.subject.rule;
        let told = |what: Result<Becomes, String>| match what {
            Ok(Becomes::Text(text)) => (text.clone(), Some(Becomes::Text(text))),
            Ok(Becomes::Spec(spec)) => match spec.write() {
                Ok(text) => (text, Some(Becomes::Spec(spec))),
                Err(why) => (format!("not possible: {why}"), None),
            },
            Err(why) => (format!("not possible: {why}"), None),
        };
        let text = |text: Result<String, RecipeError>| {
            let text = text.map(Becomes::Text);
            told(text.map_err(|error| error.to_string()))
        };
        let (policy, recipe) = (text(becomes.policy), text(becomes.recipe));
        let test = becomes.test.map(|spec| Becomes::Spec(Box::new(spec)));
        let test = told(test.map_err(|error| error.to_string()));
        let becoming = |title, file: String, (text, what)| Becoming {
            title,
            file,
            text,
            what,
        };
        let mut winning = Self {
            title: SafeText::single_line(&format!("what {name} becomes"), 100),
            becomings: vec![
                becoming("policy", format!("{rule}.policy.toml"), policy),
                becoming(
                    "openai-agents",
                    format!("{}_recipe.py", rule.replace('-', "_")),
                    recipe,
                ),
                becoming("regression test", format!("{rule}.lab.toml"), test),
            ],
            chosen: 0,
            page: Page::default(),
        };
        winning.show();
        Some(winning)
    }

    fn show(&mut self) {
        let text = self.becomings.get(self.chosen);
        let text = SafeText::from_str(text.map_or("", |it| &it.text));
        let lines = text.lines().map(|line| Line::new(Tone::Plain, line));
        self.page = Page::new(lines.collect());
    }
}

impl<S> Layer<S> for Winning {
    type Output = Kept;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Winner]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Kept> {
        let chosen = self.becomings.get(self.chosen);
        let possible = chosen.and_then(|it| it.what.as_ref().map(|what| (it, what)));
        match (command(Context::Winner, &key), possible) {
            (Some(Command::Leave), _) => return Step::Leave,
            (Some(Command::Choose), Some((it, _))) => {
                return Step::Done(Kept::Copied(it.text.clone()));
            }
            (Some(Command::Accept), Some((it, what))) => {
                return Step::Done(Kept::Saved {
                    name: it.file.clone(),
                    what: what.clone(),
                });
            }
            (Some(Command::Value(direction)), _) => {
                let count = self.becomings.len().max(1);
                let step = if direction.is_forward() { 1 } else { count - 1 };
                self.chosen = (self.chosen + step) % count;
                self.show();
            }
            _ => drop(self.page.key(key)),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<Kept> {
        self.page.mouse(event);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let popup = Popup {
            title: &self.title,
            context: Context::Winner,
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        let mut tabs = Vec::new();
        for (number, becoming) in self.becomings.iter().enumerate() {
            let style = match number == self.chosen {
                true => theme.selected,
                false => theme.dim,
            };
            tabs.push(Span::styled(format!(" {} ", becoming.title), style));
            tabs.push(Span::raw(" "));
        }
        if let Some(row) = rows(inside).next() {
            write(frame, row, tabs, Style::new());
        }
        let [_, below] = split_top(inside, 2);
        self.page.view(frame, below, theme);
    }
}
