//! From records in file order to sessions: the part that all formats without a graph share.

use super::format::Contents;
use crate::session::{
    Dialect, Fact, Flags, Fragment, Item, Kind, Meaning, Names, OutputSchema, Problem, ProblemKind,
    Record, Session, Source, SourceResult, Span, ToolSet, TurnStop, index_number,
};
use crate::wire::body_without_reasoning;
use crate::wire::tools::read_tools;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Builds the sessions of a file whose records stand in the order of the history.
///
/// Requests that repeat the history so far are folded into it, so that a log of exchanges reads as one run.
pub fn assemble_plain(
    format: &'static str,
    dialect: Dialect,
    fragment: Fragment,
    source: &Arc<dyn Source>,
) -> SourceResult<Contents> {
    let Fragment {
        items,
        facts,
        names,
        records,
        ..
    } = fragment;
    let mut builder = Builder::new(format, dialect, source, records.into());
    builder.take(items, &facts)?;
    builder.finish(&Arc::new(names))
}

/// A history whose repetitions were taken out already: one of several in a file.
pub(super) struct Folded {
    pub(super) dialect: Dialect,
    pub(super) label: String,
    pub(super) items: Vec<Item>,
    /// What was said about it, each with the number of items before it.
    pub(super) facts: Vec<(u32, Fact)>,
}

/// Builds the session of such a history; `None` where there is nothing of it.
pub(super) fn assemble_folded(
    format: &'static str,
    folded: Folded,
    (records, names): (&Arc<[Record]>, &Arc<Names>),
    source: &Arc<dyn Source>,
) -> SourceResult<Contents> {
    let mut builder = Builder::new(format, folded.dialect, source, records.clone());
    builder.is_folded = true;
    builder.take(folded.items, &folded.facts)?;
    builder.current.label = folded.label;
    builder.finish(names)
}

/// Gives a session whose file holds several dialects the one of its first item that has any.
pub(super) fn take_dialect_of_items(session: &mut Session) {
    let mut items = session.items.iter();
    let dialect = items.find_map(|item| item.dialect);
    session.dialect = dialect.unwrap_or(session.dialect);
}

struct Builder<'a> {
    source: &'a Arc<dyn Source>,
    records: Arc<[Record]>,
    format: &'static str,
    dialect: Dialect,
    done: Vec<Session>,
    problems: Vec<Problem>,
    current: Session,
    /// The request that is being read, where one is.
    request: Option<Request>,
    /// The conversations that the requests of the file belong to.
    conversations: Conversations,
    /// Whether the body that is read now is a reply.
    replied: bool,
    /// The model that was named last.
    model: Option<String>,
    /// System prompts of the session at hand that follow its messages.
    late_system: Vec<Item>,
    last_tools: u64,
    /// Whether requests hold nothing that is before them.
    is_folded: bool,
}

impl<'a> Builder<'a> {
    fn new(
        format: &'static str,
        dialect: Dialect,
        source: &'a Arc<dyn Source>,
        records: Arc<[Record]>,
    ) -> Self {
        Self {
            source,
            records,
            format,
            dialect,
            done: Vec::new(),
            problems: Vec::new(),
            current: Session::empty(source.clone(), format, dialect),
            request: None,
            conversations: Conversations::default(),
            replied: false,
            model: None,
            late_system: Vec::new(),
            last_tools: 0,
            is_folded: false,
        }
    }

    /// Takes the items with what was said between them.
    fn take(&mut self, items: Vec<Item>, facts: &[(u32, Fact)]) -> SourceResult<()> {
        let (before, during) = facts.split_at(facts.partition_point(|(at, _)| *at == 0));
        for (_, fact) in before {
            self.fact(fact)?;
        }
        let mut during = during.iter().peekable();
        let is_interrupted = during
            .peek()
            .is_some_and(|(at, _)| (*at as usize) < items.len());
        if self.takes_all(&items) && !is_interrupted {
            // A list without anything between its items: they are a session as they are, and
            // need not be copied.
            self.current.items = items;
        } else {
            for (index, item) in items.iter().enumerate() {
                while let Some((_, fact)) = during.next_if(|(at, _)| *at as usize <= index) {
                    self.fact(fact)?;
                }
                self.item(*item)?;
            }
        }
        for (_, fact) in during {
            self.fact(fact)?;
        }
        match self.request.take() {
            Some(request) => self.join(request),
            None => Ok(()),
        }
    }

    /// Whether each of these items would be taken as it is.
    fn takes_all(&self, items: &[Item]) -> bool {
        !self.conversations.has_begun() && !items.iter().skip(1).any(|item| self.is_apart(item))
    }

    fn item(&mut self, item: Item) -> SourceResult<()> {
        if let Some(request) = &mut self.request {
            request.entries.push(Entry::Item(item));
            return Ok(());
        }
        if self.conversations.has_begun() {
            let meaning = self.meaning(&item)?;
            self.conversations.reply_with(meaning);
        } else if self.is_late_system(&item) {
            self.late_system.push(item);
            return Ok(());
        }
        self.current.items.push(item);
        Ok(())
    }

    /// Whether it is the system prompt of a document that follows the messages: a member of its own,
    /// whose order means nothing.
    fn is_late_system(&self, item: &Item) -> bool {
        !self.current.items.is_empty() && self.is_apart(item)
    }

    /// Whether it is a system prompt that is a member of its own and no message.
    fn is_apart(&self, item: &Item) -> bool {
        let record = self.records.get(item.record as usize);
        item.kind == Kind::System
            && item.is_block()
            && record.is_some_and(|record| record.span == item.span)
    }

    /// Puts the system prompts that followed the messages before them.
    fn put_late_system_first(&mut self) {
        let late = std::mem::take(&mut self.late_system);
        let count = index_number(late.len());
        self.current.items.splice(0..0, late);
        for stop in &mut self.current.stops {
            stop.item += count;
        }
        let sets = &mut self.current.contract.tool_sets;
        for set in sets.iter_mut().filter(|set| set.from > 0) {
            set.from += count;
        }
    }

    fn fact(&mut self, fact: &Fact) -> SourceResult<()> {
        let is_border = matches!(
            fact,
            Fact::NextSession | Fact::RequestBegins | Fact::RequestEnds
        );
        if let (Some(request), false) = (&mut self.request, is_border) {
            request.entries.push(Entry::Fact(fact.clone()));
            return Ok(());
        }
        match fact {
            Fact::Model(model) => {
                self.model = Some(model.clone());
                self.current.model.clone_from(&self.model);
                if self.current.format == "codex" {
                    let from = index_number(self.current.items.len());
                    self.current.models.push((from, model.as_str().into()));
                }
            }
            Fact::Tools(span) => self.tools(*span, true)?,
            Fact::MoreTools(span) => self.tools(*span, false)?,
            Fact::OutputSchema(span) => self.output_schema(*span)?,
            Fact::ServerState => self.current.contract.server_state = true,
            Fact::TurnLimit(limit) => self.current.contract.turn_limit = Some(*limit),
            Fact::Request => self.current.contract.is_request = !self.replied,
            Fact::Reply => {
                self.replied = true;
                self.current.contract.is_request = false;
            }
            Fact::Label(label) => self.current.label.clone_from(label),
            Fact::Stop(reason) => self.stop(reason),
            Fact::NextSession => {
                if let Some(request) = self.request.take() {
                    self.join(request)?;
                }
                self.close_conversations();
                self.close();
                self.replied = false;
            }
            Fact::RequestBegins if self.is_folded => self.replied = false,
            // A body within a request is that request.
            Fact::RequestBegins => {
                self.request.get_or_insert_default();
            }
            Fact::RequestEnds => {
                if let Some(request) = self.request.take() {
                    self.join(request)?;
                }
            }
            Fact::Sequence { .. }
            | Fact::Exchange(_)
            | Fact::ReplyBegins
            | Fact::ReplacementBegins
            | Fact::SentBegins => {}
            Fact::HistoryReplaced => {
                for item in &mut self.current.items {
                    item.flags = item.flags.with(Flags::COMPACTED);
                }
            }
        }
        Ok(())
    }

    #[allow(clippy::ptr_arg)] // a word that is static stays so: no copy of it is kept with each reply
    fn stop(&mut self, reason: &Cow<'static, str>) {
        if let Some(last) = self.current.items.len().checked_sub(1) {
            let stop = TurnStop {
                item: index_number(last),
                reason: reason.clone(),
            };
            self.current.items[last]
                .flags
                .set_if(Flags::INCOMPLETE, stop.is_token_limit());
            self.current.stops.push(stop);
        }
    }

    fn tools(&mut self, span: Span, replaces: bool) -> SourceResult<()> {
        let bytes = self.source.read(span)?;
        let digest = hash_of(&bytes);
        if replaces && digest == self.last_tools && self.current.contract.tools_known() {
            return Ok(());
        }
        let value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(error) => {
                self.complain(span, error.to_string());
                return Ok(());
            }
        };
        let (tools, complaints) = read_tools(&value);
        complaints
            .into_iter()
            .for_each(|complaint| self.complain(span, complaint));
        // A Response repeats the tools of its request; some servers say there that there were none.
        let is_mute = tools.is_empty() && self.replied && self.current.contract.tools_known();
        if replaces && is_mute {
            return Ok(());
        }
        if replaces {
            self.last_tools = digest;
        }
        // The tools of a request hold for what the model says next; the first ones hold for the
        // history before them, too.
        let first = replaces && !self.current.contract.tools_known();
        let from = if first {
            0
        } else {
            index_number(self.current.items.len())
        };
        let sets = &mut self.current.contract.tool_sets;
        let place = if first { 0 } else { sets.len() };
        let set = ToolSet {
            from,
            replaces,
            tools,
        };
        sets.insert(place, set);
        Ok(())
    }

    fn complain(&mut self, span: Span, reason: String) {
        self.problems.push(Problem::new(
            span.start,
            ProblemKind::BadToolDefinitions(reason),
        ));
    }

    fn output_schema(&mut self, span: Span) -> SourceResult<()> {
        let bytes = self.source.read(span)?;
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&bytes) else {
            return Ok(());
        };
        if let Some(schema) = OutputSchema::carried_by(&value) {
            self.current.contract.output_schema = Some(schema);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.put_late_system_first();
        let next = Session::empty(self.source.clone(), self.format, self.dialect);
        let closed = std::mem::replace(&mut self.current, next);
        if !closed.items.is_empty() {
            self.done.push(closed);
        }
    }

    fn finish(mut self, names: &Arc<Names>) -> SourceResult<Contents> {
        self.close_conversations();
        if self.done.is_empty() && self.current.items.is_empty() && self.late_system.is_empty() {
            // A request before its first message is a history that may begin.
            let is_request = self.current.contract.is_request;
            self.done.extend(is_request.then(|| self.current.clone()));
        }
        self.close();
        let mut sessions = self.done;
        for session in &mut sessions {
            session.names = names.clone();
            session.records = self.records.clone();
            session.link();
        }
        Ok(Contents {
            sessions,
            problems: self.problems,
        })
    }
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

// Which conversation a request of a file belongs to.
//
// A request repeats the history that it goes on from. It belongs to the conversation that ends with what it
// begins with, the reply included: who asks the same again without the reply (evaluations ask many times,
// clients ask anew) begins another conversation. What is compared is what every client repeats: messages,
// calls and outputs. Where the provider keeps the history, a request goes on from the one before it, unless it
// repeats that very request.

/// How many conversations that end with the same words are distinguished by their calls.
const ALIKE: usize = 16;

/// A request that is being read.
#[derive(Default)]
struct Request {
    entries: Vec<Entry>,
}

/// One thing of a request, in the order of the file.
enum Entry {
    Item(Item),
    Fact(Fact),
}

/// The conversations of a file, by what they end with.
#[derive(Default)]
struct Conversations {
    /// All by their numbers, without the one at hand.
    parked: Vec<Option<Parked>>,
    /// The one at hand; `None` before the first request.
    current: Option<Conversation>,
    /// The numbers of conversations by what they ended with once.
    ends: HashMap<Meaning, Vec<usize>>,
}

/// A conversation that is not at hand, with its session and the digest of its tools.
struct Parked {
    conversation: Conversation,
    session: Session,
    last_tools: u64,
}

/// What is known of a conversation beside its session.
#[derive(Default)]
struct Conversation {
    /// Its number, by its beginning.
    number: usize,
    end: Meaning,
    is_spoken: bool,
    /// How many items at its end no request need repeat.
    unsaid: usize,
    /// The system texts that are part of it.
    system: HashSet<Meaning>,
    /// What its last request said, and how many items there were before that.
    request_items: (Vec<Meaning>, usize),
}

impl Conversation {
    fn say(&mut self, meaning: Option<Meaning>) {
        match meaning {
            Some(meaning) => {
                self.end = self.end.and(meaning);
                self.is_spoken = true;
                self.unsaid = 0;
            }
            None => self.unsaid += 1,
        }
    }
}

impl Conversations {
    /// Whether a request was read.
    fn has_begun(&self) -> bool {
        self.current.is_some()
    }

    /// Takes an item of the reply; `meaning` from [`Builder::meaning`].
    fn reply_with(&mut self, meaning: Option<Meaning>) {
        if let Some(current) = &mut self.current {
            current.say(meaning);
        }
    }
}

impl Builder<'_> {
    /// Gives a request to the conversation that it goes on from, or begins one with it.
    fn join(&mut self, request: Request) -> SourceResult<()> {
        self.replied = false;
        let mut messages = Vec::new();
        for (place, entry) in request.entries.iter().enumerate() {
            if let Entry::Item(item) = entry
                && item.kind != Kind::System
                && let Some(meaning) = self.meaning(item)?
            {
                messages.push((place, meaning));
            }
        }
        let meanings: Vec<Meaning> = messages.iter().map(|(_, meaning)| *meaning).collect();
        let has = |wanted: fn(&Fact) -> bool| {
            let mut entries = request.entries.iter();
            entries.any(|entry| matches!(entry, Entry::Fact(fact) if wanted(fact)))
        };
        let is_kept = has(|fact| matches!(fact, Fact::ServerState));
        let has_tools = has(|fact| matches!(fact, Fact::Tools(_)));
        let mut repeated = 0;
        if self.conversations.current.is_none() {
            self.conversations.current = Some(self.numbered());
        } else if is_kept {
            self.ask_again(&meanings);
        } else if let Some((number, length)) = self.find(&request, &messages)? {
            self.take_up(number);
            repeated = length;
        } else {
            self.begin(has_tools);
        }
        let known = match repeated {
            0 => 0,
            length => messages[length - 1].0 + 1,
        };
        self.take_request(request, (known, repeated), &messages)
    }

    /// Adds what is in a request from `after` on, which is after `repeated` of the things it says, and
    /// the system texts that are new.
    fn take_request(
        &mut self,
        request: Request,
        (known, repeated): (usize, usize),
        messages: &[(usize, Meaning)],
    ) -> SourceResult<()> {
        let first = self.current.items.len();
        let Some(mut current) = self.conversations.current.take() else {
            return Ok(());
        };
        current.request_items = (
            messages.iter().map(|(_, meaning)| *meaning).collect(),
            first,
        );
        let mut unsaid = current.unsaid;
        for (place, entry) in request.entries.into_iter().enumerate() {
            match entry {
                Entry::Fact(fact) => self.fact(&fact)?,
                Entry::Item(item) if item.kind == Kind::System => {
                    if current.system.insert(self.text_of(&item)?) {
                        self.current.items.push(item);
                    }
                }
                Entry::Item(_) if place < known => {}
                Entry::Item(item) => {
                    let is_compared = messages.binary_search_by_key(&place, |(at, _)| *at).is_ok();
                    unsaid = if is_compared || known == 0 { 0 } else { unsaid };
                    if unsaid > 0 {
                        // What need not be repeated was, after the last thing that has to.
                        unsaid -= 1;
                        continue;
                    }
                    self.current.items.push(item);
                }
            }
        }
        let new = messages[repeated..].iter();
        new.for_each(|(_, meaning)| current.say(Some(*meaning)));
        if first > 0 {
            outputs_first(&mut self.current.items[first..]);
        }
        self.conversations.current = Some(current);
        Ok(())
    }

    /// The number of the conversation that ends with what a request begins with, and how much of
    /// the request that is.
    fn find(
        &mut self,
        request: &Request,
        messages: &[(usize, Meaning)],
    ) -> SourceResult<Option<(usize, usize)>> {
        self.note_end();
        let mut end = Meaning::NOTHING;
        let ends: Vec<Meaning> = messages
            .iter()
            .map(|(_, meaning)| {
                end = end.and(*meaning);
                end
            })
            .collect();
        for (place, end) in ends.iter().enumerate().rev() {
            let length = place + 1;
            let Some(numbers) = self.conversations.ends.get(end) else {
                continue;
            };
            let matches_end = |number: &&usize| {
                self.conversation(**number)
                    .is_some_and(|one| one.end == *end)
            };
            let numbers: Vec<usize> = numbers.iter().filter(matches_end).copied().collect();
            let Some(last) = numbers.last().copied() else {
                continue;
            };
            if numbers.len() == 1 {
                return Ok(Some((last, length)));
            }
            // Calls of several conversations may have one id; what tells them apart is what
            // they were called with.
            let items = request.entries[..=messages[length - 1].0].iter();
            let items = items.filter_map(|entry| match entry {
                Entry::Item(item) => Some(item),
                Entry::Fact(_) => None,
            });
            let wanted = self.words_of(items)?;
            for number in numbers.iter().rev() {
                if self.words_of(self.items_of(*number).iter())? == wanted {
                    return Ok(Some((*number, length)));
                }
            }
            return Ok(Some((last, length)));
        }
        Ok(None)
    }

    /// Remembers what the conversation at hand ends with.
    fn note_end(&mut self) {
        if let Some(current) = &self.conversations.current
            && current.is_spoken
        {
            let numbers = self.conversations.ends.entry(current.end).or_default();
            if !numbers.contains(&current.number) {
                numbers.push(current.number);
            }
            // Answers that were asked for many times may all be the same.
            if numbers.len() > ALIKE {
                numbers.remove(0);
            }
        }
    }

    fn conversation(&self, number: usize) -> Option<&Conversation> {
        let parked = self.conversations.parked.get(number)?.as_ref();
        let current = self.conversations.current.as_ref();
        parked
            .map(|parked| &parked.conversation)
            .or(current.filter(|current| current.number == number))
    }

    fn items_of(&self, number: usize) -> &[Item] {
        let parked = self.conversations.parked.get(number);
        let session = parked.and_then(|parked| Some(&parked.as_ref()?.session));
        &session.unwrap_or(&self.current).items
    }

    /// Puts the conversation at hand aside and takes up another one.
    fn take_up(&mut self, number: usize) {
        let parked = self.conversations.parked.get_mut(number);
        let Some(wanted) = parked.and_then(Option::take) else {
            return;
        };
        self.park();
        self.current = wanted.session;
        self.last_tools = wanted.last_tools;
        self.conversations.current = Some(wanted.conversation);
    }

    fn park(&mut self) {
        self.put_late_system_first();
        let next = Session::empty(self.source.clone(), self.format, self.dialect);
        if let Some(conversation) = self.conversations.current.take() {
            let number = conversation.number;
            let parked = Parked {
                conversation,
                session: std::mem::replace(&mut self.current, next),
                last_tools: self.last_tools,
            };
            if let Some(place) = self.conversations.parked.get_mut(number) {
                *place = Some(parked);
            }
        }
    }

    fn numbered(&mut self) -> Conversation {
        self.conversations.parked.push(None);
        Conversation {
            number: self.conversations.parked.len() - 1,
            ..Conversation::default()
        }
    }

    /// Begins a conversation. A request that does not say which tools it offers offers those of the one before.
    fn begin(&mut self, has_tools: bool) {
        let kept = self.current.contract.clone();
        self.park();
        self.current.model.clone_from(&self.model);
        match has_tools {
            true => self.last_tools = 0,
            false => self.current.contract.tool_sets = last_tools(kept.tool_sets),
        }
        self.current.contract.output_schema = kept.output_schema;
        self.current.contract.turn_limit = kept.turn_limit;
        self.conversations.current = Some(self.numbered());
    }

    /// Goes back to where the last request was asked, where this one asks the same.
    fn ask_again(&mut self, meanings: &[Meaning]) {
        let Some(current) = &self.conversations.current else {
            return;
        };
        let (request_items, first) = &current.request_items;
        let has_reply = self.current.items.len() > first + request_items.len();
        if meanings.is_empty() || request_items != meanings || !has_reply {
            return;
        }
        let mut again = self.current.clone();
        again.items.truncate(*first);
        again.stops.retain(|stop| (stop.item as usize) < *first);
        let count = index_number(*first);
        again.contract.tool_sets.retain(|set| set.from <= count);
        let (system, request_items) = (current.system.clone(), current.request_items.clone());
        self.park();
        self.current = again;
        self.conversations.current = Some(Conversation {
            system,
            request_items,
            ..self.numbered()
        });
    }

    /// Ends all conversations: their sessions are done, in the order in which they began.
    fn close_conversations(&mut self) {
        if !self.conversations.has_begun() {
            return;
        }
        self.park();
        let parked = std::mem::take(&mut self.conversations).parked;
        let sessions = parked.into_iter().flatten().map(|parked| parked.session);
        for session in sessions {
            match session.items.is_empty() {
                true => self.current = session,
                false => self.done.push(session),
            }
        }
    }

    /// What an item says; `None` for what a request need not repeat.
    fn meaning(&self, item: &Item) -> SourceResult<Option<Meaning>> {
        meaning_of(item, || self.source.read(item.span))
    }

    /// The words of the messages and calls among items, their arguments included.
    fn words_of<'i>(&self, items: impl Iterator<Item = &'i Item>) -> SourceResult<Meaning> {
        let mut words = Meaning::NOTHING;
        for item in items {
            if self.meaning(item)?.is_some() {
                words = words.and(self.text_of(item)?);
            }
        }
        Ok(words)
    }

    /// The words of an item, its arguments included.
    fn text_of(&self, item: &Item) -> SourceResult<Meaning> {
        Ok(said_by(item, &self.source.read(item.span)?).1)
    }
}

/// What an item says, apart from how this or that side spells it: a call is its id, a message its text.
/// `None` for what a request need not repeat.
pub(super) fn meaning_of<Bytes: AsRef<[u8]>>(
    item: &Item,
    read: impl FnOnce() -> SourceResult<Bytes>,
) -> SourceResult<Option<Meaning>> {
    let is_compared = matches!(
        item.kind,
        Kind::User | Kind::Assistant | Kind::Call | Kind::Output | Kind::ApprovalResponse
    );
    if !is_compared {
        return Ok(None);
    }
    let kind = Meaning::from(item.kind as u64);
    if !item.call_id.is_none() {
        return Ok(Some(kind.and(item.call_id.hash)));
    }
    let (has_text, words) = said_by(item, read()?.as_ref());
    Ok((has_text || item.kind != Kind::Assistant).then(|| kind.and(words)))
}

/// Whether an item has text, and what it says: that, its name and its arguments.
fn said_by(item: &Item, bytes: &[u8]) -> (bool, Meaning) {
    let Ok(body) = body_without_reasoning(item, bytes) else {
        return (true, Meaning::of(bytes));
    };
    let text = body.text.trim();
    let messages = [text, body.arguments.as_written()].map(|text| Meaning::of(text.as_bytes()));
    let name = Meaning::from(u64::from(item.name.0));
    (!text.is_empty(), name.and(messages[0]).and(messages[1]))
}

/// The tools in force at the end of a session, as the start of the next.
fn last_tools(sets: Vec<ToolSet>) -> Vec<ToolSet> {
    let last = sets.into_iter().rfind(|set| set.replaces);
    last.map(|set| ToolSet { from: 0, ..set })
        .into_iter()
        .collect()
}

/// A hand-off asks with other instructions: they hold for the reply, and follow the outputs
/// of the calls before.
pub(super) fn outputs_first(items: &mut [Item]) {
    let run = |items: &[Item], kind| items.iter().take_while(|item| item.kind == kind).count();
    let instructions = run(items, Kind::System);
    let outputs = run(&items[instructions..], Kind::Output);
    items[..instructions + outputs].rotate_left(instructions);
}
