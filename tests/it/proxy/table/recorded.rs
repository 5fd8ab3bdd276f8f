//! Recorded: what `check` finds in a file, and what becomes of it by each recovery.

use super::replies::{DOWN, Reply, Says};
use super::{Fault, Makes, live};
use crate::proxy::speech::{Agent, calls_in, http_body};
use crate::proxy::stage::PATIENCE;
use crate::proxy_wire::client::Client;
use retake_core::actions::{self, ActionContext, ActionError, ActionInput, Plan};
use retake_core::formats::{CannotWrite, lower};
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::{Dialect, Edit, Session};
use retake_core::wire::write::history_of;
use retake_live::{Base, ReadOptions, check_session, mark_resolved, read_path};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What is known of a fault in recordings: by dialect the file, and what `check` says of it.
pub(super) struct Known {
    rule: &'static str,
    files: Vec<(Dialect, PathBuf, Option<Value>)>,
}

impl Known {
    pub(super) fn of(fault: &Fault, folder: &Path) -> Self {
        let mut files = Vec::new();
        for dialect in super::SPELLED {
            let name = format!("{}-{}-{}", fault.rule, fault.form, dialect.word());
            let Some(path) = written(fault, dialect, &folder.join(name)) else {
                continue;
            };
            let said = checked(fault.rule, &path);
            files.push((dialect, path, said));
        }
        Self {
            rule: fault.rule,
            files,
        }
    }

    fn file(&self, dialect: Dialect) -> Option<(&Path, &Value)> {
        let mut files = self.files.iter();
        let (_, path, said) = files.find(|(known, ..)| *known == dialect)?;
        Some((path, said.as_ref()?))
    }

    pub(super) fn is_found(&self, dialect: Dialect) -> bool {
        self.file(dialect).is_some()
    }

    pub(super) fn is_offered(&self, dialect: Dialect, action: &str) -> bool {
        let offers = self
            .file(dialect)
            .and_then(|(_, said)| said["offers"].as_array());
        let mut offers = offers.into_iter().flatten();
        offers.any(|offer| offer["action"] == action)
    }

    /// What becomes of the file by a recovery.
    pub(super) fn recovered(&self, dialect: Dialect, recovery: &str) -> Result<(), String> {
        let (path, _) = self.file(dialect).ok_or("not found")?;
        if matches!(recovery, "release" | "raise" | "found") {
            return Ok(());
        }
        let recording = Arc::new(read_path(path, &ReadOptions::default()).unwrap());
        let base = Base::new(recording.clone(), Some(path)).unwrap();
        let session = &recording.sessions[0];
        let findings = check_session(session, None).unwrap();
        let own = findings.iter().find(|one| one.rule.id == self.rule);
        let own = own.ok_or("check finds it and its session does not")?;
        let beside = beside(session, &findings, own);
        let run = Run::new(session, None);
        let scene = run.scene(own.defect(), &beside).ok_or("no scene")?;
        let planned = match planned(&scene, recovery) {
            // It is done in a run, or by somebody else.
            Err(ActionError::Elsewhere(_)) => return Ok(()),
            planned => planned.map_err(|refusal| refusal.to_string())?,
        };
        let splices = match lower(session, &planned.edits) {
            // A copy in another format holds the change; this one repeats its history.
            Err(CannotWrite::Exchanges | CannotWrite::Journal) => return Ok(()),
            splices => splices.map_err(|why| why.to_string())?,
        };
        let rope = Arc::new(base.rope().spliced(&splices));
        let after = base.read(&rope, &|_, _| ()).unwrap();
        let left = after.sessions.first().map_or_else(Vec::new, |after| {
            let mut left = check_session(after, None).unwrap();
            mark_resolved(after, &rope, &mut left);
            left
        });
        let is_noted = recovery == "edit";
        match is_noted || self.count(&left) < self.count(&findings) {
            true => Ok(()),
            false => Err(format!("still there after {:?}", planned.edits)),
        }
    }

    fn count(&self, findings: &[Finding]) -> usize {
        let own = findings.iter();
        own.filter(|one| one.rule.id == self.rule && !one.is_settled)
            .count()
    }
}

/// What an action comes to where the operator says whatever it asks for.
pub(super) fn planned(scene: &ActionContext<'_>, action: &str) -> Result<Plan, ActionError> {
    let plan = actions::find(action).unwrap().plan;
    let confirmed = ActionInput {
        confirmed: true,
        include_in_history: true,
        ..ActionInput::default()
    };
    let session: &Session = scene.session();
    let item = session.bytes(scene.item()?)?;
    let noted = String::from_utf8_lossy(&item).replacen('{', "{\"note\":\"seen\",", 1);
    let words = match action {
        "edit" => &noted,
        "fallback" => "{\"answer\":7}",
        _ => "the library opens at nine",
    };
    let planned = plan(scene, &confirmed);
    let planned = match planned {
        Err(refusal) if refusal.is_question() => plan(
            scene,
            &ActionInput {
                words: Some(words),
                ..confirmed
            },
        ),
        planned => planned,
    }?;
    // A retry waits for the model.
    let cuts = |edit: &Edit| matches!(edit, Edit::Cut { .. });
    assert!(action != "retry" || planned.asks_model || planned.edits.iter().any(cuts));
    Ok(planned)
}

/// What `check` says about a rule in a file.
fn checked(rule: &str, path: &Path) -> Option<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["check", "--format", "json"])
        .arg(path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line["rule"] == rule)
}

/// The recording of a fault, where there can be one.
fn written(fault: &Fault, dialect: Dialect, path: &Path) -> Option<PathBuf> {
    let text = match &fault.makes {
        Makes::File(known, file) => return (*known == dialect).then(|| PathBuf::from(file)),
        Makes::History(history) => history((dialect, false))?,
        Makes::Reply(reply) => match reply.says {
            Says::Run(policy) => {
                let path = path.with_extension("jsonl");
                live::journal(reply, (dialect, false), policy, &path);
                return Some(path);
            }
            Says::Scripted(_) | Says::Stop => exchange(reply, dialect),
        },
    };
    let path = path.with_extension("json");
    std::fs::write(&path, text).unwrap();
    Some(path)
}

/// The last exchange of an agent with a model, or its next request where the tool is at fault.
fn exchange(reply: &Reply, dialect: Dialect) -> String {
    let model = reply.model((dialect, false));
    let address = model.url().rsplit('/').next().unwrap().parse().unwrap();
    let mut agent: Agent = reply.agent((dialect, false));
    let mut document = String::new();
    for _ in 0..reply.turns {
        let mut client = Client::connect(address);
        client.send(&http_body(address, &agent));
        let said = client.receive(PATIENCE).text();
        let request = agent.request();
        document = format!("{{\"request\":{request},\"response\":{said}}}");
        let turn = history_of(dialect, &said).unwrap();
        let turn = turn.iter().map(|text| serde_json::from_str(text).unwrap());
        let turn: Vec<Value> = turn.collect();
        let calls = calls_in(dialect, &turn);
        agent.history.extend(turn);
        calls
            .iter()
            .for_each(|(id, _)| agent.answers(id, reply.tool));
    }
    if reply.tool == DOWN {
        document = agent.request();
    }
    document
}
