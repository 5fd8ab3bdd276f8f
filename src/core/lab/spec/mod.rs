//! What an experiment is ordered with: which findings, which wordings, which models. A spec file says it; the
//! screen's form makes one too.

mod keys;
mod labels;
mod read;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use keys::SPEC_TABLES;

use keys::SPEC_KEYS;

use super::{Caps, Stop};
use crate::config::{self, ConfigErrors};
use crate::engine::agent::{Beside, Model};
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
    pub models: Vec<Model>,
    /// How often each wording is tried.
    pub samples: u32,
    /// When a trial may end before that.
    #[serde(flatten)]
    pub stop: Stop,
    /// What may be spent.
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
    /// Id of the rule.
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
    /// turn is asked for again.
    pub recorded: bool,
    /// Those of the library and of the operator's own files: all for the kind of the finding, or
    /// those of these names.
    pub named: Named,
    /// Words of the spec.
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
    /// How they reach the model.
    #[serde(default)]
    pub channel: Channel,
}

/// What has to come out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    /// The wording that it is about.
    pub wording: String,
    /// The rate of corrected turns that it has to reach, from 0 to 1.
    pub at_least: Option<f64>,
    /// The wording that it has to be better than.
    pub better_than: Option<String>,
    /// The model that it is about, as reports call it; without it all.
    pub model: Option<String>,
}

impl Spec {
    /// Reads a spec. All that is wrong with it is reported at once. Files that it names are read through `beside`:
    /// scripts, agent files, and the files that those name, all as paths from the spec.
    pub fn parse(text: &str, mut beside: Beside<'_>) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST, &SPEC_KEYS, |file, checker| {
            read::spec(file, checker, &mut beside)
        })
    }

    /// The spec as TOML, which is read as the same spec. The model of an agent file stands there
    /// with its own keys.
    ///
    /// # Errors
    /// Where the settings of a model hold what TOML cannot.
    pub fn write(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}
