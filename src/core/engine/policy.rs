//! What is done about faults without asking, and what a run may cost: turns, attempts, failing tools.
//!
//! A policy is a TOML file. Per rule, and per tool where that says otherwise, it says what is done, with which
//! words, how often, and what then. A rule without an entry is the operator's.

pub use self::LONGEST as LONGEST_POLICY;
use super::standing::RunFault;
use crate::config::{self, Checker, ConfigErrors, Keys, Section, Shape, keys, millis};
use crate::pattern::Pattern;
use crate::rules::{RULES, Rule};
use crate::session::ledger::CallKey;
use crate::wording::{self, FailureKind, PolicyAction, VERBS, Verb, in_vain, reads_as_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Moments and durations in milliseconds; moments count from any beginning that never goes back.
pub type Millis = u64;

/// The rule that the engine itself reports to the policy when the turns are used up.
pub const TURN_LIMIT: &str = "turn-limit";

/// The rule about arguments that their tool's schema does not allow.
const BROKEN_SCHEMA: &str = "invalid-arguments";

/// What the model is to read, as a policy says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The name of the wording; `None` for a template in the policy itself.
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
pub enum PolicyVerdict {
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

/// The entries about a rule.
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

/// The entries about a tool.
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
    fn verb(&self, counts: &PolicyCounts, fault: &RunFault) -> (&Verb, bool) {
        let done = counts.of(fault.rule, fault.tool.as_deref());
        match self.times {
            Some(times) if done >= times => (self.then, false),
            _ => (self.does, true),
        }
    }

    /// What a word of the entry comes to for a fault, in its policy.
    fn verdict(&self, policy: &Policy, verb: &Verb, fault: &RunFault) -> PolicyVerdict {
        match verb.deed {
            PolicyAction::Release => PolicyVerdict::Release,
            PolicyAction::Raise => PolicyVerdict::Raise,
            PolicyAction::Ask => PolicyVerdict::Ask,
            PolicyAction::Act(actions) => PolicyVerdict::Act(Decision {
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
    pub(crate) fn of_section(
        section: Section<'_>,
        checker: &mut Checker<'_>,
        own: &dyn Fn(FailureKind, &str) -> Option<String>,
    ) -> Self {
        policy(section, checker, own)
    }

    /// The addresses that hear of breakers that open, each once.
    pub fn webhooks(&self) -> Vec<&str> {
        let of_tools = self.tools.iter().map(|tool| &tool.breaker.webhook);
        let all = [&self.breaker.webhook].into_iter().chain(of_tools);
        let mut known = Vec::new();
        for url in all.flatten() {
            if !known.contains(&url.as_str()) {
                known.push(url.as_str());
            }
        }
        known
    }

    /// What is to be done about a fault; to be called once for each, since it counts.
    pub fn decide(&self, counts: &mut PolicyCounts, fault: &RunFault) -> PolicyVerdict {
        let Some(entry) = self.entry(fault) else {
            return PolicyVerdict::Ask;
        };
        let (verb, counts_as_done) = entry.verb(counts, fault);
        if counts_as_done {
            counts.add(fault.rule, fault.tool.as_deref());
        }
        entry.verdict(self, verb, fault)
    }

    /// What [`Self::decide`] would say.
    pub fn would_decide(&self, counts: &PolicyCounts, fault: &RunFault) -> PolicyVerdict {
        let entry = self.entry(fault);
        entry.map_or(PolicyVerdict::Ask, |entry| {
            entry.verdict(self, entry.verb(counts, fault).0, fault)
        })
    }

    /// What is to be done about a fault where the first thing that the policy says could not be
    /// done, or settled nothing.
    pub fn otherwise(&self, fault: &RunFault) -> PolicyVerdict {
        let entry = self.entry(fault);
        entry.map_or(PolicyVerdict::Ask, |entry| {
            entry.verdict(self, entry.then, fault)
        })
    }

    /// Whether there is an entry for a fault. Without an operator, a warning without an entry passes,
    /// while an error, and what an entry says `ask` about, ends the run.
    pub fn has_entry(&self, fault: &RunFault) -> bool {
        self.entry(fault).is_some()
    }

    /// Whether there is an entry for a rule, be it for one tool only.
    pub fn names(&self, rule: &str) -> bool {
        let of_tools = self.tools.iter().flat_map(|tool| &tool.on);
        self.on
            .iter()
            .chain(of_tools)
            .any(|entry| entry.rule == rule)
    }

    /// Whether it decides about no fault at all.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty() && self.tools.iter().all(|tool| tool.on.is_empty())
    }

    /// Most turns of the run, where the policy says so.
    pub fn max_turns(&self) -> Option<u32> {
        self.max_turns
    }

    /// Whether calls of a tool need the operator's approval, where the policy says so.
    pub fn approval(&self, tool: &str) -> Option<Approval> {
        self.of(tool).find_map(|tool| tool.approval)
    }

    /// How often a call of a tool is tried. What the policy leaves out for the tool is as for all.
    pub fn retry(&self, tool: &str) -> RetrySettings {
        let tools = self.of(tool).rev();
        tools.fold(self.retry, |all, tool| all.with(&tool.retry))
    }

    /// When a tool is switched off. What the policy leaves out for the tool is as for all.
    pub fn breaker(&self, tool: &str) -> BreakerSettings {
        let tools = self.of(tool).rev();
        tools.fold(self.breaker.clone(), |all, tool| all.with(&tool.breaker))
    }

    fn of<'p>(&'p self, tool: &'p str) -> impl DoubleEndedIterator<Item = &'p ToolPolicy> {
        let tools = self.tools.iter();
        tools.filter(move |known| known.pattern.matches(tool))
    }

    fn entry<'p>(&'p self, fault: &'p RunFault) -> Option<&'p Entry> {
        self.entry_for(fault.rule, fault.tool.as_deref())
    }

    fn entry_for<'p>(&'p self, rule: &str, tool: Option<&'p str>) -> Option<&'p Entry> {
        let of_tool = tool.and_then(|tool| self.of(tool).find_map(|entry| about(&entry.on, rule)));
        of_tool.or_else(|| about(&self.on, rule))
    }
}

fn about<'p>(entries: &'p [Entry], rule: &str) -> Option<&'p Entry> {
    entries.iter().find(|entry| entry.rule == rule)
}

/// The action that the rule offers, of those that a word means: a call leaves with its output,
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
    pub(crate) const SHAPE: Shape =
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

    fn with(self, partial: &PartialRetry) -> Self {
        Self {
            attempts: partial.attempts.unwrap_or(self.attempts),
            backoff_ms: partial.backoff_ms.unwrap_or(self.backoff_ms),
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
    fn with(self, partial: &PartialBreaker) -> Self {
        Self {
            threshold: partial.threshold.unwrap_or(self.threshold),
            cooldown_ms: partial.cooldown_ms.unwrap_or(self.cooldown_ms),
            webhook: partial.webhook.clone().or(self.webhook),
            wording: partial.wording.clone().or(self.wording),
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
pub struct PolicyCounts(BTreeMap<String, BTreeMap<String, u32>>);

impl PolicyCounts {
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

// Reads a policy file: its keys, and what they come to.

/// Longest policy, in bytes.
pub const LONGEST: usize = 256 * 1024;
/// Most turns, errors and times that can be set.
const MOST: u64 = 10_000;
/// Longest name of a tool and longest URL, in characters.
const NAME: usize = 2000;
/// The rule about how a run ended.
const AFTER_THE_END: &str = "run-failed";

type Own<'o> = &'o dyn Fn(FailureKind, &str) -> Option<String>;

/// The tables of a policy, for the help.
pub static POLICY_TABLES: [&Keys; 5] = [
    &POLICY_KEYS,
    &ENTRY_KEYS,
    &TOOL_KEYS,
    &RETRY_KEYS,
    &BREAKER_KEYS,
];

keys! {
    pub(crate) static POLICY_KEYS = "the policy" {
        max_turns: Whole(1, MOST), "the most model requests";
        on: Named(&ENTRY_KEYS), "what is done about findings of a rule";
        tools: Named(&TOOL_KEYS),
            "what is different for a tool, or for tools whose names fit a pattern with `*` and `?`";
        retry: Table(&RETRY_KEYS), "how often a tool is tried that timed out or could not be reached";
        breaker: Table(&BREAKER_KEYS), "when a tool that only fails is switched off";
    }
}

keys! {
    static ENTRY_KEYS = "[on.RULE]" {
        do: AnyText, "one of the words below; required";
        wording: AnyText, "what the model reads: the name of a wording, or a template";
        times: Whole(1, MOST), "how often for each tool of a run; tools that do not exist count together";
        otherwise: AnyText,
            "what is done then, and where `do` is refused or settles nothing", or "\"ask\"";
        value: Json, "the value of a fallback";
        include_in_history: Flag, "whether the fallback enters the history", or "true";
    }
}

keys! {
    static TOOL_KEYS = "[tools.NAME]" {
        approval: Approval::SHAPE, "whether you are asked before it runs";
        on: Named(&ENTRY_KEYS), "as above";
        retry: Table(&RETRY_KEYS), "as above";
        breaker: Table(&BREAKER_KEYS), "as above";
    }
}

keys! {
    static RETRY_KEYS = "[retry]" {
        attempts: Whole(1, 10), "how often in all", or "3";
        backoff: Duration(0),
            "how long after the first attempt the second comes; it doubles from then on", or "\"1s\"";
    }
}

keys! {
    static BREAKER_KEYS = "[breaker]" {
        threshold: Whole(0, MOST), "after how many errors in a row; 0: never", or "3";
        cooldown: Duration(0), "how long it is off, before it is tried once", or "\"30s\"";
        webhook: CheckedText(check_webhook), "an http or https URL that is notified";
        wording: Template, "what the model reads meanwhile; `error` is the last one";
    }
}

fn check_webhook(url: &str) -> Result<(), String> {
    let is_url = ["http://", "https://"].iter().any(|scheme| {
        url.strip_prefix(scheme)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
    });
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if is_url && url.len() <= NAME && url.chars().all(is_plain) {
        return Ok(());
    }
    Err("is a URL that begins with http:// or https://".to_owned())
}

/// Reads a table that was checked against [`POLICY_KEYS`].
fn policy(file: Section<'_>, checker: &mut Checker<'_>, own: Own<'_>) -> Policy {
    let retry = file.get::<PartialRetry>("retry");
    let breaker = file.get::<PartialBreaker>("breaker");
    let mut policy = Policy {
        max_turns: file.get("max_turns"),
        on: entries(checker, file, own),
        tools: tools(checker, file, own),
        retry: retry.map_or_else(RetrySettings::default, |partial| {
            RetrySettings::ASKED_FOR.with(&partial)
        }),
        breaker: BreakerSettings::default().with(&breaker.unwrap_or_default()),
    };
    if !file.has("retry") {
        for tool in &mut policy.tools {
            // A tool with a section of its own is tried again, also where calls in general are not.
            if tool.retry.backoff_ms.is_some() {
                let attempts = &mut tool.retry.attempts;
                attempts.get_or_insert(RetrySettings::ASKED_FOR.attempts);
            }
        }
    }
    policy
}

fn tools(checker: &mut Checker<'_>, file: Section<'_>, own: Own<'_>) -> Vec<ToolPolicy> {
    let mut tools = Vec::new();
    for (name, at, tool) in file.named("tools") {
        if name.is_empty() || name.chars().count() > NAME {
            checker.push(at, "invalid tool name");
        }
        tools.push(ToolPolicy {
            name: name.to_owned(),
            pattern: Pattern::exact(name),
            approval: tool.get("approval"),
            on: entries(checker, tool, own),
            retry: tool.get("retry").unwrap_or_default(),
            breaker: tool.get("breaker").unwrap_or_default(),
        });
    }
    tools.sort_by_key(|tool| is_pattern(&tool.name));
    tools
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

fn entries(checker: &mut Checker<'_>, table: Section<'_>, own: Own<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (name, at, members) in table.named("on") {
        if let Some(rule) = rule(checker, name, at) {
            entries.extend(entry(checker, rule, at, members, own));
        }
    }
    entries
}

fn rule(checker: &mut Checker<'_>, name: &str, at: usize) -> Option<&'static Rule> {
    if name == AFTER_THE_END {
        let text = format!("`{name}` is found when the run is over: no policy can act about it");
        checker.push(at, text);
        return None;
    }
    let found = RULES.iter().find(|rule| rule.id == name);
    if found.is_none() {
        let ids = RULES.iter().map(|rule| rule.id);
        let ids: Vec<&str> = ids.filter(|id| *id != AFTER_THE_END).collect();
        checker.unknown(at, name, "an unknown rule", &ids);
    }
    found.copied()
}

fn entry(
    checker: &mut Checker<'_>,
    rule: &'static Rule,
    at: usize,
    members: Section<'_>,
    own: Own<'_>,
) -> Option<Entry> {
    if !members.has("do") {
        let words = words_for(rule).join(", ");
        let text = format!("`{}` does not say what to `do`: {words}", rule.id);
        checker.push(at, text);
    }
    let does = verb(checker, rule, members, "do");
    let then = verb(checker, rule, members, "otherwise");
    let wording = words(checker, rule, members, own);
    let does = does?;
    let times = members.get("times").or(does.times);
    let is_action = matches!(does.deed, PolicyAction::Act(_));
    if times.is_none() && members.has("otherwise") && !members.has("times") && !is_action {
        checker.push(
            members.at_key("otherwise"),
            "`otherwise` comes after `times`, or after an action that could not be done",
        );
    }
    let verbs: Vec<&Verb> = [Some(does), then].into_iter().flatten().collect();
    check_members(checker, at, members, &verbs);
    Some(Entry {
        rule: rule.id,
        does,
        times,
        then: then.or(wording::verb("ask"))?,
        wording,
        value: members.get("value").map(|value| match value {
            Value::String(text) => text,
            value => value.to_string(),
        }),
        include_in_history: members.get("include_in_history").unwrap_or(true),
    })
}

/// Reports members that none of the words takes, and a value that one of them lacks.
fn check_members(checker: &mut Checker<'_>, at: usize, members: Section<'_>, verbs: &[&Verb]) {
    let mut forbid = |member: &str, takes: fn(&Verb) -> bool| {
        if members.has(member) && !verbs.iter().any(|verb| takes(verb)) {
            let words = VERBS
                .iter()
                .filter(|verb| takes(verb))
                .map(|verb| verb.word);
            let words: Vec<&str> = words.collect();
            let text = format!("`{member}` belongs to {}", words.join(" and "));
            checker.push(members.at_key(member), text);
        }
    };
    forbid("wording", |verb| verb.has_wording);
    forbid("value", |verb| verb.has_value);
    forbid("include_in_history", |verb| verb.has_value);
    let needs_value = verbs.iter().find(|verb| verb.has_value);
    if let Some(verb) = needs_value.filter(|_| !members.has("value")) {
        checker.push(at, format!("`{}` needs a `value`", verb.word));
    }
}

/// What can be done about faults of a rule.
fn words_for(rule: &Rule) -> Vec<&'static str> {
    let fits = |verb: &&Verb| match verb.deed {
        PolicyAction::Act(actions) => {
            !actions_for(rule.id, actions).is_empty() && in_vain(rule.id, verb.word).is_none()
        }
        // To go on without a limit is nothing that a policy may do.
        PolicyAction::Release => rule.id != TURN_LIMIT,
        PolicyAction::Raise | PolicyAction::Ask => true,
    };
    VERBS.iter().filter(fits).map(|verb| verb.word).collect()
}

fn verb(
    checker: &mut Checker<'_>,
    rule: &Rule,
    members: Section<'_>,
    key: &str,
) -> Option<&'static Verb> {
    let (word, at) = (members.text(key)?, members.at(key));
    let words = words_for(rule);
    if words.contains(&word) {
        return wording::verb(word);
    }
    if let Some(why) = in_vain(rule.id, word) {
        let text = format!("`{word}` never applies to {}: {why}", rule.id);
        checker.push(at, text);
        return None;
    }
    let what = match wording::verb(word) {
        Some(_) => format!("not an action for {}", rule.id),
        None => "an unknown action".to_owned(),
    };
    checker.unknown(at, word, &what, &words);
    None
}

/// A name of the library or of the operator's own wordings, or a template.
fn words(
    checker: &mut Checker<'_>,
    rule: &Rule,
    members: Section<'_>,
    own: Own<'_>,
) -> Option<Words> {
    let (text, at) = (members.text("wording")?, members.at("wording"));
    let kind = FailureKind::of_rule(rule.id);
    let known = kind.and_then(|kind| {
        let of_library = || wording::find(kind, text).map(|known| known.template.to_owned());
        own(kind, text).or_else(of_library)
    });
    if let Some(template) = known {
        let name = Some(text.to_owned());
        return Some(Words { name, template });
    }
    if reads_as_name(text) {
        let names = kind.into_iter().flat_map(wording::library);
        let names: HashSet<&str> = names.map(|wording| &*wording.name).collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        let what = format!("neither a wording for {} nor a template", rule.id);
        checker.unknown(at, text, &what, &names);
        return None;
    }
    checker.check_template(at, text);
    Some(Words {
        name: None,
        template: text.to_owned(),
    })
}
