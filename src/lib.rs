//! retake
pub mod dialects;
pub mod json;
pub mod session;
