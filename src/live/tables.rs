//! What is in recordings, and what is wrong with them, as tables for data engines.

#[cfg(feature = "tables")]
mod batches;
#[cfg_attr(
    not(feature = "tables"),
    allow(dead_code, reason = "only the help reads them")
)]
mod columns;
#[cfg(feature = "tables")]
mod in_memory;
#[cfg(feature = "tables")]
mod rows;

#[cfg(feature = "tables")]
pub use batches::{BatchSink, RowsError, TableSet, batches_of_json, table_schemas};
pub use columns::{SCHEMA_VERSION, markdown_columns, markdown_tables};
#[cfg(feature = "tables")]
pub use in_memory::{MemoryTables, NamedFile, TablesError};
#[cfg(feature = "tables")]
pub use rows::write_rows;

/// Runs what an engine does with the tables to its end, and waits for all that it started.
#[cfg(feature = "tables")]
pub fn block_on<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    Ok(runtime.enable_all().build()?.block_on(work))
}
