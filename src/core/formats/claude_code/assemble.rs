//! From the lines of a Claude Code log to sessions: the conversation first, then each side chain
//! and each abandoned branch.

use super::FORMAT;
use super::graph::{Branch, Branches, EntryRole, Graph};
use crate::formats::Contents;
use crate::json::complete;
use crate::session::{
    Fact, Flags, Fragment, Item, Keyed, Kind, Record, RecordLink, Session, Source, SourceResult,
    TurnStop, index_number, is_sub_agent,
};
use crate::wire::body_within;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// Puts the lines in the order of the history: the active chain first, then each branch that is not part of it.
pub(super) fn assemble(mut fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    // Lines that could not be read have no link.
    fragment
        .links
        .resize(fragment.records.len(), RecordLink::default());
    let Branches {
        list,
        problems,
        broken,
    } = Graph::branches(&fragment);
    let mut builder = Builder {
        records: std::mem::take(&mut fragment.records).into(),
        names: Arc::new(std::mem::take(&mut fragment.names)),
        places: vec![None; fragment.items.len()],
        sessions: Vec::new(),
        fragment: &fragment,
        broken: broken.into_iter().collect(),
        source,
    };
    for branch in list {
        builder.add(&branch);
    }
    builder.set_models();
    builder.set_stops();
    let mut sessions = builder.sessions;
    for session in &mut sessions {
        mark_compacted(&mut session.items);
        session.link();
    }
    number_side_chains(&mut sessions);
    Ok(Contents { sessions, problems })
}

struct Builder<'a> {
    records: Arc<[Record]>,
    names: Arc<crate::session::Names>,
    /// The session of each item, and its index there.
    places: Vec<Option<(u32, u32)>>,
    sessions: Vec<Session>,
    fragment: &'a Fragment,
    /// The records that name a parent which is not in the file.
    broken: HashSet<u32>,
    source: &'a Arc<dyn Source>,
}

impl Builder<'_> {
    fn add(&mut self, branch: &Branch) {
        let items = &self.fragment.items;
        let mut session = Session::empty(self.source.clone(), FORMAT.id, FORMAT.dialect());
        let mut messages = HashSet::with_hasher(Keyed::default());
        // Such a record may hold no item: then the break lies before the next.
        let mut is_broken = false;
        for record in &branch.records {
            is_broken |= self.broken.contains(record);
            let first = items.partition_point(|item| item.record < *record);
            let own = items[first..]
                .iter()
                .take_while(|item| item.record == *record);
            for (offset, item) in own.enumerate() {
                let place = (
                    index_number(self.sessions.len()),
                    index_number(session.items.len()),
                );
                self.places[first + offset] = Some(place);
                let link = &self.fragment.links[*record as usize];
                let mut item = link.mark_reply(*item, &mut messages);
                let starts = std::mem::take(&mut is_broken);
                item.flags.set_if(Flags::BROKEN_CHAIN, starts);
                session.items.push(item);
            }
        }
        if session.items.is_empty() {
            return;
        }
        session.active = branch.role == EntryRole::Active;
        session.label = branch.role.label(self.sessions.len());
        session.records = self.records.clone();
        session.names = self.names.clone();
        self.sessions.push(session);
    }

    /// Gives each session its model. A model is noted where it changes in the file, so that a branch may have been
    /// made by one that was noted in another.
    fn set_models(&mut self) {
        let (mut models, mut current) = (self.fragment.models().peekable(), None);
        for (item, place) in self.fragment.items.iter().zip(&self.places) {
            while let Some((_, model)) = models.next_if(|(record, _)| *record <= item.record) {
                current = Some(model);
            }
            if let Some((session, _)) = place.filter(|_| item.kind.is_from_model()) {
                let session = &mut self.sessions[session as usize];
                if session.model.as_ref() != current {
                    session.model = current.cloned();
                }
            }
        }
    }

    /// Gives each session the reasons for which its replies ended.
    fn set_stops(&mut self) {
        for (at, fact) in &self.fragment.facts {
            let last = at
                .checked_sub(1)
                .and_then(|last| self.places.get(last as usize));
            let Some(Some((session, item))) = last.copied() else {
                continue;
            };
            if let Fact::Stop(reason) = fact {
                let reason = reason.clone();
                self.sessions[session as usize]
                    .stops
                    .push(TurnStop { item, reason });
            }
        }
        for session in &mut self.sessions {
            session.stops.sort_by_key(|stop| stop.item);
        }
    }
}

/// The tools with which Claude Code begins a sub-agent.
const BEGINNERS: [&str; 2] = ["Task", "Agent"];
/// How much of a call and of a first message is read.
const PROMPT: u64 = 16 * 1024;

/// Puts side chains in the order of the calls that began them: those of parallel calls stand in the file as they happened
/// to begin.
fn number_side_chains(sessions: &mut [Session]) {
    let first = sessions.iter().position(is_sub_agent);
    let Some((main, first)) = sessions.first().zip(first) else {
        return;
    };
    let count = sessions[first..].iter().take_while(|it| is_sub_agent(it));
    let count = count.count();
    if count < 2 {
        return;
    }
    let text = |session: &Session, item: &Item| body_within(session, item, PROMPT);
    let calls = main
        .items
        .iter()
        .filter(|item| item.kind == Kind::Call && BEGINNERS.contains(&main.name(item)));
    let prompts: Vec<String> = calls
        .filter_map(|call| {
            let arguments = text(main, call)?.arguments;
            let arguments: Value =
                serde_json::from_slice(&complete(arguments.as_written().as_bytes())).ok()?;
            Some(arguments.get("prompt")?.as_str()?.trim().to_owned())
        })
        .collect();
    let place = |session: &Session| {
        let asked = session.items.iter().find(|item| item.kind == Kind::User)?;
        let asked = text(session, asked)?.text;
        let asked = asked.trim();
        prompts.iter().position(|prompt| {
            let length = prompt.len().min(asked.len());
            length > 0 && prompt.as_bytes()[..length] == asked.as_bytes()[..length]
        })
    };
    let chains = &mut sessions[first..first + count];
    chains.sort_by_cached_key(|session| place(session).unwrap_or(usize::MAX));
    for (number, session) in chains.iter_mut().enumerate() {
        session.label = EntryRole::SideChain.label(first + number);
    }
}

/// What is before the last compaction is no longer sent to the provider.
fn mark_compacted(items: &mut [Item]) {
    let last = items
        .iter()
        .rposition(|item| item.kind == Kind::Compaction)
        .unwrap_or(0);
    for item in &mut items[..last] {
        item.flags = item.flags.with(Flags::COMPACTED);
    }
}
