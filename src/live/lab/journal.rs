//! The journal of a trial: where it is, and its name, which tells everything that decides what an
//! answer in it means.

use super::history::TrialInput;
use super::messages::LabError;
use crate::TakeStore;
use crate::takes::{About, wall_clock};
use retake_core::engine::agent::{Endpoint, Model};
use retake_core::lab::Subject;
use retake_core::session::takes::ContentDigest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest part of a journal's name that tells the tool or the model.
const PART: usize = 32;
const ENDING: &str = ".jsonl";

/// Where the journal of a trial is to be.
#[derive(Debug, Clone)]
pub(super) enum JournalPlace {
    /// In this folder: the newest of the same trial, or the first.
    In(PathBuf),
    /// In this folder, a new one.
    New(PathBuf),
    At(PathBuf),
}

/// What is the same for trials whose answers mean the same: the history, the finding in it, what counts as
/// corrected, and the model with all parameters of its requests. How long a reply may take and where its key comes
/// from are no part of it.
pub(super) fn identity(sent: &TrialInput, subject: &Subject, base: &[u8]) -> ContentDigest {
    let histories = &sent.histories;
    let parts = json!([
        histories.format,
        String::from_utf8_lossy(base),
        histories.item,
        subject.rule,
        subject.tool,
        subject.meant.words(),
        model(&sent.model),
    ]);
    ContentDigest::of(parts.to_string().as_bytes())
}

fn model(model: &Model) -> Value {
    let at = match &model.at {
        Endpoint::Http {
            base_url, headers, ..
        } => {
            let headers = headers.iter();
            let headers = headers.map(|header| json!([header.name, header.text, header.env]));
            json!([base_url, headers.collect::<Vec<_>>()])
        }
        Endpoint::Script { text, .. } => json!([text]),
    };
    json!([
        model.dialect.word(),
        model.name,
        at,
        model.stream,
        model.max_tokens,
        model.settings,
    ])
}

/// The name of a journal without its number: the finding and the model for people, the identity of the
/// trial for the lab.
pub(super) fn name(subject: &Subject, model: &str, identity: ContentDigest) -> String {
    format!(
        "{}-{identity}",
        slug(&[&subject.rule, &subject.tool, model])
    )
}

/// Opens the newest journal of this name, or begins one.
pub(super) fn open(
    place: &JournalPlace,
    name: &str,
    base: &[u8],
    about: About,
) -> Result<TakeStore, LabError> {
    let (folder, number) = match place {
        JournalPlace::At(path) => return reopen(path),
        JournalPlace::In(folder) => match newest(folder, name) {
            Some(number) => return reopen(&path(folder, name, number)),
            None => (folder, 1),
        },
        JournalPlace::New(folder) => (folder, newest(folder, name).map_or(1, |last| last + 1)),
    };
    let path = path(folder, name, number);
    Ok(TakeStore::begin_run(&path, about, base, wall_clock)?)
}

fn reopen(path: &Path) -> Result<TakeStore, LabError> {
    let (store, _) = TakeStore::open_run(path, wall_clock)?;
    match store.not_recording() {
        Some(trouble) => Err(LabError::NotRecording(trouble.to_string())),
        None => Ok(store),
    }
}

/// The highest number that a journal of this name has in the folder.
fn newest(folder: &Path, name: &str) -> Option<u64> {
    // An unreadable folder is reported when a journal is made in it.
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let number = |file: std::fs::DirEntry| {
        let file = file.file_name();
        let rest = file.to_str()?.strip_prefix(name)?.strip_suffix(ENDING)?;
        match rest.strip_prefix('-') {
            None => rest.is_empty().then_some(1),
            Some(number) => number.parse::<u32>().ok().map(u64::from),
        }
    };
    files.filter_map(number).max()
}

/// The first journal of a name has no number.
fn path(folder: &Path, name: &str, number: u64) -> PathBuf {
    folder.join(match number {
        1 => format!("{name}{ENDING}"),
        number => format!("{name}-{number}{ENDING}"),
    })
}

/// A name for a file, of what is known.
fn slug(parts: &[&str]) -> String {
    let plain = |part: &&str| {
        let letters = part.chars().take(PART);
        let letters = letters.map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
            _ => '-',
        });
        letters.collect::<String>()
    };
    let parts = parts.iter().map(plain).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}
