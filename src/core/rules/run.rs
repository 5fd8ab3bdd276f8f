//! What rules are given: the session, the target, and what was offered where, prepared once.

use super::ErrorClass;
use super::clean_cache::CleanItem;
use crate::actions::{ActionContext, Defect, OfferedTools, SessionIndex};
use crate::dialects::Body;
use crate::schema::SchemaCache;
use crate::session::{Dialect, Flags, Item, Session};
use std::sync::Arc;

/// A session under examination.
#[derive(Debug)]
pub struct Run<'a> {
    pub session: &'a Session,
    /// The dialect that it is judged for.
    pub target: Dialect,
    around: SessionIndex<'a>,
    /// The items right after which a token limit stopped their reply, in order.
    cut: Vec<u32>,
    /// The items that need no judging, in order.
    known: Vec<CleanItem>,
}

/// One item with its body.
#[derive(Debug)]
pub struct CheckedItem<'a> {
    /// Its index in the session.
    pub index: usize,
    pub item: &'a Item,
    /// Its body; of outputs only the beginning.
    pub body: &'a Body,
    /// The strictly parsed arguments of a call: `None` where they are not JSON, or for items that have none.
    pub arguments: Option<&'a serde_json::Value>,
    /// What kind of error an output reports.
    pub error: Option<ErrorClass>,
}

impl<'a> Run<'a> {
    /// Prepares a session; `target` is the dialect to judge for, the recorded one if `None`.
    pub fn new(session: &'a Session, target: Option<Dialect>) -> Self {
        let limits = session.stops.iter().filter(|stop| stop.is_token_limit());
        let mut cut = limits.map(|stop| stop.item).collect::<Vec<_>>();
        cut.sort_unstable();
        Self {
            session,
            target: target.unwrap_or(session.dialect),
            around: SessionIndex::new(session),
            cut,
            known: Vec::new(),
        }
    }

    /// The same for a session of which some items were judged before; they are given in order.
    pub fn knowing(mut self, known: Vec<CleanItem>) -> Self {
        self.known = known;
        self
    }

    /// The same, where the schemas of tools may have been compiled before.
    pub fn compiling(mut self, compiled: &Arc<SchemaCache>) -> Self {
        self.around = self.around.compiling(compiled);
        self
    }

    /// What is known of the item at `index` from an earlier check.
    pub(super) fn known(&self, index: usize) -> Option<&CleanItem> {
        let index = u32::try_from(index).ok()?;
        let place = self.known.binary_search_by_key(&index, |known| known.item);
        self.known.get(place.ok()?)
    }

    /// Whether the reply was broken off in this item: by a token limit, or a stream that ended early.
    pub fn is_cut(&self, index: usize) -> bool {
        let item = self.session.items.get(index);
        item.is_some_and(|item| item.flags.has(Flags::INCOMPLETE))
            || u32::try_from(index).is_ok_and(|index| self.cut.binary_search(&index).is_ok())
    }

    /// The number of tool sets in force for the item at `index`.
    pub fn epoch(&self, index: usize) -> usize {
        self.around.epoch(index)
    }

    /// What is offered to the reply that holds the item at `index`; `None` where no tool list is known.
    pub fn offered(&self, index: usize) -> Option<OfferedTools<'_>> {
        self.around.offered(index)
    }

    /// Where an action for a defect is to be applied; `beside` are the other findings of the same turn. `None`
    /// where the defect is about no item.
    pub fn scene<'r>(
        &'r self,
        defect: Defect<'r>,
        beside: &'r [Defect<'r>],
    ) -> Option<ActionContext<'r>> {
        Some(ActionContext {
            around: &self.around,
            target: self.target,
            item: defect.item?,
            defect,
            beside,
        })
    }
}
