//! The contents of all recordings, searched for a text while it is typed: the places, and which of them to open.

use crate::tui::effect::FoundText;
use crate::tui::keymap::{self, Command, Context};
use crate::tui::layer::Step;
use crate::tui::list::ListCursor;
use crate::tui::popup::{self, split_bottom, split_top, write};
use crate::tui::prompt::{Prompt, Typing, search_prompt};
use crate::tui::theme::Theme;
use crate::words::counted;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_live::search::Needle;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Letters from which on a text is searched for.
const SHORTEST: usize = 2;
/// Cells of the title of a recording, at most a third of the row.
const TITLE: usize = 40;

/// What is searched for, and where.
pub(super) struct ContentJob {
    /// Tells the answers to this one from those to others.
    pub number: u64,
    /// The numbers of the recordings, with their paths.
    pub recordings: Vec<(usize, PathBuf)>,
    pub needle: Arc<Needle>,
    pub cancel: Arc<AtomicBool>,
}

pub(super) struct ContentSearch {
    recordings: Vec<(usize, PathBuf)>,
    prompt: Prompt,
    is_typing: bool,
    cursor: ListCursor,
    found: Vec<FoundText>,
    needle: Option<Arc<Needle>>,
    /// The number of the search, and what calls it off.
    number: u64,
    cancel: Arc<AtomicBool>,
    /// How many recordings are searched.
    done: usize,
}

impl Drop for ContentSearch {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

impl ContentSearch {
    pub(super) fn new(recordings: Vec<(usize, PathBuf)>) -> Self {
        let hint =
            "in the contents of the listed recordings; /expression/ too; enter: to the places";
        let mut prompt = search_prompt("contents: ", hint).without_help();
        prompt.open("");
        Self {
            recordings,
            prompt,
            is_typing: true,
            cursor: ListCursor::default(),
            found: Vec::new(),
            needle: None,
            number: 0,
            cancel: Arc::default(),
            done: 0,
        }
    }

    /// Calls the search off that is under way, and gives the next one.
    fn begin(&mut self) -> Option<ContentJob> {
        self.cancel.store(true, Ordering::Relaxed);
        self.cancel = Arc::default();
        self.number += 1;
        self.found.clear();
        self.cursor.set(0);
        self.done = 0;
        let text = self.prompt.text();
        let is_long = text.chars().nth(SHORTEST - 1).is_some();
        self.needle = is_long
            .then(|| Needle::parse(&text).ok().map(Arc::new))
            .flatten();
        Some(ContentJob {
            number: self.number,
            recordings: self.recordings.clone(),
            needle: self.needle.clone()?,
            cancel: self.cancel.clone(),
        })
    }

    /// Takes what was found meanwhile.
    pub(super) fn take(&mut self, number: u64, found: Vec<FoundText>, done: usize) {
        if number == self.number {
            self.found.extend(found);
            self.done = done;
        }
    }

    /// The place with the cursor, with what was searched for.
    fn chosen(&self) -> Option<(FoundText, Arc<Needle>)> {
        let found = self.found.get(self.cursor.get())?.clone();
        Some((found, self.needle.clone()?))
    }

    pub(super) fn mouse(&mut self, event: MouseEvent) {
        self.cursor.mouse(event, self.found.len());
    }

    pub(super) fn paste(&mut self, text: &str) -> Option<ContentJob> {
        let is_changed = self.is_typing && self.prompt.paste(text) == Typing::Changed;
        is_changed.then(|| self.begin()).flatten()
    }

    /// Gives the place to open, and the search to begin.
    pub(super) fn key(
        &mut self,
        key: KeyEvent,
    ) -> (Step<(FoundText, Arc<Needle>)>, Option<ContentJob>) {
        let moves = matches!(
            key.code,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown
        );
        if (moves || !self.is_typing) && self.cursor.key(key, self.found.len()) {
            return (Step::Stay, None);
        }
        if self.is_typing {
            match self.prompt.key(key) {
                Typing::Pending => {}
                Typing::Changed => return (Step::Stay, self.begin()),
                Typing::Submitted(_) => self.is_typing = false,
                Typing::Cancelled => return (Step::Leave, None),
            }
            return (Step::Stay, None);
        }
        let step = match keymap::command(Context::Picker, &key) {
            Some(Command::Open) => self.chosen().map_or(Step::Stay, Step::Done),
            Some(Command::Back | Command::Close) => Step::Leave,
            Some(Command::Filter | Command::Contents) => {
                self.is_typing = true;
                self.prompt.propose(&self.prompt.text());
                Step::Stay
            }
            Some(Command::Help | Command::Quit) => Step::Pass,
            _ => Step::Stay,
        };
        (step, None)
    }

    /// How far it is: `37 items in 4 recordings, 812 of 1,284 searched`.
    fn progress(&self) -> String {
        if self.needle.is_none() {
            return format!("{SHORTEST} letters or more");
        }
        let mut recordings: Vec<usize> = self.found.iter().map(|found| found.recording).collect();
        recordings.dedup();
        let more: usize = self.found.iter().map(|found| found.more).sum();
        let searched = match self.done >= self.recordings.len() {
            true => "all searched".to_owned(),
            false => format!("{} of {} searched", self.done, self.recordings.len()),
        };
        let items = counted(self.found.len() + more, "item");
        let recordings = counted(recordings.len(), "recording");
        format!("{items} in {recordings}, {searched}")
    }

    /// Draws the places below a line that says how far the search is; `title` names a recording by its number.
    pub(super) fn view(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        title: &dyn Fn(usize) -> String,
        theme: &Theme,
    ) {
        let [list, footer] = split_bottom(area, 1);
        let [head, list] = split_top(list, 1);
        let head_words = format!(" in contents: {}", self.progress());
        write(
            frame,
            head,
            vec![Span::styled(head_words, theme.dim)],
            Style::new(),
            theme,
        );
        let room = TITLE.min(usize::from(area.width) / 3);
        let count = self.found.len();
        self.cursor
            .draw(frame, list, count, theme.selected, theme, |number, row| {
                let Some(found) = self.found.get(number) else {
                    return Vec::new();
                };
                let is_first = number == 0 || self.found[number - 1].recording != found.recording;
                let name = match is_first {
                    true => {
                        let file = found.path.file_name().unwrap_or_default().to_string_lossy();
                        let words = format!("{file}  {}", title(found.recording));
                        SafeText::single_line(&words, room)
                    }
                    false => SafeText::default(),
                };
                let gap = room - name.width();
                let edge = match number == self.cursor.get() {
                    true => theme.glyphs.edge,
                    false => " ",
                };
                let mut spans = vec![Span::raw(edge)];
                spans.extend(theme.spans(&name, theme.title));
                let session = match found.is_of_several {
                    true => format!("session {:<3} ", found.place.session + 1),
                    false => String::new(),
                };
                let turn = format!("{:gap$}  {session}turn {:<5} ", "", found.turn + 1);
                let more = match found.more {
                    0 => String::new(),
                    more => format!("  {more} more"),
                };
                let used = 1 + name.width() + turn.len() + more.len();
                let width = usize::from(row.width).saturating_sub(used);
                spans.push(Span::styled(turn, theme.dim));
                let line = SafeText::single_line(&found.line, width);
                spans.extend(theme.spans(&line, theme.text));
                spans.push(Span::styled(more, theme.dim));
                spans
            });
        match self.is_typing {
            true => self.prompt.draw(frame, footer, theme),
            false => {
                let words = format!(" contents: {}  ", self.prompt.text());
                let words = SafeText::single_line(&words, usize::from(footer.width) / 2);
                let hints = vec![("enter", "open"), ("/", "change"), ("esc", "back to list")];
                let left = theme.spans(&words, theme.text);
                popup::footer(frame, footer, left, hints, theme);
            }
        }
    }
}
