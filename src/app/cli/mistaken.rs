//! A file that is given where one of another kind is wanted: it is named for what it is.

use super::exit::Failure;
use super::output::{name_of, shell_word};
use retake_core::config::Keys;
use retake_core::engine::agent::AGENT_TABLES;
use retake_core::lab::SPEC_TABLES;
use retake_core::script::SCRIPT_TABLES;
use retake_live::{InputError, recognised};
use std::path::Path;

/// What a file is, as far as it can be told without reading it as what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Agent,
    Script,
    Spec,
    Recording,
    Json,
}

impl FileKind {
    /// `None` where the text is of no other kind than it may be meant as.
    pub(super) fn of(text: &str) -> Option<Self> {
        let begins = |with: &str| text.lines().any(|line| line.trim_start().starts_with(with));
        let is_json = text.trim_start().starts_with('{')
            || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        Some(match is_json {
            true if recognised(text.as_bytes()).is_some() => Self::Recording,
            true => Self::Json,
            false => {
                let kinds: [(Self, &[&Keys]); 3] = [
                    (Self::Spec, &SPEC_TABLES),
                    (Self::Agent, &AGENT_TABLES),
                    (Self::Script, &SCRIPT_TABLES),
                ];
                // A file has one of its tables below the top level.
                let has = |keys: &&Keys| keys.place.starts_with('[') && begins(keys.place);
                let mut kinds = kinds.into_iter();
                kinds.find(|(_, tables)| tables.iter().any(has))?.0
            }
        })
    }

    fn words(self) -> &'static str {
        match self {
            Self::Agent => "an agent file",
            Self::Script => "a script of a model",
            Self::Spec => "a spec of the lab",
            Self::Recording => "a recording",
            Self::Json => "JSON",
        }
    }

    /// The command that takes such a file.
    fn command(self, path: &Path) -> Option<String> {
        let path = shell_word(&path.to_string_lossy());
        Some(match self {
            Self::Agent => format!("`retake run {path}` runs it"),
            Self::Script => format!("`retake scripted {path}` serves it"),
            Self::Spec => format!("`retake lab {path}` runs it"),
            Self::Recording => format!("`retake {path}` opens it"),
            Self::Json => return None,
        })
    }
}

/// The refusal of a file that is of another kind than one of those that are wanted.
pub(super) fn mistaken(path: &Path, text: &str, wanted: &[FileKind]) -> Option<Failure> {
    let kind = FileKind::of(text).filter(|kind| !wanted.contains(kind))?;
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.words()).collect();
    let message = format!(
        "{}: this is {}, not {}",
        name_of(path),
        kind.words(),
        names.join(" or ")
    );
    Some(match kind.command(path) {
        Some(command) => Failure::with_hint(message, command),
        None => Failure::refused(message),
    })
}

/// The same for a file that is in no format of a recording.
pub(super) fn mistaken_for_recording(path: &Path, error: &InputError) -> Option<Failure> {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    (is_toml && matches!(error, InputError::Unrecognised))
        .then(|| mistaken_file(path, &[FileKind::Recording]))?
}

/// The same for a file that could not be used.
pub(super) fn mistaken_file(path: &Path, wanted: &[FileKind]) -> Option<Failure> {
    let text = std::fs::read_to_string(path).ok()?;
    mistaken(path, &text, wanted)
}
