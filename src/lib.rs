//! retake
pub mod repair;
pub mod schema;
pub mod suggest;
