//! What a rule answers, made for one request: templates filled in, ids and token counts.

use super::{Asked, Moment, Rule, Script, ScriptedArguments, ScriptedCall};
use crate::dialects::write::{NewCall, NewReply};
use minijinja::{Environment, context};
use serde_json::Value;

/// What replies say when they were made: 2 March 2026, 09:00 UTC. A script has no clock, so that the same
/// request gets the same bytes.
const MADE: u64 = 1_772_442_000;
/// Characters of a token, as providers say of English text.
const TOKEN: usize = 4;
/// Most instructions of a template.
const FUEL: u64 = 10_000;
/// What templates may name.
pub(super) const VARIABLES: [&str; 4] = ["last", "tool", "turn", "offered"];

impl Script {
    /// The reply of a rule. Fails where a template fails, with the reason.
    pub fn answer(&self, rule: &Rule, asked: &Asked) -> Result<NewReply, String> {
        let answer = &rule.answer;
        let fill = |template: &Option<String>| {
            let filled = template.as_ref().map(|text| fill(text, &asked.now));
            filled.transpose()
        };
        let mut reply = NewReply {
            tag: self.word(asked, 0),
            model: self.model(),
            created: MADE,
            reasoning: fill(&answer.reasoning)?,
            texts: fill(&answer.text)?.into_iter().collect(),
            refusal: fill(&answer.refusal)?,
            calls: Vec::new(),
            tools: asked.tools.clone(),
            end: answer.end,
            input_tokens: tokens(asked.length),
            output_tokens: 0,
        };
        for (index, call) in answer.calls.iter().enumerate() {
            reply.calls.push(self.call(call, index, asked)?);
        }
        let texts = reply.reasoning.iter().chain(&reply.texts);
        let texts = texts.chain(&reply.refusal).map(String::len);
        let calls = reply.calls.iter();
        let calls = calls.map(|call| call.name.len() + call.arguments.len());
        reply.output_tokens = tokens(texts.chain(calls).sum());
        Ok(reply)
    }

    fn call(&self, call: &ScriptedCall, index: usize, asked: &Asked) -> Result<NewCall, String> {
        let prefix = asked.dialect.facts().call_prefix;
        let made = || format!("{prefix}{}", self.word(asked, index as u64 + 1));
        Ok(NewCall {
            id: call.id.clone().unwrap_or_else(made),
            name: call.name.clone(),
            arguments: match &call.arguments {
                ScriptedArguments::Raw(text) => text.clone(),
                ScriptedArguments::Value(value) => filled(value, &asked.now)?.to_string(),
            },
            input: None,
        })
    }

    /// A word for ids: the same history asks for the same one.
    fn word(&self, asked: &Asked, number: u64) -> String {
        let hash = asked.now.fingerprint.and(b"id").and(self.name.as_bytes());
        let hash = hash.and_number(self.seed).and_number(asked.sample);
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
pub(super) fn check_template(template: &str) -> Result<(), String> {
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
