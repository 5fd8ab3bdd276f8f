//! Rows as Arrow record batches, which go on to files, engines or other languages as they fill.

use super::columns::{CellType, Row, SCHEMA_VERSION, Table, Value, tables};
use crate::InputError;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use retake_core::session::SourceError;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows that wait as cells.
const BATCH: usize = 8 * 1024;

/// What takes the batches of a table.
pub trait BatchSink {
    type Error: From<ArrowError>;

    fn take(&mut self, batch: RecordBatch) -> Result<(), Self::Error>;

    /// Whether there is a use for the rows of the table.
    fn is_wanted(&self) -> bool {
        true
    }
}

impl<S: BatchSink> BatchSink for Option<S> {
    type Error = S::Error;

    fn take(&mut self, batch: RecordBatch) -> Result<(), S::Error> {
        self.as_mut().map_or(Ok(()), |sink| sink.take(batch))
    }

    fn is_wanted(&self) -> bool {
        self.as_ref().is_some_and(S::is_wanted)
    }
}

impl BatchSink for Vec<RecordBatch> {
    type Error = ArrowError;

    fn take(&mut self, batch: RecordBatch) -> Result<(), ArrowError> {
        self.push(batch);
        Ok(())
    }
}

/// Why the rows of a recording could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RowsError<E> {
    /// The recording cannot be read any more.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file cannot be read at all.
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Sink(E),
}

/// The names of the tables with their schemas.
pub fn table_schemas() -> Vec<(&'static str, SchemaRef)> {
    let tables = tables();
    let named = tables.iter().map(|table| (table.name, schema_of(table)));
    named.collect()
}

fn schema_of(table: &Table) -> SchemaRef {
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
    let facts = [
        ("retake.table", table.name.to_owned()),
        ("retake.schema_version", SCHEMA_VERSION.to_string()),
        ("retake.version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let facts = facts.map(|(key, value)| (key.to_owned(), value));
    Arc::new(Schema::new(fields).with_metadata(HashMap::from(facts)))
}

/// One writer for each table.
pub struct TableSet<S> {
    writers: Vec<TableWriter<S>>,
}

impl<S: BatchSink> TableSet<S> {
    /// `sink` makes what takes the batches of a table.
    pub fn new(
        mut sink: impl FnMut(&'static str, &SchemaRef) -> Result<S, S::Error>,
    ) -> Result<Self, S::Error> {
        let writers = tables().into_iter().map(|table| {
            let schema = schema_of(&table);
            let sink = sink(table.name, &schema)?;
            Ok(TableWriter::new(&table, schema, sink))
        });
        let writers = writers.collect::<Result<_, S::Error>>()?;
        Ok(Self { writers })
    }

    pub(super) fn push<'a, R: Row<'a>>(&mut self, row: R) -> Result<(), RowsError<S::Error>> {
        let writer = &mut self.writers[R::TABLE];
        if !writer.sink.is_wanted() {
            return Ok(());
        }
        writer.push(row.values()).map_err(RowsError::Sink)
    }

    pub(super) fn wants<'a, R: Row<'a>>(&self) -> bool {
        self.writers[R::TABLE].sink.is_wanted()
    }

    /// Hands over the last rows; gives the sinks, in the order of the tables.
    pub fn finish(self) -> Result<Vec<S>, S::Error> {
        let writers = self.writers.into_iter();
        writers.map(TableWriter::finish).collect()
    }
}

struct TableWriter<S> {
    schema: SchemaRef,
    columns: Vec<Builder>,
    rows: usize,
    sink: S,
}

impl<S: BatchSink> TableWriter<S> {
    fn new(table: &Table, schema: SchemaRef, sink: S) -> Self {
        let columns = table.columns.iter().map(|it| Builder::new(it.holds));
        Self {
            schema,
            columns: columns.collect(),
            rows: 0,
            sink,
        }
    }

    fn push<'a>(&mut self, values: impl Iterator<Item = Value<'a>>) -> Result<(), S::Error> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value)?;
        }
        self.rows += 1;
        match self.rows {
            BATCH => self.flush(),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), S::Error> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        self.sink.take(batch)
    }

    fn finish(mut self) -> Result<S, S::Error> {
        if self.rows > 0 {
            self.flush()?;
        }
        Ok(self.sink)
    }
}

/// Rows that are JSON objects, as the table of this name; members that are no columns are left out.
pub fn batches_of_json(
    name: &str,
    rows: &[serde_json::Value],
) -> Result<Option<(SchemaRef, Vec<RecordBatch>)>, ArrowError> {
    let Some(table) = tables().into_iter().find(|table| table.name == name) else {
        return Ok(None);
    };
    let schema = schema_of(&table);
    let mut writer = TableWriter::new(&table, schema.clone(), Vec::new());
    for row in rows {
        writer.push(table.columns.iter().map(|column| {
            let cell = &row[column.name];
            match column.holds {
                CellType::Text => Value::Text(cell.as_str()),
                CellType::Integer => Value::Integer(cell.as_i64()),
                CellType::Number => Value::Number(cell.as_f64()),
                CellType::Boolean => Value::Boolean(cell.as_bool()),
                CellType::Time => Value::Time(cell.as_i64()),
            }
        }))?;
    }
    Ok(Some((schema, writer.finish()?)))
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
