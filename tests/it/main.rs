//! One integration binary.

mod provider_errors;
mod safe_text;
