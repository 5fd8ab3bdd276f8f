//! One integration binary.

mod json_repair_suite;
mod pairing_stories;
mod provider_errors;
mod safe_text;
mod schema_hostile;
mod schema_suite;
mod wire_cases;
