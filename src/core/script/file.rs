//! Reads a script from its file. Everything that is wrong with it is told at once, each with its line.

mod members;
mod sense;

use super::keys::Place;
use super::{
    Answer, Last, Rule, Script, ScriptFault, ScriptedArguments, ScriptedCall, ScriptedFault, When,
};
use crate::dialects::write::End;
use members::{Key, Member, Reader};
use regex::Regex;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// Longest file, in bytes.
pub const LENGTH: usize = 1024 * 1024;
const MOST_RULES: usize = 1000;
/// Most faults that are told.
const MOST_FAULTS: usize = 50;
/// Longest wait, in milliseconds.
const LONGEST_WAIT: u64 = 600_000;
/// Characters in one event of a stream, where a rule does not say.
const CHUNK: usize = 24;

impl Script {
    /// Reads a script; `file` is its name in messages. Gives all that is wrong with it, in the
    /// order of its lines.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<ScriptFault>> {
        let mut reader = Reader {
            text,
            faults: Vec::new(),
        };
        let script = reader.script(file);
        let mut faults = reader.faults;
        if faults.is_empty() {
            return Ok(script);
        }
        faults.sort_by_key(|fault| fault.line);
        faults.truncate(MOST_FAULTS);
        Err(faults)
    }
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

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Answers of a rule as they are read, before they are put together.
#[derive(Default)]
struct Failing {
    status: Option<u16>,
    error: Option<String>,
    retry_after: Option<String>,
    cut_after: Option<usize>,
    hang: bool,
}

impl Reader<'_> {
    fn script(&mut self, file: &str) -> Script {
        let mut script = Script {
            name: name_of_file(file),
            file: file.to_owned(),
            seed: 0,
            rules: Vec::new(),
        };
        if self.text.len() > LENGTH {
            self.fault(
                0,
                format!("the file is longer than {} KB", LENGTH / 1024),
                None,
            );
            return script;
        }
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            self.fault(at, error.message().to_owned(), None);
        }
        let is_sound = self.faults.is_empty();
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "name" => {
                    let name = self
                        .read::<String>(key, value, "a text")
                        .unwrap_or_default();
                    if name.is_empty() || name.len() > 60 || !name.chars().all(is_of_name) {
                        let message = "a name has 1 to 60 letters, digits, `-`, `_` and `.`";
                        self.fault(value.span().start, message.to_owned(), None);
                    }
                    script.name = name;
                }
                "seed" => script.seed = self.read(key, value, "a whole number").unwrap_or(0),
                "rule" => self.rules(value, &mut script.rules),
                _ => self.unknown(key, &[Place::Top]),
            }
        }
        if script.rules.is_empty() && is_sound {
            let hint = "write `[[rule]]` and below it when it fits and what it answers";
            self.fault(0, "there is no rule".to_owned(), Some(hint.to_owned()));
        }
        if self.faults.is_empty() {
            self.unreachable(&script.rules);
        }
        script
    }

    fn rules(&mut self, value: &Member<'_>, rules: &mut Vec<Rule>) {
        let at = value.span().start;
        let Some(tables) = value.get_ref().as_array() else {
            let hint = Some("write `[[rule]]` with two brackets".to_owned());
            return self.fault(at, "`rule` is a list of tables".to_owned(), hint);
        };
        if tables.len() > MOST_RULES {
            self.fault(at, format!("more than {MOST_RULES} rules"), None);
        }
        for table in tables.iter().take(MOST_RULES) {
            let at = table.span().start;
            match table.get_ref().as_table() {
                Some(members) => rules.push(self.rule(members, at)),
                None => self.fault(at, "a rule is a table".to_owned(), None),
            }
        }
    }

    fn rule(&mut self, members: &DeTable<'_>, at: usize) -> Rule {
        let mut rule = Rule {
            line: self.line(at),
            when: When::default(),
            answer: Answer {
                chunk: CHUNK,
                ..Answer::default()
            },
        };
        let mut failing = Failing::default();
        for (key, value) in members {
            let is_known = self.when(&mut rule.when, key, value)
                || self.answer(&mut rule.answer, key, value)
                || self.failing(&mut failing, key, value);
            if !is_known {
                self.unknown(key, &[Place::When, Place::Answer]);
            }
        }
        rule.answer.fault = self.scripted_fault(failing, at);
        self.sense(&rule, members, at);
        rule
    }

    /// Takes a condition; whether the key is one.
    fn when(&mut self, when: &mut When, key: &Key<'_>, value: &Member<'_>) -> bool {
        match key.get_ref().as_ref() {
            "turn" => when.turn = self.counted(key, value),
            "times" => when.times = self.counted(key, value),
            "attempt" => when.attempt = self.counted(key, value),
            "last" => {
                let words = Last::ALL.map(|(_, word)| word);
                let word = self.word(key, value, &words);
                let known = Last::ALL.iter().find(|(_, known)| Some(*known) == word);
                when.last = known.map(|(last, _)| *last);
            }
            "last_contains" => when.last_contains = self.read(key, value, "a text"),
            "last_matches" => {
                let pattern = self.read::<String>(key, value, "a regular expression in quotes");
                match pattern.map(|pattern| Regex::new(&pattern)) {
                    Some(Ok(pattern)) => when.last_matches = Some(pattern),
                    Some(Err(error)) => {
                        let reason = error.to_string();
                        let reason = reason.lines().last().unwrap_or_default().trim();
                        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
                        let message = format!("`last_matches` is no regular expression: {reason}");
                        self.fault(value.span().start, message, None);
                    }
                    None => {}
                }
            }
            "last_is_error" => when.last_is_error = self.read(key, value, "true or false"),
            "called" => when.called = self.read(key, value, "the name of a tool"),
            "offers" => when.offers = self.names(key, value),
            "lacks" => when.lacks = self.names(key, value),
            "chance" => {
                when.chance = self.read::<f64>(key, value, "a number from 0 to 1");
                if when
                    .chance
                    .is_some_and(|chance| !(0.0..=1.0).contains(&chance))
                {
                    let message = "`chance` is a number from 0 to 1".to_owned();
                    self.fault(value.span().start, message, None);
                }
            }
            _ => return false,
        }
        true
    }

    /// Takes a part of the answer; whether the key is one.
    fn answer(&mut self, answer: &mut Answer, key: &Key<'_>, value: &Member<'_>) -> bool {
        match key.get_ref().as_ref() {
            "text" => answer.text = self.template(key, value),
            "reasoning" => answer.reasoning = self.template(key, value),
            "refusal" => answer.refusal = self.template(key, value),
            "calls" => self.calls(value, &mut answer.calls),
            "finish" => {
                answer.end = match self.word(key, value, &["length", "content_filter"]) {
                    Some("length") => End::Length,
                    Some(_) => End::ContentFilter,
                    None => End::Natural,
                }
            }
            "delay_ms" => answer.delay_ms = self.number(key, value, 0, LONGEST_WAIT).unwrap_or(0),
            "chunk_ms" => answer.chunk_ms = self.number(key, value, 0, LONGEST_WAIT).unwrap_or(0),
            "chunk" => {
                let chunk = self.number(key, value, 1, 1_000_000);
                answer.chunk = chunk
                    .and_then(|chunk| usize::try_from(chunk).ok())
                    .unwrap_or(CHUNK);
            }
            _ => return false,
        }
        true
    }

    /// Takes a part of what goes wrong; whether the key is one.
    fn failing(&mut self, failing: &mut Failing, key: &Key<'_>, value: &Member<'_>) -> bool {
        match key.get_ref().as_ref() {
            "status" => {
                let status = self.number(key, value, 400, 599);
                failing.status = status.and_then(|status| u16::try_from(status).ok());
            }
            "error" => failing.error = self.read(key, value, "a text"),
            "retry_after" => {
                failing.retry_after = match value.get_ref() {
                    DeValue::String(date)
                        if date.bytes().all(|byte| (b' '..=b'~').contains(&byte)) =>
                    {
                        Some(date.to_string())
                    }
                    _ => self
                        .number(key, value, 0, LONGEST_WAIT)
                        .map(|seconds| seconds.to_string()),
                }
            }
            "cut_after" => {
                let after = self.number(key, value, 0, 1_000_000);
                failing.cut_after = after.and_then(|after| usize::try_from(after).ok());
            }
            "hang" => failing.hang = self.read(key, value, "true").unwrap_or_default(),
            _ => return false,
        }
        true
    }

    fn scripted_fault(&mut self, failing: Failing, at: usize) -> Option<ScriptedFault> {
        let Failing {
            status,
            error,
            retry_after,
            cut_after,
            hang,
        } = failing;
        let is_homeless = match status {
            Some(_) => false,
            None => retry_after.is_some() || (error.is_some() && (cut_after.is_none() || hang)),
        };
        if is_homeless {
            let message = "`error` and `retry_after` belong to an error reply".to_owned();
            let hint = "give its `status`, too; a stream can report an `error` at `cut_after`";
            self.fault(at, message, Some(hint.to_owned()));
        }
        if status.is_some() && (hang || cut_after.is_some()) {
            let message = "an error reply cannot hang or be cut".to_owned();
            self.fault(at, message, Some("make two rules of it".to_owned()));
        }
        match (status, cut_after) {
            (Some(status), _) => Some(ScriptedFault::Status {
                status,
                message: error.unwrap_or_else(|| format!("scripted failure {status}")),
                retry_after,
            }),
            (None, after) if hang => Some(ScriptedFault::Hang {
                after: after.unwrap_or(0),
            }),
            (None, Some(after)) => Some(ScriptedFault::Cut { after, error }),
            (None, None) => None,
        }
    }

    fn calls(&mut self, value: &Member<'_>, calls: &mut Vec<ScriptedCall>) {
        let at = value.span().start;
        let hint = || Some("write `calls = [{ name = \"...\", arguments = { ... } }]`".to_owned());
        let Some(list) = value.get_ref().as_array() else {
            return self.fault(at, "`calls` is a list of tables".to_owned(), hint());
        };
        for call in list {
            let at = call.span().start;
            let Some(members) = call.get_ref().as_table() else {
                self.fault(at, "a call is a table".to_owned(), hint());
                continue;
            };
            let mut scripted = ScriptedCall {
                name: String::new(),
                arguments: ScriptedArguments::Value(Value::Object(serde_json::Map::new())),
                id: None,
            };
            for (key, value) in members {
                match key.get_ref().as_ref() {
                    "name" => {
                        let name = self.read(key, value, "the name of a tool");
                        scripted.name = name.unwrap_or_default();
                    }
                    "arguments" => scripted.arguments = self.arguments(key, value),
                    "id" => scripted.id = self.read(key, value, "a text"),
                    _ => self.unknown(key, &[Place::Call]),
                }
            }
            if !members.contains_key("name") {
                self.fault(at, "this call has no `name`".to_owned(), None);
            }
            calls.push(scripted);
        }
    }

    fn arguments(&mut self, key: &Key<'_>, value: &Member<'_>) -> ScriptedArguments {
        match value.get_ref() {
            DeValue::String(text) => ScriptedArguments::Raw(text.to_string()),
            DeValue::Table(_) => {
                let value_read = self.read::<Value>(key, value, "a table of JSON values");
                let arguments = value_read.unwrap_or_default();
                self.templates(&arguments, value.span().start);
                ScriptedArguments::Value(arguments)
            }
            _ => {
                let message = "`arguments` is a table, or a text that is sent as it is".to_owned();
                self.fault(value.span().start, message, None);
                ScriptedArguments::Raw(String::new())
            }
        }
    }
}
