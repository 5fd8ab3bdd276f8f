//! What lies over a screen: one trait.
//!
//! A layer has the keys while it is on top. What it makes of them it gives to its opener: a dialog knows
//! nobody, and a screen says where it opens a dialog what is to become of the answer ([`super::stack`]).

use super::keymap::{self, Command, Context, KeyEntry};
use super::theme::Theme;
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};

/// Something that lies over the screen `S`.
pub trait Layer<S>: Send + 'static {
    /// What it gives to its opener.
    type Output;

    /// The tables of keys that hold here, the nearest first.
    fn contexts(&self) -> &'static [Context] {
        &[]
    }

    /// What its help shows before the keys: the words of a filter.
    fn terms(&self) -> &[KeyEntry] {
        &[]
    }

    /// Whether a key shows its help.
    fn asks_for_help(&self, key: &KeyEvent) -> bool {
        let context = self.contexts().first();
        context.is_some_and(|context| keymap::command(*context, key) == Some(Command::Help))
    }

    fn placement(&self) -> Placement {
        Placement::Screen
    }

    fn handle(&mut self, input: Input<'_>, screen: &mut S) -> Step<Self::Output> {
        match input {
            Input::Key(key) => return self.key(key, screen),
            Input::Mouse(event) => return self.mouse(event, screen),
            Input::Paste(text) => self.paste(text, screen),
            Input::Edited(text) => self.edited(text, screen),
        }
        Step::Stay
    }

    fn key(&mut self, _: KeyEvent, _: &mut S) -> Step<Self::Output> {
        Step::Stay
    }

    fn mouse(&mut self, _: MouseEvent, _: &mut S) -> Step<Self::Output> {
        Step::Stay
    }

    fn paste(&mut self, _: &str, _: &mut S) {}

    fn edited(&mut self, _: &str, _: &mut S) {}

    /// Is called before it is drawn in an area.
    fn prepare(&mut self, _: Rect) {}

    fn view(&self, frame: &mut Frame<'_>, area: Rect, screen: &S, theme: &Theme);

    /// Whether something on it changes as time goes by.
    fn ticks(&self) -> bool {
        false
    }
}

/// Which part of the screen a layer is given to draw in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Its own keys stand in its frame: it may cover the footer.
    Screen,
    /// The header and the footer stay in sight, where the screen has use for them.
    Body,
    /// One line in place of the footer.
    Footer,
}

#[derive(Debug, Clone, Copy)]
pub struct Areas {
    pub screen: Rect,
    pub body: Rect,
    pub footer: Rect,
}

impl Areas {
    /// Of a screen with so many rows that stay in sight above, and a footer.
    pub fn below(rows: u16, screen: Rect) -> Self {
        let [_, body, footer] = Layout::vertical([Length(rows), Fill(1), Length(1)]).areas(screen);
        Self {
            screen,
            body,
            footer,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(&'a str),
    /// What was made in $EDITOR of a text that the layer gave away with [`Step::Edit`].
    Edited(&'a str),
}

/// What an input led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T = ()> {
    /// Nothing that concerns others.
    Stay,
    /// It is not for this layer: the screen may know it.
    Pass,
    /// The layer closes; nothing is to be done.
    Leave,
    /// This text is to be edited in $EDITOR.
    Edit(String),
    Done(T),
}
