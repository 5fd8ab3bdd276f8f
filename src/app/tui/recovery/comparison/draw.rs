//! What a comparison looks like: rows for a width, made once and kept until the width changes.

use super::super::difference::{self, Pieces, Row, Side, folded, same, uncompared, unified};
use super::{Comparison, Heading, Pair, Stretch};
use crate::tui::keymap::Context;
use crate::tui::popup::{Popup, rows, rule, write};
use crate::tui::state::layout::WIDE;
use crate::tui::text::{DetailRow, Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// Cells between the two columns.
const GUTTER: u16 = 3;

#[derive(Debug, Clone)]
pub(super) enum ScreenRow {
    /// Over the whole width.
    Across(DetailRow),
    Beside(Option<DetailRow>, Option<DetailRow>),
}

/// The rows of a comparison.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    width: u16,
    is_wide: bool,
    pub(super) rows: Vec<ScreenRow>,
    /// The rows on which differences begin.
    pub(super) starts: Vec<usize>,
}

impl Comparison {
    /// Draws the comparison over `area`.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        let is_wide = area.width >= WIDE;
        let mut title = self.names[0].clone();
        title.push(&SafeText::from_static(" / "));
        title.push(&self.names[1]);
        let popup = Popup {
            title: &title,
            context: Context::Comparison,
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        if inside.width < 2 || inside.height < 2 {
            return;
        }
        self.head(frame, inside, is_wide, theme);
        let body = Rect {
            y: inside.y + 1,
            height: inside.height - 1,
            ..inside
        };
        self.height.set(body.height.into());
        let mut kept = self.drawn.borrow_mut();
        let is_fresh = |drawn: &&mut Drawn| drawn.width == body.width && drawn.is_wide == is_wide;
        if kept.as_mut().filter(is_fresh).is_none() {
            *kept = Some(self.lay_out(body.width, is_wide));
        }
        let Some(drawn) = kept.as_ref() else { return };
        let top = self
            .top
            .min(drawn.rows.len().saturating_sub(body.height.into()));
        for (area, row) in rows(body).zip(drawn.rows.iter().skip(top)) {
            draw_screen_row(frame, area, row, theme);
        }
    }

    /// How much is the same; in two columns also their names.
    fn head(&self, frame: &mut Frame<'_>, area: Rect, is_wide: bool, theme: &Theme) {
        let area = Rect { height: 1, ..area };
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (same, different) = (self.same, self.different);
        let counts = format!(
            "{same} item{} the same, {different} different",
            plural(same)
        );
        if !is_wide {
            rule(frame, area, vec![Span::styled(counts, theme.dim)], theme);
            return;
        }
        rule(frame, area, Vec::new(), theme);
        let (left, right) = columns(area);
        let name = |name: &SafeText, width: u16| {
            theme.spans(&name.truncated(usize::from(width) / 2), theme.title)
        };
        let mut first = vec![Span::raw(" ")];
        first.extend(name(&self.names[0], left.width));
        first.push(Span::styled(format!("  {counts} "), theme.dim));
        write(frame, left, first, Style::new());
        let mut second = vec![Span::raw(" ")];
        second.extend(name(&self.names[1], right.width));
        second.push(Span::raw(" "));
        write(frame, right, second, Style::new());
    }

    fn lay_out(&self, width: u16, is_wide: bool) -> Drawn {
        let mut drawn = Drawn {
            width,
            is_wide,
            rows: Vec::new(),
            starts: Vec::new(),
        };
        for stretch in &self.stretches {
            match stretch {
                Stretch::Same { count: 0, .. } => {}
                Stretch::Same { count, first } => {
                    let mut line = folded(*count, "item");
                    let from = format!("  from {} on", first.0);
                    let from = if first.0 == first.1 {
                        from
                    } else {
                        format!("{from} / {}", first.1)
                    };
                    line.pieces.push((Tone::Dim, SafeText::from_str(&from)));
                    drawn.across(&line);
                }
                Stretch::Pair(pair) => {
                    drawn.starts.push(drawn.rows.len());
                    if is_wide {
                        drawn.beside(pair);
                    } else {
                        drawn.below(pair);
                    }
                }
                Stretch::Unread(left, right) => {
                    let words = format!("... {left} more items left, {right} right, all different");
                    drawn.across(&Line::new(Tone::Dim, SafeText::from_str(&words)));
                }
            }
        }
        drawn
    }
}

impl Drawn {
    fn across(&mut self, line: &Line) {
        let rows = line.rows(usize::from(self.width).max(1));
        self.rows.extend(rows.into_iter().map(ScreenRow::Across));
    }

    /// A pair in one column.
    fn below(&mut self, pair: &Pair) {
        let mut head = heading(mark_of(pair), pair.left.as_ref().or(pair.right.as_ref()));
        if let (Some(left), Some(right)) = (&pair.left, &pair.right)
            && left.number != right.number
        {
            let number = SafeText::from_str(&format!("  now {}", right.number));
            head.pieces.push((Tone::Dim, number));
        }
        self.across(&head);
        for mut line in unified(&pair.rows) {
            line.indent = 2;
            self.across(&line);
        }
    }

    /// A pair in two columns.
    fn beside(&mut self, pair: &Pair) {
        let mark = mark_of(pair);
        let head = |side: &Option<Heading>| side.as_ref().map(|it| heading(mark, Some(it)));
        self.two(head(&pair.left), head(&pair.right));
        let is_alone = pair.left.is_none() || pair.right.is_none();
        let inside = |line: Line| Line { indent: 2, ..line };
        for row in &pair.rows {
            match row {
                Row::Same(text) => self.two(Some(inside(same(text))), Some(inside(same(text)))),
                Row::Changed(left, right) => {
                    let line = |side, pieces: &Option<Pieces>| {
                        let changed = pieces.as_ref().map(|it| difference::changed(side, it));
                        changed.map(inside)
                    };
                    self.two(line(Side::Before, left), line(Side::After, right));
                }
                Row::Folded(count) if !is_alone => {
                    let line = inside(folded(*count, "line"));
                    self.two(Some(line.clone()), Some(line));
                }
                Row::Folded(count) => self.across(&folded(*count, "line")),
                Row::Uncompared(before, after) => self.across(&uncompared(*before, *after)),
            }
        }
    }

    /// Two lines beside each other, as many rows as the longer one takes.
    fn two(&mut self, left: Option<Line>, right: Option<Line>) {
        let (one, other) = column_widths(self.width);
        let wrapped = |line: Option<Line>, width: u16| {
            let rows = line.map(|line| line.rows(usize::from(width).max(1)));
            rows.unwrap_or_default()
        };
        let (left, right) = (wrapped(left, one), wrapped(right, other));
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return,
                (left, right) => self.rows.push(ScreenRow::Beside(left, right)),
            }
        }
    }
}

fn mark_of(pair: &Pair) -> &'static str {
    match (&pair.left, &pair.right) {
        (Some(_), None) => "-",
        (None, Some(_)) => "+",
        _ => "~",
    }
}

/// `~ 35 call  serch_flights`.
fn heading(mark: &'static str, item: Option<&Heading>) -> Line {
    let Some(item) = item else {
        return Line::default();
    };
    let words = format!("{mark} {} {}  ", item.number, item.kind);
    let tone = match mark {
        "-" => Tone::Removed,
        "+" => Tone::Added,
        _ => Tone::Title,
    };
    let mut line = Line::new(tone, SafeText::from_str(&words));
    line.pieces.push((Tone::Title, item.tool.clone()));
    line
}

fn column_widths(width: u16) -> (u16, u16) {
    let left = width.saturating_sub(GUTTER) / 2;
    (left, width.saturating_sub(GUTTER + left))
}

fn columns(area: Rect) -> (Rect, Rect) {
    let (one, other) = column_widths(area.width);
    let left = Rect { width: one, ..area };
    let right = Rect {
        x: area.right() - other,
        width: other,
        ..area
    };
    (left, right)
}

fn draw_screen_row(frame: &mut Frame<'_>, area: Rect, row: &ScreenRow, theme: &Theme) {
    match row {
        ScreenRow::Across(row) => row.draw(frame, area, theme),
        ScreenRow::Beside(one, other) => {
            let (left, right) = columns(area);
            if let Some(row) = one {
                row.draw(frame, left, theme);
            }
            if let Some(row) = other {
                row.draw(frame, right, theme);
            }
            let bar = Rect {
                x: left.right() + 1,
                width: 1.min(area.width),
                ..area
            }
            .intersection(area);
            let glyph = Span::styled(theme.glyphs.vertical, theme.border);
            write(frame, bar, vec![glyph], Style::new());
        }
    }
}
