//! A part: one file of each table, with the rows of some recordings. Rows are written as they come, a row group at a
//! time, to hidden files that get their names once they are whole.

use super::columns;
use super::columns::{CellType, Row, SCHEMA_VERSION, Table, TableFormat, Value, tables};
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that wait as cells.
const BATCH: usize = 8 * 1024;
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

pub(super) struct PartWriter {
    pub(super) sessions: TableWriter,
    pub(super) items: TableWriter,
    pub(super) calls: TableWriter,
    pub(super) findings: TableWriter,
    pub(super) problems: TableWriter,
}

impl PartWriter {
    pub(super) fn create(
        folder: &Path,
        number: u32,
        format: TableFormat,
    ) -> Result<Self, PartError> {
        let open = |table: Table| TableWriter::create(folder, number, format, &table);
        Ok(Self {
            sessions: open(columns::sessions())?,
            items: open(columns::items())?,
            calls: open(columns::calls())?,
            findings: open(columns::findings())?,
            problems: open(columns::problems())?,
        })
    }

    /// Completes the files, and gives them their names.
    pub(super) fn finish(self) -> Result<(), PartError> {
        let Self {
            sessions,
            items,
            calls,
            findings,
            problems,
        } = self;
        let paths = [sessions, items, calls, findings, problems].map(TableWriter::finish);
        for path in paths {
            let path = path?;
            fs::rename(unfinished(&path), &path)?;
        }
        Ok(())
    }
}

/// Removes what a part has written that is not whole.
pub(super) fn discard(folder: &Path, number: u32, format: TableFormat) -> io::Result<()> {
    for table in tables() {
        let path = unfinished(&part_path(folder, table.name, number, format));
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The file of one table in a part.
pub(super) struct TableWriter {
    path: PathBuf,
    schema: Arc<Schema>,
    columns: Vec<Builder>,
    rows: usize,
    file: TableFile,
}

enum TableFile {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<File>>),
}

impl TableWriter {
    fn create(
        folder: &Path,
        number: u32,
        format: TableFormat,
        table: &Table,
    ) -> Result<Self, PartError> {
        let path = part_path(folder, table.name, number, format);
        let file = File::create(unfinished(&path))?;
        let facts = [
            ("retake.table", table.name.to_owned()),
            ("retake.schema_version", SCHEMA_VERSION.to_string()),
            ("retake.version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let fields = table.columns.iter().map(|column| {
            let holds = match column.holds {
                CellType::Text => DataType::Utf8,
                CellType::Integer => DataType::Int64,
                CellType::Number => DataType::Float64,
                CellType::Boolean => DataType::Boolean,
                CellType::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            };
            Field::new(column.name, holds, column.is_nullable)
        });
        let fields: Vec<Field> = fields.collect();
        let schema = Schema::new(fields);
        let (schema, file) = match format {
            TableFormat::Parquet => {
                let schema = Arc::new(schema);
                let facts = facts.map(|(key, value)| KeyValue::new(key.to_owned(), value));
                let properties = WriterProperties::builder()
                    .set_created_by(concat!("retake ", env!("CARGO_PKG_VERSION")).to_owned())
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .set_key_value_metadata(Some(facts.to_vec()))
                    .build();
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
                (schema, TableFile::Parquet(Box::new(writer)))
            }
            TableFormat::Arrow => {
                let facts = facts.map(|(key, value)| (key.to_owned(), value));
                let schema = Arc::new(schema.with_metadata(HashMap::from(facts)));
                let options = IpcWriteOptions::default();
                let options = options.try_with_compression(Some(CompressionType::ZSTD))?;
                let writer = FileWriter::try_new_with_options(file, &schema, options)?;
                (schema, TableFile::Arrow(Box::new(writer)))
            }
        };
        Ok(Self {
            path,
            schema,
            columns: table
                .columns
                .iter()
                .map(|it| Builder::new(it.holds))
                .collect(),
            rows: 0,
            file,
        })
    }

    pub(super) fn push<'a>(&mut self, row: impl Row<'a>) -> Result<(), PartError> {
        for (column, value) in self.columns.iter_mut().zip(row.values()) {
            column.push(value)?;
        }
        self.rows += 1;
        match self.rows {
            BATCH => self.write(),
            _ => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), PartError> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        match &mut self.file {
            TableFile::Parquet(writer) => writer.write(&batch)?,
            TableFile::Arrow(writer) => writer.write(&batch)?,
        }
        Ok(())
    }

    /// Completes the file; the path that it is to have.
    fn finish(mut self) -> Result<PathBuf, PartError> {
        if self.rows > 0 {
            self.write()?;
        }
        let file = match self.file {
            TableFile::Parquet(writer) => writer.into_inner()?,
            TableFile::Arrow(writer) => writer.into_inner()?,
        };
        file.sync_all()?;
        Ok(self.path)
    }
}

enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
    Time(TimestampMillisecondBuilder),
}

impl Builder {
    fn new(holds: CellType) -> Self {
        match holds {
            CellType::Text => Self::Text(StringBuilder::new()),
            CellType::Integer => Self::Integer(Int64Builder::new()),
            CellType::Number => Self::Number(Float64Builder::new()),
            CellType::Boolean => Self::Boolean(BooleanBuilder::new()),
            CellType::Time => Self::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
        }
    }

    fn push(&mut self, value: Value<'_>) -> Result<(), ArrowError> {
        match (self, value) {
            (Self::Text(to), Value::Text(text)) => to.append_option(text),
            (Self::Integer(to), Value::Integer(number)) => to.append_option(number),
            (Self::Number(to), Value::Number(number)) => to.append_option(number),
            (Self::Boolean(to), Value::Boolean(flag)) => to.append_option(flag),
            (Self::Time(to), Value::Time(at)) => to.append_option(at),
            (_, value) => {
                let message = format!("{value:?} in a column of another type");
                return Err(ArrowError::SchemaError(message));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(from) => Arc::new(from.finish()),
            Self::Integer(from) => Arc::new(from.finish()),
            Self::Number(from) => Arc::new(from.finish()),
            Self::Boolean(from) => Arc::new(from.finish()),
            Self::Time(from) => Arc::new(from.finish()),
        }
    }
}
