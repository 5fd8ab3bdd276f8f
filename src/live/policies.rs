//! Reads policy files.

use super::files::{InputError, read_text};
use super::wordings::Wordings;
use retake_core::config::ConfigErrors;
use retake_core::engine::{LONGEST_POLICY, Policy};
use std::path::{Path, PathBuf};

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("{path}: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: InputError },
    /// Something is wrong with what it says: one line for each fault.
    #[error("{}", errors.in_file(&path.to_string_lossy()))]
    Invalid { path: PathBuf, errors: ConfigErrors },
}

/// Reads a policy file, which may name the operator's own wordings beside those of the library.
pub fn read_policy(path: &Path, wordings: &Wordings) -> Result<Policy, PolicyError> {
    let text = read_text(path, LONGEST_POLICY as u64).map_err(|error| PolicyError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let own = |kind, name: &str| {
        let found = wordings.find(kind, name);
        found.map(|choice| choice.template.to_owned())
    };
    Policy::parse_with(&text, &own).map_err(|errors| PolicyError::Invalid {
        path: path.to_owned(),
        errors,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wordings::{WordingFile, WordingOrigin};
    use retake_core::engine::{PolicyCounts, PolicyVerdict, RunFault};
    use retake_core::rules::Severity;

    #[test]
    fn a_policy_may_name_a_wording_of_the_operators_own() {
        let folder = tempfile::tempdir().unwrap();
        let words = folder.path().join("wordings.toml");
        std::fs::write(&words, "[polite]\ntemplate = \"Sorry, no {{ tool }}.\"\n").unwrap();
        let path = folder.path().join("policy.toml");
        let entry = "[on.unknown-tool]\ndo = \"inject\"\nwording = \"polite\"\n";
        std::fs::write(&path, entry).unwrap();
        let own = Wordings::read(&[WordingFile {
            path: words,
            origin: WordingOrigin::Project,
        }]);
        let fault = RunFault {
            rule: "unknown-tool",
            severity: Severity::Error,
            item: Some(3),
            call: None,
            tool: Some("serch".to_owned()),
            message: String::new(),
        };
        let policy = read_policy(&path, &own).unwrap();
        let verdict = policy.decide(&mut PolicyCounts::default(), &fault);
        let PolicyVerdict::Act(decision) = verdict else {
            unreachable!("{verdict:?}")
        };
        assert_eq!(decision.template(), Some("Sorry, no {{ tool }}."));
        assert_eq!(decision.words().as_deref(), Some("polite"));
        let error = read_policy(&path, &Wordings::default()).unwrap_err();
        let place = format!("{}:3: `polite` is neither a wording", path.display());
        assert!(error.to_string().starts_with(&place), "{error}");
    }

    #[test]
    fn what_is_no_policy_file_is_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| {
            let error = read_policy(path, &Wordings::default()).unwrap_err();
            error.to_string()
        };
        let missing = folder.path().join("missing.toml");
        assert!(refused(&missing).ends_with("missing.toml: no such file or folder"));
        let large = folder.path().join("large.toml");
        std::fs::write(&large, "#".repeat(LONGEST_POLICY + 1)).unwrap();
        assert!(refused(&large).ends_with("more than 256 KB"));
        let binary = folder.path().join("binary.toml");
        std::fs::write(&binary, [0xff, 0xfe]).unwrap();
        assert!(refused(&binary).ends_with("this is not UTF-8"));
    }
}
