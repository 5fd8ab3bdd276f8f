//! The picker: which recording to open.
//!
//! It can be painted before anything is found; rows and their counts come in from behind:
//!
//! ```text
//! Walk::start(places, ...)      -> picker.discover(discovery), inspector.add(paths), inspector.order(picker.by_age())
//! Inspector::start(...)         -> picker.learn(number, summary)
//! after each draw               -> inspector.prefer(picker.visible())
//! ```
//!
//! Rows are numbered as they come, in the picker and in the inspector alike. Names are drawn escaped and
//! opened as they are.

mod view;

pub(super) use view::size;

use super::fuzzy::Fuzzy;
use super::help::Help;
use super::keymap::{KeyEntry, all_keys};
use super::layer::Step;
use super::list::ListCursor;
use super::prompt::{Prompt, Typing};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use retake_core::safe_text::SafeText;
use retake_live::discover::{Candidate, Discovery, Origin, Place};
use retake_live::inspect::Summary;
use std::cmp::Reverse;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug, Clone)]
pub struct Picker {
    places: Vec<Place>,
    now: SystemTime,
    rows: Vec<Row>,
    /// Numbers of the rows that are shown, in the order in which they are shown.
    shown: Vec<usize>,
    cursor: ListCursor,
    /// Whether the operator chose a row; until then the cursor stays on top.
    has_moved: bool,
    is_looking: bool,
    filter: Prompt,
    is_filtering: bool,
    notice: Option<SafeText>,
    help: Option<Box<Help>>,
}

const KEYS: &[KeyEntry] = &[
    key("j k down up", "down and up"),
    key("g G home end", "the first and the last"),
    key("^d ^u PgDn PgUp", "half a page, a page"),
    key("enter l right", "open the recording"),
    key(
        "/",
        "filter by name, format, folder and first words; letters with gaps",
    ),
    key("esc", "show all again"),
    key("? F1", "the keys"),
    key("q Q ^c", "quit"),
    key("^z", "suspend"),
];

const fn key(key: &'static str, title: &'static str) -> KeyEntry {
    KeyEntry {
        title,
        key,
        group: "Recordings",
        aliases: &[],
        is_destructive: false,
    }
}

#[derive(Debug, Clone)]
struct Row {
    candidate: Candidate,
    summary: Option<Result<Summary, String>>,
    /// What the filter looks at: the name, and what is inside.
    text: String,
    /// How many bytes of that are the name.
    name: usize,
}

impl Picker {
    /// A picker for these places; ages are counted up to `now`.
    pub fn new(places: Vec<Place>, now: SystemTime) -> Self {
        Self {
            places,
            now,
            rows: Vec::new(),
            shown: Vec::new(),
            cursor: ListCursor::default(),
            has_moved: false,
            is_looking: true,
            filter: Prompt::new("/", "enter opens  esc shows all"),
            is_filtering: false,
            notice: None,
            help: None,
        }
    }

    /// Takes what looking found.
    pub fn discover(&mut self, discovery: Discovery) {
        match discovery {
            Discovery::Found(batch) => {
                for candidate in batch {
                    let text = self.name(&candidate).to_string_lossy().into_owned();
                    self.rows.push(Row {
                        candidate,
                        summary: None,
                        name: text.len(),
                        text,
                    });
                }
                self.arrange();
            }
            Discovery::Refused(path, reason) => {
                let mut notice = SafeText::from_static("cannot read ");
                notice.push(&SafeText::single_line_bytes(
                    path.as_os_str().as_bytes(),
                    200,
                ));
                notice.push(&SafeText::from_static(": "));
                notice.push(&SafeText::single_line(&reason, 200));
                self.notice = Some(notice);
            }
            Discovery::Finished => self.is_looking = false,
        }
    }

    /// Says that a file cannot be opened.
    pub fn complain(&mut self, path: &Path, reason: &str) {
        let mut notice = SafeText::single_line_bytes(path.as_os_str().as_bytes(), 200);
        notice.push(&SafeText::from_static(": "));
        notice.push(&SafeText::single_line(reason, 200));
        self.notice = Some(notice);
    }

    /// Takes what a file holds.
    pub fn learn(&mut self, number: usize, summary: Result<Summary, String>) {
        let Some(row) = self.rows.get_mut(number) else {
            return;
        };
        if let Ok(summary) = &summary {
            row.text.push(' ');
            row.text.push_str(summary.format);
            for more in summary.folder.iter().chain([&summary.words]) {
                row.text.push(' ');
                row.text.push_str(more);
            }
        }
        row.summary = Some(summary);
    }

    /// The numbers of the rows on the screen: they are to be inspected first.
    pub fn visible(&self) -> Vec<usize> {
        let visible = self.cursor.visible();
        let rows = self.shown.iter().skip(visible.start).take(visible.len());
        let unknown = rows.filter(|number| self.rows[**number].summary.is_none());
        unknown.copied().collect()
    }

    /// The numbers of the rows that are not inspected, those that the operator named first, then the newest.
    pub fn by_age(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rows.len())
            .filter(|number| self.rows[*number].summary.is_none())
            .collect();
        numbers.sort_by_key(|number| self.rank(*number));
        numbers
    }

    /// The file under the cursor.
    pub fn selected(&self) -> Option<&Path> {
        let number = self.shown.get(self.cursor.get())?;
        Some(&self.rows[*number].candidate.path)
    }

    pub fn key(&mut self, key: KeyEvent) -> Step<PathBuf> {
        self.notice = None;
        if let Some(help) = &mut self.help {
            if help.key(key) {
                self.help = None;
            }
            return Step::Stay;
        }
        if self.is_filtering && key.code != KeyCode::F(1) {
            return self.filter_key(key);
        }
        if self.cursor.key(key, self.shown.len()) {
            self.has_moved = true;
            return Step::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => self.open(),
            KeyCode::Char('/') => {
                self.is_filtering = true;
                self.filter.open(&self.filter.text());
                Step::Stay
            }
            KeyCode::Char('c') if control => Step::Leave,
            KeyCode::Char('?') | KeyCode::F(1) => {
                self.help = Some(Box::new(Help::new(KEYS, &all_keys(), &[])));
                Step::Stay
            }
            KeyCode::Esc if !self.filter.text().is_empty() => {
                self.filter.open("");
                self.arrange();
                Step::Stay
            }
            KeyCode::Char('q' | 'Q') => Step::Leave,
            KeyCode::Esc => {
                self.notice = Some(SafeText::from_static("q quits"));
                Step::Stay
            }
            _ => Step::Stay,
        }
    }

    fn filter_key(&mut self, key: KeyEvent) -> Step<PathBuf> {
        if matches!(
            key.code,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown
        ) {
            self.cursor.key(key, self.shown.len());
            return Step::Stay;
        }
        match self.filter.key(key) {
            Typing::Pending => {}
            Typing::Changed => self.refilter(),
            Typing::Submitted(_) => {
                self.is_filtering = false;
                return self.open();
            }
            Typing::Cancelled => {
                self.is_filtering = false;
                self.filter.open("");
                self.arrange();
            }
        }
        Step::Stay
    }

    pub fn paste(&mut self, text: &str) {
        if self.is_filtering && self.filter.paste(text) == Typing::Changed {
            self.refilter();
        }
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    pub fn mouse(&mut self, event: MouseEvent) -> Step<PathBuf> {
        let before = self.cursor.get();
        if !self.cursor.mouse(event, self.shown.len()) {
            return Step::Stay;
        }
        let is_click = matches!(event.kind, MouseEventKind::Down(_));
        let is_second = is_click && self.has_moved && self.cursor.get() == before;
        self.has_moved = true;
        if is_second { self.open() } else { Step::Stay }
    }

    fn open(&self) -> Step<PathBuf> {
        self.selected()
            .map_or(Step::Stay, |path| Step::Done(path.to_owned()))
    }

    /// What a file is called here: its path below the place where it was found.
    fn name<'a>(&'a self, candidate: &'a Candidate) -> &'a std::ffi::OsStr {
        let place = self.places.get(candidate.place);
        let inside = place.and_then(|place| candidate.path.strip_prefix(&place.path).ok());
        let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
        inside.unwrap_or(&candidate.path).as_os_str()
    }

    /// Where a row stands: files that were named in the order in which they were named, then the newest first;
    /// files of the same second, as a checkout makes them, by name.
    fn rank(&self, number: usize) -> (bool, Reverse<Option<u64>>, &Path, usize) {
        let candidate = &self.rows[number].candidate;
        let place = self.places.get(candidate.place);
        let is_named_file = candidate.origin == Origin::Named
            && place.is_some_and(|place| place.path == candidate.path);
        if is_named_file {
            return (false, Reverse(None), Path::new(""), number);
        }
        let since = candidate
            .modified
            .and_then(|modified| modified.duration_since(SystemTime::UNIX_EPOCH).ok());
        let seconds = since.map(|since| since.as_secs());
        (true, Reverse(seconds), &candidate.path, number)
    }

    /// Shows what matches the filter best first; the cursor goes there.
    fn refilter(&mut self) {
        self.has_moved = false;
        self.arrange();
    }

    /// Sorts and filters the rows. The cursor stays on its row if the operator chose it.
    fn arrange(&mut self) {
        let chosen = self.shown.get(self.cursor.get()).copied();
        let mut fuzzy = Fuzzy::new(&self.filter.text());
        let mut numbers: Vec<(Reverse<u32>, usize)> = if fuzzy.is_empty() {
            (0..self.rows.len())
                .map(|number| (Reverse(0), number))
                .collect()
        } else {
            let scores = self.rows.iter().enumerate();
            scores
                .filter_map(|(number, row)| {
                    let score = fuzzy.score(&row.text)?;
                    // A name counts for more than the same letters inside.
                    let named = fuzzy.score(&row.text[..row.name]).unwrap_or(0);
                    Some((Reverse(score.max(named + named / 4)), number))
                })
                .collect()
        };
        numbers.sort_by_cached_key(|(score, number)| (*score, self.rank(*number)));
        self.shown = numbers.into_iter().map(|(_, number)| number).collect();
        let kept = chosen.filter(|_| self.has_moved);
        let row = kept.and_then(|kept| self.shown.iter().position(|number| *number == kept));
        self.cursor.set(row.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests;
