//! Reads a policy file: its keys, and what they come to.

use super::{Approval, Entry, Policy, ToolPolicy, Words, actions_for};
use super::{BreakerSettings, PartialBreaker, PartialRetry, RetrySettings};
use crate::config::{Checker, Keys, Section, keys};
use crate::engine::TURN_LIMIT;
use crate::pattern::Pattern;
use crate::rules::{RULES, Rule};
use crate::wording::{self, FailureKind, PolicyAction, VERBS, Verb, in_vain, reads_as_name};
use serde_json::Value;
use std::collections::HashSet;

/// Longest policy, in bytes.
pub const LONGEST: usize = 256 * 1024;
/// Most turns, errors and times that can be asked for.
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
    pub(in crate::engine) static POLICY_KEYS = "the policy" {
        max_turns: Whole(1, MOST), "the most questions to the model";
        on: Named(&ENTRY_KEYS), "what is done about findings of a rule";
        tools: Named(&TOOL_KEYS),
            "what is different for a tool, or for tools whose names fit a pattern with `*` and `?`";
        retry: Table(&RETRY_KEYS), "how often a tool is tried that timed out or could not be reached";
        breaker: Table(&BREAKER_KEYS), "when a tool that only fails is switched off";
    }
}

keys! {
    static ENTRY_KEYS = "[on.RULE]" {
        do: AnyText, "one of the words below; needed";
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
        webhook: CheckedText(check_webhook), "an http or https URL that is told";
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
pub(super) fn policy(file: Section<'_>, checker: &mut Checker<'_>, own: Own<'_>) -> Policy {
    let retry = file.get::<PartialRetry>("retry");
    let breaker = file.get::<PartialBreaker>("breaker");
    let mut policy = Policy {
        max_turns: file.get("max_turns"),
        on: entries(checker, file, own),
        tools: tools(checker, file, own),
        retry: retry.map_or_else(RetrySettings::default, |said| {
            RetrySettings::ASKED_FOR.with(&said)
        }),
        breaker: BreakerSettings::default().with(&breaker.unwrap_or_default()),
    };
    if !file.has("retry") {
        for said in &mut policy.tools {
            // A tool with a section of its own is tried again, also where calls in general are not.
            if said.retry.backoff_ms.is_some() {
                let attempts = &mut said.retry.attempts;
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
            checker.push(at, "this is no name of a tool");
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
        checker.unknown(at, name, "no rule", &ids);
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
    let said: Vec<&Verb> = [Some(does), then].into_iter().flatten().collect();
    check_members(checker, at, members, &said);
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
fn check_members(checker: &mut Checker<'_>, at: usize, members: Section<'_>, said: &[&Verb]) {
    let mut forbid = |member: &str, takes: fn(&Verb) -> bool| {
        if members.has(member) && !said.iter().any(|verb| takes(verb)) {
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
    let needs_value = said.iter().find(|verb| verb.has_value);
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
        let text = format!("`{word}` can never be done about {}: {why}", rule.id);
        checker.push(at, text);
        return None;
    }
    let what = match wording::verb(word) {
        Some(_) => format!("nothing that can be done about {}", rule.id),
        None => "nothing that a policy does".to_owned(),
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
        let names: HashSet<&str> = names.map(|wording| wording.name).collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        let what = format!("no wording for {}, and no template", rule.id);
        checker.unknown(at, text, &what, &names);
        return None;
    }
    checker.check_template(at, text);
    Some(Words {
        name: None,
        template: text.to_owned(),
    })
}
