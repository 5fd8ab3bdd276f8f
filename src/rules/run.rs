//! What rules are given: the session, the target, and what was offered where, prepared once.

use crate::dialects::Body;
use crate::schema::{Unusable, Validator};
use crate::session::{Dialect, Item, NameId, Session, Tool, ToolKind};
use crate::suggest::Catalogue;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A session under examination.
#[derive(Debug)]
pub struct Run<'a> {
    /// The session.
    pub session: &'a Session,
    /// The dialect that it is judged for.
    pub target: Dialect,
    /// What is offered, by the number of tool sets in force.
    epochs: Vec<Offered<'a>>,
}

/// The tools that are offered during a part of the history.
#[derive(Debug, Default)]
pub struct Offered<'a> {
    tools: Vec<&'a Tool>,
    by_name: HashMap<NameId, usize>,
    validators: Vec<OnceLock<Result<Validator, Unusable>>>,
    catalogue: OnceLock<Catalogue>,
}

/// One item with its body.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its index in the session.
    pub index: usize,
    /// Its head.
    pub item: &'a Item,
    /// Its body; of outputs only the beginning.
    pub body: &'a Body,
    /// The strictly parsed arguments of a call: `None` where they are not JSON, or for items that have none.
    pub arguments: Option<&'a serde_json::Value>,
}

impl<'a> Run<'a> {
    /// Prepares a session; `target` is the dialect to judge for, the recorded one if `None`.
    pub fn new(session: &'a Session, target: Option<Dialect>) -> Self {
        let sets = &session.contract.tool_sets;
        let starts = std::iter::once(None).chain(sets.iter().map(|set| Some(set.from)));
        let epochs = starts
            .map(|from| from.map_or_else(Offered::default, |from| Offered::new(session, from)))
            .collect();
        Self {
            session,
            target: target.unwrap_or(session.dialect),
            epochs,
        }
    }

    /// What is offered to the reply that holds the item at `index`; `None` where no tool list is known.
    pub fn offered(&self, index: usize) -> Option<&Offered<'a>> {
        let turn = self
            .session
            .items
            .get(index)
            .and_then(|item| self.session.turns.get(item.turn as usize));
        let reply = turn.map_or(index as u32, |turn| turn.first);
        let epoch = self.session.contract.epoch(reply);
        self.epochs.get(epoch).filter(|_| epoch > 0)
    }
}

impl<'a> Offered<'a> {
    fn new(session: &'a Session, from: u32) -> Self {
        let tools = session.contract.tools_at(from);
        let by_name = tools
            .iter()
            .enumerate()
            .filter_map(|(position, tool)| Some((session.names.find(&tool.name)?, position)))
            .collect();
        let validators = tools.iter().map(|_| OnceLock::new()).collect();
        Self {
            tools,
            by_name,
            validators,
            catalogue: OnceLock::new(),
        }
    }

    /// The tools.
    pub fn tools(&self) -> &[&'a Tool] {
        &self.tools
    }

    /// The tool of this name.
    pub fn tool(&self, name: NameId) -> Option<&'a Tool> {
        self.by_name
            .get(&name)
            .map(|position| self.tools[*position])
    }

    /// The names that a client can call, for suggestions.
    pub fn callable(&self) -> Vec<&'a str> {
        let callable = self
            .tools
            .iter()
            .filter(|tool| tool.kind != ToolKind::Hosted);
        callable.map(|tool| tool.name.as_str()).collect()
    }

    /// The callable names, prepared for comparisons.
    pub fn catalogue(&self) -> &Catalogue {
        self.catalogue
            .get_or_init(|| Catalogue::new(&self.callable()))
    }

    /// The compiled schema of the arguments of a tool; `None` where it has no schema, an error where it cannot be used.
    pub fn validator(&self, name: NameId) -> Option<Result<&Validator, &Unusable>> {
        let position = *self.by_name.get(&name)?;
        let schema = self.tools[position].parameters.as_ref()?;
        Some(
            self.validators[position]
                .get_or_init(|| Validator::compile(schema))
                .as_ref(),
        )
    }
}
