//! After every action: the defect is gone, nothing new is broken, and what was not touched is as it was, byte for byte.

#![allow(clippy::print_stderr)]

mod offered;
mod random;
mod recordings;
mod sound;
mod stories;
mod transcripts;
mod twice;
mod untouched;

use recordings::Case;
use retake_core::formats::{CannotWrite, lower};
use retake_core::rules::Finding;
use retake_core::session::{Edit, HistoryChange, Item, Kind, Rope, Session, compare};
use retake_live::{Base, check_session, mark_resolved};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A session of a recording, before anything is done to it.
struct Before<'a> {
    case: &'a Case,
    base: &'a Base,
    /// Its index in the recording.
    number: usize,
    session: &'a Session,
    findings: &'a [Finding],
}

impl Before<'_> {
    /// How many findings of each rule there are once edits are carried out; `None` where the file is one that is never written to. An
    /// error says what went wrong whatever the edits were for.
    fn after(&self, edits: &[Edit]) -> Result<Option<BTreeMap<&'static str, usize>>, String> {
        let splices = match lower(self.session, edits) {
            Ok(splices) => splices,
            Err(CannotWrite::Exchanges | CannotWrite::Journal) => return Ok(None),
            Err(reason) => return Err(format!("cannot be written: {reason}")),
        };
        let rope = Arc::new(self.base.rope().spliced(&splices));
        let mut read = self.base.read(&rope, &|_, _| ()).unwrap();
        self.case.complete(&mut read);
        if read.problems.len() > self.case.recording.problems.len() {
            return Err(format!("problems: {:?}", read.problems));
        }
        let after = read.sessions.get(self.number);
        let after = after.filter(|session| !session.items.is_empty());
        let after = after.ok_or("nothing is left of the history")?;
        let changed =
            untouched_but_changed((self.session, self.base.rope()), (after, &rope), edits);
        if let Some(item) = changed {
            return Err(format!("item {item} was not to be touched"));
        }
        let mut left = check_session(after, self.case.target).unwrap();
        mark_resolved(after, &rope, &mut left);
        Ok(Some(counts(&left)))
    }

    /// Rules of which there are more findings than before, although the action is not known to bring them.
    fn brought<'r>(&self, action: &str, after: &BTreeMap<&'r str, usize>) -> Vec<&'r str> {
        let before = counts(self.findings);
        let more = after.iter().filter(|(rule, count)| {
            *count > before.get(*rule).unwrap_or(&0) && !follows(action, rule)
        });
        more.map(|(rule, _)| *rule).collect()
    }
}

/// The first item that differs although no edit names it.
fn untouched_but_changed(
    before: (&Session, &Rope),
    after: (&Session, &Rope),
    edits: &[Edit],
) -> Option<usize> {
    let touched: BTreeSet<usize> = edits
        .iter()
        .flat_map(|edit| touched(before.0, edit))
        .collect();
    let bytes = |session: &Session, index: usize| session.bytes(&session.items[index]).unwrap();
    let changes = compare(before, after).unwrap();
    changes.into_iter().find_map(|change| match change {
        // What was written again may say the same.
        HistoryChange::Changed {
            before: old,
            after: new,
        } if bytes(before.0, old) == bytes(after.0, new) => None,
        HistoryChange::Changed { before, .. } | HistoryChange::Removed { before } => {
            (!touched.contains(&before)).then_some(before + 1)
        }
        HistoryChange::Same { .. } | HistoryChange::Added { .. } => None,
    })
}

fn touched(session: &Session, edit: &Edit) -> Vec<usize> {
    let items = &session.items;
    match edit {
        Edit::Rewrite { item, .. } | Edit::Drop { item } | Edit::Degrade { item, .. } => {
            // In Chat the words of a message are the whole message, with its calls in it.
            let own = items[*item as usize].span;
            let around = |other: &retake_core::session::Item| {
                other.span.start <= own.start && own.end <= other.span.end
            };
            items
                .iter()
                .enumerate()
                .filter(|(_, item)| around(item))
                .map(|(index, _)| index)
                .collect()
        }
        Edit::Move { output, call } => {
            let mut touched = vec![*output as usize, *call as usize];
            touched.extend(next_of_user(items, *call));
            touched
        }
        Edit::Answer { call, .. } => next_of_user(items, *call).into_iter().collect(),
        Edit::Say { .. } | Edit::Extend { .. } | Edit::Relink { .. } | Edit::Insert { .. } => {
            Vec::new()
        }
        Edit::Cut { from } => (*from as usize..items.len()).collect(),
    }
}

/// The message of the user behind a call: its words become a block beside an output that goes there.
fn next_of_user(items: &[Item], call: u32) -> Option<usize> {
    let behind = call as usize + 1..items.len();
    behind
        .into_iter()
        .find(|index| items[*index].kind == Kind::User)
}

/// How many findings of each rule count: what a take has answered does not.
fn counts(findings: &[Finding]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings.iter().filter(|finding| !finding.is_settled) {
        *counts.entry(finding.rule.id).or_default() += 1;
    }
    counts
}

/// Findings that an action brings about by what it is: repaired arguments can be read, and may break the schema; a call that is made of a
/// text has no output; what is written by hand may name any tool and hold any arguments.
fn follows(action: &str, rule: &str) -> bool {
    matches!(
        (action, rule),
        ("repair-arguments", "invalid-arguments")
            | (
                "salvage-call",
                "orphan-call" | "pending-call" | "invalid-arguments"
            )
            | (
                "edit",
                "malformed-arguments" | "invalid-arguments" | "unknown-tool" | "invalid-tool-name"
            )
    )
}
