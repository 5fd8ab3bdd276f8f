//! retake
pub mod schema;
