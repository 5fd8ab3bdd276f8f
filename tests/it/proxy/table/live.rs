//! Live: a run of its own, without a screen where a policy has a word for the recovery, and driven by an operator where it has none.

use super::recorded::planned;
use super::replies::{DOWN, Model, Reply, Says};
use super::{Fault, Way, policy};
use crate::live::driven::{HeldRun, attended};
use retake_live::live::Phase;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCHEMA: &str = "[output_schema]\ntype = \"object\"\nrequired = [\"answer\"]\nproperties.answer = { type = \"number\" }\n";

/// The files of a run.
pub(super) struct Files {
    folder: tempfile::TempDir,
    _model: Option<Model>,
}

impl Files {
    pub(super) fn of(reply: &Reply, way: Way, policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let (model, said) = match reply.says {
            Says::Stop => {
                let model = reply.model(way);
                let said = format!("name = \"m\"\nbase_url = \"{}/v1\"", model.url());
                (Some(model), said)
            }
            Says::Scripted(_) | Says::Run(_) => {
                file("script.toml", &reply.script());
                (None, "script = \"script.toml\"".to_owned())
            }
        };
        let (dialect, streams) = (way.0.word(), way.1);
        let (limit, tool) = (reply.limit, reply.tool);
        let schema = if reply.has_schema { SCHEMA } else { "" };
        let agent = format!(
            "name = \"table\"\ninput = \"Where is it warm?\"\nmax_turns = {limit}\npolicy_file = \"policy.toml\"\n[model]\ndialect = \"{dialect}\"\n{said}\nstream = {streams}\n\
             [[tools]]\nname = \"search\"\ncanned = \"{tool}\"\n[tools.parameters]\ntype = \"object\"\nrequired = [\"city\"]\nproperties.city = {{ type = \"string\" }}\n{schema}"
        );
        file("agent.toml", &agent);
        file("policy.toml", policy);
        Self {
            folder,
            _model: model,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs it without a screen.
    fn run(&self) -> Output {
        Command::new(env!("CARGO_BIN_EXE_retake"))
            .current_dir(self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path())
            .args(["run", "agent.toml", "--headless", "--trust"])
            .args(["--journal", "run.jsonl"])
            .output()
            .unwrap()
    }
}

/// The journal of a run that ended as its policy says, written to `path`.
pub(super) fn journal(reply: &Reply, way: Way, policy: &str, path: &Path) {
    let files = Files::of(reply, way, policy);
    files.run();
    std::fs::copy(files.path("run.jsonl"), path).unwrap();
}

/// What becomes of a recovery in a run.
pub(super) fn reply(fault: &Fault, reply: &Reply, recovery: &str, way: Way) -> Result<(), String> {
    match policy(fault.rule, recovery, reply.has_schema) {
        Some(policy) => headless(fault, recovery, &Files::of(reply, way, &policy)),
        None => by_hand(fault, reply, recovery, way),
    }
}

fn headless(fault: &Fault, recovery: &str, files: &Files) -> Result<(), String> {
    let output = files.run();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut decided = lines.filter(|line| line["type"] == "decision");
    let is_done = decided.any(|line| line["rule"] == fault.rule && line["action"] == recovery);
    let complaint = String::from_utf8_lossy(&output.stderr);
    is_done
        .then_some(())
        .ok_or_else(|| format!("not decided so: {said} {complaint}"))
}

fn by_hand(fault: &Fault, reply: &Reply, recovery: &str, way: Way) -> Result<(), String> {
    let ask = format!("[on.{}]\ndo = \"ask\"\n", fault.rule);
    let files = Files::of(reply, way, &ask);
    let mut run = HeldRun::new(
        &files.path("agent.toml"),
        &files.path("run.jsonl"),
        attended(),
    );
    let phase = run.rest();
    if !matches!(phase, Phase::Paused { .. }) {
        return Err(format!("it does not wait for the operator: {phase:?}"));
    }
    run.mend_by(fault.rule, recovery, |scene| planned(scene, recovery))?;
    match run.rest() {
        Phase::Paused { .. } if recovery != "edit" && reply.tool != DOWN => {
            Err(format!("it waits once more: {:?}", run.run.phase()))
        }
        _ => Ok(()),
    }
}
