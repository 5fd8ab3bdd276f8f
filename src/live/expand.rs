//! From what the operator names to files: folders are walked in the order of their
//! names, without hidden entries.

use super::InputError;
use super::discover::is_recording_name;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRecording {
    /// Its path, as the operator named it or as its folder did; `-` is standard input.
    pub path: PathBuf,
    /// Whether it was found in a folder that the operator named.
    pub in_folder: bool,
}

/// Files, and what could not be walked.
#[derive(Debug, Default)]
pub struct Walked {
    pub files: Vec<NamedRecording>,
    pub failures: Vec<(PathBuf, InputError)>,
}

/// The files that the paths name.
pub fn expand(paths: &[PathBuf]) -> Walked {
    let mut walked = Walked::default();
    for path in paths {
        if path != Path::new("-") && path.is_dir() {
            let before = (walked.files.len(), walked.failures.len());
            walk(path, &mut walked);
            if before == (walked.files.len(), walked.failures.len()) {
                walked
                    .failures
                    .push((path.clone(), InputError::EmptyFolder));
            }
        } else {
            walked.files.push(NamedRecording {
                path: path.clone(),
                in_folder: false,
            });
        }
    }
    walked
}

fn walk(folder: &Path, walked: &mut Walked) {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            walked.failures.push((folder.to_owned(), error.into()));
            return;
        }
    };
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        // Links to folders are not followed: they may lead back.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            walk(&path, walked);
        } else if is_recording_name(&entry.file_name()) && path.is_file() {
            // Nobody needs the dot of `retake check .`.
            let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
            walked.files.push(NamedRecording {
                path,
                in_folder: true,
            });
        }
    }
}

/// Whether a file that a folder happens to hold is something else than a recording.
pub fn is_no_recording(error: &InputError) -> bool {
    matches!(
        error,
        InputError::Empty
            | InputError::Binary
            | InputError::Unrecognised
            | InputError::Foreign { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_recordings_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "b.jsonl",
            "a.json",
            "a.tools.json",
            "README.md",
            "truth.json",
            ".hidden.json",
            "sub/c.jsonl.zst",
            ".git/config.json",
            "d.sse",
            "e.yaml",
            "f.har",
        ];
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let walked = expand(&[folder.path().to_owned(), PathBuf::from("-")]);
        let found = walked
            .files
            .iter()
            .map(|file| {
                file.path
                    .strip_prefix(folder.path())
                    .unwrap_or(&file.path)
                    .to_string_lossy()
                    .into_owned()
            })
            .collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                "a.json",
                "b.jsonl",
                "d.sse",
                "e.yaml",
                "f.har",
                "sub/c.jsonl.zst",
                "-"
            ]
        );
        assert!(walked.failures.is_empty());
    }

    #[test]
    fn a_folder_without_recordings_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let walked = expand(&[folder.path().to_owned()]);
        let [(path, InputError::EmptyFolder)] = walked.failures.as_slice() else {
            panic!("{:?}", walked.failures);
        };
        assert_eq!(path, folder.path());
    }
}
