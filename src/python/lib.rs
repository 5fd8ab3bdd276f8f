//! retake as a Python module: the functions that the package `retake` is built on.

use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use retake_live::{BindingError, BindingOptions, FixHistoryError, InputError};
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
            match error {
                InputError::Missing => PyFileNotFoundError::new_err(text),
                InputError::Permission => PyPermissionError::new_err(text),
                _ => RetakeError::new_err(text),
            }
        }
        _ => RetakeError::new_err(text),
    }
}

#[pymodule]
mod _retake {
    use super::*;

    #[pymodule_export]
    use super::RetakeError;

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
}
