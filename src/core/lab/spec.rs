//! What an experiment is ordered with: which findings, which wordings, which models. A spec file says it; the
//! screen's form makes one too.

use super::experiment::{Caps, Stop, USUAL_CONCURRENCY, USUAL_ERROR_RATE, USUAL_SAMPLES};
use crate::config::{self, Checker, ConfigErrors, Keys, Section, keys};
use crate::engine::agent::{Agent, AgentModel, Beside, MODEL_KEYS, ModelEndpoint};
use crate::rules::RULES;
use crate::wording::Channel;
use serde::{Deserialize, Serialize};

/// Longest spec, in bytes.
const LONGEST: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spec {
    /// What reports call the experiment.
    pub name: String,
    #[serde(rename = "finding")]
    pub findings: Vec<Which>,
    pub wordings: Wanted,
    /// The models; each finding is tried with each.
    #[serde(rename = "model")]
    pub models: Vec<AgentModel>,
    /// How often each wording is tried.
    pub samples: u32,
    /// When a trial may end before that.
    #[serde(flatten)]
    pub stop: Stop,
    #[serde(flatten)]
    pub caps: Caps,
    /// How many questions are on their way at once.
    pub concurrency: u32,
    /// Where the order in which wordings are tried comes from.
    pub seed: u64,
    /// What has to come out, for `--assert`.
    #[serde(rename = "assert")]
    pub assertions: Vec<Assertion>,
}

/// Findings of a recording; what is not given fits all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Which {
    /// The file, beside the spec.
    pub path: String,
    /// The session of the file, from 1.
    pub session: Option<u32>,
    /// The item, from 1, as `check` counts.
    pub item: Option<u32>,
    pub rule: Option<String>,
    /// The tool that was meant; without it the nearest name on offer.
    pub meant: Option<String>,
    /// A file with the tools that were on offer, where the recording does not tell.
    pub tools: Option<String>,
}

/// Which wordings are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Whether the baseline is among them: the words that the model read when it was recorded, or none where a
    /// turn is requested again.
    pub recorded: bool,
    /// Those of the library and of the operator's own files: all for the kind of the finding, or
    /// those of these names.
    pub named: Named,
    #[serde(rename = "add")]
    pub added: Vec<Added>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            recorded: true,
            named: Named::All,
            added: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// All that there are for the kind of the finding, besides the baseline.
    All,
    /// These, in this order; one that the kind of a finding does not have is left out there. The baseline
    /// may be named, too.
    #[serde(untagged)]
    These(Vec<String>),
}

/// Words of one's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    pub name: String,
    pub text: String,
    #[serde(default)]
    pub channel: Channel,
}

/// What has to come out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    pub wording: String,
    /// The rate of corrected turns that it has to reach, from 0 to 1.
    pub at_least: Option<f64>,
    /// The wording that it has to be better than.
    pub better_than: Option<String>,
    /// The model that it is about, as reports call it; without it all.
    pub model: Option<String>,
}

impl Default for Spec {
    /// Nothing to try yet, with the usual settings.
    fn default() -> Self {
        Self {
            name: String::new(),
            findings: Vec::new(),
            wordings: Wanted::default(),
            models: Vec::new(),
            samples: USUAL_SAMPLES,
            stop: Stop::Never,
            caps: Caps::default(),
            concurrency: USUAL_CONCURRENCY,
            seed: 1,
            assertions: Vec::new(),
        }
    }
}

impl Spec {
    /// Reads a spec. All that is wrong with it is reported at once. Files that it names are read through `beside`:
    /// scripts, agent files, and the files that those name, all as paths from the spec.
    pub fn parse(text: &str, mut beside: Beside<'_>) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST, &SPEC_KEYS, |file, checker| {
            spec(file, checker, &mut beside)
        })
    }

    /// The spec as TOML, which is read as the same spec. The model of an agent file is written
    /// with its own keys.
    ///
    /// # Errors
    /// Where the settings of a model hold what TOML cannot.
    pub fn write(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// What each model is called, in their order. Different models of one name are numbered; the very same one
    /// is called the same.
    pub fn model_labels(&self) -> Vec<String> {
        let mut different: Vec<&AgentModel> = Vec::new();
        for model in &self.models {
            if !different.contains(&model) {
                different.push(model);
            }
        }
        let label = |model: &AgentModel| {
            let mut namesakes = different.iter().filter(|other| other.name == model.name);
            match (
                namesakes.clone().count(),
                namesakes.position(|it| *it == model),
            ) {
                (2.., Some(place)) => format!("{} #{}", model.name, place + 1),
                _ => model.name.clone(),
            }
        };
        self.models.iter().map(label).collect()
    }
}

// The keys of a spec.

/// The tables of a spec, for the help. Those of `[[model]]` are the keys of `[model]` in an agent file.
pub static SPEC_TABLES: [&Keys; 5] = [
    &SPEC_KEYS,
    &FINDING_KEYS,
    &WORDINGS_KEYS,
    &ADDED_KEYS,
    &ASSERT_KEYS,
];

keys! {
    static SPEC_KEYS = "the file" {
        name [required]: Text, "what reports call the experiment";
        samples: COUNT, "how often each wording is tried with each finding and model", or "20";
        concurrency: COUNT, "how many requests are on their way at once, 64 at most", or "4";
        max_requests: COUNT,
            "the most requests of the whole experiment, earlier runs of it and repeated requests included";
        max_tokens: Whole(1, u64::MAX),
            "the most tokens of the whole experiment, sent and answered; estimated where the provider tells none";
        seed: Whole(0, u64::MAX), "where the order comes from in which wordings are tried", or "1";
        stop: Word(None, || vec!["never", "clear"]),
            "whether a finding is done with once one wording is better than each of the others", or "\"never\"";
        error_rate: Rate, "how often, at most, such an end may name a wording that is not better", or "0.05";
        finding [required]: Tables(&FINDING_KEYS), "findings of recordings";
        wordings: Table(&WORDINGS_KEYS),
            "the wordings that are compared; that of the recording and all of the library without it";
        model [required]: OtherTables,
            "models, each with the keys of [model] in an agent file, or `agent`: an agent file whose model it is";
        assert: Tables(&ASSERT_KEYS), "what has to come out, for --assert";
    }
}

keys! {
    static FINDING_KEYS = "[[finding]]" {
        path [required]: Text, "the recording, beside the spec";
        session: COUNT, "the session of the file, from 1";
        item: COUNT, "the item, from 1, as `check` counts";
        rule: Word(Some("the name of a rule"), rule_ids), "the rule";
        meant: Text, "the tool that was meant; the nearest name on offer without it";
        tools: Text, "a file with the tools that were on offer, where the recording does not tell";
    }
}

keys! {
    static WORDINGS_KEYS = "[wordings]" {
        recorded: Flag,
            "whether what the others are compared with is among them: the words that the model read, or `plain`, \
             no words, where a turn is requested again", or "true";
        named: Either(&[Word(None, || vec!["all"]), AnyList("names", &Text)]),
            "wordings of the library and of your own", or "\"all\"";
        add: Tables(&ADDED_KEYS), "words that stand in the spec";
    }
}

keys! {
    static ADDED_KEYS = "[[wordings.add]]" {
        name [required]: Text, "their name";
        text [required]: Template, "the template";
        channel: Word(None, || vec!["error-output", "output", "user-message"]),
            "how they reach the model", or "\"error-output\"";
    }
    rules [Unique("name")]
}

keys! {
    static ASSERT_KEYS = "[[assert]]" {
        wording [required]: Text, "the wording that it is about";
        at_least: Rate, "the rate of corrected turns that it has to reach";
        better_than: Text, "the wording that it has to be better than";
        model: Text, "the model that it is about; all without it";
    }
    rules [AtLeastOne(&["at_least", "better_than"])]
}

fn rule_ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).collect()
}

// Reads a spec that was checked against its keys.

fn spec(file: Section<'_>, checker: &mut Checker<'_>, beside: &mut Beside<'_>) -> Option<Spec> {
    for added in file
        .table("wordings")
        .iter()
        .flat_map(|table| table.tables("add"))
    {
        if added.text("text") == Some("") {
            checker.push(added.at("text"), "`text` must not be empty");
        }
    }
    let models = file.tables("model");
    let models = models.filter_map(|table| model(table, checker, beside));
    let usual = Spec::default();
    Some(Spec {
        models: models.collect(),
        stop: stop(file, checker),
        findings: file.get("finding").unwrap_or_default(),
        wordings: file.get("wordings").unwrap_or_default(),
        samples: file.get("samples").unwrap_or(usual.samples),
        caps: Caps {
            requests: file.get("max_requests"),
            tokens: file.get("max_tokens"),
        },
        concurrency: file.get("concurrency").unwrap_or(usual.concurrency),
        seed: file.get("seed").unwrap_or(usual.seed),
        assertions: file.get("assert").unwrap_or_default(),
        name: file.get("name")?,
    })
}

fn stop(file: Section<'_>, checker: &mut Checker<'_>) -> Stop {
    match file.text("stop") {
        Some("clear") => Stop::Clear {
            error_rate: file.get("error_rate").unwrap_or(USUAL_ERROR_RATE),
        },
        stop => {
            if file.has("error_rate") && matches!(stop, None | Some("never")) {
                let text = "`error_rate` means nothing without stop = \"clear\"";
                checker.push(file.at("error_rate"), text);
            }
            Stop::Never
        }
    }
}

/// A model with the keys of `[model]`, or that of an agent file.
fn model(
    table: Section<'_>,
    checker: &mut Checker<'_>,
    beside: &mut Beside<'_>,
) -> Option<AgentModel> {
    if table.has("agent") {
        return model_of_agent(table, checker, beside);
    }
    checker.check(&MODEL_KEYS, table);
    AgentModel::of_section(table, checker, beside)
}

fn model_of_agent(
    table: Section<'_>,
    checker: &mut Checker<'_>,
    beside: &mut Beside<'_>,
) -> Option<AgentModel> {
    for (key, at) in table.keys().filter(|(key, _)| *key != "agent") {
        checker.push(at, format!("`agent` and `{key}` exclude each other"));
    }
    let at = table.at("agent");
    let Some(path) = table.text("agent").filter(|path| !path.is_empty()) else {
        checker.push(at, "`agent` is the name of an agent file");
        return None;
    };
    let text = (beside.file)(path).map_err(|why| {
        format!("`agent`: {path}: {why}; files are looked for beside the one that names them")
    });
    let text = checker.ok(at, text)?;
    let agent = Agent::parse(
        &text,
        Beside {
            file: &mut |name| (beside.file)(&beside_of(path, name)),
            wording: beside.wording,
        },
    );
    match agent {
        Ok(agent) => Some(moved(agent.model, path)),
        Err(_) if is_script(&text) => {
            checker.push(
                at,
                format!(
                    "`agent`: {path} is a script of a model, not an agent file: `script = \"{path}\"` and a `dialect` \
                     use it"
                ),
            );
            None
        }
        Err(errors) => {
            for error in errors.errors {
                checker.push(at, format!("`agent`: {path}: {error}"));
            }
            None
        }
    }
}

/// Whether a text is a script of a model: it has rules, and no model of an agent.
pub fn is_script(text: &str) -> bool {
    let has = |table: &str| text.lines().any(|line| line.trim().starts_with(table));
    has("[[rule]]") && !has("[model]")
}

/// A model of an agent file, as seen from the spec.
fn moved(mut model: AgentModel, agent: &str) -> AgentModel {
    if let ModelEndpoint::Script { file, .. } = &mut model.at {
        *file = beside_of(agent, file);
    }
    model
}

/// A file beside an agent file, as seen from the spec.
fn beside_of(agent: &str, name: &str) -> String {
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    match agent.rfind(['/', '\\']) {
        Some(end) if !is_absolute => format!("{}{name}", &agent[..=end]),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
