//! Which value of an item is to be edited: its arguments or texts, and the whole of it as JSON below them.

use crate::tui::keymap::{Command, Context, Direction, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{Popup, centred, split_bottom, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;

/// The widest that the list grows.
const WIDEST: u16 = 96;
/// Most cells of a name.
const NAME: usize = 32;
const WHOLE: &str = "  the whole item as JSON";

/// What is chosen of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueChoice {
    /// The value of this index.
    Value(usize),
    Whole,
    /// Without the value of this index.
    Without(usize),
    /// Accepts the changed values.
    Accept,
}

#[derive(Debug, Clone)]
pub struct ValueRow {
    pub name: SafeText,
    /// The beginning of the value, or that there is none.
    pub value: SafeText,
    pub is_given: bool,
    /// Whether it breaks the schema.
    pub is_faulty: bool,
    /// Whether it differs from the recording and nothing inside it does.
    pub is_changed: bool,
}

#[derive(Debug, Clone)]
pub struct ValuesMenu {
    title: SafeText,
    rows: Vec<ValueRow>,
    /// How many values of the recording are not there any more.
    removed: usize,
    cursor: ListCursor,
    /// Why the last key did nothing, or what became of a text.
    notice: Option<SafeText>,
}

impl ValuesMenu {
    /// The cursor is on this value, else on the first invalid one.
    pub fn new(title: &str, (rows, removed): (Vec<ValueRow>, usize), at: Option<usize>) -> Self {
        let mut menu = Self {
            title: SafeText::single_line(title, 200),
            rows,
            removed,
            cursor: ListCursor::default(),
            notice: None,
        };
        menu.cursor
            .set(at.or_else(|| menu.next_faulty(0)).unwrap_or(0));
        menu
    }

    /// The first invalid value from a row on, then from the top.
    fn next_faulty(&self, from: usize) -> Option<usize> {
        let mut rows = (from..self.rows.len()).chain(0..from.min(self.rows.len()));
        rows.find(|row| self.rows[*row].is_faulty)
    }

    /// Shows a sentence below the list until the next key.
    pub fn notify(&mut self, notice: &str) {
        self.notice = Some(SafeText::single_line(notice, 200));
    }

    /// How many values differ from the recording.
    pub fn changed(&self) -> usize {
        self.removed + self.rows.iter().filter(|row| row.is_changed).count()
    }

    /// The values, the whole item, and where some are changed that they are accepted.
    fn count(&self) -> usize {
        self.rows.len() + 1 + usize::from(self.changed() > 0)
    }

    fn row(&self, number: usize, width: usize, theme: &Theme) -> Vec<Span<'static>> {
        let Some(row) = self.rows.get(number) else {
            let words = match (number > self.rows.len(), self.changed()) {
                (false, _) => return vec![Span::styled(WHOLE, theme.dim)],
                (true, 1) => "  accept the changed value".to_owned(),
                (true, changed) => format!("  accept the {changed} changed values"),
            };
            return vec![Span::styled(words, theme.key)];
        };
        let widest = self.rows.iter().map(|row| row.name.width()).max();
        let widest = widest.unwrap_or(0).min(NAME.min(width / 2));
        let name = row.name.truncated(widest);
        let gap = widest - name.width() + 2;
        let mut spans = match (row.is_faulty, row.is_changed) {
            (true, _) => vec![theme.sign(Severity::Error), Span::raw(" ")],
            (false, true) => vec![Span::styled("* ", theme.key)],
            (false, false) => vec![Span::raw("  ")],
        };
        spans.extend(theme.spans(&name, theme.json_key));
        spans.push(Span::raw(" ".repeat(gap)));
        let value = row.value.truncated(width.saturating_sub(widest + 4));
        let style = if row.is_given { theme.text } else { theme.dim };
        spans.extend(theme.spans(&value, style));
        spans
    }
}

impl<S> Layer<S> for ValuesMenu {
    type Output = ValueChoice;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Values]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<ValueChoice> {
        self.notice = None;
        match command(Context::Values, &key) {
            Some(Command::Leave) => Step::Leave,
            Some(Command::Accept) if self.changed() > 0 => Step::Done(ValueChoice::Accept),
            Some(Command::Accept) => {
                self.notify("no value has been changed yet: enter edits one");
                Step::Stay
            }
            Some(Command::Value(_)) => {
                match self.next_faulty(self.cursor.get() + 1) {
                    Some(row) => self.cursor.set(row),
                    None => self.notify("no value is invalid"),
                }
                Step::Stay
            }
            Some(Command::Delete) => match self.rows.get(self.cursor.get()) {
                Some(row) if row.is_given => Step::Done(ValueChoice::Without(self.cursor.get())),
                _ => {
                    self.notify("only a value that is given can be removed");
                    Step::Stay
                }
            },
            Some(Command::Choose) => {
                let (chosen, values) = (self.cursor.get(), self.rows.len());
                Step::Done(match chosen {
                    _ if chosen < values => ValueChoice::Value(chosen),
                    _ if chosen == values => ValueChoice::Whole,
                    _ => ValueChoice::Accept,
                })
            }
            _ => {
                self.cursor.key(key, self.count());
                Step::Stay
            }
        }
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<ValueChoice> {
        self.cursor.mouse(event, self.count());
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let count = self.count();
        let notices = u16::from(self.notice.is_some());
        let high = u16::try_from(count + 2).unwrap_or(u16::MAX);
        let mut without = Vec::new();
        if !self.rows.iter().any(|row| row.is_faulty) {
            without.push(Command::Value(Direction::Forward));
        }
        if self.changed() == 0 {
            without.push(Command::Accept);
        }
        let popup = Popup {
            title: &self.title,
            context: Context::Values,
            without: &without,
        };
        let high = high.saturating_add(notices);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let [inside, below] = split_bottom(inside, notices);
        if let Some(notice) = &self.notice {
            let notice = notice.truncated(below.width.into());
            write(
                frame,
                below,
                theme.spans(&notice, theme.info),
                Style::new(),
                theme,
            );
        }
        self.cursor.draw(
            frame,
            inside,
            count,
            theme.selected,
            theme,
            |number, area| {
                let edge = match number == self.cursor.get() {
                    true => theme.glyphs.edge,
                    false => " ",
                };
                let mut spans = vec![Span::raw(edge)];
                let width = usize::from(area.width).saturating_sub(1);
                spans.extend(self.row(number, width, theme));
                spans
            },
        );
    }
}
