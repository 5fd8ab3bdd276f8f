//! Which lines of a Claude Code log are the conversation, in which order, and which are side
//! chains or dead branches.
//!
//! The official reader takes the leaf that comes latest in the file and walks `parentUuid` to the root. That
//! alone loses the results of parallel calls, which hang on their own line of the message and not on the chain;
//! so lines of a message that is on the chain, and the results that answer its calls, belong to it too. All of
//! it is linear in the lines of the file.

use crate::session::{
    Fragment, Item, Keyed, Kind, LinkFlags, Problem, ProblemKind, RecordLink, index_number,
};
use std::collections::{HashMap, HashSet};

/// A chain of lines, in the order of the history.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) records: Vec<u32>,
    /// What it is to the conversation.
    pub(super) role: EntryRole,
}

/// What a branch is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryRole {
    Active,
    /// The work of a sub-agent.
    SideChain,
    /// What the user went back from.
    Abandoned,
    /// Lines whose ids stand in the file before.
    Repeated,
}

impl EntryRole {
    /// What tells a branch from the other sessions of the file.
    pub(super) fn label(self, number: usize) -> String {
        match self {
            Self::Active => String::new(),
            Self::SideChain => format!("side chain {number}"),
            Self::Abandoned => format!("abandoned branch {number}"),
            Self::Repeated => "repeated lines".to_owned(),
        }
    }
}

/// Where a record belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    Branch(u32),
}

/// The lines of a file and how they hang together.
pub(super) struct Graph<'a> {
    fragment: &'a Fragment,
    parents: Vec<Option<u32>>,
    /// The first item of each record, and after the last record the number of items.
    first_items: Vec<u32>,
    places: Vec<Place>,
    branches: Vec<Branch>,
    problems: Vec<Problem>,
    broken: Vec<u32>,
}

/// What became of the records of a file.
pub(super) struct Branches {
    /// The branches, the active one first.
    pub(super) list: Vec<Branch>,
    /// What could not be read.
    pub(super) problems: Vec<Problem>,
    /// The records of the active branch that name a parent which is not in the file, although
    /// records stand before them.
    pub(super) broken: Vec<u32>,
}

type Ids = HashSet<u64, Keyed>;

impl<'a> Graph<'a> {
    /// Sorts the records of a file into branches.
    pub(super) fn branches(fragment: &'a Fragment) -> Branches {
        let mut graph = Self {
            fragment,
            parents: Vec::new(),
            first_items: first_items(fragment),
            places: vec![Place::Open; fragment.links.len()],
            branches: Vec::new(),
            problems: Vec::new(),
            broken: Vec::new(),
        };
        let repeated = graph.resolve();
        let chain = graph.chain();
        let active = graph.with_siblings(&chain, &repeated);
        graph.add(EntryRole::Active, active);
        graph.add_others(&repeated);
        graph.add(EntryRole::Repeated, repeated.ones());
        Branches {
            list: graph.branches,
            problems: graph.problems,
            broken: graph.broken,
        }
    }

    fn links(&self) -> &'a [RecordLink] {
        &self.fragment.links
    }

    /// Finds the parent of each record; gives the records whose id another one had before.
    fn resolve(&mut self) -> Marks {
        let mut by_id: HashMap<u64, u32, Keyed> = HashMap::default();
        by_id.reserve(self.links().len());
        let mut repeated = Marks::new(self.links().len());
        for (record, link) in self.links().iter().enumerate() {
            if link.id != 0
                && *by_id.entry(link.id).or_insert(index_number(record)) != index_number(record)
            {
                repeated.set(record);
            }
        }
        let parent = |link: &RecordLink| {
            by_id
                .get(&link.parent)
                .copied()
                .filter(|_| link.parent != 0)
        };
        self.parents = self.links().iter().map(parent).collect();
        repeated
    }

    fn parent(&self, record: usize) -> Option<usize> {
        self.parents[record].map(|parent| parent as usize)
    }

    /// The lines that may be the conversation: those of no sub-agent; all of them where a file holds nothing
    /// but a sub-agent's lines (`subagents/agent-*.jsonl`).
    fn candidates(&self) -> Vec<usize> {
        let linked = |record: &usize| self.links()[*record].id != 0;
        let side = |record: &usize| self.links()[*record].flags.has(LinkFlags::SIDE);
        let all = 0..self.links().len();
        let main = all
            .clone()
            .filter(linked)
            .filter(|record| !side(record))
            .collect::<Vec<_>>();
        if main.iter().any(|record| self.speaks(*record)) {
            main
        } else {
            all.filter(linked).collect()
        }
    }

    fn speaks(&self, record: usize) -> bool {
        let flags = self.links()[record].flags;
        (flags.has(LinkFlags::ASSISTANT) || flags.has(LinkFlags::USER))
            && !flags.has(LinkFlags::META)
    }

    /// From the leaf that comes latest in the file up to the root.
    fn chain(&mut self) -> Marks {
        let candidates = self.candidates();
        let mut before = None;
        let mut previous = vec![None; self.links().len()];
        for record in &candidates {
            previous[*record] = before;
            before = Some(*record);
        }
        let mut chain = Marks::new(self.links().len());
        let mut at = self.leaf(&candidates).or(before);
        let mut child: Option<usize> = None;
        while let Some(record) = at {
            if chain.has(record) {
                self.report(record, ProblemKind::ParentCycle);
                // The circle is cut where the walk came back.
                if let Some(child) = child {
                    self.parents[child] = None;
                }
                break;
            }
            child = Some(record);
            chain.set(record);
            at = self.parent(record);
            let link = &self.links()[record];
            if at.is_none() {
                let is_boundary = link.flags.has(LinkFlags::BOUNDARY);
                // Across a gap, and after a compaction, the lines before are still the story so far.
                if link.parent != 0 || is_boundary {
                    at = previous[record];
                }
                // A log that begins with a line of another file is whole.
                if link.parent != 0 && !is_boundary && at.is_some() {
                    self.broken.push(index_number(record));
                }
            }
        }
        chain
    }

    fn leaf(&self, candidates: &[usize]) -> Option<usize> {
        let mut seen = Marks::new(self.links().len());
        let mut is_parent = Marks::new(self.links().len());
        for record in candidates {
            if let Some(parent) = self.parent(*record) {
                is_parent.set(parent);
            }
        }
        let leaves = candidates
            .iter()
            .rev()
            .filter(|record| !is_parent.has(**record));
        for leaf in leaves {
            let mut at = Some(*leaf);
            while let Some(record) = at.filter(|record| !seen.has(*record)) {
                if self.speaks(record) {
                    return Some(record);
                }
                seen.set(record);
                at = self.parent(record);
            }
        }
        None
    }

    fn report(&mut self, record: usize, kind: ProblemKind) {
        let at = self.fragment.records[record].span.start;
        self.problems.push(Problem { at, kind });
    }

    /// The chain with the lines of the same messages, the results that answer its calls, and lines that are in
    /// no chain at all.
    fn with_siblings(&self, chain: &Marks, repeated: &Marks) -> Vec<usize> {
        let links = self.links();
        let mut messages = Ids::default();
        let mut answered = Ids::default();
        for record in chain.ones() {
            messages.insert(links[record].message);
            answered.extend(self.ids(record, Kind::Output));
        }
        messages.remove(&0);
        let mut active = chain.clone();
        let mut calls = Ids::default();
        for (record, link) in links.iter().enumerate() {
            if !repeated.has(record) && (active.has(record) || messages.contains(&link.message)) {
                active.set(record);
                calls.extend(self.ids(record, Kind::Call));
            }
        }
        for (record, link) in links.iter().enumerate() {
            if active.has(record) || repeated.has(record) {
                continue;
            }
            let answers = link.flags.has(LinkFlags::USER)
                && self
                    .ids(record, Kind::Output)
                    .any(|id| calls.contains(&id) && answered.insert(id));
            if answers || link.id == 0 {
                active.set(record);
            }
        }
        active.ones()
    }

    /// The call ids of the items of one kind in a record.
    fn ids(&self, record: usize, kind: Kind) -> impl Iterator<Item = u64> {
        self.items(record)
            .iter()
            .filter(move |item| item.kind == kind)
            .map(|item| item.call_id.hash)
    }

    fn items(&self, record: usize) -> &'a [Item] {
        let (first, end) = (self.first_items[record], self.first_items[record + 1]);
        &self.fragment.items[first as usize..end as usize]
    }

    fn add(&mut self, role: EntryRole, records: Vec<usize>) {
        let place = Place::Branch(index_number(self.branches.len()));
        for record in &records {
            self.places[*record] = place;
        }
        let records = self.in_causal_order(records, place);
        self.branches.push(Branch { records, role });
    }

    /// File order, but no line before the one that it hangs on.
    fn in_causal_order(&self, records: Vec<usize>, place: Place) -> Vec<u32> {
        let cause = |record: usize| {
            self.parent(record)
                .filter(|parent| *parent > record && self.places[*parent] == place)
        };
        if records.iter().all(|record| cause(*record).is_none()) {
            return records.into_iter().map(index_number).collect();
        }
        let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut placed = Marks::new(self.links().len());
        let mut ordered = Vec::with_capacity(records.len());
        for record in &records {
            if let Some(parent) = cause(*record).filter(|parent| !placed.has(*parent)) {
                waiting.entry(parent).or_default().push(*record);
                continue;
            }
            let mut ready = vec![*record];
            while let Some(next) = ready.pop() {
                placed.set(next);
                ordered.push(index_number(next));
                ready.extend(waiting.remove(&next).into_iter().flatten().rev());
            }
        }
        // A circle of parents: nothing is lost, the file order remains.
        let left = records.iter().filter(|record| !placed.has(**record));
        ordered.extend(left.map(|record| index_number(*record)));
        ordered
    }

    /// The branches that the active conversation does not hold, each by its root.
    fn add_others(&mut self, repeated: &Marks) {
        let mut root_of: Vec<Option<usize>> = vec![None; self.links().len()];
        let mut group_of: HashMap<usize, usize> = HashMap::new();
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for record in 0..self.links().len() {
            if self.places[record] != Place::Open || repeated.has(record) {
                continue;
            }
            let root = self.root(record, &mut root_of);
            let group = *group_of.entry(root).or_insert(groups.len());
            match groups.get_mut(group) {
                Some((_, records)) => records.push(record),
                None => groups.push((root, vec![record])),
            }
        }
        for (root, records) in groups {
            let is_side = self.links()[root].flags.has(LinkFlags::SIDE);
            let role = if is_side {
                EntryRole::SideChain
            } else {
                EntryRole::Abandoned
            };
            self.add(role, records);
        }
    }

    /// The first record above `record` that hangs on nothing outside of the conversation; remembered for
    /// all on the way.
    fn root(&self, record: usize, root_of: &mut [Option<usize>]) -> usize {
        let mut path = Vec::new();
        let mut at = record;
        let root = loop {
            if let Some(known) = root_of[at] {
                break known;
            }
            // For the time being: a walk in a circle ends where it comes back.
            root_of[at] = Some(at);
            path.push(at);
            match self
                .parent(at)
                .filter(|parent| self.places[*parent] == Place::Open)
            {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        for step in path {
            root_of[step] = Some(root);
        }
        root
    }
}

fn first_items(fragment: &Fragment) -> Vec<u32> {
    let mut first_items = vec![0; fragment.records.len() + 1];
    for item in &fragment.items {
        first_items[item.record as usize + 1] += 1;
    }
    for record in 1..first_items.len() {
        first_items[record] += first_items[record - 1];
    }
    first_items
}

/// One bit for each record.
#[derive(Debug, Clone)]
struct Marks {
    words: Vec<u64>,
}

impl Marks {
    fn new(length: usize) -> Self {
        Self {
            words: vec![0; length.div_ceil(64)],
        }
    }

    fn set(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
    }

    fn has(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    fn ones(&self) -> Vec<usize> {
        let bits = |(place, word): (usize, &u64)| {
            let word = *word;
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| place * 64 + bit)
        };
        self.words.iter().enumerate().flat_map(bits).collect()
    }
}
