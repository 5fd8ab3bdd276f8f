//! Files that commands write: never the recording itself, and one that is there only with `--force`.

use super::exit::Failure;
use super::inputs::name_of;
use super::output::safe_line;
use retake_live::is_same_file;
use retake_live::replace::{Backup, replace};
use std::io::{self, Write};
use std::path::Path;

/// Refuses to write to `output`, where it is the recording or another file that is there.
pub(super) fn refuse_to_overwrite(
    output: &Path,
    force: bool,
    recording: &Path,
) -> Result<(), Failure> {
    let name = name_of(output);
    if is_same_file(recording, output) {
        return Err(Failure::with_hint(
            format!("{name}: the recording itself is never overwritten by -o"),
            "`retake fix --in-place` fixes the recording itself and keeps a backup",
        ));
    }
    if output.exists() && !force {
        return Err(Failure::with_hint(
            format!("{name}: is there already"),
            "--force replaces it",
        ));
    }
    Ok(())
}

/// Writes a file in one step: until it is whole, what was there stays.
pub(super) fn save(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match replace(path, Backup::None, |file| write(file)) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::refused(safe_line(&error.to_string()))),
    }
}
