//! What is done about faults without asking, and what a run may cost: turns, attempts, failing tools.
//!
//! A policy is a TOML file. Per rule, and per tool where that says otherwise, it says what is done, with which
//! words, how often, and what then. A rule without an entry is the operator's.

use super::{Millis, RunFault};
use crate::config::{self, Checker, ConfigErrors, Section, Shape, millis};
use crate::pattern::Pattern;
use crate::rules::RULES;
use crate::session::ledger::CallKey;
use crate::wording::{FailureKind, PolicyAction, Verb};
pub(super) use read::POLICY_KEYS;
pub use read::{LONGEST as LONGEST_POLICY, POLICY_TABLES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod read;

/// The rule about arguments that their tool's schema does not allow.
const BROKEN_SCHEMA: &str = "invalid-arguments";

/// What the model is to read, as a policy says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The name of the wording; `None` for a template that stands in the policy itself.
    pub name: Option<String>,
    pub template: String,
}

/// What a policy decided about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Id of the rule.
    pub rule: String,
    /// The item of the take that it is about.
    pub item: Option<u32>,
    /// The call that it is about.
    pub call: Option<CallKey>,
    /// Id of the action that is to be carried out.
    pub action: &'static str,
    /// What the model is to read; `None` where the policy leaves it to the action.
    pub wording: Option<Words>,
    /// The value of a fallback: a text as it is, anything else as JSON.
    pub value: Option<String>,
    /// Whether a fallback enters the history.
    pub include_in_history: bool,
    /// Whether repaired arguments have to fit the schema of their tool: no entry says what is done
    /// where they do not.
    pub keeps_schema: bool,
    /// Faults of other calls about which the same was decided: one take holds all of it.
    pub also: Vec<Also>,
}

/// Another fault that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Also {
    /// Id of the rule.
    pub rule: String,
    /// The item of the take that it is about.
    pub item: Option<u32>,
}

impl Decision {
    /// What the model is to read, as a template; `None` where the policy leaves it to the action.
    pub fn template(&self) -> Option<&str> {
        self.wording.as_ref().map(|words| words.template.as_str())
    }

    /// What the log says that the model is to read: the name of the wording, or the template where it has none.
    pub fn words(&self) -> Option<String> {
        let words = self.wording.as_ref()?;
        Some(words.name.as_ref().unwrap_or(&words.template).clone())
    }
}

/// What is to be done about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// An action is carried out.
    Act(Decision),
    /// It passes as it is.
    Release,
    Raise,
    Ask,
}

/// What is done without asking, and within which limits. Without a file: nothing is done, a call is tried once,
/// and a tool is switched off after three errors in a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    max_turns: Option<u32>,
    on: Vec<Entry>,
    /// The first that fits and says something counts; exact names stand before patterns.
    tools: Vec<ToolPolicy>,
    retry: RetrySettings,
    breaker: BreakerSettings,
}

/// What is said about a rule.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    rule: &'static str,
    does: &'static Verb,
    times: Option<u32>,
    then: &'static Verb,
    wording: Option<Words>,
    value: Option<String>,
    include_in_history: bool,
}

/// What is said about a tool.
#[derive(Debug, Clone, PartialEq)]
struct ToolPolicy {
    name: String,
    pattern: Pattern,
    approval: Option<Approval>,
    on: Vec<Entry>,
    retry: PartialRetry,
    breaker: PartialBreaker,
}

impl Entry {
    /// The word that is due for a fault, and whether it is one of those that are counted.
    fn verb(&self, counts: &Counts, fault: &RunFault) -> (&Verb, bool) {
        let done = counts.of(fault.rule, fault.tool.as_deref());
        match self.times {
            Some(times) if done >= times => (self.then, false),
            _ => (self.does, true),
        }
    }

    /// What a word of the entry comes to for a fault, in its policy.
    fn verdict(&self, policy: &Policy, verb: &Verb, fault: &RunFault) -> Verdict {
        match verb.deed {
            PolicyAction::Release => Verdict::Release,
            PolicyAction::Raise => Verdict::Raise,
            PolicyAction::Ask => Verdict::Ask,
            PolicyAction::Act(actions) => Verdict::Act(Decision {
                rule: fault.rule.to_owned(),
                item: fault.item,
                call: fault.call.clone(),
                action: action_for(fault, actions),
                wording: self.wording.clone().filter(|_| verb.has_wording),
                value: self.value.clone().filter(|_| verb.has_value),
                include_in_history: verb.has_value && self.include_in_history,
                keeps_schema: policy
                    .entry_for(BROKEN_SCHEMA, fault.tool.as_deref())
                    .is_none(),
                also: Vec::new(),
            }),
        }
    }
}

impl Policy {
    /// Reads a policy. All that is wrong with it is reported at once.
    pub fn parse(text: &str) -> Result<Self, ConfigErrors> {
        Self::parse_with(text, &|_, _| None)
    }

    /// Reads a policy that may name wordings of the operator's own: `own` gives their templates
    /// by kind and name.
    pub fn parse_with(
        text: &str,
        own: &dyn Fn(FailureKind, &str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST_POLICY, &POLICY_KEYS, |file, checker| {
            Some(Self::of_section(file, checker, own))
        })
    }

    /// Reads a policy that is a table of another file, checked against [`POLICY_KEYS`].
    pub(super) fn of_section(
        section: Section<'_>,
        checker: &mut Checker<'_>,
        own: &dyn Fn(FailureKind, &str) -> Option<String>,
    ) -> Self {
        read::policy(section, checker, own)
    }

    /// The addresses that hear of breakers that open, each once.
    pub fn webhooks(&self) -> Vec<&str> {
        let of_tools = self.tools.iter().map(|said| &said.breaker.webhook);
        let all = [&self.breaker.webhook].into_iter().chain(of_tools);
        let mut known = Vec::new();
        for url in all.flatten() {
            if !known.contains(&url.as_str()) {
                known.push(url.as_str());
            }
        }
        known
    }

    /// What is to be done about a fault; it is to be asked once for each, since it counts.
    pub fn decide(&self, counts: &mut Counts, fault: &RunFault) -> Verdict {
        let Some(entry) = self.entry(fault) else {
            return Verdict::Ask;
        };
        let (verb, counts_as_done) = entry.verb(counts, fault);
        if counts_as_done {
            counts.add(fault.rule, fault.tool.as_deref());
        }
        entry.verdict(self, verb, fault)
    }

    /// What [`Self::decide`] would say.
    pub fn would_decide(&self, counts: &Counts, fault: &RunFault) -> Verdict {
        let entry = self.entry(fault);
        entry.map_or(Verdict::Ask, |entry| {
            entry.verdict(self, entry.verb(counts, fault).0, fault)
        })
    }

    /// What is to be done about a fault where the first thing that the policy says could not be
    /// done, or settled nothing.
    pub fn otherwise(&self, fault: &RunFault) -> Verdict {
        let entry = self.entry(fault);
        entry.map_or(Verdict::Ask, |entry| entry.verdict(self, entry.then, fault))
    }

    /// Whether there is an entry for a fault. Where nobody can be asked, a warning without an entry passes,
    /// while an error, and what an entry says `ask` about, ends the run.
    pub fn has_entry(&self, fault: &RunFault) -> bool {
        self.entry(fault).is_some()
    }

    /// Whether there is an entry for a rule, be it for one tool only.
    pub fn names(&self, rule: &str) -> bool {
        let of_tools = self.tools.iter().flat_map(|said| &said.on);
        self.on
            .iter()
            .chain(of_tools)
            .any(|entry| entry.rule == rule)
    }

    /// Whether it decides about no fault at all.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty() && self.tools.iter().all(|said| said.on.is_empty())
    }

    /// Most turns of the run, where the policy says so.
    pub fn max_turns(&self) -> Option<u32> {
        self.max_turns
    }

    /// Whether calls of a tool need the operator's approval, where the policy says so.
    pub fn approval(&self, tool: &str) -> Option<Approval> {
        self.of(tool).find_map(|said| said.approval)
    }

    /// How often a call of a tool is tried. What the policy leaves out for the tool is as for all.
    pub fn retry(&self, tool: &str) -> RetrySettings {
        let said = self.of(tool).rev();
        said.fold(self.retry, |all, said| all.with(&said.retry))
    }

    /// When a tool is switched off. What the policy leaves out for the tool is as for all.
    pub fn breaker(&self, tool: &str) -> BreakerSettings {
        let said = self.of(tool).rev();
        said.fold(self.breaker.clone(), |all, said| all.with(&said.breaker))
    }

    fn of<'p>(&'p self, tool: &'p str) -> impl DoubleEndedIterator<Item = &'p ToolPolicy> {
        let tools = self.tools.iter();
        tools.filter(move |said| said.pattern.matches(tool))
    }

    fn entry<'p>(&'p self, fault: &'p RunFault) -> Option<&'p Entry> {
        self.entry_for(fault.rule, fault.tool.as_deref())
    }

    fn entry_for<'p>(&'p self, rule: &str, tool: Option<&'p str>) -> Option<&'p Entry> {
        let of_tool = tool.and_then(|tool| self.of(tool).find_map(|said| about(&said.on, rule)));
        of_tool.or_else(|| about(&self.on, rule))
    }
}

fn about<'p>(entries: &'p [Entry], rule: &str) -> Option<&'p Entry> {
    entries.iter().find(|entry| entry.rule == rule)
}

/// The action that the rule offers, of those that a word stands for: a call leaves with its output,
/// any other item alone.
fn action_for(fault: &RunFault, actions: &'static [&'static str]) -> &'static str {
    let first = actions.first().copied().unwrap_or_default();
    let offered = actions_for(fault.rule, actions);
    match offered.as_slice() {
        [] => first,
        [only] => only,
        [pair, item, ..] => match fault.call {
            Some(_) => pair,
            None => item,
        },
    }
}

/// The actions among these that a rule offers.
fn actions_for(rule: &str, actions: &'static [&'static str]) -> Vec<&'static str> {
    let rule = RULES.iter().find(|known| known.id == rule);
    let offers = rule.map_or(&[][..], |rule| rule.offers);
    let is_offered = |action: &&str| offers.iter().any(|offer| offer.action == *action);
    actions.iter().copied().filter(is_offered).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

// The limits of a policy: approvals, attempts, breakers.

/// Whether calls of a tool need the operator's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    Never,
    /// The operator is asked, until they say that the tool may always run.
    Ask,
    /// The operator is asked each time.
    Always,
}

impl Approval {
    /// Each with the word that files use for it, and what it means.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Never, "never", "calls run without asking"),
        (
            Self::Ask,
            "ask",
            "the operator is asked, until they say that the tool may always run",
        ),
        (Self::Always, "always", "the operator is asked each time"),
    ];

    /// How files say it.
    pub(in crate::engine) const SHAPE: Shape =
        Shape::Word(None, || Self::ALL.map(|(_, word, _)| word).to_vec());
}

/// How often a call is tried, where its tool failed in a way that may pass: it took too long, or
/// could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// How often in all, from 1.
    pub attempts: u32,
    /// How long after the first attempt the second comes; it doubles from then on.
    pub backoff_ms: Millis,
}

/// A call that took too long may have done its work all the same: only a policy tries it again.
impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 1,
            backoff_ms: 1000,
        }
    }
}

impl RetrySettings {
    /// Where a policy says that calls are tried again and not how often.
    const ASKED_FOR: Self = Self {
        attempts: 3,
        backoff_ms: 1000,
    };

    fn with(self, said: &PartialRetry) -> Self {
        Self {
            attempts: said.attempts.unwrap_or(self.attempts),
            backoff_ms: said.backoff_ms.unwrap_or(self.backoff_ms),
        }
    }
}

/// When a tool is switched off, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerSettings {
    /// After how many errors in a row; 0: never.
    pub threshold: u32,
    /// How long nothing is tried.
    pub cooldown_ms: Millis,
    /// Who wants to hear of it: an http or https URL.
    pub webhook: Option<String>,
    /// What the model reads of a call while the tool is switched off, as a template; `None` for
    /// the breaker's own words.
    pub wording: Option<String>,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            threshold: 3,
            cooldown_ms: 30_000,
            webhook: None,
            wording: None,
        }
    }
}

impl BreakerSettings {
    fn with(self, said: &PartialBreaker) -> Self {
        Self {
            threshold: said.threshold.unwrap_or(self.threshold),
            cooldown_ms: said.cooldown_ms.unwrap_or(self.cooldown_ms),
            webhook: said.webhook.clone().or(self.webhook),
            wording: said.wording.clone().or(self.wording),
        }
    }
}

/// What a policy says about attempts in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
struct PartialRetry {
    attempts: Option<u32>,
    #[serde(rename = "backoff", deserialize_with = "millis")]
    backoff_ms: Option<Millis>,
}

/// What a policy says about breakers in one place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
struct PartialBreaker {
    threshold: Option<u32>,
    #[serde(rename = "cooldown", deserialize_with = "millis")]
    cooldown_ms: Option<Millis>,
    webhook: Option<String>,
    wording: Option<String>,
}

// How often a policy acted in a run.

/// The rule whose faults name tools that there are not: the model invents another name each time.
const INVENTED: &str = "unknown-tool";

/// How often a policy acted in a run, by rule and tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<String, BTreeMap<String, u32>>);

impl Counts {
    /// How often it acted about a fault of this rule and tool. Tools that there are not are counted together,
    /// or a model that invents a new one each time would never come to the end of `times`.
    pub fn of(&self, rule: &str, tool: Option<&str>) -> u32 {
        let tools = self.0.get(rule);
        let count = tools.and_then(|tools| tools.get(counted(rule, tool)));
        count.copied().unwrap_or(0)
    }

    fn add(&mut self, rule: &str, tool: Option<&str>) {
        let tools = self.0.entry(rule.to_owned()).or_default();
        let count = tools.entry(counted(rule, tool).to_owned()).or_default();
        *count = count.saturating_add(1);
    }
}

fn counted<'a>(rule: &str, tool: Option<&'a str>) -> &'a str {
    match tool {
        Some(tool) if rule != INVENTED => tool,
        _ => "",
    }
}
