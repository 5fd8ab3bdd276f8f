//! The only definition of a pair and of an orphan.
//!
//! An output answers a call of its own [`Family`] with the same id. Ids come back in real recordings, so an
//! output takes the nearest call before it that is still open; what is left over is matched with calls that
//! come later (a result written before its call), and only what is then left alone is an orphan. Nothing pairs
//! across a compaction: the provider sees one side only.
//!
//! Where ids are missing (legacy `function_call`, Gemini) calls and outputs pair by name and order; in Gemini
//! also where only one of the two has an id. Which places a provider accepts for a pair is not decided here
//! but in [`crate::wire`].

use super::contract::{Contract, Keyed, NameId, Names};
use super::fragment::ProxiedExchange;
use super::item::{CallId, Dialect, Family, Flags, Item, Kind, Record, ToolRun, index_number};
use super::ledger;
use super::source::{Source, SourceError};
use super::turn::{Speaker, Turn, number_turns};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// One run, or one branch of it, as a file holds it.
#[derive(Debug, Clone)]
pub struct Session {
    /// Where the bytes of the items are.
    pub source: Arc<dyn Source>,
    /// The text that edits change, where the items were made of its records and do not stand in it as they are.
    pub file: Option<Arc<dyn Source>>,
    /// Id of the format that read it, as `openai-chat`.
    pub format: &'static str,
    /// How the recorded provider spells things.
    pub dialect: Dialect,
    /// What tells this session from the others of its file: a session id, a task, "side chain 2". Empty where
    /// a file holds one.
    pub label: String,
    /// The model's name where it is recorded; the last of several.
    pub model: Option<String>,
    /// The models by the item from which each answers, where a recording names them apart from their replies.
    pub models: Vec<(u32, Arc<str>)>,
    /// What the run may do.
    pub contract: Contract,
    /// The tool and function names that items refer to; the sessions of one file share them.
    pub names: Arc<Names>,
    /// The records (lines, array elements) that hold the items, in file order; the sessions of
    /// one file share them.
    pub records: Arc<[Record]>,
    /// What happened, in the order of the history (which may differ from the order in the file).
    pub items: Vec<Item>,
    /// The replies and the messages between them.
    pub turns: Vec<Turn>,
    /// Which output answers which call.
    pub pairing: Pairing,
    /// Whether this is the history that the run would go on from; side chains and abandoned branches are not.
    pub active: bool,
    /// Whether its last reply was repaired in transit: the client got another one, which is the history that
    /// the run continues from.
    pub was_repaired: bool,
    /// The exchanges that it was put together from, where a proxy recorded them.
    pub exchanges: Vec<ProxiedExchange>,
    /// Which conversation of its file it shows a side of, the agent's or the provider's; 0 for none.
    pub conversation: u32,
    /// Why the last reply ended, in the provider's words: `length`, `max_tokens`, `refusal`, ... by item index.
    pub stops: Vec<TurnStop>,
    /// Why calls failed, by the index of the output that says so, where a run of retake itself knows.
    pub failures: BTreeMap<u32, ledger::CallFailure>,
    /// When tools ran, by the index of the call, where the recording says so apart from its messages.
    pub tool_runs: BTreeMap<u32, ToolRun>,
    /// How the run stood that it is the history of, where it was read from the run's journal.
    pub run: Option<ledger::RunState>,
}

impl Session {
    /// A session without items.
    pub fn empty(source: Arc<dyn Source>, format: &'static str, dialect: Dialect) -> Self {
        Self {
            source,
            file: None,
            format,
            dialect,
            label: String::new(),
            model: None,
            models: Vec::new(),
            contract: Contract::default(),
            names: Arc::default(),
            records: Arc::default(),
            items: Vec::new(),
            turns: Vec::new(),
            pairing: Pairing::default(),
            active: true,
            was_repaired: false,
            exchanges: Vec::new(),
            conversation: 0,
            stops: Vec::new(),
            failures: BTreeMap::new(),
            tool_runs: BTreeMap::new(),
            run: None,
        }
    }

    /// Numbers the turns and pairs calls with outputs; to be called once the items stand in the
    /// order of the history.
    pub fn link(&mut self) {
        self.turns = number_turns(&mut self.items, &self.records);
        self.pairing = pair(self);
    }

    /// The last turn in which the model or the user speaks: a recording may end in the middle of it.
    pub fn last_spoken_turn(&self) -> Option<usize> {
        let speaks = |turn: &Turn| matches!(turn.speaker, Speaker::Model | Speaker::User);
        self.turns.iter().rposition(speaks)
    }

    /// Whether its items stand in `source`: those of a captured stream and of a database stand in a buffer that
    /// was made for them.
    pub fn stands_in(&self, source: &Arc<dyn Source>) -> bool {
        let address = |source: &Arc<dyn Source>| Arc::as_ptr(source).cast::<()>();
        address(&self.source) == address(source)
    }

    pub fn bytes(&self, item: &Item) -> Result<Vec<u8>, SourceError> {
        self.source.read(item.span)
    }

    /// The call id of an item as text; empty where there is none.
    pub fn call_id(&self, item: &Item) -> Result<String, SourceError> {
        let Some(span) = item.call_id.span(item.span) else {
            return Ok(String::new());
        };
        let inside = self.source.read(span)?;
        Ok(crate::json::display_text(&inside).into_owned())
    }

    /// The tool name of an item; empty where there is none.
    pub fn name(&self, item: &Item) -> &str {
        self.names.text(item.name)
    }

    /// How many items of a kind the session holds.
    pub fn count(&self, kind: Kind) -> usize {
        self.items.iter().filter(|item| item.kind == kind).count()
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnStop {
    /// Index of the last item of the reply.
    pub item: u32,
    /// The provider's word, as `max_tokens`.
    pub reason: std::borrow::Cow<'static, str>,
}

impl TurnStop {
    /// Whether a token limit cut the reply: Chat, Anthropic (two), Responses, Gemini, Bedrock and Vercel
    /// (as Anthropic and Chat).
    pub fn is_token_limit(&self) -> bool {
        matches!(
            &*self.reason,
            "length"
                | "max_tokens"
                | "max_output_tokens"
                | "model_context_window_exceeded"
                | "MAX_TOKENS"
                | "model_length"
        )
    }
}

/// Which output answers which call, by item index.
#[derive(Debug, Clone, Default)]
pub struct Pairing {
    standings: Vec<PairStatus>,
}

/// Whether an item has a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStatus {
    /// It is not part of a pair.
    Alone,
    /// It has its partner.
    Paired(u32),
    /// A call whose session ends before its output, or that awaits a decision.
    Pending,
    /// A call without output, or an output without call, inside the history.
    Orphan,
    /// A further output for a call that was answered already; the number is the call.
    Duplicate(u32),
    /// The partner is on the other side of a compaction.
    Severed(u32),
}

impl Pairing {
    pub fn standing(&self, index: usize) -> PairStatus {
        self.standings
            .get(index)
            .copied()
            .unwrap_or(PairStatus::Alone)
    }

    /// The other half of the pair, of whatever kind.
    pub fn partner(&self, index: usize) -> Option<usize> {
        match self.standing(index) {
            PairStatus::Paired(partner)
            | PairStatus::Duplicate(partner)
            | PairStatus::Severed(partner) => Some(partner as usize),
            PairStatus::Alone | PairStatus::Pending | PairStatus::Orphan => None,
        }
    }
}

/// Pairs the items of a session whose turns are numbered.
pub fn pair(session: &Session) -> Pairing {
    let mut matcher = Matcher::new(&session.items);
    for (index, item) in session.items.iter().enumerate() {
        match role_of(item.kind) {
            Role::Asks => matcher.ask(index, item),
            Role::Answers => matcher.answer(index, item),
            Role::Neither if item.kind == Kind::Compaction => matcher.cut(),
            Role::Neither => {}
        }
    }
    matcher.match_late_calls();
    Pairing {
        standings: matcher.finish(session),
    }
}

/// The same for a session that was paired before it was known to go on: its last calls wait for their outputs.
pub fn wait_at_end(session: &mut Session) {
    let last = session.last_spoken_turn();
    let Some(turn) = last.and_then(|last| session.turns.get(last)) else {
        return;
    };
    for index in turn.items() {
        let is_call = session.items[index].kind == Kind::Call;
        match session.pairing.standings.get_mut(index) {
            Some(standing @ PairStatus::Orphan) if is_call => *standing = PairStatus::Pending,
            _ => {}
        }
    }
}

enum Role {
    Asks,
    Answers,
    Neither,
}

fn role_of(kind: Kind) -> Role {
    match kind {
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => Role::Asks,
        Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => Role::Answers,
        Kind::System
        | Kind::User
        | Kind::Assistant
        | Kind::Reasoning
        | Kind::Compaction
        | Kind::ToolDefinitions
        | Kind::Notice
        | Kind::Other
        | Kind::Unreadable => Role::Neither,
    }
}

/// What a call and its output have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Id(Family, u64),
    Name(Family, NameId),
    Order(Family),
}

/// The key by which an item finds its partner. Hosted calls of all kinds share one family, as their results do;
/// in Chat a `tool` message answers custom calls and function calls alike.
fn key_of(item: &Item) -> Key {
    let family = match item.family {
        Family::Custom if item.facts().is_some_and(|facts| facts.plain_outputs) => Family::Function,
        family => family,
    };
    match (family, item.call_id) {
        (Family::Legacy, _) => Key::Name(Family::Legacy, item.name),
        (family, CallId { hash: 0, .. }) => Key::Order(family),
        (family, id) => Key::Id(family, id.hash),
    }
}

/// The key by which an item is found that answers, or is answered by, one without an id, where outputs name tools.
fn name_of(item: &Item) -> Option<Key> {
    let is_named = item.facts().is_some_and(|facts| facts.names_outputs);
    (is_named && item.family == Family::Function).then_some(Key::Name(Family::Function, item.name))
}

struct Matcher<'a> {
    items: &'a [Item],
    standings: Vec<PairStatus>,
    /// Calls without output so far.
    open: HashMap<Key, Waiting, Keyed>,
    /// The last call with this key that has its output.
    answered: HashMap<Key, u32, Keyed>,
    /// Calls that stand before the last compaction.
    severed: HashMap<Key, u32, Keyed>,
    /// Outputs that found no call before them.
    early: Vec<u32>,
}

impl<'a> Matcher<'a> {
    fn new(items: &'a [Item]) -> Self {
        Self {
            items,
            standings: vec![PairStatus::Alone; items.len()],
            open: HashMap::default(),
            answered: HashMap::default(),
            severed: HashMap::default(),
            early: Vec::new(),
        }
    }

    fn ask(&mut self, index: usize, item: &Item) {
        self.standings[index] = PairStatus::Orphan;
        for key in std::iter::once(key_of(item)).chain(name_of(item)) {
            self.open
                .entry(key)
                .or_default()
                .push(index_number(index), item.turn);
        }
    }

    fn answer(&mut self, index: usize, item: &Item) {
        let key = key_of(item);
        if let Some(call) = self.take(key).or_else(|| self.take_named(item)) {
            self.join(call, index_number(index));
            self.answered.insert(key, call);
        } else if let (Key::Id(..), Some(call)) = (key, self.answered.get(&key)) {
            self.standings[index] = PairStatus::Duplicate(*call);
        } else {
            self.early.push(index_number(index));
            self.standings[index] = PairStatus::Orphan;
        }
    }

    /// The call that an answer with this key belongs to. Keys without calls leave the table, which stays as
    /// small as what is open.
    fn take(&mut self, key: Key) -> Option<u32> {
        loop {
            let Entry::Occupied(mut entry) = self.open.entry(key) else {
                return None;
            };
            let call = entry.get_mut().take();
            if entry.get().last().is_none() {
                entry.remove();
            }
            // What waits under two keys may have its output by the other one.
            let is_open = |call: &u32| self.standings[*call as usize] == PairStatus::Orphan;
            if call.is_none_or(|call| is_open(&call)) {
                return call;
            }
        }
    }

    /// The call that an output belongs to by its name, where one of the two has an id and the other none.
    fn take_named(&mut self, answer: &Item) -> Option<u32> {
        if !answer.facts().is_some_and(|facts| facts.names_outputs) {
            return None;
        }
        let is_legacy = answer.family == Family::Legacy;
        let other = if is_legacy {
            Family::Function
        } else {
            Family::Legacy
        };
        self.take(Key::Name(other, answer.name))
    }

    fn join(&mut self, call: u32, output: u32) {
        self.standings[call as usize] = PairStatus::Paired(output);
        self.standings[output as usize] = PairStatus::Paired(call);
    }

    /// A compaction: what is open stays open on the other side, and ids start anew.
    fn cut(&mut self) {
        self.match_late_calls();
        // Taken and not drained: to drain an empty table that was large costs as much as it was large, at
        // each of many marks.
        for (key, calls) in std::mem::take(&mut self.open) {
            if let Some(call) = calls.last() {
                self.severed.insert(key, call);
            }
        }
        self.severed.extend(std::mem::take(&mut self.answered));
    }

    /// Gives outputs that stood before their call to the calls that are still open.
    fn match_late_calls(&mut self) {
        for output in std::mem::take(&mut self.early) {
            let key = key_of(&self.items[output as usize]);
            // A call before the output would have taken it at once, so whatever is open now comes later.
            let late = self.take(key);
            if let (Some(call), Key::Id(..)) = (late, key) {
                self.join(call, output);
                self.answered.insert(key, call);
            } else if let Some(call) = self.severed.get(&key) {
                self.standings[output as usize] = PairStatus::Severed(*call);
                if self.standings[*call as usize] == PairStatus::Orphan {
                    self.standings[*call as usize] = PairStatus::Severed(output);
                }
            }
        }
    }

    /// Tells what waits from what is lost, and lets hosted calls and decisions stand alone.
    fn finish(mut self, session: &Session) -> Vec<PairStatus> {
        let last_spoken = session.last_spoken_turn();
        for (index, (standing, item)) in self.standings.iter_mut().zip(self.items).enumerate() {
            if *standing != PairStatus::Orphan {
                continue;
            }
            let at_end = last_spoken == Some(item.turn as usize) && session.contract.may_go_on();
            let is_last = |name| session.contract.ends_run(index_number(index), name);
            *standing = match item.kind {
                Kind::Call if item.flags.has(Flags::ENDS_RUN) => PairStatus::Alone,
                Kind::Call if at_end && is_last(session.name(item)) => PairStatus::Alone,
                Kind::Call if item.flags.has(Flags::AWAITS_APPROVAL) || at_end => {
                    PairStatus::Pending
                }
                Kind::ApprovalRequest => PairStatus::Pending,
                Kind::Call | Kind::Output => PairStatus::Orphan,
                _ => PairStatus::Alone,
            };
        }
        self.standings
    }
}

/// The calls of one key that wait, by turn. Nearly always there is one, which needs no list.
#[derive(Default)]
struct Waiting {
    only: Option<(u32, u32)>,
    by_turn: Vec<(u32, VecDeque<u32>)>,
}

impl Waiting {
    fn push(&mut self, call: u32, turn: u32) {
        if self.only.is_none() && self.by_turn.is_empty() {
            self.only = Some((call, turn));
            return;
        }
        if let Some((first, its_turn)) = self.only.take() {
            self.by_turn.push((its_turn, VecDeque::from([first])));
        }
        match self.by_turn.last_mut() {
            Some((last, calls)) if *last == turn => calls.push_back(call),
            _ => self.by_turn.push((turn, VecDeque::from([call]))),
        }
    }

    /// The first call of the newest turn.
    fn take(&mut self) -> Option<u32> {
        if let Some((call, _)) = self.only.take() {
            return Some(call);
        }
        let (_, calls) = self.by_turn.last_mut()?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.by_turn.pop();
        }
        call
    }

    fn last(&self) -> Option<u32> {
        let listed = || {
            self.by_turn
                .last()
                .and_then(|(_, calls)| calls.back().copied())
        };
        self.only.map(|(call, _)| call).or_else(listed)
    }
}

#[cfg(test)]
mod tests;
