//! Lookups over a whole session that actions and rules share: which tools are offered where, and where ids and
//! names occur.

use crate::schema::{SchemaCache, SchemaError, Validator};
use crate::session::{
    Flags, Keyed, Kind, NameId, PairStatus, Session, Tool, ToolKind, ToolSet, index_number,
};
use crate::suggest::Catalogue;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A session with lookups that are computed on first use.
#[derive(Debug)]
pub struct SessionIndex<'a> {
    pub session: &'a Session,
    /// What is offered, by the number of tool sets in force.
    lists: Vec<OnceLock<ToolList>>,
    /// For each tool set the sets that it belongs to: one that replaces what was offered, and those
    /// that add to it.
    runs: Vec<Range<usize>>,
    call_ids: OnceLock<HashSet<u64, Keyed>>,
    further_outputs: OnceLock<HashMap<u32, Vec<u32>, Keyed>>,
    named: OnceLock<HashMap<NameId, Vec<u32>>>,
    last_waiting: OnceLock<Option<u32>>,
    compiled: Option<Arc<SchemaCache>>,
}

/// The tools that are offered during a part of the history.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTools<'a> {
    session: &'a Session,
    list: &'a ToolList,
    compiled: Option<&'a SchemaCache>,
}

#[derive(Debug)]
struct ToolList {
    /// Where the tools stand in the contract.
    places: Vec<(usize, usize)>,
    by_name: HashMap<NameId, usize>,
    validators: Vec<OnceLock<Arc<Result<Validator, SchemaError>>>>,
    catalogue: OnceLock<Catalogue>,
}

/// How many lists of tools are kept for tools that are added one after the other: each list holds
/// all tools before it.
const MOST_LISTS: usize = 256;

impl<'a> SessionIndex<'a> {
    pub fn new(session: &'a Session) -> Self {
        let sets = &session.contract.tool_sets;
        Self {
            session,
            lists: sets.iter().map(|_| OnceLock::new()).collect(),
            runs: runs(sets),
            call_ids: OnceLock::new(),
            further_outputs: OnceLock::new(),
            named: OnceLock::new(),
            last_waiting: OnceLock::new(),
            compiled: None,
        }
    }

    /// The same, where schemas may have been compiled before.
    pub fn compiling(mut self, compiled: &Arc<SchemaCache>) -> Self {
        self.compiled = Some(compiled.clone());
        self
    }

    pub(crate) fn validator(&self, schema: &Value) -> Arc<Result<Validator, SchemaError>> {
        compile(self.compiled.as_deref(), schema)
    }

    /// The number of tool sets in force for the item at `index`: what replaces the tools holds from the next
    /// reply on, what is added holds at once (a hosted `tool_search` finds a tool that the same reply calls).
    pub fn epoch(&self, index: usize) -> usize {
        let sets = &self.session.contract.tool_sets;
        let item = self.session.items.get(index);
        let turn = item.and_then(|item| self.session.turns.get(item.turn as usize));
        let reply = turn.map_or(index_number(index), |turn| turn.first);
        let known = self.session.contract.epoch(reply);
        let until = match sets.get(known) {
            Some(set) if !set.replaces => self.runs[known].end,
            _ => known,
        };
        known + sets[known..until].partition_point(|set| set.from as usize <= index)
    }

    /// What is offered to the reply that holds the item at `index`; `None` where no tool list is known.
    pub fn offered(&self, index: usize) -> Option<OfferedTools<'_>> {
        let last = self.shared_set(self.epoch(index).checked_sub(1)?)?;
        let from = self.session.contract.tool_sets.get(last)?.from;
        let list = self.lists.get(last)?;
        Some(OfferedTools {
            session: self.session,
            list: list.get_or_init(|| ToolList::new(self.session, from)),
            compiled: self.compiled.as_deref(),
        })
    }

    /// The tool set to use for the set at `place`: itself or, where very many sets add tools, a slightly later
    /// one, so that no offered tool is ever reported as unknown.
    fn shared_set(&self, place: usize) -> Option<usize> {
        let run = self.runs.get(place)?;
        let step = run.len().div_ceil(MOST_LISTS).max(1);
        let end = run.start + ((place - run.start) / step + 1) * step;
        Some(end.min(run.end) - 1)
    }

    /// Whether some item has a call id of this hash.
    pub(crate) fn has_call_id(&self, hash: u64) -> bool {
        let ids = self.call_ids.get_or_init(|| {
            let items = self.session.items.iter();
            items.map(|item| item.call_id.hash).collect()
        });
        ids.contains(&hash)
    }

    /// The outputs that came for a call that had its output already.
    pub(crate) fn further_outputs(&self, call: u32) -> &[u32] {
        let outputs = self.further_outputs.get_or_init(|| {
            let mut outputs: HashMap<u32, Vec<u32>, Keyed> = HashMap::default();
            for index in 0..self.session.items.len() {
                if let PairStatus::Duplicate(call) = self.session.pairing.standing(index) {
                    outputs.entry(call).or_default().push(index_number(index));
                }
            }
            outputs
        });
        outputs.get(&call).map_or(&[], Vec::as_slice)
    }

    /// Whether somebody is still to decide about an item.
    pub(crate) fn awaits_approval(&self, index: usize) -> bool {
        let item = self.session.items.get(index);
        item.is_some_and(|item| {
            let is_pending = || self.session.pairing.standing(index) == PairStatus::Pending;
            item.flags.has(Flags::AWAITS_APPROVAL)
                || (item.kind == Kind::ApprovalRequest && is_pending())
        })
    }

    /// The last item that awaits an approval.
    pub(crate) fn last_waiting(&self) -> Option<u32> {
        *self.last_waiting.get_or_init(|| {
            let mut indices = (0..self.session.items.len()).rev();
            indices
                .find(|index| self.awaits_approval(*index))
                .map(index_number)
        })
    }

    /// The calls and outputs that carry a name.
    pub(crate) fn named(&self, name: NameId) -> &[u32] {
        let named = self.named.get_or_init(|| {
            let mut named: HashMap<NameId, Vec<u32>> = HashMap::new();
            for (index, item) in self.session.items.iter().enumerate() {
                if matches!(item.kind, Kind::Call | Kind::Output) {
                    let places = named.entry(item.name).or_default();
                    places.push(index_number(index));
                }
            }
            named
        });
        named.get(&name).map_or(&[], Vec::as_slice)
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

impl ToolList {
    fn new(session: &Session, from: u32) -> Self {
        let places = session.contract.places_at(from);
        let name =
            |(set, place): (usize, usize)| &session.contract.tool_sets[set].tools[place].name;
        let by_name = places
            .iter()
            .enumerate()
            .filter_map(|(position, place)| Some((session.names.find(name(*place))?, position)))
            .collect();
        let validators = places.iter().map(|_| OnceLock::new()).collect();
        Self {
            places,
            by_name,
            validators,
            catalogue: OnceLock::new(),
        }
    }
}

impl<'a> OfferedTools<'a> {
    /// How many tools there are.
    pub fn count(self) -> usize {
        self.list.places.len()
    }

    pub fn tools(self) -> impl Iterator<Item = &'a Tool> {
        (0..self.count()).map(move |position| self.tool_at(position))
    }

    fn tool_at(self, position: usize) -> &'a Tool {
        let (set, place) = self.list.places[position];
        &self.session.contract.tool_sets[set].tools[place]
    }

    pub fn tool(self, name: NameId) -> Option<&'a Tool> {
        let position = self.list.by_name.get(&name)?;
        Some(self.tool_at(*position))
    }

    /// The names that a client can call, for suggestions.
    pub fn callable(self) -> Vec<&'a str> {
        let callable = self.tools().filter(|tool| tool.kind != ToolKind::Hosted);
        callable.map(|tool| tool.name.as_str()).collect()
    }

    /// The callable names, prepared for comparisons.
    pub fn catalogue(self) -> &'a Catalogue {
        let catalogue = &self.list.catalogue;
        catalogue.get_or_init(|| Catalogue::new(&self.callable()))
    }

    /// The compiled schema of the arguments of a tool; `None` where it has no schema, an error where
    /// it cannot be used.
    pub fn validator(self, name: NameId) -> Option<Result<&'a Validator, &'a SchemaError>> {
        self.validator_at(*self.list.by_name.get(&name)?)
    }

    /// The same for a tool by its name as text, which no call need have.
    pub fn validator_of(self, name: &str) -> Option<Result<&'a Validator, &'a SchemaError>> {
        self.validator_at(self.tools().position(|tool| tool.name == name)?)
    }

    fn validator_at(self, position: usize) -> Option<Result<&'a Validator, &'a SchemaError>> {
        let schema = self.tool_at(position).parameters.as_ref()?;
        let validator = &self.list.validators[position];
        let validator = validator.get_or_init(|| compile(self.compiled, schema));
        Some(validator.as_ref().as_ref())
    }
}

/// The validator of a schema, which may have been compiled before.
fn compile(compiled: Option<&SchemaCache>, schema: &Value) -> Arc<Result<Validator, SchemaError>> {
    match compiled {
        Some(compiled) => compiled.validator(schema),
        None => Arc::new(Validator::compile_either(schema)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::actions::fixture::sessions;
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
        let sessions = sessions(&json!(items).to_string());
        let around = super::SessionIndex::new(&sessions[0]);
        for call in (2..items.len()).step_by(2) {
            let offered = around.offered(call).unwrap();
            assert!(
                offered.tool(sessions[0].items[call].name).is_some(),
                "{call}"
            );
        }
        let lists = around.lists.iter().filter_map(|list| list.get()).count();
        assert!(lists <= super::MOST_LISTS, "{lists}");
        let first = around.offered(2).unwrap().count();
        assert!(first < 10, "{first}");
    }
}
