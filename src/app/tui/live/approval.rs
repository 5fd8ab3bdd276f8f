//! A call that awaits the operator's approval: the tool, what it runs, its whole arguments. Nothing is approved
//! that was not shown to its end, and no key that was typed before the dialog came counts.

use super::vetting::Vetting;
use crate::tui::keymap::Context;
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::recovery::difference::lines_of;
use crate::tui::recovery::popup::{Popup, centred, rows, write};
use crate::tui::state::detail::{Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use retake_core::engine::Millis;
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::CallKey;

/// The widest that the dialog grows.
const WIDEST: u16 = 96;
/// What is said until the end of the arguments was seen.
const MORE: &str = "G shows the rest: nothing can be approved before";

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that concerns others.
    Pending,
    Leave,
    /// The call may run.
    Approve {
        /// And so may all later calls of the tool.
        always: bool,
    },
    /// The call may not run.
    Reject,
    /// The arguments are to be edited.
    Edit,
}

#[derive(Debug, Clone)]
pub struct Approval {
    pub call: CallKey,
    /// Its arguments, as they are shown.
    pub arguments: String,
    title: SafeText,
    text: Vetting,
}

impl Approval {
    /// Asks about a call; `runs` is what its tool runs, where that is known.
    pub fn new(call: CallKey, tool: &str, arguments: String, runs: Option<&str>) -> Self {
        let mut title = SafeText::from_static("approve ");
        title.push(&SafeText::single_line(tool, 200));
        title.push(&SafeText::from_static("?"));
        let mut lines = told(tool, &call.call_id, runs);
        lines.extend(arguments_of(&arguments));
        Self {
            call,
            arguments,
            title,
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
        match act(Context::Approval, &key) {
            Some(Act::Leave) => Outcome::Leave,
            Some(Act::No) => Outcome::Reject,
            Some(Act::Edit) => Outcome::Edit,
            Some(Act::Yes) if self.text.was_read() => Outcome::Approve { always: false },
            Some(Act::Always) if self.text.was_read() => Outcome::Approve { always: true },
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
        let gated = [Act::Yes, Act::Always];
        vetted(
            frame,
            area,
            theme,
            (&self.title, Context::Approval, &gated),
            &self.text,
            MORE,
        );
    }
}

/// Draws what has to be read, and what is said until it was; the keys `gated` have no use before.
pub(super) fn vetted(
    frame: &mut Frame<'_>,
    area: Rect,
    theme: &Theme,
    (title, context, gated): (&SafeText, Context, &[Act]),
    text: &Vetting,
    more: &'static str,
) {
    let area = area.intersection(frame.area());
    let width = WIDEST.min(area.width).saturating_sub(4);
    let needed = text.rows(width.into(), area.height.into());
    let high = u16::try_from(needed + 3).unwrap_or(u16::MAX);
    let was_read = text.was_read();
    let draw = |frame: &mut Frame<'_>, without: &[Act]| {
        let popup = Popup {
            title,
            context,
            without,
        };
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let body = Rect {
            height: inside.height.saturating_sub(1),
            ..inside
        };
        text.view(frame, body, theme);
        inside
    };
    let inside = draw(frame, if was_read { &[] } else { gated });
    if text.was_read() {
        if !was_read {
            draw(frame, &[]);
        }
        return;
    }
    if let Some(row) = rows(inside).last() {
        let words = SafeText::from_static(more).truncated(row.width.into());
        write(frame, row, theme.spans(&words, theme.warning), Style::new());
    }
}

/// The tool of a call, its id, and what it runs.
pub fn told(tool: &str, call_id: &str, runs: Option<&str>) -> Vec<Line> {
    let mut heading = Line::new(Tone::Title, SafeText::from_str(tool));
    let mut id = SafeText::from_static("   ");
    id.push(&SafeText::single_line(call_id, 100));
    heading.pieces.push((Tone::Dim, id));
    let mut lines = vec![heading];
    if let Some(runs) = runs {
        let mut line = Line::new(Tone::Dim, SafeText::from_static("runs "));
        line.pieces.push((Tone::Plain, whole(runs)));
        lines.push(line);
    }
    lines.push(Line::default());
    lines
}

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
