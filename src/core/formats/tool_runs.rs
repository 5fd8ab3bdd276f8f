//! When tools ran, as traces and logs record it apart from their messages: each run belongs to a call.

use crate::session::{CallId, Item, Kind, Session, Span, ToolRun, index_number};
use std::collections::{HashMap, HashSet};

/// A run of a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedRun {
    /// The id of its call; empty where that is not recorded.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) run: ToolRun,
}

/// Notes in sessions when their tools ran. A run belongs to the call whose id it has, else to the first call of its
/// tool that has none yet. `sent` has for each record when its request was sent, in milliseconds since 1970, where
/// that is known: a tool runs after the request whose reply calls it, and before the next one.
pub(super) fn note_tool_runs(
    sessions: &mut [Session],
    mut runs: Vec<RecordedRun>,
    sent: &[Option<u64>],
) {
    if runs.is_empty() {
        return;
    }
    runs.sort_by_key(|run| run.run.start);
    let calls = sessions.iter().flat_map(|session| &session.items);
    let calls: HashSet<u64> = calls
        .filter(|item| is_call(item))
        .map(|item| item.call_id.hash)
        .collect();
    let mut by_id: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, run) in runs.iter_mut().enumerate() {
        let id = CallId::new(run.id.as_bytes(), 0);
        match !id.is_none() && calls.contains(&id.hash) {
            true => by_id.entry(id.hash).or_default().push(place),
            false => {
                let name = std::mem::take(&mut run.name);
                by_name.entry(name).or_default().push(place);
            }
        }
    }
    let mut is_used = vec![false; runs.len()];
    // Branches share the calls before them.
    let mut known: HashMap<Span, usize> = HashMap::new();
    for session in sessions {
        let mut own = HashSet::new();
        let mut found = Vec::new();
        for (index, item) in session.items.iter().enumerate() {
            if !is_call(item) {
                continue;
            }
            let fits = |place: usize| {
                let start = runs[place].run.start;
                let sent_at = |item: &Item| sent.get(item.record as usize).copied().flatten();
                let is_next = |it: &&Item| it.kind.is_from_model() && it.record != item.record;
                let next = session.items[index..]
                    .iter()
                    .find(is_next)
                    .and_then(sent_at);
                sent_at(item).is_none_or(|at| start >= at) && next.is_none_or(|at| start <= at)
            };
            let of_id = || {
                let places = by_id.get(&item.call_id.hash)?.iter().copied();
                let free = places.filter(|place| !own.contains(place));
                free.min_by_key(|place| (!fits(*place), is_used[*place]))
            };
            let of_name = || {
                let mut places = by_name.get(session.name(item))?.iter().copied();
                places.find(|place| !is_used[*place] && fits(*place))
            };
            let place = known.get(&item.span).copied();
            let Some(place) = place.or_else(of_id).or_else(of_name) else {
                continue;
            };
            known.insert(item.span, place);
            own.insert(place);
            is_used[place] = true;
            found.push((index_number(index), runs[place].run));
        }
        session.tool_runs.extend(found);
    }
}

fn is_call(item: &Item) -> bool {
    matches!(item.kind, Kind::Call | Kind::HostedCall)
}
