//! A call that awaits the operator's approval: the tool, what it runs, its whole arguments. Nothing is approved
//! that was not shown to its end, and no key that was typed before the dialog came counts.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, split_bottom, write};
use crate::tui::recovery::difference::lines_of;
use crate::tui::state::State;
use crate::tui::state::live::TrustRequest;
use crate::tui::text::{Line, TextWindow, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use retake_core::engine::Millis;
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::CallKey;
use std::cell::Cell;

/// The widest that the dialog grows.
const WIDEST: u16 = 96;
/// The notice until the end of the arguments was seen.
const MORE: &str = "G shows the rest; approve after reading it";

#[derive(Debug, Clone)]
pub struct ApprovalForm {
    pub call: CallKey,
    /// Its arguments, as they are shown.
    pub arguments: String,
    title: SafeText,
    text: Vetting,
    /// What its keys are not used for.
    without: &'static [Command],
}

impl ApprovalForm {
    /// Asks about a call; `runs` is what its tool runs, where that is known.
    pub fn new(
        (call, tool): (CallKey, &str),
        arguments: String,
        runs: Option<&str>,
        is_each_time: bool,
    ) -> Self {
        let mut title = SafeText::from_static("approve ");
        title.push(&SafeText::single_line(tool, 200));
        title.push(&SafeText::from_static("?"));
        let mut lines = heading(tool, &call.call_id, runs);
        lines.extend(arguments_of(&arguments));
        Self {
            call,
            arguments,
            title,
            text: Vetting::new(lines),
            without: if is_each_time {
                &[Command::Always]
            } else {
                &[]
            },
        }
    }
}

impl Layer<State> for ApprovalForm {
    /// What the operator says: yes, always, no, other arguments, or nothing yet.
    type Output = Command;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Approval]
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut State) -> Step<Command> {
        self.text.mouse(event);
        Step::Stay
    }

    fn key(&mut self, key: KeyEvent, state: &mut State) -> Step<Command> {
        if !self.text.hears(state.now) {
            return Step::Stay;
        }
        match command(Context::Approval, &key) {
            Some(command @ (Command::Leave | Command::No | Command::Change)) => Step::Done(command),
            Some(command @ (Command::Yes | Command::Always))
                if self.text.was_read() && !self.without.contains(&command) =>
            {
                Step::Done(command)
            }
            _ => {
                self.text.key(key);
                Step::Stay
            }
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let dialog = Vetted {
            title: &self.title,
            context: Context::Approval,
            gated: &[Command::Yes, Command::Always],
            without: self.without,
            text: &self.text,
            more: MORE,
        };
        dialog.view(frame, area, state.now, theme);
    }
}

/// A dialog about a text that has to be read.
pub(super) struct Vetted<'a> {
    pub(super) title: &'a SafeText,
    pub(super) context: Context,
    /// Keys that have no use before it was read.
    pub(super) gated: &'a [Command],
    /// Keys that have no use at all.
    pub(super) without: &'a [Command],
    pub(super) text: &'a Vetting,
    /// The notice until it was read.
    pub(super) more: &'static str,
}

impl Vetted<'_> {
    pub(super) fn view(&self, frame: &mut Frame<'_>, area: Rect, now: Millis, theme: &Theme) {
        let area = area.intersection(frame.area());
        let width = WIDEST.min(area.width).saturating_sub(4);
        let needed = self.text.rows(width.into(), area.height.into());
        let high = u16::try_from(needed + 3).unwrap_or(u16::MAX);
        let was_read = self.text.was_read();
        let draw = |frame: &mut Frame<'_>, without: &[Command]| {
            let popup = Popup {
                title: self.title,
                context: self.context,
                without,
            };
            let inside = popup.view(frame, centred(area, WIDEST, high), theme);
            let [body, _] = split_bottom(inside, 1);
            self.text.view(frame, body, now, theme);
            inside
        };
        let inside = draw(frame, if was_read { self.without } else { self.gated });
        if self.text.was_read() {
            if !was_read {
                draw(frame, self.without);
            }
            return;
        }
        if let Some(row) = rows(inside).last() {
            let words = SafeText::from_static(self.more).truncated(row.width.into());
            write(
                frame,
                row,
                theme.spans(&words, theme.warning),
                Style::new(),
                theme,
            );
        }
    }
}

pub fn heading(tool: &str, call_id: &str, runs: Option<&str>) -> Vec<Line> {
    let mut heading = Line::new(Tone::Title, SafeText::from_str(tool));
    let mut id = SafeText::from_static("   ");
    id.push(&SafeText::single_line(call_id, 100));
    heading.pieces.push((Tone::Dim, id));
    let mut lines = vec![heading];
    if runs == Some(BY_OPERATOR) {
        let words = SafeText::from_static("you answer in place of the tool");
        lines.push(Line::new(Tone::Dim, words));
    } else if let Some(runs) = runs {
        let mut line = Line::new(Tone::Dim, SafeText::from_static("runs "));
        line.pieces.push((Tone::Plain, whole(runs)));
        lines.push(line);
    }
    lines.push(Line::default());
    lines
}

/// What a tool runs that the operator answers for.
pub const BY_OPERATOR: &str = "the operator";

/// Arguments, laid out where they are JSON.
pub fn arguments_of(arguments: &str) -> Vec<Line> {
    let lines = lines_of(arguments);
    let lines = lines
        .iter()
        .map(|line| Line::new(Tone::Plain, SafeText::from_str(line)));
    lines.collect()
}

/// A text in one row, however long: what would run is never cut.
pub(super) fn whole(text: &str) -> SafeText {
    // No character takes more cells than this for a byte of it.
    SafeText::single_line(text, text.len().saturating_mul(8).saturating_add(1))
}

/// For how long after a dialog came by itself keys are not for it: they were typed for something else.
const TYPED_AHEAD: Millis = 300;

/// A text that has to be read.
#[derive(Debug, Clone, Default)]
pub struct Vetting {
    page: TextWindow,
    /// Since when it is seen.
    since: Cell<Option<Millis>>,
    /// Whether its end was on the screen.
    was_read: Cell<bool>,
}

impl Vetting {
    /// Nothing of it was seen yet.
    pub fn new(lines: Vec<Line>) -> Self {
        Self {
            page: TextWindow::new(lines),
            ..Self::default()
        }
    }

    /// Whether a key of this moment was typed for it.
    pub fn hears(&self, now: Millis) -> bool {
        let since = self.since.get();
        since.is_some_and(|since| now.saturating_sub(since) >= TYPED_AHEAD)
    }

    /// Whether it was shown to its end.
    pub fn was_read(&self) -> bool {
        self.was_read.get()
    }

    /// Takes a key that moves.
    pub fn key(&mut self, key: KeyEvent) {
        self.page.key(key);
    }

    pub fn mouse(&mut self, event: MouseEvent) {
        self.page.mouse(event);
    }

    /// How many rows it takes at this width, counted no further than `most`.
    pub fn rows(&self, width: usize, most: usize) -> usize {
        self.page.rows(width, most)
    }

    /// Draws what is seen of it at this moment.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, now: Millis, theme: &Theme) {
        self.since.set(self.since.get().or(Some(now)));
        let has_more = self.page.view(frame, area, theme);
        if !has_more && !area.intersection(frame.area()).is_empty() {
            self.was_read.set(true);
        }
    }
}

/// The notice until the end was seen.
const UNTRUSTED: &str = "G shows the rest; trust after reading it";

#[derive(Debug, Clone)]
pub struct TrustForm {
    title: SafeText,
    text: Vetting,
}

impl TrustForm {
    /// Asks about a file.
    pub fn new(request: &TrustRequest) -> Self {
        let mut lines = vec![Line::new(Tone::Title, whole(&request.agent))];
        if !request.why.is_empty() {
            lines.push(Line::new(Tone::Warning, SafeText::from_str(&request.why)));
        }
        let command = match &request.powers[..] {
            [] => "It runs nothing and connects to nothing.",
            _ => "If you trust it, it may:",
        };
        lines.push(Line::new(Tone::Plain, SafeText::from_static(command)));
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

impl Layer<State> for TrustForm {
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
            without: &[],
            text: &self.text,
            more: UNTRUSTED,
        };
        dialog.view(frame, area, state.now, theme);
    }
}
