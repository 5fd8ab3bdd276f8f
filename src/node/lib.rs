//! retake as a Node module: the functions that the package `retake` is built on.

use napi::bindgen_prelude::Buffer;
use napi::{Error, Status};
use napi_derive::napi;
use retake_live::{BindingError, BindingOptions, FixHistoryError, InputError};
use std::path::Path;

/// How a history is read and judged, as JavaScript gives it.
#[napi(object)]
pub struct Options {
    pub format: Option<String>,
    pub dialect: Option<String>,
    pub tools: Option<String>,
    pub output_schema: Option<String>,
    pub is_request: Option<bool>,
}

/// A text that was fixed, and what was done as JSON.
#[napi(object)]
pub struct Fixed {
    pub text: Buffer,
    pub done: String,
}

impl From<Options> for BindingOptions {
    fn from(options: Options) -> Self {
        Self {
            format: options.format,
            dialect: options.dialect,
            tools: options.tools,
            output_schema: options.output_schema,
            is_request: options.is_request.unwrap_or_default(),
        }
    }
}

/// The exception for an error; `ENOENT` and `EACCES` begin its text where the system says so.
fn exception(error: &BindingError) -> Error {
    let code = match error {
        BindingError::Input(error) | BindingError::Fix(FixHistoryError::Input(error)) => {
            match error {
                InputError::Missing => "ENOENT: ",
                InputError::Permission => "EACCES: ",
                _ => "",
            }
        }
        _ => "",
    };
    Error::new(Status::InvalidArg, format!("{code}{error}"))
}

#[napi]
pub fn check_path(path: String, options: Options) -> napi::Result<String> {
    let report = BindingOptions::from(options).check_path(Path::new(&path));
    report.map_err(|error| exception(&error))
}

#[napi]
pub fn check_bytes(data: Buffer, options: Options) -> napi::Result<String> {
    let report = BindingOptions::from(options).check_bytes(data.to_vec());
    report.map_err(|error| exception(&error))
}

#[napi]
pub fn fix_bytes(data: Buffer, options: Options, allow_unsafe: bool) -> napi::Result<Fixed> {
    let fixed = BindingOptions::from(options).fix_bytes(data.to_vec(), allow_unsafe);
    let (text, done) = fixed.map_err(|error| exception(&error))?;
    Ok(Fixed {
        text: text.into(),
        done,
    })
}
