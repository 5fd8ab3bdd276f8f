//! What the debugger shows and where the operator is: plain data, without a terminal.
//! [`crate::tui::update`] changes it, the views draw it; between the two, [`State::prepare`] fetches the
//! rows that are seen, and no others.

pub mod detail;
pub mod document;
pub mod exchange;
pub mod hits;
pub mod layout;
pub mod live;
pub mod pretty;
pub mod preview;
pub mod recovery;
pub mod takes;
#[cfg(test)]
pub(crate) mod tests;
pub mod tree;

use super::effect::{Effect, Hit, LiveCommand};
use super::filter::{Filter, FilterBar, tool_in, tools_named};
use super::keymap::{Command, Context, Direction, Group};
use super::live::breakpoints::Stops;
use super::live::reply::{self, ReplyPart};
use super::prompt::{Prompt, search_prompt};
use super::stack::{Layers, Screen};
use super::text::{Line, Scroll};
use super::transcript::nested::{NestedFacts, NestedPlace, UsageBySession};
use super::transcript::{self, Transcript};
use crate::usage::NestedUsage;
use crate::words::session_label;
use detail::Mode;
use document::{Checked, Counts, Document, Extent, Listed, Place, list_findings};
use exchange::Intercepted;
use hits::Hits;
use jiff::tz::TimeZone;
use layout::{Area, Arrangement, DetailPlace, Layout, LayoutSettings, Pane};
use live::Live;
use preview::Previews;
use recovery::{Awaited, Recovery};
use retake_core::actions::Offer;
use retake_core::content::display_name;
use retake_core::engine::{self, Breakpoint, Millis};
use retake_core::exchange::ExchangeId;
use retake_core::rules::{Finding, Severity};
use retake_core::session::{Item, Kind, Problem, Session, is_sub_agent, sub_agents_of};
use retake_core::usage::{Prices, SessionUsage, UsageOrder, UsageReader};
use retake_live::live::Phase;
use retake_live::search::Needle;
use retake_live::{FilePlace, SubAgent, safe_fixes};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tree::{Folds, Shown, Tree, TreeRow};

/// How far reading has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The file is being read.
    Reading {
        /// Bytes that are read.
        done: u64,
        total: u64,
    },
    /// Everything is read, the rules run.
    Checking,
    Ready,
    /// Reading failed; what was read is shown.
    Failed(String),
}

impl Stage {
    /// How much of the file is read; nothing where it is read in one piece.
    pub fn percent(&self) -> Option<u64> {
        let Self::Reading { done, total } = self else {
            return None;
        };
        let percent = done.saturating_mul(100).checked_div(*total);
        percent.filter(|percent| *percent > 0)
    }
}

/// Whether the end of a growing file is kept in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    Off,
    On,
    /// The operator moved up; the file is still watched.
    Paused,
}

/// A command that waits for the file to be read, or for the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    /// Shows the turn of this number.
    Turn(usize),
    /// Shows the item of this number.
    Item(usize),
    Search(Direction),
    /// Goes to the next finding that is at least as bad.
    Finding(Direction, Severity),
}

/// The item in the detail pane.
#[derive(Debug, Default)]
pub struct Detail {
    pub lines: Vec<Line>,
    /// Bytes that were left out.
    pub left_out: u64,
    /// How it is shown.
    pub mode: Mode,
    /// Where the window is.
    pub scroll: Scroll,
    /// Whether the window is to show the place of the text that is searched for.
    pub seeks: bool,
    pub found: Option<LinePlace>,
    /// The first line of what the item says.
    body: usize,
    /// How many lines are the item's own; the result of a call follows.
    own: usize,
    /// How much of an item is read.
    limit: u64,
    made_for: Option<DetailKey>,
}

/// A place of a text: a line, and which of those in it.
type LinePlace = (usize, usize);

/// What the lines of the detail were made for: the item, how it is shown, how much of it, what is known, the width.
type DetailKey = (Place, Mode, u64, u64, usize);

/// How much of an item is read at first: more than a large screen shows.
const FIRST_LOOK: u64 = 24 * 1024;
/// How many lines are shown above a hit.
const ABOVE: usize = 2;
/// How much of an item is read at most; the editor shows all of it.
const LONGEST_LOOK: u64 = 4 << 20;

/// First rows of lists.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tops {
    pub turns: usize,
    pub items: usize,
    pub findings: usize,
    pub sessions: usize,
}

/// Where the operator was in the totals.
#[derive(Debug, Default)]
pub struct UsagePlace {
    /// What they are sorted by; `None` sorts each list by what it is mostly read for.
    pub order: Option<UsageOrder>,
    /// Which of the rows that lead somewhere had the cursor.
    pub cursor: usize,
    /// Whether the list of a proxy asked for them: those of all its conversations, and then back to it.
    pub is_of_list: bool,
}

/// Everything that the screen depends on.
#[derive(Debug)]
pub struct State {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Rows of what is said above the keys because it has no room beside them.
    pub message_rows: u16,
    pub layout: Layout,
    /// Whether the focused pane has the whole screen.
    pub is_zoomed: bool,
    /// Percent of the width that the detail has, where the operator chose it.
    pub detail_share: Option<u16>,
    pub detail_place: DetailPlace,
    pub drag: Option<Grip>,
    /// Most rows of a folded result.
    pub result_rows: usize,
    /// The name of the file.
    pub name: String,
    pub stage: Stage,
    pub document: Option<Arc<Document>>,
    /// The beginning of the file, for the way back from its end while the rest is being read.
    pub head: Option<Arc<Document>>,
    /// What the rules found, by session.
    pub checked: Vec<Option<Arc<Checked>>>,
    /// Index of the session.
    pub session: usize,
    /// Index of the item with the cursor.
    pub item: usize,
    /// Whether the cursor is on the turn of the item rather than on the item.
    pub on_turn: bool,
    /// The pane that has the keys.
    pub focus: Pane,
    /// What is left of the detail.
    pub left: Pane,
    /// The flowing view that the turns can be shown as.
    pub transcript: Transcript,
    /// Which turns are unfolded.
    pub folds: Folds,
    /// What a filter lets through.
    pub shown: Option<Arc<Shown>>,
    pub filter_bar: FilterBar,
    pub filter: Option<Filter>,
    /// How many items of which other sessions it lets through, as far as that is known.
    pub shown_elsewhere: Vec<(usize, usize)>,
    /// Items that the operator marked, by their first byte.
    pub marks: BTreeSet<u64>,
    /// Whether only marked items are shown.
    pub only_marked: bool,
    /// First rows of the lists.
    pub tops: Tops,
    /// The finding with the cursor in the list of findings.
    pub finding: usize,
    pub listed_session: usize,
    /// The item in full.
    pub detail: Detail,
    /// The lines of problems of reading, by their byte.
    pub lines: HashMap<u64, FilePlace>,
    pub layers: Layers<Self>,
    pub effects: Vec<Effect>,
    /// A line for the operator until the next key.
    pub notice: Option<String>,
    /// What is wrong with the settings: until the next key it comes before all that is said.
    pub fault: Option<String>,
    pub find: Prompt,
    /// What is searched for.
    pub needle: Option<Arc<Needle>>,
    /// The tool in whose calls alone it is searched for.
    pub needle_tool: Option<Arc<str>>,
    /// Its places, which are set apart.
    pub hits: Option<Hits>,
    /// The one that was found last.
    pub hit: Option<Hit>,
    /// Whether what is said is about the search.
    pub says_hit: bool,
    /// The text that was found in the recording before it was opened, and its item.
    pub sought: Option<(Arc<Needle>, Place)>,
    /// The exchange whose conversation is shown once the file is read, and what is done there.
    pub asked_for: Option<(ExchangeId, Command)>,
    /// What the sessions of a document took, where that is counted.
    pub totals: Option<(Arc<Document>, UsageBySession)>,
    pub usage: UsagePlace,
    /// Where the operator was before a row of the totals or of the timeline led elsewhere.
    pub jumped_from: Option<Place>,
    /// Sub-agents with logs of their own.
    pub sub_agents: Arc<[SubAgent]>,
    /// Why the filter leaves nothing, where it names a tool that is not called.
    pub unknown_tool: Option<String>,
    /// How many calls were passed whose sub-agents `]` led to.
    pub passed_sub_agents: usize,
    /// Whether the file was opened from that of the agent that began it.
    pub is_sub_agent_file: bool,
    pub prices: Prices,
    /// Where the clocks of the transcript stand.
    pub zone: TimeZone,
    /// Whether the cursor has been somewhere on purpose since the file was opened.
    pub has_moved: bool,
    /// Whether the operator has pressed a key since the file was opened.
    pub has_pressed: bool,
    /// How many turns of the session come before what is shown of it, where that is known.
    pub turns_before: Option<usize>,
    /// The first byte of an item that was appended while the file was read, and the item that has the cursor in its place
    /// until the next reading.
    pub unread: Option<(u64, Place)>,
    /// What the operator asked for before the file was read: the last command only.
    pub queued: Option<Queued>,
    /// Whether the end is kept in sight.
    pub follow: Follow,
    /// What is being done about findings, and the takes.
    pub recovery: Recovery,
    pub note: Prompt,
    pub live: Live,
    /// The exchange of a proxy that this is.
    pub exchange: Option<Intercepted>,
    /// What `q` does, for the footer: what lies below has the screen then.
    pub close_words: &'static str,
    pub now: Millis,
    pub previews: RefCell<Previews>,
    /// Counts up whenever what is known about items changes.
    revision: u64,
    context_share: Cell<ContextShare>,
    /// Whether a safe fix can be applied, and the session and the revision of which that is known.
    safe_fix: Cell<Option<((usize, u64), bool)>>,
}

/// What the mouse drags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grip {
    Scrollbar,
    /// The border between the detail and what is beside or above it.
    Border,
}

/// How full the context was, as far as it was read last.
#[derive(Debug, Clone, Copy, Default)]
struct ContextShare {
    /// The session, the turn and the revision.
    of: Option<(usize, usize, u64)>,
    percent: Option<u64>,
}

/// Findings whose safe fixes are tried before one is offered.
const TRIED: usize = 16;
/// Turns that are searched for one whose context is counted.
const LOOKED_BACK: usize = 8;

/// Shown where a filter leaves nothing.
const NO_MATCH: &str = "no item matches the filter";

impl State {
    /// A debugger of this size that shows nothing yet.
    pub fn new(name: String, size: (u16, u16)) -> Self {
        Self {
            size,
            message_rows: 0,
            layout: Layout::default(),
            is_zoomed: false,
            detail_share: None,
            detail_place: DetailPlace::default(),
            drag: None,
            result_rows: transcript::RESULT_ROWS,
            name,
            stage: Stage::Reading { done: 0, total: 0 },
            document: None,
            head: None,
            checked: Vec::new(),
            session: 0,
            item: 0,
            on_turn: true,
            focus: Pane::Turns,
            left: Pane::Turns,
            transcript: Transcript::default(),
            folds: Folds::default(),
            shown: None,
            filter_bar: FilterBar::default(),
            filter: None,
            shown_elsewhere: Vec::new(),
            marks: BTreeSet::new(),
            only_marked: false,
            tops: Tops::default(),
            finding: 0,
            listed_session: 0,
            detail: Detail {
                limit: FIRST_LOOK,
                ..Detail::default()
            },
            lines: HashMap::new(),
            layers: Layers::default(),
            effects: Vec::new(),
            notice: None,
            fault: None,
            find: search_prompt("/", "a text, or /expression/"),
            needle: None,
            needle_tool: None,
            hits: None,
            hit: None,
            says_hit: false,
            sought: None,
            asked_for: None,
            totals: None,
            usage: UsagePlace::default(),
            jumped_from: None,
            sub_agents: Arc::default(),
            unknown_tool: None,
            passed_sub_agents: 0,
            is_sub_agent_file: false,
            prices: Prices::built_in(),
            zone: TimeZone::UTC,
            has_moved: false,
            has_pressed: false,
            turns_before: None,
            unread: None,
            queued: None,
            follow: Follow::Off,
            recovery: Recovery::default(),
            note: Prompt::new("note ", "empty removes it"),
            live: Live::default(),
            exchange: None,
            close_words: "quit",
            now: 0,
            previews: RefCell::default(),
            revision: 0,
            context_share: Cell::default(),
            safe_fix: Cell::default(),
        }
    }

    /// Whether the recording is of a proxy.
    pub fn is_of_proxy(&self) -> bool {
        self.session()
            .is_some_and(|session| session.conversation != 0)
    }

    /// The next session, around the end, that shows a side of the same conversation: what was not the same for
    /// the agent and for its provider has several.
    pub fn other_side(&self) -> Option<usize> {
        let conversation = self.session()?.conversation;
        let sessions = &self.document.as_ref()?.recording.sessions;
        let others = (1..sessions.len()).map(|step| (self.session + step) % sessions.len());
        let mut others = others.filter(|_| conversation != 0);
        others.find(|other| sessions[*other].conversation == conversation)
    }

    /// Whether the exchange that is open is over, and was not the same for its agent and for its provider.
    pub fn has_two_sides(&self) -> bool {
        let is_read = self.exchange.as_ref().is_some_and(|open| !open.is_seat);
        is_read && self.other_side().is_some()
    }

    /// The session that is shown.
    pub fn session(&self) -> Option<&Session> {
        self.document.as_ref()?.session(self.session)
    }

    /// The item with the cursor.
    pub fn item(&self) -> Option<&Item> {
        self.session()?.items.get(self.item)
    }

    /// The turn with the cursor.
    pub fn turn(&self) -> usize {
        self.item().map_or(0, |item| item.turn as usize)
    }

    /// What the rules found in the session that is shown.
    pub fn checked(&self) -> Option<&Checked> {
        self.checked.get(self.session)?.as_deref()
    }

    /// The findings about the item with the cursor.
    pub fn findings_here(&self) -> &[Finding] {
        self.checked()
            .map_or(&[], |checked| checked.of_item(self.item))
    }

    /// The findings about the item with the cursor, and the calls there that a live run has open: all that
    /// something can be done about.
    pub fn offering_here(&self) -> impl Iterator<Item = &Finding> {
        let checked = self.checked().into_iter();
        let waiting = checked.flat_map(|checked| checked.waiting(self.item));
        self.findings_here().iter().chain(waiting)
    }

    /// The finding that offers an action: at the cursor, at its partner, else in the turn with the cursor.
    pub fn finding_for(&self, action: &str) -> Option<&Finding> {
        let offers = |finding: &&Finding| finding.offers.iter().any(|offer| offer.action == action);
        let (session, checked) = (self.session()?, self.checked()?);
        let here = self.offering_here().find(offers);
        let partner = || {
            let partner = session.pairing.partner(self.item)?;
            checked.of_item(partner).iter().find(offers)
        };
        let of_turn = || {
            let turn = session.turns.get(self.turn()).filter(|_| self.on_turn)?;
            let range = checked.range(turn.items());
            checked.findings()[range].iter().find(offers)
        };
        here.or_else(partner).or_else(of_turn)
    }

    /// What the rules found in a session, as far as they have seen it.
    pub fn findings_of(&self, session: usize) -> Vec<Finding> {
        let checked = self.checked.get(session).and_then(Option::as_deref);
        checked.map_or_else(Vec::new, |checked| checked.findings().to_vec())
    }

    pub fn place(&self) -> Place {
        Place {
            session: self.session,
            item: self.item,
        }
    }

    pub fn is_known(&self) -> bool {
        self.is_whole() && self.checked().is_some()
    }

    /// Whether it is a recording that is shown, and not a run or an exchange that waits.
    pub fn is_recording(&self) -> bool {
        self.exchange.is_none() && self.live.phase == Phase::Idle
    }

    /// The rule of the finding at the cursor, where it has fixes and a suggestion is never one of them.
    pub fn rule_without_suggestion(&self) -> Option<&'static str> {
        let worst = self.worst_here();
        let worst = worst.filter(|worst| !worst.offers.is_empty())?;
        let suggests =
            |offer: &Offer| matches!(offer.action, "take-suggestion" | "repair-arguments");
        (!worst.rule.offers.iter().any(suggests)).then_some(worst.rule.id)
    }

    /// Whether a safe fix is offered anywhere in the session that can be applied with others. It is tried once for each
    /// state of the session.
    pub fn offers_safe_fix(&self) -> bool {
        let (Some(checked), Some(session)) = (self.checked(), self.session()) else {
            return false;
        };
        if !self.is_known() || !self.is_recording() {
            return false;
        }
        let of = (self.session, self.revision);
        if let Some((_, known)) = self.safe_fix.get().filter(|(known, _)| *known == of) {
            return known;
        }
        let tried: Vec<_> = checked.offers_safe().take(TRIED).cloned().collect();
        let is_offered = !tried.is_empty() && {
            let fixes = safe_fixes(session, &tried, self.recovery.target);
            !fixes.applied.is_empty()
        };
        self.safe_fix.set(Some((of, is_offered)));
        is_offered
    }

    /// Lets something wait for the rules, and says so.
    pub fn wait(&mut self, what: Awaited, title: &str) {
        self.recovery.awaited = Some(what);
        self.notice = Some(format!("{title}: as soon as the session is checked"));
    }

    /// Says something until the next key.
    pub fn say(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// Puts what is wrong with the settings before what was said since.
    pub fn say_fault(&mut self) {
        let Some(fault) = &self.fault else {
            return;
        };
        let is_new = |notice: &String| !notice.starts_with(fault);
        self.notice = Some(match self.notice.take_if(|notice| is_new(notice)) {
            Some(notice) => format!("{fault} · {notice}"),
            None => self.notice.take().unwrap_or_else(|| fault.clone()),
        });
    }

    /// Gives the engine of the run a command.
    pub fn command(&mut self, command: engine::RunCommand) {
        let command = LiveCommand::Engine(command);
        self.effects.push(Effect::Live(command));
    }

    /// The findings of the session that is shown, counted; `None` while it is not checked.
    pub fn counts(&self) -> Option<Counts> {
        self.checked().map(Checked::counts)
    }

    /// The row of the list of findings with the cursor.
    pub fn finding_row(&self) -> usize {
        let has_cursor = |(session, row): (usize, Listed)| {
            session == self.session
                && matches!(row, Listed::Finding(number, _) if number == self.finding)
        };
        let row = list_findings(&self.checked).position(has_cursor);
        row.unwrap_or(0)
    }

    /// How many errors and warnings the other sessions of the file have, and whether all are of sub-agents.
    pub fn findings_elsewhere(&self) -> (usize, usize, bool) {
        let sessions = self.document.as_ref().map(|it| &it.recording.sessions[..]);
        let known = self.checked.iter().enumerate();
        let others = known.filter(|(session, _)| *session != self.session);
        let (mut errors, mut warnings) = (0, 0);
        let mut are_nested = !self.session().is_some_and(is_sub_agent);
        for (session, checked) in others {
            let counts = checked.as_ref().map(|it| it.counts()).unwrap_or_default();
            let is_clean = counts.errors + counts.warnings == 0;
            let session = sessions.and_then(|sessions| sessions.get(session));
            are_nested &= is_clean || session.is_some_and(is_sub_agent);
            errors += counts.errors;
            warnings += counts.warnings;
        }
        for file in self.sub_agents.iter() {
            errors += file.errors;
            warnings += file.warnings;
        }
        (errors, warnings, are_nested)
    }

    /// The rows of the list of sessions: those of the file, then sub-agents with files of their own.
    pub fn listed_sessions(&self) -> usize {
        let document = self.document.as_ref();
        document.map_or(0, |it| it.recording.sessions.len()) + self.sub_agents.len()
    }

    /// How many parts of the file could not be read.
    pub fn problems(&self) -> usize {
        let document = self.document.as_ref();
        document.map_or(0, |document| document.recording.problems.len())
    }

    /// Where a problem of reading is: `line 120:183`, or `byte 3000` where lines are not known.
    pub fn place_of_problem(&self, problem: &Problem) -> String {
        match self
            .lines
            .get(&problem.at)
            .filter(|place| place.line.is_some())
        {
            Some(place) => format!("line {}", place.to_string().trim_start_matches(':')),
            None => format!("byte {}", problem.at),
        }
    }

    /// Why there is nothing to show, where reading is over and gave no item.
    pub fn nothing_read(&self) -> Option<String> {
        let recording = &self
            .document
            .as_ref()
            .filter(|_| self.is_whole())?
            .recording;
        let problem = recording.problems.first()?;
        let mut sessions = recording.sessions.iter();
        let is_empty = sessions.all(|session| session.items.is_empty());
        is_empty.then(|| format!("{}: {}", self.place_of_problem(problem), problem.kind))
    }

    /// The rows of the turns pane.
    pub fn tree(&self) -> Option<Tree<'_>> {
        Some(Tree {
            session: self.session()?,
            shown: self.shown.as_deref(),
            folds: &self.folds,
        })
    }

    /// The row of the turns pane with the cursor.
    pub fn tree_row(&self) -> TreeRow {
        if self.on_turn {
            TreeRow::Turn(self.turn())
        } else {
            TreeRow::Item(self.item)
        }
    }

    /// Searches for another text from now on.
    pub fn search_for(&mut self, needle: Needle) {
        self.needle = Some(Arc::new(needle));
        (self.needle_tool, self.hits, self.hit) = (None, None, None);
    }

    /// The text whose places are set apart.
    pub fn highlighted(&self) -> Option<&Arc<Needle>> {
        let is_on = self.hits.is_some() || self.hit.is_some();
        self.needle.as_ref().filter(|_| is_on)
    }

    /// Which place of the text `n` goes on from in the item with the cursor: the one that was found
    /// last, else its first.
    pub fn occurrence_here(&self) -> Option<usize> {
        let place = self.place();
        match self.hit.filter(|hit| hit.place == place) {
            Some(hit) => Some(hit.occurrence),
            None => self.hits.as_ref()?.is_in(place).then_some(0),
        }
    }

    /// Whether the whole file is shown.
    pub fn is_whole(&self) -> bool {
        self.document
            .as_ref()
            .is_some_and(|document| document.extent == Extent::Whole)
    }

    /// Shows another document of the same file.
    pub fn show(&mut self, document: Arc<Document>) {
        self.previews.get_mut().clear();
        self.revision += 1;
        self.shown = None;
        self.hits = None;
        self.transcript.read_at = None;
        self.turns_before = (document.extent != Extent::Tail).then_some(0);
        let old = self.document.replace(document);
        self.effects.extend(old.map(Effect::Discard));
        if self.only_marked {
            self.show_marked();
        }
    }

    /// Notes what the rules found in a session.
    pub fn check(&mut self, session: usize, checked: Arc<Checked>) {
        if self.checked.len() <= session {
            self.checked.resize(session + 1, None);
        }
        self.checked[session] = Some(checked);
        self.revision += 1;
    }

    /// Shows the history as the transcript, else in columns.
    pub fn set_flowing(&mut self, is_flowing: bool) {
        self.transcript.is_on = is_flowing;
        (self.left, self.focus) = (Pane::Turns, Pane::Turns);
        self.on_turn = !is_flowing && !self.folds.is_unfolded(self.turn());
    }

    /// Notes that something else is known about items.
    pub fn renew(&mut self) {
        self.revision += 1;
    }

    /// Moves the cursor to an item, and opens its turn where it is folded and the cursor is on items.
    pub fn go_to(&mut self, item: usize) {
        let last = self
            .session()
            .map_or(0, |session| session.items.len().saturating_sub(1));
        self.item = item.min(last);
        if self.focus == Pane::Turns {
            self.on_turn = !self.transcript.is_on && !self.folds.is_unfolded(self.turn());
        }
    }

    /// Whether a filter leaves nothing to show.
    pub fn has_no_match(&self) -> bool {
        Shown::hides_all(self.shown.as_ref())
    }

    pub fn show_all(&mut self) {
        self.shown = None;
        self.filter_bar.clear();
        self.filter = None;
        self.shown_elsewhere.clear();
        self.only_marked = false;
    }

    /// How many items of the other sessions the filter lets through, in words, where there are any.
    pub fn words_elsewhere(&self) -> Option<String> {
        let sessions = &self.document.as_ref()?.recording.sessions;
        let others = sessions.iter().enumerate();
        let mut others = others.filter(|(number, _)| *number != self.session);
        let items: usize = self.shown_elsewhere.iter().map(|(_, items)| items).sum();
        let among = self.shown_elsewhere.len();
        let place = match (others.all(|(_, session)| is_sub_agent(session)), among) {
            (true, 1) => "sub-agent",
            (true, _) => "sub-agents",
            (false, 1) => "other session",
            (false, _) => "other sessions",
        };
        (items > 0).then(|| format!("{items} in {among} {place}"))
    }

    /// How many items of a session of the list the filter lets through, once that is known.
    pub fn shown_of(&self, session: usize) -> Option<usize> {
        self.filter.as_ref()?;
        if session == self.session {
            return Some(self.shown.as_ref()?.items.len());
        }
        let sessions = self.document.as_ref()?.recording.sessions.len();
        if let Some(file) = session.checked_sub(sessions) {
            // Of the log of a sub-agent its calls are known.
            let is_meant = tools_named(tool_in(self.filter_bar.applied())?);
            let tools = self.sub_agents.get(file)?.usage.by_tool.iter();
            let called = tools.filter(|tool| is_meant(&tool.name));
            return Some(called.map(|tool| tool.calls).sum());
        }
        let mut elsewhere = self.shown_elsewhere.iter();
        let of_session = elsewhere.find(|(other, _)| *other == session);
        Some(of_session.map_or(0, |(_, items)| *items))
    }

    /// Leaves only what is marked or has a note.
    pub fn show_marked(&mut self) {
        let Some(session) = self.session() else {
            return;
        };
        let notes = self.recovery.takes.notes.iter().map(|(at, _)| *at);
        let marked: BTreeSet<u64> = notes.chain(self.marks.iter().copied()).collect();
        let items = session.items.iter().enumerate();
        let marked = items
            .filter(|(_, item)| marked.contains(&item.span.start))
            .filter_map(|(index, _)| u32::try_from(index).ok())
            .collect();
        self.shown = Some(Arc::new(Shown::new(session, marked)));
    }

    /// How full the context was at the turn with the cursor, in percent. It is read once for each turn.
    pub fn context_share(&self) -> Option<u64> {
        let of = Some((self.session, self.turn(), self.revision));
        let known = self.context_share.get();
        if known.of == of {
            return known.percent;
        }
        let percent = self.session().and_then(|session| {
            let mut reader = UsageReader::new(session, &self.prices);
            let mut turns = (0..=self.turn()).rev().take(LOOKED_BACK);
            turns.find_map(|turn| reader.turn(turn).ok()?.fullness())
        });
        self.context_share.set(ContextShare { of, percent });
        percent
    }

    /// What the session that is shown took, where that is counted.
    pub fn totals(&self) -> Option<&Arc<SessionUsage>> {
        self.all_totals()?.get(&self.session)
    }

    /// What the session took, as far as that was counted before the file grew.
    pub fn last_totals(&self) -> Option<&Arc<SessionUsage>> {
        let (counted, all) = self.totals.as_ref()?;
        let document = self.document.as_ref()?;
        let is_grown = self.follow != Follow::Off && !Arc::ptr_eq(counted, document);
        // The end of a file may have fewer sessions; the last one is the same.
        let sessions = |document: &Document| document.recording.sessions.len();
        let from_end = sessions(document).checked_sub(self.session)?;
        let number = match is_grown {
            true => sessions(counted).checked_sub(from_end)?,
            false => return self.totals(),
        };
        all.get(&number)
    }

    /// What the sessions of the file took, as far as that is counted.
    pub fn all_totals(&self) -> Option<&UsageBySession> {
        let (document, totals) = self.totals.as_ref()?;
        Arc::ptr_eq(document, self.document.as_ref()?).then_some(totals)
    }

    /// What the sub-agents of the session took, as far as that is counted; `calls` are those that began them.
    pub(super) fn nested_totals(&self, calls: &[(usize, NestedPlace)]) -> Vec<NestedUsage<'_>> {
        let Some(session) = self.session().filter(|session| session.active) else {
            return Vec::new();
        };
        let sessions = self.document.as_ref().map(|it| &it.recording.sessions[..]);
        let sessions = sessions.unwrap_or_default();
        let of_file = sub_agents_of(sessions, self.session).into_iter();
        let of_file = of_file.filter_map(|number| {
            let totals = self.all_totals()?.get(&number)?;
            let label = session_label(&sessions[number]);
            Some((NestedPlace::Session(number), label, &**totals))
        });
        let own_files = self.sub_agents.iter().enumerate();
        let own_files = own_files.map(|(number, it)| {
            (
                NestedPlace::File(number),
                Cow::Borrowed(&*it.prompt),
                &it.usage,
            )
        });
        let all = of_file.chain(own_files).map(|(place, words, usage)| {
            let call = calls.iter().find(|(_, known)| *known == place);
            let call = call.map(|(call, _)| *call);
            let own = match place {
                NestedPlace::Session(number) => sessions.get(number),
                NestedPlace::File(_) => None,
            };
            NestedUsage::new(session, call, || words.into_owned(), usage, own)
        });
        all.collect()
    }

    /// How many conversations of a proxy are counted, and what all of them took.
    pub fn sum_of_conversations(&self) -> (usize, SessionUsage) {
        let sessions = self.document.as_ref().map(|it| &it.recording.sessions[..]);
        let sessions = sessions.unwrap_or_default().iter().enumerate();
        let counted = sessions.filter(|(_, session)| session.active);
        let counted = counted.filter_map(|(number, _)| self.all_totals()?.get(&number));
        let (mut count, mut sum) = (0, SessionUsage::default());
        for totals in counted {
            count += 1;
            sum.add(totals);
        }
        (count, sum)
    }

    /// Notes what a session took.
    pub fn take_totals(
        &mut self,
        document: Arc<Document>,
        session: usize,
        totals: Arc<SessionUsage>,
    ) {
        let known = self.totals.take();
        let known = known.filter(|(known, _)| Arc::ptr_eq(known, &document));
        let mut all = known.map_or_else(UsageBySession::new, |(_, all)| all);
        all.insert(session, totals);
        self.totals = Some((document, all));
        // Calls tell what their sub-agents took.
        if session != self.session {
            self.renew();
        }
    }

    /// Why there are no totals yet.
    pub fn why_no_totals(&self) -> String {
        match self.stage.percent() {
            _ if self.is_whole() => "counting".to_owned(),
            Some(percent) => format!("{percent} % of the file is read; this counts all of it"),
            None => "the file is being read; this counts all of it".to_owned(),
        }
    }

    /// Says that the filter leaves nothing.
    pub fn no_match(&self) -> String {
        if let Some(words) = self.words_elsewhere() {
            return format!("{NO_MATCH} here; {words} match: S lists them, enter keeps the filter");
        }
        let why = self.unknown_tool.as_deref().unwrap_or(NO_MATCH);
        format!("{why}: esc clears it, f changes it")
    }

    /// Has counted what the session that is shown took, once all of it is read.
    pub fn count_totals(&mut self) {
        if let Some(document) = self.document.clone()
            && document.extent == Extent::Whole
            && self.totals().is_none()
        {
            self.effects.push(Effect::Total(document, self.session));
        }
    }

    /// The pane that takes the keys of moving, when something lies over it too.
    pub fn has_overlay(&self) -> bool {
        !self.layers.is_empty()
    }

    /// Takes what the operator set.
    pub fn set_layout(&mut self, settings: LayoutSettings) {
        self.detail_share = settings.detail;
        self.detail_place = settings.detail_place;
        self.result_rows = settings.result_rows.unwrap_or(transcript::RESULT_ROWS);
    }

    /// Divides the screen anew.
    pub fn lay_out(&mut self) {
        let arrangement = Arrangement {
            message: self.message_rows,
            left: self.left,
            focus: self.focus,
            is_flowing: self.transcript.is_on,
            is_zoomed: self.is_zoomed,
            detail: self.detail_share,
            detail_place: self.detail_place,
        };
        self.layout = Layout::new(self.size, arrangement);
    }

    /// Makes the detail wider or narrower, by a step of the width.
    pub fn resize_detail(&mut self, is_wider: bool) {
        let usual = layout::usual_share(self.size, self.transcript.is_on);
        let now = self.detail_share.unwrap_or(usual);
        let share = match is_wider {
            true => now + layout::DETAIL_STEP,
            false => now.saturating_sub(layout::DETAIL_STEP),
        };
        self.set_detail_share(share);
    }

    /// Gives the detail so many percent of the screen, within its bounds.
    pub fn set_detail_share(&mut self, percent: u16) {
        let (least, most) = layout::DETAIL;
        self.detail_share = Some(percent.clamp(least, most));
    }

    /// Makes the rows that the screen shows.
    pub fn prepare(&mut self) {
        self.lay_out();
        self.prepare_detail();
        self.scroll_lists();
        if self.transcript.is_on && self.with_transcript(Transcript::prepare) == Some(false) {
            let words = match self.found_name() {
                Some(name) => format!("the match is in the recorded name of the tool, {name}"),
                None => "the match is in a folded part of this item: 3 shows it in full".to_owned(),
            };
            self.notice.get_or_insert(words);
        }
    }

    /// The recorded name of the tool, where it has what is searched for and the name that is shown has not.
    fn found_name(&self) -> Option<&str> {
        let (needle, session) = (self.highlighted()?, self.session()?);
        let name = session.name(session.items.get(self.item)?);
        let has = |name: &str| !needle.ranges_in(name).is_empty();
        (has(name) && !has(&display_name(name))).then_some(name)
    }

    /// Moves the windows of the lists in sight to their cursors, as little as they can.
    fn scroll_lists(&mut self) {
        let window = |pane: Pane, less: usize, top: usize, row: usize, total: usize| match self
            .layout
            .height(pane)
            .saturating_sub(less)
        {
            0 => top,
            height => {
                let least = (row + 1).saturating_sub(height);
                top.clamp(least, row).min(total.saturating_sub(height))
            }
        };
        let mut tops = self.tops;
        if let Some(tree) = self.tree() {
            if !self.transcript.is_on {
                // The last row is for the reply that is on its way.
                let reply = usize::from(!self.reply().is_empty());
                let row = tree.row_of(self.tree_row());
                tops.turns = window(Pane::Turns, reply, tops.turns, row, tree.rows());
            }
            let places = tree.places_in(self.turn());
            let row = tree.place_of_item(self.item).saturating_sub(places.start);
            let reply = self.reply_in_items().len();
            let reply = reply.min(self.layout.height(Pane::Items) / 2);
            tops.items = window(Pane::Items, reply, tops.items, row, places.len());
        }
        if self.left == Pane::Findings {
            let cursor = self.finding_row();
            let findings = list_findings(&self.checked).count();
            tops.findings = window(Pane::Findings, 0, tops.findings, cursor, findings);
        }
        let sessions = self.listed_sessions();
        let cursor = self.listed_session.min(sessions.saturating_sub(1));
        tops.sessions = window(Pane::Sessions, 0, tops.sessions, cursor, sessions);
        self.tops = tops;
    }

    /// The last rows of the transcript, which a reply has while it is being received: half of them at most.
    pub fn coming_rows(&self, area: Area) -> usize {
        let lines = self
            .live
            .streaming
            .as_ref()
            .map_or_else(Vec::new, reply::lines);
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let rows = lines.iter().rev().map(|line| line.rows(width).len());
        let mut sum = 0;
        let enough = rows.take_while(|rows| {
            sum += rows;
            sum < height / 2
        });
        enough.for_each(drop);
        sum.min(height / 2)
    }

    /// The parts of the reply that is on its way.
    pub fn reply(&self) -> Vec<ReplyPart> {
        let streaming = self.live.streaming.as_ref();
        streaming.map_or_else(Vec::new, reply::parts)
    }

    /// The same where the items of the last turn are shown, which it is a part of.
    pub fn reply_in_items(&self) -> Vec<ReplyPart> {
        match self.session() {
            Some(session) if self.turn() + 1 < session.turns.len() => Vec::new(),
            _ => self.reply(),
        }
    }

    /// The finding with the cursor in their list, else the worst about the item with the cursor.
    pub fn finding_here(&self) -> Option<&Finding> {
        match self.focus {
            Pane::Findings => self.checked()?.findings().get(self.finding),
            _ => self.worst_here(),
        }
    }

    /// The worst finding about the item with the cursor.
    pub fn worst_here(&self) -> Option<&Finding> {
        self.checked()?.worst(self.item)
    }

    /// Does something with the transcript of what is shown; nothing where it has no room.
    pub fn with_transcript<T>(
        &mut self,
        act: impl FnOnce(&mut Transcript, &transcript::ShownSession<'_>) -> T,
    ) -> Option<T> {
        let document = self.document.clone()?;
        let checked = self.checked.get(self.session).cloned().flatten();
        let totals = self.totals.as_ref();
        let totals = totals.filter(|(counted, _)| Arc::ptr_eq(counted, &document));
        let nested = NestedFacts {
            checked: &self.checked,
            totals: totals.map(|(_, all)| all),
            files: &self.sub_agents,
        };
        let needle = self.highlighted().cloned();
        let occurrence = self.occurrence_here().unwrap_or(0);
        let area = self.layout.area(Pane::Turns)?;
        let height = usize::from(area.height);
        let coming = self.coming_rows(area);
        let subject = transcript::ShownSession {
            session: document.session(self.session)?,
            sessions: &document.recording.sessions,
            number: self.session,
            shown: self.shown.as_ref(),
            checked: checked.as_deref(),
            prices: &self.prices,
            zone: &self.zone,
            nested,
            takes: &self.recovery.takes,
            turns_before: self.turns_before,
            mode: self.detail.mode,
            revision: self.revision,
            cursor: self.item,
            needle: needle.as_ref(),
            occurrence,
            result_rows: self.result_rows,
            size: (usize::from(area.width), height - coming),
        };
        Some(act(&mut self.transcript, &subject))
    }

    pub fn detail_width(&self) -> usize {
        self.layout
            .area(Pane::Detail)
            .map_or(80, |area| usize::from(area.inside().width))
    }

    fn prepare_detail(&mut self) {
        let place = self.place();
        let (width, height) = (self.detail_width(), self.layout.height(Pane::Detail));
        if self
            .detail
            .made_for
            .is_none_or(|made| (made.0, made.1) != (place, self.detail.mode))
        {
            self.detail.scroll = Scroll::default();
            self.detail.limit = FIRST_LOOK;
        }
        self.make_detail(place);
        while self.detail.left_out > 0
            && self.detail.limit < LONGEST_LOOK
            && self.detail.scroll.line + 2 * height.max(1) >= self.detail.lines.len()
            && self.detail.scroll.line > 0
        {
            self.detail.limit *= 8;
            self.make_detail(place);
        }
        if std::mem::take(&mut self.detail.seeks) {
            self.seek(place);
        }
        let detail = &mut self.detail;
        detail.scroll.stop_at_end(&detail.lines, width, height);
    }

    /// Moves the detail to the first line with the text that is searched for, reading on as far as that takes.
    fn seek(&mut self, place: Place) {
        let Some(needle) = self.needle.clone() else {
            return;
        };
        let wanted = self.occurrence_here().unwrap_or(0);
        loop {
            let is_all = self.detail.left_out == 0 || self.detail.limit >= LONGEST_LOOK;
            let found = self.find_in_detail(&needle, wanted);
            if found.is_ok() || is_all {
                // Rendering may leave out some of its places.
                self.detail.found = found.map_or_else(|last| last, Some);
                let line = self.detail.found.map_or(0, |(line, _)| line);
                self.detail.scroll = Scroll {
                    line: line.saturating_sub(ABOVE),
                    row: 0,
                };
                return;
            }
            self.detail.limit *= 8;
            self.make_detail(place);
        }
    }

    /// The line with this place of a text and which of those in it that is, else the last place there is.
    fn find_in_detail(
        &self,
        needle: &Needle,
        wanted: usize,
    ) -> Result<LinePlace, Option<LinePlace>> {
        let kind = self.item().map(|item| item.kind);
        let is_call = matches!(kind, Some(Kind::Call | Kind::HostedCall));
        let lines = self.detail.lines.iter().take(self.detail.own).enumerate();
        // The heading of a call has its name.
        let counted = lines.filter(|(line, _)| *line >= self.detail.body || is_call && *line == 0);
        let (mut before, mut last) = (0, None);
        for (number, line) in counted {
            let count = line.matches(needle);
            if wanted < before + count {
                return Ok((number, wanted - before));
            }
            before += count;
            last = count.checked_sub(1).map(|nth| (number, nth)).or(last);
        }
        Err(last)
    }

    fn make_detail(&mut self, place: Place) {
        let (width, detail) = (self.detail_width(), &self.detail);
        let made_for = Some((place, detail.mode, detail.limit, self.revision, width));
        if self.detail.made_for == made_for {
            return;
        }
        let Some(document) = self.document.clone() else {
            return;
        };
        let Some(session) = document.session(self.session) else {
            return;
        };
        let checked = self.checked.get(self.session).and_then(Option::as_deref);
        let findings = checked.map_or(&[][..], |checked| checked.of_item(self.item));
        let violations = detail::violations(session, self.item, findings);
        let at = session.items.get(self.item).map(|item| item.span.start);
        let subject = detail::DetailSubject {
            session,
            index: self.item,
            findings,
            violations: &violations,
            note: at.and_then(|at| self.recovery.takes.note(at)),
            decided: self.recovery.takes.decided(place).collect(),
            limit: self.detail.limit,
            mode: self.detail.mode,
            width,
        };
        let composed = detail::compose(&subject);
        self.detail.lines = composed.lines;
        self.detail.left_out = composed.left_out;
        self.detail.body = composed.body;
        self.detail.own = composed.own;
        self.detail.found = None;
        self.detail.made_for = made_for;
    }

    /// Reads the item as far as it is ever shown, to get to its end.
    pub fn read_detail_to_end(&mut self) {
        self.detail.limit = LONGEST_LOOK;
        self.make_detail(self.place());
    }
}

impl Screen for State {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn context(&self) -> Context {
        match self.focus {
            Pane::Turns | Pane::Items => Context::Browse,
            Pane::Detail => Context::Detail,
            Pane::Findings | Pane::Sessions => Context::List,
        }
    }

    fn has_use(&self, command: Command) -> bool {
        self.exchange.is_some() || !matches!(command, Command::Intercept | Command::Views)
    }

    fn first_groups(&self) -> &'static [Group] {
        match self.live.has_news() {
            true => &[Group::Live, Group::Recover],
            false => &[],
        }
    }

    fn edit(&mut self, text: String) {
        self.effects.push(Effect::Edit(text));
    }
}

impl Stops for State {
    const EXAMPLES: &'static str = "tool search_*, arg .n > 9, once turn 5";

    fn breakpoints(&self) -> &[Breakpoint] {
        &self.live.breakpoints
    }

    fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>) {
        self.live.breakpoints.clone_from(&breakpoints);
        let command = LiveCommand::SetBreakpoints(breakpoints);
        self.effects.push(Effect::Live(command));
    }

    fn say(&mut self, words: String) {
        self.notice = Some(words);
    }
}
