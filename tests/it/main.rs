//! One integration binary.

mod json_repair_suite;
mod schema_hostile;
mod schema_suite;
