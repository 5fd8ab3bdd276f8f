//! Which conversation a request of a file belongs to.
//!
//! A request repeats the history that it goes on from. It belongs to the conversation that ends with what it
//! begins with, the reply included: who asks the same again without the reply (evaluations ask many times,
//! clients ask anew) begins another conversation. What is compared is what every client repeats: messages,
//! calls and outputs. Where the provider keeps the history, a request goes on from the one before it, unless it
//! repeats that very request.

use super::Builder;
use crate::session::{Fact, Item, Kind, Session, SourceError, ToolSet, hash, index_number};
use crate::wire::body_without_reasoning;
use std::collections::{HashMap, HashSet};

/// How many conversations that end with the same words are told apart by their calls.
const ALIKE: usize = 16;

/// A request that is being read.
#[derive(Default)]
pub(super) struct Request {
    pub(super) entries: Vec<Entry>,
}

/// One thing of a request, in the order of the file.
pub(super) enum Entry {
    Item(Item),
    Fact(Fact),
}

/// The conversations of a file, by what they end with.
#[derive(Default)]
pub(super) struct Conversations {
    /// All by their numbers, without the one at hand.
    parked: Vec<Option<Parked>>,
    /// The one at hand; `None` before the first request.
    current: Option<Conversation>,
    /// The numbers of conversations by a digest that they ended with once.
    ends: HashMap<u64, Vec<usize>>,
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
    /// Digest of what was said.
    end: u64,
    is_spoken: bool,
    /// How many items at its end no request need repeat.
    unsaid: usize,
    /// The system texts that are part of it.
    system: HashSet<u64>,
    /// What its last request said, and how many items there were before that.
    asked: (Vec<u64>, usize),
}

impl Conversation {
    fn say(&mut self, meaning: Option<u64>) {
        match meaning {
            Some(meaning) => {
                self.end = chained(self.end, meaning);
                self.is_spoken = true;
                self.unsaid = 0;
            }
            None => self.unsaid += 1,
        }
    }
}

impl Conversations {
    /// Whether a request was read.
    pub(super) fn has_begun(&self) -> bool {
        self.current.is_some()
    }

    /// Takes an item of the reply; `meaning` as of [`Builder::meaning`].
    pub(super) fn reply_with(&mut self, meaning: Option<u64>) {
        if let Some(current) = &mut self.current {
            current.say(meaning);
        }
    }
}

impl Builder<'_> {
    /// Gives a request to the conversation that it goes on from, or begins one with it.
    pub(super) fn join(&mut self, request: Request) -> Result<(), SourceError> {
        self.replied = false;
        let mut said = Vec::new();
        for (place, entry) in request.entries.iter().enumerate() {
            if let Entry::Item(item) = entry
                && item.kind != Kind::System
                && let Some(meaning) = self.meaning(item)?
            {
                said.push((place, meaning));
            }
        }
        let meanings: Vec<u64> = said.iter().map(|(_, meaning)| *meaning).collect();
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
        } else if let Some((number, length)) = self.find(&request, &said)? {
            self.take_up(number);
            repeated = length;
        } else {
            self.begin(has_tools);
        }
        let behind = match repeated {
            0 => 0,
            length => said[length - 1].0 + 1,
        };
        self.take_request(request, (behind, repeated), &said)
    }

    /// Adds what stands in a request from `behind` on, which is behind `repeated` of the things it says, and
    /// the system texts that are new.
    fn take_request(
        &mut self,
        request: Request,
        (behind, repeated): (usize, usize),
        said: &[(usize, u64)],
    ) -> Result<(), SourceError> {
        let first = self.current.items.len();
        let Some(mut current) = self.conversations.current.take() else {
            return Ok(());
        };
        current.asked = (said.iter().map(|(_, meaning)| *meaning).collect(), first);
        let mut unsaid = current.unsaid;
        for (place, entry) in request.entries.into_iter().enumerate() {
            match entry {
                Entry::Fact(fact) => self.fact(&fact)?,
                Entry::Item(item) if item.kind == Kind::System => {
                    if current.system.insert(self.text_of(&item)?) {
                        self.current.items.push(item);
                    }
                }
                Entry::Item(_) if place < behind => {}
                Entry::Item(item) => {
                    let is_compared = said.binary_search_by_key(&place, |(at, _)| *at).is_ok();
                    unsaid = if is_compared || behind == 0 {
                        0
                    } else {
                        unsaid
                    };
                    if unsaid > 0 {
                        // What need not be repeated was, behind the last thing that has to.
                        unsaid -= 1;
                        continue;
                    }
                    self.current.items.push(item);
                }
            }
        }
        let new = said[repeated..].iter();
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
        said: &[(usize, u64)],
    ) -> Result<Option<(usize, usize)>, SourceError> {
        self.note_end();
        let mut end = 0;
        let ends: Vec<u64> = said
            .iter()
            .map(|(_, meaning)| {
                end = chained(end, *meaning);
                end
            })
            .collect();
        for (place, end) in ends.iter().enumerate().rev() {
            let length = place + 1;
            let Some(numbers) = self.conversations.ends.get(end) else {
                continue;
            };
            let stands = |number: &&usize| {
                self.conversation(**number)
                    .is_some_and(|one| one.end == *end)
            };
            let numbers: Vec<usize> = numbers.iter().filter(stands).copied().collect();
            let Some(last) = numbers.last().copied() else {
                continue;
            };
            if numbers.len() == 1 {
                return Ok(Some((last, length)));
            }
            // Calls of several conversations may have one id; what tells them apart is what
            // they were called with.
            let items = request.entries[..=said[length - 1].0].iter();
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

    /// A conversation with a number of its own.
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
    fn ask_again(&mut self, meanings: &[u64]) {
        let Some(current) = &self.conversations.current else {
            return;
        };
        let (asked, first) = &current.asked;
        let has_reply = self.current.items.len() > first + asked.len();
        if meanings.is_empty() || asked != meanings || !has_reply {
            return;
        }
        let mut again = self.current.clone();
        again.items.truncate(*first);
        again.stops.retain(|stop| (stop.item as usize) < *first);
        let count = index_number(*first);
        again.contract.tool_sets.retain(|set| set.from <= count);
        let (system, asked) = (current.system.clone(), current.asked.clone());
        self.park();
        self.current = again;
        self.conversations.current = Some(Conversation {
            system,
            asked,
            ..self.numbered()
        });
    }

    /// Ends all conversations: their sessions are done, in the order in which they began.
    pub(super) fn close_conversations(&mut self) {
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

    /// What an item says, apart from how this or that side spells it: a call is its id, a message its text.
    /// `None` for what a request need not repeat.
    pub(super) fn meaning(&self, item: &Item) -> Result<Option<u64>, SourceError> {
        let is_compared = matches!(
            item.kind,
            Kind::User | Kind::Assistant | Kind::Call | Kind::Output | Kind::ApprovalResponse
        );
        let kind = u64::from(item.kind as u8);
        match is_compared {
            false => Ok(None),
            true if !item.call_id.is_none() => Ok(Some(chained(kind, item.call_id.hash))),
            true => {
                let (text, words) = self.said_by(item)?;
                let says_nothing = item.kind == Kind::Assistant && text.is_empty();
                Ok((!says_nothing).then(|| chained(kind, words)))
            }
        }
    }

    /// Digest of the words of the messages and calls among items, their arguments included.
    fn words_of<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<u64, SourceError> {
        let mut digest = 0;
        for item in items {
            if self.meaning(item)?.is_some() {
                digest = chained(digest, self.said_by(item)?.1);
            }
        }
        Ok(digest)
    }

    /// The text of an item, and a digest of that, its name and its arguments.
    fn said_by(&self, item: &Item) -> Result<(String, u64), SourceError> {
        let bytes = self.source.read(item.span)?;
        let Ok(body) = body_without_reasoning(item, &bytes) else {
            return Ok((String::from("?"), hash(&bytes)));
        };
        let text = body.text.trim();
        let said = [text, body.arguments.as_written()];
        let digest = said.iter().fold(u64::from(item.name.0), |digest, text| {
            chained(digest, hash(text.as_bytes()))
        });
        Ok((text.to_owned(), digest))
    }

    /// Digest of a system text.
    fn text_of(&self, item: &Item) -> Result<u64, SourceError> {
        Ok(self.said_by(item)?.1)
    }
}

/// The tools in force at the end of a session, as the start of the next.
fn last_tools(sets: Vec<ToolSet>) -> Vec<ToolSet> {
    let last = sets.into_iter().rfind(|set| set.replaces);
    last.map(|set| ToolSet { from: 0, ..set })
        .into_iter()
        .collect()
}

/// A hand-off asks with other instructions: they hold for the reply, and stand behind the outputs
/// of the calls before.
pub(in crate::formats) fn outputs_first(items: &mut [Item]) {
    let run = |items: &[Item], kind| items.iter().take_while(|item| item.kind == kind).count();
    let instructions = run(items, Kind::System);
    let outputs = run(&items[instructions..], Kind::Output);
    items[..instructions + outputs].rotate_left(instructions);
}

/// A digest that goes on.
pub(in crate::formats) fn chained(digest: u64, more: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&digest.to_le_bytes());
    bytes[8..].copy_from_slice(&more.to_le_bytes());
    hash(&bytes)
}
