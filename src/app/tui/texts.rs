//! Texts over the panes: what has happened and what could not be read, and how the tools fare.

use super::health::Table;
use super::keymap::{self, Command, Context, Direction};
use super::layer::{Input, Layer, Step};
use super::live::words;
use super::popup::{centred, rows, write};
use super::proxy::words::time;
use super::state::State;
use super::theme::Theme;
use super::usage;
use crossterm::event::MouseEventKind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::rules::Health;
use retake_core::safe_text::SafeText;
use std::cell::Cell;

/// Rows of the screen that a text leaves free.
const FREE: u16 = 4;
const NARROWEST: u16 = 36;

/// The events of the run, and the problems of reading.
#[derive(Debug)]
pub struct Log {
    top: Cell<usize>,
}

impl Log {
    pub fn at_end(state: &State) -> Self {
        let rows = usize::from(state.size.1.saturating_sub(FREE));
        let top = state.live.last_page(words::log_width(state.size.0), rows);
        Self {
            top: Cell::new(top),
        }
    }
}

impl Layer<State> for Log {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Overlay]
    }

    fn handle(&mut self, input: Input<'_>, state: &mut State) -> Step {
        scroll(&self.top, input, state)
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let room = usize::from(area.height.saturating_sub(FREE));
        let (last, window) = match state.live.has_news() {
            true => {
                let width = words::log_width(area.width);
                (state.live.last_page(width, room), events as Lines)
            }
            false => (
                count_problems(state).saturating_sub(room),
                problems as Lines,
            ),
        };
        self.top.set(self.top.get().min(last));
        let (name, lines) = window(state, theme, (self.top.get(), room));
        popup(frame, area, name, lines, theme);
    }
}

/// Makes the rows from a first one on, so many at most, with a title.
type Lines = fn(&State, &Theme, (usize, usize)) -> (String, Vec<Line<'static>>);

/// How the tools fare in the sessions that are checked.
#[derive(Debug)]
pub struct HealthTable {
    tally: Health,
    sessions: usize,
    top: Cell<usize>,
}

impl HealthTable {
    pub fn new(tally: Health, sessions: usize) -> Self {
        Self {
            tally,
            sessions,
            top: Cell::new(0),
        }
    }
}

impl Layer<State> for HealthTable {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Overlay]
    }

    fn handle(&mut self, input: Input<'_>, state: &mut State) -> Step {
        scroll(&self.top, input, state)
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &State, theme: &Theme) {
        let (name, mut lines) = health_lines(&self.tally, self.sessions, area.width, theme);
        let room = usize::from(area.height.saturating_sub(FREE));
        self.top
            .set(self.top.get().min(lines.len().saturating_sub(room)));
        popup(frame, area, name, lines.split_off(self.top.get()), theme);
    }
}

/// What the session that is shown took.
#[derive(Debug, Default)]
pub struct UsageTable {
    top: Cell<usize>,
}

impl Layer<State> for UsageTable {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Overlay]
    }

    fn handle(&mut self, input: Input<'_>, state: &mut State) -> Step {
        scroll(&self.top, input, state)
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let width = usize::from(area.width.saturating_sub(6)).min(100);
        let mut lines: Vec<Line<'static>> = match (state.totals(), state.session()) {
            (Some(totals), Some(session)) => {
                let lines = usage::report(session, totals, width).into_iter();
                let style = |is_heading| if is_heading { theme.title } else { theme.text };
                lines
                    .map(|line| theme.line(&line.text, style(line.is_heading)))
                    .collect()
            }
            _ => vec![Line::styled("counting", theme.dim)],
        };
        let room = usize::from(area.height.saturating_sub(FREE));
        self.top
            .set(self.top.get().min(lines.len().saturating_sub(room)));
        popup(
            frame,
            area,
            " Usage ".to_owned(),
            lines.split_off(self.top.get()),
            theme,
        );
    }
}

/// Moves the first row that is seen. The last page is found out when it is drawn.
fn scroll(top: &Cell<usize>, input: Input<'_>, state: &State) -> Step {
    let page = usize::from(state.size.1.saturating_sub(FREE)).max(1);
    let by = match input {
        Input::Key(key) => match keymap::command(Context::Overlay, &key) {
            Some(Command::Step(direction)) => Some((1, direction)),
            Some(Command::HalfPage(direction)) => Some((page.div_ceil(2), direction)),
            Some(Command::Page(direction)) => Some((page, direction)),
            Some(Command::Edge(direction)) => Some((usize::MAX, direction)),
            _ => None,
        },
        Input::Mouse(event) => match event.kind {
            MouseEventKind::ScrollDown => Some((3, Direction::Forward)),
            MouseEventKind::ScrollUp => Some((3, Direction::Backward)),
            _ => None,
        },
        Input::Paste(_) | Input::Edited(_) => None,
    };
    let Some((rows, direction)) = by else {
        return Step::Pass;
    };
    top.set(match direction {
        Direction::Forward => top.get().saturating_add(rows),
        Direction::Backward => top.get().saturating_sub(rows),
    });
    Step::Stay
}

/// Draws lines in a frame in the middle of `area`, as large as they need.
fn popup(
    frame: &mut Frame<'_>,
    area: Rect,
    name: String,
    lines: Vec<Line<'static>>,
    theme: &Theme,
) {
    let needed = lines.iter().map(Line::width).max().unwrap_or(0) + 4;
    let widest = area.width.saturating_sub(2);
    let wide = u16::try_from(needed)
        .unwrap_or(widest)
        .clamp(NARROWEST.min(widest), widest);
    let high = u16::try_from(lines.len() + 2).unwrap_or(area.height);
    let area = centred(area, wide, high.min(area.height.saturating_sub(2)));
    frame.render_widget(Clear, area);
    let block = theme.pane(Line::from(name), true);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    for (row, line) in rows(inside).zip(lines) {
        let mut spans = vec![Span::raw(" ")];
        spans.extend(line.spans);
        write(frame, row, spans, Style::new());
    }
}

fn count_problems(state: &State) -> usize {
    let document = state.document.as_ref();
    document.map_or(0, |document| document.recording.problems.len())
}

/// The events of the run, the newest at the end; what could not be read stands above them.
fn events(
    state: &State,
    theme: &Theme,
    (top, room): (usize, usize),
) -> (String, Vec<Line<'static>>) {
    let live = &state.live;
    let (name, mut lines) = problems(state, theme, (top, room));
    let problems = state.document.as_ref();
    let has_problems = problems.is_some_and(|it| !it.recording.problems.is_empty());
    if !has_problems {
        lines.pop();
    }
    let room = room.saturating_sub(lines.len() + usize::from(has_problems));
    let count = live.log.len();
    let width = words::log_width(state.size.0);
    let top = top.min(live.last_page(width, room));
    let began = live.began.unwrap_or_default();
    let mut rows = Vec::new();
    for entry in live.log.iter().skip(top) {
        let ms = entry.at.saturating_sub(began);
        let time = match entry.past {
            None => format!("{:>5}.{:03} s  ", ms / 1000, ms % 1000),
            Some(0) => format!("{:>13}", "earlier  "),
            Some(at) => format!("{:>13}", time(at) + "  "),
        };
        let style = if entry.is_trouble {
            theme.error
        } else {
            theme.text
        };
        for (number, words) in words::log_rows(&entry.words, width).enumerate() {
            let before = match number {
                0 => Span::styled(time.clone(), theme.dim),
                _ => Span::raw(" ".repeat(time.len())),
            };
            let mut spans = vec![before];
            spans.extend(theme.spans(&words, style));
            rows.push(Line::from(spans));
        }
        if rows.len() >= room && top < live.last_page(width, room) {
            break;
        }
    }
    // On the last page the newest event is seen to its end.
    let is_last = top == live.last_page(width, room);
    let surplus = rows.len().saturating_sub(room);
    lines.extend(rows.into_iter().skip(if is_last { surplus } else { 0 }));
    let name = match has_problems {
        true => format!("{name}and events {count} "),
        false => format!(" Events {count} "),
    };
    (name, lines)
}

/// The problems of reading, a window of them.
fn problems(
    state: &State,
    theme: &Theme,
    (top, room): (usize, usize),
) -> (String, Vec<Line<'static>>) {
    let problems = state
        .document
        .as_ref()
        .map_or(&[][..], |document| &document.recording.problems);
    let name = format!(" Problems of reading {} ", problems.len());
    let trouble = state.recovery.takes.banner.iter().map(|trouble| {
        let text = SafeText::single_line(trouble, 200);
        Line::from(theme.spans(&text, theme.error))
    });
    if problems.is_empty() {
        let words = Span::styled("everything could be read", theme.dim);
        return (name, trouble.chain([Line::from(words)]).collect());
    }
    let top = top.min(problems.len().saturating_sub(room));
    let width = usize::from(state.size.0).saturating_sub(6 + 16).max(1);
    let lines = problems.iter().skip(top).take(room).flat_map(|problem| {
        let place = match state.lines.get(&problem.at) {
            Some(line) => format!("line {line:<10} "),
            None => format!("byte {:<10} ", problem.at),
        };
        let text = SafeText::single_line(&problem.kind.to_string(), 1000);
        let rows: Vec<_> = text.wrapped(width).collect();
        rows.into_iter().enumerate().map(move |(number, row)| {
            let before = match number {
                0 => Span::styled(place.clone(), theme.dim),
                _ => Span::raw(" ".repeat(place.len())),
            };
            let mut spans = vec![before];
            spans.extend(theme.spans(&row, theme.text));
            Line::from(spans)
        })
    });
    (name, trouble.chain(lines).collect())
}

/// The table of tool health. The frame and the space before each row take five columns with what is
/// left free beside it.
fn health_lines(
    tally: &Health,
    sessions: usize,
    width: u16,
    theme: &Theme,
) -> (String, Vec<Line<'static>>) {
    let name = match (tally.sessions, sessions) {
        (1, 1) => " Tool health ".to_owned(),
        (counted, sessions) if counted == sessions => {
            format!(" Tool health of {sessions} sessions ")
        }
        (counted, _) => format!(" Tool health: {counted} of {sessions} sessions are checked "),
    };
    let Table { heading, rows } = Table::new(tally, usize::from(width.saturating_sub(5)));
    let mut lines = vec![Line::from(Span::styled(heading, theme.title))];
    for row in rows {
        let style = if row.is_open { theme.error } else { theme.text };
        let mut spans = theme.spans(&row.name, style);
        spans.push(Span::styled(row.figures, style));
        lines.push(Line::from(spans));
        let details = row.details.into_iter();
        lines.extend(details.map(|detail| Line::from(Span::styled(detail, theme.dim))));
    }
    (name, lines)
}
