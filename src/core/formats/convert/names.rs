//! Tool names as the target's pattern wants them: the same name always gives the same, and two never give one.

use crate::session::{Dialect, Session};
use std::collections::{HashMap, HashSet};

/// The names that had to change.
#[derive(Debug, Default)]
pub(super) struct TargetNames {
    changed: HashMap<String, String>,
}

impl TargetNames {
    /// Looks at every name of a session: what calls use and what is offered.
    pub(super) fn of(session: &Session, to: Dialect) -> Self {
        let tools = session.contract.tool_sets.iter().flat_map(|set| &set.tools);
        let offered = tools.map(|tool| tool.name.as_str());
        let used = session.names.iter().map(|(_, name)| name);
        let all: Vec<&str> = used.chain(offered).collect();
        let limit = to.facts().names.longest;
        let (valid, odd): (Vec<&str>, Vec<&str>) =
            all.into_iter().partition(|name| is_valid(name, limit));
        let mut taken: HashSet<String> = valid.into_iter().map(str::to_owned).collect();
        let mut changed = HashMap::new();
        let mut last_numbers = HashMap::new();
        for name in odd {
            if !changed.contains_key(name) {
                let fitting = sanitised(name, limit);
                let last_number = last_numbers.entry(fitting.clone()).or_insert(1);
                let fitting = free(fitting, limit, &taken, last_number);
                taken.insert(fitting.clone());
                changed.insert(name.to_owned(), fitting);
            }
        }
        Self { changed }
    }

    /// The name that stands for `name`; the same where nothing is wrong with it.
    pub(super) fn target(&self, name: &str) -> String {
        match self.changed.get(name) {
            Some(changed) => changed.clone(),
            None if name.is_empty() => NAMELESS.to_owned(),
            None => name.to_owned(),
        }
    }
}

/// What stands for the empty name.
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
fn free(name: String, limit: usize, taken: &HashSet<String>, last_number: &mut u32) -> String {
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
        TargetNames::of(&session, to)
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
