//! One integration binary.

mod json_repair_suite;
mod planted;
mod provider_errors;
mod readme;
mod safe_text;
mod schema_hostile;
mod schema_suite;
mod sessions;
