//! The picker: which recording to open.
//!
//! It is painted before anything is found; rows, and what their files hold, come in from other threads:
//!
//! ```text
//! Walk::start(places, ...)      -> picker.discover(discovery), inspector.add(paths), inspector.order(picker.by_age())
//! Inspector::start(...)         -> picker.learn(number, summary)
//! after each draw               -> inspector.prefer(picker.visible())
//! ```
//!
//! Rows are numbered as they come, in the picker and in the inspector alike. Names are drawn escaped and
//! opened as they are.

mod contents;
pub mod rows;

use super::columns::titles;
use super::effect::{Effect, FoundText, Perform};
use super::filter::{self, FilterError, Terms};
use super::help::Help;
use super::keymap::hints::Hint;
use super::keymap::{self, Command, Context, all_keys};
use super::layer::{Areas, Input, Layer, Step};
use super::list::ListCursor;
use super::loader;
use super::palette::{Choice, CommandPalette};
use super::popup::{self, rule, split_bottom, split_top, write};
use super::prompt::{Prompt, Typing};
use super::report::News;
use super::request::OpenRequest;
use super::stack::{Layers, Screen};
use super::theme::Theme;
use crate::words::shortened;
use contents::{ContentJob, ContentSearch};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_live::Recording;
use retake_live::discover::{Discovery, Origin, Place, Walk, usual_places};
use retake_live::inspect::{Inspector, Summary};
use rows::{
    COLUMN_NAMES, Grouping, ListLine, PickerRow, Sort, UNREAD, arranged, cells, fit, next, word,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const NO_MATCH: &str = "no matches: words are searched in file names, folders, agents, models, rules and the first and \
    last messages; esc clears the filter, F searches the whole contents; rule: tool: model: since: narrow the list";
/// Least rows of the screen for the heads of the columns, and for a preview.
const TITLED: u16 = 8;
const PREVIEWED: u16 = 18;
/// Cells of who said something, in the preview.
const WHO: usize = 11;
/// How often files are looked for again.
const RENEWED: Duration = Duration::from_secs(5);
/// Looking again takes this part of the time at most.
const RENEWING: u32 = 20;
/// How long the rows stay as they are while their files are being read.
const SETTLED: Duration = Duration::from_millis(200);

pub struct Picker {
    places: Vec<Place>,
    now: SystemTime,
    /// The home folder, which is written `~`.
    home: Option<String>,
    rows: Vec<PickerRow>,
    /// The numbers of the rows by their files.
    numbers: HashMap<PathBuf, usize>,
    /// Looking again, where that is under way.
    renewal: Option<Renewal>,
    /// Until when nothing is looked for that the operator does not ask for.
    rests: Option<Instant>,
    /// Ends the thread that asks for looking again.
    is_open: Arc<()>,
    lines: Vec<ListLine>,
    columns: Vec<rows::Id>,
    sort: Sort,
    is_reversed: bool,
    grouping: Grouping,
    has_preview: bool,
    cursor: ListCursor,
    /// Whether the operator chose a row; until then the cursor stays on top.
    has_moved: bool,
    is_looking: bool,
    /// Since when something was learned that the lines do not show yet.
    learned: Option<Instant>,
    terms: Terms,
    /// Why what was typed is not a filter: then nothing is listed.
    fault: Option<SafeText>,
    /// Whether files that cannot be read are listed, too.
    shows_unread: bool,
    /// How many of them the filter lets through.
    unread: usize,
    filter: Prompt,
    is_filtering: bool,
    notice: Option<SafeText>,
    layers: Layers<Self>,
    effects: Vec<Effect>,
    work: Option<Work>,
    contents: Option<Box<ContentSearch>>,
    /// Begins a search in the contents, in a thread of its own.
    search: Option<Box<dyn Fn(ContentJob) + Send>>,
}

/// What looks for files and reads them.
struct Work {
    walk: Walk,
    /// Begins to look, in a thread of its own.
    look: Box<dyn Fn(Vec<Place>) -> Walk + Send>,
    inspector: Inspector,
}

/// Looking for files again.
struct Renewal {
    since: Instant,
    /// Whether the operator asked for it.
    is_asked: bool,
    /// The rows that are there.
    seen: HashSet<usize>,
    new: usize,
    changed: usize,
}

impl Screen for Picker {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn context(&self) -> Context {
        Context::Picker
    }

    /// Nothing that lies over the list is edited outside.
    fn edit(&mut self, _: String) {}
}

impl Picker {
    /// A choice among the files and folders that are asked for; without any, among those where agents keep theirs.
    pub fn among(request: &OpenRequest) -> Self {
        let paths = &request.paths;
        let named = |path: &PathBuf| Place {
            path: path.clone(),
            origin: Origin::Named,
        };
        let places = match paths.is_empty() {
            true => usual_places(&|name| std::env::var_os(name)),
            false => paths.iter().map(named).collect(),
        };
        let mut picker = Self::new(places, SystemTime::now());
        let settings = &request.picker;
        picker.columns.clone_from(&settings.columns);
        picker.sort = settings.sort;
        picker.grouping = settings.grouping;
        picker.has_preview = settings.has_preview;
        picker.home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
        picker
    }

    /// A picker for these places; ages are counted up to `now`.
    fn new(places: Vec<Place>, now: SystemTime) -> Self {
        Self {
            places,
            now,
            home: None,
            rows: Vec::new(),
            numbers: HashMap::new(),
            renewal: None,
            rests: None,
            is_open: Arc::default(),
            lines: Vec::new(),
            columns: COLUMN_NAMES.map(|(id, _)| id).to_vec(),
            sort: Sort::default(),
            is_reversed: false,
            grouping: Grouping::default(),
            has_preview: true,
            cursor: ListCursor::default(),
            has_moved: false,
            is_looking: true,
            learned: None,
            terms: Terms::default(),
            fault: None,
            shows_unread: false,
            unread: 0,
            filter: Prompt::new(
                "/",
                "rule: tool: model: agent: since:7d tokens:>10k error !not ~fuzzy",
            )
            .with_terms(filter::key_entries::<PickerRow>()),
            is_filtering: false,
            notice: None,
            layers: Layers::default(),
            effects: Vec::new(),
            work: None,
            contents: None,
            search: None,
        }
    }

    /// Starts to look; to be called once the picker is painted. Files are judged as they will be when they are
    /// opened. `tell` is called in other threads.
    pub(super) fn start(
        &mut self,
        request: &OpenRequest,
        tell: impl Fn(News) + Clone + Send + Sync + 'static,
    ) {
        let found = tell.clone();
        let look: Box<dyn Fn(Vec<Place>) -> Walk + Send> = Box::new(move |places| {
            let found = found.clone();
            Walk::start(places, move |discovery| found(News::Found(discovery)))
        });
        let walk = look(self.places.clone());
        let (is_open, renew) = (Arc::downgrade(&self.is_open), tell.clone());
        std::thread::spawn(move || {
            std::thread::sleep(RENEWED);
            while is_open.upgrade().is_some() {
                renew(News::Renew);
                std::thread::sleep(RENEWED);
            }
        });
        let (options, send) = (request.options.clone(), tell.clone());
        self.search = Some(Box::new(move |job: ContentJob| {
            let (options, send) = (options.clone(), send.clone());
            std::thread::spawn(move || {
                let ContentJob {
                    number,
                    recordings,
                    needle,
                    cancel,
                } = job;
                loader::contents::search(
                    &recordings,
                    &needle,
                    &options,
                    &cancel,
                    &|found, done| {
                        send(News::FoundText(number, found, done));
                    },
                );
            });
        }));
        let knowledge = request.knowledge.clone();
        let judge = move |path: &Path, recording: &mut Recording| knowledge.judge(path, recording);
        let inspector = Inspector::start(
            request.options.clone(),
            request.knowledge.prices.clone(),
            Box::new(judge),
            move |number, summary| tell(News::Inspected(number, summary)),
        );
        self.work = Some(Work {
            walk,
            look,
            inspector,
        });
    }

    /// Tells the operator something, until the next key.
    pub fn tell(&mut self, words: &str) {
        self.notice = Some(SafeText::from_str(words));
    }

    /// Counts the ages up to now and looks for new and changed files, in the background.
    pub fn renew(&mut self, now: SystemTime) {
        let rests = self.rests.is_some_and(|until| Instant::now() < until);
        if self.is_looking || self.renewal.is_some() || rests {
            return;
        }
        self.begin_renewal(now, false);
    }

    fn begin_renewal(&mut self, now: SystemTime, is_asked: bool) {
        self.now = now;
        for row in &mut self.rows {
            row.now = now;
        }
        self.renewal = Some(Renewal {
            since: Instant::now(),
            is_asked,
            seen: HashSet::new(),
            new: 0,
            changed: 0,
        });
        // The list as it is now is what the operator looks at.
        self.has_moved |= !self.lines.is_empty();
        self.arrange();
        if let Some(work) = &mut self.work {
            work.walk = (work.look)(self.places.clone());
        }
    }

    /// What looking again found is all there is.
    fn end_renewal(&mut self) {
        let Some(renewal) = self.renewal.take() else {
            return;
        };
        let mut gone = 0;
        for (number, row) in self.rows.iter_mut().enumerate() {
            let is_gone = !renewal.seen.contains(&number);
            gone += usize::from(is_gone && !row.is_gone);
            row.is_gone = is_gone;
        }
        self.rests = Some(Instant::now() + renewal.since.elapsed() * RENEWING);
        if renewal.is_asked {
            let counts = [
                (renewal.new, "new"),
                (renewal.changed, "changed"),
                (gone, "gone"),
            ];
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let counts = counts.map(|(count, word)| format!("{} {word}", thousands(*count)));
            let words = match counts.collect::<Vec<_>>().join(", ") {
                nothing if nothing.is_empty() => "no new or changed files".to_owned(),
                counts => counts,
            };
            self.notice = Some(SafeText::from_str(&words));
        }
    }

    /// Takes what looking found.
    pub fn discover(&mut self, discovery: Discovery) {
        match discovery {
            Discovery::Found(batch) => {
                let (mut new, mut changed) = (Vec::new(), Vec::new());
                for file in batch {
                    let next = self.rows.len();
                    let number = *self.numbers.entry(file.path.clone()).or_insert(next);
                    match self.rows.get_mut(number) {
                        Some(row) => changed.extend(row.renew(file).then_some(number)),
                        None => {
                            new.push(file.path.clone());
                            let row = PickerRow::new(file, &self.places, self.now);
                            self.rows.push(row);
                        }
                    }
                    if let Some(renewal) = &mut self.renewal {
                        renewal.seen.insert(number);
                    }
                }
                if let Some(renewal) = &mut self.renewal {
                    renewal.new += new.len();
                    renewal.changed += changed.len();
                }
                let has_news = !new.is_empty() || !changed.is_empty();
                if let Some(work) = &self.work {
                    work.inspector.add(new);
                    work.inspector.again(changed);
                }
                match self.lines.is_empty() {
                    true => self.arrange(),
                    false if !has_news => {}
                    // The others are put in their places together.
                    false => drop(self.learned.get_or_insert_with(Instant::now)),
                }
            }
            // It was said when they were looked for first.
            Discovery::Refused(..) if self.renewal.is_some() => {}
            Discovery::Refused(path, reason) => {
                let mut notice = SafeText::from_static("cannot read ");
                notice.push(&complaint(&path, &reason));
                self.notice = Some(notice);
            }
            Discovery::Finished => {
                self.is_looking = false;
                self.end_renewal();
                self.arrange();
            }
        }
    }

    /// Says that a file cannot be opened.
    pub fn complain(&mut self, path: &Path, reason: &str) {
        self.notice = Some(complaint(path, reason));
    }

    /// Takes what was found in the contents.
    pub fn take_contents(&mut self, number: u64, found: Vec<FoundText>, done: usize) {
        if let Some(contents) = &mut self.contents {
            contents.take(number, found, done);
        }
    }

    /// Gives a key to the search in the contents; false where it is not for it.
    fn contents_key(&mut self, key: KeyEvent) -> bool {
        let Some(contents) = &mut self.contents else {
            return false;
        };
        let (step, job) = contents.key(key);
        if let (Some(job), Some(search)) = (job, &self.search) {
            search(job);
        }
        match step {
            Step::Done((found, needle)) => {
                self.effects.push(Effect::OpenAt(Box::new(found), needle))
            }
            Step::Leave => self.contents = None,
            Step::Pass => return false,
            Step::Stay | Step::Edit(_) => {}
        }
        true
    }

    /// Begins to search the contents of the recordings in the list.
    fn search_contents(&mut self) {
        let shown = self.lines.iter().filter_map(number_of);
        let recordings = shown.map(|number| (number, self.rows[number].candidate.path.clone()));
        self.contents = Some(Box::new(ContentSearch::new(recordings.collect())));
    }

    /// Takes what a file holds.
    pub fn learn(&mut self, number: usize, summary: Result<Summary, String>) {
        if let Some(row) = self.rows.get_mut(number) {
            row.learn(summary);
            self.learned.get_or_insert_with(Instant::now);
        }
    }

    /// The numbers of the rows on the screen about which something can be learned: they are inspected first.
    fn visible(&self) -> Vec<usize> {
        let visible = self.cursor.visible();
        let lines = self.lines.iter().skip(visible.start).take(visible.len());
        let numbers = lines.filter_map(number_of);
        numbers
            .filter(|number| !self.rows[*number].is_done())
            .collect()
    }

    /// The numbers of the rows that are not inspected, in the order of the list, then those that it hides.
    fn by_age(&self) -> Vec<usize> {
        let mut order = vec![usize::MAX; self.rows.len()];
        let shown = self.lines.iter().filter_map(number_of);
        shown
            .enumerate()
            .for_each(|(place, number)| order[number] = place);
        let unknown = (0..self.rows.len()).filter(|number| !self.rows[*number].is_done());
        let mut numbers: Vec<usize> = unknown.collect();
        numbers.sort_by_key(|number| order[*number]);
        numbers
    }

    /// The row under the cursor.
    fn chosen(&self) -> Option<&PickerRow> {
        let number = self.lines.get(self.cursor.get()).and_then(number_of)?;
        self.rows.get(number)
    }

    /// The file under the cursor.
    pub fn selected(&self) -> Option<&Path> {
        Some(&self.chosen()?.candidate.path)
    }

    fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind != KeyEventKind::Release {
            self.notice = None;
            self.take_key(key);
        }
        std::mem::take(&mut self.effects)
    }

    fn take_key(&mut self, key: KeyEvent) {
        if self.give_to_layers(Input::Key(key)) {
            return;
        }
        if self.is_filtering && self.filter.asks_for_help(&key) {
            let keys = keymap::keys_of(&[Context::Line], |_| true);
            let here = [self.filter.terms(), &keys].concat();
            return self.open(Help::new(&here, &all_keys(), &[]), |_, _, ()| ());
        }
        if key.code != KeyCode::F(1) {
            if self.contents_key(key) {
                return;
            }
            if self.is_filtering {
                return self.filter_key(key);
            }
        }
        match keymap::command(Context::Picker, &key) {
            Some(command) => self.obey(command, key),
            None => {
                let elsewhere = keymap::binding(Context::Browse, &key);
                self.notice = elsewhere.map(|row| {
                    let words = format!("{} works in an open recording: {}", key.code, row.help);
                    SafeText::from_str(&words)
                });
            }
        }
    }

    fn obey(&mut self, command: Command, key: KeyEvent) {
        match command {
            Command::Open => self.open_here(),
            Command::Filter => {
                self.is_filtering = true;
                self.filter.open(&self.filter.text());
            }
            Command::Sort => {
                self.sort = next(&Sort::ALL, self.sort);
                self.has_moved = false;
                self.arrange();
            }
            Command::Reverse => {
                self.is_reversed = !self.is_reversed;
                self.has_moved = false;
                self.arrange();
            }
            Command::Contents => self.search_contents(),
            Command::Renew => {
                match &mut self.renewal {
                    Some(renewal) => renewal.is_asked = true,
                    None if self.is_looking => {}
                    None => self.begin_renewal(SystemTime::now(), true),
                }
                self.notice = Some(SafeText::from_static("looking for new and changed files"));
            }
            Command::Group => {
                self.grouping = next(&Grouping::ALL, self.grouping);
                self.arrange();
            }
            Command::Unread => {
                self.shows_unread = !self.shows_unread;
                self.arrange();
            }
            Command::Toggle => self.has_preview = !self.has_preview,
            Command::Palette => self.open_palette(),
            Command::Help => self.open_help(),
            Command::Back if !self.filter.text().is_empty() => self.show_all(),
            Command::Back => self.notice = Some(SafeText::from_static("q quits")),
            Command::Close | Command::Quit => self.effects.push(Effect::Quit),
            Command::Suspend => self.effects.push(Effect::Suspend),
            Command::Redraw => self.effects.push(Effect::Redraw),
            Command::NextTheme => self.effects.push(Effect::NextTheme),
            _ => {
                let before = self.cursor.get();
                if self.cursor.key(key, self.lines.len()) {
                    self.has_moved = true;
                    self.leave_heading(self.cursor.get() >= before);
                }
            }
        }
    }

    fn open_palette(&mut self) {
        let commands = keymap::commands_of(&[Context::Picker]);
        let (rows, commands): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
        let palette = CommandPalette::new(&rows, "a recording");
        self.open(palette, move |picker, _, choice| match choice {
            Choice::Chosen(number) => {
                let command = commands[number];
                // Motions are done by their keys.
                let key = keymap::key_of(command).unwrap_or(KeyCode::Null.into());
                picker.obey(command, key);
            }
            Choice::Number(number) | Choice::Item(number) => picker.go_to_number(number),
        });
    }

    /// Puts the cursor on the recording with this number in the list, counted from 1.
    fn go_to_number(&mut self, number: usize) {
        let is_file = |line: &&ListLine| number_of(line).is_some();
        let count = self.lines.iter().filter(is_file).count();
        let lines = self.lines.iter().enumerate();
        let mut files = lines.filter(|(_, line)| is_file(line));
        match number.checked_sub(1).and_then(|before| files.nth(before)) {
            Some((at, _)) => {
                self.cursor.set(at);
                self.has_moved = true;
            }
            None => {
                let words = format!("no recording {number}: the list has {}", thousands(count));
                self.notice = Some(SafeText::from_str(&words));
            }
        }
    }

    /// Puts the cursor on a file where it is on a heading: the one after it, or before it.
    fn leave_heading(&mut self, forward: bool) {
        let at = self.cursor.get();
        if matches!(self.lines.get(at), Some(ListLine::Heading(_))) {
            self.cursor.set(match at.checked_sub(1) {
                Some(before) if !forward => before,
                _ => at + 1,
            });
        }
    }

    fn show_all(&mut self) {
        self.filter.open("");
        self.fault = None;
        self.terms = Terms::default();
        self.arrange();
    }

    fn filter_key(&mut self, key: KeyEvent) {
        if matches!(
            key.code,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown
        ) {
            let before = self.cursor.get();
            self.cursor.key(key, self.lines.len());
            self.leave_heading(self.cursor.get() >= before);
            return;
        }
        match self.filter.key(key) {
            Typing::Pending => {}
            Typing::Changed => self.refilter(),
            Typing::Submitted(text) => match Terms::parse::<PickerRow>(&text) {
                Ok(_) => self.is_filtering = false,
                Err(error) => {
                    let complaint = SafeText::single_line(&error.to_string(), 200);
                    self.filter.complain(complaint);
                }
            },
            Typing::Cancelled => {
                self.is_filtering = false;
                self.show_all();
            }
        }
    }

    /// Shows what matches what was typed so far; the cursor goes to the first. What is not a filter lists nothing, and
    /// the reason is shown; a field that waits for its value is not an error.
    fn refilter(&mut self) {
        self.fault = None;
        match Terms::parse::<PickerRow>(&self.filter.text()) {
            Ok(terms) => self.terms = terms,
            Err(FilterError::Incomplete(_)) => {}
            Err(error) => {
                let fault = SafeText::single_line(&error.to_string(), 300);
                self.filter.complain(fault.clone());
                self.fault = Some(fault);
            }
        }
        self.has_moved = false;
        self.arrange();
    }

    fn paste_text(&mut self, text: &str) {
        if self.give_to_layers(Input::Paste(text)) {
        } else if let Some(contents) = &mut self.contents {
            if let (Some(job), Some(search)) = (contents.paste(text), &self.search) {
                search(job);
            }
        } else if self.is_filtering && self.filter.paste(text) == Typing::Changed {
            self.refilter();
        }
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    fn click(&mut self, event: MouseEvent) -> Vec<Effect> {
        if self.give_to_layers(Input::Mouse(event)) || !self.layers.is_empty() {
            return Vec::new();
        }
        if let Some(contents) = &mut self.contents {
            contents.mouse(event);
            return Vec::new();
        }
        let before = self.cursor.get();
        if !self.cursor.mouse(event, self.lines.len()) {
            return Vec::new();
        }
        self.leave_heading(self.cursor.get() >= before);
        let is_click = matches!(event.kind, MouseEventKind::Down(_));
        let is_second = is_click && self.has_moved && self.cursor.get() == before;
        self.has_moved = true;
        if is_second {
            self.open_here();
        }
        std::mem::take(&mut self.effects)
    }

    fn open_here(&mut self) {
        let path = self.selected().map(Path::to_owned);
        self.effects.extend(path.map(Effect::Open));
    }

    /// Sorts, groups and filters the rows. The cursor stays on its row if the operator chose it.
    fn arrange(&mut self) {
        self.learned = None;
        let chosen = self.lines.get(self.cursor.get()).and_then(number_of);
        let matching = (0..self.rows.len())
            .filter(|number| !self.rows[*number].is_gone)
            .filter(|number| self.fault.is_none() && self.terms.match_all(&self.rows[*number]));
        let mut matching: Vec<usize> = matching.collect();
        let unread = matching
            .iter()
            .filter(|number| self.rows[**number].is_unread());
        self.unread = unread.count();
        let hides_unread = self.hides_unread();
        matching.retain(|number| !hides_unread || !is_hidden(&self.rows[*number]));
        let order = (self.sort, self.is_reversed);
        self.lines = arranged(&self.rows, matching, order, self.grouping);
        let kept = chosen.filter(|_| self.has_moved);
        let is_kept = |line: &ListLine| kept.is_some() && number_of(line) == kept;
        self.cursor
            .set(self.lines.iter().position(is_kept).unwrap_or(0));
        self.leave_heading(true);
        if let Some(work) = &self.work {
            work.inspector.order(self.by_age());
        }
    }

    /// Whether files that cannot be read are left out.
    fn hides_unread(&self) -> bool {
        !self.shows_unread && !self.terms.asks_for(UNREAD)
    }

    /// A path with `~` for the home folder.
    fn homely(&self, path: &str) -> String {
        let below = self
            .home
            .as_deref()
            .and_then(|home| path.strip_prefix(home));
        match below.filter(|below| below.is_empty() || below.starts_with('/')) {
            Some(below) => format!("~{below}"),
            None => path.to_owned(),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        if area.is_empty() {
            return;
        }
        self.view_list(frame, area, theme);
        self.layers.view(frame, Areas::below(0, area), self, theme);
    }

    fn view_list(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let [header, below] = split_top(area, 1);
        self.view_header(frame, header, theme);
        if let Some(contents) = &self.contents {
            // What a recording is about may not be known yet.
            let title = |number: usize| match self.rows.get(number) {
                Some(row) if row.title().is_empty() => row.name.to_string_lossy().into_owned(),
                Some(row) => row.title(),
                None => String::new(),
            };
            contents.view(frame, below, &title, theme);
            return;
        }
        let has_rows = !self.lines.is_empty();
        let [heads, below] = split_top(below, u16::from(area.height >= TITLED && has_rows));
        let preview = match area.height {
            height if height < PREVIEWED || !self.has_preview || !has_rows => 0,
            height => (height / 4).clamp(6, 10),
        };
        let [list, below] = split_bottom(below, preview + 1);
        let [preview, footer] = split_bottom(below, 1);
        let glyphs = &theme.glyphs;
        let direction = if self.is_reversed {
            glyphs.up
        } else {
            glyphs.down
        };
        let mark = (self.sort.column(), direction);
        let width = usize::from(area.width.saturating_sub(1));
        let columns = fit(&self.columns, mark.0, width);
        if !heads.is_empty() {
            write(
                frame,
                heads,
                titles(&columns, Some(mark), theme),
                Style::new(),
                theme,
            );
        }
        if !has_rows {
            self.view_nothing(frame, list, theme);
        }
        self.cursor.draw(
            frame,
            list,
            self.lines.len(),
            theme.selected,
            theme,
            |line, area| match &self.lines[line] {
                ListLine::Heading(name) => self.heading(name, area.width.into(), theme),
                ListLine::File(number, is_child) => {
                    let edge = match line == self.cursor.get() {
                        true => theme.glyphs.edge,
                        false => " ",
                    };
                    let next = self.lines.get(line + 1);
                    let branch = match next {
                        Some(ListLine::File(_, true)) => theme.glyphs.branch,
                        Some(_) | None => theme.glyphs.border.bottom_left,
                    };
                    let branch = is_child.then_some(branch);
                    let mut spans = vec![Span::raw(edge)];
                    spans.extend(cells(&self.rows[*number], branch, &columns, theme));
                    spans
                }
            },
        );
        if let Some(row) = self.chosen().filter(|_| !preview.is_empty()) {
            self.view_preview(frame, preview, row, theme);
        }
        self.view_footer(frame, footer, preview.is_empty(), theme);
    }

    /// ` retake  recordings 1,284 · 21 not read · claude-code 902 · codex 301 ... sort: time`, of what is listed.
    fn view_header(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let shown: Vec<usize> = self.lines.iter().filter_map(number_of).collect();
        let hides_unread = self.hides_unread();
        let is_left_out = |row: &&PickerRow| row.is_gone || hides_unread && is_hidden(row);
        let hidden = self.rows.iter().filter(is_left_out).count();
        let total = self.rows.len() - hidden;
        let all = thousands(total);
        let mut left = vec![
            Span::styled(" retake  ", theme.title),
            // What turns out unreadable meanwhile is listed until the rows are made anew.
            Span::raw(match shown.len() >= total {
                true => format!("recordings {}", thousands(shown.len())),
                false => format!("recordings {} of {all}", thousands(shown.len())),
            }),
        ];
        let mut right = format!("sort: {}", word(&Sort::ALL, self.sort));
        if self.is_reversed {
            right.push_str(" reversed");
        }
        if self.grouping != Grouping::Folder {
            right.push_str("  group: ");
            right.push_str(word(&Grouping::ALL, self.grouping));
        }
        let unread = self.rows.iter().filter(|row| !row.is_done()).count();
        let progress = match (self.is_looking, unread) {
            (true, _) => format!("looking{}", theme.glyphs.more),
            (false, 0) => String::new(),
            (false, unread) => format!("{} to read{}", thousands(unread), theme.glyphs.more),
        };
        if !progress.is_empty() {
            right = format!("{progress}  {right}");
        }
        let mut agents: BTreeMap<&str, usize> = BTreeMap::new();
        let rows = shown.iter().map(|number| &self.rows[*number]);
        for row in rows.filter(|row| !row.agent().is_empty()) {
            *agents.entry(row.agent()).or_default() += 1;
        }
        let mut agents: Vec<_> = agents.into_iter().collect();
        agents.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let of_agents = agents
            .into_iter()
            .map(|(agent, count)| format!("{agent} {}", thousands(count)));
        let of_unread = (self.unread > 0).then(|| format!("{} not read", thousands(self.unread)));
        let mut room = usize::from(area.width).saturating_sub(right.len() + 3);
        room = room.saturating_sub(left.iter().map(Span::width).sum());
        for part in of_unread.into_iter().chain(of_agents) {
            let words = format!(" {} {part}", theme.glyphs.dot);
            let span = Span::styled(words, theme.dim);
            if span.width() > room {
                break;
            }
            room -= span.width();
            left.push(span);
        }
        let left = Line::from(left);
        let gap = usize::from(area.width).saturating_sub(left.width() + right.len() + 1);
        let mut spans = left.spans;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(right, theme.dim));
        write(frame, area, spans, Style::new(), theme);
    }

    fn heading(&self, name: &str, width: usize, theme: &Theme) -> Vec<Span<'static>> {
        let name = self.homely(name);
        let room = width.saturating_sub(6);
        let name = shortened(name.as_bytes(), room, theme.glyphs.more);
        let line = theme
            .glyphs
            .horizontal
            .repeat(width.saturating_sub(name.width() + 2));
        let mut spans = vec![Span::raw(" ")];
        spans.extend(theme.spans(&name, theme.title));
        spans.push(Span::styled(format!(" {line}"), theme.border));
        spans
    }

    /// Why no row is there, and where it was looked.
    fn view_nothing(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut text = if let Some(fault) = &self.fault {
            fault.clone()
        } else if self.unread > 0 {
            let files = match self.unread {
                1 => "1 unreadable file is".to_owned(),
                count => format!("{} unreadable files are", thousands(count)),
            };
            SafeText::from_str(&format!("{files} hidden: . shows them"))
        } else if !self.rows.is_empty() {
            SafeText::from_static(NO_MATCH)
        } else if self.is_looking {
            SafeText::from_static("looking for recordings in ")
        } else {
            SafeText::from_static("no recording in ")
        };
        if self.rows.is_empty() {
            for (index, name) in place_names(&self.places).into_iter().enumerate() {
                if index > 0 {
                    text.push(&SafeText::from_static(", "));
                }
                text.push(&SafeText::single_line_bytes(name, 200));
            }
            if !self.is_looking {
                text.push(&SafeText::from_static("; name a file: retake FILE"));
            }
        }
        let inside = Rect {
            x: area.x + 1.min(area.width),
            width: area.width.saturating_sub(1),
            ..area
        };
        let rows = text.wrapped(usize::from(inside.width).max(1));
        for (area, row) in popup::rows(inside).zip(rows) {
            frame.render_widget(theme.line(&row, theme.dim), area);
        }
    }

    /// The first and the last messages of a recording, what was found in it, and where it lies.
    fn view_preview(&self, frame: &mut Frame<'_>, area: Rect, row: &PickerRow, theme: &Theme) {
        let [edge, inside] = split_top(area, 1);
        let width = usize::from(inside.width.saturating_sub(2));
        let path = self.homely(&row.candidate.path.to_string_lossy());
        let path = shortened(path.as_bytes(), width.saturating_sub(4), theme.glyphs.more);
        rule(frame, edge, theme.spans(&path, theme.dim), theme);
        let summary = match &row.summary {
            None => return,
            Some(Err(reason)) => {
                let reason = SafeText::single_line(reason, 1000);
                for (area, row) in popup::rows(inside).zip(reason.wrapped(width.max(1))) {
                    write(
                        frame,
                        inset(area),
                        theme.spans(&row, theme.warning),
                        Style::new(),
                        theme,
                    );
                }
                return;
            }
            Some(Ok(summary)) => summary,
        };
        let mut lines: Vec<Line<'static>> = Vec::new();
        let room = usize::from(inside.height);
        let facts = self.facts(row, summary, width, theme);
        let last = summary.last.iter().filter(|(kind, text)| {
            // What is said only once is shown only once.
            !matches!(&summary.first, Some((first, _)) if first == kind)
                || !text.starts_with(summary.words().trim())
        });
        let last: Vec<_> = last.collect();
        let kept = room
            .saturating_sub(facts.len() + 1)
            .clamp(1, 2)
            .min(last.len());
        let each = room.saturating_sub(facts.len()) / (kept + 1).max(1);
        for (kind, text) in summary
            .first
            .iter()
            .chain(last[last.len() - kept..].iter().copied())
        {
            let who = match kind {
                Kind::User => "you",
                Kind::Output => "result",
                _ => "assistant",
            };
            lines.extend(message(who, text, each.max(1), width, theme));
        }
        lines.truncate(room.saturating_sub(facts.len()));
        lines.resize(room.saturating_sub(facts.len()), Line::default());
        lines.extend(facts);
        for (area, line) in popup::rows(inside).zip(lines) {
            write(frame, inset(area), line.spans, Style::new(), theme);
        }
    }

    /// What was found, and what else is known.
    fn facts(
        &self,
        row: &PickerRow,
        summary: &Summary,
        width: usize,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if !summary.rules.is_empty() {
            let mut spans = Vec::new();
            for severity in [Severity::Error, Severity::Warning, Severity::Info] {
                let found = summary.rules.iter().filter(|(_, bad, _)| *bad == severity);
                for (rule, _, count) in found {
                    spans.push(theme.sign(severity));
                    let count = match count {
                        1 => String::new(),
                        count => format!(" {count}"),
                    };
                    spans.push(Span::raw(format!(" {rule}{count}  ")));
                }
            }
            lines.push(Line::from(spans));
        }
        let mut facts = Vec::new();
        if summary.is_whole {
            facts.push(turns(summary.turns));
        }
        if summary.sessions > 1 {
            facts.push(format!("{} sessions", summary.sessions));
        }
        facts.push(super::columns::size(row.candidate.size));
        facts.push(row.agent().to_owned());
        facts.extend(summary.models.iter().cloned());
        facts.extend(summary.folder.iter().map(|folder| self.homely(folder)));
        let facts = facts.join(&format!(" {} ", theme.glyphs.dot));
        lines.push(theme.line(&SafeText::single_line(&facts, width), theme.dim));
        lines
    }

    /// The prompt while filtering, else a notice, or the path where no preview names it; and the keys.
    fn view_footer(&self, frame: &mut Frame<'_>, area: Rect, with_path: bool, theme: &Theme) {
        if self.is_filtering {
            self.filter.draw(frame, area, theme);
            return;
        }
        let width = usize::from(area.width);
        let left = match (&self.notice, self.chosen().filter(|_| with_path)) {
            (Some(notice), _) => theme.spans(&notice.truncated(width), theme.warning),
            (None, Some(row)) if width >= 60 => {
                let path = self.homely(&row.candidate.path.to_string_lossy());
                theme.spans(
                    &shortened(path.as_bytes(), width / 3, theme.glyphs.more),
                    theme.text,
                )
            }
            (None, _) => match self.filter.text().trim() {
                "" => Vec::new(),
                filter => {
                    let filter = format!("filter: {filter}  esc shows all");
                    theme.spans(&SafeText::single_line(&filter, width / 2), theme.text)
                }
            },
        };
        let mut line = vec![Span::raw(" ")];
        line.extend(left);
        let rows = keymap::footer(Context::Picker).into_iter();
        let hints: Vec<Hint> = rows.map(|row| (row.first_key(), row.footer.1)).collect();
        popup::footer(frame, area, line, hints, theme);
    }
}

impl<A: Perform> Layer<A> for Picker {
    type Output = ();

    fn key(&mut self, key: KeyEvent, app: &mut A) -> Step {
        app.perform(self.press(key));
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, app: &mut A) -> Step {
        app.perform(self.click(event));
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut A) {
        self.paste_text(text);
    }

    /// What was learned changes the order of the rows now and then, not with each file.
    fn prepare(&mut self, _: Rect) {
        if self.learned.is_some_and(|since| since.elapsed() >= SETTLED) {
            self.arrange();
        }
    }

    fn ticks(&self) -> bool {
        self.learned.is_some()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &A, theme: &Theme) {
        self.draw(frame, area, theme);
        // What is on the screen is inspected first.
        if let Some(work) = &self.work {
            work.inspector.prefer(self.visible());
        }
    }
}

/// What to call the places that are searched: the stores of an agent by its name, others by their paths.
fn place_names(places: &[Place]) -> Vec<&[u8]> {
    let mut names: Vec<&[u8]> = Vec::new();
    for place in places {
        let name = match place.origin {
            Origin::Agent(agent) => agent.title.as_bytes(),
            Origin::Named | Origin::Sessions | Origin::Current | Origin::Runs => {
                place.path.as_os_str().as_bytes()
            }
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn number_of(line: &ListLine) -> Option<usize> {
    match line {
        ListLine::File(number, _) => Some(*number),
        ListLine::Heading(_) => None,
    }
}

/// Whether a file is left out where those that cannot be read are: not one that the operator named.
fn is_hidden(row: &PickerRow) -> bool {
    row.is_unread() && !row.is_named
}

fn complaint(path: &Path, reason: &str) -> SafeText {
    let mut words = SafeText::single_line_bytes(path.as_os_str().as_bytes(), 200);
    words.push(&SafeText::from_static(": "));
    words.push(&SafeText::single_line(reason, 200));
    words
}

/// Who said something, and what, in at most so many rows.
fn message(who: &str, text: &str, most: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let room = width.saturating_sub(WHO).max(1);
    let text = SafeText::single_line(&text, (most + 1) * room);
    let mut rows = text.wrapped(room).enumerate();
    let rows: Vec<_> = rows.by_ref().take(most + 1).collect();
    let is_cut = rows.len() > most;
    let lines = rows.into_iter().take(most).map(|(number, row)| {
        let who = if number == 0 { who } else { "" };
        let mut spans = vec![Span::styled(format!("{who:<WHO$}"), theme.dim)];
        let more = theme.glyphs.more.chars().count();
        match is_cut && number + 1 == most {
            true if row.width() + more <= room => {
                spans.extend(theme.spans(&row, theme.text));
                spans.push(Span::styled(theme.glyphs.more, theme.dim));
            }
            true => {
                spans.extend(theme.spans(&row.truncated(room.saturating_sub(more)), theme.text))
            }
            false => spans.extend(theme.spans(&row, theme.text)),
        }
        Line::from(spans)
    });
    lines.collect()
}

fn inset(area: Rect) -> Rect {
    Rect {
        x: area.x + 1.min(area.width),
        width: area.width.saturating_sub(1),
        ..area
    }
}

fn turns(count: usize) -> String {
    match count {
        1 => "1 turn".to_owned(),
        _ => format!("{} turns", thousands(count)),
    }
}

/// A count with commas between its thousands.
fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut written = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

#[cfg(test)]
mod tests;
