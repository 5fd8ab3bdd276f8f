//! The exchanges of a proxy's journal as conversations: each request goes on from the history that it repeats.
//!
//! Several agents may speak through one proxy at the same time, so a request belongs to the latest
//! conversation whose whole history it begins with. What is compared is what everybody has to repeat:
//! messages, calls and outputs; reasoning and hosted calls may be left out by a client. A reply counts as
//! part of the history once a request repeats it; one that no request repeats (its client gave up and asked
//! again, or got another one from retake) is a branch of its own, up to there. Exchanges are taken in the
//! order in which their requests came.

use super::super::Contents;
use super::super::assemble::{Folded, assemble_folded, chained, outputs_first};
use super::{FORMAT, Reader};
use crate::session::{
    Dialect, ExchangeFacts, Fact, Flags, Fragment, Item, Kind, Names, Record, Session, Source,
    SourceError, hash, index_number,
};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Puts the exchanges of a journal together.
pub(super) fn assemble_conversations(
    fragment: Fragment,
    source: &Arc<dyn Source>,
) -> Result<Contents, SourceError> {
    let mut parts = parts(&fragment);
    // An exchange is written when all of its reply has passed, which may be after the next one that
    // its client began meanwhile.
    parts.sort_by_key(|part| part.heard.number);
    let mut conversations = Conversations::default();
    let mut reader = Reader::new(source, &fragment.records);
    let ended: HashSet<u32> = parts
        .iter()
        .filter(|part| part.heard.has_ended && part.has_items())
        .map(|part| part.heard.number)
        .collect();
    for (place, part) in parts.iter().enumerate() {
        // What was written of an exchange before its end counts where there is none, and then
        // what was written last.
        let is_known = |later: &&Part| later.heard.number == part.heard.number;
        let is_last = !parts[place + 1..]
            .iter()
            .take_while(is_known)
            .any(Part::has_items);
        let is_repeated = !part.heard.has_ended && (ended.contains(&part.heard.number) || !is_last);
        if !is_repeated && part.has_items() {
            conversations.take(part, &fragment, &mut reader)?;
        }
    }
    conversations.finish(fragment.records.into(), Arc::new(fragment.names), source)
}

/// One exchange: where its items and facts are in the fragment.
#[derive(Debug)]
struct Part {
    heard: ExchangeFacts,
    model: Option<String>,
    request: Stretch,
    reply: Stretch,
    told: Option<Stretch>,
    /// What the provider was asked, where that is something else than the request: it has turns that the
    /// agent has not seen.
    sent: Option<Stretch>,
}

impl Part {
    /// Whether anything of its bodies was recorded.
    fn has_items(&self) -> bool {
        !self.request.items.is_empty() || !self.reply.items.is_empty()
    }
}

/// A stretch of items, with the facts that were noted in it.
#[derive(Debug, Clone, Default)]
struct Stretch {
    items: Range<usize>,
    facts: Range<usize>,
}

/// Cuts what was read into exchanges.
fn parts(fragment: &Fragment) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut model: Option<&String> = None;
    for (index, (at, fact)) in fragment.facts.iter().enumerate() {
        let stretch = Stretch {
            items: *at as usize..fragment.items.len(),
            facts: index + 1..fragment.facts.len(),
        };
        let end = |stretch: &mut Stretch| {
            stretch.items.end = *at as usize;
            stretch.facts.end = index;
        };
        match (fact, parts.last_mut()) {
            (Fact::Exchange(heard), last) => {
                if let Some(last) = last {
                    let told = last.told.as_mut().unwrap_or(&mut last.reply);
                    end(last.sent.as_mut().unwrap_or(told));
                }
                parts.push(Part {
                    heard: *heard,
                    model: model.cloned(),
                    request: stretch,
                    reply: Stretch::default(),
                    told: None,
                    sent: None,
                });
            }
            (Fact::ReplyBegins, Some(last)) => {
                end(&mut last.request);
                last.reply = stretch;
            }
            (Fact::ReplacementBegins, Some(last)) => {
                end(&mut last.reply);
                last.told = Some(stretch);
            }
            (Fact::SentBegins, Some(last)) => {
                end(last.told.as_mut().unwrap_or(&mut last.reply));
                last.sent = Some(stretch);
            }
            // A model is noted where it changes, which may have been in another conversation.
            (Fact::Model(name), _) => model = Some(name),
            _ => {}
        }
    }
    parts
}

/// Items and facts of a conversation that is being put together.
#[derive(Debug, Clone, Default)]
struct History {
    items: Vec<Item>,
    facts: Vec<(u32, Fact)>,
}

impl History {
    fn note(&mut self, fact: Fact) {
        self.facts.push((index_number(self.items.len()), fact));
    }

    /// Takes a stretch, without the items that `leaves_out` names by their place in it.
    fn take(&mut self, stretch: &Stretch, fragment: &Fragment, leaves_out: &HashSet<usize>) {
        let mut facts = fragment.facts[stretch.facts.clone()].iter().peekable();
        for index in stretch.items.clone() {
            while let Some((_, fact)) = facts.next_if(|(at, _)| *at as usize <= index) {
                self.note(fact.clone());
            }
            if !leaves_out.contains(&index) {
                self.items.push(fragment.items[index]);
            }
        }
        facts.for_each(|(_, fact)| self.note(fact.clone()));
    }

    fn append(&mut self, more: Self) {
        let before = index_number(self.items.len());
        self.items.extend(more.items);
        let facts = more.facts.into_iter();
        self.facts
            .extend(facts.map(|(at, fact)| (at + before, fact)));
    }

    fn has_reply(&self) -> bool {
        self.items.iter().any(|item| item.kind.is_from_model())
    }

    fn is_whole_reply(&self) -> bool {
        let is_cut = |item: &Item| item.flags.has(Flags::INCOMPLETE);
        self.has_reply() && !self.items.iter().any(is_cut)
    }
}

#[derive(Debug)]
struct Conversation {
    dialect: Dialect,
    /// What requests have repeated, or begun with.
    history: History,
    /// The last reply, which no request has repeated yet.
    last: History,
    /// The number of the exchange that it came in.
    last_number: u32,
    /// Digests of what was said, without and with that reply.
    ends: [u64; 2],
    /// The system texts that are part of it.
    system: HashSet<u64>,
    /// The system texts of the last request.
    last_system: u64,
}

impl Conversation {
    /// Whether a request goes on from here that begins with what the digest stands for, and is nothing else
    /// where `is_all`. Who asks the same again after a whole reply begins another conversation; after one that
    /// broke off it is a retry.
    fn goes_on(&self, end: u64, is_all: bool) -> bool {
        let is_repeated = end == self.ends[1];
        is_repeated || !is_all || !self.last.is_whole_reply()
    }

    /// Whether the model has spoken before this point.
    fn has_reply_at(&self, end: u64) -> bool {
        self.history.has_reply() || (end == self.ends[1] && self.last.has_reply())
    }
}

/// A reply that no request repeats, behind the history that it answers.
#[derive(Debug)]
struct Branch {
    /// The conversation that it left.
    conversation: usize,
    /// The exchange that the reply came in.
    number: u32,
    history: History,
    /// Whether the client got another reply instead.
    was_repaired: bool,
}

#[derive(Debug, Default)]
struct Conversations {
    all: Vec<Conversation>,
    /// Branches that nobody went on from.
    branches: Vec<Branch>,
    /// The conversations that stand at a digest, the latest last.
    at: HashMap<u64, Vec<usize>>,
    /// The conversations that the provider keeps, by their ids.
    kept: HashMap<u64, usize>,
}

impl Conversations {
    fn take(
        &mut self,
        part: &Part,
        fragment: &Fragment,
        reader: &mut Reader<'_>,
    ) -> Result<(), SourceError> {
        let asked = Asked::read(part, fragment, reader)?;
        let found = self.find(part, &asked);
        let (index, matched) = match found {
            Some((index, matched)) => {
                let repeated = match part.heard.earlier {
                    0 => asked.ends[matched],
                    // What the provider keeps is repeated by naming it.
                    _ => self.all[index].ends[1],
                };
                self.settle(index, repeated);
                (index, matched)
            }
            None => (self.begin(part), 0),
        };
        let conversation = &mut self.all[index];
        let repeated = part.request.items.start..asked.stands_at[matched];
        let mut leaves_out: HashSet<usize> = repeated.collect();
        for (place, meaning) in &asked.system {
            if !conversation.system.insert(*meaning) {
                leaves_out.insert(*place);
            } else {
                leaves_out.remove(place);
            }
        }
        if let Some(model) = &part.model {
            conversation.history.note(Fact::Model(model.clone()));
        }
        let first = conversation.history.items.len();
        let history = &mut conversation.history;
        history.take(&part.request, fragment, &leaves_out);
        if first > 0 {
            outputs_first(&mut conversation.history.items[first..]);
        }
        let nothing = HashSet::new();
        let mut replied = History::default();
        replied.take(&part.reply, fragment, &nothing);
        let mut used = &part.reply;
        if let Some(told) = &part.told {
            let mut branch = conversation.history.clone();
            if let Some(sent) = &part.sent {
                let model = part.model.clone().map(|name| (0, Fact::Model(name)));
                (branch.items, branch.facts) = (Vec::new(), model.into_iter().collect());
                branch.take(sent, fragment, &nothing);
            }
            branch.append(std::mem::take(&mut replied));
            replied.take(told, fragment, &nothing);
            self.branches.push(Branch {
                conversation: index,
                number: part.heard.number,
                history: branch,
                was_repaired: part.heard.was_repaired,
            });
            used = told;
        }
        conversation.last = replied;
        conversation.last_number = part.heard.number;
        conversation.last_system = asked.system_digest();
        let said = asked.ends.last().copied().unwrap_or_default();
        let asked_end = match part.heard.earlier {
            0 => said,
            _ => chained(conversation.ends[1], said),
        };
        let mut end = asked_end;
        for place in used.items.clone() {
            if let Some(meaning) = reader.meaning(&fragment.items[place])? {
                end = chained(end, meaning);
            }
        }
        conversation.ends = [asked_end, end];
        self.place(index, &part.heard);
        Ok(())
    }

    /// The conversation that a request goes on from, and how many of its elements that has already.
    fn find(&self, part: &Part, asked: &Asked) -> Option<(usize, usize)> {
        if part.heard.earlier != 0 {
            return self.kept.get(&part.heard.earlier).map(|index| (*index, 0));
        }
        let all = asked.ends.len() - 1;
        (1..=all).rev().find_map(|length| {
            let end = asked.ends[length];
            let at = self.at.get(&end)?.iter().rev();
            let mut at = at.filter(|index| self.all[**index].goes_on(end, length == all));
            let is_same = |index: &&usize| self.all[**index].last_system == asked.system_digest();
            // Two agents may be asked the same; what tells them apart is what they were told before that,
            // or what they answered.
            let has_reply = |index: &&usize| self.all[**index].has_reply_at(end);
            let found = at.clone().find(is_same).or_else(|| at.find(has_reply));
            found.map(|index| (*index, length))
        })
    }

    /// The last reply of a conversation becomes part of it where the request repeats it; it is a branch
    /// where it does not.
    fn settle(&mut self, index: usize, repeated: u64) {
        let conversation = &mut self.all[index];
        for end in conversation.ends {
            if let Some(at) = self.at.get_mut(&end) {
                at.retain(|other| *other != index);
            }
        }
        let last = std::mem::take(&mut conversation.last);
        if repeated == conversation.ends[1] || !last.has_reply() {
            conversation.history.append(last);
        } else {
            let mut branch = conversation.history.clone();
            branch.append(last);
            self.branches.push(Branch {
                conversation: index,
                number: conversation.last_number,
                history: branch,
                was_repaired: false,
            });
        }
    }

    fn begin(&mut self, part: &Part) -> usize {
        self.all.push(Conversation {
            dialect: part.heard.dialect,
            history: History::default(),
            last: History::default(),
            last_number: 0,
            ends: [0; 2],
            system: HashSet::new(),
            last_system: 0,
        });
        self.all.len() - 1
    }

    fn place(&mut self, index: usize, heard: &ExchangeFacts) {
        let [asked, replied] = self.all[index].ends;
        self.at.entry(asked).or_default().push(index);
        if replied != asked {
            self.at.entry(replied).or_default().push(index);
        }
        for id in [heard.earlier, heard.own] {
            if id != 0 {
                self.kept.insert(id, index);
            }
        }
    }

    fn finish(
        self,
        records: Arc<[Record]>,
        names: Arc<Names>,
        source: &Arc<dyn Source>,
    ) -> Result<Contents, SourceError> {
        let mut contents = Contents::default();
        let dialects: Vec<Dialect> = self.all.iter().map(|one| one.dialect).collect();
        let build = |dialect, label, history: History| {
            let folded = Folded {
                dialect,
                label,
                items: history.items,
                facts: history.facts,
            };
            assemble_folded(FORMAT.id, folded, (&records, &names), source)
        };
        for (number, conversation) in (1..).zip(self.all) {
            let mut history = conversation.history;
            history.append(conversation.last);
            let label = format!("conversation {number}");
            let built = build(conversation.dialect, label, history)?;
            contents.sessions.extend(built.sessions);
            contents.problems.extend(built.problems);
        }
        for branch in self.branches {
            let (own, number) = (branch.conversation + 1, branch.number);
            let label = format!("conversation {own}: the provider's reply of exchange {number}");
            let built = build(dialects[branch.conversation], label, branch.history)?;
            // What is wrong with its tools was said of the conversation.
            let inactive = |session| Session {
                active: false,
                was_repaired: branch.was_repaired,
                ..session
            };
            contents
                .sessions
                .extend(built.sessions.into_iter().map(inactive));
        }
        Ok(contents)
    }
}

/// What a request says, in digests.
struct Asked {
    /// For each number of compared items the place behind them, and behind what need not
    /// be repeated after them.
    stands_at: Vec<usize>,
    /// For each number of compared items the digest of them; the first one is that of none.
    ends: Vec<u64>,
    /// The system texts: where they stand, and what they say.
    system: Vec<(usize, u64)>,
}

impl Asked {
    fn read(
        part: &Part,
        fragment: &Fragment,
        reader: &mut Reader<'_>,
    ) -> Result<Self, SourceError> {
        let places = part.request.items.clone();
        let mut asked = Self {
            stands_at: vec![places.start],
            ends: vec![hash(part.heard.dialect.word().as_bytes())],
            system: Vec::new(),
        };
        for place in places {
            let item = &fragment.items[place];
            if item.kind == Kind::System {
                asked.system.push((place, hash(reader.bytes(item)?)));
            } else if let Some(meaning) = reader.meaning(item)? {
                let end = asked.ends.last().copied().unwrap_or_default();
                asked.ends.push(chained(end, meaning));
                asked.stands_at.push(place + 1);
            } else if let Some(behind) = asked.stands_at.last_mut()
                && asked.ends.len() > 1
            {
                *behind = place + 1;
            }
        }
        Ok(asked)
    }

    fn system_digest(&self) -> u64 {
        let texts = self.system.iter();
        texts.fold(0, |digest, (_, text)| chained(digest, *text))
    }
}
