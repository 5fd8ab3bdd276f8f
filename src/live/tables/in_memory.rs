//! The tables of some files in memory.

use super::batches::{RowsError, TableSet};
use super::rows::write_rows;
use crate::{InputError, Inputs};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use rayon::prelude::*;
use retake_core::usage::Prices;
use std::path::PathBuf;

/// Parts for each core: the last ones end at about the same time.
const PARTS_OF_CORE: usize = 4;

/// A file, and what its rows call it.
pub struct NamedFile {
    pub name: String,
    pub path: PathBuf,
}

#[derive(Default)]
pub struct MemoryTables {
    /// In the order of the tables.
    pub batches: Vec<Vec<RecordBatch>>,
    /// The numbers of the files that cannot be read.
    pub unreadable: Vec<(usize, InputError)>,
}

#[derive(Debug, thiserror::Error)]
#[error("{name}: {error}")]
pub struct TablesError {
    name: String,
    error: RowsError<ArrowError>,
}

impl Inputs {
    /// Checks files on all cores; the rows are in the order of the files.
    pub fn tables(
        &self,
        files: &[NamedFile],
        prices: &Prices,
    ) -> Result<MemoryTables, TablesError> {
        let parts = PARTS_OF_CORE * rayon::current_num_threads();
        let size = files.len().div_ceil(parts).max(1);
        let parts = files.par_chunks(size).enumerate();
        let parts = parts.map(|(part, files)| self.part(part * size, files, prices));
        let mut parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut all = match parts.next() {
            Some(first) => first,
            None => self.part(0, &[], prices)?,
        };
        for part in parts {
            for (batches, more) in all.batches.iter_mut().zip(part.batches) {
                batches.extend(more);
            }
            all.unreadable.extend(part.unreadable);
        }
        Ok(all)
    }

    fn part(
        &self,
        first: usize,
        files: &[NamedFile],
        prices: &Prices,
    ) -> Result<MemoryTables, TablesError> {
        let failed = |file: Option<&NamedFile>, error| TablesError {
            name: file.map(|file| file.name.clone()).unwrap_or_default(),
            error,
        };
        let made = TableSet::new(|_, _| Ok(Vec::new()));
        let mut tables = made.map_err(|error| failed(files.first(), RowsError::Sink(error)))?;
        let mut unreadable = Vec::new();
        for (number, file) in (first..).zip(files) {
            match self.check_with_recording(&file.path) {
                Ok((mut report, recording)) => {
                    report.path.clone_from(&file.name);
                    write_rows(&mut tables, &report, &recording, prices)
                        .map_err(|error| failed(Some(file), error))?;
                }
                Err(error) => unreadable.push((number, error)),
            }
        }
        let batches = tables.finish();
        Ok(MemoryTables {
            batches: batches.map_err(|error| failed(files.last(), RowsError::Sink(error)))?,
            unreadable,
        })
    }
}
