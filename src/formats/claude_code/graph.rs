//! Which lines of a Claude Code log are the conversation, in which order, and which are side chains or dead branches.
//!
//! The official reader takes the leaf that comes latest in the file and walks `parentUuid` to the root. That alone loses the
//! results of parallel calls, which hang on their own line of the message and not on the chain; so lines of a message that is on
//! the chain, and the results that answer its calls, belong to it too.

use super::FORMAT;
use crate::formats::Contents;
use crate::session::{
    Fact, Flags, Fragment, Item, Kind, Link, LinkFlags, Problem, ProblemKind, Session, Source,
    SourceError, Stop,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Puts the lines in the order of the history: the active chain first, then each branch that is not part of it.
pub(super) fn assemble(
    fragment: Fragment,
    source: &Arc<dyn Source>,
) -> Result<Contents, SourceError> {
    let graph = Graph::new(&fragment);
    let mut problems = Vec::new();
    let branches = graph.branches(&mut problems);
    let mut items_of: Vec<Vec<u32>> = vec![Vec::new(); fragment.records.len()];
    for (index, item) in fragment.items.iter().enumerate() {
        items_of[item.record as usize].push(index as u32);
    }
    let mut sessions = Vec::new();
    for (number, branch) in branches.into_iter().enumerate() {
        let mut session = Session::empty(source.clone(), FORMAT.id, FORMAT.dialect);
        session.active = branch.active;
        session.label = branch.label(number);
        session.records = fragment.records.clone();
        session.names = fragment.names.clone();
        let mut place: HashMap<u32, u32> = HashMap::new();
        let mut messages = HashSet::new();
        for record in branch.records {
            for index in &items_of[record] {
                let mut item = fragment.items[*index as usize];
                mark_reply(&mut item, &fragment.links[record], &mut messages);
                place.insert(*index, session.items.len() as u32);
                session.items.push(item);
            }
        }
        tell(&mut session, &fragment, &place);
        mark_compacted(&mut session.items);
        if !session.items.is_empty() {
            session.link()?;
            sessions.push(session);
        }
    }
    Ok(Contents { sessions, problems })
}

/// One message over many lines: only its first line starts the reply.
fn mark_reply(item: &mut Item, link: &Link, messages: &mut HashSet<u64>) {
    if link.flags.has(LinkFlags::ASSISTANT) && link.message != 0 && item.kind.is_from_model() {
        let known = !messages.insert(link.message);
        if known {
            item.flags = item
                .flags
                .without(Flags::STARTS_REPLY)
                .with(Flags::CONTINUES_REPLY);
        }
    }
}

/// What stands before the last compaction is no longer sent to the provider.
fn mark_compacted(items: &mut [Item]) {
    let last = items
        .iter()
        .rposition(|item| item.kind == Kind::Compaction)
        .unwrap_or(0);
    for item in &mut items[..last] {
        item.flags = item.flags.with(Flags::COMPACTED);
    }
}

/// The model and the stop reasons of the items that belong to this session.
fn tell(session: &mut Session, fragment: &Fragment, place: &HashMap<u32, u32>) {
    for (at, fact) in &fragment.facts {
        let Some(item) = at.checked_sub(1).and_then(|index| place.get(&index)) else {
            continue;
        };
        match fact {
            Fact::Model(model) => session.model = Some(model.clone()),
            Fact::Stop(reason) => session.stops.push(Stop {
                item: *item,
                reason: reason.clone(),
            }),
            _ => {}
        }
    }
    session.stops.sort_by_key(|stop| stop.item);
}

/// A chain of lines.
struct Branch {
    records: Vec<usize>,
    active: bool,
    is_side_chain: bool,
}

impl Branch {
    fn label(&self, number: usize) -> String {
        match (self.active, self.is_side_chain) {
            (true, _) => String::new(),
            (false, true) => format!("side chain {number}"),
            (false, false) => format!("abandoned branch {number}"),
        }
    }
}

struct Graph<'a> {
    fragment: &'a Fragment,
    /// The record with this id; the first of its name.
    by_id: HashMap<u64, usize>,
}

impl<'a> Graph<'a> {
    fn new(fragment: &'a Fragment) -> Self {
        let mut by_id = HashMap::with_capacity(fragment.links.len());
        for (record, link) in fragment.links.iter().enumerate() {
            if link.id != 0 {
                by_id.entry(link.id).or_insert(record);
            }
        }
        Self { fragment, by_id }
    }

    fn links(&self) -> &'a [Link] {
        &self.fragment.links
    }

    fn parent(&self, record: usize) -> Option<usize> {
        let link = &self.links()[record];
        self.by_id
            .get(&link.parent)
            .copied()
            .filter(|_| link.parent != 0)
    }

    fn branches(&self, problems: &mut Vec<Problem>) -> Vec<Branch> {
        let side = |record: usize| self.links()[record].flags.has(LinkFlags::SIDE);
        let mut taken = vec![false; self.links().len()];
        let mut branches = Vec::new();
        let conversation = (0..self.links().len())
            .filter(|record| !side(*record))
            .collect::<Vec<_>>();
        // A file that holds nothing but a sub-agent's lines (subagents/agent-*.jsonl) is that agent's own conversation.
        let whole = if conversation.is_empty() {
            (0..self.links().len()).collect()
        } else {
            conversation
        };
        let chain = self.chain(&whole, problems);
        let active = self.with_siblings(&whole, &chain);
        for record in &active {
            taken[*record] = true;
        }
        branches.push(Branch {
            records: self.in_causal_order(active),
            active: true,
            is_side_chain: false,
        });
        let rest = (0..self.links().len())
            .filter(|record| !taken[*record])
            .collect::<Vec<_>>();
        branches.extend(self.others(&rest));
        branches
    }

    /// From the leaf that comes latest in the file up to the root.
    fn chain(&self, records: &[usize], problems: &mut Vec<Problem>) -> HashSet<usize> {
        let parents = records
            .iter()
            .filter_map(|record| self.parent(*record))
            .collect::<HashSet<_>>();
        let speaks = |record: &usize| {
            let flags = self.links()[*record].flags;
            (flags.has(LinkFlags::ASSISTANT) || flags.has(LinkFlags::USER))
                && !flags.has(LinkFlags::META)
        };
        let leaf = records
            .iter()
            .rev()
            .filter(|record| !parents.contains(record))
            .find_map(|record| {
                let mut at = Some(*record);
                let mut steps = 0;
                while let Some(here) = at.filter(|here| !speaks(here)) {
                    at = self.parent(here).filter(|_| steps < 10_000);
                    steps += 1;
                }
                at
            });
        let mut chain = HashSet::new();
        let mut at = leaf.or_else(|| records.last().copied());
        while let Some(record) = at {
            if !chain.insert(record) {
                problems.push(self.problem(record, ProblemKind::ParentCycle));
                break;
            }
            at = self.parent(record);
            if at.is_none() && self.links()[record].parent != 0 {
                problems.push(self.problem(record, ProblemKind::MissingParent));
                // The lines before the gap are still the story so far.
                at = record
                    .checked_sub(1)
                    .filter(|before| records.binary_search(before).is_ok());
            } else if at.is_none() && self.links()[record].flags.has(LinkFlags::BOUNDARY) {
                at = record
                    .checked_sub(1)
                    .filter(|before| records.binary_search(before).is_ok());
            }
        }
        chain
    }

    fn problem(&self, record: usize, kind: ProblemKind) -> Problem {
        Problem {
            at: self.fragment.records[record].span.start,
            kind,
        }
    }

    /// The lines of the same messages, the results that answer them, and lines that are in no chain at all.
    fn with_siblings(&self, records: &[usize], chain: &HashSet<usize>) -> Vec<usize> {
        let links = self.links();
        let messages = chain
            .iter()
            .map(|record| links[*record].message)
            .filter(|message| *message != 0)
            .collect::<HashSet<_>>();
        let mut active = chain.clone();
        active.extend(
            records
                .iter()
                .filter(|record| messages.contains(&links[**record].message)),
        );
        let asked = active
            .iter()
            .flat_map(|record| self.asks(*record))
            .collect::<HashSet<_>>();
        for record in records {
            let link = &links[*record];
            let is_loose = link.id == 0;
            if is_loose || (link.flags.has(LinkFlags::USER) && self.answers(*record, &asked)) {
                active.insert(*record);
            }
        }
        let mut active = active.into_iter().collect::<Vec<_>>();
        active.sort_unstable();
        active
    }

    fn items_of(&self, record: usize) -> impl Iterator<Item = &'a Item> {
        let items = &self.fragment.items;
        let first = items.partition_point(|item| (item.record as usize) < record);
        items[first..]
            .iter()
            .take_while(move |item| item.record as usize == record)
    }

    fn asks(&self, record: usize) -> impl Iterator<Item = u64> {
        self.items_of(record)
            .filter(|item| item.kind == Kind::Call)
            .map(|item| item.call_id.hash)
    }

    fn answers(&self, record: usize, asked: &HashSet<u64>) -> bool {
        self.items_of(record)
            .any(|item| item.kind == Kind::Output && asked.contains(&item.call_id.hash))
    }

    /// File order, but no line before the one that it hangs on.
    fn in_causal_order(&self, records: Vec<usize>) -> Vec<usize> {
        let members = records.iter().copied().collect::<HashSet<_>>();
        let cause = |record: usize| {
            self.parent(record)
                .filter(|parent| members.contains(parent) && *parent > record)
        };
        if records.iter().all(|record| cause(*record).is_none()) {
            return records;
        }
        let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut placed = HashSet::new();
        let mut ordered = Vec::with_capacity(records.len());
        for record in &records {
            match cause(*record).filter(|parent| !placed.contains(parent)) {
                Some(parent) => waiting.entry(parent).or_default().push(*record),
                None => {
                    let mut ready = vec![*record];
                    while let Some(next) = ready.pop() {
                        placed.insert(next);
                        ordered.push(next);
                        ready.extend(waiting.remove(&next).into_iter().flatten().rev());
                    }
                }
            }
        }
        // A circle of parents: nothing is lost, the file order stands.
        ordered.extend(records.iter().filter(|record| !placed.contains(record)));
        ordered
    }

    /// The branches that the active conversation does not hold, each by its root.
    fn others(&self, rest: &[usize]) -> Vec<Branch> {
        let members = rest.iter().copied().collect::<HashSet<_>>();
        let mut root_of: HashMap<usize, usize> = HashMap::new();
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for record in rest {
            let mut path = vec![*record];
            let mut root = *record;
            while let Some(parent) = self
                .parent(root)
                .filter(|parent| members.contains(parent) && !path.contains(parent))
            {
                root = parent;
                if let Some(known) = root_of.get(&root) {
                    root = *known;
                    break;
                }
                path.push(root);
            }
            path.iter().for_each(|step| {
                root_of.insert(*step, root);
            });
            match groups.iter_mut().find(|(known, _)| *known == root) {
                Some((_, group)) => group.push(*record),
                None => groups.push((root, vec![*record])),
            }
        }
        let to_branch = |(root, records): (usize, Vec<usize>)| Branch {
            records: self.in_causal_order(records),
            active: false,
            is_side_chain: self.links()[root].flags.has(LinkFlags::SIDE),
        };
        groups.into_iter().map(to_branch).collect()
    }
}
