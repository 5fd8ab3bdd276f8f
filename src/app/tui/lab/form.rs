//! What is measured, as the operator puts it together: wordings that are in or out, and a few values.

use super::subject::{ExperimentOrder, LabSubject};
use crate::tui::list::ListCursor;
use retake_core::engine::agent::{Agent, AgentModel, Beside, ModelEndpoint, Power};
use retake_core::lab::{
    Added, MOST_CONCURRENCY, Named, Origin, Spec, Stop, USUAL_ERROR_RATE, Wanted, Which,
    WordingVariant, is_reserved, is_script,
};
use retake_core::session::Dialect;
use retake_live::agents::{AgentFile, is_set};
use retake_live::http::HttpTarget;
use retake_live::takes::usual_root;
use retake_live::trust::Trust;
use retake_live::wordings::Wordings;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Most samples of a wording.
const MOST_SAMPLES: u32 = 10_000;

/// A value of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Models,
    /// The tool that was meant.
    Meant,
    /// Samples of each wording.
    Samples,
    Concurrency,
    Requests,
    Tokens,
    /// Whether it ends when a wording is clearly the best.
    Stop,
    /// Whether what was answered before is left alone.
    Fresh,
}

/// Every value with its name and what is beside an empty one.
#[rustfmt::skip]
pub(super) const FIELDS: [(Field, &str, &str); 8] = [
    (Field::Models, "model", "a name or a file (agent, .script.toml; tab completes), several with commas"),
    (Field::Meant, "meant", "the tool that a corrected call goes to; empty: the nearest name"),
    (Field::Samples, "samples", "of each wording"),
    (Field::Concurrency, "concurrency", "concurrent requests"),
    (Field::Requests, "requests", "at most; empty: no cap"),
    (Field::Tokens, "tokens", "at most; empty: no cap"),
    (Field::Stop, "stop when clear", "stop once one wording beats all others"),
    (Field::Fresh, "fresh", "ignores earlier samples"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormRow {
    /// The wording of this number.
    Wording(usize),
    Field(Field),
}

#[derive(Debug)]
pub struct Form {
    pub(super) subject: Arc<LabSubject>,
    pub(super) wordings: Vec<(WordingVariant, bool)>,
    pub(super) models: Result<Vec<NamedModel>, String>,
    pub(super) cursor: ListCursor,
    written_models: String,
    meant: String,
    /// The values; findings, wordings and models come to it when it is ordered.
    spec: Spec,
    is_fresh: bool,
}

impl Form {
    /// A form with everything as it is usually wanted; `written_models` is proposed, `models` what it names.
    pub fn new(
        subject: Arc<LabSubject>,
        written_models: String,
        models: Result<Vec<NamedModel>, String>,
        seed: u64,
    ) -> Self {
        let candidates = subject.candidates.iter().cloned();
        Self {
            wordings: candidates.map(|candidate| (candidate, true)).collect(),
            subject,
            models,
            cursor: ListCursor::default(),
            written_models,
            meant: String::new(),
            spec: Spec {
                seed,
                ..Spec::default()
            },
            is_fresh: false,
        }
    }

    pub(super) fn rows(&self) -> Vec<FormRow> {
        let wordings = (0..self.wordings.len()).map(FormRow::Wording);
        let fields = FIELDS.iter().map(|(field, ..)| FormRow::Field(*field));
        wordings.chain(fields).collect()
    }

    pub(super) fn row(&self) -> Option<FormRow> {
        self.rows().get(self.cursor.get()).copied()
    }

    /// The wording with the cursor.
    pub(super) fn here(&self) -> Option<&(WordingVariant, bool)> {
        match self.row()? {
            FormRow::Wording(number) => self.wordings.get(number),
            FormRow::Field(_) => None,
        }
    }

    /// A value as it is written.
    pub(super) fn value(&self, field: Field) -> String {
        let number = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        match field {
            Field::Models => self.written_models.clone(),
            Field::Meant => self.meant.clone(),
            Field::Samples => self.spec.samples.to_string(),
            Field::Concurrency => self.spec.concurrency.to_string(),
            Field::Requests => number(self.spec.caps.requests.map(u64::from)),
            Field::Tokens => number(self.spec.caps.tokens),
            Field::Stop | Field::Fresh => String::new(),
        }
    }

    /// Whether a value that is on or off is on; `None` for the others.
    pub(super) fn is_on(&self, field: Field) -> Option<bool> {
        match field {
            Field::Stop => Some(self.spec.stop != Stop::Never),
            Field::Fresh => Some(self.is_fresh),
            _ => None,
        }
    }

    /// Switches what the cursor is on; false where there is nothing to switch.
    pub(super) fn switch(&mut self) -> bool {
        match self.row() {
            Some(FormRow::Wording(number)) => {
                if let Some((_, is_in)) = self.wordings.get_mut(number) {
                    *is_in = !*is_in;
                }
            }
            Some(FormRow::Field(Field::Stop)) => {
                self.spec.stop = match self.spec.stop {
                    Stop::Never => Stop::Clear {
                        error_rate: USUAL_ERROR_RATE,
                    },
                    Stop::Clear { .. } => Stop::Never,
                }
            }
            Some(FormRow::Field(Field::Fresh)) => self.is_fresh = !self.is_fresh,
            _ => return false,
        }
        true
    }

    /// Takes a value over as it was written, or says what is wrong with it. The models are read elsewhere.
    pub(super) fn set(&mut self, field: Field, written: &str) -> Result<(), String> {
        let written = written.trim();
        match field {
            Field::Models => written.clone_into(&mut self.written_models),
            Field::Meant => written.clone_into(&mut self.meant),
            Field::Samples => self.spec.samples = number(written, MOST_SAMPLES)?,
            Field::Concurrency => self.spec.concurrency = number(written, MOST_CONCURRENCY)?,
            Field::Requests => {
                let cap = cap(written)?;
                self.spec.caps.requests = cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX));
            }
            Field::Tokens => self.spec.caps.tokens = cap(written)?,
            Field::Stop | Field::Fresh => {}
        }
        Ok(())
    }

    /// Adds words of the operator's own after the others, and puts the cursor there.
    pub(super) fn add(&mut self, text: String) {
        let name = (1..)
            .map(|number| format!("own-{number}"))
            .find(|name| self.wordings.iter().all(|(known, _)| known.name != *name));
        let own = WordingVariant::new(
            &name.unwrap_or_default(),
            "your own wording",
            Origin::Spec,
            text,
        );
        self.cursor.set(self.wordings.len());
        self.wordings.push((own, true));
    }

    /// The words of the operator's own that have the cursor.
    pub(super) fn own(&mut self) -> Option<&mut WordingVariant> {
        let Some(FormRow::Wording(number)) = self.row() else {
            return None;
        };
        let (candidate, _) = self.wordings.get_mut(number)?;
        (candidate.origin == Origin::Spec).then_some(candidate)
    }

    /// Takes the words of the operator's own that have the cursor away; false where there are none.
    pub(super) fn remove(&mut self) -> bool {
        if self.own().is_none() {
            return false;
        }
        self.wordings.remove(self.cursor.get());
        true
    }

    /// How many wordings are in.
    pub(super) fn chosen(&self) -> usize {
        self.wordings.iter().filter(|(_, is_in)| *is_in).count()
    }

    /// How many questions the experiment asks at most.
    pub(super) fn requests(&self) -> u64 {
        let models = self.models.as_ref().map_or(0, Vec::len) as u64;
        let all = self.chosen() as u64 * models * u64::from(self.spec.samples);
        let cap = self.spec.caps.requests.map_or(u64::MAX, u64::from);
        all.min(cap)
    }

    /// What is ordered, or what is missing for that.
    pub(super) fn order(&self) -> Result<ExperimentOrder, String> {
        let models = self.models.clone()?;
        if self.chosen() == 0 {
            return Err("no wording is included: space includes one".to_owned());
        }
        Ok(ExperimentOrder {
            spec: self.spec(models),
            subject: self.subject.clone(),
            is_fresh: self.is_fresh,
        })
    }

    /// Whether an order is to be confirmed first: the title of the question, and what is asked of the operator then.
    pub(super) fn warning(&self) -> Option<(&'static str, String)> {
        let models = self.models.iter().flatten();
        let asked = models.filter(|model| model.is_untrusted || model.is_remote);
        let asked: Vec<&NamedModel> = asked.collect();
        let (title, file) = match asked.iter().any(|model| model.is_untrusted) {
            true => (
                "not trusted",
                "You have not trusted this agent's file yet. ",
            ),
            false => ("requests to a server", ""),
        };
        let does = asked.iter().map(|model| match &model.unset {
            Some(unset) => format!("{} ({unset})", model.does),
            None => model.does.clone(),
        });
        let does: Vec<String> = does.collect();
        (!does.is_empty()).then(|| {
            let (requests, does) = (self.requests(), does.join("; it "));
            let text = format!(
                "{file}The lab sends the recorded history, {requests} times at most: it {does}."
            );
            (title, text)
        })
    }

    /// Which key is missing for a provider that answers no request without one, and what to do.
    pub(super) fn missing_key(&self) -> Option<String> {
        let mut models = self.models.iter().flatten().map(|model| &model.model);
        models.find_map(|model| match &model.at {
            ModelEndpoint::Http {
                base_url,
                key_env: Some(key),
                ..
            } if base_url == model.dialect.facts().base_url && !is_set(key) => Some(format!(
                "${key} is not set: set it and restart retake, or name another model"
            )),
            _ => None,
        })
    }

    fn spec(&self, models: Vec<NamedModel>) -> Spec {
        let subject = &self.subject;
        let count = |index: usize| u32::try_from(index + 1).ok();
        Spec {
            name: match subject.tool.is_empty() {
                true => subject.rule.to_owned(),
                false => format!("{} {}", subject.rule, subject.tool),
            },
            findings: vec![Which {
                path: subject.name.clone(),
                session: count(subject.place.session),
                item: count(subject.place.item),
                rule: Some(subject.rule.to_owned()),
                meant: Some(self.meant.clone()).filter(|meant| !meant.is_empty()),
                tools: None,
            }],
            wordings: self.wanted(),
            models: models.into_iter().map(|model| model.model).collect(),
            ..self.spec.clone()
        }
    }

    fn wanted(&self) -> Wanted {
        let known = || {
            let wordings = self.wordings.iter();
            wordings.filter(|(it, _)| it.origin != Origin::Spec && !is_reserved(&it.name))
        };
        let mut baseline = self.wordings.iter().filter(|(it, _)| is_reserved(&it.name));
        let names = known().filter(|(_, is_in)| *is_in);
        let added = self.wordings.iter();
        let added = added.filter(|(it, is_in)| it.origin == Origin::Spec && *is_in);
        Wanted {
            recorded: baseline.any(|(_, is_in)| *is_in),
            named: match known().all(|(_, is_in)| *is_in) {
                true => Named::All,
                false => Named::These(names.map(|(it, _)| it.name.clone()).collect()),
            },
            added: added
                .map(|(it, _)| Added {
                    name: it.name.clone(),
                    text: it.template.clone(),
                    channel: it.channel,
                })
                .collect(),
        }
    }
}

fn number(written: &str, most: u32) -> Result<u32, String> {
    let number = written.parse().ok();
    let number = number.filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("a number from 1 to {most}"))
}

/// `20000`, `20k`, `1M`; empty for none.
fn cap(written: &str) -> Result<Option<u64>, String> {
    if written.is_empty() {
        return Ok(None);
    }
    let thousands = written.strip_suffix(['k', 'K']);
    let millions = written.strip_suffix('M');
    let (digits, times) = match (thousands, millions) {
        (Some(digits), _) => (digits, 1000),
        (_, Some(digits)) => (digits, 1_000_000),
        _ => (written, 1),
    };
    let number = digits.parse::<u64>().ok();
    let number = number.and_then(|number| number.checked_mul(times));
    match number.filter(|number| *number > 0) {
        Some(number) => Ok(Some(number)),
        None => Err("a number from 1 on, or nothing".to_owned()),
    }
}

// What the operator names as a model: the file of an agent, a script, or a name that is requested at
// the provider's usual address.

/// How files of scripts end.
const SCRIPT: &str = ".script.toml";
/// How names of files end, and no name of a model.
const FILES: [&str; 7] = ["toml", "json", "jsonl", "yaml", "yml", "txt", "py"];
/// Longest script, in bytes.
const LONGEST: u64 = 1 << 20;

/// A model that can be reached.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedModel {
    pub model: AgentModel,
    /// What asking it does, in words; it holds text from outside.
    pub does: String,
    /// That variables are not set whose values it needs.
    pub unset: Option<String>,
    /// Whether requests leave this machine.
    pub is_remote: bool,
    /// Whether a file that the operator has not trusted says where requests, and a key with them, are sent.
    pub is_untrusted: bool,
}

/// The models that a text names, with commas between them. The error is for the operator.
pub fn read_models(
    written: &str,
    dialect: Dialect,
    wordings: &Wordings,
) -> Result<Vec<NamedModel>, String> {
    let names = written.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    let models: Vec<NamedModel> = names
        .map(|name| read_model(name, dialect, wordings))
        .collect::<Result<_, _>>()?;
    match models.is_empty() {
        true => Err("no model is named: e on the model sets one".to_owned()),
        false => Ok(models),
    }
}

fn read_model(written: &str, dialect: Dialect, wordings: &Wordings) -> Result<NamedModel, String> {
    let path = Path::new(written);
    if !path.exists() && names_file(written) {
        return Err(format!("{written}: no such file or folder"));
    }
    if written.ends_with(SCRIPT) || written.ends_with(".toml") && holds_script(path) {
        let is_small = path
            .metadata()
            .is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
        if !is_small {
            return Err(format!("{written}: not a readable script"));
        }
        let text = fs::read_to_string(path).map_err(|error| format!("{written}: {error}"))?;
        return parsed("script", written, dialect, &mut |_| Ok(text.clone()));
    }
    if written.ends_with(".toml") {
        let file = AgentFile::read(path, wordings).map_err(|error| error.to_string())?;
        let is_scripted = file.agent.model.is_scripted();
        let trust = Trust::open(usual_root().as_deref());
        let is_untrusted = !is_scripted && !trust.is_confirmed(&file.path, &file.content);
        return Ok(NamedModel {
            does: summary(&file.agent),
            unset: unset(&file.agent),
            is_remote: is_remote(&file.agent.model),
            is_untrusted,
            model: file.model_beside(path),
        });
    }
    if path.exists() && names_file(written) {
        return Err(format!(
            "{written}: neither an agent (.toml) nor a script ({SCRIPT})"
        ));
    }
    parsed("name", written, dialect, &mut |_| {
        Err("no such file".to_owned())
    })
}

/// Whether a file is a script, whatever it is called.
fn holds_script(path: &Path) -> bool {
    let is_small = path.metadata().is_ok_and(|about| about.len() <= LONGEST);
    let text = is_small.then(|| fs::read_to_string(path).ok()).flatten();
    text.is_some_and(|text| is_script(&text))
}

/// Whether a text can only be a path: some models have a `/` in their names, but none is in a folder that is
/// there, or ends as files do.
fn names_file(written: &str) -> bool {
    let folder = written.rsplit_once('/').map(|(folder, _)| folder);
    let ending = written.rsplit_once('.').map(|(_, ending)| ending);
    written.ends_with(['.', '/'])
        || written.starts_with(['.', '~', '/'])
        || written.contains('\\')
        || written.matches('/').count() > 1
        || ending.is_some_and(|ending| FILES.contains(&ending))
        || folder.is_some_and(|folder| Path::new(folder).is_dir())
}

/// A model of which only a dialect and one more thing is known; the rest is as in an agent's file
/// that says no more.
fn parsed(
    key: &str,
    value: &str,
    dialect: Dialect,
    file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<NamedModel, String> {
    let mut text = "name = \"lab\"\n[model]\n".to_owned();
    let value = toml::Value::String(value.to_owned());
    // Writing to a text cannot fail.
    let _ = write!(text, "dialect = \"{}\"\n{key} = {value}\n", dialect.word());
    let beside = Beside {
        file,
        wording: &|_, _| None,
    };
    let agent = Agent::parse(&text, beside).map_err(|errors| {
        let errors = errors.errors.into_iter().map(|error| error.text);
        errors.collect::<Vec<_>>().join("; ")
    })?;
    Ok(NamedModel {
        does: summary(&agent),
        unset: unset(&agent),
        is_remote: is_remote(&agent.model),
        is_untrusted: false,
        model: agent.model,
    })
}

fn summary(agent: &Agent) -> String {
    if let ModelEndpoint::Script { file, .. } = &agent.model.at {
        return format!(
            "{} [scripted]: {file} answers, nothing is sent",
            agent.model.name
        );
    }
    let mut asks = agent.model.power();
    if let Some(Power::Model { variables, .. }) = &mut asks {
        variables.retain(|name| is_set(name));
    }
    asks.as_ref().map_or_else(String::new, Power::to_string)
}

fn is_remote(model: &AgentModel) -> bool {
    match &model.at {
        ModelEndpoint::Http { base_url, .. } => {
            !HttpTarget::parse(base_url).is_ok_and(|target| target.is_local())
        }
        ModelEndpoint::Script { .. } => false,
    }
}

/// Which variables are not set whose values asking it sends along.
fn unset(agent: &Agent) -> Option<String> {
    let Some(Power::Model { variables, .. }) = agent.model.power() else {
        return None;
    };
    let unset = variables.iter().filter(|name| !is_set(name));
    let unset: Vec<String> = unset.map(|name| format!("${name}")).collect();
    let verb = if unset.len() == 1 { "is" } else { "are" };
    (!unset.is_empty()).then(|| format!("{} {verb} not set", unset.join(", ")))
}
