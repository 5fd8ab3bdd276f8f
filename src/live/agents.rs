//! Reads an agent file with the files it names, which are looked for beside it.

mod scripts;

use super::files::{InputError, read_text};
use super::model::ApiKey;
use super::replace::folder_of;
use super::trust::AgentContent;
use super::wordings::Wordings;
use retake_core::config::ConfigErrors;
use retake_core::engine::agent::{Agent, AgentModel, Beside, ModelEndpoint, Power, ToolProgram};
use scripts::add_scripts;
use std::path::{Path, PathBuf};

/// Longest file, in bytes: the agent's own, and each that it names.
const FILE: u64 = 1024 * 1024;
/// Most bytes of all files that one agent names.
const ALL: u64 = 16 * FILE;

#[derive(Debug, Clone)]
pub struct AgentFile {
    /// Where it is, without links on the way.
    pub path: PathBuf,
    pub agent: Agent,
    /// What it was read from, with the files that it names and the scripts that its commands name:
    /// what the operator confirms.
    pub content: AgentContent,
    /// The scripts, as the commands name them.
    pub scripts: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: InputError },
    #[error("{}", errors.in_file(&path.to_string_lossy()))]
    Invalid { path: PathBuf, errors: ConfigErrors },
}

/// Whether a variable of the environment holds a key that is sent.
pub fn is_set(variable: &str) -> bool {
    ApiKey::from_env(variable).is_some()
}

/// What an agent may do, as it is now: a key that is not set is not sent.
pub fn in_words(power: Power) -> String {
    power.marking_unset(is_set).to_string()
}

impl AgentFile {
    /// Reads an agent file, whose policy may name the operator's own wordings beside those of the library.
    pub fn read(path: &Path, wordings: &Wordings) -> Result<Self, AgentError> {
        let unreadable = |error| AgentError::Unreadable {
            path: path.to_owned(),
            error,
        };
        let found = path
            .canonicalize()
            .map_err(|error| unreadable(error.into()))?;
        let text = read_text(&found, FILE).map_err(|error| match error {
            InputError::EmptyFolder => unreadable(InputError::NotAFile("a folder")),
            error => unreadable(error),
        })?;
        let folder = folder_of(&found).to_owned();
        let mut content = AgentContent::of(&text);
        let mut rest = ALL;
        let mut file = |name: &str| {
            let text = read_named(&folder, name, rest)?;
            rest -= text.len() as u64;
            content.add(name, text.as_bytes());
            Ok(text)
        };
        let beside = Beside {
            file: &mut file,
            wording: &|kind, name| {
                let found = wordings.find(kind, name);
                found.map(|choice| choice.template.to_owned())
            },
        };
        let agent = Agent::parse(&text, beside).map_err(|errors| AgentError::Invalid {
            path: path.to_owned(),
            errors,
        })?;
        let scripts = add_scripts(&mut content, &agent, &folder);
        Ok(Self {
            path: found,
            agent,
            content,
            scripts,
        })
    }

    /// The folder of the file, beside which everything it names is looked for.
    pub fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// What the operator has to confirm before it runs, a sentence each; they hold text of the file. None where
    /// nothing has to be.
    pub fn powers(&self) -> Vec<String> {
        let powers = self.agent.powers().into_iter();
        let powers = powers.filter(Power::needs_confirmation);
        let mut powers: Vec<String> = powers.map(in_words).collect();
        if !powers.is_empty() && !self.scripts.is_empty() {
            let scripts = self.scripts.join(", ");
            powers.push(format!("as these scripts are now: {scripts}"));
        }
        powers
    }

    /// The model, the file of its script as it is found from where the agent file is called `named`.
    pub fn model_beside(&self, named: &Path) -> AgentModel {
        let mut model = self.agent.model.clone();
        if let ModelEndpoint::Script { file, .. } = &mut model.at {
            // What a link names lies elsewhere than the link.
            let folder = named.parent().filter(|_| !named.is_symlink());
            let path = folder.unwrap_or(self.folder()).join(&*file);
            *file = path.to_string_lossy().into_owned();
        }
        model
    }

    pub fn folder_for(&self, command: &ToolProgram) -> PathBuf {
        match &command.cwd {
            Some(cwd) => self.folder().join(cwd),
            None => self.folder().to_owned(),
        }
    }
}

/// A small text file that another file in this folder names: regular, at most 1 MB and at most `rest` bytes.
///
/// # Errors
///
/// Why it cannot be read, for the operator.
pub fn read_named(folder: &Path, name: &str, rest: u64) -> Result<String, String> {
    let text = read_text(&folder.join(name), FILE.min(rest));
    text.map_err(|error| match error {
        InputError::EmptyFolder => "this is a folder".to_owned(),
        error => error.to_string(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const AGENT: &str = "name = \"a\"\ninput = \"hi\"\npolicy_file = \"rules/policy.toml\"\n\
        [model]\ndialect = \"chat\"\nname = \"m\"\n\
        [[tools]]\nname = \"t\"\ncommand = [\"./tool\"]\ncwd = \"tools\"\n";

    fn read(path: &Path) -> Result<AgentFile, AgentError> {
        AgentFile::read(path, &Wordings::default())
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("rules")).unwrap();
        std::fs::write(folder.path().join("agent.toml"), AGENT).unwrap();
        std::fs::write(folder.path().join("rules/policy.toml"), "max_turns = 3\n").unwrap();
        folder
    }

    #[test]
    fn files_are_found_beside_the_agent_wherever_it_is_named_from() {
        let folder = folder();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = elsewhere.path().join("link.toml");
        std::os::unix::fs::symlink(folder.path().join("agent.toml"), &link).unwrap();
        let file = read(&link).unwrap();
        assert_eq!(file.agent.turn_limit(), Some(3));
        let real = folder.path().canonicalize().unwrap();
        assert_eq!(file.folder(), real);
        let retake_core::engine::agent::By::Command(command) = &file.agent.tools[0].by else {
            panic!("{:?}", file.agent.tools);
        };
        assert_eq!(file.folder_for(command), real.join("tools"));
    }

    #[test]
    fn a_change_of_any_file_is_another_content() {
        let folder = folder();
        let path = folder.path().join("agent.toml");
        let first = read(&path).unwrap().content;
        assert_eq!(read(&path).unwrap().content, first);
        std::fs::write(folder.path().join("rules/policy.toml"), "max_turns = 4\n").unwrap();
        let second = read(&path).unwrap().content;
        assert_ne!(second, first);
        std::fs::write(&path, format!("{AGENT}# a comment\n")).unwrap();
        assert_ne!(read(&path).unwrap().content, second);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_never_read_beyond_measure() {
        let folder = folder();
        let told = |name: &str| read(&folder.path().join(name)).unwrap_err().to_string();
        assert!(told("nothing.toml").ends_with("nothing.toml: no such file or folder"));
        assert!(told("rules").ends_with("a folder, not a file; pipe it in and name it `-`"));
        let giant = "#".repeat(usize::try_from(FILE).unwrap() + 1);
        std::fs::write(folder.path().join("rules/policy.toml"), &giant).unwrap();
        let of_policy = told("agent.toml");
        let expected = "agent.toml:3: `policy_file`: rules/policy.toml: more than 1024 KB";
        assert!(of_policy.contains(expected), "{of_policy}");
        std::fs::write(folder.path().join("agent.toml"), giant).unwrap();
        assert!(told("agent.toml").ends_with("agent.toml: more than 1024 KB"));
        // A pipe that nobody writes to holds nothing up.
        let pipe = folder.path().join("pipe.toml");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert!(told("pipe.toml").contains("a named pipe"));
    }
}
