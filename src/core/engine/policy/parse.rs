//! Reads a policy file: sections, entries and what they may hold.

use super::fault::PolicyFaults;
use super::reader::{Key, Node, Reader};
use super::settings::{BreakerSettings, PartialBreaker, PartialRetry, RetrySettings};
use super::{Approval, Entry, Policy, ToolPolicy, Words, actions_for, value};
use crate::engine::TURN_LIMIT;
use crate::pattern::Pattern;
use crate::rules::{RULES, Rule};
use crate::wording::{self, Deed, Kind, VERBS, Verb, in_vain, never_decided, reads_as_name};
use std::collections::HashSet;
use toml::de::DeTable;

/// Longest policy, in bytes.
pub const LONGEST: usize = 256 * 1024;
/// Most turns, errors and times that can be asked for.
const MOST: u32 = 10_000;
/// Most attempts of one call.
const MOST_ATTEMPTS: u32 = 10;
/// Longest name of a tool and longest URL, in characters.
const NAME: usize = 2000;

const SECTIONS: &[&str] = &["max_turns", "on", "tools", "retry", "breaker"];
const OF_A_TOOL: &[&str] = &["approval", "on", "retry", "breaker"];
const OF_AN_ENTRY: &[&str] = &[
    "do",
    "wording",
    "times",
    "otherwise",
    "value",
    "include_in_history",
];
const OF_RETRY: &[&str] = &["attempts", "backoff"];
const OF_A_BREAKER: &[&str] = &["threshold", "cooldown", "webhook", "wording"];

type Own<'o> = &'o dyn Fn(Kind, &str) -> Option<String>;

pub(super) fn policy(text: &str, own: Own<'_>) -> Result<Policy, PolicyFaults> {
    let mut reader = Reader::new(text);
    if text.len() > LONGEST {
        reader.tell(0, format!("more than {} KB", LONGEST / 1024));
        return reader.finish(Policy::default());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        reader.tell(at, error.message().to_owned());
    }
    of_table(reader, table.get_ref(), own)
}

/// Reads a policy that is a table of the reader's text.
pub(super) fn of_table(
    mut reader: Reader<'_>,
    table: &DeTable<'_>,
    own: Own<'_>,
) -> Result<Policy, PolicyFaults> {
    let mut policy = Policy::default();
    reader.only(table, SECTIONS);
    policy.max_turns = reader.whole(table, "max_turns", 1..=MOST);
    policy.on = entries(&mut reader, table, own);
    if let Some(said) = retry(&mut reader, table) {
        policy.retry = RetrySettings::ASKED_FOR.with(&said);
    }
    if let Some(said) = breaker(&mut reader, table) {
        policy.breaker = BreakerSettings::default().with(&said);
    }
    policy.tools = tools(&mut reader, table, own);
    if !table.contains_key("retry") {
        for said in &mut policy.tools {
            // A tool with a section of its own is tried again, also where calls in general are not.
            if said.retry.backoff_ms.is_some() {
                let attempts = &mut said.retry.attempts;
                attempts.get_or_insert(RetrySettings::ASKED_FOR.attempts);
            }
        }
    }
    reader.finish(policy)
}

fn tools(reader: &mut Reader<'_>, table: &DeTable<'_>, own: Own<'_>) -> Vec<ToolPolicy> {
    let sections = reader.table(table, "tools");
    let mut tools = Vec::new();
    for (key, node) in sections.into_iter().flatten() {
        let name = key.get_ref();
        if name.is_empty() || name.chars().count() > NAME {
            reader.tell(key.span().start, "this is no name of a tool".to_owned());
            continue;
        }
        let Some(members) = reader.as_table(name, node) else {
            continue;
        };
        reader.only(members, OF_A_TOOL);
        tools.push(ToolPolicy {
            name: name.to_string(),
            pattern: Pattern::exact(name),
            approval: approval(reader, members),
            on: entries(reader, members, own),
            retry: retry(reader, members).unwrap_or_default(),
            breaker: breaker(reader, members).unwrap_or_default(),
        });
    }
    tools.sort_by_key(|tool| is_pattern(&tool.name));
    tools
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

fn approval(reader: &mut Reader<'_>, members: &DeTable<'_>) -> Option<Approval> {
    let (word, at) = reader.text(members, "approval")?;
    let found = Approval::named(word);
    if found.is_none() {
        let words = Approval::ALL.map(|(_, word, _)| word);
        reader.unknown(at, word, "no way to approve calls", &words);
    }
    found
}

fn retry(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<PartialRetry> {
    let members = reader.table(table, "retry")?;
    reader.only(members, OF_RETRY);
    Some(PartialRetry {
        attempts: reader.whole(members, "attempts", 1..=MOST_ATTEMPTS),
        backoff_ms: reader.duration(members, "backoff"),
    })
}

fn breaker(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<PartialBreaker> {
    let members = reader.table(table, "breaker")?;
    reader.only(members, OF_A_BREAKER);
    Some(PartialBreaker {
        threshold: reader.whole(members, "threshold", 0..=MOST),
        cooldown_ms: reader.duration(members, "cooldown"),
        webhook: webhook(reader, members),
        wording: template(reader, members),
    })
}

/// A template that stands in the file.
fn template(reader: &mut Reader<'_>, members: &DeTable<'_>) -> Option<String> {
    let (text, at) = reader.text(members, "wording")?;
    if let Err(fault) = wording::check(text) {
        reader.template(&fault, at);
        return None;
    }
    Some(text.to_owned())
}

fn webhook(reader: &mut Reader<'_>, members: &DeTable<'_>) -> Option<String> {
    let (url, at) = reader.text(members, "webhook")?;
    let is_url = ["http://", "https://"].iter().any(|scheme| {
        url.strip_prefix(scheme)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
    });
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if is_url && url.len() <= NAME && url.chars().all(is_plain) {
        return Some(url.to_owned());
    }
    let message = "`webhook` is a URL that begins with http:// or https://";
    reader.tell(at, message.to_owned());
    None
}

fn entries(reader: &mut Reader<'_>, table: &DeTable<'_>, own: Own<'_>) -> Vec<Entry> {
    let sections = reader.table(table, "on");
    let mut entries = Vec::new();
    for (key, node) in sections.into_iter().flatten() {
        let Some(rule) = rule(reader, key) else {
            continue;
        };
        entries.extend(entry(reader, rule, key, node, own));
    }
    entries
}

fn rule(reader: &mut Reader<'_>, key: &Key<'_>) -> Option<&'static Rule> {
    let name = key.get_ref();
    let found = RULES.iter().find(|rule| rule.id == name.as_ref());
    if let Some(why) = never_decided(name) {
        let message = format!("`{name}` {why}: no policy can act about it");
        reader.tell(key.span().start, message);
        return None;
    }
    if found.is_none() {
        let ids = RULES.iter().map(|rule| rule.id);
        let ids: Vec<&str> = ids.filter(|id| never_decided(id).is_none()).collect();
        reader.unknown(key.span().start, name, "no rule", &ids);
    }
    found.copied()
}

fn entry(
    reader: &mut Reader<'_>,
    rule: &'static Rule,
    key: &Key<'_>,
    node: &Node<'_>,
    own: Own<'_>,
) -> Option<Entry> {
    let members = reader.as_table(rule.id, node)?;
    reader.only(members, OF_AN_ENTRY);
    if !members.contains_key("do") {
        let words = words_for(rule).join(", ");
        let message = format!("`{}` does not say what to `do`: {words}", rule.id);
        reader.tell(key.span().start, message);
    }
    let does = verb(reader, rule, members, "do");
    let then = verb(reader, rule, members, "otherwise");
    let times = reader.whole(members, "times", 1..=MOST);
    let wording = words(reader, rule, members, own);
    let value = fallback_value(reader, members);
    let include_in_history = reader.flag(members, "include_in_history");
    let does = does?;
    let times = times.or(does.times);
    let said: Vec<&Verb> = [Some(does), then].into_iter().flatten().collect();
    let is_action = matches!(does.deed, Deed::Act(_));
    if times.is_none() && !members.contains_key("times") && !is_action {
        reader.forbid(
            members,
            "otherwise",
            "comes after `times`, or after an action that could not be done",
        );
    }
    belong(reader, key, members, &said);
    Some(Entry {
        rule: rule.id,
        does,
        times,
        then: then.or(wording::verb("ask"))?,
        wording,
        value,
        include_in_history: include_in_history.unwrap_or(true),
    })
}

/// Tells members that none of the words takes, and a value that one of them lacks.
fn belong(reader: &mut Reader<'_>, key: &Key<'_>, members: &DeTable<'_>, said: &[&Verb]) {
    if !said.iter().any(|verb| verb.has_wording) {
        let whose = listed(VERBS.iter().filter(|verb| verb.has_wording));
        reader.forbid(members, "wording", &format!("belongs to {whose}"));
    }
    match said.iter().find(|verb| verb.has_value) {
        Some(verb) if !members.contains_key("value") => {
            let message = format!("`{}` needs a `value`", verb.word);
            reader.tell(key.span().start, message);
        }
        Some(_) => {}
        None => {
            let whose = listed(VERBS.iter().filter(|verb| verb.has_value));
            for member in ["value", "include_in_history"] {
                reader.forbid(members, member, &format!("belongs to {whose}"));
            }
        }
    }
}

fn listed<'v>(verbs: impl Iterator<Item = &'v Verb>) -> String {
    let words: Vec<&str> = verbs.map(|verb| verb.word).collect();
    words.join(" and ")
}

/// What can be done about faults of a rule.
fn words_for(rule: &Rule) -> Vec<&'static str> {
    let fits = |verb: &&Verb| match verb.deed {
        Deed::Act(actions) => {
            !actions_for(rule.id, actions).is_empty() && in_vain(rule.id, verb.word).is_none()
        }
        // To go on without a limit is nothing that a policy may do.
        Deed::Release => rule.id != TURN_LIMIT,
        Deed::Raise | Deed::Ask => true,
    };
    VERBS.iter().filter(fits).map(|verb| verb.word).collect()
}

fn verb(
    reader: &mut Reader<'_>,
    rule: &Rule,
    members: &DeTable<'_>,
    key: &str,
) -> Option<&'static Verb> {
    let (word, at) = reader.text(members, key)?;
    let words = words_for(rule);
    if words.contains(&word) {
        return wording::verb(word);
    }
    if let Some(why) = in_vain(rule.id, word) {
        let message = format!("`{word}` can never be done about {}: {why}", rule.id);
        reader.tell(at, message);
        return None;
    }
    let what = match wording::verb(word) {
        Some(_) => format!("nothing that can be done about {}", rule.id),
        None => "nothing that a policy does".to_owned(),
    };
    reader.unknown(at, word, &what, &words);
    None
}

/// A name of the library or of the operator's own wordings, or a template.
fn words(
    reader: &mut Reader<'_>,
    rule: &Rule,
    members: &DeTable<'_>,
    own: Own<'_>,
) -> Option<Words> {
    let (text, at) = reader.text(members, "wording")?;
    let kind = Kind::of_rule(rule.id);
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
        reader.unknown(at, text, &what, &names);
        return None;
    }
    if let Err(fault) = wording::check(text) {
        reader.template(&fault, at);
        return None;
    }
    Some(Words {
        name: None,
        template: text.to_owned(),
    })
}

fn fallback_value(reader: &mut Reader<'_>, members: &DeTable<'_>) -> Option<String> {
    let node = reader.get(members, "value")?;
    match value::of_fallback(node.get_ref()) {
        Ok(value) => Some(value),
        Err(why) => {
            reader.tell(node.span().start, format!("`value`: {why}"));
            None
        }
    }
}
