//! Texts over a screen: what has happened and what could not be read, how the tools fare, where tokens went.

use super::health::HealthTable;
use super::keymap::{self, Command, Context, Direction};
use super::layer::{Input, Layer, Step};
use super::list::motion;
use super::popup::{centred, rows, write};
use super::prompt::{Prompt, Typing, search_prompt};
use super::proxy::words::time;
use super::state::State;
use super::theme::Theme;
use super::transcript::nested::NestedPlace;
use crate::usage::{self, ReportStyle, UsageTarget};
use crossterm::event::{KeyEvent, MouseEventKind};
use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Scrollbar, ScrollbarOrientation, ScrollbarState};
use retake_core::rules::{Finding, Health};
use retake_core::safe_text::SafeText;
use retake_core::session::Dialect;
use retake_core::wire::provider_errors::refusal_of;
use retake_live::search::Needle;
use std::cell::{Cell, RefCell};

const NARROWEST: u16 = 36;
/// Most cells of an entry of a log.
const ENTRY: usize = 20_000;
/// Cells of the widest totals.
const WIDEST_USAGE: usize = 110;
/// Most problems of reading that are listed.
const PROBLEMS: usize = 2000;

/// The content of a page.
pub struct PageText {
    pub title: String,
    pub lines: Vec<Line<'static>>,
    /// Where lines lead, by their indexes.
    pub targets: Vec<(usize, UsageTarget)>,
}

/// Makes the text of a page in at most so many cells.
type Source<S> = Box<dyn Fn(&S, &Theme, usize) -> PageText + Send>;

/// A text in a frame over a screen, which can be scrolled and searched. Where lines lead somewhere, a cursor goes
/// from one of these to the next.
pub struct TextPage<S> {
    source: Source<S>,
    /// The key that opens it closes it, too.
    command: Command,
    top: Cell<usize>,
    /// Lines that are seen, and the last line that can stand on top.
    page: Cell<(usize, usize)>,
    /// The rows that lead somewhere, and which of them has the cursor.
    targets: RefCell<Vec<(usize, UsageTarget)>>,
    cursor: Cell<usize>,
    /// Whether the cursor is to be seen: the wheel leaves it after.
    shows_cursor: Cell<bool>,
    find: Prompt,
    is_finding: bool,
}

impl<S> TextPage<S> {
    pub fn new(
        command: Command,
        source: impl Fn(&S, &Theme, usize) -> PageText + Send + 'static,
    ) -> Self {
        Self {
            source: Box::new(source),
            command,
            top: Cell::new(0),
            page: Cell::new((1, usize::MAX)),
            targets: RefCell::default(),
            cursor: Cell::new(0),
            shows_cursor: Cell::new(true),
            find: search_prompt("/", "the lines with a text, or /expression/").without_help(),
            is_finding: false,
        }
    }

    /// The key that opens and closes it.
    pub fn command(&self) -> Command {
        self.command
    }

    /// Which of the rows that lead somewhere has the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// Puts the cursor on one of the rows that lead somewhere.
    pub fn set_cursor(&self, cursor: usize) {
        self.cursor.set(cursor);
        self.top.set(0);
    }

    /// Shows the end first.
    pub fn at_end(self) -> Self {
        self.top.set(usize::MAX);
        self
    }

    fn scroll(&self, rows: usize, direction: Direction) {
        let top = self.top.get().min(self.page.get().1);
        self.top.set(match direction {
            Direction::Forward => top.saturating_add(rows),
            Direction::Backward => top.saturating_sub(rows),
        });
    }

    /// Moves the cursor, or the text where no line leads anywhere.
    fn go(&self, rows: usize, direction: Direction) {
        let last = match self.targets.borrow().len().checked_sub(1) {
            Some(last) => last,
            None => return self.scroll(rows, direction),
        };
        let at = self.cursor.get().min(last);
        self.shows_cursor.set(true);
        self.cursor.set(match direction {
            Direction::Forward => at.saturating_add(rows).min(last),
            Direction::Backward => at.saturating_sub(rows),
        });
        // What is above the first of them has no other key.
        if (at, direction) == (0, Direction::Backward) {
            self.top.set(0);
        }
    }

    fn find_key(&mut self, key: KeyEvent) {
        match self.find.key(key) {
            Typing::Pending => {}
            Typing::Changed => self.top.set(0),
            Typing::Submitted(_) => self.is_finding = false,
            Typing::Cancelled => {
                self.is_finding = false;
                self.find.open("");
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Step<UsageTarget> {
        if self.is_finding {
            self.find_key(key);
            return Step::Stay;
        }
        if let Some((rows, direction)) = motion(key, self.page.get().0) {
            self.go(rows, direction);
            return Step::Stay;
        }
        match keymap::command(Context::Overlay, &key) {
            Some(Command::Find) => {
                self.find.open("");
                self.is_finding = true;
                Step::Stay
            }
            Some(Command::Back) if !self.find.text().is_empty() => {
                self.find.open("");
                Step::Stay
            }
            Some(Command::Back | Command::Close) => Step::Leave,
            Some(Command::Open) => match self.targets.borrow().get(self.cursor.get()) {
                Some((_, target)) => Step::Done(*target),
                None => Step::Stay,
            },
            Some(command) if command == self.command => Step::Leave,
            Some(_) => Step::Pass,
            None => Step::Stay,
        }
    }
}

impl<S: 'static> Layer<S> for TextPage<S> {
    type Output = UsageTarget;

    fn contexts(&self) -> &'static [Context] {
        match self.is_finding {
            true => &[Context::Line],
            false => &[Context::Overlay],
        }
    }

    fn handle(&mut self, input: Input<'_>, _: &mut S) -> Step<UsageTarget> {
        match input {
            Input::Key(key) => return self.key(key),
            Input::Mouse(event) => {
                match event.kind {
                    MouseEventKind::ScrollDown => self.scroll(3, Direction::Forward),
                    MouseEventKind::ScrollUp => self.scroll(3, Direction::Backward),
                    _ => return Step::Pass,
                }
                self.shows_cursor.set(false);
            }
            Input::Paste(text) if self.is_finding => {
                self.find.paste(text);
            }
            Input::Paste(_) | Input::Edited(_) => {}
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, screen: &S, theme: &Theme) {
        let width = usize::from(area.width.saturating_sub(6)).max(1);
        let PageText {
            title,
            lines,
            targets,
        } = (self.source)(screen, theme, width);
        let needle = Needle::parse(&self.find.text()).ok();
        let is_kept = |line: &Line<'_>| {
            let mut needles = needle.iter();
            needles.all(|needle| needle.is_in(&line.to_string()))
        };
        let lines = lines.into_iter().enumerate();
        let (numbers, lines): (Vec<usize>, Vec<Line<'_>>) =
            lines.filter(|(_, line)| is_kept(line)).unzip();
        let row = |(number, target)| Some((numbers.binary_search(&number).ok()?, target));
        let targets: Vec<_> = targets.into_iter().filter_map(row).collect();
        let cursor = targets.get(self.cursor.get().min(targets.len().saturating_sub(1)));
        let cursor = cursor.map(|(row, _)| *row);
        *self.targets.borrow_mut() = targets;
        let needed = lines.iter().map(Line::width).max().unwrap_or(0) + 4;
        let widest = area.width;
        let wide = u16::try_from(needed)
            .unwrap_or(widest)
            .clamp(NARROWEST.min(widest), widest);
        let high = u16::try_from(lines.len().max(1) + 2).unwrap_or(area.height);
        let area = centred(area, wide, high.min(area.height.saturating_sub(2)));
        frame.render_widget(Clear, area);
        let keys = match cursor {
            Some(_) => " enter go to  o sort  / find  esc close ",
            None => " / find  esc close ",
        };
        let keys = Line::styled(keys, theme.dim).right_aligned();
        let block = theme.pane(Line::from(title), true).title_bottom(keys);
        let inside = block.inner(area);
        frame.render_widget(block, area);
        let page = usize::from(inside.height).max(1);
        let last = lines.len().saturating_sub(page);
        self.page.set((page, last));
        self.top.set(self.top.get().min(last));
        if let Some(row) = cursor.filter(|_| self.shows_cursor.get()) {
            let least = (row + 1).saturating_sub(page);
            self.top.set(self.top.get().clamp(least, row.max(least)));
        }
        if last > 0 {
            let mut place = ScrollbarState::new(last).position(self.top.get());
            let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
                .begin_symbol(None)
                .end_symbol(None)
                .track_symbol(Some(theme.glyphs.vertical))
                .track_style(theme.border_focused)
                .thumb_symbol(theme.glyphs.thumb)
                .thumb_style(theme.border_focused);
            frame.render_stateful_widget(bar, area.inner(Margin::new(0, 1)), &mut place);
        }
        let lines = lines.into_iter().enumerate().skip(self.top.get());
        for (row, (number, line)) in rows(inside).zip(lines) {
            let (edge, style) = match cursor == Some(number) {
                true => (theme.glyphs.edge, theme.selected),
                false => (" ", Style::new()),
            };
            let mut spans = vec![Span::raw(edge)];
            spans.extend(line.spans);
            write(frame, row, spans, style, theme);
        }
        if self.is_finding && area.height > 0 && area.width > 2 {
            let row = Rect {
                x: area.x + 1,
                y: area.bottom() - 1,
                width: area.width - 2,
                height: 1,
            };
            frame.render_widget(Clear, row);
            self.find.draw(frame, row, theme);
        }
    }
}

/// The rows of an entry: its prefix in the first row, and its words in as many rows as they need.
pub fn entry(
    before: &str,
    words: &str,
    style: Style,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let room = width.saturating_sub(before.len()).max(1);
    let words = SafeText::single_line(words, ENTRY);
    let rows = words.wrapped(room).enumerate().map(|(number, row)| {
        let mut spans = vec![match number {
            0 => Span::styled(before.to_owned(), theme.dim),
            _ => Span::raw(" ".repeat(before.len())),
        }];
        spans.extend(theme.spans(&row, style));
        Line::from(spans)
    });
    rows.collect()
}

/// The events of the run, the newest at the end; problems of reading come above them.
pub fn log(state: &State, theme: &Theme, width: usize) -> PageText {
    let live = &state.live;
    let recording = state.document.as_ref().map(|document| &document.recording);
    let problems = recording.map_or(&[][..], |recording| &recording.problems);
    let mut lines = Vec::new();
    if let Some(trouble) = &state.recovery.takes.banner {
        lines.extend(entry("", trouble, theme.error, width, theme));
    }
    for problem in problems.iter().take(PROBLEMS) {
        let place = format!("{:<15} ", state.place_of_problem(problem));
        let words = problem.kind.to_string();
        lines.extend(entry(&place, &words, theme.text, width, theme));
    }
    if let Some(more @ 1..) = problems.len().checked_sub(PROBLEMS) {
        let more = format!("{more} more: retake check lists them");
        lines.extend(entry("", &more, theme.dim, width, theme));
    }
    let exchanges = state.live.proxy_log.as_deref().unwrap_or_default();
    let is_read = !state.is_of_proxy() || state.live.proxy_log.is_some();
    if !is_read {
        lines.push(Line::styled("reading the log of the proxy", theme.dim));
    } else if problems.is_empty() && !live.has_news() && exchanges.is_empty() {
        lines.push(Line::styled("no read errors", theme.dim));
    }
    let began = live.began.unwrap_or_default();
    for event in exchanges.iter().chain(&live.log) {
        let ms = event.at.saturating_sub(began);
        let time = match event.past {
            None => format!("{:>5}.{:03} s  ", ms / 1000, ms % 1000),
            Some(0) => format!("{:>13}", "earlier  "),
            Some(at) => format!("{:>13}", time(at) + "  "),
        };
        let style = match event.is_trouble {
            true => theme.error,
            false => theme.text,
        };
        lines.extend(entry(&time, &event.words, style, width, theme));
    }
    let events = exchanges.len() + live.log.len();
    let title = match (problems.len(), events) {
        (problems, 0) if !live.has_news() => format!(" Read errors {problems} "),
        (0, events) => format!(" Events {events} "),
        (problems, events) => format!(" Read errors {problems} and events {events} "),
    };
    PageText {
        title,
        lines,
        targets: Vec::new(),
    }
}

/// Why findings are some, one after the other.
pub fn explanations(
    findings: &[Finding],
    dialect: Dialect,
    offers_all: bool,
    theme: &Theme,
    width: usize,
) -> PageText {
    let named = |finding: &Finding| format!(" {} ({}) ", finding.rule.id, finding.severity.word());
    let title = match findings {
        [only] => named(only),
        several => format!(" {} findings ", several.len()),
    };
    let mut lines = Vec::new();
    for (number, finding) in findings.iter().enumerate() {
        if findings.len() > 1 {
            if number > 0 {
                lines.push(Line::default());
            }
            let words = named(finding);
            lines.push(Line::from(vec![
                theme.sign(finding.severity),
                Span::styled(words, theme.title),
            ]));
        }
        let offers_all = offers_all && number == 0;
        lines.extend(explanation(finding, dialect, offers_all, theme, width));
    }
    PageText {
        title,
        lines,
        targets: Vec::new(),
    }
}

/// Why the run is paused, in full.
pub fn pause(words: &str, theme: &Theme, width: usize) -> PageText {
    PageText {
        title: " paused ".to_owned(),
        // An error may be a whole page.
        lines: words
            .lines()
            .flat_map(|line| entry("", line, theme.text, width, theme))
            .collect(),
        targets: Vec::new(),
    }
}

/// Why a finding is one: its message, how the provider of the dialect refuses it, and the page of its rule.
fn explanation(
    finding: &Finding,
    dialect: Dialect,
    offers_all: bool,
    theme: &Theme,
    width: usize,
) -> Vec<Line<'static>> {
    let refusal = refusal_of(finding.rule.id, dialect);
    let refusal = refusal.map(|sentence| (sentence.provider.name(), &*sentence.example));
    let refusal = refusal.map(|(name, example)| (format!("{name}, for example"), example));
    let page = finding.rule.page.sections().into_iter();
    let page = page.map(|(heading, text)| (heading.to_owned(), text));
    let message = finding.message();
    let violations = finding.get("violations").unwrap_or_default();
    let told = finding.get("told").filter(|_| violations.contains('\n'));
    let mut lines = match told.and_then(|told| message.split_once(told)) {
        // Each with the value that was found and what the schema asks for in a row of its own.
        Some((before, after)) => {
            let mut lines = entry("", before.trim_end(), theme.text, width, theme);
            let rows = violations.lines();
            lines.extend(rows.flat_map(|row| entry("  ", row, theme.text, width, theme)));
            if !after.is_empty() {
                lines.extend(entry("", after.trim_start(), theme.text, width, theme));
            }
            lines
        }
        None => entry("", &message, theme.text, width, theme),
    };
    let fix_all = keymap::rows().find(|row| row.command == Command::FixAll && offers_all);
    if let Some(row) = fix_all {
        let words = format!("{}: {}", row.first_key(), row.help);
        lines.extend(entry("", &words, theme.dim, width, theme));
    }
    for (heading, text) in refusal.into_iter().chain(page) {
        lines.push(Line::default());
        lines.push(Line::styled(heading, theme.title));
        lines.extend(entry("  ", text, theme.text, width, theme));
    }
    lines
}

/// Where the tokens and the time of the session went; `calls` began its sub-agents.
pub(super) fn usage(
    state: &State,
    calls: &[(usize, NestedPlace)],
    theme: &Theme,
    width: usize,
) -> PageText {
    let title = match state.usage.order {
        None => " Usage ".to_owned(),
        Some(order) => format!(" Usage, by {} ", usage::words_of(order)),
    };
    let (Some(totals), Some(session)) = (state.totals(), state.session()) else {
        let lines = vec![Line::styled(state.why_no_totals(), theme.dim)];
        let targets = Vec::new();
        return PageText {
            title,
            lines,
            targets,
        };
    };
    let style = ReportStyle {
        width: width.min(WIDEST_USAGE),
        bar: theme.glyphs.thumb,
        more: theme.glyphs.more,
        order: state.usage.order,
    };
    let sum = state.usage.is_of_list.then(|| state.sum_of_conversations());
    let lines = match &sum {
        Some((_, sum)) => usage::total_report(sum, style),
        None => usage::report(session, totals, &state.nested_totals(calls), style),
    };
    let title = sum.map_or(title, |(count, _)| match count {
        1 => " Usage of 1 conversation ".to_owned(),
        _ => format!(" Usage of {count} conversations "),
    });
    let targets = lines.iter().enumerate();
    let targets = targets.filter_map(|(number, line)| Some((number, line.target?)));
    let targets = targets.collect();
    let style = |is_heading| if is_heading { theme.title } else { theme.text };
    let lines = lines.iter();
    let lines = lines.map(|line| theme.line(&line.text, style(line.is_heading)));
    PageText {
        title,
        lines: lines.collect(),
        targets,
    }
}

/// How the tools fare in the sessions that are checked: `tally` counts some of `sessions`.
pub fn health(tally: &Health, sessions: usize, theme: &Theme, width: usize) -> PageText {
    let title = match (tally.sessions, sessions) {
        (1, 1) => " Tool health ".to_owned(),
        (counted, sessions) if counted == sessions => {
            format!(" Tool health of {sessions} sessions ")
        }
        (counted, _) => format!(" Tool health: {counted} of {sessions} sessions are checked "),
    };
    let HealthTable { heading, rows } = HealthTable::new(tally, width + 1);
    let mut lines = vec![Line::from(Span::styled(heading, theme.title))];
    for row in rows {
        let style = if row.is_open { theme.error } else { theme.text };
        let mut spans = theme.spans(&row.name, style);
        spans.push(Span::styled(row.figures, style));
        lines.push(Line::from(spans));
        let details = row.details.into_iter();
        lines.extend(details.map(|detail| Line::from(Span::styled(detail, theme.dim))));
    }
    lines.push(Line::default());
    lines.extend(LEGEND.map(|words| Line::styled(words, theme.dim)));
    PageText {
        title,
        lines,
        targets: Vec::new(),
    }
}

/// What the columns of the tool health mean, in rows for the narrowest table.
const LEGEND: [&str; 3] = [
    "answered: calls with an output    rate: errors among these",
    "95%: the interval of the rate     run: most errors in a row",
    "breaker: open where so many errors in a row would cut the tool off",
];
