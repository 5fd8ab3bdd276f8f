//! Call ids and tool names as the target wants them: a call and its output always share an id, and no two calls do;
//! the same name always gives the same, and two never give one.

use super::agent::AgentProgram;
use super::losses::LossKind;
use crate::session::{Dialect, Flags, Kind, PairStatus, Session, SourceResult};
use crate::wire::{Facts, IdsNeeded};
use std::collections::{HashMap, HashSet};

/// The ids that had to change, by the index of the call.
#[derive(Debug, Default)]
pub(super) struct TargetIds {
    changed: HashMap<usize, String>,
    /// The calls that have more than one output.
    repeated: HashSet<usize>,
    longest: usize,
}

/// The longest id that every provider takes: an agent may send its session to any of them.
const LONGEST_ANYWHERE: usize = 40;

impl TargetIds {
    /// Gives each call that is spelled anew its id. What is copied keeps its own.
    pub(super) fn of(
        session: &Session,
        to: Dialect,
        agent: Option<AgentProgram>,
    ) -> SourceResult<Self> {
        let longest = to.facts().call_ids.longest;
        let is_bound = agent.is_none_or(AgentProgram::keeps_wire);
        let copies = agent.is_none_or(|agent| agent.copies(session.format));
        let answers = (0..session.items.len()).map(|index| session.pairing.standing(index));
        let repeated = answers.filter_map(|standing| match standing {
            PairStatus::Duplicate(call) => Some(call as usize),
            _ => None,
        });
        let mut ids = Self {
            repeated: repeated.collect(),
            changed: HashMap::new(),
            longest: if is_bound {
                longest
            } else {
                longest.min(LONGEST_ANYWHERE)
            },
        };
        let mut taken: HashSet<String> = HashSet::new();
        let calls = session.items.iter().enumerate();
        let calls =
            calls.filter(|(_, item)| item.kind == Kind::Call && !item.flags.has(Flags::COMPACTED));
        for (index, item) in calls {
            let recorded = session.call_id(item)?;
            if item.dialect == Some(to) && copies {
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
            let mut fitting = fit_id(to, ids.longest, &recorded);
            if fitting.is_empty() {
                fitting = format!("call_{}", index + 1);
            }
            if taken.contains(&fitting) {
                fitting = free(&fitting, index, ids.longest, &taken);
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
    ) -> SourceResult<String> {
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
            None => fit_id(to, self.longest, &recorded),
        })
    }

    /// What changed about the id of a call.
    pub(super) fn loss(&self, session: &Session, index: usize) -> SourceResult<Option<LossKind>> {
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

/// An id that is not taken: the fitting one with the number of its item after it.
fn free(id: &str, index: usize, longest: usize, taken: &HashSet<String>) -> String {
    let numbered = (index + 1..).map(|number| {
        let tail = format!("_{number}");
        let kept = id.floor_char_boundary(longest - tail.len());
        format!("{}{tail}", &id[..kept])
    });
    numbered
        .into_iter()
        .find(|id| !taken.contains(id))
        .unwrap_or_default()
}

/// The id in the letters and the length that the target takes.
fn fit_id(to: Dialect, longest: usize, id: &str) -> String {
    let is_fitting = |character: char| match to.facts().call_ids.plain {
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
    let kept = fitting.floor_char_boundary(longest);
    fitting[..kept].to_owned()
}

/// The names that had to change.
#[derive(Debug, Default)]
pub(super) struct TargetNames {
    changed: HashMap<String, String>,
}

impl TargetNames {
    /// Looks at every name of a session: what calls use and what is offered. For an agent's session its tools have
    /// the names that the agent gives them.
    pub(super) fn of(session: &Session, to: Dialect, agent: Option<AgentProgram>) -> Self {
        let tools = session.contract.tool_sets.iter().flat_map(|set| &set.tools);
        let offered = tools.map(|tool| tool.name.as_str());
        let used = session.names.iter().map(|(_, name)| name);
        let all: Vec<&str> = used.chain(offered).collect();
        let limit = to.facts().names.longest;
        let (valid, odd): (Vec<&str>, Vec<&str>) =
            all.into_iter().partition(|name| is_valid(name, limit));
        let mut taken: HashSet<String> = valid.iter().map(|name| (*name).to_owned()).collect();
        let mut changed: HashMap<String, String> = HashMap::new();
        for name in agent.map_or(&[][..], |_| &valid) {
            if let Some(tool) = agent.and_then(|agent| agent.tool(session.format, name)) {
                changed.insert((*name).to_owned(), tool.name.to_owned());
            }
        }
        let mut last_numbers = HashMap::new();
        for name in odd {
            if !changed.contains_key(name) {
                let fitting = sanitised(name, limit);
                let last_number = last_numbers.entry(fitting.clone()).or_insert(1);
                let fitting = free_name(fitting, limit, &taken, last_number);
                taken.insert(fitting.clone());
                changed.insert(name.to_owned(), fitting);
            }
        }
        Self { changed }
    }

    /// The valid name for `name`; the same where nothing is wrong with it.
    pub(super) fn target(&self, name: &str) -> String {
        match self.changed.get(name) {
            Some(changed) => changed.clone(),
            None if name.is_empty() => NAMELESS.to_owned(),
            None => name.to_owned(),
        }
    }
}

/// What replaces the empty name.
const NAMELESS: &str = "unnamed_tool";

/// `^[a-zA-Z0-9_-]+$`, which OpenAI and Anthropic ask for (error texts of both).
fn is_valid(name: &str, limit: usize) -> bool {
    !name.is_empty() && name.len() <= limit && name.chars().all(is_name_character)
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// A name in the letters and the length that a provider takes: other letters are written as `_`.
pub(crate) fn sanitised(name: &str, limit: usize) -> String {
    let fitting: String = name
        .chars()
        .map(|character| match character {
            character if is_name_character(character) => character,
            _ => '_',
        })
        .take(limit)
        .collect();
    if fitting.is_empty() {
        NAMELESS.to_owned()
    } else {
        fitting
    }
}

/// The name, or the name with a number where it is taken. Numbers up to the last one were tried before: many
/// names that become one in the target's letters cost no more than as many others.
fn free_name(name: String, limit: usize, taken: &HashSet<String>, last_number: &mut u32) -> String {
    let mut candidate = name.clone();
    while taken.contains(&candidate) {
        *last_number += 1;
        let tail = format!("_{last_number}");
        let kept = name.len().min(limit - tail.len());
        candidate = format!("{}{tail}", &name[..kept]);
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Dialect, Names};
    use std::sync::Arc;

    fn names(texts: &[&str], to: Dialect) -> TargetNames {
        let mut session = Session::empty(Arc::new(Vec::new()), "test", Dialect::Responses);
        let mut names = Names::default();
        for text in texts {
            names.intern(text);
        }
        session.names = Arc::new(names);
        TargetNames::of(&session, to, None)
    }

    #[test]
    fn a_name_that_the_provider_refuses_is_spelled_in_its_letters() {
        let names = names(&["browser.tabs.open", "$x", "look"], Dialect::Chat);
        assert_eq!(names.target("browser.tabs.open"), "browser_tabs_open");
        assert_eq!(names.target("$x"), "_x");
        assert_eq!(names.target("look"), "look");
        assert_eq!(names.target(""), NAMELESS);
    }

    #[test]
    fn two_names_never_become_one() {
        let names = names(&["a.b", "a_b", "a:b"], Dialect::Anthropic);
        assert_eq!(names.target("a_b"), "a_b");
        assert_eq!(names.target("a.b"), "a_b_2");
        assert_eq!(names.target("a:b"), "a_b_3");
    }

    #[test]
    fn chat_takes_shorter_names_than_the_others() {
        let long = "n".repeat(100);
        assert_eq!(names(&[&long], Dialect::Chat).target(&long).len(), 64);
        assert_eq!(names(&[&long], Dialect::Responses).target(&long), long);
    }
}
