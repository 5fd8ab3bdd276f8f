//! `query`: SQL over the tables of recordings.

use super::arguments::{FailOn, QueryArguments, QueryFormat};
use super::exit::{Exit, Failure, refused};
use super::inputs::inputs_of;
use super::output::{JsonOutput, Output, csv_cell, safe_line};
use super::style::Palette;
use super::tables::{Recordings, TableReader};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::json::writer::WriterBuilder;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use futures_util::StreamExt;
use retake_core::safe_text::SafeText;
use retake_live::exit_on_interrupt;
use retake_live::tables::block_on;
use std::collections::HashSet;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

/// Rows that decide how wide the columns of a printed table are.
const MEASURED: usize = 1000;
/// Most cells of a column that is not the last.
const WIDEST: usize = 60;

/// Runs the query, and prints its rows as they come.
pub(super) fn run(arguments: &QueryArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let (reader, _) = TableReader::new(inputs, FailOn::Never)?;
    exit_on_interrupt();
    let recordings = Recordings::new(reader, arguments.paths.clone());
    let done = block_on(print(arguments, &recordings))?;
    let exit = recordings.exit().unwrap_or(Exit::Clean);
    match done {
        Ok(()) => Ok(exit),
        Err(QueryError::Output(error)) => exit.after(Err(error)),
        Err(QueryError::Query(error)) => Err(failure(&error)),
    }
}

enum QueryError {
    Query(DataFusionError),
    Output(io::Error),
}

impl From<DataFusionError> for QueryError {
    fn from(error: DataFusionError) -> Self {
        Self::Query(error)
    }
}

impl From<io::Error> for QueryError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<ArrowError> for QueryError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Output(error),
            error => Self::Query(error.into()),
        }
    }
}

fn failure(error: &DataFusionError) -> Failure {
    if let DataFusionError::External(error) = error.find_root() {
        return refused(error);
    }
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let place = span.map(|span| format!(":{}:{}", span.start.line, span.start.column));
    let place = place.unwrap_or_default();
    let error = format!("query{place}: {}", error.strip_backtrace());
    refused(error).hinting("`retake help query` lists the tables and their columns")
}

async fn print(arguments: &QueryArguments, recordings: &Arc<Recordings>) -> Result<(), QueryError> {
    let mut batches = recordings.query(&arguments.sql).await?;
    let schema = batches.schema();
    if arguments.format == QueryFormat::Json {
        refuse_same_names(&schema)?;
    }
    let mut next = batches.next().await.transpose()?;
    // Where nothing can be read, a count of it is no answer.
    if recordings.exit() == Some(Exit::Usage) {
        return Ok(());
    }
    recordings.hide_progress();
    let mut rows: Box<dyn Rows> = match arguments.format {
        QueryFormat::Text => Box::new(Text::new(&schema, Palette::of_stdout(arguments.color))),
        QueryFormat::Csv => Box::new(Csv::begin(&schema)?),
        QueryFormat::Json => Box::new(Json::new()),
    };
    while let Some(batch) = next {
        rows.batch(&batch)?;
        next = batches.next().await.transpose()?;
    }
    rows.finish()
}

/// A JSON object has each name once.
fn refuse_same_names(schema: &Schema) -> Result<(), DataFusionError> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|it| !names.insert(it.name())) {
        Some(field) => {
            let name = field.name();
            let message = format!("two columns are called {name}: AS gives one another name");
            Err(DataFusionError::Plan(message))
        }
        None => Ok(()),
    }
}

/// Writes the rows of the answer.
trait Rows {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), QueryError>;

    fn finish(self: Box<Self>) -> Result<(), QueryError>;
}

/// The cells of each row as text.
fn rows_of(batch: &RecordBatch, null: &str) -> Result<Vec<Vec<String>>, ArrowError> {
    let options = FormatOptions::default().with_null(null);
    let columns = batch.columns().iter();
    let columns = columns.map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let row = |row| {
        let cells = columns
            .iter()
            .map(|column| column.value(row).try_to_string());
        cells.collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn names_of(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}

fn are_numbers(schema: &Schema) -> Vec<bool> {
    let fields = schema.fields().iter();
    fields.map(|field| field.data_type().is_numeric()).collect()
}

/// A table for people.
struct Text {
    out: Output,
    palette: Palette,
    names: Vec<String>,
    are_numbers: Vec<bool>,
    /// Those that wait for the widths.
    waiting: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl Text {
    fn new(schema: &Schema, palette: Palette) -> Self {
        Self {
            out: Output::stdout(),
            palette,
            names: names_of(schema).map(safe_line).collect(),
            are_numbers: are_numbers(schema),
            waiting: Vec::new(),
            widths: None,
        }
    }

    /// Chooses the widths, and prints what waited for them.
    fn measure(&mut self) -> io::Result<()> {
        let rows = mem::take(&mut self.waiting);
        let last = self.names.len().saturating_sub(1);
        let width = |column: usize| {
            let cells = rows.iter().map(|row| &row[column]);
            let widths = cells.map(|cell| SafeText::from_str(cell).width());
            let width = widths.max().unwrap_or(0);
            let name = SafeText::from_str(&self.names[column]).width();
            let most = if column == last { usize::MAX } else { WIDEST };
            width.max(name).min(most)
        };
        let widths: Vec<usize> = (0..self.names.len()).map(width).collect();
        let head = self.row(&self.names, &widths);
        writeln!(self.out, "{}", self.palette.bold(head))?;
        for row in &rows {
            let line = self.row(row, &widths);
            writeln!(self.out, "{line}")?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn row(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), is_number) in cells.iter().zip(widths).zip(&self.are_numbers) {
            let cell = SafeText::single_line(cell, *width);
            let space = " ".repeat(width.saturating_sub(cell.width()));
            match is_number {
                true => line.extend([&space, cell.as_plain(), "  "]),
                false => line.extend([cell.as_plain(), &space, "  "]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

impl Rows for Text {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        let rows = rows_of(batch, "null")?.into_iter();
        let rows = rows.map(|row| row.iter().map(|cell| safe_line(cell)).collect());
        for row in rows {
            let row: Vec<String> = row;
            match &self.widths {
                Some(widths) => {
                    let line = self.row(&row, widths);
                    writeln!(self.out, "{line}")?;
                }
                None => self.waiting.push(row),
            }
            if self.waiting.len() == MEASURED {
                self.measure()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), QueryError> {
        if self.widths.is_none() {
            self.measure()?;
        }
        Ok(self.out.finish()?)
    }
}

struct Csv {
    out: Output,
    are_numbers: Vec<bool>,
}

impl Csv {
    fn begin(schema: &Schema) -> io::Result<Self> {
        let mut out = Output::stdout();
        let names: Vec<String> = names_of(schema).map(csv_cell).collect();
        writeln!(out, "{}", names.join(","))?;
        let are_numbers = are_numbers(schema);
        Ok(Self { out, are_numbers })
    }
}

impl Rows for Csv {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        for row in rows_of(batch, "")? {
            let cells = row.into_iter().zip(&self.are_numbers);
            let cells = cells.map(|(cell, is_number)| match is_number {
                true => cell,
                false => csv_cell(&cell),
            });
            let cells: Vec<String> = cells.collect();
            writeln!(self.out, "{}", cells.join(","))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), QueryError> {
        Ok(self.out.finish()?)
    }
}

struct Json {
    writer: LineDelimitedWriter<JsonOutput>,
}

impl Json {
    fn new() -> Self {
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let writer = builder.build(JsonOutput::stdout());
        Self { writer }
    }
}

impl Rows for Json {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), QueryError> {
        self.writer.finish()?;
        Ok(self.writer.into_inner().finish()?)
    }
}
