//! One integration binary.

// Everything here is test code, also the functions that set a test up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent_logs;
mod agent_sessions;
mod agents;
mod boundary;
mod cli;
mod convert;
mod convert_stories;
mod corpus;
mod doctor;
mod file_hostile;
mod files;
mod gate;
mod guards;
mod json_repair_suite;
mod json_test_suite;
mod lab;
mod live;
mod pairing_stories;
mod planted;
mod provider_errors;
mod proxy;
mod proxy_wire;
mod read_again;
mod read_properties;
mod readme;
mod recipes;
mod recover;
mod redaction;
mod replace;
mod replay;
mod safe_text;
mod schema_hostile;
mod schema_suite;
mod scripted;
mod session_databases;
mod sessions;
mod sse_cases;
mod takes;
mod terminal;
mod terminal_ends;
mod terminal_lab;
mod terminal_live;
mod terminal_pictures;
mod terminal_proxy;
mod terminal_reader;
mod terminal_storm;
mod terminal_takes;
mod tidy;
mod tools;
mod untrusted;
mod wire_cases;
