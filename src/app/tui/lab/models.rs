//! What the operator names as a model: the file of an agent, a script, or a name that is asked for at
//! the provider's usual address.

use retake_core::engine::agent::{Agent, Beside, Endpoint, Model, Power};
use retake_core::session::Dialect;
use retake_live::agents::AgentFile;
use retake_live::takes::usual_root;
use retake_live::trust::Trust;
use retake_live::wordings::Wordings;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// How files of scripts end.
const SCRIPT: &str = ".script.toml";
/// Longest script, in bytes.
const LONGEST: u64 = 1 << 20;

/// A model that can be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub model: Model,
    /// What asking it does, in words; it holds text from outside.
    pub does: String,
    /// Whether a file that the operator has not trusted says where requests, and a key with them, are sent.
    pub is_untrusted: bool,
}

/// The models that a text names, with commas between them. The error is for the operator.
pub fn read_models(
    written: &str,
    dialect: Dialect,
    wordings: &Wordings,
) -> Result<Vec<Asked>, String> {
    let names = written.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    let models: Vec<Asked> = names
        .map(|name| read_model(name, dialect, wordings))
        .collect::<Result<_, _>>()?;
    match models.is_empty() {
        true => Err("no model is named: e on the model asks for one".to_owned()),
        false => Ok(models),
    }
}

fn read_model(written: &str, dialect: Dialect, wordings: &Wordings) -> Result<Asked, String> {
    let path = Path::new(written);
    if written.ends_with(SCRIPT) {
        let is_small = path
            .metadata()
            .is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
        if !is_small {
            return Err(format!("{written}: no script that could be read"));
        }
        let text = fs::read_to_string(path).map_err(|error| format!("{written}: {error}"))?;
        return parsed("script", written, dialect, &mut |_| Ok(text.clone()));
    }
    if written.ends_with(".toml") {
        let file = AgentFile::read(path, wordings).map_err(|error| error.to_string())?;
        let is_scripted = file.agent.model.is_scripted();
        let trust = Trust::open(usual_root().as_deref());
        let is_untrusted = !is_scripted && !trust.is_confirmed(&file.path, &file.content);
        return Ok(Asked {
            does: told(&file.agent),
            is_untrusted,
            model: file.model_beside(path),
        });
    }
    parsed("name", written, dialect, &mut |_| {
        Err("there is no file".to_owned())
    })
}

/// A model of which only a dialect and one more thing is known; the rest is as in an agent's file
/// that says no more.
fn parsed(
    key: &str,
    value: &str,
    dialect: Dialect,
    file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Asked, String> {
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
    Ok(Asked {
        does: told(&agent),
        is_untrusted: false,
        model: agent.model,
    })
}

fn told(agent: &Agent) -> String {
    if let Endpoint::Script { file, .. } = &agent.model.at {
        return format!(
            "{} [scripted]: {file} answers, nothing is sent",
            agent.model.name
        );
    }
    let asks = agent.model.power();
    asks.as_ref().map_or_else(String::new, Power::to_string)
}
