//! What rules are given: the session, the target, and what was offered where, prepared once.

use super::ErrorClass;
use crate::dialects::Body;
use crate::schema::{Unusable, Validator, normalise_gemini};
use crate::session::{Dialect, Flags, Item, NameId, Session, Tool, ToolKind, ToolSet};
use crate::suggest::Catalogue;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// A session under examination.
#[derive(Debug)]
pub struct Run<'a> {
    /// The session.
    pub session: &'a Session,
    /// The dialect that it is judged for.
    pub target: Dialect,
    /// What is offered, by the number of tool sets in force.
    epochs: Vec<OnceLock<Offered<'a>>>,
    /// For each tool set the sets that it belongs to: one that replaces what was offered, and those that add to it.
    runs: Vec<Range<usize>>,
    /// The items whose reply was stopped by a token limit right behind them, in order.
    cut: Vec<u32>,
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
    /// What kind of error an output reports.
    pub error: Option<ErrorClass>,
}

impl<'a> Run<'a> {
    /// Prepares a session; `target` is the dialect to judge for, the recorded one if `None`.
    pub fn new(session: &'a Session, target: Option<Dialect>) -> Self {
        let epochs = session.contract.tool_sets.iter().map(|_| OnceLock::new());
        let limits = session.stops.iter().filter(|stop| stop.is_token_limit());
        let mut cut = limits.map(|stop| stop.item).collect::<Vec<_>>();
        cut.sort_unstable();
        Self {
            session,
            target: target.unwrap_or(session.dialect),
            epochs: epochs.collect(),
            runs: runs(&session.contract.tool_sets),
            cut,
        }
    }

    /// Whether the reply was broken off in this item: by a token limit, or a stream that ended early.
    pub fn is_cut(&self, index: usize) -> bool {
        let item = self.session.items.get(index);
        item.is_some_and(|item| item.flags.has(Flags::INCOMPLETE))
            || u32::try_from(index).is_ok_and(|index| self.cut.binary_search(&index).is_ok())
    }

    /// The number of tool sets in force for the item at `index`: what replaces the tools holds from the next reply on, what is
    /// added holds at once (a hosted `tool_search` finds a tool that the same reply calls).
    pub fn epoch(&self, index: usize) -> usize {
        let sets = &self.session.contract.tool_sets;
        let turn = self
            .session
            .items
            .get(index)
            .and_then(|item| self.session.turns.get(item.turn as usize));
        let reply = turn.map_or(index as u32, |turn| turn.first);
        let known = self.session.contract.epoch(reply);
        let until = match sets.get(known) {
            Some(set) if !set.replaces => self.runs[known].end,
            _ => known,
        };
        known + sets[known..until].partition_point(|set| set.from as usize <= index)
    }

    /// What is offered to the reply that holds the item at `index`; `None` where no tool list is known.
    pub fn offered(&self, index: usize) -> Option<&Offered<'a>> {
        let last = self.shared_set(self.epoch(index).checked_sub(1)?)?;
        let from = self.session.contract.tool_sets.get(last)?.from;
        let offered = self.epochs.get(last)?;
        Some(offered.get_or_init(|| Offered::new(self.session, from)))
    }
}

/// How many lists of tools are kept for tools that are added one after the other: each list holds all tools before it.
const MOST_LISTS: usize = 256;

impl Run<'_> {
    /// The tool set whose tools stand for those of the set at `place`: itself, or where very many sets add tools, one a little
    /// behind it, so that no offered tool is ever called unknown.
    fn shared_set(&self, place: usize) -> Option<usize> {
        let run = self.runs.get(place)?;
        let step = run.len().div_ceil(MOST_LISTS).max(1);
        let behind = run.start + ((place - run.start) / step + 1) * step;
        Some(behind.min(run.end) - 1)
    }
}

/// For each set the run of sets that it belongs to.
fn runs(sets: &[ToolSet]) -> Vec<Range<usize>> {
    let mut runs = Vec::with_capacity(sets.len());
    while runs.len() < sets.len() {
        let start = runs.len();
        let more = sets[start + 1..].iter().take_while(|set| !set.replaces);
        let end = start + 1 + more.count();
        runs.resize(end, start..end);
    }
    runs
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
                .get_or_init(|| compile(schema))
                .as_ref(),
        )
    }
}

/// Compiles a schema in either spelling: JSON Schema, or Gemini's with its upper-case types.
pub(super) fn compile(schema: &serde_json::Value) -> Result<Validator, Unusable> {
    Validator::compile(schema).or_else(|refusal| match refusal {
        Unusable::NotASchema { .. } => Validator::compile(&normalise_gemini(schema)),
        other => Err(other),
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::fixture;
    use serde_json::json;

    #[test]
    fn a_thousand_additions_of_tools_take_no_thousand_lists_and_hide_no_tool() {
        let mut items = vec![json!({"type": "message", "role": "user", "content": "hi"})];
        for number in 0..1000 {
            let name = format!("tool_{number}");
            items.push(
                json!({"type": "additional_tools", "tools": [{"type": "function", "name": name}]}),
            );
            items.push(json!({"type": "function_call", "call_id": number.to_string(), "name": name, "arguments": "{}"}));
        }
        let sessions = fixture(&json!(items).to_string()).sessions();
        let run = super::Run::new(&sessions[0], None);
        let calls = (2..items.len()).step_by(2);
        for call in calls {
            let offered = run.offered(call).unwrap();
            assert!(
                offered.tool(sessions[0].items[call].name).is_some(),
                "{call}"
            );
        }
        let lists = run.epochs.iter().filter_map(|list| list.get()).count();
        assert!(lists <= super::MOST_LISTS, "{lists}");
        let first = run.offered(2).unwrap().tools().len();
        assert!(first < 10, "{first}");
    }
}
