//! The wording editor: a template above, below it the text that the model reads, the library beside it.
//!
//! The preview is made by a function that is handed in, at every change of the text, so that the editor itself
//! knows neither templates nor providers. Where the template is faulty, the fault takes the place of the
//! preview and the last good one stays below it, dim.

use crate::tui::keymap::{Command, Context, KeyEntry, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{Popup, rows, rule, split_bottom, split_right, split_top, write};
use crate::tui::text::{Line, TextWindow, Tone};
use crate::tui::textbox::TextBox;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_core::wording::{VARIABLES, Variable};
use std::fmt;
use std::sync::Arc;

/// A wording of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordingEntry {
    pub name: String,
    /// What it does, in a few words.
    pub title: String,
    /// Its values on the axes along which wordings vary: `lists nearest, echoes nothing`.
    pub axes: String,
    /// How often it helped in the lab: `83 % of 12`; empty where it was not measured.
    pub rate: String,
    pub text: String,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFault {
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// What is wrong there.
    pub message: String,
}

/// The text that a template makes, or why it makes none.
pub type Preview = Result<String, TemplateFault>;

/// Makes the preview of a template; the flag says whether all faulty calls of the turn are answered, or the
/// one at hand only.
#[derive(Clone)]
pub struct Previewer(Arc<MakePreview>);

type MakePreview = dyn Fn(&str, bool) -> Preview + Send + Sync;

impl Previewer {
    /// A previewer that does what the function does. It must give the same for the same template.
    pub fn new(preview: impl Fn(&str, bool) -> Preview + Send + Sync + 'static) -> Self {
        Self(Arc::new(preview))
    }
}

impl fmt::Debug for Previewer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Previewer")
    }
}

/// What the editor begins with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What is answered: `inject error: serch_flights`.
    pub title: String,
    pub text: String,
    /// The library for this kind of failure.
    pub library: Vec<WordingEntry>,
    /// The names that a template may use.
    pub placeholders: Vec<String>,
    /// How many calls of the turn are faulty.
    pub faulty: usize,
    /// Whether all of them are answered.
    pub whole_turn: bool,
    /// What came of the last try of these words.
    pub last_try: Option<String>,
    pub previewer: Previewer,
}

/// What the model shall read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    pub template: String,
    /// Whether all faulty calls of the turn are answered.
    pub whole_turn: bool,
}

/// Which part has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    Text,
    Library,
}

#[derive(Debug, Clone)]
pub struct WordingEditor {
    title: SafeText,
    text: TextBox,
    library: Vec<WordingEntry>,
    placeholders: Vec<String>,
    terms: Vec<KeyEntry>,
    faulty: usize,
    whole_turn: bool,
    last_try: Option<SafeText>,
    previewer: Previewer,
    focus: Focus,
    cursor: ListCursor,
    /// The last good preview.
    good: Vec<Line>,
    /// What is wrong with the template now.
    fault: Option<TemplateFault>,
    /// Whether a faulty template was to be accepted.
    is_refused: bool,
    /// Why a sound template was not accepted.
    complaint: Option<&'static str>,
    page: TextWindow,
}

impl WordingEditor {
    pub fn new(setup: Setup) -> Self {
        let mut editor = Self {
            title: SafeText::single_line(&setup.title, 200),
            text: TextBox::multi(&setup.text),
            library: setup.library,
            placeholders: setup.placeholders,
            terms: VARIABLES.iter().map(term).collect(),
            faulty: setup.faulty,
            whole_turn: setup.whole_turn && setup.faulty > 1,
            last_try: setup.last_try.map(|text| SafeText::single_line(&text, 400)),
            previewer: setup.previewer,
            focus: Focus::Text,
            cursor: ListCursor::default(),
            good: Vec::new(),
            fault: None,
            is_refused: false,
            complaint: None,
            page: TextWindow::default(),
        };
        let same = |entry: &WordingEntry| entry.text == setup.text;
        editor
            .cursor
            .set(editor.library.iter().position(same).unwrap_or(0));
        editor.text.select_all();
        editor.refresh();
        editor
    }

    pub fn text(&self) -> String {
        self.text.text()
    }

    /// Where the keys go.
    pub fn context(&self) -> Context {
        match self.focus {
            Focus::Text => Context::Wording,
            Focus::Library => Context::Library,
        }
    }

    /// Accepts what is previewed: the text, or the wording under the cursor. What makes no
    /// item cannot be accepted.
    fn accept(&mut self) -> Step<Worded> {
        if self.focus == Focus::Library {
            self.take_entry();
        }
        if self.fault.is_some() {
            self.is_refused = true;
            self.page.go_to(0);
            return Step::Stay;
        }
        Step::Done(Worded {
            template: self.text(),
            whole_turn: self.whole_turn,
        })
    }

    fn type_or_move(&mut self, key: KeyEvent) {
        match self.focus {
            Focus::Text if self.text.key(key) => self.refresh(),
            Focus::Text => {}
            Focus::Library => {
                self.cursor.key(key, self.library.len());
                self.refresh();
            }
        }
    }

    /// Notes what came of the last try.
    pub fn tried(&mut self, result: &str) {
        self.last_try = Some(SafeText::single_line(result, 400));
    }

    /// Says why a sound template is not accepted, until it is another one.
    pub fn complain(&mut self, why: &'static str) {
        self.complaint = Some(why);
    }

    /// Takes the wording under the cursor into the text.
    fn take_entry(&mut self) {
        if let Some(entry) = self.library.get(self.cursor.get()) {
            self.text.replace(&entry.text);
            self.text.select_all();
        }
        self.set_focus(Focus::Text);
    }

    fn set_focus(&mut self, focus: Focus) {
        self.focus = focus;
        self.text.focus(focus == Focus::Text);
        self.refresh();
    }

    /// Makes the preview anew: of the text, or of the wording under the cursor.
    fn refresh(&mut self) {
        self.is_refused = false;
        self.complaint = None;
        let template = match self.focus {
            Focus::Text => self.text(),
            Focus::Library => match self.library.get(self.cursor.get()) {
                Some(entry) => entry.text.clone(),
                None => self.text(),
            },
        };
        match (self.previewer.0)(&template, self.whole_turn) {
            Ok(preview) => {
                let lines = preview_lines(&preview);
                // What ends so may be half a placeholder.
                if !template.ends_with('{') {
                    self.good = lines.clone();
                }
                self.fault = None;
                self.page.set_lines(lines);
            }
            Err(fault) => {
                let mut lines = vec![fault_line(&fault)];
                lines.extend(self.good.iter().map(dimmed));
                self.fault = Some(fault);
                self.page.set_lines(lines);
                self.page.go_to(0);
            }
        }
    }
}

/// Where not all names have room.
const MORE_NAMES: &str = "  F1 lists all";

/// A name that a template may use, for the help.
fn term(variable: &Variable) -> KeyEntry {
    KeyEntry {
        title: variable.what,
        key: variable.name,
        group: "{{ names }} in a template",
        aliases: &[],
        is_destructive: false,
    }
}

impl<S> Layer<S> for WordingEditor {
    type Output = Worded;

    fn terms(&self) -> &[KeyEntry] {
        &self.terms
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Wording, Context::Library]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Worded> {
        match command(self.context(), &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Editor) => return Step::Edit(self.text()),
            Some(Command::Accept) => return self.accept(),
            Some(Command::OtherPart) => self.set_focus(match self.focus {
                Focus::Text if !self.library.is_empty() => Focus::Library,
                Focus::Text | Focus::Library => Focus::Text,
            }),
            Some(Command::OtherAnswer) if self.faulty > 1 => {
                self.whole_turn = !self.whole_turn;
                self.refresh();
            }
            Some(Command::Choose) => self.take_entry(),
            Some(Command::Undo) if self.text.undo() => self.refresh(),
            Some(Command::Redo) if self.text.redo() => self.refresh(),
            Some(Command::Preview(direction)) => self.page.turn(direction),
            None | Some(Command::Type) => self.type_or_move(key),
            Some(_) => {}
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<Worded> {
        self.page.mouse(event);
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        self.set_focus(Focus::Text);
        self.text.paste(text);
        self.refresh();
    }

    fn edited(&mut self, text: &str, _: &mut S) {
        self.text.replace(text.strip_suffix('\n').unwrap_or(text));
        self.text.go_to_start();
        self.set_focus(Focus::Text);
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.draw(frame, area, theme);
    }
}

fn preview_lines(preview: &str) -> Vec<Line> {
    let lines = preview.split('\n').map(|line| {
        let text = line.trim_start();
        Line {
            indent: line.len() - text.len(),
            ..Line::new(Tone::Plain, SafeText::from_str(text))
        }
    });
    lines.collect()
}

fn fault_line(fault: &TemplateFault) -> Line {
    let message = fault.message.replace('\n', " ");
    let place = fault.line.map(|line| format!("line {line}: "));
    // Some faults name their line by themselves.
    let place = place.filter(|place| !message.starts_with(place.as_str()));
    let mut text = SafeText::from_str(&place.unwrap_or_default());
    text.push(&SafeText::from_str(&message));
    Line::new(Tone::Error, text)
}

fn dimmed(line: &Line) -> Line {
    let pieces = line.pieces.iter();
    Line {
        indent: line.indent,
        pieces: pieces.map(|(_, text)| (Tone::Dim, text.clone())).collect(),
        hangs: line.hangs,
        remark: None,
    }
}

/// Least columns, inside the frame, for a library beside the text.
const BESIDE: u16 = 72;
/// Least rows of the text.
const TEXT: u16 = 3;
/// Rows of the library that tell of the wording under the cursor.
const TOLD: u16 = 5;

impl WordingEditor {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let without: &[Command] = match (self.faulty > 1, self.library.is_empty()) {
            (true, false) => &[],
            (true, true) => &[Command::OtherPart],
            (false, false) => &[Command::OtherAnswer],
            (false, true) => &[Command::OtherAnswer, Command::OtherPart],
        };
        let popup = Popup {
            title: &self.title,
            context: self.context(),
            without,
        };
        let inside = popup.view(frame, area, theme);
        if inside.width < 4 || inside.height < 3 {
            return;
        }
        if self.library.is_empty() {
            self.editor(frame, inside, theme);
        } else if inside.width >= BESIDE {
            let wide = (inside.width / 3).clamp(24, 44);
            let [left, right] = split_right(inside, wide);
            let [left, _] = split_right(left, 3);
            self.editor(frame, left, theme);
            for row in rows(inside) {
                let bar = Rect {
                    x: left.right() + 1,
                    width: 1,
                    ..row
                };
                write(
                    frame,
                    bar,
                    vec![Span::styled(theme.glyphs.vertical, theme.border)],
                    Style::new(),
                    theme,
                );
            }
            self.library(frame, right, theme);
        } else {
            let [_, rest] = split_top(inside, 1);
            self.library_row(frame, inside, theme);
            self.editor(frame, rest, theme);
        }
    }

    /// The text, the preview and the notes on them, from top to bottom.
    fn editor(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut area = area;
        if self.faulty > 1 {
            let row = take_row(&mut area, true);
            write(frame, row, self.reach(theme), Style::new(), theme);
        }
        let row = take_row(&mut area, false);
        self.names(frame, row, theme);
        if let Some(tried) = &self.last_try {
            let row = take_row(&mut area, false);
            let mut spans = vec![Span::styled("last try: ", theme.title)];
            let room = usize::from(row.width).saturating_sub(10);
            spans.extend(theme.spans(&tried.truncated(room), theme.text));
            write(frame, row, spans, Style::new(), theme);
        }
        let most = (area.height / 2).max(TEXT);
        let high = self.text.rows(area.width, most).clamp(TEXT, most);
        let high = high.min(area.height);
        let [text, mut below] = split_top(area, high);
        self.text.view(frame, text, theme);
        if below.height > 1 {
            let row = take_row(&mut below, true);
            rule(frame, row, vec![self.preview_title(theme)], theme);
            self.page.view(frame, below, theme);
        }
    }

    fn preview_title(&self, theme: &Theme) -> Span<'static> {
        if let Some(why) = self.complaint {
            return Span::styled(why, theme.warning);
        }
        match (&self.fault, self.focus) {
            (Some(_), _) if self.is_refused => {
                Span::styled("not accepted: the template has an error", theme.error)
            }
            (Some(_), _) if self.good.is_empty() => Span::styled("faulty", theme.error),
            (Some(_), _) => Span::styled("template error; last valid preview:", theme.error),
            (None, Focus::Text) if self.text().trim().is_empty() => Span::styled(
                "no text above: the default wording is used; the model reads:",
                theme.warning,
            ),
            (None, Focus::Text) => Span::styled("the model reads:", theme.title),
            (None, Focus::Library) => Span::styled("the wording of the library", theme.title),
        }
    }

    /// `2 faulty calls in this turn: [this one] all`.
    fn reach(&self, theme: &Theme) -> Vec<Span<'static>> {
        let (one, all) = if self.whole_turn {
            (" this one ", "[all]")
        } else {
            ("[this one]", " all ")
        };
        let style = |is_chosen| if is_chosen { theme.title } else { theme.dim };
        vec![
            Span::raw(format!("{} faulty calls in this turn: ", self.faulty)),
            Span::styled(one, style(!self.whole_turn)),
            Span::styled(all, style(self.whole_turn)),
            Span::styled("  ^t", theme.key),
        ]
    }

    /// The names that a template may use.
    fn names(&self, frame: &mut Frame<'_>, row: Rect, theme: &Theme) {
        let mut spans = vec![Span::styled("{{ }} ", theme.title)];
        let room = usize::from(row.width).saturating_sub(6);
        let mut names = self.placeholders.join(" ");
        if SafeText::from_str(&names).width() > room {
            let room = room.saturating_sub(MORE_NAMES.len());
            // A name is listed in full or not at all.
            let fits = names.char_indices().take_while(|(at, _)| *at <= room);
            let cut = fits.filter(|(_, letter)| *letter == ' ').last();
            names.truncate(cut.map_or(0, |(at, _)| at));
            names.push_str(MORE_NAMES);
        }
        let names = SafeText::single_line(&names, usize::from(row.width));
        spans.extend(theme.spans(&names, theme.dim));
        write(frame, row, spans, Style::new(), theme);
    }

    /// The library as a column: the names, and below them what is known of the one under the cursor.
    fn library(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut area = area;
        let row = take_row(&mut area, true);
        let title = format!("library {}/{}", self.cursor.get() + 1, self.library.len());
        write(
            frame,
            row,
            vec![Span::styled(title, theme.title)],
            Style::new(),
            theme,
        );
        let shown_rows = TOLD.min(area.height / 2);
        let [list, below] = split_bottom(area, shown_rows);
        let draw = |number: usize, row: Rect| {
            let has_cursor = number == self.cursor.get();
            let mark = if has_cursor { theme.glyphs.cursor } else { " " };
            let mut spans = vec![Span::raw(format!("{mark} "))];
            let entry = &self.library[number];
            let room = usize::from(row.width).saturating_sub(2 + entry.rate.len() + 1);
            let name = SafeText::single_line(&entry.name, room);
            let space = room - name.width() + 1;
            spans.extend(theme.spans(&name, theme.text));
            spans.push(Span::raw(" ".repeat(space)));
            spans.push(Span::styled(entry.rate.clone(), theme.ok));
            spans
        };
        let selected = match self.focus {
            Focus::Library => theme.selected,
            Focus::Text => theme.selected_elsewhere,
        };
        self.cursor
            .draw(frame, list, self.library.len(), selected, theme, draw);
        if let Some(entry) = self.library.get(self.cursor.get()) {
            told_of(entry, frame, below, theme);
        }
    }

    /// The library as one row: `library 2/7  nearest: names the nearest tool`.
    fn library_row(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = format!("library {}/{}  ", self.cursor.get() + 1, self.library.len());
        let room = usize::from(area.width).saturating_sub(title.len());
        let mut spans = vec![Span::styled(title, theme.title)];
        if let Some(entry) = self.library.get(self.cursor.get()) {
            let rate = match &*entry.rate {
                "" => String::new(),
                rate => format!(" ({rate})"),
            };
            let words = format!("{}{rate}: {}", entry.name, entry.title);
            spans.extend(theme.spans(&SafeText::single_line(&words, room), theme.text));
        }
        let style = match self.focus {
            Focus::Library => theme.selected,
            Focus::Text => Style::new(),
        };
        write(frame, area, spans, style, theme);
    }
}

fn told_of(entry: &WordingEntry, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let width = usize::from(area.width).max(1);
    let title = SafeText::from_str(&entry.title);
    let axes = SafeText::from_str(&entry.axes);
    let lines = title.wrapped(width).map(|line| (line, theme.text));
    let lines = lines.chain(axes.wrapped(width).map(|line| (line, theme.dim)));
    for (row, (line, style)) in rows(area).skip(1).zip(lines) {
        write(frame, row, theme.spans(&line, style), Style::new(), theme);
    }
}

/// Takes the first or the last row of an area away.
fn take_row(area: &mut Rect, first: bool) -> Rect {
    let row;
    if first {
        [row, *area] = split_top(*area, 1);
    } else {
        [*area, row] = split_bottom(*area, 1);
    }
    row
}

#[cfg(test)]
mod tests;
