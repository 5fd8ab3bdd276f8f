//! The list of breakpoints: on or off, once or lasting, deleted, and one more by words.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Placement, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{self, Popup, centred};
use crate::tui::prompt::Prompt;
use crate::tui::stack::{Flow, Screen};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::engine::{Breakpoint, BreakpointTarget};
use retake_core::safe_text::SafeText;

/// The widest that the list grows.
const WIDEST: u16 = 76;

/// A screen of something that stops at breakpoints.
pub trait Stops: Screen {
    /// What a breakpoint in words may look like.
    const EXAMPLES: &'static str;

    fn breakpoints(&self) -> &[Breakpoint];

    /// Other breakpoints hold from now on.
    fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>);

    fn say(&mut self, words: String);
}

pub fn set<S: Stops>(screen: &mut S, on: BreakpointTarget, is_one_shot: bool) {
    let number = next_number(screen);
    screen.say(format!("breakpoint {number}: {on}"));
    let mut breakpoints = screen.breakpoints().to_vec();
    breakpoints.push(Breakpoint {
        number,
        on,
        is_one_shot,
        is_enabled: true,
    });
    if let Some(list) = screen.layers().top_mut::<Breakpoints>() {
        list.cursor.set(breakpoints.len() - 1);
    }
    screen.set_breakpoints(breakpoints);
}

/// Asks for a breakpoint in words; `begun` is its first text.
pub fn write<S: Stops>(screen: &mut S, begun: &str) {
    let mut prompt = Prompt::new("break", S::EXAMPLES);
    prompt.open(begun);
    screen.open(prompt, |screen, prompt, text| {
        match Breakpoint::parse(next_number(screen), text.trim()) {
            Ok(breakpoint) => {
                set(screen, breakpoint.on, breakpoint.is_one_shot);
                Flow::Close
            }
            Err(fault) => {
                prompt.complain(SafeText::single_line(&fault.to_string(), 200));
                Flow::Stay
            }
        }
    });
}

/// The lowest number that no breakpoint has had.
fn next_number(screen: &impl Stops) -> u32 {
    let last = screen.breakpoints().iter().map(|it| it.number).max();
    last.unwrap_or(0).saturating_add(1)
}

/// The list of the breakpoints of its screen.
#[derive(Debug, Clone, Default)]
pub struct Breakpoints {
    cursor: ListCursor,
}

impl<S: Stops> Layer<S> for Breakpoints {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Breakpoints]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn mouse(&mut self, event: MouseEvent, screen: &mut S) -> Step {
        self.cursor.mouse(event, screen.breakpoints().len());
        Step::Stay
    }

    fn key(&mut self, key: KeyEvent, screen: &mut S) -> Step {
        let mut rows = screen.breakpoints().to_vec();
        let at = self.cursor.get();
        match (command(Context::Breakpoints, &key), rows.get_mut(at)) {
            (Some(Command::Leave), _) => return Step::Leave,
            (Some(Command::Add), _) => {
                write(screen, "");
                return Step::Stay;
            }
            (Some(Command::Enable), Some(row)) => row.is_enabled = !row.is_enabled,
            (Some(Command::Once), Some(row)) => row.is_one_shot = !row.is_one_shot,
            (Some(Command::Delete), Some(_)) => {
                rows.remove(at);
                self.cursor.set(at.min(rows.len().saturating_sub(1)));
            }
            _ => {
                self.cursor.key(key, rows.len());
                return Step::Stay;
            }
        }
        screen.set_breakpoints(rows);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, screen: &S, theme: &Theme) {
        let rows = screen.breakpoints();
        let without: &[Command] = match rows.is_empty() {
            true => &[Command::Enable, Command::Once, Command::Delete],
            false => &[],
        };
        let popup = Popup {
            title: &SafeText::from_static("breakpoints"),
            context: Context::Breakpoints,
            without,
        };
        let high = u16::try_from(rows.len().max(1) + 2).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        if rows.is_empty() {
            let words =
                SafeText::from_static("no breakpoints: a adds one, b sets one at the cursor");
            let words = words.truncated(inside.width.into());
            popup::write(
                frame,
                inside,
                theme.spans(&words, theme.dim),
                Style::new(),
                theme,
            );
            return;
        }
        let draw = |number: usize, row: Rect| line(&rows[number], row.width, theme);
        self.cursor
            .draw(frame, inside, rows.len(), theme.selected, theme, draw);
    }
}

/// `[x] 3 once  tool search_*`.
fn line(breakpoint: &Breakpoint, width: u16, theme: &Theme) -> Vec<Span<'static>> {
    let (mark, style) = match breakpoint.is_enabled {
        true => ("[x]", theme.text),
        false => ("[ ]", theme.dim),
    };
    let once = if breakpoint.is_one_shot { "once" } else { "" };
    let head = format!("{mark} {:>2} {once:<4}  ", breakpoint.number);
    let room = usize::from(width).saturating_sub(head.len());
    let text = SafeText::single_line(&breakpoint.on.to_string(), room);
    let mut spans = vec![Span::styled(head, style)];
    spans.extend(theme.spans(&text, style));
    spans
}

/// What a breakpoint may be set on here: the tool of the call, the kind, the rule of the finding, the turn; last,
/// what the operator writes.
#[derive(Debug, Clone)]
pub struct Places {
    targets: Vec<BreakpointTarget>,
    /// What words of the operator's own begin with.
    begun: &'static str,
    cursor: ListCursor,
    is_one_shot: bool,
}

impl Places {
    /// The menu of these targets; the first one is proposed.
    pub fn new(mut targets: Vec<BreakpointTarget>, begun: &'static str) -> Self {
        targets.dedup();
        Self {
            targets,
            begun,
            cursor: ListCursor::default(),
            is_one_shot: false,
        }
    }
}

impl<S: Stops> Layer<S> for Places {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Places]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, screen: &mut S) -> Step {
        match command(Context::Places, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Choose) => {
                match self.targets.get(self.cursor.get()) {
                    Some(target) => set(screen, target.clone(), self.is_one_shot),
                    None => {
                        let once = if self.is_one_shot { "once " } else { "" };
                        write(screen, &format!("{once}{}", self.begun));
                    }
                }
                return Step::Leave;
            }
            Some(Command::Once) => self.is_one_shot = !self.is_one_shot,
            _ => drop(self.cursor.key(key, self.targets.len() + 1)),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step {
        self.cursor.mouse(event, self.targets.len() + 1);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let title = match self.is_one_shot {
            true => "stop once at",
            false => "stop at",
        };
        let popup = Popup {
            title: &SafeText::from_static(title),
            context: Context::Places,
            without: &[],
        };
        let high = u16::try_from(self.targets.len() + 3).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let draw = |number: usize, row: Rect| {
            let text = match self.targets.get(number) {
                Some(target) => target.to_string(),
                None => "or type: tool, kind, rule, arg, turn".to_owned(),
            };
            let mark = match number == self.cursor.get() {
                true => theme.glyphs.cursor,
                false => " ",
            };
            let room = usize::from(row.width).saturating_sub(2);
            let text = SafeText::single_line(&text, room);
            let mut spans = vec![Span::styled(format!("{mark} "), theme.title)];
            spans.extend(theme.spans(&text, theme.text));
            spans
        };
        let count = self.targets.len() + 1;
        self.cursor
            .draw(frame, inside, count, theme.selected, theme, draw);
    }
}
