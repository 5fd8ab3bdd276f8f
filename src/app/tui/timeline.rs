//! The run as bars over time: a chart of who was busy when, all of it or a part, and below it the bars one by one, of
//! which the cursor leads to their items.

use super::keymap::{self, Command, Context, Direction};
use super::layer::{Layer, Step};
use super::list::{ListCursor, motion};
use super::popup::{centred, rows, split_top, write};
use super::state::State;
use super::theme::Theme;
use crate::usage::{at_least, call_line};
use crate::words::{clock, count, counted, duration, local};
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::content::display_name;
use retake_core::safe_text::SafeText;
use retake_core::usage::{Activity, Bar, Lane, Timeline, UsageReader, working_folder};
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};

/// Cells of what a lane is called and of how long it took.
const LANE: usize = 18;
const TOOK: usize = 8;
/// Least columns of a lane.
const LEAST: usize = 20;
/// How busy a column is, in eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const PLAIN: [char; 9] = [' ', '.', '.', ':', ':', '=', '=', '#', '#'];

/// Least cells of a row that says when its bar ends.
const WIDE: usize = 90;
/// Least milliseconds that are shown.
const SHORTEST: u64 = 100;
/// How far a key moves a part: this share of it.
const STRIDE: u64 = 4;

#[derive(Debug)]
pub(super) struct TimelinePage {
    /// Among the bars in the part that is shown.
    cursor: ListCursor,
    folder: String,
    /// The part of the session that is shown, in milliseconds since it began; `None` is all of it.
    part: Option<Range<u64>>,
}

impl TimelinePage {
    /// The cursor is on the bar of the item with the cursor, else on the next one.
    pub(super) fn new(state: &State) -> Self {
        let mut cursor = ListCursor::default();
        if let Some(totals) = state.totals() {
            let bars = &totals.timeline.bars;
            let next = bars.iter().position(|bar| bar.item >= state.item);
            cursor.set(next.unwrap_or(bars.len().saturating_sub(1)));
        }
        let folder = state.session().and_then(working_folder);
        Self {
            cursor,
            folder: folder.unwrap_or_default(),
            part: None,
        }
    }

    fn part(&self, timeline: &Timeline) -> Range<u64> {
        self.part.clone().unwrap_or(0..timeline.span)
    }

    /// The numbers of the bars in the part that is shown.
    fn listed(&self, timeline: &Timeline) -> Vec<usize> {
        let is_in = |bar: &Bar| {
            let ends = bar.start + bar.took;
            let part = self.part.as_ref();
            part.is_none_or(|part| bar.start <= part.end && ends >= part.start)
        };
        let bars = timeline.bars.iter().enumerate();
        bars.filter(|(_, bar)| is_in(bar))
            .map(|(number, _)| number)
            .collect()
    }

    /// The number of the bar with the cursor.
    fn chosen(&self, timeline: &Timeline) -> Option<usize> {
        self.listed(timeline).get(self.cursor.get()).copied()
    }

    /// Puts the cursor on a bar where it is in the part that is shown, else on the first one there.
    fn choose(&mut self, timeline: &Timeline, number: Option<usize>) {
        let listed = self.listed(timeline);
        let row = listed.iter().position(|listed| Some(*listed) == number);
        self.cursor.set(row.unwrap_or(0));
    }

    /// Shows a part of this length that begins there, as far as the session has it; the cursor stays on its bar.
    fn show(&mut self, timeline: &Timeline, start: u64, length: u64) {
        let chosen = self.chosen(timeline);
        let start = start.min(timeline.span.saturating_sub(length));
        self.part = (length < timeline.span).then(|| start..start + length);
        self.choose(timeline, chosen);
    }

    /// Shows half of what is shown, around the bar with the cursor, or twice as much.
    fn zoom(&mut self, timeline: &Timeline, direction: Direction) {
        let part = self.part(timeline);
        let length = part.end - part.start;
        let length = match direction {
            Direction::Forward => (length / 2).max(SHORTEST),
            // Halves were rounded down.
            Direction::Backward if length > timeline.span / 2 - timeline.span / 100 => {
                timeline.span
            }
            Direction::Backward => length.saturating_mul(2),
        };
        let bar = self.chosen(timeline).map(|number| timeline.bars[number]);
        let middle = bar.map_or(part.start, |bar| bar.start + bar.took / 2);
        self.show(timeline, middle.saturating_sub(length / 2), length);
    }

    /// Shows what is before or after the part that is shown; the cursor stays in it.
    fn pan(&mut self, timeline: &Timeline, direction: Direction) {
        let part = self.part(timeline);
        let length = part.end - part.start;
        let start = match direction {
            Direction::Forward => part.start.saturating_add(length / STRIDE),
            Direction::Backward => part.start.saturating_sub(length / STRIDE),
        };
        self.show(timeline, start, length);
    }

    /// Moves through the bars of the part that is shown; beyond its ends the part moves to the next bar.
    fn steps(&mut self, key: KeyEvent, timeline: &Timeline) -> bool {
        let listed = self.listed(timeline);
        let before = self.cursor.get();
        let Some((_, direction)) = motion(key, 1) else {
            return false;
        };
        self.cursor.key(key, listed.len());
        let ends = listed.first().zip(listed.last());
        if let (true, Some((first, last))) = (self.cursor.get() == before, ends) {
            let next = match direction {
                Direction::Forward => Some(last + 1),
                Direction::Backward => first.checked_sub(1),
            };
            let bar = next.and_then(|next| Some((next, *timeline.bars.get(next)?)));
            if let Some((next, bar)) = bar {
                let part = self.part(timeline);
                let length = part.end - part.start;
                let middle = bar.start + bar.took / 2;
                self.show(timeline, middle.saturating_sub(length / 2), length);
                self.choose(timeline, Some(next));
            }
        }
        true
    }

    /// From when to when it was, how long it took, who was busy, and what that took.
    fn facts(
        &self,
        state: &State,
        reader: Option<&mut UsageReader<'_>>,
        timeline: &Timeline,
        (bar, width): (Bar, usize),
    ) -> (String, String) {
        let at = |at: u64| clock(local(timeline.start + at, &state.zone));
        let (start, end) = (at(bar.start), at(bar.start + bar.took));
        let took = duration(bar.took);
        let span = match width >= WIDE {
            true => format!("{start:<8}-{end:<8}"),
            false => format!("{start:<8}"),
        };
        let before = format!("{span} {took:>TOOK$}  ");
        let activity = timeline.lanes.get(bar.lane).map(|lane| &lane.activity);
        let session = state.session();
        let words = match (activity, session) {
            (Some(Activity::Tool(_)), Some(session)) => call_line(session, bar.item, &self.folder),
            (Some(Activity::Model), Some(session)) => {
                let turn = session
                    .items
                    .get(bar.item)
                    .map_or(0, |item| item.turn as usize);
                let usage = reader.and_then(|reader| reader.turn(turn).ok());
                let usage = usage.unwrap_or_default();
                let mark = at_least(usage.is_undercounted);
                let mut facts = vec![format!("model, turn {}", turn + 1)];
                facts.extend(usage.tokens.map(|tokens| {
                    let out = count(tokens.output);
                    match tokens.sent() {
                        Some(sent) => format!("{} tokens in, {mark}{out} out", count(sent)),
                        None => format!("{mark}{out} tokens out"),
                    }
                }));
                facts.extend(usage.cost.map(|cost| format!("{mark}{}", cost.all)));
                facts.join("  ")
            }
            (Some(Activity::Waiting), _) => "waiting for you".to_owned(),
            (Some(Activity::Held), _) => "held for a decision".to_owned(),
            (Some(Activity::Tool(_) | Activity::Model), None) | (None, _) => String::new(),
        };
        (before, words)
    }
}

/// What a lane is called.
fn name_of(lane: &Lane) -> String {
    match &lane.activity {
        Activity::Model => "model".to_owned(),
        Activity::Tool(tool) => display_name(tool),
        Activity::Waiting => "waiting for you".to_owned(),
        Activity::Held => "held".to_owned(),
    }
}

/// The columns of a bar in a part of the session.
fn columns_of(bar: Bar, columns: usize, part: &Range<u64>) -> RangeInclusive<usize> {
    let column = |at: u64| {
        let (at, length) = (at.saturating_sub(part.start), part.end - part.start);
        let column = u128::from(at) * columns as u128 / u128::from(length.max(1));
        usize::try_from(column).unwrap_or(columns).min(columns - 1)
    };
    column(bar.start)..=column(bar.start + bar.took)
}

/// The times above the chart: of its start, its middle and its end.
fn axis(state: &State, timeline: &Timeline, columns: usize, part: &Range<u64>) -> String {
    let at = |half: u64| {
        let at = part.start + (part.end - part.start) * half / 2;
        clock(local(timeline.start + at, &state.zone))
    };
    let half = (columns / 2).saturating_sub(4);
    format!(
        "{:<space$}{:<half$}{}{:>rest$}",
        "",
        at(0),
        at(1),
        at(2),
        space = LANE + TOOK + 2,
        rest = columns.saturating_sub(half + 8)
    )
}

/// A lane with its bars; those of the bar with the cursor are set apart.
fn lane_spans(
    lane: &Lane,
    bar: Option<RangeInclusive<usize>>,
    busy: Vec<u8>,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let name = SafeText::single_line(&name_of(lane), LANE - 1);
    let gap = LANE.saturating_sub(name.width());
    let named = if bar.is_some() {
        theme.selected
    } else {
        theme.text
    };
    let mut spans = theme.spans(&name, named);
    spans.push(Span::raw(format!(
        "{:gap$}{:>TOOK$}  ",
        "",
        duration(lane.took)
    )));
    let letters = if theme.glyphs.ascii { PLAIN } else { EIGHTHS };
    let busy = busy.into_iter().enumerate();
    spans.extend(busy.map(|(column, eighths)| {
        // A narrow bar is seen, too: its columns are full.
        match bar.as_ref().is_some_and(|bar| bar.contains(&column)) {
            true => Span::styled(letters[letters.len() - 1].to_string(), theme.marked),
            false => Span::styled(letters[usize::from(eighths)].to_string(), theme.text),
        }
    }));
    spans
}

impl Layer<State> for TimelinePage {
    /// The index of an item.
    type Output = usize;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Overlay]
    }

    fn key(&mut self, key: KeyEvent, state: &mut State) -> Step<usize> {
        let empty = Timeline::default();
        let timeline = state.totals().map_or(&empty, |totals| &totals.timeline);
        if self.steps(key, timeline) {
            return Step::Stay;
        }
        match keymap::command(Context::Overlay, &key) {
            Some(Command::Back | Command::Close | Command::Timeline) => Step::Leave,
            Some(Command::Open) => match self.chosen(timeline) {
                Some(number) => Step::Done(timeline.bars[number].item),
                None => Step::Stay,
            },
            Some(Command::Zoom(direction)) => {
                self.zoom(timeline, direction);
                Step::Stay
            }
            Some(Command::Pan(direction)) => {
                self.pan(timeline, direction);
                Step::Stay
            }
            Some(Command::Find | Command::Sort) | None => Step::Stay,
            Some(_) => Step::Pass,
        }
    }

    fn mouse(&mut self, event: MouseEvent, state: &mut State) -> Step<usize> {
        if let Some(totals) = state.totals() {
            let listed = self.listed(&totals.timeline).len();
            self.cursor.mouse(event, listed);
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let totals = state.totals();
        let timeline = totals
            .map(|totals| &totals.timeline)
            .filter(|it| !it.lanes.is_empty());
        let lanes = timeline.map_or(0, |timeline| timeline.lanes.len());
        let bars = timeline.map_or(&[][..], |timeline| &timeline.bars);
        // The longest lanes have half of the height; the bars below have the rest.
        let height = usize::from(area.height.saturating_sub(4));
        let shown = lanes.min((height / 2).max(2));
        let needed = u16::try_from(shown + bars.len() + 5).unwrap_or(u16::MAX);
        let area = centred(area, area.width, needed);
        frame.render_widget(Clear, area);
        let keys = match bars.is_empty() {
            true => " esc close ",
            false => " j k bars  + - zoom  h l earlier, later  enter go to  esc close ",
        };
        let keys = Line::styled(keys, theme.dim).right_aligned();
        let listed = timeline.map_or_else(Vec::new, |timeline| self.listed(timeline));
        let left_out = timeline.map_or(0, |timeline| timeline.left_out);
        let kept = match left_out {
            0 => counted(bars.len(), "bar"),
            _ => format!(
                "the {} longest bars of {}",
                bars.len(),
                bars.len() + left_out
            ),
        };
        let title = match self.part.is_some() {
            true => format!(" Timeline  {} of {kept} ", listed.len()),
            false if left_out > 0 => format!(" Timeline  {kept} "),
            false => " Timeline ".to_owned(),
        };
        let block = theme.pane(Line::from(title), true).title_bottom(keys);
        let frame_inside = block.inner(area);
        frame.render_widget(block, area);
        let inside = Rect {
            x: frame_inside.x + 1.min(frame_inside.width),
            width: frame_inside.width.saturating_sub(2),
            ..frame_inside
        };
        let Some(timeline) = timeline else {
            let words = match totals {
                Some(_) => "the recording has no times".to_owned(),
                None => state.why_no_totals(),
            };
            return write(
                frame,
                inside,
                vec![Span::styled(words, theme.dim)],
                Style::new(),
                theme,
            );
        };
        let bar = listed.get(self.cursor.get()).map(|number| bars[*number]);
        let columns = usize::from(inside.width)
            .saturating_sub(LANE + TOOK + 2)
            .max(LEAST);
        let part = self.part(timeline);
        let axis = axis(state, timeline, columns, &part);
        let mut chart = vec![vec![Span::styled(axis, theme.dim)]];
        let mut order: Vec<usize> = (0..lanes).collect();
        // What has no room are the tools that took least; the lane with the cursor is always there.
        let worth = |lane: &usize| {
            let is_tool = matches!(timeline.lanes[*lane].activity, Activity::Tool(_));
            let has_cursor = bar.is_some_and(|bar| bar.lane == *lane);
            std::cmp::Reverse((!is_tool || has_cursor, timeline.lanes[*lane].took))
        };
        order.sort_by_key(worth);
        order.truncate(shown);
        order.sort_unstable();
        chart.extend(order.iter().map(|lane| {
            let own = bar.filter(|bar| bar.lane == *lane);
            let own = own.map(|bar| columns_of(bar, columns, &part));
            let busy = timeline.columns(*lane, columns, &part);
            lane_spans(&timeline.lanes[*lane], own, busy, theme)
        }));
        let pointer = bar.map(|bar| {
            let own = columns_of(bar, columns, &part);
            let before = LANE + TOOK + 2 + own.start();
            let pointer = format!("{:before$}{}", "", "^".repeat(own.count()));
            Span::styled(pointer, theme.marked)
        });
        chart.push(pointer.into_iter().collect());
        let high = u16::try_from(chart.len()).unwrap_or(inside.height);
        let [upper, lower] = split_top(inside, high.min(inside.height));
        for (row, spans) in rows(upper).zip(chart) {
            write(frame, row, spans, Style::new(), theme);
        }
        let session = state.session();
        let reader = session.map(|session| UsageReader::new(session, &state.prices));
        let reader = RefCell::new(reader);
        self.cursor.draw(
            frame,
            lower,
            listed.len(),
            theme.selected,
            theme,
            |number, row| {
                let bar = listed.get(number).and_then(|number| bars.get(*number));
                let Some(bar) = bar else {
                    return Vec::new();
                };
                let (before, words) = self.facts(
                    state,
                    reader.borrow_mut().as_mut(),
                    timeline,
                    (*bar, row.width.into()),
                );
                let room = usize::from(row.width).saturating_sub(before.chars().count());
                let mut spans = vec![Span::styled(before, theme.dim)];
                spans.extend(theme.spans(&SafeText::single_line(&words, room), theme.text));
                spans
            },
        );
    }
}
