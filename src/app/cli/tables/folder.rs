//! The folder of the tables: its parts, and a log of which files they hold. A part counts once the log names it, so
//! that a run which is killed leaves whole parts and a rest that the next run removes.

use super::part::{TableFormat, UNFINISHED, part_path};
use crate::cli::report::Totals;
use retake_live::tables::{SCHEMA_VERSION, table_schemas};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The log; hidden, so that `check` does not take it for a recording.
const LOG: &str = ".parts.jsonl";

#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is not empty and holds no tables of retake")]
    Foreign,
    #[error("another retake is writing tables to it")]
    Locked,
    #[error(
        "{LOG} is damaged in line {0}; without that file and the tables beside it everything is written again"
    )]
    Damaged(usize),
}

/// A line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    /// What the tables are made with.
    Tables {
        schema_version: u32,
        extension: String,
        /// Digest of everything beside the recordings that decides what is in the tables.
        settings: String,
    },
    Part {
        part: u32,
        files: Vec<FileEntry>,
    },
    /// A part that no longer counts.
    Removed {
        part: u32,
    },
}

/// A file whose rows are in a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) path: String,
    /// What tells whether it changed; a file without is read again each time.
    pub(super) stamp: Option<String>,
    pub(super) totals: Totals,
}

pub(super) struct TableFolder {
    pub(super) path: PathBuf,
    pub(super) format: TableFormat,
    log: File,
    pub(super) parts: BTreeMap<u32, Vec<FileEntry>>,
    /// The number of the next part.
    pub(super) next: u32,
    /// Whether there were tables that were made with other settings.
    pub(super) starts_anew: bool,
}

impl TableFolder {
    /// Opens a folder of tables, or makes one.
    pub(super) fn open(
        path: &Path,
        format: TableFormat,
        settings: String,
    ) -> Result<Self, FolderError> {
        fs::create_dir_all(path)?;
        let name = path.join(LOG);
        if !name.exists() && fs::read_dir(path)?.next().is_some() {
            return Err(FolderError::Foreign);
        }
        let mut options = OpenOptions::new();
        let mut log = options.read(true).append(true).create(true).open(name)?;
        flock(&log, FlockOperation::NonBlockingLockExclusive).map_err(|_| FolderError::Locked)?;
        for (table, _) in table_schemas() {
            fs::create_dir_all(path.join(table))?;
        }
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        // The last line may be torn: its part is not counted.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        log.set_len(whole as u64)?;
        let mut folder = Self {
            path: path.to_owned(),
            format,
            log,
            parts: BTreeMap::new(),
            next: 0,
            starts_anew: false,
        };
        let mut is_same = false;
        for (number, line) in text[..whole].lines().enumerate() {
            match serde_json::from_str(line).map_err(|_| FolderError::Damaged(number + 1))? {
                Line::Tables {
                    schema_version,
                    extension,
                    settings: made_with,
                } => {
                    is_same = schema_version == SCHEMA_VERSION
                        && extension == format.extension()
                        && made_with == settings;
                }
                Line::Part { part, files } => {
                    folder.next = folder.next.max(part + 1);
                    folder.parts.insert(part, files);
                }
                Line::Removed { part } => {
                    folder.parts.remove(&part);
                }
            }
        }
        if !is_same {
            folder.starts_anew = !folder.parts.is_empty();
            folder.parts.clear();
            folder.log.set_len(0)?;
            folder.log.seek(SeekFrom::Start(0))?;
            folder.append(&Line::Tables {
                schema_version: SCHEMA_VERSION,
                extension: format.extension().to_owned(),
                settings,
            })?;
        }
        Ok(folder)
    }

    /// Keeps the parts that are whole and all of whose files are `wanted`; removes all other files of tables.
    pub(super) fn keep(&mut self, wanted: impl Fn(&FileEntry) -> bool) -> Result<(), FolderError> {
        let is_whole = |part: u32| {
            let mut tables = table_schemas().into_iter();
            tables.all(|(table, _)| part_path(&self.path, table, part, self.format).is_file())
        };
        let parts = self.parts.iter();
        let removed = parts.filter(|(part, files)| !files.iter().all(&wanted) || !is_whole(**part));
        let removed: Vec<u32> = removed.map(|(part, _)| *part).collect();
        for part in removed {
            self.append(&Line::Removed { part })?;
            self.parts.remove(&part);
        }
        for (table, _) in table_schemas() {
            let kept = self.parts.keys();
            let kept = kept.map(|part| part_path(&self.path, table, *part, self.format));
            let kept: Vec<PathBuf> = kept.collect();
            for entry in fs::read_dir(self.path.join(table))? {
                let path = entry?.path();
                if is_of_tables(&path) && kept.binary_search(&path).is_err() {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }

    /// The entries of the files that are done.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        self.parts.values().flatten()
    }

    /// Has a part count whose files are written.
    pub(super) fn add(&mut self, part: u32, files: Vec<FileEntry>) -> Result<(), FolderError> {
        self.append(&Line::Part { part, files })
    }

    fn append(&mut self, line: &Line) -> Result<(), FolderError> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::from)?;
        text.push(b'\n');
        self.log.write_all(&text)?;
        self.log.sync_data()?;
        Ok(())
    }
}

/// Whether a file has the name of one that retake writes there.
fn is_of_tables(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(UNFINISHED).unwrap_or(&name);
    let name = name.strip_prefix('.').unwrap_or(name);
    let number = name.strip_prefix("part-").and_then(|it| it.split_once('.'));
    number.is_some_and(|(number, extension)| {
        number.parse::<u32>().is_ok() && matches!(extension, "parquet" | "arrow")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: TableFormat = TableFormat::Parquet;

    fn open(path: &Path, settings: &str) -> Result<TableFolder, FolderError> {
        TableFolder::open(path, FORMAT, settings.to_owned())
    }

    fn entry(path: &str) -> FileEntry {
        FileEntry {
            path: path.to_owned(),
            stamp: Some("1".to_owned()),
            totals: Totals::default(),
        }
    }

    /// Writes the files of a part, and has it count.
    fn write(folder: &mut TableFolder, part: u32, files: &[&str]) {
        for (table, _) in table_schemas() {
            fs::write(part_path(&folder.path, table, part, FORMAT), "").unwrap();
        }
        let files = files.iter().map(|path| entry(path)).collect();
        folder.add(part, files).unwrap();
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_whole_parts_are_kept() {
        let here = tempfile::tempdir().unwrap();
        let mut folder = open(here.path(), "a").unwrap();
        write(&mut folder, 0, &["x", "y"]);
        write(&mut folder, 1, &["z"]);
        drop(folder);
        let log = here.path().join(LOG);
        let text = fs::read_to_string(&log).unwrap();
        // The line of part 1 was written in part; another part has no line, and one has no names yet.
        fs::write(&log, &text[..text.len() - 5]).unwrap();
        fs::write(here.path().join("items/part-00002.parquet"), "").unwrap();
        fs::write(here.path().join("items/.part-00003.parquet.tmp"), "").unwrap();
        fs::write(here.path().join("items/own.parquet"), "").unwrap();
        let mut folder = open(here.path(), "a").unwrap();
        folder.keep(|_| true).unwrap();
        assert_eq!(folder.files().count(), 2);
        let items = fs::read_dir(here.path().join("items")).unwrap();
        let mut items: Vec<_> = items.map(|it| it.unwrap().file_name()).collect();
        items.sort();
        assert_eq!(items, ["own.parquet", "part-00000.parquet"]);
        write(&mut folder, 1, &["z"]);
        drop(folder);
        assert_eq!(open(here.path(), "a").unwrap().files().count(), 3);
    }

    #[test]
    fn a_part_with_a_file_that_is_not_wanted_is_removed() {
        let here = tempfile::tempdir().unwrap();
        let mut folder = open(here.path(), "a").unwrap();
        write(&mut folder, 0, &["x", "y"]);
        write(&mut folder, 1, &["z"]);
        drop(folder);
        let mut folder = open(here.path(), "a").unwrap();
        folder.keep(|entry| entry.path != "y").unwrap();
        assert_eq!(folder.parts.keys().collect::<Vec<_>>(), [&1]);
        assert!(!here.path().join("calls/part-00000.parquet").exists());
        drop(folder);
        let folder = open(here.path(), "a").unwrap();
        assert_eq!(folder.files().count(), 1);
        assert_eq!(folder.next, 2, "no number is given twice");
    }

    #[test]
    fn other_settings_start_anew_and_other_folders_are_refused() {
        let here = tempfile::tempdir().unwrap();
        let tables = here.path().join("tables");
        let mut folder = open(&tables, "a").unwrap();
        write(&mut folder, 0, &["x"]);
        assert!(matches!(open(&tables, "a"), Err(FolderError::Locked)));
        drop(folder);
        let folder = open(&tables, "b").unwrap();
        assert!(folder.starts_anew);
        assert_eq!(folder.files().count(), 0);
        assert!(matches!(open(here.path(), "a"), Err(FolderError::Foreign)));
    }
}
