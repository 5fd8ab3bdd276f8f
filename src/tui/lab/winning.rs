//! What a wording becomes once it was measured: texts to copy or to save.

use crate::lab::{Board, Spec, winner};
use crate::safe_text::SafeText;
use crate::tui::keymap::Context;
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::recovery::page::Page;
use crate::tui::recovery::popup::{Popup, rows, write};
use crate::tui::state::detail::{Line, Tone};
use crate::tui::theme::Theme;
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing that concerns others.
    Pending,
    /// Nothing is to be done.
    Leave,
    /// This is to be copied.
    Copy(String),
    /// This is to be saved.
    Save {
        /// The name that is proposed.
        name: String,
        /// The text.
        text: String,
    },
}

/// Something that a wording becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Becoming {
    /// What it is.
    title: &'static str,
    /// What a file of it is called.
    file: String,
    text: String,
    /// Whether the text is one, and not the reason why there is none.
    is_possible: bool,
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
    /// What the variant of a trial becomes; `spec` is what the experiment was ordered with. `None` where there is no such variant.
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
        let told = |text: Result<String, String>| match text {
            Ok(text) => (text, true),
            Err(why) => (format!("not possible: {why}"), false),
        };
        let policy = told(becomes.policy.map_err(|error| error.to_string()));
        let recipe = told(becomes.recipe.map_err(|error| error.to_string()));
        let test = told(becomes.test.map_err(|error| error.to_string()));
        let becoming = |title, file: String, (text, is_possible)| Becoming {
            title,
            file,
            text,
            is_possible,
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

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Outcome {
        let chosen = self.becomings.get(self.chosen);
        let possible = chosen.filter(|it| it.is_possible);
        match (act(Context::Winner, &key), possible) {
            (Some(Act::Leave), _) => return Outcome::Leave,
            (Some(Act::Choose), Some(it)) => return Outcome::Copy(it.text.clone()),
            (Some(Act::Accept), Some(it)) => {
                return Outcome::Save {
                    name: it.file.clone(),
                    text: it.text.clone(),
                };
            }
            (Some(Act::Value(direction)), _) => {
                let count = self.becomings.len().max(1);
                let step = if direction.is_forward() { 1 } else { count - 1 };
                self.chosen = (self.chosen + step) % count;
                self.show();
            }
            _ => drop(self.page.key(key)),
        }
        Outcome::Pending
    }

    /// Takes the wheel.
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        self.page.mouse(event);
    }

    /// Draws it over `area`.
    pub(super) fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
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
        let below = Rect {
            y: inside.y + 2.min(inside.height),
            height: inside.height.saturating_sub(2),
            ..inside
        };
        self.page.view(frame, below, theme);
    }
}
