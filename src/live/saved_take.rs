//! A take that was saved as a file: what it answered is known from the take, whatever its words are.

use super::journal::wall_clock;
use super::sidecar::source_of_take;
use super::take_store::TakeStore;
use super::takes::usual_root;
use super::{ReadOptions, Recording, read_path};
use retake_core::session::takes::TakeId;
use retake_core::session::{Rope, Source, SourceError, Span};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are compared at a time.
const BLOCK: u64 = 64 * 1024;

/// Has a file such as `run.take-2.json` judged as the take is that was saved in it: its sessions are read through the
/// take of `run.json`, which tells what retake wrote. Nothing happens where that take is not known on this machine, or
/// the file holds something else by now.
pub fn through_take(path: &Path, recording: &mut Recording) {
    if let Some(rope) = rope_of(path, recording, usual_root().as_deref()) {
        let own = recording.source.clone();
        let sessions = recording.sessions.iter_mut();
        for session in sessions.filter(|session| Arc::ptr_eq(&session.source, &own)) {
            session.source = rope.clone();
        }
    }
}

/// The text of the take that was saved in a file.
fn rope_of(path: &Path, recording: &Recording, root: Option<&Path>) -> Option<Arc<Rope>> {
    let (source, take) = taken_from(path)?;
    let source_recording = read_path(&source, &ReadOptions::default()).ok()?;
    let (mut takes, _) =
        TakeStore::open(Arc::new(source_recording), Some(&source), root, wall_clock);
    if !takes.takes().contains(take) {
        return None;
    }
    let rope = takes.rope(take).ok()?;
    let is_same = is_same(&*rope, &*recording.source).unwrap_or(false);
    is_same.then_some(rope)
}

/// The recording beside a saved take, and the take's number.
fn taken_from(path: &Path) -> Option<(PathBuf, TakeId)> {
    let stem = path.file_stem()?.to_str()?;
    let source = source_of_take(stem)?;
    let number = stem[source.len()..].strip_prefix(".take-")?.parse().ok()?;
    let beside = path.with_file_name(match path.extension() {
        Some(ending) => format!("{source}.{}", ending.to_str()?),
        None => source.to_owned(),
    });
    beside.is_file().then_some((beside, TakeId(number)))
}

fn is_same(one: &dyn Source, other: &dyn Source) -> Result<bool, SourceError> {
    let length = one.len();
    if length != other.len() {
        return Ok(false);
    }
    for start in (0..length).step_by(BLOCK as usize) {
        let end = (start + BLOCK).min(length);
        let span = Span { start, end };
        if one.read(span)? != other.read(span)? {
            return Ok(false);
        }
    }
    Ok(true)
}
