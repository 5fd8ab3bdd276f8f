//! Reads a spec that was checked against its keys.

use super::Spec;
use crate::config::{Checker, Section};
use crate::engine::agent::{Agent, Beside, Endpoint, MODEL_KEYS, Model};
use crate::lab::{Caps, Stop, USUAL_CONCURRENCY, USUAL_SAMPLES};

/// How often an early end may be wrong where nothing else is said.
const ERROR_RATE: f64 = 0.05;
/// Where the order comes from where nothing else is said.
const SEED: u64 = 1;

pub(super) fn spec(
    file: Section<'_>,
    checker: &mut Checker<'_>,
    beside: &mut Beside<'_>,
) -> Option<Spec> {
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
    Some(Spec {
        models: models.collect(),
        stop: stop(file, checker),
        findings: file.get("finding").unwrap_or_default(),
        wordings: file.get("wordings").unwrap_or_default(),
        samples: file.get("samples").unwrap_or(USUAL_SAMPLES),
        caps: Caps {
            requests: file.get("max_requests"),
            tokens: file.get("max_tokens"),
        },
        concurrency: file.get("concurrency").unwrap_or(USUAL_CONCURRENCY),
        seed: file.get("seed").unwrap_or(SEED),
        assertions: file.get("assert").unwrap_or_default(),
        name: file.get("name")?,
    })
}

fn stop(file: Section<'_>, checker: &mut Checker<'_>) -> Stop {
    match file.text("stop") {
        Some("clear") => Stop::Clear {
            error_rate: file.get("error_rate").unwrap_or(ERROR_RATE),
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
fn model(table: Section<'_>, checker: &mut Checker<'_>, beside: &mut Beside<'_>) -> Option<Model> {
    if table.has("agent") {
        return model_of_agent(table, checker, beside);
    }
    checker.check(&MODEL_KEYS, table);
    Model::of_section(table, checker, beside)
}

fn model_of_agent(
    table: Section<'_>,
    checker: &mut Checker<'_>,
    beside: &mut Beside<'_>,
) -> Option<Model> {
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
        Err(errors) => {
            for error in errors.errors {
                checker.push(at, format!("`agent`: {path}: {error}"));
            }
            None
        }
    }
}

/// A model of an agent file, as seen from the spec.
fn moved(mut model: Model, agent: &str) -> Model {
    if let Endpoint::Script { file, .. } = &mut model.at {
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
