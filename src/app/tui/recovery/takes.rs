//! The tree of takes: what each came from, with which words, and what became of the findings.

use crate::tui::effect::TakesCommand;
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{Popup, rows, rule, split_bottom, split_right, write};
use crate::tui::prompt::{Prompt, Typing};
use crate::tui::state::takes::TakeRow;
use crate::tui::theme::Theme;
use crate::words::counted;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_core::session::takes::FindingCounts;

/// What is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Note,
    Name,
}

#[derive(Debug, Clone)]
pub struct TakeTree {
    rows: Vec<TakeRow>,
    cursor: ListCursor,
    marked: Option<u32>,
    editing: Option<Asked>,
    prompt: Prompt,
    complaint: Option<&'static str>,
}

impl TakeTree {
    /// The tree of these takes, each before those that came from it; the cursor is on the current one.
    pub fn new(rows: Vec<TakeRow>) -> Self {
        let mut tree = Self {
            rows,
            cursor: ListCursor::default(),
            marked: None,
            editing: None,
            prompt: Prompt::new("note", ""),
            complaint: None,
        };
        let current = tree.rows.iter().position(|row| row.is_current);
        tree.cursor.set(current.unwrap_or(0));
        tree
    }

    /// Shows the takes as they are now; the cursor and the mark stay on their takes.
    pub fn set_rows(&mut self, rows: Vec<TakeRow>) {
        let at = self.selected().map(|row| row.id);
        self.rows = rows;
        let same = self.rows.iter().position(|row| Some(row.id) == at);
        let last = self.rows.len().saturating_sub(1);
        self.cursor.set(same.unwrap_or(self.cursor.get().min(last)));
        let marked = self.marked;
        self.marked = marked.filter(|id| self.rows.iter().any(|row| row.id == *id));
    }

    /// Says why nothing was done, until the next key.
    pub fn complain(&mut self, why: &'static str) {
        self.complaint = Some(why);
    }

    fn selected(&self) -> Option<&TakeRow> {
        self.rows.get(self.cursor.get())
    }

    /// The take under the cursor beside the marked one, else beside the current one, and the current one beside
    /// the take that it came from; the older one is left.
    fn compare(&mut self, id: u32) -> Step<TakesCommand> {
        if self.marked == Some(id) {
            self.complaint = Some("this is the marked take: move to the one to compare it with");
            return Step::Stay;
        }
        let current = self.rows.iter().find(|row| row.is_current);
        let parent = self.selected().and_then(|row| row.parent);
        let others = [self.marked, current.map(|row| row.id), parent];
        match others.into_iter().flatten().find(|other| *other != id) {
            Some(other) => Step::Done(TakesCommand::Compare(other.min(id), other.max(id))),
            None => {
                self.complaint =
                    Some("two takes are compared: move to the other one, or mark it with m");
                Step::Stay
            }
        }
    }

    fn ask(&mut self, editing: Asked) {
        let Some(row) = self.selected() else { return };
        let (title, text) = match editing {
            Asked::Note => ("note", row.note.clone()),
            Asked::Name => ("name", row.name.clone()),
        };
        self.prompt = Prompt::new(title, "enter keep  esc cancel");
        match editing {
            Asked::Note => self.prompt.open(&text),
            Asked::Name => self.prompt.propose(&text),
        }
        self.editing = Some(editing);
    }

    fn typed(&mut self, editing: Asked, typed: Typing) -> Step<TakesCommand> {
        let text = match typed {
            Typing::Pending | Typing::Changed => return Step::Stay,
            Typing::Submitted(text) => text,
            Typing::Cancelled => {
                self.editing = None;
                return Step::Stay;
            }
        };
        self.editing = None;
        match (editing, self.selected()) {
            (Asked::Note, Some(row)) => Step::Done(TakesCommand::NoteTake(row.id, text)),
            (Asked::Name, Some(row)) => Step::Done(TakesCommand::Rename(row.id, text)),
            (_, None) => Step::Stay,
        }
    }
}

impl<S> Layer<S> for TakeTree {
    type Output = TakesCommand;

    fn contexts(&self) -> &'static [Context] {
        match self.editing {
            Some(_) => &[Context::Line],
            None => &[Context::Takes],
        }
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<TakesCommand> {
        self.complaint = None;
        if let Some(editing) = self.editing {
            let typed = self.prompt.key(key);
            return self.typed(editing, typed);
        }
        let Some(id) = self.selected().map(|row| row.id) else {
            return match command(Context::Takes, &key) {
                Some(Command::Leave) => Step::Leave,
                Some(Command::Quit) => Step::Pass,
                _ => Step::Stay,
            };
        };
        match command(Context::Takes, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Quit) => return Step::Pass,
            Some(Command::Choose) => return Step::Done(TakesCommand::GoTo(id)),
            Some(Command::Compare) => return self.compare(id),
            Some(Command::Mark) => {
                self.marked = (self.marked != Some(id)).then_some(id);
            }
            Some(Command::Note) => self.ask(Asked::Note),
            Some(Command::Rename) if id == 0 => {
                self.complaint = Some("takes have names; the recording has that of its file");
            }
            Some(Command::Rename) => self.ask(Asked::Name),
            Some(Command::Delete) if id == 0 => {
                self.complaint = Some("takes are dropped; what they come from stays");
            }
            Some(Command::Delete) => return Step::Done(TakesCommand::Drop(id)),
            Some(Command::Undo) => return Step::Done(TakesCommand::Restore),
            _ => {
                self.cursor.key(key, self.rows.len());
            }
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<TakesCommand> {
        if self.editing.is_none() {
            self.cursor.mouse(event, self.rows.len());
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        if self.editing.is_some() {
            self.prompt.paste(text);
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.draw(frame, area, theme);
    }
}

/// What a take is called: its name, else its number.
pub fn name_of(row: &TakeRow) -> SafeText {
    let number = SafeText::from_str(&row.number());
    if row.name.is_empty() {
        return number;
    }
    let mut name = number;
    name.push(&SafeText::from_static(" "));
    name.push(&SafeText::single_line(&row.name, 40));
    name
}

/// Rows below the tree that tell of the take under the cursor.
const TOLD: u16 = 5;
/// Forks above a take that are drawn; of more, those nearest to it.
const RAILS: usize = 6;
/// Least columns, inside the frame, for the words of a take in its row, and for how its findings changed.
const WIDE: u16 = 80;

impl TakeTree {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = SafeText::from_static("takes");
        let popup = Popup {
            title: &title,
            context: match self.editing.is_some() {
                true => Context::Line,
                false => Context::Takes,
            },
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        let description = (TOLD + 1).min(inside.height / 2);
        let [list, below] = split_bottom(inside, description);
        let window = self.cursor.window(list, self.rows.len());
        for (row, number) in rows(list).zip(window) {
            self.row(frame, row, number, theme);
        }
        let mut below = rows(below);
        let Some(bar) = below.next() else { return };
        rule(frame, bar, Vec::new(), theme);
        if self.editing.is_some() {
            if let Some(row) = below.next() {
                self.prompt.draw(frame, row, theme);
            }
            return;
        }
        if let Some(complaint) = self.complaint {
            let words = SafeText::from_static(complaint);
            for (row, line) in below.zip(words.wrapped(usize::from(inside.width).max(1))) {
                write(
                    frame,
                    row,
                    theme.spans(&line, theme.warning),
                    Style::new(),
                    theme,
                );
            }
            return;
        }
        self.description(frame, below, theme);
    }

    /// What the takes come from, in words.
    fn first(&self) -> &'static str {
        match self.rows.iter().any(|row| row.is_first_request) {
            true => "the first request",
            false => "the recording",
        }
    }

    fn row(&self, frame: &mut Frame<'_>, area: Rect, number: usize, theme: &Theme) {
        let Some(take) = self.rows.get(number) else {
            return;
        };
        let parent = self.rows.iter().find(|row| Some(row.id) == take.parent);
        let forks = parent.is_some_and(|parent| parent.rails.len() < take.rails.len());
        let glyphs = &theme.glyphs;
        let has_cursor = number == self.cursor.get();
        let mark = if has_cursor { glyphs.cursor } else { " " };
        let mut spans = vec![Span::raw(format!("{mark} "))];
        let is_only = parent.is_some_and(|parent| parent.id != 0) && !forks;
        spans.push(Span::styled(
            stem(&take.rails, forks, is_only, theme),
            theme.dim,
        ));
        let name_style = if take.is_current {
            theme.title
        } else {
            theme.text
        };
        spans.extend(theme.spans(&SafeText::from_str(&take.number()), name_style));
        let right = self.right(take, area.width, theme);
        let needed = right.iter().map(Span::width).sum::<usize>();
        let needed = u16::try_from(needed).unwrap_or(area.width).min(area.width);
        let [left, _] = split_right(area, needed + 1);
        let room = |spans: &[Span<'_>], more: usize| {
            let used: usize = spans.iter().map(Span::width).sum();
            usize::from(left.width).saturating_sub(used + more)
        };
        for words in [&take.action, &take.name] {
            let words = SafeText::single_line(words, room(&spans, 2).min(40));
            if words.width() > 0 {
                spans.push(Span::raw("  "));
                spans.extend(theme.spans(&words, theme.text));
            }
        }
        if area.width >= WIDE && !take.wording.is_empty() {
            let most = usize::from(area.width) / 3;
            let words = SafeText::single_line(&take.wording, room(&spans, 4).min(most));
            spans.push(Span::raw("  \""));
            spans.extend(theme.spans(&words, theme.dim));
            spans.push(Span::raw("\""));
        }
        write(frame, left, spans, Style::new(), theme);
        let [_, end] = split_right(area, needed);
        write(frame, end, right, Style::new(), theme);
        if has_cursor {
            frame.buffer_mut().set_style(area, theme.selected);
        }
    }

    /// The end of a row: marks in words, and the findings before and after.
    fn right(&self, take: &TakeRow, width: u16, theme: &Theme) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let words = [
            (self.marked == Some(take.id), "marked  ", theme.marked),
            (!take.note.is_empty() && width >= 50, "note  ", theme.dim),
            (take.is_current, "current  ", theme.title),
        ];
        for (applies, word, style) in words {
            if applies {
                spans.push(Span::styled(word, style));
            }
        }
        spans.push(outcome(take, width >= WIDE, theme));
        spans
    }

    /// The take under the cursor in full.
    fn description(&self, frame: &mut Frame<'_>, area: impl Iterator<Item = Rect>, theme: &Theme) {
        let Some(take) = self.selected() else { return };
        let mut texts = vec![story(take, self.first())];
        if !take.note.is_empty() {
            texts.push(labelled("note", &take.note));
        }
        if !take.wording.is_empty() {
            texts.push(labelled("words", &take.wording));
        }
        let mut area = area.peekable();
        let Some(width) = area.peek().map(|row| usize::from(row.width).max(1)) else {
            return;
        };
        let lines = texts
            .iter()
            .flat_map(|text| text.wrapped(width).take(2).collect::<Vec<_>>());
        for (row, line) in area.zip(lines) {
            write(
                frame,
                row,
                theme.spans(&line, theme.text),
                Style::new(),
                theme,
            );
        }
    }
}

/// `│  ├─ `: the branches left of a take. One that is the only child of its parent is in the parent's
/// column, after an arrow.
fn stem(rails: &[bool], forks: bool, is_only: bool, theme: &Theme) -> String {
    let glyphs = &theme.glyphs;
    let hidden = rails.len().saturating_sub(RAILS);
    let mut stem = match hidden {
        0 => String::new(),
        _ => format!("+{hidden} "),
    };
    let seen = &rails[hidden..];
    let above = seen.len() - usize::from(forks && !seen.is_empty());
    for goes_on in &seen[..above] {
        let bar = if *goes_on { glyphs.vertical } else { " " };
        stem.push_str(&format!("{bar}  "));
    }
    if let Some(goes_on) = seen.get(above) {
        let joint = match goes_on {
            true => glyphs.branch,
            false => glyphs.border.bottom_left,
        };
        stem.push_str(&format!("{joint}{} ", glyphs.horizontal));
    }
    if is_only {
        stem.push_str(&format!("{} ", glyphs.down));
    }
    stem
}

/// The counts of each severity with their words, the worst first.
fn by_severity(counts: FindingCounts) -> [(usize, &'static str); 3] {
    [
        (counts.errors as usize, "error"),
        (counts.warnings as usize, "warning"),
        (counts.infos as usize, "info"),
    ]
}

/// `1 error, 2 info`. Where there are only milder findings, it says that there are no errors.
pub fn counts_words(counts: FindingCounts) -> String {
    if counts == FindingCounts::default() {
        return "no findings".to_owned();
    }
    let parts = by_severity(counts).into_iter();
    let parts = parts.filter(|(count, noun)| *count > 0 || *noun == "error");
    let parts = parts.map(|(count, noun)| counted(count, noun));
    parts.collect::<Vec<_>>().join(", ")
}

/// `0 errors, 1 info (1 error fewer)`: findings after, and how many more or fewer of the worst kind that changes;
/// narrow rows leave that to the colour.
fn outcome(take: &TakeRow, is_wide: bool, theme: &Theme) -> Span<'static> {
    match take.findings {
        None => Span::styled("not checked", theme.dim),
        Some((_, after)) if take.id == 0 => Span::styled(counts_words(after), theme.dim),
        Some((before, after)) => {
            let mut changes = by_severity(before).into_iter().zip(by_severity(after));
            let change = changes.find(|((before, _), (after, _))| before != after);
            let (change, style) = match change {
                None => ("as before".to_owned(), theme.dim),
                Some(((before, noun), (after, _))) if after < before => {
                    (format!("{} fewer", counted(before - after, noun)), theme.ok)
                }
                Some(((before, noun), (after, _))) => (
                    format!("{} more", counted(after - before, noun)),
                    theme.error,
                ),
            };
            let change = match is_wide {
                true => format!(" ({change})"),
                false => String::new(),
            };
            Span::styled(format!("{}{change}", counts_words(after)), style)
        }
    }
}

/// What brought a take about, in a sentence.
fn story(take: &TakeRow, first: &'static str) -> SafeText {
    if take.id == 0 && take.is_first_request {
        return SafeText::from_static("the first request of the run");
    }
    if take.id == 0 {
        return SafeText::from_static("the recording, unchanged");
    }
    let mut words = take.action.clone();
    if !take.rule.is_empty() {
        words.push_str(&format!(" for {}", take.rule));
    }
    if let Some(parent) = take.parent {
        let parent = match parent {
            0 => first.to_owned(),
            parent => format!("take {parent}"),
        };
        words.push_str(&format!("; from {parent}"));
    }
    if let Some(fork) = take.fork {
        words.push_str(&format!(" at item {fork}"));
    }
    if take.is_rebuilt {
        words.push_str("; only the form changes: times, tokens and costs of turns are not in it");
    }
    SafeText::single_line(&words, 400)
}

fn labelled(label: &'static str, text: &str) -> SafeText {
    let mut labelled = SafeText::from_static(label);
    labelled.push(&SafeText::from_static(": "));
    labelled.push(&SafeText::single_line(text, 400));
    labelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, events, plain_screen, screen,
    };

    fn counts(errors: u32) -> FindingCounts {
        FindingCounts {
            errors,
            infos: 2,
            ..FindingCounts::default()
        }
    }

    fn take(id: u32, parent: u32, rails: &[bool], action: &str) -> TakeRow {
        TakeRow {
            id,
            parent: Some(parent),
            rails: rails.to_vec(),
            action: action.to_owned(),
            rule: "unknown-tool".to_owned(),
            findings: Some((counts(3), counts(id % 3))),
            fork: Some(24),
            ..TakeRow::default()
        }
    }

    fn rows() -> Vec<TakeRow> {
        let note = "asks the user, which is too careful; the other take reads better";
        vec![
            TakeRow {
                findings: Some((counts(3), counts(3))),
                ..TakeRow::default()
            },
            TakeRow {
                wording: "No tool {{ tool }}. Use \u{1b}search_flights.".to_owned(),
                ..take(1, 0, &[true], "inject error")
            },
            TakeRow {
                name: "good one".to_owned(),
                ..take(3, 1, &[true, true], "supply output")
            },
            take(5, 3, &[true, true], "repair arguments"),
            TakeRow {
                is_current: true,
                findings: None,
                ..take(4, 1, &[true, false], "drop pair")
            },
            TakeRow {
                note: note.to_owned(),
                ..take(2, 0, &[false], "take the suggestion")
            },
        ]
    }

    fn tree() -> TakeTree {
        TakeTree::new(rows())
    }

    fn press(tree: &mut TakeTree, keys: &str) -> Step<TakesCommand> {
        let mut last = Step::Stay;
        for event in events(keys) {
            last = tree.key(event, &mut ());
        }
        last
    }

    fn shown(tree: &TakeTree, size: (u16, u16)) -> String {
        screen(size, |frame, area, theme| tree.draw(frame, area, theme))
    }

    #[test]
    fn takes_stand_below_those_that_they_came_from() {
        let mut tree = tree();
        insta::assert_snapshot!("takes", shown(&tree, (100, 16)));
        assert_eq!(press(&mut tree, "enter"), Step::Done(TakesCommand::GoTo(4)));
        press(&mut tree, "j");
        insta::assert_snapshot!("takes_narrow", shown(&tree, (60, 16)));
        assert_eq!(press(&mut tree, "enter"), Step::Done(TakesCommand::GoTo(2)));
        assert_eq!(
            press(&mut tree, "g enter"),
            Step::Done(TakesCommand::GoTo(0))
        );
        assert_eq!(press(&mut tree, "esc"), Step::Leave);
    }

    #[test]
    fn takes_are_compared_with_the_current_or_the_marked_one() {
        let mut tree = tree();
        assert_eq!(
            press(&mut tree, "d"),
            Step::Done(TakesCommand::Compare(1, 4)),
            "the current one with its parent"
        );
        assert_eq!(
            press(&mut tree, "j d"),
            Step::Done(TakesCommand::Compare(2, 4))
        );
        assert_eq!(press(&mut tree, "m d"), Step::Stay);
        assert!(shown(&tree, (100, 16)).contains("this is the marked take"));
        assert!(
            shown(&tree, (100, 16)).contains("marked"),
            "{}",
            shown(&tree, (100, 16))
        );
        assert_eq!(
            press(&mut tree, "g d"),
            Step::Done(TakesCommand::Compare(0, 2))
        );
        press(&mut tree, "G m");
        assert_eq!(
            press(&mut tree, "k d"),
            Step::Done(TakesCommand::Compare(1, 4))
        );
        let mut alone = TakeTree::new(vec![TakeRow {
            is_current: true,
            ..TakeRow::default()
        }]);
        assert_eq!(press(&mut alone, "d"), Step::Stay);
        assert!(shown(&alone, (100, 16)).contains("two takes are compared"));
    }

    #[test]
    fn notes_and_names_are_typed_below() {
        let mut tree = tree();
        press(&mut tree, "j n");
        let editing = shown(&tree, (100, 16));
        assert!(editing.contains("note asks the user"), "{editing}");
        assert!(!editing.contains("? help"), "{editing}");
        assert_eq!(
            press(&mut tree, "^u \"better\" enter"),
            Step::Done(TakesCommand::NoteTake(2, "better".to_owned()))
        );
        assert_eq!(press(&mut tree, "r \"q\" esc"), Step::Stay);
        assert_eq!(
            press(&mut tree, "r \"q\" enter"),
            Step::Done(TakesCommand::Rename(2, "q".to_owned()))
        );
        assert_eq!(press(&mut tree, "esc"), Step::Leave);
    }

    #[test]
    fn the_recording_takes_no_name() {
        let mut tree = tree();
        assert_eq!(press(&mut tree, "g r"), Step::Stay);
        let shown = shown(&tree, (100, 16));
        assert!(
            shown.contains("the recording has that of its file"),
            "{shown}"
        );
        assert!(tree.editing.is_none());
    }

    #[test]
    fn new_takes_leave_the_cursor_where_it_is() {
        let mut tree = tree();
        press(&mut tree, "j m");
        let mut rows = rows();
        rows.insert(1, take(7, 0, &[true], "retry turn"));
        rows.push(take(6, 2, &[false], "retry turn"));
        tree.set_rows(rows);
        assert_eq!(press(&mut tree, "enter"), Step::Done(TakesCommand::GoTo(2)));
        assert_eq!(tree.marked, Some(2));
        tree.set_rows(Vec::new());
        assert_eq!(press(&mut tree, "enter j d n"), Step::Stay);
    }

    #[test]
    fn a_take_behind_a_hundred_forks_is_still_seen() {
        let deep = TakeTree::new(vec![
            TakeRow::default(),
            take(1, 0, &[true; 100], "drop pair"),
        ]);
        assert!(
            shown(&deep, (60, 12)).contains("take 1  drop"),
            "{}",
            shown(&deep, (60, 12))
        );
    }

    #[test]
    fn it_is_drawn_without_colour_and_utf_8_and_at_any_size() {
        let mut tree = tree();
        let view = |frame: &mut ratatui::Frame<'_>, area, theme: &_| tree.draw(frame, area, theme);
        insta::assert_snapshot!("takes_plain", plain_screen((80, 14), view));
        assert_draws_at_any_size(view);
        press(&mut tree, "n");
        assert_draws_at_any_size(|frame, area, theme| tree.draw(frame, area, theme));
    }
}
