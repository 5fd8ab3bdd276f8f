//! Reads a script from its file. Everything that is wrong with it is reported at once, each with its line.

use super::answer::check_template;
use super::keys::{CONDITIONS, SCRIPT_KEYS, is_of_name};
use super::{Answer, Rule, Script, ScriptedArguments, ScriptedFault};
use crate::config::{self, Checker, ConfigErrors, Section};
use serde_json::Value;

/// Longest file, in bytes.
pub const LENGTH: usize = 1024 * 1024;

impl Script {
    /// Reads a script; `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigErrors> {
        config::read(text, LENGTH, &SCRIPT_KEYS, |top, checker| {
            script(file, top, checker)
        })
    }
}

fn script(file: &str, top: Section<'_>, checker: &mut Checker<'_>) -> Option<Script> {
    let rules: Vec<Option<Rule>> = top
        .tables("rule")
        .map(|table| rule(table, checker))
        .collect();
    if rules.is_empty() && checker.is_clean() {
        let hint = "write `[[rule]]` and below it when it fits and what it answers";
        checker.push(top.at("rule"), format!("there is no rule; {hint}"));
    }
    check_reachable(top, checker);
    Some(Script {
        name: top.get("name").unwrap_or_else(|| name_of_file(file)),
        file: file.to_owned(),
        seed: top.get("seed").unwrap_or(0),
        rules: rules.into_iter().collect::<Option<_>>()?,
    })
}

/// The name of a script whose file has no `name`: that of the file, with what headers and model names do
/// not take left out.
fn name_of_file(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let name = name.strip_suffix(".script").unwrap_or(name);
    let name = name.chars().filter(|c| is_of_name(*c)).take(60);
    let name = name.collect::<String>();
    if name.is_empty() {
        "model".to_owned()
    } else {
        name
    }
}

fn rule(table: Section<'_>, checker: &mut Checker<'_>) -> Option<Rule> {
    check_together(table, checker);
    let answer: Option<Answer> = table.read();
    let calls = answer.iter().flat_map(|answer| &answer.calls);
    for (call, place) in calls.zip(table.tables("calls")) {
        if let ScriptedArguments::Value(arguments) = &call.arguments {
            check_templates(arguments, place.at("arguments"), checker);
        }
    }
    Some(Rule {
        line: checker.line(table.at),
        when: table.read()?,
        answer: Answer {
            fault: fault(table),
            ..answer?
        },
    })
}

fn fault(table: Section<'_>) -> Option<ScriptedFault> {
    let error = table.get("error");
    let after = table.get("cut_after");
    if let Some(status) = table.get("status") {
        let seconds = table.get::<u64>("retry_after");
        return Some(ScriptedFault::Status {
            status,
            message: error.unwrap_or_else(|| format!("scripted failure {status}")),
            retry_after: seconds.map_or_else(|| table.get("retry_after"), |s| Some(s.to_string())),
        });
    }
    if table.get("hang") == Some(true) {
        let after = after.unwrap_or(0);
        return Some(ScriptedFault::Hang { after });
    }
    after.map(|after| ScriptedFault::Cut { after, error })
}

/// Whether what a rule says makes sense together.
fn check_together(rule: Section<'_>, checker: &mut Checker<'_>) {
    let has = |key: &str| rule.has(key);
    let hangs = rule.get("hang") == Some(true);
    let speaks = ["text", "reasoning", "refusal", "calls"]
        .into_iter()
        .any(has);
    let fails_at_once = has("status") || (hangs && !has("cut_after"));
    let reports = has("error") && (!has("cut_after") || hangs);
    let fails = has("status") || hangs || has("cut_after");
    let problems = [
        (
            !speaks && !fails_at_once,
            "this rule answers nothing; give it `text`, `calls`, `refusal`, `status` or `hang`",
        ),
        (
            speaks && has("status"),
            "an error reply says nothing but `error`; take `text`, `calls` and the like out",
        ),
        (
            !has("status") && (has("retry_after") || reports),
            "`error` and `retry_after` belong to an error reply; give its `status`, too; \
             a stream can report an `error` at `cut_after`",
        ),
        (
            has("status") && (hangs || has("cut_after")),
            "an error reply cannot hang or be cut; make two rules of it",
        ),
        (
            fails && has("times"),
            "`times` counts replies of the history, and what fails leaves none there; \
             use `attempt`, which counts how often exactly this was asked",
        ),
    ];
    for (_, problem) in problems.into_iter().filter(|(is_there, _)| *is_there) {
        checker.push(rule.at, problem);
    }
}

/// Every text of a value is a template.
fn check_templates(value: &Value, at: usize, checker: &mut Checker<'_>) {
    match value {
        Value::String(text) => {
            let checked = check_template(text).map_err(|why| format!("`arguments` {why}"));
            checker.ok(at, checked);
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| check_templates(value, at, checker)),
        Value::Object(members) => {
            members
                .values()
                .for_each(|value| check_templates(value, at, checker));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports rules behind one that fits always.
fn check_reachable(top: Section<'_>, checker: &mut Checker<'_>) {
    let mut rules = top.tables("rule");
    let is_open = |rule: &Section<'_>| !CONDITIONS.iter().any(|key| rule.has(key));
    let open = rules.find(is_open);
    // A key that is misspelt may be a condition.
    if let (Some(open), Some(next), true) = (open, rules.next(), checker.is_clean()) {
        let line = checker.line(open.at);
        let text = format!(
            "no rule from here on is ever asked: the one in line {line} fits always; \
             give that one a condition, or put it last"
        );
        checker.push(next.at, text);
    }
}
