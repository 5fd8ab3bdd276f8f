//! One integration binary.

mod corpus;
mod file_hostile;
mod files;
mod json_repair_suite;
mod json_test_suite;
mod pairing_stories;
mod planted;
mod provider_errors;
mod readme;
mod safe_text;
mod schema_hostile;
mod schema_suite;
mod sessions;
mod sse_cases;
mod wire_cases;
