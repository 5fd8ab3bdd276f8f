//! Call ids as the target wants them: a call and its output always share one, and no two calls do.

use super::{LossKind, To};
use crate::session::{Flags, Item, Kind, Session, SourceError, Standing};
use std::collections::{HashMap, HashSet};

/// The ids that had to change, by the index of the call.
#[derive(Debug, Default)]
pub(super) struct TargetIds {
    changed: HashMap<usize, String>,
}

impl TargetIds {
    /// Gives each call that is spelled anew its id. What is copied keeps its own.
    pub(super) fn of(session: &Session, to: To) -> Result<Self, SourceError> {
        let mut ids = Self::default();
        let mut taken: HashSet<String> = HashSet::new();
        let calls = session.items.iter().enumerate();
        let calls =
            calls.filter(|(_, item)| item.kind == Kind::Call && !item.flags.has(Flags::COMPACTED));
        for (index, item) in calls {
            let recorded = session.call_id(item)?;
            if to.has_spelling(item) {
                taken.insert(recorded);
                continue;
            }
            // What has no id and no partner is no worse off without one in the target.
            let is_paired = matches!(session.pairing.standing(index), Standing::Paired(_));
            if recorded.is_empty() && !is_paired {
                continue;
            }
            let mut fitting = to.fit_id(&recorded);
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

    /// The id of a call, or of the call that an output answers; an output that answers none has its own, in the
    /// target's letters. Empty where there is none.
    pub(super) fn target(
        &self,
        session: &Session,
        to: To,
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
            None => to.fit_id(&recorded),
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
fn free(id: &str, index: usize, to: To, taken: &HashSet<String>) -> String {
    let numbered = (index + 1..).map(|number| {
        let tail = format!("_{number}");
        let kept = id.floor_char_boundary(to.longest_id() - tail.len());
        format!("{}{tail}", &id[..kept])
    });
    numbered
        .into_iter()
        .find(|id| !taken.contains(id))
        .unwrap_or_default()
}

impl To {
    /// The id in the letters and the length that the target takes: Chat up to 40 characters (agno#5382),
    /// Responses up to 64 (OpenAI API reference), Anthropic `^[a-zA-Z0-9_-]+$` (its error text).
    pub(super) fn fit_id(self, id: &str) -> String {
        let is_fitting = |character: char| match self {
            // What JSON spells with an escape is taken by nobody's pattern and counts for
            // more than one character.
            Self::Responses | Self::Chat => {
                !character.is_control() && !matches!(character, '"' | '\\')
            }
            Self::Anthropic => character.is_ascii_alphanumeric() || matches!(character, '_' | '-'),
        };
        let letters = id.chars();
        let fitting: String = letters
            .map(|character| {
                if is_fitting(character) {
                    character
                } else {
                    '_'
                }
            })
            .collect();
        let kept = fitting.floor_char_boundary(self.longest_id());
        fitting[..kept].to_owned()
    }

    /// In bytes. Anthropic names no limit; nothing that is longer than the longest of the others
    /// comes from a provider.
    fn longest_id(self) -> usize {
        match self {
            Self::Chat => 40,
            Self::Responses | Self::Anthropic => 64,
        }
    }

    /// Whether an item is copied as it is: it has the target's spelling already.
    pub(super) fn has_spelling(self, item: &Item) -> bool {
        item.shape == self.shape()
    }
}
