//! The list of exchanges as the operator has it before him: plain data, without a terminal. News and keys go
//! in, effects come out.

use super::rows::holds;
use super::rows::{Rows, is_held};
use super::{ProxyInfo, words};
use crate::tui::copy;
use crate::tui::effect::Effect;
use crate::tui::filter::{self, Terms};
use crate::tui::keymap::{Context, Direction};
use crate::tui::list::ListCursor;
use crate::tui::live::breakpoints::Stops;
use crate::tui::prompt::{Prompt, search_prompt};
use crate::tui::stack::{Layers, Screen};
use retake_core::engine::Breakpoint;
use retake_core::exchange::{ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::safe_text::SafeText;
use retake_live::proxy::{ProxyCommand, ProxyNews};
use retake_live::search::Needle;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// How many events the log keeps, and how many lines of the agent.
pub(super) const EVENTS: usize = 2000;

/// Adds an event to the newest ones.
pub(super) fn push_event<T>(events: &mut VecDeque<T>, event: T) {
    if events.len() >= EVENTS {
        events.pop_front();
    }
    events.push_back(event);
}
/// Of how many exchanges it is remembered what was decided, and where their journals are.
const REMEMBERED: usize = 1000;
/// For how many milliseconds the list counts as just come back.
const SETTLES: u64 = 3000;
/// How many bytes of a line are kept.
const LINE: usize = 4000;

/// Something that has happened.
#[derive(Debug, Clone)]
pub(super) struct ExchangeEvent {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub is_trouble: bool,
    /// It holds text from outside.
    pub words: String,
}

/// The agent that the proxy has started.
#[derive(Debug, Default)]
pub(super) struct Child {
    pub lines: VecDeque<String>,
    /// Its end with its exit code, where it has one.
    pub ended: Option<Option<i32>>,
    pub is_shown: bool,
}

/// The list of exchanges.
#[derive(Debug)]
pub struct ExchangeBoard {
    pub(super) about: ProxyInfo,
    pub(super) rows: Rows,
    pub(super) cursor: ListCursor,
    /// Whether the cursor goes with the newest exchange.
    pub(super) follows: bool,
    /// Each listener with its upstream.
    pub(super) listeners: Vec<(String, String)>,
    pub(super) is_intercepting: bool,
    pub(super) breakpoints: Vec<Breakpoint>,
    pub(super) log: VecDeque<ExchangeEvent>,
    pub(super) child: Child,
    pub(super) layers: Layers<Self>,
    /// What is wanted since the last key.
    pub(super) effects: Vec<Effect>,
    pub(super) notice: Option<String>,
    pub(super) find: Prompt,
    pub(super) filter: Prompt,
    /// The filter that is applied, as it was written.
    pub(super) applied: String,
    needle: Option<Needle>,
    /// What was decided last, in words.
    decided: BTreeMap<ExchangeId, String>,
    journals: BTreeMap<ExchangeId, PathBuf>,
    /// How many clients are connected.
    pub(super) clients: usize,
    /// When the list came back without a key.
    came_back: Option<u64>,
    /// What time it is, in milliseconds since 1970.
    pub(super) now: u64,
}

impl ExchangeBoard {
    pub fn new(about: ProxyInfo) -> Self {
        Self {
            is_intercepting: about.is_intercepting,
            breakpoints: about.breakpoints.clone(),
            about,
            rows: Rows::default(),
            cursor: ListCursor::default(),
            follows: true,
            listeners: Vec::new(),
            log: VecDeque::new(),
            child: Child::default(),
            layers: Layers::default(),
            effects: Vec::new(),
            notice: None,
            find: search_prompt("/", "a text, or /expression/"),
            filter: Prompt::new(
                "filter",
                "held  error  rule:  tool:  model:  status:  !not  ~fuzzy",
            )
            .with_terms(filter::key_entries::<ExchangeSummary>()),
            applied: String::new(),
            needle: None,
            decided: BTreeMap::new(),
            journals: BTreeMap::new(),
            clients: 0,
            came_back: None,
            now: 0,
        }
    }

    /// Says what time it is, in milliseconds since 1970.
    pub fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// The list has the screen again, and no key brought it back.
    pub fn come_back(&mut self) {
        self.came_back = Some(self.now);
    }

    /// Whether that was a moment ago: what is pressed now may be meant for what lay over it.
    pub(super) fn has_just_come_back(&self) -> bool {
        let since = self.came_back.map(|at| self.now.saturating_sub(at));
        since.is_some_and(|since| since < SETTLES)
    }

    /// Whether something on the screen changes as time goes by.
    pub fn counts(&self) -> bool {
        self.rows.totals().open > 0
    }

    /// Takes news, many at once.
    pub fn hear(&mut self, news: Vec<ProxyNews>) {
        let at = self.here();
        let mut seen = Vec::new();
        for news in news {
            match news {
                ProxyNews::Exchange(exchange) => seen.push(exchange),
                other => self.take_note(other),
            }
        }
        for exchange in &seen {
            self.note_change(exchange);
        }
        self.rows.learn(seen);
        self.put_cursor(at);
    }

    fn take_note(&mut self, news: ProxyNews) {
        match news {
            ProxyNews::Listening {
                address, upstream, ..
            } => {
                self.note(false, format!("{address} listens for {upstream}"));
                // What only this machine can reach is named by its port.
                let short = match address.ip().is_loopback() {
                    true => format!(":{}", address.port()),
                    false => address.to_string(),
                };
                self.listeners.push((short, upstream));
            }
            ProxyNews::Decided {
                id,
                rule,
                action,
                by,
                wording,
                text_sent: _,
            } => {
                let words = words::decision(by, &action, rule.as_deref(), wording.as_deref());
                self.note(false, format!("exchange {id}: {words}"));
                remember(&mut self.decided, id, words);
            }
            ProxyNews::Journal { id, path } => remember(&mut self.journals, id, path),
            ProxyNews::Notice(words) => {
                self.note(true, words.clone());
                self.notice = Some(words);
            }
            ProxyNews::Output { text: line, .. } => {
                push_event(&mut self.child.lines, shortened(line));
            }
            ProxyNews::AgentEnded(status) => {
                let code = status.code();
                self.child.ended = Some(code);
                let words = self.child_words();
                self.note(code != Some(0), words.clone());
                self.notice = Some(words);
            }
            // The findings are in the exchange; what they were found in is loaded when it is opened.
            ProxyNews::Exchange(_) | ProxyNews::Found { .. } => {}
        }
    }

    /// Enters in the log what became of an exchange.
    fn note_change(&mut self, seen: &ExchangeSummary) {
        let was = self.rows.of(seen.id).map(|seen| &seen.phase);
        let Some((is_trouble, words)) = words::change(seen, was) else {
            return;
        };
        if is_held(seen) && self.decided.contains_key(&seen.id) {
            // Its last notice, that it goes on, is outdated.
            self.notice = Some(words.clone());
        }
        self.note(is_trouble, words);
    }

    /// What came of an exchange for its agent, in a sentence.
    pub fn outcome(&self, seen: &ExchangeSummary) -> String {
        words::outcome(seen, self.decided(seen.id))
    }

    /// Who did what about an exchange last: `the policy: inject-error for unknown-tool`.
    pub fn decided(&self, id: ExchangeId) -> Option<&str> {
        self.decided.get(&id).map(String::as_str)
    }

    /// How the agent is doing that the proxy has started.
    pub(super) fn child_words(&self) -> String {
        let name = self.about.child.as_deref().unwrap_or("the agent");
        match self.child.ended {
            None => format!("{name} is running"),
            Some(Some(0)) => format!("{name} has ended"),
            Some(Some(code)) => format!("{name} has ended with exit code {code}"),
            Some(None) => format!("{name} was ended by a signal"),
        }
    }

    pub(super) fn is_child_running(&self) -> bool {
        self.about.child.is_some() && self.child.ended.is_none()
    }

    fn note(&mut self, is_trouble: bool, words: String) {
        let event = ExchangeEvent {
            at_ms: self.now,
            is_trouble,
            words: shortened(words),
        };
        push_event(&mut self.log, event);
    }

    /// Tells the operator something.
    pub fn tell(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// The exchange with the cursor.
    pub fn here(&self) -> Option<ExchangeId> {
        self.seen_here().map(|seen| seen.id)
    }

    pub(super) fn seen_here(&self) -> Option<&Arc<ExchangeSummary>> {
        self.rows.get(self.cursor.get())
    }

    /// What is known of an exchange.
    pub fn of(&self, id: ExchangeId) -> Option<&Arc<ExchangeSummary>> {
        self.rows.of(id)
    }

    pub fn held_besides(&self, id: ExchangeId) -> usize {
        self.rows.held().filter(|seen| seen.id != id).count()
    }

    /// Whether anything is held at all.
    pub fn is_intercepting(&self) -> bool {
        self.is_intercepting
    }

    /// Takes note of a command that was given elsewhere.
    pub fn sent(&mut self, command: &ProxyCommand) {
        match command {
            ProxyCommand::Intercept(on) => self.is_intercepting = *on,
            ProxyCommand::Breakpoints(breakpoints) => self.breakpoints.clone_from(breakpoints),
            ProxyCommand::Release(_)
            | ProxyCommand::ReleaseAll
            | ProxyCommand::Cut(_)
            | ProxyCommand::Replay(_) => {}
        }
    }

    pub(super) fn journal(&self, id: ExchangeId) -> Option<&PathBuf> {
        self.journals.get(&id)
    }

    /// Puts the cursor on the newest exchange, or back on the one that it was on.
    pub(super) fn put_cursor(&mut self, at: Option<ExchangeId>) {
        let last = self.rows.len().saturating_sub(1);
        let row = match at {
            Some(id) if !self.follows => self.rows.row_of(id),
            _ if self.follows => last,
            _ => self.cursor.get().min(last),
        };
        self.cursor.set(row);
    }

    /// Puts the cursor on an exchange, and takes a filter away that hides it.
    pub(super) fn go_to(&mut self, id: ExchangeId) {
        let is_there = |board: &Self| {
            let row = board.rows.row_of(id);
            board.rows.get(row).is_some_and(|seen| seen.id == id)
        };
        if !is_there(self) {
            self.apply(Terms::default(), "");
        }
        self.follows = false;
        self.put_cursor(Some(id));
    }

    /// Shows what a filter lets through.
    pub(super) fn apply(&mut self, terms: Terms, written: &str) {
        let at = self.here();
        self.rows.filter(terms);
        written.clone_into(&mut self.applied);
        self.put_cursor(at);
    }

    /// The next or previous exchange of which something is true, around the end.
    pub(super) fn seek(
        &mut self,
        direction: Direction,
        is_meant: impl Fn(&ExchangeSummary) -> bool,
    ) -> bool {
        let (count, here) = (self.rows.len(), self.cursor.get());
        let steps = (1..=count).map(|step| match direction {
            Direction::Forward => (here + step) % count,
            Direction::Backward => (here + count - step) % count,
        });
        let found = steps
            .into_iter()
            .find(|row| self.rows.get(*row).is_some_and(|seen| is_meant(seen)));
        if let Some(row) = found {
            self.cursor.set(row);
            self.follows = false;
        }
        found.is_some()
    }

    /// The next or previous exchange that is held, whatever the filter hides.
    pub(super) fn seek_held(&mut self, direction: Direction) {
        if self.seek(direction, is_held) {
            return;
        }
        let first = self.rows.held().next().map(|seen| seen.id);
        match first {
            Some(id) => self.go_to(id),
            None => self.tell("nothing is held"),
        }
    }

    pub(super) fn look_for(&mut self, text: &str) {
        match Needle::parse(text) {
            Ok(needle) => {
                self.needle = Some(needle);
                self.next_hit(Direction::Forward);
            }
            Err(error) => self.tell(error.to_string()),
        }
    }

    pub(super) fn next_hit(&mut self, direction: Direction) {
        let Some(needle) = self.needle.clone() else {
            return self.tell("no search text yet: / enters one");
        };
        if !self.seek(direction, |seen| holds(&needle, seen)) {
            self.tell("no exchange in the list holds this text");
        }
    }

    /// The lines that point agents at the proxy, as they can be copied.
    pub(super) fn connect_lines(&self) -> String {
        let mut lines = self.about.connect.join("\n");
        lines.push('\n');
        lines
    }

    /// The footer of the exchange with the cursor.
    pub(super) fn status(&self) -> Option<SafeText> {
        let seen = self.seen_here()?;
        let worst = words::ranked(seen).into_iter().next();
        let words = match (&seen.phase, worst, seen.notes.last()) {
            (ExchangePhase::Held(holding), _, _) if holding.is_gone => {
                "the client left: nothing to decide unless it sends the request again".to_owned()
            }
            (ExchangePhase::Held(holding), _, _) => {
                let what = match holding.is_request {
                    true => "the request is held",
                    false => "held",
                };
                let until = match holding.until_ms {
                    Some(_) => format!(
                        "released unchanged in {}",
                        words::countdown(holding, self.now)
                    ),
                    None => "kept alive".to_owned(),
                };
                // What is wrong comes first: it is what is decided about.
                format!("{} ({what}, {until})", holding.why)
            }
            // What was done about it is seen as long as the exchange is.
            (ExchangePhase::Ended(_), ..) if self.decided(seen.id).is_some() => self.outcome(seen),
            (_, Some(found), _) => format!("{}  {}", found.rule, found.message),
            (_, _, Some(note)) => note.clone(),
            (ExchangePhase::Ended(ending), ..)
                if words::is_trouble(ending) || words::error_status(seen).is_some() =>
            {
                words::outcome(seen, None)
            }
            _ => return None,
        };
        Some(SafeText::single_line(&words, copy::LIMIT.min(LINE)))
    }
}

impl Screen for ExchangeBoard {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn context(&self) -> Context {
        Context::Exchanges
    }

    /// Nothing that lies over the list is edited outside.
    fn edit(&mut self, _: String) {}
}

impl Stops for ExchangeBoard {
    const EXAMPLES: &'static str = "tool search_*, arg .n > 9, rule tool-error";

    fn breakpoints(&self) -> &[Breakpoint] {
        &self.breakpoints
    }

    fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>) {
        self.breakpoints.clone_from(&breakpoints);
        let command = ProxyCommand::Breakpoints(breakpoints);
        self.effects.push(Effect::Proxy(command));
    }

    fn say(&mut self, words: String) {
        self.notice = Some(words);
    }
}

fn remember<T>(known: &mut BTreeMap<ExchangeId, T>, id: ExchangeId, value: T) {
    known.insert(id, value);
    while known.len() > REMEMBERED {
        known.pop_first();
    }
}

fn shortened(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(LINE));
    words
}
