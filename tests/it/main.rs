//! One integration binary.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod provider_errors;
