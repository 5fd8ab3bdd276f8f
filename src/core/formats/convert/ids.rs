//! Call ids as the target wants them: a call and its output always share one, and no two calls do.

use super::LossKind;
use crate::session::{Dialect, Flags, Kind, PairStatus, Session, SourceError};
use crate::wire::{Facts, IdsNeeded};
use std::collections::{HashMap, HashSet};

/// The ids that had to change, by the index of the call.
#[derive(Debug, Default)]
pub(super) struct TargetIds {
    changed: HashMap<usize, String>,
    /// The calls that have more than one output.
    repeated: HashSet<usize>,
}

impl TargetIds {
    /// Gives each call that is spelled anew its id. What is copied keeps its own.
    pub(super) fn of(session: &Session, to: Dialect) -> Result<Self, SourceError> {
        let answers = (0..session.items.len()).map(|index| session.pairing.standing(index));
        let repeated = answers.filter_map(|standing| match standing {
            PairStatus::Duplicate(call) => Some(call as usize),
            _ => None,
        });
        let mut ids = Self {
            repeated: repeated.collect(),
            ..Self::default()
        };
        let mut taken: HashSet<String> = HashSet::new();
        let calls = session.items.iter().enumerate();
        let calls =
            calls.filter(|(_, item)| item.kind == Kind::Call && !item.flags.has(Flags::COMPACTED));
        for (index, item) in calls {
            let recorded = session.call_id(item)?;
            if item.dialect == Some(to) {
                taken.insert(recorded);
                continue;
            }
            // What has no id and no partner is no worse off without one in the target.
            // A call that needs none has an output by its name.
            let needs_none = |facts: &Facts| facts.call_ids.needed == IdsNeeded::Neither;
            let is_paired = item.facts().is_some_and(needs_none)
                || matches!(session.pairing.standing(index), PairStatus::Paired(_));
            if recorded.is_empty() && !is_paired {
                continue;
            }
            let mut fitting = fit_id(to, &recorded);
            if fitting.is_empty() {
                fitting = format!("call_{}", index + 1);
            }
            if taken.contains(&fitting) {
                fitting = free(&fitting, index, to, &taken);
            }
            if fitting != recorded {
                ids.changed.insert(index, fitting.clone());
            }
            taken.insert(fitting);
        }
        Ok(ids)
    }

    /// Whether an item is half of a pair that is one without ids, too, by name and order.
    pub(super) fn is_simple(&self, session: &Session, index: usize) -> bool {
        let PairStatus::Paired(partner) = session.pairing.standing(index) else {
            return false;
        };
        let is_repeated = |call| self.repeated.contains(&call);
        !is_repeated(index) && !is_repeated(partner as usize)
    }

    /// The id of a call, or of the call that an output answers; an output that answers none has its own, in the
    /// target's letters. Empty where there is none.
    pub(super) fn target(
        &self,
        session: &Session,
        to: Dialect,
        index: usize,
    ) -> Result<String, SourceError> {
        let item = &session.items[index];
        let call = match item.kind {
            Kind::Call => Some(index),
            _ => visible_partner(session, index),
        };
        if let Some(changed) = call.and_then(|call| self.changed.get(&call)) {
            return Ok(changed.clone());
        }
        let recorded = session.call_id(call.map_or(item, |call| &session.items[call]))?;
        Ok(match call {
            Some(_) => recorded,
            None => fit_id(to, &recorded),
        })
    }

    /// What changed about the id of a call.
    pub(super) fn loss(
        &self,
        session: &Session,
        index: usize,
    ) -> Result<Option<LossKind>, SourceError> {
        let Some(to) = self.changed.get(&index) else {
            return Ok(None);
        };
        Ok(Some(LossKind::NewId {
            from: session.call_id(&session.items[index])?,
            to: to.clone(),
        }))
    }
}

/// The other half of a pair, where the target's history holds it.
pub(super) fn visible_partner(session: &Session, index: usize) -> Option<usize> {
    let partner = session.pairing.partner(index)?;
    let item = session.items.get(partner)?;
    (!item.flags.has(Flags::COMPACTED)).then_some(partner)
}

/// An id that is not taken: the fitting one with the number of its item behind it.
fn free(id: &str, index: usize, to: Dialect, taken: &HashSet<String>) -> String {
    let numbered = (index + 1..).map(|number| {
        let tail = format!("_{number}");
        let kept = id.floor_char_boundary(to.facts().call_ids.longest - tail.len());
        format!("{}{tail}", &id[..kept])
    });
    numbered
        .into_iter()
        .find(|id| !taken.contains(id))
        .unwrap_or_default()
}

/// The id in the letters and the length that the target takes.
fn fit_id(to: Dialect, id: &str) -> String {
    let rule = &to.facts().call_ids;
    let is_fitting = |character: char| match rule.plain {
        true => character.is_ascii_alphanumeric() || matches!(character, '_' | '-'),
        // What JSON spells with an escape is taken by nobody's pattern and counts for more than one character.
        false => !character.is_control() && !matches!(character, '"' | '\\'),
    };
    let letters = id.chars();
    let fitting = letters.map(|character| match is_fitting(character) {
        true => character,
        false => '_',
    });
    let fitting = fitting.collect::<String>();
    let kept = fitting.floor_char_boundary(rule.longest);
    fitting[..kept].to_owned()
}
