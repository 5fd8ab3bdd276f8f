//! SQL over the tables of recordings, which are read as the query runs.

use super::reading::{Outcome, Part, PartReport, ReadError, TableReader, divide};
use crate::cli::exit::Exit;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNode;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::prelude::{SessionConfig, SessionContext};
use retake_live::lock::lock;
use retake_live::tables::{TableSet, table_schemas};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Batches that wait for the query.
const AHEAD: usize = 4;

/// The batches of each scan.
type KeptBatches = Result<Vec<Vec<RecordBatch>>, Arc<DataFusionError>>;

/// The recordings that a query reads: once, whatever it joins.
pub(in crate::cli) struct Recordings {
    reader: TableReader,
    paths: Vec<PathBuf>,
    scans: Mutex<Vec<Scan>>,
    /// Whether the rows are wanted again, or for several scans: then they are kept.
    is_kept: AtomicBool,
    kept: Mutex<Option<KeptBatches>>,
    outcome: Mutex<Option<Outcome>>,
}

/// What a part of the query reads.
#[derive(Clone)]
struct Scan {
    table: &'static str,
    columns: Vec<usize>,
}

/// Why no more recordings are read.
enum Stop {
    /// The query has all that it wants.
    Done,
    Failed(ReadError<ArrowError>),
}

impl Recordings {
    pub(in crate::cli) fn new(reader: TableReader, paths: Vec<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            reader,
            paths,
            scans: Mutex::default(),
            is_kept: AtomicBool::new(false),
            kept: Mutex::default(),
            outcome: Mutex::default(),
        })
    }

    /// How a command ends that has read them; `None` while it has not.
    pub(in crate::cli) fn exit(&self) -> Option<Exit> {
        let outcome = lock(&self.outcome);
        let exit = |outcome: &Outcome| outcome.totals.exit(outcome.unreadable);
        outcome.as_ref().map(exit)
    }

    /// Has the bar out of the way of what is written now.
    pub(in crate::cli) fn hide_progress(&self) {
        self.reader.hide_progress();
    }

    /// Plans a query, and starts it.
    pub(in crate::cli) async fn query(
        self: &Arc<Self>,
        sql: &str,
    ) -> Result<SendableRecordBatchStream> {
        let mut config = SessionConfig::new().with_target_partitions(1);
        config.options_mut().sql_parser.collect_spans = true;
        let context = SessionContext::new_with_config(config);
        for (name, schema) in table_schemas() {
            // A recursive query compares the metadata of schemas.
            let schema = schema.as_ref().clone().with_metadata(HashMap::new());
            let table = RecordedTable {
                name,
                schema: Arc::new(schema),
                recordings: Arc::clone(self),
            };
            context.register_table(name, Arc::new(table))?;
        }
        // What is read is named by paths: SQL reads and writes no files.
        let allowed = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let frame = context.sql_with_options(sql, allowed).await?;
        let is_recursive = frame
            .logical_plan()
            .exists(|plan| Ok(matches!(plan, LogicalPlan::RecursiveQuery(_))))?;
        let tasks = frame.task_ctx();
        let plan = frame.create_physical_plan().await?;
        let scans = lock(&self.scans).len();
        self.is_kept
            .store(is_recursive || scans > 1, Ordering::Relaxed);
        datafusion::physical_plan::execute_stream(plan, Arc::new(tasks))
    }

    /// Reads the recordings; `take` gets the batches of a scan, and says whether it takes more.
    fn read(&self, mut take: impl FnMut(usize, RecordBatch) -> bool) -> Result<()> {
        let scans = lock(&self.scans).clone();
        let mut outcome = Outcome::default();
        let parts = divide(0, self.reader.find(&self.paths, &mut outcome));
        let done = self.reader.read(
            &parts,
            &mut outcome,
            |part| self.part(part, &scans),
            |batches| {
                let mut batches = batches.into_iter();
                match batches.all(|(scan, batch)| take(scan, batch)) {
                    true => Ok(()),
                    false => Err(Stop::Done),
                }
            },
        );
        outcome.report_skipped();
        *lock(&self.outcome) = Some(outcome);
        match done {
            Err(Stop::Failed(error)) => Err(DataFusionError::External(Box::new(error))),
            _ => Ok(()),
        }
    }

    fn part(
        &self,
        part: &Part,
        scans: &[Scan],
    ) -> Result<(PartReport, Vec<(usize, RecordBatch)>), Stop> {
        let failed = |error| Stop::Failed(ReadError::Sink(error));
        let is_wanted = |table| scans.iter().any(|scan| scan.table == table);
        let tables = TableSet::new(|table, _| Ok(is_wanted(table).then(Vec::new)));
        let mut tables = tables.map_err(failed)?;
        let report = self.reader.rows(part, &mut tables, |_| 0);
        let report = report.map_err(Stop::Failed)?;
        let tables = tables.finish().map_err(failed)?;
        let named = table_schemas().into_iter().zip(tables);
        let mut batches = Vec::new();
        for ((name, _), table) in named {
            for batch in table.into_iter().flatten() {
                for (number, scan) in scans.iter().enumerate() {
                    if scan.table == name {
                        let mut batch = batch.project(&scan.columns).map_err(failed)?;
                        batch.schema_metadata_mut().clear();
                        batches.push((number, batch));
                    }
                }
            }
        }
        Ok((report, batches))
    }

    fn read_all(&self) -> KeptBatches {
        let mut batches = vec![Vec::new(); lock(&self.scans).len()];
        self.read(|scan, batch| {
            batches[scan].push(batch);
            true
        })?;
        Ok(batches)
    }

    /// Hands over the batches of a scan, until `take` wants no more.
    fn send(&self, scan: usize, mut take: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return self.read(|_, batch| take(batch));
        }
        let batches = match lock(&self.kept).get_or_insert_with(|| self.read_all()) {
            Ok(batches) => batches[scan].clone(),
            Err(error) => return Err(DataFusionError::Shared(Arc::clone(error))),
        };
        batches.into_iter().all(take);
        Ok(())
    }
}

struct RecordedTable {
    name: &'static str,
    schema: SchemaRef,
    recordings: Arc<Recordings>,
}

impl fmt::Debug for RecordedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[async_trait]
impl TableProvider for RecordedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let columns = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let mut scans = lock(&self.recordings.scans);
        let partition = Arc::new(ScanStream {
            number: scans.len(),
            schema: Arc::clone(&schema),
            recordings: Arc::clone(&self.recordings),
        });
        scans.push(Scan {
            table: self.name,
            columns,
        });
        let scan = StreamingTableExec::try_new(schema, vec![partition], None, [], false, limit)?;
        Ok(Arc::new(scan))
    }
}

struct ScanStream {
    number: usize,
    schema: SchemaRef,
    recordings: Arc<Recordings>,
}

impl fmt::Debug for ScanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scan {}", self.number)
    }
}

impl PartitionStream for ScanStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD);
        let (sender, number) = (stream.tx(), self.number);
        let recordings = Arc::clone(&self.recordings);
        stream.spawn_blocking(move || {
            recordings.send(number, |batch| sender.blocking_send(Ok(batch)).is_ok())
        });
        stream.build()
    }
}
