//! What the lab remembers from one experiment to the next: the model, the operator's own wordings, and how often
//! each wording helped.

use retake_core::lab::words::rate;
use retake_core::lab::{Proportion, WordingRow};
use retake_live::replace::{Backup, Draft};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Its name in retake's part of the operator's own folder.
const FILE: &str = "lab.json";
/// Most wordings of the operator's own that are kept for a rule.
const OWN: usize = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabMemory {
    /// The models as they were written.
    models: String,
    /// Whether they were written since retake was started.
    #[serde(skip)]
    is_of_now: bool,
    rules: BTreeMap<String, RuleMemory>,
}

/// What is remembered of the experiments on a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RuleMemory {
    /// The operator's own wordings.
    own: Vec<String>,
    /// By the name of a wording: how often it helped, and of how many answers.
    rates: BTreeMap<String, (u32, u32)>,
}

impl LabMemory {
    /// Reads it from the operator's own folder; what cannot be read is not remembered. Earlier versions wrote it
    /// beside the folder of retake.
    pub fn read(root: Option<&Path>) -> Self {
        let of_root =
            |root: &Path| fs::read(folder(root).join(FILE)).or_else(|_| fs::read(root.join(FILE)));
        let text = root.and_then(|root| of_root(root).ok());
        let memory = text.and_then(|text| serde_json::from_slice(&text).ok());
        memory.unwrap_or_default()
    }

    /// Writes it there; gives why not.
    pub fn write(&self, root: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        let folder = folder(root);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(|error| error.to_string())?;
        let draft = Draft::write(&folder.join(FILE), Some(0o600), |out| out.write_all(&text));
        let written = draft.and_then(|draft| draft.take_place(Backup::None));
        written.map(drop).map_err(|error| error.to_string())
    }

    /// Takes over the models that were written last, and for a rule the operator's own wordings and what was measured.
    pub fn learn(
        &mut self,
        models: Option<String>,
        rule: &str,
        own: Vec<String>,
        measured: &[WordingRow],
    ) {
        if let Some(models) = models {
            (self.models, self.is_of_now) = (models, true);
        }
        let rule = self.rules.entry(rule.to_owned()).or_default();
        rule.own = own;
        let surplus = rule.own.len().saturating_sub(OWN);
        rule.own.drain(..surplus);
        for WordingRow { name, measured, .. } in measured {
            if measured.answered() > 0 {
                let helped = measured.corrected;
                rule.rates
                    .insert(name.clone(), (helped.hits(), helped.of()));
            }
        }
    }

    /// The models that were used last, as they were written.
    pub fn models(&self) -> Option<String> {
        Some(self.models.clone()).filter(|models| !models.is_empty())
    }

    /// Whether the models were written since retake was started: then they are meant again.
    pub fn is_of_now(&self) -> bool {
        self.is_of_now
    }

    /// The operator's own wordings for a rule.
    pub(super) fn own(&self, rule: &str) -> &[String] {
        self.rules.get(rule).map_or(&[], |rule| &rule.own)
    }

    /// How often a wording helped, where it was measured: `83 % of 12`.
    pub fn rate(&self, rule: &str, name: &str) -> String {
        let measured = self.rules.get(rule).and_then(|rule| rule.rates.get(name));
        measured.map_or_else(String::new, |(hits, of)| {
            format!("{} of {of}", rate(Proportion::new(*hits, *of).rate()))
        })
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("retake")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_in_the_folder_of_retake_and_an_older_one_is_read_where_there_is_none() {
        let root = tempfile::tempdir().unwrap();
        let models = || LabMemory::read(Some(root.path())).models();
        fs::write(root.path().join(FILE), r#"{"models": "old.toml"}"#).unwrap();
        assert_eq!(models().as_deref(), Some("old.toml"));
        let mut memory = LabMemory::default();
        memory.learn(Some("new.toml".to_owned()), "unknown-tool", vec![], &[]);
        memory.write(root.path()).unwrap();
        assert!(root.path().join("retake/lab.json").is_file());
        assert_eq!(models().as_deref(), Some("new.toml"));
    }
}
