//! How two takes differ: items beside each other where there is room, else one below the other. What both share
//! is counted, not shown.

use crate::tui::keymap::{Command, Context, Direction, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::moved;
use crate::tui::popup::{Popup, rows, rule, split_top, write};
use crate::tui::recovery::difference::{
    self, DifferenceRow, DifferenceSide, Pieces, compare_readable, folded, same, uncompared,
    unified,
};
use crate::tui::state::layout::WIDE;
use crate::tui::text::{DetailRow, Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, operations, operations_of};
use similar::DiffOp;
use std::cell::{Cell, RefCell};
use std::ops::Range;

#[derive(Debug, Clone)]
pub struct Comparison {
    names: [SafeText; 2],
    /// What marks the lines of each side.
    marks: [&'static str; 2],
    stretches: Vec<Stretch>,
    /// How many items are the same, differ, and are on the left or on the right only.
    same: usize,
    changed: usize,
    alone: [usize; 2],
    top: usize,
    /// The rows for the width that they were made for.
    drawn: RefCell<Option<Drawn>>,
    height: Cell<usize>,
}

impl Comparison {
    /// Compares two takes by the digests of their items; `read` is called only for items that differ, and not
    /// for all of them where they are very many.
    pub fn new(
        names: [&str; 2],
        digests: [&[u64]; 2],
        read: impl Fn(TakeSide, usize) -> ItemText,
    ) -> Self {
        let stretches = align(digests, &read);
        let (mut same, mut changed, mut alone) = (0, 0, [0, 0]);
        for stretch in &stretches {
            match stretch {
                Stretch::Same { count, .. } => same += count,
                Stretch::Pair(pair) => match (&pair.left, &pair.right) {
                    (Some(_), None) => alone[0] += 1,
                    (None, Some(_)) => alone[1] += 1,
                    _ => changed += 1,
                },
                Stretch::Unread(left, right) => {
                    changed += left.min(right);
                    alone[0] += left.saturating_sub(*right);
                    alone[1] += right.saturating_sub(*left);
                }
            }
        }
        Self {
            names: names.map(|name| SafeText::single_line(name, 100)),
            marks: ["-", "+"],
            stretches,
            same,
            changed,
            alone,
            top: 0,
            drawn: RefCell::new(None),
            height: Cell::new(1),
        }
    }

    /// Neither side is the older one: each has a mark of its own.
    pub fn with_marks(self, marks: [&'static str; 2]) -> Self {
        Self { marks, ..self }
    }

    fn scroll(&mut self, key: KeyEvent) {
        let page = self.height.get().max(2);
        let to = moved(key, self.top, page, self.last_top());
        self.top = to.unwrap_or(self.top).min(self.last_top());
    }

    fn last_top(&self) -> usize {
        let drawn = self.drawn.borrow();
        let rows = drawn.as_ref().map_or(0, |drawn| drawn.rows.len());
        rows.saturating_sub(self.height.get())
    }

    /// Puts the next or previous difference at the top.
    fn jump(&mut self, direction: Direction) {
        let drawn = self.drawn.borrow();
        let starts = drawn.as_ref().map_or(&[][..], |drawn| &drawn.starts);
        let next = if direction.is_forward() {
            starts.iter().find(|start| **start > self.top)
        } else {
            starts.iter().rfind(|start| **start < self.top)
        };
        let next = next.copied();
        drop(drawn);
        // The last difference may not reach the top.
        self.top = next.unwrap_or(self.top).min(self.last_top());
    }
}

impl<S> Layer<S> for Comparison {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Comparison]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step {
        match command(Context::Comparison, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Difference(direction)) => self.jump(direction),
            _ => self.scroll(key),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step {
        match event.kind {
            MouseEventKind::ScrollDown => self.top = (self.top + 3).min(self.last_top()),
            MouseEventKind::ScrollUp => self.top = self.top.saturating_sub(3),
            _ => {}
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.draw(frame, area, theme);
    }
}

/// Two items that stand beside each other, or one alone.
#[derive(Debug, Clone)]
struct Pair {
    left: Option<Heading>,
    right: Option<Heading>,
    rows: Vec<DifferenceRow>,
}

/// The heading of an item.
#[derive(Debug, Clone)]
struct Heading {
    number: usize,
    kind: &'static str,
    tool: SafeText,
}

/// Cells between the two columns.
const GUTTER: u16 = 3;

#[derive(Debug, Clone)]
enum ScreenRow {
    /// Over the whole width.
    Across(DetailRow),
    Beside(Option<DetailRow>, Option<DetailRow>),
}

/// The rows of a comparison.
#[derive(Debug, Clone)]
struct Drawn {
    width: u16,
    is_wide: bool,
    rows: Vec<ScreenRow>,
    /// The rows on which differences begin.
    starts: Vec<usize>,
}

impl Comparison {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
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
        let [_, body] = split_top(inside, 1);
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
        let is_named = self.marks != ["-", "+"];
        let [left, right] = match is_named {
            true => self.marks.map(|mark| format!("only {mark}")),
            false => ["removed", "added"].map(str::to_owned),
        };
        let counts = [
            (self.changed, "changed".to_owned()),
            (self.alone[0], left),
            (self.alone[1], right),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, word)| format!(", {count} {word}"));
        let same = self.same;
        let unchanged = format!("{same} unchanged");
        let counts = counts.fold(unchanged, |all, words| all + &words);
        if !is_wide {
            let [left, right] = [0, 1].map(|side| {
                let name = self.names[side].as_plain();
                format!("{} {name}", self.marks[side])
            });
            let counts = match is_named {
                true => format!("{left}, {right}: {counts}"),
                false => counts,
            };
            rule(frame, area, vec![Span::styled(counts, theme.dim)], theme);
            return;
        }
        rule(frame, area, Vec::new(), theme);
        let (left, right) = columns(area);
        let name = |side: usize, width: u16| {
            let mark = match is_named {
                true => format!(" {} ", self.marks[side]),
                false => " ".to_owned(),
            };
            let name = self.names[side].truncated(usize::from(width) / 2);
            let name = theme.spans(&name, theme.title);
            [Span::styled(mark, theme.dim)].into_iter().chain(name)
        };
        let mut first: Vec<_> = name(0, left.width).collect();
        first.push(Span::styled(format!("  {counts} "), theme.dim));
        write(frame, left, first, Style::new(), theme);
        let mut second: Vec<_> = name(1, right.width).collect();
        second.push(Span::raw(" "));
        write(frame, right, second, Style::new(), theme);
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
                        drawn.beside(pair, self.marks);
                    } else {
                        drawn.below(pair, self.marks);
                    }
                }
                Stretch::Unread(left, right) => {
                    let words = format!(
                        "... {left} more items on the left, {right} on the right, all different"
                    );
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
    fn below(&mut self, pair: &Pair, marks: [&'static str; 2]) {
        let mark = mark_of(pair, marks);
        let mut head = heading(mark, pair.left.as_ref().or(pair.right.as_ref()));
        if let (Some(left), Some(right)) = (&pair.left, &pair.right)
            && left.number != right.number
        {
            let number = SafeText::from_str(&format!("  now {}", right.number));
            head.pieces.push((Tone::Dim, number));
        }
        self.across(&head);
        for mut line in unified(&pair.rows) {
            line.indent = 2;
            self.across(&marked(line, marks));
        }
    }

    /// A pair in two columns.
    fn beside(&mut self, pair: &Pair, marks: [&'static str; 2]) {
        let mark = mark_of(pair, marks);
        let head = |side: &Option<Heading>| side.as_ref().map(|it| heading(mark, Some(it)));
        self.two(head(&pair.left), head(&pair.right));
        let is_alone = pair.left.is_none() || pair.right.is_none();
        let inside = |line: Line| Line { indent: 2, ..line };
        for row in &pair.rows {
            match row {
                DifferenceRow::Same(text) => {
                    self.two(Some(inside(same(text))), Some(inside(same(text))))
                }
                DifferenceRow::Changed(left, right) => {
                    let line = |side, pieces: &Option<Pieces>| {
                        let changed = pieces.as_ref().map(|it| difference::changed(side, it));
                        changed.map(|line| marked(inside(line), marks))
                    };
                    self.two(
                        line(DifferenceSide::Before, left),
                        line(DifferenceSide::After, right),
                    );
                }
                DifferenceRow::Folded(count) if !is_alone => {
                    let line = inside(folded(*count, "line"));
                    self.two(Some(line.clone()), Some(line));
                }
                DifferenceRow::Folded(count) => self.across(&folded(*count, "line")),
                DifferenceRow::Uncompared(before, after) => {
                    self.across(&uncompared(*before, *after))
                }
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

/// The tone of a heading with its mark.
type Mark = (Tone, &'static str);

fn mark_of(pair: &Pair, [left, right]: [&'static str; 2]) -> Mark {
    match (&pair.left, &pair.right) {
        (Some(_), None) => (Tone::Removed, left),
        (None, Some(_)) => (Tone::Added, right),
        _ => (Tone::Title, "~"),
    }
}

/// A changed line with the mark of its side.
fn marked(mut line: Line, [left, right]: [&'static str; 2]) -> Line {
    if let Some((tone, text)) = line.pieces.first_mut() {
        let mark = match tone {
            Tone::Removed => left,
            Tone::Added => right,
            _ => return line,
        };
        *text = SafeText::from_str(&format!("{mark} "));
    }
    line
}

/// `~ 35 call  serch_flights`.
fn heading((tone, mark): Mark, item: Option<&Heading>) -> Line {
    let Some(item) = item else {
        return Line::default();
    };
    let words = format!("{mark} {} {}  ", item.number, item.kind);
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
            write(frame, bar, vec![glyph], Style::new(), theme);
        }
    }
}

/// Most items of one side that are read in a stretch of differences.
const READ: usize = 100;

/// One of the two takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeSide {
    Left,
    Right,
}

/// An item, as it is compared.
#[derive(Debug, Clone)]
pub struct ItemText {
    pub kind: Kind,
    /// The tool; empty where there is none.
    pub tool: String,
    pub text: String,
    /// Its JSON with the arguments of a call as an object, where the dialect holds them as a text.
    pub open: Option<String>,
}

/// A part of the comparison.
#[derive(Debug, Clone)]
enum Stretch {
    /// Items that are the same in both.
    Same {
        count: usize,
        /// The first one's number on both sides, counted from 1.
        first: (usize, usize),
    },
    /// An item that differs, or that one side has alone.
    Pair(Pair),
    /// So many further items of each side that differ.
    Unread(usize, usize),
}

fn align([left, right]: [&[u64]; 2], read: &dyn Fn(TakeSide, usize) -> ItemText) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut differing: Option<(Range<usize>, Range<usize>)> = None;
    for operation in operations(left, right) {
        let (old, new) = (operation.old_range(), operation.new_range());
        if !matches!(operation, DiffOp::Equal { .. }) {
            let (first, second) =
                differing.get_or_insert((old.start..old.start, new.start..new.start));
            (first.end, second.end) = (old.end, new.end);
            continue;
        }
        if let Some((old, new)) = differing.take() {
            pair_up(old, new, read, &mut stretches);
        }
        stretches.push(Stretch::Same {
            count: old.len(),
            first: (old.start + 1, new.start + 1),
        });
    }
    if let Some((old, new)) = differing {
        pair_up(old, new, read, &mut stretches);
    }
    stretches
}

/// Puts the items of a stretch beside each other: those of one kind and tool, in order; what
/// is left is alone.
fn pair_up(
    old: Range<usize>,
    new: Range<usize>,
    read: &dyn Fn(TakeSide, usize) -> ItemText,
    stretches: &mut Vec<Stretch>,
) {
    let seen = |which, range: &Range<usize>| -> Vec<ItemText> {
        let range = range.clone().take(READ);
        range.map(|number| read(which, number)).collect()
    };
    let (lefts, rights) = (seen(TakeSide::Left, &old), seen(TakeSide::Right, &new));
    let kinds = |items: &[ItemText]| -> Vec<&'static str> {
        items.iter().map(|item| item.kind.word()).collect()
    };
    let heading = |start: usize, at: usize, item: &ItemText| Heading {
        number: start + at + 1,
        kind: item.kind.word(),
        tool: SafeText::single_line(&item.tool, 80),
    };
    let mut push = |left: Option<usize>, right: Option<usize>| {
        let [one, other] =
            [(&lefts, left), (&rights, right)].map(|(items, at)| at.and_then(|at| items.get(at)));
        // What one side alone holds as an object differs in just that.
        let is_open = one.into_iter().chain(other).all(|item| item.open.is_some());
        let text = |item: Option<&ItemText>| {
            item.map_or(String::new(), |item| match &item.open {
                Some(open) if is_open => open.clone(),
                _ => item.text.clone(),
            })
        };
        stretches.push(Stretch::Pair(Pair {
            left: left.map(|at| heading(old.start, at, &lefts[at])),
            right: right.map(|at| heading(new.start, at, &rights[at])),
            rows: compare_readable(&text(one), &text(other)),
        }));
    };
    for operation in operations_of(&kinds(&lefts), &kinds(&rights)) {
        let (old, new) = (operation.old_range(), operation.new_range());
        if let DiffOp::Equal { .. } = operation {
            old.zip(new)
                .for_each(|(left, right)| push(Some(left), Some(right)));
        } else {
            old.for_each(|left| push(Some(left), None));
            new.for_each(|right| push(None, Some(right)));
        }
    }
    let unread = (
        old.len().saturating_sub(READ),
        new.len().saturating_sub(READ),
    );
    if unread != (0, 0) {
        stretches.push(Stretch::Unread(unread.0, unread.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, emphasis, event, plain_screen, screen,
    };
    use ratatui::Frame;
    use ratatui::layout::Rect;
    use retake_core::session::Kind;

    fn item(kind: Kind, tool: &str, text: &str) -> ItemText {
        ItemText {
            kind,
            tool: tool.to_owned(),
            text: text.to_owned(),
            open: None,
        }
    }

    fn call(name: &str) -> ItemText {
        let text = format!(r#"{{"type":"function_call","name":"{name}","arguments":"{{}}"}}"#);
        item(Kind::Call, name, &text)
    }

    fn output(text: &str) -> ItemText {
        let text = serde_json::json!({"type": "function_call_output", "output": text}).to_string();
        item(Kind::Output, "", &text)
    }

    /// 40 items, of which a call is renamed, an output is added and the last message is another one.
    fn sides() -> [Vec<ItemText>; 2] {
        let message = |number: usize| {
            item(
                Kind::User,
                "",
                &format!(r#"{{"role":"user","content":"message {number}"}}"#),
            )
        };
        let mut left: Vec<_> = (0..40).map(message).collect();
        left[34] = call("serch_flights");
        let mut right = left.clone();
        right[34] = call("search_flights");
        right.insert(35, output("two flights \u{1b}found"));
        left.push(item(
            Kind::Assistant,
            "",
            r#"{"role":"assistant","content":"I could not find a flight."}"#,
        ));
        right.push(item(
            Kind::Assistant,
            "",
            r#"{"role":"assistant","content":"I could find a flight at 9."}"#,
        ));
        [left, right]
    }

    fn comparison(sides: &[Vec<ItemText>; 2]) -> Comparison {
        let digest = |item: &ItemText| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            item.text.hash(&mut hasher);
            hasher.finish()
        };
        let digests = sides
            .each_ref()
            .map(|side| side.iter().map(digest).collect::<Vec<_>>());
        let read = |which, number: usize| match which {
            TakeSide::Left => sides[0][number].clone(),
            TakeSide::Right => sides[1][number].clone(),
        };
        Comparison::new(["recorded", "take 2"], [&digests[0], &digests[1]], read)
    }

    #[test]
    fn two_takes_stand_beside_each_other_and_what_they_share_is_counted() {
        let mut comparison = comparison(&sides());
        let view = |comparison: &Comparison, size| {
            screen(size, |frame, area, theme| {
                comparison.draw(frame, area, theme)
            })
        };
        insta::assert_snapshot!("beside", view(&comparison, (110, 26)));
        let parts = emphasis((110, 26), |frame, area, theme| {
            comparison.draw(frame, area, theme);
        });
        assert!(
            parts.starts_with(&["serch".to_owned(), "search".to_owned()]),
            "{parts:?}"
        );
        view(&comparison, (110, 8));
        comparison.key(event("]"), &mut ());
        comparison.key(event("]"), &mut ());
        let second = view(&comparison, (110, 8));
        assert!(second.contains("+ 36 output"), "{second}");
        comparison.key(event("["), &mut ());
        assert!(view(&comparison, (110, 8)).contains("~ 35 call  serch_flights"));
        comparison.key(event("G"), &mut ());
        comparison.key(event("j"), &mut ());
        assert!(view(&comparison, (110, 8)).contains("at 9"));
        assert_eq!(comparison.key(event("esc"), &mut ()), Step::Leave);
    }

    #[test]
    fn below_a_hundred_columns_they_stand_one_below_the_other() {
        let comparison = comparison(&sides());
        let view =
            |frame: &mut Frame<'_>, area: Rect, theme: &_| comparison.draw(frame, area, theme);
        insta::assert_snapshot!("below", plain_screen((80, 30), view));
        assert_draws_at_any_size(view);
    }

    #[test]
    fn equal_takes_are_said_to_be_equal() {
        let [left, _] = sides();
        let equal = comparison(&[left.clone(), left]);
        let shown = screen((100, 8), |frame, area, theme| {
            equal.draw(frame, area, theme)
        });
        assert!(shown.contains("41 unchanged"), "{shown}");
    }

    #[test]
    fn takes_that_share_nothing_and_are_large_are_compared_as_far_as_anybody_reads() {
        let left: Vec<u64> = (0..200_000).collect();
        let right: Vec<u64> = (200_000..300_000).collect();
        let asked = Cell::new(0);
        let comparison = Comparison::new(["a", "b"], [&left, &right], |_, number| {
            asked.set(asked.get() + 1);
            item(Kind::User, "", &format!("message {number}"))
        });
        assert!(asked.get() < 2000, "{}", asked.get());
        let shown = screen((110, 40), |frame, area, theme| {
            comparison.draw(frame, area, theme)
        });
        assert!(shown.contains("0 unchanged"), "{shown}");
    }
}
