//! The exchanges of a proxy's journal as conversations: each request goes on from the history that it repeats.
//!
//! Several agents may speak through one proxy at the same time, so a request belongs to the latest
//! conversation whose whole history it begins with. What is compared is what everybody has to repeat:
//! messages, calls and outputs; reasoning and hosted calls may be left out by a client. A reply counts as
//! part of the history once a request repeats it; one that no request repeats (its client gave up and asked
//! again, or got another one from retake) is a branch of its own, up to there. Exchanges are taken in the
//! order in which their requests came.

use crate::formats::Contents;
use crate::formats::assemble::{Folded, assemble_folded, meaning_of, outputs_first};
use crate::json::Cursor;
use crate::session::{
    CallId, Dialect, ExchangeFacts, Fact, Flags, Fragment, Item, Kind, MENDED, Meaning, Names,
    Problem, ProblemKind, ProxiedExchange, Record, RequestBase, Session, Source, SourceError,
    SourceResult, Span, index_number,
};
use crate::wire::IdsNeeded;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Joins the exchanges of a journal, or of other recorded traffic, into conversations.
pub(in crate::formats) fn assemble_conversations(
    format: &'static str,
    fragment: Fragment,
    source: &Arc<dyn Source>,
) -> SourceResult<Contents> {
    let (parts, problems) = parts(&fragment);
    let mut conversations = Conversations {
        bases: parts.iter().filter_map(|part| part.request.base).collect(),
        ..Conversations::default()
    };
    let shares = parts.iter().any(|part| part.heard.continues.is_some());
    let mut reader = Reader::new(source, &fragment, shares);
    let ended: HashSet<u32> = parts
        .iter()
        .filter(|part| part.heard.has_ended() && part.has_items())
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
        let is_repeated =
            !part.heard.has_ended() && (ended.contains(&part.heard.number) || !is_last);
        if !is_repeated && part.has_items() {
            conversations.take(place, &parts, &fragment, &mut reader)?;
        }
    }
    let names = Arc::new(fragment.names);
    let contents = conversations.finish(format, (&fragment.records.into(), &names), source)?;
    Ok(contents.after(problems))
}

/// One exchange: where its items and facts are in the fragment.
#[derive(Debug)]
struct Part {
    heard: ExchangeFacts,
    model: Option<String>,
    /// One stretch, or several where it continues requests that were recorded before.
    request: Request,
    reply: Stretch,
    told: Option<Stretch>,
    /// What the provider was asked, where that is something else than the request: it has turns that the
    /// agent has not seen.
    sent: Option<Stretch>,
}

impl Part {
    /// Whether anything of its bodies was recorded.
    fn has_items(&self) -> bool {
        let mut request = self.request.stretches.iter();
        let is_asked =
            self.request.base.is_some() || request.any(|(stretch, _)| !stretch.items.is_empty());
        is_asked || !self.reply.items.is_empty()
    }
}

/// A request: stretches of items, each with what is added to the position of an item in the file to give its
/// place in the body.
#[derive(Debug, Clone, Default)]
struct Request {
    /// The exchange whose whole request comes before the stretches, by its place.
    base: Option<usize>,
    stretches: Vec<(Stretch, u64)>,
    /// Bytes of the body.
    length: u64,
}

impl Request {
    /// A recorded request, or the new elements of one that stand so far from the beginning of its body.
    fn new(stretch: Stretch, recorded: Span, place: u64) -> Self {
        Self {
            base: None,
            stretches: vec![(stretch, place.wrapping_sub(recorded.start))],
            length: recorded.len(),
        }
    }

    /// The request that goes on from that of an exchange with new elements.
    fn continued(
        exchange: usize,
        base: RequestBase,
        new: Self,
        parts: &[Part],
        fragment: &Fragment,
    ) -> Option<Self> {
        let earlier = &parts[exchange].request;
        let after = earlier.length.checked_sub(base.after)?;
        let length = base.before + new.length + base.after;
        if base.before >= after {
            return Some(Self {
                base: Some(exchange),
                length,
                ..new
            });
        }
        let is_replaced = |place: &usize, shift: u64| {
            let at = fragment.items[*place].span.start.wrapping_add(shift);
            (base.before..after).contains(&at)
        };
        let mut stretches = Vec::new();
        for (Stretch { items, facts }, shift) in stretches_of(exchange, parts) {
            let replaced = items.clone().find(|place| is_replaced(place, shift));
            let end = replaced.unwrap_or(items.end);
            let items = items.start..end;
            let facts = facts_before(end, facts, fragment);
            stretches.push((Stretch { items, facts }, shift));
            if replaced.is_some() {
                break;
            }
        }
        stretches.extend(new.stretches);
        Some(Self {
            base: None,
            stretches,
            length,
        })
    }
}

/// The facts of a stretch up to an item of it, as far as the request has not ended.
fn facts_before(end: usize, facts: Range<usize>, fragment: &Fragment) -> Range<usize> {
    let goes_on =
        |(at, fact): &&(u32, Fact)| *at as usize <= end && !matches!(fact, Fact::RequestEnds);
    let kept = fragment.facts[facts.clone()].iter().take_while(goes_on);
    facts.start..facts.start + kept.count()
}

/// The stretches of a request from its beginning, also those of the requests that it goes on from.
fn stretches_of(exchange: usize, parts: &[Part]) -> Vec<(Stretch, u64)> {
    let chain = std::iter::successors(Some(exchange), |one| parts[*one].request.base);
    let mut all: Vec<_> = chain
        .flat_map(|one| parts[one].request.stretches.iter().rev().cloned())
        .collect();
    all.reverse();
    all
}

/// A stretch of items, with the facts that were noted in it.
#[derive(Debug, Clone, Default)]
struct Stretch {
    items: Range<usize>,
    facts: Range<usize>,
}

/// Cuts what was read into exchanges; a request that continues another one begins with what it repeats. The
/// problems are requests whose beginning is not in the file.
fn parts(fragment: &Fragment) -> (Vec<Part>, Vec<Problem>) {
    let mut parts = stretches(fragment);
    // An exchange is written when all of its reply has passed, which may be after the next one that
    // its client began meanwhile.
    parts.sort_by_key(|part| part.heard.number);
    let mut problems = Vec::new();
    let mut requests: HashMap<u32, usize> = HashMap::new();
    for index in 0..parts.len() {
        let heard = parts[index].heard;
        if let Some(base) = heard.continues {
            let new = parts[index].request.clone();
            let continued = requests.get(&base.exchange).and_then(|earlier| {
                let request = Request::continued(*earlier, base, new, &parts, fragment)?;
                Some((request, parts[*earlier].heard.earlier))
            });
            match continued {
                Some((request, earlier)) => {
                    parts[index].request = request;
                    parts[index].heard.earlier = earlier;
                }
                None => problems.push(Problem {
                    at: heard.request.start,
                    kind: ProblemKind::Undecodable(format!(
                        "exchange {} continues the request of exchange {}, which is not in this file: only what is new of it is shown",
                        heard.number, base.exchange
                    )),
                }),
            }
        }
        if heard.continues.is_some() || !heard.request.is_empty() {
            requests.insert(heard.number, index);
        }
    }
    (parts, problems)
}

/// The exchanges as they are recorded.
fn stretches(fragment: &Fragment) -> Vec<Part> {
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
                    request: Request::new(
                        stretch,
                        heard.request,
                        heard.continues.map_or(0, |base| base.before),
                    ),
                    reply: Stretch::default(),
                    told: None,
                    sent: None,
                });
            }
            (Fact::ReplyBegins, Some(last)) => {
                for (request, _) in &mut last.request.stretches {
                    end(request);
                }
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
    /// What was said: without that reply, with it, and with its calls as some clients repeat them: by
    /// their names where these need no ids, else by the ids of their elements; 0 for none.
    ends: [Meaning; 3],
    /// The system texts that are part of it.
    system: HashSet<Meaning>,
    /// The system texts of the last request.
    last_system: Meaning,
    /// The provider's side of the last exchange whose request it got otherwise than the agent sent it.
    sent: Option<Branch>,
    exchanges: Vec<ProxiedExchange>,
}

impl Conversation {
    /// Whether a request goes on from here that begins with what was said up to `end`, and is nothing else
    /// where `is_all`. Who asks the same again after a whole reply begins another conversation; after one that
    /// broke off it is a retry.
    fn goes_on(&self, end: Meaning, is_all: bool) -> bool {
        self.ends[1..].contains(&end) || !is_all || !self.last.is_whole_reply()
    }

    /// Whether the model has spoken before this point.
    fn has_reply_at(&self, end: Meaning) -> bool {
        self.history.has_reply() || (self.ends[1..].contains(&end) && self.last.has_reply())
    }
}

/// What a reply is that only its provider has, before the number of its exchange.
const REPLY: &str = "the provider's reply of exchange";

/// A reply that no request repeats, after the history that it answers, or a request as only its provider has it.
#[derive(Debug)]
struct Branch {
    /// The conversation that it left.
    conversation: usize,
    /// The exchange that the reply came in.
    number: u32,
    history: History,
    /// What it is of that exchange, in words.
    what: &'static str,
    /// Whether the client got another reply instead.
    was_repaired: bool,
}

#[derive(Debug, Default)]
struct Conversations {
    all: Vec<Conversation>,
    /// Branches that nobody went on from.
    branches: Vec<Branch>,
    /// The conversations by what was said in them so far, the latest last.
    at: HashMap<Meaning, Vec<usize>>,
    /// The conversations that the provider keeps, by their ids.
    kept: HashMap<u64, usize>,
    /// The exchanges whose requests later ones go on from, and what those asked that were read.
    bases: HashSet<usize>,
    asked: HashMap<usize, Asked>,
}

impl Conversations {
    fn take(
        &mut self,
        exchange: usize,
        parts: &[Part],
        fragment: &Fragment,
        reader: &mut Reader<'_>,
    ) -> SourceResult<()> {
        let part = &parts[exchange];
        let whole = || {
            let mut all = stretches_of(exchange, parts);
            let repeated = all.len() - part.request.stretches.len();
            for (stretch, _) in &mut all[..repeated] {
                stretch.facts = facts_before(stretch.items.end, stretch.facts.clone(), fragment);
            }
            all
        };
        let base = part.request.base;
        let known = base.and_then(|base| self.asked.remove(&base));
        let base = base.filter(|_| known.is_some());
        let (mut stretches, mut query) = match known {
            Some(query) => (part.request.stretches.clone(), query),
            None => (whole(), Asked::nothing(part.heard.dialect)),
        };
        let (mut repeated, compared) = (query.items, query.ends.len() - 1);
        query.read(&stretches, fragment, reader)?;
        let found = self.find(part, &query);
        let (index, matched) = match found {
            Some((index, matched, end)) => {
                let repeated = match part.heard.earlier {
                    0 => end,
                    // What the provider keeps is repeated by naming it.
                    _ => self.all[index].ends[1],
                };
                self.settle(index, repeated, reader)?;
                (index, matched)
            }
            None => (self.begin(part), 0),
        };
        let conversation = &mut self.all[index];
        // What the last request of the conversation said is in it.
        let is_next = base.is_some_and(|base| {
            matched >= compared && conversation.last_number == parts[base].heard.number
        });
        if base.is_some() && !is_next {
            (stretches, repeated) = (whole(), 0);
        }
        let mut leaves_out: HashSet<usize> = stretches
            .iter()
            .flat_map(|(stretch, _)| stretch.items.clone())
            .take(query.stands_at[matched].saturating_sub(repeated))
            .collect();
        for (place, meaning) in &query.system {
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
        for (stretch, _) in &stretches {
            history.take(stretch, fragment, &leaves_out);
        }
        if first > 0 {
            outputs_first(&mut conversation.history.items[first..]);
        }
        let nothing = HashSet::new();
        let mut replied = History::default();
        replied.take(&part.reply, fragment, &nothing);
        let mut used = &part.reply;
        if part.told.is_some() || part.sent.is_some() {
            let mut history = match &part.sent {
                None => conversation.history.clone(),
                Some(sent) => {
                    let mut history = History::default();
                    history
                        .facts
                        .extend(part.model.clone().map(|name| (0, Fact::Model(name))));
                    history.take(sent, fragment, &nothing);
                    history
                }
            };
            history.append(replied.clone());
            let has_another_reply = part.told.is_some();
            let branch = Branch {
                conversation: index,
                number: part.heard.number,
                history,
                what: match (&part.sent, has_another_reply) {
                    (None, _) => REPLY,
                    (Some(_), false) => "the request that the provider got in exchange",
                    (Some(_), true) => "what the provider got and answered in exchange",
                },
                was_repaired: has_another_reply && part.heard.how == MENDED,
            };
            match &part.told {
                // A later one repeats it.
                None => conversation.sent = Some(branch),
                Some(told) => {
                    replied = History::default();
                    replied.take(told, fragment, &nothing);
                    self.branches.push(branch);
                    used = told;
                }
            }
        }
        // What came of one that was held may be the last that is said of it.
        let number = part.heard.number;
        let same = parts[exchange..].iter();
        let last = same.take_while(|later| later.heard.number == number).last();
        let how = last.map_or(part.heard.how, |last| last.heard.how);
        conversation.exchanges.push(ProxiedExchange { number, how });
        conversation.last = replied;
        conversation.last_number = part.heard.number;
        conversation.last_system = query.all_system();
        let end_so_far = query.ends.last().copied().unwrap_or_default();
        let asked_end = match part.heard.earlier {
            0 => end_so_far,
            _ => conversation.ends[1].and(end_so_far),
        };
        let mut end = asked_end;
        let mut by_names = Calls::default();
        let mut by_elements = asked_end;
        for place in used.items.clone() {
            let item = &fragment.items[place];
            if let Some(meaning) = reader.meaning(place)? {
                end = end.and(meaning);
                by_names.take(asked_end, item);
                let element = reader.element_id(item)?;
                let named = element.map(|id| Meaning::from(item.kind as u64).and(id.hash));
                by_elements = by_elements.and(named.unwrap_or(meaning));
            }
        }
        // Where calls need no ids, clients make some up for the next request.
        let needed = part.heard.dialect.facts().call_ids.needed;
        let otherwise = match needed {
            IdsNeeded::Neither => by_names.end,
            _ if by_elements != end => by_elements,
            _ => Meaning::NOTHING,
        };
        conversation.ends = [asked_end, end, otherwise];
        self.place(index, &part.heard);
        if self.bases.contains(&exchange) {
            self.asked.insert(exchange, query);
        }
        Ok(())
    }

    /// The conversation that a request goes on from, how many of its elements that has already, and the digest
    /// of these.
    fn find(&self, part: &Part, query: &Asked) -> Option<(usize, usize, Meaning)> {
        if part.heard.earlier != 0 {
            let kept = self.kept.get(&part.heard.earlier);
            return kept.map(|index| (*index, 0, Meaning::NOTHING));
        }
        let all = query.ends.len() - 1;
        let lengths = (1..=all).rev();
        let mut ends = lengths.flat_map(|length| {
            let ends = [query.ends[length], query.ends_by_name[length]];
            ends.map(|end| (length, end))
        });

        ends.find_map(|(length, end)| {
            let at = self.at.get(&end)?.iter().rev();
            let mut at = at.filter(|index| self.all[**index].goes_on(end, length == all));
            let is_same = |index: &&usize| self.all[**index].last_system == query.all_system();
            // Two agents may be asked the same; the difference is what they were sent before that,
            // or what they answered.
            let has_reply = |index: &&usize| self.all[**index].has_reply_at(end);
            let found = at.clone().find(is_same).or_else(|| at.find(has_reply));
            found.map(|index| (*index, length, end))
        })
    }

    /// The last reply of a conversation becomes part of it where the request repeats it; it is a branch
    /// where it does not.
    fn settle(
        &mut self,
        index: usize,
        repeated: Meaning,
        reader: &mut Reader<'_>,
    ) -> SourceResult<()> {
        let conversation = &mut self.all[index];
        for end in conversation.ends {
            if let Some(at) = self.at.get_mut(&end) {
                at.retain(|other| *other != index);
            }
        }
        let mut last = std::mem::take(&mut conversation.last);
        if repeated != conversation.ends[1] && repeated == conversation.ends[2] {
            // The outputs name the calls as the request does.
            for item in &mut last.items {
                if let Some(id) = reader.element_id(item)? {
                    item.call_id = id;
                }
            }
        }
        if conversation.ends[1..].contains(&repeated) || !last.has_reply() {
            conversation.history.append(last);
        } else {
            let mut branch = conversation.history.clone();
            branch.append(last);
            self.branches.push(Branch {
                conversation: index,
                number: conversation.last_number,
                history: branch,
                what: REPLY,
                was_repaired: false,
            });
        }
        Ok(())
    }

    fn begin(&mut self, part: &Part) -> usize {
        self.all.push(Conversation {
            dialect: part.heard.dialect,
            history: History::default(),
            last: History::default(),
            last_number: 0,
            ends: [Meaning::NOTHING; 3],
            system: HashSet::new(),
            last_system: Meaning::NOTHING,
            sent: None,
            exchanges: Vec::new(),
        });
        self.all.len() - 1
    }

    fn place(&mut self, index: usize, heard: &ExchangeFacts) {
        let mut ends = self.all[index].ends.to_vec();
        ends.retain(|end| *end != Meaning::NOTHING);
        ends.dedup();
        for end in ends {
            self.at.entry(end).or_default().push(index);
        }
        for id in [heard.earlier, heard.own] {
            if id != 0 {
                self.kept.insert(id, index);
            }
        }
    }

    fn finish(
        self,
        format: &'static str,
        context: (&Arc<[Record]>, &Arc<Names>),
        source: &Arc<dyn Source>,
    ) -> SourceResult<Contents> {
        let mut contents = Contents::default();
        let dialects: Vec<Dialect> = self.all.iter().map(|one| one.dialect).collect();
        let build = |dialect, label, history: History| {
            let folded = Folded {
                dialect,
                label,
                items: history.items,
                facts: history.facts,
            };
            assemble_folded(format, folded, context, source)
        };
        let mut branches = self.branches;
        for (number, conversation) in (1..).zip(self.all) {
            branches.extend(conversation.sent);
            let mut history = conversation.history;
            history.append(conversation.last);
            let label = format!("conversation {number}");
            let built = build(conversation.dialect, label, history)?;
            let named = |session| Session {
                conversation: number,
                exchanges: conversation.exchanges.clone(),
                ..session
            };
            contents
                .sessions
                .extend(built.sessions.into_iter().map(named));
            contents.problems.extend(built.problems);
        }
        for branch in branches {
            let (own, number) = (branch.conversation + 1, branch.number);
            let label = format!("conversation {own}: {} {number}", branch.what);
            let built = build(dialects[branch.conversation], label, branch.history)?;
            // What is wrong with its tools was said of the conversation.
            let inactive = |session| Session {
                active: false,
                was_repaired: branch.was_repaired,
                conversation: index_number(own),
                ..session
            };
            contents
                .sessions
                .extend(built.sessions.into_iter().map(inactive));
        }
        Ok(contents)
    }
}

/// The calls of a reply by their names: clients may give them ids.
#[derive(Debug, Default)]
struct Calls {
    /// What was said before the reply; `None` outside of one.
    before: Option<Meaning>,
    /// The same with the calls of the reply; nothing where it has none.
    end: Meaning,
}

impl Calls {
    /// Takes an item after what was said up to `end`.
    fn take(&mut self, end: Meaning, item: &Item) {
        if !item.kind.is_from_model() {
            *self = Self::default();
            return;
        }
        let before = *self.before.get_or_insert(end);
        if item.kind == Kind::Call {
            let end = match self.end {
                Meaning::NOTHING => before,
                end => end,
            };
            self.end = end.and(item.kind as u64).and(u64::from(item.name.0));
        }
    }
}

/// What a request says.
#[derive(Debug)]
struct Asked {
    /// How many items it has.
    items: usize,
    /// For each number of compared items how many items of the request these are, with those after them that
    /// need not be repeated.
    stands_at: Vec<usize>,
    /// For each number of compared items what they say; the first one is for none.
    ends: Vec<Meaning>,
    /// The same where the last of them are calls, which count by their names; nothing where they are not.
    ends_by_name: Vec<Meaning>,
    calls: Calls,
    /// The system texts: where they stand, and what they say.
    system: Vec<(usize, Meaning)>,
}

impl Asked {
    fn nothing(dialect: Dialect) -> Self {
        Self {
            items: 0,
            stands_at: vec![0],
            ends: vec![Meaning::of(dialect.word().as_bytes())],
            ends_by_name: vec![Meaning::NOTHING],
            calls: Calls::default(),
            system: Vec::new(),
        }
    }

    /// Adds what these stretches say.
    fn read(
        &mut self,
        stretches: &[(Stretch, u64)],
        fragment: &Fragment,
        reader: &mut Reader<'_>,
    ) -> SourceResult<()> {
        let items = stretches.iter();
        for place in items.flat_map(|(stretch, _)| stretch.items.clone()) {
            self.items += 1;
            let item = &fragment.items[place];
            if item.kind == Kind::System {
                self.system.push((place, reader.text(place)?));
            } else if let Some(meaning) = reader.meaning(place)? {
                let end = self.ends.last().copied().unwrap_or_default();
                self.calls.take(end, item);
                self.ends_by_name.push(self.calls.end);
                self.ends.push(end.and(meaning));
                self.stands_at.push(self.items);
            } else if let Some(after) = self.stands_at.last_mut()
                && self.ends.len() > 1
            {
                *after = self.items;
            }
        }
        Ok(())
    }

    fn all_system(&self) -> Meaning {
        let texts = self.system.iter().map(|(_, text)| *text);
        texts.fold(Meaning::NOTHING, Meaning::and)
    }
}

// What the items of an exchange say, so that a request is known by the history that it repeats.

/// Reads what items say, each once; the items of one line are read at once.
struct Reader<'a> {
    source: &'a Arc<dyn Source>,
    fragment: &'a Fragment,
    /// The line that was read last, by the number of its record.
    line: (u32, Vec<u8>),
    /// What is known of items by their places: `None` for what a request need not repeat.
    meanings: HashMap<usize, Option<Meaning>>,
    /// Whether requests share items: only then is what is known of one asked for again.
    shares: bool,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Arc<dyn Source>, fragment: &'a Fragment, shares: bool) -> Self {
        Self {
            source,
            fragment,
            line: (u32::MAX, Vec::new()),
            meanings: HashMap::new(),
            shares,
        }
    }

    fn bytes(&mut self, item: &Item) -> SourceResult<&[u8]> {
        let record = self.fragment.records.get(item.record as usize);
        let span = record.map(|one| one.span);
        let span = span.unwrap_or(item.span);
        if self.line.0 != item.record {
            self.source.read_into(span, &mut self.line.1)?;
            self.line.0 = item.record;
        }
        let place = |at: u64| usize::try_from(at.saturating_sub(span.start)).unwrap_or(usize::MAX);
        let inside = place(item.span.start)..place(item.span.end);
        let gone = SourceError::Gone { span: item.span };
        self.line.1.get(inside).ok_or(gone)
    }

    /// The id of a call's element (`fc_...`), where the call has an id of its own.
    fn element_id(&mut self, item: &Item) -> SourceResult<Option<CallId>> {
        let has_own_id = item.facts().is_some_and(|facts| facts.item_ids);
        if item.kind != Kind::Call || !has_own_id {
            return Ok(None);
        }
        let mut found = None;
        let mut cursor = Cursor::at(self.bytes(item)?, 0);
        let read = cursor.object(|cursor, key| {
            if key == b"id" && cursor.peek() == Some(b'"') {
                let at = cursor.position() + 1;
                found = cursor.string()?.map(|id| CallId::new(id, at));
            }
            Ok(())
        });
        let is_other = |id: &CallId| !id.is_none() && id.hash != item.call_id.hash;
        Ok(found.filter(is_other).filter(|_| read.is_ok()))
    }

    /// What an item says; `None` for what a request need not repeat.
    fn meaning(&mut self, place: usize) -> SourceResult<Option<Meaning>> {
        if let Some(known) = self.meanings.get(&place) {
            return Ok(*known);
        }
        let item = &self.fragment.items[place];
        let meaning = meaning_of(item, || self.bytes(item))?;
        self.learn(place, meaning);
        Ok(meaning)
    }

    /// The text of an item, as a whole.
    fn text(&mut self, place: usize) -> SourceResult<Meaning> {
        if let Some(Some(known)) = self.meanings.get(&place) {
            return Ok(*known);
        }
        let meaning = Meaning::of(self.bytes(&self.fragment.items[place])?);
        self.learn(place, Some(meaning));
        Ok(meaning)
    }

    fn learn(&mut self, place: usize, meaning: Option<Meaning>) {
        if self.shares {
            self.meanings.insert(place, meaning);
        }
    }
}
