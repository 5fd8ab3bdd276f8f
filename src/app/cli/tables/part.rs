//! A part: one file of each table, with the rows of some recordings. Rows are written as they come, a row group at a
//! time, to hidden files that get their names once they are whole.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use retake_live::tables::{BatchSink, TableSet, table_schemas};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Rows of a group, which waits in memory until it is complete.
const ROW_GROUP: usize = 128 * 1024;

#[derive(Debug, thiserror::Error)]
pub(super) enum PartError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// What the files of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum TableFormat {
    Parquet,
    Arrow,
}

impl TableFormat {
    /// How the names of its files end.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// The file of a part.
pub(super) fn part_path(folder: &Path, table: &str, number: u32, format: TableFormat) -> PathBuf {
    let name = format!("part-{number:05}.{}", format.extension());
    folder.join(table).join(name)
}

/// How the names end of files that are not whole yet.
pub(super) const UNFINISHED: &str = ".tmp";

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{UNFINISHED}"))
}

/// The files of a part, one for each table.
pub(super) type PartWriter = TableSet<TableFile>;

pub(super) fn create(
    folder: &Path,
    number: u32,
    format: TableFormat,
) -> Result<PartWriter, PartError> {
    TableSet::new(|table, schema| {
        TableFile::create(part_path(folder, table, number, format), format, schema)
    })
}

/// Completes the files, and gives them their names.
pub(super) fn finish(part: PartWriter) -> Result<(), PartError> {
    let paths = part.finish()?.into_iter().map(TableFile::finish);
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    for path in paths {
        fs::rename(unfinished(&path), &path)?;
    }
    Ok(())
}

/// Removes what a part has written that is not whole.
pub(super) fn discard(folder: &Path, number: u32, format: TableFormat) -> io::Result<()> {
    for (table, _) in table_schemas() {
        let path = unfinished(&part_path(folder, table, number, format));
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The file of one table in a part.
pub(super) struct TableFile {
    path: PathBuf,
    writer: FormatWriter,
}

enum FormatWriter {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<File>>),
}

impl TableFile {
    fn create(path: PathBuf, format: TableFormat, schema: &SchemaRef) -> Result<Self, PartError> {
        let file = File::create(unfinished(&path))?;
        let writer = match format {
            TableFormat::Parquet => {
                let mut facts: Vec<_> = schema.metadata().iter().collect();
                facts.sort_unstable();
                let facts = facts.into_iter();
                let facts = facts.map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
                let properties = WriterProperties::builder()
                    .set_created_by(concat!("retake ", env!("CARGO_PKG_VERSION")).to_owned())
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .set_key_value_metadata(Some(facts.collect()))
                    .build();
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
                FormatWriter::Parquet(Box::new(writer))
            }
            TableFormat::Arrow => {
                let options = IpcWriteOptions::default();
                let options = options.try_with_compression(Some(CompressionType::ZSTD))?;
                let writer = FileWriter::try_new_with_options(file, schema, options)?;
                FormatWriter::Arrow(Box::new(writer))
            }
        };
        Ok(Self { path, writer })
    }

    /// Completes the file; the path that it is to have.
    fn finish(self) -> Result<PathBuf, PartError> {
        let file = match self.writer {
            FormatWriter::Parquet(writer) => writer.into_inner()?,
            FormatWriter::Arrow(writer) => writer.into_inner()?,
        };
        file.sync_all()?;
        Ok(self.path)
    }
}

impl BatchSink for TableFile {
    type Error = PartError;

    fn take(&mut self, batch: RecordBatch) -> Result<(), PartError> {
        match &mut self.writer {
            FormatWriter::Parquet(writer) => writer.write(&batch)?,
            FormatWriter::Arrow(writer) => writer.write(&batch)?,
        }
        Ok(())
    }
}
