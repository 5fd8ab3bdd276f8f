//! retake as a Python module: the functions that the package `retake` is built on.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use retake_core::usage::Prices;
use retake_live::discover::is_recording_name;
use retake_live::tables::{NamedFile, batches_of_json, table_schemas};
use retake_live::{
    BindingError, BindingOptions, FixHistoryError, InputError, Walked, expand, is_no_recording,
};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

create_exception!(
    _retake,
    RetakeError,
    PyValueError,
    "What was given cannot be read, checked or fixed."
);

/// How a history is read and judged, as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    format: Option<String>,
    dialect: Option<String>,
    tools: Option<String>,
    output_schema: Option<String>,
    is_request: bool,
}

impl From<Options> for BindingOptions {
    fn from(options: Options) -> Self {
        let Options {
            format,
            dialect,
            tools,
            output_schema,
            is_request,
        } = options;
        Self {
            format,
            dialect,
            tools,
            output_schema,
            is_request,
        }
    }
}

/// The exception for an error: that of the system where it is one.
fn exception(error: &BindingError) -> PyErr {
    let text = error.to_string();
    match error {
        BindingError::Input(error) | BindingError::Fix(FixHistoryError::Input(error)) => {
            of_input(error, text)
        }
        _ => RetakeError::new_err(text),
    }
}

fn of_input(error: &InputError, text: String) -> PyErr {
    match error {
        InputError::Missing => PyFileNotFoundError::new_err(text),
        InputError::Permission => PyPermissionError::new_err(text),
        _ => RetakeError::new_err(text),
    }
}

fn failure(error: impl std::error::Error) -> PyErr {
    RetakeError::new_err(error.to_string())
}

/// A table in memory, which the Arrow C stream hands over without a copy.
#[pyclass(frozen)]
struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(failure)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __arrow_c_stream__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The tables by their names; and of each file that cannot be read its number, the exception, and whether it is
/// something else than a recording.
type Tables = (HashMap<&'static str, Table>, Vec<(usize, PyErr, bool)>);

/// The recordings that paths name, and whether each was found in a folder; and the folders that cannot be walked.
type Recordings = (Vec<(PathBuf, bool)>, Vec<(PathBuf, PyErr)>);

#[pymodule]
mod _retake {
    use super::*;

    #[pymodule_export]
    use super::RetakeError;

    #[pymodule_export]
    use super::Table;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pyfunction]
    fn check_path(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<String> {
        let options = BindingOptions::from(options);
        let report = py.detach(|| options.check_path(&path));
        report.map_err(|error| exception(&error))
    }

    #[pyfunction]
    fn check_bytes(py: Python<'_>, data: Vec<u8>, options: Options) -> PyResult<String> {
        let options = BindingOptions::from(options);
        let report = py.detach(|| options.check_bytes(data));
        report.map_err(|error| exception(&error))
    }

    #[pyfunction]
    fn fix_bytes<'py>(
        py: Python<'py>,
        data: Vec<u8>,
        options: Options,
        allow_unsafe: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let options = BindingOptions::from(options);
        let fixed = py.detach(|| options.fix_bytes(data, allow_unsafe));
        let (text, done) = fixed.map_err(|error| exception(&error))?;
        Ok((PyBytes::new(py, &text), done))
    }

    #[pyfunction]
    fn walk(py: Python<'_>, paths: Vec<PathBuf>) -> Recordings {
        let Walked { files, failures } = py.detach(|| expand(&paths));
        let files = files.into_iter().map(|file| (file.path, file.in_folder));
        let failures = failures.into_iter();
        let failures = failures.map(|(path, error)| (path, of_input(&error, error.to_string())));
        (files.collect(), failures.collect())
    }

    #[pyfunction]
    fn may_be_recording(name: OsString) -> bool {
        is_recording_name(&name)
    }

    /// The tables of files, which have other names in the rows than their paths.
    #[pyfunction]
    fn tables(py: Python<'_>, files: Vec<(String, PathBuf)>, options: Options) -> PyResult<Tables> {
        let inputs = BindingOptions::from(options).inputs();
        let inputs = inputs.map_err(|error| exception(&error))?;
        let files = files
            .into_iter()
            .map(|(name, path)| NamedFile { name, path });
        let files: Vec<NamedFile> = files.collect();
        let tables = py.detach(|| inputs.tables(&files, &Prices::built_in()));
        let tables = tables.map_err(failure)?;
        let named = table_schemas().into_iter().zip(tables.batches);
        let named = named.map(|((name, schema), batches)| (name, Table { schema, batches }));
        let unreadable = tables.unreadable.into_iter().map(|(number, error)| {
            let is_other = is_no_recording(&error);
            (number, of_input(&error, error.to_string()), is_other)
        });
        Ok((named.collect(), unreadable.collect()))
    }

    /// A table of rows that are objects in a JSON array.
    #[pyfunction]
    fn table_of_json(name: &str, rows: &str) -> PyResult<Table> {
        let rows: Vec<serde_json::Value> = serde_json::from_str(rows).map_err(failure)?;
        let made = batches_of_json(name, &rows).map_err(failure)?;
        let (schema, batches) =
            made.ok_or_else(|| RetakeError::new_err(format!("no table is called {name}")))?;
        Ok(Table { schema, batches })
    }
}
