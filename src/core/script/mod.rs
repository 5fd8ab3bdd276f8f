//! A scripted model: rules over requests, and their answers.
//!
//! A script is a TOML file of rules; the first that fits answers ([`Script::choose`], [`Script::answer`]).
//! Rules look at the history that the request holds and at nothing else, so the same history is answered alike
//! in every run, in every take and in every dialect. Two conditions are different, and say so: `chance` draws
//! from a hash of the history, which `sample` varies, and `attempt` counts how often the endpoint got the
//! very same thing, since a request that failed leaves nothing in a history.
//!
//! Here is not a socket and no clock: `runtime::scripted` serves a script.

use crate::config::{self, Checker, ConfigErrors, Keys, Section, Shape, keys, one_or_many};
use crate::wire::ToolCall;
use crate::wire::write::{End, NewReply};
use minijinja::{Environment, context};
use regex::Regex;
pub use request::{Last, Moment, ScriptRequest};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

mod request;

/// Characters in one event of a stream, where a rule does not say.
const CHUNK: usize = 24;

#[derive(Debug, Clone)]
pub struct Script {
    pub name: String,
    /// The file that it was read from, for messages.
    pub file: String,
    /// What chance begins with.
    pub seed: u64,
    /// Its rules, in the order in which they are tried.
    pub rules: Vec<ScriptRule>,
}

impl Script {
    /// What replies name as their model.
    pub fn model(&self) -> String {
        format!("scripted:{}", self.name)
    }
}

/// A rule: where everything in `when` holds, it answers.
#[derive(Debug, Clone)]
pub struct ScriptRule {
    /// Its line in the file, from 1.
    pub line: usize,
    pub when: When,
    pub answer: ScriptAnswer,
}

/// When a rule fits; what is not given holds always.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct When {
    /// The number of the requested reply, from 1.
    pub turn: Option<u32>,
    /// What the history ends on.
    pub last: Option<Last>,
    /// What is new since the last reply contains this, case-sensitive.
    pub last_contains: Option<String>,
    /// What is new since the last reply matches this.
    #[serde(deserialize_with = "pattern")]
    pub last_matches: Option<Regex>,
    /// Whether an output since the last reply reports an error.
    pub last_is_error: Option<bool>,
    /// The tool of the last call of the history.
    pub called: Option<String>,
    /// Tools that are all on offer.
    #[serde(deserialize_with = "one_or_many")]
    pub offers: Vec<String>,
    /// Tools none of which is on offer.
    #[serde(deserialize_with = "one_or_many")]
    pub lacks: Vec<String>,
    /// How many replies of one history the rule gives at most.
    pub times: Option<u32>,
    /// How often the endpoint got exactly this request, this time included.
    pub attempt: Option<u32>,
    /// The share of histories that it fits, from 0 to 1.
    pub chance: Option<f64>,
}

/// What a rule answers.
#[derive(Debug, Clone, Deserialize)]
pub struct ScriptAnswer {
    /// Reasoning; a template, as all texts here.
    pub reasoning: Option<String>,
    pub text: Option<String>,
    pub refusal: Option<String>,
    #[serde(default)]
    pub calls: Vec<ScriptedCall>,
    /// Why the reply ends.
    #[serde(default, rename = "finish", deserialize_with = "end")]
    pub end: End,
    /// Milliseconds until anything is sent.
    #[serde(default)]
    pub delay_ms: u64,
    /// Milliseconds between the events of a stream.
    #[serde(default)]
    pub chunk_ms: u64,
    /// Characters of a text or of arguments in one event.
    #[serde(default = "usual_chunk")]
    pub chunk: usize,
    /// What its keys come to together.
    #[serde(skip)]
    pub fault: Option<ScriptedFault>,
}

fn usual_chunk() -> usize {
    CHUNK
}

fn end<'de, D: Deserializer<'de>>(value: D) -> Result<End, D::Error> {
    Ok(match String::deserialize(value)?.as_str() {
        "length" => End::Length,
        _ => End::ContentFilter,
    })
}

fn pattern<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Regex>, D::Error> {
    let pattern = Regex::new(&String::deserialize(value)?);
    pattern.map(Some).map_err(D::Error::custom)
}

/// A call that a rule makes.
#[derive(Debug, Clone, Deserialize)]
pub struct ScriptedCall {
    /// The tool, offered or not.
    pub name: String,
    /// The namespace of the tool, which Responses has as a member of its own.
    pub namespace: Option<String>,
    #[serde(default)]
    pub arguments: CallArguments,
    /// The id; made from the history where none is given.
    pub id: Option<String>,
}

/// The arguments of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum CallArguments {
    /// Text that is sent as it is, JSON or not.
    Raw(String),
    /// A value whose texts are templates.
    Value(Value),
}

impl Default for CallArguments {
    fn default() -> Self {
        Self::Value(Value::Object(Map::new()))
    }
}

/// What goes wrong instead of a whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedFault {
    /// An error of the provider.
    Status {
        status: u16,
        /// What its error says.
        message: String,
        retry_after: Option<String>,
    },
    /// The connection ends after so many events of a stream, or in the middle of a reply that is not streamed.
    Cut {
        after: usize,
        /// The failure that the provider reports in the stream before it ends, where it reports one.
        error: Option<String>,
    },
    /// Nothing comes any more after so many events, and the connection stays.
    Hang {
        /// How many; 0 sends not even the head of a reply.
        after: usize,
    },
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

// What a rule answers, made for one request: templates filled in, ids and token counts.

/// What replies say when they were made: 2 March 2026, 09:00 UTC. A script has no clock, so that the same
/// request gets the same bytes.
const MADE: u64 = 1_772_442_000;
/// Characters of a token, as providers say of English text.
const TOKEN: usize = 4;
/// Most instructions of a template.
const FUEL: u64 = 10_000;
/// What templates may name.
const VARIABLES: [&str; 4] = ["last", "tool", "turn", "offered"];

impl Script {
    /// The reply of a rule. Fails where a template fails, with the reason.
    pub fn answer(&self, rule: &ScriptRule, request: &ScriptRequest) -> Result<NewReply, String> {
        let answer = &rule.answer;
        let fill = |template: &Option<String>| {
            let filled = template.as_ref().map(|text| fill(text, &request.now));
            filled.transpose()
        };
        let mut reply = NewReply {
            tag: self.word(request, 0),
            model: self.model(),
            created: MADE,
            reasoning: fill(&answer.reasoning)?,
            texts: fill(&answer.text)?.into_iter().collect(),
            refusal: fill(&answer.refusal)?,
            calls: Vec::new(),
            tools: request.tools.clone(),
            end: answer.end,
            input_tokens: tokens(request.length),
            output_tokens: 0,
        };
        for (index, call) in answer.calls.iter().enumerate() {
            reply.calls.push(self.call(call, index, request)?);
        }
        let texts = reply.reasoning.iter().chain(&reply.texts);
        let texts = texts.chain(&reply.refusal).map(String::len);
        let calls = reply.calls.iter();
        let calls = calls.map(|call| call.name.len() + call.input.as_written().len());
        reply.output_tokens = tokens(texts.chain(calls).sum());
        Ok(reply)
    }

    fn call(
        &self,
        call: &ScriptedCall,
        index: usize,
        request: &ScriptRequest,
    ) -> Result<ToolCall, String> {
        let prefix = request.dialect.facts().call_prefix;
        let made = || format!("{prefix}{}", self.word(request, index as u64 + 1));
        let id = call.id.clone().unwrap_or_else(made);
        let arguments = match &call.arguments {
            CallArguments::Raw(text) => text.clone(),
            CallArguments::Value(value) => filled(value, &request.now)?.to_string(),
        };
        Ok(ToolCall {
            namespace: call.namespace.clone(),
            ..ToolCall::new(&id, &call.name, &arguments)
        })
    }

    /// A word for ids: the same history asks for the same one.
    fn word(&self, request: &ScriptRequest, number: u64) -> String {
        let hash = request.now.fingerprint.and(b"id").and(self.name.as_bytes());
        let hash = hash.and_number(self.seed).and_number(request.sample);
        hash.and_number(number).word()
    }
}

fn tokens(characters: usize) -> u64 {
    characters.div_ceil(TOKEN).max(1) as u64
}

/// Every text of a value, filled in.
fn filled(value: &Value, moment: &Moment) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => fill(text, moment)?.into(),
        Value::Array(values) => {
            let values = values.iter().map(|value| filled(value, moment));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| Ok((key.clone(), filled(value, moment)?)));
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn fill(template: &str, moment: &Moment) -> Result<String, String> {
    if !template.contains('{') {
        return Ok(template.to_owned());
    }
    let values = context! {
        last => &moment.text,
        tool => &moment.called,
        turn => moment.turn,
        offered => moment.offered.join(", "),
    };
    let filled = environment().render_str(template, values);
    filled.map_err(|error| reason(&error))
}

/// Whether a template can be used; the error follows the name of a key in a sentence.
fn check_template(template: &str) -> Result<(), String> {
    let environment = environment();
    let compiled = environment.template_from_str(template).map_err(|error| {
        let reason = reason(&error);
        format!("cannot be read as a template: {reason}")
    })?;
    let names = compiled.undeclared_variables(false).into_iter();
    let unknown = names.filter(|name| !VARIABLES.contains(&name.as_str()));
    match unknown.min() {
        Some(name) => Err(format!(
            "is a template that cannot name `{name}`; these stand ready: {}",
            VARIABLES.join(", ")
        )),
        None => Ok(()),
    }
}

/// What the engine says, without its places, which count from the beginning of the template.
fn reason(error: &minijinja::Error) -> String {
    let kind = error.kind().to_string();
    error.detail().map_or(kind, str::to_owned)
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(FUEL));
    environment
}

// Which rule answers.

impl Script {
    /// The first rule that fits, with its place. `attempt` says how often exactly this was
    /// got this request, this time included.
    ///
    /// How often a rule has answered before (`times`) is counted by asking the rules again for each reply of
    /// the history: faults gave none of them, and at which attempt they came nobody knows any more.
    pub fn choose(&self, request: &ScriptRequest, attempt: u32) -> Option<(usize, &ScriptRule)> {
        let mut used = vec![0_u32; self.rules.len()];
        if self.rules.iter().any(|rule| rule.when.times.is_some()) {
            for moment in &request.before {
                let mut rules = self.rules.iter().enumerate();
                let fitting = rules.find(|(index, rule)| {
                    rule.answer.fault.is_none()
                        && self.fits((*index, rule), moment, request.sample, &used)
                });
                if let Some((index, _)) = fitting {
                    used[index] += 1;
                }
            }
        }
        self.rules.iter().enumerate().find(|(index, rule)| {
            rule.when.attempt.is_none_or(|wanted| wanted == attempt)
                && self.fits((*index, rule), &request.now, request.sample, &used)
        })
    }

    /// Whether everything holds but the attempt.
    fn fits(
        &self,
        (index, rule): (usize, &ScriptRule),
        moment: &Moment,
        sample: u64,
        used: &[u32],
    ) -> bool {
        let when = &rule.when;
        let is_offered = |tool: &String| moment.offered.contains(tool);
        when.turn.is_none_or(|turn| turn == moment.turn)
            && when.last.is_none_or(|last| last == moment.last)
            && when.last_is_error.is_none_or(|is| is == moment.is_error)
            && (when.called.is_none() || when.called == moment.called)
            && when.offers.iter().all(is_offered)
            && !when.lacks.iter().any(is_offered)
            && when
                .times
                .is_none_or(|times| used.get(index).is_none_or(|used| *used < times))
            && when
                .last_contains
                .as_ref()
                .is_none_or(|text| moment.text.contains(text.as_str()))
            && when
                .last_matches
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&moment.text))
            && when
                .chance
                .is_none_or(|chance| self.draw(index, moment, sample) < chance)
    }

    /// From 0 to 1, the same for the same history, sample and rule.
    fn draw(&self, index: usize, moment: &Moment, sample: u64) -> f64 {
        let hash = moment.fingerprint.and(b"chance").and_number(self.seed);
        hash.and_number(sample).and_number(index as u64).fraction()
    }

    /// Why no rule fits, for whoever writes the script.
    pub fn nothing_fits(&self, request: &ScriptRequest) -> String {
        let now = &request.now;
        let cut = now.text.chars().take(200).collect::<String>();
        let called = now.called.as_deref().unwrap_or("nothing");
        let offered = match now.offered.is_empty() {
            true => "no tools".to_owned(),
            false => now.offered.join(", "),
        };
        format!(
            "no rule of {} fits reply {}: the history ends on {}, which says {cut:?}; called last: {called}; on \
            offer: {offered}",
            self.file,
            now.turn,
            now.last.word()
        )
    }
}

// Reads a script from its file. Everything that is wrong with it is reported at once, each with its line.

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
    let rules: Vec<Option<ScriptRule>> = top
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

fn rule(table: Section<'_>, checker: &mut Checker<'_>) -> Option<ScriptRule> {
    check_together(table, checker);
    let answer: Option<ScriptAnswer> = table.read();
    let calls = answer.iter().flat_map(|answer| &answer.calls);
    for (call, place) in calls.zip(table.tables("calls")) {
        if let CallArguments::Value(arguments) = &call.arguments {
            check_templates(arguments, place.at("arguments"), checker);
        }
    }
    Some(ScriptRule {
        line: checker.line(table.at),
        when: table.read()?,
        answer: ScriptAnswer {
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

/// Reports rules after one that fits always.
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

// The keys of a script.

/// The tables of a script, for the help.
pub static SCRIPT_TABLES: [&Keys; 3] = [&SCRIPT_KEYS, &RULE_KEYS, &CALL_KEYS];

/// The keys of `[[rule]]` that are conditions.
const CONDITIONS: [&str; 11] = [
    "turn",
    "last",
    "last_contains",
    "last_matches",
    "last_is_error",
    "called",
    "offers",
    "lacks",
    "times",
    "chance",
    "attempt",
];

/// Turns, times and attempts.
const COUNTED: Shape = Shape::Whole(1, 1_000_000);
/// Milliseconds of a wait, and seconds of `Retry-After`.
const WAIT: Shape = Shape::Whole(0, 600_000);
const TOOLS: Shape = Shape::Either(&[Shape::AnyText, Shape::AnyList("tools", &Shape::AnyText)]);
const TEMPLATE: Shape = Shape::CheckedText(check_template);

keys! {
    static SCRIPT_KEYS = "the file" {
        name: CheckedText(check_name), "what replies call the model: `scripted:NAME`; the file's name without it";
        seed: Whole(0, u64::MAX), "what `chance` and the ids begin with", or "0";
        rule: Tables(&RULE_KEYS), "the rules; the first that fits answers";
    }
}

keys! {
    static RULE_KEYS = "[[rule]]" {
        turn: COUNTED, "fits where this reply is requested, from 1";
        last: Word(None, last_words), "fits where the history ends on this";
        last_contains: AnyText,
            "fits where what is new since the last reply (outputs, messages) contains it, case-sensitive";
        last_matches: CheckedText(check_pattern),
            "a regular expression; fits where what is new since the last reply matches it";
        last_is_error: Flag, "fits where an output since the last reply reports an error; false: where none does";
        called: AnyText, "fits where the last call of the history called this tool";
        offers: TOOLS, "fits where all of these tools are on offer";
        lacks: TOOLS, "fits where none of these tools is on offer";
        times: COUNTED, "fits for so many replies in one history at most, counted in the history itself";
        chance: Chance,
            "the share of histories that it fits, drawn from the history, the seed and the sample: the header \
             `x-retake-sample` or `seed` of the request";
        attempt: COUNTED,
            "fits where the endpoint was asked exactly this so often; the only condition that is not a function of the \
             history";
        text: TEMPLATE, "the text of the answer, a template";
        reasoning: TEMPLATE, "reasoning before it, a template";
        refusal: TEMPLATE, "a refusal, a template";
        calls: Tables(&CALL_KEYS), "calls, as `{ name = \"...\", arguments = { ... } }`";
        finish: Word(None, || vec!["length", "content_filter"]),
            "why the reply ends, where it does not end by itself";
        delay_ms: WAIT, "how many milliseconds nothing is sent", or "0";
        chunk_ms: WAIT, "milliseconds between two events of a stream", or "0";
        chunk: Whole(1, 1_000_000), "characters of a text or of arguments in one event", or "24";
        status: Whole(400, 599), "an error instead of a reply, with this HTTP status";
        error: AnyText,
            "what that error says; beside `cut_after`, the failure that the stream reports before it ends";
        retry_after: Either(&[WAIT, CheckedText(check_date)]), "its header `Retry-After`: seconds or a date";
        cut_after: Whole(0, 1_000_000),
            "the connection ends after so many events of the stream; a reply that is not streamed ends in the middle";
        hang: Flag, "nothing comes any more: at once, or after `cut_after`";
    }
    rules [AtMost(1000)]
}

keys! {
    static CALL_KEYS = "an entry of `calls`" {
        name [required]: AnyText, "the tool that is called, on offer or not";
        namespace: AnyText, "the namespace of the tool, which Responses has as a member of its own";
        arguments: Either(&[JsonTable, AnyText]),
            "the arguments; the texts of a table are templates, and a text is sent as it is, JSON or not", or "{}";
        id: AnyText, "the id of the call; made from the history without it";
    }
}

fn last_words() -> Vec<&'static str> {
    Last::ALL.iter().map(|last| last.word()).collect()
}

fn check_name(name: &str) -> Result<(), String> {
    match (1..=60).contains(&name.len()) && name.chars().all(is_of_name) {
        true => Ok(()),
        false => Err("has 1 to 60 letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

/// Whether headers and model names take a character.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    let Err(error) = regex::Regex::new(pattern) else {
        return Ok(());
    };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    Err(format!("is not a regular expression: {reason}"))
}

fn check_date(date: &str) -> Result<(), String> {
    match date.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true => Ok(()),
        false => Err("holds what no header can".to_owned()),
    }
}
