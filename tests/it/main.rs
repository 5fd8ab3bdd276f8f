//! One integration binary.

mod provider_errors;
